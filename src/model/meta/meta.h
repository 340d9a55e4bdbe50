/* model/meta/meta.h: construction of metadata by readers, plans and copies; its fields and their limits. */
#ifndef FW_MODEL_META_META_H
#define FW_MODEL_META_META_H

#include "furrow/model.h"

/* Defaults of a specification. */
#define FW_DEFAULT_FORMAT "RowIdColIdValueTextRowFormat"
#define FW_DEFAULT_ROW_TYPE 7 /* T_FLOAT_DENSE */

/* ---- Fields ---- */

typedef enum fw_meta_kind {
  FW_META_I32,
  FW_META_I64,
  FW_META_TEXT,
  FW_META_OPTIONS, /* the three maps */
  FW_META_PARTS,
  FW_META_ROWS
} fw_meta_kind;

typedef struct fw_meta_field {
  const char *name; /* Angel's key */
  fw_meta_kind kind;
  size_t place; /* offset of the field in its struct */
  int64_t least, most;
  bool angel1; /* present in the metadata of Angel 1.x */
} fw_meta_field;

#define FW_META_FIELDS_MAX 13

typedef struct fw_meta_fields {
  size_t count;
  const fw_meta_field *fields; /* in the order in which Angel writes them, in JSON and binary */
} fw_meta_fields;

/* The fields of furrow_matrix_meta, furrow_partition_meta, furrow_matrix_row_meta. */
extern const fw_meta_fields fw_matrix_fields, fw_part_fields, fw_row_fields;

int64_t fw_meta_get(const fw_meta_field *field, const void *object);
/* The value must be within least … most. */
void fw_meta_set(const fw_meta_field *field, void *object, int64_t value);
/* Describes what is wrong with the value of a field: "is negative" or "is outside of 0 … 9"; NULL if it is valid. */
const char *fw_meta_number_fault(const fw_meta_field *field, int64_t value, char text[80]);

/* ---- Construction ---- */

/* Metadata and its memory. Texts are stored in one block that never moves, so pointers into it stay valid. */
typedef struct fw_meta_owner {
  furrow_matrix_meta meta;
  char *text;
  size_t text_size, text_capacity;
  char *names; /* file names assigned by furrow_matrix_plan_files */
  size_t option_capacity, part_capacity, row_capacity;
  size_t row_count;
  furrow_matrix_option *options; /* owned, even if the pointers in meta change */
  furrow_partition_meta *parts;
  furrow_matrix_row_meta *rows; /* rows of all partitions, in the order in which the partitions were added */
} fw_meta_owner;

/* Creates empty metadata with a capacity of text_capacity bytes for texts, including their terminating zeros. */
furrow_status fw_meta_create(fw_meta_owner **owner, size_t text_capacity, furrow_error *err) FURROW_MUST_USE;
/* Stores a copy of the text with a terminating zero; the capacity must suffice. */
const char *fw_meta_text(fw_meta_owner *owner, const char *text, size_t size);
furrow_status fw_meta_add_option(fw_meta_owner *owner, furrow_matrix_option option, furrow_error *err) FURROW_MUST_USE;
/* Add rows before their partition, which gives their number. */
furrow_status fw_meta_add_row(fw_meta_owner *owner, const furrow_matrix_row_meta *row,
                              furrow_error *err) FURROW_MUST_USE;
furrow_status fw_meta_add_part(fw_meta_owner *owner, const furrow_partition_meta *part,
                               furrow_error *err) FURROW_MUST_USE;
/* Assigns the rows to their partitions. Nothing can be added afterwards. */
void fw_meta_finish(fw_meta_owner *owner);

/* ---- Duplicates ---- */

typedef struct fw_meta_position {
  uint64_t key; /* an id, or the hash of a text */
  size_t index; /* number of entries added before this one */
  uint64_t at;  /* offset in the file */
} fw_meta_position;

/* A list of keys; may be zero-initialized. */
typedef struct fw_meta_positions {
  fw_meta_position *items;
  size_t count, capacity;
} fw_meta_positions;

furrow_status fw_meta_positions_add(fw_meta_positions *positions, uint64_t key, uint64_t at,
                                    furrow_error *err) FURROW_MUST_USE;
/* Sorts by key, then by index. */
void fw_meta_positions_sort(fw_meta_positions *positions);
/* Sorts by key and returns the second position of a duplicate key; NULL if all keys differ. */
const fw_meta_position *fw_meta_positions_duplicate(fw_meta_positions *positions);
void fw_meta_positions_clear(fw_meta_positions *positions);
/* Checks the fields of a partition against each other, each valid by itself. Returns a message and sets *field to the
 * wrong one; NULL if they are consistent. */
const char *fw_meta_part_fault(const furrow_partition_meta *part, const fw_meta_field **field);
/* Checks the row ids of a partition, and sorts them. Returns a message and sets the wrong position; NULL if they are
 * valid. */
const char *fw_meta_rows_fault(const furrow_partition_meta *part, fw_meta_positions *rows, char text[120],
                               uint64_t *at);
/* A 64-bit hash of a text; texts with equal hashes are treated as equal. */
uint64_t fw_meta_hash(const char *text, size_t size);

/* Checks that no partition id is repeated and sorts the partitions by id. If one is, the status is E_FORMAT without a
 * message, and *twice is its second position. `positions` has one entry per partition, in the order in which they were
 * added. */
furrow_status fw_meta_sort_parts(fw_meta_owner *owner, fw_meta_positions *positions, const fw_meta_position **twice,
                                 furrow_error *err) FURROW_MUST_USE;

/* ---- Readers ---- */

/* Merges the psmeta files that several servers wrote for one matrix; `files` are their names, for errors. */
furrow_status fw_meta_merge(fw_meta_owner **owner, fw_meta_owner *const *parts, const char *const *files, size_t count,
                            furrow_error *err) FURROW_MUST_USE;

/* Reads the JSON of a _meta or meta file, without the length before it: text[0] is byte 4 of the file. */
furrow_status fw_meta_read_json(fw_meta_owner **owner, const char *text, size_t size, const char *file,
                                furrow_error *err) FURROW_MUST_USE;
/* Reads a psmeta file, or the metadata of Angel 1.x. */
furrow_status fw_meta_read_binary(fw_meta_owner **owner, furrow_matrix_meta_origin origin, const void *bytes,
                                  size_t size, const char *file, furrow_error *err) FURROW_MUST_USE;

/* Whether the name is psmeta.<server>: each server of a checkpoint writes one. For fw_dir_names_read. */
bool fw_is_server_meta(void *user, const char *name);

/* ---- The order of Java's HashMap ---- */

/* Computes the iteration order of a java.util.HashMap: order[i] is the insertion number of the i-th entry. `hashes` are
 * Java's hashCode()s; both arrays have `count` elements. */
furrow_status fw_java_map_order(const uint32_t *hashes, size_t count, size_t *order, furrow_error *err) FURROW_MUST_USE;
/* String.hashCode() of UTF-8 text. */
uint32_t fw_java_text_hash(const char *text, size_t size);

#endif
