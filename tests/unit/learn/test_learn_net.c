/* tests/unit/learn/test_learn_net.c: nets as a whole: any split of the work and either store of features give the same
 * numbers; first weights; parameters; features that a model does not have; memory that runs out. */
#include "support/failing_alloc.h"
#include "support/made_net.h"

static const made_rules some_rules = {
    .rows = 1200, .most = 9, .range = 900, .values = true, .weights = true, .seed = 3};

/* FM and an fc layer of the cross, so that everything is there: records, dense arrays, biases. */
static void plan_nfm(made_plan *made, int32_t row_type, int64_t range) {
  plan_start(made, row_type, range);
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, 8, 0);
  const size_t cross = plan_cross(made, FW_LAYER_BI_INTERACTION, embedding);
  const size_t fc = plan_fc(made, "fc_0", cross, 40, FW_ACTIVATION_RELU);
  const size_t inputs[] = {input, plan_fc(made, "fc", fc, 1, FW_ACTIVATION_IDENTITY)};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
  plan_optimizer(made, &(fw_optimizer){.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99});
}

/* Every number of the features of a batch, and of the dense arrays, with the optimizer's. */
static size_t all_numbers(const fw_net *net, const fw_minibatch *batch, float *numbers, size_t capacity) {
  size_t n = 0;
  for (size_t i = 0; i < net->parameters->count; i++) {
    const fw_parameter *p = &net->parameters->list[i];
    for (size_t array = 0; array <= p->state; array++) {
      const size_t pieces = p->by_feature ? batch->features : 1, size = p->by_feature ? p->rows : (size_t)p->cols;
      for (size_t k = 0; k < pieces; k++, n += size) {
        assert_true(n + size <= capacity);
        const void *from = p->by_feature ? fw_parameters_feature(net->parameters, i, batch->key[k], array)
                                         : fw_parameters_dense(net->parameters, i, array);
        memcpy(numbers + n, from, size * sizeof(float));
      }
    }
  }
  return n;
}

/* ---- The work can be split ---- */

/* Two updates, rows in pieces of `piece`, tasks of the update forward or backward. */
static size_t train_split(const made_plan *made, const fw_minibatch *batch, size_t piece, bool backward, float *numbers,
                          size_t capacity) {
  fw_net *net = net_make(made, 11);
  fw_pass *pass = pass_make(net);
  for (uint64_t t = 1; t <= 2; t++) {
    const fw_step step = {.number = t, .rate = 0.1, .scale = 1};
    assert_int_equal(net->ops->begin(net, pass, batch, true, NULL), FURROW_OK);
    net_rows(net, pass, batch, &step, piece);
    const size_t tasks = net->ops->update_tasks(net, pass);
    assert_true(tasks > 6); /* two of features, three of biases, two of fc weights */
    for (size_t i = 0; i < tasks; i++) net->ops->update(net, pass, &step, backward ? tasks - 1 - i : i);
  }
  const size_t n = all_numbers(net, batch, numbers, capacity);
  fw_pass_free(pass);
  net_free(net);
  return n;
}

static void test_split(void **state) {
  (void)state;
  enum { CAPACITY = 100000 };
  static float whole[CAPACITY], split[CAPACITY];
  made_plan made;
  fw_minibatch batch;
  plan_nfm(&made, T_FLOAT_DENSE, 900);
  batch_make(&batch, &some_rules);
  const size_t n = train_split(&made, &batch, 1200, false, whole, CAPACITY);
  const size_t pieces[] = {1, 7, 64, 1199};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(train_split(&made, &batch, pieces[i], true, split, CAPACITY), n);
    assert_memory_equal(whole, split, n * sizeof *whole);
  }
  batch_free(&batch);
}

