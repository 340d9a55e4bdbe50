/* vector/search/search_ivf.c: searches an IVF index: finds the nearest lists of each query, then scans them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/direct_map.h"
#include "vector/quantizer/sq.h"
#include "vector/search/searcher.h"

/* Queries whose tables are computed together. */
enum { TABLES = 6 };
/* Rows of plain vectors between two updates of the worst key. */
enum { ROWS = 64 };

/* The state of one query while its lists are scanned. */
typedef struct probe_state {
  const fw_node *node;
  const fw_search_job *job;
  const float *query;
  const fw_lut *table; /* for codes */
  const int64_t *lists;
  const float *coarse; /* distances to the probed centroids */
  size_t nprobe;
  float *work; /* 3 d floats: a centroid, a decoded vector, a difference */
} probe_state;

static size_t list_size(const fw_node *node, int64_t list) {
  return fw_lists_size(&node->index->ivf.lists, (size_t)list);
}

size_t fw_probe_count(const furrow_index *index, const fw_search_job *job) {
  const fw_ivf *ivf = &index->ivf;
  const uint64_t wanted = job->nprobe ? job->nprobe : ivf->nprobe;
  return wanted < ivf->nlist ? (size_t)wanted : ivf->nlist;
}

/* ---- One list ------------------------------------------------------------------------------------------- */

static const float *centroid_of(const probe_state *v, size_t probe) {
  return fw_coarse_centroid(&v->node->coarse, (size_t)v->lists[probe], v->work);
}

/* The part of a key that all codes of a list share. */
static float base_of(const probe_state *v, size_t probe) {
  const furrow_index *index = v->node->index, *quantizer = v->node->coarse.quantizer;
  const bool similarity = index->metric == FURROW_METRIC_IP;
  const size_t d = (size_t)index->d;
  float base = 0;
  if (v->table ? !v->node->pq.residual : !index->ivf.by_residual) {
    if (v->node->pq.shift) fw_scan_table()->l2_rows(v->query, v->node->pq.shift, 1, d, &base);
    return base;
  }
  if (quantizer->metric == index->metric) return similarity ? -v->coarse[probe] : v->coarse[probe];
  const float *centroid = centroid_of(v, probe);
  if (similarity)
    fw_scan_table()->ip_rows(v->query, centroid, 1, d, &base);
  else
    fw_scan_table()->l2_rows(v->query, centroid, 1, d, &base);
  return similarity ? -base : base;
}

/* Rows in the machine's byte order: the stored rows, or a converted copy of one row. */
enum { ROWS_AT_ONCE = FW_BIG_ENDIAN ? 1 : ROWS };

static const void *rows_of(const probe_state *v, const fw_list *list, size_t i, size_t d) {
  const uint8_t *row = list->codes + i * d * sizeof(float);
  if (!FW_BIG_ENDIAN) return row;
  memcpy(v->work, row, d * sizeof(float));
  fw_swap_le(v->work, sizeof(float), d);
  return v->work;
}

static void scan_rows(const probe_state *v, const fw_scan_params *scan_params, fw_sink *sink) {
  const furrow_index *index = v->node->index;
  const fw_list *list = &index->ivf.lists.list[scan_params->list];
  const bool similarity = index->metric == FURROW_METRIC_IP;
  const size_t d = (size_t)index->d;
  float keys[ROWS_AT_ONCE];
  for (size_t i = 0; i < scan_params->upto; i += ROWS_AT_ONCE) {
    const size_t count = scan_params->upto - i < ROWS_AT_ONCE ? scan_params->upto - i : ROWS_AT_ONCE;
    const void *rows = rows_of(v, list, i, d);
    if (similarity)
      fw_scan_table()->ip_rows(v->query, rows, count, d, keys);
    else
      fw_scan_table()->l2_rows(v->query, rows, count, d, keys);
    for (size_t j = 0; j < count; j++) {
      const float key = similarity ? -keys[j] : keys[j];
      if (!(key < sink->worst)) continue;
      const int64_t id = fw_list_id(list, i + j);
      if (fw_id_filter_keeps(scan_params->id_filter, id))
        fw_sink_take(sink, key, fw_location_make(scan_params->list, i + j));
    }
  }
}

