/* tests/unit/recommend/test_item_search.c: the exact search finds what comparing each with each finds, on every level
 * of instructions, for any users of a call; the index finds the share that it promises, and its files
 * are used only for the vectors that they were made of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "recommend/item_index.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/own_dir.h"

static furrow_error err;

typedef struct made {
  size_t n, users, d;
  float *items, *queries;
  uint8_t *allowed;
  uint32_t *seen; /* 7 of each user, ascending */
} made;

enum { SEEN = 7, CENTRES = 20 };

/* Clusters, as trained vectors have them; `steps` > 0: numbers are multiples of 1 / steps, so that many products are
 * equal and exact. */
static made make(size_t n, size_t users, size_t d, unsigned steps, uint64_t seed) {
  made m = {.n = n, .users = users, .d = d};
  fw_rng rng;
  fw_rng_init(&rng, seed);
  m.items = malloc(n * d * sizeof *m.items);
  m.queries = malloc(users * d * sizeof *m.queries);
  m.allowed = malloc(n);
  m.seen = malloc(users * SEEN * sizeof *m.seen);
  float *centres = malloc(CENTRES * d * sizeof *centres);
  for (size_t i = 0; i < CENTRES * d; i++) centres[i] = (float)fw_rng_normal(&rng);
  for (size_t i = 0; i < (n + users) * d; i++) {
    float *to = i < n * d ? &m.items[i] : &m.queries[i - n * d];
    *to = centres[i / d * 7 % CENTRES * d + i % d] + 0.3F * (float)fw_rng_normal(&rng);
    if (steps) *to = roundf(*to * (float)steps) / (float)steps;
  }
  for (size_t i = 0; i < users; i++) m.queries[i * d + d - 1] = 1;
  for (size_t i = 0; i < n; i++) m.allowed[i] = fw_rng_below(&rng, 3) > 0;
  for (size_t i = 0; i < users * SEEN; i++)
    m.seen[i] = (uint32_t)(n / SEEN * (i % SEEN) + fw_rng_below(&rng, n / SEEN ? n / SEEN : 1));
  free(centres);
  return m;
}

static void clear(made *m) {
  free(m->items);
  free(m->queries);
  free(m->allowed);
  free(m->seen);
}

/* The definition. */
static void compare_all(const made *m, size_t user, size_t k, bool filtered, fw_scored *results) {
  fw_scored *all = malloc((m->n + 1) * sizeof *all);
  const fw_item_set seen = {.items = m->seen + user * SEEN, .count = SEEN};
  size_t count = 0;
  for (uint32_t i = 0; i < m->n; i++) {
    if (filtered && (!m->allowed[i] || fw_item_set_has(&seen, i))) continue;
    double sum = 0;
    for (size_t j = 0; j < m->d; j++) sum += (double)m->queries[user * m->d + j] * m->items[i * m->d + j];
    all[count++] = (fw_scored){.score = sum, .item = i};
  }
  fw_scored_sort(all, count);
  for (size_t i = 0; i < k; i++) results[i] = i < count ? all[i] : (fw_scored){.score = -INFINITY, .item = FW_NO_ITEM};
  free(all);
}

static void assert_same(const fw_scored *a, const fw_scored *b, size_t k) {
  for (size_t i = 0; i < k; i++) {
    assert_int_equal(a[i].item, b[i].item);
    assert_true(a[i].score == b[i].score);
  }
}

static void search_and_compare(const made *m, size_t k, size_t at_once, bool filtered, double scale) {
  fw_item_search *search = NULL;
  fw_item_set *seen = malloc(m->users * sizeof *seen);
  fw_scored *results = malloc(m->users * k * sizeof *results), *expected = malloc(k * sizeof *expected);
  uint64_t compared = 0;
  for (size_t i = 0; i < m->users; i++) seen[i] = (fw_item_set){.items = m->seen + i * SEEN, .count = SEEN};
  assert_int_equal(fw_item_search_create(&search, m->items, m->n, m->d, scale, &err), FURROW_OK);
  for (size_t first = 0; first < m->users; first += at_once) {
    const fw_item_query query = {.queries = m->queries + first * m->d,
                                 .count = m->users - first < at_once ? m->users - first : at_once,
                                 .k = k,
                                 .allowed = filtered ? m->allowed : NULL,
                                 .seen = filtered ? seen + first : NULL};
    assert_int_equal(fw_item_search_run(search, &query, results + first * k, &compared, &err), FURROW_OK);
  }
  assert_true(compared <= (uint64_t)m->users * m->n);
  for (size_t i = 0; i < m->users; i++) {
    compare_all(m, i, k, filtered, expected);
    assert_same(results + i * k, expected, k);
  }
  fw_item_search_free(search);
  free(seen);
  free(results);
  free(expected);
}

