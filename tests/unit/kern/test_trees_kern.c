/* tests/unit/kern/test_trees_kern.c: kernels for trees against plain loops, the same bits at every level of
 * instructions. */
#include "kern/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cmocka_all.h"

enum { MOST = 700 };

/* Runs a check for every level, with lengths around those of registers and words. */
static void at_all_levels(void (*check)(const fw_trees *trees, size_t n, fw_rng *rng)) {
  static const size_t lengths[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 128, 254, 256, 300, MOST};
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    const fw_kernels kernels = fw_kernels_at(isa);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      fw_rng rng;
      fw_rng_init(&rng, lengths[i] + 1);
      check(&kernels.trees, lengths[i], &rng);
    }
  }
}

/* ---- Bins ---- */

static void check_bins(const fw_trees *trees, size_t n, fw_rng *rng) {
  enum { FEATURES = 5 };
  float edge[FEATURES * FW_EDGES], pivot[FEATURES * FW_PIVOTS], x[MOST];
  uint32_t number[MOST];
  uint8_t byte[FEATURES];
  for (size_t f = 0; f < FEATURES; f++)
    for (size_t i = 0; i < FW_EDGES; i++) {
      const size_t cuts = f == 0 ? 0 : f == 1 ? 1 : f == 2 ? 16 : 254;
      edge[f * FW_EDGES + i] = i < cuts ? (float)(i * (f + 1)) : INFINITY;
      if (i % 16 == 15) pivot[f * FW_PIVOTS + i / 16] = edge[f * FW_EDGES + i];
    }
  const fw_bin_edges edges = {edge, pivot, FEATURES};
  for (size_t i = 0; i < n; i++) {
    x[i] = i % 7 == 0 ? -INFINITY : i % 11 == 0 ? INFINITY : (float)(int)(fw_rng_double(rng) * 600) - 3;
    number[i] = i % 5 == 4 ? UINT32_MAX : (uint32_t)(fw_rng_double(rng) * FEATURES);
    memset(byte, 255, sizeof byte);
    trees->bins(&edges, number + i, x + i, 1, byte);
    for (uint32_t f = 0; f < FEATURES; f++) {
      unsigned below = 0;
      for (size_t k = 0; k < FW_EDGES; k++) below += edge[f * FW_EDGES + k] < x[i];
      assert_int_equal(byte[f], f == number[i] ? below : 255);
    }
  }
  uint8_t last[FEATURES], all[FEATURES];
  memset(last, 255, sizeof last);
  memset(all, 255, sizeof all);
  for (size_t i = 0; i < n; i++) trees->bins(&edges, number + i, x + i, 1, last);
  trees->bins(&edges, number, x, n, all);
  assert_memory_equal(last, all, sizeof all);
}

static void bins_are_counts_of_edges(void **state) {
  (void)state;
  at_all_levels(check_bins);
}

/* ---- Gradients ---- */

static fw_trees generic(void) {
  return fw_kernels_at(FW_ISA_GENERIC).trees;
}

static void check_logistic(const fw_trees *trees, size_t n, fw_rng *rng) {
  const fw_trees plain = generic();
  double score[MOST];
  float label[MOST], g[MOST + 1], h[MOST + 1], plain_g[MOST + 1], plain_h[MOST + 1];
  for (size_t i = 0; i < n; i++) {
    score[i] = i % 9 == 8 ? 1e4 : i % 9 == 7 ? -1e4 : 5 * fw_rng_normal(rng);
    label[i] = fw_rng_double(rng) < 0.5 ? -1 : 1;
  }
  if (n > 20) score[20] = NAN;
  g[n] = h[n] = plain_g[n] = plain_h[n] = 77;
  trees->logistic(score, label, 0.25F, n, g, h);
  plain.logistic(score, label, 0.25F, n, plain_g, plain_h);
  assert_memory_equal(g, plain_g, (n + 1) * sizeof *g);
  assert_memory_equal(h, plain_h, (n + 1) * sizeof *h);
  for (size_t i = 0; i < n; i++) {
    const double p = 1 / (1 + exp(-(score[i] + 0.25)));
    if (isnan(score[i])) {
      assert_true(isnan(g[i]) && isnan(h[i]));
      continue;
    }
    assert_float_equal(g[i], p - (label[i] > 0 ? 1 : 0), 1e-6);
    assert_float_equal(h[i], p * (1 - p), 1e-6);
  }
}

static void logistic_gradients(void **state) {
  (void)state;
  at_all_levels(check_logistic);
}

static int64_t upper_half(uint64_t pair) {
  return (int32_t)(uint32_t)(pair >> 32);
}

