/* cli/learn/cmd_tune.c: furrow tune: settings of an algorithm that suit the data. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/progress.h"
#include "core/report.h"
#include "core/text_file.h"
#include "furrow/init.h"
#include "learn/folding.h"
#include "learn/learn_options.h"
#include "learn/raw_log.h"
#include "learn/train_report.h"
#include "learn/tune_search.h"
#include "rows/rows_source.h"

enum { HELD_OUT = 5, TEXT_MAX = 400 }; /* HELD_OUT: one row in 5 is held out without --valid and --folds */

typedef struct tune_values {
  const char *algorithm, *train, *valid, *format, *metric, *conf_out, *out;
  uint32_t folds, runs, threads;
  double time;
  furrow_on_bad on_bad;
  bool force, json, quiet;
  text_list define;
  raw_log_values raw;
  learn_values keys;
} tune_values;

#define AT(field) offsetof(tune_values, field)
static const option main_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .choices = LEARN_ALGORITHMS,
     .help = "the algorithm, as in furrow train",
     .offset = AT(algorithm),
     .required = true},
    {.name = "train",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "samples to train on",
     .offset = AT(train),
     .required = true,
     .from_query = true},
    {.name = "valid",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "samples that settings are compared on (a fifth of the training samples, which is not trained on)",
     .offset = AT(valid)},
    {.name = "folds",
     .kind = OPTION_U32,
     .argument = "K",
     .help = "compare by cross-validation instead: K models for each setting that is tried on all rows",
     .offset = AT(folds)},
    {.name = "metric",
     .kind = OPTION_TEXT,
     .argument = "loss|auc|accuracy|logloss|rmse|mae|pinball|deviance",
     .help = "metric that decides which setting is best (loss)",
     .offset = AT(metric)},
    {.name = "runs",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "settings to try, the defaults among them (20; at most 1000)",
     .offset = AT(runs)},
    {.name = "time",
     .kind = OPTION_REAL,
     .argument = "SECONDS",
     .help = "end after this time with what was found; two runs may then differ (no limit)",
     .offset = AT(time)},
    {.name = "conf-out",
     .kind = OPTION_TEXT,
     .argument = "FILE.json",
     .help = "write the best settings, for furrow train --conf",
     .offset = AT(conf_out),
     .written = true},
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "train with the best settings on all rows and write this model directory",
     .offset = AT(out),
     .written = true},
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "F",
     .choices = "auto|libsvm|libffm|dummy|dense|csv",
     .help = "format of the samples: libsvm, libffm, dummy, dense, csv (found by itself)",
     .offset = AT(format)},
    {.name = "define",
     .letter = 'D',
     .kind = OPTION_LIST,
     .argument = "KEY=VALUE",
     .help = "a setting by Angel's name, which is then not searched for",
     .offset = AT(define)},
    {0}};

static const option running_options[] = {
    ON_BAD_OPTION(AT(on_bad)),
    THREADS_OPTION(AT(threads), "; the number does not change the result"),
    {.name = "force", .kind = OPTION_FLAG, .help = "replace existing files and models", .offset = AT(force)},
    JSON_OPTION(AT(json)),
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .help = "print no table, no notes and no progress",
     .offset = AT(quiet)},
    {0}};
#undef AT

static const option_group tune_groups[] = {
    {.title = "Options", .options = main_options},
    {.title = "Options", .options = plugin_options},
    {.title = "Raw logs", .options = raw_log_options, .offset = offsetof(tune_values, raw)},
    {.title = "Raw logs", .options = query_options},
    {.title = "Running", .options = running_options},
    {.title = "Settings that are given are not searched for",
     .options = learn_options,
     .offset = offsetof(tune_values, keys)},
    {0}};

static void tune_init(void *values) {
  tune_values *tune = values;
  tune->metric = "loss";
  tune->runs = 20;
}

/* ---- Configurations ---- */

