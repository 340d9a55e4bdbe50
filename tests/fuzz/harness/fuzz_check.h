/* tests/fuzz/harness/fuzz_check.h: what fuzz harnesses share: a check that ends the run, a file with given bytes, and a
 * folder. */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/test_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool good) {
  if (!good) abort();
}

/* The file is an anonymous one, made once. */
static inline const char *fuzz_path(const uint8_t *data, size_t size) {
  static char path[64];
  static int file = -1;
  if (file < 0) {
    file = memfd_create("fuzz", MFD_CLOEXEC);
    check(file >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  }
  check(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
  return path;
}

/* A folder of the process, made once and removed at its end. */
static char fuzz_folder_path[TEST_PATH];

static inline void fuzz_folder_remove(void) {
  test_remove_dir(fuzz_folder_path);
}

/* path = the file or folder of that name in the folder of the process. */
static inline const char *fuzz_folder(char path[TEST_PATH], const char *name) {
  if (!fuzz_folder_path[0]) check(test_make_dir(fuzz_folder_path) && atexit(fuzz_folder_remove) == 0);
  check(test_path(path, fuzz_folder_path, name)[0]);
  return path;
}

#endif
