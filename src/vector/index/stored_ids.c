/* vector/index/stored_ids.c: the ids of an index's vectors, as its users see them, and their names. */
#include "vector/index/stored_ids.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "vector/index/inverted_lists.h"

/* ---- All ids, in the order of the file ------------------------------------------------------------------ */

/* Whether the lists of an IVF index have contents. */
static bool has_contents(const fw_lists *lists) {
  return lists->list && !(lists->disk && lists->disk->missing);
}

/* Stops when visit returns false. Dense ids, which are 0 … ntotal-1, are not visited. */
static bool each_id(const furrow_index *index, bool (*visit)(void *context, int64_t id), void *context) {
  const furrow_index *inner = fw_skip_transforms(index);
  const fw_lists *lists = &inner->ivf.lists;
  if (inner->kind == FURROW_INDEX_ID_MAP) {
    for (int64_t i = 0; i < inner->ntotal; i++)
      if (!visit(context, inner->id_map.ids[i])) return false;
  } else if (fw_index_is_ivf(inner) && has_contents(lists)) {
    for (size_t i = 0; i < lists->nlist; i++)
      for (size_t k = 0; k < lists->list[i].size; k++)
        if (!visit(context, fw_list_id(&lists->list[i], k))) return false;
  }
  return true;
}

typedef struct id_list {
  int64_t *ids; /* NULL: only count them */
  size_t count;
} id_list;

static bool put_id(void *context, int64_t id) {
  id_list *list = context;
  if (list->ids) list->ids[list->count] = id;
  list->count++;
  return true;
}

static void put_ids(id_list *list, const furrow_index *index) {
  const furrow_index *inner = fw_skip_transforms(index);
  list->count = 0;
  if (inner->kind == FURROW_INDEX_ID_MAP || fw_index_is_ivf(inner))
    each_id(inner, put_id, list);
  else
    for (int64_t i = 0; i < inner->ntotal; i++) put_id(list, i);
}

/* Lists all ids of an index, including dense ones. The caller frees list->ids. */
static furrow_status list_ids(const furrow_index *index, id_list *list, furrow_error *err) {
  void *memory = NULL;
  *list = (id_list){0};
  put_ids(list, index);
  FW_TRY(fw_alloc(&memory, list->count, sizeof(int64_t), err));
  list->ids = memory;
  put_ids(list, index);
  const furrow_status status = fw_index_finish(index, FURROW_OK, err);
  if (status != FURROW_OK) fw_free(memory);
  return status;
}

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

/* ---- The next id ---------------------------------------------------------------------------------------- */

static bool keep_largest(void *largest, int64_t id) {
  if (id > *(int64_t *)largest && id < FW_IDS_END) *(int64_t *)largest = id;
  return true;
}

int64_t fw_index_next_stored_id(const furrow_index *index) {
  int64_t largest = -1;
  if (index->next_id > 0) return index->next_id;
  each_id(index, keep_largest, &largest);
  return largest >= index->ntotal ? largest + 1 : index->ntotal;
}

int64_t furrow_index_next_id(const furrow_index *index) {
  const int64_t stored = fw_index_next_stored_id(index), next = stored > index->least_id ? stored : index->least_id;
  if (next >= FW_IDS_END || fw_index_finish(index, FURROW_OK, NULL) != FURROW_OK) return -1;
  return next;
}

bool fw_index_counts_ids(const furrow_index *index) {
  const furrow_index *inner = fw_skip_transforms(index);
  return fw_index_has_dense_ids(index) ||
         (fw_index_is_ivf(inner) && inner->ivf.direct_map.type == FURROW_DIRECT_MAP_ARRAY);
}

void furrow_index_set_next_id(furrow_index *index, int64_t next) {
  if (next > FW_IDS_END) next = FW_IDS_END;
  if (next > index->least_id && !fw_index_counts_ids(index)) index->least_id = next;
}

