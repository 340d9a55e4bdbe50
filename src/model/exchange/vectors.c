/* model/exchange/vectors.c: visits a stored matrix vector by vector: rows with the sorted scan, columns by loading
 * slices. */
#include "model/exchange/exchange_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/read/load.h"
#include "model/read/source.h"

/* ---- Facts from the metadata ---------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* Sorts the numbers and removes duplicates; returns how many are left. */
static size_t make_set(int32_t *numbers, size_t count) {
  size_t kept = 0;
  if (count == 0) return 0;
  qsort(numbers, count, sizeof *numbers, by_number);
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || numbers[kept - 1] != numbers[i]) numbers[kept++] = numbers[i];
  }
  return kept;
}

static bool same_rows(const fw_source_part *a, const fw_source_part *b) {
  const size_t n = a->meta->row_count;
  return n == b->meta->row_count && (n == 0 || memcmp(a->row_ids, b->row_ids, n * sizeof *a->row_ids) == 0);
}

/* The union of the selected rows of all selected partitions. Most partitions have the same rows as the one before. */
static furrow_status collect_rows(fw_vectors_plan *plan, const fw_selection *sel, furrow_error *err) {
  const furrow_matrix_source *source = plan->source;
  const fw_source_part *last = NULL;
  void *memory = NULL;
  size_t capacity = 0, count = 0;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < source->meta->part_count && status == FURROW_OK; i++) {
    const fw_source_part *part = &source->parts[i];
    if (!sel->parts[i] || (last && same_rows(part, last))) continue;
    last = part;
    status = fw_grow(&memory, &capacity, count + part->meta->row_count, sizeof(int32_t), err);
    for (size_t r = 0; status == FURROW_OK && r < part->meta->row_count; r++) {
      if (fw_selection_has_row(sel, part->row_ids[r])) ((int32_t *)memory)[count++] = part->row_ids[r];
    }
  }
  plan->rows = memory;
  plan->row_count = make_set(memory, count);
  return status;
}

/* An element takes at least one byte. */
static uint64_t most_elements(const fw_source_part *part) {
  const furrow_partition_meta *meta = part->meta;
  if (part->records == FW_RECORDS_UNKNOWN) return (uint64_t)meta->length;
  return meta->save_col_elem_num > 0 ? part->records * (uint64_t)meta->save_col_elem_num : part->records;
}

/* The column range is the union over the partitions. Hash partitions have no range, so any id is possible. */
static void find_extent(fw_vectors_plan *plan, const fw_selection *sel) {
  const furrow_matrix_source *source = plan->source;
  int64_t first = INT64_MAX, end = INT64_MIN;
  for (size_t i = 0; i < source->meta->part_count; i++) {
    const fw_source_part *part = &source->parts[i];
    if (!sel->parts[i]) continue;
    const int64_t from = part->hash ? INT64_MIN : part->meta->start_col;
    const int64_t to = part->hash ? INT64_MAX : part->meta->end_col;
    first = from < first ? from : first;
    end = to > end ? to : end;
    plan->bytes += (uint64_t)part->meta->length;
    plan->most_elements += most_elements(part);
  }
  if (first > end) first = end = 0;
  if (first < sel->first_col) first = sel->first_col;
  if (end > sel->end_col) end = sel->end_col;
  plan->first_col = first;
  plan->end_col = end > first ? end : first;
}

furrow_status fw_vectors_plan_init(fw_vectors_plan *plan, furrow_error *err) {
  fw_selection sel = {0};
  furrow_status status = fw_selection_make(&sel, plan->source, plan->selection, err);
  if (status == FURROW_OK) find_extent(plan, &sel);
  if (status == FURROW_OK) status = collect_rows(plan, &sel, err);
  fw_selection_clear(&sel);
  return status;
}

void fw_vectors_plan_clear(fw_vectors_plan *plan) {
  fw_free(plan->rows);
  plan->rows = NULL;
  plan->row_count = 0;
}

static furrow_status note_columns(void *user, const fw_vectors *v, furrow_error *err) {
  fw_vectors_plan *found = user;
  (void)err;
  if (v->size == 0) return FURROW_OK;
  const int64_t first = fw_vectors_index(v, 0), last = fw_vectors_index(v, v->size - 1);
  if (first < found->first_col) found->first_col = first;
  if (last >= found->end_col) found->end_col = last < INT64_MAX ? last + 1 : INT64_MAX;
  return FURROW_OK;
}

