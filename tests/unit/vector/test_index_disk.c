/* tests/unit/vector/test_index_disk.c: lists in a data file of their own (ilod). */
#include <dlfcn.h>
#include <sys/stat.h>

#include "furrow/init.h"
#include "support/index_check.h"
#include "support/own_dir.h"

enum { DATA_SIZE = 64 };

/* Four lists of 2, 0, 3 and 1 codes of one byte; the third has room for four. */
static const uint64_t ranges[4][3] = {{2, 2, 0}, {0, 0, UINT64_MAX}, {3, 4, 18}, {1, 1, 54}};

static void make_index(index_file *f, const char *name) {
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_fourcc(f, "ilod");
  put_long(f, 4);
  put_long(f, 1);
  put_long(f, 4);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++) put_long(f, (int64_t)ranges[i][k]);
  put_long(f, 1);
  put_long(f, 0); /* a free slot that covers everything, as Faiss leaves it */
  put_long(f, DATA_SIZE);
  put_long(f, (int64_t)strlen(name));
  put(f, name, strlen(name));
  put_long(f, DATA_SIZE);
}

static void make_data(uint8_t data[DATA_SIZE]) {
  int64_t id = 0;
  memset(data, 0xee, DATA_SIZE);
  for (int i = 0; i < 4; i++) {
    for (uint64_t k = 0; k < ranges[i][0]; k++, id++) {
      data[ranges[i][2] + k] = (uint8_t)(id + 100);
      fw_put_le64(data + ranges[i][2] + ranges[i][1] + 8 * k, (uint64_t)id);
    }
  }
}

static void write_both(const char *index, const char *name, const char *data_path) {
  index_file f = {0};
  uint8_t data[DATA_SIZE];
  make_index(&f, name);
  make_data(data);
  assert_true(test_write_file(index, f.bytes, f.size));
  if (data_path) assert_true(test_write_file(data_path, data, sizeof data));
  index_file_clear(&f);
}

static void check_lists(const furrow_index *index) {
  furrow_list_view list;
  assert_int_equal(furrow_index_list(index, 2, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, 3);
  for (size_t k = 0; k < 3; k++) {
    assert_int_equal(list.codes[k], 102 + k);
    assert_int_equal(furrow_list_id(&list, k), 2 + k);
  }
  assert_int_equal(furrow_index_list(index, 1, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, 0);
}

static void lists_come_from_beside_the_index(void **state) {
  (void)state;
  assert_int_equal(mkdir("sub", 0700), 0);
  write_both("sub/a.index", "/nowhere/at/all/a.data", "sub/a.data");
  for (int map = 0; map < 2; map++) {
    furrow_index_load_params params;
    furrow_index *index = NULL;
    index_file f = {0}, written = {0};
    furrow_index_info info;
    furrow_index_info_init(&info);
    furrow_index_load_params_init(&params);
    params.memory_map = map;
    assert_int_equal(furrow_index_load(&index, "sub/a.index", &params, NULL), FURROW_OK);
    check_lists(index);
    furrow_index_get_info(index, &info);
    assert_int_equal(info.lists, FURROW_LISTS_ON_DISK);
    assert_string_equal(info.lists_file, "/nowhere/at/all/a.data");
    assert_false(info.lists_missing);
    read_whole("sub/a.index", &f);
    write_bytes(index, &written);
    assert_same_bytes(&written, &f);
    furrow_index_free(index);
    index_file_clear(&f);
    index_file_clear(&written);
  }
}

/* Only the last part of the stored name counts, and there must be one. */
static void a_stored_path_is_not_followed(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  static const char *const bad[] = {"", "/", "a/..", ".", ".."};
  char elsewhere[2 * TEST_PATH];
  assert_int_equal(mkdir("sub", 0700), 0);
  assert_int_equal(mkdir("other", 0700), 0);
  snprintf(elsewhere, sizeof elsewhere, "%s/other/a.data", dir);
  write_both("sub/a.index", elsewhere, elsewhere);
  assert_int_equal(furrow_index_load(&index, "sub/a.index", NULL, &err), FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.file, "sub/a.data"));
  write_both("sub/a.index", "../other/a.data", NULL);
  assert_int_equal(furrow_index_load(&index, "sub/a.index", NULL, &err), FURROW_E_NOT_FOUND);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_both("sub/a.index", bad[i], NULL);
    assert_int_equal(furrow_index_load(&index, "sub/a.index", NULL, &err), FURROW_E_FORMAT);
  }
  /* by name, it is */
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.lists = elsewhere;
  assert_int_equal(furrow_index_load(&index, "sub/a.index", &params, &err), FURROW_OK);
  check_lists(index);
  furrow_index_free(index);
}

