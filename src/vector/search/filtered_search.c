/* vector/search/filtered_search.c: searches that a filter restricts, with a recall that does not depend on how many
 * vectors the filter keeps, nor on where they are.
 *
 * Settings that were found for all vectors find too little of a filter's: most candidates are dropped, or the lists
 * that are near the query hold none that match. So there are two plans. If few vectors match, each is compared with the
 * query (its exact vector, or the code as decoded). Otherwise the index is searched with twice the work each time
 * (lists, candidates of the graph and of the refinement), until a query has its k results and the last doubling changed
 * no more of them than the recall allows. The last step searches everything.
 *
 * Shards have one plan, which is that of one index with the same vectors: each compares its own matches, and the k best
 * of all are kept; or all shards are searched together with the same settings. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "comm/collectives.h"
#include "furrow/vector_data.h"
#include "vector/index/direct_map.h"
#include "vector/index/inverted_lists.h"
#include "vector/search/searcher.h"

/* Matching vectors are compared one by one while that takes at most PLAN_FACTOR times the work of the first search: a
 * search that has to double its work takes several such rounds, and tests the filter for each candidate. By the costs
 * of search_work, both plans took the same processor time at about 5 times the work for lists of vectors and graphs, at
 * 3 for PQ codes, 10 for SQ codes and 6 for refined ones; the choice by 4 was within 1.5 times the faster plan
 * (bench/vector/bench_filter.py; 40,000 and 60,000 vectors of 96 and 64 numbers). */
enum { PLAN_FACTOR = 4, FEW_MATCHES = 2000, BLOCK = 64, QUERIES = 16 };
enum { GRAPH_NEIGHBORS = 128, RESULTS = 10, REFINED = 8 };
enum { SHARD_QUERIES = 256 }; /* queries whose results are merged at a time */

/* Settings of one step of a search with more and more work. */
typedef struct effort {
  uint64_t nprobe, nlist; /* 0: no lists */
  double ef, k_factor;
  bool whole; /* everything is searched */
} effort;

struct furrow_filtered {
  const furrow_searcher *searcher;
  furrow_id_filter filter;
  furrow_search_params params;
  double recall;
  uint64_t matches;
  bool compares; /* the exact plan; otherwise the search begins with `start` */
  effort start;
  /* The exact plan: */
  struct furrow_filtered *parts; /* for each shard of this process; an index has none */
  size_t part_count;
  const furrow_index *storage; /* the index whose rows are compared; NULL: there is none */
  const fw_node *transform;    /* a transform before the storage; NULL: none */
  int64_t *ids;                /* `matches` ids, and their rows of the storage, or locations in its lists */
  int64_t *rows;
};

/* ---- Matching vectors ----------------------------------------------------------------------------------- */

/* The index with one vector or code for each row or entry of a list, and the ids of its rows. */
typedef struct row_source {
  const furrow_index *storage;
  const fw_node *transform;
  const int64_t *ids; /* NULL: rows, or the ids in the lists, are ids */
} row_source;

/* storage NULL: there is more than one transform or id map, or nothing that can be decoded. */
static row_source find_rows(const fw_node *node) {
  row_source source = {0};
  for (; node; node = node->child) {
    const furrow_index *index = node->index;
    switch (index->kind) {
    case FURROW_INDEX_ID_MAP:
      if (source.ids) return (row_source){0};
      source.ids = index->id_map.ids;
      break;
    case FURROW_INDEX_TRANSFORM:
      if (source.transform) return (row_source){0};
      source.transform = node;
      break;
    case FURROW_INDEX_REFINE: source.storage = index->child[1]; return source;
    case FURROW_INDEX_HNSW: source.storage = index->child[0]; return source;
    case FURROW_INDEX_FLAT:
    case FURROW_INDEX_SQ:
    case FURROW_INDEX_IVF_FLAT:
    case FURROW_INDEX_IVF_SQ:
    case FURROW_INDEX_IVF_PQ:
    case FURROW_INDEX_IVF_PQ_FAST: source.storage = index; return source;
    default: return (row_source){0};
    }
  }
  return (row_source){0};
}

