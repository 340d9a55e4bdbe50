/* serve/models/event_columns.h: the columns of a log, as the events of requests have them: what a cell of each may be.
 */
#ifndef SERVE_MODELS_EVENT_COLUMNS_H
#define SERVE_MODELS_EVENT_COLUMNS_H

#include "furrow/furrow.h"

/* What is checked in the cells of a column. */
typedef enum cell_check { CHECK_NOTHING, CHECK_CATEGORY, CHECK_SET, CHECK_NUMBER, CHECK_TIME } cell_check;

/* The unit of the times of a column. */
typedef struct time_unit {
  const char *name;    /* name of the schema */
  const char *text;    /* as people read it */
  const char *example; /* a time in it */
  double scale;        /* units per second; 0: times are texts */
} time_unit;

typedef struct event_column {
  char *name;
  cell_check check;
  size_t field;          /* of the encoder, for categories and sets */
  const time_unit *unit; /* NULL: not a time */
  char separator[16];    /* separator of a set */
  bool is_asked;         /* a request gives it to get a score: it is neither a label nor ignored */
} event_column;

typedef struct event_columns {
  event_column *list;
  size_t count;
} event_columns;

/* Reads the columns of the log from the schema of an encoder; columns of joined tables are left out.
 * Owner: the caller, who clears them, even after a failure. */
furrow_status event_columns_read(event_columns *columns, const furrow_encoder *encoder, furrow_error *err);
void event_columns_clear(event_columns *columns);
/* NULL: there is none of that name. */
const event_column *event_columns_find(const event_columns *columns, const char *name, size_t size);
/* Writes "a, b, c" of the first ten columns that requests give, "…" for more. */
void event_columns_list(const event_columns *columns, char *text, size_t size);
/* The time of a cell in seconds since 1970; false: it is not a number. */
bool event_column_seconds(const event_column *column, const char *text, size_t size, double *seconds);
/* Whether a time lies before 1900 or after 3000: it is in another unit than the column's. */
bool event_column_is_far(const event_column *column, const char *text, size_t size);
/* Whether a cell is true or false. The library reads these as 1 and 0, because some logs have them; in a request they
 * are more likely a mistake. */
bool event_cell_is_bool(const char *text, size_t size);
/* Calls tell for each value of a cell (of a category or a set) that the model does not know. */
typedef void (*event_value_teller)(void *user, const event_column *column, const char *value, size_t size);
void event_column_tell_unknown(const event_column *column, const furrow_encoder *encoder, const char *text, size_t size,
                               event_value_teller tell, void *user);

#endif
