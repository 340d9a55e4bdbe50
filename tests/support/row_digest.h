/* tests/support/row_digest.h: a number that tells rows apart, whatever blocks they come in.
 *
 * Bits count, a NaN's too; an array that is absent is the same as one of defaults, except that of labels. */
#ifndef ROW_DIGEST_H
#define ROW_DIGEST_H

#include <string.h>

#include "furrow/rows.h"

static inline void digest_add(uint64_t *digest, uint64_t v) {
  *digest = (*digest ^ v) * UINT64_C(0x9e3779b97f4a7c15);
  *digest ^= *digest >> 29;
}

static inline uint64_t digest_bits(furrow_values a, furrow_value_type type, size_t i) {
  uint32_t bits = 0;
  if (type == FURROW_VALUE_I64) return (uint64_t)a.i64[i];
  if (type == FURROW_VALUE_I32) return (uint64_t)a.i32[i];
  memcpy(&bits, &a.f32[i], sizeof bits);
  return bits;
}

static inline void digest_row(uint64_t *digest, const furrow_row *row) {
  const float one = 1;
  const float weight = furrow_row_get_weight(row);
  uint32_t one_bits, weight_bits;
  memcpy(&one_bits, &one, sizeof one);
  memcpy(&weight_bits, &weight, sizeof weight);
  digest_add(digest, row->label.any ? digest_bits(row->label, row->value_type, 0) : UINT64_C(0x123456789abcdef0));
  digest_add(digest, weight_bits);
  digest_add(digest, furrow_row_get_qid(row));
  digest_add(digest, row->length);
  for (size_t i = 0; i < row->length; i++) {
    digest_add(digest, furrow_row_get_field(row, i));
    digest_add(digest, furrow_row_get_index(row, i));
    digest_add(digest, row->value.any                        ? digest_bits(row->value, row->value_type, i)
                       : row->value_type == FURROW_VALUE_F32 ? one_bits
                                                             : 1);
  }
}

static inline void digest_block(uint64_t *digest, const furrow_rowblock *block) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    digest_row(digest, &row);
  }
}

#endif
