/* learn/train/curves.c: warns about numbers whose effect on the label is not a straight line, where the model has one
 * weight for each. Their gain is measured: a linear model of some rows, with these numbers in bins and without, scores
 * other rows. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/data_facts.h"
#include "learn/metrics/metrics.h"
#include "learn/train/fit.h"
#include "rows/encode/curve_test.h"

enum {
  MOST_ROWS = 20000,    /* that are examined */
  MOST_CELLS = 1 << 18, /* of these rows */
  MOST_COLUMNS = 500,   /* so many have rows enough */
  MOST_CLASSES = 20,
  MOST_ITERATIONS = 100, /* of L-BFGS */
  NAMES_SHOWN = 3
};

#define ERRORS_NEEDED 3.0 /* standard errors of the mean difference of the losses */
#define LEAST_GAIN 0.01   /* share of the loss */

typedef struct curve {
  double edges[FW_CURVE_BINS];
  size_t count;           /* number of edges; 0: a line fits */
  double mean, deviation; /* of the column */
} curve;

typedef struct curve_search {
  fw_prepared *data;
  size_t classes; /* which are 0, 1, … in `labels`; 0: these are numbers */
  size_t columns, rows;
  double *cells, *labels; /* rows of `columns` numbers; NaN: missing */
  curve *curves;          /* of the columns */
  size_t found;
  uint32_t *known, *others; /* numbers of the rows that models learn from, and of the others */
  size_t known_count, other_count;
} curve_search;

/* ---- Columns ---- */

static bool has_one_weight(const char *algorithm) {
  static const char *const names[] = {"lr", "svm", "linear", "robust", "softmax", "fm"};
  for (size_t i = 0; algorithm && i < sizeof names / sizeof *names; i++)
    if (strcmp(algorithm, names[i]) == 0) return true;
  return false;
}

/* The number of classes of the labels; 0: they are numbers, or there are too many. */
static size_t count_classes(const fw_prepared *d, const fw_data_facts *facts) {
  const fw_loss_type loss = d->trainer->plan->graph.loss;
  const bool two = fw_loss_has_two_classes(loss) && facts->label_count == 2;
  const bool many = loss == FW_LOSS_SOFTMAX && facts->label_count > 1 && facts->label_count <= MOST_CLASSES;
  return two || many ? facts->label_count : 0;
}

/* Whether the rows are a table of numbers, large enough to show a curve, and a line predicts such labels. */
static bool can_search(const fw_prepared *d, const fw_data_facts *facts) {
  const fw_loss_type loss = d->trainer->plan->graph.loss;
  const bool dense = facts->features && facts->end <= MOST_COLUMNS && facts->end < 2 * (uint64_t)facts->longest + 2;
  return has_one_weight(d->trainer->plan->model.algorithm) && d->from_scratch && d->trainer->comm->ranks == 1 &&
         facts->rows >= FW_CURVE_ROWS && facts->unlabelled == 0 && dense &&
         (count_classes(d, facts) > 0 || (fw_loss_is_regression(loss) && facts->label_count > 1));
}

static void take_row(curve_search *s, const fw_data_facts *facts, const furrow_rowblock *block, size_t row) {
  double *cells = s->cells + s->rows * s->columns;
  const double label = furrow_values_get(block->label, block->value_type, row);
  const uint64_t pair = (uint64_t)s->rows / 2 * 0x9e3779b97f4a7c15U; /* neighbours may be copies of each other */
  for (size_t c = 0; c < s->columns; c++) cells[c] = NAN;
  for (uint64_t i = block->offset[row]; i < block->offset[row + 1]; i++)
    cells[furrow_keys_get(block->index, block->key_type, i)] =
        block->value.any ? furrow_values_get(block->value, block->value_type, i) : 1;
  size_t class = 0;
  while (class + 1 < s->classes && facts->labels[class] != label) class ++;
  s->labels[s->rows] = s->classes ? (double)class : label;
  if (pair >> 63)
    s->known[s->known_count++] = (uint32_t)s->rows;
  else
    s->others[s->other_count++] = (uint32_t)s->rows;
  s->rows++;
}

