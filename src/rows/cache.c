/* rows/cache.c: the row cache file. */
#include "rows/cache.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"
#include "io/input.h"
#include "rows/block/elements.h"

/* Offsets of the header's fields. Unused bytes are 0. */
enum {
  AT_MAGIC = 0,
  AT_VERSION = 8,
  AT_HEADER_SIZE = 12,
  AT_INDEX_TYPE = 16, /* the name of the type, padded with 0 */
  AT_VALUE_TYPE = 20,
  AT_COLUMNS = 24,
  AT_UNUSED_1 = 28,
  AT_RECORDS = 32,
  AT_PAYLOAD_BYTES = 40,
  AT_ROWS = 48,
  AT_FEATURES = 56,
  AT_MAX_INDEX = 64,
  AT_MAX_FIELD = 72,
  AT_STAMP = 80,
  AT_PAYLOAD_DIGEST = 88,
  AT_UNUSED_2 = 96,
  AT_HEADER_DIGEST = 120,
  TYPE_NAME = 4
};

enum { ALL_COLUMNS = FW_COLUMN_LABEL | FW_COLUMN_WEIGHT | FW_COLUMN_QID | FW_COLUMN_FIELD | FW_COLUMN_VALUE };

/* The vectors of a record, in order. */
enum { AT_OFFSET, AT_LABEL, AT_WEIGHT, AT_QID, AT_FIELD, AT_INDEX, AT_VALUE, VECTORS };

typedef struct vector_traits {
  const char *name;
  unsigned column; /* 0: always present */
  bool of_features;
} vector_traits;

static const vector_traits vectors[VECTORS] = {
    [AT_OFFSET] = {"offset", 0, false},
    [AT_LABEL] = {"label", FW_COLUMN_LABEL, false},
    [AT_WEIGHT] = {"weight", FW_COLUMN_WEIGHT, false},
    [AT_QID] = {"qid", FW_COLUMN_QID, false},
    [AT_FIELD] = {"field", FW_COLUMN_FIELD, true},
    [AT_INDEX] = {"index", 0, true},
    [AT_VALUE] = {"value", FW_COLUMN_VALUE, true},
};

static size_t vector_element_size(const fw_cache_info *info, int vector) {
  switch (vector) {
  case AT_OFFSET: return sizeof(uint64_t);
  case AT_WEIGHT: return sizeof(float);
  case AT_QID: return sizeof(uint64_t);
  case AT_LABEL:
  case AT_VALUE: return furrow_value_size(info->value_type);
  default: return furrow_key_size(info->key_type);
  }
}

static void *vector_memory(const furrow_container *c, int vector) {
  void *const memory[VECTORS] = {c->offset, c->label, c->weight, c->qid, c->field, c->index, c->value};
  return memory[vector];
}

static unsigned container_columns(const furrow_container *c) {
  return (c->has_label && c->rows ? FW_COLUMN_LABEL : 0U) | (c->has_weight && c->rows ? FW_COLUMN_WEIGHT : 0U) |
         (c->has_qid && c->rows ? FW_COLUMN_QID : 0U) | (c->has_field && c->features ? FW_COLUMN_FIELD : 0U) |
         (c->has_value && c->features ? FW_COLUMN_VALUE : 0U);
}

/* Adds a record to the sums of the file. */
static void add_record(fw_cache_info *sums, const furrow_container *c) {
  sums->records++;
  sums->rows += c->rows;
  sums->features += c->features;
  sums->columns |= container_columns(c);
  if (c->max_index > sums->max_index) sums->max_index = c->max_index;
  if (c->max_field > sums->max_field) sums->max_field = c->max_field;
}

/* ---- Header --------------------------------------------------------------------------------------------- */

