/* vector/file/index_cursor.c: reads the fields of an index file sequentially, and reports each to a callback. */
#include "vector/file/index_cursor.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"

enum { SHOWN_ELEMENTS = 3, SHOWN_BYTES = 8, SHOWN_CHARS = 64, VALUE_TEXT = 192 };

static const size_t type_bytes[] = {
#define FW_X(name, bytes, text) bytes,
    FW_FIELD_TYPES(FW_X)
#undef FW_X
};
static const char *const type_names[] = {
#define FW_X(name, bytes, text) text,
    FW_FIELD_TYPES(FW_X)
#undef FW_X
};

/* ---- A cursor ------------------------------------------------------------------------------------------- */

void fw_cursor_over_bytes(fw_cursor *c, const void *bytes, uint64_t size, const char *file, furrow_error *err) {
  *c = (fw_cursor){.bytes = bytes, .size = size, .file = file, .field = "", .field_part = "", .err = err};
}

furrow_status fw_cursor_over_file(fw_cursor *c, const fw_input *input, uint64_t size, const char *file,
                                  furrow_error *err) {
  *c = (fw_cursor){.input = input, .size = size, .file = file, .field = "", .field_part = "", .err = err};
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, FW_CURSOR_WINDOW, 1, err);
  c->window = memory;
  return status;
}

void fw_cursor_clear(fw_cursor *c) {
  fw_free(c->window);
  c->window = NULL;
}

/* ---- Failures ------------------------------------------------------------------------------------------- */

/* The path of a field, which is `part` of `name`. Long paths are truncated; they are only used in messages. */
static void field_path(const fw_cursor *c, const char *name, const char *part, char path[2 * FW_CURSOR_PATH]) {
  snprintf(path, 2 * FW_CURSOR_PATH, "%.*s%s%s", (int)c->path_size, c->path, name, part);
}

static void fail_at(fw_cursor *c, furrow_status status, uint64_t offset, const char *field, const char *format,
                    va_list args) {
  if (!fw_cursor_good(c)) return;
  char text[256];
  vsnprintf(text, sizeof text, format, args);
  c->status = fw_fail(c->err, status, "%s%s%s", field, field[0] ? " " : "", text);
  if (!c->err) return;
  c->err->offset = offset;
  if (c->file) fw_error_set_file(c->err, c->file);
}

void fw_cursor_reject(fw_cursor *c, const char *format, ...) {
  char path[2 * FW_CURSOR_PATH];
  field_path(c, c->field, c->field_part, path);
  va_list args;
  va_start(args, format);
  fail_at(c, FURROW_E_FORMAT, c->field_at, path, format, args);
  va_end(args);
}

void fw_cursor_reject_at(fw_cursor *c, uint64_t offset, const char *field, const char *format, ...) {
  char path[2 * FW_CURSOR_PATH];
  field_path(c, field, "", path);
  va_list args;
  va_start(args, format);
  fail_at(c, FURROW_E_FORMAT, offset, path, format, args);
  va_end(args);
}

void fw_cursor_fail(fw_cursor *c, furrow_status status, const char *format, ...) {
  char path[2 * FW_CURSOR_PATH];
  field_path(c, c->field, c->field_part, path);
  va_list args;
  va_start(args, format);
  fail_at(c, status, c->field_at, path, format, args);
  va_end(args);
}

/* ---- Names ---------------------------------------------------------------------------------------------- */

static void extend_path(fw_cursor *c, const char *text, size_t n) {
  size_t avail = sizeof c->path - 1 - c->path_size;
  if (n > avail) n = avail;
  memcpy(c->path + c->path_size, text, n);
  c->path_size += n;
}

size_t fw_cursor_enter(fw_cursor *c, const char *name) {
  size_t mark = c->path_size;
  extend_path(c, name, strlen(name));
  extend_path(c, "/", 1);
  return mark;
}

size_t fw_cursor_enter_item(fw_cursor *c, const char *name, uint64_t number) {
  char text[FW_NUMBER_TEXT + 1];
  size_t mark = *name ? fw_cursor_enter(c, name) : c->path_size;
  size_t n = fw_write_u64(text, number);
  text[n++] = '/';
  extend_path(c, text, n);
  return mark;
}

void fw_cursor_leave(fw_cursor *c, size_t mark) {
  c->path_size = mark;
}

static void name_field(fw_cursor *c, const char *name, const char *part) {
  if (!fw_cursor_good(c)) return;
  c->field_at = c->at;
  c->field = name;
  c->field_part = part;
}

