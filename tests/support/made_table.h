/* tests/support/made_table.h: tables of numbers, and forests grown from them. */
#ifndef MADE_TABLE_H
#define MADE_TABLE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "learn/forest/booster.h"
#include "support/cmocka_all.h"

/* NaN: the row does not have the feature. */
typedef struct table {
  size_t rows, columns;
  float *x, *label, *weight;   /* weight NULL: all 1 */
  uint64_t *qid;               /* NULL: rows are not ranked */
  const fw_monotone *monotone; /* features along which scores may only rise, or fall */
  size_t monotone_count;
} table;

typedef struct table_rules {
  size_t rows, columns;
  unsigned values; /* different values of a feature; 0: any number */
  double absent;   /* share of numbers that are missing */
  double rare;     /* the same, for the second half of the columns; 0: as the others */
  bool positive;   /* values are 1, 2, 3 … */
  bool weights;
  fw_loss_type loss;
  size_t classes;
  uint64_t seed;
} table_rules;

static inline void *table_array(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  assert_non_null(memory);
  return memory;
}

static inline float table_number(const table_rules *rules, size_t column, fw_rng *rng) {
  const double absent = rules->rare > 0 && column >= rules->columns / 2 ? rules->rare : rules->absent;
  if (fw_rng_double(rng) < absent) return NAN;
  if (rules->values == 0) return (float)fw_rng_normal(rng);
  const float number = (float)fw_rng_below(rng, rules->values);
  return rules->positive ? number + 1 : number - (float)(rules->values / 2);
}

/* What labels depend on: two features and their product, and whether a third is there. */
static inline double table_truth(const table *t, size_t row) {
  const float *x = t->x + row * t->columns;
  const double a = isnan(x[0]) ? 0.3 : (double)x[0], b = t->columns > 1 && !isnan(x[1]) ? (double)x[1] : -0.2;
  const double c = t->columns > 2 && isnan(x[t->columns - 1]) ? 0.8 : 0;
  return 0.7 * a - 0.4 * b + 0.5 * a * b + c;
}

static inline float table_label(const table_rules *rules, double z, fw_rng *rng) {
  if (rules->loss == FW_LOSS_L2) return (float)(5 + z + 0.3 * fw_rng_normal(rng));
  if (rules->loss == FW_LOSS_ABSOLUTE || rules->loss == FW_LOSS_QUANTILE)
    return (float)(z + fw_rng_normal(rng) / (0.2 + fw_rng_double(rng)));
  if (rules->loss == FW_LOSS_POISSON) return floorf((float)(4 * fw_rng_double(rng) * exp(0.5 * z)));
  if (rules->loss == FW_LOSS_LOG) return fw_rng_double(rng) < 1 / (1 + exp(-z)) ? 1 : -1;
  const double place = z + 0.5 * fw_rng_normal(rng);
  const double class_number = floor(place + (double)rules->classes / 2);
  return (float)fmin(fmax(class_number, 0), (double)rules->classes - 1);
}

static inline table table_make(const table_rules *rules) {
  table t = {.rows = rules->rows, .columns = rules->columns};
  fw_rng rng;
  fw_rng_init(&rng, rules->seed);
  t.x = table_array(t.rows * t.columns, sizeof(float));
  t.label = table_array(t.rows, sizeof(float));
  if (rules->weights) t.weight = table_array(t.rows, sizeof(float));
  if (rules->loss == FW_LOSS_LAMBDA) t.qid = table_array(t.rows, sizeof *t.qid);
  for (size_t row = 0; t.qid && row < t.rows; row++) t.qid[row] = row % (t.rows / 20 + 1);
  for (size_t row = 0; row < t.rows; row++) {
    for (size_t c = 0; c < t.columns; c++) t.x[row * t.columns + c] = table_number(rules, c, &rng);
    t.label[row] = table_label(rules, table_truth(&t, row), &rng);
    if (t.weight) t.weight[row] = 0.25F * (float)(1 + fw_rng_below(&rng, 8));
  }
  return t;
}

