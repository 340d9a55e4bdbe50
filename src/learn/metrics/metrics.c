/* learn/metrics/metrics.c: figures of scored rows. */
#include "learn/metrics/metrics.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"

enum { SUM_ROWS, SUM_WEIGHT, SUM_LOSS, SUM_LOGLOSS, SUM_SQUARE, SUM_ABSOLUTE, SUM_LABEL, SUM_SCORE, SUMS };
enum { SUM_LABEL_LOG = SUM_LOGLOSS }; /* of PoissonLoss: label * ln label */

/* Weights of the rows of a class: labelled so, predicted so, and both. */
enum { CLASS_ACTUAL, CLASS_PREDICTED, CLASS_RIGHT, CLASS_SUMS };

/* Sums and counts contain no pointers, so that ranks can add them up. */
struct fw_tally {
  const fw_graph *graph;
  fw_loss_type loss;
  double sums[SUMS];
  double label_mean, label_spread; /* regression: mean label, sum of w * (label - mean)^2; must follow the sums */
  size_t classes;                  /* 0: regression */
  double *class_sums;              /* CLASS_SUMS for each class, then the confusion matrix, a row for each label */
  size_t class_numbers;            /* length of class_sums */
  fw_ranking *ranking;             /* two classes; else NULL */
  double ndcg;                     /* rows that are ranked in groups */
  double constant;                 /* loss of the best constant, if it is a quantile */
};

/* ---- Kinds of models ------------------------------------------------------------------------------------ */

static size_t count_classes(const fw_graph *graph) {
  if (fw_loss_is_regression(graph->loss) || fw_loss_ranks(graph->loss)) return 0;
  return fw_loss_has_two_classes(graph->loss) ? 2 : graph->outputs;
}

bool fw_loss_has_metric(fw_loss_type loss, size_t offset) {
  if (offset == offsetof(furrow_learn_metrics, ndcg)) return fw_loss_ranks(loss);
  if (fw_loss_ranks(loss)) return offset == offsetof(furrow_learn_metrics, loss);
  switch (offset) {
  case offsetof(furrow_learn_metrics, auc):
  case offsetof(furrow_learn_metrics, pr_auc): return fw_loss_has_two_classes(loss);
  case offsetof(furrow_learn_metrics, accuracy):
  case offsetof(furrow_learn_metrics, logloss):
  case offsetof(furrow_learn_metrics, precision):
  case offsetof(furrow_learn_metrics, recall):
  case offsetof(furrow_learn_metrics, f1):
  case offsetof(furrow_learn_metrics, constant_accuracy):
  case offsetof(furrow_learn_metrics, constant_logloss): return !fw_loss_is_regression(loss);
  case offsetof(furrow_learn_metrics, rmse):
  case offsetof(furrow_learn_metrics, mae):
  case offsetof(furrow_learn_metrics, r2):
  case offsetof(furrow_learn_metrics, constant_rmse): return fw_loss_is_regression(loss);
  case offsetof(furrow_learn_metrics, pinball): return loss == FW_LOSS_QUANTILE;
  case offsetof(furrow_learn_metrics, deviance): return loss == FW_LOSS_POISSON;
  default: return true;
  }
}

/* ---- Gathering ------------------------------------------------------------------------------------------ */

static bool has_confusion(const fw_tally *t) {
  return t->classes <= FW_CONFUSION_CLASSES;
}

static furrow_status make_parts(fw_tally *t, furrow_error *err) {
  const size_t squares = has_confusion(t) ? t->classes * t->classes : 0;
  if (t->classes > (SIZE_MAX - squares) / CLASS_SUMS) return fw_fail_memory(err, SIZE_MAX);
  t->class_numbers = CLASS_SUMS * t->classes + squares;
  FW_TRY(FW_ALLOC_ZERO(&t->class_sums, t->class_numbers, err));
  return fw_loss_has_two_classes(t->loss) ? fw_ranking_create(&t->ranking, t->loss, err) : FURROW_OK;
}

