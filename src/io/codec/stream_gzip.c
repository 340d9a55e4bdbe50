/* io/codec/stream_gzip.c: gzip (RFC 1952), member after member. */
#include <limits.h>
#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/stream.h"

typedef struct gzip_state {
  z_stream z;
  bool inside; /* inside a member */
  bool begun;  /* the first member has begun */
} gzip_state;

static voidpf take_memory(voidpf opaque, uInt count, uInt size) {
  (void)opaque;
  void *memory;
  return fw_alloc(&memory, count, size, NULL) == FURROW_OK ? memory : Z_NULL;
}

static void give_memory(voidpf opaque, voidpf memory) {
  (void)opaque;
  fw_free(memory);
}

static furrow_status create_gzip(void **state, furrow_error *err) {
  gzip_state *gzip;
  FW_TRY(FW_ALLOC_ZERO(&gzip, 1, err));
  gzip->z.zalloc = take_memory;
  gzip->z.zfree = give_memory;
  /* 16 + 15: gzip headers only, any window; zlib checks headers and checksums */
  int code = inflateInit2(&gzip->z, 16 + MAX_WBITS);
  if (code != Z_OK) {
    fw_free(gzip);
    if (code == Z_MEM_ERROR) return fw_fail_memory(err, sizeof(z_stream));
    return fw_fail(err, FURROW_E_UNSUPPORTED, "zlib cannot be used: %s", zError(code));
  }
  *state = gzip;
  return FURROW_OK;
}

static void free_state(void *state) {
  gzip_state *gzip = state;
  if (gzip) inflateEnd(&gzip->z);
  fw_free(gzip);
}

/* Enters the next member; *more is false when the file ends here. */
static furrow_status next_member(gzip_state *gzip, fw_source *source, bool *more, furrow_error *err) {
  FW_TRY(fw_source_fill(source, 2, err));
  const unsigned char *next = source->buffer + source->used;
  size_t n = fw_source_unused(source);
  *more = n > 0 || !gzip->begun;
  if (!*more) return FURROW_OK;
  if (gzip->begun && !(next[0] == 0x1f && (n == 1 || next[1] == 0x8b)))
    return fw_source_fail(source, "gzip", "is followed by other bytes", NULL, err);
  inflateReset(&gzip->z);
  gzip->begun = gzip->inside = true;
  return FURROW_OK;
}

/* Calls inflate once; *produced is the size of its output. */
static furrow_status inflate_some(gzip_state *gzip, fw_source *source, void *out, size_t avail, size_t *produced,
                                  furrow_error *err) {
  z_stream *z = &gzip->z;
  uInt offered = (uInt)(avail < UINT_MAX ? avail : UINT_MAX);
  z->next_in = source->buffer + source->used;
  z->avail_in = (uInt)fw_source_unused(source);
  z->next_out = out;
  z->avail_out = offered;
  int code = inflate(z, Z_NO_FLUSH);
  source->used = source->filled - z->avail_in;
  *produced = offered - z->avail_out;
  if (code == Z_STREAM_END) gzip->inside = false;
  /* Z_BUF_ERROR: no progress is possible if the file ends inside a member; the caller reports that */
  if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR) return FURROW_OK;
  if (code == Z_MEM_ERROR) return fw_fail_memory(err, (size_t)1 << MAX_WBITS);
  return fw_source_fail(source, "gzip", "is damaged", z->msg, err);
}

static furrow_status read_gzip(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                               furrow_error *err) {
  gzip_state *gzip = state;
  while (*got < size) {
    bool more;
    furrow_status status = FURROW_OK;
    if (!gzip->inside) {
      status = next_member(gzip, source, &more, err);
      if (status != FURROW_OK || !more) return status;
    }
    status = fw_source_fill(source, 1, err);
    if (status != FURROW_OK) return status;
    bool dry = fw_source_unused(source) == 0;
    size_t produced = 0;
    status = inflate_some(gzip, source, (char *)buffer + *got, size - *got, &produced, err);
    *got += produced;
    if (status != FURROW_OK) return status;
    /* zlib may hold back output when the buffer was full, so the end of the file alone is not decisive */
    if (dry && produced == 0 && gzip->inside) return fw_source_fail(source, "gzip", "is cut short", NULL, err);
  }
  return FURROW_OK;
}

const fw_decoder fw_decoder_gzip = {create_gzip, read_gzip, free_state};
