/* rows/text/chunk.c: splits a chunk into windows, and parses single lines on the slow path. */
#include "rows/text/chunk.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/text/tokenizer.h"
#include "rows/text/format.h"
#include "rows/text/rowbuilder.h"

/* The amount of text whose marks are found at a time. The text and its lists stay in the first levels of the cache. */
#define WINDOW (16 << 10)
/* A longer line is parsed on the slow path: the lists of its marks would take many times its bytes. */
#define LONGEST_MARKED (1 << 20)

void fw_chunk_clear(fw_chunk *chunk) {
  fw_text_clear(&chunk->text);
  furrow_container_free(chunk->out);
  fw_free(chunk->scratch);
  fw_free(chunk->events);
  memset(chunk, 0, sizeof *chunk);
}

static const char *line_end(const char *p, const char *end) {
  while (p < end && !fw_is_line_end(*p)) p++;
  return p;
}

/* Returns the end of the window that starts at p: after the last line end within WINDOW bytes, or else after the
 * next one. */
static const char *window_end(const char *p, const char *end) {
  if ((size_t)(end - p) <= WINDOW) return end;
  const char *last = memrchr(p, '\n', WINDOW);
  if (!last) last = memrchr(p, '\r', WINDOW);
  return (last ? last : line_end(p + WINDOW, end)) + 1;
}

/* Divides the scratch memory into the lists of a window. */
static furrow_status make_lists(fw_chunk *chunk, fw_window *window, furrow_error *err) {
  enum { BIT_LISTS = 3, LISTS = 9 };
  const size_t words = fw_bit_words(window->length + FW_KERN_PAD) + 1;
  const size_t each = window->length + 2 * FW_KERN_PAD;
  FW_TRY(FW_GROW(&chunk->scratch, &chunk->scratch_capacity, BIT_LISTS * words + LISTS * (each / 2 + 1), err));
  uint64_t *bits = chunk->scratch;
  uint32_t *next = (uint32_t *)(bits + BIT_LISTS * words);
  window->marks.extras = bits;
  window->marks.ends = bits + words;
  window->bits = bits + 2 * words;
  window->marks.offsets = next + FW_KERN_PAD;
  window->fields = next + each;
  window->indices = next + 2 * each;
  window->values = next + 3 * each;
  window->refused = next + 4 * each;
  window->row_line = next + 5 * each;
  window->row_mark = next + 6 * each;
  window->labels = next + 7 * each;
  window->marks.chars = (char *)(next + 8 * each);
  window->marked = true;
  return FURROW_OK;
}

/* Reserves space for everything that the window may contain. If the container has to grow, also reserves space for
 * the rest of the text, assuming that it is like the text so far: growing in small steps costs more than the columns
 * are worth, most of all with many threads. */
static furrow_status reserve_window(fw_chunk *chunk, const fw_window *window, furrow_error *err) {
  furrow_container *out = chunk->out;
  const size_t most = window->marks.count;
  const size_t done = (size_t)(window->lines - chunk->text.lines) - chunk->head;
  const size_t left = chunk->text.length - chunk->head - done;
  size_t rows = out->rows + most, features = out->features + most;
  if (done > 0 && (rows > out->row_capacity || features > out->feature_capacity)) {
    const double more = 1.1 * (double)left / (double)done;
    rows += (size_t)((double)out->rows * more);
    features += (size_t)((double)out->features * more);
  }
  return fw_container_reserve(out, rows, features, chunk->format->columns, err);
}

furrow_status fw_chunk_window(fw_chunk *chunk, unsigned char upto, char extra, fw_window *window, furrow_error *err) {
  const char *end = chunk->text.lines + chunk->text.length;
  const char *begin = window->lines ? window->lines + window->length : chunk->text.lines + chunk->head;
  if (begin == end) return FURROW_END;
  *window = (fw_window){.lines = begin, .length = (size_t)(window_end(begin, end) - begin)};
  if (window->length > LONGEST_MARKED) return FURROW_OK;
  FW_TRY(make_lists(chunk, window, err));
  fw_tokenizer_table()->find_marks(begin, window->length, upto, extra, &window->marks);
  return reserve_window(chunk, window, err);
}

void fw_chunk_note_bad(fw_chunk_stats *stats, const furrow_error *error) {
  if (stats->bad_rows++ == 0) stats->first_bad = *error;
}

