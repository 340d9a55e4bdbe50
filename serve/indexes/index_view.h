/* serve/indexes/index_view.h: what a search sees of an index: its file as it was loaded, and the changes since. */
#ifndef SERVE_INDEXES_INDEX_VIEW_H
#define SERVE_INDEXES_INDEX_VIEW_H

#include "indexes/fresh_vectors.h"
#include "indexes/index_base.h"

/* What a search sees: a base and the changes since. It never changes. */
typedef struct index_view {
  shared shared;
  index_base *base;  /* kept */
  fresh_view *fresh; /* kept; NULL: nothing was changed since */
} index_view;

/* Makes a view, which keeps both. Owner: the caller, who releases it; NULL: out of memory. */
index_view *index_view_create(index_base *base, fresh_view *fresh);

/* One search. */
typedef struct index_query {
  size_t k;
  uint64_t nprobe;                /* 0: base->nprobe */
  float k_factor;                 /* 0: what the index stores */
  int32_t ef_search;              /* 0: likewise */
  const furrow_id_filter *filter; /* NULL: all ids */
  const char *where;              /* NULL. A filter by attributes; with `filter`, both must keep an id */
  double recall;                  /* with where: as furrow_filtered_params.recall */
  unsigned threads;               /* 1 on loops */
} index_query;

/* Finds the k best of the base and of the changes: as furrow_searcher_search; with query->where, as
 * furrow_filtered_search. Errors: also E_ARGUMENT with err->column, the filter is wrong; E_STATE, there are no
 * attributes. */
furrow_status index_view_search(const index_view *view, const float *queries, size_t n, const index_query *query,
                                float *distances, int64_t *ids, furrow_error *err);
/* The stored vector of an id: d floats. Errors: E_NOT_FOUND; E_STATE, the index is search_only. */
furrow_status index_view_vector(const index_view *view, int64_t id, float *vector, furrow_error *err);
/* The name of an id, not ended by a 0; NULL: it has none. And the id of a name. */
const char *index_view_name(const index_view *view, int64_t id, size_t *size);
bool index_view_find(const index_view *view, const char *name, size_t size, int64_t *id);
/* The attributes that have the row of an id that is there; the index must have some. Errors: E_MEMORY. */
furrow_status index_view_attributes(const index_view *view, int64_t id, const furrow_attributes **attributes,
                                    furrow_error *err);
/* Whether an id is there; for a writable index. */
bool index_view_has(const index_view *view, int64_t id);
/* Vectors that a search can find. */
uint64_t index_view_count(const index_view *view);

#endif
