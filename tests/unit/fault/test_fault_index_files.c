/* tests/unit/fault/test_fault_index_files.c: index files, their names and files of vectors are read, checked, changed
 * and written, and the n-th allocation or system call fails, for every n: the call says so, nothing leaks, and files
 * are the old ones or the new ones. */
#include "furrow/init.h"
#include "furrow/vector_data.h"
#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/made_kinds.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"
#include "unit/fault/call_faults.h"

enum { D = 8, N = 40 };

int rename(const char *old, const char *new) {
  return fails_now(__func__, EIO) ? -1 : REAL(rename)(old, new);
}

int unlink(const char *path) {
  return fails_now(__func__, EIO) ? -1 : REAL(unlink)(path);
}

/* ---- Every fault ---------------------------------------------------------------------------------------- */

typedef struct job {
  const char *name;
  furrow_status (*run)(furrow_error *err);
  void (*check)(const struct job *job, furrow_status status, long n); /* may be NULL: after each fault */
  bool memory_only;
} job;

static void check_outcome(const job *j, furrow_status status, const furrow_error *err, bool met, long n) {
  if (status != FURROW_OK && (!met || err->status != status || !err->message[0]))
    fail_msg("%s, %s %ld: %s: %s (%s)", j->name, fault_call, n, furrow_status_name(status), err->message,
             furrow_status_name(err->status));
  if (j->check) j->check(j, status, n);
}

static void meet_calls(const job *j, call_fault kind) {
  bool met = true;
  for (long n = 1; met; n++) {
    furrow_error err = {.status = FURROW_OK};
    const size_t descriptors = open_descriptors();
    fault_at(kind, n);
    const furrow_status status = j->run(&err);
    met = atomic_load(&fault_met);
    fault_at(kind, 0);
    if (kind != FAULT_ERROR && status != FURROW_OK)
      fail_msg("%s, %s %ld: it was to be tried again: %s", j->name, fault_call, n, err.message);
    if (open_descriptors() != descriptors) fail_msg("%s, %s %ld: a descriptor stays open", j->name, fault_call, n);
    check_outcome(j, status, &err, met, n);
  }
}

static void starve(const job *j) {
  fault_call = "allocation";
  bool met = FAILING_ALLOC;
  for (long n = 1; met; n++) {
    furrow_error err = {.status = FURROW_OK};
    const long live = atomic_load(&alloc_live);
    alloc_fail_at(n);
    const furrow_status status = j->run(&err);
    met = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (atomic_load(&alloc_live) != live) fail_msg("%s, allocation %ld: something leaks", j->name, n);
    check_outcome(j, status, &err, met, n);
  }
}

