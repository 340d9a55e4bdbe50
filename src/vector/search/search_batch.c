/* vector/search/search_batch.c: searches many queries on several threads. */
#include "vector/search/searcher.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/params.h"
#include "vector/data/parallel.h"
#include "vector/quantizer/training_vectors.h"

/* ---- Checks --------------------------------------------------------------------------------------------- */

static furrow_status check_query(size_t row, const float *query, size_t d, furrow_error *err) {
  for (size_t k = 0; k < d; k++) {
    if (isfinite(query[k])) continue;
    return fw_fail(err, FURROW_E_RANGE, "query %zu has %s", row, isnan(query[k]) ? "a NaN" : "an infinity");
  }
  return FURROW_OK;
}

furrow_status fw_queries_check(furrow_distance_metric metric, const float *queries, size_t n, size_t d,
                               furrow_error *err) {
  const bool squares = metric == FURROW_METRIC_L2 || metric == FURROW_METRIC_IP;
  furrow_status status = FURROW_OK;
  if (metric == FURROW_METRIC_NAN_EUCLIDEAN) return FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    if (squares && furrow_first_invalid_vector(queries + i * d, 1, d) == 1) continue;
    status = check_query(i, queries + i * d, d, err);
    if (status == FURROW_OK && squares)
      status =
          fw_fail(err, FURROW_E_RANGE, "query %zu is too large: the square of its length is not a finite float", i);
  }
  return status;
}

/* The filter is a copy that the job points to. */
static furrow_status make_job(const furrow_search_params *params, furrow_id_filter *filter, fw_search_job *job,
                              furrow_error *err) {
  *job = (fw_search_job){0};
  if (isnan(params->k_factor) || params->k_factor < 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "k_factor is %g, but must be positive, or 0", (double)params->k_factor);
  if (params->ef_search < 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "ef_search is %" PRId32 ", but must be positive, or 0", params->ef_search);
  job->nprobe = params->nprobe;
  job->max_codes = params->max_codes;
  job->k_factor = params->k_factor;
  job->ef_search = params->ef_search;
  if (!params->filter) return FURROW_OK;
  job->id_filter.filter = filter;
  return fw_id_filter_read(filter, params->filter, err);
}

/* ---- How much work -------------------------------------------------------------------------------------- */

/* Queries at a time. IVF indexes take many, because they are ordered so that successive queries probe the same lists,
 * which are then in the cache. */
enum { MOST_QUERIES = 24, MOST_ORDERED = 1024, MOST_PROBES = 1 << 16, MOST_RESULTS = 1 << 18 };
/* Work, in numbers that are read, from which on waking threads pays off: about 100 microseconds. */
#define WORK_FOR_THREADS 1e6

static double work_of_query(const furrow_index *index, const fw_search_job *job) {
  const furrow_index *ivf = furrow_index_ivf(index);
  if (!ivf) return (double)index->ntotal * index->d;
  const double nlist = (double)ivf->ivf.nlist, fraction = nlist > 0 ? (double)fw_probe_count(ivf, job) / nlist : 1;
  return nlist * ivf->d / 8 + 32.0 * ivf->d + fraction * (double)ivf->ntotal * (double)ivf->ivf.code_size / 4;
}

static size_t queries_at_once(const furrow_searcher *searcher, size_t n, size_t k, const fw_search_job *job,
                              unsigned threads) {
  const furrow_index *ivf = furrow_index_ivf(searcher->index);
  size_t most = MOST_QUERIES;
  if (k > 0 && ivf && fw_ivf_orders_queries(ivf)) {
    const size_t probes = MOST_PROBES / (fw_probe_count(ivf, job) + 1);
    const size_t results = MOST_RESULTS / (fw_inner_k(searcher->index, k, job) + 1);
    const size_t fit = probes < results ? probes : results;
    most = fit < MOST_QUERIES ? MOST_QUERIES : fit < MOST_ORDERED ? fit : MOST_ORDERED;
  }
  const size_t even = n / ((size_t)threads * 4) + 1;
  if (threads > 1 && most > even) most = even;
  return most;
}

/* ---- Threads -------------------------------------------------------------------------------------------- */

typedef struct batch {
  const furrow_searcher *searcher;
  fw_search_range_fn part;
  void *context;
  const fw_search_job *job;
  size_t n, step;
  atomic_size_t next;
  pthread_mutex_t lock; /* of the members below */
  size_t failed_at;     /* the first query of the first part that failed; SIZE_MAX: none */
  furrow_status status;
  furrow_error *err;
} batch;

static void note_failure(batch *b, size_t at, furrow_status status, const furrow_error *err) {
  pthread_mutex_lock(&b->lock);
  if (at < b->failed_at) {
    b->failed_at = at;
    b->status = status;
    if (b->err) *b->err = *err;
  }
  pthread_mutex_unlock(&b->lock);
}

