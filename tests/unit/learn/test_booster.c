/* tests/unit/learn/test_booster.c: trees are those that a search over all questions finds. */
#include "support/made_table.h"

enum { MOST_VALUES = 16, MOST_LEAVES = 64 };

/* ---- A plain search: every question of every feature, every row, in doubles ---- */

typedef struct question {
  double gain, value;
  size_t feature;
  bool absent_left;
} question;

typedef struct plain {
  const table *t;
  const fw_plan *plan;
  double *score;              /* rows * classes */
  double *gradient, *hessian; /* of the class at hand */
  double most;                /* |gradient|, and 1 at least */
  size_t splits, ties;
} plain;

static double shrink(double g, double alpha) {
  return g > alpha ? g - alpha : g < -alpha ? g + alpha : 0;
}

static double worth(const plain *p, double g, double h) {
  const double t = shrink(g, p->plan->forest.alpha);
  return t * t / (h + p->plan->forest.lambda);
}

static bool goes_left(const question *q, float x) {
  return isnan(x) ? q->absent_left : (double)x <= q->value;
}

/* Gain of a question for the rows with node[row] == at. */
static double gain_of(const plain *p, const size_t *node, size_t at, const question *q) {
  double g[2] = {0, 0}, h[2] = {0, 0};
  size_t rows[2] = {0, 0};
  for (size_t row = 0; row < p->t->rows; row++) {
    if (node[row] != at) continue;
    const bool left = goes_left(q, p->t->x[row * p->t->columns + q->feature]);
    g[left] += p->gradient[row];
    h[left] += p->hessian[row];
    rows[left]++;
  }
  if (rows[0] < p->plan->forest.min_rows || rows[1] < p->plan->forest.min_rows) return 0;
  const double least = p->plan->forest.min_child_weight;
  if (h[0] <= 0 || h[1] <= 0 || h[0] < least || h[1] < least) return 0;
  return 0.5 * (worth(p, g[0], h[0]) + worth(p, g[1], h[1]) - worth(p, g[0] + g[1], h[0] + h[1]));
}