/* Visits a row and its id if it matches; counts it where there is no memory for rows yet. */
static void meet_row(furrow_filtered *f, const row_source *source, int64_t id, int64_t row, uint64_t *count) {
  if (source->ids) {
    if (id < 0 || id >= f->searcher->index->ntotal) return;
    id = source->ids[id];
  }
  if (!fw_id_filter_keeps_id(&f->filter, id)) return;
  if (f->rows && *count < f->matches) {
    f->ids[*count] = id;
    f->rows[*count] = row;
  }
  (*count)++;
}

static uint64_t meet_rows(furrow_filtered *f, const row_source *source) {
  const furrow_index *storage = source->storage;
  const fw_lists *lists = &storage->ivf.lists;
  uint64_t count = 0;
  if (!fw_index_is_ivf(storage)) {
    for (int64_t i = 0; i < storage->ntotal; i++) meet_row(f, source, i, i, &count);
    return count;
  }
  for (size_t i = 0; lists->list && i < lists->nlist; i++) /* empty lists may have no memory */
    for (size_t k = 0; k < lists->list[i].size; k++)
      meet_row(f, source, fw_list_id(&lists->list[i], k), fw_location_make(i, k), &count);
  return count;
}

/* Lists the rows whose ids match; counts them first. A filter of the caller may change its mind in between. */
static furrow_status list_matches(furrow_filtered *f, const row_source *source, furrow_error *err) {
  f->matches = meet_rows(f, source);
  FW_TRY(FW_ALLOC(&f->ids, f->matches, err));
  FW_TRY(FW_ALLOC(&f->rows, f->matches, err));
  const uint64_t again = meet_rows(f, source);
  if (again < f->matches) f->matches = again;
  return fw_index_finish(f->searcher->index, FURROW_OK, err);
}

static furrow_status count_matches(furrow_filtered *f, const furrow_index *index, furrow_error *err) {
  furrow_ids ids;
  FW_TRY(furrow_index_get_ids(index, &ids, err));
  for (size_t i = 0; i < ids.count; i++) f->matches += fw_id_filter_keeps_id(&f->filter, ids.ids[i]);
  furrow_ids_clear(&ids);
  return FURROW_OK;
}

/* Lists the matching rows of an index, or only counts them if they cannot be compared. */
static furrow_status find_matches(furrow_filtered *f, furrow_error *err) {
  const furrow_index *index = f->searcher->index;
  const row_source source = find_rows(f->searcher->root);
  const bool decodes = fw_index_check_whole(index, NULL) == FURROW_OK; /* search_only has no plain codes */
  if (!source.storage || !decodes) return count_matches(f, index, err);
  FW_TRY(list_matches(f, &source, err));
  if (!fw_index_is_ivf(source.storage) && fw_index_row_size(source.storage) == 0) return FURROW_OK;
  f->storage = source.storage;
  f->transform = source.transform;
  return FURROW_OK;
}

static void forget_matches(furrow_filtered *f) {
  for (size_t i = 0; i < f->part_count; i++) forget_matches(&f->parts[i]);
  fw_free(f->parts);
  fw_free(f->ids);
  fw_free(f->rows);
  f->parts = NULL;
  f->part_count = 0;
  f->ids = f->rows = NULL;
}

/* ---- Plans ---------------------------------------------------------------------------------------------- */

/* What a code costs, in numbers that are read: scalar codes are decoded. */
static double code_work(const furrow_index *ivf, const furrow_index_info *info) {
  return ivf->kind == FURROW_INDEX_IVF_SQ ? info->d : (double)info->code_size / 4;
}

