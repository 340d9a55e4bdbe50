/* vector/quantizer/sq.c: the scalar quantizer. A b-bit number c represents low + width * (c + 1/2) / (2^b - 1); low and
 * width belong to a dimension, or to all dimensions. */
#include "vector/quantizer/sq.h"

#include <math.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "kern/scan/scan.h"
#include "vector/quantizer/pq.h"

unsigned fw_sq_bits(int32_t qtype) {
  static const uint8_t bits[] = {
      [FW_SQ_8] = 8, [FW_SQ_4] = 4,      [FW_SQ_8_UNIFORM] = 8, [FW_SQ_4_UNIFORM] = 4,   [FW_SQ_HALF] = 16,
      [FW_SQ_6] = 6, [FW_SQ_BRAIN] = 16, [FW_SQ_BYTES] = 8,     [FW_SQ_SIGNED_BYTES] = 8};
  return qtype >= 0 && (size_t)qtype < sizeof bits ? bits[qtype] : 0;
}

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

furrow_status fw_sq_check(const fw_sq *sq, furrow_error *err) {
  const size_t want = 2 * fw_sq_ranges(sq);
  if (fw_sq_range_bits(sq) == 0 || sq->trained_count == want) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE, "the scalar quantizer has %zu %s for its ranges, not %zu", sq->trained_count,
                 fw_plural(sq->trained_count, "number", "numbers"), want);
}

/* ---- Codes to vectors ----------------------------------------------------------------------------------- */

/* Loops without branches, so that the compiler can make vector instructions of them. */

/* The bits of a half, shifted to those of a float, are its value times 2^-112; this is exact, also for subnormals.
 * Infinities and NaN get the largest exponent. */
static void decode_halves(const uint8_t *code, size_t d, float *vector) {
  const float scale = 0x1p112F;
  for (size_t i = 0; i < d; i++) {
    const uint32_t half = fw_get_le16(code + 2 * i);
    uint32_t word = (half & 0x7fff) << 13;
    float value;
    memcpy(&value, &word, sizeof value);
    value *= scale;
    memcpy(&word, &value, sizeof word);
    word |= (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
    word |= (half & 0x8000) << 16;
    memcpy(&vector[i], &word, sizeof word);
  }
}

static void decode_brains(const uint8_t *code, size_t d, float *vector) {
  for (size_t i = 0; i < d; i++) {
    const uint32_t word = (uint32_t)fw_get_le16(code + 2 * i) << 16;
    memcpy(&vector[i], &word, sizeof word);
  }
}

static void decode_bytes(const uint8_t *code, size_t d, float zero, float *vector) {
  for (size_t i = 0; i < d; i++) vector[i] = (float)code[i] - zero;
}

static void decode_ranges(const fw_sq *sq, const uint8_t *code, unsigned bits, float *vector) {
  const size_t ranges = fw_sq_ranges(sq), step = ranges > 1;
  const float *low = sq->trained, *width = sq->trained + ranges;
  const float most = (float)((1u << bits) - 1);
  if (bits == 8 && step == 1) {
    fw_scan_table()->decode_bytes(code, low, width, sq->d, vector);
    return;
  }
  if (bits == 8)
    decode_bytes(code, sq->d, 0, vector);
  else
    for (size_t i = 0; i < sq->d; i++) vector[i] = (float)fw_pq_number(code, bits, i);
  for (size_t i = 0; i < sq->d; i++) vector[i] = low[i * step] + (vector[i] + 0.5f) / most * width[i * step];
}

void fw_sq_decode(const fw_sq *sq, const uint8_t *code, float *vector) {
  const unsigned bits = fw_sq_range_bits(sq);
  if (bits > 0)
    decode_ranges(sq, code, bits, vector);
  else if (sq->qtype == FW_SQ_HALF)
    decode_halves(code, sq->d, vector);
  else if (sq->qtype == FW_SQ_BRAIN)
    decode_brains(code, sq->d, vector);
  else
    decode_bytes(code, sq->d, sq->qtype == FW_SQ_SIGNED_BYTES ? 128 : 0, vector);
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
