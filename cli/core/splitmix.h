/* cli/core/splitmix.h: random numbers for generated data, here and in bench/; uses no function of libm, so that the
 * bytes are the same everywhere. */
#ifndef CLI_CORE_SPLITMIX_H
#define CLI_CORE_SPLITMIX_H

#include <stdint.h>

#include "base/rng.h"

static inline uint32_t below(uint64_t *rng, uint32_t bound) {
  return (uint32_t)(((fw_splitmix64(rng) >> 32) * bound) >> 32);
}

/* Approximately normal with standard deviation 1: the sum of four uniform numbers of 16 bits. */
static inline double bell(uint64_t bits) {
  int32_t sum = 0;
  for (int i = 0; i < 4; i++) sum += (int32_t)(bits >> (16 * i) & 0xffff);
  return (sum - 131070) * (1.0 / 37837.2);
}

static inline double uniform(uint64_t *rng) {
  return (double)(fw_splitmix64(rng) >> 11) * 0x1p-53;
}

/* exp(x) for |x| < 700: e^x = 2^k e^r, |r| <= ln 2 / 2, and a series. */
static inline double exponential(double x) {
  const double ln2 = 0.69314718055994530942;
  const int k = (int)(x / ln2 + (x < 0 ? -0.5 : 0.5));
  const double r = x - k * ln2;
  double sum = 1, term = 1;
  for (int i = 1; i < 18; i++) sum += term *= r / i;
  for (int i = 0; i < k; i++) sum *= 2;
  for (int i = 0; i > k; i--) sum *= 0.5;
  return sum;
}

#endif
