/* vector/search/exact_search.c: finds the nearest vectors by comparing all of them, block by block.
 *
 * Product kernels compute the scores of a whole block. The distances of the candidates are then computed exactly, so
 * that rounding (|x|^2 - 2 <x, y> + |y|^2 cancels) does not change results. */
#include <float.h>
#include <math.h>
#include <stdalign.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"
#include "kern/products/products.h"
#include "vector/data/parallel.h"
#include "vector/data/vectors_in.h"
#include "vector/quantizer/transform.h"
#include "vector/search/searcher.h"

enum { QUERIES = 16, PACKED = 1024, PIECES = 8, BLOCK = PACKED * PIECES };

typedef struct exact {
  size_t d, n, k;
  bool similarity, normalize;
  const float *queries;
  float *scaled; /* the queries of unit length; NULL: they are not scaled */
  float *norms;  /* squared norms of the queries */
  fw_sink *sinks;
  fw_hit *heaps;
  fw_pool *pool; /* NULL: runs on this thread */
  /* the block */
  float *block;
  int64_t *ids;
  size_t rows;
  fw_packed packed[PIECES];
  float longest[PIECES]; /* the largest squared norm */
} exact;

static float square_norm(const float *x, size_t d) {
  float sum = 0;
  for (size_t i = 0; i < d; i++) sum += x[i] * x[i];
  return sum;
}

/* ---- A block -------------------------------------------------------------------------------------------- */

static void confirm(const exact *e, size_t query, size_t row) {
  const float *x = e->queries + query * e->d, *y = e->block + row * e->d;
  float key;
  if (e->similarity)
    fw_scan_table()->ip_rows(x, y, 1, e->d, &key);
  else
    fw_scan_table()->l2_rows(x, y, 1, e->d, &key);
  fw_sink_offer(&e->sinks[query], e->similarity ? -key : key, fw_tie_break_id(e->ids[row], e->similarity));
}

static void take_scores(const exact *e, size_t query, size_t piece, const float *scores) {
  const float norm = e->similarity ? 0 : e->norms[query], factor = e->similarity ? -1 : -2;
  /* the error of scores: products are at most (|x|^2 + |y|^2) / 2 */
  const float slack = FLT_EPSILON * (8 + 2 * sqrtf((float)e->d)) * (e->norms[query] + e->longest[piece]);
  const fw_sink *sink = &e->sinks[query];
  for (size_t j = 0; j < e->packed[piece].n; j++)
    if (norm + factor * scores[j] - slack < sink->worst) confirm(e, query, piece * PACKED + j);
}

static void run_group(void *context, size_t g) {
  const exact *e = context;
  const size_t first = g * QUERIES, n = e->n - first < QUERIES ? e->n - first : QUERIES;
  alignas(64) float scores[QUERIES * PACKED];
  for (size_t p = 0; p * PACKED < e->rows; p++) {
    fw_products_table()->scores(&e->packed[p], e->queries + first * e->d, n, e->d, scores, PACKED);
    for (size_t i = 0; i < n; i++) take_scores(e, first + i, p, scores + i * PACKED);
  }
}

static furrow_status pack_block(exact *e, furrow_error *err) {
  for (size_t p = 0; p * PACKED < e->rows; p++) {
    const float *rows = e->block + p * PACKED * e->d;
    const size_t n = e->rows - p * PACKED < PACKED ? e->rows - p * PACKED : PACKED;
    fw_packed_clear(&e->packed[p]);
    furrow_status status = fw_packed_create(&e->packed[p], rows, n, e->d, e->d, !e->similarity, err);
    if (status != FURROW_OK) return status;
    e->longest[p] = 0;
    for (size_t i = 0; i < n; i++) {
      const float norm = square_norm(rows + i * e->d, e->d);
      if (norm > e->longest[p]) e->longest[p] = norm;
    }
  }
  return FURROW_OK;
}

static furrow_status run_block(exact *e, furrow_error *err) {
  const size_t groups = (e->n + QUERIES - 1) / QUERIES;
  FW_TRY(pack_block(e, err));
  if (e->pool) return fw_pool_for(e->pool, groups, run_group, e, err);
  for (size_t g = 0; g < groups; g++) run_group(e, g);
  return FURROW_OK;
}

/* ---- The whole search ----------------------------------------------------------------------------------- */

