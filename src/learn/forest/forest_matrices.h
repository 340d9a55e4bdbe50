/* learn/forest/forest_matrices.h: the matrices that a forest is saved as. */
#ifndef FW_LEARN_FOREST_FOREST_MATRICES_H
#define FW_LEARN_FOREST_FOREST_MATRICES_H

#include "learn/forest/forest.h"

/* X(name, Angel's name, Angel's number of it, row type: 21 T_INT_DENSE, 0 T_DOUBLE_DENSE). The last is Furrow's own. */
#define FW_FOREST_MATRIX_LIST(X)          \
  X(FEATURE, "gbdt.split.feature", 4, 21) \
  X(VALUE, "gbdt.split.value", 5, 0)      \
  X(GAIN, "gbdt.split.gain", 6, 0)        \
  X(SUMS, "gbdt.node.grad.stats", 7, 0)   \
  X(PREDICT, "gbdt.node.predict", 8, 0)   \
  X(MISSING, "gbdt.split.missing", 10, 21)

typedef enum fw_forest_matrix_id {
#define FURROW_X(name, text, id, row_type) FW_FOREST_##name,
  FW_FOREST_MATRIX_LIST(FURROW_X)
#undef FURROW_X
      FW_FOREST_MATRICES
} fw_forest_matrix_id;

typedef struct fw_forest_matrix {
  fw_forest_matrix_id kind;
  const char *name;
  int32_t id, row_type;
} fw_forest_matrix;

extern const fw_forest_matrix fw_forest_matrices[FW_FOREST_MATRICES];

/* Columns: the nodes of a tree; twice as many where a node has two sums. */
size_t fw_forest_matrix_cols(const fw_forest *forest, const fw_forest_matrix *about);
double fw_forest_matrix_get(const fw_forest *forest, const fw_forest_matrix *about, size_t tree, size_t col);
void fw_forest_matrix_set(fw_forest *forest, const fw_forest_matrix *about, size_t tree, size_t col, double number);

#endif
