/* model/meta/meta.h: how metadata is put together, by its readers, by plans and by copies; what its fields are and what
 * they may hold. */
#ifndef FW_MODEL_META_META_H
#define FW_MODEL_META_META_H

#include "furrow/model.h"

/* What a specification means that does not say it. */
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
  size_t place; /* of the field in its struct */
  int64_t least, most;
  bool angel1; /* the metadata of Angel 1.x has it */
} fw_meta_field;

#define FW_META_FIELDS_MAX 13

typedef struct fw_meta_fields {
  size_t count;
  const fw_meta_field *fields; /* in the order in which Angel writes them: JSON and binary */
} fw_meta_fields;

/* Of furrow_matrix_meta, furrow_partition_meta, furrow_matrix_row_meta. */
extern const fw_meta_fields fw_matrix_fields, fw_part_fields, fw_row_fields;

int64_t fw_meta_get(const fw_meta_field *field, const void *object);
/* The value must be in least … most. */
void fw_meta_set(const fw_meta_field *field, void *object, int64_t value);
/* "is negative" or "is outside of 0 … 9": what is wrong with the value of a field; NULL: nothing. */
const char *fw_meta_number_fault(const fw_meta_field *field, int64_t value, char text[80]);

/* ---- Putting together ---- */

/* Metadata and its memory. Texts lie in one block that does not grow, so that pointers into it hold. */
typedef struct fw_meta_owner {
  furrow_matrix_meta meta;
  char *text;
  size_t text_size, text_capacity;
  char *names; /* files that furrow_matrix_plan_files gave names */
  size_t option_capacity, part_capacity, row_capacity;
  size_t row_count;
  furrow_matrix_option *options; /* these three belong to this, whatever becomes of the pointers in meta */
  furrow_partition_meta *parts;
  furrow_matrix_row_meta *rows; /* of all partitions, in the order in which partitions were added */
} fw_meta_owner;

/* Empty metadata with room for texts of so many bytes, the 0 behind each included. */
furrow_status fw_meta_create(fw_meta_owner **owner, size_t text_capacity, furrow_error *err) FURROW_MUST_USE;
/* A copy of the text with a 0 behind it; there must be room. */
const char *fw_meta_text(fw_meta_owner *owner, const char *text, size_t size);
furrow_status fw_meta_add_option(fw_meta_owner *owner, furrow_matrix_option option, furrow_error *err) FURROW_MUST_USE;
/* Rows are added before their partition, which says how many they are. */
furrow_status fw_meta_add_row(fw_meta_owner *owner, const furrow_matrix_row_meta *row,
                              furrow_error *err) FURROW_MUST_USE;
furrow_status fw_meta_add_part(fw_meta_owner *owner, const furrow_partition_meta *part,
                               furrow_error *err) FURROW_MUST_USE;
/* Gives partitions their rows. Nothing can be added afterwards. */
void fw_meta_finish(fw_meta_owner *owner);

/* ---- Things that must not be there twice ---- */

typedef struct fw_meta_position {
  uint64_t key; /* an id, or the hash of a text */
  size_t index; /* how many came before */
  uint64_t at;  /* byte in the file */
} fw_meta_position;

/* All zeros is empty. */
typedef struct fw_meta_positions {
  fw_meta_position *items;
  size_t count, capacity;
} fw_meta_positions;

furrow_status fw_meta_positions_add(fw_meta_positions *positions, uint64_t key, uint64_t at,
                                    furrow_error *err) FURROW_MUST_USE;
/* By key, then by index. */
void fw_meta_positions_sort(fw_meta_positions *positions);
/* Sorts by key; the place of a key that came before, NULL: there is none. */
const fw_meta_position *fw_meta_positions_duplicate(fw_meta_positions *positions);
void fw_meta_positions_clear(fw_meta_positions *positions);
/* What the fields of a partition, each good by itself, say wrong together; *field is the wrong one. NULL: nothing.
 */
const char *fw_meta_part_fault(const furrow_partition_meta *part, const fw_meta_field **field);
/* What is wrong with its rows (row ids and their positions), and the position that is wrong. NULL: nothing. Sorts. */
const char *fw_meta_rows_fault(const furrow_partition_meta *part, fw_meta_positions *rows, char text[120],
                               uint64_t *at);
/* 64 bits of a text: two texts with the same are taken for the same. */
uint64_t fw_meta_hash(const char *text, size_t size);

/* Checks that no partition is there twice (*twice is then the second one, and the status E_FORMAT without an error)
 * and sorts partitions by id. `positions` has one for each, in the order in which they were added. */
furrow_status fw_meta_sort_parts(fw_meta_owner *owner, fw_meta_positions *positions, const fw_meta_position **twice,
                                 furrow_error *err) FURROW_MUST_USE;

/* ---- Readers ---- */

/* Merges what several servers wrote (psmeta) of one matrix; `files` are their names, for errors. */
furrow_status fw_meta_merge(fw_meta_owner **owner, fw_meta_owner *const *parts, const char *const *files, size_t count,
                            furrow_error *err) FURROW_MUST_USE;

/* The JSON of a _meta or meta file behind its length: text[0] is byte 4 of the file. */
furrow_status fw_meta_read_json(fw_meta_owner **owner, const char *text, size_t size, const char *file,
                                furrow_error *err) FURROW_MUST_USE;
/* A psmeta file, or the metadata of Angel 1.x. */
furrow_status fw_meta_read_binary(fw_meta_owner **owner, furrow_matrix_meta_origin origin, const void *bytes,
                                  size_t size, const char *file, furrow_error *err) FURROW_MUST_USE;

/* psmeta.<server>: the servers of a checkpoint write one each. For fw_dir_names_read. */
bool fw_is_server_meta(void *user, const char *name);

/* ---- The order of Java's HashMap ---- */

/* The order in which a java.util.HashMap gives what was put into it one by one: order[i] is the number of the entry
 * that comes i-th. `hashes` are Java's hashCode()s; both have `count` elements. */
furrow_status fw_java_map_order(const uint32_t *hashes, size_t count, size_t *order, furrow_error *err) FURROW_MUST_USE;
/* String.hashCode() of UTF-8 text. */
uint32_t fw_java_text_hash(const char *text, size_t size);

#endif
