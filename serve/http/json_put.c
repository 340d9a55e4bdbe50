/* serve/http/bytes.c: bytes that grow at their end. */
#include "http/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "furrow/json.h"
#include "furrow/model.h"

void bytes_clear(bytes *b) {
  free(b->data);
  *b = (bytes){0};
}

void bytes_reset(bytes *b, size_t keep) {
  if (b->capacity > keep)
    bytes_clear(b);
  else
    b->size = 0;
  b->failed = false;
}

char *bytes_enlarge(bytes *b, size_t size) {
  if (b->failed) return NULL;
  size_t capacity = b->capacity < 256 ? 256 : b->capacity;
  while (capacity - b->size < size && capacity <= SIZE_MAX / 2) capacity *= 2;
  char *data = capacity - b->size < size ? NULL : realloc(b->data, capacity);
  if (!data) {
    b->failed = true;
    return NULL;
  }
  b->data = data;
  b->capacity = capacity;
  return b->data + b->size;
}

void bytes_format(bytes *b, const char *format, ...) {
  va_list arguments;
  char text[512];
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < (int)sizeof text) {
    bytes_add(b, text, length > 0 ? (size_t)length : 0);
    return;
  }
  char *to = bytes_reserve(b, (size_t)length + 1);
  if (!to) return;
  va_start(arguments, format);
  vsnprintf(to, (size_t)length + 1, format, arguments);
  va_end(arguments);
  b->size += (size_t)length;
}

static void add_element(bytes *b, furrow_elements element, furrow_element_type type) {
  char *to = bytes_reserve(b, FURROW_ELEMENT_TEXT);
  if (to) b->size += furrow_element_to_text(element, type, 0, to);
}

void bytes_i64(bytes *b, int64_t value) {
  add_element(b, (furrow_elements){.i64 = &value}, FURROW_ELEMENT_I64);
}

void bytes_u64(bytes *b, uint64_t value) {
  if (value <= INT64_MAX)
    bytes_i64(b, (int64_t)value);
  else
    bytes_format(b, "%llu", (unsigned long long)value);
}

void bytes_f32(bytes *b, float value) {
  char *to = bytes_reserve(b, FURROW_JSON_NUMBER_TEXT);
  if (to) b->size += furrow_json_write_f32(to, value);
}

void bytes_f64(bytes *b, double value) {
  char *to = bytes_reserve(b, FURROW_JSON_NUMBER_TEXT);
  if (to) b->size += furrow_json_write_f64(to, value);
}

size_t bytes_utf8_length(const unsigned char *at, size_t left) {
  const unsigned char first = at[0];
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first < 0xe0                  ? 0
                        : first < 0xf0                  ? 3
                        : first < 0xf5                  ? 4
                                                        : 0;
  if (length == 0 || length > left) return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80) return 0;
  if (length < 3) return length;
  const unsigned char second = at[1];
  const bool is_valid = !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f) &&
                        !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
  return is_valid ? length : 0;
}

void bytes_json(bytes *b, const char *text, size_t size) {
  bytes_add(b, "\"", 1);
  size_t begun = 0;
  for (size_t i = 0; i < size;) {
    const unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') { /* nearly all: nothing to look at */
      i++;
      continue;
    }
    const size_t length = bytes_utf8_length((const unsigned char *)text + i, size - i);
    if (c >= 0x80 && length > 0) {
      i += length;
      continue;
    }
    bytes_add(b, text + begun, i - begun);
    if (length == 0)
      bytes_add(b, "\xef\xbf\xbd", 3);
    else if (c < 0x20)
      bytes_format(b, "\\u%04x", c);
    else
      bytes_add(b, (const char[]){'\\', (char)c}, 2);
    begun = ++i;
  }
  bytes_add(b, text + begun, size - begun);
  bytes_add(b, "\"", 1);
}
