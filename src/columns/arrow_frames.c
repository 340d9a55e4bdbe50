/* columns/arrow_frames.c: batches of Arrow become frames.
 *
 * The values of a column are copied with the width that a frame has for them; texts and the elements of lists are
 * copied as texts. This runs in one thread, in the order of the rows, so it does no more than that: the texts of
 * numbers are written later, by the threads that read the frames. */
#include "columns/arrow_frames.h"

#include "base/error.h"
#include "base/mem.h"

enum { STEP = 64, MOST_FRAME = 4 << 20 }; /* a frame ends after some row that makes it larger than that */

typedef struct frame_part {
  const fw_arrow_leaf *leaf; /* NULL: not wanted */
  uint32_t number;
  fw_buffer valid, values, text;
} frame_part;

struct fw_frames_builder {
  frame_part *parts;
  size_t count, wanted;
  uint32_t rows;
  uint64_t first_row;
};

furrow_status fw_frames_builder_create(fw_frames_builder **builder, const fw_arrow_leaves *leaves,
                                       const uint32_t *numbers, furrow_error *err) {
  fw_frames_builder *b;
  FW_TRY(FW_ALLOC_ZERO(&b, 1, err));
  furrow_status status = FW_ALLOC_ZERO(&b->parts, leaves->count, err);
  for (size_t i = 0; i < leaves->count && status == FURROW_OK; i++) {
    if (numbers[i] == UINT32_MAX) continue;
    b->parts[b->count++] = (frame_part){.leaf = &leaves->leaves[i], .number = numbers[i]};
  }
  return FW_HAND_OVER(status, builder, b, fw_frames_builder_free);
}

void fw_frames_builder_free(fw_frames_builder *builder) {
  if (!builder) return;
  for (size_t i = 0; i < builder->count; i++) {
    fw_buffer_clear(&builder->parts[i].valid);
    fw_buffer_clear(&builder->parts[i].values);
    fw_buffer_clear(&builder->parts[i].text);
  }
  fw_free(builder->parts);
  fw_free(builder);
}

/* ---- Bytes out ------------------------------------------------------------------------------------------ */

static void write_u32(fw_buffer *bytes, uint32_t value) {
  fw_buffer_append(bytes, &value, sizeof value);
}

static void pad(fw_buffer *bytes, size_t size) {
  static const char zeros[8] = {0};
  fw_buffer_append(bytes, zeros, fw_frame_padded(size) - size);
}

void fw_frames_write_head(fw_buffer *bytes, const char *const *names, size_t count) {
  size_t size = FW_FRAMES_NAMES;
  for (size_t i = 0; i < count; i++) size += 4 + strlen(names[i]);
  fw_buffer_append(bytes, FW_FRAMES_MAGIC, 8);
  write_u32(bytes, (uint32_t)fw_frame_padded(size));
  write_u32(bytes, (uint32_t)count);
  for (size_t i = 0; i < count; i++) {
    write_u32(bytes, (uint32_t)strlen(names[i]));
    fw_buffer_text(bytes, names[i]);
  }
  pad(bytes, size);
}

static size_t part_size(const frame_part *part) {
  return fw_frame_padded(part->valid.size) + fw_frame_padded(part->values.size) + fw_frame_padded(part->text.size);
}

