/* tests/unit/io/test_atomic_file.c: a reader sees the old file or the new one, whatever happens to the writer. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

/* ---- calls that fail: the test program's own versions of what the writer calls ---- */

static struct {
  bool armed;
  int calls, failing_call, errnum; /* the n-th call fails */
  bool interrupts;                 /* every other write is interrupted */
  size_t most;                     /* bytes that one write takes; 0: no limit */
  const char *last;                /* the function of the last call */
  char calls_made[256];            /* their names */
  uint64_t draws;                  /* not 0: each random number comes twice */
} fault;

static void no_faults(void) {
  memset(&fault, 0, sizeof fault);
}

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

static bool write_fails(const char *function, size_t *size) {
  if (fault.armed && fault.most && *size > fault.most) *size = fault.most;
  bool failed = fails(function);
  if (failed || !fault.armed || !fault.interrupts || fault.calls % 2 == 0) return failed;
  errno = EINTR;
  return true;
}

ssize_t write(int fd, const void *data, size_t size) {
  static ssize_t (*next)(int, const void *, size_t);
  if (!next) next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  return write_fails("write", &size) ? -1 : next(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  static ssize_t (*next)(int, const void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  return write_fails("pwrite", &size) ? -1 : next(fd, data, size, offset);
}

int openat(int folder, const char *name, int flags, ...) {
  static int (*next)(int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (!next) next = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
  return fails("openat") ? -1 : next(folder, name, flags, mode);
}

int fchmod(int fd, mode_t mode) {
  static int (*next)(int, mode_t);
  if (!next) next = (int (*)(int, mode_t))dlsym(RTLD_NEXT, "fchmod");
  return fails("fchmod") ? -1 : next(fd, mode);
}

int fsync(int fd) {
  static int (*next)(int);
  struct stat info;
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  bool folder = fault.armed && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  return fails(folder ? "fsync of the directory" : "fsync") ? -1 : next(fd);
}

int renameat(int from, const char *old, int to, const char *new) {
  static int (*next)(int, const char *, int, const char *);
  if (!next) next = (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
  return fails("renameat") ? -1 : next(from, old, to, new);
}

/* A close that fails has closed all the same. */
int close(int fd) {
  static int (*next)(int);
  if (!next) next = (int (*)(int))dlsym(RTLD_NEXT, "close");
  bool failed = fails("close");
  int errnum = errno, result = next(fd);
  if (failed) errno = errnum;
  return failed ? -1 : result;
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
  static ssize_t (*next)(void *, size_t, unsigned);
  if (!next) next = (ssize_t(*)(void *, size_t, unsigned))dlsym(RTLD_NEXT, "getrandom");
  if (fault.draws == 0) return next(buffer, size, flags);
  uint64_t number = fault.draws++ / 2;
  memset(buffer, 0, size);
  memcpy(buffer, &number, size < sizeof number ? size : sizeof number);
  return (ssize_t)size;
}

/* ---- a folder for each test, which is also the working directory ---- */

static char home[TEST_PATH], dir[TEST_PATH];
static int descriptors_before;

static int open_descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) != -1;
  return n;
}

static int enter_dir(void **state) {
  (void)state;
  descriptors_before = open_descriptors();
  if (!getcwd(home, sizeof home) || !test_make_dir(dir)) return -1;
  return chdir(dir);
}

static int leave_dir(void **state) {
  (void)state;
  no_faults();
  if (open_descriptors() != descriptors_before) return -1;
  return chdir(home) == 0 && test_remove_dir(dir) ? 0 : -1;
}

static int entries(const char *folder) {
  DIR *handle = opendir(folder);
  assert_non_null(handle);
  int n = 0;
  for (struct dirent *entry; (entry = readdir(handle));)
    n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(handle);
  return n;
}

static void expect_content(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *content = malloc(size + 1);
  assert_non_null(content);
  assert_int_equal(fread(content, 1, size + 1, file), size);
  if (memcmp(content, data, size) != 0) fail_msg("%s has other bytes", path);
  free(content);
  fclose(file);
}

static void expect_text(const char *path, const char *text) {
  expect_content(path, text, strlen(text));
}

static int mode_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (int)(info.st_mode & 07777);
}

/* Saves `size` bytes in pieces and with a late header; whether and how it fails is the caller's to expect. */
static furrow_status save(const char *path, const char *data, size_t size, furrow_error *err) {
  fw_atomic_file *file = NULL;
  furrow_status status = fw_atomic_file_open(&file, path, err);
  if (status != FURROW_OK) {
    assert_null(file);
    return status;
  }
  char zeros[4] = {0};
  size_t header = size < 4 ? size : 4;
  status = fw_atomic_file_write(file, zeros, header, err);
  for (size_t at = header; at < size && status == FURROW_OK;) {
    size_t n = size - at < 300000 ? size - at : 300000;
    status = fw_atomic_file_write(file, data + at, n, err);
    at += n;
  }
  if (status == FURROW_OK) status = fw_atomic_file_write_at(file, 0, data, header, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

static void save_text(const char *path, const char *text) {
  furrow_error err;
  if (save(path, text, strlen(text), &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
}

static char *make_data(size_t size, uint32_t seed) {
  char *data = malloc(size + 1);
  assert_non_null(data);
  for (size_t i = 0; i < size; i++) {
    seed = seed * 1664525 + 1013904223;
    data[i] = (char)(seed >> 24);
  }
  return data;
}

/* ---- tests: what is written ---- */

static void a_file_appears_when_it_is_complete(void **state) {
  (void)state;
  fw_atomic_file *file;
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  assert_int_equal(access("x", F_OK), -1);
  assert_int_equal(entries("."), 1); /* the temporary file */
  assert_int_equal(fw_atomic_file_write(file, "hello", 5, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_write(file, "", 0, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_size(file), 5);
  assert_int_equal(access("x", F_OK), -1);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  expect_text("x", "hello");
  assert_int_equal(fw_atomic_file_size(file), 5);
  furrow_error err;
  assert_int_equal(fw_atomic_file_write(file, "x", 1, &err), FURROW_E_STATE);
  assert_string_equal(err.file, "x");
  assert_int_equal(fw_atomic_file_write_at(file, 0, "x", 1, &err), FURROW_E_STATE);
  assert_int_equal(fw_atomic_file_commit(file, &err), FURROW_E_STATE);
  fw_atomic_file_close(file);
  expect_text("x", "hello");
  assert_int_equal(entries("."), 1);
  save_text("x", "");
  expect_text("x", "");
  fw_atomic_file_close(NULL);
}

static void the_temporary_name_is_hidden_and_tells_its_file(void **state) {
  (void)state;
  fw_atomic_file *file;
  struct dirent **names;
  assert_int_equal(fw_atomic_file_open(&file, "model", NULL), FURROW_OK);
  int n = scandir(".", &names, NULL, alphasort);
  assert_int_equal(n, 3);
  assert_int_equal(strncmp(names[2]->d_name, ".model.furrow-", 14), 0);
  assert_int_equal(strlen(names[2]->d_name), 20);
  for (int i = 0; i < n; i++) free(names[i]);
  free(names);
  fw_atomic_file_close(file);
}

static void without_commit_nothing_changes(void **state) {
  (void)state;
  fw_atomic_file *file;
  save_text("old", "old");
  assert_int_equal(fw_atomic_file_open(&file, "old", NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_write(file, "new", 3, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  assert_int_equal(fw_atomic_file_open(&file, "none", NULL), FURROW_OK);
  fw_atomic_file_close(file);
  expect_text("old", "old");
  assert_int_equal(entries("."), 1);
}

static void sizes_around_the_buffer_do_not_matter(void **state) {
  (void)state;
  enum { BUFFER = 1 << 20, TOTAL = 5 * BUFFER + 3 };
  static const size_t pieces[] = {999, BUFFER - 1, BUFFER, BUFFER + 1, TOTAL};
  char *data = make_data(TOTAL, 1);
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    fw_atomic_file *file;
    assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
    for (size_t at = 0; at < TOTAL;) {
      size_t n = TOTAL - at < pieces[i] ? TOTAL - at : pieces[i];
      assert_int_equal(fw_atomic_file_write(file, data + at, n, NULL), FURROW_OK);
      at += n;
      assert_int_equal(fw_atomic_file_size(file), at);
    }
    assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
    fw_atomic_file_close(file);
    expect_content("x", data, TOTAL);
  }
  free(data);
}

/* Random appends and overwrites, against the same done in memory. */
static void bytes_before_can_be_overwritten(void **state) {
  (void)state;
  enum { LARGEST = 2500000, TOTAL = 40 * LARGEST / 4 };
  char *image = malloc(TOTAL), *data = make_data(LARGEST, 2);
  assert_non_null(image);
  uint32_t seed = 3;
  for (int round = 0; round < 4; round++) {
    fw_atomic_file *file;
    size_t size = 0;
    assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
    for (int step = 0; step < 40; step++) {
      size_t numbers[4];
      for (int i = 0; i < 4; i++) {
        seed = seed * 1664525 + 1013904223;
        numbers[i] = seed >> 8;
      }
      size_t n = numbers[0] % (numbers[1] % 4 ? 50000 : LARGEST);
      if (numbers[2] % 2 && size + n <= TOTAL) {
        assert_int_equal(fw_atomic_file_write(file, data + LARGEST - n, n, NULL), FURROW_OK);
        memcpy(image + size, data + LARGEST - n, n);
        size += n;
      } else {
        size_t at = size ? numbers[3] % size : 0;
        if (n > size - at) n = size - at;
        assert_int_equal(fw_atomic_file_write_at(file, at, data, n, NULL), FURROW_OK);
        memcpy(image + at, data, n);
      }
      assert_int_equal(fw_atomic_file_size(file), size);
    }
    furrow_error err;
    assert_int_equal(fw_atomic_file_write_at(file, size, "x", 1, &err), FURROW_E_ARGUMENT);
    assert_int_equal(fw_atomic_file_write_at(file, size + 1, "", 0, &err), FURROW_E_ARGUMENT);
    assert_int_equal(fw_atomic_file_write_at(file, UINT64_MAX, "xx", 2, &err), FURROW_E_ARGUMENT);
    assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK); /* such a refusal spoils nothing */
    fw_atomic_file_close(file);
    expect_content("x", image, size);
  }
  free(image);
  free(data);
}

/* ---- tests: where it is written ---- */

static void permissions_are_kept_or_those_of_the_umask(void **state) {
  (void)state;
  mode_t before = umask(027);
  save_text("new", "1");
  assert_int_equal(mode_of("new"), 0640);
  static const mode_t modes[] = {0644, 0600, 0666, 0755};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    assert_int_equal(chmod("new", modes[i]), 0);
    save_text("new", "2");
    assert_int_equal(mode_of("new"), modes[i]);
  }
  umask(before);
}

static void the_owner_is_kept(void **state) {
  (void)state;
  struct stat info;
  if (geteuid() != 0) skip(); /* only root can give files away */
  save_text("x", "1");
  assert_int_equal(chown("x", 12345, 23456), 0);
  save_text("x", "2");
  assert_int_equal(stat("x", &info), 0);
  assert_int_equal(info.st_uid, 12345);
  assert_int_equal(info.st_gid, 23456);
}

/* A process that may not keep the group must not open the file to its own group. */
static void a_group_that_cannot_be_kept_gains_nothing(void **state) {
  (void)state;
  static const mode_t modes[][2] = {{0640, 0600}, {0660, 0600}, {0664, 0644}, {0666, 0666}, {0604, 0604}};
  if (geteuid() != 0) skip(); /* only root can be another user */
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    save_text("x", "old");
    assert_int_equal(chown("x", 12345, 23456), 0);
    assert_int_equal(chmod("x", modes[i][0]), 0);
    assert_int_equal(chmod(".", 0777), 0);
    const pid_t child = fork();
    if (child == 0) {
      /* the owner of the file, who has left its group */
      _exit(setgid(34567) == 0 && setuid(12345) == 0 && save("x", "new", 3, NULL) == FURROW_OK ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    expect_text("x", "new");
    assert_int_equal(mode_of("x"), modes[i][1]);
    assert_int_equal(unlink("x"), 0);
  }
}

/* Lists of access: their group bits are the most that anyone on the list may do, not what the group may do. */
static void lists_of_access_are_kept(void **state) {
  (void)state;
  static const char name[] = "system.posix_acl_access", inherited[] = "system.posix_acl_default";
  static const unsigned char list[] = {2,  0, 0, 0,                      /* version */
                                       1,  0, 6, 0, 255, 255, 255, 255,  /* owner: rw */
                                       2,  0, 4, 0, 57,  48,  0,   0,    /* user 12345: r */
                                       4,  0, 0, 0, 255, 255, 255, 255,  /* group: nothing */
                                       16, 0, 4, 0, 255, 255, 255, 255,  /* the most: r */
                                       32, 0, 0, 0, 255, 255, 255, 255}; /* others: nothing */
  char found[64];
  save_text("x", "1");
  if (setxattr("x", name, list, sizeof list, 0) != 0) skip(); /* the file system has none */
  save_text("x", "2");
  assert_int_equal(getxattr("x", name, found, sizeof found), sizeof list);
  assert_memory_equal(found, list, sizeof list);
  /* a file without a list does not get the one of its folder */
  save_text("y", "1");
  assert_int_equal(chmod("y", 0640), 0);
  assert_int_equal(setxattr(".", inherited, list, sizeof list, 0), 0);
  save_text("y", "2");
  assert_int_equal(getxattr("y", name, found, sizeof found), -1);
  assert_int_equal(mode_of("y"), 0640);
}

static void a_new_companion_is_as_closed_as_its_file(void **state) {
  (void)state;
  fw_atomic_file *file = NULL, *companion = NULL;
  const mode_t before = umask(022);
  for (int there = 0; there < 3; there++) { /* nothing, the file, both */
    if (there > 0) assert_int_equal(chmod("x", 0600), 0);
    if (there > 1) assert_int_equal(chmod("y", 0640), 0);
    if (there == 1) assert_int_equal(unlink("y"), 0);
    assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
    assert_int_equal(fw_atomic_file_open(&companion, "y", NULL), FURROW_OK);
    assert_int_equal(fw_atomic_files_commit((fw_atomic_file *[]){file, companion}, 2, NULL), FURROW_OK);
    fw_atomic_file_close(companion);
    fw_atomic_file_close(file);
    assert_int_equal(mode_of("x"), there > 0 ? 0600 : 0644);
    assert_int_equal(mode_of("y"), there == 0 ? 0644 : there == 1 ? 0600 : 0640);
  }
  /* one that is written alone */
  assert_int_equal(fw_atomic_file_open_beside(&file, "z", "x", NULL), FURROW_OK);
  assert_int_equal(mode_of(fw_atomic_file_temporary(file)), 0600);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  assert_int_equal(mode_of("z"), 0600);
  umask(before);
}

/* What the owner does while the new file is written counts. */
static void permissions_are_those_at_the_end(void **state) {
  (void)state;
  fw_atomic_file *file = NULL;
  save_text("x", "1");
  assert_int_equal(chmod("x", 0644), 0);
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  assert_int_equal(chmod("x", 0600), 0);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  assert_int_equal(mode_of("x"), 0600);
}

static void a_protected_file_is_left_alone(void **state) {
  (void)state;
  furrow_error err;
  if (geteuid() == 0) skip(); /* nothing is protected against root */
  save_text("x", "old");
  assert_int_equal(chmod("x", 0444), 0);
  assert_int_equal(save("x", "new", 3, &err), FURROW_E_IO);
  assert_string_equal(err.file, "x");
  expect_text("x", "old");
  assert_int_equal(mkdir("closed", 0555), 0);
  assert_int_equal(save("closed/x", "new", 3, &err), FURROW_E_IO);
  assert_string_equal(err.file, "closed/x");
}

static void links_stay_links(void **state) {
  (void)state;
  struct stat info;
  assert_int_equal(mkdir("a", 0755), 0);
  assert_int_equal(mkdir("b", 0755), 0);
  save_text("b/file", "old");
  char absolute[TEST_PATH * 2];
  snprintf(absolute, sizeof absolute, "%s/b/second", dir);
  assert_int_equal(symlink("../b/file", "a/link"), 0);
  assert_int_equal(symlink("a/link", "chain"), 0);
  assert_int_equal(symlink("../b/promised", "a/dangling"), 0);
  assert_int_equal(symlink(absolute, "a/absolute"), 0);
  assert_int_equal(symlink("b", "folder"), 0);
  static const struct {
    const char *path, *target;
  } cases[] = {{"a/link", "b/file"},       {"chain", "b/file"},         {"a/dangling", "b/promised"},
               {"a/absolute", "b/second"}, {"folder/third", "b/third"}, {"a/dangling", "b/promised"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    save_text(cases[i].path, cases[i].path);
    expect_text(cases[i].path, cases[i].path);
    expect_text(cases[i].target, cases[i].path);
    assert_int_equal(lstat(cases[i].target, &info), 0);
    assert_true(S_ISREG(info.st_mode));
  }
  static const char *const links[] = {"a/link", "chain", "a/dangling", "a/absolute", "folder"};
  for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
    assert_int_equal(lstat(links[i], &info), 0);
    assert_true(S_ISLNK(info.st_mode));
  }
  assert_int_equal(entries("a"), 3);
  assert_int_equal(entries("b"), 4);
}

static void what_cannot_be_a_file_is_refused(void **state) {
  (void)state;
  assert_int_equal(mkdir("folder", 0755), 0);
  assert_int_equal(mkfifo("pipe", 0644), 0);
  assert_int_equal(symlink("loop", "loop"), 0);
  assert_int_equal(symlink("gone/x", "to_nowhere"), 0);
  assert_int_equal(symlink("folder", "to_folder"), 0);
  save_text("plain", "x");
  static const struct {
    const char *path;
    furrow_status status;
  } cases[] = {
      {"", FURROW_E_ARGUMENT},        {"folder", FURROW_E_ARGUMENT},    {"folder/", FURROW_E_ARGUMENT},
      {".", FURROW_E_ARGUMENT},       {"folder/..", FURROW_E_ARGUMENT}, {"/", FURROW_E_ARGUMENT},
      {"pipe", FURROW_E_ARGUMENT},    {"/dev/null", FURROW_E_ARGUMENT}, {"to_folder", FURROW_E_ARGUMENT},
      {"gone/x", FURROW_E_NOT_FOUND}, {"plain/x", FURROW_E_NOT_FOUND},  {"to_nowhere", FURROW_E_NOT_FOUND},
      {"loop", FURROW_E_IO},
  };
  int before = entries("."), descriptors = open_descriptors();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    furrow_error err;
    assert_int_equal(save(cases[i].path, "x", 1, &err), cases[i].status);
    assert_int_equal(err.status, cases[i].status);
    assert_string_equal(err.file, cases[i].path);
    assert_true(err.message[0] != 0);
    assert_int_equal(save(cases[i].path, "x", 1, NULL), cases[i].status);
  }
  assert_int_equal(entries("."), before);
  assert_int_equal(entries("folder"), 0);
  assert_int_equal(open_descriptors(), descriptors);
}

static void the_longest_names_work(void **state) {
  (void)state;
  char name[300];
  furrow_error err;
  memset(name, 'n', sizeof name);
  for (size_t n = 230; n <= 255; n++) {
    name[n] = 0;
    save_text(name, "x");
    expect_text(name, "x");
    name[n] = 'n';
  }
  assert_int_equal(entries("."), 26);
  name[256] = 0;
  assert_int_equal(save(name, "x", 1, &err), FURROW_E_IO);
}

static void the_working_directory_may_change(void **state) {
  (void)state;
  fw_atomic_file *file;
  assert_int_equal(mkdir("sub", 0755), 0);
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  assert_int_equal(chdir("sub"), 0);
  assert_int_equal(fw_atomic_file_write(file, "hello", 5, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  fw_atomic_file_close(file);
  expect_text("../x", "hello");
  assert_int_equal(entries("."), 0);
}

static void two_writers_do_not_meet(void **state) {
  (void)state;
  fw_atomic_file *first, *second;
  fault.draws = 2; /* the second writer draws the first one's name, then another */
  assert_int_equal(fw_atomic_file_open(&first, "x", NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_open(&second, "x", NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_write(first, "first", 5, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_write(second, "second", 6, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_commit(second, NULL), FURROW_OK);
  expect_text("x", "second");
  assert_int_equal(fw_atomic_file_commit(first, NULL), FURROW_OK);
  expect_text("x", "first");
  fw_atomic_file_close(first);
  fw_atomic_file_close(second);
  assert_int_equal(entries("."), 1);
}

/* ---- tests: an output of the caller's ---- */

typedef struct taken {
  char *bytes;
  size_t size;
  int calls, failing_call; /* the n-th call fails */
  bool silent;             /* without a message */
} taken;

static furrow_status take_bytes(void *user, const void *bytes, size_t length, furrow_error *err) {
  taken *t = user;
  assert_non_null(err);
  assert_true(length > 0);
  if (++t->calls == t->failing_call) {
    if (!t->silent) snprintf(err->message, sizeof err->message, "the line is dead");
    return FURROW_E_UNSUPPORTED;
  }
  t->bytes = realloc(t->bytes, t->size + length);
  memcpy(t->bytes + t->size, bytes, length);
  t->size += length;
  return FURROW_OK;
}

static furrow_output output_to(taken *t) {
  furrow_output output;
  furrow_output_init(&output);
  output.write = take_bytes;
  output.user = t;
  return output;
}

static void a_callers_output_gets_the_bytes_in_order(void **state) {
  (void)state;
  enum { SIZE = 3000000 };
  char *data = make_data(SIZE, 5);
  taken t = {0};
  const furrow_output output = output_to(&t);
  fw_atomic_file *file;
  assert_int_equal(fw_atomic_file_open_output(&file, &output, NULL), FURROW_OK);
  for (size_t at = 0, step = 1; at < SIZE; at += step, step = step * 3 % 700001) {
    if (step > SIZE - at) step = SIZE - at;
    assert_int_equal(fw_atomic_file_write(file, data + at, step, NULL), FURROW_OK);
  }
  assert_int_equal(fw_atomic_file_write_at(file, 0, "x", 1, NULL), FURROW_E_STATE);
  assert_int_equal(fw_atomic_file_commit(file, NULL), FURROW_OK);
  assert_int_equal(fw_atomic_file_write(file, "x", 1, NULL), FURROW_E_STATE);
  fw_atomic_file_close(file);
  assert_int_equal(t.size, SIZE);
  assert_memory_equal(t.bytes, data, SIZE);
  free(t.bytes);
  free(data);
  assert_int_equal(entries("."), 0);
}

static void a_callers_output_that_fails_says_why(void **state) {
  (void)state;
  for (int silent = 0; silent < 2; silent++) {
    taken t = {.failing_call = 1, .silent = silent};
    const furrow_output output = output_to(&t);
    fw_atomic_file *file;
    furrow_error err;
    assert_int_equal(fw_atomic_file_open_output(&file, &output, NULL), FURROW_OK);
    assert_int_equal(fw_atomic_file_write(file, "abc", 3, NULL), FURROW_OK);
    assert_int_equal(fw_atomic_file_commit(file, &err), FURROW_E_UNSUPPORTED);
    assert_int_equal(err.status, FURROW_E_UNSUPPORTED);
    assert_string_equal(err.message, silent ? "the caller's output failed" : "the line is dead");
    assert_int_equal(fw_atomic_file_write(file, "abc", 3, NULL), FURROW_E_UNSUPPORTED);
    fw_atomic_file_close(file);
    assert_int_equal(t.calls, 1);
    assert_null(t.bytes);
  }
  fw_atomic_file *file = NULL;
  furrow_output output = {0};
  assert_int_equal(fw_atomic_file_open_output(&file, &output, NULL), FURROW_E_ARGUMENT);
  furrow_output_init(&output);
  assert_int_equal(fw_atomic_file_open_output(&file, &output, NULL), FURROW_E_ARGUMENT);
  output.size += 8;
  assert_int_equal(fw_atomic_file_open_output(&file, &output, NULL), FURROW_E_UNSUPPORTED);
  assert_null(file);
}

/* ---- tests: standard output ---- */

/* Puts `fd` in the place of standard output; the old one comes back with end_output. */
static int begin_output(int fd) {
  fflush(stdout);
  int saved = dup(STDOUT_FILENO);
  assert_true(saved >= 0 && fd >= 0);
  assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
  close(fd);
  return saved;
}

static void end_output(int saved) {
  dup2(saved, STDOUT_FILENO);
  close(saved);
}

static void standard_output_is_written_through(void **state) {
  (void)state;
  enum { SIZE = 3000000 };
  char *data = make_data(SIZE, 4);
  fw_atomic_file *file;
  furrow_error err;
  for (int commit = 0; commit < 2; commit++) {
    int saved = begin_output(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0644));
    furrow_status opened = fw_atomic_file_open(&file, "-", NULL);
    furrow_status small = fw_atomic_file_write(file, data, 1000, NULL);
    furrow_status back = fw_atomic_file_write_at(file, 0, "x", 1, &err);
    furrow_status large = fw_atomic_file_write(file, data + 1000, SIZE - 1000, NULL);
    furrow_status more = fw_atomic_file_write(file, data, 10, NULL);
    uint64_t size = fw_atomic_file_size(file);
    furrow_status committed = commit ? fw_atomic_file_commit(file, NULL) : FURROW_OK;
    fw_atomic_file_close(file);
    bool still_open = fcntl(STDOUT_FILENO, F_GETFD) != -1;
    end_output(saved);
    assert_int_equal(opened | small | large | more | committed, FURROW_OK);
    assert_int_equal(back, FURROW_E_STATE);
    assert_int_equal(size, SIZE + 10);
    assert_true(still_open);
    struct stat info;
    assert_int_equal(stat("out", &info), 0);
    assert_int_equal(info.st_size, SIZE + 10);
    assert_int_equal(truncate("out", SIZE), 0);
    expect_content("out", data, SIZE);
    assert_int_equal(entries("."), 1);
  }
  free(data);
}

static void a_full_or_closed_output_is_an_error(void **state) {
  (void)state;
  furrow_error err;
  int ends[2];
  fw_atomic_file *file;
  int full = open("/dev/full", O_WRONLY);
  if (full < 0) skip();
  int saved = begin_output(full);
  furrow_status opened = fw_atomic_file_open(&file, "-", NULL);
  furrow_status written = fw_atomic_file_write(file, "x", 1, NULL);
  furrow_status committed = fw_atomic_file_commit(file, &err);
  furrow_status again = fw_atomic_file_write(file, "x", 1, NULL);
  fw_atomic_file_close(file);
  end_output(saved);
  assert_int_equal(opened | written, FURROW_OK);
  assert_int_equal(committed, FURROW_E_IO);
  assert_int_equal(again, FURROW_E_IO);
  assert_string_equal(err.file, "-");

  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  saved = begin_output(ends[1]);
  opened = fw_atomic_file_open(&file, "-", NULL);
  written = fw_atomic_file_write(file, "x", 1, NULL);
  committed = fw_atomic_file_commit(file, &err);
  fw_atomic_file_close(file);
  end_output(saved);
  assert_int_equal(opened | written, FURROW_OK);
  assert_int_equal(committed, FURROW_E_IO);
}

static void *drain(void *argument) {
  static char buffer[5000];
  uint64_t *sum = argument;
  int fd = (int)sum[0];
  sum[0] = 0;
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) sum[0] += (uint64_t)n;
  return NULL;
}

static void an_output_that_does_not_block_is_waited_for(void **state) {
  (void)state;
  enum { SIZE = 3000000 };
  char *data = make_data(SIZE, 5);
  int ends[2];
  pthread_t thread;
  fw_atomic_file *file;
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  uint64_t sum[1] = {(uint64_t)ends[0]};
  assert_int_equal(pthread_create(&thread, NULL, drain, sum), 0);
  int saved = begin_output(ends[1]);
  furrow_status opened = fw_atomic_file_open(&file, "-", NULL);
  furrow_status written = fw_atomic_file_write(file, data, SIZE, NULL);
  furrow_status committed = fw_atomic_file_commit(file, NULL);
  fw_atomic_file_close(file);
  end_output(saved);
  pthread_join(thread, NULL);
  close(ends[0]);
  assert_int_equal(opened | written | committed, FURROW_OK);
  assert_int_equal(sum[0], SIZE);
  free(data);
}

/* ---- tests: failures ---- */

/* Nothing may trust what is not on the disk yet: this order is what a crash of the machine leaves whole files after. */
static void each_step_is_on_the_disk_before_the_next(void **state) {
  (void)state;
  save_text("x", "old");
  fault.armed = true;
  furrow_status status = save("x", "new text", 8, NULL);
  fault.armed = false;
  assert_int_equal(status, FURROW_OK);
  /* the old file is opened to see whether another process has locked it: before the work, and for the rename */
  assert_string_equal(fault.calls_made,
                      "openat, close, openat, fchmod, pwrite, fchmod, fsync, close, openat, renameat, "
                      "fsync of the directory, close, close, close, ");
}

static void short_and_interrupted_writes_do_not_matter(void **state) {
  (void)state;
  enum { SIZE = 2500000 };
  char *data = make_data(SIZE, 6);
  fault.armed = true;
  fault.interrupts = true;
  fault.most = 7777;
  furrow_status status = save("x", data, SIZE, NULL);
  int used = fault.calls;
  no_faults();
  assert_int_equal(status, FURROW_OK);
  assert_true(used > SIZE / 7777);
  expect_content("x", data, SIZE);
  free(data);
}

/* The n-th call of the writer fails: there is an error, no leftover, and the old file, or the new one if only its
 * directory could not be synced. */
static void every_failing_call_leaves_the_old_file(void **state) {
  (void)state;
  enum { SIZE = 2500000 };
  static const int errnums[] = {EIO, ENOSPC};
  char *data = make_data(SIZE, 7);
  for (int replaced = 0; replaced < 2; replaced++) {
    save_text("x", "old");
    const char *path = replaced ? "x" : "y";
    int before = entries("."), descriptors = open_descriptors();
    for (int n = 1, more = 1; more; n++) {
      furrow_error err = {0};
      fault.armed = true;
      fault.most = 600000;
      fault.failing_call = n;
      fault.errnum = errnums[n % 2];
      furrow_status status = save(path, data, SIZE, &err);
      more = fault.calls >= n;
      bool last_step = more && strcmp(fault.last, "fsync of the directory") == 0;
      /* at the end, and of the old file, which was only looked at */
      bool only_close = more && strcmp(fault.last, "close") == 0 &&
                        (strstr(fault.calls_made, "renameat") || !strstr(fault.calls_made, "write"));
      no_faults();
      if (!more || only_close) {
        assert_int_equal(status, FURROW_OK);
        assert_true(n > 8 || only_close);
        expect_content(path, data, SIZE);
      } else {
        assert_int_equal(status, FURROW_E_IO);
        assert_int_equal(err.status, FURROW_E_IO);
        assert_string_equal(err.file, path);
        if (last_step) expect_content(path, data, SIZE);
        if (!last_step && !replaced) assert_int_equal(access(path, F_OK), -1);
      }
      if (replaced && (status == FURROW_OK || last_step)) save_text("x", "old");
      if (!replaced && (status == FURROW_OK || last_step)) assert_int_equal(unlink(path), 0);
      expect_text("x", "old");
      assert_int_equal(entries("."), before);
      assert_int_equal(open_descriptors(), descriptors);
    }
  }
  free(data);
}

static furrow_status save_pair(const char *text, furrow_error *err) {
  fw_atomic_file *file = NULL, *beside = NULL;
  furrow_status status = fw_atomic_file_open(&file, "x", err);
  if (status == FURROW_OK) status = fw_atomic_file_open(&beside, "x.ids", err);
  if (status == FURROW_OK) status = fw_atomic_file_write(file, text, strlen(text), err);
  if (status == FURROW_OK) status = fw_atomic_file_write(beside, text, strlen(text), err);
  if (status == FURROW_OK) status = fw_atomic_files_commit((fw_atomic_file *[]){file, beside}, 2, err);
  fw_atomic_file_close(file);
  fw_atomic_file_close(beside);
  return status;
}

static bool has_text(const char *path, const char *text) {
  char found[16] = "";
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t size = fread(found, 1, sizeof found - 1, file);
  fclose(file);
  return size == strlen(text) && memcmp(found, text, size) == 0;
}

/* The n-th call fails: the old files stay, or both are new if only their directory could not be synced. */
static void pairs_are_replaced_together(void **state) {
  (void)state;
  for (int n = 1, more = 1; more; n++) {
    furrow_error err = {0};
    save_text("x", "old");
    save_text("x.ids", "old");
    fault.armed = true;
    fault.failing_call = n;
    fault.errnum = ENOSPC;
    const furrow_status status = save_pair("new", &err);
    more = fault.calls >= n;
    no_faults();
    const char *text = status == FURROW_OK || strstr(err.message, "written, but") ? "new" : "old";
    assert_true(has_text("x", text) && has_text("x.ids", text));
    assert_true(more || (status == FURROW_OK && n > 10));
    assert_int_equal(entries("."), 2);
  }
}

static void a_pair_is_kept_where_it_must_be(void **state) {
  (void)state;
  for (int kept = 0; kept < 2; kept++) {
    fw_atomic_file *files[2];
    save_text("x", "old");
    save_text("x.ids", "old");
    assert_int_equal(fw_atomic_file_open(&files[0], "x", NULL), FURROW_OK);
    assert_int_equal(fw_atomic_file_open(&files[1], "x.ids", NULL), FURROW_OK);
    fw_atomic_file_keep_existing(files[kept]);
    assert_int_equal(fw_atomic_files_commit((fw_atomic_file *[]){files[0], files[1]}, 2, NULL), FURROW_E_EXISTS);
    for (int i = 0; i < 2; i++) fw_atomic_file_close(files[i]);
    assert_true(has_text("x", "old") && has_text("x.ids", "old"));
    assert_int_equal(entries("."), 2);
  }
}

/* What failed once fails until the end, so that a write whose status was lost cannot be committed. */
static void a_failure_lasts(void **state) {
  (void)state;
  fw_atomic_file *file;
  furrow_error first, later;
  char *data = make_data(2000000, 8);
  save_text("x", "old");
  assert_int_equal(fw_atomic_file_open(&file, "x", NULL), FURROW_OK);
  fault.armed = true;
  fault.failing_call = 1;
  fault.errnum = ENOSPC;
  furrow_status status = fw_atomic_file_write(file, data, 2000000, &first);
  no_faults();
  assert_int_equal(status, FURROW_E_IO);
  assert_int_equal(fw_atomic_file_write(file, "x", 1, &later), FURROW_E_IO);
  assert_string_equal(later.message, first.message);
  assert_int_equal(fw_atomic_file_write_at(file, 0, "", 0, NULL), FURROW_E_IO);
  assert_int_equal(fw_atomic_file_commit(file, &later), FURROW_E_IO);
  assert_string_equal(later.message, first.message);
  fw_atomic_file_close(file);
  expect_text("x", "old");
  assert_int_equal(entries("."), 1);
  free(data);
}

/* ---- the writer is killed ---- */

/* Version v of the file: its number, its size, then bytes that depend on both. */
static size_t make_version(uint32_t version, char **data) {
  uint32_t size = 16 + version * 7919 % 2500000;
  *data = make_data(size, version);
  memcpy(*data, &version, 4);
  memcpy(*data + 4, &size, 4);
  return size;
}

static void save_forever(const char *path) {
  alarm(60); /* in case nobody is left to kill it */
  for (uint32_t version = 1;; version++) {
    char *data;
    size_t size = make_version(version, &data);
    if (save(path, data, size, NULL) != FURROW_OK) _exit(1);
    free(data);
  }
}

/* The version that is there, whole. */
static uint32_t expect_some_version(const char *path) {
  uint32_t version;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(&version, 4, 1, file), 1);
  fclose(file);
  char *data;
  size_t size = make_version(version, &data);
  expect_content(path, data, size);
  free(data);
  return version;
}

/* Removes what a killed writer left; returns whether it was at work. */
static int remove_leftovers(void) {
  DIR *handle = opendir(".");
  int n = 0;
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strncmp(entry->d_name, ".x.furrow-", 10) == 0) n += unlink(entry->d_name) == 0;
  closedir(handle);
  return n;
}

/* FURROW_KILLS: how often; more is surer. */
static void a_killed_writer_leaves_a_whole_file(void **state) {
  (void)state;
  const char *wanted = getenv("FURROW_KILLS");
  int kills = wanted ? atoi(wanted) : 40, saved = 0, halfway = 0;
  uint32_t seed = (uint32_t)time(NULL);
  char *data;
  size_t size = make_version(0, &data);
  assert_int_equal(save("x", data, size, NULL), FURROW_OK);
  free(data);
  for (int i = 0; i < kills; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_forever("x");
    seed = seed * 1664525 + 1013904223;
    usleep(1000 + (seed >> 8) % 30000);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    saved += expect_some_version("x") != 0;
    halfway += remove_leftovers();
  }
  print_message("%d kills: %d after a save, %d in the middle of one\n", kills, saved, halfway);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(a_file_appears_when_it_is_complete),
      IN_DIR(the_temporary_name_is_hidden_and_tells_its_file),
      IN_DIR(without_commit_nothing_changes),
      IN_DIR(sizes_around_the_buffer_do_not_matter),
      IN_DIR(bytes_before_can_be_overwritten),
      IN_DIR(permissions_are_kept_or_those_of_the_umask),
      IN_DIR(the_owner_is_kept),
      IN_DIR(a_group_that_cannot_be_kept_gains_nothing),
      IN_DIR(lists_of_access_are_kept),
      IN_DIR(a_new_companion_is_as_closed_as_its_file),
      IN_DIR(permissions_are_those_at_the_end),
      IN_DIR(a_protected_file_is_left_alone),
      IN_DIR(links_stay_links),
      IN_DIR(what_cannot_be_a_file_is_refused),
      IN_DIR(the_longest_names_work),
      IN_DIR(the_working_directory_may_change),
      IN_DIR(two_writers_do_not_meet),
      IN_DIR(a_callers_output_gets_the_bytes_in_order),
      IN_DIR(a_callers_output_that_fails_says_why),
      IN_DIR(standard_output_is_written_through),
      IN_DIR(a_full_or_closed_output_is_an_error),
      IN_DIR(an_output_that_does_not_block_is_waited_for),
      IN_DIR(each_step_is_on_the_disk_before_the_next),
      IN_DIR(short_and_interrupted_writes_do_not_matter),
      IN_DIR(every_failing_call_leaves_the_old_file),
      IN_DIR(pairs_are_replaced_together),
      IN_DIR(a_pair_is_kept_where_it_must_be),
      IN_DIR(a_failure_lasts),
      IN_DIR(a_killed_writer_leaves_a_whole_file),
  };
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
