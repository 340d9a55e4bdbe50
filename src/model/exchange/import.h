/* model/exchange/import.h: declarations shared by the importers, which read a file into a matrix folder. */
#ifndef FW_MODEL_EXCHANGE_IMPORT_H
#define FW_MODEL_EXCHANGE_IMPORT_H

#include "array/array.h"
#include "base/error.h"
#include "model/exchange/exchange_job.h"

typedef struct fw_import {
  const furrow_model_import_params *params; /* params->spec and params->write are not NULL */
  furrow_exchange_format format;
  const char *path, *target;
  size_t memory;
  const char *name;           /* name of a single matrix */
  furrow_model_writer *model; /* NULL: the target is the matrix folder */
  furrow_model_import_result result;
} fw_import;

/* Reports the number of bytes read, and the file's size (0: unknown). */
static inline furrow_status fw_import_report(const fw_import *job, uint64_t done, uint64_t total, furrow_error *err) {
  return fw_report_progress(job->params->progress, job->params->progress_user, "reading", done, total, err);
}

/* The matrix to be written. */
typedef struct fw_import_matrix {
  furrow_matrix_spec spec; /* from the parameters; missing values are derived from the elements */
  furrow_axis axis;        /* never AUTO */
  furrow_element_type type;
  bool dense;    /* the file has all elements */
  bool all_rows; /* without spec.saved_rows, save all rows; false: only rows that occur in the file */
} fw_import_matrix;

