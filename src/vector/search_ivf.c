/* vector/search_ivf.c: searching lists of vectors or codes: which lists, then one after the other. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/direct_map.h"
#include "vector/searcher.h"
#include "vector/sq_decode.h"

/* Queries whose tables are made together. */
enum { TABLES = 6 };
/* Rows of plain vectors between two looks at the worst key. */
enum { ROWS = 64 };

/* One query on its way through the lists. */
typedef struct visit {
  const fw_node *node;
  const fw_job *job;
  const float *query;
  const fw_lut *table; /* codes */
  const int64_t *lists;
  const float *coarse; /* the quantizer's distances */
  size_t nprobe;
  float *room; /* 3 d floats: a centroid, a decoded vector, a difference */
} visit;

static size_t list_size(const fw_node *node, int64_t list) {
  return fw_lists_size(&node->index->ivf.lists, (size_t)list);
}

static size_t probes(const fw_node *node, const fw_job *job) {
  const fw_ivf *ivf = &node->index->ivf;
  const uint64_t wanted = job->nprobe ? job->nprobe : ivf->nprobe;
  return wanted < ivf->nlist ? (size_t)wanted : ivf->nlist;
}

/* ---- One list ------------------------------------------------------------------------------------------- */

/* The part of a key that all codes of a list share. */
static float base_of(const visit *v, size_t probe) {
  const furrow_index *index = v->node->index, *quantizer = v->node->coarse.quantizer;
  const bool similarity = index->metric == FURROW_METRIC_IP;
  const size_t d = (size_t)index->d;
  float base = 0;
  if (v->table ? !v->node->pq.residual : !index->ivf.by_residual) {
    if (v->node->pq.shift) fw_scan_table()->l2_rows(v->query, v->node->pq.shift, 1, d, &base);
    return base;
  }
  if (quantizer->metric == index->metric) return similarity ? -v->coarse[probe] : v->coarse[probe];
  const float *centroid = fw_coarse_centroid(&v->node->coarse, (size_t)v->lists[probe], v->room);
  if (similarity)
    fw_scan_table()->ip_rows(v->query, centroid, 1, d, &base);
  else
    fw_scan_table()->l2_rows(v->query, centroid, 1, d, &base);
  return similarity ? -base : base;
}

static void scan_rows(const visit *v, const fw_list_scan *how, fw_sink *sink) {
  const furrow_index *index = v->node->index;
  const fw_list *list = &index->ivf.lists.list[how->list];
  const bool similarity = index->metric == FURROW_METRIC_IP;
  const size_t d = (size_t)index->d;
  float keys[ROWS];
  for (size_t i = 0; i < how->upto; i += ROWS) {
    const size_t count = how->upto - i < ROWS ? how->upto - i : ROWS;
    const uint8_t *rows = list->codes + i * d * sizeof(float);
    if (similarity)
      fw_scan_table()->ip_rows(v->query, rows, count, d, keys);
    else
      fw_scan_table()->l2_rows(v->query, rows, count, d, keys);
    for (size_t j = 0; j < count; j++) {
      const float key = similarity ? -keys[j] : keys[j];
      if (!(key < sink->worst)) continue;
      const int64_t id = fw_list_id(list, i + j);
      if (fw_choice_keeps(how->choice, id)) fw_sink_take(sink, key, fw_place_make(how->list, i + j));
    }
  }
}

/* Codes of a scalar quantizer: each is decoded and compared with the query, or with what the centroid leaves of it. */
static void scan_decoded(const visit *v, const fw_list_scan *how, fw_sink *sink) {
  const furrow_index *index = v->node->index;
  const fw_ivf *ivf = &index->ivf;
  const fw_list *list = &ivf->lists.list[how->list];
  const bool similarity = index->metric == FURROW_METRIC_IP;
  const size_t d = (size_t)index->d;
  float *vector = v->room + d, *rest = v->room + 2 * d;
  const float *x = v->query;
  if (ivf->by_residual && !similarity) {
    const float *centroid = fw_coarse_centroid(&v->node->coarse, how->list, v->room);
    for (size_t k = 0; k < d; k++) rest[k] = v->query[k] - centroid[k];
    x = rest;
  }
  for (size_t i = 0; i < how->upto; i++) {
    float key;
    const furrow_status status = fw_sq_decode(&ivf->sq, list->codes + i * ivf->code_size, vector, NULL);
    if (status != FURROW_OK) {
      sink->status = status;
      return;
    }
    if (similarity)
      fw_scan_table()->ip_rows(x, vector, 1, d, &key);
    else
      fw_scan_table()->l2_rows(x, vector, 1, d, &key);
    key = similarity ? how->base - key : key;
    if (!(key < sink->worst) || !fw_choice_keeps(how->choice, fw_list_id(list, i))) continue;
    fw_sink_take(sink, key, fw_place_make(how->list, i));
  }
}

