/* learn/forest/forest_out.c: a forest as a model directory: a matrix for each kind of number, graph.json. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/forest/forest_files.h"
#include "learn/forest/forest_matrices.h"
#include "learn/train/model_out.h"

enum { PANEL_NUMBERS = 65536 };

/* One matrix that is being written: a row for each tree. */
typedef struct writing {
  const fw_forest *forest;
  const fw_forest_matrix *about;
  size_t cols;
  furrow_element_type type;
  int32_t *tree_ids;
  char *values; /* room for a panel: at least a row, at least a column */
  furrow_matrix_writer *writer;
} writing;

/* ---- What a matrix is like ---- */

/* Partitions hold all trees and as many columns as there are for each server, as Angel's. */
static furrow_status plan_matrix(furrow_matrix_meta **meta, const writing *w, const fw_save_params *params,
                                 furrow_error *err) {
  const furrow_matrix_row_type *row_type = furrow_matrix_row_type_get(w->about->row_type);
  const furrow_matrix_option oplog = {"matrix.oplog.type", row_type->name};
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  spec.matrix_id = w->about->id;
  spec.name = w->about->name;
  spec.format = furrow_layer_formats_get(params->formats, FURROW_LAYER_OTHER)->name;
  spec.row_type = row_type->number;
  spec.rows = (int32_t)w->forest->trees;
  spec.cols = (int64_t)w->cols;
  spec.options = &oplog;
  spec.option_count = 1;
  spec.servers = params->servers;
  if (params->part_size > 0)
    spec.part_size = params->part_size;
  else if (params->servers > 0)
    spec.block_cols = spec.cols > params->servers ? spec.cols / params->servers : 1;
  return furrow_matrix_plan(meta, &spec, err);
}

/* ---- Elements ---- */

/* Columns first … first+count-1 of a tree, to every `step`-th place of `to`. */
static void copy_columns(const writing *w, size_t tree, size_t first, size_t count, size_t step, void *to) {
  for (size_t i = 0; i < count; i++) {
    const double number = fw_forest_matrix_get(w->forest, w->about, tree, first + i);
    if (w->type == FURROW_ELEMENT_I32)
      ((int32_t *)to)[i * step] = (int32_t)number;
    else
      ((double *)to)[i * step] = number;
  }
}

/* `count` columns of trees first … first+trees-1; numbers of a column stand side by side. */
static furrow_status put_panel(writing *w, size_t first, size_t trees, size_t col, size_t count, furrow_error *err) {
  const size_t size = furrow_element_size(w->type);
  for (size_t t = 0; t < trees; t++) copy_columns(w, first + t, col, count, trees, w->values + t * size);
  const furrow_panel panel = {.rows = trees,
                              .row_ids = w->tree_ids + first,
                              .cols = count,
                              .first_col = (int64_t)col,
                              .type = w->type,
                              .values.any = w->values};
  return furrow_matrix_writer_write_panel(w->writer, &panel, err);
}

/* Row formats take tree after tree, column formats all trees at once. */
static furrow_status put_part(writing *w, const furrow_partition_meta *part, bool by_column, furrow_error *err) {
  const size_t trees = w->forest->trees, step = by_column ? trees : 1;
  const size_t most = PANEL_NUMBERS / step > 0 ? PANEL_NUMBERS / step : 1;
  const size_t end = (size_t)part->end_col;
  furrow_status status = FURROW_OK;
  for (size_t tree = 0; status == FURROW_OK && tree < trees; tree += step) {
    for (size_t col = (size_t)part->start_col; status == FURROW_OK && col < end; col += most)
      status = put_panel(w, tree, step, col, end - col < most ? end - col : most, err);
  }
  return status;
}

static furrow_status ensure_capacity(writing *w, furrow_error *err) {
  const size_t trees = w->forest->trees;
  const size_t numbers = trees > PANEL_NUMBERS ? trees : PANEL_NUMBERS;
  furrow_status status = fw_alloc((void **)&w->values, numbers, furrow_element_size(w->type), err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w->tree_ids, trees, sizeof *w->tree_ids, err);
  for (size_t t = 0; status == FURROW_OK && t < trees; t++) w->tree_ids[t] = (int32_t)t;
  return status;
}

static furrow_status put_matrix(furrow_model_writer *model, const fw_forest *forest, const fw_forest_matrix *about,
                                const fw_save_params *params, furrow_error *err) {
  writing w = {.forest = forest, .about = about, .cols = fw_forest_matrix_cols(forest, about)};
  w.type = furrow_matrix_row_type_get(about->row_type)->element;
  const furrow_matrix_format *format = furrow_layer_formats_get(params->formats, FURROW_LAYER_OTHER);
  furrow_matrix_meta *meta = NULL;
  furrow_status status = plan_matrix(&meta, &w, params, err);
  if (status == FURROW_OK) status = ensure_capacity(&w, err);
  if (status == FURROW_OK) status = furrow_matrix_writer_open_in(&w.writer, model, meta, &params->write, err);
  for (size_t i = 0; status == FURROW_OK && i < meta->part_count; i++) {
    status = furrow_matrix_writer_begin_partition(w.writer, i, err);
    if (status == FURROW_OK)
      status = put_part(&w, &meta->parts[i], (format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN) != 0, err);
  }
  if (status == FURROW_OK) status = furrow_matrix_writer_commit(w.writer, err);
  furrow_matrix_writer_close(w.writer);
  fw_free(w.values);
  fw_free(w.tree_ids);
  furrow_matrix_meta_free(meta);
  return status;
}

/* ---- The directory ---- */

static bool is_saved(const fw_forest *forest, const fw_plan *plan, fw_forest_matrix_id id) {
  switch (id) {
  case FW_FOREST_MISSING:
    for (size_t at = 0; at < forest->trees * forest->nodes; at++)
      if (forest->missing_flipped[at]) return true;
    return false;
  case FW_FOREST_GAIN:
  case FW_FOREST_SUMS: return plan->forest.node_stats && forest->gain;
  default: return true;
  }
}

furrow_status fw_forest_save(const fw_forest *forest, const fw_plan *plan, const furrow_learn_conf *conf,
                             const char *folder, const furrow_trainer_save_params *params, furrow_error *err) {
  fw_save_params used;
  FW_TRY(fw_save_params_read(&used, params, err));
  furrow_model_writer *model = NULL;
  if (forest->trees == 0) return fw_fail(err, FURROW_E_STATE, "there is no tree to save yet");
  furrow_status status = furrow_model_writer_open(&model, folder, &used.write, err);
  for (size_t i = 0; status == FURROW_OK && i < FW_FOREST_MATRICES; i++)
    if (is_saved(forest, plan, i)) status = put_matrix(model, forest, &fw_forest_matrices[i], &used, err);
  if (status == FURROW_OK) status = fw_model_put_graph(model, conf, err);
  if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  furrow_model_writer_close(model);
  return status;
}
