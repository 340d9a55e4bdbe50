/* rows/encode/curve_test.h: whether the effect of a number on the label is a straight line. */
#ifndef FW_ROWS_ENCODE_CURVE_TEST_H
#define FW_ROWS_ENCODE_CURVE_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "rows/schema/schema.h"

enum {
  FW_CURVE_ROWS = 500,               /* fewer rows show no curve */
  FW_CURVE_BINS = 2 * FW_NUMBER_BINS /* the most bins */
};

/* One number and the label, of a row that has both. */
typedef struct fw_number_label {
  double x, y;
} fw_number_label;

/* Whether bins have a lower loss than a line, beyond chance: each half of the rows is predicted from the other. Two
 * classes are 0 and 1. sorted: memory for `count` numbers. */
bool fw_number_is_curve(const fw_number_label *rows, size_t count, bool classes, double *sorted);
/* The number of bins that so many rows are put into. */
size_t fw_curve_bins(size_t rows);
/* Sorts the numbers. Quantiles of them are the edges of bins, as an encoder has them: `most` - 1 at most. Returns how
 * many edges there are. */
size_t fw_curve_edges(double *numbers, size_t count, size_t most, double *edges);
/* The bin of a number: how many edges are not above it. */
size_t fw_curve_bin(const double *edges, size_t count, double x);

#endif
