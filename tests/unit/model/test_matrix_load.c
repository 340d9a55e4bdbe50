/* tests/unit/model/test_matrix_load.c: matrices in memory: made from panels, loaded whole and in part, looked up;
 * stripes. */
#include "furrow/model.h"
#include "model/read/load.h"
#include "model/read/source.h"
#include "support/matrix_sample.h"
#include "support/model_params.h"
#include "support/own_dir.h"

static furrow_matrix_source *open_good(const char *folder) {
  furrow_matrix_source *source = NULL;
  furrow_error err = {0};
  if (furrow_matrix_source_open(&source, folder, NULL, &err) != FURROW_OK)
    fail_msg("%s: %s: %s", folder, err.file, err.message);
  return source;
}

static furrow_matrix *load_good(const furrow_matrix_source *source, const furrow_matrix_load_params *params) {
  furrow_matrix *matrix = NULL;
  furrow_error err = {0};
  if (furrow_matrix_load_source(&matrix, source, params, &err) != FURROW_OK)
    fail_msg("%s byte %llu: %s", err.file, (unsigned long long)err.offset, err.message);
  return matrix;
}

/* ---- Every way to look must show the same cells ---------------------------------------------------------- */

static void check_panels(const char *name, const furrow_matrix *matrix, const cell_table *wanted) {
  cell_table found;
  table_init(&found, wanted->type);
  for (size_t i = 0; i < furrow_matrix_panel_count(matrix); i++) {
    const furrow_panel *panel = furrow_matrix_panel(matrix, i);
    for (size_t c = 1; c < panel->cols; c++) assert_true(furrow_panel_col(panel, c) > furrow_panel_col(panel, c - 1));
    if (i > 0) assert_true(panel->row_ids[0] > furrow_matrix_panel(matrix, i - 1)->row_ids[0]);
    table_add_panel(&found, panel);
  }
  assert_int_equal(furrow_matrix_count(matrix), found.count);
  table_sort(&found);
  assert_same_tables(name, &found, wanted);
  table_clear(&found);
}

static void check_rows(const furrow_matrix *matrix, const cell_table *wanted) {
  size_t at = 0;
  for (size_t i = 0; i < furrow_matrix_row_count(matrix); i++) {
    const int32_t row = furrow_matrix_row_ids(matrix)[i];
    furrow_matrix_row_view view;
    if (i > 0) assert_true(row > furrow_matrix_row_ids(matrix)[i - 1]);
    assert_true(furrow_matrix_row(matrix, row, &view));
    for (size_t k = 0; k < view.count; k++, at++) {
      const cell *c = &wanted->cells[at];
      uint64_t aligned = 0;
      const size_t size = furrow_element_size(view.type);
      memcpy(&aligned, (const char *)view.values.any + k * view.stride * size, size);
      assert_true(c->row == row && c->col == furrow_matrix_row_view_col(&view, k));
      assert_true(c->bits == table_bits(view.type, &aligned));
    }
  }
  assert_int_equal(at, wanted->count);
}

static void check_points(const furrow_matrix *matrix, const cell_table *wanted, int64_t cols) {
  const size_t rows = furrow_matrix_row_count(matrix);
  int32_t *ids = malloc((rows + 1) * sizeof *ids);
  int64_t *elements = malloc((rows + 1) * sizeof *elements), element[1];
  uint64_t found = 0;
  for (size_t i = 0; i < wanted->count; i++) {
    const cell *c = &wanted->cells[i];
    assert_true(furrow_matrix_element(matrix, c->row, c->col, element));
    assert_true(table_bits(wanted->type, element) == c->bits);
    assert_true(furrow_matrix_get(matrix, c->row, c->col) ==
                furrow_elements_get((furrow_elements){.any = element}, wanted->type, 0));
  }
  for (int64_t col = -2; col < cols + 2; col++) {
    const size_t n = furrow_matrix_column(matrix, col, ids, elements);
    for (size_t i = 0; i < n; i++) {
      if (i > 0) assert_true(ids[i] > ids[i - 1]);
      assert_true(furrow_matrix_element(matrix, ids[i], col, element));
      assert_memory_equal(element, (char *)elements + i * furrow_element_size(wanted->type),
                          furrow_element_size(wanted->type));
    }
    assert_int_equal(n, furrow_matrix_column(matrix, col, NULL, elements));
    found += n;
  }
  assert_int_equal(found, wanted->count);
  free(ids);
  free(elements);
}

