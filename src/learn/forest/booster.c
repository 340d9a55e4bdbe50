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
#include "learn/forest/forest_predictor.h"
#include "learn/forest/tree_grow.h"

/* ---- Trees from before ------------------------------------------------------------------------------------------ */

/* Scores that rows have from trees that were there before the first round, by the values themselves, not by bins. */
typedef struct start_scores {
  fw_forest_predictor *predictor;
  fw_predict_scratch *scratch;
  size_t classes;
  uint32_t *columns; /* 0, 1 …, for dense rows */
  size_t column_capacity;
} start_scores;

static void start_scores_free(start_scores *start) {
  if (!start) return;
  fw_predict_scratch_free(start->scratch);
  fw_forest_predictor_free(start->predictor);
  fw_free(start->columns);
  fw_free(start);
}

static furrow_status start_scores_create(start_scores **start, const fw_forest *forest, double rate,
                                         furrow_error *err) {
  start_scores *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->classes = forest->classes;
  status = fw_forest_predictor_create(&made->predictor, forest, rate, err);
  if (status == FURROW_OK) status = fw_predict_scratch_create(&made->scratch, made->predictor, err);
  if (status == FURROW_OK)
    *start = made;
  else
    start_scores_free(made);
  return status;
}

static furrow_status number_columns(start_scores *start, size_t columns, furrow_error *err) {
  const size_t before = start->column_capacity;
  furrow_status status =
      fw_grow((void **)&start->columns, &start->column_capacity, columns, sizeof *start->columns, err);
  for (size_t i = before; status == FURROW_OK && i < start->column_capacity; i++) start->columns[i] = (uint32_t)i;
  return status;
}

static furrow_row row_of(const start_scores *start, const fw_minibatch *batch, size_t i) {
  if (batch->x)
    return (furrow_row){.length = batch->columns,
                        .index = {.u32 = start->columns},
                        .key_type = FURROW_KEY_U32,
                        .value = {.f32 = batch->x + i * batch->columns},
                        .value_type = FURROW_VALUE_F32};
  const size_t begin = batch->offset[i];
  furrow_row row = {.length = batch->offset[i + 1] - begin,
                    .index = {.u64 = batch->key + begin},
                    .key_type = FURROW_KEY_U64,
                    .value_type = FURROW_VALUE_F32};
  if (batch->value) row.value.f32 = batch->value + begin;
  return row;
}

/* Scores of a batch of plain rules: `classes` numbers for each row to out. */
static furrow_status start_scores_rows(start_scores *start, const fw_minibatch *batch, double *out, furrow_error *err) {
  furrow_status status = batch->x ? number_columns(start, batch->columns, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < batch->rows; i++) {
    const furrow_row row = row_of(start, batch, i);
    fw_forest_predict_row(start->predictor, start->scratch, &row, out + i * start->classes);
  }
  return status;
}

/* ---- The booster ------------------------------------------------------------------------------------------------ */

enum { FEW_ROWS = 2 }; /* of a leaf, that rows may be too few for: Furrow recommends so many for all data */

/* Rows that one task finds the terms of, and how many tasks at most. */
enum { TERM_ROWS = 1 << 10, TERM_TASKS = 64 };

/* What hashes are for: each has a stream of its own. */
enum { STREAM_ROWS = 1, STREAM_FEATURES, STREAM_ROUNDING };

/* Rows and their scores: for training, for validation. */
typedef struct row_set {
  uint64_t first, all; /* number of the first row among those of all ranks, and how many these are */
  fw_binned binned;
  fw_node_rows rows;
  double *score;  /* of class 0 for all rows, of class 1 … */
  double *before; /* of trees that were there before: all classes of row 0, of row 1 …; NULL: none */
  size_t before_capacity;
  uint64_t *qid; /* of rows that are ranked, until they are in groups */
  size_t qid_capacity;
  fw_row_groups groups;
  fw_group_order all_groups; /* of all ranks, if there are several */
} row_set;

