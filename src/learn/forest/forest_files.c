/* learn/forest/forest_files.c: a forest as a model directory, written and read: a matrix for each kind of number,
 * graph.json. */
#include "learn/forest/forest.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "learn/conf/conf.h"
#include "learn/nodes/forest_import.h"
#include "learn/parameters/parameters.h"
#include "model/jobs/verify.h"

/* ---- The matrices, and where their numbers are in a forest ------------------------------------------------------ */

typedef enum matrix_id { FEATURE, VALUE, PREDICT, GAIN, SUMS, MISSING, MATRICES } matrix_id;

/* In the order in which they are read. */
typedef struct matrix_spec {
  matrix_id kind;
  const char *name;
  int32_t id, row_type; /* Angel's number of it; 21: T_INT_DENSE, 0: T_DOUBLE_DENSE */
} matrix_spec;

static const matrix_spec matrices[MATRICES] = {
    {FEATURE, "gbdt.split.feature", 4, 21}, {VALUE, "gbdt.split.value", 5, 0},
    {PREDICT, "gbdt.node.predict", 8, 0},   {GAIN, "gbdt.split.gain", 6, 0},
    {SUMS, "gbdt.node.grad.stats", 7, 0},   {MISSING, "gbdt.split.missing", 10, 21}, /* Furrow's own */
};

/* Columns: the nodes of a tree; twice as many where a node has two sums. */
static size_t column_count(const fw_forest *forest, const matrix_spec *about) {
  return about->kind == SUMS ? 2 * forest->nodes : forest->nodes;
}

/* Where a number of a matrix of doubles is. Sums: the gradients of all nodes, then the hessians. */
static double *real_at(const fw_forest *forest, const matrix_spec *about, size_t tree, size_t col) {
  const size_t at = tree * forest->nodes + col;
  switch (about->kind) {
  case VALUE: return &forest->value[at];
  case PREDICT: return &forest->predict[at];
  case GAIN: return &forest->gain[at];
  default: return col < forest->nodes ? &forest->gradient[at] : &forest->hessian[at - forest->nodes];
  }
}

static double number_at(const fw_forest *forest, const matrix_spec *about, size_t tree, size_t col) {
  const size_t at = tree * forest->nodes + col;
  if (about->kind == FEATURE) return forest->feature[at];
  return about->kind == MISSING ? forest->missing_flipped[at] : *real_at(forest, about, tree, col);
}

