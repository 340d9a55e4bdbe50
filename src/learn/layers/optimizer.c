/* learn/layers/optimizer.c: optimizers at a step; the rules themselves are kern/math/steps_tmpl.h. */
#include <math.h>

#include "kern/simd/unroll.h"
#include "learn/layers/layer.h"

static const fw_step_kernel *kernel_of(fw_optimizer_type type) {
  const fw_steps *steps = REAL_NAME(fw_steps_table)();
  switch (type) {
  case FW_OPTIMIZER_SGD: return &steps->sgd;
  case FW_OPTIMIZER_MOMENTUM: return &steps->momentum;
  case FW_OPTIMIZER_ADAGRAD: return &steps->adagrad;
  case FW_OPTIMIZER_ADADELTA: return &steps->adadelta;
  case FW_OPTIMIZER_ADAM: return &steps->adam;
  case FW_OPTIMIZER_PUBLISHED_ADAGRAD: return &steps->published_adagrad;
  case FW_OPTIMIZER_FTRL: break;
  }
  return &steps->ftrl;
}

void REAL_NAME(fw_optimizer_step)(optimizer_step *made, const node *self, const real_pass *pass) {
  const fw_optimizer *optimizer = &self->layer->optimizer;
  const fw_step *step = pass->step;
  fw_step_rule rule = {.a = optimizer->a, .b = optimizer->b, .l1 = optimizer->l1, .l2 = optimizer->l2};
  rule.rate = isnan(optimizer->lr) ? step->rate : optimizer->lr * step->scale;
  if (optimizer->type == FW_OPTIMIZER_FTRL) rule.a = ldexp(optimizer->a, -(int)step->halvings);
  rule.per_row = 1 / (double)pass->batch->rows;
  rule.keeps_first = self->keeps_first;
  if (optimizer->type == FW_OPTIMIZER_ADAM) {
    const double age = step->number > 0 ? (double)step->number : 1;
    rule.rate /= 1 - pow(optimizer->a, age);
    rule.young = 1 / (1 - pow(optimizer->b, age));
  }
  *made = (optimizer_step){rule, kernel_of(optimizer->type)};
}

/* Columns whose sums stay in registers. */
#define AT_ONCE 16

INLINE void sum_columns(const size_t n, const real *from, size_t rows, size_t width, real *sum) {
  real kept[AT_ONCE] = {0};
  for (size_t row = 0; row < rows; row++)
    for (size_t j = 0; j < n; j++) kept[j] += from[row * width + j];
  for (size_t j = 0; j < n; j++) sum[j] = kept[j];
}

/* Plain descent with the training's rate, as Angel does. */
static void descend(const node *self, const real_pass *pass, size_t at, size_t n, const real *sum) {
  const real rate = (real)(pass->step->rate / (double)pass->batch->rows);
  for (size_t j = 0; j < n; j++) self->bias[at + j] -= rate * sum[j];
}

static void step_bias(const node *self, const real_pass *pass, size_t at, size_t n, const real *sum) {
  real *const *state = self->bias_state;
  optimizer_step step;
  if (!self->bias_optimizer) {
    descend(self, pass, at, n, sum);
    return;
  }
  REAL_NAME(fw_optimizer_step)(&step, self, pass);
  step.rule.l1 = step.rule.l2 = 0;
  step.kernel->array(&step.rule, n, self->bias + at, state[0] ? state[0] + at : NULL, state[1] ? state[1] + at : NULL,
                     sum);
}

void REAL_NAME(fw_update_bias)(const node *self, const real_pass *pass) {
  const size_t rows = pass->batch->rows, width = self->width;
  real *dense = pass->dense && self->weights ? pass->dense + self->dense_at + self->weights : NULL;
  const real *grad = pass->tensors[self->index].grad;
  for (size_t at = 0; at < width; at += AT_ONCE) {
    const size_t n = width - at < AT_ONCE ? width - at : AT_ONCE;
    real own[AT_ONCE], *sum = dense ? dense + at : own;
    if (dense && pass->step) {
      /* they came from all ranks */
    } else if (n == AT_ONCE) {
      sum_columns(AT_ONCE, grad + at, rows, width, sum);
    } else {
      sum_columns(n, grad + at, rows, width, sum);
    }
    if (pass->step) step_bias(self, pass, at, n, sum);
  }
}
