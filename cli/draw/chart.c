/* cli/draw/chart.c: charts as SVG, readable on light and dark backgrounds. */
#include "draw/chart.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/text_file.h"

void markup_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '"')
      fputs("&quot;", out);
    else if ((unsigned char)*text >= 0x20)
      fputc(*text, out);
  }
}

/* Pixels: a chart in a file, the margins of its frame, an entry of its legend. */
enum { WIDTH = 760, HEIGHT = 400, LEGEND = 120, MOST_LABELS = 64 };

typedef struct frame {
  FILE *out;
  const chart *chart;
  double from_x, to_x, from_y, to_y; /* pixels of the sides: left, right, top, bottom */
  double left, right, low, high;     /* values there; of y maybe their log10 */
} frame;

static double x_of(const frame *f, double x) {
  return f->from_x + (x - f->left) / (f->right - f->left) * (f->to_x - f->from_x);
}

static double y_of(const frame *f, double y) {
  if (f->chart->log_y) y = log10(y);
  return f->to_y - (y - f->low) / (f->high - f->low) * (f->to_y - f->from_y);
}

static unsigned colour_of(const chart *c, size_t i) {
  return c->curves[i].colour ? c->curves[i].colour - 1 : (unsigned)(i % CHART_COLOURS);
}

/* ---- Sides ---- */

