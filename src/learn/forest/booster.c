/* learn/forest/booster.c: grows a forest from rows, round by round. */
#include "learn/forest/booster.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "learn/forest/feature_stats.h"
#include "learn/forest/forest.h"
#include "learn/forest/tree_grow.h"

enum { FEW_ROWS = 2 }; /* least rows of a leaf that Furrow recommends for any data, so no data is too small for it */

/* Each use of hashes has a stream of its own. */
enum { STREAM_ROWS = 1, STREAM_FEATURES, STREAM_ROUNDING };

/* Rows and their scores: for training, for validation. */
typedef struct row_set {
  uint64_t first, all; /* number of the first row among the rows of all ranks, and the number of all rows */
  fw_binned binned;
  fw_node_rows rows;
  double *score;  /* scores of class 0 for all rows, of class 1 … */
  double *before; /* scores of trees that were there before: all classes of row 0, of row 1 …; NULL: none */
  size_t before_capacity;
  uint64_t *qid; /* qids of rows that are ranked, until they are in groups */
  size_t qid_capacity;
  fw_row_groups groups;
  fw_group_order order; /* order of all ranks' groups */
  double constant;      /* loss of the best constant, if it is a quantile */
} row_set;

struct fw_booster {
  const fw_plan *plan;
  fw_spin_pool *pool;
  const furrow_comm *comm;
  size_t classes;
  fw_feature_stats *stats;
  fw_cuts *cuts;
  uint64_t feature_end; /* the largest feature, + 1 */
  row_set train, valid;
  float *label, *weight; /* from the first pass, to check that the second has the same rows; weight NULL: all 1 */
  size_t looked, label_capacity, weight_capacity;
  fw_grower *grower;
  fw_gradients gradients;
  float *log_sum;
  fw_lambdas lambdas; /* lambdas of rows that are ranked */
  fw_leaf_quantiles leaf_quantiles;
  fw_monotone *monotone;
  size_t monotone_count;
  int8_t *direction; /* of each feature; NULL: all are free */
  uint8_t *allowed;
  uint64_t *chance; /* for each feature a random number, by which features are sampled */
  fw_forest *forest;
  /* the trees before the first round: rows get their scores by values, not by bins; NULL: none */
  fw_forest_predictor *predictor;
  fw_predict_scratch *scratch;
  uint32_t *columns; /* 0, 1 …, for dense rows */
  size_t column_capacity, start_trees;
  double *base; /* first score of each class: what scores start at, folded into the first trees */
  double most_weight;
  furrow_status (*check)(void *user, furrow_error *err);
  void *check_user;
};

/* ---- Create, free --------------------------------------------------------------------------------------- */

furrow_status fw_booster_create(fw_booster **booster, const fw_plan *plan, fw_spin_pool *pool, furrow_error *err) {
  const fw_loss_type loss = plan->graph.loss;
  if (!fw_objective_name(loss)[0])
    return fw_fail(err, FURROW_E_UNSUPPORTED, "trees are not grown for %s", fw_loss_name(loss));
  fw_booster *b = NULL;
  FW_TRY(FW_ALLOC_ZERO(&b, 1, err));
  b->plan = plan;
  b->pool = pool;
  b->comm = fw_comm_self();
  b->classes = loss == FW_LOSS_SOFTMAX ? plan->graph.outputs : 1;
  furrow_status status = FW_ALLOC_ZERO(&b->base, b->classes, err);
  if (status == FURROW_OK) status = fw_feature_stats_create(&b->stats, plan, err);
  return FW_HAND_OVER(status, booster, b, fw_booster_free);
}

void fw_booster_set_comm(fw_booster *b, const furrow_comm *comm, uint64_t first_row) {
  b->comm = comm;
  b->train.first = first_row;
  fw_feature_stats_set_first_row(b->stats, first_row);
}

void fw_booster_take_monotone(fw_booster *b, fw_monotone *list, size_t count) {
  b->monotone = list;
  b->monotone_count = count;
}

static void drop_predictor(fw_booster *b) {
  fw_predict_scratch_free(b->scratch);
  fw_forest_predictor_free(b->predictor);
  b->scratch = NULL;
  b->predictor = NULL;
}

static void clear_set(row_set *set) {
  fw_node_rows_clear(&set->rows);
  fw_binned_clear(&set->binned);
  fw_free(set->score);
  fw_free(set->before);
  fw_free(set->qid);
  fw_row_groups_clear(&set->groups);
  fw_group_order_clear(&set->order);
}

