/* model/read/load_plan.h: which groups and slots a part of a stored matrix needs in memory. */
#ifndef FW_MODEL_READ_LOAD_PLAN_H
#define FW_MODEL_READ_LOAD_PLAN_H

#include "model/read/matrix.h"
#include "model/read/selection.h"

#define FW_NO_SLOT SIZE_MAX

typedef struct fw_load_plan {
  const furrow_matrix_source *source;
  fw_selection sel;
  fw_matrix_build build;
  bool by_block;      /* a group for each block of rows; otherwise one for each row */
  bool estimated;     /* some room was told from the width of a dense partition, not from counts */
  size_t *first_slot; /* of each partition; its slots come by row. FW_NO_SLOT: it is not chosen */
  size_t *slot_count;
  bool *uncounted;             /* partitions of which the metadata tells only an upper bound of the elements */
  fw_arena arena;              /* of these lists */
  size_t sort_cols, sort_size; /* the largest group that surely needs sorting: its columns, and bytes of each */
} fw_load_plan;

/* From the metadata alone. trust_dense: partitions of dense rows have all their columns. Sets the plan even on failure;
 * clear it. */
furrow_status fw_load_plan_make(fw_load_plan *plan, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, bool trust_dense,
                                furrow_error *err) FURROW_MUST_USE;
/* Bytes that it takes, at most; SIZE_MAX when they do not fit a number. */
size_t fw_load_plan_bytes(const fw_load_plan *plan);
/* The slot of a row of a partition (by_block: of all its rows); `hint` is where the last one was. */
fw_slot *fw_load_plan_slot(fw_load_plan *plan, size_t part, int32_t row_id, size_t *hint);
void fw_load_plan_clear(fw_load_plan *plan);

#endif
