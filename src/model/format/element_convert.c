/* model/format/element_convert.c: converts elements between types, and to text for people and tsv. */
#include "model/format/matrix_format.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/number_out.h"
#include "furrow/model.h"

/* ---- Text ---------------------------------------------------------------------------------------------- */

_Static_assert(FURROW_ELEMENT_TEXT >= FW_NUMBER_TEXT, "a number fits");

/* Infinity and NaN as Java and Angel's files spell them. */
static size_t write_special(double value, char *out) {
  const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  size_t length = strlen(name);
  memcpy(out, name, length);
  return length;
}

size_t furrow_element_to_text(furrow_elements a, furrow_element_type type, size_t i, char *out) {
  switch (type) {
  case FURROW_ELEMENT_F64: return isfinite(a.f64[i]) ? fw_write_f64_g17(out, a.f64[i]) : write_special(a.f64[i], out);
  case FURROW_ELEMENT_F32: return isfinite(a.f32[i]) ? fw_write_f32_g9(out, a.f32[i]) : write_special(a.f32[i], out);
  case FURROW_ELEMENT_I64: return fw_write_i64(out, a.i64[i]);
  default: return fw_write_i64(out, a.i32[i]);
  }
}

/* ---- Other types --------------------------------------------------------------------------------------- */

#define ANY(x) true
/* NaN and infinity fit; a finite double that rounds to infinity does not. */
static inline bool f64_fits_f32(double x) {
  return isnan(x) || isinf(x) || isfinite((float)x);
}
/* -2^63 and -2^31 are exact floats. The upper bound is exclusive because 2^63 is exact and 2^63 - 1 is not. NaN fails
 * every comparison. */
static inline bool f64_fits_i64(double x) {
  return x >= -0x1p63 && x < 0x1p63 && x == (double)(int64_t)x;
}
static inline bool f64_fits_i32(double x) {
  return x >= -0x1p31 && x < 0x1p31 && x == (double)(int32_t)x;
}
static inline bool i64_fits_i32(int64_t x) {
  return x >= INT32_MIN && x <= INT32_MAX;
}

#define NAME f64_f64
#define FROM double
#define TO double
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME f64_f32
#define FROM double
#define TO float
#define FITS f64_fits_f32
#include "model/format/element_convert_tmpl.h"
#define NAME f64_i64
#define FROM double
#define TO int64_t
#define FITS f64_fits_i64
#include "model/format/element_convert_tmpl.h"
#define NAME f64_i32
#define FROM double
#define TO int32_t
#define FITS f64_fits_i32
#include "model/format/element_convert_tmpl.h"
#define NAME f32_f64
#define FROM float
#define TO double
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME f32_f32
#define FROM float
#define TO float
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME f32_i64
#define FROM float
#define TO int64_t
#define FITS f64_fits_i64
#include "model/format/element_convert_tmpl.h"
#define NAME f32_i32
#define FROM float
#define TO int32_t
#define FITS f64_fits_i32
#include "model/format/element_convert_tmpl.h"
#define NAME i64_f64
#define FROM int64_t
#define TO double
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME i64_f32
#define FROM int64_t
#define TO float
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME i64_i64
#define FROM int64_t
#define TO int64_t
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME i64_i32
#define FROM int64_t
#define TO int32_t
#define FITS i64_fits_i32
#include "model/format/element_convert_tmpl.h"
#define NAME i32_f64
#define FROM int32_t
#define TO double
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME i32_f32
#define FROM int32_t
#define TO float
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME i32_i64
#define FROM int32_t
#define TO int64_t
#define FITS ANY
#include "model/format/element_convert_tmpl.h"
#define NAME i32_i32
#define FROM int32_t
#define TO int32_t
#define FITS ANY
#include "model/format/element_convert_tmpl.h"

typedef size_t (*copy_function)(void *, size_t, const void *, size_t, size_t);

static const copy_function copies[4][4] = {
    {f64_f64, f64_f32, f64_i64, f64_i32},
    {f32_f64, f32_f32, f32_i64, f32_i32},
    {i64_f64, i64_f32, i64_i64, i64_i32},
    {i32_f64, i32_f32, i32_i64, i32_i32},
};

size_t fw_elements_copy(void *dst, size_t dst_stride, furrow_element_type to, const void *src, size_t src_stride,
                        furrow_element_type from, size_t count) {
  if (count == 0) return 0;
  if (to == from && dst_stride == 1 && src_stride == 1) {
    memcpy(dst, src, count * furrow_element_size(to));
    return count;
  }
  return copies[from][to](dst, dst_stride, src, src_stride, count);
}