/* ---- Bytes ---------------------------------------------------------------------------------------------- */

static void read_file(fw_cursor *c, void *to, size_t size, uint64_t at) {
  size_t got = 0;
  furrow_status status = fw_input_read_at(c->input, to, size, at, &got, c->err);
  if (status != FURROW_OK)
    c->status = status;
  else if (got < size)
    fw_cursor_fail(c, FURROW_E_IO, "cannot be read: the file became shorter while it was read");
}

static void fill_window(fw_cursor *c) {
  uint64_t left = c->size - c->at;
  c->window_size = left < FW_CURSOR_WINDOW ? (size_t)left : FW_CURSOR_WINDOW;
  c->window_at = c->at;
  read_file(c, c->window, c->window_size, c->at);
}

/* Copies bytes that are known to exist. */
static void copy_bytes(fw_cursor *c, void *to, size_t size) {
  uint8_t *out = to;
  if (c->bytes) {
    if (size) memcpy(out, c->bytes + c->at, size);
    c->at += size;
    return;
  }
  while (size > 0 && fw_cursor_good(c)) {
    bool inside = c->at >= c->window_at && c->at < c->window_at + c->window_size;
    if (!inside && size >= FW_CURSOR_WINDOW) {
      read_file(c, out, size, c->at);
      c->at += size;
      return;
    }
    if (!inside) fill_window(c);
    if (!fw_cursor_good(c)) return;
    size_t skip = (size_t)(c->at - c->window_at), n = c->window_size - skip;
    if (n > size) n = size;
    memcpy(out, c->window + skip, n);
    c->at += n;
    out += n;
    size -= n;
  }
}

/* Whether `size` bytes are left for the current field. */
static bool has_bytes(fw_cursor *c, uint64_t size) {
  if (fw_cursor_good(c) && size > fw_cursor_left(c))
    fw_cursor_reject(c, "needs %" PRIu64 " %s, but the file ends after %" PRIu64, size,
                     fw_plural(size, "byte", "bytes"), fw_cursor_left(c));
  return fw_cursor_good(c);
}

/* ---- The callback --------------------------------------------------------------------------------------- */

static size_t element_text(char *out, fw_field_type type, const uint8_t *at) {
  uint32_t w = 0;
  uint64_t v = 0;
  if (type_bytes[type] == 4) w = fw_get_le32(at);
  if (type_bytes[type] == 8) v = fw_get_le64(at);
  float f;
  double g;
  memcpy(&f, &w, sizeof f);
  memcpy(&g, &v, sizeof g);
  switch (type) {
  case FW_FIELD_I32: return fw_write_i64(out, (int32_t)w);
  case FW_FIELD_U32: return fw_write_u64(out, w);
  case FW_FIELD_I64: return fw_write_i64(out, (int64_t)v);
  case FW_FIELD_U64: return fw_write_u64(out, v);
  case FW_FIELD_F32: return fw_write_f32(out, f);
  case FW_FIELD_F64: return fw_write_f64(out, g);
  case FW_FIELD_BYTES: return (size_t)sprintf(out, "%02x", *at);
  default: return fw_write_u64(out, *at);
  }
}

static size_t chars_text(char *out, const uint8_t *at, uint64_t count) {
  size_t n = 0;
  for (uint64_t i = 0; i < count && i < SHOWN_CHARS; i++) out[n++] = isprint(at[i]) ? (char)at[i] : '?';
  return n;
}

/* Formats the first few elements; `shown` of them are at `at`, in the byte order of the file. */
static void value_text(char *out, fw_field_type type, const uint8_t *at, uint64_t count, uint64_t shown) {
  size_t n = 0;
  if (type == FW_FIELD_FOURCC || type == FW_FIELD_CHARS) {
    n = chars_text(out, at, type == FW_FIELD_FOURCC ? 4 : shown);
  } else {
    for (uint64_t i = 0; i < shown; i++) {
      if (i && type != FW_FIELD_BYTES) out[n++] = ' ';
      n += element_text(out + n, type, at + i * type_bytes[type]);
    }
  }
  strcpy(out + n, shown < count ? " ..." : "");
}

static uint64_t elements_shown(fw_field_type type, uint64_t count) {
  uint64_t most = type == FW_FIELD_BYTES ? SHOWN_BYTES : type == FW_FIELD_CHARS ? SHOWN_CHARS : SHOWN_ELEMENTS;
  return count < most ? count : most;
}

