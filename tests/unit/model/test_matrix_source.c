/* tests/unit/model/test_matrix_source.c: matrix folders opened, and their partitions read as panels. */
#include "furrow/model.h"
#include "support/matrix_sample.h"
#include "support/model_params.h"
#include "support/own_dir.h"

static furrow_matrix_source *open_good(const char *folder, const furrow_matrix_source_params *params) {
  furrow_matrix_source *source = NULL;
  furrow_error err = {0};
  if (furrow_matrix_source_open(&source, folder, params, &err) != FURROW_OK)
    fail_msg("%s: %s: %s", folder, err.file, err.message);
  return source;
}

/* Opens, and reads all of it. */
static furrow_status read_all(const char *folder, const furrow_matrix_source_params *params, unsigned threads,
                              cell_table *cells, furrow_error *err) {
  furrow_matrix_source *source = NULL;
  furrow_status status = furrow_matrix_source_open(&source, folder, params, err);
  if (status == FURROW_OK) {
    cells->type = furrow_matrix_source_row_type(source)->element;
    status = furrow_matrix_for_each_panel(source, SCAN(NULL, threads, 0), table_visit, cells, err);
  }
  furrow_matrix_source_close(source);
  return status;
}

static void assert_reads(const char *folder, const furrow_matrix_source_params *params, cell_table *wanted) {
  for (unsigned threads = 1; threads <= 3; threads++) {
    cell_table found;
    furrow_error err = {0};
    table_init(&found, wanted->type);
    if (read_all(folder, params, threads, &found, &err) != FURROW_OK)
      fail_msg("%s: %s byte %llu: %s (%s)", folder, err.file, (unsigned long long)err.offset, err.message, err.token);
    table_sort(&found);
    assert_same_tables(folder, &found, wanted);
    table_clear(&found);
  }
}

static void assert_refused(const char *folder, const furrow_matrix_source_params *params, furrow_status status,
                           const char *message) {
  cell_table found;
  furrow_error err = {0};
  table_init(&found, FURROW_ELEMENT_F32);
  const furrow_status got = read_all(folder, params, 1, &found, &err);
  if (got != status || !strstr(err.message, message))
    fail_msg("%s: %s: %s, not %s: %s", folder, furrow_status_name(got), err.message, furrow_status_name(status),
             message);
  assert_int_equal(err.status, status);
  table_clear(&found);
}

/* ---- Formats and layouts -------------------------------------------------------------------------------- */

static const char *const names[] = {
    "ValueBinaryRowFormat", "ColIdValueBinaryRowFormat", "RowIdColIdValueBinaryRowFormat", "BinaryColumnFormat",
    "ValueTextRowFormat",   "ColIdValueTextRowFormat",   "RowIdColIdValueTextRowFormat",   "TextColumnFormat"};
enum { FORMATS = sizeof names / sizeof names[0] };

static bool has_columns(size_t format) {
  return format != 0 && format != 4;
}

static void check_sample(const matrix_sample *sample, const char *folder) {
  cell_table cells;
  table_init(&cells, furrow_matrix_row_type_get(sample->row_type)->element);
  sample_write(sample, folder, &cells);
  table_sort(&cells);
  assert_reads(folder, NULL, &cells);
  table_clear(&cells);
}

static void every_format_and_type(void **state) {
  (void)state;
  char folder[64];
  for (size_t i = 0; i < FORMATS; i++)
    for (int type = 0; type < 28; type++) {
      matrix_sample s = {.format = names[i], .row_type = type, .rows = 6, .row_step = 3, .blocks = 2, .parts = 3};
      s.width = 11;
      s.seed = i * 100 + (uint64_t)type;
      snprintf(folder, sizeof folder, "range-%zu-%d", i, type);
      check_sample(&s, folder);
      if (furrow_matrix_row_type_get(type)->dense || !has_columns(i)) continue;
      s.hash = true;
      s.shuffled = type % 2;
      snprintf(folder, sizeof folder, "hash-%zu-%d", i, type);
      check_sample(&s, folder);
    }
}

