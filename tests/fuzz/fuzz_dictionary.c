/* tests/fuzz/fuzz_dictionary.c: dictionaries from hostile bytes.
 *
 * The input is one byte, a schema, a byte 0, and a dictionary. The first byte says whether the dictionary's digests are
 * made right (not 0), so that everything behind them is reached. */
#include "fuzz/harness/fuzz_check.h"
#include "support/hostile_dictionary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_error err = {0};
  const uint8_t *end = size > 1 ? memchr(data + 1, 0, size - 1) : NULL;
  if (!end) return 0;
  const size_t image = (size_t)(end + 1 - data);
  const furrow_status status =
      try_image((const char *)data + 1, image - 2, data + image, size - image, data[0] != 0, &err);
  check(status == FURROW_OK || status == FURROW_E_FORMAT || status == FURROW_E_ARGUMENT);
  if (status == FURROW_OK) return 0;
  check(err.status == status && err.message[0] != 0);
  return 0;
}