void fw_booster_free(fw_booster *b) {
  if (!b) return;
  fw_grower_free(b->grower);
  drop_predictor(b);
  fw_lambdas_clear(&b->lambdas);
  fw_leaf_quantiles_clear(&b->leaf_quantiles);
  clear_set(&b->train);
  clear_set(&b->valid);
  fw_feature_stats_free(b->stats);
  fw_cuts_free(b->cuts);
  void *const arrays[] = {b->label,  b->weight, b->gradients.pair, b->log_sum,   b->allowed,
                          b->chance, b->base,   b->columns,        b->direction, b->monotone};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(b);
}

/* ---- Passes --------------------------------------------------------------------------------------------- */

static furrow_status keep_labels(fw_booster *b, const fw_minibatch *batch, furrow_error *err) {
  const size_t rows = b->looked + batch->rows, known = b->weight ? b->looked : 0;
  FW_TRY(FW_GROW(&b->label, &b->label_capacity, rows, err));
  memcpy(b->label + b->looked, batch->label, batch->rows * sizeof *b->label);
  if (!batch->weight && !b->weight) return FURROW_OK;
  FW_TRY(FW_GROW(&b->weight, &b->weight_capacity, rows, err));
  for (size_t i = known; i < b->looked; i++) b->weight[i] = 1;
  for (size_t i = 0; i < batch->rows; i++) b->weight[b->looked + i] = batch->weight ? batch->weight[i] : 1;
  return FURROW_OK;
}

furrow_status fw_booster_scan_rows(fw_booster *b, const fw_minibatch *batch, size_t count, furrow_error *err) {
  if (b->cuts) return fw_fail(err, FURROW_E_STATE, "the first pass over the rows is over");
  FW_TRY(fw_feature_stats_add(b->stats, batch, count, b->pool, err));
  for (size_t i = 0; i < count; i++) {
    FW_TRY(keep_labels(b, &batch[i], err));
    b->looked += batch[i].rows;
  }
  return FURROW_OK;
}

/* The number of uses of features that are kept as lists; approximate if rows are divided over ranks. */
static size_t count_entries(const fw_booster *b) {
  const fw_cuts *cuts = b->cuts;
  size_t entries = 0;
  for (size_t f = cuts->dense; f < cuts->count; f++) entries += cuts->feature[f].count;
  return b->looked == b->train.all ? entries : (size_t)((double)entries * (double)b->looked / (double)b->train.all);
}

static furrow_status number_rows(fw_booster *b, furrow_error *err) {
  uint64_t first = 0;
  furrow_status status = FURROW_OK;
  FW_TRY(fw_comm_offset(b->comm, b->looked, &first, &b->train.all, err));
  if (first != b->train.first)
    status = fw_fail(err, FURROW_E_STATE, "the first row of rank %u is %" PRIu64 ", not %" PRIu64, b->comm->rank, first,
                     b->train.first);
  return fw_comm_share_status(b->comm, status, err);
}

furrow_status fw_booster_choose_cuts(fw_booster *b, furrow_error *err) {
  if (b->cuts) return fw_fail(err, FURROW_E_STATE, "the cuts are chosen already");
  fw_cuts *cuts = NULL;
  FW_TRY(number_rows(b, err));
  FW_TRY(fw_feature_stats_merge(b->stats, b->comm, err));
  b->feature_end = fw_feature_stats_end(b->stats);
  furrow_status status = fw_feature_stats_choose_cuts(b->stats, b->pool, &cuts, err);
  if (status == FURROW_OK) {
    b->cuts = cuts;
    status = fw_binned_init(&b->train.binned, cuts, b->looked, count_entries(b), err);
  }
  if (status == FURROW_OK) status = fw_binned_init(&b->valid.binned, cuts, 0, 0, err);
  return fw_comm_share_status(b->comm, status, err);
}

/* Whether a batch has the labels and weights that the first pass saw from row `at` on. */
static bool is_known(const fw_booster *b, const fw_minibatch *batch, size_t at) {
  if (batch->rows > b->looked - at) return false;
  if (memcmp(b->label + at, batch->label, batch->rows * sizeof *b->label) != 0) return false;
  for (size_t i = 0; i < batch->rows; i++)
    if ((b->weight ? b->weight[at + i] : 1) != (batch->weight ? batch->weight[i] : 1)) return false;
  return true;
}

