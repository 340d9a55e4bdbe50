/* model/read/load.h: loads parts of a stored matrix: filtered, planned, in slices that fit in memory. */
#ifndef FW_MODEL_READ_LOAD_H
#define FW_MODEL_READ_LOAD_H

#include "furrow/model.h"
#include "model/read/matrix.h"
#include "model/read/source.h"

typedef struct fw_column_filter {
  bool (*keep)(const void *context, int64_t col);
  const void *context;
} fw_column_filter;

/* Called with the number of elements of each panel that was read; a status other than OK ends the load. */
typedef struct fw_load_poll {
  furrow_status (*poll)(void *user, size_t elements, furrow_error *err);
  void *user;
} fw_load_poll;

/* Like furrow_matrix_load_source, but keeps only the columns that `filter` accepts (NULL: all) and calls `poll` (may be
 * NULL). Both are called from several threads. */
furrow_status fw_matrix_load_filtered(furrow_matrix **matrix, const furrow_matrix_source *source,
                                      const furrow_matrix_load_params *params, const fw_column_filter *filter,
                                      const fw_load_poll *poll, furrow_error *err) FURROW_MUST_USE;

/* ---- The plan: groups and slots in memory for a part of a stored matrix ---------------------------------- */

#define FW_NO_SLOT SIZE_MAX

typedef struct fw_load_plan {
  const furrow_matrix_source *source;
  fw_selection sel;
  fw_matrix_build build;
  bool by_block;      /* one group per block of rows; otherwise one per row */
  bool estimated;     /* a capacity was derived from the width of a dense partition, not from counts */
  size_t *first_slot; /* for each partition: its slots are sorted by row; FW_NO_SLOT: not selected */
  size_t *slot_count;
  bool *uncounted;             /* partitions whose metadata gives only an upper bound of the elements */
  fw_arena arena;              /* memory of these lists */
  size_t sort_cols, sort_size; /* the largest group that must be sorted: its columns, and the bytes of each */
} fw_load_plan;

/* Plans from the metadata alone. trust_dense assumes that dense partitions have all their columns. Initializes the plan
 * even on failure; the caller clears it. */
furrow_status fw_load_plan_make(fw_load_plan *plan, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, bool trust_dense,
                                furrow_error *err) FURROW_MUST_USE;
/* An upper bound of the memory that loading takes; SIZE_MAX if it overflows. */
size_t fw_load_plan_bytes(const fw_load_plan *plan);
/* The slot of a row in a partition (by_block: of all its rows). *hint remembers the last position. */
fw_slot *fw_load_plan_slot(fw_load_plan *plan, size_t part, int32_t row_id, size_t *hint);
void fw_load_plan_clear(fw_load_plan *plan);

/* ---- Slices that fit in memory, each loaded separately --------------------------------------------------- */

/* The meaning of params->memory = 0. */
#define FW_DEFAULT_MEMORY ((size_t)1 << 30)

typedef struct fw_memory_slices {
  size_t count;
  furrow_matrix_selection *selections; /* owned, with the arrays they point at */
  void *memory;
} fw_memory_slices;

/* Divides the selection (NULL: everything) into ascending ranges of columns. Each takes at most `bytes` when loaded, as
 * far as known from the metadata; slices that cannot be made that small are as small as possible. */
furrow_status fw_memory_slices_by_columns(fw_memory_slices **slices, const furrow_matrix_source *source,
                                          const furrow_matrix_selection *selection, size_t bytes,
                                          furrow_error *err) FURROW_MUST_USE;
/* Divides the selection into groups of whole rows, ascending; a single row that is too large is divided into ranges of
 * columns. */
furrow_status fw_memory_slices_by_rows(fw_memory_slices **slices, const furrow_matrix_source *source,
                                       const furrow_matrix_selection *selection, size_t bytes,
                                       furrow_error *err) FURROW_MUST_USE;
void fw_memory_slices_free(fw_memory_slices *slices);

#endif
