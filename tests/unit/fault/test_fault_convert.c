/* tests/unit/fault/test_fault_convert.c: the n-th allocation or system call fails, for every n, or the process is
 * killed: there is the old model or the new one, whole, and nothing else; nothing leaks. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "support/failing_alloc.h"
#include "support/failing_calls.h"
#include "support/golden_case.h"
#include "support/model_params.h"
#include "support/own_dir.h"
#include "support/sample_matrix.h"

/* ---- more calls that fail ---- */

static bool slow; /* each write takes a while, so that a kill meets it */

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  static ssize_t (*next)(int, const void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  if (slow) usleep(100);
  return call_fails_now(ENOSPC) ? -1 : next(fd, data, size, offset);
}

int openat(int folder, const char *name, int flags, ...) {
  static int (*next)(int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (!next) next = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
  return flags & O_CREAT && call_fails_now(EMFILE) ? -1 : next(folder, name, flags, mode);
}

int mkdirat(int folder, const char *name, mode_t mode) {
  static int (*next)(int, const char *, mode_t);
  if (!next) next = (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkdirat");
  return call_fails_now(EACCES) ? -1 : next(folder, name, mode);
}

int fsync(int fd) {
  (void)fd;
  return call_fails_now(EIO) ? -1 : 0;
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  static int (*next)(int, const char *, int, const char *, unsigned);
  if (!next) next = (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
  return call_fails_now(EIO) ? -1 : next(from, old, to, new, flags);
}

/* ---- what is converted ---- */

static int enter_model(void **state) {
  if (enter_dir(state) != 0 || mkdir("model", 0755) != 0 || !test_write_text("model/graph.json", "{}")) return -1;
  const sample_matrix sparse = {3, 60, FURROW_ELEMENT_F32, false, false, 4};
  const sample_matrix dense = {2, 30, FURROW_ELEMENT_F64, true, true, 5};
  furrow_matrix_spec spec;
  sample_spec(&spec, &sparse, "ColIdValueText", sample_row_type(sparse.type, 3));
  spec.block_cols = 25;
  spec.servers = 2;
  sample_save(&sparse, &spec, "model/sparse", false);
  sample_spec(&spec, &dense, "TextColumn", sample_row_type(dense.type, 0));
  sample_save(&dense, &spec, "model/dense", false);
  return 0;
}

typedef struct setup {
  const char *source, *format;
  int64_t part_cols;
  int32_t hash_parts;
  unsigned threads;
} setup;

static const setup setups[] = {
    {"model", NULL, 0, 0, 1},
    {"model", "BinaryColumn", 0, 0, 1},
    {"model/sparse", "RowIdColIdValueBinary", 0, 0, 1},
    {"model/sparse", "TextColumn", 17, 0, 1},
    {"model/sparse", NULL, 0, 3, 1},
    {"model", "ColIdValueBinary", 0, 0, 2},
};
enum { SETUPS = sizeof setups / sizeof setups[0] };

static furrow_status convert(const setup *s, const char *target, bool replace, furrow_error *err) {
  furrow_model_convert_params params;
  param_parts parts;
  convert_params_init(&params, &parts);
  params.format = s->format;
  params.part_cols = s->part_cols;
  params.hash_parts = s->hash_parts;
  parts.write.threads = s->threads;
  parts.write.overwrite = replace;
  return furrow_model_convert(s->source, target, &params, NULL, err);
}

static void expect_same_tree(const setup *s, const char *made, const char *wanted) {
  char a[TEST_PATH], b[TEST_PATH];
  golden_expect_same(made, wanted);
  if (strcmp(s->source, "model") != 0) return;
  golden_expect_same(test_path(a, made, "sparse"), test_path(b, wanted, "sparse"));
  golden_expect_same(test_path(a, made, "dense"), test_path(b, wanted, "dense"));
}

static void fail_each(void (*fail_at)(long), const atomic_bool *failed, const char *what) {
  for (size_t i = 0; i < SETUPS; i++) {
    const setup *s = &setups[i];
    furrow_error err;
    sample_check(convert(s, "wanted", false, &err), &err);
    long n = 1;
    for (bool more = true; more; n++) {
      const long live = atomic_load(&alloc_live);
      const size_t descriptors = open_descriptors();
      fail_at(n);
      furrow_status status = convert(s, "new", false, &err);
      more = atomic_load(failed);
      fail_at(0);
      assert_int_equal(open_descriptors(), descriptors);
      if (status == FURROW_OK) { /* also where the failure did no harm */
        expect_same_tree(s, "new", "wanted");
        assert_true(test_remove_dir("new"));
      } else {
        assert_true(more);
        assert_int_equal(err.status, status);
        /* the last sync may fail when the new one is in place already */
        if (access("new", F_OK) == 0) {
          expect_same_tree(s, "new", "wanted");
          assert_true(test_remove_dir("new"));
        }
      }
      assert_int_equal(test_entries("."), 2);
      if (s->threads == 1) assert_int_equal(atomic_load(&alloc_live), live);
    }
    print_message("%s: %ld %s\n", s->source, n - 1, what);
    assert_true(n > 10);
    assert_true(test_remove_dir("wanted"));
  }
}

static void every_failing_allocation_leaves_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  fail_each(alloc_fail_at, &alloc_failed, "allocations");
}

static void every_failing_call_leaves_nothing(void **state) {
  (void)state;
  fail_each(call_fail_at, &call_failed, "calls");
}

/* ---- kills ---- */

static void convert_forever(void) {
  static const setup rows = {"model/sparse", "RowIdColIdValueBinary", 0, 0, 2},
                     columns = {"model/sparse", "TextColumn", 17, 0, 2};
  alarm(60);
  slow = true;
  for (int i = 0;; i++)
    if (convert(i % 2 ? &rows : &columns, "x", true, NULL) != FURROW_OK) _exit(1);
}

static int remove_leftovers(void) {
  DIR *handle = opendir(".");
  int n = 0;
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strncmp(entry->d_name, ".x.furrow-", 10) == 0) n += test_remove_dir(entry->d_name);
  closedir(handle);
  return n;
}

static void a_killed_conversion_leaves_a_whole_matrix(void **state) {
  (void)state;
  static const setup rows = {"model/sparse", "RowIdColIdValueBinary", 0, 0, 1},
                     columns = {"model/sparse", "TextColumn", 17, 0, 1};
  const char *wanted = getenv("FURROW_KILLS");
  int kills = wanted ? atoi(wanted) : 40, halfway = 0;
  uint32_t seed = (uint32_t)time(NULL);
  assert_int_equal(convert(&rows, "rows", false, NULL), FURROW_OK);
  assert_int_equal(convert(&columns, "columns", false, NULL), FURROW_OK);
  assert_int_equal(convert(&columns, "x", false, NULL), FURROW_OK);
  for (int i = 0; i < kills; i++) {
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) convert_forever();
    seed = seed * 1664525 + 1013904223;
    usleep(500 + (seed >> 8) % 10000);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const bool is_rows = golden_file_count("x") == golden_file_count("rows");
    golden_expect_same("x", is_rows ? "rows" : "columns");
    halfway += remove_leftovers();
    assert_int_equal(test_entries("."), 4);
  }
  assert_true(golden_file_count("columns") != golden_file_count("rows"));
  print_message("%d kills, %d in the middle\n", kills, halfway);
}

#define IN_MODEL(test) cmocka_unit_test_setup_teardown(test, enter_model, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_MODEL(every_failing_allocation_leaves_nothing),
      IN_MODEL(every_failing_call_leaves_nothing),
      IN_MODEL(a_killed_conversion_leaves_a_whole_matrix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
