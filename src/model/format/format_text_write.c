/* model/format/format_text_write.c: records to lines of text, numbers as Java prints them. */
#include <string.h>

#include "base/java_number.h"
#include "base/number_out.h"
#include "model/format/format_text.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE char *put_separator(char *out, const fw_text_shape *shape) {
  if (shape->separator_length == 1) {
    *out = shape->separator[0];
    return out + 1;
  }
  memcpy(out, shape->separator, shape->separator_length);
  return out + shape->separator_length;
}

static ALWAYS_INLINE size_t put_value(char *out, furrow_elements values, furrow_element_type type, bool decimals,
                                      size_t i) {
  switch (type) {
  case FURROW_ELEMENT_F64: return decimals ? fw_java_decimal6(out, values.f64[i]) : fw_java_double(out, values.f64[i]);
  case FURROW_ELEMENT_F32: return fw_java_float(out, values.f32[i]);
  case FURROW_ELEMENT_I64: return fw_write_i64(out, values.i64[i]);
  default: return fw_write_i64(out, values.i32[i]);
  }
}

/* `type` and `decimals` are constants wherever this is used. */
static ALWAYS_INLINE size_t write_lines(const fw_text_shape *shape, furrow_element_type type, bool decimals,
                                        const furrow_panel *panel, size_t first, size_t count, char *out) {
  char *const start = out;
  for (size_t c = first; c < first + count; c++) {
    if (shape->row) {
      out += fw_write_i64(out, panel->row_ids[0]);
      out = put_separator(out, shape);
    }
    if (shape->key) {
      out += fw_write_i64(out, furrow_panel_col(panel, c));
      out = put_separator(out, shape);
    }
    for (size_t k = 0; k < shape->values; k++) {
      if (k) out = put_separator(out, shape);
      out += put_value(out, panel->values, type, decimals, c * shape->values + k);
    }
    *out++ = '\n';
  }
  return (size_t)(out - start);
}

size_t fw_text_write(const fw_text_shape *shape, bool decimals, const furrow_panel *panel, size_t first, size_t count,
                     char *out) {
  switch (shape->type) {
  case FURROW_ELEMENT_F64:
    return decimals ? write_lines(shape, FURROW_ELEMENT_F64, true, panel, first, count, out)
                    : write_lines(shape, FURROW_ELEMENT_F64, false, panel, first, count, out);
  case FURROW_ELEMENT_F32: return write_lines(shape, FURROW_ELEMENT_F32, false, panel, first, count, out);
  case FURROW_ELEMENT_I64: return write_lines(shape, FURROW_ELEMENT_I64, false, panel, first, count, out);
  default: return write_lines(shape, FURROW_ELEMENT_I32, false, panel, first, count, out);
  }
}
