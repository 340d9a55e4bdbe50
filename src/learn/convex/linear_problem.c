/* learn/convex/linear_problem.c: objective and gradient of linear models and factorization machines over rows in
 * memory.
 *
 * Rows are cut into blocks, at most MOST_BLOCKS of them. Where there are few parameters each block sums a gradient of
 * its own, in one pass over the rows, and the blocks' are added in order. Else rows leave their derivatives, and the
 * gradient is summed by feature over a transposed copy: its list of uses is cut into segments of equal length, so that
 * threads share a feature that most rows have; the parts that segments have of such a feature are added in order.
 *
 * Over ranks the blocks and segments are those of one process, so that sums have its bits: rows move to the rank that
 * has their block, uses to the rank that has their feature. In each pass ranks exchange the sums of blocks, or the
 * derivatives of rows and the gradient of features. Parameters are the same on all ranks. */
#include "learn/convex/linear_problem.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "learn/convex/shared_arrays.h"
#include "learn/data/local_ids.h"

enum { MOST_BLOCKS = 64, LEAST_ROWS = 256, MOST_SEGMENTS = 256, LEAST_USES = 1 << 14, PARAMETER_BLOCK = 1 << 12 };
enum { COLUMNS = 16 }; /* of vectors, summed at once */

/* With more parameters the gradient is summed by feature. */
#define MOST_PARAMETERS_BY_BLOCK ((size_t)1 << 14)
#define LEAST_SHARE 1e-6 /* of a class, for the first bias */

struct fw_linear_problem {
  fw_loss_type loss;
  size_t outputs, factors;
  size_t width; /* parameters of a feature: outputs + factors */
  double delta, l2, factor_l2;
  double *factor_scale; /* by feature, where there are factors: what factor_l2 is multiplied with */
  fw_spin_pool *pool;
  /* ranks: rank r has blocks, rows and features begin[r] … begin[r + 1] - 1 */
  const furrow_comm *comm;
  size_t *block_begin, *row_begin, *feature_begin;
  size_t first_feature, last_feature; /* of this rank, up to before the last: it sums their gradient */
  /* rows of this rank: their uses of features, numbered by ascending key */
  size_t rows, features;
  uint64_t *key;
  double *label, *weight; /* weight NULL: all 1 */
  uint64_t *offset;       /* rows + 1 */
  uint32_t *feature;
  float *value; /* NULL: all 1 */
  /* blocks */
  size_t blocks;
  double *block_value, *block_gradient; /* gradient: outputs biases, or all parameters where by_feature is false */
  double *all_value, *all_gradient;     /* the same of all ranks; alone they are those above */
  double *slope; /* derivatives by the outputs, then by the sums of the vectors (`width` in all): by feature those of
                    each row, else for each block those of its row at work */
  double *all_slope, *own_gradient; /* by feature: of the rows of all ranks; of this rank's features, not alone */
  /* the transposed copy */
  bool by_feature;
  uint64_t *use_offset; /* features + 1 */
  uint32_t *use_row;    /* of this rank's features, as use_value; rows of all ranks */
  float *use_value;     /* NULL: all 1 */
  size_t segments;
  uint32_t *segment_feature; /* of the first use of each segment */
  double *cut;               /* 2 * width for each segment: sums of features that began before it, that end behind */
};

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

/* Where piece i of `pieces` equal ones begins. */
static size_t piece_begin(size_t total, size_t pieces, size_t i) {
  const size_t each = total / pieces, rest = total % pieces;
  return i * each + (i < rest ? i : rest);
}

/* The first of this rank's rows that is in block i of its own. */
static size_t block_row(const fw_linear_problem *p, size_t i) {
  const size_t all = p->row_begin[p->comm->ranks];
  return piece_begin(all, p->blocks, p->block_begin[p->comm->rank] + i) - p->row_begin[p->comm->rank];
}

/* Lets one rank after the other add its rows to the state, so that it has the bits of one process. */
static furrow_status add_by_rank(const fw_linear_problem *p, void (*add)(const fw_linear_problem *p, void *state),
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
  const double d = z[0] - label;
  if (p->loss == FW_LOSS_HUBER && fabs(d) > p->delta) {
    z[0] = d > 0 ? p->delta : -p->delta;
    return p->delta * fabs(d) - 0.5 * p->delta * p->delta;
  }
  z[0] = d;
  return 0.5 * d * d;
}

/* ---- Rows times parameters ---- */

/* Four sums hide the time that an addition takes. */
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

/* n columns of the vectors v of a row from `at` on: sums of value * v; the sum of the products of all pairs of them is
 * half of what the square of the sum exceeds the sum of the squares by. */
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

/* The derivative by a vector v is value * (that by the sums) - value^2 * (that by the output) * v. */
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

typedef struct pass {
  fw_linear_problem *p;
  const double *x;
  double *gradient;
} pass;

