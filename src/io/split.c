/* io/split.c: parts and pieces of whole lines. */
#include "io/split.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "io/recordio.h"
#include "io/stream.h"
#include "kern/text/tokenizer.h"

#define SLACK 4096      /* first guess of how far the last line extends beyond a piece */
#define STEP (64 << 10) /* a stream is read beyond a piece in steps of this size */

/* A plain file that pieces are being read from. Only the one or two files around the cursor are open at a time. */
typedef struct open_file {
  fw_input *input;
  size_t file;
  unsigned users;
  bool used;
} open_file;

struct fw_split {
  const fw_fileset *set;
  uint64_t begin, end; /* the range of the part in the run of all bytes */
  size_t piece, max_line;
  bool in_records;
  fw_records records;

  /* the cursor */
  size_t file;
  uint64_t position; /* raw start of the next piece, in the file */

  /* the compressed file or pipe that is being read in order */
  fw_stream *stream;
  bool stream_ended;
  bool pipe_used;
  char *carry; /* text read beyond the last piece */
  size_t carried, carry_capacity;

  pthread_mutex_t lock; /* protects `opened` */
  open_file *opened;
  size_t nopened;
  size_t newest; /* the last file of the set that was opened since the rewind */
};

void fw_text_clear(fw_text *text) {
  if (text->memory) fw_free(text->memory - FW_TEXT_PAD);
  memset(text, 0, sizeof *text);
}

/* Lines in RecordIO can be read in parts, but not records of a format in them. */
static bool in_order(const fw_split *split, const fw_file *file) {
  if (file->kind == FW_FILE_RECORDIO) return split->in_records;
  return file->kind != FW_FILE_PLAIN || split->records.length || split->records.cut;
}

void fw_split_set_records(fw_split *split, const fw_records *records) {
  split->records = *records;
  split->in_records = true;
}

void fw_split_set_piece(fw_split *split, size_t piece) {
  split->piece = piece;
}

/* Returns the end of the piece that contains the byte before `at`; a boundary between files stays. */
static uint64_t piece_end(const fw_split *split, uint64_t at) {
  for (size_t i = 0; i < split->set->nfiles; i++) {
    const fw_file *file = &split->set->files[i];
    if (at <= file->begin || at - file->begin >= file->size) continue;
    const uint64_t inside = at - file->begin, over = inside % split->piece;
    const uint64_t end = over ? inside - over + split->piece : inside;
    return file->begin + (end < file->size ? end : file->size);
  }
  return at;
}

void fw_split_align(fw_split *split) {
  split->begin = piece_end(split, split->begin);
  split->end = piece_end(split, split->end);
}

uint64_t fw_split_align_indexed(fw_split *split) {
  uint64_t before = 0;
  bool ordered = false;
  fw_split_align(split);
  for (size_t i = 0; i < split->set->nfiles; i++) {
    const fw_file *file = &split->set->files[i];
    ordered |= in_order(split, file);
    if (file->begin >= split->begin) continue;
    const uint64_t whole = split->begin - file->begin, bytes = whole < file->size ? whole : file->size;
    before += bytes / split->piece + (bytes % split->piece != 0);
  }
  if (!ordered) return before;
  split->end = split->set->size;
  if (split->begin > 0) split->begin = split->set->size;
  return 0;
}

static bool is_recordio(const fw_fileset *set) {
  for (size_t i = 0; i < set->nfiles; i++)
    if (set->files[i].kind != FW_FILE_RECORDIO) return false;
  return true;
}

/* Parts of RecordIO are dmlc-core's: cut at multiples of four bytes, and a record that begins exactly at a cut belongs
 * to the later part, which is the one that has the byte before if cuts are one byte earlier. */
static void cut_part(fw_split *s, uint32_t part, uint32_t nparts) {
  const uint64_t size = s->set->size;
  const bool records = is_recordio(s->set);
  uint64_t step = size / nparts + (size % nparts != 0);
  if (records) step += -step % FW_RECORDIO_ALIGN;
  s->begin = step != 0 && part > size / step ? size : part * step;
  s->end = part + 1 == nparts || step > size - s->begin ? size : s->begin + step;
  if (!records) return;
  if (s->begin > 0) s->begin--;
  if (s->end > 0 && s->end < size) s->end--;
}

