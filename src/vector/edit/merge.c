/* vector/edit/merge.c: appends the vectors of one index to another, and merges index files.
 *
 * In memory, all checks and allocations come first, then the index changes. Files are merged list by list. They are
 * mapped: memory holds the quantizers of the first file, and the sizes and offsets of the lists of each file. Indexes
 * that have more than lists (refinements, flat vectors) are merged in memory. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/file/index_write.h"
#include "vector/index/direct_map.h"
#include "vector/index/index.h"
#include "vector/index/index_card.h"
#include "vector/index/inverted_lists.h"
#include "vector/index/stored_ids.h"

/* ---- Checks that two indexes are compatible ------------------------------------------------------------- */

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

/* Quantizers may be of different kinds (flat, graph) if list i has the same centroid in both. */
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
  FW_TRY(check_quantities(quantities, sizeof quantities / sizeof *quantities, err));
  if (fw_index_pq(a)) FW_TRY(check_pq(&x->pq, &y->pq, "the product quantizers", err));
  if (a->kind == FURROW_INDEX_IVF_PQR)
    FW_TRY(check_pq(&x->refine_pq, &y->refine_pq, "the quantizers of the refinements", err));
  if (a->kind == FURROW_INDEX_IVF_SQ) FW_TRY(check_sq(&x->sq, &y->sq, err));
  return check_centroids(a->child[0], b->child[0], x->nlist, err);
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

/* Checks that two indexes have the same kinds, dimensions, metric, transforms, centroids and quantizers, so that both
 * store the same code for a vector. Fails with E_ARGUMENT and names the difference. */
static furrow_status check_same_quantizers(const furrow_index *a, const furrow_index *b, furrow_error *err) {
  furrow_status status = check_header(a, b, err);
  if (status != FURROW_OK || a->kind == FURROW_INDEX_FLAT || a->kind == FURROW_INDEX_HNSW) return status;
  if (fw_index_is_ivf(a)) return check_ivf(a, b, err);
  if (fw_index_pq(a)) return check_pq(&a->pq.pq, &b->pq.pq, "the product quantizers", err);
  if (fw_index_sq(a)) return check_sq(&a->sq.sq, &b->sq.sq, err);
  if (a->kind == FURROW_INDEX_TRANSFORM) status = check_transforms(&a->transforms, &b->transforms, err);
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && a->child[i]; i++)
    status = check_same_quantizers(a->child[i], b->child[i], err);
  return status;
}

typedef struct merging {
  int64_t id_shift; /* added to the caller's ids */
  int64_t count;    /* vectors before merging, added to dense ids */
  bool dense_ids;   /* ids at this level of the tree are 0 … ntotal-1 */
  fw_map_rebuild renewal;
} merging;

/* ---- Ids ------------------------------------------------------------------------------------------------ */

static furrow_status check_shifted(int64_t id, int64_t id_shift, furrow_error *err) {
  int64_t sum;
  if (!__builtin_add_overflow(id, id_shift, &sum)) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "the id %" PRId64 " cannot be increased by %" PRId64, id, id_shift);
}

/* Fails with E_RANGE if an id plus id_shift does not fit in 64 bits. */
static furrow_status check_id_shift(const int64_t *ids, size_t count, int64_t id_shift, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; id_shift != 0 && status == FURROW_OK && i < count; i++)
    status = check_shifted(ids[i], id_shift, err);
  return status;
}

/* Like check_id_shift, for the ids of all lists, whose contents must be present. */
static furrow_status check_list_shift(const fw_lists *lists, int64_t id_shift, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; id_shift != 0 && lists->list && status == FURROW_OK && i < lists->nlist; i++)
    for (size_t k = 0; status == FURROW_OK && k < lists->list[i].size; k++)
      status = check_shifted(fw_list_id(&lists->list[i], k), id_shift, err);
  return status;
}

/* Dense ids of added vectors continue at `ntotal`: fails with E_ARGUMENT if id_shift is neither that nor 0. */
static furrow_status check_dense_shift(const furrow_index *index, int64_t ntotal, int64_t id_shift, furrow_error *err) {
  if (!fw_index_has_dense_ids(index) || id_shift == 0 || id_shift == ntotal) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT,
                 "ids of %s are dense: new ids continue at %" PRId64 ", and cannot be increased by %" PRId64,
                 furrow_index_kind_name(fw_skip_transforms(index)->kind), ntotal, id_shift);
}

