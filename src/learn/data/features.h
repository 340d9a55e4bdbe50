/* learn/data/features.h: a record of numbers for each feature: an array over a known range, or a table of 64-bit
 * keys.
 *
 * Where several ranks share a model, each stores the records of its own features: those with key % ranks == rank.
 *
 * A record is made once, with its first numbers, and never moves. Finding a record may run while other threads write
 * into records; making one needs exclusive access to the store. */
#ifndef FW_LEARN_DATA_FEATURES_H
#define FW_LEARN_DATA_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

typedef struct fw_features fw_features;

typedef struct fw_features_params {
  size_t bytes;   /* bytes of a record */
  uint64_t range; /* keys 0 … range - 1 get their records at once; 0: a table, records are made one by one */
  uint64_t most;  /* refuse more features than that, of a table; 0: no limit */
  void (*first)(const void *context, uint64_t key, void *record); /* writes the first numbers */
  const void *context;
  unsigned rank, ranks; /* ranks is 0 or 1: all features belong to this rank */
} fw_features_params;

/* Hashes of numbers for tables, with a seed that is not known before the process runs (fw_hash_seed). The high bits of
 * a hash are the ones to use: they depend on all bits of the key and of the seed. */
static inline uint64_t fw_key_hash(uint64_t key, uint64_t seed) {
  const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
  uint64_t hash = (key ^ seed) * odd;
  hash ^= hash >> 32;
  return hash * odd;
}

/* The rank that a feature belongs to. */
static inline unsigned fw_feature_owner(uint64_t key, unsigned ranks) {
  return ranks > 1 ? (unsigned)(key % ranks) : 0;
}

furrow_status fw_features_create(fw_features **features, const fw_features_params *params,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_features_free(fw_features *features);
/* Whether it is a table. */
bool fw_features_is_open(const fw_features *features);
/* Bytes that it takes now. */
size_t fw_features_memory(const fw_features *features);

/* Features that have a record. */
uint64_t fw_features_count(const fw_features *features);

/* NULL: the feature has no record here. */
void *fw_features_find(const fw_features *features, uint64_t key);
/* Finds the record of a feature, or makes it; the feature must belong to this rank. E_RANGE: it is beyond the range, or
 * one more than `most`. */
furrow_status fw_features_make(fw_features *features, uint64_t key, void **record, furrow_error *err) FURROW_MUST_USE;
/* The same for many features, with prefetched memory. The function that only finds uses `none` for missing ones. */
void fw_features_find_all(const fw_features *features, const uint64_t *keys, size_t count, void *none, void **records);
furrow_status fw_features_make_all(fw_features *features, const uint64_t *keys, size_t count, void **records,
                                   furrow_error *err) FURROW_MUST_USE;

/* The keys that have a record, ascending, to be freed with fw_free; NULL if the records are an array over all keys, and
 * then the count is the range. */
furrow_status fw_features_keys(const fw_features *features, uint64_t **keys, size_t *count,
                               furrow_error *err) FURROW_MUST_USE;

#endif
