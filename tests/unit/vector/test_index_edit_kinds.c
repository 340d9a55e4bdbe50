/* tests/unit/vector/test_index_edit_kinds.c: changes of kinds that are not built here, of lists on disk, and of files
 * that Faiss wrote. */
#include <dirent.h>
#include <stdlib.h>

#include "support/edit_index.h"
#include "support/golden_set.h"
#include "support/own_dir.h"
#include "vector/index/inverted_lists.h"

enum { MOST_D = 64 };

/* ---- Any kind: what is left gives back the same --------------------------------------------------------- */

typedef struct snapshot {
  size_t count, d;
  int64_t ids[3000];
  float vectors[3000 * MOST_D];
} snapshot;

/* All ids below `end` that are there. */
static void take_snapshot(const furrow_index *index, int64_t end, snapshot *s) {
  s->count = 0;
  s->d = (size_t)index->d;
  assert_true(s->d <= MOST_D && end <= 3000);
  for (int64_t id = 0; id < end; id++) {
    furrow_status status = furrow_index_reconstruct(index, id, s->vectors + s->count * s->d, NULL);
    if (status == FURROW_OK) s->ids[s->count++] = id;
    assert_true(status == FURROW_OK || status == FURROW_E_NOT_FOUND);
  }
}

static void expect_vector(const furrow_index *index, int64_t id, const snapshot *s, size_t i) {
  float vector[MOST_D];
  assert_int_equal(furrow_index_reconstruct(index, id, vector, NULL), FURROW_OK);
  assert_memory_equal(vector, s->vectors + i * s->d, s->d * sizeof *vector);
}

static bool has_dense_ids(const furrow_index *index) {
  return furrow_index_ivf(index) != index && index->kind != FURROW_INDEX_ID_MAP;
}

/* Loses ids 2 … 4 and 7 …, gets all of a copy again. */
static void lose_and_merge(furrow_index *index, int64_t end) {
  const furrow_id_filter some[] = {range_filter(7, end - 5), range_filter(2, 5)};
  furrow_index *copy = copy_of(index);
  snapshot *s = malloc(sizeof *s);
  take_snapshot(index, end, s);
  assert_true(s->count > 0);
  furrow_error err = {0};
  for (int i = 0; i < 2; i++) {
    furrow_status status = furrow_index_remove(index, &some[i], NULL, &err);
    if (status != FURROW_OK) print_error("%s\n", err.message);
    assert_int_equal(status, FURROW_OK);
  }
  size_t left = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (furrow_id_filter_keeps(&some[0], s->ids[i]) || furrow_id_filter_keeps(&some[1], s->ids[i])) continue;
    expect_vector(index, has_dense_ids(index) ? (int64_t)left : s->ids[i], s, i);
    left++;
  }
  assert_int_equal(index->ntotal, left);
  check_sound(index, "lost");
  int64_t shift = has_dense_ids(index) ? (int64_t)left : 10000;
  assert_int_equal(furrow_index_merge(index, copy, shift, &err), FURROW_OK);
  for (size_t i = 0; i < s->count; i++) expect_vector(index, s->ids[i] + shift, s, i);
  check_sound(index, "merged");
  free(s);
  furrow_index_free(copy);
}

static furrow_index *sample(void (*make)(index_file *f)) {
  index_file f = {0};
  furrow_index *index = NULL;
  make(&f);
  assert_int_equal(read_bytes(&f, false, &index, NULL), FURROW_OK);
  index_file_clear(&f);
  return index;
}

static void other_kinds_lose_and_merge(void **state) {
  (void)state;
  static void (*const kinds[])(index_file * f) = {sample_fast, sample_ivfsq, sample_pq,     sample_flat,
                                                  put_ivfpq,   sample_multi, sample_refine, sample_ivfflat};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    furrow_index *index = sample(kinds[i]);
    lose_and_merge(index, 100);
    furrow_index_free(index);
  }
}

