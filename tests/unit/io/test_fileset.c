/* tests/unit/io/test_fileset.c: which files a path means. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/fileset.h"
#include "support/cmocka_all.h"
#include "support/golden_set.h"
#include "support/own_dir.h"
#include "support/test_env.h"

/* ---- calls that fail: the n-th of these functions, counted over all of them ---- */

static int calls, failing_call;

static bool fails(void) {
  calls++;
  if (calls != failing_call) return false;
  errno = EIO;
  return true;
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  static ssize_t (*next)(int, void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  return fails() ? -1 : next(fd, buffer, size, offset);
}

DIR *opendir(const char *path) {
  static DIR *(*next)(const char *);
  if (!next) next = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
  return fails() ? NULL : next(path);
}

struct dirent *readdir(DIR *directory) {
  static struct dirent *(*next)(DIR *);
  if (!next) next = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, "readdir");
  return fails() ? NULL : next(directory);
}

static void put(const char *path, const char *text) {
  assert_true(test_write_text(path, text));
}

static void make(const char *path) {
  assert_int_equal(mkdir(path, 0755), 0);
}

static furrow_status open_one(fw_fileset *set, const char *path, furrow_error *err) {
  char *paths[] = {(char *)path};
  return fw_fileset_open(set, paths, 1, err);
}

/* The paths of the files that `path` means, one blank between them. */
static void expect_files(const char *path, const char *expected) {
  fw_fileset set;
  furrow_error err;
  char found[4096] = "";
  if (open_one(&set, path, &err) != FURROW_OK) fail_msg("%s: %s: %s", path, err.file, err.message);
  for (size_t i = 0; i < set.nfiles; i++) {
    if (i) strcat(found, " ");
    strcat(found, set.files[i].path);
  }
  assert_string_equal(found, expected);
  fw_fileset_clear(&set);
}

/* The status, a part of the message or of the hint, and the file of the error. */
static void expect_failure(const char *path, furrow_status status, const char *message, const char *file) {
  fw_fileset set, before;
  furrow_error err;
  memset(&set, 0x5a, sizeof set);
  before = set;
  assert_int_equal(open_one(&set, path, &err), status);
  assert_memory_equal(&set, &before, sizeof set);
  assert_int_equal(err.status, status);
  if (!strstr(err.message, message) && !strstr(err.hint, message))
    fail_msg("%s: \"%s\" lacks \"%s\"", path, err.message, message);
  assert_string_equal(err.file, file);
  assert_int_equal(open_one(&set, path, NULL), status);
}

/* ---- tests ---- */

static void a_file_is_itself(void **state) {
  (void)state;
  fw_fileset set;
  struct stat info;
  put("a.txt", "hello");
  assert_int_equal(stat("a.txt", &info), 0);
  assert_int_equal(open_one(&set, "a.txt", NULL), FURROW_OK);
  assert_int_equal(set.nfiles, 1);
  assert_int_equal(set.size, 5);
  assert_string_equal(set.files[0].path, "a.txt");
  assert_int_equal(set.files[0].kind, FW_FILE_PLAIN);
  assert_int_equal(set.files[0].size, 5);
  assert_int_equal(set.files[0].begin, 0);
  assert_true(set.files[0].mtime_ns == info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec);
  fw_fileset_clear(&set);
  assert_null(set.files);
  assert_int_equal(set.nfiles + set.size, 0);
  fw_fileset_clear(&set);
}

static void files_lie_end_to_end(void **state) {
  (void)state;
  char *paths[] = {"b", "empty", "a", "b"};
  static const uint64_t begins[] = {0, 3, 3, 8};
  fw_fileset set;
  put("a", "12345");
  put("b", "123");
  put("empty", "");
  assert_int_equal(fw_fileset_open(&set, paths, 4, NULL), FURROW_OK);
  assert_int_equal(set.nfiles, 4);
  assert_int_equal(set.size, 11);
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(set.files[i].path, paths[i]);
    assert_int_equal(set.files[i].begin, begins[i]);
  }
  fw_fileset_clear(&set);
}

