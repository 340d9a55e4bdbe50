/* tests/unit/learn/test_linear_problem.c: gradients against differences of values, solutions where the gradient is 0,
 * the same bytes for any number of threads, weights as repeated rows, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/convex/linear_problem.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

/* ---- Rows ---- */

typedef struct made_rows {
  furrow_rowblock block;
  uint64_t *offset, *index;
  float *value;
  double *label, *weight;
} made_rows;

enum { COUNTS = 1 };

typedef struct made_shape {
  size_t rows, most;      /* rows, features of a row at most */
  uint64_t range, stride; /* keys: stride * (0 … range - 1) */
  size_t classes;         /* 0: labels are numbers; COUNTS; 2: -1 and 1; else 0 … classes - 1 */
  bool values;
} made_shape;

static double made_label(fw_rng *rng, size_t classes, double z) {
  const double noisy = z + fw_rng_normal(rng);
  if (classes == 0) return noisy;
  if (classes == COUNTS) return floor(exp(fmin(noisy, 3)));
  if (classes == 2) return noisy > 0.3 ? 1 : -1;
  return (double)(fw_rng_below(rng, 3) ? (uint64_t)fabs(noisy * 2) % classes : fw_rng_below(rng, classes));
}

static void *get(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  assert_non_null(memory);
  return memory;
}

static made_rows make_rows(const made_shape *shape, uint64_t seed) {
  fw_rng rng;
  made_rows r = {.offset = get(shape->rows + 1, 8),
                 .index = get(shape->rows * shape->most, 8),
                 .value = get(shape->rows * shape->most, 4),
                 .label = get(shape->rows, 8),
                 .weight = get(shape->rows, 8)};
  size_t at = 0;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < shape->rows; i++) {
    double z = 0;
    for (size_t n = fw_rng_below(&rng, shape->most + 1); n > 0; n--, at++) {
      const uint64_t key = fw_rng_below(&rng, 1 + fw_rng_below(&rng, shape->range)); /* small ones are frequent */
      r.index[at] = key * shape->stride;
      r.value[at] = (float)fw_rng_normal(&rng);
      z += sin((double)key) * (shape->values ? (double)r.value[at] : 1);
    }
    r.offset[i + 1] = at;
    r.label[i] = made_label(&rng, shape->classes, z);
    r.weight[i] = (double)(1 + fw_rng_below(&rng, 3));
  }
  r.block = (furrow_rowblock){.size = shape->rows,
                              .offset = r.offset,
                              .index.u64 = r.index,
                              .value.f32 = shape->values ? r.value : NULL,
                              .key_type = FURROW_KEY_U64,
                              .value_type = FURROW_VALUE_F32};
  return r;
}

static void free_rows(made_rows *r) {
  free(r->offset);
  free(r->index);
  free(r->value);
  free(r->label);
  free(r->weight);
}

static fw_linear_params params_for(const made_rows *r, fw_loss_type loss, size_t outputs) {
  return (fw_linear_params){
      .rows = &r->block, .label = r->label, .loss = loss, .outputs = outputs, .delta = 0.7, .l2 = 1};
}

static fw_linear_problem *create(const fw_linear_params *params) {
  fw_linear_problem *p = NULL;
  furrow_error err;
  assert_int_equal(fw_linear_problem_create(&p, params, &err), FURROW_OK);
  return p;
}

static double value_at(fw_linear_problem *p, const double *x, double *gradient) {
  double value;
  assert_int_equal(fw_linear_problem_evaluate(p, x, gradient, &value, NULL), FURROW_OK);
  return value;
}

/* The biases are the last parameters. */
static const double *bias_of(const fw_lbfgs *s, const fw_linear_problem *p, size_t outputs) {
  return s->x + fw_linear_problem_size(p) - outputs;
}

