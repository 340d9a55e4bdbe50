/* base/sort.h: sorting numbers, and binary search in sorted numbers. */
#ifndef FW_BASE_SORT_H
#define FW_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* For bsearch and qsort. */
static inline int fw_compare_u32(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static inline int fw_compare_u64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static inline int fw_compare_i64(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* numbers may be NULL if count is 0. */
static inline void fw_sort_u32(uint32_t *numbers, size_t count) {
  if (count > 1) qsort(numbers, count, sizeof *numbers, fw_compare_u32);
}

static inline void fw_sort_u64(uint64_t *numbers, size_t count) {
  if (count > 1) qsort(numbers, count, sizeof *numbers, fw_compare_u64);
}

/* Returns the lower bound of `key`: the first i < count whose number is not below it, or count if all are below. The
 * numbers ascend and lie `stride` bytes apart, so they may be a member of the elements of an array:
 *
 *   fw_lower_bound_i32(&parts->part_id, part_count, sizeof *parts, id) */
static inline size_t fw_lower_bound_i32(const int32_t *numbers, size_t count, size_t stride, int32_t key) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (*(const int32_t *)((const char *)numbers + middle * stride) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
static inline size_t fw_lower_bound_i64(const int64_t *numbers, size_t count, size_t stride, int64_t key) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (*(const int64_t *)((const char *)numbers + middle * stride) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
static inline size_t fw_lower_bound_u64(const uint64_t *numbers, size_t count, size_t stride, uint64_t key) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (*(const uint64_t *)((const char *)numbers + middle * stride) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
static inline size_t fw_lower_bound_f64(const double *numbers, size_t count, size_t stride, double key) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (*(const double *)((const char *)numbers + middle * stride) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

#endif
