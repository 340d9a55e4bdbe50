/* array/array_type.h: the types of elements that files of arrays have, and turning one into another. */
#ifndef FW_ARRAY_ARRAY_TYPE_H
#define FW_ARRAY_ARRAY_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/endian.h"

/* X(name, C type, text in npy, text in safetensors). The first four are furrow_element_type's, in its order. F16 is the
 * binary16 of IEEE 754 in its 16 bits: it is read, and never written. */
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
/* "f4": kind and bytes, as NumPy writes it behind the byte order. */
const char *fw_array_type_npy(fw_array_type type);
/* "F32" */
const char *fw_array_type_tensor(fw_array_type type);
/* By one of these texts (`length` bytes); false (and *type untouched): there is none. */
bool fw_array_type_find_npy(const char *text, size_t length, fw_array_type *type);
bool fw_array_type_find_tensor(const char *text, size_t length, fw_array_type *type);

/* Turns n elements into another type: F64, F32, I64 or I32. Returns how many could be turned, n or the index of the
 * first that does not fit: too large, or not a number where an integer is wanted. Reals round to the nearest (ties to
 * even), also to an integer. in and out do not overlap. */
size_t fw_array_convert(fw_array_type to, void *out, fw_array_type from, const void *in, size_t n);
/* An element as text, for messages. */
void fw_array_element_text(char text[32], fw_array_type type, const void *elements, size_t i);

#endif
