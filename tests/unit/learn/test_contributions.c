/* tests/unit/learn/test_contributions.c: contributions of features against Shapley values by their definition, over all
 * sets of features; sums by column; weights; models that have neither. */
#include "furrow/table.h"
#include "learn/forest/forest.h"
#include "learn/score/scorer.h"
#include "support/failing_alloc.h"
#include "support/made_clicks.h"
#include "support/made_forest.h"

enum { MOST_FEATURES = 18 };

typedef struct sample {
  uint64_t index[2 * MOST_FEATURES];
  float value[2 * MOST_FEATURES];
  size_t length;
} sample;

static furrow_row row_of(const sample *s) {
  return (furrow_row){.length = s->length,
                      .index = {.u64 = s->index},
                      .value = {.f32 = s->value},
                      .key_type = FURROW_KEY_U64,
                      .value_type = FURROW_VALUE_F32};
}

/* ---- Shapley values by definition ---- */

/* phi[i] of a game of n players whose worth of the set of bits S is worth[S]. */
static void shapley_values(const double *worth, size_t n, double *phi) {
  double factorial[MOST_FEATURES + 1] = {1};
  for (size_t i = 1; i <= n; i++) factorial[i] = factorial[i - 1] * (double)i;
  for (size_t i = 0; i < n; i++) {
    phi[i] = 0;
    for (size_t set = 0; set < (size_t)1 << n; set++) {
      if (set >> i & 1) continue;
      const size_t size = (size_t)__builtin_popcountll(set);
      phi[i] += factorial[size] * factorial[n - size - 1] / factorial[n] * (worth[set | (size_t)1 << i] - worth[set]);
    }
  }
}

/* What a tree expects of a row of which the features in `set` are known. */
static double expected(const fw_forest *f, size_t tree, size_t node, const float *x, size_t set) {
  const size_t at = tree * f->nodes + node, base = tree * f->nodes;
  if (f->feature[at] < 0) return f->predict[at];
  const size_t left = 2 * node + 1, right = 2 * node + 2;
  if (set >> f->feature[at] & 1) {
    const float known = x[f->feature[at]];
    const bool goes_left = isnan(known) ? fw_forest_absent_left(f, at) : (double)known <= f->value[at];
    return expected(f, tree, goes_left ? left : right, x, set);
  }
  const double l = f->hessian[base + left], r = f->hessian[base + right];
  const double share = l + r > 0 ? l / (l + r) : 0.5;
  return (share > 0 ? share * expected(f, tree, left, x, set) : 0) +
         (share < 1 ? (1 - share) * expected(f, tree, right, x, set) : 0);
}

/* ---- Trees ---- */

