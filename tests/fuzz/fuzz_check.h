/* tests/fuzz/fuzz_check.h: what fuzz harnesses share: a check that ends the run, and a file with given bytes. */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

#endif
