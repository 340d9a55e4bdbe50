/* kern/products/sketch_avx512.c: finds the nearest of packed vectors by a sketch, with the byte products of AVX-512
 * VNNI. */
#include <float.h>
#include <immintrin.h>
#include <math.h>

#include "kern/products/sketch.h"
#include "kern/simd/unroll.h"

#define ROWS 6 /* queries and blocks of a tile */
#define COLS 4
#define BATCH 48 /* queries that are prepared at once; a multiple of ROWS */
#define CHUNK 64 /* blocks whose bounds are kept: CHUNK * FW_PACK_WIDTH floats for each row of a tile */
#define LANES (CHUNK * FW_PACK_WIDTH)
#define TOO_MANY 96 /* with more candidates in a chunk, all products are faster */

/* A prepared query. */
typedef struct question {
  const float *x;
  float factor; /* scores are factor * integer product - bias, relative to the centre */
  float rest;   /* |x - rounded x| */
  float slack;  /* other errors of the scores */
  float shift;  /* exact score - score relative to the centre */
  float score;  /* the best exact score, and its vector */
  uint32_t best;
  bool sound; /* all numbers are finite */
} question;

/* ---- Queries -------------------------------------------------------------------------------------------- */

INLINE __mmask16 lanes_at(size_t k, size_t d) {
  return d - k < 16 ? (__mmask16)((1U << (d - k)) - 1) : 0xffff;
}

INLINE __m512 relative(const fw_sketch *s, const float *x, size_t k, __mmask16 in) {
  const __m512 v = _mm512_maskz_loadu_ps(in, x + k);
  return s->l2 ? _mm512_sub_ps(v, _mm512_maskz_loadu_ps(in, s->centre + k)) : v;
}

/* Stores four times four bytes of one query; the queries of a tile are interleaved. */
INLINE void put_quads(uint32_t *quads, __m128i bytes) {
  quads[0] = (uint32_t)_mm_extract_epi32(bytes, 0);
  quads[ROWS] = (uint32_t)_mm_extract_epi32(bytes, 1);
  quads[2 * ROWS] = (uint32_t)_mm_extract_epi32(bytes, 2);
  quads[3 * ROWS] = (uint32_t)_mm_extract_epi32(bytes, 3);
}

/* Rounds x to bytes + 128 (the padding is multiplied by 0) and computes the error of that. */
static void make_ready(const fw_sketch *s, const float *x, question *q, uint32_t *quads) {
  const size_t d = s->d;
  __m512 reach = _mm512_setzero_ps(), square = reach, product = reach, own = reach, lost = reach, kept = reach;
  for (size_t k = 0; k < d; k += 16) {
    const __mmask16 in = lanes_at(k, d);
    const __m512 v = _mm512_maskz_loadu_ps(in, x + k), r = relative(s, x, k, in);
    reach = _mm512_max_ps(reach, _mm512_abs_ps(r));
    own = _mm512_fmadd_ps(v, v, own);
    square = _mm512_fmadd_ps(r, r, square);
    product = _mm512_fmadd_ps(v, _mm512_maskz_loadu_ps(in, s->centre + k), product);
  }
  const float most = _mm512_reduce_max_ps(reach), length = sqrtf(_mm512_reduce_add_ps(own));
  const float scale = most / 127, inverse = most > 0 ? 127 / most : 0;
  for (size_t k = 0; k < d; k += 16) {
    const __mmask16 in = lanes_at(k, d);
    const __m512 r = relative(s, x, k, in);
    const __m512i value = _mm512_cvtps_epi32(_mm512_mul_ps(r, _mm512_set1_ps(inverse)));
    const __m512 back = _mm512_mul_ps(_mm512_cvtepi32_ps(value), _mm512_set1_ps(scale));
    const __m512 miss = _mm512_sub_ps(r, back);
    lost = _mm512_fmadd_ps(miss, miss, lost);
    kept = _mm512_fmadd_ps(back, back, kept);
    put_quads(quads + k / 4 * ROWS, _mm512_cvtepi32_epi8(_mm512_add_epi32(value, _mm512_set1_epi32(128))));
  }
  const float loose = 1 + (float)(d / 8 + 64) * FLT_EPSILON; /* turns sums of floats into bounds */
  const float size = length + s->most;
  q->x = x;
  q->factor = scale * s->scale;
  q->rest = sqrtf(_mm512_reduce_add_ps(lost)) * loose + (size + most) * 4 * FLT_EPSILON;
  q->slack = sqrtf(_mm512_reduce_add_ps(kept)) * s->rest * loose + size * size * (float)(d / 8 + 64) * FLT_EPSILON;
  q->shift = _mm512_reduce_add_ps(product) - s->centre_bias;
  q->score = -INFINITY;
  q->best = UINT32_MAX;
  q->sound = size * size < FLT_MAX / 16 && (most == 0 || (most > 1e-30F && isfinite(inverse)));
}

