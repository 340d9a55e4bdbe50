/* bench/contest.h: several ways to do the same work, timed in turns.
 *
 * Every round times each contestant once, every other round in the reverse order, so that a slow moment of the machine
 * hits all of them. A timing repeats the work until it takes some milliseconds. Times are processor time of the calling
 * thread. The first contestant is Furrow; a ratio is the median over the rounds of (peer's time / Furrow's time of the
 * same round): above 1 Furrow is ahead. In C and in C++. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONTEST_MOST = 12, CONTEST_MOST_ROUNDS = 101 };

typedef struct contestant {
  const char *name;
  void (*work)(void *context);
  void *context;
  double seconds, ratio; /* found: median of one call of work; see above */
} contestant;

typedef struct contest_options {
  size_t rounds;
  double least;     /* seconds of a timing */
  const char *only; /* one contestant's name: the others do nothing, for programs that count instructions */
  bool json;
} contest_options;

static inline double contest_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int contest_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline double contest_median(double *values, size_t n) {
  qsort(values, n, sizeof *values, contest_compare);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static inline double contest_time(const contestant *c, size_t times) {
  const double start = contest_clock();
  for (size_t i = 0; i < times; i++) c->work(c->context);
  return (contest_clock() - start) / (double)times;
}

static inline void contest_run(contestant *all, size_t count, const contest_options *o) {
  static double seconds[CONTEST_MOST][CONTEST_MOST_ROUNDS], ratios[CONTEST_MOST_ROUNDS];
  size_t times[CONTEST_MOST];
  for (size_t i = 0; i < count; i++) {
    const double once = contest_time(&all[i], 1), again = contest_time(&all[i], 1); /* the first one warms up */
    const double shorter = once < again ? once : again;
    times[i] = shorter < o->least ? (size_t)(o->least / (shorter + 1e-8)) + 1 : 1;
  }
  for (size_t r = 0; r < o->rounds; r++)
    for (size_t k = 0; k < count; k++) {
      const size_t i = r % 2 ? count - 1 - k : k;
      seconds[i][r] = contest_time(&all[i], times[i]);
    }
  for (size_t i = 0; i < count; i++) {
    for (size_t r = 0; r < o->rounds; r++) ratios[r] = seconds[i][r] / seconds[0][r];
    all[i].ratio = contest_median(ratios, o->rounds);
  }
  for (size_t i = 0; i < count; i++) all[i].seconds = contest_median(seconds[i], o->rounds);
}

/* --rounds N, --quick, --json, --only NAME; false: another option, or a number that cannot be. Others than options are
 * left to the caller, from argv[*rest] on. */
static inline bool contest_parse(int argc, char **argv, contest_options *o, int *rest) {
  int i = 1;
  for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      o->rounds = 3;
      o->least = 0.002;
    } else if (strcmp(argv[i], "--json") == 0) {
      o->json = true;
    } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      o->rounds = (size_t)strtoul(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      o->only = argv[++i];
    } else {
      return false;
    }
  }
  *rest = i;
  return o->rounds > 0 && o->rounds <= CONTEST_MOST_ROUNDS;
}

#endif
