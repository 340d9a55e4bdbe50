/* learn/data/scaling.h: features and labels of regression in other units for training: z = (x - mean) * factor. */
#ifndef FW_LEARN_DATA_SCALING_H
#define FW_LEARN_DATA_SCALING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/rows.h"

/* Features that are not listed stay as they are. */
typedef struct fw_scaling {
  size_t count;
  uint64_t *key;                  /* ascending */
  double *mean, *factor;          /* factor > 0 */
  int64_t *slot;                  /* the place of a centred feature among the features of every row; -1: not the same */
  double label_mean, label_factor; /* t = (y - label_mean) * label_factor; label_factor 0: labels stay as they are */
} fw_scaling;

/* Arrays for `count` features; to be cleared after a failure, too. */
furrow_status fw_scaling_init(fw_scaling *scaling, size_t count, furrow_error *err) FURROW_MUST_USE;
void fw_scaling_clear(fw_scaling *scaling);
/* What takes z back to x, in the same form. */
furrow_status fw_scaling_invert(const fw_scaling *scaling, fw_scaling *inverse, furrow_error *err) FURROW_MUST_USE;

/* A block with scaled values and labels; the rest is that of `block`. Its arrays are kept for the next one. */
typedef struct fw_scaled_block {
  furrow_rowblock block;
  float *value, *label;
  size_t value_capacity, label_capacity;
} fw_scaled_block;

furrow_status fw_scaled_block_fill(fw_scaled_block *scaled, const fw_scaling *scaling, const furrow_rowblock *block,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_scaled_block_clear(fw_scaled_block *scaled);

#endif
