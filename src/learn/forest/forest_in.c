/* learn/forest/forest_in.c: a forest from the matrices of a model directory, ours or Angel's.
 *
 * Angel's servers start with zeros and its trainer writes the nodes that it tried to split: -1 where that failed. So in
 * its models nodes of the last level, and nodes that no row comes to, have feature 0 and value 0. Its predictor walks
 * on from such a leaf, falls off the tree, and takes what the leaf says: the leaf is one. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "learn/forest/forest_files.h"
#include "learn/forest/forest_matrices.h"

/* ---- One matrix ---- */

static bool is_there(const char *folder, const fw_forest_matrix *about) {
  char *path = NULL;
  struct stat info;
  if (fw_path_join(&path, folder, about->name, NULL) != FURROW_OK) return false;
  const bool there = fw_path_stat(path, &info, NULL) == FURROW_OK && S_ISDIR(info.st_mode);
  fw_free(path);
  return there;
}

bool fw_forest_is_at(const char *folder) {
  return is_there(folder, &fw_forest_matrices[FW_FOREST_FEATURE]);
}

static furrow_status open_matrix(furrow_matrix_source **source, const char *folder, const fw_forest_matrix *about,
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
static furrow_status check_type(const furrow_matrix_source *source, const fw_forest_matrix *about, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_source_row_type(source);
  const bool whole = furrow_matrix_row_type_get(about->row_type)->element == FURROW_ELEMENT_I32;
  if (whole ? type->element == FURROW_ELEMENT_I32
            : type->element == FURROW_ELEMENT_F64 || type->element == FURROW_ELEMENT_F32)
    return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "%s is of %s, but it must be of %s", about->name, type->name,
          whole ? "T_INT" : "T_DOUBLE or T_FLOAT");
  return misfit(source, err);
}

static furrow_status check_shape(const furrow_matrix_source *source, const fw_forest *forest,
                                 const fw_forest_matrix *about, furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const size_t cols = fw_forest_matrix_cols(forest, about);
  if (meta->row >= 0 && (size_t)meta->row == forest->trees && meta->col >= 0 && (uint64_t)meta->col == cols)
    return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "%s has %d rows of %lld columns, but %zu trees of %zu nodes want %zu of %zu",
          about->name, meta->row, (long long)meta->col, forest->trees, forest->nodes, forest->trees, cols);
  return misfit(source, err);
}

static furrow_status take_row(const furrow_matrix *matrix, fw_forest *forest, const fw_forest_matrix *about,
                              size_t tree, furrow_error *err) {
  const size_t cols = fw_forest_matrix_cols(forest, about);
  furrow_matrix_row_view row;
  if (!furrow_matrix_row(matrix, (int32_t)tree, &row))
    return fw_fail(err, FURROW_E_FORMAT, "%s has no row of tree %zu", about->name, tree);
  for (size_t i = 0; i < cols; i++) {
    if (i >= row.count || furrow_matrix_row_view_col(&row, i) != (int64_t)i)
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu, node %zu: %s has no number for it", tree, i % forest->nodes,
                     about->name);
    fw_forest_matrix_set(forest, about, tree, i, furrow_matrix_row_view_get(&row, i));
  }
  return FURROW_OK;
}

static furrow_status take_matrix(const furrow_matrix_source *source, const furrow_matrix *matrix, fw_forest *forest,
                                 const fw_forest_matrix *about, furrow_error *err) {
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

static furrow_status read_matrix(fw_forest *forest, const char *folder, fw_forest_matrix_id kind, unsigned threads,
                                 furrow_error *err) {
  const fw_forest_matrix *about = &fw_forest_matrices[kind];
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
            fw_forest_matrices[FW_FOREST_FEATURE].name, (long long)meta->col, FW_FOREST_LEVELS);
    return misfit(source, err);
  }
  if (meta->row < 1 || (size_t)meta->row % classes != 0) {
    fw_fail(err, FURROW_E_FORMAT, "%s has %d rows, but there is a tree for each of %zu classes in a round",
            fw_forest_matrices[FW_FOREST_FEATURE].name, meta->row, classes);
    return misfit(source, err);
  }
  return FURROW_OK;
}

/* A forest of as many trees as the matrix has rows; nothing is made for them before the matrix has been read. */
static furrow_status begin_forest(fw_forest **forest, const furrow_matrix_source *source, const furrow_matrix *features,
                                  const fw_plan *plan, bool with_stats, furrow_error *err) {
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  const fw_forest_matrix *about = &fw_forest_matrices[FW_FOREST_FEATURE];
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
  const fw_forest_matrix *about = &fw_forest_matrices[FW_FOREST_FEATURE];
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

/* ---- What is no node ---- */

/* Numbers of nodes that no row comes to mean nothing; nor does a split value where nothing is asked. */
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
  const bool with_stats =
      is_there(folder, &fw_forest_matrices[FW_FOREST_GAIN]) || is_there(folder, &fw_forest_matrices[FW_FOREST_SUMS]);
  fw_forest *made = NULL;
  furrow_status status = read_features(&made, plan, folder, with_stats, threads, err);
  if (status == FURROW_OK) status = read_matrix(made, folder, FW_FOREST_VALUE, threads, err);
  if (status == FURROW_OK) status = read_matrix(made, folder, FW_FOREST_PREDICT, threads, err);
  if (status == FURROW_OK && with_stats) status = read_matrix(made, folder, FW_FOREST_GAIN, threads, err);
  if (status == FURROW_OK && with_stats) status = read_matrix(made, folder, FW_FOREST_SUMS, threads, err);
  if (status == FURROW_OK && is_there(folder, &fw_forest_matrices[FW_FOREST_MISSING]))
    status = read_matrix(made, folder, FW_FOREST_MISSING, threads, err);
  if (status == FURROW_OK) status = finish(made, plan, folder, err);
  if (status == FURROW_OK)
    *forest = made;
  else
    fw_forest_free(made);
  return status;
}
