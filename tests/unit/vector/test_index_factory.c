/* tests/unit/vector/test_index_factory.c: factory strings: the indexes that they describe, what is refused, and the
 * string of an index. What Faiss makes of the same strings: tests/interop/faiss_factory.py. */
#include <stdlib.h>

#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "vector/build/build.h"
#include "vector/quantizer/principal.h"

static void expect_error(furrow_status status, const furrow_error *err, furrow_status wanted, const char *message) {
  if (status != wanted || !strstr(err->message, message)) print_error("%d, not %d: %s\n", status, wanted, err->message);
  assert_int_equal(status, wanted);
  assert_non_null(strstr(err->message, message));
}

enum { D = 16, VECTORS = 400, QUERIES = 20, K = 5 };

static furrow_status create_from(furrow_index **index, const char *factory, furrow_distance_metric metric,
                                 furrow_error *err) {
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.metric = metric;
  spec.factory = factory;
  return furrow_index_create(index, &spec, err);
}

/* ---- Strings -------------------------------------------------------------------------------------------- */

/* printed NULL: the string itself. share: of the nearest vectors that a search must find. */
static const struct {
  const char *text, *printed;
  double share;
} strings[] = {
    {"Flat", NULL, 1},
    {"IDMap,Flat", NULL, 1},
    {"IDMap2,Flat", NULL, 1},
    {"Flat,IDMap", "IDMap,Flat", 1},
    {" Flat , IDMap2 ", "IDMap2,Flat", 1},
    {"IDMap,IDMap2,Flat", NULL, 1},
    {"SQ8", NULL, 0.9},
    {"SQ6", NULL, 0.7},
    {"SQ4", NULL, 0.3},
    {"SQfp16", NULL, 0.98},
    {"SQbf16", NULL, 0.9},
    {"SQ8_uniform", NULL, 0.9},
    {"SQ4_uniform", NULL, 0.2},
    {"SQ8_direct", NULL, 0},
    {"SQ8_direct_signed", NULL, 0},
    {"PQ4", NULL, 0.1},
    {"PQ8x4np", "PQ8x4", 0.1},
    {"PQ16x8", "PQ16", 0.8},
    {"PQ8x4fs", NULL, 0.1},
    {"PQ8x4fs_32", "PQ8x4fs", 0.1},
    {"PQ8x4fs_96", NULL, 0.1},
    {"PQ1x4fs", NULL, 0},
    {"IVF4,Flat", NULL, 1},
    {"IVF4(Flat),Flat", "IVF4,Flat", 1},
    {"IVF4_HNSW,Flat", "IVF4_HNSW32,Flat", 1},
    {"HNSW", "HNSW32,Flat", 0.95},
    {"HNSW8,Flat", NULL, 0.8},
    {"HNSW16,SQ8", NULL, 0.8},
    {"HNSW16_PQ4x6", "HNSW16,PQ4x6", 0.3},
    {"IDMap2,HNSW16", "IDMap2,HNSW16,Flat", 0.9},
    {"L2norm,HNSW16,SQ8,RFlat", NULL, 0},
    {"IVF4(HNSW8),SQ8", "IVF4_HNSW8,SQ8", 0.9},
    {"IVF4(HNSW8,Flat),SQ6", "IVF4_HNSW8,SQ6", 0.7},
    {"IVF4,SQ4", NULL, 0.3},
    {"IVF4,SQfp16", NULL, 0.98},
    {"IVF4,PQ8", NULL, 0.4},
    {"IVF4,PQ8x4", NULL, 0.1},
    {"IVF4,PQ4+16", NULL, 0.6},
    {"IVF4,PQ4x4+8x6", NULL, 0.3},
    {"IVF4,PQ8x4fs", NULL, 0.1},
    {"IVF4,PQ8x4fsr", NULL, 0.1},
    {"IVF4,PQ8x4fsr_64", NULL, 0.1},
    {"L2norm,Flat", NULL, 0},
    {"PCA4,Flat", NULL, 0},
    {"PCA16,Flat", NULL, 1},
    {"PCAR16,IVF4,Flat", NULL, 1},
    {"PCAW8,SQ8", NULL, 0},
    {"PCAWR8,PQ4x4", NULL, 0},
    {"RR,Flat", "RR16,Flat", 1},
    {"RR8,Flat", NULL, 0},
    {"RR32,SQ8", NULL, 0.9},
    {"OPQ4,PQ4x4", NULL, 0.1},
    {"OPQ4_8,IVF4,PQ4x4", NULL, 0},
    {"OPQ2,PQ4x4", NULL, 0.1},
    {"OPQ4,Flat", NULL, 1},
    {"L2norm,PCA8,RR8,IVF4,SQ8", NULL, 0},
    {"SQ4,RFlat", NULL, 0.3},
    {"IVF4,PQ8x4,RFlat", NULL, 0.1},
    {"IVF4,PQ8x4,Refine(Flat)", "IVF4,PQ8x4,RFlat", 0.1},
    {"PQ4x4,Refine(SQ8)", NULL, 0},
    {"PQ4x4,Refine(PQ8x4)", NULL, 0},
    {"Flat,RFlat,RFlat", NULL, 1},
    {"IDMap,PQ8x4fs,RFlat", NULL, 0.1},
    {"OPQ8,IVF4,PQ8x4fs,RFlat,IDMap2", "IDMap2,OPQ8,IVF4,PQ8x4fs,RFlat", 0.1},
    {"PCA8,IDMap,Flat", NULL, 0},
    {"RR,(SQ4,RFlat)", "RR16,(SQ4,RFlat)", 0.3},
    {"IDMap,L2norm,(OPQ4,IVF4,PQ4x4,Refine(SQ8))", NULL, 0},
    {"(Flat)", "Flat", 1},
};
enum { STRINGS = sizeof strings / sizeof *strings };

