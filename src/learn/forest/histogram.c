/* learn/forest/histogram.c: sums of gradients and hessians by feature and bin. */
#include "learn/forest/tree_grow.h"

#include <string.h>

#include "base/mem.h"
#include "kern/simd/unroll.h"

enum { AHEAD = 32 }; /* rows by which memory is prefetched ahead */

/* ---- The shape ------------------------------------------------------------------------------------------ */

typedef struct counter {
  const fw_binned *binned;
  int64_t *count; /* rows of each bin */
} counter;

static void count_bins(void *context, size_t f) {
  const counter *c = context;
  const fw_binned *b = c->binned;
  const fw_cut_feature *feature = &b->cuts->feature[f];
  uint32_t count[256] = {0};
  if (f < b->cuts->dense) {
    const uint8_t *column = b->column + f * b->rows;
    for (size_t i = 0; i < b->rows; i++) count[column[i]]++;
  } else {
    for (size_t i = fw_column_begin(b, (uint32_t)f); b->column_bin && i < fw_column_end(b, (uint32_t)f); i++)
      count[b->column_bin[i]]++;
    if (!b->column_bin) count[0] = (uint32_t)(fw_column_end(b, (uint32_t)f) - fw_column_begin(b, (uint32_t)f));
  }
  for (uint32_t i = 0; i < feature->bins; i++) c->count[feature->first_bin + i] = count[i];
}

/* Allots wide sums to features that have a bin of too many rows. */
static void place_wide(fw_histograms *all, const int64_t *count) {
  const fw_cuts *cuts = all->binned->cuts;
  all->wide_begin[0] = 0;
  for (size_t f = 0; f < cuts->count; f++) {
    const fw_cut_feature *feature = &cuts->feature[f];
    bool wide = false;
    for (size_t i = 0; count && i < feature->bins; i++) wide |= count[feature->first_bin + i] > (int64_t)FW_PAIR_ROWS;
    all->wide_begin[f + 1] = all->wide_begin[f] + (wide ? feature->bins : 0);
  }
  all->wide = all->wide_begin[cuts->count];
}

furrow_status fw_histograms_init(fw_histograms *all, const fw_binned *binned, const furrow_comm *comm,
                                 uint64_t all_rows, fw_spin_pool *pool, furrow_error *err) {
  const fw_cuts *cuts = binned->cuts;
  const bool large = all_rows > FW_PAIR_ROWS;
  counter c = {binned, NULL};
  *all = (fw_histograms){.binned = binned, .bins = cuts->bins};
  furrow_status status = FW_ALLOC(&all->wide_begin, cuts->count + 1, err);
  if (status == FURROW_OK && large) status = FW_ALLOC_ZERO(&c.count, cuts->bins, err);
  status = fw_comm_share_status(comm, status, err);
  if (status == FURROW_OK && large) {
    fw_spin_pool_run(pool, cuts->count, count_bins, &c);
    status = fw_comm_sum_i64(comm, c.count, cuts->bins, err);
  }
  if (status == FURROW_OK) place_wide(all, c.count);
  fw_free(c.count);
  return status;
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

static void free_histogram(fw_histogram *histogram) {
  if (!histogram) return;
  fw_free(histogram->packed);
  fw_free(histogram->wide);
  fw_free(histogram);
}

void fw_histograms_clear(fw_histograms *all) {
  while (all->free) {
    fw_histogram *next = all->free->next;
    free_histogram(all->free);
    all->free = next;
  }
  fw_free(all->wide_begin);
  memset(all, 0, sizeof *all);
}

size_t fw_histogram_bytes(const fw_histograms *all) {
  return all->bins * sizeof(uint64_t) + all->wide * sizeof(fw_sum);
}

furrow_status fw_histogram_get(fw_histograms *all, fw_histogram **histogram, furrow_error *err) {
  if (all->free) {
    *histogram = all->free;
    all->free = all->free->next;
    return FURROW_OK;
  }
  fw_histogram *made = NULL;
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status == FURROW_OK) status = FW_ALLOC(&made->packed, all->bins, err);
  if (status == FURROW_OK) status = FW_ALLOC(&made->wide, all->wide, err);
  if (status == FURROW_OK) {
    *histogram = made;
    all->made++;
  } else {
    free_histogram(made);
  }
  return status;
}

void fw_histogram_put(fw_histograms *all, fw_histogram *histogram) {
  if (!histogram) return;
  histogram->next = all->free;
  all->free = histogram;
}

/* ---- Rows into bins ------------------------------------------------------------------------------------- */

static inline size_t at_most(size_t i, size_t last) {
  return i < last ? i : last;
}

/* All features of a row at once: one addition in memory each. */
static void add_dense(const fw_binned *b, const uint32_t *row, size_t n, const uint64_t *pair, uint64_t *bins) {
  const size_t stride = b->stride, dense = b->cuts->dense;
  for (size_t i = 0; i < n; i++) {
    const uint32_t later = row[at_most(i + AHEAD, n - 1)];
    __builtin_prefetch(b->byte + later * stride);
    __builtin_prefetch(pair + later);
    const uint8_t *of = b->byte + row[i] * stride;
    const uint64_t add = pair[row[i]];
    uint64_t *to = bins;
    for (const uint8_t *end = of + dense; of < end; of += FW_DENSE_GROUP, to += FW_DENSE_GROUP * FW_BINS_APART) {
      UNROLL for (unsigned k = 0; k < FW_DENSE_GROUP; k++) to[k * FW_BINS_APART + of[k]] += add;
    }
  }
}