static inline void table_free(table *t) {
  free(t->x);
  free(t->label);
  free(t->weight);
  free(t->qid);
  memset(t, 0, sizeof *t);
}

/* ---- Plans ---- */

static inline fw_plan table_plan(const table_rules *rules) {
  fw_plan plan;
  memset(&plan, 0, sizeof plan);
  plan.graph.loss = rules->loss;
  plan.graph.outputs = rules->loss == FW_LOSS_SOFTMAX ? rules->classes : 1;
  plan.graph.quantile = 0.8;
  plan.data.range = -1;
  plan.train.lr = 0.3;
  plan.train.seed = 7;
  plan.forest = (fw_forest_conf){.used = true,
                                 .levels = 5,
                                 .splits = 254,
                                 .row_ratio = 1,
                                 .feature_ratio = 1,
                                 .min_child_weight = 1,
                                 .lambda = 1,
                                 .min_rows = 1,
                                 .truncation = 10};
  return plan;
}

/* ---- Batches ---- */

/* That come at once. */
enum { TABLE_BATCHES = 3 };

typedef furrow_status (*table_take)(fw_booster *booster, const fw_minibatch *batch, size_t count, furrow_error *err);

/* The numbers of a table as lists. */
typedef struct table_lists {
  uint64_t *key;
  float *value;
  size_t *first;    /* of each row; rows + 1 */
  uint32_t *offset; /* scratch for those of batches */
} table_lists;

static inline table_lists table_list(const table *t) {
  table_lists l = {table_array(t->rows * t->columns, sizeof *l.key), table_array(t->rows * t->columns, sizeof *l.value),
                   table_array(t->rows + 1, sizeof *l.first), table_array(t->rows + TABLE_BATCHES, sizeof *l.offset)};
  size_t uses = 0;
  for (size_t row = 0; row < t->rows; row++) {
    for (size_t c = 0; c < t->columns; c++) {
      const float x = t->x[row * t->columns + c];
      if (isnan(x)) continue;
      l.key[uses] = c;
      l.value[uses++] = x;
    }
    l.first[row + 1] = uses;
  }
  return l;
}

static inline void table_lists_free(table_lists *l) {
  free(l->key);
  free(l->value);
  free(l->first);
  free(l->offset);
}

/* `offset`: where its offsets go, rows + 1. */
static inline fw_minibatch table_slice(const table_lists *l, size_t begin, size_t rows, uint32_t *offset) {
  for (size_t i = 0; i <= rows; i++) offset[i] = (uint32_t)(l->first[begin + i] - l->first[begin]);
  return (fw_minibatch){.offset = offset,
                        .uses = offset[rows],
                        .features = offset[rows],
                        .key = l->key + l->first[begin],
                        .value = l->value + l->first[begin]};
}

/* Rows begin … end-1, in batches of `step`, one, two or three at once; as lists, or if there are none as columns. */
static inline furrow_status table_pass(const table *t, const table_lists *lists, size_t begin, size_t end, size_t step,
                                       fw_booster *booster, table_take take, furrow_error *err) {
  furrow_status status = FURROW_OK;
  fw_minibatch batches[TABLE_BATCHES];
  for (size_t at = begin, pass = 0; status == FURROW_OK && at < end; pass++) {
    uint32_t *offset = lists ? lists->offset : NULL;
    size_t count = 0;
    for (; count < 1 + pass % TABLE_BATCHES && at < end; count++) {
      const size_t rows = end - at < step ? end - at : step;
      fw_minibatch batch = {.x = t->x + at * t->columns, .columns = t->columns};
      if (lists) batch = table_slice(lists, at, rows, offset);
      if (lists) offset += rows + 1;
      batch.rows = rows;
      batch.label = t->label + at;
      batch.weight = t->weight ? t->weight + at : NULL;
      batch.qid = t->qid ? t->qid + at : NULL;
      batches[count] = batch;
      at += rows;
    }
    status = take(booster, batches, count, err);
  }
  return status;
}

