/* vector/quantizer/sq.c: the scalar quantizer. A b-bit number c represents low + width * (c + 1/2) / (2^b - 1); low and
 * width belong to a dimension, or to all dimensions. */
#include "vector/quantizer/sq.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "vector/quantizer/pq.h"

unsigned fw_sq_range_bits(const fw_sq *sq) {
  switch (sq->qtype) {
  case FW_SQ_8:
  case FW_SQ_8_UNIFORM: return 8;
  case FW_SQ_4:
  case FW_SQ_4_UNIFORM: return 4;
  case FW_SQ_6: return 6;
  default: return 0;
  }
}

size_t fw_sq_ranges(const fw_sq *sq) {
  return sq->qtype == FW_SQ_8_UNIFORM || sq->qtype == FW_SQ_4_UNIFORM ? 1 : sq->d;
}

/* ---- Codes to vectors ----------------------------------------------------------------------------------- */

static float half_to_float(unsigned half) {
  unsigned exponent = half >> 10 & 31, fraction = half & 1023;
  float sign = half >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * ldexpf((float)fraction, -24);
  return sign * ldexpf((float)(fraction | 1024), (int)exponent - 25);
}

static float brain_to_float(unsigned brain) {
  uint32_t word = (uint32_t)brain << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static void decode_ranges(const fw_sq *sq, const uint8_t *code, unsigned bits, float *vector) {
  size_t ranges = fw_sq_ranges(sq);
  const float *low = sq->trained, *width = sq->trained + ranges;
  float most = (float)((1u << bits) - 1);
  for (size_t i = 0; i < sq->d; i++) {
    size_t r = ranges == 1 ? 0 : i;
    vector[i] = low[r] + ((float)fw_pq_number(code, bits, i) + 0.5f) / most * width[r];
  }
}

static void decode_plain(const fw_sq *sq, const uint8_t *code, float *vector) {
  for (size_t i = 0; i < sq->d; i++) {
    switch (sq->qtype) {
    case FW_SQ_HALF: vector[i] = half_to_float(fw_get_le16(code + 2 * i)); break;
    case FW_SQ_BRAIN: vector[i] = brain_to_float(fw_get_le16(code + 2 * i)); break;
    case FW_SQ_BYTES: vector[i] = (float)code[i]; break;
    default: vector[i] = (float)code[i] - 128; break;
    }
  }
}

void fw_sq_decode(const fw_sq *sq, const uint8_t *code, float *vector) {
  unsigned bits = fw_sq_range_bits(sq);
  if (bits > 0)
    decode_ranges(sq, code, bits, vector);
  else
    decode_plain(sq, code, vector);
}

/* ---- Vectors to codes ----------------------------------------------------------------------------------- */

/* Numbers are rounded down like in Faiss, so that the middle of a step represents the step. */

/* Rounds to nearest even; numbers that are too large become infinite. Faiss without the F16C instruction rounds halves
 * up. */
static uint16_t float_to_half(float value) {
  uint32_t word, sign;
  memcpy(&word, &value, sizeof word);
  sign = word >> 16 & 0x8000;
  word &= 0x7fffffff;
  if (word >= 0x47800000) return (uint16_t)(sign | 0x7c00);                                    /* at least 2^16 */
  if (word < 0x38800000) return (uint16_t)(sign | (uint32_t)lrintf(ldexpf(fabsf(value), 24))); /* less than 2^-14 */
  word -= 0x38000000; /* the exponent's bias is 15, not 127 */
  return (uint16_t)(sign | (word + 0xfff + (word >> 13 & 1)) >> 13);
}

static uint16_t float_to_brain(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)((word + 0x8000) >> 16);
}

static uint8_t to_byte(float value) {
  return !(value > 0) ? 0 : value >= 255 ? 255 : (uint8_t)value; /* NaN becomes 0 */
}

static void encode_ranges(const fw_sq *sq, const float *vector, unsigned bits, uint8_t *code) {
  size_t ranges = fw_sq_ranges(sq);
  const float *low = sq->trained, *width = sq->trained + ranges;
  unsigned most = (1u << bits) - 1;
  memset(code, 0, sq->code_size);
  for (size_t i = 0; i < sq->d; i++) {
    size_t r = ranges == 1 ? 0 : i;
    float part = width[r] != 0 ? (vector[i] - low[r]) / width[r] : 0;
    part = !(part > 0) ? 0 : part > 1 ? 1 : part; /* the ranges of a file may be NaN */
    /* Faiss multiplies as float for 8 bits, and as double for fewer bits */
    fw_pq_put_number(code, bits, i, bits == 8 ? (uint32_t)(255 * part) : (uint32_t)((double)part * most));
  }
}

void fw_sq_encode(const fw_sq *sq, const float *vector, uint8_t *code) {
  unsigned bits = fw_sq_range_bits(sq);
  if (bits > 0) {
    encode_ranges(sq, vector, bits, code);
    return;
  }
  for (size_t i = 0; i < sq->d; i++) {
    switch (sq->qtype) {
    case FW_SQ_HALF: fw_put_le16(code + 2 * i, float_to_half(vector[i])); break;
    case FW_SQ_BRAIN: fw_put_le16(code + 2 * i, float_to_brain(vector[i])); break;
    case FW_SQ_BYTES: code[i] = to_byte(vector[i]); break;
    default: code[i] = to_byte(vector[i] + 128); break;
    }
  }
}
