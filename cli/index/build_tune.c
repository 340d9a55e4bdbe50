/* cli/index/build_tune.c: search settings for an index that was just filled, from vectors of its own. */
#include "index/build_tune.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

enum { QUERIES = 500, K = 10 };

typedef struct tune_queries {
  size_t n;
  float *vectors;
  int64_t *ids;     /* in the index */
  int64_t *near;    /* n * (K + 1): the vector itself is among them */
  float *distances; /* the same */
  int64_t truth[QUERIES * K];
} tune_queries;

/* Takes every vector whose number is a multiple of `step`. */
static furrow_status take_queries(tune_queries *t, filling *fill, uint64_t step, furrow_error *err) {
  furrow_status status = fill_rewind(fill, err);
  for (uint64_t number = 0; status == FURROW_OK && t->n < QUERIES;) {
    status = fill_read(fill, err);
    const vector_block *block = &fill->block;
    if (status != FURROW_OK || block->count == 0) break;
    for (size_t i = 0; i < block->count && t->n < QUERIES; i++, number++) {
      const float *vector = block->values + i * block->d;
      if (number % step != 0 || vector_fault(vector, block->d)) continue;
      memcpy(t->vectors + t->n * block->d, vector, block->d * sizeof *vector);
      t->ids[t->n++] = fill->ids.ids ? fill->ids.ids[number] : block->ids[i];
    }
  }
  return status;
}

/* Drops each query from its own neighbours; a copy of it stays. */
static void drop_queries(tune_queries *t) {
  for (size_t q = 0; q < t->n; q++) {
    size_t kept = 0;
    for (size_t i = 0; i <= K && kept < K; i++)
      if (t->near[q * (K + 1) + i] != t->ids[q]) t->truth[q * K + kept++] = t->near[q * (K + 1) + i];
    for (; kept < K; kept++) t->truth[q * K + kept] = -1;
  }
}

static furrow_status find_truth(tune_queries *t, filling *fill, furrow_distance_metric metric, index_job *job,
                                furrow_error *err) {
  furrow_exact_search_params params;
  furrow_exact_search_params_init(&params);
  params.metric = metric;
  params.threads = fill->values->threads;
  params.progress = index_job_progress;
  params.user = job;
  furrow_status status = fill_rewind(fill, err);
  if (status == FURROW_OK)
    status = furrow_exact_search(fill->vectors, t->vectors, t->n, K + 1, &params, t->distances, t->near, err);
  status = index_job_status(status, err);
  for (size_t i = 0; status == FURROW_OK && fill->ids.ids && i < t->n * (K + 1); i++)
    if (t->near[i] >= 0) t->near[i] = fill->ids.ids[t->near[i]];
  if (status == FURROW_OK) drop_queries(t);
  return status;
}

static furrow_status tune_with(furrow_index *index, const tune_queries *t, double recall, unsigned threads,
                               furrow_index_tuning *tuning, furrow_error *err) {
  furrow_index_tune_params params;
  furrow_index_tune_params_init(&params);
  params.recall = recall;
  params.own_ids = t->ids;
  params.threads = threads;
  return t->n > 0 ? furrow_index_tune(index, t->vectors, t->n, t->truth, K, &params, tuning, err) : FURROW_OK;
}

furrow_status build_tune(furrow_index *index, filling *fill, double recall, index_job *job, furrow_index_tuning *tuning,
                         furrow_error *err) {
  const size_t d = furrow_vectors_reader_dimension(fill->vectors);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  tune_queries *t = calloc(1, sizeof *t);
  if (t) {
    t->vectors = malloc(QUERIES * d * sizeof *t->vectors);
    t->ids = malloc(QUERIES * sizeof *t->ids);
    t->near = malloc(QUERIES * (K + 1) * sizeof *t->near);
    t->distances = malloc(QUERIES * (K + 1) * sizeof *t->distances);
  }
  const bool allocated = t && t->vectors && t->ids && t->near && t->distances;
  const uint64_t step = info.ntotal < QUERIES ? 1 : (uint64_t)info.ntotal / QUERIES;
  furrow_status status = allocated ? take_queries(t, fill, step, err) : fail_memory(err);
  if (status == FURROW_OK && t->n > 0) status = find_truth(t, fill, info.metric, job, err);
  index_job_step(job, "tune", 0);
  if (status == FURROW_OK) status = tune_with(index, t, recall, fill->values->threads, tuning, err);
  if (t) {
    free(t->vectors);
    free(t->ids);
    free(t->near);
    free(t->distances);
  }
  free(t);
  return status;
}
