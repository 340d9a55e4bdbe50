/* learn/layers/layer_fc.c: a fully connected layer: out = activation(x * W + b), W is in x out. */
#include <string.h>

#include "learn/layers/layer.h"
#include "learn/layers/real.h"

/* Weights of one task of the update: their gradient lies on the stack. */
#define TASK_WEIGHTS 4096

/* ---- What fc layers and input layers of dense data share ---- */

void REAL_NAME(fw_dense_forward)(const node *self, const real *x, size_t begin, size_t end, real *out) {
  const size_t in = self->in_width, width = self->width;
  for (size_t i = begin; i < end; i++) memcpy(out + i * width, self->bias, width * sizeof *out);
  REAL_NAME(fw_product_nn)
  (end - begin, width, in, x + begin * in, in, self->weight, width, out + begin * width, width, true);
}

/* A task has `rows` rows of W, or a part of one row where rows are long. */
typedef struct task_shape {
  size_t rows, cols, down, across; /* of a task; how many tasks */
} task_shape;

static task_shape shape_of(const node *self) {
  task_shape shape = {.cols = self->width < TASK_WEIGHTS ? self->width : TASK_WEIGHTS};
  shape.rows = TASK_WEIGHTS / shape.cols;
  shape.down = (self->in_width + shape.rows - 1) / shape.rows;
  shape.across = (self->width + shape.cols - 1) / shape.cols;
  return shape;
}

/* The last task is the bias. */
size_t REAL_NAME(fw_dense_tasks)(const node *self) {
  const task_shape shape = shape_of(self);
  return shape.down * shape.across + 1;
}

static void update_weights(const node *self, const real_pass *pass, const real *x, const task_shape *shape,
                           size_t task) {
  const size_t width = self->width, rows = pass->batch->rows;
  const size_t row = task / shape->across * shape->rows, col = task % shape->across * shape->cols;
  const size_t down = self->in_width - row < shape->rows ? self->in_width - row : shape->rows;
  const size_t across = width - col < shape->cols ? width - col : shape->cols;
  const real *grad = pass->tensors[self->index].grad;
  real g[TASK_WEIGHTS];
  REAL_NAME(fw_product_tn)
  (down, across, rows, x + row, self->in_width, grad + col, width, g, across, false);
  /* one row of W, or whole rows: contiguous either way */
  const size_t at = row * width + col;
  optimizer_step step;
  REAL_NAME(fw_optimizer_step)(&step, self, pass);
  REAL_NAME(fw_optimize)
  (&step, down * across, self->weight + at, self->state[0] ? self->state[0] + at : NULL,
   self->state[1] ? self->state[1] + at : NULL, g);
}

void REAL_NAME(fw_dense_update)(const node *self, const real_pass *pass, const real *x, size_t task) {
  const task_shape shape = shape_of(self);
  if (task == shape.down * shape.across)
    REAL_NAME(fw_update_bias)(self, pass);
  else
    update_weights(self, pass, x, &shape, task);
}

/* ---- The layer ---- */

static const tensor *input_of(const node *self, const real_pass *pass) {
  return &pass->tensors[self->layer->inputs[0]];
}

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  real *out = pass->tensors[self->index].out;
  REAL_NAME(fw_dense_forward)(self, input_of(self, pass)->out, begin, end, out);
  REAL_NAME(fw_activate)(net, self, pass, self->width, begin, end, out);
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const tensor *own = &pass->tensors[self->index];
  const size_t in = self->in_width, width = self->width;
  REAL_NAME(fw_activate_back)(net, self, pass, width, begin, end, own->out, own->grad);
  REAL_NAME(fw_product_nt)
  (end - begin, in, width, own->grad + begin * width, width, self->weight, width,
   input_of(self, pass)->grad + begin * in, in, !sets_gradient(net, self, 0));
}

static void update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  (void)net;
  REAL_NAME(fw_dense_update)(self, pass, input_of(self, pass)->out, task);
}

const layer_ops REAL_NAME(fw_fc_ops) = {.forward = forward,
                                        .backward = backward,
                                        .sets_gradients = true,
                                        .tasks = REAL_NAME(fw_dense_tasks),
                                        .update = update};