/* Iterates until there is nothing left to do; the state it ended with. */
static fw_lbfgs *solve(fw_linear_problem *p, const fw_linear_solver_params *params, fw_lbfgs_state *state) {
  fw_lbfgs *s = NULL;
  assert_int_equal(fw_linear_solver_create(&s, p, params, NULL), FURROW_OK);
  *state = FW_LBFGS_GOING;
  for (size_t i = 0; i < 500 && *state == FW_LBFGS_GOING; i++)
    assert_int_equal(fw_lbfgs_step(s, state, NULL), FURROW_OK);
  return s;
}

typedef struct made_case {
  fw_loss_type loss;
  size_t outputs, classes, factors;
} made_case;

static const made_case cases[] = {
    {FW_LOSS_LOG, 1, 2, 0},          {FW_LOSS_SOFTMAX, 5, 5, 0},     {FW_LOSS_L2, 1, 0, 0}, {FW_LOSS_HUBER, 1, 0, 0},
    {FW_LOSS_POISSON, 1, COUNTS, 0}, {FW_LOSS_LOG, 1, 2, 3},         {FW_LOSS_L2, 1, 0, 8}, {FW_LOSS_L2, 1, 0, 19},
    {FW_LOSS_HUBER, 1, 0, 2},        {FW_LOSS_POISSON, 1, COUNTS, 2}};
enum { CASES = sizeof cases / sizeof *cases, CONVEX_CASES = 5 };

/* Shapes whose gradient is summed by block and by feature. */
static made_shape shape_of(const made_case *c, bool wide, bool values) {
  return (made_shape){.rows = wide ? 6000 : 700,
                      .most = wide ? 24 : 9,
                      .range = wide ? 60000 : 30,
                      .stride = wide ? 1000003 : 3,
                      .classes = c->classes,
                      .values = values};
}

/* ---- Gradients ---- */

static void check_differences(const made_case *c, bool wide, bool values) {
  const made_shape shape = shape_of(c, wide, values);
  made_rows r = make_rows(&shape, 5);
  fw_linear_params params = params_for(&r, c->loss, c->outputs);
  params.weight = r.weight;
  params.l2 = 0.3;
  params.factors = c->factors;
  params.factor_l2 = 0.4;
  fw_linear_problem *p = create(&params);
  const size_t size = fw_linear_problem_size(p);
  double *x = get(size, sizeof *x), *gradient = get(size, sizeof *x), *other = get(size, sizeof *x);
  fw_rng rng;
  fw_rng_init(&rng, 8);
  for (size_t i = 0; i < size; i++) x[i] = 0.3 * fw_rng_normal(&rng);
  value_at(p, x, gradient);
  for (size_t n = 0; n < (c->factors ? 25 : 60); n++) {
    const size_t i = n < c->outputs ? size - 1 - n : wide && n % 2 ? n : (size_t)fw_rng_below(&rng, size);
    const double was = x[i], h = 1e-4;
    x[i] = was + h;
    const double above = value_at(p, x, other);
    x[i] = was - h;
    const double difference = (above - value_at(p, x, other)) / (2 * h);
    x[i] = was;
    assert_true(fabs(difference - gradient[i]) <= 1e-4 * (1 + fabs(gradient[i])));
  }
  free(x);
  free(gradient);
  free(other);
  fw_linear_problem_free(p);
  free_rows(&r);
}

static void gradients_are_differences(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++)
    for (int kind = 0; kind < 4; kind++) check_differences(&cases[i], kind & 1, kind & 2);
}

/* The rows and one more, of weight 0, with MORE features that no other row has. */
enum { MORE = 20000 };

static made_rows widen(const made_rows *r, size_t rows) {
  const size_t uses = (size_t)r->offset[rows], row = rows;
  made_rows w = {.offset = get(rows + 2, 8),
                 .index = get(uses + MORE, 8),
                 .value = get(uses + MORE, 4),
                 .label = get(rows + 1, 8),
                 .weight = get(rows + 1, 8)};
  memcpy(w.offset, r->offset, (rows + 1) * sizeof *w.offset);
  memcpy(w.index, r->index, uses * sizeof *w.index);
  memcpy(w.value, r->value, uses * sizeof *w.value);
  memcpy(w.label, r->label, rows * sizeof *w.label);
  for (size_t i = 0; i < rows; i++) w.weight[i] = 1;
  for (size_t i = 0; i < MORE; i++) w.index[uses + i] = 1000 + i;
  for (size_t i = 0; i < MORE; i++) w.value[uses + i] = 1;
  w.offset[row + 1] = uses + MORE;
  w.label[row] = 1;
  w.block = r->block;
  w.block.size = rows + 1;
  w.block.offset = w.offset;
  w.block.index.u64 = w.index;
  w.block.value.f32 = w.value;
  return w;
}

