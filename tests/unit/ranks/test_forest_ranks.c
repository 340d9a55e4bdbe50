/* tests/unit/ranks/test_forest_ranks.c: forests grown by several ranks, which here are threads: they are those of one
 * process, to the last bit, however rows are divided. */
#include "base/error.h"
#include "support/each_isa.h" /* SLOW */
#include "support/made_forest.h"
#include "support/made_table.h"
#include "support/thread_ranks.h"

enum { MOST_RANKS = 7, MOST_ROUNDS = 4 };

/* ---- One rank ------------------------------------------------------------------------------------------- */

/* What all ranks have in common. */
typedef struct job {
  const table *train, *valid; /* valid: may be NULL */
  const fw_plan *plan;
  bool sparse;
  unsigned threads;
  size_t rounds;
  const fw_forest *start; /* trees to go on from; NULL: none */
  size_t more;            /* features of each row that no other row has */
  /* What is wrong on rank `wrong_rank`. */
  enum { NOTHING, OTHER_FIRST_ROW, FEWER_ROWS, CHECK_FAILS, OTHER_LAYOUT } wrong;
  unsigned wrong_rank;
} job;

typedef struct rank_run {
  furrow_comm comm;
  const job *job;
  size_t from, to, valid_from, valid_to;
  furrow_status status;
  furrow_error err;
  fw_forest *forest;
  furrow_learn_metrics train[MOST_ROUNDS], valid[MOST_ROUNDS];
} rank_run;

static table part_of(const table *t, size_t from, size_t to) {
  return (table){.rows = to - from,
                 .columns = t->columns,
                 .x = t->x + from * t->columns,
                 .label = t->label + from,
                 .weight = t->weight ? t->weight + from : NULL,
                 .qid = t->qid ? t->qid + from : NULL};
}

static furrow_status copy_forest(const fw_forest *from, fw_forest *to, furrow_error *err) {
  FW_TRY(fw_forest_add(to, from->trees, err));
  const size_t n = from->trees * from->nodes;
  memcpy(to->feature, from->feature, n * sizeof *to->feature);
  memcpy(to->value, from->value, n * sizeof *to->value);
  memcpy(to->predict, from->predict, n * sizeof *to->predict);
  memcpy(to->missing_flipped, from->missing_flipped, n);
  memcpy(to->gain, from->gain, n * sizeof *to->gain);
  memcpy(to->gradient, from->gradient, n * sizeof *to->gradient);
  memcpy(to->hessian, from->hessian, n * sizeof *to->hessian);
  return FURROW_OK;
}

static furrow_status refuse(void *user, furrow_error *err) {
  (void)user;
  return fw_fail(err, FURROW_E_CANCELLED, "stopped by the test");
}

/* The rows of a table as lists; `more` features of each row, from number `from` on, that no other row has. */
static table_lists list_rows(const table *t, size_t from, size_t more) {
  const size_t most = t->rows * (t->columns + more);
  table_lists l = {table_array(most, sizeof *l.key), table_array(most, sizeof *l.value),
                   table_array(t->rows + 1, sizeof *l.first), table_array(t->rows + TABLE_BATCHES, sizeof *l.offset)};
  size_t uses = 0;
  for (size_t row = 0; row < t->rows; row++) {
    for (size_t c = 0; c < t->columns + more; c++) {
      const float x = c < t->columns ? t->x[row * t->columns + c] : 1;
      if (isnan(x)) continue;
      l.key[uses] = c < t->columns ? c : 1000 + (from + row) * more + c;
      l.value[uses++] = x;
    }
    l.first[row + 1] = uses;
  }
  return l;
}

/* A pass that may fail on one rank: its failure is agreed on, as in a fit. */
static furrow_status run_pass(const rank_run *r, const table *t, size_t rows, bool sparse, size_t step,
                              fw_booster *booster, table_take take, furrow_error *err) {
  table_lists lists = list_rows(t, r->from, r->job->more);
  const furrow_status status = table_pass(t, sparse ? &lists : NULL, 0, rows, step, booster, take, err);
  table_lists_free(&lists);
  return fw_comm_share_status(&r->comm, status, err);
}

