/* kern/scan/scan_avx2.c: scanning with AVX2. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kern/scan/scan.h"

/* ---- The table ------------------------------------------------------------------------------------------ */

#include "kern/scan/scan_quantise_tmpl.h"

static span measure_few(const float *numbers, size_t ksub) {
  span s = {numbers[0], numbers[0], !isnan(numbers[0])};
  for (size_t j = 1; j < ksub; j++) {
    s.low = numbers[j] < s.low ? numbers[j] : s.low;
    s.high = numbers[j] > s.high ? numbers[j] : s.high;
    s.whole = s.whole && !isnan(numbers[j]);
  }
  return s;
}

static span measure(const float *numbers, size_t ksub) {
  float lows[8], highs[8];
  if (ksub < 16) return measure_few(numbers, ksub);
  __m256 low = _mm256_loadu_ps(numbers), high = low, odd = _mm256_setzero_ps();
  for (size_t j = 0; j < ksub; j += 8) {
    const __m256 v = _mm256_loadu_ps(numbers + j);
    odd = _mm256_or_ps(odd, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    low = _mm256_min_ps(low, v);
    high = _mm256_max_ps(high, v);
  }
  _mm256_storeu_ps(lows, low);
  _mm256_storeu_ps(highs, high);
  const bool whole = _mm256_movemask_ps(odd) == 0;
  return (span){measure_few(lows, 8).low, measure_few(highs, 8).high, whole};
}

static void to_bytes(const float *numbers, size_t ksub, float low, float to_byte, float most, uint8_t *bytes) {
  const __m256 from = _mm256_set1_ps(low), factor = _mm256_set1_ps(to_byte), top = _mm256_set1_ps(most);
  for (size_t j = 0; j < ksub; j += 16) {
    __m256i v[2];
    for (int i = 0; i < 2; i++) {
      const __m256 x = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(numbers + j + (size_t)i * 8), from), factor);
      v[i] = _mm256_cvttps_epi32(_mm256_max_ps(_mm256_min_ps(x, top), _mm256_setzero_ps()));
    }
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(v[0], v[1]), 0xd8);
    const __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)(bytes + j), packed);
  }
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

typedef __m128i vb;

static inline vb vb_load(const uint8_t *p) {
  return _mm_loadu_si128((const __m128i *)p);
}
static inline vb vb_load_half(const uint8_t *p) {
  return _mm_loadl_epi64((const __m128i *)p);
}
static inline void vb_store(uint8_t *p, vb v) {
  _mm_storeu_si128((__m128i *)p, v);
}
static inline vb vb_zero(void) {
  return _mm_setzero_si128();
}
static inline vb vb_mix_low(vb a, vb b) {
  return _mm_unpacklo_epi8(a, b);
}
static inline vb vb_mix_high(vb a, vb b) {
  return _mm_unpackhi_epi8(a, b);
}

#include "kern/scan/scan_pack_tmpl.h"

/* ---- Codes ---------------------------------------------------------------------------------------------- */

/* Sums of the bytes of 32 codes: `all` sums 16-bit pairs, `high` only their upper bytes. */
typedef struct sums {
  __m256i all, high;
} sums;

static inline void add(sums *s, __m256i bytes) {
  s->all = _mm256_add_epi16(s->all, bytes);
  s->high = _mm256_add_epi16(s->high, _mm256_srli_epi16(bytes, 8));
}

static inline __m256i table_of(const uint8_t *bytes) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
}

/* 32 codes: their lower four bits, and each of the other bits as the highest bit of a byte. */
typedef struct code_bits {
  __m256i low, bit4, bit5, bit6, bit7;
} code_bits;

static inline code_bits split(__m256i codes) {
  code_bits c = {.low = _mm256_and_si256(codes, _mm256_set1_epi8(15)), .bit7 = codes};
  c.bit6 = _mm256_add_epi8(codes, codes);
  c.bit5 = _mm256_add_epi8(c.bit6, c.bit6);
  c.bit4 = _mm256_add_epi8(c.bit5, c.bit5);
  return c;
}

/* Looks up in 64 bytes of a table, by the lower six bits. */
static inline __m256i look_up_64(const uint8_t *bytes, const code_bits *c) {
  const __m256i a = _mm256_shuffle_epi8(table_of(bytes), c->low);
  const __m256i b = _mm256_shuffle_epi8(table_of(bytes + 16), c->low);
  const __m256i ab = _mm256_blendv_epi8(a, b, c->bit4);
  const __m256i d = _mm256_shuffle_epi8(table_of(bytes + 32), c->low);
  const __m256i e = _mm256_shuffle_epi8(table_of(bytes + 48), c->low);
  return _mm256_blendv_epi8(ab, _mm256_blendv_epi8(d, e, c->bit4), c->bit5);
}

