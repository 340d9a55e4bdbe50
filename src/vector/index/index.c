/* vector/index/index.c: an index in memory: creation, freeing, information. */
#include "vector/index/index.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/file_map.h"
#include "vector/index/index_card.h"

/* ---- Quantizers, prepared for new vectors --------------------------------------------------------------- */

furrow_status fw_assigner_create(fw_assigner *assigner, const furrow_index *quantizer, furrow_error *err) {
  const furrow_index *flat = quantizer && quantizer->kind == FURROW_INDEX_HNSW ? quantizer->child[0] : quantizer;
  if (quantizer && quantizer->kind == FURROW_INDEX_MULTI)
    return fw_assigner_over_multi(assigner, &quantizer->pq.pq, err);
  if (!flat || flat->kind != FURROW_INDEX_FLAT)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors cannot be assigned to lists by this coarse quantizer (%s)",
                   flat ? furrow_index_kind_name(flat->kind) : "none");
  if (flat->metric != FURROW_METRIC_L2 && flat->metric != FURROW_METRIC_IP)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors cannot be assigned to lists by %s",
                   furrow_distance_metric_name(flat->metric));
  return fw_assigner_over(assigner, flat->flat.vectors, (size_t)flat->ntotal, (size_t)flat->d, flat->metric, err);
}

static furrow_status fill_encoder(fw_encoder *e, const furrow_index *index, furrow_error *err) {
  if (!fw_index_is_ivf(index)) return fw_pq_coder_create(&e->coder, &index->pq.pq, err);
  const fw_ivf *ivf = &index->ivf;
  FW_TRY(fw_assigner_create(&e->assigner, index->child[0], err));
  if (ivf->pq.m > 0) FW_TRY(fw_pq_coder_create(&e->coder, &ivf->pq, err));
  if (ivf->refine_pq.m > 0) FW_TRY(fw_pq_coder_create(&e->refine_coder, &ivf->refine_pq, err));
  return FURROW_OK;
}

static void encoder_free(fw_encoder *encoder) {
  if (!encoder) return;
  fw_assigner_clear(&encoder->assigner);
  fw_pq_coder_clear(&encoder->coder);
  fw_pq_coder_clear(&encoder->refine_coder);
  fw_free(encoder);
}

furrow_status fw_encoder_get(furrow_index *index, const float *vectors, size_t n, const fw_encoder **encoder,
                             furrow_error *err) {
  void *memory = NULL;
  furrow_status status = FURROW_OK;
  if (!index->encoder) {
    status = fw_alloc_zero(&memory, 1, sizeof *index->encoder, err);
    if (status == FURROW_OK) status = fill_encoder(memory, index, err);
    if (status != FURROW_OK) {
      encoder_free(memory);
      return status;
    }
    index->encoder = memory;
  }
  *encoder = index->encoder;
  return fw_assigner_expect(&index->encoder->assigner, vectors, n, err);
}

/* ---- Creation and destruction --------------------------------------------------------------------------- */

furrow_status fw_index_create(furrow_index **index, furrow_index_kind kind, int32_t d, furrow_distance_metric metric,
                              furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof **index, err));
  furrow_index *made = memory;
  made->kind = kind;
  memcpy(made->fourcc, fw_index_name_of(kind, metric)->written_as, 4);
  memcpy(made->read_as, made->fourcc, 4);
  made->d = d;
  made->dummy[0] = made->dummy[1] = FW_INDEX_DUMMY;
  made->metric = metric;
  *index = made;
  return FURROW_OK;
}

furrow_status fw_index_check_whole(const furrow_index *index, furrow_error *err) {
  if (!index->search_only) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE,
                 "the index was loaded with search_only, so that its codes cannot be read or changed");
}

static furrow_status check_maps(const furrow_index *index, furrow_error *err) {
  if (fw_index_is_ivf(index)) FW_TRY(fw_file_map_check(index->ivf.lists.map, err));
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) FW_TRY(check_maps(index->child[i], err));
  return FURROW_OK;
}

furrow_status fw_index_finish(const furrow_index *index, furrow_status status, furrow_error *err) {
  const furrow_status maps = check_maps(index, err);
  return maps == FURROW_OK ? status : maps;
}

furrow_status fw_lists_allocate(fw_lists *lists, furrow_error *err) {
  if (lists->list) return FURROW_OK;
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, lists->nlist, sizeof *lists->list, err);
  if (status == FURROW_OK) lists->list = memory;
  return status;
}

static void disk_free(fw_disk *disk) {
  if (!disk) return;
  fw_file_map_close(disk->map);
  fw_input_close(disk->held);
  fw_free(disk->lists);
  fw_free(disk->slots);
  fw_free(disk->file_name);
  fw_free(disk->path);
  fw_free(disk);
}

