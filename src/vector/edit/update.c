/* vector/edit/update.c: replaces the vectors of stored ids.
 *
 * The new vectors are added to a shadow: an empty index with the same quantizers, whose ids are the rows of the call.
 * Then each old entry is removed from its list (the last entry takes its place), and its new entry is copied from the
 * shadow to the end of the same list there. Everything that can fail comes before the first change. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/index/direct_map.h"
#include "vector/index/index_card.h"
#include "vector/index/inverted_lists.h"
#include "vector/quantizer/assign.h"

typedef struct updating {
  const int64_t *asked; /* the caller's ids */
  int64_t *ids;         /* the ids at this level of the tree; inside an id map, dense ids */
  size_t n;
  fw_location_table rows; /* maps ids to rows */
  int64_t *where;         /* for each row: its location in the lists */
  int64_t *fresh;         /* for each row: its location in the lists of the shadow */
  fw_map_rebuild renewal;
} updating;

static furrow_status fail_not_found(const updating *u, size_t row, furrow_error *err) {
  return fw_fail(err, FURROW_E_NOT_FOUND, "the index has no vector with the id %" PRId64, u->asked[row]);
}

/* ---- The shadow ----------------------------------------------------------------------------------------- */

static void shadow_free(furrow_index *shadow) {
  if (!shadow) return;
  if (fw_index_is_ivf(shadow)) {
    fw_lists_clear(&shadow->ivf.lists);
    fw_free(shadow->ivf.refine_codes);
  } else {
    for (size_t i = 0; i < FW_INDEX_CHILDREN; i++) shadow_free(shadow->child[i]);
    fw_free(fw_index_rows(shadow));
  }
  fw_card_free(shadow->card);
  fw_free(shadow);
}

static void shadow_ivf(fw_ivf *ivf) {
  bool blocks = ivf->lists.kind == FURROW_LISTS_BLOCKS;
  ivf->lists = (fw_lists){.kind = blocks ? FURROW_LISTS_BLOCKS : FURROW_LISTS_INLINE,
                          .nlist = ivf->nlist,
                          .code_size = ivf->lists.code_size,
                          .block_vectors = ivf->lists.block_vectors,
                          .block_bytes = ivf->lists.block_bytes};
  ivf->direct_map = (fw_direct_map){0};
  ivf->refine_codes = NULL;
  ivf->refine_size = 0;
}

/* The shadow has no id map. It shares the encoder of the index, which is created first. */
static furrow_status shadow_create(furrow_index **shadow, furrow_index *index, furrow_error *err) {
  void *memory = NULL;
  const fw_encoder *encoder;
  furrow_status status = FURROW_OK;
  if (index->kind == FURROW_INDEX_ID_MAP) return shadow_create(shadow, index->child[0], err);
  if (fw_index_is_ivf(index) || fw_index_pq(index)) status = fw_encoder_get(index, NULL, 0, &encoder, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, 1, sizeof *index, err);
  if (status != FURROW_OK) return status;
  furrow_index *made = memory;
  *made = *index;
  made->ntotal = made->next_id = made->least_id = 0;
  made->card = NULL;
  if (fw_index_is_ivf(index)) {
    shadow_ivf(&made->ivf);
  } else {
    made->child[0] = made->child[1] = NULL;
    fw_index_set_rows(made, NULL);
    for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && index->child[i]; i++)
      status = shadow_create(&made->child[i], index->child[i], err);
  }
  return FW_HAND_OVER(status, shadow, made, shadow_free);
}

/* ---- Preparation ---------------------------------------------------------------------------------------- */

/* Fills u->rows from u->ids; fails if an id is repeated. */
static furrow_status index_rows(updating *u, furrow_error *err) {
  fw_location_table_clear(&u->rows);
  furrow_status status = fw_location_table_create(&u->rows, u->n, err);
  for (size_t i = 0; status == FURROW_OK && i < u->n; i++) {
    fw_location_table_put(&u->rows, u->ids[i], (int64_t)i);
    if (u->rows.count != i + 1) status = fw_fail(err, FURROW_E_ARGUMENT, "the id %" PRId64 " comes twice", u->asked[i]);
  }
  return status;
}