static furrow_status run_passes(rank_run *r, fw_booster *booster) {
  const job *j = r->job;
  const bool wrong = r->comm.rank == j->wrong_rank;
  const bool sparse = j->sparse != (wrong && j->wrong == OTHER_LAYOUT);
  const table train = part_of(j->train, r->from, r->to);
  const size_t fewer = wrong && j->wrong == FEWER_ROWS;
  FW_TRY(run_pass(r, &train, train.rows, sparse, 1000, booster, fw_booster_scan_rows, &r->err));
  FW_TRY(fw_booster_choose_cuts(booster, &r->err));
  FW_TRY(fw_comm_share_status(&r->comm, fw_booster_resume(booster, r->forest, &r->err), &r->err));
  FW_TRY(run_pass(r, &train, train.rows - fewer, sparse, 700, booster, fw_booster_add_rows, &r->err));
  if (!j->valid) return FURROW_OK;
  const table valid = part_of(j->valid, r->valid_from, r->valid_to);
  return run_pass(r, &valid, valid.rows, sparse, 300, booster, fw_booster_add_valid_rows, &r->err);
}

static furrow_status count_figures(const rank_run *r, const fw_booster *booster, bool valid, size_t every,
                                   furrow_learn_metrics *figures, furrow_error *err) {
  fw_tally *tally = NULL;
  FW_TRY(fw_tally_create(&tally, &r->job->plan->graph, err));
  const furrow_status status = fw_booster_tally(booster, valid, every, tally, err);
  fw_tally_metrics(tally, figures);
  fw_tally_free(tally);
  return status;
}

static furrow_status boost(rank_run *r, fw_booster *booster) {
  const job *j = r->job;
  const bool wrong = r->comm.rank == j->wrong_rank;
  fw_booster_set_comm(booster, &r->comm, r->from + (wrong && j->wrong == OTHER_FIRST_ROW));
  FW_TRY(run_passes(r, booster));
  FW_TRY(fw_booster_begin(booster, r->forest, &r->err));
  if (wrong && j->wrong == CHECK_FAILS) fw_booster_set_check(booster, refuse, NULL);
  for (size_t i = 0; i < j->rounds; i++) {
    FW_TRY(fw_booster_round(booster, &r->err));
    FW_TRY(count_figures(r, booster, false, 3, &r->train[i], &r->err));
    if (j->valid) FW_TRY(count_figures(r, booster, true, 1, &r->valid[i], &r->err));
  }
  return FURROW_OK;
}

static void *run_rank(void *item) {
  rank_run *r = item;
  fw_spin_pool *pool = NULL;
  fw_booster *booster = NULL;
  r->forest = table_forest(r->job->plan);
  r->status = fw_spin_pool_create(&pool, r->job->threads, &r->err);
  if (r->status == FURROW_OK && r->job->start) r->status = copy_forest(r->job->start, r->forest, &r->err);
  if (r->status == FURROW_OK) r->status = fw_booster_create(&booster, r->job->plan, pool, &r->err);
  if (r->status == FURROW_OK) r->status = table_direct(r->job->train, booster, &r->err);
  if (r->status == FURROW_OK) r->status = boost(r, booster);
  fw_booster_free(booster);
  fw_spin_pool_free(pool);
  return NULL;
}

/* ---- All ranks ------------------------------------------------------------------------------------------ */

/* Where a rank's rows begin: in equal parts; in parts that grow, one of them empty; or all on the last rank. */
static size_t first_of(size_t n, unsigned rank, unsigned ranks, unsigned division) {
  if (rank == 0 || rank == ranks) return rank ? n : 0;
  if (division == 2) return 0;
  if (division == 0) return n * rank / ranks;
  if (ranks > 2 && rank == 2) rank = 1;
  return n * rank * rank / (ranks * ranks);
}

static void run_ranks(const job *j, unsigned ranks, unsigned division, rank_run *runs) {
  memset(runs, 0, ranks * sizeof *runs);
  for (unsigned rank = 0; rank < ranks; rank++) {
    rank_run *r = &runs[rank];
    *r = (rank_run){.comm = thread_comm(rank, ranks), .job = j};
    r->from = first_of(j->train->rows, rank, ranks, division);
    r->to = first_of(j->train->rows, rank + 1, ranks, division);
    if (!j->valid) continue;
    r->valid_from = first_of(j->valid->rows, rank, ranks, division);
    r->valid_to = first_of(j->valid->rows, rank + 1, ranks, division);
  }
  run_threads(ranks, run_rank, runs, sizeof *runs);
}

