/* vector/edit/same_quantizers.c: whether vectors of one index mean the same in another. Numbers must agree bit for bit.
 */
#include "vector/edit/same_quantizers.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/reconstruct.h"

typedef struct quantity {
  const char *name;
  uint64_t a, b;
} quantity;

static furrow_status check_quantities(const quantity *list, size_t count, furrow_error *err) {
  for (size_t i = 0; i < count; i++)
    if (list[i].a != list[i].b)
      return fw_fail(err, FURROW_E_ARGUMENT,
                     "the indexes do not agree: %s is %" PRIu64 " in one, %" PRIu64 " in the other", list[i].name,
                     list[i].a, list[i].b);
  return FURROW_OK;
}

static bool same_floats(const float *a, size_t a_count, const float *b, size_t b_count) {
  return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

static furrow_status differ(const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_ARGUMENT, "the indexes do not agree: %s differ", what);
}

/* ---- Quantizers ----------------------------------------------------------------------------------------- */

static furrow_status check_pq(const fw_pq *a, const fw_pq *b, const char *what, furrow_error *err) {
  const quantity quantities[] = {{"the number of sub-quantizers", a->m, b->m}, {"nbits", a->nbits, b->nbits}};
  furrow_status status = check_quantities(quantities, 2, err);
  if (status != FURROW_OK) return status;
  bool same = same_floats(a->centroids, a->d << a->nbits, b->centroids, b->d << b->nbits);
  return same ? FURROW_OK : differ(what, err);
}

static furrow_status check_sq(const fw_sq *a, const fw_sq *b, furrow_error *err) {
  const quantity qtype = {"the type of the scalar quantizer", (uint64_t)a->qtype, (uint64_t)b->qtype};
  furrow_status status = check_quantities(&qtype, 1, err);
  if (status != FURROW_OK) return status;
  bool same = same_floats(a->trained, a->trained_count, b->trained, b->trained_count);
  return same ? FURROW_OK : differ("the ranges of the scalar quantizers", err);
}

/* Quantizers may be of different kinds (flat, graph), as long as list i has the same centroid. */
static furrow_status check_centroids(const furrow_index *a, const furrow_index *b, size_t nlist, furrow_error *err) {
  if (!a || !b) return a == b ? FURROW_OK : differ("the coarse quantizers, one of which is missing,", err);
  if (a->ntotal != b->ntotal) return differ("the coarse quantizers", err);
  if (a->ntotal == 0) return FURROW_OK;
  size_t d = (size_t)a->d;
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, 2 * d, sizeof(float), err);
  float *x = memory, *y = x + (status == FURROW_OK ? d : 0);
  for (size_t i = 0; status == FURROW_OK && i < nlist; i++) {
    status = fw_reconstruct(a, (int64_t)i, x, err);
    if (status == FURROW_OK) status = fw_reconstruct(b, (int64_t)i, y, err);
    if (status == FURROW_OK && memcmp(x, y, d * sizeof *x) != 0)
      status = fw_fail(err, FURROW_E_ARGUMENT, "the indexes do not agree: the coarse centroids of list %zu differ", i);
  }
  fw_free(memory);
  return status;
}

/* ---- Transforms ----------------------------------------------------------------------------------------- */

static furrow_status check_transform(const fw_transform *a, const fw_transform *b, size_t i, furrow_error *err) {
  bool same = memcmp(a->fourcc, b->fourcc, 4) == 0 && a->d_in == b->d_in && a->d_out == b->d_out &&
              a->trained == b->trained && a->have_bias == b->have_bias && a->norm == b->norm && a->seed == b->seed &&
              same_floats(a->a, a->a_count, b->a, b->a_count) && same_floats(a->b, a->b_count, b->b, b->b_count) &&
              same_floats(a->mean, a->mean_count, b->mean, b->mean_count) && a->map_count == b->map_count &&
              (a->map_count == 0 || memcmp(a->map, b->map, a->map_count * sizeof *a->map) == 0) &&
              !a->nested == !b->nested;
  if (!same)
    return fw_fail(err, FURROW_E_ARGUMENT, "the indexes do not agree: the transforms differ (number %zu, %.4s)", i,
                   a->fourcc);
  furrow_status status = FURROW_OK;
  for (size_t k = 0; a->nested && status == FURROW_OK && k < 2; k++)
    status = check_transform(&a->nested[k], &b->nested[k], i, err);
  return status;
}

