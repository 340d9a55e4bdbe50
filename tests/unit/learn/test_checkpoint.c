/* tests/unit/learn/test_checkpoint.c: trainings that go on from a checkpoint, and checkpoints that are not to be
 * trusted. */
#include <signal.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "base/endian.h"
#include "learn/checkpoint/checkpoint.h"
#include "support/failing_alloc.h"
#include "support/made_clicks.h"

static int write_data(void **state) {
  return enter_dir(state) == 0 && write_clicks("clicks", 20000, 1, 1) && write_clicks("few", 300, 2, 1) &&
                 write_clicks("reverse", 300, 3, -1)
             ? 0
             : -1;
}

/* ---- Going on ------------------------------------------------------------------------------------------- */

#define SETTINGS "lr=0.05 rank=4 epochs=5 optimizer=adam shuffle=yes sample-ratio=0.9"

typedef struct killer {
  const furrow_trainer *trainer;
  size_t epoch; /* from 1 */
} killer;

/* In the middle of an epoch. */
static bool kill_in_epoch(void *user, const char *phase, uint64_t rows, uint64_t total) {
  const killer *k = user;
  (void)phase, (void)rows, (void)total;
  if (furrow_trainer_epoch_count(k->trainer) + 1 == k->epoch) raise(SIGKILL);
  return true;
}

static furrow_trainer_fit_params params_with(const char *folder) {
  furrow_trainer_fit_params params;
  furrow_trainer_fit_params_init(&params);
  params.checkpoint = folder;
  params.keep_best = true;
  params.resume = true;
  return params;
}

/* Trains in a process of its own, which is killed in the middle of that epoch. */
static void train_and_be_killed(const char *settings, const char *folder, uint32_t epoch) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    furrow_trainer *trainer = new_trainer("fm", settings, 2, false);
    killer k = {trainer, epoch};
    furrow_trainer_fit_params params = params_with(folder);
    params.progress = kill_in_epoch;
    params.progress_user = &k;
    _exit(furrow_trainer_fit(trainer, "clicks", NULL, &params, NULL) == FURROW_OK ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void assert_same_history(const furrow_trainer *a, const furrow_trainer *b) {
  const size_t count = furrow_trainer_epoch_count(a);
  assert_int_equal(furrow_trainer_epoch_count(b), count);
  assert_int_equal(furrow_trainer_best_epoch(b), furrow_trainer_best_epoch(a));
  for (size_t i = 0; i < count; i++) {
    const furrow_epoch *x = epoch_at(a, i), *y = epoch_at(b, i);
    assert_int_equal(x->epoch, y->epoch);
    assert_int_equal(x->best, y->best);
    assert_memory_equal(x->train, y->train, sizeof *x->train);
    assert_memory_equal(x->valid, y->valid, sizeof *x->valid);
    assert_true(x->learning_rate == y->learning_rate);
  }
  assert_null(furrow_trainer_get_epoch(a, count));
}

static void a_killed_training_goes_on(void **state) {
  (void)state;
  static const char *const settings[] = {SETTINGS, SETTINGS " range=120", SETTINGS " model-type=T_DOUBLE_SPARSE"};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char folder[16];
    snprintf(folder, sizeof folder, "kept%zu", i);
    furrow_trainer *whole = new_trainer("fm", settings[i], 1, false);
    furrow_trainer_fit_params params = params_with(NULL);
    fit_or_fail(whole, "clicks", NULL, &params);
    train_and_be_killed(settings[i], folder, 1); /* before there is a checkpoint */
    train_and_be_killed(settings[i], folder, 3);
    train_and_be_killed(settings[i], folder, 5);
    params = params_with(folder);
    furrow_trainer *broken = new_trainer("fm", settings[i], 2, false);
    fit_or_fail(broken, "clicks", NULL, &params);
    assert_same_history(whole, broken);
    fw_buffer a = snapshot_of(whole), b = snapshot_of(broken);
    assert_same_snapshot(&a, &b);
    assert_int_equal(test_entries(folder), 1); /* nothing is left behind */
    fw_buffer_clear(&a);
    fw_buffer_clear(&b);
    furrow_trainer_free(whole);
    furrow_trainer_free(broken);
  }
}

