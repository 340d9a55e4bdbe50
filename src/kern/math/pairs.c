/* kern/math/pairs.c: choosing the kernels of pairs. */
#include "kern/math/pairs.h"

#include <pthread.h>

static fw_pairs tables[2]; /* of floats, of doubles */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

void fw_pairs_at(fw_isa isa, fw_pairs *f32, fw_pairs *f64) {
  fw_pairs_fill_generic(f32, f64);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX2) fw_pairs_fill_avx2(f32, f64);
#endif
  f32->isa = f64->isa = isa;
}

static void fill_tables(void) {
  fw_pairs_at(fw_isa_choose(), &tables[0], &tables[1]);
}

const fw_pairs *fw_pairs_table_f32(void) {
  pthread_once(&tables_once, fill_tables);
  return &tables[0];
}

const fw_pairs *fw_pairs_table_f64(void) {
  pthread_once(&tables_once, fill_tables);
  return &tables[1];
}
