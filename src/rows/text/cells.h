/* rows/text/cells.h: cells of delimited text, one record at a time. This is the definition of a cell.
 *
 * A record is a line; it extends over several lines if a quoted cell contains line ends. Blanks around a cell do not
 * belong to it, except within quotes, where "" stands for one quote. A quote that does not begin a cell is an
 * ordinary character. */
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

/* Reads the cell at *p and moves *p past its delimiter; *p becomes NULL with the last cell. A delimiter at the very
 * end of the record is not followed by another cell. Returns false if a quote is not closed or text follows it;
 * cell->begin is the position. */
bool fw_cell_next(const fw_cell_rules *rules, const char **p, const char *end, fw_cell *cell);

/* Returns the end of the record that starts at p: its line end, or `end`. NULL: a quote is not closed. lines: every
 * line is a record, even within quotes. A record with text after a closing quote ends with the line of that quote. */
const char *fw_cell_record_end(const fw_cell_rules *rules, bool lines, const char *p, const char *end);
/* Returns the position after the line end at p; CR LF is one line end. */
const char *fw_cell_line_begin(const char *p, const char *end);
/* Whether the line has only blanks. */
bool fw_cell_is_blank_line(const fw_cell_rules *rules, const char *line, const char *end);

/* Whether the cell is empty or one of the words for a missing value (NA, null, ? …). */
bool fw_cell_is_missing(const fw_cell *cell);
/* The same in a column of class names: fewer words count, since none, ? and + can be classes, and Na is sodium. */
bool fw_cell_is_missing_class(const fw_cell *cell);
/* Whether the cell starts with a number; nan and inf count only if they are the whole cell. */
bool fw_cell_starts_with_number(const fw_cell *cell);
/* Whether the cell is a number that may be a name in a header, such as a year: up to 9 digits without a 0 before them.
 */
bool fw_cell_may_be_number_name(const fw_cell *cell);
/* What makes an integer the code of something rather than an amount. */
typedef enum fw_cell_code {
  FW_CODE_NONE,
  FW_CODE_PADDED, /* zeros stand before it: 01234 */
  FW_CODE_LONG    /* it has more than 15 digits, which a double does not hold exactly */
} fw_cell_code;
/* FW_CODE_NONE also for texts that are not integers. */
fw_cell_code fw_cell_code_of(const char *begin, const char *end);
/* Copies the text of a name; in a quoted cell, "" becomes one quote. A name that is not UTF-8 is read as Windows-1252.
 */
furrow_status fw_cell_copy(const fw_cell *cell, char **text, furrow_error *err) FURROW_MUST_USE;
/* The same into `out`, which must have as many bytes as the cell; returns the number of bytes used. */
size_t fw_cell_unquote(const char *begin, const char *end, char *out);

#endif
