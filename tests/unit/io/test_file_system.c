/* tests/unit/io/test_file_system.c: rows, models and indexes that lie in memory or in a file system of the program's
 * are those of the same files on disk. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>

#include "furrow/furrow.h"
#include "support/cmocka_all.h"
#include "support/golden_set.h"
#include "support/own_dir.h"
#include "support/packed_file.h"
#include "support/row_digest.h"

/* ---- A file system of functions: the files of this machine, in small pieces --------------------------------- */

typedef struct disk {
  bool streams;          /* every file is a stream */
  bool in_memory;        /* files are given whole */
  atomic_int opened;     /* files that are open */
  atomic_int released;   /* calls of release */
  atomic_long countdown; /* reads until one fails; negative: never */
  atomic_int pieces;
} disk;

typedef struct disk_file {
  int fd;
  char *bytes;
  uint64_t next;
} disk_file;

static furrow_status say(furrow_error *err, const char *message, furrow_status status) {
  assert_non_null(err);
  snprintf(err->message, sizeof err->message, "%s", message);
  return status;
}

static furrow_status disk_stat(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  const disk *d = user;
  struct stat found;
  if (strstr(path, "forbidden")) return say(err, "not for you", FURROW_E_STATE);
  if (stat(path, &found) != 0) return FURROW_E_NOT_FOUND;
  info->kind = S_ISDIR(found.st_mode) ? FURROW_FILE_FOLDER : d->streams ? FURROW_FILE_STREAM : FURROW_FILE_REGULAR;
  info->length = d->streams ? 0 : (uint64_t)found.st_size;
  info->changed_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec;
  return FURROW_OK;
}

static furrow_status disk_list(void *user, const char *path, furrow_file_name found, void *listing, furrow_error *err) {
  (void)user;
  assert_true(!path[0] || path[strlen(path) - 1] != '/');
  DIR *handle = opendir(path);
  if (!handle) return errno == ENOENT || errno == ENOTDIR ? FURROW_E_NOT_FOUND : FURROW_E_IO;
  furrow_status status = FURROW_OK;
  for (struct dirent *entry; status == FURROW_OK && (entry = readdir(handle));) {
    if (strcmp(entry->d_name, "unlistable") == 0)
      status = say(err, "there is a name that must not be told", FURROW_E_UNSUPPORTED);
    else
      status = found(listing, entry->d_name, err);
  }
  closedir(handle);
  return status;
}

static furrow_status disk_open(void *user, const char *path, void **file, furrow_error *err) {
  disk *d = user;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return say(err, "it does not open", FURROW_E_NOT_FOUND);
  disk_file *made = calloc(1, sizeof *made);
  assert_non_null(made);
  made->fd = fd;
  *file = made;
  atomic_fetch_add(&d->opened, 1);
  return FURROW_OK;
}

static furrow_status disk_read(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                               furrow_error *err) {
  disk *d = user;
  disk_file *f = file;
  if (atomic_load(&d->countdown) >= 0 && atomic_fetch_sub(&d->countdown, 1) == 0)
    return say(err, "the line is dead", FURROW_E_IO);
  if (d->streams) {
    assert_int_equal(offset, f->next);
    f->next += 1;
  }
  const int piece = 1 + atomic_fetch_add(&d->pieces, 37) % 1000;
  const ssize_t n = pread(f->fd, buffer, length < (size_t)piece ? length : (size_t)piece, (off_t)offset);
  assert_true(n >= 0);
  if (d->streams) f->next = offset + (uint64_t)n;
  *got = (size_t)n;
  return FURROW_OK;
}

static furrow_status disk_memory(void *user, void *file, const void **bytes, size_t *length, furrow_error *err) {
  const disk *d = user;
  disk_file *f = file;
  (void)err;
  struct stat found;
  if (!d->in_memory || fstat(f->fd, &found) != 0 || found.st_size == 0) return FURROW_OK;
  f->bytes = malloc((size_t)found.st_size);
  assert_non_null(f->bytes);
  assert_int_equal(pread(f->fd, f->bytes, (size_t)found.st_size, 0), found.st_size);
  *bytes = f->bytes;
  *length = (size_t)found.st_size;
  return FURROW_OK;
}

static void disk_close(void *user, void *file) {
  disk *d = user;
  disk_file *f = file;
  close(f->fd);
  free(f->bytes);
  free(f);
  atomic_fetch_sub(&d->opened, 1);
}

static void disk_release(void *user) {
  atomic_fetch_add(&((disk *)user)->released, 1);
}