static furrow_status check_shape(const fw_booster *b, const fw_forest *forest, furrow_error *err) {
  if (forest->classes == b->classes && forest->levels == b->plan->forest.levels) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "the forest has %zu classes and %u levels, the plan %zu and %u",
                 forest->classes, forest->levels, b->classes, b->plan->forest.levels);
}

furrow_status fw_booster_resume(fw_booster *b, const fw_forest *forest, furrow_error *err) {
  if (b->predictor || b->train.binned.rows > 0)
    return fw_fail(err, FURROW_E_STATE, "trees to go on from come once, before the second pass");
  FW_TRY(check_shape(b, forest, err));
  if (forest->trees == 0) return FURROW_OK;
  b->start_trees = forest->trees;
  furrow_status status = fw_forest_predictor_create(&b->predictor, forest, b->plan->train.lr, err);
  if (status == FURROW_OK) status = fw_predict_scratch_create(&b->scratch, b->predictor, err);
  if (status != FURROW_OK) drop_predictor(b);
  return status;
}

static furrow_status number_columns(fw_booster *b, size_t columns, furrow_error *err) {
  const size_t before = b->column_capacity;
  FW_TRY(FW_GROW(&b->columns, &b->column_capacity, columns, err));
  for (size_t i = before; i < b->column_capacity; i++) b->columns[i] = (uint32_t)i;
  return FURROW_OK;
}

static furrow_row row_of(const fw_booster *b, const fw_minibatch *batch, size_t i) {
  if (batch->x)
    return (furrow_row){.length = batch->columns,
                        .index = {.u32 = b->columns},
                        .key_type = FURROW_KEY_U32,
                        .value = {.f32 = batch->x + i * batch->columns},
                        .value_type = FURROW_VALUE_F32};
  const size_t begin = batch->offset[i];
  return (furrow_row){.length = batch->offset[i + 1] - begin,
                      .index = {.u64 = batch->key + begin},
                      .key_type = FURROW_KEY_U64,
                      .value = {.f32 = batch->value ? batch->value + begin : NULL},
                      .value_type = FURROW_VALUE_F32};
}

/* Scores a batch with the trees of the forest to continue from; `rows` is the number of rows before the batch. */
static furrow_status score_before(fw_booster *b, row_set *set, const fw_minibatch *batch, size_t rows,
                                  furrow_error *err) {
  const size_t all = (rows + batch->rows) * b->classes;
  if (!b->predictor) return FURROW_OK;
  FW_TRY(FW_GROW(&set->before, &set->before_capacity, all, err));
  if (batch->x) FW_TRY(number_columns(b, batch->columns, err));
  for (size_t i = 0; i < batch->rows; i++) {
    const furrow_row row = row_of(b, batch, i);
    fw_forest_predict_row(b->predictor, b->scratch, &row, set->before + (rows + i) * b->classes);
  }
  return FURROW_OK;
}

static furrow_status keep_groups(row_set *set, const fw_minibatch *batch, size_t rows, furrow_error *err) {
  if (!batch->qid) return FURROW_OK;
  FW_TRY(FW_GROW(&set->qid, &set->qid_capacity, rows + batch->rows, err));
  memcpy(set->qid + rows, batch->qid, batch->rows * sizeof *set->qid);
  return FURROW_OK;
}

static furrow_status fail_rows(furrow_error *err) {
  return fw_fail(err, FURROW_E_RANGE, "there are more than %" PRIu64 " rows", FW_MAX_ROWS);
}

static furrow_status take_batch(fw_booster *b, row_set *set, const fw_minibatch *batch, size_t count,
                                furrow_error *err) {
  const uint32_t *const *numbers = NULL;
  size_t rows = set->binned.rows;
  if (!b->cuts || b->forest) return fw_fail(err, FURROW_E_STATE, "rows are taken after the cuts, before the rounds");
  FW_TRY(fw_feature_stats_numbers(b->stats, batch, count, b->pool, &numbers, err));
  for (size_t i = 0; i < count; rows += batch[i++].rows) {
    if (set->first + rows + batch[i].rows > FW_MAX_ROWS) return fail_rows(err);
    FW_TRY(score_before(b, set, &batch[i], rows, err));
    FW_TRY(keep_groups(set, &batch[i], rows, err));
  }
  return fw_binned_add(&set->binned, batch, numbers, count, b->pool, err);
}

