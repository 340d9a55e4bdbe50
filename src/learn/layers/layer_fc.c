/* learn/layers/layer_fc.c: a fully connected layer: out = activation(x * W + b), W is in x out. */
#include <string.h>

#include "kern/math/gemm.h"
#include "learn/layers/layer.h"

/* Weights of one task of the update, at most: their gradient lies on the stack. */
#define TASK_WEIGHTS 3072
/* Approximate number of columns of a task. Tasks begin at multiples of the products' tile: COLUMN_STEP columns,
 * ROW_STEP rows. */
#define TASK_COLUMNS 160
#define COLUMN_STEP 16
#define ROW_STEP 8

/* ---- Matrix products, row-major ----
 *
 * c (m x n) = a * b, or += with `add`; ld: numbers from one row to the next. nn: a is m x k, b is k x n; nt: b is n x k
 * and its transpose is taken; tn: a is k x m and its transpose is taken. Floats: kern/math/gemm.h; doubles: plain
 * loops. */

#if FW_REAL_BITS == 64

/* c = or += a * b where element (i, l) of a is a[i * by_row + l * by_k]: a row of b at a time. */
static void multiply_blocks(size_t m, size_t n, size_t k, const real *a, size_t by_row, size_t by_k, const real *b,
                            size_t ldb, real *restrict c, size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    real *restrict row = c + i * ldc;
    if (!add) memset(row, 0, n * sizeof *row);
    for (size_t l = 0; l < k; l++) {
      const real x = a[i * by_row + l * by_k];
      for (size_t j = 0; j < n; j++) row[j] += x * b[l * ldb + j];
    }
  }
}

static void product_nn(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *c,
                       size_t ldc, bool add) {
  multiply_blocks(m, n, k, a, lda, 1, b, ldb, c, ldc, add);
}

static void product_nt(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *c,
                       size_t ldc, bool add) {
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      real sum = 0;
      for (size_t l = 0; l < k; l++) sum += a[i * lda + l] * b[j * ldb + l];
      c[i * ldc + j] = add ? c[i * ldc + j] + sum : sum;
    }
  }
}

static void product_tn(size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b, size_t ldb, real *c,
                       size_t ldc, bool add) {
  multiply_blocks(m, n, k, a, 1, lda, b, ldb, c, ldc, add);
}

#define PRODUCT(kind) product_##kind
#else
#define PRODUCT(kind) fw_gemm_table()->kind
#endif

/* ---- What fc layers and input layers of dense data share ---- */

void REAL_NAME(fw_dense_forward)(const node *self, const real *x, size_t begin, size_t end, real *out) {
  const size_t in = self->in_width, width = self->width;
  for (size_t i = begin; i < end; i++) memcpy(out + i * width, self->bias, width * sizeof *out);
  PRODUCT(nn)(end - begin, width, in, x + begin * in, in, self->weight, width, out + begin * width, width, true);
}

typedef struct task_shape {
  size_t rows, cols, down, across; /* rows and columns of a task; tasks in each direction */
} task_shape;

static size_t ceil_div(size_t n, size_t by) {
  return (n + by - 1) / by;
}

static task_shape shape_of(const node *self) {
  task_shape shape = {.cols = self->width};
  const size_t across = ceil_div(self->width, TASK_COLUMNS);
  if (across > 1) shape.cols = ceil_div(ceil_div(self->width, across), COLUMN_STEP) * COLUMN_STEP;
  shape.rows = TASK_WEIGHTS / shape.cols / ROW_STEP * ROW_STEP;
  shape.down = ceil_div(self->in_width, shape.rows);
  shape.across = ceil_div(self->width, shape.cols);
  return shape;
}

/* The last task is the bias. */
size_t REAL_NAME(fw_dense_tasks)(const node *self) {
  const task_shape shape = shape_of(self);
  return shape.down * shape.across + 1;
}

/* The part of W that a task updates. */
typedef struct task_part {
  size_t row, col, down, across;
} task_part;

static task_part part_of(const node *self, const task_shape *shape, size_t task) {
  const size_t row = task / shape->across * shape->rows, col = task % shape->across * shape->cols;
  const size_t down = self->in_width - row, across = self->width - col;
  return (task_part){row, col, down < shape->rows ? down : shape->rows, across < shape->cols ? across : shape->cols};
}

/* g = the sums over the rows of the batch of x[row][i] * gradient[row][j], i < down. */
static void sum_products(const node *self, const real_pass *pass, const real *x, size_t x_width, size_t down,
                         const task_part *part, real *g, size_t ld) {
  const size_t rows = pass->batch->rows, end = part->col + part->across;
  const real *grad = pass->tensors[self->index].grad + part->col;
  if (REAL_NAME(fw_packed_gradient)(self, pass, x, x_width, down, part->col, end, g, ld)) return;
  PRODUCT(tn)(down, part->across, rows, x, x_width, grad, self->width, g, ld, false);
}

