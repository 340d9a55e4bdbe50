/* learn/train/thread_limit.h: how many threads train a batch, found by measuring.
 *
 * Weights go from cache to cache between threads. Where a batch is little work, that takes longer than the work itself,
 * and fewer threads are faster; the others prepare batches meanwhile. */
#ifndef FW_LEARN_TRAIN_THREAD_LIMIT_H
#define FW_LEARN_TRAIN_THREAD_LIMIT_H

#include <stdbool.h>

/* Batches that are measured with a number of threads, behind the first ones, which are not counted. */
enum { FW_LIMIT_BATCHES = 15, FW_LIMIT_SKIPPED = 3 };

typedef struct fw_thread_limit {
  unsigned threads;     /* all that there are */
  unsigned best, tried; /* the fastest number so far, and the one at work: all, or half as many … */
  double best_seconds;  /* of a batch; 0: not measured yet */
  bool up, settled;     /* more threads are tried, not fewer; nothing is tried any more */
  unsigned count;
  double seconds[FW_LIMIT_BATCHES];
} fw_thread_limit;

/* The caller's struct; begins with all threads. */
void fw_thread_limit_init(fw_thread_limit *limit, unsigned threads);
/* Measures anew, from the number that was best: at the beginning of an epoch. */
void fw_thread_limit_start(fw_thread_limit *limit);
/* A batch took so long with `tried` threads. It may change `tried`. */
void fw_thread_limit_add(fw_thread_limit *limit, double seconds);

#endif
