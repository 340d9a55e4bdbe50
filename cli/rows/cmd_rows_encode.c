/* cli/rows/cmd_rows_encode.c: furrow rows encode: a raw log into rows of features. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/ranks.h"
#include "core/report.h"
#include "core/text_file.h"
#include "core/written.h"
#include "rows/rows_sink.h"
#include "rows/rows_source.h"
#include "rows/table_encoder.h"

typedef struct encode_values {
  text_list logs;
  const char *schema, *label, *out, *dictionary;
  sink_values sink;
  uint32_t threads;
  furrow_on_bad on_bad;
  bool json, quiet;
} encode_values;

#define AT(field) offsetof(encode_values, field)
static const option encode_operands[] = {
    {.name = "LOG",
     .kind = OPTION_LIST,
     .help = "csv, tsv, JSON lines, Vowpal Wabbit's text (plain or compressed), Parquet",
     .offset = AT(logs),
     .required = true,
     .from_query = true},
    {0}};

static const option encode_options[] = {
    {.name = "schema",
     .kind = OPTION_TEXT,
     .argument = "FILE|auto",
     .help = "what each column is ('furrow rows schema' proposes it); auto: as proposed",
     .offset = AT(schema)},
    {.name = "label",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "with --schema auto: the column that a model predicts; '': none",
     .offset = AT(label)},
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "ROWS",
     .help = "the file to write, or - for standard output",
     .offset = AT(out),
     .required = true},
    {.name = "dictionary",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help =
         "directory of schema and dictionary: written with --schema, read without it (a model directory works, too)",
     .offset = AT(dictionary)},
    {.name = "per-rank",
     .kind = OPTION_FLAG,
     .help = "under mpirun, every rank writes a file of its own: ROWS with -00000-of-00004 before its ending",
     .offset = AT(sink.per_rank)},
    ON_BAD_OPTION(AT(on_bad)),
    THREADS_OPTION(AT(threads), "; the rows are the same"),
    JSON_OPTION(AT(json)),
    QUIET_OPTION(AT(quiet)),
    {0}};
#undef AT

static const option_group encode_groups[] = {
    {.title = "Encoding", .options = encode_options},
    {.title = "Encoding", .options = query_options},
    {.title = "Writing", .options = sink_options, .offset = offsetof(encode_values, sink)},
    {0}};

static void encode_init(void *values) {
  encode_values *encode = values;
  sink_values_init(&encode->sink);
}

/* ---- The encoder ---- */

static furrow_status get_encoder(const encode_values *encode, const char *log, furrow_encoder **encoder,
                                 furrow_error *err) {
  const schema_values columns = {.label = encode->label};
  if (!encode->schema && !encode->dictionary)
    return fail(err, FURROW_E_ARGUMENT, "--schema FILE, --schema auto or --dictionary DIR must be given");
  if (!encode->schema && encode->label)
    return fail_token(err, encode->label, "--label is for --schema auto; the dictionary's schema names the label");
  if (!encode->schema) return furrow_encoder_load(encoder, encode->dictionary, err);
  const encoder_reading reading = {
      .threads = encode->threads, .on_bad = encode->on_bad, .quiet = encode->quiet, .comm = ranks_comm()};
  return make_encoder(encoder, log, encode->schema, &columns, &reading, err);
}

