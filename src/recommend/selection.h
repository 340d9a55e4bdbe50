/* recommend/selection.h: chooses how items are recommended, by each user's last events.
 *
 * Rules (recommend/taste.h) are compared by the NDCG of what they recommend of the last fifth of each user's events
 * (recommend/rule_contest.h): the most popular items, also among users with the same features, the user's own history
 * where the log repeats, item-item weights, factors, both together, and features of items, one setting at a time. The
 * work is counted, never timed. */
#ifndef FW_RECOMMEND_SELECTION_H
#define FW_RECOMMEND_SELECTION_H

#include "recommend/recipe.h"
#include "recommend/rule_contest.h"

typedef enum fw_candidate_kind {
  FW_CANDIDATE_POPULAR,
  FW_CANDIDATE_OWN,     /* the user's own history */
  FW_CANDIDATE_GROUPS,  /* the most popular items among users who share features of a table */
  FW_CANDIDATE_ITEMS,   /* item-item weights, all events alike */
  FW_CANDIDATE_RECENT,  /* item-item weights, recent events count more; own history and popularity, too */
  FW_CANDIDATE_FACTORS, /* vectors of users and items; recency, ratings and popularity, too */
  FW_CANDIDATE_BLEND,   /* item-item weights and factors */
  FW_CANDIDATE_CONTENT, /* the best of these with features of items */
  FW_CANDIDATES
} fw_candidate_kind;

typedef struct fw_rule_selection {
  fw_recipe recipe;
  fw_candidate_kind chosen;
  fw_candidate candidates[FW_CANDIDATES];
  size_t users;   /* whose events were held out and count */
  double repeats; /* share of the held-out events whose item the user had taken before */
} fw_rule_selection;

typedef struct fw_selection_params {
  size_t k; /* k of the NDCG */
  fw_recipe_means means;
  furrow_progress progress; /* "choosing", in comparisons; NULL: none */
  void *progress_user;
} fw_selection_params;

/* Without events that can be held out, the most popular items are chosen. */
furrow_status fw_select(const fw_interactions *all, const fw_selection_params *params, fw_rule_selection *selection,
                        furrow_error *err) FURROW_MUST_USE;

const char *fw_candidate_name(fw_candidate_kind kind);

#endif
