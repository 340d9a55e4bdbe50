/* tests/unit/learn/test_learn_net_optimizers.c: steps of each optimizer on the weights of a net against the rules in
 * plain words, and what bias, rates and only the features of a batch get. */
#include "base/buffer.h"
#include "learn/checkpoint/checkpoint.h"
#include "support/made_net.h"

enum { RANGE = 6, STEPS = 12 };

/* A weight with its state, and what the rules make of it. */
typedef struct plain {
  double w, a, b;
} plain;

static double shrunk(double w, double t) {
  return w > t ? w - t : w < -t ? w + t : 0;
}

static void plain_sgd(const fw_optimizer *o, double rate, plain *p, double g) {
  const double r = rate / (1 + o->l2 * rate);
  p->w = p->w * (1 - r * o->l2) - r * g;
  p->w = shrunk(p->w, r * o->l1);
}

static void plain_momentum(const fw_optimizer *o, double rate, plain *p, double g) {
  p->a = o->a * p->a + g + o->l2 * p->w;
  p->w -= rate * p->a;
}

static void plain_adagrad(const fw_optimizer *o, double rate, plain *p, double g) {
  p->a = o->a * p->a + (1 - o->a) * g * g;
  const double scale = sqrt(p->a) + o->l2 * rate;
  if (scale == 0) return;
  p->w -= (g + o->l2 * p->w) * rate / scale;
  p->w = shrunk(p->w, o->l1 * rate / scale);
}

static void plain_adadelta(const fw_optimizer *o, double rate, plain *p, double g) {
  (void)rate;
  p->a = o->a * p->a + (1 - o->a) * g * g;
  const double scale = sqrt(sqrt((p->a + 1e-7) / (p->b + 1e-7))) + o->l2;
  const double step = (g + o->l2 * p->w) / scale;
  p->w = shrunk(p->w - step, o->l1 / scale);
  p->b = o->b * p->b + (1 - o->b) * step * step;
}

static void plain_adam(const fw_optimizer *o, double rate, plain *p, double g, uint64_t t, bool wide) {
  g += o->l2 * p->w;
  p->a = o->a * p->a + (1 - o->a) * g;
  p->b = o->b * p->b + (1 - o->b) * g * g;
  const double mean = p->a / (1 - pow(o->a, (double)t)), square = p->b / (1 - pow(o->b, (double)t));
  if (p->a * p->b == 0) return;
  p->w -= rate * mean / (wide ? sqrt(square + 1e-8) : sqrt(square) + 1e-8);
}

static void plain_ftrl(const fw_optimizer *o, double rate, plain *p, double g) {
  (void)rate;
  const double d = (sqrt(p->b + g * g) - sqrt(p->b)) / o->a;
  p->b += g * g;
  p->a += g - d * p->w;
  p->w = -shrunk(p->a, o->l1) / (o->l2 + (o->b + sqrt(p->b)) / o->a);
}

/* G += g^2; w -= rate g / (sqrt(G) + 1e-10), with L2 in the gradient; L1 as the proximal step of the same scale. */
static void plain_published_adagrad(const fw_optimizer *o, double rate, plain *p, double g) {
  g += o->l2 * p->w;
  p->a += g * g;
  const double scale = sqrt(p->a) + 1e-10;
  p->w = shrunk(p->w - rate * g / scale, o->l1 * rate / scale);
}

/* z so that -(z shrunk by l1) / (l2 + beta / alpha) is the weight. */
static void plain_keep_first(const fw_optimizer *o, plain *p) {
  if (p->w != 0) p->a = -p->w * (o->b / o->a + o->l2) - (p->w > 0 ? o->l1 : -o->l1);
}

static void plain_step(const fw_optimizer *o, double rate, uint64_t t, bool wide, plain *p, double g) {
  switch (o->type) {
  case FW_OPTIMIZER_SGD: plain_sgd(o, rate, p, g); break;
  case FW_OPTIMIZER_MOMENTUM: plain_momentum(o, rate, p, g); break;
  case FW_OPTIMIZER_ADAGRAD: plain_adagrad(o, rate, p, g); break;
  case FW_OPTIMIZER_ADADELTA: plain_adadelta(o, rate, p, g); break;
  case FW_OPTIMIZER_ADAM: plain_adam(o, rate, p, g, t, wide); break;
  case FW_OPTIMIZER_FTRL: plain_ftrl(o, rate, p, g); break;
  case FW_OPTIMIZER_PUBLISHED_ADAGRAD: plain_published_adagrad(o, rate, p, g); break;
  }
}

