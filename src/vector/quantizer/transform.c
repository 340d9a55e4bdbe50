/* vector/quantizer/transform.c: applies the transforms of an index to vectors, and reverses them. */
#include "vector/quantizer/transform.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/scan/scan.h"
#include "vector/data/parallel.h"

#define PART 256 /* vectors per task */

static void transform_clear(fw_transform *t) {
  fw_free(t->a);
  fw_free(t->b);
  fw_free(t->mean);
  fw_free(t->eigenvalues);
  fw_free(t->pca);
  fw_free(t->map);
  for (size_t i = 0; t->nested && i < 2; i++) transform_clear(&t->nested[i]);
  fw_free(t->nested);
}

void fw_transforms_clear(fw_transforms *transforms) {
  for (size_t i = 0; i < transforms->count; i++) transform_clear(&transforms->list[i]);
  fw_free(transforms->list);
}

static bool is_fourcc(const fw_transform *t, const char *fourcc) {
  return memcmp(t->fourcc, fourcc, 4) == 0;
}

static bool is_linear(const fw_transform *t) {
  return is_fourcc(t, "LTra") || is_fourcc(t, "rrot") || is_fourcc(t, "Pcam") || is_fourcc(t, "Viqm");
}

static bool is_known(const fw_transform *t) {
  if (is_fourcc(t, "VNrm")) return t->norm == 2;
  if (is_fourcc(t, "Viqt")) return is_linear(&t->nested[1]);
  return is_linear(t) || is_fourcc(t, "VCnt") || is_fourcc(t, "RmDT");
}

static bool is_ready(const fw_transform *t) {
  return t->trained && (!is_fourcc(t, "Viqt") || t->nested[1].trained);
}

furrow_status fw_transforms_check(const fw_transforms *transforms, furrow_error *err) {
  for (size_t i = 0; i < transforms->count; i++) {
    const fw_transform *t = &transforms->list[i];
    if (!is_known(t)) {
      const furrow_status status =
          fw_fail(err, FURROW_E_UNSUPPORTED, "transform %zu (%.4s) cannot be applied", i, t->fourcc);
      fw_error_set_token(err, t->fourcc, 4);
      return status;
    }
    if (!is_ready(t)) return fw_fail(err, FURROW_E_STATE, "transform %zu (%.4s) is not trained", i, t->fourcc);
  }
  return FURROW_OK;
}

size_t fw_transforms_width(const fw_transforms *transforms) {
  int32_t width = 0;
  for (size_t i = 0; i < transforms->count; i++) {
    const fw_transform *t = &transforms->list[i];
    width = t->d_in > width ? t->d_in : width;
    width = t->d_out > width ? t->d_out : width;
  }
  return (size_t)width;
}

/* y = A x + b */
static void apply_linear(const fw_transform *t, const float *x, float *y) {
  fw_scan_table()->ip_rows(x, t->a, (size_t)t->d_out, (size_t)t->d_in, y);
  for (int32_t i = 0; t->have_bias && i < t->d_out; i++) y[i] += t->b[i];
}

void fw_normalize_vector(const float *x, size_t d, float *y) {
  float square;
  fw_scan_table()->ip_rows(x, x, 1, d, &square);
  const float factor = square > 0 ? 1.0F / sqrtf(square) : 1.0F;
  for (size_t i = 0; i < d; i++) y[i] = x[i] * factor;
}

static void centre_vector(const fw_transform *t, const float *x, float *y) {
  for (int32_t i = 0; i < t->d_in; i++) y[i] = x[i] - t->mean[i];
}

static void remap(const fw_transform *t, const float *x, float *y) {
  for (int32_t i = 0; i < t->d_out; i++) y[i] = t->map[i] < 0 ? 0 : x[t->map[i]];
}

static void apply_one(const fw_transform *t, const float *x, float *y, float *scratch) {
  if (is_fourcc(t, "VNrm")) {
    fw_normalize_vector(x, (size_t)t->d_in, y);
  } else if (is_fourcc(t, "VCnt")) {
    centre_vector(t, x, y);
  } else if (is_fourcc(t, "RmDT")) {
    remap(t, x, y);
  } else if (is_fourcc(t, "Viqt")) {
    centre_vector(t, x, scratch);
    fw_normalize_vector(scratch, (size_t)t->d_in, scratch);
    apply_linear(&t->nested[1], scratch, y);
  } else {
    apply_linear(t, x, y);
  }
}

void fw_transform_apply(const fw_transform *t, const float *x, size_t n, float *y, float *scratch) {
  for (size_t i = 0; i < n; i++) apply_one(t, x + i * (size_t)t->d_in, y + i * (size_t)t->d_out, scratch);
}

const float *fw_transforms_apply(const fw_transforms *transforms, const float *x, size_t n, float *scratch) {
  const size_t width = fw_transforms_width(transforms);
  for (size_t i = 0; i < transforms->count; i++) {
    float *y = scratch + i % 2 * n * width;
    fw_transform_apply(&transforms->list[i], x, n, y, scratch + 2 * n * width);
    x = y;
  }
  return x;
}

/* ---- Many vectors --------------------------------------------------------------------------------------- */

typedef struct moving {
  const fw_transforms *transforms;
  const float *vectors;
  size_t d_in, d_out;
  float *moved;
} moving;

