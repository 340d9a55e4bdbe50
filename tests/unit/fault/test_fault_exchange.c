/* tests/unit/fault/test_fault_exchange.c: the n-th system call fails, is interrupted or does only a byte, for every n,
 * while matrices are exported, imported, listed, checked and converted: what was in a place stays or the new is there,
 * whole; nothing else is left behind. */
#include "array/temp_store.h"
#include "base/mem.h"
#include "furrow/exchange.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/made_matrix.h"
#include "support/model_params.h"
#include "support/own_dir.h"
#include "unit/fault/call_faults.h"

static const char *const files[] = {"x.npy", "x.npz", "x.fvecs", "x.fbin", "x.safetensors", "x.tsv", "x.libsvm"};
#define FILES (sizeof files / sizeof files[0])

static const char *file; /* of the job that runs */
static bool has_ids;     /* whether there is a second one */

static furrow_status export_matrix(furrow_error *err) {
  furrow_model_export_params params;
  furrow_model_export_params_init(&params);
  params.overwrite = true;
  params.threads = 1;
  return furrow_model_export("model/sparse", file, &params, NULL, err);
}

static furrow_status export_model(furrow_error *err) {
  furrow_model_export_params params;
  furrow_model_export_params_init(&params);
  params.overwrite = true;
  params.threads = 1;
  return furrow_model_export("model", file, &params, NULL, err);
}

static furrow_status import_matrix(furrow_error *err) {
  furrow_model_import_params params;
  param_parts parts;
  import_params_init(&params, &parts);
  parts.write.threads = 1;
  parts.write.overwrite = true;
  return furrow_model_import(file, "back", &params, NULL, err);
}

/* ---- More than the buffers hold ---- */

static furrow_axis axis; /* of the job that runs */

static furrow_status export_large(furrow_error *err) {
  furrow_model_export_params params;
  furrow_model_export_params_init(&params);
  params.overwrite = true;
  params.threads = 1;
  params.vectors = axis;
  return furrow_model_export("large", file, &params, NULL, err);
}

/* Memory for nothing: pieces go from the file to the folder. */
static furrow_status import_in_pieces(furrow_error *err) {
  furrow_model_import_params params;
  param_parts parts;
  import_params_init(&params, &parts);
  parts.write.threads = 1;
  parts.write.overwrite = true;
  parts.spec.format = axis == FURROW_AXIS_COLUMNS ? "TextColumn" : "ColIdValueText";
  parts.spec.block_cols = axis == FURROW_AXIS_COLUMNS ? 2 : 20000;
  params.vectors = axis;
  params.memory = 1;
  return furrow_model_import(file, "back", &params, NULL, err);
}

static furrow_status no_visit(void *user, const furrow_array_info *array) {
  (void)user;
  (void)array;
  return FURROW_OK;
}

static furrow_status list_arrays(furrow_error *err) {
  return furrow_arrays_for_each(file, no_visit, NULL, err);
}

/* More than a temporary store keeps in memory. */
static furrow_status count_bytes(void *context, const void *data, size_t size, furrow_error *err) {
  (void)data;
  (void)err;
  *(size_t *)context += size;
  return FURROW_OK;
}

static furrow_status store(furrow_error *err) {
  static char piece[700 << 10];
  const size_t large = (size_t)2 << 20;
  size_t drained = 0;
  fw_temp_store *kept = NULL;
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, large, 1, err);
  if (status == FURROW_OK) memset(memory, 1, large);
  if (status == FURROW_OK) status = fw_temp_store_open(&kept, "./store", err);
  for (int i = 0; i < 2 && status == FURROW_OK; i++) status = fw_temp_store_write(kept, piece, sizeof piece, err);
  if (status == FURROW_OK) status = fw_temp_store_write(kept, memory, large, err);
  if (status == FURROW_OK) status = fw_temp_store_write(kept, piece, 0, err);
  if (status == FURROW_OK) status = fw_temp_store_drain(kept, count_bytes, &drained, err);
  if (status == FURROW_OK) assert_int_equal(drained, 2 * sizeof piece + large);
  fw_temp_store_close(kept);
  fw_free(memory);
  return status;
}

static furrow_status list_model(furrow_error *err) {
  furrow_model_listing *listing = NULL;
  const furrow_status status = furrow_model_listing_load(&listing, "model", err);
  furrow_model_listing_free(listing);
  return status;
}

static furrow_status verify(furrow_error *err) {
  return furrow_matrix_verify("model/sparse", VERIFY(NULL, 1, NULL, NULL), err);
}