/* Longer than a window of bytes, by many records or by one. */
static void long_partitions(void **state) {
  (void)state;
  char folder[64];
  for (size_t i = 0; i < FORMATS; i++) {
    snprintf(folder, sizeof folder, "long-%zu", i);
    check_sample(&(matrix_sample){.format = names[i], .row_type = 5, .rows = 3, .parts = 2, .width = 60000, .seed = i},
                 folder);
  }
  check_sample(&(matrix_sample){.format = "TextColumn", .row_type = 0, .rows = 60000, .parts = 1, .width = 5},
               "wide-t");
  check_sample(&(matrix_sample){.format = "BinaryColumn", .row_type = 0, .rows = 60000, .parts = 1, .width = 5},
               "wide-b");
}

static void what_a_source_tells(void **state) {
  (void)state;
  furrow_matrix_source_params params;
  folder_of_bytes("plain", "ColIdValueTextRowFormat", 10, 9, 2, "3,1.5\n7,-2\n", 11);
  furrow_matrix_source *source = open_good("plain", NULL);
  assert_string_equal(furrow_matrix_source_folder(source), "plain");
  assert_string_equal(furrow_matrix_source_meta_name(source), "_meta");
  assert_string_equal(furrow_matrix_source_format(source)->name, "ColIdValueTextRowFormat");
  assert_int_equal(furrow_matrix_source_row_type(source)->number, 10);
  assert_string_equal(furrow_matrix_source_separator(source), ",");
  assert_int_equal(furrow_matrix_source_meta(source)->part_count, 1);
  furrow_matrix_source_close(source);
  furrow_matrix_source_close(NULL);
  assert_int_equal(rename("plain/_meta", "plain/meta"), 0);
  source = open_good("plain/", NULL);
  assert_string_equal(furrow_matrix_source_meta_name(source), "meta");
  furrow_matrix_source_close(source);
  furrow_matrix_source_params_init(&params);
  params.row_type = 0; /* another type than the metadata says */
  source = open_good("plain", &params);
  assert_int_equal(furrow_matrix_source_meta(source)->row_type, 0);
  assert_int_equal(furrow_matrix_source_row_type(source)->element, FURROW_ELEMENT_F64);
  furrow_matrix_source_close(source);
}

static void a_reader_step_by_step(void **state) {
  (void)state;
  static const char bytes[] = "0,5,1\n0,6,2\n2,5,3\n0,8,4\n";
  matrix_folder f;
  folder_begin(&f, "steps", "RowIdColIdValueTextRowFormat", 24, 3, 10);
  folder_add_part(&f, &(folder_part){.end_row = 3, .end_col = 10, .file = "0", .length = sizeof bytes - 1});
  folder_add_row(&f, 2, 1, 0);
  folder_add_row(&f, 0, 3, 0);
  folder_add_row(&f, 1, 0, 0);
  folder_write(&f, "0", bytes, sizeof bytes - 1);
  folder_end(&f);
  furrow_matrix_source *source = open_good("steps", NULL);
  furrow_partition_reader *reader = NULL;
  furrow_panel panel;
  assert_int_equal(furrow_partition_reader_open(&reader, source, 1, NULL), FURROW_E_ARGUMENT);
  assert_null(reader);
  assert_int_equal(furrow_partition_reader_open(&reader, source, 0, NULL), FURROW_OK);
  static const struct {
    int row;
    size_t cols;
    int64_t col;
    int value;
  } wanted[] = {{0, 2, 5, 1}, {2, 1, 5, 3}, {0, 1, 8, 4}};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(furrow_partition_reader_next(reader, &panel, NULL), FURROW_OK);
    assert_int_equal(panel.rows, 1);
    assert_int_equal(panel.row_ids[0], wanted[i].row);
    assert_int_equal(panel.cols, wanted[i].cols);
    assert_int_equal(furrow_panel_col(&panel, 0), wanted[i].col);
    assert_int_equal(panel.values.i32[0], wanted[i].value);
  }
  assert_int_equal(furrow_partition_reader_next(reader, &panel, NULL), FURROW_END);
  assert_int_equal(furrow_partition_reader_next(reader, &panel, NULL), FURROW_END);
  furrow_partition_reader_close(reader);
  furrow_partition_reader_close(NULL);
  furrow_matrix_source_close(source);
}

