/* kern/math/traverse.h: moves several rows at once through a tree.
 *
 * A packed tree is a full binary tree: its root is node 1, node n has the children 2n and 2n+1, and every walk takes
 * `depth` steps, n = 2n + (value < x of the node's slot); the final n is the leaf. Rows are processed in groups of
 * FW_TRAVERSE_ROWS: slot s of row i of a group is x[s * FW_TRAVERSE_ROWS + i]. Every instruction set level gives the
 * same bits. */
#ifndef FW_KERN_MATH_TRAVERSE_H
#define FW_KERN_MATH_TRAVERSE_H

#include <stddef.h>
#include <stdint.h>

enum { FW_TRAVERSE_ROWS = 16 };

typedef struct fw_traverse_node {
  uint32_t slot; /* times FW_TRAVERSE_ROWS */
  uint32_t value;
} fw_traverse_node;

typedef struct fw_traverse_tree {
  unsigned depth;
  const fw_traverse_node *nodes; /* 2^depth nodes; the first is not used */
  const double *leaves;          /* 2^depth values */
  const float *leaves_f32;       /* the same for sums of floats; the kernels read one of the two */
} fw_traverse_tree;

typedef struct fw_traverse {
  /* Adds the leaf of each row to out[row * step]; groups are `stride` numbers apart. */
  void (*groups)(const fw_traverse_tree *tree, const uint32_t *x, size_t stride, size_t groups, double *out,
                 size_t step);
  /* The same with leaves_f32: sums are rounded to floats after each tree. */
  void (*groups_f32)(const fw_traverse_tree *tree, const uint32_t *x, size_t stride, size_t groups, float *out,
                     size_t step);
} fw_traverse;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_traverse *fw_traverse_table(void);
void fw_traverse_fill_generic(fw_traverse *table);
void fw_traverse_fill_avx512(fw_traverse *table);

#endif
