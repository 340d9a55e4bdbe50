/* tests/unit/rows/test_blockiter.c: data sets in memory and through a cache file. */
#include "rows/blockiter.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "rows/cache.h"
#include "support/failing_alloc.h"
#include "support/golden_set.h"
#include "support/sample_block.h"
#include "support/test_env.h"

static char folder_name[TEST_PATH];
static const char *volatile folder; /* volatile: the compiler is not to guess how long it is */
static char data[TEST_PATH], cache[TEST_PATH], uri[3 * TEST_PATH];

/* Every test has a folder of its own, with names for a data file and a cache. */
static int make_folder(void **state) {
  (void)state;
  if (!test_make_dir(folder_name)) return -1;
  folder = folder_name;
  test_path(data, folder, "data");
  test_path(cache, folder, "cache");
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return test_remove_dir(folder_name) ? 0 : -1;
}

static const char *cached_uri(const char *args) {
  snprintf(uri, sizeof uri, "%s%s#%s", data, args, cache);
  return uri;
}

static const char *plain_uri(const char *args) {
  snprintf(uri, sizeof uri, "%s%s", data, args);
  return uri;
}

static furrow_parser_params params_of(const char *format) {
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.format = format;
  return params;
}

static furrow_blockiter *open_iter(const char *text, const furrow_parser_params *params, size_t record_bytes) {
  furrow_blockiter *iter = NULL;
  furrow_error err;
  fw_uri parsed = {0};
  assert_int_equal(fw_uri_parse(&parsed, text, NULL), FURROW_OK);
  furrow_status status = fw_blockiter_open(&iter, &parsed, params, record_bytes, &err);
  fw_uri_clear(&parsed);
  if (status != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  return iter;
}

/* All rows from here to the end, and the number of blocks. */
static furrow_container *rest_of(furrow_blockiter *iter, size_t *blocks) {
  furrow_container *all = NULL;
  furrow_error err;
  furrow_status status;
  *blocks = 0;
  while ((status = furrow_blockiter_next(iter, &err)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_blockiter_value(iter);
    assert_non_null(block);
    if (!all) {
      assert_int_equal(furrow_container_create(&all, block->key_type, block->value_type, NULL), FURROW_OK);
    }
    assert_int_equal(furrow_container_push_block(all, block, NULL), FURROW_OK);
    ++*blocks;
  }
  if (status != FURROW_END) fail_msg("%s", err.message);
  assert_null(furrow_blockiter_value(iter));
  assert_int_equal(furrow_blockiter_next(iter, &err), FURROW_END);
  return all;
}

/* The status of opening and reading to the end. */
static furrow_status status_of(const char *text, const furrow_parser_params *params, furrow_error *err) {
  furrow_blockiter *iter = NULL;
  furrow_status status = furrow_blockiter_open(&iter, text, params, err);
  while (status == FURROW_OK) status = furrow_blockiter_next(iter, err);
  furrow_blockiter_close(iter);
  return status;
}

static size_t read_file(const char *name, unsigned char *bytes, size_t capacity) {
  FILE *file = fopen(name, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, capacity, file);
  fclose(file);
  return size;
}

/* Hidden ones included. */
static size_t files_in_folder(void) {
  DIR *handle = opendir(folder);
  assert_non_null(handle);
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(handle));) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  closedir(handle);
  return count;
}

/* ---- In memory ------------------------------------------------------------------------------------------ */

static void without_cache_there_is_one_block(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  params.chunk_bytes = 16; /* many blocks of the parser, one of ours; only some with weights and values */
  assert_true(test_write_text(data, "1 1:0.5 3:1.25\n-1:2 2 7\n0 9\n1\n3 qid:4 2:1\n"));
  furrow_blockiter *iter = open_iter(plain_uri(""), &params, 0);
  assert_null(furrow_blockiter_value(iter));
  assert_int_equal(furrow_blockiter_num_col(iter), 10);
  for (int pass = 0; pass < 3; pass++) {
    assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
    const furrow_rowblock *block = furrow_blockiter_value(iter);
    static const float label[] = {1, -1, 0, 1, 3}, weight[] = {1, 2, 1, 1, 1}, value[] = {0.5F, 1.25F, 1, 1, 1, 1};
    static const uint64_t offset[] = {0, 2, 4, 5, 5, 6}, qid[] = {0, 0, 0, 0, 4};
    static const uint32_t index[] = {1, 3, 2, 7, 9, 2};
    assert_same_block(block, &(furrow_rowblock){.size = 5,
                                                .offset = offset,
                                                .label.f32 = label,
                                                .weight = weight,
                                                .qid = qid,
                                                .index.u32 = index,
                                                .value.f32 = value});
    assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_END);
    assert_null(furrow_blockiter_value(iter));
    assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_END);
    assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
    assert_null(furrow_blockiter_value(iter));
  }
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  furrow_blockiter_get_stats(iter, &stats);
  assert_int_equal(stats.rows, 5);
  assert_int_equal(stats.features, 6);
  assert_true(stats.bytes > 0);
  furrow_blockiter_close(iter);
  furrow_blockiter_close(NULL);
}

