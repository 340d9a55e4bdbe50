/* cli/index/index_source.h: how the index commands read an index, and the options for it. */
#ifndef CLI_INDEX_INDEX_SOURCE_H
#define CLI_INDEX_INDEX_SOURCE_H

#include "core/options.h"
#include "furrow/vector.h"

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
/* Whether another file has the path of the index that was loaded last. */
bool index_source_was_replaced(const char *path);
/* E_ARGUMENT: `target` is the data file with the lists of the index. */
furrow_status index_source_apart(const furrow_index *index, const char *path, const char *target, furrow_error *err);

#endif
