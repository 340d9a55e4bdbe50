/* serve/indexes/log_records.c: the bytes of a log: its header and its records.
 *
 * An incomplete record ends the log if it was being written when the machine stopped, and is damage otherwise. The
 * records after it decide: each says how much of the log was on the disk before it was written. If one says that the
 * incomplete record was on the disk, the log is refused. */
#include "indexes/change_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/utf8.h"
#include "core/fail.h"
#include "furrow/vector.h"

static const unsigned char MAGIC[8] = {'F', 'U', 'R', 'R', 'O', 'W', 'L', 'G'};
enum { VERSION = 1, RECORD_HEADER = 32, CHECKSUM = 8, FLAG_NAMES = 1, FLAG_ATTRIBUTES = 2 };

/* ---- Numbers and checksums ---- */

/* For a fixed word it maps sums one to one, and for a fixed sum words: a change of one word always changes the result.
 */
static uint64_t mix(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15U;
  return sum ^ sum >> 32;
}

uint64_t log_checksum(const unsigned char *data, size_t size, uint64_t sequence, uint64_t position) {
  uint64_t sum = mix(mix(0x464c4f47, sequence), position);
  for (size_t i = 0; i < size; i += 8) sum = mix(sum, fw_get_le64(data + i));
  return mix(sum, size);
}

static size_t round_up(size_t size) {
  return (size + 7) & ~(size_t)7;
}

/* ---- Writing ---- */

void log_write_header(unsigned char header[LOG_HEADER], uint32_t d, uint64_t sequence, uint64_t previous,
                      uint64_t next_id) {
  memcpy(header, MAGIC, sizeof MAGIC);
  fw_put_le32(header + 8, VERSION);
  fw_put_le32(header + 12, d);
  fw_put_le64(header + 16, sequence);
  fw_put_le64(header + 24, previous);
  fw_put_le64(header + 32, next_id);
  fw_put_le64(header + 40, log_checksum(header, 40, 0, 0));
}

/* Returns why a text cannot be in a log; NULL: it can be. Attributes are JSON, which escapes control characters. */
static const char *text_problem(const char *text, size_t size, uint32_t last) {
  for (const char *at = text, *end = text + size; at < end;) {
    uint32_t code;
    at = fw_utf8_read(at, end, &code);
    if (!at) return "is not UTF-8";
    if (code < 0x20 || code == last) return "has a control character";
  }
  return NULL;
}

/* The same for a name and for a row of attributes. */
static const char *name_problem(const char *name, size_t size) {
  return size == 0 ? "is empty" : text_problem(name, size, 0x7f);
}

static const char *row_problem(const char *row, size_t size) {
  return text_problem(row, size, 0);
}

/* Checks a change; *texts_size: bytes of its names and attributes. */
static furrow_status check_change(const index_change *change, uint32_t d, size_t *texts_size, furrow_error *err) {
  const bool is_set = change->kind == CHANGE_SET;
  if (!is_set && change->kind != CHANGE_REMOVE) return fail(err, FURROW_E_ARGUMENT, "a change of an unknown kind");
  if (change->n == 0 || change->n > UINT32_MAX || change->n > (SIZE_MAX >> 8) / (8 + 4 * (size_t)d))
    return fail(err, FURROW_E_ARGUMENT, "a change of %zu ids", change->n);
  for (size_t i = 0; i < change->n; i++)
    if (change->ids[i] < 0) return fail(err, FURROW_E_ARGUMENT, "id %lld is negative", (long long)change->ids[i]);
  *texts_size = 0;
  if (!is_set) return FURROW_OK;
  const size_t invalid = furrow_first_invalid_vector(change->vectors, change->n, d);
  if (invalid < change->n) return fail(err, FURROW_E_ARGUMENT, "vector %zu is not finite or too large", invalid);
  for (size_t i = 0; change->names && i < change->n; i++) {
    const size_t size = strlen(change->names[i]);
    const char *problem = name_problem(change->names[i], size);
    if (problem) return fail(err, FURROW_E_ARGUMENT, "name %zu %s", i, problem);
    *texts_size += size + 1;
  }
  for (size_t i = 0; change->attributes && i < change->n; i++) {
    const size_t size = strlen(change->attributes[i]);
    const char *problem = row_problem(change->attributes[i], size);
    if (problem) return fail(err, FURROW_E_ARGUMENT, "row %zu of attributes %s", i, problem);
    *texts_size += size + 1;
  }
  return FURROW_OK;
}