static furrow_status stop_after(void *user, const furrow_epoch *epoch, furrow_error *e) {
  (void)e;
  return epoch->epoch == *(const uint32_t *)user ? FURROW_END : FURROW_OK;
}

/* The best epoch is the first, of rows with labels turned round: it comes from the checkpoint. */
static void the_best_epoch_is_kept(void **state) {
  (void)state;
  uint32_t last = 3;
  furrow_trainer_fit_params params = params_with("best");
  params.epoch = stop_after;
  params.epoch_user = &last;
  furrow_trainer *first = new_trainer("fm", SETTINGS, 1, false);
  fit_or_fail(first, "few", "reverse", &params);
  furrow_trainer *second = new_trainer("fm", SETTINGS, 1, false);
  params.patience = 3;
  params.epoch = NULL;
  fit_or_fail(second, "few", "reverse", &params);
  assert_int_equal(furrow_trainer_epoch_count(second), 4);
  assert_int_equal(furrow_trainer_best_epoch(second), 1);
  fw_buffer a = snapshot_of(first), b = snapshot_of(second);
  assert_same_snapshot(&a, &b);
  fw_buffer_clear(&a);
  fw_buffer_clear(&b);
  furrow_trainer_free(first);
  furrow_trainer_free(second);
}

/* Without resume a checkpoint is replaced; with it a finished training stays as it is. */
static void a_finished_training_is_done(void **state) {
  (void)state;
  furrow_trainer_fit_params params = params_with("done");
  furrow_trainer *trainer = new_trainer("fm", SETTINGS, 1, false);
  fit_or_fail(trainer, "few", NULL, &params);
  fw_buffer a = snapshot_of(trainer);
  fit_or_fail(trainer, "few", NULL, &params);
  fw_buffer b = snapshot_of(trainer);
  assert_same_snapshot(&a, &b);
  params.resume = false;
  fit_or_fail(trainer, "few", NULL, &params);
  fw_buffer c = snapshot_of(trainer);
  assert_int_equal(a.size, c.size);
  assert_memory_not_equal(a.bytes, c.bytes, a.size);
  fw_buffer_clear(&a);
  fw_buffer_clear(&b);
  fw_buffer_clear(&c);
  furrow_trainer_free(trainer);
}

/* ---- Checkpoints that are not to be trusted ------------------------------------------------------------- */

typedef struct file {
  unsigned char bytes[1 << 20];
  size_t size;
} file;

static void read_file(file *f, const char *path) {
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  f->size = fread(f->bytes, 1, sizeof f->bytes, in);
  assert_int_equal(fclose(in), 0);
}

static furrow_status resume(const char *settings) {
  furrow_trainer_fit_params params = params_with("damaged");
  furrow_trainer *trainer = new_trainer("fm", settings, 1, false);
  fw_buffer a = snapshot_of(trainer);
  furrow_status status = furrow_trainer_fit(trainer, "few", NULL, &params, &err);
  if (status != FURROW_OK) {
    fw_buffer b = snapshot_of(trainer);
    assert_same_snapshot(&a, &b); /* the trainer is as it was */
    fw_buffer_clear(&b);
  }
  fw_buffer_clear(&a);
  furrow_trainer_free(trainer);
  return status;
}

