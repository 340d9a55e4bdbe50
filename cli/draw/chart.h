/* cli/draw/chart.h: curves as a picture (SVG), readable on light and on dark ground. */
#ifndef CLI_DRAW_CHART_H
#define CLI_DRAW_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "furrow/status.h"

enum { CHART_COLOURS = 8 };

typedef enum chart_shape {
  CHART_LINE,
  CHART_POINTS, /* small marks; each colour has a form of its own */
  CHART_BARS,   /* from 0 up; x is the middle of a bar */
  CHART_WORDS   /* labels alone, in the middle of their points */
} chart_shape;

/* Points of a curve; those with a y that is not a number are left out. */
typedef struct chart_curve {
  const char *name;
  const double *x, *y;
  size_t count;
  bool dashed, marks; /* marks: a dot at each point */
  chart_shape shape;
  unsigned colour; /* from 1; 0: by its place among the curves */
  double bar;      /* width of a bar, in units of x */
  const char *const
      *labels; /* a text for each of at most 64 points; NULL: none. One that would lie on another is left out */
  const char *const *hints; /* what a mark says when it is pointed at; NULL: its x and y */
} chart_curve;

typedef struct chart {
  const char *title, *note, *x_axis, *y_axis; /* note may be NULL; y_axis too */
  const chart_curve *curves;
  size_t count;               /* at most CHART_COLOURS, unless colours are said */
  bool unit;                  /* both axes go from 0 to 1 */
  bool log_y;                 /* y has one step for each factor */
  bool plain;                 /* axes have no numbers: only what is near to what counts */
  const char *const *y_names; /* names for y = 0, 1 … in place of numbers */
  size_t y_name_count;
  int width, height; /* pixels; 0: 760 x 400 */
} chart;

/* One below the other in one file. */
furrow_status charts_write(const char *path, const chart *charts, size_t count, bool force, furrow_error *err);
/* Into a page that has chart_style: without title, note and legend, for which a page has better means. */
void chart_draw(FILE *out, const chart *c);
/* How texts, lines and colours look. */
extern const char chart_style[];

/* The beginning of such a file: size, colours, ground. What is drawn on it ends with </svg>. */
void chart_page(FILE *out, size_t width, size_t height);
/* The step between lines of an axis over `span`: 1, 2 or 5 times a power of ten, so that there are about six. */
double chart_step(double span);
/* A number as an axis shows it: 0.25, 5 k, 2 M. */
void chart_number(char *text, size_t size, double value);

/* Bars with names, one below the other. */
typedef struct bar {
  char name[48];
  double value; /* 0 or more */
} bar;

furrow_status bars_write(const char *path, const char *title, const char *note, const bar *bars, size_t count,
                         bool force, furrow_error *err);

#endif
