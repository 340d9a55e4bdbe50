/* tests/unit/kern/test_products.c: inner products with packed vectors, every level against sums in double. */
#include "kern/dispatch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kern/products/projection.h"
#include "kern/products/sketch.h"
#include "support/cmocka_all.h"

typedef struct problem {
  size_t n, d, nx, stride;
  bool l2;
  float *y, *x;
  fw_packed packed;
} problem;

static void fill(float *values, size_t count, uint64_t seed) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < count; i++) values[i] = (float)fw_rng_normal(&rng);
}

static void problem_make(problem *p) {
  p->stride = p->d + 3;
  p->y = malloc((p->n * p->stride + 1) * sizeof(float));
  p->x = malloc((p->nx * p->stride + 1) * sizeof(float));
  assert_non_null(p->y);
  assert_non_null(p->x);
  fill(p->y, p->n * p->stride, p->n + 7 * p->d);
  fill(p->x, p->nx * p->stride, p->nx + 11 * p->d);
  assert_int_equal(fw_packed_create(&p->packed, p->y, p->n, p->d, p->stride, p->l2, NULL), FURROW_OK);
}

static void problem_clear(problem *p) {
  fw_packed_clear(&p->packed);
  assert_null(p->packed.values);
  free(p->y);
  free(p->x);
}

static double score_of(const problem *p, size_t i, size_t j) {
  const float *x = p->x + i * p->stride;
  const float *y = p->y + j * p->stride;
  double product = 0, square = 0;
  for (size_t k = 0; k < p->d; k++) {
    product += (double)x[k] * y[k];
    square += (double)y[k] * y[k];
  }
  return product - (p->l2 ? square / 2 : 0);
}

/* What a sum of d floats may be off by. */
static double tolerance(const problem *p) {
  return FLT_EPSILON * (double)(p->d + 4) * (double)(p->d + 4);
}

static void check_scores(const problem *p, const fw_products *kern) {
  const size_t lanes = p->packed.blocks * FW_PACK_WIDTH, stride = lanes + 5;
  float *out = malloc(p->nx * stride * sizeof(float));
  assert_non_null(out);
  for (size_t i = 0; i < p->nx * stride; i++) out[i] = 77;
  kern->scores(&p->packed, p->x, p->nx, p->stride, out, stride);
  for (size_t i = 0; i < p->nx; i++) {
    for (size_t j = 0; j < p->n; j++) assert_true(fabs(out[i * stride + j] - score_of(p, i, j)) <= tolerance(p));
    for (size_t j = p->n; j < lanes; j++) assert_true(out[i * stride + j] == -INFINITY);
    for (size_t j = lanes; j < stride; j++) assert_true(out[i * stride + j] == 77);
  }
  free(out);
}

static void check_nearest(const problem *p, const fw_products *kern) {
  uint32_t *best = calloc(p->nx, sizeof *best), again;
  float *score = calloc(p->nx, sizeof *score), alone;
  assert_non_null(best);
  assert_non_null(score);
  kern->nearest(&p->packed, p->x, p->nx, p->stride, best, score);
  for (size_t i = 0; i < p->nx; i++) {
    assert_true(best[i] < p->n);
    assert_true(fabs(score[i] - score_of(p, i, best[i])) <= tolerance(p));
    for (size_t j = 0; j < p->n; j++) assert_true(score_of(p, i, j) <= score[i] + tolerance(p));
    /* Not another one when it is asked about by itself. */
    kern->nearest(&p->packed, p->x + i * p->stride, 1, p->stride, &again, &alone);
    assert_int_equal(again, best[i]);
    assert_true(alone == score[i]);
  }
  free(best);
  free(score);
}

static void at_each_level(void (*check)(const problem *p, const fw_products *kern), problem *p) {
  problem_make(p);
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_products kern = fw_kernels_at(isa).products;
    assert_int_equal(fw_kernels_at(isa).isa, isa);
    check(p, &kern);
  }
  problem_clear(p);
}

static const size_t dimensions[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33, 64, 100, 128, 260};
static const size_t counts[] = {1, 2, 15, 16, 17, 63, 64, 65, 256, 300};