/* ---- Preparation ---------------------------------------------------------------------------------------- */

static int64_t shift_of(const merging *m) {
  return m->dense_ids ? m->count : m->id_shift;
}

/* An array direct map needs an element for each id, including the added ones. */
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
  FW_TRY(fw_lists_check_contents(others, err));
  FW_TRY(fw_lists_begin_edit(lists, err));
  if (m->dense_ids) FW_TRY(fw_lists_check_ids(others, (size_t)other->ntotal, err));
  FW_TRY(check_list_shift(others, shift_of(m), err));
  if (type == FURROW_DIRECT_MAP_ARRAY) FW_TRY(check_array(m, others, ntotal, err));
  FW_TRY(reserve_lists(lists, others, err));
  FW_TRY(reserve_refinement(index, other, err));
  return fw_map_rebuild_create(&m->renewal, type, (size_t)(fw_lists_stored(lists) + fw_lists_stored(others)),
                               (size_t)ntotal, err);
}

static furrow_status prepare_merge(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err);

static furrow_status prepare_id_map(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err) {
  void *ids = index->id_map.ids;
  furrow_status status = check_id_shift(other->id_map.ids, (size_t)other->ntotal, shift_of(m), err);
  if (status == FURROW_OK) status = reserve_rows(&ids, index->ntotal, other->ntotal, sizeof *index->id_map.ids, err);
  if (status != FURROW_OK) return status;
  index->id_map.ids = ids;
  merging inner = *m;
  inner.dense_ids = true;
  status = prepare_merge(&inner, index->child[0], other->child[0], err);
  m->renewal = inner.renewal;
  return status;
}

static furrow_status prepare_rows(furrow_index *index, const furrow_index *other, furrow_error *err) {
  void *rows = fw_index_rows(index);
  FW_TRY(reserve_rows(&rows, index->ntotal, other->ntotal, fw_index_row_size(index), err));
  fw_index_set_rows(index, rows);
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

static furrow_status prepare_merge(merging *m, furrow_index *index, const furrow_index *other, furrow_error *err) {
  const char *reason = why_not(index);
  if (reason) return fw_fail(err, FURROW_E_UNSUPPORTED, "the indexes cannot be merged: %s", reason);
  if (m->dense_ids && index->ntotal != m->count)
    return fw_fail(err, FURROW_E_STATE, "%s has %" PRId64 " %s, but the index around it has %" PRId64,
                   furrow_index_kind_name(index->kind), index->ntotal,
                   fw_plural((uint64_t)index->ntotal, "vector", "vectors"), m->count);
  if (index->ntotal > INT64_MAX - other->ntotal) return fw_fail(err, FURROW_E_RANGE, "there are too many vectors");
  if (fw_index_is_ivf(index)) return prepare_ivf(m, index, other, err);
  if (index->kind == FURROW_INDEX_ID_MAP) return prepare_id_map(m, index, other, err);
  if (fw_index_row_size(index) > 0) return prepare_rows(index, other, err);
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    status = prepare_merge(m, index->child[i], other->child[i], err);
  return status;
}

/* ---- Changes -------------------------------------------------------------------------------------------- */

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

static void change_index(merging *m, furrow_index *index, const furrow_index *other) {
  int64_t count = index->ntotal, more = other->ntotal;
  if (fw_index_is_ivf(index)) change_ivf(m, index, other);
  if (index->kind == FURROW_INDEX_ID_MAP) change_id_map(m, index, other);
  append_rows(fw_index_rows(index), count, fw_index_rows(other), fw_index_row_size(index) > 0 ? more : 0,
              fw_index_row_size(index));
  for (size_t i = 0; !fw_index_is_ivf(index) && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    change_index(m, index->child[i], other->child[i]);
  index->ntotal = index->kind == FURROW_INDEX_TRANSFORM ? index->child[0]->ntotal : count + more;
}

/* The ids that an index had, as ids of the index that it becomes part of. */
static int64_t shifted_least_id(const furrow_index *index, int64_t id_shift) {
  return index->least_id > 0 && id_shift < FW_IDS_END ? index->least_id + id_shift : 0;
}

/* The index keeps a card if both have one. */
static void join_cards(furrow_index *index, const furrow_index *other) {
  if (fw_card_is_kept(index->card) && fw_card_is_kept(other->card)) {
    fw_card_join(index->card, other->card);
  } else {
    fw_card_free(index->card);
    index->card = NULL;
  }
}

furrow_status furrow_index_merge(furrow_index *index, const furrow_index *other, int64_t id_shift, furrow_error *err) {
  if (index == other) return fw_fail(err, FURROW_E_ARGUMENT, "an index cannot be merged with itself");
  merging m = {.id_shift = id_shift, .count = index->ntotal, .dense_ids = fw_index_has_dense_ids(index)};
  furrow_status status = fw_index_check_whole(index, err);
  if (status == FURROW_OK) status = fw_index_check_whole(other, err);
  if (status == FURROW_OK) status = check_same_quantizers(index, other, err);
  if (status == FURROW_OK) status = check_dense_shift(index, index->ntotal, id_shift, err);
  if (status == FURROW_OK) status = prepare_merge(&m, index, other, err);
  if (status == FURROW_OK) {
    change_index(&m, index, other);
    join_cards(index, other);
    index->next_id = 0;
    furrow_index_set_next_id(index, shifted_least_id(other, id_shift));
  }
  fw_map_rebuild_clear(&m.renewal);
  return fw_index_finish(index, fw_index_finish(other, status, err), err);
}

/* ---- Merging files list by list ------------------------------------------------------------------------- */

typedef struct joining {
  const char *const *paths;
  const int64_t *id_shifts; /* NULL: all 0 */
  size_t count;
  furrow_index_load_params load;
  furrow_index **inputs;
  fw_joined_lists *joined;
} joining;

static int64_t file_shift(const joining *j, size_t i) {
  return j->id_shifts ? j->id_shifts[i] : 0;
}

static furrow_status add_file_name(const char *path, furrow_status status, furrow_error *err) {
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, path);
  return status;
}

/* ---- Indexes with lists only ---------------------------------------------------------------------------- */

/* Whether the index consists of transforms and id maps around inverted lists of codes. */
static bool has_only_lists(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_TRANSFORM || index->kind == FURROW_INDEX_ID_MAP) index = index->child[0];
  return fw_index_is_ivf(index) && index->kind != FURROW_INDEX_IVF_PQR && index->kind != FURROW_INDEX_IVF_PQ_FAST;
}

