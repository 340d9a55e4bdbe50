/* tests/unit/learn/test_learn_net_optimizers.c: steps of each optimizer on the weights of a net against the rules in
 * plain words, and what bias, rates and only the features of a batch get. */
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

static void plain_step(const fw_optimizer *o, double rate, uint64_t t, bool wide, plain *p, double g) {
  switch (o->type) {
  case FW_OPTIMIZER_SGD: plain_sgd(o, rate, p, g); break;
  case FW_OPTIMIZER_MOMENTUM: plain_momentum(o, rate, p, g); break;
  case FW_OPTIMIZER_ADAGRAD: plain_adagrad(o, rate, p, g); break;
  case FW_OPTIMIZER_ADADELTA: plain_adadelta(o, rate, p, g); break;
  case FW_OPTIMIZER_ADAM: plain_adam(o, rate, p, g, t, wide); break;
  case FW_OPTIMIZER_FTRL: plain_ftrl(o, rate, p, g); break;
  }
}

/* ---- The net beside it: one row for each update, squared loss, so that the gradient is easy ---- */

typedef struct beside {
  made_plan made;
  fw_optimizer optimizer;
  bool wide;
  plain weights[RANGE];
  double bias;
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
  double out = b->bias;
  for (size_t use = 0; use < batch->uses; use++)
    out += b->weights[batch->key[batch->feature[use]]].w * (double)batch->value[use];
  const double error = out - (double)batch->label[0];
  for (size_t use = 0; use < batch->uses; use++)
    plain_step(&b->optimizer, rate, step->number, b->wide, &b->weights[batch->key[batch->feature[use]]],
               error * (double)batch->value[use]);
  b->bias -= step->rate * error;
}

static double number_at(const void *numbers, bool wide) {
  return wide ? *(const double *)numbers : (double)*(const float *)numbers;
}

static void compare(const beside *b, const fw_net *net) {
  const double most = b->wide ? 1e-10 : 2e-4;
  const size_t states = fw_net_parameter(net, 0)->state;
  for (uint64_t key = 0; key < RANGE; key++) {
    const plain *p = &b->weights[key];
    const double expected[] = {p->w, p->a, p->b};
    for (size_t array = 0; array <= states; array++) {
      const double found = number_at(fw_net_feature(net, 0, key, array), b->wide);
      if (fabs(found - expected[array]) > most * (1 + fabs(expected[array])))
        fail_msg("feature %d, array %zu: %.12g, not %.12g", (int)key, array, found, expected[array]);
    }
  }
  assert_true(fabs(number_at(fw_net_dense(net, 1, 0), b->wide) - b->bias) <= most * (1 + fabs(b->bias)));
}

static void run_beside(const fw_optimizer *optimizer, int32_t row_type) {
  beside b = {.optimizer = *optimizer, .wide = row_type == T_DOUBLE_DENSE};
  plan_start(&b.made, row_type, RANGE);
  plan_loss(&b.made, plan_input(&b.made, "input", 1, FW_ACTIVATION_IDENTITY), FW_LOSS_L2);
  plan_optimizer(&b.made, optimizer);
  fw_net *net = net_make(&b.made, 5);
  fw_pass *pass = pass_make(net);
  for (uint64_t key = 0; key < RANGE; key++) b.weights[key].w = number_at(fw_net_feature(net, 0, key, 0), b.wide);
  fw_rng rng;
  fw_rng_init(&rng, 77);
  for (uint64_t t = 1; t <= STEPS; t++) {
    fw_minibatch batch;
    /* the third step has no features: the bias alone moves */
    const unsigned bits = t == 3 ? 0 : (unsigned)fw_rng_below(&rng, 1U << RANGE);
    const fw_step step = {.number = t, .rate = 0.05 / (double)t, .scale = 1 / (double)t};
    const double rate = isnan(optimizer->lr) ? step.rate : optimizer->lr * step.scale;
    batch_of_bits(&batch, bits, (float)fw_rng_normal(&rng));
    plain_update(&b, &batch, &step, rate);
    net_step(net, pass, &batch, &step);
    compare(&b, net);
    batch_free(&batch);
  }
  fw_pass_free(pass);
  fw_net_free(net);
}

static void test_rules(void **state) {
  (void)state;
  const double regularisation[][2] = {{0, 0}, {0.01, 0}, {0, 0.1}, {0.02, 0.3}};
  const double rates[] = {NAN, 0.03};
  const double hyper[][2] = {{0, 0}, {0.9, 0}, {0.9, 0}, {0.9, 0.8}, {0.9, 0.99}, {0.1, 1.0}};
  for (int type = FW_OPTIMIZER_SGD; type <= FW_OPTIMIZER_FTRL; type++)
    for (size_t i = 0; i < 4; i++)
      for (size_t j = 0; j < 2; j++) {
        fw_optimizer o = {.type = (fw_optimizer_type)type, .lr = rates[j]};
        o.l1 = regularisation[i][0];
        o.l2 = regularisation[i][1];
        o.a = hyper[type][0];
        o.b = hyper[type][1];
        run_beside(&o, T_DOUBLE_DENSE);
        run_beside(&o, T_FLOAT_DENSE);
      }
}

/* A weight whose gradient is 0 from the start stays, also where the rule divides by its square. */
static void test_no_gradient(void **state) {
  (void)state;
  const fw_optimizer optimizers[] = {
      {.type = FW_OPTIMIZER_ADAGRAD, .lr = NAN, .a = 0.9},
      {.type = FW_OPTIMIZER_ADAM, .lr = NAN, .a = 0.9, .b = 0.99},
      {.type = FW_OPTIMIZER_ADADELTA, .lr = NAN, .a = 0.9, .b = 0.9},
  };
  for (size_t i = 0; i < 3; i++) {
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
    for (uint64_t key = 0; key < RANGE; key++) before[key] = *(float *)fw_net_feature(net, 0, key, 0);
    for (uint64_t t = 1; t < 4; t++) net_step(net, pass, &batch, &(fw_step){.number = t, .rate = 0.5, .scale = 1});
    for (uint64_t key = 0; key < RANGE; key++) assert_true(*(float *)fw_net_feature(net, 0, key, 0) == before[key]);
    batch_free(&batch);
    fw_pass_free(pass);
    fw_net_free(net);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_no_gradient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
