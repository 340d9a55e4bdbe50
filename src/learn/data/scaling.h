/* learn/data/scaling.h: features and labels of regression, shifted and scaled for training.
 *
 *   feature  z = (x - mean) * factor     those that are not listed: z = x
 *   label    t = (y - label_mean) * label_factor */
#ifndef FW_LEARN_DATA_SCALING_H
#define FW_LEARN_DATA_SCALING_H

#include "furrow/rows.h"

typedef struct fw_scaling {
  size_t count;
  uint64_t *key; /* ascending */
  double *mean;
  double *factor;      /* above 0 */
  int64_t *slot;       /* of a feature with a mean: the slot that it has to itself in every row; -1: unknown */
  double label_mean;   /* 0 */
  double label_factor; /* above 0; 0: labels stay as they are, whatever the mean */
} fw_scaling;

/* The caller's struct, for `count` features: means 0, factors 1, slots -1, keys to be filled in; labels stay as they
 * are. On failure there is nothing to clear. */
furrow_status fw_scaling_init(fw_scaling *scaling, size_t count, furrow_error *err) FURROW_MUST_USE;
/* Takes one of zeros. */
void fw_scaling_clear(fw_scaling *scaling);
/* From z to x and from t to y: mean -mean * factor, factor 1 / factor. *inverse is for the caller to clear. */
furrow_status fw_scaling_invert(fw_scaling *inverse, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;

/* A block with scaled values and labels, otherwise the same as `block`. Its arrays are kept for the next block. A
 * feature whose mean is subtracted is appended to rows that do not list it: its value 0 is not 0 in these units. */
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
