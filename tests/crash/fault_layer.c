/* crash/fault_layer.c: stands between a program and the C library (LD_PRELOAD): one call fails, or that one and all
 * later ones.
 *
 *   FAULT_PLAN   KIND:N:once|sticky   the N-th call of a kind that the main function makes, or what it has called
 *   FAULT_COUNT  KIND:FILE            the file gets the number of calls of the kind when main returns
 *   FAULT_NAME   file that gets the name of the function that failed first
 *   KIND         memory   allocations: there is no more memory
 *                call     calls about files, folders and threads: the disk, its rights or the system are in the way
 *
 * All are of one process: what it starts is not touched. What is written to standard error passes. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real_function(#name))
typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

/* The allocator of glibc under the names that stay when others take its place. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

typedef enum kind { MEMORY, CALL, KINDS } kind;

static atomic_bool running; /* its main function */
static atomic_long calls[KINDS];
static long failing[KINDS]; /* 0: none */
static bool sticky;
static _Atomic(const char *) failed;
static main_function *real_main;
static _Thread_local bool inside; /* the layer itself or the C library: what these call is not the program's */

static void *real_function(const char *name) {
  const int before = errno;
  const bool was = inside;
  inside = true;
  void *found = dlsym(RTLD_NEXT, name);
  inside = was;
  if (!found) abort();
  errno = before;
  return found;
}

/* Counts a call; whether it fails, with `reason`. */
static bool fails(kind of, const char *name, int reason) {
  if (inside || !atomic_load(&running)) return false;
  const long n = atomic_fetch_add(&calls[of], 1) + 1;
  if (failing[of] == 0 || (n != failing[of] && !(sticky && n > failing[of]))) return false;
  const char *none = NULL;
  atomic_compare_exchange_strong(&failed, &none, name);
  errno = reason;
  return true;
}

/* ---- The plan ---- */

static kind kind_of(const char *text) {
  return strncmp(text, "memory", 6) == 0 ? MEMORY : CALL;
}

static void begin(void) {
  const char *text = getenv("FAULT_PLAN");
  if (text) {
    failing[kind_of(text)] = strtol(strchr(text, ':') + 1, NULL, 10);
    sticky = strstr(text, "sticky");
    unsetenv("FAULT_PLAN");
  }
  atomic_store(&running, true);
}

static void write_file(const char *path, const char *text) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return;
  (void)!write(fd, text, strlen(text));
  close(fd);
}

static void end(void) {
  const char *count = getenv("FAULT_COUNT"), *name = getenv("FAULT_NAME");
  char text[32];
  atomic_store(&running, false);
  if (count) {
    snprintf(text, sizeof text, "%ld", atomic_load(&calls[kind_of(count)]));
    write_file(strchr(count, ':') + 1, text);
  }
  if (name && atomic_load(&failed)) write_file(name, atomic_load(&failed));
}

static int watched_main(int argc, char **argv, char **env) {
  begin();
  const int code = real_main(argc, argv, env);
  end();
  return code;
}

/* What calls main: what comes before and after it, such as the counts of coverage, is not the program's. */
VISIBLE int __libc_start_main(main_function *entry, int argc, char **argv, void (*init)(void), void (*fini)(void),
                              void (*rtld_fini)(void), void *stack_end) {
  start_function *start = (start_function *)real_function("__libc_start_main");
  real_main = entry;
  return start(watched_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- Allocations ---- */

VISIBLE void *malloc(size_t size) {
  return fails(MEMORY, __func__, ENOMEM) ? NULL : __libc_malloc(size);
}

VISIBLE void *calloc(size_t count, size_t size) {
  return fails(MEMORY, __func__, ENOMEM) ? NULL : __libc_calloc(count, size);
}

VISIBLE void *realloc(void *memory, size_t size) {
  return fails(MEMORY, __func__, ENOMEM) ? NULL : __libc_realloc(memory, size);
}

VISIBLE void *memalign(size_t alignment, size_t size) {
  return fails(MEMORY, __func__, ENOMEM) ? NULL : __libc_memalign(alignment, size);
}

VISIBLE void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

VISIBLE int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *made = memalign(alignment, size);
  if (!made) return ENOMEM;
  *memory = made;
  return 0;
}

/* ---- Calls ---- */

#define FAILS(reason) fails(CALL, __func__, reason)

VISIBLE int open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
  va_end(args);
  return FAILS(EIO) ? -1 : REAL(open)(path, flags, mode);
}

VISIBLE int openat(int folder, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
  va_end(args);
  return FAILS(EIO) ? -1 : REAL(openat)(folder, path, flags, mode);
}

VISIBLE FILE *fopen(const char *path, const char *mode) {
  return FAILS(EIO) ? NULL : REAL(fopen)(path, mode);
}

