/* recommend/events.h: reads user, item and label of the events of a log, and groups the items by user. */
#ifndef FW_RECOMMEND_EVENTS_H
#define FW_RECOMMEND_EVENTS_H

#include "recommend/interactions.h"
#include "rows/encode/encoder.h"

/* One event of a log. */
typedef struct fw_log_event {
  const fw_table_cell *user, *item;
  double label;   /* 0 if labels are not read */
  double time;    /* in seconds; 0 if times are not read */
  uint64_t order; /* ascends in the order of the log */
} fw_log_event;

/* Called on one of the threads for each event whose label is high enough. `user` is the pointer of that thread. */
typedef furrow_status fw_take_event(void *user, const fw_log_event *event, furrow_error *err);

typedef struct fw_event_log {
  const furrow_recommender *r;
  const char *uri;
  const furrow_events_params *params; /* threads must not be 0 */
  bool labels;                        /* read the labels, even if no event is left out by its label */
  bool times;                         /* read the times */
  bool optional;                      /* a log without the columns of labels or times is accepted */
  fw_take_event *take;
} fw_event_log;

/* Returns the number of threads to use for params->threads. */
uint32_t fw_event_log_threads(unsigned threads);
/* Reads the log. `users` has one pointer for each thread; a thread takes the events of a piece of the log in order, but
 * pieces go to any thread. *below counts events whose label was too low, *bad the rows
 * that were skipped. */
furrow_status fw_event_log_read(const fw_event_log *log, void *const *users, uint64_t *below, uint64_t *bad,
                                furrow_error *err) FURROW_MUST_USE;
/* Finds the user or item that a cell names; false if the model does not know it. */
bool fw_entries_find(const furrow_recommender *r, const fw_entries *entries, const fw_table_cell *cell,
                     uint64_t *number);

/* ---- Items by user -------------------------------------------------------------------------------------- */

/* Returns the known items of a user; fw_events_unknown counts the user's items that the model does not know. */
fw_item_set fw_events_of(const furrow_events *events, uint64_t user);
uint64_t fw_events_unknown(const furrow_events *events, uint64_t user);
/* Makes events of interactions, each item of a user once: of all users, or of at most that many, spread evenly. */
furrow_status fw_events_from(furrow_events **events, const fw_interactions *from, size_t most_users,
                             furrow_error *err) FURROW_MUST_USE;
/* Writes the users that have events, with known items or not, in ascending order. The caller frees *users with
 * fw_free. */
furrow_status fw_events_users(const furrow_events *events, uint64_t **users, size_t *count,
                              furrow_error *err) FURROW_MUST_USE;

#endif