static void check_ranges(const furrow_matrix *matrix, int64_t cols) {
  furrow_matrix_row_view row;
  if (furrow_matrix_row_count(matrix) == 0) return;
  assert_true(furrow_matrix_row(matrix, furrow_matrix_row_ids(matrix)[0], &row));
  for (int64_t first = -1; first < cols + 1; first++)
    for (int64_t end = first - 1; end < cols + 2; end++) {
      const furrow_matrix_row_view range = furrow_matrix_row_view_range(&row, first, end);
      size_t n = 0;
      for (size_t i = 0; i < row.count; i++) {
        const int64_t col = furrow_matrix_row_view_col(&row, i);
        if (col < first || col >= end) continue;
        assert_true(n < range.count && furrow_matrix_row_view_col(&range, n) == col);
        assert_true(furrow_matrix_row_view_get(&range, n) == furrow_matrix_row_view_get(&row, i));
        n++;
      }
      assert_int_equal(n, range.count);
    }
}

static void check_matrix(const char *name, const furrow_matrix *matrix, const cell_table *wanted, int64_t cols) {
  furrow_matrix_row_view none;
  int64_t element[1] = {77};
  check_panels(name, matrix, wanted);
  check_rows(matrix, wanted);
  check_points(matrix, wanted, cols);
  check_ranges(matrix, cols < 40 ? cols : 40);
  assert_false(furrow_matrix_row(matrix, -5, &none));
  assert_int_equal(none.count, 0);
  assert_false(furrow_matrix_row(matrix, INT32_MAX, &none));
  assert_false(furrow_matrix_element(matrix, INT32_MIN, 0, element));
  assert_int_equal(element[0], 77);
  assert_true(furrow_matrix_get(matrix, INT32_MAX, 0) == 0);
}

/* ---- From panels ---------------------------------------------------------------------------------------- */

