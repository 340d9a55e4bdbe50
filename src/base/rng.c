/* base/rng.c: seeded random numbers.
 *
 * Nothing here calls libm: sums and products of doubles give the same result on every machine, logarithms and sines
 * do not. */
#include "base/rng.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Output i of a splitmix64 whose state is a hash of the seed, so that the sequences of neighbouring seeds do not
 * overlap. */
uint64_t fw_rng_hash(uint64_t seed, uint64_t i) {
  return fw_mix64(fw_mix64(seed + FW_SPLITMIX_STEP) + (i + 1) * FW_SPLITMIX_STEP);
}

/* ---- xoshiro256** (Blackman, Vigna, "Scrambled linear pseudorandom number generators", 2021) ---- */

static uint64_t rotate(uint64_t x, int k) {
  return x << k | x >> (64 - k);
}

void fw_rng_init(fw_rng *rng, uint64_t seed) {
  for (int i = 0; i < 4; i++) rng->state[i] = fw_splitmix64(&seed);
}

uint64_t fw_rng_next(fw_rng *rng) {
  uint64_t *s = rng->state;
  uint64_t result = rotate(s[1] * 5, 7) * 9;
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 45);
  return result;
}

/* The high half of a product with `bound`. Of the low halves, 2^64 mod bound are rejected and drawn again, which
 * removes the bias (Lemire, "Fast random integer generation in an interval", 2019). */
uint64_t fw_rng_below(fw_rng *rng, uint64_t bound) {
  assert(bound > 0);
  unsigned __int128 product = (unsigned __int128)fw_rng_next(rng) * bound;
  if ((uint64_t)product < bound) {
    uint64_t surplus = (0 - bound) % bound;
    while ((uint64_t)product < surplus) product = (unsigned __int128)fw_rng_next(rng) * bound;
  }
  return (uint64_t)(product >> 64);
}

double fw_rng_double(fw_rng *rng) {
  return (double)(fw_rng_next(rng) >> 11) * 0x1p-53;
}

/* ---- normal (Karney, "Sampling exactly from the normal distribution", 2016) ---- */

/* True with probability exp(-p), 0 <= p <= 1: p > u1 > u2 > … is longer than n with probability p^n / n!, so the
 * probability that it breaks after an even number is 1 - p + p^2/2 - … (von Neumann, 1951). */
static bool chance_exp(fw_rng *rng, double p) {
  for (bool even = true;; even = !even) {
    double u = fw_rng_double(rng);
    if (u >= p) return even;
    p = u;
  }
}

static bool chance_exp_times(fw_rng *rng, double p, int times) {
  while (times-- > 0)
    if (!chance_exp(rng, p)) return false;
  return true;
}

/* floor(2^64 (e^(-0/2) + e^(-1/2) + e^(-4/2) + … + e^(-k^2/2)) / sum of all) */
static const uint64_t integer_part_up_to[] = {
    UINT64_C(0x92025b19482ce72b), UINT64_C(0xea91798547a0ef93), UINT64_C(0xfe5415c6e9da4bae),
    UINT64_C(0xfff3523319908c11), UINT64_C(0xffffdc31b8ef5942), UINT64_C(0xffffffdaa2d72344),
    UINT64_C(0xfffffffff1a20da4), UINT64_C(0xfffffffffffdf76c), UINT64_C(0xffffffffffffffe4),
};

/* exp(-(k + x)^2 / 2) = exp(-k^2 / 2) exp(-x (2k + x) / 2): draws an integer k from the table, a fraction x in [0,
 * 1), which is accepted with the second probability, and a sign. */
double fw_rng_normal(fw_rng *rng) {
  const int most = sizeof integer_part_up_to / sizeof *integer_part_up_to;
  for (;;) {
    int k = 0;
    for (uint64_t u = fw_rng_next(rng); k < most && u >= integer_part_up_to[k];) k++;
    uint64_t bits = fw_rng_next(rng);
    double x = (double)(bits >> 11) * 0x1p-53;
    if (chance_exp_times(rng, x * (2 * k + x) / (2 * (k + 1)), k + 1)) return bits & 1 ? -(k + x) : k + x;
  }
}

/* ---- shuffle ---- */

static void swap(unsigned char *a, unsigned char *b, size_t size) {
  unsigned char kept[64];
  while (size > 0) {
    size_t part = size < sizeof kept ? size : sizeof kept;
    memcpy(kept, a, part);
    memcpy(a, b, part);
    memcpy(b, kept, part);
    a += part;
    b += part;
    size -= part;
  }
}

/* The same for 32-bit elements, such as the rows of an epoch, without a memcpy of variable size. */
static void shuffle_u32(fw_rng *rng, uint32_t *elements, size_t n) {
  for (size_t i = n; i > 1; i--) {
    const size_t j = fw_rng_below(rng, i);
    const uint32_t kept = elements[j];
    elements[j] = elements[i - 1];
    elements[i - 1] = kept;
  }
}

void fw_rng_shuffle(fw_rng *rng, void *elements, size_t n, size_t size) {
  if (size == sizeof(uint32_t) && (uintptr_t)elements % sizeof(uint32_t) == 0) {
    shuffle_u32(rng, elements, n);
    return;
  }
  unsigned char *base = elements;
  for (size_t i = n; i > 1; i--) {
    size_t j = fw_rng_below(rng, i);
    if (j != i - 1) swap(base + j * size, base + (i - 1) * size, size);
  }
}

/* ---- MT19937 (Matsumoto, Nishimura, 1998) ---- */

enum { MT_SIZE = 624, MT_SHIFT = 397 };

void fw_mt19937_init(fw_mt19937 *rng, uint32_t seed) {
  rng->state[0] = seed;
  for (uint32_t i = 1; i < MT_SIZE; i++) {
    uint32_t last = rng->state[i - 1];
    rng->state[i] = UINT32_C(1812433253) * (last ^ last >> 30) + i;
  }
  rng->used = MT_SIZE;
}

static void refill(fw_mt19937 *rng) {
  uint32_t *s = rng->state;
  for (int i = 0; i < MT_SIZE; i++) {
    uint32_t y = (s[i] & 0x80000000) | (s[(i + 1) % MT_SIZE] & 0x7fffffff);
    s[i] = s[(i + MT_SHIFT) % MT_SIZE] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
  }
  rng->used = 0;
}

uint32_t fw_mt19937_next(fw_mt19937 *rng) {
  if (rng->used >= MT_SIZE) refill(rng);
  uint32_t y = rng->state[rng->used++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680;
  y ^= y << 15 & 0xefc60000;
  return y ^ y >> 18;
}

/* ---- The seed of hash tables ---- */

static uint64_t draw_hash_seed(void) {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed) return seed | 1;
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() ^ (uint64_t)(uintptr_t)&now) | 1;
}

uint64_t fw_hash_seed(void) {
  static _Atomic uint64_t seed; /* 0: not drawn yet */
  uint64_t mine = atomic_load(&seed), drawn;
  if (mine != 0) return mine;
  drawn = draw_hash_seed();
  return atomic_compare_exchange_strong(&seed, &mine, drawn) ? drawn : mine;
}
