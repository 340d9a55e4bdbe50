/* base/buffer.h: bytes that grow at their end.
 *
 * Appending does not report: when memory runs out the buffer remembers it, ignores what follows, and says so when its
 * bytes are taken. So a text of many small pieces is written without a check behind each. */
#ifndef FW_BASE_BUFFER_H
#define FW_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "furrow/status.h"

/* The caller's struct; all zeros is an empty buffer. Read the fields, change them through the functions. */
typedef struct fw_buffer {
  char *bytes; /* NULL as long as nothing was appended */
  size_t size, capacity;
  size_t missing; /* > 0: memory ran out when so many bytes were wanted */
} fw_buffer;

/* fw_buffer_reserve where the memory has to grow. */
char *fw_buffer_enlarge(fw_buffer *buffer, size_t size);
/* Returns the place after the bytes, where `size` more can be written; fw_buffer_advance counts them. NULL: out of
 * memory, now or before. */
static inline char *fw_buffer_reserve(fw_buffer *buffer, size_t size) {
  return !buffer->missing && size < buffer->capacity - buffer->size ? buffer->bytes + buffer->size
                                                                    : fw_buffer_enlarge(buffer, size);
}
static inline void fw_buffer_advance(fw_buffer *buffer, size_t size) {
  buffer->size += size;
}

/* Inline: what is appended is nearly always short and of a known length. */
static inline void fw_buffer_append(fw_buffer *buffer, const void *bytes, size_t size) {
  char *to = size > 0 ? fw_buffer_reserve(buffer, size) : NULL;
  if (!to) return;
  memcpy(to, bytes, size);
  buffer->size += size;
}
static inline void fw_buffer_text(fw_buffer *buffer, const char *text) {
  fw_buffer_append(buffer, text, strlen(text));
}
static inline void fw_buffer_byte(fw_buffer *buffer, char byte) {
  fw_buffer_append(buffer, &byte, 1);
}
/* As printf does. */
void fw_buffer_format(fw_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Decimal. */
void fw_buffer_i64(fw_buffer *buffer, int64_t value);
/* A string of JSON with its quotes: " and \ escaped, control characters as \n or \u001f, other bytes as they are.
 * `slashes`: / is written \/, as Java's jettison does. */
void fw_buffer_json_string(fw_buffer *buffer, const char *text, size_t size, bool slashes);

/* E_MEMORY if something could not be appended. */
furrow_status fw_buffer_status(const fw_buffer *buffer, furrow_error *err) FURROW_MUST_USE;
/* Gives the bytes away, with a 0 behind them that does not count (fw_free them); the buffer is empty again. Fails as
 * fw_buffer_status does; then the buffer stays as it is. size may be NULL. */
furrow_status fw_buffer_take(fw_buffer *buffer, char **bytes, size_t *size, furrow_error *err) FURROW_MUST_USE;
/* Forgets the bytes, keeps the memory. */
void fw_buffer_reset(fw_buffer *buffer);
/* Frees; all zeros afterwards. */
void fw_buffer_clear(fw_buffer *buffer);

#endif
