/* rows/text/csv.h: tables of numbers: csv, and Angel's dense text, whose cells are separated by blanks. */
#ifndef FW_ROWS_TEXT_CSV_H
#define FW_ROWS_TEXT_CSV_H

#include "rows/text/cells.h"
#include "rows/text/format.h"

typedef enum fw_csv_header { FW_CSV_HEADER_AUTO, FW_CSV_HEADER_YES, FW_CSV_HEADER_NO } fw_csv_header;

#define FW_CSV_NO_COLUMN SIZE_MAX

typedef struct fw_csv {
  fw_cell_rules rules;  /* delimiter 0: not known yet; blanks: dense text, no missing cells, no text after a number */
  bool delimiter_found; /* detected from the text */
  bool comma_without_header; /* it is detected only if there is a header; else it is a comma, as in dmlc-core */
  fw_csv_header header;
  size_t label_column, weight_column; /* FW_CSV_NO_COLUMN: none */
  bool labels;                        /* rows have a label: the first row of the data set has that column */
  bool label_optional;                /* the label column may be absent */
  char *label_name, *weight_name;     /* given by name, looked up in the header */
  char **names;                       /* names of all columns, from the header of the first file */
  size_t nnames;
  bool names_cut; /* the header has more columns than the head of the file showed */
  size_t width;   /* cells of every line: as in the header, or in the first line of dense text; 0: any number */
  char **wanted;  /* names of the features in order, given as `columns`; NULL: all columns, in the order of the file */
  size_t nwanted;
  bool ignore_extra; /* columns that are not wanted are ignored; else they are an error */
  size_t *roles;   /* the feature of each of `width` columns; FW_CSV_NO_COLUMN: none. NULL: in the order of the file */
  size_t *skipped; /* columns that are neither feature, label nor weight */
  size_t nskipped;
  uint64_t *kept;     /* features of the kept columns, in the order of the file */
  size_t first_moved; /* the first feature that is not at its own position in `kept` */
  size_t *order;      /* positions of features 0, 1, … in `kept` */
} fw_csv;

/* ---- The role of each column (csv_columns.c) ---- */

/* Reads the arguments that name columns. */
furrow_status fw_csv_read_columns(fw_csv *csv, const furrow_args *args, furrow_error *err) FURROW_MUST_USE;
void fw_csv_clear_columns(fw_csv *csv);
/* Keeps the names of a header; cut: the text ends before the header does. */
furrow_status fw_csv_keep_names(fw_csv *csv, const char *line, const char *end, bool cut,
                                furrow_error *err) FURROW_MUST_USE;
/* Finds the columns that the arguments name, once the names are known. */
furrow_status fw_csv_find_columns(fw_csv *csv, furrow_error *err) FURROW_MUST_USE;
/* Sorts the features begin … begin+count-1 by index. */
void fw_csv_sort_row(furrow_container *out, size_t begin, size_t count);
/* The same for all rows of the container; scratch has space for `nwanted` numbers of 64 bits. */
void fw_csv_sort_rows(const fw_csv *csv, furrow_container *out, uint64_t *scratch);
/* A function of the format; state: fw_csv. */
const char *fw_csv_column_name(const void *state, size_t column);
size_t fw_csv_column_count(const void *state);
size_t fw_csv_special_column(const void *state, bool weight, const char **name);

/* Parses a chunk on the fast path. */
furrow_status fw_csv_chunk(const void *state, fw_chunk *chunk, furrow_error *err);

#endif
