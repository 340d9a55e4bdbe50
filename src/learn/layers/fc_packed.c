/* learn/layers/fc_packed.c: fully connected layers of floats with packed weights.
 *
 * Packing a matrix takes as long as multiplying it with a few rows, and a task has only a few rows. So the weights of a
 * net in training are packed once for an update, by the tasks that update them, and the gradients of a layer's output
 * by the tasks that compute them. All sums equal the sums of the plain products to the bit. Doubles have no packed
 * products. */

#include "base/error.h"
#include "kern/math/gemm.h"
#include "learn/layers/layer.h"

/* Larger arrays would take too much memory three times; with fewer outputs most of a register would be zeros. */
#define MOST_WEIGHTS ((size_t)1 << 24)
#define LEAST_WIDTH 8
/* Fewer rows are not worth a tile. */
#define LEAST_ROWS 4

_Static_assert(MOST_PARTS <= FW_GEMM_PARTS, "parts of a left matrix");

#if FW_REAL_BITS == 32

struct packed_weights {
  real *forward;              /* in_width x width */
  real *backward[MOST_PARTS]; /* width x the width of each input: transposed */
};

static furrow_status take_matrix(real_net *net, real **numbers, size_t rows, size_t cols, furrow_error *err) {
  return FW_ARENA_TAKE(&net->arena, numbers, fw_gemm_table()->packed_size(rows, cols), err);
}

static furrow_status build_weights(real_net *net, node *self, furrow_error *err) {
  packed_weights *made = NULL;
  FW_TRY(FW_ARENA_TAKE(&net->arena, &made, 1, err));
  FW_TRY(take_matrix(net, &made->forward, self->in_width, self->width, err));
  for (size_t k = 0; k < self->part_count; k++)
    FW_TRY(take_matrix(net, &made->backward[k], self->width, net->nodes[self->parts[k]].width, err));
  self->packed = made;
  return FURROW_OK;
}

furrow_status REAL_NAME(fw_packed_build)(real_net *net, node *self, furrow_error *err) {
  const bool pays = net->training && self->width >= LEAST_WIDTH && self->weights <= MOST_WEIGHTS;
  return pays ? build_weights(net, self, err) : FURROW_OK;
}

size_t REAL_NAME(fw_packed_gradient_size)(const node *self, size_t rows) {
  return self->packed ? fw_gemm_table()->packed_size(rows, self->width) : 0;
}

/* ---- Weights ---- */

static void pack_weights(const real_net *net, const node *self, size_t begin, size_t end, size_t begin_col,
                         size_t end_col) {
  const packed_weights *packed = self->packed;
  const size_t width = self->width;
  size_t first = 0;
  if (!packed) return;
  fw_gemm_table()->pack(&(fw_gemm_pack){.k = self->in_width,
                                        .n = width,
                                        .b = self->weight,
                                        .by_row = width,
                                        .by_col = 1,
                                        .begin_row = begin,
                                        .end_row = end,
                                        .begin_col = begin_col,
                                        .end_col = end_col,
                                        .packed = packed->forward});
  for (size_t k = 0; k < self->part_count; k++) {
    const size_t cols = net->nodes[self->parts[k]].width, last = first + cols;
    if (begin < last && end > first)
      fw_gemm_table()->pack(&(fw_gemm_pack){.k = width,
                                            .n = cols,
                                            .b = self->weight + first * width,
                                            .by_row = 1,
                                            .by_col = width,
                                            .begin_row = begin_col,
                                            .end_row = end_col,
                                            .begin_col = begin > first ? begin - first : 0,
                                            .end_col = end < last ? end - first : cols,
                                            .packed = packed->backward[k]});
    first = last;
  }
}

/* If another thread is packing all weights now, it may have read old weights: it must pack them again. */
void REAL_NAME(fw_pack_weights)(const real_net *net, const node *self, size_t begin, size_t end, size_t begin_col,
                                size_t end_col) {
  int now = FW_COPIES_BEING_MADE;
  pack_weights(net, self, begin, end, begin_col, end_col);
  atomic_compare_exchange_strong(net->base.parameters->copies, &now, FW_COPIES_STALE);
}

static bool is_fresh(const real_net *net) {
  return atomic_load_explicit(net->base.parameters->copies, memory_order_acquire) == FW_COPIES_FRESH;
}

void REAL_NAME(fw_pack_stale)(const real_net *net) {
  int stale = FW_COPIES_STALE, now = FW_COPIES_BEING_MADE;
  if (is_fresh(net) || !atomic_compare_exchange_strong(net->base.parameters->copies, &stale, FW_COPIES_BEING_MADE))
    return;
  for (size_t i = 0; i < net->count; i++)
    pack_weights(net, &net->nodes[i], 0, net->nodes[i].in_width, 0, net->nodes[i].width);
  atomic_compare_exchange_strong(net->base.parameters->copies, &now, FW_COPIES_FRESH);
}

/* ---- Rows ---- */