static furrow_file_system calls_of(disk *d) {
  furrow_file_system calls;
  furrow_file_system_init(&calls);
  calls.user = d;
  calls.stat = disk_stat;
  calls.list = disk_list;
  calls.open = disk_open;
  calls.read_at = disk_read;
  calls.memory = disk_memory;
  calls.close = disk_close;
  calls.release = disk_release;
  return calls;
}

static disk pieces = {.countdown = -1}, whole = {.countdown = -1, .in_memory = true},
            stream = {.countdown = -1, .streams = true};

static const struct {
  const char *name;
  disk *user;
} disks[] = {{"pieces", &pieces}, {"whole", &whole}, {"stream", &stream}};

static void register_disks(void) {
  for (size_t i = 0; i < 3; i++) {
    const furrow_file_system calls = calls_of(disks[i].user);
    atomic_store(&disks[i].user->released, 0);
    assert_int_equal(furrow_file_system_register(disks[i].name, &calls, NULL), FURROW_OK);
    assert_int_equal(furrow_file_system_register(disks[i].name, &calls, NULL), FURROW_E_EXISTS);
  }
}

/* Nothing was left open. */
static void unregister_disks(void) {
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(atomic_load(&disks[i].user->opened), 0);
    assert_int_equal(furrow_file_system_unregister(disks[i].name, NULL), FURROW_OK);
    assert_int_equal(atomic_load(&disks[i].user->released), 1);
    assert_int_equal(furrow_file_system_unregister(disks[i].name, NULL), FURROW_E_NOT_FOUND);
  }
}

/* ---- Files in memory: copies of a folder ------------------------------------------------------------------- */

static char copied[400][TEST_PATH];
static size_t ncopied;
static atomic_int live; /* copies that were not released */

static void release_copy(void *user) {
  free(user);
  atomic_fetch_sub(&live, 1);
}

static int copy_file(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)place;
  if (kind != FTW_F) return 0;
  char *bytes = malloc((size_t)info->st_size + 1);
  FILE *file = fopen(path, "rb");
  assert_true(bytes && file && fread(bytes, 1, (size_t)info->st_size, file) == (size_t)info->st_size);
  fclose(file);
  assert_true(ncopied < 400);
  snprintf(copied[ncopied], TEST_PATH, "memory://%s", path);
  furrow_error err;
  if (furrow_memory_file_add(copied[ncopied], bytes, (size_t)info->st_size, release_copy, bytes, &err) != FURROW_OK)
    fail_msg("%s: %s", err.file, err.message);
  atomic_fetch_add(&live, 1);
  ncopied++;
  return 0;
}

static void copy_folder(const char *path) {
  assert_int_equal(nftw(path, copy_file, 16, FTW_PHYS), 0);
}

static void remove_copies(void) {
  while (ncopied > 0) assert_int_equal(furrow_memory_file_remove(copied[--ncopied], NULL), FURROW_OK);
  assert_int_equal(atomic_load(&live), 0);
}

/* ---- Rows -------------------------------------------------------------------------------------------------- */

static uint64_t digest_of(const char *uri, const char *format, uint32_t nparts, uint32_t threads, uint64_t *rows) {
  uint64_t digest = 1;
  *rows = 0;
  for (uint32_t part = 0; part < nparts; part++) {
    furrow_parser_params params;
    furrow_parser_params_init(&params);
    params.format = format;
    params.part = part;
    params.nparts = nparts;
    params.threads = threads;
    params.chunk_bytes = 3000;
    furrow_parser *parser = NULL;
    furrow_error err;
    furrow_status status = furrow_parser_open(&parser, uri, &params, &err);
    while (status == FURROW_OK && (status = furrow_parser_next(parser, &err)) == FURROW_OK) {
      *rows += furrow_parser_value(parser)->size;
      digest_block(&digest, furrow_parser_value(parser));
    }
    if (status != FURROW_END) fail_msg("%s: %s: %s", uri, err.file, err.message);
    furrow_parser_close(parser);
  }
  return digest;
}

