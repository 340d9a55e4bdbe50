/* learn/train/solve_linear.c: linear models by their exact minimum: an epoch is ten iterations of L-BFGS. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "learn/data/samples.h"
#include "learn/train/fit.h"

enum { MANY_ROWS = 50000, ITERATIONS = 200, EPOCH_ITERATIONS = 10 }; /* the default limit; iterations of an epoch */
#define COMPARED 1e-7 /* share of the objective: iterations that gain less do not change a comparison */
/* The same for many rows, whose solution ends there, too: held-out losses of long-tailed one-hot rows stay the same to
 * 3e-5 (docs/design/defaults.md), and most of the time of an exact minimum is spent behind that. */
#define MANY_COMPARED 1e-5

struct fw_convex_fit {
  uint32_t *use;          /* rows of the samples; NULL: all */
  size_t count;           /* number of these rows of this rank */
  double *label, *weight; /* labels and weights of all rows of the samples */
  fw_linear_problem *problem;
  fw_lbfgs *solver;
  double compared;         /* value tolerance of a solution that is compared */
  size_t rows, outputs;    /* rows that this rank has in the problem */
  double *scores;          /* scores of these rows */
  fw_scaled_block centred; /* the rows, where the linear model has units of its own */
  double *in_net_units;    /* then: its parameters for rows in the net's units, once it is solved */
};

/* ---- The problem ---- */

furrow_status fw_convex_labels(const fw_prepared *d, const furrow_rowblock *rows, double **label, double **weight,
                               furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  const bool as_signs = plan->graph.loss == FW_LOSS_CROSS_ENTROPY;
  const bool valid = d->valid_samples && rows == fw_samples_block(d->valid_samples);
  const fw_samples *samples = valid ? d->valid_samples : d->samples;
  FW_TRY(FW_ALLOC(label, rows->size + 1, err));
  FW_TRY(FW_ALLOC(weight, rows->size + 1, err));
  for (size_t i = 0; i < rows->size; i++) {
    const furrow_row row = furrow_rowblock_row(rows, i);
    furrow_status status = fw_row_label(&plan->data, &plan->graph, &row, *label + i, *weight + i, err);
    if (status != FURROW_OK) {
      fw_error_prefix_row(err, samples->first_row + i + 1);
      fw_error_set_file(err, fw_samples_name(samples));
      return status;
    }
    if (as_signs) (*label)[i] = (*label)[i] > 0 ? 1 : -1;
  }
  return FURROW_OK;
}

/* The gradient of the Huber loss is at most delta, which is small compared with large labels. */
static double usual_strength(const fw_graph *graph) {
  return graph->loss == FW_LOSS_HUBER ? fmin(1, graph->layers[graph->count - 1].delta) : 1;
}

double fw_convex_strength(const fw_prepared *d) {
  const fw_graph *graph = &d->trainer->plan->graph;
  const bool own = d->exact && d->trainer->plan->train.own_l2;
  return own ? graph->layers[0].optimizer.l2 : usual_strength(graph);
}

/* The rows of this rank, with labels and weights. */
static furrow_status take_rows(fw_convex_fit *c, const fw_fit *f, const fw_epoch_rows *rows, size_t factors,
                               const furrow_rowblock **all, furrow_error *err) {
  *all = fw_samples_block(f->data->samples);
  if (f->data->linear_scaling.count > 0 && factors == 0) {
    FW_TRY(fw_scaled_block_fill(&c->centred, &f->data->linear_scaling, fw_samples_raw_block(f->data->samples), err));
    *all = &c->centred.block;
  }
  c->count = (*all)->size;
  if (rows) FW_TRY(fw_epoch_rows_list(rows, &c->use, &c->count, err));
  return fw_convex_labels(f->data, *all, &c->label, &c->weight, err);
}

/* A rank keeps records of its own features only, but max_features limits the features of all ranks together. */
static furrow_status check_features(const fw_convex_fit *c, const furrow_trainer *t, furrow_error *err) {
  size_t features = 0;
  (void)fw_linear_problem_keys(c->problem, &features);
  if (t->max_features == 0 || features <= t->max_features || !fw_parameters_are_open(t->parameters)) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "the data has more than %" PRIu64 " features", t->max_features);
}

