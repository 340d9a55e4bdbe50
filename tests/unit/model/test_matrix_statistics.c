/* tests/unit/model/test_matrix_statistics.c: counts, extremes, mean and deviation of what is stored. */
#include "support/cmocka_all.h"
#include "support/model_params.h"

#include <math.h>

#include "furrow/model.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

static furrow_matrix_stats stats_of(const char *folder, unsigned threads) {
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_source *source = NULL;
  furrow_matrix_stats stats;
  furrow_matrix_stats_init(&stats);
  made_check(furrow_matrix_source_open(&source, folder, NULL, &err), &err);
  made_check(furrow_matrix_compute_stats(source, STATS(threads, NULL, NULL), &stats, &err), &err);
  furrow_matrix_source_close(source);
  return stats;
}

static void known_values(void **state) {
  (void)state;
  static const char *const formats[] = {"ValueBinary", "ColIdValueText", "RowIdColIdValueBinary", "TextColumn"};
  static const int32_t types[] = {0, 7};
  for (size_t f = 0; f < 4; f++)
    for (size_t t = 0; t < 2; t++) {
      const made m = {.format = formats[f], .row_type = types[t], .rows = 3, .cols = 1000, .block_cols = 70};
      char folder[64];
      snprintf(folder, sizeof folder, "m%zu%zu", f, t);
      made_save(folder, &m);
      double sum = 0, squares = 0;
      uint64_t zeros = 0;
      for (int32_t r = 0; r < 3; r++)
        for (int64_t c = 0; c < 1000; c++) {
          sum += made_value(r, c);
          zeros += made_value(r, c) == 0;
        }
      const double mean = sum / 3000;
      for (int32_t r = 0; r < 3; r++)
        for (int64_t c = 0; c < 1000; c++) squares += (made_value(r, c) - mean) * (made_value(r, c) - mean);
      const furrow_matrix_stats s = stats_of(folder, 1);
      assert_int_equal(s.elements, 3000);
      assert_int_equal(s.zeros, zeros);
      assert_int_equal(s.nans + s.infinities, 0);
      assert_true(s.min == -50 && s.max == 50);
      assert_true(fabs(s.mean - mean) < 1e-13);
      assert_true(fabs(s.deviation - sqrt(squares / 3000)) < 1e-11);
      assert_int_equal(s.min_col, 0);
      assert_int_equal(s.max_col, 999);
      assert_int_equal(s.rows, 3);
      assert_true(s.bytes > 0);
    }
}

static double large_whole(int32_t row, int64_t col) {
  return row == 0 ? (double)(col - 500) : 1e12 + (double)col;
}

static void whole_numbers(void **state) {
  (void)state;
  const made m = {.format = "ColIdValueBinary", .row_type = 14, .rows = 2, .cols = 1001, .value = large_whole};
  made_save("m", &m);
  const furrow_matrix_stats s = stats_of("m", 2);
  assert_true(s.min == -500 && s.max == 1e12 + 1000);
  assert_true(s.mean == (1e12 + 500) / 2);
  assert_true(fabs(s.deviation / ((1e12 + 500) / 2) - 1) < 1e-12);
  assert_int_equal(s.zeros, 1);
}

/* A tiny spread on a large mean: the textbook formula with sums of squares gives nonsense here. */
static double shifted(int32_t row, int64_t col) {
  return 1e9 + (double)((col + row) % 2);
}

static void small_deviation(void **state) {
  (void)state;
  const made m = {.format = "ValueBinary", .rows = 2, .cols = 100000, .block_cols = 999, .value = shifted};
  made_save("m", &m);
  const furrow_matrix_stats s = stats_of("m", 1);
  assert_true(fabs(s.mean - (1e9 + 0.5)) < 1e-6);
  assert_true(fabs(s.deviation - 0.5) < 1e-9);
}

static double huge(int32_t row, int64_t col) {
  return (row + col) % 2 ? 1.7e308 : -1.7e308;
}

static void huge_values(void **state) {
  (void)state;
  const made m = {.format = "ValueBinary", .rows = 2, .cols = 3000, .value = huge};
  made_save("m", &m);
  const furrow_matrix_stats s = stats_of("m", 1);
  assert_true(s.max == 1.7e308 && s.min == -1.7e308);
  assert_true(fabs(s.mean) < 1e300);
#if __SIZEOF_LONG_DOUBLE__ > 8
  assert_true(fabs(s.deviation / 1.7e308 - 1) < 1e-9);
#endif
}

static double special(int32_t row, int64_t col) {
  (void)row;
  static const double values[] = {NAN, INFINITY, -INFINITY, 2, 0, -0.0};
  return values[col % 6];
}

