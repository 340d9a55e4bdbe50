/* cli/index/index_searcher.c: what is searched: an index file, or the shards of a manifest. */
#include "index/index_searcher.h"

#include <stddef.h>

#include "core/fail.h"
#include "core/ranks.h"

static furrow_status open_shards(index_searcher *s, const char *path, const index_source_values *source,
                                 unsigned threads, furrow_error *err) {
  furrow_shards_params params;
  furrow_index_load_params load;
  if (source->lists) return fail(err, FURROW_E_ARGUMENT, "--lists cannot be used with shards");
  index_source_params(source, &load);
  furrow_shards_params_init(&params);
  params.load = &load;
  params.threads = threads;
  params.comm = ranks_comm();
  const furrow_status status = furrow_shards_open(&s->shards, path, &params, err);
  if (status != FURROW_OK) return status;
  s->d = furrow_shards_dimension(s->shards);
  s->ntotal = (int64_t)furrow_shards_vectors(s->shards);
  return FURROW_OK;
}

furrow_status index_searcher_open(index_searcher *s, const char *path, bool shards, const index_source_values *source,
                                  unsigned threads, furrow_error *err) {
  furrow_index_load_params load;
  furrow_searcher_params params;
  furrow_index_info info;
  *s = (index_searcher){0};
  if (shards) return open_shards(s, path, source, threads, err);
  index_source_params(source, &load);
  furrow_status status = index_source_load(&s->index, path, &load, err);
  if (status != FURROW_OK) return status;
  furrow_searcher_params_init(&params);
  params.threads = threads;
  furrow_index_info_init(&info);
  furrow_index_get_info(s->index, &info);
  s->d = (size_t)info.d;
  s->ntotal = info.ntotal;
  return furrow_searcher_create(&s->searcher, s->index, &params, err);
}

void index_searcher_close(index_searcher *s) {
  furrow_shards_free(s->shards);
  furrow_searcher_free(s->searcher);
  furrow_index_free(s->index);
  *s = (index_searcher){0};
}

const furrow_index *index_searcher_index(const index_searcher *s) {
  return s->shards ? furrow_shards_index(s->shards, 0) : s->index;
}

furrow_status index_searcher_search(const index_searcher *s, const float *queries, size_t n, size_t k,
                                    const furrow_search_params *params, float *distances, int64_t *ids,
                                    furrow_error *err) {
  if (s->shards) return furrow_shards_search(s->shards, queries, n, k, params, distances, ids, err);
  return furrow_searcher_search(s->searcher, queries, n, k, params, distances, ids, err);
}

furrow_status index_searcher_range(const index_searcher *s, const float *queries, size_t n, float radius,
                                   const furrow_search_params *params, furrow_range_result **result,
                                   furrow_error *err) {
  if (s->shards) return furrow_shards_search_range(s->shards, queries, n, radius, params, result, err);
  return furrow_searcher_search_range(s->searcher, queries, n, radius, params, result, err);
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
     .help = "with --filter-ids or --filter-names: find all others",
     .offset = offsetof(search_filter_values, without)},
    {.name = "ef-search",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "candidates that a graph search keeps (0: the index's setting)",
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