static furrow_status alloc_buffers(exact *e, unsigned threads, furrow_error *err) {
  void *memory[5] = {NULL};
  size_t heaps = 0;
  threads = fw_thread_count(threads);
  furrow_status status =
      fw_size_mul(e->n, e->k, &heaps) ? fw_alloc(&memory[0], e->n, sizeof *e->sinks, err) : fw_fail_memory(err, heaps);
  if (status == FURROW_OK) status = fw_alloc(&memory[1], heaps, sizeof *e->heaps, err);
  if (status == FURROW_OK) status = fw_alloc(&memory[2], e->n, sizeof *e->norms, err);
  if (status == FURROW_OK) status = fw_alloc(&memory[3], BLOCK, e->d * sizeof *e->block, err);
  if (status == FURROW_OK) status = fw_alloc(&memory[4], BLOCK, sizeof *e->ids, err);
  e->sinks = memory[0];
  e->heaps = memory[1];
  e->norms = memory[2];
  e->block = memory[3];
  e->ids = memory[4];
  if (status == FURROW_OK && threads > 1) status = fw_pool_create(&e->pool, threads, err);
  return status;
}

static void start_sinks(exact *e) {
  for (size_t i = 0; i < e->n; i++) {
    fw_sink_init_best(&e->sinks[i], e->heaps + i * e->k, e->k);
    e->norms[i] = square_norm(e->queries + i * e->d, e->d);
  }
}

/* Replaces the queries by queries of unit length. */
static furrow_status scale_queries(exact *e, furrow_error *err) {
  FW_TRY(FW_ALLOC_ROWS(&e->scaled, e->n, e->d, err));
  for (size_t i = 0; i < e->n; i++) fw_normalize_vector(e->queries + i * e->d, e->d, e->scaled + i * e->d);
  e->queries = e->scaled;
  return FURROW_OK;
}

static void scale_block(exact *e) {
  for (size_t i = 0; i < e->rows; i++) fw_normalize_vector(e->block + i * e->d, e->d, e->block + i * e->d);
}

static furrow_status search_blocks(exact *e, furrow_vectors_reader *base, const furrow_exact_search_params *params,
                                   furrow_error *err) {
  const uint64_t count = furrow_vectors_reader_count(base), total = count == FURROW_COUNT_UNKNOWN ? 0 : count;
  furrow_status status = FURROW_OK;
  uint64_t done = 0;
  while (status == FURROW_OK) {
    status = furrow_vectors_reader_next(base, BLOCK, e->block, e->ids, &e->rows, err);
    if (status != FURROW_OK || e->rows == 0) break;
    if (e->normalize) scale_block(e);
    status = run_block(e, err);
    done += e->rows;
    if (status == FURROW_OK)
      status = fw_report_progress(params->progress, params->user, "truth", done, done > total ? done : total, err);
  }
  return status;
}

static void clear(exact *e) {
  fw_pool_free(e->pool);
  for (size_t p = 0; p < PIECES; p++) fw_packed_clear(&e->packed[p]);
  fw_free(e->scaled);
  fw_free(e->sinks);
  fw_free(e->heaps);
  fw_free(e->norms);
  fw_free(e->block);
  fw_free(e->ids);
}

furrow_status furrow_exact_search(furrow_vectors_reader *base, const float *queries, size_t n, size_t k,
                                  const furrow_exact_search_params *params, float *distances, int64_t *ids,
                                  furrow_error *err) {
  furrow_exact_search_params p;
  furrow_exact_search_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_exact_search_params, err));
  exact e = {.d = furrow_vectors_reader_dimension(base),
             .n = n,
             .k = k,
             .similarity = p.metric == FURROW_METRIC_IP,
             .normalize = p.normalize,
             .queries = queries};
  if (k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  if (p.metric != FURROW_METRIC_IP && p.metric != FURROW_METRIC_L2)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "only L2 and inner products are compared exactly");
  furrow_status status = fw_queries_check(p.metric, queries, n, e.d, err);
  if (status == FURROW_OK) status = alloc_buffers(&e, p.threads, err);
  if (status == FURROW_OK && p.normalize && e.d > 0) status = scale_queries(&e, err);
  if (status == FURROW_OK) start_sinks(&e);
  if (status == FURROW_OK && e.d > 0) status = search_blocks(&e, base, &p, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++)
    fw_sink_write(&e.sinks[i], k, e.similarity, e.similarity, distances + i * k, ids + i * k);
  clear(&e);
  return status;
}
