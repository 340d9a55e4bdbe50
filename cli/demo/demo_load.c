/* cli/demo/demo_load.c: reads the files that the steps of the demo wrote: histories, models, indexes, recall curves. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fail.h"
#include "demo/demo_results.h"
#include "furrow/vector.h"
#include "learn/scoring.h"
#include "model/matrix_summary.h"

/* ---- Lines of text ---- */

typedef void (*take_line)(void *user, char *line);

static furrow_status read_lines(const char *path, take_line take, void *user, furrow_error *err) {
  char line[1024];
  FILE *file = fopen(path, "re");
  if (!file) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  while (fgets(line, sizeof line, file)) take(user, line);
  const bool failed = ferror(file) != 0;
  fclose(file);
  return failed ? fail_file(err, FURROW_E_IO, path, "cannot be read", 0) : FURROW_OK;
}

/* ---- Models ---- */

/* A line has epoch,rate,seconds,best,train_rows,valid_rows and the metrics of both: loss, auc …; an empty cell is
 * unknown. */
static void take_epoch(void *user, char *line) {
  enum { EPOCH = 0, TRAIN_LOSS = 6, TRAIN_AUC = 7, VALID_LOSS = 12, VALID_AUC = 13, CELLS };
  demo_model *model = user;
  double cells[CELLS];
  for (size_t i = 0; i < CELLS; i++) {
    const char *cell = strsep(&line, ",");
    char *end = NULL;
    cells[i] = cell ? strtod(cell, &end) : NAN;
    if (end == cell) cells[i] = NAN;
  }
  if (isnan(cells[EPOCH]) || model->epoch_count == DEMO_EPOCHS) return; /* the headings */
  model->epochs[model->epoch_count++] = (demo_epoch){.number = cells[EPOCH],
                                                     .train_loss = cells[TRAIN_LOSS],
                                                     .train_auc = cells[TRAIN_AUC],
                                                     .valid_loss = cells[VALID_LOSS],
                                                     .valid_auc = cells[VALID_AUC]};
}

furrow_status demo_load_history(demo_model *model, const char *path, furrow_error *err) {
  return read_lines(path, take_epoch, model, err);
}

static void take_metrics(demo_model *model, const furrow_evaluation *evaluation) {
  furrow_learn_metrics metrics;
  furrow_learn_metrics_init(&metrics);
  furrow_evaluation_get_metrics(evaluation, &metrics);
  model->logloss = metrics.logloss;
  model->auc = metrics.auc;
  for (uint32_t i = 0; i < DEMO_BINS; i++) {
    furrow_calibration_bin bin;
    furrow_calibration_bin_init(&bin);
    furrow_evaluation_get_calibration_bin(evaluation, DEMO_BINS, i, &bin);
    model->bins[i] = (demo_bin){bin.rows, bin.mean_prediction, bin.mean_label};
  }
}

furrow_status demo_load_quality(demo_model *model, const char *folder, const char *rows, uint32_t threads,
                                furrow_error *err) {
  const scoring_values values = {.model = folder, .data = rows, .threads = threads, .quiet = true};
  scoring s;
  furrow_evaluation *evaluation = NULL;
  const furrow_rowblock *block = NULL;
  furrow_status status = scoring_open(&s, &values, err);
  if (status == FURROW_OK) status = furrow_evaluation_create(&evaluation, s.scorer, err);
  while (status == FURROW_OK && (status = scoring_next(&s, &block, err)) == FURROW_OK)
    status = furrow_evaluation_add_block(evaluation, s.space, block, err);
  if (status == FURROW_END) {
    take_metrics(model, evaluation);
    status = FURROW_OK;
  }
  furrow_evaluation_free(evaluation);
  scoring_close(&s);
  return status;
}

static void copy_text(char *to, size_t size, const char *text) {
  snprintf(to, size, "%s", text ? text : "");
}

static void take_matrix(demo_matrix *matrix, const matrix_summary *f) {
  *matrix = (demo_matrix){.rows = f->meta->row,
                          .saved_rows = (double)f->saved_rows,
                          .columns = (double)f->meta->col,
                          .block_columns = (double)f->meta->block_col,
                          .partitions = (double)f->meta->part_count,
                          .files = (double)f->files,
                          .bytes = (double)f->bytes,
                          .elements = (double)f->elements,
                          .min = f->stats.min,
                          .max = f->stats.max,
                          .mean = f->stats.mean,
                          .deviation = f->stats.deviation};
  copy_text(matrix->name, sizeof matrix->name, f->meta->matrix_name);
  copy_text(matrix->format, sizeof matrix->format, f->format ? f->format->name : NULL);
  copy_text(matrix->row_type, sizeof matrix->row_type, f->type ? f->type->name : NULL);
  copy_text(matrix->layer, sizeof matrix->layer, furrow_layer_kind_name(f->layer));
}

