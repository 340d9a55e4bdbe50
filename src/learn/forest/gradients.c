/* learn/forest/gradients.c: gradients and hessians of rows as whole numbers.
 *
 * A number x in units is rounded to floor(x + u), u in [0, 1) by the row's number and a key: its mean is x, so that
 * sums over many rows have no bias. Units are powers of two: what has few bits, as do hessians of 1, stays exact. Loops
 * run over blocks of rows: the usual ones are kernels (kern/math/trees.h), the others plain C that compilers turn into
 * vectors (this file is compiled with -O3). */
#include "learn/forest/gradients.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kern/math/trees.h"

enum { BLOCK = 256, LEAST_ROWS = 1 << 13, MOST_TASKS = 256 };
#define LEAST_HESSIAN 1e-16F

/* ---- A block of rows ---- */

typedef struct block {
  float gradient[BLOCK], hessian[BLOCK];
} block;

/* Limits the arguments of fw_exp_of. This is a separate loop, because compilers would turn it into branches
 * otherwise. */
static void limit_block(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = x[i] < -87.0F ? -87.0F : x[i];
  for (size_t i = 0; i < n; i++) x[i] = x[i] > 88.0F ? 88.0F : x[i];
}

static void square_block(const fw_gradient_job *job, size_t begin, size_t n, block *out) {
  const double *score = job->score + begin;
  const float *label = job->rows->label + begin;
  for (size_t i = 0; i < n; i++) {
    out->gradient[i] = (float)(score[i] + job->base - (double)label[i]);
    out->hessian[i] = 1.0F;
  }
}

/* Slopes of the pinball loss, of level 1/2 twice as steep: the absolute error. A row that is met exactly has none. */
static void quantile_block(const fw_gradient_job *job, size_t begin, size_t n, block *out) {
  const double *score = job->score + begin;
  const float *label = job->rows->label + begin;
  const double steep = job->loss == FW_LOSS_ABSOLUTE ? 2 : 1;
  const float above = (float)(steep * job->level), below = (float)(steep * (1 - job->level));
  for (size_t i = 0; i < n; i++) {
    const double d = score[i] + job->base - (double)label[i];
    out->gradient[i] = d < 0 ? -above : d > 0 ? below : d < d || d > d ? NAN : 0.0F;
    out->hessian[i] = 1.0F;
  }
}

/* exp(z) - y, and exp(z). */
static void poisson_block(const fw_gradient_job *job, size_t begin, size_t n, block *out) {
  const double *score = job->score + begin;
  const float *label = job->rows->label + begin;
  float x[BLOCK];
  for (size_t i = 0; i < n; i++) x[i] = (float)(score[i] + job->base);
  limit_block(x, n);
  for (size_t i = 0; i < n; i++) {
    const float mean = fw_exp_of(x[i]);
    out->gradient[i] = mean - label[i];
    out->hessian[i] = mean;
  }
}

static void softmax_block(const fw_gradient_job *job, size_t begin, size_t n, block *out) {
  const double *score = job->score + begin;
  const float *label = job->rows->label + begin, *sum = job->log_sum + begin, class_number = (float)job->class_number;
  float x[BLOCK];
  for (size_t i = 0; i < n; i++) x[i] = (float)(score[i] + job->base - (double)sum[i]);
  limit_block(x, n);
  for (size_t i = 0; i < n; i++) {
    const float p = fw_exp_of(x[i]);
    out->gradient[i] = p - (label[i] == class_number ? 1.0F : 0.0F);
    out->hessian[i] = 2.0F * p * (1.0F - p) + LEAST_HESSIAN;
  }
}

static void ranked_block(const fw_gradient_job *job, size_t begin, size_t n, block *out) {
  memcpy(out->gradient, job->lambdas->gradient + begin, n * sizeof *out->gradient);
  memcpy(out->hessian, job->lambdas->hessian + begin, n * sizeof *out->hessian);
}

static void weigh_block(const float *weight, size_t n, block *out) {
  for (size_t i = 0; i < n; i++) {
    out->gradient[i] *= weight[i];
    out->hessian[i] *= weight[i];
  }
}

