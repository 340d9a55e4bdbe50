/* cli/index/search_options.h: how an index is searched. */
#ifndef CLI_INDEX_SEARCH_OPTIONS_H
#define CLI_INDEX_SEARCH_OPTIONS_H

#include "index/vector_source.h"

/* What the options of search_filter_options fill. */
typedef struct search_filter_values {
  int64_t nprobe; /* 0: as the index says */
  uint64_t max_codes;
  uint32_t ef_search, threads;
  double k_factor;
  const char *filter;
  bool without;
} search_filter_values;

extern const option search_filter_options[];

/* `ids` is what the filter points at: clear it when the parameters are not used any more. */
furrow_status search_filter_params(const search_filter_values *values, furrow_search_params *params, id_filter_ids *ids,
                                   furrow_error *err);

#endif
