/* cli/core/text_columns.h: a table of text with aligned columns. */
#ifndef CLI_CORE_TEXT_COLUMNS_H
#define CLI_CORE_TEXT_COLUMNS_H

#include <stdbool.h>

#include "core/output.h"

enum { TABLE_COLUMNS = 24 };

typedef struct table {
  size_t columns;
  size_t width[TABLE_COLUMNS];
  char **cells; /* row after row, the headings first */
  size_t count, capacity;
  bool failed; /* out of memory: later cells are lost */
} table;

/* headings: one for each column, separated by |. */
void table_start(table *t, const char *headings);
/* Adds the next cell. */
void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the table and clears it. `left` has a bit for each column that is aligned to the left. */
furrow_status table_finish(table *t, unsigned left, output *out, furrow_error *err);

#endif
