/* learn/forest/leaf_quantiles.c: leaves that are quantiles of what is missing to the labels of their rows.
 *
 * All rows of the training data count, also those that a tree was not grown from: leaves with few rows gain most. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/forest/tree_grow.h"

furrow_status fw_leaf_quantiles_init(fw_leaf_quantiles *quantiles, const fw_binned *binned, furrow_error *err) {
  FW_TRY(FW_ALLOC(&quantiles->key, binned->rows, err));
  FW_TRY(FW_ALLOC(&quantiles->row, binned->rows, err));
  return binned->weight ? FW_ALLOC(&quantiles->weight, binned->rows, err) : FURROW_OK;
}

void fw_leaf_quantiles_clear(fw_leaf_quantiles *quantiles) {
  fw_free(quantiles->key);
  fw_free(quantiles->row);
  fw_free(quantiles->weight);
  *quantiles = (fw_leaf_quantiles){0};
}

/* The leaves of a tree by ascending number, and the places of their rows. */
typedef struct renewal {
  fw_leaf_quantiles *quantiles;
  const fw_leaf_job *job;
  size_t leaves;
  uint32_t *node;   /* node of each leaf */
  uint32_t *number; /* number of the leaf at each node that is one */
  size_t *begin, *end;
  double *value;
  fw_leaf_bounds *bounds; /* of each node; NULL: no feature has a direction */
} renewal;

static furrow_status list_leaves(renewal *r, furrow_error *err) {
  const fw_forest *forest = r->job->forest;
  const size_t most = fw_tree_leaves(forest, r->job->tree);
  FW_TRY(FW_ALLOC(&r->node, most, err));
  FW_TRY(FW_ALLOC(&r->number, forest->nodes, err));
  FW_TRY(FW_ALLOC_ZERO(&r->begin, most, err));
  FW_TRY(FW_ALLOC_ZERO(&r->end, most, err));
  FW_TRY(FW_ALLOC_ZERO(&r->value, most, err));
  if (r->job->direction) FW_TRY(FW_ALLOC(&r->bounds, forest->nodes, err));
  for (size_t node = 0; node < forest->nodes; node++) {
    if (forest->feature[r->job->tree * forest->nodes + node] >= 0) continue;
    if (!fw_forest_has_node(forest, r->job->tree, node)) continue;
    r->number[node] = (uint32_t)r->leaves;
    r->node[r->leaves++] = (uint32_t)node;
  }
  return FURROW_OK;
}

static void clear_renewal(renewal *r) {
  fw_free(r->node);
  fw_free(r->number);
  fw_free(r->begin);
  fw_free(r->end);
  fw_free(r->value);
  fw_free(r->bounds);
}

/* The rows of a leaf that one task takes. */
enum { PIECE = 1 << 13 };

typedef struct piece {
  const renewal *renewal;
  size_t begin, end;
} piece;

static void take_piece(void *context, size_t i) {
  const piece *p = context;
  const fw_leaf_job *job = p->renewal->job;
  const fw_leaf_quantiles *to = p->renewal->quantiles;
  const fw_binned *binned = job->rows->binned;
  const size_t begin = p->begin + i * PIECE, end = p->end - begin < PIECE ? p->end : begin + PIECE;
  for (size_t at = begin; at < end; at++) {
    const uint32_t row = to->row[at] = job->rows->row[at];
    to->key[at] = fw_quantile_key((double)binned->label[row] - (job->score[row] + job->base));
    if (to->weight) to->weight[at] = binned->weight[row];
  }
}

static void take_leaf(void *user, size_t node, size_t begin, size_t end) {
  renewal *r = user;
  piece p = {r, begin, end};
  r->begin[r->number[node]] = begin;
  r->end[r->number[node]] = end;
  fw_spin_pool_run(r->job->rows->pool, (end - begin + PIECE - 1) / PIECE, take_piece, &p);
}

static furrow_status put_leaves(const renewal *r, furrow_error *err) {
  const fw_leaf_job *job = r->job;
  double *predict = job->forest->predict + job->tree * job->forest->nodes;
  for (size_t i = 0; i < r->leaves; i++) {
    predict[r->node[i]] = r->value[i] + job->start;
    if (isfinite(predict[r->node[i]])) continue;
    fw_fail(err, FURROW_E_RANGE, "a leaf is not a finite number");
    fw_error_set_hint(err, "the learning rate (key `lr`) is too high, or labels are too large");
    return FURROW_E_RANGE;
  }
  return FURROW_OK;
}

