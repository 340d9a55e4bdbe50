/* kern/math/steps_tmpl.h: steps of optimizers on a register of weights: the rules of Angel's servers, and AdaGrad as
 * it was published.
 *
 * Before including it, define
 *   REAL, BITS             float and int32_t, or double and int64_t
 *   NAME(name)             makes the names of this type
 *   VECTOR_BYTES           bytes of a register
 *   NAME(lanes)            a register of REAL, loaded from any address
 *   NAME(root)(v)          its square roots
 *
 * w weight, g gradient, r the rate, l1 and l2 the regularisation. A weight whose step would be 0 / 0 stays. */

#include "kern/simd/unroll.h"

#define LANES (VECTOR_BYTES / sizeof(REAL))

typedef BITS NAME(bits) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

/* A register of weights and of the optimizer's state for each. */
typedef struct NAME(weights) {
  NAME(lanes) w, s0, s1;
} NAME(weights);
typedef NAME(weights) NAME(step_function)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g);

INLINE NAME(lanes) NAME(all)(double number) {
  return (REAL)number - (NAME(lanes)){0}; /* keeps -0.0 */
}

/* v where `chosen` is set, else 0. */
INLINE NAME(lanes) NAME(where)(NAME(bits) chosen, NAME(lanes) v) {
  return (NAME(lanes))(chosen & (NAME(bits))v);
}

/* Moves w toward 0 by t, but not past it. */
INLINE NAME(lanes) NAME(shrunk)(NAME(lanes) w, NAME(lanes) t) {
  const NAME(bits) sign = (NAME(bits))w & (NAME(bits))NAME(all)(-0.0);
  const NAME(lanes) left = (NAME(lanes))((NAME(bits))w ^ sign) - t;
  return NAME(where)((NAME(bits))(left > 0), (NAME(lanes))((NAME(bits))left | sign));
}

/* ---- Rules ---- */

/* The proximal step: r' = r / (1 + l2 r); w (1 - r' l2) - r' g, then shrunk by r' l1. */
INLINE NAME(weights) NAME(sgd)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  const double rate = o->rate / (1 + o->l2 * o->rate);
  x.w = x.w * NAME(all)(1 - rate * o->l2) - NAME(all)(rate) * g;
  if (o->l1 > 0) x.w = NAME(shrunk)(x.w, NAME(all)(rate * o->l1));
  return x;
}

/* v = a v + g + l2 w; w -= r v */
INLINE NAME(weights) NAME(momentum)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  x.s0 = NAME(all)(o->a) * x.s0 + (g + NAME(all)(o->l2) * x.w);
  x.w -= NAME(all)(o->rate) * x.s0;
  return x;
}

/* s = a s + (1 - a) g^2; w -= r (g + l2 w) / (sqrt s + l2 r), then shrunk by l1 r / (sqrt s + l2 r). */
INLINE NAME(weights) NAME(adagrad)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  x.s0 = NAME(all)(o->a) * x.s0 + NAME(all)(1 - o->a) * g * g;
  const NAME(lanes) scale = NAME(root)(x.s0) + NAME(all)(o->l2 * o->rate);
  const NAME(bits) moves = (NAME(bits))(scale > 0);
  x.w -= NAME(where)(moves, (g + NAME(all)(o->l2) * x.w) * NAME(all)(o->rate) / scale);
  if (o->l1 > 0) x.w = NAME(shrunk)(x.w, NAME(where)(moves, NAME(all)(o->l1 * o->rate) / scale));
  return x;
}

/* s = a s + (1 - a) g^2; h = sqrt((s + e) / (d + e)); step = (g + l2 w) / (sqrt h + l2); w -= step;
 * d = b d + (1 - b) step^2; then shrunk by l1 / (sqrt h + l2). No rate. */
INLINE NAME(weights) NAME(adadelta)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  const NAME(lanes) e = NAME(all)(1e-7);
  x.s0 = NAME(all)(o->a) * x.s0 + NAME(all)(1 - o->a) * g * g;
  const NAME(lanes) scale = NAME(root)(NAME(root)((x.s0 + e) / (x.s1 + e))) + NAME(all)(o->l2);
  const NAME(lanes) step = (g + NAME(all)(o->l2) * x.w) / scale;
  x.s1 = NAME(all)(o->b) * x.s1 + NAME(all)(1 - o->b) * step * step;
  x.w -= step;
  if (o->l1 > 0) x.w = NAME(shrunk)(x.w, NAME(all)(o->l1) / scale);
  return x;
}

/* m = a m + (1 - a) g; s = b s + (1 - b) g^2, with l2 w in g; w -= r (m / (1 - a^t)) / sqrt(s / (1 - b^t) + e); for
 * floats e is added outside of the root. */
