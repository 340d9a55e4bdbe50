/* rows/schema/schema.h: the kind and the role of each column of a log (schema.json, docs/formats/schema.md). */
#ifndef FW_ROWS_SCHEMA_SCHEMA_H
#define FW_ROWS_SCHEMA_SCHEMA_H

#include <stdbool.h>

#include "base/buffer.h"
#include "furrow/table.h"
#include "kern/text/time_cell.h"
#include "rows/table/name_map.h"
#include "rows/table/number_cell.h"

/* X(name, text): the kinds of columns */
#define FW_COLUMN_KINDS(X) \
  X(IGNORE, "ignore")      \
  X(LABEL, "label")        \
  X(WEIGHT, "weight")      \
  X(GROUP, "group")        \
  X(CATEGORY, "category")  \
  X(SET, "set")            \
  X(NUMBER, "number")      \
  X(TIME, "time")          \
  X(TEXT, "text")

typedef enum fw_column_kind {
#define FW_X(name, text) FW_AS_##name,
  FW_COLUMN_KINDS(FW_X)
#undef FW_X
} fw_column_kind;

/* X(name, text): the role of a column in recommendations */
#define FW_ROLES(X) \
  X(NONE, "")       \
  X(USER, "user")   \
  X(ITEM, "item")   \
  X(TIME, "time")

typedef enum fw_role {
#define FW_X(name, text) FW_ROLE_##name,
  FW_ROLES(FW_X)
#undef FW_X
} fw_role;

/* X(name, text): how a number becomes a feature. standard: (x - mean) / deviation; log: the same of sign(x) log(1 +
 * |x|); bins: one feature for each of `bins` quantiles */
#define FW_SCALES(X)      \
  X(NONE, "none")         \
  X(STANDARD, "standard") \
  X(LOG, "log")           \
  X(BINS, "bins")

typedef enum fw_number_scale {
#define FW_X(name, text) FW_SCALE_##name,
  FW_SCALES(FW_X)
#undef FW_X
} fw_number_scale;

#define FW_HASH_BITS_MOST 30
#define FW_CROSS_BITS 18  /* default of a cross */
#define FW_NUMBER_BINS 16 /* default of a column */
#define FW_BINS_MOST 1024
#define FW_HISTORY_MOST 1000
#define FW_CROSSED_MOST 8 /* names of a cross */

typedef struct fw_column {
  char *name;
  fw_column_kind kind;
  fw_role role;
  uint64_t min_count;      /* category, set, text: rarer values count as unknown; at least 1 */
  unsigned hash_bits;      /* category, set, text: features by hash, 2^hash_bits of them; 0: by dictionary */
  char *separator;         /* set: the text between its elements, not empty */
  bool values;             /* set: elements are name:value */
  fw_number_scale scale;   /* number */
  unsigned bins;           /* number with FW_SCALE_BINS */
  unsigned parts;          /* time: 1 << fw_time_part */
  fw_time_unit unit;       /* time */
  fw_number_format format; /* number, label, weight */
  char **missing;          /* number, label, weight, time: texts that count as missing, besides NA and the like */
  size_t missing_count;
  char **classes; /* label: names of the classes with labels 0, 1 …; NULL: it is a number */
  size_t class_count;
  char *why;    /* the reason given by a proposal; NULL: none */
  char *unsure; /* the doubts about the proposal; NULL: none */
} fw_column;

/* A table whose rows are joined to the rows of the log by a key. */
typedef struct fw_side_table {
  char *uri;
  char *key;    /* the column of the log */
  char *column; /* the column of the table; mostly the same name */
} fw_side_table;

/* Fields whose values are combined into features: names of columns, or "column.part" of times. */
typedef struct fw_cross {
  char **names;
  size_t count;
  unsigned bits;
} fw_cross;

struct furrow_schema {
  fw_column *columns;
  size_t count;
  fw_name_map numbers; /* numbers of the columns */
  fw_side_table *tables;
  size_t table_count;
  fw_cross *crosses;
  size_t cross_count;
  uint32_t history; /* the number of the user's last items before the event that are features; 0: none */
};

furrow_status fw_schema_create(furrow_schema **schema, furrow_error *err) FURROW_MUST_USE;
/* Adds a column with the defaults of its kind; the pointer is valid until the next column is added. */
furrow_status fw_schema_add(furrow_schema *schema, const char *name, size_t length, fw_column_kind kind,
                            fw_column **column, furrow_error *err) FURROW_MUST_USE;
/* Changes the kind and sets its defaults. */
furrow_status fw_column_set_kind(fw_column *column, fw_column_kind kind, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_column_set_text(char **member, const char *text, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_schema_add_table(furrow_schema *schema, const char *uri, const char *key, const char *column,
                                  furrow_error *err) FURROW_MUST_USE;
/* Adds a cross without names, with FW_CROSS_BITS; the pointer is valid until the next cross is added. */
furrow_status fw_schema_add_cross(furrow_schema *schema, fw_cross **cross, furrow_error *err) FURROW_MUST_USE;
/* Replaces short names of fields in crosses ("hour", "user") by their full names; unknown names stay. E_ARGUMENT: one
 * is ambiguous. */
furrow_status fw_schema_resolve(furrow_schema *schema, furrow_error *err) FURROW_MUST_USE;
/* Appends a copy of the text to the classes, the missing values or the names of a cross. */
furrow_status fw_text_list_add(char ***texts, size_t *count, const char *text, size_t length,
                               furrow_error *err) FURROW_MUST_USE;
/* Finds the column of that name, with that role, or the first of that kind; NULL if there is none. */
fw_column *fw_schema_find(const furrow_schema *schema, const char *name);
fw_column *fw_schema_of_role(const furrow_schema *schema, fw_role role);
fw_column *fw_schema_of_kind(const furrow_schema *schema, fw_column_kind kind);
/* Checks the rules that hold for any schema: one label, at most one column per role, names that exist. E_ARGUMENT,
 * or E_FORMAT with the file if it was read from one. */
furrow_status fw_schema_check(const furrow_schema *schema, furrow_error *err) FURROW_MUST_USE;

const char *fw_column_kind_name(fw_column_kind kind);
const char *fw_role_name(fw_role role);
const char *fw_time_unit_name(fw_time_unit unit);
const char *fw_time_part_name(fw_time_part part);

/* In schema_json.c. `file` is for errors and may be NULL. */
furrow_status fw_schema_read(furrow_schema **schema, const char *text, size_t size, const char *file,
                             furrow_error *err) FURROW_MUST_USE;
/* comments: includes the reasons and doubts of a proposal ("why", "unsure"). */
furrow_status fw_schema_write(const furrow_schema *schema, bool comments, fw_buffer *text,
                              furrow_error *err) FURROW_MUST_USE;

#endif
