/* tests/unit/learn/test_fold.c: a net with a scaling folded into it gives on x what it gave on z, for the graph of
 * every algorithm and some others; the inverse gives the first parameters back; what cannot be folded is refused. */
#include "learn/parameters/parameters.h"
#include "support/failing_alloc.h"
#include "support/made_net.h"

/* ---- Graphs ---- */

enum { SLOTS = 4, FACTORS = 3, RANGE = 60, ROWS = 50 };

typedef void (*graph_maker)(made_plan *made, fw_loss_type loss);

static void make_linear(made_plan *made, fw_loss_type loss) {
  plan_loss(made, plan_input(made, "input", loss == FW_LOSS_SOFTMAX ? 3 : 1, FW_ACTIVATION_IDENTITY), loss);
}

static void make_mlr(made_plan *made, fw_loss_type loss) {
  const size_t inputs[] = {plan_input(made, "sigmoid", 4, FW_ACTIVATION_SIGMOID),
                           plan_input(made, "softmax", 4, FW_ACTIVATION_SOFTMAX)};
  plan_loss(made, plan_join(made, FW_LAYER_DOT_POOLING, 2, inputs), loss);
}

static size_t make_stack(made_plan *made, size_t input) {
  return plan_fc(made, "fc", plan_fc(made, "fc_0", input, 6, FW_ACTIVATION_TANH), 1, FW_ACTIVATION_IDENTITY);
}

static void make_dnn(made_plan *made, fw_loss_type loss) {
  plan_loss(made, make_stack(made, plan_input(made, "input", 5, FW_ACTIVATION_SIGMOID)), loss);
}

/* A linear input layer, summed with one or two more. */
static void make_sum(made_plan *made, fw_loss_type loss, size_t count, size_t second, size_t third) {
  const size_t inputs[] = {plan_input(made, "input", 1, FW_ACTIVATION_IDENTITY), second, third};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, count, inputs), loss);
}

static void make_fm(made_plan *made, fw_loss_type loss) {
  make_sum(made, loss, 2, plan_cross(made, FW_LAYER_BI_INNER_SUM, plan_embedding(made, FACTORS, 0)), 0);
}

static void make_nfm(made_plan *made, fw_loss_type loss) {
  const size_t cross = plan_cross(made, FW_LAYER_BI_INTERACTION, plan_embedding(made, FACTORS, 0));
  make_sum(made, loss, 2, make_stack(made, cross), 0);
}

static void make_wide_and_deep(made_plan *made, fw_loss_type loss) {
  make_sum(made, loss, 2, make_stack(made, plan_embedding(made, FACTORS, SLOTS)), 0);
}

static void make_deepfm(made_plan *made, fw_loss_type loss) {
  const size_t embedding = plan_embedding(made, FACTORS, SLOTS);
  const size_t cross = plan_cross(made, FW_LAYER_BI_INNER_SUM, embedding);
  make_sum(made, loss, 3, cross, make_stack(made, embedding));
}

/* Products that are weighed for each output. */
static size_t make_weighed(made_plan *made, size_t embedding, size_t outputs) {
  const size_t cross = plan_cross(made, FW_LAYER_BI_INTERACTION, embedding);
  return plan_fc(made, "fmlayer", cross, outputs, FW_ACTIVATION_IDENTITY);
}

static void make_fm_of_classes(made_plan *made, fw_loss_type loss) {
  const size_t products = make_weighed(made, plan_embedding(made, FACTORS, 0), 3);
  const size_t inputs[] = {plan_input(made, "input", 3, FW_ACTIVATION_IDENTITY), products};
  plan_loss(made, plan_join(made, FW_LAYER_SUM_POOLING, 2, inputs), loss);
}

static void make_deepfm_of_weights(made_plan *made, fw_loss_type loss) {
  const size_t embedding = plan_embedding(made, FACTORS, SLOTS);
  make_sum(made, loss, 3, make_weighed(made, embedding, 1), make_stack(made, embedding));
}