/* ---- Separators ----------------------------------------------------------------------------------------- */

static void separators_are_found(void **state) {
  (void)state;
  static const char *const separators[] = {",", "\t", " ", ";", "|", ":", "\x01", "::", ", ", "<>", " : ", "\xc2\xa7"};
  char folder[64];
  for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++)
    for (size_t k = 5; k < FORMATS; k++) {
      const matrix_sample s = {.format = names[k],
                               .row_type = 3,
                               .rows = 2,
                               .parts = 2,
                               .width = 9,
                               .separator = separators[i],
                               .seed = 7 * i + k};
      cell_table cells;
      furrow_matrix_source_params params;
      table_init(&cells, FURROW_ELEMENT_F64);
      snprintf(folder, sizeof folder, "sep-%zu-%zu", i, k);
      sample_write(&s, folder, &cells);
      table_sort(&cells);
      assert_reads(folder, NULL, &cells);
      furrow_matrix_source *source = open_good(folder, NULL);
      assert_string_equal(furrow_matrix_source_separator(source), separators[i]);
      furrow_matrix_source_close(source);
      furrow_matrix_source_params_init(&params);
      params.separator = separators[i];
      assert_reads(folder, &params, &cells);
      table_clear(&cells);
    }
}

static void separators_that_are_unclear(void **state) {
  (void)state;
  static const struct {
    const char *text, *separator;
  } cases[] = {{"5-1.5\n", "-"}, {"5--1.5\n", "--"}, {"5.1.5\n", "."},  {"5x1.5\n", "x"}, {"5x\n", NULL},
               {"x5,1\n", NULL}, {"5\n", NULL},      {"5 \n1\n", NULL}, {"\n", NULL}};
  char folder[16];
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    snprintf(folder, sizeof folder, "unclear-%zu", i);
    folder_of_bytes(folder, "ColIdValueTextRowFormat", 10, 9, 1, cases[i].text, strlen(cases[i].text));
    assert_refused(folder, NULL, FURROW_E_FORMAT, "the separator cannot be determined");
    params.separator = cases[i].separator;
    if (!cases[i].separator) continue;
    cell_table wanted;
    table_init(&wanted, FURROW_ELEMENT_F32);
    table_add_text(&wanted, 0, 5, "1.5");
    assert_reads(folder, &params, &wanted);
    table_clear(&wanted);
  }
  params.separator = "";
  assert_refused("unclear-0", &params, FURROW_E_ARGUMENT, "separator");
  /* a comma is believed: what is wrong is the value */
  folder_of_bytes("comma", "ColIdValueTextRowFormat", 10, 9, 1, "5,1x\n", 5);
  cell_table found;
  furrow_error err;
  table_init(&found, FURROW_ELEMENT_F32);
  assert_int_not_equal(read_all("comma", NULL, 1, &found, &err), FURROW_OK);
  assert_null(strstr(err.message, "separator"));
  table_clear(&found);
}

/* ---- The order of rows ---------------------------------------------------------------------------------- */

static void rows_in_order(const char *name, const char *text, const int (*rows)[2], size_t count, int save_type,
                          const char *format) {
  matrix_folder f;
  folder_begin(&f, name, format, 24, 3, 10);
  folder_add_part(&f, &(folder_part){.end_row = 20, .end_col = 10, .file = "0", .length = (long long)strlen(text)});
  for (size_t i = 0; i < count; i++) folder_add_row(&f, rows[i][0], rows[i][1], save_type);
  folder_write(&f, "0", text, strlen(text));
  folder_end(&f);
}

static void assert_row_of(const char *folder, furrow_matrix_row_order order, int32_t row, int64_t col, int value) {
  furrow_matrix_load_params params;
  param_parts parts;
  furrow_matrix *matrix = NULL;
  furrow_error err = {0};
  load_params_init(&params, &parts);
  parts.source.row_order = order;
  if (furrow_matrix_load(&matrix, folder, &params, &err) != FURROW_OK) fail_msg("%s: %s", folder, err.message);
  assert_int_equal(furrow_matrix_get(matrix, row, col), value);
  furrow_matrix_free(matrix);
}

