/* vector/index/direct_map.h: the direct map of an IVF index, from ids to locations in the lists. */
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

/* A hash table from ids to locations. If an id is put twice, the later location counts. */
typedef struct fw_location_table {
  fw_id_location *slots; /* mask + 1 elements; location < 0: free */
  size_t mask, count;
} fw_location_table;

/* Creates a table for at most `most` ids. */
furrow_status fw_location_table_create(fw_location_table *table, size_t most, furrow_error *err) FURROW_MUST_USE;
void fw_location_table_clear(fw_location_table *table);
void fw_location_table_put(fw_location_table *table, int64_t id, int64_t location);
/* Returns FW_NO_LOCATION if the table does not have the id. */
int64_t fw_location_table_get(const fw_location_table *table, int64_t id);
/* Adds all ids of the lists. */
void fw_location_table_fill(fw_location_table *table, const fw_lists *lists);

/* ---- One id ---- */

/* Returns the location of an id, from the direct map if there is one, otherwise by searching the lists; FW_NO_LOCATION
 * if it is not stored. */
int64_t fw_ivf_find(const fw_ivf *ivf, int64_t id);

/* ---- Changing maps ---- */

/* A new direct map, allocated completely before the lists change. */
typedef struct fw_map_rebuild {
  furrow_direct_map type;
  int64_t *locations;
  fw_id_location *pairs;
  size_t capacity; /* capacity of either array */
  fw_location_table table;
} fw_map_rebuild;

/* Allocates a map of `type` over `stored` vectors; the ids of an array are below `ids`. */
furrow_status fw_map_rebuild_create(fw_map_rebuild *renewal, furrow_direct_map type, size_t stored, size_t ids,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_map_rebuild_clear(fw_map_rebuild *renewal);
/* Fills the map from the current lists and replaces the old one. */
void fw_map_rebuild_finish(fw_map_rebuild *renewal, fw_ivf *ivf);

/* Fails with E_STATE and names the id if it is not below `ids`: an array of that length has no element for it. */
furrow_status fw_lists_check_ids(const fw_lists *lists, size_t ids, furrow_error *err) FURROW_MUST_USE;

/* Adds the locations of n ids. ARRAY: ids continue at map->count. HASHTABLE: a known or repeated id gets the new
 * location; negative locations are not stored. After a failure the map is unchanged. */
furrow_status fw_direct_map_extend(fw_direct_map *map, const fw_id_location *fresh, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
