/* tests/unit/kern/test_scan_kern.c: the kernels of scanning keep their promises at every level. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kern/dispatch.h"
#include "support/cmocka_all.h"

enum { ROUNDS = 200, MOST_N = 400, MOST_M = 300 };

static float values[MOST_M * 256] __attribute__((aligned(64)));
static uint8_t bytes[MOST_M * FW_LUT_BYTES] __attribute__((aligned(64)));
static uint8_t least[MOST_M * FW_LUT_GROUPS] __attribute__((aligned(64)));
static uint8_t codes[MOST_N * MOST_M + FW_BLOCK] __attribute__((aligned(64)));
static float extra[MOST_N + 2 * FW_BLOCK] __attribute__((aligned(64)));

static fw_lut make_lut(fw_rng *rng, size_t m, size_t ksub, float scale) {
  fw_lut lut = {.m = m, .ksub = ksub, .width = (ksub + 15) / 16 * 16, .values = values, .bytes = bytes};
  lut.least = ksub == FW_LUT_BYTES && fw_rng_below(rng, 3) > 0 ? least : NULL;
  for (size_t i = 0; i < m * lut.width; i++) values[i] = scale * (float)fw_rng_normal(rng);
  return lut;
}

/* ksub: of a byte. */
static fw_code_list make_list(fw_rng *rng, size_t m, size_t ksub, size_t n, float scale, bool with_extra) {
  for (size_t i = 0; i < sizeof codes; i++) codes[i] = (uint8_t)fw_rng_below(rng, ksub);
  for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) extra[i] = scale * (float)fw_rng_normal(rng);
  (void)m;
  return (fw_code_list){.n = n,
                        .codes = codes,
                        .extra = with_extra ? extra : NULL,
                        .ahead = codes,
                        .extra_ahead = with_extra ? extra : NULL};
}

static float value_of(const fw_lut *lut, const fw_code_list *list, size_t i) {
  return fw_lut_sum(lut, list->codes, list->n, i) + (list->extra ? list->extra[i] : 0);
}

/* sift skips nothing at or below the limit and finds nothing that is well above it. */
static void check_sift(const fw_scan *scan, const fw_lut *lut, const fw_code_list *list, float limit) {
  const float slack = fw_lut_slack(lut, 0, 10 * fabsf(limit) + 10 * lut->step);
  const float loose = lut->step * (float)lut->m + slack;
  const size_t blocks = (list->n + FW_BLOCK - 1) / FW_BLOCK;
  size_t next = 0, looked_at = 0;
  while (next < blocks) {
    uint64_t masks[FW_BLOCK_GROUP];
    const size_t first = scan->sift(lut, list, &next, limit + slack, masks);
    assert_true(next > looked_at / FW_BLOCK && next - first <= FW_BLOCK_GROUP);
    for (size_t i = looked_at; i < next * FW_BLOCK && i < list->n; i++) {
      const bool found = i / FW_BLOCK >= first && masks[i / FW_BLOCK - first] >> i % FW_BLOCK & 1;
      if (!found) assert_true(value_of(lut, list, i) > limit);
      if (found) assert_true(value_of(lut, list, i) <= limit + loose + slack);
    }
    if (first < next && next * FW_BLOCK > list->n)
      assert_int_equal(masks[next - 1 - first] >> (list->n - 1) % FW_BLOCK >> 1, 0);
    looked_at = next * FW_BLOCK;
  }
  assert_int_equal(next, blocks);
}

static void check_bounds(const fw_scan *scan, const fw_lut *lut, const fw_code_list *list) {
  float out[FW_BLOCK_GROUP * FW_BLOCK];
  const size_t whole = list->n / FW_BLOCK, blocks = whole < FW_BLOCK_GROUP ? whole : FW_BLOCK_GROUP;
  const float slack = fw_lut_slack(lut, 0, 10 * lut->magnitude);
  scan->bounds(lut, list, blocks, out);
  for (size_t i = 0; i < blocks * FW_BLOCK; i++) {
    const float value = value_of(lut, list, i);
    assert_true(-out[i] <= value + slack && value <= -out[i] + lut->step * (float)lut->m + slack);
  }
}

