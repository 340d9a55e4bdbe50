/* learn/layers/layer_input_dense.c: activation(x * weight + bias) for data whose rows have every column. */
#include "learn/layers/layer.h"

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  real *out = pass->tensors[self->index].out;
  REAL_NAME(fw_dense_forward)(self, pass->x, begin, end, out);
  if (self->layer->activation != FW_ACTIVATION_IDENTITY)
    REAL_NAME(fw_activate)(net, self, pass, self->width, begin, end, out);
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const tensor *mine = &pass->tensors[self->index];
  if (self->layer->activation != FW_ACTIVATION_IDENTITY)
    REAL_NAME(fw_activate_back)(net, self, pass, self->width, begin, end, mine->out, mine->grad);
}

static void update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  (void)net;
  REAL_NAME(fw_dense_update)(self, pass, pass->x, task);
}

const layer_ops REAL_NAME(fw_input_dense_ops) = {
    .forward = forward, .backward = backward, .tasks = REAL_NAME(fw_dense_tasks), .update = update};
