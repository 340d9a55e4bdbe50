/* base/buffer.h: a byte buffer that grows at its end.
 *
 * Appending does not report errors: when memory runs out, the buffer remembers it, ignores all later appends, and
 * reports the failure when its bytes are taken. So a text of many small pieces is written without a check after
 * each. */
#ifndef FW_BASE_BUFFER_H
#define FW_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "furrow/status.h"

/* The caller's struct; all zeros is an empty buffer. Callers read the fields and change them only through the
 * functions. */
typedef struct fw_buffer {
  char *bytes; /* NULL until something was appended */
  size_t size, capacity;
  size_t missing; /* > 0: memory ran out when this many bytes were requested */
} fw_buffer;

/* The slow path of fw_buffer_reserve: enlarges the memory. */
char *fw_buffer_enlarge(fw_buffer *buffer, size_t size);
/* Returns the address after the bytes, where `size` more can be written; fw_buffer_advance then counts them. NULL: out
 * of memory, now or in an earlier call. */
static inline char *fw_buffer_reserve(fw_buffer *buffer, size_t size) {
  return !buffer->missing && size < buffer->capacity - buffer->size ? buffer->bytes + buffer->size
                                                                    : fw_buffer_enlarge(buffer, size);
}
static inline void fw_buffer_advance(fw_buffer *buffer, size_t size) {
  buffer->size += size;
}

/* Inline, because most appended texts are short and have a constant length. */
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
/* Appends formatted text, as printf does. */
void fw_buffer_format(fw_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends a number in decimal. */
void fw_buffer_i64(fw_buffer *buffer, int64_t value);
/* Appends a JSON string with its quotes: " and \ are escaped, control characters become \n or \u001f, other bytes
 * are copied. `slashes`: / is written as \/, as Java's jettison does. */
void fw_buffer_json_string(fw_buffer *buffer, const char *text, size_t size, bool slashes);

/* Returns E_MEMORY if an append failed. */
furrow_status fw_buffer_status(const fw_buffer *buffer, furrow_error *err) FURROW_MUST_USE;
/* Moves the bytes to the caller, who frees them with fw_free; the buffer is empty afterwards. A 0 follows the bytes
 * and is not part of *size. Fails as fw_buffer_status does, and then the buffer is unchanged. size may be NULL. */
furrow_status fw_buffer_take(fw_buffer *buffer, char **bytes, size_t *size, furrow_error *err) FURROW_MUST_USE;
/* Removes the bytes and keeps the memory. */
void fw_buffer_reset(fw_buffer *buffer);
/* Frees the memory; the struct is all zeros afterwards. */
void fw_buffer_clear(fw_buffer *buffer);

#endif
