/* learn/train/solve_factors.c: a factorization machine by L-BFGS, for several strengths of regularisation.
 *
 * L2 of vectors is a penalty on the (weighted) nuclear norm of the matrix of interactions: a feature of few rows gets a
 * short vector, and above some strength all vectors are 0. The path begins near that strength, and weakens it by the
 * root of 2 as long as the validation rows are predicted better. The best strength is then solved with all rows.
 * docs/design/defaults.md has what was measured. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "learn/conf/conf_data.h"
#include "learn/data/samples.h"
#include "learn/train/fit.h"

enum { ITERATIONS = 100, LAST_ITERATIONS = 200, POWER_ITERATIONS = 12, PATIENCE = 2 };
#define LEAST_GAIN 1e-4 /* share of the objective: two iterations in a row that gain less end a strength */

typedef struct factor_fit {
  fw_linear_start start;
  fw_convex_fit *rows; /* rows of training, or all */
  size_t factors, size;
  double *x, *best; /* parameters of the problem: now, and after the best epoch */
  double strength, best_strength;
  fw_rng rng;
} factor_fit;

static void free_factors(void *state) {
  factor_fit *p = state;
  fw_convex_fit_free(p->start.convex);
  fw_convex_fit_free(p->rows);
  fw_free(p->x);
  fw_free(p->best);
  fw_free(p);
}

static size_t feature_count(const factor_fit *p) {
  return p->size / (1 + p->factors);
}

/* ---- The start ---- */

static size_t factors_of(const fw_graph *graph) {
  size_t i = 0;
  while (graph->layers[i].type != FW_LAYER_EMBEDDING) i++;
  return graph->layers[i].factors;
}

/* Vectors near 0 hardly move, so noise moves them away from it. */
static void add_noise(factor_fit *p, double deviation) {
  const size_t width = 1 + p->factors;
  for (size_t i = 0; i + 1 < p->size; i++)
    if (i % width != 0) p->x[i] += deviation * fw_rng_normal(&p->rng);
}

/* Takes the weights of the linear model, which has the same features: both models have the same training rows. */
static void take_linear(factor_fit *p, const fw_convex_fit *linear) {
  const double *w = fw_convex_model(linear).weights;
  const size_t features = feature_count(p);
  for (size_t i = 0; i <= features; i++) p->x[i * (1 + p->factors)] = w[i];
}

static furrow_status create_rows(factor_fit *p, const fw_fit *f, const fw_epoch_rows *rows, furrow_error *err) {
  FW_TRY(fw_convex_fit_create(&p->rows, f, rows, p->start.l2, p->factors, err));
  p->size = fw_linear_problem_size(fw_convex_problem(p->rows));
  FW_TRY(FW_ALLOC_ZERO(&p->x, p->size, err));
  return FW_ALLOC(&p->best, p->size, err);
}

/* The length of all vectors, each squared times scale^power. */
static double length_of_vectors(const double *x, const factor_fit *p, int power) {
  const double *scale = fw_linear_problem_factor_scale(fw_convex_problem(p->rows));
  const size_t features = feature_count(p), width = 1 + p->factors;
  double total = 0;
  for (size_t f = 0; f < features; f++) {
    double sum = 0;
    for (size_t j = 1; j < width; j++) sum += x[f * width + j] * x[f * width + j];
    total += power > 0 ? sum * scale[f] : sum / scale[f];
  }
  return sqrt(total);
}

/* Sets the vectors to the gradient's vectors, divided by the scale and times a factor. */
static void follow(factor_fit *p, const double *gradient, double factor) {
  const double *scale = fw_linear_problem_factor_scale(fw_convex_problem(p->rows));
  const size_t features = feature_count(p), width = 1 + p->factors;
  for (size_t f = 0; f < features; f++)
    for (size_t j = 1; j < width; j++) p->x[f * width + j] = gradient[f * width + j] / scale[f] * factor;
}

/* Vectors that are almost 0 grow if that lowers the losses, and shrink by their strength. The strength at which even
 * the best direction shrinks is the largest eigenvalue of the second derivatives, in units of the scale. It is found by
 * power iteration. */
