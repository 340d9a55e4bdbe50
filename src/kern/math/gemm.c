/* kern/math/gemm.c: the table of matrix products. */
#include "kern/math/gemm.h"

#include <pthread.h>

static fw_gemm table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

fw_gemm fw_gemm_at(fw_isa isa) {
  fw_gemm gemm = {.isa = isa};
  fw_gemm_fill_generic(&gemm);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX2) fw_gemm_fill_avx2(&gemm);
  if (isa >= FW_ISA_AVX512) fw_gemm_fill_avx512(&gemm);
#elif defined(__aarch64__)
  if (isa == FW_ISA_NEON) fw_gemm_fill_neon(&gemm);
#endif
  return gemm;
}

static void fill_table(void) {
  table = fw_gemm_at(fw_isa_choose());
}

const fw_gemm *fw_gemm_table(void) {
  pthread_once(&table_once, fill_table);
  return &table;
}
