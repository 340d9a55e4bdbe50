/* serve/indexes/served_index.h: an index that is served: the file as it was loaded and, if it is writable, the changes
 * since then.
 *
 * The file is read into memory: it may be replaced, cut or removed while it is served. A reload or a checkpoint makes a
 * new base; searches that have begun keep theirs.
 */
#ifndef SERVE_INDEXES_SERVED_INDEX_H
#define SERVE_INDEXES_SERVED_INDEX_H

#include "indexes/index_view.h"

/* How an index is opened. */
typedef struct index_source {
  const char *name, *path;
  bool writable;               /* :add and :remove are allowed; takes the lock of the file's log */
  bool search_only;            /* keep only what searching needs: half of the memory, but no searches by id */
  uint64_t max_fresh;          /* vectors that are not in the file yet; beyond, adding is E_MEMORY until a checkpoint */
  uint64_t checkpoint_after;   /* changes after which a checkpoint begins */
  unsigned checkpoint_seconds; /* a checkpoint also begins after this time, if there are changes */
} index_source;

typedef struct served_index served_index;

/* Makes it without a base. Owner: the caller frees it with served_index_free. */
furrow_status served_index_create(served_index **index, const index_source *source, furrow_error *err);
/* Returns: whether its file has all changes; if not, the reason was printed to standard error, and the log has them. */
bool served_index_free(served_index *index);
const char *served_index_name(const served_index *index);
bool served_index_is_writable(const served_index *index);
/* Loads the file if it is not the one that is served, or if `force`; of a writable index the first call replays the
 * log, and later ones are E_STATE. An index that is not writable, but whose log has changes, is E_STATE too: searches
 * would not find acknowledged vectors. As served_model_reload otherwise. */
furrow_status served_index_reload(served_index *index, bool force, reload_result *result, furrow_error *err);
bool served_index_has_newer(served_index *index);
index_view *served_index_get(served_index *index); /* released with shared_release(&view->shared) */
bool served_index_last_error(served_index *index, char *text, size_t size);

/* Vectors to add; ids NULL: consecutive ids after the largest. names NULL: none; an index with names needs one for
 * each. */
typedef struct index_addition {
  const float *vectors;
  size_t n;
  const int64_t *ids;
  const char *const *names; /* each ended by a 0 */
  const char *const
      *attributes; /* rows of attribute_text_read; "": none, or what the id has; NULL: all of them are "" */
  bool replace;    /* existing ids (or names) get the new vector; false: E_EXISTS */
} index_addition;

/* Adds vectors and writes the ids that they got to ids[n]. When it returns OK, they are on the disk and searches find
 * them. It waits for the disk, so it must not be called on a loop thread. All vectors are added, or none.
 * Errors: E_STATE, the index is not writable; E_EXISTS; E_RANGE, a vector that the index does not take; E_ARGUMENT, a
 *         name is missing or not a name; E_MEMORY with the message "… until the next checkpoint": too much is waiting;
 *         E_IO, the log cannot be written: nothing was changed, and nothing is accepted until it can be written again,
 *         which is tried every second. */
furrow_status served_index_add(served_index *index, const index_addition *addition, int64_t *ids, furrow_error *err);
/* Removes ids; *removed: the number that existed. As served_index_add. */
furrow_status served_index_remove(served_index *index, const int64_t *ids, size_t n, uint64_t *removed,
                                  furrow_error *err);
/* Folds all changes into the file, and begins a new log. Slow. */
furrow_status served_index_checkpoint(served_index *index, furrow_error *err);

/* Figures of a writable index. */
typedef struct edit_figures {
  uint64_t fresh, removed;        /* vectors and ids that are not in the file yet */
  uint64_t log_bytes;             /* log bytes of the log */
  uint64_t additions, removals;   /* vectors so far */
  uint64_t checkpoints, failures; /* of checkpoints */
  uint64_t syncs;                 /* syncs of the log: one may make several requests durable */
  uint64_t refuses;               /* 1: changes are refused, because the log cannot be written */
  uint64_t log_failures;          /* times that this began */
} edit_figures;
void served_index_get_figures(served_index *index, edit_figures *figures);

#endif
