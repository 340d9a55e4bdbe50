/* cli/core/shown_text.c: text of files as a terminal may show it; messages on stderr. */
#include "core/shown_text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t utf8_length(const char *text, size_t size) {
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return 1;
  size_t n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
  if (n > size) return 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0; /* too long, surrogate */
  if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0; /* too long, too large */
  return n;
}

/* Of one to three bytes; U+FFFF for longer ones, none of which is a control. */
static uint32_t code_point(const char *text, size_t length) {
  const unsigned char *s = (const unsigned char *)text;
  if (length == 1) return s[0];
  if (length == 2) return (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
  if (length == 3) return (uint32_t)(s[0] & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
  return 0xffff;
}

bool is_control(const char *text, size_t length) {
  const uint32_t c = code_point(text, length);
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Number of bytes at the start of text that can be shown as they are. */
static size_t shown_prefix(const char *text, size_t size) {
  size_t at = 0;
  while (at < size) {
    const size_t n = utf8_length(text + at, size - at);
    if (n == 0 || (is_control(text + at, n) && text[at] != '\n' && text[at] != '\t')) break;
    at += n;
  }
  return at;
}

size_t shown_escape(char escape[SHOWN_ESCAPE], const char *text, size_t size) {
  const size_t n = utf8_length(text, size);
  if (n <= 1)
    snprintf(escape, SHOWN_ESCAPE, "\\x%02x", (unsigned char)*text);
  else
    snprintf(escape, SHOWN_ESCAPE, "\\u%04x", (unsigned)code_point(text, n));
  return n ? n : 1;
}

void shown_pieces(const char *text, size_t size, void (*put)(void *to, const char *bytes, size_t size), void *to) {
  for (size_t at = 0; at < size;) {
    char escape[SHOWN_ESCAPE];
    const size_t plain = shown_prefix(text + at, size - at);
    put(to, text + at, plain);
    at += plain;
    if (at == size) return;
    at += shown_escape(escape, text + at, size - at);
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