static furrow_status end_frame(fw_frames_builder *b, fw_buffer *bytes, furrow_error *err) {
  size_t size = fw_frame_padded(fw_frame_row_at(b->rows));
  for (size_t i = 0; i < b->count; i++) {
    const frame_part *p = &b->parts[i];
    FW_TRY(fw_buffer_status(&p->valid, err));
    FW_TRY(fw_buffer_status(&p->values, err));
    FW_TRY(fw_buffer_status(&p->text, err));
    size += 16 + part_size(p);
  }
  if (size > INT32_MAX) return fw_fail(err, FURROW_E_UNSUPPORTED, "rows of more than 2 GiB");
  write_u32(bytes, FW_FRAME_MAGIC);
  write_u32(bytes, (uint32_t)size);
  write_u32(bytes, b->rows);
  write_u32(bytes, (uint32_t)b->count);
  fw_buffer_append(bytes, &b->first_row, sizeof b->first_row);
  for (uint32_t r = 0; r < b->rows; r++) write_u32(bytes, r);
  pad(bytes, fw_frame_row_at(b->rows));
  for (size_t i = 0; i < b->count; i++) {
    frame_part *p = &b->parts[i];
    const uint64_t part = part_size(p);
    write_u32(bytes, p->number);
    write_u32(bytes, fw_typed_type_pack(p->leaf->type.type));
    fw_buffer_append(bytes, &part, sizeof part);
    fw_buffer *pieces[] = {&p->valid, &p->values, &p->text};
    for (size_t k = 0; k < 3; k++) {
      fw_buffer_append(bytes, pieces[k]->bytes, pieces[k]->size);
      pad(bytes, pieces[k]->size);
      fw_buffer_reset(pieces[k]);
    }
  }
  b->first_row += b->rows;
  b->rows = 0;
  return fw_buffer_status(bytes, err);
}

furrow_status fw_frames_finish(fw_frames_builder *builder, fw_buffer *bytes, furrow_error *err) {
  return builder->rows > 0 ? end_frame(builder, bytes, err) : FURROW_OK;
}

/* ---- Values in -------------------------------------------------------------------------------------------- */

static furrow_status misfit(furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "a batch of Arrow does not fit the types of its columns");
}

static bool has_buffers(const struct ArrowArray *array, int64_t count) {
  return array->n_buffers >= count && array->buffers && array->offset >= 0 && array->length >= 0;
}

static bool bit_at(const void *bits, int64_t i) {
  return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1;
}

