/* base/sort.c: plain numbers in ascending order. */
#include "base/sort.h"

#include <stdlib.h>

int fw_compare_u64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

void fw_sort_u64(uint64_t *numbers, size_t count) {
  if (count > 1) qsort(numbers, count, sizeof *numbers, fw_compare_u64);
}
