/* tests/unit/vector/test_index_compat.c: files for older releases of Faiss: the layouts that those had, what they
 * cannot read, and that nothing is lost on the way. */
#include <dirent.h>

#include "support/edit_index.h"
#include "support/golden_set.h"
#include "support/own_dir.h"

static furrow_status save_for(const furrow_index *index, const char *path, const char *release, furrow_error *err) {
  furrow_index_save_params params;
  furrow_index_save_params_init(&params);
  params.compat = release;
  params.overwrite = true;
  uint64_t size = 0;
  furrow_status status = furrow_index_save(index, path, &params, err);
  furrow_status counted = furrow_index_file_size(index, &params, &size, NULL);
  assert_int_equal(counted, status);
  if (status == FURROW_OK) {
    index_file written = {0};
    read_whole(path, &written);
    assert_int_equal(written.size, size);
    index_file_clear(&written);
  }
  return status;
}

static furrow_index *index_of(void (*make)(index_file *f)) {
  index_file f = {0};
  furrow_index *index = NULL;
  make(&f);
  assert_int_equal(read_bytes(&f, false, &index, NULL), FURROW_OK);
  index_file_clear(&f);
  return index;
}

/* ---- Layouts -------------------------------------------------------------------------------------------- */

static void pq_of_8(index_file *f) {
  put_ivf_pq(f, 8);
}
static void refinement_of_8(index_file *f) {
  put_pq(f, 4, 4, 8);
  put_long(f, 24);
  put_codes(f, 24);
  put_real(f, 4);
}
static void old_IvPQ(index_file *f) {
  put_legacy(f, "IvPQ", false, 2, pq_of_8, NULL);
}
static void old_IvQR(index_file *f) {
  put_legacy(f, "IvQR", false, 2, pq_of_8, refinement_of_8);
}
static void new_IwPQ(index_file *f) {
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_lists(f, 4, 2, sample_sizes, true, 1);
}
static void new_IwQR(index_file *f) {
  put_ivf(f, "IwQR", 6);
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_lists(f, 4, 2, sample_sizes, true, 1);
  refinement_of_8(f);
}
/* An old index inside of others. */
static void around(index_file *f, void (*make)(index_file *f)) {
  put_header(f, "IxMp", 4, 6, true, 1);
  make(f);
  put_long(f, 6);
  for (int i = 0; i < 6; i++) put_long(f, 50 - i);
}
static void old_in_map(index_file *f) {
  around(f, old_IvPQ);
}
static void new_in_map(index_file *f) {
  around(f, new_IwPQ);
}

static const struct {
  const char *release;
  void (*make)(index_file *f), (*today)(index_file *f);
} layouts[] = {
    {"1.0", old_IvPQ, new_IwPQ},
    {"1.2.1", new_IwPQ, new_IwPQ},
    {"1.0", old_IvQR, new_IwQR},
    {"1.2.1", new_IwQR, new_IwQR},
    {"1.0", legacy_IvFL, sample_ivfflat},
    {"1.2.1", sample_ivfflat, sample_ivfflat},
    {"1.0", legacy_IvSQ, sq_by_residual},
    {"1.2.1", legacy_IwSQ, sq_by_residual},
    {"1.5.0", legacy_IwSQ, sq_by_residual},
    {"1.5.1", sq_by_residual, sq_by_residual},
    {"1.0", legacy_PcAm, pca_of_today},
    {"1.7.1", legacy_PcAm, pca_of_today},
    {"1.7.2", pca_of_today, pca_of_today},
    {"1.0", old_in_map, new_in_map},
    {"1.15.0", new_in_map, new_in_map},
};

static void older_layouts_are_written(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    index_file want = {0}, today = {0}, found = {0}, again = {0};
    furrow_index *index = index_of(layouts[i].today), *back = NULL;
    layouts[i].make(&want);
    layouts[i].today(&today);
    assert_int_equal(save_for(index, "old", layouts[i].release, NULL), FURROW_OK);
    read_whole("old", &found);
    assert_same_bytes(&found, &want);
    assert_int_equal(furrow_index_load(&back, "old", NULL, NULL), FURROW_OK);
    write_bytes(back, &again);
    assert_same_bytes(&again, &today);
    furrow_index_free(back);
    furrow_index_free(index);
    index_file_clear(&want);
    index_file_clear(&today);
    index_file_clear(&found);
    index_file_clear(&again);
  }
}

