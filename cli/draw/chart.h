/* cli/draw/chart.h: charts as SVG, readable on light and dark backgrounds. */
#ifndef CLI_DRAW_CHART_H
#define CLI_DRAW_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "furrow/status.h"

enum { CHART_COLOURS = 8 };

typedef enum chart_shape {
  CHART_LINE,
  CHART_POINTS, /* small marks; each colour has its own shape */
  CHART_BARS,   /* bars from 0 up; x is the centre of a bar */
  CHART_WORDS   /* only labels, centred on their points */
} chart_shape;

/* Points of a curve; points whose y is NaN are left out. */
typedef struct chart_curve {
  const char *name;
  const double *x, *y;
  size_t count;
  bool dashed, marks; /* marks: a dot at each point */
  chart_shape shape;
  unsigned colour; /* from 1; 0: by the curve's position */
  double bar;      /* width of a bar, in units of x */
  const char *const
      *labels; /* a text for each of at most 64 points; NULL: none. Labels that would overlap another are left out */
  const char *const *hints; /* tooltip of a mark; NULL: its x and y */
} chart_curve;

typedef struct chart {
  const char *title, *note, *x_axis, *y_axis; /* note may be NULL; y_axis too */
  const chart_curve *curves;
  size_t count;               /* at most CHART_COLOURS, unless the curves set colours */
  bool unit;                  /* both axes go from 0 to 1 */
  bool log_y;                 /* logarithmic y axis */
  bool plain;                 /* axes without numbers */
  const char *const *y_names; /* names for y = 0, 1 … instead of numbers */
  size_t y_name_count;
  int width, height; /* pixels; 0: 760 x 400 */
} chart;

/* Writes the charts to one file, one below the other. */
furrow_status charts_write(const char *path, const chart *charts, size_t count, bool force, furrow_error *err);
/* Draws a chart into a page that has chart_style, without title, note and legend, which the page adds. */
void chart_draw(FILE *out, const chart *c);
/* Style sheet of texts, lines and colours. */
extern const char chart_style[];

/* Prints the start of an SVG file: size, style, background. The caller closes it with </svg>. */
void chart_page(FILE *out, size_t width, size_t height);
/* Prints a text for SVG or HTML: escapes markup and drops control characters. */
void markup_text(FILE *out, const char *text);
/* Step between the ticks of an axis of length `span`: 1, 2 or 5 times a power of ten, for about six ticks. */
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
