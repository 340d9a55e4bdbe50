/* recommend/item_index.h: an index of the items' vectors for inner products, and how it is searched so that it finds a
 * given share of what the exact search finds.
 *
 * The index is IVFPQ over vectors that are padded with zeros to a multiple of 4 numbers. It is kept as items.index in
 * the model directory, beside items.json: the digest of the vectors that it was made of. */
#ifndef FW_RECOMMEND_ITEM_INDEX_H
#define FW_RECOMMEND_ITEM_INDEX_H

#include "furrow/vector.h"
#include "recommend/item_search.h"

typedef struct fw_item_index {
  furrow_index *index;
  furrow_searcher *searcher;
  const float *vectors; /* of the items, of the caller */
  size_t n, d, padded;
  uint64_t nlist, m, nprobe;
  size_t fetch;  /* results of the index for each that is wanted */
  double recall; /* measured */
  double cost;   /* estimated time of a search, in nanoseconds of one thread */
  bool built, kept;
} fw_item_index;

/* Loads the index of the model directory if it was made of these vectors, else builds it. It cannot be searched before
 * it is tuned. */
furrow_status fw_item_index_open(fw_item_index *index, const char *folder, const float *vectors, size_t n, size_t d,
                                 unsigned threads, furrow_error *err) FURROW_MUST_USE;
void fw_item_index_clear(fw_item_index *index);
/* Saves one that was built; index->kept says whether that was possible. */
void fw_item_index_keep(fw_item_index *index, const char *folder);

/* Chooses nprobe and fetch: of the settings that find `recall` of `truth` (count * k items, of the exact search for
 * these queries) the one with the lowest estimated cost; if none does, the one that finds most. */
furrow_status fw_item_index_tune(fw_item_index *index, const float *queries, size_t count, const fw_scored *truth,
                                 size_t k, double recall, unsigned threads, furrow_error *err) FURROW_MUST_USE;
/* As fw_item_search_run, with what the index finds; `allowed` must be NULL. Nothing is found for a user who has seen
 * very many items. What is found for a user does not depend on the others. Any number of threads. */
furrow_status fw_item_index_run(const fw_item_index *index, const fw_item_query *query, fw_scored *results,
                                furrow_error *err) FURROW_MUST_USE;
/* Nanoseconds that an exact search takes for each pair that it compares, about. */
double fw_item_pair_cost(size_t d);

#endif