/* Parameters that a block sums the gradient of; the bias is the last of them. */
static size_t block_width(const fw_linear_problem *p) {
  return p->by_feature ? p->outputs : fw_linear_problem_size(p);
}

/* Derivatives of a row's loss, times its weight; its loss. */
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
  const uint64_t begin = piece_begin(uses, p->segments, segment), end = piece_begin(uses, p->segments, segment + 1);
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

/* The features that segments share: set by the segment in which they begin, then added to. */
static void join_segments(const fw_linear_problem *p, double *gradient) {
  const size_t uses = (size_t)p->use_offset[p->features], bytes = p->width * sizeof *gradient;
  for (size_t s = 0; s < p->segments; s++) {
    const uint64_t begin = piece_begin(uses, p->segments, s), end = piece_begin(uses, p->segments, s + 1);
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
    FW_TRY(fw_share_gather(p->comm, p->own_gradient, at->gradient, width * sizeof *bias, p->feature_begin, err));
  }
  memcpy(bias, p->all_gradient, p->outputs * sizeof *bias);
  for (size_t block = 1; block < p->blocks; block++)
    add_scaled(bias, 1, p->all_gradient + block * p->outputs, p->outputs);
  return FURROW_OK;
}

/* What each rank found of its rows, for all ranks. */
static furrow_status share_blocks(const fw_linear_problem *p, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_share_gather(comm, p->block_value, p->all_value, sizeof(double), p->block_begin, err));
  const size_t width = block_width(p) * sizeof(double);
  FW_TRY(fw_share_gather(comm, p->block_gradient, p->all_gradient, width, p->block_begin, err));
  if (!p->by_feature) return FURROW_OK;
  return fw_share_gather(comm, p->slope, p->all_slope, p->width * sizeof(double), p->row_begin, err);
}

/* ---- The objective ---- */

/* Vectors have a strength of their own. */
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

furrow_status fw_linear_problem_evaluate(void *problem, const double *x, double *gradient, double *value,
                                         furrow_error *err) {
  fw_linear_problem *p = problem;
  pass at = {p, x, gradient};
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
  } else if (p->l2 != 0) {
    add_scaled(gradient, p->l2, x, p->features * p->outputs);
    sum += penalty(p, x);
  }
  *value = sum;
  return FURROW_OK;
}

/* ---- Scores ---- */

typedef struct scoring {
  const fw_linear_problem *p;
  const double *x;
  double *scores;
} scoring;

static void score_block(void *context, size_t block) {
  const scoring *s = context;
  const size_t end = block_row(s->p, block + 1);
  for (size_t row = block_row(s->p, block); row < end; row++) {
    score_row(s->p, s->x, row, s->scores + row * s->p->outputs);
    if (s->p->factors > 0) s->scores[row] += score_pairs(s->p, s->x, row, NULL);
  }
}

void fw_linear_problem_scores(const fw_linear_problem *p, const double *x, double *scores) {
  scoring s = {p, x, scores};
  run_tasks(p, own_blocks(p), score_block, &s);
}

/* The number of a key; features: it has none. */
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

/* ---- Copying the rows ---- */

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

/* Numbers the rows of all ranks, those of this rank from *first on. *values: whether those of some rank have values. */
static furrow_status count_rows(fw_linear_problem *p, const fw_linear_params *params, uint64_t *first, uint64_t *all,
                                uint64_t *values, furrow_error *err) {
  p->rows = params->use ? params->count : params->rows->size;
  *values = params->rows->value.any != NULL;
  FW_TRY(fw_comm_offset(p->comm, p->rows, first, all, err));
  FW_TRY(fw_comm_max_u64(p->comm, values, 1, err));
  if (*all == 0) return fw_fail(err, FURROW_E_ARGUMENT, "there are no rows to learn from");
  if (*all > UINT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "%" PRIu64 " rows are more than 2^32 - 1", *all);
  return FURROW_OK;
}

static bool takes_label(const fw_linear_params *params, double label) {
  if (params->loss == FW_LOSS_LOG) return label == 1 || label == -1;
  if (params->loss == FW_LOSS_SOFTMAX) return label >= 0 && label < (double)params->outputs && label == floor(label);
  return isfinite(label);
}

static furrow_status check_row(const fw_linear_params *params, size_t row, furrow_error *err) {
  if (!takes_label(params, params->label[row]))
    return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 ": %s cannot take the label %g", params->first_row + row + 1,
                   fw_loss_name(params->loss), params->label[row]);
  if (params->weight && !(params->weight[row] >= 0 && isfinite(params->weight[row])))
    return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 ": the weight %g is not a number from 0 on",
                   params->first_row + row + 1, params->weight[row]);
  return FURROW_OK;
}

static size_t row_number(const fw_linear_params *params, size_t i) {
  return params->use ? params->use[i] : i;
}

