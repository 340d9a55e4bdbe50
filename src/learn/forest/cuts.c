/* learn/forest/cuts.c: quantiles of values. */
#include "learn/forest/cuts.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

void fw_cuts_free(fw_cuts *cuts) {
  if (!cuts) return;
  fw_free(cuts->feature);
  fw_free(cuts->cut);
  fw_free(cuts->edge);
  fw_free(cuts->full_edge);
  fw_free(cuts->pivot);
  fw_free(cuts->by_id);
  fw_free(cuts);
}

size_t fw_cuts_memory(const fw_cuts *cuts) {
  return cuts->dense * FW_BINS_APART * sizeof(float) + cuts->count * (sizeof *cuts->feature + sizeof *cuts->by_id) +
         cuts->cut_count * (sizeof(double) + sizeof(float));
}

uint32_t fw_cuts_find(const fw_cuts *cuts, uint64_t id) {
  size_t low = 0, high = cuts->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (cuts->feature[cuts->by_id[middle]].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < cuts->count && cuts->feature[cuts->by_id[low]].id == id ? cuts->by_id[low] : FW_NO_FEATURE;
}

int32_t fw_cuts_last_left(const fw_cuts *cuts, uint32_t feature, double value) {
  const fw_cut_feature *f = &cuts->feature[feature];
  if ((double)f->most <= value) return (int32_t)f->bins - 1;
  int32_t bins = 0;
  while (bins + 1 < (int32_t)f->bins && cuts->cut[f->first_cut + (size_t)bins] <= value) bins++;
  return bins - 1;
}

double fw_cut_between(float a, float b) {
  const double low = a == -INFINITY ? -0x1p129 : (double)a, high = b == INFINITY ? 0x1p129 : (double)b;
  return (low + high) / 2;
}

/* ---- Sorting floats by their bits ---- */

enum { DIGIT = 11, DIGITS = 1 << DIGIT, FEW = 64 };

/* Unsigned numbers that are in the order of the floats. */
static uint32_t ordered(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits ^ ((uint32_t)((int32_t)bits >> 31) | UINT32_C(0x80000000));
}

static void sort_by_digit(const float *from, float *to, size_t n, unsigned shift) {
  uint32_t at[DIGITS] = {0}, sum = 0;
  for (size_t i = 0; i < n; i++) at[ordered(from[i]) >> shift & (DIGITS - 1)]++;
  for (size_t d = 0; d < DIGITS; d++) {
    const uint32_t count = at[d];
    at[d] = sum;
    sum += count;
  }
  for (size_t i = 0; i < n; i++) to[at[ordered(from[i]) >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_by_insertion(float *values, size_t n) {
  for (size_t i = 1; i < n; i++) {
    const float x = values[i];
    size_t at = i;
    for (; at > 0 && values[at - 1] > x; at--) values[at] = values[at - 1];
    values[at] = x;
  }
}

static bool is_sorted(const float *values, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (values[i] < values[i - 1]) return false;
  return true;
}

static void sort_floats(float *values, size_t n, float *spare) {
  if (is_sorted(values, n)) return;
  if (n <= FEW) {
    sort_by_insertion(values, n);
    return;
  }
  sort_by_digit(values, spare, n, 0);
  sort_by_digit(spare, values, n, DIGIT);
  sort_by_digit(values, spare, n, 2 * DIGIT);
  memcpy(values, spare, n * sizeof *values);
}

/* ---- Cuts ---- */

static size_t count_different(const float *sorted, size_t n) {
  size_t different = n > 0;
  for (size_t i = 1; i < n; i++) different += sorted[i] != sorted[i - 1];
  return different;
}

/* A bin ends when it holds its share of the values that are left, or when with the next value it would hold more than
 * that and the next value alone holds a share. */
static size_t cut_by_share(const float *sorted, size_t n, size_t splits, double *cut) {
  size_t cuts = 0, begin = 0;
  for (size_t i = 0; i < n && cuts < splits;) {
    size_t end = i + 1, next = i + 1;
    while (end < n && sorted[end] == sorted[i]) end++;
    if (end == n) break;
    const size_t left = n - begin, bins = splits + 1 - cuts;
    for (next = end; next < n && sorted[next] == sorted[end];) next++;
    if ((end - begin) * bins >= left || (next - end) * bins >= left) {
      cut[cuts++] = fw_cut_between(sorted[i], sorted[end]);
      begin = end;
    }
    i = end;
  }
  return cuts;
}

size_t fw_cuts_choose(float *values, size_t n, float *spare, size_t splits, double *cut) {
  sort_floats(values, n, spare);
  if (count_different(values, n) > splits + 1) return cut_by_share(values, n, splits, cut);
  size_t cuts = 0;
  for (size_t i = 1; i < n; i++)
    if (values[i] != values[i - 1]) cut[cuts++] = fw_cut_between(values[i - 1], values[i]);
  return cuts;
}
