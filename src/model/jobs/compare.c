/* model/jobs/compare.c: finds the differences between two stored matrices.
 *
 * Both matrices are read in the same ranges of columns, chosen so that a range of either fits in half of the memory.
 * Within a range, the rows of both are merged, and within a row the columns. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/model.h"
#include "model/read/load.h"

typedef struct ranked {
  furrow_matrix_difference item;
  double distance; /* exact; differs from item.a - item.b for integers beyond 2^53 */
} ranked;

/* The largest differences so far: a heap of at most `limit` items, with the smallest on top. */
typedef struct top_heap {
  ranked *items;
  size_t count, capacity, limit;
} top_heap;

typedef struct comparison {
  furrow_matrix_diff diff;
  long double squares;
  uint64_t either; /* elements that a or b has */
  top_heap top;
  furrow_matrix_difference nothing; /* template of an item: the types of both, no element */
} comparison;

/* ---- One element ---- */

static bool is_integer(furrow_element_type type) {
  return type == FURROW_ELEMENT_I64 || type == FURROW_ELEMENT_I32;
}

static int64_t integer_at(const furrow_matrix_row_view *v, size_t i) {
  return v->type == FURROW_ELEMENT_I64 ? v->values.i64[i * v->stride] : (int64_t)v->values.i32[i * v->stride];
}

/* |a - b|: 0 if both are equal, infinities of the same sign or NaN; infinity if one is NaN and the other is not. */
static double distance(double a, double b) {
  if (a == b || (isnan(a) && isnan(b))) return 0;
  return isnan(a) || isnan(b) ? INFINITY : fabs(a - b);
}

static double integer_distance(int64_t a, int64_t b) {
  return a < b ? (double)((uint64_t)b - (uint64_t)a) : (double)((uint64_t)a - (uint64_t)b);
}

/* Larger distances first, then lower rows, then lower columns. */
static bool comes_before(const ranked *x, const ranked *y) {
  if (x->distance != y->distance) return x->distance > y->distance;
  return x->item.row != y->item.row ? x->item.row < y->item.row : x->item.col < y->item.col;
}

/* ---- The heap ---- */

static void swap_items(ranked *x, ranked *y) {
  const ranked t = *x;
  *x = *y;
  *y = t;
}

static void sift_down(top_heap *heap, size_t i) {
  for (;;) {
    size_t last = i, left = 2 * i + 1;
    for (size_t child = left; child <= left + 1 && child < heap->count; child++)
      if (comes_before(&heap->items[last], &heap->items[child])) last = child;
    if (last == i) return;
    swap_items(&heap->items[last], &heap->items[i]);
    i = last;
  }
}

static void sift_up(top_heap *heap, size_t i) {
  while (i > 0 && comes_before(&heap->items[(i - 1) / 2], &heap->items[i])) {
    swap_items(&heap->items[(i - 1) / 2], &heap->items[i]);
    i = (i - 1) / 2;
  }
}

static furrow_status push(top_heap *heap, const ranked *item, furrow_error *err) {
  if (heap->count < heap->limit) {
    furrow_status status = FW_GROW(&heap->items, &heap->capacity, heap->count + 1, err);
    if (status != FURROW_OK) return status;
    heap->items[heap->count++] = *item;
    sift_up(heap, heap->count - 1);
  } else if (heap->limit > 0 && comes_before(item, &heap->items[0])) {
    heap->items[0] = *item;
    sift_down(heap, 0);
  }
  return FURROW_OK;
}

static int compare_items(const void *x, const void *y) {
  return comes_before(x, y) ? -1 : comes_before(y, x);
}

/* ---- Rows ---- */

static furrow_status add_difference(comparison *c, const furrow_matrix_difference *item, double d, furrow_error *err) {
  furrow_matrix_diff *diff = &c->diff;
  diff->different += item->in_a && item->in_b;
  diff->largest = d > diff->largest ? d : diff->largest;
  c->squares += (long double)d * (long double)d;
  return push(&c->top, &(ranked){*item, d}, err);
}