furrow_status fw_tally_create(fw_tally **tally, const fw_graph *graph, furrow_error *err) {
  fw_tally *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  *made =
      (fw_tally){.graph = graph, .loss = graph->loss, .classes = count_classes(graph), .ndcg = NAN, .constant = NAN};
  const furrow_status status = make_parts(made, err);
  return FW_HAND_OVER(status, tally, made, fw_tally_free);
}

void fw_tally_free(fw_tally *tally) {
  if (!tally) return;
  fw_ranking_free(tally->ranking);
  fw_free(tally->class_sums);
  fw_free(tally);
}

void fw_tally_clear(fw_tally *tally, size_t exact_rows) {
  memset(tally->sums, 0, sizeof tally->sums);
  tally->label_mean = tally->label_spread = 0;
  tally->ndcg = tally->constant = NAN;
  memset(tally->class_sums, 0, tally->class_numbers * sizeof *tally->class_sums);
  if (tally->ranking) fw_ranking_clear(tally->ranking, exact_rows);
}

static double *confusion_cell(const fw_tally *t, size_t actual, size_t predicted) {
  return &t->class_sums[CLASS_SUMS * t->classes + actual * t->classes + predicted];
}

static void add_class(fw_tally *t, size_t actual, size_t predicted, double weight) {
  t->class_sums[CLASS_SUMS * actual + CLASS_ACTUAL] += weight;
  t->class_sums[CLASS_SUMS * predicted + CLASS_PREDICTED] += weight;
  if (actual == predicted) t->class_sums[CLASS_SUMS * actual + CLASS_RIGHT] += weight;
  if (has_confusion(t)) *confusion_cell(t, actual, predicted) += weight;
}

/* The smallest probability whose logarithm is taken. */
static const double least = 1e-15;

static inline void add_two_classes(fw_tally *t, double out, double label, double weight, fw_row_terms terms) {
  const bool positive = label > 0;
  const double proba = fabs(terms.score), right = positive ? proba : 1 - proba;
  t->sums[SUM_LOGLOSS] += weight * (t->loss == FW_LOSS_LOG ? terms.loss : -log(right < least ? least : right));
  t->sums[SUM_LABEL] += positive ? weight : 0;
  t->sums[SUM_SCORE] += weight * proba;
  add_class(t, positive, !signbit(terms.score), weight);
  fw_ranking_add(t->ranking, out, positive, weight);
}

/* The spread is summed over differences from the mean: sums of squares would lose precision where the mean is large. */
static void add_label(fw_tally *t, double label, double weight) {
  if (!(weight > 0)) return;
  const double before = label - t->label_mean;
  t->label_mean += before * (weight / t->sums[SUM_WEIGHT]);
  t->label_spread += weight * before * (label - t->label_mean);
}

static void add_regression(fw_tally *t, double out, double label, double weight) {
  if (t->loss == FW_LOSS_POISSON && label > 0) t->sums[SUM_LABEL_LOG] += weight * label * log(label);
  t->sums[SUM_SQUARE] += weight * (out - label) * (out - label);
  t->sums[SUM_ABSOLUTE] += weight * fabs(out - label);
  t->sums[SUM_LABEL] += weight * label;
  t->sums[SUM_SCORE] += weight * out;
  add_label(t, label, weight);
}

static void add_classes(fw_tally *t, double label, double weight, fw_row_terms terms) {
  t->sums[SUM_LOGLOSS] += weight * terms.loss;
  add_class(t, (size_t)label, (size_t)terms.score, weight);
}

fw_row_terms fw_row_terms_of(const fw_graph *graph, const double *out, double label) {
  const bool two = fw_loss_has_two_classes(graph->loss);
  const double loss = fw_loss_value(graph, out, label);
  furrow_score score;
  if (!two && graph->loss != FW_LOSS_SOFTMAX && graph->loss != FW_LOSS_POISSON) return (fw_row_terms){.loss = loss};
  fw_loss_score(graph, out, &score);
  if (graph->loss == FW_LOSS_POISSON) return (fw_row_terms){loss, score.pred};
  return (fw_row_terms){loss, two ? copysign(score.proba, score.label) : score.label};
}