static void lists_may_be_missing_if_allowed(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  furrow_index_load_params params;
  furrow_index_save_params save;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_list_view list;
  write_both("a.index", "a.data", NULL);
  furrow_index_load_params_init(&params);
  params.lists_optional = true;
  assert_int_equal(furrow_index_load(&index, "a.index", &params, &err), FURROW_OK);
  furrow_index_get_info(index, &info);
  assert_true(info.lists_missing);
  assert_int_equal(info.stored, 6);
  assert_int_equal(furrow_index_list(index, 2, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, 3);
  assert_null(list.codes);
  furrow_index_save_params_init(&save);
  save.inline_lists = true;
  assert_int_equal(furrow_index_save(index, "b.index", &save, &err), FURROW_E_STATE);
  assert_int_equal(access("b.index", F_OK), -1);
  furrow_index_free(index);
}

static void lists_become_part_of_the_file(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_index_save_params save;
  furrow_index_info info;
  furrow_index_info_init(&info);
  uint64_t size = 0;
  write_both("a.index", "a.data", "a.data");
  assert_int_equal(furrow_index_load(&index, "a.index", NULL, NULL), FURROW_OK);
  furrow_index_save_params_init(&save);
  save.inline_lists = true;
  assert_int_equal(furrow_index_save(index, "b.index", &save, NULL), FURROW_OK);
  assert_int_equal(furrow_index_file_size(index, &save, &size, NULL), FURROW_OK);
  furrow_index_free(index);
  struct stat found;
  assert_int_equal(stat("b.index", &found), 0);
  assert_int_equal(found.st_size, size);
  assert_int_equal(remove("a.data"), 0);
  assert_int_equal(furrow_index_load(&index, "b.index", NULL, NULL), FURROW_OK);
  check_lists(index);
  furrow_index_get_info(index, &info);
  assert_int_equal(info.lists, FURROW_LISTS_INLINE);
  furrow_index_free(index);
}

static void a_data_file_is_checked(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  write_both("a.index", "a.data", "a.data");
  assert_int_equal(truncate("a.data", DATA_SIZE - 1), 0);
  assert_int_equal(furrow_index_load(&index, "a.index", NULL, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.file, "a.data"));
  assert_non_null(strstr(err.message, "63 bytes, not 64"));
  assert_int_equal(remove("a.data"), 0);
  assert_int_equal(mkdir("a.data", 0700), 0);
  assert_int_equal(furrow_index_load(&index, "a.index", NULL, &err), FURROW_E_ARGUMENT);
}

static void ranges_are_checked(void **state) {
  (void)state;
  static const struct {
    int list, what; /* 0 size, 1 capacity, 2 offset */
    uint64_t value;
    const char *message;
  } wrong[] = {{0, 0, 3, "give list 0 3 vectors with a capacity of 2"},
               {0, 2, 47, "put list 0 at byte 47"},
               {0, 2, UINT64_MAX - 3, "put list 0 at byte"},
               {2, 1, UINT64_MAX, "put list 2 at byte 18"},
               {2, 1, 6, "put list 2 at byte 18 with a capacity of 6 vectors, beyond the 64 bytes"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    index_file f = {0};
    furrow_index *index = NULL;
    furrow_error err;
    make_index(&f, "a.data");
    uint64_t place = place_of(&f, "scratch", "lists/lists") + 24 * (uint64_t)wrong[i].list;
    fw_put_le64(f.bytes + place + 8 * wrong[i].what, wrong[i].value);
    assert_int_equal(read_bytes(&f, false, &index, &err), FURROW_E_FORMAT);
    assert_int_equal(err.offset, place);
    assert_non_null(strstr(err.message, wrong[i].message));
    index_file_clear(&f);
  }
}

/* Lists that together are more than the file: what they would need is never allocated. */
static void lists_do_not_multiply_the_data(void **state) {
  (void)state;
  index_file f = {0};
  furrow_index *index = NULL;
  furrow_error err;
  make_index(&f, "a.data");
  uint64_t place = place_of(&f, "scratch", "lists/lists");
  for (int i = 0; i < 4; i++) {
    fw_put_le64(f.bytes + place + 24 * i, 3);
    fw_put_le64(f.bytes + place + 24 * i + 8, 4);
    fw_put_le64(f.bytes + place + 24 * i + 16, 0);
  }
  assert_int_equal(read_bytes(&f, false, &index, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "overlap: with list 2"));
  for (int i = 0; i < 4; i++) fw_put_le64(f.bytes + place + 24 * i, i == 0); /* one vector in all, but all places */
  assert_int_equal(read_bytes(&f, false, &index, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "lists/lists overlap in the data file, the first at byte 0"));
  index_file_clear(&f);
}

/* tests/unit/vector/test_mapped_file.c cuts index files. */
static void a_data_file_is_cut(void **state) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_list_view list;
  furrow_error err;
  (void)state;
  write_both("a.index", "a.data", "a.data");
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  assert_int_equal(furrow_index_load(&index, "a.index", &params, NULL), FURROW_OK);
  assert_int_equal(truncate("a.data", DATA_SIZE / 2), 0);
  assert_int_equal(furrow_index_list(index, 0, &list, &err), FURROW_E_IO);
  assert_string_equal(err.file, "a.data");
  furrow_index_free(index);
}

static ino_t shorter; /* the file that has no bytes any more when it is read */

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  static ssize_t (*_Atomic next)(int, void *, size_t, off_t);
  struct stat info;
  if (!next) next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  return shorter && fstat(fd, &info) == 0 && info.st_ino == shorter ? 0 : next(fd, buffer, size, offset);
}