static void test_scores(void **state) {
  (void)state;
  for (size_t a = 0; a < sizeof dimensions / sizeof *dimensions; a++)
    for (size_t b = 0; b < sizeof counts / sizeof *counts; b++)
      at_each_level(check_scores, &(problem){.n = counts[b], .d = dimensions[a], .nx = 1 + (a + b) % 8, .l2 = b % 2});
}

static void test_nearest(void **state) {
  (void)state;
  for (size_t a = 0; a < sizeof dimensions / sizeof *dimensions; a++)
    for (size_t b = 0; b < sizeof counts / sizeof *counts; b++)
      at_each_level(check_nearest, &(problem){.n = counts[b], .d = dimensions[a], .nx = 1 + (a + b) % 15, .l2 = a % 2});
}

/* More vectors than a kernel keeps in the cache, more questions than it answers at once. */
static void test_large(void **state) {
  (void)state;
  at_each_level(check_nearest, &(problem){.n = 1500, .d = 96, .nx = 40, .l2 = true});
  at_each_level(check_scores, &(problem){.n = 1500, .d = 96, .nx = 13, .l2 = true});
  at_each_level(check_nearest, &(problem){.n = 20, .d = 3, .nx = 500, .l2 = true});
}

static void check_first_of_equals(const problem *p, const fw_products *kern) {
  uint32_t best[7];
  float score[7];
  kern->nearest(&p->packed, p->x, p->nx, p->stride, best, score);
  for (size_t i = 0; i < p->nx; i++) {
    for (size_t j = 0; j < best[i]; j++)
      assert_int_not_equal(memcmp(p->y + j * p->stride, p->y + best[i] * p->stride, p->d * sizeof(float)), 0);
  }
}

/* Every vector is there five times. */
static void test_first_of_equals(void **state) {
  (void)state;
  for (size_t d = 2; d <= 64; d *= 2) {
    problem p = {.n = 130, .d = d, .nx = 7, .l2 = true};
    problem_make(&p);
    for (size_t j = 26; j < p.n; j++) memcpy(p.y + j * p.stride, p.y + j % 26 * p.stride, p.stride * sizeof(float));
    fw_packed_clear(&p.packed);
    assert_int_equal(fw_packed_create(&p.packed, p.y, p.n, p.d, p.stride, true, NULL), FURROW_OK);
    for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
      if (!fw_isa_available(isa)) continue;
      const fw_products kern = fw_kernels_at(isa).products;
      check_first_of_equals(&p, &kern);
    }
    problem_clear(&p);
  }
}

static void test_sum_rows(void **state) {
  (void)state;
  enum { N = 50, MOST = 150 };
  static const uint32_t rows[] = {3, 3, 49, 0, 17, 5, 5, 48};
  float x[N * MOST];
  double want[MOST], sum[MOST + 1];
  fill(x, N * MOST, 3);
  for (size_t d = 1; d <= MOST; d += d / 7 + 1) {
    for (size_t count = 0; count <= sizeof rows / sizeof *rows; count++) {
      for (size_t k = 0; k < d; k++) want[k] = 0;
      for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < d; k++) want[k] += x[rows[i] * d + k];
      for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
        if (!fw_isa_available(isa)) continue;
        sum[d] = 5;
        fw_kernels_at(isa).products.sum_rows(x, d, rows, count, sum);
        assert_memory_equal(sum, want, d * sizeof *want);
        assert_true(sum[d] == 5);
      }
    }
  }
}

/* ---- With a sketch ---- */

/* Numbers that are hard to round. */
typedef enum hardness { PLAIN, FAR, OUTLIER, FEW_DIFFERENT, TINY, HUGE_, ZERO, HARDNESSES } hardness;

