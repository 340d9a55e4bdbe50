/* tests/unit/io/test_atomic_dir.c: a reader sees the old directory or the new one, whatever happens to the writer. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "io/atomic_dir.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* ---- calls that fail: the test program's own versions of what the writer calls ---- */

static struct {
  bool armed;
  int calls, failing_call, errnum; /* the n-th call fails */
  char calls_made[512];            /* their names */
  const char *last;
  bool no_exchange;    /* as a file system without RENAME_EXCHANGE and RENAME_NOREPLACE */
  const char *appears; /* a directory that another process makes just before the rename */
} fault;

static bool fails(const char *function) {
  if (!fault.armed) return false;
  fault.calls++;
  if (fault.failing_call != 0 && fault.calls > fault.failing_call) return false;
  fault.last = function;
  size_t used = strlen(fault.calls_made);
  snprintf(fault.calls_made + used, sizeof fault.calls_made - used, "%s, ", function);
  errno = fault.errnum;
  return fault.calls == fault.failing_call;
}

int mkdirat(int folder, const char *name, mode_t mode) {
  static int (*next)(int, const char *, mode_t);
  if (!next) next = (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkdirat");
  return fails("mkdirat") ? -1 : next(folder, name, mode);
}

int fsync(int fd) {
  static int (*next)(int);
  struct stat info;
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  bool folder = fault.armed && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  return fails(folder ? "fsync of a directory" : "fsync") ? -1 : next(fd);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  static int (*next)(int, const char *, int, const char *, unsigned);
  if (!next) next = (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
  if (fault.appears) assert_int_equal(mkdir(fault.appears, 0755), 0);
  fault.appears = NULL;
  if (fault.no_exchange) {
    errno = EINVAL;
    return -1;
  }
  return fails("renameat2") ? -1 : next(from, old, to, new, flags);
}

int unlinkat(int folder, const char *name, int flags) {
  static int (*next)(int, const char *, int);
  if (!next) next = (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
  return fails("unlinkat") ? -1 : next(folder, name, flags);
}

static void no_faults(void) {
  memset(&fault, 0, sizeof fault);
}

/* ---- directories ---- */

static bool put_file(int fd, const char *name, const char *text) {
  int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (file < 0) return false;
  bool good = write(file, text, strlen(text)) == (ssize_t)strlen(text);
  return close(file) == 0 && good;
}

static bool has_text(const char *path, const char *text) {
  char got[64] = "";
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  size_t n = fread(got, 1, sizeof got - 1, file);
  fclose(file);
  return n == strlen(text) && memcmp(got, text, n) == 0;
}

/* A directory of version v: a, b/a, b/c … hold the number. */
static furrow_status save(const char *path, fw_dir_check check, int version, furrow_error *err) {
  fw_atomic_dir *made = NULL;
  char text[32];
  int inner;
  snprintf(text, sizeof text, "version %d", version);
  furrow_status status = fw_atomic_dir_open(&made, path, check, err);
  if (status != FURROW_OK) return status;
  status = put_file(fw_atomic_dir_fd(made), "a", text) ? FURROW_OK : FURROW_E_IO;
  if (status == FURROW_OK) status = fw_dir_make(&inner, fw_atomic_dir_fd(made), "b", path, err);
  if (status == FURROW_OK) {
    status = put_file(inner, "a", text) && put_file(inner, "c", text) ? FURROW_OK : FURROW_E_IO;
    close(inner);
  }
  if (status == FURROW_OK) status = fw_atomic_dir_commit(made, err);
  fw_atomic_dir_close(made);
  return status;
}

static bool has_version(const char *path, const char *name, int version) {
  char full[2 * TEST_PATH], text[32];
  snprintf(full, sizeof full, "%s/%s", path, name);
  snprintf(text, sizeof text, "version %d", version);
  return has_text(full, text);
}

/* Whether the directory is version v, whole and nothing else. */
static bool is_version(const char *path, int version) {
  char inner[2 * TEST_PATH];
  snprintf(inner, sizeof inner, "%s/b", path);
  return test_entries(path) == 2 && has_version(path, "a", version) && test_entries(inner) == 2 &&
         has_version(path, "b/a", version) && has_version(path, "b/c", version);
}

/* Removes what a killed writer left; returns how many there were. */
static int remove_leftovers(void) {
  DIR *handle = opendir(".");
  int n = 0;
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strncmp(entry->d_name, ".x.furrow-", 10) == 0) n += test_remove_dir(entry->d_name);
  closedir(handle);
  return n;
}

static furrow_status allow_replacing(const char *path, furrow_error *err) {
  (void)err;
  return access(path, F_OK) == 0 ? FURROW_OK : FURROW_E_NOT_FOUND;
}

static furrow_status refuse_replacing(const char *path, furrow_error *err) {
  (void)path;
  if (err) err->status = FURROW_E_EXISTS;
  return FURROW_E_EXISTS;
}

/* ---- tests ---- */

static void a_directory_appears_when_it_is_complete(void **state) {
  (void)state;
  fw_atomic_dir *made;
  furrow_error err;
  assert_int_equal(fw_atomic_dir_open(&made, "x//", NULL, &err), FURROW_OK);
  assert_string_equal(fw_atomic_dir_path(made), "x");
  assert_int_equal(access("x", F_OK), -1);
  assert_int_equal(test_entries("."), 1);
  assert_true(put_file(fw_atomic_dir_fd(made), "f", "text"));
  assert_int_equal(fw_atomic_dir_commit(made, &err), FURROW_OK);
  assert_int_equal(fw_atomic_dir_commit(made, &err), FURROW_E_STATE);
  fw_atomic_dir_close(made);
  assert_true(has_text("x/f", "text"));
  assert_int_equal(test_entries("."), 1);
  fw_atomic_dir_close(NULL);
}

static void without_commit_nothing_is_left(void **state) {
  (void)state;
  fw_atomic_dir *made;
  int inner;
  assert_int_equal(save("old", NULL, 1, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_dir_open(&made, "old", allow_replacing, NULL), FURROW_OK);
  assert_true(put_file(fw_atomic_dir_fd(made), "f", "text"));
  assert_int_equal(symlink("../old", "link"), 0);
  assert_int_equal(renameat(AT_FDCWD, "link", fw_atomic_dir_fd(made), "link"), 0);
  assert_int_equal(fw_dir_make(&inner, fw_atomic_dir_fd(made), "deep", "old", NULL), FURROW_OK);
  assert_true(put_file(inner, "f", "text"));
  close(inner);
  fw_atomic_dir_close(made);
  assert_true(is_version("old", 1)); /* the link was not followed */
  assert_int_equal(test_entries("."), 1);
}

static void what_exists_is_kept_unless_it_may_go(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(save("x", NULL, 1, &err), FURROW_OK);
  assert_int_equal(save("x", NULL, 2, &err), FURROW_E_EXISTS);
  assert_string_equal(err.file, "x");
  assert_int_equal(save("x", refuse_replacing, 2, &err), FURROW_E_EXISTS);
  assert_true(is_version("x", 1));
  assert_int_equal(save("x", allow_replacing, 2, &err), FURROW_OK);
  assert_true(is_version("x", 2));
  assert_int_equal(save("new", allow_replacing, 3, &err), FURROW_OK);
  assert_true(is_version("new", 3));
  assert_int_equal(mkdir("empty", 0755), 0);
  assert_int_equal(save("empty", NULL, 3, &err), FURROW_E_EXISTS);
  assert_int_equal(save("empty", refuse_replacing, 3, &err), FURROW_OK); /* the check is not called for an empty one */
  assert_true(is_version("empty", 3));
  assert_int_equal(test_entries("."), 3);
}

static void what_appears_meanwhile_is_kept(void **state) {
  (void)state;
  furrow_error err;
  for (int checked = 0; checked < 2; checked++) {
    fault.appears = "x";
    assert_int_equal(save("x", checked ? allow_replacing : NULL, 1, &err), FURROW_E_EXISTS);
    assert_int_equal(test_entries("x"), 0);
    assert_int_equal(rmdir("x"), 0);
    assert_int_equal(test_entries("."), 0);
  }
}

static void what_is_not_a_directory_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *path;
    furrow_status status;
  } cases[] = {{"file", FURROW_E_EXISTS},        {"", FURROW_E_ARGUMENT},
               {"/", FURROW_E_ARGUMENT},         {".", FURROW_E_ARGUMENT},
               {"folder/..", FURROW_E_ARGUMENT}, {"gone/x", FURROW_E_NOT_FOUND},
               {"file/x", FURROW_E_NOT_FOUND},   {"loop", FURROW_E_IO},
               {"/dev/null", FURROW_E_EXISTS}};
  assert_true(test_write_text("file", "text"));
  assert_int_equal(mkdir("folder", 0755), 0);
  assert_int_equal(symlink("loop", "loop"), 0);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    furrow_error err;
    furrow_status status = save(cases[i].path, allow_replacing, 1, &err);
    if (status != cases[i].status) fail_msg("%s: %s", cases[i].path, furrow_status_name(status));
    assert_string_equal(err.file, cases[i].path);
  }
  assert_true(has_text("file", "text"));
  assert_int_equal(test_entries("."), 3);
}

