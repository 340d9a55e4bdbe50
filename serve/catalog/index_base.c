/* serve/catalog/index_base.c: loads the file of an index that is served. */
#include "catalog/index_base.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/serve_settings.h"
#include "catalog/sorted_ids.h"
#include "catalog/unmapped_files.h"
#include "core/fail.h"

static void free_base(shared *self) {
  index_base *base = (index_base *)self; /* its first member */
  furrow_searcher_free(base->searcher);
  furrow_index_free(base->index);
  furrow_id_names_free(base->names);
  furrow_ids_clear(&base->ids);
  free(base);
}

static furrow_status collect_ids(index_base *base, furrow_error *err) {
  FAIL_TRY(furrow_index_get_ids(base->index, &base->ids, err));
  base->ids.count = sort_ids(base->ids.ids, base->ids.count);
  return FURROW_OK;
}

bool index_base_has(const index_base *base, int64_t id) {
  return sorted_ids_have(base->ids.ids, base->ids.count, id);
}

/* Names are read after the index: they are checked against the bytes of its file. */
static furrow_status load_names(furrow_id_names **names, const char *unmapped, furrow_error *err) {
  const furrow_status status = furrow_id_names_load(names, unmapped, err);
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* One search with the dimension's zeros touches what a first query would have to wait for. */
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

static void describe(index_base *base) {
  furrow_index_info_init(&base->info);
  furrow_index_info_init(&base->ivf_info);
  furrow_index_get_info(base->index, &base->info);
  const furrow_index *ivf = furrow_index_ivf(base->index);
  furrow_index_get_info(ivf ? ivf : base->index, &base->ivf_info);
}

static furrow_status fill_base(index_base *base, const char *unmapped, bool search_only, bool sorted_ids,
                               furrow_error *err) {
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  FAIL_TRY(furrow_index_verify(unmapped, &params, NULL, NULL, err));
  params.search_only = search_only;
  FAIL_TRY(furrow_index_load(&base->index, unmapped, &params, err));
  FAIL_TRY(load_names(&base->names, unmapped, err));
  FAIL_TRY(furrow_searcher_create(&base->searcher, base->index, NULL, err));
  describe(base);
  base->by_id = !search_only && can_decode(base);
  if (sorted_ids) FAIL_TRY(collect_ids(base, err));
  return warm(base, err);
}

/* What was read before and after a change does not belong together. */
static furrow_status check_unchanged(const char *path, const file_print *before, furrow_error *err) {
  file_print after;
  FAIL_TRY(index_print_get(&after, path, err));
  if (file_print_equals(before, &after)) return FURROW_OK;
  fail_in(err, FURROW_E_STATE, path, "the file was changed while it was loaded");
  return add_hint(err, "write an index under another name and rename it, as furrow index does");
}

furrow_status index_base_load(index_base **base, const char *path, bool search_only, bool sorted_ids, uint64_t number,
                              file_print *print, furrow_error *err) {
  index_base *made = calloc(1, sizeof *made);
  char *unmapped = unmapped_path(path);
  furrow_status status = made && unmapped ? unmapped_files_register(err) : fail_memory(err);
  if (made) shared_init(&made->shared, free_base);
  if (status == FURROW_OK) status = index_print_get(print, path, err);
  if (status == FURROW_OK) status = fill_base(made, unmapped, search_only, sorted_ids, err);
  if (status == FURROW_OK) status = check_unchanged(path, print, err);
  if (status == FURROW_OK) {
    made->number = number;
    made->loaded_at = (int64_t)time(NULL);
    made->bytes = print->bytes;
    *base = made;
  } else {
    unmapped_error(err);
    if (made) shared_release(&made->shared);
  }
  free(unmapped);
  return status;
}

furrow_status index_file_load(furrow_index **index, furrow_id_names **names, const char *path, furrow_error *err) {
  char *unmapped = unmapped_path(path);
  furrow_index *loaded = NULL;
  furrow_status status = unmapped ? unmapped_files_register(err) : fail_memory(err);
  *names = NULL;
  if (status == FURROW_OK) status = furrow_index_load(&loaded, unmapped, NULL, err);
  if (status == FURROW_OK) status = load_names(names, unmapped, err);
  if (status == FURROW_OK) {
    *index = loaded;
  } else {
    unmapped_error(err);
    furrow_index_free(loaded);
  }
  free(unmapped);
  return status;
}