static void harden(float *values, size_t n, size_t stride, hardness kind) {
  for (size_t i = 0; i < n * stride; i++) {
    if (kind == FAR) values[i] += 1000;
    if (kind == TINY) values[i] *= 1e-18F;
    if (kind == HUGE_) values[i] *= 1e15F;
    if (kind == ZERO) values[i] = 0;
  }
  if (kind == OUTLIER) values[n / 2 * stride] = 1e4F;
  for (size_t i = 3; kind == FEW_DIFFERENT && i < n; i++)
    memcpy(values + i * stride, values + i % 3 * stride, stride * sizeof *values);
}

static double length_of(const float *x, size_t d) {
  double square = 0;
  for (size_t k = 0; k < d; k++) square += (double)x[k] * x[k];
  return sqrt(square);
}

static double longest(const float *values, size_t n, size_t stride, size_t d) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, length_of(values + i * stride, d));
  return most;
}

/* Scores by the sketch, apart from an offset that all share, are off by no more than the slack. */
static void check_rough(const problem *p) {
  const fw_products *kern = fw_products_table();
  const size_t lanes = p->packed.blocks * FW_PACK_WIDTH;
  fw_sketch *sketch = NULL; /* one of its own: packed vectors have one only where `nearest` needs it */
  if (!kern->rough) return;
  assert_int_equal(fw_sketch_create(&sketch, p->y, p->n, p->d, p->stride, p->l2, NULL), FURROW_OK);
  if (!sketch) return;
  float *out = calloc(p->nx * lanes, sizeof *out), *slack = calloc(p->nx, sizeof *slack);
  const double most = longest(p->y, p->n, p->stride, p->d), x = longest(p->x, p->nx, p->stride, p->d);
  kern->rough(sketch, p->x, p->nx, p->stride, out, lanes, slack);
  for (size_t i = 0; i < p->nx; i++) {
    double above = -INFINITY, below = INFINITY;
    for (size_t j = 0; j < p->n; j++) {
      const double off = (double)out[i * lanes + j] - score_of(p, i, j);
      above = fmax(above, off);
      below = fmin(below, off);
    }
    assert_true(above - below <= 2 * (double)slack[i]);
    assert_true(!isfinite(slack[i]) || slack[i] <= 0.2 * (x + most) * (x + most));
    for (size_t j = p->n; j < lanes; j++) assert_true(out[i * lanes + j] == -INFINITY);
  }
  fw_sketch_free(sketch);
  free(out);
  free(slack);
}

/* No vector is nearer than the one that is named, but for what floats cannot tell. */
static void check_sketch(const problem *p) {
  const fw_products *kern = fw_products_table();
  uint32_t *best = calloc(p->nx, sizeof *best), again;
  float *score = calloc(p->nx, sizeof *score), alone;
  const double most = longest(p->y, p->n, p->stride, p->d), x = longest(p->x, p->nx, p->stride, p->d);
  const double slack = FLT_EPSILON * (double)p->d * most * (x + most);
  kern->nearest(&p->packed, p->x, p->nx, p->stride, best, score);
  for (size_t i = 0; i < p->nx; i++) {
    assert_true(best[i] < p->n);
    assert_true(fabs(score[i] - score_of(p, i, best[i])) <= slack);
    for (size_t j = 0; j < p->n; j++) assert_true(score_of(p, i, j) <= score[i] + slack);
    kern->nearest(&p->packed, p->x + i * p->stride, 1, p->stride, &again, &alone);
    assert_int_equal(again, best[i]);
    assert_true(alone == score[i]);
  }
  free(best);
  free(score);
}

static void sketch_problem(problem *p, hardness of_y, hardness of_x) {
  problem_make(p);
  harden(p->y, p->n, p->stride, of_y);
  harden(p->x, p->nx, p->stride, of_x);
  fw_packed_clear(&p->packed);
  assert_int_equal(fw_packed_create(&p->packed, p->y, p->n, p->d, p->stride, p->l2, NULL), FURROW_OK);
  assert_int_equal(fw_packed_add_sketch(&p->packed, p->y, p->stride, p->l2, NULL), FURROW_OK);
}

