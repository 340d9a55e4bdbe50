/* cli/learn/cmd_train.c: furrow train: a model from samples. */
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/progress.h"
#include "core/ranks.h"
#include "core/report.h"
#include "core/shown_text.h"
#include "core/text_file.h"
#include "core/written.h"
#include "furrow/io.h"
#include "furrow/learn.h"
#include "learn/folding.h"
#include "learn/learn_options.h"
#include "learn/model_names.h"
#include "learn/raw_log.h"
#include "learn/train_report.h"
#include "recommend/train_recommender.h"
#include "rows/rows_source.h"

#define RECOMMENDER "recommender"

typedef struct train_values {
  const char *conf, *algorithm, *train, *valid, *out, *load, *format;
  const char *history, *curve, *dot, *svg;
  const char *metric, *checkpoint;
  uint32_t threads, folds;
  int32_t checkpoint_every, servers;
  int64_t part_size;
  furrow_on_bad on_bad;
  bool dry_run, stream, keep_best, resume, hogwild, force, angel_bytes, allow_paths, json, quiet;
  text_list define;
  raw_log_values raw;
  learn_values keys;
  model_facts loaded; /* of --load */
} train_values;

#define AT(field) offsetof(train_values, field)
static const option main_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .choices = LEARN_ALGORITHMS "|" RECOMMENDER,
     .help = "recommender: items for users, from a raw log; or a built-in algorithm: lr, svm, linear, robust, softmax, "
             "mlr, fm, ffm, dnn, wide_and_deep, deepfm, pnn, "
             "nfm, gbdt",
     .offset = AT(algorithm)},
    {.name = "conf",
     .kind = OPTION_TEXT,
     .argument = "FILE.json",
     .help = "Angel's JSON file (data, model, train, layers), or the file that furrow tune writes; options override it",
     .offset = AT(conf)},
    {.name = "allow-paths",
     .kind = OPTION_FLAG,
     .help = "paths in the JSON file may lead out of the current folder",
     .offset = AT(allow_paths)},
    {.name = "train",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "samples to train on (in the JSON file: data/path)",
     .offset = AT(train),
     .from_query = true},
    {.name = "valid",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "samples for validation (--valid-ratio of the training data)",
     .offset = AT(valid)},
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "model directory to write (model/savepath)",
     .offset = AT(out),
     .written = true},
    {.name = "folds",
     .kind = OPTION_U32,
     .argument = "K",
     .help = "cross-validation: train K models, each scored on the K-th of the rows that it was not trained on; with "
             "--out, then train a model on all rows",
     .offset = AT(folds)},
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "F",
     .choices = "auto|libsvm|libffm|dummy|dense|csv",
     .help = "format of the samples: libsvm, libffm, dummy, dense, csv; found by itself with --model",
     .offset = AT(format)},
    {.name = "load",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "continue training this model (model/loadpath); new features, and names of a raw log, are added",
     .offset = AT(load)},
    {.name = "define",
     .letter = 'D',
     .kind = OPTION_LIST,
     .argument = "KEY=VALUE",
     .help = "a setting by Angel's name, such as ml.epoch.num=5 or ml.embedding.matrix.output.format=BinaryColumn",
     .offset = AT(define)},
    {.name = "dry-run",
     .kind = OPTION_FLAG,
     .help = "print the graph, its matrices, parameters and memory; do not train",
     .offset = AT(dry_run)},
    {.name = "dot",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the graph for graphviz",
     .offset = AT(dot),
     .written = true},
    {.name = "svg",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "draw the graph as SVG",
     .offset = AT(svg),
     .written = true},
    {0}};

static const option training_options[] = {
    {.name = "metric",
     .kind = OPTION_TEXT,
     .argument = "loss|auc|accuracy|logloss|rmse|mae|ndcg|pinball|deviance",
     .help = "metric that decides which epoch is best (loss; ndcg for ranking losses)",
     .offset = AT(metric)},
    {.name = "keep-best", .kind = OPTION_FLAG, .help = "the same as --keep best", .offset = AT(keep_best)},
    {.name = "checkpoint",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "keep a checkpoint in this folder; without --resume an old one is replaced",
     .offset = AT(checkpoint)},
    {.name = "checkpoint-every",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "epochs between checkpoints (1)",
     .offset = AT(checkpoint_every)},
    {.name = "resume",
     .kind = OPTION_FLAG,
     .help = "continue from the checkpoint if there is one; the model is the same as without the interruption",
     .offset = AT(resume)},
    {.name = "stream",
     .kind = OPTION_FLAG,
     .help = "read the samples again in each epoch instead of keeping them in memory",
     .offset = AT(stream)},
    {.name = "history",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the metrics of the epochs (.json or .csv)",
     .offset = AT(history),
     .written = true},
    {.name = "curve",
     .kind = OPTION_TEXT,
     .argument = "FILE.svg",
     .help = "draw loss and AUC over the epochs",
     .offset = AT(curve),
     .written = true},
    ON_BAD_OPTION(AT(on_bad)),
    THREADS_OPTION(AT(threads), "; the number does not change the model"),
    {.name = "hogwild",
     .kind = OPTION_FLAG,
     .help = "accepted for older scripts; has no effect",
     .offset = AT(hogwild)},
    {.name = "max-features",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "have at most N features (0: no limit): of a raw log, the rarest names count as unknown; with more "
             "features, samples of other formats fail",
     .offset = AT(raw.max_features)},
    {0}};