static void no_rows_are_one_empty_block(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  assert_true(test_write_text(data, "# nothing\n"));
  for (int cached = 0; cached < 3; cached++) { /* in memory, cache made, cache found */
    furrow_blockiter *iter = open_iter(cached ? cached_uri("") : plain_uri(""), &params, 0);
    assert_int_equal(furrow_blockiter_num_col(iter), 0);
    for (int pass = 0; pass < 2; pass++) {
      assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
      assert_int_equal(furrow_blockiter_value(iter)->size, 0);
      assert_int_equal(furrow_blockiter_value(iter)->offset[0], 0);
      assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_END);
      assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
    }
    furrow_blockiter_close(iter);
  }
}

static void arguments_of_the_uri_count(void **state) {
  (void)state;
  assert_true(test_write_text(data, "1 1:0.5 3:1.25\n"));
  for (int cached = 0; cached < 3; cached++) {
    const char *args = "?format=libsvm&indexing_mode=1";
    furrow_blockiter *iter = open_iter(cached ? cached_uri(args) : plain_uri(args), NULL, 0);
    assert_int_equal(furrow_blockiter_num_col(iter), 3);
    assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
    assert_int_equal(furrow_blockiter_value(iter)->index.u32[0], 0);
    furrow_blockiter_close(iter);
  }
}

static void csv_without_labels_is_read(void **state) {
  (void)state;
  assert_true(test_write_text(data, "1,2,3\n4,,6\n"));
  for (int cached = 0; cached < 3; cached++) {
    const char *args = "?format=csv&header=no";
    furrow_blockiter *iter = open_iter(cached ? cached_uri(args) : plain_uri(args), NULL, 0);
    assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
    const furrow_rowblock *block = furrow_blockiter_value(iter);
    assert_int_equal(block->size, 2);
    assert_null(block->label.any);
    assert_int_equal(block->offset[2], 5);
    assert_int_equal(furrow_blockiter_num_col(iter), 3);
    furrow_blockiter_close(iter);
  }
}

static void the_largest_index_is_read(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  params.key_type = FURROW_KEY_U64;
  assert_true(test_write_text(data, "1 18446744073709551615:1\n"));
  furrow_blockiter *iter = open_iter(plain_uri(""), &params, 0);
  assert_true(furrow_blockiter_num_col(iter) == UINT64_MAX);
  furrow_blockiter_close(iter);
}

