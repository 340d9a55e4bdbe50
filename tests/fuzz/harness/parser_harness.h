/* tests/fuzz/harness/parser_harness.h: data sets read by whole parsers, in ways that must give the same rows, errors
 * and counts.
 */
#ifndef PARSER_HARNESS_H
#define PARSER_HARNESS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "furrow/rows.h"
#include "support/row_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "parser_harness: %s\n", what);
  abort();
}

/* What a reading gave: a digest of the rows, in their order, and how it ended. */
typedef struct reading {
  furrow_status status;
  furrow_error error;
  uint64_t rows, digest;
  furrow_parser_stats stats;
} reading;

/* Adds all rows of the parser to the reading. */
static inline void read_on(furrow_parser *parser, reading *r) {
  while ((r->status = furrow_parser_next(parser, &r->error)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    require(block && block->size > 0, "a block without rows");
    digest_block(&r->digest, block);
    r->rows += block->size;
  }
  require(furrow_parser_next(parser, NULL) == r->status, "the end does not stay");
  furrow_parser_stats_init(&r->stats);
  furrow_parser_get_stats(parser, &r->stats);
}

static inline void same_place(const furrow_error *a, const furrow_error *b, const char *what) {
  require(a->status == b->status && a->line == b->line && a->column == b->column && a->offset == b->offset &&
              strcmp(a->token, b->token) == 0 && strcmp(a->message, b->message) == 0,
          what);
}

static inline void same_reading(const reading *a, const reading *b, const char *what) {
  require(a->status == b->status && a->rows == b->rows && a->digest == b->digest, what);
  if (a->status != FURROW_END) same_place(&a->error, &b->error, what);
  require(a->stats.rows == b->stats.rows && a->stats.features == b->stats.features, what);
  require(a->stats.bad_rows == b->stats.bad_rows && a->stats.ignored == b->stats.ignored, what);
  if (a->stats.bad_rows) same_place(&a->stats.first_bad, &b->stats.first_bad, what);
  if (a->stats.ignored) same_place(&a->stats.first_ignored, &b->stats.first_ignored, what);
}

/* Reads the data set twice, the second time after some blocks of a broken-off reading. */
static inline bool read_all(const char *uri, const furrow_parser_params *params, reading *r) {
  furrow_parser *parser = NULL;
  reading again = {.rows = 0};
  memset(r, 0, sizeof *r);
  r->status = furrow_parser_open(&parser, uri, params, &r->error);
  if (r->status != FURROW_OK) return false;
  read_on(parser, r);
  require(furrow_parser_rewind(parser, NULL) == FURROW_OK, "before_first failed");
  if (furrow_parser_next(parser, NULL) == FURROW_OK && r->rows % 2 == 0) (void)!furrow_parser_next(parser, NULL);
  require(furrow_parser_rewind(parser, NULL) == FURROW_OK, "before_first failed");
  read_on(parser, &again);
  same_reading(r, &again, "the second reading differs");
  require(r->stats.bytes == again.stats.bytes, "the bytes of the second reading differ");
  furrow_parser_close(parser);
  return true;
}

#endif