/* Each sample: a change is made, or refused without a trace. */
static void every_kind_changes_or_refuses(void **state) {
  (void)state;
  const furrow_id_filter filter = range_filter(0, 2);
  for (size_t i = 0; i < SAMPLES; i++) {
    furrow_index *index = sample(samples[i].make), *before = sample(samples[i].make);
    furrow_status removed = furrow_index_remove(index, &filter, NULL, NULL);
    if (removed != FURROW_OK) assert_same_index(index, before);
    furrow_status merged = furrow_index_merge(index, before, 0, NULL);
    if (removed != FURROW_OK && merged != FURROW_OK) assert_same_index(index, before);
    index_file bytes = {0};
    write_bytes(index, &bytes);
    furrow_index_free(index);
    assert_int_equal(read_bytes(&bytes, false, &index, NULL), FURROW_OK);
    index_file_clear(&bytes);
    furrow_index_free(index);
    furrow_index_free(before);
  }
}

/* ---- Lists on disk -------------------------------------------------------------------------------------- */

/* Moves the lists of an index to a data file: codes and ids of each behind the other, with room for one more. */
static void move_to_disk(furrow_index *index, const char *data) {
  fw_lists *lists = &index->ivf.lists;
  fw_disk *disk = calloc(1, sizeof *disk);
  index_file f = {0};
  disk->lists = calloc(lists->nlist, sizeof *disk->lists);
  for (size_t i = 0; i < lists->nlist; i++) {
    const fw_list *list = &lists->list[i];
    disk->lists[i] = (fw_disk_list){.size = list->size, .capacity = list->size + 1, .offset = f.size};
    put(&f, list->codes, list->size * lists->code_size);
    put_codes(&f, lists->code_size);
    put(&f, list->ids, list->size * 8);
    put_long(&f, -1);
  }
  disk->file_name = strdup(data);
  disk->file_name_size = strlen(data);
  disk->total_size = f.size;
  lists->disk = disk;
  lists->kind = FURROW_LISTS_ON_DISK;
  assert_true(test_write_file(data, f.bytes, f.size));
  index_file_clear(&f);
}