/* Decodes each code of a scalar quantizer and compares it with the query, or with the query's residual. */
static void scan_decoded(const probe_state *v, const fw_scan_params *scan_params, fw_sink *sink) {
  const furrow_index *index = v->node->index;
  const fw_ivf *ivf = &index->ivf;
  const fw_list *list = &ivf->lists.list[scan_params->list];
  const bool similarity = index->metric == FURROW_METRIC_IP;
  const size_t d = (size_t)index->d;
  float *vector = v->work + d, *rest = v->work + 2 * d;
  const float *x = v->query;
  if (ivf->by_residual && !similarity) {
    const float *centroid = fw_coarse_centroid(&v->node->coarse, scan_params->list, v->work);
    for (size_t k = 0; k < d; k++) rest[k] = v->query[k] - centroid[k];
    x = rest;
  }
  for (size_t i = 0; i < scan_params->upto; i++) {
    float key;
    fw_sq_decode(&ivf->sq, list->codes + i * ivf->code_size, vector);
    if (similarity)
      fw_scan_table()->ip_rows(x, vector, 1, d, &key);
    else
      fw_scan_table()->l2_rows(x, vector, 1, d, &key);
    key = similarity ? scan_params->base - key : key;
    if (!(key < sink->worst) || !fw_id_filter_keeps(scan_params->id_filter, fw_list_id(list, i))) continue;
    fw_sink_take(sink, key, fw_location_make(scan_params->list, i));
  }
}

static void scan_list(const probe_state *v, size_t probe, size_t upto, fw_sink *sink) {
  const bool last = probe + 1 == v->nprobe || v->lists[probe + 1] < 0;
  const bool terms = v->table && v->node->pq.terms;
  const fw_scan_params scan_params = {.list = (size_t)v->lists[probe],
                                      .next = (size_t)v->lists[last ? probe : probe + 1],
                                      .base = v->node->index->kind == FURROW_INDEX_IVF_FLAT ? 0 : base_of(v, probe),
                                      .upto = upto,
                                      .id_filter = &v->job->id_filter,
                                      .query = v->query,
                                      .centroid = terms ? centroid_of(v, probe) : NULL};
  if (v->table)
    fw_pq_list_scan(&v->node->pq, v->table, &scan_params, sink);
  else if (v->node->index->kind == FURROW_INDEX_IVF_SQ)
    scan_decoded(v, &scan_params, sink);
  else
    scan_rows(v, &scan_params, sink);
}

/* Sinks hold locations; returns the id of one, mirrored for a similarity. */
static int64_t id_of(const void *context, int64_t location) {
  const furrow_index *index = context;
  const int64_t id = fw_list_id(&index->ivf.lists.list[fw_location_list(location)], fw_location_offset(location));
  return fw_tie_break_id(id, index->metric == FURROW_METRIC_IP);
}

static fw_id_source ids_of(const fw_node *node) {
  return (fw_id_source){.id_of = id_of, .context = node->index};
}

/* ---- One query ------------------------------------------------------------------------------------------ */

/* Counts the vectors that the filter keeps among the first `upto` of a list. */
static uint64_t count_kept(const probe_state *v, int64_t list, size_t upto) {
  const fw_list *l = &v->node->index->ivf.lists.list[list];
  uint64_t kept = 0;
  if (!v->job->id_filter.filter) return upto;
  for (size_t i = 0; i < upto; i++) kept += fw_id_filter_keeps(&v->job->id_filter, fw_list_id(l, i));
  return kept;
}

/* With a limit, the last list is scanned in part; vectors that the filter rejects do not count. */
static void scan_limited(const probe_state *v, fw_sink *sink) {
  uint64_t left = v->job->max_codes;
  for (size_t j = 0; j < v->nprobe && left > 0; j++) {
    if (v->lists[j] < 0) continue;
    const size_t size = list_size(v->node, v->lists[j]), upto = size < left ? size : (size_t)left;
    if (upto == 0) continue;
    scan_list(v, j, upto, sink);
    left -= count_kept(v, v->lists[j], upto);
  }
}

static void scan_probes(const probe_state *v, size_t begin, size_t end, fw_sink *sink) {
  for (size_t j = begin; j < end; j++) {
    const size_t size = v->lists[j] < 0 ? 0 : list_size(v->node, v->lists[j]);
    if (size > 0) scan_list(v, j, size, sink);
  }
}

