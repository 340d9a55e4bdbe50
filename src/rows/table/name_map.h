/* rows/table/name_map.h: finds the number of a name. */
#ifndef FW_ROWS_TABLE_NAME_MAP_H
#define FW_ROWS_TABLE_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_NAME_NONE SIZE_MAX

/* The caller's struct; all zeros is an empty map. A hash table whose seed is new in each process, so that no choice of
 * names makes it slow. The names belong to the caller and must stay where they are. */
typedef struct fw_name_map {
  struct fw_name_slot *slots; /* open addressing, at most half full */
  size_t count, mask;
} fw_name_map;

/* Adds a name of less than 4 GiB with a number below UINT32_MAX; nothing changes if the map has the name already. */
furrow_status fw_name_map_add(fw_name_map *map, const char *name, size_t length, size_t number,
                              furrow_error *err) FURROW_MUST_USE;
/* Returns the number of the name `prefix`.`name` (prefix NULL: name alone); FW_NAME_NONE if the map does not have it.
 */
size_t fw_name_map_find_joined(const fw_name_map *map, const char *prefix, size_t prefix_length, const char *name,
                               size_t length);
static inline size_t fw_name_map_find(const fw_name_map *map, const char *name, size_t length) {
  return fw_name_map_find_joined(map, NULL, 0, name, length);
}
void fw_name_map_clear(fw_name_map *map);

#endif
