/* vector/data/vectors_text.c: reads vectors from text: tables of numbers (csv, tsv), word2vec and GloVe (txt, vec).
 *
 * A line is a vector: its name, if the file has names, and its numbers. A word2vec file begins with the number of
 * vectors and their dimension; a table may begin with a line of titles. The meaning of the first lines is detected when
 * the file is opened (docs/formats/vectors.md). */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "vector/data/id_names.h"
#include "vector/data/vectors_in.h"

#define PIECE ((size_t)1 << 20)      /* bytes that are read at a time */
#define MOST_LINE ((size_t)64 << 20) /* a longer line is not text */

typedef struct text_vectors {
  furrow_vectors_reader head;
  bool blanks;     /* fields are between blanks and tabs, */
  char separator;  /* or between these */
  bool header;     /* the first line is not a vector */
  uint64_t stated; /* number of vectors in the first line, or FURROW_COUNT_UNKNOWN */
  fw_bytes_in *in; /* NULL: it could not be opened again */
  char *buffer;    /* bytes begin … end - 1 are not used yet */
  size_t capacity, begin, end;
  bool at_end;         /* the source has no more bytes */
  uint64_t line, next; /* lines and vectors so far */
  bool lost;           /* reading failed */
} text_vectors;

typedef struct span {
  char *text;
  size_t size;
} span;

/* ---- Lines ---------------------------------------------------------------------------------------------- */

static furrow_status fail_line(const text_vectors *t, uint64_t line, furrow_error *err, const char *message) {
  fw_fail(err, FURROW_E_PARSE, "%s", message);
  fw_error_set_file(err, t->head.path);
  if (err) err->line = line;
  return FURROW_E_PARSE;
}

static furrow_status fail_token(const text_vectors *t, span token, furrow_error *err, const char *message) {
  fail_line(t, t->line, err, message);
  fw_error_set_token(err, token.text, token.size);
  return FURROW_E_PARSE;
}