static size_t make_pair(made_plan *made, fw_layer_type type, size_t first, size_t second) {
  const size_t inputs[] = {first, second};
  return plan_join(made, type, 2, inputs);
}

static void make_pnn(made_plan *made, fw_loss_type loss) {
  const size_t embedding = plan_embedding(made, FACTORS, SLOTS);
  const size_t cross = plan_cross(made, FW_LAYER_BI_INNER, embedding);
  make_sum(made, loss, 2, make_stack(made, make_pair(made, FW_LAYER_CONCAT, embedding, cross)), 0);
}

/* Everything at once: products before the vectors, within two concatenations, and the sum of products summed twice. */
static void make_mixed(made_plan *made, fw_loss_type loss) {
  const size_t embedding = plan_embedding(made, FACTORS, SLOTS);
  const size_t cross = plan_cross(made, FW_LAYER_BI_INNER, embedding);
  const size_t inner = make_pair(made, FW_LAYER_CONCAT, cross, plan_input(made, "other", 2, FW_ACTIVATION_RELU));
  const size_t fc = make_stack(made, make_pair(made, FW_LAYER_CONCAT, inner, embedding));
  const size_t sum = plan_cross(made, FW_LAYER_BI_INNER_SUM, embedding);
  make_sum(made, loss, 2, make_pair(made, FW_LAYER_SUM_POOLING, fc, sum), 0);
}

/* ---- Graphs that cannot take a mean, or labels ---- */

static void make_products_alone(made_plan *made, fw_loss_type loss) {
  make_sum(made, loss, 2, make_stack(made, plan_cross(made, FW_LAYER_BI_INNER, plan_embedding(made, FACTORS, SLOTS))),
           0);
}

static void make_inner_sum_alone(made_plan *made, fw_loss_type loss) {
  plan_loss(made, plan_cross(made, FW_LAYER_BI_INNER_SUM, plan_embedding(made, FACTORS, 0)), loss);
}

static void make_fm_of_sigmoid(made_plan *made, fw_loss_type loss) {
  const size_t cross = plan_cross(made, FW_LAYER_BI_INNER_SUM, plan_embedding(made, FACTORS, 0));
  const size_t input = plan_input(made, "input", 1, FW_ACTIVATION_SIGMOID);
  plan_loss(made, make_pair(made, FW_LAYER_SUM_POOLING, input, cross), loss);
}

static void make_pooled_vectors(made_plan *made, fw_loss_type loss) {
  const size_t embedding = plan_embedding(made, FACTORS, SLOTS);
  make_sum(made, loss, 2, make_stack(made, make_pair(made, FW_LAYER_MUL_POOLING, embedding, embedding)), 0);
}

static void make_sigmoid_output(made_plan *made, fw_loss_type loss) {
  plan_loss(made, plan_input(made, "input", 1, FW_ACTIVATION_SIGMOID), loss);
}

typedef struct made_case {
  graph_maker make;
  fw_loss_type loss;
  bool centre, labels, dense;
} made_case;