static void test_sketch(void **state) {
  (void)state;
  for (size_t a = 0; a < sizeof dimensions / sizeof *dimensions; a++) {
    for (size_t b = 0; b < sizeof counts / sizeof *counts; b++) {
      problem p = {.n = counts[b], .d = dimensions[a], .nx = 1 + (a + b) % 15, .l2 = a % 2};
      sketch_problem(&p, PLAIN, PLAIN);
      check_sketch(&p);
      check_rough(&p);
      problem_clear(&p);
    }
  }
}

static void test_sketch_of_hard_numbers(void **state) {
  (void)state;
  for (hardness y = PLAIN; y < HARDNESSES; y++) {
    for (hardness x = PLAIN; x < HARDNESSES; x++) {
      problem p = {.n = 1200, .d = 37, .nx = 7, .l2 = (x + y) % 3 != 0};
      sketch_problem(&p, y, x);
      check_sketch(&p);
      check_rough(&p);
      problem_clear(&p);
    }
  }
}

/* With NaN and infinities the answer is that of all products. */
static void test_sketch_not_finite(void **state) {
  (void)state;
  const float wrong[] = {NAN, INFINITY, -INFINITY, 3e38F};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    problem p = {.n = 100, .d = 40, .nx = 4, .l2 = true};
    sketch_problem(&p, PLAIN, PLAIN);
    p.x[p.stride + 5] = wrong[i];
    fw_packed bare = p.packed;
    bare.sketch = NULL;
    uint32_t best[4], want[4];
    float score[4], want_score[4];
    fw_products_table()->nearest(&p.packed, p.x, 4, p.stride, best, score);
    fw_products_table()->nearest(&bare, p.x, 4, p.stride, want, want_score);
    assert_memory_equal(best, want, sizeof best);
    fw_packed_clear(&p.packed);
    p.y[3 * p.stride] = wrong[i];
    assert_int_equal(fw_packed_create(&p.packed, p.y, p.n, p.d, p.stride, true, NULL), FURROW_OK);
    assert_int_equal(fw_packed_add_sketch(&p.packed, p.y, p.stride, true, NULL), FURROW_OK);
    assert_null(p.packed.sketch);
    problem_clear(&p);
  }
}

static void test_nan_never_wins(void **state) {
  (void)state;
  problem p = {.n = 40, .d = 5, .nx = 3, .l2 = true};
  problem_make(&p);
  p.x[1] = NAN;
  memcpy(p.x + 2 * p.stride, p.y + 20 * p.stride, p.d * sizeof(float));
  fw_packed_clear(&p.packed);
  p.y[19 * p.stride + 2] = NAN;
  assert_int_equal(fw_packed_create(&p.packed, p.y, p.n, p.d, p.stride, true, NULL), FURROW_OK);
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    uint32_t best[3];
    float score[3];
    fw_kernels_at(isa).products.nearest(&p.packed, p.x, 3, p.stride, best, score);
    assert_true(best[0] == UINT32_MAX);
    assert_true(best[1] < 40 && best[1] != 19);
    assert_int_equal(best[2], 20);
  }
  problem_clear(&p);
}

/* ---- With a projection ---- */

/* Numbers that become smaller from one dimension to the next, so that a few directions say most. */
static void taper(float *values, size_t n, size_t stride, size_t d) {
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < d; k++) values[i * stride + k] *= 8 / (float)(k + 2);
}

static double key_of(const problem *p, size_t i, size_t j) {
  const float *x = p->x + i * p->stride, *y = p->y + j * p->stride;
  double key = 0;
  for (size_t k = 0; k < p->d; k++) key += p->l2 ? pow((double)x[k] - y[k], 2) : -(double)x[k] * y[k];
  return key;
}

/* The projection is made for plain questions; then harder ones are asked. */
static void projection_problem(problem *p, hardness of_y, hardness of_x) {
  p->nx = 65536 * p->d / p->n + 1; /* fewer would not be worth it */
  problem_make(p);
  taper(p->x, p->nx, p->stride, p->d);
  taper(p->y, p->n, p->stride, p->d);
  harden(p->y, p->n, p->stride, of_y);
  fw_packed_clear(&p->packed);
  assert_int_equal(fw_packed_create(&p->packed, p->y, p->n, p->d, p->stride, p->l2, NULL), FURROW_OK);
  assert_int_equal(fw_packed_add_projection(&p->packed, p->y, p->stride, p->l2, p->x, p->nx, p->stride, NULL),
                   FURROW_OK);
  if (of_y == PLAIN && p->n * p->d >= 40000) assert_non_null(p->packed.projection);
  p->nx = 61;
  harden(p->x, p->nx, p->stride, of_x);
}