/* The size of a file is asked first; the bytes may be gone when they are read. */
static void files_become_shorter(void **state) {
  static const char *const files[] = {"a.index", "a.data"};
  furrow_index *index = NULL;
  furrow_error err;
  struct stat info;
  (void)state;
  write_both("a.index", "a.data", "a.data");
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(stat(files[i], &info), 0);
    shorter = info.st_ino;
    assert_int_equal(furrow_index_load(&index, "a.index", NULL, &err), FURROW_E_IO);
    assert_string_equal(err.file, files[i]);
    assert_non_null(strstr(err.message, "became shorter"));
    assert_int_equal(furrow_index_load(&index, "a.index", NULL, NULL), FURROW_E_IO);
    assert_null(index);
    shorter = 0;
  }
}

typedef struct told {
  size_t count;
  char first[200];
} told;

static void keep_finding(void *user, const furrow_index_finding *finding) {
  told *t = user;
  if (t->count++ == 0) snprintf(t->first, sizeof t->first, "%s: %s", finding->path, finding->message);
}

/* Ids in a data file are checked; those that are not there are not. */
static void ids_of_a_data_file_are_verified(void **state) {
  furrow_index_load_params params;
  furrow_error err;
  uint8_t data[DATA_SIZE];
  (void)state;
  furrow_index_load_params_init(&params);
  write_both("a.index", "a.data", "a.data");
  told found = {0};
  assert_int_equal(furrow_index_verify("a.index", &params, keep_finding, &found, &err), FURROW_OK);
  assert_string_equal(found.first,
                      "lists/slots: 1 free place covers lists: adding vectors with Faiss would destroy some");
  make_data(data);
  fw_put_le64(data + 10, 0); /* the second id of the first list is the first one again */
  fw_put_le64(data + 2, 0);
  assert_true(test_write_file("a.data", data, sizeof data));
  found = (told){0};
  assert_int_equal(furrow_index_verify("a.index", &params, keep_finding, &found, &err), FURROW_OK);
  assert_int_equal(found.count, 2);
  assert_non_null(strstr(found.first, "id"));
  params.lists_optional = true;
  assert_int_equal(remove("a.data"), 0);
  found = (told){0};
  assert_int_equal(furrow_index_verify("a.index", &params, keep_finding, &found, &err), FURROW_OK);
  assert_int_equal(found.count, 2);
  assert_string_equal(found.first, ": cannot be searched: the data file of the lists, a.data, is missing");
}

