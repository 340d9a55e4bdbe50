/* learn/convex/linear_parts.h: what the files of a linear problem share: its rows (linear_rows.c), the objective over
 * them (linear_problem.c) and its solver (linear_solver.c). */
#ifndef FW_LEARN_CONVEX_LINEAR_PARTS_H
#define FW_LEARN_CONVEX_LINEAR_PARTS_H

#include "base/arena.h"
#include "learn/convex/linear_problem.h"

struct fw_linear_problem {
  fw_loss_type loss;
  size_t outputs, factors;
  size_t width; /* parameters of a feature: outputs + factors */
  double delta, l2, factor_l2;
  double *factor_scale;      /* for each feature, if there are factors: the factor of factor_l2 */
  double *centre, *strength; /* for each parameter: takes the place of l2. NULL: there is no prior */
  fw_spin_pool *pool;
  fw_arena scratch; /* while it is created */
  /* ranks: rank r has blocks, rows and features begin[r] … begin[r + 1] - 1 */
  const furrow_comm *comm;
  size_t *block_begin, *row_begin, *feature_begin;
  size_t *sizes; /* 2 * ranks: bytes of what ranks exchange */
  size_t first_feature,
      last_feature; /* this rank sums the gradient of the features from first_feature to last_feature - 1 */
  /* rows of this rank: their uses of features, numbered by ascending key */
  size_t rows, features;
  uint64_t *key;
  double *label, *weight; /* weight NULL: all 1 */
  uint64_t *offset;       /* rows + 1 */
  uint32_t *feature;
  float *value; /* NULL: all 1 */
  /* blocks */
  size_t blocks;
  double *block_value, *block_gradient; /* gradient: outputs biases, or all parameters where by_feature is false */
  double *all_value, *all_gradient;     /* the same of all ranks; with one rank, the arrays above */
  double *slope; /* derivatives by the outputs, then by the sums of the vectors (`width` in all): of each row if
                    by_feature, else of the current row of each block */
  double *all_slope, *own_gradient; /* where gradients are summed by feature: slopes of all ranks' rows; gradients of
                                       this rank's features, in jobs of several ranks */
  /* the transposed copy */
  bool by_feature;
  uint64_t *use_offset; /* features + 1 */
  uint32_t *use_row;    /* rows of the uses of this rank's features, as use_value; rows of all ranks */
  float *use_value;     /* NULL: all 1 */
  size_t segments;
  uint32_t *segment_feature; /* feature of the first use of each segment */
  double *cut;               /* 2 * width numbers for each segment: the sums of a feature that began before it, and of a
                                feature that ends after it */
};

/* The begin of piece i, if something is cut into `pieces` equal pieces. */
static inline size_t fw_piece_begin(size_t total, size_t pieces, size_t i) {
  const size_t each = total / pieces, rest = total % pieces;
  return i * each + (i < rest ? i : rest);
}

/* Fills the arrays of rows, blocks and keys. Afterwards each rank has the rows of its own blocks. */
furrow_status fw_linear_rows_take(fw_linear_problem *p, const fw_linear_params *params, furrow_error *err);
/* Fills the transposed copy and its segments. */
furrow_status fw_linear_rows_transpose(fw_linear_problem *p, furrow_error *err);

/* Joins the ranks' parts in `all`: rank r has elements begin[r] … begin[r + 1] - 1 in `own`. */
furrow_status fw_linear_gather(const fw_linear_problem *p, const void *own, void *all, size_t bytes,
                               const size_t *begin, furrow_error *err);
/* Lets one rank after the other add its rows to the state, so that it has the bits of one process. */
furrow_status fw_linear_add_by_rank(const fw_linear_problem *p, void (*add)(const fw_linear_problem *p, void *state),
                                    void *state, size_t bytes, furrow_error *err);
/* For each feature: the sum of weight * value^2 over its uses. */
furrow_status fw_linear_sum_squares(const fw_linear_problem *p, double *square, furrow_error *err);

#endif
