/* tests/unit/io/test_lock_calls.c: locks, notes of temporaries and the search for leftovers where a system call fails,
 * is overtaken, or the system says less than elsewhere. */
#include <pthread.h>
#include <sys/wait.h>

#include "call_rules.h"
#include "io/atomic_file.h"
#include "io/file_lock.h"
#include "io/temporary.h"

/* Runs the test's work in a process of its own, which says 0. */
static void run_child(int (*work)(void)) {
  int code = -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) _exit(work());
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_int_equal(code, 0);
}

static furrow_status save(const char *text, furrow_error *err) {
  return furrow_file_save("x", text, strlen(text), true, err);
}

/* ---- Locks of callers ----------------------------------------------------------------------------------- */

/* Another open file of this process has the lock. */
static int take_lock(const char *path) {
  const int fd = open(path, O_RDONLY);
  assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
  return fd;
}

static void expect_taken(const char *message, const char *hint) {
  furrow_file_lock *lock = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_file_lock_open(&lock, "x", &err);
  end_rules();
  assert_int_equal(status, FURROW_E_STATE);
  assert_null(lock);
  assert_string_equal(err.file, "x");
  assert_string_equal(err.message, message);
  assert_string_equal(err.hint, hint);
}

/* Where the system does not list locks or commands, the message has less. */
static void the_owner_need_not_be_known(void **state) {
  (void)state;
  static const char hint[] = "run the command again when the other one has ended";
  char message[64];
  assert_true(test_write_text("x", "text"));
  const int fd = take_lock("x");
  fail_call("fopen", 1, ENOENT);
  expect_taken("another process is changing it", hint);
  FILE *locks = fopen("/proc/locks", "re");
  if (locks) {
    fclose(locks);
    fail_call("fopen", 2, ENOENT);
    snprintf(message, sizeof message, "process %ld is changing it", (long)getpid());
    expect_taken(message, hint);
  }
  assert_int_equal(close(fd), 0);
}

static void expect_refused(furrow_status wanted, const char *message) {
  furrow_file_lock *lock = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_file_lock_open(&lock, "x", &err);
  end_rules();
  assert_int_equal(status, wanted);
  assert_null(lock);
  assert_string_equal(err.file, "x");
  assert_string_equal(err.message, message);
}

static void locks_that_fail_say_why(void **state) {
  (void)state;
  assert_true(test_write_text("x", "text"));
  add_rule((call_rule){.call = "open", .times = 2, .errnum = EMFILE});
  expect_refused(FURROW_E_IO, "cannot be opened: Too many open files");
  add_rule((call_rule){.call = "open", .times = 2, .errnum = ENOTDIR});
  expect_refused(FURROW_E_NOT_FOUND, "no such file or directory");
  fail_call("fstat", 1, EIO);
  expect_refused(FURROW_E_IO, "cannot be locked: Input/output error");
}

static void replace_file(void) {
  assert_true(test_write_text("y", "another"));
  assert_int_equal(rename("y", "x"), 0);
}

/* The lock is on what is at the path, also if that changes while it is taken. */
static void what_was_replaced_is_locked_again(void **state) {
  (void)state;
  static const call_rule rules[] = {{.call = "stat", .errnum = ENOENT},
                                    {.call = "stat", .elsewhere = true},
                                    {.call = "stat", .before = replace_file},
                                    {.call = "open", .errnum = EACCES}, /* only for reading */
                                    {.call = "flock", .errnum = ENOLCK}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    furrow_file_lock *lock = NULL;
    assert_true(test_write_text("x", "text"));
    add_rule(rules[i]);
    assert_int_equal(furrow_file_lock_open(&lock, "x", NULL), FURROW_OK);
    end_rules();
    const int fd = open("x", O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), rules[i].errnum == ENOLCK ? 0 : -1);
    close(fd);
    furrow_file_lock_close(lock);
  }
}

static int lock_when_stopped(void) {
  furrow_file_lock *lock = NULL;
  furrow_process_interrupt();
  return furrow_file_lock_open(&lock, "x", NULL) == FURROW_E_STATE && slept_ms == 0 ? 0 : 1;
}

static void a_process_that_is_to_stop_does_not_wait(void **state) {
  (void)state;
  assert_true(test_write_text("x", "text"));
  const int fd = take_lock("x");
  atomic_store(&slept_ms, 0);
  run_child(lock_when_stopped);
  furrow_file_lock *lock = NULL;
  assert_int_equal(furrow_file_lock_open(&lock, "x", NULL), FURROW_E_STATE);
  assert_int_equal(slept_ms, 200);
  assert_int_equal(close(fd), 0);
}