furrow_status fw_booster_add_rows(fw_booster *b, const fw_minibatch *batch, size_t count, furrow_error *err) {
  size_t rows = b->train.binned.rows;
  for (size_t i = 0; b->cuts && i < count; rows += batch[i++].rows)
    if (!is_known(b, &batch[i], rows))
      return fw_fail(err, FURROW_E_STATE, "the second pass brings other rows than the first");
  return take_batch(b, &b->train, batch, count, err);
}

furrow_status fw_booster_add_valid_rows(fw_booster *b, const fw_minibatch *batch, size_t count, furrow_error *err) {
  return take_batch(b, &b->valid, batch, count, err);
}

/* ---- Begin ---------------------------------------------------------------------------------------------- */

/* Scores that rows came with, class by class. */
static void take_before(const fw_booster *b, row_set *set) {
  const size_t rows = set->binned.rows;
  for (size_t row = 0; set->before && row < rows; row++)
    for (size_t c = 0; c < b->classes; c++) set->score[c * rows + row] = set->before[row * b->classes + c];
  fw_free(set->before);
  set->before = NULL;
  set->before_capacity = 0;
}

static furrow_status list_groups(const fw_booster *b, row_set *set, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (set->binned.rows > 0 && !set->qid) status = fw_fail(err, FURROW_E_ARGUMENT, "rows that are ranked need a qid");
  if (status == FURROW_OK) status = fw_row_groups_init(&set->groups, set->qid, set->binned.rows, err);
  FW_TRY(fw_comm_share_status(b->comm, status, err));
  FW_TRY(fw_group_order_init(&set->order, b->comm, &set->groups, set->qid, err));
  fw_free(set->qid);
  set->qid = NULL;
  set->qid_capacity = 0;
  return FURROW_OK;
}

/* Groups the rows that are ranked. At least one group must have rows with different labels: otherwise there is nothing
 * to learn, or to measure. */
static furrow_status make_groups(const fw_booster *b, row_set *set, furrow_error *err) {
  size_t group = 0;
  if (b->plan->graph.loss != FW_LOSS_LAMBDA || set->all == 0) return FURROW_OK;
  FW_TRY(list_groups(b, set, err));
  while (group < set->groups.count && !fw_row_groups_differ(&set->groups, group, set->binned.label)) group++;
  int64_t groups[2] = {(int64_t)set->groups.count, group < set->groups.count};
  FW_TRY(fw_comm_sum_i64(b->comm, groups, 2, err));
  if (groups[1] > 0) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "no group of the %s rows has rows with different labels: there is nothing to rank",
          set == &b->valid ? "validation" : "training");
  fw_error_set_hint(err, "rows with the same qid are a group; there are %" PRIi64, groups[0]);
  return FURROW_E_ARGUMENT;
}

static furrow_status ready_set(fw_booster *b, row_set *set, furrow_error *err) {
  if (set->all == 0) return FURROW_OK;
  FW_TRY(fw_binned_finish(&set->binned, b->pool, err));
  FW_TRY(fw_node_rows_init(&set->rows, &set->binned, b->pool, err));
  FW_TRY(FW_ALLOC_ZERO_ROWS(&set->score, set->binned.rows, b->classes, err));
  take_before(b, set);
  return FURROW_OK;
}

/* A feature that no row of this training has is not among the cuts, and no tree will split by it; but one beyond all
 * is a mistake. */
static furrow_status find_directions(fw_booster *b, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&b->direction, b->cuts->count, err));
  for (size_t i = 0; i < b->monotone_count; i++) {
    const uint32_t feature = fw_cuts_find(b->cuts, b->monotone[i].feature);
    if (b->monotone[i].feature >= b->feature_end)
      return fw_fail(err, FURROW_E_ARGUMENT, "monotone: no row has the feature %" PRIu64 "; the last one is %" PRIu64,
                     b->monotone[i].feature, b->feature_end - 1);
    if (feature != FW_NO_FEATURE) b->direction[feature] = (int8_t)b->monotone[i].direction;
  }
  return FURROW_OK;
}

