/* tests/unit/vector/test_filtered_search.c: searches with filters of every selectivity, which correlate with the query
 * or do not, of every kind of index, against a comparison of all vectors that match. */
#include <math.h>

#include "furrow/attributes.h"
#include "furrow/init.h"
#include "support/edit_index.h"

enum { D = 16, N = 4000, CLUSTERS = 40, QUERIES = 12, K = 10, FIRST_ID = 1000 };

static float base[N * D], queries[QUERIES * D];
static int cluster_of[N];

/* ---- Data ----------------------------------------------------------------------------------------------- */

static void make_data(void) {
  static float centres[CLUSTERS * D];
  fw_rng rng;
  fw_rng_init(&rng, 4);
  fill_random(&rng, centres, CLUSTERS * D);
  for (size_t i = 0; i < N + QUERIES; i++) {
    float *x = i < N ? base + i * D : queries + (i - N) * D;
    const size_t c = i * 7919 % CLUSTERS;
    fill_random(&rng, x, D);
    for (size_t j = 0; j < D; j++) x[j] = 3 * centres[c * D + j] + x[j];
    if (i < N) cluster_of[i] = (int)c;
  }
}

/* What a filter keeps: 1 of `of` vectors by chance, or the vectors of 1 of `of` clusters. */
typedef struct keeping {
  unsigned of;
  bool clusters;
} keeping;

static bool keeps(void *user, int64_t id) {
  const keeping *k = user;
  const int64_t row = id - FIRST_ID;
  const uint64_t mixed = (uint64_t)(row + 1) * 0x9e3779b97f4a7c15;
  return k->clusters ? (unsigned)cluster_of[row] % k->of == 0 : (mixed >> 40) % k->of == 0;
}

/* The nearest vectors that match, by comparing all of them. Returns how many there are. */
static size_t compare_all(const float *query, keeping *filter, bool similarity, int64_t nearest[K]) {
  float keys[K];
  size_t count = 0;
  for (size_t i = 0; i < N; i++) {
    if (!keeps(filter, FIRST_ID + (int64_t)i)) continue;
    float key = 0;
    for (size_t j = 0; j < D; j++) {
      const float x = query[j], y = base[i * D + j];
      key += similarity ? -x * y : (x - y) * (x - y);
    }
    size_t at = count < K ? count++ : K;
    for (; at > 0 && keys[at - 1] > key; at--)
      if (at < K) keys[at] = keys[at - 1], nearest[at] = nearest[at - 1];
    if (at < K) keys[at] = key, nearest[at] = FIRST_ID + (int64_t)i;
  }
  return count;
}

/* ---- Indexes -------------------------------------------------------------------------------------------- */

static furrow_index *made_index(const char *factory, furrow_distance_metric metric) {
  static int64_t ids[N];
  furrow_index *index = NULL;
  furrow_error err = {0};
  furrow_index_spec spec;
  for (size_t i = 0; i < N; i++) ids[i] = FIRST_ID + (int64_t)i;
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.metric = metric;
  spec.factory = factory;
  spec.id_map = true;
  if (furrow_index_create(&index, &spec, &err) != FURROW_OK) fail_msg("%s: %s", factory, err.message);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  if (!info.trained) assert_int_equal(furrow_index_train(index, base, N, NULL, NULL), FURROW_OK);
  const furrow_index_add_params params = FURROW_INIT(furrow_index_add_params, .ids = ids);
  if (furrow_index_add(index, base, N, &params, NULL, &err) != FURROW_OK) fail_msg("%s: %s", factory, err.message);
  return index;
}

/* ---- Searches ------------------------------------------------------------------------------------------- */

/* Searches with one filter; returns the share of the nearest matching vectors that were found. */
static double find(const furrow_searcher *searcher, keeping *filter, bool similarity, const char *what) {
  static float distances[QUERIES * K];
  static int64_t ids[QUERIES * K];
  const furrow_id_filter kept =
      FURROW_INIT(furrow_id_filter, .kind = FURROW_ID_FILTER_CALLBACK, .keep = keeps, .user = filter);
  furrow_filtered *filtered = NULL;
  size_t right = 0, all = 0, matches = 0;
  const furrow_search_params search = FURROW_INIT(furrow_search_params, .filter = &kept, .nprobe = 2, .threads = 1);
  assert_int_equal(
      furrow_filtered_create(&filtered, searcher, &FURROW_INIT(furrow_filtered_params, .search = &search), NULL),
      FURROW_OK);
  assert_int_equal(furrow_filtered_search(filtered, queries, QUERIES, K, distances, ids, NULL), FURROW_OK);
  for (size_t i = 0; i < N; i++) matches += keeps(filter, FIRST_ID + (int64_t)i);
  assert_int_equal(furrow_filtered_matches(filtered), matches);
  for (size_t q = 0; q < QUERIES; q++) {
    int64_t nearest[K];
    const size_t there = compare_all(queries + q * D, filter, similarity, nearest);
    for (size_t i = 0; i < K; i++) {
      const int64_t id = ids[q * K + i];
      if ((id >= 0) != (i < there)) fail_msg("%s, query %zu: %zu results, not %zu", what, q, i, there);
      if (id >= 0) assert_true(keeps(filter, id));
      for (size_t j = 0; j < there; j++) right += id == nearest[j];
    }
    all += there;
  }
  furrow_filtered_free(filtered);
  return all ? (double)right / (double)all : 1;
}