/* What an unfiltered search for RESULTS results costs, in numbers that are read. */
static double search_work(const furrow_filtered *f) {
  const furrow_index *index = furrow_searcher_index(f->searcher), *ivf = furrow_index_ivf(index);
  furrow_index_info info;
  bool refined = false; /* each step also doubles the candidates that are ranked again */
  furrow_index_info_init(&info);
  for (const furrow_index *at = index; at; at = furrow_index_child(at, 0)) refined |= at->kind == FURROW_INDEX_REFINE;
  if (ivf) {
    furrow_index_get_info(ivf, &info);
    const double probes = (double)(f->params.nprobe ? f->params.nprobe : info.nprobe);
    const double share = info.nlist ? probes / (double)info.nlist : 1;
    const double codes = (share < 1 ? share : 1) * (double)furrow_searcher_vectors(f->searcher);
    return ((double)info.nlist * info.d / 8 + codes * code_work(ivf, &info)) * (refined ? REFINED : 1);
  }
  for (; index; index = furrow_index_child(index, 0)) {
    if (index->kind != FURROW_INDEX_HNSW) continue;
    const double ef = f->params.ef_search > 0 ? f->params.ef_search : index->hnsw.ef_search;
    return (ef > RESULTS ? ef : RESULTS) * GRAPH_NEIGHBORS * index->d;
  }
  return INFINITY; /* everything is compared anyhow */
}

static bool is_comparing_faster(const furrow_filtered *f, const furrow_index *storage) {
  return f->matches <= FEW_MATCHES || (double)f->matches * storage->d <= PLAN_FACTOR * search_work(f);
}

/* The settings of the index. */
static effort index_effort(const furrow_filtered *f) {
  const furrow_index *index = furrow_searcher_index(f->searcher), *ivf = furrow_index_ivf(index);
  furrow_index_info info;
  furrow_index_info_init(&info);
  effort e = {0};
  if (ivf) {
    furrow_index_get_info(ivf, &info);
    e.nprobe = f->params.nprobe ? f->params.nprobe : info.nprobe;
    e.nlist = info.nlist;
    e.k_factor = info.k_factor;
  }
  for (; index; index = furrow_index_child(index, 0)) {
    if (index->kind == FURROW_INDEX_REFINE) e.k_factor = (double)index->k_factor;
    if (index->kind == FURROW_INDEX_HNSW) e.ef = f->params.ef_search > 0 ? f->params.ef_search : index->hnsw.ef_search;
  }
  if (f->params.k_factor > 0) e.k_factor = (double)f->params.k_factor;
  return e;
}

/* Finds the matches of the shards of this process. sums: the matches, and the shards whose matches can be compared. */
static furrow_status find_in_shards(furrow_filtered *f, int64_t sums[2], furrow_error *err) {
  const furrow_shards *shards = f->searcher->shards;
  if (f->params.max_codes > 0) return fw_fail(err, FURROW_E_UNSUPPORTED, "max_codes cannot limit a search in shards");
  FW_TRY(FW_ALLOC_ZERO(&f->parts, furrow_shards_count(shards), err));
  for (size_t i = 0; i < furrow_shards_count(shards); i++) {
    const furrow_searcher *searcher = fw_shards_searcher(shards, i);
    if (!searcher) continue;
    furrow_filtered *part = &f->parts[f->part_count++];
    *part = (furrow_filtered){.searcher = searcher, .filter = f->filter, .params = f->params};
    FW_TRY(find_matches(part, err));
    sums[0] += (int64_t)part->matches;
    sums[1] += part->storage != NULL;
  }
  return FURROW_OK;
}

/* All ranks follow the plan of rank 0, which has the first shard. */
static furrow_status plan_shards(furrow_filtered *f, furrow_error *err) {
  const furrow_comm *comm = fw_shards_comm(f->searcher->shards);
  int64_t sums[2] = {0};
  uint8_t compares = 0;
  FW_TRY(fw_comm_all_ok(comm, find_in_shards(f, sums, err), err));
  FW_TRY(fw_comm_sum_i64(comm, sums, 2, err));
  f->matches = (uint64_t)sums[0];
  if (fw_comm_is_first(comm)) {
    f->start = index_effort(f);
    compares =
        (size_t)sums[1] == furrow_shards_count(f->searcher->shards) && is_comparing_faster(f, f->parts[0].storage);
  }
  if (comm->ranks > 1) {
    FW_TRY(comm->broadcast(comm, &f->start, sizeof f->start, 0, err));
    FW_TRY(comm->broadcast(comm, &compares, sizeof compares, 0, err));
  }
  f->compares = compares;
  return FURROW_OK;
}

