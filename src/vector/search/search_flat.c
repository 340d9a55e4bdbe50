/* vector/search/search_flat.c: searches indexes without lists: flat vectors, graphs, scalar and product quantizer
 * codes. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/quantizer/sq.h"
#include "vector/search/row_products.h"
#include "vector/search/searcher.h"

enum { ROWS = 64 };

/* ---- Metrics -------------------------------------------------------------------------------------------- */

static double l1(const float *x, const float *y, size_t d, float arg) {
  double sum = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) sum += fabsf(x[i] - y[i]);
  return sum;
}

static double linf(const float *x, const float *y, size_t d, float arg) {
  double most = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) most = fmax(most, fabsf(x[i] - y[i]));
  return most;
}

/* The sum without the root. */
static double lp(const float *x, const float *y, size_t d, float arg) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += powf(fabsf(x[i] - y[i]), arg);
  return sum;
}

static double canberra(const float *x, const float *y, size_t d, float arg) {
  double sum = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) sum += fabsf(x[i] - y[i]) / (fabsf(x[i]) + fabsf(y[i]));
  return sum;
}

static double bray_curtis(const float *x, const float *y, size_t d, float arg) {
  double above = 0, below = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) {
    above += fabsf(x[i] - y[i]);
    below += fabsf(x[i] + y[i]);
  }
  return above / below;
}

static double jensen_shannon(const float *x, const float *y, size_t d, float arg) {
  double sum = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) {
    const float middle = 0.5F * (x[i] + y[i]);
    sum -= x[i] * logf(middle / x[i]) + y[i] * logf(middle / y[i]);
  }
  return 0.5 * sum;
}

static double jaccard(const float *x, const float *y, size_t d, float arg) {
  double above = 0, below = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) {
    above += fminf(x[i], y[i]);
    below += fmaxf(x[i], y[i]);
  }
  return above / below;
}

/* Over the dimensions that both vectors have, scaled to d. */
static double nan_euclidean(const float *x, const float *y, size_t d, float arg) {
  double sum = 0;
  size_t present = 0;
  (void)arg;
  for (size_t i = 0; i < d; i++) {
    if (isnan(x[i]) || isnan(y[i])) continue;
    sum += (double)(x[i] - y[i]) * (x[i] - y[i]);
    present++;
  }
  return present ? (double)d / (double)present * sum : NAN;
}

typedef double (*metric_function)(const float *x, const float *y, size_t d, float arg);

/* NULL: L2 and inner product, which have kernels. */
static metric_function function_of(furrow_distance_metric metric) {
  switch (metric) {
  case FURROW_METRIC_L1: return l1;
  case FURROW_METRIC_LINF: return linf;
  case FURROW_METRIC_LP: return lp;
  case FURROW_METRIC_CANBERRA: return canberra;
  case FURROW_METRIC_BRAY_CURTIS: return bray_curtis;
  case FURROW_METRIC_JENSEN_SHANNON: return jensen_shannon;
  case FURROW_METRIC_JACCARD: return jaccard;
  case FURROW_METRIC_NAN_EUCLIDEAN: return nan_euclidean;
  default: return NULL;
  }
}

