/* vector/file/index_verify.c: loads a file, checks that it can be searched, scans everything in it, and reports
 * findings: ids are unique and lead somewhere, direct maps are correct, vectors finite, all vectors of graphs
 * reachable. Errors that need no scan belong in the reader, so that loading refuses them, too. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/index/inverted_lists.h"

typedef struct verifier {
  const char *file;
  const furrow_index_load_params *params;
  void (*on_finding)(void *user, const furrow_index_finding *finding);
  void *user;
  furrow_status fatal;  /* status of the first fatal finding; OK: none yet */
  furrow_status status; /* not OK: the checks themselves failed (memory) */
  furrow_error *err;
  char path[192]; /* path of the current index, ends with /; "" for the outermost one */
} verifier;

typedef enum finding_kind { REMARK, FATAL } finding_kind;

/* ---- Findings ------------------------------------------------------------------------------------------- */

static void report_finding(verifier *v, const furrow_index_finding *finding) {
  if (v->on_finding) v->on_finding(v->user, finding);
  if (!finding->fatal || v->fatal != FURROW_OK) return;
  v->fatal = finding->status;
  fw_fail(v->err, finding->status, "%s%s%s", finding->path, finding->path[0] ? ": " : "", finding->message);
  if (!v->err) return;
  v->err->offset = finding->offset;
  fw_error_set_file(v->err, v->file);
}

/* ---- Offsets of fields: determined by reading the file again, because findings are rare ----------------- */

typedef struct field_search {
  const char *path;
  size_t length;
  uint64_t offset; /* FURROW_NO_OFFSET until it is found */
} field_search;

/* Matches the field itself, otherwise the first field in the part of that name. */
static furrow_status search_field(void *user, const furrow_index_field *field) {
  field_search *s = user;
  if (strcmp(field->path, s->path) == 0) {
    s->offset = field->offset;
    return FURROW_END;
  }
  bool inside = strncmp(field->path, s->path, s->length) == 0 && (s->length == 0 || field->path[s->length] == '/');
  if (inside && s->offset == FURROW_NO_OFFSET) s->offset = field->offset;
  return FURROW_OK;
}

static uint64_t offset_of_field(const verifier *v, const char *path, uint64_t within) {
  field_search s = {.path = path, .length = strlen(path), .offset = FURROW_NO_OFFSET};
  furrow_status status = furrow_index_for_each_field(v->file, v->params, search_field, &s, NULL);
  return status == FURROW_END ? s.offset + within : s.offset;
}

/* Reports a finding about `field` of the current index, `within` bytes after its start. A fatal one was found by a
 * scan. */