static const option writing_options[] = {
    {.name = "servers",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "write the files that N servers of Angel would write (1 for each rank)",
     .offset = AT(servers)},
    {.name = "part-size",
     .kind = OPTION_COUNT64,
     .argument = "N",
     .help = "elements per partition (500000)",
     .offset = AT(part_size)},
    {.name = "angel-bytes",
     .kind = OPTION_FLAG,
     .help = "write exactly what Angel would write, even if that loses digits",
     .offset = AT(angel_bytes)},
    {.name = "force", .kind = OPTION_FLAG, .help = "replace existing files and models", .offset = AT(force)},
    JSON_OPTION(AT(json)),
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .help = "print no table, no notes and no progress",
     .offset = AT(quiet)},
    {0}};
#undef AT

static const option_group train_groups[] = {
    {.title = "Options", .options = main_options},
    {.title = "Options", .options = plugin_options},
    {.title = "Raw logs", .options = raw_log_options, .offset = offsetof(train_values, raw)},
    {.title = "Raw logs", .options = query_options},
    {.title = "Training", .options = training_options},
    {.title = "Writing", .options = writing_options},
    {.title = "Model and training settings (also with -D and in the JSON file)",
     .options = learn_options,
     .offset = offsetof(train_values, keys)},
    {0}};

static void train_init(void *values) {
  train_values *train = values;
  train->checkpoint_every = 1;
}

/* ---- Without training ---- */

static furrow_status write_description(const learn_settings *settings, furrow_describe_format kind, const char *path,
                                       bool force, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  if (!path || ranks_number() > 0) return FURROW_OK;
  furrow_status status = furrow_learn_conf_describe(settings->conf, kind, 0, &text, &size, err);
  if (status == FURROW_OK) status = text_file_write(path, text, size, force, err);
  furrow_free(text);
  return status;
}

static furrow_status print_description(const learn_settings *settings, bool json, output *out, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = furrow_learn_conf_describe(settings->conf, json ? FURROW_DESCRIBE_JSON : FURROW_DESCRIBE_TEXT,
                                                    0, &text, &size, err);
  if (status == FURROW_OK) output_bytes(out, text, size);
  furrow_free(text);
  return status;
}

/* ---- Training ---- */

typedef struct training {
  const train_values *values;
  const furrow_trainer *trainer;
  output *out;
  progress progress;
  char what[40]; /* current step of the progress: "epoch 3"; "": none */
  bool headed;
} training;

static bool tell_progress(void *user, const char *phase, uint64_t rows, uint64_t total) {
  training *t = user;
  const bool epochs = strcmp(phase, "training") == 0 || strcmp(phase, "reading") == 0; /* else parts of all rows */
  char what[sizeof t->what];
  if (strcmp(phase, "preparing") == 0) return !interrupt_came();
  snprintf(what, sizeof what, "%s", phase);
  if (epochs) snprintf(what, sizeof what, "epoch %zu", furrow_trainer_epoch_count(t->trainer) + 1);
  if (strcmp(what, t->what) != 0) {
    progress_stop(&t->progress);
    memcpy(t->what, what, sizeof what);
    progress_start(&t->progress, !t->values->quiet, t->what, total);
    t->progress.unit = epochs ? "rows" : "parts";
  }
  progress_update(&t->progress, rows);
  return !interrupt_came();
}

static furrow_status tell_epoch(void *user, const furrow_epoch *epoch, furrow_error *err) {
  training *t = user;
  progress_stop(&t->progress);
  t->what[0] = '\0';
  if (!t->values->quiet && !t->values->json) {
    if (!t->headed) epoch_headings(t->out, epoch);
    t->headed = true;
    epoch_line(t->out, epoch);
    output_push(t->out);
  }
  return interrupt_check(err);
}

static void init_parser(furrow_parser_params *parser, const train_values *values) {
  furrow_parser_params_init(parser);
  if (values->format) parser->format = values->format;
  parser->on_bad = values->on_bad;
  parser->threads = values->threads;
}

