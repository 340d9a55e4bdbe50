/* vector/index/direct_map.h: the map from an id to its location in the lists of an IVF index. */
#ifndef FW_VECTOR_INDEX_DIRECT_MAP_H
#define FW_VECTOR_INDEX_DIRECT_MAP_H

#include "vector/index/index.h"

#define FW_NO_LOCATION (-1)

static inline int64_t fw_location_make(size_t list, size_t offset) {
  return (int64_t)((uint64_t)list << 32 | offset);
}
static inline size_t fw_location_list(int64_t location) {
  return (size_t)((uint64_t)location >> 32);
}
static inline size_t fw_location_offset(int64_t location) {
  return (size_t)((uint64_t)location & UINT32_MAX);
}

/* ---- Many ids at once ---- */

/* A hash table from ids to locations. Of an id that is put twice, the later location counts. */
typedef struct fw_location_table {
  fw_id_location *slots; /* mask + 1 of them; location < 0: free */
  size_t mask, count;
} fw_location_table;

/* Makes a table for at most `most` ids. */
furrow_status fw_location_table_create(fw_location_table *table, size_t most, furrow_error *err) FURROW_MUST_USE;
void fw_location_table_clear(fw_location_table *table);
void fw_location_table_put(fw_location_table *table, int64_t id, int64_t location);
/* FW_NO_LOCATION: the table does not have the id. */
int64_t fw_location_table_get(const fw_location_table *table, int64_t id);
/* Puts all ids of the lists. */
void fw_location_table_fill(fw_location_table *table, const fw_lists *lists);

/* ---- One id ---- */

/* The location of an id: by the direct map if there is one, else by searching the lists; FW_NO_LOCATION: none. */
int64_t fw_ivf_find(const fw_ivf *ivf, int64_t id);

/* ---- Maps that change ---- */

/* A new direct map. All its memory is allocated before the lists change. */
typedef struct fw_map_rebuild {
  furrow_direct_map type;
  int64_t *locations;
  fw_id_location *pairs;
  size_t capacity; /* of either */
  fw_location_table table;
} fw_map_rebuild;

/* Allocates a map of `type` over `stored` vectors; the ids of an array are below `ids`. */
furrow_status fw_map_rebuild_create(fw_map_rebuild *renewal, furrow_direct_map type, size_t stored, size_t ids,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_map_rebuild_clear(fw_map_rebuild *renewal);
/* Fills the map from the lists as they are now and replaces the old one by it. */
void fw_map_rebuild_finish(fw_map_rebuild *renewal, fw_ivf *ivf);

/* E_STATE, naming the id: it is not below `ids`, so an array of that length has no element for it. */
furrow_status fw_lists_check_ids(const fw_lists *lists, size_t ids, furrow_error *err) FURROW_MUST_USE;

/* Adds the locations of n ids. ARRAY: ids continue at map->count. HASHTABLE: an id that the map has already gets the
 * new location, as does one that comes twice; a location below 0 is not stored. After a failure the map is as it was.
 */
furrow_status fw_direct_map_extend(fw_direct_map *map, const fw_id_location *fresh, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
