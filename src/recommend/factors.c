/* recommend/factors.c: learns vectors of items and users by turns. */
#include "recommend/factors.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/math/solve.h"
#include "vector/data/parallel.h"

enum { PART = 32 };

#define TINY 1e-12F /* smaller numbers become 0: denormal numbers take very long */

void fw_factors_clear(fw_factors *factors) {
  fw_free(factors->vectors);
  fw_free(factors->square);
  fw_free(factors->packed);
  *factors = (fw_factors){0};
}

/* ---- One side, given the other -------------------------------------------------------------------------- */

/* Vectors of the rows of a matrix, given the vectors of its columns. */
typedef struct side {
  const fw_sparse_rows *rows;
  const float *given;     /* vectors of the columns */
  const float *square;    /* others * sum over the columns of v v' */
  size_t size;            /* numbers of a vector */
  double ridge, constant; /* the regularisation is ridge * (sum of the row's weights + constant) */
  float *vectors;         /* vectors of the rows */
} side;

/* square = factor * sum over the vectors of v v'. */
static void sum_square(const float *vectors, size_t count, size_t size, double factor, float *square) {
  uint32_t row[PART];
  float weight[PART], sum[FW_FACTORS_MOST] = {0};
  for (size_t i = 0; i < PART; i++) {
    row[i] = (uint32_t)i;
    weight[i] = (float)factor;
  }
  memset(square, 0, size * size * sizeof *square);
  for (size_t at = 0; at < count; at += PART) {
    const size_t n = count - at < PART ? count - at : PART;
    fw_solve_table()->add_squares(size, vectors + at * size, row, weight, n, square, sum);
  }
}

/* Writes the equations of a row to a and b. */
static void write_equations(const side *s, const uint32_t *column, const float *weight, size_t count, float *a,
                            float *b) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += weight[i];
  memcpy(a, s->square, s->size * s->size * sizeof *a);
  memset(b, 0, s->size * sizeof *b);
  fw_solve_table()->add_squares(s->size, s->given, column, weight, count, a, b);
  const float ridge = (float)(s->ridge * (sum + s->constant));
  for (size_t k = 0; k < s->size; k++) a[k * s->size + k] += ridge;
}

static furrow_status solve_rows(void *context, size_t first, size_t count, furrow_error *err) {
  const side *s = context;
  float *a = NULL;
  FW_TRY(FW_ALLOC_ROWS(&a, s->size, s->size, err));
  for (size_t r = first; r < first + count; r++) {
    const size_t begin = s->rows->offset[r], n = s->rows->offset[r + 1] - begin;
    float *vector = s->vectors + r * s->size;
    memset(vector, 0, s->size * sizeof *vector);
    if (n == 0) continue;
    write_equations(s, s->rows->column + begin, s->rows->value + begin, n, a, vector);
    fw_solve_table()->positive(s->size, a, vector);
    for (size_t k = 0; k < s->size; k++) vector[k] = fabsf(vector[k]) < TINY ? 0 : vector[k];
  }
  fw_free(a);
  return FURROW_OK;
}

/* ---- Learning ------------------------------------------------------------------------------------------- */

/* Small numbers that depend on nothing but their position. */
static void start_vectors(float *vectors, size_t count, size_t size) {
  const float scale = 0.2F / sqrtf((float)size);
  for (size_t i = 0; i < count * size; i++) {
    uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    vectors[i] = scale * ((float)(z >> 40) / (float)(1 << 23) - 1);
  }
}

