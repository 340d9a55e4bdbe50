/* learn/data/features.c: a record of numbers for each feature: an array over a known range, or a table of 64-bit
 * keys.
 *
 * The table is one array of slots, searched from the key's hash on; a slot names the record by number. Records lie in
 * chunks, so that they stay where they are when there are more. */
#include "learn/data/features.h"

#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"

#define CHUNK_BYTES ((size_t)8 << 20) /* about, so that large pages fit; a power of two of records */
#define FIRST_SLOTS ((size_t)1 << 10)
#define AHEAD 32 /* keys by which memory is prefetched ahead */

typedef struct slot {
  uint64_t key;
  uint64_t record; /* number + 1; 0: empty */
} slot;

struct fw_features {
  fw_features_params params;
  unsigned char *array; /* records of the features of a known range */
  slot *slots;          /* a power of two of them, at most 2/3 full */
  size_t slot_count;
  int hash_shift; /* 64 - log2(slot_count) */
  uint64_t seed;  /* seed of hashes */
  uint64_t count;
  unsigned char **chunks;
  size_t chunk_count, chunk_capacity;
  int chunk_shift; /* records of a chunk, as a power of two */
};

/* ---- Create, free ---- */

/* The i-th of its own keys. */
static uint64_t own_key(const fw_features *features, uint64_t i) {
  return i * features->params.ranks + features->params.rank;
}

static uint64_t count_own(const fw_features_params *params) {
  if (params->range <= params->rank) return 0;
  return (params->range - params->rank + params->ranks - 1) / params->ranks;
}

static furrow_status create_array(fw_features *features, furrow_error *err) {
  const fw_features_params *params = &features->params;
  const uint64_t count = count_own(params);
  if (count >= SIZE_MAX) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_ALLOC_ROWS(&features->array, (size_t)(count ? count : 1), params->bytes, err));
  fw_prefer_large_pages(features->array, (size_t)count * params->bytes);
  features->count = count;
  for (uint64_t i = 0; i < count; i++)
    params->first(params->context, own_key(features, i), features->array + i * params->bytes);
  return FURROW_OK;
}

static int log2_of(size_t power) {
  return __builtin_ctzll(power);
}

static furrow_status create_table(fw_features *features, furrow_error *err) {
  while (features->params.bytes << (features->chunk_shift + 1) <= CHUNK_BYTES) features->chunk_shift++;
  FW_TRY(FW_ALLOC_ZERO(&features->slots, FIRST_SLOTS, err));
  features->slot_count = FIRST_SLOTS;
  features->hash_shift = 64 - log2_of(FIRST_SLOTS);
  features->seed = fw_hash_seed();
  return FURROW_OK;
}

furrow_status fw_features_create(fw_features **features, const fw_features_params *params, furrow_error *err) {
  assert(params->bytes > 0);
  fw_features *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->params = *params;
  if (params->ranks == 0) made->params.ranks = 1;
  const furrow_status status = params->range ? create_array(made, err) : create_table(made, err);
  return FW_HAND_OVER(status, features, made, fw_features_free);
}

void fw_features_free(fw_features *features) {
  if (!features) return;
  for (size_t i = 0; i < features->chunk_count; i++) fw_free(features->chunks[i]);
  fw_free(features->chunks);
  fw_free(features->slots);
  fw_free(features->array);
  fw_free(features);
}

static size_t chunk_bytes(const fw_features *features) {
  return features->params.bytes << features->chunk_shift;
}

bool fw_features_is_open(const fw_features *features) {
  return features->slots != NULL;
}

size_t fw_features_memory(const fw_features *features) {
  if (features->array) return (size_t)features->count * features->params.bytes;
  return features->slot_count * sizeof(slot) + (size_t)features->count * features->params.bytes;
}

uint64_t fw_features_count(const fw_features *features) {
  return features->count;
}

/* ---- Find ---- */

static size_t home_of(const fw_features *features, uint64_t key) {
  return (size_t)(fw_key_hash(key, features->seed) >> features->hash_shift);
}

static void *record_at(const fw_features *features, uint64_t number) {
  const uint64_t within = number & (((uint64_t)1 << features->chunk_shift) - 1);
  return features->chunks[number >> features->chunk_shift] + within * features->params.bytes;
}

/* The slot of a key, or the empty slot for it. */
static slot *slot_of(const fw_features *features, uint64_t key) {
  size_t at = home_of(features, key);
  while (features->slots[at].record && features->slots[at].key != key) at = (at + 1) & (features->slot_count - 1);
  return &features->slots[at];
}

static void *find_in_array(const fw_features *features, uint64_t key) {
  const fw_features_params *params = &features->params;
  if (key >= params->range) return NULL;
  if (params->ranks == 1) return features->array + key * params->bytes;
  return key % params->ranks == params->rank ? features->array + key / params->ranks * params->bytes : NULL;
}

void *fw_features_find(const fw_features *features, uint64_t key) {
  if (features->array) return find_in_array(features, key);
  const slot *found = slot_of(features, key);
  return found->record ? record_at(features, found->record - 1) : NULL;
}

