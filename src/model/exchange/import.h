/* model/exchange/import.h: what the files of import share: a matrix on its way from a file into a folder. */
#ifndef FW_MODEL_EXCHANGE_IMPORT_H
#define FW_MODEL_EXCHANGE_IMPORT_H

#include "array/array.h"
#include "base/error.h"
#include "model/exchange/exchange_job.h"

typedef struct fw_import {
  const furrow_model_import_params *params; /* its spec and write are set */
  furrow_exchange_format format;
  const char *path, *target;
  size_t memory;
  const char *name;           /* of a single matrix */
  furrow_model_writer *model; /* NULL: the target is the matrix folder */
  furrow_model_import_result result;
} fw_import;

/* Reports how many bytes of the file were read, of how many (0: unknown). */
static inline furrow_status fw_import_report(const fw_import *job, uint64_t done, uint64_t total, furrow_error *err) {
  return fw_report_progress(job->params->progress, job->params->progress_user, "reading", done, total, err);
}

/* One matrix: what it shall be. */
typedef struct fw_import_matrix {
  furrow_matrix_spec spec; /* as the parameters say; what they leave open is filled in with the elements */
  furrow_axis axis;        /* not AUTO */
  furrow_element_type type;
  bool dense;    /* the file has every element */
  bool all_rows; /* without spec.saved_rows, rows 0 … spec.rows-1 are saved; else those that the file names */
} fw_import_matrix;

