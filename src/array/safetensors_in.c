/* array/safetensors_in.c: reads the header and checks it against the data. */
#include "array/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"

#define LENGTH_SIZE 8
#define MAX_HEADER ((uint64_t)100 << 20) /* the limit of the reference implementation */

typedef struct note {
  const char *key, *value;
} note;

struct fw_safetensors {
  fw_bytes_in *in;
  char *header;
  uint64_t data; /* offset of the data */
  fw_arena arena;
  fw_tensor *tensors;
  size_t count, capacity;
  note *notes;
  size_t note_count, note_capacity;
};

/* The sizes of all types, in bits: even tensors whose type cannot be read are checked. */
static const struct {
  const char *name;
  unsigned bits;
} other_types[] = {{"BOOL", 8},    {"F16", 16}, {"BF16", 16}, {"F8_E4M3", 8}, {"F8_E5M2", 8},
                   {"F8_E8M0", 8}, {"C64", 64}, {"F4", 4},    {"F6_E2M3", 6}, {"F6_E3M2", 6}};

static unsigned type_bits(const fw_tensor *t) {
  if (t->readable) return (unsigned)fw_array_type_size(t->type) * 8;
  for (size_t i = 0; i < sizeof other_types / sizeof other_types[0]; i++) {
    if (strcmp(other_types[i].name, t->dtype) == 0) return other_types[i].bits;
  }
  return 0;
}

/* Copies a text to the arena and adds a terminating 0. */
static furrow_status keep_text(fw_safetensors *file, const furrow_json *json, furrow_json_text text, const char **copy,
                               furrow_error *err) {
  void *memory;
  if (memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "has a character 0");
  FW_TRY(fw_arena_take(&file->arena, &memory, text.size + 1, 1, err));
  memcpy(memory, text.bytes, text.size);
  ((char *)memory)[text.size] = 0;
  *copy = memory;
  return FURROW_OK;
}

static furrow_status read_note(fw_safetensors *file, furrow_json *json, furrow_json_text key, furrow_error *err) {
  note n;
  furrow_json_text value;
  void *memory = file->notes;
  furrow_status status = keep_text(file, json, key, &n.key, err);
  if (status == FURROW_OK) status = furrow_json_string(json, &value, err);
  if (status == FURROW_OK) status = keep_text(file, json, value, &n.value, err);
  if (status == FURROW_OK) status = fw_grow(&memory, &file->note_capacity, file->note_count + 1, sizeof n, err);
  if (status != FURROW_OK) return status;
  file->notes = memory;
  file->notes[file->note_count++] = n;
  return FURROW_OK;
}