static void a_directory_is_its_files_by_name(void **state) {
  (void)state;
  make("d");
  make("d/sub");
  put("d/sub/x", "x");
  /* made in this order; byte order is neither that nor any language's */
  static const char *const names[] = {"part-2", "b", "part-10", "B", "a", "~", "part-1", "\xc3\xa4", "A", "#"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[TEST_PATH];
    put(test_path(path, "d", names[i]), i % 2 ? "x" : "");
  }
  put("d/.hidden", "x");
  put("d/_SUCCESS", "");
  put("d/._x.crc", "x");
  expect_files("d", "d/# d/A d/B d/a d/b d/part-1 d/part-10 d/part-2 d/~ d/\xc3\xa4");
  expect_files("d/", "d/# d/A d/B d/a d/b d/part-1 d/part-10 d/part-2 d/~ d/\xc3\xa4");
  expect_files("d/sub", "d/sub/x");
  expect_files("d/sub/..//sub", "d/sub/..//sub/x");
  expect_files("d/_SUCCESS", "d/_SUCCESS");
  expect_files("d/.hidden", "d/.hidden");
}

static void many_files_are_sorted(void **state) {
  (void)state;
  make("d");
  for (int i = 0; i < 500; i++) {
    char path[TEST_PATH];
    snprintf(path, sizeof path, "d/%03d", i * 7 % 500);
    put(path, "x");
  }
  fw_fileset set;
  assert_int_equal(open_one(&set, "d", NULL), FURROW_OK);
  assert_int_equal(set.nfiles, 500);
  assert_int_equal(set.size, 500);
  for (int i = 0; i < 500; i++) {
    char path[TEST_PATH];
    snprintf(path, sizeof path, "d/%03d", i);
    assert_string_equal(set.files[i].path, path);
    assert_int_equal(set.files[i].begin, i);
  }
  fw_fileset_clear(&set);
}

static void a_directory_without_files_is_not_found(void **state) {
  (void)state;
  make("d");
  expect_failure("d", FURROW_E_NOT_FOUND, "no files", "d");
  put("d/.x", "x");
  put("d/_x", "x");
  assert_int_equal(mkfifo("d/pipe", 0644), 0);
  expect_failure("d", FURROW_E_NOT_FOUND, "no files", "d");
  make("d/sub");
  put("d/sub/x", "x");
  expect_failure("d", FURROW_E_NOT_FOUND, "only directories", "d");
}

static void globs_are_those_of_a_shell(void **state) {
  (void)state;
  make("d");
  make("d/2024-01");
  make("d/2024-02");
  make("d/other");
  static const char *const names[] = {"part-10", "part-02", "part-01", "part-00", "x.txt",
                                      "x.csv",   "y.csv",   ".dot",    "_u"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[TEST_PATH];
    put(test_path(path, "d", names[i]), "x");
    put(test_path(path, "d/2024-01", names[i]), "x");
  }
  put("d/2024-02/part-00", "x");
  put("top.csv", "x");
  expect_files("d/part-*", "d/part-00 d/part-01 d/part-02 d/part-10");
  expect_files("d/part-0?", "d/part-00 d/part-01 d/part-02");
  expect_files("d/part-0[01]", "d/part-00 d/part-01");
  expect_files("d/part-0[!01]", "d/part-02");
  expect_files("d/part-[0-9][1-9]", "d/part-01 d/part-02");
  expect_files("d/*.csv", "d/x.csv d/y.csv");
  expect_files("*.csv", "top.csv");
  expect_files("./*.csv", "./top.csv");
  expect_files("d/x.*", "d/x.csv d/x.txt");
  expect_files("d/*", "d/part-00 d/part-01 d/part-02 d/part-10 d/x.csv d/x.txt d/y.csv");
  expect_files("d/.*", "d/.dot");
  expect_files("d/_*", "d/_u");
  expect_files("d/2024-*/part-00", "d/2024-01/part-00 d/2024-02/part-00");
  expect_files("d/2024-*/part-0[12]", "d/2024-01/part-01 d/2024-01/part-02");
  expect_files("*/*/x.txt", "d/2024-01/x.txt");
  expect_files("?//2024-0[1]///[x]*", "d//2024-01///x.csv d//2024-01///x.txt");
  char pattern[TEST_PATH * 2], expected[TEST_PATH * 2];
  snprintf(pattern, sizeof pattern, "%s/[t]*", dir);
  snprintf(expected, sizeof expected, "%s/top.csv", dir);
  expect_files(pattern, expected);
  expect_failure("d/2024-*", FURROW_E_NOT_FOUND, "only directories", "d/2024-*");
  expect_failure("d/*.gz", FURROW_E_NOT_FOUND, "no file matches", "d/*.gz");
  expect_failure("none/*.gz", FURROW_E_NOT_FOUND, "no file matches", "none/*.gz");
  expect_failure("top.csv/*", FURROW_E_NOT_FOUND, "no file matches", "top.csv/*");
  expect_failure("d/2024-*/none", FURROW_E_NOT_FOUND, "no file matches", "d/2024-*/none");
  expect_failure("d/part-0[0", FURROW_E_NOT_FOUND, "no file matches", "d/part-0[0");
}

