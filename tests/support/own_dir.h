/* tests/support/own_dir.h: setup and teardown that give each test (or group) an empty folder to work in. */
#ifndef OWN_DIR_H
#define OWN_DIR_H

#include "support/test_env.h"

static char home[TEST_PATH], dir[TEST_PATH];

static int enter_dir(void **state) {
  (void)state;
  if (!getcwd(home, sizeof home) || !test_make_dir(dir)) return -1;
  return chdir(dir);
}

static int leave_dir(void **state) {
  (void)state;
  return chdir(home) == 0 && test_remove_dir(dir) ? 0 : -1;
}

#endif