/* Takes rows from all over the data. */
static furrow_status take_rows(curve_search *s, const fw_data_facts *facts, const furrow_rowblock *block,
                               furrow_error *err) {
  size_t most = MOST_CELLS / s->columns;
  most = most < MOST_ROWS ? most : MOST_ROWS;
  const size_t step = (block->size + most - 1) / most, rows = block->size / step + 1;
  FW_TRY(FW_ALLOC_ROWS(&s->cells, rows, s->columns, err));
  FW_TRY(FW_ALLOC(&s->labels, rows, err));
  FW_TRY(FW_ALLOC(&s->known, rows, err));
  FW_TRY(FW_ALLOC(&s->others, rows, err));
  FW_TRY(FW_ALLOC_ZERO(&s->curves, s->columns, err));
  for (size_t i = 0; i < block->size; i += step) take_row(s, facts, block, i);
  return FURROW_OK;
}

/* Regression: in deviations from the mean. */
static void standardize_labels(curve_search *s) {
  double mean = 0, squares = 0;
  if (s->classes) return;
  for (size_t i = 0; i < s->rows; i++) mean += s->labels[i] / (double)s->rows;
  for (size_t i = 0; i < s->rows; i++) squares += (s->labels[i] - mean) * (s->labels[i] - mean);
  const double deviation = sqrt(squares / (double)s->rows);
  for (size_t i = 0; i < s->rows; i++) s->labels[i] = deviation > 0 ? (s->labels[i] - mean) / deviation : 0;
}

/* Several classes: whether some class against the others is a curve. */
static bool is_curve(const curve_search *s, size_t column, fw_number_label *rows, size_t count, double *sorted) {
  if (s->classes <= 2) return fw_number_is_curve(rows, count, s->classes == 2, sorted);
  bool found = false;
  for (size_t class = 0; class < s->classes && !found; class ++) {
    for (size_t i = 0, n = 0; i < s->rows; i++)
      if (isfinite(s->cells[i * s->columns + column]))
        rows[n++] = (fw_number_label){s->cells[i * s->columns + column], s->labels[i] == (double)class};
    found = fw_number_is_curve(rows, count, true, sorted);
  }
  return found;
}

static void judge_column(curve_search *s, size_t column, fw_number_label *rows, double *sorted) {
  curve *c = &s->curves[column];
  size_t count = 0, different = 0;
  double first = NAN, second = NAN, squares = 0;
  for (size_t i = 0; i < s->rows; i++) {
    const double x = s->cells[i * s->columns + column];
    if (!isfinite(x)) continue;
    if (different < 3 && x != first && x != second) {
      second = first;
      first = x;
      different++;
    }
    rows[count++] = (fw_number_label){x, s->labels[i]};
    const double d = x - c->mean;
    c->mean += d / (double)count;
    squares += d * (x - c->mean);
  }
  c->deviation = count > 0 ? sqrt(squares / (double)count) : 0;
  if (different < 3 || !is_curve(s, column, rows, count, sorted)) return;
  for (size_t i = 0; i < count; i++) sorted[i] = rows[i].x;
  c->count = fw_curve_edges(sorted, count, fw_curve_bins(count), c->edges);
  s->found += c->count > 0;
}

static furrow_status judge_columns(curve_search *s, furrow_error *err) {
  fw_number_label *rows = NULL;
  double *sorted = NULL;
  furrow_status status = FW_ALLOC(&rows, s->rows, err);
  if (status == FURROW_OK) status = FW_ALLOC(&sorted, s->rows, err);
  for (size_t c = 0; c < s->columns && status == FURROW_OK; c++) judge_column(s, c, rows, sorted);
  fw_free(rows);
  fw_free(sorted);
  return status;
}

/* ---- The gain ---- */

/* Each column has FW_CURVE_BINS features: the first of them is the number, or all are bins. */
static size_t write_row(const curve_search *s, size_t row, bool bins, uint32_t *index, float *value) {
  size_t n = 0;
  for (size_t c = 0; c < s->columns; c++) {
    const double x = s->cells[row * s->columns + c];
    const curve *of = &s->curves[c];
    if (!isfinite(x) || !(of->deviation > 0)) continue;
    const bool binned = bins && of->count > 0;
    index[n] = (uint32_t)(c * FW_CURVE_BINS + (binned ? fw_curve_bin(of->edges, of->count, x) : 0));
    value[n++] = binned ? 1 : (float)((x - of->mean) / of->deviation);
  }
  return n;
}