/* How much a row says about the weight of a feature that it has: the mean of the loss's second derivative. */
static double row_curvature(const fw_convex_fit *c, const fw_graph *graph, size_t output) {
  const double *label, *weight;
  const size_t rows = fw_linear_problem_rows(c->problem, &label, &weight);
  double positive = 0, total = 0;
  if (fw_loss_is_regression(graph->loss)) return 1;
  for (size_t i = 0; i < rows; i++) {
    const double of_row = weight ? weight[i] : 1;
    const bool mine = graph->loss == FW_LOSS_SOFTMAX ? (size_t)label[i] == output : label[i] > 0;
    total += of_row;
    positive += mine ? of_row : 0;
  }
  const double share = total > 0 ? positive / total : 0;
  return share * (1 - share);
}

/* A model that goes on from earlier logs stays near its weights, the nearer the more rows had the feature: about the
 * minimum over the rows of all logs (the earlier ones by their second derivatives). */
static furrow_status set_prior(fw_convex_fit *c, const fw_fit *f, double l2, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  const fw_graph *graph = &t->plan->graph;
  const fw_parameters *first = f->first ? f->first : t->parameters;
  const size_t size = fw_linear_problem_size(c->problem), outputs = graph->outputs;
  double *centre = NULL, *strength = NULL;
  size_t features = 0;
  const uint64_t *keys = fw_linear_problem_keys(c->problem, &features);
  furrow_status status = FW_ALLOC_ZERO(&centre, size, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&strength, size, err);
  if (status != FURROW_OK) {
    fw_free(centre);
    return status;
  }
  fw_parameters_get_bias(first, centre + features * outputs);
  for (size_t o = 0; o < outputs; o++) {
    const double curvature = row_curvature(c, graph, o);
    for (size_t i = 0; i < features; i++) {
      const double earlier = keys[i] < t->earlier_features ? (double)t->earlier[keys[i]] : 0;
      strength[i * outputs + o] = l2 + curvature * earlier;
    }
    strength[features * outputs + o] = curvature * (double)t->earlier_rows;
  }
  for (size_t i = 0; i < features; i++) (void)fw_parameters_get_linear(first, keys[i], centre + i * outputs);
  fw_linear_problem_set_prior(c->problem, centre, strength);
  return FURROW_OK;
}

static furrow_status create_problem(fw_convex_fit *c, const fw_fit *f, const fw_epoch_rows *rows, double l2,
                                    size_t factors, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const fw_graph *graph = &plan->graph;
  const furrow_comm *comm = f->trainer->comm;
  const furrow_rowblock *all = NULL;
  const double *label, *weight;
  FW_TRY(fw_comm_share_status(comm, take_rows(c, f, rows, factors, &all, err), err));
  uint64_t count = c->count;
  FW_TRY(fw_comm_max_u64(comm, &count, 1, err));
  if (count == 0) return fw_fail_no_rows(f->data, err);
  const fw_linear_params params = {.rows = all,
                                   .use = c->use,
                                   .count = c->count,
                                   .label = c->label,
                                   .weight = c->weight,
                                   .loss = graph->loss == FW_LOSS_CROSS_ENTROPY ? FW_LOSS_LOG
                                                                                : graph->loss, /* of the score */
                                   .outputs = graph->outputs,
                                   .delta = graph->layers[graph->count - 1].delta,
                                   .l2 = l2,
                                   .range = plan->data.range > 0 ? (uint64_t)plan->data.range : 0,
                                   .pool = f->trainer->pool,
                                   .factors = factors,
                                   .comm = comm,
                                   .first_row = f->data->samples->first_row};
  FW_TRY(fw_linear_problem_create(&c->problem, &params, err));
  FW_TRY(check_features(c, f->trainer, err));
  if (f->data->goes_on && factors == 0) FW_TRY(set_prior(c, f, l2, err));
  const bool many = f->data->samples->all_rows >= MANY_ROWS;
  const fw_linear_solver_params solver = {.value_tolerance = many ? MANY_COMPARED : 0};
  c->compared = many ? MANY_COMPARED : COMPARED;
  if (factors == 0) FW_TRY(fw_linear_solver_create(&c->solver, c->problem, &solver, err));
  c->outputs = graph->outputs;
  c->rows = fw_linear_problem_rows(c->problem, &label, &weight);
  return fw_comm_all_ok(comm, FW_ALLOC(&c->scores, c->rows * graph->outputs, err), err);
}

