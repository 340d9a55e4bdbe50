/* recommend/item_search.h: the items whose vectors have the largest inner products with that of a user, exactly.
 *
 * Items lie in blocks, those that can score high first. A block is skipped for a user whose k results are better than
 * anything that it can hold: <q, t> <= |q'| |t'| + q_last t_last, where the last number of a vector is the item's own
 * part (furrow_scorer_item_vector) and ' leaves it out. Scores of blocks come from the product kernels; those that may
 * enter are computed again in double, so that neither the kernels nor the blocks decide what is found. */
#ifndef FW_RECOMMEND_ITEM_SEARCH_H
#define FW_RECOMMEND_ITEM_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_NO_ITEM UINT32_MAX

typedef struct fw_scored {
  double score;
  uint32_t item;
} fw_scored;

/* Whether a comes before b: by score, then by item. */
static inline bool fw_scored_before(const fw_scored *a, const fw_scored *b) {
  return a->score > b->score || (a->score == b->score && a->item < b->item);
}
/* Best first. */
void fw_scored_sort(fw_scored *list, size_t count);

/* The k best of what is offered, the worst of them at its top. */
typedef struct fw_best {
  fw_scored *heap; /* k elements, of the caller */
  size_t k, count;
} fw_best;

void fw_best_offer(fw_best *best, double score, uint32_t item);

/* Items that a user must not get: ascending. */
typedef struct fw_item_set {
  const uint32_t *items;
  size_t count;
} fw_item_set;

bool fw_item_set_has(const fw_item_set *set, uint32_t item);

typedef struct fw_item_search fw_item_search;

/* n vectors of d floats (d at least 1, all finite), which must outlive the search. scale: a usual length of a user's
 * vector without its last number; it decides the order of blocks, not the results. */
furrow_status fw_item_search_create(fw_item_search **search, const float *vectors, size_t n, size_t d, double scale,
                                    furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_item_search_free(fw_item_search *search);
double fw_item_product(const float *query, const float *item, size_t d);

/* One to FW_SEARCH_USERS users at once. */
#define FW_SEARCH_USERS 128
typedef struct fw_item_query {
  const float *queries; /* count * d */
  size_t count, k;
  const uint8_t *allowed;  /* a byte for each item, 0: not wanted; NULL: all are wanted */
  const fw_item_set *seen; /* of each user; NULL: none */
} fw_item_query;

/* Writes k results of each user, best first; FW_NO_ITEM where there are fewer. Adds to *compared how many vectors were
 * compared with a user. Any number of threads. */
furrow_status fw_item_search_run(const fw_item_search *search, const fw_item_query *query, fw_scored *results,
                                 uint64_t *compared, furrow_error *err) FURROW_MUST_USE;

#endif
