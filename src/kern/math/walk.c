/* kern/math/walk.c: choosing the kernel that walks. */
#include "kern/math/walk.h"

#include <pthread.h>

static fw_walk table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

void fw_walk_at(fw_isa isa, fw_walk *to) {
  fw_walk_fill_generic(to);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX512) fw_walk_fill_avx512(to);
#endif
  to->isa = isa;
}

static void fill_table(void) {
  fw_walk_at(fw_isa_choose(), &table);
}

const fw_walk *fw_walk_table(void) {
  pthread_once(&table_once, fill_table);
  return &table;
}
