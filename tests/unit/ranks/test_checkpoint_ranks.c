/* tests/unit/ranks/test_checkpoint_ranks.c: checkpoints of several ranks, which here are threads: continued by any
 * other number of ranks, and refused where a part is wrong. */
#include <dirent.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/endian.h"
#include "support/made_clicks.h"
#include "support/rank_nets.h"

static fw_plan *plans[2]; /* open, with a range */

static int make_plans(void **state) {
  for (size_t i = 0; i < 2; i++) plans[i] = rank_plan(i == 0);
  return enter_dir(state) == 0 && write_clicks("few", 300, 2, 1) && write_clicks("reverse", 300, 3, -1) ? 0 : -1;
}

static int free_plans(void **state) {
  for (size_t i = 0; i < 2; i++) fw_plan_free(plans[i]);
  return leave_dir(state);
}

/* ---- Another number of ranks ---- */

static void any_number_of_ranks_goes_on(void **state) {
  (void)state;
  uint64_t salt = 0;
  for (size_t p = 0; p < 2; p++)
    for (unsigned from = 1; from <= RANK_NETS; from++)
      for (unsigned to = 1; to <= RANK_NETS; to++) {
        rank_net what = {.plan = plans[p], .folder = "any", .salt = ++salt, .keeps_best = (from + to) % 2};
        rank_nets_save(from, &what);
        assert_int_equal(test_entries("any"), from == 1 ? 1 : 1 + (int)from); /* older parts are gone */
        assert_int_equal(rank_nets_salt(to, &what), salt);
      }
}

/* ---- Trainings ---- */

typedef struct training {
  furrow_comm comm;
  const char *settings, *folder;
  uint32_t last; /* it stops behind this epoch; 0: it does not */
  furrow_trainer *trainer;
  furrow_status status;
  furrow_error error;
} training;

static furrow_status stop_after(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)e;
  return epoch->epoch == *(const uint32_t *)user ? FURROW_END : FURROW_OK;
}

static void *go_on(void *item) {
  training *t = item;
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_fit_params fit;
  furrow_trainer_params_init(&params);
  furrow_trainer_fit_params_init(&fit);
  params.threads = 1;
  params.comm = &t->comm;
  fit.checkpoint = t->folder;
  fit.keep_best = fit.resume = true;
  fit.epoch = stop_after;
  fit.epoch_user = &t->last;
  fit.patience = 3;
  t->status = furrow_learn_conf_create(&conf, &t->error);
  if (t->status == FURROW_OK) t->status = furrow_learn_conf_set_algorithm(conf, "fm", &t->error);
  if (t->status == FURROW_OK) conf_set_all(conf, t->settings);
  if (t->status == FURROW_OK) t->status = furrow_trainer_create(&t->trainer, conf, &params, &t->error);
  if (t->status == FURROW_OK) t->status = furrow_trainer_fit(t->trainer, "few", "reverse", &fit, &t->error);
  furrow_learn_conf_free(conf);
  return NULL;
}

static void train_by(training *items, unsigned ranks, const char *settings, const char *folder, uint32_t last) {
  for (unsigned r = 0; r < ranks; r++)
    items[r] = (training){.comm = thread_comm(r, ranks), .settings = settings, .folder = folder, .last = last};
  run_threads(ranks, go_on, items, sizeof *items);
  for (unsigned r = 0; r < ranks; r++)
    if (items[r].status != FURROW_OK) fail_msg("rank %u: %s: %s", r, items[r].error.file, items[r].error.message);
}

static void free_trainings(training *items, unsigned ranks) {
  for (unsigned r = 0; r < ranks; r++) furrow_trainer_free(items[r].trainer);
}

