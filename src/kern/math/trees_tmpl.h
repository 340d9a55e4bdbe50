/* kern/math/trees_tmpl.h: loops over rows for growing trees. Before including it, define LANES, the 32-bit numbers
 * of a register, and
 *   INLINE unsigned count_below(const float edge[16], float x);   edges below x
 *   INLINE uint64_t find_sides(const uint8_t byte[64], uint8_t add, uint8_t limit);   a bit for each byte
 *   INLINE size_t sort_word(const uint32_t *number, uint64_t bits, uint32_t *ones, uint32_t *zeros);   64 numbers */
#include <math.h>
#include <string.h>

#include "kern/math/trees.h"
#include "kern/simd/unroll.h"

typedef float lanes_f32 __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t lanes_i32 __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef uint32_t lanes_u32 __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef double lanes_f64 __attribute__((vector_size(LANES * 8), aligned(8), may_alias));
typedef uint64_t lanes_u64 __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

/* ---- Bins ---- */

static void bins(const fw_bin_edges *edges, const uint32_t *number, const float *x, size_t n, uint8_t *byte) {
  for (size_t i = 0; i < n; i++) {
    const size_t f = number[i];
    if (f >= edges->features) continue;
    const unsigned sixteens = FW_PIVOTS * count_below(edges->pivot + f * FW_PIVOTS, x[i]);
    byte[f] = (uint8_t)(sixteens + count_below(edges->edge + f * FW_EDGES + sixteens, x[i]));
  }
}

/* ---- Gradients ---- */

INLINE lanes_f32 choose(lanes_i32 mask, lanes_f32 yes, lanes_f32 no) {
  return (lanes_f32)(((lanes_i32)yes & mask) | ((lanes_i32)no & ~mask));
}

/* Like fw_exp_of (learn/forest/gradients.h), with its limits; NaN stays. */
INLINE lanes_f32 exp_of(lanes_f32 x) {
  const lanes_f32 least = (lanes_f32){0} - 87.0F, most = (lanes_f32){0} + 88.0F;
  x = choose(x < least, least, x);
  x = choose(x > most, most, x);
  const lanes_f32 shifted = x * 1.44269504F + 12582912.0F;
  const lanes_f32 n = shifted - 12582912.0F;
  const lanes_f32 r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  lanes_f32 p = r * (1.0F / 720) + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  return p * (lanes_f32)(((lanes_u32)shifted << 23) + UINT32_C(0x3f800000));
}

INLINE void logistic_lanes(const double *score, const float *label, float base, float *gradient, float *hessian) {
  const lanes_f32 x = -(__builtin_convertvector(*(const lanes_f64 *)score, lanes_f32) + base);
  const lanes_f32 p = 1.0F / (1.0F + exp_of(x));
  *(lanes_f32 *)gradient = p - (*(const lanes_f32 *)label + 1.0F) * 0.5F;
  *(lanes_f32 *)hessian = p * (1.0F - p) + 1e-16F;
}

static void logistic(const double *score, const float *label, float base, size_t n, float *gradient, float *hessian) {
  size_t i = 0;
  for (; i + LANES <= n; i += LANES) logistic_lanes(score + i, label + i, base, gradient + i, hessian + i);
  if (i == n) return;
  double scores[LANES] = {0};
  float numbers[3][LANES] = {{0}};
  memcpy(scores, score + i, (n - i) * sizeof *score);
  memcpy(numbers[0], label + i, (n - i) * sizeof *label);
  logistic_lanes(scores, numbers[0], base, numbers[1], numbers[2]);
  memcpy(gradient + i, numbers[1], (n - i) * sizeof *gradient);
  memcpy(hessian + i, numbers[2], (n - i) * sizeof *hessian);
}

/* A number in [0, 1) with 24 bits. */
INLINE lanes_f32 part_of(lanes_u32 hash) {
  return __builtin_convertvector((lanes_i32)(hash >> 8), lanes_f32) * 0x1p-24F;
}

INLINE lanes_u32 scramble(lanes_u32 x) {
  x ^= x >> 16;
  x *= UINT32_C(0x85ebca6b);
  x ^= x >> 13;
  return x;
}

/* floor(x + u), |x| < 2^22: the integer part of x is exact, and so is the fraction. */
INLINE lanes_u32 round_by(lanes_f32 x, lanes_f32 u) {
  const lanes_i32 whole = __builtin_convertvector(x, lanes_i32);
  const lanes_f32 rest = (x - __builtin_convertvector(whole, lanes_f32)) + u;
  return (lanes_u32)(whole - (rest >= 1.0F) + (rest < 0.0F));
}

INLINE void pack_lanes(const fw_round_rule *rule, lanes_u32 row, const float *gradient, const float *hessian,
                       uint64_t *pair) {
  const lanes_u32 hash = scramble(row * UINT32_C(0x9e3779b1) + rule->key);
  const lanes_u32 g = round_by(*(const lanes_f32 *)gradient * rule->g_scale, part_of(hash));
  const lanes_u32 h = round_by(*(const lanes_f32 *)hessian * rule->h_scale, part_of(hash * UINT32_C(0xc2b2ae35)));
  *(lanes_u64 *)pair = (__builtin_convertvector(g, lanes_u64) << 32) + __builtin_convertvector(h, lanes_u64);
}