/* ---- Bounds --------------------------------------------------------------------------------------------- */

/* sum += products of four bytes each. With the intrinsic, GCC 12 copies every sum before it adds. */
INLINE void add_products(__m512i *sum, __m512i x, __m512i y) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(x), "v"(y));
}

/* sum[i * COLS + c]: products of the integers of query i and of block b + c. */
INLINE void multiply(const int rows, const int cols, const fw_sketch *s, size_t b, const uint32_t *quads,
                     __m512i *sum) {
  const int8_t *block = s->values + b * s->quads * 64;
  UNROLL for (int c = 0; c < cols; c++) {
    const __m512i start = _mm512_load_si512(s->start + (b + (size_t)c) * FW_PACK_WIDTH);
    UNROLL for (int i = 0; i < rows; i++) sum[i * COLS + c] = start;
  }
  for (size_t k = 0; k < s->quads; k++) {
    __m512i y[COLS];
    UNROLL for (int c = 0; c < cols; c++) y[c] = _mm512_load_si512(block + ((size_t)c * s->quads + k) * 64);
    UNROLL for (int i = 0; i < rows; i++) {
      const __m512i x = _mm512_set1_epi32((int)quads[k * ROWS + (size_t)i]);
      UNROLL for (int c = 0; c < cols; c++) add_products(&sum[i * COLS + c], x, y[c]);
    }
  }
}

/* Computes upper bounds (without slack and shift) of the scores of some blocks; most: the largest of each lane. */
INLINE void bound_tile(const int cols, const fw_sketch *s, size_t b, const question *q, const uint32_t *quads,
                       float *bound, __m512 *most) {
  __m512i sum[ROWS * COLS];
  multiply(ROWS, cols, s, b, quads, sum);
  UNROLL for (int c = 0; c < cols; c++) {
    const __m512 bias = _mm512_load_ps(s->bias + (b + (size_t)c) * FW_PACK_WIDTH);
    const __m512 length = _mm512_load_ps(s->length + (b + (size_t)c) * FW_PACK_WIDTH);
    UNROLL for (int i = 0; i < ROWS; i++) {
      const __m512 score = _mm512_fmsub_ps(_mm512_cvtepi32_ps(sum[i * COLS + c]), _mm512_set1_ps(q[i].factor), bias);
      const __m512 upper = _mm512_fmadd_ps(length, _mm512_set1_ps(q[i].rest), score);
      _mm512_store_ps(bound + i * LANES + c * FW_PACK_WIDTH, upper);
      most[i] = _mm512_max_ps(most[i], upper);
    }
  }
}

static void bound_chunk(const fw_sketch *s, size_t first, size_t end, const question *q, const uint32_t *quads,
                        float *bound, float *largest) {
  __m512 most[ROWS];
  UNROLL for (int i = 0; i < ROWS; i++) most[i] = _mm512_set1_ps(-INFINITY);
  size_t b = first;
  for (; b + COLS <= end; b += COLS) bound_tile(COLS, s, b, q, quads, bound + (b - first) * FW_PACK_WIDTH, most);
  for (; b < end; b++) bound_tile(1, s, b, q, quads, bound + (b - first) * FW_PACK_WIDTH, most);
  UNROLL for (int i = 0; i < ROWS; i++) largest[i] = _mm512_reduce_max_ps(most[i]);
}