/* Every number of one process's net is that of the rank that has the feature. */
static void assert_same_nets(const training *one, const training *many, unsigned ranks) {
  const fw_parameters *net = one->trainer->parameters;
  const size_t size = net->element;
  uint64_t *keys = NULL, all = 0;
  size_t count = 0;
  assert_int_equal(fw_parameters_keys(net, &keys, &count, NULL), FURROW_OK);
  for (unsigned r = 0; r < ranks; r++) all += fw_parameters_feature_count(many[r].trainer->parameters);
  assert_int_equal(all, count);
  for (size_t p = 0; p < net->count; p++) {
    const fw_parameter *about = &net->list[p];
    for (size_t array = 0; array <= about->state; array++) {
      for (unsigned r = 0; !about->by_feature && r < ranks; r++)
        assert_memory_equal(fw_parameters_dense(net, p, array),
                            fw_parameters_dense(many[r].trainer->parameters, p, array), about->cols * size);
      for (size_t f = 0; about->by_feature && f < count; f++) {
        const uint64_t key = keys ? keys[f] : f;
        assert_memory_equal(fw_parameters_feature(net, p, key, array),
                            fw_parameters_feature(many[key % ranks].trainer->parameters, p, key, array),
                            about->rows * size);
      }
    }
  }
  fw_free(keys);
}

/* A training stops, and as many other ranks go on: what comes out is what one process makes without a break. The best
 * epoch is the first, of rows whose labels are turned round: it comes from the checkpoint. */
static void a_training_goes_on_with_other_ranks(void **state) {
  (void)state;
  static const char *const settings[] = {
      "defaults=angel shuffle=yes lr=0.05 rank=4 epochs=5 batch=50 optimizer=Adam",
      "defaults=angel shuffle=yes lr=0.05 rank=4 epochs=5 batch=50 range=120",
      "defaults=angel lr=0.01 rank=3 epochs=5 batch=33 optimizer=Momentum model-type=T_DOUBLE_SPARSE"};
  static const unsigned ways[][2] = {{1, 3}, {3, 1}, {2, 3}, {3, 2}, {2, 2}};
  for (size_t i = 0; i < 15; i++) {
    training one, some[RANK_NETS], more[RANK_NETS];
    const unsigned from = ways[i % 5][0], to = ways[i % 5][1];
    char folder[16];
    snprintf(folder, sizeof folder, "fit%zu", i);
    train_by(&one, 1, settings[i / 5], NULL, 0);
    train_by(some, from, settings[i / 5], folder, 2);
    train_by(more, to, settings[i / 5], folder, 0);
    assert_int_equal(furrow_trainer_best_epoch(one.trainer), 1);
    assert_int_equal(furrow_trainer_epoch_count(one.trainer), 4);
    for (unsigned r = 0; r < to; r++) {
      assert_int_equal(furrow_trainer_epoch_count(more[r].trainer), 4);
      assert_int_equal(furrow_trainer_best_epoch(more[r].trainer), 1);
    }
    assert_same_nets(&one, more, to);
    free_trainings(&one, 1);
    free_trainings(some, from);
    free_trainings(more, to);
  }
}

/* ---- Files ---- */

/* One process: the format is that of one process. */
static void one_rank_writes_one_file(void **state) {
  (void)state;
  const rank_net what = {.plan = plans[0], .folder = "one", .salt = 3};
  rank_nets_save(1, &what);
  furrow_checkpoint_info *info = NULL;
  unsigned char header[FW_CHECKPOINT_HEADER];
  FILE *file = fopen("one/checkpoint", "rb");
  assert_true(file && fread(header, 1, sizeof header, file) == sizeof header);
  fclose(file);
  assert_int_equal(fw_get_le32(header + 8), FW_CHECKPOINT_VERSION);
  assert_int_equal(furrow_checkpoint_info_load(&info, "one", &err), FURROW_OK);
  const uint64_t bytes = info->bytes;
  furrow_checkpoint_info_free(info);
  rank_nets_save(3, &what);
  assert_int_equal(furrow_checkpoint_info_load(&info, "one", &err), FURROW_OK);
  assert_int_equal(info->epochs, 2);
  assert_int_equal(info->steps, 23);
  /* three headers, numbers of features and records more; the id in place of one number of features */
  assert_int_equal(info->bytes, bytes + 3 * (FW_CHECKPOINT_HEADER + 8 + 16));
  furrow_checkpoint_info_free(info);
}