/* Reads more bytes; those from `begin` on stay. */
static furrow_status read_piece(text_vectors *t, furrow_error *err) {
  size_t got = 0;
  if (t->begin > 0) memmove(t->buffer, t->buffer + t->begin, t->end - t->begin);
  t->end -= t->begin;
  t->begin = 0;
  FW_TRY(FW_GROW(&t->buffer, &t->capacity, t->end + PIECE, err));
  FW_TRY(fw_bytes_in_read(t->in, t->buffer + t->end, PIECE, &got, err));
  t->end += got;
  t->at_end = got < PIECE;
  return FURROW_OK;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* Finds the line that begins `at` bytes after t->begin, without blanks at its end, and the offset of the next. It stays
 * in the buffer. *line is {0} after the last one. */
static furrow_status peek_line(text_vectors *t, size_t at, span *line, size_t *next, furrow_error *err) {
  size_t searched = at;
  char *stop;
  *line = (span){0};
  while (!(stop = memchr(t->buffer + t->begin + searched, '\n', t->end - t->begin - searched)) && !t->at_end) {
    searched = t->end - t->begin;
    if (searched - at > MOST_LINE) return fail_line(t, t->line + 1, err, "is longer than 64 MiB, so this is not text");
    FW_TRY(read_piece(t, err));
  }
  char *begin = t->buffer + t->begin + at, *end = stop ? stop : t->buffer + t->end;
  if (begin == t->buffer + t->end) return FURROW_OK;
  *next = (size_t)(end - t->buffer) - t->begin + (stop != NULL);
  while (end > begin && is_blank(end[-1])) end--;
  *line = (span){begin, (size_t)(end - begin)};
  return FURROW_OK;
}

static furrow_status next_line(text_vectors *t, span *line, furrow_error *err) {
  size_t next = 0;
  FW_TRY(peek_line(t, 0, line, &next, err));
  if (!line->text) return FURROW_OK;
  t->begin += next;
  t->line++;
  return FURROW_OK;
}

/* Reads the line of the next vector; *line is {0} after the last one. Only blank lines may follow that. */
static furrow_status next_row(text_vectors *t, span *line, furrow_error *err) {
  uint64_t blank = 0;
  do {
    FW_TRY(next_line(t, line, err));
    if (line->text && line->size == 0 && blank == 0) blank = t->line;
  } while (line->text && line->size == 0);
  if (!line->text || blank == 0) return FURROW_OK;
  return fail_line(t, blank, err, "is blank");
}

/* ---- Fields --------------------------------------------------------------------------------------------- */

static bool separates(const text_vectors *t, char c) {
  return t->blanks ? is_blank(c) : c == t->separator;
}

static span trim(span field) {
  while (field.size > 0 && is_blank(field.text[field.size - 1])) field.size--;
  for (; field.size > 0 && is_blank(*field.text); field.size--) field.text++;
  return field;
}

/* Takes the first field off a line; *more: a separator followed it. A field of a table may be in quotes. */
static span take_field(const text_vectors *t, span *line, bool *more) {
  char *at = line->text, *end = line->text + line->size;
  bool quoted = false;
  if (t->blanks)
    while (at < end && is_blank(*at)) at++;
  span field = {.text = at};
  for (; at < end && (quoted || !separates(t, *at)); at++)
    if (*at == '"' && !t->blanks) quoted = !quoted;
  field.size = (size_t)(at - field.text);
  *more = at < end;
  if (at < end) at++;
  *line = (span){at, (size_t)(end - at)};
  return trim(field);
}

/* Removes quotes around a field of a table. */
static span without_quotes(const text_vectors *t, span field) {
  const bool quoted = !t->blanks && field.size >= 2 && field.text[0] == '"' && field.text[field.size - 1] == '"';
  return quoted ? (span){field.text + 1, field.size - 2} : field;
}

static bool read_number(const text_vectors *t, span field, float *value) {
  field = without_quotes(t, field);
  const char *end = field.text + field.size;
  return field.size > 0 && fw_read_f32(field.text, end, value) == end;
}

/* What the fields of a line are. */
typedef struct fields {
  size_t count;
  size_t numbers;       /* without other fields after them */
  bool first_is_number; /* whether the first word is a number; nan and inf count as words */
  bool has_numbers;     /* after the first field */
  bool first_is_id;     /* whether the title of the first column is id or name, or empty */
  bool are_whole;       /* whether the line has two words that are whole numbers: */
  uint64_t whole[2];
} fields;

static bool is_title_of_names(const text_vectors *t, span field) {
  field = without_quotes(t, field);
  return field.size == 0 || (field.size == 2 && strncasecmp(field.text, "id", 2) == 0) ||
         (field.size == 4 && strncasecmp(field.text, "name", 4) == 0);
}

static fields find_fields(const text_vectors *t, span line) {
  fields f = {.are_whole = true};
  for (bool more = true; more; f.count++) {
    bool overflow = false;
    float value;
    const span field = take_field(t, &line, &more);
    const bool number = read_number(t, field, &value) && (f.count > 0 || !t->blanks || isfinite(value));
    f.numbers = number ? f.numbers + 1 : 0;
    f.has_numbers = f.has_numbers || (number && f.count > 0);
    if (f.count == 0) f.first_is_number = number;
    if (f.count == 0) f.first_is_id = is_title_of_names(t, field);
    const char *end = field.text + field.size;
    f.are_whole = f.count < 2 && f.are_whole && fw_read_u64(field.text, end, &f.whole[f.count % 2], &overflow) == end &&
                  !overflow;
  }
  f.are_whole = f.are_whole && f.count == 2;
  return f;
}

/* Separates a line into the name of its vector and its numbers. */
static furrow_status split_row(const text_vectors *t, span line, span *name, span *numbers, furrow_error *err) {
  bool more = true;
  *numbers = line;
  if (!t->head.have_names) return FURROW_OK;
  if (!t->blanks) {
    *name = take_field(t, numbers, &more);
    return FURROW_OK;
  }
  /* a name may have blanks, so the numbers are the last fields */
  size_t at = line.size;
  for (size_t i = 0; i < t->head.d; i++) {
    while (at > 0 && !is_blank(line.text[at - 1])) at--;
    if (at == 0) return fail_line(t, t->line, err, "has fewer fields than a name and the numbers of other lines");
    if (i + 1 < t->head.d)
      while (at > 0 && is_blank(line.text[at - 1])) at--;
  }
  *numbers = (span){line.text + at, line.size - at};
  *name = trim((span){line.text, at});
  return FURROW_OK;
}

static furrow_status fail_count(const text_vectors *t, span numbers, furrow_error *err) {
  size_t count = 0;
  for (bool more = true; more; count++) take_field(t, &numbers, &more);
  fw_fail(err, FURROW_E_PARSE, "has %zu %s, not %zu", count, fw_plural(count, "number", "numbers"), t->head.d);
  fw_error_set_file(err, t->head.path);
  if (err) err->line = t->line;
  return FURROW_E_PARSE;
}

static furrow_status read_numbers(const text_vectors *t, span numbers, float *out, furrow_error *err) {
  span rest = numbers;
  bool more = true;
  for (size_t i = 0; i < t->head.d; i++) {
    if (!more) return fail_count(t, numbers, err);
    const span field = take_field(t, &rest, &more);
    if (!read_number(t, field, &out[i])) return fail_token(t, field, err, "is not a number");
  }
  return more ? fail_count(t, numbers, err) : FURROW_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fail_stated(const text_vectors *t, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "has %s vectors than the %" PRIu64 " of its first line",
          t->next < t->stated ? "fewer" : "more", t->stated);
  fw_error_set_file(err, t->head.path);
  return FURROW_E_FORMAT;
}

static furrow_status read_row(text_vectors *t, float *out, bool *found, furrow_error *err) {
  span line, name = {0}, numbers = {0};
  FW_TRY(next_row(t, &line, err));
  *found = line.text;
  if (t->stated != FURROW_COUNT_UNKNOWN && *found != (t->next < t->stated)) return fail_stated(t, err);
  if (!line.text) return FURROW_OK;
  FW_TRY(split_row(t, line, &name, &numbers, err));
  FW_TRY(read_numbers(t, numbers, out, err));
  t->next++;
  return FURROW_OK;
}

static furrow_status next_of_text(furrow_vectors_reader *v, size_t rows, float *out, int64_t *ids, size_t *got,
                                  furrow_error *err) {
  text_vectors *t = (text_vectors *)v;
  size_t n = 0;
  if (!t->in) return fw_fail(err, FURROW_E_STATE, "the file could not be opened again");
  for (bool found = true; n < rows; n++) {
    const furrow_status status = read_row(t, out + n * v->d, &found, err);
    t->lost = t->lost || status != FURROW_OK;
    if (status != FURROW_OK) return status;
    if (!found) break;
    if (ids) ids[n] = (int64_t)(t->next - 1);
  }
  *got = n;
  return FURROW_OK;
}

/* Skips a byte order mark. */
static furrow_status begin_text(text_vectors *t, furrow_error *err) {
  t->begin = t->end = 0;
  t->line = t->next = 0;
  t->at_end = t->lost = false;
  FW_TRY(read_piece(t, err));
  if (t->end >= 3 && memcmp(t->buffer, "\xef\xbb\xbf", 3) == 0) t->begin = 3;
  return FURROW_OK;
}

static furrow_status rewind_text(furrow_vectors_reader *v, furrow_error *err) {
  text_vectors *t = (text_vectors *)v;
  span header;
  if (t->next == 0 && !t->lost) return FURROW_OK;
  t->lost = true;
  if (t->in && fw_bytes_in_can_seek(t->in)) {
    FW_TRY(fw_bytes_in_seek(t->in, 0, err));
  } else {
    FW_TRY(fw_check_rereadable(v->path, err));
    fw_bytes_in_close(t->in);
    t->in = NULL;
    FW_TRY(fw_bytes_in_open(&t->in, v->path, err));
  }
  FW_TRY(begin_text(t, err));
  return t->header ? next_line(t, &header, err) : FURROW_OK;
}

static void close_text(furrow_vectors_reader *v) {
  text_vectors *t = (text_vectors *)v;
  fw_bytes_in_close(t->in);
  fw_free(t->buffer);
  fw_free(v->path);
  fw_free(t);
}

/* ---- Names ---------------------------------------------------------------------------------------------- */

/* Appends a name and a line feed. Between quotes, two quotes are one. */
static void append_name(const text_vectors *t, fw_buffer *to, span name) {
  const span inner = without_quotes(t, name);
  const bool quoted = inner.size < name.size;
  for (size_t i = 0; i < inner.size; i++) {
    fw_buffer_byte(to, inner.text[i]);
    if (quoted && inner.text[i] == '"' && i + 1 < inner.size && inner.text[i + 1] == '"') i++;
  }
  fw_buffer_byte(to, '\n');
}

static furrow_status collect_names(text_vectors *t, fw_buffer *to, furrow_error *err) {
  span line, name = {0}, numbers = {0};
  FW_TRY(next_row(t, &line, err));
  for (; line.text; t->next++) {
    FW_TRY(split_row(t, line, &name, &numbers, err));
    const size_t before = to->size;
    append_name(t, to, name);
    FW_TRY(fw_buffer_status(to, err));
    const char *fault = fw_name_fault(to->bytes + before, to->size - before - 1);
    if (fault) return fail_token(t, name, err, fault);
    FW_TRY(next_row(t, &line, err));
  }
  return FURROW_OK;
}

static furrow_status names_of_text(furrow_vectors_reader *v, furrow_name_list *list, furrow_error *err) {
  text_vectors *t = (text_vectors *)v;
  fw_buffer names = {0};
  char *bytes = NULL;
  size_t size = 0;
  furrow_status status = fw_check_rereadable(v->path, err);
  if (status == FURROW_OK) status = rewind_text(v, err);
  if (status == FURROW_OK) status = collect_names(t, &names, err);
  t->lost = true;
  if (status == FURROW_OK) status = fw_buffer_take(&names, &bytes, &size, err);
  if (status == FURROW_OK) status = fw_name_list_parse(list, bytes, size, v->path, 1 + t->header, err);
  if (status != FURROW_OK) fw_free(bytes);
  fw_buffer_clear(&names);
  return status;
}

static const fw_vectors_methods text_methods = {
    .next = next_of_text, .rewind = rewind_text, .close = close_text, .names = names_of_text};

/* ---- The first lines ------------------------------------------------------------------------------------ */

/* Of a table: the first of , ; and tab that is in the first line. */
static void find_separator(text_vectors *t, span line) {
  for (const char *s = ",;\t"; *s; s++) {
    t->separator = *s;
    span rest = line;
    bool more = false;
    take_field(t, &rest, &more);
    if (more) return;
  }
  t->separator = ',';
}

static furrow_status check_stated(text_vectors *t, const fields *first, furrow_error *err) {
  const uint64_t size = fw_bytes_in_size(t->in), count = first->whole[0];
  /* a vector has a name of a byte or more, and a blank and a digit for each number */
  if (first->whole[1] > MOST_LINE || (size != FW_BYTES_UNKNOWN && count > size / (2 * first->whole[1] + 1))) {
    fw_fail(err, FURROW_E_FORMAT, "states %" PRIu64 " vectors of %" PRIu64 " numbers, more than there are bytes", count,
            first->whole[1]);
    fw_error_set_file(err, t->head.path);
    if (err) err->line = 1;
    return FURROW_E_FORMAT;
  }
  t->stated = count;
  t->head.d = (size_t)first->whole[1];
  return FURROW_OK;
}

/* Checks whether a line of two whole numbers states counts: a vector of that dimension follows, or the count is 0. */
static furrow_status find_counts(text_vectors *t, const fields *first, size_t second, bool *found, furrow_error *err) {
  span line;
  size_t next = 0;
  FW_TRY(peek_line(t, second, &line, &next, err));
  const fields f = line.text ? find_fields(t, line) : (fields){0};
  *found = line.text && line.size > 0 ? f.count > first->whole[1] : first->whole[0] == 0;
  return FURROW_OK;
}

static furrow_status find_header(text_vectors *t, bool *first_is_id, furrow_error *err) {
  span line;
  size_t next = 0;
  *first_is_id = false;
  FW_TRY(peek_line(t, 0, &line, &next, err));
  if (!line.text) return FURROW_OK;
  if (!t->blanks && t->separator == 0) find_separator(t, line);
  const fields f = find_fields(t, line);
  if (t->blanks && f.are_whole && f.whole[1] > 0) {
    FW_TRY(find_counts(t, &f, next, &t->header, err));
    if (t->header) FW_TRY(check_stated(t, &f, err));
  } else if (!t->blanks) {
    t->header = !f.has_numbers && (f.count > 1 || !f.first_is_number);
    *first_is_id = t->header && f.first_is_id;
  }
  return t->header ? next_line(t, &line, err) : FURROW_OK;
}

/* Finds the dimension, and whether vectors have names. d: the dimension that the caller requires; 0: any. */
static furrow_status find_shape(text_vectors *t, size_t d, furrow_error *err) {
  bool first_is_id;
  span line;
  size_t next = 0;
  FW_TRY(begin_text(t, err));
  FW_TRY(find_header(t, &first_is_id, err));
  FW_TRY(peek_line(t, 0, &line, &next, err));
  if (!line.text || line.size == 0) {
    if (t->head.d == 0) t->head.d = d;
    return FURROW_OK;
  }
  const fields f = find_fields(t, line);
  if (t->head.d == 0 && f.count == d + 1) t->head.d = d;
  if (t->head.d > 0) {
    t->head.have_names = f.count > t->head.d;
  } else if (t->blanks) {
    t->head.d = f.numbers;
    t->head.have_names = f.numbers < f.count;
  } else {
    t->head.have_names = first_is_id || !f.first_is_number;
    t->head.d = f.count - t->head.have_names;
  }
  if (t->head.d == 0) return fail_line(t, t->line + 1, err, "has no numbers");
  if (d == 0 || d == t->head.d) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "has vectors of %zu %s, not of %zu", t->head.d,
          fw_plural(t->head.d, "element", "elements"), d);
  fw_error_set_file(err, t->head.path);
  return FURROW_E_FORMAT;
}