/* ---- The net beside it: one row for each update, squared loss, so that the gradient is easy ---- */

typedef struct beside {
  made_plan made;
  fw_optimizer optimizer;
  bool wide;
  plain weights[RANGE];
  plain bias;
} beside;

/* One row with the features that `bits` names, feature i with value (i + 1) / 2. */
static void batch_of_bits(fw_minibatch *batch, unsigned bits, float label) {
  memset(batch, 0, sizeof *batch);
  batch->rows = 1;
  batch->label = made_array(1, sizeof(float));
  batch->label[0] = label;
  batch->offset = made_array(2, sizeof(uint32_t));
  batch->value = made_array(RANGE, sizeof(float));
  uint64_t keys[RANGE];
  for (unsigned i = 0; i < RANGE; i++) {
    if (!(bits >> i & 1)) continue;
    keys[batch->uses] = i;
    batch->value[batch->uses++] = (float)(i + 1) / 2;
  }
  batch->offset[1] = (uint32_t)batch->uses;
  batch_number(batch, keys);
}

static void plain_update(beside *b, const fw_minibatch *batch, const fw_step *step, double rate) {
  double out = b->bias.w;
  for (size_t use = 0; use < batch->uses; use++)
    out += b->weights[batch->key[batch->feature[use]]].w * (double)batch->value[use];
  const double error = out - (double)batch->label[0];
  for (size_t use = 0; use < batch->uses; use++)
    plain_step(&b->optimizer, rate, step->number, b->wide, &b->weights[batch->key[batch->feature[use]]],
               error * (double)batch->value[use]);
  fw_optimizer unregularised = b->optimizer;
  unregularised.l1 = unregularised.l2 = 0;
  if (b->made.plan.train.bias_optimizer)
    plain_step(&unregularised, rate, step->number, b->wide, &b->bias, error);
  else
    b->bias.w -= step->rate * error;
}

static double number_at(const void *numbers, bool wide) {
  return wide ? *(const double *)numbers : (double)*(const float *)numbers;
}

static void compare_number(const beside *b, const void *number, const plain *p, size_t array, int feature) {
  const double most = b->wide ? 1e-10 : 2e-4, found = number_at(number, b->wide);
  const double expected = array == 0 ? p->w : array == 1 ? p->a : p->b;
  if (fabs(found - expected) > most * (1 + fabs(expected)))
    fail_msg("feature %d (-1: bias), array %zu: %.12g, not %.12g", feature, array, found, expected);
}

static void compare(const beside *b, const fw_net *net) {
  const size_t states = net->parameters->list[0].state;
  for (uint64_t key = 0; key < RANGE; key++)
    for (size_t array = 0; array <= states; array++)
      compare_number(b, fw_parameters_feature(net->parameters, 0, key, array), &b->weights[key], array, (int)key);
  assert_int_equal(net->parameters->list[1].state, b->made.plan.train.bias_optimizer ? states : 0);
  for (size_t array = 0; array <= net->parameters->list[1].state; array++)
    compare_number(b, fw_parameters_dense(net->parameters, 1, array), &b->bias, array, -1);
}

/* The bias starts at 1.5: as a model that was loaded has one. */
static void set_bias(beside *b, fw_net *net) {
  b->bias.w = 1.5;
  if (b->wide)
    *(double *)fw_parameters_dense(net->parameters, 1, 0) = 1.5;
  else
    *(float *)fw_parameters_dense(net->parameters, 1, 0) = 1.5F;
}