/* Reports the current field: `count` elements, the first of them at `bytes`. */
static void report_field(fw_cursor *c, fw_field_type type, uint64_t count, const uint8_t *bytes, const char *meaning) {
  if (!c->on_field || !fw_cursor_good(c) || count == 0) return;
  char value[VALUE_TEXT], path[2 * FW_CURSOR_PATH];
  field_path(c, c->field, c->field_part, path);
  value_text(value, type, bytes, count, elements_shown(type, count));
  furrow_index_field field = {.offset = c->field_at,
                              .size = count * type_bytes[type],
                              .path = path,
                              .type = type_names[type],
                              .count = count,
                              .value = value,
                              .meaning = meaning};
  c->status = c->on_field(c->user, &field);
}

/* ---- Single values -------------------------------------------------------------------------------------- */

/* Reads the bytes of the current field without reporting it. */
static void take_quietly(fw_cursor *c, fw_field_type type, uint8_t *bytes) {
  if (has_bytes(c, type_bytes[type])) copy_bytes(c, bytes, type_bytes[type]);
  if (!fw_cursor_good(c)) memset(bytes, 0, type_bytes[type]);
}

static void take_named(fw_cursor *c, fw_field_type type, const char *meaning, uint8_t *bytes) {
  take_quietly(c, type, bytes);
  report_field(c, type, 1, bytes, meaning);
  if (!fw_cursor_good(c)) memset(bytes, 0, type_bytes[type]);
}

static void take_field(fw_cursor *c, const char *name, fw_field_type type, const char *meaning, uint8_t *bytes) {
  name_field(c, name, "");
  take_named(c, type, meaning, bytes);
}

void fw_cursor_read_fourcc(fw_cursor *c, const char *name, const char *(*explain)(const char *fourcc), char fourcc[4]) {
  uint8_t bytes[4] = {0};
  name_field(c, name, "");
  take_quietly(c, FW_FIELD_FOURCC, bytes);
  memcpy(fourcc, bytes, 4);
  const char *meaning = explain(fourcc);
  report_field(c, FW_FIELD_FOURCC, 1, bytes, meaning ? meaning : "unknown");
}

int32_t fw_cursor_read_enum(fw_cursor *c, const char *name, const char *(*explain)(int32_t value)) {
  uint8_t bytes[4] = {0};
  name_field(c, name, "");
  take_quietly(c, FW_FIELD_I32, bytes);
  int32_t value = (int32_t)fw_get_le32(bytes);
  const char *meaning = explain(value);
  report_field(c, FW_FIELD_I32, 1, bytes, meaning ? meaning : "unknown");
  return value;
}

uint8_t fw_cursor_read_u8(fw_cursor *c, const char *name, const char *meaning) {
  uint8_t byte = 0;
  take_field(c, name, FW_FIELD_U8, meaning, &byte);
  return byte;
}

bool fw_cursor_read_bool(fw_cursor *c, const char *name, const char *meaning) {
  uint8_t byte = 0;
  take_field(c, name, FW_FIELD_BOOL, meaning, &byte);
  if (byte > 1) fw_cursor_reject(c, "is %u, which is neither 0 nor 1", byte);
  return byte == 1;
}

static uint32_t take_word(fw_cursor *c, const char *name, fw_field_type type, const char *meaning) {
  uint8_t bytes[4] = {0};
  take_field(c, name, type, meaning, bytes);
  return fw_get_le32(bytes);
}

int32_t fw_cursor_read_i32(fw_cursor *c, const char *name, const char *meaning) {
  return (int32_t)take_word(c, name, FW_FIELD_I32, meaning);
}

uint32_t fw_cursor_read_u32(fw_cursor *c, const char *name, const char *meaning) {
  return take_word(c, name, FW_FIELD_U32, meaning);
}

