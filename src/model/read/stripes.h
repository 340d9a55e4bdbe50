/* model/read/stripes.h: a stored matrix in pieces that fit memory, each to be loaded alone. */
#ifndef FW_MODEL_READ_STRIPES_H
#define FW_MODEL_READ_STRIPES_H

#include "furrow/model.h"

typedef struct fw_stripes {
  size_t count;
  furrow_matrix_selection *selections; /* they and what they point at belong to this */
  void *memory;
} fw_stripes;

/* Ranges of columns, ascending, that together are the selection (NULL: everything). Each takes at most `bytes` when
 * loaded, as far as the metadata tells; a piece that cannot be made small enough is left as small as it gets. */
furrow_status fw_stripes_by_columns(fw_stripes **stripes, const furrow_matrix_source *source,
                                    const furrow_matrix_selection *selection, size_t bytes, furrow_error *err)
    __attribute__((warn_unused_result));
/* Groups of whole rows, ascending; a row that is too large alone comes in ranges of columns, ascending. */
furrow_status fw_stripes_by_rows(fw_stripes **stripes, const furrow_matrix_source *source,
                                 const furrow_matrix_selection *selection, size_t bytes, furrow_error *err)
    __attribute__((warn_unused_result));
void fw_stripes_free(fw_stripes *stripes);

#endif
