/* model/read/matrix_sort.c: sorts columns with their values.
 *
 * The input consists of a few ascending runs (hash partitions) or is in no order (checkpoints), so this is a merge sort
 * of the existing runs. Short runs are first extended by insertion sort. It is stable, so of equal columns the later
 * one comes last. Merges are divided into pieces of equal size, which threads share. */
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "model/read/matrix.h"

enum { SHORTEST = 32, PIECE = 1 << 16 };

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

/* Merges a[i … middle-1] and a[k … last-1] into b[n … end-1], which has the length of both together. */
static inline void merge_runs(columns a, columns b, size_t i, size_t middle, size_t k, size_t last, size_t n,
                              size_t end, size_t size) {
  while (i < middle && k < last && n < end) {
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

/* How many of the first n merged elements come from x (p elements); the others come from y (q elements). */
static size_t taken_from_first(const int64_t *x, size_t p, const int64_t *y, size_t q, size_t n) {
  size_t low = n > q ? n - q : 0, high = n < p ? n : p;
  while (low < high) {
    const size_t i = low + (high - low) / 2;
    if (x[i] <= y[n - i - 1])
      low = i + 1;
    else
      high = i;
  }
  return low;
}

/* One round merges pairs of runs of a into b. */
typedef struct round_of_merges {
  columns a, b;
  size_t n, size, count;
  const size_t *ends;
} round_of_merges;

static void merge_piece(const round_of_merges *m, size_t begin, size_t middle, size_t end, size_t first, size_t last) {
  const int64_t *x = m->a.cols + begin, *y = m->a.cols + middle;
  const size_t from = taken_from_first(x, middle - begin, y, end - middle, first - begin);
  const size_t to = taken_from_first(x, middle - begin, y, end - middle, last - begin);
  const size_t i = begin + from, i_end = begin + to;
  const size_t k = middle + (first - begin - from), k_end = middle + (last - begin - to);
  if (m->size == 4)
    merge_runs(m->a, m->b, i, i_end, k, k_end, first, last, 4);
  else if (m->size == 8)
    merge_runs(m->a, m->b, i, i_end, k, k_end, first, last, 8);
  else
    merge_runs(m->a, m->b, i, i_end, k, k_end, first, last, m->size);
}

/* Merges everything that belongs to piece number `index` of the result. */
static void merge_pieces(void *context, size_t index) {
  const round_of_merges *m = context;
  const size_t piece_begin = index * PIECE, piece_end = m->n - piece_begin < PIECE ? m->n : piece_begin + PIECE;
  size_t low = 0, high = (m->count + 1) / 2; /* the first pair that ends after the start of the piece */
  while (low < high) {
    const size_t pair = low + (high - low) / 2, last = 2 * pair + 1;
    if (m->ends[last < m->count ? last : m->count - 1] <= piece_begin)
      low = pair + 1;
    else
      high = pair;
  }
  for (size_t s = 2 * low; s < m->count; s += 2) {
    const size_t begin = s > 0 ? m->ends[s - 1] : 0, middle = m->ends[s];
    const size_t end = s + 1 < m->count ? m->ends[s + 1] : middle;
    if (begin >= piece_end) break;
    merge_piece(m, begin, middle, end, begin > piece_begin ? begin : piece_begin, end < piece_end ? end : piece_end);
  }
}

/* Insertion sort of a[begin … end-1], whose first `sorted` elements are already sorted. `spare` holds one value. */
static void insertion_sort(columns a, size_t begin, size_t sorted, size_t end, size_t size, char *spare) {
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

/* Finds the ends of ascending runs and extends runs to at least SHORTEST, except the last one; returns their number. */
static size_t find_runs(columns a, size_t n, size_t size, char *spare, size_t *ends) {
  size_t count = 0;
  for (size_t begin = 0; begin < n; begin = ends[count++]) {
    size_t end = begin + 1;
    while (end < n && a.cols[end] >= a.cols[end - 1]) end++;
    const size_t found = end - begin;
    if (found < SHORTEST) {
      end = n - begin < SHORTEST ? n : begin + SHORTEST;
      insertion_sort(a, begin, found, end, size, spare);
    }
    ends[count] = end;
  }
  return count;
}

/* Of equal columns keeps the last. Source and target may be the same. */
static size_t drop_repeats(columns to, columns from, size_t n, size_t size) {
  size_t kept = 0, i = 0;
  while (i < n) {
    size_t end = i + 1; /* end of a run of columns without duplicates */
    while (end < n && from.cols[end] != from.cols[end - 1]) end++;
    const size_t count =
        end < n ? end - i - 1 : end - i; /* the last column of the run is repeated next, so it is dropped */
    if (to.cols + kept != from.cols + i) {
      memmove(to.cols + kept, from.cols + i, count * sizeof *to.cols);
      memmove(to.values + kept * size, from.values + i * size, count * size);
    }
    kept += count;
    i = end;
  }
  return kept;
}

static size_t most_runs(size_t n) {
  return n / SHORTEST + 1;
}

size_t fw_columns_sort_bytes(size_t n, size_t size) {
  size_t item, bytes;
  if (!fw_size_add(size, sizeof(int64_t), &item) || !fw_size_mul(n, item, &bytes) ||
      !fw_size_add(bytes, size, &bytes) || !fw_size_add(bytes, most_runs(n) * sizeof(size_t), &bytes))
    return SIZE_MAX;
  return bytes;
}

/* Merges until one run is left; *a is then the array that has it. */
static furrow_status merge_all(columns *a, columns b, size_t n, size_t size, size_t *ends, size_t count, fw_pool *pool,
                               furrow_error *err) {
  while (count > 1) {
    round_of_merges m = {*a, b, n, size, count, ends};
    const size_t pieces = (n + PIECE - 1) / PIECE;
    furrow_status status = pool ? fw_pool_for(pool, pieces, merge_pieces, &m, err) : FURROW_OK;
    if (status != FURROW_OK) return status;
    for (size_t i = 0; !pool && i < pieces; i++) merge_pieces(&m, i);
    for (size_t i = 0; i < count; i += 2) ends[i / 2] = ends[i + 1 < count ? i + 1 : i];
    count = (count + 1) / 2;
    b = *a;
    *a = m.b;
  }
  return FURROW_OK;
}

furrow_status fw_columns_sort(int64_t *cols, char *values, size_t n, size_t size, unsigned threads, size_t *kept,
                              furrow_error *err) {
  void *memory;
  fw_pool *pool = NULL;
  furrow_status status = fw_block_alloc(&memory, fw_columns_sort_bytes(n, size), 1, err);
  if (status != FURROW_OK) return status;
  columns sorted = {cols, values}, spare = {.cols = memory};
  size_t *ends = (size_t *)(spare.cols + n);
  char *one = (char *)(ends + most_runs(n));
  spare.values = one + size;
  const size_t count = find_runs(sorted, n, size, one, ends);
  if (threads > 1 && n > 4 * PIECE) status = fw_pool_create(&pool, threads - 1, err);
  if (status == FURROW_OK) status = merge_all(&sorted, spare, n, size, ends, count, pool, err);
  if (status == FURROW_OK) *kept = drop_repeats((columns){cols, values}, sorted, n, size);
  fw_pool_free(pool);
  fw_free(memory);
  return status;
}
