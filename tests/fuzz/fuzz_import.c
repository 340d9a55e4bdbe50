/* tests/fuzz/fuzz_import.c: files of other programs, imported as matrices, from hostile bytes.
 *
 * The first byte of the input says whether a vector is a row or a column, and the format of the rest. What is imported
 * can be loaded; exported and imported again it is the same matrix. */
#include <string.h>

#include "furrow/exchange.h"
#include "fuzz/harness/fuzz_check.h"
#include "support/model_params.h"

/* Text is only imported: tsv has all of its elements, too. */
static const furrow_exchange_format formats[][2] = {
    {FURROW_EXCHANGE_TEXT, FURROW_EXCHANGE_TSV},  {FURROW_EXCHANGE_NPY, FURROW_EXCHANGE_NPY},
    {FURROW_EXCHANGE_NPZ, FURROW_EXCHANGE_NPZ},   {FURROW_EXCHANGE_FVECS, FURROW_EXCHANGE_FVECS},
    {FURROW_EXCHANGE_FBIN, FURROW_EXCHANGE_FBIN}, {FURROW_EXCHANGE_SAFETENSORS, FURROW_EXCHANGE_SAFETENSORS},
    {FURROW_EXCHANGE_TSV, FURROW_EXCHANGE_TSV},   {FURROW_EXCHANGE_LIBSVM, FURROW_EXCHANGE_LIBSVM},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* All rows up to the last one are saved, with or without elements. So that a few bytes do not make millions of them, a
 * matrix of a sparse file has this many. */
enum { MOST_ROWS = 500 };

static bool is_sparse(furrow_exchange_format format) {
  return format == FURROW_EXCHANGE_NPZ || format == FURROW_EXCHANGE_TSV || format == FURROW_EXCHANGE_LIBSVM;
}

static char target[TEST_PATH], file[TEST_PATH], ids[TEST_PATH], again[TEST_PATH];

static void choose_names(void) {
  fuzz_folder(target, "m");
  fuzz_folder(file, "exported");
  fuzz_folder(ids, "exported.ids.npy");
  fuzz_folder(again, "again/m"); /* a matrix without a name has that of its folder */
  if (access(again, F_OK) != 0) {
    char folder[TEST_PATH];
    mkdir(fuzz_folder(folder, "again"), 0755);
  }
}

static void require_same(void) {
  furrow_matrix_source *a = NULL, *b = NULL;
  furrow_matrix_diff diff;
  furrow_matrix_diff_init(&diff);
  check(furrow_matrix_source_open(&a, target, NULL, NULL) == FURROW_OK);
  check(furrow_matrix_source_open(&b, again, NULL, NULL) == FURROW_OK);
  check(furrow_matrix_compare(a, b, COMPARE(1 << 20, NULL, 0), &diff, NULL) == FURROW_OK);
  check(diff.only_a == 0 && diff.only_b == 0 && diff.different == 0);
  furrow_matrix_source_close(a);
  furrow_matrix_source_close(b);
}

/* The matrix that was imported, out and in again; its type is given, since not every format has it. */
static void import_again(furrow_exchange_format format, furrow_model_import_params params) {
  const furrow_exchange_format from = params.format;
  furrow_model_export_params export_params;
  furrow_matrix_source *source = NULL;
  furrow_matrix_spec spec;
  furrow_error err = {0};
  furrow_model_export_params_init(&export_params);
  export_params.format = params.format = format;
  export_params.vectors = params.vectors;
  export_params.overwrite = true;
  export_params.threads = 1;
  const furrow_status status = furrow_model_export(target, file, &export_params, NULL, &err);
  check(status == FURROW_OK || err.message[0]);
  if (status != FURROW_OK) return;
  check(furrow_matrix_source_open(&source, target, NULL, NULL) == FURROW_OK);
  const furrow_matrix_meta *meta = furrow_matrix_source_meta(source);
  furrow_matrix_spec_init(&spec);
  spec.row_type = meta->row_type;
  if (is_sparse(format)) spec.rows = MOST_ROWS;
  params.spec = &spec;
  params.ids = access(ids, F_OK) == 0 ? ids : NULL;
  furrow_status imported = furrow_model_import(file, again, &params, NULL, &err);
  furrow_matrix_source_close(source);
  if (imported == FURROW_OK) {
    require_same();
    check(test_remove_dir(again));
  } else {
    fprintf(stderr, "fuzz_import: %s\n", err.message);
    check(from == FURROW_EXCHANGE_TEXT); /* its rows may be too many */
  }
}

static void use_matrix(uint64_t elements) {
  furrow_matrix *matrix = NULL;
  furrow_error err;
  check(furrow_matrix_load(&matrix, target, NULL, &err) == FURROW_OK);
  check(furrow_matrix_count(matrix) == elements);
  furrow_matrix_free(matrix);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_model_import_params params;
  furrow_model_import_result result;
  furrow_matrix_spec spec;
  furrow_error err;
  if (size == 0) return 0;
  choose_names();
  furrow_model_import_params_init(&params);
  furrow_model_import_result_init(&result);
  const furrow_exchange_format *format = formats[data[0] / 2 % FORMATS];
  params.format = format[0];
  furrow_matrix_spec_init(&spec);
  spec.rows = MOST_ROWS;
  if (is_sparse(format[0])) params.spec = &spec;
  params.vectors = data[0] % 2 ? FURROW_AXIS_COLUMNS : FURROW_AXIS_ROWS;
  params.memory = 1 << 20;
  const char *path = fuzz_path(data + 1, size - 1);
  if (furrow_model_import(path, target, &params, &result, &err) != FURROW_OK) {
    check(err.message[0] != 0 && access(target, F_OK) != 0);
    return 0;
  }
  if (result.matrices == 1) {
    use_matrix(result.elements);
    if (result.elements > 0) import_again(format[1], params);
  }
  check(test_remove_dir(target));
  return 0;
}
