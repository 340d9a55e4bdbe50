/* tests/fuzz/fuzz_csv.c: any bytes as csv: the fast way and the careful way agree.
 *
 * The first bytes choose: types, the columns of label and weight, the header, the delimiter, and whether the text is
 * the start of its file. */
#include "fuzz/rows_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const headers[] = {"auto", "no", "yes", "no"};
  rows_setup setup;
  char args[96];
  if (size < 3) return 0;
  rows_fuzz_setup(&setup, "csv", data[0]);
  snprintf(args, sizeof args, "label_column=%d&weight_column=%d&header=%s&delimiter=%c", (data[1] & 7) - 1,
           (data[1] >> 3 & 7) - 1, headers[data[1] >> 6], data[2] ? data[2] : ',');
  setup.args = args;
  const uint64_t offset = data[0] & 0x80 ? 1000 : 0;
  rows_fuzz_compare(&setup, data[0], (const char *)data + 3, size - 3, offset);
  return 0;
}