static void scan_list(const visit *v, size_t probe, size_t upto, fw_sink *sink) {
  const bool last = probe + 1 == v->nprobe || v->lists[probe + 1] < 0;
  const fw_list_scan how = {.list = (size_t)v->lists[probe],
                            .next = (size_t)v->lists[last ? probe : probe + 1],
                            .base = v->node->index->kind == FURROW_INDEX_IVF_FLAT ? 0 : base_of(v, probe),
                            .upto = upto,
                            .choice = &v->job->choice};
  if (v->table)
    fw_pq_list_scan(&v->node->pq, v->table, &how, sink);
  else if (v->node->index->kind == FURROW_INDEX_IVF_SQ)
    scan_decoded(v, &how, sink);
  else
    scan_rows(v, &how, sink);
}

/* Sinks are given places; their ids, turned round for a similarity. */
static int64_t id_of(const void *context, int64_t place) {
  const furrow_index *index = context;
  const int64_t id = fw_list_id(&index->ivf.lists.list[fw_place_list(place)], fw_place_offset(place));
  return fw_turn_id(id, index->metric == FURROW_METRIC_IP);
}

static fw_id_source ids_of(const fw_node *node) {
  return (fw_id_source){.id_of = id_of, .context = node->index};
}

/* ---- One query ------------------------------------------------------------------------------------------ */

/* Of the first `upto` vectors of a list, those that the filter lets pass. */
static uint64_t count_kept(const visit *v, int64_t list, size_t upto) {
  const fw_list *l = &v->node->index->ivf.lists.list[list];
  uint64_t kept = 0;
  if (!v->job->choice.filter) return upto;
  for (size_t i = 0; i < upto; i++) kept += fw_choice_keeps(&v->job->choice, fw_list_id(l, i));
  return kept;
}

/* With a limit the last list is looked at in part; vectors that the filter leaves out do not count. */
static void scan_limited(const visit *v, fw_sink *sink) {
  uint64_t left = v->job->max_codes;
  for (size_t j = 0; j < v->nprobe && left > 0; j++) {
    if (v->lists[j] < 0) continue;
    const size_t size = list_size(v->node, v->lists[j]), upto = size < left ? size : (size_t)left;
    if (upto == 0) continue;
    scan_list(v, j, upto, sink);
    left -= count_kept(v, v->lists[j], upto);
  }
}

static void scan_probes(const visit *v, size_t begin, size_t end, fw_sink *sink) {
  for (size_t j = begin; j < end; j++) {
    const size_t size = v->lists[j] < 0 ? 0 : list_size(v->node, v->lists[j]);
    if (size > 0) scan_list(v, j, size, sink);
  }
}

/* ---- One query on several threads ----------------------------------------------------------------------- */

/* Each thread keeps the k best of its lists, and everything that was ever among them. That includes all that would have
 * entered in one scan of all lists: there the worst is never above the worst here. So giving those to the sink, in
 * order, ends as that one scan would. */
typedef struct shares {
  const visit *v;
  size_t count;
  size_t begin[FW_MOST_SHARES + 1]; /* probes of share i: begin[i] … begin[i+1]-1 */
  fw_sink sinks[FW_MOST_SHARES];
  float *rooms; /* as of visit, for each */
} shares;

