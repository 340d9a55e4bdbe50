/* tests/unit/io/test_dir_calls.c: directories that are replaced where a system call fails, is interrupted, or does not
 * do what it does elsewhere: there is the old directory or the new one, whole. */
#include "call_rules.h"
#include "io/atomic_dir.h"
#include "io/temporary.h"

static furrow_status may_replace(const char *path, furrow_error *err) {
  (void)path, (void)err;
  return FURROW_OK;
}

static bool put_text(int folder, const char *name, const char *text) {
  const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
  return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0;
}

/* "x" with the file "a", whose text it is; what fails, fails after `prepared`. */
static furrow_status save(const char *text, void (*prepared)(void), furrow_error *err) {
  fw_atomic_dir *made = NULL;
  furrow_status status = fw_atomic_dir_open(&made, "x", may_replace, err);
  if (status != FURROW_OK) return status;
  assert_true(put_text(fw_atomic_dir_fd(made), "a", text));
  if (prepared) prepared();
  status = fw_atomic_dir_commit(made, err);
  fw_atomic_dir_close(made);
  return status;
}

static void save_old(void) {
  assert_int_equal(save("old", NULL, NULL), FURROW_OK);
}

static void expect_only(const char *text) {
  assert_true(has_text("x/a", text));
  assert_int_equal(test_entries("x"), 1);
  assert_int_equal(test_entries("."), 1);
}

/* The rules that there are let opening fail. */
static void expect_not_begun(furrow_status wanted, const char *message) {
  furrow_error err = {0};
  const furrow_status status = save("new", NULL, &err);
  end_rules();
  assert_int_equal(status, wanted);
  assert_string_equal(err.file, "x");
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  expect_only("old");
}

static void expect_begun(void) {
  furrow_error err = {0};
  const furrow_status status = save("new", NULL, &err);
  end_rules();
  if (status != FURROW_OK) fail_msg("%s", err.message);
  expect_only("new");
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static void what_fails_leaves_the_old_directory(void **state) {
  (void)state;
  save_old();
  fail_call("fstatat", 1, EIO);
  expect_not_begun(FURROW_E_IO, "cannot examine the existing file or directory");
  add_rule((call_rule){.call = "mkdirat", .times = FOR_EVER, .errnum = EEXIST}); /* a hundred names are tried */
  expect_not_begun(FURROW_E_IO, "cannot make a directory next to it");
  fail_call("mkdirat", 1, EDQUOT);
  expect_not_begun(FURROW_E_IO, "cannot make a directory next to it");
  fail_call("lstat", 1, ENOENT);
  expect_not_begun(FURROW_E_STATE, "the directory to replace has moved");
  add_rule((call_rule){.call = "lstat", .elsewhere = true});
  expect_not_begun(FURROW_E_STATE, "the directory to replace has moved");
}

static void refuse_folders(void) {
  fail_call("openat", 1, EMFILE); /* the new one, once it is made */
}

static void a_directory_that_cannot_be_opened(void **state) {
  (void)state;
  save_old();
  add_rule((call_rule){.call = "mkdirat", .before = refuse_folders});
  expect_not_begun(FURROW_E_IO, "cannot open a directory next to it");
}

static bool vanished;

/* Another process takes the new directory for a leftover. */
static void remove_temporary(void) {
  DIR *handle = opendir(".");
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strncmp(entry->d_name, ".x.furrow-", 10) == 0) vanished = rmdir(entry->d_name) == 0;
  closedir(handle);
}

static void remove_what_is_made(void) {
  add_rule((call_rule){.call = "openat", .before = remove_temporary});
}

static void what_does_not_matter_is_passed_over(void **state) {
  (void)state;
  save_old();
  fail_call("mkdirat", 1, EINTR);
  expect_begun();
  fail_call("mkdirat", 1, EEXIST);
  expect_begun();
  fail_call("fchown", 1, EPERM); /* of another user: then the group alone */
  expect_begun();
  vanished = false;
  add_rule((call_rule){.call = "mkdirat", .before = remove_what_is_made});
  expect_begun();
  assert_true(vanished);
}