furrow_status fw_import_dense(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_npz(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_tsv(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_libsvm(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_vectors(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_tensors(fw_import *job, furrow_error *err) FURROW_MUST_USE;

/* Initializes the matrix from the parameters, for a file whose elements have this type. `format` is used if the
 * parameters do not name one (NULL: the default). */
furrow_status fw_import_start(const fw_import *job, fw_import_matrix *m, fw_array_type type, const char *format,
                              furrow_error *err) FURROW_MUST_USE;
/* The element type to which the values of a file are converted. */
furrow_element_type fw_import_element_type(fw_array_type type);

/* ---- Matrices from elements ----------------------------------------------------------------------------- */

/* Ids of the vectors; NULL: 0, 1, 2 … Free ids with fw_free. */
typedef struct fw_import_ids {
  int64_t *ids;
  size_t count;
} fw_import_ids;

/* Reads the ids file if there is one, and checks that it has `vectors` ids (unless that is FW_ARRAY_UNKNOWN). */
furrow_status fw_import_read_ids(const fw_import *job, fw_import_ids *ids, uint64_t vectors,
                                 furrow_error *err) FURROW_MUST_USE;
/* Checks that no id is repeated and that row ids are in range. *place is the position of the wrong id; may be NULL. */
furrow_status fw_import_check_ids(const fw_import_ids *ids, furrow_axis axis, const char *file, size_t *place,
                                  furrow_error *err) FURROW_MUST_USE;
static inline int64_t fw_import_id(const fw_import_ids *ids, size_t i) {
  return ids->ids ? ids->ids[i] : (int64_t)i;
}

/* Reads an array, whose rows are the vectors, into a matrix and writes it. */
furrow_status fw_import_array(fw_import *job, fw_import_matrix *m, fw_array_reader *reader, fw_import_ids *ids,
                              furrow_error *err) FURROW_MUST_USE;

/* Consecutive elements of one row. */
typedef struct fw_import_run {
  int32_t row;
  size_t count;        /* 0: the row exists but has no elements */
  const int64_t *cols; /* in any order */
  const void *values;  /* in the matrix's type */
} fw_import_run;

typedef furrow_status (*fw_import_run_visitor)(void *user, const fw_import_run *run, furrow_error *err);
/* An iterator over runs. `each` is called two or more times and must give the same runs each time. */
typedef struct fw_import_runs {
  furrow_status (*each)(void *source, fw_import_run_visitor visit, void *user, furrow_error *err);
  void *source;
} fw_import_runs;

/* Restricts an iterator to the rows listed in spec.saved_rows, in any order. */
typedef struct fw_import_saved {
  const fw_import_runs *all;
  int32_t *rows; /* ascending */
  size_t count;
  /* extent of the rows that are not saved, known after the first pass */
  bool others;
  int32_t last_row;
  int64_t first_col, last_col;
} fw_import_saved;

/* Makes *runs iterate over the saved rows of `all`. The caller calls fw_import_saved_clear.
 * (model/exchange/import_write.c) */
furrow_status fw_import_saved_open(fw_import_saved *saved, const furrow_matrix_spec *spec, const fw_import_runs *all,
                                   fw_import_runs *runs, furrow_error *err) FURROW_MUST_USE;
void fw_import_saved_clear(fw_import_saved *saved);
/* Sets nnz of the partitions, which counts the elements of all rows, and *left_out, the number of elements in rows that
 * are not saved. Fails if a row id exceeds spec->rows. */
furrow_status fw_import_count_nnz(const fw_import_saved *saved, const furrow_matrix_spec *spec,
                                  furrow_matrix_meta *plan, uint64_t *left_out, furrow_error *err) FURROW_MUST_USE;

/* Builds a matrix from all runs and writes it. */
furrow_status fw_import_elements(fw_import *job, fw_import_matrix *m, const fw_import_runs *runs,
                                 furrow_error *err) FURROW_MUST_USE;
/* Derives the missing values of the spec and writes the folder. saved NULL: the matrix has all rows. */
furrow_status fw_import_write(fw_import *job, fw_import_matrix *m, const furrow_matrix *matrix,
                              const fw_import_saved *saved, furrow_error *err) FURROW_MUST_USE;

/* The range of rows and columns that the elements occupy. */
typedef struct fw_import_extent {
  int64_t first_col, last_col;
  size_t row_count;
  const int32_t *rows; /* ascending */
  int32_t last_row;    /* largest row that is not saved; 0 if all are saved */
  uint64_t elements;
} fw_import_extent;

/* Derives the missing values of the spec and plans the partitions. */
furrow_status fw_import_plan(fw_import_matrix *m, const fw_import_extent *extent, furrow_matrix_meta **plan,
                             furrow_error *err) FURROW_MUST_USE;
typedef furrow_status (*fw_import_fill)(void *user, furrow_matrix_writer *writer, furrow_error *err);
/* Writes the folder; `fill` writes the elements. `elements` is their number, for the result. */
furrow_status fw_import_folder(fw_import *job, const fw_import_matrix *m, const furrow_matrix_meta *plan,
                               uint64_t elements, fw_import_fill fill, void *user, furrow_error *err) FURROW_MUST_USE;

/* Writes an array that does not fit in memory directly to the folder. Requires vectors in the order in which the format
 * stores them, ascending ids and range partitions. Otherwise returns FURROW_END and does nothing.
 * (model/exchange/import_stream.c) */
furrow_status fw_import_stream(fw_import *job, fw_import_matrix *m, fw_array_reader *reader, const fw_import_ids *ids,
                               furrow_error *err) FURROW_MUST_USE;

/* ---- Compressed sparse rows (CSR) ----------------------------------------------------------------------- */

/* The three CSR arrays; begins (indptr) has vectors + 1 entries. */
typedef struct fw_csr_arrays {
  size_t vectors, count;
  int64_t *begins, *indices;
  void *data;
} fw_csr_arrays;

/* Reads and checks the three arrays: begins ascends from 0 to the count; indices are in 0 … dimension-1, or any number
 * if `dimension` is -1. */
furrow_status fw_csr_read(fw_csr_arrays *csr, fw_array_reader *begins, fw_array_reader *indices, fw_array_reader *data,
                          furrow_element_type type, int64_t dimension, furrow_error *err) FURROW_MUST_USE;
/* Writes the arrays as a matrix. */
furrow_status fw_csr_import(fw_import *job, fw_import_matrix *m, const fw_csr_arrays *csr, const fw_import_ids *ids,
                            furrow_error *err) FURROW_MUST_USE;
void fw_csr_clear(fw_csr_arrays *csr);

#endif