/* Memory of the rows; offset, label and weight are filled. */
static furrow_status take_rows(fw_linear_problem *p, const fw_linear_params *params, bool values, double *total,
                               furrow_error *err) {
  const furrow_rowblock *rows = params->rows;
  FW_TRY(fw_alloc((void **)&p->offset, p->rows + 1, sizeof *p->offset, err));
  FW_TRY(fw_alloc((void **)&p->label, p->rows, sizeof *p->label, err));
  if (params->weight) FW_TRY(fw_alloc((void **)&p->weight, p->rows, sizeof *p->weight, err));
  p->offset[0] = 0;
  for (size_t i = 0; i < p->rows; i++) {
    const size_t row = row_number(params, i);
    assert(row < rows->size);
    FW_TRY(check_row(params, row, err));
    p->offset[i + 1] = p->offset[i] + (rows->offset[row + 1] - rows->offset[row]);
    p->label[i] = params->label[row];
    *total += p->weight ? p->weight[i] = params->weight[row] : 1;
  }
  const size_t uses = (size_t)p->offset[p->rows];
  FW_TRY(fw_alloc((void **)&p->feature, uses, sizeof *p->feature, err));
  return values ? fw_alloc((void **)&p->value, uses, sizeof *p->value, err) : FURROW_OK;
}

static furrow_status copy_values(fw_linear_problem *p, const furrow_row *row, uint64_t number, float *to,
                                 furrow_error *err) {
  if (!p->value) return FURROW_OK;
  float sum = 0;
  for (size_t k = 0; k < row->length; k++) {
    to[k] = (float)furrow_row_get_value(row, k);
    sum += to[k] * 0.0F; /* NaN where one is not finite */
  }
  if (sum == 0) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 " has a value that is not finite", number + 1);
}

/* Numbers in order of appearance become numbers by ascending key. */
static furrow_status order_features(fw_linear_problem *p, const fw_local_ids *ids, furrow_error *err) {
  uint32_t *rank = NULL;
  p->features = ids->count;
  FW_TRY(fw_alloc((void **)&p->key, ids->count, sizeof *p->key, err));
  FW_TRY(fw_alloc((void **)&rank, ids->count, sizeof *rank, err));
  if (ids->count > 0) memcpy(p->key, ids->key, ids->count * sizeof *p->key);
  fw_sort_u64(p->key, ids->count);
  for (size_t i = 0; i < ids->count; i++)
    rank[i] = (uint32_t)fw_lower_bound_u64(p->key, ids->count, sizeof *p->key, ids->key[i]);
  for (uint64_t i = 0; i < p->offset[p->rows]; i++) p->feature[i] = rank[p->feature[i]];
  fw_free(rank);
  return FURROW_OK;
}

/* From numbers among this rank's keys to numbers among those of all ranks. */
static furrow_status join_features(fw_linear_problem *p, furrow_error *err) {
  uint64_t *own = NULL;
  const size_t count = p->features;
  if (p->comm->ranks == 1) return FURROW_OK;
  furrow_status status = fw_alloc((void **)&own, count, sizeof *own, err);
  if (status == FURROW_OK && count > 0) memcpy(own, p->key, count * sizeof *own);
  status = fw_comm_all_ok(p->comm, status, err);
  if (status == FURROW_OK) status = fw_share_keys(p->comm, &p->key, &p->features, err);
  if (status == FURROW_OK && p->features > UINT32_MAX)
    status = fw_fail(err, FURROW_E_RANGE, "%zu features are more than 2^32 - 1", p->features);
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    own[i] = fw_lower_bound_u64(p->key, p->features, sizeof *p->key, own[i]);
  for (uint64_t i = 0; status == FURROW_OK && i < p->offset[p->rows]; i++) p->feature[i] = (uint32_t)own[p->feature[i]];
  fw_free(own);
  return status;
}

/* ---- Rows to the ranks that have their blocks ---- */

/* Blocks are cut as if one process had all rows. */
static furrow_status divide_blocks(fw_linear_problem *p, size_t rows, furrow_error *err) {
  const unsigned ranks = p->comm->ranks;
  p->blocks = rows / LEAST_ROWS < 1 ? 1 : rows / LEAST_ROWS;
  if (p->blocks > MOST_BLOCKS) p->blocks = MOST_BLOCKS;
  FW_TRY(fw_alloc_zero((void **)&p->block_begin, ranks + 1, 3 * sizeof *p->block_begin, err));
  p->row_begin = p->block_begin + ranks + 1;
  p->feature_begin = p->row_begin + ranks + 1;
  for (unsigned r = 0; r <= ranks; r++) {
    p->block_begin[r] = r == ranks ? p->blocks : piece_begin(p->blocks, ranks, r);
    p->row_begin[r] = r == ranks ? rows : piece_begin(rows, p->blocks, p->block_begin[r]);
    p->feature_begin[r] = r == 0 ? 0 : p->features; /* alone; others divide them later */
  }
  return FURROW_OK;
}

