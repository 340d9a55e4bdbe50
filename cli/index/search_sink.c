/* cli/index/search_sink.c: writes the results of a search: to the terminal, as JSON, or to files. */
#include "index/search_sink.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/fail.h"
#include "core/text_file.h"
#include "core/written.h"
#include "index/index_source.h"

const option result_options[] = {
    {.name = "out-ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the ids to a file: .ivecs .ibin (32-bit), .i64 .npy (64-bit)",
     .offset = offsetof(result_values, ids),
     .written = true},
    {.name = "out-dist",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the distances to a file: .fvecs .fbin .f32 .npy",
     .offset = offsetof(result_values, distances),
     .written = true},
    {.name = "out-starts",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "with --range: write where the results of each query begin and end: .i64 .npy",
     .offset = offsetof(result_values, starts),
     .written = true},
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the results as a table to a Parquet file: query, rank, id, name (if ids have names), distance",
     .offset = offsetof(result_values, table),
     .written = true},
    {.name = "numbers",
     .kind = OPTION_FLAG,
     .help = "print ids, even if they have names; files always have ids",
     .offset = offsetof(result_values, numbers)},
    FORCE_OPTION(offsetof(result_values, force)),
    JSON_OPTION(offsetof(result_values, json)),
    {0}};

bool result_to_files(const result_values *values) {
  return values->ids || values->distances || values->starts || values->table;
}

furrow_status result_check(const result_values *values, furrow_error *err) {
  const char *const paths[] = {values->ids, values->distances, values->starts, values->table};
  furrow_status status = FURROW_OK;
  if (values->table && !path_ends(values->table, ".parquet"))
    return fail_token(err, values->table, "the name of the table does not end in .parquet");
  for (size_t i = 0; status == FURROW_OK && i < sizeof paths / sizeof *paths; i++) {
    if (!paths[i]) continue;
    if (strcmp(paths[i], "-") == 0)
      return fail(err, FURROW_E_ARGUMENT, "results cannot be written to standard output; name a file");
    status = written_check_path(paths[i], values->force, err);
  }
  return status;
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status open_file(furrow_vectors_writer **file, const char *path, bool ids, size_t k, bool force,
                               furrow_error *err) {
  furrow_vectors_writer_params params;
  furrow_vectors_writer_params_init(&params);
  if (!path) return FURROW_OK;
  params.ids = ids;
  params.dim = k ? k : 1;
  params.flat = k == 0;
  params.overwrite = force;
  return furrow_vectors_writer_open(file, path, &params, err);
}

static furrow_status open_table(result_sink *sink, furrow_error *err) {
  furrow_table_column columns[5] = {
      {"query", FURROW_CELL_I64}, {"rank", FURROW_CELL_I64}, {"id", FURROW_CELL_I64}, {"distance", FURROW_CELL_F32}};
  furrow_table_writer_params params;
  furrow_table_writer_params_init(&params);
  params.overwrite = sink->values->force;
  if (!sink->values->table) return FURROW_OK;
  if (sink->names) {
    columns[4] = columns[3];
    columns[3] = (furrow_table_column){"name", FURROW_CELL_TEXT};
  }
  return furrow_table_writer_open(&sink->table, sink->values->table, columns, sink->names ? 5 : 4, &params, err);
}

furrow_status result_open(result_sink *sink, const result_values *values, size_t k, const furrow_id_names *names,
                          output *out, furrow_error *err) {
  int64_t zero = 0;
  *sink = (result_sink){.values = values, .out = out, .names = values->numbers ? NULL : names};
  furrow_status status = open_file(&sink->ids, values->ids, true, k, values->force, err);
  if (status == FURROW_OK) status = open_file(&sink->distances, values->distances, false, k, values->force, err);
  if (status == FURROW_OK) status = open_table(sink, err);
  if (status == FURROW_OK) status = open_file(&sink->starts, values->starts, true, 0, values->force, err);
  if (status == FURROW_OK && sink->starts) status = furrow_vectors_writer_write(sink->starts, &zero, 1, err);
  if (status != FURROW_OK || !values->json || result_to_files(values)) return status;
  report_start(&sink->report, out, true);
  report_list(&sink->report, "queries");
  sink->open = true;
  return FURROW_OK;
}

/* ---- Results -------------------------------------------------------------------------------------------- */

/* Fills up a row after the last result; given ids may be negative. */
static bool is_none(float distance, int64_t id) {
  return id == -1 && fabsf(distance) == FLT_MAX;
}

/* A name may have blanks and colons, but no tab: pairs are between tabs, and the last colon of each is the separator.
 */
static void print_names(result_sink *sink, uint64_t query, size_t n, const float *distances, const int64_t *ids) {
  output_format(sink->out, "%" PRIu64, query);
  for (size_t i = 0; i < n && !is_none(distances[i], ids[i]); i++) {
    size_t size = 0;
    const char *name = furrow_id_names_text(sink->names, ids[i], &size);
    output_text(sink->out, "\t");
    if (name)
      output_bytes(sink->out, name, size);
    else
      output_format(sink->out, "%" PRId64, ids[i]);
    output_text(sink->out, ":");
    output_upto(sink->out, put_f32(output_reserve(sink->out, NUMBER_TEXT), distances[i]));
  }
  output_text(sink->out, "\n");
}

static void print_query(result_sink *sink, uint64_t query, size_t n, const float *distances, const int64_t *ids) {
  output_format(sink->out, "%" PRIu64, query);
  for (size_t i = 0; i < n && !is_none(distances[i], ids[i]); i++) {
    char *at = output_reserve(sink->out, 2 * NUMBER_TEXT + 2);
    *at++ = ' ';
    at = put_i64(at, ids[i]);
    *at++ = ':';
    at = put_f32(at, distances[i]);
    output_upto(sink->out, at);
  }
  output_text(sink->out, "\n");
}

static void report_query(result_sink *sink, uint64_t query, size_t n, const float *distances, const int64_t *ids) {
  report *r = &sink->report;
  size_t found = 0;
  while (found < n && !is_none(distances[found], ids[found])) found++;
  report_section(r, NULL);
  report_u64(r, "query", query);
  report_list(r, "ids");
  for (size_t i = 0; i < found; i++) report_i64(r, NULL, ids[i]);
  report_end(r);
  if (sink->names) {
    report_list(r, "names");
    for (size_t i = 0; i < found; i++) index_names_report(r, NULL, sink->names, ids[i]);
    report_end(r);
  }
  report_list(r, "distances");
  for (size_t i = 0; i < found; i++) report_f64(r, NULL, (double)distances[i]);
  report_end(r);
  report_end(r);
}

static furrow_status show_query(result_sink *sink, uint64_t query, size_t n, const float *distances, const int64_t *ids,
                                furrow_error *err) {
  if (sink->values->json)
    report_query(sink, query, n, distances, ids);
  else if (sink->names)
    print_names(sink, query, n, distances, ids);
  else
    print_query(sink, query, n, distances, ids);
  return sink->out->errnum ? output_flush(sink->out, err) : FURROW_OK;
}

static furrow_status write_table(result_sink *sink, uint64_t query, size_t n, const float *distances,
                                 const int64_t *ids, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < n && !is_none(distances[i], ids[i]); i++) {
    size_t size = 0;
    const char *name = sink->names ? furrow_id_names_text(sink->names, ids[i], &size) : NULL;
    furrow_table_put_integer(sink->table, (int64_t)query);
    furrow_table_put_integer(sink->table, (int64_t)i + 1);
    furrow_table_put_integer(sink->table, ids[i]);
    if (name)
      furrow_table_put_text(sink->table, name, size);
    else if (sink->names)
      furrow_table_put_null(sink->table);
    furrow_table_put_real(sink->table, (double)distances[i]);
    status = furrow_table_writer_end_row(sink->table, err);
  }
  return status;
}

