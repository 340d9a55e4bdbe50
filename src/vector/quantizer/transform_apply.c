/* vector/quantizer/transform_apply.c: vectors through the transforms before an index. */
#include "vector/quantizer/transform_apply.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kern/scan/scan.h"

static bool is(const fw_transform *t, const char *fourcc) {
  return memcmp(t->fourcc, fourcc, 4) == 0;
}

static bool is_linear(const fw_transform *t) {
  return is(t, "LTra") || is(t, "rrot") || is(t, "Pcam") || is(t, "Viqm");
}

static bool is_known(const fw_transform *t) {
  if (is(t, "VNrm")) return t->norm == 2;
  if (is(t, "Viqt")) return is_linear(&t->nested[1]);
  return is_linear(t) || is(t, "VCnt") || is(t, "RmDT");
}

static bool is_ready(const fw_transform *t) {
  return t->trained && (!is(t, "Viqt") || t->nested[1].trained);
}

furrow_status fw_transforms_check(const fw_transforms *transforms, furrow_error *err) {
  for (size_t i = 0; i < transforms->count; i++) {
    const fw_transform *t = &transforms->list[i];
    if (!is_known(t)) {
      const furrow_status status =
          fw_fail(err, FURROW_E_UNSUPPORTED, "transform %zu (%.4s) is not one that can be applied", i, t->fourcc);
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

/* To length 1; a vector without length stays. */
static void normalise(const float *x, size_t d, float *y) {
  float square;
  fw_scan_table()->ip_rows(x, x, 1, d, &square);
  const float factor = square > 0 ? 1.0F / sqrtf(square) : 1.0F;
  for (size_t i = 0; i < d; i++) y[i] = x[i] * factor;
}

static void centre(const fw_transform *t, const float *x, float *y) {
  for (int32_t i = 0; i < t->d_in; i++) y[i] = x[i] - t->mean[i];
}

static void remap(const fw_transform *t, const float *x, float *y) {
  for (int32_t i = 0; i < t->d_out; i++) y[i] = t->map[i] < 0 ? 0 : x[t->map[i]];
}

static void apply_one(const fw_transform *t, const float *x, float *y, float *scratch) {
  if (is(t, "VNrm")) {
    normalise(x, (size_t)t->d_in, y);
  } else if (is(t, "VCnt")) {
    centre(t, x, y);
  } else if (is(t, "RmDT")) {
    remap(t, x, y);
  } else if (is(t, "Viqt")) {
    centre(t, x, scratch);
    normalise(scratch, (size_t)t->d_in, scratch);
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