/* No vector has a smaller key in double, and none before has the same; for any guess. Exact: but for what doubles
 * cannot tell; otherwise for what floats cannot. */
static void check_projection(const problem *p, bool exact) {
  uint32_t *best = calloc(p->nx, sizeof *best), guess;
  assert_non_null(best);
  memset(best, 0xff, p->nx * sizeof *best);
  fw_packed_nearest(&p->packed, p->x, p->nx, p->stride, best);
  for (size_t i = 0; i < p->nx; i++) {
    assert_true(best[i] < p->n);
    const double key = key_of(p, i, best[i]), x = length_of(p->x + i * p->stride, p->d);
    const double off = (exact ? 1e-12 : 1e-4) * (fabs(key) + x + x * x);
    for (size_t j = 0; j < p->n; j++) assert_true(key_of(p, i, j) >= key - off);
    for (size_t j = 0; j < best[i]; j++)
      assert_int_not_equal(memcmp(p->y + j * p->stride, p->y + best[i] * p->stride, p->d * sizeof *p->y), 0);
    guess = (uint32_t)(i * 7 % p->n);
    fw_packed_nearest(&p->packed, p->x + i * p->stride, 1, p->stride, &guess);
    assert_int_equal(guess, best[i]);
  }
  free(best);
}

static void test_projection(void **state) {
  (void)state;
  static const size_t sizes[][2] = {{130, 16}, {256, 33}, {300, 64}, {1024, 100}, {1100, 128}, {2100, 40}};
  for (size_t i = 0; i < 2 * (sizeof sizes / sizeof *sizes); i++) {
    problem p = {.n = sizes[i / 2][0], .d = sizes[i / 2][1], .l2 = i % 2};
    projection_problem(&p, PLAIN, PLAIN);
    check_projection(&p, true);
    problem_clear(&p);
  }
}

static void test_projection_of_hard_numbers(void **state) {
  (void)state;
  for (hardness y = PLAIN; y < HARDNESSES; y++) {
    for (hardness x = PLAIN; x < HARDNESSES; x++) {
      problem p = {.n = 1200, .d = 48, .l2 = (x + y) % 3 != 0};
      projection_problem(&p, y, x);
      if (p.packed.projection) check_projection(&p, x != HUGE_ && x != TINY);
      problem_clear(&p);
    }
  }
}

static void test_projection_not_finite(void **state) {
  (void)state;
  const float wrong[] = {NAN, INFINITY, -INFINITY, 3e38F};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    problem p = {.n = 1200, .d = 48, .l2 = true};
    uint32_t best[61], want[61];
    float score[61];
    projection_problem(&p, PLAIN, PLAIN);
    p.x[7 * p.stride + 5] = wrong[i];
    memset(best, 0xff, sizeof best);
    fw_packed_nearest(&p.packed, p.x, p.nx, p.stride, best);
    fw_products_table()->nearest(&p.packed, p.x, p.nx, p.stride, want, score);
    assert_memory_equal(best, want, sizeof best);
    fw_packed_clear(&p.packed);
    p.y[9 * p.stride] = wrong[i];
    assert_int_equal(fw_packed_create(&p.packed, p.y, p.n, p.d, p.stride, true, NULL), FURROW_OK);
    assert_int_equal(fw_packed_add_projection(&p.packed, p.y, p.stride, true, p.x, 2622, p.stride, NULL), FURROW_OK);
    assert_null(p.packed.projection);
    problem_clear(&p);
  }
}

