/* tests/unit/learn/test_learn_net_gradients.c: the gradient of every parameter of many graphs against central
 * differences of the loss. The gradient is what one step of plain descent with rate 1 takes away. */
#include "support/made_net.h"

typedef struct check {
  fw_net *net;
  fw_pass *pass;
  const fw_minibatch *batch;
  bool wide;
  size_t compared, not_zero;
} check;

static const fw_step one_step = {.number = 1, .rate = 1, .scale = 1};

static double get(const check *c, const void *numbers, size_t i) {
  return c->wide ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static void put(const check *c, void *numbers, size_t i, double number) {
  if (c->wide)
    ((double *)numbers)[i] = number;
  else
    ((float *)numbers)[i] = (float)number;
}

/* All weights in one row: dense arrays, then the numbers of the features of the batch. */
static size_t weights_of(const check *c, void **where, size_t *at, size_t capacity) {
  size_t n = 0;
  for (size_t i = 0; i < c->net->parameters->count; i++) {
    const fw_parameter *parameter = &c->net->parameters->list[i];
    const size_t columns = parameter->by_feature ? c->batch->features : (size_t)parameter->cols;
    for (size_t col = 0; col < columns; col++)
      for (size_t row = 0; row < parameter->rows; row++, n++) {
        assert_true(n < capacity);
        where[n] = parameter->by_feature ? fw_parameters_feature(c->net->parameters, i, c->batch->key[col], 0)
                                         : fw_parameters_dense(c->net->parameters, i, 0);
        at[n] = parameter->by_feature ? row : col;
        assert_non_null(where[n]);
      }
  }
  return n;
}

static double loss_with(const check *c, void *where, size_t at, double number) {
  const double before = get(c, where, at);
  put(c, where, at, number);
  const double loss = net_rows(c->net, c->pass, c->batch, &one_step, 3);
  put(c, where, at, before);
  return loss;
}

static void compare(check *c, void *where, size_t at, double gradient) {
  const double w = get(c, where, at), h = c->wide ? 1e-5 : 1e-2;
  const double slope = (loss_with(c, where, at, w + h) - loss_with(c, where, at, w - h)) / (2 * h);
  const double most = (c->wide ? 1e-6 : 2e-2) * (fabs(slope) + (c->wide ? 1e-4 : 0.05));
  if (fabs(slope - gradient) > most)
    fail_msg("weight %zu: gradient %.12g, difference %.12g", c->compared, gradient, slope);
  c->compared++;
  c->not_zero += gradient != 0;
}

static void check_gradients(const made_plan *made, const fw_minibatch *batch) {
  enum { CAPACITY = 4096 };
  void **where = made_array(CAPACITY, sizeof *where);
  size_t *at = made_array(CAPACITY, sizeof *at);
  double *before = made_array(CAPACITY, sizeof *before), *gradient = made_array(CAPACITY, sizeof *gradient);
  fw_net *net = net_make(made, 7);
  check c = {.net = net, .pass = pass_make(net), .batch = batch};
  c.wide = made->plan.model.row_type < T_FLOAT_DENSE;
  assert_int_equal(net->ops->begin(net, c.pass, batch, true, NULL), FURROW_OK);
  const size_t n = weights_of(&c, where, at, CAPACITY);
  for (size_t i = 0; i < n; i++) before[i] = get(&c, where[i], at[i]);
  net_step(net, c.pass, batch, &one_step);
  for (size_t i = 0; i < n; i++) gradient[i] = before[i] - get(&c, where[i], at[i]);
  for (size_t i = 0; i < n; i++) put(&c, where[i], at[i], before[i]);
  for (size_t i = 0; i < n; i++) compare(&c, where[i], at[i], gradient[i]);
  assert_true(c.compared > 0 && c.not_zero * 2 > c.compared);
  fw_pass_free(c.pass);
  net_free(net);
  free(where);
  free(at);
  free(before);
  free(gradient);
}

/* ---- Graphs ---- */

enum { FACTORS = 3, SLOTS = 4 };

static void graph_linear(made_plan *made, fw_loss_type loss) {
  plan_loss(made, plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY), loss);
}

static void graph_softmax(made_plan *made, size_t classes) {
  plan_loss(made, plan_input(made, "input", classes, FW_ACTIVATION_IDENTITY), FW_LOSS_SOFTMAX);
}

static void graph_mlr(made_plan *made) {
  const size_t sigmoid = plan_input(made, "sigmoid_layer", 5, FW_ACTIVATION_SIGMOID);
  const size_t inputs[] = {sigmoid, plan_input(made, "softmax_layer", 5, FW_ACTIVATION_SOFTMAX)};
  plan_loss(made, plan_join(made, FW_LAYER_DOT_POOLING, 2, inputs), FW_LOSS_CROSS_ENTROPY);
}

