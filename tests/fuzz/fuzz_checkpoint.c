/* tests/fuzz/fuzz_checkpoint.c: checkpoints of trainings from hostile bytes.
 *
 * The first byte of the input chooses the net and what to do with the rest: bit 0 leaves it as it is; otherwise what
 * can be known of the header is made right (magic, version, digests, configuration), so that the parts behind it are
 * reached. What is taken must write the same parameters again. */
#include <string.h>
#include <xxhash.h>

#include "base/endian.h"
#include "fuzz/fuzz_check.h"
#include "learn/data/minibatch.h"
#include "learn/net/snapshot.h"
#include "learn/train/checkpoint.h"

static fw_plan *make_plan(const char *range, const char *type) {
  furrow_learn_conf *conf = NULL;
  fw_plan *plan = NULL;
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  check(furrow_learn_conf_set_algorithm(conf, "fm", NULL) == FURROW_OK);
  check(furrow_learn_conf_set(conf, "rank", "2", NULL) == FURROW_OK);
  check(furrow_learn_conf_set(conf, "range", range, NULL) == FURROW_OK);
  check(furrow_learn_conf_set(conf, "model-type", type, NULL) == FURROW_OK);
  check(fw_plan_of_conf(&plan, conf, NULL) == FURROW_OK);
  furrow_learn_conf_free(conf);
  return plan;
}

static void complete_header(uint8_t *file, size_t size, const fw_net *net) {
  uint64_t fingerprint;
  check(fw_plan_fingerprint(fw_net_plan(net), &fingerprint, NULL) == FURROW_OK);
  memcpy(file, FW_CHECKPOINT_MAGIC, 8);
  fw_put_le32(file + 8, FW_CHECKPOINT_VERSION);
  fw_put_le32(file + 12, (uint32_t)fw_net_element_size(net));
  fw_put_le64(file + 16, size - FW_CHECKPOINT_HEADER);
  fw_put_le64(file + 24, XXH3_64bits(file + FW_CHECKPOINT_HEADER, size - FW_CHECKPOINT_HEADER));
  fw_put_le64(file + 32, fingerprint);
  fw_put_le64(file + 88, XXH3_64bits(file, 88));
}

static furrow_status append(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

static void decode(const uint8_t *file, size_t size, fw_net *net) {
  fw_checkpoint checkpoint = {0};
  furrow_error err;
  const fw_snapshot_ops snapshot_ops = fw_net_snapshot_ops(net);
  const furrow_status status = fw_checkpoint_decode(file, size, &checkpoint, &snapshot_ops, &err);
  if (status == FURROW_OK) {
    fw_buffer again = {0};
    check(fw_net_snapshot_write(net, append, &again, NULL) == FURROW_OK);
    const size_t at = FW_CHECKPOINT_HEADER + checkpoint.epochs * FW_CHECKPOINT_EPOCH;
    check(again.size + checkpoint.best_snapshot.size == size - at);
    check(memcmp(again.bytes, file + at, again.size) == 0);
    fw_buffer_clear(&again);
  } else {
    check(status == FURROW_E_FORMAT || status == FURROW_E_STALE);
    check(err.offset <= size);
  }
  fw_checkpoint_clear(&checkpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fw_plan *plans[2];
  if (!plans[0]) {
    plans[0] = make_plan("5", "T_FLOAT_DENSE");
    plans[1] = make_plan("-1", "T_DOUBLE_SPARSE");
  }
  if (size < 1) return 0;
  const bool complete = !(data[0] & 1);
  fw_net *net = NULL;
  const fw_net_params params = {.training = true};
  check(fw_net_create(&net, plans[data[0] >> 1 & 1], &params, NULL) == FURROW_OK);
  size--;
  const size_t bytes = complete && size < FW_CHECKPOINT_HEADER ? FW_CHECKPOINT_HEADER : size;
  uint8_t *file = calloc(1, bytes ? bytes : 1);
  check(file != NULL);
  memcpy(file, data + 1, size);
  if (complete) complete_header(file, bytes, net);
  decode(file, bytes, net);
  free(file);
  fw_net_free(net);
  return 0;
}
