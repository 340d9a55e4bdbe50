/* serve/catalog/sorted_ids.h: arrays of ids in ascending order, each once. */
#ifndef SERVE_CATALOG_SORTED_IDS_H
#define SERVE_CATALOG_SORTED_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts ids and drops those that are there twice; returns how many stay. */
size_t sort_ids(int64_t *ids, size_t count);
bool sorted_ids_have(const int64_t *ids, size_t count, int64_t id);

#endif
