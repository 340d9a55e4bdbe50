/* serve/catalog/index_base.h: loads the file of an index that is served. */
#ifndef SERVE_CATALOG_INDEX_BASE_H
#define SERVE_CATALOG_INDEX_BASE_H

#include "catalog/file_print.h"
#include "catalog/served_index.h"

/* Loads an index file, checks it, prepares it for searching and searches it once. sorted_ids: base->ids is filled in.
 * *print is the file that was loaded.
 * Errors: E_STATE, the file was changed meanwhile; those of furrow_index_verify, furrow_index_load,
 *         furrow_searcher_create and furrow_id_names_load.
 * Owner:  the caller, who releases (*base)->shared. */
furrow_status index_base_load(index_base **base, const char *path, bool search_only, bool sorted_ids, uint64_t number,
                              file_print *print, furrow_error *err);
/* Loads an index and its names (NULL: it has none) to change and save them.
 * Owner: the caller frees both. */
furrow_status index_file_load(furrow_index **index, furrow_id_names **names, const char *path, furrow_error *err);
/* Returns whether an id is in the file; for a base with sorted ids. */
bool index_base_has(const index_base *base, int64_t id);

#endif
