/* learn/forest/bins.c: cuts of features, rows into bins, and bins by feature. */
#include "learn/forest/bins.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "kern/math/trees.h"

enum { ROWS_AT_ONCE = 512, LINE = 64 };

/* ---- Cuts ----------------------------------------------------------------------------------------------- */

void fw_cuts_free(fw_cuts *cuts) {
  if (!cuts) return;
  void *const arrays[] = {cuts->feature, cuts->cut, cuts->edge, cuts->full_edge, cuts->pivot, cuts->by_id};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(cuts);
}

uint32_t fw_cuts_find(const fw_cuts *cuts, uint64_t id) {
  const size_t at = fw_lower_bound_u64(&cuts->by_id->id, cuts->count, sizeof *cuts->by_id, id);
  return at < cuts->count && cuts->by_id[at].id == id ? cuts->by_id[at].feature : FW_NO_FEATURE;
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

size_t fw_counts_to_offsets(size_t *at, size_t blocks, size_t keys, size_t spare, size_t *end) {
  size_t next = 0;
  for (size_t key = 0; key < keys; key++) {
    next += spare;
    for (size_t block = 0; block < blocks; block++) {
      const size_t count = at[block * keys + key];
      at[block * keys + key] = next;
      next += count;
    }
    end[key] = next;
  }
  return next;
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

/* A power of two up to 16 bytes, then multiples of 16: a row of 28 features takes half a cache line. */
static size_t stride_for(size_t bytes) {
  size_t stride = 4;
  if (bytes == 0) return 0;
  while (stride < bytes && stride < 16) stride *= 2;
  return stride >= bytes ? stride : (bytes + 15) / 16 * 16;
}

/* Rows are aligned to cache lines, so that few rows straddle two. */
static furrow_status grow_bytes(fw_binned *b, size_t capacity, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, capacity + LINE, b->stride, err));
  fw_prefer_large_pages(memory, (capacity + LINE) * b->stride);
  uint8_t *aligned = (uint8_t *)(((uintptr_t)memory + LINE - 1) / LINE * LINE);
  if (b->rows) memcpy(aligned, b->byte, b->rows * b->stride);
  fw_free(b->byte_memory);
  b->byte_memory = memory;
  b->byte = aligned;
  return FURROW_OK;
}

static furrow_status grow_rows(fw_binned *b, size_t rows, furrow_error *err) {
  if (rows <= b->row_capacity) return FURROW_OK;
  const size_t capacity = b->row_capacity + b->row_capacity / 2 > rows ? b->row_capacity + b->row_capacity / 2 : rows;
  FW_TRY(FW_REALLOC(&b->label, capacity, err));
  if (b->weight) FW_TRY(FW_REALLOC(&b->weight, capacity, err));
  if (b->stride) FW_TRY(grow_bytes(b, capacity, err));
  if (b->cuts->count > b->cuts->dense) {
    size_t *ends = b->end ? b->end - 1 : NULL;
    FW_TRY(FW_REALLOC(&ends, capacity + 1, err));
    ends[0] = 0;
    b->end = ends + 1;
  }
  b->row_capacity = capacity;
  return FURROW_OK;
}

furrow_status fw_binned_init(fw_binned *b, const fw_cuts *cuts, size_t rows, size_t entries, furrow_error *err) {
  *b = (fw_binned){.cuts = cuts, .stride = stride_for(cuts->dense)};
  FW_TRY(grow_rows(b, rows, err));
  return entries ? FW_GROW(&b->bin, &b->entry_capacity, entries, err) : FURROW_OK;
}