static furrow_status check_dictionary(const encode_values *encode, furrow_error *err) {
  static const char *const names[] = {"dictionary.furrow", "schema.json"};
  if (!encode->schema || !encode->dictionary) return FURROW_OK;
  char model[4096];
  snprintf(model, sizeof model, "%s/furrow.json", encode->dictionary);
  if (path_is_there(model))
    return fail_token(err, encode->dictionary, "--dictionary names a model, whose dictionary must not be replaced");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", encode->dictionary, names[i]);
    const furrow_status status = written_check_path(path, encode->sink.force, err);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

/* ---- Writing ---- */

static bool to_stdout(const encode_values *encode) {
  return strcmp(encode->out, "-") == 0;
}

/* Whether the name of a file only says that it is text. */
static bool is_plain_text(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && strcmp(dot, ".txt") == 0;
}

/* Rows of a log have fields. */
static furrow_status choose_format(const encode_values *encode, sink_format *format, furrow_error *err) {
  *format = encode->sink.to;
  if (*format == SINK_FORMATS) *format = sink_format_of_path(encode->out);
  if (*format == SINK_FORMATS || (encode->sink.to == SINK_FORMATS && is_plain_text(encode->out))) *format = SINK_LIBFFM;
  if (*format == SINK_CSV)
    return fail(err, FURROW_E_ARGUMENT, "encoded rows are sparse: write libffm, libsvm or cache");
  if (to_stdout(encode) && *format == SINK_CACHE)
    return fail(err, FURROW_E_ARGUMENT, "a row cache cannot be written to standard output");
  if (to_stdout(encode) && encode->json)
    return fail(err, FURROW_E_ARGUMENT, "--json cannot be used when the rows are written to standard output");
  return to_stdout(encode) ? sink_check_stdout(err) : written_check_path(encode->out, encode->sink.force, err);
}

/* A new dictionary is kept only when all rows have been written, so that a log that cannot be read leaves none. Rows in
 * a file belong to it, so the two are replaced together. */
static furrow_status commit_rows(const encode_values *encode, const furrow_encoder *encoder, furrow_rows_writer *writer,
                                 furrow_status status, furrow_error *err) {
  const bool kept = encode->schema && encode->dictionary && (!encode->sink.per_rank || ranks_number() == 0);
  const char *directory = encode->dictionary;
  const bool force = encode->sink.force;
  if (status == FURROW_OK)
    status = kept ? furrow_rows_writer_commit_with_encoder(writer, encoder, directory, force, err)
                  : furrow_rows_writer_commit(writer, err);
  if (status == FURROW_E_IO && to_stdout(encode) && output_reader_is_gone()) /* the reader has enough rows */
    status = kept ? furrow_encoder_save(encoder, directory, force, err) : FURROW_OK;
  return ranks_all_ok(status, err);
}

static furrow_status write_rows(const encode_values *encode, const furrow_encoder *encoder, source *s,
                                sink_format format, furrow_error *err) {
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params;
  sink_values sink = encode->sink;
  sink.drop_fields = format == SINK_LIBSVM;
  furrow_status status = sink_params(&sink, format, s, &params, err);
  if (status == FURROW_OK) status = furrow_rows_writer_open(&writer, encode->out, &params, err);
  status = sink_copy_rows(s, writer, status, err);
  status = commit_rows(encode, encoder, writer, status, err);
  furrow_rows_writer_close(writer);
  return status;
}

static void print_report(const encode_values *encode, const furrow_encoder *encoder, sink_format format,
                         const furrow_parser_stats *stats, output *out) {
  report r;
  report_start(&r, out, encode->json);
  report_written(&r, encode->out);
  report_text(&r, "to", sink_format_name(format));
  report_u64(&r, "rows", stats->rows);
  report_u64(&r, "features of all rows", stats->features);
  report_u64(&r, "fields", furrow_encoder_field_count(encoder));
  report_u64(&r, "indices", furrow_encoder_feature_count(encoder));
  if (encode->dictionary) report_text(&r, "dictionary", encode->dictionary);
  if (encode->json || stats->bad_rows) report_u64(&r, "bad rows", stats->bad_rows);
  report_finish(&r);
}

static furrow_status encode_log(const encode_values *encode, const char *log, sink_format format, output *out,
                                furrow_error *err) {
  furrow_encoder *encoder = NULL;
  char *uri = NULL;
  source s = {0};
  furrow_parser_stats stats;
  source_values reading;
  source_values_init(&reading);
  reading.threads = encode->threads;
  reading.on_bad = encode->on_bad;
  reading.quiet = encode->quiet;
  reading.index = FURROW_KEY_U64;
  furrow_status status = ranks_all_ok(source_divide(&reading, log, err), err);
  if (status == FURROW_OK) status = get_encoder(encode, log, &encoder, err);
  if (status == FURROW_OK && furrow_encoder_feature_count(encoder) <= UINT32_MAX) reading.index = FURROW_KEY_U32;
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, ENCODER_IN_MEMORY, true, err);
  if (status == FURROW_OK) status = furrow_encoder_uri(log, ENCODER_IN_MEMORY, &uri, err);
  if (status == FURROW_OK) status = source_open(&s, uri, &reading, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK) status = write_rows(encode, encoder, &s, format, err);
  if (status == FURROW_OK) status = source_join_stats(&s, &stats, err);
  if (status == FURROW_OK && !to_stdout(encode) && ranks_number() == 0)
    print_report(encode, encoder, format, &stats, out);
  if (status == FURROW_OK) source_print_notes(&s, &stats);
  source_close(&s);
  furrow_free(uri);
  furrow_encoder_free(encoder);
  return status;
}

static furrow_status encode_run(const void *values, output *out, furrow_error *err) {
  encode_values given = *(const encode_values *)values;
  const encode_values *encode = &given;
  sink_format format = SINK_FORMATS;
  char *log = NULL, *own = NULL;
  furrow_status status = FURROW_OK;
  if (given.sink.per_rank && !to_stdout(encode)) status = sink_rank_path(given.out, &own, err);
  if (own) given.out = own;
  if (status == FURROW_OK) status = choose_format(encode, &format, err);
  if (status == FURROW_OK) status = check_dictionary(encode, err);
  for (size_t i = 0; i < encode->logs.count && status == FURROW_OK; i++)
    status = written_check_apart(encode->out, encode->logs.texts[i], err);
  if (status == FURROW_OK) status = join_logs(&log, &encode->logs, err);
  status = ranks_all_ok(status, err);
  if (status == FURROW_OK && !to_stdout(encode)) interrupt_catch();
  if (status == FURROW_OK) status = encode_log(encode, log, format, out, err);
  free(log);
  free(own);
  return status;
}

const command rows_encode_command = {
    .name = "encode",
    .summary = "turn a raw log into rows of features",
    .example = "furrow rows schema ratings.csv --out schema.json\n"
               "furrow rows encode ratings.csv --schema schema.json --out ratings.ffm --dictionary names\n"
               "furrow rows encode new.csv --dictionary names --out new.ffm",
    .about =
        "Every column of the schema that is a feature becomes a field. The dictionary says which index is which "
        "column and value; it is learned in a first pass over the log, unless all categories are hashed. Rows are "
        "written as libffm unless --to or the name of the file says otherwise. Under mpirun every rank learns from a "
        "part of the log and encodes it; the rows and the dictionary are the same as with one process.",
    .operands = encode_operands,
    .groups = encode_groups,
    .size = sizeof(encode_values),
    .init = encode_init,
    .run = encode_run,
    .on_all_ranks = true,
};