static furrow_status plan(furrow_filtered *f, furrow_error *err) {
  if (f->searcher->shards) {
    FW_TRY(plan_shards(f, err));
  } else {
    FW_TRY(find_matches(f, err));
    f->start = index_effort(f);
    f->compares = f->storage && is_comparing_faster(f, f->storage);
  }
  if (!f->compares) forget_matches(f);
  return FURROW_OK;
}

/* ---- Comparing all matches ------------------------------------------------------------------------------ */

typedef struct comparing {
  const furrow_filtered *f;
  const float *queries;
  size_t k;
  float *distances;
  int64_t *ids;
} comparing;

/* Decodes a block of rows, or copies it next to each other; `rows` has d more floats as scratch. */
static furrow_status take_rows(const furrow_filtered *f, size_t first, size_t n, float *rows, furrow_error *err) {
  const furrow_index *storage = f->storage;
  const size_t d = (size_t)storage->d;
  for (size_t i = 0; i < n; i++) {
    const int64_t row = f->rows[first + i];
    if (fw_index_is_ivf(storage))
      FW_TRY(fw_ivf_decode(storage, row, rows + i * d, rows + BLOCK * d, err));
    else if (storage->kind == FURROW_INDEX_FLAT)
      memcpy(rows + i * d, storage->flat.vectors + (size_t)row * d, d * sizeof *rows);
    else
      FW_TRY(fw_reconstruct(storage, row, rows + i * d, err));
  }
  return FURROW_OK;
}

/* Which of equally near vectors are kept follows from their ids, not from their order: shards give the results of one
 * index. */
static void offer_hit(fw_sink *sink, float key, int64_t tie) {
  const bool wins_tie = key == sink->worst && sink->count == sink->k && tie < sink->heap[0].id;
  if (key < sink->worst || wins_tie) fw_sink_take(sink, key, tie);
}

static furrow_status compare_some(const comparing *c, const float *queries, size_t first, size_t n, fw_scratch *scratch,
                                  furrow_error *err) {
  const furrow_filtered *f = c->f;
  const size_t d = (size_t)f->storage->d, heap_size = fw_heap_size(f->searcher->index, c->k);
  const bool similarity = fw_metric_is_similarity(f->searcher->index->metric);
  fw_hit *heaps = NULL;
  fw_sink *sinks = NULL;
  float *rows = NULL;
  float keys[BLOCK];
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &heaps, n * heap_size, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &sinks, n, err));
  FW_TRY(FW_ARENA_TAKE(&scratch->arena, &rows, (BLOCK + 1) * d, err));
  for (size_t i = 0; i < n; i++) fw_sink_init_best(&sinks[i], heaps + i * heap_size, heap_size);
  for (size_t from = 0; from < f->matches; from += BLOCK) {
    const size_t count = f->matches - from < BLOCK ? (size_t)f->matches - from : BLOCK;
    FW_TRY(take_rows(f, from, count, rows, err));
    for (size_t i = 0; i < n; i++) {
      fw_metric_keys(f->storage, queries + i * d, rows, count, keys);
      for (size_t r = 0; r < count; r++) offer_hit(&sinks[i], keys[r], fw_tie_break_id(f->ids[from + r], similarity));
    }
  }
  for (size_t i = 0; i < n; i++)
    fw_sink_write(&sinks[i], c->k, similarity, similarity, c->distances + (first + i) * c->k,
                  c->ids + (first + i) * c->k);
  return FURROW_OK;
}