/* ---- What is replaced ----------------------------------------------------------------------------------- */

/* What cannot be read cannot be locked, and is replaced all the same. */
static void what_cannot_be_locked_is_replaced(void **state) {
  (void)state;
  static const call_rule rules[] = {
      {.call = "openat", .times = 2, .errnum = EACCES}, {.call = "openat", .times = 2, .errnum = EPERM},
      {.call = "openat", .times = 2, .errnum = ELOOP},  {.call = "flock", .times = 3, .errnum = ENOLCK},
      {.call = "fstat", .times = 2, .errnum = EIO},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    assert_true(test_write_text("x", "old"));
    add_rule(rules[i]);
    assert_int_equal(save("new", NULL), FURROW_OK);
    end_rules();
    assert_true(has_text("x", "new"));
    assert_int_equal(test_entries("."), 1);
  }
}

/* What another process put there meanwhile is locked instead. */
static void what_is_there_now_is_locked(void **state) {
  (void)state;
  static const call_rule rules[] = {{.call = "flock", .before = replace_file},
                                    {.call = "fstatat", .nth = 2, .errnum = ENOENT},
                                    {.call = "fstatat", .nth = 2, .elsewhere = true}};
  for (size_t i = 0; i < 3; i++) {
    assert_true(test_write_text("x", "old"));
    add_rule(rules[i]);
    assert_int_equal(save("new", NULL), FURROW_OK);
    end_rules();
    assert_true(has_text("x", "new"));
    assert_int_equal(test_entries("."), 1);
  }
}

/* A lock that cannot go over to the new file stays on the old one. */
static void a_lock_may_stay_behind(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    furrow_file_lock *lock = NULL;
    fw_atomic_file *file = NULL;
    assert_true(test_write_text("x", "old"));
    assert_int_equal(furrow_file_lock_open(&lock, "x", NULL), FURROW_OK);
    assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
    if (i == 0)
      fail_call("dup", 2, EMFILE);
    else
      fail_call("fstat", 2, EIO);
    assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
    end_rules();
    fw_atomic_file_close(file);
    const int fd = take_lock("x");
    close(fd);
    furrow_file_lock_close(lock);
    assert_true(has_text("x", ""));
  }
}

static void a_lock_is_of_its_device(void **state) {
  (void)state;
  furrow_file_lock *lock = NULL;
  assert_true(test_write_text("x", "old"));
  assert_int_equal(furrow_file_lock_open(&lock, "x", NULL), FURROW_OK);
  add_rule((call_rule){.call = "fstat", .elsewhere = true}); /* not that file, though its number is the same */
  assert_int_equal(save("new", NULL), FURROW_E_STATE);
  end_rules();
  furrow_file_lock_close(lock);
  assert_true(has_text("x", "old"));
}

/* ---- Temporaries ---------------------------------------------------------------------------------------- */

static char left[TEST_PATH]; /* the name of what a killed process left */

static int leave_file(void) {
  fw_atomic_file *file = NULL;
  return fw_atomic_file_open(&file, "left", NULL) == FURROW_OK ? 0 : 1;
}

static bool is_left(void) {
  DIR *handle = opendir(".");
  bool found = false;
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strncmp(entry->d_name, ".left.", 6) == 0) {
      found = true;
      snprintf(left, sizeof left, "%s", entry->d_name);
    }
  closedir(handle);
  return found;
}

static call_rule child_rule;

static int save_by_rule(void) {
  add_rule(child_rule);
  const furrow_status status = save("text", NULL);
  return status != FURROW_OK ? 1 : atomic_load(&call_rules[0].hits) > 0 ? 0 : 2;
}

static void replace_left(void) {
  assert_int_equal(unlink(left), 0);
  assert_true(test_write_text(left, "another"));
}