static int compare_floats(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The different values of a feature, ascending. */
static size_t values_of(const table *t, size_t feature, float *values) {
  size_t n = 0;
  for (size_t row = 0; row < t->rows; row++) {
    const float x = t->x[row * t->columns + feature];
    bool known = isnan(x);
    for (size_t i = 0; i < n; i++) known |= values[i] == x;
    if (!known) {
      assert_true(n < MOST_VALUES);
      values[n++] = x;
    }
  }
  qsort(values, n, sizeof *values, compare_floats);
  return n;
}

static bool lacks_some(const plain *p, const size_t *node, size_t at, size_t feature) {
  for (size_t row = 0; row < p->t->rows; row++)
    if (node[row] == at && isnan(p->t->x[row * p->t->columns + feature])) return true;
  return false;
}

static void consider(const plain *p, const size_t *node, size_t at, question *best, question q) {
  q.gain = gain_of(p, node, at, &q);
  /* the same rows on the same sides may differ by rounding */
  if (q.gain > p->plan->forest.min_gain && q.gain > best->gain * (1 + 1e-9) + 1e-9) *best = q;
}

static question search(const plain *p, const size_t *node, size_t at) {
  question best = {0, 0, 0, false};
  for (size_t f = 0; f < p->t->columns; f++) {
    float values[MOST_VALUES];
    const size_t n = values_of(p->t, f, values);
    const bool lacks = lacks_some(p, node, at, f);
    if (n == 0) continue;
    if (lacks && values[0] > 0) consider(p, node, at, &best, (question){0, (double)values[0] / 2, f, true});
    if (lacks && values[n - 1] < 0) consider(p, node, at, &best, (question){0, (double)values[n - 1] / 2, f, false});
    if (lacks && values[0] <= 0 && values[n - 1] >= 0)
      consider(p, node, at, &best, (question){0, 2 * (double)values[0] - 1, f, true});
    for (size_t i = 0; i + 1 < n; i++) {
      const double value = ((double)values[i] + (double)values[i + 1]) / 2;
      consider(p, node, at, &best, (question){0, value, f, value >= 0});
      if (lacks) consider(p, node, at, &best, (question){0, value, f, value < 0});
    }
  }
  return best;
}

/* ---- Gradients ---- */

static void fill_gradients(plain *p, size_t class_number) {
  const table *t = p->t;
  const size_t classes = p->plan->graph.outputs;
  p->most = 1;
  for (size_t row = 0; row < t->rows; row++) {
    const double *z = p->score + row * classes, y = (double)t->label[row];
    double sum = 0, g = z[0] - y, h = 1;
    for (size_t c = 0; c < classes; c++) sum += exp(z[c]);
    const double p1 = 1 / (1 + exp(-z[0])), pc = exp(z[class_number]) / sum;
    if (p->plan->graph.loss == FW_LOSS_LOG) {
      g = p1 - (y > 0 ? 1 : 0);
      h = p1 * (1 - p1);
    } else if (p->plan->graph.loss == FW_LOSS_SOFTMAX) {
      g = pc - ((size_t)y == class_number ? 1 : 0);
      h = 2 * pc * (1 - pc);
    }
    const double w = t->weight ? (double)t->weight[row] : 1;
    p->gradient[row] = w * g;
    p->hessian[row] = w * h;
    p->most = fmax(p->most, fabs(w * g));
  }
}

/* What the scores of a class start at. */
static double base_of(const table *t, const fw_plan *plan, size_t class_number) {
  const fw_loss_type loss = plan->graph.loss;
  double sum = 0, weights = 0, positive = 0, of_class = 0;
  for (size_t row = 0; row < t->rows; row++) {
    const double w = t->weight ? (double)t->weight[row] : 1, y = (double)t->label[row];
    sum += w * y;
    weights += w;
    positive += y > 0 ? w : 0;
    of_class += y == (double)class_number ? w : 0;
  }
  if (loss == FW_LOSS_L2) return sum / weights;
  if (!plan->forest.from_average) return 0;
  return loss == FW_LOSS_LOG ? log(positive / (weights - positive)) : log(of_class / weights);
}

/* ---- Comparison, node by node ---- */

/* Gradients are rounded to 1/2^16 of the largest; the errors of n rows add up to some sqrt(n) of that. */
static double near_by(const plain *p, double a) {
  return 1e-3 * (fabs(a) + p->most);
}

/* The best question of a node that may have children. */
static question search_above(const plain *p, const fw_forest *forest, const size_t *node, size_t n) {
  return n < forest->nodes / 2 ? search(p, node, n) : (question){0, 0, 0, false};
}

/* A gain of 0: it must be a leaf. */
static void check_node(plain *p, const fw_forest *forest, size_t tree, size_t n, size_t *node, double start,
                       question best) {
  const size_t at = tree * forest->nodes + n;
  double g = 0, h = 0;
  size_t rows = 0;
  for (size_t row = 0; row < p->t->rows; row++) {
    if (node[row] != n) continue;
    g += p->gradient[row];
    h += p->hessian[row];
    rows++;
  }
  if (rows == 0) {
    assert_int_equal(forest->feature[at], -1);
    return;
  }
  assert_true(fabs(forest->gradient[at] - g) < near_by(p, g));
  assert_true(fabs(forest->hessian[at] - h) < near_by(p, h));
  const double leaf = start - shrink(g, p->plan->forest.alpha) / (h + p->plan->forest.lambda);
  assert_true(fabs(forest->predict[at] - leaf) < near_by(p, leaf));
  assert_true(fabs(forest->gain[at] - best.gain) < near_by(p, best.gain));
  if (best.gain <= 0) {
    assert_int_equal(forest->feature[at], -1);
    return;
  }
  const bool lacks = lacks_some(p, node, n, best.feature);
  question asked = {0, forest->value[at], (size_t)forest->feature[at], fw_forest_absent_left(forest, at)};
  if (!lacks_some(p, node, n, asked.feature)) assert_int_equal(forest->missing_flipped[at], 0);
  if (asked.feature != best.feature || asked.value != best.value || (lacks && asked.absent_left != best.absent_left)) {
    p->ties++; /* as good as the best, within the rounding of gradients */
    assert_true(gain_of(p, node, n, &asked) > best.gain * 0.999 - 1e-4);
  }
  p->splits++;
  for (size_t row = 0; row < p->t->rows; row++)
    if (node[row] == n) node[row] = 2 * n + (goes_left(&asked, p->t->x[row * p->t->columns + asked.feature]) ? 1 : 2);
}

static size_t count_splits_of(const fw_forest *forest, size_t tree) {
  size_t splits = 0;
  for (size_t i = 0; i < forest->nodes; i++) splits += forest->feature[tree * forest->nodes + i] >= 0;
  return splits;
}

/* Of all leaves, the one whose best question gains most is split, until there are as many as there may be. */
static void check_best_first(plain *p, const fw_forest *forest, size_t tree, size_t *node, double start) {
  question best[MOST_LEAVES];
  size_t leaf[MOST_LEAVES] = {0}, count = 1;
  best[0] = search_above(p, forest, node, 0);
  for (; count < p->plan->forest.leaves; count++) {
    size_t i = 0;
    for (size_t k = 1; k < count; k++)
      if (best[k].gain > best[i].gain) i = k;
    if (!(best[i].gain > 0)) break;
    check_node(p, forest, tree, leaf[i], node, start, best[i]);
    leaf[count] = 2 * leaf[i] + 2;
    leaf[i] = 2 * leaf[i] + 1;
    best[i] = search_above(p, forest, node, leaf[i]);
    best[count] = search_above(p, forest, node, leaf[count]);
  }
  for (size_t i = 0; i < count; i++) check_node(p, forest, tree, leaf[i], node, start, (question){0, 0, 0, false});
  assert_int_equal(count_splits_of(forest, tree), count - 1);
}

static void check_tree(plain *p, const fw_forest *forest, size_t tree) {
  const size_t classes = forest->classes, class_number = tree % classes;
  const double start = tree < classes ? base_of(p->t, p->plan, class_number) / p->plan->train.lr : 0;
  size_t *node = table_array(p->t->rows, sizeof *node);
  fill_gradients(p, class_number);
  if (p->plan->forest.leaves > 0) {
    check_best_first(p, forest, tree, node, start);
  } else {
    for (size_t n = 0; n < forest->nodes; n++)
      check_node(p, forest, tree, n, node, start, search_above(p, forest, node, n));
  }
  free(node);
}

/* Scores go on from what the forest says, so that roundings do not add up. */
static void check_forest(const table *t, const fw_plan *plan, const fw_forest *forest) {
  const size_t classes = forest->classes;
  plain p = {.t = t, .plan = plan};
  p.score = table_array(t->rows * classes, sizeof(double));
  p.gradient = table_array(t->rows, sizeof(double));
  p.hessian = table_array(t->rows, sizeof(double));
  for (size_t i = 0; i < t->rows * classes; i++) p.score[i] = base_of(t, plan, i % classes);
  for (size_t tree = 0; tree < forest->trees; tree += classes) {
    for (size_t c = 0; c < classes; c++) check_tree(&p, forest, tree + c);
    for (size_t c = 0; c < classes; c++)
      for (size_t row = 0; row < t->rows; row++) {
        double *z = &p.score[row * classes + c];
        *z = (tree ? *z : 0) + plan->train.lr * forest->predict[table_leaf(forest, tree + c, t->x + row * t->columns)];
      }
  }
  assert_true(p.ties * 50 <= p.splits + 50);
  free(p.score);
  free(p.gradient);
  free(p.hessian);
}

static size_t count_splits(const fw_forest *forest) {
  size_t splits = 0;
  for (size_t tree = 0; tree < forest->trees; tree++) splits += count_splits_of(forest, tree);
  return splits;
}

static void grow_and_check(const table_rules *rules, const fw_plan *plan, bool sparse, size_t rounds) {
  table t = table_make(rules);
  fw_forest *forest = table_grow(&t, sparse, plan, 2, rounds);
  assert_true(count_splits(forest) >= rounds);
  check_forest(&t, plan, forest);
  fw_forest_free(forest);
  table_free(&t);
}

static void trees_are_those_of_a_plain_search(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_LOG, FW_LOSS_L2, FW_LOSS_SOFTMAX};
  for (size_t i = 0; i < 3 * 2 * 2 * 2 * 2; i++) {
    const table_rules rules = {.rows = 400,
                               .columns = 5,
                               .values = 9,
                               .loss = losses[i % 3],
                               .classes = 3,
                               .absent = i / 3 % 2 ? 0.3 : 0,
                               .positive = i / 6 % 2,
                               .weights = i / 12 % 2,
                               .seed = 100 + i};
    const fw_plan plan = table_plan(&rules);
    grow_and_check(&rules, &plan, i / 24 % 2, 3);
  }
}

