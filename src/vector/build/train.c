/* vector/build/train.c: trains an index: transforms, coarse centroids, product quantizers.
 *
 * Results are kept separate from the index until all of them exist. Then they are moved into the index, which cannot
 * fail. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/build/build.h"
#include "vector/data/parallel.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/kmeans.h"
#include "vector/quantizer/opq.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/training_vectors.h"
#include "vector/quantizer/transform.h"

#define PQR_PER_CENTROID 1000 /* for the refinement, as in Faiss */
#define ASSIGN_PART 768
#define CHECK_PART 4096

/* ---- Sample sizes --------------------------------------------------------------------------------------- */

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* The number of vectors for training the product quantizers. */
static uint64_t pq_sample(const fw_ivf *ivf, uint64_t per_centroid) {
  uint64_t sample = ivf->pq.m > 0 ? times(fw_pq_ksub(&ivf->pq), per_centroid) : 0;
  uint64_t refine = ivf->refine_pq.m > 0 ? times(fw_pq_ksub(&ivf->refine_pq), PQR_PER_CENTROID) : 0;
  return refine > sample ? refine : sample;
}

static const fw_transform *rotation_of(const furrow_index *index) {
  for (; index && !fw_index_is_ivf(index); index = index->child[0])
    for (size_t i = 0; index->kind == FURROW_INDEX_TRANSFORM && i < index->transforms.count; i++)
      if (!index->transforms.list[i].trained) return &index->transforms.list[i];
  return NULL;
}

uint64_t furrow_index_train_sample_size(const furrow_index *index, const furrow_index_train_params *params) {
  furrow_index_train_params p;
  furrow_index_train_params_init(&p);
  const furrow_index *ivf = furrow_index_ivf(index);
  if (!ivf || FW_PARAMS_READ(&p, params, furrow_index_train_params, NULL) != FURROW_OK) return 0;
  uint64_t per_centroid = p.sample_per_list > 0 ? p.sample_per_list : 1;
  uint64_t most = times(ivf->ivf.nlist, per_centroid), pq = pq_sample(&ivf->ivf, per_centroid);
  if (pq > most) most = pq;
  return rotation_of(index) && most < FW_OPQ_SAMPLE ? FW_OPQ_SAMPLE : most;
}

/* ---- Results -------------------------------------------------------------------------------------------- */

typedef struct training {
  furrow_index *index, *ivf;
  const furrow_index_train_params *params;
  fw_pool *pool;
  const furrow_comm *comm;
  float *rotation;
  furrow_index *quantizer; /* the trained coarse quantizer */
  float *pq, *refine_pq;
} training;

static fw_kmeans_params kmeans_params(const training *t, unsigned rounds, const char *phase) {
  const furrow_index_train_params *p = t->params;
  return (fw_kmeans_params){.rounds = rounds,
                            .seed = p->seed,
                            .per_centroid = p->sample_per_list,
                            .pool = t->pool,
                            .progress = p->progress,
                            .user = p->user,
                            .phase = phase};
}

static furrow_status flat_of(furrow_index **made, float **centroids, const training *t, furrow_error *err) {
  furrow_index *flat = NULL;
  FW_TRY(fw_index_create(&flat, FURROW_INDEX_FLAT, t->ivf->d, t->ivf->child[0]->metric, err));
  flat->trained = true;
  flat->ntotal = (int64_t)t->ivf->ivf.nlist;
  flat->flat.vectors = *centroids;
  *centroids = NULL;
  *made = flat;
  return FURROW_OK;
}

/* The number of links per vector on the upper levels of a graph. */
static size_t links_of(const fw_hnsw *graph) {
  return graph->cum_count > 2 ? (size_t)(graph->cum[2] - graph->cum[1]) : (size_t)graph->cum[1] / 2;
}