/* Whether -D sets a key. */
static bool is_defined(const text_list *define, const char *key) {
  const size_t n = key ? strlen(key) : 0;
  for (size_t i = 0; key && i < define->count; i++)
    if (strncmp(define->texts[i], key, n) == 0 && define->texts[i][n] == '=') return true;
  return false;
}

static bool is_given(const void *user, const char *name) {
  const tune_values *values = user;
  const furrow_learn_key *key;
  for (size_t i = 0; i < LEARN_KEYS && (key = furrow_learn_key_at(i)); i++)
    if (strcmp(key->name, name) == 0)
      return learn_value_at(&values->keys, i) || is_defined(&values->define, name) ||
             is_defined(&values->define, key->angel_key) ||
             (strcmp(name, "rank") == 0 && is_defined(&values->define, "factors"));
  return false;
}

/* Makes the configuration from the given settings and the settings of the search (`setting` NULL: none). It does not
 * name the encoder of a raw log, which is in memory and not a setting. */
static furrow_status make_settings(learn_settings *settings, const tune_values *values, const search *s,
                                   const search_setting *setting, furrow_error *err) {
  const learn_origin from = {.algorithm = values->algorithm};
  furrow_status status = learn_settings_make(settings, &from, &values->keys, &values->define, err);
  if (status == FURROW_OK && values->format)
    status = furrow_learn_conf_set(settings->conf, "format", values->format, err);
  for (size_t k = 0; status == FURROW_OK && setting && k < s->space.count; k++)
    if (setting->values[k])
      status = furrow_learn_conf_set(settings->conf, s->space.keys[k].key, setting->values[k], err);
  return status == FURROW_OK ? furrow_learn_conf_check(settings->conf, err) : status;
}

/* ---- A trial ---- */

typedef struct tuning {
  const tune_values *values;
  output *out;
  search search;
  furrow_parser_params parser;
  furrow_parser_stats read, valid_read; /* what the last trial read and skipped */
  progress progress;
  char what[32];           /* "run 3" */
  furrow_trainer *trainer; /* trainer of the model that is written; NULL: none */
  double deadline;         /* 0: none */
  bool headed;
} tuning;

/* Whether the time is over; the defaults are always tried to the end, because everything is compared with them. */
static bool is_over(const tuning *t) {
  return interrupt_came() || (t->deadline > 0 && t->search.trial_count > 0 && now_seconds() > t->deadline);
}

static bool tell_progress(void *user, const char *phase, uint64_t rows, uint64_t total) {
  tuning *t = user;
  (void)phase, (void)total;
  progress_update(&t->progress, rows);
  return !is_over(t);
}

/* A raw log is read by the encoder that was made before the first run. */
static furrow_status use_encoder(const tuning *t, furrow_learn_conf *conf, furrow_error *err) {
  return t->values->raw.schema ? raw_log_use_encoder(conf, err) : FURROW_OK;
}

static void init_fit(furrow_trainer_fit_params *fit, tuning *t, double share) {
  furrow_trainer_fit_params_init(fit);
  fit->parser = &t->parser;
  fit->metric = t->values->metric;
  fit->share = share;
  fit->progress = tell_progress;
  fit->progress_user = t;
}

static void init_trainer(furrow_trainer_params *params, const tune_values *values) {
  furrow_trainer_params_init(params);
  params->threads = values->threads;
}

/* Counts rows up to `most`; rows that cannot be read do not count. */
static uint64_t count_rows(const tuning *t, uint64_t most) {
  learn_settings settings = {0};
  furrow_sample_reader *reader = NULL;
  const furrow_rowblock *block;
  furrow_error ignored;
  uint64_t rows = 0;
  furrow_status status = make_settings(&settings, t->values, NULL, NULL, &ignored);
  if (status == FURROW_OK) status = furrow_learn_conf_set(settings.conf, "index-base", "0", &ignored); /* of any rows */
  if (status == FURROW_OK) status = use_encoder(t, settings.conf, &ignored);
  if (status == FURROW_OK)
    status = furrow_sample_reader_open(&reader, settings.conf, t->values->train, &t->parser, &ignored);
  while (status == FURROW_OK && rows < most &&
         (status = furrow_sample_reader_next(reader, &block, &ignored)) == FURROW_OK)
    rows += block->size;
  furrow_sample_reader_close(reader);
  learn_settings_clear(&settings);
  return rows;
}

