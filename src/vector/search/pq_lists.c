/* vector/search/pq_lists.c: codes of a product quantizer prepared for searching. */
#include "vector/search/pq_lists.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/pack_codes.h"
#include "vector/quantizer/pq.h"

static furrow_status alloc_aligned(void **memory, void **aligned, size_t bytes, furrow_error *err) {
  if (!fw_size_add(bytes, FW_PACKED_ALIGNMENT, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_alloc(memory, bytes, 1, err));
  fw_prefer_large_pages(*memory, bytes);
  *aligned = fw_packed_align(*memory);
  return FURROW_OK;
}

/* The same for arrays of lists. */
static furrow_status alloc_lists(const fw_pq_lists *lists, void **memory, void **aligned, size_t bytes,
                                 furrow_error *err) {
  if (!lists->pending) return alloc_aligned(memory, aligned, bytes, err);
  if (!fw_size_add(bytes, FW_PACKED_ALIGNMENT, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_reserve(memory, bytes, err));
  *aligned = fw_packed_align(*memory);
  return FURROW_OK;
}

static void free_lists(const fw_pq_lists *lists, void *memory) {
  if (lists->pending)
    fw_release(memory);
  else
    fw_free(memory);
}

/* ---- The shift ------------------------------------------------------------------------------------------ */

/* The number of rows of which a median is computed. */
enum { MEDIAN_ROWS = 511 };

/* Of two medians, returns the one nearer to 0. */
static float median_of(const float *numbers, size_t n) {
  float heap[MEDIAN_ROWS];
  if (n == 0) return 0;
  const float upper = fw_kth_largest(numbers, n, (n + 1) / 2, heap);
  if (n % 2 == 1) return upper;
  const float lower = fw_kth_largest(numbers, n, n / 2 + 1, heap);
  return fabsf(lower) < fabsf(upper) ? lower : upper;
}

/* Medians instead of means, so that an outlier does not cost all other rows their precision. */
static void median_of_rows(const float *rows, size_t n, size_t d, float *median) {
  const size_t step = (n + MEDIAN_ROWS - 1) / MEDIAN_ROWS;
  for (size_t k = 0; k < d; k++) {
    float some[MEDIAN_ROWS];
    size_t count = 0;
    for (size_t i = 0; i < n; i += step)
      if (isfinite(rows[i * d + k])) some[count++] = rows[i * d + k];
    median[k] = median_of(some, count);
  }
}

static furrow_status make_shift(fw_pq_lists *lists, const fw_coarse *coarse, furrow_error *err) {
  const fw_pq *pq = lists->pq;
  const size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  void *memory = NULL;
  if (lists->similarity) return FURROW_OK;
  FW_TRY(fw_alloc_zero(&memory, 2 * pq->d, sizeof *lists->shift, err));
  float *own = (float *)memory + pq->d;
  lists->shift = memory;
  lists->memory += 2 * pq->d * sizeof *lists->shift;
  if (lists->residual) {
    if (coarse->centroids) median_of_rows(coarse->centroids, coarse->nlist, coarse->d, lists->shift);
    return FURROW_OK;
  }
  for (size_t m = 0; m < pq->m; m++) median_of_rows(pq->centroids + m * ksub * dsub, ksub, dsub, own + m * dsub);
  const float *centroid = coarse ? fw_coarse_centroid(coarse, 0, lists->shift) : NULL;
  for (size_t k = 0; k < pq->d; k++) lists->shift[k] = own[k] + (centroid ? centroid[k] : 0);
  return FURROW_OK;
}

/* ---- Tables --------------------------------------------------------------------------------------------- */

/* The code of the index for a number in blocks. */
static size_t code_of(const fw_pq_lists *lists, size_t m, size_t number) {
  return lists->order ? lists->order->code[m * FW_LUT_BYTES + number] : number;
}

/* With x = -2 (q - s): <x, p - s> - bias = |p - s|^2 - 2 <q - s, p - s>; centroids: p - s. */
static void set_square_bias(fw_packed *part, const float *centroids) {
  for (size_t j = 0; j < part->n; j++) {
    double square = 0;
    for (size_t k = 0; k < part->d; k++) square += (double)centroids[j * part->d + k] * centroids[j * part->d + k];
    part->bias[j] = -(float)square;
  }
}

static furrow_status make_part(fw_pq_lists *lists, size_t m, float *scratch, furrow_error *err) {
  const fw_pq *pq = lists->pq;
  const size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  const float *centroids = pq->centroids + m * ksub * dsub;
  const bool shifted = lists->shift && !lists->residual;
  const float *shift = shifted ? lists->shift + pq->d + m * dsub : NULL;
  fw_packed *part = &lists->parts[m];
  for (size_t i = 0; i < ksub * dsub; i++)
    scratch[i] = centroids[code_of(lists, m, i / dsub) * dsub + i % dsub] - (shifted ? shift[i % dsub] : 0);
  FW_TRY(fw_packed_create(part, scratch, ksub, dsub, dsub, false, err));
  if (shifted) set_square_bias(part, scratch);
  for (size_t j = ksub; j < part->blocks * FW_PACK_WIDTH; j++) part->bias[j] = 0; /* finite, but never used */
  lists->memory += part->blocks * FW_PACK_WIDTH * (dsub + 1) * sizeof(float);
  return FURROW_OK;
}

static furrow_status make_parts(fw_pq_lists *lists, furrow_error *err) {
  const fw_pq *pq = lists->pq;
  void *parts = NULL, *scratch = NULL;
  furrow_status status = fw_alloc_zero(&parts, pq->m, sizeof *lists->parts, err);
  if (status != FURROW_OK) return status;
  lists->parts = parts;
  status = fw_alloc(&scratch, fw_pq_ksub(pq) * fw_pq_dsub(pq), sizeof(float), err);
  for (size_t m = 0; status == FURROW_OK && m < pq->m; m++) status = make_part(lists, m, scratch, err);
  fw_free(scratch);
  return status;
}

static size_t table_width(const fw_pq *pq) {
  const size_t ksub = fw_pq_ksub(pq);
  return (ksub + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH * FW_PACK_WIDTH;
}

furrow_status fw_pq_tables_take(const fw_pq_lists *lists, fw_arena *arena, size_t n, fw_lut **tables, float **scratch,
                                furrow_error *err) {
  const fw_pq *pq = lists->pq;
  const size_t width = table_width(pq);
  void *luts = NULL, *values = NULL, *bytes = NULL, *wrapped = NULL, *shifted = NULL;
  furrow_status status = fw_arena_take(arena, &luts, n, sizeof **tables, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &values, n * pq->m * width, sizeof(float), err);
  if (status == FURROW_OK && lists->blocks) status = fw_arena_take(arena, &bytes, n * pq->m, FW_LUT_BYTES, err);
  if (status == FURROW_OK && lists->terms) status = fw_arena_take(arena, &wrapped, n * pq->m, FW_LUT_BYTES, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &shifted, n * pq->d, sizeof(float), err);
  if (status != FURROW_OK) return status;
  *tables = luts;
  *scratch = shifted;
  for (size_t i = 0; i < n; i++)
    (*tables)[i] = (fw_lut){.m = pq->m,
                            .ksub = fw_pq_ksub(pq),
                            .width = width,
                            .values = (float *)values + i * pq->m * width,
                            .bytes = bytes ? (uint8_t *)bytes + i * pq->m * FW_LUT_BYTES : NULL,
                            .nibbles = fw_pq_has_nibbles(pq),
                            .wrapped = wrapped ? (uint8_t *)wrapped + i * pq->m * FW_LUT_BYTES : NULL};
  return FURROW_OK;
}

void fw_pq_tables_fill(const fw_pq_lists *lists, const float *queries, size_t n, fw_lut *tables, float *scratch) {
  const fw_pq *pq = lists->pq;
  const float factor = lists->similarity ? -1.0F : -2.0F;
  const size_t dsub = fw_pq_dsub(pq), width = table_width(pq);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < pq->d; k++)
      scratch[i * pq->d + k] = factor * (queries[i * pq->d + k] - (lists->shift ? lists->shift[k] : 0));
  for (size_t m = 0; m < pq->m; m++)
    fw_products_table()->scores(&lists->parts[m], scratch + m * dsub, n, pq->d, tables[0].values + m * width,
                                pq->m * width);
  for (size_t i = 0; lists->blocks && i < n; i++) fw_scan_table()->quantise(&tables[i]);
}

/* Whether products of x with centroids are precise enough for steps: each has an error of less than a quarter of a
 * step. */
static bool can_wrap(const fw_pq_lists *lists, const float *x) {
  const fw_pq *pq = lists->pq;
  float square;
  fw_scan_table()->ip_rows(x, x, 1, pq->d, &square);
  const float size = lists->longest * (sqrtf(square) + lists->longest);
  return size * (float)(fw_pq_dsub(pq) + 4) * 0x1p-21F < lists->step; /* false for a NaN */
}

void fw_pq_tables_wrap(const fw_pq_lists *lists, size_t n, fw_lut *tables, const float *scratch) {
  for (size_t i = 0; lists->terms && i < n; i++) {
    tables[i].wraps = can_wrap(lists, scratch + i * lists->pq->d);
    if (tables[i].wraps)
      fw_scan_table()->wrap(tables[i].values, lists->pq->m * FW_LUT_BYTES, 1 / lists->step, tables[i].wrapped);
  }
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

/* The codes of the index itself. */
static const uint8_t *index_codes(const furrow_index *index, size_t list) {
  if (!fw_index_is_ivf(index)) return index->pq.packed ? index->pq.packed : index->pq.codes;
  return index->ivf.lists.list ? index->ivf.lists.list[list].codes : NULL;
}

uint32_t fw_pq_list_number(const fw_pq_lists *lists, const fw_pq_list *list, size_t i, size_t m) {
  const fw_pq *pq = lists->pq;
  if (!lists->blocks) return fw_pq_number(list->codes + i * fw_pq_code_size(pq), pq->nbits, m);
  const size_t b = i / FW_BLOCK;
  const fw_lut shape = {.m = pq->m, .nibbles = fw_pq_has_nibbles(pq)};
  const uint8_t *code = list->codes + b * FW_BLOCK * fw_lut_rows(&shape) + i % FW_BLOCK;
  return (uint32_t)code_of(lists, m, fw_lut_number(&shape, code, fw_block_width(list->size, b), m));
}

void fw_pq_list_decode(const fw_pq_lists *lists, size_t list, size_t i, float *vector) {
  const fw_pq *pq = lists->pq;
  const size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  for (size_t m = 0; m < pq->m; m++) {
    const uint32_t part = fw_pq_list_number(lists, &lists->list[list], i, m);
    memcpy(vector + m * dsub, pq->centroids + (m * ksub + part) * dsub, dsub * sizeof *vector);
  }
}

/* ---- Extras --------------------------------------------------------------------------------------------- */

/* Computes |r|^2 + 2 <c - s, r> of one code. */
static float extra_of(const fw_pq_lists *lists, const float *norms, const float *centroid, const fw_pq_list *l,
                      size_t i) {
  const fw_pq *pq = lists->pq;
  const size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  double sum = 0;
  for (size_t m = 0; m < pq->m; m++) {
    const size_t part = fw_pq_list_number(lists, l, i, m);
    const float *p = pq->centroids + (m * ksub + part) * dsub, *c = centroid + m * dsub;
    double product = 0;
    for (size_t k = 0; k < dsub; k++) product += (double)c[k] * p[k];
    sum += norms[m * ksub + part] + 2 * product;
  }
  return (float)sum;
}

/* Like fw_scan.add_up, for 4-bit codes. */
static void add_up_nibbles(const fw_lut *lut, const uint8_t *codes, size_t n, float *out) {
  for (size_t b = 0; b * FW_BLOCK < n; b++) {
    const size_t width = fw_block_width(n, b);
    double sums[FW_BLOCK] = {0};
    for (size_t m = 0; m < lut->m; m++) {
      const float *values = lut->values + m * lut->width;
      const uint8_t *row = codes + m / 2 * width;
      for (size_t i = 0; i < width; i++) sums[i] += values[row[i] >> 4 * (m % 2) & 15];
    }
    for (size_t i = 0; i < width; i++) out[b * FW_BLOCK + i] = (float)sums[i];
    codes += fw_lut_rows(lut) * width;
  }
}

/* The largest absolute value of n numbers, a multiple of FW_BLOCK_UNIT; infinite if one is NaN. */
static float largest_size(const float *numbers, size_t n) {
  float most[FW_BLOCK_UNIT] = {0}, all = 0;
  for (size_t i = 0; i < n; i += FW_BLOCK_UNIT) {
    for (size_t j = 0; j < FW_BLOCK_UNIT; j++) {
      const float size = fabsf(numbers[i + j]);
      most[j] = size <= most[j] ? most[j] : size == size ? size : INFINITY;
    }
  }
  for (size_t j = 0; j < FW_BLOCK_UNIT; j++) all = most[j] > all ? most[j] : all;
  return all;
}

/* Computes the terms of which the extras of a list are sums: [m][width]. */
static void fill_terms(const fw_pq_lists *lists, const float *norms, const float *centroid, float *table) {
  const fw_pq *pq = lists->pq;
  const size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq), width = table_width(pq);
  for (size_t m = 0; m < pq->m; m++) {
    float *row = table + m * width;
    fw_products_table()->scores(&lists->parts[m], centroid + m * dsub, 1, pq->d, row, width);
    for (size_t j = 0; j < ksub; j++) row[j] = norms[m * ksub + code_of(lists, m, j)] + 2 * row[j];
  }
}

/* Computes the extras of a whole list whose codes are in blocks. */
static void fill_extras(const fw_pq_lists *lists, const float *norms, const float *centroid, size_t list, float *table,
                        float *extra) {
  const fw_pq *pq = lists->pq;
  fw_pq_list *l = &lists->list[list];
  const fw_lut lut = {
      .m = pq->m, .ksub = fw_pq_ksub(pq), .width = table_width(pq), .values = table, .nibbles = fw_pq_has_nibbles(pq)};
  fill_terms(lists, norms, centroid, table);
  if (lut.nibbles)
    add_up_nibbles(&lut, l->codes, l->size, extra);
  else
    fw_scan_table()->add_up(&lut, l->codes, l->size, extra);
  if (!lists->terms) return;
  const size_t count = pq->m * FW_LUT_BYTES;
  float most = 0;
  for (size_t m = 0; m < pq->m; m++) most += largest_size(table + m * FW_LUT_BYTES, FW_LUT_BYTES);
  if (!can_wrap(lists, centroid) || !isfinite(most)) return;
  fw_scan_table()->wrap(table, count, 1 / lists->step, lists->terms + list * count);
  l->terms_most = most;
}

/* For a list with fewer vectors, computing a table takes longer. */
enum { FEW_VECTORS = 32 };

typedef struct packing {
  fw_pq_lists *lists;
  const furrow_index *index;
  const fw_coarse *coarse;
  const int64_t *list_sizes; /* NULL: the sizes in the index */
  float *norms;              /* [m][ksub] */
  float *scratches;          /* per task: 2 d floats and a table, aligned to 64 bytes */
  void *scratch_memory;
  size_t table_at, scratch_size, tasks;
} packing;

static void pack_list(const packing *p, size_t list, float *scratch) {
  fw_pq_lists *lists = p->lists;
  const fw_pq *pq = lists->pq;
  fw_pq_list *l = &lists->list[list];
  const bool blocked = p->index->kind == FURROW_INDEX_IVF_PQ_FAST;
  const fw_code_source from = {.pq = pq,
                               .codes = index_codes(p->index, list),
                               .blocks = blocked ? &p->index->ivf.lists : NULL,
                               .order = lists->order};
  if (lists->codes && l->size > 0) fw_pack_codes(&from, l->size, (uint8_t *)l->codes);
  if (!lists->extra) return;
  const float *centroid = fw_coarse_centroid(p->coarse, list, scratch);
  float *extra = lists->extra + l->extra_at;
  for (size_t k = 0; k < pq->d; k++) scratch[pq->d + k] = centroid[k] - lists->shift[k];
  const size_t size = p->list_sizes ? (size_t)p->list_sizes[list] : l->size;
  if (lists->blocks && size >= FEW_VECTORS) {
    fill_extras(lists, p->norms, scratch + pq->d, list, scratch + p->table_at, extra);
  } else {
    for (size_t i = 0; i < l->size; i++) extra[i] = extra_of(lists, p->norms, scratch + pq->d, l, i);
  }
  for (size_t i = l->size; i < fw_block_padded(l->size); i++) extra[i] = 0;
  l->extra_most = largest_size(extra, fw_block_padded(l->size));
}

/* ---- Quantized terms ------------------------------------------------------------------------------------ */

/* If lists are shorter on average, their terms would take more than twice the memory of their codes. */
enum { SHORT_LIST = FW_LUT_BYTES / 2 };

static bool wants_terms(const fw_pq_lists *lists) {
  size_t n = 0;
  for (size_t i = 0; i < lists->nlist; i++) n += lists->list[i].size;
  return lists->extra && lists->order && lists->pq->m <= FW_GROUP_MOST_M && n >= SHORT_LIST * lists->nlist;
}

/* The mean, over some centroids, of the largest squared distance to another centroid of the same sub-quantizer. */
static double mean_reach(const float *centroids, size_t dsub) {
  enum { STEP = 16 };
  double sum = 0;
  for (size_t i = 0; i < FW_LUT_BYTES; i += STEP) {
    float most = 0;
    for (size_t j = 0; j < FW_LUT_BYTES; j++) {
      float square;
      fw_scan_table()->l2_rows(centroids + i * dsub, centroids + j * dsub, 1, dsub, &square);
      most = fmaxf(most, square);
    }
    sum += (double)most;
  }
  return sum / (FW_LUT_BYTES / STEP);
}

/* The sum of a list's term and a query's term is |y - p|^2 - |y|^2, where y is a part of the query's difference from
 * the centroid of the list. |y - p|^2 should seldom exceed 255 steps. */
static float choose_step(const fw_pq *pq) {
  const size_t dsub = fw_pq_dsub(pq);
  double most = 0;
  for (size_t m = 0; m < pq->m; m++) most = fmax(most, mean_reach(pq->centroids + m * FW_LUT_BYTES * dsub, dsub));
  return (float)(most / 255);
}

static furrow_status prepare_terms(fw_pq_lists *lists, const float *norms, furrow_error *err) {
  const size_t size = lists->nlist * lists->pq->m * FW_LUT_BYTES;
  void *terms = NULL;
  for (size_t i = 0; i < lists->nlist; i++) lists->list[i].terms_most = INFINITY;
  if (!wants_terms(lists)) return FURROW_OK;
  const float step = choose_step(lists->pq);
  if (!(step > 0 && isfinite(step) && isfinite(1 / step))) return FURROW_OK;
  FW_TRY(alloc_lists(lists, &lists->terms_memory, &terms, size, err));
  lists->terms = terms;
  lists->step = step;
  lists->longest = sqrtf(largest_size(norms, lists->pq->m * FW_LUT_BYTES));
  lists->memory += size;
  return FURROW_OK;
}

static void pack_some(void *context, size_t task) {
  const packing *p = context;
  const size_t nlist = p->lists->nlist;
  for (size_t list = task; list < nlist; list += p->tasks) pack_list(p, list, p->scratches + task * p->scratch_size);
}

static void square_norms(const fw_pq *pq, float *norms) {
  const size_t count = pq->m * fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  for (size_t i = 0; i < count; i++) {
    double sum = 0;
    for (size_t k = 0; k < dsub; k++) sum += (double)pq->centroids[i * dsub + k] * pq->centroids[i * dsub + k];
    norms[i] = (float)sum;
  }
}

static furrow_status begin_packing(packing *p, size_t tasks, furrow_error *err) {
  const fw_pq *pq = p->lists->pq;
  void *aligned = NULL;
  p->tasks = tasks;
  p->table_at = (2 * pq->d + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH * FW_PACK_WIDTH;
  p->scratch_size = p->table_at + (p->lists->blocks ? pq->m * table_width(pq) : 0);
  FW_TRY(FW_ALLOC(&p->norms, pq->m * fw_pq_ksub(pq), err));
  FW_TRY(alloc_aligned(&p->scratch_memory, &aligned, tasks * p->scratch_size * sizeof(float), err));
  p->scratches = aligned;
  square_norms(pq, p->norms);
  return prepare_terms(p->lists, p->norms, err);
}

static void end_packing(const packing *p) {
  fw_free(p->norms);
  fw_free(p->scratch_memory);
}

static furrow_status pack_all(packing *p, fw_pool *pool, furrow_error *err) {
  furrow_status status = begin_packing(p, pool ? 8 * ((size_t)fw_pool_threads(pool) + 1) : 1, err);
  if (status == FURROW_OK) {
    if (pool)
      status = fw_pool_for(pool, p->tasks, pack_some, p, err);
    else
      pack_some(p, 0);
  }
  end_packing(p);
  return status;
}

/* ---- Lists that are packed later ------------------------------------------------------------------------ */

struct fw_pq_pending {
  pthread_mutex_t lock; /* one list is packed at a time, with the scratch of `packing` */
  packing packing;
  atomic_bool packed[]; /* nlist elements */
};

/* Shards need the sizes of all lists only while their searchers are created. */
static bool is_packed_later(const furrow_index *index, const int64_t *list_sizes) {
  return fw_index_is_ivf(index) && index->ivf.lists.disk && index->ivf.lists.disk->map && !list_sizes;
}

static furrow_status create_pending(fw_pq_lists *lists, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof *lists->pending + lists->nlist * sizeof(atomic_bool), err));
  lists->pending = memory;
  pthread_mutex_init(&lists->pending->lock, NULL);
  lists->memory += sizeof *lists->pending + lists->nlist;
  return FURROW_OK;
}

static void free_pending(struct fw_pq_pending *pending) {
  if (!pending) return;
  end_packing(&pending->packing);
  pthread_mutex_destroy(&pending->lock);
  fw_free(pending);
}

void fw_pq_list_pack(const fw_pq_lists *lists, size_t list) {
  struct fw_pq_pending *pending = lists->pending;
  if (atomic_load_explicit(&pending->packed[list], memory_order_acquire)) return;
  pthread_mutex_lock(&pending->lock);
  if (!atomic_load_explicit(&pending->packed[list], memory_order_relaxed)) {
    pack_list(&pending->packing, list, pending->packing.scratches);
    atomic_store_explicit(&pending->packed[list], true, memory_order_release);
  }
  pthread_mutex_unlock(&pending->lock);
}

/* ---- All lists ------------------------------------------------------------------------------------------ */

static bool is_packed(const furrow_index *index) {
  return fw_index_is_ivf(index) ? index->ivf.lists.packed : index->pq.packed != NULL;
}

static void lay_out_list(fw_pq_lists *lists, const furrow_index *index, size_t i) {
  fw_pq_list *l = &lists->list[i];
  if (!fw_index_is_ivf(index)) {
    l->size = (size_t)index->ntotal;
  } else if (index->ivf.lists.list) {
    l->size = index->ivf.lists.list[i].size;
    l->ids = index->ivf.lists.list[i].ids;
  }
  l->codes = index_codes(index, i);
}

/* Lays out codes and extras of all lists; each list starts on a cache line. Kernels may read past a list; between lists
 * that are packed later is a gap, so that they do not read what another thread packs. */
static furrow_status lay_out_lists(fw_pq_lists *lists, const furrow_index *index, furrow_error *err) {
  const size_t m = fw_pq_rows(lists->pq), gap = lists->pending ? FW_BLOCK : 0;
  size_t bytes = FW_BLOCK, floats = FW_BLOCK; /* kernels may read past the last list */
  void *codes = NULL, *extra = NULL;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < lists->nlist; i++) {
    lay_out_list(lists, index, i);
    lists->list[i].extra_at = floats - FW_BLOCK;
    floats += fw_block_padded(lists->list[i].size) + gap;
    bytes += fw_packed_bytes(lists->list[i].size, m) + gap;
  }
  if (lists->blocks && !is_packed(index)) status = alloc_lists(lists, &lists->codes_memory, &codes, bytes, err);
  if (status == FURROW_OK && lists->residual && !lists->similarity)
    status = alloc_lists(lists, &lists->extra_memory, &extra, floats * sizeof(float), err);
  if (status != FURROW_OK) return status;
  lists->codes = codes;
  lists->extra = extra;
  if (codes) memset(lists->codes + bytes - FW_BLOCK, 0, FW_BLOCK);
  if (extra) memset(lists->extra + floats - FW_BLOCK, 0, FW_BLOCK * sizeof(float));
  lists->memory += (codes ? bytes : 0) + (extra ? floats * sizeof(float) : 0) + lists->nlist * sizeof *lists->list;
  bytes = 0;
  for (size_t i = 0; codes && i < lists->nlist; i++) {
    lists->list[i].codes = lists->codes + bytes;
    bytes += fw_packed_bytes(lists->list[i].size, m) + gap;
  }
  return FURROW_OK;
}