furrow_status fw_chunk_line(fw_chunk *chunk, const char *line, const char **next, furrow_error *err) {
  const char *end = chunk->text.lines + chunk->text.length;
  const char *stop = line_end(line, end);
  *next = stop + 1 + (stop[0] == '\r' && stop + 1 < end && stop[1] == '\n');
  const char *begin = line;
  if (stop - begin >= 3 && memcmp(begin, "\xef\xbb\xbf", 3) == 0) begin += 3; /* a UTF-8 byte order mark */
  if (begin == stop) return FURROW_OK;
  furrow_rowbuilder row = {.out = chunk->out,
                           .stats = &chunk->stats,
                           .line = line,
                           .line_offset = chunk->text.offset + (uint64_t)(line - chunk->text.lines)};
  furrow_error error = {.status = FURROW_OK};
  const uint64_t ignored = chunk->stats.ignored;
  const bool has_field = chunk->out->has_field;
  furrow_status status = chunk->format->public.parse_line(chunk->state, begin, (size_t)(stop - begin), &row, &error);
  if (status == FURROW_OK && row.touched) status = fw_rowbuilder_commit(&row, &error);
  if (status == FURROW_OK) return FURROW_OK;
  status = fw_failed_status(status);
  if (!error.message[0])
    snprintf(error.message, sizeof error.message, "format %.64s cannot read the line", chunk->format->public.name);
  if (error.column > 0 && begin > line) error.column += (uint64_t)(begin - line);
  error.status = status;
  error.offset = row.line_offset;
  chunk->stats.ignored = ignored; /* the contents of the bad row are not counted twice */
  chunk->out->has_field = has_field;
  if (chunk->on_bad == FURROW_ON_BAD_SKIP && (status == FURROW_E_PARSE || status == FURROW_E_RANGE)) {
    fw_chunk_note_bad(&chunk->stats, &error);
    return FURROW_OK;
  }
  if (err) *err = error;
  return status;
}

static furrow_status parse_lines(fw_chunk *chunk, furrow_error *err) {
  const char *line = chunk->text.lines + chunk->head;
  const char *end = chunk->text.lines + chunk->text.length;
  while (line < end) {
    FW_TRY(fw_chunk_line(chunk, line, &line, err));
  }
  return FURROW_OK;
}

/* ---- Chunks of registered formats ----------------------------------------------------------------------- */

furrow_status furrow_rows_chunk_refuse(furrow_rows_chunk *chunk, size_t at, const char *message, furrow_error *err) {
  fw_chunk *own = chunk->internal;
  furrow_error error;
  (void)fw_fail(&error, FURROW_E_PARSE, "%s", message);
  error.offset = at;
  if (own->on_bad == FURROW_ON_BAD_SKIP) {
    error.offset += chunk->offset;
    fw_chunk_note_bad(&own->stats, &error);
    return FURROW_OK;
  }
  if (err) *err = error;
  return FURROW_E_PARSE;
}

static furrow_status parse_records(fw_chunk *chunk, furrow_error *err) {
  const fw_text *text = &chunk->text;
  furrow_rows_chunk given = {.bytes = text->lines + chunk->head,
                             .length = text->length - chunk->head,
                             .offset = text->offset + chunk->head,
                             .file = chunk->file,
                             .last = text->file_end,
                             .internal = chunk};
  const size_t cut = chunk->record_size ? given.length % chunk->record_size : 0;
  given.length -= cut;
  if (given.length > 0) {
    furrow_error error;
    (void)fw_fail(&error, FURROW_E_PARSE, "format %s cannot read the record", chunk->format->public.name);
    furrow_status status = chunk->format->public.parse_chunk(chunk->state, &given, chunk->out, &error);
    if (status != FURROW_OK) {
      status = fw_failed_status(status);
      error.status = status;
      if (error.offset != FURROW_NO_OFFSET) error.offset += given.offset;
      if (err) *err = error;
      return status;
    }
  }
  if (!cut) return FURROW_OK;
  const furrow_status status =
      fw_fail(err, FURROW_E_FORMAT, "the file ends within a record of %zu bytes", chunk->record_size);
  if (err) err->offset = given.offset + given.length;
  return status;
}

furrow_status fw_chunk_parse(fw_chunk *chunk, furrow_error *err) {
  const fw_format *format = chunk->format;
  const size_t rest = chunk->rest;
  chunk->rest = 0;
  furrow_container_clear(chunk->out);
  chunk->stats.bad_rows = chunk->stats.ignored = chunk->stats.missing = 0;
  const uint64_t before_rows = chunk->rows_begin > chunk->text.offset ? chunk->rows_begin - chunk->text.offset : 0;
  chunk->head = before_rows < chunk->text.length ? (size_t)before_rows : chunk->text.length;
  if (rest > 0) chunk->head = rest;
  chunk->irregular = false;
  furrow_status status = fw_container_reserve(chunk->out, 1, 1, format->columns, err);
  if (status == FURROW_OK && format->skip_head && rest == 0 && chunk->text.offset == 0 && chunk->text.length > 0)
    status = format->skip_head(chunk->state, chunk->text.lines, chunk->text.length, &chunk->head, err);
  if (status != FURROW_OK) return status;
  if (format->public.parse_chunk) return parse_records(chunk, err);
  return format->parse_chunk ? format->parse_chunk(chunk->state, chunk, err) : parse_lines(chunk, err);
}