static void finds_what_comparing_all_finds(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 15, 256, 257, 3000}, dimensions[] = {1, 2, 9, 17, 40};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t d = 0; d < sizeof dimensions / sizeof *dimensions; d++)
      for (unsigned steps = 0; steps <= 2; steps += 2) {
        made m = make(sizes[s], 37 / SLOW + 2, dimensions[d], steps, 10 * s + d);
        search_and_compare(&m, 10, 128, false, 1);
        search_and_compare(&m, 1, 5, true, 0.01);
        search_and_compare(&m, 10, 17, true, 100);
        clear(&m);
      }
}

static void leaves_out_blocks_that_cannot_win(void **state) {
  (void)state;
  made m = make(5000, 64, 9, 0, 3);
  for (size_t i = 0; i < m.n; i++) /* few items are long, as popular ones are */
    for (size_t j = 0; j < m.d; j++) m.items[i * m.d + j] *= i % 49 == 0 ? 1 : 0.1F;
  fw_item_search *search = NULL;
  fw_scored results[64 * 10];
  uint64_t compared = 0;
  const fw_item_query query = {.queries = m.queries, .count = 64, .k = 10};
  assert_int_equal(fw_item_search_create(&search, m.items, m.n, m.d, 3, &err), FURROW_OK);
  assert_int_equal(fw_item_search_run(search, &query, results, &compared, &err), FURROW_OK);
  assert_in_range(compared, 1, 64 * m.n / 3);
  fw_item_search_free(search);
  search_and_compare(&m, 10, 64, false, 3);
  clear(&m);
}

/* ---- The index ------------------------------------------------------------------------------------------ */

enum { K = 10, USERS = 128 };

static void make_truth(const made *m, fw_scored *truth) {
  for (size_t i = 0; i < m->users; i++) compare_all(m, i, K, false, truth + i * K);
}

static double recall_of(const fw_item_index *index, const made *m, const fw_scored *truth, fw_scored *results) {
  const fw_item_query query = {.queries = m->queries, .count = m->users, .k = K};
  size_t found = 0;
  assert_int_equal(fw_item_index_run(index, &query, results, &err), FURROW_OK);
  for (size_t i = 0; i < m->users; i++)
    for (size_t a = 0; a < K; a++)
      for (size_t b = 0; b < K; b++) found += truth[i * K + a].item == results[i * K + b].item;
  return (double)found / (double)(m->users * K);
}

static void an_index_finds_what_it_promises(void **state) {
  (void)state;
  static const double asked[] = {0.5, 0.9, 0.99};
  made m = make(8000, USERS, 17, 0, 5);
  fw_scored truth[USERS * K], results[USERS * K];
  make_truth(&m, truth);
  fw_item_index index;
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 2, &err), FURROW_OK);
  assert_true(index.built && !index.kept);
  double cost = 0;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(fw_item_index_tune(&index, m.queries, m.users, truth, K, asked[i], 2, &err), FURROW_OK);
    assert_true(index.recall >= asked[i]);
    assert_true(index.cost >= cost); /* more recall is not cheaper */
    cost = index.cost;
    assert_true(recall_of(&index, &m, truth, results) >= index.recall - 1e-9); /* more are fetched than were counted */
    for (size_t j = 0; j < USERS * K; j++) /* scores are those of the vectors, not of the codes */
      assert_true(results[j].item == FW_NO_ITEM ||
                  results[j].score == fw_item_product(m.queries + j / K * m.d, m.items + results[j].item * m.d, m.d));
  }
  fw_item_index_clear(&index);
  clear(&m);
}

static void an_index_is_kept_for_its_vectors(void **state) {
  (void)state;
  made m = make(3000, USERS, 9, 0, 6);
  fw_item_index index;
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  fw_item_index_keep(&index, ".");
  assert_true(index.built && index.kept);
  fw_item_index_clear(&index);
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  assert_true(!index.built && index.kept);
  fw_item_index_clear(&index);
  m.items[5] += 1; /* another model */
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  assert_true(index.built && !index.kept);
  fw_item_index_clear(&index);
  m.items[5] -= 1;
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n - 1, m.d, 1, &err), FURROW_OK);
  assert_true(index.built);
  fw_item_index_clear(&index);
  static const char *const damages[] = {"", "{", "{\"vectors\": 5}", "{\"vectors\": \"xyz\"}", "{}"};
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    assert_true(test_write_file("items.json", damages[i], strlen(damages[i])));
    assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
    assert_true(index.built);
    fw_item_index_clear(&index);
  }
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  fw_item_index_keep(&index, ".");
  fw_item_index_clear(&index);
  assert_true(test_write_file("items.index", "IwPQ", 4)); /* cut short */
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  assert_true(index.built);
  fw_item_index_keep(&index, "no such folder");
  assert_false(index.kept);
  fw_item_index_clear(&index);
  clear(&m);
}

