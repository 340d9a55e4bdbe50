/* cli/rows/table_encoder.c: an encoder for a log. */
#include "rows/table_encoder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/ranks.h"
#include "core/shown_text.h"
#include "rows/rows_source.h"

enum { NOTES_SHOWN = 5 }; /* of columns that a proposal is unsure of, where the schema itself is not shown */

void say_unsure(const furrow_schema *schema, bool all) {
  size_t found = 0;
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    const char *unsure = furrow_schema_unsure(schema, i);
    furrow_schema_get_column(schema, i, &column);
    if (unsure[0] && (found++ < NOTES_SHOWN || all)) say("furrow: note: column %s: unsure: %s\n", column.name, unsure);
  }
  if (found > NOTES_SHOWN && !all)
    say("furrow: note: %zu more columns: unsure (furrow rows schema says of what)\n", found - NOTES_SHOWN);
}

furrow_status join_logs(char **uri, const text_list *logs, furrow_error *err) {
  size_t size = 1;
  for (size_t i = 0; i < logs->count; i++) size += strlen(logs->texts[i]) + 1;
  char *text = malloc(size);
  if (!text) return fail(err, FURROW_E_MEMORY, "out of memory");
  text[0] = 0;
  for (size_t i = 0; i < logs->count; i++) {
    if (i > 0 && strpbrk(logs->texts[i - 1], "?#")) {
      free(text);
      return fail_token(err, logs->texts[i - 1], "arguments of a URI must follow the last log");
    }
    if (i > 0) strcat(text, ";");
    strcat(text, logs->texts[i]);
  }
  *uri = text;
  return FURROW_OK;
}

/* The folder of a path; to be freed. */
static char *folder_of(const char *path) {
  const char *slash = memchr(path, '?', strlen(path)) ? NULL : strrchr(path, '/');
  return slash ? strndup(path, (size_t)(slash - path)) : NULL;
}

void schema_params_set(furrow_schema_propose_params *params, const schema_values *columns) {
  params->label = columns->label;
  params->weight = columns->weight;
  params->group = columns->group;
  params->user = columns->user;
  params->item = columns->item;
  params->time = columns->time;
  params->tables = columns->tables.texts;
  params->table_count = columns->tables.count;
  params->history = columns->history;
  params->amounts = columns->amounts;
  params->bin_numbers = columns->bin_numbers;
}

static furrow_schema_propose_params params_of(const schema_values *columns, const encoder_reading *reading) {
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  schema_params_set(&params, columns);
  params.threads = reading->threads;
  params.on_bad = reading->on_bad;
  params.comm = reading->comm;
  params.strict = true;
  return params;
}

furrow_status propose_bins(furrow_schema **schema, const char *log, const schema_values *columns,
                           const encoder_reading *reading, furrow_error *err) {
  const furrow_schema_propose_params params = params_of(columns, reading);
  return furrow_schema_propose_bins(schema, log, &params, err);
}

/* Options about columns are for proposed schemas: a schema file already describes the columns. */
static furrow_status check_columns(const schema_values *columns, furrow_error *err) {
  const char *const given[] = {columns->label, columns->weight, columns->group,
                               columns->user,  columns->item,   columns->time};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (given[i])
      return fail_token(err, given[i], "columns are named for --schema auto; the schema file says what they are");
  if (columns->tables.count > 0 || columns->history > 0)
    return fail(err, FURROW_E_ARGUMENT,
                "--table and --user-history are for --schema auto; the schema file has \"tables\" and \"history\"");
  return FURROW_OK;
}

/* Refuses standard input: proposing and learning each read the log, so the second reader would find nothing. */
static furrow_status check_repeats(const char *log, furrow_error *err) {
  const size_t length = strcspn(log, "?#");
  if (length != 1 || log[0] != '-') return FURROW_OK;
  return fail(err, FURROW_E_ARGUMENT,
              "standard input is read once, but --schema auto looks at the log first: save it to a file, or give a "
              "schema file");
}

static void warn_of_left_out(uint64_t names, uint64_t most) {
  if (names > 0)
    say("furrow: warning: --max-features %" PRIu64 " left out %" PRIu64 " names, the rarest: they count as unknown\n",
        most, names);
}

static void warn_of_lacking(const char *what, uint64_t count) {
  if (count > 0)
    say("furrow: warning: the table of %s has no row for %" PRIu64 " of the log's %s\n", what, count, what);
}