static void init_trainer(furrow_trainer_params *params, const train_values *values) {
  furrow_trainer_params_init(params);
  params->threads = values->threads;
  params->hogwild = values->hogwild;
  params->load = values->load;
  params->max_features = values->raw.max_features;
  params->comm = ranks_comm();
}

static furrow_status fit(const train_values *values, furrow_trainer *trainer, output *out, furrow_error *err) {
  training t = {.values = values, .trainer = trainer, .out = out};
  furrow_trainer_fit_params params;
  furrow_parser_params parser;
  furrow_trainer_fit_params_init(&params);
  init_parser(&parser, values);
  params.parser = &parser;
  params.stream = values->stream;
  params.metric = values->metric;
  params.keep_best = values->keep_best;
  params.checkpoint = values->checkpoint;
  params.checkpoint_every = (uint32_t)values->checkpoint_every;
  params.resume = values->resume;
  params.epoch = tell_epoch;
  params.progress = tell_progress;
  params.epoch_user = params.progress_user = &t;
  furrow_status status = furrow_trainer_fit(trainer, values->train, values->valid, &params, err);
  progress_stop(&t.progress);
  return status == FURROW_E_CANCELLED ? interrupt_check(err) : status;
}

/* ---- Folds ---- */

typedef struct fold_progress {
  progress line;
  char what[32]; /* "fold 3 of 5" */
} fold_progress;

static bool tell_fold_progress(void *user, const char *phase, uint64_t rows, uint64_t total) {
  fold_progress *p = user;
  (void)phase, (void)total;
  progress_update(&p->line, rows);
  return !interrupt_came();
}

static furrow_status run_fold(const train_values *values, folding *f, fold_figures *figures, furrow_error *err) {
  fold_progress p = {.what = ""};
  snprintf(p.what, sizeof p.what, "fold %zu of %" PRIu32, figures->count + 1, values->folds);
  progress_start(&p.line, !values->quiet, p.what, 0);
  p.line.unit = "rows";
  f->fit.progress = tell_fold_progress;
  f->fit.progress_user = &p;
  furrow_status status = folding_next(f, figures, NULL, err);
  progress_stop(&p.line);
  return status == FURROW_E_CANCELLED ? interrupt_check(err) : status;
}

static void print_fold(const train_values *values, const fold_figures *figures, output *out) {
  if (values->quiet || values->json) return;
  if (figures->count == 1) fold_headings(out, figures);
  fold_line(out, figures);
  if (figures->count == values->folds) fold_summary(out, figures);
  if (figures->count == values->folds && values->out) output_text(out, "\n");
}

static furrow_status run_folds(const train_values *values, const learn_settings *settings, fold_figures *figures,
                               output *out, furrow_error *err) {
  folding f = {.conf = settings->conf, .train = values->train};
  furrow_parser_params parser;
  furrow_status status = FURROW_OK;
  init_trainer(&f.trainer, values);
  furrow_trainer_fit_params_init(&f.fit);
  init_parser(&parser, values);
  f.fit.parser = &parser;
  f.fit.metric = values->metric;
  f.fit.keep_best = values->keep_best;
  f.fit.folds = values->folds;
  while (status == FURROW_OK && figures->count < values->folds) {
    status = run_fold(values, &f, figures, err);
    if (status == FURROW_OK) print_fold(values, figures, out);
    if (status == FURROW_OK && values->out) output_push(out);
    if (status == FURROW_OK && !values->out) status = output_flush(out, err); /* nothing else comes of it */
  }
  if (status == FURROW_OK && !values->quiet && !values->out)
    print_notes(&f.read); /* with --out, this is among the notes of the model */
  return status;
}

static void report_folds_alone(const fold_figures *figures, output *out) {
  report r;
  report_start(&r, out, true);
  report_folds(&r, figures);
  report_finish(&r);
}

/* ---- The model ---- */

static furrow_status save_model(const train_values *values, const learn_settings *settings,
                                const furrow_trainer *trainer, const fold_figures *figures, furrow_error *err) {
  furrow_trainer_save_params params;
  furrow_matrix_write_params write;
  furrow_trainer_save_params_init(&params);
  furrow_matrix_write_params_init(&write);
  write.angel_bytes = values->angel_bytes;
  write.threads = values->threads;
  params.write = &write;
  params.overwrite = values->force;
  params.formats = settings->formats;
  params.servers = values->servers;
  params.part_size = values->part_size;
  params.folds = figures->folds;
  params.fold_count = figures->count;
  furrow_status status = furrow_trainer_save(trainer, values->out, &params, err);
  job_hint(status, values->force, NULL, err);
  return status;
}

