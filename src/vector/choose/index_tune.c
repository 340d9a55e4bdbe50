/* vector/choose/index_tune.c: finds the search settings that reach a recall with the least work, and stores them in the
 * index. Work is counted in bytes that a query reads. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/index/index.h"
#include "vector/search/searcher.h"

enum { FACTORS = 7, MOST_EF = 4096 }; /* k_factor is 1, 2, 4 … 64 */
/* Queries that are in the index miss about a quarter fewer of their neighbours than others, so fewer may be missed. */
#define OWN_MISSES 0.7
/* In a graph, their links lead to their neighbours: they miss a half to nine tenths fewer. */
#define OWN_MISSES_GRAPH 0.2

typedef struct tuning {
  furrow_index *index;
  const furrow_index *ivf;   /* NULL: no lists */
  const furrow_index *graph; /* NULL: no HNSW graph, except over centroids */
  bool refines;
  const furrow_index_tune_params *params;
  double aim; /* the recall to reach */
  furrow_searcher *searcher;
  const float *queries;
  size_t n, k, found_k; /* found_k: results that are searched for; one more if queries are in the index */
  const int64_t *truth;
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

static const furrow_index *find_graph(const furrow_index *index) {
  while (index && index->kind != FURROW_INDEX_HNSW) index = fw_index_is_ivf(index) ? NULL : index->child[0];
  return index;
}

/* How wide a search looks: the lists that it probes, or its candidates in a graph. 0: neither. */
static uint64_t most_width(const tuning *t) {
  if (t->ivf) return t->ivf->ivf.nlist;
  return !t->graph ? 0 : t->graph->ntotal < MOST_EF ? (uint64_t)t->graph->ntotal : MOST_EF;
}

/* A graph search has a candidate for each result that is refined, or more. */
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

/* The share of true neighbours among the results; a query is not its own neighbour. */
static double share_found(const tuning *t) {
  uint64_t found = 0, wanted = 0;
  for (size_t q = 0; q < t->n; q++) {
    const int64_t *truth = t->truth + q * t->k, *ids = t->ids + q * t->found_k;
    const int64_t own = t->params->own_ids ? t->params->own_ids[q] : -1;
    size_t left = t->k;
    for (size_t i = 0; i < t->k; i++) wanted += truth[i] >= 0;
    for (size_t j = 0; j < t->found_k && left > 0; j++) {
      if (ids[j] < 0 || (t->params->own_ids && ids[j] == own)) continue;
      left--;
      for (size_t i = 0; i < t->k; i++) found += truth[i] == ids[j];
    }
  }
  return wanted > 0 ? (double)found / (double)wanted : 1;
}

static furrow_status measure_recall(tuning *t, furrow_index_tuning *point, furrow_error *err) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = point->nprobe;
  params.ef_search = point->ef_search;
  params.k_factor = point->k_factor;
  params.threads = t->params->threads;
  FW_TRY(furrow_searcher_search(t->searcher, t->queries, t->n, t->found_k, &params, t->distances, t->ids, err));
  point->recall = share_found(t);
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
 * index, the aim is above the recall that was asked for: where the widest search reaches only the latter, what it
 * reaches becomes t->aim. */
static furrow_status find_width(tuning *t, furrow_index_tuning *point, furrow_error *err) {
  const uint64_t least = least_width(t, point);
  uint64_t low = least > 0 ? least - 1 : 0, high = most_width(t);
  set_width(t, point, high);
  FW_TRY(measure_recall(t, point, err));
  if (!point->reached && point->recall >= t->params->recall) {
    t->aim = point->recall;
    point->reached = true;
  }
  if (!point->reached || high == 0) return FURROW_OK;
  for (uint64_t width = least; width < high; width *= 2) { /* small numbers first: they are fast to try */
    furrow_index_tuning trial = *point;
    set_width(t, &trial, width);
    FW_TRY(measure_recall(t, &trial, err));
    if (trial.reached) {
      high = width;
      *point = trial;
    } else {
      low = width;
    }
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
              .n = n,
              .k = k,
              .found_k = k + (p.own_ids != NULL),
              .truth = truth};
  if (p.own_ids) t.aim = 1 - (1 - p.recall) * (t.graph ? OWN_MISSES_GRAPH : OWN_MISSES);
  furrow_status status = furrow_searcher_create(&t.searcher, index, NULL, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.distances, n, t.found_k, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&t.ids, n, t.found_k, err);
  if (status == FURROW_OK) status = find_settings(&t, &best, err);
  furrow_searcher_free(t.searcher);
  fw_free(t.distances);
  fw_free(t.ids);
  if (status != FURROW_OK) return status;
  store_settings(index, &best);
  best.reached = best.recall >= p.recall;
  fw_info_write(result, &best, sizeof best);
  return FURROW_OK;
}
