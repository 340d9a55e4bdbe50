/* vector/data/id_names_index.c: the ids of an index, and their names: whether each has one, and names for them all. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/data/id_names.h"
#include "vector/index/index.h"

/* ---- Ids of an index ------------------------------------------------------------------------------------ */

/* Whether the lists of an IVF index have contents. */
static bool has_contents(const fw_lists *lists) {
  return lists->list && !(lists->disk && lists->disk->missing);
}

typedef struct id_list {
  int64_t *ids; /* NULL: count them */
  size_t count;
} id_list;

static void put_id(id_list *list, int64_t id) {
  if (list->ids) list->ids[list->count] = id;
  list->count++;
}

static void visit_ids(const furrow_index *index, id_list *list) {
  index = fw_skip_transforms(index);
  list->count = 0;
  if (index->kind == FURROW_INDEX_ID_MAP) {
    for (int64_t i = 0; i < index->ntotal; i++) put_id(list, index->id_map.ids[i]);
  } else if (!fw_index_is_ivf(index)) {
    for (int64_t i = 0; i < index->ntotal; i++) put_id(list, i);
  } else if (has_contents(&index->ivf.lists)) {
    const fw_lists *lists = &index->ivf.lists;
    for (size_t i = 0; i < lists->nlist; i++)
      for (size_t k = 0; k < lists->list[i].size; k++) put_id(list, fw_list_id(&lists->list[i], k));
  }
}

static int compare_ids(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* All ids of an index. Free list->ids. */
static furrow_status list_ids(const furrow_index *index, id_list *list, furrow_error *err) {
  void *memory = NULL;
  *list = (id_list){0};
  visit_ids(index, list);
  FW_TRY(fw_alloc(&memory, list->count, sizeof(int64_t), err));
  list->ids = memory;
  visit_ids(index, list);
  const furrow_status status = fw_index_finish(index, FURROW_OK, err);
  if (status != FURROW_OK) fw_free(memory);
  return status;
}

/* ---- Interface ------------------------------------------------------------------------------------------ */

static furrow_status check_contents(const furrow_index *index, furrow_error *err) {
  const furrow_index *inner = fw_skip_transforms(index);
  if (!fw_index_is_ivf(inner) || inner->ntotal == 0 || has_contents(&inner->ivf.lists)) return FURROW_OK;
  return fw_fail(err, FURROW_E_STATE, "the contents of the lists are missing");
}

furrow_status furrow_index_get_ids(const furrow_index *index, furrow_ids *ids, furrow_error *err) {
  id_list list;
  FW_TRY(check_contents(index, err));
  FW_TRY(list_ids(index, &list, err));
  *ids = (furrow_ids){.ids = list.ids, .count = list.count, .dim = 1};
  return FURROW_OK;
}

/* Counts the names that have a vector, which are marked in a bitmap. */
static furrow_status compare(const furrow_id_names *names, const id_list *list, furrow_status wrong, size_t *used,
                             furrow_error *err) {
  const size_t count = names->table.count;
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, count / 8 + 1, 1, err));
  uint8_t *seen = memory;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < list->count; i++) {
    const size_t at = fw_id_names_number(names, list->ids[i]);
    if (at == count) {
      status = fw_fail(err, wrong, "id %" PRId64 " has no name", list->ids[i]);
      break;
    }
    *used += !(seen[at / 8] >> at % 8 & 1);
    seen[at / 8] |= (uint8_t)(1 << at % 8);
  }
  fw_free(memory);
  return status;
}

furrow_status fw_id_names_fit(const furrow_id_names *names, const furrow_index *index, furrow_status wrong,
                              uint64_t *unused, furrow_error *err) {
  const furrow_index *inner = fw_skip_transforms(index);
  size_t used = 0;
  id_list list;
  if (unused) *unused = 0;
  if (fw_index_is_ivf(inner) && !has_contents(&inner->ivf.lists) && inner->ivf.lists.disk) return FURROW_OK;
  FW_TRY(list_ids(index, &list, err));
  furrow_status status = compare(names, &list, wrong, &used, err);
  if (status == FURROW_OK && unused) *unused = names->table.count - used;
  fw_free(list.ids);
  return status;
}

furrow_status furrow_id_names_check(const furrow_id_names *names, const furrow_index *index, uint64_t *unused,
                                    furrow_error *err) {
  FW_TRY(fw_string_table_verify(&names->table, err));
  return fw_id_names_fit(names, index, FURROW_E_FORMAT, unused, err);
}

static furrow_status name_ids(furrow_id_names *names, const id_list *list, const char *const *texts, size_t n,
                              furrow_error *err) {
  if (list->count != n)
    return fw_fail(err, FURROW_E_ARGUMENT, "there are %zu %s for %zu %s", n, fw_plural(n, "name", "names"), list->count,
                   fw_plural(list->count, "id", "ids"));
  for (size_t i = 1; i < n; i++)
    if (list->ids[i] == list->ids[i - 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "id %" PRId64 " is stored twice, so it cannot have a name of its own",
                     list->ids[i]);
  furrow_id_names *made = NULL;
  FW_TRY(furrow_id_names_create(&made, err));
  furrow_status status = furrow_id_names_add(made, list->ids, texts, n, err);
  if (status == FURROW_OK) {
    const furrow_id_names before = *names;
    *names = *made;
    *made = before;
  }
  furrow_id_names_free(made);
  return status;
}

furrow_status furrow_id_names_set(furrow_id_names *names, const furrow_index *index, const char *const *texts, size_t n,
                                  furrow_error *err) {
  id_list list;
  FW_TRY(check_contents(index, err));
  FW_TRY(list_ids(index, &list, err));
  qsort(list.ids, list.count, sizeof *list.ids, compare_ids);
  furrow_status status = name_ids(names, &list, texts, n, err);
  fw_free(list.ids);
  return status;
}
