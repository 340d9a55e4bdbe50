/* learn/data/scaled_block.h: rows in the units of a scaling. */
#ifndef FW_LEARN_DATA_SCALED_BLOCK_H
#define FW_LEARN_DATA_SCALED_BLOCK_H

#include "furrow/rows.h"
#include "learn/data/scaling.h"

/* A block with scaled values and labels; the rest is that of `block`. Its arrays are kept for the next one. A row that
 * does not list a feature whose mean is taken away gets it, behind its others: its value 0 is not 0 in these units. */
typedef struct fw_scaled_block {
  furrow_rowblock block;
  float *value, *label;
  uint64_t *offset; /* and index, field: where features were added */
  void *index, *field;
  size_t value_capacity, label_capacity, offset_capacity, index_capacity, field_capacity;
} fw_scaled_block;

furrow_status fw_scaled_block_fill(fw_scaled_block *scaled, const fw_scaling *scaling, const furrow_rowblock *block,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_scaled_block_clear(fw_scaled_block *scaled);

#endif
