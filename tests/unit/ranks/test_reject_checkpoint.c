/* tests/unit/ranks/test_reject_checkpoint.c: every check of a checkpoint refuses its own mistake: the place and the
 * message, in a file that is right otherwise. Files of two ranks are in memory. */
#include <inttypes.h>
#include <xxhash.h>

#include "base/endian.h"
#include "learn/checkpoint/checkpoint.h"
#include "learn/data/minibatch.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { EPOCHS = 2, RANGE = 5, PARTS = 2, TABLE = 8 + 16 * PARTS, AT_EPOCH = FW_CHECKPOINT_HEADER };
enum { AT_SNAPSHOT = AT_EPOCH + EPOCHS * FW_CHECKPOINT_EPOCH, STEPS = 7 };
#define PART_ID UINT64_C(0x0123456789abcdef)
#define FOLDER "memory://reject"

typedef struct file {
  unsigned char bytes[8192];
  size_t size;
} file;

static fw_plan *plan;
static fw_parameters *net;
static fw_buffer snapshot; /* of the net */
static fw_snapshot_ops ops;

static furrow_status append(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

static int make_net(void **state) {
  (void)state;
  furrow_learn_conf *conf = NULL;
  const fw_parameters_params params = {.training = true};
  assert_int_equal(furrow_learn_conf_create(&conf, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "rank", "2", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "range", "5", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "model-type", "T_FLOAT_DENSE", NULL), FURROW_OK);
  assert_int_equal(fw_plan_of_conf(&plan, conf, NULL), FURROW_OK);
  furrow_learn_conf_free(conf);
  assert_int_equal(fw_parameters_create(&net, plan, &params, NULL), FURROW_OK);
  assert_int_equal(fw_parameters_snapshot_write(net, append, &snapshot, NULL), FURROW_OK);
  ops = fw_parameters_snapshot_ops(net);
  return 0;
}

static int free_net(void **state) {
  (void)state;
  fw_buffer_clear(&snapshot);
  fw_parameters_free(net);
  fw_plan_free(plan);
  return 0;
}

/* ---- Files ---- */

static void put(file *f, const void *bytes, size_t size) {
  assert_true(f->size + size <= sizeof f->bytes);
  if (size) memcpy(f->bytes + f->size, bytes, size);
  f->size += size;
}

static void seal_header(file *f) {
  fw_put_le64(f->bytes + 88, XXH3_64bits(f->bytes, 88));
}

static void seal_payload(file *f) {
  const size_t payload = f->size - FW_CHECKPOINT_HEADER;
  fw_put_le64(f->bytes + 16, payload);
  fw_put_le64(f->bytes + 24, XXH3_64bits(f->bytes + FW_CHECKPOINT_HEADER, payload));
  seal_header(f);
}

static void put_header(file *f, const char *magic, uint32_t version, uint64_t snapshot_bytes, uint64_t best_bytes) {
  uint64_t fingerprint = 0;
  assert_int_equal(fw_plan_fingerprint(plan, &fingerprint, NULL), FURROW_OK);
  memset(f, 0, sizeof *f);
  memcpy(f->bytes, magic, 8);
  fw_put_le32(f->bytes + 8, version);
  fw_put_le32(f->bytes + 12, (uint32_t)ops.element);
  fw_put_le64(f->bytes + 32, fingerprint);
  fw_put_le64(f->bytes + 40, STEPS);
  fw_put_le64(f->bytes + 56, snapshot_bytes);
  fw_put_le64(f->bytes + 64, best_bytes);
  f->size = FW_CHECKPOINT_HEADER;
}

static void put_history(file *f) {
  fw_put_le32(f->bytes + 48, EPOCHS);
  for (uint32_t i = 0; i < EPOCHS; i++) {
    unsigned char epoch[FW_CHECKPOINT_EPOCH] = {0};
    fw_put_le32(epoch, i + 1);
    put(f, epoch, sizeof epoch);
  }
}

static void put_whole(file *f, size_t best_bytes) {
  put_header(f, FW_CHECKPOINT_MAGIC, FW_CHECKPOINT_VERSION, snapshot.size, best_bytes);
  put_history(f);
  put(f, snapshot.bytes, snapshot.size);
  put(f, snapshot.bytes, best_bytes);
  seal_payload(f);
}

typedef enum sealed { NOTHING, HEADER, ALL } sealed;

typedef struct lie {
  size_t at, width;
  uint64_t value;
  sealed sealed;
  furrow_status status;
  uint64_t offset;
  const char *message;
} lie;

#define REFUSED FURROW_E_FORMAT
#define TAKEN FURROW_OK, 0, NULL

static void tell_lie(file *f, const lie *l) {
  unsigned char bytes[8];
  fw_put_le64(bytes, l->value);
  memcpy(f->bytes + l->at, bytes, l->width);
  if (l->sealed == HEADER) seal_header(f);
  if (l->sealed == ALL) seal_payload(f);
}

static void check(const lie *l, furrow_status status, const furrow_error *err) {
  const bool good =
      status == l->status && (!l->message || (err->offset == l->offset && strstr(err->message, l->message)));
  if (!good)
    fail_msg("byte %zu = %" PRIu64 ": %s, byte %" PRIu64 ": %s", l->at, l->value, furrow_status_name(status),
             err->offset, err->message);
}

static void decode(const file *f, const lie *l) {
  fw_checkpoint checkpoint = {0};
  furrow_error err = {0};
  check(l, fw_checkpoint_decode(f->bytes, f->size, &checkpoint, &ops, &err), &err);
  fw_checkpoint_clear(&checkpoint);
  assert_int_equal(fw_checkpoint_decode(f->bytes, f->size, &checkpoint, &ops, NULL), l->status);
  fw_checkpoint_clear(&checkpoint);
}

/* ---- A whole checkpoint ---- */

static void fields_of_the_header(void **state) {
  (void)state;
  static const lie lies[] = {
      {0, 1, 'X', ALL, REFUSED, 0, "not a checkpoint of a training"},
      {8, 4, 1, ALL, REFUSED, 8, "is of version 1"},
      {8, 4, 4, ALL, REFUSED, 8, "is of version 4"},
      {40, 8, 9, NOTHING, REFUSED, 88, "its header's digest is wrong"},
      {40, 8, 9, HEADER, TAKEN},
      {76, 4, 1, ALL, REFUSED, 76, "unused bytes"},
      {16, 8, 1, HEADER, REFUSED, 16, "cut short or too long"},
      {AT_SNAPSHOT, 4, 1, NOTHING, REFUSED, 24, "its digest is wrong"},
      {48, 4, 1000, ALL, REFUSED, 48, "more epochs than the bytes can hold"},
      {48, 4, 1, ALL, REFUSED, 56, "do not add up"},
      {56, 8, 3, ALL, REFUSED, 56, "do not add up"},
      {64, 8, 3, ALL, REFUSED, 56, "do not add up"},
      {52, 4, EPOCHS, ALL, TAKEN},
      {52, 4, EPOCHS + 1, ALL, REFUSED, 52, "the best epoch is not one of the recorded epochs"},
      {72, 4, FW_HALVINGS_MAX, ALL, TAKEN},
      {72, 4, FW_HALVINGS_MAX + 1, ALL, REFUSED, 72, "halved more often"},
      {80, 8, STEPS, ALL, TAKEN},
      {80, 8, STEPS + 1, ALL, REFUSED, 80, "more updates than all"},
      {8, 4, FW_CHECKPOINT_PARTS_VERSION, ALL, REFUSED, 76, "the number of parts"},
      {32, 8, 1, ALL, FURROW_E_STALE, 32, "another configuration"},
      {12, 4, 8, ALL, FURROW_E_STALE, 32, "another configuration"},
      {AT_EPOCH, 4, 2, ALL, REFUSED, AT_EPOCH, "epoch 2 of the history is not 1"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    for (size_t best = 0; best < 2; best++) {
      file f;
      put_whole(&f, best * snapshot.size);
      tell_lie(&f, &lies[i]);
      decode(&f, &lies[i]);
    }
  }
}

/* Sizes that only add up because they overflow; a file of no more than its header. */
static void sizes_of_the_parts(void **state) {
  (void)state;
  static const lie overflow = {56, 0, 0, ALL, REFUSED, 56, "do not add up"};
  static const lie short_file = {0, 0, 0, NOTHING, REFUSED, 0, "not a checkpoint of a training"};
  static const lie empty = {
      0, 0, 0, NOTHING, REFUSED, FW_CHECKPOINT_HEADER, "the parameters end inside a layer's array"};
  file f;
  put_whole(&f, 0);
  fw_put_le64(f.bytes + 56, snapshot.size + 1);
  fw_put_le64(f.bytes + 64, UINT64_MAX);
  tell_lie(&f, &overflow);
  decode(&f, &overflow);
  f.size = FW_CHECKPOINT_HEADER - 1;
  decode(&f, &short_file);
  put_header(&f, FW_CHECKPOINT_MAGIC, FW_CHECKPOINT_VERSION, 0, 0);
  seal_payload(&f);
  decode(&f, &empty);
  put_header(&f, FW_CHECKPOINT_MAGIC, FW_CHECKPOINT_VERSION, 0, 0); /* as many epochs as there are bytes for */
  put_history(&f);
  seal_payload(&f);
  const lie no_snapshot = {0, 0, 0, NOTHING, REFUSED, AT_SNAPSHOT, "the parameters end inside a layer's array"};
  decode(&f, &no_snapshot);
}

/* A snapshot that is cut or too long, as parameters and as those of the best epoch. */
static void snapshots(void **state) {
  (void)state;
  const size_t dense = ops.dense_bytes, size = snapshot.size;
  const struct {
    size_t size, wrong;
    const char *message;
  } cuts[] = {{3, 0, "the parameters end inside a layer's array"},
              {dense + 7, dense, "the parameters end before the features"},
              {size - 1, dense + 8, "the parameters end inside the features"},
              {size + 1, size, "bytes follow the parameters"}};
  assert_true(dense > 0);
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    for (int best = 0; best < 2; best++) {
      file f;
      const size_t first = best ? size : cuts[i].size;
      const lie l = {0, 0, 0, ALL, REFUSED, AT_SNAPSHOT + (best ? size : 0) + cuts[i].wrong, cuts[i].message};
      put_header(&f, FW_CHECKPOINT_MAGIC, FW_CHECKPOINT_VERSION, first, best ? cuts[i].size : 0);
      put_history(&f);
      if (best) put(&f, snapshot.bytes, size);
      put(&f, snapshot.bytes, cuts[i].size < size ? cuts[i].size : size);
      if (cuts[i].size > size) put(&f, "", 1);
      seal_payload(&f);
      decode(&f, &l);
    }
  }
  file f;
  put_whole(&f, 0);
  const lie count = {AT_SNAPSHOT + dense,
                     8,
                     RANGE + 1,
                     ALL,
                     REFUSED,
                     AT_SNAPSHOT + dense,
                     "the number of features differs from the model's range"};
  tell_lie(&f, &count);
  decode(&f, &count);
}

/* ---- A checkpoint of two ranks ---- */

/* A rank has every second feature; the first has the dense arrays, too. */
static void put_features(file *f, uint64_t rank) {
  const unsigned char *at = (const unsigned char *)snapshot.bytes + ops.dense_bytes + 8;
  const size_t each = (snapshot.size - ops.dense_bytes - 8) / RANGE;
  unsigned char count[8];
  fw_put_le64(count, rank ? RANGE / 2 : RANGE - RANGE / 2);
  if (rank == 0) put(f, snapshot.bytes, ops.dense_bytes);
  put(f, count, 8);
  for (uint64_t key = rank; key < RANGE; key += PARTS) put(f, at + key * each, each);
}

static void put_part(file *f, uint32_t rank, bool best) {
  put_header(f, FW_CHECKPOINT_PART_MAGIC, FW_CHECKPOINT_PARTS_VERSION, 0, 0);
  put_features(f, rank);
  fw_put_le64(f->bytes + 56, f->size - FW_CHECKPOINT_HEADER);
  if (best) put_features(f, rank);
  fw_put_le64(f->bytes + 64, f->size - FW_CHECKPOINT_HEADER - fw_get_le64(f->bytes + 56));
  fw_put_le32(f->bytes + 48, rank);
  fw_put_le32(f->bytes + 52, PARTS);
  fw_put_le64(f->bytes + 80, PART_ID);
  seal_payload(f);
}

static void put_names(file *f, const file parts[PARTS]) {
  unsigned char table[TABLE];
  fw_put_le64(table, PART_ID);
  for (size_t i = 0; i < PARTS; i++) memcpy(table + 8 + 16 * i, parts[i].bytes + 16, 16);
  put_header(f, FW_CHECKPOINT_MAGIC, FW_CHECKPOINT_PARTS_VERSION, TABLE, 0);
  put_history(f);
  put(f, table, TABLE);
  fw_put_le32(f->bytes + 76, PARTS);
  seal_payload(f);
}

static void load(const file files[1 + PARTS], const lie *l) {
  static const char *const paths[] = {FOLDER "/checkpoint", FOLDER "/checkpoint.0123456789abcdef.0-of-2",
                                      FOLDER "/checkpoint.0123456789abcdef.1-of-2"};
  fw_checkpoint checkpoint = {0};
  furrow_error err = {0};
  for (size_t i = 0; i < 1 + PARTS; i++)
    if (files[i].size > 0)
      assert_int_equal(furrow_memory_file_add(paths[i], files[i].bytes, files[i].size, NULL, NULL, NULL), FURROW_OK);
  check(l, fw_checkpoint_load(FOLDER, &checkpoint, &ops, fw_comm_self(), &err), &err);
  fw_checkpoint_clear(&checkpoint);
  assert_int_equal(fw_checkpoint_load(FOLDER, &checkpoint, &ops, fw_comm_self(), NULL), l->status);
  for (size_t i = 0; i < 1 + PARTS; i++)
    if (files[i].size > 0) assert_int_equal(furrow_memory_file_remove(paths[i], NULL), FURROW_OK);
  fw_checkpoint_clear(&checkpoint);
}

/* The parts know what the file that names them says, and the other way round. */
static void fields_of_parts(void **state) {
  (void)state;
  static const struct {
    size_t file; /* 0: the one that names the parts */
    lie lie;
  } lies[] = {
      {0, {40, 8, STEPS, ALL, TAKEN}},
      {0, {76, 4, 0, ALL, REFUSED, 76, "the number of parts"}},
      {0, {76, 4, 3, ALL, REFUSED, 76, "the number of parts"}},
      {0, {AT_SNAPSHOT, 8, 1, ALL, REFUSED, FURROW_NO_OFFSET, "part 0-of-2 of the checkpoint is missing"}},
      {0, {AT_SNAPSHOT + 8, 8, 1, ALL, REFUSED, 80, "the part is of another checkpoint"}},
      {0, {AT_SNAPSHOT + 32, 8, 1, ALL, REFUSED, 80, "the part is of another checkpoint"}},
      {0, {AT_SNAPSHOT + 32, 8, 1, NOTHING, REFUSED, 24, "its digest is wrong"}},
      {1, {0, 8, 1, ALL, REFUSED, 0, "not a checkpoint's part of a training"}},
      {1, {8, 4, FW_CHECKPOINT_VERSION, ALL, REFUSED, 8, "is of version 2"}},
      {1, {76, 4, 1, ALL, REFUSED, 76, "unused bytes"}},
      {1, {72, 4, 1, ALL, REFUSED, 72, "unused bytes"}},
      {1, {48, 4, 1, ALL, REFUSED, 48, "the part is 1-of-2, not 0-of-2"}},
      {2, {48, 4, 0, ALL, REFUSED, 48, "the part is 0-of-2, not 1-of-2"}},
      {2, {52, 4, 3, ALL, REFUSED, 48, "the part is 1-of-3, not 1-of-2"}},
      {1, {80, 8, 1, ALL, REFUSED, 80, "the part is of another checkpoint"}},
      {1, {32, 8, 1, ALL, REFUSED, 80, "the part is of another checkpoint"}},
      {1, {40, 8, 1, ALL, REFUSED, 80, "the part is of another checkpoint"}},
      {1, {12, 4, 8, ALL, REFUSED, 80, "the part is of another checkpoint"}},
      {1, {56, 8, 3, ALL, REFUSED, 56, "do not add up"}},
      {2, {64, 8, 3, ALL, REFUSED, 56, "do not add up"}},
      {2, {FW_CHECKPOINT_HEADER + 20, 4, 1, NOTHING, REFUSED, 24, "its digest is wrong"}},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    for (int best = 0; best < 2; best++) {
      file files[1 + PARTS];
      for (uint32_t rank = 0; rank < PARTS; rank++) put_part(&files[1 + rank], rank, best);
      put_names(&files[0], files + 1);
      tell_lie(&files[lies[i].file], &lies[i].lie);
      load(files, &lies[i].lie);
    }
  }
}

static void parts_that_differ(void **state) {
  (void)state;
  static const lie best = {0, 0, 0, NOTHING, REFUSED, 64, "some parts have a best epoch, and some have none"};
  static const lie overflow = {0, 0, 0, NOTHING, REFUSED, 56, "do not add up"};
  static const lie missing = {0, 0, 0, NOTHING, REFUSED, FURROW_NO_OFFSET, "part 1-of-2 of the checkpoint is missing"};
  static const lie elsewhere = {0, 0, 0, NOTHING, REFUSED, 76, "has its parameters in other files"};
  file files[1 + PARTS];
  for (uint32_t rank = 0; rank < PARTS; rank++) put_part(&files[1 + rank], rank, rank == 0);
  put_names(&files[0], files + 1);
  load(files, &best);
  decode(&files[0], &elsewhere);
  put_part(&files[2], 1, true);
  put_names(&files[0], files + 1);
  fw_put_le64(files[2].bytes + 56, files[2].size - FW_CHECKPOINT_HEADER + 1);
  fw_put_le64(files[2].bytes + 64, UINT64_MAX);
  seal_header(&files[2]);
  load(files, &overflow);
  files[2].size = 0;
  load(files, &missing);
}

/* ---- What trainings that were killed have left ---- */

typedef enum folder_state { NO_CHECKPOINT, WHOLE, NAMES_PARTS, DAMAGED, FOLDER_STATES } folder_state;

static void write_state(folder_state folder) {
  file files[1 + PARTS];
  for (uint32_t rank = 0; rank < PARTS; rank++) put_part(&files[1 + rank], rank, false);
  if (folder == WHOLE)
    put_whole(&files[0], 0);
  else
    put_names(&files[0], files + 1);
  if (folder == DAMAGED) files[0].bytes[40] ^= 1;
  if (folder != NO_CHECKPOINT) assert_true(test_write_file("checkpoint", files[0].bytes, files[0].size));
}

/* Parts go that no checkpoint names, and temporary files; whatever else looks a little like them stays. */
static void tidied_folders(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned stays; /* a bit for each state */
  } files[] = {
      {"checkpoint.0123456789abcdef.0-of-2", 1 << NAMES_PARTS | 1 << DAMAGED},
      {"checkpoint.0123456789abcdee.1-of-2", 1 << DAMAGED},
      {".checkpoint.furrow-1a2b3c4d", 0},
      {".checkpoint.0123456789abcdef.0-of-2.furrow-aaaaaa", 0},
      {"checkpoint.0123456789abcdef.0-of-2.bak", 15},
      {"checkpoint.0123456789abcdef.0-of-", 15},
      {"checkpoint.0123456789abcde.0-of-2", 15},
      {"checkpoint.0123456789abcdef0.0-of-2", 15},
      {"checkpoint.0123456789ABCDEF.0-of-2", 15},
      {"checkpoint-0123456789abcdef.0-of-2", 15},
      {"bheckpoint.0123456789abcdef.0-of-2", 15},
      {".bheckpoint.0123456789abcdef.0-of-2.furrow-aaaaaa", 15},
      {".checkpoint.0123456789abcdef.0-of-2.bak", 15},
      {".checkpoint.0123456789abcdef.0-of-2x.furrow-aaaaaa", 15},
      {".checkpoint.notes", 15},
  };
  for (folder_state folder = NO_CHECKPOINT; folder < FOLDER_STATES; folder++) {
    write_state(folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) assert_true(test_write_file(files[i].name, "x", 1));
    assert_int_equal(fw_checkpoint_tidy(".", fw_comm_self(), NULL), FURROW_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
      const bool stays = files[i].stays >> folder & 1;
      if ((access(files[i].name, F_OK) == 0) != stays)
        fail_msg("state %d: %s %s", (int)folder, files[i].name, stays ? "is gone" : "is still there");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_of_the_header),
      cmocka_unit_test(sizes_of_the_parts),
      cmocka_unit_test(snapshots),
      cmocka_unit_test(fields_of_parts),
      cmocka_unit_test(parts_that_differ),
      cmocka_unit_test_setup_teardown(tidied_folders, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, make_net, free_net);
}
