/* tests/fuzz/fuzz_csv.c: any bytes as csv: the fast way of every level and the careful way
 * agree, and rows that are written are read as the same.
 *
 * The first bytes choose: types, the columns of label and weight, the header, the delimiter or the names of features,
 * and whether the text is the start of its file. */
#include "fuzz/harness/rows_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const headers[] = {"auto", "no", "yes", "no"};
  rows_setup setup;
  static const char *const columns[] = {"", "&columns=b,a&extra=ignore", "&columns=a,b,c&label=optional",
                                        "&columns=c,%61"};
  char args[160];
  if (size < 3) return 0;
  rows_fuzz_setup(&setup, "csv", data[0]);
  const int used = snprintf(args, sizeof args, "label_column=%d&weight_column=%d&header=%s", (data[1] & 7) - 1,
                            (data[1] >> 3 & 7) - 1, headers[data[1] >> 6]);
  if (data[2] < 4) /* the delimiter is found, and columns are named */
    snprintf(args + used, sizeof args - (size_t)used, "%s", columns[data[2]]);
  else
    snprintf(args + used, sizeof args - (size_t)used, "&delimiter=%c", data[2]);
  setup.args = args;
  const uint64_t offset = data[0] & 0x80 ? 1000 : 0;
  rows_fuzz_compare(&setup, data[0], (const char *)data + 3, size - 3, offset);
  return 0;
}
