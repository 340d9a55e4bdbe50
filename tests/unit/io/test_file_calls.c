/* tests/unit/io/test_file_calls.c: files that are replaced where a system call fails, is interrupted, or does not do
 * what it does elsewhere: there is the old file or the new one, whole, and no leftover. */
#include <sys/wait.h>

#include "call_rules.h"
#include "io/atomic_file.h"
#include "io/target.h"
#include "support/thread_ranks.h"

static furrow_status save(const char *text, furrow_error *err) {
  return furrow_file_save("x", text, strlen(text), true, err);
}

/* The save of "x" fails with this message; the old file stays alone. */
static void expect_kept(const char *message) {
  furrow_error err = {0};
  const furrow_status status = save("new", &err);
  end_rules();
  assert_int_equal(status, FURROW_E_IO);
  assert_int_equal(err.status, FURROW_E_IO);
  assert_string_equal(err.file, "x");
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  assert_true(has_text("x", "old"));
  assert_int_equal(test_entries("."), 1);
}

static void expect_saved(void) {
  furrow_error err = {0};
  const furrow_status status = save("new", &err);
  end_rules();
  if (status != FURROW_OK) fail_msg("%s", err.message);
  assert_true(has_text("x", "new"));
  assert_int_equal(test_entries("."), 1);
}

/* Runs the test's work in a process of its own, which says 0. */
static void run_child(int (*work)(void)) {
  int code = -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(work());
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_int_equal(code, 0);
}

/* ---- One file ------------------------------------------------------------------------------------------- */

static void what_fails_leaves_the_old_file(void **state) {
  (void)state;
  assert_true(test_write_text("x", "old"));
  fail_call("faccessat", 1, EACCES);
  expect_kept("cannot replace the existing file");
  fail_call("fstatat", 1, EIO);
  expect_kept("cannot examine the existing file");
  add_rule((call_rule){.call = "create", .times = FOR_EVER, .errnum = EEXIST}); /* a hundred names are tried */
  expect_kept("cannot create a file next to it");
  fail_call("openat", 1, EMFILE);
  expect_kept("cannot examine the existing file or directory");
  fail_call("open", 1, EMFILE);
  expect_kept("cannot open its directory");
  add_rule((call_rule){.call = "pwrite"}); /* no byte is taken, without a reason */
  expect_kept("No space left");
}

static void what_does_not_matter_is_passed_over(void **state) {
  (void)state;
  assert_true(test_write_text("x", "old"));
  fail_call("create", 1, EINTR);
  expect_saved();
  fail_call("create", 1, EEXIST);
  expect_saved();
  fail_call("fchown", 1, EPERM); /* of another user: then the group alone */
  expect_saved();
  add_rule((call_rule){.call = "fchown", .times = 2, .errnum = EPERM});
  expect_saved();
  fail_call("fsync of a directory", 1, EINVAL); /* a file system without that */
  expect_saved();
  fail_call("close", 2, EINTR); /* of the new file */
  expect_saved();
  fail_call("getrandom", 1, EAGAIN); /* early after a start of the machine */
  expect_saved();
  add_rule((call_rule){.call = "getrandom"});
  expect_saved();
}

/* A lock that cannot be kept twice is kept once. */
static void no_descriptor_is_free_for_the_lock(void **state) {
  (void)state;
  assert_true(test_write_text("x", "old"));
  add_rule((call_rule){.call = "dup", .times = FOR_EVER, .errnum = EMFILE});
  expect_saved();
}

static void a_large_save_that_fails(void **state) {
  (void)state;
  enum { SIZE = 3 << 20 };
  furrow_error err;
  char *bytes = calloc(SIZE, 1);
  assert_non_null(bytes);
  assert_true(test_write_text("x", "old"));
  fail_call("pwrite", 1, ENOSPC);
  assert_int_equal(furrow_file_save("x", bytes, SIZE, true, &err), FURROW_E_IO);
  end_rules();
  free(bytes);
  assert_string_equal(err.file, "x");
  assert_true(has_text("x", "old"));
  assert_int_equal(test_entries("."), 1);
}