static void rare_features_are_split_too(void **state) {
  (void)state;
  for (size_t i = 0; i < 8; i++) {
    const table_rules rules = {.rows = 600,
                               .columns = 12,
                               .values = i % 2 ? 1 : 5,
                               .positive = i / 2 % 2,
                               .absent = 0.5,
                               .rare = 0.95,
                               .loss = i / 4 ? FW_LOSS_L2 : FW_LOSS_LOG,
                               .seed = 300 + i};
    const fw_plan plan = table_plan(&rules);
    grow_and_check(&rules, &plan, true, 2);
  }
}

static void limits_of_splits_are_kept(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const table_rules rules = {.rows = 500,
                               .columns = 4,
                               .values = 8,
                               .absent = 0.1,
                               .loss = i % 2 ? FW_LOSS_L2 : FW_LOSS_LOG,
                               .seed = 40 + i};
    fw_plan plan = table_plan(&rules);
    plan.forest.alpha = 1.5;
    plan.forest.lambda = 0.25;
    plan.forest.min_gain = 0.75;
    plan.forest.min_child_weight = 12;
    plan.forest.levels = i < 2 ? 6 : 2;
    grow_and_check(&rules, &plan, i / 2, 3);
  }
}

/* Limits that end trees: leaves, levels, or that nothing gains. */
static void best_leaves_are_split_first(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_LOG, FW_LOSS_L2, FW_LOSS_SOFTMAX};
  static const uint32_t leaves[] = {1, 2, 7, 12, 60};
  for (size_t i = 0; i < 3 * 5 * 2; i++) {
    const table_rules rules = {.rows = 400,
                               .columns = 5,
                               .values = 9,
                               .loss = losses[i % 3],
                               .classes = 3,
                               .absent = i % 2 ? 0.3 : 0,
                               .weights = i / 2 % 2,
                               .seed = 500 + i};
    fw_plan plan = table_plan(&rules);
    plan.forest.min_child_weight = 0; /* or the rounding of hessians decides */
    plan.forest.leaves = leaves[i / 3 % 5];
    plan.forest.levels = i % 4 ? 7 : 4;
    plan.forest.from_average = i / 15;
    table t = table_make(&rules);
    fw_forest *forest = table_grow(&t, i / 15, &plan, 2, 3);
    check_forest(&t, &plan, forest);
    fw_forest_free(forest);
    table_free(&t);
  }
}

