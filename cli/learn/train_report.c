/* cli/learn/train_report.c: reports of training: a line for each epoch, the history as a file and as a chart. */
#include "learn/train_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/text_file.h"
#include "draw/chart.h"
#include "learn/learn_options.h"

/* A figure of metrics: its name, offset, and digits after the decimal point. */
typedef struct figure {
  const char *name, *column;
  size_t offset;
  int digits;
} figure;

enum {
  LOSS,
  AUC,
  ACCURACY,
  LOGLOSS,
  RMSE,
  MAE,
  PR_AUC,
  PRECISION,
  RECALL,
  F1,
  R2,
  NDCG,
  PINBALL,
  DEVIANCE,
  MEAN_LABEL,
  MEAN_PREDICTION,
  FIGURES,
  HISTORY_FIGURES = PR_AUC /* those before it */
};

#define FIGURE(field, name, column, digits) \
  { name, column, offsetof(furrow_learn_metrics, field), digits }
static const figure figures[FIGURES] = {[LOSS] = FIGURE(loss, "loss", "loss", 5),
                                        [AUC] = FIGURE(auc, "auc", "AUC", 5),
                                        [ACCURACY] = FIGURE(accuracy, "accuracy", "accuracy", 4),
                                        [LOGLOSS] = FIGURE(logloss, "logloss", "logloss", 5),
                                        [RMSE] = FIGURE(rmse, "rmse", "RMSE", 5),
                                        [MAE] = FIGURE(mae, "mae", "MAE", 5),
                                        [PR_AUC] = FIGURE(pr_auc, "pr auc", "PR-AUC", 5),
                                        [PRECISION] = FIGURE(precision, "precision", "precision", 4),
                                        [RECALL] = FIGURE(recall, "recall", "recall", 4),
                                        [F1] = FIGURE(f1, "f1", "F1", 4),
                                        [R2] = FIGURE(r2, "r2", "R2", 4),
                                        [NDCG] = FIGURE(ndcg, "ndcg", "NDCG", 4),
                                        [PINBALL] = FIGURE(pinball, "pinball", "pinball", 5),
                                        [DEVIANCE] = FIGURE(deviance, "deviance", "deviance", 5),
                                        [MEAN_LABEL] = FIGURE(mean_label, "mean label", "label", 5),
                                        [MEAN_PREDICTION] = FIGURE(mean_prediction, "mean prediction", "mean", 5)};
static const figure constants[] = {
    FIGURE(constant_logloss, "constant logloss", "", 5), FIGURE(constant_accuracy, "constant accuracy", "", 5),
    FIGURE(constant_rmse, "constant rmse", "", 5), FIGURE(constant_loss, "constant loss", "", 5)};
#undef FIGURE

static double value_of(const furrow_learn_metrics *metrics, const figure *of) {
  return *(const double *)((const char *)metrics + of->offset);
}

static double figure_at(const furrow_learn_metrics *metrics, size_t i) {
  return value_of(metrics, &figures[i]);
}

/* ---- The table of epochs ---- */

/* Loss, AUC, accuracy, RMSE, MAE, NDCG where they are defined; logloss is the loss of most models. */
static bool is_shown(const furrow_learn_metrics *metrics, size_t i) {
  return (i < HISTORY_FIGURES || i == NDCG) && i != LOGLOSS && !isnan(figure_at(metrics, i));
}

/* AUC~ is an AUC that comes from bins. */
static void put_heading(output *out, const char *part, const furrow_learn_metrics *metrics, size_t i) {
  char text[32];
  snprintf(text, sizeof text, "%s%s%s", part, figures[i].column, i == AUC && metrics->binned > 0 ? "~" : "");
  output_format(out, *part ? " %14s" : " %9s", text);
}

/* A fixed number of decimals, unless the number is too large for its column. */
static void put_figure(output *out, int width, size_t i, double value) {
  if (fabs(value) < 1e5)
    output_format(out, " %*.*f", width, figures[i].digits, value);
  else
    output_format(out, " %*.3g", width, value);
}

void epoch_headings(output *out, const furrow_epoch *epoch) {
  output_format(out, "%5s %9s", "epoch", "rate");
  for (size_t i = 0; i < FIGURES; i++)
    if (is_shown(epoch->train, i)) put_heading(out, "", epoch->train, i);
  for (size_t i = 0; epoch->valid->rows > 0 && i < FIGURES; i++)
    if (is_shown(epoch->valid, i)) put_heading(out, "valid ", epoch->valid, i);
  output_format(out, " %10s\n", "rows/s");
}

