/* vector/search/searcher.h: an index prepared for searching: a tree of nodes like that of the indexes. */
#ifndef FW_VECTOR_SEARCH_SEARCHER_H
#define FW_VECTOR_SEARCH_SEARCHER_H

#include <pthread.h>

#include "base/arena.h"
#include "base/pool.h"
#include "vector/data/id_filter.h"
#include "vector/index/index.h"
#include "vector/search/coarse.h"
#include "vector/search/pq_lists.h"
#include "vector/search/sink.h"

/* The memory of one thread while it searches. The searcher keeps it between calls. */
struct fw_scratch {
  fw_arena arena;   /* of the current queries */
  uint8_t *visited; /* of graphs: a mark for each vector, all 0 between searches */
  int32_t *touched; /* vectors with a mark; as many elements */
  size_t visited_count;
  struct fw_scratch *next; /* while it is idle */
};

furrow_status fw_scratch_create(fw_scratch **scratch, furrow_error *err) FURROW_MUST_USE;
void fw_scratch_free(fw_scratch *scratch);
/* Allocates at least n marks, and as many elements of `touched`. */
furrow_status fw_scratch_marks(fw_scratch *scratch, size_t n, furrow_error *err) FURROW_MUST_USE;

typedef struct fw_node {
  const furrow_index *index;
  struct fw_node *child; /* ID_MAP, TRANSFORM; REFINE: of its base */
  fw_coarse coarse;      /* IVF_* */
  uint32_t *ranks;       /* IVF_*: of lists, in an order in space (fw_list_ranks); NULL: none */
  fw_pq_lists pq;        /* IVF_PQ, IVF_PQR, PQ */
} fw_node;

/* What searches keep for the next ones: the only part that changes, under its lock. */
typedef struct fw_searcher_store {
  pthread_mutex_t lock;
  fw_scratch *idle; /* scratch memory that is not in use */
  fw_pool *pool;    /* made by the first search that needs it */
} fw_searcher_store;

struct furrow_searcher {
  const furrow_index *index; /* NULL: shards */
  fw_node *root;
  fw_searcher_store *store;
  /* What furrow_searcher_open loaded, and the searcher owns: */
  furrow_index *loaded;
  furrow_id_names *names; /* NULL: ids have no names */
  furrow_shards *shards;  /* NULL: `index` is searched */
};

/* Bytes of the searchers of shards. */
uint64_t fw_shards_memory(const furrow_shards *shards);

/* At most so many threads share one query. */
enum { FW_MAX_QUERY_PARTS = 64 };

/* The parameters of a search, the same for all its queries. */
typedef struct fw_search_job {
  uint64_t nprobe, max_codes;
  float k_factor;
  int32_t ef_search;
  fw_id_filter id_filter;
  fw_pool *pool; /* NULL: the query is searched on the calling thread */
  unsigned threads;
  uint32_t *order; /* NULL, or n elements: gets the order in which queries are searched */
  bool unsorted;   /* the k best of a query may be in any order: they are refined */
} fw_search_job;

/* The k best of n queries: what is searched for, and where the results go. */
typedef struct fw_search_batch {
  const fw_search_job *job;
  const float *queries; /* n * d */
  size_t n, k;
  float *distances; /* n * k */
  int64_t *ids;     /* n * k */
} fw_search_batch;

/* Lists that a query probes: at least 1. */
size_t fw_probe_count(const furrow_index *ivf, const fw_search_job *job);
/* Whether searching many queries in one call is faster than in several. */
bool fw_ivf_orders_queries(const furrow_index *ivf);

/* A batch of a few queries, because scratch grows with n; the results are those of furrow_searcher_search. */
furrow_status fw_node_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                             furrow_error *err) FURROW_MUST_USE;
/* Gives the sink all vectors within its radius (a key), with their ids and keys. */
furrow_status fw_node_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                            fw_sink *sink, furrow_error *err) FURROW_MUST_USE;

/* The kinds (search_ivf.c, search_flat.c, search_refine.c, graph_search.c). */
furrow_status fw_ivf_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                            furrow_error *err) FURROW_MUST_USE;
furrow_status fw_ivf_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                           fw_sink *sink, furrow_error *err) FURROW_MUST_USE;
/* The k best of one query, with locations for ids: list << 32 | offset. */
furrow_status fw_ivf_search_pairs(const fw_node *node, fw_scratch *scratch, const float *query,
                                  const fw_search_job *job, fw_sink *sink, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_pqr_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                            furrow_error *err) FURROW_MUST_USE;
furrow_status fw_refine_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                               furrow_error *err) FURROW_MUST_USE;
furrow_status fw_flat_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                             furrow_error *err) FURROW_MUST_USE;
furrow_status fw_flat_range(const fw_node *node, const float *query, const fw_search_job *job, fw_sink *sink,
                            furrow_error *err) FURROW_MUST_USE;
/* HNSW: gives the sink, which keeps the k best, all vectors that the search reaches. ef: candidates; 0: what the index
 * stores. */
furrow_status fw_graph_search(const furrow_index *index, fw_scratch *scratch, const float *query, int32_t ef,
                              const fw_id_filter *id_filter, fw_sink *sink, furrow_error *err) FURROW_MUST_USE;