static void free_runs(rank_run *runs, unsigned ranks) {
  for (unsigned rank = 0; rank < ranks; rank++) fw_forest_free(runs[rank].forest);
}

static void assert_same_run(const rank_run *one, const rank_run *other) {
  if (other->status != FURROW_OK) fail_msg("rank %u: %s", other->comm.rank, other->err.message);
  assert_int_equal(fw_forest_check(other->forest, 0, NULL), FURROW_OK);
  assert_same_forest(one->forest, other->forest);
  assert_memory_equal(one->train, other->train, sizeof one->train);
  assert_memory_equal(one->valid, other->valid, sizeof one->valid);
}

static void assert_some_splits(const fw_forest *forest) {
  size_t splits = 0;
  for (size_t i = 0; i < forest->trees * forest->nodes; i++) splits += forest->feature[i] >= 0;
  assert_true(splits >= forest->trees);
}

/* One process, then any number of ranks; a sample of them where sanitizers take long. */
static void check_job(const job *j, unsigned divisions) {
  static const unsigned counts[] = {1, 2, 3, 4, MOST_RANKS};
  const bool sample = SLOW > 1;
  rank_run one, runs[MOST_RANKS];
  run_ranks(j, 1, 0, &one);
  if (one.status != FURROW_OK) fail_msg("%s", one.err.message);
  assert_some_splits(one.forest);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i += sample ? 2 : 1)
    for (unsigned division = sample ? divisions - 1 : 0; division < divisions; division++) {
      run_ranks(j, counts[i], division, runs);
      for (unsigned rank = 0; rank < counts[i]; rank++) assert_same_run(&one, &runs[rank]);
      free_runs(runs, counts[i]);
    }
  free_runs(&one, 1);
}

/* One process and some ranks, where more would take long. */
static void check_few(const job *j, unsigned ranks) {
  rank_run one, runs[MOST_RANKS];
  run_ranks(j, 1, 0, &one);
  run_ranks(j, ranks, 1, runs);
  if (one.status != FURROW_OK) fail_msg("%s", one.err.message);
  for (unsigned rank = 0; rank < ranks; rank++) assert_same_run(&one, &runs[rank]);
  free_runs(&one, 1);
  free_runs(runs, ranks);
}

static const table_rules usual = {
    .rows = 3000, .columns = 9, .absent = 0.2, .rare = 0.95, .loss = FW_LOSS_LOG, .classes = 3, .seed = 1};

/* Training rows and as many rules for validation. */
static void check_rules(const table_rules *rules, const fw_plan *plan, bool sparse, unsigned divisions) {
  table_rules others = *rules;
  others.seed += 1000;
  others.rows = rules->rows / 7;
  table t = table_make(rules), v = table_make(&others);
  check_job(&(job){.train = &t, .valid = &v, .plan = plan, .sparse = sparse, .threads = 2, .rounds = 3}, divisions);
  table_free(&t);
  table_free(&v);
}

/* ---- The same forest ------------------------------------------------------------------------------------ */

static void losses_weights_and_layouts(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_LOG,      FW_LOSS_L2,       FW_LOSS_SOFTMAX,
                                        FW_LOSS_ABSOLUTE, FW_LOSS_QUANTILE, FW_LOSS_POISSON};
  for (unsigned i = 0; i < 24; i++) {
    table_rules rules = usual;
    rules.loss = losses[i < 12 ? i % 3 : 3 + i % 3];
    rules.weights = i / 3 % 2;
    rules.values = i % 4 == 1 ? 6 : 0;
    rules.seed = 20 + i;
    fw_plan plan = table_plan(&rules);
    plan.forest.from_average = i >= 6;
    plan.forest.min_rows = i == 4 ? 0 : 1;
    check_rules(&rules, &plan, i % 2, 3);
  }
}

static void features_with_a_direction(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_L2, FW_LOSS_QUANTILE, FW_LOSS_POISSON};
  static const fw_monotone directions[] = {{0, 1}, {1, -1}};
  for (unsigned i = 0; i < 3; i++) {
    table_rules rules = usual;
    rules.loss = losses[i];
    rules.seed = 90 + i;
    fw_plan plan = table_plan(&rules);
    plan.forest.leaves = i == 2 ? 9 : 0;
    table t = table_make(&rules);
    t.monotone = directions;
    t.monotone_count = 2;
    check_job(&(job){.train = &t, .plan = &plan, .sparse = i % 2, .threads = 2, .rounds = 3}, 3);
    table_free(&t);
  }
}

