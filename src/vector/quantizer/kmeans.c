/* vector/quantizer/kmeans.c: k-means. */
#include "vector/quantizer/kmeans.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/products/projection.h"
#include "vector/data/parallel.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/training_vectors.h"

#define SPLIT_SHIFT (1 / 1024.F) /* relative distance by which the two halves of a split cluster are moved apart */
#define SPLIT_SEED 1234
#define SPLIT_TRIES 10  /* passes over k clusters; random draws alone fail once in 20000 */
#define ASSIGN_PART 768 /* vectors and centroids per task */
#define UPDATE_PART 8

#define FEW_SHARE 3  /* the first half of the rounds uses one of FEW_SHARE vectors, drawn at random */
#define FEW_LEAST 48 /* but at least this many per centroid */
#define FEW_WORK                                                                                     \
  0x1p24 /* at least this many multiplications in a round over all vectors; with fewer, no sample is \
            drawn */
#define FEW_SEED 2

typedef struct work {
  const fw_kmeans_params *params;
  fw_rank_vectors local;
  float *centroids;
  double *sums; /* for each cluster: the sum of its vectors, followed by their number */
  fw_packed packed;
  fw_projection *projection; /* NULL: unused, or not yet created */
  fw_question *questions;    /* the vectors in the directions of the projection; asked: whether they were computed */
  bool asked;
  uint32_t *nearest, *before; /* for each vector, in this round and in the one before */
  fw_groups groups;
} work;

/* ---- A round -------------------------------------------------------------------------------------------- */

/* The centroid of the previous round is the initial guess. */
static furrow_status assign_part(void *context, size_t first, size_t count, furrow_error *err) {
  work *w = context;
  const size_t d = w->params->d;
  const float *x = w->local.vectors + first * d;
  (void)err;
  memcpy(w->nearest + first, w->before + first, count * sizeof *w->nearest);
  if (!w->questions) {
    fw_packed_nearest(&w->packed, x, count, d, w->nearest + first);
    return FURROW_OK;
  }
  if (!w->asked) fw_projection_ask(w->packed.projection, x, count, d, w->questions + first);
  fw_projection_nearest(&w->packed, x, count, d, w->questions + first, w->nearest + first);
  return FURROW_OK;
}

/* Packs the centroids. The projection is created in the first round; later rounds reuse its directions. */
static furrow_status pack_centroids(work *w, furrow_error *err) {
  const fw_kmeans_params *p = w->params;
  void *questions = NULL;
  FW_TRY(fw_packed_create(&w->packed, w->centroids, p->k, p->d, p->d, !p->spherical, err));
  w->packed.projection = w->projection;
  if (w->projection) return fw_projection_renew(w->projection, w->centroids, err);
  FW_TRY(fw_packed_add_sketch(&w->packed, w->centroids, p->d, !p->spherical, err));
  FW_TRY(
      fw_packed_add_projection(&w->packed, w->centroids, p->d, !p->spherical, w->local.vectors, w->local.n, p->d, err));
  if (!w->packed.projection) return FURROW_OK;
  w->projection = w->packed.projection;
  w->asked = false;
  FW_TRY(fw_alloc(&questions, w->local.n, sizeof *w->questions, err));
  w->questions = questions;
  return FURROW_OK;
}

static furrow_status assign_vectors(work *w, furrow_error *err) {
  furrow_status status = pack_centroids(w, err);
  if (status == FURROW_OK) status = fw_parallel_run(w->params->pool, w->local.n, ASSIGN_PART, assign_part, w, err);
  w->asked = true;
  w->packed.projection = NULL;
  fw_packed_clear(&w->packed);
  return status;
}

/* Sums the vectors of clusters first …, in the order of the vectors, so that the result does not depend on the
 * threads. */
static furrow_status sum_part(void *context, size_t first, size_t count, furrow_error *err) {
  work *w = context;
  const size_t d = w->params->d;
  (void)err;
  for (size_t c = first; c < first + count; c++) {
    const size_t size = fw_groups_size(&w->groups, c);
    double *sum = w->sums + c * (d + 1);
    fw_products_table()->sum_rows(w->local.vectors, d, w->groups.member + w->groups.start[c], size, sum);
    sum[d] = (double)size;
  }
  return FURROW_OK;
}

/* Adds up the sums of all ranks, followed by two numbers: whether a vector changed its centroid, and whether a rank has
 * failed. A rank that has failed contributes zeros. *stop is the same on all ranks: a rank has failed, or no vector
 * changed its centroid, so further rounds would change nothing. */