bool REAL_NAME(fw_packed_forward)(const real_net *net, const node *self, const real_pass *pass, size_t begin,
                                  size_t end) {
  fw_gemm_part parts[MOST_PARTS];
  if (!self->packed || end - begin < LEAST_ROWS || !is_fresh(net)) return false;
  for (size_t k = 0; k < self->part_count; k++) {
    const size_t from = self->parts[k], width = net->nodes[from].width;
    parts[k] = (fw_gemm_part){pass->tensors[from].out + begin * width, width, 1, width};
  }
  fw_gemm_table()->multiply(&(fw_gemm_job){.m = end - begin,
                                           .n = self->width,
                                           .end_col = self->width,
                                           .parts = parts,
                                           .part_count = self->part_count,
                                           .packed = self->packed->forward,
                                           .c = pass->tensors[self->index].out + begin * self->width,
                                           .ldc = self->width,
                                           .bias = self->bias,
                                           .relu = self->layer->activation == FW_ACTIVATION_RELU});
  return true;
}

bool REAL_NAME(fw_packed_backward)(const real_net *net, const node *self, const real_pass *pass, size_t part,
                                   size_t begin, size_t end, bool add) {
  const size_t width = net->nodes[self->parts[part]].width;
  const fw_gemm_part left = {pass->tensors[self->index].grad + begin * self->width, self->width, 1, self->width};
  if (!self->packed || !is_fresh(net)) return false;
  fw_gemm_table()->multiply(&(fw_gemm_job){.m = end - begin,
                                           .n = width,
                                           .end_col = width,
                                           .parts = &left,
                                           .part_count = 1,
                                           .packed = self->packed->backward[part],
                                           .c = pass->tensors[self->parts[part]].grad + begin * width,
                                           .ldc = width,
                                           .add = add});
  return true;
}

void REAL_NAME(fw_pack_gradient)(const node *self, const real_pass *pass, size_t begin, size_t end) {
  const tensor *own = &pass->tensors[self->index];
  if (!own->packed) return;
  fw_gemm_table()->pack(&(fw_gemm_pack){.k = pass->batch->rows,
                                        .n = self->width,
                                        .b = own->grad,
                                        .by_row = self->width,
                                        .by_col = 1,
                                        .begin_row = begin,
                                        .end_row = end,
                                        .end_col = self->width,
                                        .packed = own->packed});
}

/* ---- Gradients of weights ---- */

bool REAL_NAME(fw_packed_gradient)(const node *self, const real_pass *pass, const real *x, size_t ld, size_t rows,
                                   size_t begin_col, size_t end_col, real *sum, size_t sum_ld) {
  const fw_gemm_part left = {x, 1, ld, pass->batch->rows};
  if (!pass->tensors[self->index].packed) return false;
  fw_gemm_table()->multiply(&(fw_gemm_job){.m = rows,
                                           .n = self->width,
                                           .begin_col = begin_col,
                                           .end_col = end_col,
                                           .parts = &left,
                                           .part_count = 1,
                                           .packed = pass->tensors[self->index].packed,
                                           .c = sum,
                                           .ldc = sum_ld});
  return true;
}

#else

furrow_status REAL_NAME(fw_packed_build)(real_net *net, node *self, furrow_error *err) {
  (void)net, (void)self, (void)err;
  return FURROW_OK;
}

size_t REAL_NAME(fw_packed_gradient_size)(const node *self, size_t rows) {
  (void)self, (void)rows;
  return 0;
}

void REAL_NAME(fw_pack_weights)(const real_net *net, const node *self, size_t begin, size_t end, size_t begin_col,
                                size_t end_col) {
  (void)net, (void)self, (void)begin, (void)end, (void)begin_col, (void)end_col;
}

void REAL_NAME(fw_pack_stale)(const real_net *net) {
  (void)net;
}

bool REAL_NAME(fw_packed_forward)(const real_net *net, const node *self, const real_pass *pass, size_t begin,
                                  size_t end) {
  (void)net, (void)self, (void)pass, (void)begin, (void)end;
  return false;
}

bool REAL_NAME(fw_packed_backward)(const real_net *net, const node *self, const real_pass *pass, size_t part,
                                   size_t begin, size_t end, bool add) {
  (void)net, (void)self, (void)pass, (void)part, (void)begin, (void)end, (void)add;
  return false;
}

void REAL_NAME(fw_pack_gradient)(const node *self, const real_pass *pass, size_t begin, size_t end) {
  (void)self, (void)pass, (void)begin, (void)end;
}

bool REAL_NAME(fw_packed_gradient)(const node *self, const real_pass *pass, const real *x, size_t ld, size_t rows,
                                   size_t begin_col, size_t end_col, real *sum, size_t sum_ld) {
  (void)self, (void)pass, (void)x, (void)ld, (void)rows, (void)begin_col, (void)end_col, (void)sum, (void)sum_ld;
  return false;
}

#endif