/* A bin with more rows than a packed sum takes, though no rank has so many in it. */
static void bins_of_many_rows(void **state) {
  (void)state;
  for (unsigned i = 0; i < 4; i++) {
    table_rules rules = usual;
    rules.rows = 60000;
    rules.loss = i % 2 ? FW_LOSS_L2 : FW_LOSS_LOG;
    rules.values = i < 2 ? 2 : 3;
    rules.absent = 0.4;
    rules.rare = 0.92;
    rules.seed = 40 + i;
    const fw_plan plan = table_plan(&rules);
    check_rules(&rules, &plan, i >= 1, 1);
  }
}

static void one_hot_rows(void **state) {
  (void)state;
  for (unsigned i = 0; i < 3; i++) {
    table_rules rules = usual;
    rules.rows = 4000;
    rules.columns = 300;
    rules.values = i == 2 ? 2 : 1;
    rules.positive = true;
    rules.absent = rules.rare = i ? 0.97 : 0.9;
    rules.seed = 50 + i;
    const fw_plan plan = table_plan(&rules);
    check_rules(&rules, &plan, true, 2);
  }
}

/* Fewer features than ranks; none at all is a leaf. */
static void few_features(void **state) {
  (void)state;
  for (size_t columns = 1; columns < 4; columns++) {
    table_rules rules = usual;
    rules.columns = columns;
    rules.rare = 0;
    const fw_plan plan = table_plan(&rules);
    check_rules(&rules, &plan, columns % 2, 2);
  }
}

static void features_that_one_rank_alone_has(void **state) {
  (void)state;
  table_rules rules = usual;
  table t = table_make(&rules);
  for (size_t row = 0; row < t.rows; row++) {
    if (row >= 400) t.x[row * t.columns] = NAN;
    if (row < 2500) t.x[row * t.columns + 1] = NAN;
    t.x[row * t.columns + 2] = row < 1500 ? NAN : 1;
  }
  const fw_plan plan = table_plan(&rules);
  for (int sparse = 0; sparse < 2; sparse++)
    check_job(&(job){.train = &t, .plan = &plan, .sparse = sparse, .threads = 1, .rounds = 3}, 3);
  table_free(&t);
}

static void categories(void **state) {
  (void)state;
  static uint64_t some[] = {1, 3, 7};
  for (int all = 0; all < 2; all++) {
    table_rules rules = usual;
    rules.values = 200;
    rules.rows = 5000;
    fw_plan plan = table_plan(&rules);
    plan.forest.splits = 20;
    plan.forest.all_categories = all;
    plan.forest.categories = some;
    plan.forest.category_count = 3;
    check_rules(&rules, &plan, all, 2);
  }
}

static void samples_of_rows_and_features(void **state) {
  (void)state;
  static const double ratios[] = {0.7, 0.3, 1e-12};
  for (unsigned i = 0; i < 3; i++) {
    table_rules rules = usual;
    rules.loss = i == 1 ? FW_LOSS_SOFTMAX : FW_LOSS_LOG;
    fw_plan plan = table_plan(&rules);
    plan.forest.row_ratio = ratios[i];
    plan.forest.feature_ratio = 0.4;
    if (i < 2) {
      check_rules(&rules, &plan, i, 3);
      continue;
    }
    table t = table_make(&rules); /* each tree is grown from a single row: it has no split */
    check_few(&(job){.train = &t, .plan = &plan, .sparse = true, .threads = 1, .rounds = 4}, 4);
    table_free(&t);
  }
}

static void best_leaf_first_and_min_rows(void **state) {
  (void)state;
  for (unsigned i = 0; i < 6; i++) {
    table_rules rules = usual;
    rules.loss = i % 2 ? FW_LOSS_L2 : FW_LOSS_LOG;
    rules.weights = i >= 2;
    rules.seed = 70 + i;
    fw_plan plan = table_plan(&rules);
    plan.forest.levels = 7;
    plan.forest.leaves = i < 4 ? 13 : 0;
    plan.forest.min_rows = i == 0 ? 0 : 60;
    plan.forest.min_child_weight = 0.01;
    check_rules(&rules, &plan, i % 3 != 0, 2);
  }
}

