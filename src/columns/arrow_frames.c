/* columns/arrow_frames.c: batches of Arrow become frames.
 *
 * The values of a column are copied with the width that a frame has for them; texts and the elements of lists are
 * copied as texts. This runs in one thread, in the order of the rows, so it does no more than that: the texts of
 * numbers are written later, by the threads that read the frames. */
#include "columns/arrow_frames.h"

#include "base/error.h"
#include "base/mem.h"
#include "columns/arrow_values.h"

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

/* Appends the texts of a list's elements, without nulls and empty ones. */
static furrow_status add_list(frame_part *part, const struct ArrowArray *array, int64_t i, furrow_error *err) {
  const fw_arrow_type *type = &part->leaf->type, *of = &part->leaf->element;
  const struct ArrowArray *child = array->children[0];
  const bool fixed = type->storage == FW_ARROW_FIXED;
  const int64_t begin = fixed ? i * (int64_t)type->width : fw_arrow_offset(type, array, i);
  const int64_t end = fixed ? begin + (int64_t)type->width : fw_arrow_offset(type, array, i + 1);
  const size_t empty = part->text.size;
  if (begin < 0 || end < begin || end > child->length || !fw_arrow_fits(of, child)) return fw_arrow_misfit(err);
  for (int64_t k = begin + child->offset; k < end + child->offset; k++) {
    char value[16] = {0}, written[FW_TYPED_TEXT_BYTES];
    fw_arrow_text text = {written, 0};
    if (fw_arrow_is_null(of, child, k)) continue;
    if (fw_typed_is_bytes(of->type)) {
      if (!fw_arrow_load_text(of, child, k, &text)) return fw_arrow_misfit(err);
    } else {
      fw_arrow_value(of, child, k, value);
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

/* Appends the bytes of a row. */
static furrow_status add_text(frame_part *part, const struct ArrowArray *array, const fw_arrow_type *type, int64_t i,
                              furrow_error *err) {
  fw_arrow_text text = {NULL, 0};
  if (type->type.kind == FW_TYPED_LIST) return add_list(part, array, i, err);
  if (!fw_arrow_load_text(type, array, i, &text)) return fw_arrow_misfit(err);
  fw_buffer_append(&part->text, text.bytes, text.size);
  return FURROW_OK;
}

static furrow_status add_rows(frame_part *part, const fw_arrow_column *in, int64_t from, int64_t count,
                              furrow_error *err) {
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
    bool null = (in->around_count > 0 && fw_arrow_row_is_null(in, from + r)) ||
                fw_arrow_is_null(leaf->dictionary ? &leaf->keys : type, array, i);
    if (!null && leaf->dictionary) {
      i = fw_arrow_int(&leaf->keys, array->buffers[1], i);
      if (i < 0 || i >= values->length) return fw_arrow_misfit(err);
      i += values->offset;
      null = fw_arrow_is_null(type, values, i);
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
      fw_arrow_value(type, values, i, out + width * (size_t)r);
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
  fw_arrow_column *arrays = NULL;
  furrow_status status = FW_ALLOC_ZERO(&arrays, b->count, err);
  if (batch->length < 0 || batch->offset < 0) status = fw_arrow_misfit(err);
  for (size_t i = 0; i < b->count && status == FURROW_OK; i++) {
    const fw_arrow_leaf *leaf = b->parts[i].leaf;
    bool right = fw_arrow_column_find(leaf, batch, &arrays[i]);
    if (right) {
      const struct ArrowArray *array = arrays[i].array;
      right = leaf->dictionary ? array->dictionary && fw_arrow_fits(&leaf->keys, array) &&
                                     fw_arrow_fits(&leaf->type, array->dictionary)
                               : fw_arrow_fits(&leaf->type, array);
    }
    if (!right) status = fw_arrow_misfit(err);
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
