/* vector/choose/index_tune.c: finds the search settings that reach a recall with the least work, and stores them in the
 * index. Work is counted in bytes that a query reads.
 *
 * Queries that are in the index find their neighbours more easily than others. In a graph their links lead there: at
 * the same settings they miss a half to nine tenths fewer, depending on the vectors. So two other graphs without the
 * queries are searched. In one, links to them are removed; it misses more than a graph that never had them, because its
 * links were selected among the queries. In the other, links are repaired as if the queries were removed; it misses
 * fewer, because the repair links neighbours of a query with each other. The geometric mean of both is near the truth:
 * 0.7 to 1.3 of the misses of other queries (docs/design/graphs.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"
#include "vector/build/build.h"
#include "vector/index/index.h"
#include "vector/index/index_card.h"
#include "vector/search/searcher.h"

enum {
  FACTORS = 7, /* k_factor is 1, 2, 4 … 64 */
  MOST_EF = 4096,
  LEFT_OUT_SHARE = 16 /* at most 1 / 16 of the vectors of a graph are left out */
};
/* Queries in lists miss about a quarter fewer of their neighbours than others, so fewer may be missed. */
#define OWN_MISSES 0.7
/* For queries that are left out of a graph, the misses are an estimate. */
#define LEFT_OUT_MISSES 0.8

typedef struct tuning {
  furrow_index *index;
  const furrow_index *ivf; /* NULL: no lists */
  furrow_index *graph;     /* NULL: no HNSW graph, except over centroids */
  bool refines;
  const furrow_index_tune_params *params;
  double aim; /* the recall to reach */
  furrow_searcher *searcher;
  const float *queries;
  const int64_t *own_ids; /* NULL: queries are not among the vectors that are searched */
  size_t n, k, found_k;   /* found_k: results that are searched for; one more if queries are among them */
  const int64_t *truth;
  /* Only for queries that are left out of the graph: */
  int64_t *left_out;        /* their sorted ids; NULL: none are left out */
  int64_t *remaining;       /* the truth without them */
  fw_hnsw repaired, masked; /* the graph without them; neighbors NULL: no vector remains */
  float *distances;
  int64_t *ids;
} tuning;

static bool has_refinement(const furrow_index *index) {
  for (; index; index = index->child[0]) {
    if (index->kind == FURROW_INDEX_REFINE || index->kind == FURROW_INDEX_IVF_PQR) return true;
    if (fw_index_is_ivf(index)) return false;
  }
  return false;
}

static furrow_index *find_graph(furrow_index *index) {
  while (index && index->kind != FURROW_INDEX_HNSW) index = fw_index_is_ivf(index) ? NULL : index->child[0];
  return index;
}

/* The largest width of a search: the number of probed lists, or of candidates in a graph. 0: the index has neither. */
static uint64_t most_width(const tuning *t) {
  if (t->ivf) return t->ivf->ivf.nlist;
  return !t->graph ? 0 : t->graph->ntotal < MOST_EF ? (uint64_t)t->graph->ntotal : MOST_EF;
}

/* The least width: a graph search needs at least one candidate for each result that is refined. */
static uint64_t least_width(const tuning *t, const furrow_index_tuning *point) {
  const uint64_t most = most_width(t);
  const double results = (double)t->found_k * fmax(1, (double)point->k_factor);
  if (!t->graph) return most < 1 ? most : 1;
  return results < (double)most ? (uint64_t)ceil(results) : most;
}

static void set_width(const tuning *t, furrow_index_tuning *point, uint64_t width) {
  if (t->ivf) point->nprobe = width;
  if (t->graph) point->ef_search = (int32_t)width;
}

/* Counts the true neighbours, and those that are not among the results; a query is not its own neighbour. */
static double count_missed(const tuning *t, uint64_t *wanted) {
  uint64_t found = 0;
  *wanted = 0;
  for (size_t q = 0; q < t->n; q++) {
    const int64_t *truth = t->truth + q * t->k, *ids = t->ids + q * t->found_k;
    size_t left = 0;
    for (size_t i = 0; i < t->k; i++) left += truth[i] >= 0;
    *wanted += left;
    for (size_t j = 0; j < t->found_k && left > 0; j++) {
      if (ids[j] < 0 || (t->own_ids && ids[j] == t->own_ids[q])) continue;
      left--;
      for (size_t i = 0; i < t->k; i++) found += truth[i] == ids[j];
    }
  }
  return (double)*wanted - (double)found;
}

static furrow_status search_queries(tuning *t, const furrow_index_tuning *point, double *missed, uint64_t *wanted,
                                    furrow_error *err) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = point->nprobe;
  params.ef_search = point->ef_search;
  params.k_factor = point->k_factor;
  params.threads = t->params->threads;
  FW_TRY(furrow_searcher_search(t->searcher, t->queries, t->n, t->found_k, &params, t->distances, t->ids, err));
  *missed = count_missed(t, wanted);
  return FURROW_OK;
}

