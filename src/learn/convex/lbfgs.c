/* learn/convex/lbfgs.c: L-BFGS with a diagonal first Hessian and a line search for the strong Wolfe conditions. */
#include "learn/convex/linear_problem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { LEAST_HISTORY = 10, BLOCK = 1 << 13, MOST_TRIALS = 30 };

#define SUFFICIENT_DECREASE 1e-4
#define CURVATURE 0.9
/* Values with a smaller relative difference may differ only by rounding; then the slope decides. */
#define ROUNDING 1e-13

/* ---- Vectors, in blocks ---- */

typedef struct vector_loop {
  const fw_lbfgs *l;
  void (*body)(const struct vector_loop *loop, size_t begin, size_t end, double *part);
  const double *a, *b;
  double *to, factor;
} vector_loop;

static void run_block(void *context, size_t block) {
  const vector_loop *loop = context;
  const size_t begin = block * BLOCK, end = begin + BLOCK < loop->l->n ? begin + BLOCK : loop->l->n;
  loop->body(loop, begin, end, &loop->l->part[block]);
}

static void run_loop(const fw_lbfgs *l, vector_loop loop) {
  loop.l = l;
  if (l->params.pool && l->blocks > 1)
    fw_spin_pool_run(l->params.pool, l->blocks, run_block, &loop);
  else
    for (size_t i = 0; i < l->blocks; i++) run_block(&loop, i);
}

static void dot_block(const vector_loop *loop, size_t begin, size_t end, double *part) {
  double sum[4] = {0};
  size_t i = begin;
  for (; i + 4 <= end; i += 4)
    for (size_t k = 0; k < 4; k++) sum[k] += loop->a[i + k] * loop->b[i + k];
  for (; i < end; i++) sum[0] += loop->a[i] * loop->b[i];
  *part = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double run_sum(const fw_lbfgs *l, vector_loop loop) {
  double sum = 0;
  run_loop(l, loop);
  for (size_t i = 0; i < l->blocks; i++) sum += l->part[i];
  return sum;
}

static double dot(const fw_lbfgs *l, const double *a, const double *b) {
  return run_sum(l, (vector_loop){.body = dot_block, .a = a, .b = b});
}

static void weighted_square_block(const vector_loop *loop, size_t begin, size_t end, double *part) {
  double sum = 0;
  for (size_t i = begin; i < end; i++) sum += loop->a[i] * loop->a[i] * loop->b[i];
  *part = sum;
}

/* The sum of a² divided by the diagonal. */
static double square(const fw_lbfgs *l, const double *a) {
  return l->inverse ? run_sum(l, (vector_loop){.body = weighted_square_block, .a = a, .b = l->inverse}) : dot(l, a, a);
}

/* Stays NaN if an element is. */
static void largest_block(const vector_loop *loop, size_t begin, size_t end, double *part) {
  double most = 0;
  for (size_t i = begin; i < end; i++) most = fabs(loop->a[i]) <= most ? most : fabs(loop->a[i]);
  *part = most;
}

static double largest(const fw_lbfgs *l, const double *a) {
  double most = 0;
  run_loop(l, (vector_loop){.body = largest_block, .a = a});
  for (size_t i = 0; i < l->blocks; i++) most = l->part[i] <= most ? most : l->part[i];
  return most;
}

static void move_block(const vector_loop *loop, size_t begin, size_t end, double *part) {
  (void)part;
  for (size_t i = begin; i < end; i++) loop->to[i] = loop->b[i] + loop->factor * loop->a[i];
}

/* to = b + factor * a */
static void move(const fw_lbfgs *l, double *to, const double *b, double factor, const double *a) {
  run_loop(l, (vector_loop){.body = move_block, .a = a, .b = b, .to = to, .factor = factor});
}

/* to += factor * a */
static void add_scaled(const fw_lbfgs *l, double *to, double factor, const double *a) {
  move(l, to, to, factor, a);
}

static void scale_block(const vector_loop *loop, size_t begin, size_t end, double *part) {
  (void)part;
  for (size_t i = begin; i < end; i++) loop->to[i] *= loop->b ? loop->factor * loop->b[i] : loop->factor;
}

/* to *= factor / diagonal */
static void scale(const fw_lbfgs *l, double *to, double factor) {
  run_loop(l, (vector_loop){.body = scale_block, .b = l->inverse, .to = to, .factor = factor});
}

/* ---- Memory ---- */

/* A longer history needs fewer iterations. Where n is small it takes little time compared with the function. */
static size_t history_for(size_t n) {
  const size_t history = ((size_t)1 << 18) / n;
  return history < LEAST_HISTORY ? LEAST_HISTORY : history > FW_LBFGS_HISTORY ? FW_LBFGS_HISTORY : history;
}

static void place_vectors(fw_lbfgs *l, bool diagonal) {
  double *at = l->memory;
  double **const vectors[] = {&l->x, &l->gradient, &l->next_x, &l->next_gradient, &l->direction};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++, at += l->n) *vectors[i] = at;
  l->step = at;
  l->change = l->step + l->history * l->n;
  if (diagonal) l->inverse = l->change + l->history * l->n;
}

