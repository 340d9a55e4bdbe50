/* rows/text/rowbuilder.h: how parse_line builds a row, reads numbers and reports errors. */
#ifndef FW_ROWS_TEXT_ROWBUILDER_H
#define FW_ROWS_TEXT_ROWBUILDER_H

#include "rows/text/chunk.h"

struct furrow_rowbuilder {
  furrow_container *out;
  fw_chunk_stats *stats;
  const char *line; /* first byte of the line; columns count from here */
  uint64_t line_offset;
  size_t features; /* features of this row, which follow the earlier rows' features */
  bool touched, has_label, has_weight, has_qid, has_value;
};

/* A label or value in the container's type: f32 for reals, i64 for integers. */
typedef struct fw_number {
  float f32;
  int64_t i64;
} fw_number;

furrow_status fw_rowbuilder_set_label(furrow_rowbuilder *row, fw_number label, furrow_error *err) FURROW_MUST_USE;
/* Appends a feature. field NULL: it has none. value NULL: it has no value of its own, so it is 1; a block of such
 * features has no value array. E_RANGE when the field or the index does not fit. */
furrow_status fw_rowbuilder_add(furrow_rowbuilder *row, const uint64_t *field, uint64_t index, const fw_number *value,
                                furrow_error *err) FURROW_MUST_USE;
/* Ends the row and makes it count. E_PARSE if it has a label and earlier rows have none, or the reverse. */
furrow_status fw_rowbuilder_commit(furrow_rowbuilder *row, furrow_error *err) FURROW_MUST_USE;
/* Records that text of the line has no meaning and is skipped. */
void fw_rowbuilder_ignore(furrow_rowbuilder *row, const char *text, const char *end, const char *why);

/* Reads the number that starts at s, in that type, and moves *after past it. E_PARSE or E_RANGE names the whole
 * token: the text up to the next blank or `end`. */
furrow_status fw_read_number(furrow_value_type type, const char *line, const char *s, const char *end,
                             fw_number *number, const char **after, furrow_error *err) FURROW_MUST_USE;
/* Fails with a message about the text from `at` to `end`: sets the token and the column. */
furrow_status fw_fail_at(furrow_error *err, furrow_status status, const char *line, const char *at, const char *end,
                         const char *message);

static inline bool fw_is_blank(char c) {
  return c == ' ' || c == '\t';
}
static inline bool fw_is_line_end(char c) {
  return c == '\n' || c == '\r';
}
static inline bool fw_is_digit(char c) {
  return (unsigned char)(c - '0') <= 9;
}

#endif