/* A file system without RENAME_NOREPLACE has links. */
static void a_name_is_taken_only_once(void **state) {
  (void)state;
  static const int errnums[] = {EINVAL, ENOSYS};
  furrow_error err;
  for (size_t i = 0; i < 2; i++) {
    fail_call("renameat2", 1, errnums[i]);
    assert_int_equal(furrow_file_save("x", "first", 5, false, &err), FURROW_OK);
    end_rules();
    assert_true(has_text("x", "first"));
    fail_call("renameat2", 1, errnums[i]);
    assert_int_equal(furrow_file_save("x", "second", 6, false, &err), FURROW_E_EXISTS);
    end_rules();
    assert_string_equal(err.message, "there is a file of that name already");
    assert_true(has_text("x", "first"));
    assert_int_equal(test_entries("."), 1);
    assert_int_equal(unlink("x"), 0);
  }
  fail_call("renameat2", 1, EIO);
  assert_int_equal(furrow_file_save("x", "third", 5, false, &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "cannot put the new file in place"));
  assert_int_equal(test_entries("."), 0);
}

/* ---- Outputs in order ----------------------------------------------------------------------------------- */

static furrow_status count_calls(void *user, const void *bytes, size_t length, furrow_error *err) {
  (void)bytes, (void)length, (void)err;
  ++*(int *)user;
  return FURROW_OK;
}

static void an_output_of_nothing_is_not_called(void **state) {
  (void)state;
  int calls = 0;
  furrow_output output;
  fw_atomic_file *file = NULL;
  furrow_output_init(&output);
  output.write = count_calls;
  output.user = &calls;
  assert_int_equal(fw_atomic_file_open_output(&file, &output, NULL), FURROW_OK);
  assert_null(fw_atomic_file_temporary(file));
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  assert_int_equal(calls, 0);
}

