/* learn/layers/layer_field_aware.c: FieldAwareCross: the sum over all pairs of a row's features i, j of
 * <v_{i,f(j)}, v_{j,f(i)}> x_i x_j, where f is the field of a feature.
 *
 * The embedding has a slot for each of F fields, and a feature's numbers are F vectors of k: one for each field that it
 * may meet. With S_fg, the sum of x_i v_{i,g} over the features of field f (the embedding's output), pairs of two
 * fields give <S_fg, S_gf>. Pairs within a field give the sum over its features of <u_i, S_ff - u_i> / 2, u_i = x_i
 * v_{i,f}: exactly 0 for a field with one feature, in the gradient, too, so that no optimizer makes steps of rounding
 * errors. */
#include "kern/simd/unroll.h"
#include "learn/layers/layer.h"

/* The embedding of a cross, and how its numbers lie. */
typedef struct pair_view {
  const node *embedding;
  const tensor *sums;
  size_t fields, factors;
} pair_view;

static pair_view view_of(const real_net *net, const node *self, const real_pass *pass) {
  const node *embedding = &net->nodes[self->layer->inputs[0]];
  return (pair_view){embedding, &pass->tensors[embedding->index], embedding->layer->slots, self->layer->factors};
}

/* Where S_fg of a row begins. */
INLINE size_t at_pair(const pair_view *v, size_t row, size_t f, size_t g) {
  return row * v->embedding->width + (f * v->fields + g) * v->factors;
}

/* A feature in a row: its place in the embedding (row * fields + field) and its value. */
typedef struct occurrence {
  size_t place, field;
  real x;
} occurrence;

INLINE occurrence occurrence_at(const fw_minibatch *batch, size_t fields, size_t use, size_t place) {
  return (occurrence){place, place % fields, batch->value ? (real)batch->value[use] : 1};
}

/* ---- Forward ---- */

static real across_fields(const pair_view *v, size_t row) {
  const real *sums = v->sums->out;
  real total = 0;
  for (size_t f = 0; f < v->fields; f++)
    for (size_t g = f + 1; g < v->fields; g++) {
      const real *a = sums + at_pair(v, row, f, g), *b = sums + at_pair(v, row, g, f);
      for (size_t t = 0; t < v->factors; t++) total += a[t] * b[t];
    }
  return total;
}

static real within_fields(const pair_view *v, const real_pass *pass, size_t row) {
  const fw_minibatch *batch = pass->batch;
  real total = 0;
  for (uint32_t use = batch->offset[row]; use < batch->offset[row + 1]; use++) {
    const occurrence o = occurrence_at(batch, v->fields, use, batch->place ? batch->place[use] : use);
    const real *own = pass->record[batch->feature[use]] + v->embedding->record_at + o.field * v->factors;
    const real *sum = v->sums->out + at_pair(v, row, o.field, o.field);
    for (size_t t = 0; t < v->factors; t++) total += o.x * own[t] * (sum[t] - o.x * own[t]);
  }
  return total / 2;
}

static void forward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const pair_view v = view_of(net, self, pass);
  real *out = pass->tensors[self->index].out;
  for (size_t row = begin; row < end; row++) out[row] = across_fields(&v, row) + within_fields(&v, pass, row);
}

/* ---- Backward: pairs within a field are left to the update, which has the features ---- */

static void backward(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end) {
  const pair_view v = view_of(net, self, pass);
  const real *slope = pass->tensors[self->index].grad;
  for (size_t row = begin; row < end; row++)
    for (size_t f = 0; f < v.fields; f++)
      for (size_t g = 0; g < v.fields; g++) {
        const real *other = v.sums->out + at_pair(&v, row, g, f);
        real *grad = v.sums->grad + at_pair(&v, row, f, g);
        for (size_t t = 0; f != g && t < v.factors; t++) grad[t] += slope[row] * other[t];
      }
}

const layer_ops REAL_NAME(fw_field_aware_ops) = {.forward = forward, .backward = backward};

