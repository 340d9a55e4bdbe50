/* recommend/user_groups.h: groups of users who share a feature of a table (the same country, an age in the same tenth
 * of all ages), and what they take more often than others.
 *
 * A user who has done nothing yet gets the items that are popular in their groups: the popularity of item i times the
 * product, over the groups g of the user, of
 *   (1 + c / (prior * share of i))^power
 * where c counts the users of g who took i, and the share of i is that of all items that users took. It is, except for
 * a factor that all items share, the share of i in g, shrunk to the share of i in the log as if that had been seen
 * `prior` times, over the share of i in the log: naive Bayes. */
#ifndef FW_RECOMMEND_USER_GROUPS_H
#define FW_RECOMMEND_USER_GROUPS_H

#include "recommend/item_item.h"
#include "recommend/recommender.h"

#define FW_GROUP_FACTOR_MOST 1000.0 /* so that products of many groups stay finite */

/* Lists the groups of each user of r (users x groups, all values 1). There are none without a table of users. To be
 * cleared after a failure, too. */
furrow_status fw_user_groups_find(const furrow_recommender *r, fw_sparse_rows *groups,
                                  furrow_error *err) FURROW_MUST_USE;

/* What the factors of groups are computed from. */
typedef struct fw_group_params {
  const fw_sparse_rows *taken; /* users x items, each item of a user once */
  const uint8_t *held;         /* users that do not count, a byte for each; NULL: all count */
  double prior, power;
} fw_group_params;

/* Computes groups x items: the factors that are not 1. To be cleared after a failure, too. */
furrow_status fw_user_groups_solve(const fw_sparse_rows *groups, const fw_group_params *params, fw_sparse_rows *factors,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
