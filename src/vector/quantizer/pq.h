/* vector/quantizer/pq.h: the product quantizer: a vector is divided into m parts, and each part is replaced by the
 * number of its nearest centroid. */
#ifndef FW_VECTOR_QUANTIZER_PQ_H
#define FW_VECTOR_QUANTIZER_PQ_H

#include "kern/products/products.h"
#include "vector/quantizer/kmeans.h"

#define FW_PQ_MAX_NBITS 16

typedef struct fw_pq {
  size_t d, m;
  unsigned nbits;
  float *centroids; /* [m][ksub][dsub] */
} fw_pq;

static inline size_t fw_pq_ksub(const fw_pq *pq) {
  return (size_t)1 << pq->nbits;
}
static inline size_t fw_pq_dsub(const fw_pq *pq) {
  return pq->d / pq->m;
}
/* A code is a string of bits, lowest first, padded to whole bytes. */
static inline size_t fw_pq_code_size(const fw_pq *pq) {
  return (pq->m * pq->nbits + 7) / 8;
}

/* Allocates the centroids of pq, all 0. */
furrow_status fw_pq_create(fw_pq *pq, size_t d, size_t m, unsigned nbits, furrow_error *err) FURROW_MUST_USE;

/* Trains centroids [m][ksub][dsub] on the vectors of all ranks, each of pq->d floats. Uses rounds, seed, per_centroid,
 * hot, pool and progress of params; progress counts sub-quantizers. */
furrow_status fw_pq_train(const fw_pq *pq, const fw_kmeans_params *params, const fw_rank_vectors *local,
                          float *centroids, furrow_error *err) FURROW_MUST_USE;

/* ---- Codes ---- */

/* The centroids of a quantizer, packed for encoding. */
typedef struct fw_pq_coder {
  size_t m, dsub, code_size;
  unsigned nbits;
  fw_packed *part; /* m elements */
} fw_pq_coder;

furrow_status fw_pq_coder_create(fw_pq_coder *coder, const fw_pq *pq, furrow_error *err) FURROW_MUST_USE;
void fw_pq_coder_clear(fw_pq_coder *coder);
/* Encodes n vectors that are `stride` floats apart: for each part the nearest centroid (L2), the first of equally near
 * ones. */
void fw_pq_encode(const fw_pq_coder *coder, const float *vectors, size_t n, size_t stride, uint8_t *codes);

/* The number of `part` in a code. */
static inline uint32_t fw_pq_number(const uint8_t *code, unsigned nbits, size_t part) {
  size_t bit = part * nbits;
  const uint8_t *at = code + bit / 8;
  unsigned shift = bit % 8;
  uint32_t bits = at[0];
  for (unsigned have = 8; have < shift + nbits; have += 8) bits |= (uint32_t)at[have / 8] << have;
  return bits >> shift & ((UINT32_C(1) << nbits) - 1);
}
/* Sets the number of `part` in a code whose bits from there on are 0. */
static inline void fw_pq_put_number(uint8_t *code, unsigned nbits, size_t part, uint32_t number) {
  size_t bit = part * nbits;
  uint32_t bits = number << bit % 8;
  for (uint8_t *at = code + bit / 8; bits; at++, bits >>= 8) *at |= (uint8_t)bits;
}
/* Decodes a code to d floats. */
void fw_pq_decode(const fw_pq *pq, const uint8_t *code, float *vector);
/* The same from the numbers in one integer, lowest first: a list of a multi-index. */
void fw_pq_decode_key(const fw_pq *pq, uint64_t key, float *vector);

#endif
