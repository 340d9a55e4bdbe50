/* vector/edit/remove.c: removes vectors from an index.
 *
 * There are two cases. Free ids: entries are removed from lists, and the others keep their ids. Dense ids (flat
 * vectors, codes by id, and every index inside an id map): vectors after a gap move up, and the ids in lists are
 * renumbered. Both first allocate all the memory that they need, then change the index. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/build/build.h"
#include "vector/data/id_filter.h"
#include "vector/index/direct_map.h"
#include "vector/index/index.h"
#include "vector/index/index_card.h"
#include "vector/index/inverted_lists.h"

typedef struct removal {
  const furrow_id_filter *filter; /* selects the ids to remove */
  int64_t *to;                    /* dense ids: the new id of each vector, -1 if it is removed; otherwise NULL */
  size_t count;                   /* number of ids before */
  const furrow_index *id_map;     /* dense ids: the id map whose ids the filter tests; NULL: it tests the dense ids */
  uint64_t removed;
  uint64_t *gone; /* a bit for each entry of all lists, in order: set if the entry is removed */
  fw_map_rebuild renewal;
  fw_hnsw relinked; /* HNSW: the graph without the removed vectors; there is at most one */
} removal;

/* ---- Preparation ---------------------------------------------------------------------------------------- */

static bool goes(const removal *r, int64_t id) {
  return r->to ? r->to[id] < 0 : fw_id_filter_keeps_id(r->filter, id);
}

/* Calls the filter once for each entry; lists that change become writable. */
static furrow_status mark_list(removal *r, fw_lists *lists, size_t i, size_t first, uint64_t *marked,
                               furrow_error *err) {
  const fw_list *list = &lists->list[i];
  uint64_t before = *marked;
  for (size_t k = 0; k < list->size; k++) {
    if (!goes(r, fw_list_id(list, k))) continue;
    r->gone[(first + k) / 64] |= (uint64_t)1 << ((first + k) % 64);
    ++*marked;
  }
  return *marked > before || r->to ? fw_list_own(lists, i, err) : FURROW_OK;
}

static furrow_status mark_lists(removal *r, fw_lists *lists, furrow_error *err) {
  size_t stored = (size_t)fw_lists_stored(lists), first = 0;
  uint64_t marked = 0;
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, stored / 64 + 1, sizeof *r->gone, err);
  r->gone = memory;
  for (size_t i = 0; status == FURROW_OK && i < lists->nlist; i++) {
    status = mark_list(r, lists, i, first, &marked, err);
    first += lists->list[i].size;
  }
  if (!r->to) r->removed = marked;
  return status;
}

/* Checks that each dense id belongs to one vector. */
static furrow_status check_once(const removal *r, const fw_lists *lists, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_lists_check_ids(lists, r->count, err);
  if (status == FURROW_OK) status = fw_alloc_zero(&memory, r->count / 8 + 1, 1, err);
  uint8_t *seen = memory;
  for (size_t i = 0; status == FURROW_OK && i < lists->nlist; i++) {
    for (size_t k = 0; status == FURROW_OK && k < lists->list[i].size; k++) {
      int64_t id = fw_list_id(&lists->list[i], k);
      if (seen[id / 8] >> (id % 8) & 1)
        status = fw_fail(err, FURROW_E_STATE, "the number %" PRId64 " occurs twice, again in list %zu", id, i);
      seen[id / 8] |= (uint8_t)(1 << (id % 8));
    }
  }
  fw_free(memory);
  return status;
}

static furrow_status refuse_ivf(const removal *r, const furrow_index *index, furrow_error *err) {
  if (r->to) return FURROW_OK;
  if (index->kind == FURROW_INDEX_IVF_PQR) {
    fw_fail(err, FURROW_E_UNSUPPORTED,
            "vectors cannot be removed: the refinement codes need ids from 0 on, without gaps");
    fw_error_set_hint(err, "an id map around the index makes removing possible");
    return FURROW_E_UNSUPPORTED;
  }
  if (index->ivf.direct_map.type == FURROW_DIRECT_MAP_ARRAY)
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "vectors cannot be removed: the direct map is an array, which needs ids from 0 on, without gaps");
  return FURROW_OK;
}