static furrow_status write_history(const train_values *values, const furrow_trainer *trainer, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (ranks_number() > 0) return FURROW_OK;
  if (values->history) status = history_write(values->history, trainer, values->force, err);
  if (status == FURROW_OK && values->curve)
    status =
        history_draw(values->curve, values->algorithm ? values->algorithm : "training", trainer, values->force, err);
  return status;
}

static void report_best(report *r, uint32_t best, bool saved) {
  char text[96];
  snprintf(text, sizeof text, "%" PRIu32 " (the last epoch was saved; use --keep-best to save the best)", best);
  if (r->json || saved)
    report_u64(r, "best epoch", best);
  else
    report_text(r, "best epoch", text);
}

static bool trains_trees(const learn_settings *settings) {
  return strcmp(furrow_learn_conf_get(settings->conf, "algorithm"), "gbdt") == 0;
}

/* Six decimals and Angel's rule for absent features change the scores of trees; the report says by how much. */
static furrow_status measure_rounding(const train_values *values, const learn_settings *settings,
                                      const furrow_trainer *trainer, rounding *lost, furrow_error *err) {
  const char *rows = values->valid ? values->valid : values->train;
  if (!values->angel_bytes || !trains_trees(settings) || rows[0] == '-' || ranks_number() > 0) return FURROW_OK;
  return rounding_measure(lost, trainer, values->out, rows, values->format, err);
}

static void tell_result(const train_values *values, const learn_settings *settings, const furrow_trainer *trainer,
                        const fold_figures *figures, const rounding *lost, output *out) {
  const uint32_t best = furrow_trainer_best_epoch(trainer);
  const bool exact = furrow_trainer_is_exact(trainer);
  const bool keeps_best = exact || strcmp(furrow_learn_conf_get(settings->conf, "keep"), "best") == 0;
  if (values->quiet && !values->json) return;
  report r;
  report_start(&r, out, values->json);
  report_text(&r, "model", values->out);
  report_best(&r, best, best == 0 || best == furrow_trainer_epoch_count(trainer) || values->keep_best || keeps_best);
  report_notes(&r, trainer);
  if (lost->rows > 0) rounding_report(lost, &r);
  report_folds(&r, figures);
  report_epochs(&r, trainer);
  report_finish(&r);
}

static void print_train_notes(const train_values *values, const furrow_trainer *trainer) {
  furrow_parser_stats train, valid;
  furrow_parser_stats_init(&train);
  furrow_parser_stats_init(&valid);
  if (values->quiet) return;
  furrow_trainer_get_stats(trainer, &train, &valid);
  print_notes(&train);
  print_notes(&valid);
}

/* Hidden layers are shared by all rows, so steps for the rows of a new log change what is predicted for all others. */
static void note_forgetting(const train_values *values, const learn_settings *settings) {
  static const char *const kept[] = {"lr", "svm", "linear", "robust", "softmax", "fm", "gbdt"};
  const char *algorithm = furrow_learn_conf_get(settings->conf, "algorithm");
  const bool log = furrow_learn_conf_get(settings->conf, "encoder")[0] != '\0';
  if (values->quiet || !values->load || !log || !algorithm[0]) return;
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (strcmp(algorithm, kept[i]) == 0) return;
  say("furrow: note: %s may predict earlier rows worse after epochs with a new log alone: compare with 'furrow eval' "
      "on "
      "them; 'furrow learn' is gentler, with one pass\n",
      algorithm);
}

/* Checks the files to write before the training instead of after it. Rank 0 writes them. */
static furrow_status check_targets(const train_values *values, furrow_error *err) {
  const char *const files[] = {values->history, values->curve};
  if (ranks_number() > 0) return FURROW_OK;
  furrow_status status = job_check_out(values->out, values->force, err);
  for (size_t i = 0; status == FURROW_OK && i < 2; i++)
    if (files[i]) status = written_check_path(files[i], values->force, err);
  return status;
}

/* ---- Row types ---- */

static const furrow_matrix_row_type *row_type_of(const learn_settings *settings) {
  const furrow_matrix_row_type *type = NULL;
  const char *name = furrow_learn_conf_get(settings->conf, "model-type");
  return furrow_matrix_row_type_find(name, &type, NULL) == FURROW_OK ? type : NULL;
}