static void encode_header(unsigned char *header, const fw_cache_info *info, uint64_t payload_digest) {
  memset(header, 0, FW_CACHE_HEADER);
  memcpy(header + AT_MAGIC, FW_CACHE_MAGIC, sizeof FW_CACHE_MAGIC - 1);
  fw_put_le32(header + AT_VERSION, FW_CACHE_VERSION);
  fw_put_le32(header + AT_HEADER_SIZE, FW_CACHE_HEADER);
  strncpy((char *)header + AT_INDEX_TYPE, furrow_key_type_name(info->key_type), TYPE_NAME - 1);
  strncpy((char *)header + AT_VALUE_TYPE, furrow_value_type_name(info->value_type), TYPE_NAME - 1);
  fw_put_le32(header + AT_COLUMNS, info->columns);
  fw_put_le64(header + AT_RECORDS, info->records);
  fw_put_le64(header + AT_PAYLOAD_BYTES, info->payload_bytes);
  fw_put_le64(header + AT_ROWS, info->rows);
  fw_put_le64(header + AT_FEATURES, info->features);
  fw_put_le64(header + AT_MAX_INDEX, info->max_index);
  fw_put_le64(header + AT_MAX_FIELD, info->max_field);
  fw_put_le64(header + AT_STAMP, info->stamp);
  fw_put_le64(header + AT_PAYLOAD_DIGEST, payload_digest);
  fw_put_le64(header + AT_HEADER_DIGEST, XXH3_64bits(header, AT_HEADER_DIGEST));
}

/* ---- Writer --------------------------------------------------------------------------------------------- */

struct fw_cache_writer {
  fw_atomic_file *file;
  XXH3_state_t *hash;
  furrow_container *gathered; /* rows that do not fill a record yet */
  size_t record_bytes;
  fw_cache_info info; /* payload_bytes and the sums of the records written so far */
  bool broken;        /* a write failed half-way: the file must not appear */
};

/* Creates a streaming digest in its initial state. */
static furrow_status hash_create(XXH3_state_t **hash, furrow_error *err) {
  XXH3_state_t *state = XXH3_createState();
  if (!state) return fw_fail_memory(err, 576); /* the size in xxhash 0.8; the type is opaque */
  XXH3_64bits_reset(state);
  *hash = state;
  return FURROW_OK;
}

furrow_status fw_cache_writer_open(fw_cache_writer **writer, const char *path, furrow_key_type key_type,
                                   furrow_value_type value_type, uint64_t stamp, size_t record_bytes,
                                   furrow_error *err) {
  static const unsigned char no_header[FW_CACHE_HEADER] = {0};
  fw_cache_writer *w;
  furrow_status status = FW_ALLOC_ZERO(&w, 1, err);
  if (status != FURROW_OK) return status;
  w->record_bytes = record_bytes ? record_bytes : FW_CACHE_RECORD_BYTES;
  w->info = (fw_cache_info){.key_type = key_type, .value_type = value_type, .stamp = stamp};
  status = hash_create(&w->hash, err);
  if (status == FURROW_OK) status = furrow_container_create(&w->gathered, key_type, value_type, err);
  if (status == FURROW_OK) status = fw_atomic_file_open(&w->file, path, err);
  if (status == FURROW_OK) status = fw_atomic_file_write(w->file, no_header, sizeof no_header, err);
  if (status == FURROW_OK) {
    *writer = w;
  } else {
    fw_cache_writer_close(w);
  }
  return status;
}

static furrow_status put_bytes(void *writer, const void *data, size_t size, furrow_error *err) {
  fw_cache_writer *w = writer;
  XXH3_64bits_update(w->hash, data, size);
  w->info.payload_bytes += size;
  return fw_atomic_file_write(w->file, data, size, err);
}

static furrow_status put_vector(fw_cache_writer *w, const void *elements, uint64_t count, size_t size,
                                furrow_error *err) {
  unsigned char bytes[8];
  fw_put_le64(bytes, count);
  furrow_status status = put_bytes(w, bytes, sizeof bytes, err);
  if (status == FURROW_OK && count) status = fw_put_le_elements(put_bytes, w, elements, size, count, err);
  return status;
}

/* Writes a maximum with the width of an index. */
static furrow_status put_maximum(fw_cache_writer *w, uint64_t maximum, furrow_error *err) {
  unsigned char bytes[8];
  fw_put_le64(bytes, maximum);
  return put_bytes(w, bytes, furrow_key_size(w->info.key_type), err);
}

