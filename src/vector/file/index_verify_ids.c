/* vector/file/index_verify_ids.c: checks that ids are unique and direct maps correct, that graphs reach all vectors,
 * that lists do not overlap.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/file/index_verify.h"

static void *scratch(fw_verifier *v, size_t count, size_t size) {
  void *memory = NULL;
  if (v->status == FURROW_OK) v->status = fw_alloc_zero(&memory, count, size, v->err);
  return memory;
}

/* ---- Ids ------------------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Remarks on `count` ids, which are sorted. Faiss takes any; a result of -1 means that there is none. */
static void judge_ids(fw_verifier *v, const char *field, const int64_t *ids, size_t count) {
  size_t twice = 0, negative = 0;
  for (size_t i = 0; i < count; i++) {
    negative += ids[i] < 0;
    twice += i > 0 && ids[i] == ids[i - 1];
  }
  if (twice > 0)
    fw_found(v, FW_FINDING_REMARK, field, 0, "%zu %s there more than once", twice,
             fw_plural(twice, "id is", "ids are"));
  if (negative > 0)
    fw_found(v, FW_FINDING_REMARK, field, 0, "%zu %s negative", negative, fw_plural(negative, "id is", "ids are"));
}

static bool is_sorted(const int64_t *ids, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (ids[i] < ids[i - 1]) return false;
  return true;
}

void fw_verify_ids(fw_verifier *v, const char *field, const int64_t *ids, size_t count) {
  if (is_sorted(ids, count)) {
    judge_ids(v, field, ids, count);
    return;
  }
  int64_t *sorted = scratch(v, count, sizeof *sorted);
  if (!sorted) return;
  memcpy(sorted, ids, count * sizeof *ids);
  qsort(sorted, count, sizeof *sorted, compare_ids);
  judge_ids(v, field, sorted, count);
  fw_free(sorted);
}

/* Whether there are ids to check. */
static bool has_ids(const fw_lists *lists) {
  return lists->list && !(lists->disk && lists->disk->missing);
}

void fw_verify_list_ids(fw_verifier *v, const furrow_index *index, const char *field) {
  const fw_lists *lists = &index->ivf.lists;
  if (!has_ids(lists)) return;
  size_t stored = (size_t)fw_lists_stored(lists), n = 0;
  int64_t *ids = scratch(v, stored, sizeof *ids);
  if (!ids) return;
  for (size_t i = 0; i < lists->nlist; i++)
    for (size_t k = 0; k < lists->list[i].size; k++) ids[n++] = fw_list_id(&lists->list[i], k);
  fw_verify_ids(v, field, ids, stored);
  fw_free(ids);
}

void fw_verify_id_limit(fw_verifier *v, const furrow_index *index, const char *field, int64_t limit,
                        const char *reader) {
  const fw_lists *lists = &index->ivf.lists;
  const bool named = index->kind == FURROW_INDEX_ID_MAP;
  uint64_t beyond = 0;
  for (size_t i = 0; named && i < (size_t)index->ntotal; i++)
    beyond += index->id_map.ids[i] < 0 || index->id_map.ids[i] >= limit;
  for (size_t i = 0; !named && has_ids(lists) && i < lists->nlist; i++) {
    for (size_t k = 0; k < lists->list[i].size; k++) {
      int64_t id = fw_list_id(&lists->list[i], k);
      beyond += id < 0 || id >= limit;
    }
  }
  if (beyond > 0)
    fw_found(v, FW_FINDING_FATAL, field, 0, "%" PRIu64 " %s not within 0 to %" PRId64 ", where the %s looks", beyond,
             fw_plural(beyond, "id is", "ids are"), limit - 1, reader);
}

/* ---- Direct map ----------------------------------------------------------------------------------------- */

/* Locations are within the lists: loading has checked that. */
static bool leads_to(const fw_lists *lists, int64_t location, int64_t id) {
  const fw_list *list = &lists->list[location >> 32];
  return fw_list_id(list, (size_t)(location & UINT32_MAX)) == id;
}

