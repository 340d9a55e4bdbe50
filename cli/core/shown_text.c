/* cli/core/shown_text.c: text of files as a terminal may show it; messages on stderr. */
#include "core/shown_text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { SHOWN_ESCAPE = 8 }; /* \x1b or \u202e and the terminating 0 */

bool is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Number of bytes at the start of text that can be shown as they are. */
static size_t shown_prefix(const char *text, size_t size) {
  const char *at = text, *end = text + size;
  while (at < end) {
    uint32_t code;
    const char *next = fw_utf8_read(at, end, &code);
    if (!next || (is_control(code) && code != '\n' && code != '\t')) break;
    at = next;
  }
  return (size_t)(at - text);
}

/* The escape of the control at text, or of its first byte; returns the number of bytes that it stands for. */
static size_t escape_control(char escape[SHOWN_ESCAPE], const char *text, size_t size) {
  uint32_t code;
  const char *next = fw_utf8_read(text, text + size, &code);
  if (!next || code < 0x80)
    snprintf(escape, SHOWN_ESCAPE, "\\x%02x", (unsigned char)*text);
  else
    snprintf(escape, SHOWN_ESCAPE, "\\u%04x", (unsigned)(code & 0xffff)); /* controls have no more bits */
  return next ? (size_t)(next - text) : 1;
}

void shown_pieces(const char *text, size_t size, void (*put)(void *to, const char *bytes, size_t size), void *to) {
  for (size_t at = 0; at < size;) {
    char escape[SHOWN_ESCAPE];
    const size_t plain = shown_prefix(text + at, size - at);
    put(to, text + at, plain);
    at += plain;
    if (at == size) return;
    at += escape_control(escape, text + at, size - at);
    put(to, escape, strlen(escape));
  }
}

static void put_stream(void *stream, const char *bytes, size_t size) {
  fwrite(bytes, 1, size, stream);
}

void say(const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const size_t size = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
  flockfile(stderr);
  shown_pieces(text, size, put_stream, stderr);
  funlockfile(stderr);
}
