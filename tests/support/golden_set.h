/* tests/support/golden_set.h: files that other systems wrote: those of tests/golden, and where FURROW_SHARED names a
 * folder with golden/, the full set that they were chosen from.
 *
 * Files that a test names are in tests/golden. A test that reads every file of a folder is listed with GOLDEN_TEST: it
 * runs over both sets. */
#ifndef GOLDEN_SET_H
#define GOLDEN_SET_H

#include "support/cmocka_all.h"
#include "support/test_env.h"

static const char *golden_root = TEST_GOLDEN; /* the build says where tests/golden is */
static bool golden_is_full;

/* path = the golden file or folder NAME; a name that the set does not have fails the test. */
static inline const char *golden_path(char path[TEST_PATH], const char *name) {
  test_path(path, golden_root, name);
  if (access(path, R_OK) != 0) fail_msg("%s is not there", path);
  return path;
}

typedef struct golden_test {
  CMUnitTestFunction run;
  bool in_own_dir;
} golden_test;

static inline void golden_over_sets(void **state) {
  const golden_test test = *(const golden_test *)*state;
  static char full[TEST_PATH];
  golden_root = TEST_GOLDEN;
  golden_is_full = false;
  test.run(state);
  if (!test_shared(full, "golden")) return;
  if (test.in_own_dir) assert_true(mkdir("full", 0777) == 0 && chdir("full") == 0); /* away from what the first left */
  golden_root = full;
  golden_is_full = true;
  print_message("the same over %s\n", full);
  test.run(state);
  golden_root = TEST_GOLDEN;
  golden_is_full = false;
}

/* In a list of tests. The second is for tests that work in a folder of their own (own_dir.h). */
#define GOLDEN_TEST(test)                                 \
  {                                                       \
#test, golden_over_sets, NULL, NULL, &(golden_test) { \
      test, false                                         \
    }                                                     \
  }
#define GOLDEN_TEST_IN_DIR(test)                                    \
  {                                                                 \
#test, golden_over_sets, enter_dir, leave_dir, &(golden_test) { \
      test, true                                                    \
    }                                                               \
  }

#endif