/* Hessians of 1 are counts: the trees are exactly those of the plain search. */
static void leaves_have_min_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < 8; i++) {
    const table_rules rules = {
        .rows = 500, .columns = 5, .values = 9, .absent = i % 2 ? 0.3 : 0, .loss = FW_LOSS_L2, .seed = 700 + i};
    fw_plan plan = table_plan(&rules);
    plan.forest.min_rows = i % 4 < 2 ? 30 : 3;
    plan.forest.leaves = i < 4 ? 0 : 12;
    plan.forest.levels = 6;
    grow_and_check(&rules, &plan, i % 3 == 0, 3);
  }
}

static size_t least_leaf(const table *t, const fw_forest *forest, size_t tree) {
  size_t *rows = table_array(forest->nodes, sizeof *rows), least = t->rows;
  for (size_t row = 0; row < t->rows; row++)
    rows[table_leaf(forest, tree, t->x + row * t->columns) - tree * forest->nodes]++;
  for (size_t i = 0; i < forest->nodes; i++) least = rows[i] && rows[i] < least ? rows[i] : least;
  free(rows);
  return least;
}

/* Hessians that differ from row to row, and weights: the limit holds all the same. 0 stands for a tenth of the rows,
 * 20 at most, and 1 at least. */
static void min_rows_are_rows(void **state) {
  (void)state;
  static const size_t rows[] = {1600, 100, 19}, least[] = {20, 10, 1};
  for (size_t i = 0; i < 3 * 2 * 2 * 2; i++) {
    const table_rules rules = {.rows = rows[i % 3],
                               .columns = 6,
                               .values = 0,
                               .absent = 0.2,
                               .weights = i / 3 % 2,
                               .loss = i / 6 % 2 ? FW_LOSS_SOFTMAX : FW_LOSS_LOG,
                               .classes = 3,
                               .seed = 800 + i};
    fw_plan plan = table_plan(&rules);
    plan.forest.min_rows = 0;
    plan.forest.min_child_weight = 0;
    plan.forest.leaves = i / 12 ? 16 : 0;
    plan.forest.levels = 7;
    plan.train.lr = 1;
    table t = table_make(&rules);
    fw_forest *forest = table_grow(&t, i % 2, &plan, 2, 6);
    size_t smallest = t.rows;
    for (size_t tree = 0; tree < forest->trees; tree++) {
      const size_t found = least_leaf(&t, forest, tree);
      smallest = found < smallest ? found : smallest;
    }
    assert_true(count_splits(forest) > forest->trees);
    assert_true(smallest >= least[i % 3] && smallest < 2 * least[i % 3]);
    fw_forest_free(forest);
    table_free(&t);
  }
}