static furrow_status find_order(fw_pq_lists *lists, const furrow_index *index, furrow_error *err) {
  lists->order = fw_index_is_ivf(index) ? index->ivf.lists.order : index->pq.order;
  if (is_packed(index)) return FURROW_OK;
  const furrow_status status = fw_code_order_create(&lists->own_order, lists->pq, err);
  lists->order = lists->own_order;
  if (lists->order) lists->memory += sizeof *lists->order + 2 * lists->pq->m * FW_LUT_BYTES;
  return status;
}

furrow_status fw_pq_lists_create(fw_pq_lists *lists, const furrow_index *index, const fw_coarse *coarse,
                                 const int64_t *list_sizes, fw_pool *pool, furrow_error *err) {
  const bool ivf = fw_index_is_ivf(index);
  fw_pq_lists made = {.pq = fw_index_pq(index), .nlist = ivf ? index->ivf.nlist : 1};
  void *list = NULL;
  made.similarity = index->metric == FURROW_METRIC_IP;
  const bool one = made.nlist == 1 && !made.similarity, residual = ivf && index->ivf.by_residual;
  made.residual = residual && !one;
  made.blocks = fw_pq_is_packable(made.pq);
  packing p = {.lists = &made, .index = index, .coarse = coarse, .list_sizes = list_sizes};
  furrow_status status = fw_alloc_zero(&list, made.nlist, sizeof *made.list, err);
  made.list = list;
  if (status == FURROW_OK && is_packed_later(index, list_sizes)) status = create_pending(&made, err);
  if (status == FURROW_OK) status = make_shift(&made, residual ? coarse : NULL, err);
  if (status == FURROW_OK) status = find_order(&made, index, err);
  if (status == FURROW_OK) status = make_parts(&made, err);
  if (status == FURROW_OK) status = lay_out_lists(&made, index, err);
  if (status == FURROW_OK && made.pending) {
    status = begin_packing(&p, 1, err);
    made.pending->packing = p;
    made.pending->packing.lists = lists;
  } else if (status == FURROW_OK) {
    status = pack_all(&p, pool, err);
  }
  if (status == FURROW_OK)
    *lists = made;
  else
    fw_pq_lists_clear(&made);
  return status;
}

void fw_pq_lists_clear(fw_pq_lists *lists) {
  for (size_t m = 0; lists->parts && m < lists->pq->m; m++) fw_packed_clear(&lists->parts[m]);
  fw_free(lists->parts);
  fw_free(lists->list);
  free_lists(lists, lists->codes_memory);
  free_lists(lists, lists->extra_memory);
  free_lists(lists, lists->terms_memory);
  free_pending(lists->pending);
  fw_free(lists->shift);
  fw_free(lists->own_order);
  *lists = (fw_pq_lists){0};
}
