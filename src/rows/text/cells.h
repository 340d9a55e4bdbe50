/* rows/text/cells.h: cells of delimited text, one record at a time: the definition of what a cell is.
 *
 * A record is a line, or goes on behind it where a cell in quotes holds line ends. Blanks around a cell do not belong
 * to it, except within quotes; "" stands for one quote there. A quote that does not begin a cell is a character as any.
 */
#ifndef FW_ROWS_TEXT_CELLS_H
#define FW_ROWS_TEXT_CELLS_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

typedef struct fw_cell_rules {
  char delimiter;
  bool blanks; /* cells are separated by any run of blanks instead */
  bool quotes; /* a quote at its start encloses a cell */
} fw_cell_rules;

/* One cell of a record. */
typedef struct fw_cell {
  const char *begin, *end; /* without blanks and quotes around it */
  bool quoted;
} fw_cell;

/* Takes the cell at *p and moves behind its delimiter; *p becomes NULL with the last cell. A delimiter at the very end
 * of the record has no cell behind it. False: a quote is not closed, or text follows it; cell->begin is where. */
bool fw_cell_next(const fw_cell_rules *rules, const char **p, const char *end, fw_cell *cell);

/* The end of the record that starts at p: the place of its line end, or `end`. NULL: a quote is not closed. lines:
 * records are lines, whatever is in quotes. A record with text behind a closed quote ends with the line of that quote.
 */
const char *fw_cell_record_end(const fw_cell_rules *rules, bool lines, const char *p, const char *end);
/* Behind the line end at p; CR LF is one. */
const char *fw_cell_line_begin(const char *p, const char *end);
/* Whether there are only blanks. */
bool fw_cell_is_blank_line(const fw_cell_rules *rules, const char *line, const char *end);

/* Whether the cell is empty or one of the words that stand for a value that is not there (NA, null, ? …). */
bool fw_cell_is_missing(const fw_cell *cell);
/* Whether a number starts the cell; nan and inf only if they are all of it. */
bool fw_cell_starts_with_number(const fw_cell *cell);
/* The text of a cell, "" being one quote in a quoted one. */
furrow_status fw_cell_copy(const fw_cell *cell, char **text, furrow_error *err) FURROW_MUST_USE;
/* The same into `out`, which has as many bytes as the cell; returns how many are used. */
size_t fw_cell_unquote(const char *begin, const char *end, char *out);

#endif