/* Sets side a or b of a difference to element i of a row. */
static void set_side(furrow_matrix_difference *item, bool in_a, const furrow_matrix_row_view *view, size_t i) {
  const int64_t exact = is_integer(view->type) ? integer_at(view, i) : 0;
  *(in_a ? &item->a : &item->b) = furrow_matrix_row_view_get(view, i);
  *(in_a ? &item->exact_a : &item->exact_b) = exact;
  *(in_a ? &item->in_a : &item->in_b) = true;
}

static furrow_status compare_both(comparison *c, int32_t row, int64_t col, const furrow_matrix_row_view *a, size_t i,
                                  const furrow_matrix_row_view *b, size_t j, furrow_error *err) {
  furrow_matrix_difference item = c->nothing;
  item.row = row;
  item.col = col;
  set_side(&item, true, a, i);
  set_side(&item, false, b, j);
  const bool exact = is_integer(a->type) && is_integer(b->type);
  const double d = exact ? integer_distance(integer_at(a, i), integer_at(b, j)) : distance(item.a, item.b);
  c->either++;
  return d == 0 ? FURROW_OK : add_difference(c, &item, d, err);
}

static furrow_status add_single(comparison *c, int32_t row, const furrow_matrix_row_view *view, size_t i, bool in_a,
                                furrow_error *err) {
  furrow_matrix_difference item = c->nothing;
  item.row = row;
  item.col = furrow_matrix_row_view_col(view, i);
  set_side(&item, in_a, view, i);
  c->either++;
  c->diff.only_a += in_a;
  c->diff.only_b += !in_a;
  return add_difference(c, &item, distance(in_a ? item.a : item.b, 0), err);
}

/* Merges the same row of both matrices by column. */
static furrow_status compare_row(comparison *c, int32_t row, const furrow_matrix_row_view *a,
                                 const furrow_matrix_row_view *b, furrow_error *err) {
  furrow_status status = FURROW_OK;
  size_t i = 0, j = 0;
  while (status == FURROW_OK && i < a->count && j < b->count) {
    const int64_t p = furrow_matrix_row_view_col(a, i), q = furrow_matrix_row_view_col(b, j);
    if (p == q)
      status = compare_both(c, row, p, a, i++, b, j++, err);
    else if (p < q)
      status = add_single(c, row, a, i++, true, err);
    else
      status = add_single(c, row, b, j++, false, err);
  }
  while (status == FURROW_OK && i < a->count) status = add_single(c, row, a, i++, true, err);
  while (status == FURROW_OK && j < b->count) status = add_single(c, row, b, j++, false, err);
  return status;
}

static furrow_status compare_matrices(comparison *c, const furrow_matrix *a, const furrow_matrix *b,
                                      furrow_error *err) {
  const size_t m = furrow_matrix_row_count(a), n = furrow_matrix_row_count(b);
  const int32_t *rows_a = furrow_matrix_row_ids(a), *rows_b = furrow_matrix_row_ids(b);
  furrow_status status = FURROW_OK;
  for (size_t i = 0, j = 0; status == FURROW_OK && (i < m || j < n);) {
    const int32_t row = j == n || (i < m && rows_a[i] < rows_b[j]) ? rows_a[i] : rows_b[j];
    furrow_matrix_row_view x = {0}, y = {0};
    furrow_matrix_row(a, row, &x);
    furrow_matrix_row(b, row, &y);
    c->diff.elements_a += x.count;
    c->diff.elements_b += y.count;
    status = compare_row(c, row, &x, &y, err);
    i += i < m && rows_a[i] == row;
    j += j < n && rows_b[j] == row;
  }
  return status;
}

/* ---- Ranges of columns ---- */

