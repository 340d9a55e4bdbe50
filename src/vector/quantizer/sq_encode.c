/* vector/quantizer/sq_encode.c: codes of a scalar quantizer, number for number as Faiss rounds them: down, so that the
 * middle of a step stands for all of it. */
#include "vector/quantizer/sq_encode.h"

#include <math.h>
#include <string.h>

#include "vector/quantizer/pq.h"
#include "vector/quantizer/sq_decode.h"

/* Nearest, the even one of two; too large is infinite. A Faiss without the instruction takes the larger of two. */
static uint16_t float_to_half(float value) {
  uint32_t word, sign;
  memcpy(&word, &value, sizeof word);
  sign = word >> 16 & 0x8000;
  word &= 0x7fffffff;
  if (word >= 0x47800000) return (uint16_t)(sign | 0x7c00);                                    /* from 2^16 on */
  if (word < 0x38800000) return (uint16_t)(sign | (uint32_t)lrintf(ldexpf(fabsf(value), 24))); /* below 2^-14 */
  word -= 0x38000000; /* the exponent counts from 15, not from 127 */
  return (uint16_t)(sign | (word + 0xfff + (word >> 13 & 1)) >> 13);
}

static uint16_t float_to_brain(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)((word + 0x8000) >> 16);
}

static uint8_t to_byte(float value) {
  return !(value > 0) ? 0 : value >= 255 ? 255 : (uint8_t)value; /* NaN: 0 */
}

static void encode_ranges(const fw_sq *sq, const float *vector, unsigned bits, uint8_t *code) {
  size_t ranges = fw_sq_ranges(sq);
  const float *low = sq->trained, *width = sq->trained + ranges;
  unsigned most = (1u << bits) - 1;
  memset(code, 0, sq->code_size);
  for (size_t i = 0; i < sq->d; i++) {
    size_t r = ranges == 1 ? 0 : i;
    float part = width[r] != 0 ? (vector[i] - low[r]) / width[r] : 0;
    part = !(part > 0) ? 0 : part > 1 ? 1 : part; /* ranges of a file may be NaN */
    /* Faiss multiplies floats for 8 bits, and doubles for fewer */
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
