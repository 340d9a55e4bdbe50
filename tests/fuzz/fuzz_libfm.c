/* tests/fuzz/fuzz_libfm.c: any bytes as libfm text: the fast way of every level and the careful way
 * agree, and rows that are written are read as the same. */
#include "fuzz/harness/rows_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  rows_setup setup;
  if (size < 1) return 0;
  rows_fuzz_setup(&setup, "libfm", data[0]);
  setup.args = data[0] & 0x80 ? "has_label=no" : "has_label=yes";
  rows_fuzz_compare(&setup, data[0], (const char *)data + 1, size - 1, 0);
  return 0;
}