static furrow_status compare_part(void *context, size_t begin, size_t end, const fw_search_job *job,
                                  fw_scratch *scratch, furrow_error *err) {
  const comparing *c = context;
  const size_t d = (size_t)c->f->searcher->index->d;
  (void)job;
  for (size_t first = begin; first < end; first += QUERIES) {
    const size_t n = end - first < QUERIES ? end - first : QUERIES;
    const float *queries = c->queries + first * d;
    if (c->f->transform) FW_TRY(fw_node_transform(c->f->transform, scratch, &queries, n, err));
    FW_TRY(compare_some(c, queries, first, n, scratch, err));
  }
  return FURROW_OK;
}

static furrow_status compare_all(const furrow_filtered *f, const float *queries, size_t n, size_t k, float *distances,
                                 int64_t *ids, furrow_error *err) {
  comparing c = {.f = f, .queries = queries, .k = k, .distances = distances, .ids = ids};
  return fw_search_parallel(f->searcher, queries, n, k, &f->params, compare_part, &c, err);
}

/* ---- Comparing the matches of shards --------------------------------------------------------------------- */

/* The k best of some queries. */
typedef struct shard_results {
  size_t n, k, heap_size;
  bool similarity;
  fw_hit *heaps;
  fw_sink *sinks;
  float *distances; /* n * k results of one shard, or of one rank */
  int64_t *ids;
} shard_results;

static furrow_status make_results(shard_results *r, furrow_error *err) {
  FW_TRY(FW_ALLOC_ROWS(&r->heaps, r->n, r->heap_size, err));
  FW_TRY(FW_ALLOC(&r->sinks, r->n, err));
  FW_TRY(FW_ALLOC_ROWS(&r->distances, r->n, r->k, err));
  return FW_ALLOC_ROWS(&r->ids, r->n, r->k, err);
}

static void clear_results(shard_results *r) {
  fw_free(r->heaps);
  fw_free(r->sinks);
  fw_free(r->distances);
  fw_free(r->ids);
}

static void start_results(const shard_results *r) {
  for (size_t i = 0; i < r->n; i++) fw_sink_init_best(&r->sinks[i], r->heaps + i * r->heap_size, r->heap_size);
}

/* Offers the results of a shard or a rank; -1 and FLT_MAX are not results. */
static void offer_results(const shard_results *r, const float *distances, const int64_t *ids) {
  for (size_t i = 0; i < r->n * r->k; i++) {
    const float key = r->similarity ? -distances[i] : distances[i];
    if (ids[i] != -1 || key != FLT_MAX) offer_hit(&r->sinks[i / r->k], key, fw_tie_break_id(ids[i], r->similarity));
  }
}

static void write_results(const shard_results *r, float *distances, int64_t *ids) {
  for (size_t i = 0; i < r->n; i++)
    fw_sink_write(&r->sinks[i], r->k, r->similarity, r->similarity, distances + i * r->k, ids + i * r->k);
}

/* Every rank has the results of its own shards in r->distances and r->ids, and gets those of all. */
static furrow_status join_ranks(const shard_results *r, const furrow_comm *comm, furrow_error *err) {
  const size_t count = r->n * r->k;
  void *distances = NULL, *ids = NULL;
  size_t size;
  furrow_status status = fw_comm_gather_all(comm, r->distances, count * sizeof(float), &distances, &size, NULL, err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, r->ids, count * sizeof(int64_t), &ids, &size, NULL, err);
  if (status == FURROW_OK) {
    start_results(r);
    for (unsigned rank = 0; rank < comm->ranks; rank++)
      offer_results(r, (const float *)distances + rank * count, (const int64_t *)ids + rank * count);
  }
  fw_free(distances);
  fw_free(ids);
  return status;
}

static furrow_status compare_own_shards(const furrow_filtered *f, shard_results *r, const float *queries,
                                        furrow_error *err) {
  FW_TRY(make_results(r, err));
  start_results(r);
  for (size_t i = 0; i < f->part_count; i++) {
    FW_TRY(compare_all(&f->parts[i], queries, r->n, r->k, r->distances, r->ids, err));
    offer_results(r, r->distances, r->ids);
  }
  return FURROW_OK;
}

