/* tests/unit/vector/test_index_merge.c: indexes that are merged, in memory and in files; what does not agree is named.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"

enum { D = 8, PARTS = 3 };

/* ---- Parts ---------------------------------------------------------------------------------------------- */

static const size_t part_sizes[PARTS] = {130, 0, 75};

/* Indexes with the same quantizers and vectors of their own, as part0, part1, …, and in memory. */
static void make_parts(const furrow_index_spec *spec, furrow_index *parts[PARTS]) {
  fw_rng rng;
  fw_rng_init(&rng, 31);
  furrow_index *empty = trained_index(spec, 3);
  for (int i = 0; i < PARTS; i++) {
    char name[16];
    float vectors[200 * D];
    parts[i] = copy_of(empty);
    fill_random(&rng, vectors, part_sizes[i] * D);
    assert_int_equal(add_vectors(parts[i], vectors, part_sizes[i], NULL), FURROW_OK);
    snprintf(name, sizeof name, "part%d", i);
    assert_int_equal(furrow_index_save(parts[i], name, &overwriting, NULL), FURROW_OK);
  }
  furrow_index_free(empty);
}

static void free_parts(furrow_index *parts[PARTS]) {
  for (int i = 0; i < PARTS; i++) furrow_index_free(parts[i]);
}

static const char *const part_paths[PARTS] = {"part0", "part1", "part2"};
static const int64_t part_shifts[PARTS] = {0, 130, 130};

static furrow_status merge_parts(const char *target) {
  furrow_error err = {0};
  furrow_status status = furrow_index_merge_files(part_paths, part_shifts, PARTS, NULL, target, &overwriting, &err);
  if (status != FURROW_OK) print_error("%s: %s\n", err.file, err.message);
  return status;
}

/* ---- Files and memory ----------------------------------------------------------------------------------- */

static void check_both_ways(const furrow_index_spec *spec) {
  furrow_index *parts[PARTS], *merged = NULL;
  float a[D], b[D];
  make_parts(spec, parts);
  furrow_index *first = copy_of(parts[0]);
  for (int i = 1; i < PARTS; i++)
    assert_int_equal(furrow_index_merge(parts[0], parts[i], part_shifts[i], NULL), FURROW_OK);
  assert_int_equal(merge_parts("merged"), FURROW_OK);
  assert_int_equal(furrow_index_load(&merged, "merged", NULL, NULL), FURROW_OK);
  assert_same_index(merged, parts[0]);
  assert_int_equal(merged->ntotal, 205);
  for (int64_t id = 0; id < 205; id++) {
    assert_int_equal(furrow_index_reconstruct(merged, id, a, NULL), FURROW_OK);
    assert_int_equal(furrow_index_reconstruct(id < 130 ? first : parts[2], id < 130 ? id : id - 130, b, NULL),
                     FURROW_OK);
    assert_memory_equal(a, b, sizeof a);
  }
  check_sound(merged, "sound");
  furrow_index_free(merged);
  furrow_index_free(first);
  free_parts(parts);
}

static void files_and_memory_give_the_same(void **state) {
  (void)state;
  furrow_index_spec specs[8];
  for (int i = 0; i < 8; i++) specs[i] = plain_spec(D, 5, 4);
  specs[1].m = 0;
  specs[2].opq = true;
  specs[3].refine_flat = true;
  specs[4].refine_m = 2;
  specs[5].refine_flat = specs[5].id_map = true;
  specs[6].refine_m = 2;
  specs[6].id_map = specs[6].opq = true;
  specs[7].hnsw_m = 4;
  for (int i = 0; i < 8; i++) check_both_ways(&specs[i]);
}