static furrow_status load(furrow_error *err) {
  furrow_matrix *matrix = NULL;
  const furrow_status status = furrow_matrix_load(&matrix, "model/dense", NULL, err);
  assert_int_equal(status == FURROW_OK, matrix != NULL);
  furrow_matrix_free(matrix);
  return status;
}

static furrow_status convert(furrow_error *err) {
  furrow_model_convert_params params;
  param_parts parts;
  convert_params_init(&params, &parts);
  params.format = "BinaryColumn";
  parts.write.threads = 1;
  parts.write.overwrite = true;
  return furrow_model_convert("model", "back", &params, NULL, err);
}

/* ---- What stays ----------------------------------------------------------------------------------------- */

/* Names in the folder, and what is in the file of the job. */
typedef struct snapshot {
  size_t entries;
  char *bytes;
  size_t size;
} snapshot;

static snapshot look(void) {
  snapshot s = {.entries = (size_t)test_entries(".")};
  if (file && access(file, F_OK) == 0) s.bytes = made_read(".", file, &s.size);
  return s;
}

static void expect_unchanged(const snapshot *before, const char *name, long n) {
  snapshot now = look();
  if (now.entries != before->entries) fail_msg("%s, %s %ld: something is left behind", name, fault_call, n);
  if (now.size != before->size || (now.size && memcmp(now.bytes, before->bytes, now.size) != 0))
    fail_msg("%s, %s %ld: the file is neither the old one nor the new one", name, fault_call, n);
  free(now.bytes);
}

/* Where the new directory is in place and only its name may be lost with the power, the old one stays beside it,
 * hidden. */
static void remove_hidden(const furrow_error *err) {
  if (strncmp(err->message, "written, but", 12) != 0) return;
  DIR *handle = opendir(".");
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));)
    if (strncmp(entry->d_name, ".back.furrow-", 13) == 0) assert_true(test_remove_dir(entry->d_name));
  closedir(handle);
}

/* Ids are removed before the vectors are replaced, once both are on the disk: then they may be missing, and are never
 * those of other vectors. Where bytes cannot be written, both stay. */
static void restore_ids(furrow_status (*job)(furrow_error *)) {
  char ids[64];
  furrow_error err = {.status = FURROW_OK};
  snprintf(ids, sizeof ids, "%s.ids.npy", file ? file : "");
  const bool writes = strstr(fault_call, "write") || strstr(fault_call, "read");
  if (job == export_matrix && !writes && access(ids, F_OK) != 0 && has_ids) made_check(job(&err), &err);
}

/* One fault after the other. The job has run before, so that old and new are the same. */
static void meet_each(furrow_status (*job)(furrow_error *), const char *name, call_fault kind) {
  char ids[64];
  snprintf(ids, sizeof ids, "%s.ids.npy", file ? file : "");
  has_ids = access(ids, F_OK) == 0;
  const snapshot before = look();
  long n = 1;
  for (bool met = true; met; n++) {
    furrow_error err = {.status = FURROW_OK};
    const size_t descriptors = open_descriptors();
    fault_at(kind, n);
    const furrow_status status = job(&err);
    met = atomic_load(&fault_met);
    fault_at(kind, 0);
    if (status != FURROW_OK && (!met || kind != FAULT_ERROR))
      fail_msg("%s, %s %ld: %s: %s", name, fault_call, n, furrow_status_name(status), err.message);
    if (status != FURROW_OK && err.message[0] == 0) fail_msg("%s, %s %ld: no message", name, fault_call, n);
    if (open_descriptors() != descriptors) fail_msg("%s, %s %ld: a descriptor stays open", name, fault_call, n);
    if (status != FURROW_OK) remove_hidden(&err);
    if (status != FURROW_OK) restore_ids(job);
    expect_unchanged(&before, name, n);
  }
  free(before.bytes);
  if (kind == FAULT_ERROR) assert_true(n > 3);
}

/* The same for allocations. opendir and the like say it as an error of reading. */
static void starve(furrow_status (*job)(furrow_error *), const char *name) {
  if (!FAILING_ALLOC) return;
  for (long n = 1;; n++) {
    furrow_error err = {.status = FURROW_OK};
    const long live = atomic_load(&alloc_live);
    alloc_fail_at(n);
    const furrow_status status = job(&err);
    const bool failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    if (!failed) break;
    const bool told = status == FURROW_E_MEMORY || strstr(err.message, "Cannot allocate memory");
    if (status != FURROW_OK && !told) fail_msg("%s, allocation %ld: %s", name, n, err.message);
    if (atomic_load(&alloc_live) != live) fail_msg("%s, allocation %ld: something leaks", name, n);
  }
}

