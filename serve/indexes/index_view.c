/* serve/indexes/index_view.c: searches a base and the changes since. */
#include "indexes/index_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/fail.h"

static void free_view(shared *self) {
  index_view *view = (index_view *)self;
  shared_release(&view->base->shared);
  if (view->fresh) shared_release(&view->fresh->shared);
  free(view);
}

index_view *index_view_create(index_base *base, fresh_view *fresh) {
  index_view *view = calloc(1, sizeof *view);
  if (!view) return NULL;
  shared_init(&view->shared, free_view);
  shared_keep(&base->shared);
  if (fresh) shared_keep(&fresh->shared);
  view->base = base;
  view->fresh = fresh;
  return view;
}

/* The caller's filter, or NULL, minus the hidden ids. */
typedef struct visible_filter {
  const furrow_id_filter *given;
  const fresh_view *fresh;
} visible_filter;

static bool keeps_visible(void *user, int64_t id) {
  const visible_filter *filter = user;
  return (!filter->given || furrow_id_filter_keeps(filter->given, id)) && !fresh_view_hides(filter->fresh, id);
}

/* Returns the filter to search the base with. */
static const furrow_id_filter *without_hidden(const furrow_id_filter *given, const fresh_view *fresh,
                                              visible_filter *visible, furrow_id_filter *made) {
  if (!fresh || fresh->hidden_count == 0) return given;
  furrow_id_filter_init(made);
  *visible = (visible_filter){given, fresh};
  made->kind = FURROW_ID_FILTER_CALLBACK;
  made->keep = keeps_visible;
  made->user = visible;
  return made;
}

furrow_status index_view_search(const index_view *view, const float *queries, size_t n, const index_query *query,
                                float *distances, int64_t *ids, furrow_error *err) {
  furrow_search_params params;
  furrow_id_filter filter;
  visible_filter visible;
  furrow_search_params_init(&params);
  params.nprobe = query->nprobe > 0 ? query->nprobe : view->base->nprobe;
  params.k_factor = query->k_factor;
  params.ef_search = query->ef_search;
  params.threads = query->threads;
  params.filter = without_hidden(query->filter, view->fresh, &visible, &filter);
  FW_TRY(furrow_searcher_search(view->base->searcher, queries, n, query->k, &params, distances, ids, err));
  return view->fresh && view->fresh->count > 0
             ? fresh_view_search(view->fresh, queries, n, query->k, query->filter, distances, ids, err)
             : FURROW_OK;
}

furrow_status index_view_vector(const index_view *view, int64_t id, float *vector, furrow_error *err) {
  const float *fresh = view->fresh ? fresh_view_vector(view->fresh, id) : NULL;
  if (fresh) {
    memcpy(vector, fresh, (size_t)view->base->info.d * sizeof *vector);
    return FURROW_OK;
  }
  if (view->fresh && fresh_view_hides(view->fresh, id))
    return fail(err, FURROW_E_NOT_FOUND, "there is no vector with id %lld", (long long)id);
  if (!view->base->by_id) return fail(err, FURROW_E_STATE, "vectors of this index cannot be decoded: send the vector");
  return furrow_index_reconstruct(view->base->index, id, vector, err);
}

const char *index_view_name(const index_view *view, int64_t id, size_t *size) {
  const char *name = view->fresh ? fresh_view_name(view->fresh, id, size) : NULL;
  if (name) return name;
  if (!view->base->names || (view->fresh && fresh_view_hides(view->fresh, id))) return NULL;
  return furrow_id_names_text(view->base->names, id, size);
}

bool index_view_find(const index_view *view, const char *name, size_t size, int64_t *id) {
  int64_t found;
  if (view->fresh && fresh_view_find(view->fresh, name, size, id)) return true;
  if (!view->base->names || !furrow_id_names_find(view->base->names, name, size, &found)) return false;
  if (view->fresh && fresh_view_hides(view->fresh, found)) return false;
  *id = found;
  return true;
}

bool index_view_has(const index_view *view, int64_t id) {
  if (view->fresh && fresh_view_vector(view->fresh, id)) return true;
  return index_base_has(view->base, id) && !(view->fresh && fresh_view_hides(view->fresh, id));
}

uint64_t index_view_count(const index_view *view) {
  const index_base *base = view->base;
  const uint64_t stored = base->ids.count > 0        ? base->ids.count
                          : base->ivf_info.nlist > 0 ? base->ivf_info.stored
                                                     : (uint64_t)base->info.ntotal;
  return view->fresh ? stored - view->fresh->hidden_count + view->fresh->count : stored;
}