furrow_status fw_convex_fit_create(fw_convex_fit **convex, const fw_fit *f, const fw_epoch_rows *rows, double l2,
                                   size_t factors, furrow_error *err) {
  fw_convex_fit *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_status status = create_problem(made, f, rows, l2, factors, err);
  return FW_HAND_OVER(status, convex, made, fw_convex_fit_free);
}

void fw_convex_fit_free(fw_convex_fit *convex) {
  if (!convex) return;
  fw_lbfgs_free(convex->solver);
  fw_linear_problem_free(convex->problem);
  fw_free(convex->use);
  fw_free(convex->label);
  fw_free(convex->weight);
  fw_free(convex->scores);
  fw_free(convex->in_net_units);
  fw_scaled_block_clear(&convex->centred);
  fw_free(convex);
}

/* The factor and the mean of a feature; 1 and 0 if it is not listed. */
static double factor_of(const fw_scaling *scaling, uint64_t key, double *mean) {
  const size_t at = fw_lower_bound_u64(scaling->key, scaling->count, sizeof *scaling->key, key);
  const bool listed = at < scaling->count && scaling->key[at] == key;
  if (mean) *mean = listed ? scaling->mean[at] : 0;
  return listed ? scaling->factor[at] : 1;
}

/* Converts weights of centred features to the units of the net, where features have factors but no means. */
static furrow_status convert_units(fw_convex_fit *c, const fw_fit *f, furrow_error *err) {
  const size_t outputs = f->trainer->plan->graph.outputs, size = fw_linear_problem_size(c->problem);
  size_t features = 0;
  const uint64_t *keys = fw_linear_problem_keys(c->problem, &features);
  if (f->data->linear_scaling.count == 0) return FURROW_OK;
  FW_TRY(FW_ALLOC(&c->in_net_units, size, err));
  double *x = c->in_net_units;
  memcpy(x, c->solver->x, size * sizeof *x);
  for (size_t i = 0; i < features; i++) {
    double mean;
    const double factor = factor_of(&f->data->linear_scaling, keys[i], &mean),
                 of_net = factor_of(&f->data->scaling, keys[i], NULL);
    for (size_t o = 0; o < outputs; o++) {
      x[features * outputs + o] -= x[i * outputs + o] * factor * mean;
      x[i * outputs + o] *= factor / of_net;
    }
  }
  return FURROW_OK;
}

furrow_status fw_convex_fit_solve(fw_convex_fit *convex, const fw_fit *f, furrow_error *err) {
  fw_lbfgs_state state = FW_LBFGS_GOING;
  for (uint64_t i = 0; i < ITERATIONS && state == FW_LBFGS_GOING; i++) {
    FW_TRY(fw_lbfgs_step(convex->solver, &state, err));
    FW_TRY(fw_fit_ask(f, i + 1, ITERATIONS, err));
  }
  return convert_units(convex, f, err);
}

furrow_status fw_convex_fit_restart(fw_convex_fit *convex, double l2, furrow_error *err) {
  const size_t weights = fw_linear_problem_size(convex->problem) - convex->outputs;
  const fw_linear_solver_params params = {
      .w = convex->solver->x, .bias = convex->solver->x + weights, .value_tolerance = convex->compared};
  fw_lbfgs *solver = NULL;
  fw_linear_problem_set_l2(convex->problem, l2, 0);
  FW_TRY(fw_linear_solver_create(&solver, convex->problem, &params, err));
  fw_lbfgs_free(convex->solver);
  fw_free(convex->in_net_units);
  convex->solver = solver;
  convex->in_net_units = NULL;
  return FURROW_OK;
}

fw_linear_problem *fw_convex_problem(const fw_convex_fit *convex) {
  return convex->problem;
}

