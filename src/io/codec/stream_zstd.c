/* io/codec/stream_zstd.c: Zstandard (RFC 8878), frame after frame; skippable frames are skipped. */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/stream.h"

typedef struct zstd_state {
  ZSTD_DStream *stream;
  bool inside;                    /* inside a frame */
  bool begun;                     /* the first frame has begun */
  uint64_t content_size, decoded; /* size of this frame: according to its header, and decoded so far */
} zstd_state;

enum { HEADER_MOST = 18 }; /* largest size of a frame header */

static furrow_status create_zstd(void **state, furrow_error *err) {
  zstd_state *zstd;
  FW_TRY(FW_ALLOC_ZERO(&zstd, 1, err));
  zstd->stream = ZSTD_createDStream();
  if (!zstd->stream) {
    fw_free(zstd);
    return fw_fail_memory(err, ZSTD_DStreamInSize());
  }
  *state = zstd;
  return FURROW_OK;
}

static void free_state(void *state) {
  zstd_state *zstd = state;
  if (zstd) ZSTD_freeDStream(zstd->stream);
  fw_free(zstd);
}

static furrow_status fail_zstd(const zstd_state *zstd, const fw_source *source, size_t code, furrow_error *err) {
  switch (ZSTD_getErrorCode(code)) {
  case ZSTD_error_memory_allocation: return fw_fail_memory(err, ZSTD_DStreamInSize());
  case ZSTD_error_frameParameter_windowTooLarge:
    /* a frame may need 2 GiB of memory or more; 128 MiB is also the limit of the zstd command without further
     * options */
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "zstd data needs a window over 128 MiB (compressed with --long=28 or more)");
  case ZSTD_error_dictionary_wrong: return fw_fail(err, FURROW_E_UNSUPPORTED, "zstd data needs a dictionary");
  case ZSTD_error_prefix_unknown:
    return fw_source_fail(source, "zstd", zstd->begun ? "is followed by other bytes" : "is damaged", NULL, err);
  default: return fw_source_fail(source, "zstd", "is damaged", ZSTD_getErrorName(code), err);
  }
}

static furrow_status read_zstd(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                               furrow_error *err) {
  zstd_state *zstd = state;
  ZSTD_outBuffer out = {buffer, size, 0};
  while (out.pos < size) {
    furrow_status status = fw_source_fill(source, 1, err);
    if (status != FURROW_OK) return status;
    bool dry = fw_source_unused(source) == 0;
    if (dry && !zstd->inside && zstd->begun) break;
    if (!zstd->inside) {
      status = fw_source_fill(source, HEADER_MOST, err);
      if (status != FURROW_OK) return status;
      zstd->content_size = ZSTD_getFrameContentSize(source->buffer + source->used, fw_source_unused(source));
      zstd->decoded = 0;
    }
    size_t before = out.pos;
    ZSTD_inBuffer in = {source->buffer + source->used, fw_source_unused(source), 0};
    size_t code = ZSTD_decompressStream(zstd->stream, &out, &in);
    source->used += in.pos;
    *got = out.pos;
    if (ZSTD_isError(code)) return fail_zstd(zstd, source, code, err);
    zstd->inside = code != 0;
    zstd->begun = true;
    zstd->decoded += out.pos - before;
    /* zstd itself compares the sizes only if the frame is decoded in one call */
    if (code == 0 && zstd->content_size < ZSTD_CONTENTSIZE_ERROR && zstd->decoded != zstd->content_size)
      return fw_source_fail(source, "zstd", "is damaged", "a frame of another size than its header says", err);
    if (dry && out.pos == before) return fw_source_fail(source, "zstd", "is cut short", NULL, err);
  }
  return FURROW_OK;
}

const fw_decoder fw_decoder_zstd = {create_zstd, read_zstd, free_state};
