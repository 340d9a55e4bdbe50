/* vector/sq_decode.c: vectors from codes of a scalar quantizer. A number of b bits, c, stands for
 * low + width * (c + 1/2) / (2^b - 1); low and width are of each dimension, or of all. */
#include "vector/sq_decode.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { BITS_8, BITS_4, BITS_8_UNIFORM, BITS_4_UNIFORM, HALF_FLOAT, BYTES, BITS_6, BRAIN_FLOAT, SIGNED_BYTES };

/* Number i of a string of bits, the lowest first. */
static unsigned bits_at(const uint8_t *code, size_t i, unsigned bits) {
  size_t bit = i * bits, byte = bit / 8;
  unsigned shift = (unsigned)(bit % 8), word = code[byte];
  if (shift + bits > 8) word |= (unsigned)code[byte + 1] << 8;
  return word >> shift & ((1u << bits) - 1);
}

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

static furrow_status decode_ranges(const fw_sq *sq, const uint8_t *code, unsigned bits, bool uniform, float *vector,
                                   furrow_error *err) {
  size_t ranges = uniform ? 1 : sq->d;
  if (sq->trained_count != 2 * ranges)
    return fw_fail(err, FURROW_E_STATE, "the scalar quantizer has %zu numbers for its ranges, not %zu",
                   sq->trained_count, 2 * ranges);
  const float *low = sq->trained, *width = sq->trained + ranges;
  float most = (float)((1u << bits) - 1);
  for (size_t i = 0; i < sq->d; i++) {
    size_t r = uniform ? 0 : i;
    vector[i] = low[r] + ((float)bits_at(code, i, bits) + 0.5f) / most * width[r];
  }
  return FURROW_OK;
}

static void decode_plain(const fw_sq *sq, const uint8_t *code, float *vector) {
  for (size_t i = 0; i < sq->d; i++) {
    switch (sq->qtype) {
    case HALF_FLOAT: vector[i] = half_to_float(fw_get_le16(code + 2 * i)); break;
    case BRAIN_FLOAT: vector[i] = brain_to_float(fw_get_le16(code + 2 * i)); break;
    case BYTES: vector[i] = (float)code[i]; break;
    default: vector[i] = (float)code[i] - 128; break;
    }
  }
}

furrow_status fw_sq_decode(const fw_sq *sq, const uint8_t *code, float *vector, furrow_error *err) {
  switch (sq->qtype) {
  case BITS_8:
  case BITS_8_UNIFORM: return decode_ranges(sq, code, 8, sq->qtype == BITS_8_UNIFORM, vector, err);
  case BITS_4:
  case BITS_4_UNIFORM: return decode_ranges(sq, code, 4, sq->qtype == BITS_4_UNIFORM, vector, err);
  case BITS_6: return decode_ranges(sq, code, 6, false, vector, err);
  default: decode_plain(sq, code, vector); return FURROW_OK;
  }
}