static void fill_block(const fw_gradient_job *job, size_t begin, size_t n, block *out) {
  if (job->loss == FW_LOSS_LOG) {
    fw_trees_table()->logistic(job->score + begin, job->rows->label + begin, (float)job->base, n, out->gradient,
                               out->hessian);
  } else if (job->loss == FW_LOSS_SOFTMAX) {
    softmax_block(job, begin, n, out);
  } else if (job->lambdas) {
    ranked_block(job, begin, n, out);
  } else if (job->loss == FW_LOSS_POISSON) {
    poisson_block(job, begin, n, out);
  } else if (job->loss == FW_LOSS_ABSOLUTE || job->loss == FW_LOSS_QUANTILE) {
    quantile_block(job, begin, n, out);
  } else {
    square_block(job, begin, n, out);
  }
  if (job->rows->weight) weigh_block(job->rows->weight + begin, n, out);
}

/* The largest size of some numbers; infinity or NaN where one is not finite. As whole numbers, bits of floats that are
 * not negative are in the order of the floats, NaN above all. */
static float most_of_block(const float *number, size_t n) {
  int32_t most = 0;
  float size;
  for (size_t i = 0; i < n; i++) {
    int32_t bits;
    memcpy(&bits, &number[i], sizeof bits);
    bits &= INT32_MAX;
    most = bits > most ? bits : most;
  }
  memcpy(&size, &most, sizeof size);
  return size;
}

/* ---- All rows ---- */

/* The rows of task i of `tasks`, in whole blocks. */
static size_t task_begin(size_t rows, size_t tasks, size_t i) {
  return i == tasks ? rows : rows / BLOCK * i / tasks * BLOCK;
}

static size_t tasks_for(size_t rows) {
  const size_t tasks = rows / LEAST_ROWS + 1;
  return tasks < MOST_TASKS ? tasks : MOST_TASKS;
}

typedef struct filler {
  const fw_gradient_job *job;
  uint64_t *pair; /* NULL: only the largest is wanted */
  fw_round_rule rule;
  size_t tasks;
  float most[MOST_TASKS];         /* |gradient| of each task's rows; infinity: some is not a number */
  float most_hessian[MOST_TASKS]; /* of PoissonLoss */
  int64_t gradient_sum[MOST_TASKS], hessian_sum[MOST_TASKS];
} filler;

/* Of a block: its sums fit into a word. */
static void pack_block(filler *f, size_t task, const block *b, size_t begin, size_t n) {
  const uint64_t sum = fw_trees_table()->pack(&f->rule, (uint32_t)(f->job->first_row + begin), b->gradient, b->hessian,
                                              n, f->pair + begin);
  f->gradient_sum[task] += fw_pair_gradient(sum);
  f->hessian_sum[task] += fw_pair_hessian(sum);
}

static void fill_rows(void *context, size_t task) {
  filler *f = context;
  const size_t rows = f->job->rows->rows, end = task_begin(rows, f->tasks, task + 1);
  block b;
  float most = 0, most_hessian = 0;
  f->gradient_sum[task] = f->hessian_sum[task] = 0;
  for (size_t begin = task_begin(rows, f->tasks, task); begin < end && most < INFINITY; begin += BLOCK) {
    const size_t n = end - begin < BLOCK ? end - begin : BLOCK;
    fill_block(f->job, begin, n, &b);
    const float size = most_of_block(b.gradient, n);
    if (f->job->loss == FW_LOSS_POISSON) most_hessian = fmaxf(most_hessian, most_of_block(b.hessian, n));
    most = size <= most ? most : isnan(size) ? INFINITY : size;
    if (f->pair && most < INFINITY) pack_block(f, task, &b, begin, n);
  }
  f->most[task] = most;
  f->most_hessian[task] = most_hessian;
}

static float run_filler(filler *f, fw_spin_pool *pool) {
  float most = 0;
  f->tasks = tasks_for(f->job->rows->rows);
  fw_spin_pool_run(pool, f->tasks, fill_rows, f);
  for (size_t i = 0; i < f->tasks; i++) most = f->most[i] > most ? f->most[i] : most;
  return most;
}

static furrow_status check_most(double most, furrow_error *err) {
  if (most < INFINITY) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE, "a gradient is not a finite number");
  fw_error_set_hint(err, "the learning rate (key `lr`) is too high, or labels or weights are too large");
  return FURROW_E_RANGE;
}

