/* serve/indexes/index_base.c: loads the file of an index that is served. */
#include "indexes/index_base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/sort.h"
#include "core/fail.h"
#include "core/shown_text.h"
#include "indexes/list_recall.h"
#include "shared/loaded_files.h"

enum {
  DEEPEST = 8,              /* indexes inside of indexes */
  MEASURED_BYTES = 1 << 27, /* that queries scan to find their truth */
  FEWEST_QUERIES = 8,       /* fewer say too little */
  MOST_QUERIES = 64
};

static void free_base(shared *self) {
  index_base *base = (index_base *)self; /* its first member */
  furrow_searcher_free(base->searcher);
  furrow_ids_clear(&base->ids);
  free(base);
}

/* ---- Ids ---- */

size_t sort_ids(int64_t *ids, size_t count) {
  size_t kept = 0;
  if (count > 1) qsort(ids, count, sizeof *ids, fw_compare_i64);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || ids[i] != ids[kept - 1]) ids[kept++] = ids[i];
  return kept;
}

bool sorted_ids_have(const int64_t *ids, size_t count, int64_t id) {
  return count > 0 && bsearch(&id, ids, count, sizeof *ids, fw_compare_i64) != NULL;
}

static furrow_status collect_ids(index_base *base, furrow_error *err) {
  FW_TRY(furrow_index_get_ids(base->index, &base->ids, err));
  base->ids.count = sort_ids(base->ids.ids, base->ids.count);
  return FURROW_OK;
}

bool index_base_has(const index_base *base, int64_t id) {
  return sorted_ids_have(base->ids.ids, base->ids.count, id);
}

/* Whether a file next to an index, if there is one, can be loaded. A dangling link and a file that cannot be examined
 * count as one: files that are not mapped have no links. */
static furrow_status check_companion(const char *path, const char *ending, furrow_error *err) {
  struct stat found;
  char *other = NULL;
  if (asprintf(&other, "%s%s", path, ending) < 0) return fail_memory(err);
  furrow_status status = FURROW_OK;
  const bool there = lstat(other, &found) == 0 || errno != ENOENT;
  if (there && stat(other, &found) != 0)
    status = fail_file(err, FURROW_E_IO, other, "this file of the index cannot be found", errno);
  else if (there && !S_ISREG(found.st_mode))
    status = fail_file(err, FURROW_E_FORMAT, other, "this file of the index is not a regular file", 0);
  free(other);
  return status;
}

static furrow_status check_companions(const char *path, furrow_error *err) {
  FW_TRY(check_companion(path, ".names", err));
  return check_companion(path, ".attributes", err);
}

/* Searches once with a zero vector, so that the first real query does not wait for cold memory. */
static furrow_status warm(const index_base *base, furrow_error *err) {
  furrow_search_params params;
  float distance, *query = calloc((size_t)base->info.d, sizeof *query);
  int64_t id;
  if (!query) return fail_memory(err);
  furrow_search_params_init(&params);
  params.threads = 1;
  const furrow_status status = furrow_searcher_search(base->searcher, query, 1, 1, &params, &distance, &id, err);
  free(query);
  return status;
}

/* Whether stored vectors can be decoded is tried with the first one. */
static bool can_decode(const index_base *base) {
  furrow_list_view list = {0};
  int64_t id = 0;
  float *vector = calloc((size_t)base->info.d, sizeof *vector);
  const furrow_index *ivf = furrow_index_ivf(base->index);
  for (uint64_t i = 0; ivf && base->info.kind != FURROW_INDEX_ID_MAP && i < base->ivf_info.nlist; i++)
    if (furrow_index_list(ivf, i, &list, NULL) == FURROW_OK && list.count > 0 && list.ids) {
      id = furrow_list_id(&list, 0);
      break;
    }
  const furrow_status status = vector ? furrow_index_reconstruct(base->index, id, vector, NULL) : FURROW_E_MEMORY;
  free(vector);
  return status == FURROW_OK || status == FURROW_E_NOT_FOUND;
}