struct fw_booster {
  const fw_plan *plan;
  fw_spin_pool *pool;
  const furrow_comm *comm;
  size_t classes;
  fw_feature_stats *stats;
  fw_cuts *cuts;
  row_set train, valid;
  float *label, *weight; /* of the first pass, to know the rows again; weight NULL: all 1 */
  size_t looked, label_capacity, weight_capacity;
  fw_grower *grower;
  fw_gradients gradients;
  float *log_sum;
  fw_lambdas lambdas; /* of rows that are ranked */
  uint8_t *allowed;
  uint64_t *chance; /* of features: random numbers to choose them by */
  fw_forest *forest;
  start_scores *start; /* of trees that were there before; NULL: none */
  size_t start_trees;
  double *base; /* of each class: what scores start at, folded into the first trees */
  double most_weight;
  double *out;           /* of a row, for tallies: TERM_TASKS times */
  fw_tally_row *counted; /* what is counted of rows, side by side: TERM_TASKS * TERM_ROWS */
  furrow_status (*check)(void *user, furrow_error *err);
  void *check_user;
};

/* ---- Create, free --------------------------------------------------------------------------------------- */

furrow_status fw_booster_create(fw_booster **booster, const fw_plan *plan, fw_spin_pool *pool, furrow_error *err) {
  const fw_loss_type loss = plan->graph.loss;
  if (loss != FW_LOSS_LOG && loss != FW_LOSS_L2 && loss != FW_LOSS_SOFTMAX && loss != FW_LOSS_LAMBDA)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "trees are not grown for %s", fw_loss_name(loss));
  fw_booster *b = NULL;
  furrow_status status = fw_alloc_zero((void **)&b, 1, sizeof *b, err);
  if (status != FURROW_OK) return status;
  b->plan = plan;
  b->pool = pool;
  b->comm = fw_comm_self();
  b->classes = loss == FW_LOSS_SOFTMAX ? plan->graph.outputs : 1;
  status = fw_alloc((void **)&b->out, b->classes, TERM_TASKS * sizeof *b->out, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&b->counted, TERM_TASKS, TERM_ROWS * sizeof *b->counted, err);
  if (status == FURROW_OK) status = fw_alloc_zero((void **)&b->base, b->classes, sizeof *b->base, err);
  if (status == FURROW_OK) status = fw_feature_stats_create(&b->stats, plan, err);
  if (status == FURROW_OK) {
    *booster = b;
  } else {
    fw_booster_free(b);
  }
  return status;
}

void fw_booster_set_comm(fw_booster *b, const furrow_comm *comm, uint64_t first_row) {
  b->comm = comm;
  b->train.first = first_row;
  fw_feature_stats_set_first_row(b->stats, first_row);
}

/* The failure of one rank is that of all. */
static furrow_status on_all_ranks(const fw_booster *b, furrow_status status, furrow_error *err) {
  return fw_comm_share_status(b->comm, status, err);
}

static void clear_set(row_set *set) {
  fw_node_rows_clear(&set->rows);
  fw_binned_clear(&set->binned);
  fw_free(set->score);
  fw_free(set->before);
  fw_free(set->qid);
  fw_row_groups_clear(&set->groups);
  fw_group_order_clear(&set->all_groups);
}

void fw_booster_free(fw_booster *b) {
  if (!b) return;
  fw_grower_free(b->grower);
  start_scores_free(b->start);
  fw_lambdas_clear(&b->lambdas);
  clear_set(&b->train);
  clear_set(&b->valid);
  fw_feature_stats_free(b->stats);
  fw_cuts_free(b->cuts);
  void *const arrays[] = {b->label,  b->weight, b->gradients.pair, b->log_sum, b->allowed,
                          b->chance, b->out,    b->base,           b->counted};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(b);
}

/* ---- Passes --------------------------------------------------------------------------------------------- */

