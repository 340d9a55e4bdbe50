/* serve/indexes/index_base.h: the file of an index that is served, loaded. */
#ifndef SERVE_INDEXES_INDEX_BASE_H
#define SERVE_INDEXES_INDEX_BASE_H

#include "furrow/furrow.h"
#include "shared/loaded_files.h"
#include "shared/slot.h"

/* Where the default nprobe comes from: the file or, if that says 1, searches of stored vectors, or a rule if these are
 * not possible. */
typedef enum nprobe_origin { NPROBE_FROM_FILE, NPROBE_MEASURED, NPROBE_BY_RULE } nprobe_origin;

/* A loaded file. It never changes. */
typedef struct index_base {
  shared shared;
  uint64_t number;                     /* 1, and one more for each reload or checkpoint */
  int64_t loaded_at;                   /* seconds since 1970 */
  furrow_searcher *searcher;           /* owns the index and the names */
  const furrow_index *index;           /* index of the searcher */
  const furrow_id_names *names;        /* names of the searcher; NULL: ids have no names */
  const furrow_attributes *attributes; /* attributes of the searcher; NULL: there are none */
  furrow_index_info info;              /* info of the outer index */
  furrow_index_info ivf_info;          /* ivf info of its lists; kind FLAT … where there are none */
  bool by_id;                          /* stored vectors can be decoded: searches with ids as queries */
  bool has_graph, is_refined;          /* whether ef_search and k_factor do something */
  uint64_t nprobe;                     /* lists that a search probes by default; 0: there are none */
  nprobe_origin nprobe_from;           /* who says so */
  double recall;                       /* with nprobe lists, where it was measured */
  furrow_index_card card;              /* size 0: there is none */
  char card_fault[256];                /* why the card that is there is not used; "": it is, or there is none */
  furrow_ids ids;                      /* all, ascending, of a writable index; empty otherwise */
  uint64_t bytes;                      /* bytes of its file */
} index_base;

/* Loads an index file, checks it, prepares it for searching and searches it once. sorted_ids: base->ids is filled in.
 * *print is the file that was loaded.
 * Errors: E_STATE, the file was changed meanwhile; otherwise as furrow_index_verify and furrow_searcher_open.
 * Owner:  the caller, who releases (*base)->shared. */
furrow_status index_base_load(index_base **base, const char *path, bool search_only, bool sorted_ids, uint64_t number,
                              file_print *print, furrow_error *err);
/* Loads an index with its card, its names and its attributes (NULL: it has none) to change and save them.
 * Owner: the caller frees all. */
furrow_status index_file_load(furrow_index **index, furrow_id_names **names, furrow_attributes **attributes,
                              const char *path, furrow_error *err);
/* Returns whether an id is in the file; for a base with sorted ids. */
bool index_base_has(const index_base *base, int64_t id);

/* Sorts ids and drops duplicates; returns the number that remain. */
size_t sort_ids(int64_t *ids, size_t count);
bool sorted_ids_have(const int64_t *ids, size_t count, int64_t id);

#endif