/* Replaces ids by dense ids. */
static furrow_status prepare_id_map(updating *u, const furrow_index *index, furrow_error *err) {
  for (size_t i = 0; i < u->n; i++) u->where[i] = FW_NO_LOCATION;
  for (int64_t i = 0; i < index->ntotal; i++) {
    int64_t row = fw_location_table_get(&u->rows, index->id_map.ids[i]);
    if (row >= 0) u->where[row] = i;
  }
  for (size_t i = 0; i < u->n; i++)
    if (u->where[i] < 0) return fail_not_found(u, i, err);
  memcpy(u->ids, u->where, u->n * sizeof *u->ids);
  return index_rows(u, err);
}

static furrow_status find_rows(updating *u, const fw_ivf *ivf, furrow_error *err) {
  const fw_lists *lists = &ivf->lists;
  for (size_t i = 0; i < u->n; i++) u->where[i] = FW_NO_LOCATION;
  if (ivf->direct_map.type == FURROW_DIRECT_MAP_ARRAY) {
    for (size_t i = 0; i < u->n; i++) u->where[i] = fw_ivf_find(ivf, u->ids[i]);
  } else {
    for (size_t i = 0; i < lists->nlist; i++) {
      for (size_t k = 0; k < lists->list[i].size; k++) {
        int64_t row = fw_location_table_get(&u->rows, fw_list_id(&lists->list[i], k));
        if (row >= 0) u->where[row] = fw_location_make(i, k);
      }
    }
  }
  for (size_t i = 0; i < u->n; i++)
    if (u->where[i] < 0) return fail_not_found(u, i, err);
  return FURROW_OK;
}

/* Makes lists that lose entries writable, and reserves capacity in lists that gain entries. */
static furrow_status prepare_lists(updating *u, fw_lists *lists, const fw_lists *fresh, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < lists->nlist; i++) {
    size_t more = fw_lists_size(fresh, i);
    for (size_t k = 0; k < more; k++) u->fresh[fw_list_id(&fresh->list[i], k)] = fw_location_make(i, k);
    if (more > 0) status = fw_list_reserve(lists, i, lists->list[i].size + more, err);
  }
  for (size_t i = 0; status == FURROW_OK && i < u->n; i++)
    status = fw_list_own(lists, fw_location_list(u->where[i]), err);
  return status;
}

static furrow_status check_numbers(const updating *u, const furrow_index *index, furrow_error *err) {
  for (size_t i = 0; i < u->n; i++)
    if (u->ids[i] < 0 || u->ids[i] >= index->ntotal) return fail_not_found(u, i, err);
  return FURROW_OK;
}

static furrow_status prepare_ivf(updating *u, furrow_index *index, const furrow_index *shadow, furrow_error *err) {
  fw_ivf *ivf = &index->ivf;
  furrow_status status = fw_lists_begin_edit(&ivf->lists, err);
  if (status == FURROW_OK && index->kind == FURROW_INDEX_IVF_PQR) status = check_numbers(u, index, err);
  if (status == FURROW_OK) status = find_rows(u, ivf, err);
  if (status == FURROW_OK) status = prepare_lists(u, &ivf->lists, &shadow->ivf.lists, err);
  if (status == FURROW_OK && ivf->direct_map.type == FURROW_DIRECT_MAP_HASHTABLE)
    status =
        fw_map_rebuild_create(&u->renewal, FURROW_DIRECT_MAP_HASHTABLE, (size_t)fw_lists_stored(&ivf->lists), 0, err);
  return status;
}

static furrow_status prepare_update(updating *u, furrow_index *index, const furrow_index *shadow, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (fw_index_is_ivf(index)) return prepare_ivf(u, index, shadow, err);
  if (fw_index_row_size(index) > 0) return check_numbers(u, index, err);
  if (index->kind == FURROW_INDEX_ID_MAP) {
    status = prepare_id_map(u, index, err);
    return status == FURROW_OK ? prepare_update(u, index->child[0], shadow, err) : status;
  }
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    status = prepare_update(u, index->child[i], shadow->child[i], err);
  return status;
}

/* ---- Changes -------------------------------------------------------------------------------------------- */

static void set_location(updating *u, fw_direct_map *map, int64_t id, int64_t location) {
  int64_t row = fw_location_table_get(&u->rows, id);
  if (row >= 0) u->where[row] = location;
  if (map->type == FURROW_DIRECT_MAP_ARRAY && id >= 0 && (uint64_t)id < map->count) map->locations[id] = location;
}