/* More nodes than histograms are kept for: 300,000 features that one row each has make them large. */
static void levels_with_few_histograms(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.loss = FW_LOSS_L2;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  plan.forest.min_child_weight = 2;
  plan.forest.levels = 9;
  for (uint32_t leaves = 0; leaves < 2; leaves++) {
    plan.forest.leaves = leaves * 100;
    check_few(&(job){.train = &t, .plan = &plan, .sparse = true, .threads = 1, .rounds = 1, .more = 100}, 3);
  }
  table_free(&t);
}

/* More values than the sample takes: every fourth row is in it, by its number among all. */
static void samples_of_values_are_thinned_out(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.rows = 700001;
  rules.columns = 30;
  rules.absent = 0.05;
  rules.rare = 0.3;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  plan.forest.levels = 3;
  check_few(&(job){.train = &t, .plan = &plan, .threads = 1, .rounds = 1}, 3);
  table_free(&t);
}

static void trees_that_were_there_before(void **state) {
  (void)state;
  for (unsigned i = 0; i < 2; i++) {
    table_rules rules = usual;
    rules.loss = i ? FW_LOSS_SOFTMAX : FW_LOSS_LOG;
    table t = table_make(&rules);
    const fw_plan plan = table_plan(&rules);
    fw_forest *start = table_grow(&t, true, &plan, 1, 2), *four = table_grow(&t, true, &plan, 1, 4);
    const job j = {.train = &t, .plan = &plan, .sparse = true, .threads = 1, .rounds = 2, .start = start};
    check_job(&j, 2);
    rank_run runs[3];
    run_ranks(&j, 3, 0, runs);
    assert_same_forest(four, runs[2].forest);
    free_runs(runs, 3);
    fw_forest_free(start);
    fw_forest_free(four);
    table_free(&t);
  }
}

/* ---- Groups --------------------------------------------------------------------------------------------- */

/* Groups of 20 rows; those of a rank are whole where its rows begin at multiples of that. */
static table grouped(const table_rules *rules, bool descending) {
  table t = table_make(rules);
  for (size_t row = 0; row < t.rows; row++) t.qid[row] = descending ? 1000 - row / 20 : row / 20 * 7 % 1000;
  return t;
}

static void whole_groups(void **state) {
  (void)state;
  for (unsigned i = 0; i < 3; i++) {
    table_rules rules = usual;
    rules.loss = FW_LOSS_LAMBDA;
    rules.rows = 8400; /* by 20 in as many parts as are tried */
    rules.weights = i == 1;
    table t = grouped(&rules, i == 2);
    rules.rows = 1680;
    rules.seed++;
    table v = grouped(&rules, i == 1);
    fw_plan plan = table_plan(&rules);
    plan.forest.row_ratio = i == 2 ? 0.8 : 1;
    plan.forest.leaves = i == 1 ? 9 : 0;
    check_job(&(job){.train = &t, .valid = &v, .plan = &plan, .sparse = i, .threads = 2, .rounds = 3}, 1);
    table_free(&t);
    table_free(&v);
  }
}

static void assert_all_fail(const rank_run *runs, unsigned ranks, furrow_status status, const char *message) {
  for (unsigned rank = 0; rank < ranks; rank++) {
    assert_int_equal(runs[rank].status, status);
    if (!strstr(runs[rank].err.message, message)) fail_msg("rank %u: %s", rank, runs[rank].err.message);
  }
}

static void check_failure(const job *j, furrow_status status, const char *message) {
  rank_run runs[3];
  run_ranks(j, 3, 0, runs);
  assert_all_fail(runs, 3, status, message);
  free_runs(runs, 3);
}

static void divided_groups_are_refused(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.loss = FW_LOSS_LAMBDA;
  rules.rows = 1200;
  const fw_plan plan = table_plan(&rules);
  table t = grouped(&rules, false), v = grouped(&rules, false);
  for (size_t row = 390; row < 410; row++) t.qid[row] = 4711;
  const job j = {.train = &t, .plan = &plan, .threads = 1, .rounds = 1};
  check_failure(&j, FURROW_E_ARGUMENT, "the rows of group 4711 (qid) are on more than one rank");
  const job k = {.train = &v, .valid = &t, .plan = &plan, .threads = 1, .rounds = 1};
  check_failure(&k, FURROW_E_ARGUMENT, "group 4711");
  for (size_t row = 0; row < v.rows; row++) v.label[row] = 1;
  const job same = {.train = &v, .plan = &plan, .threads = 1, .rounds = 1};
  check_failure(&same, FURROW_E_ARGUMENT, "no group of the training rows has rows with different labels");
  table_free(&t);
  table_free(&v);
}

