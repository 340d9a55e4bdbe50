/* array/safetensors_in.h: a file of named tensors: length of a JSON header (64 bits), header, data. */
#ifndef FW_ARRAY_SAFETENSORS_IN_H
#define FW_ARRAY_SAFETENSORS_IN_H

#include "array/array.h"

#define FW_TENSOR_DIMENSIONS 8

typedef struct fw_tensor {
  const char *name;
  const char *dtype; /* "F32" */
  bool readable;     /* its type is one of fw_array_type's */
  fw_array_type type;
  size_t dimensions;
  uint64_t shape[FW_TENSOR_DIMENSIONS];
  uint64_t begin, end; /* in the data */
} fw_tensor;

typedef struct fw_safetensors fw_safetensors;

/* Reads and checks the header: the tensors fill the data one after the other, without holes and overlaps, each with as
 * many bytes as its type and shape need. */
furrow_status fw_safetensors_open(fw_safetensors **file, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_safetensors_close(fw_safetensors *file);

/* In the order of the data. */
size_t fw_safetensors_count(const fw_safetensors *file);
const fw_tensor *fw_safetensors_tensor(const fw_safetensors *file, size_t i);
/* By name; NULL: there is none. */
const fw_tensor *fw_safetensors_find(const fw_safetensors *file, const char *name);
/* The value of a key of __metadata__; NULL: there is none. */
const char *fw_safetensors_note(const fw_safetensors *file, const char *key);

/* A tensor of at most two dimensions. The file must stay open. */
furrow_status fw_safetensors_read(const fw_safetensors *file, const fw_tensor *tensor, fw_array_reader **reader,
                                  furrow_error *err) FURROW_MUST_USE;

#endif
