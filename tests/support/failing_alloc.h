/* tests/support/failing_alloc.h: an allocator whose n-th call fails, and a count of what is allocated, in pieces and
 * bytes.
 *
 * For one file of a test program. It takes the place of the C library's functions, which sanitizers and valgrind do
 * too: there, and where the C library is not glibc, FAILING_ALLOC is false and the tests that need it are skipped. */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FAILING_ALLOC false
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define FAILING_ALLOC false
#endif
#ifndef FAILING_ALLOC
#define FAILING_ALLOC alloc_is_ours()
#define OWN_ALLOC
#endif

static atomic_long alloc_countdown = -1;               /* calls until one fails; below 0: none will */
static atomic_long alloc_live __attribute__((unused)); /* pieces that are allocated */
static atomic_long alloc_bytes;                        /* and their bytes */
static atomic_long alloc_peak;                         /* the most bytes since alloc_watch */
static atomic_bool alloc_failed;

/* From now on alloc_peak is the most that is allocated beyond what is now. */
static inline void alloc_watch(void) {
  atomic_store(&alloc_bytes, 0);
  atomic_store(&alloc_peak, 0);
}

/* The n-th call from now on (the first is 1) fails, once; 0: none. */
static inline void alloc_fail_at(long n) {
  atomic_store(&alloc_failed, false);
  atomic_store(&alloc_countdown, n > 0 ? n : -1);
}

#ifdef OWN_ALLOC

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void __libc_free(void *memory);

static _Thread_local volatile bool alloc_called; /* compilers take malloc for a function that writes no variable */

static bool alloc_fails_now(void) {
  alloc_called = true;
  if (atomic_load(&alloc_countdown) < 0 || atomic_fetch_sub(&alloc_countdown, 1) != 1) return false;
  atomic_store(&alloc_countdown, -1);
  atomic_store(&alloc_failed, true);
  errno = ENOMEM;
  return true;
}

static void alloc_add_bytes(long bytes) {
  long now = atomic_fetch_add(&alloc_bytes, bytes) + bytes, peak = atomic_load(&alloc_peak);
  while (now > peak && !atomic_compare_exchange_weak(&alloc_peak, &peak, now)) continue;
}

static void *alloc_counted(void *memory) {
  if (!memory) return NULL;
  atomic_fetch_add(&alloc_live, 1);
  alloc_add_bytes((long)malloc_usable_size(memory));
  return memory;
}

void *malloc(size_t size) {
  return alloc_fails_now() ? NULL : alloc_counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
  return alloc_fails_now() ? NULL : alloc_counted(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size) {
  if (!memory) return malloc(size);
  if (alloc_fails_now()) return NULL;
  long before = (long)malloc_usable_size(memory);
  void *moved = __libc_realloc(memory, size);
  if (moved) alloc_add_bytes((long)malloc_usable_size(moved) - before);
  return moved;
}

void free(void *memory) {
  if (memory) {
    atomic_fetch_sub(&alloc_live, 1);
    alloc_add_bytes(-(long)malloc_usable_size(memory));
  }
  __libc_free(memory);
}

/* valgrind puts its own functions in the place of these. */
static inline bool alloc_is_ours(void) {
  alloc_called = false;
  void *volatile memory = malloc(1);
  free(memory);
  return alloc_called;
}

#endif

#endif