/* Sums of whole blocks are those of each vector, to the bit. */
static void check_sum_block(const fw_scan *scan, const fw_lut *lut, const fw_code_list *list) {
  for (size_t b = 0; lut->nibbles && scan->sum_block && b * FW_BLOCK < list->n; b++) {
    float out[FW_BLOCK];
    scan->sum_block(lut, list->codes + b * FW_BLOCK * fw_lut_rows(lut), fw_block_width(list->n, b), out);
    for (size_t i = b * FW_BLOCK; i < list->n && i < (b + 1) * FW_BLOCK; i++)
      assert_true(out[i % FW_BLOCK] == fw_lut_sum(lut, list->codes, list->n, i));
  }
}

static void check_least(const fw_lut *lut) {
  for (size_t i = 0; i < lut->m * FW_LUT_GROUPS; i++) {
    uint8_t smallest = 255;
    for (size_t j = 0; j < FW_LUT_GROUP; j++)
      if (lut->bytes[FW_LUT_GROUP * i + j] < smallest) smallest = lut->bytes[FW_LUT_GROUP * i + j];
    assert_int_equal(lut->least[i], smallest);
  }
}

static void check_level(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  fw_rng rng;
  fw_rng_init(&rng, 17);
  for (size_t round = 0; round < ROUNDS; round++) {
    static const size_t ms[] = {1, 2, 7, 16, 32, 65, 257, 258, 300};
    const size_t m = ms[round % 9], ksub = (size_t)1 << (1 + fw_rng_below(&rng, 8));
    const size_t n = 1 + fw_rng_below(&rng, MOST_N);
    const float scale = round % 5 == 4 ? 1e-30F : round % 5 == 3 ? 1e15F : 1;
    fw_lut lut = make_lut(&rng, m, ksub, scale);
    lut.nibbles = scan.nibbles && ksub == 16 && round % 7 > 0;
    const fw_code_list list = make_list(&rng, m, lut.nibbles ? 256 : ksub, n, scale, round % 2);
    scan.quantise(&lut);
    if (scan.groups && lut.least) check_least(&lut);
    check_bounds(&scan, &lut, &list);
    check_sum_block(&scan, &lut, &list);
    const float limits[] = {value_of(&lut, &list, fw_rng_below(&rng, n)), 0, -3 * scale * sqrtf((float)m),
                            value_of(&lut, &list, n - 1)};
    for (size_t i = 0; i < 4; i++) check_sift(&scan, &lut, &list, limits[i]);
  }
}

static void check_renumber(const fw_scan *scan, fw_rng *rng, uint8_t *block, size_t m, size_t width) {
  static uint8_t numbers[8 * FW_LUT_BYTES], before[8 * FW_BLOCK];
  for (size_t i = 0; i < sizeof numbers; i++) numbers[i] = (uint8_t)fw_rng_next(rng);
  memcpy(before, block, m * width);
  scan->renumber(numbers, m, block, width);
  for (size_t i = 0; i < m * width; i++) assert_int_equal(block[i], numbers[i / width * FW_LUT_BYTES + before[i]]);
}

/* Codes come to lie where they belong, with 0 behind them; sums are those of all values. */
static void check_blocks(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  static uint8_t rows[FW_BLOCK * 70 + 1];
  static float sums[MOST_N + FW_BLOCK];
  fw_rng rng;
  fw_rng_init(&rng, 12);
  for (size_t m = 1; m <= 70; m++) {
    for (size_t count = 1; count <= FW_BLOCK; count += 1 + fw_rng_below(&rng, 9)) {
      const size_t width = fw_block_width(count, 0);
      uint8_t *block = malloc(width * m), *exact = malloc(count * m); /* of that size: a byte more would be noticed */
      for (size_t i = 0; i < count * m; i++) exact[i] = rows[i] = (uint8_t)fw_rng_next(&rng);
      memset(block, 0xee, width * m);
      scan.pack(exact, m, count, block, width);
      for (size_t k = 0; k < m; k++)
        for (size_t i = 0; i < width; i++) assert_int_equal(block[k * width + i], i < count ? rows[i * m + k] : 0);
      if (m <= 8) check_renumber(&scan, &rng, block, m, width);
      free(exact);
      free(block);
    }
    const size_t ksub = (size_t)1 << fw_rng_below(&rng, 9), n = 1 + fw_rng_below(&rng, MOST_N);
    const fw_lut lut = make_lut(&rng, m, ksub, 1);
    const fw_code_list list = make_list(&rng, m, ksub, n, 1, false);
    scan.add_up(&lut, list.codes, n, sums);
    for (size_t i = 0; i < n; i++)
      assert_true(fabsf(sums[i] - fw_lut_sum(&lut, codes, n, i)) <= 1e-6F * (float)(m + 1) * 3);
  }
}