/* Other vectors in the same directions, and questions that were made ready for the first ones. */
static void test_projection_renewed(void **state) {
  (void)state;
  problem p = {.n = 500, .d = 96, .l2 = true};
  uint32_t best[61];
  projection_problem(&p, PLAIN, PLAIN);
  fw_question *ready = calloc(p.nx, sizeof *ready);
  assert_non_null(ready);
  fw_projection_ask(p.packed.projection, p.x, p.nx, p.stride, ready);
  for (int round = 0; round < 3; round++) {
    fill(p.y, p.n * p.stride, 100 + (uint64_t)round);
    taper(p.y, p.n, p.stride, p.d);
    fw_projection *projection = p.packed.projection;
    p.packed.projection = NULL;
    fw_packed_clear(&p.packed);
    assert_int_equal(fw_packed_create(&p.packed, p.y, p.n, p.d, p.stride, true, NULL), FURROW_OK);
    p.packed.projection = projection;
    assert_int_equal(fw_projection_renew(projection, p.y, NULL), FURROW_OK);
    memset(best, 0xff, sizeof best);
    fw_projection_nearest(&p.packed, p.x, p.nx, p.stride, ready, best);
    for (size_t i = 0; i < p.nx; i++)
      for (size_t j = 0; j < p.n; j++) assert_true(key_of(&p, i, j) >= key_of(&p, i, best[i]));
  }
  problem_clear(&p);
  free(ready);
}

/* ---- Kernels of projections, every level against plain C ---- */

enum { HEADS = 7 * FW_HEAD_WIDTH, PAIRS = 12, ASKED = 13 };

typedef struct head_problem {
  _Alignas(64) int8_t values[HEADS * PAIRS * 2];
  _Alignas(64) int16_t start[HEADS];
  _Alignas(64) int16_t want[ASKED * HEADS], found[ASKED * HEADS];
  uint32_t x[ASKED * PAIRS];
} head_problem;

static void fill_heads(head_problem *p) {
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t i = 0; i < sizeof p->values; i++) p->values[i] = (int8_t)((int)(fw_rng_next(&rng) >> 40) % 128);
  for (size_t i = 0; i < HEADS; i++) p->start[i] = (int16_t)(fw_rng_next(&rng) >> 50);
  for (size_t i = 0; i < ASKED * PAIRS; i++) p->x[i] = 0x10001U * (uint32_t)(fw_rng_next(&rng) >> 32 & 0x7f7f);
}

static void check_found(const fw_products *kern, const int16_t *bounds) {
  uint32_t at[HEADS];
  const size_t top = kern->top_bound(bounds, HEADS);
  for (size_t i = 0; i < HEADS; i++) assert_true(bounds[i] <= bounds[top]);
  for (int limit = -32000; limit <= 32000; limit += 4000) {
    size_t want = 0, count = kern->find_bounds(bounds, HEADS, (int16_t)limit, at);
    bool seen[HEADS] = {0};
    for (size_t i = 0; i < HEADS; i++) want += bounds[i] >= limit;
    assert_int_equal(count, want);
    for (size_t i = 0; i < count; i++) {
      assert_true(at[i] < HEADS && bounds[at[i]] >= limit && !seen[at[i]]);
      seen[at[i]] = true;
    }
  }
}

static void test_find_above(void **state) {
  enum { LANES = 4 * FW_PACK_WIDTH };
  float scores[LANES];
  fw_rng rng;
  (void)state;
  fw_rng_init(&rng, 6);
  for (size_t i = 0; i < LANES; i++) scores[i] = (float)(int)(fw_rng_next(&rng) >> 61);
  scores[7] = NAN;
  scores[LANES - 1] = -INFINITY;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_products kern = fw_kernels_at(isa).products;
    for (size_t n = 0; n <= LANES; n += FW_PACK_WIDTH)
      for (float limit = -1; limit <= 8; limit++) {
        uint32_t at[LANES];
        const float used = limit < 0 ? -INFINITY : limit;
        size_t want = 0;
        const size_t count = kern.find_above(scores, n, used, at);
        for (size_t i = 0; i < n; i++) {
          if (!(scores[i] > used)) continue;
          assert_true(want < count);
          assert_int_equal(at[want++], i);
        }
        assert_int_equal(count, want);
      }
  }
}

