/* vector/attributes/filter_test.c: tests one condition on all rows. Texts are compared once for each different text of
 * the column, not for each row. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/text/time_cell.h"
#include "vector/attributes/filter_scan.h"

void fw_condition_clear(fw_condition *condition) {
  fw_free(condition->numbers);
  fw_buffer_clear(&condition->texts);
  *condition = (fw_condition){0};
}

/* ---- Values --------------------------------------------------------------------------------------------- */

static furrow_status fail_value(const fw_condition *condition, const fw_filter_scan *scan, const char *has,
                                const char *hint, furrow_error *err) {
  const fw_attribute *column = condition->column;
  fw_filter_fail(scan, scan->begin, scan->at, err, "column %.*s has %s, which cannot be compared with this",
                 column->name_size < 80 ? (int)column->name_size : 80, column->name, has);
  fw_error_set_hint(err, "%s", hint);
  return FURROW_E_ARGUMENT;
}

static furrow_status add_number(fw_condition *condition, double number, furrow_error *err) {
  FW_TRY(FW_GROW(&condition->numbers, &condition->capacity, condition->count + 1, err));
  condition->numbers[condition->count++] = number;
  return FURROW_OK;
}

static furrow_status add_time(fw_condition *condition, const fw_filter_scan *scan, furrow_error *err) {
  double seconds = scan->number;
  if (scan->token == FW_WORD_TEXT && !fw_time_parse(scan->value.bytes, scan->value.size - 1, FW_UNIT_TEXT, &seconds))
    return fail_value(condition, scan, "times", "a time is written as \"2024-05-31\" or \"2024-05-31 23:59:00\"", err);
  if (scan->token != FW_WORD_TEXT && scan->token != FW_WORD_NUMBER)
    return fail_value(condition, scan, "times", "a time is written as \"2024-05-31\" or \"2024-05-31 23:59:00\"", err);
  return add_number(condition, seconds, err);
}

furrow_status fw_condition_add(fw_condition *condition, const fw_filter_scan *scan, furrow_error *err) {
  const bool truth = scan->token == FW_WORD_TRUE || scan->token == FW_WORD_FALSE;
  if (!truth && scan->token != FW_WORD_NUMBER && scan->token != FW_WORD_TEXT) {
    fw_filter_fail(scan, scan->begin, scan->at, err, "a value is missing here: a number, or a text in quotes");
    if (scan->token == FW_WORD_COLUMN) fw_error_set_hint(err, "texts are written in quotes: \"%s\"", scan->value.bytes);
    return FURROW_E_ARGUMENT;
  }
  switch (condition->column->type) {
  case FURROW_COLUMN_NUMBER:
    if (scan->token == FW_WORD_TEXT)
      return fail_value(condition, scan, "numbers", "numbers are written without quotes", err);
    return add_number(condition, truth ? scan->token == FW_WORD_TRUE : scan->number, err);
  case FURROW_COLUMN_TIME: return add_time(condition, scan, err);
  default: break;
  }
  if (scan->token != FW_WORD_TEXT) return fail_value(condition, scan, "texts", "texts are written in quotes", err);
  fw_buffer_append(&condition->texts, scan->value.bytes, scan->value.size);
  condition->count++;
  return fw_buffer_status(&condition->texts, err);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static void set_bit(uint8_t *bits, size_t i, bool value) {
  bits[i / 8] |= (uint8_t)(value << i % 8);
}

/* Whether a < b, a = b, a > b (order -1, 0, 1) satisfies a comparison. */
static bool satisfies(fw_filter_word comparison, int order) {
  switch (comparison) {
  case FW_WORD_EQUAL: return order == 0;
  case FW_WORD_UNEQUAL: return order != 0;
  case FW_WORD_LESS: return order < 0;
  case FW_WORD_AT_MOST: return order <= 0;
  case FW_WORD_GREATER: return order > 0;
  case FW_WORD_AT_LEAST: return order >= 0;
  default: return false;
  }
}

static int compare_numbers(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool test_number(const fw_condition *condition, double number) {
  const fw_filter_word comparison = condition->comparison;
  if (comparison == FW_WORD_MISSING) return isnan(number);
  if (isnan(number)) return comparison == FW_WORD_UNEQUAL;
  if (comparison == FW_WORD_TRUE) return number != 0;
  if (condition->count != 1)
    return bsearch(&number, condition->numbers, condition->count, sizeof number, compare_numbers) != NULL;
  return satisfies(comparison, compare_numbers(&number, condition->numbers));
}

static int compare_texts(const char *a, size_t a_size, const char *b, size_t b_size) {
  const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
  return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* Marks the texts for which the condition holds: keep[c] is that of code c, keep[0] that of a missing text. */
static void test_texts(const fw_condition *condition, uint8_t *keep) {
  const fw_string_table *table = &condition->column->table;
  const fw_filter_word comparison = condition->comparison;
  const char *value = condition->texts.bytes;
  const bool equals = comparison == FW_WORD_EQUAL || comparison == FW_WORD_UNEQUAL;
  keep[0] = comparison == FW_WORD_MISSING;
  for (size_t i = 0; equals && i < condition->count; i++, value += strlen(value) + 1) {
    const size_t found = fw_string_table_find(table, value, strlen(value));
    if (found != FW_STRING_TABLE_NONE) keep[found + 1] = 1;
  }
  if (equals || comparison == FW_WORD_MISSING) return;
  for (size_t i = 0; i < table->count; i++) {
    size_t size;
    const char *text = fw_string_table_text(table, i, &size);
    keep[i + 1] = satisfies(comparison, compare_texts(text, size, value, strlen(value)));
  }
}

static bool test_set(const fw_condition *condition, const uint8_t *keep, size_t row) {
  const fw_attribute *column = condition->column;
  const size_t first = fw_attribute_start(column, row), end = fw_attribute_start(column, row + 1);
  bool any = false;
  if (condition->comparison == FW_WORD_MISSING) return first == end;
  for (size_t e = first; !any && e < end; e++) any = keep[fw_attribute_code(column, e)];
  return any;
}

static furrow_status test_codes(const fw_condition *condition, size_t n, uint8_t *bits, furrow_error *err) {
  const fw_attribute *column = condition->column;
  const bool unequal = condition->comparison == FW_WORD_UNEQUAL, set = column->type == FURROW_COLUMN_SET;
  uint8_t *keep = NULL;
  FW_TRY(FW_ALLOC_ZERO(&keep, column->table.count + 1, err));
  test_texts(condition, keep);
  for (size_t i = 0; i < n; i++) {
    const bool holds = set ? test_set(condition, keep, i) : keep[fw_attribute_code(column, i)];
    set_bit(bits, i, (holds != unequal) != condition->negated);
  }
  fw_free(keep);
  return FURROW_OK;
}

furrow_status fw_condition_test(fw_condition *condition, size_t n, uint8_t *bits, furrow_error *err) {
  const fw_attribute *column = condition->column;
  if (!fw_column_has_numbers(column->type)) return test_codes(condition, n, bits, err);
  if (condition->count > 1) qsort(condition->numbers, condition->count, sizeof(double), compare_numbers);
  for (size_t i = 0; i < n; i++)
    set_bit(bits, i, test_number(condition, fw_attribute_number(column, i)) != condition->negated);
  return FURROW_OK;
}
