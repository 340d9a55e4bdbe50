/* learn/layers/first_weights.c: the weights that a net starts with. Each number depends on the seed, its layer and its
 * feature or place alone. */
#include <math.h>

#include "base/rng.h"
#include "learn/layers/net_real.h"

/* An input layer with an activation is a hidden layer: from zeros it would never start. It begins as an fc layer does,
 * a row taken to have at most so many features. */
#define FEATURES_OF_A_ROW 100

static bool is_hidden_input(const node *self) {
  return self->layer->type == FW_LAYER_INPUT && self->layer->activation != FW_ACTIVATION_IDENTITY;
}

/* Deviation of a normal, where the configuration has one. */
static double deviation_of(const real_net *net, const node *self) {
  const fw_train_conf *train = &net->plan->train;
  switch (self->layer->type) {
  case FW_LAYER_INPUT: return train->init_input;
  case FW_LAYER_EMBEDDING: return train->init_embedding;
  default: return train->init_fc;
  }
}

/* Otherwise uniform in -limit … limit (Glorot, Bengio, 2010); 0: zeros. */
static double limit_of(const real_net *net, const node *self) {
  if (self->layer->type != FW_LAYER_FC && !is_hidden_input(self)) return 0;
  double inputs = (double)self->in_width;
  if (self->record_width > 0) {
    const int64_t range = net->plan->data.range;
    inputs = range > 0 && range < FEATURES_OF_A_ROW ? (double)range : FEATURES_OF_A_ROW;
  }
  return sqrt(6 / (inputs + (double)self->width));
}

static void draw(const real_net *net, const node *self, uint64_t which, size_t n, real *w) {
  const double deviation = net->training ? deviation_of(net, self) : 0;
  const double limit = net->training && deviation <= 0 ? limit_of(net, self) : 0;
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(net->seed, self->index), which));
  for (size_t i = 0; i < n; i++) {
    double number = 0;
    if (deviation > 0) number = deviation * fw_rng_normal(&rng);
    if (limit > 0) number = limit * (2 * fw_rng_double(&rng) - 1);
    w[i] = (real)number;
  }
}

void REAL_NAME(fw_first_dense)(const real_net *net, const node *self) {
  draw(net, self, 0, self->weights, self->weight);
}

void REAL_NAME(fw_first_record)(const void *context, uint64_t key, void *record) {
  const real_net *net = context;
  for (size_t i = 0; i < net->count; i++) {
    const node *self = &net->nodes[i];
    if (self->record_width == 0) continue;
    real *w = (real *)record + self->record_at;
    draw(net, self, key, self->record_width, w);
    for (size_t j = self->record_width; j < self->record_width * (1 + self->states); j++) w[j] = 0;
  }
}