static void made_from_panels(void **state) {
  (void)state;
  static const int32_t block[] = {2, 5}, single[] = {3}, empty[] = {9};
  static const int64_t cols[] = {8, 1, 8, 3};
  static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, more[] = {9, 10};
  const furrow_panel panels[] = {
      {.rows = 1, .row_ids = empty, .type = FURROW_ELEMENT_F32},
      {.rows = 1, .row_ids = single, .cols = 2, .first_col = 4, .type = FURROW_ELEMENT_F32, .values = {.f32 = more}},
      {.rows = 2, .row_ids = block, .cols = 4, .col_ids = cols, .type = FURROW_ELEMENT_F32, .values = {.f32 = values}},
  };
  cell_table wanted;
  table_init(&wanted, FURROW_ELEMENT_F32);
  for (size_t i = 0; i < 3; i++) table_add_panel(&wanted, &panels[i]);
  table_sort(&wanted);
  furrow_matrix *matrix = NULL;
  assert_int_equal(furrow_matrix_create(&matrix, panels, 3, NULL), FURROW_OK);
  check_matrix("panels", matrix, &wanted, 10);
  assert_int_equal(furrow_matrix_type(matrix), FURROW_ELEMENT_F32);
  assert_int_equal(furrow_matrix_row_count(matrix), 4);
  assert_true(furrow_matrix_get(matrix, 2, 8) == 5); /* the later one */
  assert_null(furrow_matrix_panel(matrix, 1)->col_ids);
  furrow_matrix_free(matrix);
  furrow_matrix_free(NULL);
  table_clear(&wanted);
  assert_int_equal(furrow_matrix_create(&matrix, NULL, 0, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_count(matrix), 0);
  furrow_matrix_free(matrix);
}

static void panels_that_are_refused(void **state) {
  (void)state;
  static const int32_t up[] = {1, 2}, down[] = {2, 1};
  static const double values[] = {1, 2};
  furrow_error err;
  furrow_matrix *matrix = NULL;
  furrow_panel p[2] = {{.rows = 2, .row_ids = up, .cols = 1, .values = {.f64 = values}}};
  p[1] = p[0];
  assert_int_equal(furrow_matrix_create(&matrix, p, 2, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "row 1 occurs twice");
  p[1].type = FURROW_ELEMENT_I64;
  assert_int_equal(furrow_matrix_create(&matrix, p, 2, &err), FURROW_E_ARGUMENT);
  p[0].row_ids = down;
  assert_int_equal(furrow_matrix_create(&matrix, p, 1, &err), FURROW_E_ARGUMENT);
  p[0] = (furrow_panel){.rows = 1, .row_ids = up, .cols = 2, .first_col = INT64_MAX, .values = {.f64 = values}};
  assert_int_equal(furrow_matrix_create(&matrix, p, 1, &err), FURROW_E_ARGUMENT);
  assert_null(matrix);
}

static void count_release(void *user) {
  ++*(int *)user;
}

/* The bytes of a matrix that is saved to a folder: its first data file. */
static size_t save_bytes(const furrow_matrix *matrix, const char *format, const char *folder, char *bytes,
                         size_t capacity) {
  furrow_matrix_spec spec;
  furrow_matrix_meta *plan = NULL;
  furrow_error err = {0};
  furrow_matrix_spec_init(&spec);
  spec.name = "m";
  spec.format = format;
  spec.row_type = 10; /* T_FLOAT_SPARSE */
  spec.rows = 10;
  spec.cols = 20;
  spec.saved_rows = furrow_matrix_row_ids(matrix);
  spec.saved_row_count = furrow_matrix_row_count(matrix);
  assert_int_equal(furrow_matrix_plan(&plan, &spec, &err), FURROW_OK);
  if (furrow_matrix_save(matrix, folder, plan, NULL, &err) != FURROW_OK) fail_msg("%s: %s", format, err.message);
  furrow_matrix_meta_free(plan);
  char path[64];
  snprintf(path, sizeof path, "%s/0", folder);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, capacity, file);
  fclose(file);
  return size;
}

/* Arrays of the caller are looked up and saved without a copy, with the same result as a copy of them. */
static void borrowed_panels(void **state) {
  (void)state;
  static const int32_t block[] = {2, 5}, single[] = {3}, empty[] = {9};
  static const int64_t cols[] = {1, 3, 8, 9}, counted[] = {4, 5};
  static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, more[] = {9, 10};
  furrow_panel panels[] = {
      {.rows = 1, .row_ids = empty, .type = FURROW_ELEMENT_F32},
      {.rows = 1, .row_ids = single, .cols = 2, .col_ids = counted, .type = FURROW_ELEMENT_F32},
      {.rows = 2, .row_ids = block, .cols = 4, .col_ids = cols, .type = FURROW_ELEMENT_F32},
  };
  panels[1].values.f32 = more;
  panels[2].values.f32 = values;
  furrow_matrix *borrowed = NULL, *copied = NULL;
  int released = 0;
  cell_table wanted;
  table_init(&wanted, FURROW_ELEMENT_F32);
  for (size_t i = 0; i < 3; i++) table_add_panel(&wanted, &panels[i]);
  table_sort(&wanted);
  assert_int_equal(furrow_matrix_borrow(&borrowed, panels, 3, count_release, &released, NULL), FURROW_OK);
  assert_int_equal(furrow_matrix_create(&copied, panels, 3, NULL), FURROW_OK);
  memset(panels, 0xff, sizeof panels); /* only their arrays are borrowed */
  check_matrix("borrowed", borrowed, &wanted, 10);
  assert_ptr_equal(furrow_matrix_panel(borrowed, 0)->values.any, values);
  assert_ptr_equal(furrow_matrix_panel(borrowed, 0)->col_ids, cols);
  assert_ptr_equal(furrow_matrix_panel(borrowed, 1)->row_ids, single);
  static const char *const formats[] = {"ColIdValueText", "RowIdColIdValueBinary", "ColIdValueBinary"};
  for (size_t i = 0; i < 3; i++) {
    char a[1024], b[1024], folder[2][16];
    snprintf(folder[0], sizeof folder[0], "borrowed%zu", i);
    snprintf(folder[1], sizeof folder[1], "copied%zu", i);
    const size_t size = save_bytes(borrowed, formats[i], folder[0], a, sizeof a);
    assert_true(size > 0);
    assert_int_equal(save_bytes(copied, formats[i], folder[1], b, sizeof b), size);
    assert_memory_equal(a, b, size);
  }
  assert_int_equal(released, 0);
  furrow_matrix_free(borrowed);
  assert_int_equal(released, 1);
  furrow_matrix_free(copied);
  table_clear(&wanted);
}

/* What was not taken is not released. */
static void borrowing_refused(void **state) {
  (void)state;
  static const int32_t rows[] = {1, 2};
  static const int64_t falling[] = {5, 4}, twice[] = {5, 5};
  static const double values[] = {1, 2, 3, 4, 5};
  const furrow_panel good = {.rows = 2, .row_ids = rows, .cols = 2, .type = FURROW_ELEMENT_F64, .values = {values}};
  furrow_panel bad[7];
  furrow_error err;
  furrow_matrix *matrix = NULL;
  int released = 0;
  for (size_t i = 0; i < 7; i++) bad[i] = good;
  bad[0].col_ids = falling;
  bad[1].col_ids = twice;
  bad[2].values.any = (const char *)values + 4;
  bad[3].first_col = INT64_MAX;
  bad[4].type = (furrow_element_type)99;
  bad[5].values.any = NULL;
  bad[6].row_ids = NULL;
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(furrow_matrix_borrow(&matrix, &bad[i], 1, count_release, &released, &err), FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "panel 0"));
  }
  bad[0] = bad[1] = good;
  assert_int_equal(furrow_matrix_borrow(&matrix, bad, 2, count_release, &released, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "row 1 occurs twice");
  assert_null(matrix);
  assert_int_equal(released, 0);
  assert_int_equal(furrow_matrix_borrow(&matrix, NULL, 0, NULL, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_matrix_count(matrix), 0);
  furrow_matrix_free(matrix);
}

/* Stretches of all kinds, against what a plain list makes of them. */
static void sorting(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  for (int round = 0; round < 60; round++) {
    const size_t n = 1 + (size_t)fw_rng_below(&rng, round % 3 ? 3000 : 70), rows = 1 + (size_t)fw_rng_below(&rng, 3);
    static const int32_t ids[] = {0, 1, 2};
    const uint64_t stretch = 1 + fw_rng_below(&rng, 500), spread = round % 2 ? 4 * n : n / 2 + 1;
    const furrow_element_type type = round % 4 < 2 ? FURROW_ELEMENT_F32 : FURROW_ELEMENT_I64;
    int64_t *cols = malloc(n * sizeof *cols);
    char *values = malloc(n * rows * 8);
    for (size_t i = 0; i < n; i++)
      cols[i] = i % stretch && i > 0 ? cols[i - 1] + (int64_t)fw_rng_below(&rng, 3)
                                     : (int64_t)fw_rng_below(&rng, spread) - 20;
    for (size_t i = 0; i < n * rows; i++) {
      const uint64_t bits = sample_value(&rng, type);
      memcpy(values + i * furrow_element_size(type), &bits, furrow_element_size(type));
    }
    const furrow_panel panel = {
        .rows = rows, .row_ids = ids, .cols = n, .col_ids = cols, .type = type, .values = {.any = values}};
    cell_table wanted;
    furrow_matrix *matrix = NULL;
    table_init(&wanted, type);
    table_add_panel(&wanted, &panel);
    table_sort(&wanted);
    assert_int_equal(furrow_matrix_create(&matrix, &panel, 1, NULL), FURROW_OK);
    check_panels("sorting", matrix, &wanted);
    furrow_matrix_free(matrix);
    table_clear(&wanted);
    free(cols);
    free(values);
  }
}

/* ---- Loading -------------------------------------------------------------------------------------------- */

static const matrix_sample samples[] = {
    {.format = "ValueBinary", .row_type = 7, .rows = 3, .parts = 3, .width = 17},
    {.format = "ValueText", .row_type = 10, .rows = 3, .parts = 3, .width = 17},
    {.format = "ColIdValueBinary", .row_type = 0, .rows = 4, .row_step = 5, .blocks = 2, .parts = 3, .width = 17},
    {.format = "ColIdValueText", .row_type = 12, .rows = 3, .parts = 4, .width = 29},
    {.format = "ColIdValueText", .row_type = 10, .rows = 5, .parts = 4, .width = 29, .hash = true},
    {.format = "RowIdColIdValueText",
     .row_type = 26,
     .rows = 6,
     .blocks = 3,
     .parts = 2,
     .width = 40,
     .shuffled = true},
    {.format = "RowIdColIdValueBinary",
     .row_type = 19,
     .rows = 3,
     .parts = 5,
     .width = 9,
     .hash = true,
     .shuffled = true},
    {.format = "BinaryColumn", .row_type = 7, .rows = 8, .parts = 3, .width = 12},
    {.format = "BinaryColumn", .row_type = 5, .rows = 6, .row_step = 2, .blocks = 2, .parts = 3, .width = 12},
    {.format = "TextColumn", .row_type = 10, .rows = 4, .parts = 5, .width = 12, .hash = true},
    {.format = "TextColumn", .row_type = 17, .rows = 40, .parts = 2, .width = 30, .shuffled = true},
    {.format = "TextColumn", .row_type = 21, .rows = 1, .parts = 3, .width = 7},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static furrow_matrix_source *make_sample(size_t i, cell_table *cells) {
  char folder[32];
  snprintf(folder, sizeof folder, "sample-%zu", i);
  table_init(cells, furrow_matrix_row_type_get(samples[i].row_type)->element);
  sample_write(&samples[i], folder, cells);
  table_sort(cells);
  return open_good(folder);
}

static int64_t all_cols(const matrix_sample *s) {
  return (int64_t)s->width * s->parts;
}

static void loaded_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++) {
    cell_table cells;
    furrow_matrix_load_params params;
    furrow_matrix_source *source = make_sample(i, &cells);
    furrow_matrix_load_params_init(&params);
    for (params.threads = 1; params.threads <= 4; params.threads++) {
      furrow_matrix *matrix = load_good(source, &params);
      check_matrix(samples[i].format, matrix, &cells, all_cols(&samples[i]));
      const bool by_column = furrow_matrix_source_format(source)->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
      const size_t blocks = samples[i].blocks ? (size_t)samples[i].blocks : 1;
      assert_int_equal(furrow_matrix_panel_count(matrix), by_column ? blocks : (size_t)samples[i].rows);
      if (furrow_matrix_source_row_type(source)->dense) assert_null(furrow_matrix_panel(matrix, 0)->col_ids);
      furrow_matrix_free(matrix);
    }
    furrow_matrix_source_close(source);
    table_clear(&cells);
  }
}

