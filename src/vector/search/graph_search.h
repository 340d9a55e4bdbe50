/* vector/search/graph_search.h: nearest vectors by an HNSW graph. */
#ifndef FW_VECTOR_SEARCH_GRAPH_SEARCH_H
#define FW_VECTOR_SEARCH_GRAPH_SEARCH_H

#include "vector/data/id_filter.h"
#include "vector/index/index.h"
#include "vector/search/sink.h"

typedef struct fw_scratch fw_scratch; /* search/searcher.h */

/* Gives the sink, which keeps the k best, all vectors that the search reaches. ef: candidates; 0: what the index
 * stores. */
furrow_status fw_graph_search(const furrow_index *index, fw_scratch *scratch, const float *query, int32_t ef,
                              const fw_id_filter *id_filter, fw_sink *sink, furrow_error *err) FURROW_MUST_USE;

#endif