static unsigned char *store_ids(unsigned char *to, const index_change *change) {
  for (size_t i = 0; i < change->n; i++) fw_put_le64(to + 8 * i, (uint64_t)change->ids[i]);
  return to + 8 * change->n;
}

static unsigned char *store_vectors(unsigned char *to, const float *vectors, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, vectors + i, sizeof bits);
    fw_put_le32(to + 4 * i, bits);
  }
  return to + 4 * n;
}

static unsigned char *store_texts(unsigned char *to, const char *const *texts, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const size_t size = strlen(texts[i]) + 1;
    memcpy(to, texts[i], size);
    to += size;
  }
  return to;
}

furrow_status log_append_record(fw_buffer *records, const index_change *change, uint32_t d, uint64_t sequence,
                                uint64_t position, furrow_error *err) {
  size_t texts_size = 0;
  const furrow_status status = check_change(change, d, &texts_size, err);
  if (status != FURROW_OK) return status;
  const bool is_set = change->kind == CHANGE_SET, has_names = is_set && change->names;
  const bool has_attributes = is_set && change->attributes;
  const size_t vector_size = is_set ? 4 * (size_t)d : 0;
  const size_t payload = round_up(change->n * (8 + vector_size) + texts_size);
  const size_t length = RECORD_HEADER + payload + CHECKSUM;
  unsigned char *record = (unsigned char *)fw_buffer_reserve(records, length);
  if (!record) {
    records->missing = 0; /* the records before it are complete */
    return fail_memory(err);
  }
  memset(record, 0, RECORD_HEADER);
  fw_put_le64(record, length);
  fw_put_le32(record + 16, (uint32_t)change->n);
  fw_put_le16(record + 20, change->kind);
  fw_put_le16(record + 22, (uint16_t)((has_names ? FLAG_NAMES : 0) | (has_attributes ? FLAG_ATTRIBUTES : 0)));
  unsigned char *end = store_ids(record + RECORD_HEADER, change);
  if (is_set) end = store_vectors(end, change->vectors, change->n * d);
  if (has_names) end = store_texts(end, change->names, change->n);
  if (has_attributes) end = store_texts(end, change->attributes, change->n);
  memset(end, 0, (size_t)(record + RECORD_HEADER + payload - end));
  fw_put_le64(record + length - CHECKSUM, log_checksum(record + RECORD_HEADER, payload, sequence, position));
  fw_buffer_advance(records, length);
  return FURROW_OK;
}

void log_seal(fw_buffer *records, uint64_t sequence, uint64_t position) {
  unsigned char *data = (unsigned char *)records->bytes;
  for (size_t at = 0; at < records->size; at += fw_get_le64(data + at)) {
    fw_put_le64(data + at + 8, position);
    fw_put_le64(data + at + 24, log_checksum(data + at, 24, sequence, position + at));
  }
}

/* ---- Reading ---- */

typedef struct log_reader {
  const unsigned char *data;
  size_t size;
  uint32_t d;
  const char *file;
  log_extent extent;
  change_replay replay;
  void *user;
  int64_t *ids; /* ids of one record, as are the next three */
  float *vectors;
  const char **names, **attributes;
  size_t capacity; /* bytes of each */
} log_reader;

static furrow_status fail_at(const log_reader *r, uint64_t byte, const char *message, furrow_error *err) {
  fail_in(err, FURROW_E_FORMAT, r->file, "%s", message);
  err->offset = byte;
  return FURROW_E_FORMAT;
}

static bool is_zero(const unsigned char *data, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (data[i]) return false;
  return true;
}

/* Whether the header was still being written: the file is too short for one, or has only zeros. */
static bool is_unfinished(const log_reader *r) {
  if (r->size == 0) return true;
  if (r->size >= LOG_HEADER) return is_zero(r->data, r->size);
  const size_t magic = r->size < sizeof MAGIC ? r->size : sizeof MAGIC;
  return memcmp(r->data, MAGIC, magic) == 0 || is_zero(r->data, r->size);
}