static void meet_all(furrow_status (*job)(furrow_error *), const char *name) {
  fault_spares_fstat =
      job == export_matrix || job == export_model || job == import_matrix || job == convert || job == import_in_pieces;
  furrow_error err = {.status = FURROW_OK};
  made_check(job(&err), &err);
  for (call_fault kind = FAULT_ERROR; kind < CALL_FAULTS; kind++) meet_each(job, name, kind);
  starve(job, name);
}

/* ---- Jobs ----------------------------------------------------------------------------------------------- */

static bool some(int32_t row, int64_t col) {
  return (row + col) % 3 != 0;
}

static int enter_model(void **state) {
  if (enter_dir(state) != 0 || mkdir("model", 0755) != 0) return -1;
  const made sparse = {
      .format = "ColIdValueText", .row_type = 10, .rows = 3, .cols = 40, .block_cols = 20, .present = some};
  const made dense = {.format = "TextColumn", .rows = 2, .cols = 12};
  made_save("model/sparse", &sparse);
  made_save("model/dense", &dense);
  return 0;
}

/* A packed file, which is read as a stream. */
static void pack(void) {
  furrow_error err = {.status = FURROW_OK};
  file = "x.npy";
  made_check(export_matrix(&err), &err);
  assert_int_equal(system("gzip -k x.npy"), 0);
  file = "x.npy.gz";
}

static void files_both_ways(void **state) {
  (void)state;
  for (size_t i = 0; i < FILES; i++) {
    file = files[i];
    meet_all(export_matrix, file);
    meet_all(import_matrix, file);
    if (i < 5) meet_all(list_arrays, file);
  }
  pack();
  meet_all(list_arrays, file);
  file = "model.safetensors";
  meet_all(export_model, file);
}

static double whole(int32_t row, int64_t col) {
  return (double)(row * 1000 + col % 1000);
}

/* Only errors, and only of writing: everything else is as above. */
static void fail_writes(furrow_status (*job)(furrow_error *), const char *name) {
  furrow_error err = {.status = FURROW_OK};
  made_check(job(&err), &err);
  const snapshot before = look();
  fault_spares_fstat = true;
  for (long n = 1, failures = 0;; n++) {
    const size_t descriptors = open_descriptors();
    fault_at(FAULT_ERROR, n);
    const furrow_status status = job(&err);
    const bool met = atomic_load(&fault_met);
    fault_at(FAULT_ERROR, 0);
    if (status != FURROW_OK) remove_hidden(&err);
    if (status != FURROW_OK) assert_int_equal(err.status, status);
    if (open_descriptors() != descriptors) fail_msg("%s, %s %ld: a descriptor stays open", name, fault_call, n);
    if (strstr(fault_call, "write")) {
      if (met) assert_int_equal(status, FURROW_E_IO);
      failures += met;
      expect_unchanged(&before, name, n);
    } else {
      restore_ids(export_matrix);
    }
    if (!met) {
      assert_true(failures > 1); /* not the last piece alone */
      break;
    }
  }
  free(before.bytes);
}

static void large_files(void **state) {
  (void)state;
  static const char *const names[] = {"x.npy", "x.tsv"};
  const made m = {
      .format = "ColIdValueBinary", .row_type = 3, .rows = 2, .cols = 70000, .value = whole, .present = some};
  made_save("large", &m);
  for (axis = FURROW_AXIS_ROWS; axis <= FURROW_AXIS_COLUMNS; axis++)
    for (size_t i = 0; i < 2; i++) {
      file = names[i];
      fail_writes(export_large, file);
    }
  axis = FURROW_AXIS_ROWS;
  file = "x.npy";
  furrow_error err = {.status = FURROW_OK};
  made_check(export_large(&err), &err);
  fail_writes(import_in_pieces, "rows in pieces");
}

static void small_pieces(void **state) {
  (void)state;
  furrow_error err = {.status = FURROW_OK};
  file = "x.npy";
  for (axis = FURROW_AXIS_ROWS; axis <= FURROW_AXIS_COLUMNS; axis++) {
    made_check(export_matrix(&err), &err);
    meet_all(import_in_pieces, "pieces");
  }
}

static void folders(void **state) {
  (void)state;
  file = NULL;
  meet_all(store, "temporary store");
  meet_all(list_model, "listing");
  meet_all(verify, "verify");
  meet_all(load, "load");
  meet_all(convert, "convert");
}

#define IN_MODEL(test) cmocka_unit_test_setup_teardown(test, enter_model, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {IN_MODEL(files_both_ways), IN_MODEL(large_files), IN_MODEL(small_pieces),
                                     IN_MODEL(folders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