furrow_status fw_pq_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                           furrow_error *err) FURROW_MUST_USE;
furrow_status fw_pq_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                          fw_sink *sink, furrow_error *err) FURROW_MUST_USE;

/* ---- Parts of a search, for shards (search_shards.c) ---- */

/* furrow_searcher_create for a shard; list_sizes as in fw_pq_lists_create. */
furrow_status fw_searcher_create(furrow_searcher **searcher, const furrow_index *index, const int64_t *list_sizes,
                                 unsigned threads, furrow_error *err) FURROW_MUST_USE;

/* The hits of one query that ever were among the k best of a sink with `lists`, in the order of the scan, with
 * locations for ids; ends[j]: how many there are when probe j was scanned. ids: ties are decided by ids, not by
 * locations. */
furrow_status fw_ivf_collect(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                             bool ids, fw_sink *sink, size_t *ends, furrow_error *err) FURROW_MUST_USE;
/* The key by which IVF_PQR ranks the vector at a location. */
furrow_status fw_pqr_key(const fw_node *node, fw_scratch *scratch, const float *query, int64_t location, float *key,
                         furrow_error *err) FURROW_MUST_USE;
/* Queries as the index behind a transform sees them. */
furrow_status fw_node_transform(const fw_node *node, fw_scratch *scratch, const float **queries, size_t n,
                                furrow_error *err) FURROW_MUST_USE;
/* The id that an id map has for one of the index inside; -1 stays. */
furrow_status fw_id_map_rename(const furrow_index *index, int64_t *id, furrow_error *err) FURROW_MUST_USE;

/* What a range search found for one query. */
typedef struct fw_range_hits {
  fw_hit *hits;
  size_t count;
} fw_range_hits;

/* The result of n queries whose hits are sorted by id. */
furrow_status fw_range_result_make(const fw_range_hits *all, size_t n, bool similarity, furrow_range_result **result,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_hits_sort_by_id(fw_hit *hits, size_t count);

/* Scratch memory of a thread, and the thread pool, from the searcher's store. */
furrow_status fw_searcher_borrow(const furrow_searcher *searcher, fw_scratch **scratch,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_searcher_give_back(const furrow_searcher *searcher, fw_scratch *scratch);
furrow_status fw_searcher_pool(const furrow_searcher *searcher, unsigned threads, fw_pool **pool,
                               furrow_error *err) FURROW_MUST_USE;

/* The key of row `row` of a flat index. */
float fw_flat_key(const furrow_index *index, const float *query, int64_t row);
/* Whether larger is better. */
bool fw_metric_is_similarity(furrow_distance_metric metric);
/* Whether flat vectors can be searched by it. */
bool fw_metric_is_searched(furrow_distance_metric metric);
/* The size of a heap for k results: at most the number of vectors, at least 1. */
size_t fw_heap_size(const furrow_index *index, size_t k);
/* k * factor, but at least k, and at most the number of vectors. */
size_t fw_expanded_k(const furrow_index *index, size_t k, float factor);
/* The number of results that an index needs from the one inside of it for k results: more if they are refined. */
size_t fw_inner_k(const furrow_index *index, size_t k, const fw_search_job *job);

/* ---- Many queries (search_batch.c) ---- */

/* E_RANGE, with the row: a query with a NaN or an infinity, or one that is too large for squares. */
furrow_status fw_queries_check(furrow_distance_metric metric, const float *queries, size_t n, size_t d,
                               furrow_error *err) FURROW_MUST_USE;

/* Queries begin … end-1 of a search, with the scratch memory of a thread. */
typedef furrow_status (*fw_search_range_fn)(void *context, size_t begin, size_t end, const fw_search_job *job,
                                            fw_scratch *scratch, furrow_error *err);

/* A call of a search: its parameters, checked, and the threads that pay off. */
typedef struct fw_search_call {
  const furrow_searcher *searcher;
  fw_search_job job;
  furrow_id_filter filter; /* that of the job */
  fw_pool *pool;           /* NULL: one thread */
  unsigned threads;
} fw_search_call;

/* A search has one phase or two. A phase needs what the phase before it has found for all queries. */
typedef struct fw_search_phase {
  fw_search_range_fn part;
  void (*finish)(void *context); /* by one thread, once all queries are done; NULL: nothing */
} fw_search_phase;

enum { FW_SEARCH_PHASES = 2 };

/* Gives all n queries to the phases, `step` at a time, on the threads of the call. The error is that of the first
 * queries that failed. */
furrow_status fw_search_phases(const fw_search_call *call, size_t n, size_t step, const fw_search_phase *phases,
                               size_t count, void *context, furrow_error *err) FURROW_MUST_USE;

/* Checks queries and parameters, makes a job of them, and gives all n queries, of k results each (0: not known), to
 * `part`, on as many threads as pay off. The error is that of the first part that failed. */
furrow_status fw_search_parallel(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                 const furrow_search_params *params, fw_search_range_fn part, void *context,
                                 furrow_error *err) FURROW_MUST_USE;

/* fw_ivf_search of the root on the threads of a call, which share the order of the queries (search_ivf.c). */
furrow_status fw_ivf_search_shared(const fw_search_call *call, const fw_search_batch *batch,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
