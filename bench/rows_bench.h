/* bench/rows_bench.h: what the programs that time a parser share, in C and C++: options, sums, clock and report.
 *
 *   PROGRAM [--format F] [--threads T] [--index u32|u64] [--repeat N] URI
 *
 * A first pass, not timed, adds up what was read, so that parsers can be compared; the N timed passes only count rows
 * and features. One line of JSON per timed pass. MB are 10^6 bytes. The time runs from opening the parser to the end of
 * its last block.
 */
#ifndef ROWS_BENCH_H
#define ROWS_BENCH_H

#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_clock.h"

typedef struct bench_options {
  const char *format, *uri;
  uint32_t threads, repeat;
  bool wide; /* indices of 64 bits */
} bench_options;

/* What a pass found. The sums say whether two parsers agree. */
typedef struct bench_sums {
  uint64_t rows, features, bytes;
  uint64_t index_sum; /* modulo 2^64 */
  double label_sum, value_sum;
} bench_sums;

static inline bool bench_parse_options(int argc, char **argv, bench_options *options) {
  static const struct option names[] = {{"format", required_argument, NULL, 'f'},
                                        {"threads", required_argument, NULL, 't'},
                                        {"index", required_argument, NULL, 'i'},
                                        {"repeat", required_argument, NULL, 'r'},
                                        {NULL, 0, NULL, 0}};
  bool good = true;
  int c;
  options->format = "auto";
  options->threads = options->repeat = 1;
  options->wide = false;
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (c == 'f') options->format = optarg;
    if (c == 't') options->threads = (uint32_t)atoi(optarg);
    if (c == 'r') options->repeat = (uint32_t)atoi(optarg);
    if (c == 'i') options->wide = strcmp(optarg, "u64") == 0;
    good = good && c != '?';
  }
  if (!good || optind != argc - 1) {
    fprintf(stderr, "usage: %s [--format F] [--threads T] [--index u32|u64] [--repeat N] URI\n", argv[0]);
    return false;
  }
  options->uri = argv[optind];
  return true;
}

static inline uint64_t bench_sum_u32(const uint32_t *a, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i];
  return sum;
}

static inline uint64_t bench_sum_u64(const uint64_t *a, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i];
  return sum;
}

/* Four sums at a time: one would wait for each addition before the next, a tenth of a fast parser's time. */
static inline double bench_sum_f32(const float *a, size_t n) {
  double sum[4] = {0, 0, 0, 0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; k++) sum[k] += a[i + k];
  }
  for (; i < n; i++) sum[0] += a[i];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Keeps the sums of the first pass; those of later passes must be equal. */
static inline bool bench_check_equal(uint32_t pass, bench_sums *first, const bench_sums *found) {
  if (pass == 0) *first = *found;
  if (found->rows == first->rows && found->features == first->features) return true;
  fprintf(stderr, "pass %" PRIu32 " found other rows than the first\n", pass);
  return false;
}

static inline void bench_report(const char *program, const bench_options *options, bench_clock start, bench_clock end,
                                const bench_sums *sums) {
  double seconds = end.wall - start.wall;
  printf(
      "{\"program\": \"%s\", \"format\": \"%s\", \"threads\": %" PRIu32 ", \"seconds\": %.6f, "
      "\"cpu_seconds\": %.6f, \"mb_per_s\": %.1f, \"bytes\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"features\": %" PRIu64
      ", \"index_sum\": %" PRIu64 ", \"label_sum\": %.9g, \"value_sum\": %.9g, \"peak_rss_mb\": %.1f}\n",
      program, options->format, options->threads, seconds, end.cpu - start.cpu, (double)sums->bytes / seconds / 1e6,
      sums->bytes, sums->rows, sums->features, sums->index_sum, sums->label_sum, sums->value_sum, bench_peak_memory());
  fflush(stdout);
}

#endif
