/* vector/quantizer/transform_reverse.c: from what transforms made of a vector back to the vector. */
#include "vector/quantizer/transform_reverse.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static bool is(const fw_transform *t, const char *fourcc) {
  return memcmp(t->fourcc, fourcc, 4) == 0;
}

static furrow_status refuse(const fw_transform *t, const char *why, furrow_error *err) {
  fw_fail(err, FURROW_E_UNSUPPORTED, "a transform cannot be turned round: %s", why);
  if (err) fw_error_set_token(err, t->fourcc, 4);
  return FURROW_E_UNSUPPORTED;
}

/* ---- Linear: y = A x + b -------------------------------------------------------------------------------- */

static void multiply(const float *a, size_t rows, size_t columns, const float *x, float *y) {
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

/* |x - y| is small beside |x|: as small as for a matrix whose products with itself are off by some 1e-4. */
static bool is_same(const float *x, const float *y, size_t n) {
  double square = 0, error = 0;
  for (size_t i = 0; i < n; i++) {
    square += (double)x[i] * (double)x[i];
    error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
  }
  return error <= 1e-6 * square;
}

/* x = A^T (y - b), which is right if the rows of A, or its columns if they are fewer, are orthonormal. That costs d^3
 * to find out, so only what it means for this vector is looked at: A x is y - b, or A^T (A x) is x. */
static furrow_status reverse_linear(const fw_transform *t, const float *y, float *x, float *scratch,
                                    furrow_error *err) {
  size_t in = (size_t)t->d_in, out = (size_t)t->d_out;
  float *moved = scratch, *there = scratch + out, *back = there + out;
  if (!t->trained || t->a_count != in * out) return refuse(t, "it is not trained", err);
  for (size_t i = 0; i < out; i++) moved[i] = y[i] - (t->have_bias && i < t->b_count ? t->b[i] : 0);
  multiply_transposed(t->a, out, in, moved, x);
  multiply(t->a, out, in, x, there);
  multiply_transposed(t->a, out, in, there, back);
  bool good = out <= in ? is_same(moved, there, out) : is_same(x, back, in);
  return good ? FURROW_OK : refuse(t, "its matrix is not orthonormal", err);
}

/* ---- Others --------------------------------------------------------------------------------------------- */

static void reverse_map(const fw_transform *t, const float *y, float *x) {
  memset(x, 0, (size_t)t->d_in * sizeof *x);
  for (size_t i = 0; i < t->map_count; i++)
    if (t->map[i] >= 0) x[t->map[i]] = y[i];
}

static furrow_status reverse_one(const fw_transform *t, const float *y, float *x, float *scratch, furrow_error *err) {
  size_t in = (size_t)t->d_in;
  if (is(t, "VNrm")) { /* the length is lost: what was kept is of length 1 */
    memcpy(x, y, in * sizeof *x);
  } else if (is(t, "VCnt")) {
    if (t->mean_count != in) return refuse(t, "it is not trained", err);
    for (size_t i = 0; i < in; i++) x[i] = y[i] + t->mean[i];
  } else if (is(t, "RmDT")) {
    reverse_map(t, y, x);
  } else if (is(t, "Viqt")) {
    return refuse(t, "ITQ loses the lengths in its middle", err);
  } else if (is(t, "HRot")) {
    return refuse(t, "Hadamard rotations are not known here", err);
  } else {
    return reverse_linear(t, y, x, scratch, err);
  }
  return FURROW_OK;
}

static size_t width_of(const fw_transforms *transforms) {
  size_t width = 0;
  for (size_t i = 0; i < transforms->count; i++) {
    size_t in = (size_t)transforms->list[i].d_in, out = (size_t)transforms->list[i].d_out;
    if (in > width) width = in;
    if (out > width) width = out;
  }
  return width;
}

furrow_status fw_transforms_reverse(const fw_transforms *transforms, const float *y, float *x, furrow_error *err) {
  size_t width = width_of(transforms), count = transforms->count;
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