fw_linear_model fw_convex_model(const fw_convex_fit *convex) {
  fw_linear_model model = {.outputs = convex->outputs};
  model.keys = fw_linear_problem_keys(convex->problem, &model.features);
  model.weights = convex->in_net_units ? convex->in_net_units : convex->solver->x;
  return model;
}

/* ---- Epochs ---- */

/* The strength that is set, or the best for held-out rows. */
static furrow_status choose_strength(fw_fit *f, double *l2, furrow_error *err) {
  const fw_prepared *d = f->data;
  const double usual = *l2 = fw_convex_strength(d);
  if (d->goes_on || d->trainer->plan->train.own_l2 || d->samples->all_rows < FW_STRENGTH_ROWS) return FURROW_OK;
  if (!fw_prepared_valid_block(d)) return FURROW_OK;
  FW_TRY(fw_linear_strength_choose(f, l2, d->valid ? NULL : &f->held_out, err));
  if (*l2 == usual) return FURROW_OK;
  return fw_trainer_note(f->trainer, false, err, "L2 is %.3g, which is better than %.3g for rows that were held out",
                         *l2, usual);
}

static furrow_status begin_linear(fw_fit *f, furrow_error *err) {
  fw_convex_fit *convex = NULL;
  double l2;
  FW_TRY(choose_strength(f, &l2, err));
  FW_TRY(fw_convex_fit_create(&convex, f, f->data->train, l2, 0, err));
  f->state = convex;
  return FURROW_OK;
}

static void free_linear(void *state) {
  fw_convex_fit_free(state);
}

static furrow_status put_linear(const fw_fit *f, furrow_error *err) {
  const fw_linear_model model = fw_convex_model(f->state);
  return fw_parameters_put_linear(f->trainer->parameters, &model, err);
}

static void add_scores(void *user, fw_tally *tally) {
  const fw_convex_fit *c = user;
  const double *label, *weight;
  fw_linear_problem_rows(c->problem, &label, &weight);
  for (size_t i = 0; i < c->rows; i++) fw_tally_add(tally, c->scores + i * c->outputs, label[i], weight[i]);
}

furrow_status fw_convex_fit_tally(fw_convex_fit *c, const double *x, const fw_fit *f, furrow_error *err) {
  fw_linear_problem_scores(c->problem, x ? x : c->solver->x, c->scores);
  return fw_tally_add_by_rank(f->tally, f->trainer->comm, add_scores, c, err);
}

/* Computing the figures takes as long as an iteration, so they are computed only now and then. */
static furrow_status train_iterations(fw_fit *f, fw_epoch *epoch, furrow_error *err) {
  const double start = fw_seconds_now();
  fw_convex_fit *convex = f->state;
  fw_lbfgs_state state = FW_LBFGS_GOING;
  for (uint64_t i = 0; i < EPOCH_ITERATIONS && state == FW_LBFGS_GOING; i++) {
    FW_TRY(fw_lbfgs_step(convex->solver, &state, err));
    FW_TRY(fw_fit_ask(f, i + 1, EPOCH_ITERATIONS, err));
  }
  f->done = state != FW_LBFGS_GOING;
  f->trainer->steps.count++;
  epoch->shown.learning_rate = 1;
  fw_tally_clear(f->tally, FW_EXACT_TRAIN_ROWS);
  FW_TRY(fw_convex_fit_tally(convex, NULL, f, err));
  fw_tally_metrics(f->tally, &epoch->train);
  epoch->shown.seconds = fw_seconds_now() - start;
  return f->data->valid ? put_linear(f, err) : FURROW_OK;
}

/* With validation rows, the parameters already have the weights of the last epoch, or of the best one. */
static furrow_status finish_linear(fw_fit *f, furrow_error *err) {
  if (!f->data->valid) FW_TRY(put_linear(f, err));
  if (f->done) return FURROW_OK;
  return fw_trainer_note(f->trainer, false, err,
                         "the minimum was not reached in %zu iterations; more epochs (key `epochs`) may help",
                         f->trainer->epochs * EPOCH_ITERATIONS);
}

const fw_solver fw_solve_linear = {
    .begin = begin_linear, .train = train_iterations, .finish = finish_linear, .free = free_linear};