/* Whether an index, or one inside of it, is of one of these kinds (bits). Files are not nested deeper. */
static bool has_kind(const furrow_index *index, unsigned kinds, unsigned depth) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  if (!index || depth == 0) return false;
  furrow_index_get_info(index, &info);
  if (kinds & 1u << info.kind) return true;
  for (size_t i = 0; furrow_index_child_name(index, i); i++)
    if (has_kind(furrow_index_child(index, i), kinds, depth - 1)) return true;
  return false;
}

static void describe(index_base *base) {
  furrow_index_info_init(&base->info);
  furrow_index_info_init(&base->ivf_info);
  furrow_index_get_info(base->index, &base->info);
  const furrow_index *ivf = furrow_index_ivf(base->index);
  furrow_index_get_info(ivf ? ivf : base->index, &base->ivf_info);
  base->has_graph = has_kind(base->index, 1u << FURROW_INDEX_HNSW, DEEPEST);
  base->is_refined = has_kind(base->index, 1u << FURROW_INDEX_IVF_PQR | 1u << FURROW_INDEX_REFINE, DEEPEST);
}

/* The card; without one its size is 0, and base->card_fault says why the one that is there is not used. */
static void describe_card(index_base *base) {
  furrow_error err;
  furrow_index_card_init(&base->card);
  const furrow_status status = furrow_index_get_card(base->index, &base->card, &err);
  if (status != FURROW_OK) base->card.size = 0;
  if (status == FURROW_E_FORMAT) snprintf(base->card_fault, sizeof base->card_fault, "%s", err.message);
}

static void tell_card(const index_base *base, const char *path) {
  if (base->card_fault[0]) say("furrow: %s.card: %s; it is not used\n", path, base->card_fault);
  if (base->card.size > 0 && base->card.stale) say("furrow: %s: %s\n", path, base->card.advice);
}

/* ---- How many lists a search probes ---- */

/* Returns the number of queries that scan about MEASURED_BYTES (some 100 ms). It does not depend on the speed of the
 * machine, so that all servers of a file choose the same nprobe. */
static size_t affordable_queries(const furrow_index_info *ivf) {
  const double one = (double)ivf->stored * (double)(ivf->code_size > 16 ? ivf->code_size : 16);
  const double queries = one > 0 ? (double)MEASURED_BYTES / one : 0;
  return queries < MOST_QUERIES ? (size_t)queries : MOST_QUERIES;
}

/* Finds the smallest power of two lists with which searches find nine of ten results of an exhaustive search. */
static furrow_status measure_nprobe(const index_base *base, size_t queries, uint64_t *nprobe, double *recall) {
  const index_view view = {.base = (index_base *)base};
  const uint64_t lists = base->ivf_info.nlist;
  recall_figures figures = {0};
  list_recall measured;
  furrow_status status = list_recall_begin(&measured, &view, queries, 10, NULL);
  if (status == FURROW_OK && measured.n < FEWEST_QUERIES) status = FURROW_E_UNSUPPORTED;
  for (*nprobe = 1; status == FURROW_OK; *nprobe = *nprobe * 2 < lists ? *nprobe * 2 : lists) {
    status = list_recall_measure(&measured, *nprobe, &figures, NULL);
    if (figures.recall >= 0.9 || *nprobe == lists) break;
  }
  list_recall_clear(&measured);
  *recall = figures.recall;
  return status;
}

/* An nprobe of 1 in the file means that none was chosen, and then searches find little. */
static void choose_nprobe(index_base *base) {
  const furrow_index_info *ivf = &base->ivf_info;
  base->nprobe = ivf->nprobe;
  base->nprobe_from = NPROBE_FROM_FILE;
  if (ivf->nlist < 2 || ivf->nprobe != 1) return;
  const size_t queries = base->by_id ? affordable_queries(ivf) : 0;
  if (queries >= FEWEST_QUERIES && measure_nprobe(base, queries, &base->nprobe, &base->recall) == FURROW_OK) {
    base->nprobe_from = NPROBE_MEASURED;
    return;
  }
  base->nprobe = furrow_default_nprobe(ivf->nlist);
  base->nprobe_from = NPROBE_BY_RULE;
}

