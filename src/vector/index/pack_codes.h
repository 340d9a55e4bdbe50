/* vector/index/pack_codes.h: packs the codes of files into the blocks of kern/scan/scan.h.
 *
 * A list takes fw_packed_bytes, and starts at a multiple of 64 bytes. */
#ifndef FW_VECTOR_INDEX_PACK_CODES_H
#define FW_VECTOR_INDEX_PACK_CODES_H

#include "kern/scan/scan.h"
#include "vector/index/index.h"

#define FW_PACKED_ALIGNMENT ((size_t)64)

/* 8-bit codes may be renumbered in blocks, so that the codes of a group have similar centroids (fw_scan.group_code). */
typedef struct fw_code_order fw_code_order;
struct fw_code_order {
  uint8_t *number; /* [m][FW_LUT_BYTES]: maps a code of the index to its number in blocks */
  uint8_t *code;   /* the inverse */
};

/* *order is NULL if codes are not renumbered. */
furrow_status fw_code_order_create(fw_code_order **order, const fw_pq *pq, furrow_error *err) FURROW_MUST_USE;

/* The source of codes: rows of code_size bytes, or blocks of 4-bit codes. */
typedef struct fw_code_source {
  const fw_pq *pq;
  const uint8_t *codes;
  const fw_lists *blocks; /* NULL: rows */
  const fw_code_order *order;
} fw_code_source;

/* Whether the codes of a quantizer can be packed: at most a byte per sub-quantizer. */
static inline bool fw_pq_is_packable(const fw_pq *pq) {
  return pq->nbits <= 8;
}
/* Whether a byte of a block holds two codes. */
static inline bool fw_pq_has_nibbles(const fw_pq *pq) {
  return pq->nbits == 4 && fw_scan_table()->nibbles;
}
/* The size of a code in blocks. */
static inline size_t fw_pq_rows(const fw_pq *pq) {
  return fw_pq_has_nibbles(pq) ? (pq->m + 1) / 2 : pq->m;
}
/* The size of n codes of `rows` bytes each in blocks, rounded up to the start of the next list. */
static inline size_t fw_packed_bytes(size_t n, size_t rows) {
  return (fw_block_padded(n) * rows + FW_PACKED_ALIGNMENT - 1) / FW_PACKED_ALIGNMENT * FW_PACKED_ALIGNMENT;
}
static inline uint8_t *fw_packed_align(void *memory) {
  return (uint8_t *)(((uintptr_t)memory + FW_PACKED_ALIGNMENT - 1) & ~(uintptr_t)(FW_PACKED_ALIGNMENT - 1));
}

/* The number of codes of code_size bytes to pack at a time, so that they stay in the cache. */
static inline size_t fw_pack_piece(size_t code_size) {
  const size_t block = FW_BLOCK * code_size, about = (size_t)1 << 17;
  return block < about ? about / block * FW_BLOCK : FW_BLOCK;
}

/* Packs n codes, of a whole list or of a part that starts with a block. */
void fw_pack_codes(const fw_code_source *from, size_t n, uint8_t *blocks);
/* Packs codes that arrive in pieces: fw_pack_next (a fw_chunk_consumer of vector/file/index_cursor.h) packs the next
 * rows. */
typedef struct fw_packing {
  const fw_pq *pq;
  const fw_code_order *order;
  uint8_t *to;
} fw_packing;
void fw_pack_next(void *packing, const uint8_t *rows, size_t size);

#endif