static furrow_status sum_ranks(work *w, furrow_status status, bool *stop, furrow_error *err) {
  const size_t count = w->params->k * (w->params->d + 1);
  double *changed = w->sums + count, *failed = changed + 1;
  if (status != FURROW_OK) memset(w->sums, 0, count * sizeof *w->sums);
  *changed = status == FURROW_OK && memcmp(w->nearest, w->before, w->local.n * sizeof *w->nearest) != 0;
  *failed = status != FURROW_OK;
  const furrow_status sent = fw_comm_sum_f64(w->local.comm, w->sums, count + 2, status == FURROW_OK ? err : NULL);
  *stop = sent != FURROW_OK || *changed == 0 || *failed > 0;
  if (status != FURROW_OK || sent != FURROW_OK) return status != FURROW_OK ? status : sent;
  return *failed > 0 ? fw_fail(err, FURROW_E_STATE, "another process failed") : FURROW_OK;
}

/* Moves centroids to the means of their clusters; centroids without vectors stay. */
static void move_centroids(work *w) {
  const size_t k = w->params->k, d = w->params->d;
  for (size_t c = 0; c < k; c++) {
    const double *sum = w->sums + c * (d + 1);
    for (size_t i = 0; sum[d] > 0 && i < d; i++) w->centroids[c * d + i] = (float)(sum[i] / sum[d]);
  }
}

/* ---- Empty clusters ------------------------------------------------------------------------------------- */

/* Draws a cluster to split with a probability proportional to its size, in passes over all clusters; after SPLIT_TRIES
 * passes takes the largest. */
static size_t choose_large(const size_t *size, size_t k, size_t n, fw_mt19937 *rng) {
  size_t largest = 0;
  for (size_t round = 0; round < SPLIT_TRIES; round++) {
    for (size_t c = 0; c < k; c++) {
      float chance = (float)(((double)size[c] - 1) / (double)(n - k));
      float thrown = (float)fw_mt19937_next(rng) / (float)UINT32_MAX;
      if (thrown < chance) return c;
    }
  }
  for (size_t c = 1; c < k; c++)
    if (size[c] > size[largest]) largest = c;
  return largest;
}

static void split_cluster(float *empty, float *large, size_t d) {
  memcpy(empty, large, d * sizeof *empty);
  for (size_t k = 0; k < d; k++) {
    float shift = k % 2 == 0 ? SPLIT_SHIFT : -SPLIT_SHIFT;
    empty[k] *= 1 + shift;
    large[k] *= 1 - shift;
  }
}

static furrow_status fill_empty(work *w, furrow_error *err) {
  size_t k = w->params->k, d = w->params->d;
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, k, sizeof(size_t), err));
  size_t *size = memory;
  fw_mt19937 rng;
  fw_mt19937_init(&rng, SPLIT_SEED);
  for (size_t c = 0; c < k; c++) size[c] = (size_t)w->sums[c * (d + 1) + d];
  for (size_t c = 0; c < k; c++) {
    if (size[c] > 0) continue;
    size_t large = choose_large(size, k, w->local.total, &rng);
    split_cluster(w->centroids + c * d, w->centroids + large * d, d);
    size[c] = size[large] / 2;
    size[large] -= size[c];
  }
  fw_free(size);
  return FURROW_OK;
}

/* ---- The whole algorithm -------------------------------------------------------------------------------- */

void fw_normalize_centroids(float *centroids, size_t k, size_t d) {
  for (size_t c = 0; c < k; c++) {
    float *x = centroids + c * d;
    double square = 0;
    for (size_t i = 0; i < d; i++) square += (double)x[i] * x[i];
    if (square == 0) continue;
    float factor = (float)(1 / sqrt(square));
    for (size_t i = 0; i < d; i++) x[i] *= factor;
  }
}

static furrow_status start_centroids(work *w, furrow_error *err) {
  const fw_kmeans_params *p = w->params;
  void *memory = NULL;
  if (p->hot) return FURROW_OK;
  if (p->plus_plus) return fw_kmeans_plus_plus(p, &w->local, w->centroids, err);
  furrow_status status = fw_alloc(&memory, p->k, sizeof(size_t), err);
  if (status == FURROW_OK) status = fw_random_subset(memory, p->k, w->local.total, p->seed + 1, err);
  status = fw_comm_all_ok(w->local.comm, status, err);
  if (status == FURROW_OK) status = fw_rank_vectors_fetch(&w->local, p->d, memory, p->k, w->centroids, err);
  if (status == FURROW_OK && p->spherical) fw_normalize_centroids(w->centroids, p->k, p->d);
  fw_free(memory);
  return status;
}

/* `status` is the result of the previous steps on this rank. */
static furrow_status one_round(work *w, furrow_status status, bool *stop, furrow_error *err) {
  const fw_kmeans_params *p = w->params;
  uint32_t *kept = w->before;
  w->before = w->nearest;
  w->nearest = kept;
  if (status == FURROW_OK) status = assign_vectors(w, err);
  if (status == FURROW_OK) {
    fw_groups_fill(&w->groups, w->nearest, w->local.n);
    status = fw_parallel_run(p->pool, p->k, UPDATE_PART, sum_part, w, err);
  }
  FW_TRY(sum_ranks(w, status, stop, err));
  move_centroids(w);
  status = fill_empty(w, err);
  if (p->spherical) fw_normalize_centroids(w->centroids, p->k, p->d);
  return status;
}