furrow_status fw_lbfgs_create(fw_lbfgs **lbfgs, size_t n, const double *start, const fw_lbfgs_params *params,
                              furrow_error *err) {
  const size_t history = history_for(n), vectors = 5 + 2 * history + (params->diagonal != NULL);
  fw_lbfgs *l = NULL;
  FW_TRY(FW_ALLOC_ZERO(&l, 1, err));
  l->n = n;
  l->history = history;
  l->blocks = (n + BLOCK - 1) / BLOCK;
  l->params = *params;
  l->params.diagonal = NULL;
  furrow_status status = FW_ALLOC_ROWS(&l->memory, n, vectors, err);
  if (status == FURROW_OK) status = FW_ALLOC(&l->part, l->blocks, err);
  if (status == FURROW_OK) {
    place_vectors(l, params->diagonal != NULL);
    memcpy(l->x, start, n * sizeof *start);
    for (size_t i = 0; params->diagonal && i < n; i++) l->inverse[i] = 1 / params->diagonal[i];
    *lbfgs = l;
  } else {
    fw_lbfgs_free(l);
  }
  return status;
}

void fw_lbfgs_free(fw_lbfgs *l) {
  if (!l) return;
  fw_free(l->memory);
  fw_free(l->part);
  fw_free(l);
}

/* ---- Direction ---- */

static size_t pair_at(const fw_lbfgs *l, size_t age) {
  return (l->newest + l->history - age) % l->history;
}

static double *step_of(const fw_lbfgs *l, size_t pair) {
  return l->step + pair * l->n;
}

static double *change_of(const fw_lbfgs *l, size_t pair) {
  return l->change + pair * l->n;
}

/* The two loops: direction = -H * gradient, where H approximates the inverse of the Hessian. */
static void find_direction(fw_lbfgs *l) {
  double share[FW_LBFGS_HISTORY], factor = 1;
  memcpy(l->direction, l->gradient, l->n * sizeof *l->gradient);
  for (size_t age = 0; age < l->pairs; age++) {
    const size_t i = pair_at(l, age);
    share[i] = dot(l, step_of(l, i), l->direction) / l->product[i];
    add_scaled(l, l->direction, -share[i], change_of(l, i));
  }
  if (l->pairs > 0) factor = l->product[l->newest] / square(l, change_of(l, l->newest));
  scale(l, l->direction, -factor);
  for (size_t age = l->pairs; age-- > 0;) {
    const size_t i = pair_at(l, age);
    const double back = dot(l, change_of(l, i), l->direction) / l->product[i];
    add_scaled(l, l->direction, -share[i] - back, step_of(l, i));
  }
}

/* Keeps the last step for later directions, unless the curvature along it is lost in rounding. */
static void remember(fw_lbfgs *l) {
  const size_t i = l->pairs > 0 ? (l->newest + 1) % l->history : 0;
  double *const step = step_of(l, i), *const change = change_of(l, i);
  move(l, step, l->next_x, -1, l->x);
  move(l, change, l->next_gradient, -1, l->gradient);
  const double product = dot(l, step, change);
  /* The curvature of a pair lies between the curvatures of the directions; a tiny fraction of that is noise. */
  if (!(product > 1e-14 * sqrt(dot(l, step, step) * dot(l, change, change)))) {
    if (l->pairs == l->history) l->pairs--; /* the new pair has overwritten the oldest */
    return;
  }
  l->product[i] = product;
  l->newest = i;
  if (l->pairs < l->history) l->pairs++;
}

/* ---- Line search ---- */

/* A point on the line: the length of the step, the value at the point, and its derivative with respect to the
 * length. */
typedef struct trial {
  double length, value, slope;
} trial;

static furrow_status try_length(fw_lbfgs *l, double length, trial *t, furrow_error *err) {
  move(l, l->next_x, l->x, length, l->direction);
  l->evaluations++;
  *t = (trial){.length = length, .value = NAN};
  FW_TRY(l->params.function(l->params.user, l->next_x, l->next_gradient, &t->value, err));
  t->slope = dot(l, l->next_gradient, l->direction);
  return FURROW_OK;
}

/* The minimiser of the cubic with the values and slopes of two points (Nocedal and Wright, 3.59), kept away from both
 * ends; the middle if there is none. */
