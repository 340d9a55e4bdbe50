/* serve/catalog/sorted_ids.c: arrays of ids in ascending order, each once. */
#include "catalog/sorted_ids.h"

#include <stdlib.h>

static int compare_ids(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

size_t sort_ids(int64_t *ids, size_t count) {
  size_t kept = 0;
  if (count > 1) qsort(ids, count, sizeof *ids, compare_ids);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || ids[i] != ids[kept - 1]) ids[kept++] = ids[i];
  return kept;
}

bool sorted_ids_have(const int64_t *ids, size_t count, int64_t id) {
  return count > 0 && bsearch(&id, ids, count, sizeof *ids, compare_ids) != NULL;
}
