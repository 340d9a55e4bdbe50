/* tests/unit/vector/test_search_only.c: an index that is loaded for searching alone gives the same answers to the bit,
 * takes less memory, and refuses whatever would need its codes. */
#include "furrow/vector.h"
#include "support/each_isa.h"
#include "support/index_check.h"
#include "support/made_lists.h"
#include "support/own_dir.h"
#include "vector/index/pack_codes.h"
#include "vector/search/searcher.h"

enum { QUERIES = 6, K = 10 };

static furrow_index *load(const char *path, bool search_only) {
  furrow_index *index = NULL;
  furrow_error err = {0};
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.search_only = search_only;
  if (furrow_index_load(&index, path, &params, &err) != FURROW_OK) fail_msg("%s: %s", path, err.message);
  return index;
}

/* Answers of a file; returns the memory of its searcher. */
static uint64_t answer(const furrow_index *index, const float *queries, float *distances, int64_t *ids) {
  furrow_searcher *searcher = NULL;
  furrow_error err = {0};
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.nprobe = 5;
  if (furrow_searcher_create(&searcher, index, NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(furrow_searcher_search(searcher, queries, QUERIES, K, &params, distances, ids, &err), FURROW_OK);
  const uint64_t memory = furrow_searcher_memory(searcher);
  furrow_searcher_free(searcher);
  return memory;
}

static void expect_refusals(furrow_index *index, const float *vector) {
  const furrow_id_filter filter = {
      .size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_RANGE, .first = 0, .end = 1};
  const int64_t id = 1;
  float *vector_out = malloc((size_t)index->d * sizeof *vector_out);
  furrow_error err = {0};
  assert_int_equal(furrow_index_add(index, vector, 1, NULL, NULL, &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, "search_only"));
  assert_int_equal(furrow_index_remove(index, &filter, NULL, &err), FURROW_E_STATE);
  assert_int_equal(furrow_index_update(index, &id, vector, 1, &err), FURROW_E_STATE);
  assert_int_equal(furrow_index_reconstruct(index, 1, vector_out, &err), FURROW_E_STATE);
  assert_int_equal(furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_HASHTABLE, &err), FURROW_E_STATE);
  assert_int_equal(furrow_index_save(index, "kept.index", NULL, &err), FURROW_E_STATE);
  uint64_t size;
  assert_int_equal(furrow_index_file_size(index, NULL, &size, &err), FURROW_E_STATE);
  furrow_index *other = load("made.index", false);
  assert_int_equal(furrow_index_merge(other, index, 0, &err), FURROW_E_STATE);
  assert_int_equal(furrow_index_merge(index, other, 0, &err), FURROW_E_STATE);
  furrow_index_free(other);
  furrow_list_view view;
  assert_int_equal(furrow_index_list(furrow_index_ivf(index), 0, &view, &err), FURROW_OK);
  free(vector_out);
}

static void check_spec(const made_spec *spec) {
  float want[QUERIES * K], distances[QUERIES * K];
  int64_t want_ids[QUERIES * K], ids[QUERIES * K];
  fw_rng rng;
  furrow_index *made = made_lists(spec);
  assert_int_equal(furrow_index_save(made, "made.index", &overwriting, NULL), FURROW_OK);
  furrow_index_free(made);
  fw_rng_init(&rng, 3);
  float *queries = made_floats(&rng, QUERIES * spec->d, 1, 0);
  furrow_index *whole = load("made.index", false), *only = load("made.index", true);
  const uint64_t memory = answer(whole, queries, want, want_ids), less = answer(only, queries, distances, ids);
  assert_memory_equal(distances, want, sizeof want);
  assert_memory_equal(ids, want_ids, sizeof want_ids);
  if (spec->m > 0 && spec->nbits <= 8) {
    furrow_list_view view;
    assert_true(less + (uint64_t)whole->ntotal * fw_pq_rows(fw_index_pq(whole)) <= memory);
    assert_int_equal(furrow_index_list(only, spec->nlist - 1, &view, NULL), FURROW_OK);
    assert_true(view.count > 0 && view.ids && !view.codes);
  }
  expect_refusals(only, queries);
  furrow_index_free(whole);
  furrow_index_free(only);
  fw_free(queries);
}

static void same_answers(void **state) {
  static const made_spec specs[] = {
      {.d = 32,
       .nlist = 20,
       .m = 16,
       .nbits = 8,
       .metric = FURROW_METRIC_L2,
       .residual = true,
       .scale = 1,
       .most = 700},
      {.d = 32,
       .nlist = 20,
       .m = 16,
       .nbits = 8,
       .metric = FURROW_METRIC_IP,
       .residual = true,
       .scale = 1,
       .most = 700},
      {.d = 30, .nlist = 20, .m = 3, .nbits = 8, .metric = FURROW_METRIC_L2, .scale = 1, .most = 300},
      {.d = 32,
       .nlist = 20,
       .m = 32,
       .nbits = 4,
       .metric = FURROW_METRIC_L2,
       .residual = true,
       .scale = 1,
       .most = 300},
      {.d = 36, .nlist = 20, .m = 9, .nbits = 6, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 300},
      {.d = 32, .nlist = 20, .m = 4, .nbits = 10, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 90},
      {.d = 40,
       .nlist = 1,
       .m = 20,
       .nbits = 8,
       .metric = FURROW_METRIC_L2,
       .residual = true,
       .scale = 1,
       .most = 19999},
  };
  (void)state;
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) check_spec(&specs[i]);
}

