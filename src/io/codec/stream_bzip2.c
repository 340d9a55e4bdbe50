/* io/codec/stream_bzip2.c: bzip2, stream after stream, by libbz2. The library's interface is declared here, because it
 * need not be installed where Furrow is built. */
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/codec/stream_members.h"

/* ---- libbz2's binary interface, version 1.0 ---- */

typedef struct bz_stream {
  const char *next_in;
  unsigned avail_in, total_in[2];
  char *next_out;
  unsigned avail_out, total_out[2];
  void *internal;
  void *(*alloc)(void *user, int count, int size);
  void (*free)(void *user, void *memory);
  void *user;
} bz_stream;

enum { OK = 0, STREAM_END = 4, MEM_ERROR = -3 };

typedef int begin_function(bz_stream *stream, int verbosity, int small);
typedef int stream_function(bz_stream *stream);

enum { BEGIN, DECODE, END };
static const char *const files[] = {"libbz2.so.1.0", "libbz2.so.1", NULL};
static const char *const names[] = {"BZ2_bzDecompressInit", "BZ2_bzDecompress", "BZ2_bzDecompressEnd", NULL};
static fw_function *functions[3];
static fw_library libbz2 = {
    "bzip2 data", files,     "install libbz2-1.0 (Debian, Ubuntu) or bzip2-libs (Fedora), or unpack the file",
    names,        functions, false};

/* ---- The decoder; it takes at most 4 MiB of memory ---- */

typedef struct bz_state {
  bz_stream bz;
  bool ready; /* the library has been told to begin */
} bz_state;

static void *take_memory(void *user, int count, int size) {
  (void)user;
  void *memory;
  if (count < 0 || size < 0) return NULL;
  return fw_alloc(&memory, (size_t)count, (size_t)size, NULL) == FURROW_OK ? memory : NULL;
}

static void give_memory(void *user, void *memory) {
  (void)user;
  fw_free(memory);
}

static bool begins_bzip2(const unsigned char *bytes, size_t n) {
  return memcmp(bytes, "BZh", n) == 0;
}

static void end_bzip2(void *state) {
  bz_state *s = state;
  if (s->ready) ((stream_function *)functions[END])(&s->bz);
  s->ready = false;
}

static furrow_status fail_bzip2(fw_source *source, int code, furrow_error *err) {
  return code == MEM_ERROR ? fw_fail_memory(err, (size_t)4 << 20)
                           : fw_source_fail(source, "bzip2", "is damaged", NULL, err);
}

static furrow_status begin_bzip2(void *state, fw_source *source, furrow_error *err) {
  bz_state *s = state;
  end_bzip2(s);
  s->bz = (bz_stream){.alloc = take_memory, .free = give_memory};
  const int code = ((begin_function *)functions[BEGIN])(&s->bz, 0, 0);
  s->ready = code == OK;
  return code == OK ? FURROW_OK : fail_bzip2(source, code, err);
}

static furrow_status step_bzip2(void *state, fw_source *source, fw_member_step *step, furrow_error *err) {
  bz_stream *bz = &((bz_state *)state)->bz;
  const unsigned offered = (unsigned)(step->out_size < UINT_MAX ? step->out_size : UINT_MAX);
  bz->next_in = (const char *)step->in;
  bz->avail_in = (unsigned)step->in_size; /* at most FW_SOURCE_BUFFER */
  bz->next_out = step->out;
  bz->avail_out = offered;
  const int code = ((stream_function *)functions[DECODE])(bz);
  step->in_size -= bz->avail_in;
  step->out_size = offered - bz->avail_out;
  step->ended = code == STREAM_END;
  return code == OK || code == STREAM_END ? FURROW_OK : fail_bzip2(source, code, err);
}

static const fw_member_codec codec = {"bzip2",    &libbz2, sizeof(bz_state), 3, begins_bzip2, begin_bzip2,
                                      step_bzip2, NULL,    end_bzip2};

static furrow_status create_bzip2(void **state, furrow_error *err) {
  return fw_members_create(&codec, state, err);
}

const fw_decoder fw_decoder_bzip2 = {create_bzip2, fw_members_read, fw_members_free};
