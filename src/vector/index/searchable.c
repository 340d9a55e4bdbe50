/* vector/index/searchable.c: which indexes can be searched. A searcher refuses the others before it prepares anything,
 * and verify reports them. */
#include "base/error.h"
#include "vector/index/index.h"
#include "vector/index/inverted_lists.h"
#include "vector/quantizer/transform.h"

static furrow_status fail_kind(const furrow_index *index, const char *article, const char *why, furrow_error *err) {
  const furrow_status status = fw_fail(err, FURROW_E_UNSUPPORTED, "%s%s (%.4s) %s", article,
                                       furrow_index_kind_name(index->kind), index->fourcc, why);
  fw_error_set_token(err, index->fourcc, 4);
  return status;
}

static bool is_l2_or_ip(furrow_distance_metric metric) {
  return metric == FURROW_METRIC_L2 || metric == FURROW_METRIC_IP;
}

static bool flat_has_metric(furrow_distance_metric metric) {
  switch (metric) {
  case FURROW_METRIC_L2:
  case FURROW_METRIC_IP:
  case FURROW_METRIC_L1:
  case FURROW_METRIC_LINF:
  case FURROW_METRIC_LP:
  case FURROW_METRIC_CANBERRA:
  case FURROW_METRIC_BRAY_CURTIS:
  case FURROW_METRIC_JENSEN_SHANNON:
  case FURROW_METRIC_JACCARD:
  case FURROW_METRIC_NAN_EUCLIDEAN: return true;
  default: return false;
  }
}

static furrow_status check_metric(const furrow_index *index, furrow_error *err) {
  /* a flat index, or an index around a flat index */
  const bool any = index->kind == FURROW_INDEX_FLAT || index->kind == FURROW_INDEX_ID_MAP ||
                   index->kind == FURROW_INDEX_TRANSFORM || index->kind == FURROW_INDEX_REFINE;
  if (any ? flat_has_metric(index->metric) : is_l2_or_ip(index->metric)) return FURROW_OK;
  const char *name = furrow_distance_metric_name(index->metric);
  return fw_fail(err, FURROW_E_UNSUPPORTED, "%s cannot be searched by %s", furrow_index_kind_name(index->kind),
                 name ? name : "?");
}

/* Each half of a query is searched separately; a list is a pair of centroids. */
static furrow_status check_halves(const furrow_index *quantizer, furrow_error *err) {
  const fw_pq *pq = &quantizer->pq.pq;
  if (pq->m != 2)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a multi-index quantizer of %zu parts cannot be searched", pq->m);
  if ((uint64_t)quantizer->ntotal != (uint64_t)1 << (2 * pq->nbits))
    return fw_fail(err, FURROW_E_FORMAT, "the quantizer has %lld centroids, but its halves have 2^%u each",
                   (long long)quantizer->ntotal, pq->nbits);
  return FURROW_OK;
}

static furrow_status check_quantizer(const furrow_index *quantizer, furrow_error *err) {
  if (!quantizer) return fw_fail(err, FURROW_E_STATE, "the index has no quantizer");
  const bool multi = quantizer->kind == FURROW_INDEX_MULTI && quantizer->metric == FURROW_METRIC_L2;
  if (multi) return check_halves(quantizer, err);
  const bool graph = quantizer->kind == FURROW_INDEX_HNSW && quantizer->child[0]->kind == FURROW_INDEX_FLAT;
  if ((graph || quantizer->kind == FURROW_INDEX_FLAT) && is_l2_or_ip(quantizer->metric)) return FURROW_OK;
  return fail_kind(quantizer, "a quantizer of ", "cannot be searched", err);
}

static furrow_status check_refine(const furrow_index *index, furrow_error *err) {
  const furrow_index *refine = index->child[1];
  if (fw_index_row_size(refine) == 0) return fail_kind(refine, "", "cannot be searched as a refinement", err);
  FW_TRY(check_metric(refine, err));
  return fw_index_check_searchable(index->child[0], err);
}

furrow_status fw_index_check_searchable(const furrow_index *index, furrow_error *err) {
  if (!index->trained) return fw_fail(err, FURROW_E_STATE, "the index is not trained");
  FW_TRY(check_metric(index, err));
  switch (index->kind) {
  case FURROW_INDEX_FLAT:
  case FURROW_INDEX_SQ: return FURROW_OK;
  case FURROW_INDEX_HNSW:
    if (index->child[0]->metric != index->metric)
      return fail_kind(index, "", "has another metric than its vectors", err);
    if (index->child[0]->kind != FURROW_INDEX_PQ || !index->child[0]->pq.encode_signs) return FURROW_OK;
    return fail_kind(index, "", "can only be searched by distances", err);
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST:
    if (index->pq.search_type == 0) return FURROW_OK;
    return fail_kind(index, "", "can only be searched by distances", err);
  case FURROW_INDEX_MULTI: return fail_kind(index, "", "cannot be searched", err);
  case FURROW_INDEX_REFINE: return check_refine(index, err);
  case FURROW_INDEX_TRANSFORM:
    FW_TRY(fw_transforms_check(&index->transforms, err));
    return fw_index_check_searchable(index->child[0], err);
  case FURROW_INDEX_ID_MAP: return fw_index_check_searchable(index->child[0], err);
  default: break;
  }
  if (index->kind == FURROW_INDEX_IVF_PQR && index->metric != FURROW_METRIC_L2)
    return fail_kind(index, "", "can only be searched by L2", err);
  FW_TRY(fw_lists_check_contents(&index->ivf.lists, err));
  return check_quantizer(index->child[0], err);
}
