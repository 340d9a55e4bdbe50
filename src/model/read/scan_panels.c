/* model/read/scan_panels.c: resolves selections, and scans the selected panels of many partitions in parallel. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"
#include "model/read/source.h"

/* ---- A selection resolved for a source ------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static void take_rows(fw_selection *sel, const furrow_matrix_selection *selection, int32_t *rows) {
  size_t n = 0;
  if (selection->row_count > 0) memcpy(rows, selection->rows, selection->row_count * sizeof *rows);
  qsort(rows, selection->row_count, sizeof *rows, compare_rows);
  for (size_t i = 0; i < selection->row_count; i++)
    if (n == 0 || rows[n - 1] != rows[i]) rows[n++] = rows[i];
  sel->rows = rows;
  sel->row_count = n;
}

static furrow_status take_parts(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, furrow_error *err) {
  const furrow_matrix_meta *meta = source->meta;
  for (size_t i = 0; i < meta->part_count; i++) sel->parts[i] = !selection->part_ids;
  for (size_t k = 0; selection->part_ids && k < selection->part_count; k++) {
    const furrow_partition_meta *part = furrow_matrix_meta_partition(meta, selection->part_ids[k]);
    if (!part) return fw_fail(err, FURROW_E_NOT_FOUND, "there is no partition %d", (int)selection->part_ids[k]);
    sel->parts[part - meta->parts] = true;
  }
  return FURROW_OK;
}

static bool has_chosen_row(const fw_selection *sel, const fw_source_part *part) {
  size_t i = 0, k = 0;
  if (!sel->rows) return true;
  while (i < sel->row_count && k < part->meta->row_count) {
    if (sel->rows[i] == part->row_ids[k]) return true;
    if (sel->rows[i] < part->row_ids[k])
      i++;
    else
      k++;
  }
  return false;
}

furrow_status fw_selection_make(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *given, furrow_error *err) {
  furrow_matrix_selection known;
  const furrow_matrix_selection *selection = &known;
  furrow_matrix_selection_init(&known);
  *sel = (fw_selection){0};
  FW_TRY(FW_PARAMS_READ(&known, given, furrow_matrix_selection, err));
  *sel = (fw_selection){.first_col = selection->first_col, .end_col = selection->end_col};
  size_t bytes;
  const size_t parts = source->meta->part_count;
  const size_t rows = selection->rows ? selection->row_count : 0;
  if (!fw_size_mul(rows, sizeof(int32_t), &bytes)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = fw_alloc(&sel->memory, bytes + parts * sizeof(bool), 1, err);
  if (status != FURROW_OK) return status;
  sel->parts = (bool *)((char *)sel->memory + bytes);
  if (selection->rows) take_rows(sel, selection, sel->memory);
  status = take_parts(sel, source, selection, err);
  for (size_t i = 0; i < parts && status == FURROW_OK; i++)
    sel->parts[i] = sel->parts[i] && has_chosen_row(sel, &source->parts[i]);
  return status;
}

void fw_selection_clear(fw_selection *sel) {
  fw_free(sel->memory);
  *sel = (fw_selection){0};
}

bool fw_selection_has_row(const fw_selection *sel, int32_t row_id) {
  if (!sel->rows) return true;
  return sel->row_count > 0 && bsearch(&row_id, sel->rows, sel->row_count, sizeof *sel->rows, compare_rows) != NULL;
}

bool fw_selection_has_all_cols(const fw_selection *sel, const fw_source_part *part) {
  return part->first_col >= sel->first_col && fw_selection_has_col(sel, part->last_col);
}

bool fw_selection_has_any_col(const fw_selection *sel, const fw_source_part *part) {
  if (sel->end_col <= sel->first_col) return false;
  return part->last_col >= sel->first_col && (part->first_col < sel->end_col || sel->end_col == INT64_MAX);
}

uint64_t fw_selection_col_count(const fw_selection *sel, int64_t first, int64_t last) {
  if (sel->end_col <= sel->first_col) return 0;
  if (first < sel->first_col) first = sel->first_col;
  if (sel->end_col != INT64_MAX && last >= sel->end_col) last = sel->end_col - 1;
  if (first > last) return 0;
  const uint64_t width = (uint64_t)last - (uint64_t)first;
  return width == UINT64_MAX ? width : width + 1;
}

/* ---- Panels restricted to selected rows and columns ---------------------------------------------------- */