void fw_binned_clear(fw_binned *b) {
  void *const arrays[] = {b->label,       b->weight,
                          b->byte_memory, b->column,
                          b->batch_begin, b->end ? b->end - 1 : NULL,
                          b->bin,         b->column_end ? b->column_end - 1 : NULL,
                          b->column_row,  b->column_bin};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  memset(b, 0, sizeof *b);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* Called for the first rows that have weights: the rows before them get the weight 1. */
static furrow_status keep_weights(fw_binned *b, furrow_error *err) {
  FW_TRY(FW_REALLOC(&b->weight, b->row_capacity, err));
  for (size_t i = 0; i < b->rows; i++) b->weight[i] = 1;
  return FURROW_OK;
}

/* Batches that are added at once. */
typedef struct adding {
  fw_binned *binned;
  const fw_minibatch *batch;
  const uint32_t *const *number;
  size_t count;
  size_t *row, *entry; /* count + 1: where the rows and the entries of each batch begin */
} adding;

static void add_labels(const adding *a, size_t i) {
  const fw_minibatch *batch = &a->batch[i];
  fw_binned *b = a->binned;
  memcpy(b->label + a->row[i], batch->label, batch->rows * sizeof *b->label);
  for (size_t k = 0; b->weight && k < batch->rows; k++) b->weight[a->row[i] + k] = batch->weight ? batch->weight[k] : 1;
}

static void add_dense_rows(const adding *a, size_t i, size_t begin, size_t end) {
  const fw_binned *b = a->binned;
  const fw_minibatch *batch = &a->batch[i];
  uint8_t *first = b->byte + (a->row[i] + begin) * b->stride;
  memset(first, 0, (end - begin) * b->stride);
  for (size_t c = 0; c < batch->columns; c++) {
    const uint32_t number = a->number[i][c];
    if (number == FW_NO_FEATURE) continue;
    const float *edge = b->cuts->full_edge + number * FW_BINS_APART;
    uint8_t *to = first + number;
    for (size_t row = begin; row < end; row++, to += b->stride) {
      const float x = batch->x[row * batch->columns + c];
      *to = isnan(x) ? FW_NO_BIN : (uint8_t)fw_cuts_bin(edge, x);
    }
  }
}

static void add_dense_batch(void *context, size_t i) {
  const adding *a = context;
  const size_t rows = a->batch[i].rows;
  add_labels(a, i);
  for (size_t begin = 0; a->binned->stride && begin < rows; begin += ROWS_AT_ONCE)
    add_dense_rows(a, i, begin, rows - begin < ROWS_AT_ONCE ? rows : begin + ROWS_AT_ONCE);
}

/* For features that come one by one. */
static uint32_t bin_of(const fw_cuts *cuts, const fw_cut_feature *feature, float x) {
  const float *edge = cuts->edge + feature->first_cut;
  uint32_t low = 0, high = feature->bins - 1;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (edge[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void add_sparse_row(const adding *a, size_t i, size_t row, uint32_t *bin) {
  const fw_binned *b = a->binned;
  const fw_minibatch *batch = &a->batch[i];
  uint8_t *byte = b->byte + (a->row[i] + row) * b->stride;
  if (b->stride) memset(byte, FW_NO_BIN, b->cuts->dense);
  if (!b->end && batch->value) {
    const fw_bin_edges edges = {b->cuts->full_edge, b->cuts->pivot, b->cuts->dense};
    const size_t first = batch->offset[row];
    fw_trees_table()->bins(&edges, a->number[i] + first, batch->value + first, batch->offset[row + 1] - first, byte);
    return;
  }
  for (size_t k = batch->offset[row]; k < batch->offset[row + 1]; k++) {
    const uint32_t number = a->number[i][k];
    const float x = batch->value ? batch->value[k] : 1;
    if (number < b->cuts->dense) {
      byte[number] = (uint8_t)fw_cuts_bin(b->cuts->full_edge + number * FW_BINS_APART, x);
    } else if (number < b->cuts->single) {
      const fw_cut_feature *feature = &b->cuts->feature[number];
      *bin++ = feature->first_bin + bin_of(b->cuts, feature, x);
    } else if (number != FW_NO_FEATURE) {
      *bin++ = (uint32_t)b->cuts->single_offset + number; /* the last bins, one for each */
    }
  }
}

/* Lists of rows end where count_lists says, from the first entry of the batch on. */
static void add_sparse_batch(void *context, size_t i) {
  const adding *a = context;
  const fw_binned *b = a->binned;
  add_labels(a, i);
  for (size_t row = 0; row < a->batch[i].rows; row++) {
    size_t *end = b->end ? &b->end[a->row[i] + row] : NULL;
    if (end) *end += a->entry[i];
    add_sparse_row(a, i, row, end ? b->bin + (row > 0 ? end[-1] : a->entry[i]) : NULL);
  }
}

/* Where the lists of rows end within the batch. */
static void count_lists(void *context, size_t i) {
  const adding *a = context;
  const fw_binned *b = a->binned;
  const fw_minibatch *batch = &a->batch[i];
  size_t entries = 0;
  for (size_t row = 0; row < batch->rows; row++) {
    for (size_t k = batch->offset[row]; k < batch->offset[row + 1]; k++)
      entries += a->number[i][k] >= b->cuts->dense && a->number[i][k] != FW_NO_FEATURE;
    b->end[a->row[i] + row] = entries;
  }
  a->entry[i + 1] = entries;
}

static furrow_status place_lists(adding *a, fw_spin_pool *pool, furrow_error *err) {
  fw_binned *b = a->binned;
  fw_spin_pool_run(pool, a->count, count_lists, a);
  a->entry[0] = b->entries;
  for (size_t i = 0; i < a->count; i++) a->entry[i + 1] += a->entry[i];
  return FW_GROW(&b->bin, &b->entry_capacity, a->entry[a->count], err);
}

static furrow_status place_batches(adding *a, furrow_error *err) {
  fw_binned *b = a->binned;
  FW_TRY(FW_GROW(&b->batch_begin, &b->batch_capacity, 2 * (a->count + 1), err));
  a->row = b->batch_begin;
  a->entry = a->row + a->count + 1;
  a->row[0] = b->rows;
  for (size_t i = 0; i < a->count; i++) a->row[i + 1] = a->row[i] + a->batch[i].rows;
  FW_TRY(grow_rows(b, a->row[a->count], err));
  for (size_t i = 0; i < a->count; i++)
    if (a->batch[i].weight && !b->weight) FW_TRY(keep_weights(b, err));
  return FURROW_OK;
}

furrow_status fw_binned_add(fw_binned *b, const fw_minibatch *batch, const uint32_t *const *number, size_t count,
                            fw_spin_pool *pool, furrow_error *err) {
  adding a = {.binned = b, .batch = batch, .number = number, .count = count};
  const bool sparse = count > 0 && batch->offset;
  FW_TRY(place_batches(&a, err));
  if (b->end && sparse) FW_TRY(place_lists(&a, pool, err));
  fw_spin_pool_run(pool, count, sparse ? add_sparse_batch : add_dense_batch, &a);
  if (b->end && sparse) b->entries = a.entry[count];
  b->rows = a.row[count];
  return FURROW_OK;
}

/* ---- By feature ----------------------------------------------------------------------------------------- */

static void transpose_rows(void *context, size_t i) {
  fw_binned *b = context;
  const size_t begin = i * ROWS_AT_ONCE, end = begin + ROWS_AT_ONCE < b->rows ? begin + ROWS_AT_ONCE : b->rows;
  for (size_t f = 0; f < b->cuts->dense; f++) {
    uint8_t *to = b->column + f * b->rows;
    for (size_t row = begin; row < end; row++) to[row] = b->byte[row * b->stride + f];
  }
}

static furrow_status transpose_bytes(fw_binned *b, fw_spin_pool *pool, furrow_error *err) {
  FW_TRY(FW_ALLOC_ROWS(&b->column, b->rows, b->cuts->dense, err));
  fw_prefer_large_pages(b->column, b->rows * b->cuts->dense);
  fw_spin_pool_run(pool, (b->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, transpose_rows, b);
  return FURROW_OK;
}

/* Rows are dealt out to a few blocks; each knows where its entries of a feature begin. */
typedef struct turner {
  fw_binned *binned;
  size_t blocks, sparse;
  uint32_t *owner; /* owner of each bin of the sparse features: number of the feature among them */
  size_t *at;      /* blocks * sparse */
} turner;

static size_t block_begin(const turner *t, size_t block) {
  return t->binned->rows * block / t->blocks;
}

static void count_block(void *context, size_t block) {
  const turner *t = context;
  const fw_binned *b = t->binned;
  const uint32_t first = (uint32_t)b->cuts->first_sparse_bin;
  size_t *at = t->at + block * t->sparse;
  for (size_t i = b->end[(ptrdiff_t)block_begin(t, block) - 1]; i < b->end[(ptrdiff_t)block_begin(t, block + 1) - 1];
       i++)
    at[t->owner[b->bin[i] - first]]++;
}

static void fill_block(void *context, size_t block) {
  const turner *t = context;
  fw_binned *b = t->binned;
  const uint32_t first = (uint32_t)b->cuts->first_sparse_bin;
  size_t *at = t->at + block * t->sparse;
  for (size_t row = block_begin(t, block); row < block_begin(t, block + 1); row++) {
    for (size_t i = b->end[(ptrdiff_t)row - 1]; i < b->end[row]; i++) {
      const uint32_t feature = t->owner[b->bin[i] - first];
      const size_t to = at[feature]++;
      b->column_row[to] = (uint32_t)row;
      if (b->column_bin)
        b->column_bin[to] = (uint8_t)(b->bin[i] - b->cuts->feature[b->cuts->dense + feature].first_bin);
    }
  }
}

static furrow_status make_columns(fw_binned *b, size_t sparse, furrow_error *err) {
  size_t *ends = NULL;
  FW_TRY(FW_ALLOC(&ends, sparse + 1, err));
  ends[0] = 0;
  b->column_end = ends + 1;
  FW_TRY(FW_ALLOC(&b->column_row, b->entries, err));
  if (b->cuts->single == b->cuts->dense) return FURROW_OK;
  return FW_ALLOC(&b->column_bin, b->entries, err);
}

static furrow_status transpose_lists(fw_binned *b, fw_spin_pool *pool, furrow_error *err) {
  const fw_cuts *cuts = b->cuts;
  turner t = {.binned = b, .blocks = fw_spin_pool_threads(pool), .sparse = cuts->count - cuts->dense};
  furrow_status status = make_columns(b, t.sparse, err);
  if (status == FURROW_OK) status = FW_ALLOC(&t.owner, cuts->bins - cuts->first_sparse_bin, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO_ROWS(&t.at, t.blocks, t.sparse, err);
  if (status == FURROW_OK) {
    for (size_t f = cuts->dense, bin = 0; f < cuts->count; f++)
      for (uint32_t i = 0; i < cuts->feature[f].bins; i++) t.owner[bin++] = (uint32_t)(f - cuts->dense);
    fw_spin_pool_run(pool, t.blocks, count_block, &t);
    fw_counts_to_offsets(t.at, t.blocks, t.sparse, 0, b->column_end);
    fw_spin_pool_run(pool, t.blocks, fill_block, &t);
  }
  fw_free(t.owner);
  fw_free(t.at);
  return status;
}

furrow_status fw_binned_finish(fw_binned *b, fw_spin_pool *pool, furrow_error *err) {
  FW_TRY(grow_rows(b, b->rows ? b->rows : 1, err)); /* a rank may have none: lists need their begin */
  if (b->stride) FW_TRY(transpose_bytes(b, pool, err));
  return b->cuts->count > b->cuts->dense ? transpose_lists(b, pool, err) : FURROW_OK;
}
