/* io/recordio.c: records found, made into lines, written; and a decoder that reads them in order. */
#include "io/recordio.h"

#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/stream.h"

enum { HEAD = 8, LENGTH_BITS = 29, LENGTH_MASK = (1 << LENGTH_BITS) - 1 };
enum { WHOLE, FIRST, MIDDLE, LAST };

static uint32_t word_at(const char *bytes) {
  return fw_get_le32(bytes);
}

static bool is_magic(const char *bytes) {
  return memcmp(bytes, FW_RECORDIO_MAGIC, FW_RECORDIO_ALIGN) == 0;
}

static unsigned kind_of(uint32_t word) {
  return word >> LENGTH_BITS;
}

static size_t padded(size_t length) {
  return (length + FW_RECORDIO_ALIGN - 1) / FW_RECORDIO_ALIGN * FW_RECORDIO_ALIGN;
}

/* ---- Finding -------------------------------------------------------------------------------------------- */

size_t fw_recordio_find(const char *bytes, size_t length, uint64_t offset, size_t from) {
  from += (size_t)(-(offset + from) % FW_RECORDIO_ALIGN);
  for (; from + HEAD <= length; from += FW_RECORDIO_ALIGN)
    if (is_magic(bytes + from) && kind_of(word_at(bytes + from + FW_RECORDIO_ALIGN)) <= FIRST) return from;
  return length;
}

uint64_t fw_recordio_count(const char *bytes, size_t length, uint64_t offset) {
  uint64_t count = 0;
  for (size_t at = fw_recordio_find(bytes, length, offset, 0); at < length; count++)
    at = fw_recordio_find(bytes, length, offset, at + 1);
  return count;
}

/* ---- Lines in place ------------------------------------------------------------------------------------- */

static furrow_status fail_at(size_t at, const char *what, furrow_error *err) {
  const furrow_status status = fw_fail(err, FURROW_E_FORMAT, "RecordIO data %s", what);
  if (err) err->offset = at;
  return status;
}

/* Reads a head; *size is the length of the part, *more says whether another one follows. `inside`: parts of the record
 * came before. Returns what is wrong, or NULL. */
static const char *read_head(const char *head, bool inside, size_t *size, bool *more) {
  if (!is_magic(head)) return "is damaged: a record does not begin with its magic number";
  const uint32_t word = word_at(head + FW_RECORDIO_ALIGN);
  const unsigned kind = kind_of(word);
  if (kind > LAST || inside != (kind >= MIDDLE)) return "is damaged: parts of a record are missing";
  *size = word & LENGTH_MASK;
  *more = kind == FIRST || kind == MIDDLE;
  return NULL;
}

/* One record, whose parts are joined; *at becomes its end. */
static furrow_status record_to_line(char *bytes, size_t length, size_t *at, furrow_error *err) {
  size_t size = 0, to = *at + HEAD, from = *at;
  bool more = true, inside = false;
  while (more) {
    const char *wrong = length - from < HEAD ? "is cut short" : read_head(bytes + from, inside, &size, &more);
    if (!wrong && padded(size) > length - from - HEAD) wrong = "is cut short";
    if (wrong) return fail_at(from, wrong, err);
    if (!inside) memset(bytes + from, '\n', HEAD);
    if (inside) { /* the magic number that the split stands for */
      memcpy(bytes + to, FW_RECORDIO_MAGIC, FW_RECORDIO_ALIGN);
      to += FW_RECORDIO_ALIGN;
    }
    memmove(bytes + to, bytes + from + HEAD, size);
    to += size;
    from += HEAD + padded(size);
    inside = true;
  }
  memset(bytes + to, '\n', from - to);
  *at = from;
  return FURROW_OK;
}

