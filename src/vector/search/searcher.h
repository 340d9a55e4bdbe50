/* vector/search/searcher.h: an index prepared for searching: a tree of nodes that mirrors the tree of indexes. */
#ifndef FW_VECTOR_SEARCH_SEARCHER_H
#define FW_VECTOR_SEARCH_SEARCHER_H

#include <pthread.h>

#include "base/arena.h"
#include "base/pool.h"
#include "furrow/attributes.h"
#include "vector/data/id_filter.h"
#include "vector/index/index.h"
#include "vector/index/rounded_rows.h"
#include "vector/search/coarse.h"
#include "vector/search/pq_lists.h"
#include "vector/search/sink.h"

/* Scratch memory of one thread during a search. The searcher keeps it between calls. */
struct fw_scratch {
  fw_arena arena;   /* memory for the current queries */
  uint8_t *visited; /* graphs: a mark for each vector, all 0 between searches */
  int32_t *touched; /* marked vectors */
  size_t visited_count;
  struct fw_scratch *next; /* list of idle scratches */
};

furrow_status fw_scratch_create(fw_scratch **scratch, furrow_error *err) FURROW_MUST_USE;
void fw_scratch_free(fw_scratch *scratch);
/* Allocates at least n marks, and n + 1 elements of `touched`. */
furrow_status fw_scratch_marks(fw_scratch *scratch, size_t n, furrow_error *err) FURROW_MUST_USE;

typedef struct fw_node {
  const furrow_index *index;
  struct fw_node *child;    /* ID_MAP, TRANSFORM; REFINE: the base */
  fw_coarse coarse;         /* IVF_* */
  uint32_t *list_positions; /* IVF_*: position of each list in a spatial order (fw_list_positions); NULL: none */
  fw_pq_lists pq;           /* kinds with a product quantizer */
  fw_rounded rounded;       /* HNSW over FLAT with many vectors */
} fw_node;

/* State that searches keep for later ones: the only mutable part, guarded by its lock. */
typedef struct fw_searcher_store {
  pthread_mutex_t lock;
  fw_scratch *idle; /* unused scratch memory */
  fw_pool *pool;    /* created by the first search that needs it */
} fw_searcher_store;

struct furrow_searcher {
  const furrow_index *index; /* NULL: shards */
  fw_node *root;
  fw_searcher_store *store;
  /* What furrow_searcher_open loaded, and the searcher owns: */
  furrow_index *loaded;
  furrow_id_names *names;        /* NULL: ids have no names */
  furrow_attributes *attributes; /* NULL: ids have no attributes */
  furrow_shards *shards;         /* NULL: `index` is searched */
};

/* Bytes of the searchers of shards. */
uint64_t fw_shards_memory(const furrow_shards *shards);
/* The processes that search shards together, the searcher of shard i (NULL: another rank has it), and whether larger
 * values are better. */
const furrow_comm *fw_shards_comm(const furrow_shards *shards);
const furrow_searcher *fw_shards_searcher(const furrow_shards *shards, size_t i);
bool fw_shards_is_similarity(const furrow_shards *shards);

/* The maximal number of threads that share one query. */
enum { FW_MAX_QUERY_PARTS = 64 };

/* The parameters of a search, the same for all its queries. */
typedef struct fw_search_job {
  uint64_t nprobe, max_codes;
  float k_factor;
  int32_t ef_search;
  fw_id_filter id_filter;
  fw_pool *pool; /* NULL: the query is searched on the calling thread */
  unsigned threads;
  uint32_t *order; /* NULL, or n elements: receives the order in which queries are searched */
  bool unsorted;   /* the k best may be returned in any order, because they will be refined */
} fw_search_job;

/* A search for the k best of n queries, and its results. */
typedef struct fw_search_batch {
  const fw_search_job *job;
  const float *queries; /* n * d */
  size_t n, k;
  float *distances; /* n * k */
  int64_t *ids;     /* n * k */
} fw_search_batch;

