/* learn/data/local_ids.c: the different features of a batch, numbered.
 *
 * A table holds the features of a batch alone. An array over the range of keys is larger, but a lookup needs neither a
 * search nor an unpredictable branch, and its memory can be prefetched. */
#include "learn/data/minibatch.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "learn/data/features.h"

/* A slot of the table. It is free unless it has the stamp of this batch, so starting a batch clears nothing. */
typedef struct fw_local_id_entry {
  uint64_t key;
  uint32_t number, stamp;
} place;

/* For each key a stamp and, in the low half, the number that it had in the batch of that stamp. */
typedef struct fw_local_id_array {
  uint64_t *latest;
  uint32_t stamp;
} array;

enum { FIRST_TABLE_BITS = 12 };

/* The largest range with an array: 32 MB of addresses. Only pages that are used take memory. */
#define LARGEST_ARRAY ((uint64_t)1 << 22)

/* ---- The table ---- */

static inline size_t first_place(uint64_t key, uint64_t seed, unsigned shift) {
  return fw_key_hash(key, seed) >> shift;
}

/* Finds the slot that has the key, or the free slot where it belongs. */
static inline place *find_place(place *table, uint64_t seed, unsigned shift, uint32_t stamp, uint64_t key) {
  const size_t mask = ((size_t)1 << (64 - shift)) - 1;
  size_t at = first_place(key, seed, shift);
  while (table[at].stamp == stamp && table[at].key != key) at = (at + 1) & mask;
  return &table[at];
}

/* Moves to a larger table with the same numbers. */
static furrow_status make_table(fw_local_ids *n, unsigned shift, furrow_error *err) {
  place *table = NULL;
  FW_TRY(FW_ALLOC_ZERO(&table, (size_t)1 << (64 - shift), err));
  fw_free(n->table);
  n->table = table;
  n->shift = shift;
  n->stamp = 1;
  for (size_t i = 0; i < n->count; i++)
    *find_place(n->table, n->seed, shift, 1, n->key[i]) = (place){n->key[i], (uint32_t)i, 1};
  return FURROW_OK;
}

/* ---- Memory ---- */

static furrow_status make_array(fw_local_ids *n, furrow_error *err) {
  const size_t range = (size_t)n->range;
  FW_TRY(FW_ALLOC_ZERO(&n->own, 1, err));
  FW_TRY(FW_ALLOC_ZERO(&n->own->latest, range, err));
  fw_prefer_large_pages(n->own->latest, range * sizeof *n->own->latest);
  n->array = n->own;
  return FURROW_OK;
}

furrow_status fw_local_ids_init(fw_local_ids *n, uint64_t range, const fw_local_ids *beside, furrow_error *err) {
  *n = (fw_local_ids){.range = range, .seed = fw_hash_seed(), .array = beside ? beside->array : NULL};
  if (n->array) return FURROW_OK;
  return range == 0 || range > LARGEST_ARRAY ? make_table(n, 64 - FIRST_TABLE_BITS, err) : make_array(n, err);
}

void fw_local_ids_clear(fw_local_ids *n) {
  if (n->own) fw_free(n->own->latest);
  fw_free(n->own);
  fw_free(n->key);
  fw_free(n->table);
  *n = (fw_local_ids){0};
}

/* Stamps wrap around after 2^32 batches: all old stamps are cleared then. */
static void next_stamp(uint32_t *stamp, void *stamped, size_t bytes) {
  if (++*stamp != 0) return;
  memset(stamped, 0, bytes);
  *stamp = 1;
}

void fw_local_ids_start(fw_local_ids *n) {
  n->count = 0;
  if (n->table) next_stamp(&n->stamp, n->table, sizeof(place) << (64 - n->shift));
  if (n->array) next_stamp(&n->array->stamp, n->array->latest, (size_t)n->range * sizeof *n->array->latest);
}

/* Reserves memory for `count` keys, and for one more that is written but not used. */
static furrow_status reserve_keys(fw_local_ids *n, size_t count, furrow_error *err) {
  return FW_GROW(&n->key, &n->capacity, count + 1, err);
}