static furrow_scorer *open_forest(const fw_forest *f, bool node_stats, const char *lr) {
  furrow_learn_conf *conf = conf_builtin("gbdt", f->classes > 1 ? "objective=multi:softmax" : "");
  char classes[24];
  snprintf(classes, sizeof classes, "%zu", f->classes);
  if (f->classes > 1) conf_set(conf, "classes", classes);
  conf_set(conf, "node-stats", node_stats ? "yes" : "no");
  conf_set(conf, "lr", lr);
  fw_plan *plan = conf_plan(conf);
  furrow_scorer *scorer = NULL;
  furrow_trainer_save_params params;
  furrow_trainer_save_params_init(&params);
  params.overwrite = true;
  assert_int_equal(fw_forest_save(f, plan, conf, NULL, "model", &params, &err), FURROW_OK);
  if (furrow_scorer_load(&scorer, "model", NULL, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
  return scorer;
}

static furrow_scorer_scratch *scratch_of(const furrow_scorer *scorer) {
  furrow_scorer_scratch *scratch = NULL;
  assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
  return scratch;
}

static furrow_contributions explain(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const sample *s) {
  const furrow_row row = row_of(s);
  furrow_contributions of;
  furrow_contributions_init(&of);
  if (furrow_scorer_contributions(scorer, scratch, &row, &of, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(of.classes, furrow_scorer_class_count(scorer));
  for (size_t i = 1; i < of.count; i++) assert_true(of.features[i - 1] < of.features[i]);
  return of;
}

static double value_of(const furrow_contributions *of, uint64_t feature, size_t class) {
  for (size_t i = 0; i < of->count; i++)
    if (of->features[i] == feature) return of->values[i * of->classes + class];
  return 0;
}

static void assert_adds_up(const furrow_contributions *of, double within) {
  for (size_t c = 0; c < of->classes; c++) {
    double sum = of->bias[c];
    for (size_t i = 0; i < of->count; i++) sum += of->values[i * of->classes + c];
    assert_true(fabs(sum - of->outputs[c]) <= within * (1 + fabs(sum)));
  }
}

/* A row of some of `features` features; x: its values as an array, NaN for those that it does not have. */
static void draw_sample(fw_rng *rng, size_t features, sample *s, float *x) {
  s->length = 0;
  for (size_t i = features; i-- > 0;) {
    x[i] = NAN;
    if (fw_rng_below(rng, 4) == 0) continue;
    x[i] = (float)fw_rng_normal(rng);
    s->index[s->length] = i;
    s->value[s->length++] = x[i];
  }
}

static double *worths;

static void compare_with_definition(const fw_forest *f, const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                    size_t features, double rate, uint64_t seed) {
  fw_rng rng;
  sample s;
  float x[MOST_FEATURES];
  double phi[MOST_FEATURES];
  fw_rng_init(&rng, seed);
  draw_sample(&rng, features, &s, x);
  const furrow_contributions of = explain(scorer, scratch, &s);
  assert_adds_up(&of, 1e-11);
  for (size_t c = 0; c < f->classes; c++) {
    for (size_t set = 0; set < (size_t)1 << features; set++) {
      worths[set] = 0;
      for (size_t tree = c; tree < f->trees; tree += f->classes) worths[set] += rate * expected(f, tree, 0, x, set);
    }
    shapley_values(worths, features, phi);
    assert_true(fabs(of.bias[c] - worths[0]) < 1e-11 * (1 + fabs(worths[0])));
    for (size_t i = 0; i < features; i++)
      if (fabs(value_of(&of, i, c) - phi[i]) > 1e-10 * (1 + fabs(phi[i])))
        fail_msg("seed %d, class %zu, feature %zu: %.17g, not %.17g", (int)seed, c, i, value_of(&of, i, c), phi[i]);
  }
}

static void trees_give_shapley_values(void **state) {
  (void)state;
  static const made_params made[] = {
      {.classes = 1, .rounds = 4, .levels = 2, .features = 3, .split = 1, .stats = true},
      {.classes = 3, .rounds = 3, .levels = 5, .features = 6, .split = 0.8, .stats = true, .missing_flipped = true},
      {.classes = 1, .rounds = 3, .levels = 7, .features = 10, .split = 0.9, .stats = true, .missing_flipped = true},
      {.classes = 1, .rounds = 1, .levels = 12, .features = 9, .split = 0.8, .stats = true, .missing_flipped = true},
      {.classes = 1, .rounds = 2, .levels = 3, .features = 2, .split = 0, .stats = true}}; /* leaves alone */
  for (size_t m = 0; m < sizeof made / sizeof *made; m++) {
    fw_forest *f = made_forest(&made[m], m + 7);
    furrow_scorer *scorer = open_forest(f, true, "0.3");
    furrow_scorer_scratch *scratch = scratch_of(scorer);
    for (uint64_t seed = 0; seed < 12; seed++) compare_with_definition(f, scorer, scratch, made[m].features, 0.3, seed);
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
    fw_forest_free(f);
  }
}

/* A path of as many different features as there are: it needs all walks of points. */
static void long_paths_are_exact(void **state) {
  (void)state;
  fw_forest *f = NULL;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  assert_int_equal(fw_forest_create(&f, 1, MOST_FEATURES + 1, true, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 1, &err), FURROW_OK);
  for (size_t node = 0, i = 0; i < MOST_FEATURES; i++, node = 2 * node + 1 + i % 2) {
    f->feature[node] = (int32_t)i;
    f->value[node] = 0.5 * fw_rng_normal(&rng);
    f->hessian[node] = 10;
    for (size_t child = 2 * node + 1; child <= 2 * node + 2; child++) {
      f->hessian[child] = fw_rng_double(&rng);
      f->predict[child] = fw_rng_normal(&rng);
    }
  }
  furrow_scorer *scorer = open_forest(f, true, "1");
  furrow_scorer_scratch *scratch = scratch_of(scorer);
  for (uint64_t seed = 0; seed < 3; seed++) compare_with_definition(f, scorer, scratch, MOST_FEATURES, 1, seed);
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
  fw_forest_free(f);
}

/* Ways that no training row took. */
static void covers_may_be_zero(void **state) {
  (void)state;
  static const made_params made = {
      .classes = 1, .rounds = 3, .levels = 6, .features = 5, .split = 0.9, .stats = true, .missing_flipped = true};
  for (uint64_t seed = 0; seed < 20; seed++) {
    fw_forest *f = made_forest(&made, seed);
    for (size_t at = 0; at < f->trees * f->nodes; at++)
      if (at % f->nodes > 0 && (at * 7 + seed) % 4 == 0) f->hessian[at] = 0;
    furrow_scorer *scorer = open_forest(f, true, "0.5");
    furrow_scorer_scratch *scratch = scratch_of(scorer);
    compare_with_definition(f, scorer, scratch, made.features, 0.5, seed);
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
    fw_forest_free(f);
  }
}

/* Of a feature that stands twice the first counts, and features without a split do nothing. */
static void odd_rows_are_taken(void **state) {
  (void)state;
  static const made_params made = {.classes = 1, .rounds = 5, .levels = 4, .features = 4, .split = 1, .stats = true};
  fw_forest *f = made_forest(&made, 3);
  furrow_scorer *scorer = open_forest(f, true, "1");
  furrow_scorer_scratch *scratch = scratch_of(scorer);
  const sample plain = {.index = {0, 2}, .value = {0.5F, -1}, .length = 2};
  const sample odd = {.index = {2, 1000000007, 0, 2}, .value = {-1, 3, 0.5F, 7}, .length = 4};
  double wanted[4];
  furrow_contributions of = explain(scorer, scratch, &plain);
  for (size_t i = 0; i < 4; i++) wanted[i] = value_of(&of, i, 0);
  of = explain(scorer, scratch, &odd);
  for (size_t i = 0; i < 4; i++) assert_true(value_of(&of, i, 0) == wanted[i]);
  assert_true(of.features[of.count - 1] < 4);
  const sample empty = {.length = 0};
  of = explain(scorer, scratch, &empty);
  assert_adds_up(&of, 1e-12);
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
  fw_forest_free(f);
}

static void refuse_forest(const fw_forest *f, bool node_stats, furrow_status status, const char *message) {
  furrow_scorer *scorer = open_forest(f, node_stats, "1");
  furrow_scorer_scratch *scratch = scratch_of(scorer);
  const sample s = {.length = 0};
  const furrow_row row = row_of(&s);
  furrow_contributions of;
  furrow_contributions_init(&of);
  assert_int_equal(furrow_scorer_contributions(scorer, scratch, &row, &of, &err), status);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
}

static void covers_are_needed(void **state) {
  (void)state;
  static const made_params made = {.classes = 1, .rounds = 3, .levels = 4, .features = 4, .split = 1, .stats = true};
  fw_forest *f = made_forest(&made, 3);
  refuse_forest(f, false, FURROW_E_UNSUPPORTED, "tree 0 does not have");
  f->hessian[f->nodes] = 0; /* as trees of a model without statistics that a training added to */
  refuse_forest(f, true, FURROW_E_UNSUPPORTED, "tree 1 does not have");
  f->hessian[f->nodes] = 1;
  f->hessian[2 * f->nodes + 5] = -1;
  refuse_forest(f, true, FURROW_E_FORMAT, "tree 2, node 5");
  fw_forest_free(f);
}

/* ---- Nets ---- */

/* The score of the entries whose bits are set. */
static double worth_of(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const sample *s, size_t set,
                       size_t class) {
  sample part = {.length = 0};
  for (size_t i = 0; i < s->length; i++) {
    if (!(set >> i & 1)) continue;
    part.index[part.length] = s->index[i];
    part.value[part.length++] = s->value[i];
  }
  const furrow_row row = row_of(&part);
  assert_int_equal(fw_scorer_run_row(scorer, scratch, &row, &err), FURROW_OK);
  return scratch->outputs[class];
}

static furrow_scorer *train_scorer(const char *algorithm, const char *settings) {
  furrow_trainer *trainer = new_trainer(algorithm, settings, 1, false);
  furrow_scorer *scorer = NULL;
  furrow_trainer_fit_params params;
  furrow_parser_params parser;
  furrow_trainer_fit_params_init(&params);
  furrow_parser_params_init(&parser);
  parser.format = "libsvm"; /* also for models of dense data */
  params.parser = &parser;
  fit_or_fail(trainer, "clicks", NULL, &params);
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  return scorer;
}

/* Sums and products of two are games whose Shapley values are the terms and halves of the products. */
static void nets_give_shapley_values(void **state) {
  (void)state;
  static const struct {
    const char *algorithm, *settings;
  } models[] = {{"lr", "lr=0.1 epochs=2"},
                {"lr", "lr=0.01 epochs=2 range=120 format=dense"},
                {"svm", "lr=0.05 epochs=2 range=120 model-type=T_DOUBLE_DENSE"},
                {"linear", "lr=0.01 epochs=2"},
                {"robust", "lr=0.01 epochs=2"},
                {"softmax", "lr=0.1 epochs=2 classes=3 label=ZeroOneTrans"},
                {"softmax", "lr=0.01 epochs=2 classes=2 label=ZeroOneTrans range=120 format=dense"},
                {"fm", "lr=0.05 epochs=2 rank=4 init-embedding=0.3"},
                {"fm", "lr=0.05 epochs=2 rank=4 init-embedding=0.3 loss=softmax classes=3 label=ZeroOneTrans"},
                {"fm", "lr=0.05 epochs=2 rank=40 range=120 init-embedding=0.3 model-type=T_DOUBLE_DENSE"}};
  const sample s = {.index = {70, 3, 28, 41, 90, 5000}, .value = {1, 0.5F, 2, -1.25F, 1, 7}, .length = 6};
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    furrow_scorer *scorer = train_scorer(models[m].algorithm, models[m].settings);
    furrow_scorer_scratch *scratch = scratch_of(scorer);
    for (size_t c = 0; c < furrow_scorer_class_count(scorer); c++) {
      double phi[MOST_FEATURES], bias[3];
      for (size_t set = 0; set < 64; set++) worths[set] = worth_of(scorer, scratch, &s, set, c);
      shapley_values(worths, s.length, phi);
      const furrow_contributions of = explain(scorer, scratch, &s);
      assert_adds_up(&of, 1e-5);
      assert_int_equal(of.count, 5); /* the model does not have feature 5000 */
      assert_true(fabs(of.bias[c] - worths[0]) < 1e-6);
      assert_int_equal(furrow_scorer_bias(scorer, bias, &err), FURROW_OK);
      assert_true(bias[c] == of.bias[c]);
      for (size_t i = 0; i < s.length; i++)
        if (fabs(value_of(&of, s.index[i], c) - phi[i]) > 1e-5)
          fail_msg("%s: %.9g, not %.9g", models[m].algorithm, value_of(&of, s.index[i], c), phi[i]);
    }
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
  }
}

/* A feature that stands twice counts twice, also in products with itself. */
static void features_that_stand_twice_count_twice(void **state) {
  (void)state;
  furrow_scorer *scorer = train_scorer("fm", "lr=0.05 epochs=2 rank=4 init-embedding=0.3");
  furrow_scorer_scratch *scratch = scratch_of(scorer);
  const sample s = {.index = {28, 3, 28}, .value = {1, 0.5F, 2}, .length = 3};
  double phi[MOST_FEATURES];
  for (size_t set = 0; set < 8; set++) worths[set] = worth_of(scorer, scratch, &s, set, 0);
  shapley_values(worths, 3, phi);
  const furrow_contributions of = explain(scorer, scratch, &s);
  assert_int_equal(of.count, 2);
  assert_true(fabs(value_of(&of, 28, 0) - phi[0] - phi[2]) < 1e-5);
  assert_true(fabs(value_of(&of, 3, 0) - phi[1]) < 1e-5);
  furrow_scorer_scratch_free(scratch);
  furrow_scorer_free(scorer);
}

static void other_graphs_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *algorithm, *settings, *message;
  } models[] = {{"deepfm", "rank=2 fields=6 fc=4 range=120",
                 "deepfm has no contributions of features: its score "
                 "depends on the layer fclayer (FCLayer)"},
                {"nfm", "rank=2 fc=4", "the layer fclayer (FCLayer)"},
                {"dnn", "input-width=4 fc=4", "the layer fclayer (FCLayer)"},
                {"mlr", "", "the layer dotpooling_layer (DotPooling)"}};
  const sample s = {.index = {1, 2, 3, 4, 5, 6}, .value = {1, 1, 1, 1, 1, 1}, .length = 6};
  const furrow_row row = row_of(&s);
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    furrow_trainer *trainer = new_trainer(models[m].algorithm, models[m].settings, 1, false);
    furrow_scorer *scorer = NULL;
    furrow_contributions of;
    furrow_contributions_init(&of);
    assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
    furrow_scorer_scratch *scratch = scratch_of(scorer);
    assert_int_equal(furrow_scorer_contributions(scorer, scratch, &row, &of, &err), FURROW_E_UNSUPPORTED);
    if (!strstr(err.message, models[m].message)) fail_msg("%s", err.message);
    assert_null(of.features);
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
    furrow_trainer_free(trainer);
  }
}

