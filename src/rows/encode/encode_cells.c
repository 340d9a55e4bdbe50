/* rows/encode/encode_cells.c: reads the contents of a cell: elements, words, a number, a time. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/number_in.h"
#include "kern/text/time_cell.h"
#include "rows/encode/encoder.h"
#include "rows/table/number_cell.h"
#include "rows/text/cells.h"

/* ---- Sets ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* Splits the value off an element name:value. */
static const char *read_value(fw_cell_element *element) {
  const char *colon = memrchr(element->text, ':', element->length);
  const char *end = element->text + element->length;
  if (!colon) return NULL;
  if (colon == element->text) return "an element of the set has no name";
  if (fw_read_f32(colon + 1, end, &element->value) != end || !isfinite(element->value))
    return "an element of the set has a value that is not a number";
  element->length = (uint32_t)(colon - element->text);
  return NULL;
}

static furrow_status take_trimmed(const char *begin, const char *end, const fw_column *column, fw_take_element *take,
                                  void *user, const char **bad, furrow_error *err) {
  while (begin < end && is_blank(*begin)) begin++;
  while (end > begin && is_blank(end[-1])) end--;
  if (begin == end) return FURROW_OK;
  fw_cell_element element = {begin, (uint32_t)(end - begin), 1};
  if (column->values) *bad = read_value(&element);
  return *bad ? FURROW_OK : take(user, &element, err);
}

static furrow_status take_set(const fw_table_cell *cell, const fw_column *column, fw_take_element *take, void *user,
                              const char **bad, furrow_error *err) {
  static const char list[] = {FW_TABLE_LIST_SEPARATOR, 0};
  const char *separator = cell->kind == FW_TABLE_LIST ? list : column->separator;
  const size_t width = strlen(separator);
  const char *at = cell->text, *end = cell->text + cell->length;
  while (at < end && !*bad) {
    const char *stop =
        width == 1 ? memchr(at, separator[0], (size_t)(end - at)) : memmem(at, (size_t)(end - at), separator, width);
    FW_TRY(take_trimmed(at, stop ? stop : end, column, take, user, bad, err));
    at = stop ? stop + width : end;
  }
  return FURROW_OK;
}

/* ---- Words ---- */

