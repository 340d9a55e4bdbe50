/* tests/unit/vector/test_index_verify.c: what verify finds beyond what keeps a file from being loaded. */
#include <dirent.h>

#include "support/golden_set.h"
#include "support/index_check.h"
#include "support/own_dir.h"

typedef struct notes {
  size_t errors, remarks;
  furrow_status status; /* of the first error */
  char text[4096];
} notes;

static void note(void *user, const furrow_index_finding *finding) {
  notes *n = user;
  size_t used = strlen(n->text);
  if (finding->fatal && n->errors++ == 0) n->status = finding->status;
  n->remarks += !finding->fatal;
  assert_int_equal(finding->fatal, finding->status != FURROW_OK);
  assert_true(finding->offset != FURROW_NO_OFFSET);
  snprintf(n->text + used, sizeof n->text - used, "%s %s: %s\n", finding->fatal ? "error" : "remark", finding->path,
           finding->message);
}

/* Verifies a sample with one field changed; what is found must be `expected` alone ("": nothing). */
static void check(void (*make)(index_file *f), const char *field, uint64_t skip_bytes, int width, int64_t value,
                  const char *expected) {
  index_file f = {0};
  notes n = {0};
  furrow_error err = {0};
  make(&f);
  if (field) {
    uint8_t bytes[8];
    fw_put_le64(bytes, (uint64_t)value);
    memcpy(f.bytes + place_of(&f, "scratch", field) + skip_bytes, bytes, (size_t)width);
  }
  assert_true(test_write_file("file", f.bytes, f.size));
  furrow_status status = furrow_index_verify("file", NULL, note, &n, &err);
  assert_string_equal(n.text, expected);
  assert_int_equal(status, n.status);
  if (n.errors) assert_string_equal(err.file, "file");
  index_file_clear(&f);
}

static void good_files_are_good(void **state) {
  (void)state;
  check(put_ivfpq, NULL, 0, 0, 0, "");
  check(sample_ivfpqr, NULL, 0, 0, 0, "");
  check(sample_refine, NULL, 0, 0, 0, "");
  check(sample_hnsw, NULL, 0, 0, 0, "");
  check(pca_of_today, NULL, 0, 0, 0, "");
  check(sample_fast, NULL, 0, 0, 0, "");
  check(sample_multi, NULL, 0, 0, 0, "");
}

static void oddities_are_remarks(void **state) {
  (void)state;
  check(sample_no_lists, NULL, 0, 0, 0, "remark : cannot be searched: the index has no lists\n");
  check(sample_sparse_lists, NULL, 0, 0, 0,
        "remark ntotal: is 7, but the lists have 6 vectors: the others were not finite\n");
  check(legacy_IvPQ, NULL, 0, 0, 0, "remark fourcc: a legacy kind, which is written as IwPQ today\n");
  check(put_ivfpq, "dummy/0", 0, 8, 5, "remark dummy: the two unused numbers are not 1048576\n");
  check(sample_flat, "vectors", 4, 4, 0x7fc00000,
        "remark vectors: 1 of 6 numbers is not finite, the first is number 1\n");
  check(put_ivfpq, "lists/2/ids", 0, 8, 0, "remark lists: 1 id occurs more than once\n");
  check(put_ivfpq, "lists/2/ids", 0, 8, -9, "remark lists: 1 id is negative\n");
  check(sample_id_map, "id_map", 0, 8, 999, "remark id_map: 1 id occurs more than once\n");
  check(sample_ivf_hnsw, "lists/0/codes", 1, 1, 4, "remark lists: 6 codes have bits set after the last part\n");
  check(sample_untrained, NULL, 0, 0, 0, "remark : cannot be searched: the index is not trained\n");
  check(sample_id_map, "is_trained", 0, 1, 0,
        "remark : cannot be searched: the index is not trained\n"
        "remark is_trained: is 0, but the inner index is trained\n");
  check(sample_hnsw, "storage/is_trained", 0, 1, 0, "remark is_trained: is 1, but the inner index is not trained\n");
  check(sample_refine, "refine/is_trained", 0, 1, 0, "remark is_trained: is 1, but the inner index is not trained\n");
  check(pca_of_today, "ntotal", 0, 8, 5, "remark ntotal: is 5, but the inner index has 1\n");
}

