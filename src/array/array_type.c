/* array/array_type.c: the table of types, and conversion. */
#include "array/array_type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number_out.h"

typedef struct traits {
  size_t size;
  const char *npy, *tensor;
} traits;

static const traits types[] = {
#define FW_X(name, type, npy, tensor) {sizeof(type), npy, tensor},
    FW_ARRAY_TYPES(FW_X)
#undef FW_X
};

size_t fw_array_type_size(fw_array_type type) {
  return types[type].size;
}

const char *fw_array_type_npy(fw_array_type type) {
  return types[type].npy;
}

const char *fw_array_type_tensor(fw_array_type type) {
  return types[type].tensor;
}

static bool is_text(const char *known, const char *text, size_t length) {
  return strlen(known) == length && memcmp(known, text, length) == 0;
}

bool fw_array_type_find_npy(const char *text, size_t length, fw_array_type *type) {
  for (fw_array_type t = 0; t < FW_ARRAY_TYPE_COUNT; t++) {
    if (!is_text(types[t].npy, text, length)) continue;
    *type = t;
    return true;
  }
  return false;
}

bool fw_array_type_find_tensor(const char *text, size_t length, fw_array_type *type) {
  for (fw_array_type t = 0; t < FW_ARRAY_TYPE_COUNT; t++) {
    if (!is_text(types[t].tensor, text, length)) continue;
    *type = t;
    return true;
  }
  return false;
}

/* ---- Conversion: real to real, integer to real, real to integer, integer to integer --------------------- */

#define TO_F64 0
#define TO_F32 1
#define TO_I64 2
#define TO_I32 3
#define FROM_REAL 0
#define FROM_SIGNED 1
#define FROM_UNSIGNED 2
#define FROM_HALF 3

/* 1 sign, 5 exponent and 10 fraction bits; every binary16 value is exact in a float. */
static float float_of_half(uint16_t half) {
  const float sign = half >> 15 ? -1.0F : 1.0F;
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexpf((float)fraction, -24);
  const uint32_t bits = (uint32_t)(half >> 15) << 31 | (uint32_t)(exponent + 112) << 23 | (uint32_t)fraction << 13;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#define TARGET double
#define TARGET_KIND TO_F64
#define NAME(from) f64_from_##from
#include "array/convert_tmpl.h"
#define TARGET float
#define TARGET_KIND TO_F32
#define NAME(from) f32_from_##from
#include "array/convert_tmpl.h"
#define TARGET int64_t
#define TARGET_KIND TO_I64
#define NAME(from) i64_from_##from
#include "array/convert_tmpl.h"
#define TARGET int32_t
#define TARGET_KIND TO_I32
#define NAME(from) i32_from_##from
#include "array/convert_tmpl.h"

typedef size_t (*converter)(void *out, const void *in, size_t n);

#define ROW(to)                                                                                             \
  {                                                                                                         \
    to##_from_f64, to##_from_f32, to##_from_i64, to##_from_i32, to##_from_i16, to##_from_i8, to##_from_u64, \
        to##_from_u32, to##_from_u16, to##_from_u8, to##_from_f16                                           \
  }
static const converter converters[4][FW_ARRAY_TYPE_COUNT] = {ROW(f64), ROW(f32), ROW(i64), ROW(i32)};

size_t fw_array_convert(fw_array_type to, void *out, fw_array_type from, const void *in, size_t n) {
  if (to != from) return converters[to][from](out, in, n);
  if (n) memcpy(out, in, n * types[to].size);
  return n;
}

/* Writes integers with all their digits: the shortest digits that identify a float would show another number. */
static size_t write_f32(char *text, float value) {
  const bool whole = value >= -0x1p53f && value <= 0x1p53f && value == (float)(int64_t)value;
  return whole ? fw_write_i64(text, (int64_t)value) : fw_write_f32(text, value);
}

void fw_array_element_text(char text[32], fw_array_type type, const void *elements, size_t i) {
  size_t length;
  int64_t integer;
  switch (type) {
  case FW_ARRAY_F64: length = fw_write_f64(text, ((const double *)elements)[i]); break;
  case FW_ARRAY_F32: length = write_f32(text, ((const float *)elements)[i]); break;
  case FW_ARRAY_F16: length = write_f32(text, float_of_half(((const uint16_t *)elements)[i])); break;
  case FW_ARRAY_U64: length = fw_write_u64(text, ((const uint64_t *)elements)[i]); break;
  default:
    fw_array_convert(FW_ARRAY_I64, &integer, type, (const char *)elements + i * types[type].size, 1);
    length = fw_write_i64(text, integer);
  }
  text[length < 31 ? length : 31] = 0;
}
