/* vector/quantizer/opq.c: trains the rotation for a product quantizer.
 *
 * It starts from the principal directions, distributed so that each part of the quantizer gets about the same variance.
 * Then two steps alternate: the quantizer is trained on the rotated vectors, and the rotation becomes the orthogonal
 * matrix nearest to the sum of y x^T, where y is the decoded code of x. Ranks exchange only these sums and the sums of
 * k-means. */
#include "vector/quantizer/opq.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/products/products.h"
#include "vector/data/parallel.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/principal.h"
#include "vector/quantizer/training_vectors.h"

#define ALTERNATIONS 50
#define FIRST_ROUNDS 40 /* rounds of k-means in the first iteration, and in later iterations */
#define NEXT_ROUNDS 4
#define MOST_NBITS 8
#define PART 256

typedef struct state {
  const fw_opq_params *params;
  fw_rank_vectors local; /* the sample; this rank has n of its vectors */
  size_t n, d;           /* number of vectors, and their dimension after the rotation */
  float *x;              /* n * d_in: the vectors without their mean */
  float *z;              /* n * d: in the principal directions */
  float *w;              /* n * d: the rotated vectors, then their decoded codes */
  float *start;
  double *sums, *found; /* d_in * d_in */
  float *rotation;      /* d * d */
  fw_pq pq;
  float *centroids;
} state;

/* ---- Products of many vectors --------------------------------------------------------------------------- */

typedef struct rotating {
  fw_packed packed;
  const float *from;
  size_t d_in, d_out;
  float *to;
} rotating;

static furrow_status rotate_part(void *context, size_t first, size_t count, furrow_error *err) {
  const rotating *t = context;
  size_t width = t->packed.blocks * FW_PACK_WIDTH;
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, count, width * sizeof(float), err));
  const float *out = memory;
  fw_products_table()->scores(&t->packed, t->from + first * t->d_in, count, t->d_in, memory, width);
  for (size_t i = 0; i < count; i++) memcpy(t->to + (first + i) * t->d_out, out + i * width, t->d_out * sizeof *out);
  fw_free(memory);
  return FURROW_OK;
}

/* to = A from, for n vectors; A has d_out rows. */
static furrow_status rotate_vectors(const state *s, const float *a, size_t d_in, const float *from, float *to,
                                    furrow_error *err) {
  rotating t = {.from = from, .d_in = d_in, .d_out = s->d, .to = to};
  furrow_status status = fw_packed_create(&t.packed, a, s->d, d_in, d_in, false, err);
  if (status != FURROW_OK) return status;
  status = fw_parallel_run(s->params->kmeans.pool, s->n, PART, rotate_part, &t, err);
  fw_packed_clear(&t.packed);
  return status;
}

/* Distributes rank 0's matrix: logarithms, and with them the order of directions, may differ between machines. */
static furrow_status share_matrix(const state *s, float *matrix, size_t count, furrow_error *err) {
  const furrow_comm *comm = s->local.comm;
  return comm->ranks == 1 ? FURROW_OK : comm->broadcast(comm, matrix, count * sizeof *matrix, 0, err);
}

/* ---- Principal directions ------------------------------------------------------------------------------- */

/* The part with the smallest product of variances that is not full. */
static size_t part_with_least_variance(const double *product, const size_t *used, size_t m, size_t dsub) {
  size_t best = m;
  for (size_t i = 0; i < m; i++)
    if (used[i] < dsub && (best == m || product[i] < product[best])) best = i;
  return best;
}

static void deal_out(const state *s, const fw_direction *directions, double *product, size_t *used) {
  size_t m = s->params->m, dsub = s->d / m, d_in = s->params->d_in;
  double least = fmax(directions[0].variance, DBL_MIN) * DBL_EPSILON;
  for (size_t i = 0; i < s->d; i++) {
    size_t part = part_with_least_variance(product, used, m, dsub);
    float *row = s->start + (part * dsub + used[part]++) * d_in;
    product[part] += log(fmax(directions[i].variance, least) / least);
    for (size_t k = 0; k < d_in; k++) row[k] = (float)s->found[directions[i].column * d_in + k];
  }
}

