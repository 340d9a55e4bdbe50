/* tests/unit/rows/test_cache.c: the row cache file. */
#include "rows/cache.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "base/endian.h"
#include "support/failing_alloc.h"
#include "support/golden_set.h"
#include "support/sample_block.h"
#include "support/test_env.h"

enum { LABEL = FW_COLUMN_LABEL, WEIGHT = FW_COLUMN_WEIGHT, QID = FW_COLUMN_QID };
enum { FIELD = FW_COLUMN_FIELD, VALUE = FW_COLUMN_VALUE, MAX_FILE = 1 << 16 };

static char folder_name[TEST_PATH];
static const char *volatile folder; /* volatile: the compiler is not to guess how long it is */

static int make_folder(void **state) {
  (void)state;
  if (!test_make_dir(folder_name)) return -1;
  folder = folder_name;
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return test_remove_dir(folder_name) ? 0 : -1;
}

static furrow_container *create(furrow_key_type key_type, furrow_value_type value_type) {
  furrow_container *container = NULL;
  assert_int_equal(furrow_container_create(&container, key_type, value_type, NULL), FURROW_OK);
  return container;
}

static furrow_container *container_of(const furrow_rowblock *block) {
  furrow_container *container = create(block->key_type, block->value_type);
  assert_int_equal(furrow_container_push_block(container, block, NULL), FURROW_OK);
  return container;
}

/* ---- Files as bytes ------------------------------------------------------------------------------------- */

typedef struct bytes {
  unsigned char data[MAX_FILE];
  size_t size;
} bytes;

static void read_file(const char *path, bytes *file) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  file->size = fread(file->data, 1, sizeof file->data, f);
  assert_true(file->size < sizeof file->data);
  fclose(f);
}

static void write_file(const char *path, const bytes *file) {
  assert_true(test_write_file(path, file->data, file->size));
}

/* Makes the digests right again, and the number of payload bytes. */
static void seal(bytes *file) {
  assert_true(file->size >= FW_CACHE_HEADER);
  fw_put_le64(file->data + 40, file->size - FW_CACHE_HEADER);
  fw_put_le64(file->data + 88, XXH3_64bits(file->data + FW_CACHE_HEADER, file->size - FW_CACHE_HEADER));
  fw_put_le64(file->data + 120, XXH3_64bits(file->data, 120));
}

static furrow_status load_bytes(const bytes *file, furrow_container *container, furrow_error *err) {
  char path[TEST_PATH];
  write_file(test_path(path, folder, "bytes"), file);
  return furrow_container_load(container, path, err);
}

/* Two rows, u32 and f32: 1 1:0.5 3:1.25 and -1 2:2 7:-300. */
static furrow_container *two_rows(void) {
  static const uint64_t offset[] = {0, 2, 4};
  static const float label[] = {1, -1}, value[] = {0.5F, 1.25F, 2, -300};
  static const uint32_t index[] = {1, 3, 2, 7};
  const furrow_rowblock block = {
      .size = 2, .offset = offset, .label.f32 = label, .index.u32 = index, .value.f32 = value};
  return container_of(&block);
}

static void save_two_rows(bytes *file) {
  static bytes saved; /* once: a save waits for the disk */
  if (saved.size == 0) {
    char path[TEST_PATH];
    furrow_container *c = two_rows();
    assert_int_equal(furrow_container_save(c, test_path(path, folder, "two"), true, NULL), FURROW_OK);
    furrow_container_free(c);
    read_file(path, &saved);
  }
  *file = saved;
}

/* A new folder in the folder. */
static const char *make_dir(char dir[TEST_PATH], const char *name) {
  test_path(dir, folder, name);
  assert_int_equal(mkdir(dir, 0700), 0);
  return dir;
}

/* ---- Round trips ---------------------------------------------------------------------------------------- */