static bool is_valid(const struct ArrowArray *array, int64_t i) {
  return array->null_count == 0 || array->n_buffers < 1 || !array->buffers[0] || bit_at(array->buffers[0], i);
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

static int64_t load_int(const fw_arrow_type *type, const void *values, int64_t i) {
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

/* Loads a value that is not bytes into 16 bytes of a frame. */
static void load_value(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i, void *out) {
  const void *values = array->buffers[1];
  double real = 0;
  int64_t number = 0;
  if (type->storage == FW_ARROW_BITS) {
    number = bit_at(values, i);
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
      wide = load_int(type, values, i);
    memcpy(out, &wide, 16);
    return;
  } else {
    number = load_int(type, values, i);
    if (type->divide) number = number / type->divide - (number % type->divide < 0);
  }
  memcpy(out, &number, 8);
}

typedef struct text_range {
  const char *bytes;
  size_t size;
} text_range;

static int64_t offset_at(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i) {
  return type->width == 4 ? ((const int32_t *)array->buffers[1])[i] : ((const int64_t *)array->buffers[1])[i];
}

static bool load_view(const struct ArrowArray *array, int64_t i, text_range *text) {
  const char *view = (const char *)array->buffers[1] + 16 * (size_t)i;
  int32_t size, buffer, offset;
  memcpy(&size, view, 4);
  memcpy(&buffer, view + 8, 4);
  memcpy(&offset, view + 12, 4);
  if (size < 0) return false;
  *text = (text_range){view + 4, (size_t)size};
  if (size <= 12) return true;
  if (buffer < 0 || offset < 0 || buffer + 3 >= array->n_buffers) return false; /* the last one has the sizes */
  const int64_t *sizes = array->buffers[array->n_buffers - 1];
  if ((int64_t)offset + size > sizes[buffer]) return false;
  text->bytes = (const char *)array->buffers[2 + buffer] + offset;
  return true;
}

/* Finds the bytes of text i. */
static bool load_text(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i, text_range *text) {
  if (type->storage == FW_ARROW_NULL) {
    *text = (text_range){"", 0};
    return true;
  }
  if (type->storage == FW_ARROW_VIEWS) return load_view(array, i, text);
  if (type->storage == FW_ARROW_FIXED) {
    *text = (text_range){(const char *)array->buffers[1] + (size_t)i * type->width, type->width};
    return true;
  }
  const int64_t begin = offset_at(type, array, i), end = offset_at(type, array, i + 1);
  if (begin < 0 || end < begin || (end > begin && !array->buffers[2])) return false;
  *text =
      end > begin ? (text_range){(const char *)array->buffers[2] + begin, (size_t)(end - begin)} : (text_range){"", 0};
  return true;
}

/* Whether the array has the buffers of the type. */
static bool fits(const fw_arrow_type *type, const struct ArrowArray *array) {
  const bool list = type->type.kind == FW_TYPED_LIST;
  if (type->storage == FW_ARROW_NULL) return array->length >= 0 && array->offset >= 0;
  if (list && (array->n_children != 1 || !array->children || !array->children[0])) return false;
  if (list && type->storage == FW_ARROW_FIXED) return has_buffers(array, 1);
  if (!has_buffers(array, type->storage == FW_ARROW_OFFSETS && !list ? 3 : type->storage == FW_ARROW_VIEWS ? 3 : 2))
    return false;
  return array->length == 0 || array->buffers[1];
}

static bool value_is_null(const fw_arrow_type *type, const struct ArrowArray *array, int64_t i) {
  return type->storage == FW_ARROW_NULL || !is_valid(array, i);
}

/* Appends the texts of a list's elements, without nulls and empty ones. */
static furrow_status add_list(frame_part *part, const struct ArrowArray *array, int64_t i, furrow_error *err) {
  const fw_arrow_type *type = &part->leaf->type, *of = &part->leaf->element;
  const struct ArrowArray *child = array->children[0];
  const bool fixed = type->storage == FW_ARROW_FIXED;
  const int64_t begin = fixed ? i * (int64_t)type->width : offset_at(type, array, i);
  const int64_t end = fixed ? begin + (int64_t)type->width : offset_at(type, array, i + 1);
  const size_t empty = part->text.size;
  if (begin < 0 || end < begin || end > child->length || !fits(of, child)) return misfit(err);
  for (int64_t k = begin + child->offset; k < end + child->offset; k++) {
    char value[16] = {0}, written[FW_TYPED_TEXT_BYTES];
    text_range text = {written, 0};
    if (value_is_null(of, child, k)) continue;
    if (fw_typed_is_bytes(of->type)) {
      if (!load_text(of, child, k, &text)) return misfit(err);
    } else {
      load_value(of, child, k, value);
      text.size = fw_typed_text(of->type, value, written);
    }
    if (text.size == 0) continue;
    if (memchr(text.bytes, FW_LIST_SEPARATOR, text.size))
      return fw_fail(err, FURROW_E_FORMAT, "column %s: an element of a list has the character \\x1f in it",
                     part->leaf->name);
    if (part->text.size > empty) fw_buffer_byte(&part->text, FW_LIST_SEPARATOR);
    fw_buffer_append(&part->text, text.bytes, text.size);
  }
  return FURROW_OK;
}

/* The array of a column, and where the rows of a batch are in it. */
typedef struct leaf_array {
  const struct ArrowArray *array;
  int64_t offset;
  const struct ArrowArray *around[16]; /* structs with nulls */
  int64_t around_offset[16];
  size_t around_count;
} leaf_array;

static bool find_array(const fw_arrow_leaf *leaf, const struct ArrowArray *batch, leaf_array *found) {
  const struct ArrowArray *array = batch;
  int64_t offset = 0;
  *found = (leaf_array){0};
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

static bool row_is_null(const leaf_array *in, int64_t row) {
  for (size_t i = 0; i < in->around_count; i++)
    if (!bit_at(in->around[i]->buffers[0], row + in->around_offset[i])) return true;
  return false;
}

/* Appends the bytes of a row. */
static furrow_status add_text(frame_part *part, const struct ArrowArray *array, const fw_arrow_type *type, int64_t i,
                              furrow_error *err) {
  text_range text = {NULL, 0};
  if (type->type.kind == FW_TYPED_LIST) return add_list(part, array, i, err);
  if (!load_text(type, array, i, &text)) return misfit(err);
  fw_buffer_append(&part->text, text.bytes, text.size);
  return FURROW_OK;
}

static furrow_status add_rows(frame_part *part, const leaf_array *in, int64_t from, int64_t count, furrow_error *err) {
  const fw_arrow_leaf *leaf = part->leaf;
  const fw_arrow_type *type = &leaf->type;
  const struct ArrowArray *array = in->array, *values = leaf->dictionary ? array->dictionary : array;
  const bool bytes = fw_typed_is_bytes(type->type);
  const size_t width = bytes ? 4 : fw_typed_width(type->type);
  char *valid = fw_buffer_reserve(&part->valid, (size_t)count);
  char *out = fw_buffer_reserve(&part->values, (size_t)count * width);
  if (!valid || !out) return fw_buffer_status(valid ? &part->values : &part->valid, err);
  for (int64_t r = 0; r < count; r++) {
    int64_t i = in->offset + from + r;
    bool null = (in->around_count > 0 && row_is_null(in, from + r)) ||
                value_is_null(leaf->dictionary ? &leaf->keys : type, array, i);
    if (!null && leaf->dictionary) {
      i = load_int(&leaf->keys, array->buffers[1], i);
      if (i < 0 || i >= values->length) return misfit(err);
      i += values->offset;
      null = value_is_null(type, values, i);
    }
    valid[r] = !null;
    if (bytes) {
      if (!null) FW_TRY(add_text(part, values, type, i, err));
      const uint32_t end = (uint32_t)part->text.size;
      if (part->text.size > INT32_MAX) return fw_fail(err, FURROW_E_UNSUPPORTED, "rows of more than 2 GiB");
      memcpy(out + 4 * (size_t)r, &end, 4);
    } else if (null) {
      memset(out + width * (size_t)r, 0, width);
    } else {
      load_value(type, values, i, out + width * (size_t)r);
    }
  }
  fw_buffer_advance(&part->valid, (size_t)count);
  fw_buffer_advance(&part->values, (size_t)count * width);
  return FURROW_OK;
}

static size_t frame_size(const fw_frames_builder *b) {
  size_t size = 0;
  for (size_t i = 0; i < b->count; i++) size += b->parts[i].values.size + b->parts[i].text.size;
  return size;
}

furrow_status fw_frames_add(fw_frames_builder *b, const struct ArrowArray *batch, fw_buffer *bytes, furrow_error *err) {
  leaf_array *arrays = NULL;
  furrow_status status = FW_ALLOC_ZERO(&arrays, b->count, err);
  if (batch->length < 0 || batch->offset < 0) status = misfit(err);
  for (size_t i = 0; i < b->count && status == FURROW_OK; i++) {
    const fw_arrow_leaf *leaf = b->parts[i].leaf;
    bool right = find_array(leaf, batch, &arrays[i]);
    if (right) {
      const struct ArrowArray *array = arrays[i].array;
      right = leaf->dictionary ? array->dictionary && fits(&leaf->keys, array) && fits(&leaf->type, array->dictionary)
                               : fits(&leaf->type, array);
    }
    if (!right) status = misfit(err);
  }
  for (int64_t row = 0; row < batch->length && status == FURROW_OK;) {
    int64_t count = batch->length - row;
    if (count > STEP) count = STEP;
    if (count > FW_FRAME_ROWS - b->rows) count = FW_FRAME_ROWS - b->rows;
    for (size_t i = 0; i < b->count && status == FURROW_OK; i++)
      status = add_rows(&b->parts[i], &arrays[i], row, count, err);
    b->rows += (uint32_t)count;
    row += count;
    if (status == FURROW_OK && (b->rows == FW_FRAME_ROWS || frame_size(b) > MOST_FRAME))
      status = end_frame(b, bytes, err);
  }
  fw_free(arrays);
  return status;
}