static void scan_share(void *context, size_t i) {
  shares *s = context;
  visit own = *s->v;
  own.room = s->rooms + 3 * i * (size_t)own.node->index->d;
  scan_probes(&own, s->begin[i], s->begin[i + 1], &s->sinks[i]);
}

/* Shares of about as many vectors each. */
static void cut_shares(shares *s, uint64_t codes, size_t count) {
  uint64_t seen = 0;
  s->count = 1;
  s->begin[0] = 0;
  for (size_t j = 0; j < s->v->nprobe; j++) {
    if (s->count < count && seen >= codes * s->count / count && j > s->begin[s->count - 1]) s->begin[s->count++] = j;
    seen += s->v->lists[j] < 0 ? 0 : list_size(s->v->node, s->v->lists[j]);
  }
  s->begin[s->count] = s->v->nprobe;
}

/* Sinks have no room for an error: memory, or a code that cannot be decoded. */
static furrow_status sink_failure(const fw_sink *sink, furrow_error *err) {
  if (sink->status == FURROW_OK) return FURROW_OK;
  if (sink->status == FURROW_E_MEMORY) return fw_fail_memory(err, sink->hit_room * sizeof(fw_hit));
  return fw_fail(err, sink->status, "a code of the scalar quantizer cannot be decoded");
}

static furrow_status scan_shares(const visit *v, fw_scratch *scratch, uint64_t codes, fw_sink *sink,
                                 furrow_error *err) {
  void *memory = NULL, *heaps = NULL, *rooms = NULL;
  const size_t count = v->job->threads < FW_MOST_SHARES ? v->job->threads : FW_MOST_SHARES;
  const size_t hits = fw_sink_hits(sink->k);
  furrow_status status = fw_arena_take(&scratch->arena, &memory, 1, sizeof(shares), err);
  if (status == FURROW_OK)
    status = fw_arena_take(&scratch->arena, &rooms, 3 * count * (size_t)v->node->index->d, sizeof(float), err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heaps, count * hits, sizeof(fw_hit), err);
  if (status != FURROW_OK) return status;
  shares *s = memory;
  s->v = v;
  s->rooms = rooms;
  cut_shares(s, codes, count);
  for (size_t i = 0; i < s->count; i++) {
    fw_sink_init_many(&s->sinks[i], (fw_hit *)heaps + i * hits, sink->k);
    s->sinks[i].lists = true;
    s->sinks[i].source = sink->source;
  }
  status = fw_pool_for(v->job->pool, s->count, scan_share, s, err);
  for (size_t i = 0; i < s->count; i++) {
    const fw_sink *from = &s->sinks[i];
    if (status == FURROW_OK) status = sink_failure(from, err);
    for (size_t j = 0; j < from->hit_count; j++) fw_sink_offer(sink, from->hits[j].key, from->hits[j].id);
    fw_free(from->hits);
  }
  return status;
}

/* Codes, times their length, from which on a second thread is worth waking. */
#define BYTES_FOR_SHARES ((uint64_t)4 << 20)

static furrow_status scan_query(const visit *v, fw_scratch *scratch, fw_sink *sink, furrow_error *err) {
  uint64_t codes = 0;
  if (v->job->max_codes) {
    scan_limited(v, sink);
    return sink_failure(sink, err);
  }
  for (size_t j = 0; v->job->pool && j < v->nprobe; j++) codes += v->lists[j] < 0 ? 0 : list_size(v->node, v->lists[j]);
  if (sink->k > 0 && codes * v->node->index->ivf.code_size >= BYTES_FOR_SHARES)
    return scan_shares(v, scratch, codes, sink, err);
  scan_probes(v, 0, v->nprobe, sink);
  return sink_failure(sink, err);
}

/* ---- Queries -------------------------------------------------------------------------------------------- */

/* What all queries of a call share. */
typedef struct tour {
  size_t nprobe;
  int64_t *lists; /* [n][nprobe] */
  float *coarse, *room, *table_room;
  fw_lut *tables; /* NULL: plain vectors */
} tour;

