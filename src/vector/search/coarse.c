/* vector/search/coarse.c: finds the lists that a query probes.
 *
 * Flat quantizers: packed kernels, whose rounding depends on the processor, or a less precise sketch compute the scores
 * of all centroids. For centroids that may be among the best, exact distances are computed, which decide. */
#include "vector/search/coarse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/products/sketch.h"
#include "kern/scan/scan.h"
#include "vector/quantizer/pq.h"
#include "vector/search/searcher.h"

/* ---- Preparation ---------------------------------------------------------------------------------------- */

static float longest_row(const float *rows, size_t n, size_t d) {
  float longest = 0;
  for (size_t i = 0; i < n; i++) {
    float square;
    fw_scan_table()->ip_rows(rows + i * d, rows + i * d, 1, d, &square);
    longest = fmaxf(longest, sqrtf(square));
  }
  return longest;
}

static furrow_status make_flat(fw_coarse *coarse, furrow_error *err) {
  const furrow_index *quantizer = coarse->quantizer;
  const bool l2 = quantizer->metric == FURROW_METRIC_L2;
  furrow_status status = FURROW_OK;
  coarse->centroids = quantizer->flat.vectors;
  coarse->longest = longest_row(coarse->centroids, coarse->nlist, coarse->d);
  if (fw_products_table()->rough)
    status = fw_sketch_create(&coarse->sketch, coarse->centroids, coarse->nlist, coarse->d, coarse->d, l2, err);
  if (status != FURROW_OK || coarse->sketch) return status;
  return fw_packed_create(&coarse->packed, coarse->centroids, coarse->nlist, coarse->d, coarse->d, l2, err);
}

furrow_status fw_coarse_create(fw_coarse *coarse, const furrow_index *quantizer, furrow_error *err) {
  fw_coarse made = {.quantizer = quantizer, .nlist = (size_t)quantizer->ntotal, .d = (size_t)quantizer->d};
  furrow_status status = FURROW_OK;
  if (quantizer->kind == FURROW_INDEX_FLAT) status = make_flat(&made, err);
  if (quantizer->kind == FURROW_INDEX_HNSW) made.centroids = quantizer->child[0]->flat.vectors;
  if (status == FURROW_OK)
    *coarse = made;
  else
    fw_coarse_clear(&made);
  return status;
}

void fw_coarse_clear(fw_coarse *coarse) {
  fw_packed_clear(&coarse->packed);
  fw_sketch_free(coarse->sketch);
  *coarse = (fw_coarse){0};
}

uint64_t fw_coarse_memory(const fw_coarse *coarse) {
  const uint64_t sketch = coarse->sketch ? fw_sketch_memory(coarse->sketch) : 0;
  return sketch + coarse->packed.blocks * FW_PACK_WIDTH * (coarse->d + 1) * sizeof(float);
}

const float *fw_coarse_centroid(const fw_coarse *coarse, size_t list, float *work) {
  if (coarse->centroids) return coarse->centroids + list * coarse->d;
  fw_pq_decode_key(&coarse->quantizer->pq.pq, list, work);
  return work;
}

/* ---- A spatial order of the lists ----------------------------------------------------------------------- */

typedef struct placed {
  float projection;
  uint32_t list;
} placed;

static int by_projection(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->projection != y->projection) return x->projection < y->projection ? -1 : 1;
  return x->list < y->list ? -1 : x->list > y->list;
}

/* Sorts centroids along a direction in which they differ much: from one of them to the one farthest from it. */
static void sort_by_direction(const fw_coarse *coarse, placed *some, size_t n) {
  const size_t d = coarse->d;
  const float *from = coarse->centroids + some[0].list * d, *to = from;
  for (int round = 0; round < 2; round++) {
    float most = -1;
    const float *start = to;
    for (size_t i = 0; i < n; i++) {
      float square;
      fw_scan_table()->l2_rows(start, coarse->centroids + some[i].list * d, 1, d, &square);
      if (square > most) {
        most = square;
        from = start;
        to = coarse->centroids + some[i].list * d;
      }
    }
  }
  for (size_t i = 0; i < n; i++) {
    const float *row = coarse->centroids + some[i].list * d;
    float a, b;
    fw_scan_table()->ip_rows(row, to, 1, d, &a);
    fw_scan_table()->ip_rows(row, from, 1, d, &b);
    some[i].projection = a - b;
  }
  qsort(some, n, sizeof *some, by_projection);
}