static void special_values(void **state) {
  (void)state;
  const made m = {
      .format = "RowIdColIdValueText", .row_type = 7, .rows = 2, .cols = 600, .block_cols = 100, .value = special};
  made_save("m", &m);
  const furrow_matrix_stats s = stats_of("m", 2);
  assert_int_equal(s.elements, 1200);
  assert_int_equal(s.nans, 200);
  assert_int_equal(s.infinities, 400);
  assert_int_equal(s.zeros, 400);
  assert_true(s.min == 0 && s.max == 2);
  assert_true(fabs(s.mean - 2.0 / 3) < 1e-15);
}

static bool nothing(int32_t row, int64_t col) {
  (void)row;
  (void)col;
  return false;
}

static bool few(int32_t row, int64_t col) {
  return (row + col) % 97 == 5;
}

static void sparse_and_empty(void **state) {
  (void)state;
  made m = {.format = "ColIdValueText", .row_type = 10, .rows = 2, .cols = 1000, .hash_parts = 4, .present = few};
  made_save("few", &m);
  furrow_matrix_stats s = stats_of("few", 2);
  assert_int_equal(s.elements, 22);
  assert_int_equal(s.min_col, 4);
  assert_int_equal(s.max_col, 975);
  m.present = nothing;
  made_save("nothing", &m);
  s = stats_of("nothing", 2);
  assert_int_equal(s.elements, 0);
  assert_int_equal(s.rows, 2);
  assert_int_equal(s.bytes, 0);
  assert_true(isnan(s.min) && isnan(s.max) && isnan(s.mean) && isnan(s.deviation));
}

static double wild(int32_t row, int64_t col) {
  return made_value(row, col) * pow(10, (double)(col % 30 - 15));
}

static void any_number_of_threads(void **state) {
  (void)state;
  const made m = {.format = "TextColumn", .rows = 4, .cols = 5000, .block_cols = 111, .value = wild};
  made_save("m", &m);
  const furrow_matrix_stats one = stats_of("m", 1);
  for (unsigned threads = 0; threads < 9; threads++)
    for (int round = 0; round < 3; round++) {
      const furrow_matrix_stats s = stats_of("m", threads);
      assert_memory_equal(&s, &one, sizeof s);
    }
}

typedef struct told {
  uint64_t last, calls;
  bool stop;
} told;

static bool note(void *user, const char *phase, uint64_t done, uint64_t total) {
  told *t = user;
  assert_string_equal(phase, "reading");
  assert_true(done >= t->last && done <= total);
  t->last = done;
  t->calls++;
  return !t->stop;
}

static void progress_is_told(void **state) {
  (void)state;
  const made m = {.format = "ValueBinary", .rows = 10, .cols = 100000, .block_cols = 1000};
  made_save("m", &m);
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_source *source = NULL;
  furrow_matrix_stats stats;
  furrow_matrix_stats_init(&stats);
  told t = {0};
  made_check(furrow_matrix_source_open(&source, "m", NULL, &err), &err);
  made_check(furrow_matrix_compute_stats(source, STATS(2, note, &t), &stats, &err), &err);
  assert_true(t.calls >= 2);
  assert_int_equal(t.last, 8000000);
  t = (told){.stop = true};
  stats.elements = 77;
  assert_int_equal(furrow_matrix_compute_stats(source, STATS(2, note, &t), &stats, &err), FURROW_E_CANCELLED);
  assert_int_equal(stats.elements, 77);
  furrow_matrix_source_close(source);
}

static void broken_data(void **state) {
  (void)state;
  const made m = {.format = "ColIdValueText", .rows = 2, .cols = 50, .block_cols = 10};
  made_save("m", &m);
  size_t size;
  char *bytes = made_read("m", "0", &size);
  bytes[size - 2] = 'x';
  made_write("m", "0", bytes, size);
  free(bytes);
  furrow_error err = {.status = FURROW_OK};
  furrow_matrix_source *source = NULL;
  furrow_matrix_stats stats;
  furrow_matrix_stats_init(&stats);
  made_check(furrow_matrix_source_open(&source, "m", NULL, &err), &err);
  assert_int_equal(furrow_matrix_compute_stats(source, STATS(2, NULL, NULL), &stats, &err), FURROW_E_PARSE);
  furrow_matrix_source_close(source);
}

int main(void) {
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {IN_DIR(known_values),          IN_DIR(whole_numbers),    IN_DIR(small_deviation),
                                     IN_DIR(huge_values),           IN_DIR(special_values),   IN_DIR(sparse_and_empty),
                                     IN_DIR(any_number_of_threads), IN_DIR(progress_is_told), IN_DIR(broken_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
