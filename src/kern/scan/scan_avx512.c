/* kern/scan/scan_avx512.c: scanning with 64 byte look-ups at once: a table of 256 bytes is four registers. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kern/scan/scan.h"
#include "kern/simd/unroll.h"

/* ---- The table ------------------------------------------------------------------------------------------ */

#include "kern/scan/scan_quantise_tmpl.h"

static span measure(const float *numbers, size_t ksub) {
  __m512 low = _mm512_set1_ps(INFINITY), high = _mm512_set1_ps(-INFINITY);
  __mmask16 odd = 0;
  for (size_t j = 0; j < ksub; j += 16) {
    const __mmask16 here = ksub - j < 16 ? (__mmask16)((1U << (ksub - j)) - 1) : (__mmask16)0xffff;
    const __m512 v = _mm512_load_ps(numbers + j);
    odd |= _mm512_mask_cmp_ps_mask(here, v, v, _CMP_UNORD_Q);
    low = _mm512_mask_min_ps(low, here, v, low);
    high = _mm512_mask_max_ps(high, here, v, high);
  }
  return (span){_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high), odd == 0};
}

static void to_bytes(const float *numbers, size_t ksub, float low, float to_byte, float most, uint8_t *bytes) {
  const __m512 from = _mm512_set1_ps(low), factor = _mm512_set1_ps(to_byte), top = _mm512_set1_ps(most);
  for (size_t j = 0; j < ksub; j += 16) {
    __m512 v = _mm512_mul_ps(_mm512_sub_ps(_mm512_load_ps(numbers + j), from), factor);
    v = _mm512_max_ps(_mm512_min_ps(v, top), _mm512_setzero_ps());
    _mm_store_si128((__m128i *)(bytes + j), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(v)));
  }
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

/* Sums of the bytes of 64 codes: `all` sums 16-bit pairs, `high` only their upper bytes. */
typedef struct sums {
  __m512i all, high;
} sums;

/* 256 bytes */
typedef struct table {
  __m512i a, b, c, d;
} table;

static inline table load_table(const uint8_t *bytes) {
  return (table){_mm512_load_si512(bytes), _mm512_load_si512(bytes + 64), _mm512_load_si512(bytes + 128),
                 _mm512_load_si512(bytes + 192)};
}

/* Seven bits of a code select from two registers, the eighth selects between the two halves of the table. */
static inline __m512i look_up(const table *t, __m512i codes) {
  const __m512i lower = _mm512_permutex2var_epi8(t->a, codes, t->b);
  const __m512i upper = _mm512_permutex2var_epi8(t->c, codes, t->d);
  return _mm512_mask_mov_epi8(lower, _mm512_movepi8_mask(codes), upper);
}

static inline void add(sums *s, __m512i bytes) {
  s->all = _mm512_add_epi16(s->all, bytes);
  s->high = _mm512_add_epi16(s->high, _mm512_srli_epi16(bytes, 8));
}

/* Bounds of 64 vectors, 16 to a register. */
typedef struct values {
  __m512 a, b, c, d;
} values;

static inline __m512 to_value(const fw_lut *lut, __m256i sum, const float *extra) {
  const __m512 step = _mm512_set1_ps(lut->step), low = _mm512_set1_ps(lut->low);
  const __m512 with = extra ? _mm512_add_ps(low, _mm512_loadu_ps(extra)) : low;
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(sum)), step, with);
}

static inline const float *part(const float *extra, size_t n) {
  return extra ? extra + n : NULL;
}

/* Brings even and odd vectors back in order. */
static inline values finish(const fw_lut *lut, sums s, const float *extra) {
  const __m512i even = _mm512_sub_epi16(s.all, _mm512_slli_epi16(s.high, 8));
  const __m512i first = _mm512_unpacklo_epi16(even, s.high), second = _mm512_unpackhi_epi16(even, s.high);
  /* each 128-bit lane of first has vectors 0-7 of that lane's 16, second has 8-15 */
  const __m512i front = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), second);
  const __m512i back = _mm512_permutex2var_epi64(first, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), second);
  return (values){to_value(lut, _mm512_castsi512_si256(front), extra),
                  to_value(lut, _mm512_extracti64x4_epi64(front, 1), part(extra, 16)),
                  to_value(lut, _mm512_castsi512_si256(back), part(extra, 32)),
                  to_value(lut, _mm512_extracti64x4_epi64(back, 1), part(extra, 48))};
}

