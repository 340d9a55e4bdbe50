/* recommend/events.h: the events of a log: cells of user and item, and the label; and its items by user. */
#ifndef FW_RECOMMEND_EVENTS_H
#define FW_RECOMMEND_EVENTS_H

#include "recommend/recommender.h"
#include "rows/encode/encoder.h"

/* Takes an event whose label is high enough, on one of the threads: `user` is the thread's. */
typedef furrow_status fw_take_event(void *user, const fw_table_cell *who, const fw_table_cell *item, double label,
                                    furrow_error *err);

typedef struct fw_event_log {
  const furrow_recommender *r;
  const char *uri;
  const furrow_events_params *params; /* threads is not 0 */
  bool labels;                        /* labels are wanted, even if all events count */
  fw_take_event *take;
} fw_event_log;

/* The threads for params->threads. */
uint32_t fw_event_log_threads(unsigned threads);
/* Reads the log: `users` has one for each thread. *below: events whose label was too low; *bad: rows that were skipped.
 */
furrow_status fw_event_log_read(const fw_event_log *log, void *const *users, uint64_t *below, uint64_t *bad,
                                furrow_error *err) FURROW_MUST_USE;
/* The user or item of a cell; false: the model does not know it. */
bool fw_entries_find(const furrow_recommender *r, const fw_entries *entries, const fw_table_cell *cell,
                     uint64_t *number);

/* ---- Items by user -------------------------------------------------------------------------------------- */

/* The items of a user; unknown: how many events had items that the model does not know. */
fw_item_set fw_events_of(const furrow_events *events, uint64_t user);
uint64_t fw_events_unknown(const furrow_events *events, uint64_t user);
/* Users that have events, known items or not, ascending. To be freed with fw_free. */
furrow_status fw_events_users(const furrow_events *events, uint64_t **users, size_t *count,
                              furrow_error *err) FURROW_MUST_USE;

#endif