static void graph_fm(made_plan *made, size_t factors, size_t slots) {
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, factors, slots);
  const size_t inputs[] = {input, plan_cross(made, FW_LAYER_BI_INNER_SUM, embedding)};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

/* The same graph with another loss. */
static void set_loss(made_plan *made, fw_loss_type loss) {
  made->layers[made->plan.graph.count - 1].loss = loss;
  made->plan.graph.loss = loss;
}

static size_t add_deep(made_plan *made, size_t from) {
  const size_t first = plan_fc(made, "fc_0", from, 6, FW_ACTIVATION_TANH);
  return plan_fc(made, "fc", plan_fc(made, "fc_1", first, 5, FW_ACTIVATION_SIGMOID), 1, FW_ACTIVATION_IDENTITY);
}

static void graph_dnn(made_plan *made) {
  plan_loss(made, add_deep(made, plan_input(made, "input", 35, FW_ACTIVATION_SIGMOID)), FW_LOSS_LOG);
}

static void graph_wide_and_deep(made_plan *made, size_t slots) {
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t inputs[] = {input, add_deep(made, plan_embedding(made, FACTORS, slots))};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

static void graph_deepfm(made_plan *made, size_t slots) {
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, FACTORS, slots);
  const size_t cross = plan_cross(made, FW_LAYER_BI_INNER_SUM, embedding);
  const size_t inputs[] = {input, cross, add_deep(made, embedding)};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 3, inputs), FW_LOSS_LOG);
}

/* An output for each class: the products have fc weights, too. */
static void graph_deepfm_of_classes(made_plan *made, size_t classes, size_t slots) {
  const size_t input = plan_input(made, "input", classes, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, FACTORS, slots);
  const size_t cross = plan_cross(made, FW_LAYER_BI_INTERACTION, embedding);
  const size_t products = plan_fc(made, "fmlayer", cross, classes, FW_ACTIVATION_IDENTITY);
  const size_t hidden = plan_fc(made, "fc_0", embedding, 6, FW_ACTIVATION_TANH);
  const size_t inputs[] = {input, products, plan_fc(made, "fc", hidden, classes, FW_ACTIVATION_IDENTITY)};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 3, inputs), FW_LOSS_SOFTMAX);
}

static void graph_pnn(made_plan *made, size_t factors, size_t slots) {
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, factors, slots);
  const size_t parts[] = {embedding, plan_cross(made, FW_LAYER_BI_INNER, embedding)};
  const size_t inputs[] = {input, add_deep(made, plan_join(made, FW_LAYER_CONCAT, 2, parts))};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

static void graph_nfm(made_plan *made, size_t factors, size_t slots) {
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, factors, slots);
  const size_t inputs[] = {input, add_deep(made, plan_cross(made, FW_LAYER_BI_INTERACTION, embedding))};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

/* Two crosses of one embedding with free slots, and a product of both. */
static void graph_two_crosses(made_plan *made) {
  const size_t embedding = plan_embedding(made, FACTORS, 0);
  const size_t sum = plan_cross(made, FW_LAYER_BI_INNER_SUM, embedding);
  const size_t inputs[] = {sum, add_deep(made, plan_cross(made, FW_LAYER_BI_INTERACTION, embedding))};
  plan_loss(made, plan_join(made, FW_LAYER_MUL_POOLING, 2, inputs), FW_LOSS_L2);
}

/* An embedding that a cross, an fc layer and a concatenation take, the last twice: one sets its gradient, all the
 * others add to it. */
static void graph_taken_often(made_plan *made, size_t slots) {
  const size_t embedding = plan_embedding(made, FACTORS, slots);
  const size_t sum = plan_cross(made, FW_LAYER_BI_INNER_SUM, embedding), deep = add_deep(made, embedding);
  const size_t parts[] = {embedding, plan_cross(made, FW_LAYER_BI_INTERACTION, embedding), embedding};
  const size_t inputs[] = {sum, deep, add_deep(made, plan_join(made, FW_LAYER_CONCAT, 3, parts))};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 3, inputs), FW_LOSS_LOG);
}

static void graph_ffm(made_plan *made, size_t rank) {
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, SLOTS * rank, SLOTS);
  const size_t inputs[] = {input, plan_cross(made, FW_LAYER_FIELD_AWARE, embedding)};
  made->layers[inputs[1]].factors = rank;
  made->layers[inputs[1]].width = 1;
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