static furrow_index *inner_ivf(const furrow_index *index) {
  return (furrow_index *)(uintptr_t)furrow_index_ivf(index);
}

/* Frees parts of an input that are not needed after it was compared with the first. */
static void forget_quantizers(furrow_index *index) {
  furrow_index *ivf = inner_ivf(index);
  furrow_index_free(ivf->child[0]);
  ivf->child[0] = NULL;
  fw_free(ivf->ivf.pq.centroids);
  ivf->ivf.pq.centroids = NULL;
}

static void forget_direct_map(furrow_index *index) {
  fw_direct_map *map = &inner_ivf(index)->ivf.direct_map;
  fw_free(map->locations);
  fw_free(map->pairs);
  *map = (fw_direct_map){0};
}

/* Appends the id maps of an input, shifted, to the first input's id maps; dense ids inside are consecutive. */
static furrow_status join_id_maps(furrow_index *first, const furrow_index *other, int64_t id_shift, bool *mapped,
                                  furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (; status == FURROW_OK && !fw_index_is_ivf(other); first = first->child[0], other = other->child[0]) {
    if (other->kind != FURROW_INDEX_ID_MAP) continue;
    size_t count = (size_t)first->ntotal, more = (size_t)other->ntotal;
    int64_t shift = *mapped ? first->ntotal : id_shift;
    status = check_id_shift(other->id_map.ids, more, shift, err);
    void *ids = first->id_map.ids;
    if (status == FURROW_OK && first != other) status = fw_realloc(&ids, count + more, sizeof(int64_t), err);
    if (status != FURROW_OK) return status;
    first->id_map.ids = ids;
    for (size_t i = 0; first != other && i < more; i++) first->id_map.ids[count + i] = other->id_map.ids[i] + shift;
    for (size_t i = 0; first == other && i < more; i++) first->id_map.ids[i] += shift;
    *mapped = true;
  }
  return status;
}

static void add_counts(furrow_index *first, const furrow_index *other) {
  first->ntotal += other->ntotal;
  if (!fw_index_is_ivf(first)) add_counts(first->child[0], other->child[0]);
}