static furrow_status find_start(state *s, furrow_error *err) {
  size_t d_in = s->params->d_in, m = s->params->m;
  void *directions = NULL, *product = NULL, *used = NULL;
  furrow_status status = fw_sum_products(s->local.comm, s->x, s->x, s->n, d_in, s->sums, err);
  if (status != FURROW_OK) return status;
  status = fw_alloc(&directions, d_in, sizeof(fw_direction), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&product, m, sizeof(double), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&used, m, sizeof(size_t), err);
  if (status == FURROW_OK) {
    fw_principal_directions(s->sums, s->found, d_in, directions);
    deal_out(s, directions, product, used);
  }
  fw_free(directions);
  fw_free(product);
  fw_free(used);
  status = fw_comm_all_ok(s->local.comm, status, err);
  return status == FURROW_OK ? share_matrix(s, s->start, s->d * d_in, err) : status;
}

/* ---- Iterations ----------------------------------------------------------------------------------------- */

typedef struct coding {
  const state *s;
  fw_pq_coder coder;
} coding;

static furrow_status code_part(void *context, size_t first, size_t count, furrow_error *err) {
  const coding *c = context;
  void *codes = NULL;
  FW_TRY(fw_alloc(&codes, count, c->coder.code_size, err));
  float *w = c->s->w + first * c->s->d;
  fw_pq_encode(&c->coder, w, count, c->s->d, codes);
  for (size_t i = 0; i < count; i++)
    fw_pq_decode(&c->s->pq, (uint8_t *)codes + i * c->coder.code_size, w + i * c->s->d);
  fw_free(codes);
  return FURROW_OK;
}

/* Replaces rotated vectors by their decoded codes. */
static furrow_status quantize_vectors(state *s, furrow_error *err) {
  coding c = {.s = s};
  furrow_status status = fw_pq_coder_create(&c.coder, &s->pq, err);
  if (status != FURROW_OK) return status;
  status = fw_parallel_run(s->params->kmeans.pool, s->n, PART, code_part, &c, err);
  fw_pq_coder_clear(&c.coder);
  return status;
}

/* Finds the rotation that fits the quantizer best. */
static furrow_status fit_rotation(state *s, furrow_error *err) {
  furrow_status status = fw_sum_products(s->local.comm, s->z, s->w, s->n, s->d, s->sums, err);
  if (status != FURROW_OK) return status;
  status = fw_comm_all_ok(s->local.comm, fw_polar(s->sums, s->found, s->d, err), err);
  if (status != FURROW_OK) return status;
  for (size_t j = 0; j < s->d; j++)
    for (size_t i = 0; i < s->d; i++) s->rotation[i * s->d + j] = (float)s->found[j * s->d + i];
  return share_matrix(s, s->rotation, s->d * s->d, err);
}

static furrow_status alternate(state *s, unsigned number, furrow_error *err) {
  const fw_kmeans_params *p = &s->params->kmeans;
  const furrow_comm *comm = s->local.comm;
  fw_kmeans_params kmeans = *p;
  kmeans.rounds = number == 0 ? FIRST_ROUNDS : NEXT_ROUNDS;
  kmeans.hot = number > 0;
  kmeans.per_centroid = SIZE_MAX;
  kmeans.progress = NULL;
  const fw_rank_vectors rotated = fw_rank_vectors_replace(&s->local, s->w);
  furrow_status status = fw_comm_all_ok(comm, rotate_vectors(s, s->rotation, s->d, s->z, s->w, err), err);
  if (status == FURROW_OK) status = fw_pq_train(&s->pq, &kmeans, &rotated, s->pq.centroids, err);
  if (status == FURROW_OK) status = fw_comm_all_ok(comm, quantize_vectors(s, err), err);
  if (status == FURROW_OK) status = fit_rotation(s, err);
  if (status != FURROW_OK) return status;
  status = fw_report_progress(p->progress, p->user, p->phase, number + 1, ALTERNATIONS, err);
  return fw_comm_all_ok(comm, status, err);
}