/* Writes two bytes to a file in the place of standard output. */
static furrow_status write_out(furrow_error *err) {
  fflush(stdout);
  const int saved = dup(STDOUT_FILENO), out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  fw_atomic_file *file = NULL;
  if (saved < 0 || out < 0 || dup2(out, STDOUT_FILENO) < 0) return FURROW_E_STATE;
  close(out);
  furrow_status status = fw_atomic_file_open(&file, "-", err);
  if (status == FURROW_OK) status = fw_atomic_file_write(file, "ab", 2, err);
  if (status == FURROW_OK) status = fw_atomic_file_prepare(file, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  return status;
}

static void standard_output_takes_all_or_says_why(void **state) {
  (void)state;
  static const struct {
    int errnum;
    const char *message; /* NULL: it is tried again */
  } cases[] = {
      {0, "No space left"}, {EIO, "Input/output error"}, {EINTR, NULL}, {EAGAIN, NULL}, {ECANCELED, "cannot write"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_error err = {0};
    fail_call("write", 1, cases[i].errnum);
    const furrow_status status = write_out(&err);
    end_rules();
    assert_int_equal(status, cases[i].message ? FURROW_E_IO : FURROW_OK);
    if (cases[i].message) assert_string_equal(err.file, "-");
    if (cases[i].message && !strstr(err.message, cases[i].message)) fail_msg("%s", err.message);
    assert_true(has_text("out", cases[i].message ? "" : "ab"));
  }
}

static int write_when_stopped(void) {
  furrow_error err = {0};
  furrow_process_interrupt();
  return write_out(&err) == FURROW_E_CANCELLED && strcmp(err.message, "the process was asked to stop") == 0 ? 0 : 1;
}

static void a_process_that_is_to_stop_writes_no_more(void **state) {
  (void)state;
  run_child(write_when_stopped);
  assert_true(has_text("out", ""));
}

/* ---- Pairs ---------------------------------------------------------------------------------------------- */

static furrow_status save_pair(const char *path, furrow_error *err) {
  fw_atomic_file *file = NULL, *beside = NULL;
  furrow_status status = fw_atomic_file_open(&file, path, err);
  if (status == FURROW_OK) status = fw_atomic_file_open(&beside, "x.ids", err);
  if (status == FURROW_OK) status = fw_atomic_file_write(file, "new", 3, err);
  if (status == FURROW_OK) status = fw_atomic_file_write(beside, "new", 3, err);
  if (status == FURROW_OK) status = fw_atomic_files_commit((fw_atomic_file *[]){file, beside}, 2, err);
  fw_atomic_file_close(file);
  fw_atomic_file_close(beside);
  return status;
}

static void a_pair_that_cannot_be_replaced_stays(void **state) {
  (void)state;
  static const struct {
    const char *call, *file, *message;
  } cases[] = {{"renameat2", "x.ids", "cannot replace the file"},
               {"fsync of a directory", "x.ids", "cannot sync its directory to disk"},
               {"renameat", "x", "cannot put the new file in place"}};
  for (size_t i = 0; i < 3; i++) {
    furrow_error err = {0};
    assert_true(test_write_text("x", "old") && test_write_text("x.ids", "old"));
    fail_call(cases[i].call, 1, EIO);
    const furrow_status status = save_pair("x", &err);
    end_rules();
    assert_int_equal(status, FURROW_E_IO);
    assert_string_equal(err.file, cases[i].file);
    if (!strstr(err.message, cases[i].message)) fail_msg("%s", err.message);
    assert_true(has_text("x", "old"));
    assert_true(has_text("x.ids", "old"));
    assert_int_equal(test_entries("."), 2);
  }
}

static void a_pair_of_new_files(void **state) {
  (void)state;
  fail_call("fsync of a directory", 1, EINVAL);
  assert_int_equal(save_pair("x", NULL), FURROW_OK);
  end_rules();
  assert_true(has_text("x", "new") && has_text("x.ids", "new"));
  fail_call("fsync of a directory", 1, EINVAL);
  assert_int_equal(save_pair("x", NULL), FURROW_OK);
  end_rules();
  assert_int_equal(test_entries("."), 2);
}

static const char *const set_paths[] = {"x", "y", "z"};

static furrow_status save_set(furrow_error *err) {
  fw_atomic_file *files[3] = {NULL};
  furrow_status status = FURROW_OK;
  for (int i = 0; i < 3 && status == FURROW_OK; i++) {
    status = fw_atomic_file_open(&files[i], set_paths[i], err);
    if (status == FURROW_OK) status = fw_atomic_file_write(files[i], "new", 3, err);
  }
  if (status == FURROW_OK) status = fw_atomic_files_commit(files, 3, err);
  for (int i = 0; i < 3; i++) fw_atomic_file_close(files[i]);
  return status;
}

/* Makes the old files, or removes all. */
static void start_set(bool old) {
  for (int i = 0; i < 3; i++) {
    unlink(set_paths[i]);
    if (old) assert_true(test_write_text(set_paths[i], "old"));
  }
}

/* The files have this text; NULL: there is none. */
static void expect_set(const char *x, const char *y, const char *z) {
  const char *const texts[] = {x, y, z};
  int there = 0;
  for (int i = 0; i < 3; i++) {
    there += texts[i] != NULL;
    assert_true(texts[i] ? has_text(set_paths[i], texts[i]) : access(set_paths[i], F_OK) != 0);
  }
  assert_int_equal(test_entries("."), there);
}

static void a_set_is_put_back_after_an_error(void **state) {
  (void)state;
  static const struct {
    bool old;
    const char *call;
    int times; /* how often it is called */
  } cases[] = {{true, "renameat2", 2},
               {true, "renameat", 3},
               {true, "fsync of a directory", 5},
               {false, "renameat", 3},
               {false, "fsync of a directory", 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int n = 1; n <= cases[i].times; n++) {
      furrow_error err = {0};
      const char *text = cases[i].old ? "old" : NULL;
      start_set(cases[i].old);
      fail_call(cases[i].call, n, EIO);
      const furrow_status status = save_set(&err);
      end_rules();
      assert_int_equal(status, FURROW_E_IO);
      const bool last_sync = n == cases[i].times && strncmp(cases[i].call, "fsync", 5) == 0;
      assert_int_equal(strstr(err.message, "written, but") != NULL, last_sync);
      if (last_sync) text = "new";
      expect_set(text, text, text);
    }
}

/* A disk that fails again and again, or has no links: files may be missing, but they are of one save. */
static void a_set_that_cannot_be_put_back_is_not_mixed(void **state) {
  (void)state;
  furrow_error err = {0};
  start_set(true);
  fail_call("linkat", 1, EPERM);
  fail_call("renameat", 2, EIO);
  assert_int_equal(save_set(&err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.hint, "may be missing"));
  expect_set("new", NULL, NULL);
  start_set(true);
  add_rule((call_rule){.call = "renameat", .nth = 2, .times = FOR_EVER, .errnum = EIO});
  assert_int_equal(save_set(&err), FURROW_E_IO);
  end_rules();
  expect_set("new", NULL, NULL);
  start_set(true);
  fail_call("renameat", 3, EIO);
  fail_call("unlinkat", 1, EIO);
  assert_int_equal(save_set(&err), FURROW_E_IO);
  end_rules();
  expect_set("new", "new", NULL);
  start_set(true);
  fail_call("renameat", 3, EIO); /* of z; then x, y and z are put back */
  fail_call("renameat", 4, EIO); /* of y; the call that the first rule made fail does not count here */
  assert_int_equal(save_set(&err), FURROW_E_IO);
  end_rules();
  expect_set("old", NULL, NULL);
  start_set(true);
  fail_call("linkat", 1, EPERM); /* needed only after an error */
  assert_int_equal(save_set(NULL), FURROW_OK);
  end_rules();
  expect_set("new", "new", "new");
}

/* Another process that changes the folder is waited for, but not for ever. */
static void a_locked_folder_is_waited_for(void **state) {
  (void)state;
  furrow_error err = {0};
  assert_true(test_write_text("x", "old") && test_write_text("x.ids", "old"));
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(folder, LOCK_EX), 0);
  atomic_store(&slept_ms, 0);
  assert_int_equal(save_pair("x", &err), FURROW_E_STATE);
  assert_int_equal(slept_ms, 30000);
  assert_string_equal(err.file, "x.ids");
  assert_non_null(strstr(err.message, "is changing it"));
  assert_true(has_text("x", "old") && has_text("x.ids", "old"));
  assert_int_equal(close(folder), 0);
  assert_int_equal(test_entries("."), 2);
}

static void a_folder_that_cannot_be_locked_is_changed(void **state) {
  (void)state;
  fw_atomic_file *file = NULL;
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  fail_call("fstat", 1, EIO);
  assert_int_equal(fw_atomic_file_lock_folder(file, NULL), FURROW_OK);
  end_rules();
  fail_call("flock", 1, ENOLCK);
  assert_int_equal(fw_atomic_file_lock_folder(file, NULL), FURROW_OK);
  end_rules();
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(folder, LOCK_EX | LOCK_NB), 0); /* neither has locked it */
  close(folder);
  fw_atomic_file_close(file);
}

static int save_pair_behind_output(void) {
  const int out = open("out", O_WRONLY | O_CREAT, 0644);
  if (out < 0 || dup2(out, STDOUT_FILENO) < 0) return 1;
  return save_pair("-", NULL) == FURROW_OK ? 0 : 2;
}

static void a_pair_behind_standard_output(void **state) {
  (void)state;
  run_child(save_pair_behind_output);
  assert_true(has_text("out", "new") && has_text("x.ids", "new"));
  assert_int_equal(test_entries("."), 2);
}

static void what_failed_cannot_be_prepared(void **state) {
  (void)state;
  enum { SIZE = 3 << 20 };
  furrow_error first, later;
  fw_atomic_file *file = NULL;
  char *bytes = calloc(SIZE, 1);
  assert_non_null(bytes);
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  fail_call("pwrite", 1, ENOSPC);
  assert_int_equal(fw_atomic_file_write(file, bytes, SIZE, &first), FURROW_E_IO);
  end_rules();
  assert_int_equal(fw_atomic_file_prepare(file, &later), FURROW_E_IO);
  assert_string_equal(first.message, later.message);
  fw_atomic_file_close(file);
  free(bytes);
  assert_int_equal(test_entries("."), 0);
}

/* ---- Ranks ---------------------------------------------------------------------------------------------- */

enum { RANKS = 2, PART = 100000, COLLECTIVES = 8 };

typedef struct part_job {
  unsigned rank;
  int failing; /* of the calls of the communicator, by all ranks; 0: none */
  furrow_status mine, status;
  furrow_error err;
} part_job;

static _Thread_local int collectives, failing_collective;

static bool collective_fails(furrow_error *err) {
  if (++collectives != failing_collective) return false;
  if (err) *err = (furrow_error){.status = FURROW_E_IO, .message = "the line is dead"};
  return true;
}

static furrow_status gather_or_fail(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                    const size_t *sizes, furrow_error *err) {
  return collective_fails(err) ? FURROW_E_IO : thread_gather(comm, bytes, size, all, sizes, err);
}

static furrow_status broadcast_or_fail(const furrow_comm *comm, void *bytes, size_t size, unsigned root,
                                       furrow_error *err) {
  return collective_fails(err) ? FURROW_E_IO : thread_broadcast(comm, bytes, size, root, err);
}

static void *save_part(void *item) {
  part_job *job = item;
  furrow_comm comm = thread_comm(job->rank, RANKS);
  fw_atomic_file *file = NULL;
  char *bytes = malloc(PART);
  comm.gather = gather_or_fail;
  comm.broadcast = broadcast_or_fail;
  collectives = 0;
  failing_collective = job->failing;
  memset(bytes, 'a' + (int)job->rank, PART);
  job->status = fw_atomic_file_open_ranks(&file, "x", &comm, &job->err);
  assert_int_equal(job->status, FURROW_OK);
  thread_barrier(&comm, NULL);
  assert_int_equal(fw_atomic_file_write(file, bytes, PART, NULL), FURROW_OK);
  job->status = fw_atomic_file_join(file, job->mine, 0, &job->err);
  if (job->status == FURROW_OK) {
    const furrow_status status = job->rank == 0 ? fw_atomic_file_commit(file, &job->err) : FURROW_OK;
    job->status = fw_comm_all_ok(&comm, status, &job->err);
  }
  job->failing = collectives;
  fw_atomic_file_close(file);
  free(bytes);
  return NULL;
}

static bool is_whole(void) {
  FILE *file = fopen("x", "rb");
  if (!file) return false;
  long wrong = 0, size = 0;
  for (int c; (c = getc(file)) != EOF; size++) wrong += c != 'a' + size / PART;
  fclose(file);
  return size == RANKS * PART && wrong == 0;
}

/* All ranks end alike: with the whole file, or without any. */
static void save_parts(part_job jobs[RANKS], bool works) {
  for (unsigned i = 0; i < RANKS; i++) jobs[i].rank = i;
  run_threads(RANKS, save_part, jobs, sizeof *jobs);
  for (unsigned i = 0; i < RANKS; i++) assert_true((jobs[i].status == FURROW_OK) == works);
  assert_true(is_whole() == works);
  assert_int_equal(test_entries("."), works);
  if (works) assert_int_equal(unlink("x"), 0);
}

static void parts_are_copied_in_the_kernel_or_by_hand(void **state) {
  (void)state;
  static const int errnums[] = {EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EINTR, 0};
  part_job plain[RANKS] = {{0}};
  save_parts(plain, true);
  for (size_t i = 0; i < sizeof errnums / sizeof *errnums; i++) {
    part_job jobs[RANKS] = {{0}};
    fail_call("copy_file_range", 1, errnums[i]);
    save_parts(jobs, true);
    end_rules();
  }
  part_job jobs[RANKS] = {{0}};
  fail_call("copy_file_range", 1, EXDEV);
  fail_call("pread", 1, EINTR);
  fail_call("pwrite", 3, EINTR); /* after that of each rank */
  save_parts(jobs, true);
  end_rules();
}

static void a_part_that_cannot_be_copied_fails_all(void **state) {
  (void)state;
  static const struct {
    call_rule first, second;
    const char *message;
  } cases[] = {
      {{.call = "copy_file_range", .errnum = EIO}, {0}, "Input/output error"},
      {{.call = "copy_file_range", .errnum = EXDEV}, {.call = "pread", .errnum = EACCES}, "Permission denied"},
      {{.call = "copy_file_range", .errnum = EXDEV}, {.call = "pread"}, "Input/output error"},
      {{.call = "copy_file_range", .errnum = EXDEV}, {.call = "pwrite", .nth = 3, .errnum = ENOSPC}, "No space left"},
      {{.call = "fsync", .errnum = EDQUOT}, {0}, "Disk quota"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    part_job jobs[RANKS] = {{0}};
    add_rule(cases[i].first);
    if (cases[i].second.call) add_rule(cases[i].second);
    save_parts(jobs, false);
    end_rules();
    assert_int_equal(jobs[1].status, FURROW_E_IO);
    assert_string_equal(jobs[1].err.file, "x");
    if (!strstr(jobs[1].err.message, cases[i].message)) fail_msg("%s", jobs[1].err.message);
    assert_int_equal(jobs[0].status, FURROW_E_STATE); /* another rank failed */
  }
}

static int close_errnum;

static void fail_next_close(void) {
  fail_call("close", 1, close_errnum); /* of the first rank's file, which the second has opened */
}

static void a_part_is_there_when_its_file_is_closed(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    part_job jobs[RANKS] = {{0}};
    close_errnum = i ? EINTR : EIO;
    add_rule((call_rule){.call = "fsync", .before = fail_next_close});
    save_parts(jobs, i == 1);
    end_rules();
    if (i == 0) assert_non_null(strstr(jobs[1].err.message, "cannot write"));
  }
}

/* A rank that fails before the commit, or a line that breaks at any point. */
static void ranks_fail_together(void **state) {
  (void)state;
  part_job jobs[RANKS] = {{.mine = FURROW_E_FORMAT}, {0}};
  save_parts(jobs, false);
  assert_int_equal(jobs[0].status, FURROW_E_FORMAT);
  assert_int_equal(jobs[1].status, FURROW_E_STATE);
  part_job plain[RANKS] = {{0}};
  save_parts(plain, true);
  assert_int_equal(plain[0].failing, plain[1].failing);
  for (int n = 1; n < plain[0].failing; n++) { /* after the last one the file is there */
    part_job broken[RANKS] = {{.failing = n}, {.failing = n}};
    save_parts(broken, false);
    assert_int_equal(broken[0].status, FURROW_E_IO); /* the other may find that the file is gone */
  }
}

/* The first rank's file is not where another rank looks for it. */
static furrow_status lose_name(const furrow_comm *comm, void *bytes, size_t size, unsigned root, furrow_error *err) {
  const furrow_status status = thread_broadcast(comm, bytes, size, root, err);
  if (comm->rank == 1) strcpy(bytes, "nowhere");
  return status;
}

static void *save_lost_part(void *item) {
  part_job *job = item;
  furrow_comm comm = thread_comm(job->rank, RANKS);
  fw_atomic_file *file = NULL;
  comm.broadcast = lose_name;
  assert_int_equal(fw_atomic_file_open_ranks(&file, "x", &comm, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_write(file, "text", 4, NULL), FURROW_OK);
  job->status = fw_atomic_file_join(file, FURROW_OK, 0, &job->err);
  assert_int_equal(fw_atomic_file_join(file, FURROW_OK, 0, NULL), job->status); /* what failed stays so */
  fw_atomic_file_close(file);
  return NULL;
}

static void all_ranks_must_see_the_file(void **state) {
  (void)state;
  part_job jobs[RANKS] = {{.rank = 0}, {.rank = 1}};
  run_threads(RANKS, save_lost_part, jobs, sizeof *jobs);
  assert_int_equal(jobs[0].status, FURROW_E_STATE);
  assert_int_equal(jobs[1].status, FURROW_E_NOT_FOUND);
  assert_non_null(strstr(jobs[1].err.message, "cannot open the file that the first rank writes"));
  assert_string_equal(jobs[1].err.hint, "all ranks must see the same directory");
  assert_int_equal(test_entries("."), 0);
}

static void a_rank_that_cannot_begin(void **state) {
  (void)state;
  const furrow_comm comm = thread_comm(1, RANKS);
  fw_atomic_file *file = NULL;
  furrow_error err;
  assert_int_equal(fw_atomic_file_open_ranks(&file, "gone/x", &comm, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "gone/x");
  assert_int_equal(fw_atomic_file_open_ranks(&file, "-", &comm, &err), FURROW_E_UNSUPPORTED);
  fail_call("create", 1, EROFS);
  assert_int_equal(fw_atomic_file_open_ranks(&file, "x", &comm, &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "cannot create a file next to it"));
  assert_null(file);
  assert_int_equal(test_entries("."), 0);
}

/* ---- Where it goes -------------------------------------------------------------------------------------- */

static void a_place_beyond_all_files(void **state) {
  (void)state;
  const int fd = open("x", O_WRONLY | O_CREAT, 0644);
  assert_int_equal(fw_write_at(fd, "x", 1, (uint64_t)INT64_MAX + 1), EFBIG);
  assert_int_equal(fw_write_at(fd, "x", 1, INT64_MAX), EFBIG);
  assert_int_equal(close(fd), 0);
  assert_true(has_text("x", ""));
}

static void names_that_no_file_can_have(void **state) {
  (void)state;
  char name[400];
  snprintf(name, sizeof name, ".%0300d.furrow-abcdef", 1);
  assert_true(fw_target_is_temporary(name));
  assert_false(fw_target_is_drawn(name));
}

/* A link in a folder where everybody may put one is followed if this user or the owner of the folder made it. */
static void links_of_other_users(void **state) {
  (void)state;
  static const struct {
    mode_t mode;
    uid_t folder, link;
    bool followed;
  } cases[] = {{01777, 0, 12345, false}, {01777, 12345, 12345, true}, {01777, 12345, 0, true},
               {0777, 0, 12345, true},   {01755, 0, 12345, true},     {01777, 12345, 23456, false}};
  if (geteuid() != 0) skip(); /* only root can give files away */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_error err = {0};
    assert_int_equal(mkdir("f", 0755) | symlink("../x", "f/x"), 0);
    assert_int_equal(lchown("f/x", cases[i].link, (gid_t)-1) | chown("f", cases[i].folder, (gid_t)-1), 0);
    assert_int_equal(chmod("f", cases[i].mode), 0);
    assert_true(test_write_text("x", "old"));
    assert_int_equal(furrow_file_save("f/x", "new", 3, true, &err), cases[i].followed ? FURROW_OK : FURROW_E_IO);
    assert_true(has_text("x", cases[i].followed ? "new" : "old"));
    if (!cases[i].followed) assert_non_null(strstr(err.message, "a link that another user made"));
    assert_int_equal(unlink("f/x") | rmdir("f"), 0);
  }
}

static void links_that_change_meanwhile(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(symlink("x", "link"), 0);
  fail_call("lstat", 1, ENOENT);
  assert_int_equal(furrow_file_save("link", "first", 5, true, NULL), FURROW_OK);
  end_rules();
  assert_true(has_text("x", "first"));
  fail_call("stat", 1, EACCES);
  assert_int_equal(furrow_file_save("link", "second", 6, true, NULL), FURROW_OK);
  end_rules();
  assert_true(has_text("x", "second"));
  add_rule((call_rule){.call = "readlink"});
  assert_int_equal(furrow_file_save("link", "third", 5, true, &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "name too long"));
  assert_true(has_text("x", "second"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RULES(what_fails_leaves_the_old_file),
      WITH_RULES(what_does_not_matter_is_passed_over),
      WITH_RULES(no_descriptor_is_free_for_the_lock),
      WITH_RULES(a_large_save_that_fails),
      WITH_RULES(a_name_is_taken_only_once),
      WITH_RULES(an_output_of_nothing_is_not_called),
      WITH_RULES(standard_output_takes_all_or_says_why),
      WITH_RULES(a_process_that_is_to_stop_writes_no_more),
      WITH_RULES(a_pair_that_cannot_be_replaced_stays),
      WITH_RULES(a_pair_of_new_files),
      WITH_RULES(a_set_is_put_back_after_an_error),
      WITH_RULES(a_set_that_cannot_be_put_back_is_not_mixed),
      WITH_RULES(a_locked_folder_is_waited_for),
      WITH_RULES(a_folder_that_cannot_be_locked_is_changed),
      WITH_RULES(a_pair_behind_standard_output),
      WITH_RULES(what_failed_cannot_be_prepared),
      WITH_RULES(parts_are_copied_in_the_kernel_or_by_hand),
      WITH_RULES(a_part_that_cannot_be_copied_fails_all),
      WITH_RULES(a_part_is_there_when_its_file_is_closed),
      WITH_RULES(ranks_fail_together),
      WITH_RULES(all_ranks_must_see_the_file),
      WITH_RULES(a_rank_that_cannot_begin),
      WITH_RULES(a_place_beyond_all_files),
      WITH_RULES(names_that_no_file_can_have),
      WITH_RULES(links_of_other_users),
      WITH_RULES(links_that_change_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