static furrow_status solve(fw_linear_problem *problem, fw_lbfgs **solver, furrow_error *err) {
  fw_lbfgs_state state = FW_LBFGS_GOING;
  FW_TRY(fw_linear_solver_create(solver, problem, &(fw_linear_solver_params){.value_tolerance = 1e-6}, err));
  for (int i = 0; i < MOST_ITERATIONS && state == FW_LBFGS_GOING; i++) FW_TRY(fw_lbfgs_step(*solver, &state, err));
  return FURROW_OK;
}

/* The loss of a row by the scores of its classes. */
static double softmax_loss(const double *scores, size_t classes, size_t label) {
  double most = scores[0], sum = 0;
  for (size_t k = 1; k < classes; k++) most = fmax(most, scores[k]);
  for (size_t k = 0; k < classes; k++) sum += exp(scores[k] - most);
  return log(sum) + most - scores[label];
}

static double loss_of(const curve_search *s, const double *scores, double label) {
  if (s->classes > 2) return softmax_loss(scores, s->classes, (size_t)label);
  if (s->classes == 2) return fmax(-*scores * label, 0) + log1p(exp(-fabs(*scores)));
  return (*scores - label) * (*scores - label);
}

static fw_loss_type loss_type(const curve_search *s) {
  return s->classes > 2 ? FW_LOSS_SOFTMAX : s->classes == 2 ? FW_LOSS_LOG : FW_LOSS_L2;
}

/* Fills in the loss of each of the other rows. */
static furrow_status score_model(const curve_search *s, const furrow_rowblock *block, const double *labels,
                                 double *losses, furrow_error *err) {
  fw_linear_problem *problem = NULL;
  fw_lbfgs *solver = NULL;
  double *scores = NULL;
  const size_t outputs = s->classes > 2 ? s->classes : 1;
  const fw_linear_params params = {.rows = block,
                                   .use = s->known,
                                   .count = s->known_count,
                                   .label = labels,
                                   .loss = loss_type(s),
                                   .outputs = outputs,
                                   .l2 = 1,
                                   .pool = s->data->trainer->pool};
  furrow_status status = FW_ALLOC_ROWS(&scores, s->other_count, outputs, err);
  if (status == FURROW_OK) status = fw_linear_problem_create(&problem, &params, err);
  if (status == FURROW_OK) status = solve(problem, &solver, err);
  if (status == FURROW_OK) fw_linear_problem_score_rows(problem, solver->x, block, s->others, s->other_count, scores);
  for (size_t i = 0; i < s->other_count && status == FURROW_OK; i++)
    losses[i] = loss_of(s, scores + i * outputs, labels[s->others[i]]);
  fw_free(scores);
  fw_lbfgs_free(solver);
  fw_linear_problem_free(problem);
  return status;
}

static furrow_status find_losses(const curve_search *s, bool bins, double *losses, furrow_error *err) {
  uint64_t *offset = NULL;
  uint32_t *index = NULL;
  float *value = NULL;
  double *labels = NULL;
  furrow_status status = FW_ALLOC(&offset, s->rows + 1, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&index, s->rows, s->columns, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&value, s->rows, s->columns, err);
  if (status == FURROW_OK) status = FW_ALLOC(&labels, s->rows, err);
  if (status == FURROW_OK) {
    offset[0] = 0;
    for (size_t i = 0; i < s->rows; i++) {
      offset[i + 1] = offset[i] + write_row(s, i, bins, index + offset[i], value + offset[i]);
      labels[i] = s->classes == 2 ? 2 * s->labels[i] - 1 : s->labels[i];
    }
    const furrow_rowblock block = {.size = s->rows,
                                   .offset = offset,
                                   .index.u32 = index,
                                   .value.f32 = value,
                                   .key_type = FURROW_KEY_U32,
                                   .value_type = FURROW_VALUE_F32};
    status = score_model(s, &block, labels, losses, err);
  }
  fw_free(offset);
  fw_free(index);
  fw_free(value);
  fw_free(labels);
  return status;
}