static void choose_cells(cell_table *chosen, const cell_table *all, const furrow_matrix_selection *s,
                         const fw_column_filter *filter) {
  table_init(chosen, all->type);
  for (size_t i = 0; i < all->count; i++) {
    const cell *c = &all->cells[i];
    bool good = !s->rows;
    for (size_t k = 0; k < s->row_count; k++) good |= s->rows[k] == c->row;
    if (!good || c->col < s->first_col || c->col >= s->end_col) continue;
    if (!filter || filter->keep(filter->context, c->col)) table_add(chosen, c->row, c->col, c->bits);
  }
}

static bool keep_some(const void *context, int64_t col) {
  return col % *(const int64_t *)context != 1;
}

static void loaded_in_part(void **state) {
  (void)state;
  static const int32_t rows[] = {5, 0, 1, 1000};
  const int64_t divisor = 3;
  const fw_column_filter filter = {keep_some, &divisor};
  for (size_t i = 0; i < SAMPLES; i++) {
    cell_table cells, wanted;
    furrow_matrix_load_params params;
    param_parts parts;
    furrow_matrix_source *source = make_sample(i, &cells);
    load_params_init(&params, &parts);
    for (int round = 0; round < 12; round++) {
      furrow_matrix_selection *s = &parts.selection;
      furrow_matrix_selection_init(s);
      params.threads = 1 + (unsigned)round % 3;
      if (round % 2) s->rows = rows;
      if (round % 2) s->row_count = 4;
      if (round % 3) s->first_col = 3 * round;
      if (round % 4) s->end_col = 60 - 4 * round;
      const fw_column_filter *f = round % 5 == 4 ? &filter : NULL;
      furrow_matrix *matrix = NULL;
      assert_int_equal(fw_matrix_load_filtered(&matrix, source, &params, f, NULL, NULL), FURROW_OK);
      choose_cells(&wanted, &cells, s, f);
      check_matrix(samples[i].format, matrix, &wanted, all_cols(&samples[i]));
      furrow_matrix_free(matrix);
      table_clear(&wanted);
    }
    furrow_matrix_source_close(source);
    table_clear(&cells);
  }
}