/* The number of lists that a query probes, at least 1. */
size_t fw_probe_count(const furrow_index *ivf, const fw_search_job *job);
/* Whether one call with many queries is faster than several calls: of lists, and of rows without lists. */
bool fw_ivf_orders_queries(const furrow_index *ivf);
bool fw_flat_takes_many(const furrow_index *index);

/* Searches a batch of a few queries (scratch grows with n); the results are the same as from furrow_searcher_search. */
furrow_status fw_node_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                             furrow_error *err) FURROW_MUST_USE;
/* Offers all vectors within the sink's radius (a key) to the sink, with their ids and keys. */
furrow_status fw_node_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                            fw_sink *sink, furrow_error *err) FURROW_MUST_USE;

/* Searches by kind (search_ivf.c, search_flat.c, search_refine.c, graph_search.c). */
furrow_status fw_ivf_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                            furrow_error *err) FURROW_MUST_USE;
furrow_status fw_ivf_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                           fw_sink *sink, furrow_error *err) FURROW_MUST_USE;
/* Finds the k best of one query, with locations as ids: list << 32 | offset. */
furrow_status fw_ivf_search_pairs(const fw_node *node, fw_scratch *scratch, const float *query,
                                  const fw_search_job *job, fw_sink *sink, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_pqr_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                            furrow_error *err) FURROW_MUST_USE;
furrow_status fw_refine_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                               furrow_error *err) FURROW_MUST_USE;
furrow_status fw_flat_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                             furrow_error *err) FURROW_MUST_USE;
furrow_status fw_flat_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                            fw_sink *sink, furrow_error *err) FURROW_MUST_USE;
/* HNSW: offers the vectors that the search reaches to the sink, which keeps the k best. ef: the number of candidates,
 * at least k; 0: as stored in the index. rounded: the vectors of the storage, whose distances lead the search; NULL:
 * exact ones do. */
furrow_status fw_graph_search(const furrow_index *index, const fw_rounded *rounded, fw_scratch *scratch,
                              const float *query, int32_t ef, const fw_id_filter *id_filter, fw_sink *sink,
                              furrow_error *err) FURROW_MUST_USE;

furrow_status fw_pq_search(const fw_node *node, fw_scratch *scratch, const fw_search_batch *batch,
                           furrow_error *err) FURROW_MUST_USE;
furrow_status fw_pq_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                          fw_sink *sink, furrow_error *err) FURROW_MUST_USE;

/* ---- Parts of a search, for shards (search_shards.c) ---- */

/* Like furrow_searcher_create, for a shard; list_sizes as in fw_pq_lists_create. */
furrow_status fw_searcher_create(furrow_searcher **searcher, const furrow_index *index, const int64_t *list_sizes,
                                 unsigned threads, furrow_error *err) FURROW_MUST_USE;

/* Collects the hits of one query that were ever among the k best of a sink with `lists`, in the order of the scan, with
 * locations as ids. ends[j] is their number after probe j. ids: ties are decided by ids, not by locations. */
furrow_status fw_ivf_collect(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                             bool ids, fw_sink *sink, size_t *ends, furrow_error *err) FURROW_MUST_USE;
/* Computes the key by which IVF_PQR orders the vector at a location. */
furrow_status fw_pqr_key(const fw_node *node, fw_scratch *scratch, const float *query, int64_t location, float *key,
                         furrow_error *err) FURROW_MUST_USE;
/* Transforms queries for the index inside a transform. */
furrow_status fw_node_transform(const fw_node *node, fw_scratch *scratch, const float **queries, size_t n,
                                furrow_error *err) FURROW_MUST_USE;
/* Replaces an id of the inner index by the id map's id; -1 stays. */
furrow_status fw_id_map_rename(const furrow_index *index, int64_t *id, furrow_error *err) FURROW_MUST_USE;

/* The hits of a range search for one query. */
typedef struct fw_range_hits {
  fw_hit *hits;
  size_t count;
} fw_range_hits;