/* ---- What cannot be read -------------------------------------------------------------------------------- */

static void untrained_of_8(index_file *f) {
  static const size_t none[4] = {0};
  put_header(f, "IwPQ", 4, 0, false, 1);
  put_long(f, 4);
  put_long(f, 1);
  put_flat(f, "IxF2", 4, 0, 1);
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_lists(f, 4, 2, none, false, 1);
}
static void null_quantizer(index_file *f) {
  put_header(f, "IwFl", 4, 6, true, 1);
  put_long(f, 4);
  put_long(f, 1);
  put_fourcc(f, "null");
  put_no_map(f);
  put_lists(f, 4, 16, sample_sizes, true, 1);
}
static void no_lists_of_8(index_file *f) {
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_fourcc(f, "il00");
}
static void hash_of_8(index_file *f) {
  put_ivf(f, "IwFl", 6);
  put_byte(f, 2);
  put_long(f, 0);
  put_long(f, 1);
  put_long(f, 0);
  put_long(f, 0);
  put_lists(f, 4, 16, sample_sizes, true, 100);
}
static void flat_of(index_file *f, int metric) {
  put_flat(f, "IxFl", 3, 2, metric);
}
static void flat_l1(index_file *f) {
  flat_of(f, 2);
}
static void flat_jaccard(index_file *f) {
  flat_of(f, 23);
}
static void flat_nan(index_file *f) {
  flat_of(f, 24);
}
static void flat_gower(index_file *f) {
  flat_of(f, 25);
}
static void refined_by_codes(index_file *f) {
  put_header(f, "IxRF", 6, 3, true, 1);
  put_flat(f, "IxF2", 6, 3, 1);
  put_header(f, "IxPq", 6, 3, true, 1);
  put_pq(f, 6, 3, 8);
  put_long(f, 9);
  put_codes(f, 9);
  put_word(f, 0);
  put_byte(f, 0);
  put_word(f, 2);
  put_real(f, 4);
}
static void graph_of_ip(index_file *f) {
  size_t at = f->size;
  put_hnsw(f, 3, 5);
  memset(f->bytes + at + 33, 0, 4);
}
static void refined_of_4(index_file *f) {
  put_ivf(f, "IwQR", 6);
  put_no_map(f);
  put_ivf_pq(f, 8);
  put_lists(f, 4, 2, sample_sizes, true, 1);
  put_refinement(f);
}
static void sq_of(index_file *f, int type, size_t code_size) {
  put_ivf(f, "IwSq", 6);
  put_no_map(f);
  put_word(f, type);
  put_word(f, 0);
  put_real(f, 0);
  put_long(f, 4);
  put_long(f, (int64_t)code_size);
  put_real_vector(f, type == 6 ? 8 : 0);
  put_long(f, (int64_t)code_size);
  put_byte(f, 1);
  put_lists(f, 4, code_size, sample_sizes, true, 1);
}
static void sq_fp16(index_file *f) {
  sq_of(f, 4, 8);
}
static void sq_direct(index_file *f) {
  sq_of(f, 5, 4);
}
static void sq_6_bits(index_file *f) {
  sq_of(f, 6, 3);
}
static void sq_bf16(index_file *f) {
  sq_of(f, 7, 8);
}
static void sq_signed(index_file *f) {
  sq_of(f, 8, 4);
}
static void one_transform(index_file *f, const char *fourcc) {
  put_header(f, "IxPT", 2, 1, true, 1);
  put_word(f, 1);
  put_fourcc(f, fourcc);
  if (strcmp(fourcc, "HRot") == 0) {
    put_word(f, 5);
  } else if (strcmp(fourcc, "VCnt") == 0) {
    put_real_vector(f, 2);
  } else {
    put_word(f, 50);
    put_word(f, 123);
    put_linear(f, 2, 2, false);
  }
  put_transform_end(f, 2, 2);
  put_flat(f, "IxF2", 2, 1, 1);
}
static void centering(index_file *f) {
  one_transform(f, "VCnt");
}
static void rotation_of_itq(index_file *f) {
  one_transform(f, "Viqm");
}
static void hadamard(index_file *f) {
  one_transform(f, "HRot");
}
/* Eigen power and then epsilon follow the fourcc; is_trained ends the transform, before the flat index. */
static void pca_to_be_trained(index_file *f) {
  const float epsilon = 0.5f;
  size_t at = f->size;
  put_pca(f, 2);
  memcpy(f->bytes + at + 37 + 4 + 4 + 4, &epsilon, 4);
  f->bytes[f->size - (37 + 8 + 8) - 1] = 0;
}
static void refined_inside(index_file *f) {
  put_header(f, "IxRF", 4, 6, true, 1);
  hash_of_8(f);
  put_flat(f, "IxF2", 4, 6, 1);
  put_real(f, 10);
}

