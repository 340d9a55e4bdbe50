/* tests/support/test_env.h: what test programs share: a folder of their own, and the shared test data. */
#ifndef TEST_ENV_H
#define TEST_ENV_H

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEST_PATH 1024

/* Makes a new empty folder and writes its name; false when that fails. test_remove_dir takes it away again. */
static inline bool test_make_dir(char dir[TEST_PATH]) {
  const char *root = getenv("TMPDIR");
  snprintf(dir, TEST_PATH, "%s/furrow-test-XXXXXX", root && root[0] ? root : "/tmp");
  return mkdtemp(dir) != NULL;
}

static inline int test_remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info;
  (void)kind;
  (void)place;
  return remove(path);
}

static inline bool test_remove_dir(const char *dir) {
  return nftw(dir, test_remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0;
}

/* Whether all combinations are to be tested (make test-full), not a sample. */
static inline bool test_is_full(void) {
  return getenv("FURROW_FULL") != NULL;
}

/* How many names a folder has, hidden ones, too; -1: it cannot be read. */
static inline int test_entries(const char *folder) {
  DIR *handle = opendir(folder);
  int n = handle ? 0 : -1;
  for (struct dirent *entry; handle && (entry = readdir(handle));)
    n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  if (handle) closedir(handle);
  return n;
}

/* path = dir/name */
static inline const char *test_path(char path[TEST_PATH], const char *dir, const char *name) {
  int needed = snprintf(path, TEST_PATH, "%s/%s", dir, name);
  return needed > 0 && needed < TEST_PATH ? path : "";
}

/* path = name in the source tree, e.g. "tests/reject/list". ctest sets FURROW_SOURCE, because compiler caches make
 * __FILE__ relative; a program that is started by hand knows its root from __FILE__. */
static inline const char *test_source_path(char path[TEST_PATH], const char *name) {
  static const char here[] = __FILE__;
  const char *root = getenv("FURROW_SOURCE");
  int length = root ? (int)strlen(root) : (int)(sizeof here - sizeof "/tests/support/test_env.h");
  int needed = snprintf(path, TEST_PATH, "%.*s/%s", length, root ? root : here, name);
  return needed > 0 && needed < TEST_PATH ? path : "";
}

static inline bool test_write_file(const char *path, const void *content, size_t n) {
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  bool good = fwrite(content, 1, n, file) == n;
  return fclose(file) == 0 && good;
}

static inline bool test_write_text(const char *path, const char *text) {
  return test_write_file(path, text, strlen(text));
}

/* path = FURROW_SHARED/name; false (skip the test) when the shared data is not there. */
static inline bool test_shared(char path[TEST_PATH], const char *name) {
  const char *root = getenv("FURROW_SHARED");
  if (!root || !root[0]) return false;
  test_path(path, root, name);
  return access(path, R_OK) == 0;
}

#endif
