/* kern/scan_avx512.c: scanning with 64 byte look-ups at once: a table of 256 bytes is four registers. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kern/scan.h"

/* ---- The table ------------------------------------------------------------------------------------------ */

typedef struct span {
  float low, high;
} span;

static span measure(const float *values, size_t ksub) {
  __m512 low = _mm512_set1_ps(INFINITY), high = _mm512_set1_ps(-INFINITY);
  for (size_t j = 0; j < ksub; j += 16) {
    const __mmask16 here = ksub - j < 16 ? (__mmask16)((1U << (ksub - j)) - 1) : (__mmask16)0xffff;
    const __m512 v = _mm512_load_ps(values + j);
    low = _mm512_mask_min_ps(low, here, v, low); /* NaN: the second operand */
    high = _mm512_mask_max_ps(high, here, v, high);
  }
  return (span){_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high)};
}

static void to_bytes(const float *values, size_t ksub, float low, float to_byte, float most, uint8_t *bytes) {
  const __m512 from = _mm512_set1_ps(low), factor = _mm512_set1_ps(to_byte), top = _mm512_set1_ps(most);
  for (size_t j = 0; j < ksub; j += 16) {
    __m512 v = _mm512_mul_ps(_mm512_sub_ps(_mm512_load_ps(values + j), from), factor);
    v = _mm512_max_ps(_mm512_min_ps(v, top), _mm512_setzero_ps());
    _mm_store_si128((__m128i *)(bytes + j), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v)));
  }
}

static void quantise(fw_lut *lut) {
  enum { FEW = 64 };
  float lows[FEW];
  float widest = 0;
  const float most = lut->m <= 257 ? 255 : (float)(65535 / lut->m);
  lut->low = 0;
  lut->magnitude = 0;
  for (size_t m = 0; m < lut->m; m++) {
    const span s = measure(lut->values + m * lut->width, lut->ksub);
    if (m < FEW) lows[m] = s.low;
    lut->low += s.low;
    lut->magnitude += fmaxf(fabsf(s.low), fabsf(s.high));
    widest = fmaxf(widest, s.high - s.low);
  }
  float to_byte = most / widest;
  lut->step = widest / most;
  if (!isfinite(to_byte) || !isfinite(lut->step) || lut->m > 65535) to_byte = lut->step = 0;
  for (size_t m = 0; m < lut->m; m++) {
    const float *values = lut->values + m * lut->width;
    const float low = m < FEW ? lows[m] : measure(values, lut->ksub).low;
    to_bytes(values, lut->ksub, low, to_byte, most, lut->bytes + m * FW_LUT_BYTES);
  }
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

/* Sums of the bytes of 64 codes: all is a sum of 16-bit pairs, high only of their upper bytes. */
typedef struct sums {
  __m512i all, high;
} sums;

static inline __m512i look_up(const __m512i table[4], __m512i codes) {
  const __m512i lower = _mm512_permutex2var_epi8(table[0], codes, table[1]);
  const __m512i upper = _mm512_permutex2var_epi8(table[2], codes, table[3]);
  return _mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(codes), upper);
}

static inline void add(sums *s, __m512i bytes) {
  s->all = _mm512_add_epi16(s->all, bytes);
  s->high = _mm512_add_epi16(s->high, _mm512_srli_epi16(bytes, 8));
}

static inline __mmask16 kept(__m256i sum, const float *extra, __m512 step, __m512 low, __m512 limit) {
  const __m512 with = extra ? _mm512_add_ps(low, _mm512_load_ps(extra)) : low;
  const __m512 value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(sum)), step, with);
  return _mm512_cmp_ps_mask(value, limit, _CMP_NGT_UQ);
}

/* Brings even and odd vectors back in order, 16 to a row of 32-bit numbers. */
static inline uint64_t compare(const fw_lut *lut, sums s, const float *extra, float limit) {
  const __m512 step = _mm512_set1_ps(lut->step), low = _mm512_set1_ps(lut->low), most = _mm512_set1_ps(limit);
  const __m512i even = _mm512_sub_epi16(s.all, _mm512_slli_epi16(s.high, 8));
  const __m512i first = _mm512_unpacklo_epi16(even, s.high), second = _mm512_unpackhi_epi16(even, s.high);
  /* each 128-bit lane of first has vectors 0-7 of that lane's 16, second has 8-15 */
  const __m512i order_low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i order_high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i front = _mm512_permutex2var_epi64(first, order_low, second);
  const __m512i back = _mm512_permutex2var_epi64(first, order_high, second);
  const __m256i quarter[4] = {_mm512_castsi512_si256(front), _mm512_extracti64x4_epi64(front, 1),
                              _mm512_castsi512_si256(back), _mm512_extracti64x4_epi64(back, 1)};
  uint64_t mask = 0;
  for (int i = 0; i < 4; i++)
    mask |= (uint64_t)kept(quarter[i], extra ? extra + 16 * i : NULL, step, low, most) << (16 * i);
  return mask;
}

