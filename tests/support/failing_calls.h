/* tests/support/failing_calls.h: reads and opens of which the n-th fails.
 *
 * For one file of a test program: it takes the place of the C library's functions. */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static atomic_long call_countdown = -1; /* calls until one fails; below 0: none will */
static atomic_bool call_failed;

/* The n-th call from now on (the first is 1) fails, once; 0: none. */
static inline void call_fail_at(long n) {
  atomic_store(&call_failed, false);
  atomic_store(&call_countdown, n > 0 ? n : -1);
}

static inline bool call_fails_now(int reason) {
  if (atomic_load(&call_countdown) < 0 || atomic_fetch_sub(&call_countdown, 1) != 1) return false;
  atomic_store(&call_countdown, -1);
  atomic_store(&call_failed, true);
  errno = reason;
  return true;
}

ssize_t read(int fd, void *buffer, size_t size) {
  static ssize_t (*_Atomic next)(int, void *, size_t);
  if (!next) next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  return call_fails_now(EIO) ? -1 : next(fd, buffer, size);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  static ssize_t (*_Atomic next)(int, void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  return call_fails_now(EIO) ? -1 : next(fd, buffer, size, offset);
}

int open(const char *path, int flags, ...) {
  static int (*_Atomic next)(const char *, int, ...);
  if (!next) next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  va_list args;
  va_start(args, flags);
  const int mode = flags & O_CREAT ? va_arg(args, int) : 0;
  va_end(args);
  return call_fails_now(EMFILE) ? -1 : next(path, flags, mode);
}

static inline size_t open_descriptors(void) {
  size_t count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

#endif
