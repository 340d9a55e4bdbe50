/* rows/schema/schema.h: what each column of a log is (schema.json, docs/formats/schema.md). */
#ifndef FW_ROWS_SCHEMA_SCHEMA_H
#define FW_ROWS_SCHEMA_SCHEMA_H

#include <stdbool.h>

#include "base/buffer.h"
#include "furrow/table.h"
#include "rows/table/time_cell.h"

/* X(name, text): what a column is taken for */
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

/* X(name, text): what a column stands for in recommendations */
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

/* X(name, text): how a number becomes a feature. standard: (x - mean) / deviation; log: the same of
 * sign(x) log(1 + |x|); bins: one feature for each of `bins` quantiles */
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
#define FW_CROSS_BITS 18  /* where a cross does not say */
#define FW_NUMBER_BINS 16 /* where a column does not say */
#define FW_BINS_MOST 1024
#define FW_HISTORY_MOST 1000

typedef struct fw_column {
  char *name;
  fw_column_kind kind;
  fw_role role;
  uint64_t min_count;    /* category, set, text: rarer values are unknown ones; at least 1 */
  unsigned hash_bits;    /* category, set, text: features by hash, 2^hash_bits of them; 0: by dictionary */
  char *separator;       /* set: between its elements, not empty */
  bool values;           /* set: elements are name:value */
  fw_number_scale scale; /* number */
  unsigned bins;         /* number with FW_SCALE_BINS */
  unsigned parts;        /* time: 1 << fw_time_part */
  fw_time_unit unit;     /* time */
  char **classes;        /* label: its names in the order of their labels 0, 1 …; NULL: it is a number */
  size_t class_count;
  char *why; /* what a proposal says of it; NULL: nothing */
} fw_column;

/* A table whose rows are joined to those of the log by a key. */
typedef struct fw_side_table {
  char *uri;
  char *key;    /* the column of the log */
  char *column; /* the column of the table; mostly the same name */
} fw_side_table;

/* Fields whose values are features together: names of columns, "column.part" of times. */
typedef struct fw_cross {
  char **names;
  size_t count;
  unsigned bits;
} fw_cross;

struct furrow_schema {
  fw_column *columns;
  size_t count;
  fw_side_table *tables;
  size_t table_count;
  fw_cross *crosses;
  size_t cross_count;
  uint32_t history; /* the last so many items of the user before the event are features; 0: none */
};

furrow_status fw_schema_create(furrow_schema **schema, furrow_error *err) FURROW_MUST_USE;
/* Adds a column with the defaults of its kind; it lies in the schema until the next is added. */
furrow_status fw_schema_add(furrow_schema *schema, const char *name, size_t length, fw_column_kind kind,
                            fw_column **column, furrow_error *err) FURROW_MUST_USE;
/* Takes another kind, and its defaults. */
furrow_status fw_column_set_kind(fw_column *column, fw_column_kind kind, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_column_set_text(char **member, const char *text, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_schema_add_table(furrow_schema *schema, const char *uri, const char *key, const char *column,
                                  furrow_error *err) FURROW_MUST_USE;
/* Adds a cross without names, FW_CROSS_BITS wide; it lies in the schema until the next is added. */
furrow_status fw_schema_add_cross(furrow_schema *schema, fw_cross **cross, furrow_error *err) FURROW_MUST_USE;
/* Replaces what a cross may call a field ("hour", "user") by its full name; what is not known stays. E_ARGUMENT: it
 * may be several. */
furrow_status fw_schema_resolve(const furrow_schema *schema, char **name, furrow_error *err) FURROW_MUST_USE;
/* Appends a copy to classes or names of a cross. */
furrow_status fw_text_list_add(char ***texts, size_t *count, const char *text, size_t length,
                               furrow_error *err) FURROW_MUST_USE;
/* The column of that name, with that role, of that kind (the first); NULL: none. */
fw_column *fw_schema_find(const furrow_schema *schema, const char *name);
fw_column *fw_schema_of_role(const furrow_schema *schema, fw_role role);
fw_column *fw_schema_of_kind(const furrow_schema *schema, fw_column_kind kind);
/* What must hold for a schema whatever the data: one label, one column of each role, names that exist. E_ARGUMENT, or
 * E_FORMAT with the file where it was read from one. */
furrow_status fw_schema_check(const furrow_schema *schema, furrow_error *err) FURROW_MUST_USE;

const char *fw_column_kind_name(fw_column_kind kind);
const char *fw_role_name(fw_role role);
const char *fw_time_unit_name(fw_time_unit unit);
const char *fw_time_part_name(fw_time_part part);

/* schema_json.c. `file` is for errors, may be NULL. */
furrow_status fw_schema_read(furrow_schema **schema, const char *text, size_t size, const char *file,
                             furrow_error *err) FURROW_MUST_USE;
/* comments: with what the proposal says of the columns ("why"). */
furrow_status fw_schema_write(const furrow_schema *schema, bool comments, fw_buffer *text,
                              furrow_error *err) FURROW_MUST_USE;

#endif