static furrow_status compare_shards(const furrow_filtered *f, const float *queries, size_t n, size_t k,
                                    float *distances, int64_t *ids, furrow_error *err) {
  const furrow_shards *shards = f->searcher->shards;
  const furrow_comm *comm = fw_shards_comm(shards);
  const size_t d = furrow_shards_dimension(shards);
  furrow_status status = FURROW_OK;
  for (size_t first = 0; status == FURROW_OK && first < n; first += SHARD_QUERIES) {
    shard_results r = {.n = n - first < SHARD_QUERIES ? n - first : SHARD_QUERIES,
                       .k = k,
                       .heap_size = f->matches > k   ? k
                                    : f->matches > 0 ? (size_t)f->matches
                                                     : 1,
                       .similarity = fw_shards_is_similarity(shards)};
    status = fw_comm_all_ok(comm, compare_own_shards(f, &r, queries + first * d, err), err);
    if (status == FURROW_OK && comm->ranks > 1) {
      write_results(&r, r.distances, r.ids);
      status = fw_comm_all_ok(comm, join_ranks(&r, comm, err), err);
    }
    if (status == FURROW_OK) write_results(&r, distances + first * k, ids + first * k);
    clear_results(&r);
  }
  return status;
}

/* ---- Searching with more and more work ------------------------------------------------------------------ */

/* The first step is half of what the index would do, so that the second shows whether that was enough. */
static effort first_effort(const furrow_filtered *f, size_t k) {
  const uint64_t vectors = furrow_searcher_vectors(f->searcher);
  const double share = vectors ? (double)f->matches / (double)vectors : 1;
  effort e = f->start;
  if (e.nlist) e.nprobe = e.nprobe > 1 ? e.nprobe / 2 : 1;
  if (e.ef > 0 && e.ef < (double)k / share) e.ef = (double)k / share;
  return e;
}

static void set_effort(furrow_search_params *params, effort *e, uint64_t vectors) {
  e->whole = e->nprobe >= e->nlist && e->ef >= (double)vectors;
  if (e->nlist) params->nprobe = e->nprobe < e->nlist ? e->nprobe : e->nlist;
  if (e->ef > 0) params->ef_search = e->ef < INT32_MAX ? (int32_t)e->ef : INT32_MAX;
  if (e->k_factor > 0) params->k_factor = (float)e->k_factor;
  if (e->nlist == 0 && e->ef == 0) e->whole = true;
  if (e->nlist && e->ef == 0) e->whole = e->nprobe >= e->nlist;
}

/* Queries that are not finished, and the results of their last step. */
typedef struct doubling {
  const furrow_filtered *f;
  size_t k, d, left;
  size_t *queries; /* their numbers */
  float *vectors;  /* copies, next to each other */
  float *distances;
  int64_t *ids;
  furrow_search_params params;
} doubling;