static furrow_status find_centroids(training *t, const fw_rank_vectors *local, furrow_error *err) {
  const furrow_index *old = t->ivf->child[0];
  size_t d = (size_t)t->ivf->d, nlist = t->ivf->ivf.nlist;
  void *memory = NULL;
  fw_kmeans_params params = kmeans_params(t, t->params->coarse_rounds, "coarse");
  params.k = nlist;
  params.d = d;
  params.spherical = t->ivf->metric == FURROW_METRIC_IP;
  furrow_status status = fw_alloc(&memory, nlist, d * sizeof(float), err);
  float *centroids = memory;
  status = fw_comm_all_ok(local->comm, status, err);
  if (status == FURROW_OK) status = fw_kmeans_distributed(&params, local, centroids, err);
  if (status == FURROW_OK && old->kind == FURROW_INDEX_HNSW)
    status = fw_hnsw_build(&t->quantizer, centroids, nlist, t->ivf->d, old->metric, links_of(&old->hnsw),
                           t->params->seed, err);
  else if (status == FURROW_OK)
    status = flat_of(&t->quantizer, &centroids, t, err);
  fw_free(centroids);
  return status;
}

/* ---- Product quantizers --------------------------------------------------------------------------------- */

typedef struct leftover {
  const fw_assigner *assigner;
  const fw_pq_coder *coder;
  const fw_pq *pq;
  float *vectors;
  size_t d;
} leftover;

static furrow_status residual_part(void *context, size_t first, size_t count, furrow_error *err) {
  const leftover *l = context;
  void *lists = NULL;
  float *x = l->vectors + first * l->d;
  furrow_status status = fw_alloc(&lists, count, sizeof(uint32_t), err);
  if (status == FURROW_OK) status = fw_assign(l->assigner, x, count, lists, err);
  const uint32_t *list = lists;
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    if (list[i] == UINT32_MAX)
      status = fw_fail(err, FURROW_E_RANGE, "a training vector has a number that is too large");
  if (status == FURROW_OK) fw_residuals(l->assigner, x, lists, count, x);
  fw_free(lists);
  return status;
}

/* Subtracts from each vector the centroid of its list. */
static furrow_status take_residuals(training *t, float *vectors, size_t n, furrow_error *err) {
  fw_assigner assigner = {0};
  furrow_status status = fw_assigner_create(&assigner, t->quantizer, err);
  if (status != FURROW_OK) return status;
  leftover l = {.assigner = &assigner, .vectors = vectors, .d = (size_t)t->ivf->d};
  status = fw_assigner_expect(&assigner, vectors, n, err);
  if (status == FURROW_OK) status = fw_parallel_run(t->pool, n, ASSIGN_PART, residual_part, &l, err);
  fw_assigner_clear(&assigner);
  return status;
}

static furrow_status decode_part(void *context, size_t first, size_t count, furrow_error *err) {
  const leftover *l = context;
  void *codes = NULL, *decoded = NULL;
  float *x = l->vectors + first * l->d;
  furrow_status status = fw_alloc(&codes, count, l->coder->code_size, err);
  if (status == FURROW_OK) status = fw_alloc(&decoded, l->d, sizeof(float), err);
  if (status == FURROW_OK) fw_pq_encode(l->coder, x, count, l->d, codes);
  const float *centroid = decoded;
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    fw_pq_decode(l->pq, (uint8_t *)codes + i * l->coder->code_size, decoded);
    for (size_t k = 0; k < l->d; k++) x[i * l->d + k] -= centroid[k];
  }
  fw_free(codes);
  fw_free(decoded);
  return status;
}

/* Subtracts from each vector its decoded code. */
static furrow_status take_codes(training *t, float *vectors, size_t n, furrow_error *err) {
  fw_pq pq = t->ivf->ivf.pq;
  fw_pq_coder coder = {0};
  pq.centroids = t->pq;
  furrow_status status = fw_pq_coder_create(&coder, &pq, err);
  if (status != FURROW_OK) return status;
  leftover l = {.coder = &coder, .pq = &pq, .vectors = vectors, .d = pq.d};
  status = fw_parallel_run(t->pool, n, ASSIGN_PART, decode_part, &l, err);
  fw_pq_coder_clear(&coder);
  return status;
}