static furrow_status make_arrays(fw_booster *b, furrow_error *err) {
  const size_t rows = b->train.binned.rows, features = b->cuts->count;
  const fw_loss_type loss = b->plan->graph.loss;
  FW_TRY(FW_ALLOC(&b->gradients.pair, rows, err));
  fw_prefer_large_pages(b->gradients.pair, rows * sizeof *b->gradients.pair);
  if (loss == FW_LOSS_SOFTMAX) FW_TRY(FW_ALLOC(&b->log_sum, rows, err));
  if (loss == FW_LOSS_LAMBDA)
    FW_TRY(fw_lambdas_init(&b->lambdas, &b->train.groups, b->train.binned.label, b->plan->forest.truncation, err));
  if (b->monotone_count > 0) FW_TRY(find_directions(b, err));
  if (fw_loss_is_of_quantile(&b->plan->graph, NULL))
    FW_TRY(fw_leaf_quantiles_init(&b->leaf_quantiles, &b->train.binned, err));
  if (!(b->plan->forest.feature_ratio < 1)) return FURROW_OK;
  FW_TRY(FW_ALLOC(&b->allowed, features, err));
  return FW_ALLOC_ROWS(&b->chance, features, 2, err);
}

/* The share of a class, but at least half a row's, so that its logarithm is finite. */
static double share_of(double weight, double weights, uint64_t rows) {
  const double least = 0.5 / (double)rows;
  return fmin(fmax(weight / weights, least), 1 - least);
}

/* Finds the scores to start from: the mean of the labels, its logarithm, their log odds, or the logarithms of the
 * shares of the classes, whose weights are in base[]. A mean of counts is at least half a count of all rows. */
static void find_base(fw_booster *b, double sum, double weights) {
  const fw_loss_type loss = b->plan->graph.loss;
  const uint64_t rows = b->train.all;
  const double positive = share_of((weights + sum) / 2, weights, rows); /* labels are -1 and 1 */
  if (loss == FW_LOSS_L2) b->base[0] = sum / weights;
  if (loss == FW_LOSS_POISSON) b->base[0] = log(fmax(sum / weights, 0.5 / (double)rows));
  if (loss == FW_LOSS_LOG) b->base[0] = log(positive / (1 - positive));
  for (size_t c = 0; loss == FW_LOSS_SOFTMAX && c < b->classes; c++)
    b->base[c] = log(share_of(b->base[c], weights, rows));
}

typedef struct label_sums {
  double sum, weights, most_weight;
} label_sums;

static void add_labels(fw_booster *b, label_sums *sums) {
  const fw_binned *rows = &b->train.binned;
  for (size_t i = 0; i < rows->rows; i++) {
    const double weight = rows->weight ? (double)rows->weight[i] : 1;
    sums->sum += weight * (double)rows->label[i];
    sums->weights += weight;
    sums->most_weight = weight > sums->most_weight ? weight : sums->most_weight;
    if (b->plan->graph.loss == FW_LOSS_SOFTMAX) b->base[(size_t)rows->label[i]] += weight;
  }
}

/* The quantile of the labels of a set. */
static furrow_status find_quantile(const fw_booster *b, const row_set *set, double level, double most_weight,
                                   double *quantile, furrow_error *err) {
  const fw_binned *rows = &set->binned;
  const size_t begin = 0;
  uint32_t *key = NULL;
  furrow_status status = fw_comm_share_status(b->comm, FW_ALLOC(&key, rows->rows, err), err);
  for (size_t i = 0; status == FURROW_OK && i < rows->rows; i++) key[i] = fw_quantile_key((double)rows->label[i]);
  const fw_quantile_groups groups = {key, rows->weight, most_weight, &begin, &rows->rows, 1};
  if (status == FURROW_OK) status = fw_quantiles_find(&groups, level, b->comm, b->pool, quantile, err);
  fw_free(key);
  return status;
}

/* The quantile of a set's labels, and its loss, which is summed up in the order of all rows. */
static furrow_status find_constant(const fw_booster *b, row_set *set, double *quantile, furrow_error *err) {
  const fw_binned *rows = &set->binned;
  double level, most = 1, sums[2] = {0, 0};
  if (!fw_loss_is_of_quantile(&b->plan->graph, &level) || set->all == 0) return FURROW_OK;
  for (size_t i = 0; rows->weight && i < rows->rows; i++) most = fmax(most, (double)rows->weight[i]);
  FW_TRY(fw_comm_max_f64(b->comm, &most, 1, err));
  FW_TRY(find_quantile(b, set, level, most, quantile, err));
  for (unsigned rank = 0; rank < b->comm->ranks; rank++) {
    for (size_t i = 0; rank == b->comm->rank && i < rows->rows; i++) {
      const double weight = rows->weight ? (double)rows->weight[i] : 1;
      sums[0] += weight * fw_loss_of(&b->plan->graph, *quantile, (double)rows->label[i]);
      sums[1] += weight;
    }
    FW_TRY(b->comm->broadcast(b->comm, sums, sizeof sums, rank, err));
  }
  set->constant = sums[1] > 0 ? sums[0] / sums[1] : NAN;
  return FURROW_OK;
}

