/* vector/index/code_blocks.c: 4-bit codes in blocks, one vector at a time. */
#include "vector/index/code_blocks.h"

enum { GROUP = 32, HALF = 16 };

/* Sub-quantizers of a block, an even number. */
static size_t block_m(const fw_lists *lists) {
  return lists->block_bytes / lists->block_vectors * 2;
}

/* The byte of vector i and sub-quantizer m; *shift: 0 for its low half, 4 for the high one. */
static size_t place_of(const fw_lists *lists, size_t i, size_t m, unsigned *shift) {
  size_t block = i / lists->block_vectors, in_block = i % lists->block_vectors;
  size_t groups = lists->block_vectors / GROUP, group = in_block / GROUP, v = in_block % GROUP;
  size_t low = v % HALF, byte = low < 8 ? 2 * low : 2 * (low - 8) + 1;
  *shift = v < HALF ? 0 : 4;
  return block * lists->block_bytes + (m / 2 * groups + group) * GROUP + m % 2 * HALF + byte;
}

unsigned fw_block_get(const fw_lists *lists, const uint8_t *codes, size_t i, size_t m) {
  unsigned shift;
  size_t at = place_of(lists, i, m, &shift);
  return codes[at] >> shift & 15u;
}

static void block_set(const fw_lists *lists, uint8_t *codes, size_t i, size_t m, unsigned value) {
  unsigned shift;
  size_t at = place_of(lists, i, m, &shift);
  codes[at] = (uint8_t)((codes[at] & ~(15u << shift)) | value << shift);
}

void fw_block_put(const fw_lists *lists, uint8_t *codes, size_t i, const uint8_t *code) {
  for (size_t m = 0; m < block_m(lists); m++) block_set(lists, codes, i, m, code[m / 2] >> 4 * (m % 2) & 15u);
}

void fw_block_copy(const fw_lists *lists, uint8_t *codes, size_t to, const uint8_t *other, size_t from) {
  for (size_t m = 0; m < block_m(lists); m++) block_set(lists, codes, to, m, fw_block_get(lists, other, from, m));
}

void fw_block_clear(const fw_lists *lists, uint8_t *codes, size_t i) {
  for (size_t m = 0; m < block_m(lists); m++) block_set(lists, codes, i, m, 0);
}