static void the_order_of_rows(void **state) {
  (void)state;
  static const int listed[][2] = {{16, 2}, {3, 3}};
  const char *format = "ColIdValueTextRowFormat";
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  /* as it should be: row 3 first, with three elements */
  rows_in_order("good", "1,1\n2,2\n5,3\n0,4\n4,5\n", listed, 2, 0, format);
  assert_row_of("good", FURROW_MATRIX_ROW_ORDER_AUTO, 3, 5, 3);
  assert_row_of("good", FURROW_MATRIX_ROW_ORDER_ASCENDING, 16, 0, 4);
  /* row 16 first: only another order makes columns ascend */
  rows_in_order("other", "4,1\n5,2\n0,3\n1,4\n2,5\n", listed, 2, 0, format);
  assert_refused("other", NULL, FURROW_E_FORMAT, "ambiguous");
  assert_row_of("other", FURROW_MATRIX_ROW_ORDER_META, 16, 5, 2);
  assert_row_of("other", FURROW_MATRIX_ROW_ORDER_META, 3, 0, 3);
  assert_row_of("other", FURROW_MATRIX_ROW_ORDER_ASCENDING, 3, 0, 3);
  /* no order makes them ascend: they are not sorted, and rows follow by their id */
  rows_in_order("unsorted", "5,1\n2,2\n1,3\n4,4\n0,5\n", listed, 2, 0, format);
  assert_row_of("unsorted", FURROW_MATRIX_ROW_ORDER_AUTO, 3, 1, 3);
  assert_row_of("unsorted", FURROW_MATRIX_ROW_ORDER_AUTO, 16, 0, 5);
  /* one fall, where no row can begin */
  rows_in_order("odd", "9,1\n2,2\n3,3\n4,4\n5,5\n", listed, 2, 0, format);
  assert_row_of("odd", FURROW_MATRIX_ROW_ORDER_AUTO, 3, 9, 1);
  /* with row ids there is no question */
  rows_in_order("ids", "16,4,1\n16,5,2\n3,0,3\n3,1,4\n3,2,5\n", listed, 2, 0, "RowIdColIdValueTextRowFormat");
  assert_row_of("ids", FURROW_MATRIX_ROW_ORDER_AUTO, 16, 4, 1);
  params.row_order = 7;
  assert_refused("ids", &params, FURROW_E_ARGUMENT, "row_order");
}

/* Rows that were saved in the order of a list, which only the caller knows. */
static void rows_of_a_list(void **state) {
  (void)state;
  static const int listed[][2] = {{16, 2}, {3, 2}};
  static const int32_t order[] = {16, 7, 3}, half[] = {16}, twice[] = {16, 3, 16};
  furrow_matrix_load_params params;
  param_parts parts;
  furrow_matrix *matrix = NULL;
  furrow_error err = {0};
  rows_in_order("list", "4,1\n5,2\n0,3\n1,4\n", listed, 2, 0, "ColIdValueTextRowFormat"); /* counts do not tell */
  assert_row_of("list", FURROW_MATRIX_ROW_ORDER_AUTO, 3, 4, 1);
  load_params_init(&params, &parts);
  parts.source.row_order = FURROW_MATRIX_ROW_ORDER_LIST;
  assert_refused("list", &parts.source, FURROW_E_ARGUMENT, "rows are listed for the row order LIST");
  parts.source.rows = order;
  parts.source.row_count = 3;
  assert_int_equal(furrow_matrix_load(&matrix, "list", &params, &err), FURROW_OK);
  assert_true(furrow_matrix_get(matrix, 16, 4) == 1 && furrow_matrix_get(matrix, 16, 5) == 2);
  assert_true(furrow_matrix_get(matrix, 3, 0) == 3 && furrow_matrix_get(matrix, 3, 1) == 4);
  furrow_matrix_free(matrix);
  parts.source.rows = half;
  parts.source.row_count = 1;
  assert_refused("list", &parts.source, FURROW_E_ARGUMENT, "row 3 of partition 0 is missing in the row order");
  parts.source.rows = twice;
  parts.source.row_count = 3;
  assert_refused("list", &parts.source, FURROW_E_ARGUMENT, "row 16 of partition 0 is twice in the row order");
  parts.source.row_order = FURROW_MATRIX_ROW_ORDER_META;
  assert_refused("list", &parts.source, FURROW_E_ARGUMENT, "rows are listed for the row order LIST");
}

