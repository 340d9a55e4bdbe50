/* rows/text/token_batch.h: rows whose tokens are known but not read yet.
 *
 * The fast parsers walk over the marks of a window and note where the numbers are; kernels then read a batch of rows
 * at once, directly into the columns. If one of the tokens is not a number after all, the rows before it are kept,
 * its own row is parsed on the slow path, and the walk continues after it. */
#ifndef FW_ROWS_TEXT_TOKEN_BATCH_H
#define FW_ROWS_TEXT_TOKEN_BATCH_H

#include "rows/text/chunk.h"

/* ---- The walk ------------------------------------------------------------------------------------------- */

/* `mark` is the number of the mark that ends the token at `at`. */
typedef struct fw_mark_cursor {
  const char *text;
  const uint32_t *marks;
  uint32_t mark, at;
  bool comments; /* the window contains a # */
} fw_mark_cursor;

/* Position and character of the mark that ends the current token. */
static inline uint32_t fw_mark_cursor_end(const fw_mark_cursor *cursor) {
  return cursor->marks[cursor->mark];
}
static inline char fw_mark_cursor_end_char(const fw_mark_cursor *cursor) {
  return cursor->text[cursor->marks[cursor->mark]];
}
/* Moves past that mark. */
static inline void fw_mark_cursor_next(fw_mark_cursor *cursor) {
  cursor->at = cursor->marks[cursor->mark++] + 1;
}
static inline fw_token fw_mark_cursor_token(const fw_mark_cursor *cursor) {
  return fw_token_make(fw_mark_cursor_end(cursor), fw_mark_cursor_end(cursor) - cursor->at);
}

/* ---- The batch ------------------------------------------------------------------------------------------ */

typedef struct fw_token_batch {
  fw_chunk *chunk;
  fw_window *window;
  uint32_t base;                  /* subtracted from indices and fields */
  bool unlabelled;                /* libsvm and the like: rows begin with a feature */
  bool fields, indices;           /* whether window->fields, ->indices are used; csv fills in its indices directly */
  bool values;                    /* whether the features have values of their own; else 1 is stored */
  size_t rows, features;          /* counts in the container when the batch began */
  size_t first_weight, first_qid; /* first row of the container that has one; SIZE_MAX: none */
  size_t most_rows; /* limit of rows per batch, 0: none. It is small while irregular rows turn up, because all rows
                       after one are scanned again */
} fw_token_batch;

/* The number of features that were added to the container since the batch began. The tokens of feature i are element i
 * of the window's lists. */
static inline size_t fw_token_batch_features(const fw_token_batch *batch) {
  return batch->chunk->out->features - batch->features;
}

typedef enum fw_row_outcome {
  FW_ROW_ADDED,        /* it is in the batch, and the cursor is at its line end */
  FW_ROW_IRREGULAR,    /* it needs the slow path; the container is unchanged */
  FW_ROW_OTHER_COLUMNS /* it cannot be in one batch with the earlier rows; the container is unchanged */
} fw_row_outcome;

/* Scans the row at the cursor and adds it to the batch. */
typedef fw_row_outcome fw_row_scanner(fw_mark_cursor *cursor, fw_token_batch *batch);

/* Adds all rows of a window at once, if all of them have the usual form of the format. Returns false if not; the
 * container is then unchanged. */
typedef bool fw_window_parser(fw_token_batch *batch);

/* Adds a row of `features` features whose label starts at text[line] and whose first mark is `mark`, without its
 * tokens. */
void fw_token_batch_add_row(fw_token_batch *batch, uint32_t line, uint32_t mark, size_t features);

/* Reads the tokens in window->labels, one for each row of the batch. False: one of them is not a number. */
bool fw_token_batch_read_labels(const fw_token_batch *batch);

/* Parses the whole chunk: window by window with take_window; row by row with scan_row in windows that it rejects;
 * and on the slow path the lines that scan_row rejects. Marks are the bytes <= upto and `extra`. */
furrow_status fw_token_batch_parse_chunk(fw_token_batch *batch, unsigned char upto, char extra,
                                         fw_window_parser *take_window, fw_row_scanner *scan_row,
                                         furrow_error *err) FURROW_MUST_USE;

/* Parses a label or value and stores it as element i of a column. Returns false if the text is not entirely a
 * number. */
bool fw_store_number(furrow_value_type type, const char *begin, const char *end, void *column, size_t i);

#endif
