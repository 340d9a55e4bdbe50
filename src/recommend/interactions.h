/* recommend/interactions.h: the events of each user, in the order of time. */
#ifndef FW_RECOMMEND_INTERACTIONS_H
#define FW_RECOMMEND_INTERACTIONS_H

#include "furrow/recommend.h"
#include "recommend/item_item.h"
#include "recommend/recommender.h"

/* Events by user: user u has the events offset[u] … offset[u + 1] - 1, the earliest first. */
typedef struct fw_interactions {
  size_t users, items;
  size_t *offset; /* users + 1 */
  uint32_t *item; /* item of each event */
  double *time;   /* time of each event, in seconds; all 0 if the log has no times */
  float
      *strength; /* strength of each event: how far its rating lies above the mean of the user's ratings, -1.5 to 1.5 */
  bool timed, rated;
  bool in_order;    /* events of the same time are in the order in which they happened: the order of the log */
  double deviation; /* standard deviation of the ratings; strengths are relative to it */
  const fw_sparse_rows *groups; /* groups of the users (recommend/user_groups.h); NULL: none. The caller owns them */
} fw_interactions;

void fw_interactions_clear(fw_interactions *all);

/* What was found while reading. */
typedef struct fw_interactions_info {
  furrow_events_info events;
  uint64_t negatives; /* events with the lower one of two labels: items that the user did not want */
  double positive;    /* the higher one of two labels; NaN: there are not two */
  uint64_t copies;    /* events whose user, item and time an earlier event has; 0 if the log has no times */
  bool one_label;     /* all events have the same label */
  bool every_label;   /* set before reading: labels are not read, so all events count */
} fw_interactions_info;

/* Reads a log by the names of r's users and items. A label with two values tells what a user wanted: only events with
 * the higher one count. Other labels are ratings. Where times are coarse, such as days, the order of the log says more;
 * but not if it is sorted by something else. To be cleared after a failure, too. */
furrow_status fw_interactions_read(fw_interactions *all, const furrow_recommender *r, const char *uri,
                                   const furrow_events_params *params, fw_interactions_info *info,
                                   furrow_error *err) FURROW_MUST_USE;

/* One user's events. */
typedef struct fw_user_events {
  size_t count;
  const uint32_t *item;
  const double *time;
  const float *strength;
  bool in_order;         /* as in fw_interactions */
  const uint32_t *group; /* the user's groups */
  size_t group_count;
} fw_user_events;

fw_user_events fw_interactions_of(const fw_interactions *all, size_t user);

/* Turns the ratings of one user into strengths. */
void fw_interactions_rate(float *ratings, size_t count, double deviation);

/* Splits each user's events in two: the last fifth, at least one, of users with at least two events, and the rest.
 * Events of the same time are ordered by a hash if they are not in order. Without times that holds for all events. Both
 * parts are to be cleared after a failure, too. */
furrow_status fw_interactions_split(const fw_interactions *all, fw_interactions *earlier, fw_interactions *later,
                                    furrow_error *err) FURROW_MUST_USE;

#endif