/* A class without rows and a label that all rows have: first scores are numbers. */
static void shares_of_nothing_are_numbers(void **state) {
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    const table_rules rules = {
        .rows = 50, .columns = 2, .values = 4, .loss = i ? FW_LOSS_SOFTMAX : FW_LOSS_LOG, .classes = 3, .seed = 6};
    fw_plan plan = table_plan(&rules);
    table t = table_make(&rules);
    plan.forest.from_average = true;
    for (size_t row = 0; row < t.rows; row++) t.label[row] = 1;
    fw_forest *forest = table_grow(&t, false, &plan, 1, 2);
    double out[3] = {0};
    table_scores(forest, plan.train.lr, t.x, out);
    for (size_t c = 0; c < forest->classes; c++) assert_true(isfinite(out[c]));
    assert_true(i ? out[1] > out[0] + 3 && out[1] > out[2] + 3 : out[0] > 3);
    fw_forest_free(forest);
    table_free(&t);
  }
}

/* A feature that some rows lack and that is above 0 wherever it is: no node is turned because of its presence. */
static void presence_needs_no_turning(void **state) {
  (void)state;
  const table_rules rules = {.rows = 2000,
                             .columns = 6,
                             .values = 1,
                             .positive = true,
                             .absent = 0.7,
                             .rare = 0.97,
                             .loss = FW_LOSS_LOG,
                             .seed = 5};
  const fw_plan plan = table_plan(&rules);
  table t = table_make(&rules);
  fw_forest *forest = table_grow(&t, true, &plan, 1, 4);
  assert_true(count_splits(forest) > 8);
  for (size_t i = 0; i < forest->trees * forest->nodes; i++) {
    assert_int_equal(forest->missing_flipped[i], 0);
    if (forest->feature[i] >= 0) assert_true(forest->value[i] == 0.5);
  }
  fw_forest_free(forest);
  table_free(&t);
}

/* Features 0 and 1 are the same, and so are the two best cuts by symmetry: the first feature and the smaller value. */
static void equal_gains_go_to_the_first(void **state) {
  (void)state;
  const table_rules rules = {.loss = FW_LOSS_L2};
  fw_plan plan = table_plan(&rules);
  float x[] = {1, 1, 2, 2, 3, 3, 4, 4}, label[] = {1, 0, 0, 1};
  const table t = {.rows = 4, .columns = 2, .x = x, .label = label};
  plan.forest.levels = 2;
  plan.forest.lambda = 0;
  fw_forest *forest = table_grow(&t, false, &plan, 2, 1);
  assert_int_equal(forest->feature[0], 0);
  assert_true(forest->value[0] == 1.5);
  fw_forest_free(forest);
}

/* ---- Quantiles ---- */

typedef struct weighed {
  float number;
  double weight;
} weighed;

static int compare_weighed(const void *a, const void *b) {
  const float x = ((const weighed *)a)->number, y = ((const weighed *)b)->number;
  return (x > y) - (x < y);
}

/* The least number up to which there is the share; the middle between it and the next one if that is exact. */
static double plain_quantile(weighed *list, size_t count, double level) {
  double all = 0, sum = 0;
  qsort(list, count, sizeof *list, compare_weighed);
  for (size_t i = 0; i < count; i++) all += list[i].weight;
  for (size_t i = 0; i < count; i++) {
    sum += list[i].weight;
    if (sum < level * all || list[i].weight == 0) continue;
    size_t next = i + 1;
    while (next < count && (list[next].weight == 0 || list[next].number == list[i].number)) next++;
    for (size_t k = i + 1; k < count && list[k].number == list[i].number; k++) sum += list[k].weight;
    const double low = (double)list[i].number;
    return sum == level * all && next < count ? low + 0.5 * ((double)list[next].number - low) : low;
  }
  return 0;
}

enum { NUMBERS = 4000, GROUPS = 1300 };

