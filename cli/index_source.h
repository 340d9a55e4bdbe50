/* cli/index_source.h: the index that the index commands read, and the options that say how. */
#ifndef FURROW_CLI_INDEX_SOURCE_H
#define FURROW_CLI_INDEX_SOURCE_H

#include "furrow/vector.h"
#include "options.h"

/* What the options of index_source_options fill. */
typedef struct index_source_values {
  const char *lists;
  bool allow_trailing;
} index_source_values;

extern const option index_source_options[];

/* Parameters for reading; lists are mapped. */
void index_source_params(const index_source_values *values, furrow_index_load_params *params);

#endif
