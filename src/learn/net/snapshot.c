/* learn/net/snapshot.c: arrays of numbers as bytes in a fixed order; all numbers of a net. */
#include "learn/net/snapshot.h"

#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"

enum { PIECE = 1 << 16 };

void fw_snapshot_copy(void *to, const void *from, size_t count, size_t size) {
  if (!FW_BIG_ENDIAN || size == 1) {
    memcpy(to, from, count * size);
    return;
  }
  for (size_t i = 0; i < count * size; i += size) {
    if (size == 4) {
      fw_put_le32((char *)to + i, fw_get_be32((const char *)from + i));
    } else {
      fw_put_le64((char *)to + i, fw_get_be64((const char *)from + i));
    }
  }
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

/* ---- Nets ------------------------------------------------------------------------------------------------------- */

/* Bytes of a feature's numbers in all parameters and arrays. */
static size_t feature_bytes(const fw_net *net) {
  size_t count = 0;
  for (size_t i = 0; i < fw_net_parameters(net); i++) {
    const fw_parameter *about = fw_net_parameter(net, i);
    if (about->by_feature) count += about->rows * (1 + about->state);
  }
  return count * fw_net_element_size(net);
}

/* ---- Writing -------------------------------------------------------------------------------------------- */

static furrow_status write_dense(const fw_net *net, fw_snapshot_sink sink, void *to, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < fw_net_parameters(net); i++) {
    const fw_parameter *about = fw_net_parameter(net, i);
    for (size_t array = 0; !about->by_feature && status == FURROW_OK && array <= about->state; array++)
      status = fw_snapshot_write(fw_net_dense(net, i, array), about->cols, fw_net_element_size(net), sink, to, err);
  }
  return status;
}

static unsigned char *put_feature(const fw_net *net, uint64_t key, unsigned char *at) {
  const size_t size = fw_net_element_size(net);
  for (size_t i = 0; i < fw_net_parameters(net); i++) {
    const fw_parameter *about = fw_net_parameter(net, i);
    for (size_t array = 0; about->by_feature && array <= about->state; array++) {
      fw_snapshot_copy(at, fw_net_feature(net, i, key, array), about->rows, size);
      at += about->rows * size;
    }
  }
  return at;
}

/* Features go to the sink some at a time. */
static furrow_status write_features(const fw_net *net, const uint64_t *keys, size_t count, fw_snapshot_sink sink,
                                    void *to, furrow_error *err) {
  const size_t bytes = feature_bytes(net), at_once = bytes < PIECE ? PIECE / bytes : 1;
  void *memory;
  furrow_status status = fw_alloc(&memory, at_once, bytes, err);
  if (status != FURROW_OK) return status;
  for (size_t done = 0, n; status == FURROW_OK && done < count; done += n) {
    n = count - done < at_once ? count - done : at_once;
    unsigned char *at = memory;
    for (size_t i = done; i < done + n; i++) at = put_feature(net, keys ? keys[i] : i, at);
    status = sink(to, memory, n * bytes, err);
  }
  fw_free(memory);
  return status;
}

