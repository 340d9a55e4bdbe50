/* kern/scan/groups_avx2.c: sums of groups of codes with AVX2: 64 groups of 4 codes.
 *
 * The group of a code is its upper two bits and its lower four. `vpshufb` gives 0 if the highest bit of an index is
 * set, and uses the lower four bits otherwise. So x is an index that gives 0 for codes from 128 on, x + 64 (at most
 * 255) one for codes from 64 on, and likewise with x ^ 128: four look-ups, whose results are combined without a
 * blend. */
#include <immintrin.h>

#include "kern/scan/scan.h"
#include "kern/simd/unroll.h"

/* Bits 7 … 2 of `position` are the group. */
static uint8_t group_code(uint8_t position) {
  return (uint8_t)((position & 192) | (position >> 2 & 15) | (position & 3) << 4);
}

/* ---- The table ------------------------------------------------------------------------------------------ */

INLINE __m256i floor_of(const float *values, __m256 scale) {
  const __m256 floored = _mm256_floor_ps(_mm256_mul_ps(_mm256_loadu_ps(values), scale));
  return _mm256_and_si256(_mm256_cvtps_epi32(floored), _mm256_set1_epi32(255));
}

static void wrap(const float *values, size_t n, float scale, uint8_t *out) {
  const __m256 factor = _mm256_set1_ps(scale);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* packing works on halves of registers */
  for (size_t i = 0; i < n; i += 32) {
    const __m256i a = _mm256_packus_epi32(floor_of(values + i, factor), floor_of(values + i + 8, factor));
    const __m256i b = _mm256_packus_epi32(floor_of(values + i + 16, factor), floor_of(values + i + 24, factor));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), order);
    _mm256_storeu_si256((__m256i *)(out + i), bytes);
  }
}

INLINE __m256 squares_at(const float *x, const float *y) {
  const __m256 t = _mm256_sub_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(y));
  return _mm256_mul_ps(t, t);
}

/* Sums four parts of eight floats. */
INLINE __m128 sum_four(const float *x, const float *y) {
  const __m256 a = _mm256_hadd_ps(squares_at(x, y), squares_at(x + 8, y + 8));
  const __m256 b = _mm256_hadd_ps(squares_at(x + 16, y + 16), squares_at(x + 24, y + 24));
  const __m256 sums = _mm256_hadd_ps(a, b);
  return _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}

/* Sums four parts of four floats. */
INLINE __m128 sum_four_short(const float *x, const float *y) {
  const __m256 a = squares_at(x, y), b = squares_at(x + 8, y + 8);
  const __m256 sums = _mm256_hadd_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  return _mm_hadd_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}

static void part_squares(const float *x, const float *y, size_t m, size_t dsub, float *out) {
  size_t k = 0;
  for (; dsub == 8 && k + 4 <= m; k += 4) _mm_storeu_ps(out + k, sum_four(x + 8 * k, y + 8 * k));
  for (; dsub == 4 && k + 4 <= m; k += 4) _mm_storeu_ps(out + k, sum_four_short(x + 4 * k, y + 4 * k));
  for (; k < m; k++) {
    float sum = 0;
    for (size_t i = k * dsub; i < (k + 1) * dsub; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    out[k] = sum;
  }
}

INLINE __m256i both(const uint8_t *query, const uint8_t *list, __m256i offset, size_t at) {
  const __m256i bytes = _mm256_load_si256((const __m256i *)(query + at));
  if (!list) return bytes;
  return _mm256_add_epi8(_mm256_add_epi8(bytes, offset), _mm256_load_si256((const __m256i *)(list + at)));
}

/* Of the codes of a quarter, the minimum of each four: 16 bytes. */
INLINE __m128i least_of(const uint8_t *query, const uint8_t *list, __m256i offset, size_t at) {
  const __m256i least = _mm256_min_epu8(both(query, list, offset, at), both(query, list, offset, at + 32));
  return _mm_min_epu8(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
}

/* Prepares a row for look_up: the second quarter, its bitwise difference from the first, and the same for the other
 * two. */
INLINE void make_row(const uint8_t *query, const uint8_t *list, __m256i offset, uint8_t *row) {
  __m128i q[4];
  UNROLL for (size_t i = 0; i < 4; i++) q[i] = least_of(query, list, offset, 64 * i);
  _mm_store_si128((__m128i *)row, q[1]);
  _mm_store_si128((__m128i *)(row + 16), _mm_xor_si128(q[0], q[1]));
  _mm_store_si128((__m128i *)(row + 32), q[3]);
  _mm_store_si128((__m128i *)(row + 48), _mm_xor_si128(q[2], q[3]));
}

static void group_table(const uint8_t *query, const uint8_t *list, const uint8_t *offset, size_t m, uint8_t *least) {
  for (size_t k = 0; k < m; k++) {
    const uint8_t *bytes = query + k * FW_LUT_BYTES;
    if (list)
      make_row(bytes, list + k * FW_LUT_BYTES, _mm256_set1_epi8((char)offset[k]), least + k * FW_GROUPS);
    else
      make_row(bytes, NULL, _mm256_setzero_si256(), least + k * FW_GROUPS);
  }
  for (size_t i = m * FW_GROUPS; i < fw_group_rows(m) * FW_GROUPS; i += 32)
    _mm256_store_si256((__m256i *)(least + i), _mm256_setzero_si256());
}

/* ---- Sums ----------------------------------------------------------------------------------------------- */

/* Sums of 32 codes: `all` sums 16-bit pairs, `high` only their upper bytes. */
typedef struct pair_sums {
  __m256i all, high;
} pair_sums;

INLINE __m256i table_of(const uint8_t *bytes) {
  return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)bytes));
}

