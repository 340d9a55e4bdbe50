/* array/safetensors_out.h: writes a file of named tensors, one after the other. */
#ifndef FW_ARRAY_SAFETENSORS_OUT_H
#define FW_ARRAY_SAFETENSORS_OUT_H

#include <stdbool.h>

#include "array/array_type.h"
#include "furrow/status.h"

typedef struct fw_safetensors_writer fw_safetensors_writer;

/* The header is written at the end, to a place of `room` bytes that is kept free for it: for each tensor
 * FW_SAFETENSORS_TENSOR, for each entry of __metadata__ FW_SAFETENSORS_NOTE, and for each name, key and value
 * fw_safetensors_text. */
furrow_status fw_safetensors_writer_open(fw_safetensors_writer **writer, const char *path, size_t capacity,
                                         bool replace, furrow_error *err) FURROW_MUST_USE;
#define FW_SAFETENSORS_TENSOR 144 /* names of fields, four numbers of 20 digits */
#define FW_SAFETENSORS_NOTE 8
/* Bytes of a text in JSON, at most, without quotes. */
size_t fw_safetensors_text(const char *text);

/* An entry of __metadata__; key and value are copied. */
furrow_status fw_safetensors_writer_note(fw_safetensors_writer *writer, const char *key, const char *value,
                                         furrow_error *err) FURROW_MUST_USE;
/* Begins a tensor; write its elements, little-endian; end it with 0, 1 or 2 dimensions. */
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
