/* tests/unit/fault/test_fault_io.c: every allocation fails once while files are found, read, locked and replaced, and
 * while vectors are packed: E_MEMORY or the whole result, and nothing leaks. */
#include "support/failing_alloc.h"

#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>

#include "base/rng.h"
#include "furrow/furrow.h"
#include "io/atomic_dir.h"
#include "io/dir_names.h"
#include "io/file_map.h"
#include "io/fileset.h"
#include "io/input.h"
#include "io/stream.h"
#include "kern/products/products.h"
#include "kern/products/projection.h"
#include "kern/products/sketch.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

static bool has_text(const char *path, const char *text) {
  char found[32] = "";
  const int fd = open(path, O_RDONLY);
  const ssize_t n = fd >= 0 ? read(fd, found, sizeof found - 1) : -1;
  if (fd >= 0) close(fd);
  return n == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

static void put_text(int folder, const char *path, const char *text) {
  const int fd = openat(folder, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

/* ---- What is done ---------------------------------------------------------------------------------------- */

/* Through two links. */
static furrow_status save_file(furrow_error *err) {
  put_text(AT_FDCWD, "file", "old");
  const furrow_status status = furrow_file_save("link", "new", 3, true, err);
  assert_true(has_text("file", status == FURROW_OK ? "new" : "old"));
  return status;
}

static furrow_status may_replace(const char *path, furrow_error *err) {
  (void)path, (void)err;
  return FURROW_OK;
}

static furrow_status save_dir(furrow_error *err) {
  fw_atomic_dir *made = NULL;
  furrow_status status = fw_atomic_dir_open(&made, "folder/", may_replace, err);
  if (status != FURROW_OK) return status;
  put_text(fw_atomic_dir_fd(made), "text", "text");
  status = fw_atomic_dir_commit(made, err);
  fw_atomic_dir_close(made);
  if (status == FURROW_E_IO) status = FURROW_E_MEMORY; /* errno of opendir */
  assert_true(has_text("folder/text", "text"));
  return status;
}

static furrow_status lock_file(furrow_error *err) {
  furrow_file_lock *lock = NULL;
  const furrow_status status = furrow_file_lock_open(&lock, "file", err);
  assert_true((status == FURROW_OK) == (lock != NULL));
  furrow_file_lock_close(lock);
  return status;
}

static furrow_status name_temporary(furrow_error *err) {
  char *path = NULL;
  const furrow_status status = furrow_temporary_path(&path, "a/b", 7, err);
  assert_true((status == FURROW_OK) == (path != NULL));
  furrow_free(path);
  return status;
}

static furrow_status find_files(const char *path, size_t wanted, furrow_error *err) {
  fw_fileset set = {0};
  char *paths[] = {(char *)path};
  const furrow_status status = fw_fileset_open(&set, paths, 1, err);
  if (status == FURROW_OK) assert_int_equal(set.nfiles, wanted);
  fw_fileset_clear(&set);
  return status == FURROW_E_IO ? FURROW_E_MEMORY : status; /* errno of opendir */
}

static furrow_status find_glob(furrow_error *err) {
  return find_files("g*/s?b/*.txt", 4, err);
}

static furrow_status find_in_folder(furrow_error *err) {
  return find_files("glob/sub", 2, err);
}

static furrow_status find_in_memory(furrow_error *err) {
  return find_files("memory://m", 2, err);
}

static furrow_status read_stream(const char *path, fw_file_kind kind, furrow_error *err) {
  char name[16], text[32] = "";
  size_t got = 0;
  fw_stream *stream = NULL;
  snprintf(name, sizeof name, "%s", path);
  const fw_file file = {.path = name, .kind = kind};
  furrow_status status = fw_stream_open(&stream, &file, err);
  if (status != FURROW_OK) return status;
  status = fw_stream_read(stream, text, sizeof text - 1, &got, err);
  if (status == FURROW_OK) assert_string_equal(text, "packed text");
  fw_stream_close(stream);
  return status;
}

static furrow_status read_gzip(furrow_error *err) {
  return read_stream("text.gz", FW_FILE_GZIP, err);
}

static furrow_status read_zstd(furrow_error *err) {
  return read_stream("text.zst", FW_FILE_ZSTD, err);
}

static furrow_status add_and_remove(furrow_error *err) {
  furrow_status status = furrow_memory_file_add("memory://n/x", "abc", 3, NULL, NULL, err);
  if (status != FURROW_OK) return status;
  char *text = NULL;
  size_t size = 0;
  status = fw_path_read_json(&text, &size, "memory://n/x", err);
  if (status == FURROW_OK) assert_int_equal(size, 3);
  furrow_free(text);
  while (furrow_memory_file_remove("memory://n/x", NULL) == FURROW_E_MEMORY) continue;
  return status;
}

static furrow_status no_stat(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  (void)user, (void)path, (void)info, (void)err;
  return FURROW_E_NOT_FOUND;
}

static furrow_status no_open(void *user, const char *path, void **file, furrow_error *err) {
  (void)user, (void)path, (void)file, (void)err;
  return FURROW_E_NOT_FOUND;
}

static furrow_status no_read(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                             furrow_error *err) {
  (void)user, (void)file, (void)buffer, (void)length, (void)offset, (void)got, (void)err;
  return FURROW_E_IO;
}

static void no_close(void *user, void *file) {
  (void)user, (void)file;
}

static furrow_status register_system(furrow_error *err) {
  furrow_file_system calls;
  furrow_file_system_init(&calls);
  calls.stat = no_stat;
  calls.open = no_open;
  calls.read_at = no_read;
  calls.close = no_close;
  furrow_status status = furrow_file_system_register("nothing", &calls, err);
  if (status == FURROW_OK) status = furrow_file_system_unregister("nothing", err);
  return status;
}

static furrow_status map_file(furrow_error *err) {
  fw_file_map *map = NULL;
  fw_input *input = NULL;
  furrow_status status = fw_input_open(&input, "file", err);
  if (status == FURROW_OK) status = fw_file_map_open(&map, input, 3, "file", err);
  if (status == FURROW_OK) assert_memory_equal(fw_file_map_bytes(map), "old", 3);
  fw_file_map_close(map);
  fw_input_close(input);
  return status;
}

static furrow_status join_paths(furrow_error *err) {
  char *path = NULL;
  const furrow_status status = fw_path_join(&path, "a//", "b", err);
  if (status == FURROW_OK) assert_string_equal(path, "a/b");
  furrow_free(path);
  return status == FURROW_OK ? fw_path_sync_names("file", err) : status;
}

enum { VECTORS = 1200, QUESTIONS = 2622, D = 48 };

static float *vectors; /* and questions behind them */

static furrow_status pack_vectors(furrow_error *err) {
  fw_packed packed = {0};
  const float *questions = vectors + (size_t)VECTORS * D;
  furrow_status status = fw_packed_create(&packed, vectors, VECTORS, D, D, true, err);
  if (status == FURROW_OK) status = fw_packed_add_sketch(&packed, vectors, D, true, err);
  if (status == FURROW_OK) status = fw_packed_add_projection(&packed, vectors, D, true, questions, QUESTIONS, D, err);
  if (status == FURROW_OK && packed.projection) status = fw_projection_renew(packed.projection, vectors, err);
  if (status == FURROW_OK) {
    uint32_t best[3] = {0};
    fw_packed_nearest(&packed, vectors + 5 * D, 3, D, best);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(best[i], 5 + i); /* each is nearest to itself */
  }
  fw_packed_clear(&packed);
  return status;
}

static furrow_status sketch_vectors(furrow_error *err) {
  fw_sketch *sketch = NULL;
  const furrow_status status = fw_sketch_create(&sketch, vectors, VECTORS, D, D, true, err);
  if (sketch) assert_true(fw_sketch_memory(sketch) > (size_t)VECTORS * D / 2);
  if (status != FURROW_OK) assert_null(sketch);
  fw_sketch_free(sketch);
  return status;
}

/* ---- Every one fails ------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  furrow_status (*work)(furrow_error *err);
} works[] = {{"save_file", save_file},
             {"save_dir", save_dir},
             {"lock_file", lock_file},
             {"name_temporary", name_temporary},
             {"find_glob", find_glob},
             {"find_in_folder", find_in_folder},
             {"find_in_memory", find_in_memory},
             {"read_gzip", read_gzip},
             {"read_zstd", read_zstd},
             {"add_and_remove", add_and_remove},
             {"register_system", register_system},
             {"map_file", map_file},
             {"join_paths", join_paths},
             {"pack_vectors", pack_vectors},
             {"sketch_vectors", sketch_vectors}};

static void every_allocation_may_fail(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
    bool failed = true;
    put_text(AT_FDCWD, "file", "old");
    assert_int_equal(works[k].work(NULL), FURROW_OK); /* lists that grow once */
    for (long n = 1; failed; n++) {
      put_text(AT_FDCWD, "file", "old");
      const long live = atomic_load(&alloc_live);
      furrow_error err = {0};
      alloc_fail_at(n);
      const furrow_status status = works[k].work(n % 2 ? &err : NULL);
      failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      if (status != FURROW_OK && (status != FURROW_E_MEMORY || !failed))
        fail_msg("%s, allocation %ld: %s", works[k].name, n, furrow_status_name(status));
      if (status != FURROW_OK && n % 2) assert_true(err.message[0] != 0);
      if (atomic_load(&alloc_live) != live) fail_msg("%s, allocation %ld: pieces are left", works[k].name, n);
    }
  }
}

static int make_files(void **state) {
  static const char text[] = "packed text";
  char packed[128];
  fw_rng rng;
  if (enter_dir(state) != 0) return -1;
  assert_int_equal(symlink("second", "link") | symlink("file", "second") | mkdir("folder", 0755), 0);
  put_text(AT_FDCWD, "folder/text", "text");
  assert_int_equal(mkdir("glob", 0755) | mkdir("glob/sub", 0755) | mkdir("grub", 0755) | mkdir("grub/sob", 0755), 0);
  for (int i = 0; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s/%d.txt", i % 2 ? "glob/sub" : "grub/sob", i);
    put_text(AT_FDCWD, name, "text");
  }
  gzFile file = gzopen("text.gz", "wb");
  assert_int_equal(gzwrite(file, text, sizeof text - 1), (int)sizeof text - 1);
  assert_int_equal(gzclose(file), Z_OK);
  const size_t size = ZSTD_compress(packed, sizeof packed, text, sizeof text - 1, 1);
  assert_true(test_write_file("text.zst", packed, size));
  assert_int_equal(furrow_memory_file_add("memory://m/a", "x", 1, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add("memory://m/b", "y", 1, NULL, NULL, NULL), FURROW_OK);
  vectors = malloc((size_t)(VECTORS + QUESTIONS) * D * sizeof *vectors);
  fw_rng_init(&rng, 3);
  for (size_t i = 0; i < (size_t)(VECTORS + QUESTIONS) * D; i++)
    vectors[i] = (float)fw_rng_normal(&rng) / (float)(1 + i % D);
  return 0;
}

static int remove_files(void **state) {
  free(vectors);
  return leave_dir(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