/* Call after all inputs are joined: the id map of the first one then has all ids. */
static furrow_status check_unique(const joining *j, furrow_error *err) {
  const bool mapped = fw_skip_transforms(j->inputs[0])->kind == FURROW_INDEX_ID_MAP;
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, j->count, sizeof(fw_shifted_ids), err));
  fw_shifted_ids *parts = memory;
  for (size_t i = 0; i < j->count; i++) parts[i] = (fw_shifted_ids){j->inputs[i], mapped ? 0 : j->joined[i].id_shift};
  furrow_status status = fw_ids_check_unique(parts, mapped ? 1 : j->count, err);
  fw_free(memory);
  return status;
}

/* One of the parts of an index has its card, or each has its own. */
static void add_part_card(furrow_index *first, furrow_index *part) {
  if (!first->card)
    furrow_index_move_card(first, part);
  else if (fw_card_is_kept(first->card) && fw_card_is_kept(part->card))
    fw_card_join(first->card, part->card);
}

/* Joins input i with the inputs before it; the first input holds the total counts. */
static furrow_status join_input(joining *j, size_t i, furrow_error *err) {
  furrow_index *first = j->inputs[0], *input = j->inputs[i];
  const fw_lists *lists = &inner_ivf(input)->ivf.lists;
  bool mapped = false;
  int64_t total = i > 0 ? inner_ivf(first)->ntotal : 0;
  furrow_status status = i > 0 ? check_same_quantizers(first, input, err) : FURROW_OK;
  if (status == FURROW_OK) status = fw_lists_check_contents(lists, err);
  if (status == FURROW_OK && i > 0 && first->ntotal > INT64_MAX - input->ntotal)
    status = fw_fail(err, FURROW_E_RANGE, "there are too many vectors");
  if (status == FURROW_OK) status = join_id_maps(first, input, file_shift(j, i), &mapped, err);
  if (status == FURROW_OK && mapped) status = fw_lists_check_ids(lists, (size_t)inner_ivf(input)->ntotal, err);
  int64_t shift = mapped ? total : file_shift(j, i);
  if (status == FURROW_OK) status = check_list_shift(lists, shift, err);
  if (status != FURROW_OK) return status;
  j->joined[i] = (fw_joined_lists){.lists = lists, .id_shift = shift};
  if (i == 0) return FURROW_OK;
  add_counts(first, input);
  if (j->paths)
    join_cards(first, input);
  else
    add_part_card(first, input);
  forget_quantizers(input);
  return FURROW_OK;
}

static furrow_status load_input(const joining *j, size_t i, bool memory_map, furrow_index **index, furrow_error *err) {
  furrow_index_load_params params = j->load;
  params.memory_map = memory_map;
  return furrow_index_load(index, j->paths[i], &params, err);
}

/* The first input is already loaded, or all are. */
static furrow_status join_lists(joining *j, const char *target, const furrow_index_save_params *params,
                                furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < j->count; i++) {
    if (!j->inputs[i]) status = load_input(j, i, true, &j->inputs[i], err);
    if (status == FURROW_OK) status = add_file_name(j->paths ? j->paths[i] : "", join_input(j, i, err), err);
    if (status == FURROW_OK) forget_direct_map(j->inputs[i]);
  }
  if (status == FURROW_OK && params->unique_ids) status = check_unique(j, err);
  fw_index_writer writer;
  if (status == FURROW_OK) status = fw_index_writer_init(&writer, j->inputs[0], params, err);
  if (status != FURROW_OK) return status;
  writer.joint = inner_ivf(j->inputs[0]);
  writer.joined = j->joined;
  writer.joined_count = j->count;
  for (size_t i = 0; i < j->count; i++) {
    const int64_t least = shifted_least_id(j->inputs[i], file_shift(j, i));
    if (least > writer.least_id) writer.least_id = least < FW_IDS_END ? least : FW_IDS_END;
  }
  return fw_index_write_file(j->inputs[0], target, params->overwrite, &writer, err);
}

/* ---- Other indexes -------------------------------------------------------------------------------------- */

static furrow_status shift_first(furrow_index *index, int64_t id_shift, furrow_error *err) {
  furrow_index *inner = (furrow_index *)(uintptr_t)fw_skip_transforms(index);
  furrow_status status = check_dense_shift(index, 0, id_shift, err);
  if (status != FURROW_OK || id_shift == 0) return status;
  if (inner->kind == FURROW_INDEX_ID_MAP) {
    status = check_id_shift(inner->id_map.ids, (size_t)inner->ntotal, id_shift, err);
    for (int64_t i = 0; status == FURROW_OK && i < inner->ntotal; i++) inner->id_map.ids[i] += id_shift;
  } else if (inner->kind == FURROW_INDEX_IVF_PQ_FAST) { /* it was copied, so its ids can be changed */
    fw_lists *lists = &inner->ivf.lists;
    status = check_list_shift(lists, id_shift, err);
    for (size_t i = 0; status == FURROW_OK && lists->list && i < lists->nlist; i++)
      for (size_t k = 0; k < lists->list[i].size; k++)
        fw_list_set_id(&lists->list[i], k, fw_list_id(&lists->list[i], k) + id_shift);
  }
  return status;
}