/* Letters and digits; bytes of other alphabets count as letters. */
static bool is_word_byte(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static furrow_status take_words(const fw_table_cell *cell, fw_buffer *word, fw_take_element *take, void *user,
                                furrow_error *err) {
  const char *at = cell->text, *end = cell->text + cell->length;
  while (at < end) {
    fw_buffer_reset(word);
    for (; at < end && is_word_byte((unsigned char)*at); at++)
      fw_buffer_byte(word, (char)(*at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at));
    FW_TRY(fw_buffer_status(word, err));
    const fw_cell_element element = {word->bytes, (uint32_t)word->size, 1};
    if (word->size > 0) FW_TRY(take(user, &element, err));
    while (at < end && !is_word_byte((unsigned char)*at)) at++;
  }
  return FURROW_OK;
}

furrow_status fw_cell_elements(const fw_table_cell *cell, const fw_column *column, fw_buffer *word,
                               fw_take_element *take, void *user, const char **bad, furrow_error *err) {
  *bad = NULL;
  if (column->kind == FW_AS_TEXT) return take_words(cell, word, take, user, err);
  return take_set(cell, column, take, user, bad, err);
}

/* ---- Numbers ---- */

/* Whether the schema says that the text counts as missing. */
static bool is_listed(const fw_table_cell *cell, const fw_column *column) {
  for (size_t i = 0; i < column->missing_count; i++)
    if (strlen(column->missing[i]) == cell->length && memcmp(column->missing[i], cell->text, cell->length) == 0)
      return true;
  return false;
}

static const char *scale_number(const fw_column *column, double *number) {
  if (column->kind == FW_AS_NUMBER && column->scale == FW_SCALE_LOG) *number = copysign(log1p(fabs(*number)), *number);
  return NULL;
}

/* Reads the whole cell as a number, in the format of its column. */
static bool read_number(const fw_table_cell *cell, const fw_column *column, double *number) {
  const char *end = cell->text + cell->length;
  if (column->format.decimal && !cell->plain) return fw_number_parse(cell->text, cell->length, &column->format, number);
  return fw_read_f64(cell->text, end, number) == end;
}

const char *fw_cell_number(const fw_table_cell *cell, const fw_column *column, double *number, bool *missing) {
  const char *end = cell->text + cell->length;
  *missing = column->missing_count > 0 && is_listed(cell, column);
  if (*missing) return NULL;
  if ((column->format.decimal != ',' || cell->plain) && fw_read_short(cell->text, end, number))
    return scale_number(column, number);
  const fw_cell words = {.begin = cell->text, .end = end};
  *missing = cell->kind == FW_TABLE_MISSING;
  if (*missing) return NULL;
  if (!read_number(cell, column, number)) {
    *missing = fw_cell_is_missing(&words);
    if (*missing) return NULL;
    const bool yes = cell->length == 4 && strncasecmp(cell->text, "true", 4) == 0;
    if (!yes && !(cell->length == 5 && strncasecmp(cell->text, "false", 5) == 0)) return "not a number";
    *number = yes;
  }
  *missing =
      isnan(*number) || (column->kind == FW_AS_NUMBER && fw_number_is_infinity(cell->text, cell->length, *number));
  if (*missing) return NULL;
  if (!isfinite(*number) || fabs(*number) > 3e38) return "a number that is too large";
  return scale_number(column, number);
}

static const char *find_class(const fw_column *column, const fw_table_cell *cell, float *label) {
  for (size_t i = 0; i < column->class_count; i++)
    if (strlen(column->classes[i]) == cell->length && memcmp(column->classes[i], cell->text, cell->length) == 0) {
      *label = (float)i;
      return NULL;
    }
  const fw_cell words = {.begin = cell->text, .end = cell->text + cell->length};
  return fw_cell_is_missing_class(&words) ? "the label is missing" : "not one of the classes of the schema";
}

const char *fw_cell_label(const fw_table_cell *cell, const fw_column *column, float *label) {
  double number = 0;
  bool missing = false;
  if (column->classes) return find_class(column, cell, label);
  const char *bad = fw_cell_number(cell, column, &number, &missing);
  *label = (float)number;
  return missing ? "the label is missing" : bad;
}

const char *fw_cell_weight(const fw_table_cell *cell, const fw_column *column, float *weight) {
  double number = 1;
  bool missing = false;
  const char *bad = fw_cell_number(cell, column, &number, &missing);
  *weight = missing ? 1 : (float)number;
  return !bad && *weight < 0 ? "a weight must not be negative" : bad;
}

static const char *read_time(const fw_table_cell *cell, const fw_column *column, double *seconds, bool *missing) {
  const fw_cell words = {.begin = cell->text, .end = cell->text + cell->length};
  *missing = cell->kind == FW_TABLE_MISSING || is_listed(cell, column);
  if (*missing || fw_time_parse(cell->text, cell->length, column->unit, seconds)) return NULL;
  *missing = fw_cell_is_missing(&words);
  if (*missing) return NULL;
  if (!fw_time_unit_is_text(column->unit)) return "not a time in the unit of its column";
  return column->unit == FW_UNIT_DAY_FIRST     ? "not a date, or not one with the day first"
         : column->unit == FW_UNIT_MONTH_FIRST ? "not a date, or not one with the month first"
                                               : "not a date whose year comes first or whose month has a name";
}

void fw_time_cells_read(fw_time_cells *times, const fw_table_batch *batch, size_t slot, const fw_column *column) {
  const fw_table_cell *cells = fw_table_cells(batch, slot);
  if (times->read && times->slot == slot) return;
  times->read = true;
  times->slot = slot;
  for (size_t i = 0; i < batch->records; i++) {
    times->seconds[i] = 0;
    times->bad[i] = read_time(&cells[i], column, &times->seconds[i], &times->missing[i]);
  }
}
