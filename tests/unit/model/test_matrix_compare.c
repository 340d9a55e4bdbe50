/* tests/unit/model/test_matrix_compare.c: differences of two stored matrices against a plain comparison of all
 * elements. */
#include "support/cmocka_all.h"
#include "support/model_params.h"

#include <math.h>

#include "furrow/model.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

#define TOP 16

static furrow_matrix_diff compare_with(const char *a, const char *b, size_t memory, furrow_matrix_difference *top,
                                       size_t capacity) {
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_source *x = NULL, *y = NULL;
  furrow_matrix_diff diff;
  furrow_matrix_diff_init(&diff);
  made_check(furrow_matrix_source_open(&x, a, NULL, &err), &err);
  made_check(furrow_matrix_source_open(&y, b, NULL, &err), &err);
  made_check(furrow_matrix_compare(x, y, COMPARE(memory, top, capacity), &diff, &err), &err);
  furrow_matrix_source_close(x);
  furrow_matrix_source_close(y);
  return diff;
}

/* The second matrix: some values changed, some columns gone, some more. */
static double changed(int32_t row, int64_t col) {
  const double x = made_value(row, col);
  return (row * 31 + col) % 17 == 3 ? x + (double)(col % 5) / 4 : x;
}
static bool in_first(int32_t row, int64_t col) {
  return (row + col) % 7 != 0;
}
static bool in_second(int32_t row, int64_t col) {
  return (row + col) % 5 != 0 && row != 2;
}

static int worse_first(const void *a, const void *b) {
  const furrow_matrix_difference *x = a, *y = b;
  const double dx = fabs(x->a - x->b), dy = fabs(y->a - y->b);
  if (dx != dy) return dx > dy ? -1 : 1;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return x->col < y->col ? -1 : 1;
}

/* The answer by the definition. */
static furrow_matrix_diff plainly(const made *a, const made *b, furrow_matrix_difference *all) {
  furrow_matrix_diff d = {0};
  double squares = 0;
  uint64_t n = 0;
  for (int32_t r = 0; r < a->rows || r < b->rows; r++)
    for (int64_t c = 0; c < a->cols || c < b->cols; c++) {
      furrow_matrix_difference x = {.row = r, .col = c};
      x.in_a = r < a->rows && c < a->cols && made_present(a, r, c);
      x.in_b = r < b->rows && c < b->cols && made_present(b, r, c);
      if (!x.in_a && !x.in_b) continue;
      if (x.in_a) x.a = a->value ? a->value(r, c) : made_value(r, c);
      if (x.in_b) x.b = b->value ? b->value(r, c) : made_value(r, c);
      n++;
      d.elements_a += x.in_a;
      d.elements_b += x.in_b;
      d.only_a += x.in_a && !x.in_b;
      d.only_b += x.in_b && !x.in_a;
      d.different += x.in_a && x.in_b && x.a != x.b;
      d.largest = fmax(d.largest, fabs(x.a - x.b));
      squares += (x.a - x.b) * (x.a - x.b);
      if (x.a != x.b || x.in_a != x.in_b) all[d.top_count++] = x;
    }
  d.rms = n > 0 ? sqrt(squares / (double)n) : 0;
  qsort(all, d.top_count, sizeof *all, worse_first);
  return d;
}

static void check_pair(const made *a, const made *b) {
  made_save("a", a);
  made_save("b", b);
  furrow_matrix_difference *all = calloc(100000, sizeof *all);
  assert_non_null(all);
  const furrow_matrix_diff want = plainly(a, b, all);
  static const size_t memories[] = {0, 1, 4096, 100000};
  for (size_t k = 0; k < 4; k++) {
    furrow_matrix_difference top[TOP];
    const furrow_matrix_diff d = compare_with("a", "b", memories[k], top, TOP);
    assert_int_equal(d.elements_a, want.elements_a);
    assert_int_equal(d.elements_b, want.elements_b);
    assert_int_equal(d.only_a, want.only_a);
    assert_int_equal(d.only_b, want.only_b);
    assert_int_equal(d.different, want.different);
    assert_true(d.largest == want.largest);
    assert_true(fabs(d.rms - want.rms) <= 1e-12 * want.rms);
    assert_int_equal(d.top_count, want.top_count < TOP ? want.top_count : TOP);
    for (size_t i = 0; i < d.top_count; i++) {
      assert_int_equal(top[i].row, all[i].row);
      assert_int_equal(top[i].col, all[i].col);
      assert_true(top[i].a == all[i].a && top[i].b == all[i].b);
      assert_true(top[i].in_a == all[i].in_a && top[i].in_b == all[i].in_b);
    }
  }
  free(all);
}

static void the_same(void **state) {
  (void)state;
  const made a = {
      .format = "ColIdValueText", .row_type = 3, .rows = 3, .cols = 300, .block_cols = 40, .present = in_first};
  const made b = {
      .format = "RowIdColIdValueBinary", .row_type = 5, .rows = 3, .cols = 300, .hash_parts = 3, .present = in_first};
  check_pair(&a, &b);
  const furrow_matrix_diff d = compare_with("a", "b", 0, NULL, 0);
  assert_int_equal(d.different + d.only_a + d.only_b, 0);
  assert_true(d.largest == 0 && d.rms == 0);
}

