/* tests/unit/learn/test_learn_ffm.c: a field-aware factorization machine against its formula, pair by pair, and what
 * its steps leave alone. Gradients are in test_learn_net_gradients.c. */
#include "support/made_net.h"

enum { FIELDS = 4, RANGE = 12 };

static void graph_ffm(made_plan *made, int32_t row_type, size_t rank) {
  plan_start(made, row_type, RANGE);
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY);
  const size_t embedding = plan_embedding(made, FIELDS * rank, FIELDS);
  const size_t inputs[] = {input, plan_cross(made, FW_LAYER_FIELD_AWARE, embedding)};
  made->layers[inputs[1]].factors = rank;
  made->layers[inputs[1]].width = 1;
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), FW_LOSS_LOG);
}

static double number_of(const fw_net *net, size_t parameter, uint64_t key, size_t i) {
  const void *numbers = key == UINT64_MAX ? fw_parameters_dense(net->parameters, parameter, 0)
                                          : fw_parameters_feature(net->parameters, parameter, key, 0);
  return net->parameters->element == 8 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static double value_of(const fw_minibatch *batch, uint32_t use) {
  return batch->value ? (double)batch->value[use] : 1;
}

/* b + sum of w_i x_i + sum over i < j of <v_{i,f_j}, v_{j,f_i}> x_i x_j; parameters: weights, biases, vectors. */
static double formula(const fw_net *net, const fw_minibatch *batch, size_t row, size_t rank) {
  double z = number_of(net, 1, UINT64_MAX, 0);
  for (uint32_t i = batch->offset[row]; i < batch->offset[row + 1]; i++) {
    const uint64_t first = batch->key[batch->feature[i]];
    z += value_of(batch, i) * number_of(net, 0, first, 0);
    for (uint32_t j = i + 1; j < batch->offset[row + 1]; j++) {
      const uint64_t second = batch->key[batch->feature[j]];
      const size_t first_field = batch->place[i] % FIELDS, second_field = batch->place[j] % FIELDS;
      for (size_t t = 0; t < rank; t++)
        z += value_of(batch, i) * value_of(batch, j) * number_of(net, 2, first, second_field * rank + t) *
             number_of(net, 2, second, first_field * rank + t);
    }
  }
  return z;
}

/* Rows of any length, with several features of a field, features that stand in a row twice, in any field. */
static void test_formula(void **state) {
  (void)state;
  const size_t ranks[] = {1, 3, 4, 8, 300};
  const int32_t types[] = {T_DOUBLE_DENSE, T_DOUBLE_SPARSE, T_FLOAT_DENSE, T_FLOAT_SPARSE};
  for (size_t i = 0; i < 5 * 4 * 2; i++) {
    const size_t rank = ranks[i / 8];
    made_plan made;
    fw_minibatch batch;
    const made_rules rules = {.rows = 20,
                              .most = 9,
                              .range = RANGE,
                              .slots = FIELDS,
                              .by_field = true,
                              .values = i & 1,
                              .repeats = i & 1,
                              .seed = 40 + i};
    graph_ffm(&made, types[i / 2 % 4], rank);
    batch_make(&batch, &rules);
    fw_net *net = net_make(&made, 3);
    fw_pass *pass = pass_make(net);
    const double most = net->parameters->element == 8 ? 1e-11 : 1e-4;
    assert_int_equal(net->ops->begin(net, pass, &batch, true, NULL), FURROW_OK);
    net->ops->forward(net, pass, 0, 7);
    net->ops->forward(net, pass, 7, batch.rows);
    for (size_t row = 0; row < batch.rows; row++) {
      double found = 0;
      const double z = formula(net, &batch, row, rank);
      net->ops->outputs(net, pass, row, &found);
      if (fabs(found - z) > most * (1 + fabs(z))) fail_msg("row %zu, rank %zu: %.12g, not %.12g", row, rank, found, z);
    }
    batch_free(&batch);
    fw_pass_free(pass);
    net_free(net);
  }
}

/* With one feature of each field a vector never meets its own field: it stays to the bit, also with an optimizer that
 * would make a whole step of a rounding error. */
static void test_own_field_stays(void **state) {
  (void)state;
  enum { RANK = 3 };
  const fw_optimizer adam = {.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99};
  made_plan made;
  graph_ffm(&made, T_FLOAT_DENSE, RANK);
  plan_optimizer(&made, &adam);
  fw_net *net = net_make(&made, 3), *first = net_make(&made, 3);
  fw_pass *pass = pass_make(net);
  for (uint64_t t = 1; t < 20; t++) {
    fw_minibatch batch;
    const made_rules rules = {.rows = 8, .range = RANGE, .slots = FIELDS, .values = true, .seed = t};
    batch_make(&batch, &rules);
    uint64_t keys[8 * FIELDS];
    for (size_t use = 0; use < batch.uses; use++) keys[use] = 3 * (use % FIELDS) + (t + use) % 3; /* 3 of each field */
    fw_minibatch again = {.rows = batch.rows, .uses = batch.uses, .label = batch.label, .offset = batch.offset};
    again.value = batch.value;
    batch.label = NULL, batch.offset = NULL, batch.value = NULL;
    batch_free(&batch);
    batch_number(&again, keys);
    net_step(net, pass, &again, &(fw_step){.number = t, .rate = 0.1, .scale = 1});
    batch_free(&again);
  }
  for (uint64_t key = 0; key < RANGE; key++)
    for (size_t i = 0; i < FIELDS * RANK; i++) {
      const bool own = i / RANK == key / 3;
      assert_true(own == (number_of(net, 2, key, i) == number_of(first, 2, key, i)));
    }
  fw_pass_free(pass);
  net_free(first);
  net_free(net);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formula),
      cmocka_unit_test(test_own_field_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
