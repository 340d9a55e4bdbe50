/* tests/unit/vector/test_index_edit.c: vectors come back from an index, leave it and change in it; a model of ids and
 * vectors follows what is done. */
#include <stdlib.h>

#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"

enum { D = 12, MOST = 4000 };

/* ---- A model: the vector that each id gives back -------------------------------------------------------- */

typedef struct model {
  size_t count;
  struct {
    int64_t id;
    float vector[D];
  } entries[MOST];
  int64_t next_id;
} model;

static size_t find_entry(const model *m, int64_t id) {
  size_t i = 0;
  while (i < m->count && m->entries[i].id != id) i++;
  return i;
}

static void give_back(const furrow_index *index, int64_t id, float vector[D]) {
  furrow_error err = {0};
  furrow_status status = furrow_index_reconstruct(index, id, vector, &err);
  if (status != FURROW_OK) print_error("%lld: %s\n", (long long)id, err.message);
  assert_int_equal(status, FURROW_OK);
}

/* All that the model has, and no more. */
static void check_model(const furrow_index *index, const model *m) {
  const furrow_index *ivf = furrow_index_ivf(index);
  furrow_index_info info;
  furrow_index_info_init(&info);
  float vector[D];
  furrow_index_get_info(ivf ? ivf : index, &info);
  assert_int_equal(info.ntotal, m->count);
  if (ivf) assert_int_equal(info.stored, m->count);
  for (size_t i = 0; i < m->count; i++) {
    give_back(index, m->entries[i].id, vector);
    assert_memory_equal(vector, m->entries[i].vector, sizeof vector);
  }
  vector[0] = 5;
  assert_int_equal(furrow_index_reconstruct(index, -7, vector, NULL), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_index_reconstruct(index, m->next_id + 5, vector, NULL), FURROW_E_NOT_FOUND);
  assert_true(vector[0] == 5);
  check_sound(index, "checked");
}

/* ---- Steps ---------------------------------------------------------------------------------------------- */

typedef struct walk {
  furrow_index *index;
  model m;
  fw_rng rng;
  bool dense_ids; /* ids are numbers: they move up when others leave */
  bool removable;
} walk;

static void step_add(walk *w) {
  size_t n = 1 + (size_t)fw_rng_below(&w->rng, 60);
  float vectors[60 * D];
  int64_t ids[60];
  if (w->m.count + n > MOST) return;
  fill_random(&w->rng, vectors, n * D);
  for (size_t i = 0; i < n; i++) {
    w->m.next_id += w->dense_ids ? 0 : (int64_t)fw_rng_below(&w->rng, 5);
    ids[i] = w->m.next_id++;
  }
  assert_int_equal(add_vectors(w->index, vectors, n, w->dense_ids ? NULL : ids), FURROW_OK);
  for (size_t i = 0; i < n; i++) {
    w->m.entries[w->m.count].id = ids[i];
    give_back(w->index, ids[i], w->m.entries[w->m.count++].vector);
  }
}

static bool in_callback(void *user, int64_t id) {
  return fw_rng_hash(*(uint64_t *)user, (uint64_t)id) % 10 == 0;
}

