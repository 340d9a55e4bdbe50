/* tests/support/made_matrix.h: matrix folders that a test makes, and changes to what is in them. */
#ifndef MADE_MATRIX_H
#define MADE_MATRIX_H

#include "support/cmocka_all.h"

#include "furrow/model.h"
#include "support/test_env.h"

/* What a folder is made of; zeros mean the defaults of furrow_matrix_spec. */
typedef struct made {
  const char *format;
  int32_t row_type; /* 0 is T_DOUBLE_DENSE */
  int32_t rows;
  int64_t cols, block_cols;
  int32_t block_rows, hash_parts, parts_per_file;
  double (*value)(int32_t row, int64_t col); /* NULL: made_value */
  bool (*present)(int32_t row, int64_t col); /* NULL: all; dense types need all */
} made;

/* Halves between -50 and 50, 0 among them. */
static inline double made_value(int32_t row, int64_t col) {
  return (double)((row * 7919 + (int32_t)(col % 10007) * 104729) % 201 - 100) / 2;
}

static inline bool made_present(const made *m, int32_t row, int64_t col) {
  return !m->present || m->present(row, col);
}

/* Row `row` as a panel of doubles; free col_ids and values. */
static inline furrow_panel made_row(const made *m, const int32_t *row) {
  int64_t *cols = calloc((size_t)m->cols + 1, sizeof *cols);
  double *values = calloc((size_t)m->cols + 1, sizeof *values);
  size_t n = 0;
  assert_non_null(cols);
  assert_non_null(values);
  for (int64_t c = 0; c < m->cols; c++) {
    if (!made_present(m, *row, c)) continue;
    cols[n] = c;
    values[n++] = m->value ? m->value(*row, c) : made_value(*row, c);
  }
  return (furrow_panel){
      .rows = 1, .row_ids = row, .cols = n, .col_ids = cols, .type = FURROW_ELEMENT_F64, .values = {.f64 = values}};
}

static inline void made_check(furrow_status status, const furrow_error *err) {
  if (status != FURROW_OK) fail_msg("%s: %s: %s", furrow_status_name(status), err->file, err->message);
}

static inline void made_save(const char *folder, const made *m) {
  int32_t *ids = calloc((size_t)m->rows, sizeof *ids);
  furrow_panel *panels = calloc((size_t)m->rows, sizeof *panels);
  furrow_error err = {.status = FURROW_OK};
  assert_non_null(ids);
  assert_non_null(panels);
  for (int32_t r = 0; r < m->rows; r++) {
    ids[r] = r;
    panels[r] = made_row(m, &ids[r]);
  }
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.name = "made";
  if (m->format) spec.format = m->format;
  spec.row_type = m->row_type;
  spec.rows = m->rows;
  spec.cols = m->cols;
  spec.block_rows = m->block_rows;
  spec.block_cols = m->block_cols;
  spec.hash_parts = m->hash_parts;
  if (m->parts_per_file) spec.parts_per_file = m->parts_per_file;
  furrow_matrix *matrix = NULL;
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_write_params params;
  furrow_matrix_write_params_init(&params);
  params.angel_bytes = m->format && strncmp(m->format, "Value", 5) == 0; /* sparse rows are refused otherwise */
  made_check(furrow_matrix_create(&matrix, panels, (size_t)m->rows, &err), &err);
  made_check(furrow_matrix_plan(&plan, &spec, &err), &err);
  made_check(furrow_matrix_save(matrix, folder, plan, &params, &err), &err);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
  for (int32_t r = 0; r < m->rows; r++) {
    free((void *)panels[r].col_ids);
    free((void *)panels[r].values.f64);
  }
  free(panels);
  free(ids);
}

/* A file of a folder, with a 0 behind it; free it. */
static inline char *made_read(const char *folder, const char *name, size_t *size) {
  char path[TEST_PATH];
  FILE *file = fopen(test_path(path, folder, name), "rb");
  assert_non_null(file);
  char *bytes = calloc(1, 1 << 20);
  assert_non_null(bytes);
  *size = fread(bytes, 1, (1 << 20) - 1, file);
  fclose(file);
  return bytes;
}

static inline void made_write(const char *folder, const char *name, const void *bytes, size_t size) {
  char path[TEST_PATH];
  assert_true(test_write_file(test_path(path, folder, name), bytes, size));
}

/* A _meta of this JSON. */
static inline void made_write_meta(const char *folder, const char *json) {
  const size_t n = strlen(json);
  char *bytes = calloc(1, n + 4);
  assert_non_null(bytes);
  for (int i = 0; i < 4; i++) bytes[i] = (char)(n >> (24 - 8 * i));
  memcpy(bytes + 4, json, n);
  made_write(folder, "_meta", bytes, n + 4);
  free(bytes);
}

/* Replaces the k-th (from 0) place of `from` in the metadata by `to`. */
static inline void made_edit_meta(const char *folder, const char *from, const char *to, int k) {
  size_t size;
  char *bytes = made_read(folder, "_meta", &size), *at = bytes + 4;
  for (at = strstr(at, from); at && k > 0; k--) at = strstr(at + 1, from);
  if (!at) fail_msg("no %s in the metadata: %s", from, bytes + 4);
  char *json = calloc(1, size + strlen(to) + 1);
  assert_non_null(json);
  memcpy(json, bytes + 4, (size_t)(at - bytes - 4));
  strcat(json, to);
  strcat(json, at + strlen(from));
  made_write_meta(folder, json);
  free(json);
  free(bytes);
}

#endif
