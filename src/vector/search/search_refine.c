/* vector/search/search_refine.c: searches in two steps: codes find more candidates than requested, and more precise
 * distances order them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "vector/index/direct_map.h"
#include "vector/quantizer/pq.h"
#include "vector/search/searcher.h"

size_t fw_heap_size(const furrow_index *index, size_t k) {
  const uint64_t there = index->ntotal > 0 ? (uint64_t)index->ntotal : 1;
  return k < there ? k : (size_t)there;
}

size_t fw_expanded_k(const furrow_index *index, size_t k, float factor) {
  const double wanted = (double)k * factor;
  if (!(wanted > (double)k)) return k;
  const uint64_t there = (uint64_t)index->ntotal;
  const size_t wide = wanted < (double)there ? (size_t)wanted : (size_t)there;
  return wide > k ? wide : k;
}

static size_t refined_k(const furrow_index *index, size_t k, const fw_search_job *job) {
  return fw_heap_size(index, fw_expanded_k(index, k, job->k_factor > 0 ? job->k_factor : index->k_factor));
}

size_t fw_inner_k(const furrow_index *index, size_t k, const fw_search_job *job) {
  for (; !fw_index_is_ivf(index) && index->child[0]; index = index->child[0])
    if (index->kind == FURROW_INDEX_REFINE) k = refined_k(index, k, job);
  return k;
}

/* ---- IVF_PQR -------------------------------------------------------------------------------------------- */

typedef struct pqr_work {
  fw_hit *wide, *heap;
  float *residual, *code, *refined;
} pqr_work;

/* |(q - c) - r - r2|^2, where r and r2 are the decoded codes. */
static float refined_key(const fw_node *node, const float *query, size_t list, size_t location, size_t id,
                         const pqr_work *work) {
  const fw_ivf *ivf = &node->index->ivf;
  const size_t d = (size_t)node->index->d;
  const float *centroid = fw_coarse_centroid(&node->coarse, list, work->code);
  float key;
  for (size_t k = 0; k < d; k++) work->residual[k] = query[k] - centroid[k];
  fw_pq_list_decode(&node->pq, list, location, work->code);
  fw_pq_decode(&ivf->refine_pq, ivf->refine_codes + id * fw_pq_code_size(&ivf->refine_pq), work->refined);
  for (size_t k = 0; k < d; k++) work->refined[k] += work->code[k];
  fw_scan_table()->l2_rows(work->residual, work->refined, 1, d, &key);
  return key;
}

/* Computes the refined key of the vector at a location, and its id. */
static furrow_status refine_code(const fw_node *node, const float *query, int64_t location, const pqr_work *work,
                                 fw_hit *hit, furrow_error *err) {
  const fw_ivf *ivf = &node->index->ivf;
  const size_t codes = ivf->refine_size / fw_pq_code_size(&ivf->refine_pq);
  const size_t list = fw_location_list(location), offset = fw_location_offset(location);
  const int64_t id = fw_list_id(&ivf->lists.list[list], offset);
  if (id < 0 || (uint64_t)id >= codes)
    return fw_fail(err, FURROW_E_FORMAT, "list %zu has id %" PRId64 ", but codes of refinement end before %zu", list,
                   id, codes);
  *hit = (fw_hit){.key = refined_key(node, query, list, offset, (size_t)id, work), .id = id};
  return FURROW_OK;
}

static furrow_status refine_codes(const fw_node *node, const float *query, const fw_sink *wide, fw_sink *sink,
                                  const pqr_work *work, furrow_error *err) {
  for (size_t i = 0; i < wide->count; i++) {
    fw_hit hit;
    FW_TRY(refine_code(node, query, wide->heap[i].id, work, &hit, err));
    fw_sink_offer(sink, hit.key, hit.id);
  }
  return FURROW_OK;
}

static furrow_status take_pqr_work(fw_scratch *scratch, size_t wide, size_t k, size_t d, pqr_work *work,
                                   furrow_error *err) {
  void *hits = NULL, *heap = NULL, *floats = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &hits, fw_sink_hits(wide), sizeof(fw_hit), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heap, k, sizeof(fw_hit), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &floats, 3 * d, sizeof(float), err);
  if (status != FURROW_OK) return status;
  *work = (pqr_work){.wide = hits, .heap = heap, .residual = floats};
  work->code = work->residual + d;
  work->refined = work->code + d;
  return FURROW_OK;
}

