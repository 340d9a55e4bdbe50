/* kern/products/sketch.c: packed vectors rounded to 8 bits. */
#include "kern/products/sketch.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define ALIGNMENT 64
#define MOST_VALUE 127
#define ROUND_UP (1 + 64 * FLT_EPSILON) /* keeps bounds valid when they are rounded to floats */

/* Lays out the arrays of a sketch; each begins at a multiple of ALIGNMENT. The vectors themselves take more memory,
 * so no sum overflows. */
static void lay_out(fw_sketch *s, uint8_t *base, size_t *bytes) {
  const size_t lanes = s->blocks * FW_PACK_WIDTH;
  const size_t sizes[] = {4 * s->quads, sizeof(int32_t), sizeof(float), sizeof(float)};
  size_t at[sizeof sizes / sizeof *sizes + 1];
  at[0] = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    at[i + 1] = (at[i] + lanes * sizes[i] + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  *bytes = at[4] + sizeof(float) * s->d;
  if (!base) return;
  s->values = (int8_t *)base;
  s->start = (int32_t *)(base + at[1]);
  s->bias = (float *)(base + at[2]);
  s->length = (float *)(base + at[3]);
  s->centre = (float *)(base + at[4]);
}

/* ---- Measuring and rounding ----
 *
 * Sums are computed in STEPS parallel parts, so that a compiler can vectorise them. */

#define STEPS 8
#define TO_INTEGER 0x1.8p52 /* adding and subtracting it rounds to the nearest integer */

static double total(const double *parts) {
  double sum = 0;
  for (size_t i = 0; i < STEPS; i++) sum += parts[i];
  return sum;
}

static double square_sum(const float *x, const float *centre, size_t d, double *reach) {
  double square[STEPS] = {0}, far[STEPS] = {0};
  for (size_t first = 0; first < d; first += STEPS) {
    const size_t count = d - first < STEPS ? d - first : STEPS;
    double y[STEPS] = {0};
    if (count == STEPS)
      for (size_t i = 0; i < STEPS; i++) y[i] = (double)x[first + i] - centre[first + i];
    else
      for (size_t i = 0; i < count; i++) y[i] = (double)x[first + i] - centre[first + i];
    for (size_t i = 0; i < STEPS; i++) {
      const double size = y[i] < 0 ? -y[i] : y[i];
      square[i] += y[i] * y[i];
      far[i] = far[i] > size ? far[i] : size;
    }
  }
  for (size_t i = 0; i < STEPS; i++) *reach = *reach > far[i] ? *reach : far[i];
  return total(square);
}

static void find_centre(fw_sketch *s) {
  double sum[FW_SKETCH_MAX_D] = {0};
  for (size_t j = 0; j < s->n; j++)
    for (size_t k = 0; k < s->d; k++) sum[k] += s->row[j * s->stride + k];
  for (size_t k = 0; k < s->d; k++) s->centre[k] = (float)(sum[k] / (double)s->n);
}

/* Computes the centre, the lengths and the scale; returns false if some number is not finite. */
static bool measure(fw_sketch *s) {
  static const float zero[FW_SKETCH_MAX_D];
  double most = 0, reach = 0, ignored = 0;
  find_centre(s);
  const double centre = square_sum(s->centre, zero, s->d, &ignored);
  for (size_t j = 0; j < s->n; j++) {
    const double square = square_sum(s->row + j * s->stride, zero, s->d, &ignored);
    const double around = square_sum(s->row + j * s->stride, s->centre, s->d, &reach);
    if (!(square < (double)FLT_MAX)) return false;
    most = fmax(most, square);
    s->length[j] = (float)(sqrt(around) * ROUND_UP);
    s->longest = s->length[j] > s->longest ? s->length[j] : s->longest;
    s->bias[j] = s->l2 ? (float)(around / 2) : 0;
  }
  s->scale = (float)(reach / MOST_VALUE);
  s->most = (float)(sqrt(fmax(most, centre)) * ROUND_UP);
  s->centre_bias = s->l2 ? (float)(centre / 2) : 0;
  return centre < (double)FLT_MAX && (s->scale == 0 || s->scale >= FLT_MIN);
}

/* Rounds a vector and stores it among the values. Returns the square of the rounding error. */
static double round_vector(fw_sketch *s, size_t j) {
  const double scale = s->scale, inverse = scale > 0 ? 1 / scale : 0;
  const float *row = s->row + j * s->stride;
  int8_t *to = s->values + j / FW_PACK_WIDTH * s->quads * 4 * FW_PACK_WIDTH + j % FW_PACK_WIDTH * 4;
  double rest[STEPS] = {0};
  int32_t sum = 0;
  for (size_t first = 0; first < s->d; first += STEPS) {
    const size_t count = s->d - first < STEPS ? s->d - first : STEPS;
    double y[STEPS] = {0};
    int32_t value[STEPS];
    for (size_t i = 0; i < count; i++) y[i] = (double)row[first + i] - s->centre[first + i];
    for (size_t i = 0; i < STEPS; i++) {
      const double whole = (y[i] * inverse + TO_INTEGER) - TO_INTEGER;
      rest[i] += (y[i] - whole * scale) * (y[i] - whole * scale);
      value[i] = (int32_t)whole;
    }
    for (size_t i = 0; i < count; i++) {
      to[(first + i) / 4 * 4 * FW_PACK_WIDTH + (first + i) % 4] = (int8_t)value[i];
      sum += value[i];
    }
  }
  s->start[j] = -128 * sum;
  return total(rest);
}

static void round_values(fw_sketch *s) {
  double most = 0;
  for (size_t j = 0; j < s->n; j++) most = fmax(most, round_vector(s, j));
  s->rest = (float)(sqrt(most) * ROUND_UP);
}

static bool fill(fw_sketch *s) {
  const size_t lanes = s->blocks * FW_PACK_WIDTH;
  memset(s->values, 0, lanes * s->quads * 4);
  for (size_t j = s->n; j < lanes; j++) {
    s->bias[j] = INFINITY;
    s->length[j] = 0;
    s->start[j] = 0;
  }
  if (!measure(s)) return false;
  round_values(s);
  return true;
}

furrow_status fw_sketch_create(fw_sketch **sketch, const float *vectors, size_t n, size_t d, size_t stride, bool l2,
                               furrow_error *err) {
  fw_sketch made = {.n = n, .d = d, .blocks = (n + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH, .quads = (d + 3) / 4, .l2 = l2};
  made.row = vectors;
  made.stride = stride;
  fw_sketch *copy = NULL;
  size_t bytes = 0;
  if (n < FW_SKETCH_MIN_N || d < FW_SKETCH_MIN_D || d > FW_SKETCH_MAX_D) return FURROW_OK;
  lay_out(&made, NULL, &bytes);
  furrow_status status = fw_alloc(&made.memory, bytes + ALIGNMENT, 1, err);
  if (status == FURROW_OK) status = FW_ALLOC(&copy, 1, err);
  if (status == FURROW_OK) {
    const uintptr_t base = ((uintptr_t)made.memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    lay_out(&made, (uint8_t *)base, &bytes);
    if (fill(&made)) {
      *copy = made;
      *sketch = copy;
      return FURROW_OK;
    }
  }
  fw_free(made.memory);
  fw_free(copy);
  return status;
}

void fw_sketch_free(fw_sketch *sketch) {
  if (!sketch) return;
  fw_free(sketch->memory);
  fw_free(sketch);
}

size_t fw_sketch_memory(const fw_sketch *sketch) {
  fw_sketch shape = *sketch;
  size_t bytes = 0;
  lay_out(&shape, NULL, &bytes);
  return bytes + ALIGNMENT + sizeof *sketch;
}