/* ---- Weights ---- */

static void weights_are_contributions_of_one(void **state) {
  (void)state;
  static const char *const settings[] = {"lr=0.1 epochs=2 classes=3 label=ZeroOneTrans",
                                         "lr=0.01 epochs=2 classes=3 label=ZeroOneTrans range=120 format=dense"};
  for (size_t m = 0; m < 2; m++) {
    furrow_scorer *scorer = train_scorer("softmax", settings[m]);
    furrow_scorer_scratch *scratch = scratch_of(scorer);
    double weights[3], bias[3], norm = 0;
    uint64_t *features = NULL;
    size_t count = 0;
    assert_int_equal(furrow_scorer_bias(scorer, bias, &err), FURROW_OK);
    assert_int_equal(furrow_scorer_features(scorer, 0, UINT64_MAX, &features, &count, &err), FURROW_OK);
    assert_int_equal(count, 120);
    for (size_t i = 0; i < count; i++) {
      const sample one = {.index = {features[i]}, .value = {1}, .length = 1};
      const furrow_contributions of = explain(scorer, scratch, &one);
      assert_int_equal(furrow_scorer_feature_weights(scorer, features[i], weights, &norm, &err), FURROW_OK);
      assert_true(isnan(norm));
      for (size_t c = 0; c < 3; c++) assert_true(weights[c] == value_of(&of, features[i], c) && bias[c] == of.bias[c]);
    }
    assert_int_equal(furrow_scorer_feature_weights(scorer, 5000, weights, NULL, &err), FURROW_OK);
    assert_true(weights[0] == 0 && weights[1] == 0 && weights[2] == 0);
    furrow_free(features);
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
  }
}

