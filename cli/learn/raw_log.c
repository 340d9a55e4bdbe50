/* cli/learn/raw_log.c: raw logs: training with --schema, and the event of furrow predict --event */
#include "learn/raw_log.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/output.h"
#include "core/ranks.h"
#include "core/shown_text.h"
#include "core/text_file.h"
#include "furrow/recommend.h"
#include "rows/rows_source.h"

#define AT(field) offsetof(raw_log_values, field)
const option raw_log_options[] = {
    {.name = "schema",
     .kind = OPTION_TEXT,
     .argument = "FILE|auto",
     .help =
         "the samples are a raw log (csv, tsv, JSON lines, Vowpal Wabbit's text): its schema, a file of 'furrow rows "
         "schema', or auto, the default for tables with a header and texts and for JSON lines. The model keeps what "
         "it "
         "needs to read such logs",
     .offset = AT(schema)},
    {.name = "user",
     .kind = OPTION_TEXT,
     .argument = "COLUMN",
     .help = "with --schema auto: the column of users; --label, --item, --time and --weight-column name the others",
     .offset = AT(columns.user)},
    {.name = "item",
     .kind = OPTION_TEXT,
     .argument = "COLUMN",
     .help = "with --schema auto: the column of items",
     .offset = AT(columns.item)},
    {.name = "time",
     .kind = OPTION_TEXT,
     .argument = "COLUMN",
     .help = "with --schema auto: the column of times",
     .offset = AT(columns.time)},
    {.name = "table",
     .kind = OPTION_LIST,
     .argument = "FILE=COLUMN",
     .help = "with --schema auto: a table that is joined by that column, such as movies.csv=movieId",
     .offset = AT(columns.tables)},
    {.name = "user-history",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "with --schema auto: use the user's last N items before the event as features (0: none)",
     .offset = AT(columns.history)},
    {0}};
#undef AT

/* The text of a key's option. */
static const char **text_of(learn_values *keys, const char *name) {
  const furrow_learn_key *key;
  for (size_t i = 0; i < LEARN_KEYS && (key = furrow_learn_key_at(i)); i++)
    if (strcmp(key->name, name) == 0) return &keys->texts[i];
  return NULL;
}

static bool is_label_transform(const char *text) {
  static const char *const words[] = {"NoTrans", "PosNegTrans", "ZeroOneTrans", "AddOneTrans", "SubOneTrans"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], text) == 0) return true;
  return false;
}

void raw_log_take_columns(raw_log_values *values, learn_values *keys) {
  const char **label = text_of(keys, "label"), **column = text_of(keys, "label-column");
  const char **weight = text_of(keys, "weight-column");
  if (*label && !is_label_transform(*label) && !*column) {
    *column = *label;
    *label = NULL;
  }
  if (!values->schema) return;
  values->columns.label = *column;
  values->columns.weight = *weight;
  *column = *weight = NULL;
}

/* Whether it is open what the samples are. */
static bool is_open(const raw_log_values *values, const char *samples, const furrow_learn_conf *conf) {
  if (values->schema || !samples || source_is_stdin(samples)) return false;
  return strcmp(furrow_learn_conf_get(conf, "format"), "auto") == 0 && !furrow_learn_conf_get(conf, "encoder")[0];
}

bool raw_log_find(raw_log_values *values, const char *samples, const furrow_learn_conf *conf, bool quiet) {
  furrow_error ignored; /* reading the samples will report it */
  bool log = false;
  if (!is_open(values, samples, conf)) return false;
  if (furrow_table_needs_schema(samples, &log, &ignored) != FURROW_OK || !log) return false;
  values->schema = "auto";
  if (!quiet) say("furrow: note: %s is read as a raw log, as with --schema auto\n", samples);
  return true;
}

/* Whether a model of two classes or of a number has one weight for each feature, and nothing else. */
static bool is_linear(const char *algorithm) {
  static const char *const names[] = {"lr", "svm", "linear", "robust"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], algorithm) == 0) return true;
  return false;
}

/* The label of a regression keeps its numbers, also where a schema would have classes. */
static bool has_classes(const furrow_schema *schema, const furrow_learn_conf *conf) {
  const char *algorithm = furrow_learn_conf_get(conf, "algorithm");
  const bool number = strcmp(algorithm, "linear") == 0 || strcmp(algorithm, "robust") == 0;
  return number && furrow_schema_class_name(schema, 0);
}

bool raw_log_find_bins(raw_log_values *values, const char *samples, const furrow_learn_conf *conf,
                       const encoder_reading *reading) {
  furrow_error ignored; /* reading the samples will report it */
  schema_values columns = values->columns;
  const char *label = furrow_learn_conf_get(conf, "label-column"),
             *weight = furrow_learn_conf_get(conf, "weight-column");
  if (!is_open(values, samples, conf) || !is_linear(furrow_learn_conf_get(conf, "algorithm"))) return false;
  columns.label = label[0] ? label : NULL;
  columns.weight = weight[0] ? weight : NULL;
  if (propose_bins(&values->proposed, samples, &columns, reading, &ignored) != FURROW_OK || !values->proposed)
    return false;
  if (has_classes(values->proposed, conf)) return false;
  values->schema = "auto";
  values->columns.proposed = values->proposed;
  if (!reading->quiet)
    say("furrow: note: %s is read as a raw log, as with --schema auto: not all numbers have an effect that is a "
        "straight line. --format csv keeps one weight for each column\n",
        samples);
  return true;
}

