/* columns/arrow_values.c: single values of Arrow arrays. */
#include "columns/arrow_values.h"

#include <string.h>

#include "base/error.h"

furrow_status fw_arrow_misfit(furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "a batch of Arrow does not fit the types of its columns");
}

static bool has_buffers(const struct ArrowArray *array, int64_t count) {
  return array->n_buffers >= count && array->buffers && array->offset >= 0 && array->length >= 0;
}

static bool is_valid(const struct ArrowArray *array, int64_t i) {
  return array->null_count == 0 || array->n_buffers < 1 || !array->buffers[0] || fw_arrow_bit(array->buffers[0], i);
}

static double half_value(uint16_t half) {
  const unsigned exponent = half >> 10 & 31, fraction = half & 1023;
  float value;
  uint32_t bits;
  if (exponent == 31)
    bits = 0x7f800000u | fraction << 13;
  else if (exponent > 0)
    bits = (exponent + 112) << 23 | fraction << 13;
  else
    return (half >> 15 ? -1.0 : 1.0) * (double)fraction / 16777216.0;
  bits |= (uint32_t)(half >> 15) << 31;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int64_t fw_arrow_int(const fw_arrow_type *type, const void *values, int64_t i) {
  const char *at = (const char *)values + (size_t)i * type->width;
  switch (type->width) {
  case 1: return type->is_signed ? *(const int8_t *)at : *(const uint8_t *)at;
  case 2: {
    int16_t v;
    memcpy(&v, at, 2);
    return type->is_signed ? v : (uint16_t)v;
  }
  case 4: {
    int32_t v;
    memcpy(&v, at, 4);
    return type->is_signed ? (int64_t)v : (int64_t)(uint32_t)v;
  }
  default: {
    int64_t v;
    memcpy(&v, at, 8);
    return v;
  }
  }
}

void fw_arrow_value(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i, void *out) {
  const void *values = array->buffers[1];
  double real = 0;
  int64_t number = 0;
  if (type->storage == FW_ARROW_BITS) {
    number = fw_arrow_bit(values, i);
  } else if (type->storage == FW_ARROW_FLOATS) {
    const char *at = (const char *)values + (size_t)i * type->width;
    uint16_t half;
    float single;
    memcpy(&half, at, 2);
    if (type->width == 8) memcpy(&real, at, 8);
    if (type->width == 4) {
      memcpy(&single, at, 4);
      real = single;
    }
    if (type->width == 2) real = half_value(half);
    memcpy(out, &real, 8);
    return;
  } else if (type->type.kind == FW_TYPED_DECIMAL) {
    __int128 wide;
    if (type->width == 16)
      memcpy(&wide, (const char *)values + (size_t)i * 16, 16);
    else
      wide = fw_arrow_int(type, values, i);
    memcpy(out, &wide, 16);
    return;
  } else {
    number = fw_arrow_int(type, values, i);
    if (type->divide) number = number / type->divide - (number % type->divide < 0);
  }
  memcpy(out, &number, 8);
}

int64_t fw_arrow_offset(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i) {
  return type->width == 4 ? ((const int32_t *)array->buffers[1])[i] : ((const int64_t *)array->buffers[1])[i];
}

static bool load_view(const struct ArrowArray *array, int64_t i, fw_arrow_text *text) {
  const char *view = (const char *)array->buffers[1] + 16 * (size_t)i;
  int32_t size, buffer, offset;
  memcpy(&size, view, 4);
  memcpy(&buffer, view + 8, 4);
  memcpy(&offset, view + 12, 4);
  if (size < 0) return false;
  *text = (fw_arrow_text){view + 4, (size_t)size};
  if (size <= 12) return true;
  if (buffer < 0 || offset < 0 || buffer + 3 >= array->n_buffers) return false; /* the last one has the sizes */
  const int64_t *sizes = array->buffers[array->n_buffers - 1];
  if ((int64_t)offset + size > sizes[buffer]) return false;
  text->bytes = (const char *)array->buffers[2 + buffer] + offset;
  return true;
}

bool fw_arrow_load_text(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i, fw_arrow_text *text) {
  if (type->storage == FW_ARROW_NULL) {
    *text = (fw_arrow_text){"", 0};
    return true;
  }
  if (type->storage == FW_ARROW_VIEWS) return load_view(array, i, text);
  if (type->storage == FW_ARROW_FIXED) {
    *text = (fw_arrow_text){(const char *)array->buffers[1] + (size_t)i * type->width, type->width};
    return true;
  }
  const int64_t begin = fw_arrow_offset(type, array, i), end = fw_arrow_offset(type, array, i + 1);
  if (begin < 0 || end < begin || (end > begin && !array->buffers[2])) return false;
  *text = end > begin ? (fw_arrow_text){(const char *)array->buffers[2] + begin, (size_t)(end - begin)}
                      : (fw_arrow_text){"", 0};
  return true;
}

bool fw_arrow_fits(const fw_arrow_type *type, const struct ArrowArray *array) {
  const bool list = type->type.kind == FW_TYPED_LIST;
  if (type->storage == FW_ARROW_NULL) return array->length >= 0 && array->offset >= 0;
  if (list && (array->n_children != 1 || !array->children || !array->children[0])) return false;
  if (list && type->storage == FW_ARROW_FIXED) return has_buffers(array, 1);
  if (!has_buffers(array, type->storage == FW_ARROW_OFFSETS && !list ? 3 : type->storage == FW_ARROW_VIEWS ? 3 : 2))
    return false;
  return array->length == 0 || array->buffers[1];
}

bool fw_arrow_is_null(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i) {
  return type->storage == FW_ARROW_NULL || !is_valid(array, i);
}

bool fw_arrow_column_find(const fw_arrow_leaf *leaf, const struct ArrowArray *batch, fw_arrow_column *found) {
  const struct ArrowArray *array = batch;
  int64_t offset = 0;
  *found = (fw_arrow_column){0};
  for (size_t i = 0; i < leaf->depth; i++) {
    if (array->n_children <= (int64_t)leaf->place[i] || !array->children) return false;
    offset += array->offset;
    if (array->null_count != 0 && array->n_buffers > 0 && array->buffers && array->buffers[0]) {
      found->around[found->around_count] = array;
      found->around_offset[found->around_count++] = offset;
    }
    array = array->children[leaf->place[i]];
    if (!array || array->offset < 0 || array->length < 0) return false;
  }
  found->array = array;
  found->offset = offset + array->offset;
  return offset + batch->length <= array->length;
}

bool fw_arrow_row_is_null(const fw_arrow_column *in, int64_t row) {
  for (size_t i = 0; i < in->around_count; i++)
    if (!fw_arrow_bit(in->around[i]->buffers[0], row + in->around_offset[i])) return true;
  return false;
}