furrow_status fw_pqr_key(const fw_node *node, fw_scratch *scratch, const float *query, int64_t location, float *key,
                         furrow_error *err) {
  pqr_work work;
  fw_hit hit;
  FW_TRY(take_pqr_work(scratch, 1, 1, (size_t)node->index->d, &work, err));
  FW_TRY(refine_code(node, query, location, &work, &hit, err));
  *key = hit.key;
  return FURROW_OK;
}

furrow_status fw_pqr_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch, furrow_error *err) {
  const furrow_index *index = node->index;
  const size_t d = (size_t)index->d, k = batch->k, heap_k = fw_heap_size(index, k);
  const float factor = batch->job->k_factor > 0 ? batch->job->k_factor : index->ivf.k_factor;
  const size_t wide_k = fw_heap_size(index, fw_expanded_k(index, k, factor));
  pqr_work work;
  furrow_status status = take_pqr_work(scratch, wide_k, heap_k, d, &work, err);
  for (size_t i = 0; status == FURROW_OK && i < batch->n; i++) {
    const float *query = batch->queries + i * d;
    fw_sink wide, sink;
    fw_sink_init_many(&wide, work.wide, wide_k);
    fw_sink_init_best(&sink, work.heap, heap_k);
    status = fw_ivf_search_pairs(node, scratch, query, batch->job, &wide, err);
    fw_sink_sort(&wide);
    if (status == FURROW_OK) status = refine_codes(node, query, &wide, &sink, &work, err);
    fw_sink_write(&sink, k, false, false, batch->distances + i * k, batch->ids + i * k);
  }
  return status;
}

/* ---- REFINE --------------------------------------------------------------------------------------------- */

/* The candidates of the first step: `wide` ids for each of n queries, and the order in which queries are refined. */
typedef struct candidates {
  const furrow_index *refine;
  int64_t *ids;
  float *distances; /* according to the codes */
  uint32_t *order;
  fw_hit *hits;   /* [wide]: scratch for one query */
  float *decoded; /* d floats: scratch for a code of the refinement */
  size_t n, wide;
  bool similarity;
} candidates;

/* Vectors are scattered in memory. BYTES_AHEAD bytes of the next vectors are prefetched while one is compared. */
enum { BYTES_AHEAD = 4096, MOST_OF_A_ROW = 1024, CACHE_LINE = 64 };

static size_t rows_ahead(size_t row_size) {
  const size_t rows = BYTES_AHEAD / row_size;
  return rows > 0 ? rows : 1;
}

/* Prefetches the row of candidate j of the query at `position`; past its last candidate, of the next query. */
static void fetch_row(const candidates *c, size_t position, size_t j) {
  const furrow_index *refine = c->refine;
  for (; j >= c->wide; j -= c->wide) position++;
  if (position >= c->n) return;
  const int64_t id = c->ids[c->order[position] * c->wide + j];
  const size_t bytes = fw_index_row_size(refine);
  if (id < 0 || id >= refine->ntotal) return;
  const char *row = (const char *)fw_index_rows(refine) + (size_t)id * bytes;
  for (size_t i = 0; i < bytes && i < MOST_OF_A_ROW; i += CACHE_LINE) __builtin_prefetch(row + i);
}

/* Computes the keys of all candidates of a query; missing candidates get infinity. */
static furrow_status make_keys(const candidates *c, size_t position, const float *query, furrow_error *err) {
  const furrow_index *refine = c->refine;
  const size_t ahead = rows_ahead(fw_index_row_size(refine));
  const int64_t *ids = c->ids + c->order[position] * c->wide;
  for (size_t j = 0; j < c->wide; j++) {
    fetch_row(c, position, j + ahead);
    c->hits[j] = (fw_hit){.key = INFINITY, .id = ids[j]};
    if (ids[j] < 0) continue;
    if (ids[j] >= refine->ntotal)
      return fw_fail(err, FURROW_E_FORMAT, "the base has id %" PRId64 ", but vectors to refine by end before %" PRId64,
                     ids[j], refine->ntotal);
    FW_TRY(fw_refined_key(refine, query, ids[j], c->decoded, &c->hits[j].key, err));
    c->hits[j].id = fw_tie_break_id(ids[j], c->similarity);
  }
  return FURROW_OK;
}

