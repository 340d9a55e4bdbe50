/* tests/fuzz/fuzz_matrix_folder.c: matrix folders from hostile bytes: opened, visited, loaded, looked up.
 *
 * An input is a byte of choices, two bytes that say how long the metadata is (the length that stands before it in a
 * file is added), the metadata, and the bytes of the one data file, 0. Whatever is read in one way must be read in the
 * others, too, and memory must stay in proportion to the files. Converted to any format it is the same matrix. */
#include <string.h>

#include "base/endian.h"
#include "furrow/model.h"
#include "fuzz/harness/fuzz_check.h"
#include "support/model_params.h"

static char folder[TEST_PATH], meta_path[TEST_PATH], data_path[TEST_PATH], copy_path[TEST_PATH];

static void make_folder(void) {
  if (folder[0]) return;
  check(mkdir(fuzz_folder(folder, "m"), 0755) == 0);
  fuzz_folder(meta_path, "m/_meta");
  fuzz_folder(data_path, "m/0");
  fuzz_folder(copy_path, "copy");
}

static void write_files(const uint8_t *meta, size_t meta_size, const uint8_t *bytes, size_t size) {
  uint8_t *file = malloc(meta_size + 4);
  check(file != NULL);
  fw_put_be32(file, (uint32_t)meta_size);
  if (meta_size > 0) memcpy(file + 4, meta, meta_size);
  check(test_write_file(meta_path, file, meta_size + 4) && test_write_file(data_path, bytes, size));
  free(file);
}

typedef struct tally {
  uint64_t elements;
  double sum;
  bool sorted;
  int32_t row;
  int64_t col;
} tally;

/* Touches every element; sorted: they must ascend. */
static furrow_status visit(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  tally *t = user;
  (void)part;
  (void)err;
  check(panel->cols > 0 && panel->rows > 0);
  for (size_t c = 0; c < panel->cols; c++) {
    const int64_t col = furrow_panel_col(panel, c);
    for (size_t r = 0; r < panel->rows; r++) t->sum += furrow_panel_get(panel, r, c);
    if (!t->sorted) continue;
    check(t->elements == 0 || panel->row_ids[0] > t->row || (panel->row_ids[0] == t->row && col > t->col));
    t->row = panel->row_ids[0];
    t->col = col;
    t->elements++;
  }
  if (!t->sorted) t->elements += (uint64_t)panel->rows * panel->cols;
  return FURROW_OK;
}

static void look_up(const furrow_matrix *matrix) {
  uint64_t elements = 0;
  int64_t element[1];
  int32_t *ids = malloc((furrow_matrix_row_count(matrix) + 1) * sizeof *ids);
  int64_t *column = malloc((furrow_matrix_row_count(matrix) + 1) * sizeof *column);
  check(ids && column);
  for (size_t i = 0; i < furrow_matrix_row_count(matrix); i++) {
    furrow_matrix_row_view row;
    check(furrow_matrix_row(matrix, furrow_matrix_row_ids(matrix)[i], &row));
    elements += row.count;
    if (row.count == 0) continue;
    const int64_t col = furrow_matrix_row_view_col(&row, row.count / 2);
    check(furrow_matrix_element(matrix, furrow_matrix_row_ids(matrix)[i], col, element));
    check(furrow_matrix_column(matrix, col, ids, column) > 0);
    check(col == INT64_MAX || furrow_matrix_row_view_range(&row, col, col + 1).count == 1);
  }
  check(elements == furrow_matrix_count(matrix));
  free(ids);
  free(column);
}

static bool same_files(const char *a, const char *b) {
  FILE *files[2] = {fopen(a, "rb"), fopen(b, "rb")};
  int bytes[2] = {0, 0};
  while (files[0] && files[1] && bytes[0] == bytes[1] && bytes[0] != EOF)
    for (size_t i = 0; i < 2; i++) bytes[i] = getc(files[i]);
  for (size_t i = 0; i < 2; i++)
    if (files[i]) fclose(files[i]);
  return bytes[0] == EOF && bytes[1] == EOF;
}

