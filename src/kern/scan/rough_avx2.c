/* kern/scan/rough_avx2.c: scores by a sketch with AVX2.
 *
 * `vpmaddubsw` adds two products of an unsigned and a signed byte to 16 bits. Numbers of a question have therefore 7
 * bits, 1 … 127: 2 * 127 * 127 fits. */
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kern/scan/scan.h"
#include "kern/scan/sketch.h"
#include "kern/unroll.h"

enum { ROWS = 4, LANES = 8, MOST = 63, ZERO = 64 }; /* questions of a tile; ZERO is what is added to their numbers */

typedef struct question {
  float factor; /* scores are factor * integer product - bias, relative to the centre */
  float slack;  /* what they may be off by */
} question;

/* ---- Questions ------------------------------------------------------------------------------------------ */

static float total(const float lanes[LANES]) {
  float sum = 0;
  for (int i = 0; i < LANES; i++) sum += lanes[i];
  return sum;
}

/* The question relative to the centre, and 0 behind it; returns the largest size of a number, and |x|^2. */
static float make_relative(const fw_sketch *s, const float *x, size_t padded, float *relative, float *square) {
  float most[LANES] = {0}, own[LANES] = {0}, reach = 0;
  for (size_t k = 0; k < s->d; k++) relative[k] = s->l2 ? x[k] - s->centre[k] : x[k];
  for (size_t k = s->d; k < padded; k++) relative[k] = 0;
  for (size_t k = 0; k + LANES <= s->d; k += LANES)
    for (size_t i = 0; i < LANES; i++) own[i] += x[k + i] * x[k + i];
  for (size_t k = s->d / LANES * LANES; k < s->d; k++) own[0] += x[k] * x[k];
  for (size_t k = 0; k < padded; k += LANES) {
    for (size_t i = 0; i < LANES; i++) {
      const float size = fabsf(relative[k + i]);
      most[i] = size > most[i] ? size : most[i];
    }
  }
  for (int i = 0; i < LANES; i++) reach = most[i] > reach ? most[i] : reach;
  *square = total(own);
  return reach;
}

/* Rounds x to bytes and measures what that costs, as in kern/scan/sketch_avx512.c. */
static question make_ready(const fw_sketch *s, const float *x, uint8_t *bytes) {
  float relative[FW_SKETCH_MAX_D], lost[LANES] = {0}, kept[LANES] = {0}, square;
  const size_t d = s->d, padded = (d + LANES - 1) / LANES * LANES;
  const float most = make_relative(s, x, padded, relative, &square);
  const float scale = most / MOST, inverse = most > 0 ? MOST / most : 0;
  for (size_t k = 0; k < padded; k += LANES) {
    const __m256 r = _mm256_loadu_ps(relative + k);
    const __m256i value = _mm256_cvtps_epi32(_mm256_mul_ps(r, _mm256_set1_ps(inverse)));
    const __m256 back = _mm256_mul_ps(_mm256_cvtepi32_ps(value), _mm256_set1_ps(scale)), miss = _mm256_sub_ps(r, back);
    _mm256_storeu_ps(lost, _mm256_fmadd_ps(miss, miss, _mm256_loadu_ps(lost)));
    _mm256_storeu_ps(kept, _mm256_fmadd_ps(back, back, _mm256_loadu_ps(kept)));
    const __m256i words = _mm256_packs_epi32(value, value); /* of each half, twice */
    const __m128i both = _mm_unpacklo_epi64(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    const __m128i eight = _mm_add_epi8(_mm_packs_epi16(both, both), _mm_set1_epi8(ZERO));
    _mm_storel_epi64((__m128i *)(bytes + k), eight);
  }
  const float loose = 1 + (float)(d / 8 + 64) * FLT_EPSILON, size = sqrtf(square) + s->most;
  const float rest = sqrtf(total(lost)) * loose + (size + most) * 4 * FLT_EPSILON;
  const float slack = sqrtf(total(kept)) * s->rest * loose + size * size * (float)(d / 8 + 64) * FLT_EPSILON;
  const bool sound = size * size < FLT_MAX / 16 && (most == 0 || (most > 1e-30F && isfinite(inverse)));
  return (question){.factor = scale * s->scale, .slack = sound ? rest * s->longest + slack : INFINITY};
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

INLINE void add_products(__m256i *sum, __m256i x, __m256i y) {
  const __m256i pairs = _mm256_maddubs_epi16(x, y);
  *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE __m256i load(const void *at) {
  return _mm256_load_si256((const __m256i *)at);
}

/* Scores of a block of 16 vectors for some questions. start is for numbers that are 128 too large. */
INLINE void score_block(const int rows, const fw_sketch *s, size_t b, const question *q, const uint8_t *bytes,
                        size_t width, float *out, size_t out_stride) {
  const int8_t *values = s->values + b * s->quads * 64;
  __m256i sum[2 * ROWS];
  UNROLL for (int i = 0; i < 2 * rows; i++) sum[i] =
      _mm256_srai_epi32(load(s->start + b * FW_PACK_WIDTH + (size_t)(i % 2) * LANES), 1);
  for (size_t k = 0; k < s->quads; k++) {
    const __m256i first = load(values + k * 64), second = load(values + k * 64 + 32);
    UNROLL for (int i = 0; i < rows; i++) {
      uint32_t quad;
      memcpy(&quad, bytes + (size_t)i * width + 4 * k, sizeof quad);
      const __m256i x = _mm256_set1_epi32((int)quad);
      add_products(&sum[2 * i], x, first);
      add_products(&sum[2 * i + 1], x, second);
    }
  }
  UNROLL for (int i = 0; i < 2 * rows; i++) {
    const size_t at = b * FW_PACK_WIDTH + (size_t)(i % 2) * LANES;
    const __m256 factor = _mm256_set1_ps(q[i / 2].factor);
    const __m256 score = _mm256_fmsub_ps(_mm256_cvtepi32_ps(sum[i]), factor, _mm256_load_ps(s->bias + at));
    _mm256_storeu_ps(out + (size_t)(i / 2) * out_stride + at, score);
  }
}

static void sketch_scores(const fw_sketch *s, const float *x, size_t nx, size_t stride, float *out, size_t out_stride,
                          float *slack) {
  uint8_t bytes[ROWS * FW_SKETCH_MAX_D];
  const size_t width = (s->d + LANES - 1) / LANES * LANES;
  question q[ROWS];
  for (size_t first = 0; first < nx;) {
    const size_t rows = nx - first < ROWS ? 1 : ROWS;
    float *to = out + first * out_stride;
    for (size_t i = 0; i < rows; i++) {
      q[i] = make_ready(s, x + (first + i) * stride, bytes + i * width);
      slack[first + i] = q[i].slack;
    }
    for (size_t b = 0; b < s->blocks; b++) {
      if (rows == ROWS)
        score_block(ROWS, s, b, q, bytes, width, to, out_stride);
      else
        score_block(1, s, b, q, bytes, width, to, out_stride);
    }
    first += rows;
  }
}

void fw_rough_fill_avx2(fw_scan *scan) {
  scan->sketch_scores = sketch_scores;
}
