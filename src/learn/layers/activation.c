/* learn/layers/activation.c: activations of a layer, forward and backward, and dropout. */
#include <math.h>

#include "base/rng.h"
#include "learn/layers/layer.h"

static real sigmoid(real x) {
  if (x > 20) return 1; /* as Angel does */
  if (x < -20) return 0;
  return (real)(1.0 / (1.0 + exp(-(double)x)));
}

static void relu(real *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = x[i] > 0 || isnan(x[i]) ? x[i] : 0;
}

static void sigmoids(real *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = sigmoid(x[i]);
}

static void tanhs(real *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = (real)tanh((double)x[i]);
}

static void softmax(real *x, size_t width, size_t rows) {
  for (size_t r = 0; r < rows; r++, x += width) {
    real most = x[0];
    for (size_t j = 1; j < width; j++) most = x[j] > most ? x[j] : most;
    double sum = 0;
    for (size_t j = 0; j < width; j++) {
      x[j] = (real)exp((double)(x[j] - most));
      sum += (double)x[j];
    }
    for (size_t j = 0; j < width; j++) x[j] = (real)((double)x[j] / sum);
  }
}

/* ---- Dropout: a unit is kept or not by (seed, layer, step, row, unit), so that the backward pass finds the same ----
 */

/* Numbers of rows begin … end-1 that are dropped become 0. */
static void drop_units(const real_net *net, const node *self, const real_pass *pass, size_t begin, size_t end,
                       real *x) {
  const size_t width = self->width;
  const uint64_t key = fw_rng_hash(net->seed ^ (self->index + 1), pass->step->number);
  const double limit = self->layer->dropout * 0x1p64;
  const uint32_t *position = pass->batch->position;
  for (size_t row = begin; row < end; row++) {
    const uint64_t first = (position ? position[row] : row) * (uint64_t)width;
    for (size_t j = 0; j < width; j++)
      if ((double)fw_rng_hash(key, first + j) < limit) x[row * width + j] = 0;
  }
}

/* ---- Both ways ---- */

void REAL_NAME(fw_activate)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const fw_activation activation = self->layer->activation;
  const size_t width = self->width, n = (end - begin) * width;
  real *out = pass->tensors[self->index].out, *x = out + begin * width;
  switch (activation) {
  case FW_ACTIVATION_RELU: relu(x, n); break;
  case FW_ACTIVATION_SIGMOID:
  case FW_ACTIVATION_SIGMOID_DROPOUT: sigmoids(x, n); break;
  case FW_ACTIVATION_TANH:
  case FW_ACTIVATION_TANH_DROPOUT: tanhs(x, n); break;
  case FW_ACTIVATION_SOFTMAX: softmax(x, width, end - begin); break;
  case FW_ACTIVATION_IDENTITY:
  case FW_ACTIVATION_DROPOUT: break;
  }
  if (!fw_activation_drops(activation)) return;
  if (pass->step) {
    drop_units(net, self, pass, begin, end, out);
    return;
  }
  const real kept = (real)(1.0 - self->layer->dropout);
  for (size_t i = 0; i < n; i++) x[i] *= kept;
}

static void softmax_back(const real *y, real *g, size_t width, size_t rows) {
  for (size_t r = 0; r < rows; r++, y += width, g += width) {
    real mean = 0;
    for (size_t j = 0; j < width; j++) mean += g[j] * y[j];
    for (size_t j = 0; j < width; j++) g[j] = y[j] * (g[j] - mean);
  }
}

void REAL_NAME(fw_activate_back)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const fw_activation activation = self->layer->activation;
  const size_t width = self->width, n = (end - begin) * width;
  const real *y = pass->tensors[self->index].out + begin * width;
  real *grad = pass->tensors[self->index].grad, *g = grad + begin * width;
  if (fw_activation_drops(activation)) drop_units(net, self, pass, begin, end, grad);
  switch (activation) {
  case FW_ACTIVATION_RELU:
    for (size_t i = 0; i < n; i++) g[i] = y[i] > 0 ? g[i] : 0;
    break;
  case FW_ACTIVATION_SIGMOID:
  case FW_ACTIVATION_SIGMOID_DROPOUT: /* what was dropped has a gradient of 0 already */
    for (size_t i = 0; i < n; i++) g[i] *= y[i] * (1 - y[i]);
    break;
  case FW_ACTIVATION_TANH:
  case FW_ACTIVATION_TANH_DROPOUT:
    for (size_t i = 0; i < n; i++) g[i] *= 1 - y[i] * y[i];
    break;
  case FW_ACTIVATION_SOFTMAX: softmax_back(y, g, width, end - begin); break;
  case FW_ACTIVATION_IDENTITY:
  case FW_ACTIVATION_DROPOUT: break;
  }
}
