/* vector/index/direct_map_extend.c: direct maps that learn of more vectors. */
#include "vector/index/direct_map_extend.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#define HAS_PAIR ((size_t)1 << (8 * sizeof(size_t) - 1)) /* marks a fresh id that was there before */

/* The numbers of the fresh ids, by id: open addressing, SIZE_MAX where a slot is free. */
typedef struct by_id {
  const fw_id_place *fresh;
  size_t mask;
  size_t *slot;
} by_id;

/* The slot of an id: where it is, or where it belongs. */
static size_t *find(const by_id *t, int64_t id) {
  size_t at = (size_t)fw_rng_hash(0, (uint64_t)id) & t->mask;
  while (t->slot[at] != SIZE_MAX && t->fresh[t->slot[at] & ~HAS_PAIR].id != id) at = (at + 1) & t->mask;
  return &t->slot[at];
}

static furrow_status index_fresh(by_id *t, const fw_id_place *fresh, size_t n, furrow_error *err) {
  size_t slots = 16;
  void *memory = NULL;
  while (slots < 2 * n) slots *= 2;
  furrow_status status = fw_alloc(&memory, slots, sizeof *t->slot, err);
  if (status != FURROW_OK) return status;
  *t = (by_id){.fresh = fresh, .mask = slots - 1, .slot = memory};
  memset(t->slot, 0xff, slots * sizeof *t->slot);
  for (size_t i = 0; i < n; i++)
    if (fresh[i].place >= 0) *find(t, fresh[i].id) = i; /* the last of several wins */
  return FURROW_OK;
}

static furrow_status extend_pairs(fw_direct_map *map, const fw_id_place *fresh, size_t n, furrow_error *err) {
  by_id table = {0};
  size_t capacity = 0;
  void *pairs = map->pairs;
  if (!fw_size_add(map->count, n, &capacity)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = index_fresh(&table, fresh, n, err);
  if (status == FURROW_OK) status = fw_realloc(&pairs, capacity, sizeof *map->pairs, err);
  if (status == FURROW_OK) {
    map->pairs = pairs;
    for (size_t i = 0; i < map->count; i++) {
      size_t *slot = find(&table, map->pairs[i].id);
      if (*slot == SIZE_MAX) continue;
      map->pairs[i].place = fresh[*slot].place;
      *slot |= HAS_PAIR;
    }
    for (size_t i = 0; i < n; i++)
      if (fresh[i].place >= 0 && *find(&table, fresh[i].id) == i) map->pairs[map->count++] = fresh[i];
  }
  fw_free(table.slot);
  return status;
}

static furrow_status extend_places(fw_direct_map *map, const fw_id_place *fresh, size_t n, furrow_error *err) {
  size_t capacity = 0;
  void *places = map->places;
  if (!fw_size_add(map->count, n, &capacity)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_realloc(&places, capacity, sizeof *map->places, err);
  if (status != FURROW_OK) return status;
  map->places = places;
  for (size_t i = 0; i < n; i++) {
    assert(fresh[i].id == (int64_t)map->count);
    map->places[map->count++] = fresh[i].place;
  }
  return FURROW_OK;
}

furrow_status fw_direct_map_extend(fw_direct_map *map, const fw_id_place *fresh, size_t n, furrow_error *err) {
  switch (map->type) {
  case FURROW_DIRECT_MAP_ARRAY: return extend_places(map, fresh, n, err);
  case FURROW_DIRECT_MAP_HASHTABLE: return extend_pairs(map, fresh, n, err);
  case FURROW_DIRECT_MAP_NONE: break;
  }
  return FURROW_OK;
}
