/* rows/encode/encoder.h: encodes the cells of a table into features. */
#ifndef FW_ROWS_ENCODE_ENCODER_H
#define FW_ROWS_ENCODE_ENCODER_H

#include <string.h>

#include "rows/block/container.h"
#include "rows/encode/dictionary.h"
#include "rows/table/text_table.h"
#include "rows/text/format.h"

#define FW_FEATURE_NONE UINT64_MAX

/* The rows format `table`: a raw log, read through an encoder. */
extern const fw_format fw_format_table;

/* Whether a directory has an encoder. */
furrow_status fw_encoder_in_directory(const char *directory, bool *there, furrow_error *err) FURROW_MUST_USE;
/* Reads the digest from the encoder's dictionary file: 16 digits and a 0. */
furrow_status fw_encoder_digest(const char *directory, char digest[17], furrow_error *err) FURROW_MUST_USE;
/* Returns the bytes of the encoder's two files; the encoder owns the dictionary's. */
furrow_status fw_encoder_files(const furrow_encoder *encoder, fw_buffer *schema, const void **dictionary,
                               size_t *dictionary_size, furrow_error *err) FURROW_MUST_USE;

/* ---- Columns of one table: the log or a joined table ----------------------------------------------------- */

/* Which cells are read, and how they are used. Slot i of the reader is the column names[i]. */
typedef struct fw_encode_view {
  const char **names;
  size_t slots;
  fw_name_map numbers; /* numbers of the names */
  size_t *fields;      /* fields that are computed from cells */
  size_t *field_slot;  /* the slot of each of them */
  size_t field_count;
  size_t *positions; /* for each field of the dictionary: its position in `fields`; SIZE_MAX: it is not there */
  size_t
      *slot_begin; /* the positions of the fields of slot s are slot_fields[slot_begin[s]] … [slot_begin[s + 1] - 1] */
  size_t *slot_fields;
  size_t label, weight, group, key, time; /* slots; SIZE_MAX: none. key: of a joined table; time: of the history */
  const fw_column *label_column, *weight_column, *time_column;
  size_t *table_key; /* the slot of each joined table's key */
  size_t table_count;
  size_t *crosses; /* fields of the dictionary that are crosses, if rows have them */
  size_t cross_count;
  bool events; /* the history needs the events */
} fw_encode_view;

/* The views of the log: all of it, and only what the history needs. */
furrow_status fw_encode_view_log(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *dictionary,
                                 bool history, furrow_error *err) FURROW_MUST_USE;
/* The view of a joined table. */
furrow_status fw_encode_view_joined(fw_encode_view *view, const furrow_schema *schema, const fw_dictionary *dictionary,
                                    size_t table, furrow_error *err) FURROW_MUST_USE;
void fw_encode_view_clear(fw_encode_view *view);

/* The fields of a batch that must be examined: few, if records of the log have only a few of many columns. */
typedef struct fw_field_selection {
  uint64_t *always; /* bit set of positions in the view: fields that every batch needs; the caller sets it */
  uint64_t *bits;
  size_t *fields; /* positions in the view, ascending */
  size_t count;
} fw_field_selection;

furrow_status fw_field_selection_init(fw_field_selection *selection, const fw_encode_view *view,
                                      furrow_error *err) FURROW_MUST_USE;
void fw_field_selection_clear(fw_field_selection *selection);
/* Selects the fields of which the batch has a cell, and those of `always`. */
void fw_field_selection_set(fw_field_selection *selection, const fw_encode_view *view, const fw_table_batch *batch);

/* ---- Encoding ------------------------------------------------------------------------------------------- */

struct furrow_encoder {
  const furrow_schema *schema;
  fw_dictionary dictionary;
  fw_encode_view log;
  bool has_values;  /* some feature has a value other than 1 */
  fw_table *events; /* reads one event */
};

/* Takes ownership of the schema and the image (fw_free), even if it fails. */
furrow_status fw_encoder_create(furrow_encoder **encoder, furrow_schema *schema, void *image, size_t size,
                                furrow_error *err) FURROW_MUST_USE;

/* Appends the items that the user had at the end of the training data to the last row, which has fields and values. */
furrow_status fw_encoder_add_history(const fw_dictionary *dictionary, uint64_t user, furrow_container *rows,
                                     furrow_error *err) FURROW_MUST_USE;

