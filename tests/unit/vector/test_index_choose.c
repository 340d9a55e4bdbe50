/* tests/unit/vector/test_index_choose.c: indexes that are chosen for a number of vectors, and settings for a recall. */
#include <stdlib.h>

#include "furrow/vector_data.h"
#include "support/edit_index.h"

static furrow_status choose(uint64_t n, int32_t d, double recall, uint64_t max_bytes, bool normalize,
                            furrow_index_selection *selection, furrow_error *err) {
  furrow_index_wish wish;
  furrow_index_wish_init(&wish);
  furrow_index_selection_init(selection);
  wish.n = n;
  wish.d = d;
  wish.recall = recall;
  wish.max_bytes = max_bytes;
  wish.normalize = normalize;
  return furrow_index_choose(&wish, selection, err);
}

static void sizes_choose_the_kind(void **state) {
  static const struct {
    uint64_t n;
    int32_t d;
    double recall;
    uint64_t max_bytes;
    bool normalize;
    const char *factory;
  } cases[] = {
      {0, 8, 0.95, 0, false, "Flat"},
      {1, 1, 0.95, 0, false, "Flat"},
      {100000, 128, 0.95, 0, false, "Flat"},
      {100000, 128, 0.95, 0, true, "L2norm,(Flat)"},
      {100000, 128, 0.95, 40000000, false, "SQfp16"},
      {100000, 128, 0.95, 20000000, false, "SQ8"},
      {1000000, 128, 0.95, 0, false, "IVF4096,PQ32,RFlat"},
      {1000000, 128, 1, 0, false, "Flat"},
      {1000000, 128, 0.95, 400000000, false, "IVF4096,PQ32,Refine(SQfp16)"},
      {1000000, 128, 0.95, 200000000, true, "L2norm,(IVF4096,PQ32,Refine(SQ8))"},
      {1000000, 128, 0.95, 60000000, false, "IVF4096,PQ32"},
      {1000000, 128, 0.95, 20000000, false, "IVF4096,PQ8"},
      {1000000, 97, 0.95, 0, false, "RR100,IVF4096,PQ25,RFlat"},
      {1000000, 74, 0.95, 0, true, "L2norm,(RR76,IVF4096,PQ19,RFlat)"},
      {1000000, 97, 0.95, 20000000, false, "RR100,IVF4096,PQ10"},
      {1000000, 100, 0.95, 0, false, "IVF4096,PQ25,RFlat"},
      {1000000, 90, 0.95, 0, false, "IVF4096,PQ18,RFlat"},
      {2000000, 20, 0.95, 0, false, "IVF4096,PQ10,RFlat"},
      {20000000, 3, 0.95, 0, false, "IVF16384,PQ1,RFlat"},
      {1000000000, 64, 0.95, 0, false, "IVF131072_HNSW32,PQ16,RFlat"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_index_selection selection;
    furrow_error err = {0};
    const furrow_status status =
        choose(cases[i].n, cases[i].d, cases[i].recall, cases[i].max_bytes, cases[i].normalize, &selection, &err);
    if (status != FURROW_OK) print_error("%s\n", err.message);
    assert_int_equal(status, FURROW_OK);
    assert_string_equal(selection.factory, cases[i].factory);
    assert_true(cases[i].max_bytes == 0 || selection.bytes <= cases[i].max_bytes);
  }
}

static void wishes_that_cannot_be_met(void **state) {
  furrow_index_selection selection;
  (void)state;
  assert_int_equal(choose(1000, 0, 0.9, 0, false, &selection, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(choose(1000, 8, 0, 0, false, &selection, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(choose(1000, 8, 1.1, 0, false, &selection, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(choose(1000, 8, 0.9, 1000, false, &selection, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(choose(1000000, 128, 0.9, 5000000, false, &selection, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(choose(UINT64_MAX, 8, 0.9, 0, false, &selection, NULL), FURROW_E_ARGUMENT);
}

/* ---- Settings ------------------------------------------------------------------------------------------- */

enum { D = 8, N = 3000, QUERIES = 100, K = 10 };

static void fill_clusters(float *vectors, size_t n, uint64_t seed) {
  fw_rng centres, rng;
  float centre[40][D];
  fw_rng_init(&centres, 1);
  fill_random(&centres, &centre[0][0], 40 * D);
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    const size_t c = (size_t)fw_rng_below(&rng, 40);
    for (size_t k = 0; k < D; k++) vectors[i * D + k] = 2 * centre[c][k] + (float)fw_rng_normal(&rng);
  }
}

static furrow_index *index_of(const char *factory, const float *vectors) {
  furrow_index_spec spec = plain_spec(D, 0, 0);
  spec.nbits = spec.refine_nbits = 8;
  spec.factory = factory;
  furrow_index *index = NULL;
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.threads = 1;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  if (!index->trained) assert_int_equal(furrow_index_train(index, vectors, N, &params, NULL), FURROW_OK);
  assert_int_equal(add_vectors(index, vectors, N, NULL), FURROW_OK);
  return index;
}

static void find_truth(const float *base, const float *queries, int64_t *truth) {
  furrow_vectors_memory memory;
  furrow_vectors_reader *reader = NULL;
  float distances[QUERIES * K];
  furrow_vectors_memory_init(&memory);
  memory.vectors = base;
  memory.count = N;
  memory.d = D;
  assert_int_equal(furrow_vectors_reader_open_memory(&reader, &memory, NULL), FURROW_OK);
  assert_int_equal(furrow_exact_search(reader, queries, QUERIES, K, NULL, distances, truth, NULL), FURROW_OK);
  furrow_vectors_reader_close(reader);
}

static void settings_reach_a_recall(void **state) {
  static const char *const texts[] = {"IVF64,Flat",  "IVF64,PQ4,RFlat", "IDMap,PQ4x4fs,RFlat",
                                      "IVF64,PQ4+8", "IDMap2,HNSW4",    "HNSW4,PQ4x6,RFlat"};
  float *vectors = malloc(N * D * sizeof *vectors), *queries = malloc(QUERIES * D * sizeof *queries);
  int64_t truth[QUERIES * K];
  (void)state;
  fill_clusters(vectors, N, 2);
  fill_clusters(queries, QUERIES, 3);
  find_truth(vectors, queries, truth);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    furrow_index *index = index_of(texts[i], vectors);
    furrow_index_tuning low, high;
    furrow_index_tune_params params;
    furrow_index_tune_params_init(&params);
    furrow_index_tuning_init(&low);
    furrow_index_tuning_init(&high);
    params.recall = 0.6;
    assert_int_equal(furrow_index_tune(index, queries, QUERIES, truth, K, &params, &low, NULL), FURROW_OK);
    assert_true(low.reached && low.recall >= 0.6);
    params.recall = 0.95;
    params.threads = 1;
    assert_int_equal(furrow_index_tune(index, queries, QUERIES, truth, K, &params, &high, NULL), FURROW_OK);
    if (i != 3) assert_true(high.reached && high.recall >= 0.95);
    const furrow_index *ivf = furrow_index_ivf(index);
    if (ivf) assert_true(low.nprobe < high.nprobe && high.nprobe <= 64 && ivf->ivf.nprobe == high.nprobe);
    if (i == 1) assert_true(index->k_factor == high.k_factor && high.k_factor >= 2);
    if (i == 2) assert_true(index->child[0]->k_factor == high.k_factor && high.nprobe == 0);
    if (i == 4) assert_true(low.ef_search < high.ef_search && index->child[0]->hnsw.ef_search == high.ef_search);
    if (i == 5) assert_true(index->k_factor == high.k_factor && index->child[0]->hnsw.ef_search == high.ef_search);
    if (i == 4) assert_true(low.ef_search >= K);
    if (i == 5) assert_true((float)low.ef_search >= K * low.k_factor);
    furrow_index_free(index);
  }
  furrow_index *index = index_of("IVF64,Flat", vectors);
  furrow_index_tuning tuning;
  furrow_index_tune_params params;
  furrow_index_tune_params_init(&params);
  furrow_index_tuning_init(&tuning);
  assert_int_equal(furrow_index_tune(index, queries, 0, truth, K, NULL, &tuning, NULL), FURROW_E_ARGUMENT);
  params.recall = 0;
  assert_int_equal(furrow_index_tune(index, queries, 1, truth, K, &params, &tuning, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_default_nprobe(1), 1);
  assert_int_equal(furrow_default_nprobe(100), 25);
  assert_int_equal(furrow_default_nprobe(10000), 128);
  furrow_index_free(index);
  free(vectors);
  free(queries);
}

enum { WIDE = 32, MANY = 4800, OWN = MANY / 16 };

typedef struct own_case {
  float vectors[MANY * WIDE], own[OWN * WIDE], others[OWN * WIDE], distances[OWN * (K + 1)];
  int64_t ids[OWN], own_truth[OWN * K], truth[OWN * K], found[OWN * (K + 1)];
} own_case;

static furrow_index *wide_index_of(const char *factory, const float *vectors) {
  furrow_index_spec spec = plain_spec(WIDE, 0, 0);
  spec.nbits = spec.refine_nbits = 8;
  spec.factory = factory;
  furrow_index *index = NULL;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_int_equal(add_vectors(index, vectors, MANY, NULL), FURROW_OK);
  return index;
}

static void search_stored(const furrow_index *index, const float *queries, size_t k, own_case *c) {
  furrow_searcher *searcher = NULL;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_search(searcher, queries, OWN, k, NULL, c->distances, c->found, NULL), FURROW_OK);
  furrow_searcher_free(searcher);
}

/* Fills uniform vectors. Every 16th is a query, which is not its own neighbour. */
static own_case *make_own_case(void) {
  own_case *c = malloc(sizeof *c);
  fw_rng rng;
  fw_rng_init(&rng, 4);
  for (size_t i = 0; i < MANY * WIDE; i++) c->vectors[i] = (float)fw_rng_double(&rng);
  for (size_t i = 0; i < OWN * WIDE; i++) c->others[i] = (float)fw_rng_double(&rng);
  for (size_t q = 0; q < OWN; q++) {
    c->ids[q] = (int64_t)(q * 16);
    memcpy(c->own + q * WIDE, c->vectors + q * 16 * WIDE, WIDE * sizeof *c->own);
  }
  furrow_index *flat = wide_index_of("Flat", c->vectors);
  search_stored(flat, c->others, K, c);
  memcpy(c->truth, c->found, sizeof c->truth);
  search_stored(flat, c->own, K + 1, c);
  for (size_t q = 0; q < OWN; q++) memcpy(c->own_truth + q * K, c->found + q * (K + 1) + 1, K * sizeof *c->own_truth);
  furrow_index_free(flat);
  return c;
}

/* The share of the true neighbours that other queries find with the stored settings. */
static double recall_of_others(const furrow_index *index, own_case *c) {
  size_t found = 0;
  search_stored(index, c->others, K, c);
  for (size_t q = 0; q < OWN; q++)
    for (size_t i = 0; i < K; i++)
      for (size_t j = 0; j < K; j++) found += c->truth[q * K + i] == c->found[q * K + j];
  return (double)found / (OWN * K);
}

/* Vectors of a graph are easier to search for than others; the settings are for others. */
static void own_queries_of_graphs(void **state) {
  static const char *const texts[] = {"HNSW32", "IDMap2,HNSW16"};
  static const double recalls[] = {0.8, 0.95};
  own_case *c = make_own_case();
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    furrow_index *index = wide_index_of(texts[i], c->vectors);
    fw_hnsw *graph = index->kind == FURROW_INDEX_HNSW ? &index->hnsw : &index->child[0]->hnsw;
    const size_t bytes = (size_t)graph->offsets[MANY] * sizeof *graph->neighbors;
    const fw_hnsw before = *graph;
    int32_t *links = malloc(bytes);
    memcpy(links, graph->neighbors, bytes);
    furrow_index_tuning tuning, again;
    furrow_index_tune_params params;
    furrow_index_tune_params_init(&params);
    furrow_index_tuning_init(&tuning);
    furrow_index_tuning_init(&again);
    params.own_ids = c->ids;
    for (size_t r = 0; r < sizeof recalls / sizeof *recalls; r++) {
      params.recall = recalls[r];
      params.threads = 1;
      assert_int_equal(furrow_index_tune(index, c->own, OWN, c->own_truth, K, &params, &tuning, NULL), FURROW_OK);
      assert_true(tuning.reached);
      const double others = recall_of_others(index, c);
      if (others < recalls[r] - 0.005 || others > 1 - (1 - recalls[r]) / 3)
        fail_msg("%s: ef_search %d for recall %.2f finds %.3f", texts[i], (int)tuning.ef_search, recalls[r], others);
    }
    params.threads = 3;
    assert_int_equal(furrow_index_tune(index, c->own, OWN, c->own_truth, K, &params, &again, NULL), FURROW_OK);
    assert_true(again.ef_search == tuning.ef_search && again.recall == tuning.recall);
    assert_ptr_equal(graph->neighbors, before.neighbors); /* the graph is as it was */
    assert_memory_equal(graph->neighbors, links, bytes);
    assert_true(graph->entry_point == before.entry_point && graph->max_level == before.max_level);
    free(links);
    furrow_index_free(index);
  }
  free(c);
}

/* A graph whose vectors are all queries, and one without any other vector. */
static void own_queries_of_few_vectors(void **state) {
  float vectors[5 * D];
  const int64_t ids[5] = {0, 1, 2, 3, 4};
  int64_t truth[5 * 2];
  fw_rng rng;
  (void)state;
  fw_rng_init(&rng, 5);
  fill_random(&rng, vectors, 5 * D);
  for (size_t n = 1; n <= 5; n++) {
    furrow_index *index = NULL;
    furrow_index_spec spec = plain_spec(D, 0, 0);
    spec.nbits = spec.refine_nbits = 8;
    spec.factory = "HNSW4";
    assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
    assert_int_equal(add_vectors(index, vectors, n, NULL), FURROW_OK);
    for (size_t i = 0; i < n * 2; i++) truth[i] = n > 1 + i % 2 ? (int64_t)((i / 2 + 1 + i % 2) % n) : -1;
    furrow_index_tuning tuning;
    furrow_index_tune_params params;
    furrow_index_tune_params_init(&params);
    furrow_index_tuning_init(&tuning);
    params.own_ids = ids;
    params.recall = 1;
    assert_int_equal(furrow_index_tune(index, vectors, n, truth, 2, &params, &tuning, NULL), FURROW_OK);
    assert_true(tuning.reached || n > 2);
    furrow_index_free(index);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_choose_the_kind),      cmocka_unit_test(wishes_that_cannot_be_met),
      cmocka_unit_test(settings_reach_a_recall),    cmocka_unit_test(own_queries_of_graphs),
      cmocka_unit_test(own_queries_of_few_vectors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
