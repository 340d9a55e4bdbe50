/* rows/text/token_batch.h: rows whose tokens are known but not read yet.
 *
 * The fast parsers walk over the marks of a window and note where the numbers are; a batch of rows is then read at once
 * by the kernels, straight into the columns. If one of its tokens is not a number after all, the rows before it stand,
 * its own row goes the careful way, and the walk goes on behind it. */
#ifndef FW_ROWS_TEXT_TOKEN_BATCH_H
#define FW_ROWS_TEXT_TOKEN_BATCH_H

#include "rows/text/chunk.h"

/* ---- The walk ------------------------------------------------------------------------------------------- */

/* `mark` is the number of the mark that ends what is at `at`. */
typedef struct fw_mark_cursor {
  const char *text;
  const uint32_t *marks;
  uint32_t mark, at;
  bool comments; /* the window has a # somewhere */
} fw_mark_cursor;

/* Place and character of the mark that ends what is here. */
static inline uint32_t fw_mark_cursor_end(const fw_mark_cursor *cursor) {
  return cursor->marks[cursor->mark];
}
static inline char fw_mark_cursor_end_char(const fw_mark_cursor *cursor) {
  return cursor->text[cursor->marks[cursor->mark]];
}
/* Moves behind that mark. */
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
  bool fields, indices;           /* whether window->fields, ->indices are used; csv has its indices already */
  bool values;                    /* whether the features have values of their own; else 1 is stored */
  size_t rows, features;          /* in the container when the batch began */
  size_t first_weight, first_qid; /* first row of the container that brought one, SIZE_MAX: none */
  size_t most_rows; /* of a batch, 0: any. Few while odd rows turn up: all rows behind one are walked over again */
} fw_token_batch;

/* The number of features that were added to the container since then: the tokens of feature i are element i of the
 * window's lists. */
static inline size_t fw_token_batch_features(const fw_token_batch *batch) {
  return batch->chunk->out->features - batch->features;
}

typedef enum fw_row_outcome {
  FW_ROW_ADDED,        /* it is in the batch, and the walk stands at its line end */
  FW_ROW_IRREGULAR,    /* it wants care; the container is as before */
  FW_ROW_OTHER_COLUMNS /* it cannot be in one batch with those before it; the container is as before */
} fw_row_outcome;

/* Walks over the row at the walk's place and adds it to the batch. */
typedef fw_row_outcome fw_row_scanner(fw_mark_cursor *cursor, fw_token_batch *batch);

/* Adds all rows of a window at once, if every one of them is made as the format's rows mostly are. False: they are not,
 * and the container is as before. */
typedef bool fw_window_parser(fw_token_batch *batch);

/* Adds the row of `features` features whose label starts at text[line] and whose first mark is `mark`: everything but
 * its tokens. */
void fw_token_batch_add_row(fw_token_batch *batch, uint32_t line, uint32_t mark, size_t features);

/* Reads the tokens in window->labels, one for each row of the batch. False: one of them is not a number. */
bool fw_token_batch_read_labels(const fw_token_batch *batch);

/* Reads the whole chunk: window by window by take_window; the rows of those that it does not take one by one by
 * scan_row; and the lines that this does not take the careful way. Marks are the bytes <= upto and `extra`. */
furrow_status fw_token_batch_parse_chunk(fw_token_batch *batch, unsigned char upto, char extra,
                                         fw_window_parser *take_window, fw_row_scanner *scan_row,
                                         furrow_error *err) FURROW_MUST_USE;

/* A label or value from text, as element i of a column. False: the text is not one, all of it. */
bool fw_store_number(furrow_value_type type, const char *begin, const char *end, void *column, size_t i);

#endif