static void set_number(fw_forest *forest, const matrix_spec *about, size_t tree, size_t col, double number) {
  const size_t at = tree * forest->nodes + col;
  if (about->kind == FEATURE)
    forest->feature[at] = (int32_t)number;
  else if (about->kind == MISSING)
    forest->missing_flipped[at] = number == 0 ? 0 : number == 1 ? 1 : 2; /* fw_forest_check refuses 2 */
  else
    *real_at(forest, about, tree, col) = number;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

enum { PANEL_NUMBERS = 65536 };

/* One matrix that is being written: a row for each tree. */
typedef struct writing {
  const fw_forest *forest;
  const matrix_spec *about;
  size_t cols;
  furrow_element_type type;
  int32_t *tree_ids;
  void *values; /* values of a panel: at least a row, at least a column */
  furrow_matrix_writer *writer;
} writing;

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

/* `count` columns of trees first … first+trees-1; numbers of a column stand side by side. */
static furrow_status put_panel(writing *w, size_t first, size_t trees, size_t col, size_t count, furrow_error *err) {
  for (size_t i = 0; i < count * trees; i++) {
    const double number = number_at(w->forest, w->about, first + i % trees, col + i / trees);
    if (w->type == FURROW_ELEMENT_I32)
      ((int32_t *)w->values)[i] = (int32_t)number;
    else
      ((double *)w->values)[i] = number;
  }
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
  for (size_t tree = 0; tree < trees; tree += step)
    for (size_t col = (size_t)part->start_col; col < end; col += most)
      FW_TRY(put_panel(w, tree, step, col, end - col < most ? end - col : most, err));
  return FURROW_OK;
}

static furrow_status reserve_panel(writing *w, furrow_error *err) {
  const size_t trees = w->forest->trees, numbers = trees > PANEL_NUMBERS ? trees : PANEL_NUMBERS;
  FW_TRY(fw_alloc(&w->values, numbers, furrow_element_size(w->type), err));
  FW_TRY(FW_ALLOC(&w->tree_ids, trees, err));
  for (size_t t = 0; t < trees; t++) w->tree_ids[t] = (int32_t)t;
  return FURROW_OK;
}

static furrow_status put_matrix(furrow_model_writer *model, const fw_forest *forest, const matrix_spec *about,
                                const fw_save_params *params, furrow_error *err) {
  writing w = {.forest = forest, .about = about, .cols = column_count(forest, about)};
  w.type = furrow_matrix_row_type_get(about->row_type)->element;
  const furrow_matrix_format *format = furrow_layer_formats_get(params->formats, FURROW_LAYER_OTHER);
  furrow_matrix_meta *meta = NULL;
  furrow_status status = plan_matrix(&meta, &w, params, err);
  if (status == FURROW_OK) status = reserve_panel(&w, err);
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

static bool is_saved(const fw_forest *forest, const fw_plan *plan, matrix_id id) {
  switch (id) {
  case MISSING:
    for (size_t at = 0; at < forest->trees * forest->nodes; at++)
      if (forest->missing_flipped[at]) return true;
    return false;
  case GAIN:
  case SUMS: return plan->forest.node_stats && forest->gain;
  default: return true;
  }
}

furrow_status fw_forest_save(const fw_forest *forest, const fw_plan *plan, const furrow_learn_conf *conf,
                             const fw_buffer *about, const char *folder, const furrow_trainer_save_params *params,
                             furrow_error *err) {
  fw_save_params used;
  FW_TRY(fw_save_params_read(&used, params, 1, err));
  furrow_model_writer *model = NULL;
  if (forest->trees == 0) return fw_fail(err, FURROW_E_STATE, "there is no tree to save yet");
  furrow_status status = furrow_model_writer_open(&model, folder, &used.write, err);
  for (size_t i = 0; status == FURROW_OK && i < MATRICES; i++)
    if (is_saved(forest, plan, i)) status = put_matrix(model, forest, &matrices[i], &used, err);
  if (status == FURROW_OK) status = fw_model_put_graph(model, conf, about, err);
  if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  furrow_model_writer_close(model);
  return status;
}

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

typedef struct reading {
  const fw_plan *plan;
  const char *folder;
  unsigned threads;
  bool with_stats;
  fw_forest *forest; /* NULL: its features are not read yet */
} reading;

/* ---- One matrix ---- */

static bool is_there(const char *folder, matrix_id kind) {
  char *path = NULL;
  struct stat info;
  if (fw_path_join(&path, folder, matrices[kind].name, NULL) != FURROW_OK) return false;
  const bool there = fw_path_stat(path, &info, NULL) == FURROW_OK && S_ISDIR(info.st_mode);
  fw_free(path);
  return there;
}

static furrow_status open_matrix(furrow_matrix_source **source, const char *folder, matrix_id kind, furrow_error *err) {
  char *path = NULL;
  FW_TRY(fw_path_join(&path, folder, matrices[kind].name, err));
  const furrow_status status = furrow_matrix_source_open(source, path, NULL, err);
  if (status == FURROW_E_NOT_FOUND && !is_there(folder, kind)) {
    fw_fail(err, status, "the matrix is missing, but a forest needs it");
    fw_error_set_file(err, path);
  }
  fw_free(path);
  return status;
}

/* Whole numbers for features, others for the rest. Angel 1 has floats where later ones have doubles. */
static furrow_status check_type(const furrow_matrix_row_type *type, const matrix_spec *about, furrow_error *err) {
  const bool whole = furrow_matrix_row_type_get(about->row_type)->element == FURROW_ELEMENT_I32;
  if (whole ? type->element == FURROW_ELEMENT_I32
            : type->element == FURROW_ELEMENT_F64 || type->element == FURROW_ELEMENT_F32)
    return FURROW_OK;
  return fw_fail(err, FURROW_E_FORMAT, "%s is of %s, but it must be of %s", about->name, type->name,
                 whole ? "T_INT" : "T_DOUBLE or T_FLOAT");
}

static furrow_status check_shape(const furrow_matrix_meta *meta, const fw_forest *forest, const matrix_spec *about,
                                 furrow_error *err) {
  const size_t cols = column_count(forest, about);
  if (meta->row >= 0 && (size_t)meta->row == forest->trees && meta->col >= 0 && (uint64_t)meta->col == cols)
    return FURROW_OK;
  return fw_fail(err, FURROW_E_FORMAT, "%s has %d rows of %lld columns, but %zu trees of %zu nodes want %zu of %zu",
                 about->name, meta->row, (long long)meta->col, forest->trees, forest->nodes, forest->trees, cols);
}

static furrow_status take_row(const furrow_matrix *matrix, fw_forest *forest, const matrix_spec *about, size_t tree,
                              furrow_error *err) {
  const size_t cols = column_count(forest, about);
  furrow_matrix_row_view row;
  if (!furrow_matrix_row(matrix, (int32_t)tree, &row))
    return fw_fail(err, FURROW_E_FORMAT, "%s has no row of tree %zu", about->name, tree);
  for (size_t i = 0; i < cols; i++) {
    if (i >= row.count || furrow_matrix_row_view_col(&row, i) != (int64_t)i)
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: %s has no number for it", tree, i % forest->nodes,
                     about->name);
    set_number(forest, about, tree, i, furrow_matrix_row_view_get(&row, i));
  }
  return FURROW_OK;
}

/* ---- The matrix that says how many trees of how many nodes there are ---- */

/* Returns the number of levels of trees with `nodes` nodes; 0: trees cannot have this number of nodes. */
static unsigned levels_of(int64_t nodes) {
  for (unsigned levels = 1; levels <= FW_FOREST_LEVELS; levels++)
    if (nodes == ((int64_t)1 << levels) - 1) return levels;
  return 0;
}

static furrow_status check_trees(const furrow_matrix_meta *meta, size_t classes, furrow_error *err) {
  if (levels_of(meta->col) == 0)
    return fw_fail(err, FURROW_E_FORMAT, "%s has %lld columns, but a tree has 2^levels - 1 nodes, levels 1 to %d",
                   matrices[FEATURE].name, (long long)meta->col, FW_FOREST_LEVELS);
  if (meta->row < 1 || (size_t)meta->row % classes != 0)
    return fw_fail(err, FURROW_E_FORMAT, "%s has %d rows, but there is a tree for each of %zu classes in a round",
                   matrices[FEATURE].name, meta->row, classes);
  return FURROW_OK;
}

/* A forest of as many trees as the matrix has rows; nothing is made for them before the matrix has been read. */
static furrow_status begin_forest(reading *r, const furrow_matrix_meta *meta, const furrow_matrix *features,
                                  furrow_error *err) {
  if (furrow_matrix_count(features) != (uint64_t)meta->row * (uint64_t)meta->col)
    return fw_fail(err, FURROW_E_FORMAT, "%s has %llu numbers, but %d rows of %lld columns", matrices[FEATURE].name,
                   (unsigned long long)furrow_matrix_count(features), meta->row, (long long)meta->col);
  FW_TRY(fw_forest_create(&r->forest, r->plan->graph.outputs, levels_of(meta->col), r->with_stats, err));
  return fw_forest_add(r->forest, (size_t)meta->row, err);
}

/* The first matrix has the features of the nodes. */
static furrow_status take_matrix(reading *r, const furrow_matrix_source *source, const matrix_spec *about,
                                 furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  furrow_matrix *matrix = NULL;
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.threads = r->threads;
  FW_TRY(check_type(furrow_matrix_source_row_type(source), about, err));
  FW_TRY(r->forest ? check_shape(meta, r->forest, about, err) : check_trees(meta, r->plan->graph.outputs, err));
  furrow_status status = furrow_matrix_load_source(&matrix, source, &params, err);
  if (status == FURROW_OK && !r->forest) status = begin_forest(r, meta, matrix, err);
  for (size_t tree = 0; status == FURROW_OK && tree < r->forest->trees; tree++)
    status = take_row(matrix, r->forest, about, tree, err);
  furrow_matrix_free(matrix);
  return status;
}

static furrow_status read_matrix(reading *r, matrix_id kind, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  FW_TRY(open_matrix(&source, r->folder, kind, err));
  furrow_status status = fw_matrix_check_layout(furrow_matrix_source_folder(source), err);
  if (status == FURROW_OK) status = take_matrix(r, source, &matrices[kind], err);
  if (status == FURROW_E_FORMAT && err && !err->file[0]) fw_error_set_file(err, furrow_matrix_source_folder(source));
  furrow_matrix_source_close(source);
  return status;
}

/* ---- Positions without a node ---- */

/* Angel's servers start with zeros and its trainer writes the nodes that it tried to split: -1 where that failed. So in
 * its models nodes of the last level, and nodes that no row reaches, have feature 0 and value 0. Its predictor goes
 * on from such a leaf, leaves the tree, and takes the leaf's prediction: so the node is a leaf. */

/* Numbers of nodes that no row reaches mean nothing; nor does the split value of a leaf. */
static void clear_node(fw_forest *forest, size_t at) {
  const size_t node = at % forest->nodes;
  if (node >= forest->nodes / 2 && forest->feature[at] == 0 && forest->value[at] == 0) forest->feature[at] = -1;
  if (!fw_forest_has_node(forest, at / forest->nodes, node)) {
    forest->feature[at] = -1;
    forest->predict[at] = 0;
    if (forest->gain) forest->gain[at] = forest->gradient[at] = forest->hessian[at] = 0;
  }
  if (forest->feature[at] != -1) return;
  forest->value[at] = 0;
  forest->missing_flipped[at] = 0;
}

static bool is_wanted(const reading *r, matrix_id kind) {
  return kind == MISSING ? is_there(r->folder, MISSING) : r->with_stats || (kind != GAIN && kind != SUMS);
}

furrow_status fw_forest_load(fw_forest **forest, const fw_plan *plan, const char *folder, unsigned threads,
                             furrow_error *err) {
  reading r = {.plan = plan, .folder = folder, .threads = threads};
  if (fw_node_forest_is_at(folder)) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "trees of another program can be scored, not trained further");
    fw_error_set_file(err, folder);
    return FURROW_E_UNSUPPORTED;
  }
  r.with_stats = is_there(folder, GAIN) || is_there(folder, SUMS);
  furrow_status status = FURROW_OK;
  for (matrix_id kind = 0; status == FURROW_OK && kind < MATRICES; kind++)
    if (is_wanted(&r, kind)) status = read_matrix(&r, kind, err);
  if (status == FURROW_OK) {
    for (size_t at = 0; at < r.forest->trees * r.forest->nodes; at++) clear_node(r.forest, at);
    status = fw_forest_check(r.forest, plan->data.range > 0 ? (uint64_t)plan->data.range : 0, err);
    if (status != FURROW_OK) fw_error_set_file(err, folder);
  }
  if (status == FURROW_OK)
    *forest = r.forest;
  else
    fw_forest_free(r.forest);
  return status;
}