static furrow_status join_in_memory(joining *j, const char *target, const furrow_index_save_params *params,
                                    furrow_error *err) {
  furrow_index *first = NULL;
  furrow_status status = load_input(j, 0, false, &first, err);
  if (status != FURROW_OK) return status;
  if (inner_ivf(first)) forget_direct_map(first);
  status = add_file_name(j->paths[0], shift_first(first, file_shift(j, 0), err), err);
  furrow_index_set_next_id(first, shifted_least_id(first, file_shift(j, 0)));
  for (size_t i = 1; status == FURROW_OK && i < j->count; i++) {
    status = load_input(j, i, true, &j->inputs[i], err);
    if (status == FURROW_OK)
      status = add_file_name(j->paths[i], furrow_index_merge(first, j->inputs[i], file_shift(j, i), err), err);
    furrow_index_free(j->inputs[i]);
    j->inputs[i] = NULL;
  }
  if (status == FURROW_OK) status = furrow_index_save(first, target, params, err);
  furrow_index_free(first);
  return status;
}

/* ---- The whole merge ------------------------------------------------------------------------------------ */

furrow_status furrow_index_merge_files(const char *const *paths, const int64_t *id_shifts, size_t count,
                                       const furrow_index_load_params *load, const char *target,
                                       const furrow_index_save_params *save, furrow_error *err) {
  furrow_index_save_params params;
  joining j = {.paths = paths, .id_shifts = id_shifts, .count = count};
  fw_compat release;
  void *inputs = NULL, *joined = NULL;
  if (count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "there are no indexes to merge");
  furrow_index_save_params_init(&params);
  furrow_index_load_params_init(&j.load);
  FW_TRY(FW_PARAMS_READ(&params, save, furrow_index_save_params, err));
  FW_TRY(FW_PARAMS_READ(&j.load, load, furrow_index_load_params, err));
  FW_TRY(fw_compat_parse(&release, params.compat, err)); /* checked before the work starts */
  params.inline_lists = !params.lists_file;
  furrow_status status = fw_alloc_zero(&inputs, count, sizeof *j.inputs, err);
  j.inputs = inputs;
  if (status == FURROW_OK) status = fw_alloc_zero(&joined, count, sizeof *j.joined, err);
  j.joined = joined;
  if (status == FURROW_OK) status = load_input(&j, 0, true, &j.inputs[0], err);
  if (status == FURROW_OK)
    status =
        has_only_lists(j.inputs[0]) ? join_lists(&j, target, &params, err) : join_in_memory(&j, target, &params, err);
  for (size_t i = 0; j.inputs && i < count; i++) furrow_index_free(j.inputs[i]);
  fw_free(inputs);
  fw_free(joined);
  return status;
}

furrow_status furrow_index_save_parts(furrow_index *const *parts, size_t count, const char *path,
                                      const furrow_index_save_params *save, furrow_error *err) {
  furrow_index_save_params params;
  void *inputs = NULL, *joined = NULL;
  if (count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "there are no parts");
  furrow_index_save_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, save, furrow_index_save_params, err));
  params.inline_lists = !params.lists_file;
  for (size_t i = 0; i < count; i++) FW_TRY(fw_index_check_whole(parts[i], err));
  if (!has_only_lists(parts[0]))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "an index of %s cannot be written from parts",
                   furrow_index_kind_name(fw_skip_transforms(parts[0])->kind));
  furrow_status status = fw_alloc(&inputs, count, sizeof *parts, err);
  if (status == FURROW_OK) status = fw_alloc_zero(&joined, count, sizeof(fw_joined_lists), err);
  if (status == FURROW_OK) {
    joining j = {.count = count, .inputs = inputs, .joined = joined};
    memcpy(inputs, parts, count * sizeof *parts);
    status = join_lists(&j, path, &params, err);
  }
  fw_free(inputs);
  fw_free(joined);
  return status;
}
