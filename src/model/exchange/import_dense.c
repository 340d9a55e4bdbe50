/* model/exchange/import_dense.c: imports npy, fvecs and fbin: arrays whose rows are vectors. */
#include <stdlib.h>
#include <string.h>

#include "array/array.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/import.h"
#include "model/read/matrix.h"

#define PIECE_BYTES ((size_t)4 << 20)

/* The transfer of an array into a matrix. */
typedef struct transfer {
  const fw_import *job;
  fw_import_matrix *m;
  fw_array_reader *reader;
  const fw_import_ids *ids;
  size_t vectors, dim;
  fw_matrix_build build;
  size_t *groups; /* row vectors: the group of each vector; NULL: vector i fills group i */
} transfer;

static furrow_status fail_array(const transfer *t, furrow_error *err, furrow_status status, const char *what) {
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, fw_array_path(t->reader));
  return status;
}

/* ---- Groups ---------------------------------------------------------------------------------------------- */

/* Column vectors: one group with all rows. */
static furrow_status groups_by_columns(transfer *t, furrow_error *err) {
  const furrow_matrix_spec *spec = &t->m->spec;
  int32_t *rows = NULL;
  furrow_status status = fw_matrix_build_groups(&t->build, 1, 1, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&t->build.matrix->arena, &rows, t->dim, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < t->dim; i++) rows[i] = spec->saved_rows ? spec->saved_rows[i] : (int32_t)i;
  t->build.groups[0].rows = t->dim;
  t->build.groups[0].row_ids = rows;
  t->build.slots[0].capacity = t->vectors;
  return FURROW_OK;
}

typedef struct row_position {
  int32_t row;
  size_t vector;
} row_position;

static int by_row(const void *a, const void *b) {
  const row_position *x = a, *y = b;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Groups are sorted by row id, the vectors of the file need not be. */
static furrow_status order_groups(transfer *t, row_position *positions, furrow_error *err) {
  bool ascends = true;
  for (size_t i = 0; i < t->vectors; i++) {
    positions[i] = (row_position){(int32_t)fw_import_id(t->ids, i), i};
    ascends = ascends && (i == 0 || positions[i - 1].row < positions[i].row);
  }
  if (ascends) return FURROW_OK;
  qsort(positions, t->vectors, sizeof *positions, by_row);
  FW_TRY(FW_ALLOC(&t->groups, t->vectors, err));
  for (size_t i = 0; i < t->vectors; i++) t->groups[positions[i].vector] = i;
  return FURROW_OK;
}

static furrow_status groups_by_rows(transfer *t, furrow_error *err) {
  int32_t *rows = NULL;
  row_position *positions;
  furrow_status status = FW_ALLOC(&positions, t->vectors, err);
  if (status != FURROW_OK) return status;
  status = order_groups(t, positions, err);
  if (status == FURROW_OK) status = fw_matrix_build_groups(&t->build, t->vectors, t->vectors, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&t->build.matrix->arena, &rows, t->vectors, err);
  for (size_t i = 0; status == FURROW_OK && i < t->vectors; i++) {
    rows[i] = positions[i].row;
    t->build.groups[i].rows = 1;
    t->build.groups[i].row_ids = rows + i;
    t->build.slots[i].group = i;
    t->build.slots[i].capacity = t->dim;
  }
  fw_free(positions);
  return status;
}

/* ---- Elements ------------------------------------------------------------------------------------------- */

static furrow_status put_vectors(transfer *t, size_t first, size_t count, const char *values, furrow_error *err) {
  const size_t size = t->dim * furrow_element_size(t->m->type);
  if (t->m->axis == FURROW_AXIS_COLUMNS) {
    const int64_t *ids = t->ids->ids ? t->ids->ids + first : NULL;
    const int64_t start = t->m->spec.first_col + (int64_t)first;
    return fw_matrix_build_put(&t->build, &t->build.slots[0], ids, start, count, values, err);
  }
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    fw_slot *slot = &t->build.slots[t->groups ? t->groups[first + i] : first + i];
    status = fw_matrix_build_put(&t->build, slot, NULL, t->m->spec.first_col, t->dim, values + i * size, err);
  }
  return status;
}

static furrow_status tell_progress(const transfer *t, size_t done, furrow_error *err) {
  const uint64_t row = t->dim * fw_array_type_size(fw_array_get_info(t->reader)->type);
  return fw_import_report(t->job, done * row, t->vectors * row, err);
}

static furrow_status put_all(transfer *t, furrow_error *err) {
  const size_t size = t->dim * furrow_element_size(t->m->type);
  const size_t most = size ? (PIECE_BYTES / size ? PIECE_BYTES / size : 1) : 1;
  const size_t piece = t->vectors < most ? t->vectors : most;
  void *values;
  furrow_status status = fw_alloc(&values, piece, size, err);
  if (status != FURROW_OK) return status;
  for (size_t done = 0, got = 0; done < t->vectors && status == FURROW_OK; done += got) {
    const size_t want = t->vectors - done < piece ? t->vectors - done : piece;
    status = fw_array_read_as(t->reader, (fw_array_type)t->m->type, values, want, &got, err);
    if (status == FURROW_OK && got == 0) status = fail_array(t, err, FURROW_E_FORMAT, "ends before its last vector");
    if (status == FURROW_OK) status = put_vectors(t, done, got, values, err);
    if (status == FURROW_OK) status = tell_progress(t, done + got, err);
  }
  fw_free(values);
  return status;
}

