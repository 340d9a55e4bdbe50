/* vector/index/pack_codes.c: packs the codes of files into blocks. */
#include "vector/index/pack_codes.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/inverted_lists.h"
#include "vector/quantizer/pq.h"

/* ---- Order ---------------------------------------------------------------------------------------------- */

typedef struct valued {
  float number;
  uint8_t code;
} valued;

static int by_number(const void *a, const void *b) {
  const valued *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return (int)x->code - (int)y->code;
}

/* The dimension in which these centroids differ most. */
static size_t widest_dimension(const float *centroids, size_t dsub, const uint8_t *codes, size_t n) {
  size_t widest = 0;
  double most = -1;
  for (size_t k = 0; k < dsub; k++) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
      const double x = centroids[codes[i] * dsub + k];
      sum += x;
      square += x * x;
    }
    const double spread = square - sum * sum / (double)n;
    if (spread > most) {
      most = spread;
      widest = k;
    }
  }
  return widest;
}

/* Groups of this size are not sorted. */
enum { SMALLEST_GROUP = 4 };

/* Divides the codes in halves repeatedly, each time along the dimension with the largest spread, so that consecutive
 * numbers have similar centroids. */
static void order_part(const float *centroids, size_t dsub, uint8_t codes[FW_LUT_BYTES]) {
  valued sorted[FW_LUT_BYTES];
  for (size_t i = 0; i < FW_LUT_BYTES; i++) codes[i] = (uint8_t)i;
  for (size_t size = FW_LUT_BYTES; size > SMALLEST_GROUP; size /= 2) {
    for (size_t first = 0; first < FW_LUT_BYTES; first += size) {
      const size_t k = widest_dimension(centroids, dsub, codes + first, size);
      for (size_t i = 0; i < size; i++) sorted[i] = (valued){centroids[codes[first + i] * dsub + k], codes[first + i]};
      qsort(sorted, size, sizeof *sorted, by_number);
      for (size_t i = 0; i < size; i++) codes[first + i] = sorted[i].code;
    }
  }
}

furrow_status fw_code_order_create(fw_code_order **order, const fw_pq *pq, furrow_error *err) {
  const size_t dsub = fw_pq_dsub(pq), bytes = pq->m * FW_LUT_BYTES;
  void *memory = NULL;
  if (!fw_scan_table()->group_code || pq->nbits != 8) return FURROW_OK;
  FW_TRY(fw_alloc(&memory, sizeof **order + 2 * bytes, 1, err));
  *order = memory;
  (*order)->number = (uint8_t *)(*order + 1);
  (*order)->code = (*order)->number + bytes;
  for (size_t m = 0; m < pq->m; m++) {
    uint8_t *number = (*order)->number + m * FW_LUT_BYTES, *code = (*order)->code + m * FW_LUT_BYTES;
    uint8_t ranked[FW_LUT_BYTES];
    order_part(pq->centroids + m * FW_LUT_BYTES * dsub, dsub, ranked);
    for (size_t i = 0; i < FW_LUT_BYTES; i++) number[ranked[i]] = fw_scan_table()->group_code((uint8_t)i);
    for (size_t i = 0; i < FW_LUT_BYTES; i++) code[number[i]] = (uint8_t)i;
  }
  return FURROW_OK;
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

static uint8_t code_number(const fw_code_source *from, size_t i, size_t m) {
  const fw_pq *pq = from->pq;
  if (m >= pq->m) return 0;
  if (from->blocks) return (uint8_t)fw_block_get(from->blocks, from->codes, i, m);
  return (uint8_t)fw_pq_number(from->codes + i * fw_pq_code_size(pq), pq->nbits, m);
}

/* Byte k of code i in blocks. */
static uint8_t code_byte(const fw_code_source *from, size_t i, size_t k, bool nibbles) {
  if (!nibbles) return code_number(from, i, k);
  return (uint8_t)(code_number(from, i, 2 * k) | code_number(from, i, 2 * k + 1) << 4);
}

void fw_pack_codes(const fw_code_source *from, size_t n, uint8_t *blocks) {
  const bool nibbles = fw_pq_has_nibbles(from->pq), bytes = (from->pq->nbits == 8 || nibbles) && !from->blocks;
  const size_t m = fw_pq_rows(from->pq);
  for (size_t b = 0; b * FW_BLOCK < n; b++) {
    const size_t first = b * FW_BLOCK, count = n - first < FW_BLOCK ? n - first : FW_BLOCK;
    const size_t width = fw_block_width(n, b);
    uint8_t *block = blocks + first * m;
    if (bytes) {
      fw_scan_table()->pack(from->codes + first * m, m, count, block, width);
      if (from->order) fw_scan_table()->renumber(from->order->number, m, block, width);
      continue;
    }
    for (size_t k = 0; k < m; k++)
      for (size_t i = 0; i < width; i++) block[k * width + i] = i < count ? code_byte(from, first + i, k, nibbles) : 0;
  }
}

void fw_pack_next(void *packing, const uint8_t *rows, size_t size) {
  fw_packing *p = packing;
  const size_t n = size / fw_pq_code_size(p->pq);
  fw_pack_codes(&(fw_code_source){.pq = p->pq, .codes = rows, .order = p->order}, n, p->to);
  p->to += n * fw_pq_rows(p->pq);
}