/* ---- Candidates ----------------------------------------------------------------------------------------- */

static float true_score(const fw_packed *packed, const float *x, uint32_t j) {
  const size_t d = packed->d;
  const float *y = packed->sketch->row + j * packed->sketch->stride;
  __m512 a = _mm512_setzero_ps(), b = a;
  size_t k = 0;
  for (; k + 32 <= d; k += 32) {
    a = _mm512_fmadd_ps(_mm512_loadu_ps(x + k), _mm512_loadu_ps(y + k), a);
    b = _mm512_fmadd_ps(_mm512_loadu_ps(x + k + 16), _mm512_loadu_ps(y + k + 16), b);
  }
  for (; k < d; k += 16) {
    const __mmask16 in = lanes_at(k, d);
    a = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(in, x + k), _mm512_maskz_loadu_ps(in, y + k), a);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(a, b)) - packed->bias[j];
}

INLINE void consider(question *q, uint32_t j, float score) {
  if (!(score > q->score || (score == q->score && j < q->best))) return;
  q->score = score;
  q->best = j;
}

/* The lowest bound that a better vector can have. */
INLINE float needed(const question *q) {
  return q->score - q->shift - q->slack;
}

/* Finds the lanes whose bound is at least `least`; at most TOO_MANY + FW_PACK_WIDTH of them. */
static size_t collect(const float *bound, size_t lanes, float least, uint32_t *found) {
  const __m512 limit = _mm512_set1_ps(least);
  size_t count = 0;
  for (size_t j = 0; j < lanes && count <= TOO_MANY; j += FW_PACK_WIDTH) {
    __mmask16 in = _mm512_cmp_ps_mask(_mm512_load_ps(bound + j), limit, _CMP_GE_OQ);
    for (; in; in &= (__mmask16)(in - 1)) found[count++] = (uint32_t)j + (uint32_t)__builtin_ctz(in);
  }
  return count;
}

/* Computes all products of one query with the blocks of a chunk. */
static void consider_all(const fw_packed *packed, size_t first, size_t end, question *q, fw_nearest_fn all) {
  const size_t lanes = first * FW_PACK_WIDTH;
  const fw_packed part = {.n = packed->n - lanes < (end - first) * FW_PACK_WIDTH ? packed->n - lanes
                                                                                 : (end - first) * FW_PACK_WIDTH,
                          .d = packed->d,
                          .blocks = end - first,
                          .values = packed->values + lanes * packed->d,
                          .bias = packed->bias + lanes};
  uint32_t best;
  float score;
  all(&part, q->x, 1, packed->d, &best, &score);
  if (best != UINT32_MAX) consider(q, (uint32_t)lanes + best, score);
}

/* Starts with the vector with the largest bound: its exact score rules out most others. */
static void choose(const fw_packed *packed, size_t first, size_t end, question *q, const float *bound, float largest,
                   fw_nearest_fn all) {
  uint32_t found[TOO_MANY + FW_PACK_WIDTH + 1];
  const uint32_t base = (uint32_t)(first * FW_PACK_WIDTH);
  if (largest < needed(q)) return;
  if (collect(bound, (end - first) * FW_PACK_WIDTH, largest, found) > TOO_MANY) {
    consider_all(packed, first, end, q, all);
    return;
  }
  const uint32_t top = found[0];
  consider(q, base + top, true_score(packed, q->x, base + top));
  const size_t count = collect(bound, (end - first) * FW_PACK_WIDTH, needed(q), found);
  if (count > TOO_MANY) {
    consider_all(packed, first, end, q, all);
    return;
  }
  for (size_t i = 0; i < count; i++)
    if (found[i] != top) consider(q, base + found[i], true_score(packed, q->x, base + found[i]));
}

/* ---- The whole search ----------------------------------------------------------------------------------- */