/* Parts have new names in each checkpoint: they are as closed as the file that names them. */
static void parts_keep_the_mode(void **state) {
  (void)state;
  const mode_t before = umask(022);
  const rank_net what = {.plan = plans[0], .folder = "closed", .salt = 3},
                 other = {.plan = plans[0], .folder = "closed", .salt = 4};
  rank_nets_save(2, &what);
  assert_int_equal(system("test \"$(find closed -type f ! -perm 644)\" = '' && chmod 600 closed/*"), 0);
  rank_nets_save(2, &other);
  assert_int_equal(system("test \"$(find closed -type f ! -perm 600)\" = ''"), 0);
  umask(before);
}

/* What killed processes leave goes; what is not a checkpoint's stays. */
static void left_overs_are_removed(void **state) {
  (void)state;
  const rank_net what = {.plan = plans[0], .folder = "tidy", .salt = 4};
  static const char *const left[] = {"tidy/.checkpoint.furrow-AbCdEf", "tidy/checkpoint.0123456789abcdef.0-of-2",
                                     "tidy/.checkpoint.0123456789abcdef.1-of-2.furrow-AbCdEf"};
  static const char *const kept[] = {"tidy/.checkpoint.mine", "tidy/checkpoint.mine",
                                     "tidy/checkpoint.0123456789abcdef.0-of-2.old",
                                     "tidy/checkpoint.0123456789abcde.0-of-2"};
  rank_nets_save(2, &what);
  for (size_t i = 0; i < 3; i++) assert_true(test_write_text(left[i], "x"));
  for (size_t i = 0; i < 4; i++) assert_true(test_write_text(kept[i], "x"));
  assert_int_equal(rank_nets_salt(3, &what), 4);
  for (size_t i = 0; i < 3; i++) assert_int_not_equal(access(left[i], F_OK), 0);
  for (size_t i = 0; i < 4; i++) assert_int_equal(access(kept[i], F_OK), 0);
  assert_int_equal(test_entries("tidy"), 3 + 4);
}

/* Parts without the file that names them are not a checkpoint, on any rank. */
static void parts_alone_are_nothing(void **state) {
  (void)state;
  const rank_net what = {.plan = plans[0], .folder = "alone", .salt = 4};
  rank_net nets[3];
  rank_nets_save(2, &what);
  assert_int_equal(remove("alone/checkpoint"), 0);
  rank_nets_run(nets, 3, rank_load, &what);
  for (unsigned r = 0; r < 3; r++) assert_int_equal(nets[r].status, FURROW_E_NOT_FOUND);
  assert_int_equal(test_entries("alone"), 0);
  rank_nets_free(nets, 3);
}

/* ---- Parts that are wrong ---- */

typedef struct bytes_of {
  unsigned char bytes[1 << 18];
  size_t size;
} bytes_of;

static void read_all(bytes_of *f, const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in) fail_msg("%s is missing", path);
  f->size = fread(f->bytes, 1, sizeof f->bytes, in);
  fclose(in);
}

/* The path of a rank's part. */
static const char *part_path(const char *folder, const char *end) {
  static char path[TEST_PATH * 2];
  DIR *list = opendir(folder);
  assert_non_null(list);
  path[0] = 0;
  for (struct dirent *entry; (entry = readdir(list));)
    if (strstr(entry->d_name, end)) snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
  closedir(list);
  assert_true(path[0]);
  return path;
}

static void complete(bytes_of *f) {
  fw_put_le64(f->bytes + 24, XXH3_64bits(f->bytes + FW_CHECKPOINT_HEADER, f->size - FW_CHECKPOINT_HEADER));
  fw_put_le64(f->bytes + 88, XXH3_64bits(f->bytes, 88));
}

