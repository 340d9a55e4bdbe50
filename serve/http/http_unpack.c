/* serve/http/http_unpack.c: bodies of requests that are compressed.
 *
 * A few bytes may become many, so the result has the limit of a body, is counted as its memory while it grows, and
 * nothing is reserved for what a header claims.
 */
#include <string.h>
#include <zstd.h>

#include "http/http_internal.h"
#include "http/json_put.h"

enum {
  GZIP_WINDOW = 15 + 16,
  ZSTD_WINDOW_LOG = 23, /* 8 MiB: what senders of HTTP may ask for (RFC 9659) */
  FIRST_BYTES = 1 << 14,
  LARGEST_PART = 1 << 30 /* of the input that zlib gets at a time */
};

typedef enum unpack_result { UNPACKED, DAMAGED, TOO_LARGE, NO_MEMORY } unpack_result;

/* Makes space after the bytes that were unpacked: as much again, but at most a byte beyond the limit. */
static char *find_space(exchange *e, size_t limit, size_t *space) {
  fw_buffer *to = &e->unpacked;
  const size_t more = to->size < FIRST_BYTES ? FIRST_BYTES : to->size, left = limit + 1 - to->size;
  char *at = fw_buffer_reserve(to, more < left ? more : left);
  if (!at || !exchange_count(e)) return NULL;
  *space = to->capacity - to->size < left ? to->capacity - to->size : left;
  return at;
}

/* Members may follow each other. */
static unpack_result inflate_body(exchange *e, z_stream *stream, size_t limit) {
  const http_request *request = &e->request;
  size_t used = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END || used < request->body_size) {
    size_t space;
    char *to = find_space(e, limit, &space);
    if (!to) return NO_MEMORY;
    if (code == Z_STREAM_END && inflateReset(stream) != Z_OK) return NO_MEMORY;
    const size_t left = request->body_size - used, part = left < LARGEST_PART ? left : LARGEST_PART;
    const size_t most = space < LARGEST_PART ? space : LARGEST_PART;
    stream->next_in = (Bytef *)(uintptr_t)(request->body + used);
    stream->avail_in = (uInt)part;
    stream->next_out = (Bytef *)to;
    stream->avail_out = (uInt)most;
    code = inflate(stream, Z_NO_FLUSH);
    used += part - stream->avail_in;
    fw_buffer_advance(&e->unpacked, most - stream->avail_out);
    if (e->unpacked.size > limit) return TOO_LARGE;
    if (code == Z_MEM_ERROR) return NO_MEMORY;
    if (code != Z_OK && code != Z_STREAM_END) return DAMAGED; /* Z_BUF_ERROR: it is cut short */
  }
  return UNPACKED;
}

static unpack_result unpack_gzip(exchange *e, size_t limit) {
  z_stream stream = {0};
  if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK) return NO_MEMORY;
  const unpack_result result = inflate_body(e, &stream, limit);
  inflateEnd(&stream);
  return result;
}

/* Frames may follow each other. */
static unpack_result decompress_body(exchange *e, ZSTD_DCtx *context, size_t limit) {
  ZSTD_inBuffer in = {.src = e->request.body, .size = e->request.body_size};
  size_t left = 1; /* 0: a frame has ended */
  while (left > 0 || in.pos < in.size) {
    size_t space;
    char *to = find_space(e, limit, &space);
    if (!to) return NO_MEMORY;
    ZSTD_outBuffer out = {.dst = to, .size = space};
    left = ZSTD_decompressStream(context, &out, &in);
    fw_buffer_advance(&e->unpacked, out.pos);
    if (e->unpacked.size > limit) return TOO_LARGE;
    if (ZSTD_isError(left)) return DAMAGED;
    if (left > 0 && in.pos == in.size && out.pos < out.size) return DAMAGED; /* it is cut short */
  }
  return UNPACKED;
}

static unpack_result unpack_zstd(exchange *e, size_t limit) {
  ZSTD_DCtx *context = ZSTD_createDCtx();
  if (!context) return NO_MEMORY;
  unpack_result result = NO_MEMORY;
  if (!ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
    result = decompress_body(e, context, limit);
  ZSTD_freeDCtx(context);
  return result;
}

int http_request_unpack(http_request *request, size_t limit, const char **problem) {
  exchange *e = (exchange *)request;
  if (request->head.coding == HTTP_PLAIN || request->body_size == 0) return 0;
  const bool is_gzip = request->head.coding == HTTP_GZIP;
  buffer_recycle(&e->unpacked, KEPT_BYTES);
  switch (is_gzip ? unpack_gzip(e, limit) : unpack_zstd(e, limit)) {
  case UNPACKED:
    request->body = e->unpacked.bytes;
    request->body_size = e->unpacked.size;
    return 0;
  case DAMAGED:
    *problem = is_gzip ? "the body of the request is not gzip data, or damaged"
                       : "the body of the request is not zstd data, or damaged, or needs a window over 8 MiB";
    return 400;
  case TOO_LARGE: *problem = "the body of the request is too large when it is decompressed"; return 413;
  default: *problem = "there is not enough memory for the decompressed body of the request"; return 503;
  }
}
