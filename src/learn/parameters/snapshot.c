/* learn/parameters/snapshot.c: arrays of numbers as bytes in a fixed order; all numbers of parameters. */
#include "learn/parameters/snapshot.h"

#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"

enum { PIECE = 1 << 16 };

void fw_snapshot_copy(void *to, const void *from, size_t count, size_t size) {
  memcpy(to, from, count * size);
  fw_swap_le(to, size, count);
}

furrow_status fw_snapshot_write(const void *numbers, size_t count, size_t size, fw_snapshot_sink sink, void *to,
                                furrow_error *err) {
  unsigned char piece[PIECE];
  furrow_status status = FURROW_OK;
  for (size_t done = 0, n; status == FURROW_OK && done < count; done += n) {
    n = count - done < PIECE / size ? count - done : PIECE / size;
    fw_snapshot_copy(piece, (const char *)numbers + done * size, n, size);
    status = sink(to, piece, n * size, err);
  }
  return status;
}

/* ---- Parameters
 * ------------------------------------------------------------------------------------------------------- */

/* A record is written as it lies: the numbers of a feature in all layers and arrays. */
static size_t feature_bytes(const fw_parameters *p) {
  return p->record_numbers * p->element;
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

static furrow_status write_dense(const fw_parameters *p, fw_snapshot_sink sink, void *to, furrow_error *err) {
  for (size_t i = 0; i < p->count; i++) {
    const fw_parameter *about = &p->list[i];
    for (size_t array = 0; !about->by_feature && array <= about->state; array++)
      FW_TRY(fw_snapshot_write(about->array[array], about->cols, p->element, sink, to, err));
  }
  return FURROW_OK;
}

/* Features go to the sink some at a time. */
static furrow_status write_features(const fw_parameters *p, const uint64_t *keys, size_t count, fw_snapshot_sink sink,
                                    void *to, furrow_error *err) {
  const size_t bytes = feature_bytes(p), at_once = bytes < PIECE ? PIECE / bytes : 1;
  void *memory;
  furrow_status status = fw_alloc(&memory, at_once, bytes, err);
  if (status != FURROW_OK) return status;
  for (size_t done = 0, n; status == FURROW_OK && done < count; done += n) {
    n = count - done < at_once ? count - done : at_once;
    for (size_t i = 0; i < n; i++)
      fw_snapshot_copy((char *)memory + i * bytes, fw_features_find(p->features, keys ? keys[done + i] : done + i),
                       p->record_numbers, p->element);
    status = sink(to, memory, n * bytes, err);
  }
  fw_free(memory);
  return status;
}

furrow_status fw_parameters_snapshot_write(const fw_parameters *p, fw_snapshot_sink sink, void *to, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t count = 0;
  furrow_status status = write_dense(p, sink, to, err);
  if (status == FURROW_OK) status = fw_parameters_keys(p, &keys, &count, err);
  if (status != FURROW_OK) return status;
  const uint64_t number = count;
  status = fw_snapshot_write(&number, 1, sizeof number, sink, to, err);
  if (status == FURROW_OK && fw_parameters_are_open(p))
    status = fw_snapshot_write(keys, count, sizeof *keys, sink, to, err);
  if (status == FURROW_OK && feature_bytes(p) > 0) status = write_features(p, keys, count, sink, to, err);
  fw_free(keys);
  return status;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

/* Reads bytes in sequence. */
typedef struct cursor {
  const fw_snapshot_range *range;
  uint64_t at; /* offset after the bytes in the buffer */
  unsigned char *buffer;
  size_t capacity, used, filled;
} cursor;

typedef struct snapshot {
  fw_parameters *p;
  const fw_snapshot_range *range;
  uint64_t at;          /* before it all is read */
  bool fill;            /* the parameters, else the bytes are only looked at */
  cursor keys, numbers; /* numbers: dense arrays, too */
  uint64_t taken;
} snapshot;

static furrow_status fail_snapshot(const snapshot *in, furrow_error *err, const char *message) {
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "%s", message);
  if (err) err->offset = in->at - in->range->begin;
  return status;
}

static bool has_bytes(const snapshot *in, uint64_t count, size_t size) {
  return count <= (in->range->end - in->at) / size;
}

static void set_cursor(cursor *c, uint64_t at) {
  c->at = at;
  c->used = c->filled = 0;
}

/* Reads the next `size` bytes; they must exist, and fit into the buffer. */
static furrow_status next_bytes(cursor *c, size_t size, const unsigned char **bytes, furrow_error *err) {
  if (c->filled - c->used < size) {
    const uint64_t left = c->range->end - c->at;
    memmove(c->buffer, c->buffer + c->used, c->filled - c->used);
    c->filled -= c->used;
    c->used = 0;
    const size_t more = left < c->capacity - c->filled ? (size_t)left : c->capacity - c->filled;
    FW_TRY(c->range->read(c->range->from, c->at, c->buffer + c->filled, more, err));
    c->filled += more;
    c->at += more;
  }
  *bytes = c->buffer + c->used;
  c->used += size;
  return FURROW_OK;
}

static furrow_status read_array(snapshot *in, void *to, uint64_t count, size_t size, furrow_error *err) {
  const unsigned char *bytes = NULL;
  set_cursor(&in->numbers, in->at);
  for (uint64_t done = 0, n; in->fill && done < count; done += n) {
    n = count - done < PIECE / size ? count - done : PIECE / size;
    FW_TRY(next_bytes(&in->numbers, n * size, &bytes, err));
    fw_snapshot_copy((char *)to + done * size, bytes, n, size);
  }
  in->at += count * size;
  return FURROW_OK;
}

static furrow_status read_dense(snapshot *in, furrow_error *err) {
  const fw_parameters *p = in->p;
  const size_t size = p->element;
  for (size_t i = 0; in->range->dense && i < p->count; i++) {
    const fw_parameter *about = &p->list[i];
    for (size_t array = 0; !about->by_feature && array <= about->state; array++) {
      if (!has_bytes(in, about->cols, size)) return fail_snapshot(in, err, "the parameters end inside a layer's array");
      FW_TRY(read_array(in, fw_parameters_dense(p, i, array), about->cols, size, err));
    }
  }
  return FURROW_OK;
}

static furrow_status fill_feature(fw_parameters *p, uint64_t key, const unsigned char *bytes, furrow_error *err) {
  FW_TRY(fw_parameters_make(p, key, err));
  fw_snapshot_copy(fw_features_find(p->features, key), bytes, p->record_numbers, p->element);
  return FURROW_OK;
}

/* Key i of the snapshot: read from its list, or the i-th key of the range that belongs to its rank. */
static furrow_status read_key(snapshot *in, uint64_t i, uint64_t *key, furrow_error *err) {
  const unsigned char *bytes = NULL;
  *key = i * in->range->ranks + in->range->rank;
  if (!fw_parameters_are_open(in->p)) return FURROW_OK;
  FW_TRY(next_bytes(&in->keys, sizeof *key, &bytes, err));
  *key = fw_get_le64(bytes);
  return FURROW_OK;
}

static const char *key_fault(const snapshot *in, uint64_t i, uint64_t before, uint64_t key) {
  const int64_t range = in->p->plan->data.range;
  if (i > 0 && key <= before) return "the features do not ascend";
  if (range > 0 && key >= (uint64_t)range) return "a feature is beyond the model's range";
  if (fw_feature_owner(key, in->range->ranks) != in->range->rank) return "a feature belongs to another rank";
  return NULL;
}

static furrow_status read_records(snapshot *in, uint64_t count, furrow_error *err) {
  const size_t bytes = feature_bytes(in->p), key_size = fw_parameters_are_open(in->p) ? sizeof(uint64_t) : 0;
  if (bytes + key_size == 0) return FURROW_OK;
  if (!has_bytes(in, count, bytes + key_size)) return fail_snapshot(in, err, "the parameters end inside the features");
  set_cursor(&in->keys, in->at);
  in->at += count * key_size;
  set_cursor(&in->numbers, in->at);
  for (uint64_t i = 0, key = 0, before = 0; i < count; i++, before = key) {
    const unsigned char *numbers = NULL;
    FW_TRY(read_key(in, i, &key, err));
    const char *fault = key_fault(in, i, before, key);
    if (fault) return fail_snapshot(in, err, fault);
    if (in->fill) FW_TRY(next_bytes(&in->numbers, bytes, &numbers, err));
    if (in->fill) in->at += bytes;
    if (!fw_parameters_own(in->p, key)) continue;
    if (in->fill) FW_TRY(fill_feature(in->p, key, numbers, err));
    in->taken++;
  }
  if (!in->fill) in->at += count * bytes;
  return FURROW_OK;
}

/* Keys of 0 … range-1 that are of a rank. */
static uint64_t count_own(uint64_t range, unsigned rank, unsigned ranks) {
  return range > rank ? (range - rank + ranks - 1) / ranks : 0;
}

/* Checks the number of features against the bytes that follow it, and against the range if there is one. */
static furrow_status read_features(snapshot *in, furrow_error *err) {
  const fw_snapshot_range *range = in->range;
  const unsigned char *bytes = NULL;
  if (!has_bytes(in, 1, sizeof(uint64_t))) return fail_snapshot(in, err, "the parameters end before the features");
  set_cursor(&in->numbers, in->at);
  FW_TRY(next_bytes(&in->numbers, sizeof(uint64_t), &bytes, err));
  const uint64_t count = fw_get_le64(bytes);
  const uint64_t all = feature_bytes(in->p) > 0 ? (uint64_t)in->p->plan->data.range : 0;
  if (!fw_parameters_are_open(in->p) && count != count_own(all, range->rank, range->ranks))
    return fail_snapshot(in, err, "the number of features differs from the model's range");
  in->at += sizeof count;
  return read_records(in, count, err);
}

furrow_status fw_parameters_snapshot_take(fw_parameters *p, const fw_snapshot_range *range, bool fill, uint64_t *taken,
                                          furrow_error *err) {
  const size_t bytes = feature_bytes(p), capacity = bytes > PIECE ? bytes : PIECE;
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, 2, capacity, err));
  snapshot in = {.p = p, .range = range, .at = range->begin, .fill = fill};
  in.keys = (cursor){.range = range, .buffer = memory, .capacity = capacity};
  in.numbers = (cursor){.range = range, .buffer = (unsigned char *)memory + capacity, .capacity = capacity};
  furrow_status status = read_dense(&in, err);
  if (status == FURROW_OK) status = read_features(&in, err);
  if (status == FURROW_OK && in.at != range->end) status = fail_snapshot(&in, err, "bytes follow the parameters");
  if (status == FURROW_OK) *taken += in.taken;
  fw_free(memory);
  return status;
}