/* Whatever cannot be asked about a leftover, it stays then; the next process removes it. */
static void a_leftover_that_cannot_be_looked_at_stays(void **state) {
  (void)state;
  static const call_rule rules[] = {{.call = "fstatfs", .errnum = EIO},
                                    {.call = "fstatfs", .elsewhere = true}, /* of several machines */
                                    {.call = "fstat", .errnum = EIO},       /* of the directory */
                                    {.call = "dup", .errnum = EMFILE},
                                    {.call = "fdopendir", .errnum = ENOMEM},
                                    {.call = "openat", .errnum = EMFILE},
                                    {.call = "flock", .errnum = EWOULDBLOCK},
                                    {.call = "fstat", .nth = 2, .errnum = EIO},
                                    {.call = "fstatat", .nth = 2, .errnum = EIO},
                                    {.call = "fstatat", .nth = 3, .errnum = EIO},
                                    {.call = "fstatat", .nth = 3, .elsewhere = true},
                                    {.call = "flock", .before = replace_left}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    run_child(leave_file);
    assert_true(is_left());
    child_rule = rules[i];
    run_child(save_by_rule);
    if (!is_left()) fail_msg("rule %zu, %s", i, rules[i].call);
    assert_true(has_text("x", "text"));
    assert_int_equal(unlink(left), 0);
    assert_int_equal(unlink("x"), 0);
  }
}

static int save_plainly(void) {
  return save("text", NULL) == FURROW_OK ? 0 : 1;
}

/* A directory whose name was cut: nobody knows what it was made for. */
static void a_leftover_of_a_long_name_stays(void **state) {
  (void)state;
  fw_target target = {.directory = -1};
  char name[300];
  memset(name, 'n', sizeof name);
  name[250] = 0;
  assert_int_equal(fw_target_find(&target, name, NULL), FURROW_OK);
  fw_target_pick_name(&target, 0);
  assert_int_equal(mkdir(target.temporary, 0755), 0);
  run_child(save_plainly);
  assert_int_equal(access(target.temporary, F_OK), 0);
  fw_target_clear(&target);
}

/* A new file whose name another process took away, as far as that can be told. */
static void claims(void **state) {
  (void)state;
  assert_true(test_write_text("a", "text") && test_write_text("b", "text"));
  const int fd = open("a", O_RDONLY);
  assert_true(fw_temporary_claim(AT_FDCWD, "a", fd));
  assert_false(fw_temporary_claim(AT_FDCWD, "b", fd));
  assert_false(fw_temporary_claim(AT_FDCWD, "gone", fd));
  fail_call("flock", 1, ENOLCK); /* a file system without locks */
  assert_true(fw_temporary_claim(AT_FDCWD, "a", fd));
  fail_call("fstatat", 1, EIO);
  assert_true(fw_temporary_claim(AT_FDCWD, "a", fd));
  fail_call("fstat", 1, EIO);
  assert_true(fw_temporary_claim(AT_FDCWD, "a", fd));
  add_rule((call_rule){.call = "fstat", .elsewhere = true});
  assert_false(fw_temporary_claim(AT_FDCWD, "a", fd));
  end_rules();
  assert_int_equal(close(fd), 0);
}

static void trees_that_cannot_be_removed(void **state) {
  (void)state;
  static const struct {
    call_rule rule;
    int errnum;
  } cases[] = {{{.call = "unlinkat", .errnum = EROFS}, EROFS},      {{.call = "unlinkat", .errnum = ENOENT}, 0},
               {{.call = "openat", .errnum = EMFILE}, EMFILE},      {{.call = "openat", .errnum = ENOENT}, 0},
               {{.call = "rmdir", .errnum = ENOTEMPTY}, ENOTEMPTY}, {{.call = "rmdir", .errnum = ENOENT}, 0}};
  assert_int_equal(mkdir("d", 0755), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    add_rule(cases[i].rule);
    assert_int_equal(fw_tree_remove(AT_FDCWD, "d"), cases[i].errnum);
    end_rules();
    assert_int_equal(access("d", F_OK), 0);
  }
  assert_int_equal(fw_tree_remove(AT_FDCWD, "d"), 0);
  assert_int_equal(fw_tree_remove(AT_FDCWD, "d"), 0); /* what is gone already does not count */
  assert_int_equal(test_entries("."), 0);
}

/* ---- Notes ---------------------------------------------------------------------------------------------- */

enum { NOTES = 64 };

/* More temporaries than there are notes for: those without one are left to the next process. */
static int open_many(void) {
  fw_atomic_file *files[NOTES + 2];
  for (int i = 0; i < NOTES + 2; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    if (fw_atomic_file_open(&files[i], name, NULL) != FURROW_OK) return 1;
  }
  if (test_entries(".") != NOTES + 2) return 2;
  furrow_process_clean_up();
  return test_entries(".") == 2 ? 0 : 3;
}