furrow_status fw_list_positions(const fw_coarse *coarse, uint32_t **positions, furrow_error *err) {
  enum { FEW = 4 };
  const size_t n = coarse->nlist;
  void *memory = NULL, *position = NULL;
  if (!coarse->centroids || n == 0) return FURROW_OK;
  furrow_status status = fw_alloc(&memory, n, sizeof(placed), err);
  if (status == FURROW_OK) status = fw_alloc(&position, n, sizeof(uint32_t), err);
  placed *some = memory;
  for (size_t i = 0; status == FURROW_OK && i < n; i++) some[i].list = (uint32_t)i;
  for (size_t size = n; status == FURROW_OK && size > FEW; size = (size + 1) / 2)
    for (size_t first = 0; first < n; first += size)
      sort_by_direction(coarse, some + first, n - first < size ? n - first : size);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) ((uint32_t *)position)[some[i].list] = (uint32_t)i;
  fw_free(memory);
  if (status == FURROW_OK) *positions = position;
  return status;
}

/* ---- Flat ----------------------------------------------------------------------------------------------- */

/* The error of a score is less than d + 8 roundings of numbers up to |q| |c| + |c|^2; two scores are compared. */
static float score_slack(const fw_coarse *coarse, const float *query) {
  float square;
  fw_scan_table()->ip_rows(query, query, 1, coarse->d, &square);
  return 0x1p-22F * (float)(coarse->d + 8) * coarse->longest * (sqrtf(square) + coarse->longest);
}

