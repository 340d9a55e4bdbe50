/* tests/support/sample_matrix.h: made-up matrices of any row type, saved as folders. */
#ifndef SAMPLE_MATRIX_H
#define SAMPLE_MATRIX_H

#include "base/rng.h"
#include "furrow/model.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

static const char *const sample_formats[] = {
    "ValueBinaryRowFormat", "ColIdValueBinaryRowFormat", "RowIdColIdValueBinaryRowFormat", "BinaryColumnFormat",
    "ValueTextRowFormat",   "ColIdValueTextRowFormat",   "RowIdColIdValueTextRowFormat",   "TextColumnFormat"};
enum { SAMPLE_FORMATS = sizeof sample_formats / sizeof sample_formats[0] };

static inline void sample_check(furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK) return;
  char text[1024];
  furrow_error_to_text(err, text, sizeof text);
  fail_msg("%s", text);
}

static inline void sample_convert(const char *from, const char *to, const furrow_model_convert_params *params,
                                  furrow_model_convert_result *result) {
  furrow_error err = {0};
  sample_check(furrow_model_convert(from, to, params, result, &err), &err);
}

typedef struct sample_matrix {
  int32_t rows;
  int64_t cols;
  furrow_element_type type;
  bool dense;
  bool aligned; /* sparse rows have the same columns */
  uint64_t seed;
} sample_matrix;

/* Small whole numbers, so that they fit every type. */
static inline void sample_put(void *values, furrow_element_type type, size_t i, int64_t x) {
  if (type == FURROW_ELEMENT_F64) ((double *)values)[i] = (double)x;
  if (type == FURROW_ELEMENT_F32) ((float *)values)[i] = (float)x;
  if (type == FURROW_ELEMENT_I64) ((int64_t *)values)[i] = x;
  if (type == FURROW_ELEMENT_I32) ((int32_t *)values)[i] = (int32_t)x;
}

static inline bool sample_has(const sample_matrix *s, int32_t row, int64_t col) {
  return s->dense || fw_rng_hash(s->seed, (uint64_t)col * 64 + (s->aligned ? 0 : (uint64_t)row)) % 3 == 0;
}

static inline int64_t sample_value(const sample_matrix *s, int32_t row, int64_t col) {
  return (int64_t)(fw_rng_hash(s->seed + 1, (uint64_t)col * 64 + (uint64_t)row) % 20001) - 10000;
}

static inline furrow_matrix *sample_make_matrix(const sample_matrix *s) {
  furrow_panel *panels = calloc((size_t)s->rows, sizeof *panels);
  int32_t *ids = calloc((size_t)s->rows, sizeof *ids);
  assert_true(panels && ids);
  for (int32_t r = 0; r < s->rows; r++) {
    int64_t *cols = malloc((size_t)s->cols * sizeof *cols);
    void *values = malloc((size_t)s->cols * 8);
    size_t n = 0;
    assert_true(cols && values);
    ids[r] = r;
    for (int64_t c = 0; c < s->cols; c++) {
      if (!sample_has(s, r, c)) continue;
      cols[n] = c;
      sample_put(values, s->type, n++, sample_value(s, r, c));
    }
    panels[r] = (furrow_panel){
        .rows = 1, .row_ids = &ids[r], .cols = n, .col_ids = cols, .type = s->type, .values.any = values};
  }
  furrow_matrix *matrix = NULL;
  furrow_error err;
  sample_check(furrow_matrix_create(&matrix, panels, (size_t)s->rows, &err), &err);
  for (int32_t r = 0; r < s->rows; r++) {
    free((void *)(uintptr_t)panels[r].col_ids);
    free((void *)(uintptr_t)panels[r].values.any);
  }
  free(panels);
  free(ids);
  return matrix;
}

/* A plan for it; change the spec first. */
static inline void sample_spec(furrow_matrix_spec *spec, const sample_matrix *s, const char *format, int32_t row_type) {
  furrow_matrix_spec_init(spec);
  spec->name = "sample";
  spec->format = format;
  spec->row_type = row_type;
  spec->rows = s->rows;
  spec->cols = s->cols;
}

static inline void sample_save(const sample_matrix *s, const furrow_matrix_spec *spec, const char *folder,
                               bool angel_bytes) {
  furrow_matrix_meta *plan = NULL;
  furrow_matrix_write_params params;
  furrow_error err;
  furrow_matrix *matrix = sample_make_matrix(s);
  sample_check(furrow_matrix_plan(&plan, spec, &err), &err);
  furrow_matrix_write_params_init(&params);
  params.angel_bytes = angel_bytes;
  params.threads = 1;
  sample_check(furrow_matrix_save(matrix, folder, plan, &params, &err), &err);
  furrow_matrix_meta_free(plan);
  furrow_matrix_free(matrix);
}

/* Row type of an element type and a kind (0 dense, 3 sparse, 5 sparse with long keys). */
static inline int32_t sample_row_type(furrow_element_type type, int kind) {
  return (int32_t)type * 7 + kind;
}

/* Fails unless the folder holds these elements, and no others that are not 0 (`filled`: others may be 0). */
static inline void sample_expect(const sample_matrix *s, const char *folder, bool filled) {
  furrow_matrix *matrix = NULL;
  furrow_error err;
  uint64_t count = 0;
  sample_check(furrow_matrix_load(&matrix, folder, NULL, &err), &err);
  for (int32_t r = 0; r < s->rows; r++)
    for (int64_t c = 0; c < s->cols; c++) {
      int64_t element;
      const bool there = furrow_matrix_element(matrix, r, c, &element), wanted = sample_has(s, r, c);
      if (there != wanted && !(filled && there)) fail_msg("%s: row %d, column %d", folder, (int)r, (int)c);
      const double value = wanted ? (double)sample_value(s, r, c) : 0;
      if (furrow_matrix_get(matrix, r, c) != value) fail_msg("%s: value of row %d, column %d", folder, (int)r, (int)c);
      count += there;
    }
  assert_int_equal(furrow_matrix_count(matrix), count);
  furrow_matrix_free(matrix);
}

#endif