/* The last release that does not read it, the first that does, and what the message names. */
static const struct {
  void (*make)(index_file *f);
  const char *before, *first, *token, *text;
} refused[] = {
    {sample_fast, "1.6.5", "1.7.0", "IwPf", "the index has 4-bit codes in blocks"},
    {hash_of_8, "1.6.1", "1.6.2", "IwFl", "hashtable"},
    {refined_inside, "1.6.1", "1.6.2", "IwFl", "base has a direct map"},
    {null_quantizer, "1.8.0", "1.9.0", "IwFl", "missing"},
    {no_lists_of_8, "1.2.1", "1.3.0", "IwPQ", "il00"},
    {flat_l1, "1.6.1", "1.6.2", "IxFl", "metric"},
    {flat_jaccard, "1.7.3", "1.7.4", "IxFl", "Jaccard"},
    {flat_nan, "1.8.0", "1.9.0", "IxFl", "NaN"},
    {flat_gower, "1.12.0", "1.13.0", "IxFl", "Gower"},
    {graph_of_ip, "1.6.1", "1.6.2", "IHNf", "graph"},
    {refined_by_codes, "1.6.5", "1.7.0", "IxRF", "not flat"},
    {put_ivfpq, "1.6.1", "1.6.2", "IwPQ", "other than 8 bits"},
    {sample_pq, "1.5.1", "1.5.2", "IxPq", "8 or 16 bits"},
    {refined_of_4, "1.5.1", "1.5.2", "IwQR", "8 or 16 bits"},
    {sample_ivfsq, "1.5.0", "1.5.1", "IwSq", "without residuals"},
    {sq_fp16, "1.2.1", "1.3.0", "IwSq", "fp16"},
    {sq_direct, "1.5.0", "1.5.1", "IwSq", "bytes"},
    {sq_6_bits, "1.5.1", "1.5.2", "IwSq", "6 bits"},
    {sq_bf16, "1.8.0", "1.9.0", "IwSq", "bf16"},
    {sq_signed, "1.8.0", "1.9.0", "IwSq", "signed"},
    {centering, "1.5.0", "1.5.1", "VCnt", "transform VCnt"},
    {rotation_of_itq, "1.5.3", "1.6.0", "Viqm", "transform Viqm"},
    {hadamard, "1.14.3", "1.15.0", "HRot", "transform HRot"},
    {pca_to_be_trained, "1.7.1", "1.7.2", "Pcam", "epsilon"},
};

static void what_is_too_new_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    furrow_error err = {0};
    furrow_index *index = index_of(refused[i].make);
    assert_int_equal(save_for(index, "new", refused[i].before, &err), FURROW_E_UNSUPPORTED);
    assert_string_equal(err.token, refused[i].token);
    if (!strstr(err.message, refused[i].text)) print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, refused[i].text));
    char since[64];
    snprintf(since, sizeof since, "since %s, not in %s", refused[i].first, refused[i].before);
    assert_non_null(strstr(err.message, since));
    assert_int_equal(access("new", F_OK), -1);
    assert_int_equal(save_for(index, "new", refused[i].first, NULL), FURROW_OK);
    assert_int_equal(save_for(index, "new", "1.15.0", NULL), FURROW_OK);
    assert_int_equal(remove("new"), 0);
    furrow_index_free(index);
  }
}

