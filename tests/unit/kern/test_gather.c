/* tests/unit/kern/test_gather.c: sums over rows and over uses against plain loops, the same bits at every level of
 * instructions; likewise steps of optimizers. */
#include "kern/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cmocka_all.h"

enum { ROWS = 40, FEATURES = 30, USES = 300, WIDEST = 70, RECORD = 3 * WIDEST + 5 };

/* Random uses of features by rows, listed both ways, and numbers. */
typedef struct sample {
  uint32_t offset[ROWS + 1], feature[USES], row[USES], place[USES];
  uint32_t use_offset[FEATURES + 1], use[USES];
  float value[USES];
  double numbers[FEATURES * RECORD], grad[2 * USES * WIDEST];
} sample;

static void fill(sample *s, uint64_t seed) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < USES; i++) s->row[i] = (uint32_t)(i * ROWS / USES);
  for (size_t row = 0; row <= ROWS; row++) {
    uint32_t at = 0;
    while (at < USES && s->row[at] < row) at++;
    s->offset[row] = at;
  }
  for (size_t i = 0; i < USES; i++) {
    s->feature[i] = (uint32_t)fw_rng_below(&rng, FEATURES - 1); /* the last has no use */
    s->place[i] = (uint32_t)fw_rng_below(&rng, USES);
    s->value[i] = (float)fw_rng_normal(&rng);
  }
  uint32_t at = 0;
  for (uint32_t feature = 0; feature < FEATURES; feature++) {
    s->use_offset[feature] = at;
    for (uint32_t i = 0; i < USES; i++)
      if (s->feature[i] == feature) s->use[at++] = i;
  }
  s->use_offset[FEATURES] = at;
  for (size_t i = 0; i < FEATURES * RECORD; i++) s->numbers[i] = fw_rng_normal(&rng);
  for (size_t i = 0; i < 2 * USES * WIDEST; i++) s->grad[i] = fw_rng_normal(&rng);
}

/* Numbers of one type, made from doubles. */
static void *typed(const double *from, size_t count, bool wide) {
  void *made = calloc(count, wide ? sizeof(double) : sizeof(float));
  assert_non_null(made);
  for (size_t i = 0; i < count; i++) {
    if (wide)
      ((double *)made)[i] = from[i];
    else
      ((float *)made)[i] = (float)from[i];
  }
  return made;
}