/* The library's message is about folds, which the user did not ask for. */
static furrow_status explain_few(const tuning *t, furrow_status status, furrow_error *err) {
  if (status != FURROW_E_ARGUMENT || t->values->folds) return status;
  const uint64_t rows = count_rows(t, HELD_OUT);
  if (rows == 0 || rows >= HELD_OUT) return status;
  fail_in(err, status, t->values->train,
          "there are %" PRIu64 " rows, too few to compare settings on a fifth of them: at least %d are needed", rows,
          HELD_OUT);
  return add_hint(err, "--valid names other rows to compare on");
}

/* Tries one fold, or all folds if all rows are used. */
static furrow_status try_folds(tuning *t, const furrow_learn_conf *conf, search_trial *trial, furrow_error *err) {
  folding f = {.conf = conf, .train = t->values->train};
  const uint32_t count = trial->share < 1 || !t->values->folds ? 1 : t->values->folds;
  furrow_learn_metrics deviation;
  fold_figures *figures = calloc(1, sizeof *figures);
  if (!figures) return fail_memory(err);
  init_trainer(&f.trainer, t->values);
  init_fit(&f.fit, t, trial->share);
  f.fit.folds = t->values->folds ? t->values->folds : HELD_OUT;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && figures->count < count) status = folding_next(&f, figures, &trial->rows, err);
  status = explain_few(t, status, err);
  t->read = f.read;
  furrow_learn_metrics_init(&trial->figures);
  furrow_learn_metrics_init(&deviation);
  if (status == FURROW_OK) furrow_learn_metrics_summarize(figures->folds, figures->count, &trial->figures, &deviation);
  free(figures);
  return status;
}