static const made_case cases[] = {
    {make_linear, FW_LOSS_LOG, true, false, false},
    {make_linear, FW_LOSS_HINGE, true, false, true},
    {make_linear, FW_LOSS_L2, true, true, false},
    {make_linear, FW_LOSS_HUBER, true, true, true},
    {make_linear, FW_LOSS_SOFTMAX, true, false, false},
    {make_mlr, FW_LOSS_CROSS_ENTROPY, true, false, false},
    {make_dnn, FW_LOSS_LOG, true, false, true},
    {make_dnn, FW_LOSS_L2, true, true, false},
    {make_fm, FW_LOSS_LOG, true, false, false},
    {make_fm, FW_LOSS_L2, true, true, false},
    {make_fm_of_classes, FW_LOSS_SOFTMAX, true, false, false},
    {make_deepfm_of_weights, FW_LOSS_L2, true, true, false},
    {make_nfm, FW_LOSS_LOG, false, false, false},
    {make_nfm, FW_LOSS_L2, false, true, false},
    {make_wide_and_deep, FW_LOSS_LOG, true, false, false},
    {make_wide_and_deep, FW_LOSS_L2, true, true, false},
    {make_deepfm, FW_LOSS_LOG, true, false, false},
    {make_deepfm, FW_LOSS_HUBER, true, true, false},
    {make_pnn, FW_LOSS_LOG, true, false, false},
    {make_pnn, FW_LOSS_L2, true, true, false},
    {make_mixed, FW_LOSS_L2, true, true, false},
    {make_products_alone, FW_LOSS_L2, false, true, false},
    {make_inner_sum_alone, FW_LOSS_L2, false, false, false},
    {make_fm_of_sigmoid, FW_LOSS_L2, false, false, false},
    {make_pooled_vectors, FW_LOSS_L2, false, true, false},
    {make_sigmoid_output, FW_LOSS_L2, true, false, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static void make_plan(made_plan *made, const made_case *c, int32_t row_type, int64_t range) {
  plan_start(made, row_type, range);
  if (c->dense) made->plan.data.format = "dense";
  c->make(made, c->loss);
}

/* ---- Scalings and batches: all numbers are few bits, so that z is exact in floats ---- */

/* Features 0 and 20 are in every row and have means; 10 … 19 and 30 … 39 stand between them; the others come as they
 * like, where slots are free. 50 is listed, but no row has it. */
static fw_scaling make_scaling(const made_case *c, bool slots) {
  static const struct {
    uint64_t key;
    double mean, factor;
    int64_t slot;
  } some[] = {{0, 3.5, 0.25, 0}, {12, 0, 8, -1}, {17, 0, 0.5, -1}, {20, -1.25, 4, 2}, {33, 0, 2, -1}, {50, 0, 16, -1}};
  fw_scaling s;
  assert_int_equal(fw_scaling_init(&s, sizeof some / sizeof *some, NULL), FURROW_OK);
  for (size_t i = 0; i < s.count; i++) {
    s.key[i] = some[i].key;
    s.mean[i] = c->centre ? some[i].mean : 0;
    s.factor[i] = some[i].factor;
    if (slots) s.slot[i] = some[i].slot;
  }
  if (c->labels) {
    s.label_mean = 150;
    s.label_factor = 0.125;
  }
  return s;
}

/* What a value becomes by the scaling. */
static float scaled(const fw_scaling *s, uint64_t key, float x) {
  for (size_t i = 0; i < s->count; i++)
    if (s->key[i] == key) return (float)(((double)x - s->mean[i]) * s->factor[i]);
  return x;
}

static bool has_slots(const made_plan *made) {
  for (size_t i = 0; i < made->plan.graph.count; i++)
    if (made->layers[i].slots > 0) return true;
  return false;
}

static void make_sparse(fw_minibatch *batch, const fw_scaling *s, bool free_slots) {
  enum { MOST = SLOTS + 3 };
  uint64_t *keys = made_array(ROWS * MOST, sizeof *keys);
  fw_rng rng;
  fw_rng_init(&rng, 4);
  memset(batch, 0, sizeof *batch);
  batch->rows = ROWS;
  batch->label = made_array(ROWS, sizeof(float));
  batch->offset = made_array(ROWS + 1, sizeof(uint32_t));
  batch->value = made_array(ROWS * MOST, sizeof(float));
  for (size_t row = 0; row < ROWS; row++) {
    const size_t more = free_slots ? fw_rng_below(&rng, 4) : 0;
    for (size_t i = 0; i < SLOTS + more; i++, batch->uses++) {
      const uint64_t key = i == 0 ? 0 : i == 2 ? 20 : i < SLOTS ? 10 * i + fw_rng_below(&rng, 10) : 40 + i;
      const float x = (float)((double)fw_rng_below(&rng, 64) / 16 - 2);
      keys[batch->uses] = key;
      batch->value[batch->uses] = s ? scaled(s, key, x) : x;
    }
    batch->offset[row + 1] = (uint32_t)batch->uses;
  }
  batch_number(batch, keys);
  free(keys);
}

static void make_dense(fw_minibatch *batch, const fw_scaling *s) {
  fw_rng rng;
  fw_rng_init(&rng, 4);
  memset(batch, 0, sizeof *batch);
  batch->rows = ROWS;
  batch->columns = RANGE;
  batch->label = made_array(ROWS, sizeof(float));
  batch->x = made_array(ROWS * RANGE, sizeof(float));
  for (size_t i = 0; i < ROWS * RANGE; i++) {
    const float x = (float)((double)fw_rng_below(&rng, 64) / 16 - 2);
    batch->x[i] = s ? scaled(s, i % RANGE, x) : x;
  }
}

static void make_batch(fw_minibatch *batch, const made_case *c, const made_plan *made, const fw_scaling *s) {
  if (c->dense)
    make_dense(batch, s);
  else
    make_sparse(batch, s, !has_slots(made));
}

/* ---- Nets ---- */

static void put(const fw_net *net, void *numbers, size_t i, double number) {
  if (net->parameters->element == 8)
    ((double *)numbers)[i] = number;
  else
    ((float *)numbers)[i] = (float)number;
}

static double number_at(const fw_net *net, const void *numbers, size_t i) {
  return net->parameters->element == 8 ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

/* A net with weights and biases of any size, that has seen the batch. */
static fw_net *make_net(const made_plan *made, const fw_minibatch *batch) {
  fw_net *net = net_make(made, 7);
  fw_pass *pass = pass_make(net);
  assert_int_equal(net->ops->begin(net, pass, batch, true, NULL), FURROW_OK);
  for (size_t p = 0; p < net->parameters->count; p++) {
    const fw_parameter *about = &net->parameters->list[p];
    if (!about->bias) continue;
    for (size_t i = 0; i < about->cols; i++)
      put(net, fw_parameters_dense(net->parameters, p, 0), i, cos((double)(3 * i + p)));
  }
  fw_pass_free(pass);
  return net;
}

static size_t outputs_of(fw_net *net, const made_plan *made, const fw_minibatch *batch, double *out) {
  fw_pass *pass = pass_make(net);
  assert_int_equal(net->ops->begin(net, pass, batch, false, NULL), FURROW_OK);
  net->ops->forward(net, pass, 0, batch->rows);
  for (size_t row = 0; row < batch->rows; row++)
    net->ops->outputs(net, pass, row, out + row * made->plan.graph.outputs);
  fw_pass_free(pass);
  return batch->rows * made->plan.graph.outputs;
}

/* Every parameter of the net. */
static size_t parameters_of(const fw_net *net, double *numbers, size_t capacity) {
  uint64_t *keys = NULL;
  size_t count, n = 0;
  assert_int_equal(fw_parameters_keys(net->parameters, &keys, &count, NULL), FURROW_OK);
  for (size_t p = 0; p < net->parameters->count; p++) {
    const fw_parameter *about = &net->parameters->list[p];
    const size_t pieces = about->by_feature ? count : 1, size = about->by_feature ? about->rows : (size_t)about->cols;
    for (size_t k = 0; k < pieces; k++) {
      const void *from = about->by_feature ? fw_parameters_feature(net->parameters, p, keys ? keys[k] : k, 0)
                                           : fw_parameters_dense(net->parameters, p, 0);
      for (size_t i = 0; i < size; i++) {
        assert_true(n < capacity);
        numbers[n++] = number_at(net, from, i);
      }
    }
  }
  free(keys);
  return n;
}

static void assert_near(const double *a, const double *b, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++) assert_true(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i])));
}

