/* rows/text/chunk.h: a piece of text that is parsed into a block. */
#ifndef FW_ROWS_TEXT_CHUNK_H
#define FW_ROWS_TEXT_CHUNK_H

#include "io/split.h"
#include "kern/text/tokenizer.h"
#include "rows/block/container.h"

struct fw_format;

#define FW_MAX_LINE_BYTES \
  ((size_t)128 << 20) /* default of furrow_parser_params: a small file can contain a very long line */

/* Statistics of parsing one chunk. */
typedef struct fw_chunk_stats {
  uint64_t bad_rows, ignored;
  uint64_t recoded;                      /* cells that are not UTF-8 and were read as Windows-1252 */
  uint64_t missing;                      /* features of the rows that stand for a missing cell */
  furrow_error first_bad, first_ignored; /* offset (of the line) and column are set; file and line are not yet */
} fw_chunk_stats;

/* Counts a bad row. */
void fw_chunk_note_bad(fw_chunk_stats *stats, const furrow_error *error);

/* The part of a log's row that a history needs: the features of its user and item (UINT64_MAX: none), and its time. */
typedef struct fw_event {
  uint64_t user, item;
  double time;
} fw_event;

typedef struct fw_chunk {
  const struct fw_format *format;
  const void *state; /* state of the format */
  furrow_on_bad on_bad;
  fw_text text;
  const char *file;    /* path of the file */
  uint64_t rows_begin; /* offset in the file of the first row, if the text does not start with the file's first byte */
  size_t head;         /* bytes at the start of the text that are not rows */
  size_t rest;         /* begin of the rows that parse_chunk left for another block; 0: none */
  furrow_container *out;
  fw_chunk_stats stats;
  uint64_t *scratch;  /* memory of the window's lists */
  size_t record_size; /* size of a record; 0: sizes vary */
  bool irregular;     /* this text is not regular enough for the fastest path */
  size_t scratch_capacity;
  fw_event *events; /* events of the rows, for formats with a history */
  size_t event_capacity;
} fw_chunk;

/* Parses chunk->text, or the rest of it, into chunk->out, which it clears first. An error has the offset of its line
 * and the column. */
furrow_status fw_chunk_parse(fw_chunk *chunk, furrow_error *err) FURROW_MUST_USE;
/* Frees everything. */
void fw_chunk_clear(fw_chunk *chunk);

/* ---- For parse_chunk ------------------------------------------------------------------------------------ */

/* Some whole lines of the chunk and their marks. The last byte is a LF or CR, which is always a mark, so a reader
 * that stops at line ends never runs past the marks. Each list has space for as many elements as there are marks. */
typedef struct fw_window {
  const char *lines;
  size_t length;
  bool marked; /* false: the window is one line that is too long; parse it with fw_chunk_line */
  fw_marks marks;
  uint64_t *bits;                      /* for selecting some of the marks */
  fw_token *fields, *indices, *values; /* tokens of the features of a batch */
  fw_token *labels;                    /* tokens of its labels */
  uint32_t *refused;
  uint32_t *row_line, *row_mark; /* where the line of a row starts, and its first mark */
} fw_window;

/* Moves to the next window (the first, if window->lines is NULL): FURROW_OK, FURROW_END or an error. Marks are the
 * bytes <= upto and `extra`. chunk->out has capacity for as many more rows and features as the window has marks. */
furrow_status fw_chunk_window(fw_chunk *chunk, unsigned char upto, char extra, fw_window *window,
                              furrow_error *err) FURROW_MUST_USE;

/* Parses the line that starts at `line` with the format's parse_line; *next is the start of the next line. A bad row
 * is an error or is counted, depending on the chunk's settings. */
furrow_status fw_chunk_line(fw_chunk *chunk, const char *line, const char **next, furrow_error *err) FURROW_MUST_USE;

#endif