static void make_rows(void) {
  static char text[60000];
  size_t used = 0;
  unsigned seed = 1;
  assert_int_equal(mkdir("set", 0777), 0);
  while (used < sizeof text - 200) {
    seed = seed * 1664525U + 1013904223U;
    used += (size_t)snprintf(text + used, 200, "%u 1:%u %u:0.5\n", seed >> 31, seed >> 20, 2 + (seed >> 10 & 1023));
  }
  assert_true(packed_write("set/a.libsvm", FW_FILE_PLAIN, text, used, NULL));
  assert_true(packed_write("set/b.libsvm.gz", FW_FILE_GZIP, text, used, NULL));
  assert_true(packed_write("set/c.libsvm.zst", FW_FILE_ZSTD, text, used, NULL));
  assert_true(test_write_text("set/_SUCCESS", ""));
  assert_true(test_write_text("x.libfm", "1 1:2:3 4:5:6\n0 1:7:2\n"));
  assert_true(test_write_text("x.csv", "label,a,b\n1,2,3\n0,5,6\n1,,8\n"));
  assert_true(test_write_text("x.dummy", "1 3 5 7\n0 9\n"));
  assert_true(test_write_text("x.dense", "1 0.5 2\n0 1 3\n"));
}

static void rows_are_the_same_everywhere(void **state) {
  (void)state;
  static const struct {
    const char *name, *format, *args;
  } sets[] = {{"set/a.libsvm", "libsvm", ""},
              {"set/a.libsvm", "auto", "?indexing_mode=1"},
              {"set/b.libsvm.gz", "auto", ""},
              {"set/c.libsvm.zst", "libsvm", ""},
              {"set", "auto", ""},
              {"set/*.libsvm*", "auto", ""},
              {"x.libfm", "auto", ""},
              {"x.csv", "csv", "?label_column=label&header=yes"},
              {"x.dummy", "dummy", ""},
              {"x.dense", "dense", ""}};
  make_rows();
  register_disks();
  copy_folder(dir);
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
    char uri[2 * TEST_PATH];
    uint64_t wanted_rows, rows;
    for (uint32_t nparts = 1; nparts <= 3; nparts += 2) {
      snprintf(uri, sizeof uri, "%s/%s%s", dir, sets[i].name, sets[i].args);
      const uint64_t wanted = digest_of(uri, sets[i].format, nparts, 1, &wanted_rows);
      assert_true(wanted_rows > 1);
      for (uint32_t threads = 1; threads <= 3; threads += 2) {
        snprintf(uri, sizeof uri, "memory://%s/%s%s", dir, sets[i].name, sets[i].args);
        assert_true(digest_of(uri, sets[i].format, nparts, threads, &rows) == wanted && rows == wanted_rows);
        for (size_t k = 0; k < 3; k++) {
          const bool in_order = strcmp(disks[k].name, "stream") == 0;
          if (in_order && (nparts > 1 || strpbrk(sets[i].name, "*") || strcmp(sets[i].name, "set") == 0)) continue;
          snprintf(uri, sizeof uri, "%s://%s/%s%s", disks[k].name, dir, sets[i].name, sets[i].args);
          assert_true(digest_of(uri, sets[i].format, nparts, threads, &rows) == wanted && rows == wanted_rows);
        }
      }
    }
  }
  remove_copies();
  unregister_disks();
}