static furrow_status compare_range(comparison *c, const furrow_matrix_source *a, const furrow_matrix_source *b,
                                   int64_t first, int64_t end, unsigned threads, furrow_error *err) {
  furrow_matrix *x = NULL, *y = NULL;
  furrow_matrix_load_params params;
  furrow_matrix_selection range;
  furrow_matrix_load_params_init(&params);
  furrow_matrix_selection_init(&range);
  range.first_col = first;
  range.end_col = end;
  params.selection = &range;
  params.threads = threads;
  furrow_status status = furrow_matrix_load_source(&x, a, &params, err);
  if (status == FURROW_OK) status = furrow_matrix_load_source(&y, b, &params, err);
  if (status == FURROW_OK) status = compare_matrices(c, x, y, err);
  furrow_matrix_free(x);
  furrow_matrix_free(y);
  return status;
}

static int compare_cuts(const void *x, const void *y) {
  const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
  return (a > b) - (a < b);
}

/* The ascending starts of the column ranges of both sources; the first range always starts at INT64_MIN. */
static furrow_status find_cuts(const furrow_matrix_source *a, const furrow_matrix_source *b, size_t memory,
                               int64_t **cuts, size_t *count, furrow_error *err) {
  fw_memory_slices *s[2] = {NULL, NULL};
  furrow_status status = fw_memory_slices_by_columns(&s[0], a, NULL, memory / 2, err);
  if (status == FURROW_OK) status = fw_memory_slices_by_columns(&s[1], b, NULL, memory / 2, err);
  int64_t *found = NULL;
  if (status == FURROW_OK) status = FW_ALLOC(&found, s[0]->count + s[1]->count + 1, err);
  if (status == FURROW_OK) {
    size_t n = 0, kept = 1;
    found[n++] = INT64_MIN;
    for (size_t k = 0; k < 2; k++)
      for (size_t i = 1; i < s[k]->count; i++) found[n++] = s[k]->selections[i].first_col;
    qsort(found, n, sizeof *found, compare_cuts);
    for (size_t i = 1; i < n; i++)
      if (found[i] != found[kept - 1]) found[kept++] = found[i];
    *cuts = found;
    *count = kept;
  }
  fw_memory_slices_free(s[0]);
  fw_memory_slices_free(s[1]);
  return status;
}

static void write_result(comparison *c, furrow_matrix_difference *top, furrow_matrix_diff *diff) {
  c->diff.rms = c->either > 0 ? (double)sqrtl(c->squares / (long double)c->either) : 0;
  c->diff.top_count = c->top.count;
  if (c->top.count > 1) qsort(c->top.items, c->top.count, sizeof *c->top.items, compare_items);
  for (size_t i = 0; i < c->top.count; i++) top[i] = c->top.items[i].item;
  fw_info_write(diff, &c->diff, sizeof c->diff);
}

furrow_status furrow_matrix_compare(const furrow_matrix_source *a, const furrow_matrix_source *b,
                                    const furrow_matrix_compare_params *given, furrow_matrix_diff *diff,
                                    furrow_error *err) {
  furrow_matrix_compare_params params;
  furrow_matrix_compare_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_compare_params, err));
  comparison c = {.top = {.limit = params.top ? params.top_capacity : 0}};
  c.nothing.type_a = furrow_matrix_source_row_type(a)->element;
  c.nothing.type_b = furrow_matrix_source_row_type(b)->element;
  int64_t *cuts = NULL;
  size_t count = 0;
  furrow_status status = find_cuts(a, b, params.memory ? params.memory : FW_DEFAULT_MEMORY, &cuts, &count, err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    status = fw_report_progress(params.progress, params.progress_user, "comparing", i, count, err);
    if (status == FURROW_OK)
      status = compare_range(&c, a, b, cuts[i], i + 1 < count ? cuts[i + 1] : INT64_MAX, params.threads, err);
  }
  if (status == FURROW_OK) write_result(&c, params.top, diff);
  fw_free(cuts);
  fw_free(c.top.items);
  return status;
}
