/* vector/index/code_blocks.h: 4-bit codes in blocks (lists of kind BLOCKS), one vector at a time.
 *
 * A block has block_vectors vectors, in groups of 32. For each pair of sub-quantizers (2p, 2p + 1) the groups follow
 * each other with 32 bytes each: 16 bytes for 2p, 16 for 2p + 1. Byte j has two vectors of the group: in its low half
 * j / 2 + 8 * (j % 2), in its high half that + 16. What is not there is 0. */
#ifndef FW_VECTOR_INDEX_CODE_BLOCKS_H
#define FW_VECTOR_INDEX_CODE_BLOCKS_H

#include "vector/index/index.h"

/* The number that sub-quantizer m has for vector i of a list. */
unsigned fw_block_get(const fw_lists *lists, const uint8_t *codes, size_t i, size_t m);
/* Vector i gets a code: a string of 4 bits for each sub-quantizer. Where those are odd, the last 4 bits are 0. */
void fw_block_put(const fw_lists *lists, uint8_t *codes, size_t i, const uint8_t *code);
/* Vector `to` becomes a copy of vector `from` of another list, or of the same. */
void fw_block_copy(const fw_lists *lists, uint8_t *codes, size_t to, const uint8_t *other, size_t from);
/* Vector i becomes 0, as if it were not there. */
void fw_block_clear(const fw_lists *lists, uint8_t *codes, size_t i);

#endif
