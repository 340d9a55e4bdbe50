/* cli/rows/rows_sink.c: how the rows commands write rows, and the options for it. */
#include "rows/rows_sink.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/ranks.h"
#include "rows/rows_summary.h"

/* ---- Options -------------------------------------------------------------------------------------------- */

static furrow_status parse_delimiter(const char *text, void *field, furrow_error *err) {
  static const struct {
    const char *name;
    char byte;
  } names[] = {{"tab", '\t'}, {"\\t", '\t'}, {"space", ' '}, {"comma", ','}, {"semicolon", ';'}, {"pipe", '|'}};
  char *delimiter = field;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(text, names[i].name) != 0) continue;
    *delimiter = names[i].byte;
    return FURROW_OK;
  }
  if (!text[0] || text[1]) return fail_token(err, text, "--delimiter takes one character, or tab, space, pipe");
  *delimiter = text[0];
  return FURROW_OK;
}

#define AT(field) offsetof(sink_values, field)
const option sink_options[] = {
    {.name = "to",
     .kind = OPTION_ENUM,
     .choices = "libsvm|libfm|libffm|csv|cache",
     .help = "format to write",
     .offset = AT(to)},
    {.name = "columns",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "csv: number of feature columns; without it, a first pass over the rows counts them",
     .offset = AT(columns)},
    {.name = "header",
     .kind = OPTION_FLAG,
     .help = "csv: start with a line of column names (the default if the rows have names)",
     .offset = AT(header)},
    {.name = "delimiter",
     .kind = OPTION_PARSED,
     .argument = "C",
     .help = "csv: separator of cells: one character, or tab, space, pipe (,)",
     .offset = AT(delimiter),
     .parse = parse_delimiter},
    {.name = "zeros",
     .kind = OPTION_FLAG,
     .help = "csv: write 0 instead of an empty cell for a feature that a row does not have",
     .offset = AT(zeros)},
    {.name = "with-weight",
     .kind = OPTION_FLAG,
     .help = "csv: write a column of weights after the label (the first pass finds out whether there are any)",
     .offset = AT(with_weight)},
    {.name = "index-base",
     .kind = OPTION_ENUM,
     .choices = "0|1",
     .help = "libsvm, libfm: index of the first column (0)",
     .offset = AT(index_base)},
    {.name = "drop-fields",
     .kind = OPTION_FLAG,
     .help = "libsvm: write rows with fields without their fields",
     .offset = AT(drop_fields)},
    FORCE_OPTION(AT(force)),
    {0}};
#undef AT

void sink_values_init(sink_values *values) {
  *values = (sink_values){.to = SINK_FORMATS, .delimiter = ','};
}

/* ---- Formats -------------------------------------------------------------------------------------------- */

const char *sink_format_name(sink_format format) {
  static const char *const names[] = {"libsvm", "libfm", "libffm", "csv", "cache", "?"};
  return names[format];
}

const char *sink_format_ending(sink_format format) {
  static const char *const endings[] = {".libsvm", ".libfm", ".libffm", ".csv", ".cache", ""};
  return endings[format];
}

sink_format sink_format_named(const char *name) {
  sink_format format = SINK_LIBSVM;
  while (format < SINK_FORMATS && strcmp(name, sink_format_name(format)) != 0) format++;
  return format;
}

sink_format sink_format_of_path(const char *path) {
  static const struct {
    const char *ending;
    sink_format format;
  } endings[] = {{".libsvm", SINK_LIBSVM}, {".svm", SINK_LIBSVM},    {".txt", SINK_LIBSVM},
                 {".libfm", SINK_LIBFM},   {".libffm", SINK_LIBFFM}, {".ffm", SINK_LIBFFM},
                 {".csv", SINK_CSV},       {".cache", SINK_CACHE},   {".bin", SINK_CACHE}};
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
    if (strcmp(dot, endings[i].ending) == 0) return endings[i].format;
  return SINK_FORMATS;
}

