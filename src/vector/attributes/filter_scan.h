/* vector/attributes/filter_scan.h: the words of a filter expression, and its conditions on rows. */
#ifndef FW_VECTOR_ATTRIBUTES_FILTER_SCAN_H
#define FW_VECTOR_ATTRIBUTES_FILTER_SCAN_H

#include "base/buffer.h"
#include "vector/attributes/attribute_rows.h"

typedef enum fw_filter_word {
  FW_WORD_END,
  FW_WORD_COLUMN, /* the name of a column */
  FW_WORD_NUMBER,
  FW_WORD_TEXT,
  FW_WORD_TRUE,
  FW_WORD_FALSE,
  FW_WORD_AND,
  FW_WORD_OR,
  FW_WORD_NOT,
  FW_WORD_IN,
  FW_WORD_IS,
  FW_WORD_MISSING,
  FW_WORD_OPEN,
  FW_WORD_CLOSE,
  FW_WORD_COMMA,
  FW_WORD_EQUAL, /* the comparisons, in the order of fw_comparison */
  FW_WORD_UNEQUAL,
  FW_WORD_LESS,
  FW_WORD_AT_MOST,
  FW_WORD_GREATER,
  FW_WORD_AT_LEAST
} fw_filter_word;

/* Reads one token after the other. All zeros but `text`: at the start. */
typedef struct fw_filter_scan {
  const char *text; /* the whole expression, ended by a 0 */
  const char *at;   /* the end of the token */
  fw_filter_word token;
  const char *begin; /* the start of the token */
  double number;
  fw_buffer value; /* the bytes of a TEXT or the name of a COLUMN, without quotes; a 0 follows */
} fw_filter_scan;

furrow_status fw_filter_next(fw_filter_scan *scan, furrow_error *err) FURROW_MUST_USE;
/* E_ARGUMENT with a place in the expression and the text there, up to `end`. */
furrow_status fw_filter_fail(const fw_filter_scan *scan, const char *at, const char *end, furrow_error *err,
                             const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A condition on one column: a comparison with values, of which any may hold. */
typedef struct fw_condition {
  const fw_attribute *column;
  fw_filter_word comparison; /* EQUAL … AT_LEAST; TRUE: the number is not 0; MISSING */
  bool negated;
  double *numbers; /* NUMBER, TIME: `count` values, ascending */
  fw_buffer texts; /* TEXT, SET: `count` values, each ended by a 0 */
  size_t count, capacity;
} fw_condition;

void fw_condition_clear(fw_condition *condition);
/* Appends the value that was scanned. E_ARGUMENT: it does not fit the type of the column. */
furrow_status fw_condition_add(fw_condition *condition, const fw_filter_scan *scan, furrow_error *err) FURROW_MUST_USE;
/* Sets bit i of `bits` (0 before) if the condition holds for row i < n. */
furrow_status fw_condition_test(fw_condition *condition, size_t n, uint8_t *bits, furrow_error *err) FURROW_MUST_USE;

#endif