/* `own`: what Furrow does and Angel does not: biases by the optimizer, FTRL that keeps first weights. */
static void run_beside(const fw_optimizer *optimizer, int32_t row_type, bool own) {
  beside b = {.optimizer = *optimizer, .wide = row_type == T_DOUBLE_DENSE};
  plan_start(&b.made, row_type, RANGE);
  b.made.plan.train.bias_optimizer = b.made.plan.train.ftrl_keeps_first_weights = own;
  plan_loss(&b.made, plan_input(&b.made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
  plan_optimizer(&b.made, optimizer);
  fw_net *net = net_make(&b.made, 5);
  fw_pass *pass = pass_make(net);
  for (uint64_t key = 0; key < RANGE; key++)
    b.weights[key].w = number_at(fw_parameters_feature(net->parameters, 0, key, 0), b.wide);
  set_bias(&b, net);
  bool kept[RANGE] = {false};
  fw_rng rng;
  fw_rng_init(&rng, 77);
  for (uint64_t t = 1; t <= STEPS; t++) {
    fw_minibatch batch;
    /* the third step has no features: the bias alone moves */
    const unsigned bits = t == 3 ? 0 : (unsigned)fw_rng_below(&rng, 1U << RANGE);
    const fw_step step = {.number = t, .rate = 0.05 / (double)t, .scale = 1 / (double)t};
    const double rate = isnan(optimizer->lr) ? step.rate : optimizer->lr * step.scale;
    batch_of_bits(&batch, bits, (float)fw_rng_normal(&rng));
    for (unsigned i = 0; own && optimizer->type == FW_OPTIMIZER_FTRL && i < RANGE; i++)
      if (bits >> i & 1 && !kept[i]) plain_keep_first(optimizer, &b.weights[i]), kept[i] = true;
    if (own && optimizer->type == FW_OPTIMIZER_FTRL && t == 1)
      plain_keep_first(&(fw_optimizer){.a = optimizer->a, .b = optimizer->b}, &b.bias);
    plain_update(&b, &batch, &step, rate);
    net_step(net, pass, &batch, &step);
    compare(&b, net);
    batch_free(&batch);
  }
  fw_pass_free(pass);
  net_free(net);
}

static void test_rules(void **state) {
  (void)state;
  const double regularisation[][2] = {{0, 0}, {0.01, 0}, {0, 0.1}, {0.02, 0.3}};
  const double rates[] = {NAN, 0.03};
  const double hyper[][2] = {{0, 0}, {0.9, 0}, {0.9, 0}, {0.9, 0.8}, {0.9, 0.99}, {0.1, 1.0}, {0, 0}};
  for (int type = FW_OPTIMIZER_SGD; type <= FW_OPTIMIZER_PUBLISHED_ADAGRAD; type++)
    for (size_t i = 0; i < 4; i++)
      for (size_t j = 0; j < 2; j++) {
        fw_optimizer o = {.type = (fw_optimizer_type)type, .lr = rates[j]};
        o.l1 = regularisation[i][0];
        o.l2 = regularisation[i][1];
        o.a = hyper[type][0];
        o.b = hyper[type][1];
        for (int own = 0; own < 2; own++) {
          run_beside(&o, T_DOUBLE_DENSE, own);
          run_beside(&o, T_FLOAT_DENSE, own);
        }
      }
}

/* ---- Means, not sums ---- */

typedef struct updated {
  double numbers[16];
  size_t count;
} updated;

/* A factorization machine with an fc layer beside it: weights and biases of all kinds after three updates with the same
 * row `copies` times in a batch. */
static updated update_copies(const fw_optimizer *optimizer, size_t copies, float weight) {
  made_plan made;
  plan_start(&made, T_DOUBLE_DENSE, RANGE);
  made.plan.train.bias_optimizer = true;
  const size_t embedding = plan_embedding(&made, 2, 2);
  const size_t parts[] = {plan_input(&made, "input", 1, FW_ACTIVATION_IDENTITY),
                          plan_cross(&made, FW_LAYER_BI_INNER_SUM, embedding),
                          plan_fc(&made, "fc", embedding, 1, FW_ACTIVATION_IDENTITY)};
  plan_loss(&made, plan_join(&made, FW_LAYER_SUM_POOLING, 3, parts), FW_LOSS_L2);
  plan_optimizer(&made, optimizer);
  fw_net *net = net_make(&made, 9);
  fw_pass *pass = pass_make(net);
  fw_minibatch batch = {.rows = copies, .uses = 2 * copies};
  uint64_t keys[16];
  batch.label = made_array(copies, sizeof(float));
  batch.weight = made_array(copies, sizeof(float));
  batch.offset = made_array(copies + 1, sizeof(uint32_t));
  for (size_t i = 0; i < copies; i++) {
    batch.label[i] = 2;
    batch.weight[i] = weight;
    batch.offset[i + 1] = (uint32_t)(2 * i + 2);
    keys[2 * i] = 1, keys[2 * i + 1] = 4;
  }
  batch_number(&batch, keys);
  for (uint64_t t = 1; t < 4; t++) net_step(net, pass, &batch, &(fw_step){.number = t, .rate = 0.05, .scale = 1});
  updated after = {.count = 0};
  for (size_t i = 0; i < net->parameters->count; i++) {
    const fw_parameter *about = &net->parameters->list[i];
    const double *from = about->by_feature ? fw_parameters_feature(net->parameters, i, 4, 0)
                                           : fw_parameters_dense(net->parameters, i, 0);
    for (size_t k = 0; k < (about->by_feature ? about->rows : about->cols); k++) after.numbers[after.count++] = from[k];
  }
  batch_free(&batch);
  fw_pass_free(pass);
  net_free(net);
  return after;
}

/* A gradient is the mean over the rows of a batch whatever the optimizer and the layer, so that a rate does not depend
 * on the size of batches; a row's weight multiplies its gradient, and the divisor stays the number of rows. */
static void test_mean(void **state) {
  (void)state;
  const fw_optimizer optimizers[] = {{.type = FW_OPTIMIZER_SGD, .lr = NAN, .l2 = 0.1},
                                     {.type = FW_OPTIMIZER_MOMENTUM, .lr = NAN, .a = 0.9},
                                     {.type = FW_OPTIMIZER_ADAGRAD, .lr = NAN, .a = 0.9},
                                     {.type = FW_OPTIMIZER_ADADELTA, .lr = NAN, .a = 0.9, .b = 0.9},
                                     {.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99},
                                     {.type = FW_OPTIMIZER_FTRL, .lr = NAN, .a = 0.1, .b = 1, .l1 = 0.01},
                                     {.type = FW_OPTIMIZER_PUBLISHED_ADAGRAD, .lr = NAN}};
  for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
    const updated one = update_copies(&optimizers[i], 1, 1), many = update_copies(&optimizers[i], 5, 1);
    assert_int_equal(one.count, 9);
    for (size_t k = 0; k < one.count; k++)
      if (fabs(one.numbers[k] - many.numbers[k]) > 1e-9)
        fail_msg("optimizer %zu, number %zu: %.12g, not %.12g", i, k, many.numbers[k], one.numbers[k]);
  }
  const fw_optimizer sgd = {.type = FW_OPTIMIZER_SGD, .lr = NAN}, faster = {.type = FW_OPTIMIZER_SGD, .lr = 0.15};
  const updated heavy = update_copies(&sgd, 5, 3), fast = update_copies(&faster, 5, 1);
  for (size_t k = 0; k < heavy.count; k++) assert_true(fabs(heavy.numbers[k] - fast.numbers[k]) < 1e-9);
}

/* ---- State of biases in snapshots ---- */

static furrow_status keep_bytes(void *to, const void *bytes, size_t size, furrow_error *err) {
  (void)err;
  fw_buffer_append(to, bytes, size);
  return FURROW_OK;
}

/* Two steps, a snapshot, and two steps more in a net that was made from it: as four steps at once. */
static fw_buffer bytes_of_steps(bool bias_optimizer, bool halfway) {
  const fw_optimizer adam = {.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99};
  made_plan made;
  fw_buffer bytes = {0};
  fw_minibatch batch;
  plan_start(&made, T_FLOAT_DENSE, RANGE);
  made.plan.train.bias_optimizer = bias_optimizer;
  plan_loss(&made, plan_input(&made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
  plan_optimizer(&made, &adam);
  fw_net *net = net_make(&made, 5);
  batch_of_bits(&batch, 0x15, 2);
  for (uint64_t t = 1; t < 5; t++) {
    fw_pass *pass = pass_make(net);
    net_step(net, pass, &batch, &(fw_step){.number = t, .rate = 0.05, .scale = 1});
    fw_pass_free(pass);
    if (!halfway || t != 2) continue;
    assert_int_equal(fw_parameters_snapshot_write(net->parameters, keep_bytes, &bytes, NULL), FURROW_OK);
    net_free(net);
    net = net_make(&made, 6);
    assert_int_equal(fw_parameters_snapshot_read(net->parameters, (const unsigned char *)bytes.bytes, bytes.size, NULL),
                     FURROW_OK);
    fw_buffer_clear(&bytes);
  }
  assert_int_equal(fw_parameters_snapshot_write(net->parameters, keep_bytes, &bytes, NULL), FURROW_OK);
  batch_free(&batch);
  net_free(net);
  return bytes;
}

static void test_bias_state_is_kept(void **state) {
  (void)state;
  for (int own = 0; own < 2; own++) {
    fw_buffer whole = bytes_of_steps(own, false), halves = bytes_of_steps(own, true);
    /* bias, with two arrays of state; number of features; 3 numbers of each */
    assert_int_equal(whole.size, 4 * (own ? 3 : 1) + 8 + RANGE * 3 * 4);
    assert_int_equal(halves.size, whole.size);
    assert_memory_equal(whole.bytes, halves.bytes, whole.size);
    fw_buffer_clear(&whole);
    fw_buffer_clear(&halves);
  }
}

/* A checkpoint of one setting is not one of the other. */
static void test_fingerprint(void **state) {
  (void)state;
  made_plan made;
  uint64_t found[4];
  plan_start(&made, T_FLOAT_DENSE, RANGE);
  plan_loss(&made, plan_input(&made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
  for (unsigned i = 0; i < 4; i++) {
    made.plan.train.bias_optimizer = i & 1;
    made.plan.train.ftrl_keeps_first_weights = i >> 1;
    assert_int_equal(fw_plan_fingerprint(&made.plan, &found[i], NULL), FURROW_OK);
    for (unsigned k = 0; k < i; k++) assert_true(found[k] != found[i]);
  }
}

/* FTRL without beta and L2 can keep a weight only beside its state; with gradient 0 it stays. */
static void test_ftrl_keeps(void **state) {
  (void)state;
  const fw_optimizer optimizers[] = {{.type = FW_OPTIMIZER_FTRL, .lr = NAN, .a = 0.3, .b = 0.001, .l1 = 0.05},
                                     {.type = FW_OPTIMIZER_FTRL, .lr = NAN, .a = 0.3}};
  for (size_t i = 0; i < 2; i++) {
    made_plan made;
    fw_minibatch batch;
    plan_start(&made, T_DOUBLE_DENSE, RANGE);
    made.plan.train.ftrl_keeps_first_weights = true;
    plan_loss(&made, plan_input(&made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
    plan_optimizer(&made, &optimizers[i]);
    fw_net *net = net_make(&made, 5);
    fw_pass *pass = pass_make(net);
    batch_of_bits(&batch, 0x3f, 2);
    for (size_t use = 0; use < batch.uses; use++) batch.value[use] = 0;
    double before[RANGE];
    for (uint64_t key = 0; key < RANGE; key++)
      before[key] = *(double *)fw_parameters_feature(net->parameters, 0, key, 0);
    for (uint64_t t = 1; t < 4; t++) net_step(net, pass, &batch, &(fw_step){.number = t, .rate = 0.5, .scale = 1});
    for (uint64_t key = 0; key < RANGE; key++)
      assert_true(fabs(*(double *)fw_parameters_feature(net->parameters, 0, key, 0) - before[key]) < 1e-12 &&
                  before[key] != 0);
    batch_free(&batch);
    fw_pass_free(pass);
    net_free(net);
  }
}

/* A weight whose gradient is 0 from the start stays, also where the rule divides by its square. */
static void test_no_gradient(void **state) {
  (void)state;
  const fw_optimizer optimizers[] = {
      {.type = FW_OPTIMIZER_ADAGRAD, .lr = NAN, .a = 0.9},
      {.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99},
      {.type = FW_OPTIMIZER_ADADELTA, .lr = NAN, .a = 0.9, .b = 0.9},
      {.type = FW_OPTIMIZER_PUBLISHED_ADAGRAD, .lr = NAN},
  };
  for (size_t i = 0; i < 4; i++) {
    made_plan made;
    plan_start(&made, T_FLOAT_DENSE, RANGE);
    plan_loss(&made, plan_input(&made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
    plan_optimizer(&made, &optimizers[i]);
    fw_net *net = net_make(&made, 5);
    fw_pass *pass = pass_make(net);
    fw_minibatch batch;
    batch_of_bits(&batch, 0x3f, 2);
    for (size_t use = 0; use < batch.uses; use++) batch.value[use] = 0;
    float before[RANGE];
    for (uint64_t key = 0; key < RANGE; key++)
      before[key] = *(float *)fw_parameters_feature(net->parameters, 0, key, 0);
    for (uint64_t t = 1; t < 4; t++) net_step(net, pass, &batch, &(fw_step){.number = t, .rate = 0.5, .scale = 1});
    for (uint64_t key = 0; key < RANGE; key++)
      assert_true(*(float *)fw_parameters_feature(net->parameters, 0, key, 0) == before[key]);
    batch_free(&batch);
    fw_pass_free(pass);
    net_free(net);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),       cmocka_unit_test(test_mean),       cmocka_unit_test(test_bias_state_is_kept),
      cmocka_unit_test(test_fingerprint), cmocka_unit_test(test_ftrl_keeps), cmocka_unit_test(test_no_gradient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
