/* base/buffer.c: a byte buffer that grows at its end. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"

/* Always leaves space for a 0 after the bytes. */
char *fw_buffer_enlarge(fw_buffer *buffer, size_t size) {
  size_t wanted;
  if (buffer->missing) return NULL;
  if (!fw_size_add(buffer->size, size, &wanted) || !fw_size_add(wanted, 1, &wanted)) wanted = SIZE_MAX;
  void *memory = buffer->bytes;
  if (wanted < SIZE_MAX && fw_grow(&memory, &buffer->capacity, wanted, 1, NULL) == FURROW_OK) {
    buffer->bytes = memory;
    return buffer->bytes + buffer->size;
  }
  buffer->missing = wanted;
  return NULL;
}

void fw_buffer_format(fw_buffer *buffer, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int n = vsnprintf(NULL, 0, format, args);
  char *to = n > 0 ? fw_buffer_reserve(buffer, (size_t)n) : NULL;
  if (to) {
    vsnprintf(to, (size_t)n + 1, format, again);
    buffer->size += (size_t)n;
  }
  va_end(again);
  va_end(args);
}

void fw_buffer_i64(fw_buffer *buffer, int64_t value) {
  char text[FW_NUMBER_TEXT];
  fw_buffer_append(buffer, text, fw_write_i64(text, value));
}

/* Returns the escape of a byte in a JSON string; NULL if the byte stands for itself. */
static const char *json_escape(unsigned char byte, bool slashes, char code[7]) {
  static const char hex[] = "0123456789abcdef";
  switch (byte) {
  case '"': return "\\\"";
  case '\\': return "\\\\";
  case '/': return slashes ? "\\/" : NULL;
  case '\b': return "\\b";
  case '\t': return "\\t";
  case '\n': return "\\n";
  case '\f': return "\\f";
  case '\r': return "\\r";
  default: break;
  }
  if (byte >= ' ') return NULL;
  memcpy(code, "\\u00", 4);
  code[4] = hex[byte >> 4];
  code[5] = hex[byte & 15];
  code[6] = 0;
  return code;
}

void fw_buffer_json_string(fw_buffer *buffer, const char *text, size_t size, bool slashes) {
  size_t plain = 0; /* bytes from here on are copied unchanged */
  fw_buffer_byte(buffer, '"');
  for (size_t i = 0; i < size; i++) {
    char code[7];
    const char *escape = json_escape((unsigned char)text[i], slashes, code);
    if (!escape) continue;
    fw_buffer_append(buffer, text + plain, i - plain);
    fw_buffer_text(buffer, escape);
    plain = i + 1;
  }
  fw_buffer_append(buffer, text + plain, size - plain);
  fw_buffer_byte(buffer, '"');
}

furrow_status fw_buffer_status(const fw_buffer *buffer, furrow_error *err) {
  return buffer->missing ? fw_fail_memory(err, buffer->missing) : FURROW_OK;
}

furrow_status fw_buffer_take(fw_buffer *buffer, char **bytes, size_t *size, furrow_error *err) {
  if (!buffer->bytes) fw_buffer_enlarge(buffer, 0);
  FW_TRY(fw_buffer_status(buffer, err));
  buffer->bytes[buffer->size] = 0;
  *bytes = buffer->bytes;
  if (size) *size = buffer->size;
  *buffer = (fw_buffer){0};
  return FURROW_OK;
}

void fw_buffer_reset(fw_buffer *buffer) {
  buffer->size = 0;
  buffer->missing = 0;
}

void fw_buffer_clear(fw_buffer *buffer) {
  fw_free(buffer->bytes);
  *buffer = (fw_buffer){0};
}