static void what_is_saved_is_loaded(void **state) {
  (void)state;
  sample_block s;
  char path[TEST_PATH];
  test_path(path, folder, "saved");
  FOR_ALL_TYPES(key_type, value_type) {
    for (unsigned columns = 0; columns < 32; columns++) {
      const furrow_rowblock block = sample_make(&s, columns, 40, key_type, value_type, columns);
      furrow_container *c = container_of(&block), *loaded = create(key_type, value_type);
      assert_int_equal(furrow_container_push_block(loaded, &block, NULL), FURROW_OK); /* is replaced */
      assert_int_equal(furrow_container_save(c, path, true, NULL), FURROW_OK);
      assert_int_equal(furrow_container_load(loaded, path, NULL), FURROW_OK);
      furrow_rowblock a, b;
      assert_int_equal(furrow_container_get_block(c, &a, NULL), FURROW_OK);
      assert_int_equal(furrow_container_get_block(loaded, &b, NULL), FURROW_OK);
      assert_same_block(&a, &b);
      assert_true(!a.weight == !b.weight && !a.qid == !b.qid);
      assert_true(!a.field.any == !b.field.any && !a.value.any == !b.value.any && !a.label.any == !b.label.any);
      assert_int_equal(furrow_container_max_index(c), furrow_container_max_index(loaded));
      assert_int_equal(furrow_container_max_field(c), furrow_container_max_field(loaded));
      furrow_container_free(c);
      furrow_container_free(loaded);
    }
  }
}

static void no_rows_are_saved_and_loaded(void **state) {
  (void)state;
  char path[TEST_PATH];
  test_path(path, folder, "none");
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_container *c = create(key_type, value_type), *loaded = create(key_type, value_type);
    assert_int_equal(furrow_container_save(c, path, true, NULL), FURROW_OK);
    bytes file;
    read_file(path, &file);
    assert_int_equal(file.size, FW_CACHE_HEADER + 8 * 8 + 2 * furrow_key_size(key_type));
    assert_int_equal(furrow_container_load(loaded, path, NULL), FURROW_OK);
    assert_int_equal(furrow_container_size(loaded), 0);
    furrow_container_free(c);
    furrow_container_free(loaded);
  }
}

/* Writes blocks with few bytes a record; reads them back record by record, twice, and all at once. */
static void records_are_cut_and_read_back(void **state) {
  (void)state;
  static sample_block samples[4];
  char path[TEST_PATH];
  test_path(path, folder, "records");
  FOR_ALL_TYPES(key_type, value_type) {
    for (size_t record_bytes = 1; record_bytes < 100000; record_bytes *= 9) {
      fw_cache_writer *writer = NULL;
      furrow_container *all = create(key_type, value_type), *c = create(key_type, value_type);
      assert_int_equal(fw_cache_writer_open(&writer, path, key_type, value_type, 77, record_bytes, NULL), FURROW_OK);
      for (unsigned k = 0; k < 4; k++) {
        unsigned columns = LABEL | (k & 1 ? WEIGHT | VALUE : 0) | (k & 2 ? QID | FIELD : 0);
        const furrow_rowblock block = sample_make(&samples[k], k, SAMPLE_ROWS, key_type, value_type, columns);
        assert_int_equal(fw_cache_writer_push_block(writer, &block, NULL), FURROW_OK);
        assert_int_equal(furrow_container_push_block(all, &block, NULL), FURROW_OK);
      }
      assert_int_equal(fw_cache_writer_commit(writer, NULL), FURROW_OK);
      fw_cache_writer_close(writer);

      fw_cache_reader *reader = NULL;
      assert_int_equal(fw_cache_reader_open(&reader, path, NULL), FURROW_OK);
      const fw_cache_info *info = fw_cache_reader_info(reader);
      const furrow_rowblock wanted = fw_container_block(all);
      assert_int_equal(info->rows, all->rows);
      assert_int_equal(info->features, all->features);
      assert_int_equal(info->max_index, all->max_index);
      assert_int_equal(info->max_field, all->max_field);
      assert_int_equal(info->stamp, 77);
      if (record_bytes == 1) assert_int_equal(info->records, all->rows);
      if (record_bytes == 59049) assert_int_equal(info->records, 1);
      for (int pass = 0; pass < 2; pass++) {
        size_t rows = 0, records = 0;
        furrow_status status;
        while ((status = fw_cache_reader_next(reader, c, NULL)) == FURROW_OK) {
          const furrow_rowblock block = fw_container_block(c);
          /* whole when it reaches the limit, and not before; filled columns may add a little to what was foreseen */
          assert_true(rows + block.size == all->rows || furrow_container_memory_cost(c) >= record_bytes);
          assert_same_rows(&wanted, rows, &block, 0, block.size);
          rows += block.size;
          records++;
        }
        assert_int_equal(status, FURROW_END);
        assert_int_equal(fw_cache_reader_next(reader, c, NULL), FURROW_END);
        assert_int_equal(rows, all->rows);
        assert_int_equal(records, info->records);
        fw_cache_reader_rewind(reader);
      }
      fw_cache_reader_close(reader);
      assert_int_equal(furrow_container_load(c, path, NULL), FURROW_OK);
      const furrow_rowblock loaded = fw_container_block(c);
      assert_same_block(&loaded, &wanted);
      furrow_container_free(c);
      furrow_container_free(all);
    }
  }
}