static void both_ways_to_sum_are_equal(void **state) {
  (void)state;
  for (size_t c = 0; c < CASES; c++) {
    const made_shape shape = {
        .rows = 9000, .most = 12, .range = 40, .stride = 1, .classes = cases[c].classes, .values = true};
    made_rows r = make_rows(&shape, 3), w = widen(&r, shape.rows);
    fw_linear_params params = params_for(&r, cases[c].loss, cases[c].outputs);
    params.factors = cases[c].factors;
    params.factor_l2 = 0.4;
    fw_linear_problem *few = create(&params);
    params.rows = &w.block;
    params.label = w.label;
    params.weight = w.weight;
    fw_linear_problem *many = create(&params);
    const size_t k = cases[c].outputs, size = fw_linear_problem_size(few), large = fw_linear_problem_size(many);
    assert_int_equal(large, size + MORE * (k + cases[c].factors));
    double *x = get(large, 8), *a = get(large, 8), *b = get(large, 8);
    for (size_t i = 0; i < size - k; i++) x[i] = sin((double)i);
    const double value = value_at(few, x, a), wide_value = value_at(many, x, b);
    assert_true(fabs(value - wide_value) <= 1e-12 * value);
    for (size_t i = 0; i < size - k; i++) assert_true(fabs(a[i] - b[i]) <= 1e-11 * (1 + fabs(a[i])));
    for (size_t i = size - k; i < large - k; i++) assert_true(b[i] == 0);
    for (size_t i = 0; i < k; i++) assert_true(fabs(a[size - k + i] - b[large - k + i]) <= 1e-9);
    free(x);
    free(a);
    free(b);
    fw_linear_problem_free(few);
    fw_linear_problem_free(many);
    free_rows(&r);
    free_rows(&w);
  }
}

/* ---- Solutions ---- */

static void solutions_are_optimal(void **unused) {
  (void)unused;
  for (size_t i = 0; i < CONVEX_CASES; i++)
    for (int kind = 0; kind < 4; kind++) {
      const made_shape shape = shape_of(&cases[i], kind & 1, kind & 2);
      made_rows r = make_rows(&shape, 6);
      const fw_linear_params params = params_for(&r, cases[i].loss, cases[i].outputs);
      fw_linear_problem *p = create(&params);
      const size_t size = fw_linear_problem_size(p);
      double *gradient = get(size, sizeof *gradient);
      fw_lbfgs_state state;
      if (kind & 1) assert_true(size > 1 << 14); /* summed by feature */
      fw_lbfgs *s = solve(p, &(fw_linear_solver_params){.tolerance = 1e-5}, &state);
      assert_int_equal(state, FW_LBFGS_CONVERGED);
      const double value = value_at(p, s->x, gradient);
      assert_true(value == s->value);
      const bool steep = cases[i].loss == FW_LOSS_POISSON; /* its second derivative changes from row to row */
      for (size_t k = 0; k < size; k++) assert_true(fabs(gradient[k]) < (steep ? 1e-3 : 1e-4));
      assert_true(s->evaluations < (steep ? 500 : 200));
      free(gradient);
      fw_lbfgs_free(s);
      fw_linear_problem_free(p);
      free_rows(&r);
    }
}

