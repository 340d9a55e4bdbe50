/* vector/index/direct_map.c: the direct map of an IVF index, from ids to locations in the lists: search, extension,
 * rebuilding. */
#include "vector/index/direct_map.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "vector/index/index_card.h"
#include "vector/index/inverted_lists.h"

/* ---- Many ids at once ----------------------------------------------------------------------------------- */

/* At most half full, so that probe sequences stay short. */
furrow_status fw_location_table_create(fw_location_table *table, size_t most, furrow_error *err) {
  size_t size = 16;
  void *slots = NULL;
  while (size / 2 < most && size < SIZE_MAX / 2) size *= 2;
  FW_TRY(fw_alloc(&slots, size, sizeof *table->slots, err));
  memset(slots, 0xff, size * sizeof *table->slots);
  *table = (fw_location_table){.slots = slots, .mask = size - 1};
  return FURROW_OK;
}

void fw_location_table_clear(fw_location_table *table) {
  fw_free(table->slots);
  *table = (fw_location_table){0};
}

/* Returns the slot of an id, or the free slot where it would be stored. */
static fw_id_location *slot_of(const fw_location_table *table, int64_t id) {
  size_t at = (size_t)fw_rng_hash(0, (uint64_t)id) & table->mask;
  while (table->slots[at].location >= 0 && table->slots[at].id != id) at = (at + 1) & table->mask;
  return &table->slots[at];
}

void fw_location_table_put(fw_location_table *table, int64_t id, int64_t location) {
  fw_id_location *slot = slot_of(table, id);
  table->count += slot->location < 0;
  *slot = (fw_id_location){id, location};
}

int64_t fw_location_table_get(const fw_location_table *table, int64_t id) {
  const fw_id_location *slot = slot_of(table, id);
  return slot->location < 0 ? FW_NO_LOCATION : slot->location;
}

void fw_location_table_fill(fw_location_table *table, const fw_lists *lists) {
  for (size_t i = 0; lists->list && i < lists->nlist; i++)
    for (size_t k = 0; k < lists->list[i].size; k++)
      fw_location_table_put(table, fw_list_id(&lists->list[i], k), fw_location_make(i, k));
}

/* ---- One id --------------------------------------------------------------------------------------------- */

static int64_t find_in_lists(const fw_lists *lists, int64_t id) {
  for (size_t i = 0; lists->list && i < lists->nlist; i++)
    for (size_t k = 0; k < lists->list[i].size; k++)
      if (fw_list_id(&lists->list[i], k) == id) return fw_location_make(i, k);
  return FW_NO_LOCATION;
}

static int64_t find_in_map(const fw_direct_map *map, int64_t id) {
  if (map->type == FURROW_DIRECT_MAP_ARRAY)
    return id >= 0 && (uint64_t)id < map->count ? map->locations[id] : FW_NO_LOCATION;
  for (size_t i = 0; i < map->count; i++)
    if (map->pairs[i].id == id) return map->pairs[i].location;
  return FW_NO_LOCATION;
}

/* If the map leads to another id, it is damaged or incomplete, and the lists are searched. */
int64_t fw_ivf_find(const fw_ivf *ivf, int64_t id) {
  if (ivf->direct_map.type != FURROW_DIRECT_MAP_NONE) {
    int64_t location = find_in_map(&ivf->direct_map, id);
    if (location >= 0 && fw_list_id(&ivf->lists.list[fw_location_list(location)], fw_location_offset(location)) == id)
      return location;
  }
  return find_in_lists(&ivf->lists, id);
}

/* ---- Changing maps -------------------------------------------------------------------------------------- */

furrow_status fw_map_rebuild_create(fw_map_rebuild *renewal, furrow_direct_map type, size_t stored, size_t ids,
                                    furrow_error *err) {
  fw_map_rebuild made = {.type = type};
  void *memory = NULL;
  furrow_status status = FURROW_OK;
  if (type == FURROW_DIRECT_MAP_ARRAY) {
    status = fw_alloc(&memory, ids, sizeof *made.locations, err);
    made.locations = memory;
    made.capacity = ids;
  } else if (type == FURROW_DIRECT_MAP_HASHTABLE) {
    status = fw_alloc(&memory, stored, sizeof *made.pairs, err);
    made.pairs = memory;
    made.capacity = stored;
    if (status == FURROW_OK) status = fw_location_table_create(&made.table, stored, err);
  }
  if (status == FURROW_OK)
    *renewal = made;
  else
    fw_map_rebuild_clear(&made);
  return status;
}

