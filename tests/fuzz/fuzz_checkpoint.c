/* tests/fuzz/fuzz_checkpoint.c: checkpoints of trainings from hostile bytes.
 *
 * The first byte of the input chooses the net and what to do with the rest: bit 0 leaves it as it is; otherwise what
 * can be known of the header is made right (magic, version, digests, configuration), so that the parts behind it are
 * reached. What is taken is saved as the same bytes.
 *
 * Bit 2: a checkpoint of two ranks. Four more bytes are the sizes of the file that names the parts and of the first
 * part; the second part is the rest. */
#include <string.h>
#include <xxhash.h>

#include "base/endian.h"
#include "fuzz/harness/fuzz_check.h"
#include "learn/checkpoint/checkpoint.h"
#include "learn/data/minibatch.h"
#include "learn/parameters/snapshot.h"

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

static void complete_header(uint8_t *file, size_t size, const fw_parameters *net) {
  uint64_t fingerprint;
  check(fw_plan_fingerprint(net->plan, &fingerprint, NULL) == FURROW_OK);
  memcpy(file, FW_CHECKPOINT_MAGIC, 8);
  fw_put_le32(file + 8, FW_CHECKPOINT_VERSION);
  fw_put_le32(file + 12, (uint32_t)net->element);
  fw_put_le64(file + 16, size - FW_CHECKPOINT_HEADER);
  fw_put_le64(file + 24, XXH3_64bits(file + FW_CHECKPOINT_HEADER, size - FW_CHECKPOINT_HEADER));
  fw_put_le64(file + 32, fingerprint);
  fw_put_le64(file + 88, XXH3_64bits(file, 88));
}