static void a_file_of_that_name_wins_over_a_glob(void **state) {
  (void)state;
  put("x*", "12");
  put("xy", "1");
  put("z[12]", "12");
  put("z1", "1");
  make("d*");
  put("d*/f", "1");
  expect_files("x*", "x*");
  expect_files("z[12]", "z[12]");
  expect_files("d*", "d*/f");
  expect_files("x?", "x* xy");
}

static void a_missing_path_is_named(void **state) {
  (void)state;
  fw_fileset set;
  furrow_error err;
  char *paths[] = {"here", "gone"};
  put("here", "x");
  assert_int_equal(fw_fileset_open(&set, paths, 2, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "gone");
  paths[0] = "gone";
  paths[1] = "here";
  assert_int_equal(fw_fileset_open(&set, paths, 2, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "gone");
  expect_failure("here/x", FURROW_E_NOT_FOUND, "no such file", "here/x");
  expect_failure("", FURROW_E_ARGUMENT, "empty path", "");
  assert_int_equal(fw_fileset_open(&set, paths, 0, &err), FURROW_E_ARGUMENT);
}

static void regular_expressions_get_a_hint(void **state) {
  (void)state;
  put("part-00", "x");
  expect_failure("part-.*", FURROW_E_NOT_FOUND, "globs, not regular expressions", "part-.*");
  expect_failure("part-.+", FURROW_E_NOT_FOUND, "globs, not regular expressions", "part-.+");
  expect_files("part-*", "part-00");
  put("part-.x", "x");
  expect_files("part-.*", "part-.x");
}

static void links_are_followed(void **state) {
  (void)state;
  make("d");
  put("d/a", "12345");
  assert_int_equal(symlink("d/a", "file_link"), 0);
  assert_int_equal(symlink("d", "dir_link"), 0);
  assert_int_equal(symlink("../file_link", "d/b"), 0);
  assert_int_equal(symlink("loop", "loop"), 0);
  expect_files("file_link", "file_link");
  expect_files("dir_link", "dir_link/a dir_link/b");
  expect_files("dir_link/*", "dir_link/a dir_link/b");
  expect_failure("loop", FURROW_E_IO, "", "loop");
  assert_int_equal(symlink("nowhere", "d/c"), 0);
  expect_failure("d/c", FURROW_E_NOT_FOUND, "leads nowhere", "d/c");
  expect_failure("d", FURROW_E_NOT_FOUND, "leads nowhere", "d/c");
  expect_failure("d/[bc]", FURROW_E_NOT_FOUND, "leads nowhere", "d/c");
}

static void standard_input_is_read_once(void **state) {
  (void)state;
  static const char *const names[] = {"-", "stdin"};
  fw_fileset set;
  furrow_error err;
  put("-", "x");
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(open_one(&set, names[i], NULL), FURROW_OK);
    assert_int_equal(set.nfiles, 1);
    assert_string_equal(set.files[0].path, "-");
    assert_int_equal(set.files[0].kind, FW_FILE_PIPE);
    assert_int_equal(set.files[0].size + set.size, 0);
    assert_int_equal(set.files[0].mtime_ns, 0);
    fw_fileset_clear(&set);
  }
  expect_files("./-", "./-");
  char *twice[] = {"-", "stdin"};
  assert_int_equal(fw_fileset_open(&set, twice, 2, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "twice"));
}

static void pipes_and_devices_are_told(void **state) {
  (void)state;
  fw_fileset set;
  assert_int_equal(mkfifo("pipe", 0644), 0);
  char *paths[] = {"pipe", "/dev/null"};
  assert_int_equal(fw_fileset_open(&set, paths, 2, NULL), FURROW_OK); /* does not wait for a writer */
  assert_int_equal(set.files[0].kind, FW_FILE_PIPE);
  assert_int_equal(set.files[1].kind, FW_FILE_PIPE);
  assert_int_equal(set.size, 0);
  fw_fileset_clear(&set);
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_true(fd >= 0);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
    expect_failure("socket", FURROW_E_UNSUPPORTED, "socket", "socket");
  close(fd);
}

static void file_uris_are_paths(void **state) {
  (void)state;
  char uri[TEST_PATH * 2], path[TEST_PATH * 2];
  put("a", "x");
  snprintf(path, sizeof path, "%s/a", dir);
  snprintf(uri, sizeof uri, "file://%s/a", dir);
  expect_files(uri, path);
  snprintf(uri, sizeof uri, "file://localhost%s/[a]", dir);
  expect_files(uri, path);
  snprintf(uri, sizeof uri, "FILE://%s", dir);
  expect_files(uri, path);
  expect_failure("file://a", FURROW_E_ARGUMENT, "file:///", "a");
  expect_failure("file://localhostess/a", FURROW_E_ARGUMENT, "file:///", "localhostess/a");
  expect_failure("file://", FURROW_E_ARGUMENT, "file:///", "");
  expect_failure("file:///none/such", FURROW_E_NOT_FOUND, "no such file", "/none/such");
}

static void remote_schemes_are_named(void **state) {
  (void)state;
  static const char *const known[] = {"ftp", "hdfs", "viewfs", "azure", "abfs", "HDFS"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    char path[64], message[64];
    snprintf(path, sizeof path, "%s://host/x", known[i]);
    snprintf(message, sizeof message, "%s:// is not built in", known[i]);
    expect_failure(path, FURROW_E_UNSUPPORTED, message, path);
  }
  expect_failure("x+y-1.z://host/x", FURROW_E_UNSUPPORTED, "x+y-1.z:// is not the name of a file system",
                 "x+y-1.z://host/x");
  expect_failure("s3s://x", FURROW_E_UNSUPPORTED, "not the name of a file system", "s3s://x");
  /* no schemes: paths, which do not exist */
  expect_failure("1x://y", FURROW_E_NOT_FOUND, "no such file", "1x://y");
  expect_failure("://y", FURROW_E_NOT_FOUND, "no such file", "://y");
  expect_failure("s3:/y", FURROW_E_NOT_FOUND, "no such file", "s3:/y");
  make("s3:");
  put("s3:/y", "x");
  expect_files("s3:/y", "s3:/y");
  expect_failure("s3:///y", FURROW_E_ARGUMENT, "bucket", "s3:///y");
}

static void compression_is_told_by_the_first_bytes(void **state) {
  (void)state;
  static const struct {
    const char *name, *bytes;
    size_t size;
    fw_file_kind kind;
  } read[] = {
      {"gzip", "\x1f\x8b\x08\0", 4, FW_FILE_GZIP},
      {"zstd", "\x28\xb5\x2f\xfd", 4, FW_FILE_ZSTD},
      {"skippable", "\x5a\x2a\x4d\x18", 4, FW_FILE_ZSTD},
      {"xz", "\xfd\x37zXZ\0\0", 7, FW_FILE_XZ},
      {"bzip2", "BZh91AY&SY", 10, FW_FILE_BZIP2},
      {"bzip2_empty", "BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0", 14, FW_FILE_BZIP2},
      {"lz4", "\x04\x22\x4d\x18....", 8, FW_FILE_LZ4},
      {"array", "[\r\n  {}]", 8, FW_FILE_JSON},
      {"marked_array", "\xef\xbb\xbf[{", 5, FW_FILE_JSON},
      {"numbers", "[1, {}]", 7, FW_FILE_PLAIN},
      {"x.gz", "1 2:3\n", 6, FW_FILE_PLAIN},
      {"half_gzip", "\x1f", 1, FW_FILE_PLAIN},
      {"half_zstd", "\x28\xb5\x2f", 3, FW_FILE_PLAIN},
      {"half_xz", "\xfd\x37zXZ", 5, FW_FILE_PLAIN},
      {"text", "BZh9,PK\n", 8, FW_FILE_PLAIN},
      {"nothing.gz", "", 0, FW_FILE_PLAIN},
  };
  for (size_t i = 0; i < sizeof read / sizeof read[0]; i++) {
    fw_fileset set;
    assert_true(test_write_file(read[i].name, read[i].bytes, read[i].size));
    assert_int_equal(open_one(&set, read[i].name, NULL), FURROW_OK);
    assert_int_equal(set.files[0].kind, read[i].kind);
    assert_int_equal(set.files[0].size, read[i].size);
    fw_fileset_clear(&set);
  }
  static const struct {
    const char *name, *bytes;
    size_t size;
  } refused[] = {
      {"zip", "PK\3\4....", 8},
      {"zip", "PK\5\6....", 8},
      {"lz4 of its old format", "\x02\x21\x4c\x18....", 8},
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    assert_true(test_write_file("x", refused[i].bytes, refused[i].size));
    expect_failure("x", FURROW_E_UNSUPPORTED, refused[i].name, "x");
  }
}

static void what_may_not_be_read_is_an_error(void **state) {
  (void)state;
  if (geteuid() == 0) skip(); /* root may read everything */
  make("d");
  make("d/closed");
  put("d/closed/x", "x");
  put("d/a", "x");
  assert_int_equal(chmod("d/a", 0), 0);
  assert_int_equal(chmod("d/closed", 0), 0);
  expect_failure("d/a", FURROW_E_IO, "", "d/a");
  expect_failure("d", FURROW_E_IO, "", "d/a");
  expect_failure("d/closed", FURROW_E_IO, "", "d/closed/");
  expect_failure("d/closed/x", FURROW_E_IO, "", "d/closed/x");
  expect_failure("d/*/x", FURROW_E_IO, "", "d/closed/x");
  expect_failure("d/*/x*", FURROW_E_IO, "", "d/closed/");
  assert_int_equal(chmod("d/closed", 0700), 0);
}

static void every_failing_call_is_an_error(void **state) {
  (void)state;
  static const char *const patterns[] = {"d", "d/*", "*/*/c", "d/a"};
  make("d");
  make("d/sub");
  put("d/a", "x");
  put("d/b", "x");
  put("d/sub/c", "x");
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
    fw_fileset set;
    furrow_error err;
    calls = 0;
    assert_int_equal(open_one(&set, patterns[i], &err), FURROW_OK);
    fw_fileset_clear(&set);
    int needed = calls;
    assert_true(needed > 0);
    for (int n = 1; n <= needed; n++) {
      calls = 0;
      failing_call = n;
      furrow_status status = open_one(&set, patterns[i], &err);
      failing_call = 0;
      assert_int_equal(status, FURROW_E_IO);
      assert_int_equal(err.status, FURROW_E_IO);
    }
  }
}

