/* tests/unit/vector/test_add_golden.c: vectors added to indexes that Faiss trained give what Faiss made of them. */
#include <dirent.h>
#include <math.h>

#include "support/golden_set.h"
#include "support/index_check.h"
#include "vector/index/index.h"

#define ENDING ".trained.index"

/* folder/name and an ending; to be freed. */
static char *join(const char *folder, const char *name, size_t length, const char *ending) {
  const size_t size = strlen(folder) + length + strlen(ending) + 2;
  char *path = malloc(size);
  assert_non_null(path);
  snprintf(path, size, "%s/%.*s%s", folder, (int)length, name, ending);
  return path;
}

static float *read_floats(const char *folder, int32_t d, int64_t n) {
  char name[64];
  index_file f = {0};
  snprintf(name, sizeof name, "base_d%d_n%lld.f32", (int)d, (long long)n);
  char *path = join(folder, name, strlen(name), "");
  read_whole(path, &f);
  free(path);
  assert_int_equal(f.size, (size_t)d * (size_t)n * sizeof(float));
  fw_swap_le(f.bytes, sizeof(float), f.size / sizeof(float));
  return (float *)f.bytes;
}

/* Adds the vectors in `calls` calls. */
static void add_in(furrow_index *index, const float *vectors, size_t n, size_t calls, unsigned threads) {
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.threads = threads;
  furrow_error err = {0};
  uint64_t skipped = 1;
  const size_t step = n / calls + 1;
  for (size_t at = 0; at < n; at += step) {
    const size_t count = n - at < step ? n - at : step;
    const float *from = vectors + at * (size_t)index->d;
    if (furrow_index_add(index, from, count, &params, &skipped, &err) != FURROW_OK) print_error("%s\n", err.message);
    assert_int_equal(err.status, FURROW_OK);
    assert_int_equal(skipped, 0);
  }
}

static void check_case(const char *folder, const char *name, size_t length, size_t calls, unsigned threads) {
  furrow_index *index = NULL, *full = NULL;
  furrow_error err = {0};
  char *path = join(folder, name, length, ENDING);
  assert_int_equal(furrow_index_load(&index, path, NULL, &err), FURROW_OK);
  free(path);
  path = join(folder, name, length, ".index");
  assert_int_equal(furrow_index_load(&full, path, NULL, &err), FURROW_OK);
  float *vectors = read_floats(folder, full->d, full->ntotal);
  add_in(index, vectors, (size_t)full->ntotal, calls, threads);
  index_file have = {0}, want = {0};
  write_bytes(index, &have);
  read_whole(path, &want);
  if (have.size != want.size || memcmp(have.bytes, want.bytes, want.size) != 0)
    print_error("%s: other bytes than Faiss wrote\n", name);
  assert_same_bytes(&have, &want);
  index_file_clear(&have);
  index_file_clear(&want);
  free(path);
  free(vectors);
  furrow_index_free(index);
  furrow_index_free(full);
}

static size_t check_all(size_t calls, unsigned threads) {
  char folder[TEST_PATH];
  size_t count = 0;
  DIR *dir = opendir(golden_path(folder, "faiss"));
  assert_non_null(dir);
  for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
    const size_t length = strlen(entry->d_name), ending = strlen(ENDING);
    if (length <= ending || strcmp(entry->d_name + length - ending, ENDING) != 0) continue;
    check_case(folder, entry->d_name, length - ending, calls, threads);
    count++;
  }
  closedir(dir);
  return count;
}

static void test_at_once(void **state) {
  (void)state;
  assert_true(check_all(1, 1) >= (golden_is_full ? 20 : 6));
}

static void test_in_pieces(void **state) {
  (void)state;
  assert_true(check_all(7, 2) >= (golden_is_full ? 20 : 6));
}

/* With the direct maps that Faiss kept. */
static void test_direct_map(void **state) {
  (void)state;
  char folder[TEST_PATH], path[TEST_PATH];
  furrow_error err = {0};
  furrow_index *full = NULL, *index = NULL;
  golden_path(folder, "faiss");
  golden_path(path, "faiss/v173_ivfpq_l2_dmap_array.index");
  assert_int_equal(furrow_index_load(&full, path, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_index_load(&index, path, NULL, &err), FURROW_OK);
  float *vectors = read_floats(folder, full->d, full->ntotal);
  const size_t n = (size_t)full->ntotal;
  add_in(index, vectors, n, 3, 2);
  const fw_direct_map *map = &index->ivf.direct_map;
  assert_int_equal(map->count, 2 * n);
  for (size_t i = 0; i < n; i++) {
    const size_t list = (size_t)(map->locations[i] >> 32), offset = (size_t)(map->locations[n + i] & UINT32_MAX);
    assert_int_equal(map->locations[n + i] >> 32, list); /* the same vector goes to the same list */
    assert_true(fw_list_id(&index->ivf.lists.list[list], offset) == (int64_t)(n + i));
    assert_int_equal(map->locations[i], full->ivf.direct_map.locations[i]);
  }
  free(vectors);
  furrow_index_free(full);
  furrow_index_free(index);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GOLDEN_TEST(test_at_once),
      GOLDEN_TEST(test_in_pieces),
      cmocka_unit_test(test_direct_map),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