/* Inner nodes get the means of their children, by their hessians. */
static void put_inner(const fw_leaf_job *job) {
  const size_t nodes = job->forest->nodes, first = job->tree * nodes;
  const double *hessian = job->forest->hessian + first;
  double *predict = job->forest->predict + first;
  for (size_t node = nodes / 2; job->forest->hessian && node-- > 0;) {
    const size_t left = 2 * node + 1, right = left + 1;
    if (job->forest->feature[first + node] < 0 || !(hessian[left] + hessian[right] > 0)) continue;
    const double share = hessian[left] / (hessian[left] + hessian[right]);
    predict[node] = share * predict[left] + (1 - share) * predict[right];
  }
}

static double within(fw_leaf_bounds bounds, double value) {
  return value < bounds.low ? bounds.low : value > bounds.high ? bounds.high : value;
}

static int direction_of(const fw_leaf_job *job, size_t at) {
  const uint32_t feature = fw_cuts_find(job->rows->binned->cuts, (uint64_t)job->forest->feature[at]);
  return feature == FW_NO_FEATURE ? 0 : job->direction[feature];
}

/* Quantiles of the sides of a split can be in another order than its gradients were: neither side may go past the
 * middle of both. */
static void order_leaves(const renewal *r) {
  const fw_leaf_job *job = r->job;
  const size_t nodes = job->forest->nodes, first = job->tree * nodes;
  double *predict = job->forest->predict + first;
  r->bounds[0] = (fw_leaf_bounds){-INFINITY, INFINITY};
  for (size_t node = 0; node < nodes; node++) {
    if (!fw_forest_has_node(job->forest, job->tree, node)) continue;
    const fw_leaf_bounds own = r->bounds[node];
    predict[node] = within(own, predict[node]);
    if (job->forest->feature[first + node] < 0) continue;
    fw_leaf_bounds *left = &r->bounds[2 * node + 1], *right = left + 1;
    const int direction = direction_of(job, first + node);
    const double middle = 0.5 * (within(own, predict[2 * node + 1]) + within(own, predict[2 * node + 2]));
    *left = *right = own;
    if (direction != 0) *(direction > 0 ? &left->high : &left->low) = middle;
    if (direction != 0) *(direction > 0 ? &right->low : &right->high) = middle;
  }
}

static void score_leaf(void *context, size_t i) {
  const renewal *r = context;
  const fw_leaf_job *job = r->job;
  const double value = job->rate * job->forest->predict[job->tree * job->forest->nodes + r->node[i]];
  for (size_t at = r->begin[i]; at < r->end[i]; at++) job->score[r->quantiles->row[at]] += value;
}

static furrow_status find_leaves(renewal *r, furrow_error *err) {
  const fw_leaf_job *job = r->job;
  furrow_status status = list_leaves(r, err);
  if (status == FURROW_OK)
    status =
        fw_node_rows_visit_leaves(job->rows, 0, job->rows->binned->rows, job->forest, job->tree, take_leaf, r, err);
  FW_TRY(fw_comm_share_status(job->comm, status, err));
  const fw_quantile_groups groups = {.key = r->quantiles->key,
                                     .weight = r->quantiles->weight,
                                     .most_weight = job->most_weight,
                                     .begin = r->begin,
                                     .end = r->end,
                                     .count = r->leaves};
  return fw_quantiles_find(&groups, job->level, job->comm, job->rows->pool, r->value, err);
}

furrow_status fw_leaf_quantiles_renew(fw_leaf_quantiles *quantiles, const fw_leaf_job *job, furrow_error *err) {
  renewal r = {.quantiles = quantiles, .job = job};
  furrow_status status = find_leaves(&r, err);
  if (status == FURROW_OK) status = put_leaves(&r, err);
  if (status == FURROW_OK) {
    put_inner(job);
    if (r.bounds) order_leaves(&r);
    fw_spin_pool_run(job->rows->pool, r.leaves, score_leaf, &r);
  }
  clear_renewal(&r);
  return status;
}
