/* learn/forest/forest_files.c: a forest as a model directory, written and read: a matrix for each kind of number,
 * graph.json. */
#include "learn/forest/forest_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "learn/conf/model_dir.h"

/* ---- The matrices, and where their numbers are in a forest ------------------------------------------------------ */

/* X(name, Angel's name, Angel's number of it, row type: 21 T_INT_DENSE, 0 T_DOUBLE_DENSE). The last is Furrow's own. */
#define MATRIX_LIST(X)                    \
  X(FEATURE, "gbdt.split.feature", 4, 21) \
  X(VALUE, "gbdt.split.value", 5, 0)      \
  X(GAIN, "gbdt.split.gain", 6, 0)        \
  X(SUMS, "gbdt.node.grad.stats", 7, 0)   \
  X(PREDICT, "gbdt.node.predict", 8, 0)   \
  X(MISSING, "gbdt.split.missing", 10, 21)

typedef enum matrix_id {
#define FURROW_X(name, text, id, row_type) MATRIX_##name,
  MATRIX_LIST(FURROW_X)
#undef FURROW_X
      MATRICES
} matrix_id;

typedef struct matrix_spec {
  matrix_id kind;
  const char *name;
  int32_t id, row_type;
} matrix_spec;

static const matrix_spec matrices[MATRICES] = {
#define FURROW_X(name, text, id, row_type) {MATRIX_##name, text, id, row_type},
    MATRIX_LIST(FURROW_X)
#undef FURROW_X
};

/* Columns: the nodes of a tree; twice as many where a node has two sums. */
static size_t column_count(const fw_forest *forest, const matrix_spec *about) {
  return about->kind == MATRIX_SUMS ? 2 * forest->nodes : forest->nodes;
}

/* Sums: the gradients of all nodes, then the hessians. */
static double *sum_at(const fw_forest *forest, size_t tree, size_t col) {
  const size_t base = tree * forest->nodes;
  return col < forest->nodes ? &forest->gradient[base + col] : &forest->hessian[base + col - forest->nodes];
}

static double number_at(const fw_forest *forest, const matrix_spec *about, size_t tree, size_t col) {
  const size_t at = tree * forest->nodes + col;
  switch (about->kind) {
  case MATRIX_FEATURE: return forest->feature[at];
  case MATRIX_VALUE: return forest->value[at];
  case MATRIX_GAIN: return forest->gain[at];
  case MATRIX_SUMS: return *sum_at(forest, tree, col);
  case MATRIX_PREDICT: return forest->predict[at];
  default: return forest->missing_flipped[at];
  }
}

static void set_number(fw_forest *forest, const matrix_spec *about, size_t tree, size_t col, double number) {
  const size_t at = tree * forest->nodes + col;
  switch (about->kind) {
  case MATRIX_FEATURE: forest->feature[at] = (int32_t)number; break;
  case MATRIX_VALUE: forest->value[at] = number; break;
  case MATRIX_GAIN: forest->gain[at] = number; break;
  case MATRIX_SUMS: *sum_at(forest, tree, col) = number; break;
  case MATRIX_PREDICT: forest->predict[at] = number; break;
  default: forest->missing_flipped[at] = number == 0 ? 0 : number == 1 ? 1 : 2; break; /* 2: the check refuses it */
  }
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
  char *values; /* of a panel: at least a row, at least a column */
  furrow_matrix_writer *writer;
} writing;

/* ---- Shape and type of a matrix ---- */

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
    const double number = number_at(w->forest, w->about, tree, first + i);
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