/* `two`: there are two classes. */
static inline void add_terms(fw_tally *t, bool two, const double *out, double label, double weight,
                             fw_row_terms terms) {
  t->sums[SUM_ROWS] += 1;
  t->sums[SUM_WEIGHT] += weight;
  t->sums[SUM_LOSS] += weight * terms.loss;
  if (two) {
    add_two_classes(t, *out, label, weight, terms);
  } else if (fw_loss_ranks(t->loss)) {
    t->sums[SUM_SCORE] += weight * *out;
  } else if (fw_loss_is_regression(t->loss)) {
    add_regression(t, t->loss == FW_LOSS_POISSON ? terms.score : *out, label, weight);
  } else {
    add_classes(t, label, weight, terms);
  }
}

void fw_tally_add_terms(fw_tally *t, const double *out, double label, double weight, fw_row_terms terms) {
  add_terms(t, fw_loss_has_two_classes(t->loss), out, label, weight, terms);
}

void fw_tally_add(fw_tally *t, const double *out, double label, double weight) {
  fw_tally_add_terms(t, out, label, weight, fw_row_terms_of(t->graph, out, label));
}

/* Sums of two classes stay in registers. There is no branch on the class: the other class gets 0 added. */
static void add_logistic_rows(fw_tally *t, const fw_tally_row *rows, size_t count) {
  double sums[SUMS], classes[CLASS_SUMS * 2 + 4];
  memcpy(sums, t->sums, sizeof sums);
  memcpy(classes, t->class_sums, sizeof classes);
  for (size_t i = 0; i < count; i++) {
    const size_t actual = rows[i].label > 0, predicted = !signbit(rows[i].terms.score);
    const double weight = (double)rows[i].weight;
    sums[SUM_ROWS] += 1;
    sums[SUM_WEIGHT] += weight;
    sums[SUM_LOSS] += weight * rows[i].terms.loss;
    sums[SUM_LOGLOSS] += weight * rows[i].terms.loss;
    sums[SUM_LABEL] += weight * (double)actual;
    sums[SUM_SCORE] += weight * fabs(rows[i].terms.score);
    classes[CLASS_SUMS * actual + CLASS_ACTUAL] += weight;
    classes[CLASS_SUMS * predicted + CLASS_PREDICTED] += weight;
    classes[CLASS_SUMS * actual + CLASS_RIGHT] += weight * (double)(actual == predicted);
    classes[CLASS_SUMS * 2 + 2 * actual + predicted] += weight;
  }
  memcpy(t->sums, sums, sizeof sums);
  memcpy(t->class_sums, classes, sizeof classes);
}

/* Two independent tasks: the figures from the order of scores, and the sums over the rows. */
typedef struct row_job {
  fw_tally *tally;
  const fw_tally_row *rows;
  size_t count;
} row_job;

static void do_row_job(void *context, size_t i) {
  const row_job *job = context;
  if (i == 0)
    fw_ranking_sum(job->tally->ranking);
  else
    add_logistic_rows(job->tally, job->rows, job->count);
}

static void add_logistic(fw_tally *t, const fw_tally_row *rows, size_t count, bool last, fw_spin_pool *pool) {
  row_job job = {t, rows, count};
  for (size_t i = 0; i < count; i++) fw_ranking_add(t->ranking, rows[i].out, rows[i].label > 0, (double)rows[i].weight);
  if (last) {
    fw_ranking_sort(t->ranking, pool);
    fw_spin_pool_run(pool, 2, do_row_job, &job);
  } else {
    add_logistic_rows(t, rows, count);
  }
}

