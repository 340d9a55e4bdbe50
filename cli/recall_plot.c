/* cli/recall_plot.c: a drawing of recall and speed, as SVG. */
#include "recall_plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "text_file.h"

/* Pixels: the picture, and the frame that points are drawn in. */
enum { WIDTH = 760, HEIGHT = 480, LEFT = 84, RIGHT = 730, TOP = 64, BOTTOM = 416 };

typedef struct plot {
  FILE *out;
  double low, high;        /* recall at the sides */
  double slowest, fastest; /* log10 of queries per second, below and above */
  const char *axis;
} plot;

/* What is shown of a point: the share of the 10 nearest, or of the nearest alone where k is small. */
static double recall_of(const recall_point *p) {
  return isnan(p->shared) ? p->first_in[0] : p->shared;
}

static double x_of(const plot *p, double recall) {
  return LEFT + (recall - p->low) / (p->high - p->low) * (RIGHT - LEFT);
}

static double y_of(const plot *p, double qps) {
  return BOTTOM - (log10(qps) - p->slowest) / (p->fastest - p->slowest) * (BOTTOM - TOP);
}

/* ---- Axes ----------------------------------------------------------------------------------------------- */

static void choose_axes(plot *p, const recall_point *points, size_t count) {
  double low = 1, high = 0, slow = INFINITY, fast = 0;
  for (size_t i = 0; i < count; i++) {
    const double recall = recall_of(&points[i]);
    low = fmin(low, recall);
    high = fmax(high, recall);
    slow = fmin(slow, points[i].qps);
    fast = fmax(fast, points[i].qps);
  }
  const double span = fmax(high - low, 0.02), step = chart_step(span);
  p->low = fmax(0, step * floor((low - 0.02 * span) / step));
  p->high = fmin(1, step * ceil((high + 0.02 * span) / step));
  if (p->high <= p->low) p->high = p->low + step;
  /* sides at 1, 2 or 5 times a power of ten would be odd to read: a little air is enough */
  p->slowest = log10(slow) - 0.08;
  p->fastest = log10(fast) + 0.12;
  if (p->fastest - p->slowest < 0.5) {
    const double middle = (p->fastest + p->slowest) / 2;
    p->slowest = middle - 0.25;
    p->fastest = middle + 0.25;
  }
}

static void put_rate(char *text, size_t size, double qps) {
  if (qps >= 1e6)
    snprintf(text, size, "%g M", qps * 1e-6);
  else if (qps >= 1e3)
    snprintf(text, size, "%g k", qps * 1e-3);
  else
    snprintf(text, size, "%g", qps);
}

static void draw_recall_axis(const plot *p) {
  const double step = chart_step(p->high - p->low);
  for (int i = 0; p->low + i * step <= p->high + step / 100; i++) {
    const double recall = p->low + i * step, x = x_of(p, recall);
    fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, TOP, BOTTOM);
    fprintf(p->out, "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%g</text>\n", x, BOTTOM + 20,
            round(recall * 1e6) / 1e6);
  }
  fprintf(p->out, "<text class=\"axis\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">%s</text>\n", (LEFT + RIGHT) / 2,
          BOTTOM + 44, p->axis);
}

static void draw_speed_axis(const plot *p) {
  static const int times[] = {1, 2, 5};
  for (int power = (int)floor(p->slowest); power <= (int)ceil(p->fastest); power++) {
    for (size_t i = 0; i < 3; i++) {
      const double qps = times[i] * pow(10, power);
      char text[32];
      if (log10(qps) < p->slowest || log10(qps) > p->fastest) continue;
      put_rate(text, sizeof text, qps);
      fprintf(p->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(p, qps), RIGHT);
      fprintf(p->out, "<text class=\"tick\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT - 10,
              y_of(p, qps) + 4, text);
    }
  }
  fprintf(p->out, "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(24 %d) rotate(-90)\">",
          (TOP + BOTTOM) / 2);
  fprintf(p->out, "queries per second</text>\n");
}

/* ---- Points --------------------------------------------------------------------------------------------- */

static int by_recall(const void *a, const void *b) {
  const double x = recall_of(a), y = recall_of(b);
  const uint64_t p = ((const recall_point *)a)->nprobe, q = ((const recall_point *)b)->nprobe;
  if (x != y) return x < y ? -1 : 1;
  return p < q ? -1 : p > q;
}

/* A label stands beside its point, on the side where the line is not; one that would lie on the last is left out. */
static void draw_points(const plot *p, const recall_point *points, size_t count) {
  double last_x = -100, last_y = -100;
  fprintf(p->out, "<path class=\"line\" d=\"");
  for (size_t i = 0; i < count; i++)
    fprintf(p->out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(p, recall_of(&points[i])), y_of(p, points[i].qps));
  fprintf(p->out, "\"/>\n");
  for (size_t i = 0; i < count; i++) {
    const double x = x_of(p, recall_of(&points[i])), y = y_of(p, points[i].qps);
    fprintf(p->out,
            "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>nprobe %" PRIu64
            ", recall %.4f, %.0f queries per second</title></circle>\n",
            x, y, points[i].nprobe, recall_of(&points[i]), points[i].qps);
    if (points[i].nprobe == 0 || (fabs(x - last_x) < 18 && fabs(y - last_y) < 14)) continue;
    fprintf(p->out, "<text class=\"label\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%" PRIu64 "</text>\n", x - 7,
            y + 12, points[i].nprobe);
    last_x = x;
    last_y = y;
  }
}

static void put_escaped(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '<')
      fputs("&lt;", out);
    else if ((unsigned char)*text >= 0x20)
      fputc(*text, out);
  }
}

static void draw(plot *p, const char *title, const recall_point *points, size_t count) {
  fprintf(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
          WIDTH, HEIGHT, WIDTH, HEIGHT);
  fputs("<style>\n"
        "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#333}\n"
        ".title{font-size:15px;font-weight:600}.axis{font-size:13px}.tick{font-size:12px;fill:#666}\n"
        ".label{font-size:12px;fill:#1f5fa8}.note{font-size:12px;fill:#666}\n"
        ".grid{stroke:#e6e6e6;fill:none}.frame{stroke:#999;fill:none}\n"
        ".line{stroke:#1f5fa8;stroke-width:2;fill:none}.point{fill:#fff;stroke:#1f5fa8;stroke-width:2}\n"
        "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        p->out);
  fprintf(p->out, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
  put_escaped(p->out, title);
  fprintf(p->out,
          "</text>\n<text class=\"note\" x=\"%d\" y=\"48\">numbers beside the points: lists visited (nprobe); "
          "right and up is better</text>\n",
          LEFT);
  draw_recall_axis(p);
  draw_speed_axis(p);
  fprintf(p->out, "<path class=\"frame\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
  draw_points(p, points, count);
  fputs("</svg>\n", p->out);
}

/* ---- The file ------------------------------------------------------------------------------------------- */

furrow_status recall_plot(const char *path, const char *title, const recall_point *points, size_t count,
                          furrow_error *err) {
  recall_point sorted[RECALL_POINTS];
  text_file file;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  plot p = {.out = file.out};
  memcpy(sorted, points, count * sizeof *points);
  qsort(sorted, count, sizeof *sorted, by_recall);
  p.axis = count && isnan(sorted[0].shared) ? "queries whose nearest vector is found first (1-R@1)"
                                            : "recall@10: share of the 10 nearest that is found";
  choose_axes(&p, sorted, count);
  draw(&p, title, sorted, count);
  return text_file_end(&file, path, true, err);
}
