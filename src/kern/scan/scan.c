/* kern/scan/scan.c: choosing the kernels of scanning. */
#include "kern/scan/scan.h"

#include <pthread.h>

static fw_scan table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

fw_scan fw_scan_at(fw_isa isa) {
  fw_scan scan = {.isa = FW_ISA_GENERIC};
  fw_scan_fill_generic(&scan);
#if defined(__x86_64__)
  if (isa >= FW_ISA_AVX2) fw_scan_fill_avx2(&scan);
  if (isa >= FW_ISA_AVX512) fw_scan_fill_avx512(&scan);
#elif defined(__aarch64__)
  if (isa == FW_ISA_NEON) fw_scan_fill_neon(&scan);
#endif
  scan.isa = isa;
  return scan;
}

static void fill_table(void) {
  table = fw_scan_at(fw_isa_choose());
}

const fw_scan *fw_scan_table(void) {
  pthread_once(&table_once, fill_table);
  return &table;
}