static void memory_is_limited(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++) {
    cell_table cells;
    furrow_error err;
    furrow_matrix *matrix = NULL;
    furrow_matrix_load_params params;
    furrow_matrix_source *source = make_sample(i, &cells);
    furrow_matrix_load_params_init(&params);
    const size_t bytes = furrow_matrix_load_size(source, NULL);
    assert_true(bytes >= cells.count * furrow_element_size(cells.type));
    params.memory = bytes - 1;
    assert_int_equal(furrow_matrix_load_source(&matrix, source, &params, &err), FURROW_E_MEMORY);
    assert_non_null(strstr(err.message, "bytes"));
    assert_null(matrix);
    params.memory = bytes;
    if (!samples[i].shuffled || samples[i].hash) { /* unsorted range partitions need more than metadata tells */
      assert_int_equal(furrow_matrix_load_source(&matrix, source, &params, &err), FURROW_OK);
      furrow_matrix_free(matrix);
    }
    furrow_matrix_source_close(source);
    table_clear(&cells);
  }
}

/* So many that threads share the sorting. */
static void sorted_by_threads(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    const matrix_sample s = {.format = "ColIdValueBinary",
                             .row_type = i ? 26 : 5,
                             .rows = 1,
                             .parts = 5,
                             .width = 110000,
                             .hash = true,
                             .shuffled = i};
    char folder[16];
    cell_table cells, found;
    furrow_matrix_load_params params;
    table_init(&cells, i ? FURROW_ELEMENT_I32 : FURROW_ELEMENT_F64);
    snprintf(folder, sizeof folder, "threads-%d", i);
    sample_write(&s, folder, &cells);
    table_sort(&cells);
    furrow_matrix_source *source = open_good(folder);
    furrow_matrix_load_params_init(&params);
    for (params.threads = 1; params.threads <= 3; params.threads += 2) {
      furrow_matrix *matrix = load_good(source, &params);
      table_init(&found, cells.type);
      table_add_panel(&found, furrow_matrix_panel(matrix, 0));
      assert_same_tables(folder, &found, &cells);
      table_clear(&found);
      furrow_matrix_free(matrix);
    }
    furrow_matrix_source_close(source);
    table_clear(&cells);
  }
}