void fw_lists_clear(fw_lists *lists) {
  for (size_t i = 0; lists->list && i < lists->nlist; i++) {
    if (lists->list[i].capacity == 0) continue;
    fw_free(lists->list[i].codes);
    fw_free(lists->list[i].ids);
  }
  fw_free(lists->list);
  fw_free(lists->codes);
  fw_free(lists->ids);
  fw_free(lists->order);
  disk_free(lists->disk);
  *lists = (fw_lists){0};
}

static void ivf_clear(fw_ivf *ivf) {
  fw_free(ivf->direct_map.locations);
  fw_free(ivf->direct_map.pairs);
  fw_lists_clear(&ivf->lists);
  fw_free(ivf->pq.centroids);
  fw_free(ivf->refine_pq.centroids);
  fw_free(ivf->refine_codes);
  fw_free(ivf->sq.trained);
}

static void hnsw_clear(fw_hnsw *graph) {
  fw_free(graph->probas);
  fw_free(graph->cum);
  fw_free(graph->levels);
  fw_free(graph->offsets);
  fw_free(graph->neighbors);
}

void furrow_index_free(furrow_index *index) {
  if (!index) return;
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++) furrow_index_free(index->child[i]);
  switch (index->kind) {
  case FURROW_INDEX_FLAT: fw_free(index->flat.vectors); break;
  case FURROW_INDEX_HNSW: hnsw_clear(&index->hnsw); break;
  case FURROW_INDEX_SQ:
    fw_free(index->sq.sq.trained);
    fw_free(index->sq.codes);
    break;
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST:
  case FURROW_INDEX_MULTI:
    fw_free(index->pq.pq.centroids);
    fw_free(index->pq.codes);
    fw_free(index->pq.packed_memory);
    fw_free(index->pq.order);
    break;
  case FURROW_INDEX_ID_MAP: fw_free(index->id_map.ids); break;
  case FURROW_INDEX_TRANSFORM: fw_transforms_clear(&index->transforms); break;
  case FURROW_INDEX_REFINE: break;
  default: ivf_clear(&index->ivf); break;
  }
  encoder_free(index->encoder);
  fw_file_map_close(index->map);
  fw_input_close(index->held);
  fw_card_free(index->card);
  fw_free(index);
}

/* ---- Information ---------------------------------------------------------------------------------------- */

const fw_pq *fw_index_pq(const furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST:
  case FURROW_INDEX_MULTI: return &index->pq.pq;
  case FURROW_INDEX_IVF_PQ:
  case FURROW_INDEX_IVF_PQR:
  case FURROW_INDEX_IVF_PQ_FAST: return &index->ivf.pq;
  default: return NULL;
  }
}

const fw_sq *fw_index_sq(const furrow_index *index) {
  return index->kind == FURROW_INDEX_SQ ? &index->sq.sq : index->kind == FURROW_INDEX_IVF_SQ ? &index->ivf.sq : NULL;
}

size_t fw_index_row_size(const furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_FLAT: return (size_t)index->d * sizeof(float);
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: return fw_pq_code_size(&index->pq.pq);
  case FURROW_INDEX_SQ: return index->sq.sq.code_size;
  default: return 0;
  }
}

void *fw_index_rows(const furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_FLAT: return index->flat.vectors;
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: return index->pq.codes;
  case FURROW_INDEX_SQ: return index->sq.codes;
  default: return NULL;
  }
}

void fw_index_set_rows(furrow_index *index, void *rows) {
  switch (index->kind) {
  case FURROW_INDEX_FLAT: index->flat.vectors = rows; break;
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: index->pq.codes = rows; break;
  case FURROW_INDEX_SQ: index->sq.codes = rows; break;
  default: break;
  }
}

size_t fw_lists_code_bytes(const fw_lists *lists, size_t i) {
  size_t size = fw_lists_size(lists, i);
  if (lists->kind != FURROW_LISTS_BLOCKS) return size * lists->code_size;
  return (size / lists->block_vectors + (size % lists->block_vectors != 0)) * lists->block_bytes;
}

uint64_t fw_lists_stored(const fw_lists *lists) {
  uint64_t stored = 0;
  for (size_t i = 0; lists->list && i < lists->nlist; i++) stored += lists->list[i].size;
  return stored;
}

bool fw_lists_are_full(const fw_lists *lists) {
  size_t used = 0;
  if (lists->sizes_form != FW_SIZES_BY_RULE) return lists->sizes_form == FW_SIZES_FULL;
  for (size_t i = 0; lists->list && i < lists->nlist; i++) used += lists->list[i].size > 0;
  return used > lists->nlist / 2;
}