/* Checks the formats before the training: saving would fail only after it. */
static furrow_status check_formats(const learn_settings *settings, furrow_error *err) {
  static const furrow_layer_kind kinds[] = {FURROW_LAYER_INPUT, FURROW_LAYER_EMBEDDING};
  const furrow_matrix_row_type *type = row_type_of(settings);
  if (!type || type->dense || trains_trees(settings)) return FURROW_OK;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const furrow_matrix_format *format = furrow_layer_formats_get(settings->formats, kinds[i]);
    if (format->flags & FURROW_MATRIX_FORMAT_COL_IDS) continue;
    fail(err, FURROW_E_ARGUMENT, "%s keeps values without their columns, so it cannot hold rows of type %s",
         format->name, type->name);
    add_hint(err, "choose a format with columns, such as ColIdValueBinary, or --model-type %s",
             type->element == FURROW_ELEMENT_F64 ? "T_DOUBLE_DENSE" : "T_FLOAT_DENSE");
    return FURROW_E_ARGUMENT;
  }
  return FURROW_OK;
}

/* Names matrices of a dense model whose rows were saved sparse because few columns have features. */
static void print_row_types(const learn_settings *settings, const char *folder) {
  const furrow_matrix_row_type *asked = row_type_of(settings), *got;
  furrow_model_listing *listing = NULL;
  if (!asked || !asked->dense || trains_trees(settings)) return;
  if (furrow_model_listing_load(&listing, folder, NULL) != FURROW_OK) return;
  for (size_t i = 0; i < listing->matrix_count; i++) {
    furrow_matrix_meta *meta = NULL;
    if (furrow_matrix_meta_load(&meta, listing->matrices[i].folder, NULL, NULL) != FURROW_OK) continue;
    got = furrow_matrix_row_type_get(meta->row_type);
    if (got && !got->dense)
      say("furrow: note: %s was saved as %s, not %s: few of its %" PRId64 " columns have a feature\n",
          listing->matrices[i].name, got->name, asked->name, meta->col);
    furrow_matrix_meta_free(meta);
  }
  furrow_model_listing_free(listing);
}

/* After a signal, names the checkpoint in the error, if there is one. */
static void name_checkpoint(const train_values *values, furrow_error *err) {
  char path[PATH_MAX];
  if (!values->checkpoint || !interrupt_came()) return;
  const int n = snprintf(path, sizeof path, "%s/checkpoint", values->checkpoint);
  if (n >= (int)sizeof path || access(path, F_OK) != 0) return;
  fail(err, FURROW_E_STATE, "stopped by a signal; the last checkpoint is in %.200s", values->checkpoint);
  add_hint(err, "--resume goes on from it");
}

static void hint_csv(const train_values *values, const learn_settings *settings, furrow_error *err) {
  const char *format = furrow_learn_conf_get(settings->conf, "format");
  const bool text = err->status == FURROW_E_PARSE || err->status == FURROW_E_ARGUMENT;
  if (!text || !raw_log_is_csv_name(values->train) || strcmp(format, "csv") == 0 || strstr(values->train, "format="))
    return;
  if (err->hint[0] || strcmp(format, "auto") == 0 || strcmp(format, "table") == 0) return; /* table: a raw log */
  add_hint(err, "the file was read as %s; use --format csv to read csv", format);
}

static furrow_status train_and_save(const train_values *values, const learn_settings *settings,
                                    const fold_figures *figures, output *out, furrow_error *err) {
  furrow_trainer *trainer = NULL;
  furrow_trainer_params params;
  init_trainer(&params, values);
  furrow_status status = furrow_trainer_create(&trainer, settings->conf, &params, err);
  if (status == FURROW_OK) status = fit(values, trainer, out, err);
  if (status == FURROW_E_STATE) name_checkpoint(values, err);
  if (status == FURROW_OK) status = save_model(values, settings, trainer, figures, err);
  if (status == FURROW_OK) status = write_history(values, trainer, err);
  out->stored = status == FURROW_OK;
  rounding lost = {0};
  if (status == FURROW_OK) status = measure_rounding(values, settings, trainer, &lost, err);
  if (status == FURROW_OK) tell_result(values, settings, trainer, figures, &lost, out);
  if (status == FURROW_OK) print_train_notes(values, trainer);
  if (status == FURROW_OK) note_forgetting(values, settings);
  if (status == FURROW_OK)
    status =
        raw_log_judge_ranking(&values->raw, trainer, values->train, values->out, values->threads, values->quiet, err);
  if (status == FURROW_OK && !values->quiet) print_row_types(settings, values->out);
  furrow_trainer_free(trainer);
  return status;
}

