/* tests/unit/vector/test_stored_ids.c: new vectors get ids that are not taken; ids that are there twice are not saved.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/edit_index.h"
#include "support/own_dir.h"

enum { D = 8, N = 60 };

static furrow_index *filled(bool id_map, const int64_t *ids) {
  fw_rng rng;
  float vectors[N * D];
  furrow_index_spec spec = plain_spec(D, 4, 2);
  spec.id_map = id_map;
  spec.refine_flat = id_map;
  furrow_index *index = trained_index(&spec, 7);
  fw_rng_init(&rng, 3);
  fill_random(&rng, vectors, N * D);
  assert_int_equal(add_vectors(index, vectors, N, ids), FURROW_OK);
  return index;
}

static furrow_status add_few(furrow_index *index, size_t n, bool count_ids, furrow_error *err) {
  float vectors[4 * D] = {0.5F};
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.count_ids = count_ids;
  return furrow_index_add(index, vectors, n, &params, NULL, err);
}

static void remove_range(furrow_index *index, int64_t first, int64_t end) {
  const furrow_id_filter filter = range_filter(first, end);
  uint64_t removed = 0;
  assert_int_equal(furrow_index_remove(index, &filter, &removed, NULL), FURROW_OK);
  assert_int_equal(removed, end - first);
}

static bool has_id(const furrow_index *index, int64_t id) {
  float vector[D];
  return furrow_index_reconstruct(index, id, vector, NULL) == FURROW_OK;
}

static furrow_status save_unique(const furrow_index *index, const char *path, furrow_error *err) {
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.unique_ids = params.overwrite = true;
  return furrow_index_save(index, path, &params, err);
}

/* ---- New ids -------------------------------------------------------------------------------------------- */

static furrow_index *load_followed(void) {
  furrow_index *index = NULL;
  assert_int_equal(furrow_index_load(&index, "followed", NULL, NULL), FURROW_OK);
  return index;
}

static void new_ids_follow_the_largest(bool id_map) {
  furrow_error err = {0};
  furrow_index *index = filled(id_map, NULL);
  assert_int_equal(furrow_index_next_id(index), N);
  remove_range(index, 0, 50);
  assert_int_equal(furrow_index_next_id(index), N);
  assert_int_equal(add_few(index, 2, false, &err), FURROW_OK);
  assert_int_equal(add_few(index, 1, false, &err), FURROW_OK); /* the second time it is known */
  for (int64_t id = 50; id < N + 3; id++) assert_true(has_id(index, id));
  assert_false(has_id(index, 10));
  assert_int_equal(save_unique(index, "followed", &err), FURROW_OK);
  assert_int_not_equal(access("followed.nextid", F_OK), 0); /* the ids tell which is next */
  remove_range(index, 55, N + 3);                           /* ids are not given again */
  assert_int_equal(furrow_index_next_id(index), N + 3);
  assert_int_equal(save_unique(index, "followed", &err), FURROW_OK);
  assert_int_equal(access("followed.nextid", F_OK), 0);
  furrow_index_free(index);
  index = load_followed();
  assert_int_equal(furrow_index_next_id(index), N + 3);
  assert_int_equal(add_few(index, 1, false, &err), FURROW_OK);
  assert_true(has_id(index, N + 3));
  assert_int_equal(save_unique(index, "followed", &err), FURROW_OK);
  assert_int_not_equal(access("followed.nextid", F_OK), 0);
  furrow_index_free(index);
}