static furrow_status read_notes(fw_safetensors *file, furrow_json *json, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK) {
    status = furrow_json_member(json, &key, err);
    if (status == FURROW_OK) status = read_note(file, json, key, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* Reads an array of at most `most` numbers that are not negative. */
static furrow_status read_counts(furrow_json *json, uint64_t *counts, size_t most, size_t *count, furrow_error *err) {
  furrow_status status = furrow_json_array(json, err);
  *count = 0;
  while (status == FURROW_OK) {
    int64_t value;
    status = furrow_json_element(json, err);
    if (status == FURROW_OK) status = furrow_json_i64(json, &value, err);
    if (status != FURROW_OK) break;
    if (value < 0) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is negative");
    if (*count == most) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is one number too many");
    counts[(*count)++] = (uint64_t)value;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_dtype(fw_safetensors *file, furrow_json *json, fw_tensor *t, furrow_error *err) {
  furrow_json_text text;
  furrow_status status = furrow_json_string(json, &text, err);
  if (status == FURROW_OK) status = keep_text(file, json, text, &t->dtype, err);
  if (status == FURROW_OK) t->readable = fw_array_type_find_tensor(t->dtype, strlen(t->dtype), &t->type);
  return status;
}

static furrow_status read_tensor_member(fw_safetensors *file, furrow_json *json, furrow_json_text key, fw_tensor *t,
                                        unsigned *seen, furrow_error *err) {
  uint64_t offsets[2];
  size_t count;
  const unsigned bit = furrow_json_is(key, "dtype")          ? 1
                       : furrow_json_is(key, "shape")        ? 2
                       : furrow_json_is(key, "data_offsets") ? 4
                                                             : 0;
  if (bit == 0 || *seen & bit)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "%s",
                            bit ? "occurs twice" : "is not a known key");
  *seen |= bit;
  if (bit == 1) return read_dtype(file, json, t, err);
  if (bit == 2) return read_counts(json, t->shape, FW_TENSOR_DIMENSIONS, &t->dimensions, err);
  FW_TRY(read_counts(json, offsets, 2, &count, err));
  if (count != 2)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "has %zu %s, not 2", count,
                            fw_plural(count, "number", "numbers"));
  t->begin = offsets[0];
  t->end = offsets[1];
  return FURROW_OK;
}

/* Checks that the size is the product of type and shape. */
static furrow_status check_tensor(const furrow_json *json, const fw_tensor *t, uint64_t offset, furrow_error *err) {
  const unsigned bits = type_bits(t);
  uint64_t size = bits;
  bool fits = true;
  if (bits == 0)
    return furrow_json_fail(json, offset, t->name, err, "has the dtype %.20s, which is not known", t->dtype);
  for (size_t i = 0; i < t->dimensions; i++) fits = fits && !__builtin_mul_overflow(size, t->shape[i], &size);
  if (!fits || size % 8 || t->begin > t->end || t->end - t->begin != size / 8)
    return furrow_json_fail(json, offset, t->name, err, "does not have as many bytes as its type and shape need");
  return FURROW_OK;
}

static furrow_status read_tensor(fw_safetensors *file, furrow_json *json, furrow_json_text name, furrow_error *err) {
  fw_tensor t = {0};
  furrow_json_text key;
  unsigned seen = 0;
  void *memory = file->tensors;
  furrow_status status = keep_text(file, json, name, &t.name, err);
  if (status == FURROW_OK) status = furrow_json_object(json, err);
  const uint64_t offset = status == FURROW_OK ? furrow_json_offset(json) : 0;
  while (status == FURROW_OK) {
    status = furrow_json_member(json, &key, err);
    if (status == FURROW_OK) status = read_tensor_member(file, json, key, &t, &seen, err);
  }
  if (status != FURROW_END) return status;
  if (seen != 7) return furrow_json_fail(json, offset, t.name, err, "lacks dtype, shape or data_offsets");
  status = check_tensor(json, &t, offset, err);
  if (status == FURROW_OK) status = fw_grow(&memory, &file->capacity, file->count + 1, sizeof t, err);
  if (status != FURROW_OK) return status;
  file->tensors = memory;
  file->tensors[file->count++] = t;
  return FURROW_OK;
}

static furrow_status read_members(fw_safetensors *file, furrow_json *json, furrow_error *err) {
  furrow_json_text key;
  bool noted = false;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK) {
    status = furrow_json_member(json, &key, err);
    if (status != FURROW_OK) break;
    if (!furrow_json_is(key, "__metadata__")) {
      status = read_tensor(file, json, key, err);
    } else if (noted) {
      status = furrow_json_fail(json, furrow_json_offset(json), NULL, err, "occurs twice");
    } else {
      noted = true;
      status = read_notes(file, json, err);
    }
  }
  return status == FURROW_END ? furrow_json_end(json, err) : status;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const fw_tensor *)a)->name, ((const fw_tensor *)b)->name);
}

static int by_place(const void *a, const void *b) {
  const fw_tensor *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return by_name(a, b);
}

/* Checks that names are unique and that the tensors fill the file one after the other. */
static furrow_status check_offsets(fw_safetensors *file, furrow_error *err) {
  uint64_t at = 0;
  const uint64_t data = fw_bytes_in_size(file->in) - file->data;
  fw_tensor *t = file->tensors;
  if (file->count) qsort(t, file->count, sizeof *t, by_name);
  for (size_t i = 1; i < file->count; i++) {
    if (strcmp(t[i].name, t[i - 1].name) == 0)
      return fw_bytes_in_fail(file->in, LENGTH_SIZE, err, FURROW_E_FORMAT, "two tensors are called %.100s", t[i].name);
  }
  if (file->count) qsort(t, file->count, sizeof *t, by_place);
  for (size_t i = 0; i < file->count; at = t[i++].end) {
    if (t[i].begin != at)
      return fw_bytes_in_fail(file->in, LENGTH_SIZE, err, FURROW_E_FORMAT, "%.100s %s", t[i].name,
                              t[i].begin < at ? "overlaps another tensor" : "leaves a hole before it");
  }
  if (at == data) return FURROW_OK;
  return fw_bytes_in_fail(file->in, LENGTH_SIZE, err, FURROW_E_FORMAT,
                          "the tensors have %llu bytes, the file has %llu for them", (unsigned long long)at,
                          (unsigned long long)data);
}