static void the_bytes_are_those_that_the_document_shows(void **state) {
  (void)state;
  static const unsigned char head[] = {'F', 'U', 'R', 'R', 'O', 'W', 'R', 'C', 1, 0, 0, 0, 128, 0, 0, 0, 'u', '3',
                                       '2', 0,   'f', '3', '2', 0,   17,  0,   0, 0, 0, 0, 0,   0, 1, 0, 0,   0,
                                       0,   0,   0,   0,   128, 0,   0,   0,   0, 0, 0, 0, 2,   0, 0, 0, 0,   0,
                                       0,   0,   4,   0,   0,   0,   0,   0,   0, 0, 7, 0, 0,   0, 0, 0, 0,   0,
                                       0,   0,   0,   0,   0,   0,   0,   0,   0, 0, 0, 0, 0,   0, 0, 0};
  static const unsigned char payload[] = {
      3, 0, 0, 0,    0, 0, 0,    0,    0, 0, 0,    0,    0, 0, 0,    0,    /* 3 offsets: 0 */
      2, 0, 0, 0,    0, 0, 0,    0,    4, 0, 0,    0,    0, 0, 0,    0,    /* 2 4 */
      2, 0, 0, 0,    0, 0, 0,    0,    0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf, /* 2 labels: 1 -1 */
      0, 0, 0, 0,    0, 0, 0,    0,    0, 0, 0,    0,    0, 0, 0,    0,    /* no weight, no qid */
      0, 0, 0, 0,    0, 0, 0,    0,    4, 0, 0,    0,    0, 0, 0,    0,    /* no field, 4 indices */
      1, 0, 0, 0,    3, 0, 0,    0,    2, 0, 0,    0,    7, 0, 0,    0,    /* 1 3 2 7 */
      4, 0, 0, 0,    0, 0, 0,    0,    0, 0, 0,    0x3f, 0, 0, 0xa0, 0x3f, /* 4 values: 0.5 1.25 */
      0, 0, 0, 0x40, 0, 0, 0x96, 0xc3, 0, 0, 0,    0,    7, 0, 0,    0,    /* 2 -300, max_field 0, max_index 7 */
  };
  bytes file;
  save_two_rows(&file);
  assert_int_equal(file.size, FW_CACHE_HEADER + sizeof payload);
  assert_memory_equal(file.data, head, sizeof head);
  assert_memory_equal(file.data + FW_CACHE_HEADER, payload, sizeof payload);
  for (size_t i = 96; i < 120; i++) assert_int_equal(file.data[i], 0);
  assert_true(fw_get_le64(file.data + 88) == XXH3_64bits(payload, sizeof payload));
  assert_true(fw_get_le64(file.data + 120) == XXH3_64bits(file.data, 120));
}