/* Many rows, of which the order can be told only by trying. */
static void many_rows_in_another_order(void **state) {
  (void)state;
  int rows[70][2];
  char text[4096] = "";
  for (int n = 5; n <= 70; n += 65) {
    size_t used = 0;
    char folder[16];
    for (int i = 0; i < n; i++) {
      rows[i][0] = i;
      rows[i][1] = 1 + i % 4;
    }
    for (int i = n - 1; i >= 0; i--) /* the last row first */
      for (int k = 0; k < rows[i][1]; k++) used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d\n", k, i);
    snprintf(folder, sizeof folder, "rows-%d", n);
    matrix_folder f;
    folder_begin(&f, folder, "ColIdValueTextRowFormat", 24, n, 10);
    folder_add_part(&f, &(folder_part){.end_row = n, .end_col = 10, .file = "0", .length = (long long)used});
    for (int i = 0; i < n; i++) folder_add_row(&f, rows[i][0], rows[i][1], 0);
    folder_write(&f, "0", text, used);
    folder_end(&f);
    assert_refused(folder, NULL, FURROW_E_FORMAT, "ambiguous");
  }
}

static void checkpoints_are_not_sorted(void **state) {
  (void)state;
  static const int rows[][2] = {{0, 1}, {1, 3}};
  static const unsigned char bytes[] = {0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 8,
                                        0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 6};
  matrix_folder f;
  folder_begin(&f, "snapshot", "SnapshotFormat", 24, 2, 10);
  folder_add_part(&f, &(folder_part){.end_row = 2, .end_col = 10, .file = "0", .length = sizeof bytes});
  for (size_t i = 0; i < 2; i++) folder_add_row(&f, rows[i][0], rows[i][1], 1);
  folder_write(&f, "0", bytes, sizeof bytes);
  folder_end(&f);
  assert_row_of("snapshot", FURROW_MATRIX_ROW_ORDER_AUTO, 1, 4, 6);
  assert_row_of("snapshot", FURROW_MATRIX_ROW_ORDER_AUTO, 0, 1, 7);
}

/* ---- Metadata that says too little ---------------------------------------------------------------------- */

static void put_i32(char **at, int32_t value) {
  fw_put_be32(*at, (uint32_t)value);
  *at += 4;
}

static void put_i64(char **at, int64_t value) {
  fw_put_be64(*at, (uint64_t)value);
  *at += 8;
}

