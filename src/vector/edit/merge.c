/* vector/edit/merge.c: appends the vectors of one index to another. All checks and allocations come first, then the
 * index changes. */
#include "vector/edit/merge.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/direct_map.h"
#include "vector/index/index.h"
#include "vector/index/inverted_lists.h"

/* ---- Whether two indexes agree --------------------------------------------------------------------------- */

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
  FW_TRY(check_quantities(quantities, 2, err));
  bool same = same_floats(a->centroids, a->d << a->nbits, b->centroids, b->d << b->nbits);
  return same ? FURROW_OK : differ(what, err);
}

static furrow_status check_sq(const fw_sq *a, const fw_sq *b, furrow_error *err) {
  const quantity qtype = {"the type of the scalar quantizer", (uint64_t)a->qtype, (uint64_t)b->qtype};
  FW_TRY(check_quantities(&qtype, 1, err));
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

typedef struct merging {
  int64_t id_shift; /* of ids that the caller knows */
  int64_t count;    /* vectors before merging, which is added to dense ids */
  bool dense_ids;   /* at this point of the tree, ids are 0 … ntotal-1 */
  fw_map_rebuild renewal;
} merging;

/* ---- Ids ------------------------------------------------------------------------------------------------ */

static furrow_status check_shifted(int64_t id, int64_t id_shift, furrow_error *err) {
  int64_t sum;
  if (!__builtin_add_overflow(id, id_shift, &sum)) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "the id %" PRId64 " cannot be increased by %" PRId64, id, id_shift);
}

furrow_status fw_ids_check_shift(const int64_t *ids, size_t count, int64_t id_shift, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; id_shift != 0 && status == FURROW_OK && i < count; i++)
    status = check_shifted(ids[i], id_shift, err);
  return status;
}

furrow_status fw_lists_check_shift(const fw_lists *lists, int64_t id_shift, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; id_shift != 0 && lists->list && status == FURROW_OK && i < lists->nlist; i++)
    for (size_t k = 0; status == FURROW_OK && k < lists->list[i].size; k++)
      status = check_shifted(fw_list_id(&lists->list[i], k), id_shift, err);
  return status;
}

furrow_status fw_merge_check_shift(const furrow_index *index, int64_t ntotal, int64_t id_shift, furrow_error *err) {
  if (!fw_index_has_dense_ids(index) || id_shift == 0 || id_shift == ntotal) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT,
                 "ids of %s are dense: those that are added continue at %" PRId64
                 ", and cannot be increased by %" PRId64,
                 furrow_index_kind_name(fw_skip_transforms(index)->kind), ntotal, id_shift);
}

/* ---- Preparing ------------------------------------------------------------------------------------------ */

static int64_t shift_of(const merging *m) {
  return m->dense_ids ? m->count : m->id_shift;
}

/* An array has an element for each id, also for those that are added. */
static furrow_status check_array(const merging *m, const fw_lists *others, int64_t ntotal, furrow_error *err) {
  for (size_t i = 0; others->list && i < others->nlist; i++) {
    for (size_t k = 0; k < others->list[i].size; k++) {
      int64_t id = fw_list_id(&others->list[i], k) + shift_of(m);
      if (id < 0 || id >= ntotal)
        return fw_fail(err, FURROW_E_STATE,
                       "the direct map is an array, which would need ids below %" PRId64 ", but %" PRId64 " comes",
                       ntotal, id);
    }
  }
  return FURROW_OK;
}

static furrow_status reserve_lists(fw_lists *lists, const fw_lists *others, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < lists->nlist; i++) {
    size_t more = fw_lists_size(others, i);
    if (more > 0) status = fw_list_reserve(lists, i, lists->list[i].size + more, err);
  }
  return status;
}

static furrow_status reserve_rows(void **rows, int64_t count, int64_t more, size_t size, furrow_error *err) {
  return fw_realloc(rows, (size_t)(count + more), size, err);
}

static furrow_status reserve_refinement(furrow_index *index, const furrow_index *other, furrow_error *err) {
  void *codes = index->ivf.refine_codes;
  if (index->kind != FURROW_INDEX_IVF_PQR) return FURROW_OK;
  furrow_status status = fw_realloc(&codes, index->ivf.refine_size + other->ivf.refine_size, 1, err);
  if (status == FURROW_OK) index->ivf.refine_codes = codes;
  return status;
}

static furrow_status prepare_ivf(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err) {
  fw_lists *lists = &index->ivf.lists;
  const fw_lists *others = &other->ivf.lists;
  furrow_direct_map type = index->ivf.direct_map.type;
  int64_t ntotal = index->ntotal + other->ntotal;
  furrow_status status = fw_lists_check_contents(others, err);
  if (status == FURROW_OK) status = fw_lists_begin_edit(lists, err);
  if (status == FURROW_OK && m->dense_ids) status = fw_lists_check_ids(others, (size_t)other->ntotal, err);
  if (status == FURROW_OK) status = fw_lists_check_shift(others, shift_of(m), err);
  if (status == FURROW_OK && type == FURROW_DIRECT_MAP_ARRAY) status = check_array(m, others, ntotal, err);
  if (status == FURROW_OK) status = reserve_lists(lists, others, err);
  if (status == FURROW_OK) status = reserve_refinement(index, other, err);
  if (status == FURROW_OK)
    status = fw_map_rebuild_create(&m->renewal, type, (size_t)(fw_lists_stored(lists) + fw_lists_stored(others)),
                                   (size_t)ntotal, err);
  return status;
}

static furrow_status prepare(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err);

