/* rows/table/number_cell.h: numbers in cells, as people write them: 22,690.00, $10.79, 59.6%, 152,53 €, (12.50), 5-. */
#ifndef FW_ROWS_TABLE_NUMBER_CELL_H
#define FW_ROWS_TABLE_NUMBER_CELL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define FW_NUMBER_UNIT 16 /* most bytes of a unit */

/* How the numbers of a column are written. All zeros: as programs write them (base/number_in.h). */
typedef struct fw_number_format {
  char decimal;                  /* '.' or ','; 0: as programs write them */
  char unit[FW_NUMBER_UNIT + 1]; /* a text before or after the number; "": none */
} fw_number_format;

/* The parts of a cell that may be such a number: a sign (before or after the digits) or parentheses, a unit, and digits
 * with marks between them. */
typedef struct fw_number_parts {
  bool negative, parentheses;
  bool unit_first; /* the unit stands before the digits */
  const char *unit, *unit_end;
  const char *digits, *digits_end; /* with the marks and an exponent */
} fw_number_parts;

/* Splits a cell; returns false if it does not have these parts. Blanks around it are ignored, and so is a blank
 * between the unit and the digits. */
bool fw_number_split(const char *text, size_t length, fw_number_parts *parts);
/* Reads the digits: `decimal` is the mark before the fraction; the other one of . and , or a blank or an apostrophe may
 * separate groups of three digits (or two, as in 12,34,567; the last group has three). Returns false if they do not
 * have that form. */
bool fw_number_of_parts(const fw_number_parts *parts, char decimal, double *number);
/* Whether the digits may also be a list of integers: 101,202 but not 1,034 or 10,200.5. */
bool fw_number_may_be_list(const fw_number_parts *parts);
/* Whether the unit is a likely one: a currency before the digits; letters, % and the like after them. No unit is one,
 * too. */
bool fw_number_unit_is_likely(const fw_number_parts *parts);

/* Whether a text that was read as an infinite number is a word for infinity, and not too many digits. */
static inline bool fw_number_is_infinity(const char *text, size_t length, double number) {
  return isinf(number) && length > 0 && (text[length - 1] < '0' || text[length - 1] > '9');
}

/* Parses the whole text in a format that is not all zeros; the unit may be absent. Also the words of base/number_in.h
 * (nan, inf). Returns false if it is not a number. */
bool fw_number_parse(const char *text, size_t length, const fw_number_format *format, double *number);

#endif