static void a_directory_of_another_process(void **state) {
  (void)state;
  fw_atomic_dir *made = NULL, *joined = NULL;
  furrow_error err;
  int fd = -1;
  assert_int_equal(fw_atomic_dir_open(&made, "x", NULL, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_dir_join(&joined, "x", fw_atomic_dir_temporary(made), &err), FURROW_OK);
  assert_true(put_text(fw_atomic_dir_fd(joined), "a", "joined"));
  fw_atomic_dir_close(joined);
  joined = NULL;
  assert_int_equal(fw_atomic_dir_join(&joined, "x", "nothing", &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "x");
  assert_string_equal(err.hint, "all processes must see the same file system");
  fail_call("openat", 1, EMFILE);
  assert_int_equal(fw_atomic_dir_join(&joined, "x", fw_atomic_dir_temporary(made), &err), FURROW_E_IO);
  end_rules();
  assert_non_null(strstr(err.message, "cannot open the directory that another process made"));
  assert_int_equal(err.hint[0], 0);
  assert_int_equal(fw_dir_enter(&fd, fw_atomic_dir_fd(made), "gone", "x/gone", &err), FURROW_E_IO);
  assert_non_null(strstr(err.message, "cannot open a directory"));
  assert_string_equal(err.file, "x/gone");
  assert_int_equal(fw_dir_make(&fd, fw_atomic_dir_fd(made), "a", "x/a", &err), FURROW_E_EXISTS);
  assert_int_equal(fd, -1);
  assert_null(joined);
  assert_int_equal(fw_atomic_dir_commit(made, NULL), FURROW_OK);
  fw_atomic_dir_close(made);
  expect_only("joined");
}

/* ---- Bringing it to the disk ---------------------------------------------------------------------------- */

static call_rule commit_rule;

static void rule_for_commit(void) {
  add_rule(commit_rule);
}

static void expect_committed(call_rule rule) {
  furrow_error err = {0};
  commit_rule = rule;
  const furrow_status status = save("new", rule_for_commit, &err);
  end_rules();
  if (status != FURROW_OK) fail_msg("%s", err.message);
  expect_only("new");
}

static void expect_not_committed(call_rule rule, furrow_status wanted, const char *message) {
  furrow_error err = {0};
  commit_rule = rule;
  const furrow_status status = save("new", rule_for_commit, &err);
  end_rules();
  assert_int_equal(status, wanted);
  assert_string_equal(err.file, "x");
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  expect_only("old");
}

static void what_is_not_on_the_disk_is_not_put_in_place(void **state) {
  (void)state;
  static const char message[] = "cannot sync the directory to disk";
  save_old();
  expect_not_committed((call_rule){.call = "fstatat", .errnum = EIO}, FURROW_E_IO, message);
  expect_not_committed((call_rule){.call = "fsync", .errnum = EINVAL}, FURROW_E_IO, message);
  expect_not_committed((call_rule){.call = "fsync of a directory", .errnum = EIO}, FURROW_E_IO, message);
  /* the first is the old directory, which was only read */
  expect_not_committed((call_rule){.call = "close", .nth = 2, .errnum = EIO}, FURROW_E_IO, message);
  for (int i = 1; i <= 5; i++)
    expect_not_committed((call_rule){.call = "openat", .nth = i, .errnum = EMFILE}, FURROW_E_IO, message);
  expect_not_committed((call_rule){.call = "fchmod", .errnum = EPERM}, FURROW_E_IO, "the permissions of the old");
  expect_not_committed((call_rule){.call = "fchmod", .nth = 2, .errnum = EPERM}, FURROW_E_IO,
                       "the permissions of the old");
  expect_not_committed((call_rule){.call = "fdopendir", .errnum = ENOMEM}, FURROW_E_IO, message);
  add_rule((call_rule){.call = "fstat", .errnum = EIO, .times = FOR_EVER}); /* what it is cannot be asked */
  expect_not_committed((call_rule){.call = "fsync of a directory", .errnum = EINVAL}, FURROW_E_IO, message);
  expect_committed((call_rule){.call = "close", .nth = 2, .errnum = EINTR});
  expect_committed((call_rule){.call = "fsync of a directory", .times = 2, .errnum = EINVAL});
}

static void only_files_and_directories_are_synced(void **state) {
  (void)state;
  fw_atomic_dir *made = NULL;
  assert_int_equal(fw_atomic_dir_open(&made, "x", NULL, NULL), FURROW_OK);
  const int fd = fw_atomic_dir_fd(made);
  assert_int_equal(symlinkat("nowhere", fd, "link"), 0);
  assert_int_equal(mkfifoat(fd, "pipe", 0600), 0); /* opening it would wait */
  assert_true(put_text(fd, "a", "text"));
  assert_int_equal(fw_dir_sync_file(fd, "a"), 0);
  assert_int_equal(fw_dir_sync_file(fd, "pipe"), 0);
  assert_int_equal(fw_dir_sync_file(fd, "gone"), ENOENT);
  fail_call("fsync", 1, EIO);
  assert_int_equal(fw_dir_sync_file(fd, "a"), EIO);
  end_rules();
  assert_int_equal(fw_atomic_dir_commit(made, NULL), FURROW_OK);
  fw_atomic_dir_close(made);
  assert_int_equal(test_entries("x"), 3);
}

/* A tree that is too deep to be walked through is neither put in place nor removed. */
static void a_tree_has_a_depth(void **state) {
  (void)state;
  enum { DEEP = 105 };
  fw_atomic_dir *made = NULL;
  furrow_error err;
  assert_int_equal(fw_atomic_dir_open(&made, "x", NULL, NULL), FURROW_OK);
  int fd = dup(fw_atomic_dir_fd(made));
  for (int i = 0; i < DEEP; i++) {
    const int parent = fd;
    assert_int_equal(fw_dir_make(&fd, parent, "d", "x", NULL), FURROW_OK);
    close(parent);
  }
  close(fd);
  assert_int_equal(fw_atomic_dir_commit(made, &err), FURROW_E_IO);
  assert_non_null(strstr(err.message, "Too many levels"));
  assert_int_equal(fw_tree_remove(AT_FDCWD, fw_atomic_dir_temporary(made)), ELOOP);
  fw_atomic_dir_close(made);
  assert_int_equal(access("x", F_OK), -1);
  assert_int_equal(test_entries("."), 1);
}

/* ---- Putting it in place -------------------------------------------------------------------------------- */

static void directories_that_cannot_be_exchanged(void **state) {
  (void)state;
  static const int errnums[] = {EINVAL, ENOSYS, EOPNOTSUPP};
  save_old();
  for (size_t i = 0; i < 3; i++)
    expect_not_committed((call_rule){.call = "renameat2", .errnum = errnums[i]}, FURROW_E_UNSUPPORTED,
                         "cannot exchange two directories");
  expect_not_committed((call_rule){.call = "renameat2", .errnum = EIO}, FURROW_E_IO,
                       "cannot put the new directory in place");
}

static void a_new_name_needs_no_exchange(void **state) {
  (void)state;
  static const struct {
    int first, second; /* of renameat2, and of renameat where that is tried then */
    furrow_status status;
  } cases[] = {{ENOSYS, 0, FURROW_OK},
               {EINVAL, EIO, FURROW_E_IO},
               {EINVAL, ENOTEMPTY, FURROW_E_EXISTS},
               {EEXIST, 0, FURROW_E_EXISTS},
               {EROFS, 0, FURROW_E_IO}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_error err = {0};
    fail_call("renameat2", 1, cases[i].first);
    if (cases[i].second) fail_call("renameat", 1, cases[i].second);
    assert_int_equal(save("new", NULL, &err), cases[i].status);
    end_rules();
    assert_int_equal(test_entries("."), cases[i].status == FURROW_OK);
    if (cases[i].status == FURROW_OK) assert_true(has_text("x/a", "new") && test_remove_dir("x"));
  }
}

/* Another process puts its own directory there between the last look and the exchange: it stays. */
static void swap_in_another(void) {
  assert_int_equal(rename("x", "before"), 0);
  assert_int_equal(mkdir("x", 0755), 0);
  assert_true(test_write_text("x/a", "another"));
}

static void what_was_not_asked_about_stays(void **state) {
  (void)state;
  furrow_error err = {0};
  save_old();
  add_rule((call_rule){.call = "renameat2", .before = swap_in_another});
  assert_int_equal(save("new", NULL, &err), FURROW_E_STATE);
  end_rules();
  assert_string_equal(err.message, "the directory was replaced by another while this was written");
  assert_true(has_text("x/a", "another") && has_text("before/a", "old"));
  assert_int_equal(test_entries("."), 2);
}

/* The same where it cannot be put back: nothing is removed. */
static void what_cannot_be_put_back_is_not_removed(void **state) {
  (void)state;
  furrow_error err = {0};
  save_old();
  add_rule((call_rule){.call = "renameat2", .before = swap_in_another});
  fail_call("renameat2", 2, EIO);
  assert_int_equal(save("new", NULL, &err), FURROW_E_STATE);
  end_rules();
  assert_true(has_text("x/a", "new") && has_text("before/a", "old"));
  assert_int_equal(test_entries("."), 3); /* the other one has the temporary name */
}

static void forget_old(void) {
  commit_rule = (call_rule){.call = "fstatat", .errnum = EIO}; /* the look at what was exchanged */
  add_rule(commit_rule);
}

static void elsewhere_now(void) {
  add_rule((call_rule){.call = "fstatat", .elsewhere = true});
}

static void what_cannot_be_looked_at_is_put_back(void **state) {
  (void)state;
  void (*const before[])(void) = {forget_old, elsewhere_now};
  for (size_t i = 0; i < 2; i++) {
    save_old();
    furrow_error err = {0};
    add_rule((call_rule){.call = "renameat2", .before = before[i]});
    assert_int_equal(save("new", NULL, &err), FURROW_E_STATE);
    end_rules();
    expect_only("old");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RULES(what_fails_leaves_the_old_directory),
      WITH_RULES(a_directory_that_cannot_be_opened),
      WITH_RULES(what_does_not_matter_is_passed_over),
      WITH_RULES(a_directory_of_another_process),
      WITH_RULES(what_is_not_on_the_disk_is_not_put_in_place),
      WITH_RULES(only_files_and_directories_are_synced),
      WITH_RULES(a_tree_has_a_depth),
      WITH_RULES(directories_that_cannot_be_exchanged),
      WITH_RULES(a_new_name_needs_no_exchange),
      WITH_RULES(what_was_not_asked_about_stays),
      WITH_RULES(what_cannot_be_put_back_is_not_removed),
      WITH_RULES(what_cannot_be_looked_at_is_put_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
