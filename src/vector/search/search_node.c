/* vector/search/search_node.c: searches nested indexes: id maps, transforms, then the kinds. */
#include <inttypes.h>

#include "base/error.h"
#include "vector/quantizer/transform.h"
#include "vector/search/searcher.h"

/* ---- Id maps -------------------------------------------------------------------------------------------- */

static fw_outer_ids outer_ids(const furrow_index *index, const fw_search_job *job) {
  return (fw_outer_ids){.ids = index->id_map.ids, .count = (size_t)index->ntotal, .outer = job->id_filter.outer};
}

furrow_status fw_id_map_rename(const furrow_index *index, int64_t *id, furrow_error *err) {
  if (*id >= index->ntotal)
    return fw_fail(err, FURROW_E_FORMAT,
                   "the index inside has id %" PRId64 ", but %" PRId64 " have an id in the id map", *id, index->ntotal);
  *id = *id < 0 ? -1 : index->id_map.ids[*id];
  return FURROW_OK;
}

static furrow_status search_named(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                                  furrow_error *err) {
  const fw_outer_ids outer = outer_ids(node->index, batch->job);
  fw_search_job job = *batch->job;
  fw_search_batch inner = *batch;
  job.id_filter.outer = &outer;
  job.unsorted = false; /* ties are decided by the ids inside */
  inner.job = &job;
  furrow_status status = fw_node_search(node->child, scratch, &inner, err);
  for (size_t i = 0; status == FURROW_OK && i < batch->n * batch->k; i++)
    status = fw_id_map_rename(node->index, &batch->ids[i], err);
  return status;
}

static furrow_status range_named(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                                 fw_sink *sink, furrow_error *err) {
  const fw_outer_ids outer = outer_ids(node->index, job);
  fw_search_job inner = *job;
  inner.id_filter.outer = &outer;
  furrow_status status = fw_node_range(node->child, scratch, query, &inner, sink, err);
  for (size_t i = 0; status == FURROW_OK && i < sink->hit_count; i++)
    status = fw_id_map_rename(node->index, &sink->hits[i].id, err);
  return status;
}

/* ---- Transforms ----------------------------------------------------------------------------------------- */

furrow_status fw_node_transform(const fw_node *node, fw_scratch *scratch, const float **queries, size_t n,
                                furrow_error *err) {
  const fw_transforms *transforms = &node->index->transforms;
  void *work = NULL;
  const furrow_status status =
      fw_arena_take(&scratch->arena, &work, (2 * n + 1) * fw_transforms_width(transforms), sizeof(float), err);
  if (status == FURROW_OK) *queries = fw_transforms_apply(transforms, *queries, n, work);
  return status;
}

static furrow_status search_transformed(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                                        furrow_error *err) {
  fw_search_batch inner = *batch;
  FW_TRY(fw_node_transform(node, scratch, &inner.queries, inner.n, err));
  return fw_node_search(node->child, scratch, &inner, err);
}

/* ---- Any kind ------------------------------------------------------------------------------------------- */

furrow_status fw_node_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                             furrow_error *err) {
  switch (node->index->kind) {
  case FURROW_INDEX_TRANSFORM: return search_transformed(node, scratch, batch, err);
  case FURROW_INDEX_ID_MAP: return search_named(node, scratch, batch, err);
  case FURROW_INDEX_REFINE: return fw_refine_search(node, scratch, batch, err);
  case FURROW_INDEX_IVF_PQR: return fw_pqr_search(node, scratch, batch, err);
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: return fw_pq_search(node, scratch, batch, err);
  case FURROW_INDEX_FLAT:
  case FURROW_INDEX_SQ:
  case FURROW_INDEX_HNSW: return fw_flat_search(node, scratch, batch, err);
  default: return fw_ivf_search(node, scratch, batch, err);
  }
}

furrow_status fw_node_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                            fw_sink *sink, furrow_error *err) {
  furrow_status status = FURROW_OK;
  switch (node->index->kind) {
  case FURROW_INDEX_TRANSFORM:
    status = fw_node_transform(node, scratch, &query, 1, err);
    if (status != FURROW_OK) return status;
    return fw_node_range(node->child, scratch, query, job, sink, err);
  case FURROW_INDEX_ID_MAP: return range_named(node, scratch, query, job, sink, err);
  case FURROW_INDEX_REFINE: return fw_fail(err, FURROW_E_UNSUPPORTED, "a refined index cannot be searched by radius");
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: return fw_pq_range(node, scratch, query, job, sink, err);
  case FURROW_INDEX_FLAT:
  case FURROW_INDEX_SQ:
  case FURROW_INDEX_HNSW: return fw_flat_range(node, scratch, query, job, sink, err);
  default: return fw_ivf_range(node, scratch, query, job, sink, err);
  }
}