/* Finds the largest weight, and the scores to start from. Sums are in the order of all rows: a rank continues the sums
 * of the ranks before it. */
static furrow_status weigh_labels(fw_booster *b, furrow_error *err) {
  label_sums sums = {0, 0, 0};
  for (unsigned rank = 0; rank < b->comm->ranks; rank++) {
    if (rank == b->comm->rank) add_labels(b, &sums);
    FW_TRY(b->comm->broadcast(b->comm, &sums, sizeof sums, rank, err));
    FW_TRY(b->comm->broadcast(b->comm, b->base, b->classes * sizeof *b->base, rank, err));
  }
  b->most_weight = sums.most_weight;
  const fw_loss_type loss = b->plan->graph.loss;
  const bool from_average = fw_loss_is_regression(loss) || b->plan->forest.from_average;
  if (sums.weights > 0 && from_average)
    find_base(b, sums.sum, sums.weights);
  else
    memset(b->base, 0, b->classes * sizeof *b->base);
  double quantile = 0; /* of the validation rows, which nothing starts from */
  FW_TRY(find_constant(b, &b->train, b->base, err));
  return find_constant(b, &b->valid, &quantile, err);
}

static furrow_status check_forest(const fw_booster *b, const fw_forest *forest, furrow_error *err) {
  if (!b->cuts || b->forest) return fw_fail(err, FURROW_E_STATE, "rounds begin once, after the rows are taken");
  if (b->train.binned.rows != b->looked)
    return fw_fail(err, FURROW_E_STATE, "the second pass brought %zu rows, the first %zu", b->train.binned.rows,
                   b->looked);
  if (b->train.all == 0) return fw_fail(err, FURROW_E_STATE, "there are no rows to grow trees from");
  const uint32_t min_rows = b->plan->forest.min_rows;
  if (min_rows > FEW_ROWS && b->train.all / 2 < min_rows)
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "a leaf must have %" PRIu32 " rows (key `min-rows`), but there are %" PRIu64
                   ": no tree would have a split",
                   min_rows, b->train.all);
  if (forest->trees != b->start_trees)
    return fw_fail(err, FURROW_E_STATE, "the forest has %zu trees, but the rows have scores of %zu", forest->trees,
                   b->start_trees);
  return check_shape(b, forest, err);
}

furrow_status fw_booster_begin(fw_booster *b, fw_forest *forest, furrow_error *err) {
  FW_TRY(fw_comm_share_status(b->comm, check_forest(b, forest, err), err));
  FW_TRY(fw_comm_offset(b->comm, b->valid.binned.rows, &b->valid.first, &b->valid.all, err));
  if (b->valid.all > FW_MAX_ROWS) return fail_rows(err);
  furrow_status status = ready_set(b, &b->train, err);
  if (status == FURROW_OK) status = ready_set(b, &b->valid, err);
  FW_TRY(fw_comm_share_status(b->comm, status, err));
  FW_TRY(make_groups(b, &b->train, err));
  FW_TRY(make_groups(b, &b->valid, err));
  FW_TRY(fw_comm_share_status(b->comm, make_arrays(b, err), err));
  status = fw_grower_create(&b->grower, &b->plan->forest, &b->train.binned, b->comm, b->train.all, b->pool, err);
  FW_TRY(fw_comm_share_status(b->comm, status, err));
  FW_TRY(weigh_labels(b, err));
  fw_feature_stats_free(b->stats);
  fw_free(b->label);
  fw_free(b->weight);
  b->stats = NULL;
  b->label = b->weight = NULL;
  b->label_capacity = b->weight_capacity = 0;
  b->forest = forest;
  drop_predictor(b);
  return FURROW_OK;
}

/* ---- Rounds --------------------------------------------------------------------------------------------- */

/* Whether this rank has the least hash of all ranks; the first of several ranks with equal hashes has it. */
static furrow_status has_least(const fw_booster *b, uint64_t least, bool *has, furrow_error *err) {
  uint64_t most = ~least, before = 0, all = 0;
  FW_TRY(fw_comm_max_u64(b->comm, &most, 1, err));
  const bool same = b->train.binned.rows > 0 && most == ~least;
  FW_TRY(fw_comm_offset(b->comm, same, &before, &all, err));
  *has = same && before == 0;
  return FURROW_OK;
}

/* Puts the rows that the round's trees are grown from first, then the other rows; both ascending. *count is the number
 * of the former, at least one on some rank. */