static furrow_status learn(fw_factors *f, const fw_sparse_rows *rows, const fw_sparse_rows *columns, float *users,
                           unsigned rounds, fw_pool *pool, furrow_error *err) {
  side of_users = {.rows = rows,
                   .given = f->vectors,
                   .square = f->square,
                   .size = f->size,
                   .ridge = f->l2,
                   .constant = f->others * (double)f->items,
                   .vectors = users};
  side of_items = {.rows = columns,
                   .given = users,
                   .square = f->square,
                   .size = f->size,
                   .ridge = f->l2,
                   .constant = f->others * (double)rows->rows,
                   .vectors = f->vectors};
  start_vectors(f->vectors, f->items, f->size);
  for (unsigned round = 0; round < rounds; round++) {
    sum_square(f->vectors, f->items, f->size, f->others, f->square);
    FW_TRY(fw_parallel_run(pool, rows->rows, PART, solve_rows, &of_users, err));
    sum_square(users, rows->rows, f->size, f->others, f->square);
    FW_TRY(fw_parallel_run(pool, f->items, PART, solve_rows, &of_items, err));
  }
  return FURROW_OK;
}

/* Computes the members that are derived from the vectors. */
static furrow_status complete_factors(fw_factors *f, furrow_error *err) {
  const size_t blocks = (f->items + FW_BLOCK_VECTORS - 1) / FW_BLOCK_VECTORS;
  sum_square(f->vectors, f->items, f->size, f->others, f->square);
  FW_TRY(FW_ALLOC_ZERO(&f->packed, blocks * FW_BLOCK_VECTORS * f->size, err));
  for (size_t i = 0; i < f->items; i++)
    for (size_t k = 0; k < f->size; k++)
      f->packed[(i / FW_BLOCK_VECTORS * f->size + k) * FW_BLOCK_VECTORS + i % FW_BLOCK_VECTORS] =
          f->vectors[i * f->size + k];
  return FURROW_OK;
}

furrow_status fw_factors_fit(fw_factors *factors, const fw_sparse_rows *rows, const fw_factors_params *params,
                             fw_pool *pool, furrow_error *err) {
  fw_sparse_rows columns = {0};
  float *users = NULL;
  *factors = (fw_factors){.items = rows->columns, .size = params->size, .others = params->others, .l2 = params->l2};
  furrow_status status = fw_sparse_rows_transpose(rows, &columns, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&factors->vectors, rows->columns, params->size, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&factors->square, params->size, params->size, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&users, rows->rows, params->size, err);
  if (status == FURROW_OK) status = learn(factors, rows, &columns, users, params->rounds, pool, err);
  if (status == FURROW_OK) status = complete_factors(factors, err);
  fw_sparse_rows_clear(&columns);
  fw_free(users);
  return status;
}

furrow_status fw_factors_from(fw_factors *factors, float *vectors, size_t items, const fw_factors_params *params,
                              furrow_error *err) {
  *factors = (fw_factors){
      .items = items, .size = params->size, .others = params->others, .l2 = params->l2, .vectors = vectors};
  FW_TRY(FW_ALLOC_ROWS(&factors->square, params->size, params->size, err));
  return complete_factors(factors, err);
}

/* ---- Users ---------------------------------------------------------------------------------------------- */

void fw_factors_equations(const fw_factors *factors, const uint32_t *items, const float *weights, size_t count,
                          float *a, float *b) {
  const side s = {.given = factors->vectors,
                  .square = factors->square,
                  .size = factors->size,
                  .ridge = factors->l2,
                  .constant = factors->others * (double)factors->items};
  write_equations(&s, items, weights, count, a, b);
}

double fw_factors_product(const fw_factors *factors, const float *x, const float *y) {
  double sum = 0;
  for (size_t i = 0; i < factors->size; i++) sum += (double)x[i] * y[i];
  return sum;
}

size_t fw_factors_scores_count(const fw_factors *factors) {
  return (factors->items + FW_BLOCK_VECTORS - 1) / FW_BLOCK_VECTORS * FW_BLOCK_VECTORS;
}

void fw_factors_scores(const fw_factors *factors, const float *user, float *scores) {
  fw_solve_table()->products(factors->size, factors->packed, fw_factors_scores_count(factors) / FW_BLOCK_VECTORS, user,
                             scores);
}
