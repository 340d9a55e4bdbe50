/* array/safetensors.h: a file of named tensors: length of a JSON header (64 bits), header, data. */
#ifndef FW_ARRAY_SAFETENSORS_H
#define FW_ARRAY_SAFETENSORS_H

#include "array/array.h"

/* ---- Reading (safetensors_in.c) ---- */

#define FW_TENSOR_DIMENSIONS 8

typedef struct fw_tensor {
  const char *name;
  const char *dtype; /* "F32" */
  bool readable;     /* its type is in fw_array_type */
  fw_array_type type;
  size_t dimensions;
  uint64_t shape[FW_TENSOR_DIMENSIONS];
  uint64_t begin, end; /* offsets in the data */
} fw_tensor;

typedef struct fw_safetensors fw_safetensors;

/* Reads and checks the header: the tensors fill the data one after the other, without gaps and overlaps, and each
 * has the number of bytes that its type and shape require. */
furrow_status fw_safetensors_open(fw_safetensors **file, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_safetensors_close(fw_safetensors *file);

/* Tensors are numbered in the order of their data. */
size_t fw_safetensors_count(const fw_safetensors *file);
const fw_tensor *fw_safetensors_tensor(const fw_safetensors *file, size_t i);
/* Finds a tensor by name; NULL if there is none. */
const fw_tensor *fw_safetensors_find(const fw_safetensors *file, const char *name);
/* Returns the value of a key of __metadata__; NULL if there is none. */
const char *fw_safetensors_note(const fw_safetensors *file, const char *key);

/* Reads a tensor of at most two dimensions. The file must stay open. */
furrow_status fw_safetensors_read(const fw_safetensors *file, const fw_tensor *tensor, fw_array_reader **reader,
                                  furrow_error *err) FURROW_MUST_USE;

/* ---- Writing, one tensor after the other (safetensors_out.c) ---- */

typedef struct fw_safetensors_writer fw_safetensors_writer;

/* The header is written at the end, into `capacity` bytes that are reserved for it. The caller adds up
 * FW_SAFETENSORS_TENSOR for each tensor, FW_SAFETENSORS_NOTE for each entry of __metadata__, and fw_safetensors_text
 * for each name, key and value. */
furrow_status fw_safetensors_writer_open(fw_safetensors_writer **writer, const char *path, size_t capacity,
                                         bool replace, furrow_error *err) FURROW_MUST_USE;
#define FW_SAFETENSORS_TENSOR 144 /* the names of fields and four numbers of 20 digits */
#define FW_SAFETENSORS_NOTE 8
/* The largest number of bytes of a text in JSON, without quotes. */
size_t fw_safetensors_text(const char *text);

/* Adds an entry of __metadata__; key and value are copied. */
furrow_status fw_safetensors_writer_note(fw_safetensors_writer *writer, const char *key, const char *value,
                                         furrow_error *err) FURROW_MUST_USE;
/* Begins a tensor. Then write its elements, little-endian, and end it with 0, 1 or 2 dimensions. */
furrow_status fw_safetensors_writer_begin(fw_safetensors_writer *writer, const char *name, fw_array_type type,
                                          furrow_error *err) FURROW_MUST_USE;
furrow_status fw_safetensors_writer_write(fw_safetensors_writer *writer, const void *data, size_t size,
                                          furrow_error *err) FURROW_MUST_USE;
furrow_status fw_safetensors_writer_end(fw_safetensors_writer *writer, int dimensions, uint64_t rows, uint64_t columns,
                                        furrow_error *err) FURROW_MUST_USE;
uint64_t fw_safetensors_writer_bytes(const fw_safetensors_writer *writer);
furrow_status fw_safetensors_writer_commit(fw_safetensors_writer *writer, furrow_error *err) FURROW_MUST_USE;
void fw_safetensors_writer_close(fw_safetensors_writer *writer);

#endif
