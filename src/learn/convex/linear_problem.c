/* learn/convex/linear_problem.c: objective and gradient of linear models and factorization machines over rows in
 * memory.
 *
 * Rows are cut into blocks, at most 64 of them. With few parameters, each block sums its own gradient in one pass over
 * the rows, and the gradients of the blocks are added in order. With more, the pass stores the derivatives of rows, and
 * the gradient is summed by feature over a transposed copy of the rows: the list of uses is cut into segments of equal
 * length, so that several threads work on a feature that most rows have; the partial sums of such a feature are added
 * in order.
 *
 * Several ranks use the same blocks and segments as one process does, so that sums have the same bits: rows move to the
 * rank that has their block, uses to the rank that has their feature. In each pass ranks exchange the sums of blocks,
 * or the derivatives of rows and the gradient of features. Parameters are the same on all ranks. */
#include "learn/convex/linear_problem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "learn/convex/linear_parts.h"

enum { PARAMETER_BLOCK = 1 << 12 };
enum { COLUMNS = 16 }; /* of vectors, summed at once */

/* With more parameters the gradient is summed by feature. */
#define MOST_PARAMETERS_BY_BLOCK ((size_t)1 << 14)

/* ---- Work in threads ---- */

static void run_tasks(const fw_linear_problem *p, size_t count, void (*body)(void *context, size_t i), void *context) {
  if (p->pool && count > 1)
    fw_spin_pool_run(p->pool, count, body, context);
  else
    for (size_t i = 0; i < count; i++) body(context, i);
}

static size_t own_blocks(const fw_linear_problem *p) {
  return p->block_begin[p->comm->rank + 1] - p->block_begin[p->comm->rank];
}

/* The first row of block i of this rank. */
static size_t block_row(const fw_linear_problem *p, size_t i) {
  const size_t all = p->row_begin[p->comm->ranks];
  return fw_piece_begin(all, p->blocks, p->block_begin[p->comm->rank] + i) - p->row_begin[p->comm->rank];
}

furrow_status fw_linear_add_by_rank(const fw_linear_problem *p, void (*add)(const fw_linear_problem *p, void *state),
                                    void *state, size_t bytes, furrow_error *err) {
  for (unsigned r = 0; r < p->comm->ranks; r++) {
    if (r == p->comm->rank) add(p, state);
    if (p->comm->ranks > 1) FW_TRY(p->comm->broadcast(p->comm, state, bytes, r, err));
  }
  return FURROW_OK;
}

/* ---- Losses ---- */