bool fw_metric_is_similarity(furrow_distance_metric metric) {
  return metric == FURROW_METRIC_IP || metric == FURROW_METRIC_JACCARD;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

void fw_metric_keys(const furrow_index *index, const float *query, const float *rows, size_t n, float *keys) {
  const size_t d = (size_t)index->d;
  const metric_function function = function_of(index->metric);
  if (function)
    for (size_t i = 0; i < n; i++) keys[i] = (float)function(query, rows + i * d, d, index->metric_arg);
  else if (index->metric == FURROW_METRIC_IP)
    fw_scan_table()->ip_rows(query, rows, n, d, keys);
  else
    fw_scan_table()->l2_rows(query, rows, n, d, keys);
  for (size_t i = 0; fw_metric_is_similarity(index->metric) && i < n; i++) keys[i] = -keys[i];
}

float fw_flat_key(const furrow_index *index, const float *query, int64_t row) {
  float key;
  fw_metric_keys(index, query, index->flat.vectors + (size_t)row * (size_t)index->d, 1, &key);
  return key;
}

furrow_status fw_refined_key(const furrow_index *index, const float *query, int64_t row, float *decoded, float *key,
                             furrow_error *err) {
  if (index->kind == FURROW_INDEX_FLAT) {
    *key = fw_flat_key(index, query, row);
    return FURROW_OK;
  }
  FW_TRY(fw_reconstruct(index, row, decoded, err));
  fw_metric_keys(index, query, decoded, 1, key);
  return FURROW_OK;
}

/* A block of at most `most` rows that is compared with all queries. */
typedef struct row_block {
  const furrow_index *index;
  size_t begin, end, most;
  const float *vectors;
  float *decoded; /* SQ: `most` vectors */
} row_block;

static furrow_status take_row_block(row_block *block, const furrow_index *index, size_t most, fw_scratch *scratch,
                                    furrow_error *err) {
  void *memory = NULL;
  if (index->kind != FURROW_INDEX_FLAT)
    FW_TRY(fw_arena_take(&scratch->arena, &memory, most, (size_t)index->d * sizeof(float), err));
  *block = (row_block){.index = index, .most = most, .decoded = memory};
  return FURROW_OK;
}

/* Returns false after the last block. */
static bool next_row_block(row_block *block) {
  const furrow_index *index = block->index;
  const size_t rows = (size_t)index->ntotal, d = (size_t)index->d;
  block->begin = block->end;
  block->end = rows - block->begin < block->most ? rows : block->begin + block->most;
  block->vectors = block->decoded ? block->decoded : index->flat.vectors + block->begin * d;
  for (size_t i = block->begin; block->decoded && i < block->end; i++)
    fw_sq_decode(&index->sq.sq, index->sq.codes + i * index->sq.sq.code_size, block->decoded + (i - block->begin) * d);
  return block->begin < block->end;
}

static void scan_rows(const row_block *block, const float *query, const fw_id_filter *id_filter, fw_sink *sink) {
  const furrow_index *index = block->index;
  const bool similarity = fw_metric_is_similarity(index->metric);
  float keys[ROWS];
  for (size_t begin = block->begin, count; begin < block->end; begin += count) {
    count = block->end - begin < ROWS ? block->end - begin : ROWS;
    fw_metric_keys(index, query, block->vectors + (begin - block->begin) * (size_t)index->d, count, keys);
    for (size_t i = 0; i < count; i++) {
      if (!(keys[i] < sink->worst) || !fw_id_filter_keeps(id_filter, (int64_t)(begin + i))) continue;
      fw_sink_take(sink, keys[i], fw_tie_break_id((int64_t)(begin + i), similarity));
    }
  }
}

static furrow_status take_sinks(fw_scratch *scratch, size_t n, size_t heap_size, fw_sink **sinks, furrow_error *err) {
  void *memory = NULL, *heaps = NULL;
  size_t count;
  if (!fw_size_mul(n, heap_size, &count)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_arena_take(&scratch->arena, &memory, n, sizeof **sinks, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heaps, count, sizeof(fw_hit), err);
  if (status != FURROW_OK) return status;
  *sinks = memory;
  for (size_t i = 0; i < n; i++) fw_sink_init_best(&(*sinks)[i], (fw_hit *)heaps + i * heap_size, heap_size);
  return FURROW_OK;
}

static furrow_status search_graph(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                                  fw_sink *sinks, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < batch->n; i++)
    status = fw_graph_search(node->index, &node->rounded, scratch, batch->queries + i * (size_t)node->index->d,
                             batch->job->ef_search, &batch->job->id_filter, &sinks[i], err);
  return status;
}

bool fw_flat_takes_many(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_ID_MAP || index->kind == FURROW_INDEX_TRANSFORM) index = index->child[0];
  return (index->kind == FURROW_INDEX_FLAT || index->kind == FURROW_INDEX_SQ) && !function_of(index->metric);
}

/* Compares each block of rows with all queries while it is in the cache. */
static furrow_status search_rows(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch, fw_sink *sinks,
                                 furrow_error *err) {
  const furrow_index *index = node->index;
  const fw_id_filter *id_filter = &batch->job->id_filter;
  const size_t d = (size_t)index->d;
  const bool many = batch->n >= FW_ROW_PRODUCTS_QUERIES && fw_flat_takes_many(index);
  fw_row_products products = {.most_rows = ROWS};
  row_block block;
  if (many)
    FW_TRY(fw_row_products_take(&products, batch->queries, batch->n, d, fw_metric_is_similarity(index->metric),
                                &scratch->arena, err));
  FW_TRY(take_row_block(&block, index, products.most_rows, scratch, err));
  while (next_row_block(&block)) {
    const size_t count = block.end - block.begin;
    if (many && fw_row_products_scan(&products, block.vectors, count, block.begin, id_filter, sinks)) continue;
    for (size_t i = 0; i < batch->n; i++) scan_rows(&block, batch->queries + i * d, id_filter, &sinks[i]);
  }
  return FURROW_OK;
}