static inline __attribute__((always_inline)) __m256i look_up_256(const uint8_t *bytes, __m256i codes) {
  const code_bits c = split(codes);
  const __m256i lower = _mm256_blendv_epi8(look_up_64(bytes, &c), look_up_64(bytes + 64, &c), c.bit6);
  const __m256i upper = _mm256_blendv_epi8(look_up_64(bytes + 128, &c), look_up_64(bytes + 192, &c), c.bit6);
  return _mm256_blendv_epi8(lower, upper, c.bit7);
}

/* Looks up in a smaller table, 16 bytes at a time: for codes 0 … 15 the lower bits are the position, the others have
 * their highest bit set, which gives 0. Then all codes are reduced by 16. */
static inline __m256i look_up_few(const uint8_t *bytes, size_t ksub, __m256i codes) {
  __m256i found = _mm256_setzero_si256();
  for (size_t h = 0; h < ksub; h += 16) {
    const __m256i index = _mm256_adds_epu8(codes, _mm256_set1_epi8(0x70));
    found = _mm256_or_si256(found, _mm256_shuffle_epi8(table_of(bytes + h), index));
    codes = _mm256_sub_epi8(codes, _mm256_set1_epi8(16));
  }
  return found;
}

static void renumber(const uint8_t *numbers, size_t m, uint8_t *block, size_t width) {
  for (size_t k = 0; k < m; k++, block += width, numbers += FW_LUT_BYTES) {
    size_t i = 0;
    for (; i + 32 <= width; i += 32) {
      const __m256i codes = _mm256_loadu_si256((const __m256i *)(block + i));
      _mm256_storeu_si256((__m256i *)(block + i), look_up_256(numbers, codes));
    }
    for (; i < width; i++) block[i] = numbers[block[i]];
  }
}

static inline void add_codes(sums *s, const uint8_t *bytes, size_t ksub, const uint8_t *at) {
  const __m256i codes = _mm256_loadu_si256((const __m256i *)at);
  add(s, ksub == 256 ? look_up_256(bytes, codes) : look_up_few(bytes, ksub, codes));
}

static inline __m256 to_value(const fw_lut *lut, __m128i sum, const float *extra) {
  const __m256 step = _mm256_set1_ps(lut->step), low = _mm256_set1_ps(lut->low);
  const __m256 with = extra ? _mm256_add_ps(low, _mm256_loadu_ps(extra)) : low;
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(sum)), step, with);
}

static inline const float *part(const float *extra, size_t n) {
  return extra ? extra + n : NULL;
}

/* Computes the bounds of 32 vectors, with even and odd ones back in order. */
static inline void finish(const fw_lut *lut, sums s, const float *extra, __m256 values[4]) {
  const __m256i even = _mm256_sub_epi16(s.all, _mm256_slli_epi16(s.high, 8));
  const __m256i front = _mm256_unpacklo_epi16(even, s.high), back = _mm256_unpackhi_epi16(even, s.high);
  values[0] = to_value(lut, _mm256_castsi256_si128(front), extra);
  values[1] = to_value(lut, _mm256_castsi256_si128(back), part(extra, 8));
  values[2] = to_value(lut, _mm256_extracti128_si256(front, 1), part(extra, 16));
  values[3] = to_value(lut, _mm256_extracti128_si256(back, 1), part(extra, 24));
}

static inline uint64_t compare(const fw_lut *lut, sums s, const float *extra, float limit) {
  const __m256 most = _mm256_set1_ps(limit);
  __m256 v[4];
  uint64_t mask = 0;
  finish(lut, s, extra, v);
  for (int i = 0; i < 4; i++)
    mask |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v[i], most, _CMP_NGT_UQ)) << (8 * i);
  return mask;
}

/* Prefetches a line of codes for each step, and of extras for the first steps. */
static inline void fetch_ahead(const fw_code_block *block, size_t m) {
  _mm_prefetch(fw_ahead(block->ahead, m * FW_BLOCK), _MM_HINT_T0);
  if (m < FW_BLOCK / 16) _mm_prefetch(fw_ahead(block->extra_ahead, m * 16 * sizeof(float)), _MM_HINT_T0);
}

