/* cli/index/index_names.h: names of the ids of an index, which are in a file beside it. */
#ifndef CLI_INDEX_INDEX_NAMES_H
#define CLI_INDEX_INDEX_NAMES_H

#include "core/report.h"
#include "furrow/vector_data.h"

/* Loads the names of an index file; *names stays NULL where it has none. */
furrow_status index_names_load(furrow_id_names **names, const char *path, furrow_error *err);
/* E_EXISTS: the file of names of an index file to write exists and force is not set. */
furrow_status index_names_check_path(const char *target, bool force, furrow_error *err);
/* E_ARGUMENT: the file of names of an index file is `other`, so that one of them would be written and read. other may
 * be NULL. */
furrow_status index_names_check_apart(const char *index_path, const char *other, furrow_error *err);
/* Reports the name of an id under a key (NULL: in a list); null in JSON where it has none. */
void index_names_report(report *r, const char *key, const furrow_id_names *names, int64_t id);

#endif