/* Calls `check` for every level there is. */
static void each_level(void (*check)(fw_isa isa)) {
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++)
    if (fw_isa_available(isa)) check(isa);
}

static void sums_and_bounds(void **state) {
  (void)state;
  each_level(check_level);
}

/* Tables that have no step: all the same, or numbers that are none. */
static void check_odd_tables(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  fw_lut lut = make_lut(&rng, 8, 256, 0);
  const fw_code_list list = make_list(&rng, 8, 256, 100, 1, true);
  scan.quantise(&lut);
  assert_true(lut.step == 0 && lut.low == 0);
  check_sift(&scan, &lut, &list, 0.5F);
  lut = make_lut(&rng, 8, 256, 1);
  values[300] = NAN;
  scan.quantise(&lut);
  assert_false(isfinite(fw_lut_slack(&lut, 0, 0)));
  values[300] = INFINITY;
  scan.quantise(&lut);
  assert_false(isfinite(fw_lut_slack(&lut, 0, 0)));
}

static void blocks_of_codes(void **state) {
  (void)state;
  each_level(check_blocks);
}

static void odd_tables(void **state) {
  (void)state;
  each_level(check_odd_tables);
}

static void check_rows(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  static float x[300], l2[20], ip[20];
  static char rows[20 * 300 * sizeof(float) + 1];
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (size_t d = 1; d < 300; d += d < 70 ? 1 : 29) {
    float *numbers = malloc(20 * d * sizeof *numbers);
    for (size_t i = 0; i < d; i++) x[i] = (float)fw_rng_normal(&rng);
    for (size_t i = 0; i < 20 * d; i++) numbers[i] = (float)fw_rng_normal(&rng);
    memcpy(rows + 1, numbers, 20 * d * sizeof *numbers);
    scan.l2_rows(x, rows + 1, 20, d, l2);
    scan.ip_rows(x, rows + 1, 20, d, ip);
    for (size_t i = 0; i < 20; i++) {
      double square = 0, product = 0;
      for (size_t k = 0; k < d; k++) {
        const double y = numbers[i * d + k];
        square += (x[k] - y) * (x[k] - y);
        product += x[k] * y;
      }
      assert_true(fabs(square - l2[i]) <= 1e-5 * square && fabs(product - ip[i]) <= 1e-5 * (square + d));
    }
    free(numbers);
  }
}

static void distances_of_rows(void **state) {
  (void)state;
  each_level(check_rows);
}

static void check_scores(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  static float scores[512], maxima[512];
  static uint32_t positions[512 + 16];
  fw_rng rng;
  fw_rng_init(&rng, 6);
  for (size_t n = 16; n <= 512; n += 16) {
    for (size_t i = 0; i < n; i++) scores[i] = i % 16 == 15 ? -INFINITY : (float)fw_rng_normal(&rng);
    for (size_t groups = 16; groups <= n; groups += 16) {
      scan.maxima(scores, n, groups, maxima);
      for (size_t g = 0; g < groups; g++) {
        float most = scores[g];
        for (size_t i = g; i < n; i += groups) most = fmaxf(most, scores[i]);
        assert_true(maxima[g] == most);
      }
    }
    const float limit = scores[fw_rng_below(&rng, n)];
    const size_t count = scan.find_not_below(scores, n, limit, positions);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
      if (scores[i] < limit) continue;
      assert_true(at < count && positions[at] == i);
      at++;
    }
    assert_int_equal(at, count);
  }
}

static void largest_scores(void **state) {
  (void)state;
  each_level(check_scores);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_bounds),   cmocka_unit_test(blocks_of_codes), cmocka_unit_test(odd_tables),
      cmocka_unit_test(distances_of_rows), cmocka_unit_test(largest_scores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