/* Two features and their normal equations: x = (1, 0), (0, 1), (1, 1); y = 1, 2, 4; l2 = 1. */
static void a_small_ridge_is_exact(void **unused) {
  (void)unused;
  const uint64_t offset[] = {0, 1, 2, 4};
  const uint32_t index[] = {4, 9, 4, 9};
  const double label[] = {1, 2, 4};
  const furrow_rowblock block = {.size = 3, .offset = offset, .index.u32 = index, .key_type = FURROW_KEY_U32};
  fw_linear_problem *p = create(
      &(fw_linear_params){.rows = &block, .label = label, .loss = FW_LOSS_L2, .outputs = 1, .l2 = 1, .range = 10});
  fw_lbfgs_state state;
  size_t features;
  const uint64_t *keys = fw_linear_problem_keys(p, &features);
  assert_int_equal(features, 2);
  assert_int_equal(keys[0], 4);
  assert_int_equal(keys[1], 9);
  fw_lbfgs *s = solve(p, &(fw_linear_solver_params){.tolerance = 1e-12}, &state);
  assert_int_not_equal(state, FW_LBFGS_GOING);
  /* 3w0 + w1 + 2b = 5, w0 + 3w1 + 2b = 6, 2w0 + 2w1 + 3b = 7 */
  assert_true(fabs(s->x[0] - 0.375) < 1e-9);
  assert_true(fabs(s->x[1] - 0.875) < 1e-9);
  assert_true(fabs(bias_of(s, p, 1)[0] - 1.5) < 1e-9);
  double scores[3];
  fw_linear_problem_scores(p, s->x, scores);
  assert_true(fabs(scores[2] - 2.75) < 1e-9);
  fw_lbfgs_free(s);
  fw_linear_problem_free(p);
}

static void warm_starts_need_fewer_passes(void **unused) {
  (void)unused;
  const made_shape shape = shape_of(&cases[0], false, true);
  made_rows r = make_rows(&shape, 6);
  const fw_linear_params params = params_for(&r, FW_LOSS_LOG, 1);
  fw_linear_problem *p = create(&params);
  fw_lbfgs_state state;
  fw_lbfgs *cold = solve(p, NULL, &state);
  const fw_linear_solver_params warm_params = {.w = cold->x, .bias = bias_of(cold, p, 1)};
  fw_lbfgs *warm = solve(p, &warm_params, &state);
  assert_int_equal(state, FW_LBFGS_CONVERGED);
  assert_int_equal(warm->evaluations, 1);
  assert_memory_equal(warm->x, cold->x, fw_linear_problem_size(p) * sizeof(double));
  fw_lbfgs_free(cold);
  fw_lbfgs_free(warm);
  fw_linear_problem_free(p);
  free_rows(&r);
}

/* A class without rows, and rows of one class alone: the bias goes far, but stays finite. */
static void missing_classes_end_finite(void **unused) {
  (void)unused;
  for (size_t c = 0; c < 2; c++) {
    const made_shape shape = shape_of(&cases[c], false, true);
    made_rows r = make_rows(&shape, 2);
    for (size_t i = 0; i < shape.rows; i++) r.label[i] = c == 0 ? 1 : r.label[i] == 3 ? 0 : r.label[i];
    const fw_linear_params params = params_for(&r, cases[c].loss, cases[c].outputs);
    fw_linear_problem *p = create(&params);
    fw_lbfgs_state state;
    fw_lbfgs *s = solve(p, NULL, &state);
    assert_int_equal(state, FW_LBFGS_CONVERGED);
    for (size_t i = 0; i < fw_linear_problem_size(p); i++) assert_true(fabs(s->x[i]) < 50);
    if (c == 1) assert_true(bias_of(s, p, cases[c].outputs)[3] < bias_of(s, p, cases[c].outputs)[0] - 5);
    if (c == 0) assert_true(bias_of(s, p, 1)[0] > 5);
    fw_lbfgs_free(s);
    fw_linear_problem_free(p);
    free_rows(&r);
  }
}