furrow_status fw_split_open(fw_split **split, const fw_fileset *set, uint32_t part, uint32_t nparts, size_t piece,
                            size_t max_line, furrow_error *err) {
  if (part >= nparts) return fw_fail(err, FURROW_E_ARGUMENT, "part %u of %u: there is no such part", part, nparts);
  for (size_t i = 0; i < set->nfiles && nparts > 1; i++) {
    if (set->files[i].kind != FW_FILE_PIPE && !set->files[i].once) continue;
    furrow_status status = fw_fail(err, FURROW_E_ARGUMENT, "a %s cannot be read in parts: part must be 0 of 1",
                                   set->files[i].once ? "query" : "pipe");
    fw_error_set_file(err, set->files[i].path);
    return status;
  }
  fw_split *s;
  FW_TRY(FW_ALLOC_ZERO(&s, 1, err));
  s->set = set;
  cut_part(s, part, nparts);
  s->piece = piece;
  s->max_line = max_line;
  pthread_mutex_init(&s->lock, NULL);
  *split = s;
  return FURROW_OK;
}

static void drop_stream(fw_split *split) {
  fw_stream_close(split->stream);
  split->stream = NULL;
  split->stream_ended = false;
  split->carried = 0;
}

static void close_files(fw_split *split) {
  for (size_t i = 0; i < split->nopened; i++)
    if (split->opened[i].used) fw_input_close(split->opened[i].input);
  split->nopened = 0;
}

void fw_split_close(fw_split *split) {
  if (!split) return;
  drop_stream(split);
  close_files(split);
  fw_free(split->opened);
  fw_free(split->carry);
  pthread_mutex_destroy(&split->lock);
  fw_free(split);
}

uint64_t fw_split_size(const fw_split *split) {
  return split->end - split->begin;
}

/* ---- Plain files: open while a piece of them is being read ---------------------------------------------- */

/* Computes the part's share [*begin, *end) of a file, in offsets of the file, if it were read at any place. */
static void share_of_bytes(const fw_split *split, const fw_file *file, uint64_t *begin, uint64_t *end) {
  const uint64_t to = split->end > file->begin ? split->end - file->begin : 0;
  *begin = split->begin > file->begin ? split->begin - file->begin : 0;
  *end = to < file->size ? to : file->size;
}

/* A server is asked ahead for the part's share of the file, and for the rest of its last line. */
static void expect_share(const fw_split *split, const fw_input *input, size_t file) {
  uint64_t begin, end;
  share_of_bytes(split, &split->set->files[file], &begin, &end);
  fw_input_expect(input, begin, end + SLACK);
}

/* Opens a file once for all threads that read it. */
static furrow_status hold_file(fw_split *split, size_t file, const fw_input **input, furrow_error *err) {
  furrow_status status = FURROW_OK;
  pthread_mutex_lock(&split->lock);
  size_t free_slot = split->nopened;
  size_t i = 0;
  for (; i < split->nopened; i++) {
    if (split->opened[i].used && split->opened[i].file == file) break;
    if (!split->opened[i].used) free_slot = i;
  }
  if (i == split->nopened) {
    i = free_slot;
    if (i == split->nopened) status = FW_REALLOC(&split->opened, split->nopened + 1, err);
    fw_input *opened = NULL;
    if (status == FURROW_OK) status = fw_input_open(&opened, split->set->files[file].path, err);
    if (status == FURROW_OK) {
      expect_share(split, opened, file);
      split->opened[i] = (open_file){.input = opened, .file = file, .used = true};
      if (i == split->nopened) split->nopened++;
    }
  }
  if (status == FURROW_OK) {
    split->opened[i].users++;
    if (file > split->newest) split->newest = file;
    *input = split->opened[i].input;
  }
  pthread_mutex_unlock(&split->lock);
  return status;
}

/* Closes a file that no thread reads, unless more of its pieces are to come. Pieces that are read after the last one
 * of their file, or after one of a later file, must not leave it open. */