/* out = rotation * start */
static void combine_rotations(const state *s, float *out) {
  size_t d_in = s->params->d_in;
  for (size_t i = 0; i < s->d; i++) {
    for (size_t k = 0; k < d_in; k++) {
      double sum = 0;
      for (size_t j = 0; j < s->d; j++) sum += (double)s->rotation[i * s->d + j] * s->start[j * d_in + k];
      out[i * d_in + k] = (float)sum;
    }
  }
}

static furrow_status find_rotation(state *s, furrow_error *err) {
  furrow_status status = find_start(s, err);
  if (status != FURROW_OK) return status;
  status = fw_comm_all_ok(s->local.comm, rotate_vectors(s, s->start, s->params->d_in, s->x, s->z, err), err);
  memset(s->rotation, 0, s->d * s->d * sizeof *s->rotation);
  for (size_t i = 0; i < s->d; i++) s->rotation[i * s->d + i] = 1;
  for (unsigned number = 0; status == FURROW_OK && number < ALTERNATIONS; number++) status = alternate(s, number, err);
  return status;
}

/* ---- The whole training --------------------------------------------------------------------------------- */

static furrow_status make_state(state *s, furrow_error *err) {
  const fw_opq_params *p = s->params;
  unsigned nbits = p->nbits < MOST_NBITS ? p->nbits : MOST_NBITS;
  struct {
    float **floats;
    double **doubles;
    size_t rows, columns;
  } arrays[] = {{&s->x, NULL, s->n, p->d_in},       {&s->z, NULL, s->n, s->d},
                {&s->w, NULL, s->n, s->d},          {&s->start, NULL, s->d, p->d_in},
                {&s->rotation, NULL, s->d, s->d},   {NULL, &s->sums, p->d_in, p->d_in},
                {NULL, &s->found, p->d_in, p->d_in}};
  furrow_status status = fw_pq_create(&s->pq, s->d, p->m, nbits, err);
  for (size_t i = 0; status == FURROW_OK && i < sizeof arrays / sizeof *arrays; i++) {
    void *memory = NULL;
    size_t size = arrays[i].floats ? sizeof(float) : sizeof(double);
    status = fw_alloc(&memory, arrays[i].rows, arrays[i].columns * size, err);
    if (arrays[i].floats)
      *arrays[i].floats = memory;
    else
      *arrays[i].doubles = memory;
  }
  return status;
}

static void state_clear(state *s) {
  fw_free(s->x);
  fw_free(s->z);
  fw_free(s->w);
  fw_free(s->start);
  fw_free(s->rotation);
  fw_free(s->sums);
  fw_free(s->found);
  fw_free(s->pq.centroids);
  fw_rank_vectors_clear(&s->local);
}

furrow_status fw_opq_train(const fw_opq_params *params, const fw_rank_vectors *local, float **rotation,
                           furrow_error *err) {
  state s = {.params = params, .d = params->d_out};
  void *out = NULL;
  furrow_status status = fw_rank_vectors_sample(&s.local, local, params->d_in, FW_OPQ_SAMPLE, params->kmeans.seed, err);
  s.n = s.local.n;
  if (status == FURROW_OK) status = make_state(&s, err);
  if (status == FURROW_OK) status = fw_alloc(&out, params->d_out, params->d_in * sizeof(float), err);
  status = fw_comm_all_ok(local->comm, status, err);
  if (status == FURROW_OK) status = fw_centre_vectors(&s.local, params->d_in, s.sums, s.x, err);
  if (status == FURROW_OK) status = find_rotation(&s, err);
  if (status == FURROW_OK) {
    combine_rotations(&s, out);
    *rotation = out;
  } else {
    fw_free(out);
  }
  state_clear(&s);
  return status;
}
