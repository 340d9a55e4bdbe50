/* columns/frames.c: frames are read. */
#include "columns/frames.h"

#include "base/error.h"

enum { BATCH_HEAD = 24, COLUMN_HEAD = 16, LEAST_HEAD = 16 };

static furrow_status damaged(furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "a batch of columns is damaged");
}

bool fw_typed_type_unpack(uint32_t packed, fw_typed_type *type) {
  *type = (fw_typed_type){(uint8_t)packed, (int8_t)(uint8_t)(packed >> 8), (uint8_t)(packed >> 16)};
  if (type->kind >= FW_TYPED_KINDS || packed >> 24 || type->zoned > 1) return false;
  if (type->kind == FW_TYPED_DECIMAL) return true;
  const bool time = type->kind == FW_TYPED_TIME || type->kind == FW_TYPED_TIMESTAMP;
  return time ? type->digits >= 0 && type->digits <= 9 && type->digits % 3 == 0 : type->digits == 0;
}

/* ---- The head ------------------------------------------------------------------------------------------- */

bool fw_frames_begin(const char *bytes, size_t size) {
  return size >= 8 && memcmp(bytes, FW_FRAMES_MAGIC, 8) == 0;
}

furrow_status fw_frames_head(const char *bytes, size_t length, size_t *size, uint32_t *columns, furrow_error *err) {
  if (!fw_frames_begin(bytes, length) || length < LEAST_HEAD) return damaged(err);
  const size_t whole = fw_frame_u32(bytes + 8);
  const uint32_t count = fw_frame_u32(bytes + 12);
  if (whole > length || whole < LEAST_HEAD || whole % 8) return damaged(err);
  size_t at = FW_FRAMES_NAMES;
  for (uint32_t i = 0; i < count; i++) {
    if (whole - at < 4 || whole - at - 4 < fw_frame_u32(bytes + at)) return damaged(err);
    at += 4 + fw_frame_u32(bytes + at);
  }
  *size = whole;
  *columns = count;
  return FURROW_OK;
}

const char *fw_frames_name(const char *bytes, size_t *at, size_t *length) {
  const char *name = bytes + *at + 4;
  *length = fw_frame_u32(bytes + *at);
  *at += 4 + *length;
  return name;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

/* Each row has its own number: a reader finds its way by them. */
static bool check_numbers(const fw_frame *frame) {
  bool right = true;
  for (uint32_t i = 0; i < frame->rows; i++) right &= fw_frame_u32(frame->bytes + fw_frame_row_at(i)) == i;
  return right;
}

furrow_status fw_frame_find(fw_frame *frame, uint32_t *row, const char *bytes, size_t length, size_t at,
                            furrow_error *err) {
  if (length - at < 4) return damaged(err);
  const uint32_t first = fw_frame_u32(bytes + at);
  const uint32_t number = first == FW_FRAME_MAGIC ? 0 : first;
  const size_t before = first == FW_FRAME_MAGIC ? 0 : fw_frame_row_at(number);
  if (number >= FW_FRAME_ROWS || before > at) return damaged(err);
  const char *begin = bytes + at - before;
  const size_t left = length - (at - before);
  if (left < BATCH_HEAD || fw_frame_u32(begin) != FW_FRAME_MAGIC) return damaged(err);
  fw_frame f = {.bytes = begin, .size = fw_frame_u32(begin + 4)};
  f.rows = fw_frame_u32(begin + 8);
  f.columns = fw_frame_u32(begin + 12);
  memcpy(&f.first_row, begin + 16, 8);
  if (f.size > left || f.size % 8 || f.rows > FW_FRAME_ROWS || number >= f.rows) return damaged(err);
  f.values = fw_frame_padded(fw_frame_row_at(f.rows));
  if (f.values > f.size || !check_numbers(&f)) return damaged(err);
  *frame = f;
  *row = number;
  return FURROW_OK;
}

/* The last end must not be after the text, and no end before the end of the previous row. */
static bool check_ends(const char *ends, uint32_t rows, size_t text_size) {
  uint32_t before = 0;
  bool right = true;
  for (uint32_t i = 0; i < rows; i++) {
    const uint32_t end = fw_frame_u32(ends + 4 * (size_t)i);
    right &= end >= before;
    before = end;
  }
  return right && before <= text_size;
}

furrow_status fw_frame_next_column(const fw_frame *frame, size_t *at, fw_frame_column *column, furrow_error *err) {
  const char *head = frame->bytes + *at;
  const size_t left = frame->size - *at, rows = frame->rows;
  uint64_t size;
  fw_frame_column c = {0};
  if (left < COLUMN_HEAD) return damaged(err);
  memcpy(&size, head + 8, 8);
  c.number = fw_frame_u32(head);
  if (size > left - COLUMN_HEAD || size % 8 || !fw_typed_type_unpack(fw_frame_u32(head + 4), &c.type))
    return damaged(err);
  const size_t valid = fw_frame_padded(rows);
  const bool bytes = fw_typed_is_bytes(c.type);
  const size_t fixed = fw_frame_padded(rows * (bytes ? 4 : fw_typed_width(c.type)));
  if (size < valid + fixed) return damaged(err);
  c.valid = (const unsigned char *)head + COLUMN_HEAD;
  c.values = head + COLUMN_HEAD + valid;
  c.text = c.values + fixed;
  c.text_size = (size_t)size - valid - fixed;
  if (bytes && !check_ends(c.values, frame->rows, c.text_size)) return damaged(err);
  *at += COLUMN_HEAD + (size_t)size;
  *column = c;
  return FURROW_OK;
}

size_t fw_frames_cut(const void *state, const char *bytes, size_t length, uint64_t offset) {
  size_t at = 0;
  (void)state;
  while (length - at >= LEAST_HEAD) {
    const bool head = at == 0 && offset == 0 && fw_frames_begin(bytes, length);
    const size_t size = fw_frame_u32(bytes + at + (head ? 8 : 4));
    if (size < LEAST_HEAD || size > length - at) break;
    at += size;
  }
  return at;
}