static furrow_status score(tuning *t, const furrow_trainer *trainer, furrow_learn_metrics *metrics, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_scorer_scratch *space = NULL;
  furrow_evaluation *evaluation = NULL;
  furrow_sample_reader *rows = NULL;
  const furrow_rowblock *block = NULL;
  furrow_status status = furrow_scorer_create(&scorer, trainer, err);
  if (status == FURROW_OK) status = furrow_scorer_scratch_create(&space, scorer, err);
  if (status == FURROW_OK) status = furrow_evaluation_create(&evaluation, scorer, err);
  if (status == FURROW_OK)
    status = furrow_sample_reader_open(&rows, furrow_scorer_conf(scorer), t->values->valid, &t->parser, err);
  while (status == FURROW_OK && (status = furrow_sample_reader_next(rows, &block, err)) == FURROW_OK)
    status = furrow_evaluation_add_block(evaluation, space, block, err);
  furrow_learn_metrics_init(metrics);
  if (status == FURROW_END) furrow_evaluation_get_metrics(evaluation, metrics);
  if (status == FURROW_END) furrow_sample_reader_get_stats(rows, &t->valid_read);
  furrow_sample_reader_close(rows);
  furrow_evaluation_free(evaluation);
  furrow_scorer_scratch_free(space);
  furrow_scorer_free(scorer);
  if (status == FURROW_END && metrics->rows == 0)
    return fail_in(err, FURROW_E_ARGUMENT, t->values->valid, "there are no rows to compare settings on");
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status try_valid(tuning *t, const furrow_learn_conf *conf, search_trial *trial, furrow_error *err) {
  furrow_trainer *trainer = NULL;
  furrow_trainer_params params;
  furrow_trainer_fit_params fit;
  init_trainer(&params, t->values);
  init_fit(&fit, t, trial->share);
  furrow_status status = furrow_trainer_create(&trainer, conf, &params, err);
  if (status == FURROW_OK) status = furrow_trainer_fit(trainer, t->values->train, NULL, &fit, err);
  if (status == FURROW_OK) trial->rows = furrow_trainer_get_epoch(trainer, 0)->train->rows;
  if (status == FURROW_OK) furrow_trainer_get_stats(trainer, &t->read, NULL);
  if (status == FURROW_OK) status = score(t, trainer, &trial->figures, err);
  furrow_trainer_free(trainer);
  return status;
}

/* ---- The table ---- */

static void print_trial(tuning *t, const search_setting *setting, const search_trial *trial) {
  char text[TEXT_MAX];
  const furrow_learn_metrics *like = t->search.trial_count > 0 ? &t->search.trials[0].figures : &trial->figures;
  if (t->values->quiet || t->values->json) return;
  if (!t->headed) {
    output_format(t->out, "%4s %8s", "run", "rows");
    figure_headings(t->out, like);
    output_format(t->out, " %8s  settings\n", "seconds");
    t->headed = true;
  }
  output_format(t->out, "%4zu %8" PRIu64, t->search.trial_count + 1, trial->rows);
  figure_line(t->out, trial->figures.rows ? &trial->figures : NULL, like);
  search_describe(&t->search, setting, text, sizeof text);
  output_format(t->out, " %8.2f  %s%s\n", trial->seconds, text, trial->figures.rows ? "" : " (failed)");
}

static furrow_status try_setting(void *user, const search_setting *setting, search_trial *trial, furrow_error *err) {
  tuning *t = user;
  learn_settings settings = {0};
  const double began = now_seconds();
  if (is_over(t)) return FURROW_END;
  furrow_status status = make_settings(&settings, t->values, &t->search, setting, err);
  if (status == FURROW_OK) status = use_encoder(t, settings.conf, err);
  snprintf(t->what, sizeof t->what, "run %zu", t->search.trial_count + 1);
  progress_start(&t->progress, !t->values->quiet, t->what, 0);
  t->progress.unit = "rows";
  if (status == FURROW_OK)
    status = t->values->valid ? try_valid(t, settings.conf, trial, err) : try_folds(t, settings.conf, trial, err);
  progress_stop(&t->progress);
  learn_settings_clear(&settings);
  trial->seconds = now_seconds() - began;
  if (status == FURROW_E_RANGE) trial->figures.rows = 0;
  if (status == FURROW_OK || (status == FURROW_E_RANGE && t->search.trial_count > 0)) print_trial(t, setting, trial);
  if (t->values->out || t->values->conf_out) /* the search goes on, and its result is stored */
    output_push(t->out);
  else if (status == FURROW_OK)
    status = output_flush(t->out, err);
  return status == FURROW_E_CANCELLED ? FURROW_END : status;
}

/* ---- The result ---- */

static void report_setting(report *r, const search *s, const search_setting *setting) {
  report_section(r, "settings");
  for (size_t k = 0; k < s->space.count; k++)
    if (setting->values[k]) report_text(r, s->space.keys[k].key, setting->values[k]);
  report_end(r);
}

static void report_trial(report *r, const search *s, const char *name, const search_trial *trial) {
  report_section(r, name);
  report_bool(r, "defaults", trial->setting == 0);
  report_setting(r, s, &s->settings[trial->setting]);
  report_f64(r, "share", trial->share);
  report_u64(r, "trained rows", trial->rows);
  report_f64(r, "seconds", trial->seconds);
  report_bool(r, "failed", trial->figures.rows == 0);
  if (trial->figures.rows > 0) {
    report_section(r, "figures");
    report_metrics(r, &trial->figures);
    report_end(r);
  }
  report_end(r);
}

static void report_json(const tuning *t, report *r, const search_trial *best) {
  const search *s = &t->search;
  report_text(r, "metric", s->metric);
  report_trial(r, s, "best", best);
  report_list(r, "runs");
  for (size_t i = 0; i < s->trial_count; i++) report_trial(r, s, NULL, &s->trials[i]);
  report_end(r);
}

/* "--trees 400 --lr 0.05", to be typed. */
static void put_options(const search *s, const search_setting *setting, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "none: the defaults are best");
  for (size_t k = 0; k < s->space.count && used < size; k++)
    if (setting->values[k])
      used += (size_t)snprintf(text + used, size - used, "%s--%s %s", used ? " " : "", s->space.keys[k].key,
                               setting->values[k]);
}