/* psmeta of one partition: rows 5 (two elements) and 2 (one), saved in that order. */
static void psmeta_needs_format_and_type(void **state) {
  (void)state;
  char bytes[256], *at = bytes;
  put_i32(&at, 1);
  put_i32(&at, 1);
  for (int i = 0; i < 3; i++) put_i32(&at, i == 2 ? 6 : 0);
  for (int i = 0; i < 3; i++) put_i64(&at, i == 1 ? 10 : 0);
  for (int i = 0; i < 3; i++) put_i32(&at, 0);
  memcpy(at,
         "\0\1"
         "0",
         3);
  at += 3;
  put_i64(&at, 0);
  put_i64(&at, 12);
  put_i32(&at, 2);
  for (int i = 0; i < 2; i++) {
    put_i32(&at, i ? 2 : 5);
    put_i64(&at, 0);
    put_i32(&at, i ? 1 : 2);
    put_i32(&at, 0);
  }
  assert_int_equal(mkdir("ps", 0777), 0);
  assert_true(test_write_file("ps/psmeta", bytes, (size_t)(at - bytes)));
  assert_true(test_write_text("ps/0", "1,7\n3,8\n2,9\n"));
  furrow_matrix_load_params params;
  param_parts parts;
  load_params_init(&params, &parts);
  assert_refused("ps", NULL, FURROW_E_ARGUMENT, "format");
  parts.source.format = "ColIdValueText";
  assert_refused("ps", &parts.source, FURROW_E_ARGUMENT, "row type");
  parts.source.row_type = 24;
  furrow_matrix *matrix = NULL;
  assert_int_equal(furrow_matrix_load(&matrix, "ps", &params, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_get(matrix, 5, 3), 8); /* rows as they were saved */
  assert_int_equal(furrow_matrix_get(matrix, 2, 2), 9);
  furrow_matrix_free(matrix);
  parts.source.row_type = 30;
  assert_refused("ps", &parts.source, FURROW_E_UNSUPPORTED, "objects");
  parts.source.row_type = 99;
  assert_refused("ps", &parts.source, FURROW_E_ARGUMENT, "99 is not a row type");
  parts.source.format = "NoSuchFormat";
  assert_refused("ps", &parts.source, FURROW_E_NOT_FOUND, "no such format");
}

/* ---- Visiting ------------------------------------------------------------------------------------------- */

static furrow_status refuse(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  (void)panel;
  (void)err;
  return (int)part >= *(int *)user ? FURROW_E_STATE : FURROW_OK;
}

static void the_first_error_counts(void **state) {
  (void)state;
  matrix_folder f;
  char name[16];
  folder_begin(&f, "errors", "ColIdValueTextRowFormat", 24, 1, 400);
  for (int i = 0; i < 40; i++) {
    char text[16];
    const int bad = i == 7 || i == 8 || i == 30;
    snprintf(name, sizeof name, "%d", i);
    const int length = snprintf(text, sizeof text, bad ? "%d,x\n" : "%d,1\n", 10 * i);
    folder_add_part(
        &f, &(folder_part){
                .id = i, .end_row = 1, .start_col = 10 * i, .end_col = 10 * i + 10, .file = name, .length = length});
    folder_add_row(&f, 0, 1, 0);
    folder_write(&f, name, text, (size_t)length);
  }
  folder_end(&f);
  for (unsigned threads = 1; threads <= 8; threads++) {
    cell_table found;
    furrow_error err = {0};
    table_init(&found, FURROW_ELEMENT_I32);
    assert_int_not_equal(read_all("errors", NULL, threads, &found, &err), FURROW_OK);
    assert_string_equal(err.file, "errors/7");
    assert_non_null(strstr(err.message, "partition 7: "));
    table_clear(&found);
  }
  furrow_matrix_source *source = open_good("errors", NULL);
  int limit = 3;
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(NULL, 3, 0), refuse, &limit, NULL), FURROW_E_STATE);
  furrow_matrix_source_close(source);
}

static void selections(void **state) {
  (void)state;
  static const int32_t parts[] = {1, 9};
  cell_table cells, found;
  furrow_matrix_selection s;
  table_init(&cells, FURROW_ELEMENT_F32);
  table_init(&found, FURROW_ELEMENT_F32);
  sample_write(&(matrix_sample){.format = "ColIdValueText", .row_type = 10, .rows = 2, .parts = 3, .width = 5}, "sel",
               &cells);
  furrow_matrix_source *source = open_good("sel", NULL);
  furrow_matrix_selection_init(&s);
  s.part_ids = parts;
  s.part_count = 2;
  furrow_error err;
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(&s, 1, 0), table_visit, &found, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.message, "there is no partition 9");
  s.part_count = 1;
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(&s, 1, 0), table_visit, &found, &err), FURROW_OK);
  for (size_t i = 0; i < found.count; i++) assert_in_range(found.cells[i].col, 5, 9);
  assert_true(found.count > 0);
  found.count = 0;
  s.part_count = 0; /* none */
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(&s, 1, 0), table_visit, &found, &err), FURROW_OK);
  assert_int_equal(found.count, 0);
  furrow_matrix_source_close(source);
  table_clear(&found);
  table_clear(&cells);
}

static void files_that_change(void **state) {
  (void)state;
  cell_table found;
  furrow_error err = {0};
  folder_of_bytes("change", "ColIdValueTextRowFormat", 24, 9, 1, "5,1\n", 4);
  furrow_matrix_source *source = open_good("change", NULL);
  assert_int_equal(remove("change/0"), 0);
  table_init(&found, FURROW_ELEMENT_I32);
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(NULL, 1, 0), table_visit, &found, &err),
                   FURROW_E_NOT_FOUND);
  assert_true(test_write_text("change/0", "5,123\n"));
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(NULL, 1, 0), table_visit, &found, &err), FURROW_E_STALE);
  assert_string_equal(err.file, "change/0");
  assert_int_equal(found.count, 0);
  table_clear(&found);
  furrow_matrix_source_close(source);
}

