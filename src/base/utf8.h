/* base/utf8.h: characters of UTF-8. */
#ifndef FW_BASE_UTF8_H
#define FW_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Reads the character that starts at s < end and returns its end; NULL when the bytes are not valid UTF-8:
 * truncated, overlong, a surrogate, beyond U+10FFFF. */
const char *fw_utf8_read(const char *s, const char *end, uint32_t *code);
/* Returns the first byte of s … end-1 that is not valid UTF-8; NULL if all are valid. */
const char *fw_utf8_check(const char *s, const char *end);
/* Writes text of Windows-1252, which includes the printable characters of Latin-1, as UTF-8 and returns the number of
 * bytes; `out` has 3 * length. The five bytes that are not assigned stand for control characters, as in browsers. */
size_t fw_utf8_from_windows(const char *text, size_t length, char *out);
/* Writes the 1 … 4 bytes of a character (not a surrogate, at most U+10FFFF) and returns their count. */
size_t fw_utf8_write(char *out, uint32_t code);

#endif
