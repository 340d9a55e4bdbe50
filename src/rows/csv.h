/* rows/csv.h: tables of numbers: csv, and Angel's dense text, which is one with blanks between the cells. */
#ifndef FW_ROWS_CSV_H
#define FW_ROWS_CSV_H

#include "rows/format.h"

typedef enum fw_csv_header { FW_CSV_HEADER_AUTO, FW_CSV_HEADER_YES, FW_CSV_HEADER_NO } fw_csv_header;

#define FW_CSV_NO_COLUMN SIZE_MAX

typedef struct fw_csv {
  bool dense; /* cells are separated by any run of blanks; no quotes, no missing cells, no text after a number */
  char delimiter;
  fw_csv_header header;
  size_t label_column, weight_column; /* FW_CSV_NO_COLUMN: none */
  bool labels;                        /* rows have a label: the first row of the data set has that column */
  char *label_name, *weight_name;     /* given by name: looked up in the header */
  char **names;                       /* of all columns, from the header of the first file */
  size_t nnames;
  bool names_cut; /* there are more of them than the head of the file showed */
} fw_csv;

/* One cell of a line. */
typedef struct fw_cell {
  const char *begin, *end; /* without blanks and quotes around it */
  bool quoted;
} fw_cell;

/* Takes the cell at *p and moves behind its delimiter; *p becomes NULL with the last cell. A delimiter at the very end
 * of the line has no cell behind it. False: a quote is not closed, or text follows it; cell->begin is where. */
bool fw_csv_next_cell(const fw_csv *csv, const char **p, const char *end, fw_cell *cell);

/* Whether the cell is empty or one of the words that stand for a value that is not there (NA, null, ? …). */
bool fw_csv_is_missing(const fw_cell *cell);

/* The fast way through a chunk. */
furrow_status fw_csv_chunk(const void *state, fw_chunk *chunk, furrow_error *err);

#endif