static void model_remove(walk *w, const furrow_id_filter *filter) {
  size_t left = 0;
  for (size_t i = 0; i < w->m.count; i++)
    if (!furrow_id_filter_keeps(filter, w->m.entries[i].id)) w->m.entries[left++] = w->m.entries[i];
  w->m.count = left;
  for (size_t i = 0; w->dense_ids && i < left; i++) w->m.entries[i].id = (int64_t)i;
  if (w->dense_ids) w->m.next_id = (int64_t)left;
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void step_remove(walk *w) {
  int64_t some[20], start = (int64_t)fw_rng_below(&w->rng, (uint64_t)w->m.next_id + 1);
  uint8_t bitmap[16];
  uint64_t seed = fw_rng_next(&w->rng), removed = 0;
  for (int i = 0; i < 16; i++) bitmap[i] = (uint8_t)fw_rng_next(&w->rng);
  for (int i = 0; i < 20; i++) some[i] = (int64_t)fw_rng_below(&w->rng, (uint64_t)w->m.next_id + 10);
  qsort(some, 20, sizeof *some, by_value);
  const furrow_id_filter filters[] = {
      range_filter(start, start + 15),
      sorted_filter(some, 20),
      {.size = sizeof(furrow_id_filter),
       .kind = FURROW_ID_FILTER_BITMAP,
       .bitmap = bitmap,
       .bitmap_bytes = sizeof bitmap},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_CALLBACK, .keep = in_callback, .user = &seed},
      {.size = sizeof(furrow_id_filter),
       .kind = FURROW_ID_FILTER_RANGE,
       .first = start / 2,
       .end = w->m.next_id,
       .invert = true}};
  const furrow_id_filter *filter = &filters[fw_rng_below(&w->rng, 5)];
  size_t before = w->m.count;
  furrow_error err = {0};
  furrow_status status = furrow_index_remove(w->index, filter, &removed, &err);
  if (!w->removable) {
    assert_int_equal(status, FURROW_E_UNSUPPORTED);
    return;
  }
  if (status != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  model_remove(w, filter);
  assert_int_equal(removed, before - w->m.count);
}

static void step_update(walk *w) {
  int64_t ids[30];
  float vectors[30 * D];
  size_t n = 0;
  for (int i = 0; i < 30 && w->m.count > 0; i++) {
    int64_t id = w->m.entries[fw_rng_below(&w->rng, w->m.count)].id;
    bool there = false;
    for (size_t k = 0; k < n; k++) there = there || ids[k] == id;
    if (!there) ids[n++] = id;
  }
  fill_random(&w->rng, vectors, sizeof vectors / sizeof *vectors);
  furrow_error err = {0};
  furrow_status status = furrow_index_update(w->index, ids, vectors, n, &err);
  if (status != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  for (size_t i = 0; i < n; i++) give_back(w->index, ids[i], w->m.entries[find_entry(&w->m, ids[i])].vector);
}

/* Another index with the same quantizers gets some vectors and is merged. */
static void step_merge(walk *w) {
  const furrow_id_filter all = range_filter(INT64_MIN, INT64_MAX);
  furrow_index *other = copy_of(w->index);
  float vectors[40 * D];
  int64_t ids[40], shift = w->m.next_id;
  if (w->m.count + 40 > MOST || furrow_index_remove(other, &all, NULL, NULL) != FURROW_OK) {
    furrow_index_free(other);
    return;
  }
  for (int i = 0; i < 40; i++) ids[i] = 3 * i;
  fill_random(&w->rng, vectors, sizeof vectors / sizeof *vectors);
  assert_int_equal(add_vectors(other, vectors, 40, w->dense_ids ? NULL : ids), FURROW_OK);
  furrow_error err = {0};
  furrow_status status = furrow_index_merge(w->index, other, shift, &err);
  if (status != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  for (int i = 0; i < 40; i++) {
    int64_t inner = w->dense_ids ? i : ids[i];
    w->m.entries[w->m.count].id = inner + shift;
    w->m.next_id = inner + shift + 1;
    give_back(other, inner, w->m.entries[w->m.count++].vector);
  }
  furrow_index_free(other);
}

static void step_reload(walk *w) {
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.memory_map = fw_rng_below(&w->rng, 2);
  assert_int_equal(furrow_index_save(w->index, "reloaded", &overwriting, NULL), FURROW_OK);
  furrow_index_free(w->index);
  w->index = NULL;
  assert_int_equal(furrow_index_load(&w->index, "reloaded", &params, NULL), FURROW_OK);
}

static void walk_with(const furrow_index_spec *spec, furrow_direct_map map, bool dense_ids, bool removable,
                      uint64_t seed) {
  walk *w = calloc(1, sizeof *w);
  fw_rng_init(&w->rng, seed);
  w->index = trained_index(spec, 77);
  w->dense_ids = dense_ids;
  w->removable = removable;
  if (furrow_index_ivf(w->index)) assert_int_equal(furrow_index_set_direct_map(w->index, map, NULL), FURROW_OK);
  static void (*const steps[])(walk *) = {step_add, step_add, step_remove, step_update, step_merge, step_reload};
  for (int i = 0; i < 25; i++) {
    steps[fw_rng_below(&w->rng, sizeof steps / sizeof *steps)](w);
    check_model(w->index, &w->m);
  }
  furrow_index_info info;
  furrow_index_info_init(&info);
  if (furrow_index_ivf(w->index)) {
    furrow_index_get_info(furrow_index_ivf(w->index), &info);
    assert_int_equal(info.direct_map, map);
  }
  furrow_index_free(w->index);
  free(w);
}

static void changes_follow_the_model(void **state) {
  (void)state;
  furrow_index_spec flat = plain_spec(D, 9, 0), pq = plain_spec(D, 16, 4), ip = pq, graph = pq;
  ip.metric = FURROW_METRIC_IP;
  graph.hnsw_m = 4;
  walk_with(&flat, FURROW_DIRECT_MAP_NONE, false, true, 1);
  walk_with(&flat, FURROW_DIRECT_MAP_HASHTABLE, false, true, 2);
  walk_with(&pq, FURROW_DIRECT_MAP_NONE, false, true, 3);
  walk_with(&pq, FURROW_DIRECT_MAP_HASHTABLE, false, true, 4);
  walk_with(&pq, FURROW_DIRECT_MAP_ARRAY, true, false, 5);
  walk_with(&ip, FURROW_DIRECT_MAP_NONE, false, true, 6);
  walk_with(&graph, FURROW_DIRECT_MAP_HASHTABLE, false, true, 7);
}

static void changes_behind_wrappers_follow_the_model(void **state) {
  (void)state;
  furrow_index_spec refine = plain_spec(D, 8, 3), pqr = refine, turned = refine;
  refine.refine_flat = true;
  pqr.refine_m = 4;
  turned.opq = true;
  walk_with(&refine, FURROW_DIRECT_MAP_NONE, true, true, 11);
  walk_with(&refine, FURROW_DIRECT_MAP_ARRAY, true, true, 12);
  walk_with(&pqr, FURROW_DIRECT_MAP_NONE, true, false, 13);
  walk_with(&turned, FURROW_DIRECT_MAP_HASHTABLE, false, true, 14);
  refine.id_map = pqr.id_map = true;
  walk_with(&refine, FURROW_DIRECT_MAP_HASHTABLE, false, true, 15);
  walk_with(&pqr, FURROW_DIRECT_MAP_ARRAY, false, true, 16);
  refine.opq = true;
  walk_with(&refine, FURROW_DIRECT_MAP_NONE, false, true, 17);
}

/* ---- Order ---------------------------------------------------------------------------------------------- */

static void expect_ids(const furrow_index *index, uint64_t list, const int64_t *ids, size_t count) {
  furrow_list_view view;
  assert_int_equal(furrow_index_list(index, list, &view, NULL), FURROW_OK);
  assert_int_equal(view.count, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(furrow_list_id(&view, i), ids[i]);
}

static furrow_index *one_list(size_t n) {
  furrow_index_spec spec = plain_spec(D, 1, 0);
  furrow_index *index = trained_index(&spec, 1);
  float *vectors = calloc(n * D, sizeof *vectors);
  for (size_t i = 0; i < n * D; i++) vectors[i] = (float)i;
  assert_int_equal(add_vectors(index, vectors, n, NULL), FURROW_OK);
  free(vectors);
  return index;
}

/* What takes a place is looked at again. */
static void the_last_takes_the_place(void **state) {
  (void)state;
  furrow_index *index = one_list(8);
  const int64_t some[] = {1, 6, 7};
  furrow_id_filter filter = sorted_filter(some, 3);
  uint64_t removed = 0;
  assert_int_equal(furrow_index_remove(index, &filter, &removed, NULL), FURROW_OK);
  assert_int_equal(removed, 3);
  expect_ids(index, 0, (const int64_t[]){0, 5, 2, 3, 4}, 5);
  float vector[D];
  give_back(index, 5, vector);
  assert_true(vector[0] == 5 * D);
  filter = range_filter(0, 100);
  assert_int_equal(furrow_index_remove(index, &filter, NULL, NULL), FURROW_OK);
  expect_ids(index, 0, NULL, 0);
  assert_int_equal(index->ntotal, 0);
  furrow_index_free(index);
}

static void an_update_goes_to_the_end(void **state) {
  (void)state;
  for (int map = FURROW_DIRECT_MAP_NONE; map <= FURROW_DIRECT_MAP_HASHTABLE; map++) {
    furrow_index *index = one_list(5);
    float vectors[2 * D] = {9}, vector[D];
    assert_int_equal(furrow_index_set_direct_map(index, (furrow_direct_map)map, NULL), FURROW_OK);
    assert_int_equal(furrow_index_update(index, (const int64_t[]){1, 4}, vectors, 2, NULL), FURROW_OK);
    expect_ids(index, 0, (const int64_t[]){0, 1, 2, 3, 4}, 5); /* 4 took the place of 1; then 1 that of 4 */
    give_back(index, 1, vector);
    assert_true(vector[0] == 9);
    give_back(index, 0, vector);
    assert_true(vector[1] == 1);
    furrow_index_free(index);
  }
}

/* ---- Refusals ------------------------------------------------------------------------------------------- */

static furrow_index *sample(void (*make)(index_file *f)) {
  index_file f = {0};
  furrow_index *index = NULL;
  make(&f);
  assert_int_equal(read_bytes(&f, false, &index, NULL), FURROW_OK);
  index_file_clear(&f);
  return index;
}

static void expect_remove_refused(void (*make)(index_file *f), furrow_status status, const char *message) {
  const furrow_id_filter filter = range_filter(0, 1);
  furrow_index *index = sample(make), *before = sample(make);
  furrow_error err = {0};
  uint64_t removed = 99;
  assert_int_equal(furrow_index_remove(index, &filter, &removed, &err), status);
  if (!strstr(err.message, message)) print_error("%s\n", err.message);
  assert_non_null(strstr(err.message, message));
  assert_int_equal(removed, 99);
  assert_same_index(index, before);
  furrow_index_free(index);
  furrow_index_free(before);
}

static void what_cannot_be_removed_is_refused(void **state) {
  (void)state;
  expect_remove_refused(sample_map_array, FURROW_E_UNSUPPORTED, "direct map is an array");
  expect_remove_refused(sample_ivfpqr, FURROW_E_UNSUPPORTED, "refinement codes");
  expect_remove_refused(sample_no_lists, FURROW_E_STATE, "no lists");
  furrow_index *index = sample(put_ivfpq);
  furrow_error err;
  furrow_id_filter filter = {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_CALLBACK};
  assert_int_equal(furrow_index_remove(index, NULL, NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_remove(index, &filter, NULL, &err), FURROW_E_ARGUMENT);
  furrow_index_free(index);
}

static void what_cannot_be_updated_is_refused(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(D, 4, 3);
  furrow_index *index = trained_index(&spec, 1), *before;
  float vectors[10 * D] = {0};
  furrow_error err = {0};
  for (size_t i = 0; i < 10 * D; i++) vectors[i] = (float)(i % 7);
  assert_int_equal(add_vectors(index, vectors, 10, NULL), FURROW_OK);
  before = copy_of(index);
  assert_int_equal(furrow_index_update(index, (const int64_t[]){3, 40, 41}, vectors, 3, &err), FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.message, "40"));
  assert_int_equal(furrow_index_update(index, (const int64_t[]){3, 4, 3}, vectors, 3, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "3 comes twice"));
  vectors[D + 2] = NAN;
  assert_int_equal(furrow_index_update(index, (const int64_t[]){3, 4}, vectors, 2, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_index_update(index, NULL, NULL, 0, &err), FURROW_OK);
  assert_same_index(index, before);
  furrow_index_free(index);
  furrow_index_free(before);
  index = sample(sample_hnsw);
  assert_int_equal(furrow_index_update(index, (const int64_t[]){0}, vectors, 1, &err), FURROW_E_UNSUPPORTED);
  furrow_index_free(index);
  index = sample(sample_untrained);
  assert_int_equal(furrow_index_update(index, (const int64_t[]){0}, vectors, 1, &err), FURROW_E_STATE);
  furrow_index_free(index);
}

static void maps_and_nprobe_are_set(void **state) {
  (void)state;
  furrow_index *index = sample(sample_sparse_lists), *flat = sample(sample_flat);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_error err = {0};
  float vector[4];
  assert_int_equal(furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_HASHTABLE, &err), FURROW_OK);
  check_sound(index, "hash");
  assert_int_equal(furrow_index_reconstruct(index, 500, vector, &err), FURROW_OK);
  assert_int_equal(furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_ARRAY, &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, "100"));
  furrow_index_get_info(index, &info);
  assert_int_equal(info.direct_map, FURROW_DIRECT_MAP_HASHTABLE);
  assert_int_equal(furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_NONE, &err), FURROW_OK);
  assert_int_equal(furrow_index_set_direct_map(index, (furrow_direct_map)7, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_set_direct_map(flat, FURROW_DIRECT_MAP_NONE, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_set_nprobe(index, 17, &err), FURROW_OK);
  furrow_index_get_info(index, &info);
  assert_int_equal(info.nprobe, 17);
  assert_int_equal(furrow_index_set_nprobe(index, 0, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_set_nprobe(flat, 1, &err), FURROW_E_ARGUMENT);
  furrow_index_free(index);
  furrow_index_free(flat);
}

static void a_matrix_that_is_not_a_rotation_is_not_reversed(void **state) {
  (void)state;
  furrow_index *index = sample(sample_transforms), *pca = sample(pca_of_today);
  float vector[4] = {0};
  furrow_error err = {0};
  assert_int_equal(furrow_index_reconstruct(index, 0, vector, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.token, "HRot");
  assert_int_equal(furrow_index_reconstruct(pca, 0, vector, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "not orthonormal"));
  furrow_index_free(index);
  furrow_index_free(pca);
}

/* ---- No memory ------------------------------------------------------------------------------------------ */

static furrow_status do_remove(furrow_index *index) {
  const furrow_id_filter filter = range_filter(3, 90);
  return furrow_index_remove(index, &filter, NULL, NULL);
}

static furrow_status do_update(furrow_index *index) {
  static const int64_t ids[] = {5, 77, 12, 30};
  float vectors[4 * D];
  for (size_t i = 0; i < 4 * D; i++) vectors[i] = 0.25f * (float)i;
  return furrow_index_update(index, ids, vectors, 4, NULL);
}

static furrow_status do_merge(furrow_index *index) {
  furrow_index *other = NULL;
  furrow_status status = furrow_index_load(&other, "bytes", NULL, NULL);
  if (status == FURROW_OK) status = furrow_index_merge(index, other, 120, NULL);
  furrow_index_free(other);
  return status;
}

static furrow_status do_map(furrow_index *index) {
  return furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_ARRAY, NULL);
}

static void fail_each_allocation(const index_file *bytes, furrow_status (*act)(furrow_index *)) {
  for (long n = 1;; n++) {
    furrow_index *index = NULL;
    index_file after = {0};
    assert_int_equal(read_bytes(bytes, true, &index, NULL), FURROW_OK);
    alloc_fail_at(n);
    furrow_status status = act(index);
    bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (status == FURROW_E_UNSUPPORTED) failed = false;
    assert_true(status == FURROW_OK || status == FURROW_E_UNSUPPORTED || (failed && status == FURROW_E_MEMORY));
    write_bytes(index, &after);
    if (status != FURROW_OK) assert_same_bytes(&after, bytes);
    index_file_clear(&after);
    furrow_index_free(index);
    if (!failed) return;
    assert_true(n < 10000);
  }
}

static void no_memory_changes_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_index_spec specs[] = {plain_spec(D, 4, 3), plain_spec(D, 4, 3), plain_spec(D, 4, 3)};
  specs[1].refine_flat = specs[1].id_map = true;
  specs[2].refine_m = 4;
  for (size_t i = 0; i < 3; i++) {
    furrow_index *index = trained_index(&specs[i], 5);
    index_file bytes = {0};
    float vectors[120 * D];
    fw_rng rng;
    fw_rng_init(&rng, 9);
    fill_random(&rng, vectors, 120 * D);
    assert_int_equal(add_vectors(index, vectors, 120, NULL), FURROW_OK);
    assert_int_equal(
        furrow_index_set_direct_map(index, i == 1 ? FURROW_DIRECT_MAP_ARRAY : FURROW_DIRECT_MAP_HASHTABLE, NULL),
        FURROW_OK);
    write_bytes(index, &bytes);
    assert_true(test_write_file("bytes", bytes.bytes, bytes.size));
    fail_each_allocation(&bytes, do_remove);
    fail_each_allocation(&bytes, do_update);
    fail_each_allocation(&bytes, do_merge);
    fail_each_allocation(&bytes, do_map);
    furrow_index_free(index);
    index_file_clear(&bytes);
  }
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(changes_follow_the_model),
      IN_DIR(changes_behind_wrappers_follow_the_model),
      cmocka_unit_test(the_last_takes_the_place),
      cmocka_unit_test(an_update_goes_to_the_end),
      cmocka_unit_test(what_cannot_be_removed_is_refused),
      cmocka_unit_test(what_cannot_be_updated_is_refused),
      IN_DIR(maps_and_nprobe_are_set),
      cmocka_unit_test(a_matrix_that_is_not_a_rotation_is_not_reversed),
      IN_DIR(no_memory_changes_nothing),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