void epoch_line(output *out, const furrow_epoch *epoch) {
  output_format(out, "%5" PRIu32 " %9.4g", epoch->epoch, epoch->learning_rate);
  for (size_t i = 0; i < FIGURES; i++)
    if (is_shown(epoch->train, i)) put_figure(out, 9, i, figure_at(epoch->train, i));
  for (size_t i = 0; epoch->valid->rows > 0 && i < FIGURES; i++)
    if (is_shown(epoch->valid, i)) put_figure(out, 14, i, figure_at(epoch->valid, i));
  output_format(out, " %10.0f%s\n", epoch->seconds > 0 ? (double)epoch->train->rows / epoch->seconds : 0,
                epoch->best ? "  best" : "");
}

/* ---- Tables of other sets of rows ---- */

/* Whether a figure is defined for the model and measures its quality; logloss is the loss of most models. */
static bool is_quality(const furrow_learn_metrics *metrics, size_t i) {
  return i < MEAN_LABEL && !isnan(figure_at(metrics, i)) && (i != LOGLOSS || metrics->logloss != metrics->loss);
}

void figure_headings(output *out, const furrow_learn_metrics *metrics) {
  for (size_t i = 0; i < FIGURES; i++)
    if (is_quality(metrics, i)) put_heading(out, "", metrics, i);
}

void figure_line(output *out, const furrow_learn_metrics *metrics, const furrow_learn_metrics *like) {
  for (size_t i = 0; i < FIGURES; i++)
    if (is_quality(like, i) && metrics)
      put_figure(out, 9, i, figure_at(metrics, i));
    else if (is_quality(like, i))
      output_format(out, " %9s", "-");
}

double figure_named(const furrow_learn_metrics *metrics, const char *name) {
  for (size_t i = 0; i < FIGURES; i++)
    if (strcmp(figures[i].name, name) == 0) return figure_at(metrics, i);
  return NAN;
}

/* ---- Reports ---- */

static void report_figure(report *r, const char *name, double value) {
  if (!isnan(value))
    report_f64(r, name, value);
  else if (r->json)
    report_none(r, name);
}

void report_metrics(report *r, const furrow_learn_metrics *metrics) {
  report_u64(r, "rows", metrics->rows);
  for (size_t i = 0; i < FIGURES; i++) report_figure(r, figures[i].name, figure_at(metrics, i));
  if (r->json) report_bool(r, "binned", metrics->binned > 0);
}

void report_constant(report *r, const furrow_learn_metrics *metrics) {
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
    report_figure(r, constants[i].name, value_of(metrics, &constants[i]));
}

void report_epochs(report *r, const furrow_trainer *trainer) {
  const furrow_epoch *epoch;
  if (!r->json) return;
  report_list(r, "epochs");
  for (size_t i = 0; (epoch = furrow_trainer_get_epoch(trainer, i)); i++) {
    report_section(r, NULL);
    report_u64(r, "epoch", epoch->epoch);
    report_f64(r, "learning rate", epoch->learning_rate);
    report_f64(r, "seconds", epoch->seconds);
    report_bool(r, "best", epoch->best);
    report_section(r, "train");
    report_metrics(r, epoch->train);
    report_end(r);
    if (epoch->valid->rows > 0) {
      report_section(r, "valid");
      report_metrics(r, epoch->valid);
      report_end(r);
    }
    report_end(r);
  }
  report_end(r);
}

/* ---- Notes ---- */

/* Adds a note, with the options of the command instead of the library's keys. */
static void report_note(report *r, const char *name, const char *note) {
  const option_group groups[] = {{"", learn_options, 0}, {0}};
  char *text = strdup(note);
  if (text) options_replace_keys(groups, text);
  report_text(r, name, text ? text : note);
  free(text);
}

static void list_notes(report *r, const furrow_trainer *trainer, const char *name, bool warnings) {
  const char *text;
  bool warning = false;
  report_list(r, name);
  for (size_t i = 0; (text = furrow_trainer_get_note(trainer, i, &warning)); i++)
    if (warning == warnings) report_note(r, NULL, text);
  report_end(r);
}

