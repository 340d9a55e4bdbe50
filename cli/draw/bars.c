/* cli/draw/bars.c: bars with names as a picture (SVG), readable on light and on dark ground. */
#include "draw/bars.h"

#include <math.h>

#include "core/text_file.h"
#include "draw/chart.h"

enum { WIDTH = 760, LEFT = 150, RIGHT = 660, TOP = 64, STEP = 24, THICK = 16 };

static void draw_bar(FILE *out, const bar *b, size_t place, double most) {
  const double y = TOP + (double)place * STEP, length = most > 0 ? b->value / most * (RIGHT - LEFT) : 0;
  fprintf(out, "<text class=\"axis\" text-anchor=\"end\" x=\"%d\" y=\"%.0f\">%s</text>", LEFT - 10, y + 13, b->name);
  fprintf(out, "<rect class=\"m0\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>", LEFT, y,
          fmax(length, 1), THICK);
  fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.0f\">%.4g</text>\n", LEFT + length + 8, y + 13, b->value);
}

furrow_status bars_write(const char *path, const char *title, const char *note, const bar *bars, size_t count,
                         bool force, furrow_error *err) {
  text_file file;
  double most = 0;
  furrow_status status = text_file_begin(&file, err);
  if (status != FURROW_OK) return status;
  const size_t bottom = TOP + count * STEP;
  for (size_t i = 0; i < count; i++) most = fmax(most, bars[i].value);
  chart_page(file.out, WIDTH, bottom + 20);
  fprintf(file.out, "<text class=\"title\" x=\"24\" y=\"28\">%s</text>\n", title);
  fprintf(file.out, "<text class=\"tick\" x=\"24\" y=\"48\">%s</text>\n", note);
  for (size_t i = 0; i < count; i++) draw_bar(file.out, &bars[i], i, most);
  fprintf(file.out, "<path class=\"frame\" d=\"M%d %dV%zu\"/>\n</svg>\n", LEFT, TOP - 6, bottom);
  return text_file_end(&file, path, force, err);
}
