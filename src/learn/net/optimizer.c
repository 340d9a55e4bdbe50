/* learn/net/optimizer.c: one step of each optimizer, by the rules of Angel's servers.
 *
 * w weight, g mean gradient, l1 and l2 the regularisation, r the rate. A weight whose step would be 0 / 0 stays. */
#include <math.h>

#include "learn/net/layer.h"

#if FW_REAL_BITS == 64
#define root sqrt
#define magnitude fabs
#define toward copysign
#else
#define root sqrtf
#define magnitude fabsf
#define toward copysignf
#endif

/* Moves w toward 0 by t, not beyond. */
static inline real shrunk(real w, real t) {
  const real left = magnitude(w) - t;
  return left > 0 ? toward(left, w) : 0;
}

/* The proximal step: r' = r / (1 + l2 r); w (1 - r' l2) - r' g, then shrunk by r' l1. */
static void step_sgd(const optimizer_step *o, size_t n, real *restrict w, const real *restrict sum) {
  for (size_t i = 0; i < n; i++) w[i] = w[i] * o->keep - o->rate * (sum[i] * o->per_row);
  for (size_t i = 0; o->shrink > 0 && i < n; i++) w[i] = shrunk(w[i], o->shrink);
}

/* v = m v + g; w -= r v */
static void step_momentum(const optimizer_step *o, size_t n, real *restrict w, real *restrict v,
                          const real *restrict sum) {
  for (size_t i = 0; i < n; i++) {
    v[i] = o->a * v[i] + (sum[i] * o->per_row + o->l2 * w[i]);
    w[i] -= o->rate * v[i];
  }
}

/* s = b s + (1 - b) g^2; w -= r (g + l2 w) / (sqrt s + l2 r), then shrunk by l1 r / (sqrt s + l2 r). */
static void step_adagrad(const optimizer_step *o, size_t n, real *restrict w, real *restrict s,
                         const real *restrict sum) {
  for (size_t i = 0; i < n; i++) {
    const real g = sum[i] * o->per_row;
    s[i] = o->a * s[i] + o->rest_a * g * g;
    const real scale = root(s[i]) + o->floor, step = (g + o->l2 * w[i]) * o->rate / scale;
    w[i] -= scale > 0 ? step : 0;
  }
  for (size_t i = 0; o->shrink > 0 && i < n; i++) w[i] = shrunk(w[i], o->shrink / (root(s[i]) + o->floor));
}

/* s = a s + (1 - a) g^2; h = sqrt((s + e) / (d + e)); step = (g + l2 w) / (sqrt h + l2); w -= step;
 * d = b d + (1 - b) step^2; then shrunk by l1 / (sqrt h + l2). No rate. */
static void step_adadelta(const optimizer_step *o, size_t n, real *restrict w, real *restrict s, real *restrict d,
                          const real *restrict sum) {
  const real e = (real)1e-7;
  for (size_t i = 0; i < n; i++) {
    const real g = sum[i] * o->per_row;
    s[i] = o->a * s[i] + o->rest_a * g * g;
    const real scale = root(root((s[i] + e) / (d[i] + e))) + o->l2, step = (g + o->l2 * w[i]) / scale;
    d[i] = o->b * d[i] + o->rest_b * step * step;
    w[i] = shrunk(w[i] - step, o->l1 / scale);
  }
}

/* m = b m + (1 - b) g; s = c s + (1 - c) g^2; w -= r (m / (1 - b^t)) / sqrt(s / (1 - c^t) + e), for floats with e
 * outside of the root. */
static void step_adam(const optimizer_step *o, size_t n, real *restrict w, real *restrict m, real *restrict s,
                      const real *restrict sum) {
  const real e = (real)1e-8, inside = sizeof(real) == 8 ? e : 0, outside = sizeof(real) == 8 ? 0 : e;
  for (size_t i = 0; i < n; i++) {
    const real g = sum[i] * o->per_row + o->l2 * w[i];
    m[i] = o->a * m[i] + o->rest_a * g;
    s[i] = o->b * s[i] + o->rest_b * g * g;
    const real step = o->rate * m[i] / (root(s[i] * o->young + inside) + outside);
    w[i] -= m[i] * s[i] != 0 ? step : 0;
  }
}

/* d = (sqrt(q + g^2) - sqrt q) / a; q += g^2; z += g - d w; w = -(z shrunk by l1) / (l2 + (b + sqrt q) / a). No rate.
 */
static void step_ftrl(const optimizer_step *o, size_t n, real *restrict w, real *restrict z, real *restrict q,
                      const real *restrict sum) {
  for (size_t i = 0; i < n; i++) {
    const real g = sum[i] * o->per_row, before = root(q[i]);
    q[i] += g * g;
    const real after = root(q[i]), scale = o->l2 + (o->b + after) / o->a;
    z[i] += g - (after - before) / o->a * w[i];
    const real left = magnitude(z[i]) - o->l1, moved = -toward(left, z[i]) / scale;
    w[i] = left > 0 && scale > 0 ? moved : 0;
  }
}

void REAL_NAME(fw_optimize)(const optimizer_step *o, size_t n, real *w, real *state0, real *state1, const real *sum) {
  switch (o->type) {
  case FW_OPTIMIZER_SGD: step_sgd(o, n, w, sum); break;
  case FW_OPTIMIZER_MOMENTUM: step_momentum(o, n, w, state0, sum); break;
  case FW_OPTIMIZER_ADAGRAD: step_adagrad(o, n, w, state0, sum); break;
  case FW_OPTIMIZER_ADADELTA: step_adadelta(o, n, w, state0, state1, sum); break;
  case FW_OPTIMIZER_ADAM: step_adam(o, n, w, state0, state1, sum); break;
  case FW_OPTIMIZER_FTRL: step_ftrl(o, n, w, state0, state1, sum); break;
  }
}

void REAL_NAME(fw_optimizer_step)(optimizer_step *made, const fw_optimizer *optimizer, const real_pass *pass) {
  const fw_step *step = pass->step;
  double rate = isnan(optimizer->lr) ? step->rate : optimizer->lr * step->scale;
  optimizer_step o = {.type = optimizer->type, .l1 = (real)optimizer->l1, .l2 = (real)optimizer->l2};
  if (o.type == FW_OPTIMIZER_SGD) rate /= 1 + optimizer->l2 * rate;
  o.a = (real)optimizer->a;
  o.b = (real)optimizer->b;
  o.rest_a = (real)(1 - optimizer->a);
  o.rest_b = (real)(1 - optimizer->b);
  o.keep = (real)(1 - rate * optimizer->l2);
  o.shrink = (real)(rate * optimizer->l1);
  o.floor = (real)(rate * optimizer->l2);
  if (o.type == FW_OPTIMIZER_ADAM) {
    const double age = step->number > 0 ? (double)step->number : 1;
    rate /= 1 - pow(optimizer->a, age);
    o.young = (real)(1 / (1 - pow(optimizer->b, age)));
  }
  o.rate = (real)rate;
  o.per_row = (real)(1 / (double)pass->batch->rows);
  *made = o;
}
