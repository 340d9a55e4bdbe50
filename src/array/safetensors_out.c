/* array/safetensors_out.c: writes the data first, after a reserved range for the header, which is padded with
 * blanks. */
#include "array/safetensors.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/atomic_file.h"

#define LENGTH_SIZE 8

struct fw_safetensors_writer {
  fw_atomic_file *file;
  size_t capacity;
  fw_buffer notes, tensors; /* members of the header */
  uint64_t begin;           /* offset of the open tensor in the data */
  fw_array_type type;
  bool open;
};

/* An escape replaces one byte by up to six. */
size_t fw_safetensors_text(const char *text) {
  size_t size = 0;
  for (; *text; text++) size += (unsigned char)*text < 0x20 || *text == '"' || *text == '\\' || *text == 0x7f ? 6 : 1;
  return size;
}

/* Reserves space for the header, its two braces, the frame of the notes and the padding to 8 bytes. */
static furrow_status start_file(fw_safetensors_writer *w, const char *path, size_t capacity, bool replace,
                                furrow_error *err) {
  static const char blanks[4096] = {0};
  furrow_status status = fw_atomic_file_open(&w->file, path, err);
  if (status != FURROW_OK) return status;
  if (!replace) fw_atomic_file_keep_existing(w->file);
  w->capacity = (capacity + 64) / 8 * 8;
  for (size_t left = LENGTH_SIZE + w->capacity, n; left > 0 && status == FURROW_OK; left -= n) {
    n = left < sizeof blanks ? left : sizeof blanks;
    status = fw_atomic_file_write(w->file, blanks, n, err);
  }
  return status;
}

furrow_status fw_safetensors_writer_open(fw_safetensors_writer **writer, const char *path, size_t capacity,
                                         bool replace, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_safetensors_writer), err);
  if (status != FURROW_OK) return status;
  fw_safetensors_writer *made = memory;
  status = start_file(made, path, capacity, replace, err);
  return FW_HAND_OVER(status, writer, made, fw_safetensors_writer_close);
}

furrow_status fw_safetensors_writer_note(fw_safetensors_writer *w, const char *key, const char *value,
                                         furrow_error *err) {
  if (w->notes.size) fw_buffer_byte(&w->notes, ',');
  fw_buffer_json_string(&w->notes, key, strlen(key), false);
  fw_buffer_byte(&w->notes, ':');
  fw_buffer_json_string(&w->notes, value, strlen(value), false);
  return fw_buffer_status(&w->notes, err);
}

static uint64_t data_size(const fw_safetensors_writer *w) {
  return fw_atomic_file_size(w->file) - LENGTH_SIZE - w->capacity;
}

furrow_status fw_safetensors_writer_begin(fw_safetensors_writer *w, const char *name, fw_array_type type,
                                          furrow_error *err) {
  assert(!w->open);
  w->open = true;
  w->begin = data_size(w);
  w->type = type;
  if (w->tensors.size) fw_buffer_byte(&w->tensors, ',');
  fw_buffer_json_string(&w->tensors, name, strlen(name), false);
  return fw_buffer_status(&w->tensors, err);
}

furrow_status fw_safetensors_writer_write(fw_safetensors_writer *w, const void *data, size_t size, furrow_error *err) {
  assert(w->open);
  return fw_atomic_file_write(w->file, data, size, err);
}

furrow_status fw_safetensors_writer_end(fw_safetensors_writer *w, int dimensions, uint64_t rows, uint64_t columns,
                                        furrow_error *err) {
  fw_buffer *out = &w->tensors;
  assert(w->open);
  w->open = false;
  fw_buffer_text(out, ":{\"dtype\":\"");
  fw_buffer_text(out, fw_array_type_tensor(w->type));
  fw_buffer_text(out, "\",\"shape\":[");
  if (dimensions > 0) fw_buffer_i64(out, (int64_t)rows);
  if (dimensions > 1) fw_buffer_byte(out, ',');
  if (dimensions > 1) fw_buffer_i64(out, (int64_t)columns);
  fw_buffer_text(out, "],\"data_offsets\":[");
  fw_buffer_i64(out, (int64_t)w->begin);
  fw_buffer_byte(out, ',');
  fw_buffer_i64(out, (int64_t)data_size(w));
  fw_buffer_text(out, "]}");
  return fw_buffer_status(out, err);
}

uint64_t fw_safetensors_writer_bytes(const fw_safetensors_writer *writer) {
  return fw_atomic_file_size(writer->file);
}

/* Writes the length and the header, padded with blanks up to the data. */
static furrow_status write_header(fw_safetensors_writer *w, furrow_error *err) {
  char length[LENGTH_SIZE];
  fw_buffer out = {0};
  fw_put_le64(length, w->capacity);
  fw_buffer_append(&out, length, sizeof length);
  fw_buffer_byte(&out, '{');
  if (w->notes.size) {
    fw_buffer_text(&out, "\"__metadata__\":{");
    fw_buffer_append(&out, w->notes.bytes, w->notes.size);
    fw_buffer_text(&out, w->tensors.size ? "}," : "}");
  }
  if (w->tensors.size) fw_buffer_append(&out, w->tensors.bytes, w->tensors.size);
  fw_buffer_byte(&out, '}');
  while (!out.missing && out.size < LENGTH_SIZE + w->capacity) fw_buffer_byte(&out, ' ');
  furrow_status status = fw_buffer_status(&out, err);
  if (status == FURROW_OK && out.size > LENGTH_SIZE + w->capacity)
    status = fw_fail(err, FURROW_E_STATE, "the header is longer than the space reserved for it");
  if (status == FURROW_OK) status = fw_atomic_file_write_at(w->file, 0, out.bytes, out.size, err);
  fw_buffer_clear(&out);
  return status;
}

furrow_status fw_safetensors_writer_commit(fw_safetensors_writer *w, furrow_error *err) {
  assert(!w->open);
  furrow_status status = write_header(w, err);
  return status == FURROW_OK ? fw_atomic_file_commit(w->file, err) : status;
}

void fw_safetensors_writer_close(fw_safetensors_writer *writer) {
  if (!writer) return;
  fw_atomic_file_close(writer->file);
  fw_buffer_clear(&writer->notes);
  fw_buffer_clear(&writer->tensors);
  fw_free(writer);
}