static furrow_status write_record(fw_cache_writer *w, const furrow_container *c, furrow_error *err) {
  unsigned columns = container_columns(c);
  const furrow_rowblock block = fw_container_block(c);
  furrow_status status = put_vector(w, block.offset, (uint64_t)c->rows + 1, sizeof *block.offset, err);
  for (int v = AT_LABEL; status == FURROW_OK && v < VECTORS; v++) {
    bool there = !vectors[v].column || (columns & vectors[v].column);
    uint64_t count = vectors[v].of_features ? c->features : c->rows;
    status = put_vector(w, vector_memory(c, v), there ? count : 0, vector_element_size(&w->info, v), err);
  }
  if (status == FURROW_OK) status = put_maximum(w, c->max_field, err);
  if (status == FURROW_OK) status = put_maximum(w, c->max_index, err);
  if (status == FURROW_OK) add_record(&w->info, c);
  return status;
}

/* Rows with and without a label cannot be in one file. */
static furrow_status check_label(const fw_cache_writer *w, bool has_label, furrow_error *err) {
  if (w->info.rows == 0 || has_label == ((w->info.columns & FW_COLUMN_LABEL) != 0)) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE, "rows with and without a label cannot be in one row cache");
}

void fw_cache_writer_keep_existing(fw_cache_writer *writer) {
  fw_atomic_file_keep_existing(writer->file);
}

furrow_status fw_cache_writer_push_record(fw_cache_writer *writer, const furrow_container *container,
                                          furrow_error *err) {
  const fw_cache_info *info = &writer->info;
  if (container->key_type != info->key_type || container->value_type != info->value_type) {
    return fw_fail(err, FURROW_E_ARGUMENT, "%s/%s rows for a row cache of %s/%s",
                   furrow_key_type_name(container->key_type), furrow_value_type_name(container->value_type),
                   furrow_key_type_name(info->key_type), furrow_value_type_name(info->value_type));
  }
  furrow_status status = container->rows ? check_label(writer, container->has_label, err) : FURROW_OK;
  if (status != FURROW_OK) return status;
  status = write_record(writer, container, err);
  if (status != FURROW_OK) writer->broken = true;
  return status;
}

/* Returns the end of the slice that starts at `begin` and fills the gathered rows up to record_bytes, or the end of
 * the block. */
static size_t record_end(const fw_cache_writer *w, const furrow_rowblock *block, size_t begin) {
  size_t gathered = furrow_container_memory_cost(w->gathered), low = begin + 1, high = block->size;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    furrow_rowblock slice = *block;
    slice.size = middle - begin;
    slice.offset += begin;
    if (gathered + furrow_rowblock_memory_cost(&slice) >= w->record_bytes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

static furrow_status flush_gathered(fw_cache_writer *w, furrow_error *err) {
  furrow_status status = fw_cache_writer_push_record(w, w->gathered, err);
  if (status == FURROW_OK) furrow_container_clear(w->gathered);
  return status;
}

furrow_status fw_cache_writer_push_block(fw_cache_writer *writer, const furrow_rowblock *block, furrow_error *err) {
  furrow_status status = block->size ? check_label(writer, block->label.any != NULL, err) : FURROW_OK;
  for (size_t begin = 0, end; status == FURROW_OK && begin < block->size; begin = end) {
    furrow_rowblock slice;
    end = record_end(writer, block, begin);
    status = furrow_rowblock_slice(block, begin, end, &slice, err);
    if (status == FURROW_OK) status = furrow_container_push_block(writer->gathered, &slice, err);
    if (status == FURROW_OK && furrow_container_memory_cost(writer->gathered) >= writer->record_bytes) {
      status = flush_gathered(writer, err);
    }
    if (status != FURROW_OK && begin > 0)
      writer->broken = true; /* earlier rows of the block were written already: the block is incomplete */
  }
  return status;
}

furrow_status fw_cache_writer_complete(fw_cache_writer *writer, fw_atomic_file **file, furrow_error *err) {
  if (writer->broken) return fw_fail(err, FURROW_E_STATE, "the row cache is incomplete: writing to it failed before");
  furrow_status status = FURROW_OK;
  if (writer->gathered->rows || writer->info.records == 0) status = flush_gathered(writer, err);
  if (status != FURROW_OK) return status;
  unsigned char header[FW_CACHE_HEADER];
  encode_header(header, &writer->info, XXH3_64bits_digest(writer->hash));
  *file = writer->file;
  return fw_atomic_file_write_at(writer->file, 0, header, sizeof header, err);
}

furrow_status fw_cache_writer_commit(fw_cache_writer *writer, furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_cache_writer_complete(writer, &file, err));
  return fw_atomic_file_commit(file, err);
}

const fw_cache_info *fw_cache_writer_info(const fw_cache_writer *writer) {
  return &writer->info;
}

void fw_cache_writer_close(fw_cache_writer *writer) {
  if (!writer) return;
  fw_atomic_file_close(writer->file);
  furrow_container_free(writer->gathered);
  XXH3_freeState(writer->hash);
  fw_free(writer);
}

/* ---- Reader --------------------------------------------------------------------------------------------- */

struct fw_cache_reader {
  fw_input *input;
  char *path;
  XXH3_state_t *hash;
  fw_cache_info info; /* from the header */
  uint64_t payload_digest;
  uint64_t position;  /* offset in the file of the next record */
  fw_cache_info seen; /* the sums of the records read so far */
};

/* The number of elements of each vector of a record. */
typedef struct record_layout {
  uint64_t count[VECTORS];
  uint64_t place[VECTORS]; /* offsets of the counts in the file */
} record_layout;

__attribute__((format(printf, 4, 5))) static furrow_status fail_at(const fw_cache_reader *r, uint64_t offset,
                                                                   furrow_error *err, const char *format, ...) {
  char text[160];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "%s", text);
  fw_error_set_file(err, r->path);
  if (err) err->offset = offset;
  return status;
}

