/* model/jobs/convert.h: declarations shared by the files that convert models. */
#ifndef FW_MODEL_JOBS_CONVERT_H
#define FW_MODEL_JOBS_CONVERT_H

#include <pthread.h>

#include "furrow/model.h"
#include "model/write/matrix_writer.h"

/* The state of a conversion. */
typedef struct fw_convert {
  const furrow_model_convert_params *params;
  unsigned threads;
  furrow_model_convert_result result;
  pthread_mutex_t lock; /* guards the members below and calls of the progress function */
  uint64_t done, total;
  furrow_path_watch *watch; /* watch of the source; NULL: it has ended */
} fw_convert;

/* Reports that `bytes` more were read; the caller may cancel the job. Thread-safe. */
furrow_status fw_convert_progress(fw_convert *convert, uint64_t bytes, furrow_error *err) FURROW_MUST_USE;

/* How a matrix is converted. */
typedef struct fw_convert_plan {
  bool copy;                /* nothing changes except possibly the name of the metadata file: copy the files */
  furrow_matrix_meta *meta; /* metadata to be written; NULL: copy */
  bool same_grid;           /* the partitions are the source's, or a subset */
  const furrow_matrix_format *format;
  const furrow_matrix_row_type *row_type;
  const char *meta_name; /* NULL: keep all metadata files */
  furrow_matrix_write_params write;
  furrow_matrix_selection selection; /* selected rows and columns */
  int32_t *rows;                     /* saved rows of the source, ascending */
  size_t row_count;
} fw_convert_plan;

/* `name` is used for a matrix without a name. */
furrow_status fw_convert_plan_make(fw_convert_plan *plan, const furrow_matrix_source *source,
                                   const furrow_model_convert_params *params, const char *name,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_convert_plan_clear(fw_convert_plan *plan);
/* Whether the selection restricts rows, columns or partitions. */
bool fw_selection_narrows(const furrow_matrix_selection *selection);

/* Reads and checks the source, then copies its folder to the folder open as `fd`. */
furrow_status fw_convert_copy(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                              int fd, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Copies a file from folder `from` to the folder `to`, which is open as `fd`. *size is its size. */
furrow_status fw_copy_file(fw_convert *convert, const char *from, const char *name, int fd, const char *new_name,
                           const char *to, uint64_t *size, furrow_error *err) FURROW_MUST_USE;
/* Writes the planned matrix. */
furrow_status fw_convert_write(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                               furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;

#endif
