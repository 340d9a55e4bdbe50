/* vector/pack_codes.c: codes as files have them, laid out in blocks. */
#include "vector/pack_codes.h"

#include "vector/code_blocks.h"
#include "vector/pq.h"

static uint8_t code_number(const fw_code_source *from, size_t i, size_t m) {
  const fw_pq *pq = from->pq;
  if (from->blocks) return (uint8_t)fw_block_get(from->blocks, from->codes, i, m);
  return (uint8_t)fw_pq_number(from->codes + i * fw_pq_code_size(pq), pq->nbits, m);
}

void fw_pack_codes(const fw_code_source *from, size_t n, uint8_t *blocks) {
  const size_t m = from->pq->m;
  const bool bytes = from->pq->nbits == 8 && !from->blocks;
  for (size_t b = 0; b * FW_BLOCK < n; b++) {
    const size_t first = b * FW_BLOCK, count = n - first < FW_BLOCK ? n - first : FW_BLOCK;
    const size_t width = fw_block_width(n, b);
    uint8_t *block = blocks + first * m;
    if (bytes) {
      fw_scan_table()->pack(from->codes + first * m, m, count, block, width);
      continue;
    }
    for (size_t k = 0; k < m; k++)
      for (size_t i = 0; i < width; i++) block[k * width + i] = i < count ? code_number(from, first + i, k) : 0;
  }
}

void fw_pack_next(void *packing, const uint8_t *rows, size_t size) {
  fw_packing *p = packing;
  const size_t n = size / fw_pq_code_size(p->pq);
  fw_pack_codes(&(fw_code_source){.pq = p->pq, .codes = rows}, n, p->to);
  p->to += n * p->pq->m;
}
