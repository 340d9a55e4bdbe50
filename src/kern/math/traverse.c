/* kern/math/traverse.c: choosing the kernel that walks. */
#include "kern/math/traverse.h"

#include <pthread.h>

static fw_traverse table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

void fw_traverse_at(fw_isa isa, fw_traverse *to) {
  fw_traverse_fill_generic(to);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX512) fw_traverse_fill_avx512(to);
#endif
  to->isa = isa;
}

static void fill_table(void) {
  fw_traverse_at(fw_isa_choose(), &table);
}

const fw_traverse *fw_traverse_table(void) {
  pthread_once(&table_once, fill_table);
  return &table;
}