static void test_stores_have_equal_weights(void **state) {
  (void)state;
  enum { CAPACITY = 100000 };
  static float array[CAPACITY], table[CAPACITY], open[CAPACITY];
  made_plan made;
  fw_minibatch batch;
  batch_make(&batch, &some_rules);
  plan_nfm(&made, T_FLOAT_DENSE, 900);
  const size_t n = train_split(&made, &batch, 50, false, array, CAPACITY);
  plan_nfm(&made, T_FLOAT_SPARSE, 900);
  assert_int_equal(train_split(&made, &batch, 50, false, table, CAPACITY), n);
  assert_memory_equal(array, table, n * sizeof *array);
  plan_nfm(&made, T_FLOAT_DENSE, -1);
  assert_int_equal(train_split(&made, &batch, 50, false, open, CAPACITY), n);
  assert_memory_equal(array, open, n * sizeof *array);
  batch_free(&batch);
}

/* ---- Packed weights ---- */

/* A concatenation that an fc layer reads through, and one wide enough for tasks that are parts of rows. */
static void plan_pnn(made_plan *made) {
  plan_start(made, T_FLOAT_DENSE, 900);
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, 8, 9);
  const size_t both[] = {embedding, plan_cross(made, FW_LAYER_BI_INNER, embedding)};
  const size_t wide = plan_fc(made, "fc_0", plan_join(made, FW_LAYER_CONCAT, 2, both), 333, FW_ACTIVATION_TANH);
  const size_t fc = plan_fc(made, "fc_1", wide, 20, FW_ACTIVATION_RELU);
  const size_t inputs[] = {input, plan_fc(made, "fc", fc, 1, FW_ACTIVATION_IDENTITY)};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
  plan_optimizer(made, &(fw_optimizer){.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99});
}

/* Three updates. touched: weights are asked for after a batch has begun, so that rows cannot use what is packed. */
static size_t train_packed(const made_plan *made, const fw_minibatch *batch, bool touched, size_t piece, float *numbers,
                           size_t capacity) {
  fw_net *net = net_make(made, 11);
  fw_pass *pass = pass_make(net);
  for (uint64_t t = 1; t <= 3; t++) {
    const fw_step step = {.number = t, .rate = 0.1, .scale = 1};
    assert_int_equal(net->ops->begin(net, pass, batch, true, NULL), FURROW_OK);
    for (size_t i = 0; touched && i < net->parameters->count; i++)
      if (!net->parameters->list[i].by_feature) assert_non_null(fw_parameters_dense(net->parameters, i, 0));
    net_rows(net, pass, batch, &step, piece);
    for (size_t task = net->ops->update_tasks(net, pass); task-- > 0;) net->ops->update(net, pass, &step, task);
  }
  const size_t n = all_numbers(net, batch, numbers, capacity);
  fw_pass_free(pass);
  net_free(net);
  return n;
}

static void test_packed_weights(void **state) {
  (void)state;
  enum { CAPACITY = 200000 };
  static float packed[CAPACITY], plain[CAPACITY];
  const made_rules rules = {.rows = 300, .most = 9, .slots = 9, .range = 900, .values = true, .seed = 3};
  made_plan made;
  fw_minibatch batch;
  plan_pnn(&made);
  batch_make(&batch, &rules);
  const size_t n = train_packed(&made, &batch, false, 32, packed, CAPACITY);
  const size_t pieces[] = {3, 32, 300};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(train_packed(&made, &batch, true, pieces[i], plain, CAPACITY), n);
    assert_memory_equal(packed, plain, n * sizeof *packed);
    assert_int_equal(train_packed(&made, &batch, false, pieces[i], plain, CAPACITY), n);
    assert_memory_equal(packed, plain, n * sizeof *packed);
  }
  batch_free(&batch);
}

/* Weights that are written between batches count. */
static void test_written_weights(void **state) {
  (void)state;
  const made_rules rules = {.rows = 64, .most = 9, .slots = 9, .range = 900, .seed = 3};
  made_plan made;
  fw_minibatch batch;
  plan_pnn(&made);
  batch_make(&batch, &rules);
  fw_net *net = net_make(&made, 11);
  fw_pass *pass = pass_make(net);
  double loss = 0;
  net_step(net, pass, &batch, &(fw_step){.number = 1, .rate = 0.1, .scale = 1});
  for (size_t i = 0; i < net->parameters->count; i++) {
    const fw_parameter *p = &net->parameters->list[i];
    if (!p->by_feature) memset(fw_parameters_dense(net->parameters, i, 0), 0, (size_t)p->cols * sizeof(float));
    for (size_t k = 0; p->by_feature && k < batch.features; k++)
      memset(fw_parameters_feature(net->parameters, i, batch.key[k], 0), 0, p->rows * sizeof(float));
  }
  loss = net_step(net, pass, &batch, &(fw_step){.number = 2, .rate = 0.1, .scale = 1});
  assert_true(fabs(loss - log(2)) < 1e-6);
  fw_pass_free(pass);
  net_free(net);
  batch_free(&batch);
}

