/* tests/unit/fault/test_fault_parser.c: the n-th allocation, read or open fails, for every n: the parser says so, leaks
 * nothing, hands out no wrong rows, and reads everything after before_first. */
#include "furrow/rows.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/failing_calls.h"
#include "support/packed_file.h"
#include "support/row_digest.h"

static char home[TEST_PATH], dir[TEST_PATH];

/* ---- Data ----------------------------------------------------------------------------------------------- */

static const char libsvm_text[] =
    "1 1:0.5 3:2\n0:2 qid:7 5:1 word\n# c\n1 3 4\n1\xc2\xa0\x32\xc2\xa0\x33\n\n0 9:1e-3\r\n";

/* Each letter of a line adds something to its row, in this order. */
static furrow_status build_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  furrow_status status = FURROW_OK;
  (void)state;
  for (size_t i = 0; i < length && status == FURROW_OK; i++) {
    switch (line[i]) {
    case 'l': status = furrow_rowbuilder_label(row, 1, err); break;
    case 'w': status = furrow_rowbuilder_weight(row, 2, err); break;
    case 'q': status = furrow_rowbuilder_qid(row, 3, err); break;
    case 'f': status = furrow_rowbuilder_feature_of_field(row, 4, i, 1e300, err); break; /* refused */
    case 'g': status = furrow_rowbuilder_feature_of_field(row, 4, i, 0.5, err); break;
    default: status = furrow_rowbuilder_feature(row, i, 1.5, err);
    }
  }
  return status;
}

static const furrow_rows_format built = {
    .size = sizeof built, .name = "built", .description = "letters", .parse_line = build_line};

/* Rows of arrays: a block, a table that is borrowed, and one with a hole that is copied. */
static bool add_memory_rows(void) {
  static const uint64_t offset[] = {0, 1, 3, 3};
  static const uint32_t index[] = {1, 0, 2};
  static const float label[] = {1, 0, 1}, value[] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const double hole[] = {1, 2, 0.0 / 0.0, 4, 5, 6};
  const furrow_rowblock block = {.size = 3, .offset = offset, .index = {.u32 = index}, .label = {.f32 = label}};
  furrow_dense_rows table;
  furrow_dense_rows_init(&table);
  table.rows = 3;
  table.columns = 2;
  table.values = value;
  table.label = label;
  if (furrow_memory_rows_add("memory://block", &block, NULL, NULL, NULL) != FURROW_OK ||
      furrow_memory_rows_add_dense("memory://table", &table, NULL, NULL, NULL) != FURROW_OK)
    return false;
  table.values = hole;
  table.type = FURROW_DENSE_F64;
  return furrow_memory_rows_add_dense("memory://hole", &table, NULL, NULL, NULL) == FURROW_OK;
}

static int enter_dir(void **state) {
  (void)state;
  static char text[20000];
  size_t used = 0;
  if (!getcwd(home, sizeof home) || !test_make_dir(dir) || chdir(dir) != 0) return -1;
  while (used < 9000) used += (size_t)snprintf(text + used, sizeof text - used, "%s", libsvm_text);
  bool good = test_write_file("svm", text, used) && packed_write("svm.gz", FW_FILE_GZIP, text, used, NULL) &&
              packed_write("svm.zst", FW_FILE_ZSTD, text, used, NULL) && test_write_text("empty", "");
  good = good && test_write_text("ffm", "1 1:2:0.5 3:4:1\n0 5:6:7\n1:2 1:1\n");
  good = good && test_write_text("csv", "y,\"a,b\",\"c\"\"d\",w\n1,2,3,4\n0,NA,\"5\",\n1,5%,6,7\n");
  good = good && test_write_text("names", "y,a,b,w,c\n1,2,3,4,5\n0,NA,\"5\",1,\n1,5,6,7,8\n");
  good = good && test_write_text("dense", "1 0.5 2\n0 1 3 4\n");
  good = good && furrow_memory_file_add("memory://set/a", text, used, NULL, NULL, NULL) == FURROW_OK;
  good = good && furrow_memory_file_add("memory://set/b", "1 1:1\n", 6, NULL, NULL, NULL) == FURROW_OK;
  good = good && test_write_text("built", "lwqng\nwl\nl\nlf\nn\nqlgn\n") && test_write_text("bare", "g\nn\nl\nw\n");
  good = good && furrow_rows_format_register(&built, NULL) == FURROW_OK;
  return good && add_memory_rows() ? 0 : -1;
}

static int leave_dir(void **state) {
  (void)state;
  return chdir(home) == 0 && test_remove_dir(dir) ? 0 : -1;
}

typedef struct setup {
  const char *uri, *format;
  uint32_t threads;
  size_t chunk;
  furrow_key_type key_type;
} setup;