static void meet_all(const job *j) {
  furrow_error err = {.status = FURROW_OK};
  if (j->run(&err) != FURROW_OK) fail_msg("%s: %s: %s", j->name, err.file, err.message);
  for (call_fault kind = FAULT_ERROR; !j->memory_only && kind < CALL_FAULTS; kind++) meet_calls(j, kind);
  starve(j);
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static bool maps, packs; /* how the index is loaded */

static furrow_status load(furrow_index **index, const char *path, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.memory_map = maps;
  params.search_only = packs;
  return furrow_index_load(index, path, &params, err);
}

static furrow_status load_index(furrow_error *err) {
  furrow_index *index = NULL;
  const furrow_status status = load(&index, "kind", err);
  assert_int_equal(status == FURROW_OK, index != NULL);
  furrow_index_free(index);
  return status;
}

static void no_finding(void *user, const furrow_index_finding *finding) {
  (void)user;
  (void)finding;
}

static furrow_status verify(furrow_error *err) {
  return furrow_index_verify("kind", NULL, no_finding, NULL, err);
}

static furrow_status no_field(void *user, const furrow_index_field *field) {
  (void)user;
  (void)field;
  return FURROW_OK;
}

static furrow_status list_fields(furrow_error *err) {
  return furrow_index_for_each_field("kind", NULL, no_field, NULL, err);
}

static index_file written; /* what save_again has to write */

/* Decodes a vector, lists the ids, and writes the index. */
static furrow_status save_again(furrow_error *err) {
  furrow_index *index = NULL;
  furrow_ids ids = {0};
  float vector[KIND_D];
  furrow_status status = load(&index, "kind", err);
  if (status == FURROW_OK) status = furrow_index_get_ids(index, &ids, err);
  if (status == FURROW_OK) status = furrow_index_reconstruct(index, ids.ids[0], vector, err);
  if (status == FURROW_E_UNSUPPORTED || status == FURROW_E_STATE) status = FURROW_OK; /* not every kind decodes */
  if (status == FURROW_OK) status = furrow_index_save(index, "again", &overwriting, err);
  furrow_ids_clear(&ids);
  furrow_index_free(index);
  return status;
}

static void expect_written(const job *j, furrow_status status, long n) {
  index_file now = {0};
  (void)status;
  read_whole("again", &now);
  if (now.size != written.size || memcmp(now.bytes, written.bytes, now.size) != 0)
    fail_msg("%s, %s %ld: not the file that was expected", j->name, fault_call, n);
  index_file_clear(&now);
}

static furrow_status merge_twice(furrow_error *err) {
  static const char *const paths[] = {"kind", "kind"};
  return furrow_index_merge_files(paths, NULL, 2, NULL, "again", &overwriting, err);
}

static void every_kind(void **state) {
  static made_kind kind;
  (void)state;
  for (size_t c = 0; c < KIND_CASES; c++) {
    const char *name = kind_cases[c].name;
    furrow_error err;
    make_kind(&kind, &kind_cases[c]);
    assert_true(test_write_file("kind", kind.file.bytes, kind.file.size));
    for (int way = 0; way < 3; way++) {
      maps = way == 1;
      packs = way == 2;
      meet_all(&(job){name, load_index, NULL, way == 2});
    }
    packs = false;
    meet_all(&(job){name, verify, NULL, c % 3 != 0});
    meet_all(&(job){name, list_fields, NULL, c % 3 != 1});
    for (int merges = 0; merges < 2; merges++) {
      furrow_status (*run)(furrow_error *) = merges ? merge_twice : save_again;
      if (run(&err) == FURROW_E_UNSUPPORTED) continue;
      written = (index_file){0};
      read_whole("again", &written);
      meet_all(&(job){name, run, expect_written, c % 5 != 0});
      index_file_clear(&written);
    }
    index_file_clear(&kind.file);
  }
}

/* ---- Names ---------------------------------------------------------------------------------------------- */

static furrow_index *indexes[2];
static furrow_id_names *names;

static furrow_status save_index(const furrow_index *index, const furrow_id_names *its_names, furrow_error *err) {
  furrow_index_save_params params = overwriting;
  params.names = its_names;
  return furrow_index_save(index, "named", &params, err);
}

static furrow_status save_with_names(furrow_error *err) {
  return save_index(indexes[1], names, err);
}

static furrow_status save_without_names(furrow_error *err) {
  return save_index(indexes[1], NULL, err);
}

static furrow_status save_names(furrow_error *err) {
  return furrow_id_names_save(names, "named", err);
}

static furrow_status discard_names(furrow_error *err) {
  return furrow_id_names_discard("named", err);
}

static furrow_status load_names(furrow_error *err) {
  furrow_id_names *found = NULL;
  uint64_t unused = 0;
  furrow_status status = furrow_id_names_load(&found, "link", err);
  if (status == FURROW_OK) status = furrow_id_names_check(found, indexes[0], &unused, err);
  furrow_id_names_free(found);
  return status;
}

/* Everything that is searched is loaded, or nothing is. */
static furrow_status open_path(const char *path, furrow_error *err) {
  furrow_searcher *searcher = NULL;
  size_t size = 0;
  const furrow_searcher_open_params params = FURROW_INIT(furrow_searcher_open_params, .threads = 1);
  const furrow_status status = furrow_searcher_open(&searcher, path, &params, err);
  assert_true(!searcher == (status != FURROW_OK));
  if (searcher) assert_non_null(furrow_searcher_name(searcher, 3, &size));
  furrow_searcher_free(searcher);
  return status;
}

static furrow_status open_named(furrow_error *err) {
  return open_path("named", err);
}

static furrow_status open_parts(furrow_error *err) {
  return open_path("parts", err);
}

static bool waits; /* the names of the index are still staged */

static void put_named(void) {
  furrow_error err;
  DIR *handle = opendir(".");
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strstr(entry->d_name, "named")) assert_int_equal(remove(entry->d_name), 0);
  closedir(handle);
  if (save_index(indexes[0], names, &err) != FURROW_OK) fail_msg("%s", err.message);
  if (waits) assert_int_equal(rename("named.names", "named.names.new"), 0);
}

