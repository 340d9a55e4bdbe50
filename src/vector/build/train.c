/* vector/build/train.c: trains an index: transforms, coarse centroids, product and scalar quantizers.
 *
 * Parts are replaced in the index as they are trained, because later parts need them. A log of the old parts puts all
 * of them back after a failure. */
#include <math.h>
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
#include "vector/quantizer/principal.h"
#include "vector/quantizer/sq.h"
#include "vector/quantizer/training_vectors.h"
#include "vector/quantizer/transform.h"

#define PQR_PER_CENTROID 1000 /* for the refinement, as in Faiss */
#define SQ_SAMPLE 100000      /* for scalar quantizers, as in Faiss */
#define OPQ_NBITS 8           /* bits of the quantizer that a rotation is trained for, if the quantizer is unknown */
#define ASSIGN_PART 768
#define CHECK_PART 4096

/* ---- Parts of an index ---------------------------------------------------------------------------------- */

static bool is_transform(const fw_transform *t, const char *fourcc) {
  return memcmp(t->fourcc, fourcc, 4) == 0;
}

static fw_pq *pq_of(furrow_index *index) {
  return fw_index_is_ivf(index) ? &index->ivf.pq : &index->pq.pq;
}

/* The product quantizer of the index inside of transforms and id maps; NULL: there is none. */
static const fw_pq *inner_pq(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_TRANSFORM || index->kind == FURROW_INDEX_ID_MAP ||
         index->kind == FURROW_INDEX_HNSW)
    index = index->child[0];
  return fw_index_pq(index);
}

/* ---- Sample sizes --------------------------------------------------------------------------------------- */

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* The number of vectors for training the codes of an index. */
static uint64_t code_sample(const furrow_index *index, uint64_t per_centroid) {
  const fw_pq *pq = fw_index_pq(index), *refine = fw_index_is_ivf(index) ? &index->ivf.refine_pq : NULL;
  uint64_t sample = pq && pq->m > 0 ? times(fw_pq_ksub(pq), per_centroid) : fw_index_sq(index) ? SQ_SAMPLE : 0;
  return refine && refine->m > 0 ? larger(sample, times(fw_pq_ksub(refine), PQR_PER_CENTROID)) : sample;
}

static uint64_t transform_sample(const fw_transform *t) {
  return t->trained ? 0 : is_transform(t, "Pcam") ? times(FW_PCA_SAMPLE_PER_D, (uint64_t)t->d_in) : FW_OPQ_SAMPLE;
}

static uint64_t sample_of(const furrow_index *index, uint64_t per_centroid) {
  if (index->kind == FURROW_INDEX_FLAT) return 0;
  uint64_t most = code_sample(index, per_centroid);
  if (fw_index_is_ivf(index)) return larger(most, times(index->ivf.nlist, per_centroid));
  for (size_t i = 0; index->kind == FURROW_INDEX_TRANSFORM && i < index->transforms.count; i++)
    most = larger(most, transform_sample(&index->transforms.list[i]));
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) most = larger(most, sample_of(index->child[i], per_centroid));
  return most;
}

uint64_t furrow_index_train_sample_size(const furrow_index *index, const furrow_index_train_params *params) {
  furrow_index_train_params p;
  furrow_index_train_params_init(&p);
  if (FW_PARAMS_READ(&p, params, furrow_index_train_params, NULL) != FURROW_OK) return 0;
  return sample_of(index, p.sample_per_list > 0 ? p.sample_per_list : 1);
}

/* ---- Replaced parts ------------------------------------------------------------------------------------- */

typedef enum part_kind { PLAIN, MEMORY, INDEX } part_kind;

/* A part of the index that was replaced; the log keeps its old bytes. */
typedef struct replaced_part {
  part_kind kind;
  void *part;
  size_t size;
  unsigned char old[sizeof(void *)];
} replaced_part;

typedef struct training {
  furrow_index *index;
  const furrow_index_train_params *params;
  fw_pool *pool;
  const furrow_comm *comm;
  replaced_part *log;
  size_t replaced, capacity;
} training;

static void free_part(part_kind kind, const void *bytes) {
  void *pointer = NULL;
  if (kind == PLAIN) return;
  memcpy(&pointer, bytes, sizeof pointer);
  if (kind == INDEX)
    furrow_index_free(pointer);
  else
    fw_free(pointer);
}

