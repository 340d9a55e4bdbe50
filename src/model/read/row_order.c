/* model/read/row_order.c: does the data of a partition contradict the order that its rows are read in? */
#include "model/read/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* psmeta files list rows as they were saved; the JSON form has them in the order of a Java HashMap. */
bool fw_row_order_is_meta(const furrow_matrix_source *source) {
  if (source->row_order == FURROW_MATRIX_ROW_ORDER_AUTO) return source->meta->origin == FURROW_META_PSMETA;
  return source->row_order == FURROW_MATRIX_ROW_ORDER_META;
}

/* Elements of the k-th row by id. */
static uint64_t row_elements(const fw_source_part *part, size_t k) {
  return (uint64_t)part->meta->rows[part->by_id[k]].element_num;
}

/* Rows of equal counts can change places unnoticed, and rows of a checkpoint (save_type 1) are not sorted. */
static bool can_tell(const furrow_matrix_source *source, const fw_source_part *part, size_t *filled) {
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
  if (!can_tell(source, part, &filled)) return FURROW_OK;
  furrow_status status = FW_GROW(&watch->falls, &watch->capacity, filled, err);
  if (status != FURROW_OK) return status;
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
        watch->part = NULL; /* no order of rows has so many: columns are not sorted */
        return;
      }
      watch->falls[watch->count++] = watch->seen + i;
    }
    last = col_ids[i];
  }
  watch->last = last;
  watch->seen += count;
}

/* The first fall that is not at the begin of a row, when rows follow by their id; NULL: all are. */
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

/* ---- Is there an order of the rows with falls at begins alone? ------------------------------------------- */

enum { MOST_ROWS = 64, MOST_STEPS = 100000 };

/* Rows, the largest first, are put into the stretches between falls, which they must fill. */
typedef struct packing {
  size_t rows, stretches;
  uint64_t elements[MOST_ROWS], capacity[MOST_ROWS];
  long steps;
} packing;

static int compare_falling(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

/* true when it fits, or when it takes too long to tell. */
static bool fits(packing *p, size_t row) {
  if (row == p->rows || ++p->steps > MOST_STEPS) return true;
  for (size_t s = 0; s < p->stretches; s++) {
    if (p->capacity[s] < p->elements[row]) continue;
    p->capacity[s] -= p->elements[row];
    const bool good = fits(p, row + 1);
    p->capacity[s] += p->elements[row];
    if (good) return true;
  }
  return false;
}

static bool some_order_explains(const fw_row_order_watch *watch) {
  packing p = {0};
  if (watch->most + 1 > MOST_ROWS) return true; /* too many to tell: rather ask than guess */
  for (size_t k = 0; k < watch->part->meta->row_count; k++) {
    const uint64_t count = row_elements(watch->part, k);
    if (count > 0) p.elements[p.rows++] = count;
  }
  qsort(p.elements, p.rows, sizeof p.elements[0], compare_falling);
  uint64_t before = 0;
  for (size_t i = 0; i < watch->count; before = watch->falls[i++]) p.capacity[p.stretches++] = watch->falls[i] - before;
  p.capacity[p.stretches++] = watch->seen - before;
  return fits(&p, 0);
}

furrow_status fw_row_order_end(fw_row_order_watch *watch, uint64_t *record, furrow_error *err) {
  if (!watch->part) return FURROW_OK;
  const uint64_t *fall = inside_rows(watch);
  if (!fall || !some_order_explains(watch)) return FURROW_OK;
  *record = *fall;
  fw_fail(err, FURROW_E_FORMAT,
          "ambiguous: columns fall at element %llu, inside of a row if rows follow by their id, as if they stood in "
          "another order",
          (unsigned long long)*fall);
  fw_error_set_hint(err, "choose a row order");
  return FURROW_E_FORMAT;
}

void fw_row_order_clear(fw_row_order_watch *watch) {
  fw_free(watch->falls);
  memset(watch, 0, sizeof *watch);
}
