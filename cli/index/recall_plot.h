/* cli/index/recall_plot.h: a drawing of recall and speed. */
#ifndef CLI_INDEX_RECALL_PLOT_H
#define CLI_INDEX_RECALL_PLOT_H

#include "furrow/status.h"

enum { RECALL_POINTS = 64 };

/* One way to search: what it finds and what it takes. NaN: not known. */
typedef struct recall_point {
  uint64_t nprobe;    /* 0: an index without lists */
  double first_in[3]; /* queries whose nearest is among the first 1, 10, 100 results */
  double shared;      /* of the 10 nearest among the first 10 results */
  double p50, p99;    /* seconds of a single query */
  double qps;
} recall_point;

/* Writes an SVG file: recall to the right, queries per second upwards (logarithmic), a mark for each point. */
furrow_status recall_plot(const char *path, const char *title, const recall_point *points, size_t count,
                          furrow_error *err);

#endif
