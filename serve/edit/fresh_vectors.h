/* serve/edit/fresh_vectors.h: vectors that are not in the index file yet, and ids of the file that are gone.
 *
 * One thread changes, any number search: a change makes a new view, which shares all vectors with the one before.
 * Fresh vectors are compared with every query, by their exact distance.
 */
#ifndef SERVE_EDIT_FRESH_VECTORS_H
#define SERVE_EDIT_FRESH_VECTORS_H

#include "catalog/slot.h"
#include "edit/change_log.h"
#include "furrow/furrow.h"

/* What a search sees. It never changes. */
typedef struct fresh_view {
  shared shared;
  size_t count;          /* vectors that can be found */
  size_t hidden_count;   /* ids of the base that are gone or have a fresh vector */
  const int64_t *hidden; /* ascending */
  /* … the rest belongs to fresh_vectors.c */
} fresh_view;

typedef struct fresh_vectors fresh_vectors;

furrow_status fresh_vectors_create(fresh_vectors **fresh, uint32_t d, furrow_distance_metric metric, furrow_error *err);
void fresh_vectors_free(fresh_vectors *fresh);
/* Applies a change and makes *view that has it, one use of it being the caller's. is_in_base says whether an id is in
 * the base, so that it has to be hidden. */
furrow_status fresh_vectors_apply(fresh_vectors *fresh, const index_change *change,
                                  bool (*is_in_base)(void *user, int64_t id), void *user, fresh_view **view,
                                  furrow_error *err);
/* Puts the fresh vectors that the filter keeps (NULL: all) among the k results of each of n queries, which are sorted
 * as furrow_searcher_search leaves them. */
void fresh_view_search(const fresh_view *view, const float *queries, size_t n, size_t k, const furrow_id_filter *filter,
                       float *distances, int64_t *ids);
/* Of an id or a name; NULL: it is not fresh. */
const float *fresh_view_vector(const fresh_view *view, int64_t id);
const char *fresh_view_name(const fresh_view *view, int64_t id, size_t *size);
bool fresh_view_find(const fresh_view *view, const char *name, size_t size, int64_t *id);

#endif