/* Makes the result of n queries whose hits are sorted by id. */
furrow_status fw_range_result_make(const fw_range_hits *all, size_t n, bool similarity, furrow_range_result **result,
                                   furrow_error *err) FURROW_MUST_USE;
void fw_hits_sort_by_id(fw_hit *hits, size_t count);

/* Borrow a thread's scratch memory, and the thread pool, from the searcher's store. */
furrow_status fw_searcher_borrow(const furrow_searcher *searcher, fw_scratch **scratch,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_searcher_give_back(const furrow_searcher *searcher, fw_scratch *scratch);
furrow_status fw_searcher_pool(const furrow_searcher *searcher, unsigned threads, fw_pool **pool,
                               furrow_error *err) FURROW_MUST_USE;

/* The keys of n rows of floats by the metric of an index. */
void fw_metric_keys(const furrow_index *index, const float *query, const float *rows, size_t n, float *keys);
/* The key of row `row` of a flat index. */
float fw_flat_key(const furrow_index *index, const float *query, int64_t row);
/* The key of a row of a refinement: FLAT, or codes, which are decoded to `decoded` (d floats) first. */
furrow_status fw_refined_key(const furrow_index *index, const float *query, int64_t row, float *decoded, float *key,
                             furrow_error *err) FURROW_MUST_USE;
/* Whether larger values are better. */
bool fw_metric_is_similarity(furrow_distance_metric metric);
/* The size of a heap for k results: at most the number of vectors, at least 1. */
size_t fw_heap_size(const furrow_index *index, size_t k);
/* k * factor, but at least k, and at most the number of vectors. */
size_t fw_expanded_k(const furrow_index *index, size_t k, float factor);
/* The number of results needed from the inner index for k results: more if they are refined. */
size_t fw_inner_k(const furrow_index *index, size_t k, const fw_search_job *job);

/* ---- Many queries (search_batch.c) ---- */

/* Fails with E_RANGE and the row if a query is not finite or too large for squares. */
furrow_status fw_queries_check(furrow_distance_metric metric, const float *queries, size_t n, size_t d,
                               furrow_error *err) FURROW_MUST_USE;

/* Searches queries begin … end-1 with the scratch memory of a thread. */
typedef furrow_status (*fw_search_range_fn)(void *context, size_t begin, size_t end, const fw_search_job *job,
                                            fw_scratch *scratch, furrow_error *err);

/* A search call: its checked parameters, and the number of threads that pays off. */
typedef struct fw_search_call {
  const furrow_searcher *searcher;
  fw_search_job job;
  furrow_id_filter filter; /* the job's filter */
  fw_pool *pool;           /* NULL: one thread */
  unsigned threads;
} fw_search_call;

/* A search has one or two phases. A phase needs the results of the preceding phase for all queries. */
typedef struct fw_search_phase {
  fw_search_range_fn part;
  void (*finish)(void *context); /* called by one thread when all queries are done; may be NULL */
} fw_search_phase;

enum { FW_SEARCH_PHASES = 2 };

/* Passes all n queries to the phases, `step` at a time, on the threads of the call. Returns the error of the first
 * queries that failed. */
furrow_status fw_search_phases(const fw_search_call *call, size_t n, size_t step, const fw_search_phase *phases,
                               size_t count, void *context, furrow_error *err) FURROW_MUST_USE;

/* Checks queries and parameters, makes a job of them, and passes all n queries with k results each (0: unknown) to
 * `part`, on the number of threads that pays off. Returns the error of the first part that failed. */
furrow_status fw_search_parallel(const furrow_searcher *searcher, const float *queries, size_t n, size_t k,
                                 const furrow_search_params *params, fw_search_range_fn part, void *context,
                                 furrow_error *err) FURROW_MUST_USE;

/* Runs fw_ivf_search of the root on the threads of a call, which share the order of the queries (search_ivf.c). */
furrow_status fw_ivf_search_shared(const fw_search_call *call, const fw_search_batch *batch,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