/* Column partitions whose rows overlap only in part: a panel for each row. */
static void rows_that_overlap_in_part(void **state) {
  (void)state;
  matrix_folder f;
  folder_begin(&f, "overlap", "TextColumnFormat", 24, 3, 20);
  static const char first[] = "3,30,31\n1,10,11\n", second[] = "12,121,122\n", third[] = "5,50,51\n";
  folder_add_part(&f, &(folder_part){.id = 0,
                                     .end_row = 3,
                                     .end_col = 10,
                                     .save_col_num = 2,
                                     .save_col_elem_num = 2,
                                     .file = "0",
                                     .length = sizeof first - 1});
  folder_add_row(&f, 0, 2, 0);
  folder_add_row(&f, 1, 2, 0);
  folder_add_part(&f, &(folder_part){.id = 1,
                                     .end_row = 3,
                                     .start_col = 10,
                                     .end_col = 20,
                                     .save_col_num = 1,
                                     .save_col_elem_num = 2,
                                     .file = "1",
                                     .length = sizeof second - 1});
  folder_add_row(&f, 1, 1, 0);
  folder_add_row(&f, 2, 1, 0);
  folder_add_part(&f, &(folder_part){.id = 2,
                                     .end_row = 3,
                                     .end_col = 10,
                                     .save_col_num = 1,
                                     .save_col_elem_num = 2,
                                     .file = "2",
                                     .length = sizeof third - 1});
  folder_add_row(&f, 0, 1, 0);
  folder_add_row(&f, 1, 1, 0);
  folder_write(&f, "0", first, sizeof first - 1);
  folder_write(&f, "1", second, sizeof second - 1);
  folder_write(&f, "2", third, sizeof third - 1);
  folder_end(&f);
  cell_table wanted;
  table_init(&wanted, FURROW_ELEMENT_I32);
  static const int cells[][3] = {{0, 1, 10}, {0, 3, 30}, {0, 5, 50},   {1, 1, 11},
                                 {1, 3, 31}, {1, 5, 51}, {1, 12, 121}, {2, 12, 122}};
  for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
    table_add(&wanted, cells[i][0], cells[i][1], (uint64_t)cells[i][2]);
  furrow_matrix_source *source = open_good("overlap");
  furrow_matrix *matrix = load_good(source, NULL);
  assert_int_equal(furrow_matrix_panel_count(matrix), 3);
  check_matrix("overlap", matrix, &wanted, 20);
  furrow_matrix_free(matrix);
  furrow_matrix_source_close(source);
  table_clear(&wanted);
}

