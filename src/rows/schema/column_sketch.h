/* rows/schema/column_sketch.h: statistics of the cells of a column, in bounded memory. The sketches of pieces of the
 * data merge into the sketch of the whole; the result does not depend on how the data was split, nor on the order. */
#ifndef FW_ROWS_SCHEMA_COLUMN_SKETCH_H
#define FW_ROWS_SCHEMA_COLUMN_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "comm/collectives.h"
#include "furrow/status.h"
#include "rows/schema/schema.h"
#include "rows/table/number_cell.h"

/* ---- Distinct values: HyperLogLog (Flajolet and others, 2007) ---- */

#define FW_SKETCH_BITS 12
/* All zeros is empty. */
typedef struct fw_distinct {
  uint8_t *registers; /* for each register the most leading zeros of its hashes, plus 1; NULL: few are used */
  uint32_t *few;      /* hash table of the used registers: 1 + number, then 8 bits with its contents; 0: free */
  uint32_t few_count, few_capacity;
} fw_distinct;

furrow_status fw_distinct_add(fw_distinct *distinct, uint64_t hash, furrow_error *err) FURROW_MUST_USE;
void fw_distinct_clear(fw_distinct *distinct);
/* An estimate; the standard error is 1.6 %. */
double fw_distinct_count(const fw_distinct *distinct);

/* ---- Values while they are few ---- */

typedef struct fw_counted_value {
  uint64_t hash, count;
  uint32_t at, length; /* position of its text in `texts` */
} fw_counted_value;

typedef struct fw_value_set {
  fw_counted_value *slots; /* open addressing; count 0: free */
  size_t capacity, count, most;
  fw_buffer texts;
  bool many; /* more than `most` values, or a text that is too long: the set has been dropped */
} fw_value_set;

/* ---- A column ---- */

/* X(name, character): separators between the elements of a set. LIST: the table reader has read the cell as a list. */
#define FW_SEPARATORS(X) \
  X(BAR, '|')            \
  X(SEMICOLON, ';')      \
  X(COMMA, ',')          \
  X(BLANK, ' ')          \
  X(LIST, '\x1f')

typedef enum fw_separator {
#define FW_X(name, character) FW_SEPARATOR_##name,
  FW_SEPARATORS(FW_X)
#undef FW_X
      FW_SEPARATOR_COUNT
} fw_separator;

typedef struct fw_element_sketch {
  uint64_t cells;              /* cells that have the separator */
  uint64_t elements;           /* elements of these cells */
  uint64_t separators, blanks; /* numbers of separators, and of separators that are followed by a blank */
  uint64_t valued;             /* elements of the form name:number */
  uint64_t integers;           /* elements that are integers */
  fw_distinct distinct;
} fw_element_sketch;

/* ---- Numbers: as programs write them (whole, fraction), and as people do, if the decimal mark is a point or a comma.
 * A number may have both of the latter forms; comma also has the fractions of programs that fit: 1.234 is 1234 ---- */

typedef enum fw_number_form {
  FW_FORM_WHOLE,
  FW_FORM_FRACTION,
  FW_FORM_POINT,
  FW_FORM_COMMA,
  FW_FORM_COUNT
} fw_number_form;

typedef struct fw_number_sketch {
  uint64_t count;
  double least, most;
  uint64_t *magnitudes;                      /* histogram of positive numbers by size, 4 steps per octave from 2^-32 */
  uint32_t magnitude_first, magnitude_count; /* the steps that it has */
} fw_number_sketch;

enum {
  FW_SKETCH_UNITS = 4,
  FW_SKETCH_MARKERS = 6,
  FW_SKETCH_MARKER_TEXT = 32,
  FW_SKETCH_EXAMPLES = 3,
  FW_SKETCH_EXAMPLE_TEXT = 40,
  FW_SKETCH_MAGNITUDES = 4 * 96
};

typedef struct fw_example {
  uint64_t hash; /* examples with the least hashes are kept; UINT64_MAX: none */
  char text[FW_SKETCH_EXAMPLE_TEXT];
  uint32_t length; /* length of the value, which may be truncated in `text` */
} fw_example;

typedef struct fw_counted_unit {
  uint64_t count;
  char text[FW_NUMBER_UNIT + 1];
  fw_example example; /* a cell with this unit */
} fw_counted_unit;

typedef struct fw_range {
  uint64_t count;
  double least, most;
} fw_range;

/* Cells that people may have written as numbers. */
typedef struct fw_written_sketch {
  uint64_t cells;   /* cells that have the parts of a number, with a decimal point or comma */
  uint64_t lists;   /* of these, cells that may be lists of integers */
  uint64_t jumbled; /* cells with the parts of a number but neither form: 1,2,3 */
  uint64_t both;    /* cells with a point and a comma */
  uint64_t open;    /* cells that are different numbers with a decimal point and a decimal comma, such as 1,234 */
  uint64_t commas;  /* cells with a comma */
  uint64_t chains;  /* cells whose points can only separate groups of digits: 1.234.567 */
  fw_range grouped; /* cells, also of programs, whose points may separate groups of digits, read so: 1.234 is 1234 */
  fw_range plain;   /* the sizes of numbers without a point and a comma, also of programs */
  fw_counted_unit units[FW_SKETCH_UNITS]; /* the units of these cells, in any order; count 0: free */
  bool many_units;                        /* there are more */
} fw_written_sketch;

