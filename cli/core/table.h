/* cli/core/table.h: rows of text in columns that line up. */
#ifndef CLI_CORE_TABLE_H
#define CLI_CORE_TABLE_H

#include <stdbool.h>

#include "core/output.h"

enum { TABLE_COLUMNS = 16 };

typedef struct table {
  size_t columns;
  size_t width[TABLE_COLUMNS];
  char **cells; /* row after row, the headings first */
  size_t count, capacity;
  bool failed; /* out of memory: what came later is lost */
} table;

/* headings: one word for each column, with | between them. */
void table_start(table *t, const char *headings);
/* The next cell. */
void table_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints it, the columns of `left` (a bit for each) to the left, the others to the right; then it
 * is empty. */
furrow_status table_finish(table *t, unsigned left, output *out, furrow_error *err);

#endif