static void sparse_rows(void **state) {
  (void)state;
  const made a = {
      .format = "ColIdValueBinary", .row_type = 3, .rows = 4, .cols = 500, .block_cols = 33, .present = in_first};
  const made b = {.format = "RowIdColIdValueText",
                  .row_type = 3,
                  .rows = 3,
                  .cols = 450,
                  .block_cols = 70,
                  .value = changed,
                  .present = in_second};
  check_pair(&a, &b);
}

static void columns_against_rows(void **state) {
  (void)state;
  const made a = {.format = "TextColumn", .row_type = 0, .rows = 5, .cols = 200, .block_cols = 30};
  const made b = {.format = "ValueBinary",
                  .row_type = 0,
                  .rows = 5,
                  .cols = 200,
                  .block_rows = 2,
                  .block_cols = 64,
                  .value = changed};
  check_pair(&a, &b);
}

static double nan_at_three(int32_t row, int64_t col) {
  (void)row;
  return col == 3 || col == 4 ? NAN : col == 5 ? INFINITY : 1;
}
static double nan_at_four(int32_t row, int64_t col) {
  (void)row;
  return col == 4 ? -NAN : col == 5 ? INFINITY : col == 6 ? -0.0 : 1;
}

static void special_values(void **state) {
  (void)state;
  const made a = {.format = "ValueBinary", .rows = 1, .cols = 10, .value = nan_at_three};
  const made b = {.format = "ColIdValueBinary", .rows = 1, .cols = 10, .value = nan_at_four};
  made_save("a", &a);
  made_save("b", &b);
  furrow_matrix_difference top[4];
  const furrow_matrix_diff d = compare_with("a", "b", 0, top, 4);
  assert_int_equal(d.different, 2); /* 3: NaN and 1; 6: 1 and -0 */
  assert_true(isinf(d.largest) && isinf(d.rms));
  assert_int_equal(d.top_count, 2);
  assert_int_equal(top[0].col, 3);
  assert_int_equal(top[1].col, 6);
}

/* Integers beyond 2^53: doubles would call them equal. */
static void long_integers(void **state) {
  (void)state;
  static const int64_t x[2] = {INT64_MAX, INT64_MIN}, y[2] = {INT64_MAX - 1, INT64_MIN};
  static const int32_t row = 0;
  static const char *const folders[] = {"a", "b"};
  for (int k = 0; k < 2; k++) {
    const furrow_panel panel = {
        .rows = 1, .row_ids = &row, .cols = 2, .type = FURROW_ELEMENT_I64, .values = {.i64 = k ? y : x}};
    furrow_error err = {.status = FURROW_OK};
    furrow_matrix *m = NULL;
    furrow_matrix_meta *plan = NULL;
    furrow_matrix_spec spec;
    furrow_matrix_spec_init(&spec);
    spec.name = "m";
    spec.rows = 1;
    spec.cols = 2;
    spec.row_type = 14;
    made_check(furrow_matrix_create(&m, &panel, 1, &err), &err);
    made_check(furrow_matrix_plan(&plan, &spec, &err), &err);
    made_check(furrow_matrix_save(m, folders[k], plan, NULL, &err), &err);
    furrow_matrix_meta_free(plan);
    furrow_matrix_free(m);
  }
  furrow_matrix_difference top[2];
  const furrow_matrix_diff d = compare_with("a", "b", 0, top, 2);
  assert_int_equal(d.different, 1);
  assert_true(d.largest == 1);
  assert_int_equal(d.top_count, 1);
  assert_int_equal(top[0].col, 0);
  assert_int_equal(top[0].type_a, FURROW_ELEMENT_I64);
  assert_int_equal(top[0].type_b, FURROW_ELEMENT_I64);
  assert_true(top[0].exact_a == INT64_MAX && top[0].exact_b == INT64_MAX - 1);
}

static void broken_data(void **state) {
  (void)state;
  const made a = {.format = "ColIdValueText", .rows = 2, .cols = 50, .block_cols = 10};
  made_save("a", &a);
  made_save("b", &a);
  size_t size;
  char *bytes = made_read("b", "0", &size);
  bytes[size - 2] = 'x';
  made_write("b", "0", bytes, size);
  free(bytes);
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_source *x = NULL, *y = NULL;
  furrow_matrix_diff diff;
  furrow_matrix_diff_init(&diff);
  diff.different = 77;
  made_check(furrow_matrix_source_open(&x, "a", NULL, &err), &err);
  made_check(furrow_matrix_source_open(&y, "b", NULL, &err), &err);
  assert_int_equal(furrow_matrix_compare(x, y, NULL, &diff, &err), FURROW_E_PARSE);
  assert_int_equal(diff.different, 77);
  furrow_matrix_source_close(x);
  furrow_matrix_source_close(y);
}

int main(void) {
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {IN_DIR(the_same),       IN_DIR(sparse_rows),   IN_DIR(columns_against_rows),
                                     IN_DIR(special_values), IN_DIR(long_integers), IN_DIR(broken_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
