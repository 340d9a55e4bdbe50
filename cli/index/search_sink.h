/* cli/index/search_sink.h: writes the results of a search: to the terminal, as JSON, or to files. */
#ifndef CLI_INDEX_SEARCH_SINK_H
#define CLI_INDEX_SEARCH_SINK_H

#include "core/options.h"
#include "core/report.h"
#include "furrow/table.h"
#include "furrow/vector_data.h"

/* What the options of result_options fill. */
typedef struct result_values {
  const char *ids, *distances, *starts, *table; /* files; NULL: not given */
  bool force, json, numbers;
} result_values;

extern const option result_options[];

bool result_to_files(const result_values *values);
/* E_EXISTS: a file exists and must not be replaced. */
furrow_status result_check(const result_values *values, furrow_error *err);

typedef struct result_sink {
  const result_values *values;
  output *out;
  report report; /* report in the form of JSON */
  furrow_vectors_writer *ids, *distances, *starts;
  furrow_table_writer *table;
  const furrow_id_names *names; /* NULL: ids are printed */
  uint64_t total;               /* results so far, with --range */
  bool open;
} result_sink;

/* k 0: a search with --range. names: of the ids; NULL: none. */
furrow_status result_open(result_sink *sink, const result_values *values, size_t k, const furrow_id_names *names,
                          output *out, furrow_error *err);
/* Writes the results of n queries, from query number `first` on. */
furrow_status result_put(result_sink *sink, uint64_t first, size_t n, size_t k, const float *distances,
                         const int64_t *ids, furrow_error *err);
furrow_status result_put_range(result_sink *sink, uint64_t first, const furrow_range_result *range, furrow_error *err);
/* Commits the files. */
furrow_status result_finish(result_sink *sink, furrow_error *err);
void result_close(result_sink *sink);

#endif
