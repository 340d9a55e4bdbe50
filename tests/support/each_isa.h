/* tests/support/each_isa.h: the tests of a program, once for every level of instructions that the processor has.
 *
 * The kernels are chosen once in a process, so each level gets a process of its own. SLOW is how many times fewer
 * random cases there are under a sanitizer. */
#ifndef EACH_ISA_H
#define EACH_ISA_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SLOW 8
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 8
#endif
#ifndef SLOW
#define SLOW 1
#endif

/* Returns 0 if `tests` returned 0 at every level, or at the one that FURROW_ISA names. */
static inline int each_isa(int (*tests)(void)) {
  int failed = 0;
  if (getenv("FURROW_ISA")) return tests();
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    if (!fw_isa_available(isa)) continue;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      setenv("FURROW_ISA", fw_isa_name(isa), 1);
      fprintf(stderr, "[ level    ] %s\n", fw_isa_name(isa));
      const int result = tests();
      fflush(NULL);
      exit(result != 0);
    }
    int status = 0;
    failed |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
  }
  return failed;
}

#endif