/* An error that nobody wants to read; it stays the same when it is asked for again. */
static void readers_without_errors(void **state) {
  (void)state;
  furrow_partition_reader *reader = NULL;
  furrow_panel panel;
  furrow_error err = {0};
  folder_of_bytes("broken", "ColIdValueTextRowFormat", 24, 9, 2, "5,1\n6x,2\n", 10);
  furrow_matrix_source *source = open_good("broken", NULL);
  assert_int_equal(furrow_partition_reader_open(&reader, source, 1, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_partition_reader_open(&reader, source, 0, NULL), FURROW_OK);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) status = furrow_partition_reader_next(reader, &panel, NULL);
  assert_int_equal(status, FURROW_E_PARSE);
  assert_int_equal(furrow_partition_reader_next(reader, &panel, &err), FURROW_E_PARSE);
  assert_string_equal(err.file, "broken/0");
  assert_non_null(strstr(err.message, "partition 0: "));
  furrow_partition_reader_close(reader);
  reader = NULL;
  assert_int_equal(remove("broken/0"), 0);
  assert_int_equal(furrow_partition_reader_open(&reader, source, 0, NULL), FURROW_E_NOT_FOUND);
  assert_null(reader);
  furrow_matrix_source_close(source);
}

/* A row of a checkpoint that is saved in no known way: the error has no place of its own. */
static void checkpoints_saved_otherwise(void **state) {
  (void)state;
  matrix_folder f;
  furrow_error err = {0};
  cell_table found;
  folder_begin(&f, "snapshot", "SnapshotFormat", 24, 1, 3);
  folder_add_part(&f, &(folder_part){.end_row = 1, .end_col = 3, .file = "0", .length = 12});
  folder_add_row(&f, 0, 3, 2);
  folder_write(&f, "0", "\0\0\0\1\0\0\0\2\0\0\0\3", 12);
  folder_end(&f);
  table_init(&found, FURROW_ELEMENT_I32);
  assert_int_equal(read_all("snapshot", NULL, 1, &found, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "partition 0: saveType of row 0 is 2; a snapshot has 0 (dense) and 1 (sparse)");
  assert_int_equal(err.offset, 0);
  assert_int_equal(found.count, 0);
  table_clear(&found);
}

/* Lists of rows and parameters that do not belong together. */
static void orders_that_are_wrong(void **state) {
  (void)state;
  static const int32_t rows[] = {0};
  furrow_matrix_source_params params;
  furrow_matrix_source *source = NULL;
  furrow_error err = {0};
  folder_of_bytes("order", "ColIdValueTextRowFormat", 24, 9, 1, "5,1\n", 4);
  furrow_matrix_source_params_init(&params);
  params.row_order = FURROW_MATRIX_ROW_ORDER_LIST;
  params.row_count = 1;
  assert_int_equal(furrow_matrix_source_open(&source, "order", &params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "rows are listed for the row order LIST, and only for it");
  params.rows = rows;
  assert_int_equal(furrow_matrix_source_open(&source, "order/", &params, &err), FURROW_OK); /* the same folder */
  furrow_matrix_source_close(source);
  source = NULL;
  params.row_order = (furrow_matrix_row_order)9;
  assert_int_equal(furrow_matrix_source_open(&source, "order", &params, &err), FURROW_E_ARGUMENT);
  assert_null(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_format_and_type, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(long_partitions, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(what_a_source_tells, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(a_reader_step_by_step, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(separators_are_found, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(separators_that_are_unclear, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(the_order_of_rows, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(rows_of_a_list, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(many_rows_in_another_order, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(checkpoints_are_not_sorted, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(psmeta_needs_format_and_type, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(the_first_error_counts, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(selections, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(files_that_change, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(readers_without_errors, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(checkpoints_saved_otherwise, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(orders_that_are_wrong, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