/* Runs rounds *done … upto - 1, or fewer if nothing changes any more. A rank that fails between two rounds reports it
 * in the next one, where all ranks stop. */
static furrow_status some_rounds(work *w, unsigned *done, unsigned upto, furrow_error *err) {
  const fw_kmeans_params *p = w->params;
  furrow_status status = FURROW_OK;
  bool stop = false;
  memset(w->nearest, 0xff, w->local.n * sizeof *w->nearest);
  for (; !stop && *done < upto; ++*done) {
    if (status != FURROW_OK && w->local.comm->ranks == 1) break;
    status = one_round(w, status, &stop, err);
    if (status == FURROW_OK) status = fw_report_progress(p->progress, p->user, p->phase, *done + 1, p->rounds, err);
  }
  fw_projection_free(w->projection);
  fw_free(w->questions);
  w->projection = NULL;
  w->questions = NULL;
  return fw_comm_all_ok(w->local.comm, status, err);
}

static bool starts_with_few(const work *w) {
  const fw_kmeans_params *p = w->params;
  const size_t n = w->local.total;
  return !p->hot && n / FEW_SHARE / p->k >= FEW_LEAST && (double)n * (double)p->k * (double)p->d >= FEW_WORK;
}

/* In the first rounds centroids move far, and a sample of the vectors suffices. */
static furrow_status all_rounds(work *w, furrow_error *err) {
  const fw_kmeans_params *p = w->params;
  unsigned done = 0;
  furrow_status status = start_centroids(w, err);
  if (status == FURROW_OK && starts_with_few(w)) {
    work part = *w;
    part.local = (fw_rank_vectors){0};
    status = fw_rank_vectors_sample(&part.local, &w->local, p->d, w->local.total / FEW_SHARE, p->seed + FEW_SEED, err);
    status = fw_comm_all_ok(w->local.comm, status, err);
    if (status == FURROW_OK) status = some_rounds(&part, &done, p->rounds / 2, err);
    fw_rank_vectors_clear(&part.local);
  }
  return status == FURROW_OK ? some_rounds(w, &done, p->rounds, err) : status;
}

static furrow_status alloc_work(work *w, furrow_error *err) {
  const size_t n = w->local.n, k = w->params->k;
  FW_TRY(FW_ALLOC(&w->nearest, n, err));
  FW_TRY(FW_ALLOC(&w->before, n, err));
  FW_TRY(FW_ALLOC_ROWS(&w->sums, k + 1, w->params->d + 1, err));
  return fw_groups_create(&w->groups, k, n, err);
}

static furrow_status run_kmeans(work *w, furrow_error *err) {
  furrow_status status = fw_comm_all_ok(w->local.comm, alloc_work(w, err), err);
  if (status == FURROW_OK) status = all_rounds(w, err);
  fw_groups_clear(&w->groups);
  fw_free(w->nearest);
  fw_free(w->before);
  fw_free(w->sums);
  return status;
}

/* If there are as many vectors as centroids, the vectors are the centroids. */
static furrow_status take_all(const fw_kmeans_params *params, const fw_rank_vectors *local, float *centroids,
                              furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, params->k, sizeof(size_t), err);
  size_t *all = memory;
  for (size_t i = 0; status == FURROW_OK && i < params->k; i++) all[i] = i;
  status = fw_comm_all_ok(local->comm, status, err);
  if (status == FURROW_OK) status = fw_rank_vectors_fetch(local, params->d, all, params->k, centroids, err);
  fw_free(all);
  return status;
}

furrow_status fw_kmeans_distributed(const fw_kmeans_params *params, const fw_rank_vectors *local, float *centroids,
                                    furrow_error *err) {
  const size_t k = params->k, n = local->total;
  size_t most = 0;
  if (n < k)
    return fw_fail(err, FURROW_E_ARGUMENT, "%zu %s too few for %zu centroids", n,
                   fw_plural(n, "vector is", "vectors are"), k);
  if (n == k && !params->hot) return take_all(params, local, centroids, err);
  if (!fw_size_mul(k, params->per_centroid ? params->per_centroid : 1, &most)) most = SIZE_MAX;
  work w = {.params = params, .centroids = centroids};
  furrow_status status = fw_rank_vectors_sample(&w.local, local, params->d, most, params->seed, err);
  status = fw_comm_all_ok(local->comm, status, err);
  if (status == FURROW_OK) status = run_kmeans(&w, err);
  fw_rank_vectors_clear(&w.local);
  return status;
}

furrow_status fw_kmeans(const fw_kmeans_params *params, const float *vectors, size_t n, float *centroids,
                        furrow_error *err) {
  const fw_rank_vectors local = fw_rank_vectors_single(vectors, n);
  return fw_kmeans_distributed(params, &local, centroids, err);
}