/* ---- Update of the embedding ---- */

/* Numbers of a feature whose gradients are summed at once. */
#define SUMS 1024

/* Adds to sum[0 … n-1], gradients of the numbers from `at` on, what pairs within the field give: those numbers of
 * vector `field` that are among them. */
static void add_within(const pair_view *v, real slope, const occurrence *o, const real *w, size_t at, size_t n,
                       real *sum) {
  const size_t first = o->field * v->factors, last = first + v->factors;
  const size_t begin = first > at ? first : at, end = last < at + n ? last : at + n;
  const real *total = v->sums->out + o->place * v->embedding->record_width;
  for (size_t t = begin; t < end; t++) sum[t - at] += slope * o->x * (total[t] - o->x * w[t]);
}

static void sum_uses(const pair_view *v, const real_pass *pass, const real *slope, size_t feature, const real *w,
                     size_t at, size_t n, real *sum) {
  const fw_minibatch *batch = pass->batch;
  for (size_t j = 0; j < n; j++) sum[j] = 0;
  for (uint32_t i = batch->use_offset[feature]; i < batch->use_offset[feature + 1]; i++) {
    const occurrence o = occurrence_at(batch, v->fields, batch->use[i], batch->use_place[i]);
    const real *grad = v->sums->grad + o.place * v->embedding->record_width + at;
    for (size_t j = 0; j < n; j++) sum[j] += o.x * grad[j];
    add_within(v, slope[o.place / v->fields], &o, w, at, n, sum);
  }
}

void REAL_NAME(fw_field_aware_use)(const real_net *net, const node *self, const real_pass *pass, size_t use,
                                   real *sum) {
  const node *cross = &net->nodes[self->field_cross];
  const pair_view v = view_of(net, cross, pass);
  const fw_minibatch *batch = pass->batch;
  const occurrence o = occurrence_at(batch, v.fields, use, batch->place ? batch->place[use] : use);
  const real *grad = v.sums->grad + o.place * self->record_width;
  const real *w = pass->record[batch->feature[use]] + self->record_at;
  for (size_t j = 0; j < self->record_width; j++) sum[j] = o.x * grad[j];
  add_within(&v, pass->tensors[cross->index].grad[o.place / v.fields], &o, w, 0, self->record_width, sum);
}

/* From what fw_field_aware_use has made of each use. */
static void add_uses(const node *self, const real_pass *pass, size_t feature, size_t at, size_t n, real *sum) {
  const fw_minibatch *batch = pass->batch;
  for (size_t j = 0; j < n; j++) sum[j] = 0;
  for (uint32_t i = batch->use_offset[feature]; i < batch->use_offset[feature + 1]; i++) {
    const real *from = pass->tensors[self->index].grad + batch->use[i] * self->record_width + at;
    for (size_t j = 0; j < n; j++) sum[j] += from[j];
  }
}

void REAL_NAME(fw_update_field_aware)(const real_net *net, const node *self, const real_pass *pass, size_t begin,
                                      size_t end) {
  const node *cross = &net->nodes[self->field_cross];
  const pair_view v = view_of(net, cross, pass);
  const real *slope = pass->tensors[cross->index].grad;
  const size_t width = self->record_width;
  optimizer_step o;
  real sum[SUMS];
  REAL_NAME(fw_optimizer_step)(&o, self, pass);
  for (size_t feature = begin; feature < end; feature++) {
    real *w = pass->record[feature] + self->record_at;
    for (size_t at = 0; at < width; at += SUMS) {
      const size_t n = width - at < SUMS ? width - at : SUMS;
      if (pass->kind == PASS_OWN_FEATURES)
        add_uses(self, pass, feature, at, n, sum);
      else
        sum_uses(&v, pass, slope, feature, w, at, n, sum);
      o.kernel->array(&o.rule, n, w + at, w + width + at, w + 2 * width + at, sum);
    }
  }
}
