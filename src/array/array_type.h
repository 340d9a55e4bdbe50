/* array/array_type.h: element types of array files, and conversion between them. */
#ifndef FW_ARRAY_ARRAY_TYPE_H
#define FW_ARRAY_ARRAY_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/endian.h"

/* X(name, C type, text in npy, text in safetensors). The first four are the types of furrow_element_type, in its
 * order. F16 is IEEE 754 binary16, stored in 16 bits: it is read, but never written. */
#define FW_ARRAY_TYPES(X)       \
  X(F64, double, "f8", "F64")   \
  X(F32, float, "f4", "F32")    \
  X(I64, int64_t, "i8", "I64")  \
  X(I32, int32_t, "i4", "I32")  \
  X(I16, int16_t, "i2", "I16")  \
  X(I8, int8_t, "i1", "I8")     \
  X(U64, uint64_t, "u8", "U64") \
  X(U32, uint32_t, "u4", "U32") \
  X(U16, uint16_t, "u2", "U16") \
  X(U8, uint8_t, "u1", "U8")    \
  X(F16, uint16_t, "f2", "F16")

typedef enum fw_array_type {
#define FW_X(name, type, npy, tensor) FW_ARRAY_##name,
  FW_ARRAY_TYPES(FW_X)
#undef FW_X
      FW_ARRAY_TYPE_COUNT
} fw_array_type;

size_t fw_array_type_size(fw_array_type type);
/* "f4": the kind and the number of bytes, as NumPy writes them after the byte order. */
const char *fw_array_type_npy(fw_array_type type);
/* "F32" */
const char *fw_array_type_tensor(fw_array_type type);
/* Finds a type by one of these texts (`length` bytes). Returns false and leaves *type untouched if there is none. */
bool fw_array_type_find_npy(const char *text, size_t length, fw_array_type *type);
bool fw_array_type_find_tensor(const char *text, size_t length, fw_array_type *type);

/* Converts n elements to F64, F32, I64 or I32. Returns n, or the index of the first element that does not fit: it is
 * too large, or not a number where an integer is wanted. Reals round to the nearest (ties to even), also to an
 * integer. in and out must not overlap. */
size_t fw_array_convert(fw_array_type to, void *out, fw_array_type from, const void *in, size_t n);
/* Writes an element as text, for messages. */
void fw_array_element_text(char text[32], fw_array_type type, const void *elements, size_t i);

#endif
