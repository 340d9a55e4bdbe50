/* base/cpu.c: the instruction sets of the processor. */
#include "base/cpu.h"

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CHAR_BIT == 8 && sizeof(size_t) == 8, "Furrow is for processors with 64-bit addresses");
_Static_assert(FLT_EVAL_METHOD == 0 && FLT_MANT_DIG == 24 && DBL_MANT_DIG == 53,
               "Furrow computes with IEEE floats and doubles that are rounded as such after every step");

#if defined(__x86_64__)
#include <cpuid.h>

/* __builtin_cpu_supports also checks that the operating system saves the wide registers. clang 14 does not know the
 * names f16c and lzcnt, so these two are read from CPUID directly; they need no register state beyond AVX2's. */
/* not covered by tests: one processor always gives the same answer */
static bool has_f16c_and_lzcnt(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1U << 29))) return false;
  return __get_cpuid(0x80000001U, &a, &b, &c, &d) && (c & (1U << 5));
}

/* not covered: as above */
static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt") && has_f16c_and_lzcnt();
}

/* not covered: as above */
static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512vnni");
}
#endif

bool fw_isa_available(fw_isa isa) {
  if (isa == FW_ISA_GENERIC) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == FW_ISA_AVX2) return has_avx2();
  if (isa == FW_ISA_AVX512) return has_avx2() && has_avx512();
#elif defined(__aarch64__)
  if (isa == FW_ISA_NEON) return true;
#endif
  return false;
}

static fw_isa best_available(void) {
  fw_isa isa = FW_ISA_COUNT - 1;
  while (!fw_isa_available(isa)) isa--;
  return isa;
}

fw_isa fw_isa_choose(void) {
  const char *wanted = getenv("FURROW_ISA");
  for (fw_isa isa = FW_ISA_GENERIC; wanted && isa < FW_ISA_COUNT; isa++) {
    if (strcmp(wanted, fw_isa_name(isa)) == 0 && fw_isa_available(isa)) return isa;
  }
  return best_available();
}

const char *fw_isa_name(fw_isa isa) {
  switch (isa) {
#define FW_X(name, text) \
  case FW_ISA_##name: return text;
    FW_ISA_LIST(FW_X)
#undef FW_X
  case FW_ISA_COUNT: break;
  }
  return "?";
}
