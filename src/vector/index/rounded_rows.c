/* vector/index/rounded_rows.c: vectors rounded to 7 bits per number. */
#include "vector/index/rounded_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/scan/scan.h"
#include "vector/data/parallel.h"

enum {
  ALIGNMENT = 64,
  MIDDLE = 64,
  MOST = 63,
  SAMPLE = 4096,
  NEAR_SAMPLE = 1024,
  NEAR_QUERIES = 64,
  ROUND_PART = 1024
};

#define WIDEST_DEVIATIONS 6 /* numbers farther from the mean are cut off */
#define FINEST_STEP                                                                                   \
  0.1 /* largest step, as a share of the distance between nearest neighbours: the noise is then below \
         a tenth of a squared distance */

const float *fw_row_vector(const furrow_index *storage, size_t i, float *scratch) {
  const size_t d = (size_t)storage->d;
  if (storage->kind == FURROW_INDEX_FLAT) return storage->flat.vectors + i * d;
  if (storage->kind == FURROW_INDEX_SQ)
    fw_sq_decode(&storage->sq.sq, storage->sq.codes + i * storage->sq.sq.code_size, scratch);
  else
    fw_pq_decode(&storage->pq.pq, storage->pq.codes + i * fw_pq_code_size(&storage->pq.pq), scratch);
  return scratch;
}

/* ---- The range of the numbers --------------------------------------------------------------------------- */

/* Finite vectors at equal distances from each other in the index. */
typedef struct vector_sample {
  float *vectors;
  size_t count, d;
} vector_sample;

static void take_sample(vector_sample *sample, const furrow_index *storage) {
  const size_t n = (size_t)storage->ntotal, d = sample->d;
  for (size_t i = 0; i < SAMPLE; i++) {
    float *to = sample->vectors + sample->count * d;
    const float *row = fw_row_vector(storage, (size_t)((uint64_t)i * n / SAMPLE), to);
    if (row != to) memcpy(to, row, d * sizeof *to);
    if (furrow_first_invalid_vector(to, 1, d) == 1) sample->count++;
  }
}

/* Sets the centre (L2) and the step. */
static void measure_range(fw_rounded *r, const vector_sample *sample, bool similarity) {
  double widest = 0, farthest = 0;
  for (size_t k = 0; k < r->d; k++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < sample->count; i++) sum += sample->vectors[i * r->d + k];
    r->centre[k] = similarity ? 0 : (float)(sum / (double)sample->count);
    for (size_t i = 0; i < sample->count; i++) {
      const double x = (double)sample->vectors[i * r->d + k] - r->centre[k];
      squares += x * x;
      farthest = fmax(farthest, fabs(x));
    }
    widest = fmax(widest, sqrt(squares / (double)sample->count));
  }
  r->step = (float)(fmin(farthest, WIDEST_DEVIATIONS * widest) / MOST);
}