void fw_map_rebuild_clear(fw_map_rebuild *renewal) {
  fw_free(renewal->locations);
  fw_free(renewal->pairs);
  fw_location_table_clear(&renewal->table);
  *renewal = (fw_map_rebuild){0};
}

static void fill_array(const fw_map_rebuild *renewal, const fw_lists *lists) {
  for (size_t i = 0; i < renewal->capacity; i++) renewal->locations[i] = FW_NO_LOCATION;
  for (size_t i = 0; lists->list && i < lists->nlist; i++) {
    for (size_t k = 0; k < lists->list[i].size; k++) {
      int64_t id = fw_list_id(&lists->list[i], k);
      if (id >= 0 && (uint64_t)id < renewal->capacity) renewal->locations[id] = fw_location_make(i, k);
    }
  }
}

/* Fills the pairs in the order of the lists. */
static size_t fill_pairs(fw_map_rebuild *renewal, const fw_lists *lists) {
  size_t count = 0;
  fw_location_table_fill(&renewal->table, lists);
  for (size_t i = 0; lists->list && i < lists->nlist; i++) {
    for (size_t k = 0; k < lists->list[i].size; k++) {
      int64_t id = fw_list_id(&lists->list[i], k), location = fw_location_make(i, k);
      if (fw_location_table_get(&renewal->table, id) == location)
        renewal->pairs[count++] = (fw_id_location){id, location};
    }
  }
  return count;
}

void fw_map_rebuild_finish(fw_map_rebuild *renewal, fw_ivf *ivf) {
  fw_direct_map *map = &ivf->direct_map;
  size_t count = 0;
  if (renewal->type == FURROW_DIRECT_MAP_ARRAY) {
    fill_array(renewal, &ivf->lists);
    count = renewal->capacity;
  } else if (renewal->type == FURROW_DIRECT_MAP_HASHTABLE) {
    count = fill_pairs(renewal, &ivf->lists);
  }
  fw_free(map->locations);
  fw_free(map->pairs);
  *map =
      (fw_direct_map){.type = renewal->type, .count = count, .locations = renewal->locations, .pairs = renewal->pairs};
  renewal->locations = NULL;
  renewal->pairs = NULL;
  fw_map_rebuild_clear(renewal);
}

furrow_status fw_lists_check_ids(const fw_lists *lists, size_t ids, furrow_error *err) {
  for (size_t i = 0; lists->list && i < lists->nlist; i++) {
    for (size_t k = 0; k < lists->list[i].size; k++) {
      int64_t id = fw_list_id(&lists->list[i], k);
      if (id < 0 || (uint64_t)id >= ids)
        return fw_fail(err, FURROW_E_STATE,
                       "list %zu has the id %" PRId64 ", but ids must be numbers from 0 to %zu here", i, id,
                       ids > 0 ? ids - 1 : 0);
    }
  }
  return FURROW_OK;
}

/* ---- Settings ------------------------------------------------------------------------------------------- */

furrow_status furrow_index_set_direct_map(furrow_index *index, furrow_direct_map type, furrow_error *err) {
  furrow_index *inner = (furrow_index *)(uintptr_t)furrow_index_ivf(index);
  if (!inner) return fw_fail(err, FURROW_E_ARGUMENT, "the index has no inverted lists");
  if (type != FURROW_DIRECT_MAP_NONE && type != FURROW_DIRECT_MAP_ARRAY && type != FURROW_DIRECT_MAP_HASHTABLE)
    return fw_fail(err, FURROW_E_ARGUMENT, "%d is not a type of direct map", (int)type);
  fw_ivf *ivf = &inner->ivf;
  fw_map_rebuild renewal;
  furrow_status status = fw_index_check_whole(index, err);
  if (status == FURROW_OK && type != FURROW_DIRECT_MAP_NONE) status = fw_lists_check_contents(&ivf->lists, err);
  if (status == FURROW_OK && type == FURROW_DIRECT_MAP_ARRAY)
    status = fw_lists_check_ids(&ivf->lists, (size_t)inner->ntotal, err);
  if (status == FURROW_OK)
    status = fw_map_rebuild_create(&renewal, type, (size_t)fw_lists_stored(&ivf->lists), (size_t)inner->ntotal, err);
  if (status == FURROW_OK) fw_map_rebuild_finish(&renewal, ivf);
  return fw_index_finish(index, status, err);
}