/* A dense row type whose file has not every column, or one twice; elements stored twice in two partitions. */
static void dense_rows_with_holes(void **state) {
  (void)state;
  static const char *const texts[] = {"0,5\n1,6\n2,7\n3,8\n", "0,5\n2,7\n3,8\n", "0,5\n1,6\n1,7\n3,8\n",
                                      "3,5\n2,6\n1,7\n0,8\n"};
  static const int sums[] = {13, 7, 7, 13}; /* of columns 1 and 2 */
  for (size_t i = 0; i < 4; i++) {
    char folder[16];
    snprintf(folder, sizeof folder, "holes-%zu", i);
    folder_of_bytes(folder, "ColIdValueTextRowFormat", 21, 4, (int)strlen(texts[i]) / 4, texts[i], strlen(texts[i]));
    furrow_matrix_source *source = open_good(folder);
    furrow_matrix_load_params params;
    param_parts parts;
    load_params_init(&params, &parts);
    for (int cut = 0; cut < 2; cut++) {
      furrow_matrix *matrix = load_good(source, &params);
      assert_int_equal(furrow_matrix_get(matrix, 0, 1) + furrow_matrix_get(matrix, 0, 2), sums[i]);
      furrow_matrix_free(matrix);
      parts.selection.first_col = 1;
      parts.selection.end_col = 3;
    }
    furrow_matrix_source_close(source);
  }
}

/* Partitions that share their bytes are read one after the other, but not loaded together. */
static void bytes_that_are_shared(void **state) {
  (void)state;
  matrix_folder f;
  folder_begin(&f, "shared", "ColIdValueTextRowFormat", 24, 2, 10);
  for (int i = 0; i < 2; i++) {
    folder_add_part(&f, &(folder_part){.id = i, .end_row = 2, .end_col = 10, .file = "0", .length = 4});
    folder_add_row(&f, i, 1, 0);
  }
  folder_write(&f, "0", "5,1\n", 4);
  folder_end(&f);
  furrow_matrix_source *source = open_good("shared");
  furrow_matrix *matrix = NULL;
  furrow_error err;
  cell_table found;
  table_init(&found, FURROW_ELEMENT_I32);
  assert_int_equal(furrow_matrix_for_each_panel(source, SCAN(NULL, 1, 0), table_visit, &found, NULL), FURROW_OK);
  assert_int_equal(found.count, 2);
  table_clear(&found);
  assert_int_equal(furrow_matrix_load_source(&matrix, source, NULL, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "partitions overlap: together they have 8 bytes, but the file has 4");
  assert_string_equal(err.file, "shared/0");
  furrow_matrix_source_close(source);
}

/* ---- Stripes -------------------------------------------------------------------------------------------- */

typedef furrow_status (*slice_maker)(fw_memory_slices **, const furrow_matrix_source *, const furrow_matrix_selection *,
                                     size_t, furrow_error *);

/* The stripes, loaded one after the other, have every element once; by_rows: in order. */
static size_t check_slices(const char *name, const furrow_matrix_source *source,
                           const furrow_matrix_selection *selection, slice_maker make, bool by_rows, size_t bytes,
                           const cell_table *wanted) {
  fw_memory_slices *slices = NULL;
  cell_table found;
  table_init(&found, wanted->type);
  assert_int_equal(make(&slices, source, selection, bytes, NULL), FURROW_OK);
  assert_true(slices->count > 0);
  for (size_t i = 0; i < slices->count; i++) {
    furrow_matrix_load_params params;
    furrow_matrix_load_params_init(&params);
    params.selection = &slices->selections[i];
    furrow_matrix *matrix = load_good(source, &params);
    const size_t before = found.count;
    for (size_t p = 0; p < furrow_matrix_panel_count(matrix); p++)
      table_add_panel(&found, furrow_matrix_panel(matrix, p));
    if (!by_rows && i > 0) assert_true(params.selection->first_col >= slices->selections[i - 1].end_col);
    for (size_t k = before; by_rows && before > 0 && k < found.count; k++)
      assert_true(found.cells[k].row >= found.cells[before - 1].row);
    furrow_matrix_free(matrix);
  }
  const size_t count = found.count, slice_count = slices->count;
  table_sort(&found);
  assert_int_equal(found.count, count);
  assert_same_tables(name, &found, wanted);
  table_clear(&found);
  fw_memory_slices_free(slices);
  return slice_count;
}

static void slices_cover_everything(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 600, 3000, 20000, SIZE_MAX};
  static const int32_t rows[] = {0, 2, 5, 10};
  furrow_matrix_selection some;
  furrow_matrix_selection_init(&some);
  some.rows = rows;
  some.row_count = 4;
  some.first_col = 5;
  some.end_col = 50;
  for (size_t i = 0; i < SAMPLES; i++) {
    cell_table cells, chosen;
    furrow_matrix_source *source = make_sample(i, &cells);
    choose_cells(&chosen, &cells, &some, NULL);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
      const size_t n = check_slices("columns", source, NULL, fw_memory_slices_by_columns, false, sizes[k], &cells);
      const size_t m = check_slices("rows", source, NULL, fw_memory_slices_by_rows, true, sizes[k], &cells);
      assert_true(k > 0 || (n > 1 && m > 1));
      assert_true(k < 4 || (n == 1 && m == 1));
      check_slices("columns", source, &some, fw_memory_slices_by_columns, false, sizes[k], &chosen);
      check_slices("rows", source, &some, fw_memory_slices_by_rows, true, sizes[k], &chosen);
    }
    furrow_matrix_source_close(source);
    table_clear(&cells);
    table_clear(&chosen);
  }
  fw_memory_slices_free(NULL);
}