static uint64_t payload_end(const fw_cache_reader *r) {
  return FW_CACHE_HEADER + r->info.payload_bytes;
}

/* Reads exactly `size` bytes. */
static furrow_status read_exactly(const fw_cache_reader *r, void *to, size_t size, uint64_t offset, furrow_error *err) {
  size_t got;
  furrow_status status = fw_input_read_at(r->input, to, size, offset, &got, err);
  if (status == FURROW_OK && got < size) status = fail_at(r, offset + got, err, "the row cache is cut short");
  return status;
}

static bool all_zero(const unsigned char *bytes, size_t n) {
  unsigned char any = 0;
  for (size_t i = 0; i < n; i++) any |= bytes[i];
  return any == 0;
}

/* Decodes the types by their names. */
static furrow_status decode_types(const fw_cache_reader *r, const unsigned char *header, fw_cache_info *info,
                                  furrow_error *err) {
  char index[TYPE_NAME + 1] = {0}, value[TYPE_NAME + 1] = {0};
  memcpy(index, header + AT_INDEX_TYPE, TYPE_NAME);
  memcpy(value, header + AT_VALUE_TYPE, TYPE_NAME);
  if (furrow_key_type_find(index, &info->key_type, NULL) != FURROW_OK) {
    return fail_at(r, AT_INDEX_TYPE, err, "the row cache has an unknown index type");
  }
  if (furrow_value_type_find(value, &info->value_type, NULL) != FURROW_OK) {
    return fail_at(r, AT_VALUE_TYPE, err, "the row cache has an unknown value type");
  }
  return FURROW_OK;
}

/* Rejects numbers that no writer can have written. The sums are compared with the records later. */
static furrow_status check_info(const fw_cache_reader *r, const fw_cache_info *info, uint64_t file_size,
                                furrow_error *err) {
  uint64_t payload = file_size - FW_CACHE_HEADER;
  if (info->columns & ~(unsigned)ALL_COLUMNS) return fail_at(r, AT_COLUMNS, err, "the row cache has unknown columns");
  if (info->payload_bytes > payload) {
    return fail_at(r, file_size, err, "the row cache is cut short: %" PRIu64 " of %" PRIu64 " bytes", payload,
                   info->payload_bytes);
  }
  if (info->payload_bytes < payload) {
    return fail_at(r, FW_CACHE_HEADER + info->payload_bytes, err, "%" PRIu64 " %s the row cache",
                   payload - info->payload_bytes,
                   fw_plural(payload - info->payload_bytes, "byte follows", "bytes follow"));
  }
  if (info->records == 0) return fail_at(r, AT_RECORDS, err, "the row cache has no record");
  if (info->rows > payload / sizeof(uint64_t)) return fail_at(r, AT_ROWS, err, "more rows than the bytes can hold");
  if (info->features > payload / furrow_key_size(info->key_type)) {
    return fail_at(r, AT_FEATURES, err, "more features than the bytes can hold");
  }
  return FURROW_OK;
}