static void notes_have_an_end(void **state) {
  (void)state;
  run_child(open_many);
  run_child(save_plainly);
  assert_int_equal(test_entries("."), 1);
}

static int clean_up(void) {
  furrow_process_clean_up();
  return 0;
}

static void a_child_leaves_what_is_its_parents(void **state) {
  (void)state;
  fw_atomic_file *file = NULL;
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  run_child(clean_up);
  assert_int_equal(test_entries("."), 1);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  assert_true(has_text("x", ""));
}

/* The process ends: a temporary that is begun now waits for that. */
static int begin_at_the_end(void) {
  furrow_process_clean_up();
  atomic_store(&slept_ms, 0);
  return save("text", NULL) == FURROW_OK && slept_ms == 1000 ? 0 : 1;
}

static void what_begins_at_the_end_waits(void **state) {
  (void)state;
  run_child(begin_at_the_end);
}

static int place_of_other;

static void *announce(void *name) {
  place_of_other = fw_temporary_announce(AT_FDCWD, name);
  return NULL;
}

static void make_other(void) {
  if (!test_write_text("other", "text")) _exit(9);
  fw_temporary_made(place_of_other);
}

/* Another thread is about to make its temporary: it is waited for, a little. */
static int wait_for_other(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, announce, "other") != 0 || pthread_join(thread, NULL) != 0) return 1;
  add_rule((call_rule){.call = "nanosleep", .nth = 3, .before = make_other});
  furrow_process_clean_up();
  if (slept_ms != 3 || access("other", F_OK) == 0) return 2;
  drop_rules();
  fw_temporary_forget(place_of_other);
  return 0;
}

static int wait_in_vain(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, announce, "other") != 0 || pthread_join(thread, NULL) != 0) return 1;
  furrow_process_clean_up();
  return slept_ms == 100 ? 0 : 2;
}

/* What this thread was about to make when the signal came is not waited for. */
static int wait_for_itself(void) {
  announce("own");
  furrow_process_clean_up();
  return slept_ms == 0 ? 0 : 1;
}

static void what_others_are_about_to_make_is_waited_for(void **state) {
  (void)state;
  atomic_store(&slept_ms, 0);
  run_child(wait_for_other);
  run_child(wait_in_vain);
  run_child(wait_for_itself);
  assert_int_equal(test_entries("."), 0);
}

/* Another thread goes on writing into a directory that is to be removed. */
static int remove_filling(void) {
  if (mkdir("d", 0755) != 0) return 1;
  const int place = fw_temporary_note(AT_FDCWD, "d");
  add_rule((call_rule){.call = "rmdir", .times = 3, .errnum = ENOTEMPTY});
  furrow_process_clean_up();
  if (access("d", F_OK) == 0 || atomic_load(&call_rules[0].hits) != 3) return 2;
  drop_rules();
  if (mkdir("d", 0755) != 0) return 3;
  add_rule((call_rule){.call = "rmdir", .times = FOR_EVER, .errnum = ENOTEMPTY});
  furrow_process_clean_up();
  if (access("d", F_OK) != 0 || atomic_load(&call_rules[0].hits) != 100) return 4;
  fw_temporary_forget(place);
  return 0;
}

static void a_directory_that_is_being_filled_is_removed(void **state) {
  (void)state;
  run_child(remove_filling);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RULES(the_owner_need_not_be_known),
      WITH_RULES(locks_that_fail_say_why),
      WITH_RULES(what_was_replaced_is_locked_again),
      WITH_RULES(a_process_that_is_to_stop_does_not_wait),
      WITH_RULES(what_cannot_be_locked_is_replaced),
      WITH_RULES(what_is_there_now_is_locked),
      WITH_RULES(a_lock_may_stay_behind),
      WITH_RULES(a_lock_is_of_its_device),
      WITH_RULES(a_leftover_that_cannot_be_looked_at_stays),
      WITH_RULES(a_leftover_of_a_long_name_stays),
      WITH_RULES(claims),
      WITH_RULES(trees_that_cannot_be_removed),
      WITH_RULES(notes_have_an_end),
      WITH_RULES(a_child_leaves_what_is_its_parents),
      WITH_RULES(what_begins_at_the_end_waits),
      WITH_RULES(what_others_are_about_to_make_is_waited_for),
      WITH_RULES(a_directory_that_is_being_filled_is_removed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