/* A row cache of a file in memory is used as long as that file is the same one. */
static void caches_know_files_in_memory(void **state) {
  (void)state;
  static const char uri[] = "memory://rows/x.libsvm#cache";
  furrow_blockiter *iter = NULL;
  assert_int_equal(furrow_memory_file_add("memory://rows/x.libsvm", "1 2:3\n", 6, NULL, NULL, NULL), FURROW_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(furrow_blockiter_open(&iter, uri, NULL, NULL), FURROW_OK);
    furrow_blockiter_close(iter);
  }
  assert_int_equal(furrow_memory_file_remove("memory://rows/x.libsvm", NULL), FURROW_OK);
  usleep(2000);
  assert_int_equal(furrow_memory_file_add("memory://rows/x.libsvm", "1 2:4\n", 6, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_blockiter_open(&iter, uri, NULL, NULL), FURROW_E_STALE);
  assert_int_equal(furrow_memory_file_remove("memory://rows/x.libsvm", NULL), FURROW_OK);
}

/* ---- Models and indexes ------------------------------------------------------------------------------------- */

static void expect_same_matrix(const char *folder, const char *other) {
  furrow_matrix_source *a = NULL, *b = NULL;
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  furrow_error err;
  assert_int_equal(furrow_matrix_source_open(&a, folder, &params, &err), FURROW_OK);
  if (furrow_matrix_source_open(&b, other, &params, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  furrow_matrix_diff diff = {0};
  if (furrow_matrix_compare(a, b, 0, &diff, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  assert_true(diff.elements_a == diff.elements_b && diff.different == 0 && diff.only_a == 0 && diff.only_b == 0);
  furrow_matrix_source_close(a);
  furrow_matrix_source_close(b);
}

static void matrices_are_the_same_everywhere(void **state) {
  (void)state;
  char root[TEST_PATH], folder[TEST_PATH], other[2 * TEST_PATH];
  golden_path(root, "angel");
  register_disks();
  size_t matrices = 0;
  DIR *handle = opendir(root);
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle));) {
    if (!strchr(entry->d_name, '-') || matrices >= 60) continue;
    furrow_matrix_source *source = NULL;
    snprintf(folder, sizeof folder, "%.700s/%s", root, entry->d_name);
    if (furrow_matrix_source_open(&source, folder, NULL, NULL) != FURROW_OK) continue; /* other tests tell why */
    furrow_matrix_source_close(source);
    copy_folder(folder);
    snprintf(other, sizeof other, "memory://%s", folder);
    expect_same_matrix(folder, other);
    furrow_model_listing *listing = NULL;
    assert_int_equal(furrow_model_listing_load(&listing, other, NULL), FURROW_OK);
    assert_true(listing->single && listing->matrix_count == 1);
    furrow_model_listing_free(listing);
    remove_copies();
    for (size_t k = 0; k < 2; k++) {
      snprintf(other, sizeof other, "%s://%s", disks[k].name, folder);
      expect_same_matrix(folder, other);
    }
    matrices++;
  }
  closedir(handle);
  assert_true(matrices >= 40);
  unregister_disks();
}

static void save_index(const char *from, bool map, const char *to) {
  furrow_index *index = NULL;
  furrow_index_load_params load;
  furrow_index_load_params_init(&load);
  furrow_error err;
  load.memory_map = map;
  if (furrow_index_load(&index, from, &load, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  furrow_index_save_params save;
  furrow_index_save_params_init(&save);
  save.inline_lists = true;
  (void)remove(to);
  if (furrow_index_save(index, to, &save, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  furrow_index_free(index);
}

static void expect_same_file(const char *a, const char *b) {
  FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
  assert_true(x && y);
  int c, d;
  do {
    c = getc(x);
    d = getc(y);
    assert_int_equal(c, d);
  } while (c != EOF);
  fclose(x);
  fclose(y);
}

static furrow_status count_field(void *user, const furrow_index_field *field) {
  (void)field;
  ++*(size_t *)user;
  return FURROW_OK;
}

static void indexes_are_the_same_everywhere(void **state) {
  (void)state;
  static const char *const names[] = {
      "head_ivfpq_l2_res_nb10",  "v173_flat_l2",    "v173_hnsw_flat_l2", "v173_ivfpq_l2_ondisk",
      "v173_ivfpq_l2_dmap_hash", "v173_ivfpqfs_l2", "v173_pca_ivfpq",    "v173_ivfpq_rflat"};
  char root[TEST_PATH], path[2 * TEST_PATH];
  golden_path(root, "faiss");
  register_disks();
  copy_folder(root);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    snprintf(path, sizeof path, "%s/%s.index", root, names[i]);
    save_index(path, false, "wanted");
    size_t wanted = 0, fields;
    assert_int_equal(furrow_index_for_each_field(path, NULL, count_field, &wanted, NULL), FURROW_OK);
    for (int map = 0; map < 2; map++) {
      snprintf(path, sizeof path, "memory://%s/%s.index", root, names[i]);
      save_index(path, map, "got");
      expect_same_file("got", "wanted");
      for (size_t k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s://%s/%s.index", disks[k].name, root, names[i]);
        save_index(path, map, "got");
        expect_same_file("got", "wanted");
        fields = 0;
        assert_int_equal(furrow_index_for_each_field(path, NULL, count_field, &fields, NULL), FURROW_OK);
        assert_int_equal(fields, wanted);
      }
    }
  }
  remove_copies();
  unregister_disks();
}

/* ---- Removing what is in use --------------------------------------------------------------------------------- */

static void a_removed_file_stays_for_its_readers(void **state) {
  (void)state;
  char root[TEST_PATH], path[2 * TEST_PATH];
  snprintf(path, sizeof path, "memory://%s/v173_ivfpq_l2_dmap_hash.index", golden_path(root, "faiss"));
  copy_folder(root);
  furrow_index *index = NULL;
  furrow_index_load_params load;
  furrow_index_load_params_init(&load);
  load.memory_map = true; /* its lists are views of the file */
  assert_int_equal(furrow_index_load(&index, path, &load, NULL), FURROW_OK);
  while (ncopied > 0) assert_int_equal(furrow_memory_file_remove(copied[--ncopied], NULL), FURROW_OK);
  assert_int_equal(atomic_load(&live), 1);
  furrow_index *again = NULL;
  assert_int_equal(furrow_index_load(&again, path, &load, NULL), FURROW_E_NOT_FOUND);
  snprintf(path, sizeof path, "%s/v173_ivfpq_l2_dmap_hash.index", root);
  save_index(path, false, "wanted");
  (void)remove("got");
  furrow_error err;
  if (furrow_index_save(index, "got", NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  expect_same_file("got", "wanted");
  furrow_index_free(index);
  assert_int_equal(atomic_load(&live), 0);
}

static void an_unregistered_system_stays_for_its_readers(void **state) {
  (void)state;
  char path[2 * TEST_PATH];
  assert_true(test_write_text("x", "1 2:3\n0 4:5\n"));
  const furrow_file_system calls = calls_of(&pieces);
  atomic_store(&pieces.released, 0);
  assert_int_equal(furrow_file_system_register("gone", &calls, NULL), FURROW_OK);
  snprintf(path, sizeof path, "GONE://%s/x", dir);
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.chunk_bytes = 4;
  params.threads = 1;
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open(&parser, path, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
  assert_true(atomic_load(&pieces.opened) > 0);
  assert_int_equal(furrow_file_system_unregister("gone", NULL), FURROW_OK);
  assert_int_equal(atomic_load(&pieces.released), 0);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
  furrow_parser_close(parser);
  assert_int_equal(atomic_load(&pieces.released), 1);
  furrow_error err;
  assert_int_equal(furrow_parser_open(&parser, path, NULL, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "GONE://"));
}

/* ---- What is refused ----------------------------------------------------------------------------------------- */

static void memory_paths_are_checked(void **state) {
  (void)state;
  static const char *const bad[] = {"x", "memory:/x", "memory://", "memory:///", "file:///x", ""};
  furrow_error err;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(furrow_memory_file_add(bad[i], "x", 1, NULL, NULL, &err), FURROW_E_ARGUMENT);
    assert_int_equal(furrow_memory_file_remove(bad[i], NULL), FURROW_E_ARGUMENT);
  }
  assert_int_equal(furrow_memory_file_add("memory://a//b/", "1 1:1\n", 6, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add("memory:///a/b", "x", 1, NULL, NULL, &err), FURROW_E_EXISTS);
  assert_string_equal(err.file, "memory:///a/b");
  assert_int_equal(furrow_memory_file_add("memory://a", "x", 1, NULL, NULL, NULL), FURROW_E_EXISTS);
  assert_int_equal(furrow_memory_file_add("memory://a/b/c", "x", 1, NULL, NULL, NULL), FURROW_E_EXISTS);
  assert_int_equal(furrow_memory_file_remove("memory://a", NULL), FURROW_E_NOT_FOUND);
  uint64_t rows;
  digest_of("memory://a", "libsvm", 1, 1, &rows);
  assert_int_equal(rows, 1);
  digest_of("memory:///a/*", "libsvm", 1, 1, &rows);
  assert_int_equal(rows, 1);
  assert_int_equal(furrow_memory_file_remove("memory://a/b", NULL), FURROW_OK);
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open(&parser, "memory://a/b", NULL, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "memory://a/b");
}

static void systems_are_checked(void **state) {
  (void)state;
  static const char *const bad[] = {"", "1x", "a b", "a/b", "x:"};
  furrow_file_system calls = calls_of(&pieces);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(furrow_file_system_register(bad[i], &calls, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_file_system_register("file", &calls, NULL), FURROW_E_EXISTS);
  assert_int_equal(furrow_file_system_register("Memory", &calls, NULL), FURROW_E_EXISTS);
  assert_int_equal(furrow_file_system_unregister("memory", NULL), FURROW_E_NOT_FOUND);
  calls.read_at = NULL;
  assert_int_equal(furrow_file_system_register("x", &calls, NULL), FURROW_E_ARGUMENT);
  calls.size = 0;
  assert_int_equal(furrow_file_system_register("x", &calls, NULL), FURROW_E_ARGUMENT);
  calls.size = sizeof calls + 8;
  assert_int_equal(furrow_file_system_register("x", &calls, NULL), FURROW_E_UNSUPPORTED);
}

static void what_functions_say_reaches_the_caller(void **state) {
  (void)state;
  char path[2 * TEST_PATH];
  furrow_parser *parser = NULL;
  furrow_matrix_meta *meta = NULL;
  furrow_index *index = NULL;
  furrow_error err;
  make_rows();
  assert_int_equal(mkdir("bad", 0777), 0);
  assert_true(test_write_text("bad/unlistable", "x"));
  register_disks();
  snprintf(path, sizeof path, "pieces://%s/forbidden", dir);
  assert_int_equal(furrow_parser_open(&parser, path, NULL, &err), FURROW_E_STATE);
  assert_string_equal(err.message, "not for you");
  assert_string_equal(err.file, path);
  assert_int_equal(furrow_index_load(&index, path, NULL, &err), FURROW_E_STATE);
  assert_string_equal(err.message, "not for you");
  snprintf(path, sizeof path, "pieces://%s/bad", dir);
  assert_int_equal(furrow_parser_open(&parser, path, NULL, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "there is a name that must not be told");
  assert_memory_equal(err.file, path, strlen(path));
  snprintf(path, sizeof path, "pieces://%s/none", dir);
  assert_int_equal(furrow_parser_open(&parser, path, NULL, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_matrix_meta_load(&meta, path, NULL, &err), FURROW_E_NOT_FOUND);
  snprintf(path, sizeof path, "stream://%s/set/a.libsvm", dir);
  assert_int_equal(furrow_index_load(&index, path, NULL, &err), FURROW_E_ARGUMENT); /* a stream is not an index */
  furrow_parser_params parts;
  furrow_parser_params_init(&parts);
  parts.nparts = 2;
  assert_int_equal(furrow_parser_open(&parser, path, &parts, &err), FURROW_E_ARGUMENT);
  unregister_disks();
}

/* The n-th read fails, for every n: the reading ends with the function's words, and nothing stays open. */
static void failing_reads_end_the_reading(void **state) {
  (void)state;
  char path[2 * TEST_PATH];
  assert_true(test_write_text("x", "1 2:3\n0 4:5\n1 7:8\n"));
  register_disks();
  for (size_t k = 0; k < 3; k += 2)
    for (uint32_t threads = 1; threads <= 2; threads++) {
      furrow_status status = FURROW_E_IO;
      for (long n = 0; status == FURROW_E_IO; n++) {
        furrow_parser_params params;
        furrow_parser_params_init(&params);
        params.chunk_bytes = 7;
        params.threads = threads;
        furrow_parser *parser = NULL;
        furrow_error err;
        snprintf(path, sizeof path, "%s://%s/x", disks[k].name, dir);
        atomic_store(&disks[k].user->countdown, n);
        status = furrow_parser_open(&parser, path, &params, &err);
        while (status == FURROW_OK) status = furrow_parser_next(parser, &err);
        if (status == FURROW_E_IO) {
          assert_string_equal(err.message, "the line is dead");
          assert_string_equal(err.file, path);
        }
        furrow_parser_close(parser);
        assert_int_equal(atomic_load(&disks[k].user->opened), 0);
        assert_true(n < 200);
      }
      assert_int_equal(status, FURROW_END);
      atomic_store(&disks[k].user->countdown, -1);
    }
  unregister_disks();
}

static void writing_is_for_this_machine(void **state) {
  (void)state;
  furrow_rows_writer *writer = NULL;
  furrow_vectors_writer *vectors = NULL;
  furrow_vectors_writer_params params;
  furrow_error err;
  furrow_vectors_writer_params_init(&params);
  params.dim = 2;
  assert_int_equal(furrow_rows_writer_open(&writer, "memory://x", NULL, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.file, "memory://x");
  assert_int_equal(furrow_vectors_writer_open(&vectors, "memory://x.fvecs", &params, &err), FURROW_E_UNSUPPORTED);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(rows_are_the_same_everywhere),
      IN_DIR(caches_know_files_in_memory),
      IN_DIR(matrices_are_the_same_everywhere),
      IN_DIR(indexes_are_the_same_everywhere),
      IN_DIR(a_removed_file_stays_for_its_readers),
      IN_DIR(an_unregistered_system_stays_for_its_readers),
      IN_DIR(memory_paths_are_checked),
      IN_DIR(systems_are_checked),
      IN_DIR(what_functions_say_reaches_the_caller),
      IN_DIR(failing_reads_end_the_reading),
      IN_DIR(writing_is_for_this_machine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