/* The vectors of single features, which export writes, have the same length and own part. */
static void wide_parts_have_weights(void **state) {
  (void)state;
  furrow_scorer *scorer = train_scorer("deepfm", "lr=0.02 epochs=1 rank=3 fields=6 fc=4 range=120");
  for (uint64_t feature = 0; feature < 120; feature += 17) {
    const sample one = {.index = {feature}, .value = {1}, .length = 1};
    const furrow_row row = row_of(&one);
    float vector[4];
    double weight = 0, norm = 0;
    assert_int_equal(furrow_scorer_item_vector(scorer, &row, vector, &err), FURROW_OK);
    assert_int_equal(furrow_scorer_feature_weights(scorer, feature, &weight, &norm, &err), FURROW_OK);
    assert_true(norm > 0 && fabs(weight - (double)vector[3]) < 1e-6);
    assert_true(fabs(norm - sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])) < 1e-6);
  }
  furrow_scorer_free(scorer);
}

static void other_graphs_have_no_weights(void **state) {
  (void)state;
  static const char *const models[] = {"mlr", "dnn", "gbdt"};
  for (size_t m = 0; m < 3; m++) {
    furrow_trainer *trainer = new_trainer(models[m], "", 1, false);
    furrow_scorer *scorer = NULL;
    double number = 0;
    assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
    assert_int_equal(furrow_scorer_bias(scorer, &number, &err), FURROW_E_UNSUPPORTED);
    assert_int_equal(furrow_scorer_feature_weights(scorer, 1, &number, NULL, &err), FURROW_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, models[m]));
    furrow_scorer_free(scorer);
    furrow_trainer_free(trainer);
  }
}

