/* kern/text/kern.c: choosing the kernels. */
#include "kern/text/kern.h"

#include <pthread.h>

#include "furrow/version.h"

static fw_kern table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

fw_kern fw_kern_at(fw_isa isa) {
  fw_kern kern = {.isa = FW_ISA_GENERIC};
  fw_kern_fill_generic(&kern);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX2) fw_kern_fill_avx2(&kern);
  if (isa >= FW_ISA_AVX512) fw_kern_fill_avx512(&kern);
#elif defined(__aarch64__)
  if (isa == FW_ISA_NEON) fw_kern_fill_neon(&kern);
#endif
  kern.isa = isa;
  return kern;
}

static void fill_table(void) {
  table = fw_kern_at(fw_isa_choose());
}

const fw_kern *fw_kern_table(void) {
  pthread_once(&table_once, fill_table);
  return &table;
}

const char *furrow_isa(void) {
  return fw_isa_name(fw_kern_table()->isa);
}