static void test_bounds(void **state) {
  (void)state;
  static head_problem p;
  fill_heads(&p);
  for (size_t blocks = 1; blocks <= HEADS / FW_HEAD_WIDTH; blocks++) {
    const fw_heads heads = {.blocks = blocks, .pairs = PAIRS, .values = p.values, .start = p.start};
    for (size_t i = 0; i < ASKED; i++) {
      for (size_t j = 0; j < blocks * FW_HEAD_WIDTH; j++) {
        const int8_t *y = p.values + 2 * (j / FW_HEAD_WIDTH * PAIRS * FW_HEAD_WIDTH + j % FW_HEAD_WIDTH);
        int sum = p.start[j];
        for (size_t k = 0; k < 2 * PAIRS; k++)
          sum += (int)(p.x[i * PAIRS + k / 2] >> 8 * (k % 2) & 0xff) * y[k / 2 * 2 * FW_HEAD_WIDTH + k % 2];
        p.want[i * HEADS + j] = (int16_t)(uint16_t)sum;
      }
    }
    for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
      if (!fw_isa_available(isa)) continue;
      const fw_products kern = fw_kernels_at(isa).products;
      memcpy(p.found, p.want, sizeof p.want);
      for (size_t i = 0; i < ASKED; i++) memset(p.found + i * HEADS, 1, 2 * blocks * FW_HEAD_WIDTH);
      kern.bounds(&heads, p.x, ASKED, p.found, HEADS);
      assert_memory_equal(p.found, p.want, sizeof p.want);
      check_found(&kern, p.found);
    }
  }
}

static void test_heads(void **state) {
  (void)state;
  enum { MOST = 150 };
  float x[MOST], y[MOST], to[MOST + 1];
  fill(x, MOST, 1);
  fill(y, MOST, 2);
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_products kern = fw_kernels_at(isa).products;
    for (size_t d = 1; d <= MOST; d += d / 5 + 1) {
      double square = 0, product = 0;
      to[d] = 9;
      for (size_t k = 0; k < d; k++) square += pow((double)x[k] - y[k], 2), product += (double)x[k] * y[k];
      assert_true(fabs(kern.centre(x, y, d, to) - square) <= 1e-5 * square);
      assert_true(to[d] == 9);
      for (size_t k = 0; k < d; k++) assert_true(to[k] == x[k] - y[k]);
      assert_true(fabs(kern.key(x, y, d, true) - square) <= 1e-5 * square);
      assert_true(fabs(kern.key(x, y, d, false) + product) <= 1e-5 * (square + fabs(product)));
    }
    for (size_t count = FW_HEAD_STEP; count <= FW_HEAD_MOST; count += FW_HEAD_STEP) {
      uint8_t bytes[FW_HEAD_MOST];
      float length, lost;
      double square = 0, missed = 0;
      kern.round_head(x, count, 0.03F, 63, 64, bytes, &length, &lost);
      for (size_t k = 0; k < count; k++) {
        const int value = bytes[k] - 64;
        const double rest = x[k] - value * 0.03;
        assert_true(abs(value) <= 63 && (fabs(rest) <= 0.01501 || abs(value) == 63));
        square += value * value;
        missed += rest * rest;
      }
      assert_true(fabs(length - square) <= 1e-5 * square && fabs(lost - missed) <= 1e-4 * missed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scores),
      cmocka_unit_test(test_nearest),
      cmocka_unit_test(test_large),
      cmocka_unit_test(test_first_of_equals),
      cmocka_unit_test(test_nan_never_wins),
      cmocka_unit_test(test_sum_rows),
      cmocka_unit_test(test_sketch),
      cmocka_unit_test(test_sketch_of_hard_numbers),
      cmocka_unit_test(test_sketch_not_finite),
      cmocka_unit_test(test_projection),
      cmocka_unit_test(test_projection_of_hard_numbers),
      cmocka_unit_test(test_projection_not_finite),
      cmocka_unit_test(test_projection_renewed),
      cmocka_unit_test(test_find_above),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_heads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