static inline furrow_status table_direct(const table *t, fw_booster *booster, furrow_error *err) {
  fw_monotone *list = NULL;
  if (!t->monotone) return FURROW_OK;
  FW_TRY(FW_ALLOC(&list, t->monotone_count, err));
  memcpy(list, t->monotone, t->monotone_count * sizeof *list);
  fw_booster_take_monotone(booster, list, t->monotone_count);
  return FURROW_OK;
}

/* A booster over rows 0 … train-1, the others for validation, ready for rounds. */
static inline furrow_status table_boost(const table *t, const table_lists *lists, size_t train, const fw_plan *plan,
                                        fw_spin_pool *pool, fw_forest *forest, fw_booster **booster,
                                        furrow_error *err) {
  fw_booster *b = NULL;
  furrow_status status = fw_booster_create(&b, plan, pool, err);
  if (status == FURROW_OK) status = table_direct(t, b, err);
  if (status == FURROW_OK) status = table_pass(t, lists, 0, train, 1000, b, fw_booster_scan_rows, err);
  if (status == FURROW_OK) status = fw_booster_choose_cuts(b, err);
  if (status == FURROW_OK) status = fw_booster_resume(b, forest, err);
  if (status == FURROW_OK) status = table_pass(t, lists, 0, train, 700, b, fw_booster_add_rows, err);
  if (status == FURROW_OK) status = table_pass(t, lists, train, t->rows, 300, b, fw_booster_add_valid_rows, err);
  if (status == FURROW_OK) status = fw_booster_begin(b, forest, err);
  if (status == FURROW_OK) {
    *booster = b;
  } else {
    fw_booster_free(b);
  }
  return status;
}

static inline fw_forest *table_forest(const fw_plan *plan) {
  fw_forest *forest = NULL;
  const size_t classes = plan->graph.loss == FW_LOSS_SOFTMAX ? plan->graph.outputs : 1;
  assert_int_equal(fw_forest_create(&forest, classes, plan->forest.levels, true, NULL), FURROW_OK);
  return forest;
}

/* A forest of so many rounds from all rows of a table. */
static inline fw_forest *table_grow(const table *t, bool sparse, const fw_plan *plan, unsigned threads, size_t rounds) {
  fw_spin_pool *pool = NULL;
  fw_booster *booster = NULL;
  furrow_error err = {0};
  fw_forest *forest = table_forest(plan);
  assert_int_equal(fw_spin_pool_create(&pool, threads, &err), FURROW_OK);
  table_lists lists = table_list(t);
  furrow_status status = table_boost(t, sparse ? &lists : NULL, t->rows, plan, pool, forest, &booster, &err);
  if (status != FURROW_OK) fail_msg("%s", err.message);
  for (size_t i = 0; i < rounds; i++) assert_int_equal(fw_booster_round(booster, &err), FURROW_OK);
  fw_booster_free(booster);
  fw_spin_pool_free(pool);
  table_lists_free(&lists);
  assert_int_equal(fw_forest_check(forest, 0, &err), FURROW_OK);
  return forest;
}

/* The node of a tree that a row comes to; by values. */
static inline size_t table_leaf(const fw_forest *forest, size_t tree, const float *x) {
  size_t node = 0;
  for (;;) {
    const size_t at = tree * forest->nodes + node;
    if (forest->feature[at] < 0) return at;
    const float value = x[forest->feature[at]];
    const bool left = isnan(value) ? fw_forest_absent_left(forest, at) : (double)value <= forest->value[at];
    node = 2 * node + (left ? 1 : 2);
  }
}

static inline void table_scores(const fw_forest *forest, double rate, const float *x, double *out) {
  for (size_t c = 0; c < forest->classes; c++) out[c] = 0;
  for (size_t tree = 0; tree < forest->trees; tree++)
    out[tree % forest->classes] += rate * forest->predict[table_leaf(forest, tree, x)];
}

#endif
