/* model/load.h: loading with a choice of columns that is no range. */
#ifndef FW_MODEL_LOAD_H
#define FW_MODEL_LOAD_H

#include "furrow/model.h"

typedef struct fw_column_filter {
  bool (*keep)(const void *context, int64_t col);
  const void *context;
} fw_column_filter;

/* furrow_matrix_load_source with the columns that `filter` keeps (NULL: all). The filter is called from several
 * threads. */
furrow_status fw_matrix_load_filtered(furrow_matrix **matrix, const furrow_matrix_source *source,
                                      const furrow_load_params *params, const fw_column_filter *filter,
                                      furrow_error *err) __attribute__((warn_unused_result));

#endif