/* The index is there, and has the names or none: never those of another. */
static void expect_its_names(const job *j, furrow_status status, long n) {
  furrow_index *index = NULL;
  furrow_id_names *found = NULL;
  furrow_error err = {0};
  assert_int_equal(furrow_index_load(&index, "named", NULL, NULL), FURROW_OK);
  const furrow_status loaded = furrow_id_names_load(&found, "named", &err);
  const bool gone = loaded == FURROW_E_NOT_FOUND && (j->run == save_without_names || j->run == discard_names);
  if (loaded != FURROW_OK && !gone) fail_msg("%s, %s %ld: names: %s", j->name, fault_call, n, err.message);
  if (status == FURROW_OK && (j->run == save_with_names || j->run == save_names)) assert_int_equal(loaded, FURROW_OK);
  if (found) assert_int_equal(furrow_id_names_count(found), N);
  furrow_id_names_free(found);
  furrow_index_free(index);
  put_named();
}

static int make_named(void **state) {
  const furrow_index_spec spec = plain_spec(D, 3, 2);
  static float vectors[N * D];
  char texts[N][8];
  const char *list[N];
  fw_rng rng;
  fw_rng_init(&rng, 5);
  if (enter_dir(state) != 0) return -1;
  for (int i = 0; i < 2; i++) {
    fill_random(&rng, vectors, N * D);
    indexes[i] = trained_index(&spec, 3);
    if (add_vectors(indexes[i], vectors, N, NULL) != FURROW_OK) return -1;
  }
  for (size_t i = 0; i < N; i++) {
    snprintf(texts[i], sizeof texts[i], "n%zu", i);
    list[i] = texts[i];
  }
  if (furrow_id_names_create(&names, NULL) != FURROW_OK) return -1;
  return furrow_id_names_add(names, NULL, list, N, NULL) == FURROW_OK && symlink("named", "link") == 0 ? 0 : -1;
}

static int free_named(void **state) {
  furrow_id_names_free(names);
  for (int i = 0; i < 2; i++) furrow_index_free(indexes[i]);
  return leave_dir(state);
}

/* Names that an earlier save left to wait are kept, or do not matter. */
static void names_of_an_index(void **state) {
  (void)state;
  fault_spares_fstat = true;
  put_named();
  meet_all(&(job){"load names", load_names, expect_its_names, false});
  meet_all(&(job){"open with names", open_named, expect_its_names, false});
  assert_int_equal(
      furrow_index_save_shards(indexes[0], "parts", &FURROW_INIT(furrow_index_save_params, .names = names), NULL),
      FURROW_OK);
  meet_all(&(job){"open shards with names", open_parts, NULL, false});
  for (int waiting = 0; waiting < 2; waiting++) {
    waits = waiting;
    put_named();
    meet_all(&(job){"save with names", save_with_names, expect_its_names, false});
    meet_all(&(job){"save without names", save_without_names, expect_its_names, false});
    meet_all(&(job){"save names", save_names, expect_its_names, false});
    meet_all(&(job){"discard names", discard_names, expect_its_names, false});
  }
  fault_spares_fstat = false;
}

/* ---- Vectors -------------------------------------------------------------------------------------------- */

static const char *vectors_path;
static furrow_vectors_reader_params reading;