/* An id map around lists: no spec makes one. */
static void wrap(furrow_index **index, int64_t first_id) {
  furrow_index *map = NULL;
  assert_int_equal(fw_index_create(&map, FURROW_INDEX_ID_MAP, (*index)->d, (*index)->metric, NULL), FURROW_OK);
  map->ntotal = (*index)->ntotal;
  map->trained = true;
  map->child[0] = *index;
  map->id_map.ids = malloc(8 * (size_t)map->ntotal + 8);
  for (int64_t i = 0; i < map->ntotal; i++) map->id_map.ids[i] = first_id + 10 * i;
  *index = map;
}

static void id_maps_are_joined(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 5, 4);
  furrow_index *parts[PARTS], *merged = NULL;
  const int64_t shifts[PARTS] = {1, 0, 5000};
  float a[D], b[D];
  make_parts(&spec, parts);
  for (int i = 0; i < PARTS; i++) {
    wrap(&parts[i], 100);
    assert_int_equal(furrow_index_save(parts[i], part_paths[i], &overwriting, NULL), FURROW_OK);
  }
  assert_int_equal(furrow_index_merge_files(part_paths, shifts, PARTS, NULL, "merged", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_load(&merged, "merged", NULL, NULL), FURROW_OK);
  assert_int_equal(merged->ntotal, 205);
  for (int64_t i = 0; i < 205; i++) {
    int part = i < 130 ? 0 : 2;
    int64_t id = 100 + 10 * (part == 0 ? i : i - 130);
    assert_int_equal(merged->id_map.ids[i], id + shifts[part]);
    assert_int_equal(furrow_index_reconstruct(merged, id + shifts[part], a, NULL), FURROW_OK);
    assert_int_equal(furrow_index_reconstruct(parts[part], id, b, NULL), FURROW_OK);
    assert_memory_equal(a, b, sizeof a);
  }
  check_sound(merged, "sound");
  furrow_index_free(merged);
  free_parts(parts);
}

/* The result has the direct map of no input; shifts of the first count, too. */
static void maps_go_and_first_ids_shift(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 5, 0);
  furrow_index *parts[PARTS], *merged = NULL;
  const int64_t shifts[PARTS] = {-1000, 0, 70000};
  float a[D], b[D];
  make_parts(&spec, parts);
  for (int i = 0; i < PARTS; i++) {
    assert_int_equal(furrow_index_set_direct_map(parts[i], FURROW_DIRECT_MAP_ARRAY, NULL), FURROW_OK);
    assert_int_equal(furrow_index_save(parts[i], part_paths[i], &overwriting, NULL), FURROW_OK);
  }
  assert_int_equal(furrow_index_merge_files(part_paths, shifts, PARTS, NULL, "part0", &overwriting, NULL), FURROW_OK);
  assert_int_equal(furrow_index_load(&merged, "part0", NULL, NULL), FURROW_OK);
  assert_int_equal(merged->ivf.direct_map.type, FURROW_DIRECT_MAP_NONE);
  assert_int_equal(furrow_index_reconstruct(merged, -1000 + 129, a, NULL), FURROW_OK);
  assert_int_equal(furrow_index_reconstruct(parts[0], 129, b, NULL), FURROW_OK);
  assert_memory_equal(a, b, sizeof a);
  assert_int_equal(furrow_index_reconstruct(merged, 70000 + 74, a, NULL), FURROW_OK);
  assert_int_equal(furrow_index_reconstruct(merged, 0, a, NULL), FURROW_E_NOT_FOUND);
  furrow_index_free(merged);
  free_parts(parts);
}

/* In memory, an array goes on only where ids do. */
static void an_array_map_goes_on_or_refuses(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 5, 4);
  furrow_index *parts[PARTS], *before;
  furrow_error err = {0};
  make_parts(&spec, parts);
  assert_int_equal(furrow_index_set_direct_map(parts[0], FURROW_DIRECT_MAP_ARRAY, NULL), FURROW_OK);
  before = copy_of(parts[0]);
  assert_int_equal(furrow_index_merge(parts[0], parts[2], 1000, &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, "array"));
  assert_same_index(parts[0], before);
  assert_int_equal(furrow_index_merge(parts[0], parts[2], 130, &err), FURROW_OK);
  assert_int_equal(parts[0]->ivf.direct_map.count, 205);
  check_sound(parts[0], "sound");
  furrow_index_free(before);
  free_parts(parts);
}