/* What convert wrote has the same elements. A dense format has every element: zeros for those that were not there. */
static void compare_copy(const furrow_matrix_source *source, const furrow_matrix_source_params *params) {
  furrow_matrix_source *copy = NULL;
  furrow_matrix_diff diff;
  furrow_error err = {0};
  furrow_matrix_diff_init(&diff);
  const furrow_status opened = furrow_matrix_source_open(&copy, copy_path, params, &err);
  if (opened != FURROW_OK) fprintf(stderr, "fuzz_matrix_folder: %s\n", err.message);
  check(opened == FURROW_OK);
  check(furrow_matrix_compare(source, copy, COMPARE(1 << 20, NULL, 0), &diff, NULL) == FURROW_OK);
  check(diff.only_a == 0 && diff.different == 0 && diff.largest == 0);
  furrow_matrix_source_close(copy);
}

/* format NULL: a copy, byte for byte. */
static void convert(const furrow_matrix_source *source, const furrow_matrix_source_params *from, const char *format) {
  furrow_model_convert_params params;
  furrow_error err = {0};
  furrow_model_convert_params_init(&params);
  params.source = from;
  params.format = format;
  params.memory = 1 << 20;
  const furrow_status status = furrow_model_convert(folder, copy_path, &params, NULL, &err);
  if (status != FURROW_OK) {
    check(err.message[0] && access(copy_path, F_OK) != 0);
    return;
  }
  if (format) {
    compare_copy(source, from);
  } else {
    char copied[TEST_PATH];
    check(same_files(meta_path, fuzz_folder(copied, "copy/_meta")));
    if (source) check(same_files(data_path, fuzz_folder(copied, "copy/0")));
  }
  check(test_remove_dir(copy_path));
}

/* Returns whether the whole matrix can be read. */
static bool use_source(const furrow_matrix_source *source, uint8_t choices, size_t input) {
  furrow_error err = {0};
  tally plain = {0}, sorted = {.sorted = true}, pieces = {.sorted = true};
  furrow_matrix_load_params params;
  param_parts parts;
  furrow_matrix *matrix = NULL;
  load_params_init(&params, &parts);
  params.threads = 1;
  const furrow_status visited = furrow_matrix_for_each_panel(source, SCAN(NULL, 1, 0), visit, &plain, &err);
  check(visited == FURROW_OK || (err.message[0] && err.file[0] && err.status == visited));
  const furrow_status loaded = furrow_matrix_load_source(&matrix, source, &params, &err);
  check(loaded == visited || strncmp(err.message, "partitions overlap", 18) == 0);
  if (loaded == FURROW_OK) {
    check(furrow_matrix_count(matrix) <= plain.elements);
    check(furrow_matrix_load_size(source, NULL) <= 4096 + 100 * input);
    look_up(matrix);
    check(furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, 1, 0), visit, &sorted, &err) == FURROW_OK);
    check(furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, 1, 500), visit, &pieces, &err) == FURROW_OK);
    check(sorted.elements == furrow_matrix_count(matrix) && pieces.elements == sorted.elements);
  }
  furrow_matrix_free(matrix);
  matrix = NULL;
  parts.selection.first_col = choices >> 4;
  parts.selection.end_col = 2 * (choices >> 4);
  if (furrow_matrix_load_source(&matrix, source, &params, &err) == FURROW_OK) look_up(matrix);
  furrow_matrix_free(matrix);
  return loaded == FURROW_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3) return 0;
  const uint8_t choices = data[0];
  const size_t said = fw_get_be16(data + 1), meta_size = said < size - 3 ? said : size - 3;
  furrow_matrix_source_params params;
  furrow_matrix_source *source = NULL;
  furrow_error err = {0};
  make_folder();
  write_files(data + 3, meta_size, data + 3 + meta_size, size - 3 - meta_size);
  furrow_matrix_source_params_init(&params);
  params.row_order = (furrow_matrix_row_order)(choices % 3);
  if (choices & 4) params.separator = ",";
  const furrow_status status = furrow_matrix_source_open(&source, folder, &params, &err);
  check((status == FURROW_OK) == (source != NULL) && (status == FURROW_OK || err.message[0]));
  if (source && use_source(source, choices, size)) {
    const furrow_matrix_format *format;
    convert(source, &params, NULL);
    for (size_t i = 0; (format = furrow_matrix_format_at(i)); i++) convert(source, &params, format->name);
  }
  furrow_matrix_source_close(source);
  return 0;
}
