/* tests/unit/vector/test_vector_sizes.c: parameters of vectors and indexes that were not initialised are refused, and
 * the index stays as it was. */
#include <stdlib.h>

#include "furrow/vector.h"
#include "furrow/vector_data.h"
#include "support/given_sizes.h"
#include "support/own_dir.h"

enum { D = 4, N = 40 };

static float vectors[N * D];
static furrow_index *held;
static furrow_searcher *searcher;
static furrow_shards *shards;

static int setup(void **state) {
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.nlist = 2;
  spec.m = 0;
  for (size_t i = 0; i < N * D; i++) vectors[i] = (float)(i * 7 % 11);
  return enter_dir(state) == 0 && furrow_index_create(&held, &spec, NULL) == FURROW_OK &&
                 furrow_index_train(held, vectors, N, NULL, NULL) == FURROW_OK &&
                 furrow_index_add(held, vectors, N, NULL, NULL, NULL) == FURROW_OK &&
                 furrow_index_save(held, "index", NULL, NULL) == FURROW_OK &&
                 furrow_index_save_shards(held, "parts", NULL, NULL) == FURROW_OK &&
                 furrow_searcher_create(&searcher, held, NULL, NULL) == FURROW_OK &&
                 furrow_shards_open(&shards, "parts", NULL, NULL) == FURROW_OK
             ? 0
             : -1;
}

static int teardown(void **state) {
  furrow_shards_free(shards);
  furrow_searcher_free(searcher);
  furrow_index_free(held);
  return leave_dir(state);
}

static int64_t count_held(void) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(held, &info);
  return info.ntotal;
}

static void refuse_and_write_nothing(const sized_call *calls, size_t count) {
  const int before = test_entries(".");
  sized_calls_refuse(calls, count);
  assert_int_equal(test_entries("."), before);
  assert_int_equal(count_held(), N);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static furrow_status load(const void *given, furrow_error *err) {
  furrow_index *loaded = KEPT;
  const furrow_status status = furrow_index_load(&loaded, "index", given, err);
  assert_ptr_equal(loaded, KEPT);
  return status;
}

static furrow_status read_bytes(const void *given, furrow_error *err) {
  furrow_index *loaded = KEPT;
  const furrow_status status = furrow_index_read(&loaded, "IwFl", 4, NULL, given, err);
  assert_ptr_equal(loaded, KEPT);
  return status;
}

static furrow_status see_no_field(void *user, const furrow_index_field *field) {
  (void)user, (void)field;
  fail_msg("a field was visited");
  return FURROW_OK;
}

static furrow_status list_fields(const void *given, furrow_error *err) {
  return furrow_index_for_each_field("index", given, see_no_field, NULL, err);
}

static furrow_status verify(const void *given, furrow_error *err) {
  return furrow_index_verify("index", given, NULL, NULL, err);
}

static furrow_status save(const void *given, furrow_error *err) {
  return furrow_index_save(held, "new", given, err);
}

static furrow_status save_shards(const void *given, furrow_error *err) {
  return furrow_index_save_shards(held, "new", given, err);
}

static furrow_status take_no_bytes(void *user, const void *bytes, size_t length, furrow_error *err) {
  (void)user, (void)bytes, (void)length, (void)err;
  fail_msg("bytes were written");
  return FURROW_OK;
}

static furrow_status write_output(const void *given, furrow_error *err) {
  furrow_output output;
  furrow_output_init(&output);
  output.write = take_no_bytes;
  return furrow_index_write(held, &output, given, err);
}

static furrow_status find_file_size(const void *given, furrow_error *err) {
  uint64_t size = 77;
  const furrow_status status = furrow_index_file_size(held, given, &size, err);
  assert_int_equal(size, 77);
  return status;
}

static furrow_status merge_loaded(const void *given, furrow_error *err) {
  const char *const paths[] = {"index"};
  return furrow_index_merge_files(paths, NULL, 1, given, "new", NULL, err);
}

static furrow_status merge_saved(const void *given, furrow_error *err) {
  const char *const paths[] = {"index"};
  return furrow_index_merge_files(paths, NULL, 1, NULL, "new", given, err);
}

static void files_refuse_them(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_index_load_params, load),         SIZED(furrow_index_load_params, read_bytes),
      SIZED(furrow_index_load_params, list_fields),  SIZED(furrow_index_load_params, verify),
      SIZED(furrow_index_save_params, save),         SIZED(furrow_index_save_params, save_shards),
      SIZED(furrow_index_save_params, write_output), SIZED(furrow_index_save_params, find_file_size),
      SIZED(furrow_index_load_params, merge_loaded), SIZED(furrow_index_save_params, merge_saved),
  };
  refuse_and_write_nothing(calls, sizeof calls / sizeof *calls);
}

