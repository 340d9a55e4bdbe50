/* tests/fuzz/harness/index_harness.h: an index as the bytes of its file. */
#ifndef INDEX_HARNESS_H
#define INDEX_HARNESS_H

#include "base/buffer.h"
#include "fuzz/harness/fuzz_check.h"
#include "vector/file/index_write.h"

static inline furrow_status append(void *to, uint64_t offset, const void *bytes, size_t size, furrow_error *err) {
  (void)err;
  check(offset == ((const fw_buffer *)to)->size);
  fw_buffer_append(to, bytes, size);
  return FURROW_OK;
}

/* In place of what `out` had. */
static inline void write_index(const furrow_index *index, fw_buffer *out) {
  fw_index_writer w = {.write = append, .to = out};
  fw_buffer_reset(out);
  fw_write_index(&w, index);
  check(w.status == FURROW_OK && w.size == out->size);
}

#endif