void raw_log_clear(raw_log_values *values) {
  furrow_schema_free(values->proposed);
  values->proposed = NULL;
}

static void print_schema(const furrow_encoder *encoder) {
  const furrow_schema *schema = furrow_encoder_schema(encoder);
  const char *positive = furrow_schema_class_name(schema, 2) ? NULL : furrow_schema_class_name(schema, 1);
  say("furrow: note: schema:");
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    say("%s %s %s%s%s%s", i ? "," : "", column.name, column.as, column.role[0] ? " (" : "", column.role,
        column.role[0] ? ")" : "");
    if (positive && strcmp(column.as, "label") == 0) say(" (positive: %s)", positive);
  }
  say("\n");
}

static bool has_encoder(const char *model) {
  char path[4096];
  const int n = snprintf(path, sizeof path, "%s/dictionary.furrow", model);
  return n < (int)sizeof path && path_is_there(path);
}

furrow_status raw_log_use_encoder(furrow_learn_conf *conf, furrow_error *err) {
  furrow_status status = furrow_learn_conf_set(conf, "encoder", ENCODER_IN_MEMORY, err);
  return status == FURROW_OK ? furrow_learn_conf_set(conf, "format", "table", err) : status;
}

/* Standard input is read once: its names stay as they are. */
static furrow_status load_encoder(furrow_encoder **encoder, const char *load, const char *log, bool grows,
                                  const encoder_reading *reading, furrow_error *err) {
  furrow_status status = furrow_encoder_load(encoder, load, err);
  if (reading->comm) status = ranks_all_ok(status, err);
  if (status != FURROW_OK || !grows) return status;
  if (!source_is_stdin(log)) return grow_encoder(encoder, log, reading, err);
  if (!reading->quiet)
    say("furrow: warning: standard input is read once, so new names count as unknown: save it to a file to add them\n");
  return FURROW_OK;
}

furrow_status raw_log_prepare(raw_log_values *values, const char *log, const char *load, uint32_t threads,
                              furrow_on_bad on_bad, bool quiet, furrow_learn_conf *conf, furrow_error *err) {
  const bool goes_on = load && has_encoder(load);
  furrow_encoder *encoder = NULL;
  if (goes_on && values->schema)
    return fail_token(err, load, "--load goes on with the schema of its model: leave --schema out");
  if (!goes_on && !values->schema) {
    const schema_values *c = &values->columns;
    if (!c->user && !c->item && !c->time && !c->tables.count && !c->history) return FURROW_OK;
    return fail(err, FURROW_E_ARGUMENT, "--user, --item, --time, --table and --user-history need --schema auto");
  }
  const encoder_reading reading = {
      .threads = threads, .on_bad = on_bad, .quiet = quiet, .comm = ranks_comm(), .max_features = values->max_features};
  const bool trees = strcmp(furrow_learn_conf_get(conf, "algorithm"), "gbdt") == 0;
  schema_values columns = values->columns;
  columns.amounts = trees;
  columns.bin_numbers = is_linear(furrow_learn_conf_get(conf, "algorithm"));
  furrow_status status = goes_on ? load_encoder(&encoder, load, log, true, &reading, err)
                                 : make_encoder(&encoder, log, values->schema, &columns, &reading, err);
  if (status == FURROW_OK && !goes_on && !quiet && strcmp(values->schema, "auto") == 0) print_schema(encoder);
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, ENCODER_IN_MEMORY, true, err);
  if (status == FURROW_OK) status = raw_log_use_encoder(conf, err);
  values->max_features = 0;
  furrow_encoder_free(encoder);
  return status;
}

/* ---- Hints and warnings ---- */

bool raw_log_is_csv_name(const char *uri) {
  static const char *const endings[] = {".csv", ".csv.gz", ".csv.zst"};
  const size_t n = strcspn(uri, ";?#");
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t m = strlen(endings[i]);
    if (n > m && memcmp(uri + n - m, endings[i], m) == 0) return true;
  }
  return false;
}

void raw_log_hint_bad_row(const raw_log_values *values, const char *samples, furrow_on_bad on_bad, furrow_error *err) {
  const bool log = values->schema != NULL, label = strstr(err->message, "label is missing") != NULL;
  if (err->status != FURROW_E_PARSE || err->hint[0] || on_bad == FURROW_ON_BAD_SKIP) return;
  if (!log && !raw_log_is_csv_name(samples)) return;
  add_hint(err, "--on-bad skip leaves such rows out and counts them%s",
           log || label ? "" : "; if columns have names or texts in them, --schema auto reads the file as a raw log");
}