static furrow_status make_matrix(transfer *t, furrow_matrix **matrix, furrow_error *err) {
  furrow_status status = fw_matrix_build_init(&t->build, t->m->type, t->job->memory, err);
  if (status == FURROW_OK)
    status = t->m->axis == FURROW_AXIS_COLUMNS ? groups_by_columns(t, err) : groups_by_rows(t, err);
  if (status == FURROW_OK) status = fw_matrix_build_allocate(&t->build, err);
  if (status == FURROW_OK) status = put_all(t, err);
  if (status == FURROW_OK) status = fw_matrix_build_finish(&t->build, matrix, err);
  fw_matrix_build_clear(&t->build);
  fw_free(t->groups);
  return status;
}

/* Whether all elements fit in the allowed memory, with two words per vector. */
static bool fits_memory(const transfer *t) {
  size_t all, words;
  return fw_size_mul(t->vectors, t->dim, &all) && fw_size_mul(all, furrow_element_size(t->m->type), &all) &&
         fw_size_mul(t->vectors, 2 * sizeof(int64_t), &words) && fw_size_add(all, words, &all) && all <= t->job->memory;
}

static furrow_status by_memory(fw_import *job, transfer *t, furrow_error *err) {
  furrow_matrix *matrix = NULL;
  furrow_status status = make_matrix(t, &matrix, err);
  if (status == FURROW_OK) status = fw_import_write(job, t->m, matrix, NULL, err);
  furrow_matrix_free(matrix);
  return status;
}

/* Checked before anything is allocated: the counts in a stream's header are not verified yet. */
static furrow_status fail_memory(const transfer *t, furrow_error *err) {
  return fw_fail(err, FURROW_E_MEMORY,
                 "%zu vectors of %zu elements are more than the %zu bytes that are allowed, and this format needs them "
                 "all at once",
                 t->vectors, t->dim, t->job->memory);
}

static furrow_status check_dimension(const transfer *t, furrow_error *err) {
  const furrow_matrix_spec *spec = &t->m->spec;
  const bool by_columns = t->m->axis == FURROW_AXIS_COLUMNS;
  const uint64_t rows = by_columns ? t->dim : t->vectors;
  if (rows >= INT32_MAX) return fail_array(t, err, FURROW_E_RANGE, "more rows than a matrix can have");
  if (!by_columns || !spec->saved_rows) return FURROW_OK;
  if (spec->saved_row_count != t->dim)
    return fail_array(t, err, FURROW_E_ARGUMENT, "spec.saved_rows must have as many rows as a vector has elements");
  for (size_t i = 1; i < t->dim; i++) {
    if (spec->saved_rows[i] <= spec->saved_rows[i - 1])
      return fail_array(t, err, FURROW_E_ARGUMENT, "spec.saved_rows does not ascend");
  }
  return FURROW_OK;
}

furrow_status fw_import_array(fw_import *job, fw_import_matrix *m, fw_array_reader *reader, fw_import_ids *ids,
                              furrow_error *err) {
  const fw_array_info *info = fw_array_get_info(reader);
  transfer t = {.job = job, .m = m, .reader = reader, .ids = ids, .vectors = (size_t)info->rows, .dim = info->dim};
  m->dense = true;
  furrow_status status = fw_import_check_ids(ids, m->axis, fw_array_path(reader), NULL, err);
  if (status != FURROW_OK) return status;
  if (info->rows == FW_ARRAY_UNKNOWN)
    return fail_array(&t, err, FURROW_E_ARGUMENT, "the stream does not say how many vectors it has");
  if (info->rows == 0) return fail_array(&t, err, FURROW_E_FORMAT, "there are no vectors");
  status = check_dimension(&t, err);
  if (status != FURROW_OK) return status;
  if (fits_memory(&t)) return by_memory(job, &t, err);
  status = fw_import_stream(job, m, reader, ids, err);
  return status == FURROW_END ? fail_memory(&t, err) : status;
}

/* A one-dimensional array is one row. */
static furrow_status import_reader(fw_import *job, fw_array_reader *reader, fw_import_ids *ids, furrow_error *err) {
  const fw_array_info *info = fw_array_get_info(reader);
  fw_import_matrix m;
  furrow_status status = fw_import_start(job, &m, info->type, NULL, err);
  if (status != FURROW_OK) return status;
  if (info->flat) m.axis = FURROW_AXIS_COLUMNS;
  status = fw_import_read_ids(job, ids, info->rows, err);
  return status == FURROW_OK ? fw_import_array(job, &m, reader, ids, err) : status;
}

furrow_status fw_import_dense(fw_import *job, furrow_error *err) {
  const fw_array_kind kind = job->format == FURROW_EXCHANGE_NPY     ? FW_ARRAY_NPY
                             : job->format == FURROW_EXCHANGE_FVECS ? FW_ARRAY_FVECS
                                                                    : FW_ARRAY_FBIN;
  fw_array_reader *reader = NULL;
  fw_import_ids ids = {NULL, 0};
  furrow_status status = fw_array_open(&reader, job->path, kind, err);
  if (status == FURROW_OK) status = import_reader(job, reader, &ids, err);
  fw_array_close(reader);
  fw_free(ids.ids);
  return status;
}