static void links_stay_links(void **state) {
  (void)state;
  struct stat info;
  assert_int_equal(mkdir("a", 0755), 0);
  assert_int_equal(symlink("a/real", "link"), 0);
  assert_int_equal(save("link", NULL, 1, NULL), FURROW_OK);
  assert_true(is_version("a/real", 1));
  assert_int_equal(save("link/", allow_replacing, 2, NULL), FURROW_OK);
  assert_true(is_version("a/real", 2));
  assert_int_equal(lstat("link", &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(test_entries("a"), 1);
}

static void permissions_are_kept_or_those_of_the_umask(void **state) {
  (void)state;
  struct stat info;
  mode_t before = umask(027);
  assert_int_equal(save("x", NULL, 1, NULL), FURROW_OK);
  assert_int_equal(stat("x", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0750);
  assert_int_equal(chmod("x", 0711), 0);
  assert_int_equal(save("x", allow_replacing, 2, NULL), FURROW_OK);
  assert_int_equal(stat("x", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0711);
  umask(before);
}

static int mode_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (int)(info.st_mode & 07777);
}

/* A directory with the files a, more and in/b, and perhaps a directory that it did not have before. */
static void save_tree(bool more) {
  fw_atomic_dir *made = NULL;
  int in = -1;
  assert_int_equal(fw_atomic_dir_open(&made, "t", allow_replacing, NULL), FURROW_OK);
  assert_true(put_file(fw_atomic_dir_fd(made), "a", "text"));
  assert_int_equal(fw_dir_make(&in, fw_atomic_dir_fd(made), "in", "t", NULL), FURROW_OK);
  assert_true(put_file(in, "b", "text"));
  close(in);
  if (more) {
    assert_true(put_file(fw_atomic_dir_fd(made), "more", "text"));
    assert_int_equal(fw_dir_make(&in, fw_atomic_dir_fd(made), "new", "t", NULL), FURROW_OK);
    assert_true(put_file(in, "c", "text"));
    close(in);
    assert_int_equal(mode_of(fw_atomic_dir_temporary(made)), 0700);
  }
  assert_int_equal(fw_atomic_dir_commit(made, NULL), FURROW_OK);
  fw_atomic_dir_close(made);
}

static void files_in_it_keep_their_permissions(void **state) {
  (void)state;
  struct stat info;
  const mode_t before = umask(022);
  save_tree(false);
  assert_int_equal(mode_of("t/a"), 0644);
  assert_int_equal(mode_of("t/in"), 0755);
  assert_int_equal(chmod("t/a", 0640), 0);
  assert_int_equal(chmod("t/in", 0710), 0);
  assert_int_equal(chmod("t/in/b", 0600), 0);
  if (geteuid() == 0) assert_int_equal(chown("t/in/b", 12345, 23456), 0);
  save_tree(true);
  assert_int_equal(mode_of("t"), 0755);
  assert_int_equal(mode_of("t/a"), 0640);
  assert_int_equal(mode_of("t/in"), 0710);
  assert_int_equal(mode_of("t/in/b"), 0600);
  assert_int_equal(stat("t/in/b", &info), 0);
  if (geteuid() == 0) assert_int_equal(info.st_uid, 12345);
  assert_int_equal(mode_of("t/more"), 0600); /* what all old files allow */
  assert_int_equal(mode_of("t/new"), 0710);
  assert_int_equal(mode_of("t/new/c"), 0600);
  /* a link to a file counts as the file, and a file in the place of a folder is another thing */
  assert_int_equal(unlink("t/a"), 0);
  assert_int_equal(symlink("in/b", "t/a"), 0);
  assert_int_equal(unlink("t/in/b"), 0);
  assert_int_equal(rmdir("t/in"), 0);
  assert_int_equal(symlink("new", "t/in"), 0);
  assert_int_equal(rename("t/new/c", "t/new/b"), 0);
  save_tree(true);
  assert_int_equal(mode_of("t/a"), 0600);
  assert_int_equal(mode_of("t/in/b"), 0600);
  umask(before);
}

static void the_working_directory_may_change(void **state) {
  (void)state;
  fw_atomic_dir *made;
  furrow_error err;
  assert_int_equal(mkdir("sub", 0755), 0);
  assert_int_equal(save("y", NULL, 1, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_dir_open(&made, "x", NULL, NULL), FURROW_OK);
  assert_int_equal(chdir("sub"), 0);
  assert_int_equal(fw_atomic_dir_commit(made, NULL), FURROW_OK);
  fw_atomic_dir_close(made);
  assert_int_equal(test_entries("../x"), 0);
  assert_int_equal(chdir(".."), 0);
  /* a check by path that would look at another directory is not made */
  assert_int_equal(fw_atomic_dir_open(&made, "y", allow_replacing, NULL), FURROW_OK);
  assert_int_equal(chdir("sub"), 0);
  assert_int_equal(mkdir("y", 0755), 0);
  assert_int_equal(fw_atomic_dir_commit(made, &err), FURROW_E_STATE);
  fw_atomic_dir_close(made);
  assert_int_equal(chdir(".."), 0);
  assert_true(is_version("y", 1));
  assert_int_equal(test_entries("."), 3);
}

static void a_file_system_that_cannot_exchange_is_told(void **state) {
  (void)state;
  furrow_error err;
  fault.no_exchange = true;
  assert_int_equal(save("x", NULL, 1, &err), FURROW_OK); /* a new name needs no exchange */
  assert_int_equal(save("x", allow_replacing, 2, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "new name"));
  fault.appears = "y";
  assert_int_equal(save("y", NULL, 1, &err), FURROW_E_EXISTS);
  no_faults();
  assert_true(is_version("x", 1));
  assert_int_equal(test_entries("."), 2);
}

/* Nothing may trust what is not on the disk yet. */
static void each_step_is_on_the_disk_before_the_next(void **state) {
  (void)state;
  assert_int_equal(save("x", NULL, 1, NULL), FURROW_OK);
  fault.armed = true;
  assert_int_equal(save("x", allow_replacing, 2, NULL), FURROW_OK);
  char *rename = strstr(fault.calls_made, "renameat2, "), *last_sync = NULL;
  assert_non_null(rename);
  int files = 0, folders = 0;
  for (char *at = fault.calls_made; at < rename && (at = strstr(at, "fsync")); at++) {
    bool folder = strncmp(at, "fsync of", 8) == 0;
    files += !folder && at < rename;
    folders += folder && at < rename;
  }
  assert_int_equal(files, 3);
  assert_int_equal(folders, 2);
  last_sync = strstr(rename, "fsync of a directory, ");
  assert_non_null(last_sync);
  assert_ptr_equal(strstr(rename, "unlinkat"), last_sync + strlen("fsync of a directory, "));
  no_faults();
}

/* The n-th call fails: the old one is there, whole, or the new one if that was in place already; and nothing else but
 * an old one that could not be removed. */
static void every_failing_call_leaves_one_of_them(void **state) {
  (void)state;
  for (int n = 1, more = 1; more; n++) {
    furrow_error err = {0};
    assert_int_equal(save("x", allow_replacing, 1, NULL), FURROW_OK);
    fault.armed = true;
    fault.failing_call = n;
    fault.errnum = n % 2 ? EIO : ENOSPC;
    furrow_status status = save("x", allow_replacing, 2, &err);
    more = fault.calls >= n;
    const bool placed = strstr(fault.calls_made, "renameat2, ") && strcmp(fault.last, "renameat2") != 0;
    no_faults();
    if (more) {
      assert_int_equal(status, FURROW_E_IO);
      assert_int_equal(err.status, FURROW_E_IO);
      assert_string_equal(err.file, "x");
    } else {
      assert_int_equal(status, FURROW_OK);
      assert_true(n > 10);
    }
    assert_true(is_version("x", placed || !more ? 2 : 1));
    assert_int_equal(test_entries("."), placed && more ? 2 : 1);
    assert_int_equal(remove_leftovers(), placed && more);
  }
}

/* ---- the writer is killed ---- */

static void save_forever(void) {
  alarm(60); /* in case nobody is left to kill it */
  for (int version = 1;; version++)
    if (save("x", allow_replacing, version, NULL) != FURROW_OK) _exit(1);
}

static int expect_some_version(void) {
  int version = -1;
  FILE *file = fopen("x/a", "rb");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "version %d", &version), 1);
  fclose(file);
  assert_true(is_version("x", version));
  return version;
}

/* FURROW_KILLS: how often; more is surer. */
static void a_killed_writer_leaves_a_whole_directory(void **state) {
  (void)state;
  const char *wanted = getenv("FURROW_KILLS");
  int kills = wanted ? atoi(wanted) : 60, saved = 0, halfway = 0;
  uint32_t seed = (uint32_t)time(NULL);
  assert_int_equal(save("x", NULL, 0, NULL), FURROW_OK);
  for (int i = 0; i < kills; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_forever();
    seed = seed * 1664525 + 1013904223;
    usleep(500 + (seed >> 8) % 8000);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    saved += expect_some_version() != 0;
    halfway += remove_leftovers();
    assert_int_equal(test_entries("."), 1);
  }
  print_message("%d kills: %d after a save, %d in the middle of one\n", kills, saved, halfway);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(a_directory_appears_when_it_is_complete),    IN_DIR(without_commit_nothing_is_left),
      IN_DIR(what_exists_is_kept_unless_it_may_go),       IN_DIR(what_appears_meanwhile_is_kept),
      IN_DIR(what_is_not_a_directory_is_refused),         IN_DIR(links_stay_links),
      IN_DIR(permissions_are_kept_or_those_of_the_umask), IN_DIR(files_in_it_keep_their_permissions),
      IN_DIR(the_working_directory_may_change),           IN_DIR(a_file_system_that_cannot_exchange_is_told),
      IN_DIR(each_step_is_on_the_disk_before_the_next),   IN_DIR(every_failing_call_leaves_one_of_them),
      IN_DIR(a_killed_writer_leaves_a_whole_directory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
