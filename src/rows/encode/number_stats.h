/* rows/encode/number_stats.h: mean, deviation and quantiles of the numbers of a column.
 *
 * Data comes in numbered pieces, in any order and to several of these; merged, they give the same bits whatever the
 * order was: sums are made by piece and added up in the order of the pieces, and the sample for quantiles holds the
 * numbers whose places in the data have the smallest hashes. */
#ifndef FW_ROWS_ENCODE_NUMBER_STATS_H
#define FW_ROWS_ENCODE_NUMBER_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_SAMPLE_NUMBERS 8192

typedef struct fw_number_piece {
  uint64_t piece, count;
  double mean, squares; /* squares: sum of the squared distances from the mean */
} fw_number_piece;

typedef struct fw_sampled_number {
  uint64_t hash;
  double number;
} fw_sampled_number;

/* The caller's struct; all zeros: no numbers. */
typedef struct fw_number_stats {
  fw_number_piece *pieces;
  size_t piece_count, piece_capacity;
  fw_sampled_number *sample; /* a heap, the largest hash first */
  size_t sampled;
  double most; /* the largest number */
} fw_number_stats;

void fw_number_stats_clear(fw_number_stats *stats);
/* Adds a number of a piece; `record` is its place there. The pieces may come in any order, all numbers of one in
 * theirs. */
furrow_status fw_number_stats_add(fw_number_stats *stats, uint64_t piece, uint64_t record, double number,
                                  furrow_error *err) FURROW_MUST_USE;
furrow_status fw_number_stats_merge(fw_number_stats *stats, const fw_number_stats *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Count, mean and standard deviation of all. */
void fw_number_stats_moments(fw_number_stats *stats, uint64_t *count, double *mean, double *deviation);
/* Cuts the numbers into up to `bins` bins of about as many: at most bins - 1 edges, ascending, none twice; number x is
 * in the bin of the edges that are <= x. Returns how many edges there are. */
size_t fw_number_stats_edges(fw_number_stats *stats, size_t bins, double *edges);

#endif