static furrow_status move_part(void *context, size_t first, size_t count, furrow_error *err) {
  const moving *m = context;
  void *scratch = NULL;
  furrow_status status =
      fw_alloc(&scratch, 2 * count + 1, (fw_transforms_width(m->transforms) + 1) * sizeof(float), err);
  if (status != FURROW_OK) return status;
  const float *out = fw_transforms_apply(m->transforms, m->vectors + first * m->d_in, count, scratch);
  memcpy(m->moved + first * m->d_out, out, count * m->d_out * sizeof *out);
  fw_free(scratch);
  return FURROW_OK;
}

furrow_status fw_transforms_run(const fw_transforms *transforms, const float *vectors, size_t n, size_t d_in,
                                size_t d_out, fw_pool *pool, float **moved, furrow_error *err) {
  moving m = {.transforms = transforms, .vectors = vectors, .d_in = d_in, .d_out = d_out};
  void *memory = NULL;
  furrow_status status = fw_transforms_check(transforms, err);
  if (status == FURROW_OK) status = fw_alloc(&memory, n, d_out * sizeof(float), err);
  if (status != FURROW_OK) return status;
  m.moved = memory;
  status = fw_parallel_run(pool, n, PART, move_part, &m, err);
  return FW_HAND_OVER(status, moved, memory, fw_free);
}

/* ---- Reversing ------------------------------------------------------------------------------------------ */

static furrow_status refuse_reversal(const fw_transform *t, const char *why, furrow_error *err) {
  fw_fail(err, FURROW_E_UNSUPPORTED, "a transform cannot be reversed: %s", why);
  if (err) fw_error_set_token(err, t->fourcc, 4);
  return FURROW_E_UNSUPPORTED;
}

static void multiply_vector(const float *a, size_t rows, size_t columns, const float *x, float *y) {
  for (size_t i = 0; i < rows; i++) {
    double sum = 0;
    for (size_t k = 0; k < columns; k++) sum += (double)a[i * columns + k] * (double)x[k];
    y[i] = (float)sum;
  }
}

static void multiply_transposed(const float *a, size_t rows, size_t columns, const float *y, float *x) {
  memset(x, 0, columns * sizeof *x);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < columns; k++) x[k] += a[i * columns + k] * y[i];
}

/* Whether |x - y| is at most about 1e-3 |x|, which holds for a matrix that is orthonormal up to rounding. */
static bool is_same(const float *x, const float *y, size_t n) {
  double square = 0, error = 0;
  for (size_t i = 0; i < n; i++) {
    square += (double)x[i] * (double)x[i];
    error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
  }
  return error <= 1e-6 * square;
}

/* x = A^T (y - b), which is correct if the rows of A (or its columns if they are fewer) are orthonormal. Checking A
 * costs d^3, so only the result for this vector is checked: A x is y - b, or A^T (A x) is x. */
static furrow_status reverse_linear(const fw_transform *t, const float *y, float *x, float *scratch,
                                    furrow_error *err) {
  size_t in = (size_t)t->d_in, out = (size_t)t->d_out;
  float *moved = scratch, *there = scratch + out, *back = there + out;
  if (!t->trained || t->a_count != in * out) return refuse_reversal(t, "it is not trained", err);
  for (size_t i = 0; i < out; i++) moved[i] = y[i] - (t->have_bias && i < t->b_count ? t->b[i] : 0);
  multiply_transposed(t->a, out, in, moved, x);
  multiply_vector(t->a, out, in, x, there);
  multiply_transposed(t->a, out, in, there, back);
  bool good = out <= in ? is_same(moved, there, out) : is_same(x, back, in);
  return good ? FURROW_OK : refuse_reversal(t, "its matrix is not orthonormal", err);
}

static void reverse_map(const fw_transform *t, const float *y, float *x) {
  memset(x, 0, (size_t)t->d_in * sizeof *x);
  for (size_t i = 0; i < t->map_count; i++)
    if (t->map[i] >= 0) x[t->map[i]] = y[i];
}

static furrow_status reverse_one(const fw_transform *t, const float *y, float *x, float *scratch, furrow_error *err) {
  size_t in = (size_t)t->d_in;
  if (is_fourcc(t, "VNrm")) { /* the original norm is lost: the stored vector has norm 1 */
    memcpy(x, y, in * sizeof *x);
  } else if (is_fourcc(t, "VCnt")) {
    if (t->mean_count != in) return refuse_reversal(t, "it is not trained", err);
    for (size_t i = 0; i < in; i++) x[i] = y[i] + t->mean[i];
  } else if (is_fourcc(t, "RmDT")) {
    reverse_map(t, y, x);
  } else if (is_fourcc(t, "Viqt")) {
    return refuse_reversal(t, "ITQ loses the lengths in its middle", err);
  } else if (is_fourcc(t, "HRot")) {
    return refuse_reversal(t, "Hadamard rotations are not known here", err);
  } else {
    return reverse_linear(t, y, x, scratch, err);
  }
  return FURROW_OK;
}

furrow_status fw_transforms_reverse(const fw_transforms *transforms, const float *y, float *x, furrow_error *err) {
  size_t width = fw_transforms_width(transforms), count = transforms->count;
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, 5 * width, sizeof *x, err);
  if (status != FURROW_OK) return status;
  float *scratch = memory, *from = scratch + 3 * width, *to = from + width;
  size_t out = count > 0 ? (size_t)transforms->list[count - 1].d_out : 0;
  memcpy(from, y, out * sizeof *y);
  for (size_t i = count; status == FURROW_OK && i-- > 0;) {
    status = reverse_one(&transforms->list[i], from, to, scratch, err);
    float *swap = from;
    from = to;
    to = swap;
  }
  if (status == FURROW_OK && count > 0) memcpy(x, from, (size_t)transforms->list[0].d_in * sizeof *x);
  fw_free(memory);
  return status;
}
