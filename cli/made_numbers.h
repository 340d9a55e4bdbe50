/* cli/made_numbers.h: numbers for data that is made: the same on every machine, without any function of libm. */
#ifndef FURROW_CLI_MADE_NUMBERS_H
#define FURROW_CLI_MADE_NUMBERS_H

#include <stdint.h>

/* splitmix64 */
static inline uint64_t draw(uint64_t *rng) {
  uint64_t z = *rng += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static inline uint32_t draw_below(uint64_t *rng, uint32_t bound) {
  return (uint32_t)(((draw(rng) >> 32) * bound) >> 32);
}

/* From 0 up to, but without, 1. */
static inline double draw_uniform(uint64_t *rng) {
  return (double)(draw(rng) >> 11) * 0x1p-53;
}

/* Nearly normal, of deviation 1, from four uniform numbers of 16 bits. */
static inline double draw_bell(uint64_t *rng) {
  const uint64_t bits = draw(rng);
  int32_t sum = 0;
  for (int i = 0; i < 4; i++) sum += (int32_t)(bits >> (16 * i) & 0xffff);
  return (sum - 131070) * (1.0 / 37837.2);
}

/* exp(x) for |x| < 700: e^x = 2^k e^r, |r| <= ln 2 / 2, and a series. */
static inline double made_exp(double x) {
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