INLINE NAME(weights) NAME(adam)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  const double inside = sizeof(REAL) == 8 ? 1e-8 : 0, outside = sizeof(REAL) == 8 ? 0 : 1e-8;
  g += NAME(all)(o->l2) * x.w;
  x.s0 = NAME(all)(o->a) * x.s0 + NAME(all)(1 - o->a) * g;
  x.s1 = NAME(all)(o->b) * x.s1 + NAME(all)(1 - o->b) * g * g;
  const NAME(lanes) scale = NAME(root)(x.s1 * NAME(all)(o->young) + NAME(all)(inside)) + NAME(all)(outside);
  x.w -= NAME(where)((NAME(bits))(x.s0 * x.s1 != 0), NAME(all)(o->rate) * x.s0 / scale);
  return x;
}

/* G += g^2, with l2 w in g; w -= r g / (sqrt G + e), then shrunk by l1 r / (sqrt G + e) (Duchi, Hazan, Singer, 2011).
 */
INLINE NAME(weights) NAME(published_adagrad)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  g += NAME(all)(o->l2) * x.w;
  x.s0 += g * g;
  const NAME(lanes) scale = NAME(root)(x.s0) + NAME(all)(1e-10);
  x.w -= NAME(all)(o->rate) * g / scale;
  if (o->l1 > 0) x.w = NAME(shrunk)(x.w, NAME(all)(o->l1 * o->rate) / scale);
  return x;
}

/* The z of a weight w without other state: -(w (b / a + l2) + l1 * sign of w). 0 if there is state. */
INLINE NAME(lanes) NAME(first_z)(const fw_step_rule *o, NAME(weights) x) {
  const NAME(bits) sign = (NAME(bits))x.w & (NAME(bits))NAME(all)(-0.0);
  const NAME(bits) first = (NAME(bits))(x.s0 == 0) & (NAME(bits))(x.s1 == 0) & (NAME(bits))(x.w != 0);
  const NAME(lanes) l1 = (NAME(lanes))((NAME(bits))NAME(all)(o->l1) | sign);
  return NAME(where)(first, -(x.w * NAME(all)(o->b / o->a + o->l2) + l1));
}

/* d = (sqrt(q + g^2) - sqrt q) / a; q += g^2; z += g - d w; w = -(z shrunk by l1) / (l2 + (b + sqrt q) / a). No
 * rate. If the divisor is 0, the weight becomes 0, or stays with keeps_first. */
INLINE NAME(weights) NAME(ftrl)(const fw_step_rule *o, NAME(weights) x, NAME(lanes) g) {
  const NAME(lanes) before = NAME(root)(x.s1), a = NAME(all)(o->a), was = x.w;
  if (o->keeps_first) x.s0 += NAME(first_z)(o, x);
  x.s1 += g * g;
  const NAME(lanes) after = NAME(root)(x.s1), scale = NAME(all)(o->l2) + (NAME(all)(o->b) + after) / a;
  x.s0 += g - (after - before) / a * x.w;
  x.w = NAME(where)((NAME(bits))(scale > 0), -NAME(shrunk)(x.s0, NAME(all)(o->l1)) / scale);
  if (o->keeps_first) x.w += NAME(where)((NAME(bits))(scale <= 0), was);
  return x;
}

/* ---- Many weights ---- */

/* The addresses of weights and state. */
typedef struct NAME(pointers) {
  REAL *w, *s0, *s1;
} NAME(pointers);

INLINE void NAME(step_lanes)(NAME(step_function) * step, const int states, const fw_step_rule *o, NAME(pointers) p,
                             const REAL *sum) {
  NAME(weights) x = {.w = *(NAME(lanes) *)p.w};
  if (states > 0) x.s0 = *(NAME(lanes) *)p.s0;
  if (states > 1) x.s1 = *(NAME(lanes) *)p.s1;
  x = step(o, x, *(const NAME(lanes) *)sum * NAME(all)(o->per_row));
  *(NAME(lanes) *)p.w = x.w;
  if (states > 0) *(NAME(lanes) *)p.s0 = x.s0;
  if (states > 1) *(NAME(lanes) *)p.s1 = x.s1;
}

/* At most a register of single weights, which are gathered. */
INLINE void NAME(step_few)(NAME(step_function) * step, const int states, const fw_step_rule *o, size_t count,
                           const NAME(pointers) * p, const REAL *sum) {
  REAL w[LANES] = {0}, s0[LANES] = {0}, s1[LANES] = {0}, g[LANES] = {0};
  for (size_t k = 0; k < count; k++) {
    w[k] = *p[k].w;
    g[k] = sum[k];
    if (states > 0) s0[k] = *p[k].s0;
    if (states > 1) s1[k] = *p[k].s1;
  }
  NAME(step_lanes)(step, states, o, (NAME(pointers)){w, s0, s1}, g);
  for (size_t k = 0; k < count; k++) {
    *p[k].w = w[k];
    if (states > 0) *p[k].s0 = s0[k];
    if (states > 1) *p[k].s1 = s1[k];
  }
}