static furrow_status keep_labels(fw_booster *b, const fw_minibatch *batch, furrow_error *err) {
  const size_t rows = b->looked + batch->rows;
  furrow_status status = fw_grow((void **)&b->label, &b->label_capacity, rows, sizeof *b->label, err);
  if (status != FURROW_OK) return status;
  memcpy(b->label + b->looked, batch->label, batch->rows * sizeof *b->label);
  if (batch->weight || b->weight) {
    const size_t known = b->weight ? b->looked : 0;
    status = fw_grow((void **)&b->weight, &b->weight_capacity, rows, sizeof *b->weight, err);
    if (status != FURROW_OK) return status;
    for (size_t i = known; i < b->looked; i++) b->weight[i] = 1;
    for (size_t i = 0; i < batch->rows; i++) b->weight[b->looked + i] = batch->weight ? batch->weight[i] : 1;
  }
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

/* Uses of features that are kept as lists; of this rank about. */
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
  return on_all_ranks(b, status, err);
}

furrow_status fw_booster_choose_cuts(fw_booster *b, furrow_error *err) {
  if (b->cuts) return fw_fail(err, FURROW_E_STATE, "the cuts are chosen already");
  fw_cuts *cuts = NULL;
  FW_TRY(number_rows(b, err));
  FW_TRY(fw_feature_stats_merge(b->stats, b->comm, err));
  furrow_status status = fw_feature_stats_choose_cuts(b->stats, b->pool, &cuts, err);
  if (status == FURROW_OK) {
    b->cuts = cuts;
    status = fw_binned_init(&b->train.binned, cuts, b->looked, count_entries(b), err);
  }
  if (status == FURROW_OK) status = fw_binned_init(&b->valid.binned, cuts, 0, 0, err);
  return on_all_ranks(b, status, err);
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
  if (b->start || b->train.binned.rows > 0)
    return fw_fail(err, FURROW_E_STATE, "trees to go on from come once, before the second pass");
  furrow_status status = check_shape(b, forest, err);
  if (status != FURROW_OK || forest->trees == 0) return status;
  b->start_trees = forest->trees;
  return start_scores_create(&b->start, forest, b->plan->train.lr, err);
}

static furrow_status score_before(fw_booster *b, row_set *set, const fw_minibatch *batch, size_t rows,
                                  furrow_error *err) {
  const size_t had = rows * b->classes, more = batch->rows * b->classes;
  if (!b->start) return FURROW_OK;
  furrow_status status = fw_grow((void **)&set->before, &set->before_capacity, had + more, sizeof *set->before, err);
  return status == FURROW_OK ? start_scores_rows(b->start, batch, set->before + had, err) : status;
}

static furrow_status keep_groups(row_set *set, const fw_minibatch *batch, size_t rows, furrow_error *err) {
  if (!batch->qid) return FURROW_OK;
  FW_TRY(fw_grow((void **)&set->qid, &set->qid_capacity, rows + batch->rows, sizeof *set->qid, err));
  memcpy(set->qid + rows, batch->qid, batch->rows * sizeof *set->qid);
  return FURROW_OK;
}

static furrow_status fail_rows(furrow_error *err) {
  return fw_fail(err, FURROW_E_RANGE, "there are more than %" PRIu64 " rows", FW_MAX_ROWS);
}

static furrow_status take(fw_booster *b, row_set *set, const fw_minibatch *batch, size_t count, furrow_error *err) {
  const uint32_t *const *numbers = NULL;
  size_t rows = set->binned.rows;
  if (!b->cuts || b->forest) return fw_fail(err, FURROW_E_STATE, "rows are taken after the cuts, before the rounds");
  FW_TRY(fw_feature_stats_numbers(b->stats, batch, count, b->pool, &numbers, err));
  for (size_t i = 0; i < count; rows += batch[i++].rows) {
    if (set->first + rows + batch[i].rows > FW_MAX_ROWS) return fail_rows(err);
    FW_TRY(score_before(b, set, &batch[i], rows, err)); /* rows before the batch */
    FW_TRY(keep_groups(set, &batch[i], rows, err));
  }
  return fw_binned_add(&set->binned, batch, numbers, count, b->pool, err);
}