/* ---- Markers: short texts without digits other than 0, such as error or #DIV/0!, that are neither numbers nor dates.
 * In a column of these, they may stand for missing values ---- */

typedef struct fw_counted_marker {
  uint64_t count;
  char text[FW_SKETCH_MARKER_TEXT + 1];
} fw_counted_marker;

typedef struct fw_marker_sketch {
  fw_counted_marker markers[FW_SKETCH_MARKERS]; /* in any order; count 0: free */
  bool many;                                    /* there are more */
} fw_marker_sketch;

/* ---- Times ---- */

typedef struct fw_time_sketch {
  uint64_t count;
  double least, most;               /* in seconds */
  uint32_t hours, weekdays, months; /* bit sets */
} fw_time_sketch;

/* Cells that differ in kind from most cells of the column. */
typedef enum fw_odd {
  FW_ODD_TEXT,    /* not a number in any form */
  FW_ODD_WRITTEN, /* a number only as people write it */
  FW_ODD_POINT,   /* a number, but not with a decimal point: 1,5 */
  FW_ODD_COMMA,   /* a number, but not with a decimal comma: 1.5 */
  FW_ODD_DATE,    /* not a date */
  FW_ODD_COUNT
} fw_odd;

/* Start with all zeros and fw_column_sketch_init. */
typedef struct fw_column_sketch {
  uint64_t cells, missing, lists; /* cells: that are not missing */
  uint64_t integers;
  uint64_t padded, long_integers; /* integers that are codes (fw_cell_code) */
  uint64_t absent;   /* cells with a word for a missing value, such as NA: valid categories, but not numbers or times */
  uint64_t infinite; /* of these, those that are inf */
  uint64_t marked;   /* cells with one of the markers, if these stand for missing values; set by a proposal */
  fw_time_sketch times[FW_TIME_UNIT_COUNT]; /* cells that are dates near today in that unit; texts that are times in
                                               FW_UNIT_TEXT are not counted in the later units */
  uint64_t dotted;                          /* dates such as 31.5.2024 */
  uint64_t short_years;                     /* dates with a year of two digits, such as 31/05/24 */
  uint64_t words, bytes;                    /* words and bytes of cells that are not numbers as programs write them */
  fw_number_sketch forms[FW_FORM_COUNT];
  fw_written_sketch written;
  fw_marker_sketch markers;
  fw_time_unit order; /* unit of dates that are valid with the day first and with the month first; set before _unit is
                         called */
  fw_number_format format;  /* set by fw_column_sketch_settle, as is the next */
  fw_number_sketch numbers; /* the cells that are numbers in this format */
  fw_distinct distinct;
  fw_value_set values;
  fw_element_sketch elements[FW_SEPARATOR_COUNT];
  fw_example examples[FW_SKETCH_EXAMPLES];
  fw_example odd[FW_ODD_COUNT];
} fw_column_sketch;

/* At most `values` different values are counted one by one. */
void fw_column_sketch_init(fw_column_sketch *sketch, size_t values);
void fw_column_sketch_clear(fw_column_sketch *sketch);
furrow_status fw_column_sketch_add(fw_column_sketch *sketch, const char *text, size_t length, bool list,
                                   furrow_error *err) FURROW_MUST_USE;
furrow_status fw_column_sketch_merge(fw_column_sketch *into, const fw_column_sketch *from,
                                     furrow_error *err) FURROW_MUST_USE;
/* Combines the sketches of all ranks, on all ranks; all of them call it. */
furrow_status fw_column_sketch_join(fw_column_sketch *sketch, const furrow_comm *comm,
                                    furrow_error *err) FURROW_MUST_USE;
/* The number of cells that are numbers in that format. */
uint64_t fw_column_sketch_numbers(const fw_column_sketch *sketch, const fw_number_format *format);
/* A cell that is not a number in that format; NULL: there is none. */
const fw_example *fw_column_sketch_refused(const fw_column_sketch *sketch, const fw_number_format *format);
/* Chooses the format of the numbers, once, after the last cell: then `numbers` are known. */
furrow_status fw_column_sketch_settle(fw_column_sketch *sketch, const fw_number_format *format,
                                      furrow_error *err) FURROW_MUST_USE;
/* The number of cells that must be numbers or times if the column is one of these. */
static inline uint64_t fw_column_sketch_present(const fw_column_sketch *sketch) {
  return sketch->cells - sketch->absent - sketch->marked;
}
/* Whether nearly all of these cells (95 %) are numbers. */
bool fw_column_sketch_mostly_numbers(const fw_column_sketch *sketch);
/* The unit in which nearly all of these cells are times; returns false if there is none. */
bool fw_column_sketch_unit(const fw_column_sketch *sketch, fw_time_unit *unit);
/* The times of the column in that unit. */
fw_time_sketch fw_column_sketch_times(const fw_column_sketch *sketch, fw_time_unit unit);
/* The number of cells with markers; 0 if there are too many kinds of them. */
uint64_t fw_column_sketch_markers(const fw_column_sketch *sketch);
/* The number of distinct values; *exact: it is not an estimate. */
uint64_t fw_column_sketch_distinct(const fw_column_sketch *sketch, bool *exact);
/* The mean of the positive numbers, accurate to about a tenth; other numbers count as 0. */
double fw_number_sketch_mean(const fw_number_sketch *numbers);

char fw_separator_char(fw_separator separator);

#endif
