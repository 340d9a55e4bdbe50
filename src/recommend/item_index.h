/* recommend/item_index.h: an index of the items' vectors for inner products, tuned to find a given share of the exact
 * search's results.
 *
 * The index is IVFPQ over vectors that are padded with zeros to a multiple of 4 numbers. The model directory keeps it
 * in items.index, and in items.json the digest of the vectors that it was built from. */
#ifndef FW_RECOMMEND_ITEM_INDEX_H
#define FW_RECOMMEND_ITEM_INDEX_H

#include "furrow/vector.h"
#include "recommend/item_search.h"

typedef struct fw_item_index {
  furrow_index *index;
  furrow_searcher *searcher;
  const float *vectors; /* vectors of the items, owned by the caller */
  size_t n, d, padded;
  uint64_t nlist, m, nprobe;
  size_t fetch;  /* the index is asked for fetch * k results */
  double recall; /* measured */
  double cost;   /* estimated time of a search, in nanoseconds of one thread */
  bool built, kept;
} fw_item_index;

/* Loads the index of the model directory if it was built from these vectors; otherwise builds it. Tune it before the
 * first search. */
furrow_status fw_item_index_open(fw_item_index *index, const char *folder, const float *vectors, size_t n, size_t d,
                                 unsigned threads, furrow_error *err) FURROW_MUST_USE;
void fw_item_index_clear(fw_item_index *index);
/* Saves an index that was built. index->kept tells whether it could be saved. */
void fw_item_index_keep(fw_item_index *index, const char *folder);

/* Chooses nprobe and fetch. Among the settings that find the share `recall` of `truth` (count * k items that the exact
 * search found for these queries), takes the one with the lowest estimated cost; if none does, the one that finds
 * most. */
furrow_status fw_item_index_tune(fw_item_index *index, const float *queries, size_t count, const fw_scored *truth,
                                 size_t k, double recall, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* Does what fw_item_search_run does, with the candidates of the index; `allowed` must be NULL. A user who has seen very
 * many items gets no results. The results of a user do not depend on the other users. Thread-safe. */
furrow_status fw_item_index_run(const fw_item_index *index, const fw_item_query *query, fw_scored *results,
                                furrow_error *err) FURROW_MUST_USE;
/* Estimates the nanoseconds that the exact search takes for each vector that it compares with a user. */
double fw_item_pair_cost(size_t d);

#endif