/* At most a quarter of the slots is used. */
furrow_status fw_local_ids_reserve(fw_local_ids *n, size_t more, furrow_error *err) {
  if (n->array) return FURROW_OK;
  FW_TRY(reserve_keys(n, n->count + more, err));
  unsigned shift = n->shift;
  while (n->table && ((size_t)1 << (64 - shift)) < 4 * (n->count + more)) shift--;
  return shift != n->shift ? make_table(n, shift, err) : FURROW_OK;
}

/* ---- Numbers ---- */

static inline uint64_t key_at(const furrow_row *row, bool wide, size_t i) {
  return wide ? row->index.u64[i] : row->index.u32[i];
}

/* The branch on whether a feature is new is hard to predict. All slots of the row are prefetched, so that a
 * misprediction does not delay the next features. */
static inline void number_by_table(fw_local_ids *n, const furrow_row *row, bool wide, uint32_t *number) {
  place *const table = n->table;
  const unsigned shift = n->shift;
  const uint32_t stamp = n->stamp;
  size_t count = n->count;
  for (size_t i = 0; i < row->length; i++)
    __builtin_prefetch(&table[first_place(key_at(row, wide, i), n->seed, shift)], 1);
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t key = key_at(row, wide, i);
    place *found = find_place(table, n->seed, shift, stamp, key);
    if (found->stamp != stamp) {
      n->key[count] = key;
      *found = (place){key, (uint32_t)count++, stamp};
    }
    number[i] = found->number;
  }
  n->count = count;
}

/* Distance of prefetching, in uses. */
enum { AHEAD = 64 };

/* Replaces keys by numbers, without branches: the next number is written for every key, and counted for new keys
 * only. */
static void number_by_array(fw_local_ids *n, uint32_t *number, size_t uses) {
  uint64_t *const latest = n->array->latest, *const keys = n->key;
  const uint64_t stamp = n->array->stamp;
  size_t count = 0;
  for (size_t i = 0; i < uses; i++) {
    if (i + AHEAD < uses) __builtin_prefetch(&latest[number[i + AHEAD]], 1);
    const uint32_t key = number[i];
    const uint64_t had = latest[key];
    const bool known = had >> 32 == stamp;
    const uint32_t now = known ? (uint32_t)had : (uint32_t)count;
    keys[count] = key;
    latest[key] = stamp << 32 | now;
    number[i] = now;
    count += !known;
  }
  n->count = count;
}

furrow_status fw_local_ids_finish(fw_local_ids *n, uint32_t *number, size_t uses, furrow_error *err) {
  if (!n->array) return FURROW_OK;
  FW_TRY(reserve_keys(n, uses < n->range ? uses : (size_t)n->range, err));
  number_by_array(n, number, uses);
  return FURROW_OK;
}

static uint64_t largest_u32(const uint32_t *keys, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; i++) largest = keys[i] > largest ? keys[i] : largest;
  return largest;
}

static uint64_t largest_u64(const uint64_t *keys, size_t count) {
  uint64_t largest = 0;
  for (size_t i = 0; i < count; i++) largest = keys[i] > largest ? keys[i] : largest;
  return largest;
}

furrow_status fw_local_ids_check(uint64_t range, uint64_t largest, furrow_error *err) {
  if (largest < range || range == 0) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond the model's range of %" PRIu64 " features",
                 largest, range);
}

furrow_status fw_local_ids_add(fw_local_ids *n, const furrow_row *row, uint32_t *number, furrow_error *err) {
  const bool wide = row->key_type == FURROW_KEY_U64;
  const uint64_t largest = wide ? largest_u64(row->index.u64, row->length) : largest_u32(row->index.u32, row->length);
  FW_TRY(fw_local_ids_check(n->range, largest, err));
  if (n->array && !wide)
    memcpy(number, row->index.u32, row->length * sizeof *number);
  else if (n->array)
    for (size_t i = 0; i < row->length; i++) number[i] = (uint32_t)row->index.u64[i];
  else if (wide)
    number_by_table(n, row, true, number);
  else
    number_by_table(n, row, false, number);
  return FURROW_OK;
}
