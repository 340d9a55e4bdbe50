/* cli/index/index_searcher.c: how the commands open an index, or the shards of a manifest, and search it. */
#include "index/index_searcher.h"

#include <stddef.h>

#include "core/fail.h"
#include "core/ranks.h"

furrow_status index_searcher_open(furrow_searcher **searcher, const char *path, bool shards,
                                  const index_source_values *source, const furrow_searcher_open_params *params,
                                  furrow_error *err) {
  furrow_searcher_open_params used = *params;
  furrow_index_load_params load;
  if (shards && source->lists) return fail(err, FURROW_E_ARGUMENT, "--lists cannot be used with shards");
  furrow_status status = index_source_check(path, err);
  if (status != FURROW_OK) return status;
  index_source_params(source, &load);
  used.load = &load;
  used.comm = shards ? ranks_comm() : NULL;
  return index_names_explain(furrow_searcher_open(searcher, path, &used, err), path, err);
}

/* ---- Options ---- */

const option search_filter_options[] = {
    {.name = "nprobe",
     .kind = OPTION_COUNT64,
     .argument = "P",
     .help = "lists to probe (the index's setting)",
     .offset = offsetof(search_filter_values, nprobe)},
    {.name = "max-codes",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "compare each query with at most N vectors (0: no limit)",
     .offset = offsetof(search_filter_values, max_codes)},
    {.name = "filter-ids",
     .kind = OPTION_TEXT,
     .argument = "IDS",
     .help =
         "find only these ids: A:B (A to B - 1), 1,2,3, or a file: .npy .i64 .ivecs .ibin .txt, or text with a name "
         "on each line",
     .offset = offsetof(search_filter_values, filter.ids)},
    {.name = "filter-names",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "find only the names in this file, one on each line, even if they look like numbers",
     .offset = offsetof(search_filter_values, filter.names)},
    {.name = "others",
     .kind = OPTION_FLAG,
     .help = "with --filter-ids or --filter-names: find all vectors except these",
     .offset = offsetof(search_filter_values, without)},
    {.name = "ef-search",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "candidates that a graph search keeps (0: the index's setting); at least k",
     .offset = offsetof(search_filter_values, ef_search)},
    {.name = "k-factor",
     .kind = OPTION_REAL,
     .argument = "F",
     .help = "rerank F * k candidates (0: the index's setting)",
     .offset = offsetof(search_filter_values, k_factor)},
    THREADS_OPTION(offsetof(search_filter_values, threads), ""),
    {0}};

furrow_status search_filter_params(const search_filter_values *values, const furrow_id_names *names,
                                   furrow_search_params *params, id_filter_ids *ids, furrow_error *err) {
  furrow_search_params_init(params);
  params->nprobe = (uint64_t)values->nprobe;
  params->max_codes = values->max_codes;
  params->k_factor = (float)values->k_factor;
  params->ef_search = (int32_t)values->ef_search;
  params->threads = values->threads;
  if (values->filter.ids && values->filter.names)
    return fail(err, FURROW_E_ARGUMENT, "--filter-ids and --filter-names cannot be used together");
  if (!values->filter.ids && !values->filter.names)
    return values->without ? fail(err, FURROW_E_ARGUMENT, "--others needs --filter-ids") : FURROW_OK;
  furrow_status status = id_filter_ids_read(ids, &values->filter, names, err);
  if (status != FURROW_OK) return status;
  ids->filter.invert = values->without;
  params->filter = &ids->filter;
  return FURROW_OK;
}
