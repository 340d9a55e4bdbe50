/* cli/index/index_source.h: how the index commands read an index and the names of its ids */
#ifndef CLI_INDEX_INDEX_SOURCE_H
#define CLI_INDEX_INDEX_SOURCE_H

#include <limits.h>

#include "core/options.h"
#include "core/report.h"
#include "furrow/attributes.h"
#include "furrow/card.h"
#include "furrow/vector.h"
#include "furrow/vector_data.h"

/* What the options of index_source_options fill. */
typedef struct index_source_values {
  const char *lists;
  bool allow_trailing;
} index_source_values;

extern const option index_source_options[];

/* Sets the parameters for reading; lists are mapped. */
void index_source_params(const index_source_values *values, furrow_index_load_params *params);
/* E_ARGUMENT: the path is standard input. */
furrow_status index_source_check(const char *path, furrow_error *err);
/* Loads an index file with furrow_index_load. */
furrow_status index_source_load(furrow_index **index, const char *path, const furrow_index_load_params *params,
                                furrow_error *err);
/* Loads an index file and the names of its ids with furrow_index_load_with_names. */
furrow_status index_source_load_with_names(furrow_index **index, furrow_id_names **names, const char *path,
                                           const furrow_index_load_params *params, furrow_error *err);
/* Loads an index file with everything that belongs to it, by furrow_index_load_with_attributes. */
furrow_status index_source_load_all(furrow_index **index, furrow_id_names **names, furrow_attributes **attributes,
                                    const char *path, const furrow_index_load_params *params, furrow_error *err);
/* Adds a hint in terms of the command about names or attributes that do not fit, after furrow_index_load_with_names or
 * furrow_searcher_open. */
furrow_status index_names_explain(furrow_status status, const char *path, furrow_error *err);
/* Where a reader of the index file `path` looks for the data file with the lists of the index; false: it has none. */
bool index_lists_path(const furrow_index *index, const char *path, char lists_path[PATH_MAX]);
/* Reports the data file of the lists; NULL: there is none. */
void index_lists_report(report *r, const char *lists_file);
/* E_ARGUMENT: `target` is the data file with the lists of the index. */
furrow_status index_source_apart(const furrow_index *index, const char *path, const char *target, furrow_error *err);

/* The ids of several indexes. All zeros: none. */
typedef struct id_list {
  int64_t *ids;
  size_t count;
} id_list;

/* Appends the ids of an index, or of all shards of a manifest, whose lists are mapped. */
furrow_status id_list_add(id_list *list, const furrow_index *index, furrow_error *err);
furrow_status id_list_add_shards(id_list *list, const char *path, const index_source_values *source, furrow_error *err);
void id_list_clear(id_list *list);

/* Names of the ids of an index, which are stored next to it, in INDEX.names. */

/* Loads the names or the attributes of an index file or a manifest alone; the result stays NULL where it has none. */
furrow_status index_names_load(furrow_id_names **names, const char *path, furrow_error *err);
furrow_status index_attributes_load(furrow_attributes **attributes, const char *path, furrow_error *err);
/* E_EXISTS: the file of names, of attributes or of the card of an index file to write exists and force is not set. */
furrow_status index_names_check_path(const char *target, bool force, furrow_error *err);
/* E_ARGUMENT: the file of names, of attributes or of the card of an index file is `other`, so that one of them would be
 * written and read. other may be NULL. */
furrow_status index_names_check_apart(const char *index_path, const char *other, furrow_error *err);
/* Reports the name of an id under a key (NULL: in a list); null in JSON where it has none. */
void index_names_report(report *r, const char *key, const furrow_id_names *names, int64_t id);

/* Reports the card of an index, or why the file that is there cannot be used; nothing if there is none. */
void index_card_report(report *r, const furrow_index *index);

#endif