furrow_status fw_recordio_to_lines(char *bytes, size_t length, furrow_error *err) {
  for (size_t at = 0; at < length;) FW_TRY(record_to_line(bytes, length, &at, err));
  return FURROW_OK;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* A line cannot have the magic number in it, which has a line end. */
static void add_record(fw_buffer *records, const char *line, size_t length) {
  static const char zeros[FW_RECORDIO_ALIGN];
  char head[HEAD];
  memcpy(head, FW_RECORDIO_MAGIC, FW_RECORDIO_ALIGN);
  fw_put_le32(head + FW_RECORDIO_ALIGN, (uint32_t)length);
  fw_buffer_append(records, head, HEAD);
  fw_buffer_append(records, line, length);
  fw_buffer_append(records, zeros, padded(length) - length);
}

void fw_recordio_from_lines(fw_buffer *records, fw_buffer *rest, const char *lines, size_t length) {
  for (const char *const end = lines + length; lines < end;) {
    const char *line_end = memchr(lines, '\n', (size_t)(end - lines));
    fw_buffer_append(rest, lines, (size_t)((line_end ? line_end : end) - lines));
    if (!line_end) return;
    if (rest->size > LENGTH_MASK) records->missing = rest->size;
    add_record(records, rest->bytes, rest->size);
    if (rest->missing) records->missing = rest->missing;
    fw_buffer_reset(rest);
    lines = line_end + 1;
  }
}

/* ---- Reading in order ----------------------------------------------------------------------------------- */

typedef struct recordio_state {
  bool inside;         /* more parts of the record follow */
  size_t left, pad;    /* bytes of the part that are still to come, and of its padding */
  const char *pending; /* bytes that are not in the file: the magic number between parts, the end of a line */
  size_t npending;
} recordio_state;

static furrow_status create_recordio(void **state, furrow_error *err) {
  recordio_state *made;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  *state = made;
  return FURROW_OK;
}

static furrow_status fail_records(const fw_source *source, const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "RecordIO data %s (after byte %llu of the file)", what,
                 (unsigned long long)fw_source_offset(source));
}

/* Enters the next part; *ended: the file ends here. */
static furrow_status begin_part(recordio_state *r, fw_source *source, bool *ended, furrow_error *err) {
  FW_TRY(fw_source_fill(source, HEAD, err));
  *ended = fw_source_unused(source) == 0 && !r->inside;
  if (*ended) return FURROW_OK;
  if (fw_source_unused(source) < HEAD) return fail_records(source, "is cut short", err);
  bool more = false;
  const char *wrong = read_head((const char *)source->buffer + source->used, r->inside, &r->left, &more);
  if (wrong) return fail_records(source, wrong, err);
  if (r->inside) r->pending = FW_RECORDIO_MAGIC, r->npending = FW_RECORDIO_ALIGN;
  r->inside = more;
  r->pad = padded(r->left) - r->left;
  source->used += HEAD;
  return FURROW_OK;
}

/* Leaves a part of which all bytes were read. */
static furrow_status end_part(recordio_state *r, fw_source *source, furrow_error *err) {
  FW_TRY(fw_source_fill(source, r->pad, err));
  if (fw_source_unused(source) < r->pad) return fail_records(source, "is cut short", err);
  source->used += r->pad;
  if (!r->inside) r->pending = "\n", r->npending = 1;
  return FURROW_OK;
}

static size_t give_pending(recordio_state *r, char *out, size_t size) {
  const size_t n = size < r->npending ? size : r->npending;
  memcpy(out, r->pending, n);
  r->pending += n;
  r->npending -= n;
  return n;
}

static furrow_status give_bytes(recordio_state *r, fw_source *source, char *out, size_t size, size_t *got,
                                furrow_error *err) {
  FW_TRY(fw_source_fill(source, 1, err));
  size_t n = fw_source_unused(source);
  if (n == 0) return fail_records(source, "is cut short", err);
  if (n > r->left) n = r->left;
  if (n > size) n = size;
  memcpy(out, source->buffer + source->used, n);
  source->used += n;
  r->left -= n;
  *got = n;
  return FURROW_OK;
}

static furrow_status read_recordio(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                                   furrow_error *err) {
  recordio_state *r = state;
  while (*got < size) {
    char *const out = (char *)buffer + *got;
    size_t n = 0;
    if (r->npending > 0) {
      n = give_pending(r, out, size - *got);
    } else if (r->left > 0) {
      FW_TRY(give_bytes(r, source, out, size - *got, &n, err));
      if (r->left == 0) FW_TRY(end_part(r, source, err));
    } else {
      bool ended = false;
      FW_TRY(begin_part(r, source, &ended, err));
      if (ended) return FURROW_OK;
      if (r->left == 0) FW_TRY(end_part(r, source, err));
    }
    *got += n;
  }
  return FURROW_OK;
}

const fw_decoder fw_decoder_recordio = {create_recordio, read_recordio, fw_free};
