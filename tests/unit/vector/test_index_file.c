/* tests/unit/vector/test_index_file.c: index files come back as they were, in every way of reading, and say what is in
 * them.
 */
#include <dirent.h>
#include <math.h>

#include "support/golden_set.h"
#include "support/index_check.h"
#include "support/own_dir.h"

/* Reads a file in two ways (copied, mapped) and writes it again: the same bytes each time. */
static void check_file(const char *path, const index_file *expected) {
  furrow_error err = {0};
  for (int way = 0; way < 2; way++) {
    furrow_index_load_params params;
    furrow_index *index = NULL;
    index_file saved = {0};
    uint64_t size = 0;
    furrow_index_load_params_init(&params);
    params.memory_map = way == 1;
    furrow_status status = furrow_index_load(&index, path, &params, &err);
    if (status != FURROW_OK) print_error("%s: byte %llu: %s\n", path, (unsigned long long)err.offset, err.message);
    assert_int_equal(status, FURROW_OK);
    status = furrow_index_save(index, "saved.index", &overwriting, &err);
    if (status == FURROW_E_ARGUMENT) { /* its data file is not in this folder */
      assert_int_equal(furrow_index_ivf(index)->ivf.lists.kind, FURROW_LISTS_ON_DISK);
      write_bytes(index, &saved);
    } else {
      assert_int_equal(status, FURROW_OK);
      read_whole("saved.index", &saved);
    }
    assert_same_bytes(&saved, expected);
    assert_int_equal(furrow_index_file_size(index, NULL, &size, &err), FURROW_OK);
    assert_int_equal(size, expected->size);
    furrow_index_free(index);
    index_file_clear(&saved);
  }
}

/* The walk has every byte of the file. */
static void check_walk(const char *path, uint64_t size) {
  field_search s = {0};
  furrow_error err = {0};
  assert_int_equal(furrow_index_for_each_field(path, NULL, look_at_field, &s, &err), FURROW_OK);
  assert_false(s.gap);
  assert_int_equal(s.next, size);
}

static void own_files_come_back(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLES; i++) {
    index_file f = {0}, written = {0};
    furrow_index *index = NULL;
    samples[i].make(&f);
    assert_true(test_write_file(samples[i].name, f.bytes, f.size));
    check_file(samples[i].name, &f);
    check_walk(samples[i].name, f.size);
    for (int map = 0; map < 2; map++) {
      assert_int_equal(read_bytes(&f, map, &index, NULL), FURROW_OK);
      written.size = 0;
      write_bytes(index, &written);
      assert_same_bytes(&written, &f);
      furrow_index_free(index);
    }
    index_file_clear(&f);
    index_file_clear(&written);
  }
}

static void legacy_files_become_those_of_today(void **state) {
  (void)state;
  for (int i = 0; i < LEGACIES; i++) {
    index_file f = {0}, today = {0};
    legacies[i].make(&f);
    legacies[i].today(&today);
    assert_true(test_write_file(legacies[i].name, f.bytes, f.size));
    check_file(legacies[i].name, &today);
    check_walk(legacies[i].name, f.size);
    index_file_clear(&f);
    index_file_clear(&today);
  }
}

static void golden_files_come_back(void **state) {
  (void)state;
  char folder[TEST_PATH], path[TEST_PATH];
  DIR *entries = opendir(golden_path(folder, "faiss"));
  struct dirent *entry;
  size_t count = 0;
  assert_non_null(entries);
  while ((entry = readdir(entries)) != NULL) {
    size_t n = strlen(entry->d_name);
    if (n < 6 || strcmp(entry->d_name + n - 6, ".index") != 0) continue;
    index_file f = {0}, today = {0};
    snprintf(path, sizeof path, "%.500s/%.256s", folder, entry->d_name);
    read_whole(path, &f);
    check_walk(path, f.size);
    if (memcmp(f.bytes, "Iv", 2) == 0) { /* legacy: what it becomes comes back */
      furrow_index *index = NULL;
      assert_int_equal(furrow_index_load(&index, path, NULL, NULL), FURROW_OK);
      write_bytes(index, &today);
      assert_memory_equal(today.bytes, "Iw", 2);
      furrow_index_free(index);
    } else {
      put(&today, f.bytes, f.size);
    }
    check_file(path, &today);
    count++;
    index_file_clear(&f);
    index_file_clear(&today);
  }
  closedir(entries);
  assert_true(count > (golden_is_full ? 70 : 35));
}

