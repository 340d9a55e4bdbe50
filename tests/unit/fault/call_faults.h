/* tests/unit/fault/call_faults.h: system calls of which the n-th fails, is interrupted by a signal, or does only a byte
 * of what it was asked for.
 *
 * For one file of a test program: it takes the place of the C library's functions. */
#ifndef CALL_FAULTS_H
#define CALL_FAULTS_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum call_fault {
  FAULT_ERROR,     /* any call: fails */
  FAULT_INTERRUPT, /* reads and writes: EINTR, to be tried again */
  FAULT_SHORT,     /* reads and writes: one byte, to be continued */
  CALL_FAULTS
} call_fault;

static atomic_long fault_countdown = -1; /* calls until one is hit; below 0: none will */
static atomic_bool fault_met;
static call_fault fault_kind;
static bool fault_spares_fstat;     /* where a temporary that cannot be looked at is left to the next process */
static const char *fault_call = ""; /* which one was hit */

/* The n-th call from now on (the first is 1) is hit, once; 0: none. */
static inline void fault_at(call_fault kind, long n) {
  fault_kind = kind;
  atomic_store(&fault_met, false);
  atomic_store(&fault_countdown, n > 0 ? n : -1);
}

static inline bool fault_now(const char *call) {
  if (atomic_load(&fault_countdown) < 0 || atomic_fetch_sub(&fault_countdown, 1) != 1) return false;
  atomic_store(&fault_countdown, -1);
  atomic_store(&fault_met, true);
  fault_call = call;
  return true;
}

static inline bool fails_now(const char *call, int reason) {
  if (fault_kind != FAULT_ERROR || !fault_now(call)) return false;
  errno = reason;
  return true;
}

/* How many of `size` bytes are read or written now; 0: the call fails. */
static inline size_t bytes_now(const char *call, size_t size, int reason) {
  if (!fault_now(call)) return size;
  errno = fault_kind == FAULT_INTERRUPT ? EINTR : reason;
  return fault_kind == FAULT_SHORT && size > 0 ? 1 : 0;
}

#define REAL(name) ((__typeof__(&name))real_call(#name))

static inline void *real_call(const char *name) {
  const int before = errno;
  void *found = dlsym(RTLD_NEXT, name);
  errno = before;
  return found;
}

ssize_t read(int fd, void *buffer, size_t size) {
  const size_t n = bytes_now(__func__, size, EIO);
  return n == 0 && size > 0 ? -1 : REAL(read)(fd, buffer, n);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  const size_t n = bytes_now(__func__, size, EIO);
  return n == 0 && size > 0 ? -1 : REAL(pread)(fd, buffer, n, offset);
}

ssize_t write(int fd, const void *data, size_t size) {
  const size_t n = bytes_now(__func__, size, ENOSPC);
  return n == 0 && size > 0 ? -1 : REAL(write)(fd, data, n);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  const size_t n = bytes_now(__func__, size, ENOSPC);
  return n == 0 && size > 0 ? -1 : REAL(pwrite)(fd, data, n, offset);
}

int open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
  va_end(args);
  return fails_now(__func__, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
  va_end(args);
  return fails_now(__func__, EMFILE) ? -1 : REAL(openat)(folder, path, flags, mode);
}

int mkdirat(int folder, const char *name, mode_t mode) {
  return fails_now(__func__, EACCES) ? -1 : REAL(mkdirat)(folder, name, mode);
}

/* Nothing gets to the disk, which takes its time. */
int fsync(int fd) {
  (void)fd;
  return fails_now(__func__, EIO) ? -1 : 0;
}

int fstat(int fd, struct stat *info) {
  return !fault_spares_fstat && fails_now(__func__, EIO) ? -1 : REAL(fstat)(fd, info);
}

int stat(const char *path, struct stat *info) {
  return fails_now(__func__, EACCES) ? -1 : REAL(stat)(path, info);
}

int fstatat(int folder, const char *path, struct stat *info, int flags) {
  return !fault_spares_fstat && fails_now(__func__, EACCES) ? -1 : REAL(fstatat)(folder, path, info, flags);
}

int fchmod(int fd, mode_t mode) {
  return fails_now(__func__, EPERM) ? -1 : REAL(fchmod)(fd, mode);
}

int ftruncate(int fd, off_t size) {
  return fails_now(__func__, EIO) ? -1 : REAL(ftruncate)(fd, size);
}

int mkostemp(char *name, int flags) {
  return fails_now(__func__, EMFILE) ? -1 : REAL(mkostemp)(name, flags);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
  return fails_now(__func__, EIO) ? -1 : REAL(linkat)(from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new) {
  return fails_now(__func__, EIO) ? -1 : REAL(renameat)(from, old, to, new);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  return fails_now(__func__, EIO) ? -1 : REAL(renameat2)(from, old, to, new, flags);
}

ssize_t readlink(const char *path, char *target, size_t size) {
  return fails_now(__func__, EIO) ? -1 : REAL(readlink)(path, target, size);
}

char *realpath(const char *path, char *resolved) {
  return fails_now(__func__, EACCES) ? NULL : REAL(realpath)(path, resolved);
}

DIR *opendir(const char *path) {
  return fails_now(__func__, EMFILE) ? NULL : REAL(opendir)(path);
}

DIR *fdopendir(int fd) {
  return fails_now(__func__, ENOMEM) ? NULL : REAL(fdopendir)(fd);
}

struct dirent *readdir(DIR *folder) {
  return fails_now(__func__, EIO) ? NULL : REAL(readdir)(folder);
}

static inline size_t open_descriptors(void) {
  size_t count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

#endif