/* The payload against a file that dmlc-core wrote for the same rows, both ways. */
static void the_payload_is_that_of_dmlc(void **state) {
  (void)state;
  char golden[TEST_PATH], path[TEST_PATH];
  bytes theirs, ours;
  read_file(golden_path(golden, "dmlc/iter_disk.cache.bin"), &theirs);
  save_two_rows(&ours);
  assert_int_equal(ours.size, FW_CACHE_HEADER + theirs.size);
  assert_memory_equal(ours.data + FW_CACHE_HEADER, theirs.data, theirs.size);

  static const float weight[] = {0.5F, 2};
  static const uint64_t qid[] = {7, 8};
  furrow_container *narrow = two_rows(), *c = create(FURROW_KEY_U64, FURROW_VALUE_F32);
  furrow_rowblock block = fw_container_block(narrow);
  block.weight = weight;
  block.qid = qid;
  assert_int_equal(furrow_container_push_block(c, &block, NULL), FURROW_OK);
  assert_int_equal(furrow_container_save(c, test_path(path, folder, "u64"), true, NULL), FURROW_OK);
  read_file(golden_path(golden, "dmlc/iter_disk_u64.cache.bin"), &theirs);
  read_file(path, &ours);
  assert_int_equal(ours.size, FW_CACHE_HEADER + theirs.size);
  assert_memory_equal(ours.data + FW_CACHE_HEADER, theirs.data, theirs.size);
  furrow_container_free(narrow);
  furrow_container_free(c);
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

/* Loads, wants E_FORMAT with file and offset, and the container as it was. */
static void assert_refused(const bytes *file, furrow_key_type key_type, furrow_value_type value_type) {
  sample_block s;
  const furrow_rowblock block = sample_make(&s, 9, 3, key_type, value_type, LABEL);
  furrow_container *c = container_of(&block);
  furrow_error err = {.status = FURROW_OK};
  assert_int_equal(load_bytes(file, c, &err), FURROW_E_FORMAT);
  assert_int_equal(err.status, FURROW_E_FORMAT);
  assert_non_null(strstr(err.file, "/bytes"));
  assert_true(err.offset <= file->size);
  assert_true(err.message[0] != 0);
  const furrow_rowblock still = fw_container_block(c);
  assert_same_block(&still, &block);
  furrow_container_free(c);
}

static void a_file_cut_anywhere_is_refused(void **state) {
  (void)state;
  bytes file;
  save_two_rows(&file);
  for (size_t size = file.size; size-- > 0;) {
    file.size = size;
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
}

static void a_file_with_something_behind_it_is_refused(void **state) {
  (void)state;
  bytes file;
  save_two_rows(&file);
  memset(file.data + file.size, 0, 8);
  file.size++;
  assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  seal(&file); /* the header knows, the records do not */
  assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  furrow_error err;
  assert_int_equal(load_bytes(&file, c, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "follow the last record"));
  assert_int_equal(err.offset, file.size - 1);
  furrow_container_free(c);
}

static void a_flipped_bit_is_noticed_everywhere(void **state) {
  (void)state;
  bytes file;
  save_two_rows(&file);
  for (size_t bit = 0; bit < 8 * file.size; bit++) {
    file.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
    file.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
}

/* Headers that lie, with digests that hold. */
static void a_header_that_lies_is_refused(void **state) {
  (void)state;
  static const struct {
    size_t at, size;
    uint64_t value;
  } lies[] = {
      {0, 1, 'f'},  {8, 4, 0},           {8, 4, 2},           {12, 4, 0},        {12, 4, 256}, {16, 4, 0},
      {16, 1, 'x'}, {19, 1, 'x'},        {20, 4, UINT32_MAX}, {20, 3, 0x343666}, {24, 4, 0},   {24, 4, 1},
      {24, 4, 16},  {24, 4, 19},         {24, 4, 31},         {24, 4, 49},       {28, 4, 1},   {32, 8, 0},
      {32, 8, 2},   {32, 8, UINT64_MAX}, {48, 8, 1},          {48, 8, 3},        {48, 8, 17},  {48, 8, 1ULL << 63},
      {56, 8, 3},   {56, 8, 5},          {56, 8, 1 << 20},    {64, 8, 6},        {64, 8, 8},   {64, 8, 0},
      {72, 8, 1},   {96, 8, 1},          {112, 8, 1 << 8},
  };
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    bytes file;
    unsigned char value[8];
    save_two_rows(&file);
    fw_put_le64(value, lies[i].value);
    memcpy(file.data + lies[i].at, value, lies[i].size);
    seal(&file);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
  bytes file;
  save_two_rows(&file);
  fw_put_le64(file.data + 80, 1234); /* where it comes from is the reader's business */
  seal(&file);
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  assert_int_equal(load_bytes(&file, c, NULL), FURROW_OK);
  furrow_container_free(c);
}

/* Records that lie, with digests that hold: counts, offsets, maxima. */
static void a_record_that_lies_is_refused(void **state) {
  (void)state;
  static const uint64_t hostile[] = {
      1,          3,          5,          1000,       1ULL << 31,     1ULL << 32,       1ULL << 60,
      1ULL << 61, 1ULL << 62, 1ULL << 63, UINT64_MAX, UINT64_MAX - 7, (1ULL << 61) - 1, (1ULL << 62) + 2};
  static const size_t counts[] = {0, 32, 48, 56, 64, 72, 96};
  bytes good;
  save_two_rows(&good);
  for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
      bytes file = good;
      if (fw_get_le64(file.data + FW_CACHE_HEADER + counts[k]) == hostile[i]) continue;
      fw_put_le64(file.data + FW_CACHE_HEADER + counts[k], hostile[i]);
      fw_put_le32(file.data + 24, 31);
      seal(&file);
      assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
    }
    bytes file = good;
    if (fw_get_le64(file.data + FW_CACHE_HEADER + counts[k]) == 0) continue;
    fw_put_le64(file.data + FW_CACHE_HEADER + counts[k], 0);
    seal(&file);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
  static const struct {
    size_t at;
    uint64_t value;
  } offsets[] = {{8, 1},  {8, UINT64_MAX}, {16, 5},          {16, UINT64_MAX}, {16, 1ULL << 63},
                 {24, 3}, {24, 5},         {24, UINT64_MAX}, {24, 0}};
  for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
    bytes file = good;
    fw_put_le64(file.data + FW_CACHE_HEADER + offsets[i].at, offsets[i].value);
    seal(&file);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
  for (uint32_t max = 6; max <= 8; max += 2) {
    bytes file = good;
    fw_put_le32(file.data + FW_CACHE_HEADER + 124, max);
    fw_put_le64(file.data + 64, max);
    seal(&file);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
    file = good;
    fw_put_le32(file.data + FW_CACHE_HEADER + 120, max);
    fw_put_le64(file.data + 72, max);
    seal(&file);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
}

/* A file of one record (u32, f32) whose counts are as given; it has bytes for the elements of `present`. The offsets
 * are 0 … 0 and the number of features. */
static void make_record(bytes *file, const uint64_t count[7], const uint64_t present[7]) {
  static const size_t sizes[7] = {8, 4, 4, 8, 4, 4, 4};
  save_two_rows(file);
  unsigned char *p = file->data + FW_CACHE_HEADER;
  memset(p, 0, sizeof file->data - FW_CACHE_HEADER);
  for (int v = 0; v < 7; v++) {
    fw_put_le64(p, count[v]);
    p += 8 + present[v] * sizes[v];
    if (v == 0 && present[0] > 1) fw_put_le64(p - 8, present[5]);
  }
  p += 8;
  file->size = (size_t)(p - file->data);
  unsigned columns = 0;
  for (int v = 1; v < 7; v++) columns |= v != 5 && count[v] ? 1U << (v > 5 ? 4 : v - 1) : 0;
  fw_put_le32(file->data + 24, columns);
  fw_put_le64(file->data + 48, present[0] - 1);
  fw_put_le64(file->data + 56, present[5]);
  fw_put_le64(file->data + 64, 0);
  seal(file);
}

/* Everything fits but the number of elements of one vector. */
static void a_vector_of_the_wrong_length_is_refused(void **state) {
  (void)state;
  static const uint64_t right[7] = {3, 2, 2, 2, 4, 4, 4};
  bytes file;
  make_record(&file, right, right);
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  assert_int_equal(load_bytes(&file, c, NULL), FURROW_OK);
  furrow_container_free(c);
  for (int v = 0; v < 7; v++) {
    for (uint64_t n = 1; n < 2000; n = n < 8 ? n + 1 : n * 3) {
      uint64_t wrong[7];
      memcpy(wrong, right, sizeof wrong);
      if (n == right[v]) continue;
      wrong[v] = n;
      make_record(&file, wrong, wrong);
      assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
    }
  }
}

/* Counts whose bytes, multiplied out in 64 bits, come to few or none. */
static void counts_that_overflow_are_refused(void **state) {
  (void)state;
  static const uint64_t present[7] = {1, 0, 0, 0, 0, 0, 0};
  static const uint64_t counts[][7] = {
      {((uint64_t)1 << 61) + 1, 0, 0, 0, 0, 0, 0},
      {1, 0, 0, 0, 0, (uint64_t)1 << 62, 0},
      {1, 0, 0, 0, (uint64_t)1 << 62, (uint64_t)1 << 62, 0},
      {1, 0, 0, 0, 0, (uint64_t)3 << 62, (uint64_t)3 << 62},
  };
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    bytes file;
    make_record(&file, counts[i], present);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
}

/* Labels in one record and none in the next: no writer of ours makes it. */
static void records_that_disagree_about_labels_are_refused(void **state) {
  (void)state;
  bytes file, bare;
  char path[TEST_PATH];
  save_two_rows(&file);
  furrow_container *c = two_rows();
  c->has_label = false;
  assert_int_equal(furrow_container_save(c, test_path(path, folder, "bare"), true, NULL), FURROW_OK);
  furrow_container_free(c);
  read_file(path, &bare);
  memcpy(file.data + file.size, bare.data + FW_CACHE_HEADER, bare.size - FW_CACHE_HEADER);
  file.size += bare.size - FW_CACHE_HEADER;
  fw_put_le64(file.data + 32, 2);
  fw_put_le64(file.data + 48, 4);
  fw_put_le64(file.data + 56, 8);
  seal(&file);
  assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
}

static void other_files_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"", "F", "FURROW", "FURROWRC", "FURROWRC\1", "1 1:0.5 3:1.25\n-1 2:2 7:-300\n"};
  bytes file;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    file.size = strlen(texts[i]);
    memcpy(file.data, texts[i], file.size);
    assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  }
  memset(file.data, '1', file.size = 5000);
  assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);
  save_two_rows(&file); /* without our header it is what dmlc-core would write */
  memmove(file.data, file.data + FW_CACHE_HEADER, file.size -= FW_CACHE_HEADER);
  assert_refused(&file, FURROW_KEY_U32, FURROW_VALUE_F32);

  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  char path[TEST_PATH];
  furrow_error err;
  assert_int_equal(furrow_container_load(c, test_path(path, folder, "no such file"), &err), FURROW_E_NOT_FOUND);
  assert_true(furrow_container_load(c, folder, &err) != FURROW_OK);
  furrow_container_free(c);
}

