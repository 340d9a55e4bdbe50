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

/* The part of W that a task has. */
typedef struct task_part {
  size_t row, col, down, across;
} task_part;

static task_part part_of(const node *self, const task_shape *shape, size_t task) {
  const size_t row = task / shape->across * shape->rows, col = task % shape->across * shape->cols;
  const size_t down = self->in_width - row, across = self->width - col;
  return (task_part){row, col, down < shape->rows ? down : shape->rows, across < shape->cols ? across : shape->cols};
}

/* g: down x across. */
static void sum_gradients(const node *self, const real_pass *pass, const real *x, const task_part *part, real *g) {
  const size_t rows = pass->batch->rows;
  if (rows == 0) { /* of a rank */
    memset(g, 0, part->down * part->across * sizeof *g);
    return;
  }
  const real *grad = pass->tensors[self->index].grad + part->col;
  REAL_NAME(fw_product_tn)
  (part->down, part->across, rows, x + part->row, self->in_width, grad, self->width, g, part->across, false);
}

static void update_weights(const node *self, const real_pass *pass, const real *x, const task_shape *shape,
                           size_t task) {
  const task_part part = part_of(self, shape, task);
  /* one row of W, or whole rows: contiguous either way */
  const size_t at = part.row * self->width + part.col;
  real own[TASK_WEIGHTS], *g = pass->dense ? pass->dense + self->dense_at + at : own;
  if (!pass->dense || !pass->step) sum_gradients(self, pass, x, &part, g);
  if (!pass->step) return;
  optimizer_step step;
  REAL_NAME(fw_optimizer_step)(&step, self, pass);
  REAL_NAME(fw_optimize)
  (&step, part.down * part.across, self->weight + at, self->state[0] ? self->state[0] + at : NULL,
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