/* Compares the losses of the other rows, in pairs. */
static bool is_gain(const curve_search *s, const double *line, const double *bins, double *mean_line,
                    double *mean_bins) {
  double sum = 0, squares = 0;
  const double n = (double)s->other_count;
  *mean_line = *mean_bins = 0;
  for (size_t i = 0; i < s->other_count; i++) {
    const double d = line[i] - bins[i];
    *mean_line += line[i] / n;
    *mean_bins += bins[i] / n;
    sum += d;
    squares += d * d;
  }
  const double mean = sum / n;
  return mean > LEAST_GAIN * *mean_line && mean > ERRORS_NEEDED * sqrt(fmax(squares / n - mean * mean, 0) / n);
}

/* ---- The warning ---- */

static furrow_status name_columns(const curve_search *s, fw_buffer *text, furrow_error *err) {
  size_t named = 0;
  for (size_t c = 0; c < s->columns && named < NAMES_SHOWN; c++) {
    char name[64];
    if (s->curves[c].count == 0) continue;
    if (s->data->trainer->plan->data.columns)
      FW_TRY(fw_name_csv_column(s->data->trainer->conf, c, name, err));
    else
      snprintf(name, sizeof name, "%zu", c);
    fw_buffer_format(text, "%s%s", named++ > 0 ? ", " : "", name);
  }
  if (s->found > named) fw_buffer_format(text, " and %zu more", s->found - named);
  fw_buffer_byte(text, 0);
  return fw_buffer_status(text, err);
}

/* What puts the numbers into bins. */
static const char *way_out(const fw_prepared *d) {
  if (strcmp(d->trainer->plan->model.algorithm, "fm") == 0)
    return "lr and linear put them into bins by a schema (auto)";
  if (strcmp(d->trainer->plan->model.algorithm, "softmax") == 0)
    return "A schema with \"scale\": \"bins\" for them puts them into bins";
  if (d->samples->in_memory || strcmp(d->samples->format, "csv") == 0) return "A schema (auto) puts them into bins";
  return "Training on csv puts them into bins (furrow rows convert DATA DATA.csv --header)";
}

static furrow_status warn(const curve_search *s, double line, double bins, furrow_error *err) {
  fw_buffer names = {0};
  furrow_status status = name_columns(s, &names, err);
  if (status == FURROW_OK)
    status = fw_trainer_note(
        s->data->trainer, true, err,
        "the effect of %s %s is not a straight line, and the model has one weight for each: with them in bins, %s of "
        "rows that were held out is %.4g instead of %.4g in a linear model. %s; gbdt learns such effects from any rows",
        s->found == 1 ? "feature" : "features", names.bytes, s->classes ? "the logloss" : "the share of the variance",
        bins, line, way_out(s->data));
  fw_buffer_clear(&names);
  return status;
}

static furrow_status measure_gain(const curve_search *s, furrow_error *err) {
  double *line = NULL, *bins = NULL, mean_line, mean_bins;
  if (s->found == 0 || s->known_count == 0 || s->other_count == 0) return FURROW_OK;
  furrow_status status = FW_ALLOC(&line, s->other_count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&bins, s->other_count, err);
  if (status == FURROW_OK) status = find_losses(s, false, line, err);
  if (status == FURROW_OK) status = find_losses(s, true, bins, err);
  if (status == FURROW_OK && is_gain(s, line, bins, &mean_line, &mean_bins))
    status = warn(s, mean_line, mean_bins, err);
  fw_free(line);
  fw_free(bins);
  return status;
}

furrow_status fw_prepare_curves(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const furrow_rowblock *block = fw_samples_raw_block(d->samples);
  if (!block || !can_search(d, facts)) return FURROW_OK;
  curve_search s = {.data = d, .classes = count_classes(d, facts), .columns = (size_t)facts->end};
  furrow_status status = take_rows(&s, facts, block, err);
  if (status == FURROW_OK) standardize_labels(&s);
  if (status == FURROW_OK) status = judge_columns(&s, err);
  if (status == FURROW_OK) status = measure_gain(&s, err);
  void *const arrays[] = {s.cells, s.labels, s.curves, s.known, s.others};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  return status;
}
