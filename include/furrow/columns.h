/* furrow/columns.h: typed columns of rows in memory: numbers, texts, sets, times.
 *
 * What readers of tables make (furrow_columns_load of furrow/table.h), what bindings make of their own frames, and what
 * an index takes as the attributes of its vectors (furrow/attributes.h).
 *
 *   const char *const langs[] = {"de", "fr", NULL};
 *   const double prices[] = {9.5, 12, NAN};
 *   const furrow_column columns[] = {{.name = "lang", .type = FURROW_COLUMN_TEXT, .texts = langs},
 *                                    {.name = "price", .type = FURROW_COLUMN_NUMBER, .numbers = prices}};
 *
 * Threads: the functions may run at once.
 */
#ifndef FURROW_COLUMNS_H
#define FURROW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number in files, text): the types of columns. */
#define FURROW_COLUMN_TYPES(X) \
  X(NUMBER, 1, "number")       \
  X(TEXT, 2, "text")           \
  X(SET, 3, "set")             \
  X(TIME, 4, "time")

/* The type of the cells of a column. */
typedef enum furrow_column_type {
#define FURROW_X(name, number, text) FURROW_COLUMN_##name = number,
  FURROW_COLUMN_TYPES(FURROW_X)
#undef FURROW_X
} furrow_column_type;

/* Returns: the name of a type ("number"); NULL for a value that is not a type.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_column_type_name(furrow_column_type type);
/* Returns: whether a text is the name of a type; then *type is that type. */
FURROW_API bool furrow_column_type_find(const char *name, furrow_column_type *type);

/* A column of n cells. Its memory is the caller's. Layout fixed. */
typedef struct furrow_column {
  const char *name;         /* UTF-8, not empty, without control characters */
  furrow_column_type type;  /* which of the next members has the cells */
  const double *numbers;    /* NUMBER; TIME: seconds since 1970-01-01 00:00 UTC. NaN: the cell is missing */
  const char *const *texts; /* TEXT: UTF-8, NULL: the cell is missing. SET: the elements of all cells, one cell after
                               the other; none is NULL */
  const uint64_t *starts; /* SET: n + 1; the elements of cell i are texts[starts[i]] … texts[starts[i + 1] - 1]. A cell
                             without elements is missing */
} furrow_column;

/* Columns that own their memory. Made by the library. */
typedef struct furrow_columns {
  const furrow_column *columns; /* `count` columns of `rows` cells each */
  size_t count;                 /* number of columns */
  size_t rows;                  /* number of rows */
} furrow_columns;

/* Frees columns. Takes NULL. */
FURROW_API void furrow_columns_free(furrow_columns *columns);

#ifdef __cplusplus
}
#endif

#endif
