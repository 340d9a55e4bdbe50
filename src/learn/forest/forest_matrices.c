/* learn/forest/forest_matrices.c: the matrices that a forest is saved as, and where their numbers are in it. */
#include "learn/forest/forest_matrices.h"

const fw_forest_matrix fw_forest_matrices[FW_FOREST_MATRICES] = {
#define FURROW_X(name, text, id, row_type) {FW_FOREST_##name, text, id, row_type},
    FW_FOREST_MATRIX_LIST(FURROW_X)
#undef FURROW_X
};

size_t fw_forest_matrix_cols(const fw_forest *forest, const fw_forest_matrix *about) {
  return about->kind == FW_FOREST_SUMS ? 2 * forest->nodes : forest->nodes;
}

/* Sums: the gradients of all nodes, then the hessians. */
static double *sum_at(const fw_forest *forest, size_t tree, size_t col) {
  const size_t base = tree * forest->nodes;
  return col < forest->nodes ? &forest->gradient[base + col] : &forest->hessian[base + col - forest->nodes];
}

double fw_forest_matrix_get(const fw_forest *forest, const fw_forest_matrix *about, size_t tree, size_t col) {
  const size_t at = tree * forest->nodes + col;
  switch (about->kind) {
  case FW_FOREST_FEATURE: return forest->feature[at];
  case FW_FOREST_VALUE: return forest->value[at];
  case FW_FOREST_GAIN: return forest->gain[at];
  case FW_FOREST_SUMS: return *sum_at(forest, tree, col);
  case FW_FOREST_PREDICT: return forest->predict[at];
  default: return forest->missing_flipped[at];
  }
}

void fw_forest_matrix_set(fw_forest *forest, const fw_forest_matrix *about, size_t tree, size_t col, double number) {
  const size_t at = tree * forest->nodes + col;
  switch (about->kind) {
  case FW_FOREST_FEATURE: forest->feature[at] = (int32_t)number; break;
  case FW_FOREST_VALUE: forest->value[at] = number; break;
  case FW_FOREST_GAIN: forest->gain[at] = number; break;
  case FW_FOREST_SUMS: *sum_at(forest, tree, col) = number; break;
  case FW_FOREST_PREDICT: forest->predict[at] = number; break;
  default: forest->missing_flipped[at] = number == 0 ? 0 : number == 1 ? 1 : 2; break; /* 2: the check refuses it */
  }
}
