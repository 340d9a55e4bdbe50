/* rows/table/table_reader.h: what the readers of the kinds of tables share. */
#ifndef FW_ROWS_TABLE_TABLE_READER_H
#define FW_ROWS_TABLE_TABLE_READER_H

#include <string.h>

#include "base/arena.h"
#include "kern/text/tokenizer.h"
#include "rows/table/text_table.h"
#include "rows/text/cells.h"

/* A column of JSON or VW: of a slot, or known from the head. */
typedef struct fw_table_name {
  const char *text;
  size_t length;
  size_t slot; /* SIZE_MAX: no slot has it */
} fw_table_name;

#define FW_TABLE_NO_NAME UINT32_MAX

struct fw_table {
  fw_table_layout layout;
  fw_cell_rules rules;
  size_t slots;
  char **slot_names;
  size_t *columns; /* of a slot; delimited: SIZE_MAX: absent */
  size_t *same_as; /* an earlier slot of the same column, or itself */
  fw_table_name *names;
  size_t nnames;
  uint32_t *buckets; /* numbers of names by hash; FW_TABLE_NO_NAME: none. A power of two of them */
  size_t nbuckets;
};

struct fw_table_scratch {
  fw_arena arena;        /* text of cells that are not as they stand in the data */
  char *text, *text_end; /* the rest of its newest block */
  fw_cell *cells;        /* delimited: of one record, one for each column */
  uint64_t record;       /* counts records */
  uint64_t *seen;        /* of each name: the last record that had it */
  uint32_t *next;        /* of each name (and of the start, [0]): which came next in the last record */
  /* delimited: the marks of a window */
  uint64_t windows; /* how many there were: the number of this one */
  const char *window, *window_end;
  bool careful; /* its records are read the careful way */
  fw_cell_marks marks;
  void *lists;
  size_t capacity;                  /* of the lists */
  size_t line;                      /* the next record is this line of the marks */
  uint32_t first[FW_TABLE_RECORDS]; /* marks of the first cells of the records in the batch */
};

/* At least `size` bytes for text at scratch->text; they are used up by moving it. */
furrow_status fw_table_reserve(struct fw_table_scratch *scratch, size_t size, furrow_error *err) FURROW_MUST_USE;

/* The record at `line` is bad at the bytes [at, end): counts it (FURROW_OK) or is the error E_PARSE. */
furrow_status fw_table_bad_record(const fw_table_cursor *cursor, const char *line, const char *at, const char *end,
                                  const char *message, const char *hint, furrow_error *err) FURROW_MUST_USE;

/* The number of a name, which is `prefix`.`name` (prefix NULL: name alone); FW_TABLE_NO_NAME: it is not known. */
uint32_t fw_table_find_name(const fw_table *table, const char *prefix, size_t prefix_length, const char *name,
                            size_t length);
static inline bool fw_table_name_is(const fw_table_name *known, const char *prefix, size_t prefix_length,
                                    const char *name, size_t length) {
  if (!prefix) return known->length == length && memcmp(known->text, name, length) == 0;
  return known->length == prefix_length + 1 + length && memcmp(known->text, prefix, prefix_length) == 0 &&
         known->text[prefix_length] == '.' && memcmp(known->text + prefix_length + 1, name, length) == 0;
}

/* The record `batch->records`: all of its cells are missing. */
void fw_table_begin_record(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                           const char *line);
static inline fw_table_cell *fw_table_cell_at(const fw_table_batch *batch, size_t slot) {
  return &batch->cells[slot * FW_TABLE_RECORDS + batch->records];
}

/* Bytes of the byte order mark that the text of a file begins with. */
static inline size_t fw_table_mark_bytes(const char *text, size_t size) {
  return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* The kinds: read records until the batch is full or the text has ended. */
furrow_status fw_table_next_delimited(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                                      furrow_error *err) FURROW_MUST_USE;
/* One line: *taken says that it is a record. */
furrow_status fw_table_json_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                 const char *line, const char *end, bool *taken, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_table_vw_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                               const char *line, const char *end, bool *taken, furrow_error *err) FURROW_MUST_USE;
/* Whether a line has the form of VW's text and cannot well be a record of cells between bars. */
bool fw_table_looks_like_vw(const char *line, const char *end);

#endif