static furrow_status choose_rows(fw_booster *b, uint64_t round, size_t *count, furrow_error *err) {
  fw_node_rows *rows = &b->train.rows;
  const double ratio = b->plan->forest.row_ratio;
  const size_t n = *count = b->train.binned.rows;
  uint32_t *row = rows->order[0], *other = rows->order[1];
  size_t chosen = 0, others = 0, first = 0;
  uint64_t least = UINT64_MAX;
  bool one = false;
  fw_node_rows_take_all(rows);
  if (!(ratio < 1)) return FURROW_OK;
  const uint64_t seed = fw_rng_hash(b->plan->train.seed + STREAM_ROWS, round);
  for (size_t i = 0; i < n; i++) {
    const uint64_t hash = fw_rng_hash(seed, b->train.first + i);
    if (hash < least) least = hash, first = i;
    if ((double)hash < ratio * 0x1p64)
      row[chosen++] = (uint32_t)i;
    else
      other[others++] = (uint32_t)i;
  }
  int64_t all = (int64_t)chosen;
  FW_TRY(fw_comm_sum_i64(b->comm, &all, 1, err));
  if (all == 0) FW_TRY(has_least(b, least, &one, err));
  if (one) { /* all are in order among the others: the one with the least hash goes to their front */
    memmove(other + 1, other, first * sizeof *other);
    other[0] = (uint32_t)first;
  }
  memcpy(row + chosen, other, others * sizeof *row);
  *count = chosen + one;
  fw_node_rows_take_chosen(rows, *count);
  return FURROW_OK;
}

/* A tree may split by at least this number of features, if the data has them: with fewer, a tree cannot see how two
 * features act together. Not used with Angel's settings. */
enum { FEATURES_AT_LEAST = 5 };

/* Chooses the features with the smallest hashes: the configured share, and at least one. */
static const uint8_t *choose_features(fw_booster *b, uint64_t tree) {
  const fw_cuts *cuts = b->cuts;
  const double ratio = b->plan->forest.feature_ratio;
  if (!(ratio < 1) || cuts->count == 0) return NULL;
  const uint64_t seed = fw_rng_hash(b->plan->train.seed + STREAM_FEATURES, tree);
  uint64_t *sorted = b->chance + cuts->count;
  for (size_t f = 0; f < cuts->count; f++) b->chance[f] = sorted[f] = fw_rng_hash(seed, cuts->feature[f].id);
  fw_sort_u64(sorted, cuts->count);
  const size_t least = b->plan->train.recommended ? FEATURES_AT_LEAST : 1;
  const size_t share = (size_t)floor(ratio * (double)cuts->count + 0.5), wanted = share > least ? share : least;
  const uint64_t limit = sorted[(wanted < cuts->count ? wanted : cuts->count) - 1];
  for (size_t f = 0; f < cuts->count; f++) b->allowed[f] = b->chance[f] <= limit;
  return b->allowed;
}

static furrow_status fill_gradients(fw_booster *b, uint64_t round, size_t class_number, furrow_error *err) {
  const size_t tree = (size_t)round * b->classes + class_number;
  double level;
  (void)fw_loss_is_of_quantile(&b->plan->graph, &level);
  const fw_gradient_job job = {.rows = &b->train.binned,
                               .loss = b->plan->graph.loss,
                               .level = level,
                               .score = b->train.score + class_number * b->train.binned.rows,
                               .base = round == 0 ? b->base[class_number] : 0,
                               .log_sum = b->log_sum,
                               .lambdas = b->lambdas.groups ? &b->lambdas : NULL,
                               .class_number = class_number,
                               .most_weight = b->most_weight,
                               .key = fw_rng_hash(b->plan->train.seed + STREAM_ROUNDING, tree),
                               .first_row = b->train.first,
                               .comm = b->comm};
  if (b->lambdas.groups) fw_lambdas_fill(&b->lambdas, b->train.score, b->pool);
  return fw_gradients_fill(&b->gradients, &job, b->pool, err);
}

/* The leaves of a tree become quantiles, of all rows. */
static furrow_status renew_leaves(fw_booster *b, const fw_growth *growth, double base, double *score,
                                  furrow_error *err) {
  fw_leaf_job job = {.rows = &b->train.rows,
                     .forest = b->forest,
                     .tree = growth->tree,
                     .base = base,
                     .start = growth->start,
                     .rate = growth->rate,
                     .most_weight = b->most_weight,
                     .direction = b->direction,
                     .score = score,
                     .comm = b->comm};
  (void)fw_loss_is_of_quantile(&b->plan->graph, &job.level);
  fw_node_rows_take_all(&b->train.rows);
  return fw_leaf_quantiles_renew(&b->leaf_quantiles, &job, err);
}

