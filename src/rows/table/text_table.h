/* rows/table/text_table.h: tables as batches of cells: delimited text (csv, tsv), JSON lines, Vowpal Wabbit's text,
 * typed columns (Parquet, SQL, Arrow).
 *
 * A layout says how text is split into cells and what the columns are called; it is detected from the first bytes of
 * a data set. A table is a layout and the wanted columns, in the order of the caller's slots. A cursor walks over a
 * piece of text (io/split.h) and returns batches of records. Cells borrow the text; cells that had quotes or escapes
 * borrow memory of the batch. */
#ifndef FW_ROWS_TABLE_TEXT_TABLE_H
#define FW_ROWS_TABLE_TEXT_TABLE_H

#include "base/buffer.h"
#include "furrow/comm.h"
#include "io/uri.h"
#include "rows/table/name_map.h"
#include "rows/text/chunk.h"

/* ---- Layout --------------------------------------------------------------------------------------------- */

typedef enum fw_table_kind { FW_TABLE_DELIMITED, FW_TABLE_JSON, FW_TABLE_VW, FW_TABLE_COLUMNS } fw_table_kind;

/* Hints from the caller about the text; all zeros: everything is detected. */
typedef struct fw_table_hints {
  const char *kind;      /* "csv", "tsv", "json", "vw"; NULL or "auto" */
  const char *delimiter; /* one character, or "\\t"; NULL or "auto" */
  const char *header;    /* "yes", "no"; NULL or "auto" */
  const char
      *newlines;      /* "yes": quoted cells may contain line ends; "no"; NULL or "auto": yes if the head has a quote */
  const char *quotes; /* "no": a quote is an ordinary character; NULL or "yes" */
} fw_table_hints;

typedef struct fw_table_layout {
  fw_table_kind kind;
  char delimiter;
  bool quotes;    /* delimited: a quote at its start encloses a cell */
  bool header;    /* delimited: the first line of each file has the names */
  bool multiline; /* delimited: quoted cells may contain line ends, so files are split at ends of records, in order */
  bool texts;     /* delimited with a header: most of the first cells of a column are neither numbers nor missing */
  char **names; /* names of all columns; without a header: "0", "1" … JSON: as found in the head, nested ones are "a.b".
                   VW: "label", "weight", "tag", then the namespaces (the nameless one is "features") */
  size_t columns;
  fw_name_map numbers; /* numbers of the names */
} fw_table_layout;

/* Whether the names are all columns that a record can have. */
static inline bool fw_table_is_complete(const fw_table_layout *layout) {
  return layout->kind == FW_TABLE_DELIMITED || layout->kind == FW_TABLE_COLUMNS;
}

/* Detects the layout of a data set that begins with `head` (whole: `head` is all of it). E_FORMAT: it is not a
 * table. */
furrow_status fw_table_layout_find(fw_table_layout *layout, const fw_table_hints *hints, const char *head, size_t size,
                                   bool whole, furrow_error *err) FURROW_MUST_USE;
void fw_table_layout_clear(fw_table_layout *layout);
furrow_status fw_table_layout_copy(fw_table_layout *copy, const fw_table_layout *layout,
                                   furrow_error *err) FURROW_MUST_USE;
/* Sets how delimited text of this layout is split into pieces of whole records (fw_split_set_records); false: into
 * lines. The layout must outlive the split. */
bool fw_table_layout_records(const fw_table_layout *layout, fw_records *records);
/* Returns the column of that name or, if no column of delimited text has it, with that number; SIZE_MAX if there is
 * none. */
size_t fw_table_layout_column(const fw_table_layout *layout, const char *name);
/* Returns the number of bytes at the start of a file that are not records (a byte order mark, a header). E_FORMAT:
 * its header has other columns than the layout; the message names the first that differs. */
furrow_status fw_table_layout_skip_head(const fw_table_layout *layout, const char *text, size_t size, size_t *skip,
                                        furrow_error *err) FURROW_MUST_USE;

/* ---- Cells ---------------------------------------------------------------------------------------------- */

typedef enum fw_table_cell_kind {
  FW_TABLE_TEXT,    /* not empty */
  FW_TABLE_MISSING, /* empty, null, or the record does not have the column; length is 0 */
  FW_TABLE_LIST     /* a JSON array of scalars, a VW namespace: elements separated by FW_TABLE_LIST_SEPARATOR */
} fw_table_cell_kind;

#define FW_TABLE_LIST_SEPARATOR '\x1f'

typedef struct fw_table_cell {
  const char *text; /* FW_KERN_PAD bytes before and after it are readable */
  uint32_t length;
  uint16_t kind;  /* fw_table_cell_kind */
  uint16_t plain; /* 1: a number of JSON, which is written as programs do, whatever the schema says */
} fw_table_cell;

#define FW_TABLE_RECORDS 512 /* the most records of a batch; a table with many slots has fewer */

/* Columns that no record of the batch has take no memory and no time: `filled` lists the other slots, in any order. */
typedef struct fw_table_batch {
  size_t records, capacity;
  uint32_t *filled;
  size_t filled_count;
  fw_table_cell *cells; /* columns of `capacity` cells each; all cells of the first column are missing */
  size_t columns, cell_capacity;
  uint32_t *positions;              /* for each slot: its column in `cells`; 0: no record has it */
  uint64_t *begins;                 /* offset of each record in the file's text */
  struct fw_table_scratch *scratch; /* owned by the reader, like the text of unquoted cells */
} fw_table_batch;

/* Returns the cells of a slot, one for each record. */
static inline const fw_table_cell *fw_table_cells(const fw_table_batch *batch, size_t slot) {
  return batch->cells + batch->positions[slot] * batch->capacity;
}