/* All ranks refuse it, for the same reason. */
static void refused(unsigned ranks, const rank_net *what, const char *message, const char *file) {
  rank_net nets[RANK_NETS];
  rank_nets_run(nets, ranks, rank_load, what);
  for (unsigned r = 0; r < ranks; r++) {
    assert_string_equal(shared_message(nets[r].error.message), message);
    assert_int_equal(nets[r].status, FURROW_E_FORMAT);
    if (!strstr(nets[r].error.file, file)) fail_msg("%s: %s", message, nets[r].error.file);
  }
  rank_nets_free(nets, ranks);
}

static void wrong_parts_are_refused(void **state) {
  (void)state;
  static bytes_of good, bad, other;
  char path[TEST_PATH * 2], message[128];
  const rank_net what = {.plan = plans[0], .folder = "parts", .salt = 1, .keeps_best = true};
  rank_net another = what;
  another.folder = "others";
  another.salt = 2;
  rank_nets_save(3, &what);
  rank_nets_save(3, &another);
  snprintf(path, sizeof path, "%s", part_path("parts", ".1-of-3"));
  read_all(&good, path);
  for (unsigned ranks = 1; ranks <= 3; ranks++) {
    assert_int_equal(remove(path), 0);
    refused(ranks, &what, "part 1-of-3 of the checkpoint is missing", ".1-of-3");
    read_all(&other, part_path("others", ".1-of-3"));
    assert_true(test_write_file(path, other.bytes, other.size));
    refused(ranks, &what, "the part is of another checkpoint", ".1-of-3");
    read_all(&other, part_path("parts", ".2-of-3"));
    assert_true(test_write_file(path, other.bytes, other.size));
    refused(ranks, &what, "the part is 2-of-3, not 1-of-3", ".1-of-3");
    assert_true(test_write_file(path, good.bytes, good.size - 5));
    snprintf(message, sizeof message, "the checkpoint is cut short or too long: %zu bytes follow its header, not %zu",
             good.size - FW_CHECKPOINT_HEADER - 5, good.size - FW_CHECKPOINT_HEADER);
    refused(ranks, &what, message, ".1-of-3");
    assert_true(test_write_file(path, good.bytes, 50));
    refused(ranks, &what, "not a checkpoint's part of a training", ".1-of-3");
    bad = good;
    bad.bytes[good.size - 1] ^= 1;
    assert_true(test_write_file(path, bad.bytes, bad.size));
    refused(ranks, &what, "the checkpoint is damaged: its digest is wrong", ".1-of-3");
    complete(&bad); /* the file that names it knows better */
    assert_true(test_write_file(path, bad.bytes, bad.size));
    refused(ranks, &what, "the part is of another checkpoint", ".1-of-3");
    assert_true(test_write_file(path, good.bytes, good.size));
    assert_int_equal(rank_nets_salt(ranks, &what), 1);
  }
}

/* Every byte of the header and of the file that names the parts. */
static void flipped_bytes_are_refused(void **state) {
  (void)state;
  static bytes_of good, bad;
  const rank_net what = {.plan = plans[1], .folder = "flipped", .salt = 1};
  rank_nets_save(2, &what);
  char path[TEST_PATH * 2];
  for (int which = 0; which < 2; which++) {
    snprintf(path, sizeof path, "%s", which ? part_path("flipped", ".0-of-2") : "flipped/checkpoint");
    read_all(&good, path);
    for (size_t at = 0; at < good.size; at += at < 100 ? 3 : 211) {
      rank_net nets[2];
      bad = good;
      bad.bytes[at] ^= 0x10;
      assert_true(test_write_file(path, bad.bytes, bad.size));
      rank_nets_run(nets, 2, rank_load, &what);
      for (unsigned r = 0; r < 2; r++) assert_int_equal(nets[r].status, FURROW_E_FORMAT);
      rank_nets_free(nets, 2);
      assert_int_equal(test_entries("flipped"), 3); /* nothing is removed */
    }
    assert_true(test_write_file(path, good.bytes, good.size));
  }
  assert_int_equal(rank_nets_salt(2, &what), 1);
}

