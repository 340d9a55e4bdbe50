/* cli/index/build_tune.c: search settings for an index that was just filled, from its own vectors or given queries. */
#include "index/build_tune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

enum { OWN_QUERIES = 500, MOST_QUERIES = 10000, K = 10 };

typedef struct tune_queries {
  bool own; /* whether they are vectors of the index */
  size_t n, d;
  size_t k; /* neighbours that are found: of an own vector one more, itself */
  float *vectors;
  int64_t *ids;  /* ids of own vectors in the index */
  int64_t *near; /* n * k */
  float *distances;
} tune_queries;

static bool tune_queries_alloc(tune_queries *t, size_t most) {
  t->vectors = malloc(most * t->d * sizeof *t->vectors);
  t->ids = malloc(most * sizeof *t->ids);
  t->near = malloc(most * t->k * sizeof *t->near);
  t->distances = malloc(most * t->k * sizeof *t->distances);
  return t->vectors && t->ids && t->near && t->distances;
}

static void tune_queries_clear(tune_queries *t) {
  free(t->vectors);
  free(t->ids);
  free(t->near);
  free(t->distances);
}

/* Takes every vector whose number is a multiple of `step`. */
static furrow_status take_own(tune_queries *t, filling *fill, uint64_t step, furrow_error *err) {
  furrow_status status = tune_queries_alloc(t, OWN_QUERIES) ? fill_rewind(fill, err) : fail_memory(err);
  for (uint64_t number = 0; status == FURROW_OK && t->n < OWN_QUERIES;) {
    status = fill_read(fill, err);
    const vector_block *block = &fill->block;
    if (status != FURROW_OK || block->count == 0) break;
    for (size_t i = 0; i < block->count && t->n < OWN_QUERIES; i++, number++) {
      const float *vector = block->values + i * block->d;
      if (number % step != 0 || vector_fault(vector, block->d)) continue;
      memcpy(t->vectors + t->n * block->d, vector, block->d * sizeof *vector);
      t->ids[t->n++] = fill->ids.ids ? fill->ids.ids[number] : block->ids[i];
    }
  }
  return status;
}

static furrow_status refuse_faults(const char *path, const vector_block *block, furrow_error *err) {
  const size_t bad = furrow_first_invalid_vector(block->values, block->count, block->d);
  if (bad == block->count) return FURROW_OK;
  return fail_in(err, FURROW_E_RANGE, path, "vector %zu %s", bad,
                 vector_fault(block->values + bad * block->d, block->d));
}

/* Reads the queries of a file, at most MOST_QUERIES. */
static furrow_status take_given(tune_queries *t, const char *path, const vector_values *values, furrow_error *err) {
  furrow_vectors_reader *reader = NULL;
  vector_block block = {0};
  vector_values own = *values;
  if (!vector_source_is_table(path, values)) own.column = NULL; /* it is of the base */
  furrow_status status = vector_source_open(&reader, path, &own, t->d, err);
  if (status == FURROW_OK) status = vector_block_init(&block, t->d, MOST_QUERIES, 0, err);
  if (status == FURROW_OK) status = vector_block_read(&block, reader, err);
  if (status == FURROW_OK) status = refuse_faults(path, &block, err);
  if (status == FURROW_OK && !tune_queries_alloc(t, block.count)) status = fail_memory(err);
  if (status == FURROW_OK) {
    t->n = block.count;
    memcpy(t->vectors, block.values, t->n * t->d * sizeof *t->vectors);
  }
  vector_block_clear(&block);
  furrow_vectors_reader_close(reader);
  return status;
}

/* Drops each query from its own neighbours; a copy of it stays. There are K for each query afterwards. */
static void drop_queries(tune_queries *t) {
  for (size_t q = 0; q < t->n; q++) {
    size_t kept = 0;
    for (size_t i = 0; i < t->k && kept < K; i++)
      if (t->near[q * t->k + i] != t->ids[q]) t->near[q * K + kept++] = t->near[q * t->k + i];
    for (; kept < K; kept++) t->near[q * K + kept] = -1;
  }
}

static furrow_status find_truth(tune_queries *t, const furrow_index *index, filling *fill, index_job *job,
                                furrow_error *err) {
  furrow_exact_search_params params;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  furrow_exact_search_params_init(&params);
  params.metric = info.metric;
  params.normalize = scales_vectors(index);
  params.threads = fill->values->threads;
  params.progress = index_job_progress;
  params.user = job;
  furrow_status status = fill_rewind(fill, err);
  if (status == FURROW_OK)
    status = furrow_exact_search(fill->vectors, t->vectors, t->n, t->k, &params, t->distances, t->near, err);
  status = index_job_status(status, err);
  for (size_t i = 0; status == FURROW_OK && fill->ids.ids && i < t->n * t->k; i++)
    if (t->near[i] >= 0) t->near[i] = fill->ids.ids[t->near[i]];
  if (status == FURROW_OK && t->own) drop_queries(t);
  return status;
}

static furrow_status tune_with(furrow_index *index, const tune_queries *t, double recall, unsigned threads,
                               furrow_index_tuning *tuning, furrow_error *err) {
  furrow_index_tune_params params;
  furrow_index_tune_params_init(&params);
  params.recall = recall;
  params.own_ids = t->own ? t->ids : NULL;
  params.threads = threads;
  return furrow_index_tune(index, t->vectors, t->n, t->near, K, &params, tuning, err);
}

furrow_status build_tune(furrow_index *index, filling *fill, const char *queries, double recall, index_job *job,
                         furrow_index_tuning *tuning, furrow_error *err) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  tune_queries t = {.own = !queries, .d = (size_t)info.d, .k = queries ? K : K + 1};
  const uint64_t step = info.ntotal < OWN_QUERIES ? 1 : (uint64_t)info.ntotal / OWN_QUERIES;
  furrow_status status = queries ? take_given(&t, queries, &fill->values->vectors, err) : take_own(&t, fill, step, err);
  if (status == FURROW_OK && t.n > 0) status = find_truth(&t, index, fill, job, err);
  index_job_step(job, "tune", 0);
  if (status == FURROW_OK && t.n > 0) status = tune_with(index, &t, recall, fill->values->threads, tuning, err);
  tune_queries_clear(&t);
  return status;
}