static double between(const trial *a, const trial *b) {
  const double width = b->length - a->length, middle = a->length + 0.5 * width;
  if (!isfinite(b->value) || !isfinite(b->slope)) return a->length + 0.1 * width;
  const double d = a->slope + b->slope - 3 * (b->value - a->value) / width;
  const double root = sqrt(fmax(d * d - a->slope * b->slope, 0));
  const double cubic = b->length - width * (b->slope + root - d) / (b->slope - a->slope + 2 * root);
  if (!isfinite(cubic)) return middle;
  return fmin(fmax(cubic, a->length + 0.05 * width), b->length - 0.05 * width);
}

static bool falls(const trial *t, const trial *start) {
  if (t->value <= start->value + SUFFICIENT_DECREASE * t->length * start->slope) return true;
  return t->value <= start->value + ROUNDING * fabs(start->value) && fabs(t->slope) < fabs(start->slope);
}

/* Finds a step between one that is too short (lower) and one that is too long (upper, once there is one). *found false:
 * no step lowers the value by more than rounding errors. */
static furrow_status search_line(fw_lbfgs *l, const trial *start, double first, trial *t, bool *found,
                                 furrow_error *err) {
  trial lower = *start, upper = {.length = INFINITY};
  double length = first;
  *found = false;
  for (int i = 0; i < MOST_TRIALS; i++) {
    FW_TRY(try_length(l, length, t, err));
    const bool fall = isfinite(t->value) && isfinite(t->slope) && falls(t, start);
    if (fall && fabs(t->slope) <= CURVATURE * fabs(start->slope)) {
      *found = true;
      return FURROW_OK;
    }
    if (!fall || t->slope > 0)
      upper = *t;
    else
      lower = *t;
    if (upper.length - lower.length <= 1e-16 * lower.length) return FURROW_OK;
    length = isinf(upper.length) ? 4 * lower.length : between(&lower, &upper);
  }
  return FURROW_OK;
}

/* ---- Iterations ---- */

static bool converged(const fw_lbfgs *l) {
  return l->largest <= l->params.tolerance || (l->params.value_tolerance > 0 && l->small_gains >= 2);
}

static furrow_status evaluate_start(fw_lbfgs *l, furrow_error *err) {
  FW_TRY(l->params.function(l->params.user, l->x, l->gradient, &l->value, err));
  l->evaluations = 1;
  l->largest = largest(l, l->gradient);
  if (!isfinite(l->value) || !isfinite(l->largest))
    return fw_fail(err, FURROW_E_RANGE, "the function or its gradient is not finite at the start");
  return FURROW_OK;
}

static void take_step(fw_lbfgs *l, const trial *t) {
  double *const x = l->x, *const gradient = l->gradient;
  remember(l);
  l->x = l->next_x;
  l->gradient = l->next_gradient;
  l->next_x = x;
  l->next_gradient = gradient;
  l->small_gains = l->value - t->value <= l->params.value_tolerance * fabs(l->value) ? l->small_gains + 1 : 0;
  l->value = t->value;
  l->largest = largest(l, l->gradient);
}

/* Makes one iteration: a direction and a step along it; *found false: no step was found. */
static furrow_status iterate(fw_lbfgs *l, bool *found, furrow_error *err) {
  trial start = {.value = l->value}, t;
  *found = false;
  find_direction(l);
  start.slope = dot(l, l->gradient, l->direction);
  if (!(start.slope < 0)) return FURROW_OK;
  /* Without history and diagonal the scale is unknown: the first step has length 1 at most. */
  const double first = l->pairs > 0 || l->inverse ? 1 : fmin(1, 1 / sqrt(-start.slope));
  FW_TRY(search_line(l, &start, first, &t, found, err));
  if (*found) take_step(l, &t);
  return FURROW_OK;
}

furrow_status fw_lbfgs_step(fw_lbfgs *l, fw_lbfgs_state *state, furrow_error *err) {
  bool found = false;
  if (l->evaluations == 0) FW_TRY(evaluate_start(l, err));
  if (l->state == FW_LBFGS_GOING && converged(l)) l->state = FW_LBFGS_CONVERGED;
  if (l->state == FW_LBFGS_GOING) {
    FW_TRY(iterate(l, &found, err));
    if (!found && l->pairs > 0) { /* the history may be of little use: clear it */
      l->pairs = 0;
      FW_TRY(iterate(l, &found, err));
    }
    l->state = !found ? FW_LBFGS_STUCK : converged(l) ? FW_LBFGS_CONVERGED : FW_LBFGS_GOING;
  }
  *state = l->state;
  return FURROW_OK;
}
