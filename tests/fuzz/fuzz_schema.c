/* tests/fuzz/fuzz_schema.c: any bytes as a schema: refused with an error that says where, or read; and what was read is
 * written, and read again as the same. */
#include <string.h>

#include "furrow/table.h"
#include "fuzz/harness/fuzz_check.h"

static void write_text(const furrow_schema *schema, char **text, size_t *size) {
  check(furrow_schema_text(schema, true, text, size, NULL) == FURROW_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_schema *schema = NULL, *again = NULL;
  furrow_error err;
  char *first = NULL, *second = NULL;
  size_t first_size = 0, second_size = 0;
  const furrow_status status = furrow_schema_parse(&schema, (const char *)data, size, &err);
  if (status != FURROW_OK) {
    check(status == FURROW_E_FORMAT && err.status == status && err.message[0] != 0 && !schema);
    check(err.offset == FURROW_NO_OFFSET || err.offset <= size);
    return 0;
  }
  check(furrow_schema_column_count(schema) > 0);
  write_text(schema, &first, &first_size);
  check(furrow_schema_parse(&again, first, first_size, NULL) == FURROW_OK);
  write_text(again, &second, &second_size);
  check(first_size == second_size && memcmp(first, second, first_size) == 0);
  furrow_schema_free(schema);
  furrow_schema_free(again);
  furrow_free(first);
  furrow_free(second);
  return 0;
}
