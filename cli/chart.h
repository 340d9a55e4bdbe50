/* cli/chart.h: curves as a picture (SVG), readable on light and on dark ground. */
#ifndef FURROW_CLI_CHART_H
#define FURROW_CLI_CHART_H

#include <stdbool.h>

#include "furrow/status.h"

/* Points of a curve; those with a y that is not a number are left out. */
typedef struct chart_curve {
  const char *name;
  const double *x, *y;
  size_t count;
  bool dashed, marks; /* marks: a dot at each point */
} chart_curve;

typedef struct chart {
  const char *title, *note, *x_axis, *y_axis; /* note may be NULL */
  const chart_curve *curves;
  size_t count; /* at most 6 */
  bool unit;    /* both axes go from 0 to 1 */
} chart;

/* One below the other in one file. */
furrow_status charts_write(const char *path, const chart *charts, size_t count, bool force, furrow_error *err);

/* The step between lines of an axis over `span`: 1, 2 or 5 times a power of ten, so that there are about six. */
double chart_step(double span);

#endif
