/* rows/table/table_reader.h: shared by the readers of all kinds of tables. */
#ifndef FW_ROWS_TABLE_TABLE_READER_H
#define FW_ROWS_TABLE_TABLE_READER_H

#include <string.h>

#include "base/arena.h"
#include "kern/text/tokenizer.h"
#include "rows/table/text_table.h"
#include "rows/text/cells.h"

/* A column of JSON or VW: of a slot, or found in the head. */
typedef struct fw_table_name {
  const char *text;
  size_t length;
  size_t slot; /* SIZE_MAX: no slot has it */
} fw_table_name;

struct fw_table {
  fw_table_layout layout;
  fw_cell_rules rules;
  size_t slots;
  char **slot_names;
  size_t *columns; /* columns of each slot; delimited: SIZE_MAX: absent */
  size_t *twins;   /* not delimited: the next slot of the same column; SIZE_MAX: none */
  fw_table_name *names;
  size_t nnames;
  fw_name_map numbers; /* numbers of the names */
  /* typed columns */
  size_t *first_slots; /* of each column; SIZE_MAX: none */
  size_t used_columns; /* columns that have a slot */
  char **wanted;       /* names that belong to the layout */
  size_t wanted_count;
};

struct fw_table_scratch {
  fw_arena arena;        /* text of cells that are not stored as they are in the data */
  char *text, *text_end; /* the rest of its newest block */
  fw_cell *cells;        /* delimited: cells of one record, one per column */
  uint64_t record;       /* number of the current record */
  uint64_t *seen;        /* for each name: the last record that had it */
  uint32_t *next;        /* for each name (and for the start, [0]): the name that followed it in the last record */
  uint32_t *lists;       /* VW, for each name: bytes that its list in the current record may have where it is */
  uint32_t *touched;     /* slots that the current record has cells of */
  size_t touched_count;
  /* delimited: the marks of a window */
  uint64_t windows; /* number of the current window */
  const char *window, *window_end;
  bool careful; /* its records are read on the slow path */
  bool recode;  /* its cells may not be UTF-8 */
  fw_cell_marks marks;
  void *mark_lists;
  size_t mark_capacity;
  size_t line;                      /* the line of the marks that is the next record */
  uint32_t first[FW_TABLE_RECORDS]; /* first marks of the records in the batch */
};

/* Reserves at least `size` bytes for text at scratch->text; the caller uses them up by moving scratch->text. */
furrow_status fw_table_reserve(struct fw_table_scratch *scratch, size_t size, furrow_error *err) FURROW_MUST_USE;

/* Reads a cell that is not UTF-8 as Windows-1252, so that its text does not depend on the encoding of the file. */
furrow_status fw_table_recode(const fw_table_cursor *cursor, struct fw_table_scratch *scratch, fw_table_cell *cell,
                              furrow_error *err) FURROW_MUST_USE;

/* Handles a bad record at `line` with the bad bytes [at, end): counts it (FURROW_OK) or fails with E_PARSE. */
furrow_status fw_table_bad_record(const fw_table_cursor *cursor, const char *line, const char *at, const char *end,
                                  const char *message, const char *hint, furrow_error *err) FURROW_MUST_USE;

static inline bool fw_table_name_is(const fw_table_name *known, const char *prefix, size_t prefix_length,
                                    const char *name, size_t length) {
  if (!prefix) return known->length == length && memcmp(known->text, name, length) == 0;
  return known->length == prefix_length + 1 + length && memcmp(known->text, prefix, prefix_length) == 0 &&
         known->text[prefix_length] == '.' && memcmp(known->text + prefix_length + 1, name, length) == 0;
}

/* Begins record number `batch->records`; of JSON and VW, all of its cells are missing. */
void fw_table_begin_record(const fw_table_cursor *cursor, fw_table_batch *batch, const char *line);
/* Returns the cell of that record in a filled slot. */
static inline fw_table_cell *fw_table_cell_at(const fw_table_batch *batch, size_t slot) {
  return &batch->cells[batch->positions[slot] * batch->capacity + batch->records];
}
/* Fills a slot that is not filled, and its twins, with missing cells. */
furrow_status fw_table_fill_slot(const fw_table *table, fw_table_batch *batch, size_t slot,
                                 furrow_error *err) FURROW_MUST_USE;
/* Returns the cell of that record, after filling the slot. Call it once per record and slot; `cell` is valid until the
 * next call. */
static inline furrow_status fw_table_fill_cell(const fw_table *table, fw_table_batch *batch, size_t slot,
                                               fw_table_cell **cell, furrow_error *err) {
  if (batch->positions[slot] == 0) {
    const furrow_status status = fw_table_fill_slot(table, batch, slot, err);
    if (status != FURROW_OK) return status;
  }
  batch->scratch->touched[batch->scratch->touched_count++] = (uint32_t)slot;
  *cell = fw_table_cell_at(batch, slot);
  return FURROW_OK;
}

/* The size of the byte order mark at the start of a file's text, or 0. */
static inline size_t fw_table_mark_bytes(const char *text, size_t size) {
  return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* For each kind: reads records until the batch is full or the text has ended. */
furrow_status fw_table_next_delimited(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                      furrow_error *err) FURROW_MUST_USE;
furrow_status fw_table_next_columns(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                    furrow_error *err) FURROW_MUST_USE;
/* Lists the columns that slots have, of a table of typed columns. */
furrow_status fw_table_want_columns(fw_table *table, furrow_error *err) FURROW_MUST_USE;
/* Reads one line: *taken says that it is a record. */
furrow_status fw_table_json_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                 const char *line, const char *end, bool *taken, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_table_vw_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                               const char *line, const char *end, bool *taken, furrow_error *err) FURROW_MUST_USE;
/* Whether a line has the form of VW's text and is unlikely to be a record with | between its cells. */
bool fw_table_looks_like_vw(const char *line, const char *end);

#endif