/* Replaces a part of at most a pointer's size. A new pointer belongs to the index or, after a failure, is freed. */
static furrow_status replace_part(training *t, part_kind kind, void *part, const void *bytes, size_t size,
                                  furrow_error *err) {
  const furrow_status status = FW_GROW(&t->log, &t->capacity, t->replaced + 1, err);
  if (status != FURROW_OK) {
    free_part(kind, bytes);
    return status;
  }
  replaced_part *entry = &t->log[t->replaced++];
  *entry = (replaced_part){.kind = kind, .part = part, .size = size};
  memcpy(entry->old, part, size);
  memcpy(part, bytes, size);
  return FURROW_OK;
}

static furrow_status set_trained(training *t, bool *trained, furrow_error *err) {
  return replace_part(t, PLAIN, trained, &(bool){true}, sizeof *trained, err);
}

/* Replaces an array by a new one of `count` elements, which is cleared. */
static furrow_status replace_floats(training *t, float **array, size_t count, furrow_error *err) {
  float *fresh = NULL;
  FW_TRY(FW_ALLOC_ZERO(&fresh, count, err));
  return replace_part(t, MEMORY, array, &fresh, sizeof fresh, err);
}

/* Does the same for an array with a count. */
static furrow_status replace_counted(training *t, float **array, size_t *count, size_t fresh, furrow_error *err) {
  FW_TRY(replace_floats(t, array, fresh, err));
  return replace_part(t, PLAIN, count, &fresh, sizeof fresh, err);
}

static furrow_status replace_index(training *t, furrow_index **index, furrow_index *fresh, furrow_error *err) {
  return replace_part(t, INDEX, index, &fresh, sizeof fresh, err);
}

/* Frees the old parts or, after a failure, puts them back. */
static void finish_parts(training *t, bool keep) {
  while (t->replaced > 0) {
    const replaced_part *entry = &t->log[--t->replaced];
    free_part(entry->kind, keep ? entry->old : entry->part);
    if (!keep) memcpy(entry->part, entry->old, entry->size);
  }
  fw_free(t->log);
}

/* ---- Coarse centroids ----------------------------------------------------------------------------------- */

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

/* Makes a flat index of the centroids, which it owns from then on. */
static furrow_status flat_of(furrow_index **made, float **centroids, const furrow_index *ivf, furrow_error *err) {
  furrow_index *flat = NULL;
  FW_TRY(fw_index_create(&flat, FURROW_INDEX_FLAT, ivf->d, ivf->child[0]->metric, err));
  flat->trained = true;
  flat->ntotal = (int64_t)ivf->ivf.nlist;
  flat->flat.vectors = *centroids;
  *centroids = NULL;
  *made = flat;
  return FURROW_OK;
}