INLINE __m256i look_up(const uint8_t *row, const uint8_t *at) {
  const __m256i quarter = _mm256_set1_epi8(64);
  const __m256i low = _mm256_loadu_si256((const __m256i *)at), high = _mm256_xor_si256(low, _mm256_set1_epi8(-128));
  const __m256i a = _mm256_shuffle_epi8(table_of(row), low);
  const __m256i b = _mm256_shuffle_epi8(table_of(row + 16), _mm256_adds_epu8(low, quarter));
  const __m256i c = _mm256_shuffle_epi8(table_of(row + 32), high);
  const __m256i d = _mm256_shuffle_epi8(table_of(row + 48), _mm256_adds_epu8(high, quarter));
  return _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
}

/* Averages are rounded up: twice an average is at most the sum plus 1, four times the last average the sum plus 4. */
INLINE void add_rows(pair_sums *s, const uint8_t *least, const uint8_t *at, const size_t row[FW_GROUP_ROWS]) {
  const __m256i a = _mm256_avg_epu8(look_up(least, at), look_up(least + FW_GROUPS, at + row[1]));
  const __m256i b =
      _mm256_avg_epu8(look_up(least + 2 * FW_GROUPS, at + row[2]), look_up(least + 3 * FW_GROUPS, at + row[3]));
  const __m256i mean = _mm256_avg_epu8(a, b);
  s->all = _mm256_add_epi16(s->all, mean);
  s->high = _mm256_add_epi16(s->high, _mm256_srli_epi16(mean, 8));
}

INLINE void fetch_rows(const fw_code_block *block, size_t m) {
  UNROLL for (size_t i = 0; i < FW_GROUP_ROWS; i++)
      _mm_prefetch(fw_ahead(block->ahead, (m + i) * FW_BLOCK), _MM_HINT_T0);
  const size_t line = m / FW_GROUP_ROWS % (FW_BLOCK / 16);
  _mm_prefetch(fw_ahead(block->extra_ahead, line * 16 * sizeof(float)), _MM_HINT_T0);
}

/* Processes half of a block, because both halves at once would need too many registers. Values that are read beyond
 * a narrower block are ignored. The last rows of a table may belong to no sub-quantizer: they are 0 for any code. */
INLINE pair_sums add_half(const uint8_t *least, size_t m, const fw_code_block *block, const size_t half) {
  const size_t width = block->width, rows[FW_GROUP_ROWS] = {0, width, 2 * width, 3 * width};
  const uint8_t *codes = block->codes + half * 32;
  pair_sums s = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  size_t k = 0;
  for (; k + FW_GROUP_ROWS <= m; k += FW_GROUP_ROWS, codes += FW_GROUP_ROWS * width) {
    if (half == 0) fetch_rows(block, k);
    add_rows(&s, least + k * FW_GROUPS, codes, rows);
  }
  if (k < m) {
    const size_t some[FW_GROUP_ROWS] = {0, k + 1 < m ? width : 0, k + 2 < m ? 2 * width : 0, 0};
    add_rows(&s, least + k * FW_GROUPS, codes, some);
  }
  return s;
}

INLINE __m256i even_sums(pair_sums s) {
  return _mm256_sub_epi16(s.all, _mm256_slli_epi16(s.high, 8));
}

INLINE __m256i not_above(__m256i sums, __m256i limit) {
  return _mm256_cmpeq_epi16(_mm256_subs_epu16(sums, limit), _mm256_setzero_si256());
}

/* Even vectors are in the lower bytes of pairs. */
INLINE uint64_t compare(pair_sums s, __m256i limit) {
  const __m256i even = _mm256_srli_epi16(not_above(even_sums(s), limit), 8);
  const __m256i odd = _mm256_slli_epi16(not_above(s.high, limit), 8);
  return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(even, odd));
}

static size_t sift_groups(const uint8_t *least, size_t m, const fw_code_list *list, size_t *next, uint32_t limit,
                          uint64_t masks[FW_BLOCK_GROUP]) {
  const __m256i most = _mm256_set1_epi16((short)(limit < 65535 ? limit : 65535));
  const size_t blocks = (list->n + FW_BLOCK - 1) / FW_BLOCK;
  for (size_t b = *next; b < blocks; b++) {
    const size_t left = list->n - b * FW_BLOCK;
    const fw_code_block block = fw_code_list_block(list, m, b, blocks);
    masks[0] = compare(add_half(least, m, &block, 0), most);
    masks[0] |= compare(add_half(least, m, &block, 1), most) << 32;
    if (left < FW_BLOCK) masks[0] &= ((uint64_t)1 << left) - 1;
    *next = b + 1;
    if (masks[0]) return b;
  }
  return *next = blocks;
}

void fw_groups_fill_avx2(fw_scan *scan) {
  scan->group_code = group_code;
  scan->group_most = 24;
  scan->wrap = wrap;
  scan->part_squares = part_squares;
  scan->group_table = group_table;
  scan->sift_groups = sift_groups;
}
