/* cli/core/text_columns.c: a table of text with aligned columns. */
#include "core/text_columns.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fail.h"

static bool reserve_cell(table *t) {
  void *cells = (void *)t->cells;
  if (fw_grow(&cells, &t->capacity, t->count + 1, sizeof *t->cells, NULL) != FURROW_OK) return false;
  t->cells = cells;
  return true;
}

static void add_cell(table *t, const char *text, size_t length) {
  char *copy = t->failed || !reserve_cell(t) ? NULL : strndup(text, length);
  if (!copy) {
    t->failed = true;
    return;
  }
  size_t *width = &t->width[t->count % t->columns];
  if (length > *width) *width = length;
  t->cells[t->count++] = copy;
}

void table_start(table *t, const char *headings) {
  *t = (table){.columns = 1};
  for (const char *s = headings; *s; s++) t->columns += *s == '|';
  for (const char *s = headings;; s++) {
    size_t length = strcspn(s, "|");
    add_cell(t, s, length);
    s += length;
    if (!*s) return;
  }
}

void table_cell(table *t, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n < 0) n = 0;
  for (char *s = text; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = '?'; /* a terminal would execute it */
  add_cell(t, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void print_cell(const table *t, size_t i, unsigned left, output *out) {
  size_t column = i % t->columns;
  bool last = column + 1 == t->columns;
  bool to_left = left >> column & 1;
  int width = last && to_left ? 0 : (int)t->width[column];
  output_format(out, to_left ? "%-*s%s" : "%*s%s", width, t->cells[i], last ? "\n" : "  ");
}

furrow_status table_finish(table *t, unsigned left, output *out, furrow_error *err) {
  furrow_status status = t->failed ? fail_memory(err) : FURROW_OK;
  for (size_t i = 0; i < t->count && status == FURROW_OK; i++) print_cell(t, i, left, out);
  for (size_t i = 0; i < t->count; i++) free(t->cells[i]);
  free(t->cells);
  *t = (table){0};
  return status;
}