static void damaged_checkpoints_are_refused(void **state) {
  (void)state;
  static file good, bad;
  assert_int_equal(resume(SETTINGS), FURROW_OK); /* makes one */
  read_file(&good, "damaged/checkpoint");
  for (size_t at = 0; at < good.size; at += at < 400 ? 1 : 997) {
    bad = good;
    bad.bytes[at] ^= 0x10;
    assert_true(test_write_file("damaged/checkpoint", bad.bytes, bad.size));
    assert_int_equal(resume(SETTINGS), FURROW_E_FORMAT);
    assert_non_null(strstr(err.file, "damaged/checkpoint"));
  }
  for (size_t size = 0; size < good.size; size += size < 200 ? 13 : 4999) {
    assert_true(test_write_file("damaged/checkpoint", good.bytes, size));
    assert_int_equal(resume(SETTINGS), FURROW_E_FORMAT);
  }
  assert_true(test_write_file("damaged/checkpoint", good.bytes, good.size));
  static const char *const others[] = {SETTINGS " rank=5",
                                       SETTINGS " seed=2",
                                       SETTINGS " range=120",
                                       SETTINGS " lr=0.06",
                                       SETTINGS " model-type=T_DOUBLE_DENSE",
                                       SETTINGS " l2=0.1",
                                       SETTINGS " batch=64"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_int_equal(resume(others[i]), FURROW_E_STALE);
  assert_int_equal(resume(SETTINGS " epochs=6"), FURROW_OK); /* more epochs are welcome */
}

/* What can be told without the net. */
static void checkpoints_are_looked_at(void **state) {
  (void)state;
  static file good, bad;
  furrow_checkpoint_info *info = NULL;
  assert_int_equal(resume(SETTINGS " epochs=6"), FURROW_OK);
  assert_int_equal(furrow_checkpoint_info_load(&info, "damaged", &err), FURROW_OK);
  assert_int_equal(info->epochs, 6);
  assert_int_equal(info->last->epoch, 6);
  assert_true(info->last->train->rows > 0 && info->last->train->loss > 0);
  assert_int_equal(info->number_size, 4);
  assert_true(info->steps >= 6 && info->best >= 1 && info->best <= 6);
  read_file(&good, "damaged/checkpoint");
  assert_int_equal(info->bytes, good.size);
  furrow_checkpoint_info_free(info);
  info = NULL;
  for (size_t at = 0; at < good.size; at += at < 400 ? 1 : 997) {
    bad = good;
    bad.bytes[at] ^= 0x10;
    assert_true(test_write_file("looked", bad.bytes, bad.size));
    assert_int_equal(furrow_checkpoint_info_load(&info, "looked", &err), FURROW_E_FORMAT);
    assert_string_equal(err.file, "looked");
    assert_int_equal(err.offset == 0, at < 8); /* the first bytes say what it is */
  }
  assert_int_equal(furrow_checkpoint_info_load(&info, "none", &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_checkpoint_info_load(&info, ".", &err), FURROW_E_NOT_FOUND);
  assert_null(info);
}

/* Digests that are right again do not make the rest right. */
static void lying_checkpoints_are_refused(void **state) {
  (void)state;
  static file good, bad;
  assert_int_equal(resume(SETTINGS " epochs=6"), FURROW_OK);
  read_file(&good, "damaged/checkpoint");
  static const struct {
    size_t at;
    uint64_t value;
  } lies[] = {{16, 1}, {48, 1000000},           {52, 77},         {56, 3}, {64, 9},
              {72, 4}, {72, (uint64_t)1 << 32}, {80, UINT64_MAX}, {96, 5}};
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    bad = good;
    if (lies[i].at == 48 || lies[i].at == 52 || lies[i].at == 96) {
      fw_put_le32(bad.bytes + lies[i].at, (uint32_t)lies[i].value);
    } else {
      fw_put_le64(bad.bytes + lies[i].at, lies[i].value);
    }
    fw_put_le64(bad.bytes + 24, XXH3_64bits(bad.bytes + FW_CHECKPOINT_HEADER, bad.size - FW_CHECKPOINT_HEADER));
    fw_put_le64(bad.bytes + 88, XXH3_64bits(bad.bytes, 88));
    assert_true(test_write_file("damaged/checkpoint", bad.bytes, bad.size));
    if (resume(SETTINGS " epochs=6") != FURROW_E_FORMAT) fail_msg("lie %zu: %s", i, err.message);
  }
}

static void folders_that_cannot_be(void **state) {
  (void)state;
  furrow_trainer_fit_params params = params_with("no/such/folder");
  furrow_trainer *trainer = new_trainer("fm", SETTINGS, 1, false);
  assert_int_equal(furrow_trainer_fit(trainer, "few", NULL, &params, &err), FURROW_E_NOT_FOUND);
  furrow_trainer_free(trainer);
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

/* *binned: an epoch says that its AUC comes from bins. */
static furrow_status train_once(const char *folder, bool resumes, bool *binned) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params one;
  furrow_trainer_params_init(&one);
  one.threads = 1;
  furrow_trainer_fit_params params = params_with(folder);
  furrow_parser_params parser;
  furrow_parser_params_init(&parser);
  parser.threads = 1;
  params.parser = &parser;
  params.resume = resumes;
  furrow_status status = furrow_learn_conf_create(&conf, &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, "fm", &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "defaults", "angel", &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "epochs", "2", &err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "shuffle", "yes", &err);
  if (status == FURROW_OK) status = furrow_trainer_create(&trainer, conf, &one, &err);
  if (status == FURROW_OK) status = furrow_trainer_fit(trainer, "few", "reverse", &params, &err);
  *binned = false;
  for (size_t i = 0; trainer && i < furrow_trainer_epoch_count(trainer); i++) {
    const furrow_epoch *epoch = furrow_trainer_get_epoch(trainer, i);
    if (epoch->train->binned || epoch->valid->binned) *binned = true;
  }
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return status;
}

static void other_rows_are_refused(void **state) {
  (void)state;
  furrow_trainer_fit_params params = params_with("rows");
  furrow_trainer *trainer = new_trainer("lr", "epochs=2", 1, false);
  fit_or_fail(trainer, "few", NULL, &params);
  params.resume = true;
  fit_or_fail(trainer, "few", NULL, &params);
  assert_int_equal(furrow_trainer_fit(trainer, "clicks", NULL, &params, &err), FURROW_E_STALE);
  assert_non_null(strstr(err.message, "rows"));
  furrow_trainer_free(trainer);
}

static void killed_savers_leave_nothing(void **state) {
  (void)state;
  furrow_trainer_fit_params params = params_with("tidy");
  furrow_trainer *trainer = new_trainer("lr", "epochs=1", 1, false);
  fit_or_fail(trainer, "few", NULL, &params);
  FILE *left = fopen("tidy/.checkpoint.furrow-AbCdEf", "w"), *other = fopen("tidy/.checkpoint.mine", "w");
  assert_true(left && other && fclose(left) == 0 && fclose(other) == 0);
  params.resume = true;
  fit_or_fail(trainer, "few", NULL, &params);
  assert_int_not_equal(access("tidy/.checkpoint.furrow-AbCdEf", F_OK), 0);
  assert_int_equal(access("tidy/.checkpoint.mine", F_OK), 0);
  furrow_trainer_free(trainer);
}

/* Training fails; where only the rows of an exact AUC lack memory it goes on, and its figures say that they are of
 * bins.
 */
static void allocations_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (int resumes = 0; resumes < 2; resumes++) {
    bool failed = true, binned;
    for (long n = 1; failed; n++) {
      const long live = alloc_live;
      alloc_fail_at(n);
      const furrow_status status = train_once("fault", resumes, &binned);
      failed = alloc_failed;
      alloc_fail_at(0);
      if (status != FURROW_OK) assert_int_equal(status, FURROW_E_MEMORY);
      assert_true(failed == (status != FURROW_OK || binned));
      assert_int_equal(alloc_live, live);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_killed_training_goes_on),   cmocka_unit_test(the_best_epoch_is_kept),
      cmocka_unit_test(a_finished_training_is_done), cmocka_unit_test(damaged_checkpoints_are_refused),
      cmocka_unit_test(checkpoints_are_looked_at),   cmocka_unit_test(lying_checkpoints_are_refused),
      cmocka_unit_test(folders_that_cannot_be),      cmocka_unit_test(other_rows_are_refused),
      cmocka_unit_test(killed_savers_leave_nothing), cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, write_data, leave_dir);
}
