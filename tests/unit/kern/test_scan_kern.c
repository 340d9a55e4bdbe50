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
static uint8_t codes[MOST_N * MOST_M + FW_BLOCK] __attribute__((aligned(64)));
static float extra[MOST_N + 2 * FW_BLOCK] __attribute__((aligned(64)));

static fw_lut make_lut(fw_rng *rng, size_t m, size_t ksub, float scale) {
  fw_lut lut = {.m = m, .ksub = ksub, .width = (ksub + 15) / 16 * 16, .values = values, .bytes = bytes};
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

typedef size_t (*sift_fn)(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                          uint64_t masks[FW_BLOCK_GROUP]);

/* sift skips nothing at or below the limit and finds nothing that is more than so many steps above it. */
static void check_sift_by(sift_fn sift, const fw_lut *lut, const fw_code_list *list, float limit, size_t steps) {
  const float slack = fw_lut_slack(lut, 0, 10 * fabsf(limit) + 10 * lut->step);
  const float loose = lut->step * (float)steps + slack;
  const size_t blocks = (list->n + FW_BLOCK - 1) / FW_BLOCK;
  size_t next = 0, looked_at = 0;
  while (next < blocks) {
    uint64_t masks[FW_BLOCK_GROUP];
    const size_t first = sift(lut, list, &next, limit + slack, masks);
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

static void check_sift(const fw_scan *scan, const fw_lut *lut, const fw_code_list *list, float limit) {
  check_sift_by(scan->sift, lut, list, limit, lut->m);
  if (scan->sift_quickly) check_sift_by(scan->sift_quickly, lut, list, limit, 2 * lut->m + 4);
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

static void check_bytes(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  enum { ROWS = 30, WIDEST = 1024 };
  static uint8_t rows[ROWS * WIDEST] __attribute__((aligned(64)));
  int32_t ids[ROWS + 3];
  float out[ROWS + 3];
  fw_rng rng;
  fw_rng_init(&rng, 6);
  for (size_t stride = 64; stride <= WIDEST; stride += 64) {
    for (size_t i = 0; i < ROWS * stride; i++) rows[i] = (uint8_t)fw_rng_below(&rng, 128);
    memset(rows, 0, stride);
    memset(rows + stride, 127, stride); /* the largest distance */
    for (size_t i = 0; i < ROWS + 3; i++) ids[i] = (int32_t)(i < ROWS ? ROWS - 1 - i : 1);
    for (size_t n = 0; n <= ROWS + 3; n++) {
      for (size_t i = 0; i < ROWS + 3; i++) out[i] = -1;
      scan.l2_bytes(rows, rows, stride, ids, n, out);
      for (size_t i = 0; i < ROWS + 3; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < stride; k++) {
          const int64_t apart = rows[k] - rows[(size_t)ids[i] * stride + k];
          sum += apart * apart;
        }
        assert_true(out[i] == (i < n ? (float)sum : -1));
      }
    }
  }
}

static void distances_of_bytes(void **state) {
  (void)state;
  each_level(check_bytes);
}

static void check_decoding(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  enum { MOST = 256 + 11 };
  float low[MOST], width[MOST], out[MOST + 1];
  fw_rng rng;
  fw_rng_init(&rng, 7);
  for (size_t d = 1; d <= MOST; d++) {
    uint8_t *numbers = malloc(d); /* the exact size, so that a sanitizer sees what is read past it */
    for (size_t i = 0; i < d; i++) {
      numbers[i] = (uint8_t)(d < 100 ? fw_rng_below(&rng, 256) : i); /* also all of them */
      low[i] = (float)fw_rng_normal(&rng);
      width[i] = (float)fw_rng_normal(&rng);
    }
    for (size_t i = 0; i <= MOST; i++) out[i] = -7;
    scan.decode_bytes(numbers, low, width, d, out);
    for (size_t i = 0; i <= MOST; i++) {
      volatile float expected = i < d ? ((float)numbers[i] + 0.5f) / 255 : -7;
      if (i < d) expected = expected * width[i];
      if (i < d) expected = low[i] + expected;
      assert_true(out[i] == expected);
    }
    free(numbers);
  }
}

static void bytes_become_floats(void **state) {
  (void)state;
  each_level(check_decoding);
}

/* ---- Groups ---- */

static uint8_t query_bytes[FW_GROUP_MOST_M * FW_LUT_BYTES] __attribute__((aligned(64)));
static uint8_t list_bytes[FW_GROUP_MOST_M * FW_LUT_BYTES] __attribute__((aligned(64)));

/* The group of each code, found by tables in which one byte alone is 0; all groups are of the same size. */
static void find_groups(const fw_scan *scan, size_t group[FW_LUT_BYTES]) {
  static uint8_t least[FW_GROUP_ROWS * FW_GROUPS] __attribute__((aligned(64)));
  size_t sizes[FW_LUT_BYTES] = {0};
  for (size_t j = 0; j < FW_LUT_BYTES; j++) {
    const fw_code_list all = {.n = FW_LUT_BYTES, .codes = codes, .ahead = codes};
    size_t next = 0;
    for (size_t i = 0; i < FW_LUT_BYTES; i++) codes[i] = (uint8_t)i;
    memset(query_bytes, 255, FW_LUT_BYTES);
    query_bytes[j] = 0;
    scan->group_table(query_bytes, NULL, NULL, 1, least);
    group[j] = SIZE_MAX;
    while (next < FW_LUT_BYTES / FW_BLOCK) {
      uint64_t masks[FW_BLOCK_GROUP];
      const size_t first = scan->sift_groups(least, 1, &all, &next, 1, masks);
      for (size_t b = first; b < next; b++)
        if (masks[b - first] && group[j] == SIZE_MAX)
          group[j] = b * FW_BLOCK + (size_t)__builtin_ctzll(masks[b - first]);
    }
    assert_true(group[j] <= j); /* a group has the number of its first code */
    sizes[group[j]]++;
  }
  for (size_t j = 0; j < FW_LUT_BYTES; j++) assert_int_equal(sizes[group[j]], sizes[group[0]]);
}

static uint8_t byte_of(size_t k, size_t j, const uint8_t *offset) {
  const size_t at = k * FW_LUT_BYTES + j;
  return (uint8_t)(query_bytes[at] + (offset ? list_bytes[at] + offset[k] : 0));
}

/* The true sum of the smallest bytes of the groups of vector i. */
static uint32_t group_sum(const size_t *group, const uint8_t *offset, size_t m, const fw_code_list *list, size_t i) {
  const size_t b = i / FW_BLOCK, width = fw_block_width(list->n, b);
  uint32_t sum = 0;
  for (size_t k = 0; k < m; k++) {
    const uint8_t code = list->codes[b * FW_BLOCK * m + k * width + i % FW_BLOCK];
    uint8_t least = 255;
    for (size_t j = 0; j < FW_LUT_BYTES; j++)
      if (group[j] == group[code] && byte_of(k, j, offset) < least) least = byte_of(k, j, offset);
    sum += least;
  }
  return sum;
}

/* What is skipped is above the limit, and what passes is not far above it. */
static void check_sift_groups(const fw_scan *scan, const size_t *group, const uint8_t *offset, size_t m,
                              const fw_code_list *list) {
  static uint8_t least[FW_GROUP_MOST_M * FW_GROUPS] __attribute__((aligned(64)));
  const size_t blocks = (list->n + FW_BLOCK - 1) / FW_BLOCK;
  const uint32_t rows = (uint32_t)fw_group_rows(m), limit = group_sum(group, offset, m, list, list->n / 2);
  size_t next = 0, looked_at = 0;
  scan->group_table(query_bytes, offset ? list_bytes : NULL, offset, m, least);
  while (next < blocks) {
    uint64_t masks[FW_BLOCK_GROUP];
    const size_t first = scan->sift_groups(least, m, list, &next, (limit + rows) / FW_GROUP_ROWS, masks);
    for (size_t i = looked_at; i < next * FW_BLOCK && i < list->n; i++) {
      const bool found = i / FW_BLOCK >= first && masks[i / FW_BLOCK - first] >> i % FW_BLOCK & 1;
      const uint32_t sum = group_sum(group, offset, m, list, i);
      assert_true(found ? sum <= limit + rows + FW_GROUP_ROWS : sum > limit);
    }
    if (first < next && next * FW_BLOCK > list->n)
      assert_int_equal(masks[next - 1 - first] >> (list->n - 1) % FW_BLOCK >> 1, 0);
    looked_at = next * FW_BLOCK;
  }
}

static void check_wrap(const fw_scan *scan, fw_rng *rng) {
  static uint8_t wrapped[256];
  const float scale = 1 + (float)fw_rng_below(rng, 100);
  for (size_t i = 0; i < 256; i++) values[i] = 100 * (float)fw_rng_normal(rng);
  scan->wrap(values, 256, scale, wrapped);
  for (size_t i = 0; i < 256; i++) assert_int_equal(wrapped[i], (int32_t)floorf(values[i] * scale) & 255);
}

static void check_part_squares(const fw_scan *scan, fw_rng *rng) {
  static float x[40 * 9], y[40 * 9], squares[40];
  for (size_t dsub = 1; dsub <= 9; dsub++) {
    const size_t m = 1 + fw_rng_below(rng, 40);
    for (size_t i = 0; i < m * dsub; i++) {
      x[i] = (float)fw_rng_normal(rng);
      y[i] = (float)fw_rng_normal(rng);
    }
    scan->part_squares(x, y, m, dsub, squares);
    for (size_t k = 0; k < m; k++) {
      double sum = 0;
      for (size_t i = k * dsub; i < (k + 1) * dsub; i++) sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
      assert_true(fabs(sum - squares[k]) <= 1e-5 * sum);
    }
  }
}

static void check_groups(fw_isa isa) {
  const fw_scan scan = fw_kernels_at(isa).scan;
  size_t group[FW_LUT_BYTES];
  bool seen[FW_LUT_BYTES] = {false};
  fw_rng rng;
  fw_rng_init(&rng, 8);
  if (!scan.group_code) return;
  find_groups(&scan, group);
  for (size_t rank = 0; rank < FW_LUT_BYTES; rank++) { /* ranks of a group follow each other */
    const uint8_t code = scan.group_code((uint8_t)rank);
    assert_true(!seen[code] && group[code] == group[scan.group_code((uint8_t)(rank & ~3U))]);
    seen[code] = true;
  }
  for (size_t round = 0; round < ROUNDS; round++) {
    static const size_t ms[] = {1, 2, 3, 4, 7, 16, 32, 33, FW_GROUP_MOST_M};
    uint8_t offset[FW_GROUP_MOST_M];
    const size_t m = ms[round % 9];
    const fw_code_list list = make_list(&rng, m, 256, 1 + fw_rng_below(&rng, MOST_N), 1, round % 2);
    for (size_t i = 0; i < m * FW_LUT_BYTES; i++) {
      query_bytes[i] = (uint8_t)fw_rng_next(&rng);
      list_bytes[i] = (uint8_t)fw_rng_next(&rng);
    }
    for (size_t k = 0; k < m; k++) offset[k] = (uint8_t)fw_rng_next(&rng);
    check_sift_groups(&scan, group, round % 3 ? offset : NULL, m, &list);
    check_wrap(&scan, &rng);
    check_part_squares(&scan, &rng);
  }
}

static void groups_of_codes(void **state) {
  (void)state;
  each_level(check_groups);
}

/* ---- Scores ---- */

static void check_rank(const fw_scan *scan, const float *scores, size_t n, size_t k) {
  const float bound = scan->kth_bound(scores, n, k);
  size_t count = 0, finite = 0;
  for (size_t i = 0; i < n; i++) {
    count += scores[i] >= bound;
    finite += scores[i] > -INFINITY;
  }
  assert_true(count >= k);
  if (finite >= k) assert_true(count <= k + k / 8 + n / 16); /* near it, for numbers that are not all in a place */
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
    for (size_t k = 1; k <= n; k += 1 + fw_rng_below(&rng, 40)) check_rank(&scan, scores, n, k);
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
      cmocka_unit_test(sums_and_bounds),   cmocka_unit_test(blocks_of_codes),    cmocka_unit_test(odd_tables),
      cmocka_unit_test(distances_of_rows), cmocka_unit_test(distances_of_bytes), cmocka_unit_test(bytes_become_floats),
      cmocka_unit_test(groups_of_codes),   cmocka_unit_test(largest_scores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