void fw_tally_add_rows(fw_tally *t, const fw_tally_row *rows, size_t count, bool last, fw_spin_pool *pool) {
  const bool two = fw_loss_has_two_classes(t->loss);
  if (t->loss == FW_LOSS_LOG) {
    add_logistic(t, rows, count, last, pool);
    return;
  }
  for (size_t i = 0; i < count; i++)
    add_terms(t, two, &rows[i].out, (double)rows[i].label, (double)rows[i].weight, rows[i].terms);
}

void fw_tally_put_ndcg(fw_tally *t, double ndcg) {
  t->ndcg = ndcg;
}

void fw_tally_put_constant(fw_tally *t, double loss) {
  t->constant = loss;
}

void fw_metrics_name_loss(furrow_learn_metrics *m, fw_loss_type loss) {
  m->pinball = loss == FW_LOSS_QUANTILE ? m->loss : NAN;
  m->deviance = loss == FW_LOSS_POISSON ? m->loss : NAN;
}

void fw_metrics_put_ndcg(furrow_learn_metrics *m, double ndcg) {
  m->loss = 1 - ndcg;
  m->ndcg = 1 - m->loss;
}

void fw_tally_expect(const fw_tally *t, const double *out) {
  if (t->ranking) fw_ranking_expect(t->ranking, *out);
}

/* ---- Merging, ranks ------------------------------------------------------------------------------------- */

/* Moves the spread of rows of this weight to another mean. */
static void move_spread(fw_tally *t, double weight, double mean) {
  t->label_spread += weight * (t->label_mean - mean) * (t->label_mean - mean);
  t->label_mean = mean;
}

static void merge_labels(fw_tally *into, const fw_tally *from) {
  const double weight = into->sums[SUM_WEIGHT], more = from->sums[SUM_WEIGHT];
  if (!(more > 0)) return;
  fw_tally other = *from;
  const double mean = into->label_mean + (from->label_mean - into->label_mean) * (more / (weight + more));
  move_spread(into, weight, mean);
  move_spread(&other, more, mean);
  into->label_spread += other.label_spread;
}

void fw_tally_merge(fw_tally *into, const fw_tally *from) {
  merge_labels(into, from);
  for (size_t i = 0; i < SUMS; i++) into->sums[i] += from->sums[i];
  for (size_t i = 0; i < into->class_numbers; i++) into->class_sums[i] += from->class_sums[i];
  if (into->ranking) fw_ranking_merge(into->ranking, from->ranking);
}

furrow_status fw_tally_reduce(fw_tally *t, const furrow_comm *comm, furrow_error *err) {
  const double own_weight = t->sums[SUM_WEIGHT];
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_sum_f64(comm, t->sums, SUMS, err));
  if (fw_loss_is_regression(t->loss)) {
    move_spread(t, own_weight, t->sums[SUM_WEIGHT] > 0 ? t->sums[SUM_LABEL] / t->sums[SUM_WEIGHT] : 0);
    return fw_comm_sum_f64(comm, &t->label_spread, 1, err);
  }
  FW_TRY(fw_comm_sum_f64(comm, t->class_sums, t->class_numbers, err));
  return t->ranking ? fw_ranking_reduce(t->ranking, comm, err) : FURROW_OK;
}

/* Receives the sums of rank `from`, including the sums of its labels. */
static furrow_status take_sums(fw_tally *t, const furrow_comm *comm, unsigned from, furrow_error *err) {
  const size_t size = offsetof(fw_tally, classes) - offsetof(fw_tally, sums);
  FW_TRY(comm->broadcast(comm, (char *)t + offsetof(fw_tally, sums), size, from, err));
  if (t->class_numbers == 0) return FURROW_OK;
  return comm->broadcast(comm, t->class_sums, t->class_numbers * sizeof *t->class_sums, from, err);
}