/* From the lengths of rows to their offsets, with one more behind them. */
static furrow_status sum_lengths(fw_linear_problem *p, furrow_error *err) {
  uint64_t *offset = NULL;
  FW_TRY(fw_alloc((void **)&offset, p->rows + 1, sizeof *offset, err));
  offset[0] = 0;
  for (size_t i = 0; i < p->rows; i++) offset[i + 1] = offset[i] + p->offset[i];
  fw_free(p->offset);
  p->offset = offset;
  return FURROW_OK;
}

/* rows, uses: where those for each rank begin. */
static furrow_status move_arrays(fw_linear_problem *p, const size_t *rows, const size_t *uses, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  for (size_t i = 0; i < p->rows; i++) p->offset[i] = p->offset[i + 1] - p->offset[i];
  FW_TRY(fw_share_move(comm, (void **)&p->offset, sizeof *p->offset, rows, &p->rows, NULL, err));
  FW_TRY(fw_share_move(comm, (void **)&p->label, sizeof *p->label, rows, NULL, NULL, err));
  if (p->weight) FW_TRY(fw_share_move(comm, (void **)&p->weight, sizeof *p->weight, rows, NULL, NULL, err));
  FW_TRY(fw_share_move(comm, (void **)&p->feature, sizeof *p->feature, uses, NULL, NULL, err));
  if (p->value) FW_TRY(fw_share_move(comm, (void **)&p->value, sizeof *p->value, uses, NULL, NULL, err));
  return fw_comm_all_ok(comm, sum_lengths(p, err), err);
}

/* `first`: the number of this rank's first row among those of all ranks. */
static furrow_status move_rows(fw_linear_problem *p, uint64_t first, furrow_error *err) {
  const unsigned ranks = p->comm->ranks;
  size_t *begin = NULL;
  if (ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_all_ok(p->comm, fw_alloc((void **)&begin, ranks + 1, 2 * sizeof *begin, err), err));
  for (unsigned r = 0; r <= ranks; r++) {
    const size_t at = p->row_begin[r] > first ? p->row_begin[r] - first : 0;
    begin[r] = at < p->rows ? at : p->rows;
    begin[ranks + 1 + r] = (size_t)p->offset[begin[r]];
  }
  const furrow_status status = move_arrays(p, begin, begin + ranks + 1, err);
  fw_free(begin);
  return status;
}

static furrow_status add_rows(fw_linear_problem *p, const fw_linear_params *params, fw_local_ids *ids,
                              furrow_error *err) {
  fw_local_ids_start(ids);
  for (size_t i = 0; i < p->rows; i++) {
    const size_t number = row_number(params, i), at = (size_t)p->offset[i];
    const furrow_row row = furrow_rowblock_row(params->rows, number);
    FW_TRY(fw_local_ids_reserve(ids, row.length, err));
    FW_TRY(fw_local_ids_add(ids, &row, p->feature + at, err));
    FW_TRY(copy_values(p, &row, params->first_row + number, p->value ? p->value + at : NULL, err));
  }
  return fw_local_ids_finish(ids, p->feature, (size_t)p->offset[p->rows], err);
}

static furrow_status number_features(fw_linear_problem *p, const fw_linear_params *params, furrow_error *err) {
  fw_local_ids ids;
  furrow_status status = fw_local_ids_init(&ids, params->range, NULL, err);
  if (status == FURROW_OK) status = add_rows(p, params, &ids, err);
  if (status == FURROW_OK) status = order_features(p, &ids, err);
  fw_local_ids_clear(&ids);
  return status;
}

/* ---- The transposed copy ---- */

/* use_offset[f + 1] is where the next use of feature f goes while rows are copied, and its end at last. */
static void fill_uses(fw_linear_problem *p) {
  const size_t first = p->row_begin[p->comm->rank];
  for (size_t row = 0; row < p->rows; row++)
    for (uint64_t i = p->offset[row]; i < p->offset[row + 1]; i++) {
      const uint64_t at = p->use_offset[p->feature[i] + 1]++;
      p->use_row[at] = (uint32_t)(first + row);
      if (p->value) p->use_value[at] = p->value[i];
    }
}

static void count_uses(fw_linear_problem *p, uint64_t uses) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < uses; i++) p->use_offset[p->feature[i] + 1]++;
  for (size_t f = 0; f < p->features; f++) {
    const uint64_t count = p->use_offset[f + 1];
    p->use_offset[f + 1] = before;
    before += count;
  }
}

/* Features for each rank, of about as many uses. `uses`: of all. */
static void divide_features(fw_linear_problem *p, size_t uses) {
  const unsigned ranks = p->comm->ranks;
  for (unsigned r = 1; r < ranks; r++)
    p->feature_begin[r] =
        fw_lower_bound_u64(p->use_offset, p->features, sizeof *p->use_offset, piece_begin(uses, ranks, r));
  p->first_feature = p->feature_begin[p->comm->rank];
  p->last_feature = p->feature_begin[p->comm->rank + 1];
}