static furrow_status train_centroids(training *t, furrow_index *index, const fw_rank_vectors *local,
                                     furrow_error *err) {
  const furrow_index *old = index->child[0];
  const size_t d = (size_t)index->d, nlist = index->ivf.nlist;
  furrow_index *quantizer = NULL;
  float *centroids = NULL;
  fw_kmeans_params params = kmeans_params(t, t->params->coarse_rounds, "coarse");
  params.k = nlist;
  params.d = d;
  params.spherical = index->metric == FURROW_METRIC_IP;
  furrow_status status = fw_comm_all_ok(t->comm, FW_ALLOC_ROWS(&centroids, nlist, d, err), err);
  if (status == FURROW_OK) status = fw_kmeans_distributed(&params, local, centroids, err);
  if (status == FURROW_OK && old->kind == FURROW_INDEX_HNSW)
    status = fw_hnsw_build(&quantizer, centroids, nlist, index->d, old->metric, fw_hnsw_links(&old->hnsw),
                           t->params->seed, t->pool, err);
  else if (status == FURROW_OK)
    status = flat_of(&quantizer, &centroids, index, err);
  if (status == FURROW_OK) status = replace_index(t, &index->child[0], quantizer, err);
  fw_free(centroids);
  return fw_comm_all_ok(t->comm, status, err);
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

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
static furrow_status take_residuals(training *t, const furrow_index *index, float *vectors, size_t n,
                                    furrow_error *err) {
  fw_assigner assigner = {0};
  FW_TRY(fw_assigner_create(&assigner, index->child[0], err));
  leftover l = {.assigner = &assigner, .vectors = vectors, .d = (size_t)index->d};
  furrow_status status = fw_assigner_expect(&assigner, vectors, n, err);
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
static furrow_status take_codes(training *t, const fw_pq *pq, float *vectors, size_t n, furrow_error *err) {
  fw_pq_coder coder = {0};
  FW_TRY(fw_pq_coder_create(&coder, pq, err));
  leftover l = {.coder = &coder, .pq = pq, .vectors = vectors, .d = pq->d};
  const furrow_status status = fw_parallel_run(t->pool, n, ASSIGN_PART, decode_part, &l, err);
  fw_pq_coder_clear(&coder);
  return status;
}

static furrow_status train_pq(training *t, fw_pq *pq, uint64_t per_centroid, const char *phase,
                              const fw_rank_vectors *local, furrow_error *err) {
  fw_kmeans_params params = kmeans_params(t, t->params->pq_rounds, phase);
  if (per_centroid > 0) params.per_centroid = per_centroid;
  FW_TRY(fw_comm_all_ok(t->comm, replace_floats(t, &pq->centroids, fw_pq_ksub(pq) * pq->d, err), err));
  return fw_pq_train(pq, &params, local, pq->centroids, err);
}

/* Widens the ranges, low[r] = -minimum and high[r] = maximum, to n vectors. */
static void widen_ranges(const fw_sq *sq, const float *vectors, size_t n, double *low, double *high) {
  const size_t step = fw_sq_ranges(sq) > 1;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < sq->d; k++) {
      const double x = vectors[i * sq->d + k];
      low[k * step] = fmax(low[k * step], -x);
      high[k * step] = fmax(high[k * step], x);
    }
}

/* The ranges are those between the least and the largest value. */
static furrow_status train_sq(training *t, fw_sq *sq, const fw_rank_vectors *local, furrow_error *err) {
  const size_t ranges = fw_sq_ranges(sq);
  double *low = NULL;
  if (fw_sq_range_bits(sq) == 0) return FURROW_OK;
  furrow_status status = FW_ALLOC(&low, 2 * ranges, err);
  if (status == FURROW_OK) status = replace_counted(t, &sq->trained, &sq->trained_count, 2 * ranges, err);
  for (size_t r = 0; status == FURROW_OK && r < 2 * ranges; r++) low[r] = -INFINITY;
  if (status == FURROW_OK) widen_ranges(sq, local->vectors, local->n, low, low + ranges);
  status = fw_comm_all_ok(t->comm, status, err);
  if (status == FURROW_OK) status = fw_comm_max_f64(t->comm, low, 2 * ranges, err);
  for (size_t r = 0; status == FURROW_OK && r < ranges; r++) {
    sq->trained[r] = (float)-low[r];
    sq->trained[ranges + r] = (float)low[ranges + r] - sq->trained[r];
  }
  fw_free(low);
  return status;
}

static furrow_status train_quantizers(training *t, furrow_index *index, float *vectors, const fw_rank_vectors *sample,
                                      furrow_error *err) {
  if (index->kind == FURROW_INDEX_SQ) return train_sq(t, &index->sq.sq, sample, err);
  if (index->kind == FURROW_INDEX_IVF_SQ) return train_sq(t, &index->ivf.sq, sample, err);
  FW_TRY(train_pq(t, pq_of(index), 0, "pq", sample, err));
  if (index->kind != FURROW_INDEX_IVF_PQR) return FURROW_OK;
  FW_TRY(fw_comm_all_ok(t->comm, take_codes(t, &index->ivf.pq, vectors, sample->n, err), err));
  return train_pq(t, &index->ivf.refine_pq, PQR_PER_CENTROID, "refine", sample, err);
}

/* Trains on a copy of a sample: in the form in which vectors will be encoded, as residuals if the codes are of
 * residuals. */
static furrow_status train_codes(training *t, furrow_index *index, const fw_rank_vectors *local, furrow_error *err) {
  const size_t d = (size_t)index->d;
  float *own = NULL;
  fw_rank_vectors subset = {0};
  furrow_status status = fw_rank_vectors_sample(
      &subset, local, d, (size_t)code_sample(index, t->params->sample_per_list), t->params->seed, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&own, subset.n, d, err);
  if (status == FURROW_OK && subset.n > 0) memcpy(own, subset.vectors, subset.n * d * sizeof *own);
  if (status == FURROW_OK && fw_index_is_ivf(index) && index->ivf.by_residual)
    status = take_residuals(t, index, own, subset.n, err);
  status = fw_comm_all_ok(t->comm, status, err);
  const fw_rank_vectors sample = fw_rank_vectors_replace(&subset, own);
  if (status == FURROW_OK) status = train_quantizers(t, index, own, &sample, err);
  fw_free(own);
  fw_rank_vectors_clear(&subset);
  return status;
}

/* ---- Transforms ----------------------------------------------------------------------------------------- */

static furrow_status train_opq(training *t, fw_transform *transform, const fw_pq *pq, const fw_rank_vectors *local,
                               furrow_error *err) {
  const fw_opq_params params = {.d_in = (size_t)transform->d_in,
                                .d_out = (size_t)transform->d_out,
                                .m = transform->opq_m ? transform->opq_m : pq->m,
                                .nbits = pq ? pq->nbits : OPQ_NBITS,
                                .kmeans = kmeans_params(t, 0, "opq")};
  float *rotation = NULL;
  FW_TRY(fw_opq_train(&params, local, &rotation, err));
  memcpy(transform->a, rotation, transform->a_count * sizeof *rotation);
  fw_free(rotation);
  return FURROW_OK;
}

static furrow_status allocate_pca(training *t, fw_transform *transform, furrow_error *err) {
  const size_t in = (size_t)transform->d_in;
  FW_TRY(replace_counted(t, &transform->mean, &transform->mean_count, in, err));
  FW_TRY(replace_counted(t, &transform->eigenvalues, &transform->eigen_count, in, err));
  FW_TRY(replace_counted(t, &transform->pca, &transform->pca_count, in * in, err));
  return replace_counted(t, &transform->b, &transform->b_count, (size_t)transform->d_out, err);
}

static furrow_status train_transform(training *t, furrow_index *index, fw_transform *transform,
                                     const fw_rank_vectors *local, furrow_error *err) {
  const size_t in = (size_t)transform->d_in, out = (size_t)transform->d_out;
  const bool pca = is_transform(transform, "Pcam");
  furrow_status status = replace_counted(t, &transform->a, &transform->a_count, in * out, err);
  if (status == FURROW_OK && pca) status = allocate_pca(t, transform, err);
  FW_TRY(fw_comm_all_ok(t->comm, status, err));
  if (pca)
    status = fw_pca_train(transform, local, t->params->seed, err);
  else if (is_transform(transform, "rrot"))
    status = fw_random_rotation(transform->a, out, in, t->params->seed, err);
  else
    status = train_opq(t, transform, inner_pq(index), local, err);
  if (status == FURROW_OK) status = set_trained(t, &transform->trained, err);
  return fw_comm_all_ok(t->comm, status, err);
}

static furrow_status apply_transform(training *t, const fw_transform *transform, const fw_rank_vectors *local,
                                     float **moved, furrow_error *err) {
  const fw_transforms one = {.count = 1, .list = (fw_transform *)(uintptr_t)transform};
  const size_t d_out = (size_t)transform->d_out;
  FW_TRY(fw_transforms_run(&one, local->vectors, local->n, (size_t)transform->d_in, d_out, t->pool, moved, err));
  if (furrow_first_invalid_vector(*moved, local->n, d_out) == local->n) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "the transform %.4s makes vectors that are not finite, or too large",
                 transform->fourcc);
}

