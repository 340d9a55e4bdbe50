/* cli/learn/raw_log.c: training on raw logs. */
#include "learn/raw_log.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/ranks.h"
#include "core/shown_text.h"

#define AT(field) offsetof(raw_log_values, field)
const option raw_log_options[] = {
    {.name = "schema",
     .kind = OPTION_TEXT,
     .argument = "FILE|auto",
     .help =
         "the samples are a raw log: csv, tsv, JSON lines, Vowpal Wabbit's text; what its columns are ('furrow rows "
         "schema'), or auto. The model keeps what it needs to read such logs",
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
     .help = "with --schema auto: the last N items of the user before the event are features (0: none)",
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
  return n < (int)sizeof path && access(path, F_OK) == 0;
}

static furrow_status set_encoder(furrow_learn_conf *conf, const char *directory, furrow_error *err) {
  furrow_status status = furrow_learn_conf_set(conf, "encoder", directory, err);
  return status == FURROW_OK ? furrow_learn_conf_set(conf, "format", "table", err) : status;
}

furrow_status raw_log_prepare(const raw_log_values *values, const char *log, const char *load, uint32_t threads,
                              furrow_on_bad on_bad, bool quiet, furrow_learn_conf *conf, furrow_error *err) {
  const bool goes_on = load && has_encoder(load);
  furrow_encoder *encoder = NULL;
  if (goes_on && values->schema)
    return fail_token(err, load, "--load goes on with the schema of its model: leave --schema out");
  if (goes_on) return set_encoder(conf, load, err);
  if (!values->schema) {
    const schema_values *c = &values->columns;
    if (!c->user && !c->item && !c->time && !c->tables.count && !c->history) return FURROW_OK;
    return fail(err, FURROW_E_ARGUMENT, "--user, --item, --time, --table and --user-history need --schema auto");
  }
  const encoder_reading reading = {.threads = threads, .on_bad = on_bad, .quiet = quiet, .comm = ranks_comm()};
  furrow_status status = make_encoder(&encoder, log, values->schema, &values->columns, &reading, err);
  if (status == FURROW_OK && !quiet && strcmp(values->schema, "auto") == 0) print_schema(encoder);
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, ENCODER_IN_MEMORY, true, err);
  if (status == FURROW_OK) status = set_encoder(conf, ENCODER_IN_MEMORY, err);
  furrow_encoder_free(encoder);
  return status;
}