/* ---- The document of 2,097,152 vectors ------------------------------------------------------------------ */

/* d 256, M 32, nbits 8, one list: 263356 bytes and 40 for each vector. */
static void make_seed(index_file *f, size_t n) {
  size_t sizes[1] = {n};
  put_header(f, "IwPQ", 256, (int64_t)n, true, 1);
  put_long(f, 1);
  put_long(f, 256);
  put_flat(f, "IxF2", 256, 1, 1);
  put_no_map(f);
  put_byte(f, 1);
  put_long(f, 32);
  put_pq(f, 256, 32, 8);
  put_lists(f, 1, 32, sizes, true, 1);
}

static void a_known_file_has_its_known_size(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  uint64_t size = 0;
  make_seed(&f, 1000);
  assert_int_equal(f.size, 263356 + 1000 * 40);
  assert_true(test_write_file("seed", f.bytes, f.size));
  check_file("seed", &f);
  assert_int_equal(place_of(&f, "seed", "lists/0/codes"), 263356);
  assert_int_equal(place_of(&f, "seed", "pq/d"), 1140);
  assert_int_equal(read_bytes(&f, true, &index, NULL), FURROW_OK);
  /* as many vectors as in the document; no byte of them is looked at for the size */
  index->ntotal = 2097152;
  index->ivf.lists.list[0].size = 2097152;
  assert_int_equal(furrow_index_file_size(index, NULL, &size, NULL), FURROW_OK);
  assert_int_equal(size, 84149436);
  furrow_index_free(index);
  index_file_clear(&f);
}

/* ---- The example of docs/formats/faiss-ivfpq.md --------------------------------------------------------- */

/* The bytes of the lines "00000010: 4977 …" of a page. */
static void read_dump(const char *path, index_file *f) {
  char line[512];
  FILE *page = fopen(path, "r");
  assert_non_null(page);
  while (fgets(line, sizeof line, page)) {
    unsigned at, byte;
    int n = 0;
    if (sscanf(line, "%8x:%n", &at, &n) != 1 || n != 9) continue;
    assert_int_equal(at, f->size);
    for (const char *s = line + 10; s < line + 49 && sscanf(s, "%2x", &byte) == 1 && *s != ' '; s += 2 + (s[2] == ' '))
      put_byte(f, byte);
  }
  fclose(page);
}

static void the_documented_example_is_a_file(void **state) {
  (void)state;
  char path[TEST_PATH];
  index_file f = {0}, written = {0};
  furrow_index *index = NULL;
  furrow_list_view list;
  read_dump(test_source_path(path, "docs/formats/faiss-ivfpq.md"), &f);
  assert_int_equal(f.size, 271);
  assert_int_equal(read_bytes(&f, false, &index, NULL), FURROW_OK);
  write_bytes(index, &written);
  assert_same_bytes(&written, &f);
  assert_int_equal(furrow_index_list(index, 0, &list, NULL), FURROW_OK);
  assert_int_equal(furrow_list_id(&list, 1), 2);
  furrow_index_free(index);
  index_file_clear(&f);
  index_file_clear(&written);
}

/* ---- What is in an index -------------------------------------------------------------------------------- */