/* What ranks sent of this rank's features, by rank and feature, is put in the order of features and ranks. counts: by
 * rank and feature.
 */
static furrow_status join_uses(fw_linear_problem *p, const uint64_t *counts, furrow_error *err) {
  const size_t own = p->last_feature - p->first_feature;
  const uint64_t base = p->use_offset[p->first_feature], uses = p->use_offset[p->last_feature] - base;
  uint32_t *row = NULL;
  float *value = NULL;
  uint64_t *next = NULL, from = 0;
  furrow_status status = fw_alloc((void **)&row, uses, sizeof *row, err);
  if (status == FURROW_OK && p->value) status = fw_alloc((void **)&value, uses, sizeof *value, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&next, own, sizeof *next, err);
  for (size_t f = 0; status == FURROW_OK && f < own; f++) next[f] = p->use_offset[p->first_feature + f] - base;
  for (size_t i = 0; status == FURROW_OK && i < own * p->comm->ranks; from += counts[i++]) {
    if (counts[i] == 0) continue;
    memcpy(row + next[i % own], p->use_row + from, counts[i] * sizeof *row);
    if (value) memcpy(value + next[i % own], p->use_value + from, counts[i] * sizeof *value);
    next[i % own] += counts[i];
  }
  fw_free(next);
  if (status == FURROW_OK) {
    fw_free(p->use_row);
    fw_free(p->use_value);
    p->use_row = row;
    p->use_value = value;
  } else {
    fw_free(row);
    fw_free(value);
  }
  return status;
}

/* counts: own uses by feature, which become those that all ranks have of this rank's features. begin: own uses for
 * each rank. */
static furrow_status move_uses(fw_linear_problem *p, uint64_t **counts, const size_t *begin, furrow_error *err) {
  const furrow_comm *comm = p->comm;
  FW_TRY(fw_share_move(comm, (void **)counts, sizeof **counts, p->feature_begin, NULL, NULL, err));
  FW_TRY(fw_share_move(comm, (void **)&p->use_row, sizeof *p->use_row, begin, NULL, NULL, err));
  if (p->value) FW_TRY(fw_share_move(comm, (void **)&p->use_value, sizeof *p->use_value, begin, NULL, NULL, err));
  return fw_comm_all_ok(comm, join_uses(p, *counts, err), err);
}

/* From the uses of this rank's rows to those of its features; use_offset becomes that of all ranks. */
static furrow_status share_uses(fw_linear_problem *p, size_t *uses, furrow_error *err) {
  const unsigned ranks = p->comm->ranks;
  uint64_t *counts = NULL;
  size_t *begin = NULL;
  furrow_status status = fw_alloc((void **)&counts, p->features, sizeof *counts, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&begin, ranks + 1, sizeof *begin, err);
  uint64_t *own = p->use_offset;
  for (size_t f = 0; status == FURROW_OK && f < p->features; f++) counts[f] = own[f + 1] - own[f];
  p->use_offset = NULL;
  if (status == FURROW_OK) status = fw_alloc_zero((void **)&p->use_offset, p->features + 1, sizeof *own, err);
  status = fw_comm_all_ok(p->comm, status, err);
  if (status == FURROW_OK) {
    memcpy(p->use_offset + 1, counts, p->features * sizeof *own);
    status = fw_comm_sum_i64(p->comm, (int64_t *)(p->use_offset + 1), p->features, err);
  }
  if (status == FURROW_OK) {
    for (size_t f = 0; f < p->features; f++) p->use_offset[f + 1] += p->use_offset[f];
    *uses = (size_t)p->use_offset[p->features];
    divide_features(p, *uses);
    for (unsigned r = 0; r <= ranks; r++) begin[r] = (size_t)own[p->feature_begin[r]];
    status = move_uses(p, &counts, begin, err);
  }
  fw_free(own);
  fw_free(counts);
  fw_free(begin);
  return status;
}

static void start_segments(fw_linear_problem *p, size_t uses) {
  size_t f = 0;
  for (size_t s = 0; s < p->segments; s++) {
    while (p->use_offset[f + 1] <= piece_begin(uses, p->segments, s)) f++;
    p->segment_feature[s] = (uint32_t)f;
  }
}

static furrow_status transpose_own(fw_linear_problem *p, size_t uses, furrow_error *err) {
  FW_TRY(fw_alloc_zero((void **)&p->use_offset, p->features + 1, sizeof *p->use_offset, err));
  FW_TRY(fw_alloc((void **)&p->use_row, uses, sizeof *p->use_row, err));
  if (p->value) FW_TRY(fw_alloc((void **)&p->use_value, uses, sizeof *p->use_value, err));
  count_uses(p, uses);
  fill_uses(p);
  return FURROW_OK;
}