float fw_cursor_read_f32(fw_cursor *c, const char *name, const char *meaning) {
  uint32_t word = take_word(c, name, FW_FIELD_F32, meaning);
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static uint64_t take_long(fw_cursor *c, const char *name, fw_field_type type, const char *meaning) {
  uint8_t bytes[8] = {0};
  take_field(c, name, type, meaning, bytes);
  return fw_get_le64(bytes);
}

int64_t fw_cursor_read_i64(fw_cursor *c, const char *name, const char *meaning) {
  return (int64_t)take_long(c, name, FW_FIELD_I64, meaning);
}

uint64_t fw_cursor_read_u64(fw_cursor *c, const char *name, const char *meaning) {
  return take_long(c, name, FW_FIELD_U64, meaning);
}

/* ---- Arrays --------------------------------------------------------------------------------------------- */

size_t fw_cursor_read_count(fw_cursor *c, const char *name, size_t size, uint64_t expected) {
  uint8_t bytes[8] = {0};
  name_field(c, name, "/count");
  take_named(c, FW_FIELD_U64, "elements that follow", bytes);
  uint64_t count = fw_get_le64(bytes);
  if (!fw_cursor_good(c)) return 0;
  if (expected != FW_ANY_COUNT && count != expected)
    fw_cursor_reject(c, "is %" PRIu64 ", but must be %" PRIu64, count, expected);
  else if (count > fw_cursor_left(c) / size)
    fw_cursor_reject(c, "is %" PRIu64 ", but only %" PRIu64 " %s left in the file", count, fw_cursor_left(c),
                     fw_plural(fw_cursor_left(c), "byte is", "bytes are"));
  return fw_cursor_good(c) ? (size_t)count : 0;
}

void *fw_cursor_alloc(fw_cursor *c, size_t count, size_t size) {
  if (!fw_cursor_good(c)) return NULL;
  void *memory = NULL;
  c->status = fw_alloc(&memory, count, size, c->err);
  if (memory) fw_prefer_large_pages(memory, count * size);
  return memory;
}

void fw_cursor_read_raw(fw_cursor *c, const char *name, fw_field_type type, void *elements, size_t count,
                        const char *meaning) {
  name_field(c, name, "");
  uint64_t left = fw_cursor_left(c);
  if (fw_cursor_good(c) && count > left / type_bytes[type])
    fw_cursor_reject(c, "has %zu %s of %zu %s, but the file ends after %" PRIu64, count,
                     fw_plural(count, "element", "elements"), type_bytes[type],
                     fw_plural(type_bytes[type], "byte", "bytes"), left);
  if (!fw_cursor_good(c)) return;
  copy_bytes(c, elements, count * type_bytes[type]);
  report_field(c, type, count, elements, meaning);
}

void fw_cursor_read_elements(fw_cursor *c, const char *name, fw_field_type type, void *elements, size_t count,
                             const char *meaning) {
  fw_cursor_read_raw(c, name, type, elements, count, meaning);
  if (fw_cursor_good(c)) fw_swap_le(elements, type_bytes[type], count);
}

void *fw_cursor_read_vector(fw_cursor *c, const char *name, fw_field_type type, uint64_t expected, size_t *count,
                            const char *meaning) {
  size_t n = fw_cursor_read_count(c, name, type_bytes[type], expected);
  void *elements = fw_cursor_alloc(c, n, type_bytes[type]);
  if (elements) fw_cursor_read_elements(c, name, type, elements, n, meaning);
  if (!fw_cursor_good(c)) {
    fw_free(elements);
    elements = NULL;
    n = 0;
  }
  if (count) *count = n;
  return elements;
}

void fw_cursor_read_chunks(fw_cursor *c, const char *name, size_t size, size_t piece, uint8_t *buffer,
                           fw_chunk_consumer give, void *context, const char *meaning) {
  name_field(c, name, "");
  if (!has_bytes(c, size)) return;
  for (size_t at = 0; at < size && fw_cursor_good(c); at += piece) {
    const size_t here = size - at < piece ? size - at : piece;
    copy_bytes(c, buffer, here);
    if (at == 0) report_field(c, FW_FIELD_BYTES, size, buffer, meaning);
    if (fw_cursor_good(c)) give(context, buffer, here);
  }
}

const uint8_t *fw_cursor_view(fw_cursor *c, const char *name, fw_field_type type, size_t count, const char *meaning) {
  name_field(c, name, "");
  size_t bytes = 0;
  if (fw_cursor_good(c) && !fw_size_mul(count, type_bytes[type], &bytes)) bytes = SIZE_MAX;
  if (!has_bytes(c, bytes)) return NULL;
  const uint8_t *view = c->bytes + c->at;
  report_field(c, type, count, view, meaning);
  c->at += bytes;
  return view;
}

void fw_cursor_skip(fw_cursor *c, const char *name, fw_field_type type, uint64_t count, const char *meaning) {
  name_field(c, name, "");
  if (!has_bytes(c, count * type_bytes[type])) return;
  uint8_t head[SHOWN_CHARS] = {0};
  uint64_t end = c->at + count * type_bytes[type];
  copy_bytes(c, head, (size_t)elements_shown(type, count) * type_bytes[type]);
  report_field(c, type, count, head, meaning);
  if (fw_cursor_good(c)) c->at = end;
}
