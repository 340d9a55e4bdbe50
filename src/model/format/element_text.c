/* model/format/element_text.c: elements as text for people and for tsv. */
#include <math.h>
#include <string.h>

#include "base/number_out.h"
#include "furrow/model.h"

_Static_assert(FURROW_ELEMENT_TEXT >= FW_NUMBER_TEXT, "a number fits");

/* The names that Java gives them, and Angel's files. */
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