/* ---- New data files ---- */

/* Lists of 2, 0, 3 and 1 vectors, one after the other. */
static const uint64_t packed[4][3] = {{2, 2, 0}, {0, 0, 18}, {3, 3, 18}, {1, 1, 45}};
enum { PACKED_SIZE = 54 };

static furrow_index *load_index(const char *path) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_error err;
  furrow_index_load_params_init(&params);
  params.memory_map = true;
  if (furrow_index_load(&index, path, &params, &err) != FURROW_OK) fail_msg("%s: %s", path, err.message);
  return index;
}

static furrow_status save_apart(const furrow_index *index, const char *path, const char *data, bool overwrite,
                                furrow_error *err) {
  return furrow_index_save(index, path,
                           &FURROW_INIT(furrow_index_save_params, .lists_file = data, .overwrite = overwrite), err);
}

static void expect_tables(const char *path, const uint64_t lists[4][3], uint64_t slots, const char *name,
                          uint64_t total) {
  index_file f = {0};
  read_whole(path, &f);
  const uint8_t *at = f.bytes + place_of(&f, "scratch", "lists/lists");
  for (int i = 0; i < 12; i++) assert_int_equal(fw_get_le64(at + 8 * i), lists[i / 3][i % 3]);
  assert_int_equal(fw_get_le64(f.bytes + place_of(&f, "scratch", "lists/slots/count")), slots);
  assert_memory_equal(f.bytes + place_of(&f, "scratch", "lists/filename"), name, strlen(name));
  assert_int_equal(fw_get_le64(f.bytes + place_of(&f, "scratch", "lists/totsize")), total);
  index_file_clear(&f);
}

static void expect_data(const char *path) {
  index_file f = {0};
  int64_t id = 0;
  read_whole(path, &f);
  assert_int_equal(f.size, PACKED_SIZE);
  for (int i = 0; i < 4; i++) {
    for (uint64_t k = 0; k < packed[i][0]; k++, id++) {
      assert_int_equal(f.bytes[packed[i][2] + k], 100 + id);
      assert_int_equal(fw_get_le64(f.bytes + packed[i][2] + packed[i][1] + 8 * k), id);
    }
  }
  index_file_clear(&f);
}

/* From lists on disk and from lists in the file, to the same two files. */
static void lists_are_written_to_a_data_file(void **state) {
  (void)state;
  furrow_error err;
  furrow_index_save_params inlined = {.size = sizeof inlined, .inline_lists = true};
  uint64_t size = 0;
  struct stat found;
  assert_int_equal(mkdir("sub", 0700), 0);
  write_both("a.index", "a.data", "a.data");
  furrow_index *index = load_index("a.index");
  assert_int_equal(furrow_index_save(index, "whole.index", &inlined, NULL), FURROW_OK);
  furrow_index *whole = load_index("whole.index");
  assert_int_equal(save_apart(index, "sub/b.index", "sub/b.data", false, &err), FURROW_OK);
  assert_int_equal(save_apart(whole, "sub/c.index", "./sub/c.data", false, &err), FURROW_OK);
  expect_tables("sub/b.index", packed, 0, "sub/b.data", PACKED_SIZE);
  expect_tables("sub/c.index", packed, 0, "./sub/c.data", PACKED_SIZE);
  expect_data("sub/b.data");
  expect_data("sub/c.data");
  assert_int_equal(
      furrow_index_file_size(whole, &FURROW_INIT(furrow_index_save_params, .lists_file = "sub/b.data"), &size, &err),
      FURROW_OK);
  assert_int_equal(stat("sub/b.index", &found), 0);
  assert_int_equal(found.st_size, size);
  furrow_index_free(whole);
  furrow_index_free(index);
  index = load_index("sub/c.index");
  check_lists(index);
  furrow_index_free(index);
}