static void add_sparse(const fw_binned *b, const uint32_t *row, size_t n, const uint64_t *pair, uint64_t *bins) {
  for (size_t i = 0; i < n; i++) {
    const uint32_t later = row[at_most(i + AHEAD, n - 1)];
    const uint32_t *bin = b->bin + b->end[(ptrdiff_t)row[at_most(i + AHEAD / 2, n - 1)] - 1];
    __builtin_prefetch(b->end + later);
    __builtin_prefetch(pair + later);
    __builtin_prefetch(bin);
    __builtin_prefetch(bin + 16);
    __builtin_prefetch(bin + 32);
    const uint64_t add = pair[row[i]];
    const uint32_t *at = b->bin + b->end[(ptrdiff_t)row[i] - 1], *last = b->bin + b->end[row[i]];
    for (; last - at >= 4; at += 4) UNROLL for (unsigned k = 0; k < 4; k++) bins[at[k]] += add;
    for (; at < last; at++) bins[*at] += add;
  }
}

static void widen(const fw_histograms *all, fw_histogram *histogram) {
  const fw_cuts *cuts = all->binned->cuts;
  for (size_t f = 0; f < cuts->count; f++) {
    uint64_t *packed = histogram->packed + cuts->feature[f].first_bin;
    const size_t n = all->wide_begin[f + 1] - all->wide_begin[f];
    fw_sum *wide = histogram->wide + all->wide_begin[f];
    for (size_t i = 0; i < n; i++) {
      wide[i].gradient += fw_pair_gradient(packed[i]);
      wide[i].hessian += fw_pair_hessian(packed[i]);
      packed[i] = 0;
    }
  }
}

void fw_histogram_clear(const fw_histograms *all, fw_histogram *histogram) {
  memset(histogram->packed, 0, all->bins * sizeof *histogram->packed);
  memset(histogram->wide, 0, all->wide * sizeof *histogram->wide);
}

void fw_histogram_add_rows(const fw_histograms *all, fw_histogram *histogram, const uint32_t *row, size_t n,
                           const uint64_t *pair) {
  const fw_binned *b = all->binned;
  const size_t step = all->wide ? FW_PAIR_ROWS : n;
  for (size_t at = 0; at < n; at += step) {
    const size_t count = at_most(step, n - at);
    if (b->stride) add_dense(b, row + at, count, pair, histogram->packed);
    if (b->end) add_sparse(b, row + at, count, pair, histogram->packed);
    if (all->wide) widen(all, histogram);
  }
}

/* ---- Sums and differences ------------------------------------------------------------------------------- */

void fw_histogram_add(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                      const fw_histogram *from) {
  const size_t last = fw_cuts_first_bin(all->binned->cuts, end);
  for (size_t i = fw_cuts_first_bin(all->binned->cuts, begin); i < last; i++) into->packed[i] += from->packed[i];
  for (size_t i = all->wide_begin[begin]; i < all->wide_begin[end]; i++) {
    into->wide[i].gradient += from->wide[i].gradient;
    into->wide[i].hessian += from->wide[i].hessian;
  }
}

void fw_histogram_subtract(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                           const fw_histogram *from) {
  const size_t last = fw_cuts_first_bin(all->binned->cuts, end);
  for (size_t i = fw_cuts_first_bin(all->binned->cuts, begin); i < last; i++) into->packed[i] -= from->packed[i];
  for (size_t i = all->wide_begin[begin]; i < all->wide_begin[end]; i++) {
    into->wide[i].gradient -= from->wide[i].gradient;
    into->wide[i].hessian -= from->wide[i].hessian;
  }
}

/* ---- Messages ------------------------------------------------------------------------------------------- */

static bool is_wide(const fw_histograms *all, size_t feature) {
  return all->wide_begin[feature + 1] > all->wide_begin[feature];
}

size_t fw_histogram_words(const fw_histograms *all, size_t begin, size_t end) {
  size_t words = 0;
  for (size_t f = begin; f < end; f++) words += all->binned->cuts->feature[f].bins * (is_wide(all, f) ? 2 : 1);
  return words;
}

void fw_histogram_write(const fw_histograms *all, size_t begin, size_t end, const fw_histogram *histogram,
                        uint64_t *words) {
  const fw_cut_feature *feature = all->binned->cuts->feature;
  for (size_t f = begin; f < end; f++) {
    const size_t n = feature[f].bins * (is_wide(all, f) ? 2 : 1);
    const void *from = histogram->packed + feature[f].first_bin;
    if (is_wide(all, f)) from = histogram->wide + all->wide_begin[f];
    memcpy(words, from, n * sizeof *words);
    words += n;
  }
}

void fw_histogram_add_words(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                            const uint64_t *words) {
  const fw_cut_feature *feature = all->binned->cuts->feature;
  for (size_t f = begin; f < end; f++) {
    uint64_t *packed = into->packed + feature[f].first_bin;
    fw_sum *wide = into->wide + all->wide_begin[f];
    if (!is_wide(all, f)) {
      for (uint32_t i = 0; i < feature[f].bins; i++) packed[i] += *words++;
      continue;
    }
    for (uint32_t i = 0; i < feature[f].bins; i++) {
      wide[i].gradient += (int64_t)*words++;
      wide[i].hessian += (int64_t)*words++;
    }
  }
}

fw_sum fw_gradient_pairs_sum(const uint32_t *row, size_t n, const uint64_t *pair) {
  fw_sum sum = {0, 0};
  for (size_t i = 0; i < n; i++) {
    sum.gradient += fw_pair_gradient(pair[row[i]]);
    sum.hessian += fw_pair_hessian(pair[row[i]]);
  }
  return sum;
}