static void quantiles_match_sorted_numbers(void **state) {
  (void)state;
  static uint32_t key[NUMBERS];
  static float weight[NUMBERS];
  static weighed list[NUMBERS];
  static size_t begin[GROUPS], end[GROUPS];
  static double found[GROUPS];
  static const double levels[] = {0.5, 0.25, 0.9, 0.001, 0.999};
  fw_spin_pool *pool = NULL;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  assert_int_equal(fw_spin_pool_create(&pool, 3, NULL), FURROW_OK);
  for (unsigned round = 0; round < 40; round++) {
    static float number[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++) {
      number[i] = round % 2 ? (float)fw_rng_below(&rng, 7) - 3 : (float)(1e3 * fw_rng_normal(&rng));
      if (fw_rng_below(&rng, 50) == 0) number[i] = i % 2 ? 3e38F : -0.0F;
      key[i] = fw_quantile_key((double)number[i]);
      weight[i] = round / 2 % 2 ? 0.5F * (float)fw_rng_below(&rng, 5) : 1;
    }
    for (size_t g = 0, at = 0; g < GROUPS; g++) {
      begin[g] = at;
      at += fw_rng_below(&rng, g == 7 ? 1000 : 5);
      end[g] = at = at < NUMBERS ? at : NUMBERS;
    }
    const fw_quantile_groups groups = {key, round / 2 % 2 ? weight : NULL, 2, begin, end, GROUPS};
    const double level = levels[round % 5];
    assert_int_equal(fw_quantiles_find(&groups, level, fw_comm_self(), pool, found, NULL), FURROW_OK);
    for (size_t g = 0; g < GROUPS; g++) {
      for (size_t i = begin[g]; i < end[g]; i++) list[i - begin[g]] = (weighed){number[i], (double)weight[i]};
      assert_true(found[g] == plain_quantile(list, end[g] - begin[g], level));
    }
  }
  fw_spin_pool_free(pool);
}

/* ---- Leaves ---- */

static double quantile_of_leaf(const table *t, const fw_forest *forest, size_t tree, size_t leaf, const double *score,
                               double level) {
  weighed *list = table_array(t->rows, sizeof *list);
  size_t count = 0;
  for (size_t row = 0; row < t->rows; row++)
    if (table_leaf(forest, tree, t->x + row * t->columns) == leaf)
      list[count++] = (weighed){(float)((double)t->label[row] - score[row]), t->weight ? (double)t->weight[row] : 1};
  const double found = plain_quantile(list, count, level);
  free(list);
  return found;
}

static double median_of_labels(const table *t, double level) {
  weighed *list = table_array(t->rows, sizeof *list);
  for (size_t row = 0; row < t->rows; row++)
    list[row] = (weighed){t->label[row], t->weight ? (double)t->weight[row] : 1};
  const double found = plain_quantile(list, t->rows, level);
  free(list);
  return found;
}

static void check_quantile_leaves(const table_rules *rules, bool sparse, uint32_t leaves) {
  fw_plan plan = table_plan(rules);
  plan.forest.leaves = leaves;
  plan.forest.min_rows = 10;
  plan.forest.row_ratio = rules->seed % 2 ? 0.5 : 1;
  const double level = rules->loss == FW_LOSS_ABSOLUTE ? 0.5 : plan.graph.quantile;
  table t = table_make(rules);
  fw_forest *forest = table_grow(&t, sparse, &plan, 3, 4);
  const double base = median_of_labels(&t, level);
  double *score = table_array(t.rows, sizeof *score);
  for (size_t row = 0; row < t.rows; row++) score[row] = base;
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const double start = tree == 0 ? base / plan.train.lr : 0;
    assert_true(forest->feature[tree * forest->nodes] >= 0);
    for (size_t at = tree * forest->nodes; at < (tree + 1) * forest->nodes; at++) {
      if (forest->feature[at] >= 0 || !fw_forest_has_node(forest, tree, at % forest->nodes)) continue;
      const double want = quantile_of_leaf(&t, forest, tree, at, score, level);
      assert_true(fabs(forest->predict[at] - start - want) < 1e-5 * (1 + fabs(want)));
    }
    for (size_t row = 0; row < t.rows; row++)
      score[row] += plan.train.lr * (forest->predict[table_leaf(forest, tree, t.x + row * t.columns)] - start);
  }
  free(score);
  fw_forest_free(forest);
  table_free(&t);
}

static void leaves_are_quantiles_of_their_rows(void **state) {
  (void)state;
  for (unsigned i = 0; i < 8; i++) {
    const table_rules rules = {.rows = 700,
                               .columns = 5,
                               .absent = 0.2,
                               .loss = i % 2 ? FW_LOSS_ABSOLUTE : FW_LOSS_QUANTILE,
                               .weights = i / 2 % 2,
                               .seed = 60 + i / 2};
    check_quantile_leaves(&rules, i / 4, i % 4 == 3 ? 7 : 0);
  }
}

/* Sums of gradients and hessians of all nodes follow from exp(score); leaves are Newton's step, or the logarithm of
 * 1 + it. */