static void move_entry(updating *u, fw_ivf *ivf, const fw_lists *fresh, size_t row) {
  fw_lists *lists = &ivf->lists;
  size_t from = fw_location_list(u->where[row]), at = fw_location_offset(u->where[row]);
  size_t to = fw_location_list(u->fresh[row]), source = fw_location_offset(u->fresh[row]);
  fw_list *list = &lists->list[from];
  if (at >= list->size) return; /* two rows found the same entry: the mapped file changed while it was read */
  fw_list_remove(lists, list, at);
  if (at < list->size) set_location(u, &ivf->direct_map, fw_list_id(list, at), fw_location_make(from, at));
  list = &lists->list[to];
  fw_list_append_entry(lists, list, &fresh->list[to], source, u->ids[row]);
  set_location(u, &ivf->direct_map, u->ids[row], fw_location_make(to, list->size - 1));
}

static void change_ivf(updating *u, furrow_index *index, const furrow_index *shadow) {
  fw_ivf *ivf = &index->ivf;
  size_t size = fw_pq_code_size(&ivf->refine_pq);
  for (size_t i = 0; i < u->n; i++) {
    move_entry(u, ivf, &shadow->ivf.lists, i);
    if (index->kind == FURROW_INDEX_IVF_PQR)
      memcpy(ivf->refine_codes + (size_t)u->ids[i] * size, shadow->ivf.refine_codes + i * size, size);
  }
  fw_lists_end_edit(&ivf->lists);
  if (ivf->direct_map.type == FURROW_DIRECT_MAP_HASHTABLE) fw_map_rebuild_finish(&u->renewal, ivf);
}

static void change_index(updating *u, furrow_index *index, const furrow_index *shadow) {
  const size_t size = fw_index_row_size(index);
  if (fw_index_is_ivf(index)) {
    change_ivf(u, index, shadow);
  } else if (size > 0) {
    uint8_t *rows = fw_index_rows(index);
    const uint8_t *fresh = fw_index_rows(shadow);
    for (size_t i = 0; i < u->n; i++) memcpy(rows + (size_t)u->ids[i] * size, fresh + i * size, size);
  } else if (index->kind == FURROW_INDEX_ID_MAP) {
    change_index(u, index->child[0], shadow);
  } else {
    for (size_t i = 0; i < FW_INDEX_CHILDREN && index->child[i]; i++)
      change_index(u, index->child[i], shadow->child[i]);
  }
}

/* ---- The whole update ----------------------------------------------------------------------------------- */

/* Kinds to which vectors cannot be added are rejected when the shadow is filled. */
static furrow_status check_kinds(const furrow_index *index, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (index->kind == FURROW_INDEX_HNSW)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors of an HNSW graph cannot be changed: its links depend on them");
  for (size_t i = 0; !fw_index_is_ivf(index) && status == FURROW_OK && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    status = check_kinds(index->child[i], err);
  return status;
}

static furrow_status start_update(updating *u, const int64_t *ids, size_t n, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, 3 * n, sizeof *ids, err));
  *u = (updating){.asked = ids, .ids = memory, .n = n};
  u->where = u->ids + n;
  u->fresh = u->where + n;
  memcpy(u->ids, ids, n * sizeof *ids);
  return index_rows(u, err);
}

furrow_status furrow_index_update(furrow_index *index, const int64_t *ids, const float *vectors, size_t n,
                                  furrow_error *err) {
  updating u = {0};
  furrow_index *shadow = NULL;
  if (n == 0) return FURROW_OK;
  if (!index->trained) return fw_fail(err, FURROW_E_STATE, "the index is not trained yet");
  furrow_status status = fw_index_check_whole(index, err);
  if (status == FURROW_OK) status = check_kinds(index, err);
  if (status == FURROW_OK) status = start_update(&u, ids, n, err);
  if (status == FURROW_OK) status = shadow_create(&shadow, index, err);
  if (status == FURROW_OK && fw_card_is_kept(index->card)) status = fw_card_create(&shadow->card, "", err);
  if (status == FURROW_OK) status = furrow_index_add(shadow, vectors, n, NULL, NULL, err);
  if (status == FURROW_OK) status = prepare_update(&u, index, shadow, err);
  if (status == FURROW_OK) change_index(&u, index, shadow);
  if (status == FURROW_OK && fw_card_is_kept(index->card)) fw_card_count_updated(index->card, shadow->card, n);
  shadow_free(shadow);
  fw_free(u.ids);
  fw_location_table_clear(&u.rows);
  fw_map_rebuild_clear(&u.renewal);
  return fw_index_finish(index, status, err);
}