furrow_status make_encoder(furrow_encoder **encoder, const char *log, const char *schema, const schema_values *columns,
                           const encoder_reading *reading, furrow_error *err) {
  furrow_schema *made = NULL;
  furrow_encoder_params params;
  furrow_parser_stats tables;
  uint64_t items_lacking = 0, users_lacking = 0, left_out = 0;
  const bool automatic = strcmp(schema, "auto") == 0;
  const furrow_schema_propose_params propose = params_of(columns, reading);
  const furrow_schema *used = columns->proposed;
  char *folder = folder_of(automatic ? log : schema);
  furrow_status status = automatic ? check_repeats(log, err) : check_columns(columns, err);
  if (status == FURROW_OK && !used)
    status = automatic ? furrow_schema_propose(&made, log, &propose, err) : furrow_schema_load(&made, schema, err);
  if (!used) used = made;
  if (reading->comm) status = ranks_all_ok(status, err);
  furrow_encoder_params_init(&params);
  params.folder = folder;
  params.threads = reading->threads;
  params.on_bad = reading->on_bad;
  params.comm = reading->comm;
  params.stats = &tables;
  params.table_items = reading->table_items;
  params.items_without_row = &items_lacking;
  params.users_without_row = &users_lacking;
  params.max_features = reading->max_features;
  params.names_left_out = &left_out;
  furrow_parser_stats_init(&tables);
  if (status == FURROW_OK) status = furrow_encoder_build(encoder, log, used, &params, err);
  if (status == FURROW_OK && !reading->quiet) {
    if (automatic) say_unsure(used, false);
    print_notes(&tables);
  }
  if (status == FURROW_OK && !reading->quiet) {
    warn_of_lacking("items", items_lacking);
    warn_of_lacking("users", users_lacking);
    warn_of_left_out(left_out, reading->max_features);
  }
  furrow_schema_free(made);
  free(folder);
  return status;
}

/* "furrow: note: 320 names are new: 300 userId, 20 movieId" */
static void say_growth(const furrow_encoder *grown, const furrow_encoder *before, const furrow_encoder_growth *growth,
                       uint64_t left_out) {
  if (growth->names == 0) {
    say("furrow: note: %s\n", left_out > 0 ? "no new names of the log were added to the model"
                                           : "the log has no names that are new to the model");
  } else {
    say("furrow: note: the log has %" PRIu64 " new names:", growth->names);
    for (size_t i = 0, said = 0; i < furrow_encoder_field_count(grown); i++) {
      furrow_encoder_field now, then;
      furrow_encoder_get_field(grown, i, &now);
      furrow_encoder_get_field(before, i, &then);
      if (now.entries > then.entries) say("%s %" PRIu64 " %s", said++ ? "," : "", now.entries - then.entries, now.name);
    }
    say("; the model has %" PRIu64 " features now\n", furrow_encoder_feature_count(grown));
  }
  if (growth->tables_kept > 0)
    say("furrow: warning: %" PRIu64 " tables of the schema were not found: new names have no columns of them\n",
        growth->tables_kept);
  if (growth->columns[0])
    say("furrow: warning: the log has columns that the model does not use: %s; a model trained without --load can\n",
        growth->columns);
}

furrow_status grow_encoder(furrow_encoder **encoder, const char *log, const encoder_reading *reading,
                           furrow_error *err) {
  furrow_encoder *grown = NULL;
  furrow_encoder_params params;
  furrow_encoder_growth growth;
  furrow_parser_stats tables;
  uint64_t left_out = 0;
  char *folder = folder_of(log);
  furrow_encoder_params_init(&params);
  furrow_encoder_growth_init(&growth);
  furrow_parser_stats_init(&tables);
  params.folder = folder;
  params.threads = reading->threads;
  params.on_bad = reading->on_bad;
  params.comm = reading->comm;
  params.stats = &tables;
  params.max_features = reading->max_features;
  params.names_left_out = &left_out;
  furrow_status status = furrow_encoder_grow(&grown, *encoder, log, &params, &growth, err);
  if (status == FURROW_OK && !reading->quiet) {
    say_growth(grown, *encoder, &growth, left_out);
    print_notes(&tables);
    warn_of_left_out(left_out, reading->max_features);
  }
  if (status == FURROW_OK) furrow_encoder_free(*encoder);
  if (status == FURROW_OK) *encoder = grown;
  free(folder);
  return status;
}
