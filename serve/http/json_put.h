/* serve/http/json_put.h: JSON into a buffer: bodies of answers. */
#ifndef SERVE_HTTP_JSON_PUT_H
#define SERVE_HTTP_JSON_PUT_H

#include "base/buffer.h"

/* Numbers: the fewest digits that read back to the same bits; what is not finite is null. */
void json_put_u64(fw_buffer *b, uint64_t value);
void json_put_f32(fw_buffer *b, float value);
void json_put_f64(fw_buffer *b, double value);
/* A string in quotes; invalid UTF-8 is replaced by U+FFFD. */
void json_put_text(fw_buffer *b, const char *text, size_t size);

/* Makes a buffer empty; keeps the memory unless it is more than `keep` bytes. */
void buffer_recycle(fw_buffer *b, size_t keep);

#endif