/* Queries come in tiles of ROWS; the last ones of a batch may be repeated. */
static void answer_batch(const fw_packed *packed, question *q, size_t rows, const uint32_t *quads, size_t width,
                         fw_nearest_fn all) {
  _Alignas(64) float bound[ROWS * LANES];
  float largest[ROWS];
  for (size_t first = 0; first < packed->blocks; first += CHUNK) {
    const size_t end = first + CHUNK < packed->blocks ? first + CHUNK : packed->blocks;
    for (size_t i = 0; i < rows; i += ROWS) {
      bound_chunk(packed->sketch, first, end, q + i, quads + i * width, bound, largest);
      for (size_t r = 0; r < ROWS; r++)
        if (q[i + r].sound) choose(packed, first, end, &q[i + r], bound + r * LANES, largest[r], all);
    }
  }
}

void fw_sketch_nearest_avx512(const fw_packed *packed, const float *x, size_t nx, size_t stride, uint32_t *best,
                              float *score, fw_nearest_fn all) {
  uint32_t quads[BATCH * FW_SKETCH_MAX_D / 4];
  question q[BATCH];
  const size_t width = (packed->d + 15) / 16 * 4; /* quads of a query */
  for (size_t first = 0; first < nx; first += BATCH) {
    const size_t n = nx - first < BATCH ? nx - first : BATCH, rows = (n + ROWS - 1) / ROWS * ROWS;
    for (size_t i = 0; i < rows; i++) {
      const size_t row = i < n ? first + i : nx - 1;
      make_ready(packed->sketch, x + row * stride, &q[i], quads + i / ROWS * ROWS * width + i % ROWS);
    }
    answer_batch(packed, q, rows, quads, width, all);
    for (size_t i = 0; i < n; i++) {
      best[first + i] = q[i].best;
      score[first + i] = q[i].score;
      if (!q[i].sound) all(packed, q[i].x, 1, stride, &best[first + i], &score[first + i]);
    }
  }
}

/* ---- All scores ----------------------------------------------------------------------------------------- */

INLINE void score_tile(const int rows, const int cols, const fw_sketch *s, size_t b, const question *q,
                       const uint32_t *quads, float *out, size_t out_stride) {
  __m512i sum[ROWS * COLS];
  multiply(rows, cols, s, b, quads, sum);
  UNROLL for (int c = 0; c < cols; c++) {
    const __m512 bias = _mm512_load_ps(s->bias + (b + (size_t)c) * FW_PACK_WIDTH);
    UNROLL for (int i = 0; i < rows; i++) {
      const __m512 score = _mm512_fmsub_ps(_mm512_cvtepi32_ps(sum[i * COLS + c]), _mm512_set1_ps(q[i].factor), bias);
      _mm512_storeu_ps(out + (size_t)i * out_stride + (b + (size_t)c) * FW_PACK_WIDTH, score);
    }
  }
}

INLINE void score_rows(const int rows, const fw_sketch *s, const question *q, const uint32_t *quads, float *out,
                       size_t out_stride) {
  size_t b = 0;
  for (; b + COLS <= s->blocks; b += COLS) score_tile(rows, COLS, s, b, q, quads, out, out_stride);
  for (; b < s->blocks; b++) score_tile(rows, 1, s, b, q, quads, out, out_stride);
}

void fw_sketch_scores_avx512(const fw_sketch *s, const float *x, size_t nx, size_t stride, float *out,
                             size_t out_stride, float *slack) {
  uint32_t quads[ROWS * FW_SKETCH_MAX_D / 4];
  question q[ROWS];
  for (size_t first = 0; first < nx;) {
    const size_t rows = nx - first < ROWS ? 1 : ROWS;
    for (size_t i = 0; i < rows; i++) {
      make_ready(s, x + (first + i) * stride, &q[i], quads + i);
      slack[first + i] = q[i].sound ? q[i].rest * s->longest + q[i].slack : INFINITY;
    }
    if (rows == ROWS)
      score_rows(ROWS, s, q, quads, out + first * out_stride, out_stride);
    else
      score_rows(1, s, q, quads, out + first * out_stride, out_stride);
    first += rows;
  }
}
