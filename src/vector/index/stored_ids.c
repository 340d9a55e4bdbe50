/* vector/index/stored_ids.c: the ids of the vectors of an index, as the outside sees them. */
#include "vector/index/stored_ids.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "vector/index/inverted_lists.h"

/* ---- All ids, in the order of the file ------------------------------------------------------------------- */

/* Stops at the first call that returns false. Dense ids are not visited: they are 0 … ntotal-1. */
static bool each_id(const furrow_index *index, bool (*visit)(void *context, int64_t id), void *context) {
  const furrow_index *inner = fw_skip_transforms(index);
  const fw_lists *lists = &inner->ivf.lists;
  if (inner->kind == FURROW_INDEX_ID_MAP) {
    for (int64_t i = 0; i < inner->ntotal; i++)
      if (!visit(context, inner->id_map.ids[i])) return false;
  } else if (fw_index_is_ivf(inner) && lists->list && !(lists->disk && lists->disk->missing)) {
    for (size_t i = 0; i < lists->nlist; i++)
      for (size_t k = 0; k < lists->list[i].size; k++)
        if (!visit(context, fw_list_id(&lists->list[i], k))) return false;
  }
  return true;
}

/* ---- The next id ---------------------------------------------------------------------------------------- */

static bool keep_largest(void *largest, int64_t id) {
  if (id > *(int64_t *)largest) *(int64_t *)largest = id;
  return true;
}

int64_t furrow_index_next_id(const furrow_index *index) {
  int64_t largest = -1;
  each_id(index, keep_largest, &largest);
  if (largest == INT64_MAX || fw_index_finish(index, FURROW_OK, NULL) != FURROW_OK) return -1;
  return largest >= index->ntotal ? largest + 1 : index->ntotal;
}

/* ---- Ids that are there twice ---------------------------------------------------------------------------- */

typedef struct unique {
  int64_t shift, min, max, twice;
  uint64_t count, range;
  uint64_t *bits;   /* of the ids from min to max; NULL: they are too far apart */
  uint64_t *sorted; /* or all of them, as unsigned numbers in the same order */
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
  if (at > u->range) return false; /* of a mapped file that changed since its ids were looked at */
  if (u->bits[at / 64] & bit) return false;
  u->bits[at / 64] |= bit;
  return true;
}

static bool collect(void *context, int64_t id) {
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

/* Whether two neighbours are equal after sorting. */
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
  const bool near = u.range / 64 <= u.count; /* then a bit for each takes no more than the ids themselves */
  if (u.count == 0) return FURROW_OK;
  FW_TRY(fw_alloc_zero(&memory, near ? u.range / 64 + 1 : u.count, sizeof(uint64_t), err));
  bool differ = false;
  if (near) {
    u.bits = memory;
    differ = visit_all(&u, parts, count, mark);
  } else {
    u.sorted = memory;
    u.count = 0;
    visit_all(&u, parts, count, collect);
    differ = sorted_differ(&u);
  }
  fw_free(memory);
  for (size_t i = 0; i < count; i++) FW_TRY(fw_index_finish(parts[i].index, FURROW_OK, err));
  return differ ? FURROW_OK : fw_fail(err, FURROW_E_EXISTS, "id %" PRId64 " would be there more than once", u.twice);
}