/* Faiss cannot map an empty file. */
static void a_data_file_without_vectors(void **state) {
  static const uint64_t unused[4][3] = {{0, 0, UINT64_MAX}, {0, 0, UINT64_MAX}, {0, 0, UINT64_MAX}, {0, 0, UINT64_MAX}};
  furrow_id_filter all = {.size = sizeof all, .kind = FURROW_ID_FILTER_RANGE, .first = 0, .end = 100};
  uint64_t removed = 0;
  struct stat found;
  furrow_error err;
  (void)state;
  write_both("a.index", "a.data", "a.data");
  furrow_index *index = load_index("a.index");
  assert_int_equal(furrow_index_remove(index, &all, &removed, &err), FURROW_OK);
  assert_int_equal(removed, 6);
  assert_int_equal(save_apart(index, "b.index", "b.data", false, &err), FURROW_OK);
  furrow_index_free(index);
  expect_tables("b.index", unused, 1, "b.data", 32);
  assert_int_equal(stat("b.data", &found), 0);
  assert_int_equal(found.st_size, 32);
  furrow_index_free(load_index("b.index"));
}

/* Changed lists, and lists of two indexes. */
static void changed_lists_are_written(void **state) {
  static const char *const paths[] = {"b.index", "a.index"};
  static const int64_t shifts[] = {0, 1000};
  furrow_id_filter one = {.size = sizeof one, .kind = FURROW_ID_FILTER_RANGE, .first = 2, .end = 3};
  furrow_index_save_params save = {.size = sizeof save, .lists_file = "both.data"};
  uint64_t removed = 0;
  furrow_list_view list;
  furrow_error err;
  (void)state;
  write_both("a.index", "a.data", "a.data");
  furrow_index *index = load_index("a.index");
  assert_int_equal(furrow_index_remove(index, &one, &removed, &err), FURROW_OK);
  assert_int_equal(save_apart(index, "b.index", "b.data", false, &err), FURROW_OK);
  furrow_index_free(index);
  assert_int_equal(furrow_index_merge_files(paths, shifts, 2, NULL, "both.index", &save, &err), FURROW_OK);
  index = load_index("both.index");
  assert_int_equal(furrow_index_list(index, 2, &list, NULL), FURROW_OK);
  assert_int_equal(list.count, 5);
  static const int64_t ids[] = {4, 3, 1002, 1003, 1004};
  for (size_t k = 0; k < 5; k++) {
    assert_int_equal(furrow_list_id(&list, k), ids[k]);
    assert_int_equal(list.codes[k], 100 + ids[k] % 1000);
  }
  furrow_index_free(index);
  assert_int_equal(furrow_index_verify("both.index", NULL, keep_finding, &(told){0}, &err), FURROW_OK);
}

/* Indexes in memory and mapped ones, with an id map that continues. */
static void parts_become_one_index(void **state) {
  static const char *const factories[] = {"IVF4,PQ2x4", "IDMap,IVF4,Flat", "PCA2,IVF4,SQ8", "IVF4,PQ2x4fs",
                                          "IVF4,PQ2x4,RFlat"};
  static float vectors[300 * 4];
  furrow_error err;
  (void)state;
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) vectors[i] = (float)(i * 7919 % 1009) / 100;
  for (size_t f = 0; f < sizeof factories / sizeof *factories; f++) {
    furrow_index *whole = NULL, *parts[3] = {0};
    index_file one = {0}, other = {0}, data = {0}, other_data = {0};
    furrow_index_spec spec = FURROW_INIT(furrow_index_spec, .d = 4, .factory = factories[f]);
    furrow_index_save_params save = {.size = sizeof save, .overwrite = true, .lists_file = "parts.data"};
    assert_int_equal(furrow_index_create(&whole, &spec, &err), FURROW_OK);
    assert_int_equal(furrow_index_train(whole, vectors, 300, NULL, &err), FURROW_OK);
    assert_int_equal(furrow_index_save(whole, "empty.index", &overwriting, &err), FURROW_OK);
    for (int64_t i = 0; i < 3; i++) {
      parts[i] = load_index("empty.index");
      furrow_index_set_next_id(parts[i], 100 * i);
      assert_int_equal(furrow_index_add(parts[i], vectors + 400 * i, 100, NULL, NULL, &err), FURROW_OK);
    }
    if (f >= 3) {
      assert_int_equal(furrow_index_save_parts(parts, 3, "parts.index", NULL, &err), FURROW_E_UNSUPPORTED);
    } else {
      assert_int_equal(furrow_index_save(parts[1], "second.index", &overwriting, &err), FURROW_OK);
      furrow_index_free(parts[1]);
      parts[1] = load_index("second.index");
      assert_int_equal(furrow_index_add(whole, vectors, 300, NULL, NULL, &err), FURROW_OK);
      remove("parts.data");
      remove("whole.data");
      assert_int_equal(furrow_index_save_parts(parts, 3, "parts.index", &save, &err), FURROW_OK);
      save.lists_file = "whole.data";
      assert_int_equal(furrow_index_save(whole, "whole.index", &save, &err), FURROW_OK);
      read_whole("parts.data", &data);
      read_whole("whole.data", &other_data);
      assert_same_bytes(&data, &other_data);
      read_whole("parts.index", &one);
      read_whole("whole.index", &other);
      uint8_t *name = memmem(one.bytes, one.size, "parts.data", 10);
      assert_non_null(name);
      memcpy(name, "whole.data", 10);
      assert_same_bytes(&one, &other);
    }
    for (int i = 0; i < 3; i++) furrow_index_free(parts[i]);
    furrow_index_free(whole);
    index_file_clear(&one);
    index_file_clear(&other);
    index_file_clear(&data);
    index_file_clear(&other_data);
  }
  assert_int_equal(furrow_index_save_parts(NULL, 0, "parts.index", NULL, &err), FURROW_E_ARGUMENT);
}

