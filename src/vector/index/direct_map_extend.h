/* vector/index/direct_map_extend.h: direct maps that learn of more vectors. */
#ifndef FW_VECTOR_INDEX_DIRECT_MAP_EXTEND_H
#define FW_VECTOR_INDEX_DIRECT_MAP_EXTEND_H

#include "vector/index/index.h"

/* Where n more ids are. ARRAY: ids go on from map->count. HASHTABLE: an id that is there already gets the new place, as
 * does one that comes twice; a place below 0 is none. After a failure the map is as before. */
furrow_status fw_direct_map_extend(fw_direct_map *map, const fw_id_place *fresh, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
