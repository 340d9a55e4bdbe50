/* vector/build/index_spec.c: creates an empty, untrained index from a spec. */
#include <inttypes.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/build/build.h"
#include "vector/index/index.h"
#include "vector/index/index_card.h"
#include "vector/quantizer/pq.h"

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

static furrow_status check_dimension(const furrow_index_spec *s, furrow_error *err) {
  if (s->d >= 1 && s->d <= FW_INDEX_MAX_D) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "d is %d, but must be 1 to %d", (int)s->d, FW_INDEX_MAX_D);
}

static furrow_status check_spec(const furrow_index_spec *s, furrow_error *err) {
  if (s->ef_construction != 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "ef_construction needs a factory string with HNSW");
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

/* A factory string replaces all fields except d, metric, k_factor, ef_construction and id_map. */
static furrow_status check_factory(const furrow_index_spec *s, furrow_error *err) {
  const struct {
    const char *name;
    bool given;
  } fields[] = {{"nlist", s->nlist != 0},       {"m", s->m != 0},
                {"nbits", s->nbits != 8},       {"by_residual", !s->by_residual},
                {"hnsw_m", s->hnsw_m != 0},     {"opq", s->opq || s->opq_d != 0},
                {"normalize", s->normalize},    {"refine_m", s->refine_m != 0 || s->refine_nbits != 8},
                {"refine_flat", s->refine_flat}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].given)
      return fw_fail(err, FURROW_E_ARGUMENT, "factory and %s cannot be used together", fields[i].name);
  if (furrow_distance_metric_name(s->metric) && s->metric != FURROW_METRIC_LP) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "metric is %d, which is not one that an index can be built for",
                 (int)s->metric);
}

/* ---- Construction --------------------------------------------------------------------------------------- */

/* Writes the fields as a factory string, except for k_factor and by_residual. */
static void write_factory(const furrow_index_spec *s, fw_buffer *out) {
  if (s->id_map) fw_buffer_text(out, "IDMap,");
  if (s->normalize) fw_buffer_text(out, "L2norm,("); /* a refinement compares the scaled vectors, too */
  if (s->opq) fw_buffer_format(out, "OPQ%" PRIu64 "_%d,", s->m, (int)inner_d(s));
  fw_buffer_format(out, "IVF%" PRIu64, s->nlist);
  if (s->hnsw_m > 0) fw_buffer_format(out, "_HNSW%" PRIu64, s->hnsw_m);
  if (s->m == 0)
    fw_buffer_text(out, ",Flat");
  else
    fw_buffer_format(out, ",PQ%" PRIu64 "x%u", s->m, s->nbits);
  if (s->refine_m > 0) fw_buffer_format(out, "+%" PRIu64 "x%u", s->refine_m, s->refine_nbits);
  if (s->refine_flat) fw_buffer_text(out, ",RFlat");
  if (s->normalize) fw_buffer_byte(out, ')');
}

/* Sets the fields that a factory string does not contain. Returns whether the index has a use for k_factor. */
static bool set_details(furrow_index *index, const furrow_index_spec *s) {
  bool refined = false;
  for (; index; index = index->child[0]) {
    if (index->kind == FURROW_INDEX_REFINE && s->k_factor > 0 && s->refine_m == 0) index->k_factor = s->k_factor;
    if (index->kind == FURROW_INDEX_IVF_PQR && s->k_factor > 0) index->ivf.k_factor = s->k_factor;
    refined = refined || index->kind == FURROW_INDEX_REFINE || index->kind == FURROW_INDEX_IVF_PQR;
    if (index->kind == FURROW_INDEX_HNSW && s->ef_construction > 0) index->hnsw.ef_construction = s->ef_construction;
    if (!fw_index_is_ivf(index)) continue;
    if (!s->by_residual) index->ivf.by_residual = false;
    break;
  }
  return refined;
}

static bool has_graph(const furrow_index *index) {
  while (index && index->kind != FURROW_INDEX_HNSW) index = fw_index_is_ivf(index) ? NULL : index->child[0];
  return index != NULL;
}

static furrow_status create_from_factory(furrow_index **index, const furrow_index_spec *s, furrow_error *err) {
  FW_TRY(check_factory(s, err));
  FW_TRY(fw_index_from_factory(index, s->factory, s->d, s->metric, err));
  if (s->id_map && fw_index_has_dense_ids(*index)) FW_TRY(fw_index_wrap_ids(index, err));
  const bool refined = set_details(*index, s);
  if (s->k_factor != 0 && !(refined && s->k_factor >= 1 && s->k_factor <= MOST_K_FACTOR))
    return fw_fail(err, FURROW_E_ARGUMENT, "k_factor is %g, but must be 1 to 1000, or 0 without a refinement",
                   (double)s->k_factor);
  if (s->ef_construction < 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "ef_construction is %d, but must be positive, or 0",
                   (int)s->ef_construction);
  if (s->ef_construction > 0 && !has_graph(*index))
    return fw_fail(err, FURROW_E_ARGUMENT, "ef_construction cannot be used with %s, which is not an HNSW graph",
                   s->factory);
  return FURROW_OK;
}

static furrow_status create_from_fields(furrow_index **index, const furrow_index_spec *s, furrow_error *err) {
  fw_buffer text = {0};
  FW_TRY(check_spec(s, err));
  write_factory(s, &text);
  fw_buffer_byte(&text, 0);
  furrow_status status = fw_buffer_status(&text, err);
  if (status == FURROW_OK) status = fw_index_from_factory(index, text.bytes, s->d, s->metric, err);
  if (status == FURROW_OK) (void)set_details(*index, s);
  fw_buffer_clear(&text);
  return status;
}

furrow_status furrow_index_create(furrow_index **index, const furrow_index_spec *spec, furrow_error *err) {
  furrow_index_spec s;
  furrow_index *made = NULL;
  furrow_index_spec_init(&s);
  FW_TRY(FW_PARAMS_READ(&s, spec, furrow_index_spec, err));
  FW_TRY(check_dimension(&s, err));
  char *factory = NULL;
  furrow_status status = s.factory ? create_from_factory(&made, &s, err) : create_from_fields(&made, &s, err);
  if (status == FURROW_OK) status = furrow_index_factory(made, &factory, err);
  if (status == FURROW_OK) status = fw_card_create(&made->card, factory, err);
  fw_free(factory);
  return FW_HAND_OVER(status, index, made, furrow_index_free);
}
