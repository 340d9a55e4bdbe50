/* io/codec/stream_members.h: what the decoders of xz, bzip2 and lz4 share: a loaded library, and members one after the
 * other (streams of xz and bzip2, frames of lz4) that are one text. */
#ifndef FW_IO_CODEC_STREAM_MEMBERS_H
#define FW_IO_CODEC_STREAM_MEMBERS_H

#include "base/load/library.h"
#include "io/stream.h"

/* One call of a decoder: what it may read and write, and what it did. */
typedef struct fw_member_step {
  const unsigned char *in;
  size_t in_size; /* becomes the number of bytes that were consumed */
  void *out;
  size_t out_size; /* becomes the number of bytes that were produced */
  bool ended;      /* the member is complete */
} fw_member_step;

typedef struct fw_member_codec {
  const char *name;
  fw_library *library;
  size_t state_size, magic_size;
  /* Whether the n bytes, at most magic_size, may begin a member. */
  bool (*begins)(const unsigned char *bytes, size_t n);
  /* Prepares the state (all zeros at first) for the next member. */
  furrow_status (*begin)(void *state, fw_source *source, furrow_error *err);
  furrow_status (*step)(void *state, fw_source *source, fw_member_step *step, furrow_error *err);
  /* Skips what may stand between members. NULL: nothing may. */
  furrow_status (*skip)(fw_source *source, furrow_error *err);
  void (*end)(void *state);
} fw_member_codec;

/* The functions of a decoder. */
furrow_status fw_members_create(const fw_member_codec *codec, void **state, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_members_read(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                              furrow_error *err) FURROW_MUST_USE;
void fw_members_free(void *state);

#endif
