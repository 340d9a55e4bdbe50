/* tests/unit/vector/test_searcher_open.c: an index, or a manifest of shards, loaded with its names in one call: they
 * belong together, or the call says why they do not. */
#include <fcntl.h>
#include <stdio.h>

#include "furrow/init.h"
#include "furrow/vector_data.h"
#include "support/edit_index.h"
#include "support/own_dir.h"

enum { D = 4, N = 60, K = 5 };

static float vectors[N * D];
static furrow_index *held, *other; /* with the same ids, and different vectors */
static furrow_id_names *names;

static furrow_index *made_index(uint64_t seed) {
  const furrow_index_spec spec = plain_spec(D, 3, 2);
  furrow_index *index = trained_index(&spec, 3);
  fw_rng rng;
  fw_rng_init(&rng, seed);
  fill_random(&rng, vectors, N * D);
  assert_int_equal(add_vectors(index, vectors, N, NULL), FURROW_OK);
  return index;
}

static furrow_status save(const furrow_index *index, const furrow_id_names *with, const char *path) {
  return furrow_index_save(index, path, &FURROW_INIT(furrow_index_save_params, .names = with, .overwrite = true), NULL);
}

static int setup(void **state) {
  char texts[N][8];
  const char *list[N];
  if (enter_dir(state) != 0) return -1;
  other = made_index(2);
  held = made_index(1);
  for (size_t i = 0; i < N; i++) {
    snprintf(texts[i], sizeof texts[i], "n%zu", i);
    list[i] = texts[i];
  }
  return furrow_id_names_create(&names, NULL) == FURROW_OK &&
                 furrow_id_names_add(names, NULL, list, N, NULL) == FURROW_OK &&
                 save(held, names, "named") == FURROW_OK && save(held, NULL, "plain") == FURROW_OK &&
                 furrow_index_save_shards(held, "parts", &FURROW_INIT(furrow_index_save_params, .names = names),
                                          NULL) == FURROW_OK
             ? 0
             : -1;
}

static int teardown(void **state) {
  furrow_id_names_free(names);
  furrow_index_free(held);
  furrow_index_free(other);
  return leave_dir(state);
}

/* ---- What is opened ------------------------------------------------------------------------------------- */

static void expect_results(const furrow_searcher *searcher) {
  furrow_searcher *wanted = NULL;
  const furrow_search_params params = FURROW_INIT(furrow_search_params, .nprobe = 2);
  float distances[2][N * K];
  int64_t ids[2][N * K];
  furrow_range_result *ranges[2] = {NULL, NULL};
  assert_int_equal(furrow_searcher_create(&wanted, held, NULL, NULL), FURROW_OK);
  for (int i = 0; i < 2; i++) {
    const furrow_searcher *s = i ? wanted : searcher;
    assert_int_equal(furrow_searcher_search(s, vectors, N, K, &params, distances[i], ids[i], NULL), FURROW_OK);
    assert_int_equal(furrow_searcher_search_range(s, vectors, N, 0.5F, &params, &ranges[i], NULL), FURROW_OK);
  }
  assert_memory_equal(distances[0], distances[1], sizeof *distances);
  assert_memory_equal(ids[0], ids[1], sizeof *ids);
  assert_memory_equal(ranges[0]->starts, ranges[1]->starts, (N + 1) * sizeof *ranges[0]->starts);
  assert_memory_equal(ranges[0]->ids, ranges[1]->ids, (size_t)ranges[0]->starts[N] * sizeof *ranges[0]->ids);
  assert_true(furrow_searcher_memory(searcher) > 0);
  for (int i = 0; i < 2; i++) furrow_range_result_free(ranges[i]);
  furrow_searcher_free(wanted);
}

static void expect_name(const furrow_searcher *searcher, int64_t id, const char *wanted) {
  size_t size = 77;
  const char *name = furrow_searcher_name(searcher, id, &size);
  if (!wanted) {
    assert_null(name);
    return;
  }
  assert_int_equal(size, strlen(wanted));
  assert_memory_equal(name, wanted, size);
}

