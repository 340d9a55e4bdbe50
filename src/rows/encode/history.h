/* rows/encode/history.h: the last items of each user before an event.
 *
 * Events come in the order of their times. An item counts as before an event if its time is earlier: events of the
 * same time do not see each other. A dictionary keeps the items at the end of the training data. Later events
 * continue from there; events that are not later are the training data again, and start with an empty history, as
 * they did then. */
#ifndef FW_ROWS_ENCODE_HISTORY_H
#define FW_ROWS_ENCODE_HISTORY_H

#include "rows/encode/encoder.h"

typedef struct fw_history fw_history;

/* Starts with the items of the dictionary, which must outlive it and is empty while it is being built. `last`: the
 * number of items of a user that count. */
furrow_status fw_history_create(fw_history **history, const fw_dictionary *dictionary, uint32_t last,
                                furrow_error *err) FURROW_MUST_USE;
void fw_history_free(fw_history *history);
/* Returns to the beginning. */
void fw_history_rewind(fw_history *history);
/* Returns the items before the event, counted from 0 within the item field, oldest first, valid until the next call;
 * then adds the event. E_FORMAT: it is earlier than the user's previous event. */
furrow_status fw_history_take(fw_history *history, const fw_event *event, const uint32_t **items, size_t *count,
                              furrow_error *err) FURROW_MUST_USE;
/* Returns the items of a user (a feature of the user field) at the end, and the time of the last one. */
void fw_history_end(fw_history *history, uint64_t user, const uint32_t **items, size_t *count, double *time);

/* Adds the history to rows that have none yet. `out` gets the new rows; swap it with `rows`. */
furrow_status fw_history_add(fw_history *history, const fw_event *events, furrow_container *rows, furrow_container *out,
                             furrow_error *err) FURROW_MUST_USE;

#endif
