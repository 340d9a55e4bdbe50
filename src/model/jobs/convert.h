/* model/jobs/convert.h: what the files that convert models share. */
#ifndef FW_MODEL_JOBS_CONVERT_H
#define FW_MODEL_JOBS_CONVERT_H

#include <pthread.h>

#include "furrow/model.h"
#include "model/write/matrix_writer.h"

/* A conversion at work. */
typedef struct fw_convert {
  const furrow_model_convert_params *params;
  unsigned threads;
  furrow_model_convert_result result;
  pthread_mutex_t lock; /* of what follows, and of the caller's progress function */
  uint64_t done, total;
} fw_convert;

/* Tells that `bytes` more were read; the caller may end the job. Thread-safe. */
furrow_status fw_convert_progress(fw_convert *convert, uint64_t bytes, furrow_error *err) FURROW_MUST_USE;

/* What is to become of a matrix. */
typedef struct fw_convert_plan {
  bool copy;                /* nothing changes but perhaps the name of the metadata file: files are copied */
  furrow_matrix_meta *meta; /* what is written; NULL when copied */
  bool same_grid;           /* its partitions are the source's, or some of them */
  const furrow_matrix_format *format;
  const furrow_matrix_row_type *row_type;
  const char *meta_name; /* NULL: all metadata files as they are */
  furrow_matrix_write_params write;
  furrow_matrix_selection selection; /* rows and columns that are taken */
  int32_t *rows;                     /* saved rows of the source, ascending */
  size_t row_count;
} fw_convert_plan;

/* `name` is for a matrix without one. */
furrow_status fw_convert_plan_make(fw_convert_plan *plan, const furrow_matrix_source *source,
                                   const furrow_model_convert_params *params, const char *name,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_convert_plan_clear(fw_convert_plan *plan);
/* Whether columns, rows or partitions are chosen. */
bool fw_selection_narrows(const furrow_matrix_selection *selection);

/* Reads and checks the source, then copies its folder to the one that is open as `fd`. */
furrow_status fw_convert_copy(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                              int fd, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Copies a file of a folder (path `from`) to the folder open as `fd` (path `to`). *size: its bytes. */
furrow_status fw_copy_file(fw_convert *convert, const char *from, const char *name, int fd, const char *new_name,
                           const char *to, uint64_t *size, furrow_error *err) FURROW_MUST_USE;
/* Writes the planned matrix. */
furrow_status fw_convert_write(fw_convert *convert, const furrow_matrix_source *source, const fw_convert_plan *plan,
                               furrow_matrix_writer *writer, furrow_error *err) FURROW_MUST_USE;

#endif