static uint64_t pack(const fw_round_rule *rule, uint32_t first, const float *gradient, const float *hessian, size_t n,
                     uint64_t *pair) {
  static const uint32_t counts[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  lanes_u32 row = *(const lanes_u32 *)counts + first;
  lanes_u64 sums = {0};
  uint64_t sum = 0, pairs[LANES];
  size_t i = 0;
  for (; i + LANES <= n; i += LANES, row += LANES) {
    pack_lanes(rule, row, gradient + i, hessian + i, pair + i);
    sums += *(const lanes_u64 *)(pair + i);
  }
  *(lanes_u64 *)pairs = sums;
  for (unsigned k = 0; k < LANES; k++) sum += pairs[k];
  if (i == n) return sum;
  float numbers[2][LANES] = {{0}};
  memcpy(numbers[0], gradient + i, (n - i) * sizeof *gradient);
  memcpy(numbers[1], hessian + i, (n - i) * sizeof *hessian);
  pack_lanes(rule, row, numbers[0], numbers[1], pairs);
  for (unsigned k = 0; i < n; k++, i++) sum += pair[i] = pairs[k];
  return sum;
}

/* ---- Sides ---- */

/* Most of the time goes into fetching bytes from memory; comparing 64 of them is cheap. */
static size_t sides(const uint8_t *column, const uint32_t *row, size_t n, uint8_t add, uint8_t limit, uint64_t *bits) {
  const int in_order = n > 0 && row[n - 1] - row[0] == n - 1; /* rows ascend */
  uint8_t byte[64] = {0};
  size_t count = 0;
  for (size_t i = 0; i < n; i += 64) {
    const size_t m = n - i < 64 ? n - i : 64;
    if (in_order && m == 64)
      memcpy(byte, column + row[i], 64);
    else
      for (size_t k = 0; k < m; k++) byte[k] = column[row[i + k]];
    bits[i / 64] = find_sides(byte, add, limit) & UINT64_MAX >> (64 - m);
    count += (size_t)__builtin_popcountll(bits[i / 64]);
  }
  return count;
}

static size_t sort(const uint32_t *number, const uint64_t *bits, size_t n, uint32_t *ones, uint32_t *zeros) {
  size_t count = 0, i = 0;
  for (; i + 64 <= n; i += 64) count += sort_word(number + i, bits[i / 64], ones + count, zeros + (i - count));
  for (; i < n; i++) {
    const size_t one = bits[i / 64] >> i % 64 & 1;
    ones[count] = zeros[i - count] = number[i];
    count += one;
  }
  return count;
}

/* ---- Gains ---- */

#define WIDE_LANES (LANES / 2)
typedef double wide_f64 __attribute__((vector_size(WIDE_LANES * 8), aligned(8), may_alias));
typedef int64_t wide_i64 __attribute__((vector_size(WIDE_LANES * 8), aligned(8), may_alias));

INLINE wide_f64 choose_f64(wide_i64 mask, wide_f64 yes, wide_f64 no) {
  return (wide_f64)(((wide_i64)yes & mask) | ((wide_i64)no & ~mask));
}

/* T(g)^2 / h; 0 if h is not above 0. */
INLINE wide_f64 worth_of(wide_f64 g, wide_f64 h, double alpha) {
  const wide_f64 zero = {0};
  const wide_f64 size = (wide_f64)((wide_i64)g & INT64_MAX) - alpha, rest = choose_f64(size > zero, size, zero);
  return choose_f64(h > zero, rest * rest / h, zero);
}

INLINE void gain_lanes(const fw_gain_rule *rule, const double *g, const double *h, double *gain) {
  const wide_f64 zero = {0}, left = *(const wide_f64 *)h, right = rule->h - left;
  const wide_f64 hl = left * rule->h_unit, hr = right * rule->h_unit;
  const wide_f64 gl = *(const wide_f64 *)g * rule->g_unit, gr = (rule->g - *(const wide_f64 *)g) * rule->g_unit;
  const wide_i64 refused = (hl < rule->least) | (hr < rule->least) | (left <= zero) | (right <= zero);
  const wide_f64 worth = worth_of(gl, hl + rule->lambda, rule->alpha) + worth_of(gr, hr + rule->lambda, rule->alpha);
  *(wide_f64 *)gain = (choose_f64(refused, zero - 1.0, worth) - rule->worth) * 0.5;
}

static double gains(const fw_gain_rule *rule, const double *g, const double *h, size_t n, double *gain) {
  wide_f64 most = (wide_f64){0} - INFINITY;
  double numbers[3][WIDE_LANES] = {{0}}, found = -INFINITY;
  size_t i = 0;
  for (; i + WIDE_LANES <= n; i += WIDE_LANES) {
    gain_lanes(rule, g + i, h + i, gain + i);
    const wide_f64 here = *(const wide_f64 *)(gain + i);
    most = choose_f64(here > most, here, most);
  }
  memcpy(numbers[0], g + i, (n - i) * sizeof *g);
  memcpy(numbers[1], h + i, (n - i) * sizeof *h);
  gain_lanes(rule, numbers[0], numbers[1], numbers[2]);
  memcpy(gain + i, numbers[2], (n - i) * sizeof *gain);
  for (; i < n; i++) found = gain[i] > found ? gain[i] : found;
  *(wide_f64 *)numbers[2] = most;
  for (unsigned k = 0; k < WIDE_LANES; k++) found = numbers[2][k] > found ? numbers[2][k] : found;
  return found;
}

static const fw_trees kernels = {
    .bins = bins, .logistic = logistic, .pack = pack, .sides = sides, .sort = sort, .gains = gains};
