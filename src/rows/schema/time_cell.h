/* rows/schema/time_cell.h: times in cells: seconds since 1970-01-01 00:00 UTC, and their parts. */
#ifndef FW_ROWS_SCHEMA_TIME_CELL_H
#define FW_ROWS_SCHEMA_TIME_CELL_H

#include <stdbool.h>
#include <stddef.h>

#include "rows/schema/schema.h"

/* The time that all of the text says: a number of units, or (FW_UNIT_TEXT) ISO 8601: a date YYYY-MM-DD, then T or a
 * blank and hh:mm[:ss[.fraction]], then Z, UTC, GMT, +hh, +hhmm or +hh:mm; without one of these it is UTC. false: it
 * does not say one, or one that is more than 30 million years away. */
bool fw_time_parse(const char *text, size_t length, fw_time_unit unit, double *seconds);
/* From 0: the hour; the weekday, Monday is 0; the day of the month; the month. All in UTC; not for FW_PART_AGE. */
unsigned fw_time_part_of(double seconds, fw_time_part part);

#endif