/* ---- One query on several threads ----------------------------------------------------------------------- */

/* Each thread keeps the k best of its lists, and every vector that was ever among them. These include all vectors that
 * would enter the sink in a single scan of all lists, because there the worst key is never above a thread's worst key.
 * So offering them to the sink in order gives the result of the single scan. */
typedef struct query_parts {
  const probe_state *v;
  size_t count;
  size_t begin[FW_MAX_QUERY_PARTS + 1]; /* probes of thread i: begin[i] … begin[i+1]-1 */
  fw_sink sinks[FW_MAX_QUERY_PARTS];
  float *works; /* probe_state.work of each thread */
} query_parts;

static void scan_query_part(void *context, size_t i) {
  query_parts *s = context;
  probe_state own = *s->v;
  own.work = s->works + 3 * i * (size_t)own.node->index->d;
  scan_probes(&own, s->begin[i], s->begin[i + 1], &s->sinks[i]);
}

/* Divides the probes so that all threads scan about the same number of vectors. */
static void split_probes(query_parts *s, uint64_t codes, size_t count) {
  uint64_t seen = 0;
  s->count = 1;
  s->begin[0] = 0;
  for (size_t j = 0; j < s->v->nprobe; j++) {
    if (s->count < count && seen >= codes * s->count / count && j > s->begin[s->count - 1]) s->begin[s->count++] = j;
    seen += s->v->lists[j] < 0 ? 0 : list_size(s->v->node, s->v->lists[j]);
  }
  s->begin[s->count] = s->v->nprobe;
}

/* The error of a sink can only be memory. */
static furrow_status sink_failure(const fw_sink *sink, furrow_error *err) {
  if (sink->status == FURROW_OK) return FURROW_OK;
  return fw_fail_memory(err, sink->hit_capacity * sizeof(fw_hit));
}

static furrow_status scan_query_parts(const probe_state *v, fw_scratch *scratch, uint64_t codes, fw_sink *sink,
                                      furrow_error *err) {
  void *memory = NULL, *heaps = NULL, *works = NULL;
  const size_t count = v->job->threads < FW_MAX_QUERY_PARTS ? v->job->threads : FW_MAX_QUERY_PARTS;
  const size_t hits = fw_sink_hits(sink->k);
  furrow_status status = fw_arena_take(&scratch->arena, &memory, 1, sizeof(query_parts), err);
  if (status == FURROW_OK)
    status = fw_arena_take(&scratch->arena, &works, 3 * count * (size_t)v->node->index->d, sizeof(float), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heaps, count * hits, sizeof(fw_hit), err);
  if (status != FURROW_OK) return status;
  query_parts *s = memory;
  s->v = v;
  s->works = works;
  split_probes(s, codes, count);
  for (size_t i = 0; i < s->count; i++) {
    fw_sink_init_many(&s->sinks[i], (fw_hit *)heaps + i * hits, sink->k);
    s->sinks[i].lists = true;
    s->sinks[i].source = sink->source;
  }
  status = fw_pool_for(v->job->pool, s->count, scan_query_part, s, err);
  for (size_t i = 0; i < s->count; i++) {
    const fw_sink *from = &s->sinks[i];
    if (status == FURROW_OK) status = sink_failure(from, err);
    for (size_t j = 0; j < from->hit_count; j++) fw_sink_offer(sink, from->hits[j].key, from->hits[j].id);
    fw_free(from->hits);
  }
  return status;
}

/* The size of codes from which on waking a second thread pays off. */
#define BYTES_FOR_PARALLEL_QUERY ((uint64_t)4 << 20)

static furrow_status scan_query(const probe_state *v, fw_scratch *scratch, fw_sink *sink, furrow_error *err) {
  uint64_t codes = 0;
  if (v->job->max_codes) {
    scan_limited(v, sink);
    return sink_failure(sink, err);
  }
  for (size_t j = 0; v->job->pool && j < v->nprobe; j++) codes += v->lists[j] < 0 ? 0 : list_size(v->node, v->lists[j]);
  if (sink->k > 0 && codes * v->node->index->ivf.code_size >= BYTES_FOR_PARALLEL_QUERY)
    return scan_query_parts(v, scratch, codes, sink, err);
  scan_probes(v, 0, v->nprobe, sink);
  return sink_failure(sink, err);
}