static void ivf_info(const fw_ivf *ivf, furrow_index_info *info) {
  info->nlist = ivf->nlist;
  info->nprobe = ivf->nprobe;
  info->stored = fw_lists_stored(&ivf->lists);
  info->code_size = ivf->code_size;
  info->by_residual = ivf->by_residual;
  info->direct_map = ivf->direct_map.type;
  info->lists = ivf->lists.kind;
  info->lists_file = ivf->lists.kind == FURROW_LISTS_ON_DISK ? ivf->lists.disk->file_name : NULL;
  info->lists_missing = ivf->lists.disk && ivf->lists.disk->missing;
}

static void hnsw_info(const furrow_index *index, furrow_index_info *info) {
  const fw_hnsw *graph = &index->hnsw;
  info->max_level = graph->max_level;
  info->ef_construction = graph->ef_construction;
  info->ef_search = graph->ef_search;
  uint64_t link_slots = graph->offsets ? graph->offsets[index->ntotal] : 0;
  for (uint64_t i = 0; i < link_slots; i++) info->links += graph->neighbors[i] >= 0;
}

void furrow_index_get_info(const furrow_index *index, furrow_index_info *info) {
  furrow_index_info full = {.kind = index->kind,
                            .d = index->d,
                            .ntotal = index->ntotal,
                            .trained = index->trained,
                            .metric = index->metric,
                            .metric_arg = index->metric_arg};
  memcpy(full.fourcc, index->read_as, 4);
  const fw_pq *pq = fw_index_pq(index);
  if (pq) {
    full.m = pq->m;
    full.nbits = pq->nbits;
  }
  if (index->kind != FURROW_INDEX_FLAT) full.code_size = fw_index_row_size(index);
  if (fw_index_is_ivf(index)) ivf_info(&index->ivf, &full);
  if (index->kind == FURROW_INDEX_HNSW) hnsw_info(index, &full);
  if (index->kind == FURROW_INDEX_TRANSFORM) full.transforms = index->transforms.count;
  if (index->kind == FURROW_INDEX_REFINE) full.k_factor = index->k_factor;
  if (index->kind == FURROW_INDEX_IVF_PQR) {
    full.refine_m = index->ivf.refine_pq.m;
    full.refine_nbits = index->ivf.refine_pq.nbits;
    full.k_factor = index->ivf.k_factor;
  }
  fw_info_write(info, &full, sizeof full);
}

const furrow_index *furrow_index_child(const furrow_index *index, size_t i) {
  return i < FW_INDEX_CHILDREN ? index->child[i] : NULL;
}

const furrow_index *furrow_index_ivf(const furrow_index *index) {
  while (index && !fw_index_is_ivf(index)) {
    bool wraps = index->kind == FURROW_INDEX_ID_MAP || index->kind == FURROW_INDEX_TRANSFORM ||
                 index->kind == FURROW_INDEX_REFINE;
    index = wraps ? index->child[0] : NULL;
  }
  return index;
}

furrow_status furrow_index_get_transform_info(const furrow_index *index, size_t i, furrow_transform_info *info,
                                              furrow_error *err) {
  if (index->kind != FURROW_INDEX_TRANSFORM || i >= index->transforms.count)
    return fw_fail(err, FURROW_E_ARGUMENT, "the index has no transform %zu", i);
  const fw_transform *t = &index->transforms.list[i];
  furrow_transform_info full = {.d_in = t->d_in, .d_out = t->d_out, .trained = t->trained};
  memcpy(full.fourcc, t->fourcc, 4);
  fw_info_write(info, &full, sizeof full);
  return FURROW_OK;
}

furrow_status furrow_index_list(const furrow_index *index, uint64_t list, furrow_list_view *view, furrow_error *err) {
  if (!fw_index_is_ivf(index)) return fw_fail(err, FURROW_E_ARGUMENT, "the index has no inverted lists");
  if (list >= index->ivf.nlist)
    return fw_fail(err, FURROW_E_ARGUMENT, "there is no list %llu: nlist is %zu", (unsigned long long)list,
                   index->ivf.nlist);
  const fw_lists *lists = &index->ivf.lists;
  FW_TRY(fw_file_map_check(lists->map, err));
  *view = (furrow_list_view){.code_size = lists->code_size};
  if (!lists->list) return FURROW_OK;
  view->count = lists->list[list].size;
  view->codes = lists->packed ? NULL : lists->list[list].codes;
  view->ids = lists->list[list].ids;
  return FURROW_OK;
}

int64_t furrow_list_id(const furrow_list_view *view, size_t i) {
  return (int64_t)fw_get_le64(view->ids + 8 * i);
}