/* Of csv, unless --columns says more: one large index would make a line of gigabytes of every row. */
#define MOST_COLUMNS UINT64_C(1000000)

/* ---- Writers -------------------------------------------------------------------------------------------- */

static furrow_status summarise(source *s, rows_summary *summary, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status;
  if (source_is_stdin(s->uri))
    return fail(err, FURROW_E_ARGUMENT,
                "csv needs --columns N when the rows come from standard input, which cannot be read twice");
  while ((status = source_next(s, &block, err)) == FURROW_OK) {
    summary_add(summary, block);
    if ((status = interrupt_check(err)) != FURROW_OK) return status;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* The first pass of csv. */
static furrow_status find_columns(source *s, furrow_rows_writer_params *params, furrow_error *err) {
  rows_summary summary;
  summary_init(&summary, s->values->value);
  furrow_status status = summarise(s, &summary, err);
  if (s->values->divided) status = ranks_all_ok(status, err);
  if (status == FURROW_OK && s->values->divided) status = summary_join(&summary, err);
  if (status != FURROW_OK) return status;
  params->columns = summary_columns(&summary);
  if (params->columns > MOST_COLUMNS)
    return fail(err, FURROW_E_RANGE, "csv would have %" PRIu64 " columns in every row, but a row has %.3g features",
                params->columns, summary.rows ? (double)summary.features / (double)summary.rows : 0),
           add_hint(err, "--columns %" PRIu64 " writes them nevertheless", params->columns);
  params->with_weight = params->with_weight || summary.weight.count > 0;
  return source_before_first(s, err);
}

furrow_status sink_params(const sink_values *values, sink_format format, source *s, furrow_rows_writer_params *params,
                          furrow_error *err) {
  furrow_rows_writer_params_init(params);
  params->format = sink_format_name(format);
  params->key_type = s->values->index;
  params->value_type = s->values->value;
  params->columns = values->columns;
  params->delimiter = values->delimiter;
  params->header = values->header || (s->parser && furrow_parser_column_count(s->parser) > 0);
  params->overwrite = values->force;
  params->drop_fields = values->drop_fields;
  params->comm = s->values->divided && !values->per_rank ? ranks_comm() : NULL;
  params->zeros_missing = !values->zeros;
  params->with_weight = values->with_weight;
  params->index_base = (uint32_t)values->index_base;
  if (format != SINK_CSV) return FURROW_OK;
  furrow_status status = values->columns == 0 ? find_columns(s, params, err) : FURROW_OK;
  if (status == FURROW_OK && params->header) status = source_column_names(s, params->columns, &params->names, err);
  return status;
}

furrow_status sink_check_stdout(furrow_error *err) {
  if (ranks_count() == 1) return FURROW_OK;
  fail(err, FURROW_E_ARGUMENT, "%u ranks cannot write to standard output together", ranks_count());
  return add_hint(err, "name a file in a directory that all ranks see");
}

static furrow_status write_rows(source *s, furrow_rows_writer *writer, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status;
  while ((status = source_next(s, &block, err)) == FURROW_OK) {
    if ((status = furrow_rows_writer_write_block(writer, block, err)) != FURROW_OK) return status;
    if ((status = interrupt_check(err)) != FURROW_OK) return status;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status sink_copy_rows(source *s, furrow_rows_writer *writer, furrow_status status, furrow_error *err) {
  if (status == FURROW_OK) status = write_rows(s, writer, err);
  return s->values->divided ? ranks_all_ok(status, err) : status;
}

furrow_status sink_rank_path(const char *path, char **own, furrow_error *err) {
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  const char *dot = strrchr(name, '.');
  const int length = dot && dot > name ? (int)(dot - path) : (int)strlen(path);
  if (asprintf(own, "%.*s-%05u-of-%05u%s", length, path, ranks_number(), ranks_count(), path + length) >= 0)
    return FURROW_OK;
  *own = NULL;
  return fail_memory(err);
}