/* Must be inlined: the compiler drops a call of a function that only prefetches. */
static inline __attribute__((always_inline)) void ask_for_slot(const fw_features *features, const uint64_t *keys,
                                                               size_t count, size_t i) {
  if (features->slots && i < count) __builtin_prefetch(&features->slots[home_of(features, keys[i])]);
}

/* Whether all keys are in the array of a single process: then a record is found by its address alone. */
static bool has_all(const fw_features *features, const uint64_t *keys, size_t count) {
  uint64_t largest = 0;
  if (!features->array || features->params.ranks > 1) return false;
  for (size_t i = 0; i < count; i++) largest = keys[i] > largest ? keys[i] : largest;
  return largest < features->params.range;
}

static void list_records(const fw_features *features, const uint64_t *keys, size_t count, void **records) {
  const size_t bytes = features->params.bytes;
  for (size_t i = 0; i < count; i++) records[i] = features->array + keys[i] * bytes;
}

void fw_features_find_all(const fw_features *features, const uint64_t *keys, size_t count, void *none, void **records) {
  if (has_all(features, keys, count)) {
    list_records(features, keys, count, records);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    ask_for_slot(features, keys, count, i + AHEAD);
    void *found = fw_features_find(features, keys[i]);
    records[i] = found ? found : none;
  }
}

/* ---- Make ---- */

static furrow_status double_slots(fw_features *features, furrow_error *err) {
  const size_t before = features->slot_count;
  slot *old = features->slots, *more = NULL;
  if (before > SIZE_MAX / 2) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_ALLOC_ZERO(&more, 2 * before, err));
  fw_prefer_large_pages(more, 2 * before * sizeof(slot));
  features->slots = more;
  features->slot_count = 2 * before;
  features->hash_shift--;
  for (size_t i = 0; i < before; i++)
    if (old[i].record) *slot_of(features, old[i].key) = old[i];
  fw_free(old);
  return FURROW_OK;
}

static furrow_status add_chunk(fw_features *features, furrow_error *err) {
  FW_TRY(FW_GROW(&features->chunks, &features->chunk_capacity, features->chunk_count + 1, err));
  FW_TRY(FW_ALLOC(&features->chunks[features->chunk_count], chunk_bytes(features), err));
  fw_prefer_large_pages(features->chunks[features->chunk_count++], chunk_bytes(features));
  return FURROW_OK;
}

/* Capacity for one more slot and one more record. */
static furrow_status reserve_record(fw_features *features, furrow_error *err) {
  if (features->params.most && features->count >= features->params.most)
    return fw_fail(err, FURROW_E_RANGE, "the data has more than %" PRIu64 " features", features->params.most);
  if ((features->count + 1) * 3 > (uint64_t)features->slot_count * 2) FW_TRY(double_slots(features, err));
  return features->count >> features->chunk_shift == features->chunk_count ? add_chunk(features, err) : FURROW_OK;
}

static furrow_status add_record(fw_features *features, uint64_t key, void **record, furrow_error *err) {
  FW_TRY(reserve_record(features, err));
  *slot_of(features, key) = (slot){.key = key, .record = features->count + 1};
  *record = record_at(features, features->count++);
  features->params.first(features->params.context, key, *record);
  return FURROW_OK;
}

furrow_status fw_features_make(fw_features *features, uint64_t key, void **record, furrow_error *err) {
  assert(fw_feature_owner(key, features->params.ranks) == features->params.rank);
  void *found = fw_features_find(features, key);
  if (!found && features->array)
    return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond the range of %" PRIu64, key,
                   features->params.range);
  if (!found) return add_record(features, key, record, err);
  *record = found;
  return FURROW_OK;
}

furrow_status fw_features_make_all(fw_features *features, const uint64_t *keys, size_t count, void **records,
                                   furrow_error *err) {
  if (has_all(features, keys, count)) {
    list_records(features, keys, count, records);
    return FURROW_OK;
  }
  for (size_t i = 0; i < count; i++) {
    ask_for_slot(features, keys, count, i + AHEAD);
    furrow_status status = fw_features_make(features, keys[i], &records[i], err);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

/* ---- Keys ---- */

static void list_table(const fw_features *features, uint64_t *list) {
  size_t n = 0;
  for (size_t i = 0; i < features->slot_count; i++)
    if (features->slots[i].record) list[n++] = features->slots[i].key;
  fw_sort_u64(list, n);
}

furrow_status fw_features_keys(const fw_features *features, uint64_t **keys, size_t *count, furrow_error *err) {
  uint64_t *list = NULL;
  const bool part = features->params.ranks > 1;
  if (features->slots || part) {
    furrow_status status = FW_ALLOC(&list, (size_t)features->count + part, err);
    if (status != FURROW_OK) return status;
  }
  if (features->slots)
    list_table(features, list);
  else
    for (uint64_t i = 0; part && i < features->count; i++) list[i] = own_key(features, i);
  *keys = list;
  *count = (size_t)features->count;
  return FURROW_OK;
}