static furrow_status read_header(log_reader *r, furrow_error *err) {
  if (memcmp(r->data, MAGIC, sizeof MAGIC) != 0) return fail_at(r, 0, "not a log of changes", err);
  if (fw_get_le64(r->data + 40) != log_checksum(r->data, 40, 0, 0))
    return fail_at(r, 0, "the header of the log is damaged", err);
  if (fw_get_le32(r->data + 8) != VERSION)
    return fail_at(r, 8, "the log has a version that this program does not read", err);
  if (fw_get_le32(r->data + 12) != r->d) {
    fail_in(err, FURROW_E_FORMAT, r->file, "the log has vectors of %u numbers, the index of %u",
            (unsigned)fw_get_le32(r->data + 12), (unsigned)r->d);
    err->offset = 12;
    return FURROW_E_FORMAT;
  }
  if (fw_get_le64(r->data + 32) > (uint64_t)1 << 63)
    return fail_at(r, 32, "the next id of the log is beyond the last possible id", err);
  r->extent = (log_extent){LOG_HEADER, fw_get_le64(r->data + 16), fw_get_le64(r->data + 24), fw_get_le64(r->data + 32)};
  return FURROW_OK;
}

static bool has_header(const log_reader *r, size_t at) {
  return r->size - at >= RECORD_HEADER &&
         fw_get_le64(r->data + at + 24) == log_checksum(r->data + at, 24, r->extent.sequence, at);
}

/* Whether the numbers in a header whose checksum is right make sense. */
static bool is_possible(const log_reader *r, size_t at) {
  const uint64_t length = fw_get_le64(r->data + at), synced = fw_get_le64(r->data + at + 8);
  return length % 8 == 0 && length >= RECORD_HEADER + CHECKSUM && synced >= LOG_HEADER && synced <= at;
}

/* Returns the size of the record at `at`, whose header is valid; 0: it is incomplete. */
static size_t whole_record(const log_reader *r, size_t at) {
  const uint64_t length = fw_get_le64(r->data + at);
  if (length > r->size - at) return 0;
  const unsigned char *payload = r->data + at + RECORD_HEADER;
  const size_t size = (size_t)length - RECORD_HEADER - CHECKSUM;
  return fw_get_le64(payload + size) == log_checksum(payload, size, r->extent.sequence, at) ? (size_t)length : 0;
}

static furrow_status reserve_record(log_reader *r, size_t size, furrow_error *err) {
  if (size <= r->capacity) return FURROW_OK;
  free(r->ids);
  free(r->vectors);
  free(r->names);
  free(r->attributes);
  r->ids = malloc(size);
  r->vectors = malloc(size);
  r->names = malloc(size);
  r->attributes = malloc(size);
  r->capacity = r->ids && r->vectors && r->names && r->attributes ? size : 0;
  return r->capacity ? FURROW_OK : fail_memory(err);
}

/* Reads names or rows of attributes, which begin at *at, and moves it past them. */
static furrow_status read_texts(log_reader *r, const char **texts, size_t count, bool names, size_t *at, size_t end,
                                furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    const char *text = (const char *)r->data + *at;
    const size_t size = strnlen(text, end - *at);
    if (size == end - *at) return fail_at(r, *at, "a text is not terminated", err);
    if (names && name_problem(text, size))
      return fail_at(r, *at, "a name is empty, not UTF-8 or has a control character", err);
    if (!names && row_problem(text, size))
      return fail_at(r, *at, "attributes are not UTF-8 or have a control character", err);
    texts[i] = text;
    *at += size + 1;
  }
  return FURROW_OK;
}

static furrow_status read_padding(const log_reader *r, size_t at, size_t end, furrow_error *err) {
  return end - at < 8 && is_zero(r->data + at, end - at) ? FURROW_OK
                                                         : fail_at(r, at, "unexpected bytes after the texts", err);
}

static furrow_status read_ids(log_reader *r, size_t count, size_t at, furrow_error *err) {
  for (size_t i = 0; i < count; i++, at += 8) {
    r->ids[i] = (int64_t)fw_get_le64(r->data + at);
    if (r->ids[i] < 0) return fail_at(r, at, "an id is negative", err);
  }
  return FURROW_OK;
}

static furrow_status read_vectors(log_reader *r, size_t count, size_t at, furrow_error *err) {
  for (size_t i = 0; i < count * r->d; i++) {
    const uint32_t bits = (uint32_t)fw_get_le32(r->data + at + 4 * i);
    memcpy(r->vectors + i, &bits, sizeof bits);
  }
  const size_t invalid = furrow_first_invalid_vector(r->vectors, count, r->d);
  return invalid == count ? FURROW_OK : fail_at(r, at + invalid * 4 * r->d, "a vector is not finite or too large", err);
}

