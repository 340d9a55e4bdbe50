/* io/codec/stream_lz4.c: lz4, frame after frame, by liblz4; skippable frames are skipped. The library's interface is
 * declared here, because it need not be installed where Furrow is built. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/codec/stream_members.h"

/* ---- liblz4's binary interface, version 1: LZ4F_… ---- */

typedef size_t create_function(void **context, unsigned version);
typedef size_t free_function(void *context);
typedef size_t decode_function(void *context, void *out, size_t *out_size, const void *in, size_t *in_size,
                               const void *options);
typedef unsigned error_function(size_t code);
typedef const char *name_function(size_t code);

enum { INTERFACE_VERSION = 100 };
enum { CREATE, FREE, DECODE, IS_ERROR, ERROR_NAME };
static const char *const files[] = {"liblz4.so.1", NULL};
static const char *const names[] = {"LZ4F_createDecompressionContext",
                                    "LZ4F_freeDecompressionContext",
                                    "LZ4F_decompress",
                                    "LZ4F_isError",
                                    "LZ4F_getErrorName",
                                    NULL};
static fw_function *functions[5];
static fw_library liblz4 = {
    "lz4 data", files,     "install liblz4-1 (Debian, Ubuntu) or lz4-libs (Fedora), or unpack the file",
    names,      functions, false};

/* ---- The decoder; its memory is two blocks of at most 4 MiB ---- */

typedef struct lz4_state {
  void *context;
} lz4_state;

enum { FLAGS = 4, DICTIONARY = 1, VERSION_SHIFT = 6 }; /* the byte of flags after the magic, and its bits */

static bool is_skippable(const unsigned char *bytes) {
  return (bytes[0] & 0xf0) == 0x50;
}

static bool begins_lz4(const unsigned char *bytes, size_t n) {
  if (n == 0) return true;
  return (bytes[0] == 0x04 && memcmp(bytes + 1, "\x22\x4d\x18", n - 1) == 0) ||
         (is_skippable(bytes) && memcmp(bytes + 1, "\x2a\x4d\x18", n - 1) == 0);
}

static bool failed(size_t code) {
  return ((error_function *)functions[IS_ERROR])(code) != 0;
}

static const char *error_name(size_t code) {
  return ((name_function *)functions[ERROR_NAME])(code);
}

static furrow_status fail_lz4(fw_source *source, size_t code, furrow_error *err) {
  if (strcmp(error_name(code), "ERROR_allocation_failed") == 0) return fw_fail_memory(err, (size_t)8 << 20);
  return fw_source_fail(source, "lz4", "is damaged", error_name(code), err);
}

static furrow_status begin_lz4(void *state, fw_source *source, furrow_error *err) {
  lz4_state *lz4 = state;
  FW_TRY(fw_source_fill(source, FLAGS + 1, err));
  const unsigned char *bytes = source->buffer + source->used;
  if (fw_source_unused(source) > FLAGS && !is_skippable(bytes) && bytes[FLAGS] >> VERSION_SHIFT == 1 &&
      bytes[FLAGS] & DICTIONARY)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "lz4 data needs a dictionary");
  if (lz4->context) return FURROW_OK; /* the decoder goes from frame to frame by itself */
  const size_t code = ((create_function *)functions[CREATE])(&lz4->context, INTERFACE_VERSION);
  return failed(code) ? fail_lz4(source, code, err) : FURROW_OK;
}

static furrow_status step_lz4(void *state, fw_source *source, fw_member_step *step, furrow_error *err) {
  lz4_state *lz4 = state;
  const size_t code =
      ((decode_function *)functions[DECODE])(lz4->context, step->out, &step->out_size, step->in, &step->in_size, NULL);
  if (failed(code)) {
    step->in_size = step->out_size = 0;
    return fail_lz4(source, code, err);
  }
  step->ended = code == 0;
  return FURROW_OK;
}

static void end_lz4(void *state) {
  lz4_state *lz4 = state;
  if (lz4->context) ((free_function *)functions[FREE])(lz4->context);
}

static const fw_member_codec codec = {"lz4", &liblz4, sizeof(lz4_state), 4, begins_lz4, begin_lz4, step_lz4,
                                      NULL,  end_lz4};

static furrow_status create_lz4(void **state, furrow_error *err) {
  return fw_members_create(&codec, state, err);
}

const fw_decoder fw_decoder_lz4 = {create_lz4, fw_members_read, fw_members_free};
