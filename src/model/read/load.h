/* model/read/load.h: a part of a stored matrix in memory: filtered, planned, in pieces that fit. */
#ifndef FW_MODEL_READ_LOAD_H
#define FW_MODEL_READ_LOAD_H

#include "furrow/model.h"
#include "model/read/matrix.h"
#include "model/read/source.h"

typedef struct fw_column_filter {
  bool (*keep)(const void *context, int64_t col);
  const void *context;
} fw_column_filter;

/* Called with the elements of each panel that is read; a status that is not OK ends it. */
typedef struct fw_load_poll {
  furrow_status (*poll)(void *user, size_t elements, furrow_error *err);
  void *user;
} fw_load_poll;

/* furrow_matrix_load_source with the columns that `filter` keeps (NULL: all), which tells how it goes on (NULL: not).
 * Both are called from several threads. */
furrow_status fw_matrix_load_filtered(furrow_matrix **matrix, const furrow_matrix_source *source,
                                      const furrow_matrix_load_params *params, const fw_column_filter *filter,
                                      const fw_load_poll *poll, furrow_error *err) FURROW_MUST_USE;

/* ---- The plan: which groups and slots a part of a stored matrix needs in memory -------------------------- */

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

/* ---- Pieces that fit memory, each to be loaded alone ----------------------------------------------------- */

/* What params->memory = 0 means. */
#define FW_DEFAULT_MEMORY ((size_t)1 << 30)

typedef struct fw_memory_slices {
  size_t count;
  furrow_matrix_selection *selections; /* they and what they point at belong to this */
  void *memory;
} fw_memory_slices;

/* Ranges of columns, ascending, that together are the selection (NULL: everything). Each takes at most `bytes` when
 * loaded, as far as the metadata tells; a piece that cannot be made small enough is left as small as it gets. */
furrow_status fw_memory_slices_by_columns(fw_memory_slices **slices, const furrow_matrix_source *source,
                                          const furrow_matrix_selection *selection, size_t bytes,
                                          furrow_error *err) FURROW_MUST_USE;
/* Groups of whole rows, ascending; a row that is too large alone comes in ranges of columns, ascending. */
furrow_status fw_memory_slices_by_rows(fw_memory_slices **slices, const furrow_matrix_source *source,
                                       const furrow_matrix_selection *selection, size_t bytes,
                                       furrow_error *err) FURROW_MUST_USE;
void fw_memory_slices_free(fw_memory_slices *slices);

#endif
