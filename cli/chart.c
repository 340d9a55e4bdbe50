/* cli/chart.c: curves as a picture (SVG), readable on light and on dark ground. */
#include "chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail.h"
#include "text_file.h"

/* Pixels: a chart, and the frame that curves are drawn in. */
enum { WIDTH = 760, HEIGHT = 400, LEFT = 76, RIGHT = 730, TOP = 64, BOTTOM = 340, LEGEND = 120 };

typedef struct frame {
  FILE *out;
  double left, right, low, high; /* values at the sides */
} frame;

static double x_of(const frame *f, double x) {
  return LEFT + (x - f->left) / (f->right - f->left) * (RIGHT - LEFT);
}

static double y_of(const frame *f, double y) {
  return BOTTOM - (y - f->low) / (f->high - f->low) * (BOTTOM - TOP);
}

/* ---- Axes ---- */

double chart_step(double span) {
  const double rough = span / 6, power = pow(10, floor(log10(rough))), times = rough / power;
  return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

static void widen(double *low, double *high, double value) {
  if (!isfinite(value)) return;
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

static void choose_sides(frame *f, const chart *c) {
  f->left = f->low = INFINITY;
  f->right = f->high = -INFINITY;
  for (size_t i = 0; i < c->count; i++) {
    for (size_t j = 0; j < c->curves[i].count; j++) {
      if (!isfinite(c->curves[i].y[j])) continue;
      widen(&f->left, &f->right, c->curves[i].x[j]);
      widen(&f->low, &f->high, c->curves[i].y[j]);
    }
  }
  if (c->unit || !isfinite(f->left)) {
    f->left = f->low = 0;
    f->right = f->high = 1;
  }
  if (f->right <= f->left) f->right = f->left + 1;
  const double span = fmax(f->high - f->low, 1e-3 * fmax(fabs(f->high), 1e-9));
  if (!c->unit) f->low -= 0.06 * span, f->high += 0.06 * span;
}

static void draw_x_axis(const frame *f, const char *name) {
  double step = chart_step(f->right - f->left);
  for (double x = ceil(f->left / step) * step; x <= f->right + step / 100; x += step) {
    fprintf(f->out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x_of(f, x), TOP, BOTTOM);
    fprintf(f->out, "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%g</text>\n", x_of(f, x),
            BOTTOM + 18, fabs(x) < step / 1e6 ? 0 : x);
  }
  fprintf(f->out, "<text class=\"axis\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">%s</text>\n", (LEFT + RIGHT) / 2,
          BOTTOM + 40, name);
}

static void draw_y_axis(const frame *f, const char *name) {
  const double step = chart_step(f->high - f->low);
  for (double y = ceil(f->low / step) * step; y <= f->high + step / 100; y += step) {
    fprintf(f->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(f, y), RIGHT);
    fprintf(f->out, "<text class=\"tick\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%g</text>\n", LEFT - 8,
            y_of(f, y) + 4, fabs(y) < step / 1e6 ? 0 : y);
  }
  fprintf(f->out, "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(20 %d) rotate(-90)\">%s</text>\n",
          (TOP + BOTTOM) / 2, name);
}

/* ---- Curves ---- */

static void draw_marks(const frame *f, const chart_curve *curve, size_t number) {
  for (size_t j = 0; j < curve->count; j++) {
    if (!isfinite(curve->y[j])) continue;
    fprintf(f->out, "<circle class=\"mark m%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%g: %.6g</title></circle>\n",
            number, x_of(f, curve->x[j]), y_of(f, curve->y[j]), curve->x[j], curve->y[j]);
  }
}

static void draw_curve(const frame *f, const chart_curve *curve, size_t number) {
  char move = 'M';
  fprintf(f->out, "<path class=\"line c%zu%s\" d=\"", number, curve->dashed ? " dashed" : "");
  for (size_t j = 0; j < curve->count; j++) {
    if (!isfinite(curve->y[j])) continue;
    fprintf(f->out, "%c%.1f %.1f", move, x_of(f, curve->x[j]), y_of(f, curve->y[j]));
    move = 'L';
  }
  fprintf(f->out, "\"/>\n");
  if (curve->marks) draw_marks(f, curve, number);
}

static void draw_legend(const frame *f, const chart *c) {
  for (size_t i = 0; i < c->count; i++) {
    const int x = RIGHT - (int)(c->count - i) * LEGEND;
    fprintf(f->out, "<path class=\"line c%zu%s\" d=\"M%d 24h24\"/>", i, c->curves[i].dashed ? " dashed" : "", x);
    fprintf(f->out, "<text class=\"tick\" x=\"%d\" y=\"28\">%s</text>\n", x + 30, c->curves[i].name);
  }
}

static void draw_chart(FILE *out, const chart *c, size_t place) {
  frame f = {.out = out};
  choose_sides(&f, c);
  fprintf(out, "<g transform=\"translate(0 %zu)\">\n<text class=\"title\" x=\"%d\" y=\"28\">%s</text>\n",
          place * HEIGHT, LEFT, c->title);
  if (c->note) fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"48\">%s</text>\n", LEFT, c->note);
  draw_x_axis(&f, c->x_axis);
  draw_y_axis(&f, c->y_axis);
  fprintf(out, "<path class=\"frame\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
  for (size_t i = 0; i < c->count; i++) draw_curve(&f, &c->curves[i], i);
  draw_legend(&f, c);
  fputs("</g>\n", out);
}

/* ---- The file ---- */

static void draw_all(FILE *out, const chart *charts, size_t count) {
  const size_t height = count * HEIGHT;
  fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %zu\" width=\"%d\" height=\"%zu\">\n", WIDTH,
          height, WIDTH, height);
  fputs("<style>\n"
        "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#333}\n"
        ".title{font-size:15px;font-weight:600}.axis{font-size:13px}.tick{font-size:12px;fill:#666}\n"
        ".ground{fill:#fff}.grid{stroke:#e6e6e6;fill:none}.frame{stroke:#999;fill:none}\n"
        ".line{stroke-width:2;fill:none}.dashed{stroke-dasharray:5 4}\n"
        ".c0{stroke:#1f5fa8}.c1{stroke:#c4501b}.c2{stroke:#2a8050}.c3{stroke:#8a3fa0}.c4{stroke:#8a6d00}"
        ".c5{stroke:#555}\n"
        ".m0{fill:#1f5fa8}.m1{fill:#c4501b}.m2{fill:#2a8050}.m3{fill:#8a3fa0}.m4{fill:#8a6d00}.m5{fill:#555}\n"
        "@media (prefers-color-scheme:dark){text{fill:#ddd}.tick{fill:#999}.ground{fill:#16181c}"
        ".grid{stroke:#2c3036}.frame{stroke:#777}\n"
        ".c0{stroke:#6aa9ee}.c1{stroke:#f0925c}.c2{stroke:#66c48f}.c3{stroke:#c98be0}.c4{stroke:#d8b94a}"
        ".c5{stroke:#aaa}\n"
        ".m0{fill:#6aa9ee}.m1{fill:#f0925c}.m2{fill:#66c48f}.m3{fill:#c98be0}.m4{fill:#d8b94a}.m5{fill:#aaa}}\n"
        "</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        out);
  for (size_t i = 0; i < count; i++) draw_chart(out, &charts[i], i);
  fputs("</svg>\n", out);
}

furrow_status charts_write(const char *path, const chart *charts, size_t count, bool force, furrow_error *err) {
  text_file file;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  draw_all(file.out, charts, count);
  return text_file_end(&file, path, force, err);
}
