/* tests/fuzz/harness/budget.c: memory and processor time of each input of a fuzz program; part of all of them. The
 * linker
 * (--wrap) calls the function below in the place of the program's. */
#include "fuzz/harness/fuzz_budget.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "support/failing_alloc.h"

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Memory ---------------------------------------------------------------------------------------------- */

#ifdef OWN_ALLOC
enum { SLOWER = 1 };

static bool is_measured(void) {
  return FAILING_ALLOC;
}
#else
enum { SLOWER = 10 };

int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *memory, size_t size),
                                              void (*freed)(const volatile void *memory)) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *memory) __attribute__((weak));

static void add_bytes(long bytes) {
  long now = atomic_fetch_add(&alloc_bytes, bytes) + bytes, peak = atomic_load(&alloc_peak);
  while (now > peak && !atomic_compare_exchange_weak(&alloc_peak, &peak, now)) continue;
}

static void note_allocated(const volatile void *memory, size_t size) {
  (void)memory;
  add_bytes((long)size);
}

static void note_freed(const volatile void *memory) {
  if (memory) add_bytes(-(long)__sanitizer_get_allocated_size(memory));
}

static bool is_measured(void) {
  static int hooks = -1; /* 0: there are none */
  if (hooks < 0)
    hooks = __sanitizer_install_malloc_and_free_hooks && __sanitizer_get_allocated_size
                ? __sanitizer_install_malloc_and_free_hooks(note_allocated, note_freed)
                : 0;
  return hooks > 0;
}
#endif

/* ---- Budgets --------------------------------------------------------------------------------------------- */

static double began;

static double processor_seconds(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void fuzz_budget_begin(void) {
  if (!is_measured()) return;
  alloc_watch();
  began = processor_seconds();
}

void fuzz_budget_end(size_t bytes, size_t fixed) {
  if (!is_measured()) return;
  const double memory = (double)atomic_load(&alloc_peak), most = (double)fixed + 20.0 * (double)bytes;
  const double seconds = processor_seconds() - began, longest = (5 + 1e-5 * (double)bytes) * SLOWER;
  if (memory <= most && seconds <= longest) return;
  fprintf(stderr, "an input of %zu bytes took %.0f bytes (at most %.0f) and %.2f s (at most %.2f)\n", bytes, memory,
          most, seconds, longest);
  abort();
}

/* The first input of a program pays for what stays: models, files. Jobs of matrices have buffers of 64 MiB, and a zstd
 * file of any size may ask for the largest window that is accepted, 128 MiB, of which pages are only used when they are
 * written. */
enum { FIXED_MIB = 192 };

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static bool later;
  fuzz_budget_begin();
  const int result = __real_LLVMFuzzerTestOneInput(data, size);
  if (later) fuzz_budget_end(size, (size_t)FIXED_MIB << 20);
  later = true;
  return result;
}