/* ---- Tests ---- */

enum { MOST_NUMBERS = 4000 };

static void check_case(const made_case *c, int32_t row_type, int64_t range, double tolerance) {
  made_plan made;
  fw_minibatch on_z, on_x;
  double first[MOST_NUMBERS], last[MOST_NUMBERS], expected[ROWS * 3], out[ROWS * 3];
  make_plan(&made, c, row_type, range);
  fw_scaling s = make_scaling(c, has_slots(&made)), inverse;
  make_batch(&on_z, c, &made, &s);
  make_batch(&on_x, c, &made, NULL);
  assert_int_equal(fw_fold_can_centre(&made.plan), c->centre);
  assert_int_equal(fw_fold_can_scale_labels(&made.plan), c->labels);
  fw_net *net = make_net(&made, &on_z);
  const size_t numbers = parameters_of(net, first, MOST_NUMBERS), n = outputs_of(net, &made, &on_z, expected);
  outputs_of(net, &made, &on_x, out);
  double difference = 0; /* without folding */
  for (size_t i = 0; i < n; i++) difference = fmax(difference, fabs(out[i] - expected[i]));
  assert_true(difference > 0.01);
  for (size_t i = 0; c->labels && i < n; i++) expected[i] = expected[i] / s.label_factor + s.label_mean;
  assert_int_equal(fw_parameters_fold(net->parameters, &s, NULL), FURROW_OK);
  outputs_of(net, &made, &on_x, out);
  assert_near(out, expected, n, tolerance);
  assert_int_equal(fw_scaling_invert(&inverse, &s, NULL), FURROW_OK);
  assert_int_equal(fw_parameters_fold(net->parameters, &inverse, NULL), FURROW_OK);
  assert_int_equal(parameters_of(net, last, MOST_NUMBERS), numbers);
  assert_near(last, first, numbers, tolerance);
  fw_scaling_clear(&s);
  fw_scaling_clear(&inverse);
  net_free(net);
  batch_free(&on_z);
  batch_free(&on_x);
}