furrow_status fw_tally_add_by_rank(fw_tally *t, const furrow_comm *comm, void (*add)(void *user, fw_tally *tally),
                                   void *user, furrow_error *err) {
  for (unsigned r = 0; r < comm->ranks; r++) {
    if (r == comm->rank) add(user, t);
    if (comm->ranks > 1) FW_TRY(take_sums(t, comm, r, err));
  }
  return t->ranking ? fw_ranking_sum_ranks(t->ranking, comm, err) : FURROW_OK;
}

/* ---- Rows that have their scores ------------------------------------------------------------------------ */

/* Rows per task that computes terms, and the largest number of tasks. */
enum { TERM_ROWS = 1 << 10, TERM_TASKS = 64 };

/* Adds rows first, first + every … All threads compute the terms of rows beforehand. */
typedef struct scored_job {
  const fw_graph *graph;
  const fw_scored_rows *rows;
  fw_spin_pool *pool;
  size_t first, every, count;
  size_t from, to; /* the part of these rows that is computed now */
  double *out;     /* outputs of a row, for each task */
  fw_tally_row *found;
  size_t kept; /* the number of the first one that is kept */
} scored_job;

/* The outputs of a row; `task` has memory for them. */
static const double *outputs_of(const scored_job *job, size_t row, size_t task) {
  if (job->graph->loss != FW_LOSS_SOFTMAX) return job->rows->score + row;
  double *out = job->out + task * job->graph->outputs;
  for (size_t c = 0; c < job->graph->outputs; c++) out[c] = job->rows->score[c * job->rows->count + row];
  return out;
}

static void find_rows(void *context, size_t task) {
  const scored_job *job = context;
  const fw_scored_rows *rows = job->rows;
  const size_t begin = job->from + task * TERM_ROWS, end = job->to - begin < TERM_ROWS ? job->to : begin + TERM_ROWS;
  for (size_t i = begin; i < end; i++) {
    const size_t row = job->first + i * job->every;
    const double *out = outputs_of(job, row, task);
    job->found[i - job->kept] = (fw_tally_row){.terms = fw_row_terms_of(job->graph, out, (double)rows->label[row]),
                                               .out = *out,
                                               .label = rows->label[row],
                                               .weight = rows->weight ? rows->weight[row] : 1};
  }
}

/* The terms of all of this rank's rows are computed before its turn. */
static void add_found(void *user, fw_tally *tally) {
  const scored_job *job = user;
  fw_tally_add_rows(tally, job->found, job->count, false, job->pool);
}

static furrow_status add_scored(fw_tally *t, scored_job *job, const furrow_comm *comm, furrow_error *err) {
  const size_t most = (size_t)TERM_TASKS * TERM_ROWS;
  const bool alone = comm->ranks == 1;
  for (; job->from < job->count; job->from = job->to) {
    job->to = job->count - job->from < most ? job->count : job->from + most;
    job->kept = alone ? job->from : 0;
    fw_spin_pool_run(job->pool, (job->to - job->from + TERM_ROWS - 1) / TERM_ROWS, find_rows, job);
    if (alone) fw_tally_add_rows(t, job->found, job->to - job->from, job->to == job->count, job->pool);
  }
  return alone ? FURROW_OK : fw_tally_add_by_rank(t, comm, add_found, job, err);
}

furrow_status fw_tally_add_scored(fw_tally *t, const fw_scored_rows *rows, size_t every, const furrow_comm *comm,
                                  fw_spin_pool *pool, furrow_error *err) {
  scored_job job = {.graph = t->graph, .rows = rows, .every = every, .pool = pool};
  job.first = (size_t)((every - rows->first % every) % every);
  job.count = job.first < rows->count ? (rows->count - job.first - 1) / every + 1 : 0;
  const size_t most = (size_t)TERM_TASKS * TERM_ROWS, kept = comm->ranks == 1 && most < job.count ? most : job.count;
  furrow_status status = FW_ALLOC(&job.found, kept, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&job.out, t->graph->outputs, TERM_TASKS, err);
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK) status = add_scored(t, &job, comm, err);
  fw_free(job.found);
  fw_free(job.out);
  return status;
}