/* ---- Queries -------------------------------------------------------------------------------------------- */

/* A query and the positions of its two nearest lists. */
typedef struct query_order {
  uint64_t lists;
  size_t query;
} query_order;

/* A batch during its search: the lists of its queries, and memory. */
typedef struct probe_batch {
  const fw_node *node;
  const fw_search_batch *batch;
  size_t nprobe;
  query_order *order; /* [n]: the order of the queries */
  query_order *other; /* for counts_lists: [n] as well */
  uint32_t *counts;   /* and [nlist + 1] */
  int64_t *lists;     /* [n][nprobe] */
  float *coarse, *work, *table_scratch, *together;
  fw_lut *tables; /* NULL: plain vectors */
} probe_batch;

/* Graphs and refinements take memory for every query of a call. */
bool fw_ivf_orders_queries(const furrow_index *ivf) {
  return ivf->kind != FURROW_INDEX_IVF_PQR && ivf->child[0] && ivf->child[0]->kind == FURROW_INDEX_FLAT;
}

static uint64_t place_of(const probe_batch *t, int64_t list) {
  return list >= 0 && t->node->list_positions ? t->node->list_positions[list] : (uint32_t)list;
}

/* Whether queries are sorted by counting: not if there are many more lists than queries. */
static bool counts_lists(const probe_batch *t) {
  return t->node->index->ivf.nlist < 8 * t->batch->n;
}

static int by_lists(const void *a, const void *b) {
  const query_order *x = a, *y = b;
  if (x->lists != y->lists) return x->lists < y->lists ? -1 : 1;
  return x->query < y->query ? -1 : x->query > y->query;
}

/* Stable counting sort by the upper or lower half of `lists`. Positions are below nlist, or mark that there is no
 * list. */
static void sort_by_position(const probe_batch *t, const query_order *from, unsigned shift, query_order *to) {
  const size_t nlist = t->node->index->ivf.nlist;
  uint32_t *next = t->counts, sum = 0;
  memset(next, 0, (nlist + 1) * sizeof *next);
  for (size_t i = 0; i < t->batch->n; i++) {
    const uint32_t place = (uint32_t)(from[i].lists >> shift);
    next[place < nlist ? place : nlist]++;
  }
  for (size_t i = 0; i <= nlist; i++) {
    const uint32_t count = next[i];
    next[i] = sum;
    sum += count;
  }
  for (size_t i = 0; i < t->batch->n; i++) {
    const uint32_t place = (uint32_t)(from[i].lists >> shift);
    to[next[place < nlist ? place : nlist]++] = from[i];
  }
}

/* Sorts queries so that those probing the same lists are adjacent and find them in the cache. */
static void set_order(const probe_batch *t) {
  for (size_t i = 0; i < t->batch->n; i++) {
    const int64_t *lists = t->lists + i * t->nprobe;
    t->order[i] = (query_order){.lists = place_of(t, lists[0]) << 32 | place_of(t, lists[t->nprobe > 1]), .query = i};
  }
  if (!counts_lists(t)) {
    qsort(t->order, t->batch->n, sizeof *t->order, by_lists);
    return;
  }
  sort_by_position(t, t->order, 0, t->other);
  sort_by_position(t, t->other, 32, t->order);
}

/* Finds the lists of queries begin … end-1. */
static furrow_status choose_lists(const probe_batch *t, fw_scratch *scratch, size_t begin, size_t end,
                                  furrow_error *err) {
  const fw_coarse_batch wanted = {.queries = t->batch->queries + begin * t->node->coarse.d,
                                  .n = end - begin,
                                  .nprobe = t->nprobe,
                                  .ef = t->batch->job->ef_search,
                                  .lists = t->lists + begin * t->nprobe,
                                  .distances = t->coarse + begin * t->nprobe};
  return fw_coarse_search(&t->node->coarse, scratch, &wanted, err);
}