static void dmlc_core_cases_are_bettered(void **state) {
  (void)state;
  static const struct {
    const char *path;
    size_t nfiles; /* 0: not found */
  } cases[] = {
      {"uri_glob_star.in/part-*", 3},   {"uri_regex.in/part-0[01]", 2}, {"uri_regex_dotstar.in/part-.*", 0},
      {"uri_same_twice.in/part-00", 1}, {"uri_glob_star.in", 5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char folder[TEST_PATH], path[TEST_PATH * 2];
    fw_fileset set;
    furrow_error err;
    snprintf(path, sizeof path, "%s/%s", golden_path(folder, "dmlc"), cases[i].path);
    furrow_status status = open_one(&set, path, &err);
    assert_int_equal(status, cases[i].nfiles ? FURROW_OK : FURROW_E_NOT_FOUND);
    if (status != FURROW_OK) continue;
    assert_int_equal(set.nfiles, cases[i].nfiles);
    fw_fileset_clear(&set);
  }
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(a_file_is_itself),
      IN_DIR(files_lie_end_to_end),
      IN_DIR(a_directory_is_its_files_by_name),
      IN_DIR(many_files_are_sorted),
      IN_DIR(a_directory_without_files_is_not_found),
      IN_DIR(globs_are_those_of_a_shell),
      IN_DIR(a_file_of_that_name_wins_over_a_glob),
      IN_DIR(a_missing_path_is_named),
      IN_DIR(regular_expressions_get_a_hint),
      IN_DIR(links_are_followed),
      IN_DIR(standard_input_is_read_once),
      IN_DIR(pipes_and_devices_are_told),
      IN_DIR(file_uris_are_paths),
      IN_DIR(remote_schemes_are_named),
      IN_DIR(compression_is_told_by_the_first_bytes),
      IN_DIR(what_may_not_be_read_is_an_error),
      IN_DIR(every_failing_call_is_an_error),
      cmocka_unit_test(dmlc_core_cases_are_bettered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