furrow_status demo_load_matrices(demo_model *model, const char *folder, uint32_t threads, furrow_error *err) {
  furrow_model_listing *listing = NULL;
  graph_text graph = {0};
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  furrow_status status = furrow_model_listing_load(&listing, folder, err);
  if (status == FURROW_OK) status = graph_read(&graph, listing, err);
  for (size_t i = 0; status == FURROW_OK && i < listing->matrix_count && i < DEMO_MATRICES; i++) {
    matrix_summary facts;
    job reading;
    matrix_summary_start(&facts, listing->matrices[i].folder, &params, &graph);
    job_watch(&reading, "reading", true);
    status = matrix_summary_from_files(&facts, threads, &reading, err);
    if (status == FURROW_OK) take_matrix(&model->matrices[model->matrix_count++], &facts);
    matrix_summary_close(&facts);
  }
  graph_clear(&graph);
  furrow_model_listing_free(listing);
  return status;
}

/* ---- Indexes ---- */

furrow_status demo_load_index(demo_index *index, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index *loaded = NULL;
  furrow_index_info info;
  furrow_list_stats stats;
  struct stat file;
  furrow_index_info_init(&info);
  furrow_list_stats_init(&stats);
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  if (stat(index->name, &file) != 0) return fail_file(err, FURROW_E_IO, index->name, "cannot be read", errno);
  furrow_status status = furrow_index_load(&loaded, index->name, &params, err);
  const furrow_index *ivf = status == FURROW_OK ? furrow_index_ivf(loaded) : NULL;
  if (status == FURROW_OK && !ivf) status = fail_file(err, FURROW_E_FORMAT, index->name, "has no lists", 0);
  if (status == FURROW_OK) status = furrow_index_get_list_stats(ivf, &stats, err);
  if (status == FURROW_OK) {
    furrow_index_get_info(ivf, &info);
    index->bytes = (double)file.st_size;
    index->nlist = (double)info.nlist;
    index->code_size = (double)info.code_size;
    index->mean_list = stats.mean;
    index->imbalance = stats.imbalance;
  }
  furrow_index_free(loaded);
  return status;
}

/* A line has nprobe, three columns of 1-R@k, recall@10, p50 and p99 in milliseconds, queries per second; other lines
 * are text. */
static void take_point(void *user, char *line) {
  demo_index *index = user;
  demo_point point;
  if (index->point_count == DEMO_POINTS) return;
  if (sscanf(line, "%lf %*s %*s %*s %lf %lf %*s %lf", &point.nprobe, &point.recall, &point.seconds,
             &point.queries_per_second) != 4)
    return;
  point.seconds *= 1e-3;
  index->points[index->point_count++] = point;
}

furrow_status demo_load_curve(demo_index *index, const char *path, furrow_error *err) {
  return read_lines(path, take_point, index, err);
}

const demo_point *demo_point_of(const demo_results *all, size_t index) {
  const demo_index *searched = &all->indexes[index];
  for (size_t i = 0; i < searched->point_count; i++)
    if (searched->points[i].nprobe == all->nprobe) return &searched->points[i];
  return NULL;
}

double demo_recall(const demo_results *all, size_t index) {
  const demo_point *point = demo_point_of(all, index);
  return point ? point->recall : NAN;
}

static furrow_status take_field(void *user, const furrow_index_field *field) {
  demo_results *all = user;
  const size_t count = all->field_count;
  if ((count & (count - 1)) == 0) { /* the capacity is the next power of two */
    demo_field *fields = realloc(all->fields, (count ? 2 * count : 1) * sizeof *fields);
    if (!fields) return FURROW_E_MEMORY;
    all->fields = fields;
  }
  demo_field *taken = &all->fields[all->field_count++];
  *taken = (demo_field){.offset = (double)field->offset, .size = (double)field->size};
  copy_text(taken->name, sizeof taken->name, field->path);
  return FURROW_OK;
}

furrow_status demo_load_fields(demo_results *all, const char *path, furrow_error *err) {
  const furrow_status status = furrow_index_for_each_field(path, NULL, take_field, all, err);
  return status == FURROW_E_MEMORY ? fail_memory(err) : status;
}
