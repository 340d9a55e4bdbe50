/* learn/train/thread_limit.c: how many threads train a batch, found by measuring. */
#include "learn/train/thread_limit.h"

#include <string.h>

/* What another number must gain: less is chance. */
#define WORTH 0.95

void fw_thread_limit_init(fw_thread_limit *limit, unsigned threads) {
  *limit = (fw_thread_limit){.threads = threads, .best = threads, .tried = threads, .settled = threads == 1};
}

void fw_thread_limit_start(fw_thread_limit *limit) {
  limit->tried = limit->best;
  limit->best_seconds = 0;
  limit->count = 0;
  limit->up = false;
  limit->settled = limit->threads == 1;
}

static unsigned fewer(const fw_thread_limit *limit) {
  return limit->best / 2;
}

static unsigned more(const fw_thread_limit *limit) {
  return limit->best * 2 < limit->threads ? limit->best * 2 : limit->threads;
}

/* What is not the business of the number of threads only makes a batch slower: the fifth that was fastest counts. */
static double typical_seconds(double *seconds) {
  for (unsigned i = 1; i < FW_LIMIT_BATCHES; i++) {
    const double x = seconds[i];
    unsigned at = i;
    for (; at > 0 && seconds[at - 1] > x; at--) seconds[at] = seconds[at - 1];
    seconds[at] = x;
  }
  return seconds[FW_LIMIT_BATCHES / 5];
}

static void try_number(fw_thread_limit *limit, unsigned number) {
  limit->settled = number == 0 || number == limit->best;
  limit->tried = limit->settled ? limit->best : number;
}

/* After each number: on in its direction while that helps; upwards if going down did not help at all. */
static void decide(fw_thread_limit *limit, double seconds) {
  const bool first = limit->best_seconds == 0, better = first || seconds < WORTH * limit->best_seconds;
  const bool reverses = !better && !limit->up && limit->tried == fewer(limit) && limit->best < limit->threads;
  if (better) {
    limit->best = limit->tried;
    limit->best_seconds = seconds;
  }
  limit->up |= reverses;
  if (better || reverses)
    try_number(limit, limit->up ? more(limit) : fewer(limit));
  else
    try_number(limit, 0);
  if (limit->settled && first && limit->best < limit->threads) { /* one thread: there are no fewer */
    limit->up = true;
    try_number(limit, more(limit));
  }
}

void fw_thread_limit_add(fw_thread_limit *limit, double seconds) {
  if (limit->settled) return;
  const unsigned count = limit->count++;
  if (count < FW_LIMIT_SKIPPED) return;
  limit->seconds[count - FW_LIMIT_SKIPPED] = seconds;
  if (limit->count < FW_LIMIT_SKIPPED + FW_LIMIT_BATCHES) return;
  limit->count = 0;
  decide(limit, typical_seconds(limit->seconds));
}
