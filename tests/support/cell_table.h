/* tests/support/cell_table.h: the elements of a matrix as a list of cells: collected from panels or from text, sorted,
 * chosen from, compared bit for bit. */
#ifndef CELL_TABLE_H
#define CELL_TABLE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "furrow/model.h"
#include "support/cmocka_all.h"

typedef struct cell {
  int32_t row;
  int64_t col;
  uint64_t bits; /* of the value; every NaN has the same */
  size_t order;  /* when it came */
} cell;

typedef struct cell_table {
  cell *cells;
  size_t count, capacity;
  furrow_element_type type;
  pthread_mutex_t lock;
} cell_table;

static inline void table_init(cell_table *table, furrow_element_type type) {
  memset(table, 0, sizeof *table);
  table->type = type;
  pthread_mutex_init(&table->lock, NULL);
}

static inline void table_clear(cell_table *table) {
  free(table->cells);
  pthread_mutex_destroy(&table->lock);
  memset(table, 0, sizeof *table);
}

static inline void table_add(cell_table *table, int32_t row, int64_t col, uint64_t bits) {
  if (table->count == table->capacity) {
    table->capacity = table->capacity ? table->capacity * 2 : 256;
    table->cells = realloc(table->cells, table->capacity * sizeof(cell));
    assert_non_null(table->cells);
  }
  table->cells[table->count] = (cell){row, col, bits, table->count};
  table->count++;
}

/* The value at `place` as bits. */
static inline uint64_t table_bits(furrow_element_type type, const void *place) {
  uint64_t bits;
  uint32_t narrow;
  if (furrow_element_size(type) == sizeof narrow) {
    memcpy(&narrow, place, sizeof narrow);
    bits = narrow;
  } else {
    memcpy(&bits, place, sizeof bits);
  }
  const double number = furrow_elements_get((furrow_elements){.any = place}, type, 0);
  return number != number ? UINT64_MAX : bits;
}

static inline void table_add_panel(cell_table *table, const furrow_panel *panel) {
  const size_t size = furrow_element_size(panel->type);
  assert_int_equal(panel->type, table->type);
  for (size_t c = 0; c < panel->cols; c++)
    for (size_t r = 0; r < panel->rows; r++) {
      uint64_t aligned = 0;
      memcpy(&aligned, (const char *)panel->values.any + (c * panel->rows + r) * size, size);
      table_add(table, panel->row_ids[r], furrow_panel_col(panel, c), table_bits(panel->type, &aligned));
    }
}

/* A furrow_panel_callback; the table is the user. */
static inline furrow_status table_visit(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  cell_table *table = user;
  (void)part;
  (void)err;
  pthread_mutex_lock(&table->lock);
  table_add_panel(table, panel);
  pthread_mutex_unlock(&table->lock);
  return FURROW_OK;
}

static inline void table_add_text(cell_table *table, int32_t row, int64_t col, const char *text) {
  union {
    double f64;
    float f32;
    int64_t i64;
    int32_t i32;
  } value;
  switch (table->type) {
  case FURROW_ELEMENT_F64: value.f64 = strtod(text, NULL); break;
  case FURROW_ELEMENT_F32: value.f32 = strtof(text, NULL); break;
  case FURROW_ELEMENT_I64: value.i64 = strtoll(text, NULL, 10); break;
  default: value.i32 = (int32_t)strtoll(text, NULL, 10); break;
  }
  table_add(table, row, col, table_bits(table->type, &value));
}

/* Lines of row TAB col TAB value; false: no such file. */
static inline bool table_read_tsv(cell_table *table, const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) return false;
  int row;
  long long col;
  char text[128];
  while (fscanf(file, "%d %lld %127s", &row, &col, text) == 3) table_add_text(table, row, col, text);
  fclose(file);
  return true;
}

static inline int table_compare_cells(const void *a, const void *b) {
  const cell *x = a, *y = b;
  if (x->row != y->row) return (x->row > y->row) - (x->row < y->row);
  if (x->col != y->col) return (x->col > y->col) - (x->col < y->col);
  return (x->order > y->order) - (x->order < y->order);
}

/* By row, then column; of equal cells the later one stays. */
static inline void table_sort(cell_table *table) {
  size_t n = 0;
  if (table->count == 0) return;
  qsort(table->cells, table->count, sizeof(cell), table_compare_cells);
  for (size_t i = 0; i < table->count; i++) {
    if (n > 0 && table->cells[n - 1].row == table->cells[i].row && table->cells[n - 1].col == table->cells[i].col) n--;
    table->cells[n++] = table->cells[i];
  }
  table->count = n;
}

static inline void assert_same_tables(const char *name, const cell_table *found, const cell_table *wanted) {
  const size_t n = found->count < wanted->count ? found->count : wanted->count;
  for (size_t i = 0; i < n; i++) {
    const cell *f = &found->cells[i], *w = &wanted->cells[i];
    if (f->row != w->row || f->col != w->col || f->bits != w->bits)
      fail_msg("%s: element %zu is (%d, %lld) %llx, not (%d, %lld) %llx", name, i, (int)f->row, (long long)f->col,
               (unsigned long long)f->bits, (int)w->row, (long long)w->col, (unsigned long long)w->bits);
  }
  if (found->count != wanted->count) fail_msg("%s: %zu elements, not %zu", name, found->count, wanted->count);
}

#endif
