/* recommend/taste.h: scores of items from the events of a user.
 *
 *   score(i) = sum over the user's events e of w(e) * weight(item of e -> i)
 *            + factors * (mean of w(e)) * <vector of the user, vector of i>
 *            + own * sum over the user's events e with item i of v(e)
 *            + (popular * (sum of w(e)) + few * (mean of w(e)) / (number of events)) * popularity(i)
 *   w(e) = (exp(-age / recency) + always) * (1 + rating * strength of e)
 *   v(e) = exp(-age / own_recency) + own_always
 *
 * The popularity is the one in the user's groups, if the taste has any (recommend/user_groups.h).
 * age: the number of the user's events that are later than e. The vector of the user follows from the events, each
 * weighted by w(e) / (mean of w(e)): recommend/factors.h. One rule, and so one way to score, covers the most popular
 * items, a user's own history, item-item weights, factors and what lies between them; new users and new events need
 * nothing but their events. */
#ifndef FW_RECOMMEND_TASTE_H
#define FW_RECOMMEND_TASTE_H

#include "recommend/factors.h"
#include "recommend/interactions.h"
#include "recommend/item_item.h"
#include "recommend/item_search.h"

typedef struct fw_taste_rule {
  double recency; /* in events; 0: age does not matter, and every event has the weight 1 */
  double always;
  double rating;
  double own, own_recency, own_always; /* own_recency 0: age does not matter */
  double popular, few;
  double factors;
  bool repeats; /* items that the user already took are recommended, too */
} fw_taste_rule;

/* What the scores are made of. */
typedef struct fw_taste {
  fw_taste_rule rule;
  size_t items;
  const fw_sparse_rows *weights; /* a row for each item that gives weights; NULL: none do */
  const fw_factors *factors;     /* NULL: none; else rule.factors may still be 0 */
  const fw_sparse_rows *groups;  /* a row for each group of users: factors of the popularity; NULL: none */
  const float *popularity;       /* popularity of each item, at most 1 */
  const uint32_t *by_popularity; /* items, the most popular first */
} fw_taste;

/* Memory of one thread. */
typedef struct fw_taste_scratch {
  double *score;     /* score of each item, 0 between two users */
  uint8_t *is_found; /* for each item: whether it is in `found`; 0 between two users */
  double *in_groups; /* factor of each item's popularity, 0 between two users; 0 stands for 1 */
  uint32_t *found;   /* items that have a score of their own */
  size_t found_count;
  float *weight; /* weight of each event */
  size_t weight_capacity;
  float *product; /* product of each item, rounded up to FW_BLOCK_VECTORS */
  float equations[FW_FACTORS_MOST * FW_FACTORS_MOST], vector[FW_FACTORS_MOST];
} fw_taste_scratch;

/* To be cleared after a failure, too. */
furrow_status fw_taste_scratch_init(fw_taste_scratch *scratch, size_t items, furrow_error *err) FURROW_MUST_USE;
void fw_taste_scratch_clear(fw_taste_scratch *scratch);

/* Which items may be recommended. */
typedef struct fw_taste_filter {
  const uint8_t *allowed; /* NULL: all items; else a byte for each item, 0: it is left out */
  fw_item_set seen;       /* left out */
  bool own;               /* items of the user's events are left out */
} fw_taste_filter;

/* Offers items to `best`: more than its k, if there are that many. */
furrow_status fw_taste_find(const fw_taste *taste, const fw_user_events *events, const fw_taste_filter *filter,
                            fw_taste_scratch *scratch, fw_best *best, furrow_error *err) FURROW_MUST_USE;

/* The part of the score of `item` that each event contributes. */
furrow_status fw_taste_explain(const fw_taste *taste, const fw_user_events *events, uint32_t item,
                               fw_taste_scratch *scratch, double *parts, furrow_error *err) FURROW_MUST_USE;

/* Copies the items of a user's events to `sorted` and sorts them. */
fw_item_set fw_taste_own_items(const fw_user_events *events, uint32_t *sorted);

/* Whether item x comes before item y: it is more popular, or as popular and has the smaller number. */
bool fw_taste_is_more_popular(const float *popularity, uint32_t x, uint32_t y);
/* Writes the items in that order. */
furrow_status fw_taste_order(const float *popularity, size_t items, uint32_t **order,
                             furrow_error *err) FURROW_MUST_USE;

#endif