static void release_file(fw_split *split, size_t file, bool last_piece) {
  pthread_mutex_lock(&split->lock);
  for (size_t i = 0; i < split->nopened; i++) {
    open_file *o = &split->opened[i];
    if (!o->used) continue;
    if (o->file == file) o->users--;
    if (o->users == 0 && (o->file < split->newest || (o->file == file && last_piece))) {
      fw_input_close(o->input);
      o->used = false;
    }
  }
  pthread_mutex_unlock(&split->lock);
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

static const char *find_line_end(const char *p, const char *end) {
  const char *lf = memchr(p, '\n', (size_t)(end - p));
  const char *cr = memchr(p, '\r', (size_t)((lf ? lf : end) - p));
  return cr ? cr : lf;
}

/* Returns the start of the first line after a cut at text[from]: the byte after the first line end at or after the
 * cut, where CR LF is one line end. 0 when the text ends before that is known; `whole` says that nothing follows the
 * text. */
static size_t first_line_after(const char *text, size_t length, size_t from, bool whole) {
  if (from >= length) return whole ? length : 0;
  const char *end = text + length;
  const char *p = find_line_end(text + from, end);
  if (!p) return whole ? length : 0;
  if (*p == '\r') {
    if (p + 1 == end) return whole ? length : 0;
    if (p[1] == '\n') p++;
  }
  return (size_t)(p + 1 - text);
}

/* The same for records; `offset` is the offset of bytes[0] in the file. */
static size_t first_record_after(const fw_records *r, const char *bytes, size_t length, uint64_t offset, size_t from,
                                 bool whole) {
  const size_t unknown = whole ? length : 0;
  const size_t head = r->head > offset ? (size_t)(r->head - offset) : 0;
  if (from < head) return head <= length ? head : unknown;
  size_t at;
  if (r->size) {
    const uint64_t place = offset + from - r->head;
    at = from + (r->size - (size_t)(place % r->size));
  } else if (r->find) {
    at = r->find(r->state, bytes, length, from + 1);
    if (at >= length) return unknown;
  } else {
    for (at = head; at <= from;) {
      const size_t n = at < length ? r->length(r->state, bytes + at, length - at) : 0;
      if (n == 0 || n > length - at) return unknown;
      at += n;
    }
  }
  return at <= length ? at : unknown;
}

/* The same for heads of RecordIO. */
static size_t first_head_after(const char *bytes, size_t length, uint64_t offset, size_t from, bool whole) {
  const size_t at = fw_recordio_find(bytes, length, offset, from + 1);
  return at < length ? at : whole ? length : 0;
}

static size_t first_start_after(const fw_split *split, const char *bytes, size_t length, uint64_t offset, size_t from,
                                bool whole) {
  return split->in_records ? first_record_after(&split->records, bytes, length, offset, from, whole)
                           : first_line_after(bytes, length, from, whole);
}

/* Reserves `size` bytes of text, and the padding before and after it. */
static furrow_status reserve_text(fw_text *text, size_t size, furrow_error *err) {
  if (text->capacity >= size) return FURROW_OK;
  void *memory = text->memory ? text->memory - FW_TEXT_PAD : NULL;
  const bool fresh = memory == NULL;
  size_t bytes;
  if (!fw_size_add(size, 2 * FW_TEXT_PAD + 1, &bytes)) return fw_fail_memory(err, size);
  FW_TRY(fw_realloc(&memory, bytes, 1, err));
  if (fresh) memset(memory, 0, FW_TEXT_PAD);
  text->memory = (char *)memory + FW_TEXT_PAD;
  text->capacity = size;
  return FURROW_OK;
}

/* Makes memory[begin … end-1] the lines; the byte after them may be overwritten only at the end of the file. */
static void set_lines(const fw_split *split, fw_text *text, size_t begin, size_t end, bool file_end) {
  text->file_end = file_end;
  text->lines = text->memory + begin;
  text->length = end - begin;
  text->line_end_added = false;
  const bool of_lines = !split->in_records || (split->records.cut && !split->records.columns);
  const bool ends_anywhere = file_end || split->set->files[text->file].kind == FW_FILE_RECORDIO;
  if (ends_anywhere && of_lines && text->length > 0 && text->memory[end - 1] != '\n' && text->memory[end - 1] != '\r') {
    text->memory[end] = '\n';
    text->length++;
    text->line_end_added = true;
  }
  memset(text->memory + begin + text->length, 0, FW_TEXT_PAD);
}

static furrow_status line_too_long(const fw_split *split, size_t file, uint64_t offset, furrow_error *err) {
  furrow_status status = fw_fail(err, FURROW_E_PARSE, "a %s of more than %zu bytes (max_line_bytes)",
                                 split->in_records ? "record" : "line", split->max_line);
  fw_error_set_file(err, split->set->files[file].path);
  if (err) err->offset = offset;
  return status;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

/* The first line, record or head after a cut of a file that is read at any offset. */
static size_t first_in_file(const fw_split *split, const fw_file *file, const char *bytes, size_t length,
                            uint64_t offset, size_t from, bool whole) {
  return file->kind == FW_FILE_RECORDIO ? first_head_after(bytes, length, offset, from, whole)
                                        : first_start_after(split, bytes, length, offset, from, whole);
}

static furrow_status records_to_lines(const fw_file *file, const fw_text *text, size_t first, size_t last,
                                      furrow_error *err) {
  furrow_error why;
  const furrow_status status = fw_recordio_to_lines(text->memory + first, last - first, &why);
  if (status == FURROW_OK || !err) return status;
  why.offset += text->offset;
  fw_error_set_file(&why, file->path);
  *err = why;
  return status;
}

/* Reads the lines of the raw range [begin, end) of a plain file. */
static furrow_status read_plain(fw_split *split, const fw_input *input, fw_text *text, furrow_error *err) {
  const fw_file *file = &split->set->files[text->file];
  const uint64_t begin = text->begin;
  const size_t raw = (size_t)(text->end - begin);
  size_t have = 0;
  size_t want = raw + SLACK;
  size_t first = begin == 0 ? 0 : SIZE_MAX; /* offset of the first line */
  for (;;) {
    bool whole = want >= file->size - begin;
    if (whole) want = (size_t)(file->size - begin);
    furrow_status status = reserve_text(text, want, err);
    if (status != FURROW_OK) return status;
    size_t got;
    status = fw_input_read_at(input, text->memory + have, want - have, begin + have, &got, err);
    if (status != FURROW_OK) return status;
    if (got < want - have) {
      status = fw_fail(err, FURROW_E_IO, "the file became shorter while it was read");
      fw_error_set_file(err, file->path);
      return status;
    }
    have = want;
    if (first == SIZE_MAX) {
      first = first_in_file(split, file, text->memory, have, begin, 0, whole);
      if (first == 0 || first > raw) { /* no line starts in this range: it is inside a line of an earlier piece */
        set_lines(split, text, 0, 0, false);
        return FURROW_OK;
      }
    }
    size_t last = text->end == file->size ? have : first_in_file(split, file, text->memory, have, begin, raw, whole);
    if (last != 0) {
      text->offset = begin + first;
      if (file->kind == FW_FILE_RECORDIO) FW_TRY(records_to_lines(file, text, first, last, err));
      set_lines(split, text, first, last, begin + last == file->size);
      return FURROW_OK;
    }
    if (have - raw > split->max_line) return line_too_long(split, text->file, begin, err);
    want = raw + 4 * (have - raw);
  }
}

furrow_status fw_split_read(fw_split *split, fw_text *text, furrow_error *err) {
  if (text->in_order) return FURROW_OK; /* was read when it was claimed */
  const fw_input *input = NULL;
  furrow_status status = hold_file(split, text->file, &input, err);
  if (status != FURROW_OK) return status;
  status = read_plain(split, input, text, err);
  const fw_file *file = &split->set->files[text->file];
  release_file(split, text->file, text->end == file->size || file->begin + text->end >= split->end);
  return status;
}

/* Appends up to `size` bytes of the stream to the text in memory. */
static furrow_status read_on(fw_split *split, fw_text *text, size_t *have, size_t size, furrow_error *err) {
  furrow_status status = reserve_text(text, *have + size, err);
  if (status != FURROW_OK) return status;
  size_t got;
  status = fw_stream_read(split->stream, text->memory + *have, size, &got, err);
  if (status != FURROW_OK) return status;
  *have += got;
  if (got < size) split->stream_ended = true;
  return FURROW_OK;
}

static furrow_status keep_carry(fw_split *split, const char *bytes, size_t count, furrow_error *err) {
  FW_TRY(FW_GROW(&split->carry, &split->carry_capacity, count, err));
  if (count) memcpy(split->carry, bytes, count);
  split->carried = count;
  return FURROW_OK;
}

/* Reads until the text in memory has whole records of at least `split->piece` bytes, or the stream ends; *last is
 * their end. */
static furrow_status read_whole_records(fw_split *split, fw_text *text, size_t *have, size_t *last, furrow_error *err) {
  size_t want = split->piece;
  *last = 0;
  for (;;) {
    if (*have < want && !split->stream_ended) FW_TRY(read_on(split, text, have, want - *have, err));
    const size_t looked_at = *have < want ? *have : want;
    *last = split->stream_ended && looked_at == *have
                ? *have
                : split->records.cut(split->records.state, text->memory, looked_at, text->offset);
    if (*last > 0 || *have == 0) return FURROW_OK;
    if (looked_at > split->max_line) return line_too_long(split, text->file, text->offset, err);
    want = 2 * looked_at;
  }
}

/* Reads until the text in memory has all lines or records that begin in the raw piece of its first byte. */
static furrow_status read_raw_piece(fw_split *split, fw_text *text, size_t *have, size_t *last, furrow_error *err) {
  /* from the start of the text to the end of the raw piece that holds the byte before it */
  size_t cut = split->piece;
  if (split->position > 0) cut -= 1 + (size_t)((split->position - 1) % split->piece);
  *last = 0;
  while (*last == 0) {
    size_t more = *have <= cut ? cut - *have + SLACK : STEP;
    if (*have > cut && more < *have / 2) more = *have / 2;
    if (!split->stream_ended) FW_TRY(read_on(split, text, have, more, err));
    *last = first_start_after(split, text->memory, *have, text->offset, cut, split->stream_ended);
    if (*have == 0) return FURROW_OK;
    if (*last == 0 && *have > cut && *have - cut > split->max_line)
      return line_too_long(split, text->file, text->offset, err);
  }
  return FURROW_OK;
}

/* Reads the next piece of the stream. Pieces end where the pieces of a plain file would. FURROW_END at its end. */
static furrow_status read_in_order(fw_split *split, fw_text *text, furrow_error *err) {
  text->file = split->file;
  text->offset = split->position;
  text->in_order = true;
  size_t have = 0;
  furrow_status status = reserve_text(text, split->carried + SLACK, err);
  if (status != FURROW_OK) return status;
  if (split->carried) memcpy(text->memory, split->carry, split->carried);
  have = split->carried;
  split->carried = 0;
  size_t last = 0;
  status = split->records.cut ? read_whole_records(split, text, &have, &last, err)
                              : read_raw_piece(split, text, &have, &last, err);
  if (status != FURROW_OK) return status;
  if (have == 0) return FURROW_END;
  status = keep_carry(split, text->memory + last, have - last, err);
  if (status != FURROW_OK) return status;
  split->position += last;
  set_lines(split, text, 0, last, split->stream_ended && split->carried == 0);
  return FURROW_OK;
}

/* Computes the part's share [*begin, *end) of a file, in offsets of the file. Returns false if it is empty. */
static bool share_of_file(const fw_split *split, const fw_file *file, uint64_t *begin, uint64_t *end) {
  if (in_order(split, file)) {
    *begin = 0;
    *end = file->size;
    return file->kind == FW_FILE_PIPE || (file->begin >= split->begin && file->begin < split->end);
  }
  share_of_bytes(split, file, begin, end);
  return *begin < *end;
}

static furrow_status claim_in_order(fw_split *split, fw_text *text, furrow_error *err) {
  const fw_file *file = &split->set->files[split->file];
  furrow_status status = FURROW_OK;
  if (!split->stream) {
    if (file->kind == FW_FILE_PIPE && split->pipe_used)
      return fw_fail(err, FURROW_E_STATE, "standard input or a pipe can be read only once");
    status = fw_stream_open_columns(&split->stream, file, split->records.columns, split->records.ncolumns, err);
    if (status != FURROW_OK) return status;
  }
  if (file->kind == FW_FILE_PIPE) split->pipe_used = true;
  return read_in_order(split, text, err);
}

static void next_file(fw_split *split) {
  split->file++;
  split->position = 0;
  drop_stream(split);
}

furrow_status fw_split_claim(fw_split *split, fw_text *text, furrow_error *err) {
  for (; split->file < split->set->nfiles; next_file(split)) {
    const fw_file *file = &split->set->files[split->file];
    uint64_t begin, end;
    if (!share_of_file(split, file, &begin, &end)) continue;
    if (in_order(split, file)) {
      furrow_status status = claim_in_order(split, text, err);
      if (status == FURROW_END) continue;
      return status;
    }
    if (split->position < begin) split->position = begin;
    if (split->position >= end) continue;
    uint64_t cut = split->position - split->position % split->piece + split->piece;
    text->file = split->file;
    text->begin = split->position;
    text->end = cut < end ? cut : end;
    text->in_order = false;
    text->length = 0;
    split->position = text->end;
    return FURROW_OK;
  }
  return FURROW_END;
}

furrow_status fw_split_rewind(fw_split *split, furrow_error *err) {
  if (split->pipe_used) return fw_fail(err, FURROW_E_STATE, "standard input or a pipe can be read only once");
  drop_stream(split);
  split->file = 0;
  split->position = 0;
  split->newest = 0; /* no thread reads now */
  return FURROW_OK;
}

/* Reads at least STEP bytes, then more until they contain a line end, at most `size`. */
static furrow_status read_head(fw_stream *stream, char *head, size_t size, size_t *got, bool *whole,
                               furrow_error *err) {
  size_t n = 0;
  *whole = false;
  while (!*whole && n < size && (n == 0 || !find_line_end(head, head + n))) {
    const size_t step = size - n < STEP ? size - n : STEP;
    size_t more;
    FW_TRY(fw_stream_read(stream, head + n, step, &more, err));
    n += more;
    *whole = more < step;
  }
  *got = n;
  return FURROW_OK;
}

furrow_status fw_split_head(fw_split *split, char *head, size_t size, size_t *got, size_t *file_number, bool *whole,
                            furrow_error *err) {
  for (size_t i = 0; i < split->set->nfiles; i++) {
    const fw_file *file = &split->set->files[i];
    if (file->kind == FW_FILE_PIPE && i > 0) break; /* the bytes of a pipe can be kept only if the pipe is read first */
    fw_stream *stream;
    furrow_status status = fw_stream_open(&stream, file, err);
    if (status != FURROW_OK) return status;
    size_t n = 0;
    status = read_head(stream, head, size, &n, whole, err);
    if (status == FURROW_OK && file->kind == FW_FILE_PIPE) {
      status = keep_carry(split, head, n, err);
      split->stream = stream;
      split->stream_ended = *whole;
      split->pipe_used = true;
    } else {
      fw_stream_close(stream);
    }
    if (status != FURROW_OK) return status;
    if (n == 0 && i + 1 < split->set->nfiles) continue;
    *got = n;
    *file_number = i;
    return FURROW_OK;
  }
  *got = 0;
  *file_number = 0;
  *whole = true;
  return FURROW_OK;
}

furrow_status fw_split_file_head(const fw_split *split, size_t file, char *head, size_t size, size_t *got,
                                 furrow_error *err) {
  fw_stream *stream = NULL;
  furrow_status status = fw_stream_open(&stream, &split->set->files[file], err);
  if (status == FURROW_OK) status = fw_stream_read(stream, head, size, got, err);
  fw_stream_close(stream);
  return status;
}

furrow_status fw_split_line_number(fw_split *split, size_t file, uint64_t offset, uint64_t *line, furrow_error *err) {
  enum { BUFFER = 1 << 18 };
  void *buffer = NULL;
  fw_input *input = NULL;
  furrow_status status = fw_alloc(&buffer, BUFFER + FW_KERN_PAD, 1, err);
  if (status == FURROW_OK) status = fw_input_open(&input, split->set->files[file].path, err);
  uint64_t lines = 0;
  bool after_cr = false;
  const bool records = split->set->files[file].kind == FW_FILE_RECORDIO;
  for (uint64_t at = 0; status == FURROW_OK && at < offset;) {
    size_t want = offset - at < BUFFER ? (size_t)(offset - at) : BUFFER;
    size_t got;
    status = fw_input_read_at(input, buffer, want, at, &got, err);
    if (status != FURROW_OK || got == 0) break;
    const char *bytes = buffer;
    if (records) { /* the head at the end of a buffer is in the next one, too */
      lines += fw_recordio_count(bytes, got, at);
      at += got < want || got <= FW_RECORDIO_ALIGN || at + got == offset ? got : got - FW_RECORDIO_ALIGN;
      continue;
    }
    lines += fw_tokenizer_table()->count_lines(bytes, got) - (after_cr && bytes[0] == '\n');
    after_cr = bytes[got - 1] == '\r';
    at += got;
  }
  fw_input_close(input);
  fw_free(buffer);
  if (status == FURROW_OK) *line = lines + !records;
  return status;
}