furrow_status fw_flat_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                             furrow_error *err) {
  const furrow_index *index = node->index;
  const bool graph = index->kind == FURROW_INDEX_HNSW, similarity = fw_metric_is_similarity(index->metric);
  const size_t k = batch->k;
  fw_sink *sinks = NULL;
  furrow_status status = take_sinks(scratch, batch->n, fw_heap_size(index, k), &sinks, err);
  if (status != FURROW_OK) return status;
  status = graph ? search_graph(node, scratch, batch, sinks, err) : search_rows(node, scratch, batch, sinks, err);
  for (size_t i = 0; i < batch->n; i++)
    fw_sink_write(&sinks[i], k, similarity, similarity && !graph, batch->distances + i * k, batch->ids + i * k);
  return status;
}

furrow_status fw_flat_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                            fw_sink *sink, furrow_error *err) {
  const furrow_index *index = node->index;
  row_block block;
  if (index->kind == FURROW_INDEX_HNSW)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a graph cannot be searched by radius");
  FW_TRY(take_row_block(&block, index, ROWS, scratch, err));
  while (next_row_block(&block)) scan_rows(&block, query, &job->id_filter, sink);
  for (size_t i = 0; i < sink->hit_count; i++)
    sink->hits[i].id = fw_tie_break_id(sink->hits[i].id, fw_metric_is_similarity(index->metric));
  return sink->status;
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

enum { TABLES = 4 };

static void scan_codes(const fw_node *node, const float *query, const fw_lut *table, const fw_search_job *job,
                       fw_sink *sink) {
  const fw_pq_lists *lists = &node->pq;
  fw_scan_params scan_params = {.upto = lists->list[0].size, .id_filter = &job->id_filter};
  if (!lists->similarity) fw_scan_table()->l2_rows(query, lists->shift, 1, lists->pq->d, &scan_params.base);
  if (scan_params.upto > 0) fw_pq_list_scan(lists, table, &scan_params, sink);
}

/* Locations are ids here. */
static int64_t id_of_code(const void *context, int64_t location) {
  const fw_pq_lists *lists = context;
  return fw_tie_break_id(fw_pq_lists_id(lists, location), lists->similarity);
}

furrow_status fw_pq_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch, furrow_error *err) {
  const bool similarity = node->pq.similarity;
  const size_t n = batch->n, k = batch->k, heap_size = fw_heap_size(node->index, k), d = node->pq.pq->d;
  fw_lut *tables = NULL;
  float *shifted = NULL;
  void *heap = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &heap, fw_sink_hits(heap_size), sizeof(fw_hit), err);
  if (status == FURROW_OK)
    status = fw_pq_tables_take(&node->pq, &scratch->arena, n < TABLES ? n : TABLES, &tables, &shifted, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    const float *query = batch->queries + i * d;
    fw_sink sink;
    if (i % TABLES == 0) fw_pq_tables_fill(&node->pq, query, n - i < TABLES ? n - i : TABLES, tables, shifted);
    fw_sink_init_many(&sink, heap, heap_size);
    sink.source = (fw_id_source){.id_of = id_of_code, .context = &node->pq};
    scan_codes(node, query, &tables[i % TABLES], batch->job, &sink);
    fw_sink_write(&sink, k, similarity, similarity, batch->distances + i * k, batch->ids + i * k);
  }
  return status;
}

furrow_status fw_pq_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                          fw_sink *sink, furrow_error *err) {
  fw_lut *table = NULL;
  float *shifted = NULL;
  const furrow_status status = fw_pq_tables_take(&node->pq, &scratch->arena, 1, &table, &shifted, err);
  if (status != FURROW_OK) return status;
  fw_pq_tables_fill(&node->pq, query, 1, table, shifted);
  scan_codes(node, query, table, job, sink);
  return sink->status;
}