static double softplus(double x) {
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* The loss of score z[0 … outputs-1]; z becomes the derivatives. */
static double loss_and_slopes(const fw_linear_problem *p, double label, double *z) {
  if (p->loss == FW_LOSS_LOG) {
    const double margin = z[0] * label;
    z[0] = -label / (1 + exp(margin));
    return softplus(-margin);
  }
  if (p->loss == FW_LOSS_SOFTMAX) {
    double most = z[0], sum = 0;
    const double given = z[(size_t)label];
    for (size_t k = 1; k < p->outputs; k++) most = z[k] > most ? z[k] : most;
    for (size_t k = 0; k < p->outputs; k++) sum += z[k] = exp(z[k] - most);
    for (size_t k = 0; k < p->outputs; k++) z[k] /= sum;
    z[(size_t)label] -= 1;
    return most + log(sum) - given;
  }
  if (p->loss == FW_LOSS_POISSON) {
    const double mean = exp(z[0]), loss = mean - label + (label > 0 ? label * (log(label) - z[0]) : 0);
    z[0] = mean - label;
    return loss;
  }
  const double d = z[0] - label;
  if (p->loss == FW_LOSS_HUBER && fabs(d) > p->delta) {
    z[0] = d > 0 ? p->delta : -p->delta;
    return p->delta * fabs(d) - 0.5 * p->delta * p->delta;
  }
  z[0] = d;
  return 0.5 * d * d;
}

/* ---- Rows times parameters ---- */

/* Four partial sums hide the latency of an addition. */
static inline double dot_row(const uint32_t *feature, const float *value, size_t n, const double *w) {
  double sum[4] = {0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t k = 0; k < 4; k++) sum[k] += w[feature[i + k]] * (value ? (double)value[i + k] : 1.0);
  for (; i < n; i++) sum[i & 3] += w[feature[i]] * (value ? (double)value[i] : 1.0);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static inline void add_scaled(double *to, double factor, const double *from, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* Sums value * v over the features of a row, for n columns of the vectors v from `at` on. The sum of the products of
 * all pairs is (square of the sum - sum of the squares) / 2. */
static double pairs_of_row(const fw_linear_problem *p, const double *x, size_t row, size_t at, size_t n, double *sum) {
  double squares[COLUMNS] = {0}, total = 0;
  for (size_t j = 0; j < n; j++) sum[j] = 0;
  for (uint64_t i = p->offset[row]; i < p->offset[row + 1]; i++) {
    const double value = p->value ? (double)p->value[i] : 1.0, *v = x + p->feature[i] * p->width + p->outputs + at;
    for (size_t j = 0; j < n; j++) {
      const double u = value * v[j];
      sum[j] += u;
      squares[j] += u * u;
    }
  }
  for (size_t j = 0; j < n; j++) total += sum[j] * sum[j] - squares[j];
  return total / 2;
}

/* What the vectors add to the score of a row. sums: of each column; NULL: not wanted. */
static double score_pairs(const fw_linear_problem *p, const double *x, size_t row, double *sums) {
  double own[COLUMNS], total = 0;
  for (size_t at = 0; at < p->factors; at += COLUMNS) {
    const size_t n = p->factors - at < COLUMNS ? p->factors - at : COLUMNS;
    double *sum = sums ? sums + at : own;
    total += n == 8 ? pairs_of_row(p, x, row, at, 8, sum) : pairs_of_row(p, x, row, at, n, sum);
  }
  return total;
}

/* The part of a score that is linear in the features. */
static void score_row(const fw_linear_problem *p, const double *x, size_t row, double *z) {
  const uint64_t begin = p->offset[row], end = p->offset[row + 1];
  const double *bias = x + p->features * p->width;
  const float *value = p->value ? p->value + begin : NULL;
  const uint32_t *feature = p->feature + begin;
  if (p->width == 1) {
    const size_t n = (size_t)(end - begin);
    z[0] = bias[0] + (value ? dot_row(feature, value, n, x) : dot_row(feature, NULL, n, x));
    return;
  }
  memcpy(z, bias, p->outputs * sizeof *z);
  for (uint64_t i = 0; i < end - begin; i++)
    add_scaled(z, value ? (double)value[i] : 1.0, x + feature[i] * p->width, p->outputs);
}

/* The derivative by a vector v is value * (derivative by the sums) - value^2 * (derivative by the output) * v. */
static void add_row_factors(const fw_linear_problem *p, const double *x, size_t row, const double *slope,
                            double *gradient) {
  for (uint64_t i = p->offset[row]; i < p->offset[row + 1]; i++) {
    const double value = p->value ? (double)p->value[i] : 1.0, square = value * value * slope[0];
    const double *v = x + p->feature[i] * p->width;
    double *g = gradient + p->feature[i] * p->width;
    g[0] += value * slope[0];
    for (size_t j = 1; j < p->width; j++) g[j] += value * slope[j] - square * v[j];
  }
}

/* gradient[feature][output] += value * slope[output] for the uses of a row. */
static void add_row(const fw_linear_problem *p, const double *x, size_t row, const double *slope, double *gradient) {
  const uint64_t begin = p->offset[row], end = p->offset[row + 1];
  if (p->factors > 0) {
    add_row_factors(p, x, row, slope, gradient);
  } else if (p->outputs > 1) {
    for (uint64_t i = begin; i < end; i++)
      add_scaled(gradient + p->feature[i] * p->outputs, p->value ? (double)p->value[i] : 1.0, slope, p->outputs);
  } else if (p->value) {
    for (uint64_t i = begin; i < end; i++) gradient[p->feature[i]] += slope[0] * (double)p->value[i];
  } else {
    for (uint64_t i = begin; i < end; i++) gradient[p->feature[i]] += slope[0];
  }
}

/* One pass over rows or features at the parameters x, in tasks. */
typedef struct pass {
  const fw_linear_problem *p;
  const double *x;
  double *gradient, *scores; /* what is wanted */
} pass;

/* The number of parameters whose gradient a block sums, including the bias, which is the last one. */
static size_t block_width(const fw_linear_problem *p) {
  return p->by_feature ? p->outputs : fw_linear_problem_size(p);
}

/* Writes the derivatives of a row's loss, times its weight; returns the loss. */
static double row_slopes(const fw_linear_problem *p, const double *x, size_t row, double *slope) {
  const double weight = p->weight ? p->weight[row] : 1;
  score_row(p, x, row, slope);
  if (p->factors > 0) slope[0] += score_pairs(p, x, row, slope + 1);
  const double loss = weight * loss_and_slopes(p, p->label[row], slope);
  if (p->weight)
    for (size_t k = 0; k < p->outputs; k++) slope[k] *= weight;
  for (size_t j = 1; j < p->factors + 1; j++) slope[j] *= slope[0];
  return loss;
}

static void pass_rows(void *context, size_t block) {
  const pass *at = context;
  const fw_linear_problem *p = at->p;
  const size_t end = block_row(p, block + 1), width = block_width(p);
  double *gradient = p->block_gradient + block * width, *bias = gradient + width - p->outputs, value = 0;
  memset(gradient, 0, width * sizeof *gradient);
  for (size_t row = block_row(p, block); row < end; row++) {
    double *slope = p->slope + (p->by_feature ? row : block) * p->width;
    value += row_slopes(p, at->x, row, slope);
    for (size_t k = 0; k < p->outputs; k++) bias[k] += slope[k];
    if (!p->by_feature) add_row(p, at->x, row, slope, gradient);
  }
  p->block_value[block] = value;
}

/* ---- The gradient, from blocks ---- */

static void add_blocks(void *context, size_t piece) {
  const pass *at = context;
  const fw_linear_problem *p = at->p;
  const size_t size = fw_linear_problem_size(p), begin = piece * PARAMETER_BLOCK;
  const size_t n = size - begin < PARAMETER_BLOCK ? size - begin : PARAMETER_BLOCK;
  double *gradient = at->gradient + begin;
  memcpy(gradient, p->all_gradient + begin, n * sizeof *gradient);
  for (size_t block = 1; block < p->blocks; block++) add_scaled(gradient, 1, p->all_gradient + block * size + begin, n);
}

/* ---- The gradient, by feature ---- */

/* v: the parameters of the feature. */
static void sum_factors(const fw_linear_problem *p, const double *v, uint64_t begin, uint64_t end, double *sum) {
  double squares = 0;
  for (uint64_t i = begin; i < end; i++) {
    const double value = p->use_value ? (double)p->use_value[i] : 1.0;
    squares += value * value * p->all_slope[p->use_row[i] * p->width];
  }
  for (size_t j = 1; j < p->width; j++) sum[j] -= squares * v[j];
}

static void sum_uses(const fw_linear_problem *p, const double *v, uint64_t begin, uint64_t end, double *sum) {
  if (p->width == 1) {
    double total = 0;
    for (uint64_t i = begin; i < end; i++)
      total += p->all_slope[p->use_row[i]] * (p->use_value ? (double)p->use_value[i] : 1.0);
    sum[0] = total;
    return;
  }
  memset(sum, 0, p->width * sizeof *sum);
  for (uint64_t i = begin; i < end; i++)
    add_scaled(sum, p->use_value ? (double)p->use_value[i] : 1.0, p->all_slope + p->use_row[i] * p->width, p->width);
  if (p->factors > 0) sum_factors(p, v, begin, end, sum);
}

static void sum_segment(void *context, size_t segment) {
  const pass *at = context;
  const fw_linear_problem *p = at->p;
  const size_t uses = (size_t)p->use_offset[p->features];
  const uint64_t begin = fw_piece_begin(uses, p->segments, segment),
                 end = fw_piece_begin(uses, p->segments, segment + 1);
  const uint64_t base = p->use_offset[p->first_feature];
  double *before = p->cut + 2 * segment * p->width, *behind = before + p->width;
  const size_t first = p->segment_feature[segment];
  for (size_t f = first < p->first_feature ? p->first_feature : first; f < p->last_feature && p->use_offset[f] < end;
       f++) {
    const uint64_t from = p->use_offset[f], to = p->use_offset[f + 1];
    double *sum = from < begin ? before : to > end ? behind : at->gradient + f * p->width;
    sum_uses(p, at->x + f * p->width, (from < begin ? begin : from) - base, (to > end ? end : to) - base, sum);
  }
}

static bool is_own(const fw_linear_problem *p, size_t feature) {
  return feature >= p->first_feature && feature < p->last_feature;
}

/* Adds up features that several segments share: the segment in which a feature begins sets the sum, later ones add to
 * it. */
static void join_segments(const fw_linear_problem *p, double *gradient) {
  const size_t uses = (size_t)p->use_offset[p->features], bytes = p->width * sizeof *gradient;
  for (size_t s = 0; s < p->segments; s++) {
    const uint64_t begin = fw_piece_begin(uses, p->segments, s), end = fw_piece_begin(uses, p->segments, s + 1);
    const double *before = p->cut + 2 * s * p->width;
    const size_t first = p->segment_feature[s];
    if (p->use_offset[first] < begin && is_own(p, first)) add_scaled(gradient + first * p->width, 1, before, p->width);
    if (s + 1 == p->segments) break;
    const size_t last = p->segment_feature[s + 1];
    if (p->use_offset[last] >= begin && p->use_offset[last] < end && is_own(p, last))
      memcpy(gradient + last * p->width, before + p->width, bytes);
  }
}

static furrow_status sum_by_feature(pass *at, furrow_error *err) {
  const fw_linear_problem *p = at->p;
  const size_t width = p->width, own = p->last_feature - p->first_feature;
  double *bias = at->gradient + p->features * width;
  run_tasks(p, p->segments, sum_segment, at);
  join_segments(p, at->gradient);
  if (p->comm->ranks > 1) {
    memcpy(p->own_gradient, at->gradient + p->first_feature * width, own * width * sizeof *bias);
    FW_TRY(fw_linear_gather(p, p->own_gradient, at->gradient, width * sizeof *bias, p->feature_begin, err));
  }
  memcpy(bias, p->all_gradient, p->outputs * sizeof *bias);
  for (size_t block = 1; block < p->blocks; block++)
    add_scaled(bias, 1, p->all_gradient + block * p->outputs, p->outputs);
  return FURROW_OK;
}

/* Exchanges the results of each rank's rows, so that all ranks have them. */
static furrow_status share_blocks(const fw_linear_problem *p, furrow_error *err) {
  if (p->comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_linear_gather(p, p->block_value, p->all_value, sizeof(double), p->block_begin, err));
  const size_t width = block_width(p) * sizeof(double);
  FW_TRY(fw_linear_gather(p, p->block_gradient, p->all_gradient, width, p->block_begin, err));
  if (!p->by_feature) return FURROW_OK;
  return fw_linear_gather(p, p->slope, p->all_slope, p->width * sizeof(double), p->row_begin, err);
}

/* ---- The objective ---- */

/* Vectors have their own strength of regularisation. */
static double add_penalty_factors(const fw_linear_problem *p, const double *x, double *gradient) {
  double weights = 0, vectors = 0;
  for (size_t f = 0; f < p->features; f++) {
    const double *v = x + f * p->width;
    const double strength = p->factor_l2 * p->factor_scale[f];
    double *g = gradient + f * p->width, sum = 0;
    weights += v[0] * v[0];
    g[0] += p->l2 * v[0];
    for (size_t j = 1; j < p->width; j++) {
      sum += v[j] * v[j];
      g[j] += strength * v[j];
    }
    vectors += p->factor_scale[f] * sum;
  }
  return 0.5 * (p->l2 * weights + p->factor_l2 * vectors);
}

static double penalty(const fw_linear_problem *p, const double *x) {
  const size_t weights = p->features * p->outputs;
  double total = 0;
  for (size_t begin = 0; begin < weights; begin += PARAMETER_BLOCK) {
    const size_t end = weights - begin < PARAMETER_BLOCK ? weights : begin + PARAMETER_BLOCK;
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += x[i] * x[i];
    total += sum;
  }
  return 0.5 * p->l2 * total;
}

static double add_prior(const fw_linear_problem *p, const double *x, double *gradient) {
  const size_t size = fw_linear_problem_size(p);
  double total = 0;
  for (size_t begin = 0; begin < size; begin += PARAMETER_BLOCK) {
    const size_t end = size - begin < PARAMETER_BLOCK ? size : begin + PARAMETER_BLOCK;
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
      const double away = x[i] - p->centre[i];
      gradient[i] += p->strength[i] * away;
      sum += p->strength[i] * away * away;
    }
    total += sum;
  }
  return 0.5 * total;
}

furrow_status fw_linear_problem_evaluate(void *problem, const double *x, double *gradient, double *value,
                                         furrow_error *err) {
  const fw_linear_problem *p = problem;
  pass at = {.p = p, .x = x, .gradient = gradient};
  double sum = 0;
  run_tasks(p, own_blocks(p), pass_rows, &at);
  FW_TRY(share_blocks(p, err));
  if (p->by_feature)
    FW_TRY(sum_by_feature(&at, err));
  else
    run_tasks(p, (fw_linear_problem_size(p) + PARAMETER_BLOCK - 1) / PARAMETER_BLOCK, add_blocks, &at);
  for (size_t block = 0; block < p->blocks; block++) sum += p->all_value[block];
  if (p->factors > 0) {
    sum += add_penalty_factors(p, x, gradient);
  } else if (p->strength) {
    sum += add_prior(p, x, gradient);
  } else if (p->l2 != 0) {
    add_scaled(gradient, p->l2, x, p->features * p->outputs);
    sum += penalty(p, x);
  }
  *value = sum;
  return FURROW_OK;
}

/* ---- Scores ---- */

static void score_block(void *context, size_t block) {
  const pass *s = context;
  const size_t end = block_row(s->p, block + 1);
  for (size_t row = block_row(s->p, block); row < end; row++) {
    score_row(s->p, s->x, row, s->scores + row * s->p->outputs);
    if (s->p->factors > 0) s->scores[row] += score_pairs(s->p, s->x, row, NULL);
  }
}

void fw_linear_problem_scores(const fw_linear_problem *p, const double *x, double *scores) {
  pass s = {.p = p, .x = x, .scores = scores};
  run_tasks(p, own_blocks(p), score_block, &s);
}

/* The number of a key; `features` if the key does not occur. */
static size_t find_feature(const fw_linear_problem *p, uint64_t key) {
  if (key < p->features && p->key[key] == key) return (size_t)key; /* all keys below occur */
  const size_t i = fw_lower_bound_u64(p->key, p->features, sizeof *p->key, key);
  return i < p->features && p->key[i] == key ? i : p->features;
}

void fw_linear_problem_score_rows(const fw_linear_problem *p, const double *x, const furrow_rowblock *rows,
                                  const uint32_t *use, size_t count, double *scores) {
  assert(p->factors == 0);
  for (size_t i = 0; i < (use ? count : rows->size); i++) {
    const furrow_row row = furrow_rowblock_row(rows, use ? use[i] : i);
    double *z = scores + i * p->outputs;
    memcpy(z, x + p->features * p->outputs, p->outputs * sizeof *z);
    for (size_t k = 0; k < row.length; k++) {
      const size_t f = find_feature(p, furrow_row_get_index(&row, k));
      if (f < p->features) add_scaled(z, furrow_row_get_value(&row, k), x + f * p->outputs, p->outputs);
    }
  }
}

/* ---- Problem ---- */

static void add_squares(const fw_linear_problem *p, void *state) {
  double *square = state;
  for (size_t row = 0; row < p->rows; row++)
    for (uint64_t i = p->offset[row]; i < p->offset[row + 1]; i++) {
      const double value = p->value ? (double)p->value[i] : 1;
      square[p->feature[i]] += (p->weight ? p->weight[row] : 1) * value * value;
    }
}

furrow_status fw_linear_sum_squares(const fw_linear_problem *p, double *square, furrow_error *err) {
  memset(square, 0, p->features * sizeof *square);
  return fw_linear_add_by_rank(p, add_squares, square, p->features * sizeof *square, err);
}

/* Common features, such as hours of the day and dense numbers, need more regularisation than users and items. */
static furrow_status scale_factors(fw_linear_problem *p, furrow_error *err) {
  if (p->factors == 0) return FURROW_OK;
  const furrow_status status = FW_ALLOC(&p->factor_scale, p->features + 1, err);
  FW_TRY(fw_comm_all_ok(p->comm, status, err));
  FW_TRY(fw_linear_sum_squares(p, p->factor_scale, err));
  for (size_t f = 0; f < p->features; f++) p->factor_scale[f] = pow(fmax(p->factor_scale[f], 1), 0.75);
  return FURROW_OK;
}

/* Allocates *own for `count` rows (of `width` numbers) of this rank, and *all for `all_count` rows of all ranks. With
 * one rank, both are the same array. */
static furrow_status alloc_shared(const fw_linear_problem *p, double **own, double **all, size_t count,
                                  size_t all_count, size_t width, furrow_error *err) {
  FW_TRY(FW_ALLOC_ROWS(own, count, width, err));
  if (p->comm->ranks > 1) return FW_ALLOC_ROWS(all, all_count, width, err);
  *all = *own;
  return FURROW_OK;
}

static furrow_status make_blocks(fw_linear_problem *p, furrow_error *err) {
  const size_t own = own_blocks(p), rows = p->row_begin[p->comm->ranks];
  p->by_feature = p->features > 0 && fw_linear_problem_size(p) > MOST_PARAMETERS_BY_BLOCK;
  p->last_feature = p->features;
  FW_TRY(alloc_shared(p, &p->block_value, &p->all_value, own, p->blocks, 1, err));
  FW_TRY(alloc_shared(p, &p->block_gradient, &p->all_gradient, own, p->blocks, block_width(p), err));
  if (p->by_feature) return alloc_shared(p, &p->slope, &p->all_slope, p->rows, rows, p->width, err);
  return FW_ALLOC_ROWS(&p->slope, own, p->width, err);
}

static furrow_status fill_problem(fw_linear_problem *p, const fw_linear_params *params, furrow_error *err) {
  FW_TRY(fw_linear_rows_take(p, params, err));
  FW_TRY(fw_comm_all_ok(p->comm, make_blocks(p, err), err));
  FW_TRY(scale_factors(p, err));
  return p->by_feature ? fw_comm_all_ok(p->comm, fw_linear_rows_transpose(p, err), err) : FURROW_OK;
}

static furrow_status check_params(const fw_linear_params *params, furrow_error *err) {
  const bool single = params->loss != FW_LOSS_SOFTMAX;
  if (params->loss == FW_LOSS_HINGE || params->loss == FW_LOSS_CROSS_ENTROPY)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "%s cannot be minimised by L-BFGS", fw_loss_name(params->loss));
  if (single ? params->outputs != 1 : params->outputs < 2)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s cannot have %zu outputs", fw_loss_name(params->loss), params->outputs);
  if (!single && params->factors > 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "%s cannot have vectors of features", fw_loss_name(params->loss));
  if (!(params->l2 >= 0) || !isfinite(params->l2))
    return fw_fail(err, FURROW_E_ARGUMENT, "l2 is %g, not a number from 0 on", params->l2);
  if (params->loss == FW_LOSS_HUBER && !(params->delta > 0))
    return fw_fail(err, FURROW_E_ARGUMENT, "delta of the Huber loss is %g, not above 0", params->delta);
  return FURROW_OK;
}

furrow_status fw_linear_problem_create(fw_linear_problem **problem, const fw_linear_params *params, furrow_error *err) {
  fw_linear_problem *p = NULL;
  FW_TRY(check_params(params, err));
  FW_TRY(FW_ALLOC_ZERO(&p, 1, err));
  p->loss = params->loss;
  p->outputs = params->outputs;
  p->factors = params->factors;
  p->width = params->outputs + params->factors;
  p->delta = params->delta;
  fw_linear_problem_set_l2(p, params->l2, params->factor_l2);
  p->pool = params->pool;
  p->comm = params->comm ? params->comm : fw_comm_self();
  const furrow_status status = fill_problem(p, params, err);
  fw_arena_clear(&p->scratch);
  return FW_HAND_OVER(status, problem, p, fw_linear_problem_free);
}

void fw_linear_problem_free(fw_linear_problem *p) {
  if (!p) return;
  if (p->comm->ranks > 1) {
    fw_free(p->all_value);
    fw_free(p->all_gradient);
    fw_free(p->all_slope);
  }
  fw_free(p->centre);
  fw_free(p->strength);
  void *const owned[] = {p->factor_scale, p->key,        p->label,       p->weight,          p->offset,
                         p->feature,      p->value,      p->block_value, p->block_gradient,  p->slope,
                         p->use_offset,   p->use_row,    p->use_value,   p->segment_feature, p->cut,
                         p->own_gradient, p->block_begin};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) fw_free(owned[i]);
  fw_free(p);
}

const uint64_t *fw_linear_problem_keys(const fw_linear_problem *p, size_t *features) {
  *features = p->features;
  return p->key;
}

size_t fw_linear_problem_rows(const fw_linear_problem *p, const double **label, const double **weight) {
  *label = p->label;
  *weight = p->weight;
  return p->rows;
}

size_t fw_linear_problem_size(const fw_linear_problem *p) {
  return p->features * p->width + p->outputs;
}

const double *fw_linear_problem_factor_scale(const fw_linear_problem *p) {
  return p->factor_scale;
}

void fw_linear_problem_set_prior(fw_linear_problem *p, double *centre, double *strength) {
  assert(p->factors == 0);
  fw_free(p->centre);
  fw_free(p->strength);
  p->centre = centre;
  p->strength = strength;
}

void fw_linear_problem_set_l2(fw_linear_problem *p, double l2, double factor_l2) {
  p->l2 = l2;
  p->factor_l2 = factor_l2;
}
