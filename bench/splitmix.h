/* bench/splitmix.h: random numbers for the programs that make data. */
#ifndef SPLITMIX_H
#define SPLITMIX_H

#include <stdint.h>

/* splitmix64 */
static inline uint64_t draw(uint64_t *rng) {
  uint64_t z = *rng += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static inline uint32_t below(uint64_t *rng, uint32_t bound) {
  return (uint32_t)(((draw(rng) >> 32) * bound) >> 32);
}

#endif