/* ---- Gradients summed by row ---- */

static void plan_linear(made_plan *made) {
  plan_start(made, T_FLOAT_DENSE, 900);
  plan_loss(made, plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_LOG);
  plan_optimizer(made, &(fw_optimizer){.type = FW_OPTIMIZER_ADAGRAD, .lr = NAN, .a = 0.9});
}

/* Three updates; returns how many numbers they left. */
static size_t train_linear(const made_plan *made, const fw_minibatch *batch, size_t sums, float *numbers,
                           size_t capacity) {
  fw_net *net = net_make(made, 11);
  fw_pass *pass = pass_make(net);
  assert_true(net->ops->sums_by_row(net));
  for (uint64_t t = 1; t <= 3; t++) {
    const fw_step step = {.number = t, .rate = 0.1, .scale = 1};
    net_step(net, pass, batch, &step);
    assert_int_equal(net->ops->sum_tasks(pass), sums);
  }
  const size_t n = all_numbers(net, batch, numbers, capacity);
  fw_pass_free(pass);
  net_free(net);
  return n;
}

/* Without a list of uses by feature a linear model comes out the same; where rows are more than one task's, to the
 * order of the sums. */
static void test_sums_by_row(void **state) {
  (void)state;
  enum { CAPACITY = 5000 };
  static float listed[CAPACITY], unlisted[CAPACITY];
  const size_t rows[] = {1, 512, 513, 1200}, sums[] = {1, 1, 2, 3};
  made_plan made;
  plan_linear(&made);
  for (size_t i = 0; i < 8; i++) {
    fw_minibatch batch;
    made_rules rules = some_rules;
    rules.rows = rows[i / 2];
    rules.values = i % 2;
    rules.repeats = true;
    batch_make(&batch, &rules);
    fw_minibatch plain = batch;
    plain.use_offset = plain.use = plain.use_row = plain.use_place = NULL;
    const size_t n = train_linear(&made, &batch, 0, listed, CAPACITY);
    assert_int_equal(train_linear(&made, &plain, sums[i / 2], unlisted, CAPACITY), n);
    const float most = sums[i / 2] > 1 ? 1e-5F : 0;
    for (size_t k = 0; k < n; k++) assert_true(fabsf(listed[k] - unlisted[k]) <= most);
    batch_free(&batch);
  }
}

/* Embeddings have more than a number for each feature. */
static void test_not_summed_by_row(void **state) {
  (void)state;
  made_plan made;
  plan_nfm(&made, T_FLOAT_DENSE, 900);
  fw_net *net = net_make(&made, 11);
  assert_false(net->ops->sums_by_row(net));
  net_free(net);
}

/* ---- First weights ---- */