static double at(const void *numbers, size_t i, bool wide) {
  return wide ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static void *behind(void *numbers, size_t i, bool wide) {
  return wide ? (void *)((double *)numbers + i) : (void *)((float *)numbers + i);
}

static void assert_near(double found, double expected, bool wide) {
  const double most = (wide ? 1e-12 : 2e-5) * (10 + (expected < 0 ? -expected : expected));
  if (!(found - expected <= most && expected - found <= most)) fail_msg("%.12g, not %.12g", found, expected);
}

/* ---- One shape, one level ---- */

typedef struct gather_shape {
  size_t n;
  bool wide, valued, squares, placed;
} gather_shape;

static double value_of(const sample *s, const gather_shape *shape, uint32_t use) {
  return shape->valued ? (double)s->value[use] : 1;
}

/* Returns the outputs: ROWS * stride numbers. */
static void *run_rows(const sample *s, const gather_shape *shape, const fw_gather *kernels, void *records,
                      size_t stride) {
  double *nothing = calloc(ROWS * stride, sizeof *nothing);
  void *record[FEATURES], *out = typed(nothing, ROWS * stride, shape->wide);
  free(nothing);
  for (size_t i = 0; i < FEATURES; i++) record[i] = behind(records, i * RECORD, shape->wide);
  const fw_gather_rows job = {
      .n = shape->n,
      .offset = s->offset,
      .uses = USES,
      .feature = s->feature,
      .value = shape->valued ? s->value : NULL,
      .record = record,
      .at = 3,
      .start = shape->squares ? NULL : records,
      .out = out,
      .squares = shape->squares ? behind(out, shape->n, shape->wide) : NULL,
      .stride = stride,
  };
  kernels->rows(&job, 0, 11);
  kernels->rows(&job, 11, ROWS);
  return out;
}

static void check_rows(const sample *s, const gather_shape *shape, const void *records, const void *out,
                       size_t stride) {
  for (size_t row = 0; row < ROWS; row++)
    for (size_t j = 0; j < shape->n; j++) {
      double sum = shape->squares ? 0 : at(records, j, shape->wide), squares = 0;
      for (uint32_t use = s->offset[row]; use < s->offset[row + 1]; use++) {
        const double u = at(records, s->feature[use] * RECORD + 3 + j, shape->wide) * value_of(s, shape, use);
        sum += u;
        squares += u * u;
      }
      assert_near(at(out, row * stride + j, shape->wide), sum, shape->wide);
      if (shape->squares) assert_near(at(out, row * stride + shape->n + j, shape->wide), squares, shape->wide);
    }
}

static void *run_uses(const sample *s, const gather_shape *shape, const fw_gather *kernels, void *records, void *grad,
                      size_t stride) {
  static const double nothing[FEATURES * WIDEST];
  void *record[FEATURES], *sum = typed(nothing, FEATURES * shape->n, shape->wide);
  for (size_t i = 0; i < FEATURES; i++) record[i] = behind(records, i * RECORD, shape->wide);
  const fw_gather_uses job = {
      .n = shape->n,
      .offset = s->use_offset,
      .use = s->use,
      .place = shape->placed ? s->place : s->use,
      .value = shape->valued ? s->value : NULL,
      .from = grad,
      .squares = shape->squares ? behind(grad, shape->n, shape->wide) : NULL,
      .stride = stride,
      .record = record,
      .at = 3,
  };
  kernels->uses(&job, 0, 7, sum);
  kernels->uses(&job, 7, FEATURES, behind(sum, 7 * shape->n, shape->wide));
  return sum;
}

static void check_uses(const sample *s, const gather_shape *shape, const void *records, const void *grad,
                       const void *found, size_t stride) {
  for (size_t feature = 0; feature < FEATURES; feature++)
    for (size_t j = 0; j < shape->n; j++) {
      double sum = 0, squares = 0;
      for (uint32_t i = s->use_offset[feature]; i < s->use_offset[feature + 1]; i++) {
        const uint32_t use = s->use[i];
        const size_t from = (shape->placed ? s->place[i] : use) * stride + j;
        const double x = value_of(s, shape, use);
        sum += x * at(grad, from, shape->wide);
        if (shape->squares) squares += x * x * at(grad, from + shape->n, shape->wide);
      }
      sum += 2 * at(records, feature * RECORD + 3 + j, shape->wide) * squares;
      assert_near(at(found, feature * shape->n + j, shape->wide), sum, shape->wide);
    }
}

/* ---- All shapes, all levels ---- */

static void check_shape(const sample *s, const gather_shape *shape) {
  const size_t bytes = shape->wide ? sizeof(double) : sizeof(float), stride = shape->n * (shape->squares ? 2 : 1);
  void *records = typed(s->numbers, FEATURES * RECORD, shape->wide);
  void *grad = typed(s->grad, 2 * USES * WIDEST, shape->wide);
  void *rows = NULL, *uses = NULL;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_kernels kernels = fw_kernels_at(isa);
    const fw_gather *gather = shape->wide ? &kernels.gather_f64 : &kernels.gather_f32;
    void *rows_now = run_rows(s, shape, gather, records, stride);
    void *uses_now = run_uses(s, shape, gather, records, grad, stride);
    if (!rows) {
      check_rows(s, shape, records, rows_now, stride);
      check_uses(s, shape, records, grad, uses_now, stride);
      rows = rows_now;
      uses = uses_now;
      continue;
    }
    assert_memory_equal(rows, rows_now, ROWS * stride * bytes);
    assert_memory_equal(uses, uses_now, FEATURES * shape->n * bytes);
    free(rows_now);
    free(uses_now);
  }
  free(rows);
  free(uses);
  free(records);
  free(grad);
}

