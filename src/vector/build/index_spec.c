/* vector/build/index_spec.c: creates an empty, untrained index from a spec. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/build/build.h"
#include "vector/index/index.h"
#include "vector/quantizer/pq.h"

#define PQR_K_FACTOR 4.F /* the default of Faiss */
#define REFINE_K_FACTOR 1.F
#define MOST_K_FACTOR 1000.F

/* ---- Checks --------------------------------------------------------------------------------------------- */

/* The dimension after the transforms. */
static int32_t inner_d(const furrow_index_spec *s) {
  return s->opq && s->opq_d > 0 ? s->opq_d : s->d;
}

static furrow_status check_codes(const furrow_index_spec *s, furrow_error *err) {
  uint64_t d = (uint64_t)inner_d(s);
  if (s->m == 0) {
    if (s->opq) return fw_fail(err, FURROW_E_ARGUMENT, "opq needs a product quantizer (m)");
    if (s->refine_m > 0) return fw_fail(err, FURROW_E_ARGUMENT, "refine_m needs a product quantizer (m)");
    return FURROW_OK;
  }
  if (s->m > d || d % s->m != 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "m is %llu, but must divide the %llu %s", (unsigned long long)s->m,
                   (unsigned long long)d, fw_plural(d, "dimension", "dimensions"));
  if (s->nbits < 1 || s->nbits > FW_PQ_MAX_NBITS)
    return fw_fail(err, FURROW_E_ARGUMENT, "nbits is %u, but must be 1 to %d", s->nbits, FW_PQ_MAX_NBITS);
  return FURROW_OK;
}

static furrow_status check_refinement(const furrow_index_spec *s, furrow_error *err) {
  uint64_t d = (uint64_t)inner_d(s);
  if (s->refine_m > 0) {
    if (s->metric != FURROW_METRIC_L2) return fw_fail(err, FURROW_E_ARGUMENT, "refine_m needs the metric L2");
    if (!s->by_residual) return fw_fail(err, FURROW_E_ARGUMENT, "refine_m needs by_residual");
    if (s->refine_m > d || d % s->refine_m != 0)
      return fw_fail(err, FURROW_E_ARGUMENT, "refine_m is %llu, but must divide the %llu %s",
                     (unsigned long long)s->refine_m, (unsigned long long)d, fw_plural(d, "dimension", "dimensions"));
    if (s->refine_nbits < 1 || s->refine_nbits > FW_PQ_MAX_NBITS)
      return fw_fail(err, FURROW_E_ARGUMENT, "refine_nbits is %u, but must be 1 to %d", s->refine_nbits,
                     FW_PQ_MAX_NBITS);
  }
  bool refined = s->refine_m > 0 || s->refine_flat;
  if (s->k_factor != 0 && (!refined || !(s->k_factor >= 1 && s->k_factor <= MOST_K_FACTOR)))
    return fw_fail(err, FURROW_E_ARGUMENT, "k_factor is %g, but must be %s", (double)s->k_factor,
                   refined ? "1 to 1000" : "0 without a refinement");
  return FURROW_OK;
}

static furrow_status check_spec(const furrow_index_spec *s, furrow_error *err) {
  if (s->d < 1 || s->d > FW_INDEX_MAX_D)
    return fw_fail(err, FURROW_E_ARGUMENT, "d is %d, but must be 1 to %d", (int)s->d, FW_INDEX_MAX_D);
  if (s->metric != FURROW_METRIC_L2 && s->metric != FURROW_METRIC_IP)
    return fw_fail(err, FURROW_E_ARGUMENT, "metric is %d, but must be L2 or inner product", (int)s->metric);
  if (s->nlist < 1 || s->nlist > UINT32_MAX - 1)
    return fw_fail(err, FURROW_E_ARGUMENT, "nlist is %llu, but must be 1 to 2^32 - 2", (unsigned long long)s->nlist);
  if (s->opq_d != 0 && (!s->opq || s->opq_d < 0 || s->opq_d > s->d))
    return fw_fail(err, FURROW_E_ARGUMENT, "opq_d is %d, but must be %s", (int)s->opq_d,
                   s->opq ? "0 to d" : "0 without opq");
  if (s->hnsw_m != 0 && (s->hnsw_m < FW_HNSW_MIN_M || s->hnsw_m > FW_HNSW_MAX_M))
    return fw_fail(err, FURROW_E_ARGUMENT, "hnsw_m is %llu, but must be %d to %d", (unsigned long long)s->hnsw_m,
                   FW_HNSW_MIN_M, FW_HNSW_MAX_M);
  FW_TRY(check_codes(s, err));
  return check_refinement(s, err);
}

/* ---- Construction --------------------------------------------------------------------------------------- */