static const setup setups[] = {
    {"svm", "libsvm", 1, 0, FURROW_KEY_U32},
    {"svm", "auto", 1, 700, FURROW_KEY_U32},
    {"svm", "libsvm", 3, 500, FURROW_KEY_U32},
    {"svm?indexing_mode=-1", "libsvm", 1, 4000, FURROW_KEY_U32},
    {"svm?indexing_mode=-1", "libsvm", 2, 3000, FURROW_KEY_U32},
    {"svm.gz", "libsvm", 1, 2000, FURROW_KEY_U32},
    {"svm.zst;svm.gz;empty;svm", "libsvm", 2, 3000, FURROW_KEY_U32},
    {"ffm", "auto", 1, 10, FURROW_KEY_U32},
    {"ffm;ffm", "libfm", 2, 0, FURROW_KEY_U32},
    {"csv?label_column=y&weight_column=w", "csv", 1, 0, FURROW_KEY_U32},
    {"csv;csv?label_column=0&header=yes", "auto", 2, 8, FURROW_KEY_U32},
    {"dense", "dense", 1, 9, FURROW_KEY_U32},
    {"memory://set", "libsvm", 1, 3000, FURROW_KEY_U32},
    {"memory://set/a;memory://*/b", "auto", 2, 1500, FURROW_KEY_U32},
    {"names?label_column=y&weight_column=w&columns=c,a,b", "csv", 1, 0, FURROW_KEY_U32},
    {"names;names?label_column=y&columns=b&extra=ignore", "csv", 2, 20, FURROW_KEY_U64},
    {"memory://block;memory://table;memory://hole", "auto", 1, 16, FURROW_KEY_U32},
    {"memory://block;memory://hole;memory://table", "auto", 1, 40, FURROW_KEY_U64},
    {"built", "built", 1, 0, FURROW_KEY_U32},
    {"built", "built", 1, 0, FURROW_KEY_U64},
    {"bare", "built", 1, 0, FURROW_KEY_U32},
    {"svm", "dummy", 1, 1000, FURROW_KEY_U32}, /* bad rows, left out */
};
enum { SETUPS = sizeof setups / sizeof setups[0] };

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef struct outcome {
  furrow_status status;
  furrow_error error;
  uint64_t rows, digest;
} outcome;

static furrow_status open_setup(const setup *s, furrow_parser **parser, furrow_error *err) {
  furrow_parser_params p;
  furrow_parser_params_init(&p);
  p.format = s->format;
  p.threads = s->threads;
  p.chunk_bytes = s->chunk;
  p.on_bad = FURROW_ON_BAD_SKIP;
  p.key_type = s->key_type;
  return furrow_parser_open(parser, s->uri, &p, err);
}

static void read_rows(furrow_parser *parser, outcome *o) {
  o->rows = o->digest = 0;
  while ((o->status = furrow_parser_next(parser, &o->error)) == FURROW_OK) {
    o->rows += furrow_parser_value(parser)->size;
    digest_block(&o->digest, furrow_parser_value(parser));
  }
}

/* Reads all; if that fails while reading, once more from the start, when nothing fails any more. */
static void read_setup(const setup *s, outcome *first, outcome *again) {
  furrow_parser *parser = NULL;
  memset(first, 0, sizeof *first);
  memset(again, 0, sizeof *again);
  again->status = FURROW_OK;
  first->status = open_setup(s, &parser, &first->error);
  if (first->status != FURROW_OK) {
    assert_null(parser);
    return;
  }
  read_rows(parser, first);
  atomic_store(&alloc_countdown, -1);
  atomic_store(&call_countdown, -1);
  if (first->status != FURROW_END) {
    assert_int_equal(furrow_parser_next(parser, NULL), first->status);
    again->status = furrow_parser_rewind(parser, &again->error);
    assert_int_equal(again->status, FURROW_OK);
    read_rows(parser, again);
  }
  furrow_parser_close(parser);
}

/* What was to be read before failures: everything; how much is allocated when all is closed. */
static void warm_up(const setup *s, outcome *wanted) {
  outcome again;
  for (int i = 0; i < 3; i++) read_setup(s, wanted, &again);
  if (wanted->status != FURROW_END) fail_msg("%s: %s", s->uri, wanted->error.message);
  assert_true(wanted->rows > 0 || strcmp(s->format, "dummy") == 0);
}

static void check_outcome(const setup *s, long n, bool failed, furrow_status reason, const outcome *wanted,
                          const outcome *first, const outcome *again) {
  if (!failed || first->status == FURROW_END) {
    assert_int_equal(first->status, FURROW_END);
    assert_true(first->digest == wanted->digest && first->rows == wanted->rows);
    return;
  }
  if (first->status != reason)
    fail_msg("%s, failure %ld: %s, %s", s->uri, n, furrow_status_name(first->status), first->error.message);
  assert_int_equal(first->error.status, reason);
  assert_true(first->error.message[0]);
  assert_true(first->rows <= wanted->rows);
  if (again->status == FURROW_OK) return; /* it did not even open */
  assert_int_equal(again->status, FURROW_END);
  assert_true(again->digest == wanted->digest && again->rows == wanted->rows);
}

static void allocations(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t i = 0; i < SETUPS; i++) {
    outcome wanted, first, again;
    warm_up(&setups[i], &wanted);
    bool failed = true;
    for (long n = 1; failed; n++) {
      const long live = atomic_load(&alloc_live);
      alloc_fail_at(n);
      read_setup(&setups[i], &first, &again);
      failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      check_outcome(&setups[i], n, failed, FURROW_E_MEMORY, &wanted, &first, &again);
      if (atomic_load(&alloc_live) != live)
        fail_msg("%s, allocation %ld: %ld pieces left", setups[i].uri, n, atomic_load(&alloc_live) - live);
      assert_true(n < 5000);
    }
  }
}

static void system_calls(void **state) {
  (void)state;
  for (size_t i = 0; i < SETUPS; i++) {
    outcome wanted, first, again;
    warm_up(&setups[i], &wanted);
    const size_t descriptors = open_descriptors();
    bool failed = true;
    for (long n = 1; failed; n++) {
      call_fail_at(n);
      read_setup(&setups[i], &first, &again);
      failed = atomic_load(&call_failed);
      call_fail_at(0);
      check_outcome(&setups[i], n, failed, FURROW_E_IO, &wanted, &first, &again);
      if (failed && first.status == FURROW_E_IO) assert_true(first.error.file[0]);
      assert_int_equal(open_descriptors(), descriptors);
      assert_true(n < 5000);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations),
      cmocka_unit_test(system_calls),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
