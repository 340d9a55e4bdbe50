/* vector/quantizer/pq.c: the product quantizer: training, encoding, decoding. */
#include "vector/quantizer/pq.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/data/parallel.h"

furrow_status fw_pq_create(fw_pq *pq, size_t d, size_t m, unsigned nbits, furrow_error *err) {
  fw_pq made = {.d = d, .m = m, .nbits = nbits};
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, fw_pq_ksub(&made), d * sizeof(float), err));
  made.centroids = memory;
  *pq = made;
  return FURROW_OK;
}

/* ---- Training ------------------------------------------------------------------------------------------- */

typedef struct training {
  const fw_pq *pq;
  const fw_kmeans_params *params;
  const fw_rank_vectors *local;
  float *centroids;
  pthread_mutex_t lock; /* guards progress */
  uint64_t done;
} training;

static furrow_status report_part(training *t, furrow_error *err) {
  const fw_kmeans_params *p = t->params;
  pthread_mutex_lock(&t->lock);
  furrow_status status = fw_report_progress(p->progress, p->user, p->phase, ++t->done, t->pq->m, err);
  pthread_mutex_unlock(&t->lock);
  return status;
}

/* Trains sub-quantizer `part` with the threads of `pool`. */
static furrow_status train_one(training *t, size_t part, fw_pool *pool, furrow_error *err) {
  size_t dsub = fw_pq_dsub(t->pq), d = t->pq->d, n = t->local->n;
  fw_kmeans_params params = *t->params;
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, n, dsub * sizeof(float), err);
  status = fw_comm_all_ok(t->local->comm, status, err);
  if (status != FURROW_OK) {
    fw_free(memory);
    return status;
  }
  float *x = memory;
  const fw_rank_vectors local = fw_rank_vectors_replace(t->local, x);
  for (size_t i = 0; i < n; i++) memcpy(x + i * dsub, t->local->vectors + i * d + part * dsub, dsub * sizeof *x);
  params.k = fw_pq_ksub(t->pq);
  params.d = dsub;
  params.spherical = false;
  params.pool = pool;
  params.progress = NULL;
  status = fw_kmeans_distributed(&params, &local, t->centroids + part * params.k * dsub, err);
  fw_free(x);
  return status == FURROW_OK ? report_part(t, err) : status;
}

static furrow_status train_part(void *context, size_t first, size_t count, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < count; i++) status = train_one(context, first + i, NULL, err);
  return status;
}

/* Each thread trains one sub-quantizer at a time, as they are independent. Only for a single rank: collectives of a
 * communicator belong to one thread, so the threads use the communicator of a lone process, which has no state. */
static furrow_status train_parts_at_once(training *t, fw_pool *pool, furrow_error *err) {
  fw_rank_vectors single = *t->local;
  single.comm = fw_comm_self();
  t->local = &single;
  return fw_parallel_run(pool, t->pq->m, 1, train_part, t, err);
}

/* Several ranks train the same sub-quantizer together, each with all its threads. */
static furrow_status train_parts(training *t, furrow_error *err) {
  const fw_kmeans_params *params = t->params;
  furrow_status status = FURROW_OK;
  pthread_mutex_init(&t->lock, NULL);
  if (params->pool && t->pq->m > fw_pool_threads(params->pool) && t->local->comm->ranks == 1)
    status = train_parts_at_once(t, params->pool, err);
  else
    for (size_t i = 0; status == FURROW_OK && i < t->pq->m; i++) status = train_one(t, i, params->pool, err);
  pthread_mutex_destroy(&t->lock);
  return status;
}

/* k-means would draw the same vectors for every sub-quantizer, so they are drawn once for all. An exception is a sample
 * that has only as many vectors as there are centroids: a sub-quantizer would take these vectors as its centroids. */