static size_t padded_width(const fw_coarse *coarse) {
  return (coarse->nlist + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH * FW_PACK_WIDTH;
}

/* slack[i] is twice the error of a score: how far a score of query i may be below another with the same true value. */
static void make_scores(const fw_coarse *coarse, const float *queries, size_t n, float *scores, float *slack) {
  const fw_products *products = fw_products_table();
  const size_t width = padded_width(coarse), d = coarse->d;
  if (coarse->sketch)
    products->rough(coarse->sketch, queries, n, d, scores, width, slack);
  else
    products->scores(&coarse->packed, queries, n, d, scores, width);
  for (size_t i = 0; i < n; i++) slack[i] = (coarse->sketch ? 2 * slack[i] : 0) + score_slack(coarse, queries + i * d);
}

/* Scratch memory for selecting the best scores. */
typedef struct selection {
  float *maxima;     /* [width] */
  uint32_t *columns; /* [width + FW_PACK_WIDTH] */
} selection;

static furrow_status allocate_selection(selection *work, fw_arena *arena, size_t width, furrow_error *err) {
  void *maxima = NULL, *columns = NULL;
  furrow_status status = fw_arena_take(arena, &maxima, width + FW_PACK_WIDTH, sizeof *work->maxima, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &columns, width + FW_PACK_WIDTH, sizeof *work->columns, err);
  *work = (selection){.maxima = maxima, .columns = columns};
  return status;
}

/* The number of groups whose maxima are computed: enough that the nprobe-th largest maximum is close to the nprobe-th
 * largest score. */
static size_t count_groups(size_t nprobe, size_t width) {
  size_t groups = 4 * FW_PACK_WIDTH;
  while (groups < 2 * nprobe) groups *= 2;
  return groups < width ? groups : width;
}

/* Finds all scores that may be among the nprobe largest. The nprobe-th largest maximum of the groups is a lower bound
 * of the nprobe-th largest score, and only a few scores exceed it. */
static size_t find_best(const float *scores, size_t width, size_t nprobe, float slack, const selection *work) {
  const fw_scan *scan = fw_scan_table();
  const size_t groups = count_groups(nprobe, width);
  scan->maxima(scores, width, groups, work->maxima);
  size_t count =
      scan->find_not_below(scores, width, scan->kth_bound(work->maxima, groups, nprobe) - slack, work->columns);
  if (count <= nprobe + nprobe / 8) return count;
  const size_t padded = (count + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH * FW_PACK_WIDTH;
  for (size_t i = 0; i < padded; i++) work->maxima[i] = i < count ? scores[work->columns[i]] : -INFINITY;
  const float limit = scan->kth_bound(work->maxima, padded, nprobe) - slack;
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    work->columns[kept] = work->columns[i];
    kept += !(work->maxima[i] < limit);
  }
  return kept;
}

static void fetch_row(const float *row, size_t d) {
  for (size_t k = 0; k < d && k < 512; k += 16) __builtin_prefetch(row + k);
}

static void choose_lists(const fw_coarse *coarse, const float *query, const float *scores, float slack, size_t nprobe,
                         fw_sink *sink, const selection *work) {
  enum { AHEAD = 4 };
  const bool similarity = coarse->quantizer->metric == FURROW_METRIC_IP;
  const fw_scan *scan = fw_scan_table();
  const size_t width = padded_width(coarse), d = coarse->d;
  const size_t count = find_best(scores, width, nprobe, slack, work);
  for (size_t i = 0; i < count + AHEAD; i++) {
    if (i < count && work->columns[i] < coarse->nlist) fetch_row(coarse->centroids + work->columns[i] * d, d);
    if (i < AHEAD || work->columns[i - AHEAD] >= coarse->nlist) continue;
    const uint32_t list = work->columns[i - AHEAD];
    float distance;
    if (similarity)
      scan->ip_rows(query, coarse->centroids + list * d, 1, d, &distance);
    else
      scan->l2_rows(query, coarse->centroids + list * d, 1, d, &distance);
    fw_sink_offer(sink, similarity ? -distance : distance, fw_tie_break_id(list, similarity));
  }
}

/* ---- Two halves: the smallest sums of one distance from each half --------------------------------------- */

typedef struct pair { /* the i-th nearest centroid of the first half with the j-th nearest of the second */
  float sum;
  uint32_t i, j;
} pair;

static int by_key(const void *a, const void *b) {
  const fw_hit *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts the centroids of half m by distance. */
static void sort_half(const fw_coarse *coarse, size_t m, const float *query, float *work, fw_hit *sorted) {
  const fw_pq *pq = &coarse->quantizer->pq.pq;
  const size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  fw_scan_table()->l2_rows(query + m * dsub, pq->centroids + m * ksub * dsub, ksub, dsub, work);
  for (size_t i = 0; i < ksub; i++) sorted[i] = (fw_hit){work[i], (int64_t)i};
  qsort(sorted, ksub, sizeof *sorted, by_key);
}

static void push_pair(pair *heap, size_t *count, pair p) {
  size_t at = (*count)++;
  for (; at > 0 && heap[(at - 1) / 2].sum > p.sum; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = p;
}

static pair pop_pair(pair *heap, size_t *count) {
  const pair first = heap[0], last = heap[--*count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < *count; at = child) {
    if (child + 1 < *count && heap[child + 1].sum < heap[child].sum) child++;
    if (heap[child].sum >= last.sum) break;
    heap[at] = heap[child];
  }
  heap[at] = last;
  return first;
}

/* A row of the sums enters the heap with the first pair of the preceding row, so the heap holds at most one pair per
 * row. */
static void merge_halves(const fw_hit *first, const fw_hit *second, size_t ksub, unsigned nbits, size_t nprobe,
                         pair *heap, int64_t *lists, float *distances) {
  size_t count = 0;
  push_pair(heap, &count, (pair){first[0].key + second[0].key, 0, 0});
  for (size_t found = 0; found < nprobe; found++) {
    const pair p = pop_pair(heap, &count);
    lists[found] = first[p.i].id | second[p.j].id << nbits;
    distances[found] = p.sum;
    if (p.j == 0 && p.i + 1 < ksub) push_pair(heap, &count, (pair){first[p.i + 1].key + second[0].key, p.i + 1, 0});
    if (p.j + 1 < ksub) push_pair(heap, &count, (pair){first[p.i].key + second[p.j + 1].key, p.i, p.j + 1});
  }
}

static furrow_status search_halves(const fw_coarse *coarse, fw_scratch *scratch, const fw_coarse_batch *batch,
                                   furrow_error *err) {
  const fw_pq *pq = &coarse->quantizer->pq.pq;
  const size_t ksub = fw_pq_ksub(pq), nprobe = batch->nprobe;
  void *sorted = NULL, *heap = NULL, *work = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &sorted, 2 * ksub, sizeof(fw_hit), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heap, ksub + 1, sizeof(pair), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &work, ksub, sizeof(float), err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < batch->n; i++) {
    fw_hit *first = sorted, *second = first + ksub;
    sort_half(coarse, 0, batch->queries + i * coarse->d, work, first);
    sort_half(coarse, 1, batch->queries + i * coarse->d, work, second);
    merge_halves(first, second, ksub, pq->nbits, nprobe, heap, batch->lists + i * nprobe,
                 batch->distances + i * nprobe);
  }
  return FURROW_OK;
}

/* ---- All kinds ------------------------------------------------------------------------------------------ */

/* Writes the lists of query i. */
static void write_lists(fw_sink *sink, const fw_coarse_batch *batch, size_t i, bool similarity, bool flipped) {
  int64_t *lists = batch->lists + i * batch->nprobe;
  float *distances = batch->distances + i * batch->nprobe;
  fw_sink_sort(sink);
  for (size_t j = 0; j < batch->nprobe; j++) {
    const bool there = j < sink->count;
    lists[j] = there ? fw_tie_break_id(sink->heap[j].id, flipped) : -1;
    distances[j] = !there ? 0 : similarity ? -sink->heap[j].key : sink->heap[j].key;
  }
}

/* The number of queries scored at once: enough to share the reading of centroids, few enough that all scores stay in
 * the cache. */
static size_t queries_at_once(size_t width, size_t n) {
  enum { MOST_QUERIES = 24, MOST_SCORES = 1 << 18 };
  size_t most = width > MOST_SCORES / MOST_QUERIES ? MOST_SCORES / width : MOST_QUERIES;
  if (most == 0) most = 1;
  return n < most ? n : most;
}

static furrow_status search_flat(const fw_coarse *coarse, fw_scratch *scratch, const fw_coarse_batch *batch,
                                 furrow_error *err) {
  const bool similarity = coarse->quantizer->metric == FURROW_METRIC_IP;
  const size_t n = batch->n, nprobe = batch->nprobe;
  const size_t width = padded_width(coarse), step = queries_at_once(width, n);
  void *heap = NULL, *scores = NULL, *slack = NULL;
  selection work;
  furrow_status status = fw_arena_take(&scratch->arena, &heap, nprobe, sizeof(fw_hit), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &scores, step * width, sizeof(float), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &slack, step, sizeof(float), err);
  if (status == FURROW_OK) status = allocate_selection(&work, &scratch->arena, width, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < n; i++) {
    const float *query = batch->queries + i * coarse->d;
    const size_t at = i % step;
    fw_sink sink;
    if (at == 0) make_scores(coarse, query, n - i < step ? n - i : step, scores, slack);
    fw_sink_init_best(&sink, heap, nprobe);
    choose_lists(coarse, query, (const float *)scores + at * width, ((const float *)slack)[at], nprobe, &sink, &work);
    write_lists(&sink, batch, i, similarity, similarity);
  }
  return FURROW_OK;
}

static furrow_status search_graph(const fw_coarse *coarse, fw_scratch *scratch, const fw_coarse_batch *batch,
                                  furrow_error *err) {
  const bool similarity = coarse->quantizer->metric == FURROW_METRIC_IP;
  const fw_id_filter all = {0};
  void *heap = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &heap, batch->nprobe, sizeof(fw_hit), err);
  for (size_t i = 0; status == FURROW_OK && i < batch->n; i++) {
    fw_sink sink;
    fw_sink_init_best(&sink, heap, batch->nprobe);
    status =
        fw_graph_search(coarse->quantizer, NULL, scratch, batch->queries + i * coarse->d, batch->ef, &all, &sink, err);
    write_lists(&sink, batch, i, similarity, false);
  }
  return status;
}

furrow_status fw_coarse_search(const fw_coarse *coarse, fw_scratch *scratch, const fw_coarse_batch *batch,
                               furrow_error *err) {
  if (!coarse->centroids) return search_halves(coarse, scratch, batch, err);
  if (coarse->quantizer->kind != FURROW_INDEX_FLAT) return search_graph(coarse, scratch, batch, err);
  return search_flat(coarse, scratch, batch, err);
}