static void offer_all(const candidates *c, fw_sink *sink) {
  for (size_t j = 0; j < c->wide; j++) fw_sink_offer(sink, c->hits[j].key, c->hits[j].id);
}

/* Whether candidates that are not results have the same distance as the worst result. */
static bool has_ties(const candidates *c, const fw_sink *sink) {
  size_t near = 0;
  for (size_t j = 0; j < c->wide; j++) near += c->hits[j].key <= sink->worst;
  return sink->count == sink->k && near > sink->k;
}

/* Sorts candidates by their distance according to the codes, then by id. */
static void sort_candidates(const candidates *c, size_t query) {
  const float sign = c->similarity ? -1 : 1;
  int64_t *ids = c->ids + query * c->wide;
  size_t count = 0;
  fw_sink sink;
  fw_sink_init_best(&sink, c->hits, c->wide);
  for (; count < c->wide && ids[count] >= 0; count++)
    fw_sink_take(&sink, sign * c->distances[query * c->wide + count], fw_tie_break_id(ids[count], c->similarity));
  fw_sink_sort(&sink);
  for (size_t j = 0; j < count; j++) ids[j] = fw_tie_break_id(c->hits[j].id, c->similarity);
}

/* Of candidates at the same distance, the ones that are nearer according to their codes come first. The order only
 * matters for ties, so candidates are sorted only if there are ties. */
static furrow_status refine_query(const candidates *c, size_t position, const float *query, fw_sink *sink,
                                  furrow_error *err) {
  const fw_sink empty = *sink;
  FW_TRY(make_keys(c, position, query, err));
  offer_all(c, sink);
  if (!has_ties(c, sink)) return FURROW_OK;
  sort_candidates(c, c->order[position]);
  FW_TRY(make_keys(c, position, query, err));
  *sink = empty;
  offer_all(c, sink);
  return FURROW_OK;
}

static furrow_status take_candidates(candidates *c, fw_arena *arena, furrow_error *err) {
  void *ids = NULL, *order = NULL, *distances = NULL, *hits = NULL, *decoded = NULL;
  furrow_status status = fw_arena_take(arena, &ids, c->n * c->wide, sizeof *c->ids, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &distances, c->n * c->wide, sizeof *c->distances, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &order, c->n, sizeof *c->order, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &hits, c->wide, sizeof *c->hits, err);
  if (status == FURROW_OK) status = fw_arena_take(arena, &decoded, (size_t)c->refine->d, sizeof *c->decoded, err);
  c->ids = ids;
  c->decoded = decoded;
  c->order = order;
  c->distances = distances;
  c->hits = hits;
  for (size_t i = 0; status == FURROW_OK && i < c->n; i++) c->order[i] = (uint32_t)i;
  return status;
}

furrow_status fw_refine_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                               furrow_error *err) {
  const furrow_index *index = node->index, *refine = index->child[1];
  const size_t k = batch->k, heap_size = fw_heap_size(index, k);
  candidates c = {.refine = refine, .n = batch->n, .wide = refined_k(index, k, batch->job)};
  fw_search_job job = *batch->job;
  void *heap = NULL;
  c.similarity = fw_metric_is_similarity(refine->metric);
  furrow_status status = take_candidates(&c, &scratch->arena, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heap, heap_size, sizeof(fw_hit), err);
  job.order = c.order;
  job.unsorted = true;
  const fw_search_batch inner = {
      .job = &job, .queries = batch->queries, .n = c.n, .k = c.wide, .distances = c.distances, .ids = c.ids};
  if (status == FURROW_OK) status = fw_node_search(node->child, scratch, &inner, err);
  for (size_t i = 0; status == FURROW_OK && i < c.n; i++) {
    const size_t query = c.order[i];
    fw_sink sink;
    fw_sink_init_best(&sink, heap, heap_size);
    status = refine_query(&c, i, batch->queries + query * (size_t)index->d, &sink, err);
    fw_sink_write(&sink, k, c.similarity, c.similarity, batch->distances + query * k, batch->ids + query * k);
  }
  return status;
}