/* ---- Repeated ids --------------------------------------------------------------------------------------- */

typedef struct unique {
  int64_t shift, min, max, twice;
  uint64_t count, range;
  uint64_t *bits;   /* a bitmap of the ids from min to max; NULL: the range is too large */
  uint64_t *sorted; /* otherwise all ids, as unsigned numbers in the same order */
} unique;

static bool find_range(void *context, int64_t id) {
  unique *u = context;
  id += u->shift;
  if (u->count == 0 || id < u->min) u->min = id;
  if (u->count == 0 || id > u->max) u->max = id;
  u->count++;
  return true;
}

static bool mark(void *context, int64_t id) {
  unique *u = context;
  const uint64_t at = (uint64_t)(id + u->shift) - (uint64_t)u->min, bit = (uint64_t)1 << at % 64;
  u->twice = id + u->shift;
  if (at > u->range) return false; /* the mapped file changed after its ids were scanned */
  if (u->bits[at / 64] & bit) return false;
  u->bits[at / 64] |= bit;
  return true;
}

static bool collect_id(void *context, int64_t id) {
  unique *u = context;
  u->sorted[u->count++] = (uint64_t)(id + u->shift) - (uint64_t)u->min;
  return true;
}

static bool visit_all(unique *u, const fw_shifted_ids *parts, size_t count, bool (*visit)(void *, int64_t)) {
  for (size_t i = 0; i < count; i++) {
    u->shift = parts[i].shift;
    if (!each_id(parts[i].index, visit, u)) return false;
  }
  return true;
}

/* Sorts the ids; returns false if two are equal. */
static bool sorted_differ(unique *u) {
  fw_sort_u64(u->sorted, u->count);
  for (uint64_t i = 1; i < u->count; i++) {
    if (u->sorted[i] != u->sorted[i - 1]) continue;
    u->twice = (int64_t)(u->sorted[i] + (uint64_t)u->min);
    return false;
  }
  return true;
}

furrow_status fw_ids_check_unique(const fw_shifted_ids *parts, size_t count, furrow_error *err) {
  unique u = {0};
  void *memory = NULL;
  visit_all(&u, parts, count, find_range);
  u.range = (uint64_t)u.max - (uint64_t)u.min;
  const bool near = u.range / 64 <= u.count; /* a bitmap takes no more memory than the ids themselves */
  if (u.count == 0) return FURROW_OK;
  FW_TRY(fw_alloc_zero(&memory, near ? u.range / 64 + 1 : u.count, sizeof(uint64_t), err));
  bool differ = false;
  if (near) {
    u.bits = memory;
    differ = visit_all(&u, parts, count, mark);
  } else {
    u.sorted = memory;
    u.count = 0;
    visit_all(&u, parts, count, collect_id);
    differ = sorted_differ(&u);
  }
  fw_free(memory);
  for (size_t i = 0; i < count; i++) FW_TRY(fw_index_finish(parts[i].index, FURROW_OK, err));
  return differ ? FURROW_OK : fw_fail(err, FURROW_E_EXISTS, "id %" PRId64 " would occur more than once", u.twice);
}

/* ---- Names of the ids ----------------------------------------------------------------------------------- */

/* Counts the names that belong to a vector, with a bitmap. */
static furrow_status count_used_names(const furrow_id_names *names, const id_list *list, furrow_status wrong,
                                      size_t *used, furrow_error *err) {
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
  furrow_status status = count_used_names(names, &list, wrong, &used, err);
  if (status == FURROW_OK && unused) *unused = names->table.count - used;
  fw_free(list.ids);
  return status;
}

furrow_status furrow_id_names_check(const furrow_id_names *names, const furrow_index *index, uint64_t *unused,
                                    furrow_error *err) {
  FW_TRY(fw_string_table_verify(&names->table, err));
  return fw_id_names_fit(names, index, FURROW_E_FORMAT, unused, err);
}

static int compare_ids(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
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