/* Allocates memory that all threads share: the lists of all queries and their order. */
static furrow_status take_shared(probe_batch *t, fw_scratch *scratch, furrow_error *err) {
  void *order = NULL, *lists = NULL, *coarse = NULL, *other = NULL, *counts = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &lists, t->batch->n * t->nprobe, sizeof *t->lists, err);
  if (status == FURROW_OK)
    status = fw_arena_take(&scratch->arena, &coarse, t->batch->n * t->nprobe, sizeof *t->coarse, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &order, t->batch->n, sizeof *t->order, err);
  if (status == FURROW_OK && counts_lists(t)) {
    status = fw_arena_take(&scratch->arena, &other, t->batch->n, sizeof *t->other, err);
    if (status == FURROW_OK)
      status = fw_arena_take(&scratch->arena, &counts, t->node->index->ivf.nlist + 1, sizeof *t->counts, err);
  }
  t->order = order;
  t->other = other;
  t->counts = counts;
  t->lists = lists;
  t->coarse = coarse;
  return status;
}

/* Allocates memory of a single thread. */
static furrow_status take_own(probe_batch *t, fw_scratch *scratch, furrow_error *err) {
  const size_t d = (size_t)t->node->index->d, some = t->batch->n < TABLES ? t->batch->n : TABLES;
  void *work = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &work, (3 + TABLES) * d, sizeof(float), err);
  if (status == FURROW_OK && t->node->pq.pq)
    status = fw_pq_tables_take(&t->node->pq, &scratch->arena, some, &t->tables, &t->table_scratch, err);
  t->work = work;
  t->together = t->work ? t->work + 3 * d : NULL;
  return status;
}

static furrow_status begin_batch(probe_batch *t, const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                                 furrow_error *err) {
  *t = (probe_batch){.node = node, .batch = batch, .nprobe = fw_probe_count(node->index, batch->job)};
  furrow_status status = take_shared(t, scratch, err);
  if (status == FURROW_OK) status = take_own(t, scratch, err);
  if (status == FURROW_OK) status = choose_lists(t, scratch, 0, batch->n, err);
  if (status != FURROW_OK) return status;
  set_order(t);
  for (size_t i = 0; batch->job->order && i < batch->n; i++) batch->job->order[i] = (uint32_t)t->order[i].query;
  return FURROW_OK;
}

/* Computes the tables of the i-th query in order and of the following ones. */
static void make_tables(const probe_batch *t, size_t i) {
  const size_t count = t->batch->n - i < TABLES ? t->batch->n - i : TABLES, d = (size_t)t->node->index->d;
  for (size_t j = 0; j < count; j++) {
    const size_t query = t->order[i + j].query;
    const int64_t nearest = t->lists[query * t->nprobe];
    if (nearest >= 0) fw_pq_list_fetch(&t->node->pq, (size_t)nearest);
    memcpy(t->together + j * d, t->batch->queries + query * d, d * sizeof(float));
  }
  fw_pq_tables_fill(&t->node->pq, t->together, count, t->tables, t->table_scratch);
  if (t->nprobe > 1) fw_pq_tables_wrap(&t->node->pq, count, t->tables, t->table_scratch);
}

/* Starts the i-th query in order. Tables are computed for several queries when the first of them is searched. */
static probe_state begin_probe(const probe_batch *t, size_t i) {
  const size_t query = t->order[i].query;
  if (t->tables && i % TABLES == 0) make_tables(t, i);
  return (probe_state){.node = t->node,
                       .job = t->batch->job,
                       .query = t->batch->queries + query * (size_t)t->node->index->d,
                       .table = t->tables ? &t->tables[i % TABLES] : NULL,
                       .lists = t->lists + query * t->nprobe,
                       .coarse = t->coarse + query * t->nprobe,
                       .nprobe = t->nprobe,
                       .work = t->work};
}