furrow_status fw_import_dense(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_npz(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_tsv(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_libsvm(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_vectors(fw_import *job, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_import_tensors(fw_import *job, furrow_error *err) FURROW_MUST_USE;

/* The matrix as the parameters want it, for a file of elements of this type. format: used where the parameters say
 * nothing (NULL: the default). */
furrow_status fw_import_start(const fw_import *job, fw_import_matrix *m, fw_array_type type, const char *format,
                              furrow_error *err) FURROW_MUST_USE;
/* What elements of a file are taken as. */
furrow_element_type fw_import_element_type(fw_array_type type);

/* ---- Matrices from elements ----------------------------------------------------------------------------- */

/* Ids of the vectors; ids NULL: 0, 1, 2 … Freed with fw_free. */
typedef struct fw_import_ids {
  int64_t *ids;
  size_t count;
} fw_import_ids;

/* The second file, if there is one; checked: as many as `vectors` (unless that is FW_ARRAY_UNKNOWN). */
furrow_status fw_import_read_ids(const fw_import *job, fw_import_ids *ids, uint64_t vectors,
                                 furrow_error *err) FURROW_MUST_USE;
/* Each once, and those of rows in range. *place: the vector that is wrong; may be NULL. */
furrow_status fw_import_check_ids(const fw_import_ids *ids, furrow_axis axis, const char *file, size_t *place,
                                  furrow_error *err) FURROW_MUST_USE;
static inline int64_t fw_import_id(const fw_import_ids *ids, size_t i) {
  return ids->ids ? ids->ids[i] : (int64_t)i;
}

/* Reads an array (rows: vectors) into a matrix and writes it. */
furrow_status fw_import_array(fw_import *job, fw_import_matrix *m, fw_array_reader *reader, fw_import_ids *ids,
                              furrow_error *err) FURROW_MUST_USE;

/* Elements of one row that follow each other. */
typedef struct fw_import_run {
  int32_t row;
  size_t count;        /* 0: the row has none, but it is there */
  const int64_t *cols; /* any order */
  const void *values;  /* of the matrix's type */
} fw_import_run;

typedef furrow_status (*fw_import_run_visitor)(void *user, const fw_import_run *run, furrow_error *err);
/* Where runs come from; each is called twice or more, and gives the same runs. */
typedef struct fw_import_runs {
  furrow_status (*each)(void *source, fw_import_run_visitor visit, void *user, furrow_error *err);
  void *source;
} fw_import_runs;

/* The runs of the rows that spec.saved_rows lists, any order. */
typedef struct fw_import_saved {
  const fw_import_runs *all;
  int32_t *rows; /* ascending */
  size_t count;
  /* of rows that are not saved, once the runs were visited */
  bool others;
  int32_t last_row;
  int64_t first_col, last_col;
} fw_import_saved;

/* saved: cleared by the caller. *runs: what there is of all. (model/exchange/import_write.c) */
furrow_status fw_import_saved_open(fw_import_saved *saved, const furrow_matrix_spec *spec, const fw_import_runs *all,
                                   fw_import_runs *runs, furrow_error *err) FURROW_MUST_USE;
void fw_import_saved_clear(fw_import_saved *saved);
/* Sets nnz of the partitions, which counts elements of all rows, saved or not; and how many are not. Rows that the plan
 * has not are refused. */
furrow_status fw_import_count_nnz(const fw_import_saved *saved, const furrow_matrix_spec *spec,
                                  furrow_matrix_meta *plan, uint64_t *left_out, furrow_error *err) FURROW_MUST_USE;

/* Makes a matrix of all runs and writes it. */
furrow_status fw_import_elements(fw_import *job, fw_import_matrix *m, const fw_import_runs *runs,
                                 furrow_error *err) FURROW_MUST_USE;
/* Writes the folder: fills in what the spec leaves open. saved NULL: the matrix has all rows. */
furrow_status fw_import_write(fw_import *job, fw_import_matrix *m, const furrow_matrix *matrix,
                              const fw_import_saved *saved, furrow_error *err) FURROW_MUST_USE;

/* What the elements of a matrix take. */
typedef struct fw_import_extent {
  int64_t first_col, last_col;
  size_t row_count;
  const int32_t *rows; /* ascending */
  int32_t last_row;    /* of rows that are not saved; 0 where all are */
  uint64_t elements;
} fw_import_extent;

/* Fills in what the spec leaves open, and plans. */
furrow_status fw_import_plan(fw_import_matrix *m, const fw_import_extent *extent, furrow_matrix_meta **plan,
                             furrow_error *err) FURROW_MUST_USE;
typedef furrow_status (*fw_import_fill)(void *user, furrow_matrix_writer *writer, furrow_error *err);
/* Writes the folder with what `fill` puts, which are so many elements. */
furrow_status fw_import_folder(fw_import *job, const fw_import_matrix *m, const furrow_matrix_meta *plan,
                               uint64_t elements, fw_import_fill fill, void *user, furrow_error *err) FURROW_MUST_USE;

/* An array that is too large for memory, straight to the folder: possible where vectors lie as the format stores them,
 * ids ascend and partitions are ranges. FURROW_END: it is not, and nothing was done. (model/exchange/import_stream.c)
 */
furrow_status fw_import_stream(fw_import *job, fw_import_matrix *m, fw_array_reader *reader, const fw_import_ids *ids,
                               furrow_error *err) FURROW_MUST_USE;

/* ---- Compressed sparse rows ----------------------------------------------------------------------------- */

/* Arrays of compressed sparse rows, as read; begins has vectors + 1 entries. */
typedef struct fw_csr_arrays {
  size_t vectors, count;
  int64_t *begins, *indices;
  void *data;
} fw_csr_arrays;

/* Reads the three and checks them: begins ascend from 0 to the count, indices are less than `dimension` (unless that is
 * -1) and not negative (unless it is -1). file: for errors. */
furrow_status fw_csr_read(fw_csr_arrays *csr, fw_array_reader *begins, fw_array_reader *indices, fw_array_reader *data,
                          furrow_element_type type, int64_t dimension, furrow_error *err) FURROW_MUST_USE;
/* Writes the matrix that they are. */
furrow_status fw_csr_import(fw_import *job, fw_import_matrix *m, const fw_csr_arrays *csr, const fw_import_ids *ids,
                            furrow_error *err) FURROW_MUST_USE;
void fw_csr_clear(fw_csr_arrays *csr);

#endif
