/* serve/indexes/fresh_vectors.h: vectors that are not in the index file yet, and ids of the file that are gone.
 *
 * One thread changes the store, any number of threads search: a change makes a new view, which shares all vectors with
 * the one before. Fresh vectors are compared with every query, by their exact distance. For an index that scales
 * vectors to unit length (cosine), they are stored scaled, and queries are scaled, too; the zero vector stays zero, as
 * in the index.
 *
 * Vectors are only ever appended. Each has the number of the change that replaced or removed it, and a view has the
 * number of the last change that it sees: so the cost of a view does not depend on the number of vectors. Memory of
 * replaced vectors is returned with the whole store, after a checkpoint.
 *
 * A checkpoint: keep the current view, write the base and that view into a new file, load that file, and make a store
 * of the changes since then with fresh_vectors_rebase.
 */
#ifndef SERVE_INDEXES_FRESH_VECTORS_H
#define SERVE_INDEXES_FRESH_VECTORS_H

#include "furrow/furrow.h"
#include "indexes/change_log.h"
#include "shared/slot.h"

struct fresh_store;
struct fresh_hidden;
struct fresh_table;

/* What a search sees. It never changes. Released with shared_release(&view->shared); it outlives fresh_vectors_free. */
typedef struct fresh_view {
  shared shared;
  size_t count;        /* vectors that can be found */
  size_t hidden_count; /* ids of the base that are gone or have a fresh vector */
  /* What belongs to fresh_vectors.c: */
  struct fresh_store *store;
  const struct fresh_hidden *hidden;
  const struct fresh_table *by_id, *by_name;
  uint64_t version;
  size_t stored;                           /* vectors, including replaced and removed ones */
  _Atomic(furrow_attributes *) attributes; /* of all vectors; NULL: not needed yet */
} fresh_view;

/* Returns whether an id is in the base. */
typedef bool (*fresh_is_in_base)(void *user, int64_t id);

typedef struct fresh_vectors fresh_vectors;

/* normalizes: vectors and queries are scaled to unit length.
 * Errors: E_UNSUPPORTED, a metric other than L2 and IP; E_ARGUMENT, d is 0 or too large; E_MEMORY. */
furrow_status fresh_vectors_create(fresh_vectors **fresh, uint32_t d, furrow_distance_metric metric, bool normalizes,
                                   furrow_error *err);
/* Takes NULL. */
void fresh_vectors_free(fresh_vectors *fresh);
/* Applies a change and makes a view that includes it, which the caller releases; view NULL: none is made. is_in_base
 * says whether an id is in the base, so that it has to be hidden.
 * Errors: E_MEMORY: nothing was changed. */
furrow_status fresh_vectors_apply(fresh_vectors *fresh, const index_change *change, fresh_is_in_base is_in_base,
                                  void *user, fresh_view **view, furrow_error *err);
/* Makes a view of the changes so far. */
furrow_status fresh_vectors_view(const fresh_vectors *fresh, fresh_view **view, furrow_error *err);
/* Makes a store of the changes after `since`, a view of this store, for a base that has everything in `since`.
 * Owner: the caller frees *rebased. */
furrow_status fresh_vectors_rebase(const fresh_vectors *fresh, const fresh_view *since, fresh_is_in_base is_in_base,
                                   void *user, fresh_vectors **rebased, furrow_error *err);
/* Makes a store of the changes that `view` sees, without those after it. Owner: the caller frees *restored. */
furrow_status fresh_vectors_restore(const fresh_view *view, fresh_is_in_base is_in_base, void *user,
                                    fresh_vectors **restored, furrow_error *err);
/* Bytes that the store takes, without views. */
uint64_t fresh_vectors_memory(const fresh_vectors *fresh);

/* Merges the fresh vectors that the filter keeps (NULL: all) into the k results of each of n queries, which are sorted
 * as furrow_searcher_search leaves them.
 * Errors: E_MEMORY, if queries are scaled. */
furrow_status fresh_view_search(const fresh_view *view, const float *queries, size_t n, size_t k,
                                const furrow_id_filter *filter, float *distances, int64_t *ids, furrow_error *err);
/* One fresh vector. */
typedef struct fresh_item {
  int64_t id;
  const float *vector;
  const char *name;       /* NULL: none */
  const char *attributes; /* as in index_change */
} fresh_item;

/* The entry of an id; false: it is not fresh. */
bool fresh_view_get(const fresh_view *view, int64_t id, fresh_item *item);
/* Return the vector or the name of an id; NULL: it is not fresh, or has no name. The name is also ended by a 0. */
const float *fresh_view_vector(const fresh_view *view, int64_t id);
const char *fresh_view_name(const fresh_view *view, int64_t id, size_t *size);
/* The attributes of the vectors of a view, with a row for each: as they were given, or else the values that the ids
 * have in the base. Made by the first call. base: the attributes of the base, whose columns they have. Errors:
 * E_MEMORY. Owner: the view. */
furrow_status fresh_view_attributes(const fresh_view *view, const furrow_attributes *base,
                                    const furrow_attributes **attributes, furrow_error *err);
/* The fresh id of a name; false: there is none. */
bool fresh_view_find(const fresh_view *view, const char *name, size_t size, int64_t *id);
/* Returns whether the base's id is gone or has a fresh vector. */
bool fresh_view_hides(const fresh_view *view, int64_t id);
/* Iterates over the hidden ids of the base, in any order; *at starts at 0. false: there are no more. */
bool fresh_view_next_hidden(const fresh_view *view, size_t *at, int64_t *id);

/* Iterates over the vectors of a view, in the order of their changes; *at starts at 0. false: there are no more. */
bool fresh_view_next(const fresh_view *view, size_t *at, fresh_item *item);
/* The id of stored vector `at` (below view->stored), even if it was replaced or removed: a file that an earlier
 * checkpoint wrote, but that did not become the base, may have it. */
int64_t fresh_view_stored_id(const fresh_view *view, size_t at);

#endif