static void report_table(const tuning *t, report *r, const search_trial *best) {
  const search *s = &t->search;
  const search_trial *defaults = search_defaults_beside(s, best);
  char text[TEXT_MAX];
  put_options(s, &s->settings[best->setting], text, sizeof text);
  output_text(t->out, "\n");
  report_text(r, "best settings", text);
  report_line(r, s->metric, "%.6g, with the defaults %.6g", figure_named(&best->figures, s->metric),
              figure_named(&defaults->figures, s->metric));
  if (best->share < 1)
    report_line(r, "note", "compared on %.0f %% of the rows: there was no time for more", 100 * best->share);
}

static void tell_result(const tuning *t, const search_trial *best) {
  report r;
  if (!t->values->quiet) print_notes(&t->read);
  if (!t->values->quiet) print_notes(&t->valid_read);
  if (t->values->quiet && !t->values->json) return;
  report_start(&r, t->out, t->values->json);
  if (t->values->json)
    report_json(t, &r, best);
  else
    report_table(t, &r, best);
  if (t->values->conf_out) report_text(&r, "configuration", t->values->conf_out);
  if (t->trainer) report_text(&r, "model", t->values->out);
  if (t->trainer) report_notes(&r, t->trainer);
  report_finish(&r);
}

/* The configuration as furrow train --conf reads it, so that both train the same. */
static furrow_status reread_conf(furrow_learn_conf **conf, const char *text, size_t size, furrow_error *err) {
  furrow_status status = furrow_learn_conf_create(conf, err);
  return status == FURROW_OK ? furrow_learn_conf_read(*conf, text, size, "settings", err) : status;
}

static furrow_status train_model(tuning *t, const learn_settings *settings, const char *text, size_t size,
                                 furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_fit_params fit;
  furrow_trainer_save_params save;
  init_trainer(&params, t->values);
  init_fit(&fit, t, 1);
  furrow_trainer_save_params_init(&save);
  save.overwrite = t->values->force;
  save.formats = settings->formats;
  t->deadline = 0;
  furrow_status status = reread_conf(&conf, text, size, err);
  if (status == FURROW_OK) status = use_encoder(t, conf, err);
  const furrow_train_params all =
      FURROW_INIT(furrow_train_params, .conf = conf, .trainer = &params, .fit = &fit, .save = &save);
  progress_start(&t->progress, !t->values->quiet, "training", 0);
  t->progress.unit = "rows";
  if (status == FURROW_OK) status = furrow_train(&t->trainer, NULL, t->values->train, t->values->out, &all, err);
  progress_stop(&t->progress);
  furrow_learn_conf_free(conf);
  if (status == FURROW_OK)
    status = raw_log_judge_ranking(&t->values->raw, t->trainer, t->values->train, t->values->out, t->values->threads,
                                   t->values->quiet, err);
  return status == FURROW_E_CANCELLED ? interrupt_check(err) : status;
}

/* After a signal the results so far are printed and written, but no model is trained. */
static furrow_status fail_stopped(const tuning *t, furrow_error *err) {
  if (!t->values->conf_out) return fail(err, FURROW_E_STATE, "stopped by a signal");
  return fail(err, FURROW_E_STATE, "stopped by a signal; %.200s has the best settings so far", t->values->conf_out);
}

