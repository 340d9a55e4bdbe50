/* cli/index/index_searcher.h: how the commands open an index, or the shards of a manifest, and search it. */
#ifndef CLI_INDEX_INDEX_SEARCHER_H
#define CLI_INDEX_INDEX_SEARCHER_H

#include "index/index_source.h"
#include "index/vector_source.h"

/* Opens an index file, or a manifest (`shards`), with furrow_searcher_open. params has the fields that this function
 * does not set: names and threads. If several processes run the command, all of them call it for a manifest. */
furrow_status index_searcher_open(furrow_searcher **searcher, const char *path, bool shards,
                                  const index_source_values *source, const furrow_searcher_open_params *params,
                                  furrow_error *err);

/* The options of a search. */

/* What the options of search_filter_options fill. */
typedef struct search_filter_values {
  int64_t nprobe; /* 0: the index's setting */
  uint64_t max_codes;
  uint32_t ef_search, threads;
  double k_factor;
  id_filter_values filter;
  bool without;
} search_filter_values;

extern const option search_filter_options[];

/* names: the names of the index; NULL: it has none. The filter points into `ids`: clear them when the parameters are no
 * longer used. */
furrow_status search_filter_params(const search_filter_values *values, const furrow_id_names *names,
                                   furrow_search_params *params, id_filter_ids *ids, furrow_error *err);

#endif
