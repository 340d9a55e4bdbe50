/* tests/unit/fault/test_fault_matrix.c: the n-th allocation, read or open fails, for every n, while matrices are
 * opened, read and loaded: the library says so, leaks nothing, and gives no wrong matrix. */
#include "furrow/model.h"
#include "support/failing_alloc.h"
#include "support/failing_calls.h"
#include "support/matrix_sample.h"
#include "support/model_params.h"
#include "support/own_dir.h"

static const matrix_sample samples[] = {
    {.format = "ColIdValueText", .row_type = 10, .rows = 3, .parts = 3, .width = 20, .separator = ";"},
    {.format = "RowIdColIdValueBinary", .row_type = 12, .rows = 3, .parts = 3, .width = 20, .hash = true},
    {.format = "BinaryColumn", .row_type = 7, .rows = 4, .blocks = 2, .parts = 2, .width = 20},
    {.format = "TextColumn", .row_type = 5, .rows = 4, .parts = 2, .width = 50, .shuffled = true},
    {.format = "ValueBinary", .row_type = 0, .rows = 2, .parts = 2, .width = 50},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* What is done with a folder. */
typedef enum job { LOAD_WHOLE, LOAD_PART, VISIT, SORTED, JOBS } job;

static const char *folder_of(size_t i) {
  static char name[32];
  snprintf(name, sizeof name, "sample-%zu", i);
  return name;
}

static int make_folders(void **state) {
  if (enter_dir(state) != 0) return -1;
  for (size_t i = 0; i < SAMPLES; i++) {
    cell_table cells;
    table_init(&cells, furrow_matrix_row_type_get(samples[i].row_type)->element);
    sample_write(&samples[i], folder_of(i), &cells);
    table_clear(&cells);
  }
  return 0;
}

/* Sums of elements: no memory is needed to compare them. */
typedef struct outcome {
  furrow_status status;
  furrow_error error;
  double sum;
  pthread_mutex_t lock;
} outcome;

static void add_panel(outcome *o, const furrow_panel *panel) {
  double sum = 0;
  for (size_t c = 0; c < panel->cols; c++)
    for (size_t r = 0; r < panel->rows; r++)
      sum += furrow_panel_get(panel, r, c) * (double)(1 + panel->row_ids[r] + 7 * furrow_panel_col(panel, c));
  pthread_mutex_lock(&o->lock);
  o->sum += sum;
  pthread_mutex_unlock(&o->lock);
}

static furrow_status visit(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  (void)part;
  (void)err;
  add_panel(user, panel);
  return FURROW_OK;
}

static furrow_status load(const furrow_matrix_source *source, job j, unsigned threads, outcome *o) {
  furrow_matrix_load_params params;
  param_parts parts;
  furrow_matrix *matrix = NULL;
  load_params_init(&params, &parts);
  params.threads = threads;
  if (j == LOAD_PART) parts.selection.first_col = 7;
  if (j == LOAD_PART) parts.selection.end_col = 33;
  const furrow_status status = furrow_matrix_load_source(&matrix, source, &params, &o->error);
  assert_true((status == FURROW_OK) == (matrix != NULL));
  for (size_t i = 0; matrix && i < furrow_matrix_panel_count(matrix); i++) add_panel(o, furrow_matrix_panel(matrix, i));
  furrow_matrix_free(matrix);
  return status;
}

static void run(size_t i, job j, unsigned threads, outcome *o) {
  furrow_matrix_source *source = NULL;
  *o = (outcome){.lock = PTHREAD_MUTEX_INITIALIZER};
  o->status = furrow_matrix_source_open(&source, folder_of(i), NULL, &o->error);
  assert_true((o->status == FURROW_OK) == (source != NULL));
  if (!source) return;
  switch (j) {
  case VISIT: o->status = furrow_matrix_for_each_panel(source, SCAN(NULL, threads, 0), visit, o, &o->error); break;
  case SORTED:
    o->status = furrow_matrix_for_each_panel_sorted(source, SCAN(NULL, threads, 400), visit, o, &o->error);
    break;
  default: o->status = load(source, j, threads, o); break;
  }
  furrow_matrix_source_close(source);
}

static bool close_to(double a, double b) {
  const double difference = a > b ? a - b : b - a, size = b > 0 ? b : -b;
  return difference <= 1e-9 * (size + 1);
}

static void check(size_t i, job j, long n, const outcome *o, const outcome *wanted, furrow_status reason) {
  if (o->status == FURROW_OK) {
    if (!close_to(o->sum, wanted->sum)) fail_msg("%s, job %d, failure %ld: other elements", folder_of(i), (int)j, n);
    return;
  }
  if (o->status != reason || o->error.status != reason || !o->error.message[0])
    fail_msg("%s, job %d, failure %ld: %s, %s", folder_of(i), (int)j, n, furrow_status_name(o->status),
             o->error.message);
}

static void allocations(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t i = 0; i < SAMPLES; i++)
    for (job j = LOAD_WHOLE; j < JOBS; j++) {
      outcome wanted, o;
      const unsigned threads = 1 + (unsigned)(i + j) % 2;
      run(i, j, threads, &wanted);
      assert_int_equal(wanted.status, FURROW_OK);
      bool failed = true;
      for (long n = 1; failed; n++) {
        const long live = atomic_load(&alloc_live);
        alloc_fail_at(n);
        run(i, j, threads, &o);
        failed = atomic_load(&alloc_failed);
        alloc_fail_at(0);
        check(i, j, n, &o, &wanted, FURROW_E_MEMORY);
        if (atomic_load(&alloc_live) != live)
          fail_msg("%s, job %d, allocation %ld: %ld pieces left", folder_of(i), (int)j, n,
                   atomic_load(&alloc_live) - live);
        assert_true(n < 20000);
      }
    }
}

static void system_calls(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++)
    for (job j = LOAD_WHOLE; j < JOBS; j++) {
      outcome wanted, o;
      const unsigned threads = 1 + (unsigned)(i + j) % 2;
      run(i, j, threads, &wanted);
      const size_t descriptors = open_descriptors();
      bool failed = true;
      for (long n = 1; failed; n++) {
        call_fail_at(n);
        run(i, j, threads, &o);
        failed = atomic_load(&call_failed);
        call_fail_at(0);
        check(i, j, n, &o, &wanted, FURROW_E_IO);
        if (failed) assert_int_equal(o.status, FURROW_E_IO);
        if (failed) assert_true(o.error.file[0]);
        assert_int_equal(open_descriptors(), descriptors);
        assert_true(n < 20000);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations),
      cmocka_unit_test(system_calls),
  };
  return cmocka_run_group_tests(tests, make_folders, leave_dir);
}