__attribute__((format(printf, 5, 6))) static void add_finding(verifier *v, finding_kind kind, const char *field,
                                                              uint64_t within, const char *format, ...) {
  char message[256], path[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  snprintf(path, sizeof path, "%s%s", v->path, field);
  furrow_index_finding finding = {.fatal = kind == FATAL,
                                  .by_scan = kind == FATAL,
                                  .path = path,
                                  .offset = offset_of_field(v, path, within),
                                  .status = kind == FATAL ? FURROW_E_FORMAT : FURROW_OK,
                                  .message = message};
  report_finding(v, &finding);
}

/* Reports why the file, or the data file of its lists, could not be loaded. */
static void report_load_error(verifier *v, furrow_status status, const furrow_error *error) {
  char message[sizeof error->message + sizeof error->file + sizeof error->token + 8];
  bool other = error->file[0] && strcmp(error->file, v->file) != 0;
  snprintf(message, sizeof message, "%s%s%s%s%s%s", other ? error->file : "", other ? ": " : "", error->message,
           error->token[0] ? " (" : "", error->token, error->token[0] ? ")" : "");
  furrow_index_finding finding = {
      .fatal = true, .path = "", .offset = error->offset, .status = status, .message = message};
  if (v->on_finding) v->on_finding(v->user, &finding);
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static void verify_vectors(verifier *v, const furrow_index *index) {
  const uint64_t count = (uint64_t)index->ntotal * (uint64_t)index->d;
  uint64_t bad = 0, first = 0;
  for (uint64_t i = 0; i < count; i++)
    if (!isfinite(index->flat.vectors[i]) && bad++ == 0) first = i;
  if (bad > 0)
    add_finding(v, REMARK, "vectors", 4 * first,
                "%" PRIu64 " of %" PRIu64 " numbers %s not finite, the first is number %" PRIu64, bad, count,
                fw_plural(bad, "is", "are"), first);
}

/* Faiss writes 0 in the bits after the last sub-quantizer's. */
static void verify_padding(verifier *v, const furrow_index *index) {
  const fw_lists *lists = &index->ivf.lists;
  unsigned used = (unsigned)(index->ivf.pq.m * index->ivf.pq.nbits % 8);
  size_t size = lists->code_size;
  uint64_t bad = 0;
  if (used == 0 || size == 0) return;
  for (size_t i = 0; lists->list && i < lists->nlist; i++) {
    const fw_list *list = &lists->list[i];
    for (size_t k = 0; list->codes && k < list->size; k++) bad += (list->codes[k * size + size - 1] >> used) != 0;
  }
  if (bad > 0)
    add_finding(v, REMARK, "lists", 0, "%" PRIu64 " %s bits set after the last part", bad,
                fw_plural(bad, "code has", "codes have"));
}

static void *scratch(verifier *v, size_t count, size_t size) {
  void *memory = NULL;
  if (v->status == FURROW_OK) v->status = fw_alloc_zero(&memory, count, size, v->err);
  return memory;
}

/* ---- Ids ------------------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Adds remarks on `count` sorted ids. Faiss accepts any id, but a result of -1 means "none". */
static void verify_sorted_ids(verifier *v, const char *field, const int64_t *ids, size_t count) {
  size_t twice = 0, negative = 0;
  for (size_t i = 0; i < count; i++) {
    negative += ids[i] < 0;
    twice += i > 0 && ids[i] == ids[i - 1];
  }
  if (twice > 0)
    add_finding(v, REMARK, field, 0, "%zu %s more than once", twice, fw_plural(twice, "id occurs", "ids occur"));
  if (negative > 0)
    add_finding(v, REMARK, field, 0, "%zu %s negative", negative, fw_plural(negative, "id is", "ids are"));
}

static bool is_sorted(const int64_t *ids, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (ids[i] < ids[i - 1]) return false;
  return true;
}

static void verify_ids(verifier *v, const char *field, const int64_t *ids, size_t count) {
  if (is_sorted(ids, count)) {
    verify_sorted_ids(v, field, ids, count);
    return;
  }
  int64_t *sorted = scratch(v, count, sizeof *sorted);
  if (!sorted) return;
  memcpy(sorted, ids, count * sizeof *ids);
  qsort(sorted, count, sizeof *sorted, compare_ids);
  verify_sorted_ids(v, field, sorted, count);
  fw_free(sorted);
}

static bool has_ids(const fw_lists *lists) {
  return lists->list && !(lists->disk && lists->disk->missing);
}

/* Checks that the ids of all lists of an IVF index are unique and not negative. `field` is the subject of the
 * findings. */
static void verify_list_ids(verifier *v, const furrow_index *index, const char *field) {
  const fw_lists *lists = &index->ivf.lists;
  if (!has_ids(lists)) return;
  size_t stored = (size_t)fw_lists_stored(lists), n = 0;
  int64_t *ids = scratch(v, stored, sizeof *ids);
  if (!ids) return;
  for (size_t i = 0; i < lists->nlist; i++)
    for (size_t k = 0; k < lists->list[i].size; k++) ids[n++] = fw_list_id(&lists->list[i], k);
  verify_ids(v, field, ids, stored);
  fw_free(ids);
}

/* Checks that ids of lists, or of an id map, are below `limit`, because `reader` uses them as positions. */
static void verify_id_limit(verifier *v, const furrow_index *index, const char *field, int64_t limit,
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
    add_finding(v, FATAL, field, 0, "%" PRIu64 " %s not within 0 to %" PRId64 ", where the %s looks", beyond,
                fw_plural(beyond, "id is", "ids are"), limit - 1, reader);
}

/* ---- Direct map ----------------------------------------------------------------------------------------- */

/* Locations are within the lists; loading has checked that. */
static bool leads_to(const fw_lists *lists, int64_t location, int64_t id) {
  const fw_list *list = &lists->list[location >> 32];
  return fw_list_id(list, (size_t)(location & UINT32_MAX)) == id;
}

static void verify_direct_map(verifier *v, const furrow_index *index) {
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
    add_finding(v, FATAL, "direct_map", 0, "%zu %s to the vector of another id, the first is %zu", wrong,
                fw_plural(wrong, "entry leads", "entries lead"), first);
  uint64_t stored = fw_lists_stored(lists);
  if (located != stored)
    add_finding(v, REMARK, "direct_map", 0, "%zu %s for %" PRIu64 " %s in lists", located,
                fw_plural(located, "entry", "entries"), stored, fw_plural(stored, "vector", "vectors"));
}

/* ---- Lists on disk -------------------------------------------------------------------------------------- */

/* Whether a slot overlaps one of the ranges, which are sorted and disjoint. */
static bool covers(const fw_disk_slot *slot, const fw_disk_list *ranges, size_t count, uint64_t each) {
  uint64_t end;
  if (__builtin_add_overflow(slot->offset, slot->capacity, &end)) end = UINT64_MAX;
  size_t low = 0, high = count; /* finds the first range that ends after the start of the slot */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges[middle].offset + ranges[middle].capacity * each > slot->offset)
      high = middle;
    else
      low = middle + 1;
  }
  return low < count && ranges[low].offset < end;
}