static void errors_come_through(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  furrow_error err;
  assert_int_equal(status_of(plain_uri(""), &params, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(status_of(cached_uri(""), &params, &err), FURROW_E_NOT_FOUND);
  assert_true(test_write_text(data, "1 1:1\n1 x:1\n1 2:y\n"));
  assert_int_equal(status_of(plain_uri(""), &params, &err), FURROW_E_PARSE);
  assert_int_equal(status_of(cached_uri(""), &params, &err), FURROW_E_PARSE);
  assert_non_null(strstr(err.file, "data"));
  assert_int_equal(files_in_folder(), 1); /* no cache of half the rows */
  params.on_bad = FURROW_ON_BAD_SKIP;
  assert_int_equal(status_of(cached_uri(""), &params, &err), FURROW_END);
  params.part = 3;
  assert_int_equal(status_of(cached_uri(""), &params, &err), FURROW_E_ARGUMENT);
  params.nparts = 0;
  assert_int_equal(status_of(plain_uri(""), &params, &err), FURROW_E_ARGUMENT);
  assert_int_equal(status_of("", NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(status_of("a#b#c", NULL, &err), FURROW_E_ARGUMENT);
}

/* ---- Through a cache ------------------------------------------------------------------------------------ */

/* Many rows of every kind. */
static void write_rows(size_t rows) {
  uint64_t seed = 17;
  FILE *file = fopen(data, "wb");
  assert_non_null(file);
  for (size_t i = 0; i < rows; i++) {
    fprintf(file, "%zu", i);
    if (i % 50 > 40) fprintf(file, ":%zu", i % 7);
    if (i / 100 % 3 == 1) fprintf(file, " qid:%zu", i / 10);
    for (size_t n = sample_random(&seed) % 6; n > 0; n--)
      fprintf(file, " %zu:%zu", (size_t)sample_random(&seed) % 5000, n);
    fprintf(file, "\n");
  }
  fclose(file);
}

static void a_cache_gives_the_same_rows(void **state) {
  (void)state;
  write_rows(3000);
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_parser_params params = params_of("libsvm");
    params.key_type = key_type;
    params.value_type = value_type;
    params.chunk_bytes = 4096;
    size_t blocks;
    furrow_blockiter *iter = open_iter(plain_uri(""), &params, 0);
    furrow_container *wanted = rest_of(iter, &blocks);
    const furrow_rowblock want = fw_container_block(wanted);
    uint64_t num_col = furrow_blockiter_num_col(iter);
    furrow_blockiter_close(iter);
    assert_int_equal(want.size, 3000);
    for (int found = 0; found < 2; found++) {
      params.threads = found; /* 1: nothing is read ahead */
      iter = open_iter(cached_uri(""), &params, 10000);
      assert_int_equal(furrow_blockiter_num_col(iter), num_col);
      for (int pass = 0; pass < 3; pass++) {
        furrow_container *all = rest_of(iter, &blocks);
        const furrow_rowblock got = fw_container_block(all);
        assert_same_block(&got, &want);
        assert_true(blocks > 5);
        furrow_container_free(all);
        for (int i = 0; i < pass; i++) { /* start anew in the middle */
          assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
          assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
          assert_same_rows(furrow_blockiter_value(iter), 0, &want, 0, 1);
        }
        assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
      }
      furrow_parser_stats stats;
      furrow_parser_stats_init(&stats);
      furrow_blockiter_get_stats(iter, &stats);
      assert_int_equal(stats.rows, 3000);
      assert_int_equal(stats.features, want.offset[3000]);
      assert_int_equal(stats.bytes > 0, !found);
      furrow_blockiter_close(iter);
    }
    furrow_container_free(wanted);
    assert_int_equal(unlink(cache), 0);
  }
}

static void a_cache_is_made_once(void **state) {
  (void)state;
  struct stat first, second;
  furrow_parser_params params = params_of("libsvm");
  write_rows(100);
  assert_int_equal(status_of(cached_uri(""), &params, NULL), FURROW_END);
  assert_int_equal(stat(cache, &first), 0);
  assert_int_equal(status_of(cached_uri(""), &params, NULL), FURROW_END);
  assert_int_equal(stat(cache, &second), 0);
  assert_true(first.st_ino == second.st_ino && first.st_mtim.tv_nsec == second.st_mtim.tv_nsec);
  /* the same files by another name, other threads and chunks: the same rows */
  params.threads = 2;
  params.chunk_bytes = 64;
  char text[3 * TEST_PATH];
  snprintf(text, sizeof text, "%s/./data#%s", folder, cache);
  assert_int_equal(status_of(text, &params, NULL), FURROW_END);
  assert_int_equal(files_in_folder(), 2);
}

static void parts_have_caches_of_their_own(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  params.nparts = 3;
  write_rows(500);
  size_t rows = 0;
  for (params.part = 0; params.part < 3; params.part++) {
    size_t blocks;
    furrow_blockiter *iter = open_iter(cached_uri(""), &params, 0);
    furrow_container *all = rest_of(iter, &blocks);
    const furrow_rowblock block = fw_container_block(all);
    for (size_t i = 0; i < block.size; i++) assert_true(block.label.f32[i] == (float)(rows + i));
    rows += block.size;
    furrow_container_free(all);
    furrow_blockiter_close(iter);
    char name[2 * TEST_PATH];
    snprintf(name, sizeof name, "%s.split3.part%u", cache, params.part);
    assert_int_equal(access(name, R_OK), 0);
  }
  assert_int_equal(rows, 500);
  assert_int_equal(files_in_folder(), 4);
}

/* The bytes behind our header against those that dmlc-core wrote for the same text. */
static void the_payload_is_that_of_dmlc(void **state) {
  (void)state;
  static const struct {
    const char *name, *suffix, *index;
    uint32_t part, nparts;
  } cases[] = {{"iter_disk", "", "u32", 0, 1},
               {"iter_disk_u64", "", "u64", 0, 1},
               {"iter_disk_part", ".split3.part1", "u32", 1, 3}};
  for (size_t i = 0; i < 3; i++) {
    static unsigned char ours[1 << 14], theirs[1 << 14];
    char name[80], golden[TEST_PATH], text[3 * TEST_PATH];
    snprintf(name, sizeof name, "dmlc/%s.in", cases[i].name);
    golden_path(golden, name);
    furrow_parser_params params = params_of("libsvm");
    params.part = cases[i].part;
    params.nparts = cases[i].nparts;
    assert_int_equal(furrow_key_type_find(cases[i].index, &params.key_type, NULL), FURROW_OK);
    snprintf(text, sizeof text, "%s#%s%zu", golden, cache, i);
    assert_int_equal(status_of(text, &params, NULL), FURROW_END);
    snprintf(name, sizeof name, "dmlc/%s.cache%s.bin", cases[i].name, cases[i].suffix);
    golden_path(golden, name);
    snprintf(text, sizeof text, "%s%zu%s", cache, i, cases[i].suffix);
    size_t size = read_file(text, ours, sizeof ours);
    assert_int_equal(size, FW_CACHE_HEADER + read_file(golden, theirs, sizeof theirs));
    assert_memory_equal(ours + FW_CACHE_HEADER, theirs, size - FW_CACHE_HEADER);
  }
}

/* ---- Caches that cannot be used ------------------------------------------------------------------------- */

/* Opening gives that status, advice, and leaves the cache as it is. */
static void assert_refused(const char *text, const furrow_parser_params *params, furrow_status wanted) {
  static unsigned char before[1 << 16], after[1 << 16];
  furrow_error err = {.message = ""};
  size_t size = read_file(cache, before, sizeof before);
  assert_int_equal(status_of(text, params, &err), wanted);
  assert_string_equal(err.file, cache);
  assert_non_null(strstr(err.hint, "name another"));
  assert_int_equal(read_file(cache, after, sizeof after), size);
  assert_memory_equal(before, after, size);
}

static void touch(const char *name, time_t seconds, long nanoseconds) {
  const struct timespec times[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
  assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void a_stale_cache_is_refused(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm"), other;
  write_rows(20);
  touch(data, 1000, 5);
  assert_int_equal(status_of(cached_uri(""), &params, NULL), FURROW_END);
  assert_refused(cached_uri("?indexing_mode=0"), &params, FURROW_E_STALE);
  other = params;
  other.format = "auto";
  assert_refused(cached_uri(""), &other, FURROW_E_STALE);
  other = params;
  other.on_bad = FURROW_ON_BAD_SKIP;
  assert_refused(cached_uri(""), &other, FURROW_E_STALE);
  other = params;
  other.key_type = FURROW_KEY_U64;
  assert_refused(cached_uri(""), &other, FURROW_E_STALE);
  other = params;
  other.value_type = FURROW_VALUE_I32;
  assert_refused(cached_uri(""), &other, FURROW_E_STALE);
  other = params;
  other.max_line_bytes = 1000;
  assert_refused(cached_uri(""), &other, FURROW_E_STALE);
  touch(data, 1000, 6); /* a nanosecond */
  assert_refused(cached_uri(""), &params, FURROW_E_STALE);
  touch(data, 1000, 5);
  assert_int_equal(status_of(cached_uri(""), &params, NULL), FURROW_END);
  write_rows(21);
  touch(data, 1000, 5);
  assert_refused(cached_uri(""), &params, FURROW_E_STALE);
  char second[TEST_PATH], text[4 * TEST_PATH];
  write_rows(20);
  touch(data, 1000, 5);
  assert_true(test_write_text(test_path(second, folder, "second"), ""));
  snprintf(text, sizeof text, "%s;%s#%s", data, second, cache);
  assert_refused(text, &params, FURROW_E_STALE);
  snprintf(text, sizeof text, "%s#%s", second, cache);
  assert_refused(text, &params, FURROW_E_STALE);
}

static void the_cache_of_another_part_is_refused(void **state) {
  (void)state;
  char text[3 * TEST_PATH];
  furrow_parser_params params = params_of("libsvm");
  write_rows(20);
  params.nparts = 2;
  assert_int_equal(status_of(cached_uri(""), &params, NULL), FURROW_END);
  params.part = 1;
  snprintf(text, sizeof text, "%s/cache.split2.part0", folder);
  test_path(cache, folder, "cache.split2.part1");
  assert_int_equal(rename(text, cache), 0);
  snprintf(text, sizeof text, "%s#%s/cache", data, folder);
  assert_refused(text, &params, FURROW_E_STALE);
}

static void a_damaged_cache_is_refused(void **state) {
  (void)state;
  static unsigned char bytes[1 << 16];
  furrow_parser_params params = params_of("libsvm");
  write_rows(50);
  assert_int_equal(status_of(cached_uri(""), &params, NULL), FURROW_END);
  size_t size = read_file(cache, bytes, sizeof bytes);
  for (size_t at = 0; at < size; at += 97) {
    bytes[at] ^= 0x10;
    assert_true(test_write_file(cache, bytes, size));
    assert_refused(cached_uri(""), &params, FURROW_E_FORMAT);
    bytes[at] ^= 0x10;
    assert_true(test_write_file(cache, bytes, at));
    assert_refused(cached_uri(""), &params, FURROW_E_FORMAT);
  }
  assert_true(test_write_text(cache, "this is the user's own file, not ours to touch\n"));
  assert_refused(cached_uri(""), &params, FURROW_E_FORMAT);
  assert_true(test_write_text(cache, ""));
  assert_refused(cached_uri(""), &params, FURROW_E_FORMAT);
}

/* One call gives the block that two calls give, from memory and from a cache. */
static void blocks_in_one_call(void **state) {
  (void)state;
  const furrow_parser_params params = params_of("libsvm");
  write_rows(500);
  for (int cached = 0; cached < 2; cached++) {
    const furrow_rowblock *const none = (const void *)&params, *block = none;
    furrow_blockiter *iter = cached ? open_iter(cached_uri(""), &params, 2000) : NULL;
    size_t rows = 0, blocks = 0;
    furrow_status status;
    if (!cached) assert_int_equal(furrow_blockiter_open(&iter, data, &params, NULL), FURROW_OK);
    for (; (status = furrow_blockiter_next_block(iter, &block, NULL)) == FURROW_OK; block = none, blocks++) {
      assert_ptr_equal(block, furrow_blockiter_value(iter));
      rows += block->size;
    }
    assert_int_equal(status, FURROW_END);
    assert_ptr_equal(block, none);
    assert_int_equal(rows, 500);
    assert_true(cached ? blocks > 2 : blocks == 1);
    furrow_blockiter_close(iter);
  }
}

/* An error in the middle stays until before_first. */
static void an_error_stays(void **state) {
  (void)state;
  static unsigned char bytes[1 << 16];
  furrow_parser_params params = params_of("libsvm");
  write_rows(500);
  furrow_blockiter_close(open_iter(cached_uri(""), &params, 2000));
  size_t size = read_file(cache, bytes, sizeof bytes);
  bytes[size - 1] ^= 1; /* the last record's max_index */
  assert_true(test_write_file(cache, bytes, size));
  for (params.threads = 0; params.threads < 2; params.threads++) {
    furrow_blockiter *iter = open_iter(cached_uri(""), &params, 0);
    for (int pass = 0; pass < 2; pass++) {
      furrow_error err;
      furrow_status status;
      size_t blocks = 0;
      while ((status = furrow_blockiter_next(iter, &err)) == FURROW_OK) blocks++;
      assert_int_equal(status, FURROW_E_FORMAT);
      assert_true(blocks > 2);
      assert_null(furrow_blockiter_value(iter));
      memset(&err, 0, sizeof err);
      assert_int_equal(furrow_blockiter_next(iter, &err), FURROW_E_FORMAT);
      assert_string_equal(err.file, cache);
      const furrow_rowblock *block = NULL;
      assert_int_equal(furrow_blockiter_next_block(iter, &block, NULL), FURROW_E_FORMAT);
      assert_null(block);
      assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
    }
    furrow_blockiter_close(iter);
  }
}

static void a_cache_of_unknown_source_is_refused(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  furrow_container *c = NULL;
  write_rows(5);
  assert_int_equal(furrow_container_create(&c, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  assert_int_equal(furrow_container_save(c, cache, true, NULL), FURROW_OK);
  furrow_container_free(c);
  assert_refused(cached_uri(""), &params, FURROW_E_STALE);
}

/* The cache would be one of the files of the folder that it is made from. */
static void a_cache_among_its_own_sources_is_refused(void **state) {
  (void)state;
  char text[3 * TEST_PATH];
  furrow_parser_params params = params_of("libsvm");
  furrow_error err;
  write_rows(5);
  snprintf(text, sizeof text, "%s#%s", folder, cache);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(status_of(text, &params, &err), FURROW_E_STALE);
    assert_non_null(strstr(err.message, "among the files"));
    assert_int_equal(files_in_folder(), 1);
  }
  snprintf(text, sizeof text, "%s#%s/.cache", folder, folder); /* hidden files are not data */
  for (int i = 0; i < 2; i++) assert_int_equal(status_of(text, &params, &err), FURROW_END);
}

/* From a pipe: made and read, several times over; but nothing can tell what is in it later. */
static void a_pipe_is_cached_once(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm");
  assert_int_equal(mkfifo(data, 0600), 0);
  pid_t child = fork();
  if (child == 0) {
    FILE *pipe = fopen(data, "wb");
    bool good = pipe && fputs("1 2:3\n4 5:6\n", pipe) >= 0 && fclose(pipe) == 0;
    _exit(good ? 0 : 1);
  }
  furrow_blockiter *iter = open_iter(cached_uri(""), &params, 0);
  int exit_status = 0;
  assert_int_equal(waitpid(child, &exit_status, 0), child);
  assert_int_equal(exit_status, 0);
  for (int pass = 0; pass < 2; pass++) {
    size_t blocks;
    furrow_container *all = rest_of(iter, &blocks);
    assert_int_equal(furrow_container_size(all), 2);
    furrow_container_free(all);
    assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
  }
  furrow_blockiter_close(iter);
  assert_refused(cached_uri(""), &params, FURROW_E_STALE);
}

/* ---- Out of memory -------------------------------------------------------------------------------------- */

static void without_memory_there_is_an_error_and_no_cache(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_parser_params params = params_of("libsvm");
  write_rows(200);
  for (int kind = 0; kind < 3; kind++) { /* in memory, cache made, cache found */
    params.threads = 1;
    assert_int_equal(status_of(kind ? cached_uri("") : plain_uri(""), &params, NULL), FURROW_END); /* warms up */
    long live = atomic_load(&alloc_live);
    furrow_status status = FURROW_E_MEMORY;
    for (long n = 1; status != FURROW_END; n++) {
      if (kind == 1) unlink(cache);
      alloc_fail_at(n);
      status = status_of(kind ? cached_uri("") : plain_uri(""), &params, NULL);
      bool failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      assert_int_equal(atomic_load(&alloc_live), live);
      if (failed && status == FURROW_END) { /* the memory was optional, or it was the very end */
        status = FURROW_E_MEMORY;
        continue;
      }
      assert_int_equal(failed, status != FURROW_END);
      assert_true(n < 100000);
    }
  }
}

static void a_thread_that_reads_ahead_reports_no_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_parser_params params = params_of("libsvm");
  write_rows(500);
  furrow_blockiter_close(open_iter(cached_uri(""), &params, 2000));
  furrow_status status = FURROW_E_MEMORY;
  for (long n = 1; status != FURROW_END; n++) {
    alloc_fail_at(n);
    status = status_of(cached_uri(""), &params, NULL);
    if (atomic_load(&alloc_failed) && status == FURROW_END) status = FURROW_OK;
    alloc_fail_at(0);
    assert_true(n < 10000);
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(without_cache_there_is_one_block),
      TEST(no_rows_are_one_empty_block),
      TEST(arguments_of_the_uri_count),
      TEST(csv_without_labels_is_read),
      TEST(the_largest_index_is_read),
      TEST(errors_come_through),
      TEST(a_cache_gives_the_same_rows),
      TEST(a_cache_is_made_once),
      TEST(parts_have_caches_of_their_own),
      TEST(the_payload_is_that_of_dmlc),
      TEST(a_stale_cache_is_refused),
      TEST(the_cache_of_another_part_is_refused),
      TEST(a_damaged_cache_is_refused),
      TEST(blocks_in_one_call),
      TEST(an_error_stays),
      TEST(a_cache_of_unknown_source_is_refused),
      TEST(a_cache_among_its_own_sources_is_refused),
      TEST(a_pipe_is_cached_once),
      TEST(without_memory_there_is_an_error_and_no_cache),
      TEST(a_thread_that_reads_ahead_reports_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