static inline void load_table(__m512i table[4], const uint8_t *bytes) {
  for (int i = 0; i < 4; i++) table[i] = _mm512_load_si512(bytes + 64 * i);
}

/* `count` (a constant) whole blocks; returns whether any vector is kept. */
static inline __attribute__((always_inline)) bool
sift_blocks(const fw_lut *lut, const uint8_t *codes, const float *extra, int count, float limit, uint64_t *masks) {
  const size_t block = FW_BLOCK * lut->m;
  sums s[FW_BLOCK_GROUP];
  for (int i = 0; i < count; i++) s[i].all = s[i].high = _mm512_setzero_si512();
  for (size_t m = 0; m < lut->m; m++) {
    __m512i table[4];
    load_table(table, lut->bytes + m * FW_LUT_BYTES);
    for (int i = 0; i < count; i++)
      add(&s[i], look_up(table, _mm512_load_si512(codes + (size_t)i * block + m * FW_BLOCK)));
  }
  uint64_t any = 0;
  for (int i = 0; i < count; i++) {
    masks[i] = compare(lut, s[i], extra ? extra + FW_BLOCK * i : NULL, limit);
    any |= masks[i];
  }
  return any != 0;
}

/* The last block, of `left` vectors, with room for `width`. */
static bool sift_last(const fw_lut *lut, const uint8_t *codes, const float *extra, size_t left, size_t width,
                      float limit, uint64_t *masks) {
  const __mmask64 here = ~(__mmask64)0 >> (FW_BLOCK - width);
  sums s = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (size_t m = 0; m < lut->m; m++) {
    __m512i table[4];
    load_table(table, lut->bytes + m * FW_LUT_BYTES);
    add(&s, look_up(table, _mm512_maskz_loadu_epi8(here, codes + m * width)));
  }
  float padded[FW_BLOCK] __attribute__((aligned(64))) = {0};
  if (extra) memcpy(padded, extra, left * sizeof *extra);
  masks[0] = compare(lut, s, padded, limit) & (((uint64_t)1 << left) - 1);
  return masks[0] != 0;
}

/* Tables are loaded once for as many blocks as there are registers for. */
static size_t sift(const fw_lut *lut, const uint8_t *codes, const float *extra, size_t n, size_t *next, float limit,
                   uint64_t masks[FW_BLOCK_GROUP]) {
  const size_t whole = n / FW_BLOCK, block = FW_BLOCK * lut->m;
  for (size_t b = *next; b * FW_BLOCK < n; b = *next) {
    const float *own = extra ? extra + b * FW_BLOCK : NULL;
    bool any;
    if (b + 4 <= whole) {
      *next = b + 4;
      any = sift_blocks(lut, codes + b * block, own, 4, limit, masks);
    } else if (b + 2 <= whole) {
      *next = b + 2;
      any = sift_blocks(lut, codes + b * block, own, 2, limit, masks);
    } else {
      *next = b + 1;
      any = b < whole ? sift_blocks(lut, codes + b * block, own, 1, limit, masks)
                      : sift_last(lut, codes + b * block, own, n - b * FW_BLOCK, fw_block_width(n, b), limit, masks);
    }
    if (any) return b;
  }
  return *next;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) float row(const float *x, const float *y, size_t d, bool l2) {
  __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
  size_t j = 0;
  for (; j + 64 <= d; j += 64) {
    for (int i = 0; i < 4; i++) {
      const __m512 a = _mm512_loadu_ps(x + j + 16 * i), b = _mm512_loadu_ps(y + j + 16 * i);
      const __m512 t = _mm512_sub_ps(a, b);
      sum[i] = l2 ? _mm512_fmadd_ps(t, t, sum[i]) : _mm512_fmadd_ps(a, b, sum[i]);
    }
  }
  for (; j < d; j += 16) {
    const __mmask16 here = d - j < 16 ? (__mmask16)((1U << (d - j)) - 1) : (__mmask16)0xffff;
    const __m512 a = _mm512_maskz_loadu_ps(here, x + j), b = _mm512_maskz_loadu_ps(here, y + j);
    const __m512 t = _mm512_sub_ps(a, b);
    sum[0] = l2 ? _mm512_fmadd_ps(t, t, sum[0]) : _mm512_fmadd_ps(a, b, sum[0]);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
}

static void l2_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, true);
}

static void ip_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, false);
}

void fw_scan_fill_avx512(fw_scan *scan) {
  scan->quantise = quantise;
  scan->sift = sift;
  scan->l2_rows = l2_rows;
  scan->ip_rows = ip_rows;
}