static furrow_status find_strongest(factor_fit *p, double *strongest, furrow_error *err) {
  double *gradient = NULL, value;
  FW_TRY(FW_ALLOC(&gradient, p->size, err));
  fw_linear_problem_set_l2(fw_convex_problem(p->rows), 0, 0);
  add_noise(p, 1e-6);
  furrow_status status = FURROW_OK;
  const double length = length_of_vectors(p->x, p, 1);
  *strongest = 0;
  for (int i = 0; status == FURROW_OK && i < POWER_ITERATIONS; i++) {
    status = fw_linear_problem_evaluate(fw_convex_problem(p->rows), p->x, gradient, &value, err);
    const double its = length_of_vectors(gradient, p, -1);
    *strongest = length > 0 ? its / length : 0;
    if (its > 0) follow(p, gradient, length / its);
  }
  follow(p, p->x, 0);
  fw_free(gradient);
  return status;
}

static furrow_status begin_factors(fw_fit *f, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  factor_fit *p = NULL;
  FW_TRY(FW_ALLOC_ZERO(&p, 1, err));
  f->state = p;
  FW_TRY(fw_linear_start_solve(&p->start, f, err));
  p->factors = factors_of(&plan->graph);
  fw_rng_init(&p->rng, fw_rng_hash(plan->train.seed, 0x666d));
  FW_TRY(create_rows(p, f, f->data->train, err));
  if (p->start.convex) take_linear(p, p->start.convex);
  f->keep_best = true;
  if (!fw_conf_is_set(f->trainer->conf, FW_KEY_PATIENCE)) f->patience = PATIENCE;
  if (!plan->train.own_l2) return find_strongest(p, &p->strength, err);
  p->strength = p->start.l2 = fw_convex_strength(f->data);
  return FURROW_OK;
}

/* ---- A strength ---- */

/* progress_fit: the fit whose progress is reported; NULL: none is. */
static furrow_status solve(factor_fit *p, double l2, int iterations, double least, fw_fit *progress_fit,
                           furrow_error *err) {
  fw_lbfgs *solver = NULL;
  fw_lbfgs_state state = FW_LBFGS_GOING;
  const uint64_t rows = progress_fit ? fw_epoch_rows_known_rows(progress_fit->data->train) : 0;
  fw_linear_problem *problem = fw_convex_problem(p->rows);
  const fw_linear_solver_params params = {.w = p->x, .bias = p->x + p->size - 1, .value_tolerance = least};
  fw_linear_problem_set_l2(problem, l2, p->strength);
  furrow_status status = fw_linear_solver_create(&solver, problem, &params, err);
  for (int i = 0; status == FURROW_OK && i < iterations && state == FW_LBFGS_GOING; i++) {
    status = fw_lbfgs_step(solver, &state, err);
    if (status == FURROW_OK && progress_fit)
      status = fw_fit_progress(progress_fit, rows * ((uint64_t)i + 1) / (uint64_t)iterations, err);
  }
  if (status == FURROW_OK) memcpy(p->x, solver->x, p->size * sizeof *p->x);
  fw_lbfgs_free(solver);
  return status;
}

static furrow_status put_factors(const furrow_trainer *t, const factor_fit *p, furrow_error *err) {
  size_t features = 0;
  const uint64_t *keys = fw_linear_problem_keys(fw_convex_problem(p->rows), &features);
  return fw_parameters_put_factors(t->parameters, keys, features, p->x, err);
}

static furrow_status train_strength(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_seconds_now();
  const fw_plan *plan = f->trainer->plan;
  factor_fit *p = f->state;
  f->done = plan->train.own_l2;
  if (!plan->train.own_l2) p->strength /= sqrt(2);
  add_noise(p, plan->train.init_embedding);
  f->reported = 0;
  FW_TRY(solve(p, p->start.l2, ITERATIONS, LEAST_GAIN, f, err));
  f->trainer->steps.count++;
  epoch->shown.learning_rate = 1;
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  FW_TRY(fw_convex_fit_tally(p->rows, p->x, f, err));
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->shown.seconds = fw_seconds_now() - start;
  return put_factors(f->trainer, p, err);
}

static void keep_factors(fw_fit *f) {
  factor_fit *p = f->state;
  memcpy(p->best, p->x, p->size * sizeof *p->x);
  p->best_strength = p->strength;
}