/* Restricts the panels of one partition at a time; may be zero-initialized. */
typedef struct panel_selector {
  const fw_selection *sel;
  const fw_source_part *part;
  bool all_cols, all_rows;
  int32_t last_row; /* the last panel's row (one-row panels), and whether it is selected */
  bool last_chosen, last_known;
  size_t *positions; /* column formats: indices of the selected rows in part->row_ids … */
  int32_t *row_ids;
  size_t row_count, rows_capacity, ids_capacity; /* … and their number */
  char *values;
  int64_t *col_ids;
  size_t values_capacity, cols_capacity;
} panel_selector;

static furrow_status choose_rows(panel_selector *selector, furrow_error *err) {
  const fw_source_part *part = selector->part;
  const size_t rows = part->meta->row_count;
  furrow_status status = FW_GROW(&selector->positions, &selector->rows_capacity, rows, err);
  if (status == FURROW_OK) status = FW_GROW(&selector->row_ids, &selector->ids_capacity, rows, err);
  if (status != FURROW_OK) return status;
  selector->row_count = 0;
  for (size_t k = 0; k < rows; k++) {
    if (!fw_selection_has_row(selector->sel, part->row_ids[k])) continue;
    selector->row_ids[selector->row_count] = part->row_ids[k];
    selector->positions[selector->row_count++] = k;
  }
  return FURROW_OK;
}

static furrow_status panel_selector_start(panel_selector *selector, const fw_selection *sel, const fw_source_part *part,
                                          furrow_error *err) {
  selector->sel = sel;
  selector->part = part;
  selector->last_known = false;
  selector->all_cols = fw_selection_has_all_cols(sel, part);
  selector->all_rows = !sel->rows;
  if (selector->all_rows) return FURROW_OK;
  furrow_status status = choose_rows(selector, err);
  selector->all_rows = selector->row_count == part->meta->row_count;
  return status;
}