static void damage_is_an_error(void **state) {
  (void)state;
  check(put_ivfpq, "quantizer/vectors", 8, 4, 0x7f800000,
        "error : quantizer/vectors has a number that is not finite, number 2 of 16\n");
  check(put_ivfpq, "pq/centroids", 0, 4, 0x7fc00000,
        "error : pq/centroids has a number that is not finite, number 0 of 64\n");
  check(sample_ivfpqr, "lists/3/ids", 0, 8, 77, "error lists: 1 id is not within 0 to 5, where the refinement looks\n");
  check(sample_refine, "base/lists/3/ids", 0, 8, 6,
        "error base: 1 id is not within 0 to 5, where the refinement looks\n");
  check(sample_id_map, "index/lists/3/ids", 0, 8, 6,
        "error index: 1 id is not within 0 to 5, where the id map looks\n");
  check(sample_map_array, "direct_map/array", 0, 8, 1,
        "remark ntotal: is 7, but the lists have 6 vectors: the others were not finite\n"
        "error direct_map: 1 entry leads to the vector of another id, the first is 0\n");
  check(sample_transforms, "transforms/4/A", 0, 4, 0x7fc00000,
        "error : transforms/4/A has a number that is not finite, number 0 of 8\n");
  check(sample_transforms, "transforms/1/mean", 4, 4, 0x7f800000,
        "error : transforms/1/mean has a number that is not finite, number 1 of 4\n");
  check(sample_ivfsq, "sq/trained", 28, 4, 0x7fc00000,
        "error : sq/trained has a number that is not finite, number 7 of 8\n");
  check(sample_ivfsq, "sq/qtype", 0, 4, 2, "error : sq/trained has 8 numbers for ranges, not 2\n");
  check(put_ivfpq, "nprobe", 0, 8, 0, "error : nprobe is 0, but a search must probe a list\n");
}

/* What Furrow reads and writes, but does not search. */
static void what_is_not_searched_is_an_error(void **state) {
  (void)state;
  check(sample_transforms, NULL, 0, 0, 0, "error : cannot be searched: transform 7 (HRot) cannot be applied\n");
  check(sample_ivfpqr, "metric_type", 0, 4, 0,
        "error : cannot be searched: inverted lists of product quantizer codes with refinement (IwQR) can only be "
        "searched by L2\n");
  check(sample_pq, "search_type", 0, 4, 1,
        "error : cannot be searched: product quantizer codes (IxPq) can only be searched by distances\n");
}

static void hashtables_are_followed(void **state) {
  (void)state;
  check(sample_map_hash, NULL, 0, 0, 0, "remark direct_map: 3 entries for 6 vectors in lists\n");
  check(sample_map_hash, "direct_map/hashtable", 0, 8, 501,
        "error direct_map: 1 entry leads to the vector of another id, the first is 0\n"
        "remark direct_map: 3 entries for 6 vectors in lists\n");
}

/* Two vectors that nothing leads to. */
static void graphs_are_walked(void **state) {
  (void)state;
  index_file f = {0};
  notes n = {0};
  sample_hnsw(&f);
  uint64_t links = place_of(&f, "scratch", "neighbors");
  static const int into_3_or_4[] = {6 + 6 + 0, 1}; /* 2 -> 3, 0 -> 4 */
  for (int i = 0; i < 2; i++) fw_put_le32(f.bytes + links + 4 * (uint64_t)into_3_or_4[i], (uint32_t)-1);
  assert_true(test_write_file("file", f.bytes, f.size));
  assert_int_equal(furrow_index_verify("file", NULL, note, &n, NULL), FURROW_OK);
  assert_string_equal(n.text, "remark neighbors: 2 of 5 vectors cannot be reached from the entry point\n");
  index_file_clear(&f);
}

static void golden_files_are_good(void **state) {
  (void)state;
  char folder[TEST_PATH], path[TEST_PATH];
  DIR *entries = opendir(golden_path(folder, "faiss"));
  struct dirent *entry;
  assert_non_null(entries);
  while ((entry = readdir(entries)) != NULL) {
    size_t size = strlen(entry->d_name);
    if (size < 6 || strcmp(entry->d_name + size - 6, ".index") != 0) continue;
    notes n = {0};
    snprintf(path, sizeof path, "%.500s/%.256s", folder, entry->d_name);
    assert_int_equal(furrow_index_verify(path, NULL, note, &n, NULL), FURROW_OK);
    if (strstr(path, "_ondisk")) assert_non_null(strstr(n.text, "free place"));
  }
  closedir(entries);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(good_files_are_good),
      IN_DIR(oddities_are_remarks),
      IN_DIR(damage_is_an_error),
      IN_DIR(what_is_not_searched_is_an_error),
      IN_DIR(hashtables_are_followed),
      IN_DIR(graphs_are_walked),
      GOLDEN_TEST_IN_DIR(golden_files_are_good),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
