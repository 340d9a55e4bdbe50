/* recommend/item_search.h: exact search for the items whose vectors have the largest inner products with a user's
 * vector.
 *
 * Items are stored in blocks, the ones with the highest possible scores first. A user skips a block if its upper bound
 * is below the user's k-th result: <q, t> <= |q'| |t'| + q_last t_last, where the last number of a vector is the item's
 * own part (furrow_scorer_item_vector) and ' leaves it out. The product kernels score a block; scores that may enter
 * the results are computed again in double, so that the results depend neither on the kernels nor on the blocks. */
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

/* Whether a precedes b: higher score first, then smaller item. */
static inline bool fw_scored_before(const fw_scored *a, const fw_scored *b) {
  return a->score > b->score || (a->score == b->score && a->item < b->item);
}
/* Sorts best first. */
void fw_scored_sort(fw_scored *list, size_t count);

/* A heap of the k best items offered so far; the worst of them is heap[0]. */
typedef struct fw_best {
  fw_scored *heap; /* k elements, owned by the caller */
  size_t k, count;
} fw_best;

void fw_best_offer(fw_best *best, double score, uint32_t item);

/* Items of a user, in ascending order. */
typedef struct fw_item_set {
  const uint32_t *items;
  size_t count;
} fw_item_set;

bool fw_item_set_has(const fw_item_set *set, uint32_t item);

typedef struct fw_item_search fw_item_search;

/* n vectors of d floats (d at least 1, all finite), which must outlive the search. scale is the typical norm of a
 * user's vector without its last number; it decides the order of the blocks, not the results. */
furrow_status fw_item_search_create(fw_item_search **search, const float *vectors, size_t n, size_t d, double scale,
                                    furrow_error *err) FURROW_MUST_USE;
void fw_item_search_free(fw_item_search *search);
double fw_item_product(const float *query, const float *item, size_t d);

/* A query for 1 to FW_SEARCH_USERS users. */
#define FW_SEARCH_USERS 128
typedef struct fw_item_query {
  const float *queries; /* count * d floats */
  size_t count, k;
  const uint8_t *allowed;  /* a byte for each item, 0: leave it out; NULL: all items are allowed */
  const fw_item_set *seen; /* for each user: items to leave out; NULL: none */
} fw_item_query;

/* Writes k results for each user, best first, padded with FW_NO_ITEM. Adds the number of compared pairs of user and
 * item to *compared. Thread-safe. */
furrow_status fw_item_search_run(const fw_item_search *search, const fw_item_query *query, fw_scored *results,
                                 uint64_t *compared, furrow_error *err) FURROW_MUST_USE;

#endif