static void folded_nets_give_the_same_outputs(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) {
    check_case(&cases[i], T_DOUBLE_DENSE, RANGE, 1e-9);
    check_case(&cases[i], T_FLOAT_DENSE, RANGE, 1e-4);
    if (cases[i].dense) continue;
    check_case(&cases[i], T_DOUBLE_SPARSE, RANGE, 1e-9);
    check_case(&cases[i], T_FLOAT_SPARSE, -1, 1e-4);
  }
}

/* Labels that stay as they are: the mean alone does nothing. */
static void labels_without_factor_stay(void **state) {
  (void)state;
  const made_case c = {make_deepfm, FW_LOSS_L2, true, false, false};
  made_plan made;
  fw_minibatch batch;
  double first[MOST_NUMBERS], last[MOST_NUMBERS];
  make_plan(&made, &c, T_DOUBLE_DENSE, RANGE);
  fw_scaling none = {.label_mean = 12};
  make_batch(&batch, &c, &made, NULL);
  fw_net *net = make_net(&made, &batch);
  const size_t n = parameters_of(net, first, MOST_NUMBERS);
  assert_int_equal(fw_parameters_fold(net->parameters, &none, NULL), FURROW_OK);
  parameters_of(net, last, MOST_NUMBERS);
  assert_memory_equal(first, last, n * sizeof *first);
  net_free(net);
  batch_free(&batch);
}

typedef void (*spoiler)(fw_scaling *s);

static void zero_factor(fw_scaling *s) {
  s->factor[1] = 0;
}
static void infinite_factor(fw_scaling *s) {
  s->factor[1] = INFINITY;
}
static void no_mean(fw_scaling *s) {
  s->mean[0] = NAN;
}
static void equal_keys(fw_scaling *s) {
  s->key[1] = s->key[0];
}
static void far_key(fw_scaling *s) {
  s->key[s->count - 1] = RANGE;
}
static void unknown_slot(fw_scaling *s) {
  s->slot[0] = -1;
}
static void far_slot(fw_scaling *s) {
  s->slot[0] = SLOTS;
}
static void shared_slot(fw_scaling *s) {
  s->slot[3] = s->slot[0];
}
static void negative_labels(fw_scaling *s) {
  s->label_factor = -1;
}
static void no_label_mean(fw_scaling *s) {
  s->label_mean = NAN;
}

