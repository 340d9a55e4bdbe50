/* cli/index/search_options.h: the options of a search. */
#ifndef CLI_INDEX_SEARCH_OPTIONS_H
#define CLI_INDEX_SEARCH_OPTIONS_H

#include "index/vector_source.h"

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

/* names: those of the index; NULL: it has none. The filter points into `ids`: clear them when the parameters are no
 * longer used. */
furrow_status search_filter_params(const search_filter_values *values, const furrow_id_names *names,
                                   furrow_search_params *params, id_filter_ids *ids, furrow_error *err);

#endif