static furrow_status count_rows(text_vectors *t, furrow_error *err) {
  span line;
  t->head.count = t->stated;
  if (t->stated != FURROW_COUNT_UNKNOWN || fw_check_rereadable(t->head.path, NULL) != FURROW_OK) return FURROW_OK;
  t->lost = true;
  FW_TRY(next_row(t, &line, err));
  for (t->head.count = 0; line.text; t->head.count++) FW_TRY(next_row(t, &line, err));
  return rewind_text(&t->head, err);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

bool fw_text_kind_find(fw_text_kind *kind, const char *path, const char *name) {
  static const struct {
    const char *ending;
    fw_text_kind kind;
  } kinds[] = {
      {"csv", {.separator = 0}}, {"tsv", {.separator = '\t'}}, {"txt", {.blanks = true}}, {"vec", {.blanks = true}}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (name ? strcmp(name, kinds[i].ending) != 0 : !fw_data_path_ends(path, kinds[i].ending)) continue;
    *kind = kinds[i].kind;
    return true;
  }
  return false;
}

furrow_status fw_text_vectors_open(furrow_vectors_reader **vectors, const char *path, const fw_text_kind *kind,
                                   size_t d, furrow_error *err) {
  text_vectors *t = NULL;
  FW_TRY(FW_ALLOC_ZERO(&t, 1, err));
  t->head.methods = &text_methods;
  t->blanks = kind->blanks;
  t->separator = kind->separator;
  t->stated = FURROW_COUNT_UNKNOWN;
  furrow_status status = fw_strndup(&t->head.path, path, strlen(path), err);
  if (status == FURROW_OK) status = fw_bytes_in_open(&t->in, path, err);
  if (status == FURROW_OK) status = find_shape(t, d, err);
  if (status == FURROW_OK) status = count_rows(t, err);
  if (status != FURROW_OK) {
    close_text(&t->head);
    return status;
  }
  *vectors = &t->head;
  return FURROW_OK;
}