/* Segments are cut as if one process had all uses. */
static furrow_status make_segments(fw_linear_problem *p, size_t uses, furrow_error *err) {
  const size_t own = p->last_feature - p->first_feature;
  p->segments = uses / LEAST_USES < 1 ? 1 : uses / LEAST_USES;
  if (p->segments > MOST_SEGMENTS) p->segments = MOST_SEGMENTS;
  FW_TRY(fw_alloc((void **)&p->segment_feature, p->segments, sizeof *p->segment_feature, err));
  FW_TRY(fw_alloc((void **)&p->cut, p->segments, 2 * p->width * sizeof *p->cut, err));
  if (p->comm->ranks > 1) FW_TRY(fw_alloc((void **)&p->own_gradient, own, p->width * sizeof *p->own_gradient, err));
  start_segments(p, uses);
  return FURROW_OK;
}

static furrow_status transpose(fw_linear_problem *p, furrow_error *err) {
  size_t uses = (size_t)p->offset[p->rows];
  FW_TRY(fw_comm_all_ok(p->comm, transpose_own(p, uses, err), err));
  if (p->comm->ranks > 1) FW_TRY(share_uses(p, &uses, err));
  return make_segments(p, uses, err);
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

/* By feature: the sum of weight * value^2 of its uses. */
static furrow_status sum_squares(const fw_linear_problem *p, double *square, furrow_error *err) {
  memset(square, 0, p->features * sizeof *square);
  return add_by_rank(p, add_squares, square, p->features * sizeof *square, err);
}

/* Common features, such as hours of the day and dense numbers, need more of it than users and items do. */
static furrow_status scale_factors(fw_linear_problem *p, furrow_error *err) {
  if (p->factors == 0) return FURROW_OK;
  const furrow_status status = fw_alloc((void **)&p->factor_scale, p->features + 1, sizeof *p->factor_scale, err);
  FW_TRY(fw_comm_all_ok(p->comm, status, err));
  FW_TRY(sum_squares(p, p->factor_scale, err));
  for (size_t f = 0; f < p->features; f++) p->factor_scale[f] = pow(fmax(p->factor_scale[f], 1), 0.75);
  return FURROW_OK;
}

/* *own for the numbers of this rank, *all for those of all ranks. */
static furrow_status alloc_shared(const fw_linear_problem *p, double **own, double **all, size_t count,
                                  size_t all_count, size_t bytes, furrow_error *err) {
  FW_TRY(fw_alloc((void **)own, count, bytes, err));
  if (p->comm->ranks > 1) return fw_alloc((void **)all, all_count, bytes, err);
  *all = *own;
  return FURROW_OK;
}

static furrow_status make_blocks(fw_linear_problem *p, furrow_error *err) {
  const size_t own = own_blocks(p), rows = p->row_begin[p->comm->ranks];
  p->by_feature = p->features > 0 && fw_linear_problem_size(p) > MOST_PARAMETERS_BY_BLOCK;
  p->last_feature = p->features;
  FW_TRY(alloc_shared(p, &p->block_value, &p->all_value, own, p->blocks, sizeof(double), err));
  const size_t bytes = block_width(p) * sizeof(double), slopes = p->width * sizeof(double);
  FW_TRY(alloc_shared(p, &p->block_gradient, &p->all_gradient, own, p->blocks, bytes, err));
  if (p->by_feature) return alloc_shared(p, &p->slope, &p->all_slope, p->rows, rows, slopes, err);
  return fw_alloc((void **)&p->slope, own, slopes, err);
}

/* What this rank can do alone. */
static furrow_status read_rows(fw_linear_problem *p, const fw_linear_params *params, bool values, double *total,
                               furrow_error *err) {
  FW_TRY(take_rows(p, params, values, total, err));
  return number_features(p, params, err);
}

static furrow_status fill_problem(fw_linear_problem *p, const fw_linear_params *params, furrow_error *err) {
  size_t size;
  uint64_t first = 0, all = 0, values = 0;
  double total = 0;
  FW_TRY(count_rows(p, params, &first, &all, &values, err));
  FW_TRY(fw_comm_share_status(p->comm, read_rows(p, params, values, &total, err), err));
  FW_TRY(fw_comm_sum_f64(p->comm, &total, 1, err));
  if (total == 0) return fw_fail(err, FURROW_E_ARGUMENT, "all rows have weight 0");
  FW_TRY(join_features(p, err));
  if (!fw_size_mul(p->features + 1, p->width * sizeof(double), &size)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_comm_all_ok(p->comm, divide_blocks(p, (size_t)all, err), err));
  FW_TRY(move_rows(p, first, err));
  FW_TRY(fw_comm_all_ok(p->comm, make_blocks(p, err), err));
  FW_TRY(scale_factors(p, err));
  return p->by_feature ? fw_comm_all_ok(p->comm, transpose(p, err), err) : FURROW_OK;
}

furrow_status fw_linear_problem_create(fw_linear_problem **problem, const fw_linear_params *params, furrow_error *err) {
  fw_linear_problem *p = NULL;
  FW_TRY(check_params(params, err));
  FW_TRY(fw_alloc_zero((void **)&p, 1, sizeof *p, err));
  p->loss = params->loss;
  p->outputs = params->outputs;
  p->factors = params->factors;
  p->width = params->outputs + params->factors;
  p->delta = params->delta;
  fw_linear_problem_set_l2(p, params->l2, params->factor_l2);
  p->pool = params->pool;
  p->comm = params->comm ? params->comm : fw_comm_self();
  furrow_status status = fill_problem(p, params, err);
  if (status == FURROW_OK)
    *problem = p;
  else
    fw_linear_problem_free(p);
  return status;
}

void fw_linear_problem_free(fw_linear_problem *p) {
  if (!p) return;
  if (p->comm->ranks > 1) {
    fw_free(p->all_value);
    fw_free(p->all_gradient);
    fw_free(p->all_slope);
  }
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

void fw_linear_problem_set_l2(fw_linear_problem *p, double l2, double factor_l2) {
  p->l2 = l2;
  p->factor_l2 = factor_l2;
}

/* ---- Solver ---- */

struct fw_linear_solver {
  fw_linear_problem *problem;
  fw_lbfgs *lbfgs;
};

/* The weight of all rows, the mean of their labels and the deviation from it. */
typedef struct label_sums {
  double total, mean, deviation;
} label_sums;

static void add_labels(const fw_linear_problem *p, void *state) {
  label_sums *s = state;
  for (size_t i = 0; i < p->rows; i++) {
    const double weight = p->weight ? p->weight[i] : 1;
    s->total += weight;
    s->mean += weight * p->label[i];
  }
}

static void add_deviations(const fw_linear_problem *p, void *state) {
  label_sums *s = state;
  for (size_t i = 0; i < p->rows; i++)
    s->deviation += (p->weight ? p->weight[i] : 1) * (p->label[i] - s->mean) * (p->label[i] - s->mean);
}

static furrow_status sum_labels(const fw_linear_problem *p, label_sums *s, furrow_error *err) {
  *s = (label_sums){0};
  FW_TRY(add_by_rank(p, add_labels, s, sizeof *s, err));
  s->mean /= s->total;
  FW_TRY(add_by_rank(p, add_deviations, s, sizeof *s, err));
  s->deviation = sqrt(s->deviation / s->total);
  return FURROW_OK;
}

static double limit_share(double share) {
  return share < LEAST_SHARE ? LEAST_SHARE : share > 1 - LEAST_SHARE ? 1 - LEAST_SHARE : share;
}

/* state: the shares of the classes, then the sum of all weights. */
static void add_shares(const fw_linear_problem *p, void *state) {
  double *share = state;
  const double total = share[p->outputs];
  for (size_t i = 0; i < p->rows; i++) share[(size_t)p->label[i]] += (p->weight ? p->weight[i] : 1) / total;
}

/* Shares of classes (log: of the positive one) and the bias that a model without features would have. share: space for
 * one number more. */
static furrow_status start_bias(const fw_linear_problem *p, const label_sums *sums, double *share, double *bias,
                                furrow_error *err) {
  if (p->loss == FW_LOSS_LOG) {
    share[0] = limit_share((1 + sums->mean) / 2);
    bias[0] = log(share[0] / (1 - share[0]));
  } else if (p->loss == FW_LOSS_SOFTMAX) {
    memset(share, 0, p->outputs * sizeof *share);
    share[p->outputs] = sums->total;
    FW_TRY(add_by_rank(p, add_shares, share, (p->outputs + 1) * sizeof *share, err));
    for (size_t k = 0; k < p->outputs; k++) share[k] = limit_share(share[k]);
    for (size_t k = 0; k < p->outputs; k++) bias[k] = log(share[k]);
  } else {
    bias[0] = sums->mean;
  }
  return FURROW_OK;
}

/* Mean square of the numbers of vectors. */
static double mean_square_factors(const fw_linear_problem *p, const double *x) {
  double sum = 0;
  for (size_t f = 0; f < p->features; f++)
    for (size_t j = p->outputs; j < p->width; j++) sum += x[f * p->width + j] * x[f * p->width + j];
  return p->factors > 0 && p->features > 0 ? sum / (double)(p->features * p->factors) : 0;
}

/* About the second derivatives: those of a model without features. Regression: of the squared difference. Those by a
 * number of a vector have the squares of the numbers that it is multiplied with. */
static furrow_status fill_diagonal(const fw_linear_problem *p, const label_sums *sums, const double *share,
                                   const double *start, double *diagonal, furrow_error *err) {
  const bool classes = p->loss == FW_LOSS_LOG || p->loss == FW_LOSS_SOFTMAX;
  const double others = mean_square_factors(p, start);
  double *square = diagonal; /* by feature first; spread over its parameters from the end on */
  FW_TRY(sum_squares(p, square, err));
  for (size_t k = 0; k < p->outputs; k++)
    diagonal[p->features * p->width + k] = sums->total * (classes ? share[k] * (1 - share[k]) : 1);
  for (size_t f = p->features; f-- > 0;) {
    const double sum = square[f];
    for (size_t k = p->width; k-- > 0;) {
      const size_t output = k < p->outputs ? k : 0;
      const double curve = sum * (classes ? share[output] * (1 - share[output]) : 1);
      const double second = k < p->outputs ? curve + p->l2 : curve * others + p->factor_l2 * p->factor_scale[f];
      diagonal[f * p->width + k] = second > 0 ? second : 1; /* 0: the parameter never matters */
    }
  }
  return FURROW_OK;
}

static void fill_start(const fw_linear_problem *p, const fw_linear_solver_params *params, const double *bias,
                       double *start) {
  const size_t weights = p->features * p->width;
  if (params->w)
    memcpy(start, params->w, weights * sizeof *start);
  else
    memset(start, 0, weights * sizeof *start);
  memcpy(start + weights, params->bias ? params->bias : bias, p->outputs * sizeof *start);
}

/* memory: of start, diagonal, and shares and biases of the outputs */
static furrow_status start_lbfgs(fw_linear_solver *solver, const fw_linear_solver_params *params, double *memory,
                                 furrow_error *err) {
  const fw_linear_problem *p = solver->problem;
  const size_t size = fw_linear_problem_size(p);
  double *start = memory, *diagonal = start + size, *bias = diagonal + size, *share = bias + p->outputs;
  label_sums sums;
  FW_TRY(sum_labels(p, &sums, err));
  const bool regression = fw_loss_is_regression(p->loss);
  const double tolerance = params->tolerance > 0 ? params->tolerance : 1e-4;
  const double share_left = params->value_tolerance > 0 ? params->value_tolerance : 1e-8 * tolerance;
  fw_lbfgs_params lbfgs = {
      .tolerance = tolerance, .value_tolerance = share_left, .diagonal = diagonal, .pool = p->pool};
  if (regression && sums.deviation > 0) lbfgs.tolerance *= sums.deviation;
  FW_TRY(start_bias(p, &sums, share, bias, err));
  fill_start(p, params, bias, start);
  FW_TRY(fill_diagonal(p, &sums, share, start, diagonal, err));
  return fw_lbfgs_create(&solver->lbfgs, size, start, &lbfgs, err);
}

furrow_status fw_linear_solver_create(fw_linear_solver **solver, fw_linear_problem *problem,
                                      const fw_linear_solver_params *params, furrow_error *err) {
  const fw_linear_solver_params defaults = {0};
  fw_linear_solver *s = NULL;
  double *memory = NULL;
  furrow_status status = fw_alloc_zero((void **)&s, 1, sizeof *s, err);
  if (status == FURROW_OK)
    status =
        fw_alloc((void **)&memory, fw_linear_problem_size(problem) + problem->outputs + 1, 2 * sizeof *memory, err);
  status = fw_comm_all_ok(problem->comm, status, err);
  if (status == FURROW_OK) {
    s->problem = problem;
    status = fw_comm_all_ok(problem->comm, start_lbfgs(s, params ? params : &defaults, memory, err), err);
  }
  fw_free(memory);
  if (status == FURROW_OK)
    *solver = s;
  else
    fw_linear_solver_free(s);
  return status;
}

void fw_linear_solver_free(fw_linear_solver *s) {
  if (!s) return;
  fw_lbfgs_free(s->lbfgs);
  fw_free(s);
}

furrow_status fw_linear_solver_step(fw_linear_solver *s, fw_lbfgs_state *state, furrow_error *err) {
  return fw_lbfgs_step(s->lbfgs, fw_linear_problem_evaluate, s->problem, state, err);
}

const double *fw_linear_solver_weights(const fw_linear_solver *s) {
  return fw_lbfgs_x(s->lbfgs);
}

const double *fw_linear_solver_bias(const fw_linear_solver *s) {
  return fw_lbfgs_x(s->lbfgs) + s->problem->features * s->problem->width;
}

double fw_linear_solver_value(const fw_linear_solver *s) {
  return fw_lbfgs_value(s->lbfgs);
}

double fw_linear_solver_largest_gradient(const fw_linear_solver *s) {
  return fw_lbfgs_largest_gradient(s->lbfgs);
}

size_t fw_linear_solver_passes(const fw_linear_solver *s) {
  return fw_lbfgs_evaluations(s->lbfgs);
}