/* The pointers, advanced by k. */
INLINE NAME(pointers) NAME(behind)(const int states, NAME(pointers) p, size_t k) {
  return (NAME(pointers)){p.w + k, states > 0 ? p.s0 + k : NULL, states > 1 ? p.s1 + k : NULL};
}

INLINE void NAME(step_array)(NAME(step_function) * step, const int states, const fw_step_rule *o, size_t n,
                             NAME(pointers) p, const REAL *sum) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) NAME(step_lanes)(step, states, o, NAME(behind)(states, p, i), sum + i);
  if (i == n) return;
  NAME(pointers) rest[LANES];
  for (size_t k = 0; k < n - i; k++) rest[k] = NAME(behind)(states, p, i + k);
  NAME(step_few)(step, states, o, n - i, rest, sum + i);
}

INLINE NAME(pointers) NAME(in_record)(void *record, size_t at, size_t n) {
  REAL *w = (REAL *)record + at;
  return (NAME(pointers)){w, w + n, w + 2 * n};
}

/* One weight in each record. */
INLINE void NAME(step_single)(NAME(step_function) * step, const int states, const fw_step_rule *o, size_t count,
                              void *const *record, size_t at, const REAL *sum) {
  for (size_t i = 0; i < count; i += LANES) {
    const size_t few = count - i < LANES ? count - i : LANES;
    NAME(pointers) p[LANES];
    for (size_t k = 0; k < few; k++) p[k] = NAME(in_record)(record[i + k], at, 1);
    NAME(step_few)(step, states, o, few, p, sum + i);
  }
}

INLINE void NAME(step_records)(NAME(step_function) * step, const int states, const fw_step_rule *o, size_t n,
                               size_t count, void *const *record, size_t at, const REAL *sum) {
  if (n == 1) {
    NAME(step_single)(step, states, o, count, record, at, sum);
  } else if (n == 8) {
    for (size_t i = 0; i < count; i++, sum += 8)
      NAME(step_array)(step, states, o, 8, NAME(in_record)(record[i], at, 8), sum);
  } else {
    for (size_t i = 0; i < count; i++, sum += n)
      NAME(step_array)(step, states, o, n, NAME(in_record)(record[i], at, n), sum);
  }
}

/* ---- The kernels: a pair for each rule. The compiler knows that the local copy of the rule does not change ---- */

static void NAME(sgd_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(sgd), 0, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(sgd_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record, size_t at,
                              const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(sgd), 0, &rule, n, count, record, at, sum);
}

static void NAME(momentum_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(momentum), 1, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(momentum_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record, size_t at,
                                   const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(momentum), 1, &rule, n, count, record, at, sum);
}

static void NAME(adagrad_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(adagrad), 1, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(adagrad_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record, size_t at,
                                  const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(adagrad), 1, &rule, n, count, record, at, sum);
}

static void NAME(adadelta_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(adadelta), 2, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(adadelta_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record, size_t at,
                                   const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(adadelta), 2, &rule, n, count, record, at, sum);
}

static void NAME(adam_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(adam), 2, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(adam_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record, size_t at,
                               const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(adam), 2, &rule, n, count, record, at, sum);
}

static void NAME(ftrl_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(ftrl), 2, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(ftrl_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record, size_t at,
                               const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(ftrl), 2, &rule, n, count, record, at, sum);
}

static void NAME(published_adagrad_array)(const fw_step_rule *o, size_t n, void *w, void *s0, void *s1,
                                          const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_array)(NAME(published_adagrad), 1, &rule, n, (NAME(pointers)){w, s0, s1}, sum);
}
static void NAME(published_adagrad_records)(const fw_step_rule *o, size_t n, size_t count, void *const *record,
                                            size_t at, const void *sum) {
  const fw_step_rule rule = *o;
  NAME(step_records)(NAME(published_adagrad), 1, &rule, n, count, record, at, sum);
}

static void NAME(fill)(fw_steps *steps) {
  *steps = (fw_steps){
      .sgd = {NAME(sgd_array), NAME(sgd_records)},
      .momentum = {NAME(momentum_array), NAME(momentum_records)},
      .adagrad = {NAME(adagrad_array), NAME(adagrad_records)},
      .adadelta = {NAME(adadelta_array), NAME(adadelta_records)},
      .adam = {NAME(adam_array), NAME(adam_records)},
      .ftrl = {NAME(ftrl_array), NAME(ftrl_records)},
      .published_adagrad = {NAME(published_adagrad_array), NAME(published_adagrad_records)},
  };
}

#undef LANES
#undef REAL
#undef BITS
#undef NAME