furrow_status fw_pq_train(const fw_pq *pq, const fw_kmeans_params *params, const fw_rank_vectors *local,
                          float *centroids, furrow_error *err) {
  fw_rank_vectors sample = {0};
  size_t most = SIZE_MAX;
  if (params->per_centroid <= 1 || !fw_size_mul(fw_pq_ksub(pq), params->per_centroid, &most)) most = SIZE_MAX;
  FW_TRY(fw_comm_all_ok(local->comm, fw_rank_vectors_sample(&sample, local, pq->d, most, params->seed, err), err));
  training t = {.pq = pq, .params = params, .local = &sample, .centroids = centroids};
  const furrow_status status = train_parts(&t, err);
  fw_rank_vectors_clear(&sample);
  return status;
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

#define ROWS 192 /* vectors encoded for one part before the next part */

furrow_status fw_pq_coder_create(fw_pq_coder *coder, const fw_pq *pq, furrow_error *err) {
  size_t ksub = fw_pq_ksub(pq);
  fw_pq_coder made = {.m = pq->m, .dsub = fw_pq_dsub(pq), .code_size = fw_pq_code_size(pq), .nbits = pq->nbits};
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, made.m, sizeof *made.part, err);
  made.part = memory;
  for (size_t i = 0; status == FURROW_OK && i < made.m; i++) {
    const float *centroids = pq->centroids + i * ksub * made.dsub;
    status = fw_packed_create(&made.part[i], centroids, ksub, made.dsub, made.dsub, true, err);
    if (status == FURROW_OK) status = fw_packed_add_sketch(&made.part[i], centroids, made.dsub, true, err);
  }
  if (status == FURROW_OK)
    *coder = made;
  else
    fw_pq_coder_clear(&made);
  return status;
}

void fw_pq_coder_clear(fw_pq_coder *coder) {
  for (size_t i = 0; coder->part && i < coder->m; i++) fw_packed_clear(&coder->part[i]);
  fw_free(coder->part);
  *coder = (fw_pq_coder){0};
}

static void put_column(const fw_pq_coder *coder, size_t part, const uint32_t *numbers, size_t n, uint8_t *codes) {
  size_t size = coder->code_size;
  if (coder->nbits == 8)
    for (size_t i = 0; i < n; i++) codes[i * size + part] = (uint8_t)numbers[i];
  else
    for (size_t i = 0; i < n; i++) fw_pq_put_number(codes + i * size, coder->nbits, part, numbers[i]);
}

void fw_pq_encode(const fw_pq_coder *coder, const float *vectors, size_t n, size_t stride, uint8_t *codes) {
  const fw_products *kern = fw_products_table();
  uint32_t numbers[ROWS];
  float scores[ROWS];
  if (coder->nbits != 8) memset(codes, 0, n * coder->code_size);
  for (size_t first = 0; first < n; first += ROWS) {
    size_t rows = n - first < ROWS ? n - first : ROWS;
    for (size_t part = 0; part < coder->m; part++) {
      kern->nearest(&coder->part[part], vectors + first * stride + part * coder->dsub, rows, stride, numbers, scores);
      /* if numbers are not finite, no centroid is nearest: use the first, as Faiss does */
      for (size_t i = 0; i < rows; i++) numbers[i] = numbers[i] == UINT32_MAX ? 0 : numbers[i];
      put_column(coder, part, numbers, rows, codes + first * coder->code_size);
    }
  }
}

void fw_pq_decode(const fw_pq *pq, const uint8_t *code, float *vector) {
  size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  for (size_t part = 0; part < pq->m; part++) {
    const float *centroid = pq->centroids + (part * ksub + fw_pq_number(code, pq->nbits, part)) * dsub;
    memcpy(vector + part * dsub, centroid, dsub * sizeof *vector);
  }
}

void fw_pq_decode_key(const fw_pq *pq, uint64_t key, float *vector) {
  size_t ksub = fw_pq_ksub(pq), dsub = fw_pq_dsub(pq);
  for (size_t part = 0; part < pq->m; part++) {
    size_t number = (size_t)(key >> (part * pq->nbits)) & (ksub - 1);
    memcpy(vector + part * dsub, pq->centroids + (part * ksub + number) * dsub, dsub * sizeof *vector);
  }
}
