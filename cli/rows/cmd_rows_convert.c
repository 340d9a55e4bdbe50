/* cli/rows/cmd_rows_convert.c: furrow rows convert: the same rows in another format. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/ranks.h"
#include "core/report.h"
#include "core/shown_text.h"
#include "core/written.h"
#include "rows/rows_sink.h"
#include "rows/rows_source.h"

typedef struct convert_values {
  source_values source;
  sink_values sink;
  const char *uri, *destination;
  bool json;
} convert_values;

static const option convert_operands[] = {{.name = "URI",
                                           .kind = OPTION_TEXT,
                                           .help = "the rows to read",
                                           .offset = offsetof(convert_values, uri),
                                           .required = true},
                                          {.name = "DST",
                                           .kind = OPTION_TEXT,
                                           .help = "the file to write, or - for standard output",
                                           .offset = offsetof(convert_values, destination),
                                           .required = true},
                                          {0}};

static const option convert_options[] = {
    {.name = "per-rank",
     .kind = OPTION_FLAG,
     .help = "under mpirun, every rank writes a file of its own: DST with -00000-of-00004 before its ending",
     .offset = offsetof(convert_values, sink.per_rank)},
    JSON_OPTION(offsetof(convert_values, json)),
    {0}};

static const option_group convert_groups[] = {
    {.title = "Writing", .options = sink_options, .offset = offsetof(convert_values, sink)},
    {.title = "Reading", .options = source_options, .offset = offsetof(convert_values, source)},
    {.title = "Reading", .options = plugin_options},
    {.title = "Options", .options = convert_options},
    {0}};

static void convert_init(void *values) {
  convert_values *convert = values;
  source_values_init(&convert->source);
  sink_values_init(&convert->sink);
}

static bool to_stdout(const convert_values *convert) {
  return strcmp(convert->destination, "-") == 0;
}

static furrow_status choose_format(const convert_values *convert, sink_format *format, furrow_error *err) {
  *format = convert->sink.to;
  if (*format == SINK_FORMATS) *format = sink_format_of_path(convert->destination);
  if (*format == SINK_FORMATS)
    return fail_token(err, convert->destination, "the name does not show the format to write"),
           add_hint(err, "name it with --to");
  if (to_stdout(convert) && *format == SINK_CACHE)
    return fail(err, FURROW_E_ARGUMENT, "a row cache cannot be written to standard output");
  if (to_stdout(convert) && convert->json)
    return fail(err, FURROW_E_ARGUMENT, "--json cannot be used when the rows are written to standard output");
  if (to_stdout(convert) && convert->sink.per_rank)
    return fail(err, FURROW_E_ARGUMENT, "--per-rank writes files, not standard output");
  return to_stdout(convert) ? sink_check_stdout(err)
                            : written_check_path(convert->destination, convert->sink.force, err);
}

static furrow_status convert_source(source *s, const convert_values *convert, sink_format format,
                                    furrow_rows_writer_params *params, furrow_error *err) {
  furrow_rows_writer *writer = NULL;
  furrow_status status = sink_params(&convert->sink, format, s, params, err);
  if (status == FURROW_OK) status = furrow_rows_writer_open(&writer, convert->destination, params, err);
  status = sink_copy_rows(s, writer, status, err);
  if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, err);
  furrow_rows_writer_close(writer);
  /* a closed pipe is not a failure here, which the library cannot know */
  if (status == FURROW_E_IO && to_stdout(convert) && output_reader_is_gone()) status = FURROW_END;
  return status;
}

static void convert_report(const convert_values *convert, const source *s, const furrow_rows_writer_params *params,
                           const furrow_parser_stats *stats, output *out) {
  report r;
  report_start(&r, out, convert->json);
  report_written(&r, convert->destination);
  report_text(&r, "from", source_format(s));
  report_text(&r, "to", params->format);
  report_u64(&r, "rows", stats->rows);
  report_u64(&r, "features", stats->features);
  if (strcmp(params->format, "csv") == 0) report_u64(&r, "columns", params->columns);
  if (convert->json || stats->bad_rows) report_u64(&r, "bad rows", stats->bad_rows);
  report_finish(&r);
}

/* Lines that all begin with label:weight may look as if they began with a feature, which a reader refuses to guess. */
static void note_doubt(const convert_values *convert, const char *format) {
  furrow_parser_params params;
  furrow_parser *parser = NULL;
  furrow_error err;
  furrow_parser_params_init(&params);
  params.format = format;
  params.threads = 1;
  const furrow_status status = furrow_parser_open(&parser, convert->destination, &params, &err);
  furrow_parser_close(parser);
  if (status == FURROW_E_FORMAT && strstr(err.hint, "has_label=yes"))
    say("furrow: note: read the rows as '%s?has_label=yes': label:weight looks like a feature here\n",
        convert->destination);
}

static furrow_status convert_all(const convert_values *convert, output *out, furrow_error *err) {
  sink_format format;
  furrow_rows_writer_params params;
  furrow_parser_stats stats;
  source s = {0};
  furrow_status status = choose_format(convert, &format, err);
  if (status == FURROW_OK && !to_stdout(convert)) interrupt_catch();
  if (status == FURROW_OK) status = source_open(&s, convert->uri, &convert->source, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = convert_source(&s, convert, format, &params, err);
  if (status == FURROW_OK) status = source_join_stats(&s, &stats, err);
  if (status == FURROW_OK && !to_stdout(convert) && ranks_number() == 0)
    convert_report(convert, &s, &params, &stats, out);
  if (status == FURROW_OK) source_print_notes(&s, &stats);
  if (status == FURROW_OK && !convert->source.quiet && !to_stdout(convert) && ranks_number() == 0 &&
      (format == SINK_LIBSVM || format == SINK_LIBFM))
    note_doubt(convert, params.format);
  source_close(&s);
  return status;
}

static furrow_status convert_run(const void *values, output *out, furrow_error *err) {
  convert_values convert = *(const convert_values *)values;
  char *own = NULL;
  furrow_status status = source_divide(&convert.source, convert.uri, err);
  if (status == FURROW_OK && convert.sink.per_rank && !to_stdout(&convert))
    status = sink_rank_path(convert.destination, &own, err);
  if (own) convert.destination = own;
  if ((status = ranks_all_ok(status, err)) == FURROW_OK) status = convert_all(&convert, out, err);
  free(own);
  return status;
}

const command rows_convert_command = {
    .name = "convert",
    .summary = "write the same rows in another format",
    .example = "furrow rows convert train.libsvm train.csv --header\n"
               "furrow rows convert 'clicks.csv?label_column=0' clicks.ffm --to libffm\n"
               "furrow rows convert 'part-*.gz' - --to libsvm | head",
    .about = "The format comes from --to, or else from the ending of DST: .libsvm .svm .txt, .libfm, .libffm .ffm, "
             ".csv, .cache .bin. In a file .rec, every line is a record of RecordIO (with --to). DST appears only when "
             "it is complete. Numbers that are read back have the same bits. "
             "Under mpirun every rank converts a part, and DST has the bytes that one process would write.",
    .operands = convert_operands,
    .groups = convert_groups,
    .size = sizeof(convert_values),
    .init = convert_init,
    .run = convert_run,
    .on_all_ranks = true,
};
