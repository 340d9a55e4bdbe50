/* learn/forest/histogram.c: sums of gradients and hessians by feature and bin. */
#include "learn/forest/histogram.h"

#include <string.h>

#include "base/mem.h"
#include "kern/unroll.h"

enum {
  BLOCK = 512, /* rows whose words are gathered at once */
  GROUP = 8,   /* dense features whose bins are filled at once: 16 KiB */
  AHEAD = 16   /* rows that are asked for before their bins are read */
};

/* ---- The shape ------------------------------------------------------------------------------------------ */

typedef struct counter {
  const fw_binned *binned;
  uint8_t *wide; /* for each feature */
} counter;

static bool has_large(const uint32_t *count, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (count[i] > FW_PAIR_ROWS) return true;
  return false;
}

/* Whether a feature has a bin of too many rows. */
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
  c->wide[f] = has_large(count, feature->bins);
}

furrow_status fw_histograms_init(fw_histograms *all, const fw_binned *binned, fw_crew *crew, furrow_error *err) {
  const fw_cuts *cuts = binned->cuts;
  counter c = {binned, NULL};
  memset(all, 0, sizeof *all);
  all->binned = binned;
  all->bins = cuts->bins;
  furrow_status status = fw_alloc_zero((void **)&c.wide, cuts->count, 1, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&all->wide_begin, cuts->count + 1, sizeof *all->wide_begin, err);
  if (status == FURROW_OK) {
    if (binned->rows > FW_PAIR_ROWS) fw_crew_run(crew, cuts->count, count_bins, &c);
    all->wide_begin[0] = 0;
    for (size_t f = 0; f < cuts->count; f++)
      all->wide_begin[f + 1] = all->wide_begin[f] + (c.wide[f] ? cuts->feature[f].bins : 0);
    all->wide = all->wide_begin[cuts->count];
  }
  fw_free(c.wide);
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
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&made->packed, all->bins, sizeof *made->packed, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&made->wide, all->wide, sizeof *made->wide, err);
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

/* `count` features from the group's first on; constant for each call that is made of it. */
INLINE void add_group(const unsigned count, const uint8_t *byte, size_t stride, const uint32_t *row,
                      const uint64_t *pair, size_t n, uint64_t *bins) {
  for (size_t i = 0; i < n; i++) {
    const uint8_t *of = byte + row[i] * stride;
    const uint64_t add = pair[i];
    for (unsigned k = 0; k < count; k++) bins[k * FW_BINS_APART + of[k]] += add;
  }
}

static void add_dense(const fw_binned *b, const uint32_t *row, const uint64_t *pair, size_t n, uint64_t *bins) {
  const size_t dense = b->cuts->dense;
  for (size_t f = 0; f < dense; f += GROUP) {
    const uint8_t *byte = b->byte + f;
    uint64_t *to = bins + f * FW_BINS_APART;
    switch (dense - f) {
    case 1: add_group(1, byte, b->stride, row, pair, n, to); break;
    case 2: add_group(2, byte, b->stride, row, pair, n, to); break;
    case 3: add_group(3, byte, b->stride, row, pair, n, to); break;
    case 4: add_group(4, byte, b->stride, row, pair, n, to); break;
    case 5: add_group(5, byte, b->stride, row, pair, n, to); break;
    case 6: add_group(6, byte, b->stride, row, pair, n, to); break;
    case 7: add_group(7, byte, b->stride, row, pair, n, to); break;
    default: add_group(GROUP, byte, b->stride, row, pair, n, to); break;
    }
  }
}

static void add_sparse(const fw_binned *b, const uint32_t *row, const uint64_t *pair, size_t n, uint64_t *bins) {
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) __builtin_prefetch(b->bin + b->end[(ptrdiff_t)row[i + AHEAD] - 1]);
    if (i + 2 * AHEAD < n) __builtin_prefetch(b->end + row[i + 2 * AHEAD]);
    const uint64_t add = pair[i];
    const uint32_t *at = b->bin + b->end[(ptrdiff_t)row[i] - 1], *last = b->bin + b->end[row[i]];
    for (; at < last; at++) bins[*at] += add;
  }
}

static void gather(const fw_binned *b, const uint32_t *row, size_t n, const uint64_t *pair, uint64_t *to) {
  for (size_t i = 0; i < n; i++) {
    if (b->stride) __builtin_prefetch(b->byte + row[i] * b->stride);
    to[i] = pair[row[i]];
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

void fw_histogram_fill(const fw_histograms *all, fw_histogram *histogram, const uint32_t *row, size_t n,
                       const uint64_t *pair) {
  const fw_binned *b = all->binned;
  uint64_t some[BLOCK];
  memset(histogram->packed, 0, all->bins * sizeof *histogram->packed);
  memset(histogram->wide, 0, all->wide * sizeof *histogram->wide);
  size_t since = 0; /* rows since sums were made wide */
  for (size_t at = 0; at < n; at += BLOCK) {
    const size_t count = n - at < BLOCK ? n - at : BLOCK;
    gather(b, row + at, count, pair, some);
    if (b->stride) add_dense(b, row + at, some, count, histogram->packed);
    if (b->end) add_sparse(b, row + at, some, count, histogram->packed);
    since += count;
    if (all->wide && (since + BLOCK > FW_PAIR_ROWS || at + count == n)) {
      widen(all, histogram);
      since = 0;
    }
  }
}

/* ---- Sums and differences ------------------------------------------------------------------------------- */

/* Bins of the features begin … end-1. */
static size_t first_bin(const fw_histograms *all, size_t feature) {
  const fw_cuts *cuts = all->binned->cuts;
  return feature < cuts->count ? cuts->feature[feature].first_bin : cuts->bins;
}

void fw_histogram_add(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                      const fw_histogram *from) {
  for (size_t i = first_bin(all, begin); i < first_bin(all, end); i++) into->packed[i] += from->packed[i];
  for (size_t i = all->wide_begin[begin]; i < all->wide_begin[end]; i++) {
    into->wide[i].gradient += from->wide[i].gradient;
    into->wide[i].hessian += from->wide[i].hessian;
  }
}

void fw_histogram_subtract(const fw_histograms *all, size_t begin, size_t end, fw_histogram *into,
                           const fw_histogram *from) {
  for (size_t i = first_bin(all, begin); i < first_bin(all, end); i++) into->packed[i] -= from->packed[i];
  for (size_t i = all->wide_begin[begin]; i < all->wide_begin[end]; i++) {
    into->wide[i].gradient -= from->wide[i].gradient;
    into->wide[i].hessian -= from->wide[i].hessian;
  }
}

fw_sum fw_pairs_sum(const uint32_t *row, size_t n, const uint64_t *pair) {
  fw_sum sum = {0, 0};
  for (size_t i = 0; i < n; i++) {
    sum.gradient += fw_pair_gradient(pair[row[i]]);
    sum.hessian += fw_pair_hessian(pair[row[i]]);
  }
  return sum;
}
