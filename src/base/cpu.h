/* base/cpu.h: the instruction sets of the processor. */
#ifndef FW_BASE_CPU_H
#define FW_BASE_CPU_H

#include <stdbool.h>

/* X(name, text): instruction set levels; on its architecture, each level is better than the levels before it */
#define FW_ISA_LIST(X)                                  \
  X(GENERIC, "generic")                                 \
  X(NEON, "neon")                                       \
  X(AVX2, "avx2")     /* AVX2, BMI1, BMI2, FMA, F16C */ \
  X(AVX512, "avx512") /* AVX2 and AVX-512 F, BW, VL, DQ, VBMI, VBMI2, VNNI */

typedef enum fw_isa {
#define FW_X(name, text) FW_ISA_##name,
  FW_ISA_LIST(FW_X)
#undef FW_X
      FW_ISA_COUNT
} fw_isa;

/* Whether this processor and its operating system support that level. GENERIC is always supported. */
bool fw_isa_available(fw_isa isa);
/* The best available level, or the one that FURROW_ISA names if it is available. */
fw_isa fw_isa_choose(void);
const char *fw_isa_name(fw_isa isa);

#endif