/* The squared distance from vector i to the nearest other one among those that are `stride` apart. */
static double nearest_other(const vector_sample *sample, size_t i, size_t stride) {
  double nearest = INFINITY;
  for (size_t j = 0; j < sample->count; j += stride) {
    double sum = 0;
    for (size_t k = 0; k < sample->d; k++) {
      const double apart = (double)sample->vectors[i * sample->d + k] - sample->vectors[j * sample->d + k];
      sum += apart * apart;
    }
    if (sum > 0 && sum < nearest) nearest = sum;
  }
  return nearest;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median distance to the nearest of every stride-th vector. */
static double near_distance(const vector_sample *sample, size_t stride) {
  double nearest[NEAR_QUERIES];
  for (size_t i = 0; i < NEAR_QUERIES; i++)
    nearest[i] = nearest_other(sample, i * sample->count / NEAR_QUERIES, stride);
  qsort(nearest, NEAR_QUERIES, sizeof *nearest, compare_doubles);
  return sqrt(nearest[NEAR_QUERIES / 2]);
}

/* The distance to the nearest of n vectors shrinks by the same factor whenever n grows by the same factor, which
 * depends on the intrinsic dimension. */
static bool is_fine_enough(const fw_rounded *r, const vector_sample *sample) {
  const size_t stride = SAMPLE / NEAR_SAMPLE;
  const double near = near_distance(sample, stride), far = near_distance(sample, 4 * stride);
  const double quarters = log((double)r->n / NEAR_SAMPLE) / log(4);
  return r->step > 0 && isfinite(far) && r->step <= FINEST_STEP * near * pow(near / far, quarters);
}

/* ---- Rounding ------------------------------------------------------------------------------------------- */

/* Returns the sum of the squares. *cut: the number of numbers outside of the range. NaN becomes the middle. */
static int32_t round_vector(const fw_rounded *r, const float *vector, float step, uint8_t *x, size_t *cut) {
  int32_t square = 0;
  *cut = 0;
  for (size_t k = 0; k < r->d; k++) {
    const float steps = (vector[k] - r->centre[k]) / step;
    const bool inside = steps >= -MOST - 0.5F && steps <= MOST + 0.5F;
    const int32_t number = inside      ? (int32_t)(steps + MOST + 1.5F) - MOST - 1
                           : steps > 0 ? MOST
                           : steps < 0 ? -MOST
                                       : 0;
    *cut += !inside;
    square += number * number;
    x[k] = (uint8_t)(number + MIDDLE);
  }
  memset(x + r->d, 0, r->stride - r->d);
  return square;
}

typedef struct rounding {
  fw_rounded *rounded;
  const furrow_index *storage;
} rounding;

static furrow_status round_part(void *context, size_t first, size_t count, furrow_error *err) {
  const rounding *job = context;
  const fw_rounded *r = job->rounded;
  float *scratch = NULL;
  size_t cut;
  FW_TRY(FW_ALLOC(&scratch, r->d, err));
  for (size_t i = first; i < first + count; i++) {
    const int32_t square =
        round_vector(r, fw_row_vector(job->storage, i, scratch), r->step, r->rows + i * r->stride, &cut);
    if (r->squares) r->squares[i] = (float)square;
  }
  fw_free(scratch);
  return FURROW_OK;
}

static furrow_status allocate_rows(fw_rounded *r, bool similarity, furrow_error *err) {
  size_t bytes;
  if (!fw_size_mul(r->n, r->stride, &bytes) || !fw_size_add(bytes, ALIGNMENT, &bytes))
    return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_alloc(&r->memory, bytes, 1, err));
  if (similarity) FW_TRY(FW_ALLOC(&r->squares, r->n, err));
  fw_prefer_large_pages(r->memory, bytes);
  r->rows = (uint8_t *)(((uintptr_t)r->memory + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  return FURROW_OK;
}

furrow_status fw_rounded_create(fw_rounded *rounded, const furrow_index *storage, fw_pool *pool, furrow_error *err) {
  const size_t d = (size_t)storage->d;
  const bool similarity = storage->metric == FURROW_METRIC_IP;
  fw_rounded r = {.n = (size_t)storage->ntotal, .d = d, .stride = (d + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
  vector_sample sample = {.d = d};
  if (r.n < FW_ROUNDED_LEAST || d > FW_ROUNDED_MAX_D) return FURROW_OK;
  furrow_status status = FW_ALLOC(&r.centre, d, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&sample.vectors, SAMPLE + 1, d, err);
  if (status != FURROW_OK) goto done;
  take_sample(&sample, storage);
  if (sample.count < NEAR_SAMPLE) goto done;
  measure_range(&r, &sample, similarity);
  if (!is_fine_enough(&r, &sample)) goto done;
  status = allocate_rows(&r, similarity, err);
  if (status == FURROW_OK) status = fw_parallel_run(pool, r.n, ROUND_PART, round_part, &(rounding){&r, storage}, err);
done:
  fw_free(sample.vectors);
  if (status == FURROW_OK && r.rows)
    *rounded = r;
  else
    fw_rounded_clear(&r);
  return status;
}

void fw_rounded_clear(fw_rounded *rounded) {
  fw_free(rounded->memory);
  fw_free(rounded->squares);
  fw_free(rounded->centre);
  *rounded = (fw_rounded){0};
}

/* ---- Keys ----------------------------------------------------------------------------------------------- */

/* The order of inner products does not depend on the length of the query, so that it gets a step of its own. */
bool fw_rounded_query(const fw_rounded *rounded, const float *query, uint8_t *x, float *square) {
  size_t cut;
  float step = rounded->step, most = 0;
  if (rounded->squares) {
    for (size_t k = 0; k < rounded->d; k++) most = fmaxf(most, fabsf(query[k]));
    step = most > 0 ? most / MOST : 1;
  }
  *square = (float)round_vector(rounded, query, step, x, &cut);
  return cut == 0;
}

void fw_rounded_keys(const fw_rounded *rounded, const uint8_t *x, float square, const int32_t *ids, size_t n,
                     float *keys) {
  fw_scan_table()->l2_bytes(x, rounded->rows, rounded->stride, ids, n, keys);
  if (!rounded->squares) return;
  /* -2 <x, y> = |x - y|^2 - |x|^2 - |y|^2 */
  for (size_t i = 0; i < n; i++) keys[i] -= square + rounded->squares[ids[i]];
}