static furrow_status decode_header(fw_cache_reader *r, const unsigned char *header, uint64_t file_size,
                                   furrow_error *err) {
  fw_cache_info info = {0};
  uint32_t version = fw_get_le32(header + AT_VERSION);
  if (version != FW_CACHE_VERSION) {
    return fail_at(r, AT_VERSION, err, "the row cache is of version %" PRIu32 ", this reads version %d", version,
                   FW_CACHE_VERSION);
  }
  if (fw_get_le32(header + AT_HEADER_SIZE) != FW_CACHE_HEADER) {
    return fail_at(r, AT_HEADER_SIZE, err, "the row cache has a header of another size");
  }
  if (fw_get_le64(header + AT_HEADER_DIGEST) != XXH3_64bits(header, AT_HEADER_DIGEST)) {
    return fail_at(r, AT_HEADER_DIGEST, err, "the header of the row cache is damaged: its digest is wrong");
  }
  if (!all_zero(header + AT_UNUSED_1, AT_RECORDS - AT_UNUSED_1) ||
      !all_zero(header + AT_UNUSED_2, AT_HEADER_DIGEST - AT_UNUSED_2)) {
    return fail_at(r, AT_UNUSED_1, err, "unused bytes of the row cache's header are not 0");
  }
  furrow_status status = decode_types(r, header, &info, err);
  if (status != FURROW_OK) return status;
  info.columns = fw_get_le32(header + AT_COLUMNS);
  info.records = fw_get_le64(header + AT_RECORDS);
  info.payload_bytes = fw_get_le64(header + AT_PAYLOAD_BYTES);
  info.rows = fw_get_le64(header + AT_ROWS);
  info.features = fw_get_le64(header + AT_FEATURES);
  info.max_index = fw_get_le64(header + AT_MAX_INDEX);
  info.max_field = fw_get_le64(header + AT_MAX_FIELD);
  info.stamp = fw_get_le64(header + AT_STAMP);
  status = check_info(r, &info, file_size, err);
  if (status != FURROW_OK) return status;
  r->payload_digest = fw_get_le64(header + AT_PAYLOAD_DIGEST);
  r->info = info;
  return FURROW_OK;
}

static furrow_status read_header(fw_cache_reader *r, furrow_error *err) {
  struct stat st;
  if (fw_input_stat(r->input, &st, NULL) != FURROW_OK || !S_ISREG(st.st_mode))
    return fail_at(r, 0, err, "a row cache is a regular file");
  uint64_t size = (uint64_t)st.st_size;
  unsigned char header[FW_CACHE_HEADER] = {0};
  furrow_status status = read_exactly(r, header, size < sizeof header ? size : sizeof header, 0, err);
  if (status != FURROW_OK) return status;
  if (memcmp(header + AT_MAGIC, FW_CACHE_MAGIC, sizeof FW_CACHE_MAGIC - 1) != 0) {
    status =
        fail_at(r, AT_MAGIC, err, size ? "this is not a row cache of Furrow" : "this is not a row cache: it is empty");
    fw_error_set_hint(err, "name another cache"); /* it may be the user's data */
    return status;
  }
  if (size < sizeof header) return fail_at(r, size, err, "the row cache is cut short: it ends in its header");
  return decode_header(r, header, size, err);
}