furrow_status fw_vectors_plan_columns(fw_vectors_plan *plan, furrow_error *err) {
  if (plan->first_col != INT64_MIN && plan->end_col != INT64_MAX) return FURROW_OK;
  fw_vectors_plan by_rows = *plan, found = {.first_col = 0, .end_col = 0};
  by_rows.axis = FURROW_AXIS_ROWS;
  by_rows.progress = NULL;
  FW_TRY(fw_vectors_visit(&by_rows, note_columns, &found, err));
  if (plan->first_col == INT64_MIN) plan->first_col = found.first_col;
  if (plan->end_col == INT64_MAX) plan->end_col = found.end_col > plan->first_col ? found.end_col : plan->first_col;
  return FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

typedef struct row_scan {
  const fw_vectors_plan *plan;
  fw_vectors_visitor visit;
  void *user;
  size_t next; /* all rows of the plan before this one have been visited */
} row_scan;

static furrow_status report_share(const fw_vectors_plan *plan, double share, furrow_error *err) {
  const uint64_t done = (uint64_t)((double)plan->bytes * share);
  return fw_report_progress(plan->progress, plan->user, "reading", done, plan->bytes, err);
}

/* Visits rows without elements, up to position `end` of the plan's rows. */
static furrow_status visit_empty(row_scan *w, size_t end, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (; w->next < end && status == FURROW_OK; w->next++) {
    const fw_vectors v = {.count = 1, .first_id = w->plan->rows[w->next]};
    status = w->visit(w->user, &v, err);
  }
  return status;
}

static furrow_status visit_row(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  (void)part;
  row_scan *w = user;
  const fw_vectors_plan *plan = w->plan;
  const int32_t row = panel->row_ids[0];
  const size_t before = w->next;
  size_t at = w->next;
  while (at < plan->row_count && plan->rows[at] < row) at++;
  furrow_status status = visit_empty(w, at, err);
  if (status != FURROW_OK || panel->cols == 0) return status;
  const fw_vectors v = {1, NULL, row, panel->cols, panel->col_ids, panel->first_col, panel->type, panel->values};
  status = w->visit(w->user, &v, err);
  if (at < plan->row_count && plan->rows[at] == row) w->next = at + 1;
  if (status != FURROW_OK || w->next == before) return status;
  return report_share(plan, (double)w->next / (double)plan->row_count, err);
}

static furrow_status visit_rows(const fw_vectors_plan *plan, fw_vectors_visitor visit, void *user, furrow_error *err) {
  row_scan w = {plan, visit, user, 0};
  furrow_matrix_scan_params params;
  furrow_matrix_scan_params_init(&params);
  params.selection = plan->selection;
  params.threads = plan->threads;
  params.memory = plan->memory;
  FW_TRY(furrow_matrix_for_each_panel_sorted(plan->source, &params, visit_row, &w, err));
  return visit_empty(&w, plan->row_count, err);
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* The next column of a panel, in a heap ordered by column, then by row. */
typedef struct cursor {
  const furrow_panel *panel;
  size_t next;
  int64_t col;
} cursor;

typedef struct column_merge {
  cursor *heap;
  size_t count;
  int64_t *indices; /* the column being merged */
  char *values;
  size_t size, element;
} column_merge;

static bool comes_before(const cursor *a, const cursor *b) {
  return a->col != b->col ? a->col < b->col : a->panel->row_ids[0] < b->panel->row_ids[0];
}

static void sift_down(column_merge *m, size_t i) {
  const cursor moved = m->heap[i];
  for (size_t child; (child = 2 * i + 1) < m->count; i = child) {
    if (child + 1 < m->count && comes_before(&m->heap[child + 1], &m->heap[child])) child++;
    if (!comes_before(&m->heap[child], &moved)) break;
    m->heap[i] = m->heap[child];
  }
  m->heap[i] = moved;
}

/* Appends the values of the heap's top to the column, and advances the top to its next column. */
static void take_top(column_merge *m) {
  cursor *top = &m->heap[0];
  const furrow_panel *p = top->panel;
  for (size_t r = 0; r < p->rows; r++) m->indices[m->size + r] = p->row_ids[r];
  memcpy(m->values + m->size * m->element, (const char *)p->values.any + top->next * p->rows * m->element,
         p->rows * m->element);
  m->size += p->rows;
  if (++top->next < p->cols)
    top->col = furrow_panel_col(p, top->next);
  else
    m->heap[0] = m->heap[--m->count];
  if (m->count) sift_down(m, 0);
}

static furrow_status merge_columns(column_merge *m, furrow_element_type type, fw_vectors_visitor visit, void *user,
                                   furrow_error *err) {
  furrow_status status = FURROW_OK;
  while (m->count > 0 && status == FURROW_OK) {
    const int64_t col = m->heap[0].col;
    m->size = 0;
    while (m->count > 0 && m->heap[0].col == col) take_top(m);
    const fw_vectors v = {1, NULL, col, m->size, m->indices, 0, type, {m->values}};
    status = visit(user, &v, err);
  }
  return status;
}

/* Merges several panels column by column. */
static furrow_status visit_panels(const furrow_matrix *matrix, fw_vectors_visitor visit, void *user,
                                  furrow_error *err) {
  const size_t panels = furrow_matrix_panel_count(matrix), rows = furrow_matrix_row_count(matrix);
  const furrow_element_type type = furrow_matrix_type(matrix);
  void *values = NULL;
  cursor *heap = NULL;
  int64_t *indices = NULL;
  furrow_status status = FW_ALLOC(&heap, panels, err);
  if (status == FURROW_OK) status = FW_ALLOC(&indices, rows, err);
  if (status == FURROW_OK) status = fw_alloc(&values, rows, furrow_element_size(type), err);
  if (status == FURROW_OK) {
    column_merge m = {heap, 0, indices, values, 0, furrow_element_size(type)};
    for (size_t i = 0; i < panels; i++) {
      const furrow_panel *p = furrow_matrix_panel(matrix, i);
      if (p->cols && p->rows) m.heap[m.count++] = (cursor){p, 0, furrow_panel_col(p, 0)};
    }
    for (size_t i = m.count / 2; i-- > 0;) sift_down(&m, i);
    status = merge_columns(&m, type, visit, user, err);
  }
  fw_free(heap);
  fw_free(indices);
  fw_free(values);
  return status;
}

/* The columns of a single panel are the vectors, without a copy. */
static furrow_status visit_panel(const furrow_panel *p, fw_vectors_visitor visit, void *user, furrow_error *err) {
  int64_t *indices;
  furrow_status status = FW_ALLOC(&indices, p->rows, err);
  if (status != FURROW_OK) return status;
  for (size_t r = 0; r < p->rows; r++) indices[r] = p->row_ids[r];
  const fw_vectors v = {p->cols, p->col_ids, p->first_col, p->rows, indices, 0, p->type, p->values};
  status = p->cols && p->rows ? visit(user, &v, err) : FURROW_OK;
  fw_free(indices);
  return status;
}

static furrow_status visit_slice(const fw_vectors_plan *plan, const furrow_matrix_selection *slice,
                                 fw_vectors_visitor visit, void *user, furrow_error *err) {
  furrow_matrix_load_params load;
  furrow_matrix *matrix = NULL;
  furrow_matrix_load_params_init(&load);
  load.selection = slice;
  load.threads = plan->threads;
  furrow_status status = furrow_matrix_load_source(&matrix, plan->source, &load, err);
  if (status != FURROW_OK) return status;
  status = furrow_matrix_panel_count(matrix) == 1 ? visit_panel(furrow_matrix_panel(matrix, 0), visit, user, err)
                                                  : visit_panels(matrix, visit, user, err);
  furrow_matrix_free(matrix);
  return status;
}

/* Slices are small enough for the page cache, and large enough to keep all threads busy. */
#define SLICE_BYTES ((size_t)256 << 20)

static furrow_status visit_columns(const fw_vectors_plan *plan, fw_vectors_visitor visit, void *user,
                                   furrow_error *err) {
  fw_memory_slices *slices = NULL;
  const size_t bytes = plan->memory && plan->memory < SLICE_BYTES ? plan->memory : SLICE_BYTES;
  furrow_status status = fw_memory_slices_by_columns(&slices, plan->source, plan->selection, bytes, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < slices->count && status == FURROW_OK; i++) {
    status = visit_slice(plan, &slices->selections[i], visit, user, err);
    if (status == FURROW_OK) status = report_share(plan, (double)(i + 1) / (double)slices->count, err);
  }
  fw_memory_slices_free(slices);
  return status;
}

furrow_status fw_vectors_visit(const fw_vectors_plan *plan, fw_vectors_visitor visit, void *user, furrow_error *err) {
  return plan->axis == FURROW_AXIS_ROWS ? visit_rows(plan, visit, user, err) : visit_columns(plan, visit, user, err);
}