/* The largest power of two by which numbers up to `most` stay below 2^FW_PAIR_BITS when they are rounded up. */
static double scale_for(double most) {
  int exponent = 0;
  if (!(most > 0)) return 1;
  (void)frexp(most / ((1 << FW_PAIR_BITS) - 2), &exponent); /* most / limit <= 2^exponent */
  exponent = exponent < -100 ? -100 : exponent > 100 ? 100 : exponent;
  return ldexp(1.0, -exponent);
}

static double most_hessian_of(const filler *f) {
  const fw_gradient_job *job = f->job;
  float most = 0;
  if (!job->lambdas) {
    for (size_t i = 0; i < f->tasks; i++) most = fmaxf(most, f->most_hessian[i]);
    return (double)most;
  }
  const float *hessian = job->lambdas->hessian, *weight = job->rows->weight;
  for (size_t i = 0; i < job->rows->rows; i++) {
    const float size = hessian[i] * (weight ? weight[i] : 1.0F);
    most = size > most ? size : most;
  }
  return (double)most;
}

/* The largest |gradient| and hessian that a row of any rank can have; those that labels and scores do not bound are
 * looked for. */
static furrow_status find_most(filler *f, fw_spin_pool *pool, double most[2], furrow_error *err) {
  const fw_gradient_job *job = f->job;
  most[0] = most[1] = job->most_weight;
  if (job->loss == FW_LOSS_LOG || job->loss == FW_LOSS_SOFTMAX) {
    most[1] *= job->loss == FW_LOSS_LOG ? 0.25 : 0.5;
    return FURROW_OK;
  }
  most[0] = (double)run_filler(f, pool);
  if (job->lambdas || job->loss == FW_LOSS_POISSON) most[1] = most_hessian_of(f);
  FW_TRY(fw_comm_max_f64(job->comm, most, 2, err));
  return check_most(most[0], err);
}

furrow_status fw_gradients_fill(fw_gradients *gradients, const fw_gradient_job *job, fw_spin_pool *pool,
                                furrow_error *err) {
  filler f = {.job = job};
  double most[2];
  FW_TRY(find_most(&f, pool, most, err));
  const double g_scale = scale_for((double)(float)most[0]), h_scale = scale_for(most[1]);
  f.rule = (fw_round_rule){(float)g_scale, (float)h_scale, (uint32_t)job->key};
  f.pair = gradients->pair;
  FW_TRY(fw_comm_share_status(job->comm, check_most((double)run_filler(&f, pool), err), err));
  gradients->gradient_unit = 1.0 / g_scale;
  gradients->hessian_unit = 1.0 / h_scale;
  gradients->most_hessian = ceil(most[1] * h_scale) + 1;
  gradients->gradient_sum = gradients->hessian_sum = 0;
  for (size_t i = 0; i < f.tasks; i++) {
    gradients->gradient_sum += f.gradient_sum[i];
    gradients->hessian_sum += f.hessian_sum[i];
  }
  return FURROW_OK;
}

/* ---- Softmax ---- */

typedef struct summer {
  const double *score, *base;
  size_t rows, classes, tasks;
  float *log_sum;
} summer;

static inline double score_at(const summer *s, size_t c, size_t row) {
  return s->score[c * s->rows + row] + (s->base ? s->base[c] : 0);
}

static double log_sum_of(const summer *s, size_t row) {
  double most = score_at(s, 0, row), sum = 0;
  for (size_t c = 1; c < s->classes; c++) {
    const double z = score_at(s, c, row);
    most = z > most ? z : most;
  }
  for (size_t c = 0; c < s->classes; c++) sum += exp(score_at(s, c, row) - most);
  return most + log(sum);
}

static void sum_rows(void *context, size_t task) {
  const summer *s = context;
  for (size_t row = task_begin(s->rows, s->tasks, task); row < task_begin(s->rows, s->tasks, task + 1); row++)
    s->log_sum[row] = (float)log_sum_of(s, row);
}

void fw_gradients_log_sums(const double *score, const double *base, size_t rows, size_t classes, fw_spin_pool *pool,
                           float *log_sum) {
  summer s = {score, base, rows, classes, tasks_for(rows), log_sum};
  fw_spin_pool_run(pool, s.tasks, sum_rows, &s);
}
