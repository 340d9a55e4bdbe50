/* vector/index/direct_map.h: from id to place in the lists of an IVF index. */
#ifndef FW_VECTOR_INDEX_DIRECT_MAP_H
#define FW_VECTOR_INDEX_DIRECT_MAP_H

#include "vector/index/index.h"

#define FW_NO_PLACE (-1)

static inline int64_t fw_place_make(size_t list, size_t offset) {
  return (int64_t)((uint64_t)list << 32 | offset);
}
static inline size_t fw_place_list(int64_t place) {
  return (size_t)((uint64_t)place >> 32);
}
static inline size_t fw_place_offset(int64_t place) {
  return (size_t)((uint64_t)place & UINT32_MAX);
}

/* ---- Many ids at once ---- */

/* A table of the places of ids. Of an id that is put twice, the later place counts. */
typedef struct fw_place_table {
  fw_id_place *slots; /* mask + 1 of them; place < 0: free */
  size_t mask, count;
} fw_place_table;

/* Has room for `most` ids. */
furrow_status fw_place_table_create(fw_place_table *table, size_t most, furrow_error *err) FURROW_MUST_USE;
void fw_place_table_clear(fw_place_table *table);
void fw_place_table_put(fw_place_table *table, int64_t id, int64_t place);
/* FW_NO_PLACE: the id is not there. */
int64_t fw_place_table_get(const fw_place_table *table, int64_t id);
/* Puts all ids of the lists. */
void fw_place_table_fill(fw_place_table *table, const fw_lists *lists);

/* ---- One id ---- */

/* The place of an id: by the direct map if there is one, else by looking through the lists; FW_NO_PLACE: none. */
int64_t fw_ivf_find(const fw_ivf *ivf, int64_t id);

/* ---- Maps that change ---- */

/* A new direct map, for which all memory is taken before the lists change. */
typedef struct fw_map_rebuild {
  furrow_direct_map type;
  int64_t *places;
  fw_id_place *pairs;
  size_t capacity; /* of either */
  fw_place_table table;
} fw_map_rebuild;

/* Room for a map of `type` over `stored` vectors; the ids of an array are below `ids`. */
furrow_status fw_map_rebuild_create(fw_map_rebuild *renewal, furrow_direct_map type, size_t stored, size_t ids,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_map_rebuild_clear(fw_map_rebuild *renewal);
/* Makes the map from the lists as they are now; it takes the place of the old one. */
void fw_map_rebuild_finish(fw_map_rebuild *renewal, fw_ivf *ivf);

/* E_STATE, naming the id: an array of `ids` places cannot lead to it. */
furrow_status fw_lists_check_ids(const fw_lists *lists, size_t ids, furrow_error *err) FURROW_MUST_USE;

/* Where n more ids are. ARRAY: ids go on from map->count. HASHTABLE: an id that is there already gets the new place, as
 * does one that comes twice; a place below 0 is none. After a failure the map is as before. */
furrow_status fw_direct_map_extend(fw_direct_map *map, const fw_id_place *fresh, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
