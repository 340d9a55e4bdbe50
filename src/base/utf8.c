/* base/utf8.c: characters of UTF-8. */
#include "base/utf8.h"

#include <string.h>

/* The number of bytes of a character that starts with `first`, and the bits of its code in that byte; 0 if none can. */
static int length_of(unsigned char first, uint32_t *code) {
  if (first < 0x80) return *code = first, 1;
  if (first >= 0xc2 && first < 0xe0) return *code = first & 0x1f, 2;
  if (first >= 0xe0 && first < 0xf0) return *code = first & 0x0f, 3;
  if (first >= 0xf0 && first < 0xf5) return *code = first & 0x07, 4;
  return 0;
}

const char *fw_utf8_read(const char *s, const char *end, uint32_t *code) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t value = 0;
  const int length = length_of((unsigned char)*s, &value);
  if (length == 0 || end - s < length) return NULL;
  for (int i = 1; i < length; i++) {
    const unsigned char byte = (unsigned char)s[i];
    if ((byte & 0xc0) != 0x80) return NULL;
    value = value << 6 | (byte & 0x3f);
  }
  if (value < least[length] || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff) return NULL;
  *code = value;
  return s + length;
}

const char *fw_utf8_check(const char *s, const char *end) {
  uint32_t code;
  while (s < end) {
    uint64_t eight;
    while (end - s >= 8 && (memcpy(&eight, s, 8), (eight & 0x8080808080808080u) == 0)) s += 8;
    if (s == end) break;
    if ((unsigned char)*s < 0x80) {
      s++;
      continue;
    }
    const char *next = fw_utf8_read(s, end, &code);
    if (!next) return s;
    s = next;
  }
  return NULL;
}

size_t fw_utf8_from_windows(const char *text, size_t length, char *out) {
  static const uint16_t codes[32] = {/* of the bytes 0x80 … 0x9f */
                                     0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                     0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                     0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                     0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};
  char *to = out;
  for (size_t i = 0; i < length; i++) {
    const unsigned char byte = (unsigned char)text[i];
    to += fw_utf8_write(to, byte >= 0x80 && byte < 0xa0 ? codes[byte - 0x80] : byte);
  }
  return (size_t)(to - out);
}

size_t fw_utf8_write(char *out, uint32_t code) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char marks[5] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(marks[length] | code);
  return length;
}