static void untrained_waits_for_training(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_index *index = index_of(untrained_of_8);
  assert_int_equal(save_for(index, "x", "1.5.1", &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, "not trained"));
  assert_int_equal(save_for(index, "x", "1.5.2", NULL), FURROW_OK);
  furrow_index_free(index);
  /* what training does not change is told first */
  index = index_of(sample_untrained);
  assert_int_equal(save_for(index, "x", "1.5.1", NULL), FURROW_E_UNSUPPORTED);
  furrow_index_free(index);
}

/* ---- Everything comes back ------------------------------------------------------------------------------ */

static const char *const releases[] = {"1.0", "1.2.1", "1.5.0", "1.5.1", "1.6.1", "1.6.3", "1.7.1", "1.7.3", "1.15.0"};
enum { RELEASES = sizeof releases / sizeof *releases };

/* Writes an index for all releases that can read it; the number of those. How sizes of lists are written in a file that
 * does not follow the rule is lost where ids stand with the lists, so that form is taken away first. */
static int check_all_releases(furrow_index *index, const char *name) {
  index_file today = {0};
  int written = 0;
  if (fw_index_is_ivf(index)) index->ivf.lists.sizes_form = FW_SIZES_BY_RULE;
  write_bytes(index, &today);
  for (int i = 0; i < RELEASES; i++) {
    index_file old = {0}, again = {0};
    furrow_index *back = NULL;
    fw_index_writer w;
    furrow_status status = fw_index_writer_init(
        &w, index, &(furrow_index_save_params){.size = sizeof(furrow_index_save_params), .compat = releases[i]}, NULL);
    if (status == FURROW_E_UNSUPPORTED || status == FURROW_E_STATE) continue;
    assert_int_equal(status, FURROW_OK);
    w.write = append_bytes;
    w.to = &old;
    fw_write_index(&w, index);
    assert_int_equal(w.status, FURROW_OK);
    status = read_bytes(&old, false, &back, NULL);
    if (status != FURROW_OK) print_error("%s for %s\n", name, releases[i]);
    assert_int_equal(status, FURROW_OK);
    write_bytes(back, &again);
    assert_same_bytes(&again, &today);
    furrow_index_free(back);
    index_file_clear(&old);
    index_file_clear(&again);
    written++;
  }
  index_file_clear(&today);
  return written;
}

static void own_files_come_back(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLES; i++) {
    furrow_index *index = index_of(samples[i].make);
    assert_true(check_all_releases(index, samples[i].name) > 0);
    furrow_index_free(index);
  }
}

static void golden_files_come_back(void **state) {
  (void)state;
  char folder[TEST_PATH], path[TEST_PATH];
  DIR *entries = opendir(golden_path(folder, "faiss"));
  struct dirent *entry;
  int files = 0, for_the_oldest = 0;
  assert_non_null(entries);
  while ((entry = readdir(entries)) != NULL) {
    size_t n = strlen(entry->d_name);
    furrow_index *index = NULL;
    if (n < 6 || strcmp(entry->d_name + n - 6, ".index") != 0 || strstr(entry->d_name, "ondisk")) continue;
    snprintf(path, sizeof path, "%.500s/%.256s", folder, entry->d_name);
    assert_int_equal(furrow_index_load(&index, path, NULL, NULL), FURROW_OK);
    int written = check_all_releases(index, entry->d_name);
    assert_true(written > 0);
    files++;
    for_the_oldest += written == RELEASES;
    furrow_index_free(index);
  }
  closedir(entries);
  assert_true(files > (golden_is_full ? 70 : 35));
  assert_true(for_the_oldest > (golden_is_full ? 20 : 10));
}

/* ---- Other ways to a file ------------------------------------------------------------------------------- */