static furrow_status run_all(const train_values *values, const learn_settings *settings, output *out,
                             furrow_error *err) {
  fold_figures *figures = calloc(1, sizeof *figures);
  if (!figures) return fail_memory(err);
  interrupt_catch(); /* before the target is tried, which makes a temporary directory */
  furrow_status status = ranks_all_ok(values->out ? check_targets(values, err) : FURROW_OK, err);
  if (status == FURROW_OK) status = check_formats(settings, err);
  if (status == FURROW_OK && values->folds) status = run_folds(values, settings, figures, out, err);
  if (status == FURROW_OK && values->out)
    status = train_and_save(values, settings, figures, out, err);
  else if (status == FURROW_OK && values->json)
    report_folds_alone(figures, out);
  if (status != FURROW_OK && !values->format) hint_csv(values, settings, err);
  free(figures);
  return status;
}

/* Each fold reads the rows again, and must not have been trained on the rows that it is scored on. */
static furrow_status check_folds(const train_values *values, furrow_error *err) {
  const struct {
    const char *name;
    bool given;
  } others[] = {{"--valid", values->valid != NULL},
                {"--load", values->load != NULL},
                {"--checkpoint", values->checkpoint != NULL},
                {"--stream", values->stream},
                {"--dry-run", values->dry_run},
                {"--train -", values->train && source_is_stdin(values->train)},
                {"--history without --out", values->history && !values->out},
                {"--curve without --out", values->curve && !values->out}};
  if (values->folds == 0) return FURROW_OK;
  if (values->folds == 1 || values->folds > MOST_FOLDS)
    return fail(err, FURROW_E_ARGUMENT, "--folds must be 2 to %d, or 0 for none", MOST_FOLDS);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].given) return fail(err, FURROW_E_ARGUMENT, "--folds and %s cannot be used together", others[i].name);
  return FURROW_OK;
}

/* A model that goes on keeps its algorithm, which its furrow.json has; those that Angel wrote have none. */
static furrow_status take_algorithm(train_values *values, furrow_error *err) {
  model_facts *its = &values->loaded;
  furrow_error ignored; /* the training names what is wrong with the folder */
  if (!values->load || model_facts_read(its, values->load, &ignored) != FURROW_OK) return FURROW_OK;
  if (its->recommends)
    return fail_token(err, values->load, "--load cannot go on with a recommender; train it with the whole log");
  if (!its->algorithm[0]) return FURROW_OK;
  if (!values->algorithm && !values->conf) values->algorithm = its->algorithm;
  if (!values->algorithm || strcmp(values->algorithm, its->algorithm) == 0) return FURROW_OK;
  fail(err, FURROW_E_ARGUMENT, "--load has a model of %s, and --model is %s", its->algorithm, values->algorithm);
  add_hint(err, "leave --model out to train it further, or --load for a new model");
  return FURROW_E_ARGUMENT;
}

static furrow_status check_values(const train_values *values, furrow_error *err) {
  if (!values->conf && !values->algorithm && values->define.count == 0) /* -D can name either, too */
    return fail(err, FURROW_E_ARGUMENT, "--model NAME or --conf FILE.json is missing");
  if (values->resume && !values->checkpoint) return fail(err, FURROW_E_ARGUMENT, "--resume needs --checkpoint DIR");
  if (values->history && !path_ends(values->history, ".json") && !path_ends(values->history, ".csv"))
    return fail_token(err, values->history, "--history takes a name that ends in .json or .csv");
  if (values->curve && !path_ends(values->curve, ".svg"))
    return fail_token(err, values->curve, "--curve takes a name that ends in .svg");
  return FURROW_OK;
}

/* Takes settings without an option from the JSON file or from -D. */
static furrow_status take_paths(train_values *values, const learn_settings *settings, furrow_error *err) {
  const struct {
    const char *key, **path, *hint;
  } paths[] = {{"data", &values->train, "give --train URI, or --allow-paths if you trust the file"},
               {"valid", &values->valid, "give --valid URI, or --allow-paths if you trust the file"},
               {"save", &values->out, "give --out DIR, or --allow-paths if you trust the file"},
               {"load", &values->load, "give --load DIR, or --allow-paths if you trust the file"}};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < sizeof paths / sizeof *paths; i++) {
    const char *said = furrow_learn_conf_get(settings->conf, paths[i].key);
    if (!*paths[i].path && said && said[0]) *paths[i].path = said;
    if (!*paths[i].path && !values->dry_run)
      status = conf_paths_check(&settings->paths, paths[i].key, paths[i].hint, err);
  }
  return status;
}

/* Angel's action.type is the command here. */
static furrow_status check_action(const train_values *values, const furrow_learn_conf *conf, furrow_error *err) {
  const char *action = furrow_learn_conf_get(conf, "action");
  if (strcmp(action, "predict") == 0) {
    fail_token(err, action, "action.type does not fit: 'furrow train' trains a model");
    add_hint(err, "'furrow predict' applies one");
    return FURROW_E_ARGUMENT;
  }
  if (strcmp(action, "inctrain") == 0 && !values->load)
    return fail_token(err, action, "action.type needs a model to continue: --load DIR");
  return FURROW_OK;
}