static furrow_status prepare_ivf(removal *r, furrow_index *index, furrow_error *err) {
  fw_ivf *ivf = &index->ivf;
  FW_TRY(refuse_ivf(r, index, err));
  FW_TRY(fw_lists_begin_edit(&ivf->lists, err));
  if (r->to) FW_TRY(check_once(r, &ivf->lists, err));
  FW_TRY(mark_lists(r, &ivf->lists, err));
  return fw_map_rebuild_create(&r->renewal, ivf->direct_map.type, (size_t)fw_lists_stored(&ivf->lists),
                               r->to ? r->count - (size_t)r->removed : 0, err);
}

/* Returns why vectors cannot be removed from an index of this kind; NULL if they can. */
static const char *why_not(const removal *r, const furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_MULTI: return "a multi-index has no vectors of its own";
  case FURROW_INDEX_ID_MAP: return index == r->id_map ? NULL : "an id map is inside of another index";
  case FURROW_INDEX_REFINE:
    return fw_index_is_ivf(index->child[1]) ? "the refinement is an index with inverted lists" : NULL;
  default: return NULL;
  }
}

static furrow_status prepare_removal(removal *r, furrow_index *index, furrow_error *err) {
  const char *reason = why_not(r, index);
  furrow_status status = FURROW_OK;
  if (reason) return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors cannot be removed: %s", reason);
  if (r->to && (uint64_t)index->ntotal != r->count)
    return fw_fail(err, FURROW_E_STATE, "%s has %" PRId64 " %s, but the index around it has %zu",
                   furrow_index_kind_name(index->kind), index->ntotal,
                   fw_plural((uint64_t)index->ntotal, "vector", "vectors"), r->count);
  if (fw_index_is_ivf(index)) return prepare_ivf(r, index, err);
  if (index->kind == FURROW_INDEX_HNSW && r->removed > 0)
    FW_TRY(fw_hnsw_relink(index, r->to, r->count - (size_t)r->removed, &r->relinked, err));
  for (size_t i = 0; status == FURROW_OK && i < FW_INDEX_CHILDREN && index->child[i]; i++)
    status = prepare_removal(r, index->child[i], err);
  return status;
}

/* ---- Changes -------------------------------------------------------------------------------------------- */

static bool is_gone(const removal *r, size_t entry) {
  return r->gone[entry / 64] >> (entry % 64) & 1;
}

/* The last entry of the list replaces a removed one, and may itself be removed next. `first` is the number of the
 * list's first entry among all entries; entries after k are still in their original order. */
static void shrink_list(const removal *r, const fw_lists *lists, fw_list *list, size_t first) {
  for (size_t k = 0; k < list->size; k++) {
    size_t was = k;
    while (k < list->size && is_gone(r, first + was)) {
      was = list->size - 1;
      fw_list_remove(lists, list, k);
    }
  }
}

static void change_ivf(removal *r, furrow_index *index) {
  fw_lists *lists = &index->ivf.lists;
  size_t first = 0;
  for (size_t i = 0; i < lists->nlist; i++) {
    fw_list *list = &lists->list[i];
    size_t size = list->size;
    shrink_list(r, lists, list, first);
    for (size_t k = 0; r->to && k < list->size; k++) fw_list_set_id(list, k, r->to[fw_list_id(list, k)]);
    first += size;
  }
  fw_lists_end_edit(lists);
  fw_map_rebuild_finish(&r->renewal, &index->ivf);
}

/* Moves the remaining rows of `size` bytes to their new positions. */
static void close_gaps(const removal *r, void *rows, size_t size) {
  uint8_t *bytes = rows;
  for (size_t i = 0; i < r->count; i++)
    if (r->to[i] >= 0 && (size_t)r->to[i] != i) memcpy(bytes + (size_t)r->to[i] * size, bytes + i * size, size);
}

