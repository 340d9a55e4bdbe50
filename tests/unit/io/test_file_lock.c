/* tests/unit/io/test_file_lock.c: locks of files that are read, changed and replaced. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "furrow/io.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

static char home[TEST_PATH], folder[TEST_PATH];
static const char path[] = "items.index";

/* The tests work in a folder of their own. */
static int enter_folder(void **state) {
  (void)state;
  return getcwd(home, sizeof home) && test_make_dir(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
  (void)state;
  return chdir(home) == 0 && test_remove_dir(folder) ? 0 : -1;
}

static void one_lock_at_a_time(void **state) {
  (void)state;
  furrow_file_lock *lock = NULL, *second = NULL;
  furrow_error err;
  assert_true(test_write_text(path, "x"));
  assert_int_equal(furrow_file_lock_open(&lock, path, &err), FURROW_OK);
  assert_int_equal(furrow_file_lock_open(&second, path, &err), FURROW_E_STATE);
  assert_null(second);
  assert_string_equal(err.file, path);
  furrow_file_lock_close(lock);
  assert_int_equal(furrow_file_lock_open(&second, path, &err), FURROW_OK);
  furrow_file_lock_close(second);
  furrow_file_lock_close(NULL);
}

/* The child finds the lock taken, and the message names this process. */
static void another_process_is_named(void **state) {
  (void)state;
  char wanted[64];
  furrow_file_lock *lock = NULL;
  assert_true(test_write_text(path, "x"));
  assert_int_equal(furrow_file_lock_open(&lock, path, NULL), FURROW_OK);
  snprintf(wanted, sizeof wanted, "process %ld is changing it", (long)getpid());
  const pid_t child = fork();
  if (child == 0) {
    furrow_error err;
    furrow_file_lock *mine = NULL;
    const furrow_status status = furrow_file_lock_open(&mine, path, &err);
    const bool named = strcmp(err.message, wanted) == 0 || strcmp(err.message, "another process is changing it") == 0;
    _exit(status == FURROW_E_STATE && named ? 0 : 1);
  }
  int code = 0;
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_int_equal(code, 0);
  furrow_file_lock_close(lock);
}

/* A file that was replaced while it was locked is another file: its lock is free. */
static void replaced_files_are_locked_anew(void **state) {
  (void)state;
  furrow_file_lock *old = NULL, *now = NULL, *third = NULL;
  assert_true(test_write_text(path, "x") && test_write_text("other", "y"));
  assert_int_equal(furrow_file_lock_open(&old, path, NULL), FURROW_OK);
  assert_int_equal(rename("other", path), 0);
  assert_int_equal(furrow_file_lock_open(&now, path, NULL), FURROW_OK);
  furrow_file_lock_close(old);
  assert_int_equal(furrow_file_lock_open(&third, path, NULL), FURROW_E_STATE);
  furrow_file_lock_close(now);
}

static void what_cannot_be_locked(void **state) {
  (void)state;
  furrow_file_lock *lock = NULL;
  furrow_error err;
  assert_int_equal(mkfifo("fifo", 0600), 0);
  assert_int_equal(furrow_file_lock_open(&lock, "fifo", &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "not a regular file");
  assert_int_equal(furrow_file_lock_open(&lock, "nowhere/nothing", &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_file_lock_open(&lock, "memory://x", &err), FURROW_E_UNSUPPORTED);
  assert_null(lock);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_lock_at_a_time),
      cmocka_unit_test(another_process_is_named),
      cmocka_unit_test(replaced_files_are_locked_anew),
      cmocka_unit_test(what_cannot_be_locked),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