/* ---- Building and searching ----------------------------------------------------------------------------- */

static furrow_status create(const void *given, furrow_error *err) {
  furrow_index *made = KEPT;
  const furrow_status status = furrow_index_create(&made, given, err);
  assert_ptr_equal(made, KEPT);
  return status;
}

static furrow_status train(const void *given, furrow_error *err) {
  assert_int_equal(furrow_index_train_sample_size(held, given), 0);
  return furrow_index_train(held, vectors, N, given, err);
}

static furrow_status add(const void *given, furrow_error *err) {
  uint64_t skipped = 77;
  const furrow_status status = furrow_index_add(held, vectors, N, given, &skipped, err);
  assert_int_equal(skipped, 77);
  return status;
}

static furrow_status remove_ids(const void *given, furrow_error *err) {
  uint64_t removed = 77;
  const furrow_status status = furrow_index_remove(held, given, &removed, err);
  assert_int_equal(removed, 77);
  assert_false(furrow_id_filter_keeps(given, 0));
  return status;
}

static furrow_status create_searcher(const void *given, furrow_error *err) {
  furrow_searcher *made = KEPT;
  const furrow_status status = furrow_searcher_create(&made, held, given, err);
  assert_ptr_equal(made, KEPT);
  return status;
}

static furrow_status search(const void *given, furrow_error *err) {
  float distance = 77;
  int64_t id = 77;
  const furrow_status status = furrow_searcher_search(searcher, vectors, 1, 1, given, &distance, &id, err);
  assert_true(distance == 77 && id == 77);
  return status;
}

static furrow_status search_range(const void *given, furrow_error *err) {
  furrow_range_result *result = KEPT;
  const furrow_status status = furrow_searcher_search_range(searcher, vectors, 1, 1, given, &result, err);
  assert_ptr_equal(result, KEPT);
  return status;
}

static furrow_status search_filtered(const void *given, furrow_error *err) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.filter = given;
  return search(&params, err);
}

static furrow_status open_shards(const void *given, furrow_error *err) {
  furrow_shards *opened = KEPT;
  const furrow_status status = furrow_shards_open(&opened, "parts", given, err);
  assert_ptr_equal(opened, KEPT);
  return status;
}

static furrow_status open_loaded_shards(const void *given, furrow_error *err) {
  furrow_shards_params params;
  furrow_shards_params_init(&params);
  params.load = given;
  return open_shards(&params, err);
}

static furrow_status open_searcher(const void *given, furrow_error *err) {
  furrow_searcher *opened = KEPT;
  assert_int_equal(furrow_searcher_open(&opened, "parts", given, NULL),
                   furrow_searcher_open(&opened, "index", given, err));
  assert_ptr_equal(opened, KEPT);
  return furrow_searcher_open(&opened, "index", given, err);
}

static furrow_status open_loaded_searcher(const void *given, furrow_error *err) {
  furrow_searcher_open_params params;
  furrow_searcher_open_params_init(&params);
  params.load = given;
  return open_searcher(&params, err);
}

static furrow_status load_with_names(const void *given, furrow_error *err) {
  furrow_index *loaded = KEPT;
  furrow_id_names *names = KEPT;
  const furrow_status status = furrow_index_load_with_names(&loaded, &names, "index", given, err);
  assert_true(loaded == KEPT && names == KEPT);
  return status;
}

static furrow_status search_shards(const void *given, furrow_error *err) {
  float distance = 77;
  int64_t id = 77;
  const furrow_status status = furrow_shards_search(shards, vectors, 1, 1, given, &distance, &id, err);
  assert_true(distance == 77 && id == 77);
  return status;
}

static furrow_status search_shards_range(const void *given, furrow_error *err) {
  furrow_range_result *result = KEPT;
  const furrow_status status = furrow_shards_search_range(shards, vectors, 1, 1, given, &result, err);
  assert_ptr_equal(result, KEPT);
  return status;
}