/* Vectors by field that an fc layer takes, too. */
static void graph_deep_ffm(made_plan *made, size_t rank) {
  const size_t embedding = plan_embedding(made, SLOTS * rank, SLOTS);
  const size_t inputs[] = {plan_cross(made, FW_LAYER_FIELD_AWARE, embedding), add_deep(made, embedding)};
  made->layers[inputs[0]].factors = rank;
  made->layers[inputs[0]].width = 1;
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

/* ---- Tests ---- */

static const made_rules plain_rules = {.rows = 10, .most = 7, .range = 12, .values = true, .seed = 3};

static void check_on(const made_plan *made, made_rules rules) {
  fw_minibatch batch;
  batch_make(&batch, &rules);
  check_gradients(made, &batch);
  batch_free(&batch);
}

/* With and without values, weights of rows, and features that stand in a row twice. */
static void check_all(const made_plan *made, made_rules rules) {
  for (unsigned kind = 0; kind < 8; kind++) {
    rules.values = kind & 1;
    rules.weights = kind & 2;
    rules.repeats = kind & 4;
    rules.seed = 10 + kind;
    check_on(made, rules);
  }
}

static const int32_t double_types[] = {T_DOUBLE_DENSE, T_DOUBLE_SPARSE};

static void test_linear(void **state) {
  (void)state;
  const fw_loss_type losses[] = {FW_LOSS_LOG, FW_LOSS_HINGE, FW_LOSS_L2, FW_LOSS_HUBER, FW_LOSS_POISSON};
  for (size_t i = 0; i < 5; i++)
    for (size_t type = 0; type < 2; type++) {
      made_plan made;
      made_rules rules = plain_rules;
      plan_start(&made, double_types[type], (int64_t)rules.range);
      graph_linear(&made, losses[i]);
      rules.classes = losses[i] == FW_LOSS_POISSON ? 4 : i >= 2;
      check_all(&made, rules);
    }
}

static void test_softmax(void **state) {
  (void)state;
  const size_t classes[] = {2, 8, 33, 70};
  for (size_t i = 0; i < 4; i++) {
    made_plan made;
    made_rules rules = plain_rules;
    rules.classes = classes[i];
    plan_start(&made, T_DOUBLE_DENSE, (int64_t)rules.range);
    graph_softmax(&made, classes[i]);
    check_all(&made, rules);
  }
}

static void test_mlr(void **state) {
  (void)state;
  made_plan made;
  plan_start(&made, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
  graph_mlr(&made);
  check_all(&made, plain_rules);
}

/* Widths of one block, with and without a loop of constant length, and of several blocks. */
static void test_fm(void **state) {
  (void)state;
  const size_t factors[] = {1, 3, 8, 16, 32, 37, 64};
  for (size_t i = 0; i < 7; i++) {
    made_plan made;
    plan_start(&made, double_types[i % 2], (int64_t)plain_rules.range);
    graph_fm(&made, factors[i], 0);
    check_all(&made, plain_rules);
  }
}

enum { ALL_SLOTS, BY_FIELD, EMPTY_SLOTS, SLOT_KINDS };

static made_rules slot_rules(unsigned kind) {
  made_rules rules = plain_rules;
  rules.slots = SLOTS;
  rules.by_field = kind == BY_FIELD;
  rules.empty_slots = kind == EMPTY_SLOTS;
  return rules;
}

static void test_fixed_slots(void **state) {
  (void)state;
  for (unsigned kind = 0; kind < SLOT_KINDS; kind++) {
    const size_t factors[] = {3, 8, 16, 33};
    for (size_t i = 0; i < 4; i++) {
      made_plan fm, pnn, nfm;
      plan_start(&fm, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
      plan_start(&pnn, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
      plan_start(&nfm, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
      graph_fm(&fm, factors[i], SLOTS);
      graph_pnn(&pnn, factors[i], SLOTS);
      graph_nfm(&nfm, factors[i], SLOTS);
      check_all(&fm, slot_rules(kind));
      check_all(&pnn, slot_rules(kind));
      check_all(&nfm, slot_rules(kind));
    }
  }
}

static void test_deep(void **state) {
  (void)state;
  for (unsigned kind = 0; kind < SLOT_KINDS; kind++) {
    made_plan wide, deepfm;
    plan_start(&wide, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
    plan_start(&deepfm, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
    graph_wide_and_deep(&wide, SLOTS);
    graph_deepfm(&deepfm, SLOTS);
    check_all(&wide, slot_rules(kind));
    check_all(&deepfm, slot_rules(kind));
  }
}

static void test_deep_classes(void **state) {
  (void)state;
  const size_t classes[] = {2, 5, 17};
  for (size_t i = 0; i < 3; i++)
    for (unsigned kind = 0; kind < SLOT_KINDS; kind++) {
      made_plan made;
      made_rules rules = slot_rules(kind);
      rules.classes = classes[i];
      plan_start(&made, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
      graph_deepfm_of_classes(&made, classes[i], SLOTS);
      check_all(&made, rules);
    }
}

/* Records that fit into one piece of sums, and longer ones. */
static void test_field_aware(void **state) {
  (void)state;
  const size_t ranks[] = {1, 3, 8, 300};
  for (size_t i = 0; i < 4; i++) {
    made_plan ffm, deep;
    made_rules rules = slot_rules(BY_FIELD);
    if (ranks[i] > 8) rules.range = rules.most = 3, rules.rows = 4;
    plan_start(&ffm, double_types[i % 2], (int64_t)rules.range);
    plan_start(&deep, T_DOUBLE_DENSE, (int64_t)rules.range);
    graph_ffm(&ffm, ranks[i]);
    graph_deep_ffm(&deep, ranks[i]);
    if (ranks[i] > 8) {
      check_on(&ffm, rules);
      continue;
    }
    check_all(&ffm, rules);
    check_all(&deep, rules);
  }
  made_plan floats;
  plan_start(&floats, T_FLOAT_SPARSE, -1);
  graph_ffm(&floats, 4);
  check_all(&floats, slot_rules(BY_FIELD));
}

/* Regression: labels are any numbers. */
static void test_losses(void **state) {
  (void)state;
  const fw_loss_type losses[] = {FW_LOSS_L2, FW_LOSS_HUBER};
  for (size_t i = 0; i < 2; i++) {
    made_plan fm, deepfm;
    made_rules rules = plain_rules, slots = slot_rules(EMPTY_SLOTS);
    rules.classes = slots.classes = 1;
    plan_start(&fm, T_DOUBLE_DENSE, (int64_t)rules.range);
    plan_start(&deepfm, T_DOUBLE_DENSE, (int64_t)rules.range);
    graph_fm(&fm, 5, 0);
    graph_deepfm(&deepfm, SLOTS);
    set_loss(&fm, losses[i]);
    set_loss(&deepfm, losses[i]);
    check_all(&fm, rules);
    check_all(&deepfm, slots);
  }
}

static void test_taken_often(void **state) {
  (void)state;
  made_plan made;
  plan_start(&made, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
  graph_taken_often(&made, SLOTS);
  check_all(&made, slot_rules(ALL_SLOTS));
}

static void test_free_slots(void **state) {
  (void)state;
  made_plan dnn, nfm, crosses;
  plan_start(&dnn, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
  plan_start(&nfm, T_DOUBLE_SPARSE, -1);
  plan_start(&crosses, T_DOUBLE_DENSE, (int64_t)plain_rules.range);
  graph_dnn(&dnn);
  graph_nfm(&nfm, FACTORS, 0);
  graph_two_crosses(&crosses);
  made_rules numbers = plain_rules;
  numbers.classes = 1;
  check_all(&dnn, plain_rules);
  check_all(&nfm, plain_rules);
  check_all(&crosses, numbers);
}

static void test_dense_data(void **state) {
  (void)state;
  const int32_t types[] = {T_DOUBLE_DENSE, T_FLOAT_DENSE};
  for (size_t i = 0; i < 2; i++) {
    made_plan made;
    fw_minibatch batch;
    plan_start(&made, types[i], (int64_t)plain_rules.range);
    made.plan.data.format = "dense";
    graph_dnn(&made);
    batch_make_dense(&batch, &plain_rules);
    check_gradients(&made, &batch);
    batch_free(&batch);
  }
}

static void test_floats(void **state) {
  (void)state;
  made_plan fm, deepfm;
  plan_start(&fm, T_FLOAT_DENSE, (int64_t)plain_rules.range);
  plan_start(&deepfm, T_FLOAT_SPARSE, -1);
  graph_fm(&fm, 8, 0);
  graph_deepfm(&deepfm, SLOTS);
  check_all(&fm, plain_rules);
  check_all(&deepfm, slot_rules(BY_FIELD));
  check_all(&deepfm, slot_rules(EMPTY_SLOTS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear),       cmocka_unit_test(test_softmax),     cmocka_unit_test(test_mlr),
      cmocka_unit_test(test_fm),           cmocka_unit_test(test_fixed_slots), cmocka_unit_test(test_deep),
      cmocka_unit_test(test_deep_classes), cmocka_unit_test(test_losses),      cmocka_unit_test(test_field_aware),
      cmocka_unit_test(test_taken_often),  cmocka_unit_test(test_free_slots),  cmocka_unit_test(test_dense_data),
      cmocka_unit_test(test_floats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