/* Another index that is saved there has nothing to do with the ids of the one before it. */
static void another_index_begins_again(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_index *index = filled(false, NULL), *other = filled(false, NULL);
  remove_range(index, 50, N);
  assert_int_equal(save_unique(index, "followed", &err), FURROW_OK);
  assert_int_equal(access("followed.nextid", F_OK), 0);
  assert_int_equal(save_unique(other, "followed", &err), FURROW_OK);
  assert_int_not_equal(access("followed.nextid", F_OK), 0);
  /* a link to an index is the index */
  assert_int_equal(symlink("followed", "linked"), 0);
  assert_int_equal(save_unique(index, "linked", &err), FURROW_OK);
  assert_int_equal(access("followed.nextid", F_OK), 0);
  assert_int_not_equal(access("linked.nextid", F_OK), 0);
  furrow_index_free(other);
  other = load_followed();
  assert_int_equal(furrow_index_next_id(other), N);
  /* what is merged brings its ids */
  furrow_index *third = filled(false, NULL);
  remove_range(third, 0, N);
  furrow_index_set_next_id(third, 5000);
  furrow_index_set_next_id(third, 10);
  assert_int_equal(furrow_index_next_id(third), 5000);
  assert_int_equal(furrow_index_merge(other, third, 100, &err), FURROW_OK);
  assert_int_equal(furrow_index_next_id(other), 5100);
  furrow_index_free(third);
  furrow_index_free(other);
  /* an empty index under a new name is a new one */
  third = filled(false, NULL);
  remove_range(third, 0, N);
  assert_int_equal(save_unique(third, "empty", &err), FURROW_OK);
  assert_int_not_equal(access("empty.nextid", F_OK), 0);
  assert_int_equal(save_unique(third, "empty", &err), FURROW_OK);
  assert_int_equal(access("empty.nextid", F_OK), 0);
  furrow_index_free(third);
  /* a file of another kind stays, and one that is damaged is not read */
  static const char *const texts[] = {"mine\n",
                                      "furrow next id \n",
                                      "furrow next id 7",
                                      "furrow next id -7\n",
                                      "furrow next id 7x\n",
                                      "furrow next id 4611686018427387905\n",
                                      ""};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    assert_true(test_write_text("followed.nextid", texts[i]));
    other = load_followed();
    assert_int_equal(furrow_index_next_id(other), 50);
    furrow_index_free(other);
    assert_int_equal(save_unique(index, "followed", &err), FURROW_E_EXISTS);
    assert_non_null(strstr(err.file, "followed.nextid"));
  }
  assert_int_equal(unlink("followed.nextid"), 0);
  assert_int_equal(unlink("linked"), 0);
  furrow_index_free(index);
}

static void they_follow_in_lists_and_in_id_maps(void **state) {
  (void)state;
  new_ids_follow_the_largest(false);
  new_ids_follow_the_largest(true);
}

static void faiss_counts_where_asked(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_index *index = filled(false, NULL);
  remove_range(index, 0, 50);
  assert_int_equal(add_few(index, 2, true, &err), FURROW_OK); /* 10 and 11 */
  assert_true(has_id(index, 10) && has_id(index, 11) && !has_id(index, N));
  assert_int_equal(furrow_index_next_id(index), N);
  furrow_index_free(index);
}

static void ids_can_end(void **state) {
  (void)state;
  furrow_error err = {0};
  int64_t ids[N];
  for (int i = 0; i < N; i++) ids[i] = i;
  ids[5] = INT64_MAX; /* such ids do not count */
  ids[6] = FW_IDS_END;
  furrow_index *index = filled(false, ids);
  assert_int_equal(furrow_index_next_id(index), N);
  assert_int_equal(add_few(index, 1, false, &err), FURROW_OK);
  assert_true(has_id(index, N));
  furrow_index_free(index);
  ids[5] = FW_IDS_END - 3;
  index = filled(false, ids);
  assert_int_equal(furrow_index_next_id(index), FW_IDS_END - 2);
  assert_int_equal(add_few(index, 4, false, &err), FURROW_E_ARGUMENT);
  assert_int_equal(add_few(index, 2, false, &err), FURROW_OK);
  assert_int_equal(add_few(index, 1, false, &err), FURROW_E_ARGUMENT);
  furrow_index_free(index);
}

/* ---- Ids that are there twice ---------------------------------------------------------------------------- */

static void repeated_ids_are_not_saved(void **state) {
  (void)state;
  static const int64_t twice[] = {3, 1000000007, INT64_MAX, -4, INT64_MIN};
  for (size_t t = 0; t < 10; t++) {
    furrow_error err = {0};
    char expected[80];
    int64_t ids[N];
    for (int i = 0; i < N; i++) ids[i] = 10 + i;
    ids[8] = ids[40] = twice[t % 5];
    furrow_index *index = filled(t >= 5, ids);
    snprintf(expected, sizeof expected, "id %lld would occur more than once", (long long)twice[t % 5]);
    assert_int_equal(save_unique(index, "twice", &err), FURROW_E_EXISTS);
    assert_string_equal(err.message, expected);
    assert_int_not_equal(access("twice", F_OK), 0);
    assert_int_equal(furrow_index_save(index, "kept", NULL, &err), FURROW_OK); /* as in Faiss, without being asked */
    assert_int_equal(unlink("kept"), 0);
    furrow_index_free(index);
    ids[8] = twice[t % 5] == INT64_MIN ? 9 : ids[8] - 1;
    ids[40] = 5000000;
    index = filled(t >= 5, ids);
    assert_int_equal(save_unique(index, "fine", &err), FURROW_OK);
    furrow_index_free(index);
  }
}