static furrow_status train_pq(training *t, const fw_pq *pq, uint64_t per_centroid, const char *phase,
                              const fw_rank_vectors *local, float **found, furrow_error *err) {
  void *memory = NULL;
  fw_kmeans_params params = kmeans_params(t, t->params->pq_rounds, phase);
  if (per_centroid > 0) params.per_centroid = per_centroid;
  furrow_status status = fw_alloc(&memory, fw_pq_ksub(pq), pq->d * sizeof(float), err);
  *found = memory;
  status = fw_comm_all_ok(local->comm, status, err);
  return status == FURROW_OK ? fw_pq_train(pq, &params, local, *found, err) : status;
}

/* Copies the vectors in the form in which they will be encoded: as residuals if the codes are of residuals. */
static furrow_status take_sample(training *t, const fw_rank_vectors *local, float **own, furrow_error *err) {
  void *memory = NULL;
  const size_t d = (size_t)t->ivf->d;
  furrow_status status = fw_alloc(&memory, local->n, d * sizeof(float), err);
  *own = memory;
  if (status != FURROW_OK) return status;
  memcpy(*own, local->vectors, local->n * d * sizeof(float));
  return t->ivf->ivf.by_residual ? take_residuals(t, *own, local->n, err) : FURROW_OK;
}

static furrow_status find_codes(training *t, const fw_rank_vectors *local, furrow_error *err) {
  const fw_ivf *ivf = &t->ivf->ivf;
  float *own = NULL;
  fw_rank_vectors subset = {0};
  if (ivf->pq.m == 0) return FURROW_OK;
  furrow_status status = fw_rank_vectors_sample(&subset, local, (size_t)t->ivf->d,
                                                pq_sample(ivf, t->params->sample_per_list), t->params->seed, err);
  if (status == FURROW_OK) status = take_sample(t, &subset, &own, err);
  status = fw_comm_all_ok(t->comm, status, err);
  const fw_rank_vectors sample = fw_rank_vectors_replace(&subset, own);
  if (status == FURROW_OK) status = train_pq(t, &ivf->pq, 0, "pq", &sample, &t->pq, err);
  if (status == FURROW_OK && ivf->refine_pq.m > 0) {
    status = fw_comm_all_ok(t->comm, take_codes(t, own, sample.n, err), err);
    if (status == FURROW_OK)
      status = train_pq(t, &ivf->refine_pq, PQR_PER_CENTROID, "refine", &sample, &t->refine_pq, err);
  }
  fw_free(own);
  fw_rank_vectors_clear(&subset);
  return status;
}

/* ---- The chain of indexes ------------------------------------------------------------------------------- */

static furrow_status train_ivf(training *t, const fw_rank_vectors *local, furrow_error *err) {
  FW_TRY(fw_comm_all_ok(t->comm, find_centroids(t, local, err), err));
  return find_codes(t, local, err);
}

/* Trains a transform and everything after it. */
static furrow_status train_rest(training *t, furrow_index *index, size_t at, const fw_rank_vectors *local,
                                furrow_error *err);

static furrow_status find_rotation(training *t, fw_transform *ready, const fw_rank_vectors *local, furrow_error *err) {
  const fw_opq_params params = {.d_in = (size_t)ready->d_in,
                                .d_out = (size_t)ready->d_out,
                                .m = t->ivf->ivf.pq.m,
                                .nbits = t->ivf->ivf.pq.nbits,
                                .kmeans = kmeans_params(t, 0, "opq")};
  FW_TRY(fw_opq_train(&params, local, &t->rotation, err));
  ready->a = t->rotation;
  ready->a_count = params.d_in * params.d_out;
  ready->trained = true;
  return FURROW_OK;
}

