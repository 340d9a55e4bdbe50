/* base/sort.h: plain numbers in ascending order. */
#ifndef FW_BASE_SORT_H
#define FW_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* For bsearch and qsort. */
int fw_compare_u64(const void *a, const void *b);
/* numbers may be NULL where count is 0. */
void fw_sort_u64(uint64_t *numbers, size_t count);

#endif