static furrow_status grow_tree(fw_booster *b, uint64_t round, size_t class_number, furrow_error *err) {
  const size_t rows = b->train.binned.rows, tree = (size_t)round * b->classes + class_number;
  const double rate = b->plan->train.lr;
  row_set *valid = &b->valid;
  size_t row_count = 0;
  FW_TRY(fill_gradients(b, round, class_number, err));
  FW_TRY(choose_rows(b, round, &row_count, err));
  double *score = b->train.score + class_number * rows;
  const bool renews = fw_loss_is_of_quantile(&b->plan->graph, NULL);
  const fw_growth growth = {.gradients = &b->gradients,
                            .rows = &b->train.rows,
                            .row_count = row_count,
                            .allowed = choose_features(b, tree),
                            .forest = b->forest,
                            .tree = tree,
                            .start = round == 0 && rate != 0 ? b->base[class_number] / rate : 0,
                            .rate = rate,
                            .log_link = b->plan->graph.loss == FW_LOSS_POISSON,
                            .direction = b->direction,
                            .score = renews ? NULL : score,
                            .check = b->check,
                            .check_user = b->check_user};
  furrow_status status = fw_grower_tree(b->grower, &growth, err);
  if (renews) {
    FW_TRY(fw_comm_share_status(b->comm, status, err));
    status = renew_leaves(b, &growth, round == 0 ? b->base[class_number] : 0, score, err);
  } else if (status == FURROW_OK)
    status = fw_node_rows_apply_tree(&b->train.rows, row_count, rows, b->forest, tree, rate, score, err);
  if (status == FURROW_OK && valid->binned.rows > 0) {
    fw_node_rows_take_all(&valid->rows);
    status = fw_node_rows_apply_tree(&valid->rows, 0, valid->binned.rows, b->forest, tree, rate,
                                     valid->score + class_number * valid->binned.rows, err);
  }
  return fw_comm_share_status(b->comm, status, err);
}

void fw_booster_set_check(fw_booster *b, furrow_status (*check)(void *user, furrow_error *err), void *user) {
  b->check = check;
  b->check_user = user;
}

furrow_status fw_booster_round(fw_booster *b, furrow_error *err) {
  if (!b->forest) return fw_fail(err, FURROW_E_STATE, "rounds have not begun");
  const size_t trees = b->forest->trees;
  const uint64_t round = trees / b->classes;
  furrow_status status = fw_comm_share_status(b->comm, fw_forest_add(b->forest, b->classes, err), err);
  if (status == FURROW_OK && b->log_sum)
    fw_gradients_log_sums(b->train.score, round == 0 ? b->base : NULL, b->train.binned.rows, b->classes, b->pool,
                          b->log_sum);
  for (size_t c = 0; status == FURROW_OK && c < b->classes; c++) status = grow_tree(b, round, c, err);
  if (status != FURROW_OK) fw_forest_truncate(b->forest, trees);
  return status;
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

furrow_status fw_booster_tally(const fw_booster *b, bool valid, size_t every, fw_tally *tally, furrow_error *err) {
  const row_set *set = valid ? &b->valid : &b->train;
  const fw_binned *rows = &set->binned;
  const fw_scored_rows scored = {set->score, rows->rows, rows->label, rows->weight, set->first};
  double ndcg = 0;
  FW_TRY(fw_tally_add_scored(tally, &scored, every, b->comm, b->pool, err));
  if (fw_loss_is_of_quantile(&b->plan->graph, NULL)) fw_tally_put_constant(tally, set->constant);
  if (set->order.count == 0) return FURROW_OK;
  FW_TRY(fw_group_order_ndcg(&set->order, b->comm, &set->groups, set->score, rows->label, rows->weight, &ndcg, err));
  fw_tally_put_ndcg(tally, ndcg);
  return FURROW_OK;
}

uint64_t fw_booster_feature_end(const fw_booster *b) {
  return b->feature_end;
}

size_t fw_booster_rows(const fw_booster *b, bool valid) {
  const row_set *set = valid ? &b->valid : &b->train;
  return b->comm->ranks > 1 ? (size_t)set->all : set->binned.rows;
}
