/* tests/support/matrix_sample.h: random matrices, stored in any format and layout, with the cells that they have. */
#ifndef MATRIX_SAMPLE_H
#define MATRIX_SAMPLE_H

#include "base/rng.h"
#include "support/matrix_folder.h"

typedef struct matrix_sample {
  const char *format;
  int row_type;
  int rows;             /* saved ones are 0, step, 2 * step … */
  int row_step, blocks; /* blocks of rows, each with partitions of its own */
  int parts;            /* of each block */
  int width;            /* columns of a partition */
  bool hash;
  bool shuffled; /* columns of a row (column formats: of a partition) in any order, some twice */
  const char *separator;
  uint64_t seed;
} matrix_sample;

typedef struct sample_bytes {
  char *bytes;
  size_t size, capacity;
} sample_bytes;

static inline uint64_t sample_value(fw_rng *rng, furrow_element_type type) {
  const int64_t n = (int64_t)fw_rng_below(rng, 2000001) - 1000000;
  union {
    double f64;
    float f32;
    int64_t i64;
    int32_t i32;
    uint64_t bits;
  } value = {.bits = 0};
  switch (type) {
  case FURROW_ELEMENT_F64: value.f64 = (double)n / 64; break;
  case FURROW_ELEMENT_F32: value.f32 = (float)n / 64; break;
  case FURROW_ELEMENT_I64: value.i64 = n * 1000003; break;
  default: value.i32 = (int32_t)n; break;
  }
  return value.bits;
}

/* Columns of a partition: all of a dense one, some of a sparse one. */
static inline size_t sample_cols(const matrix_sample *s, fw_rng *rng, bool dense, int part, int64_t *cols) {
  const int64_t first = s->hash ? part : (int64_t)part * s->width, step = s->hash ? s->parts : 1;
  size_t n = 0;
  for (int64_t i = 0; i < s->width; i++)
    if (dense || fw_rng_below(rng, 3)) cols[n++] = first + i * step;
  if (!s->shuffled || n < 2) return n;
  fw_rng_shuffle(rng, cols, n, sizeof *cols);
  if (fw_rng_below(rng, 2)) cols[n / 2] = cols[n - 1];
  return n;
}

/* Adds the records of a panel of the columns to the bytes, and its cells to the table. */
static inline void sample_encode(const matrix_sample *s, fw_rng *rng, furrow_matrix_format_context *context,
                                 const furrow_matrix_format *format, const int32_t *row_ids, size_t rows,
                                 const int64_t *cols, size_t n, sample_bytes *out, cell_table *cells) {
  const size_t size = furrow_element_size(context->type);
  size_t least, most, written = 0;
  char *values = calloc(n * rows + 1, size);
  assert_non_null(values);
  const bool counted = !(format->flags & FURROW_MATRIX_FORMAT_COL_IDS);
  for (size_t c = 0; c < n; c++)
    for (size_t r = 0; r < rows; r++) {
      const uint64_t bits = sample_value(rng, context->type);
      memcpy(values + (c * rows + r) * size, &bits, size);
      table_add(cells, row_ids[r], counted ? context->first_col + (int64_t)c : cols[c],
                table_bits(context->type, &bits));
    }
  const furrow_panel panel = {
      .rows = rows, .row_ids = row_ids, .cols = n, .col_ids = cols, .type = context->type, .values = {.any = values}};
  format->record_size(context, &least, &most);
  if (out->capacity < out->size + n * most + 1) {
    out->capacity = 2 * (out->size + n * most + 1);
    out->bytes = realloc(out->bytes, out->capacity);
    assert_non_null(out->bytes);
  }
  assert_int_equal(format->encode(context, &panel, 0, n, out->bytes + out->size, &written, NULL), FURROW_OK);
  out->size += written;
  free(values);
  (void)s;
}

/* Writes one partition: its bytes to a file of its own, its metadata to the folder. */
static inline void sample_part(const matrix_sample *s, fw_rng *rng, matrix_folder *f, int id, const int32_t *row_ids,
                               size_t rows, const furrow_matrix_format *format, cell_table *cells) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(s->row_type);
  const bool by_column = format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  const int part = id % s->parts;
  uint64_t state[4] = {0};
  int64_t *cols = malloc((size_t)s->width * sizeof *cols + 8);
  int *counts = calloc(rows + 1, sizeof *counts);
  sample_bytes out = {0};
  char name[16];
  assert_true(cols && counts);
  snprintf(name, sizeof name, "%d", id);
  furrow_matrix_format_context context = {.type = type->element,
                                          .key_bits = type->key_bits,
                                          .separator = s->separator ? s->separator : ",",
                                          .separator_length = strlen(s->separator ? s->separator : ","),
                                          .record_values = by_column ? rows : 1,
                                          .dense = type->dense,
                                          .first_col = s->hash ? 0 : (int64_t)part * s->width,
                                          .end_col = s->hash ? 0 : (int64_t)(part + 1) * s->width,
                                          .state = state};
  for (size_t r = 0; r < (by_column ? 1 : rows); r++) {
    const size_t n = sample_cols(s, rng, type->dense, part, cols);
    context.row_id = row_ids[r];
    sample_encode(s, rng, &context, format, row_ids + r, by_column ? rows : 1, cols, n, &out, cells);
    for (size_t k = r; k < (by_column ? rows : r + 1); k++) counts[k] = (int)n;
  }
  folder_add_part(f, &(folder_part){.id = id,
                                    .end_row = 1 << 20,
                                    .start_col = context.first_col,
                                    .end_col = context.end_col,
                                    .save_col_num = by_column ? counts[0] : 0,
                                    .save_col_elem_num = by_column ? (int)rows : 0,
                                    .file = name,
                                    .length = (long long)out.size});
  for (size_t r = 0; r < rows; r++) folder_add_row(f, row_ids[r], counts[r], 0);
  folder_write(f, name, out.bytes ? out.bytes : "", out.size);
  free(out.bytes);
  free(counts);
  free(cols);
}

/* Makes the folder; `cells` gets what it has, in the order of the files, not sorted. */
static inline void sample_write(const matrix_sample *s, const char *name, cell_table *cells) {
  const furrow_matrix_format *format = NULL;
  matrix_folder f;
  fw_rng rng;
  assert_int_equal(furrow_matrix_format_find(s->format, &format, NULL), FURROW_OK);
  fw_rng_init(&rng, s->seed);
  folder_begin(&f, name, format->name, s->row_type, 1 << 20, (long long)s->width * s->parts);
  const int blocks = s->blocks ? s->blocks : 1, each = s->rows / blocks;
  int32_t *row_ids = malloc((size_t)each * sizeof *row_ids + 4);
  assert_non_null(row_ids);
  for (int b = 0; b < blocks; b++) {
    for (int r = 0; r < each; r++) row_ids[r] = (b * each + r) * (s->row_step ? s->row_step : 1);
    for (int p = 0; p < s->parts; p++) sample_part(s, &rng, &f, b * s->parts + p, row_ids, (size_t)each, format, cells);
  }
  free(row_ids);
  folder_end(&f);
}

#endif
