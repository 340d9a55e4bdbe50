/* kern/math/gather.c: choosing the kernels that gather. */
#include "kern/math/gather.h"

#include <pthread.h>

static fw_gather tables[2]; /* of floats, of doubles */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

void fw_gather_at(fw_isa isa, fw_gather *f32, fw_gather *f64) {
  fw_gather_fill_generic(f32, f64);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX2) fw_gather_fill_avx2(f32, f64);
#endif
  f32->isa = f64->isa = isa;
}

static void fill_tables(void) {
  fw_gather_at(fw_isa_choose(), &tables[0], &tables[1]);
}

const fw_gather *fw_gather_table_f32(void) {
  pthread_once(&tables_once, fill_tables);
  return &tables[0];
}

const fw_gather *fw_gather_table_f64(void) {
  pthread_once(&tables_once, fill_tables);
  return &tables[1];
}
