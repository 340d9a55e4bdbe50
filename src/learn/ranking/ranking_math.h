/* learn/ranking/ranking_math.h: loops over the numbers of a vector, short enough to be inlined and to vectorise. */
#ifndef FW_LEARN_RANKING_RANK_MATH_H
#define FW_LEARN_RANKING_RANK_MATH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FW_RANK_SUMS = 8 }; /* sums that run beside each other, so that their order does not depend on the processor */

/* to += factor * from */
static inline void fw_add_scaled(float *restrict to, const float *restrict from, float factor, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] += factor * from[i];
}

static inline float fw_add_sums(const float *sums) {
  float sum = 0;
  for (size_t k = 0; k < FW_RANK_SUMS; k++) sum += sums[k];
  return sum;
}

static inline float fw_inner(const float *a, const float *b, size_t n) {
  float sums[FW_RANK_SUMS] = {0}, rest = 0;
  size_t i = 0;
  for (; i + FW_RANK_SUMS <= n; i += FW_RANK_SUMS)
    for (size_t k = 0; k < FW_RANK_SUMS; k++) sums[k] += a[i + k] * b[i + k];
  for (; i < n; i++) rest += a[i] * b[i];
  return fw_add_sums(sums) + rest;
}

/* -INFINITY of none. */
static inline float fw_largest(const float *numbers, size_t n) {
  float sums[FW_RANK_SUMS], most = -INFINITY;
  size_t i = 0;
  for (size_t k = 0; k < FW_RANK_SUMS; k++) sums[k] = -INFINITY;
  for (; i + FW_RANK_SUMS <= n; i += FW_RANK_SUMS)
    for (size_t k = 0; k < FW_RANK_SUMS; k++) sums[k] = numbers[i + k] > sums[k] ? numbers[i + k] : sums[k];
  for (; i < n; i++) most = numbers[i] > most ? numbers[i] : most;
  for (size_t k = 0; k < FW_RANK_SUMS; k++) most = sums[k] > most ? sums[k] : most;
  return most;
}

static inline void fw_scale_all(float *numbers, size_t n, float factor) {
  for (size_t i = 0; i < n; i++) numbers[i] *= factor;
}

/* exp(x) for x <= 0, to 2 units of the last digit; 0 below -87. 2^k * exp(r), |r| <= ln 2 / 2: k by adding and
 * subtracting 1.5 * 2^23, r from x in two steps, a polynomial of Cephes for exp(r). */
static inline float fw_exp_below(float x) {
  const float kept = x > -87.0F ? x : -87.0F;
  const float shifted = kept * 1.44269504F + 12582912.0F, k = shifted - 12582912.0F;
  const float r = kept - k * 0.693359375F + k * 2.12194440e-4F;
  float y = 1.9875691500e-4F;
  y = y * r + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * r * r + r + 1.0F;
  const int32_t bits = ((int32_t)k + 127) * (1 << 23);
  float power;
  memcpy(&power, &bits, sizeof power);
  return x > -87.0F ? y * power : 0;
}

/* Each number becomes exp(number - most); returns their sum. None is above `most`. */
static inline float fw_exp_all(float *numbers, size_t n, float most) {
  float sums[FW_RANK_SUMS] = {0}, rest = 0;
  size_t i = 0;
  for (size_t k = 0; k < n; k++) numbers[k] = fw_exp_below(numbers[k] - most);
  for (; i + FW_RANK_SUMS <= n; i += FW_RANK_SUMS)
    for (size_t k = 0; k < FW_RANK_SUMS; k++) sums[k] += numbers[i + k];
  for (; i < n; i++) rest += numbers[i];
  return fw_add_sums(sums) + rest;
}

#endif