/* A data file is never replaced, and none is left where the index is not written. */
static void data_files_are_not_replaced(void **state) {
  index_file before = {0}, after = {0};
  furrow_error err;
  (void)state;
  write_both("a.index", "a.data", "a.data");
  furrow_index *index = load_index("a.index");
  read_whole("a.index", &before);
  for (int overwrite = 0; overwrite < 2; overwrite++) {
    assert_int_equal(save_apart(index, "a.index", "a.data", overwrite, &err), FURROW_E_EXISTS);
    assert_string_equal(err.file, "a.data");
    assert_int_equal(save_apart(index, "b.index", "a.data", overwrite, &err), FURROW_E_EXISTS);
  }
  assert_int_equal(save_apart(index, "a.index", "b.data", false, &err), FURROW_E_EXISTS);
  assert_string_equal(err.file, "a.index");
  assert_int_equal(access("b.data", F_OK), -1);
  assert_int_equal(access("b.index", F_OK), -1);
  read_whole("a.index", &after);
  assert_same_bytes(&before, &after);
  index_file_clear(&before);
  index_file_clear(&after);
  assert_int_equal(save_apart(index, "a.index", "b.data", true, &err), FURROW_OK); /* a new one replaces the index */
  furrow_index_free(index);
  index = load_index("a.index");
  check_lists(index);
  furrow_index_free(index);
}

/* An index that names a data file in another folder would not be read again. */
static void kept_data_files_are_found(void **state) {
  (void)state;
  furrow_index *index = NULL;
  furrow_error err;
  furrow_index_load_params params;
  furrow_index_save_params save;
  write_both("k.index", "k.data", "k.data");
  assert_int_equal(mkdir("far", 0700), 0);
  index = load_index("k.index");
  assert_int_equal(furrow_index_save(index, "far/k.index", NULL, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.file, "far/k.index");
  assert_non_null(strstr(err.message, "k.data, but readers would look for them in far/k.data"));
  assert_int_equal(access("far/k.index", F_OK), -1);
  assert_int_equal(furrow_index_save(index, "none/k.index", NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_save(index, "far/../k2.index", NULL, &err), FURROW_OK);
  furrow_index_free(load_index("k2.index"));
  assert_int_equal(link("k.data", "far/k.data"), 0); /* the same file is there */
  assert_int_equal(furrow_index_save(index, "far/k.index", NULL, &err), FURROW_OK);
  furrow_index_free(index);
  furrow_index_free(load_index("far/k.index"));
  /* the data file was given by its path, and has another name than the one in the index */
  assert_int_equal(rename("k.data", "other.data"), 0);
  furrow_index_load_params_init(&params);
  params.lists = "other.data";
  furrow_index_save_params_init(&save);
  save.overwrite = true;
  assert_int_equal(furrow_index_load(&index, "k.index", &params, &err), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "k3.index", &save, &err), FURROW_E_ARGUMENT);
  save.inline_lists = true;
  assert_int_equal(furrow_index_save(index, "far/k3.index", &save, &err), FURROW_OK);
  furrow_index_free(index);
  /* where the data file is missing, the new index is as good as the old one in the same folder */
  furrow_index_load_params_init(&params);
  params.lists_optional = true;
  assert_int_equal(furrow_index_load(&index, "k.index", &params, &err), FURROW_OK);
  save.inline_lists = false;
  assert_int_equal(furrow_index_save(index, "./k4.index", &save, &err), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "far/k4.index", &save, &err), FURROW_E_ARGUMENT);
  furrow_index_free(index);
}

