/* tests/fuzz/harness/isa_harness.h: the level of instructions, changed within a process.
 *
 * The kernels of a process are chosen once. A harness compares what all levels make of one input, and a process for
 * each would be too slow. So it has the dispatch of its own: this file, which the linker takes instead of the one in
 * the library. Tables stay where they are, what they hold changes; nothing else may run meanwhile. */
#ifndef ISA_HARNESS_H
#define ISA_HARNESS_H

#include <stdlib.h>
#include <string.h>

#include "kern/dispatch.c" // NOLINT: see above

/* From now on kernels are those of this level, which must be available. */
static inline void use_isa(fw_isa isa) {
  (void)chosen(); /* is filled, and is not filled again */
  kernels = fw_kernels_at(isa);
}

/* The next level that the processor has, or the one that FURROW_ISA names; FW_ISA_COUNT: there is none. */
static inline fw_isa next_isa(fw_isa isa) {
  const char *only = getenv("FURROW_ISA");
  while (isa < FW_ISA_COUNT && (!fw_isa_available(isa) || (only && strcmp(fw_isa_name(isa), only) != 0))) isa++;
  return isa;
}

/* for (EACH_ISA(isa)) … ends with the best level in use, if the body has use_isa(isa). */
#define EACH_ISA(isa)                    \
  fw_isa isa = next_isa(FW_ISA_GENERIC); \
  (isa) < FW_ISA_COUNT;                  \
  (isa) = next_isa((isa) + 1)

/* Uses one of the levels that there are. */
static inline void choose_isa(unsigned number) {
  fw_isa levels[FW_ISA_COUNT];
  unsigned count = 0;
  for (EACH_ISA(isa)) levels[count++] = isa;
  use_isa(levels[number % count]);
}

#endif