furrow_status furrow_index_set_nprobe(furrow_index *index, uint64_t nprobe, furrow_error *err) {
  furrow_index *inner = (furrow_index *)(uintptr_t)furrow_index_ivf(index);
  if (!inner) return fw_fail(err, FURROW_E_ARGUMENT, "the index has no inverted lists");
  if (nprobe == 0) return fw_fail(err, FURROW_E_ARGUMENT, "nprobe is 0, but a search must probe a list");
  if (inner->ivf.nprobe != nprobe && index->card) index->card->recall = (fw_card_recall){.recall = NAN};
  inner->ivf.nprobe = (size_t)nprobe;
  return FURROW_OK;
}

/* ---- Adding ids ------------------------------------------------------------------------------------------ */

#define HAS_PAIR ((size_t)1 << (8 * sizeof(size_t) - 1)) /* marks a new id that the map already has */

/* A hash table of the numbers of the new ids: open addressing, SIZE_MAX marks a free slot. */
typedef struct by_id {
  const fw_id_location *fresh;
  size_t mask;
  size_t *slot;
} by_id;

/* Returns the slot of an id, or the free slot where it belongs. */
static size_t *find_slot(const by_id *t, int64_t id) {
  size_t at = (size_t)fw_rng_hash(0, (uint64_t)id) & t->mask;
  while (t->slot[at] != SIZE_MAX && t->fresh[t->slot[at] & ~HAS_PAIR].id != id) at = (at + 1) & t->mask;
  return &t->slot[at];
}

static furrow_status index_fresh(by_id *t, const fw_id_location *fresh, size_t n, furrow_error *err) {
  size_t slots = 16;
  void *memory = NULL;
  while (slots < 2 * n) slots *= 2;
  FW_TRY(fw_alloc(&memory, slots, sizeof *t->slot, err));
  *t = (by_id){.fresh = fresh, .mask = slots - 1, .slot = memory};
  memset(t->slot, 0xff, slots * sizeof *t->slot);
  for (size_t i = 0; i < n; i++)
    if (fresh[i].location >= 0) *find_slot(t, fresh[i].id) = i; /* of repeated ids, the last one counts */
  return FURROW_OK;
}

static furrow_status extend_pairs(fw_direct_map *map, const fw_id_location *fresh, size_t n, furrow_error *err) {
  by_id table = {0};
  size_t capacity = 0;
  void *pairs = map->pairs;
  if (!fw_size_add(map->count, n, &capacity)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = index_fresh(&table, fresh, n, err);
  if (status == FURROW_OK) status = fw_realloc(&pairs, capacity, sizeof *map->pairs, err);
  if (status == FURROW_OK) {
    map->pairs = pairs;
    for (size_t i = 0; i < map->count; i++) {
      size_t *slot = find_slot(&table, map->pairs[i].id);
      if (*slot == SIZE_MAX) continue;
      map->pairs[i].location = fresh[*slot].location;
      *slot |= HAS_PAIR;
    }
    for (size_t i = 0; i < n; i++)
      if (fresh[i].location >= 0 && *find_slot(&table, fresh[i].id) == i) map->pairs[map->count++] = fresh[i];
  }
  fw_free(table.slot);
  return status;
}

static furrow_status extend_locations(fw_direct_map *map, const fw_id_location *fresh, size_t n, furrow_error *err) {
  size_t capacity = 0;
  void *locations = map->locations;
  if (!fw_size_add(map->count, n, &capacity)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_realloc(&locations, capacity, sizeof *map->locations, err));
  map->locations = locations;
  for (size_t i = 0; i < n; i++) {
    assert(fresh[i].id == (int64_t)map->count);
    map->locations[map->count++] = fresh[i].location;
  }
  return FURROW_OK;
}

furrow_status fw_direct_map_extend(fw_direct_map *map, const fw_id_location *fresh, size_t n, furrow_error *err) {
  switch (map->type) {
  case FURROW_DIRECT_MAP_ARRAY: return extend_locations(map, fresh, n, err);
  case FURROW_DIRECT_MAP_HASHTABLE: return extend_pairs(map, fresh, n, err);
  case FURROW_DIRECT_MAP_NONE: break;
  }
  return FURROW_OK;
}
