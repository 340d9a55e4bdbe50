/* serve/indexes/index_checkpoint.h: writes changes into an index file, and checks whether that is possible. */
#ifndef SERVE_INDEXES_INDEX_CHECKPOINT_H
#define SERVE_INDEXES_INDEX_CHECKPOINT_H

#include "indexes/fresh_vectors.h"
#include "indexes/index_base.h"

/* Tries on a copy of the index whether vectors can be added with given ids, and removed. *normalizes: the index scales
 * vectors and queries to unit length.
 * Errors: E_UNSUPPORTED, they cannot; E_MEMORY. */
furrow_status index_check_editable(const char *path, const index_base *base, bool *normalizes, furrow_error *err);
/* Loads the index file again, applies the changes of a view, and replaces the file. Vectors that are added to it later
 * without ids get ids from next_id on. *print must be the fingerprint of
 * the file, and is then the fingerprint of the new one. Changes that the file already has do no harm.
 * Errors: E_STATE, another program has changed the file; otherwise as furrow_index_load and furrow_index_save. */
furrow_status index_fold(const char *path, const fresh_view *view, uint64_t next_id, file_print *print,
                         furrow_error *err);

#endif