/* ---- Columns ---- */

static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"user\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"when\":{\"as\":\"time\",\"parts\":[\"hour\",\"weekday\"]},\"tags\":{\"as\":\"set\",\"separator\":\"|\"},"
    "\"film\":{\"as\":\"category\",\"role\":\"item\"},\"price\":{\"as\":\"number\"}},"
    "\"cross\":[{\"of\":[\"user\",\"when.hour\"],\"bits\":8}]}";

static void write_log(const char *path) {
  FILE *f = fopen(path, "w");
  fw_rng rng;
  fw_rng_init(&rng, 4);
  assert_non_null(f);
  fputs("y,user,when,tags,film,price\n", f);
  for (unsigned i = 0; i < 300; i++) {
    const unsigned user = (unsigned)fw_rng_below(&rng, 9), film = (unsigned)fw_rng_below(&rng, 7);
    fprintf(f, "%d,u%u,%u,t%u|t%u|s%u,f%u,%g\n", (user * film + fw_rng_below(&rng, 5)) % 3 == 0, user,
            1000000000 + 7919 * i, user % 3, film % 4, i % 5, film, 0.25 * (double)fw_rng_below(&rng, 40));
  }
  fclose(f);
}

static void make_encoder(void) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  if (furrow_schema_parse(&schema, schema_text, strlen(schema_text), &err) != FURROW_OK) fail_msg("%s", err.message);
  if (furrow_encoder_build(&encoder, "log.csv", schema, NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(furrow_encoder_save(encoder, "encoder", true, &err), FURROW_OK);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

static furrow_scorer *train_on_log(const char *algorithm, const char *settings) {
  furrow_trainer *trainer = new_trainer(algorithm, settings, 1, false);
  furrow_scorer *scorer = NULL;
  fit_or_fail(trainer, "log.csv", NULL, NULL);
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  furrow_trainer_free(trainer);
  return scorer;
}

static const char *const column_names[] = {"user", "when", "tags", "film", "price", "user x when.hour"};
enum { COLUMNS = sizeof column_names / sizeof *column_names };

static void columns_are_named(const furrow_scorer *scorer) {
  assert_int_equal(furrow_scorer_column_count(scorer), COLUMNS);
  for (size_t i = 0; i < COLUMNS; i++) assert_string_equal(furrow_scorer_column_name(scorer, i), column_names[i]);
  assert_null(furrow_scorer_column_name(scorer, COLUMNS));
  const furrow_encoder *encoder = furrow_scorer_encoder(scorer);
  for (uint64_t f = 0; f < furrow_encoder_feature_count(encoder); f++) {
    furrow_encoder_feature feature;
    furrow_encoder_field field;
    assert_int_equal(furrow_encoder_get_feature(encoder, f, &feature, &err), FURROW_OK);
    furrow_encoder_get_field(encoder, feature.field, &field);
    const char *name = column_names[furrow_scorer_feature_column(scorer, f)];
    assert_true(strcmp(name, field.name) == 0 || (strcmp(name, "when") == 0 && strncmp(field.name, "when.", 5) == 0));
  }
  assert_true(furrow_scorer_feature_column(scorer, furrow_encoder_feature_count(encoder)) == SIZE_MAX);
}

/* The features of a row by ascending number, added to 0 one after the other. */
static void compare_sums(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_row *row) {
  furrow_contributions of;
  double wanted[COLUMNS * 3] = {0}, bias[3], outputs[3];
  furrow_contributions_init(&of);
  assert_int_equal(furrow_scorer_contributions(scorer, scratch, row, &of, &err), FURROW_OK);
  for (size_t i = 0; i < of.count; i++)
    for (size_t c = 0; c < of.classes; c++)
      wanted[furrow_scorer_feature_column(scorer, of.features[i]) * of.classes + c] += of.values[i * of.classes + c];
  memcpy(bias, of.bias, of.classes * sizeof *bias);
  memcpy(outputs, of.outputs, of.classes * sizeof *outputs);
  furrow_contributions_init(&of);
  assert_int_equal(furrow_scorer_column_contributions(scorer, scratch, row, &of, &err), FURROW_OK);
  assert_int_equal(of.count, COLUMNS);
  for (size_t c = 0; c < of.classes; c++) {
    double sum = of.bias[c];
    assert_true(of.bias[c] == bias[c] && of.outputs[c] == outputs[c]);
    for (size_t i = 0; i < COLUMNS; i++) {
      assert_int_equal(of.features[i], i);
      assert_true(of.values[i * of.classes + c] == wanted[i * of.classes + c]);
      sum += of.values[i * of.classes + c];
    }
    assert_true(fabs(sum - of.outputs[c]) < 1e-5 * (1 + fabs(sum)));
  }
}

static void columns_have_the_sums_of_their_features(void **state) {
  (void)state;
  static const struct {
    const char *algorithm, *settings;
  } models[] = {{"lr", "encoder=encoder format=table epochs=2 lr=0.1"},
                {"fm", "encoder=encoder format=table epochs=2 lr=0.05 rank=4 init-embedding=0.3"},
                {"softmax", "encoder=encoder format=table epochs=2 lr=0.1 classes=3 label=ZeroOneTrans"},
                {"gbdt", "encoder=encoder format=table trees=10 node-stats=yes"}};
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    furrow_scorer *scorer = train_on_log(models[m].algorithm, models[m].settings);
    furrow_scorer_scratch *scratch = NULL;
    furrow_sample_reader *rows = NULL;
    const furrow_rowblock *block;
    assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
    columns_are_named(scorer);
    assert_int_equal(furrow_sample_reader_open(&rows, furrow_scorer_conf(scorer), "log.csv", NULL, &err), FURROW_OK);
    while (furrow_sample_reader_next(rows, &block, &err) == FURROW_OK)
      for (size_t i = 0; i < block->size; i++) {
        const furrow_row row = furrow_rowblock_row(block, i);
        compare_sums(scorer, scratch, &row);
      }
    furrow_sample_reader_close(rows);
    furrow_scorer_scratch_free(scratch);
    furrow_scorer_free(scorer);
  }
}

static furrow_status explain_column(const furrow_scorer *scorer, uint64_t feature, furrow_contributions *of) {
  furrow_scorer_scratch *scratch = NULL;
  const float value = 2;
  const furrow_row row = {.length = 1,
                          .index = {.u64 = &feature},
                          .value = {.f32 = &value},
                          .key_type = FURROW_KEY_U64,
                          .value_type = FURROW_VALUE_F32};
  assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
  furrow_contributions_init(of);
  const furrow_status status = furrow_scorer_column_contributions(scorer, scratch, &row, of, &err);
  furrow_scorer_scratch_free(scratch);
  return status;
}

static void names_of_features_are_columns(void **state) {
  (void)state;
  furrow_trainer *trainer = new_trainer("lr", "columns=a,b%2Cc,d", 1, false);
  furrow_scorer *scorer = NULL;
  furrow_contributions of;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_column_count(scorer), 3);
  assert_string_equal(furrow_scorer_column_name(scorer, 1), "b,c");
  assert_int_equal(furrow_scorer_feature_column(scorer, 2), 2);
  assert_true(furrow_scorer_feature_column(scorer, 3) == SIZE_MAX);
  assert_int_equal(explain_column(scorer, 1, &of), FURROW_OK);
  assert_int_equal(of.count, 3);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

static void features_without_columns_are_refused(void **state) {
  (void)state;
  furrow_trainer *trainer = new_trainer("lr", "", 1, false);
  furrow_scorer *scorer = NULL;
  furrow_contributions of;
  assert_int_equal(furrow_scorer_create(&scorer, trainer, &err), FURROW_OK);
  assert_int_equal(furrow_scorer_column_count(scorer), 0);
  assert_int_equal(explain_column(scorer, 1, &of), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "named columns"));
  assert_null(of.features);
  furrow_scorer_free(scorer);
  furrow_trainer_free(trainer);
}

