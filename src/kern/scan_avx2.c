/* kern/scan_avx2.c: scanning with AVX2. */
#include <immintrin.h>
#include <string.h>

#include "kern/scan.h"

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void maxima(const float *values, size_t n, size_t groups, float *out) {
  for (size_t g = 0; g < groups; g += 8) {
    __m256 most = _mm256_loadu_ps(values + g);
    for (size_t i = g + groups; i < n; i += groups) most = _mm256_max_ps(most, _mm256_loadu_ps(values + i));
    _mm256_storeu_ps(out + g, most);
  }
}

static size_t find_least(const float *values, size_t n, float limit, uint32_t *places) {
  const __m256 least = _mm256_set1_ps(limit);
  size_t count = 0;
  for (size_t i = 0; i < n; i += 8) {
    const __m256 found = _mm256_cmp_ps(_mm256_loadu_ps(values + i), least, _CMP_NLT_UQ);
    for (unsigned bits = (unsigned)_mm256_movemask_ps(found); bits; bits &= bits - 1)
      places[count++] = (uint32_t)(i + (size_t)__builtin_ctz(bits));
  }
  return count;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static inline float add_lanes(__m256 v) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

static inline __m256 fold(__m256 sum, __m256 a, __m256 b, bool l2) {
  const __m256 t = _mm256_sub_ps(a, b);
  return l2 ? _mm256_fmadd_ps(t, t, sum) : _mm256_fmadd_ps(a, b, sum);
}

static inline __attribute__((always_inline)) float row(const float *x, const float *y, size_t d, bool l2) {
  __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  size_t j = 0;
  for (; j + 32 <= d; j += 32)
    for (int i = 0; i < 4; i++)
      sum[i] = fold(sum[i], _mm256_loadu_ps(x + j + 8 * i), _mm256_loadu_ps(y + j + 8 * i), l2);
  for (; j + 8 <= d; j += 8) sum[0] = fold(sum[0], _mm256_loadu_ps(x + j), _mm256_loadu_ps(y + j), l2);
  if (j < d) {
    float a[8] = {0}, b[8] = {0};
    memcpy(a, x + j, (d - j) * sizeof *x);
    memcpy(b, (const char *)y + j * sizeof *y, (d - j) * sizeof *y);
    sum[1] = fold(sum[1], _mm256_loadu_ps(a), _mm256_loadu_ps(b), l2);
  }
  return add_lanes(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
}

static void l2_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, true);
}

static void ip_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const char *at = rows;
  for (size_t i = 0; i < n; i++, at += d * sizeof *x) out[i] = row(x, (const float *)at, d, false);
}

void fw_scan_fill_avx2(fw_scan *scan) {
  scan->maxima = maxima;
  scan->find_least = find_least;
  scan->l2_rows = l2_rows;
  scan->ip_rows = ip_rows;
}
