/* kern/products/sketch_avx2.c: scores from a sketch with the byte products of AVX2.
 *
 * They add two products of an unsigned and a signed byte in 16 bits, so queries have seven bits here: 64 is added to
 * -63 … 63, and 2 * 127 * 127 fits. */
#include <float.h>
#include <immintrin.h>
#include <math.h>

#include "kern/products/sketch.h"
#include "kern/simd/unroll.h"

#define ROWS 6 /* queries of a tile */
#define MOST 63
#define MIDDLE 64

/* A prepared query. */
typedef struct question {
  float factor; /* scores are factor * integer product - bias, relative to the centre */
  float slack;  /* the error of the scores; infinite: some number is not finite */
} question;

/* ---- Queries -------------------------------------------------------------------------------------------- */

INLINE __m256 load_some(const float *p, size_t left) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  if (left >= 8) return _mm256_loadu_ps(p);
  return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), lane));
}

INLINE __m256 relative(const fw_sketch *s, const float *x, size_t k) {
  const __m256 v = load_some(x + k, s->d - k);
  return s->l2 ? _mm256_sub_ps(v, load_some(s->centre + k, s->d - k)) : v;
}

INLINE float total(__m256 v) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

INLINE float largest(__m256 v) {
  __m128 most = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
}

/* Stores two times four bytes of one query; the queries of a tile are interleaved. */
INLINE void put_quads(uint32_t *quads, __m256i values) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  const __m128i bytes = _mm_packus_epi16(words, words);
  quads[0] = (uint32_t)_mm_extract_epi32(bytes, 0);
  quads[ROWS] = (uint32_t)_mm_extract_epi32(bytes, 1);
}

/* Rounds x to bytes (the padding is multiplied by 0) and computes the error of that. */
static void make_ready(const fw_sketch *s, const float *x, question *q, uint32_t *quads) {
  const size_t d = s->d;
  const __m256 sign = _mm256_set1_ps(-0.0F);
  __m256 reach = _mm256_setzero_ps(), own = reach, lost = reach, kept = reach;
  for (size_t k = 0; k < d; k += 8) {
    const __m256 v = load_some(x + k, d - k);
    reach = _mm256_max_ps(reach, _mm256_andnot_ps(sign, relative(s, x, k)));
    own = _mm256_fmadd_ps(v, v, own);
  }
  const float most = largest(reach), length = sqrtf(total(own));
  const float scale = most / MOST, inverse = most > 0 ? MOST / most : 0;
  for (size_t k = 0; k < d; k += 8) {
    const __m256 r = relative(s, x, k);
    const __m256i value = _mm256_cvtps_epi32(_mm256_mul_ps(r, _mm256_set1_ps(inverse)));
    const __m256 back = _mm256_mul_ps(_mm256_cvtepi32_ps(value), _mm256_set1_ps(scale));
    const __m256 miss = _mm256_sub_ps(r, back);
    lost = _mm256_fmadd_ps(miss, miss, lost);
    kept = _mm256_fmadd_ps(back, back, kept);
    put_quads(quads + k / 4 * ROWS, _mm256_add_epi32(value, _mm256_set1_epi32(MIDDLE)));
  }
  const float loose = 1 + (float)(d / 8 + 64) * FLT_EPSILON; /* turns sums of floats into bounds */
  const float size = length + s->most;
  const float rest = sqrtf(total(lost)) * loose + (size + most) * 4 * FLT_EPSILON;
  const float slack = sqrtf(total(kept)) * s->rest * loose + size * size * (float)(d / 8 + 64) * FLT_EPSILON;
  const bool sound = size * size < FLT_MAX / 16 && (most == 0 || (most > 1e-30F && isfinite(inverse)));
  q->factor = scale * s->scale;
  q->slack = sound ? rest * s->longest + slack : INFINITY;
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

INLINE __m256 to_scores(__m256i sum, const float *bias, float factor) {
  return _mm256_fmsub_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(factor), _mm256_load_ps(bias));
}

/* Computes the scores of block b and of the next `cols` - 1 blocks; a block is two registers. */
INLINE void score_tile(const int rows, const int cols, const fw_sketch *s, size_t b, const question *q,
                       const uint32_t *quads, float *out, size_t out_stride) {
  const __m256i ones = _mm256_set1_epi16(1);
  const int8_t *block = s->values + b * s->quads * 64;
  __m256i sum[ROWS * 2];
  UNROLL for (int c = 0; c < 2 * cols; c++) { /* start assumes an offset of 128 */
    const __m256i *start = (const __m256i *)(s->start + b * FW_PACK_WIDTH) + c;
    UNROLL for (int i = 0; i < rows; i++) sum[i * 2 * cols + c] = _mm256_srai_epi32(_mm256_load_si256(start), 1);
  }
  for (size_t k = 0; k < s->quads; k++) {
    UNROLL for (int c = 0; c < 2 * cols; c++) {
      const __m256i y = _mm256_load_si256((const __m256i *)(block + ((size_t)(c / 2) * s->quads + k) * 64) + c % 2);
      UNROLL for (int i = 0; i < rows; i++) {
        const __m256i x = _mm256_set1_epi32((int)quads[k * ROWS + (size_t)i]);
        const __m256i two = _mm256_maddubs_epi16(x, y);
        sum[i * 2 * cols + c] = _mm256_add_epi32(sum[i * 2 * cols + c], _mm256_madd_epi16(two, ones));
      }
    }
  }
  UNROLL for (int c = 0; c < 2 * cols; c++) {
    const size_t at = b * FW_PACK_WIDTH + 8 * (size_t)c;
    UNROLL for (int i = 0; i < rows; i++) _mm256_storeu_ps(out + (size_t)i * out_stride + at,
                                                           to_scores(sum[i * 2 * cols + c], s->bias + at, q[i].factor));
  }
}

static void score_many(const fw_sketch *s, const question *q, const uint32_t *quads, float *out, size_t out_stride) {
  for (size_t b = 0; b < s->blocks; b++) score_tile(ROWS, 1, s, b, q, quads, out, out_stride);
}

static void score_one(const fw_sketch *s, const question *q, const uint32_t *quads, float *out) {
  size_t b = 0;
  for (; b + 4 <= s->blocks; b += 4) score_tile(1, 4, s, b, q, quads, out, 0);
  for (; b < s->blocks; b++) score_tile(1, 1, s, b, q, quads, out, 0);
}

void fw_sketch_scores_avx2(const fw_sketch *s, const float *x, size_t nx, size_t stride, float *out, size_t out_stride,
                           float *slack) {
  uint32_t quads[ROWS * FW_SKETCH_MAX_D / 4];
  question q[ROWS];
  for (size_t first = 0; first < nx;) {
    const size_t rows = nx - first < ROWS ? 1 : ROWS;
    for (size_t i = 0; i < rows; i++) {
      make_ready(s, x + (first + i) * stride, &q[i], quads + i);
      slack[first + i] = q[i].slack;
    }
    if (rows == ROWS)
      score_many(s, q, quads, out + first * out_stride, out_stride);
    else
      score_one(s, q, quads, out + first * out_stride);
    first += rows;
  }
}