static void counts_have_a_log_link(void **state) {
  (void)state;
  const table_rules rules = {
      .rows = 900, .columns = 5, .absent = 0.1, .loss = FW_LOSS_POISSON, .weights = true, .seed = 9};
  const fw_plan plan = table_plan(&rules);
  table t = table_make(&rules);
  fw_forest *forest = table_grow(&t, false, &plan, 2, 3);
  double sum = 0, weights = 0, below = 0;
  for (size_t row = 0; row < t.rows; row++) {
    sum += (double)(t.weight[row] * t.label[row]);
    weights += (double)t.weight[row];
  }
  for (size_t leaf = 0; leaf < forest->nodes; leaf++) {
    double g = 0, h = 0;
    if (forest->feature[leaf] >= 0 || !fw_forest_has_node(forest, 0, leaf)) continue;
    for (size_t row = 0; row < t.rows; row++) {
      if (table_leaf(forest, 0, t.x + row * t.columns) != leaf) continue;
      g += (double)t.weight[row] * (sum / weights - (double)t.label[row]);
      h += (double)t.weight[row] * sum / weights;
    }
    const double step = -g / (h + plan.forest.lambda), want = step > 0 ? log1p(step) : step;
    assert_true(fabs(forest->predict[leaf] - log(sum / weights) / plan.train.lr - want) < 0.01);
    below += step < 0;
  }
  assert_true(below > 0);
  fw_forest_free(forest);
  table_free(&t);
}

/* No label above 0, and labels of any size: what starts is finite, and so are the leaves. */
static void counts_of_any_size_are_learned(void **state) {
  (void)state;
  table_rules rules = {.rows = 300, .columns = 3, .loss = FW_LOSS_POISSON, .seed = 2};
  fw_plan plan = table_plan(&rules);
  plan.train.lr = 1;
  for (int huge = 0; huge < 2; huge++) {
    table t = table_make(&rules);
    for (size_t row = 0; row < t.rows; row++) t.label[row] = huge && t.x[row * t.columns] > 1 ? 1e6F : 0;
    fw_forest *forest = table_grow(&t, false, &plan, 1, 30);
    for (size_t row = 0; row < t.rows; row++) {
      double z;
      table_scores(forest, 1, t.x + row * t.columns, &z);
      assert_true(t.label[row] > 0 ? fabs(z - log(1e6)) < 0.1 : z < 1);
    }
    fw_forest_free(forest);
    table_free(&t);
  }
}

/* ---- Losses ---- */

static void losses_of_outputs(void **state) {
  (void)state;
  const fw_graph absolute = {.loss = FW_LOSS_ABSOLUTE, .outputs = 1},
                 upper = {.loss = FW_LOSS_QUANTILE, .outputs = 1, .quantile = 0.9},
                 count = {.loss = FW_LOSS_POISSON, .outputs = 1};
  assert_true(fw_loss_of(&absolute, 3, 5) == 2 && fw_loss_of(&absolute, 5, 3) == 2);
  assert_true(fabs(fw_loss_of(&upper, 3, 5) - 1.8) < 1e-12 && fabs(fw_loss_of(&upper, 5, 3) - 0.2) < 1e-12);
  assert_true(fabs(fw_loss_of(&count, log(2), 3) - 2 * (3 * log(1.5) - 1)) < 1e-12);
  assert_true(fw_loss_of(&count, log(2), 0) == 4);
  assert_true(fw_loss_takes(&count, 0) && fw_loss_takes(&count, 2.5) && !fw_loss_takes(&count, -1));
  const double z = log(7);
  furrow_score score;
  fw_loss_score(&count, &z, &score);
  assert_true(fabs(score.pred - 7) < 1e-12 && score.proba == 0 && score.label == 0);
}