double chart_step(double span) {
  const double rough = span / 6, power = pow(10, floor(log10(rough))), times = rough / power;
  return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

static void widen(double *low, double *high, double value) {
  if (!isfinite(value)) return;
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

static void widen_by(frame *f, const chart_curve *curve) {
  const double side = curve->shape == CHART_BARS ? curve->bar / 2 : 0;
  for (size_t j = 0; j < curve->count; j++) {
    if (!isfinite(curve->y[j])) continue;
    widen(&f->left, &f->right, curve->x[j] - side);
    widen(&f->left, &f->right, curve->x[j] + side);
    widen(&f->low, &f->high, f->chart->log_y ? log10(curve->y[j]) : curve->y[j]);
    if (curve->shape == CHART_BARS) widen(&f->low, &f->high, 0);
  }
}

/* Adds a margin around the data; bars start at the axis. */
static void add_air(frame *f) {
  const chart *c = f->chart;
  const bool bars = c->count > 0 && c->curves[0].shape == CHART_BARS;
  const bool inside = c->count > 0 && (c->curves[0].shape == CHART_POINTS || c->curves[0].labels);
  const double least = c->log_y ? 0.4 : 1e-3 * fmax(fabs(f->high), 1e-9);
  const double span = fmax(f->high - f->low, least), width = f->right - f->left;
  if (!bars) f->low -= 0.06 * span;
  f->high += 0.06 * span;
  if (inside) f->left -= 0.06 * width, f->right += 0.04 * width;
}

static void choose_sides(frame *f) {
  const chart *c = f->chart;
  f->left = f->low = INFINITY;
  f->right = f->high = -INFINITY;
  for (size_t i = 0; i < c->count; i++) widen_by(f, &c->curves[i]);
  if (c->unit || !isfinite(f->left)) {
    f->left = f->low = 0;
    f->right = f->high = 1;
  }
  if (f->right <= f->left) f->right = f->left + 1;
  if (!c->unit) add_air(f);
  if (c->y_name_count) f->low = -0.5, f->high = (double)c->y_name_count - 0.5;
}

/* ---- Axes ---- */

void chart_number(char *text, size_t size, double value) {
  if (fabs(value) >= 1e6)
    snprintf(text, size, "%g M", value * 1e-6);
  else if (fabs(value) >= 1e4)
    snprintf(text, size, "%g k", value * 1e-3);
  else
    snprintf(text, size, "%g", value);
}

static void put_x_line(const frame *f, double x, double value) {
  char text[32];
  chart_number(text, sizeof text, value);
  fprintf(f->out, "<path class=\"grid\" d=\"M%.1f %gV%g\"/>\n", x, f->from_y, f->to_y);
  fprintf(f->out, "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%g\">%s</text>\n", x, f->to_y + 18, text);
}

static void put_y_line(const frame *f, double y, const char *text) {
  fprintf(f->out, "<path class=\"grid\" d=\"M%g %.1fH%g\"/>\n", f->from_x, y, f->to_x);
  fprintf(f->out, "<text class=\"tick\" text-anchor=\"end\" x=\"%g\" y=\"%.1f\">", f->from_x - 8, y + 4);
  markup_text(f->out, text);
  fputs("</text>\n", f->out);
}

static void draw_x_axis(const frame *f) {
  const double step = chart_step(f->right - f->left);
  for (double x = ceil(f->left / step) * step; !f->chart->plain && x <= f->right + step / 100; x += step)
    put_x_line(f, x_of(f, x), fabs(x) < step / 1e6 ? 0 : x);
  fprintf(f->out, "<text class=\"axis\" text-anchor=\"middle\" x=\"%g\" y=\"%g\">%s</text>\n",
          (f->from_x + f->to_x) / 2, f->to_y + (f->chart->plain ? 20 : 40), f->chart->x_axis);
}

static void draw_even_lines(const frame *f) {
  const double step = chart_step(f->high - f->low);
  for (double y = ceil(f->low / step) * step; y <= f->high + step / 100; y += step) {
    char text[32];
    chart_number(text, sizeof text, fabs(y) < step / 1e6 ? 0 : y);
    put_y_line(f, y_of(f, y), text);
  }
}

/* Ticks at 1, 2 and 5 times powers of ten; over many powers only at the powers. */
static void draw_log_lines(const frame *f) {
  static const int times[] = {1, 2, 5};
  const size_t count = f->high - f->low > 2.5 ? 1 : 3;
  for (int power = (int)floor(f->low); power <= (int)ceil(f->high); power++) {
    for (size_t i = 0; i < count; i++) {
      const double y = times[i] * pow(10, power);
      char text[32];
      if (log10(y) < f->low || log10(y) > f->high) continue;
      chart_number(text, sizeof text, y);
      put_y_line(f, y_of(f, y), text);
    }
  }
}

static void draw_y_axis(const frame *f) {
  const chart *c = f->chart;
  for (size_t i = 0; i < c->y_name_count; i++) put_y_line(f, y_of(f, (double)i), c->y_names[i]);
  if (c->log_y)
    draw_log_lines(f);
  else if (!c->y_name_count && !c->plain)
    draw_even_lines(f);
  if (!c->y_axis) return;
  fprintf(f->out, "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(%d %g) rotate(-90)\">%s</text>\n",
          c->width ? 13 : 20, (f->from_y + f->to_y) / 2, c->y_axis);
}

/* ---- Curves ---- */

static void put_hint(const frame *f, const chart_curve *curve, size_t j) {
  fputs("<title>", f->out);
  if (curve->hints)
    markup_text(f->out, curve->hints[j]);
  else
    fprintf(f->out, "%g: %.6g", curve->x[j], curve->y[j]);
  fputs("</title>", f->out);
}

static void draw_marks(const frame *f, const chart_curve *curve, unsigned colour) {
  for (size_t j = 0; j < curve->count; j++) {
    if (!isfinite(curve->y[j])) continue;
    fprintf(f->out, "<circle class=\"mark m%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\">", colour, x_of(f, curve->x[j]),
            y_of(f, curve->y[j]), f->chart->y_name_count ? 6 : 3);
    put_hint(f, curve, j);
    fputs("</circle>\n", f->out);
  }
}

static void draw_line(const frame *f, const chart_curve *curve, unsigned colour) {
  char move = 'M';
  fprintf(f->out, "<path class=\"line c%u%s\" d=\"", colour, curve->dashed ? " dashed" : "");
  for (size_t j = 0; j < curve->count; j++) {
    if (!isfinite(curve->y[j])) continue;
    fprintf(f->out, "%c%.1f %.1f", move, x_of(f, curve->x[j]), y_of(f, curve->y[j]));
    move = 'L';
  }
  fprintf(f->out, "\"/>\n");
}

/* All points of a curve in one path: a disc, a square, a triangle or a diamond for each. */
static void draw_points(const frame *f, const chart_curve *curve, unsigned colour) {
  static const char *const forms[] = {"m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0-4.8 0z", "m-2-2h4v4h-4z",
                                      "m0-2.8l2.7 4.8h-5.4z", "m0-2.9l2.9 2.9l-2.9 2.9l-2.9-2.9z"};
  fprintf(f->out, "<path class=\"dots m%u\" d=\"", colour);
  for (size_t j = 0; j < curve->count; j++)
    if (isfinite(curve->y[j]))
      fprintf(f->out, "M%.1f %.1f%s", x_of(f, curve->x[j]), y_of(f, curve->y[j]), forms[colour % 4]);
  fputs("\"/>\n", f->out);
}

static void draw_bars(const frame *f, const chart_curve *curve, unsigned colour) {
  const double width = x_of(f, curve->bar) - x_of(f, 0);
  for (size_t j = 0; j < curve->count; j++) {
    const double top = y_of(f, curve->y[j]);
    fprintf(f->out, "<rect class=\"mark m%u\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", colour,
            x_of(f, curve->x[j]) - width / 2 + 0.5, top, fmax(width - 1, 0.5), f->to_y - top);
    put_hint(f, curve, j);
    fputs("</rect>\n", f->out);
  }
}

/* Position of a label: below and to the left of a point on a line, to the left or right of the point in a named row (on
 * the side with more space), on the point for words. */
static void put_label(const frame *f, const chart_curve *curve, size_t j, double x, double y) {
  const char *anchor = "end";
  double at_x = x - 7, at_y = y + 12;
  if (f->chart->y_name_count) {
    const bool left = x < (f->from_x + f->to_x) / 2;
    anchor = left ? "start" : "end";
    at_x = left ? x + 11 : x - 11;
    at_y = y - 5;
  }
  if (curve->shape == CHART_WORDS) anchor = "middle", at_x = x, at_y = y + 4;
  fprintf(f->out, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">",
          curve->shape == CHART_WORDS ? "word" : "label", anchor, at_x, at_y);
  markup_text(f->out, curve->labels[j]);
  fputs("</text>\n", f->out);
}

/* Returns whether a label would overlap one that was drawn before. */
static bool is_covered(const frame *f, const chart_curve *curve, const bool *drawn, size_t j) {
  const double width = curve->shape == CHART_WORDS ? 64 : 18, height = curve->shape == CHART_WORDS ? 15 : 14;
  for (size_t i = 0; i < j; i++) {
    const double x = x_of(f, curve->x[i]) - x_of(f, curve->x[j]), y = y_of(f, curve->y[i]) - y_of(f, curve->y[j]);
    if (drawn[i] && fabs(x) < width && fabs(y) < height) return true;
  }
  return false;
}

static void draw_labels(const frame *f, const chart_curve *curve) {
  bool drawn[MOST_LABELS] = {false};
  for (size_t j = 0; j < curve->count && j < MOST_LABELS; j++) {
    drawn[j] = !is_covered(f, curve, drawn, j);
    if (drawn[j]) put_label(f, curve, j, x_of(f, curve->x[j]), y_of(f, curve->y[j]));
  }
}

static void draw_curve(const frame *f, size_t i) {
  const chart_curve *curve = &f->chart->curves[i];
  const unsigned colour = colour_of(f->chart, i);
  switch (curve->shape) {
  case CHART_LINE: draw_line(f, curve, colour); break;
  case CHART_POINTS: draw_points(f, curve, colour); break;
  case CHART_BARS: draw_bars(f, curve, colour); break;
  case CHART_WORDS: break;
  }
  if (curve->marks) draw_marks(f, curve, colour);
  if (curve->labels) draw_labels(f, curve);
}

static void draw_frame(frame *f) {
  const bool bare = f->chart->y_name_count != 0;
  choose_sides(f);
  draw_x_axis(f);
  draw_y_axis(f);
  if (!bare) fprintf(f->out, "<path class=\"frame\" d=\"M%g %gV%gH%g\"/>\n", f->from_x, f->from_y, f->to_y, f->to_x);
  for (size_t i = 0; i < f->chart->count; i++) draw_curve(f, i);
}

void chart_draw(FILE *out, const chart *c) {
  frame f = {.out = out,
             .chart = c,
             .from_x = c->y_name_count ? 104
                       : c->plain      ? 26
                                       : 62,
             .to_x = c->width - 14,
             .from_y = 10,
             .to_y = c->height - (c->plain ? 28 : 48)};
  fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", c->width, c->height);
  markup_text(out, c->title);
  fputs("\">\n", out);
  draw_frame(&f);
  fputs("</svg>\n", out);
}

/* ---- The file ---- */

static void draw_legend(FILE *out, const chart *c) {
  if (c->count == 1 && !c->curves[0].name) return;
  for (size_t i = 0; i < c->count; i++) {
    const int x = WIDTH - 30 - (int)(c->count - i) * LEGEND;
    fprintf(out, "<path class=\"line c%u%s\" d=\"M%d 24h24\"/>", colour_of(c, i), c->curves[i].dashed ? " dashed" : "",
            x);
    fprintf(out, "<text class=\"tick\" x=\"%d\" y=\"28\">%s</text>\n", x + 30, c->curves[i].name);
  }
}

static void draw_chart(FILE *out, const chart *c, size_t place) {
  frame f = {.out = out, .chart = c, .from_x = 76, .to_x = WIDTH - 30, .from_y = 64, .to_y = HEIGHT - 60};
  fprintf(out, "<g transform=\"translate(0 %zu)\">\n<text class=\"title\" x=\"%g\" y=\"28\">", place * HEIGHT,
          f.from_x);
  markup_text(out, c->title);
  fputs("</text>\n", out);
  if (c->note) fprintf(out, "<text class=\"tick\" x=\"%g\" y=\"48\">%s</text>\n", f.from_x, c->note);
  draw_frame(&f);
  draw_legend(out, c);
  fputs("</g>\n", out);
}

const char chart_style[] =
    "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#333}\n"
    ".title{font-size:15px;font-weight:600}.axis{font-size:13px}.tick{font-size:12px;fill:#666}\n"
    ".label{font-size:12px;fill:#444}.word{font-size:13px;font-weight:600;stroke:#fff;stroke-width:4;"
    "stroke-linejoin:round;paint-order:stroke}\n"
    ".ground{fill:#fff}.grid{stroke:#e6e6e6;fill:none}.frame{stroke:#999;fill:none}\n"
    ".line{stroke-width:2;fill:none}.dashed{stroke-dasharray:5 4}.dots{fill-opacity:.75}\n"
    ".c0{stroke:#1f5fa8}.c1{stroke:#c4501b}.c2{stroke:#2a8050}.c3{stroke:#8a3fa0}.c4{stroke:#8a6d00}.c5{stroke:#555}"
    ".c6{stroke:#2e8fb8}.c7{stroke:#b03a5b}\n"
    ".m0{fill:#1f5fa8}.m1{fill:#c4501b}.m2{fill:#2a8050}.m3{fill:#8a3fa0}.m4{fill:#8a6d00}.m5{fill:#555}"
    ".m6{fill:#2e8fb8}.m7{fill:#b03a5b}\n"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.tick{fill:#a4a8ae}.label{fill:#ccc}.word{stroke:#16181c}"
    ".ground{fill:#16181c}.grid{stroke:#2c3036}.frame{stroke:#777}\n"
    ".c0{stroke:#6aa9ee}.c1{stroke:#f0925c}.c2{stroke:#66c48f}.c3{stroke:#c98be0}.c4{stroke:#d8b94a}.c5{stroke:#aaa}"
    ".c6{stroke:#6fd0ee}.c7{stroke:#f07f9d}\n"
    ".m0{fill:#6aa9ee}.m1{fill:#f0925c}.m2{fill:#66c48f}.m3{fill:#c98be0}.m4{fill:#d8b94a}.m5{fill:#aaa}"
    ".m6{fill:#6fd0ee}.m7{fill:#f07f9d}}\n";

void chart_page(FILE *out, size_t width, size_t height) {
  fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" height=\"%zu\">\n",
          width, height, width, height);
  fprintf(out, "<style>\n%s</style>\n<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n", chart_style);
}

static void draw_all(FILE *out, const chart *charts, size_t count) {
  chart_page(out, WIDTH, count * HEIGHT);
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

/* ---- Bars ---- */

enum { BAR_WIDTH = 760, BAR_LEFT = 150, BAR_RIGHT = 660, BAR_TOP = 64, BAR_STEP = 24, BAR_THICK = 16 };

static void draw_bar(FILE *out, const bar *b, size_t place, double most) {
  const double y = BAR_TOP + (double)place * BAR_STEP, length = most > 0 ? b->value / most * (BAR_RIGHT - BAR_LEFT) : 0;
  fprintf(out, "<text class=\"axis\" text-anchor=\"end\" x=\"%d\" y=\"%.0f\">%s</text>", BAR_LEFT - 10, y + 13,
          b->name);
  fprintf(out, "<rect class=\"m0\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>", BAR_LEFT, y,
          fmax(length, 1), BAR_THICK);
  fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\">%.4g</text>\n", BAR_LEFT + length + 8, y + 13, b->value);
}

furrow_status bars_write(const char *path, const char *title, const char *note, const bar *bars, size_t count,
                         bool force, furrow_error *err) {
  text_file file;
  double most = 0;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  const size_t bottom = BAR_TOP + count * BAR_STEP;
  for (size_t i = 0; i < count; i++) most = fmax(most, bars[i].value);
  chart_page(file.out, BAR_WIDTH, bottom + 20);
  fprintf(file.out, "<text class=\"title\" x=\"24\" y=\"28\">%s</text>\n", title);
  fprintf(file.out, "<text class=\"tick\" x=\"24\" y=\"48\">%s</text>\n", note);
  for (size_t i = 0; i < count; i++) draw_bar(file.out, &bars[i], i, most);
  fprintf(file.out, "<path class=\"frame\" d=\"M%d %dV%zu\"/>\n</svg>\n", BAR_LEFT, BAR_TOP - 6, bottom);
  return text_file_end(&file, path, force, err);
}
