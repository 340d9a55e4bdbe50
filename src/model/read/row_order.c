/* model/read/row_order.c: checks whether the data of a partition contradicts the order in which its rows are read. */
#include "model/read/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* psmeta files list rows in the order of saving; the JSON form lists them in the order of a Java HashMap. */
bool fw_row_order_is_meta(const furrow_matrix_source *source) {
  if (source->row_order == FURROW_MATRIX_ROW_ORDER_AUTO) return source->meta->origin == FURROW_META_PSMETA;
  return source->row_order == FURROW_MATRIX_ROW_ORDER_META;
}

/* The number of elements of the k-th row by id. */
static uint64_t row_elements(const fw_source_part *part, size_t k) {
  return (uint64_t)part->meta->rows[part->by_id[k]].element_num;
}

/* Whether the order can be checked. Rows with equal counts can be swapped unnoticed, and rows of a checkpoint
 * (save_type 1) are not sorted. */
static bool can_check(const furrow_matrix_source *source, const fw_source_part *part, size_t *filled) {
  const unsigned flags = source->format->flags;
  if (flags & (FURROW_MATRIX_FORMAT_BY_COLUMN | FURROW_MATRIX_FORMAT_ROW_IDS) ||
      !(flags & FURROW_MATRIX_FORMAT_COL_IDS))
    return false;
  if (source->row_order != FURROW_MATRIX_ROW_ORDER_AUTO || fw_row_order_is_meta(source)) return false;
  if (part->records == FW_RECORDS_UNKNOWN) return false;
  bool differ = false;
  uint64_t first = 0;
  *filled = 0;
  for (size_t k = 0; k < part->meta->row_count; k++) {
    const uint64_t count = row_elements(part, k);
    if (part->meta->rows[k].save_type != 0) return false;
    if (count == 0) continue;
    if ((*filled)++ == 0) first = count;
    differ = differ || count != first;
  }
  return differ;
}

furrow_status fw_row_order_begin(fw_row_order_watch *watch, const furrow_matrix_source *source,
                                 const fw_source_part *part, furrow_error *err) {
  size_t filled = 0;
  watch->part = NULL;
  if (!can_check(source, part, &filled)) return FURROW_OK;
  FW_TRY(FW_GROW(&watch->falls, &watch->capacity, filled, err));
  watch->part = part;
  watch->most = filled - 1;
  watch->count = 0;
  watch->seen = 0;
  return FURROW_OK;
}

void fw_row_order_see(fw_row_order_watch *watch, const int64_t *col_ids, size_t count) {
  if (!watch->part || count == 0) return;
  int64_t last = watch->seen > 0 ? watch->last : col_ids[0];
  for (size_t i = watch->seen == 0; i < count; i++) {
    if (col_ids[i] <= last) {
      if (watch->count == watch->most) {
        watch->part = NULL; /* more falls than rows: the columns are not sorted */
        return;
      }
      watch->falls[watch->count++] = watch->seen + i;
    }
    last = col_ids[i];
  }
  watch->last = last;
  watch->seen += count;
}

/* The first fall that is not at the start of a row, if rows are in the order of their ids; NULL if there is none. */
static const uint64_t *inside_rows(const fw_row_order_watch *watch) {
  uint64_t begin = 0;
  size_t i = 0;
  for (size_t k = 0; k < watch->part->meta->row_count && i < watch->count; k++) {
    if (watch->falls[i] < begin) break;
    if (watch->falls[i] == begin) i++;
    begin += row_elements(watch->part, k);
  }
  return i < watch->count ? &watch->falls[i] : NULL;
}

/* ---- Is there an order of the rows in which every fall starts a row? ------------------------------------- */

enum { MOST_ROWS = 64, MOST_STEPS = 100000 };

/* Rows, largest first, are assigned to the ranges between falls, which they must fill exactly. */
typedef struct packing {
  size_t rows, stretches;
  uint64_t elements[MOST_ROWS], capacity[MOST_ROWS];
  long steps;
} packing;

static int compare_falling(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

/* Returns true if the rows fit, or if the search takes too long. */
static bool rows_fit(packing *p, size_t row) {
  if (row == p->rows || ++p->steps > MOST_STEPS) return true;
  for (size_t s = 0; s < p->stretches; s++) {
    if (p->capacity[s] < p->elements[row]) continue;
    p->capacity[s] -= p->elements[row];
    const bool good = rows_fit(p, row + 1);
    p->capacity[s] += p->elements[row];
    if (good) return true;
  }
  return false;
}

static bool some_order_explains(const fw_row_order_watch *watch) {
  packing p = {0};
  if (watch->most + 1 > MOST_ROWS) return true; /* too many rows to search: ask the user instead of guessing */
  for (size_t k = 0; k < watch->part->meta->row_count; k++) {
    const uint64_t count = row_elements(watch->part, k);
    if (count > 0) p.elements[p.rows++] = count;
  }
  qsort(p.elements, p.rows, sizeof p.elements[0], compare_falling);
  uint64_t before = 0;
  for (size_t i = 0; i < watch->count; before = watch->falls[i++]) p.capacity[p.stretches++] = watch->falls[i] - before;
  p.capacity[p.stretches++] = watch->seen - before;
  return rows_fit(&p, 0);
}

furrow_status fw_row_order_end(fw_row_order_watch *watch, uint64_t *record, furrow_error *err) {
  if (!watch->part) return FURROW_OK;
  const uint64_t *fall = inside_rows(watch);
  if (!fall || !some_order_explains(watch)) return FURROW_OK;
  *record = *fall;
  fw_fail(
      err, FURROW_E_FORMAT,
      "ambiguous order of rows: the column decreases at element %llu, which is inside a row if rows are sorted by id",
      (unsigned long long)*fall);
  fw_error_set_hint(err, "choose a row order");
  return FURROW_E_FORMAT;
}

void fw_row_order_clear(fw_row_order_watch *watch) {
  fw_free(watch->falls);
  memset(watch, 0, sizeof *watch);
}