/* Rows that the JSON file or -D names, which core/written.c does not know. */
static furrow_status check_rows(const train_values *values, furrow_error *err) {
  const char *const files[] = {values->dot, values->svg, values->history, values->curve};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < 2 * sizeof files / sizeof *files; i++)
    status = written_check_uri(files[i / 2], i % 2 ? values->valid : values->train, err);
  return status;
}

static furrow_status check_paths(const train_values *values, furrow_error *err) {
  if (values->dry_run) return FURROW_OK;
  if (!values->train) return fail(err, FURROW_E_ARGUMENT, "--train URI is missing, the samples to train on");
  if (!values->out && !values->folds)
    return fail(err, FURROW_E_ARGUMENT, "--out DIR is missing, the model directory to write");
  return FURROW_OK;
}

static furrow_status make_settings(learn_settings *settings, const train_values *train, furrow_error *err) {
  const learn_origin from = {.json = train->conf, .algorithm = train->algorithm, .allow_paths = train->allow_paths};
  furrow_status status = learn_settings_make(settings, &from, &train->keys, &train->define, err);
  if (status == FURROW_OK && train->format)
    status = furrow_learn_conf_set(settings->conf, "format", train->format, err);
  if (status != FURROW_OK) return status;
  status = furrow_learn_conf_check(settings->conf, err);
  if (status != FURROW_OK && train->conf && !err->hint[0])
    add_hint(err, "the settings come from %.160s and from the options", train->conf);
  return status;
}

/* Makes the settings. If the samples turn out to be a raw log, options that name columns belong to its schema, not to
 * the settings. */
static furrow_status make_settings_for_data(learn_settings *settings, train_values *train, furrow_error *err) {
  raw_log_take_columns(&train->raw, &train->keys);
  const furrow_status status = make_settings(settings, train, err);
  if (status != FURROW_OK || train->load) return status;
  const char *samples = train->train ? train->train : furrow_learn_conf_get(settings->conf, "data");
  const encoder_reading reading = {
      .threads = train->threads, .on_bad = train->on_bad, .quiet = train->quiet, .comm = ranks_comm()};
  const bool log = raw_log_find(&train->raw, samples, settings->conf, train->quiet);
  if (!log && (train->stream || !raw_log_find_bins(&train->raw, samples, settings->conf, &reading))) return FURROW_OK;
  raw_log_take_columns(&train->raw, &train->keys);
  learn_settings_clear(settings);
  return make_settings(settings, train, err);
}

/* Locks a model that is trained further and replaced. */
static furrow_status lock_model(furrow_file_lock **lock, const train_values *values, furrow_error *err) {
  struct stat read, written;
  if (!values->load || !values->out || ranks_number() > 0) return FURROW_OK;
  if (stat(values->load, &read) != 0 || stat(values->out, &written) != 0) return FURROW_OK;
  const bool same = read.st_dev == written.st_dev && read.st_ino == written.st_ino;
  return same ? furrow_file_lock_open(lock, values->out, err) : FURROW_OK;
}

/* ---- Recommenders ---- */

static bool is_recommender(const train_values *train) {
  return train->algorithm && strcmp(train->algorithm, RECOMMENDER) == 0;
}

/* A recommender is chosen by its own comparison, so options of trainings do not apply. */
static furrow_status check_recommender(const train_values *train, furrow_error *err) {
  const struct {
    const char *name;
    bool given;
  } others[] = {{"--conf", train->conf != NULL},
                {"--valid", train->valid != NULL},
                {"--load", train->load != NULL},
                {"--folds", train->folds > 0},
                {"--format", train->format != NULL},
                {"--define", train->define.count > 0},
                {"--dry-run", train->dry_run},
                {"--checkpoint", train->checkpoint != NULL},
                {"--metric", train->metric != NULL},
                {"--stream", train->stream},
                {"--history", train->history != NULL},
                {"--curve", train->curve != NULL},
                {"--dot", train->dot != NULL},
                {"--svg", train->svg != NULL},
                {"--user-history", train->raw.columns.history > 0}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].given)
      return fail(err, FURROW_E_ARGUMENT, "%s does not apply to --model " RECOMMENDER, others[i].name);
  const furrow_learn_key *key;
  for (size_t i = 0; i < LEARN_KEYS && (key = furrow_learn_key_at(i)); i++)
    if (train->keys.texts[i] && strcmp(key->name, "seed") != 0)
      return fail(err, FURROW_E_ARGUMENT, "--%s does not apply to --model " RECOMMENDER, key->name);
  return ranks_count() > 1 ? fail(err, FURROW_E_UNSUPPORTED, "a recommender is trained by one process")
                           : check_paths(train, err);
}

