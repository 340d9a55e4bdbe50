/* tests/fuzz/fuzz_import_text.c: lines of an id and the values of a vector, from hostile bytes.
 *
 * The first byte of the input says whether a vector is a row or a column; the rest is the file. What is imported must
 * be read back: as many elements, and each line one vector of the same size. */
#include <string.h>

#include "furrow/exchange.h"
#include "fuzz/fuzz_check.h"
#include "support/test_env.h"

static char folder[TEST_PATH], target[TEST_PATH + 8];

static void remove_folder(void) {
  test_remove_dir(folder);
}

static void make_folder(void) {
  if (folder[0]) return;
  check(test_make_dir(folder));
  snprintf(target, sizeof target, "%s/m", folder);
  check(atexit(remove_folder) == 0);
}

static void read_back(uint64_t elements) {
  furrow_matrix *matrix = NULL;
  furrow_error err;
  check(furrow_matrix_load(&matrix, target, NULL, &err) == FURROW_OK);
  check(furrow_matrix_count(matrix) == elements);
  furrow_matrix_free(matrix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_model_import_params params;
  furrow_model_import_result result;
  furrow_error err;
  if (size == 0) return 0;
  make_folder();
  furrow_model_import_params_init(&params);
  furrow_model_import_result_init(&result);
  params.format = FURROW_EXCHANGE_TEXT;
  params.vectors = data[0] % 2 ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
  params.memory = 1 << 20;
  const char *path = fuzz_path(data + 1, size - 1);
  if (furrow_model_import(path, target, &params, &result, &err) != FURROW_OK) {
    check(err.message[0] != 0);
    return 0;
  }
  check(result.matrices == 1 && result.elements > 0);
  read_back(result.elements);
  check(test_remove_dir(target));
  return 0;
}