/* The file that names the parts lies, with digests that are right. */
static void lies_are_refused(void **state) {
  (void)state;
  static bytes_of good, bad;
  const rank_net what = {.plan = plans[0], .folder = "lies", .salt = 1, .keeps_best = true};
  rank_nets_save(2, &what);
  read_all(&good, "lies/checkpoint");
  static const struct {
    size_t at;
    uint32_t value;
    const char *message;
  } lies[] = {
      {76, 3, "the number of parts differs from the number of their records"},
      {76, 0, "the number of parts differs from the number of their records"},
      {76, UINT32_MAX, "the number of parts differs from the number of their records"},
      {8, 2, "unused bytes of the checkpoint's header are not 0"},
      {48, 1, "the sizes of the parts do not add up"},
      {52, 9, "the best epoch is not one of the recorded epochs"},
      {96, 5, "epoch 5 of the history is not 1"},
      {40, 22, "the part is of another checkpoint"}, /* steps */
      {96 + 2 * 328 + 8, 1, "the part is of another checkpoint"},
      {96 + 2 * 328, 1, "part 0-of-2 of the checkpoint is missing"}, /* the id */
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    bad = good;
    fw_put_le32(bad.bytes + lies[i].at, lies[i].value);
    complete(&bad);
    assert_true(test_write_file("lies/checkpoint", bad.bytes, bad.size));
    rank_net net = what; /* without removing parts that it does not name */
    net.comm = thread_comm(0, 1);
    assert_int_equal(rank_make(&net), FURROW_OK);
    const fw_snapshot_ops ops = fw_parameters_snapshot_ops(net.net);
    assert_int_equal(fw_checkpoint_load("lies", &net.checkpoint, &ops, &net.comm, &net.error), FURROW_E_FORMAT);
    assert_string_equal(net.error.message, lies[i].message);
    rank_nets_free(&net, 1);
  }
}

/* Parts and their names agree, and their parameters are wrong. */
static void lying_parts_are_refused(void **state) {
  (void)state;
  static bytes_of good, bad, names;
  const rank_net what = {.plan = plans[0], .folder = "lying", .salt = 1};
  rank_nets_save(2, &what);
  char path[TEST_PATH * 2];
  snprintf(path, sizeof path, "%s", part_path("lying", ".1-of-2"));
  read_all(&good, path);
  static const struct {
    size_t at;
    uint64_t value;
    const char *message;
  } lies[] = {
      {96, 1u << 30, "the parameters end inside the features"},
      {96, UINT64_MAX / 8, "the parameters end inside the features"},
      {96, 1, "bytes follow the parameters"},
      {104, 1u << 20, "a feature belongs to another rank"},
      {112, 1, "the features do not ascend"},
      {56, 8, "the sizes of the parts do not add up"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    bad = good;
    fw_put_le64(bad.bytes + lies[i].at, lies[i].value);
    complete(&bad);
    assert_true(test_write_file(path, bad.bytes, bad.size));
    read_all(&names, "lying/checkpoint");
    memcpy(names.bytes + names.size - 16, bad.bytes + 16, 16);
    complete(&names);
    assert_true(test_write_file("lying/checkpoint", names.bytes, names.size));
    refused(2, &what, lies[i].message, ".1-of-2");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_ranks_goes_on), cmocka_unit_test(a_training_goes_on_with_other_ranks),
      cmocka_unit_test(one_rank_writes_one_file),    cmocka_unit_test(left_overs_are_removed),
      cmocka_unit_test(parts_alone_are_nothing),     cmocka_unit_test(wrong_parts_are_refused),
      cmocka_unit_test(flipped_bytes_are_refused),   cmocka_unit_test(lies_are_refused),
      cmocka_unit_test(lying_parts_are_refused),     cmocka_unit_test(parts_keep_the_mode),
  };
  return cmocka_run_group_tests(tests, make_plans, free_plans);
}