/* The same of a file of any kind, if it is one that is searched at all. */
static size_t check_same(const char *path) {
  float queries[QUERIES * 8], want[QUERIES * K], distances[QUERIES * K];
  int64_t want_ids[QUERIES * K], ids[QUERIES * K];
  furrow_searcher *searcher = NULL;
  furrow_index *whole = load(path, false), *only = load(path, true);
  const furrow_status status = furrow_searcher_create(&searcher, whole, NULL, NULL);
  furrow_searcher_free(searcher);
  searcher = NULL;
  assert_int_equal(furrow_searcher_create(&searcher, only, NULL, NULL), status);
  furrow_searcher_free(searcher);
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) queries[i] = (float)(i * 7 % 23) / 3;
  assert_true(whole->d <= 8);
  if (status == FURROW_OK) {
    answer(whole, queries, want, want_ids);
    answer(only, queries, distances, ids);
    assert_memory_equal(distances, want, sizeof want);
    assert_memory_equal(ids, want_ids, sizeof want_ids);
  }
  furrow_index_free(whole);
  furrow_index_free(only);
  return status == FURROW_OK;
}

static void every_kind(void **state) {
  size_t searched = 0;
  (void)state;
  for (size_t i = 0; i < SAMPLES + sizeof legacies / sizeof *legacies; i++) {
    index_file f = {0};
    if (i < SAMPLES)
      samples[i].make(&f);
    else
      legacies[i - SAMPLES].make(&f);
    assert_true(test_write_file("sample.index", f.bytes, f.size));
    searched += check_same("sample.index");
    index_file_clear(&f);
  }
  assert_true(searched >= 20);
}

/* Lists of 70 and 3 codes in a data file; the first has room for 100. */
static void lists_on_disk(void **state) {
  static const uint64_t offsets[4][3] = {{70, 100, 0}, {0, 0, UINT64_MAX}, {3, 3, 900}, {0, 0, UINT64_MAX}};
  enum { DATA_SIZE = 927 };
  uint8_t data[DATA_SIZE];
  index_file f = {0};
  (void)state;
  put_ivf(&f, "IwPQ", 73);
  put_no_map(&f);
  put_ivf_pq(&f, 4);
  put_fourcc(&f, "ilod");
  put_long(&f, 4);
  put_long(&f, 1);
  put_long(&f, 4);
  for (int i = 0; i < 12; i++) put_long(&f, (int64_t)offsets[i / 3][i % 3]);
  put_long(&f, 0);
  put_long(&f, 6);
  put(&f, "a.data", 6);
  put_long(&f, DATA_SIZE);
  for (size_t i = 0; i < DATA_SIZE; i++) data[i] = (uint8_t)(i * i % 251);
  assert_true(test_write_file("a.index", f.bytes, f.size));
  assert_true(test_write_file("a.data", data, sizeof data));
  assert_int_equal(check_same("a.index"), 1);
  index_file_clear(&f);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(same_answers, enter_dir, leave_dir),
                                     cmocka_unit_test_setup_teardown(every_kind, enter_dir, leave_dir),
                                     cmocka_unit_test_setup_teardown(lists_on_disk, enter_dir, leave_dir)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