/* A large matrix in stripes of a tenth of it: about as many as it should be, none much too large. */
static void slices_fit_memory(void **state) {
  (void)state;
  static const matrix_sample large[] = {
      {.format = "ColIdValueBinary", .row_type = 10, .rows = 1, .parts = 2, .width = 60000},
      {.format = "ColIdValueBinary", .row_type = 12, .rows = 1, .parts = 4, .width = 30000, .hash = true},
      {.format = "BinaryColumn", .row_type = 7, .rows = 8, .parts = 20, .width = 1000},
      {.format = "ValueBinary", .row_type = 7, .rows = 4, .parts = 1, .width = 40000}};
  for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
    char folder[16];
    cell_table cells;
    fw_memory_slices *slices = NULL;
    table_init(&cells, FURROW_ELEMENT_F32);
    snprintf(folder, sizeof folder, "large-%zu", i);
    sample_write(&large[i], folder, &cells);
    table_clear(&cells);
    furrow_matrix_source *source = open_good(folder);
    const size_t bytes = furrow_matrix_load_size(source, NULL) / 10;
    assert_int_equal(fw_memory_slices_by_columns(&slices, source, NULL, bytes, NULL), FURROW_OK);
    assert_in_range(slices->count, 9, 20);
    for (size_t k = 0; k < slices->count; k++) {
      furrow_matrix_load_params params;
      furrow_matrix_load_params_init(&params);
      params.selection = &slices->selections[k];
      furrow_matrix *matrix = load_good(source, &params);
      assert_true(furrow_matrix_count(matrix) * furrow_element_size(furrow_matrix_type(matrix)) <= bytes);
      furrow_matrix_free(matrix);
    }
    fw_memory_slices_free(slices);
    furrow_matrix_source_close(source);
  }
}

static furrow_status stop_at_row(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  (void)err;
  assert_true(part == SIZE_MAX);
  assert_int_equal(panel->rows, 1);
  return panel->row_ids[0] == *(int32_t *)user ? FURROW_END : FURROW_OK;
}

static void sorted_panels(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++) {
    cell_table cells;
    furrow_matrix_source *source = make_sample(i, &cells);
    for (size_t memory = 0; memory < 40000; memory = memory * 5 + 700) {
      cell_table found;
      table_init(&found, cells.type);
      assert_int_equal(furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, 2, memory), table_visit, &found, NULL),
                       FURROW_OK);
      assert_same_tables(samples[i].format, &found, &cells);
      table_clear(&found);
    }
    int32_t row = 0;
    assert_int_equal(furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, 1, 0), stop_at_row, &row, NULL),
                     FURROW_END);
    furrow_matrix_source_close(source);
    table_clear(&cells);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(made_from_panels),
      cmocka_unit_test(panels_that_are_refused),
      cmocka_unit_test_setup_teardown(borrowed_panels, enter_dir, leave_dir),
      cmocka_unit_test(borrowing_refused),
      cmocka_unit_test(sorting),
      cmocka_unit_test_setup_teardown(loaded_whole, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(loaded_in_part, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(memory_is_limited, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(sorted_by_threads, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(rows_that_overlap_in_part, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(dense_rows_with_holes, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(bytes_that_are_shared, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(slices_cover_everything, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(slices_fit_memory, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(sorted_panels, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