/* A scaling that is refused changes nothing. */
static void check_refused(const made_case *graph, const made_case *scaling, spoiler spoil, furrow_status expected) {
  made_plan made;
  fw_minibatch batch;
  furrow_error err = {0};
  double first[MOST_NUMBERS], last[MOST_NUMBERS];
  make_plan(&made, graph, T_DOUBLE_DENSE, RANGE);
  fw_scaling s = make_scaling(scaling, true);
  if (spoil) spoil(&s);
  make_batch(&batch, graph, &made, NULL);
  fw_net *net = make_net(&made, &batch);
  const size_t n = parameters_of(net, first, MOST_NUMBERS);
  assert_int_equal(fw_parameters_fold(net->parameters, &s, &err), expected);
  assert_true(err.message[0] != 0);
  parameters_of(net, last, MOST_NUMBERS);
  assert_memory_equal(first, last, n * sizeof *first);
  fw_scaling_clear(&s);
  net_free(net);
  batch_free(&batch);
}

static void what_cannot_be_folded_is_refused(void **state) {
  (void)state;
  const made_case deepfm = {make_deepfm, FW_LOSS_L2, true, true, false};
  const made_case means = {NULL, FW_LOSS_L2, true, false, false}, labels = {NULL, FW_LOSS_L2, false, true, false};
  const struct {
    spoiler spoil;
    furrow_status status;
  } bad[] = {{zero_factor, FURROW_E_ARGUMENT},
             {infinite_factor, FURROW_E_ARGUMENT},
             {no_mean, FURROW_E_ARGUMENT},
             {equal_keys, FURROW_E_ARGUMENT},
             {far_key, FURROW_E_RANGE},
             {unknown_slot, FURROW_E_UNSUPPORTED},
             {far_slot, FURROW_E_UNSUPPORTED},
             {shared_slot, FURROW_E_UNSUPPORTED},
             {negative_labels, FURROW_E_ARGUMENT},
             {no_label_mean, FURROW_E_ARGUMENT}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) check_refused(&deepfm, &deepfm, bad[i].spoil, bad[i].status);
  for (size_t i = 0; i < CASES; i++) {
    if (!cases[i].centre) check_refused(&cases[i], &means, NULL, FURROW_E_UNSUPPORTED);
    if (!cases[i].labels) check_refused(&cases[i], &labels, NULL, FURROW_E_UNSUPPORTED);
  }
}

static void trees_take_no_scaling(void **state) {
  (void)state;
  fw_plan plan = {.forest.used = true, .graph.outputs = 1, .graph.loss = FW_LOSS_L2};
  assert_false(fw_fold_can_centre(&plan));
  assert_false(fw_fold_can_scale_labels(&plan));
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  const made_case c = {make_deepfm, FW_LOSS_L2, true, true, false};
  made_plan made;
  fw_minibatch batch;
  double first[MOST_NUMBERS], last[MOST_NUMBERS];
  make_plan(&made, &c, T_DOUBLE_SPARSE, RANGE);
  fw_scaling s = make_scaling(&c, true);
  make_batch(&batch, &c, &made, NULL);
  fw_net *net = make_net(&made, &batch);
  const size_t numbers = parameters_of(net, first, MOST_NUMBERS);
  long n = 1;
  for (bool failed = true; failed; n++) {
    const long live = atomic_load(&alloc_live);
    fw_scaling inverse = {0};
    alloc_fail_at(n);
    furrow_status status = fw_scaling_invert(&inverse, &s, NULL);
    if (status == FURROW_OK) status = fw_parameters_fold(net->parameters, &s, NULL);
    failed = atomic_load(&alloc_failed) && status != FURROW_OK; /* sorting does without memory that it cannot get */
    alloc_fail_at(0);
    fw_scaling_clear(&inverse);
    assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
    assert_int_equal(atomic_load(&alloc_live), live);
    parameters_of(net, last, MOST_NUMBERS);
    assert_int_equal(memcmp(first, last, numbers * sizeof *first) == 0, failed);
  }
  assert_true(n > 7);
  fw_scaling_clear(&s);
  net_free(net);
  batch_free(&batch);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(folded_nets_give_the_same_outputs),
      cmocka_unit_test(labels_without_factor_stay),
      cmocka_unit_test(what_cannot_be_folded_is_refused),
      cmocka_unit_test(trees_take_no_scaling),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
