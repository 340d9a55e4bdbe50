/* recommend/item_item.h: weights between items, in closed form.
 *
 * The score of an item for a user is the sum of weights from the items that the user took. For each item j the weights
 * w from its K nearest items minimise, over users u with the values x (1 for an item that they took, else 0),
 *   sum over u of (x_uj - sum over s of x_us w_s)^2 + l2 sum over s of w_s^2,
 * a ridge regression of K unknowns: (X'X + l2) w = X'x_j. With all other items as neighbours it is EASE (Steck, 2019).
 * Rows need not be users: a row of items that share a property ties them together, too. Columns need not be items: a
 * property of users has weights to items like an item that they took.
 *
 * The nearest items of j are those with the largest (X'x_j)_s / sqrt(number of rows with s + 20). */
#ifndef FW_RECOMMEND_ITEM_ITEM_H
#define FW_RECOMMEND_ITEM_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "furrow/status.h"

/* A sparse matrix by rows. A row has no column twice. */
typedef struct fw_sparse_rows {
  size_t rows, columns;
  size_t *offset; /* rows + 1 */
  uint32_t *column;
  float *value;
} fw_sparse_rows;

void fw_sparse_rows_clear(fw_sparse_rows *rows);
/* The same matrix by columns: within a column rows ascend. To be cleared after a failure, too. */
furrow_status fw_sparse_rows_transpose(const fw_sparse_rows *rows, fw_sparse_rows *columns,
                                       furrow_error *err) FURROW_MUST_USE;

#define FW_ITEM_STRENGTHS_MOST 8

typedef struct fw_item_item_params {
  size_t items;      /* columns 0 … items-1 get weights; later columns only give */
  size_t neighbours; /* K */
  /* Strengths of regularisation; the weights are solved for each of them. */
  const double *l2;
  size_t l2_count; /* 1 to FW_ITEM_STRENGTHS_MOST */
  /* 0: the order within a row is ignored. Above: the share of (X'x_j)_s that comes only from rows in which s precedes
   * j, each weighted by exp(-(events between them) / 3) */
  double order;
  fw_pool *pool;            /* NULL: this thread */
  furrow_progress progress; /* "solving", in items; NULL: none */
  void *progress_user;
} fw_item_item_params;

/* Solves the weights of all items. weights[i]: row s has the weights of l2[i] from column s to items; to be cleared
 * after a failure, too. The result does not depend on the number of threads. */
furrow_status fw_item_item_solve(const fw_sparse_rows *rows, const fw_item_item_params *params, fw_sparse_rows *weights,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