static void run_parts(void *context, size_t worker) {
  batch *b = context;
  fw_scratch *scratch = NULL;
  furrow_error err = {0};
  furrow_status status = fw_searcher_borrow(b->searcher, &scratch, &err);
  (void)worker;
  if (status != FURROW_OK) note_failure(b, 0, status, &err);
  while (status == FURROW_OK) {
    const size_t begin = atomic_fetch_add(&b->next, b->step);
    if (begin >= b->n) break;
    const size_t end = b->n - begin < b->step ? b->n : begin + b->step;
    status = b->part(b->context, begin, end, b->job, scratch, &err);
    fw_arena_reset(&scratch->arena);
    if (status != FURROW_OK) note_failure(b, begin, status, &err);
  }
  fw_searcher_give_back(b->searcher, scratch);
}

/* The number of threads of the parameters, but more than there are processors only if there is work for each. One
 * thread is found without asking the system for its processors, which would take as long as a small search. */
static unsigned count_threads(const furrow_searcher *searcher, size_t n, const furrow_search_params *params,
                              const fw_search_job *job) {
  const unsigned asked = params->threads;
  if (asked == 1 || (asked == 0 && (double)n * work_of_query(searcher->index, job) < WORK_FOR_THREADS)) return 1;
  const unsigned processors = fw_processor_count();
  if (asked == 0) return processors;
  const size_t query_parts = n == 1 ? FW_MAX_QUERY_PARTS : n,
               most = query_parts > processors ? query_parts : processors;
  const unsigned threads = fw_thread_count(asked);
  return threads < most ? threads : (unsigned)most;
}

typedef struct search {
  const furrow_searcher *searcher;
  const float *queries;
  size_t k;
  float *distances;
  int64_t *ids;
} search;

static furrow_status search_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  const search *s = context;
  const fw_node *root = s->searcher->root;
  return fw_node_search(root, scratch, s->queries + begin * (size_t)root->index->d, end - begin, s->k, job,
                        s->distances + begin * s->k, s->ids + begin * s->k, err);
}

/* Queries that threads share the order of: as many as memory is to be taken for. */
static size_t queries_to_share(const furrow_searcher *searcher, const fw_search_job *job, size_t n) {
  enum { MOST_SHARED_PROBES = 1 << 20 };
  const size_t most = MOST_SHARED_PROBES / fw_probe_count(searcher->index, job) + 1;
  return n < most ? n : most;
}

static bool is_shared(const furrow_searcher *searcher, fw_search_range_fn part, size_t n, unsigned threads) {
  return part == search_part && fw_index_is_ivf(searcher->index) && fw_ivf_orders_queries(searcher->index) &&
         n >= 2 * (size_t)threads;
}

static furrow_status search_shared(const search *s, fw_pool *pool, unsigned threads, size_t n, const fw_search_job *job,
                                   furrow_error *err) {
  const size_t step = queries_to_share(s->searcher, job, n), d = (size_t)s->searcher->index->d;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < n; i += step)
    status = fw_ivf_search_shared(s->searcher, pool, threads, s->queries + i * d, n - i < step ? n - i : step, s->k,
                                  job, s->distances + i * s->k, s->ids + i * s->k, err);
  return status;
}

furrow_status fw_search_parallel(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                 const furrow_search_params *params, fw_search_range_fn part, void *context,
                                 furrow_error *err) {
  furrow_search_params p;
  furrow_id_filter filter;
  fw_search_job job;
  fw_pool *pool = NULL;
  furrow_search_params_init(&p);
  furrow_status status = FW_PARAMS_READ(&p, params, furrow_search_params, err);
  if (status == FURROW_OK) status = make_job(&p, &filter, &job, err);
  if (status == FURROW_OK)
    status = fw_queries_check(searcher->index->metric, queries, n, (size_t)searcher->index->d, err);
  if (status != FURROW_OK || n == 0) return status;
  const unsigned threads = count_threads(searcher, n, &p, &job);
  if (threads > 1) status = fw_searcher_pool(searcher, threads, &pool, err);
  if (status != FURROW_OK) return status;
  if (threads > 1 && is_shared(searcher, part, n, threads))
    return fw_index_finish(searcher->index, search_shared(context, pool, threads, n, &job, err), err);
  batch b = {.searcher = searcher, .part = part, .context = context, .job = &job, .n = n, .failed_at = SIZE_MAX};
  b.step = queries_at_once(searcher, n, k, &job, threads);
  b.err = err;
  atomic_init(&b.next, 0);
  pthread_mutex_init(&b.lock, NULL);
  const size_t parts = (n + b.step - 1) / b.step;
  if (n == 1) {
    job.pool = pool;
    job.threads = threads;
  }
  if (threads == 1 || parts == 1)
    run_parts(&b, 0);
  else
    status = fw_pool_for(pool, parts < threads ? parts : threads, run_parts, &b, err);
  pthread_mutex_destroy(&b.lock);
  return fw_index_finish(searcher->index, status != FURROW_OK ? status : b.status, err);
}

/* ---- The k best ------------------------------------------------------------------------------------------ */

furrow_status furrow_searcher_search(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                     const furrow_search_params *params, float *distances, int64_t *ids,
                                     furrow_error *err) {
  search s = {.searcher = searcher, .queries = queries, .k = k, .distances = distances, .ids = ids};
  if (k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  return fw_search_parallel(searcher, queries, n, k, params, search_part, &s, err);
}