static furrow_status read_memory(const void *from, uint64_t at, void *bytes, size_t size, furrow_error *err) {
  (void)err;
  memcpy(bytes, (const char *)from + at, size);
  return FURROW_OK;
}

static furrow_status take_memory(fw_parameters *p, const unsigned char *bytes, size_t size, bool fill,
                                 furrow_error *err) {
  const furrow_comm *comm = p->comm;
  const fw_snapshot_range range = {
      .read = read_memory, .from = bytes, .end = size, .dense = true, .rank = comm->rank, .ranks = comm->ranks};
  uint64_t taken = 0;
  return fw_parameters_snapshot_take(p, &range, fill, &taken, err);
}

furrow_status fw_parameters_snapshot_check(fw_parameters *p, const unsigned char *bytes, size_t size,
                                           furrow_error *err) {
  return take_memory(p, bytes, size, false, err);
}

furrow_status fw_parameters_snapshot_read(fw_parameters *p, const unsigned char *bytes, size_t size,
                                          furrow_error *err) {
  return take_memory(p, bytes, size, true, err);
}

/* ---- For checkpoints ---- */

static furrow_status write_snapshot(const void *object, fw_snapshot_sink sink, void *to, furrow_error *err) {
  return fw_parameters_snapshot_write(object, sink, to, err);
}

static furrow_status restore_snapshot(void *object, const unsigned char *bytes, size_t size, furrow_error *err) {
  return fw_parameters_snapshot_read(object, bytes, size, err);
}

static furrow_status check_snapshot(void *object, const unsigned char *bytes, size_t size, furrow_error *err) {
  return fw_parameters_snapshot_check(object, bytes, size, err);
}

static furrow_status take_snapshot(void *object, const fw_snapshot_range *range, uint64_t *taken, furrow_error *err) {
  return fw_parameters_snapshot_take(object, range, true, taken, err);
}

static uint64_t count_features(const void *object) {
  return fw_parameters_feature_count(object);
}

fw_snapshot_ops fw_parameters_snapshot_ops(fw_parameters *p) {
  return (fw_snapshot_ops){.plan = p->plan,
                           .element = p->element,
                           .object = p,
                           .write = write_snapshot,
                           .read = restore_snapshot,
                           .check = check_snapshot,
                           .take = take_snapshot,
                           .count = count_features,
                           .dense_bytes = p->dense_numbers * p->element};
}