static void check_pack(const fw_trees *trees, size_t n, fw_rng *rng) {
  const fw_trees plain = generic();
  const fw_round_rule rule = {0x1p17F, 0x1p19F, 12345};
  float g[MOST], h[MOST];
  uint64_t pair[MOST + 1], plain_pair[MOST + 1], sum = 0;
  for (size_t i = 0; i < n; i++) {
    g[i] = i % 5 == 0 ? (float)(i % 3) - 1 : (float)(2 * fw_rng_double(rng) - 1);
    h[i] = i % 7 == 0 ? 0.25F : (float)(0.25 * fw_rng_double(rng));
  }
  pair[n] = plain_pair[n] = 77;
  const uint64_t found = trees->pack(&rule, 1000, g, h, n, pair);
  assert_true(plain.pack(&rule, 1000, g, h, n, plain_pair) == found);
  assert_memory_equal(pair, plain_pair, (n + 1) * sizeof *pair);
  for (size_t i = 0; i < n; i++) {
    const double units = (double)g[i] * 0x1p17, hessian = (double)h[i] * 0x1p19;
    assert_true(fabs((double)upper_half(pair[i]) - units) < 1 && fabs((double)(uint32_t)pair[i] - hessian) < 1);
    if (i % 5 == 0) assert_true((double)upper_half(pair[i]) == units); /* whole numbers stay */
    sum += pair[i];
  }
  assert_true(sum == found);
  if (n < 10) return;
  uint64_t other[MOST]; /* a row is rounded by its number, wherever it is */
  trees->pack(&rule, 1003, g + 3, h + 3, n - 3, other);
  assert_memory_equal(other, pair + 3, (n - 3) * sizeof *pair);
}

static void gradients_are_rounded_by_row(void **state) {
  (void)state;
  at_all_levels(check_pack);
}

/* ---- Rows ---- */

static void check_sides(const fw_trees *trees, size_t n, fw_rng *rng) {
  uint8_t column[3 * MOST];
  uint32_t row[MOST], ones[MOST], zeros[MOST];
  uint64_t bits[MOST / 64 + 2];
  for (size_t i = 0; i < sizeof column; i++) column[i] = (uint8_t)(fw_rng_double(rng) * 256);
  for (unsigned step = 1; step <= 3; step += 2)
    for (unsigned add = 0; add <= 1; add++) {
      const uint8_t limit = (uint8_t)(fw_rng_double(rng) * 256);
      size_t lefts = 0;
      for (size_t i = 0; i < n; i++) row[i] = (uint32_t)(i * step);
      if (step == 3 && n > 1) row[n - 1]--; /* not in steps */
      memset(bits, 255, sizeof bits);
      const size_t found = trees->sides(column, row, n, (uint8_t)add, limit, bits);
      for (size_t i = 0; i < (n + 63) / 64 * 64; i++) {
        const bool left = i < n && (uint8_t)(column[row[i]] + add) <= limit;
        assert_int_equal(bits[i / 64] >> i % 64 & 1, left);
        lefts += left;
      }
      assert_int_equal(found, lefts);
      assert_true(bits[(n + 63) / 64] == UINT64_MAX); /* nothing is written behind the last word */
      assert_int_equal(trees->sort(row, bits, n, ones, zeros), lefts);
      for (size_t i = 0, one = 0; i < n; i++) {
        const bool left = bits[i / 64] >> i % 64 & 1;
        assert_int_equal(left ? ones[one] : zeros[i - one], row[i]);
        one += left;
      }
    }
}

static void rows_go_to_their_sides(void **state) {
  (void)state;
  at_all_levels(check_sides);
}

/* ---- Gains ---- */

static double value_of(const fw_gain_rule *rule, double g, double h) {
  const double rest = fabs(g) - rule->alpha, all = h + rule->lambda;
  return rest > 0 && all > 0 ? rest * rest / all : 0;
}

static double gain_of(const fw_gain_rule *rule, double g, double h) {
  const double right = rule->h - h, hl = h * rule->h_unit, hr = right * rule->h_unit;
  if (hl < rule->least || hr < rule->least || h <= 0 || right <= 0) return 0.5 * (-1 - rule->worth);
  const double left = value_of(rule, g * rule->g_unit, hl);
  return 0.5 * (left + value_of(rule, (rule->g - g) * rule->g_unit, hr) - rule->worth);
}

static void check_gains(const fw_trees *trees, size_t n, fw_rng *rng) {
  const fw_gain_rule rules[] = {
      {0x1p-17, 0x1p-19, 0, 1, 0.01, 1e5, 4e6, 0.3}, {1, 1, 2, 0, 0, -30, 4e6, 5}, {1, 1, 0, 0, 3e6, 10, 4e6, 0}};
  double g[MOST], h[MOST], gain[MOST + 1];
  for (size_t i = 0; i < n; i++) {
    g[i] = floor(1e5 * fw_rng_normal(rng));
    h[i] = i % 10 == 0 ? 0 : i % 10 == 1 ? 4e6 : floor(4e6 * fw_rng_double(rng));
  }
  for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
    double most = -INFINITY;
    gain[n] = 77;
    const double found = trees->gains(&rules[r], g, h, n, gain);
    for (size_t i = 0; i < n; i++) {
      assert_true(gain[i] == gain_of(&rules[r], g[i], h[i]));
      most = gain[i] > most ? gain[i] : most;
    }
    assert_true(found == most && gain[n] == 77);
  }
}

static void gains_are_those_of_the_formula(void **state) {
  (void)state;
  at_all_levels(check_gains);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bins_are_counts_of_edges),       cmocka_unit_test(logistic_gradients),
      cmocka_unit_test(gradients_are_rounded_by_row),   cmocka_unit_test(rows_go_to_their_sides),
      cmocka_unit_test(gains_are_those_of_the_formula),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