furrow_status fw_cache_reader_open(fw_cache_reader **reader, const char *path, furrow_error *err) {
  fw_cache_reader *r;
  furrow_status status = FW_ALLOC_ZERO(&r, 1, err);
  if (status != FURROW_OK) return status;
  status = fw_strndup(&r->path, path, strlen(path), err);
  if (status == FURROW_OK) status = hash_create(&r->hash, err);
  if (status == FURROW_OK) status = fw_input_open_regular(&r->input, path, err);
  if (status == FURROW_OK) status = read_header(r, err);
  if (status == FURROW_OK) {
    fw_cache_reader_rewind(r);
    *reader = r;
  } else {
    fw_cache_reader_close(r);
  }
  return status;
}

const fw_cache_info *fw_cache_reader_info(const fw_cache_reader *reader) {
  return &reader->info;
}

void fw_cache_reader_rewind(fw_cache_reader *reader) {
  reader->position = FW_CACHE_HEADER;
  reader->seen = (fw_cache_info){0};
  XXH3_64bits_reset(reader->hash);
}

void fw_cache_reader_close(fw_cache_reader *reader) {
  if (!reader) return;
  fw_input_close(reader->input);
  XXH3_freeState(reader->hash);
  fw_free(reader->path);
  fw_free(reader);
}

/* Reads the seven counts and skips the elements. A count is accepted only if the remaining bytes of the file can
 * hold its elements; nothing is allocated before that. */
static furrow_status read_layout(const fw_cache_reader *r, record_layout *layout, furrow_error *err) {
  uint64_t at = r->position, end = payload_end(r);
  for (int v = 0; v < VECTORS; v++) {
    unsigned char bytes[8];
    if (end - at < sizeof bytes) return fail_at(r, at, err, "the row cache ends inside a record");
    FW_TRY(read_exactly(r, bytes, sizeof bytes, at, err));
    layout->place[v] = at;
    layout->count[v] = fw_get_le64(bytes);
    at += sizeof bytes;
    size_t size = vector_element_size(&r->info, v);
    if (layout->count[v] > (end - at) / size) {
      return fail_at(r, layout->place[v], err,
                     "%" PRIu64 " elements of %s are more than the %" PRIu64 " bytes left hold", layout->count[v],
                     vectors[v].name, end - at);
    }
    at += layout->count[v] * size;
  }
  if (end - at < 2 * furrow_key_size(r->info.key_type)) {
    return fail_at(r, at, err, "the row cache ends inside a record");
  }
  return FURROW_OK;
}

static furrow_status check_layout(const fw_cache_reader *r, const record_layout *layout, furrow_error *err) {
  if (layout->count[AT_OFFSET] == 0) return fail_at(r, layout->place[AT_OFFSET], err, "a record without offsets");
  uint64_t rows = layout->count[AT_OFFSET] - 1, features = layout->count[AT_INDEX];
  for (int v = AT_LABEL; v < VECTORS; v++) {
    uint64_t wanted = vectors[v].of_features ? features : rows, count = layout->count[v];
    if (count != 0 && count != wanted) {
      return fail_at(r, layout->place[v], err, "%" PRIu64 " elements of %s for %" PRIu64 " %s", count, vectors[v].name,
                     wanted, vectors[v].of_features ? "features" : "rows");
    }
    if (count != 0 && vectors[v].column && !(r->info.columns & vectors[v].column)) {
      return fail_at(r, layout->place[v], err, "a record has %s, the header says there is none", vectors[v].name);
    }
  }
  if (rows && (layout->count[AT_LABEL] == 0) != !(r->info.columns & FW_COLUMN_LABEL)) {
    return fail_at(r, layout->place[AT_LABEL], err, "a record has no label, the header says that rows have one");
  }
  return FURROW_OK;
}

/* Reads the next bytes of the payload in pieces that are still in the processor's cache when the digest reads them. */
static furrow_status take_bytes(fw_cache_reader *r, void *to, uint64_t size, furrow_error *err) {
  enum { PIECE = 256 << 10 };
  furrow_status status = FURROW_OK;
  for (uint64_t done = 0, n; status == FURROW_OK && done < size; done += n) {
    n = size - done < PIECE ? size - done : PIECE;
    status = read_exactly(r, (char *)to + done, n, r->position, err);
    if (status == FURROW_OK) XXH3_64bits_update(r->hash, (char *)to + done, n);
    r->position += n;
  }
  return status;
}

