/* io/codec/stream_members.c: reads member after member through a decoder of a loaded library. */
#include "io/codec/stream_members.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct members {
  const fw_member_codec *codec;
  bool inside; /* inside a member */
  bool begun;  /* the first member has begun */
  void *state; /* of the codec */
} members;

furrow_status fw_members_create(const fw_member_codec *codec, void **state, furrow_error *err) {
  members *m;
  FW_TRY(fw_library_load(codec->library, err));
  FW_TRY(FW_ALLOC_ZERO(&m, 1, err));
  m->codec = codec;
  const furrow_status status = fw_alloc_zero(&m->state, 1, codec->state_size, err);
  return FW_HAND_OVER(status, state, m, fw_free);
}

void fw_members_free(void *state) {
  members *m = state;
  if (!m) return;
  m->codec->end(m->state);
  fw_free(m->state);
  fw_free(m);
}

/* Enters the next member; *more is false when the file ends here. */
static furrow_status next_member(members *m, fw_source *source, bool *more, furrow_error *err) {
  const fw_member_codec *codec = m->codec;
  if (m->begun && codec->skip) FW_TRY(codec->skip(source, err));
  FW_TRY(fw_source_fill(source, codec->magic_size, err));
  const size_t unused = fw_source_unused(source), n = unused < codec->magic_size ? unused : codec->magic_size;
  *more = n > 0 || !m->begun;
  if (!*more) return FURROW_OK;
  if (!codec->begins(source->buffer + source->used, n))
    return fw_source_fail(source, codec->name, m->begun ? "is followed by other bytes" : "is damaged", NULL, err);
  FW_TRY(codec->begin(m->state, source, err));
  m->begun = m->inside = true;
  return FURROW_OK;
}

/* Calls the decoder once. Decoders hold back output when the buffer was full, so the end of the file alone does not
 * mean that the data ends. */
static furrow_status decode_some(members *m, fw_source *source, char *out, size_t size, size_t *produced,
                                 furrow_error *err) {
  FW_TRY(fw_source_fill(source, 1, err));
  const size_t offered = fw_source_unused(source);
  fw_member_step step = {source->buffer + source->used, offered, out, size, false};
  const furrow_status status = m->codec->step(m->state, source, &step, err);
  *produced = step.out_size;
  source->used += step.in_size;
  if (status != FURROW_OK) return status;
  m->inside = !step.ended;
  if (m->inside && step.out_size == 0 && step.in_size == 0 && (offered == 0 || source->ended))
    return fw_source_fail(source, m->codec->name, "is cut short", NULL, err);
  return FURROW_OK;
}

furrow_status fw_members_read(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                              furrow_error *err) {
  members *m = state;
  while (*got < size) {
    bool more = true;
    if (!m->inside) FW_TRY(next_member(m, source, &more, err));
    if (!more) return FURROW_OK;
    size_t produced = 0;
    const furrow_status status = decode_some(m, source, (char *)buffer + *got, size - *got, &produced, err);
    *got += produced;
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}