void report_notes(report *r, const furrow_trainer *trainer) {
  const char *text;
  bool warning = false;
  if (r->json) {
    list_notes(r, trainer, "notes", false);
    list_notes(r, trainer, "warnings", true);
    return;
  }
  for (size_t i = 0; (text = furrow_trainer_get_note(trainer, i, &warning)); i++)
    report_note(r, warning ? "warning" : "note", text);
}

/* ---- History ---- */

static void csv_number(FILE *out, double value) {
  if (isnan(value))
    fputc(',', out);
  else
    fprintf(out, ",%.9g", value);
}

static void write_csv(FILE *out, const furrow_trainer *trainer) {
  const furrow_epoch *epoch;
  fputs("epoch,rate,seconds,best,train_rows,valid_rows", out);
  for (int part = 0; part < 2; part++)
    for (size_t i = 0; i < HISTORY_FIGURES; i++) fprintf(out, ",%s_%s", part ? "valid" : "train", figures[i].name);
  fputc('\n', out);
  for (size_t e = 0; (epoch = furrow_trainer_get_epoch(trainer, e)); e++) {
    fprintf(out, "%" PRIu32 ",%.9g,%.3f,%d,%" PRIu64 ",%" PRIu64, epoch->epoch, epoch->learning_rate, epoch->seconds,
            epoch->best, epoch->train->rows, epoch->valid->rows);
    for (size_t i = 0; i < HISTORY_FIGURES; i++) csv_number(out, figure_at(epoch->train, i));
    for (size_t i = 0; i < HISTORY_FIGURES; i++)
      csv_number(out, epoch->valid->rows > 0 ? figure_at(epoch->valid, i) : NAN);
    fputc('\n', out);
  }
}

static void report_history_metrics(report *r, const char *name, const furrow_learn_metrics *metrics) {
  report_section(r, name);
  report_u64(r, "rows", metrics->rows);
  for (size_t i = 0; i < HISTORY_FIGURES; i++)
    report_f64(r, figures[i].name, metrics->rows > 0 ? figure_at(metrics, i) : NAN);
  report_end(r);
}

static furrow_status write_json(FILE *file, const furrow_trainer *trainer, furrow_error *err) {
  const furrow_epoch *epoch;
  output out;
  report r;
  furrow_status status = output_open(&out, err);
  if (status != FURROW_OK) return status;
  out.file = file;
  report_start(&r, &out, true);
  report_u64(&r, "best", furrow_trainer_best_epoch(trainer));
  report_list(&r, "epochs");
  for (size_t e = 0; (epoch = furrow_trainer_get_epoch(trainer, e)); e++) {
    report_section(&r, NULL);
    report_u64(&r, "epoch", epoch->epoch);
    report_f64(&r, "rate", epoch->learning_rate);
    report_f64(&r, "seconds", epoch->seconds);
    report_history_metrics(&r, "train", epoch->train);
    report_history_metrics(&r, "valid", epoch->valid);
    report_end(&r);
  }
  report_end(&r);
  report_finish(&r);
  status = output_flush(&out, err);
  output_close(&out);
  return status;
}

furrow_status history_write(const char *path, const furrow_trainer *trainer, bool force, furrow_error *err) {
  text_file file;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  if (path_ends(path, ".csv"))
    write_csv(file.out, trainer);
  else
    status = write_json(file.out, trainer, err);
  const furrow_status written = text_file_end(&file, status == FURROW_OK ? path : NULL, force, err);
  return status == FURROW_OK ? written : status;
}

/* ---- Curves ---- */

/* The second curve: AUC, else RMSE, else NDCG, else accuracy. */
static size_t second_figure(const furrow_learn_metrics *metrics) {
  if (!isnan(metrics->auc)) return AUC;
  if (!isnan(metrics->ndcg)) return NDCG;
  return isnan(metrics->rmse) ? ACCURACY : RMSE;
}

typedef struct series {
  double *x, *train, *valid;
} series;

static void fill_series(series *s, const furrow_trainer *trainer, size_t which) {
  const furrow_epoch *epoch;
  for (size_t e = 0; (epoch = furrow_trainer_get_epoch(trainer, e)); e++) {
    s->x[e] = epoch->epoch;
    s->train[e] = figure_at(epoch->train, which);
    s->valid[e] = epoch->valid->rows > 0 ? figure_at(epoch->valid, which) : NAN;
  }
}