static furrow_status read_all(furrow_vectors_reader *reader, furrow_error *err) {
  float out[5 * 64];
  int64_t ids[5];
  size_t got = 1;
  furrow_status status = FURROW_OK;
  assert_true(furrow_vectors_reader_dimension(reader) <= 64);
  while (status == FURROW_OK && got > 0) status = furrow_vectors_reader_next(reader, 5, out, ids, &got, err);
  return status;
}

static furrow_status read_names(furrow_vectors_reader *reader, furrow_error *err) {
  furrow_name_list list = {0};
  const furrow_status status = furrow_vectors_reader_names(reader, &list, err);
  if (status == FURROW_OK) assert_int_equal(list.count, 3);
  furrow_name_list_clear(&list);
  return status;
}

/* A part of the vectors, twice. */
static furrow_status read_vectors(furrow_error *err) {
  furrow_vectors_reader *reader = NULL;
  furrow_status status = strchr(vectors_path, '.')
                             ? furrow_vectors_reader_open(&reader, vectors_path, &reading, err)
                             : furrow_vectors_reader_open_matrix(&reader, vectors_path, &reading, err);
  if (status == FURROW_OK) status = furrow_vectors_reader_restrict(reader, 1, 2, err);
  if (status == FURROW_OK && furrow_vectors_reader_has_names(reader)) status = read_names(reader, err);
  if (status == FURROW_OK) status = read_all(reader, err);
  if (status == FURROW_OK) status = furrow_vectors_reader_rewind(reader, err);
  if (status == FURROW_OK) status = read_all(reader, err);
  furrow_vectors_reader_close(reader);
  return status;
}