static furrow_status train_moved(training *t, furrow_index *index, size_t at, const fw_transform *transform,
                                 const fw_rank_vectors *local, furrow_error *err) {
  fw_transform ready = *transform;
  float *moved = NULL;
  const size_t n = local->n, d_in = (size_t)ready.d_in, d_out = (size_t)ready.d_out;
  if (!ready.trained) {
    furrow_status status = find_rotation(t, &ready, local, err);
    if (status != FURROW_OK) return status;
  }
  const fw_transforms one = {.count = 1, .list = &ready};
  furrow_status status = fw_transforms_run(&one, local->vectors, n, d_in, d_out, t->pool, &moved, err);
  if (status == FURROW_OK && furrow_first_invalid_vector(moved, n, d_out) < n)
    status = fw_fail(err, FURROW_E_RANGE, "the transform %.4s makes vectors that are not finite, or too large",
                     ready.fourcc);
  status = fw_comm_all_ok(t->comm, status, err);
  const fw_rank_vectors transformed = fw_rank_vectors_replace(local, moved);
  if (status == FURROW_OK) status = train_rest(t, index, at + 1, &transformed, err);
  fw_free(moved);
  return status;
}

static furrow_status train_rest(training *t, furrow_index *index, size_t at, const fw_rank_vectors *local,
                                furrow_error *err) {
  if (index->kind == FURROW_INDEX_TRANSFORM && at < index->transforms.count)
    return train_moved(t, index, at, &index->transforms.list[at], local, err);
  if (fw_index_is_ivf(index)) return train_ivf(t, local, err);
  return train_rest(t, index->child[0], 0, local, err);
}

/* Moves the results into the index; cannot fail. */
static void take_over(training *t) {
  furrow_index *ivf = t->ivf;
  for (furrow_index *index = t->index; index != ivf; index = index->child[0]) {
    index->trained = true;
    for (size_t i = 0; index->kind == FURROW_INDEX_TRANSFORM && i < index->transforms.count; i++) {
      fw_transform *transform = &index->transforms.list[i];
      if (transform->trained) continue;
      fw_free(transform->a);
      transform->a = t->rotation;
      transform->a_count = (size_t)transform->d_in * (size_t)transform->d_out;
      transform->trained = true;
      t->rotation = NULL;
    }
  }
  ivf->trained = true;
  furrow_index_free(ivf->child[0]);
  ivf->child[0] = t->quantizer;
  t->quantizer = NULL;
  if (t->pq) {
    fw_free(ivf->ivf.pq.centroids);
    ivf->ivf.pq.centroids = t->pq;
    t->pq = NULL;
  }
  if (t->refine_pq) {
    fw_free(ivf->ivf.refine_pq.centroids);
    ivf->ivf.refine_pq.centroids = t->refine_pq;
    t->refine_pq = NULL;
  }
}

/* ---- Checks --------------------------------------------------------------------------------------------- */

static furrow_status check_kind(const furrow_index *index, const furrow_index *ivf, furrow_error *err) {
  if (index->trained) return fw_fail(err, FURROW_E_ARGUMENT, "the index is trained already");
  if (!ivf || ivf->kind == FURROW_INDEX_IVF_SQ || ivf->kind == FURROW_INDEX_IVF_PQ_FAST)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "%s cannot be trained",
                   furrow_index_kind_name(ivf ? ivf->kind : index->kind));
  const furrow_index *quantizer = ivf->child[0];
  if (!quantizer || (quantizer->kind != FURROW_INDEX_FLAT && quantizer->kind != FURROW_INDEX_HNSW))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a coarse quantizer that is %s cannot be trained",
                   quantizer ? furrow_index_kind_name(quantizer->kind) : "missing");
  const fw_transform *rotation = rotation_of(index);
  if (rotation && (memcmp(rotation->fourcc, "LTra", 4) != 0 || ivf->ivf.pq.m == 0))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a transform %.4s cannot be trained", rotation->fourcc);
  return FURROW_OK;
}

static furrow_status check_count(const furrow_index *ivf, size_t n, furrow_error *err) {
  uint64_t need = ivf->ivf.nlist;
  if (ivf->ivf.pq.m > 0 && fw_pq_ksub(&ivf->ivf.pq) > need) need = fw_pq_ksub(&ivf->ivf.pq);
  if (ivf->ivf.refine_pq.m > 0 && fw_pq_ksub(&ivf->ivf.refine_pq) > need) need = fw_pq_ksub(&ivf->ivf.refine_pq);
  if (n >= need) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%zu %s too few to train with, the index needs %llu", n,
          fw_plural(n, "vector is", "vectors are"), (unsigned long long)need);
  fw_error_set_hint(err, need > ivf->ivf.nlist ? "fewer bits per code (nbits) need fewer vectors"
                                               : "fewer lists (nlist) need fewer vectors");
  return FURROW_E_ARGUMENT;
}

