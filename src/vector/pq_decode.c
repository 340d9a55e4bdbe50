/* vector/pq_decode.c: vectors from codes of a product quantizer. */
#include "vector/pq_decode.h"

#include <string.h>

void fw_pq_decode(const fw_pq *pq, const uint8_t *code, float *vector) {
  size_t dsub = fw_pq_dsub(pq), ksub = fw_pq_ksub(pq);
  for (size_t m = 0; m < pq->m; m++) {
    unsigned c = fw_pq_code_at(code, m, pq->nbits);
    memcpy(vector + m * dsub, pq->centroids + (m * ksub + c) * dsub, dsub * sizeof *vector);
  }
}