/* ---- Classes -------------------------------------------------------------------------------------------- */

const fw_ranking *fw_tally_ranking(const fw_tally *tally) {
  return tally->ranking;
}

size_t fw_tally_class_count(const fw_tally *tally) {
  return tally->classes;
}

/* As in scikit-learn, a share of 0 is 0. */
static double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

void fw_tally_class(const fw_tally *t, size_t i, furrow_class_figures *figures) {
  *figures = (furrow_class_figures){.size = sizeof *figures};
  if (i >= t->classes) return;
  const double *sums = &t->class_sums[CLASS_SUMS * i];
  const double actual = sums[CLASS_ACTUAL], predicted = sums[CLASS_PREDICTED], right = sums[CLASS_RIGHT];
  figures->label = fw_loss_has_two_classes(t->loss) ? (i == 0 ? -1 : 1) : (double)i;
  figures->rows = actual;
  figures->predicted = predicted;
  figures->right = right;
  figures->precision = share(right, predicted);
  figures->recall = share(right, actual);
  figures->f1 = share(2 * right, actual + predicted);
}

double fw_tally_confusion(const fw_tally *t, size_t actual, size_t predicted) {
  if (actual >= t->classes || predicted >= t->classes || !has_confusion(t)) return NAN;
  return *confusion_cell(t, actual, predicted);
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

/* Figures of the positive class; of several classes, means over the classes that occur among labels or predictions. */
static void find_class_means(const fw_tally *t, furrow_learn_metrics *m) {
  furrow_class_figures f;
  double seen = 0, precision = 0, recall = 0, f1 = 0;
  for (size_t i = fw_loss_has_two_classes(t->loss) ? 1 : 0; i < t->classes; i++) {
    fw_tally_class(t, i, &f);
    if (!fw_loss_has_two_classes(t->loss) && !(f.rows + f.predicted > 0)) continue;
    seen++;
    precision += f.precision;
    recall += f.recall;
    f1 += f.f1;
  }
  m->precision = precision / seen; /* 0 / 0: NaN */
  m->recall = recall / seen;
  m->f1 = f1 / seen;
}

static void find_accuracy(const fw_tally *t, furrow_learn_metrics *m) {
  double right = 0, largest = 0, entropy = 0;
  for (size_t i = 0; i < t->classes; i++) {
    const double *sums = &t->class_sums[CLASS_SUMS * i], actual = sums[CLASS_ACTUAL];
    right += sums[CLASS_RIGHT];
    largest = actual > largest ? actual : largest;
    if (actual > 0) entropy -= actual * log(actual / m->weight);
  }
  m->accuracy = right / m->weight;
  m->logloss = t->sums[SUM_LOGLOSS] / m->weight;
  m->constant_accuracy = largest / m->weight;
  m->constant_logloss = entropy / m->weight;
}

static void find_order(const fw_tally *t, furrow_learn_metrics *m) {
  const fw_ranking_figures order = fw_ranking_get_figures(t->ranking);
  m->auc = order.auc;
  m->pr_auc = order.pr_auc;
  m->binned = order.binned ? m->rows : 0;
}

/* The deviance of the mean label. */
static double constant_deviance(double label_log, double mean) {
  const double found = mean > 0 ? 2 * (label_log - mean * log(mean)) : 0;
  return found > 0 ? found : 0;
}

static void find_errors(const fw_tally *t, furrow_learn_metrics *m) {
  m->rmse = sqrt(t->sums[SUM_SQUARE] / m->weight);
  m->mae = t->sums[SUM_ABSOLUTE] / m->weight;
  m->r2 = t->label_spread > 0 ? 1 - t->sums[SUM_SQUARE] / t->label_spread : NAN;
  m->constant_rmse = sqrt(t->label_spread / m->weight);
  m->constant_loss = t->constant;
  if (t->loss == FW_LOSS_POISSON)
    m->constant_loss = constant_deviance(t->sums[SUM_LABEL_LOG] / m->weight, m->mean_label);
}

/* All figures but the sums: rows, weight, binned. */
static const size_t figure_offsets[] = {
#define FIGURE(name) offsetof(furrow_learn_metrics, name)
    FIGURE(loss),
    FIGURE(auc),
    FIGURE(accuracy),
    FIGURE(logloss),
    FIGURE(rmse),
    FIGURE(mae),
    FIGURE(pr_auc),
    FIGURE(precision),
    FIGURE(recall),
    FIGURE(f1),
    FIGURE(mean_label),
    FIGURE(r2),
    FIGURE(mean_prediction),
    FIGURE(constant_logloss),
    FIGURE(constant_accuracy),
    FIGURE(constant_rmse),
    FIGURE(ndcg),
    FIGURE(pinball),
    FIGURE(deviance),
    FIGURE(constant_loss)
#undef FIGURE
};
enum { FIGURES = sizeof figure_offsets / sizeof *figure_offsets };

static double *figure(furrow_learn_metrics *metrics, size_t offset) {
  return (double *)((char *)metrics + offset);
}

void fw_tally_metrics(const fw_tally *t, furrow_learn_metrics *m) {
  const bool two = fw_loss_has_two_classes(t->loss), regression = fw_loss_is_regression(t->loss);
  const double *sums = t->sums, weight = sums[SUM_WEIGHT];
  *m = (furrow_learn_metrics){.size = sizeof *m, .rows = (uint64_t)sums[SUM_ROWS], .weight = weight};
  for (size_t i = 0; i < FIGURES; i++) *figure(m, figure_offsets[i]) = NAN;
  m->loss = sums[SUM_LOSS] / weight;
  if (t->loss == FW_LOSS_LAMBDA) fw_metrics_put_ndcg(m, t->ndcg);
  if (fw_loss_ranks(t->loss)) return;
  if (two || regression) {
    m->mean_label = sums[SUM_LABEL] / weight;
    m->mean_prediction = sums[SUM_SCORE] / weight;
  }
  fw_metrics_name_loss(m, t->loss);
  if (regression) {
    find_errors(t, m);
  } else {
    find_accuracy(t, m);
    find_class_means(t, m);
  }
  if (two) find_order(t, m);
}

/* ---- Several sets of rows ------------------------------------------------------------------------------- */

/* Element i of an array of structs, which may be smaller than in this version. */
static furrow_learn_metrics set_at(const furrow_learn_metrics *sets, size_t i) {
  furrow_learn_metrics set = {0};
  const size_t size = sets->size;
  memcpy(&set, (const char *)sets + i * size, size < sizeof set ? size : sizeof set);
  return set;
}

static void summarize(const furrow_learn_metrics *sets, size_t count, size_t offset, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    furrow_learn_metrics set = set_at(sets, i);
    sum += *figure(&set, offset);
  }
  *mean = sum / (double)count;
  for (size_t i = 0; i < count; i++) {
    furrow_learn_metrics set = set_at(sets, i);
    const double off = *figure(&set, offset) - *mean;
    squares += off * off;
  }
  *deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

void furrow_learn_metrics_summarize(const furrow_learn_metrics *sets, size_t count, furrow_learn_metrics *mean,
                                    furrow_learn_metrics *deviation) {
  furrow_learn_metrics means, deviations;
  furrow_learn_metrics_init(&means);
  for (size_t i = 0; i < count; i++) {
    const furrow_learn_metrics set = set_at(sets, i);
    means.rows += set.rows;
    means.weight += set.weight;
    means.binned += set.binned;
  }
  deviations = means;
  for (size_t i = 0; i < FIGURES; i++)
    summarize(sets, count, figure_offsets[i], figure(&means, figure_offsets[i]),
              figure(&deviations, figure_offsets[i]));
  fw_info_write(mean, &means, sizeof means);
  fw_info_write(deviation, &deviations, sizeof deviations);
}