static furrow_status append(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

/* The file that a training would write. */
static void save_again(const fw_checkpoint *checkpoint, fw_parameters *net, const uint8_t *file, size_t size) {
  const fw_snapshot_ops snapshot_ops = fw_parameters_snapshot_ops(net);
  char folder[TEST_PATH], path[TEST_PATH];
  fuzz_folder(folder, "saved");
  check(fw_checkpoint_save(folder, checkpoint, &snapshot_ops, fw_comm_self(), NULL) == FURROW_OK);
  FILE *saved = fopen(fuzz_folder(path, "saved/checkpoint"), "rb");
  uint8_t *bytes = malloc(size + 1);
  check(saved && bytes && fread(bytes, 1, size + 1, saved) == size && memcmp(bytes, file, size) == 0);
  fclose(saved);
  free(bytes);
}

static void decode(const uint8_t *file, size_t size, fw_parameters *net) {
  fw_checkpoint checkpoint = {0};
  furrow_error err;
  const fw_snapshot_ops snapshot_ops = fw_parameters_snapshot_ops(net);
  const furrow_status status = fw_checkpoint_decode(file, size, &checkpoint, &snapshot_ops, &err);
  if (status == FURROW_OK) {
    fw_buffer again = {0};
    check(fw_parameters_snapshot_write(net, append, &again, NULL) == FURROW_OK);
    const size_t at = FW_CHECKPOINT_HEADER + checkpoint.epochs * FW_CHECKPOINT_EPOCH;
    check(again.size + checkpoint.best_snapshot.size == size - at);
    check(memcmp(again.bytes, file + at, again.size) == 0);
    fw_buffer_clear(&again);
    save_again(&checkpoint, net, file, size);
  } else {
    check(status == FURROW_E_FORMAT || status == FURROW_E_STALE);
    check(err.offset <= size);
  }
  fw_checkpoint_clear(&checkpoint);
}

/* ---- Two parts ---- */

enum { PARTS = 2, TABLE = 8 + 16 * PARTS };
#define PART_ID UINT64_C(0x0123456789abcdef)
#define FOLDER "memory://fuzz"

typedef struct some_bytes {
  uint8_t *bytes;
  size_t size;
} some_bytes;

/* At least so many bytes, zeros behind those that there are. */
static some_bytes copy_bytes(const uint8_t *data, size_t size, size_t least) {
  some_bytes made = {NULL, size < least ? least : size};
  made.bytes = calloc(1, made.size ? made.size : 1);
  check(made.bytes != NULL);
  if (size) memcpy(made.bytes, data, size);
  return made;
}

static void complete_part(some_bytes *part, const some_bytes *names, uint32_t rank, const fw_parameters *net) {
  uint8_t *header = part->bytes;
  complete_header(header, part->size, net);
  memcpy(header, FW_CHECKPOINT_PART_MAGIC, 8);
  fw_put_le32(header + 8, FW_CHECKPOINT_PARTS_VERSION);
  memcpy(header + 40, names->bytes + 40, 8); /* steps */
  fw_put_le32(header + 48, rank);
  fw_put_le32(header + 52, PARTS);
  fw_put_le64(header + 72, 0);
  fw_put_le64(header + 80, PART_ID);
  fw_put_le64(header + 88, XXH3_64bits(header, 88));
}

static void complete_names(some_bytes *names, const some_bytes parts[PARTS], const fw_parameters *net) {
  uint8_t *table = names->bytes + names->size - TABLE;
  fw_put_le64(table, PART_ID);
  for (size_t i = 0; i < PARTS; i++) memcpy(table + 8 + 16 * i, parts[i].bytes + 16, 16);
  complete_header(names->bytes, names->size, net);
  fw_put_le32(names->bytes + 8, FW_CHECKPOINT_PARTS_VERSION);
  fw_put_le64(names->bytes + 56, TABLE);
  fw_put_le64(names->bytes + 64, 0);
  fw_put_le32(names->bytes + 76, PARTS);
  fw_put_le64(names->bytes + 88, XXH3_64bits(names->bytes, 88));
}

static void load_parts(fw_parameters *net, const some_bytes parts[PARTS]) {
  fw_checkpoint checkpoint = {0};
  furrow_error err;
  const fw_snapshot_ops snapshot_ops = fw_parameters_snapshot_ops(net);
  const furrow_status status = fw_checkpoint_load(FOLDER, &checkpoint, &snapshot_ops, fw_comm_self(), &err);
  if (status == FURROW_OK) {
    fw_buffer again = {0};
    check(fw_parameters_snapshot_write(net, append, &again, NULL) == FURROW_OK);
    check(again.size + 8 == fw_get_le64(parts[0].bytes + 56) + fw_get_le64(parts[1].bytes + 56));
    check(fw_parameters_snapshot_check(net, (const unsigned char *)again.bytes, again.size, NULL) == FURROW_OK);
    fw_buffer_clear(&again);
  } else {
    check(status == FURROW_E_FORMAT || status == FURROW_E_STALE);
  }
  fw_checkpoint_clear(&checkpoint);
}

/* Files in memory, which the reader finds by the names of a checkpoint and its parts. */
static void decode_parts(const uint8_t *data, size_t size, bool complete, fw_parameters *net) {
  static const char *const paths[] = {FOLDER "/checkpoint", FOLDER "/checkpoint.0123456789abcdef.0-of-2",
                                      FOLDER "/checkpoint.0123456789abcdef.1-of-2"};
  if (size < 4) return;
  size_t first = data[0] | (size_t)data[1] << 8, second = data[2] | (size_t)data[3] << 8;
  data += 4;
  size -= 4;
  if (first > size) first = size;
  if (second > size - first) second = size - first;
  const size_t least = complete ? FW_CHECKPOINT_HEADER : 0;
  some_bytes names = copy_bytes(data, first, complete ? least + TABLE : 0);
  some_bytes parts[PARTS] = {copy_bytes(data + first, second, least),
                             copy_bytes(data + first + second, size - first - second, least)};
  for (uint32_t i = 0; complete && i < PARTS; i++) complete_part(&parts[i], &names, i, net);
  if (complete) complete_names(&names, parts, net);
  const some_bytes *const files[] = {&names, &parts[0], &parts[1]};
  for (size_t i = 0; i < 3; i++)
    check(furrow_memory_file_add(paths[i], files[i]->bytes, files[i]->size, NULL, NULL, NULL) == FURROW_OK);
  load_parts(net, parts);
  for (size_t i = 0; i < 3; i++) {
    check(furrow_memory_file_remove(paths[i], NULL) == FURROW_OK);
    free(files[i]->bytes);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fw_plan *plans[2];
  if (!plans[0]) {
    plans[0] = make_plan("5", "T_FLOAT_DENSE");
    plans[1] = make_plan("-1", "T_DOUBLE_SPARSE");
  }
  if (size < 1) return 0;
  const bool complete = !(data[0] & 1);
  fw_parameters *net = NULL;
  const fw_parameters_params params = {.training = true};
  check(fw_parameters_create(&net, plans[data[0] >> 1 & 1], &params, NULL) == FURROW_OK);
  size--;
  if (data[0] & 4) {
    decode_parts(data + 1, size, complete, net);
    fw_parameters_free(net);
    return 0;
  }
  const size_t bytes = complete && size < FW_CHECKPOINT_HEADER ? FW_CHECKPOINT_HEADER : size;
  uint8_t *file = calloc(1, bytes ? bytes : 1);
  check(file != NULL);
  memcpy(file, data + 1, size);
  if (complete) complete_header(file, bytes, net);
  decode(file, bytes, net);
  free(file);
  fw_parameters_free(net);
  return 0;
}
