/* cli/model/matrix_summary.c: the summary of a matrix for 'model info'. */
#include "model/matrix_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "core/fail.h"

/* ---- Counting ------------------------------------------------------------------------------------------- */

int64_t part_elements(const furrow_partition_meta *part) {
  int64_t sum = 0;
  for (size_t r = 0; r < part->row_count; r++) {
    if (part->rows[r].element_num < 0) return -1;
    sum += part->rows[r].element_num;
  }
  return sum;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_starts(int64_t *starts, size_t count) {
  size_t different = 0;
  qsort(starts, count, sizeof *starts, fw_compare_i64);
  for (size_t i = 0; i < count; i++) different += i == 0 || starts[i] != starts[i - 1];
  return different;
}

static void count_files(matrix_summary *f, const char **names) {
  size_t count = f->meta->part_count;
  for (size_t i = 0; i < count; i++) names[i] = f->meta->parts[i].file_name;
  qsort(names, count, sizeof *names, compare_names);
  f->files = 0;
  for (size_t i = 0; i < count; i++) f->files += i == 0 || strcmp(names[i], names[i - 1]) != 0;
}

static void count_blocks(matrix_summary *f, int64_t *starts) {
  size_t count = f->meta->part_count;
  const furrow_partition_meta *parts = f->meta->parts;
  for (size_t i = 0; i < count; i++) starts[i] = parts[i].start_row;
  f->row_blocks = count_starts(starts, count);
  for (size_t i = 0; i < count; i++) starts[i] = parts[i].start_col;
  f->col_blocks = count_starts(starts, count);
  f->hash = count > 0 && parts[0].start_col == 0 && parts[0].end_col == 0;
}

static furrow_status count_parts(matrix_summary *f, furrow_error *err) {
  size_t count = f->meta->part_count;
  const char **names = calloc(count + 1, sizeof *names);
  int64_t *starts = calloc(count + 1, sizeof *starts);
  if (names && starts) {
    count_files(f, names);
    count_blocks(f, starts);
  }
  furrow_status status = names && starts ? FURROW_OK : fail_memory(err);
  free(names);
  free(starts);
  return status;
}

static void sum_parts(matrix_summary *f) {
  f->bytes = 0;
  f->elements = 0;
  for (size_t i = 0; i < f->meta->part_count; i++) {
    int64_t elements = part_elements(&f->meta->parts[i]);
    f->bytes += (uint64_t)f->meta->parts[i].length;
    f->elements = elements < 0 || f->elements < 0 ? -1 : f->elements + elements;
  }
}

static furrow_status count_rows(matrix_summary *f, furrow_error *err) {
  int32_t *rows = NULL;
  furrow_status status = saved_row_ids(f->meta, &rows, &f->saved_rows, err);
  if (status != FURROW_OK) return status;
  if (f->saved_rows) {
    f->first_row = rows[0];
    f->last_row = rows[f->saved_rows - 1];
  }
  free(rows);
  return FURROW_OK;
}

/* ---- Interface ------------------------------------------------------------------------------------------ */

/* Fills in what the metadata says and counts the rest. */
static furrow_status fill_summary(matrix_summary *f, furrow_error *err) {
  f->layer = furrow_layer_kind_of(f->meta->matrix_name, f->format, f->graph->text, f->graph->size);
  sum_parts(f);
  furrow_status status = count_parts(f, err);
  return status == FURROW_OK ? count_rows(f, err) : status;
}

void matrix_summary_start(matrix_summary *f, const char *folder, const furrow_matrix_source_params *params,
                          const graph_text *graph) {
  *f = (matrix_summary){.folder = folder, .params = *params, .graph = graph};
}

furrow_status matrix_summary_from_meta(matrix_summary *f, furrow_error *err) {
  const furrow_matrix_source_params *params = &f->params;
  furrow_status status = furrow_matrix_meta_load(&f->own_meta, f->folder, params->meta_name, err);
  if (status != FURROW_OK) return status;
  f->meta = f->own_meta;
  f->meta_name = params->meta_name;
  const char *format = params->format ? params->format : f->meta->format_class_name;
  if (format && furrow_matrix_format_find(format, &f->format, NULL) != FURROW_OK) f->format = NULL;
  f->type = furrow_matrix_row_type_get(params->row_type >= 0 ? params->row_type : f->meta->row_type);
  return fill_summary(f, err);
}

furrow_status matrix_summary_from_files(matrix_summary *f, unsigned threads, job *j, furrow_error *err) {
  furrow_status status = furrow_matrix_source_open(&f->source, f->folder, &f->params, err);
  if (status != FURROW_OK) return status;
  f->meta = furrow_matrix_source_meta(f->source);
  f->meta_name = furrow_matrix_source_meta_name(f->source);
  f->format = furrow_matrix_source_format(f->source);
  f->type = furrow_matrix_source_row_type(f->source);
  if (f->format->flags & FURROW_MATRIX_FORMAT_TEXT) f->separator = furrow_matrix_source_separator(f->source);
  furrow_matrix_stats_params params;
  furrow_matrix_stats_params_init(&params);
  params.threads = threads;
  params.progress = job_progress;
  params.progress_user = j;
  furrow_matrix_stats_init(&f->stats);
  status = fill_summary(f, err);
  if (status == FURROW_OK) status = furrow_matrix_compute_stats(f->source, &params, &f->stats, err);
  if (status != FURROW_OK) return status;
  f->with_stats = true;
  f->elements = (int64_t)f->stats.elements;
  return FURROW_OK;
}

void matrix_summary_close(matrix_summary *f) {
  furrow_matrix_source_close(f->source);
  furrow_matrix_meta_free(f->own_meta);
  *f = (matrix_summary){0};
}

double matrix_summary_density(const matrix_summary *f) {
  if (!f->with_stats || f->meta->col <= 0 || f->saved_rows == 0) return NAN;
  return (double)(f->stats.elements - f->stats.zeros) / ((double)f->saved_rows * (double)f->meta->col);
}