static void change_index(removal *r, furrow_index *index) {
  size_t left = r->count - (size_t)r->removed;
  switch (index->kind) {
  case FURROW_INDEX_FLAT:
  case FURROW_INDEX_SQ:
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST: close_gaps(r, fw_index_rows(index), fw_index_row_size(index)); break;
  case FURROW_INDEX_REFINE:
    change_index(r, index->child[0]);
    change_index(r, index->child[1]);
    break;
  case FURROW_INDEX_ID_MAP:
    close_gaps(r, index->id_map.ids, sizeof *index->id_map.ids);
    change_index(r, index->child[0]);
    break;
  case FURROW_INDEX_HNSW:
    if (r->removed > 0) {
      fw_free(index->hnsw.neighbors);
      index->hnsw = r->relinked;
      r->relinked.neighbors = NULL;
      fw_hnsw_compact(&index->hnsw, r->to, r->count);
    }
    change_index(r, index->child[0]);
    break;
  case FURROW_INDEX_TRANSFORM: /* in some files its count differs from the inner index's count */
    change_index(r, index->child[0]);
    index->ntotal = index->child[0]->ntotal;
    return;
  case FURROW_INDEX_IVF_PQR:
    change_ivf(r, index);
    close_gaps(r, index->ivf.refine_codes, fw_pq_code_size(&index->ivf.refine_pq));
    index->ivf.refine_size = left * fw_pq_code_size(&index->ivf.refine_pq);
    break;
  default: change_ivf(r, index); break;
  }
  index->ntotal -= (int64_t)r->removed;
}

/* ---- The whole removal ---------------------------------------------------------------------------------- */

/* Assigns new dense ids: calls the filter with the caller's id of each vector. */
static furrow_status renumber_ids(removal *r, const furrow_index *index, furrow_error *err) {
  const int64_t *ids = r->id_map ? r->id_map->id_map.ids : NULL;
  void *memory = NULL;
  int64_t next = 0;
  r->count = (size_t)index->ntotal;
  FW_TRY(fw_alloc(&memory, r->count, sizeof *r->to, err));
  r->to = memory;
  for (size_t i = 0; i < r->count; i++)
    r->to[i] = fw_id_filter_keeps_id(r->filter, ids ? ids[i] : (int64_t)i) ? -1 : next++;
  r->removed = r->count - (size_t)next;
  return FURROW_OK;
}

furrow_status furrow_index_remove(furrow_index *index, const furrow_id_filter *filter, uint64_t *removed,
                                  furrow_error *err) {
  const furrow_index *inner = fw_skip_transforms(index);
  furrow_id_filter full;
  removal r = {.filter = &full, .id_map = inner->kind == FURROW_INDEX_ID_MAP ? inner : NULL};
  if (!filter) return fw_fail(err, FURROW_E_ARGUMENT, "a filter must say what is removed");
  furrow_status status = fw_id_filter_read(&full, filter, err);
  if (status == FURROW_OK) status = fw_index_check_whole(index, err);
  if (status != FURROW_OK) return status;
  const int64_t next = fw_index_next_stored_id(index);
  if (!fw_index_is_ivf(inner)) status = renumber_ids(&r, inner, err);
  if (status == FURROW_OK) status = fw_index_finish(index, prepare_removal(&r, index, err), err);
  if (status == FURROW_OK) {
    furrow_index_set_next_id(index, next); /* ids of removed vectors are not given again */
    change_index(&r, index);
    index->next_id = 0;
    if (fw_card_is_kept(index->card)) fw_card_count_removed(index->card, r.removed);
    if (removed) *removed = r.removed;
  }
  fw_free(r.to);
  fw_free(r.gone);
  fw_free(r.relinked.neighbors);
  fw_map_rebuild_clear(&r.renewal);
  return fw_index_finish(index, status, err);
}