static furrow_status train_index(training *t, furrow_index *index, const fw_rank_vectors *local, furrow_error *err);

/* Trains transforms from number `at` on, and the index after them. */
static furrow_status train_transforms(training *t, furrow_index *index, size_t at, const fw_rank_vectors *local,
                                      furrow_error *err) {
  float *moved = NULL;
  if (at == index->transforms.count) return train_index(t, index->child[0], local, err);
  fw_transform *transform = &index->transforms.list[at];
  if (!transform->trained) FW_TRY(train_transform(t, index, transform, local, err));
  furrow_status status = fw_comm_all_ok(t->comm, apply_transform(t, transform, local, &moved, err), err);
  const fw_rank_vectors transformed = fw_rank_vectors_replace(local, moved);
  if (status == FURROW_OK) status = train_transforms(t, index, at + 1, &transformed, err);
  fw_free(moved);
  return status;
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static furrow_status train_index(training *t, furrow_index *index, const fw_rank_vectors *local, furrow_error *err) {
  if (index->trained) return FURROW_OK;
  if (index->kind == FURROW_INDEX_TRANSFORM) {
    FW_TRY(train_transforms(t, index, 0, local, err));
  } else if (index->kind == FURROW_INDEX_ID_MAP || index->kind == FURROW_INDEX_REFINE ||
             index->kind == FURROW_INDEX_HNSW) {
    for (size_t i = 0; i < FW_INDEX_CHILDREN && index->child[i]; i++)
      FW_TRY(train_index(t, index->child[i], local, err));
  } else {
    if (fw_index_is_ivf(index)) FW_TRY(train_centroids(t, index, local, err));
    if (index->kind != FURROW_INDEX_IVF_FLAT) FW_TRY(train_codes(t, index, local, err));
  }
  return set_trained(t, &index->trained, err);
}

/* ---- Checks --------------------------------------------------------------------------------------------- */

static furrow_status check_transform(const furrow_index *index, const fw_transform *t, furrow_error *err) {
  const fw_pq *pq = inner_pq(index);
  const bool known = is_transform(t, "Pcam") || is_transform(t, "rrot") ||
                     (is_transform(t, "LTra") && (t->opq_m > 0 || (pq && pq->m > 0)));
  if (t->trained || known) return FURROW_OK;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "a transform %.4s cannot be trained", t->fourcc);
}