/* Adds two codes of 4 bits in each byte. */
static inline void add_nibbles(sums *s, __m256i first, __m256i second, const uint8_t *at) {
  const __m256i codes = _mm256_loadu_si256((const __m256i *)at), low = _mm256_set1_epi8(15);
  const __m256i a = _mm256_shuffle_epi8(first, _mm256_and_si256(codes, low));
  const __m256i b = _mm256_shuffle_epi8(second, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
  add(s, _mm256_add_epi8(a, b));
}

static void add_nibble_block(const fw_lut *lut, const fw_code_block *block, sums s[2]) {
  const size_t rows = fw_lut_rows(lut);
  const uint8_t *codes = block->codes, *bytes = lut->bytes;
  sums a = {_mm256_setzero_si256(), _mm256_setzero_si256()}, b = a;
  for (size_t row = 0; row < rows; row++, codes += block->width, bytes += 2 * FW_LUT_NIBBLES) {
    const __m256i first = table_of(bytes), second = table_of(bytes + FW_LUT_NIBBLES);
    fetch_ahead(block, row);
    add_nibbles(&a, first, second, codes);
    add_nibbles(&b, first, second, codes + 32);
  }
  s[0] = a;
  s[1] = b;
}

/* Values that are read beyond a narrower block are ignored. */
static void add_block(const fw_lut *lut, const fw_code_block *block, sums s[2]) {
  const uint8_t *codes = block->codes;
  sums a = {_mm256_setzero_si256(), _mm256_setzero_si256()}, b = a;
  if (lut->nibbles) {
    add_nibble_block(lut, block, s);
    return;
  }
  for (size_t m = 0; m < lut->m; m++, codes += block->width) {
    fetch_ahead(block, m);
    add_codes(&a, lut->bytes + m * FW_LUT_BYTES, lut->ksub, codes);
    add_codes(&b, lut->bytes + m * FW_LUT_BYTES, lut->ksub, codes + 32);
  }
  s[0] = a;
  s[1] = b;
}

static uint64_t compare_both(const fw_lut *lut, sums front, sums back, const float *extra, float limit) {
  return compare(lut, front, extra, limit) | compare(lut, back, part(extra, 32), limit) << 32;
}

static uint64_t sift_block(const fw_lut *lut, const fw_code_block *block, float limit) {
  sums s[2];
  add_block(lut, block, s);
  return compare_both(lut, s[0], s[1], block->extra, limit);
}

static size_t sift(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                   uint64_t masks[FW_BLOCK_GROUP]) {
  return fw_sift_by_blocks(sift_block, lut, list, next, limit, masks);
}

static void bounds(const fw_lut *lut, const fw_code_list *list, size_t blocks, float *out) {
  for (size_t b = 0; b < blocks; b++) {
    sums s[2];
    const fw_code_block block = fw_code_list_block(list, fw_lut_rows(lut), b, (list->n + FW_BLOCK - 1) / FW_BLOCK);
    add_block(lut, &block, s);
    for (size_t half = 0; half < 2; half++, out += 32) {
      __m256 v[4];
      finish(lut, s[half], part(list->extra, b * FW_BLOCK + 32 * half), v);
      for (size_t i = 0; i < 4; i++) _mm256_storeu_ps(out + 8 * i, _mm256_xor_ps(v[i], _mm256_set1_ps(-0.0F)));
    }
  }
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void maxima(const float *values, size_t n, size_t groups, float *out) {
  for (size_t g = 0; g < groups; g += 8) {
    __m256 most = _mm256_loadu_ps(values + g);
    for (size_t i = g + groups; i < n; i += groups) most = _mm256_max_ps(most, _mm256_loadu_ps(values + i));
    _mm256_storeu_ps(out + g, most);
  }
}

static inline size_t count_not_below(const float *values, size_t n, float limit) {
  const __m256 least = _mm256_set1_ps(limit);
  __m256i count = _mm256_setzero_si256();
  int32_t lanes[8], all = 0;
  for (size_t i = 0; i < n; i += 8) {
    const __m256 found = _mm256_cmp_ps(_mm256_loadu_ps(values + i), least, _CMP_GE_OQ);
    count = _mm256_sub_epi32(count, _mm256_castps_si256(found));
  }
  _mm256_storeu_si256((__m256i *)lanes, count);
  for (int i = 0; i < 8; i++) all += lanes[i];
  return (size_t)all;
}

static inline void find_range(const float *values, size_t n, float *low, float *high) {
  const __m256 none = _mm256_set1_ps(-INFINITY), infinite = _mm256_set1_ps(INFINITY);
  __m256 least = infinite, most = none;
  float lows[8], highs[8];
  for (size_t i = 0; i < n; i += 8) {
    const __m256 v = _mm256_loadu_ps(values + i);
    least = _mm256_min_ps(_mm256_blendv_ps(infinite, v, _mm256_cmp_ps(v, none, _CMP_GT_OQ)), least);
    most = _mm256_max_ps(v, most);
  }
  _mm256_storeu_ps(lows, least);
  _mm256_storeu_ps(highs, most);
  *low = measure_few(lows, 8).low;
  *high = measure_few(highs, 8).high;
}

#include "kern/scan/scan_kth_tmpl.h"

static size_t find_not_below(const float *values, size_t n, float limit, uint32_t *positions) {
  const __m256 least = _mm256_set1_ps(limit);
  size_t count = 0;
  for (size_t i = 0; i < n; i += 8) {
    const __m256 found = _mm256_cmp_ps(_mm256_loadu_ps(values + i), least, _CMP_NLT_UQ);
    for (unsigned bits = (unsigned)_mm256_movemask_ps(found); bits; bits &= bits - 1)
      positions[count++] = (uint32_t)(i + (size_t)__builtin_ctz(bits));
  }
  return count;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static inline float vf_total(__m256 v) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

typedef __m256 vf;
#define ROW_WIDTH 8
static inline vf vf_zero(void) {
  return _mm256_setzero_ps();
}
static inline vf vf_load(const float *p) {
  return _mm256_loadu_ps(p);
}
static inline vf vf_add(vf a, vf b) {
  return _mm256_add_ps(a, b);
}
static inline vf vf_fold(vf sum, vf a, vf b, bool l2) {
  const vf t = _mm256_sub_ps(a, b);
  return l2 ? _mm256_fmadd_ps(t, t, sum) : _mm256_fmadd_ps(a, b, sum);
}

#include "kern/scan/scan_rows_tmpl.h"

/* Differences of 7 bits, with their sign removed, fit both operands of maddubs, and the sums of two squares 16 bits. */
static inline __m256i add_squares(__m256i sum, const uint8_t *x, const uint8_t *y) {
  const __m256i difference =
      _mm256_abs_epi8(_mm256_sub_epi8(_mm256_load_si256((const __m256i *)x), _mm256_load_si256((const __m256i *)y)));
  const __m256i pairs = _mm256_maddubs_epi16(difference, difference);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

static inline int32_t byte_square(const uint8_t *x, const uint8_t *y, size_t stride) {
  __m256i a = _mm256_setzero_si256(), b = a;
  for (size_t j = 0; j < stride; j += 64) {
    a = add_squares(a, x + j, y + j);
    b = add_squares(b, x + j + 32, y + j + 32);
  }
  a = _mm256_add_epi32(a, b);
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
}

#include "kern/scan/scan_bytes_tmpl.h"

static void decode_bytes(const uint8_t *codes, const float *low, const float *width, size_t d, float *out) {
  const __m256 half = _mm256_set1_ps(0.5f), most = _mm256_set1_ps(255), inverse = _mm256_set1_ps(1 / 255.0f);
  size_t i = 0;
  for (; i + 8 <= d; i += 8) {
    const __m256i numbers = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(codes + i)));
    const __m256 x = _mm256_add_ps(_mm256_cvtepi32_ps(numbers), half), near = _mm256_mul_ps(x, inverse);
    /* the quotient x / 255, which is exact for all 256 codes, and faster than a division */
    const __m256 part = _mm256_fmadd_ps(_mm256_fnmadd_ps(near, most, x), inverse, near);
    _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(low + i), _mm256_mul_ps(part, _mm256_loadu_ps(width + i))));
  }
  for (; i < d; i++) out[i] = low[i] + ((float)codes[i] + 0.5f) / 255 * width[i];
}

void fw_scan_fill_avx2(fw_scan *scan) {
  scan->decode_bytes = decode_bytes;
  scan->l2_bytes = l2_bytes;
  scan->pack = pack;
  scan->nibbles = true;
  scan->renumber = renumber;
  scan->quantise = quantise;
  scan->sift = sift;
  scan->bounds = bounds;
  scan->maxima = maxima;
  scan->find_not_below = find_not_below;
  scan->l2_rows = l2_rows;
  scan->ip_rows = ip_rows;
  scan->kth_bound = kth_bound;
  fw_groups_fill_avx2(scan);
}
