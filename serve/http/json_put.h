/* serve/http/bytes.h: bytes that grow at their end: bodies, answers, texts and numbers in them. */
#ifndef SERVE_HTTP_BYTES_H
#define SERVE_HTTP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Start with {0}. When memory is short, `failed` is set and nothing more is added: ask once, at the end. */
typedef struct bytes {
  char *data;
  size_t size, capacity;
  bool failed;
} bytes;

/* Frees the memory; reusable afterwards. */
void bytes_clear(bytes *b);
/* Makes it empty; keeps the memory unless it is more than `keep` bytes. */
void bytes_reset(bytes *b, size_t keep);
/* bytes_reserve where the memory has to grow. */
char *bytes_enlarge(bytes *b, size_t size);
/* Returns space for `size` more bytes, which count after bytes_grow; NULL: out of memory. */
static inline char *bytes_reserve(bytes *b, size_t size) {
  return !b->failed && size <= b->capacity - b->size ? b->data + b->size : bytes_enlarge(b, size);
}
static inline void bytes_grow(bytes *b, size_t size) {
  b->size += size;
}

/* Inline: what is added is nearly always short and of a known length. */
static inline void bytes_add(bytes *b, const void *data, size_t size) {
  char *to = size > 0 ? bytes_reserve(b, size) : NULL;
  if (!to) return;
  memcpy(to, data, size);
  b->size += size;
}
static inline void bytes_text(bytes *b, const char *text) {
  bytes_add(b, text, strlen(text));
}
void bytes_format(bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Numbers as JSON has them: the fewest digits that read back to the same bits; what is not finite is null. */
void bytes_i64(bytes *b, int64_t value);
void bytes_u64(bytes *b, uint64_t value);
void bytes_f32(bytes *b, float value);
void bytes_f64(bytes *b, double value);
/* A JSON string in quotes; invalid UTF-8 is replaced by U+FFFD. */
void bytes_json(bytes *b, const char *text, size_t size);
/* The bytes of the UTF-8 character at `at`, of which `left` (not 0) are there; 0: it is not valid. */
size_t bytes_utf8_length(const unsigned char *at, size_t left);

#endif