static int ascending_ids(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The number of results that the step before had, too. `before` is sorted on the way. */
static size_t count_common(int64_t *before, const int64_t *now, size_t k) {
  size_t common = 0;
  qsort(before, k, sizeof *before, ascending_ids);
  for (size_t i = 0; i < k && now[i] >= 0; i++)
    common += bsearch(&now[i], before, k, sizeof *before, ascending_ids) != NULL;
  return common;
}

/* Whether a query has its results, and the last doubling hardly changed them. ids: of the step before. */
static bool is_finished(const doubling *s, int64_t *before, const int64_t *now, bool first) {
  const uint64_t wanted = s->f->matches < s->k ? s->f->matches : s->k;
  size_t found = 0;
  while (found < s->k && now[found] != -1) found++;
  if (first || found < wanted) return false;
  const double allowed = (1 - s->f->recall) / 2;
  return (double)count_common(before, now, s->k) >= (1 - allowed) * (double)wanted;
}

/* Searches the queries that are left, and drops those that are finished. */
static furrow_status take_step(doubling *s, float *distances, int64_t *ids, bool first, bool whole, furrow_error *err) {
  const size_t k = s->k;
  size_t kept = 0;
  FW_TRY(furrow_searcher_search(s->f->searcher, s->vectors, s->left, k, &s->params, s->distances, s->ids, err));
  for (size_t i = 0; i < s->left; i++) {
    const size_t query = s->queries[i];
    const bool finished = whole || is_finished(s, ids + query * k, s->ids + i * k, first);
    memcpy(distances + query * k, s->distances + i * k, k * sizeof *distances);
    memcpy(ids + query * k, s->ids + i * k, k * sizeof *ids);
    if (finished) continue;
    s->queries[kept] = query;
    memmove(s->vectors + kept * s->d, s->vectors + i * s->d, s->d * sizeof *s->vectors);
    kept++;
  }
  s->left = kept;
  return FURROW_OK;
}

static furrow_status search_doubling(const furrow_filtered *f, const float *queries, size_t n, size_t k,
                                     float *distances, int64_t *ids, furrow_error *err) {
  doubling s = {.f = f, .k = k, .d = furrow_searcher_dimension(f->searcher), .left = n, .params = f->params};
  effort e = first_effort(f, k);
  s.params.filter = &f->filter;
  furrow_status status = FW_ALLOC(&s.queries, n, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&s.vectors, n, s.d, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&s.distances, n, k, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&s.ids, n, k, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) s.queries[i] = i;
  if (status == FURROW_OK && n > 0) memcpy(s.vectors, queries, n * s.d * sizeof *queries);
  for (bool first = true; status == FURROW_OK && s.left > 0; first = false) {
    set_effort(&s.params, &e, furrow_searcher_vectors(f->searcher));
    status = take_step(&s, distances, ids, first, e.whole, err);
    e.nprobe *= 2;
    e.ef *= 2;
    e.k_factor *= 2;
  }
  fw_free(s.queries);
  fw_free(s.vectors);
  fw_free(s.distances);
  fw_free(s.ids);
  return status;
}

/* ---- The calls ------------------------------------------------------------------------------------------ */

furrow_status furrow_filtered_create(furrow_filtered **filtered, const furrow_searcher *searcher,
                                     const furrow_filtered_params *params, furrow_error *err) {
  furrow_filtered_params p;
  furrow_filtered *made = NULL;
  furrow_filtered_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_filtered_params, err));
  if (!(p.recall > 0 && p.recall <= 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "recall is %g, but must be above 0 and at most 1", p.recall);
  if (!p.search || !p.search->filter) return fw_fail(err, FURROW_E_ARGUMENT, "search.filter is missing");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->searcher = searcher;
  made->recall = p.recall;
  furrow_search_params_init(&made->params);
  furrow_status status = FW_PARAMS_READ(&made->params, p.search, furrow_search_params, err);
  if (status == FURROW_OK) status = fw_id_filter_read(&made->filter, made->params.filter, err);
  made->params.filter = NULL;
  if (status == FURROW_OK) status = plan(made, err);
  return FW_HAND_OVER(status, filtered, made, furrow_filtered_free);
}

void furrow_filtered_free(furrow_filtered *filtered) {
  if (!filtered) return;
  forget_matches(filtered);
  fw_free(filtered);
}

uint64_t furrow_filtered_matches(const furrow_filtered *filtered) {
  return filtered->matches;
}

bool furrow_filtered_is_exact(const furrow_filtered *filtered) {
  return filtered->compares;
}

furrow_status furrow_filtered_search(const furrow_filtered *filtered, const float *queries, size_t n, size_t k,
                                     float *distances, int64_t *ids, furrow_error *err) {
  if (k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  if (!filtered->compares) return search_doubling(filtered, queries, n, k, distances, ids, err);
  if (filtered->searcher->shards) return compare_shards(filtered, queries, n, k, distances, ids, err);
  return compare_all(filtered, queries, n, k, distances, ids, err);
}
