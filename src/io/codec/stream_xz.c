/* io/codec/stream_xz.c: xz, stream after stream, by liblzma. The library's interface is declared here, because it need
 * not be installed where Furrow is built. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/codec/stream_members.h"

/* ---- liblzma's binary interface, version 5 ---- */

typedef struct xz_allocator {
  void *(*alloc)(void *user, size_t count, size_t size);
  void (*free)(void *user, void *memory);
  void *user;
} xz_allocator;

typedef struct xz_stream {
  const uint8_t *next_in;
  size_t avail_in;
  uint64_t total_in;
  uint8_t *next_out;
  size_t avail_out;
  uint64_t total_out;
  const xz_allocator *allocator;
  void *internal, *reserved_pointers[4];
  uint64_t reserved_longs[2];
  size_t reserved_sizes[2];
  int reserved_enums[2];
} xz_stream;

enum { RUN = 0 };
enum { OK, STREAM_END, UNSUPPORTED_CHECK = 3, MEM_ERROR = 5, MEMLIMIT_ERROR, OPTIONS_ERROR = 8, BUF_ERROR = 10 };
enum { TELL_UNSUPPORTED_CHECK = 2 };

typedef int decoder_function(xz_stream *stream, uint64_t memory_limit, uint32_t flags);
typedef int code_function(xz_stream *stream, int action);
typedef void end_function(xz_stream *stream);

enum { DECODER, CODE, END };
static const char *const files[] = {"liblzma.so.5", NULL};
static const char *const names[] = {"lzma_stream_decoder", "lzma_code", "lzma_end", NULL};
static fw_function *functions[3];
static fw_library liblzma = {
    "xz data", files,     "install liblzma5 (Debian, Ubuntu) or xz-libs (Fedora), or unpack the file",
    names,     functions, false};

/* ---- The decoder ---- */

/* The largest dictionary is 128 MiB, like the largest window of zstd; xz -9 has 64 MiB. */
static const uint64_t memory_limit = ((uint64_t)128 << 20) + ((uint64_t)1 << 20);

static void *take_memory(void *user, size_t count, size_t size) {
  (void)user;
  void *memory;
  return fw_alloc(&memory, count, size, NULL) == FURROW_OK ? memory : NULL;
}

static void give_memory(void *user, void *memory) {
  (void)user;
  fw_free(memory);
}

static const xz_allocator allocator = {take_memory, give_memory, NULL};

static bool begins_xz(const unsigned char *bytes, size_t n) {
  return memcmp(bytes,
                "\xfd"
                "7zXZ",
                n) == 0;
}

static furrow_status fail_xz(fw_source *source, int code, furrow_error *err) {
  switch (code) {
  case MEM_ERROR: return fw_fail_memory(err, (size_t)memory_limit);
  case MEMLIMIT_ERROR:
    return fw_fail(err, FURROW_E_UNSUPPORTED, "xz data needs more than 128 MiB of memory (a larger dictionary)");
  case OPTIONS_ERROR: return fw_fail(err, FURROW_E_UNSUPPORTED, "xz data needs a filter that liblzma does not have");
  case UNSUPPORTED_CHECK: return fw_fail(err, FURROW_E_UNSUPPORTED, "xz data has a check that liblzma does not have");
  default: return fw_source_fail(source, "xz", "is damaged", NULL, err);
  }
}

static furrow_status begin_xz(void *state, fw_source *source, furrow_error *err) {
  xz_stream *xz = state;
  xz->allocator = &allocator;
  const int code = ((decoder_function *)functions[DECODER])(xz, memory_limit, TELL_UNSUPPORTED_CHECK);
  return code == OK ? FURROW_OK : fail_xz(source, code, err);
}

static furrow_status step_xz(void *state, fw_source *source, fw_member_step *step, furrow_error *err) {
  xz_stream *xz = state;
  xz->next_in = step->in;
  xz->avail_in = step->in_size;
  xz->next_out = step->out;
  xz->avail_out = step->out_size;
  const int code = ((code_function *)functions[CODE])(xz, RUN);
  step->in_size -= xz->avail_in;
  step->out_size -= xz->avail_out;
  step->ended = code == STREAM_END;
  /* BUF_ERROR: no progress is possible if the file ends inside a stream; the caller reports that */
  return code == OK || code == STREAM_END || code == BUF_ERROR ? FURROW_OK : fail_xz(source, code, err);
}

/* Zeros, as many as are a multiple of four, may stand between streams and after the last one. */
static furrow_status skip_padding(fw_source *source, furrow_error *err) {
  static const unsigned char padding[4];
  for (;;) {
    FW_TRY(fw_source_fill(source, sizeof padding, err));
    if (fw_source_unused(source) < sizeof padding ||
        memcmp(source->buffer + source->used, padding, sizeof padding) != 0)
      return FURROW_OK;
    source->used += sizeof padding;
  }
}

static void end_xz(void *state) {
  ((end_function *)functions[END])(state);
}

static const fw_member_codec codec = {"xz",     &liblzma, sizeof(xz_stream), 5,     begins_xz,
                                      begin_xz, step_xz,  skip_padding,      end_xz};

static furrow_status create_xz(void **state, furrow_error *err) {
  return fw_members_create(&codec, state, err);
}

const fw_decoder fw_decoder_xz = {create_xz, fw_members_read, fw_members_free};