/* ---- Table ---------------------------------------------------------------------------------------------- */

/* Immutable: any number of threads may use it. */
typedef struct fw_table fw_table;

/* Slot i gets the column names[i]; absent[i] (may be NULL) is set if a layout that is complete has no such
 * column: its cells are then missing. The layout is copied. */
furrow_status fw_table_create(fw_table **table, const fw_table_layout *layout, const char *const *names, size_t slots,
                              bool *absent, furrow_error *err) FURROW_MUST_USE;
void fw_table_free(fw_table *table);
const fw_table_layout *fw_table_get_layout(const fw_table *table);
/* Sets how a data set is split into pieces of whole records, and which of its columns are wanted; *given false: into
 * lines. The table must outlive the split. */
void fw_table_records(const fw_table *table, fw_records *records, bool *given);
/* Returns the number (from 1) of the record of typed columns that begins at text[at]; 0 if there is none. */
uint64_t fw_table_columns_row(const char *text, size_t length, size_t at);
/* The capacity of its batches. */
size_t fw_table_batch_records(const fw_table *table);

/* A walk over one piece of whole records, with one batch; `at` starts after the head of a file. Members that are not
 * given are zeros. */
typedef struct fw_table_cursor {
  const char *text; /* FW_KERN_PAD bytes before and after it are readable */
  size_t length, at;
  uint64_t offset; /* offset of text[0] in the file's text */
  furrow_on_bad on_bad;
  fw_chunk_stats *stats; /* bad records are counted here */
  uint64_t window;       /* private to the reader */
  /* JSON and VW: called for a column that no slot has, once for each record that has it (even if the record turns
   * out to be bad); may be NULL. */
  furrow_status (*other_column)(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err);
  void *user;
} fw_table_cursor;

furrow_status fw_table_batch_init(fw_table_batch *batch, const fw_table *table, furrow_error *err) FURROW_MUST_USE;
void fw_table_batch_clear(fw_table_batch *batch);

/* Returns the next records, valid until the next call: FURROW_OK, FURROW_END, or an error with the offset of its
 * record and the column; the records before it are returned first. Bad records: the number of cells differs from the
 * layout's columns, a quote is not closed, malformed JSON or VW text (docs/formats/tables.md). */
furrow_status fw_table_next(const fw_table *table, fw_table_cursor *cursor, fw_table_batch *batch,
                            furrow_error *err) FURROW_MUST_USE;
/* Handles a bad cell of a record: counts the record (FURROW_OK), or fails with E_PARSE: "column NAME: message
 * (cell)", with the record's offset and the cell's position in its line. */
furrow_status fw_table_refuse(const fw_table *table, const fw_table_cursor *cursor, const fw_table_batch *batch,
                              size_t slot, size_t record, const char *message, furrow_error *err) FURROW_MUST_USE;

/* ---- Sources -------------------------------------------------------------------------------------------- */

/* A data set of tables. */
typedef struct fw_table_source fw_table_source;

/* Opens path[;path]…[?kind=…&delimiter=…&header=…&newlines=…&quotes=…]; other arguments of the URI are left to the
 * caller. */
furrow_status fw_table_source_open(fw_table_source **source, const char *uri, furrow_error *err) FURROW_MUST_USE;
void fw_table_source_close(fw_table_source *source);
const fw_table_layout *fw_table_source_layout(const fw_table_source *source);
/* Returns the bytes before the first record of the first file that has any. */
furrow_status fw_table_source_head(const fw_table_source *source, fw_buffer *head, furrow_error *err) FURROW_MUST_USE;
/* Whether a URI can be examined as a table before its caller reads it: it has no pipe, and no arguments of a format of
 * rows. */
furrow_status fw_table_can_look(const char *uri, bool *can, furrow_error *err) FURROW_MUST_USE;
/* Whether it can be scanned again: it has no pipe. */
bool fw_table_source_repeats(const fw_table_source *source);

typedef struct fw_table_scan_params {
  uint32_t threads; /* 0: one per processor */
  furrow_on_bad on_bad;
  size_t piece_bytes;    /* 0: the parser's default. Pieces do not depend on the number of threads */
  size_t max_line;       /* most bytes of a record; 0: FW_MAX_LINE_BYTES */
  uint32_t part, nparts; /* part k of n of the data, as in furrow_parser_params; nparts 0: all */
  bool whole_pieces;     /* parts consist of pieces of the whole, with their numbers; the first part may be the whole */
  /* As in fw_table_cursor; `user` is the thread's. May be NULL. */
  furrow_status (*other_column)(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err);
  furrow_progress progress;
  void *progress_user;
} fw_table_scan_params;

/* Takes the batches of a piece, in order; `piece` counts from 0 in the order of the data. Batches of different
 * pieces come from different threads at the same time; `user` is the thread's. */
typedef furrow_status fw_table_take(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                    const fw_table_batch *batch, furrow_error *err);

/* Scans the whole source. users: one per thread, `threads` of them (fw_table_scan_threads). Errors have their file
 * and line. */
uint32_t fw_table_scan_threads(const fw_table_scan_params *params);
furrow_status fw_table_scan(fw_table_source *source, const fw_table *table, const fw_table_scan_params *params,
                            void *const *users, fw_table_take *take, furrow_parser_stats *stats,
                            furrow_error *err) FURROW_MUST_USE;

/* Combines the statistics of all ranks, on all ranks; all of them call it. The first bad row is the one of the first
 * rank that has any. */
furrow_status fw_rank_stats_join(const furrow_comm *comm, furrow_parser_stats *stats,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