static void assert_factory(const furrow_index *index, const char *expected) {
  char *text = NULL;
  assert_int_equal(furrow_index_factory(index, &text, NULL), FURROW_OK);
  assert_string_equal(text, expected);
  furrow_free(text);
}

static void an_index_prints_its_string(void **state) {
  (void)state;
  for (size_t i = 0; i < STRINGS; i++) {
    furrow_index *index = NULL, *again = NULL;
    const char *printed = strings[i].printed ? strings[i].printed : strings[i].text;
    assert_int_equal(create_from(&index, strings[i].text, FURROW_METRIC_L2, NULL), FURROW_OK);
    assert_factory(index, printed);
    assert_int_equal(create_from(&again, printed, FURROW_METRIC_L2, NULL), FURROW_OK);
    assert_same_index(index, again);
    furrow_index_free(index);
    furrow_index_free(again);
  }
}

/* An id map inside of a refinement has to come last in its string. */
static void id_maps_inside_are_printed_last(void **state) {
  (void)state;
  furrow_index *index = NULL;
  assert_int_equal(create_from(&index, "SQ8,IDMap,RFlat", FURROW_METRIC_L2, NULL), FURROW_OK);
  assert_int_equal(index->kind, FURROW_INDEX_REFINE);
  assert_factory(index, "SQ8,IDMap,RFlat");
  furrow_index_free(index);
}