furrow_status fw_net_snapshot_write(const fw_net *net, fw_snapshot_sink sink, void *to, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t count = 0;
  furrow_status status = write_dense(net, sink, to, err);
  if (status == FURROW_OK) status = fw_net_features(net, &keys, &count, err);
  if (status != FURROW_OK) return status;
  const uint64_t number = count;
  status = fw_snapshot_write(&number, 1, sizeof number, sink, to, err);
  if (status == FURROW_OK && fw_net_is_open(net)) status = fw_snapshot_write(keys, count, sizeof *keys, sink, to, err);
  if (status == FURROW_OK && feature_bytes(net) > 0) status = write_features(net, keys, count, sink, to, err);
  fw_free(keys);
  return status;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef struct snapshot {
  const unsigned char *bytes;
  size_t size, at;
  bool fill; /* the net, else the bytes are only looked at */
} snapshot;

static furrow_status fail_snapshot(const snapshot *in, furrow_error *err, const char *message) {
  furrow_status status = fw_fail(err, FURROW_E_FORMAT, "%s", message);
  if (err) err->offset = in->at;
  return status;
}

static bool has_bytes(const snapshot *in, uint64_t count, size_t size) {
  return count <= (in->size - in->at) / size;
}

static furrow_status read_dense(const fw_net *net, snapshot *in, furrow_error *err) {
  const size_t size = fw_net_element_size(net);
  for (size_t i = 0; i < fw_net_parameters(net); i++) {
    const fw_parameter *about = fw_net_parameter(net, i);
    for (size_t array = 0; !about->by_feature && array <= about->state; array++) {
      if (!has_bytes(in, about->cols, size)) return fail_snapshot(in, err, "the parameters end inside a layer's array");
      if (in->fill) fw_snapshot_copy(fw_net_dense(net, i, array), in->bytes + in->at, about->cols, size);
      in->at += about->cols * size;
    }
  }
  return FURROW_OK;
}

static furrow_status read_feature(fw_net *net, uint64_t key, snapshot *in, furrow_error *err) {
  const size_t size = fw_net_element_size(net);
  furrow_status status = fw_net_is_open(net) ? fw_net_make_feature(net, key, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < fw_net_parameters(net); i++) {
    const fw_parameter *about = fw_net_parameter(net, i);
    for (size_t array = 0; about->by_feature && array <= about->state; array++) {
      fw_snapshot_copy(fw_net_feature(net, i, key, array), in->bytes + in->at, about->rows, size);
      in->at += about->rows * size;
    }
  }
  return status;
}

/* `known`: the features of a net whose range is known. */
static furrow_status read_records(fw_net *net, snapshot *in, const uint64_t *known, furrow_error *err) {
  const bool open = fw_net_is_open(net);
  const int64_t range = fw_net_plan(net)->data.range;
  const size_t bytes = feature_bytes(net), key_size = open ? sizeof(uint64_t) : 0;
  const uint64_t count = fw_get_le64(in->bytes + in->at);
  in->at += sizeof count;
  if (bytes + key_size == 0) return FURROW_OK;
  if (!has_bytes(in, count, bytes + key_size)) return fail_snapshot(in, err, "the parameters end inside the features");
  const unsigned char *key_bytes = in->bytes + in->at;
  in->at += count * key_size;
  uint64_t before = 0;
  furrow_status status = FURROW_OK;
  for (uint64_t i = 0; status == FURROW_OK && i < count; i++) {
    const uint64_t key = open ? fw_get_le64(key_bytes + 8 * i) : known ? known[i] : i;
    if (i > 0 && key <= before) return fail_snapshot(in, err, "the features do not ascend");
    if (range > 0 && key >= (uint64_t)range) return fail_snapshot(in, err, "a feature is beyond the model's range");
    if (!fw_net_owns(net, key)) return fail_snapshot(in, err, "a feature is that of another rank");
    before = key;
    if (in->fill) status = read_feature(net, key, in, err);
  }
  if (!in->fill) in->at += count * bytes;
  return status;
}

/* The number of features must be that of the bytes behind it, and that of the range where it is known. */
static furrow_status read_features(fw_net *net, snapshot *in, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t known = 0;
  if (!has_bytes(in, 1, sizeof(uint64_t))) return fail_snapshot(in, err, "the parameters end before the features");
  if (fw_net_is_open(net)) return read_records(net, in, NULL, err);
  FW_TRY(fw_net_features(net, &keys, &known, err));
  furrow_status status = fw_get_le64(in->bytes + in->at) == known
                             ? read_records(net, in, keys, err)
                             : fail_snapshot(in, err, "the number of features is not that of the model's range");
  fw_free(keys);
  return status;
}

static furrow_status read_snapshot(fw_net *net, snapshot *in, furrow_error *err) {
  furrow_status status = read_dense(net, in, err);
  if (status == FURROW_OK) status = read_features(net, in, err);
  if (status == FURROW_OK && in->at != in->size) status = fail_snapshot(in, err, "bytes follow the parameters");
  return status;
}

furrow_status fw_net_snapshot_check(fw_net *net, const unsigned char *bytes, size_t size, furrow_error *err) {
  return read_snapshot(net, &(snapshot){bytes, size, 0, false}, err);
}

furrow_status fw_net_snapshot_read(fw_net *net, const unsigned char *bytes, size_t size, furrow_error *err) {
  return read_snapshot(net, &(snapshot){bytes, size, 0, true}, err);
}

/* ---- For checkpoints ---- */

static furrow_status write_snapshot(const void *object, fw_snapshot_sink sink, void *to, furrow_error *err) {
  return fw_net_snapshot_write(object, sink, to, err);
}

static furrow_status restore_snapshot(void *object, const unsigned char *bytes, size_t size, furrow_error *err) {
  return fw_net_snapshot_read(object, bytes, size, err);
}

static furrow_status check_snapshot(void *object, const unsigned char *bytes, size_t size, furrow_error *err) {
  return fw_net_snapshot_check(object, bytes, size, err);
}

fw_snapshot_ops fw_net_snapshot_ops(fw_net *net) {
  return (fw_snapshot_ops){.plan = fw_net_plan(net),
                           .element = fw_net_element_size(net),
                           .object = net,
                           .write = write_snapshot,
                           .read = restore_snapshot,
                           .check = check_snapshot};
}