static void other_types_are_refused(void **state) {
  (void)state;
  bytes file;
  save_two_rows(&file);
  FOR_ALL_TYPES(key_type, value_type) {
    if (key_type == FURROW_KEY_U32 && value_type == FURROW_VALUE_F32) continue;
    furrow_container *c = create(key_type, value_type);
    furrow_error err;
    assert_int_equal(load_bytes(&file, c, &err), FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "u32/f32"));
    furrow_container_free(c);
  }
}

/* A record in the middle is damaged: those before it are given, it is not, nor is the one at the end. */
static void damage_is_found_at_the_last_record_at_the_latest(void **state) {
  (void)state;
  char path[TEST_PATH];
  bytes file;
  fw_cache_writer *writer = NULL;
  furrow_container *c = two_rows(), *record = create(FURROW_KEY_U32, FURROW_VALUE_F32);
  test_path(path, folder, "three");
  assert_int_equal(fw_cache_writer_open(&writer, path, FURROW_KEY_U32, FURROW_VALUE_F32, 0, 0, NULL), FURROW_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(fw_cache_writer_push_record(writer, c, NULL), FURROW_OK);
  assert_int_equal(fw_cache_writer_commit(writer, NULL), FURROW_OK);
  fw_cache_writer_close(writer);
  read_file(path, &file);
  file.data[FW_CACHE_HEADER + 128 + 110] ^= 1; /* a value */
  write_file(path, &file);
  fw_cache_reader *reader = NULL;
  assert_int_equal(fw_cache_reader_open(&reader, path, NULL), FURROW_OK);
  assert_int_equal(fw_cache_reader_next(reader, record, NULL), FURROW_OK);
  assert_int_equal(fw_cache_reader_next(reader, record, NULL), FURROW_OK);
  furrow_error err;
  assert_int_equal(fw_cache_reader_next(reader, record, &err), FURROW_E_FORMAT);
  assert_int_equal(furrow_container_size(record), 0);
  assert_non_null(strstr(err.message, "digest"));
  fw_cache_reader_close(reader);
  furrow_container_free(c);
  furrow_container_free(record);
}

/* The file shrinks under the reader. */
static void a_file_that_shrinks_is_noticed(void **state) {
  (void)state;
  char path[TEST_PATH];
  bytes file;
  save_two_rows(&file);
  write_file(test_path(path, folder, "shrinks"), &file);
  for (off_t size = 0; size < (off_t)file.size; size += 8) {
    fw_cache_reader *reader = NULL;
    furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
    write_file(path, &file);
    assert_int_equal(fw_cache_reader_open(&reader, path, NULL), FURROW_OK);
    assert_int_equal(truncate(path, size), 0);
    assert_int_equal(fw_cache_reader_next(reader, c, NULL), FURROW_E_FORMAT);
    assert_int_equal(furrow_container_size(c), 0);
    fw_cache_reader_close(reader);
    furrow_container_free(c);
  }
}

/* ---- The writer ----------------------------------------------------------------------------------------- */

/* Hidden ones included. */
static size_t files_in_folder(const char *dir) {
  DIR *handle = opendir(dir);
  assert_non_null(handle);
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(handle));) {
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  }
  closedir(handle);
  return count;
}