/* Free slots that overlap lists come from a known bug of Faiss; Furrow does not use slots. */
static void verify_disk(verifier *v, const furrow_index *index) {
  const fw_lists *lists = &index->ivf.lists;
  fw_disk_list *ranges = NULL;
  size_t count = 0, slots = 0;
  if (lists->disk->missing) {
    add_finding(v, REMARK, "lists", 0, "their data file was not checked");
    return;
  }
  if (v->status == FURROW_OK) v->status = fw_lists_sort_by_offset(lists, &ranges, &count, v->err);
  for (size_t i = 0; ranges && i < lists->disk->slot_count; i++)
    slots += covers(&lists->disk->slots[i], ranges, count, lists->code_size + 8);
  if (slots > 0)
    add_finding(v, REMARK, "lists/slots", 0, "%zu free %s lists: adding vectors with Faiss would destroy some", slots,
                fw_plural(slots, "place covers", "places cover"));
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

static void verify_graph(verifier *v, const furrow_index *index) {
  size_t n = (size_t)index->ntotal;
  if (n == 0) return;
  bool *seen = scratch(v, n, sizeof *seen);
  int32_t *queue = scratch(v, n, sizeof *queue);
  if (seen && queue) {
    size_t reached = count_reached(&index->hnsw, seen, queue);
    if (reached < n)
      add_finding(v, REMARK, "neighbors", 0, "%zu of %zu vectors cannot be reached from the entry point", n - reached,
                  n);
  }
  fw_free(seen);
  fw_free(queue);
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static void verify_header(verifier *v, const furrow_index *index) {
  if (index->dummy[0] != FW_INDEX_DUMMY || index->dummy[1] != FW_INDEX_DUMMY)
    add_finding(v, REMARK, "dummy", 0, "the two unused numbers are not %d", FW_INDEX_DUMMY);
  if (memcmp(index->fourcc, index->read_as, 4) != 0)
    add_finding(v, REMARK, "fourcc", 0, "a legacy kind, which is written as %.4s today", index->fourcc);
}

/* An index around others is trained if all of them and its transforms are. */
static void verify_trained(verifier *v, const furrow_index *index) {
  bool inner = true;
  if (fw_index_is_ivf(index) || !index->child[0]) return;
  for (size_t i = 0; i < FW_INDEX_CHILDREN && index->child[i]; i++) inner = inner && index->child[i]->trained;
  for (size_t i = 0; index->kind == FURROW_INDEX_TRANSFORM && i < index->transforms.count; i++)
    inner = inner && index->transforms.list[i].trained;
  if (index->trained != inner)
    add_finding(v, REMARK, "is_trained", 0, "is %d, but the inner index is %strained", index->trained,
                inner ? "" : "not ");
}

static void verify_ivf(verifier *v, const furrow_index *index) {
  const fw_ivf *ivf = &index->ivf;
  uint64_t stored = fw_lists_stored(&ivf->lists);
  if (ivf->lists.kind != FURROW_LISTS_NONE && (uint64_t)index->ntotal > stored)
    add_finding(v, REMARK, "ntotal", 0, "is %" PRId64 ", but the lists have %" PRIu64 " %s: the others were not finite",
                index->ntotal, stored, fw_plural(stored, "vector", "vectors"));
  if (fw_index_pq(index) && index->kind != FURROW_INDEX_IVF_PQ_FAST) verify_padding(v, index);
  if (index->kind == FURROW_INDEX_IVF_PQR) verify_id_limit(v, index, "lists", index->ntotal, "refinement");
  verify_list_ids(v, index, "lists");
  verify_direct_map(v, index);
  if (ivf->lists.disk) verify_disk(v, index);
}

/* Checks that ids of the inner index are below ntotal, because the index around it uses them as positions. */
static void verify_inner_ids(verifier *v, const furrow_index *index, const char *field, const char *reader) {
  const furrow_index *inner = index->child[0];
  while (inner && (inner->kind == FURROW_INDEX_TRANSFORM || inner->kind == FURROW_INDEX_REFINE))
    inner = inner->child[0];
  if (inner && (inner->kind == FURROW_INDEX_ID_MAP || fw_index_is_ivf(inner)))
    verify_id_limit(v, inner, field, index->ntotal, reader);
}

static void verify_refine(verifier *v, const furrow_index *index) {
  if (index->k_factor > 1000)
    add_finding(v, REMARK, "k_factor", 0, "is %g; newer Faiss takes 1 to 1000", (double)index->k_factor);
  verify_inner_ids(v, index, "base", "refinement");
}

static void verify_transforms(verifier *v, const furrow_index *index) {
  if (index->child[0]->ntotal != index->ntotal)
    add_finding(v, REMARK, "ntotal", 0, "is %" PRId64 ", but the inner index has %" PRId64, index->ntotal,
                index->child[0]->ntotal);
}

static void verify_kind(verifier *v, const furrow_index *index) {
  switch (index->kind) {
  case FURROW_INDEX_FLAT: verify_vectors(v, index); break;
  case FURROW_INDEX_HNSW: verify_graph(v, index); break;
  case FURROW_INDEX_SQ:
  case FURROW_INDEX_PQ:
  case FURROW_INDEX_PQ_FAST:
  case FURROW_INDEX_MULTI: break;
  case FURROW_INDEX_ID_MAP:
    verify_ids(v, "id_map", index->id_map.ids, (size_t)index->ntotal);
    verify_inner_ids(v, index, "index", "id map");
    break;
  case FURROW_INDEX_TRANSFORM: verify_transforms(v, index); break;
  case FURROW_INDEX_REFINE: verify_refine(v, index); break;
  default: verify_ivf(v, index); break;
  }
}

static void verify_index(verifier *v, const furrow_index *index) {
  if (v->status != FURROW_OK) return;
  verify_header(v, index);
  verify_trained(v, index);
  verify_kind(v, index);
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++) {
    if (!index->child[i]) continue;
    size_t mark = strlen(v->path);
    snprintf(v->path + mark, sizeof v->path - mark, "%s/", furrow_index_child_name(index, i));
    verify_index(v, index->child[i]);
    v->path[mark] = 0;
  }
}

/* Verifies that an index can be searched. That it is not trained yet, or that its lists are stored elsewhere, is only a
 * remark. */
static void verify_searchable(verifier *v, const furrow_index *index) {
  furrow_error why;
  const furrow_status status = fw_index_check_searchable(index, &why);
  if (status == FURROW_OK) return;
  char message[sizeof why.message + 32];
  snprintf(message, sizeof message, "cannot be searched: %s", why.message);
  const bool fatal = status != FURROW_E_STATE;
  furrow_index_finding finding = {
      .fatal = fatal, .path = "", .offset = 0, .status = fatal ? status : FURROW_OK, .message = message};
  report_finding(v, &finding);
}

furrow_status furrow_index_verify(const char *path, const furrow_index_load_params *params,
                                  void (*on_finding)(void *user, const furrow_index_finding *finding), void *user,
                                  furrow_error *err) {
  furrow_error error;
  furrow_index *index = NULL;
  furrow_index_load_params whole;
  furrow_index_load_params_init(&whole);
  FW_TRY(FW_PARAMS_READ(&whole, params, furrow_index_load_params, err));
  verifier v = {.file = path, .params = &whole, .on_finding = on_finding, .user = user, .err = &error};
  whole.search_only = false;
  furrow_status status = furrow_index_load(&index, path, &whole, &error);
  if (status != FURROW_OK) {
    report_load_error(&v, status, &error);
  } else {
    verify_searchable(&v, index);
    verify_index(&v, index);
    status = v.status != FURROW_OK ? v.status : v.fatal;
    const furrow_status lost = fw_index_finish(index, FURROW_OK, &error);
    if (lost != FURROW_OK) report_load_error(&v, lost, &error);
    if (lost != FURROW_OK) status = lost;
  }
  furrow_index_free(index);
  if (status != FURROW_OK && err) *err = error;
  return status;
}
