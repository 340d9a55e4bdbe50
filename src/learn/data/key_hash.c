/* learn/data/key_hash.c: the seed of hashes. */
#include "learn/data/key_hash.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static uint64_t draw(void) {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed | 1;
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() ^ (uint64_t)(uintptr_t)&now) | 1;
}

uint64_t fw_key_hash_seed(void) {
  static _Atomic uint64_t seed; /* 0: not drawn yet */
  uint64_t mine = atomic_load(&seed), drawn;
  if (mine != 0) return mine;
  drawn = draw();
  return atomic_compare_exchange_strong(&seed, &mine, drawn) ? drawn : mine;
}
