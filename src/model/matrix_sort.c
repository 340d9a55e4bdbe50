/* model/matrix_sort.c: columns with their values, sorted.
 *
 * What comes here is a few ascending stretches (hash partitions), or without any order (checkpoints): a merge sort of
 * the stretches that are there. Short ones are first made longer by insertion. It is stable, so that of equal columns
 * the later one is the last. */
#include <string.h>

#include "base/mem.h"
#include "model/matrix.h"

enum { SHORTEST = 32 };

typedef struct columns {
  int64_t *cols;
  char *values;
} columns;

static inline void copy_value(char *to, const char *from, size_t size) {
  if (size == 4)
    memcpy(to, from, 4);
  else if (size == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, size);
}

/* Merges a[begin … middle-1] and a[middle … end-1] into the same places of b. */
static inline void merge(columns a, columns b, size_t begin, size_t middle, size_t end, size_t size) {
  size_t i = begin, k = middle, n = begin;
  while (i < middle && k < end) {
    const bool second = a.cols[k] < a.cols[i];
    const size_t from = second ? k : i;
    b.cols[n] = a.cols[from];
    copy_value(b.values + n * size, a.values + from * size, size);
    n++;
    i += !second;
    k += second;
  }
  const size_t rest = i < middle ? i : k;
  memcpy(b.cols + n, a.cols + rest, (end - n) * sizeof *b.cols);
  memcpy(b.values + n * size, a.values + rest * size, (end - n) * size);
}

static void merge_any(columns a, columns b, size_t begin, size_t middle, size_t end, size_t size) {
  if (size == 4)
    merge(a, b, begin, middle, end, 4);
  else if (size == 8)
    merge(a, b, begin, middle, end, 8);
  else
    merge(a, b, begin, middle, end, size);
}

/* Sorts a[begin … end-1], of which the first `sorted` are. `spare` has room for one value. */
static void insert(columns a, size_t begin, size_t sorted, size_t end, size_t size, char *spare) {
  for (size_t i = begin + sorted; i < end; i++) {
    const int64_t col = a.cols[i];
    size_t k = i;
    while (k > begin && a.cols[k - 1] > col) k--;
    if (k == i) continue;
    copy_value(spare, a.values + i * size, size);
    memmove(a.cols + k + 1, a.cols + k, (i - k) * sizeof *a.cols);
    memmove(a.values + (k + 1) * size, a.values + k * size, (i - k) * size);
    a.cols[k] = col;
    copy_value(a.values + k * size, spare, size);
  }
}

/* Ends of ascending stretches, at least SHORTEST long but for the last; returns how many. */
static size_t find_stretches(columns a, size_t n, size_t size, char *spare, size_t *ends) {
  size_t count = 0;
  for (size_t begin = 0; begin < n; begin = ends[count++]) {
    size_t end = begin + 1;
    while (end < n && a.cols[end] >= a.cols[end - 1]) end++;
    const size_t found = end - begin;
    if (found < SHORTEST) {
      end = n - begin < SHORTEST ? n : begin + SHORTEST;
      insert(a, begin, found, end, size, spare);
    }
    ends[count] = end;
  }
  return count;
}

/* Of equal columns the last stays. */
static size_t drop_doubles(columns a, size_t n, size_t size) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (kept > 0 && a.cols[kept - 1] == a.cols[i]) kept--;
    if (kept != i) {
      a.cols[kept] = a.cols[i];
      copy_value(a.values + kept * size, a.values + i * size, size);
    }
    kept++;
  }
  return kept;
}

static size_t most_stretches(size_t n) {
  return n / SHORTEST + 1;
}

size_t fw_columns_sort_bytes(size_t n, size_t size) {
  size_t item, bytes;
  if (!fw_size_add(size, sizeof(int64_t), &item) || !fw_size_mul(n, item, &bytes) ||
      !fw_size_add(bytes, size, &bytes) || !fw_size_add(bytes, most_stretches(n) * sizeof(size_t), &bytes))
    return SIZE_MAX;
  return bytes;
}

furrow_status fw_columns_sort(int64_t *cols, char *values, size_t n, size_t size, size_t *kept, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc(&memory, fw_columns_sort_bytes(n, size), 1, err);
  if (status != FURROW_OK) return status;
  columns a = {cols, values}, b = {.cols = memory};
  size_t *ends = (size_t *)(b.cols + n);
  char *spare = (char *)(ends + most_stretches(n));
  b.values = spare + size;
  size_t count = find_stretches(a, n, size, spare, ends);
  while (count > 1) {
    size_t merged = 0;
    for (size_t i = 0, begin = 0; i < count; i += 2) {
      const size_t middle = ends[i], end = i + 1 < count ? ends[i + 1] : middle;
      merge_any(a, b, begin, middle, end, size);
      ends[merged++] = begin = end;
    }
    count = merged;
    const columns other = a;
    a = b;
    b = other;
  }
  if (a.cols != cols) {
    memcpy(cols, a.cols, n * sizeof *cols);
    memcpy(values, a.values, n * size);
  }
  *kept = drop_doubles((columns){cols, values}, n, size);
  fw_free(memory);
  return FURROW_OK;
}