/* Estimates the number of misses of a graph without the queries. */
static furrow_status search_without(tuning *t, const furrow_index_tuning *point, double *missed, uint64_t *wanted,
                                    furrow_error *err) {
  const fw_hnsw stored = t->graph->hnsw;
  double more = 0, fewer = 0;
  t->graph->hnsw = t->masked;
  furrow_status status = search_queries(t, point, &more, wanted, err);
  t->graph->hnsw = t->repaired;
  if (status == FURROW_OK) status = search_queries(t, point, &fewer, wanted, err);
  t->graph->hnsw = stored;
  *missed = sqrt(more * fmax(fewer, 0.5)); /* finding all may be luck */
  return status;
}

static furrow_status measure_recall(tuning *t, furrow_index_tuning *point, furrow_error *err) {
  double missed = 0;
  uint64_t wanted = 0;
  if (t->masked.neighbors)
    FW_TRY(search_without(t, point, &missed, &wanted, err));
  else
    FW_TRY(search_queries(t, point, &missed, &wanted, err));
  point->recall = wanted > 0 ? 1 - missed / (double)wanted : 1;
  point->reached = point->recall >= t->aim;
  return FURROW_OK;
}

/* Bytes that a query reads before the refinement: centroids and codes, or the neighbours of candidates in a graph. */
static double first_work(const tuning *t, const furrow_index_tuning *point) {
  if (t->graph) return (double)point->ef_search * t->graph->hnsw.cum[1] * t->index->d;
  if (!t->ivf) return 0;
  const fw_ivf *ivf = &t->ivf->ivf;
  const double codes = (double)fw_lists_stored(&ivf->lists) * (double)point->nprobe / (double)ivf->nlist;
  return (double)ivf->nlist * t->index->d * 4 + codes * (double)ivf->code_size;
}

static double work_of(const tuning *t, const furrow_index_tuning *point) {
  /* scattered reads of vectors cost about four times as much */
  return first_work(t, point) + (double)t->k * (double)point->k_factor * t->index->d * 4 * 4;
}

/* Finds the least width that reaches the recall with this k_factor; wider searches find more. If queries are in the
 * index, t->aim is above the requested recall; if the widest search reaches only the requested recall, t->aim is
 * lowered to the recall of that search. */
static furrow_status find_width(tuning *t, furrow_index_tuning *point, furrow_error *err) {
  const uint64_t least = least_width(t, point), most = most_width(t);
  uint64_t low = least > 0 ? least - 1 : 0, high = least;
  for (;;) { /* small numbers first: they are fast to try */
    set_width(t, point, high);
    FW_TRY(measure_recall(t, point, err));
    if (point->reached || high == most) break;
    low = high;
    high = high < most / 2 ? 2 * high : most;
  }
  if (!point->reached && point->recall < t->params->recall) return FURROW_OK;
  if (!point->reached) {
    t->aim = point->recall;
    return find_width(t, point, err);
  }
  while (high - low > 1 + low / 8) { /* up to an eighth */
    furrow_index_tuning trial = *point;
    const uint64_t width = low + (high - low) / 2;
    set_width(t, &trial, width);
    FW_TRY(measure_recall(t, &trial, err));
    if (trial.reached) {
      high = width;
      *point = trial;
    } else {
      low = width;
    }
  }
  return FURROW_OK;
}

static furrow_status find_settings(tuning *t, furrow_index_tuning *best, furrow_error *err) {
  for (unsigned i = 0; i < (t->refines ? FACTORS : 1); i++) {
    furrow_index_tuning point = {.k_factor = t->refines ? (float)(1u << i) : 0};
    const double aim = t->aim;
    FW_TRY(find_width(t, &point, err));
    t->aim = aim;
    point.reached = point.recall >= aim;
    const bool better = point.reached ? !best->reached || work_of(t, &point) < work_of(t, best)
                                      : !best->reached && point.recall > best->recall;
    if (i == 0 || better) *best = point;
  }
  return FURROW_OK;
}

/* Stores the settings in the indexes that they belong to. */
static void store_settings(furrow_index *index, const furrow_index_tuning *best) {
  for (; index; index = fw_index_is_ivf(index) ? NULL : index->child[0]) {
    if (fw_index_is_ivf(index)) index->ivf.nprobe = (size_t)best->nprobe;
    if (index->kind == FURROW_INDEX_IVF_PQR) index->ivf.k_factor = best->k_factor;
    if (index->kind == FURROW_INDEX_REFINE) index->k_factor = best->k_factor;
    if (index->kind == FURROW_INDEX_HNSW) index->hnsw.ef_search = best->ef_search;
  }
}

/* ---- Queries that are left out of a graph ---------------------------------------------------------------- */

static bool is_left_out(const tuning *t, int64_t id) {
  return bsearch(&id, t->left_out, t->n, sizeof id, fw_compare_i64) != NULL;
}

/* Replaces the number of a vector in the graph by its id in the index. */
static furrow_status find_id(const furrow_index *index, int64_t *id, furrow_error *err) {
  if (index->kind == FURROW_INDEX_HNSW) return FURROW_OK;
  FW_TRY(find_id(index->child[0], id, err));
  return index->kind == FURROW_INDEX_ID_MAP ? fw_id_map_rename(index, id, err) : FURROW_OK;
}