static void merged_ids_are_compared(void **state) {
  (void)state;
  const char *const paths[] = {"one", "one"};
  const int64_t apart[] = {0, N}, near[] = {0, N - 1};
  for (int id_map = 0; id_map < 2; id_map++) {
    furrow_error err = {0};
    furrow_index_save_params params;
    furrow_index_save_params_init(&params);
    params.unique_ids = params.overwrite = true;
    furrow_index *index = filled(id_map, NULL);
    assert_int_equal(furrow_index_save(index, "one", &params, &err), FURROW_OK);
    furrow_index_free(index);
    assert_int_equal(furrow_index_merge_files(paths, near, 2, NULL, "two", &params, &err), FURROW_E_EXISTS);
    assert_string_equal(err.message, "id 59 would occur more than once");
    assert_int_not_equal(access("two", F_OK), 0);
    assert_int_equal(furrow_index_merge_files(paths, apart, 2, NULL, "two", &params, &err), FURROW_OK);
    params.unique_ids = false;
    assert_int_equal(furrow_index_merge_files(paths, near, 2, NULL, "two", &params, &err), FURROW_OK);
    assert_int_equal(unlink("two"), 0);
  }
}

static int64_t next_id_of(const char *path) {
  furrow_index *index = NULL;
  assert_int_equal(furrow_index_load(&index, path, NULL, NULL), FURROW_OK);
  const int64_t next = furrow_index_next_id(index);
  furrow_index_free(index);
  return next;
}

/* Files are merged list by list, or in memory: the ids that their vectors had are not given again. */
static void merged_files_keep_the_next_id(void **state) {
  (void)state;
  const char *const paths[] = {"one", "one"}, *const whole[] = {"whole", "whole"};
  const int64_t shifts[][2] = {{0, 100}, {100, 0}, {FW_IDS_END, 0}};
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.overwrite = true;
  for (int id_map = 0; id_map < 2; id_map++) {
    furrow_index *index = filled(id_map, NULL);
    assert_int_equal(save_unique(index, "whole", NULL), FURROW_OK);
    remove_range(index, 50, N);
    assert_int_equal(save_unique(index, "one", NULL), FURROW_OK);
    furrow_index_free(index);
    for (int i = 0; i < 3; i++) {
      assert_int_equal(furrow_index_merge_files(paths, shifts[i], 2, NULL, "two", &params, NULL), FURROW_OK);
      assert_int_equal(next_id_of("two"), i < 2 ? 100 + N : 100);
    }
    /* merged with itself; then vectors whose ids follow, and nothing of the index before */
    const char *const again[] = {"one", "two"};
    assert_int_equal(furrow_index_merge_files(paths, shifts[0], 2, NULL, "two", &params, NULL), FURROW_OK);
    assert_int_equal(furrow_index_merge_files(again, (int64_t[]){1000, 0}, 2, NULL, "two", &params, NULL), FURROW_OK);
    assert_int_equal(next_id_of("two"), 1000 + N);
    assert_int_equal(access("two.nextid", F_OK), 0);
    assert_int_equal(furrow_index_merge_files(whole, shifts[0], 2, NULL, "two", &params, NULL), FURROW_OK);
    assert_int_not_equal(access("two.nextid", F_OK), 0);
    assert_int_equal(next_id_of("two"), 100 + N);
    assert_int_equal(unlink("two"), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(they_follow_in_lists_and_in_id_maps),
      cmocka_unit_test(faiss_counts_where_asked),
      cmocka_unit_test(ids_can_end),
      cmocka_unit_test(another_index_begins_again),
      cmocka_unit_test(repeated_ids_are_not_saved),
      cmocka_unit_test(merged_ids_are_compared),
      cmocka_unit_test(merged_files_keep_the_next_id),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