/* ---- What does not agree -------------------------------------------------------------------------------- */

static void expect_differ(const furrow_index_spec *spec, uint64_t seed, void (*change)(furrow_index *other),
                          furrow_status status, const char *message) {
  furrow_index_spec plain = plain_spec(D, 5, 4);
  furrow_index *a = trained_index(&plain, 3), *b = trained_index(spec, seed), *before;
  furrow_error err = {0};
  float vectors[20 * D];
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) vectors[i] = (float)(i % 5);
  if (spec->d == D) assert_int_equal(add_vectors(b, vectors, 20, NULL), FURROW_OK);
  if (change) change(b);
  before = copy_of(a);
  assert_int_equal(furrow_index_merge(a, b, 0, &err), status);
  if (!strstr(err.message, message)) print_error("%s\n", err.message);
  assert_non_null(strstr(err.message, message));
  assert_same_index(a, before);
  assert_int_equal(furrow_index_save(a, "a", &overwriting, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(b, "b", &overwriting, NULL), FURROW_OK);
  const char *paths[] = {"a", "b"};
  assert_int_equal(furrow_index_merge_files(paths, NULL, 2, NULL, "target", &overwriting, &err), status);
  assert_non_null(strstr(err.message, message));
  assert_string_equal(err.file, "b");
  assert_int_equal(access("target", F_OK), -1);
  furrow_index_free(a);
  furrow_index_free(b);
  furrow_index_free(before);
}

static void move_centroid(furrow_index *other) {
  other->child[0]->flat.vectors[2 * D + 1] += 0.5f;
}
static void move_pq(furrow_index *other) {
  other->ivf.pq.centroids[17] += 0.5f;
}
static void last_id(furrow_index *other) {
  for (size_t i = 0; i < 5; i++)
    if (other->ivf.lists.list[i].size > 0) fw_put_le64(other->ivf.lists.list[i].ids, INT64_MAX);
}

static void differences_are_named(void **state) {
  (void)state;
  furrow_index_spec plain = plain_spec(D, 5, 4), spec = plain;
  spec.d = 12;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "dimension is 8 in one, 12");
  spec = plain;
  spec.metric = FURROW_METRIC_IP;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "metric is L2 in one, inner product");
  spec = plain;
  spec.nlist = 6;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "nlist is 5 in one, 6");
  spec = plain;
  spec.m = 2;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "code_size is 2 in one, 1");
  spec = plain;
  spec.m = 2;
  spec.nbits = 8;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "sub-quantizers is 4 in one, 2");
  spec = plain;
  spec.m = 0;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "inverted lists of vectors");
  spec = plain;
  spec.by_residual = false;
  expect_differ(&spec, 3, NULL, FURROW_E_ARGUMENT, "by_residual");
  expect_differ(&plain, 3, move_centroid, FURROW_E_ARGUMENT, "coarse centroids of list 2 differ");
  expect_differ(&plain, 3, move_pq, FURROW_E_ARGUMENT, "product quantizers differ");
}

static void other_transforms_are_named(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 5, 4);
  furrow_error err = {0};
  spec.opq = true;
  furrow_index *a = trained_index(&spec, 3), *b = trained_index(&spec, 4);
  assert_int_equal(furrow_index_merge(a, b, 0, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "transforms differ"));
  assert_int_equal(furrow_index_merge(a, a, 0, &err), FURROW_E_ARGUMENT);
  furrow_index_free(a);
  furrow_index_free(b);
}