static furrow_status prepare_id_map(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err) {
  void *ids = index->id_map.ids;
  furrow_status status = fw_ids_check_shift(other->id_map.ids, (size_t)other->ntotal, shift_of(m), err);
  if (status == FURROW_OK) status = reserve_rows(&ids, index->ntotal, other->ntotal, sizeof *index->id_map.ids, err);
  if (status != FURROW_OK) return status;
  index->id_map.ids = ids;
  merging inner = *m;
  inner.dense_ids = true;
  status = prepare(&inner, index->child[0], other->child[0], err);
  m->renewal = inner.renewal;
  return status;
}

static furrow_status prepare_rows(furrow_index *index, const furrow_index *other, furrow_error *err) {
  bool flat = index->kind == FURROW_INDEX_FLAT;
  void *rows = flat ? (void *)index->flat.vectors : index->pq.codes;
  size_t size = flat ? (size_t)index->d * sizeof(float) : fw_pq_code_size(&index->pq.pq);
  FW_TRY(reserve_rows(&rows, index->ntotal, other->ntotal, size, err));
  if (flat)
    index->flat.vectors = rows;
  else
    index->pq.codes = rows;
  return FURROW_OK;
}

static const char *why_not(const furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_HNSW: return "an HNSW graph would have to be built again";
  case FURROW_INDEX_MULTI: return "a multi-index has no vectors of its own";
  case FURROW_INDEX_REFINE:
    return fw_index_is_ivf(index->child[1]) ? "the refinement is an index with inverted lists" : NULL;
  default: return NULL;
  }
}

static furrow_status prepare(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err) {
  const char *reason = why_not(index);
  if (reason) return fw_fail(err, FURROW_E_UNSUPPORTED, "the indexes cannot be merged: %s", reason);
  if (m->dense_ids && index->ntotal != m->count)
    return fw_fail(err, FURROW_E_STATE, "%s has %" PRId64 " %s, but what is around has %" PRId64,
                   furrow_index_kind_name(index->kind), index->ntotal,
                   fw_plural((uint64_t)index->ntotal, "vector", "vectors"), m->count);
  if (index->ntotal > INT64_MAX - other->ntotal) return fw_fail(err, FURROW_E_RANGE, "there are too many vectors");
  if (fw_index_is_ivf(index)) return prepare_ivf(m, index, other, err);
  if (index->kind == FURROW_INDEX_ID_MAP) return prepare_id_map(m, index, other, err);
  if (index->kind == FURROW_INDEX_FLAT || index->kind == FURROW_INDEX_PQ) return prepare_rows(index, other, err);
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    status = prepare(m, index->child[i], other->child[i], err);
  return status;
}

/* ---- Changing ------------------------------------------------------------------------------------------- */

static void append_rows(void *rows, int64_t count, const void *others, int64_t more, size_t size) {
  if (more > 0) memcpy((uint8_t *)rows + (size_t)count * size, others, (size_t)more * size);
}

static void change_ivf(merging *m, furrow_index *index, const furrow_index *other) {
  fw_ivf *ivf = &index->ivf;
  for (size_t i = 0; i < ivf->nlist; i++)
    if (fw_lists_size(&other->ivf.lists, i) > 0)
      fw_list_append_list(&ivf->lists, &ivf->lists.list[i], &other->ivf.lists.list[i], shift_of(m));
  if (index->kind == FURROW_INDEX_IVF_PQR) {
    append_rows(ivf->refine_codes, (int64_t)ivf->refine_size, other->ivf.refine_codes, (int64_t)other->ivf.refine_size,
                1);
    ivf->refine_size += other->ivf.refine_size;
  }
  fw_lists_end_edit(&ivf->lists);
  fw_map_rebuild_finish(&m->renewal, ivf);
}

static void change_id_map(merging *m, furrow_index *index, const furrow_index *other) {
  for (int64_t i = 0; i < other->ntotal; i++) index->id_map.ids[index->ntotal + i] = other->id_map.ids[i] + shift_of(m);
  m->dense_ids = true;
}

static void change(merging *m, furrow_index *index, const furrow_index *other) {
  int64_t count = index->ntotal, more = other->ntotal;
  if (fw_index_is_ivf(index)) change_ivf(m, index, other);
  if (index->kind == FURROW_INDEX_ID_MAP) change_id_map(m, index, other);
  if (index->kind == FURROW_INDEX_FLAT)
    append_rows(index->flat.vectors, count, other->flat.vectors, more, (size_t)index->d * sizeof(float));
  if (index->kind == FURROW_INDEX_PQ) {
    append_rows(index->pq.codes, count, other->pq.codes, more, fw_pq_code_size(&index->pq.pq));
    index->pq.codes_size += other->pq.codes_size;
  }
  for (size_t i = 0; !fw_index_is_ivf(index) && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    change(m, index->child[i], other->child[i]);
  index->ntotal = index->kind == FURROW_INDEX_TRANSFORM ? index->child[0]->ntotal : count + more;
}

furrow_status furrow_index_merge(furrow_index *index, const furrow_index *other, int64_t id_shift, furrow_error *err) {
  if (index == other) return fw_fail(err, FURROW_E_ARGUMENT, "an index cannot be merged with itself");
  merging m = {.id_shift = id_shift, .count = index->ntotal, .dense_ids = fw_index_has_dense_ids(index)};
  furrow_status status = fw_index_check_whole(index, err);
  if (status == FURROW_OK) status = fw_index_check_whole(other, err);
  if (status == FURROW_OK) status = fw_check_same_quantizers(index, other, err);
  if (status == FURROW_OK) status = fw_merge_check_shift(index, index->ntotal, id_shift, err);
  if (status == FURROW_OK) status = prepare(&m, index, other, err);
  if (status == FURROW_OK) {
    change(&m, index, other);
    index->next_id = 0;
  }
  fw_map_rebuild_clear(&m.renewal);
  return fw_index_finish(index, fw_index_finish(other, status, err), err);
}