static void test_gather(void **state) {
  (void)state;
  static sample s;
  fill(&s, 5);
  for (size_t n = 1; n <= WIDEST; n += n < 20 ? 1 : 7)
    for (unsigned kind = 0; kind < 16; kind++) {
      const gather_shape shape = {
          .n = n, .wide = kind & 1, .valued = kind & 2, .squares = kind & 4, .placed = kind & 8};
      check_shape(&s, &shape);
    }
}

/* ---- Steps: the rules themselves are checked with a net (test_learn_net_optimizers.c) ---- */

enum { STEP_KERNELS = sizeof(fw_steps) / sizeof(fw_step_kernel) };

static const fw_step_kernel *kernel_at(const fw_steps *steps, size_t i) {
  const fw_step_kernel *all[STEP_KERNELS] = {&steps->sgd,  &steps->momentum, &steps->adagrad,          &steps->adadelta,
                                             &steps->adam, &steps->ftrl,     &steps->published_adagrad};
  return all[i];
}

/* `numbers` has FEATURES records of 3 n numbers; n weights, then the state. */
static void step_both_ways(const fw_step_kernel *kernel, const fw_step_rule *rule, size_t n, bool wide, void *by_record,
                           void *by_array, const void *sum) {
  void *record[FEATURES];
  for (size_t i = 0; i < FEATURES; i++) record[i] = behind(by_record, i * 3 * n, wide);
  kernel->records(rule, n, FEATURES, record, 0, sum);
  for (size_t i = 0; i < FEATURES; i++) {
    const size_t from = i * 3 * n;
    const void *sums = wide ? (const void *)((const double *)sum + i * n) : (const void *)((const float *)sum + i * n);
    kernel->array(rule, n, behind(by_array, from, wide), behind(by_array, from + n, wide),
                  behind(by_array, from + 2 * n, wide), sums);
  }
}

static void check_steps(const sample *s, size_t i, size_t n, bool wide, double l1) {
  const fw_step_rule rule = {.rate = 0.1, .a = 0.9, .b = 0.8, .l1 = l1, .l2 = l1 / 2, .young = 1.5, .per_row = 0.25};
  const size_t count = FEATURES * 3 * n, bytes = count * (wide ? sizeof(double) : sizeof(float));
  static double start[FEATURES * 3 * WIDEST];
  for (size_t k = 0; k < count; k++) start[k] = s->grad[k] < 0 && k / n % 3 == 2 ? -s->grad[k] : s->grad[k];
  for (size_t k = 0; k < count; k++)
    start[k] = k / n % 3 == 1 && (i < 4 || i == 6) && start[k] < 0 ? -start[k] : start[k];
  void *sum = typed(s->numbers, FEATURES * n, wide), *first = NULL;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_kernels kernels = fw_kernels_at(isa);
    const fw_steps *steps = wide ? &kernels.steps_f64 : &kernels.steps_f32;
    void *by_record = typed(start, count, wide), *by_array = typed(start, count, wide);
    step_both_ways(kernel_at(steps, i), &rule, n, wide, by_record, by_array, sum);
    assert_memory_equal(by_record, by_array, bytes);
    for (size_t k = 0; k < count; k++) assert_true(at(by_record, k, wide) == at(by_record, k, wide));
    if (first) assert_memory_equal(first, by_record, bytes);
    free(by_array);
    if (first)
      free(by_record);
    else
      first = by_record;
  }
  free(first);
  free(sum);
}

static void test_steps(void **state) {
  (void)state;
  static sample s;
  fill(&s, 6);
  for (size_t i = 0; i < STEP_KERNELS; i++)
    for (size_t n = 1; n <= WIDEST; n += n < 20 ? 1 : 7)
      for (unsigned kind = 0; kind < 4; kind++) check_steps(&s, i, n, kind & 1, kind & 2 ? 0.05 : 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gather), cmocka_unit_test(test_steps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