static furrow_status use_best(tuning *t, const search_trial *best, furrow_error *err) {
  const tune_values *values = t->values;
  learn_settings settings = {0};
  char *text = NULL;
  size_t size = 0;
  const bool train = values->out && !interrupt_came();
  furrow_status status = make_settings(&settings, values, &t->search, &t->search.settings[best->setting], err);
  if (status == FURROW_OK)
    status = furrow_learn_conf_describe(settings.conf, FURROW_DESCRIBE_KEYS, 0, &text, &size, err);
  if (status == FURROW_OK && values->conf_out)
    status = text_file_write(values->conf_out, text, size, values->force, err);
  if (status == FURROW_OK && train) status = train_model(t, &settings, text, size, err);
  t->out->stored = status == FURROW_OK && (train || values->conf_out);
  if (status == FURROW_OK) tell_result(t, best);
  furrow_free(text);
  learn_settings_clear(&settings);
  return status;
}

/* ---- The command ---- */

static furrow_status check_values(const tune_values *values, furrow_error *err) {
  if (strcmp(values->algorithm, "recommender") == 0)
    return fail(err, FURROW_E_ARGUMENT,
                "furrow train --model recommender chooses among its settings itself: there is nothing to tune");
  if (values->valid && values->folds)
    return fail(err, FURROW_E_ARGUMENT,
                "--valid and --folds cannot be used together: each decides which rows are compared");
  if (values->folds == 1 || values->folds > MOST_FOLDS)
    return fail(err, FURROW_E_ARGUMENT, "--folds must be 2 to %d, or 0 for none", MOST_FOLDS);
  if (values->runs < 1 || values->runs > MOST_RUNS)
    return fail(err, FURROW_E_ARGUMENT, "--runs must be 1 to %d", MOST_RUNS);
  if (!(values->time >= 0)) return fail(err, FURROW_E_ARGUMENT, "--time must be 0 or more");
  if (source_is_stdin(values->train) || (values->valid && source_is_stdin(values->valid)))
    return fail(err, FURROW_E_ARGUMENT, "each run reads the samples again, which standard input cannot do");
  return FURROW_OK;
}

static furrow_status check_targets(const tune_values *values, furrow_error *err) {
  furrow_status status = values->conf_out ? text_file_check(values->conf_out, values->force, err) : FURROW_OK;
  return status == FURROW_OK && values->out ? job_check_out(values->out, values->force, err) : status;
}

static furrow_status prepare(tuning *t, const tune_values *values, const furrow_learn_conf *conf, furrow_error *err) {
  const search_space space = search_space_of(conf, is_given, values);
  uint64_t seed = 0;
  if (space.count == 0)
    return fail(err, FURROW_E_ARGUMENT, "there is nothing to search for: all settings that could be tried are given");
  if (!read_u64(furrow_learn_conf_get(conf, "seed"), &seed))
    return fail(err, FURROW_E_ARGUMENT, "the seed is not a number");
  furrow_parser_params_init(&t->parser);
  furrow_parser_stats_init(&t->read);
  furrow_parser_stats_init(&t->valid_read);
  if (values->format) t->parser.format = values->format;
  t->parser.on_bad = values->on_bad;
  t->parser.threads = values->threads;
  if (values->time > 0) t->deadline = now_seconds() + values->time;
  furrow_status status = search_init(&t->search, &space, values->metric, values->runs, seed, err);
  t->search.try_setting = try_setting;
  t->search.user = t;
  return status;
}

/* Makes the settings. If the samples turn out to be a raw log, options that name columns belong to its schema, not to
 * the settings. */
