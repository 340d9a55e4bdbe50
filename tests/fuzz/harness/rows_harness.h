/* tests/fuzz/harness/rows_harness.h: one text through both ways of a format.
 *
 * The fast way (fw_format.parse_chunk) and the careful way (line by line, the definition of the format) must give the
 * same rows, the same error and the same counts. Used by the fuzzers and by the unit tests; a difference is told on
 * stderr. */
#ifndef ROWS_HARNESS_H
#define ROWS_HARNESS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rows/registry.h"

/* One way of reading. */
typedef struct rows_setup {
  const char *format;
  const char *args; /* "key=value&key=value", "" for none */
  furrow_key_type key_type;
  furrow_value_type value_type;
  furrow_on_bad on_bad;
  uint32_t base; /* 1: indices count from 1 */
} rows_setup;

/* A format with its state. */
typedef struct rows_reader {
  fw_format format;
  furrow_args *args;
  void *state;
} rows_reader;

/* What a reading gave. chunk.out holds the rows. */
typedef struct rows_result {
  fw_chunk chunk;
  furrow_status status;
  furrow_error error;
} rows_result;

static inline void rows_require(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "rows_harness: %s\n", what);
  abort();
}

static inline void rows_reader_close(rows_reader *reader) {
  if (reader->format.public.close) reader->format.public.close(reader->state);
  fw_args_free(reader->args);
  memset(reader, 0, sizeof *reader);
}

/* Opens the format as a parser does; `text` is what the format sees of the data set beforehand. */
static inline furrow_status rows_reader_open(rows_reader *reader, const rows_setup *setup, const char *text,
                                             size_t length, furrow_error *err) {
  fw_uri uri;
  char uri_text[4096];
  memset(reader, 0, sizeof *reader);
  rows_require(fw_format_find(setup->format, &reader->format, NULL) == FURROW_OK, "there is no such format");
  snprintf(uri_text, sizeof uri_text, "x%s%s", setup->args[0] ? "?" : "", setup->args);
  furrow_status status = fw_uri_parse(&uri, uri_text, err);
  if (status != FURROW_OK) return status;
  status = fw_args_create(&reader->args, &reader->format.public, &uri, err);
  fw_uri_clear(&uri);
  if (status == FURROW_OK && reader->format.public.open)
    status = reader->format.public.open(reader->args, &reader->state, err);
  if (status == FURROW_OK && reader->format.look) status = reader->format.look(reader->state, text, length, true, err);
  if (status == FURROW_OK && reader->format.set_base) reader->format.set_base(reader->state, setup->base);
  if (status != FURROW_OK) rows_reader_close(reader);
  return status;
}

static inline void rows_result_clear(rows_result *result) {
  fw_chunk_clear(&result->chunk);
  memset(result, 0, sizeof *result);
}

/* Parses `length` bytes, which lie at offset `offset` of their file; a line end is added if there is none. What lies
 * around the text is `padding`: it must not matter. */
static inline void rows_parse(rows_result *result, const rows_reader *reader, const fw_format *format,
                              const rows_setup *setup, const char *text, size_t length, uint64_t offset, char padding) {
  fw_chunk *chunk = &result->chunk;
  const bool ended = length == 0 || text[length - 1] == '\n' || text[length - 1] == '\r';
  const size_t whole = length + !ended;
  fw_free(chunk->text.memory ? chunk->text.memory - FW_TEXT_PAD : NULL);
  char *memory = malloc(whole + 2 * FW_TEXT_PAD);
  rows_require(memory != NULL, "out of memory");
  memset(memory, padding, whole + 2 * FW_TEXT_PAD);
  chunk->text.memory = memory + FW_TEXT_PAD;
  chunk->text.lines = chunk->text.memory;
  chunk->text.length = whole;
  chunk->text.line_end_added = !ended;
  chunk->text.offset = offset;
  if (length) memcpy(chunk->text.memory, text, length);
  if (!ended) chunk->text.memory[length] = '\n';
  chunk->format = format;
  chunk->state = reader->state;
  chunk->on_bad = setup->on_bad;
  if (!chunk->out)
    rows_require(furrow_container_create(&chunk->out, setup->key_type, setup->value_type, NULL) == FURROW_OK,
                 "out of memory");
  memset(&result->error, 0, sizeof result->error);
  result->status = fw_chunk_parse(chunk, &result->error);
}

static inline bool rows_differ(const char *what) {
  fprintf(stderr, "rows_harness: fast and careful differ: %s\n", what);
  return false;
}

static inline bool rows_same_error(const furrow_error *a, const furrow_error *b, const char *which) {
  if (a->status == b->status && a->line == b->line && a->column == b->column && a->offset == b->offset &&
      strcmp(a->token, b->token) == 0 && strcmp(a->message, b->message) == 0)
    return true;
  const furrow_error *both[2] = {a, b};
  for (int i = 0; i < 2; i++)
    fprintf(stderr, "  %s: %s column %llu offset %llu token '%s': %s\n", i ? "careful" : "fast",
            furrow_status_name(both[i]->status), (unsigned long long)both[i]->column,
            (unsigned long long)both[i]->offset, both[i]->token, both[i]->message);
  return rows_differ(which);
}