/* Rows without any feature: the bias alone, which starts where it ends. */
static void rows_without_features_have_a_bias(void **unused) {
  (void)unused;
  const uint64_t offset[] = {0, 0, 0, 0, 0};
  const double number[] = {1, 2, 3, 6}, sign[] = {1, 1, 1, -1}, class_number[] = {0, 1, 1, 0};
  const furrow_rowblock block = {.size = 4, .offset = offset, .key_type = FURROW_KEY_U64};
  const struct {
    fw_loss_type loss;
    const double *label;
    size_t outputs;
    double bias; /* of the last output less that of the first, or of the only one */
  } expected[] = {{FW_LOSS_L2, number, 1, 3}, {FW_LOSS_LOG, sign, 1, log(3)}, {FW_LOSS_SOFTMAX, class_number, 2, 0}};
  for (size_t i = 0; i < 3; i++) {
    const size_t k = expected[i].outputs;
    fw_lbfgs_state state;
    fw_linear_problem *p = create(&(fw_linear_params){
        .rows = &block, .label = expected[i].label, .loss = expected[i].loss, .outputs = k, .l2 = 1});
    assert_int_equal(fw_linear_problem_size(p), k);
    fw_lbfgs *s = solve(p, NULL, &state);
    const double *bias = bias_of(s, p, k);
    assert_int_equal(state, FW_LBFGS_CONVERGED);
    assert_true(fabs((k > 1 ? bias[k - 1] - bias[0] : bias[0]) - expected[i].bias) < 1e-9);
    fw_lbfgs_free(s);
    fw_linear_problem_free(p);
  }
}

/* ---- Same bytes ---- */

static void threads_change_no_byte(void **unused) {
  (void)unused;
  const unsigned threads[] = {1, 2, 5};
  static const size_t some[] = {0, 1, 4, 5};
  for (size_t n = 0; n < 4; n++)
    for (int wide = 0; wide < 2; wide++) {
      const made_case *c = &cases[some[n]];
      const made_shape shape = shape_of(c, wide, true);
      made_rows r = make_rows(&shape, 4);
      fw_linear_params params = params_for(&r, c->loss, c->outputs);
      params.factors = c->factors;
      params.factor_l2 = 1;
      fw_linear_problem *alone = create(&params);
      const size_t size = fw_linear_problem_size(alone);
      double *start = get(size, sizeof *start);
      for (size_t i = 0; i < size; i++) start[i] = 0.1 * sin((double)i);
      const fw_linear_solver_params from = {.w = start, .value_tolerance = c->factors ? 1e-2 : 0};
      fw_lbfgs_state state;
      fw_lbfgs *first = solve(alone, &from, &state);
      for (size_t t = 0; t < 3; t++) {
        assert_int_equal(fw_spin_pool_create(&params.pool, threads[t], NULL), FURROW_OK);
        fw_linear_problem *p = create(&params);
        fw_lbfgs *s = solve(p, &from, &state);
        assert_memory_equal(s->x, first->x, size * sizeof(double));
        fw_lbfgs_free(s);
        fw_linear_problem_free(p);
        fw_spin_pool_free(params.pool);
      }
      free(start);
      fw_lbfgs_free(first);
      fw_linear_problem_free(alone);
      free_rows(&r);
    }
}

/* The bias and weights of two features, and the product of their vectors, each times its value. */
static void pairs_are_products_of_vectors(void **unused) {
  (void)unused;
  const uint64_t offset[] = {0, 2, 3}, index[] = {1, 5, 5};
  const float value[] = {2, 3, 4};
  const double label[] = {0, 0}, x[] = {10, 1, 2, 20, 3, 4, 0.5}; /* w and v of 1, of 5; b */
  const furrow_rowblock block = {
      .size = 2, .offset = offset, .index.u64 = index, .value.f32 = value, .key_type = FURROW_KEY_U64};
  fw_linear_problem *p =
      create(&(fw_linear_params){.rows = &block, .label = label, .loss = FW_LOSS_L2, .outputs = 1, .factors = 2});
  double scores[2];
  fw_linear_problem_scores(p, x, scores);
  assert_true(fabs(scores[0] - (0.5 + 20 + 60 + 2 * 3 * (3 + 8))) < 1e-12);
  assert_true(fabs(scores[1] - (0.5 + 80)) < 1e-12);
  const double *scale = fw_linear_problem_factor_scale(p);
  assert_true(fabs(scale[0] - pow(4, 0.75)) < 1e-12 && fabs(scale[1] - pow(25, 0.75)) < 1e-12);
  fw_linear_problem_free(p);
}