static furrow_status make_settings_for_data(learn_settings *settings, tune_values *tune, furrow_error *err) {
  raw_log_take_columns(&tune->raw, &tune->keys);
  const furrow_status status = make_settings(settings, tune, NULL, NULL, err);
  const encoder_reading reading = {.threads = tune->threads, .on_bad = tune->on_bad, .quiet = tune->quiet};
  if (status != FURROW_OK) return status;
  if (!raw_log_find(&tune->raw, tune->train, settings->conf, tune->quiet) &&
      !raw_log_find_bins(&tune->raw, tune->train, settings->conf, &reading))
    return FURROW_OK;
  raw_log_take_columns(&tune->raw, &tune->keys);
  learn_settings_clear(settings);
  return make_settings(settings, tune, NULL, NULL, err);
}

static furrow_status run_tune(const void *values, output *out, furrow_error *err) {
  tune_values used = *(const tune_values *)values;
  const tune_values *tune = &used;
  tuning t = {.values = tune, .out = out};
  learn_settings settings = {0};
  furrow_status status = check_values(tune, err);
  if (status == FURROW_OK) status = make_settings_for_data(&settings, &used, err);
  interrupt_catch(); /* before the target is tried, which makes a temporary directory */
  if (status == FURROW_OK) status = check_targets(tune, err);
  if (status == FURROW_OK && !tune->quiet) learn_settings_print_notes(&settings);
  if (status == FURROW_OK) status = prepare(&t, tune, settings.conf, err);
  if (status == FURROW_OK)
    status =
        raw_log_prepare(&used.raw, tune->train, NULL, tune->threads, tune->on_bad, tune->quiet, settings.conf, err);
  if (status == FURROW_OK) status = search_run(&t.search, err);
  const search_trial *best = status == FURROW_OK ? search_best(&t.search) : NULL;
  if (best) status = use_best(&t, best, err);
  if (status == FURROW_OK && interrupt_came()) status = best ? fail_stopped(&t, err) : interrupt_check(err);
  if (status != FURROW_OK) raw_log_hint_bad_row(&tune->raw, tune->train, tune->on_bad, err);
  furrow_trainer_free(t.trainer);
  search_clear(&t.search);
  learn_settings_clear(&settings);
  raw_log_clear(&used.raw);
  return status;
}

const command tune_command = {
    .name = "tune",
    .summary = "try settings of an algorithm and find those that suit the data",
    .example =
        "furrow tune --model gbdt --train clicks.libsvm --conf-out best.json\n"
        "furrow train --conf best.json --train clicks.libsvm --out clicks.model\n"
        "furrow tune --model fm --train clicks.libsvm --valid new.libsvm --metric auc --time 600 --out fm.model\n"
        "furrow tune --model lr --train small.csv --folds 10 --runs 12\n"
        "furrow tune --model gbdt --train titanic.csv --label survived --out titanic.model",
    .about =
        "Tries the defaults and settings that are drawn by the seed, and prints a line for each run. All are tried on "
        "a "
        "ninth of the rows, the better third of them on a third, and the better third of these on all; data of fewer "
        "than 18,000 rows begins with a third, of fewer than 6,000 with all. Settings are compared on rows that play "
        "no "
        "part in training. As the best of many is chosen on these rows, its figure there is a little too good: measure "
        "the model on rows that were used neither for training nor for comparing (furrow eval). The same samples, "
        "--runs and --seed give "
        "the same result for any number of threads.\n\n"
        "Searched for: gbdt: trees, lr, depth, leaves, min-rows, reg-lambda, row-ratio, feature-ratio; lr, linear, "
        "robust, softmax: l2; svm: l2, ftrl-alpha; fm and deep models: rank, lr, batch, l2, init-embedding, fc; mlr: "
        "mlr-rank, lr, batch, l2; dnn: input-width, lr, batch, l2, fc. After Ctrl-C the best settings so far are "
        "printed and written.",
    .groups = tune_groups,
    .size = sizeof(tune_values),
    .init = tune_init,
    .run = run_tune,
};