/* The times of one column of a batch, shared by all fields that use them. */
typedef struct fw_time_cells {
  bool read; /* false: not read yet for this batch */
  size_t slot;
  double seconds[FW_TABLE_RECORDS];
  const char *bad[FW_TABLE_RECORDS]; /* what is wrong with each cell; NULL: nothing */
  bool missing[FW_TABLE_RECORDS];
} fw_time_cells;

/* Memory of one thread; all zeros is empty. */
typedef struct fw_encode_scratch {
  struct fw_encoded_field *fields; /* fields of the view, then the crosses */
  size_t field_count;
  fw_field_selection selection; /* the fields that have been computed for this batch */
  uint64_t *keys;               /* keys of the joined tables */
  size_t key_capacity;
  fw_buffer word;
  fw_time_cells times;
  bool bad[FW_TABLE_RECORDS];
  uint64_t missing; /* features of all rows so far that stand for a missing cell */
  float label[FW_TABLE_RECORDS], weight[FW_TABLE_RECORDS];
  uint64_t group[FW_TABLE_RECORDS];
} fw_encode_scratch;

void fw_encode_scratch_clear(fw_encode_scratch *scratch);

/* The destination of the rows. */
typedef struct fw_encode_out {
  furrow_container *rows; /* NULL: only the events are wanted */
  bool with_label;        /* records have a label: a cell without one is bad */
  fw_event *events;       /* one per row, if the view requests them */
  size_t event_count, event_capacity;
} fw_encode_out;

/* Appends the rows of a batch that was read by a table with the slots of the view. Records with unreadable cells are
 * rejected (fw_table_refuse) or counted. A scratch must always be used with the same view. */
furrow_status fw_encode_batch(const furrow_encoder *encoder, const fw_encode_view *view, const fw_table *table,
                              const fw_table_cursor *cursor, const fw_table_batch *batch, fw_encode_scratch *scratch,
                              fw_encode_out *out, furrow_error *err) FURROW_MUST_USE;

/* ---- Cells (encode_cells.c), shared by learning and encoding -------------------------------------------- */

/* One field of a batch: a feature for each record, or lists of features. */
typedef struct fw_encoded_field {
  uint64_t *index;  /* for each record or list element; FW_FEATURE_NONE: none */
  float *value;     /* the same; only if the field has values */
  uint32_t *offset; /* lists: records + 1 elements; else NULL */
  uint64_t present; /* sparse numbers: another feature of records that have one; FW_FEATURE_NONE: none */
  size_t index_capacity, value_capacity, offset_capacity;
} fw_encoded_field;

/* Calls take(user, element) for the elements of a set, or the words of a text, in a cell. An element without a value
 * has the value 1. */
typedef struct fw_cell_element {
  const char *text; /* points into the cell, or into `word` */
  uint32_t length;
  float value;
} fw_cell_element;
typedef furrow_status fw_take_element(void *user, const fw_cell_element *element, furrow_error *err);
/* *bad: what is wrong with the cell; NULL: nothing. */
furrow_status fw_cell_elements(const fw_table_cell *cell, const fw_column *column, fw_buffer *word,
                               fw_take_element *take, void *user, const char **bad, furrow_error *err) FURROW_MUST_USE;
/* Whether a cell has several values; a list of one element counts as that element. */
static inline bool fw_cell_is_list(const fw_table_cell *cell) {
  return cell->kind == FW_TABLE_LIST && memchr(cell->text, FW_TABLE_LIST_SEPARATOR, cell->length);
}
/* Reads the number of a cell; applies the logarithm if the column asks for it. Returns an error message, or NULL.
 * *missing: the cell is empty or has a word for a missing value. */
const char *fw_cell_number(const fw_table_cell *cell, const fw_column *column, double *number, bool *missing);
/* Read the label or the weight of a cell. Return an error message, or NULL. */
const char *fw_cell_label(const fw_table_cell *cell, const fw_column *column, float *label);
const char *fw_cell_weight(const fw_table_cell *cell, const fw_column *column, float *weight);
/* Reads the times of a batch, in seconds, unless they have been read already. */
void fw_time_cells_read(fw_time_cells *times, const fw_table_batch *batch, size_t slot, const fw_column *column);

#endif