/* Removes links to vectors whose `to` is negative. */
static void mask_links(fw_hnsw *graph, const int64_t *to, size_t n) {
  for (size_t i = 0; i < n; i++)
    for (int32_t level = 0; level < graph->levels[i]; level++) {
      int32_t *links = graph->neighbors + graph->offsets[i] + graph->cum[level];
      const int32_t capacity = graph->cum[level + 1] - graph->cum[level];
      int32_t count = 0, kept = 0;
      for (; count < capacity && links[count] >= 0; count++)
        if (to[links[count]] >= 0) links[kept++] = links[count];
      for (; kept < count; kept++) links[kept] = -1;
    }
}

/* Makes both graphs without the vectors whose `to` is negative. */
static furrow_status make_graphs(tuning *t, const int64_t *to, size_t left, furrow_error *err) {
  const size_t n = (size_t)t->graph->ntotal, slots = (size_t)t->graph->hnsw.offsets[n];
  FW_TRY(fw_hnsw_relink(t->graph, to, left, &t->repaired, err));
  t->masked = t->repaired; /* its entry point, too */
  t->masked.neighbors = NULL;
  FW_TRY(FW_ALLOC(&t->masked.neighbors, slots, err));
  memcpy(t->masked.neighbors, t->graph->hnsw.neighbors, slots * sizeof *t->masked.neighbors);
  mask_links(&t->masked, to, n);
  return FURROW_OK;
}

/* Leaves the queries out of the graph, or some of them if it has few vectors. */
static furrow_status leave_out(tuning *t, furrow_error *err) {
  const size_t n = (size_t)t->graph->ntotal;
  int64_t *to = NULL, left = 0;
  if (t->n > n / LEFT_OUT_SHARE + 1) t->n = n / LEFT_OUT_SHARE + 1;
  FW_TRY(FW_ALLOC(&t->left_out, t->n, err));
  memcpy(t->left_out, t->own_ids, t->n * sizeof *t->left_out);
  qsort(t->left_out, t->n, sizeof *t->left_out, fw_compare_i64);
  FW_TRY(FW_ALLOC_ROWS(&t->remaining, t->n, t->k, err));
  for (size_t i = 0; i < t->n * t->k; i++) t->remaining[i] = is_left_out(t, t->truth[i]) ? -1 : t->truth[i];
  FW_TRY(FW_ALLOC(&to, n, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    int64_t id = (int64_t)i;
    status = find_id(t->index, &id, err);
    to[i] = is_left_out(t, id) ? -1 : left++;
  }
  if (status == FURROW_OK && left > 0) status = make_graphs(t, to, (size_t)left, err);
  if (status == FURROW_OK && left > 0) {
    t->truth = t->remaining;
    t->own_ids = NULL;
  }
  fw_free(to);
  return status;
}

static void tuning_clear(tuning *t) {
  furrow_searcher_free(t->searcher);
  fw_free(t->distances);
  fw_free(t->ids);
  fw_free(t->left_out);
  fw_free(t->remaining);
  fw_free(t->repaired.neighbors);
  fw_free(t->masked.neighbors);
}

/* ---- The call ------------------------------------------------------------------------------------------- */

furrow_status furrow_index_tune(furrow_index *index, const float *queries, size_t n, const int64_t *truth, size_t k,
                                const furrow_index_tune_params *params, furrow_index_tuning *result,
                                furrow_error *err) {
  furrow_index_tune_params p;
  furrow_index_tuning best = {0};
  furrow_index_tune_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_index_tune_params, err));
  if (n == 0 || k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "n and k must be positive");
  if (!(p.recall > 0 && p.recall <= 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "recall is %g, but must be above 0 and at most 1", p.recall);
  tuning t = {.index = index,
              .ivf = furrow_index_ivf(index),
              .graph = find_graph(index),
              .refines = has_refinement(index),
              .params = &p,
              .aim = p.recall,
              .queries = queries,
              .own_ids = p.own_ids,
              .n = n,
              .k = k,
              .truth = truth};
  if (p.own_ids) t.aim = 1 - (1 - p.recall) * (t.graph ? LEFT_OUT_MISSES : OWN_MISSES);
  furrow_status status = t.graph && p.own_ids ? leave_out(&t, err) : FURROW_OK;
  t.found_k = k + (t.own_ids != NULL);
  if (status == FURROW_OK) status = furrow_searcher_create(&t.searcher, index, NULL, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.distances, t.n, t.found_k, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.ids, t.n, t.found_k, err);
  if (status == FURROW_OK) status = find_settings(&t, &best, err);
  tuning_clear(&t);
  if (status != FURROW_OK) return status;
  store_settings(index, &best);
  best.reached = best.recall >= p.recall;
  if (fw_card_is_kept(index->card))
    index->card->recall =
        (fw_card_recall){.recall = best.recall, .k = k, .queries = t.n, .vectors = (uint64_t)index->ntotal};
  fw_info_write(result, &best, sizeof best);
  return FURROW_OK;
}