static furrow_index *sample(void (*make)(index_file *f)) {
  index_file f = {0};
  furrow_index *index = NULL;
  make(&f);
  assert_int_equal(read_bytes(&f, false, &index, NULL), FURROW_OK);
  index_file_clear(&f); /* a copy does not need it */
  return index;
}

static void an_ivfpq_says_what_it_is(void **state) {
  (void)state;
  furrow_index *index = sample(sample_sparse_lists);
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_list_view list;
  furrow_index_get_info(index, &info);
  assert_int_equal(info.kind, FURROW_INDEX_IVF_PQ);
  assert_string_equal(info.fourcc, "IwPQ");
  assert_int_equal(info.d, 4);
  assert_int_equal(info.ntotal, 7);
  assert_int_equal(info.stored, 6);
  assert_int_equal(info.nlist, 4);
  assert_int_equal(info.nprobe, 2);
  assert_int_equal(info.m, 2);
  assert_int_equal(info.nbits, 8);
  assert_int_equal(info.code_size, 2);
  assert_true(info.by_residual && info.trained);
  assert_int_equal(info.lists, FURROW_LISTS_INLINE);
  assert_string_equal(furrow_index_child_name(index, 0), "quantizer");
  assert_null(furrow_index_child_name(index, 1));
  furrow_index_get_info(furrow_index_child(index, 0), &info);
  assert_int_equal(info.kind, FURROW_INDEX_FLAT);
  assert_int_equal(furrow_index_list(index, 2, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, 5);
  assert_int_equal(list.code_size, 2);
  assert_int_equal(list.codes[1], 8);
  assert_int_equal(furrow_list_id(&list, 4), 400);
  assert_int_equal(furrow_index_list(index, 0, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, 0);
  assert_int_equal(furrow_index_list(index, 4, &list, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_list(furrow_index_child(index, 0), 0, &list, NULL), FURROW_E_ARGUMENT);
  furrow_index_free(index);
}

static void wrappers_lead_to_the_ivf(void **state) {
  (void)state;
  furrow_index *index = sample(sample_refine), *map = sample(sample_id_map), *flat = sample(sample_id_map2);
  furrow_index_info info;
  furrow_index_info_init(&info);
  assert_ptr_equal(furrow_index_ivf(index), furrow_index_child(index, 0));
  assert_string_equal(furrow_index_child_name(index, 1), "refine");
  furrow_index_get_info(index, &info);
  assert_true(info.k_factor == 10);
  assert_ptr_equal(furrow_index_ivf(map), furrow_index_child(map, 0));
  assert_null(furrow_index_ivf(flat));
  furrow_index_free(index);
  furrow_index_free(map);
  furrow_index_free(flat);
}

static void transforms_and_graphs_say_what_they_are(void **state) {
  (void)state;
  furrow_index *index = sample(sample_transforms), *graph = sample(sample_hnsw);
  furrow_transform_info t;
  furrow_transform_info_init(&t);
  furrow_index_info info;
  furrow_index_info_init(&info);
  assert_int_equal(furrow_index_get_transform_info(index, 3, &t, NULL), FURROW_OK);
  assert_string_equal(t.fourcc, "Pcam");
  assert_int_equal(t.d_in, 5);
  assert_int_equal(t.d_out, 4);
  assert_int_equal(furrow_index_get_transform_info(index, 8, &t, NULL), FURROW_E_ARGUMENT);
  furrow_index_get_info(graph, &info);
  assert_int_equal(info.links, 12);
  assert_int_equal(info.max_level, 1);
  assert_int_equal(info.ef_search, 16);
  furrow_index_free(index);
  furrow_index_free(graph);
}

static void lists_are_counted(void **state) {
  (void)state;
  furrow_index *index = sample(put_ivfpq), *empty = sample(sample_untrained);
  furrow_list_stats stats;
  furrow_list_stats_init(&stats);
  assert_int_equal(furrow_index_get_list_stats(index, &stats, NULL), FURROW_OK);
  assert_int_equal(stats.nlist, 4);
  assert_int_equal(stats.stored, 6);
  assert_int_equal(stats.empty, 1);
  assert_int_equal(stats.min, 0);
  assert_int_equal(stats.max, 3);
  assert_true(stats.mean == 1.5);
  assert_true(fabs(stats.imbalance - 4.0 * (4 + 9 + 1) / 36) < 1e-12);
  assert_int_equal(stats.histogram[0], 1);
  assert_int_equal(stats.histogram[1], 1);
  assert_int_equal(stats.histogram[2], 2);
  assert_int_equal(furrow_index_get_list_stats(empty, &stats, NULL), FURROW_OK);
  assert_int_equal(stats.empty, 4);
  assert_int_equal(stats.min, 0);
  assert_true(isnan(stats.imbalance));
  assert_int_equal(furrow_index_get_list_stats(furrow_index_child(index, 0), &stats, NULL), FURROW_E_ARGUMENT);
  furrow_index_free(index);
  furrow_index_free(empty);
}

/* ---- Ways of reading ------------------------------------------------------------------------------------ */

static void mapped_lists_are_views_of_the_bytes(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  furrow_list_view list;
  sample_sparse_lists(&f);
  assert_int_equal(read_bytes(&f, true, &index, NULL), FURROW_OK);
  assert_int_equal(furrow_index_list(index, 3, &list, NULL), FURROW_OK);
  assert_true(list.ids == f.bytes + f.size - 8);
  assert_int_equal(furrow_list_id(&list, 0), 500);
  furrow_index_free(index);
  index_file_clear(&f);
}

/* A file that was mapped may be replaced by what is saved under its name. */
static void a_mapped_file_can_be_replaced(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  sample_ivfflat(&f);
  assert_true(test_write_file("same", f.bytes, f.size));
  assert_int_equal(furrow_index_load(&index, "same", &params, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "same", &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
  check_file("same", &f);
  assert_int_equal(furrow_index_load(&index, "same", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "same", NULL, NULL), FURROW_E_EXISTS);
  furrow_index_free(index);
  index_file_clear(&f);
}

/* ---- Bytes for the caller ------------------------------------------------------------------------------- */

typedef struct taken {
  index_file bytes;
  size_t most; /* bytes, before it fails */
} taken;

static furrow_status take_bytes(void *user, const void *bytes, size_t length, furrow_error *err) {
  taken *t = user;
  assert_non_null(err);
  if (t->bytes.size + length > t->most) return FURROW_E_RANGE;
  for (size_t i = 0; i < length; i++) put_byte(&t->bytes, ((const uint8_t *)bytes)[i]);
  return FURROW_OK;
}

static void an_index_is_written_to_a_callback(void **state) {
  (void)state;
  index_file f = {0};
  taken t = {.most = SIZE_MAX};
  furrow_index *index = NULL;
  furrow_error err = {0};
  furrow_output output;
  furrow_output_init(&output);
  put_ivfpq(&f);
  assert_int_equal(read_bytes(&f, false, &index, &err), FURROW_OK);
  assert_int_equal(furrow_index_write(index, &output, NULL, &err), FURROW_E_ARGUMENT); /* without a function */
  output.write = take_bytes;
  output.user = &t;
  assert_int_equal(furrow_index_write(index, &output, NULL, &err), FURROW_OK);
  assert_same_bytes(&t.bytes, &f);
  index_file_clear(&t.bytes);
  t = (taken){.most = f.size - 1};
  assert_int_equal(furrow_index_write(index, &output, NULL, &err), FURROW_E_RANGE);
  assert_int_equal(err.status, FURROW_E_RANGE);
  index_file_clear(&t.bytes);
  furrow_index_free(index);
  index_file_clear(&f);
}

/* ---- Structs of other sizes ----------------------------------------------------------------------------- */

/* Parameters of an older header end earlier, and the rest has its defaults; infos are filled as far as they reach. */
static void structs_may_be_shorter(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  furrow_error err = {0};
  furrow_index_load_params params;
  furrow_index_info info;
  put_ivfpq(&f);
  put_codes(&f, 5);
  furrow_index_load_params_init(&params);
  params.allow_trailing = true;
  params.search_only = true;
  params.size = offsetof(furrow_index_load_params, search_only);
  assert_int_equal(furrow_index_read(&index, f.bytes, f.size, NULL, &params, &err), FURROW_OK);
  assert_false(index->ivf.lists.packed);
  memset(&info, 0x55, sizeof info);
  info.size = offsetof(furrow_index_info, nlist);
  furrow_index_get_info(index, &info);
  assert_int_equal(info.kind, FURROW_INDEX_IVF_PQ);
  assert_int_equal(info.d, index->d);
  assert_int_equal(info.size, offsetof(furrow_index_info, nlist));
  assert_int_equal(info.nlist, UINT64_C(0x5555555555555555));
  furrow_index_free(index);
  index = NULL;
  params.size = 0;
  assert_int_equal(furrow_index_read(&index, f.bytes, f.size, NULL, &params, &err), FURROW_E_ARGUMENT);
  params.size = sizeof params + 8;
  assert_int_equal(furrow_index_read(&index, f.bytes, f.size, NULL, &params, &err), FURROW_E_UNSUPPORTED);
  assert_null(index);
  index_file_clear(&f);
}

static void what_follows_is_refused_or_allowed(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  furrow_error err;
  furrow_index_load_params params;
  put_ivfpq(&f);
  size_t end = f.size;
  put_codes(&f, 5);
  assert_int_equal(read_bytes(&f, false, &index, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, end);
  assert_non_null(strstr(err.message, "5 bytes after the end"));
  furrow_index_load_params_init(&params);
  params.allow_trailing = true;
  assert_int_equal(furrow_index_read(&index, f.bytes, f.size, NULL, &params, &err), FURROW_OK);
  furrow_index_free(index);
  assert_true(test_write_file("trailing", f.bytes, f.size));
  field_search s = {.path = "trailing"};
  assert_int_equal(furrow_index_for_each_field("trailing", &params, look_at_field, &s, &err), FURROW_OK);
  assert_true(s.found && s.offset == end && s.size == 5);
  index_file_clear(&f);
}

static void what_is_not_a_file_is_refused(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  assert_int_equal(furrow_index_load(&index, "nowhere", NULL, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_index_load(&index, ".", NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(mkfifo("pipe", 0600), 0);
  assert_int_equal(furrow_index_load(&index, "pipe", NULL, &err), FURROW_E_ARGUMENT);
  assert_true(test_write_text("empty", ""));
  assert_int_equal(furrow_index_load(&index, "empty", NULL, &err), FURROW_E_FORMAT);
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  assert_int_equal(furrow_index_load(&index, "empty", &params, &err), FURROW_E_FORMAT);
  assert_null(index);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(own_files_come_back),
      IN_DIR(legacy_files_become_those_of_today),
      GOLDEN_TEST_IN_DIR(golden_files_come_back),
      IN_DIR(a_known_file_has_its_known_size),
      cmocka_unit_test(the_documented_example_is_a_file),
      cmocka_unit_test(an_ivfpq_says_what_it_is),
      cmocka_unit_test(wrappers_lead_to_the_ivf),
      cmocka_unit_test(transforms_and_graphs_say_what_they_are),
      cmocka_unit_test(lists_are_counted),
      cmocka_unit_test(mapped_lists_are_views_of_the_bytes),
      IN_DIR(a_mapped_file_can_be_replaced),
      cmocka_unit_test(an_index_is_written_to_a_callback),
      cmocka_unit_test(structs_may_be_shorter),
      IN_DIR(what_follows_is_refused_or_allowed),
      IN_DIR(what_is_not_a_file_is_refused),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