static void tell_nprobe(const index_base *base, const char *path) {
  if (base->nprobe == base->ivf_info.nprobe) return;
  say("furrow: %s says nprobe 1: searches probe %llu of %llu lists unless they say otherwise", path,
      (unsigned long long)base->nprobe, (unsigned long long)base->ivf_info.nlist);
  if (base->nprobe_from == NPROBE_MEASURED)
    say(" (measured: recall@10 %.2f)\n", base->recall);
  else
    say("\n");
}

static furrow_status fill_base(index_base *base, const char *path, const char *unmapped, bool search_only,
                               bool sorted_ids, furrow_error *err) {
  const furrow_index_load_params load = FURROW_INIT(furrow_index_load_params, .search_only = search_only, .card = true);
  FW_TRY(furrow_index_verify(unmapped, NULL, NULL, NULL, err));
  FW_TRY(check_companions(path, err));
  const furrow_searcher_open_params open = FURROW_INIT(furrow_searcher_open_params, .load = &load, .attributes = true);
  FW_TRY(furrow_searcher_open(&base->searcher, unmapped, &open, err));
  base->index = furrow_searcher_index(base->searcher);
  base->names = furrow_searcher_names(base->searcher);
  base->attributes = furrow_searcher_attributes(base->searcher);
  describe(base);
  describe_card(base);
  base->by_id = !search_only && can_decode(base);
  if (sorted_ids) FW_TRY(collect_ids(base, err));
  FW_TRY(warm(base, err));
  choose_nprobe(base);
  return FURROW_OK;
}

/* The file is read twice: to check it, and to load it. */
static furrow_status load_watched(index_base *base, const char *path, const char *unmapped, bool search_only,
                                  bool sorted_ids, file_print *print, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  FW_TRY(furrow_path_watch_begin(&watch, path, err));
  furrow_status status = index_print_get(print, path, err);
  if (status == FURROW_OK) status = fill_base(base, path, unmapped, search_only, sorted_ids, err);
  return furrow_path_watch_end(watch, status, err);
}

furrow_status index_base_load(index_base **base, const char *path, bool search_only, bool sorted_ids, uint64_t number,
                              file_print *print, furrow_error *err) {
  index_base *made = calloc(1, sizeof *made);
  char *unmapped = unmapped_path(path);
  furrow_status status = made && unmapped ? unmapped_files_register(err) : fail_memory(err);
  if (made) shared_init(&made->shared, free_base);
  if (status == FURROW_OK) status = load_watched(made, path, unmapped, search_only, sorted_ids, print, err);
  if (status == FURROW_OK) {
    made->number = number;
    made->loaded_at = (int64_t)time(NULL);
    made->bytes = print->bytes;
    if (number == 1 || !sorted_ids) tell_nprobe(made, path); /* of checkpoints once is enough */
    if (number == 1 || !sorted_ids) tell_card(made, path);
    *base = made;
  } else {
    unmapped_error(err);
    if (made) shared_release(&made->shared);
  }
  free(unmapped);
  return status;
}

furrow_status index_file_load(furrow_index **index, furrow_id_names **names, furrow_attributes **attributes,
                              const char *path, furrow_error *err) {
  char *unmapped = unmapped_path(path);
  furrow_status status = unmapped ? unmapped_files_register(err) : fail_memory(err);
  if (status == FURROW_OK) status = check_companions(path, err);
  if (status == FURROW_OK)
    status = furrow_index_load_with_attributes(index, names, attributes, unmapped,
                                               &FURROW_INIT(furrow_index_load_params, .card = true), err);
  if (status != FURROW_OK) unmapped_error(err);
  free(unmapped);
  return status;
}