static furrow_status swallow(void *user, const void *bytes, size_t size, furrow_error *err) {
  (void)user, (void)bytes, (void)size, (void)err;
  return FURROW_OK;
}

static void data_files_are_refused(void **state) {
  furrow_index *index, *flat = NULL, *fast = NULL, *missing = NULL;
  furrow_error err;
  furrow_index_spec spec;
  furrow_index_load_params load;
  furrow_output output = {.size = sizeof output, .write = swallow};
  furrow_index_save_params save = {.size = sizeof save, .lists_file = "b.data", .inline_lists = true};
  (void)state;
  assert_int_equal(mkdir("sub", 0700), 0);
  write_both("a.index", "a.data", "a.data");
  index = load_index("a.index");
  static const char *const elsewhere[] = {"sub/b.data", "nowhere/b.data", "b.index", "./b.index", "sub/", "."};
  for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
    const furrow_status expected = i == 1 ? FURROW_E_NOT_FOUND : FURROW_E_ARGUMENT;
    assert_int_equal(save_apart(index, "b.index", elsewhere[i], true, &err), expected);
  }
  assert_int_equal(save_apart(index, "-", "b.data", true, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_save(index, "b.index", &save, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_index_save_shards(index, "b.shards", &save, &err), FURROW_E_ARGUMENT);
  save.inline_lists = false;
  assert_int_equal(furrow_index_write(index, &output, &save, &err), FURROW_E_ARGUMENT);
  save.compat = "1.0";
  assert_int_equal(furrow_index_save(index, "b.index", &save, &err), FURROW_E_UNSUPPORTED);
  furrow_index_free(index);
  furrow_index_spec_init(&spec);
  spec.d = 8;
  spec.factory = "Flat";
  assert_int_equal(furrow_index_create(&flat, &spec, &err), FURROW_OK);
  assert_int_equal(save_apart(flat, "b.index", "b.data", true, &err), FURROW_E_ARGUMENT);
  furrow_index_free(flat);
  spec.factory = "IVF2,PQ4x4fs";
  assert_int_equal(furrow_index_create(&fast, &spec, &err), FURROW_OK);
  assert_int_equal(save_apart(fast, "b.index", "b.data", true, &err), FURROW_E_UNSUPPORTED);
  furrow_index_free(fast);
  furrow_index_load_params_init(&load);
  load.lists_optional = true;
  assert_int_equal(remove("a.data"), 0);
  assert_int_equal(furrow_index_load(&missing, "a.index", &load, &err), FURROW_OK);
  assert_int_equal(save_apart(missing, "b.index", "b.data", true, &err), FURROW_E_STATE);
  furrow_index_free(missing);
  assert_int_equal(access("b.index", F_OK), -1);
  assert_int_equal(access("b.data", F_OK), -1);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(lists_come_from_beside_the_index), IN_DIR(a_stored_path_is_not_followed),
      IN_DIR(lists_may_be_missing_if_allowed),  IN_DIR(lists_become_part_of_the_file),
      IN_DIR(a_data_file_is_checked),           IN_DIR(ranges_are_checked),
      IN_DIR(lists_do_not_multiply_the_data),   IN_DIR(a_data_file_is_cut),
      IN_DIR(ids_of_a_data_file_are_verified),  IN_DIR(files_become_shorter),
      IN_DIR(lists_are_written_to_a_data_file), IN_DIR(a_data_file_without_vectors),
      IN_DIR(changed_lists_are_written),        IN_DIR(data_files_are_not_replaced),
      IN_DIR(kept_data_files_are_found),        IN_DIR(data_files_are_refused),
      IN_DIR(parts_become_one_index),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
