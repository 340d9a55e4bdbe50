/* tests/unit/fault/test_fault_ranks.c: several ranks, which here are threads, save a model or a checkpoint, and the
 * n-th system call of any of them fails, for every n, or kills them all: there is the old one or the new one, whole. */
#include <signal.h>
#include <sys/wait.h>

#include "support/failing_calls.h"
#include "support/made_clicks.h"
#include "support/rank_nets.h"

enum { RANKS = 2 };

/* ---- more calls that fail, or kill ---- */

static bool kills;

static bool is_met(int reason) {
  if (!call_fails_now(reason)) return false;
  if (kills) raise(SIGKILL);
  return true;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  static ssize_t (*_Atomic next)(int, const void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  return is_met(ENOSPC) ? -1 : next(fd, data, size, offset);
}

int openat(int folder, const char *name, int flags, ...) {
  static int (*_Atomic next)(int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (!next) next = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
  return flags & O_CREAT && is_met(EMFILE) ? -1 : next(folder, name, flags, mode);
}

int mkdirat(int folder, const char *name, mode_t mode) {
  static int (*_Atomic next)(int, const char *, mode_t);
  if (!next) next = (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkdirat");
  return is_met(EACCES) ? -1 : next(folder, name, mode);
}

int fsync(int fd) {
  (void)fd;
  return is_met(EIO) ? -1 : 0;
}

int renameat(int from, const char *old, int to, const char *new) {
  static int (*_Atomic next)(int, const char *, int, const char *);
  if (!next) next = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
  return is_met(EIO) ? -1 : next(from, old, to, new);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  static int (*_Atomic next)(int, const char *, int, const char *, unsigned);
  if (!next) next = (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
  return is_met(EIO) ? -1 : next(from, old, to, new, flags);
}

/* Not a failure, for nothing can be done about one: a place to be killed at. */
int unlinkat(int folder, const char *name, int flags) {
  static int (*_Atomic next)(int, const char *, int);
  if (!next) next = (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
  if (kills) (void)is_met(EIO);
  return next(folder, name, flags);
}

int remove(const char *path) {
  static int (*_Atomic next)(const char *);
  if (!next) next = (int (*)(const char *))dlsym(RTLD_NEXT, "remove");
  if (kills) (void)is_met(EIO);
  return next(path);
}

/* ---- what the ranks do ---- */

static long meets; /* the call that fails or kills, counted from where all ranks are ready to save; 0: none */

/* All ranks are ready to save. */
static void count_from_here(const furrow_comm *comm) {
  assert_int_equal(comm->barrier(comm, NULL), FURROW_OK);
  if (comm->rank == 0) call_fail_at(meets);
  assert_int_equal(comm->barrier(comm, NULL), FURROW_OK);
}

typedef struct model_rank {
  furrow_comm comm;
  const char *load, *folder;
  furrow_status status;
  furrow_error error;
} model_rank;

static void *save_model(void *item) {
  model_rank *r = item;
  furrow_learn_conf *conf = NULL;
  furrow_trainer_params params;
  furrow_trainer_save_params save_params;
  furrow_trainer *trainer = NULL;
  furrow_trainer_params_init(&params);
  furrow_trainer_save_params_init(&save_params);
  params.threads = 1;
  params.load = r->load;
  params.comm = &r->comm;
  save_params.overwrite = true;
  save_params.part_size = 60;
  r->status = furrow_learn_conf_create(&conf, &r->error);
  if (r->status == FURROW_OK) r->status = furrow_learn_conf_load_model(conf, r->load, &r->error);
  if (r->status == FURROW_OK) r->status = furrow_trainer_create(&trainer, conf, &params, &r->error);
  assert_int_equal(r->status, FURROW_OK);
  count_from_here(&r->comm);
  r->status = furrow_trainer_save(trainer, r->folder, &save_params, &r->error);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return NULL;
}

/* How many ranks fail; their statuses say the same as their errors. */
static unsigned save_by_ranks(const char *load, const char *folder) {
  model_rank ranks[RANKS];
  unsigned failed = 0;
  for (unsigned r = 0; r < RANKS; r++) ranks[r] = (model_rank){thread_comm(r, RANKS), load, folder, 0, {0}};
  run_threads(RANKS, save_model, ranks, sizeof *ranks);
  for (unsigned r = 0; r < RANKS; r++) {
    failed += ranks[r].status != FURROW_OK;
    if (ranks[r].status != FURROW_OK) assert_int_equal(ranks[r].error.status, ranks[r].status);
  }
  return failed;
}

static void *save_checkpoint(void *item) {
  rank_net *r = item;
  r->status = rank_train(r);
  assert_int_equal(r->status, FURROW_OK);
  count_from_here(&r->comm);
  return rank_save(r);
}

/* ---- models ---- */

/* Whether the model is the same, file by file. */
static bool is_same(const char *a, const char *b) {
  char command[3 * TEST_PATH];
  snprintf(command, sizeof command, "diff -rq %s %s >/dev/null 2>&1", a, b);
  return system(command) == 0;
}

static int make_models(void **state) {
  if (enter_dir(state) != 0 || !write_clicks("clicks", 500, 1, 1) || !write_clicks("more", 500, 2, -1)) return -1;
  for (int i = 0; i < 2; i++) {
    furrow_trainer *trainer =
        new_trainer("deepfm", "epochs=1 lr=0.05 rank=2 fields=6 fc=3 model-type=T_FLOAT_SPARSE", 1, false);
    fit_or_fail(trainer, i ? "more" : "clicks", NULL, NULL);
    if (furrow_trainer_save(trainer, i ? "second" : "first", NULL, &err) != FURROW_OK) return -1;
    furrow_trainer_free(trainer);
  }
  meets = 0;
  return save_by_ranks("first", "a") + save_by_ranks("second", "b") + save_by_ranks("first", "x") ? -1 : 0;
}

static void remove_hidden(const char *folder) {
  DIR *list = opendir(folder);
  assert_non_null(list);
  for (struct dirent *entry; (entry = readdir(list));)
    if (strncmp(entry->d_name, ".x.furrow-", 10) == 0) assert_true(test_remove_dir(entry->d_name));
  closedir(list);
}

static void a_failing_call_leaves_a_whole_model(void **state) {
  (void)state;
  kills = false;
  size_t old = 0, new = 0, told = 0;
  long n = 1;
  for (bool more = true; more; n++) {
    const size_t descriptors = open_descriptors();
    meets = n;
    const unsigned failed = save_by_ranks("second", "x");
    more = atomic_load(&call_failed);
    meets = 0;
    call_fail_at(0);
    assert_int_equal(open_descriptors(), descriptors);
    if (!more) assert_int_equal(failed, 0);
    told += failed == RANKS;
    assert_true(failed == 0 || failed == RANKS); /* a rank knows that another failed */
    const bool is_new = is_same("x", "b");
    if (!is_new) assert_true(is_same("x", "a"));
    if (failed == 0) assert_true(is_new);
    is_new ? new ++ : old++;
    if (is_new && failed) remove_hidden("."); /* the old one, where the sync behind the exchange failed */
    assert_int_equal(test_entries("."), 7);   /* nothing is left beside it */
    assert_int_equal(save_by_ranks("first", "x"), 0);
  }
  print_message("%ld calls: %zu left the old model, %zu the new one\n", n - 1, old, new);
  assert_true(old > 20 && new > 0 && told > 20);
}

/* Runs body(user) in a process of its own, in which the n-th call kills, or fails where it is one that reads; false:
 * there are not so many. */
static bool is_killed(void (*body)(void *user), void *user, long n) {
  int status = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(60);
    kills = true;
    meets = n;
    body(user);
    _exit(atomic_load(&call_failed) ? 1 : 0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) assert_int_equal(WTERMSIG(status), SIGKILL);
  return WIFSIGNALED(status) || WEXITSTATUS(status) == 1;
}

static void save_second(void *user) {
  (void)user;
  (void)save_by_ranks("second", "x");
}

static void a_kill_leaves_a_whole_model(void **state) {
  (void)state;
  size_t old = 0, new = 0;
  long n = 1;
  meets = 0;
  for (bool more = true; more; n++) {
    more = is_killed(save_second, NULL, n);
    const bool is_new = is_same("x", "b");
    if (!is_new) assert_true(is_same("x", "a"));
    is_new ? new ++ : old++;
    remove_hidden(".");
    assert_int_equal(test_entries("."), 7);
    if (is_new) assert_int_equal(save_by_ranks("first", "x"), 0);
  }
  print_message("%ld kills: %zu left the old model, %zu the new one\n", n - 1, old, new);
  assert_true(old > 20 && new > 1);
}

/* ---- checkpoints ---- */

static fw_plan *plan;

static int make_plan(void **state) {
  plan = rank_plan(true);
  return enter_dir(state);
}

static int free_plan(void **state) {
  fw_plan_free(plan);
  return leave_dir(state);
}

static const rank_net *saved_with(uint64_t salt) {
  static rank_net what;
  what = (rank_net){.plan = plan, .folder = "kept", .salt = salt, .keeps_best = true};
  return &what;
}

static unsigned save_checkpoints(uint64_t salt) {
  rank_net nets[RANKS];
  unsigned failed = 0;
  rank_nets_run(nets, RANKS, save_checkpoint, saved_with(salt));
  for (unsigned r = 0; r < RANKS; r++) failed += nets[r].status != FURROW_OK;
  rank_nets_free(nets, RANKS);
  return failed;
}

static void a_failing_call_leaves_a_whole_checkpoint(void **state) {
  (void)state;
  kills = false;
  meets = 0;
  assert_int_equal(save_checkpoints(1), 0);
  size_t old = 0, new = 0;
  long n = 1;
  for (bool more = true; more; n++) {
    meets = n;
    const unsigned failed = save_checkpoints((uint64_t)n + 1);
    more = atomic_load(&call_failed);
    meets = 0;
    call_fail_at(0);
    assert_true(failed == 0 || failed == RANKS);
    const uint64_t salt = rank_nets_salt(n % 3 + 1, saved_with(0));
    assert_true(salt == 1 || salt == (uint64_t)n + 1);
    if (failed == 0) assert_int_equal(salt, n + 1);
    salt == 1 ? old++ : new ++;
    assert_int_equal(test_entries("kept"), 1 + RANKS);
    assert_int_equal(save_checkpoints(1), 0);
  }
  print_message("%ld calls: %zu left the old checkpoint, %zu the new one\n", n - 1, old, new);
  assert_true(old > 8 && new > 0);
}

static void save_next(void *user) {
  (void)save_checkpoints(*(const uint64_t *)user);
}

static void a_kill_leaves_a_whole_checkpoint(void **state) {
  (void)state;
  size_t old = 0, new = 0;
  long n = 1;
  meets = 0;
  kills = false;
  assert_int_equal(save_checkpoints(1), 0);
  for (bool more = true; more; n++) {
    uint64_t salt = (uint64_t)n + 1;
    more = is_killed(save_next, &salt, n);
    salt = rank_nets_salt(n % 3 + 1, saved_with(0));
    assert_true(salt == 1 || salt == (uint64_t)n + 1);
    salt == 1 ? old++ : new ++;
    assert_int_equal(test_entries("kept"), 1 + RANKS); /* nothing is left behind */
    if (salt != 1) assert_int_equal(save_checkpoints(1), 0);
  }
  print_message("%ld kills: %zu left the old checkpoint, %zu the new one\n", n - 1, old, new);
  assert_true(old > 8 && new > 1);
}

#define IN_MODELS(test) cmocka_unit_test_setup_teardown(test, make_models, leave_dir)
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_plan, free_plan)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_MODELS(a_failing_call_leaves_a_whole_model),
      IN_MODELS(a_kill_leaves_a_whole_model),
      IN_FOLDER(a_failing_call_leaves_a_whole_checkpoint),
      IN_FOLDER(a_kill_leaves_a_whole_checkpoint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