static void test_first_weights(void **state) {
  (void)state;
  made_plan made;
  plan_nfm(&made, T_FLOAT_DENSE, 5000);
  made.plan.train.init_input = 0;
  made.plan.train.init_embedding = 0.01;
  fw_net *net = net_make(&made, 1), *same = net_make(&made, 1), *other = net_make(&made, 2);
  double sum = 0, squares = 0, differ = 0;
  for (uint64_t key = 0; key < 5000; key++) {
    assert_true(*(const float *)fw_parameters_feature(net->parameters, 0, key, 0) == 0);
    const float *v = fw_parameters_feature(net->parameters, 2, key, 0);
    assert_memory_equal(v, fw_parameters_feature(same->parameters, 2, key, 0), 8 * sizeof *v);
    differ += memcmp(v, fw_parameters_feature(other->parameters, 2, key, 0), 8 * sizeof *v) != 0;
    for (size_t j = 0; j < 8; j++) {
      sum += (double)v[j] / 40000;
      squares += (double)v[j] * (double)v[j] / 40000;
      assert_true(((const float *)fw_parameters_feature(net->parameters, 2, key, 1))[j] == 0);
    }
  }
  assert_true(fabs(sum) < 3e-4 && fabs(sqrt(squares) - 0.01) < 2e-4 && differ == 5000);
  const float *fc = fw_parameters_dense(net->parameters, 3, 0);
  const double limit = sqrt(6.0 / (8 + 40));
  double largest = 0;
  for (size_t i = 0; i < 320; i++) largest = fmax(largest, fabs((double)fc[i]));
  assert_true(largest <= limit && largest > limit * 0.9);
  net_free(net);
  net_free(same);
  net_free(other);
}

/* A hidden input layer must not start with zeros, or it would stay there. */
static void test_hidden_input_starts(void **state) {
  (void)state;
  const fw_activation activations[] = {FW_ACTIVATION_RELU, FW_ACTIVATION_IDENTITY};
  for (size_t i = 0; i < 2; i++) {
    made_plan made;
    plan_start(&made, T_FLOAT_DENSE, 50);
    made.plan.train.init_input = 0;
    const size_t input = plan_input(&made, "input", 20, activations[i]);
    plan_loss(&made, plan_fc(&made, "fc", input, 1, FW_ACTIVATION_IDENTITY), FW_LOSS_LOG);
    fw_net *net = net_make(&made, 1);
    double largest = 0;
    for (uint64_t key = 0; key < 50; key++)
      for (size_t j = 0; j < 20; j++)
        largest = fmax(largest, fabs((double)((const float *)fw_parameters_feature(net->parameters, 0, key, 0))[j]));
    assert_true(i == 0 ? largest > 0.2 && largest <= sqrt(6.0 / 70) : largest == 0);
    net_free(net);
  }
}

/* ---- Parameters ---- */

static void check_parameter(const fw_net *net, size_t i, const char *name, bool by_feature, size_t rows, uint64_t cols,
                            size_t states) {
  const fw_parameter *p = &net->parameters->list[i];
  assert_string_equal(p->name, name);
  assert_int_equal(p->by_feature, by_feature);
  assert_int_equal(p->rows, rows);
  assert_int_equal(p->cols, cols);
  assert_int_equal(p->state, states);
  assert_int_equal(p->bias, strstr(name, "_bias") != NULL);
}

static void test_parameters(void **state) {
  (void)state;
  made_plan made;
  plan_nfm(&made, T_FLOAT_DENSE, 900);
  fw_net *net = net_make(&made, 1);
  assert_int_equal(net->parameters->count, 7);
  check_parameter(net, 0, "input_weight", true, 1, 900, 2);
  check_parameter(net, 1, "input_bias", false, 1, 1, 0);
  check_parameter(net, 2, "embedding_embedding", true, 8, 900, 2);
  check_parameter(net, 3, "fc_0_weight", false, 1, 320, 2);
  check_parameter(net, 4, "fc_0_bias", false, 1, 40, 0);
  check_parameter(net, 5, "fc_weight", false, 1, 40, 2);
  check_parameter(net, 6, "fc_bias", false, 1, 1, 0);
  assert_true(fw_parameters_memory(net->parameters) >= (900 * 27 + 3 * 360 + 42) * sizeof(float));
  uint64_t *keys = NULL;
  size_t count = 0;
  assert_int_equal(fw_parameters_keys(net->parameters, &keys, &count, NULL), FURROW_OK);
  assert_true(keys == NULL && count == 900 && !fw_parameters_are_open(net->parameters));
  assert_null(fw_parameters_feature(net->parameters, 0, 900, 0));
  furrow_error err = {0};
  assert_int_equal(fw_parameters_make(net->parameters, 900, &err), FURROW_E_RANGE);
  net_free(net);
}

