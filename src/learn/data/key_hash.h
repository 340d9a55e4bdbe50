/* learn/data/key_hash.h: hashes of numbers for tables, with a seed that is not known before the process runs.
 *
 * Without a seed, keys could be chosen that all meet in one slot. Hashes decide only where a
 * key is looked for: no result may depend on them. */
#ifndef FW_LEARN_DATA_KEY_HASH_H
#define FW_LEARN_DATA_KEY_HASH_H

#include <stdint.h>

/* A random number that stays the same as long as the process runs. */
uint64_t fw_key_hash_seed(void);

/* The high bits are the ones to use: they depend on all bits of the key and of the seed. */
static inline uint64_t fw_key_hash(uint64_t key, uint64_t seed) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
  uint64_t hash = (key ^ seed) * odd;
  hash ^= hash >> 32;
  return hash * odd;
}

#endif
