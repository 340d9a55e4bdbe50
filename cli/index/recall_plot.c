/* cli/index/recall_plot.c: a drawing of recall and speed, as SVG. */
#include "index/recall_plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw/chart.h"

/* What is shown of a point: the share of the 10 nearest, or of the nearest alone where k is small. */
static double recall_of(const recall_point *p) {
  return isnan(p->shared) ? p->first_in[0] : p->shared;
}

static int by_recall(const void *a, const void *b) {
  const double x = recall_of(a), y = recall_of(b);
  const uint64_t p = ((const recall_point *)a)->nprobe, q = ((const recall_point *)b)->nprobe;
  if (x != y) return x < y ? -1 : 1;
  return p < q ? -1 : p > q;
}

/* Points as a chart takes them. */
typedef struct plotted {
  double recall[RECALL_POINTS], qps[RECALL_POINTS];
  char label_text[RECALL_POINTS][24], hint_text[RECALL_POINTS][96];
  const char *labels[RECALL_POINTS], *hints[RECALL_POINTS];
} plotted;

static void take_point(plotted *plot, size_t i, const recall_point *point) {
  plot->recall[i] = recall_of(point);
  plot->qps[i] = point->qps;
  if (point->nprobe > 0) snprintf(plot->label_text[i], sizeof *plot->label_text, "%" PRIu64, point->nprobe);
  snprintf(plot->hint_text[i], sizeof *plot->hint_text, "nprobe %" PRIu64 ", recall %.4f, %.0f queries per second",
           point->nprobe, plot->recall[i], point->qps);
  plot->labels[i] = plot->label_text[i];
  plot->hints[i] = plot->hint_text[i];
}

furrow_status recall_plot(const char *path, const char *title, const recall_point *points, size_t count,
                          furrow_error *err) {
  recall_point sorted[RECALL_POINTS];
  plotted plot = {0};
  memcpy(sorted, points, count * sizeof *points);
  qsort(sorted, count, sizeof *sorted, by_recall);
  for (size_t i = 0; i < count; i++) take_point(&plot, i, &sorted[i]);
  const chart_curve curve = {
      .x = plot.recall, .y = plot.qps, .count = count, .marks = true, .labels = plot.labels, .hints = plot.hints};
  const chart drawn = {.title = title,
                       .note = "numbers beside the points: lists visited (nprobe); right and up is better",
                       .x_axis = count && isnan(sorted[0].shared)
                                     ? "queries whose nearest vector is found first (1-R@1)"
                                     : "recall@10: share of the 10 nearest that is found",
                       .y_axis = "queries per second",
                       .curves = &curve,
                       .count = 1,
                       .log_y = true};
  return charts_write(path, &drawn, 1, true, err);
}
