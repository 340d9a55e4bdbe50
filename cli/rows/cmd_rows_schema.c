/* cli/rows/cmd_rows_schema.c: furrow rows schema: proposes the kind and role of each column of a raw log, with
 * reasons. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/progress.h"
#include "core/ranks.h"
#include "core/shown_text.h"
#include "core/text_columns.h"
#include "core/text_file.h"
#include "rows/rows_source.h"
#include "rows/table_encoder.h"

typedef struct propose_values {
  text_list logs;
  schema_values columns;
  uint32_t threads;
  furrow_on_bad on_bad;
  const char *out;
  bool json, force, quiet;
} propose_values;

/* ---- Options -------------------------------------------------------------------------------------------- */

#define AT(field) offsetof(propose_values, field)
static const option schema_operands[] = {
    {.name = "LOG",
     .kind = OPTION_LIST,
     .help = "csv, tsv, JSON lines, Vowpal Wabbit's text or Parquet, with names and texts",
     .offset = AT(logs),
     .required = true,
     .from_query = true},
    {0}};

static const option column_options[] = {
    {.name = "label",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "column that a model predicts; '': none",
     .offset = AT(columns.label)},
    {.name = "weight",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "column of the rows' weights",
     .offset = AT(columns.weight)},
    {.name = "group",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "column of the query or session",
     .offset = AT(columns.group)},
    {.name = "user",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "who gets recommendations",
     .offset = AT(columns.user)},
    {.name = "item", .kind = OPTION_TEXT, .argument = "COL", .help = "what is recommended", .offset = AT(columns.item)},
    {.name = "time", .kind = OPTION_TEXT, .argument = "COL", .help = "when a row happened", .offset = AT(columns.time)},
    {.name = "table",
     .kind = OPTION_LIST,
     .argument = "FILE=KEY[:COL]",
     .help = "a table of users or items, joined by the column KEY of the log (called COL in the table); may be given "
             "several times",
     .offset = AT(columns.tables)},
    {.name = "user-history",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "the last N items of the user before the row become features (0)",
     .offset = AT(columns.history)},
    {.name = "amounts",
     .kind = OPTION_FLAG,
     .help = "integers with few values are numbers, as 'furrow train --model gbdt' takes them, not categories",
     .offset = AT(columns.amounts)},
    {.name = "bin-numbers",
     .kind = OPTION_FLAG,
     .help = "numbers whose effect on the label is not a straight line are in bins, as 'furrow train --model lr' takes "
             "them",
     .offset = AT(columns.bin_numbers)},
    {0}};

static const option output_options[] = {
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the schema to FILE",
     .offset = AT(out),
     .written = true},
    FORCE_OPTION(AT(force)),
    {.name = "json", .kind = OPTION_FLAG, .help = "print the schema itself, not a table", .offset = AT(json)},
    {0}};

static const option reading_options[] = {ON_BAD_OPTION(AT(on_bad)), {0}};

static const option_group schema_groups[] = {{.title = "Columns", .options = column_options},
                                             {.title = "Output", .options = output_options},
                                             {.title = "Reading", .options = reading_options},
                                             {.title = "Reading", .options = query_options},
                                             {.title = "Reading", .options = threads_options, .offset = AT(threads)},
                                             {.title = "Reading", .options = quiet_options, .offset = AT(quiet)},
                                             {0}};
#undef AT

/* ---- Command -------------------------------------------------------------------------------------------- */

static bool draw_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  progress *line = user;
  (void)phase;
  line->total = total;
  progress_update(line, done);
  return true;
}

static furrow_status propose(const propose_values *values, const char *uri, furrow_schema **schema,
                             furrow_parser_stats *stats, furrow_error *err) {
  furrow_schema_propose_params params;
  progress line;
  furrow_schema_propose_params_init(&params);
  furrow_parser_stats_init(stats);
  schema_params_set(&params, &values->columns);
  params.threads = values->threads;
  params.on_bad = values->on_bad;
  params.stats = stats;
  params.comm = ranks_comm();
  params.progress = draw_progress;
  params.progress_user = &line;
  progress_start(&line, !values->quiet, "reading", 0);
  const furrow_status status = furrow_schema_propose(schema, uri, &params, err);
  progress_stop(&line);
  return status;
}

static furrow_status print_table(const furrow_schema *schema, output *out, furrow_error *err) {
  table t;
  table_start(&t, "column|as|role|why");
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    table_cell(&t, "%s", column.name);
    table_cell(&t, "%s", column.as);
    table_cell(&t, "%s", column.role);
    table_cell(&t, "%s", column.why);
  }
  return table_finish(&t, 0xF, out, err);
}

static bool has_label(const furrow_schema *schema) {
  furrow_schema_column column;
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_get_column(schema, i, &column);
    if (strcmp(column.as, "label") == 0) return true;
  }
  return false;
}

static void note_no_label(const propose_values *values, const furrow_schema *schema) {
  if (!values->columns.label && !has_label(schema)) say("furrow: note: no label: --label COL names it\n");
}

static furrow_status show(const propose_values *values, const furrow_schema *schema, output *out, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = furrow_schema_text(schema, true, &text, &size, err);
  if (status == FURROW_OK && values->out) status = text_file_write(values->out, text, size, values->force, err);
  out->stored = status == FURROW_OK && values->out;
  if (status == FURROW_OK && values->json) output_bytes(out, text, size);
  if (status == FURROW_OK && !values->json) status = print_table(schema, out, err);
  furrow_free(text);
  return status;
}

static furrow_status schema_run(const void *given, output *out, furrow_error *err) {
  const propose_values *values = given;
  furrow_schema *schema = NULL;
  furrow_parser_stats stats;
  char *uri = NULL;
  source_values reading = {.part = {0, 1}};
  furrow_status status = values->out ? text_file_check(values->out, values->force, err) : FURROW_OK;
  if (status == FURROW_OK) status = join_logs(&uri, &values->logs, err);
  if (status == FURROW_OK) status = source_divide(&reading, uri, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = propose(values, uri, &schema, &stats, err);
  if (status == FURROW_OK && ranks_number() == 0) status = show(values, schema, out, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK && !values->quiet) {
    print_notes(&stats);
    say_unsure(schema, true);
    note_no_label(values, schema);
  }
  furrow_schema_free(schema);
  free(uri);
  return status;
}

const command rows_schema_command = {
    .name = "schema",
    .summary = "propose what each column of a raw log is, and say why",
    .example = "furrow rows schema ratings.csv --table movies.csv=movieId --out schema.json\n"
               "furrow rows schema clicks.jsonl --label clicked --user visitor",
    .about =
        "Looks at all rows, in memory that does not grow with them. Names of columns and their cells decide; "
        "--label, --user and their like say what the names do not. Edit the schema where you know better: "
        "docs/formats/schema.md. Under mpirun every rank reads a part; the proposal is the same as with one process.",
    .operands = schema_operands,
    .groups = schema_groups,
    .size = sizeof(propose_values),
    .run = schema_run,
    .on_all_ranks = true,
};
