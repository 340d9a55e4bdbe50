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

/* Two filters (NULL: all ids), minus the hidden ids of a view (NULL: none). */
typedef struct joint_filter {
  const furrow_id_filter *given, *where;
  const fresh_view *fresh;
  furrow_id_filter made;
} joint_filter;

static bool keeps_jointly(void *user, int64_t id) {
  const joint_filter *filter = user;
  return (!filter->where || furrow_id_filter_keeps(filter->where, id)) &&
         (!filter->given || furrow_id_filter_keeps(filter->given, id)) &&
         !(filter->fresh && fresh_view_hides(filter->fresh, id));
}

/* Returns the filter to search with; NULL: all ids. */
static const furrow_id_filter *join_filters(joint_filter *joint, const furrow_id_filter *given,
                                            const furrow_id_filter *where, const fresh_view *fresh) {
  const bool hides = fresh && fresh->hidden_count > 0;
  if (!hides && (!given || !where)) return given ? given : where;
  *joint = (joint_filter){.given = given, .where = where, .fresh = hides ? fresh : NULL};
  furrow_id_filter_init(&joint->made);
  joint->made.kind = FURROW_ID_FILTER_CALLBACK;
  joint->made.keep = keeps_jointly;
  joint->made.user = joint;
  return &joint->made;
}

static furrow_status search_base(const index_view *view, const float *queries, size_t n, const index_query *query,
                                 const furrow_id_filter *where, float *distances, int64_t *ids, furrow_error *err) {
  furrow_search_params params;
  furrow_filtered *filtered = NULL;
  joint_filter joint;
  furrow_search_params_init(&params);
  params.nprobe = query->nprobe > 0 ? query->nprobe : view->base->nprobe;
  params.k_factor = query->k_factor;
  params.ef_search = query->ef_search;
  params.threads = query->threads;
  params.filter = join_filters(&joint, query->filter, where, view->fresh);
  if (!where) return furrow_searcher_search(view->base->searcher, queries, n, query->k, &params, distances, ids, err);
  const furrow_filtered_params limits = FURROW_INIT(furrow_filtered_params, .search = &params, .recall = query->recall);
  FW_TRY(furrow_filtered_create(&filtered, view->base->searcher, &limits, err));
  const furrow_status status = furrow_filtered_search(filtered, queries, n, query->k, distances, ids, err);
  furrow_filtered_free(filtered);
  return status;
}

static furrow_status search_fresh(const index_view *view, const float *queries, size_t n, const index_query *query,
                                  const furrow_id_filter *where, float *distances, int64_t *ids, furrow_error *err) {
  joint_filter joint;
  const furrow_id_filter *filter = join_filters(&joint, query->filter, where, NULL);
  return fresh_view_search(view->fresh, queries, n, query->k, filter, distances, ids, err);
}

/* Selects from both sides; *fresh stays NULL where there are no fresh vectors. */
static furrow_status select_both(const index_view *view, const char *where, furrow_selection **stored,
                                 furrow_selection **fresh, furrow_error *err) {
  const furrow_attributes *attributes = NULL;
  if (!view->base->attributes) {
    fail(err, FURROW_E_STATE, "the index has no attributes");
    return add_hint(err, "'furrow index attributes INDEX --set FILE' gives it some");
  }
  FW_TRY(furrow_attributes_select(view->base->attributes, where, stored, err));
  if (!view->fresh || view->fresh->count == 0) return FURROW_OK;
  FW_TRY(fresh_view_attributes(view->fresh, view->base->attributes, &attributes, err));
  return furrow_attributes_select(attributes, where, fresh, err);
}

static const furrow_id_filter *filter_of(const furrow_selection *selection) {
  return selection ? furrow_selection_filter(selection) : NULL;
}

furrow_status index_view_search(const index_view *view, const float *queries, size_t n, const index_query *query,
                                float *distances, int64_t *ids, furrow_error *err) {
  furrow_selection *stored = NULL, *fresh = NULL;
  furrow_status status = query->where ? select_both(view, query->where, &stored, &fresh, err) : FURROW_OK;
  if (status == FURROW_OK) status = search_base(view, queries, n, query, filter_of(stored), distances, ids, err);
  if (status == FURROW_OK && view->fresh && view->fresh->count > 0)
    status = search_fresh(view, queries, n, query, filter_of(fresh), distances, ids, err);
  furrow_selection_free(stored);
  furrow_selection_free(fresh);
  return status;
}

furrow_status index_view_attributes(const index_view *view, int64_t id, const furrow_attributes **attributes,
                                    furrow_error *err) {
  *attributes = view->base->attributes;
  if (!view->fresh || !fresh_view_vector(view->fresh, id)) return FURROW_OK;
  return fresh_view_attributes(view->fresh, view->base->attributes, attributes, err);
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