/* g: down x across. */
static void sum_gradients(const node *self, const real_pass *pass, const dense_part *from, const task_part *part,
                          real *g, size_t ld) {
  if (pass->batch->rows == 0) { /* of a rank */
    for (size_t i = 0; i < part->down; i++) memset(g + i * ld, 0, part->across * sizeof *g);
    return;
  }
  size_t first = 0;
  for (size_t row = part->row; row < part->row + part->down; from++) {
    const size_t last = first + from->width, end = part->row + part->down < last ? part->row + part->down : last;
    if (row < last) {
      sum_products(self, pass, from->x + (row - first), from->width, end - row, part, g + (row - part->row) * ld, ld);
      row = end;
    }
    first = last;
  }
}

static void step_weights(const node *self, const real_pass *pass, size_t at, size_t n, const real *g) {
  optimizer_step step;
  REAL_NAME(fw_optimizer_step)(&step, self, pass);
  step.kernel->array(&step.rule, n, self->weight + at, self->state[0] ? self->state[0] + at : NULL,
                     self->state[1] ? self->state[1] + at : NULL, g);
}

static void update_weights(const real_net *net, const node *self, const real_pass *pass, const dense_part *parts,
                           const task_part *part) {
  const size_t at = part->row * self->width + part->col, ld = pass->dense ? self->width : part->across;
  real own[TASK_WEIGHTS], *g = pass->dense ? pass->dense + self->dense_at + at : own;
  if (!pass->dense || !pass->step) sum_gradients(self, pass, parts, part, g, ld);
  if (!pass->step) return;
  if (part->across == self->width) { /* whole rows: one after the other */
    step_weights(self, pass, at, part->down * part->across, g);
  } else {
    for (size_t i = 0; i < part->down; i++) step_weights(self, pass, at + i * self->width, part->across, g + i * ld);
  }
  REAL_NAME(fw_pack_weights)(net, self, part->row, part->row + part->down, part->col, part->col + part->across);
}

void REAL_NAME(fw_dense_update)(const real_net *net, const node *self, const real_pass *pass, const dense_part *parts,
                                size_t task) {
  const task_shape shape = shape_of(self);
  const task_part part = part_of(self, &shape, task);
  if (task == shape.down * shape.across)
    REAL_NAME(fw_update_bias)(self, pass);
  else
    update_weights(net, self, pass, parts, &part);
}

/* ---- The layer ---- */

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  if (REAL_NAME(fw_packed_forward)(net, self, pass, begin, end)) {
    if (self->layer->activation == FW_ACTIVATION_RELU) return;
  } else {
    if (self->reads_through != NO_LAYER)
      REAL_NAME(fw_concat_rows)(net, &net->nodes[self->reads_through], pass, begin, end);
    REAL_NAME(fw_dense_forward)
    (self, pass->tensors[self->layer->inputs[0]].out, begin, end, pass->tensors[self->index].out);
  }
  REAL_NAME(fw_activate)(net, self, pass, begin, end);
}

/* Whether the k-th layer that this one reads has a gradient to add to. */
static bool adds_gradient(const real_net *net, const node *self, size_t k) {
  return !sets_gradient(net, self->reads_through == NO_LAYER ? self : &net->nodes[self->reads_through], k);
}

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const tensor *own = &pass->tensors[self->index];
  const size_t width = self->width;
  size_t first = 0;
  REAL_NAME(fw_activate_back)(net, self, pass, begin, end);
  REAL_NAME(fw_pack_gradient)(self, pass, begin, end);
  for (size_t k = 0; k < self->part_count; k++) {
    const size_t from = self->parts[k], cols = net->nodes[from].width;
    const bool add = adds_gradient(net, self, k);
    if (!REAL_NAME(fw_packed_backward)(net, self, pass, k, begin, end, add)) PRODUCT(nt)
    (end - begin, cols, width, own->grad + begin * width, width, self->weight + first * width, width,
     pass->tensors[from].grad + begin * cols, cols, add);
    first += cols;
  }
}

static void update(const real_net *net, const node *self, real_pass *pass, size_t task) {
  dense_part parts[MOST_PARTS];
  for (size_t k = 0; k < self->part_count; k++)
    parts[k] = (dense_part){pass->tensors[self->parts[k]].out, net->nodes[self->parts[k]].width};
  REAL_NAME(fw_dense_update)(net, self, pass, parts, task);
}

const layer_ops REAL_NAME(fw_fc_ops) = {.forward = forward,
                                        .backward = backward,
                                        .sets_gradients = true,
                                        .tasks = REAL_NAME(fw_dense_tasks),
                                        .update = update};