static void merged_files_are_for_old_releases(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(8, 4, 2);
  const char *const paths[] = {"a", "b"};
  const int64_t shifts[] = {0, 60};
  furrow_error err = {0};
  fw_rng rng;
  float vectors[60 * 8];
  index_file merged = {0}, again = {0};
  furrow_index *index = NULL;
  spec.m = 0;
  fw_rng_init(&rng, 5);
  for (int i = 0; i < 2; i++) {
    furrow_index *part = trained_index(&spec, 9);
    fill_random(&rng, vectors, 60 * 8);
    assert_int_equal(add_vectors(part, vectors, 60, NULL), FURROW_OK);
    assert_int_equal(furrow_index_save(part, paths[i], &overwriting, NULL), FURROW_OK);
    furrow_index_free(part);
  }
  furrow_index_save_params params = {.size = sizeof(furrow_index_save_params), .compat = "1.0", .overwrite = true};
  assert_int_equal(furrow_index_merge_files(paths, shifts, 2, NULL, "old", &params, NULL), FURROW_OK);
  assert_int_equal(furrow_index_merge_files(paths, shifts, 2, NULL, "new", &overwriting, NULL), FURROW_OK);
  assert_int_equal(furrow_index_load(&index, "old", NULL, NULL), FURROW_OK);
  read_whole("old", &merged);
  assert_memory_equal(merged.bytes, "IvFL", 4);
  index_file_clear(&merged);
  read_whole("new", &merged);
  write_bytes(index, &again);
  assert_same_bytes(&again, &merged);
  params.compat = "1.1";
  assert_int_equal(furrow_index_merge_files(paths, shifts, 2, NULL, "none", &params, &err), FURROW_E_ARGUMENT);
  assert_int_equal(access("none", F_OK), -1);
  furrow_index_free(index);
  index_file_clear(&merged);
  index_file_clear(&again);
}

static void lists_on_disk_must_come_in(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  furrow_error err = {0};
  furrow_index_load_params loading;
  furrow_index_load_params_init(&loading);
  loading.lists_optional = true;
  put_ivf(&f, "IwFl", 0);
  put_no_map(&f);
  put_fourcc(&f, "ilod");
  put_long(&f, 4);
  put_long(&f, 16);
  put_long(&f, 4);
  for (int i = 0; i < 4; i++) {
    put_long(&f, 0);
    put_long(&f, 0);
    put_long(&f, -1);
  }
  put_long(&f, 0);
  put_long(&f, 4);
  put_fourcc(&f, "data");
  put_long(&f, 0);
  assert_true(test_write_file("data", "", 0));
  assert_true(test_write_file("disk", f.bytes, f.size));
  assert_int_equal(furrow_index_load(&index, "disk", &loading, NULL), FURROW_OK);
  assert_int_equal(save_for(index, "x", "1.0", &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "lists on disk"));
  assert_int_equal(save_for(index, "x", "1.2.1", NULL), FURROW_OK);
  furrow_index_save_params params = {
      .size = sizeof(furrow_index_save_params), .compat = "1.0", .inline_lists = true, .overwrite = true};
  assert_int_equal(furrow_index_save(index, "x", &params, NULL), FURROW_OK);
  furrow_index_free(index);
  index_file_clear(&f);
}

static void releases_are_known(void **state) {
  (void)state;
  static const char *const bad[] = {"",       "1",      "1.",  "1.1",    "1.2.0", "1.7.5",
                                    "1.7.3 ", "v1.7.3", "2.0", "1.16.0", "1.07"};
  static const char *const good[] = {"1.0", "1.2", "1.2.1", "1.5", "1.7.3", "1.7.4", "1.10", "1.13.2", "1.15.0"};
  furrow_index *index = index_of(sample_flat);
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    assert_int_equal(save_for(index, "x", good[i], NULL), FURROW_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    furrow_error err = {0};
    assert_int_equal(save_for(index, "x", bad[i], &err), FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "1.7.0 to 4"));
    assert_non_null(strstr(err.message, "1.15.0"));
  }
  furrow_index_free(index);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(older_layouts_are_written),
      cmocka_unit_test(what_is_too_new_is_refused),
      cmocka_unit_test(untrained_waits_for_training),
      cmocka_unit_test(own_files_come_back),
      GOLDEN_TEST(golden_files_come_back),
      cmocka_unit_test(merged_files_are_for_old_releases),
      cmocka_unit_test(lists_on_disk_must_come_in),
      cmocka_unit_test(releases_are_known),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
