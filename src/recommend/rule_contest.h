/* recommend/rule_contest.h: compares rules by events that are held out: the last fifth of each user's events. */
#ifndef FW_RECOMMEND_RULE_CONTEST_H
#define FW_RECOMMEND_RULE_CONTEST_H

#include "base/pool.h"
#include "recommend/taste.h"

/* The quality of a candidate on the events that were held out. */
typedef struct fw_candidate {
  bool there;
  double ndcg;
  double gain;  /* mean over users of its NDCG minus the NDCG of the most popular items */
  double error; /* standard error of the gain */
} fw_candidate;

/* The users that are compared. The first members are filled in by the caller. */
typedef struct fw_contest {
  size_t k;      /* k of the NDCG */
  fw_pool *pool; /* NULL: this thread */
  furrow_progress progress;
  void *progress_user;
  size_t first; /* users are compared by that number of their first events; 0: by all */
  size_t from;  /* the first of the users that are compared */
  fw_interactions earlier, later;
  double repeated; /* share of the held-out events whose item the user had taken before */
  bool repeats;    /* it is large: items are recommended again */
  uint32_t *users;
  size_t count;
  uint32_t **relevant; /* relevant items of each of these users: sorted, each item once */
  size_t *relevant_count;
  uint32_t *relevant_items;
  double *ndcg, *popular_ndcg; /* of each of these users */
  double *common; /* if `first` is set, of each of these users: share of the list among the k most popular */
  uint64_t done;  /* comparisons */
} fw_contest;

/* Splits the events and lists the users. To be cleared after a failure, too. */
furrow_status fw_contest_hold(fw_contest *c, const fw_interactions *all, furrow_error *err) FURROW_MUST_USE;
void fw_contest_clear(fw_contest *c);

/* Fills c->ndcg and, if c->first is set, c->common of users c->from, c->from + step, c->from + 2 step … and returns the
 * mean NDCG. */
furrow_status fw_contest_compare(fw_contest *c, const fw_taste *taste, size_t step, double *mean,
                                 furrow_error *err) FURROW_MUST_USE;
/* The mean of c->common of these users. */
double fw_contest_common(const fw_contest *c, size_t step);
/* The figures of the rule that was compared last, with step 1. */
fw_candidate fw_contest_candidate(const fw_contest *c);
/* The same, but its gain is over `others`, the NDCG of each user by another rule. */
fw_candidate fw_contest_against(const fw_contest *c, const double *others);

#endif