static void ids_that_do_not_fit_are_refused(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 5, 4);
  furrow_index *parts[PARTS];
  furrow_error err = {0};
  make_parts(&spec, parts);
  last_id(parts[2]);
  assert_int_equal(furrow_index_merge(parts[0], parts[2], 1, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_index_save(parts[2], "part2", &overwriting, NULL), FURROW_OK);
  assert_int_equal(furrow_index_merge_files(part_paths, part_shifts, PARTS, NULL, "merged", &overwriting, &err),
                   FURROW_E_RANGE);
  assert_string_equal(err.file, "part2");
  free_parts(parts);
  spec.refine_flat = true;
  make_parts(&spec, parts);
  assert_int_equal(furrow_index_merge(parts[0], parts[2], 129, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "continue at 130"));
  free_parts(parts);
}

static void bad_inputs_are_refused(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 5, 4);
  furrow_index *parts[PARTS];
  furrow_error err = {0};
  index_file before = {0}, after = {0};
  make_parts(&spec, parts);
  const char *paths[] = {"part0", "nowhere"};
  assert_int_equal(furrow_index_merge_files(paths, NULL, 0, NULL, "target", &overwriting, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_merge_files(paths, NULL, 2, NULL, "target", &overwriting, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_index_merge_files(paths, NULL, 1, NULL, "part2", NULL, &err), FURROW_E_EXISTS);
  assert_int_equal(truncate("part2", 500), 0);
  read_whole("part0", &before);
  assert_int_equal(furrow_index_merge_files(part_paths, NULL, PARTS, NULL, "part0", &overwriting, &err),
                   FURROW_E_FORMAT);
  read_whole("part0", &after);
  assert_same_bytes(&before, &after);
  index_file_clear(&before);
  index_file_clear(&after);
  free_parts(parts);
}

/* Bytes behind the index, whether lists or whole indexes are merged. */
static void inputs_are_read_as_told(void **state) {
  (void)state;
  for (int refined = 0; refined < 2; refined++) {
    furrow_index_spec spec = plain_spec(D, 5, 4);
    furrow_index *parts[PARTS];
    furrow_index_load_params load;
    furrow_error err = {0};
    index_file want = {0}, got = {0};
    spec.refine_flat = refined;
    make_parts(&spec, parts);
    const int64_t *shifts = refined ? NULL : part_shifts;
    assert_int_equal(furrow_index_merge_files(part_paths, shifts, PARTS, NULL, "merged", &overwriting, &err),
                     FURROW_OK);
    read_whole("merged", &want);
    for (size_t i = 0; i < PARTS; i++) {
      FILE *file = fopen(part_paths[i], "ab");
      assert_true(file && fputc('x', file) == 'x' && fclose(file) == 0);
    }
    assert_int_equal(furrow_index_merge_files(part_paths, shifts, PARTS, NULL, "x", &overwriting, &err),
                     FURROW_E_FORMAT);
    furrow_index_load_params_init(&load);
    load.allow_trailing = true;
    assert_int_equal(furrow_index_merge_files(part_paths, shifts, PARTS, &load, "merged", &overwriting, &err),
                     FURROW_OK);
    read_whole("merged", &got);
    assert_same_bytes(&want, &got);
    index_file_clear(&want);
    index_file_clear(&got);
    free_parts(parts);
  }
}

/* ---- Large, interrupted, killed ------------------------------------------------------------------------- */

/* 4 MB of vectors and some KB of everything else. */
static void make_large(const char *path, int64_t first_id) {
  furrow_index_spec spec = plain_spec(D, 5, 0);
  enum { N = 100000 };
  furrow_index *index = trained_index(&spec, 3);
  float *vectors = malloc(N * D * sizeof *vectors);
  int64_t *ids = malloc(N * sizeof *ids);
  fw_rng rng;
  fw_rng_init(&rng, (uint64_t)first_id);
  fill_random(&rng, vectors, N * D);
  for (int64_t i = 0; i < N; i++) ids[i] = first_id + i;
  assert_int_equal(add_vectors(index, vectors, N, ids), FURROW_OK);
  assert_int_equal(furrow_index_save(index, path, &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
  free(vectors);
  free(ids);
}

static const char *const large_paths[] = {"large0", "large1"};
static const int64_t large_shifts[] = {1, 2};

static void memory_stays_small(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  make_large("large0", 0);
  make_large("large1", 1000000);
  alloc_watch();
  assert_int_equal(furrow_index_merge_files(large_paths, large_shifts, 2, NULL, "merged", &overwriting, NULL),
                   FURROW_OK);
  long peak = atomic_load(&alloc_peak);
  if (peak > 3 << 19) print_error("%ld bytes\n", peak);
  assert_true(peak < 3 << 19); /* of which most are buffers of the file that is written */
}

static void a_full_disk_leaves_the_target(void **state) {
  (void)state;
  struct rlimit limit, old;
  furrow_error err = {0};
  make_large("large0", 0);
  make_large("large1", 1000000);
  assert_true(test_write_text("merged", "what was there"));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  limit = old;
  limit.rlim_cur = 1 << 20;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  furrow_status status = furrow_index_merge_files(large_paths, large_shifts, 2, NULL, "merged", &overwriting, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(status, FURROW_E_IO);
  index_file after = {0};
  read_whole("merged", &after);
  assert_int_equal(after.size, strlen("what was there"));
  index_file_clear(&after);
}

static void merge_for_ever(void) {
  alarm(60); /* in case nobody is left to kill it */
  while (furrow_index_merge_files(large_paths, large_shifts, 2, NULL, "merged", &overwriting, NULL) == FURROW_OK)
    continue;
  _exit(1);
}

static void a_kill_loses_nothing(void **state) {
  (void)state;
  make_large("large0", 0);
  make_large("large1", 1000000);
  assert_int_equal(furrow_index_merge_files(large_paths, large_shifts, 2, NULL, "merged", &overwriting, NULL),
                   FURROW_OK);
  index_file wanted = {0};
  read_whole("merged", &wanted);
  for (useconds_t i = 0; i < 8; i++) {
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) merge_for_ever();
    usleep(3000 + 2300 * i);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    index_file found = {0};
    read_whole("merged", &found);
    assert_same_bytes(&found, &wanted);
    index_file_clear(&found);
  }
  index_file_clear(&wanted);
}

static void no_memory_leaves_no_target(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_index_spec specs[] = {plain_spec(D, 5, 4), plain_spec(D, 5, 4)};
  specs[1].refine_flat = true;
  for (int i = 0; i < 2; i++) {
    furrow_index *parts[PARTS];
    furrow_status status = FURROW_E_MEMORY;
    make_parts(&specs[i], parts);
    for (long n = 1; status != FURROW_OK; n++) {
      long live = atomic_load(&alloc_live);
      alloc_fail_at(n);
      status = furrow_index_merge_files(part_paths, part_shifts, PARTS, NULL, "merged", &overwriting, NULL);
      alloc_fail_at(0);
      assert_int_equal(atomic_load(&alloc_live), live);
      assert_int_equal(status, access("merged", F_OK) == 0 ? FURROW_OK : FURROW_E_MEMORY);
      assert_true(n < 10000);
    }
    assert_int_equal(remove("merged"), 0);
    free_parts(parts);
  }
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(files_and_memory_give_the_same),  IN_DIR(id_maps_are_joined),
      IN_DIR(maps_go_and_first_ids_shift),     IN_DIR(an_array_map_goes_on_or_refuses),
      IN_DIR(differences_are_named),           IN_DIR(other_transforms_are_named),
      IN_DIR(ids_that_do_not_fit_are_refused), IN_DIR(bad_inputs_are_refused),
      IN_DIR(inputs_are_read_as_told),         IN_DIR(memory_stays_small),
      IN_DIR(a_full_disk_leaves_the_target),   IN_DIR(a_kill_loses_nothing),
      IN_DIR(no_memory_leaves_no_target),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