furrow_status fw_booster_add_rows(fw_booster *b, const fw_minibatch *batch, size_t count, furrow_error *err) {
  size_t rows = b->train.binned.rows;
  for (size_t i = 0; b->cuts && i < count; rows += batch[i++].rows)
    if (!is_known(b, &batch[i], rows))
      return fw_fail(err, FURROW_E_STATE, "the second pass brings other rows than the first");
  return take(b, &b->train, batch, count, err);
}

furrow_status fw_booster_add_valid_rows(fw_booster *b, const fw_minibatch *batch, size_t count, furrow_error *err) {
  return take(b, &b->valid, batch, count, err);
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
  FW_TRY(on_all_ranks(b, status, err));
  if (b->comm->ranks > 1) FW_TRY(fw_group_order_init(&set->all_groups, b->comm, &set->groups, set->qid, err));
  fw_free(set->qid);
  set->qid = NULL;
  set->qid_capacity = 0;
  return FURROW_OK;
}

/* Groups of rows that are ranked. What cannot be ranked better or worse teaches nothing, and tells nothing. */
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
  furrow_status status = fw_binned_finish(&set->binned, b->pool, err);
  if (status == FURROW_OK) status = fw_node_rows_init(&set->rows, &set->binned, err);
  if (status == FURROW_OK)
    status = fw_alloc_zero((void **)&set->score, set->binned.rows, b->classes * sizeof *set->score, err);
  if (status == FURROW_OK) take_before(b, set);
  return status;
}

static furrow_status make_arrays(fw_booster *b, furrow_error *err) {
  const size_t rows = b->train.binned.rows, features = b->cuts->count;
  furrow_status status = fw_alloc((void **)&b->gradients.pair, rows, sizeof *b->gradients.pair, err);
  if (status == FURROW_OK) fw_prefer_large_pages(b->gradients.pair, rows * sizeof *b->gradients.pair);
  if (status == FURROW_OK && b->plan->graph.loss == FW_LOSS_SOFTMAX)
    status = fw_alloc((void **)&b->log_sum, rows, sizeof *b->log_sum, err);
  if (status == FURROW_OK && b->plan->graph.loss == FW_LOSS_LAMBDA)
    status = fw_lambdas_init(&b->lambdas, &b->train.groups, b->train.binned.label, b->plan->forest.truncation, err);
  if (status == FURROW_OK && b->plan->forest.feature_ratio < 1) {
    status = fw_alloc((void **)&b->allowed, features, sizeof *b->allowed, err);
    if (status == FURROW_OK) status = fw_alloc((void **)&b->chance, features, 2 * sizeof *b->chance, err);
  }
  FW_TRY(on_all_ranks(b, status, err));
  status = fw_grower_create(&b->grower, &b->plan->forest, &b->train.binned, b->comm, b->train.all, b->pool, err);
  return on_all_ranks(b, status, err);
}

/* The share of a class, but at least half a row's: its logarithm is a number. */
static double share_of(double weight, double weights, uint64_t rows) {
  const double least = 0.5 / (double)rows;
  return fmin(fmax(weight / weights, least), 1 - least);
}

/* What scores start at: the mean of the labels; their log odds; the logarithms of the shares of the classes, whose
 * weights base[] has. */