static void one_call_gives_index_and_names(void **state) {
  (void)state;
  static const struct {
    const char *path;
    bool named;
  } files[] = {{"named", true}, {"plain", false}, {"parts", true}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    for (int skip = 0; skip < 2; skip++) {
      const furrow_searcher_open_params params =
          FURROW_INIT(furrow_searcher_open_params, .skip_names = skip, .threads = 1);
      const bool named = files[i].named && !skip;
      furrow_searcher *searcher = NULL;
      furrow_index_info info;
      assert_int_equal(furrow_searcher_open(&searcher, files[i].path, skip ? &params : NULL, NULL), FURROW_OK);
      expect_results(searcher);
      assert_int_equal(furrow_searcher_dimension(searcher), D);
      assert_int_equal(furrow_searcher_vectors(searcher), N);
      furrow_index_info_init(&info);
      furrow_index_get_info(furrow_searcher_index(searcher), &info);
      assert_int_equal(info.ntotal, N);
      assert_true(!furrow_searcher_names(searcher) == !named);
      if (named) assert_int_equal(furrow_id_names_count(furrow_searcher_names(searcher)), N);
      expect_name(searcher, 7, named ? "n7" : NULL);
      expect_name(searcher, N, NULL);
      expect_name(searcher, -1, NULL);
      furrow_searcher_free(searcher);
    }
}

/* An index that the caller has keeps its owner, and has no names. */
static void an_index_is_borrowed(void **state) {
  (void)state;
  furrow_searcher *searcher = NULL;
  assert_int_equal(furrow_searcher_create(&searcher, held, NULL, NULL), FURROW_OK);
  assert_ptr_equal(furrow_searcher_index(searcher), held);
  assert_int_equal(furrow_searcher_vectors(searcher), N);
  assert_null(furrow_searcher_names(searcher));
  expect_name(searcher, 7, NULL);
  furrow_searcher_free(searcher);
}

static void parameters_of_loading_count(void **state) {
  (void)state;
  static const furrow_index_load_params ways[] = {{.size = sizeof *ways, .memory_map = true},
                                                  {.size = sizeof *ways, .search_only = true}};
  for (size_t i = 0; i < 2; i++)
    for (size_t file = 0; file < 2; file++) {
      furrow_searcher *searcher = NULL;
      float vector[D];
      assert_int_equal(furrow_searcher_open(&searcher, file ? "parts" : "named",
                                            &FURROW_INIT(furrow_searcher_open_params, .load = &ways[i]), NULL),
                       FURROW_OK);
      expect_results(searcher);
      const furrow_status decoded = furrow_index_reconstruct(furrow_searcher_index(searcher), 3, vector, NULL);
      assert_int_equal(decoded, i == 0 ? FURROW_OK : FURROW_E_STATE);
      furrow_searcher_free(searcher);
    }
}

static void an_index_is_loaded_with_its_names(void **state) {
  (void)state;
  for (int named = 0; named < 2; named++) {
    furrow_index *index = NULL;
    furrow_id_names *found = (void *)&index;
    assert_int_equal(furrow_index_load_with_names(&index, &found, named ? "named" : "plain", NULL, NULL), FURROW_OK);
    assert_true(!found == !named);
    if (found) assert_int_equal(furrow_id_names_check(found, index, NULL, NULL), FURROW_OK);
    furrow_id_names_free(found);
    furrow_index_free(index);
  }
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

static char kept;

/* Both calls fail in the same way, and leave what they were given. */
static void expect_refused(const char *path, furrow_status wanted, const char *file, const char *message) {
  furrow_searcher *searcher = (void *)&kept;
  furrow_index *index = (void *)&kept;
  furrow_id_names *found = (void *)&kept;
  furrow_error err;
  for (int opens = 0; opens < 2; opens++) {
    const furrow_status status = opens ? furrow_searcher_open(&searcher, path, NULL, &err)
                                       : furrow_index_load_with_names(&index, &found, path, NULL, &err);
    if (!opens && furrow_is_shards(path)) continue;
    if (status != wanted) fail_msg("%s: %s: %s", path, furrow_status_name(status), err.message);
    assert_int_equal(err.status, wanted);
    assert_string_equal(err.file, file);
    if (message && !strstr(err.message, message)) fail_msg("%s: %s", path, err.message);
  }
  assert_int_equal(furrow_searcher_open(&searcher, path, NULL, NULL), wanted);
  assert_ptr_equal(searcher, &kept);
  assert_ptr_equal(index, &kept);
  assert_ptr_equal(found, &kept);
}

static void flip_byte(const char *path, long at) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
  const int byte = fgetc(file);
  assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
  fputc(byte ^ 1, file);
  assert_int_equal(fclose(file), 0);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  expect_refused("none", FURROW_E_NOT_FOUND, "none", NULL);
  expect_refused(".", FURROW_E_ARGUMENT, ".", "not a regular file");
  assert_true(test_write_text("text", "not an index"));
  expect_refused("text", FURROW_E_FORMAT, "text", NULL);

  /* names of the index before it was changed by another program */
  assert_int_equal(save(held, names, "changed"), FURROW_OK);
  assert_int_equal(save(other, NULL, "another"), FURROW_OK);
  assert_int_equal(rename("another", "changed"), 0);
  expect_refused("changed", FURROW_E_FORMAT, "changed.names", "belong to another index");

  assert_int_equal(save(held, names, "damaged"), FURROW_OK);
  flip_byte("damaged.names", 40);
  expect_refused("damaged", FURROW_E_FORMAT, "damaged.names", NULL);
  assert_int_equal(truncate("damaged.names", 30), 0);
  expect_refused("damaged", FURROW_E_FORMAT, "damaged.names", NULL);
  furrow_searcher *searcher = NULL;
  assert_int_equal(
      furrow_searcher_open(&searcher, "damaged", &FURROW_INIT(furrow_searcher_open_params, .skip_names = true), NULL),
      FURROW_OK);
  furrow_searcher_free(searcher);

  assert_int_equal(
      furrow_index_save_shards(held, "manifest", &FURROW_INIT(furrow_index_save_params, .names = names), NULL),
      FURROW_OK);
  flip_byte("manifest.names", 40);
  expect_refused("manifest", FURROW_E_FORMAT, "manifest.names", NULL);
}

/* An untrained index can be loaded, but not searched. */
static void an_index_that_cannot_be_searched_is_refused(void **state) {
  (void)state;
  furrow_index *empty = NULL;
  furrow_searcher *searcher = (void *)&kept;
  assert_int_equal(furrow_index_create(&empty, &FURROW_INIT(furrow_index_spec, .d = D, .nlist = 3), NULL), FURROW_OK);
  assert_int_equal(save(empty, NULL, "empty"), FURROW_OK);
  assert_int_equal(furrow_searcher_open(&searcher, "empty", NULL, NULL), FURROW_E_STATE);
  assert_ptr_equal(searcher, &kept);
  furrow_index_free(empty);
}

/* ---- Files that are replaced meanwhile ------------------------------------------------------------------ */

/* Files of the folder as racing://NAME. When the names are opened, another program writes the index. */
static void (*race)(void);

static furrow_status racing_stat(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  struct stat found;
  (void)user, (void)err;
  if (stat(path, &found) != 0) return FURROW_E_NOT_FOUND;
  info->kind = FURROW_FILE_REGULAR;
  info->length = (uint64_t)found.st_size;
  info->changed_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec;
  return FURROW_OK;
}

static furrow_status racing_open(void *user, const char *path, void **file, furrow_error *err) {
  (void)user, (void)err;
  if (strstr(path, ".names") && race) {
    race();
    race = NULL;
  }
  *file = fopen(path, "rb");
  return *file ? FURROW_OK : FURROW_E_NOT_FOUND;
}

static furrow_status racing_read(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                                 furrow_error *err) {
  (void)user, (void)err;
  if (fseek(file, (long)offset, SEEK_SET) != 0) return FURROW_E_IO;
  *got = fread(buffer, 1, length, file);
  return FURROW_OK;
}

static void racing_close(void *user, void *file) {
  (void)user;
  fclose(file);
}

static void touch(const char *path, time_t seconds) {
  const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A save gives the index and the names that follow: they fit each other, but not what was loaded. */
static void save_another(void) {
  assert_int_equal(save(other, names, "raced"), FURROW_OK);
  touch("raced", 2000);
}

static void save_without_names(void) {
  assert_int_equal(save(other, NULL, "raced"), FURROW_OK);
  touch("raced", 2000);
}

static void remove_both(void) {
  assert_int_equal(remove("raced"), 0);
  assert_int_equal(remove("raced.names"), 0);
}

static void nothing(void) {
}

static void an_index_that_is_replaced_is_refused(void **state) {
  (void)state;
  static void (*const races[])(void) = {save_another, save_without_names, remove_both, nothing};
  const furrow_file_system calls = {
      .size = sizeof calls, .stat = racing_stat, .open = racing_open, .read_at = racing_read, .close = racing_close};
  assert_int_equal(furrow_file_system_register("racing", &calls, NULL), FURROW_OK);
  for (size_t i = 0; i < sizeof races / sizeof *races; i++)
    for (int opens = 0; opens < 2; opens++) {
      furrow_searcher *searcher = NULL;
      furrow_index *index = NULL;
      furrow_id_names *found = NULL;
      furrow_error err = {.status = FURROW_OK};
      assert_int_equal(save(held, names, "raced"), FURROW_OK);
      touch("raced", 1000);
      race = races[i];
      const furrow_status status = opens ? furrow_searcher_open(&searcher, "racing://raced", NULL, &err)
                                         : furrow_index_load_with_names(&index, &found, "racing://raced", NULL, &err);
      assert_null(race);
      if (races[i] == nothing) {
        assert_int_equal(status, FURROW_OK);
      } else {
        assert_int_equal(status, FURROW_E_STATE);
        assert_string_equal(err.message, "was replaced while it was read");
        assert_string_equal(err.file, "racing://raced");
        assert_true(err.hint[0] && !searcher && !index && !found);
      }
      furrow_searcher_free(searcher);
      furrow_index_free(index);
      furrow_id_names_free(found);
    }
  assert_int_equal(furrow_file_system_unregister("racing", NULL), FURROW_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_call_gives_index_and_names),
      cmocka_unit_test(an_index_is_borrowed),
      cmocka_unit_test(parameters_of_loading_count),
      cmocka_unit_test(an_index_is_loaded_with_its_names),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(an_index_that_cannot_be_searched_is_refused),
      cmocka_unit_test(an_index_that_is_replaced_is_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
