/* vector/index/reconstruct.c: decodes the vectors of an index. */
#include "vector/index/index.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/direct_map.h"
#include "vector/index/inverted_lists.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/sq.h"
#include "vector/quantizer/transform.h"

static furrow_status fail_not_found(int64_t id, furrow_error *err) {
  return fw_fail(err, FURROW_E_NOT_FOUND, "the index has no vector with the id %" PRId64, id);
}

/* Whether id is in 0 … ntotal - 1. */
static bool is_number(const furrow_index *index, int64_t id) {
  return id >= 0 && id < index->ntotal;
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

static furrow_status decode_pq_index(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  const fw_pq_index *own = &index->pq;
  if (!is_number(index, id)) return fail_not_found(id, err);
  if (own->encode_signs) return fw_fail(err, FURROW_E_UNSUPPORTED, "codes of signs cannot be decoded");
  fw_pq_decode(&own->pq, own->codes + (size_t)id * fw_pq_code_size(&own->pq), vector);
  return FURROW_OK;
}

static furrow_status decode_sq_index(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  const fw_sq *sq = &index->sq.sq;
  if (!is_number(index, id)) return fail_not_found(id, err);
  fw_sq_decode(sq, index->sq.codes + (size_t)id * sq->code_size, vector);
  return FURROW_OK;
}

/* A cell of a multi-index: the key is the concatenation of the numbers of the parts' centroids. */
static furrow_status decode_multi(const furrow_index *index, int64_t key, float *vector, furrow_error *err) {
  if (!is_number(index, key)) return fail_not_found(key, err);
  fw_pq_decode_key(&index->pq.pq, (uint64_t)key, vector);
  return FURROW_OK;
}

static void decode_block(const fw_ivf *ivf, const fw_list *list, size_t i, float *vector) {
  size_t dsub = fw_pq_dsub(&ivf->pq), ksub = fw_pq_ksub(&ivf->pq);
  for (size_t m = 0; m < ivf->pq.m; m++) {
    size_t c = fw_block_get(&ivf->lists, list->codes, i, m);
    memcpy(vector + m * dsub, ivf->pq.centroids + (m * ksub + c) * dsub, dsub * sizeof *vector);
  }
}

static void decode_floats(const uint8_t *code, size_t d, float *vector) {
  for (size_t i = 0; i < d; i++) {
    uint32_t word = fw_get_le32(code + 4 * i);
    memcpy(&vector[i], &word, sizeof word);
  }
}

/* Decodes an entry, without the centroid of its list. */
static void decode_entry(const furrow_index *index, const fw_list *list, size_t i, float *vector) {
  const fw_ivf *ivf = &index->ivf;
  const uint8_t *code = list->codes + i * ivf->lists.code_size;
  switch (index->kind) {
  case FURROW_INDEX_IVF_FLAT: decode_floats(code, (size_t)index->d, vector); break;
  case FURROW_INDEX_IVF_SQ: fw_sq_decode(&ivf->sq, code, vector); break;
  case FURROW_INDEX_IVF_PQ_FAST: decode_block(ivf, list, i, vector); break;
  default: fw_pq_decode(&ivf->pq, code, vector); break;
  }
}

static void add_vector(float *sum, const float *other, size_t d) {
  for (size_t i = 0; i < d; i++) sum[i] += other[i];
}

/* ---- IVF ------------------------------------------------------------------------------------------------ */

/* Adds the centroid of the list if the code is relative to it. `scratch` has d floats. */
static furrow_status add_centroid(const furrow_index *index, size_t list, float *vector, float *scratch,
                                  furrow_error *err) {
  if (index->kind == FURROW_INDEX_IVF_FLAT || !index->ivf.by_residual) return FURROW_OK;
  if (!index->child[0]) return fw_fail(err, FURROW_E_STATE, "the index has no coarse quantizer");
  furrow_status status = fw_reconstruct(index->child[0], (int64_t)list, scratch, err);
  if (status == FURROW_OK) add_vector(vector, scratch, (size_t)index->d);
  return status;
}

furrow_status fw_ivf_decode(const furrow_index *index, int64_t location, float *vector, float *scratch,
                            furrow_error *err) {
  const size_t list = fw_location_list(location);
  decode_entry(index, &index->ivf.lists.list[list], fw_location_offset(location), vector);
  return add_centroid(index, list, vector, scratch, err);
}

static furrow_status add_refinement(const furrow_index *index, int64_t id, float *vector, float *scratch,
                                    furrow_error *err) {
  const fw_ivf *ivf = &index->ivf;
  size_t size = fw_pq_code_size(&ivf->refine_pq);
  if (id < 0 || (uint64_t)id >= ivf->refine_size / size)
    return fw_fail(err, FURROW_E_STATE, "there is no refinement for the id %" PRId64, id);
  fw_pq_decode(&ivf->refine_pq, ivf->refine_codes + (size_t)id * size, scratch);
  add_vector(vector, scratch, (size_t)index->d);
  return FURROW_OK;
}

static furrow_status decode_ivf(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  void *scratch = NULL;
  furrow_status status = fw_lists_check_contents(&index->ivf.lists, err);
  if (status != FURROW_OK) return status;
  int64_t location = fw_ivf_find(&index->ivf, id);
  if (location < 0) return fail_not_found(id, err);
  status = fw_alloc(&scratch, (size_t)index->d, sizeof *vector, err);
  if (status != FURROW_OK) return status;
  status = fw_ivf_decode(index, location, vector, scratch, err);
  if (status == FURROW_OK && index->kind == FURROW_INDEX_IVF_PQR)
    status = add_refinement(index, id, vector, scratch, err);
  fw_free(scratch);
  return status;
}

/* ---- Wrapping indexes ----------------------------------------------------------------------------------- */

static furrow_status decode_mapped(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  int64_t i = 0;
  while (i < index->ntotal && index->id_map.ids[i] != id) i++;
  return i < index->ntotal ? fw_reconstruct(index->child[0], i, vector, err) : fail_not_found(id, err);
}

static furrow_status decode_transformed(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  const furrow_index *inner = index->child[0];
  void *memory = NULL;
  if (index->transforms.count == 0) return fw_reconstruct(inner, id, vector, err);
  furrow_status status = fw_alloc(&memory, (size_t)inner->d, sizeof *vector, err);
  if (status != FURROW_OK) return status;
  status = fw_reconstruct(inner, id, memory, err);
  if (status == FURROW_OK) status = fw_transforms_reverse(&index->transforms, memory, vector, err);
  fw_free(memory);
  return status;
}

furrow_status fw_reconstruct(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  switch (index->kind) {
  case FURROW_INDEX_FLAT:
    if (!is_number(index, id)) return fail_not_found(id, err);
    memcpy(vector, index->flat.vectors + (size_t)id * (size_t)index->d, (size_t)index->d * sizeof *vector);
    return FURROW_OK;
  case FURROW_INDEX_HNSW: return fw_reconstruct(index->child[0], id, vector, err);
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: return decode_pq_index(index, id, vector, err);
  case FURROW_INDEX_SQ: return decode_sq_index(index, id, vector, err);
  case FURROW_INDEX_MULTI: return decode_multi(index, id, vector, err);
  case FURROW_INDEX_ID_MAP: return decode_mapped(index, id, vector, err);
  case FURROW_INDEX_TRANSFORM: return decode_transformed(index, id, vector, err);
  case FURROW_INDEX_REFINE: return fw_reconstruct(index->child[1], id, vector, err);
  default: return decode_ivf(index, id, vector, err);
  }
}

furrow_status furrow_index_reconstruct(const furrow_index *index, int64_t id, float *vector, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_index_check_whole(index, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, (size_t)index->d, sizeof *vector, err);
  if (status != FURROW_OK) return status;
  status = fw_index_finish(index, fw_reconstruct(index, id, memory, err), err);
  if (status == FURROW_OK) memcpy(vector, memory, (size_t)index->d * sizeof *vector);
  fw_free(memory);
  return status;
}
