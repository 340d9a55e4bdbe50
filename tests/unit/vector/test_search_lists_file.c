/* tests/unit/vector/test_search_lists_file.c: searching lists in a data file, which are read when they are probed. */
#include "furrow/init.h"
#include "support/index_check.h"
#include "support/own_dir.h"

enum { D = 64, NLIST = 8, PER_LIST = 4096, N = NLIST * PER_LIST, SAMPLE = 2048, QUERIES = 64, K = 10 };

static float *vectors;

static float noise(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / (float)(1u << 24);
}

/* Vector i is near corner i % NLIST, so that lists have the same size. */
static int make_vectors(void **state) {
  uint32_t seed = 7;
  (void)state;
  vectors = malloc((size_t)N * D * sizeof *vectors);
  assert_non_null(vectors);
  for (size_t i = 0; i < N; i++)
    for (size_t k = 0; k < D; k++) vectors[i * D + k] = noise(&seed) + (k % NLIST == i % NLIST ? 20.0F : 0.0F);
  return 0;
}

static int free_vectors(void **state) {
  (void)state;
  free(vectors);
  return 0;
}

static void build(const char *factory, furrow_distance_metric metric, size_t n) {
  furrow_index *index = NULL;
  furrow_index_spec spec = FURROW_INIT(furrow_index_spec, .d = D, .factory = factory, .metric = metric);
  furrow_error err;
  assert_int_equal(furrow_index_create(&index, &spec, &err), FURROW_OK);
  assert_int_equal(furrow_index_train(index, vectors, SAMPLE, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_index_add(index, vectors, n, NULL, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "whole.index", &overwriting, &err), FURROW_OK);
  remove("apart.lists");
  assert_int_equal(
      furrow_index_save(index, "apart.index",
                        &FURROW_INIT(furrow_index_save_params, .lists_file = "apart.lists", .overwrite = true), &err),
      FURROW_OK);
  furrow_index_free(index);
}

static furrow_searcher *open_index(const char *path, bool map) {
  const furrow_index_load_params load = FURROW_INIT(furrow_index_load_params, .memory_map = map);
  furrow_searcher *searcher = NULL;
  furrow_error err;
  if (furrow_searcher_open(&searcher, path, &FURROW_INIT(furrow_searcher_open_params, .load = &load), &err) !=
      FURROW_OK)
    fail_msg("%s: %s", path, err.message);
  return searcher;
}

static void search(const furrow_searcher *searcher, size_t n, uint64_t nprobe, unsigned threads, float *distances,
                   int64_t *ids) {
  furrow_error err;
  assert_int_equal(furrow_searcher_search(searcher, vectors, n, K,
                                          &FURROW_INIT(furrow_search_params, .nprobe = nprobe, .threads = threads),
                                          distances, ids, &err),
                   FURROW_OK);
}

/* By one thread and by many, which meet at lists that are packed. */
static void answers_are_the_same(void **state) {
  static const char *const factories[] = {"IVF8,PQ16x8", "IVF8,PQ16x4", "IVF8,PQ8x7"};
  static float distances[2][QUERIES * K];
  static int64_t ids[2][QUERIES * K];
  (void)state;
  for (size_t f = 0; f < sizeof factories / sizeof *factories; f++) {
    build(factories[f], f % 2 ? FURROW_METRIC_IP : FURROW_METRIC_L2, N / 4);
    furrow_searcher *whole = open_index("whole.index", false);
    for (unsigned threads = 1; threads <= 4; threads += 3) {
      furrow_searcher *apart = open_index("apart.index", true);
      for (uint64_t nprobe = 1; nprobe <= NLIST; nprobe += 7) {
        search(whole, QUERIES, nprobe, 1, distances[0], ids[0]);
        search(apart, QUERIES, nprobe, threads, distances[1], ids[1]);
        assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
        assert_memory_equal(distances[0], distances[1], sizeof distances[0]);
      }
      furrow_searcher_free(apart);
    }
    furrow_searcher_free(whole);
  }
}

/* The bytes of the mapped data file that this process has touched; -1: the system does not say. */
static long touched_bytes(void) {
  FILE *maps = fopen("/proc/self/smaps", "re");
  char line[1024];
  bool inside = false;
  long kilobytes = -1, rss;
  if (!maps) return -1;
  while (fgets(line, sizeof line, maps)) {
    if (strstr(line, "/apart.lists")) inside = true;
    if (inside && sscanf(line, "Rss: %ld kB", &rss) == 1) {
      kilobytes = (kilobytes < 0 ? 0 : kilobytes) + rss;
      inside = false;
    }
  }
  fclose(maps);
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

/* The system also maps up to 64 KiB around the page that was touched. */
static void only_probed_lists_are_read(void **state) {
  enum { AROUND = 1 << 16, LIST = PER_LIST * (D + 8), MOST = LIST + LIST / 4 + 4 * AROUND };
  static const char *const factories[] = {"IVF8,PQ64", "IVF8,SQ8"};
  static float distances[K];
  static int64_t ids[K];
  (void)state;
  for (size_t f = 0; f < sizeof factories / sizeof *factories; f++) {
    build(factories[f], FURROW_METRIC_L2, N);
    furrow_searcher *apart = open_index("apart.index", true);
    const long before = touched_bytes();
    search(apart, 1, 1, 1, distances, ids);
    assert_int_equal(ids[0], 0);
    const long one = touched_bytes();
    search(apart, 1, NLIST, 1, distances, ids);
    const long all = touched_bytes();
    furrow_searcher_free(apart);
    if (all <= 0) skip(); /* an emulator */
    assert_int_equal(before, 0);
    assert_in_range(one, 1, MOST);
    assert_true(all > 2 * MOST);
  }
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {IN_DIR(answers_are_the_same), IN_DIR(only_probed_lists_are_read)};
#undef IN_DIR
  return cmocka_run_group_tests(tests, make_vectors, free_vectors);
}