static inline uint64_t compare(const fw_lut *lut, sums s, const float *extra, float limit) {
  const __m512 most = _mm512_set1_ps(limit);
  const values v = finish(lut, s, extra);
  return (uint64_t)_mm512_cmp_ps_mask(v.a, most, _CMP_NGT_UQ) |
         (uint64_t)_mm512_cmp_ps_mask(v.b, most, _CMP_NGT_UQ) << 16 |
         (uint64_t)_mm512_cmp_ps_mask(v.c, most, _CMP_NGT_UQ) << 32 |
         (uint64_t)_mm512_cmp_ps_mask(v.d, most, _CMP_NGT_UQ) << 48;
}

static inline void add_block(sums *s, const table *t, const uint8_t *codes) {
  add(s, look_up(t, _mm512_loadu_si512(codes)));
}

/* The tables of two codes of 4 bits in a byte. */
typedef struct nibble_table {
  __m512i first, second;
} nibble_table;

static inline nibble_table load_nibbles(const uint8_t *bytes) {
  return (nibble_table){_mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)bytes)),
                        _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(bytes + FW_LUT_NIBBLES)))};
}

static inline void add_nibbles(sums *s, const nibble_table *t, const uint8_t *codes) {
  const __m512i v = _mm512_loadu_si512(codes), low = _mm512_set1_epi8(15);
  const __m512i a = _mm512_shuffle_epi8(t->first, _mm512_and_si512(v, low));
  const __m512i b = _mm512_shuffle_epi8(t->second, _mm512_and_si512(_mm512_srli_epi16(v, 4), low));
  add(s, _mm512_add_epi8(a, b));
}

/* Where the scan continues: four blocks of codes and their extras, 16 lines, are prefetched. */
typedef struct ahead {
  const uint8_t *codes;
  const float *extra;
} ahead;

static inline void fetch_some(ahead next, size_t m) {
  const size_t codes = 4 * FW_BLOCK * m;
  _mm_prefetch(fw_ahead(next.codes, codes), _MM_HINT_T0);
  _mm_prefetch(fw_ahead(next.codes, codes + FW_BLOCK), _MM_HINT_T0);
  _mm_prefetch(fw_ahead(next.codes, codes + 2 * FW_BLOCK), _MM_HINT_T0);
  _mm_prefetch(fw_ahead(next.codes, codes + 3 * FW_BLOCK), _MM_HINT_T0);
  if (m < 16) _mm_prefetch(fw_ahead(next.extra, m * 16 * sizeof(float)), _MM_HINT_T0);
}

/* Blocks that are sifted at once, with the same tables in registers; the last one may be narrower. Values that are
 * read beyond it are ignored. */
typedef struct strip {
  const uint8_t *codes;
  const float *extra;
  size_t width; /* width of the last block */
  ahead next;
} strip;

INLINE const uint8_t *row_of(const int count, const int b, const fw_lut *lut, const strip *at, size_t m) {
  return at->codes + (size_t)b * FW_BLOCK * fw_lut_rows(lut) + m * (b + 1 < count ? FW_BLOCK : at->width);
}