static furrow_status write_rows(result_sink *sink, size_t n, const float *distances, const int64_t *ids,
                                furrow_error *err) {
  furrow_status status = sink->ids ? furrow_vectors_writer_write(sink->ids, ids, n, err) : FURROW_OK;
  if (status == FURROW_OK && sink->distances) status = furrow_vectors_writer_write(sink->distances, distances, n, err);
  return status;
}

furrow_status result_put(result_sink *sink, uint64_t first, size_t n, size_t k, const float *distances,
                         const int64_t *ids, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && sink->table && i < n; i++)
    status = write_table(sink, first + i, k, distances + i * k, ids + i * k, err);
  if (status == FURROW_OK && result_to_files(sink->values)) return write_rows(sink, n, distances, ids, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++)
    status = show_query(sink, first + i, k, distances + i * k, ids + i * k, err);
  return status;
}

static furrow_status write_range(result_sink *sink, const furrow_range_result *range, furrow_error *err) {
  furrow_status status = write_rows(sink, (size_t)range->starts[range->n], range->distances, range->ids, err);
  for (size_t i = 1; status == FURROW_OK && sink->starts && i <= range->n; i++) {
    const int64_t start = (int64_t)(sink->total + range->starts[i]);
    status = furrow_vectors_writer_write(sink->starts, &start, 1, err);
  }
  return status;
}

furrow_status result_put_range(result_sink *sink, uint64_t first, const furrow_range_result *range, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && sink->table && i < range->n; i++) {
    const uint64_t at = range->starts[i];
    status =
        write_table(sink, first + i, (size_t)(range->starts[i + 1] - at), range->distances + at, range->ids + at, err);
  }
  if (status == FURROW_OK && result_to_files(sink->values)) status = write_range(sink, range, err);
  for (size_t i = 0; status == FURROW_OK && !result_to_files(sink->values) && i < range->n; i++) {
    const uint64_t at = range->starts[i];
    status =
        show_query(sink, first + i, (size_t)(range->starts[i + 1] - at), range->distances + at, range->ids + at, err);
  }
  sink->total += range->starts[range->n];
  return status;
}

/* ---- The end -------------------------------------------------------------------------------------------- */

furrow_status result_finish(result_sink *sink, furrow_error *err) {
  furrow_status status = sink->starts ? furrow_vectors_writer_commit(sink->starts, err) : FURROW_OK;
  if (status == FURROW_OK && sink->table) status = furrow_table_writer_commit(sink->table, err);
  if (status == FURROW_OK && sink->ids && sink->distances)
    status = furrow_vectors_writer_commit_pair(sink->ids, sink->distances, err);
  else if (status == FURROW_OK && (sink->ids || sink->distances))
    status = furrow_vectors_writer_commit(sink->ids ? sink->ids : sink->distances, err);
  if (!sink->open) return status;
  report_end(&sink->report);
  report_finish(&sink->report);
  return status;
}

void result_close(result_sink *sink) {
  furrow_table_writer_close(sink->table);
  furrow_vectors_writer_close(sink->ids);
  furrow_vectors_writer_close(sink->distances);
  furrow_vectors_writer_close(sink->starts);
}