static furrow_status run_recommender(train_values *train, output *out, furrow_error *err) {
  if (!train->raw.schema) train->raw.schema = "auto";
  raw_log_take_columns(&train->raw, &train->keys);
  furrow_status status = check_recommender(train, err);
  if (status != FURROW_OK) return status;
  const recommender_training wanted = {.log = train->train,
                                       .out = train->out,
                                       .schema = train->raw.schema,
                                       .columns = &train->raw.columns,
                                       .threads = train->threads,
                                       .on_bad = train->on_bad,
                                       .force = train->force,
                                       .json = train->json,
                                       .quiet = train->quiet};
  return train_recommender(&wanted, out, err);
}

static furrow_status run_train(const void *values, output *out, furrow_error *err) {
  train_values used = *(const train_values *)values;
  const train_values *train = &used;
  if (is_recommender(train)) return run_recommender(&used, out, err);
  learn_settings settings = {0};
  furrow_file_lock *lock = NULL;
  furrow_status status = ranks_all_ok(take_algorithm(&used, err), err);
  if (status == FURROW_OK) status = check_values(train, err);
  if (status == FURROW_OK) status = make_settings_for_data(&settings, &used, err);
  if (status == FURROW_OK) status = take_paths(&used, &settings, err);
  if (status == FURROW_OK) status = check_action(train, settings.conf, err);
  if (status == FURROW_OK && !train->quiet) learn_settings_print_notes(&settings);
  if (status == FURROW_OK) status = check_paths(train, err);
  if (status == FURROW_OK) status = ranks_all_ok(check_rows(train, err), err);
  if (status == FURROW_OK) status = check_folds(train, err);
  if (status == FURROW_OK) status = write_description(&settings, FURROW_DESCRIBE_DOT, train->dot, train->force, err);
  if (status == FURROW_OK) status = write_description(&settings, FURROW_DESCRIBE_SVG, train->svg, train->force, err);
  if (status == FURROW_OK && !train->dry_run) status = ranks_all_ok(lock_model(&lock, train, err), err);
  if (status == FURROW_OK && train->train)
    status = raw_log_prepare(&used.raw, train->train, train->load, train->threads, train->on_bad, train->quiet,
                             settings.conf, err);
  if (status == FURROW_OK && train->dry_run)
    status = print_description(&settings, train->json, out, err);
  else if (status == FURROW_OK)
    status = run_all(train, &settings, out, err);
  if (status != FURROW_OK && train->train && !train->load)
    raw_log_hint_bad_row(&train->raw, train->train, train->on_bad, err);
  learn_settings_clear(&settings);
  raw_log_clear(&used.raw);
  furrow_file_lock_close(lock);
  return status;
}

const command train_command = {
    .name = "train",
    .summary = "train a model and write it as an Angel model directory",
    .example = "furrow train --model recommender --train ratings.csv --out shop.model\n"
               "furrow train --model gbdt --train clicks.libsvm --out clicks.model\n"
               "furrow train --model lr --train homes.csv --label-column sold --out homes.model\n"
               "furrow train --model fm --train ratings.csv --schema auto --out ratings.model\n"
               "furrow train --model gbdt --train clicks.libsvm --folds 5\n"
               "furrow train --model fm --factors 16 --train clicks.libsvm --valid new.libsvm --out fm.model\n"
               "furrow train --conf deepfm.json --train clicks.libsvm --out deepfm.model -D ml.epoch.num=5\n"
               "furrow train --model deepfm --fields 39 --fc 100,100 --dry-run",
    .one_of = "--model NAME | --conf FILE.json | --load DIR",
    .about =
        "With --model, no settings are needed: the format, the labels and classes, the first index and the ranges of "
        "the features are found in the data, and each algorithm has its own defaults. lr, linear, robust and softmax "
        "are solved exactly. Nets hold rows out for validation, save their best epoch, and fall back to the linear "
        "model if they are not better. With --conf, Angel's defaults count; --defaults changes that.\n\n"
        "The same samples, settings and seed give the same model, byte for byte, for any number of threads (another "
        "instruction set may change the last digits). docs/models.md says which model to take and has the defaults of "
        "each; docs/nets.md and docs/trees.md have the formulas. furrow tune looks for better settings. Under mpirun "
        "or srun the processes train one model together, each with its part of the samples (docs/cluster.md).",
    .groups = train_groups,
    .size = sizeof(train_values),
    .init = train_init,
    .run = run_train,
    .on_all_ranks = true,
};