/* ---- Rows that are used ---- */

/* A row of weight 3 is the row three times; scores of rows in any order are those of the rows. */
static void weights_are_repeated_rows(void **unused) {
  (void)unused;
  for (size_t c = 0; c < CASES; c++) {
    const made_shape shape = shape_of(&cases[c], false, true);
    made_rows r = make_rows(&shape, 9);
    uint32_t *use = get(3 * shape.rows, sizeof *use);
    fw_linear_params params = params_for(&r, cases[c].loss, cases[c].outputs);
    params.use = use;
    for (size_t i = 0; i < shape.rows; i++)
      for (double n = 0; n < r.weight[i]; n++) use[params.count++] = (uint32_t)i;
    fw_linear_problem *repeated = create(&params);
    params.use = NULL;
    params.weight = r.weight;
    fw_linear_problem *weighted = create(&params);
    const size_t k = cases[c].outputs, size = fw_linear_problem_size(weighted);
    assert_int_equal(fw_linear_problem_size(repeated), size);
    double *x = get(size, 8), *a = get(size, 8), *b = get(size, 8), *scores = get(params.count * k, 8);
    for (size_t i = 0; i < size; i++) x[i] = cos((double)i);
    const double value = value_at(repeated, x, a);
    assert_true(fabs(value - value_at(weighted, x, b)) <= 1e-12 * value);
    for (size_t i = 0; i < size; i++) assert_true(fabs(a[i] - b[i]) <= 1e-9 * (1 + fabs(a[i])));
    double *other = get(params.count * k, 8);
    fw_linear_problem_scores(repeated, x, scores);
    fw_linear_problem_score_rows(weighted, x, &r.block, use, params.count, other);
    for (size_t i = 0; i < params.count * k; i++) assert_true(fabs(scores[i] - other[i]) < 1e-12);
    free(x);
    free(a);
    free(b);
    free(scores);
    free(other);
    free(use);
    fw_linear_problem_free(repeated);
    fw_linear_problem_free(weighted);
    free_rows(&r);
  }
}

static void unknown_features_score_0(void **unused) {
  (void)unused;
  const uint64_t offset[] = {0, 2, 5};
  const uint64_t index[] = {7, 2, 7, 100, 0};
  const float value[] = {1, 2, 3, 50, 50};
  const double label[] = {1, -1}, x[] = {10, 100, 1000}; /* of 2, of 7, bias */
  const uint32_t first = 0;
  const furrow_rowblock block = {
      .size = 2, .offset = offset, .index.u64 = index, .value.f32 = value, .key_type = FURROW_KEY_U64};
  fw_linear_problem *p = create(&(fw_linear_params){
      .rows = &block, .use = &first, .count = 1, .label = label, .loss = FW_LOSS_LOG, .outputs = 1});
  double scores[2];
  fw_linear_problem_score_rows(p, x, &block, NULL, 0, scores);
  assert_true(scores[0] == 1120 && scores[1] == 1300);
  fw_linear_problem_free(p);
}

/* ---- What is refused ---- */