static furrow_status read_header(fw_safetensors *file, furrow_error *err) {
  unsigned char head[LENGTH_SIZE];
  void *memory;
  furrow_status status = fw_bytes_in_read_all(file->in, head, sizeof head, "the length of the header", err);
  if (status != FURROW_OK) return status;
  const uint64_t length = fw_get_le64(head);
  if (length > MAX_HEADER || length > fw_bytes_in_size(file->in) - LENGTH_SIZE)
    return fw_bytes_in_fail(file->in, 0, err, FURROW_E_FORMAT, "a header of %llu bytes: not a safetensors file",
                            (unsigned long long)length);
  status = fw_alloc(&memory, (size_t)length, 1, err);
  if (status != FURROW_OK) return status;
  file->header = memory;
  file->data = LENGTH_SIZE + length;
  status = fw_bytes_in_read_all(file->in, file->header, (size_t)length, "the header", err);
  if (status != FURROW_OK) return status;
  if (length == 0 || file->header[0] != '{')
    return fw_bytes_in_fail(file->in, LENGTH_SIZE, err, FURROW_E_FORMAT, "the header is not a JSON object");
  furrow_json json;
  fw_json_open(&json, file->header, (size_t)length, fw_bytes_in_path(file->in));
  json.base = LENGTH_SIZE;
  status = read_members(file, &json, err);
  fw_json_close(&json);
  return status == FURROW_OK ? check_offsets(file, err) : status;
}

furrow_status fw_safetensors_open(fw_safetensors **file, const char *path, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_safetensors), err);
  if (status != FURROW_OK) return status;
  fw_safetensors *made = memory;
  status = fw_bytes_in_open_plain(&made->in, path, err);
  if (status == FURROW_OK) status = read_header(made, err);
  return FW_HAND_OVER(status, file, made, fw_safetensors_close);
}

void fw_safetensors_close(fw_safetensors *file) {
  if (!file) return;
  fw_bytes_in_close(file->in);
  fw_free(file->header);
  fw_free(file->tensors);
  fw_free(file->notes);
  fw_arena_clear(&file->arena);
  fw_free(file);
}

size_t fw_safetensors_count(const fw_safetensors *file) {
  return file->count;
}

const fw_tensor *fw_safetensors_tensor(const fw_safetensors *file, size_t i) {
  return &file->tensors[i];
}

const fw_tensor *fw_safetensors_find(const fw_safetensors *file, const char *name) {
  for (size_t i = 0; i < file->count; i++) {
    if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
  }
  return NULL;
}

const char *fw_safetensors_note(const fw_safetensors *file, const char *key) {
  for (size_t i = 0; i < file->note_count; i++) {
    if (strcmp(file->notes[i].key, key) == 0) return file->notes[i].value;
  }
  return NULL;
}

furrow_status fw_safetensors_read(const fw_safetensors *file, const fw_tensor *t, fw_array_reader **reader,
                                  furrow_error *err) {
  const uint64_t offset = file->data + t->begin;
  if (!t->readable)
    return fw_bytes_in_fail(file->in, offset, err, FURROW_E_UNSUPPORTED, "%.100s has elements of type %.20s", t->name,
                            t->dtype);
  if (t->dimensions > 2)
    return fw_bytes_in_fail(file->in, offset, err, FURROW_E_UNSUPPORTED, "%.100s has %zu dimensions, not 1 or 2",
                            t->name, t->dimensions);
  const fw_bytes_part part = {.offset = offset, .size = t->end - t->begin};
  const fw_array_info info = {.type = t->type,
                              .rows = t->dimensions > 0 ? t->shape[0] : 1,
                              .dim = t->dimensions == 2 ? (size_t)t->shape[1] : 1,
                              .flat = t->dimensions < 2};
  fw_bytes_in *in = NULL;
  furrow_status status = fw_bytes_in_open_part(&in, file->in, &part, err);
  return status == FURROW_OK ? fw_array_take_raw(reader, in, &info, err) : status;
}