static void a_writer_refuses_what_does_not_belong(void **state) {
  (void)state;
  char path[TEST_PATH];
  sample_block s;
  fw_cache_writer *writer = NULL;
  test_path(path, folder, "writer");
  assert_int_equal(fw_cache_writer_open(&writer, path, FURROW_KEY_U32, FURROW_VALUE_I32, 0, 1, NULL), FURROW_OK);
  furrow_container *other = two_rows();
  assert_int_equal(fw_cache_writer_push_record(writer, other, NULL), FURROW_E_ARGUMENT);
  furrow_container_free(other);
  furrow_rowblock block = sample_make(&s, 1, 4, FURROW_KEY_U32, FURROW_VALUE_I32, LABEL);
  assert_int_equal(fw_cache_writer_push_block(writer, &block, NULL), FURROW_OK);
  block.label.any = NULL;
  assert_int_equal(fw_cache_writer_push_block(writer, &block, NULL), FURROW_E_STATE);
  block = sample_make(&s, 1, 1, FURROW_KEY_U32, FURROW_VALUE_F32, LABEL);
  sample_set_f32(s.label, 0, 0.5F);
  assert_int_equal(fw_cache_writer_push_block(writer, &block, NULL), FURROW_E_RANGE);
  assert_int_equal(fw_cache_writer_commit(writer, NULL), FURROW_OK); /* nothing of those was written */
  fw_cache_writer_close(writer);
  furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_I32);
  assert_int_equal(furrow_container_load(c, path, NULL), FURROW_OK);
  assert_int_equal(furrow_container_size(c), 4);
  furrow_container_free(c);
}