/* Searches queries begin … end-1 in order; begin is a multiple of TABLES. */
static furrow_status search_ordered(const probe_batch *t, fw_scratch *scratch, size_t begin, size_t end,
                                    furrow_error *err) {
  const bool similarity = t->node->index->metric == FURROW_METRIC_IP;
  const size_t k = t->batch->k, heap_size = fw_heap_size(t->node->index, k);
  void (*write)(fw_sink *, size_t, bool, bool, float *, int64_t *) =
      t->batch->job->unsorted ? fw_sink_write_unsorted : fw_sink_write;
  void *heap = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &heap, fw_sink_hits(heap_size), sizeof(fw_hit), err);
  for (size_t i = begin; status == FURROW_OK && i < end; i++) {
    const probe_state v = begin_probe(t, i);
    const size_t query = t->order[i].query;
    fw_sink sink;
    fw_sink_init_many(&sink, heap, heap_size);
    sink.source = ids_of(t->node);
    status = scan_query(&v, scratch, &sink, err);
    write(&sink, k, similarity, similarity, t->batch->distances + query * k, t->batch->ids + query * k);
  }
  return status;
}

furrow_status fw_ivf_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch, furrow_error *err) {
  probe_batch t;
  FW_TRY(begin_batch(&t, node, scratch, batch, err));
  return search_ordered(&t, scratch, 0, batch->n, err);
}

/* ---- Queries on several threads ------------------------------------------------------------------------- */

/* All threads find lists; the last one to finish sorts the queries; then all search them, a few at a time. */

static furrow_status choose_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  (void)job;
  return choose_lists(context, scratch, begin, end, err);
}

static void order_queries(void *context) {
  set_order(context);
}

static furrow_status search_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  probe_batch own = *(const probe_batch *)context;
  (void)job;
  FW_TRY(take_own(&own, scratch, err));
  return search_ordered(&own, scratch, begin, end, err);
}

furrow_status fw_ivf_search_shared(const fw_search_call *call, const fw_search_batch *batch, furrow_error *err) {
  static const fw_search_phase phases[] = {{.part = choose_part, .finish = order_queries}, {.part = search_part}};
  const fw_node *node = call->searcher->root;
  const size_t tables = batch->n / ((size_t)call->threads * 8) / TABLES;
  probe_batch t = {.node = node, .batch = batch, .nprobe = fw_probe_count(node->index, batch->job)};
  fw_scratch *scratch = NULL;
  FW_TRY(fw_searcher_borrow(call->searcher, &scratch, err));
  furrow_status status = take_shared(&t, scratch, err);
  if (status == FURROW_OK)
    status = fw_search_phases(call, batch->n, (tables < 1 ? 1 : tables > 4 ? 4 : tables) * TABLES, phases, 2, &t, err);
  fw_searcher_give_back(call->searcher, scratch);
  return status;
}

/* ---- Lists of one query, for other files ---------------------------------------------------------------- */

/* Finds the lists of one query, and computes its table. */
static furrow_status begin_query(probe_state *v, const fw_node *node, fw_scratch *scratch, const float *query,
                                 const fw_search_job *job, furrow_error *err) {
  const fw_search_batch batch = {.job = job, .queries = query, .n = 1};
  probe_batch t;
  FW_TRY(begin_batch(&t, node, scratch, &batch, err));
  *v = begin_probe(&t, 0);
  return FURROW_OK;
}

furrow_status fw_ivf_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                           fw_sink *sink, furrow_error *err) {
  probe_state v;
  FW_TRY(begin_query(&v, node, scratch, query, job, err));
  scan_probes(&v, 0, v.nprobe, sink);
  for (size_t i = 0; i < sink->hit_count; i++)
    sink->hits[i].id = fw_tie_break_id(id_of(node->index, sink->hits[i].id), node->index->metric == FURROW_METRIC_IP);
  return sink_failure(sink, err);
}

furrow_status fw_ivf_search_pairs(const fw_node *node, fw_scratch *scratch, const float *query,
                                  const fw_search_job *job, fw_sink *sink, furrow_error *err) {
  probe_state v;
  FW_TRY(begin_query(&v, node, scratch, query, job, err));
  return scan_query(&v, scratch, sink, err);
}

furrow_status fw_ivf_collect(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                             bool ids, fw_sink *sink, size_t *ends, furrow_error *err) {
  probe_state v;
  FW_TRY(begin_query(&v, node, scratch, query, job, err));
  if (ids) sink->source = ids_of(node);
  for (size_t j = 0; j < v.nprobe; j++) {
    scan_probes(&v, j, j + 1, sink);
    ends[j] = sink->hit_count;
  }
  return sink_failure(sink, err);
}