typedef struct looking {
  const float *vectors;
  size_t d;
} looking;

static furrow_status look_part(void *context, size_t first, size_t count, furrow_error *err) {
  const looking *l = context;
  size_t bad = furrow_first_invalid_vector(l->vectors + first * l->d, count, l->d);
  if (bad == count) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "vector %zu has a number that is not finite, or too large", first + bad);
}

static furrow_status train_with(training *t, const fw_rank_vectors *local, furrow_error *err) {
  looking l = {.vectors = local->vectors, .d = (size_t)t->index->d};
  fw_rank_vectors subset = {0};
  furrow_status status = fw_parallel_run(t->pool, local->n, CHECK_PART, look_part, &l, err);
  size_t most = (size_t)furrow_index_train_sample_size(t->index, t->params);
  bool moves = t->index != t->ivf &&
               t->index->kind != FURROW_INDEX_ID_MAP; /* avoids copying vectors that k-means does not use */
  if (status == FURROW_OK)
    status = fw_rank_vectors_sample(&subset, local, l.d, moves ? most : SIZE_MAX, t->params->seed, err);
  status = fw_comm_all_ok(t->comm, status, err);
  if (status == FURROW_OK) status = train_rest(t, t->index, 0, &subset, err);
  fw_rank_vectors_clear(&subset);
  return status;
}

static furrow_status check_job(const training *t, const fw_rank_vectors *local, furrow_error *err) {
  const furrow_index *ivf = furrow_index_ivf(t->index);
  FW_TRY(check_kind(t->index, ivf, err));
  FW_TRY(check_count(ivf, local->total, err));
  if (t->params->sample_per_list == 0)
    FW_TRY(fw_fail(err, FURROW_E_ARGUMENT, "sample_per_list is 0, but must be at least 1"));
  return FURROW_OK;
}

furrow_status fw_index_train_distributed(furrow_index *index, const fw_rank_vectors *local,
                                         const furrow_index_train_params *params, furrow_error *err) {
  furrow_index_train_params p;
  furrow_index_train_params_init(&p);
  training t = {.index = index, .params = &p, .comm = local->comm};
  furrow_status status = FW_PARAMS_READ(&p, params, furrow_index_train_params, err);
  if (status == FURROW_OK) status = check_job(&t, local, err);
  if (status == FURROW_OK) status = fw_parallel_start(&t.pool, t.params->threads, err);
  status = fw_comm_all_ok(t.comm, status, err);
  if (status == FURROW_OK) {
    for (t.ivf = index; !fw_index_is_ivf(t.ivf);) t.ivf = t.ivf->child[0];
    status = fw_comm_all_ok(t.comm, train_with(&t, local, err), err);
  }
  if (status == FURROW_OK) take_over(&t);
  fw_pool_free(t.pool);
  furrow_index_free(t.quantizer);
  fw_free(t.rotation);
  fw_free(t.pq);
  fw_free(t.refine_pq);
  return status;
}

furrow_status furrow_index_train(furrow_index *index, const float *vectors, size_t n,
                                 const furrow_index_train_params *params, furrow_error *err) {
  furrow_index_train_params p;
  furrow_index_train_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_index_train_params, err));
  const furrow_comm *comm = NULL;
  fw_rank_vectors local;
  FW_TRY(fw_comm_of(&comm, p.comm, err));
  FW_TRY(fw_rank_vectors_init(&local, comm, vectors, n, err));
  FW_TRY(fw_comm_all_ok(comm, fw_rank_vectors_place(&local, p.positions, err), err));
  return fw_index_train_distributed(index, &local, &p, err);
}