/* n elements of `size` bytes of a column, if it is there; bit for bit. */
static inline bool rows_same_column(const char *name, bool has_a, bool has_b, const void *a, const void *b, size_t n,
                                    size_t size) {
  if (has_a != has_b) {
    fprintf(stderr, "  column %s: fast %d, careful %d\n", name, has_a, has_b);
    return rows_differ("presence of a column");
  }
  if (!has_a || n == 0 || memcmp(a, b, n * size) == 0) return true;
  size_t i = 0;
  while (memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0) i++;
  fprintf(stderr, "  column %s, element %zu of %zu\n", name, i, n);
  return rows_differ("an element");
}

static inline bool rows_same_container(const furrow_container *a, const furrow_container *b) {
  if (a->rows != b->rows || a->features != b->features) {
    fprintf(stderr, "  rows %zu and %zu, features %zu and %zu\n", a->rows, b->rows, a->features, b->features);
    return rows_differ("number of rows or features");
  }
  if (a->rows == 0) return true;
  const size_t index = furrow_key_size(a->key_type);
  const size_t value = furrow_value_size(a->value_type);
  return rows_same_column("offset", true, true, a->offset, b->offset, a->rows + 1, sizeof *a->offset) &&
         rows_same_column("label", a->has_label, b->has_label, a->label, b->label, a->rows, value) &&
         rows_same_column("weight", a->has_weight, b->has_weight, a->weight, b->weight, a->rows, sizeof *a->weight) &&
         rows_same_column("qid", a->has_qid, b->has_qid, a->qid, b->qid, a->rows, sizeof *a->qid) &&
         rows_same_column("index", true, true, a->index, b->index, a->features, index) &&
         rows_same_column("field", a->has_field, b->has_field, a->field, b->field, a->features, index) &&
         rows_same_column("value", a->has_value, b->has_value, a->value, b->value, a->features, value);
}

static inline bool rows_same_stats(const fw_chunk_stats *a, const fw_chunk_stats *b) {
  if (a->bad_rows != b->bad_rows || a->ignored != b->ignored) {
    fprintf(stderr, "  bad rows %llu and %llu, ignored %llu and %llu\n", (unsigned long long)a->bad_rows,
            (unsigned long long)b->bad_rows, (unsigned long long)a->ignored, (unsigned long long)b->ignored);
    return rows_differ("counts");
  }
  if (a->bad_rows && !rows_same_error(&a->first_bad, &b->first_bad, "the first bad row")) return false;
  return !a->ignored || rows_same_error(&a->first_ignored, &b->first_ignored, "the first text ignored");
}

static inline bool rows_same_result(const rows_result *a, const rows_result *b) {
  if (a->status != b->status) {
    fprintf(stderr, "  fast %s (%s), careful %s (%s)\n", furrow_status_name(a->status), a->error.message,
            furrow_status_name(b->status), b->error.message);
    return rows_differ("status");
  }
  if (a->status != FURROW_OK && !rows_same_error(&a->error, &b->error, "the error")) return false;
  return rows_same_container(a->chunk.out, b->chunk.out) && rows_same_stats(&a->chunk.stats, &b->chunk.stats);
}

/* What holds of any outcome. */
static inline void rows_check_result(const rows_result *result) {
  const furrow_container *out = result->chunk.out;
  const fw_chunk_stats *stats = &result->chunk.stats;
  for (size_t i = 0; i < out->rows; i++) rows_require(out->offset[i] <= out->offset[i + 1], "offsets descend");
  rows_require(out->rows == 0 || (out->offset[0] == 0 && out->offset[out->rows] == out->features), "offsets are off");
  if (result->status != FURROW_OK) {
    rows_require(result->status == FURROW_E_PARSE || result->status == FURROW_E_RANGE, "an odd status");
    rows_require(result->error.status == result->status && result->error.message[0], "an error without a message");
    rows_require(result->error.column > 0, "an error without a column");
    rows_require(result->error.offset < result->chunk.text.offset + result->chunk.text.length, "an error elsewhere");
  }
  rows_require(stats->bad_rows == 0 || result->chunk.on_bad == FURROW_ON_BAD_SKIP, "a bad row was skipped");
  rows_require(stats->bad_rows == 0 || stats->first_bad.message[0], "a bad row without a message");
  rows_require(stats->ignored == 0 || stats->first_ignored.message[0], "ignored without a message");
}

/* Reads the text both ways. False: they differ. An unusable setup (no such delimiter …) counts as equal. */
static inline bool rows_compare(const rows_setup *setup, const char *text, size_t length, uint64_t offset) {
  rows_reader reader;
  if (rows_reader_open(&reader, setup, text, length, NULL) != FURROW_OK) return true;
  fw_format careful_format = reader.format;
  careful_format.parse_chunk = NULL;
  rows_result fast = {0};
  rows_result careful = {0};
  rows_parse(&fast, &reader, &reader.format, setup, text, length, offset, 0);
  rows_parse(&careful, &reader, &careful_format, setup, text, length, offset, ':');
  rows_check_result(&fast);
  rows_check_result(&careful);
  bool same = rows_same_result(&fast, &careful);
  /* once more with the memory of the first time and other bytes around the text */
  rows_parse(&fast, &reader, &reader.format, setup, text, length, offset, '7');
  same = same && rows_same_result(&fast, &careful);
  rows_result_clear(&fast);
  rows_result_clear(&careful);
  rows_reader_close(&reader);
  return same;
}

#endif