static void test_dense_data_parameters(void **state) {
  (void)state;
  made_plan made;
  plan_start(&made, T_FLOAT_DENSE, 12);
  made.plan.data.format = "dense";
  plan_loss(&made, plan_input(&made, "input", 3, FW_ACTIVATION_IDENTITY), FW_LOSS_SOFTMAX);
  fw_net *net = net_make(&made, 1);
  check_parameter(net, 0, "input_weight", false, 1, 36, 0);
  assert_non_null(fw_parameters_dense(net->parameters, 0, 0));
  net_free(net);
  plan_start(&made, T_FLOAT_DENSE, 12);
  made.plan.data.format = "dense";
  plan_loss(&made, plan_cross(&made, FW_LAYER_BI_INNER_SUM, plan_embedding(&made, 4, 0)), FW_LOSS_LOG);
  furrow_error err = {0};
  const fw_parameters_params params = {.training = true};
  assert_int_equal(net_create(&net, &made.plan, &params, &err), FURROW_E_ARGUMENT);
}

/* ---- Features that come, and features that are missing ---- */

static void test_many_features(void **state) {
  (void)state;
  enum { MANY = 50000 };
  made_plan made;
  plan_nfm(&made, T_FLOAT_SPARSE, -1);
  fw_net *net = net_make(&made, 1);
  assert_true(fw_parameters_are_open(net->parameters));
  const void *early = NULL;
  for (uint64_t i = 0; i < MANY; i++) {
    const uint64_t key = fw_rng_hash(9, i);
    assert_int_equal(fw_parameters_make(net->parameters, key, NULL), FURROW_OK);
    assert_int_equal(fw_parameters_make(net->parameters, key, NULL), FURROW_OK);
    if (i == 0) early = fw_parameters_feature(net->parameters, 2, key, 0);
  }
  assert_ptr_equal(early, fw_parameters_feature(net->parameters, 2, fw_rng_hash(9, 0), 0));
  assert_null(fw_parameters_feature(net->parameters, 0, 12345, 0));
  uint64_t *keys = NULL;
  size_t count = 0;
  assert_int_equal(fw_parameters_keys(net->parameters, &keys, &count, NULL), FURROW_OK);
  assert_int_equal(count, MANY);
  for (size_t i = 1; i < count; i++) assert_true(keys[i - 1] < keys[i]);
  for (uint64_t i = 0; i < MANY; i += 1000) assert_non_null(fw_parameters_feature(net->parameters, 0, keys[i], 0));
  free(keys);
  net_free(net);
}

static void test_most_features(void **state) {
  (void)state;
  made_plan made;
  plan_nfm(&made, T_FLOAT_DENSE, -1);
  fw_net *net = NULL;
  furrow_error err = {0};
  const fw_parameters_params params = {.training = true, .max_features = 3};
  assert_int_equal(net_create(&net, &made.plan, &params, &err), FURROW_OK);
  for (uint64_t key = 0; key < 3; key++)
    assert_int_equal(fw_parameters_make(net->parameters, key * 7, &err), FURROW_OK);
  assert_int_equal(fw_parameters_make(net->parameters, 7, &err), FURROW_OK);
  assert_int_equal(fw_parameters_make(net->parameters, 8, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "3"));
  net_free(net);
}