static furrow_status put_matrix(furrow_model_writer *model, const fw_forest *forest, const matrix_spec *about,
                                const fw_save_params *params, furrow_error *err) {
  writing w = {.forest = forest, .about = about, .cols = column_count(forest, about)};
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

static bool is_saved(const fw_forest *forest, const fw_plan *plan, matrix_id id) {
  switch (id) {
  case MATRIX_MISSING:
    for (size_t at = 0; at < forest->trees * forest->nodes; at++)
      if (forest->missing_flipped[at]) return true;
    return false;
  case MATRIX_GAIN:
  case MATRIX_SUMS: return plan->forest.node_stats && forest->gain;
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

/* ---- One matrix ---- */

static bool is_there(const char *folder, const matrix_spec *about) {
  char *path = NULL;
  struct stat info;
  if (fw_path_join(&path, folder, about->name, NULL) != FURROW_OK) return false;
  const bool there = fw_path_stat(path, &info, NULL) == FURROW_OK && S_ISDIR(info.st_mode);
  fw_free(path);
  return there;
}

bool fw_forest_is_at(const char *folder) {
  return is_there(folder, &matrices[MATRIX_FEATURE]);
}

static furrow_status open_matrix(furrow_matrix_source **source, const char *folder, const matrix_spec *about,
                                 furrow_error *err) {
  char *path = NULL;
  furrow_status status = fw_path_join(&path, folder, about->name, err);
  if (status != FURROW_OK) return status;
  status = furrow_matrix_source_open(source, path, NULL, err);
  if (status == FURROW_E_NOT_FOUND && !is_there(folder, about)) {
    fw_fail(err, status, "there is no such matrix, which a forest has");
    fw_error_set_file(err, path);
  }
  fw_free(path);
  return status;
}

static furrow_status misfit(const furrow_matrix_source *source, furrow_error *err) {
  fw_error_set_file(err, furrow_matrix_source_folder(source));
  return FURROW_E_FORMAT;
}

/* Whole numbers for features, others for the rest. Angel 1 has floats where later ones have doubles. */
static furrow_status check_type(const furrow_matrix_source *source, const matrix_spec *about, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_source_row_type(source);
  const bool whole = furrow_matrix_row_type_get(about->row_type)->element == FURROW_ELEMENT_I32;
  if (whole ? type->element == FURROW_ELEMENT_I32
            : type->element == FURROW_ELEMENT_F64 || type->element == FURROW_ELEMENT_F32)
    return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "%s is of %s, but it must be of %s", about->name, type->name,
          whole ? "T_INT" : "T_DOUBLE or T_FLOAT");
  return misfit(source, err);
}

static furrow_status check_shape(const furrow_matrix_source *source, const fw_forest *forest, const matrix_spec *about,
                                 furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const size_t cols = column_count(forest, about);
  if (meta->row >= 0 && (size_t)meta->row == forest->trees && meta->col >= 0 && (uint64_t)meta->col == cols)
    return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "%s has %d rows of %lld columns, but %zu trees of %zu nodes want %zu of %zu",
          about->name, meta->row, (long long)meta->col, forest->trees, forest->nodes, forest->trees, cols);
  return misfit(source, err);
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

static furrow_status take_matrix(const furrow_matrix_source *source, const furrow_matrix *matrix, fw_forest *forest,
                                 const matrix_spec *about, furrow_error *err) {
  for (size_t tree = 0; tree < forest->trees; tree++)
    if (take_row(matrix, forest, about, tree, err) != FURROW_OK) return misfit(source, err);
  return FURROW_OK;
}

static furrow_status load_matrix(furrow_matrix **matrix, const furrow_matrix_source *source, unsigned threads,
                                 furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  params.threads = threads;
  return furrow_matrix_load_source(matrix, source, &params, err);
}

static furrow_status read_matrix(fw_forest *forest, const char *folder, matrix_id kind, unsigned threads,
                                 furrow_error *err) {
  const matrix_spec *about = &matrices[kind];
  furrow_matrix_source *source = NULL;
  furrow_matrix *matrix = NULL;
  furrow_status status = open_matrix(&source, folder, about, err);
  if (status == FURROW_OK) status = check_type(source, about, err);
  if (status == FURROW_OK) status = check_shape(source, forest, about, err);
  if (status == FURROW_OK) status = load_matrix(&matrix, source, threads, err);
  if (status == FURROW_OK) status = take_matrix(source, matrix, forest, about, err);
  furrow_matrix_free(matrix);
  furrow_matrix_source_close(source);
  return status;
}

/* ---- The matrix that says how many trees of how many nodes there are ---- */

/* Levels of trees of so many nodes; 0: no such trees. */
static unsigned levels_of(int64_t nodes) {
  for (unsigned levels = 1; levels <= FW_FOREST_LEVELS; levels++)
    if (nodes == ((int64_t)1 << levels) - 1) return levels;
  return 0;
}

static furrow_status check_forest_shape(const furrow_matrix_source *source, const fw_plan *plan, furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const size_t classes = plan->graph.outputs;
  if (levels_of(meta->col) == 0) {
    fw_fail(err, FURROW_E_FORMAT, "%s has %lld columns, but a tree has 2^levels - 1 nodes, levels 1 to %d",
            matrices[MATRIX_FEATURE].name, (long long)meta->col, FW_FOREST_LEVELS);
    return misfit(source, err);
  }
  if (meta->row < 1 || (size_t)meta->row % classes != 0) {
    fw_fail(err, FURROW_E_FORMAT, "%s has %d rows, but there is a tree for each of %zu classes in a round",
            matrices[MATRIX_FEATURE].name, meta->row, classes);
    return misfit(source, err);
  }
  return FURROW_OK;
}

/* A forest of as many trees as the matrix has rows; nothing is made for them before the matrix has been read. */
static furrow_status begin_forest(fw_forest **forest, const furrow_matrix_source *source, const furrow_matrix *features,
                                  const fw_plan *plan, bool with_stats, furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const matrix_spec *about = &matrices[MATRIX_FEATURE];
  if (furrow_matrix_count(features) != (uint64_t)meta->row * (uint64_t)meta->col) {
    fw_fail(err, FURROW_E_FORMAT, "%s has %llu numbers, but %d rows of %lld columns", about->name,
            (unsigned long long)furrow_matrix_count(features), meta->row, (long long)meta->col);
    return misfit(source, err);
  }
  fw_forest *made = NULL;
  furrow_status status = fw_forest_create(&made, plan->graph.outputs, levels_of(meta->col), with_stats, err);
  if (status == FURROW_OK) status = fw_forest_add(made, (size_t)meta->row, err);
  if (status == FURROW_OK) status = take_matrix(source, features, made, about, err);
  if (status == FURROW_OK)
    *forest = made;
  else
    fw_forest_free(made);
  return status;
}

static furrow_status read_features(fw_forest **forest, const fw_plan *plan, const char *folder, bool with_stats,
                                   unsigned threads, furrow_error *err) {
  const matrix_spec *about = &matrices[MATRIX_FEATURE];
  furrow_matrix_source *source = NULL;
  furrow_matrix *matrix = NULL;
  furrow_status status = open_matrix(&source, folder, about, err);
  if (status == FURROW_OK) status = check_type(source, about, err);
  if (status == FURROW_OK) status = check_forest_shape(source, plan, err);
  if (status == FURROW_OK) status = load_matrix(&matrix, source, threads, err);
  if (status == FURROW_OK) status = begin_forest(forest, source, matrix, plan, with_stats, err);
  furrow_matrix_free(matrix);
  furrow_matrix_source_close(source);
  return status;
}

/* ---- Positions without a node ---- */

/* Angel's servers start with zeros and its trainer writes the nodes that it tried to split: -1 where that failed. So in
 * its models nodes of the last level, and nodes that no row reaches, have feature 0 and value 0. Its predictor goes
 * on from such a leaf, leaves the tree, and takes the leaf's prediction: so the node is a leaf. */

/* Numbers of nodes that no row reaches mean nothing; nor does the split value of a leaf. */
static void clear_node(fw_forest *forest, size_t at, bool there) {
  const size_t node = at % forest->nodes;
  if (node >= forest->nodes / 2 && forest->feature[at] == 0 && forest->value[at] == 0) forest->feature[at] = -1;
  if (!there) {
    forest->feature[at] = -1;
    forest->predict[at] = 0;
    if (forest->gain) forest->gain[at] = forest->gradient[at] = forest->hessian[at] = 0;
  }
  if (forest->feature[at] != -1) return;
  forest->value[at] = 0;
  forest->missing_flipped[at] = 0;
}

static void clear_trees(fw_forest *forest) {
  for (size_t tree = 0; tree < forest->trees; tree++)
    for (size_t node = 0; node < forest->nodes; node++)
      clear_node(forest, tree * forest->nodes + node, fw_forest_has_node(forest, tree, node));
}

static furrow_status finish(fw_forest *forest, const fw_plan *plan, const char *folder, furrow_error *err) {
  clear_trees(forest);
  furrow_status status = fw_forest_check(forest, plan->data.range > 0 ? (uint64_t)plan->data.range : 0, err);
  if (status != FURROW_OK) fw_error_set_file(err, folder);
  return status;
}

furrow_status fw_forest_load(fw_forest **forest, const fw_plan *plan, const char *folder, unsigned threads,
                             furrow_error *err) {
  const bool with_stats = is_there(folder, &matrices[MATRIX_GAIN]) || is_there(folder, &matrices[MATRIX_SUMS]);
  fw_forest *made = NULL;
  furrow_status status = read_features(&made, plan, folder, with_stats, threads, err);
  if (status == FURROW_OK) status = read_matrix(made, folder, MATRIX_VALUE, threads, err);
  if (status == FURROW_OK) status = read_matrix(made, folder, MATRIX_PREDICT, threads, err);
  if (status == FURROW_OK && with_stats) status = read_matrix(made, folder, MATRIX_GAIN, threads, err);
  if (status == FURROW_OK && with_stats) status = read_matrix(made, folder, MATRIX_SUMS, threads, err);
  if (status == FURROW_OK && is_there(folder, &matrices[MATRIX_MISSING]))
    status = read_matrix(made, folder, MATRIX_MISSING, threads, err);
  if (status == FURROW_OK) status = finish(made, plan, folder, err);
  if (status == FURROW_OK)
    *forest = made;
  else
    fw_forest_free(made);
  return status;
}
