/* serve/indexes/index_checkpoint.h: writes changes into an index file, and says whether that can be done. */
#ifndef SERVE_INDEXES_INDEX_CHECKPOINT_H
#define SERVE_INDEXES_INDEX_CHECKPOINT_H

#include "indexes/fresh_vectors.h"
#include "indexes/index_base.h"

/* Tries on a copy of the index whether vectors can be added with ids of their own, and removed. *normalizes: distances
 * are those of vectors and queries that were scaled to unit length.
 * Errors: E_UNSUPPORTED, they cannot; E_MEMORY. */
furrow_status index_check_editable(const char *path, const index_base *base, bool *normalizes, furrow_error *err);
/* Loads the index file anew, gives it the changes of a view, and replaces it. *print must be that of the file, and is
 * afterwards that of the new one. Changes that the file has already do no harm.
 * Errors: E_STATE, another program has changed the file; those of furrow_index_load and furrow_index_save. */
furrow_status index_fold(const char *path, const fresh_view *view, file_print *print, furrow_error *err);

#endif