static furrow_status write_vectors(furrow_error *err) {
  static const float rows[3 * 4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  static const int64_t ids[3] = {7, 8, 9};
  furrow_vectors_writer_params params;
  furrow_vectors_writer *out = NULL, *beside = NULL;
  furrow_vectors_writer_params_init(&params);
  params.overwrite = true;
  params.dim = 4;
  furrow_status status = furrow_vectors_writer_open(&out, vectors_path, &params, err);
  params.ids = true;
  params.dim = 1;
  if (status == FURROW_OK) status = furrow_vectors_writer_open(&beside, "x.ids.ivecs", &params, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_write(out, rows, 3, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_write(beside, ids, 3, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_commit_pair(out, beside, err);
  furrow_vectors_writer_close(out);
  furrow_vectors_writer_close(beside);
  return status;
}

static furrow_status write_text(furrow_error *err) {
  static const float rows[3 * 4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  furrow_vectors_writer_params params;
  furrow_vectors_writer *out = NULL;
  furrow_vectors_writer_params_init(&params);
  params.overwrite = true;
  params.dim = 4;
  furrow_status status = furrow_vectors_writer_open(&out, vectors_path, &params, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_write(out, rows, 3, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_commit_text(out, "x.txt", "a\nb\nc\n", 6, err);
  furrow_vectors_writer_close(out);
  return status;
}

static furrow_status load_ids(furrow_error *err) {
  furrow_ids ids = {0};
  const furrow_status status = furrow_ids_load(&ids, vectors_path, NULL, err);
  if (status == FURROW_OK) assert_int_equal(ids.ids[0], 7);
  furrow_ids_clear(&ids);
  return status;
}

static furrow_status sample_part(furrow_error *err) {
  furrow_reservoir *sample = NULL;
  const furrow_status status = furrow_reservoir_create_part(&sample, D, 5, 9, 3, 8, 20, err);
  furrow_reservoir_free(sample);
  return status;
}

static furrow_status cluster_vectors(furrow_error *err) {
  const furrow_kmeans_params params = FURROW_INIT(furrow_kmeans_params, .threads = 1, .sample_per_centroid = 4);
  float x[20 * D], centroids[3 * D];
  uint32_t nearest[20];
  for (size_t i = 0; i < 20 * D; i++) x[i] = (float)(i * 7 % 31);
  const furrow_status status = furrow_kmeans(x, 20, D, 3, &params, centroids, err);
  if (status != FURROW_OK) return status;
  return furrow_kmeans_assign(x, 20, D, centroids, 3, &params, nearest, NULL, err);
}

static furrow_status search_exactly(furrow_error *err) {
  furrow_exact_search_params params;
  furrow_vectors_reader *reader = NULL;
  float distances[2];
  int64_t ids[2] = {-1, -1};
  furrow_exact_search_params_init(&params);
  params.threads = 1;
  furrow_status status = furrow_vectors_reader_open(&reader, vectors_path, &reading, err);
  if (status == FURROW_OK)
    status = furrow_exact_search(reader, (const float[4]){1, 2, 3, 4}, 1, 2, &params, distances, ids, err);
  if (status == FURROW_OK) assert_int_equal(ids[0], 0);
  furrow_vectors_reader_close(reader);
  return status;
}

static bool some(int32_t row, int64_t col) {
  return (row + col) % 3 != 0;
}

static void vectors_of_matrices(void **state) {
  (void)state;
  const made sparse = {
      .format = "ColIdValueText", .row_type = 10, .rows = 6, .cols = 40, .block_cols = 20, .present = some};
  const made columns = {.format = "TextColumn", .rows = 4, .cols = 12};
  const made hashed = {
      .format = "ColIdValueText", .row_type = 10, .rows = 5, .cols = 30, .hash_parts = 3, .present = some};
  made_save("sparse", &sparse);
  made_save("columns", &columns);
  made_save("hashed", &hashed);
  furrow_vectors_reader_params_init(&reading);
  reading.threads = 1;
  static const char *const folders[] = {"sparse", "columns", "hashed"};
  for (size_t i = 0; i < 3; i++) {
    vectors_path = folders[i];
    meet_all(&(job){vectors_path, read_vectors, NULL, false});
  }
  reading.vectors = FURROW_AXIS_COLUMNS;
  vectors_path = "sparse";
  meet_all(&(job){"columns of rows", read_vectors, NULL, false});
}

static void files_of_vectors(void **state) {
  static const char *const paths[] = {"x.fvecs", "x.fbin", "x.npy", "x.f32"};
  static const char *const id_paths[] = {"x.ids.ivecs", "x.ids.i64", "x.ids.txt"};
  (void)state;
  furrow_vectors_reader_params_init(&reading);
  for (size_t i = 0; i < 4; i++) {
    vectors_path = paths[i];
    reading.d = i == 3 ? 4 : 0;
    meet_all(&(job){vectors_path, write_vectors, NULL, false});
    meet_all(&(job){vectors_path, write_text, NULL, i > 0});
    furrow_error err;
    assert_int_equal(write_vectors(&err), FURROW_OK);
    meet_all(&(job){vectors_path, read_vectors, NULL, false});
    meet_all(&(job){vectors_path, search_exactly, NULL, false});
  }
  assert_int_equal(system("gzip -kf x.npy && mv x.npy.gz y.npy.gz"), 0);
  vectors_path = "y.npy.gz";
  reading.d = 0;
  meet_all(&(job){vectors_path, read_vectors, NULL, false});
  assert_true(test_write_text("w.vec", "3 2\na 1 2\nb 3 4\nc 5 6\n"));
  assert_true(test_write_text("t.csv", "name,x\na,1\nb,2\nc,3\n"));
  assert_int_equal(system("gzip -f t.csv"), 0);
  static const char *const texts[] = {"w.vec", "t.csv.gz"};
  for (size_t i = 0; i < 2; i++) {
    vectors_path = texts[i];
    meet_all(&(job){vectors_path, read_vectors, NULL, false});
  }
  assert_true(test_write_text("x.ids.txt", "7 8 9\n"));
  assert_true(test_write_file("x.ids.i64", "\7\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16));
  for (size_t i = 0; i < 3; i++) {
    vectors_path = id_paths[i];
    meet_all(&(job){vectors_path, load_ids, NULL, false});
  }
  meet_all(&(job){"sample", sample_part, NULL, true});
  meet_all(&(job){"kmeans", cluster_vectors, NULL, true});
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(every_kind),
      cmocka_unit_test_setup_teardown(names_of_an_index, make_named, free_named),
      IN_DIR(vectors_of_matrices),
      IN_DIR(files_of_vectors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