static furrow_status take_vector(fw_cache_reader *r, void *to, uint64_t count, size_t size, furrow_error *err) {
  unsigned char bytes[8];
  fw_put_le64(bytes, count);
  XXH3_64bits_update(r->hash, bytes, sizeof bytes);
  r->position += sizeof bytes;
  if (count == 0) return FURROW_OK;
  furrow_status status = take_bytes(r, to, count * size, err);
  if (status == FURROW_OK) fw_swap_le(to, size, count);
  return status;
}

static furrow_status check_offsets(const fw_cache_reader *r, const record_layout *layout, const uint64_t *offset,
                                   furrow_error *err) {
  uint64_t rows = layout->count[AT_OFFSET] - 1, features = layout->count[AT_INDEX];
  uint64_t place = layout->place[AT_OFFSET] + 8;
  if (offset[0] != 0) return fail_at(r, place, err, "the first offset of a record is not 0");
  for (uint64_t i = 1; i <= rows; i++) {
    if (offset[i] < offset[i - 1]) return fail_at(r, place + 8 * i, err, "the offsets of a record descend");
  }
  if (offset[rows] != features) {
    return fail_at(r, place + 8 * rows, err, "the last offset is %" PRIu64 " for %" PRIu64 " indices", offset[rows],
                   features);
  }
  return FURROW_OK;
}

/* Reads max_field and max_index and compares them with the elements. */
static furrow_status take_maxima(fw_cache_reader *r, furrow_container *c, size_t features, bool has_field,
                                 furrow_error *err) {
  size_t size = furrow_key_size(c->key_type);
  unsigned char bytes[16] = {0};
  uint64_t place = r->position;
  FW_TRY(take_bytes(r, bytes, 2 * size, err));
  uint64_t max_field = size == 4 ? fw_get_le32(bytes) : fw_get_le64(bytes);
  uint64_t max_index = size == 4 ? fw_get_le32(bytes + 4) : fw_get_le64(bytes + 8);
  if (max_field != (has_field ? fw_largest_index(c->field, c->key_type, features) : 0)) {
    return fail_at(r, place, err, "max_field %" PRIu64 " is not the largest field of the record", max_field);
  }
  if (max_index != fw_largest_index(c->index, c->key_type, features)) {
    return fail_at(r, place + size, err, "max_index %" PRIu64 " is not the largest index of the record", max_index);
  }
  c->max_field = max_field;
  c->max_index = max_index;
  return FURROW_OK;
}

/* After the last record, compares the sums and the digest with the header. */
static furrow_status check_end(const fw_cache_reader *r, furrow_error *err) {
  const fw_cache_info *said = &r->info, *seen = &r->seen;
  if (r->position != payload_end(r)) return fail_at(r, r->position, err, "bytes follow the last record");
  if (seen->rows != said->rows) return fail_at(r, AT_ROWS, err, "the header's number of rows is wrong");
  if (seen->features != said->features) return fail_at(r, AT_FEATURES, err, "the header's number of features is wrong");
  if (seen->max_index != said->max_index) return fail_at(r, AT_MAX_INDEX, err, "the header's max_index is wrong");
  if (seen->max_field != said->max_field) return fail_at(r, AT_MAX_FIELD, err, "the header's max_field is wrong");
  if (seen->columns != said->columns) return fail_at(r, AT_COLUMNS, err, "the header's columns are wrong");
  if (XXH3_64bits_digest(r->hash) != r->payload_digest) {
    return fail_at(r, AT_PAYLOAD_DIGEST, err, "the row cache is damaged: its digest is wrong");
  }
  return FURROW_OK;
}