/* A block fails after its first rows went into a record: the file must not appear. */
static void half_a_block_is_never_committed(void **state) {
  (void)state;
  char path[TEST_PATH];
  sample_block s;
  fw_cache_writer *writer = NULL;
  test_path(path, folder, "half");
  assert_int_equal(fw_cache_writer_open(&writer, path, FURROW_KEY_U32, FURROW_VALUE_I32, 0, 1, NULL), FURROW_OK);
  const furrow_rowblock block = sample_make(&s, 1, 4, FURROW_KEY_U32, FURROW_VALUE_F32, LABEL);
  sample_set_f32(s.label, 3, 0.5F);
  assert_int_equal(fw_cache_writer_push_block(writer, &block, NULL), FURROW_E_RANGE);
  assert_int_equal(fw_cache_writer_commit(writer, NULL), FURROW_E_STATE);
  fw_cache_writer_close(writer);
  assert_int_not_equal(access(path, F_OK), 0);
}

/* A writer that ends without commit, or is killed, leaves the old file or none. */
static void only_a_commit_shows_the_file(void **state) {
  (void)state;
  char memory[TEST_PATH], path[TEST_PATH];
  sample_block s;
  const furrow_rowblock block = sample_make(&s, 1, SAMPLE_ROWS, FURROW_KEY_U32, FURROW_VALUE_F32, LABEL);
  for (int killed = 0; killed < 2; killed++) {
    for (int existed = 0; existed < 2; existed++) {
      const char *volatile dir = make_dir(memory, "commit");
      test_path(path, dir, "rows");
      furrow_container *old = two_rows();
      if (existed) assert_int_equal(furrow_container_save(old, path, true, NULL), FURROW_OK);
      pid_t child = killed ? fork() : 0;
      if (child == 0) {
        fw_cache_writer *writer = NULL;
        bool good = fw_cache_writer_open(&writer, path, FURROW_KEY_U32, FURROW_VALUE_F32, 0, 1, NULL) == FURROW_OK;
        for (int i = 0; i < 5000; i++) good = good && fw_cache_writer_push_block(writer, &block, NULL) == FURROW_OK;
        if (killed) kill(getpid(), good ? SIGKILL : SIGTERM);
        fw_cache_writer_close(writer);
        assert_true(good);
      } else {
        int exit_status = 0;
        assert_int_equal(waitpid(child, &exit_status, 0), child);
        assert_true(WIFSIGNALED(exit_status) && WTERMSIG(exit_status) == SIGKILL);
      }
      assert_int_equal(access(path, F_OK) == 0, existed);
      if (!killed) assert_int_equal(files_in_folder(dir), existed);
      if (existed) {
        furrow_container *c = create(FURROW_KEY_U32, FURROW_VALUE_F32);
        assert_int_equal(furrow_container_load(c, path, NULL), FURROW_OK);
        const furrow_rowblock a = fw_container_block(c), b = fw_container_block(old);
        assert_same_block(&a, &b);
        furrow_container_free(c);
      }
      furrow_container_free(old);
      assert_true(test_remove_dir(dir));
    }
  }
}

