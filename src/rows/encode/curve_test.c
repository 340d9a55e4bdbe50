/* rows/encode/curve_test.c: a line and bins for one number, compared by their losses. */
#include "rows/encode/curve_test.h"

#include <math.h>
#include <stdlib.h>

enum {
  MANY_ROWS = 20000, /* from here on there are twice as many bins */
  PRIOR_ROWS = 2,    /* with the mean label, that each bin has in addition */
  NEWTON_STEPS = 25
};

#define ERRORS_NEEDED 3.0 /* standard errors of the mean difference of the losses */
#define LEAST_CHANCE 1e-6

typedef struct straight_line {
  double mean, factor; /* of x */
  double slope, level;
} straight_line;

typedef struct binned_labels {
  double edges[FW_CURVE_BINS], levels[FW_CURVE_BINS];
  size_t count; /* number of edges */
} binned_labels;

static double chance_of(double score) {
  return 1 / (1 + exp(-score));
}

/* Newton's method, with a little L2 for the slope. */
static void fit_chances(straight_line *line, const fw_number_label *rows, size_t count) {
  line->slope = line->level = 0;
  for (int step = 0; step < NEWTON_STEPS; step++) {
    double g = 0, gx = line->slope, h = 1e-9, hx = 0, hxx = 1;
    for (size_t i = 0; i < count; i++) {
      const double x = (rows[i].x - line->mean) * line->factor, p = chance_of(line->level + line->slope * x);
      g += p - rows[i].y, gx += (p - rows[i].y) * x;
      h += p * (1 - p), hx += p * (1 - p) * x, hxx += p * (1 - p) * x * x;
    }
    const double determinant = h * hxx - hx * hx;
    if (!(determinant > 0)) return;
    const double level = (g * hxx - gx * hx) / determinant, slope = (gx * h - g * hx) / determinant;
    line->level -= fmax(-2, fmin(2, level)); /* far outliers could make a full step too long */
    line->slope -= fmax(-2, fmin(2, slope));
    if (fabs(level) < 1e-4 && fabs(slope) < 1e-4) return;
  }
}

static straight_line fit_line(const fw_number_label *rows, size_t count, bool classes) {
  straight_line line = {.factor = 1};
  double label = 0, squares = 0, products = 0;
  for (size_t i = 0; i < count; i++) {
    line.mean += rows[i].x / (double)count;
    label += rows[i].y / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    squares += (rows[i].x - line.mean) * (rows[i].x - line.mean);
    products += (rows[i].x - line.mean) * (rows[i].y - label);
  }
  if (squares > 0) line.factor = 1 / sqrt(squares / (double)count);
  line.level = label;
  line.slope = squares > 0 ? products / squares / line.factor : 0;
  if (classes) fit_chances(&line, rows, count);
  return line;
}

static int compare_numbers(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

size_t fw_curve_bin(const double *edges, size_t count, double x) {
  size_t bin = 0;
  while (bin < count && edges[bin] <= x) bin++;
  return bin;
}

static size_t bin_of(const binned_labels *bins, double x) {
  return fw_curve_bin(bins->edges, bins->count, x);
}

size_t fw_curve_edges(double *numbers, size_t count, size_t most, double *edges) {
  size_t made = 0;
  qsort(numbers, count, sizeof *numbers, compare_numbers);
  for (size_t i = 1; i < most; i++) {
    const double edge = numbers[i * count / most];
    if (edge > numbers[0] && (made == 0 || edge > edges[made - 1])) edges[made++] = edge;
  }
  return made;
}

/* sorted: memory for the numbers. */
static binned_labels fit_bins(const fw_number_label *rows, size_t count, size_t most, double *sorted) {
  binned_labels bins = {0};
  double rows_of[FW_CURVE_BINS] = {0}, label = 0;
  for (size_t i = 0; i < count; i++) {
    sorted[i] = rows[i].x;
    label += rows[i].y / (double)count;
  }
  bins.count = fw_curve_edges(sorted, count, most, bins.edges);
  for (size_t i = 0; i < count; i++) {
    const size_t bin = bin_of(&bins, rows[i].x);
    rows_of[bin]++;
    bins.levels[bin] += rows[i].y;
  }
  for (size_t i = 0; i <= bins.count; i++)
    bins.levels[i] = (bins.levels[i] + PRIOR_ROWS * label) / (rows_of[i] + PRIOR_ROWS);
  return bins;
}

static double loss_of(double prediction, double label, bool classes) {
  if (!classes) return (prediction - label) * (prediction - label);
  const double p = fmax(LEAST_CHANCE, fmin(1 - LEAST_CHANCE, prediction));
  return label > 0 ? -log(p) : -log(1 - p);
}

size_t fw_curve_bins(size_t rows) {
  return rows < MANY_ROWS ? FW_NUMBER_BINS : 2 * FW_NUMBER_BINS;
}

bool fw_number_is_curve(const fw_number_label *rows, size_t count, bool classes, double *sorted) {
  if (count < FW_CURVE_ROWS) return false;
  const size_t bins = fw_curve_bins(count);
  const fw_number_label *const parts[] = {rows, rows + count / 2};
  const size_t counts[] = {count / 2, count - count / 2};
  double sum = 0, squares = 0;
  for (int half = 0; half < 2; half++) {
    const straight_line line = fit_line(parts[half], counts[half], classes);
    const binned_labels binned = fit_bins(parts[half], counts[half], bins, sorted);
    for (size_t i = 0; i < counts[!half]; i++) {
      const fw_number_label row = parts[!half][i];
      const double score = line.level + line.slope * (row.x - line.mean) * line.factor;
      const double difference = loss_of(classes ? chance_of(score) : score, row.y, classes) -
                                loss_of(binned.levels[bin_of(&binned, row.x)], row.y, classes);
      sum += difference;
      squares += difference * difference;
    }
  }
  const double n = (double)count, mean = sum / n;
  return mean > 0 && mean > ERRORS_NEEDED * sqrt(fmax(squares / n - mean * mean, 0) / n);
}
