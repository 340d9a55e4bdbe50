/* base/rng.h: seeded random numbers; the same seed gives the same numbers on every machine. The seed of hash tables. */
#ifndef FW_BASE_RNG_H
#define FW_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): its increment, the function
 * that mixes the bits of a number, and the next number of a generator whose state is one word. */
#define FW_SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */
static inline uint64_t fw_mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}
static inline uint64_t fw_splitmix64(uint64_t *state) {
  return fw_mix64(*state += FW_SPLITMIX_STEP);
}

/* xoshiro256** seeded by splitmix64: the library's default generator. */
typedef struct fw_rng {
  uint64_t state[4];
} fw_rng;

void fw_rng_init(fw_rng *rng, uint64_t seed);
uint64_t fw_rng_next(fw_rng *rng);
/* Uniform in [0, bound), without bias; bound > 0. */
uint64_t fw_rng_below(fw_rng *rng, uint64_t bound);
/* Uniform in [0, 1). */
double fw_rng_double(fw_rng *rng);
/* Normal, mean 0, deviation 1. */
double fw_rng_normal(fw_rng *rng);
/* Shuffles n elements of `size` bytes (Fisher–Yates). */
void fw_rng_shuffle(fw_rng *rng, void *elements, size_t n, size_t size);

/* A number that depends on (seed, i) alone, for random choices that must not depend on order or threads. */
uint64_t fw_rng_hash(uint64_t seed, uint64_t i);

/* The seed of hash tables: random, and the same as long as the process runs. If it were known, keys could be chosen
 * that all meet in one slot. A hash decides only where a key is looked for: no result may depend on the seed. */
uint64_t fw_hash_seed(void);

/* MT19937, the 32-bit Mersenne twister as C++'s std::mt19937 gives it (Faiss samples with it). */
typedef struct fw_mt19937 {
  uint32_t state[624];
  unsigned used;
} fw_mt19937;

void fw_mt19937_init(fw_mt19937 *rng, uint32_t seed);
uint32_t fw_mt19937_next(fw_mt19937 *rng);

#endif