static void find_base(fw_booster *b, double sum, double weights) {
  const fw_loss_type loss = b->plan->graph.loss;
  const uint64_t rows = b->train.all;
  const double positive = share_of((weights + sum) / 2, weights, rows); /* labels are -1 and 1 */
  if (loss == FW_LOSS_L2) b->base[0] = sum / weights;
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

/* The largest weight, and what scores start at. Sums are in the order of all rows: a rank goes on from those of the
 * ranks before it. */
static furrow_status weigh_labels(fw_booster *b, furrow_error *err) {
  label_sums sums = {0, 0, 0};
  for (unsigned rank = 0; rank < b->comm->ranks; rank++) {
    if (rank == b->comm->rank) add_labels(b, &sums);
    FW_TRY(b->comm->broadcast(b->comm, &sums, sizeof sums, rank, err));
    FW_TRY(b->comm->broadcast(b->comm, b->base, b->classes * sizeof *b->base, rank, err));
  }
  b->most_weight = sums.most_weight;
  if (sums.weights > 0 && (b->plan->graph.loss == FW_LOSS_L2 || b->plan->forest.from_average))
    find_base(b, sums.sum, sums.weights);
  else
    memset(b->base, 0, b->classes * sizeof *b->base);
  return FURROW_OK;
}

static furrow_status apply_forest(fw_booster *b, row_set *set, size_t tree, furrow_error *err) {
  const size_t rows = set->binned.rows;
  if (rows == 0) return FURROW_OK;
  fw_node_rows_take_all(&set->rows);
  return fw_node_rows_apply_tree(&set->rows, 0, rows, b->forest, tree, b->plan->train.lr,
                                 set->score + tree % b->classes * rows, b->pool, err);
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
  FW_TRY(on_all_ranks(b, check_forest(b, forest, err), err));
  FW_TRY(fw_comm_offset(b->comm, b->valid.binned.rows, &b->valid.first, &b->valid.all, err));
  if (b->valid.all > FW_MAX_ROWS) return fail_rows(err);
  furrow_status status = ready_set(b, &b->train, err);
  if (status == FURROW_OK) status = ready_set(b, &b->valid, err);
  FW_TRY(on_all_ranks(b, status, err));
  FW_TRY(make_groups(b, &b->train, err));
  FW_TRY(make_groups(b, &b->valid, err));
  FW_TRY(make_arrays(b, err));
  FW_TRY(weigh_labels(b, err));
  fw_feature_stats_free(b->stats);
  fw_free(b->label);
  fw_free(b->weight);
  b->stats = NULL;
  b->label = b->weight = NULL;
  b->label_capacity = b->weight_capacity = 0;
  b->forest = forest;
  start_scores_free(b->start);
  b->start = NULL;
  return FURROW_OK;
}

/* ---- Rounds --------------------------------------------------------------------------------------------- */

/* Whether something with this hash is in a share of all. */
static bool is_chosen(uint64_t hash, double ratio) {
  return (double)hash < ratio * 0x1p64;
}

/* Whether this rank has the least hash of all; of equal ones the first rank has. */
static furrow_status has_least(const fw_booster *b, uint64_t least, bool *has, furrow_error *err) {
  uint64_t most = ~least, before = 0, all = 0;
  FW_TRY(fw_comm_max_u64(b->comm, &most, 1, err));
  const bool same = b->train.binned.rows > 0 && most == ~least;
  FW_TRY(fw_comm_offset(b->comm, same, &before, &all, err));
  *has = same && before == 0;
  return FURROW_OK;
}

/* Rows that the round's trees are grown from come first, the others behind them; both ascending. *count: how many the
 * first are, at least one on some rank. */
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
    if (is_chosen(hash, ratio))
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

/* Features that a tree may always split by, as long as the data has so many: with fewer a tree cannot see how two of
 * them act together. Not where Angel's settings count. */
enum { FEATURES_AT_LEAST = 5 };

/* The features with the least hashes, so many that their share is right, and at least one. */
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
  const fw_gradient_job job = {.rows = &b->train.binned,
                               .loss = b->plan->graph.loss,
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

static furrow_status grow_tree(fw_booster *b, uint64_t round, size_t class_number, furrow_error *err) {
  const size_t rows = b->train.binned.rows, tree = (size_t)round * b->classes + class_number;
  const double rate = b->plan->train.lr;
  size_t row_count = 0;
  FW_TRY(fill_gradients(b, round, class_number, err));
  FW_TRY(choose_rows(b, round, &row_count, err));
  double *score = b->train.score + class_number * rows;
  const fw_growth growth = {.gradients = &b->gradients,
                            .rows = &b->train.rows,
                            .row_count = row_count,
                            .allowed = choose_features(b, tree),
                            .forest = b->forest,
                            .tree = tree,
                            .start = round == 0 && rate != 0 ? b->base[class_number] / rate : 0,
                            .rate = rate,
                            .score = score,
                            .check = b->check,
                            .check_user = b->check_user};
  furrow_status status = fw_grower_tree(b->grower, &growth, err);
  if (status == FURROW_OK)
    status = fw_node_rows_apply_tree(&b->train.rows, row_count, rows, b->forest, tree, rate, score, b->pool, err);
  if (status == FURROW_OK) status = apply_forest(b, &b->valid, tree, err);
  return on_all_ranks(b, status, err);
}

void fw_booster_set_check(fw_booster *b, furrow_status (*check)(void *user, furrow_error *err), void *user) {
  b->check = check;
  b->check_user = user;
}

furrow_status fw_booster_round(fw_booster *b, furrow_error *err) {
  if (!b->forest) return fw_fail(err, FURROW_E_STATE, "rounds have not begun");
  const size_t trees = b->forest->trees;
  const uint64_t round = trees / b->classes;
  furrow_status status = on_all_ranks(b, fw_forest_add(b->forest, b->classes, err), err);
  if (status == FURROW_OK && b->log_sum)
    fw_gradients_log_sums(b->train.score, round == 0 ? b->base : NULL, b->train.binned.rows, b->classes, b->pool,
                          b->log_sum);
  for (size_t c = 0; status == FURROW_OK && c < b->classes; c++) status = grow_tree(b, round, c, err);
  if (status != FURROW_OK) fw_forest_truncate(b->forest, trees);
  return status;
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

/* Rows that are counted: first, first + every … What can be found of them one by one, all threads find beforehand. */
typedef struct counted_rows {
  const fw_booster *booster;
  const row_set *set;
  size_t first, every, count;
  size_t from, to; /* of them: those that are found now */
  fw_tally_row *found;
} counted_rows;

static counted_rows count_rows(const fw_booster *b, const row_set *set, size_t first, size_t every) {
  const size_t rows = set->binned.rows;
  return (counted_rows){b, set, first, every, first < rows ? (rows - first - 1) / every + 1 : 0, 0, 0, NULL};
}

/* Scores of a row, class by class; `task` has memory for them. */
static const double *scores_of(const counted_rows *counted, size_t row, size_t task) {
  const fw_booster *b = counted->booster;
  const row_set *set = counted->set;
  if (b->classes == 1) return set->score + row;
  double *out = b->out + task * b->classes;
  for (size_t c = 0; c < b->classes; c++) out[c] = set->score[c * set->binned.rows + row];
  return out;
}

static void find_task_rows(void *context, size_t task) {
  const counted_rows *counted = context;
  const fw_binned *rows = &counted->set->binned;
  const size_t begin = counted->from + task * TERM_ROWS;
  const size_t end = counted->to - begin < TERM_ROWS ? counted->to : begin + TERM_ROWS;
  for (size_t i = begin; i < end; i++) {
    const size_t row = counted->first + i * counted->every;
    const double *out = scores_of(counted, row, task);
    counted->found[i - counted->from] =
        (fw_tally_row){.terms = fw_row_terms_of(&counted->booster->plan->graph, out, (double)rows->label[row]),
                       .out = *out,
                       .label = rows->label[row],
                       .weight = rows->weight ? rows->weight[row] : 1};
  }
}

/* Up to TERM_TASKS * TERM_ROWS rows from `from` on. */
static void find_rows(counted_rows *counted, size_t from, fw_tally_row *found) {
  const size_t most = (size_t)TERM_TASKS * TERM_ROWS;
  counted->from = from;
  counted->to = counted->count - from < most ? counted->count : from + most;
  counted->found = found;
  fw_spin_pool_run(counted->booster->pool, (counted->to - from + TERM_ROWS - 1) / TERM_ROWS, find_task_rows, counted);
}

void fw_booster_tally(const fw_booster *b, bool valid, size_t every, fw_tally *tally) {
  const row_set *set = valid ? &b->valid : &b->train;
  counted_rows counted = count_rows(b, set, 0, every);
  for (size_t from = 0; from < counted.count; from = counted.to) {
    find_rows(&counted, from, b->counted);
    fw_tally_add_rows(tally, b->counted, counted.to - from, counted.to == counted.count, b->pool);
  }
  if (set->groups.count > 0)
    fw_tally_put_ndcg(tally, fw_row_groups_ndcg(&set->groups, set->score, set->binned.label, set->binned.weight));
}

/* All rows of this rank are found before its turn. */
static void add_counted(void *user, fw_tally *tally) {
  const counted_rows *counted = user;
  fw_tally_add_rows(tally, counted->found, counted->count, false, counted->booster->pool);
}

/* Every `every`-th row of those of all ranks. Sums are in their order: the ranks take turns. */
static furrow_status tally_ranks(const fw_booster *b, const row_set *set, size_t every, fw_tally *tally,
                                 furrow_error *err) {
  counted_rows counted = count_rows(b, set, (size_t)((every - set->first % every) % every), every);
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, counted.count + 1, sizeof *counted.found, err);
  status = on_all_ranks(b, status, err);
  if (status == FURROW_OK) {
    fw_tally_row *found = memory;
    for (size_t from = 0; from < counted.count; from = counted.to) find_rows(&counted, from, found + from);
    counted.found = found;
    status = fw_tally_add_by_rank(tally, b->comm, add_counted, &counted, err);
  }
  fw_free(memory);
  return status;
}

furrow_status fw_booster_tally_all(const fw_booster *b, bool valid, size_t every, fw_tally *tally, furrow_error *err) {
  const row_set *set = valid ? &b->valid : &b->train;
  double ndcg = 0;
  if (b->comm->ranks == 1) {
    fw_booster_tally(b, valid, every, tally);
    return FURROW_OK;
  }
  FW_TRY(tally_ranks(b, set, every, tally, err));
  if (set->all_groups.count == 0) return FURROW_OK;
  FW_TRY(fw_group_order_ndcg(&set->all_groups, b->comm, &set->groups, set->score, set->binned.label, set->binned.weight,
                             &ndcg, err));
  fw_tally_put_ndcg(tally, ndcg);
  return FURROW_OK;
}

size_t fw_booster_rows(const fw_booster *b, bool valid) {
  const row_set *set = valid ? &b->valid : &b->train;
  return b->comm->ranks > 1 ? (size_t)set->all : set->binned.rows;
}

static size_t set_memory(const fw_booster *b, const row_set *set) {
  if (set->binned.row_capacity == 0) return 0;
  return fw_binned_memory(&set->binned) + (set->rows.binned ? fw_node_rows_memory(&set->rows) : 0) +
         (set->score ? set->binned.rows * b->classes * sizeof *set->score : 0) + set->qid_capacity * sizeof *set->qid +
         (set->groups.row ? set->binned.rows * sizeof *set->groups.row : 0);
}

size_t fw_booster_memory(const fw_booster *b) {
  const size_t rows = b->train.binned.rows;
  size_t bytes = set_memory(b, &b->train) + set_memory(b, &b->valid) + fw_lambdas_memory(&b->lambdas);
  if (b->stats) bytes += fw_feature_stats_memory(b->stats);
  if (b->cuts) bytes += fw_cuts_memory(b->cuts);
  if (b->grower) bytes += fw_grower_memory(b->grower);
  bytes += (b->label_capacity + b->weight_capacity) * sizeof(float);
  if (b->gradients.pair) bytes += rows * sizeof *b->gradients.pair;
  if (b->log_sum) bytes += rows * sizeof *b->log_sum;
  return bytes;
}