static furrow_status make_flat(furrow_index **made, int32_t d, furrow_distance_metric metric, furrow_error *err) {
  furrow_index *flat = NULL;
  FW_TRY(fw_index_create(&flat, FURROW_INDEX_FLAT, d, metric, err));
  flat->trained = true;
  *made = flat;
  return FURROW_OK;
}

static furrow_status make_quantizer(furrow_index **made, const furrow_index_spec *s, furrow_error *err) {
  int32_t d = inner_d(s);
  if (s->hnsw_m == 0) return make_flat(made, d, s->metric, err);
  return fw_hnsw_build(made, NULL, 0, d, s->metric, (size_t)s->hnsw_m, 0, err);
}

static furrow_status fill_ivf(furrow_index *index, const furrow_index_spec *s, furrow_error *err) {
  fw_ivf *ivf = &index->ivf;
  size_t d = (size_t)index->d;
  ivf->nlist = (size_t)s->nlist;
  ivf->nprobe = 1;
  ivf->by_residual = s->m > 0 && s->by_residual;
  furrow_status status = make_quantizer(&index->child[0], s, err);
  if (status == FURROW_OK && s->m > 0) status = fw_pq_create(&ivf->pq, d, (size_t)s->m, s->nbits, err);
  if (status == FURROW_OK && s->refine_m > 0) {
    status = fw_pq_create(&ivf->refine_pq, d, (size_t)s->refine_m, s->refine_nbits, err);
    ivf->k_factor = s->k_factor > 0 ? s->k_factor : PQR_K_FACTOR;
  }
  ivf->code_size = s->m > 0 ? fw_pq_code_size(&ivf->pq) : d * sizeof(float);
  ivf->lists = (fw_lists){.kind = FURROW_LISTS_INLINE, .nlist = ivf->nlist, .code_size = ivf->code_size};
  return status;
}

static furrow_status make_ivf(furrow_index **made, const furrow_index_spec *s, furrow_error *err) {
  furrow_index_kind kind = s->m == 0          ? FURROW_INDEX_IVF_FLAT
                           : s->refine_m == 0 ? FURROW_INDEX_IVF_PQ
                                              : FURROW_INDEX_IVF_PQR;
  furrow_index *index = NULL;
  furrow_status status = fw_index_create(&index, kind, inner_d(s), s->metric, err);
  if (status == FURROW_OK) status = fill_ivf(index, s, err);
  return FW_HAND_OVER(status, made, index, furrow_index_free);
}

/* Wraps *inner in an index of this kind, which takes ownership; on failure *inner stays unchanged. */
static furrow_status wrap_index(furrow_index **inner, furrow_index_kind kind, int32_t d, furrow_error *err) {
  furrow_index *outer = NULL;
  FW_TRY(fw_index_create(&outer, kind, d, (*inner)->metric, err));
  outer->child[0] = *inner;
  *inner = outer;
  return FURROW_OK;
}

static furrow_status wrap_transforms(furrow_index **inner, const furrow_index_spec *s, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = wrap_index(inner, FURROW_INDEX_TRANSFORM, s->d, err);
  if (status == FURROW_OK) status = fw_alloc_zero(&memory, 2, sizeof(fw_transform), err);
  if (status != FURROW_OK) return status;
  fw_transforms *t = &(*inner)->transforms;
  t->list = memory;
  if (s->normalize) {
    t->list[t->count] = (fw_transform){.d_in = s->d, .d_out = s->d, .norm = 2, .trained = true};
    memcpy(t->list[t->count++].fourcc, "VNrm", 4);
  }
  if (s->opq) {
    t->list[t->count] = (fw_transform){.d_in = s->d, .d_out = inner_d(s)};
    memcpy(t->list[t->count++].fourcc, "LTra", 4);
  }
  return FURROW_OK;
}

static furrow_status wrap_refine(furrow_index **inner, const furrow_index_spec *s, furrow_error *err) {
  FW_TRY(wrap_index(inner, FURROW_INDEX_REFINE, s->d, err));
  (*inner)->k_factor = s->k_factor > 0 && s->refine_m == 0 ? s->k_factor : REFINE_K_FACTOR;
  return make_flat(&(*inner)->child[1], s->d, s->metric, err);
}

furrow_status furrow_index_create(furrow_index **index, const furrow_index_spec *spec, furrow_error *err) {
  furrow_index_spec s;
  furrow_index *made = NULL;
  furrow_index_spec_init(&s);
  FW_TRY(FW_PARAMS_READ(&s, spec, furrow_index_spec, err));
  FW_TRY(check_spec(&s, err));
  furrow_status status = make_ivf(&made, &s, err);
  if (status == FURROW_OK && (s.normalize || s.opq)) status = wrap_transforms(&made, &s, err);
  if (status == FURROW_OK && s.refine_flat) status = wrap_refine(&made, &s, err);
  if (status == FURROW_OK && s.id_map) status = wrap_index(&made, FURROW_INDEX_ID_MAP, s.d, err);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}