/* ---- Failures of one rank are failures of all ----------------------------------------------------------- */

static void one_rank_fails_for_all(void **state) {
  (void)state;
  table_rules rules = usual;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  job j = {.train = &t, .plan = &plan, .sparse = true, .threads = 1, .rounds = 2};
  for (j.wrong_rank = 0; j.wrong_rank < 3; j.wrong_rank++) {
    j.wrong = OTHER_FIRST_ROW;
    check_failure(&j, FURROW_E_STATE, "the first row of rank");
    j.wrong = FEWER_ROWS;
    check_failure(&j, FURROW_E_STATE, "the second pass brought 999 rows, the first 1000");
    j.wrong = CHECK_FAILS;
    check_failure(&j, FURROW_E_CANCELLED, "stopped by the test");
    plan.forest.leaves = 5;
    check_failure(&j, FURROW_E_CANCELLED, "stopped by the test");
    plan.forest.leaves = 0;
    j.wrong = OTHER_LAYOUT;
    check_failure(&j, FURROW_E_STATE, "rows do not have the same columns as earlier rows");
  }
  table_free(&t);
}

static void bad_rows_of_one_rank_fail_for_all(void **state) {
  (void)state;
  for (int two = 0; two < 2; two++) {
    table_rules rules = usual;
    rules.loss = two ? FW_LOSS_LOG : FW_LOSS_L2;
    rules.weights = true;
    table t = table_make(&rules);
    const fw_plan plan = table_plan(&rules);
    const job j = {.train = &t, .plan = &plan, .threads = 1, .rounds = 1};
    t.weight[1700] = two ? INFINITY : 1;
    t.label[1700] = two ? 1 : INFINITY;
    check_failure(&j, FURROW_E_RANGE, "a gradient is not a finite number");
    table_free(&t);
  }
}

/* No rank alone has too many. */
static void too_many_values_of_a_category_over_ranks(void **state) {
  (void)state;
  table_rules rules = usual;
  rules.columns = 1;
  rules.absent = rules.rare = 0;
  table t = table_make(&rules);
  fw_plan plan = table_plan(&rules);
  for (size_t row = 0; row < t.rows; row++) t.x[row] = (float)(row / 1000 * 100 + row % 100);
  plan.forest.all_categories = true;
  const job j = {.train = &t, .plan = &plan, .sparse = true, .threads = 1, .rounds = 1};
  check_failure(&j, FURROW_E_RANGE, "feature 0 is a category, and has more than 255 different values");
  table_free(&t);
}

static void no_rows_on_any_rank(void **state) {
  (void)state;
  const fw_plan plan = table_plan(&usual);
  const table t = {.columns = 3};
  const job j = {.train = &t, .plan = &plan, .sparse = true, .threads = 1, .rounds = 1};
  check_failure(&j, FURROW_E_STATE, "there are no rows to grow trees from");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_weights_and_layouts),
      cmocka_unit_test(features_with_a_direction),
      cmocka_unit_test(bins_of_many_rows),
      cmocka_unit_test(one_hot_rows),
      cmocka_unit_test(few_features),
      cmocka_unit_test(features_that_one_rank_alone_has),
      cmocka_unit_test(categories),
      cmocka_unit_test(samples_of_rows_and_features),
      cmocka_unit_test(best_leaf_first_and_min_rows),
      cmocka_unit_test(levels_with_few_histograms),
      cmocka_unit_test(samples_of_values_are_thinned_out),
      cmocka_unit_test(trees_that_were_there_before),
      cmocka_unit_test(whole_groups),
      cmocka_unit_test(divided_groups_are_refused),
      cmocka_unit_test(one_rank_fails_for_all),
      cmocka_unit_test(bad_rows_of_one_rank_fail_for_all),
      cmocka_unit_test(too_many_values_of_a_category_over_ranks),
      cmocka_unit_test(no_rows_on_any_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
