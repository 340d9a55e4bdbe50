/* cli/index/search_sink.h: where the results of a search go: to the terminal, as JSON, or to files. */
#ifndef CLI_INDEX_SEARCH_SINK_H
#define CLI_INDEX_SEARCH_SINK_H

#include "core/options.h"
#include "core/report.h"
#include "furrow/vector_data.h"

/* What the options of result_options fill. */
typedef struct result_values {
  const char *ids, *distances, *starts; /* files; NULL: not given */
  bool force, json;
} result_values;

extern const option result_options[];

bool result_to_files(const result_values *values);
/* E_EXISTS where there is a file that is not to be replaced. */
furrow_status result_check(const result_values *values, furrow_error *err);

typedef struct result_sink {
  const result_values *values;
  output *out;
  report report; /* of JSON */
  furrow_vectors_writer *ids, *distances, *starts;
  uint64_t total; /* results so far, by range */
  bool open;
} result_sink;

/* k 0: by range. */
furrow_status result_open(result_sink *sink, const result_values *values, size_t k, output *out, furrow_error *err);
/* n queries, the first of which has the number `first`. */
furrow_status result_put(result_sink *sink, uint64_t first, size_t n, size_t k, const float *distances,
                         const int64_t *ids, furrow_error *err);
furrow_status result_put_range(result_sink *sink, uint64_t first, const furrow_range_result *range, furrow_error *err);
/* Files appear. */
furrow_status result_finish(result_sink *sink, furrow_error *err);
void result_close(result_sink *sink);

#endif
