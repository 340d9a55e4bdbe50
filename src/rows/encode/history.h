/* rows/encode/history.h: the last items of each user before an event.
 *
 * Events come in the order of their times. An item counts as before an event if its time is earlier: events of one
 * moment do not see each other. A dictionary keeps what the training data ended with. Events that are later than that
 * go on from it; those that are not are the training data again, and begin with nothing, as they did then. */
#ifndef FW_ROWS_ENCODE_HISTORY_H
#define FW_ROWS_ENCODE_HISTORY_H

#include "rows/encode/encoder.h"

typedef struct fw_history fw_history;

/* Begins with what the dictionary has (which must outlive it): nothing while it is being made. `last`: items of a user
 * that count. */
furrow_status fw_history_create(fw_history **history, const fw_dictionary *dictionary, uint32_t last,
                                furrow_error *err) FURROW_MUST_USE;
void fw_history_free(fw_history *history);
/* Back to the beginning. */
void fw_history_rewind(fw_history *history);
/* The items before the event, counted from 0 within the item field, oldest first, valid until the next call; then the
 * event counts, too. E_FORMAT: it is earlier than the user's event before. */
furrow_status fw_history_take(fw_history *history, const fw_event *event, const uint32_t **items, size_t *count,
                              furrow_error *err) FURROW_MUST_USE;
/* The items of a user (a feature of the user field) at the end, and the time of the last. */
void fw_history_end(fw_history *history, uint64_t user, const uint32_t **items, size_t *count, double *time);

/* Adds the history to rows that have none yet: a container with them, to be swapped with `rows`. */
furrow_status fw_history_add(fw_history *history, const fw_event *events, furrow_container *rows, furrow_container *out,
                             furrow_error *err) FURROW_MUST_USE;

#endif