/* Scoring: features without a record count as 0, and get none. A net that does not train starts with zeros. */
static void test_missing_features(void **state) {
  (void)state;
  made_plan made;
  fw_minibatch batch, empty;
  made_rules rules = some_rules;
  rules.most = 0;
  plan_nfm(&made, T_FLOAT_SPARSE, -1);
  batch_make(&batch, &some_rules);
  batch_make(&empty, &rules);
  fw_net *net = net_make(&made, 1);
  fw_pass *pass = pass_make(net);
  double missing = 0, nothing = 0;
  assert_int_equal(net->ops->begin(net, pass, &batch, false, NULL), FURROW_OK);
  net->ops->forward(net, pass, 0, batch.rows);
  net->ops->outputs(net, pass, batch.rows - 1, &missing);
  assert_int_equal(net->ops->begin(net, pass, &empty, false, NULL), FURROW_OK);
  net->ops->forward(net, pass, 0, empty.rows);
  net->ops->outputs(net, pass, empty.rows - 1, &nothing);
  assert_true(missing == nothing);
  uint64_t *keys = NULL;
  size_t count = 1;
  assert_int_equal(fw_parameters_keys(net->parameters, &keys, &count, NULL), FURROW_OK);
  assert_int_equal(count, 0);
  free(keys);
  fw_pass_free(pass);
  net_free(net);
  const fw_parameters_params params = {.training = false, .seed = 1};
  assert_int_equal(net_create(&net, &made.plan, &params, NULL), FURROW_OK);
  assert_int_equal(fw_parameters_make(net->parameters, 5, NULL), FURROW_OK);
  for (size_t j = 0; j < 8; j++) assert_true(((const float *)fw_parameters_feature(net->parameters, 2, 5, 0))[j] == 0);
  assert_int_equal(net->parameters->list[2].state, 0);
  net_free(net);
  batch_free(&batch);
  batch_free(&empty);
}

/* A pass serves batches of any size, one after the other, and the loss falls. */
static void test_loss_falls(void **state) {
  (void)state;
  made_plan made;
  plan_nfm(&made, T_FLOAT_DENSE, 900);
  fw_net *net = net_make(&made, 1);
  fw_pass *pass = pass_make(net);
  double first = 0, last = 0;
  for (uint64_t t = 1; t <= 60; t++) {
    fw_minibatch batch;
    made_rules rules = some_rules;
    rules.rows = t % 2 ? 300 : 20;
    batch_make(&batch, &rules);
    const fw_step step = {.number = t, .rate = 0.02, .scale = 1};
    last = net_step(net, pass, &batch, &step);
    if (t == 1) first = last;
    batch_free(&batch);
  }
  assert_true(first > 0.5 && last < first / 2);
  fw_pass_free(pass);
  net_free(net);
}

/* ---- Memory that runs out ---- */

/* Everything that allocates; false: memory ran out. */
static bool run_all(const made_plan *made, const fw_minibatch *batch) {
  fw_net *net = NULL;
  fw_pass *pass = NULL;
  uint64_t *keys = NULL;
  size_t count = 0;
  furrow_error err = {0};
  const fw_parameters_params params = {.training = true, .seed = 1};
  furrow_status status = net_create(&net, &made->plan, &params, &err);
  if (status == FURROW_OK) status = net->ops->create_pass(&pass, net, &err);
  if (status == FURROW_OK) status = net->ops->begin(net, pass, batch, true, &err);
  if (status == FURROW_OK) status = fw_parameters_keys(net->parameters, &keys, &count, &err);
  assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
  free(keys);
  fw_pass_free(pass);
  net_free(net);
  return status == FURROW_OK;
}

static void test_memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  made_plan made;
  fw_minibatch batch;
  batch_make(&batch, &some_rules);
  const int32_t types[] = {T_FLOAT_DENSE, T_DOUBLE_SPARSE};
  for (size_t i = 0; i < 2; i++) {
    plan_nfm(&made, types[i], 900);
    assert_true(run_all(&made, &batch));
    const long live = atomic_load(&alloc_live);
    long n = 1;
    for (;; n++) {
      alloc_fail_at(n);
      const bool good = run_all(&made, &batch);
      const bool failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      assert_int_equal(atomic_load(&alloc_live), live);
      assert_true(good || failed);
      if (!failed) break; /* sorting does without memory that it cannot get */
    }
    assert_true(n > 6);
  }
  batch_free(&batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_packed_weights),
      cmocka_unit_test(test_written_weights),
      cmocka_unit_test(test_stores_have_equal_weights),
      cmocka_unit_test(test_sums_by_row),
      cmocka_unit_test(test_not_summed_by_row),
      cmocka_unit_test(test_first_weights),
      cmocka_unit_test(test_hidden_input_starts),
      cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_dense_data_parameters),
      cmocka_unit_test(test_many_features),
      cmocka_unit_test(test_most_features),
      cmocka_unit_test(test_missing_features),
      cmocka_unit_test(test_loss_falls),
      cmocka_unit_test(test_memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