/* Reads a record whose checksums are valid; its numbers may still be invalid. */
static furrow_status read_record(log_reader *r, size_t at, size_t length, furrow_error *err) {
  const unsigned char *header = r->data + at;
  const size_t count = fw_get_le32(header + 16);
  const unsigned kind = (unsigned)fw_get_le16(header + 20), flags = (unsigned)fw_get_le16(header + 22);
  const bool is_set = kind == CHANGE_SET, has_names = flags & FLAG_NAMES, has_attributes = flags & FLAG_ATTRIBUTES;
  if (!is_set && kind != CHANGE_REMOVE) return fail_at(r, at + 20, "a record of an unknown kind", err);
  if (flags > (is_set ? FLAG_NAMES | FLAG_ATTRIBUTES : 0))
    return fail_at(r, at + 22, "a record with unknown flags", err);
  const size_t payload = length - RECORD_HEADER - CHECKSUM, each = 8 + (is_set ? 4 * (size_t)r->d : 0);
  if (count == 0 || count > payload / each || (flags == 0 && payload != round_up(count * each)))
    return fail_at(r, at + 16, "a record whose count does not fit its length", err);
  furrow_status status = reserve_record(r, payload, err);
  const size_t ids_at = at + RECORD_HEADER, vectors_at = ids_at + 8 * count, end = ids_at + payload;
  size_t texts_at = ids_at + each * count;
  if (status == FURROW_OK) status = read_ids(r, count, ids_at, err);
  if (status == FURROW_OK && is_set) status = read_vectors(r, count, vectors_at, err);
  if (status == FURROW_OK) status = read_texts(r, r->names, has_names ? count : 0, true, &texts_at, end, err);
  if (status == FURROW_OK)
    status = read_texts(r, r->attributes, has_attributes ? count : 0, false, &texts_at, end, err);
  if (status == FURROW_OK) status = read_padding(r, texts_at, end, err);
  if (status != FURROW_OK) return status;
  const index_change change = {
      is_set ? CHANGE_SET : CHANGE_REMOVE,  count, r->ids, is_set ? r->vectors : NULL, has_names ? r->names : NULL,
      has_attributes ? r->attributes : NULL};
  return r->replay(r->user, &change, err);
}

/* Whether the incomplete record at `at` was on the disk before: a later record says so. */
static bool was_synced(const log_reader *r, size_t at) {
  size_t next = at + 8;
  if (has_header(r, at)) { /* skips the content of the record, which may look like a record */
    const uint64_t length = fw_get_le64(r->data + at);
    if (length >= r->size - at) return false;
    next = at + (size_t)length;
  }
  for (; next < r->size; next += 8)
    if (has_header(r, next) && fw_get_le64(r->data + next + 8) > at) return true;
  return false;
}

static furrow_status read_records(log_reader *r, furrow_error *err) {
  size_t at = LOG_HEADER;
  while (at < r->size) {
    if (!has_header(r, at)) break;
    if (!is_possible(r, at)) return fail_at(r, at, "a record of an impossible length", err);
    const size_t length = whole_record(r, at);
    if (length == 0) break;
    const furrow_status status = read_record(r, at, length, err);
    if (status != FURROW_OK) return status;
    at += length;
  }
  r->extent.used = at;
  return at < r->size && was_synced(r, at) ? fail_at(r, at, "a record is damaged, and whole ones follow it", err)
                                           : FURROW_OK;
}

furrow_status change_log_read(const void *data, size_t size, uint32_t d, const char *file, change_replay replay,
                              void *user, log_extent *extent, furrow_error *err) {
  log_reader r = {.data = data, .size = size, .d = d, .file = file, .replay = replay, .user = user};
  furrow_status status = FURROW_OK;
  if (!is_unfinished(&r)) {
    status = size < LOG_HEADER ? fail_at(&r, 0, "not a log of changes", err) : read_header(&r, err);
    if (status == FURROW_OK) status = read_records(&r, err);
  }
  free(r.ids);
  free(r.vectors);
  free(r.names);
  free(r.attributes);
  if (status == FURROW_OK) *extent = r.extent;
  return status;
}