static void sums_are_told_that_memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_scorer *scorer = train_on_log("lr", "encoder=encoder format=table epochs=1 lr=0.1");
  const uint64_t feature = 3;
  const furrow_row row = {.length = 1, .index = {.u64 = &feature}, .key_type = FURROW_KEY_U64};
  const long live = alloc_live;
  for (long n = 1;; n++) {
    furrow_scorer_scratch *scratch = NULL;
    furrow_contributions of;
    furrow_contributions_init(&of);
    assert_int_equal(furrow_scorer_scratch_create(&scratch, scorer, &err), FURROW_OK);
    alloc_fail_at(n);
    const furrow_status status = furrow_scorer_column_contributions(scorer, scratch, &row, &of, &err);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
    compare_sums(scorer, scratch, &row); /* the scratch is still good */
    furrow_scorer_scratch_free(scratch);
    assert_int_equal(alloc_live, live);
    if (!failed) break;
  }
  furrow_scorer_free(scorer);
}

/* ---- Memory ---- */

static void fail_each_allocation(const furrow_scorer *scorer) {
  const sample s = {.index = {4, 1, 2, 3}, .value = {1, 1, 1, 1}, .length = 4};
  const furrow_row row = row_of(&s);
  const long live = alloc_live;
  for (long n = 1;; n++) {
    furrow_scorer_scratch *scratch = scratch_of(scorer);
    furrow_contributions of;
    furrow_contributions_init(&of);
    alloc_fail_at(n);
    const furrow_status status = furrow_scorer_contributions(scorer, scratch, &row, &of, &err);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
    if (failed) of = explain(scorer, scratch, &s); /* the scratch is still good */
    assert_adds_up(&of, 1e-5);
    furrow_scorer_scratch_free(scratch);
    assert_int_equal(alloc_live, live);
    if (!failed) break;
  }
}