static void bad_input_is_refused(void **unused) {
  (void)unused;
  const uint64_t offset[] = {0, 1, 2};
  const uint64_t index[] = {3, 4};
  const float value[] = {1, 2}, infinite[] = {1, INFINITY};
  const double label[] = {1, -1}, zeros[] = {0, 0}, three[] = {0, 3}, half[] = {0, 0.5}, none[] = {1, NAN};
  const double negative[] = {1, -2};
  const furrow_rowblock
      block = {.size = 2, .offset = offset, .index.u64 = index, .value.f32 = value, .key_type = FURROW_KEY_U64},
      wild = {.size = 2, .offset = offset, .index.u64 = index, .value.f32 = infinite, .key_type = FURROW_KEY_U64},
      empty = {.offset = offset, .key_type = FURROW_KEY_U64};
  const fw_linear_params good = {.rows = &block, .label = label, .loss = FW_LOSS_LOG, .outputs = 1, .l2 = 1};
  fw_linear_params bad[14];
  for (size_t i = 0; i < 14; i++) bad[i] = good;
  furrow_status expected[14] = {0};
  size_t n = 0;
#define BAD(field, with, status) \
  do {                           \
    bad[n].field = with;         \
    expected[n++] = status;      \
  } while (0)
  BAD(loss, FW_LOSS_HINGE, FURROW_E_UNSUPPORTED);
  BAD(loss, FW_LOSS_CROSS_ENTROPY, FURROW_E_UNSUPPORTED);
  BAD(rows, &empty, FURROW_E_ARGUMENT);
  BAD(weight, zeros, FURROW_E_ARGUMENT);
  BAD(weight, negative, FURROW_E_RANGE);
  BAD(weight, none, FURROW_E_RANGE);
  BAD(label, zeros, FURROW_E_RANGE);
  BAD(label, none, FURROW_E_RANGE);
  BAD(rows, &wild, FURROW_E_RANGE);
  BAD(range, 4, FURROW_E_RANGE);
  BAD(l2, -1, FURROW_E_ARGUMENT);
  BAD(outputs, 2, FURROW_E_ARGUMENT);
  bad[n].loss = bad[n + 1].loss = FW_LOSS_SOFTMAX;
  bad[n].outputs = bad[n + 1].outputs = 3;
  BAD(label, three, FURROW_E_RANGE);
  BAD(label, half, FURROW_E_RANGE);
#undef BAD
  assert_int_equal(n, 14);
  for (size_t i = 0; i < n; i++) {
    fw_linear_problem *p = NULL;
    furrow_error err = {0};
    assert_int_equal(fw_linear_problem_create(&p, &bad[i], &err), expected[i]);
    assert_null(p);
    assert_true(err.message[0] != 0);
  }
  fw_linear_problem_free(create(&good));
}

/* ---- Memory ---- */

static furrow_status solve_once(const fw_linear_params *params) {
  fw_linear_problem *p = NULL;
  fw_lbfgs *s = NULL;
  furrow_status status = fw_linear_problem_create(&p, params, NULL);
  if (status == FURROW_OK) status = fw_linear_solver_create(&s, p, NULL, NULL);
  fw_lbfgs_state state;
  if (status == FURROW_OK) status = fw_lbfgs_step(s, &state, NULL);
  fw_lbfgs_free(s);
  fw_linear_problem_free(p);
  return status;
}

static void memory_runs_out(void **unused) {
  (void)unused;
  if (!FAILING_ALLOC) skip();
  for (int wide = 0; wide < 2; wide++) {
    const made_shape shape = shape_of(&cases[0], wide, true);
    made_rows r = make_rows(&shape, 4);
    fw_linear_params params = params_for(&r, FW_LOSS_LOG, 1);
    params.weight = r.weight;
    long n = 1, unharmed = 0;
    for (bool failed = true; failed; n++) {
      const long live = atomic_load(&alloc_live);
      alloc_fail_at(n);
      const furrow_status status = solve_once(&params);
      failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      if (status != FURROW_OK || !failed) assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
      unharmed += failed && status == FURROW_OK;
      assert_int_equal(atomic_load(&alloc_live), live);
    }
    assert_true(n > 15 && unharmed <= 1); /* sorting does without memory that it cannot get */
    free_rows(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_differences),
      cmocka_unit_test(both_ways_to_sum_are_equal),
      cmocka_unit_test(solutions_are_optimal),
      cmocka_unit_test(a_small_ridge_is_exact),
      cmocka_unit_test(warm_starts_need_fewer_passes),
      cmocka_unit_test(missing_classes_end_finite),
      cmocka_unit_test(rows_without_features_have_a_bias),
      cmocka_unit_test(threads_change_no_byte),
      cmocka_unit_test(pairs_are_products_of_vectors),
      cmocka_unit_test(weights_are_repeated_rows),
      cmocka_unit_test(unknown_features_score_0),
      cmocka_unit_test(bad_input_is_refused),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