void fw_verify_direct_map(fw_verifier *v, const furrow_index *index) {
  const fw_direct_map *map = &index->ivf.direct_map;
  const fw_lists *lists = &index->ivf.lists;
  if (map->type == FURROW_DIRECT_MAP_NONE || !has_ids(lists)) return;
  size_t wrong = 0, located = 0, first = 0;
  for (size_t i = 0; i < map->count; i++) {
    int64_t id = map->pairs ? map->pairs[i].id : (int64_t)i;
    int64_t location = map->pairs ? map->pairs[i].location : map->locations[i];
    located += location >= 0;
    if (location >= 0 && !leads_to(lists, location, id) && wrong++ == 0) first = i;
  }
  if (wrong > 0)
    fw_found(v, FW_FINDING_FATAL, "direct_map", 0, "%zu %s to the vector of another id, the first is %zu", wrong,
             fw_plural(wrong, "entry leads", "entries lead"), first);
  uint64_t stored = fw_lists_stored(lists);
  if (located != stored)
    fw_found(v, FW_FINDING_REMARK, "direct_map", 0, "%zu %s for %" PRIu64 " %s in lists", located,
             fw_plural(located, "entry", "entries"), stored, fw_plural(stored, "vector", "vectors"));
}

/* ---- Lists on disk -------------------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b) {
  const fw_disk_list *x = a, *y = b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Whether a slot covers a part of one of the ranges, which are sorted and do not overlap. */
static bool covers(const fw_disk_slot *slot, const fw_disk_list *ranges, size_t count, uint64_t each) {
  uint64_t end;
  if (__builtin_add_overflow(slot->offset, slot->capacity, &end)) end = UINT64_MAX;
  size_t low = 0, high = count; /* to the first range that ends after the slot's beginning */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges[middle].offset + ranges[middle].capacity * each > slot->offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low < count && ranges[low].offset < end;
}

/* `ranges` are sorted. Free slots that cover lists come from a known bug of Faiss; Furrow does not use slots. */
static void check_ranges(fw_verifier *v, const furrow_index *index, const fw_disk_list *ranges, size_t count) {
  const fw_lists *lists = &index->ivf.lists;
  uint64_t each = lists->code_size + 8;
  size_t overlaps = 0, slots = 0;
  for (size_t i = 1; i < count; i++)
    overlaps += ranges[i - 1].offset + ranges[i - 1].capacity * each > ranges[i].offset;
  if (overlaps > 0) {
    fw_found(v, FW_FINDING_FATAL, "lists/lists", 0, "%zu %s others in the data file", overlaps,
             fw_plural(overlaps, "list overlaps", "lists overlap"));
    return;
  }
  for (size_t i = 0; i < lists->disk->slot_count; i++) slots += covers(&lists->disk->slots[i], ranges, count, each);
  if (slots > 0)
    fw_found(v, FW_FINDING_REMARK, "lists/slots", 0, "%zu free %s lists: adding vectors with Faiss would destroy some",
             slots, fw_plural(slots, "place covers", "places cover"));
}

void fw_verify_disk(fw_verifier *v, const furrow_index *index) {
  const fw_lists *lists = &index->ivf.lists;
  if (lists->disk->missing) {
    fw_found(v, FW_FINDING_REMARK, "lists", 0, "their data file was not looked at");
    return;
  }
  fw_disk_list *ranges = scratch(v, lists->nlist, sizeof *ranges);
  size_t count = 0;
  if (!ranges) return;
  for (size_t i = 0; i < lists->nlist; i++)
    if (lists->disk->lists[i].capacity > 0) ranges[count++] = lists->disk->lists[i];
  qsort(ranges, count, sizeof *ranges, compare_ranges);
  check_ranges(v, index, ranges, count);
  fw_free(ranges);
}

/* ---- Graphs --------------------------------------------------------------------------------------------- */

/* Counts the vectors that can be reached from the entry point by links of level 0. */
static size_t count_reached(const fw_hnsw *graph, bool *seen, int32_t *queue) {
  size_t head = 0, tail = 0;
  queue[tail++] = graph->entry_point;
  seen[graph->entry_point] = true;
  while (head < tail) {
    const int32_t *links = graph->neighbors + graph->offsets[queue[head++]];
    for (int32_t k = graph->cum[0]; k < graph->cum[1]; k++) {
      if (links[k] < 0 || seen[links[k]]) continue;
      seen[links[k]] = true;
      queue[tail++] = links[k];
    }
  }
  return tail;
}

void fw_verify_graph(fw_verifier *v, const furrow_index *index) {
  size_t n = (size_t)index->ntotal;
  if (n == 0) return;
  bool *seen = scratch(v, n, sizeof *seen);
  int32_t *queue = scratch(v, n, sizeof *queue);
  if (seen && queue) {
    size_t reached = count_reached(&index->hnsw, seen, queue);
    if (reached < n)
      fw_found(v, FW_FINDING_REMARK, "neighbors", 0, "%zu of %zu vectors cannot be reached from the entry point",
               n - reached, n);
  }
  fw_free(seen);
  fw_free(queue);
}
