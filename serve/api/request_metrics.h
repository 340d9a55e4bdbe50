/* serve/api/request_metrics.h: counters and histograms, as Prometheus reads them. Counting is lock-free and costs
 * nanoseconds: each thread has its own cells. */
#ifndef SERVE_API_REQUEST_METRICS_H
#define SERVE_API_REQUEST_METRICS_H

#include "base/buffer.h"

/* The kind of a call. */
typedef enum route_kind {
#define ROUTE_KINDS(X)        \
  X(PREDICT, "predict")       \
  X(EXPLAIN, "explain")       \
  X(RECOMMEND, "recommend")   \
  X(SIMILAR, "similar")       \
  X(SUGGEST, "suggest")       \
  X(SEARCH, "search")         \
  X(ADD, "add")               \
  X(REMOVE, "remove")         \
  X(RELOAD, "reload")         \
  X(CHECKPOINT, "checkpoint") \
  X(CURVE, "curve")           \
  X(OTHER, "other")
#define ROUTE_X(name, text) ROUTE_##name,
  ROUTE_KINDS(ROUTE_X)
#undef ROUTE_X
      ROUTE_COUNT
} route_kind;

struct service;
typedef struct request_metrics request_metrics;

/* threads: of loops. targets: models and indexes together, in the service's order (models first); one more counts
 * requests without a target. NULL: out of memory. */
request_metrics *metrics_create(unsigned threads, size_t targets);
void metrics_free(request_metrics *m);
/* The name of a call: "predict" … */
const char *metrics_call(route_kind route);
/* Counts an answered request on `thread`, a loop thread that only its own loop counts on. now_ns: clock_ns(), passed in
 * because it may be a system call and the caller already has it. rows: instances, users or vectors that it had. */
void metrics_count(request_metrics *m, unsigned thread, route_kind route, size_t target, int status, uint64_t now_ns,
                   uint64_t duration_ns, size_t rows, size_t bytes_in, size_t bytes_out);
/* Writes everything in Prometheus's text format, the state of models, indexes, server and process included. */
void metrics_write(const struct service *of, fw_buffer *out);
/* Requests, errors (status 400 and above) and rows so far, and the median and 99th percentile of about the last minute,
 * of one call of a target; route ROUTE_COUNT: of all its calls. */
typedef struct metrics_summary {
  uint64_t requests, errors, rows;
  double p50_ms, p99_ms; /* NaN: no requests */
} metrics_summary;
void metrics_summarize(const request_metrics *m, route_kind route, size_t target, metrics_summary *summary);

#endif
