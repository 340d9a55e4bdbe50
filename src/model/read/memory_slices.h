/* model/read/memory_slices.h: a stored matrix in pieces that fit memory, each to be loaded alone. */
#ifndef FW_MODEL_READ_MEMORY_SLICES_H
#define FW_MODEL_READ_MEMORY_SLICES_H

#include "furrow/model.h"

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
