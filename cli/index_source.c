/* cli/index_source.c: the index that the index commands read, and the options that say how. */
#include "index_source.h"

#include <stddef.h>
#include <string.h>

#include "fail.h"

const option index_source_options[] = {{.name = "lists",
                                        .kind = OPTION_TEXT,
                                        .argument = "FILE",
                                        .help = "the data file of lists on disk, if it is not beside the index",
                                        .offset = offsetof(index_source_values, lists)},
                                       {.name = "allow-trailing",
                                        .kind = OPTION_FLAG,
                                        .help = "bytes behind the index are no fault",
                                        .offset = offsetof(index_source_values, allow_trailing)},
                                       {0}};

void index_source_params(const index_source_values *values, furrow_index_load_params *params) {
  furrow_index_load_params_init(params);
  params->map = true;
  params->lists = values->lists;
  params->allow_trailing = values->allow_trailing;
}

furrow_status index_source_check(const char *path, furrow_error *err) {
  if (strcmp(path, "-") != 0) return FURROW_OK;
  return fail(err, FURROW_E_ARGUMENT, "an index is read from a file, not from standard input");
}

furrow_status index_source_load(furrow_index **index, const char *path, const furrow_index_load_params *params,
                                furrow_error *err) {
  furrow_status status = index_source_check(path, err);
  return status == FURROW_OK ? furrow_index_load(index, path, params, err) : status;
}
