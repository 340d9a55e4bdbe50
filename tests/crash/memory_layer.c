/* crash/memory_layer.c: stands between a program and the allocator of the C library (LD_PRELOAD): one call fails, as if
 * there were no more memory, or that one and all later ones.
 *
 *   MEMORY_FAIL   N:once|sticky   the N-th call of the main function, or of what it has called
 *   MEMORY_COUNT  file that gets the number of calls when main returns
 *
 * Both are of one process: what it starts is not touched. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

/* The allocator of glibc under the names that stay when others take its place. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool running; /* its main function */
static atomic_long calls;
static long failing; /* 0: none */
static bool sticky;
static main_function *real_main;

static void begin(void) {
  const char *text = getenv("MEMORY_FAIL");
  if (text) {
    failing = strtol(text, NULL, 10);
    sticky = strstr(text, "sticky");
    unsetenv("MEMORY_FAIL");
  }
  atomic_store(&running, true);
}

static void end(void) {
  const char *path = getenv("MEMORY_COUNT");
  char text[32];
  atomic_store(&running, false);
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
  if (fd < 0) return;
  const int size = snprintf(text, sizeof text, "%ld", atomic_load(&calls));
  (void)!write(fd, text, (size_t)size);
  close(fd);
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
  start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = entry;
  return start(watched_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* Counts a call; whether it fails. */
static bool fails(void) {
  if (!atomic_load(&running)) return false;
  const long n = atomic_fetch_add(&calls, 1) + 1;
  const bool failed = failing > 0 && (n == failing || (sticky && n > failing));
  if (failed) errno = ENOMEM;
  return failed;
}

VISIBLE void *malloc(size_t size) {
  return fails() ? NULL : __libc_malloc(size);
}

VISIBLE void *calloc(size_t count, size_t size) {
  return fails() ? NULL : __libc_calloc(count, size);
}

VISIBLE void *realloc(void *memory, size_t size) {
  return fails() ? NULL : __libc_realloc(memory, size);
}

VISIBLE void *memalign(size_t alignment, size_t size) {
  return fails() ? NULL : __libc_memalign(alignment, size);
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