static void wrong_strings_are_refused(void **state) {
  static const struct {
    const char *text;
    furrow_distance_metric metric;
    furrow_status status;
    const char *part, *message;
  } wrong[] = {
      {"", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "", "a part of the factory string '' is empty"},
      {"Flat,", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "", "is empty"},
      {"flat", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "flat", "'flat' is not something"},
      {"HNSW32,IVF4,Flat", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "IVF4,Flat", "is not something"},
      {"IDMap,HNSW1", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "HNSW1", "2 to 1024 links"},
      {"HNSW32,PQ4x4fs", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "PQ4x4fs", "cannot be in a graph"},
      {"HNSW", FURROW_METRIC_L1, FURROW_E_ARGUMENT, "HNSW", "L2 or inner product"},
      {"NSG32,Flat", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "NSG32", "is not something"},
      {"LSH", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "LSH", "is not something"},
      {"ITQ,Flat", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "ITQ", "is not something"},
      {"IMI2x4,PQ8", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "IMI2x4", "is not something"},
      {"IVF4,RQ2x8", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "RQ2x8", "is not something"},
      {"IVF4(IVF2,Flat),Flat", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "IVF4(IVF2,Flat)", ""},
      {"IVF4", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "IVF4", "needs codes after it"},
      {"IVF0,Flat", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "IVF0", "1 to 2^32 - 2 lists"},
      {"IVF4294967295,Flat", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "IVF4294967295", "1 to 2^32 - 2 lists"},
      {"IVF99999999999,Flat", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "IVF99999999999", ""},
      {"IVF4_HNSW1,Flat", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "IVF4_HNSW1", "2 to 1024 links"},
      {"IVF4,Flat", FURROW_METRIC_L1, FURROW_E_ARGUMENT, "IVF4", "needs the metric L2 or inner product"},
      {"SQ8", FURROW_METRIC_L1, FURROW_E_ARGUMENT, "SQ8", "needs the metric L2 or inner product"},
      {"PQ3", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ3", "does not divide the dimension"},
      {"PQ0", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ0", "does not divide the dimension"},
      {"PQ4x0", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ4x0", "1 to 16 bits"},
      {"PQ4x17", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ4x17", "1 to 16 bits"},
      {"PQ4x4fs_33", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ4x4fs_33", "a multiple of 32 vectors"},
      {"PQ4+4", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ4+4", "needs lists"},
      {"IVF4,PQ4+3", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PQ4+3", "does not divide the dimension"},
      {"IVF4,PQ4+4", FURROW_METRIC_IP, FURROW_E_ARGUMENT, "PQ4+4", "needs the metric L2"},
      {"PCA17,Flat", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PCA17", "has a dimension that is not possible"},
      {"PCA0,Flat", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "PCA0", "has a dimension that is not possible"},
      {"OPQ4_32,PQ4", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "OPQ4_32", "has a dimension that is not possible"},
      {"OPQ3,PQ4", FURROW_METRIC_L2, FURROW_E_ARGUMENT, "OPQ3", "a number of parts that does not divide"},
      {"SQ8,Refine(IVF4,Flat)", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "IVF4,Flat", "cannot be a refinement"},
      {"Flat,SQ8", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "SQ8", "is not something"},
      {"PCA8", FURROW_METRIC_L2, FURROW_E_UNSUPPORTED, "PCA8", "is not something"},
      {"IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,IDMap,Flat",
       FURROW_METRIC_L2, FURROW_E_ARGUMENT, "Flat", "is nested too deep"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    furrow_index *index = NULL;
    furrow_error err = {0};
    const furrow_status status = create_from(&index, wrong[i].text, wrong[i].metric, &err);
    expect_error(status, &err, wrong[i].status, wrong[i].message);
    assert_string_equal(err.token, wrong[i].part);
    assert_null(index);
  }
}

static void expect_spec_refused(const furrow_index_spec *spec, const char *message) {
  furrow_index *index = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_index_create(&index, spec, &err);
  expect_error(status, &err, FURROW_E_ARGUMENT, message);
  assert_null(index);
}

static void a_string_stands_alone(void **state) {
  (void)state;
  furrow_index_spec plain, spec;
  furrow_index_spec_init(&plain);
  plain.d = D;
  plain.factory = "IVF4,Flat";
  spec = plain;
  spec.nlist = 4;
  expect_spec_refused(&spec, "factory and nlist cannot be used together");
  spec = plain;
  spec.m = 4;
  expect_spec_refused(&spec, "factory and m cannot");
  spec = plain;
  spec.nbits = 4;
  expect_spec_refused(&spec, "factory and nbits cannot");
  spec = plain;
  spec.by_residual = false;
  expect_spec_refused(&spec, "factory and by_residual cannot");
  spec = plain;
  spec.hnsw_m = 4;
  expect_spec_refused(&spec, "factory and hnsw_m cannot");
  spec.hnsw_m = 0;
  spec.ef_construction = 50;
  expect_spec_refused(&spec, "ef_construction cannot be used with IVF4,Flat, which is not an HNSW graph");
  spec.ef_construction = -1;
  expect_spec_refused(&spec, "ef_construction is -1, but must be positive, or 0");
  spec.ef_construction = 0;
  spec = plain;
  spec.opq = true;
  expect_spec_refused(&spec, "factory and opq cannot");
  spec = plain;
  spec.normalize = true;
  expect_spec_refused(&spec, "factory and normalize cannot");
  spec = plain;
  spec.refine_m = 4;
  expect_spec_refused(&spec, "factory and refine_m cannot");
  spec = plain;
  spec.refine_flat = true;
  expect_spec_refused(&spec, "factory and refine_flat cannot");
  spec = plain;
  spec.k_factor = 4;
  expect_spec_refused(&spec, "k_factor is 4, but must be 1 to 1000, or 0 without");
  spec = plain;
  spec.metric = FURROW_METRIC_LP;
  expect_spec_refused(&spec, "metric is 4, which is not one");
  spec = plain;
  spec.d = 0;
  expect_spec_refused(&spec, "d is 0");
  furrow_index *index = NULL;
  spec = plain;
  spec.id_map = true; /* has ids of its own */
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_factory(index, "IVF4,Flat");
  furrow_index_free(index);
  spec.factory = "SQ8,RFlat";
  spec.k_factor = 8;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_factory(index, "IDMap,SQ8,RFlat");
  assert_true(index->child[0]->k_factor == 8);
  furrow_index_free(index);
}

/* ---- Indexes -------------------------------------------------------------------------------------------- */

static void train_and_add(furrow_index *index, const float *vectors, const int64_t *ids) {
  furrow_index_train_params params;
  furrow_error err = {0};
  furrow_index_train_params_init(&params);
  params.threads = 1;
  furrow_status status = index->trained ? FURROW_OK : furrow_index_train(index, vectors, VECTORS, &params, &err);
  if (status != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  assert_true(index->trained);
  assert_int_equal(add_vectors(index, vectors, VECTORS / 2, ids), FURROW_OK);
  assert_int_equal(add_vectors(index, vectors + VECTORS / 2 * D, VECTORS / 2, ids ? ids + VECTORS / 2 : NULL),
                   FURROW_OK);
}

static void search_all(const furrow_index *index, const float *queries, int64_t *ids, float *distances) {
  furrow_searcher *searcher = NULL;
  furrow_search_params params;
  furrow_error err = {0};
  furrow_search_params_init(&params);
  params.nprobe = 1000;
  params.threads = 1;
  furrow_status status = furrow_searcher_create(&searcher, index, NULL, &err);
  if (status == FURROW_OK)
    status = furrow_searcher_search(searcher, queries, QUERIES, K, &params, distances, ids, &err);
  if (status != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  furrow_searcher_free(searcher);
}

static double shared_ids(const int64_t *a, const int64_t *b) {
  size_t found = 0;
  for (size_t i = 0; i < QUERIES * K; i++)
    for (size_t j = 0; j < K; j++) found += b[i] == a[i / K * K + j];
  return (double)found / (QUERIES * K);
}

/* What a file gives back finds the same, also where it is packed for searching. */
static void check_file(const furrow_index *index, const char *path, const float *queries, const int64_t *expected) {
  int64_t ids[QUERIES * K];
  float distances[QUERIES * K];
  check_sound(index, path);
  for (int packed = 0; packed < 2; packed++) {
    furrow_index *loaded = NULL;
    furrow_index_load_params params;
    furrow_index_load_params_init(&params);
    params.search_only = packed;
    assert_int_equal(furrow_index_load(&loaded, path, &params, NULL), FURROW_OK);
    if (!packed) assert_same_index(index, loaded);
    search_all(loaded, queries, ids, distances);
    assert_memory_equal(ids, expected, sizeof ids);
    furrow_index_free(loaded);
  }
}

static void check_string(size_t i, furrow_distance_metric metric, const float *vectors, const float *queries,
                         const char *path) {
  int64_t ids[QUERIES * K], exact[QUERIES * K];
  float distances[QUERIES * K];
  furrow_index *index = NULL, *flat = NULL;
  if (metric == FURROW_METRIC_IP && strchr(strings[i].text, '+')) return;
  assert_int_equal(create_from(&flat, "Flat", metric, NULL), FURROW_OK);
  train_and_add(flat, vectors, NULL);
  search_all(flat, queries, exact, distances);
  assert_int_equal(create_from(&index, strings[i].text, metric, NULL), FURROW_OK);
  train_and_add(index, vectors, NULL);
  search_all(index, queries, ids, distances);
  const double share = shared_ids(exact, ids);
  if (metric == FURROW_METRIC_L2 && share < strings[i].share) print_error("%s: %g\n", strings[i].text, share);
  assert_true(metric != FURROW_METRIC_L2 || share >= strings[i].share);
  check_file(index, path, queries, ids);
  const furrow_id_filter filter = range_filter(100, 300);
  uint64_t removed = 0;
  const bool nested = strstr(strings[i].text, "IDMap,IDMap2");
  const bool refused = nested || (!strstr(strings[i].text, "IDMap") && strchr(strings[i].text, '+'));
  const furrow_status status = furrow_index_remove(index, &filter, &removed, NULL);
  assert_int_equal(status, refused ? FURROW_E_UNSUPPORTED : FURROW_OK);
  if (!refused) assert_int_equal(removed, 200);
  assert_int_equal(index->ntotal, refused ? VECTORS : VECTORS - 200);
  search_all(index, queries, ids, distances);
  check_file(index, path, queries, ids);
  furrow_index_free(index);
  furrow_index_free(flat);
}

static void every_string_is_built_searched_and_saved(void **state) {
  fw_rng rng;
  float *vectors = malloc(VECTORS * D * sizeof *vectors), *queries = malloc(QUERIES * D * sizeof *queries);
  (void)state;
  fw_rng_init(&rng, 5);
  fill_random(&rng, vectors, VECTORS * D);
  fill_random(&rng, queries, QUERIES * D);
  for (size_t i = 0; i < STRINGS; i++) {
    check_string(i, FURROW_METRIC_L2, vectors, queries, "factory.index");
    check_string(i, FURROW_METRIC_IP, vectors, queries, "factory.index");
  }
  free(vectors);
  free(queries);
}

/* Training that runs out of memory anywhere leaves the index as it was. */
static void failed_training_changes_nothing(void **state) {
  static const char *const texts[] = {"L2norm,PCAWR8,RR8,OPQ4,IVF2,PQ4x2,Refine(SQ8)", "IDMap,PQ4x4fs",
                                      "IVF2_HNSW4,SQ4", "IVF2,PQ4x2+4x2"};
  enum { N = 40 };
  static float vectors[N * D];
  fw_rng rng;
  furrow_index_train_params params;
  (void)state;
  if (!FAILING_ALLOC) skip();
  fw_rng_init(&rng, 6);
  fill_random(&rng, vectors, N * D);
  furrow_index_train_params_init(&params);
  params.threads = 1;
  params.coarse_rounds = params.pq_rounds = 1;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    furrow_index *index = NULL, *fresh = NULL;
    assert_int_equal(create_from(&index, texts[i], FURROW_METRIC_L2, NULL), FURROW_OK);
    assert_int_equal(create_from(&fresh, texts[i], FURROW_METRIC_L2, NULL), FURROW_OK);
    for (long n = 1;; n += n < 60 ? 1 : 97) {
      alloc_fail_at(n);
      const furrow_status status = furrow_index_train(index, vectors, N, &params, NULL);
      const bool failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      if (!failed) {
        assert_int_equal(status, FURROW_OK);
        break;
      }
      assert_int_equal(status, FURROW_E_MEMORY);
      assert_same_index(index, fresh);
    }
    assert_true(index->trained);
    furrow_index_free(index);
    furrow_index_free(fresh);
  }
}

/* ---- Rotations ------------------------------------------------------------------------------------------ */

/* Rows are orthonormal or, if there are more rows than columns, columns are. */
static void random_rotations_keep_lengths(void **state) {
  static const size_t shapes[][2] = {{1, 1}, {5, 5}, {3, 7}, {7, 3}};
  (void)state;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    const size_t out = shapes[s][0], in = shapes[s][1], n = out < in ? out : in;
    float a[49];
    assert_int_equal(fw_random_rotation(a, out, in, 3, NULL), FURROW_OK);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t k = 0; k < (out < in ? in : out); k++)
          sum += out < in ? (double)a[i * in + k] * a[j * in + k] : (double)a[k * in + i] * a[k * in + j];
        assert_true(fabs(sum - (i == j)) < 1e-5);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_index_prints_its_string),
      cmocka_unit_test(id_maps_inside_are_printed_last),
      cmocka_unit_test(wrong_strings_are_refused),
      cmocka_unit_test(a_string_stands_alone),
      cmocka_unit_test_setup_teardown(every_string_is_built_searched_and_saved, enter_dir, leave_dir),
      cmocka_unit_test(failed_training_changes_nothing),
      cmocka_unit_test(random_rotations_keep_lengths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