static furrow_status read_record(fw_cache_reader *r, furrow_container *c, furrow_error *err) {
  record_layout layout;
  furrow_status status = read_layout(r, &layout, err);
  if (status == FURROW_OK) status = check_layout(r, &layout, err);
  if (status != FURROW_OK) return status;
  const uint64_t *count = layout.count;
  size_t rows = count[AT_OFFSET] - 1, features = count[AT_INDEX];
  unsigned columns = 0;
  for (int v = 0; v < VECTORS; v++) columns |= count[v] ? vectors[v].column : 0;
  status = fw_container_reserve(c, rows, features, columns, err);
  for (int v = 0; status == FURROW_OK && v < VECTORS; v++) {
    status = take_vector(r, vector_memory(c, v), count[v], vector_element_size(&r->info, v), err);
    if (status == FURROW_OK && v == AT_OFFSET) status = check_offsets(r, &layout, c->offset, err);
  }
  if (status == FURROW_OK) status = take_maxima(r, c, features, columns & FW_COLUMN_FIELD, err);
  if (status != FURROW_OK) return status;
  c->rows = rows;
  c->features = features;
  c->has_label = columns & FW_COLUMN_LABEL;
  c->has_weight = columns & FW_COLUMN_WEIGHT;
  c->has_qid = columns & FW_COLUMN_QID;
  c->has_field = columns & FW_COLUMN_FIELD;
  c->has_value = columns & FW_COLUMN_VALUE;
  return FURROW_OK;
}

furrow_status fw_cache_reader_next(fw_cache_reader *reader, furrow_container *container, furrow_error *err) {
  furrow_container_clear(container);
  if (reader->seen.records == reader->info.records) return FURROW_END;
  furrow_status status = read_record(reader, container, err);
  if (status == FURROW_OK) add_record(&reader->seen, container);
  if (status == FURROW_OK && reader->seen.records == reader->info.records) status = check_end(reader, err);
  if (status != FURROW_OK) {
    furrow_container_clear(container);
    if (container->offset) container->offset[0] = 0; /* reading may have overwritten it */
  }
  return status;
}

/* ---- A container as a file ------------------------------------------------------------------------------ */

furrow_status furrow_container_save(const furrow_container *container, const char *path, bool overwrite,
                                    furrow_error *err) {
  fw_cache_writer *writer = NULL;
  furrow_status status =
      fw_cache_writer_open(&writer, path, container->key_type, container->value_type, FW_CACHE_UNKNOWN_SOURCE, 0, err);
  if (status == FURROW_OK && !overwrite) fw_cache_writer_keep_existing(writer);
  if (status == FURROW_OK) status = fw_cache_writer_push_record(writer, container, err);
  if (status == FURROW_OK) status = fw_cache_writer_commit(writer, err);
  fw_cache_writer_close(writer);
  return status;
}

/* Reads the records after the first and adds them to `all`. */
static furrow_status load_rest(fw_cache_reader *reader, furrow_container *all, furrow_error *err) {
  const fw_cache_info *info = &reader->info;
  furrow_container *record = NULL;
  furrow_status status = furrow_container_create(&record, info->key_type, info->value_type, err);
  if (status == FURROW_OK) status = fw_container_reserve(all, info->rows, info->features, 0, err);
  while (status == FURROW_OK && (status = fw_cache_reader_next(reader, record, err)) == FURROW_OK) {
    const furrow_rowblock block = fw_container_block(record);
    status = furrow_container_push_block(all, &block, err);
  }
  furrow_container_free(record);
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status furrow_container_load(furrow_container *container, const char *path, furrow_error *err) {
  fw_cache_reader *reader = NULL;
  furrow_container *loaded = NULL;
  furrow_status status = fw_cache_reader_open(&reader, path, err);
  if (status != FURROW_OK) return status;
  const fw_cache_info *info = &reader->info;
  if (container->key_type != info->key_type || container->value_type != info->value_type) {
    status = fw_fail(err, FURROW_E_ARGUMENT, "the row cache holds %s/%s rows, not %s/%s",
                     furrow_key_type_name(info->key_type), furrow_value_type_name(info->value_type),
                     furrow_key_type_name(container->key_type), furrow_value_type_name(container->value_type));
    fw_error_set_file(err, path);
  }
  if (status == FURROW_OK) status = furrow_container_create(&loaded, info->key_type, info->value_type, err);
  if (status == FURROW_OK) status = fw_cache_reader_next(reader, loaded, err);
  if (status == FURROW_OK && info->records > 1) status = load_rest(reader, loaded, err);
  if (status == FURROW_OK) {
    const furrow_container old = *container;
    *container = *loaded;
    *loaded = old;
  }
  furrow_container_free(loaded);
  fw_cache_reader_close(reader);
  return status;
}
