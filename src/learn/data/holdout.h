/* learn/data/holdout.h: which rows are held out for validation: at random by the seed, the same share of each class, or
 * whole groups. */
#ifndef FW_LEARN_DATA_HOLDOUT_H
#define FW_LEARN_DATA_HOLDOUT_H

#include "comm/collectives.h"
#include "furrow/rows.h"
#include "learn/conf/conf.h"

#define FW_FOLDS_MAX 255

typedef struct fw_holdout {
  unsigned char *fold_of;          /* rows of this rank: the fold that each is in; NULL: none is held out */
  uint64_t rows[FW_FOLDS_MAX + 1]; /* of each fold, of this rank */
} fw_holdout;

typedef enum fw_holdout_unit {
  FW_HOLD_ROWS,
  FW_HOLD_OF_CLASSES, /* rows, the same share of each label */
  FW_HOLD_GROUPS      /* rows with the same qid stay together; shares are of the groups */
} fw_holdout_unit;
/* The unit that a loss needs. */
fw_holdout_unit fw_holdout_unit_of(fw_loss_type loss);

typedef struct fw_holdout_params {
  fw_holdout_unit unit;
  unsigned folds; /* above 1: folds 0 … folds-1 of about the same size. Else fold 0 is the share `ratio`, 1 the rest */
  double ratio;
  uint64_t seed;
  const furrow_comm *comm; /* ranks that share the rows, and all call; NULL: alone */
  uint64_t first_row;      /* the number of this rank's first row among the rows of all ranks */
} fw_holdout_params;

/* The same rows for any number of ranks. To be cleared after a failure, too. */
furrow_status fw_holdout_init(fw_holdout *holdout, const furrow_rowblock *rows, const fw_holdout_params *params,
                              furrow_error *err) FURROW_MUST_USE;
void fw_holdout_clear(fw_holdout *holdout);

#endif
