/* vector/search/search_batch.c: searches many queries on several threads. */
#include "vector/search/searcher.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/params.h"
#include "vector/data/parallel.h"

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

/* job->filter points to the copy in *filter. */
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

/* ---- Number of queries and threads ---------------------------------------------------------------------- */

/* The number of queries at a time. IVF indexes take many: queries are sorted so that successive ones probe the same
 * lists, which are then in the cache. So do flat indexes, whose rows are packed once for all queries. */
enum { MOST_QUERIES = 24, MOST_ORDERED = 1024, MOST_PROBES = 1 << 16, MOST_RESULTS = 1 << 18 };
/* The least work for which waking threads pays off, in numbers that are read: about 100 microseconds. */
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
  if (k > 0 && (ivf ? fw_ivf_orders_queries(ivf) : fw_flat_takes_many(searcher->index))) {
    const size_t probes = ivf ? MOST_PROBES / (fw_probe_count(ivf, job) + 1) : MOST_ORDERED;
    const size_t results = MOST_RESULTS / (fw_inner_k(searcher->index, k, job) + 1);
    const size_t fit = probes < results ? probes : results;
    most = fit < MOST_QUERIES ? MOST_QUERIES : fit < MOST_ORDERED ? fit : MOST_ORDERED;
  }
  const size_t even = n / ((size_t)threads * 4) + 1;
  if (threads > 1 && most > even) most = even;
  return most;
}

/* The requested number of threads; more than one per processor only if there is work for each. A single thread is
 * handled without asking the system for its processors, which would take as long as a small search. */
static unsigned count_threads(const furrow_searcher *searcher, size_t n, unsigned asked, const fw_search_job *job) {
  if (asked == 1 || (asked == 0 && (double)n * work_of_query(searcher->index, job) < WORK_FOR_THREADS)) return 1;
  const unsigned processors = fw_processor_count();
  if (asked == 0) return processors;
  const size_t query_parts = n == 1 ? FW_MAX_QUERY_PARTS : n,
               most = query_parts > processors ? query_parts : processors;
  const unsigned threads = fw_thread_count(asked);
  return threads < most ? threads : (unsigned)most;
}

/* ---- Threads -------------------------------------------------------------------------------------------- */

typedef struct schedule {
  const fw_search_call *call;
  const fw_search_phase *phases;
  size_t count;
  void *context;
  size_t n, step;
  struct {
    atomic_size_t next, done; /* in queries */
    atomic_bool over;
  } progress[FW_SEARCH_PHASES];
  atomic_size_t failed_at; /* the first query of the first part that failed; SIZE_MAX: none */
  pthread_mutex_t lock;    /* guards the members below */
  furrow_status status;
  furrow_error *err;
} schedule;

static void note_failure(schedule *s, size_t at, furrow_status status, const furrow_error *err) {
  pthread_mutex_lock(&s->lock);
  if (at < atomic_load(&s->failed_at)) {
    atomic_store(&s->failed_at, at);
    s->status = status;
    if (s->err) *s->err = *err;
  }
  pthread_mutex_unlock(&s->lock);
}

/* Parts before a failed one still run: if such a part fails, too, its error is reported instead. Skipped parts count as
 * done, because other threads wait for them. */
static void run_phase(schedule *s, size_t i, fw_scratch *scratch, furrow_error *err) {
  const fw_search_phase *phase = &s->phases[i];
  for (size_t begin; (begin = atomic_fetch_add(&s->progress[i].next, s->step)) < s->n;) {
    const size_t count = s->n - begin < s->step ? s->n - begin : s->step;
    if (begin < atomic_load(&s->failed_at)) {
      const furrow_status status = phase->part(s->context, begin, begin + count, &s->call->job, scratch, err);
      fw_arena_reset(&scratch->arena);
      if (status != FURROW_OK) note_failure(s, begin, status, err);
    }
    if (atomic_fetch_add(&s->progress[i].done, count) + count < s->n) continue;
    if (phase->finish && atomic_load(&s->failed_at) == SIZE_MAX) phase->finish(s->context);
    atomic_store(&s->progress[i].over, true);
  }
}

/* Spins briefly, until another thread has finished a few queries. */
static void wait_for_phase(const schedule *s, size_t i) {
  enum { SPINS = 4096 };
  for (unsigned spins = 1; !atomic_load(&s->progress[i].over); spins++)
    if (spins % SPINS == 0) sched_yield();
}

static void run_phases(void *context, size_t worker) {
  schedule *s = context;
  fw_scratch *scratch = NULL;
  furrow_error err = {0};
  const furrow_status status = fw_searcher_borrow(s->call->searcher, &scratch, &err);
  (void)worker;
  if (status != FURROW_OK) {
    note_failure(s, 0, status, &err);
    return;
  }
  for (size_t i = 0; i < s->count && atomic_load(&s->failed_at) == SIZE_MAX; i++) {
    run_phase(s, i, scratch, &err);
    if (i + 1 < s->count) wait_for_phase(s, i);
  }
  fw_searcher_give_back(s->call->searcher, scratch);
}