static void lists_on_disk_become_part_of_the_index(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(8, 5, 4);
  furrow_index *index = trained_index(&spec, 3);
  float vectors[200 * 8], vector[8];
  fw_rng rng;
  index_file before = {0}, after = {0};
  fw_rng_init(&rng, 1);
  fill_random(&rng, vectors, 200 * 8);
  assert_int_equal(add_vectors(index, vectors, 200, NULL), FURROW_OK);
  move_to_disk(index, "data");
  assert_int_equal(furrow_index_save(index, "a", &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
  read_whole("data", &before);
  for (int map = 0; map < 2; map++) {
    furrow_index_load_params params;
    furrow_index_info info;
    furrow_index_info_init(&info);
    const int64_t ids[] = {150, 3};
    furrow_index_load_params_init(&params);
    params.memory_map = map;
    assert_int_equal(furrow_index_load(&index, "a", &params, NULL), FURROW_OK);
    lose_and_merge(index, 200);
    assert_int_equal(furrow_index_update(index, ids, vectors, 1, NULL), FURROW_E_NOT_FOUND);
    assert_int_equal(furrow_index_update(index, (const int64_t[]){6, 10150}, vectors, 2, NULL), FURROW_OK);
    assert_int_equal(add_vectors(index, vectors, 10, NULL), FURROW_OK);
    furrow_index_get_info(index, &info);
    assert_int_equal(info.lists, FURROW_LISTS_INLINE);
    assert_null(info.lists_file);
    assert_int_equal(furrow_index_reconstruct(index, 10003, vector, NULL), FURROW_OK);
    furrow_index_free(index);
  }
  const char *paths[] = {"a", "a"};
  const int64_t shifts[] = {0, 200};
  assert_int_equal(furrow_index_merge_files(paths, shifts, 2, NULL, "b", &overwriting, NULL), FURROW_OK);
  read_whole("data", &after); /* as it was */
  assert_same_bytes(&before, &after);
  assert_int_equal(remove("data"), 0);
  assert_int_equal(furrow_index_load(&index, "b", NULL, NULL), FURROW_OK);
  assert_int_equal(index->ntotal, 400);
  assert_int_equal(furrow_index_reconstruct(index, 399, vector, NULL), FURROW_OK);
  furrow_index_free(index);
  index_file_clear(&before);
  index_file_clear(&after);
}

/* Without the data file there is nothing to change. */
static void missing_lists_do_not_change(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(8, 5, 4);
  furrow_index *index = trained_index(&spec, 3), *other = copy_of(index);
  float vectors[8] = {1};
  const furrow_id_filter all = range_filter(0, 5);
  furrow_index_load_params params;
  assert_int_equal(add_vectors(index, vectors, 1, NULL), FURROW_OK);
  move_to_disk(index, "data");
  assert_int_equal(furrow_index_save(index, "a", &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
  assert_int_equal(remove("data"), 0);
  furrow_index_load_params_init(&params);
  params.lists_optional = true;
  assert_int_equal(furrow_index_load(&index, "a", &params, NULL), FURROW_OK);
  assert_int_equal(furrow_index_remove(index, &all, NULL, NULL), FURROW_E_STATE);
  assert_int_equal(furrow_index_reconstruct(index, 0, vectors, NULL), FURROW_E_STATE);
  assert_int_equal(furrow_index_update(index, (const int64_t[]){0}, vectors, 1, NULL), FURROW_E_STATE);
  assert_int_equal(furrow_index_merge(index, other, 0, NULL), FURROW_E_STATE);
  assert_int_equal(furrow_index_merge(other, index, 0, NULL), FURROW_E_STATE);
  assert_int_equal(furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_HASHTABLE, NULL), FURROW_E_STATE);
  furrow_index_free(index);
  furrow_index_free(other);
}

/* ---- Codes in blocks ------------------------------------------------------------------------------------ */

static void blocks_lose_and_keep(void **state) {
  (void)state;
  for (size_t width = 32; width <= 96; width += 32) {
    uint8_t codes[3 * 96 * 3] = {0}, wanted[200][6];
    fw_lists lists = {.kind = FURROW_LISTS_BLOCKS, .block_vectors = width, .block_bytes = width * 3};
    uint8_t one[96 * 3], ids[8 * 200];
    fw_list list = {.codes = codes, .ids = ids, .capacity = 200}, source = {.codes = one, .ids = ids};
    for (size_t i = 0; i < 200; i++) {
      memset(one, 0, sizeof one);
      for (size_t k = 0; k < sizeof one; k++) one[k] = (uint8_t)fw_rng_hash(i, k);
      for (size_t m = 0; m < 6; m++) wanted[i][m] = (uint8_t)fw_block_get(&lists, one, i % width, m);
      fw_list_append_entry(&lists, &list, &source, i % width, (int64_t)i);
    }
    for (size_t i = 0; i < 200; i += 1)
      for (size_t m = 0; m < 6; m++) assert_int_equal(fw_block_get(&lists, codes, i, m), wanted[i][m]);
    for (size_t i = 0; i < 50; i++) fw_list_remove(&lists, &list, i);
    for (size_t i = 0; i < 150; i++)
      for (size_t m = 0; m < 6; m++)
        assert_int_equal(fw_block_get(&lists, codes, i, m), wanted[i < 50 ? 199 - i : i][m]);
    for (size_t i = 150; i < 200; i++) assert_int_equal(fw_block_get(&lists, codes, i, 3), 0);
  }
}

/* ---- Golden files --------------------------------------------------------------------------------------- */

static void read_numbers(const char *name, void *numbers, size_t size, size_t *count) {
  char path[TEST_PATH], from[300];
  snprintf(from, sizeof from, "faiss/%.200s", name);
  FILE *file = fopen(golden_path(path, from), "rb");
  assert_non_null(file);
  *count = fread(numbers, 1, size, file);
  fclose(file);
  const size_t element = strstr(name, ".i64") ? sizeof(int64_t) : sizeof(float);
  fw_swap_le(numbers, element, *count / element);
}

static furrow_index *golden(const char *name) {
  char path[TEST_PATH], from[300];
  furrow_index *index = NULL;
  snprintf(from, sizeof from, "faiss/%.200s.index", name);
  assert_int_equal(furrow_index_load(&index, golden_path(path, from), NULL, NULL), FURROW_OK);
  return index;
}

/* Those with ids of their own, and one where Faiss reads the wrong half of a byte. */
static bool has_other_rows(const char *name) {
  return strstr(name, "hash") || strstr(name, "bbs64");
}

static void check_golden(const char *name) {
  char answers[300];
  float expected[8 * 64], vector[64];
  size_t size = 0;
  furrow_index *index = golden(name);
  size_t d = (size_t)index->d;
  snprintf(answers, sizeof answers, "%.200s.recons.f32", name);
  read_numbers(answers, expected, sizeof expected, &size);
  for (size_t i = 0; i < size / d / sizeof *vector; i++) {
    assert_int_equal(furrow_index_reconstruct(index, (int64_t)i, vector, NULL), FURROW_OK);
    for (size_t k = 0; k < d; k++) {
      if (fabsf(vector[k] - expected[i * d + k]) > 2e-6f) print_error("%s: vector %zu\n", name, i);
      assert_true(fabsf(vector[k] - expected[i * d + k]) <= 2e-6f);
    }
  }
  furrow_index_free(index);
}

static void golden_vectors_come_back(void **state) {
  (void)state;
  char folder[TEST_PATH];
  DIR *entries = opendir(golden_path(folder, "faiss"));
  struct dirent *entry;
  size_t count = 0;
  assert_non_null(entries);
  while ((entry = readdir(entries)) != NULL) {
    char *end = strstr(entry->d_name, ".recons.f32");
    if (!end || has_other_rows(entry->d_name)) continue;
    *end = 0;
    check_golden(entry->d_name);
    count++;
  }
  closedir(entries);
  assert_true(count > (golden_is_full ? 35 : 20));
}

/* Blocks of 64: what is decoded is as near to what was stored as in blocks of 32. */
static void golden_blocks_of_64_are_right(void **state) {
  (void)state;
  enum { N = 1000, BLOCK_D = 32 };
  static float base[N * BLOCK_D];
  float vector[BLOCK_D];
  size_t size = 0;
  double error = 0, square = 0;
  furrow_index *index = golden("v173_ivfpqfs_bbs64");
  read_numbers("base_d32_n2000.f32", base, sizeof base, &size); /* the first 1000 are those of the index */
  assert_int_equal(size, sizeof base);
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(furrow_index_reconstruct(index, (int64_t)i, vector, NULL), FURROW_OK);
    for (size_t k = 0; k < BLOCK_D; k++) {
      double x = (double)base[i * BLOCK_D + k], y = (double)vector[k];
      error += (x - y) * (x - y);
      square += x * x;
    }
  }
  assert_true(error < 0.25 * square);
  furrow_index_free(index);
}

static void golden_kinds_lose_and_merge(void **state) {
  (void)state;
  static const char *const names[] = {"v173_ivfpqfs_l2",    "v173_ivfpqfs_bbs64", "v173_ivfpqfs_oddM",
                                      "v173_ivfpqfsr_l2",   "v173_ivfsq8_l2",     "v173_flat_l2",
                                      "v173_pq_l2",         "v173_ivfpq_rflat",   "v173_imi_pq",
                                      "v173_ivfpq_l2_sprs", "v173_legacy_IvPQ",   "head_ivfpq_l2_res_nb10",
                                      "v173_ivfhnsw_pq_l2"};
  const size_t count = sizeof names / sizeof *names - !golden_is_full; /* only the full set has the last */
  for (size_t i = 0; i < count; i++) {
    furrow_index *index = golden(names[i]);
    lose_and_merge(index, index->ntotal);
    furrow_index_free(index);
  }
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Removing each fifth of the ids that were added gives the lists that Faiss's removal left. */
static void golden_removal_is_the_same(void **state) {
  (void)state;
  int64_t added[1000], gone[200];
  size_t size = 0;
  uint64_t removed = 0;
  furrow_index *index = golden("v173_ivfpq_l2_dmap_hash"), *wanted = golden("v173_ivfpq_l2_removed_hash");
  read_numbers("v173_ivfpq_l2_dmap_hash.addids.i64", added, sizeof added, &size);
  assert_int_equal(size, sizeof added);
  for (size_t i = 0; i < 200; i++) gone[i] = added[5 * i];
  qsort(gone, 200, sizeof *gone, by_value);
  furrow_id_filter filter = sorted_filter(gone, 200);
  assert_int_equal(furrow_index_remove(index, &filter, &removed, NULL), FURROW_OK);
  assert_int_equal(removed, 200);
  assert_int_equal(index->ntotal, wanted->ntotal);
  for (uint64_t list = 0; list < index->ivf.nlist; list++) {
    furrow_list_view a, b;
    assert_int_equal(furrow_index_list(index, list, &a, NULL), FURROW_OK);
    assert_int_equal(furrow_index_list(wanted, list, &b, NULL), FURROW_OK);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) { /* with a table, Faiss uses the order of the ids it is given */
      size_t k = 0;
      while (k < b.count && furrow_list_id(&b, k) != furrow_list_id(&a, i)) k++;
      assert_true(k < b.count);
      assert_memory_equal(a.codes + i * a.code_size, b.codes + k * b.code_size, a.code_size);
    }
  }
  check_sound(index, "removed");
  assert_int_equal(index->ivf.direct_map.count, 800);
  furrow_index_free(index);
  furrow_index_free(wanted);
}

/* The two halves, added and merged as Faiss did it, give its file byte by byte. */
static void golden_merge_gives_the_same_file(void **state) {
  (void)state;
  static float base[1000 * 16];
  int64_t ids[600];
  size_t size = 0;
  const furrow_id_filter all = range_filter(INT64_MIN, INT64_MAX);
  furrow_index *wanted = golden("v173_ivfpq_l2_merged"), *one = copy_of(wanted), *two = NULL;
  read_numbers("base_d16_n1000.f32", base, sizeof base, &size);
  assert_int_equal(size, sizeof base);
  assert_int_equal(furrow_index_remove(one, &all, NULL, NULL), FURROW_OK);
  two = copy_of(one);
  for (int i = 0; i < 600; i++) ids[i] = i; /* Faiss gives removed ids again */
  assert_int_equal(add_vectors(one, base, 600, ids), FURROW_OK);
  assert_int_equal(add_vectors(two, base + 600 * 16, 400, ids), FURROW_OK);
  assert_int_equal(furrow_index_merge(one, two, 600, NULL), FURROW_OK);
  assert_same_index(one, wanted);
  furrow_index_free(one);
  furrow_index_free(two);
  furrow_index_free(wanted);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(other_kinds_lose_and_merge),
      cmocka_unit_test(every_kind_changes_or_refuses),
      IN_DIR(lists_on_disk_become_part_of_the_index),
      IN_DIR(missing_lists_do_not_change),
      cmocka_unit_test(blocks_lose_and_keep),
      GOLDEN_TEST(golden_vectors_come_back),
      cmocka_unit_test(golden_blocks_of_64_are_right),
      GOLDEN_TEST_IN_DIR(golden_kinds_lose_and_merge),
      IN_DIR(golden_removal_is_the_same),
      cmocka_unit_test(golden_merge_gives_the_same_file),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