static void memory_that_runs_out_is_told(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static const made_params made = {.classes = 3, .rounds = 2, .levels = 4, .features = 4, .split = 1, .stats = true};
  fw_forest *f = made_forest(&made, 3);
  furrow_scorer *trees = open_forest(f, true, "1"), *fm = train_scorer("fm", "epochs=1 lr=0.01 rank=2");
  fail_each_allocation(trees);
  fail_each_allocation(fm);
  furrow_scorer_free(trees);
  furrow_scorer_free(fm);
  fw_forest_free(f);
}

static int set_up(void **state) {
  worths = malloc(sizeof *worths << MOST_FEATURES);
  if (!worths || enter_dir(state) != 0 || !write_clicks("clicks", 600, 1, 1)) return -1;
  write_log("log.csv");
  make_encoder();
  return 0;
}

static int tear_down(void **state) {
  free(worths);
  return leave_dir(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(trees_give_shapley_values),
                                     cmocka_unit_test(long_paths_are_exact),
                                     cmocka_unit_test(covers_may_be_zero),
                                     cmocka_unit_test(odd_rows_are_taken),
                                     cmocka_unit_test(covers_are_needed),
                                     cmocka_unit_test(nets_give_shapley_values),
                                     cmocka_unit_test(features_that_stand_twice_count_twice),
                                     cmocka_unit_test(other_graphs_are_refused),
                                     cmocka_unit_test(weights_are_contributions_of_one),
                                     cmocka_unit_test(wide_parts_have_weights),
                                     cmocka_unit_test(other_graphs_have_no_weights),
                                     cmocka_unit_test(columns_have_the_sums_of_their_features),
                                     cmocka_unit_test(names_of_features_are_columns),
                                     cmocka_unit_test(features_without_columns_are_refused),
                                     cmocka_unit_test(sums_are_told_that_memory_runs_out),
                                     cmocka_unit_test(memory_that_runs_out_is_told)};
  return cmocka_run_group_tests_name("contributions", tests, set_up, tear_down);
}