furrow_status fw_search_phases(const fw_search_call *call, size_t n, size_t step, const fw_search_phase *phases,
                               size_t count, void *context, furrow_error *err) {
  schedule s = {.call = call, .phases = phases, .count = count, .context = context, .n = n, .step = step, .err = err};
  const size_t parts = (n + step - 1) / step;
  furrow_status status = FURROW_OK;
  atomic_init(&s.failed_at, SIZE_MAX);
  pthread_mutex_init(&s.lock, NULL);
  if (call->threads == 1 || parts == 1)
    run_phases(&s, 0);
  else
    status = fw_pool_for(call->pool, parts < call->threads ? parts : call->threads, run_phases, &s, err);
  pthread_mutex_destroy(&s.lock);
  return status != FURROW_OK ? status : s.status;
}

/* ---- Calls ---------------------------------------------------------------------------------------------- */

static furrow_status begin_call(fw_search_call *call, const furrow_searcher *searcher, const float *queries, size_t n,
                                const furrow_search_params *params, furrow_error *err) {
  furrow_search_params p;
  furrow_search_params_init(&p);
  call->searcher = searcher;
  call->pool = NULL;
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_search_params, err));
  FW_TRY(make_job(&p, &call->filter, &call->job, err));
  FW_TRY(fw_queries_check(searcher->index->metric, queries, n, (size_t)searcher->index->d, err));
  call->threads = n == 0 ? 1 : count_threads(searcher, n, p.threads, &call->job);
  if (call->threads > 1) FW_TRY(fw_searcher_pool(searcher, call->threads, &call->pool, err));
  if (n == 1) {
    call->job.pool = call->pool;
    call->job.threads = call->threads;
  }
  return FURROW_OK;
}

static furrow_status run_call(const fw_search_call *call, size_t n, size_t k, fw_search_range_fn part, void *context,
                              furrow_error *err) {
  const size_t step = queries_at_once(call->searcher, n, k, &call->job, call->threads);
  return fw_search_phases(call, n, step, &(fw_search_phase){.part = part}, 1, context, err);
}

furrow_status fw_search_parallel(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                 const furrow_search_params *params, fw_search_range_fn part, void *context,
                                 furrow_error *err) {
  fw_search_call call;
  FW_TRY(begin_call(&call, searcher, queries, n, params, err));
  if (n == 0) return FURROW_OK;
  return fw_index_finish(searcher->index, run_call(&call, n, k, part, context, err), err);
}

/* ---- The k nearest -------------------------------------------------------------------------------------- */

/* Queries begin … end-1 of a batch. */
static fw_search_batch batch_part(const fw_search_batch *batch, size_t d, size_t begin, size_t end) {
  return (fw_search_batch){.job = batch->job,
                           .queries = batch->queries + begin * d,
                           .n = end - begin,
                           .k = batch->k,
                           .distances = batch->distances + begin * batch->k,
                           .ids = batch->ids + begin * batch->k};
}

typedef struct best_search {
  const fw_node *root;
  fw_search_batch batch;
} best_search;

static furrow_status search_part(void *context, size_t begin, size_t end, const fw_search_job *job, fw_scratch *scratch,
                                 furrow_error *err) {
  const best_search *s = context;
  const fw_search_batch part = batch_part(&s->batch, (size_t)s->root->index->d, begin, end);
  (void)job;
  return fw_node_search(s->root, scratch, &part, err);
}

/* Whether threads share the sorted order of the queries. */
static bool is_shared(const fw_search_call *call, size_t n) {
  const furrow_index *index = call->searcher->index;
  return call->threads > 1 && n >= 2 * (size_t)call->threads && fw_index_is_ivf(index) && fw_ivf_orders_queries(index);
}

/* The number of queries that threads sort together, limited by their memory. */
static size_t queries_to_share(const fw_search_call *call, size_t n) {
  enum { MOST_SHARED_PROBES = 1 << 20 };
  const size_t most = MOST_SHARED_PROBES / fw_probe_count(call->searcher->index, &call->job) + 1;
  return n < most ? n : most;
}

static furrow_status search_shared(const fw_search_call *call, const fw_search_batch *batch, furrow_error *err) {
  const size_t n = batch->n, step = queries_to_share(call, n);
  for (size_t i = 0; i < n; i += step) {
    const fw_search_batch part = batch_part(batch, (size_t)call->searcher->index->d, i, n - i < step ? n : i + step);
    FW_TRY(fw_ivf_search_shared(call, &part, err));
  }
  return FURROW_OK;
}

furrow_status furrow_searcher_search(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                     const furrow_search_params *params, float *distances, int64_t *ids,
                                     furrow_error *err) {
  fw_search_call call;
  if (searcher->shards) return furrow_shards_search(searcher->shards, queries, n, k, params, distances, ids, err);
  if (k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  FW_TRY(begin_call(&call, searcher, queries, n, params, err));
  if (n == 0) return FURROW_OK;
  best_search s = {.root = searcher->root,
                   .batch = {.job = &call.job, .queries = queries, .n = n, .k = k, .distances = distances, .ids = ids}};
  const furrow_status status =
      is_shared(&call, n) ? search_shared(&call, &s.batch, err) : run_call(&call, n, k, search_part, &s, err);
  return fw_index_finish(searcher->index, status, err);
}