/* Figures of rows, and of the best constant. */
static void figures_of_counts_and_medians(void **state) {
  (void)state;
  static const float label[] = {0, 1, 1, 4, 9}, weight[] = {1, 1, 2, 1, 1};
  const fw_graph count = {.loss = FW_LOSS_POISSON, .outputs = 1}, absolute = {.loss = FW_LOSS_ABSOLUTE, .outputs = 1};
  double want = 0, mean = 16.0 / 6;
  furrow_learn_metrics m;
  fw_tally *tally = NULL;
  assert_int_equal(fw_tally_create(&tally, &count, NULL), FURROW_OK);
  for (size_t i = 0; i < 5; i++) {
    const double z = log(2);
    fw_tally_add(tally, &z, (double)label[i], (double)weight[i]);
    want += (double)weight[i] * fw_loss_of(&count, log(mean), (double)label[i]) / 6;
  }
  fw_tally_metrics(tally, &m);
  assert_true(fabs(m.constant_loss - want) < 1e-12 && m.deviance == m.loss && isnan(m.pinball));
  assert_true(fabs(m.mean_prediction - 2) < 1e-12 && fabs(m.mae - (2 + 1 + 2 + 2 + 7) / 6.0) < 1e-12);
  fw_tally_free(tally);
  assert_true(fabs(fw_constant_loss(&absolute, label, weight, 5) - (1 + 3 + 8) / 6.0) < 1e-12);
  assert_true(fabs(fw_constant_loss(&absolute, label, NULL, 4) - (1 + 3) / 4.0) < 1e-12);
  assert_true(isnan(fw_constant_loss(&absolute, label, NULL, 0)));
}

/* ---- Rising and falling ---- */

enum { STEPS = 60 };

/* The largest step of scores against a direction, along a feature of rows that have it. */
static double worst_step(const fw_forest *forest, const table *t, size_t column, double direction) {
  double worst = 0;
  for (size_t row = 0; row < 200; row++) {
    float x[8];
    double before = 0, score;
    memcpy(x, t->x + row * t->columns, t->columns * sizeof *x);
    for (int step = 0; step < STEPS; step++) {
      x[column] = -6 + 12.0F * (float)step / STEPS;
      table_scores(forest, 0.3, x, &score);
      if (step > 0) worst = fmax(worst, direction * (before - score));
      before = score;
    }
  }
  return worst;
}

static void check_direction(table *t, const fw_plan *plan, bool along) {
  static const fw_monotone directions[] = {{0, 1}, {1, -1}};
  t->monotone = along ? directions : NULL;
  t->monotone_count = along ? 2 : 0;
  fw_forest *forest = table_grow(t, false, plan, 2, 20);
  const double rises = worst_step(forest, t, 0, 1), falls = worst_step(forest, t, 1, -1);
  const char *loss = fw_objective_name(plan->graph.loss);
  if (along && (rises > 1e-9 || falls > 1e-9)) fail_msg("%s: %g, %g", loss, rises, falls);
  if (!along && !(rises > 0.01 && falls > 0.01)) fail_msg("%s: not constrained, but %g, %g", loss, rises, falls);
  assert_true(count_splits(forest) >= 20);
  fw_forest_free(forest);
}

static void scores_never_go_against_a_direction(void **state) {
  (void)state;
  static const fw_loss_type losses[] = {FW_LOSS_L2,      FW_LOSS_ABSOLUTE, FW_LOSS_QUANTILE,
                                        FW_LOSS_POISSON, FW_LOSS_LOG,      FW_LOSS_LAMBDA};
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
    const table_rules rules = {
        .rows = 1500, .columns = 4, .absent = 0.15, .loss = losses[i], .classes = 5, .weights = i % 2, .seed = 70 + i};
    table t = table_make(&rules);
    fw_plan plan = table_plan(&rules);
    plan.forest.levels = 7;
    check_direction(&t, &plan, false);
    check_direction(&t, &plan, true);
    plan.forest.leaves = 31;
    plan.forest.row_ratio = 0.7;
    check_direction(&t, &plan, true);
    plan.forest.leaves = 0;
    plan.forest.splits = 8;
    plan.forest.alpha = 0.5;
    plan.forest.min_rows = 3;
    check_direction(&t, &plan, true);
    table_free(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_are_those_of_a_plain_search),
      cmocka_unit_test(rare_features_are_split_too),
      cmocka_unit_test(limits_of_splits_are_kept),
      cmocka_unit_test(presence_needs_no_turning),
      cmocka_unit_test(equal_gains_go_to_the_first),
      cmocka_unit_test(best_leaves_are_split_first),
      cmocka_unit_test(leaves_have_min_rows),
      cmocka_unit_test(min_rows_are_rows),
      cmocka_unit_test(shares_of_nothing_are_numbers),
      cmocka_unit_test(quantiles_match_sorted_numbers),
      cmocka_unit_test(leaves_are_quantiles_of_their_rows),
      cmocka_unit_test(counts_have_a_log_link),
      cmocka_unit_test(counts_of_any_size_are_learned),
      cmocka_unit_test(losses_of_outputs),
      cmocka_unit_test(figures_of_counts_and_medians),
      cmocka_unit_test(scores_never_go_against_a_direction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