static void every_kind_finds_what_matches(void **state) {
  (void)state;
  static const struct {
    const char *factory;
    bool exact; /* it has the vectors, so that its recall can be 1 */
  } kinds[] = {{"Flat", true},
               {"SQ8", false},
               {"PQ8x4", false},
               {"IVF64,Flat", true},
               {"IVF64,SQ8", false},
               {"IVF64,PQ8", false},
               {"IVF64,PQ8,RFlat", true},
               {"IVF64,PQ8x4fs,RFlat", true},
               {"OPQ8,IVF64,PQ8,RFlat", true},
               {"PCA12,IVF16,Flat", false},
               {"HNSW16", true},
               {"L2norm,Flat", false}};
  static const unsigned shares[] = {1, 2, 20, 200, 2000, 1000000};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (int similarity = 0; similarity < 1 + (int)(i % 2); similarity++) {
      const furrow_distance_metric metric = similarity ? FURROW_METRIC_IP : FURROW_METRIC_L2;
      furrow_index *index = made_index(kinds[i].factory, metric);
      furrow_searcher *searcher = NULL;
      assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
      for (size_t s = 0; s < sizeof shares / sizeof *shares; s++)
        for (int clusters = 0; clusters < 2; clusters++) {
          char what[128];
          keeping filter = {.of = shares[s], .clusters = clusters};
          snprintf(what, sizeof what, "%s %s, 1 of %u %s", kinds[i].factory, similarity ? "ip" : "l2", shares[s],
                   clusters ? "clusters" : "vectors");
          const double recall = find(searcher, &filter, similarity, what);
          if (kinds[i].exact && recall < 0.95 * 0.95) fail_msg("%s: recall %.3f", what, recall);
        }
      furrow_searcher_free(searcher);
      furrow_index_free(index);
    }
}

static void wrong_parameters(void **state) {
  (void)state;
  furrow_index *index = made_index("Flat", FURROW_METRIC_L2);
  furrow_searcher *searcher = NULL;
  furrow_filtered *filtered = NULL;
  const furrow_id_filter range = FURROW_INIT(furrow_id_filter, .end = 10);
  const furrow_search_params plain = FURROW_INIT(furrow_search_params),
                             kept = FURROW_INIT(furrow_search_params, .filter = &range);
  float distance;
  int64_t id;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_filtered_create(&filtered, searcher, NULL, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(
      furrow_filtered_create(&filtered, searcher, &FURROW_INIT(furrow_filtered_params, .search = &plain), NULL),
      FURROW_E_ARGUMENT);
  assert_int_equal(furrow_filtered_create(&filtered, searcher,
                                          &FURROW_INIT(furrow_filtered_params, .search = &kept, .recall = 1.5), NULL),
                   FURROW_E_ARGUMENT);
  assert_int_equal(
      furrow_filtered_create(&filtered, searcher, &FURROW_INIT(furrow_filtered_params, .search = &kept), NULL),
      FURROW_OK);
  assert_int_equal(furrow_filtered_matches(filtered), 0);
  assert_int_equal(furrow_filtered_search(filtered, queries, 1, 0, &distance, &id, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_filtered_search(filtered, queries, 1, 1, &distance, &id, NULL), FURROW_OK);
  assert_int_equal(id, -1);
  const float bad[D] = {NAN};
  assert_int_equal(furrow_filtered_search(filtered, bad, 1, 1, &distance, &id, NULL), FURROW_E_RANGE);
  furrow_filtered_free(filtered);
  furrow_searcher_free(searcher);
  furrow_index_free(index);
}

int main(void) {
  make_data();
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_finds_what_matches),
                                     cmocka_unit_test(wrong_parameters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
