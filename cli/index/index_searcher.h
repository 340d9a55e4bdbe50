/* cli/index/index_searcher.h: what is searched: an index file, or the shards of a manifest. */
#ifndef CLI_INDEX_INDEX_SEARCHER_H
#define CLI_INDEX_INDEX_SEARCHER_H

#include "index/index_source.h"
#include "index/vector_source.h"

typedef struct index_searcher {
  furrow_index *index; /* NULL: shards */
  furrow_searcher *searcher;
  furrow_shards *shards; /* NULL: an index file */
  size_t d;
  int64_t ntotal;
} index_searcher;

/* Opens an index file or a manifest. Where several processes run the command, all of them call it for a manifest.
 * Close it, also after a failure. */
furrow_status index_searcher_open(index_searcher *s, const char *path, bool shards, const index_source_values *source,
                                  unsigned threads, furrow_error *err);
void index_searcher_close(index_searcher *s);

/* The index, or the first shard; NULL: another process has it. */
const furrow_index *index_searcher_index(const index_searcher *s);
furrow_status index_searcher_search(const index_searcher *s, const float *queries, size_t n, size_t k,
                                    const furrow_search_params *params, float *distances, int64_t *ids,
                                    furrow_error *err);
furrow_status index_searcher_range(const index_searcher *s, const float *queries, size_t n, float radius,
                                   const furrow_search_params *params, furrow_range_result **result, furrow_error *err);

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