INLINE void sift_strip(const int count, const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sums s[FW_BLOCK_GROUP];
  UNROLL for (int b = 0; b < count; b++) s[b] = (sums){_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (size_t m = 0; lut->nibbles && m < fw_lut_rows(lut); m++) {
    const nibble_table t = load_nibbles(lut->bytes + 2 * m * FW_LUT_NIBBLES);
    fetch_some(at->next, m);
    UNROLL for (int b = 0; b < count; b++) add_nibbles(&s[b], &t, row_of(count, b, lut, at, m));
  }
  for (size_t m = 0; !lut->nibbles && m < lut->m; m++) {
    const table t = load_table(lut->bytes + m * FW_LUT_BYTES);
    fetch_some(at->next, m);
    UNROLL for (int b = 0; b < count; b++) add_block(&s[b], &t, row_of(count, b, lut, at, m));
  }
  UNROLL for (int b = 0; b < count; b++) masks[b] = compare(lut, s[b], part(at->extra, (size_t)b * FW_BLOCK), limit);
}

enum { ROWS = 4 }; /* rows whose bytes are averaged before they are added */

/* Adds ROWS rows from row m on; only `left` of them exist, and the bytes of the others are 0. */
INLINE void add_means(const int count, const fw_lut *lut, const strip *at, size_t m, size_t left, sums *s) {
  __m512i means[2][FW_BLOCK_GROUP]; /* means of the first two and the second two rows */
  UNROLL for (int b = 0; b < count; b++) means[0][b] = means[1][b] = _mm512_setzero_si512();
  UNROLL for (int i = 0; i < ROWS; i++) {
    const size_t row = m + (size_t)i;
    if ((size_t)i >= left) break;
    const table t = load_table(lut->bytes + row * FW_LUT_BYTES);
    fetch_some(at->next, row);
    UNROLL for (int b = 0; b < count; b++) {
      const __m512i found = look_up(&t, _mm512_loadu_si512(row_of(count, b, lut, at, row)));
      means[i / 2][b] = i % 2 ? _mm512_avg_epu8(means[i / 2][b], found) : found;
    }
  }
  UNROLL for (int b = 0; b < count; b++) {
    const __m512i none = _mm512_setzero_si512();
    if (left == 1) means[0][b] = _mm512_avg_epu8(means[0][b], none);
    if (left == 3) means[1][b] = _mm512_avg_epu8(means[1][b], none);
    add(&s[b], _mm512_avg_epu8(means[0][b], means[1][b]));
  }
}

/* Averages are rounded up: twice an average is at most the sum plus 1, and four times the mean of ROWS rows is at
 * most their sum plus 4. */
INLINE void sift_strip_quickly(const int count, const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sums s[FW_BLOCK_GROUP];
  fw_lut means = *lut;
  size_t m = 0;
  UNROLL for (int b = 0; b < count; b++) s[b] = (sums){_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (; m + ROWS <= lut->m; m += ROWS) add_means(count, lut, at, m, ROWS, s);
  if (m < lut->m) add_means(count, lut, at, m, lut->m - m, s);
  means.low -= lut->step * (float)((lut->m + ROWS - 1) / ROWS * ROWS);
  means.step *= ROWS;
  UNROLL for (int b = 0; b < count; b++) masks[b] = compare(&means, s[b], part(at->extra, (size_t)b * FW_BLOCK), limit);
}

/* Separate functions, so that registers are allocated for each on its own. */
typedef void (*sift_fn)(const fw_lut *lut, const strip *at, float limit, uint64_t *masks);

static void sift_one(const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sift_strip(1, lut, at, limit, masks);
}
static void sift_two(const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sift_strip(2, lut, at, limit, masks);
}
static void sift_three(const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sift_strip(3, lut, at, limit, masks);
}
static void sift_four(const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sift_strip(4, lut, at, limit, masks);
}
static void sift_four_quickly(const fw_lut *lut, const strip *at, float limit, uint64_t *masks) {
  sift_strip_quickly(4, lut, at, limit, masks);
}

INLINE size_t sift_by(sift_fn four, const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                      uint64_t masks[FW_BLOCK_GROUP]) {
  const sift_fn some[] = {sift_one, sift_two, sift_three, four};
  const size_t blocks = (list->n + FW_BLOCK - 1) / FW_BLOCK, block = FW_BLOCK * fw_lut_rows(lut);
  masks[1] = masks[2] = masks[3] = 0;
  for (size_t b = *next; b < blocks; b = *next) {
    const size_t count = blocks - b < 4 ? blocks - b : 4, last = b + count - 1, left = list->n - last * FW_BLOCK;
    strip at = {list->codes + b * block, part(list->extra, b * FW_BLOCK), fw_block_width(list->n, last), {NULL, NULL}};
    at.next = b + count == blocks ? (ahead){list->ahead, list->extra_ahead}
                                  : (ahead){at.codes + 4 * block, part(at.extra, 4 * FW_BLOCK)};
    some[count - 1](lut, &at, limit, masks);
    if (left < FW_BLOCK) masks[count - 1] &= ((uint64_t)1 << left) - 1;
    *next = b + count;
    if (masks[0] | masks[1] | masks[2] | masks[3]) return b;
  }
  return *next;
}

static size_t sift(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                   uint64_t masks[FW_BLOCK_GROUP]) {
  return sift_by(sift_four, lut, list, next, limit, masks);
}

static size_t sift_quickly(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                           uint64_t masks[FW_BLOCK_GROUP]) {
  return sift_by(lut->nibbles ? sift_four : sift_four_quickly, lut, list, next, limit, masks);
}

static void bounds(const fw_lut *lut, const fw_code_list *list, size_t blocks, float *out) {
  const __m512 minus = _mm512_set1_ps(-0.0F);
  const size_t rows = fw_lut_rows(lut);
  for (size_t b = 0; b < blocks; b++, out += FW_BLOCK) {
    sums s = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    for (size_t m = 0; lut->nibbles && m < rows; m++) {
      const nibble_table t = load_nibbles(lut->bytes + 2 * m * FW_LUT_NIBBLES);
      add_nibbles(&s, &t, list->codes + (b * rows + m) * FW_BLOCK);
    }
    for (size_t m = 0; !lut->nibbles && m < rows; m++) {
      const table t = load_table(lut->bytes + m * FW_LUT_BYTES);
      add_block(&s, &t, list->codes + (b * rows + m) * FW_BLOCK);
    }
    const values v = finish(lut, s, part(list->extra, b * FW_BLOCK));
    _mm512_storeu_ps(out, _mm512_xor_ps(v.a, minus));
    _mm512_storeu_ps(out + 16, _mm512_xor_ps(v.b, minus));
    _mm512_storeu_ps(out + 32, _mm512_xor_ps(v.c, minus));
    _mm512_storeu_ps(out + 48, _mm512_xor_ps(v.d, minus));
  }
}

/* ---- Sums ----------------------------------------------------------------------------------------------- */

/* The floats of 256 codes as four tables of bytes: the lowest bytes of the floats, the next bytes … */
typedef struct float_table {
  table byte[4];
} float_table;

/* Splits 64 floats into 64 bytes of each kind. */
static inline void split_floats(const float *numbers, __m512i kind[4]) {
  const __m512i sort = _mm512_set_epi8(63, 59, 55, 51, 47, 43, 39, 35, 31, 27, 23, 19, 15, 11, 7, 3, /* */
                                       62, 58, 54, 50, 46, 42, 38, 34, 30, 26, 22, 18, 14, 10, 6, 2, /* */
                                       61, 57, 53, 49, 45, 41, 37, 33, 29, 25, 21, 17, 13, 9, 5, 1,  /* */
                                       60, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0);
  __m512i f[4];
  for (int i = 0; i < 4; i++) f[i] = _mm512_permutexvar_epi8(sort, _mm512_loadu_si512(numbers + 16 * i));
  const __m512i a = _mm512_shuffle_i32x4(f[0], f[1], 0x44), b = _mm512_shuffle_i32x4(f[2], f[3], 0x44);
  const __m512i c = _mm512_shuffle_i32x4(f[0], f[1], 0xee), d = _mm512_shuffle_i32x4(f[2], f[3], 0xee);
  kind[0] = _mm512_shuffle_i32x4(a, b, 0x88);
  kind[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
  kind[2] = _mm512_shuffle_i32x4(c, d, 0x88);
  kind[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

static inline float_table load_floats(const float *numbers, size_t width) {
  __m512i part[4][4];
  float_table t;
  for (size_t i = 0; i < 4; i++) {
    _Alignas(64) float few[64] = {0};
    const size_t at = 64 * i, left = width > at ? width - at : 0;
    if (left < 64) memcpy(few, numbers + (left ? at : 0), left * sizeof *few);
    split_floats(left < 64 ? few : numbers + at, part[i]);
  }
  for (int b = 0; b < 4; b++) t.byte[b] = (table){part[0][b], part[1][b], part[2][b], part[3][b]};
  return t;
}

static inline void add_sixteen(__m512i floats, double *to) {
  const __m512 f = _mm512_castsi512_ps(floats);
  const __m512d front = _mm512_cvtps_pd(_mm512_castps512_ps256(f));
  const __m512d back = _mm512_cvtps_pd(_mm512_extractf32x8_ps(f, 1));
  _mm512_store_pd(to, _mm512_add_pd(_mm512_load_pd(to), front));
  _mm512_store_pd(to + 8, _mm512_add_pd(_mm512_load_pd(to + 8), back));
}

/* Adds the numbers of 64 codes to 64 sums of doubles: reassembles the bytes of each float. The order is that of
 * unpacking; store_sums corrects it. */
static inline void add_floats(const float_table *t, __m512i codes, double *totals) {
  const __m512i a = look_up(&t->byte[0], codes), b = look_up(&t->byte[1], codes);
  const __m512i c = look_up(&t->byte[2], codes), d = look_up(&t->byte[3], codes);
  const __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpacklo_epi8(c, d);
  const __m512i low2 = _mm512_unpackhi_epi8(a, b), high2 = _mm512_unpackhi_epi8(c, d);
  add_sixteen(_mm512_unpacklo_epi16(low, high), totals);
  add_sixteen(_mm512_unpackhi_epi16(low, high), totals + 16);
  add_sixteen(_mm512_unpacklo_epi16(low2, high2), totals + 32);
  add_sixteen(_mm512_unpackhi_epi16(low2, high2), totals + 48);
}

/* Of each 16 sums, number 4 i and the next three belong to the i-th four of 16 vectors. */
static inline void store_sums(const double *totals, float out[FW_BLOCK]) {
  for (int i = 0; i < 16; i++)
    _mm_storeu_ps(out + i % 4 * 16 + i / 4 * 4, _mm256_cvtpd_ps(_mm256_load_pd(totals + 4 * i)));
}

static void add_up(const fw_lut *lut, const uint8_t *codes, size_t n, float *out) {
  enum { BLOCKS = 8 }; /* blocks that share a table */
  _Alignas(64) double totals[BLOCKS * FW_BLOCK];
  const size_t blocks = (n + FW_BLOCK - 1) / FW_BLOCK;
  for (size_t first = 0; first < blocks; first += BLOCKS) {
    const size_t end = first + BLOCKS < blocks ? first + BLOCKS : blocks;
    memset(totals, 0, sizeof totals);
    for (size_t m = 0; m < lut->m; m++) {
      const float_table t = load_floats(lut->values + m * lut->width, lut->width);
      for (size_t b = first; b < end; b++) {
        const uint8_t *at = codes + b * FW_BLOCK * lut->m + m * fw_block_width(n, b);
        /* the hardware prefetcher cannot predict these steps */
        _mm_prefetch(fw_ahead(at, BLOCKS * FW_BLOCK * lut->m), _MM_HINT_T0);
        add_floats(&t, _mm512_loadu_si512(at), totals + (b - first) * FW_BLOCK);
      }
    }
    for (size_t b = first; b < end; b++) {
      float block[FW_BLOCK];
      store_sums(totals + (b - first) * FW_BLOCK, block);
      memcpy(out + b * FW_BLOCK, block, fw_block_width(n, b) * sizeof *out);
    }
  }
}

/* A table of 16 floats is a register, and 16 codes select from it by their lower four bits. */
static inline void add_row(__m512 *sum, __m512 first, __m512 second, const uint8_t *codes) {
  const __m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
  *sum = _mm512_add_ps(*sum, _mm512_permutexvar_ps(v, first));
  *sum = _mm512_add_ps(*sum, _mm512_permutexvar_ps(_mm512_srli_epi32(v, 4), second));
}

/* Reads beyond narrower blocks. A last table that does not exist has zeros, which change no sum. */
static void sum_block(const fw_lut *lut, const uint8_t *block, size_t width, float out[FW_BLOCK]) {
  const __m512 zero = _mm512_setzero_ps();
  __m512 a = zero, b = zero, c = zero, d = zero;
  for (size_t m = 0; m < lut->m; m += 2, block += width) {
    const __m512 first = _mm512_load_ps(lut->values + m * FW_LUT_NIBBLES);
    const __m512 second = m + 1 < lut->m ? _mm512_load_ps(lut->values + (m + 1) * FW_LUT_NIBBLES) : zero;
    add_row(&a, first, second, block);
    add_row(&b, first, second, block + 16);
    add_row(&c, first, second, block + 32);
    add_row(&d, first, second, block + 48);
  }
  _mm512_storeu_ps(out, a);
  _mm512_storeu_ps(out + 16, b);
  _mm512_storeu_ps(out + 32, c);
  _mm512_storeu_ps(out + 48, d);
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void maxima(const float *numbers, size_t n, size_t groups, float *out) {
  for (size_t g = 0; g < groups; g += 16) {
    __m512 most = _mm512_loadu_ps(numbers + g);
    for (size_t i = g + groups; i < n; i += groups) most = _mm512_max_ps(most, _mm512_loadu_ps(numbers + i));
    _mm512_storeu_ps(out + g, most);
  }
}

static inline size_t count_not_below(const float *numbers, size_t n, float limit) {
  const __m512 least = _mm512_set1_ps(limit);
  size_t count = 0;
  for (size_t i = 0; i < n; i += 16)
    count += (size_t)_mm_popcnt_u32(_mm512_cmp_ps_mask(_mm512_loadu_ps(numbers + i), least, _CMP_GE_OQ));
  return count;
}

static inline void find_range(const float *numbers, size_t n, float *low, float *high) {
  const __m512 none = _mm512_set1_ps(-INFINITY);
  __m512 least = _mm512_set1_ps(INFINITY), most = none;
  for (size_t i = 0; i < n; i += 16) {
    const __m512 v = _mm512_loadu_ps(numbers + i);
    least = _mm512_mask_min_ps(least, _mm512_cmp_ps_mask(v, none, _CMP_GT_OQ), least, v);
    most = _mm512_max_ps(v, most);
  }
  *low = _mm512_reduce_min_ps(least);
  *high = _mm512_reduce_max_ps(most);
}

#include "kern/scan/scan_kth_tmpl.h"

static size_t find_not_below(const float *numbers, size_t n, float limit, uint32_t *positions) {
  const __m512 least = _mm512_set1_ps(limit);
  __m512i here = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  size_t count = 0;
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 found = _mm512_cmp_ps_mask(_mm512_loadu_ps(numbers + i), least, _CMP_NLT_UQ);
    if (found) {
      _mm512_storeu_si512(positions + count, _mm512_maskz_compress_epi32(found, here));
      count += (size_t)_mm_popcnt_u32(found);
    }
    here = _mm512_add_epi32(here, _mm512_set1_epi32(16));
  }
  return count;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static inline __m512 add_term(__m512 sum, __m512 x, __m512 y, bool l2) {
  const __m512 t = _mm512_sub_ps(x, y);
  return l2 ? _mm512_fmadd_ps(t, t, sum) : _mm512_fmadd_ps(x, y, sum);
}

/* Four separate sums, not an array, so that they stay in registers. */
static inline __attribute__((always_inline)) float row(const float *x, const float *y, size_t d, bool l2) {
  __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
  size_t j = 0;
  for (; j + 64 <= d; j += 64) {
    s0 = add_term(s0, _mm512_loadu_ps(x + j), _mm512_loadu_ps(y + j), l2);
    s1 = add_term(s1, _mm512_loadu_ps(x + j + 16), _mm512_loadu_ps(y + j + 16), l2);
    s2 = add_term(s2, _mm512_loadu_ps(x + j + 32), _mm512_loadu_ps(y + j + 32), l2);
    s3 = add_term(s3, _mm512_loadu_ps(x + j + 48), _mm512_loadu_ps(y + j + 48), l2);
  }
  for (; j < d; j += 16) {
    const __mmask16 here = d - j < 16 ? (__mmask16)((1U << (d - j)) - 1) : (__mmask16)0xffff;
    s0 = add_term(s0, _mm512_maskz_loadu_ps(here, x + j), _mm512_maskz_loadu_ps(here, y + j), l2);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3)));
}

#define OWN_ROW
#include "kern/scan/scan_rows_tmpl.h"

/* Differences of 7 bits, with their sign removed, fit both operands of a product of bytes. */
static inline __m512i add_squares(__m512i sum, const uint8_t *x, const uint8_t *y) {
  const __m512i difference = _mm512_abs_epi8(_mm512_sub_epi8(_mm512_load_si512(x), _mm512_load_si512(y)));
  return _mm512_dpbusd_epi32(sum, difference, difference);
}

static inline int32_t byte_square(const uint8_t *x, const uint8_t *y, size_t stride) {
  __m512i a = _mm512_setzero_si512(), b = a;
  size_t j = 0;
  for (; j + 128 <= stride; j += 128) {
    a = add_squares(a, x + j, y + j);
    b = add_squares(b, x + j + 64, y + j + 64);
  }
  if (j < stride) a = add_squares(a, x + j, y + j);
  return _mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
}

#include "kern/scan/scan_bytes_tmpl.h"

static void decode_bytes(const uint8_t *codes, const float *low, const float *width, size_t d, float *out) {
  const __m512 half = _mm512_set1_ps(0.5f), most = _mm512_set1_ps(255), inverse = _mm512_set1_ps(1 / 255.0f);
  for (size_t i = 0; i < d; i += 16) {
    const __mmask16 mask = d - i < 16 ? (__mmask16)((1u << (d - i)) - 1) : (__mmask16)0xffff;
    const __m512i numbers = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, codes + i));
    const __m512 x = _mm512_add_ps(_mm512_cvtepi32_ps(numbers), half), near = _mm512_mul_ps(x, inverse);
    /* the quotient x / 255, which is exact for all 256 codes, and faster than a division */
    const __m512 part = _mm512_fmadd_ps(_mm512_fnmadd_ps(near, most, x), inverse, near);
    const __m512 scaled = _mm512_mul_ps(part, _mm512_maskz_loadu_ps(mask, width + i));
    _mm512_mask_storeu_ps(out + i, mask, _mm512_add_ps(_mm512_maskz_loadu_ps(mask, low + i), scaled));
  }
}

void fw_scan_fill_avx512(fw_scan *scan) {
  scan->decode_bytes = decode_bytes;
  scan->l2_bytes = l2_bytes;
  scan->nibbles = true;
  scan->sum_block = sum_block;
  scan->quantise = quantise;
  scan->sift = sift;
  scan->sift_quickly = sift_quickly;
  scan->bounds = bounds;
  scan->add_up = add_up;
  scan->maxima = maxima;
  scan->find_not_below = find_not_below;
  scan->l2_rows = l2_rows;
  scan->ip_rows = ip_rows;
  scan->group_code = NULL; /* looking up all bytes is nearly as fast, and passes fewer vectors */
  scan->kth_bound = kth_bound;
}