VISIBLE int mkostemp(char *name, int flags) {
  return FAILS(EMFILE) ? -1 : REAL(mkostemp)(name, flags);
}

VISIBLE ssize_t read(int fd, void *buffer, size_t size) {
  return FAILS(EIO) ? -1 : REAL(read)(fd, buffer, size);
}

VISIBLE ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  return FAILS(EIO) ? -1 : REAL(pread)(fd, buffer, size, offset);
}

VISIBLE ssize_t write(int fd, const void *data, size_t size) {
  return fd != STDERR_FILENO && FAILS(ENOSPC) ? -1 : REAL(write)(fd, data, size);
}

VISIBLE ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  return FAILS(ENOSPC) ? -1 : REAL(pwrite)(fd, data, size, offset);
}

VISIBLE ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t size, unsigned flags) {
  return FAILS(EIO) ? -1 : REAL(copy_file_range)(in, from, out, to, size, flags);
}

VISIBLE int fsync(int fd) {
  return FAILS(EIO) ? -1 : REAL(fsync)(fd);
}

VISIBLE int ftruncate(int fd, off_t size) {
  return FAILS(EIO) ? -1 : REAL(ftruncate)(fd, size);
}

VISIBLE int fstat(int fd, struct stat *info) {
  return FAILS(EIO) ? -1 : REAL(fstat)(fd, info);
}

VISIBLE int stat(const char *path, struct stat *info) {
  return FAILS(EACCES) ? -1 : REAL(stat)(path, info);
}

VISIBLE int lstat(const char *path, struct stat *info) {
  return FAILS(EACCES) ? -1 : REAL(lstat)(path, info);
}

VISIBLE int fstatat(int folder, const char *path, struct stat *info, int flags) {
  return FAILS(EACCES) ? -1 : REAL(fstatat)(folder, path, info, flags);
}

VISIBLE int access(const char *path, int mode) {
  return FAILS(EIO) ? -1 : REAL(access)(path, mode);
}

VISIBLE int faccessat(int folder, const char *path, int mode, int flags) {
  return FAILS(EIO) ? -1 : REAL(faccessat)(folder, path, mode, flags);
}

VISIBLE int fchmod(int fd, mode_t mode) {
  return FAILS(EPERM) ? -1 : REAL(fchmod)(fd, mode);
}

VISIBLE int mkdir(const char *path, mode_t mode) {
  return FAILS(EACCES) ? -1 : REAL(mkdir)(path, mode);
}

VISIBLE int mkdirat(int folder, const char *path, mode_t mode) {
  return FAILS(EACCES) ? -1 : REAL(mkdirat)(folder, path, mode);
}

VISIBLE int linkat(int from, const char *old, int to, const char *name, int flags) {
  return FAILS(EIO) ? -1 : REAL(linkat)(from, old, to, name, flags);
}

VISIBLE int rename(const char *old, const char *name) {
  return FAILS(EIO) ? -1 : REAL(rename)(old, name);
}

VISIBLE int renameat(int from, const char *old, int to, const char *name) {
  return FAILS(EIO) ? -1 : REAL(renameat)(from, old, to, name);
}

VISIBLE int renameat2(int from, const char *old, int to, const char *name, unsigned flags) {
  return FAILS(EIO) ? -1 : REAL(renameat2)(from, old, to, name, flags);
}

VISIBLE int unlink(const char *path) {
  return FAILS(EIO) ? -1 : REAL(unlink)(path);
}

VISIBLE int unlinkat(int folder, const char *path, int flags) {
  return FAILS(EIO) ? -1 : REAL(unlinkat)(folder, path, flags);
}

VISIBLE ssize_t readlink(const char *path, char *target, size_t size) {
  return FAILS(EIO) ? -1 : REAL(readlink)(path, target, size);
}

VISIBLE char *realpath(const char *path, char *resolved) {
  return FAILS(EACCES) ? NULL : REAL(realpath)(path, resolved);
}

VISIBLE DIR *opendir(const char *path) {
  return FAILS(EMFILE) ? NULL : REAL(opendir)(path);
}

VISIBLE DIR *fdopendir(int fd) {
  return FAILS(ENOMEM) ? NULL : REAL(fdopendir)(fd);
}

VISIBLE struct dirent *readdir(DIR *folder) {
  return FAILS(EIO) ? NULL : REAL(readdir)(folder);
}

VISIBLE void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  return FAILS(ENOMEM) ? MAP_FAILED : REAL(mmap)(at, size, protection, flags, fd, offset);
}

VISIBLE int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *data) {
  return FAILS(EAGAIN) ? EAGAIN : REAL(pthread_create)(thread, attributes, run, data);
}