static void panel_selector_clear(panel_selector *selector) {
  fw_free(selector->positions);
  fw_free(selector->row_ids);
  fw_free(selector->values);
  fw_free(selector->col_ids);
  *selector = (panel_selector){0};
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* Restricts the panel to `count` columns from `first` on, without copying. */
static void slice_panel(furrow_panel *panel, size_t first, size_t count) {
  panel->values.any = (const char *)panel->values.any + first * panel->rows * furrow_element_size(panel->type);
  if (panel->col_ids) panel->col_ids += first;
  panel->first_col += (int64_t)first;
  panel->cols = count;
}

static void slice_counted(const fw_selection *sel, furrow_panel *panel) {
  const int64_t last = panel->first_col + (int64_t)(panel->cols - 1);
  if (last < sel->first_col || !(panel->first_col < sel->end_col || sel->end_col == INT64_MAX)) {
    panel->cols = 0;
    return;
  }
  size_t first = 0, end = panel->cols;
  if (panel->first_col < sel->first_col) first = (size_t)(sel->first_col - panel->first_col);
  if (sel->end_col != INT64_MAX && sel->end_col <= last) end = (size_t)(sel->end_col - panel->first_col);
  slice_panel(panel, first, end > first ? end - first : 0);
}

static furrow_status reserve_copy(panel_selector *selector, size_t cols, size_t bytes, furrow_error *err) {
  FW_TRY(FW_GROW(&selector->values, &selector->values_capacity, bytes, err));
  return FW_GROW(&selector->col_ids, &selector->cols_capacity, cols, err);
}

/* Copies selected columns that are not contiguous to the selector's memory. */
static furrow_status gather_columns(panel_selector *selector, furrow_panel *panel, size_t count, furrow_error *err) {
  const size_t size = panel->rows * furrow_element_size(panel->type);
  FW_TRY(reserve_copy(selector, count, count * size, err));
  size_t n = 0;
  for (size_t c = 0; c < panel->cols; c++) {
    if (!fw_selection_has_col(selector->sel, panel->col_ids[c])) continue;
    memcpy(selector->values + n * size, (const char *)panel->values.any + c * size, size);
    selector->col_ids[n++] = panel->col_ids[c];
  }
  panel->values.any = selector->values;
  panel->col_ids = selector->col_ids;
  panel->cols = n;
  return FURROW_OK;
}

static furrow_status cut_columns(panel_selector *selector, furrow_panel *panel, furrow_error *err) {
  size_t count = 0, first = 0, end = 0; /* `end`: position after the last selected column */
  for (size_t c = 0; c < panel->cols; c++) {
    const bool chosen = fw_selection_has_col(selector->sel, panel->col_ids[c]);
    if (chosen && count == 0) first = c;
    if (chosen) end = c + 1;
    count += chosen;
  }
  if (count > 0 && end - first != count) return gather_columns(selector, panel, count, err);
  slice_panel(panel, first, count);
  return FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* Keeps the selected rows of a panel with all rows of the partition. Values already copied by gather_columns are moved
 * in place; none moves to a higher address. */
static furrow_status gather_rows(panel_selector *selector, furrow_panel *panel, furrow_error *err) {
  const size_t size = furrow_element_size(panel->type), rows = selector->row_count;
  if (panel->values.any != selector->values) {
    furrow_status status = reserve_copy(selector, 0, panel->cols * rows * size, err);
    if (status != FURROW_OK) return status;
  }
  const char *from = panel->values.any;
  char *to = selector->values;
  for (size_t c = 0; c < panel->cols; c++, from += panel->rows * size)
    for (size_t r = 0; r < rows; r++, to += size) memmove(to, from + selector->positions[r] * size, size);
  panel->values.any = selector->values;
  panel->rows = rows;
  panel->row_ids = selector->row_ids;
  return FURROW_OK;
}

static bool row_is_chosen(panel_selector *selector, int32_t row_id) {
  if (!selector->last_known || selector->last_row != row_id) {
    selector->last_chosen = fw_selection_has_row(selector->sel, row_id);
    selector->last_row = row_id;
    selector->last_known = true;
  }
  return selector->last_chosen;
}

/* Restricts *panel to the selection; panel->cols becomes 0 if nothing is selected. The result points into the original
 * panel or into the selector's memory, and is valid until the next call. */
static furrow_status select_panel(panel_selector *selector, furrow_panel *panel, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!selector->all_rows && panel->rows == 1 && !row_is_chosen(selector, panel->row_ids[0])) panel->cols = 0;
  if (panel->cols > 0 && !selector->all_cols) {
    if (panel->col_ids)
      status = cut_columns(selector, panel, err);
    else
      slice_counted(selector->sel, panel);
  }
  if (status == FURROW_OK && panel->cols > 0 && !selector->all_rows && panel->rows > 1)
    status = gather_rows(selector, panel, err);
  return status;
}

/* ---- Parallel scan of partitions ----------------------------------------------------------------------- */

enum { MOST_THREADS = 1024 };

/* Partitions are processed in order. The error of the first failing partition in that order is reported: threads on
 * later partitions stop, and earlier partitions are finished. So the result does not depend on the number of
 * threads. */
typedef struct visit_job {
  const furrow_matrix_source *source;
  const fw_selection *sel;
  furrow_panel_callback visit;
  void *user;
  atomic_size_t next;    /* next partition to process */
  atomic_size_t stop_at; /* partitions from this one on need not be processed */
  pthread_mutex_t lock;  /* guards status and error, which belong to partition stop_at */
  furrow_status status;
  furrow_error error;
} visit_job;

static void stop(visit_job *job, size_t part, furrow_status status, const furrow_error *error) {
  pthread_mutex_lock(&job->lock);
  if (part < atomic_load(&job->stop_at)) {
    atomic_store(&job->stop_at, part);
    job->status = status;
    job->error = *error;
  }
  pthread_mutex_unlock(&job->lock);
}

static furrow_status visit_part(visit_job *job, size_t part, furrow_partition_reader *reader, panel_selector *selector,
                                furrow_error *err) {
  furrow_panel panel;
  furrow_status status = panel_selector_start(selector, job->sel, &job->source->parts[part], err);
  if (status == FURROW_OK) status = fw_partition_reader_start(reader, part, err);
  if (status == FURROW_OK) fw_partition_reader_select(reader, job->sel);
  while (status == FURROW_OK && part < atomic_load_explicit(&job->stop_at, memory_order_relaxed)) {
    status = furrow_partition_reader_next(reader, &panel, err);
    if (status == FURROW_OK) status = select_panel(selector, &panel, err);
    if (status == FURROW_OK && panel.cols > 0) {
      status = job->visit(job->user, part, &panel, err);
      if (status != FURROW_OK) return status;
    }
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static bool is_wanted(const visit_job *job, size_t part) {
  return job->sel->parts[part] && fw_selection_has_any_col(job->sel, &job->source->parts[part]);
}

static void work(void *context, size_t worker) {
  visit_job *job = context;
  (void)worker;
  const size_t count = job->source->meta->part_count;
  furrow_partition_reader *reader = NULL;
  panel_selector selector = {0};
  furrow_error error = {0};
  furrow_status status = fw_partition_reader_create(&reader, job->source, &error);
  if (status != FURROW_OK) stop(job, 0, status, &error);
  while (status == FURROW_OK) {
    const size_t part = atomic_fetch_add(&job->next, 1);
    if (part >= count || part >= atomic_load(&job->stop_at)) break;
    if (!is_wanted(job, part)) continue;
    status = visit_part(job, part, reader, &selector, &error);
    if (status != FURROW_OK) stop(job, part, status, &error);
  }
  furrow_partition_reader_close(reader);
  panel_selector_clear(&selector);
}

static unsigned useful_threads(const visit_job *job, unsigned threads) {
  unsigned wanted = 0;
  if (threads == 0) threads = fw_processor_count();
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  for (size_t i = 0; i < job->source->meta->part_count && wanted < threads; i++) wanted += is_wanted(job, i);
  return wanted > 0 ? wanted : 1;
}

static furrow_status run_visit(visit_job *job, unsigned threads, furrow_error *err) {
  fw_pool *pool = NULL;
  if (threads == 1) {
    work(job, 0);
    return FURROW_OK;
  }
  furrow_status status = fw_pool_create(&pool, threads - 1, err);
  if (status == FURROW_OK) status = fw_pool_for(pool, threads, work, job, err);
  fw_pool_free(pool);
  return status;
}

furrow_status fw_selection_visit(const fw_selection *sel, const furrow_matrix_source *source, unsigned threads,
                                 furrow_panel_callback visit, void *user, furrow_error *err) {
  visit_job job = {.source = source, .sel = sel, .visit = visit, .user = user};
  atomic_init(&job.next, 0);
  atomic_init(&job.stop_at, SIZE_MAX);
  pthread_mutex_init(&job.lock, NULL);
  furrow_status status = run_visit(&job, useful_threads(&job, threads), err);
  pthread_mutex_destroy(&job.lock);
  if (status != FURROW_OK || job.status == FURROW_OK) return status;
  if (err) *err = job.error;
  return job.status;
}

furrow_status furrow_matrix_for_each_panel(const furrow_matrix_source *source, const furrow_matrix_scan_params *given,
                                           furrow_panel_callback visit, void *user, furrow_error *err) {
  furrow_matrix_scan_params params;
  fw_selection sel;
  furrow_matrix_scan_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_scan_params, err));
  furrow_status status = fw_selection_make(&sel, source, params.selection, err);
  if (status == FURROW_OK) status = fw_selection_visit(&sel, source, params.threads, visit, user, err);
  fw_selection_clear(&sel);
  return status;
}