furrow_status raw_log_judge_ranking(const raw_log_values *values, const furrow_trainer *trainer, const char *log,
                                    const char *model, uint32_t threads, bool quiet, furrow_error *err) {
  furrow_rank_figures figures;
  furrow_recommender_params params;
  furrow_error ignored; /* a log without users and items, or with too few events: there is nothing to measure */
  job j;
  furrow_recommender_params_init(&params);
  furrow_rank_figures_init(&figures);
  params.threads = threads;
  params.trainer = trainer;
  params.progress = job_progress;
  params.progress_user = &j;
  if (!values->schema || ranks_number() > 0) return FURROW_OK;
  job_start(&j, "measuring recommendations", quiet);
  const furrow_status status = furrow_recommender_judge(model, log, &params, &figures, &ignored);
  job_stop(&j);
  if (status == FURROW_E_CANCELLED) return interrupt_check(err);
  if (status == FURROW_OK && !quiet && figures.popular_gain < -figures.popular_gain_error)
    say("furrow: warning: do not recommend items with this model: on events that were held out it orders them worse "
        "than their popularity does (NDCG %.4f, most popular items %.4f); --model recommender is for that\n",
        figures.ndcg.mean, figures.popular_ndcg.mean);
  return FURROW_OK;
}

/* ---- One event ---- */

#define EVENT_FILE "memory://furrow/event"

static furrow_status check_pair(const char *text, furrow_error *err) {
  const char *equals = strchr(text, '=');
  return equals && equals > text ? FURROW_OK : fail_token(err, text, "--event takes COLUMN=VALUE");
}

furrow_status one_event_write(const text_list *pairs, const char **uri, furrow_error *err) {
  fw_buffer line = {0};
  char *bytes = NULL;
  size_t size = 0;
  furrow_status status = FURROW_OK;
  fw_buffer_byte(&line, '{');
  for (size_t i = 0; i < pairs->count && status == FURROW_OK; i++) {
    const char *text = pairs->texts[i], *equals = strchr(text, '=');
    if ((status = check_pair(text, err)) != FURROW_OK) break;
    if (i > 0) fw_buffer_byte(&line, ',');
    fw_buffer_json_string(&line, text, (size_t)(equals - text), false);
    fw_buffer_byte(&line, ':');
    fw_buffer_json_string(&line, equals + 1, strlen(equals + 1), false);
  }
  fw_buffer_text(&line, "}\n");
  if (status == FURROW_OK && fw_buffer_take(&line, &bytes, &size, NULL) != FURROW_OK) status = fail_memory(err);
  if (status == FURROW_OK) status = furrow_memory_file_add(EVENT_FILE, bytes, size, free, bytes, err);
  if (status != FURROW_OK) free(bytes);
  fw_buffer_clear(&line);
  *uri = EVENT_FILE "?kind=json";
  return status;
}

furrow_status one_event_check(const text_list *pairs, const furrow_encoder *encoder, furrow_error *err) {
  furrow_container *rows = NULL;
  if (!encoder) return fail(err, FURROW_E_ARGUMENT, "--event is for models of raw logs; this one was trained on rows");
  furrow_pair *list = calloc(pairs->count, sizeof *list);
  furrow_status status = list ? FURROW_OK : fail_memory(err);
  for (size_t i = 0; i < pairs->count && status == FURROW_OK; i++) {
    const char *text = pairs->texts[i], *equals = strchr(text, '=');
    list[i].column = strndup(text, (size_t)(equals - text));
    list[i].value = equals + 1;
    if (!list[i].column) status = fail_memory(err);
  }
  if (status == FURROW_OK) status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  if (status == FURROW_OK) status = furrow_encoder_push_event(encoder, list, pairs->count, rows, err);
  furrow_container_free(rows);
  for (size_t i = 0; list && i < pairs->count; i++) free((char *)list[i].column);
  free(list);
  return status;
}

/* The field of a category by name; SIZE_MAX: there is none. */
static size_t category_field(const furrow_encoder *encoder, const char *name, size_t length) {
  const furrow_schema *schema = furrow_encoder_schema(encoder);
  bool category = false;
  for (size_t i = 0; i < furrow_schema_column_count(schema) && !category; i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    category = strcmp(column.as, "category") == 0 && !column.role[0] && /* user and item have separate notes */
               strlen(column.name) == length && memcmp(column.name, name, length) == 0;
  }
  for (size_t i = 0; category && i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    if (strlen(field.name) == length && memcmp(field.name, name, length) == 0) return i;
  }
  return SIZE_MAX;
}

void one_event_print_notes(const text_list *pairs, const furrow_encoder *encoder) {
  for (size_t i = 0; i < pairs->count; i++) {
    const char *text = pairs->texts[i], *equals = strchr(text, '=');
    const size_t field = category_field(encoder, text, (size_t)(equals - text));
    uint64_t index;
    furrow_error ignored;
    if (field == SIZE_MAX || !equals[1]) continue;
    if (furrow_encoder_find(encoder, field, equals + 1, strlen(equals + 1), &index, &ignored) == FURROW_E_NOT_FOUND)
      say("furrow: note: the model has not seen this value: %s\n", text);
  }
}