static furrow_status begin_tour(tour *t, const fw_node *node, fw_scratch *scratch, const float *queries, size_t n,
                                const fw_job *job, furrow_error *err) {
  void *lists = NULL, *coarse = NULL, *room = NULL;
  *t = (tour){.nprobe = probes(node, job)};
  furrow_status status = fw_arena_take(&scratch->arena, &lists, n * t->nprobe, sizeof *t->lists, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &coarse, n * t->nprobe, sizeof *t->coarse, err);
  if (status == FURROW_OK)
    status = fw_arena_take(&scratch->arena, &room, 3 * (size_t)node->index->d, sizeof(float), err);
  if (status == FURROW_OK && node->pq.pq)
    status = fw_pq_tables_take(&node->pq, &scratch->arena, n < TABLES ? n : TABLES, &t->tables, &t->table_room, err);
  if (status != FURROW_OK) return status;
  t->lists = lists;
  t->coarse = coarse;
  t->room = room;
  return fw_coarse_search(&node->coarse, scratch, queries, n, t->nprobe, job->ef_search, lists, coarse, err);
}

/* Tables of the queries from i on, as many as go together. */
static void make_tables(const tour *t, const fw_node *node, const float *queries, size_t n, size_t i) {
  const size_t count = n - i < TABLES ? n - i : TABLES;
  for (size_t j = i; j < i + count; j++)
    if (t->lists[j * t->nprobe] >= 0) fw_pq_list_fetch(&node->pq, (size_t)t->lists[j * t->nprobe]);
  fw_pq_tables_fill(&node->pq, queries + i * (size_t)node->index->d, count, t->tables, t->table_room);
}

/* Query i of n; tables are made when the first of some is due. */
static visit begin_visit(const tour *t, const fw_node *node, const float *queries, size_t n, size_t i,
                         const fw_job *job) {
  if (t->tables && i % TABLES == 0) make_tables(t, node, queries, n, i);
  return (visit){.node = node,
                 .job = job,
                 .query = queries + i * (size_t)node->index->d,
                 .table = t->tables ? &t->tables[i % TABLES] : NULL,
                 .lists = t->lists + i * t->nprobe,
                 .coarse = t->coarse + i * t->nprobe,
                 .nprobe = t->nprobe,
                 .room = t->room};
}

furrow_status fw_ivf_search(const fw_node *node, fw_scratch *scratch, const float *queries, size_t n, size_t k,
                            const fw_job *job, float *distances, int64_t *ids, furrow_error *err) {
  const bool similarity = node->index->metric == FURROW_METRIC_IP;
  const size_t room = fw_heap_size(node->index, k);
  void *heap = NULL;
  tour t;
  furrow_status status = begin_tour(&t, node, scratch, queries, n, job, err);
  if (status == FURROW_OK) status = fw_arena_take(&scratch->arena, &heap, fw_sink_hits(room), sizeof(fw_hit), err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    const visit v = begin_visit(&t, node, queries, n, i, job);
    fw_sink sink;
    fw_sink_init_many(&sink, heap, room);
    sink.source = ids_of(node);
    status = scan_query(&v, scratch, &sink, err);
    fw_sink_write(&sink, k, similarity, similarity, distances + i * k, ids + i * k);
  }
  return status;
}

furrow_status fw_ivf_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_job *job,
                           fw_sink *sink, furrow_error *err) {
  tour t;
  const furrow_status status = begin_tour(&t, node, scratch, query, 1, job, err);
  if (status != FURROW_OK) return status;
  const visit v = begin_visit(&t, node, query, 1, 0, job);
  scan_probes(&v, 0, v.nprobe, sink);
  for (size_t i = 0; i < sink->hit_count; i++)
    sink->hits[i].id = fw_turn_id(id_of(node->index, sink->hits[i].id), node->index->metric == FURROW_METRIC_IP);
  return sink_failure(sink, err);
}

furrow_status fw_ivf_search_pairs(const fw_node *node, fw_scratch *scratch, const float *query, const fw_job *job,
                                  fw_sink *sink, furrow_error *err) {
  tour t;
  const furrow_status status = begin_tour(&t, node, scratch, query, 1, job, err);
  if (status != FURROW_OK) return status;
  const visit v = begin_visit(&t, node, query, 1, 0, job);
  return scan_query(&v, scratch, sink, err);
}