/* ---- The end ---- */

/* Starts from the parameters of the best epoch. Features that only the validation rows have start at random. */
static void take_best(factor_fit *all, const factor_fit *p, double deviation) {
  const size_t width = 1 + p->factors;
  size_t features = 0, found = 0, at = 0;
  const uint64_t *keys = fw_linear_problem_keys(fw_convex_problem(all->rows), &features);
  const uint64_t *had = fw_linear_problem_keys(fw_convex_problem(p->rows), &found);
  add_noise(all, deviation);
  for (size_t i = 0; i < features; i++) {
    while (at < found && had[at] < keys[i]) at++;
    if (at < found && had[at] == keys[i]) memcpy(all->x + i * width, p->best + at * width, width * sizeof *all->x);
  }
  all->x[all->size - 1] = p->best[p->size - 1];
}

/* Returns the minimum of the parabola through the losses of the best strength and its two neighbours. Where losses are
 * about the same, chance decides which strength is best on the validation rows. */
static double refined_strength(const fw_fit *f) {
  const furrow_trainer *t = f->trainer;
  const double best = ((const factor_fit *)f->state)->best_strength;
  if (t->best < 2 || t->best >= t->epochs) return best;
  const fw_epoch *epoch = &t->history[t->best - 1];
  const double before = epoch[-1].valid.loss, at = epoch->valid.loss, behind = epoch[1].valid.loss;
  const double curve = before - 2 * at + behind;
  return curve > 0 ? best * pow(2, -0.25 * fmax(fmin((before - behind) / curve, 1), -1)) : best;
}

/* Solves the problem of all rows with the best strength. */
static furrow_status solve_all(fw_fit *f, furrow_error *err) {
  factor_fit *p = f->state;
  p->best_strength = refined_strength(f);
  factor_fit all = {.start = {.l2 = p->start.l2}, .factors = p->factors, .strength = p->best_strength, .rng = p->rng};
  furrow_status status = create_rows(&all, f, NULL, err);
  if (status == FURROW_OK) {
    take_best(&all, p, f->trainer->plan->train.init_embedding);
    status = solve(&all, p->start.l2, LAST_ITERATIONS, LEAST_GAIN / 10, NULL, err);
  }
  if (status == FURROW_OK) status = put_factors(f->trainer, &all, err);
  fw_convex_fit_free(all.rows);
  fw_free(all.x);
  fw_free(all.best);
  return status;
}

static furrow_status note_strength(fw_fit *f, bool again, furrow_error *err) {
  const factor_fit *p = f->state;
  const furrow_trainer *t = f->trainer;
  const bool last = t->epochs > 1 && t->best == t->epochs && t->epochs >= t->plan->train.epochs;
  FW_TRY(
      fw_trainer_note(f->trainer, false, err,
                      "L2 of the weights is %.3g and of the vectors %.3g, the best of %zu strengths for the validation "
                      "rows%s",
                      p->start.l2, p->best_strength, t->epochs, again ? "; the model is of all rows" : ""));
  if (!last) return FURROW_OK;
  return fw_trainer_note(f->trainer, false, err,
                         "the weakest L2 that was tried is the best; more epochs (key `epochs`) may help");
}

/* Now that the strength is known, rows that were held out are used for training, too. */
static furrow_status finish_factors(fw_fit *f, furrow_error *err) {
  const bool again = f->data->valid && !f->data->valid_samples;
  const fw_linear_start *start = &((const factor_fit *)f->state)->start;
  fw_comparison c = {0};
  if (fw_linear_start_can_compare(start, f)) {
    FW_TRY(fw_linear_start_compare(start, f, &c, err));
    FW_TRY(fw_linear_start_fall_back(start, f, &c, err));
  }
  if (f->trainer->fell_back || f->trainer->epochs == 0) return FURROW_OK;
  if (again) FW_TRY(solve_all(f, err));
  return f->trainer->plan->train.own_l2 ? FURROW_OK : note_strength(f, again, err);
}

const fw_solver fw_solve_factors = {.begin = begin_factors,
                                    .train = train_strength,
                                    .keep = keep_factors,
                                    .finish = finish_factors,
                                    .free = free_factors};
