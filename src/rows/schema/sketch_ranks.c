/* rows/schema/sketch_ranks.c: sketches of the parts of several ranks.
 *
 * A sketch is sent as it lies in memory, then what its pointers point to, in the order of its fields. The receiver sets
 * the pointers to where that lies in what came, and merges. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/schema/column_sketch.h"

/* Parts begin at multiples of 8. */
static void put(fw_buffer *out, const void *bytes, size_t size) {
  static const char zeros[8] = {0};
  fw_buffer_append(out, bytes, size);
  fw_buffer_append(out, zeros, (8 - size % 8) % 8);
}

static void write_sketch(const fw_column_sketch *s, fw_buffer *out) {
  put(out, s, sizeof *s);
  if (s->magnitudes) put(out, s->magnitudes, FW_SKETCH_MAGNITUDES * sizeof *s->magnitudes);
  if (s->values.slots) put(out, s->values.slots, s->values.capacity * sizeof *s->values.slots);
  if (s->values.texts.bytes) put(out, s->values.texts.bytes, s->values.texts.size);
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++)
    if (s->elements[i].distinct) put(out, s->elements[i].distinct, sizeof *s->elements[i].distinct);
}

static void *take(char **at, size_t size) {
  void *here = *at;
  *at += (size + 7) / 8 * 8;
  return here;
}

/* The sketch that begins at *at, which moves behind it; it borrows what came. */
static void read_sketch(fw_column_sketch *s, char **at) {
  memcpy(s, take(at, sizeof *s), sizeof *s);
  if (s->magnitudes) s->magnitudes = take(at, FW_SKETCH_MAGNITUDES * sizeof *s->magnitudes);
  if (s->values.slots) s->values.slots = take(at, s->values.capacity * sizeof *s->values.slots);
  if (s->values.texts.bytes) s->values.texts.bytes = take(at, s->values.texts.size);
  for (size_t i = 0; i < FW_SEPARATOR_COUNT; i++)
    if (s->elements[i].distinct) s->elements[i].distinct = take(at, sizeof *s->elements[i].distinct);
}

furrow_status fw_column_sketch_join(fw_column_sketch *sketch, const furrow_comm *comm, furrow_error *err) {
  fw_buffer mine = {0};
  void *all = NULL;
  size_t bytes = 0;
  const size_t most = sketch->values.most;
  if (comm->ranks == 1) return FURROW_OK;
  write_sketch(sketch, &mine);
  furrow_status status = fw_comm_all_ok(comm, fw_buffer_status(&mine, err), err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, mine.bytes, mine.size, &all, &bytes, NULL, err);
  fw_buffer_clear(&mine);
  if (status != FURROW_OK) return status;
  fw_column_sketch_clear(sketch);
  fw_column_sketch_init(sketch, most);
  char *at = all;
  for (unsigned r = 0; r < comm->ranks && status == FURROW_OK; r++) {
    fw_column_sketch part;
    read_sketch(&part, &at);
    status = fw_column_sketch_merge(sketch, &part, err);
  }
  fw_free(all);
  return fw_comm_all_ok(comm, status, err);
}