static furrow_status check_quantizer(const furrow_index *quantizer, furrow_error *err) {
  if (quantizer && (quantizer->kind == FURROW_INDEX_FLAT || quantizer->kind == FURROW_INDEX_HNSW)) return FURROW_OK;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "a coarse quantizer that is %s cannot be trained",
                 quantizer ? furrow_index_kind_name(quantizer->kind) : "missing");
}

static furrow_status check_kind(const furrow_index *index, furrow_error *err) {
  if (index->trained) return FURROW_OK;
  if (fw_index_is_ivf(index)) return check_quantizer(index->child[0], err);
  if (fw_index_row_size(index) > 0 && index->kind != FURROW_INDEX_FLAT) return FURROW_OK;
  if (!furrow_index_child_name(index, 0))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "%s cannot be trained", furrow_index_kind_name(index->kind));
  for (size_t i = 0; index->kind == FURROW_INDEX_TRANSFORM && i < index->transforms.count; i++)
    FW_TRY(check_transform(index, &index->transforms.list[i], err));
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) FW_TRY(check_kind(index->child[i], err));
  return FURROW_OK;
}

/* What most needs vectors, and how many. */
typedef struct training_need {
  uint64_t vectors;
  const char *hint;
} training_need;

static void need_more(training_need *need, uint64_t vectors, const char *hint) {
  if (vectors > need->vectors) *need = (training_need){vectors, hint};
}

static void find_need(const furrow_index *index, training_need *need) {
  static const char bits[] = "fewer bits per code (nbits) need fewer vectors";
  const fw_pq *pq = fw_index_pq(index);
  if (index->trained) return;
  if (fw_index_is_ivf(index)) need_more(need, index->ivf.nlist, "fewer lists (nlist) need fewer vectors");
  if (pq && pq->m > 0) need_more(need, fw_pq_ksub(pq), bits);
  if (index->kind == FURROW_INDEX_IVF_PQR) need_more(need, fw_pq_ksub(&index->ivf.refine_pq), bits);
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) find_need(index->child[i], need);
}

static furrow_status check_count(const furrow_index *index, size_t n, furrow_error *err) {
  training_need need = {.vectors = 1};
  find_need(index, &need);
  if (n >= need.vectors) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%zu %s too few to train with, the index needs %llu", n,
          fw_plural(n, "vector is", "vectors are"), (unsigned long long)need.vectors);
  if (need.hint) fw_error_set_hint(err, "%s", need.hint);
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

/* Whether all vectors of the call would be transformed or copied, although training uses fewer. */
static bool copies_vectors(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_ID_MAP) index = index->child[0];
  return !fw_index_is_ivf(index) && fw_index_row_size(index) == 0;
}

static furrow_status train_with(training *t, const fw_rank_vectors *local, furrow_error *err) {
  looking l = {.vectors = local->vectors, .d = (size_t)t->index->d};
  fw_rank_vectors subset = {0};
  furrow_status status = fw_parallel_run(t->pool, local->n, CHECK_PART, look_part, &l, err);
  const uint64_t most = copies_vectors(t->index) ? furrow_index_train_sample_size(t->index, t->params) : SIZE_MAX;
  if (status == FURROW_OK) status = fw_rank_vectors_sample(&subset, local, l.d, (size_t)most, t->params->seed, err);
  status = fw_comm_all_ok(t->comm, status, err);
  if (status == FURROW_OK) status = train_index(t, t->index, &subset, err);
  fw_rank_vectors_clear(&subset);
  return status;
}

static furrow_status check_job(const training *t, const fw_rank_vectors *local, furrow_error *err) {
  if (t->index->trained) return fw_fail(err, FURROW_E_ARGUMENT, "the index is trained already");
  FW_TRY(check_kind(t->index, err));
  FW_TRY(check_count(t->index, local->total, err));
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
  if (status == FURROW_OK) status = fw_comm_all_ok(t.comm, train_with(&t, local, err), err);
  finish_parts(&t, status == FURROW_OK);
  fw_pool_free(t.pool);
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
