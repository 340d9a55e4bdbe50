/* model/read/load.h: loading columns that a filter keeps. */
#ifndef FW_MODEL_READ_LOAD_H
#define FW_MODEL_READ_LOAD_H

#include "furrow/model.h"

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

#endif