static void a_place_that_cannot_be_written_is_an_error(void **state) {
  (void)state;
  furrow_container *c = two_rows();
  char path[TEST_PATH];
  furrow_error err;
  assert_int_not_equal(furrow_container_save(c, test_path(path, folder, "no/such/folder"), true, &err), FURROW_OK);
  assert_true(err.file[0] != 0);
  assert_int_not_equal(furrow_container_save(c, folder, true, &err), FURROW_OK);
  furrow_container_free(c);
}

/* ---- Out of memory -------------------------------------------------------------------------------------- */

static void saving_and_loading_without_memory_change_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  char memory[TEST_PATH], path[TEST_PATH];
  sample_block s;
  const char *volatile dir = make_dir(memory, "memory");
  test_path(path, dir, "rows");
  const furrow_rowblock block = sample_make(&s, 1, SAMPLE_ROWS, FURROW_KEY_U64, FURROW_VALUE_I64, 31);
  furrow_container *c = container_of(&block);
  long live = atomic_load(&alloc_live), n = 0;
  furrow_status status = FURROW_E_MEMORY;
  for (n = 1; status != FURROW_OK; n++) {
    alloc_fail_at(n);
    status = furrow_container_save(c, path, true, NULL);
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
    assert_int_equal(atomic_load(&alloc_live), live);
    assert_int_equal(files_in_folder(dir), status == FURROW_OK);
  }
  assert_true(n > 4);
  fw_cache_writer *writer = NULL; /* three records, so that load has to put them together */
  assert_int_equal(fw_cache_writer_open(&writer, path, FURROW_KEY_U64, FURROW_VALUE_I64, 0, 0, NULL), FURROW_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(fw_cache_writer_push_record(writer, c, NULL), FURROW_OK);
  assert_int_equal(fw_cache_writer_commit(writer, NULL), FURROW_OK);
  fw_cache_writer_close(writer);
  status = FURROW_E_MEMORY;
  for (n = 1; status != FURROW_OK; n++) {
    furrow_container *d = create(FURROW_KEY_U64, FURROW_VALUE_I64);
    alloc_fail_at(n);
    status = furrow_container_load(d, path, NULL);
    alloc_fail_at(0);
    assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
    assert_int_equal(furrow_container_size(d), status == FURROW_OK ? 3 * SAMPLE_ROWS : 0);
    furrow_container_free(d);
    assert_int_equal(atomic_load(&alloc_live), live);
  }
  assert_true(n > 10);
  furrow_container_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_saved_is_loaded),
      cmocka_unit_test(no_rows_are_saved_and_loaded),
      cmocka_unit_test(records_are_cut_and_read_back),
      cmocka_unit_test(the_bytes_are_those_that_the_document_shows),
      cmocka_unit_test(the_payload_is_that_of_dmlc),
      cmocka_unit_test(a_file_cut_anywhere_is_refused),
      cmocka_unit_test(a_file_with_something_behind_it_is_refused),
      cmocka_unit_test(a_flipped_bit_is_noticed_everywhere),
      cmocka_unit_test(a_header_that_lies_is_refused),
      cmocka_unit_test(a_record_that_lies_is_refused),
      cmocka_unit_test(a_vector_of_the_wrong_length_is_refused),
      cmocka_unit_test(counts_that_overflow_are_refused),
      cmocka_unit_test(records_that_disagree_about_labels_are_refused),
      cmocka_unit_test(other_files_are_refused),
      cmocka_unit_test(other_types_are_refused),
      cmocka_unit_test(damage_is_found_at_the_last_record_at_the_latest),
      cmocka_unit_test(a_file_that_shrinks_is_noticed),
      cmocka_unit_test(a_writer_refuses_what_does_not_belong),
      cmocka_unit_test(half_a_block_is_never_committed),
      cmocka_unit_test(only_a_commit_shows_the_file),
      cmocka_unit_test(a_place_that_cannot_be_written_is_an_error),
      cmocka_unit_test(saving_and_loading_without_memory_change_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