static furrow_status check_transforms(const fw_transforms *a, const fw_transforms *b, furrow_error *err) {
  const quantity count = {"the number of transforms", a->count, b->count};
  furrow_status status = check_quantities(&count, 1, err);
  for (size_t i = 0; status == FURROW_OK && i < a->count; i++)
    status = check_transform(&a->list[i], &b->list[i], i, err);
  return status;
}

/* ---- Indexes -------------------------------------------------------------------------------------------- */

static furrow_status check_ivf(const furrow_index *a, const furrow_index *b, furrow_error *err) {
  const fw_ivf *x = &a->ivf, *y = &b->ivf;
  const quantity quantities[] = {{"nlist", x->nlist, y->nlist},
                                 {"code_size", x->code_size, y->code_size},
                                 {"by_residual", x->by_residual, y->by_residual},
                                 {"bbs", (uint64_t)x->bbs, (uint64_t)y->bbs}};
  furrow_status status = check_quantities(quantities, sizeof quantities / sizeof *quantities, err);
  if (status == FURROW_OK && fw_index_pq(a)) status = check_pq(&x->pq, &y->pq, "the product quantizers", err);
  if (status == FURROW_OK && a->kind == FURROW_INDEX_IVF_PQR)
    status = check_pq(&x->refine_pq, &y->refine_pq, "the quantizers of the refinements", err);
  if (status == FURROW_OK && a->kind == FURROW_INDEX_IVF_SQ) status = check_sq(&x->sq, &y->sq, err);
  if (status == FURROW_OK) status = check_centroids(a->child[0], b->child[0], x->nlist, err);
  return status;
}

static furrow_status check_header(const furrow_index *a, const furrow_index *b, furrow_error *err) {
  if (a->kind != b->kind)
    return fw_fail(err, FURROW_E_ARGUMENT, "the indexes do not agree: one is of %s, the other of %s",
                   furrow_index_kind_name(a->kind), furrow_index_kind_name(b->kind));
  if (a->d != b->d)
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "the indexes do not agree: the dimension is %" PRId32 " in one, %" PRId32 " in the other", a->d,
                   b->d);
  if (a->metric != b->metric || (a->metric > FURROW_METRIC_L2 && a->metric_arg != b->metric_arg))
    return fw_fail(err, FURROW_E_ARGUMENT, "the indexes do not agree: the metric is %s in one, %s in the other",
                   furrow_distance_metric_name(a->metric), furrow_distance_metric_name(b->metric));
  if (a->trained != b->trained)
    return fw_fail(err, FURROW_E_ARGUMENT, "the indexes do not agree: only one of them is trained");
  return FURROW_OK;
}

furrow_status fw_check_same_quantizers(const furrow_index *a, const furrow_index *b, furrow_error *err) {
  furrow_status status = check_header(a, b, err);
  if (status != FURROW_OK || a->kind == FURROW_INDEX_FLAT || a->kind == FURROW_INDEX_HNSW) return status;
  if (fw_index_is_ivf(a)) return check_ivf(a, b, err);
  if (fw_index_pq(a)) return check_pq(&a->pq.pq, &b->pq.pq, "the product quantizers", err);
  if (a->kind == FURROW_INDEX_TRANSFORM) status = check_transforms(&a->transforms, &b->transforms, err);
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && a->child[i]; i++)
    status = fw_check_same_quantizers(a->child[i], b->child[i], err);
  return status;
}