static void indexes_refuse_them(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_index_spec, create),
      SIZED(furrow_index_train_params, train),
      SIZED(furrow_index_add_params, add),
      SIZED(furrow_id_filter, remove_ids),
      SIZED(furrow_searcher_params, create_searcher),
      SIZED(furrow_search_params, search),
      SIZED(furrow_search_params, search_range),
      SIZED(furrow_id_filter, search_filtered),
      SIZED(furrow_shards_params, open_shards),
      SIZED(furrow_index_load_params, open_loaded_shards),
      SIZED(furrow_searcher_open_params, open_searcher),
      SIZED(furrow_index_load_params, open_loaded_searcher),
      SIZED(furrow_index_load_params, load_with_names),
      SIZED(furrow_search_params, search_shards),
      SIZED(furrow_search_params, search_shards_range),
  };
  refuse_and_write_nothing(calls, sizeof calls / sizeof *calls);
}

/* ---- Vectors -------------------------------------------------------------------------------------------- */

static furrow_status open_file(const void *given, furrow_error *err) {
  furrow_vectors_reader *reader = KEPT;
  const furrow_status status = furrow_vectors_reader_open(&reader, "none.fvecs", given, err);
  assert_ptr_equal(reader, KEPT);
  return status;
}

static furrow_status open_matrix(const void *given, furrow_error *err) {
  furrow_vectors_reader *reader = KEPT;
  const furrow_status status = furrow_vectors_reader_open_matrix(&reader, "none", given, err);
  assert_ptr_equal(reader, KEPT);
  return status;
}

static furrow_status open_memory(const void *given, furrow_error *err) {
  furrow_vectors_reader *reader = KEPT;
  const furrow_status status = furrow_vectors_reader_open_memory(&reader, given, err);
  assert_ptr_equal(reader, KEPT);
  return status;
}

static furrow_status open_writer(const void *given, furrow_error *err) {
  furrow_vectors_writer *writer = KEPT;
  const furrow_status status = furrow_vectors_writer_open(&writer, "new.fvecs", given, err);
  assert_ptr_equal(writer, KEPT);
  return status;
}

static furrow_status search_exactly(const void *given, furrow_error *err) {
  furrow_vectors_memory memory;
  furrow_vectors_reader *base = NULL;
  float distance = 77;
  int64_t id = 77;
  furrow_vectors_memory_init(&memory);
  memory.vectors = vectors;
  memory.count = N;
  memory.d = D;
  assert_int_equal(furrow_vectors_reader_open_memory(&base, &memory, NULL), FURROW_OK);
  const furrow_status status = furrow_exact_search(base, vectors, 1, 1, given, &distance, &id, err);
  furrow_vectors_reader_close(base);
  assert_true(distance == 77 && id == 77);
  return status;
}

static furrow_status find_centroids(const void *given, furrow_error *err) {
  float centroid[D] = {77};
  const furrow_status status = furrow_kmeans(vectors, N, D, 1, given, centroid, err);
  assert_true(centroid[0] == 77);
  return status;
}

static furrow_status assign_to_centroids(const void *given, furrow_error *err) {
  uint32_t nearest = 77;
  double objective = 77;
  const furrow_status status = furrow_kmeans_assign(vectors, 1, D, vectors, 2, given, &nearest, &objective, err);
  assert_true(nearest == 77 && objective == 77);
  return status;
}

static furrow_status remove_names(const void *given, furrow_error *err) {
  furrow_id_names *names = NULL;
  assert_int_equal(furrow_id_names_create(&names, NULL), FURROW_OK);
  const furrow_status status = furrow_id_names_remove(names, given, false, err);
  furrow_id_names_free(names);
  return status;
}

static void vectors_refuse_them(void **state) {
  (void)state;
  static const sized_call calls[] = {
      SIZED(furrow_vectors_reader_params, open_file),    SIZED(furrow_vectors_reader_params, open_matrix),
      SIZED(furrow_vectors_memory, open_memory),         SIZED(furrow_vectors_writer_params, open_writer),
      SIZED(furrow_exact_search_params, search_exactly), SIZED(furrow_id_filter, remove_names),
      SIZED(furrow_kmeans_params, find_centroids),       SIZED(furrow_kmeans_params, assign_to_centroids),
  };
  refuse_and_write_nothing(calls, sizeof calls / sizeof *calls);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_refuse_them),
      cmocka_unit_test(indexes_refuse_them),
      cmocka_unit_test(vectors_refuse_them),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