furrow_status history_draw(const char *path, const char *title, const furrow_trainer *trainer, bool force,
                           furrow_error *err) {
  const furrow_epoch *first = furrow_trainer_get_epoch(trainer, 0);
  const size_t count = furrow_trainer_epoch_count(trainer);
  if (!first) return fail(err, FURROW_E_STATE, "there are no epochs to draw");
  const size_t which[2] = {LOSS, second_figure(first->train)};
  double *numbers = calloc(count * 6, sizeof *numbers);
  if (!numbers) return fail_memory(err);
  chart_curve curves[2][2];
  chart charts[2];
  for (size_t c = 0; c < 2; c++) {
    series s = {numbers + c * 3 * count, numbers + (c * 3 + 1) * count, numbers + (c * 3 + 2) * count};
    fill_series(&s, trainer, which[c]);
    curves[c][0] = (chart_curve){.name = "training", .x = s.x, .y = s.train, .count = count, .marks = count <= 50};
    curves[c][1] = (chart_curve){.name = "validation", .x = s.x, .y = s.valid, .count = count, .marks = count <= 50};
    charts[c] = (chart){.title = c == 0 ? title : "",
                        .x_axis = "epoch",
                        .y_axis = figures[which[c]].column,
                        .curves = curves[c],
                        .count = first->valid->rows > 0 ? 2 : 1};
  }
  furrow_status status = charts_write(path, charts, 2, force, err);
  free(numbers);
  return status;
}

/* ---- Scores of the model on disk ---- */

/* One of the two models. */
typedef struct side {
  furrow_scorer *scorer;
  furrow_scorer_scratch *space;
  furrow_score *scores;
} side;

static void close_side(side *s) {
  free(s->scores);
  furrow_scorer_scratch_free(s->space);
  furrow_scorer_free(s->scorer);
}

static furrow_status score(side *s, const furrow_rowblock *block, furrow_error *err) {
  furrow_score *scores = realloc(s->scores, (block->size + 1) * sizeof *scores);
  if (!scores) return fail(err, FURROW_E_MEMORY, "out of memory");
  s->scores = scores;
  return furrow_scorer_score_block(s->scorer, s->space, block, scores, err);
}

static furrow_status compare_scores(rounding *lost, side sides[2], const furrow_rowblock *block, furrow_error *err) {
  furrow_status status = score(&sides[0], block, err);
  if (status == FURROW_OK) status = score(&sides[1], block, err);
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
    const double difference = fabs(sides[0].scores[i].pred - sides[1].scores[i].pred);
    lost->largest = fmax(lost->largest, difference);
    lost->sum += difference;
    lost->labels += sides[0].scores[i].label != sides[1].scores[i].label;
  }
  lost->rows += block->size;
  return status;
}

furrow_status rounding_measure(rounding *lost, const furrow_trainer *trainer, const char *model, const char *rows,
                               const char *format, furrow_error *err) {
  side sides[2] = {{0}};
  furrow_sample_reader *samples = NULL;
  const furrow_rowblock *block;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.on_bad = FURROW_ON_BAD_SKIP;
  if (format) params.format = format;
  furrow_status status = furrow_scorer_create(&sides[0].scorer, trainer, err);
  furrow_scorer_params angel;
  furrow_scorer_params_init(&angel);
  angel.absent_is_zero = true;
  if (status == FURROW_OK) status = furrow_scorer_load(&sides[1].scorer, model, &angel, err);
  for (int i = 0; status == FURROW_OK && i < 2; i++)
    status = furrow_scorer_scratch_create(&sides[i].space, sides[i].scorer, err);
  if (status == FURROW_OK)
    status = furrow_sample_reader_open(&samples, furrow_scorer_conf(sides[0].scorer), rows, &params, err);
  while (status == FURROW_OK && (status = furrow_sample_reader_next(samples, &block, err)) == FURROW_OK) {
    status = compare_scores(lost, sides, block, err);
    if (status == FURROW_OK) status = interrupt_check(err);
  }
  furrow_sample_reader_close(samples);
  for (int i = 0; i < 2; i++) close_side(&sides[i]);
  return status == FURROW_END ? FURROW_OK : status;
}

void rounding_report(const rounding *lost, report *r) {
  report_u64(r, "rows compared", lost->rows);
  report_f64(r, "mean change", lost->sum / (double)lost->rows);
  report_f64(r, "largest change", lost->largest);
  report_u64(r, "labels changed", lost->labels);
}
