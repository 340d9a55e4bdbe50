/* vector/build/build.h: declarations shared by training and adding. */
#ifndef FW_VECTOR_BUILD_BUILD_H
#define FW_VECTOR_BUILD_BUILD_H

#include "base/pool.h"
#include "furrow/vector.h"
#include "vector/index/index.h"
#include "vector/quantizer/assign.h"
#include "vector/quantizer/training_vectors.h"

/* ---- Factory strings (index_factory.c) ---- */

/* Makes the empty index that a factory string describes. d is in 1 … FW_INDEX_MAX_D. */
furrow_status fw_index_from_factory(furrow_index **index, const char *factory, int32_t d, furrow_distance_metric metric,
                                    furrow_error *err) FURROW_MUST_USE;
/* Puts an id map around an empty index; on failure *index stays unchanged. */
furrow_status fw_index_wrap_ids(furrow_index **index, furrow_error *err) FURROW_MUST_USE;

/* ---- Graphs (hnsw_build.c) ---- */

enum {
  FW_HNSW_EF_CONSTRUCTION = 100,
  FW_HNSW_EF_SEARCH = 16,
  FW_HNSW_MIN_M = 2,
  FW_HNSW_MAX_M = 1024,
  FW_HNSW_SEED = 1234
};

/* Makes an HNSW index without links around a storage (FLAT, SQ or PQ; L2 or IP), which it owns afterwards: m links per
 * level, 2 m on the lowest. Fails with E_ARGUMENT if m is not in FW_HNSW_MIN_M … FW_HNSW_MAX_M. */
furrow_status fw_hnsw_create(furrow_index **index, furrow_index *storage, size_t m, furrow_error *err) FURROW_MUST_USE;
/* Links the vectors that were appended to the storage, from number index->ntotal on, and sets index->ntotal. The same
 * calls give the same links, for any number of threads. Fails with E_ARGUMENT if the number of vectors does not fit in
 * 31 bits. After a failure the index is unchanged, except that the storage has more vectors. */
furrow_status fw_hnsw_extend(furrow_index *index, uint64_t seed, fw_pool *pool, furrow_error *err) FURROW_MUST_USE;
/* Both, over a copy of n vectors of d floats (n may be 0). */
furrow_status fw_hnsw_build(furrow_index **index, const float *vectors, size_t n, int32_t d,
                            furrow_distance_metric metric, size_t m, uint64_t seed, fw_pool *pool,
                            furrow_error *err) FURROW_MUST_USE;

/* Makes the graph without the vectors whose `to` is negative: vectors that linked to them get other links, and a new
 * entry point is chosen. `left` vectors remain; their `to` is their future number. Vectors keep their positions in
 * *relinked until fw_hnsw_compact. Only its `neighbors` belong to the caller; the other arrays are those of the
 * index. */
furrow_status fw_hnsw_relink(const furrow_index *index, const int64_t *to, size_t left, fw_hnsw *relinked,
                             furrow_error *err) FURROW_MUST_USE;
/* Renumbers n vectors by `to` and closes the gaps. */
void fw_hnsw_compact(fw_hnsw *graph, const int64_t *to, size_t n);

/* The number of links of a vector on the upper levels. */
size_t fw_hnsw_links(const fw_hnsw *graph);

/* ---- Several processes (train.c) ---- */

/* Like furrow_index_train, on the vectors of all ranks (fw_rank_vectors_init). All ranks must have the same kind of
 * index, and get the same centroids. If one rank fails, all do. */
furrow_status fw_index_train_distributed(furrow_index *index, const fw_rank_vectors *local,
                                         const furrow_index_train_params *params, furrow_error *err) FURROW_MUST_USE;

/* ---- Grouping new vectors by list (add.c) ---- */

/* For few vectors, the cost does not depend on the number of lists. */

/* Rows member[first … first + count - 1] belong to one list, in this order. */
typedef struct fw_run {
  size_t list, first, count;
} fw_run;

typedef struct fw_runs {
  uint32_t *member; /* rows sorted by list, then in the order of the call; rows with FW_NO_GROUP are left out */
  size_t members;
  fw_run *run; /* sorted by list */
  size_t count;
} fw_runs;

/* Groups n rows; row i belongs to list[i] < nlist, or is FW_NO_GROUP. */
furrow_status fw_runs_create(fw_runs *runs, const uint32_t *list, size_t n, size_t nlist,
                             furrow_error *err) FURROW_MUST_USE;
void fw_runs_clear(fw_runs *runs);

#endif
