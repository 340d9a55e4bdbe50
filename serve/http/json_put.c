/* serve/http/json_put.c: JSON into a buffer. */
#include "http/json_put.h"

#include "base/number_out.h"
#include "base/utf8.h"
#include "furrow/json.h"

void buffer_recycle(fw_buffer *b, size_t keep) {
  if (b->capacity > keep)
    fw_buffer_clear(b);
  else
    fw_buffer_reset(b);
}

void json_put_u64(fw_buffer *b, uint64_t value) {
  char *to = fw_buffer_reserve(b, FW_NUMBER_TEXT);
  if (to) fw_buffer_advance(b, fw_write_u64(to, value));
}

void json_put_f32(fw_buffer *b, float value) {
  char *to = fw_buffer_reserve(b, FURROW_JSON_NUMBER_TEXT);
  if (to) fw_buffer_advance(b, furrow_json_write_f32(to, value));
}

void json_put_f64(fw_buffer *b, double value) {
  char *to = fw_buffer_reserve(b, FURROW_JSON_NUMBER_TEXT);
  if (to) fw_buffer_advance(b, furrow_json_write_f64(to, value));
}

void json_put_text(fw_buffer *b, const char *text, size_t size) {
  fw_buffer_append(b, "\"", 1);
  size_t begun = 0;
  for (size_t i = 0; i < size;) {
    const unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') { /* nearly all: nothing to look at */
      i++;
      continue;
    }
    uint32_t code;
    const char *next = fw_utf8_read(text + i, text + size, &code);
    if (c >= 0x80 && next) {
      i = (size_t)(next - text);
      continue;
    }
    fw_buffer_append(b, text + begun, i - begun);
    if (!next)
      fw_buffer_append(b, "\xef\xbf\xbd", 3);
    else if (c < 0x20)
      fw_buffer_format(b, "\\u%04x", c);
    else
      fw_buffer_append(b, (const char[]){'\\', (char)c}, 2);
    begun = ++i;
  }
  fw_buffer_append(b, text + begun, size - begun);
  fw_buffer_append(b, "\"", 1);
}