/* Members that a later version may add are skipped. */
static void facts_may_have_more_members(void **state) {
  (void)state;
  made m = make(600, 1, 8, 0, 8);
  fw_item_index index;
  char text[256], more[300];
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  fw_item_index_keep(&index, ".");
  fw_item_index_clear(&index);
  FILE *file = fopen("items.json", "r");
  assert_non_null(file);
  assert_non_null(fgets(text, sizeof text, file));
  fclose(file);
  snprintf(more, sizeof more, "{\"made\": [1, {}], %s", text + 1);
  assert_true(test_write_file("items.json", more, strlen(more)));
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  assert_false(index.built);
  fw_item_index_clear(&index);
  clear(&m);
}

/* Index files of another shape, beside the digest of the right vectors: they are not used. */
static void other_indexes_are_built_anew(void **state) {
  (void)state;
  static const struct {
    size_t n, m;
    int32_t d;
    furrow_distance_metric metric;
    bool trained;
  } others[] = {{600, 0, 8, FURROW_METRIC_IP, true},
                {600, 4, 8, FURROW_METRIC_L2, true},
                {600, 2, 4, FURROW_METRIC_IP, true},
                {599, 4, 8, FURROW_METRIC_IP, true},
                {0, 4, 8, FURROW_METRIC_IP, false}};
  made m = make(600, 1, 8, 0, 9);
  fw_item_index index;
  furrow_index_save_params save;
  furrow_index_save_params_init(&save);
  save.overwrite = true;
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  fw_item_index_keep(&index, ".");
  fw_item_index_clear(&index);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    furrow_index *other = NULL;
    furrow_index_spec spec;
    furrow_index_spec_init(&spec);
    spec.d = others[i].d;
    spec.m = others[i].m;
    spec.metric = others[i].metric;
    spec.nlist = 2;
    assert_int_equal(furrow_index_create(&other, &spec, &err), FURROW_OK);
    if (others[i].trained) {
      assert_int_equal(furrow_index_train(other, m.items, 600, NULL, &err), FURROW_OK);
      assert_int_equal(furrow_index_add(other, m.items, others[i].n, NULL, NULL, &err), FURROW_OK);
    }
    assert_int_equal(furrow_index_save(other, "items.index", &save, &err), FURROW_OK);
    furrow_index_free(other);
    assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
    if (!index.built) fail_msg("index %zu was taken", i);
    fw_item_index_clear(&index);
  }
  clear(&m);
}

/* An index file with ids that are not items, beside the digest of the right vectors. */
static void ids_of_a_file_are_not_trusted(void **state) {
  (void)state;
  made m = make(3000, USERS, 8, 0, 7);
  fw_item_index index;
  furrow_index *other = NULL;
  furrow_index_spec spec;
  furrow_index_add_params add;
  furrow_index_save_params save;
  int64_t *ids = malloc(m.n * sizeof *ids);
  fw_scored truth[USERS * K], results[USERS * K];
  furrow_index_spec_init(&spec);
  furrow_index_add_params_init(&add);
  furrow_index_save_params_init(&save);
  for (size_t i = 0; i < m.n; i++) ids[i] = (int64_t)(i % 2 ? i : i + ((uint64_t)1 << 40));
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  fw_item_index_keep(&index, ".");
  fw_item_index_clear(&index);
  spec.d = 8;
  spec.metric = FURROW_METRIC_IP;
  spec.nlist = 16;
  spec.m = 4;
  add.ids = ids;
  save.overwrite = true;
  assert_int_equal(furrow_index_create(&other, &spec, &err), FURROW_OK);
  assert_int_equal(furrow_index_train(other, m.items, m.n, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_index_add(other, m.items, m.n, &add, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_index_save(other, "items.index", &save, &err), FURROW_OK);
  make_truth(&m, truth);
  assert_int_equal(fw_item_index_open(&index, ".", m.items, m.n, m.d, 1, &err), FURROW_OK);
  assert_false(index.built);
  assert_int_equal(fw_item_index_tune(&index, m.queries, m.users, truth, K, 0.99, 1, &err), FURROW_OK);
  assert_true(index.recall < 0.9); /* the measure shows that the file is of no use */
  recall_of(&index, &m, truth, results);
  for (size_t i = 0; i < USERS * K; i++) assert_true(results[i].item == FW_NO_ITEM || results[i].item < m.n);
  fw_item_index_clear(&index);
  furrow_index_free(other);
  free(ids);
  clear(&m);
}

static int tests(void) {
  const struct CMUnitTest list[] = {
      cmocka_unit_test(finds_what_comparing_all_finds),
      cmocka_unit_test(leaves_out_blocks_that_cannot_win),
      cmocka_unit_test_setup_teardown(an_index_finds_what_it_promises, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(facts_may_have_more_members, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(other_indexes_are_built_anew, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(an_index_is_kept_for_its_vectors, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(ids_of_a_file_are_not_trusted, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(list, NULL, NULL);
}

int main(void) {
  return each_isa(tests);
}
