/* rows/text/chunk.h: a piece of text on its way to becoming a block. */
#ifndef FW_ROWS_TEXT_CHUNK_H
#define FW_ROWS_TEXT_CHUNK_H

#include "io/split.h"
#include "kern/text/tokenizer.h"
#include "rows/block/container.h"

struct fw_format;

#define FW_MAX_LINE_BYTES ((size_t)128 << 20) /* of furrow_parser_params: a small file can hold a very long line */

/* What parsing one chunk gave beside its rows. */
typedef struct fw_chunk_stats {
  uint64_t bad_rows, ignored;
  furrow_error first_bad, first_ignored; /* offset (of the line) and column are set, file and line not yet */
} fw_chunk_stats;

/* Counts a bad row. */
void fw_chunk_note_bad(fw_chunk_stats *stats, const furrow_error *error);

/* What a history needs of a row of a log: features of its user and item (UINT64_MAX: none), and when it was. */
typedef struct fw_event {
  uint64_t user, item;
  double time;
} fw_event;

typedef struct fw_chunk {
  const struct fw_format *format;
  const void *state; /* of the format */
  furrow_on_bad on_bad;
  fw_text text;
  const char *file;    /* its path */
  uint64_t rows_begin; /* place in the file before which there are no rows, if the text starts behind its first byte */
  size_t head;         /* bytes at the start of the text that are not rows */
  furrow_container *out;
  fw_chunk_stats stats;
  uint64_t *scratch;  /* lists of the window */
  size_t record_size; /* of a format of records; 0: they differ */
  bool irregular;     /* this text is not as regular as the fastest way wants it */
  size_t scratch_capacity;
  fw_event *events; /* of the rows, for formats with a history */
  size_t event_capacity;
} fw_chunk;

/* Parses chunk->text into chunk->out, which it clears first. An error has the offset of its line and the column set. */
furrow_status fw_chunk_parse(fw_chunk *chunk, furrow_error *err) FURROW_MUST_USE;
/* Frees everything. */
void fw_chunk_clear(fw_chunk *chunk);

/* ---- For parse_chunk ------------------------------------------------------------------------------------ */

/* Some whole lines of the chunk and their marks. The last byte is a LF or CR, which is a mark always, so a reader that
 * stops at line ends never runs out of them. The lists have room for as many elements as there are marks. */
typedef struct fw_window {
  const char *lines;
  size_t length;
  bool marked; /* else it is a line too long for this: read it with fw_chunk_line */
  fw_marks marks;
  uint64_t *bits;                      /* for a choice among the marks */
  fw_token *fields, *indices, *values; /* tokens of the features of a batch */
  fw_token *labels;                    /* tokens of its rows */
  uint32_t *refused;
  uint32_t *row_line, *row_mark; /* where a row's line starts, and its first mark */
} fw_window;

/* Moves to the next window (the first, if window->lines is NULL): FURROW_OK, FURROW_END or an error. Marks are the
 * bytes <= upto and `extra`. chunk->out has room for as many more rows and features as the window has marks. */
furrow_status fw_chunk_window(fw_chunk *chunk, unsigned char upto, char extra, fw_window *window,
                              furrow_error *err) FURROW_MUST_USE;

/* Reads the line that starts at `line` with the format's parse_line; *next is where the next line starts. A bad row is
 * an error or is counted, as the chunk was told. */
furrow_status fw_chunk_line(fw_chunk *chunk, const char *line, const char **next, furrow_error *err) FURROW_MUST_USE;

#endif
