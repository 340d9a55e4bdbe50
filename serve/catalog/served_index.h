/* serve/catalog/served_index.h: an index that is served: the file as it was loaded and, where it is writable, what was
 * added and removed since.
 *
 * The file is read into memory: it may be replaced, cut or removed while it is served. A reload or a checkpoint makes a
 * new base; searches that have begun keep theirs.
 */
#ifndef SERVE_CATALOG_SERVED_INDEX_H
#define SERVE_CATALOG_SERVED_INDEX_H

#include "catalog/served_model.h"
#include "catalog/slot.h"
#include "furrow/furrow.h"

/* Where the number of lists that a search probes by default comes from: the file, or, where that says 1, searches of
 * stored vectors, or a rule where these are not possible. */
typedef enum nprobe_origin { NPROBE_FROM_FILE, NPROBE_MEASURED, NPROBE_BY_RULE } nprobe_origin;

/* A loaded file. It never changes. */
typedef struct index_base {
  shared shared;
  uint64_t number;   /* 1, and one more for each reload or checkpoint */
  int64_t loaded_at; /* seconds since 1970 */
  furrow_index *index;
  furrow_searcher *searcher;
  furrow_id_names *names;     /* NULL: ids have no names */
  furrow_index_info info;     /* of the outer index */
  furrow_index_info ivf_info; /* of its lists; kind FLAT … where there are none */
  bool by_id;                 /* stored vectors can be decoded: searches with ids as queries */
  bool has_graph, is_refined; /* whether ef_search and k_factor do something */
  uint64_t nprobe;            /* lists that a search probes by default; 0: there are none */
  nprobe_origin nprobe_from;  /* who says so */
  double recall;              /* with nprobe lists, where it was measured */
  furrow_ids ids;             /* all, ascending, of a writable index; empty otherwise */
  uint64_t bytes;             /* of its file */
} index_base;

struct fresh_view; /* edit/fresh_vectors.h */

/* What a search sees: a base and the changes since. It never changes. */
typedef struct index_view {
  shared shared;
  index_base *base;         /* kept */
  struct fresh_view *fresh; /* kept; NULL: nothing was changed since */
} index_view;

/* Makes a view, which keeps both. Owner: the caller, who releases it; NULL: there is not the memory. */
index_view *index_view_create(index_base *base, struct fresh_view *fresh);

/* How an index is opened. */
typedef struct index_source {
  const char *name, *path;
  bool writable;               /* :add and :remove are allowed; takes the lock of the file's log */
  bool search_only;            /* keep only what searching needs: half of the memory, but no searches by id */
  uint64_t max_fresh;          /* vectors that are not in the file yet; beyond, adding is E_MEMORY until a checkpoint */
  uint64_t checkpoint_after;   /* changes after which a checkpoint begins */
  unsigned checkpoint_seconds; /* and after so much time, if there are any */
} index_source;

typedef struct served_index served_index;

/* Makes it without a base. Owner: the caller frees it with served_index_free. */
furrow_status served_index_create(served_index **index, const index_source *source, furrow_error *err);
/* Returns: whether its file has all changes; if not, standard error has been told why, and the log has them. */
bool served_index_free(served_index *index);
const char *served_index_name(const served_index *index);
bool served_index_is_writable(const served_index *index);
/* Loads the file if it is not the one that is served, or if `force`; of a writable index the first call replays the
 * log, and later ones are E_STATE. An index that is not writable, but whose log has changes, is E_STATE too: what was
 * acknowledged would not be found. As served_model_reload otherwise. */
furrow_status served_index_reload(served_index *index, bool force, reload_result *result, furrow_error *err);
bool served_index_has_newer(served_index *index);
index_view *served_index_get(served_index *index); /* released with shared_release(&view->shared) */
bool served_index_last_error(served_index *index, char *text, size_t size);

/* One search. */
typedef struct index_query {
  size_t k;
  uint64_t nprobe;                /* 0: base->nprobe */
  float k_factor;                 /* 0: what the index stores */
  int32_t ef_search;              /* 0: likewise */
  const furrow_id_filter *filter; /* NULL: all ids */
  unsigned threads;               /* 1 on loops */
} index_query;

/* Finds the k best of the base and of the changes: as furrow_searcher_search. */
furrow_status index_view_search(const index_view *view, const float *queries, size_t n, const index_query *query,
                                float *distances, int64_t *ids, furrow_error *err);
/* The stored vector of an id: d floats. Errors: E_NOT_FOUND; E_STATE, the index is search_only. */
furrow_status index_view_vector(const index_view *view, int64_t id, float *vector, furrow_error *err);
/* The name of an id, not ended by a 0; NULL: it has none. And the id of a name. */
const char *index_view_name(const index_view *view, int64_t id, size_t *size);
bool index_view_find(const index_view *view, const char *name, size_t size, int64_t *id);
/* Whether an id is there; for a writable index. */
bool index_view_has(const index_view *view, int64_t id);
/* Vectors that a search can find. */
uint64_t index_view_count(const index_view *view);

/* Vectors to add; ids NULL: those that follow the largest. names NULL: none; an index with names needs one for each. */
typedef struct index_addition {
  const float *vectors;
  size_t n;
  const int64_t *ids;
  const char *const *names; /* each ended by a 0 */
  bool replace;             /* ids (or names) that are there get the new vector; false: E_EXISTS */
} index_addition;

/* Adds vectors and writes the ids that they got to ids[n]. When it returns OK, they are on the disk and searches find
 * them. It waits for the disk: never on a thread of a loop. All or none.
 * Errors: E_STATE, the index is not writable; E_EXISTS; E_RANGE, a vector that the index does not take; E_ARGUMENT, a
 *         name is missing or not a name; E_MEMORY with the message "… until the next checkpoint": too much is waiting;
 *         E_IO, the log cannot be written: nothing more is accepted until a restart. */
furrow_status served_index_add(served_index *index, const index_addition *addition, int64_t *ids, furrow_error *err);
/* Removes ids; *removed: how many were there. As served_index_add. */
furrow_status served_index_remove(served_index *index, const int64_t *ids, size_t n, uint64_t *removed,
                                  furrow_error *err);
/* Folds all changes into the file, and begins a new log. Slow. */
furrow_status served_index_checkpoint(served_index *index, furrow_error *err);

/* Figures of a writable index. */
typedef struct edit_figures {
  uint64_t fresh, removed;        /* vectors and ids that are not in the file yet */
  uint64_t log_bytes;             /* of the log */
  uint64_t additions, removals;   /* vectors so far */
  uint64_t checkpoints, failures; /* of checkpoints */
  uint64_t syncs;                 /* of the log: one may make several requests durable */
} edit_figures;
void served_index_get_figures(served_index *index, edit_figures *figures);

#endif
