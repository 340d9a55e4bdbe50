/* vector/pq_decode.h: vectors from codes of a product quantizer. */
#ifndef FW_VECTOR_PQ_DECODE_H
#define FW_VECTOR_PQ_DECODE_H

#include "vector/index.h"

/* The number that sub-quantizer m has in a code: bits m * nbits … of a string of bits, lowest first. Reads no byte that
 * the code does not have. */
static inline unsigned fw_pq_code_at(const uint8_t *code, size_t m, unsigned nbits) {
  if (nbits == 8) return code[m];
  size_t bit = m * nbits, byte = bit / 8;
  unsigned low = (unsigned)(bit % 8), word = code[byte];
  for (unsigned have = 8; have < low + nbits; have += 8) word |= (unsigned)code[++byte] << have;
  return word >> low & ((1u << nbits) - 1);
}

/* The vector (pq->d floats) that a code stands for. */
void fw_pq_decode(const fw_pq *pq, const uint8_t *code, float *vector);

#endif
