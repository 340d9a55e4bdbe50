/* tests/unit/rows/test_reject_cache.c: every check of a row cache refuses its own mistake: the place and the message.
 */
#include <inttypes.h>
#include <xxhash.h>

#include "base/endian.h"
#include "rows/cache.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { AT_PAYLOAD = FW_CACHE_HEADER, LABEL = 1, WEIGHT = 2, QID = 4, FIELD = 8, VALUE = 16, NOWHERE = 0 };

typedef struct cache_file {
  unsigned char bytes[1024];
  size_t size;
} cache_file;

static void put_u64(cache_file *f, uint64_t value) {
  fw_put_le64(f->bytes + f->size, value);
  f->size += 8;
}

static void put_u32(cache_file *f, uint32_t value) {
  fw_put_le32(f->bytes + f->size, value);
  f->size += 4;
}

/* The vectors of a record (u32, f32): offset, label, weight, qid, field, index, value. */
typedef struct record {
  uint64_t counts[7];
  uint64_t offsets[3];
  uint32_t max_field, max_index;
} record;

/* Elements are 0, except the last index, which is 7. */
static void put_record(cache_file *f, const record *r) {
  static const size_t sizes[7] = {8, 4, 4, 8, 4, 4, 4};
  for (int v = 0; v < 7; v++) {
    put_u64(f, r->counts[v]);
    const size_t bytes = r->counts[v] * sizes[v];
    memset(f->bytes + f->size, 0, bytes);
    for (uint64_t i = 0; v == 0 && i < r->counts[0]; i++) fw_put_le64(f->bytes + f->size + 8 * i, r->offsets[i]);
    f->size += bytes;
    if (v == 5 && r->counts[v] > 0) fw_put_le32(f->bytes + f->size - 4, 7);
  }
  put_u32(f, r->max_field);
  put_u32(f, r->max_index);
}

static const record two_rows = {{3, 2, 0, 0, 0, 4, 4}, {0, 2, 4}, 0, 7};

static void put_header(cache_file *f, uint32_t columns, uint64_t records) {
  memcpy(f->bytes, "FURROWRC", 8);
  f->size = 8;
  put_u32(f, 1);
  put_u32(f, FW_CACHE_HEADER);
  memcpy(f->bytes + 16, "u32\0f32", 8);
  f->size = 24;
  put_u32(f, columns);
  put_u32(f, 0);
  const uint64_t sums[] = {records, 0, 2, 4, 7, 0};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) put_u64(f, sums[i]);
  memset(f->bytes + f->size, 0, FW_CACHE_HEADER - f->size);
  f->size = FW_CACHE_HEADER;
}

static void seal_payload(cache_file *f) {
  fw_put_le64(f->bytes + 40, f->size - AT_PAYLOAD);
  fw_put_le64(f->bytes + 88, XXH3_64bits(f->bytes + AT_PAYLOAD, f->size - AT_PAYLOAD));
}

static void seal_header(cache_file *f) {
  fw_put_le64(f->bytes + 120, XXH3_64bits(f->bytes, 120));
}

static void make_good(cache_file *f) {
  put_header(f, LABEL | VALUE, 1);
  put_record(f, &two_rows);
  seal_payload(f);
  seal_header(f);
}

/* message NULL: taken */
static void check(const cache_file *f, uint64_t offset, const char *message) {
  furrow_container *rows = NULL;
  furrow_error err = {0};
  assert_true(test_write_file("rows", f->bytes, f->size));
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  const furrow_status status = furrow_container_load(rows, "rows", &err);
  if (message && (status != FURROW_E_FORMAT || err.offset != offset || !strstr(err.message, message)))
    fail_msg("%s, byte %" PRIu64 ": %s\n    not byte %" PRIu64 ": %s", furrow_status_name(status), err.offset,
             err.message, offset, message);
  if (!message && status != FURROW_OK) fail_msg("%s", err.message);
  if (message) assert_int_equal(furrow_container_load(rows, "rows", NULL), FURROW_E_FORMAT);
  furrow_container_free(rows);
}

/* ---- The header ---- */

typedef enum sealed { NOTHING, HEADER, ALL } sealed;

static void fields_of_the_header(void **state) {
  (void)state;
  static const struct {
    size_t at, width;
    uint64_t value;
    sealed sealed;
    uint64_t offset;
    const char *message;
  } lies[] = {
      {0, 1, 'f', ALL, 0, "this is not a row cache of Furrow"},
      {8, 4, 2, ALL, 8, "is of version 2"},
      {12, 4, 256, ALL, 12, "has a header of another size"},
      {80, 8, 5, NOTHING, 120, "the header of the row cache is damaged"},
      {80, 8, 5, HEADER, NOWHERE, NULL},
      {28, 4, 1, ALL, 28, "unused bytes"},
      {96, 8, 1, ALL, 28, "unused bytes"},
      {16, 1, 'x', ALL, 16, "unknown index type"},
      {20, 1, 'x', ALL, 20, "unknown value type"},
      {24, 4, 32 | LABEL | VALUE, ALL, 24, "unknown columns"},
      {40, 8, 129, HEADER, 256, "cut short: 128 of 129 bytes"},
      {40, 8, 127, HEADER, 255, "1 byte follows"},
      {32, 8, 0, ALL, 32, "has no record"},
      {32, 8, 2, ALL, 256, "ends inside a record"},
      {48, 8, 16, ALL, 48, "number of rows is wrong"},
      {48, 8, 17, ALL, 48, "more rows than the bytes can hold"},
      {56, 8, 32, ALL, 56, "number of features is wrong"},
      {56, 8, 33, ALL, 56, "more features than the bytes can hold"},
      {64, 8, 8, ALL, 64, "max_index is wrong"},
      {72, 8, 1, ALL, 72, "max_field is wrong"},
      {24, 4, LABEL | VALUE | WEIGHT, ALL, 24, "columns are wrong"},
      {AT_PAYLOAD + 104, 4, 1, HEADER, 88, "its digest is wrong"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    cache_file f;
    unsigned char bytes[8];
    make_good(&f);
    fw_put_le64(bytes, lies[i].value);
    memcpy(f.bytes + lies[i].at, bytes, lies[i].width);
    if (lies[i].sealed == ALL) seal_payload(&f);
    if (lies[i].sealed != NOTHING) seal_header(&f);
    check(&f, lies[i].offset, lies[i].message);
  }
}

static void files_that_end_early_or_late(void **state) {
  (void)state;
  cache_file f;
  make_good(&f);
  f.size = 0;
  check(&f, 0, "it is empty");
  f.size = 127;
  check(&f, 127, "it ends in its header");
  f.size = 128;
  check(&f, 128, "cut short: 0 of 128 bytes");
  make_good(&f);
  f.size -= 1; /* of the maxima */
  seal_payload(&f);
  seal_header(&f);
  check(&f, 248, "ends inside a record");
  static const record without_values = {{3, 2, 0, 0, 0, 4, 0}, {0, 2, 4}, 0, 7};
  put_header(&f, LABEL, 1);
  put_record(&f, &without_values);
  f.size -= 8; /* the maxima: the last count ends the file */
  seal_payload(&f);
  seal_header(&f);
  check(&f, f.size, "ends inside a record");
  make_good(&f);
  f.bytes[f.size++] = 0;
  seal_payload(&f);
  seal_header(&f);
  check(&f, 256, "bytes follow the last record");
}

/* ---- Records ---- */

static void vectors_of_a_record(void **state) {
  (void)state;
  static const struct {
    uint32_t columns;
    record record;
    uint64_t offset;
    const char *message;
  } lies[] = {
      {LABEL | VALUE, {{3, 2, 0, 0, 0, 4, 4}, {0, 4, 4}, 0, 7}, NOWHERE, NULL},
      {LABEL, {{3, 2, 0, 0, 0, 4, 0}, {0, 2, 4}, 0, 7}, NOWHERE, NULL},
      {0, {{3, 0, 0, 0, 0, 4, 0}, {0, 2, 4}, 0, 7}, NOWHERE, NULL},
      {31, {{3, 2, 2, 2, 4, 4, 4}, {0, 2, 4}, 0, 7}, NOWHERE, NULL},
      {LABEL | VALUE, {{0, 0, 0, 0, 0, 0, 0}, {0}, 0, 7}, 128, "a record without offsets"},
      {LABEL | VALUE, {{3, 1, 0, 0, 0, 4, 4}, {0, 2, 4}, 0, 7}, 160, "1 elements of label for 2 rows"},
      {31, {{3, 2, 1, 2, 4, 4, 4}, {0, 2, 4}, 0, 7}, 176, "1 elements of weight for 2 rows"},
      {31, {{3, 2, 2, 1, 4, 4, 4}, {0, 2, 4}, 0, 7}, 192, "1 elements of qid for 2 rows"},
      {31, {{3, 2, 2, 2, 3, 4, 4}, {0, 2, 4}, 0, 7}, 216, "3 elements of field for 4 features"},
      {31, {{3, 2, 2, 2, 4, 4, 5}, {0, 2, 4}, 0, 7}, 264, "5 elements of value for 4 features"},
      {LABEL | VALUE, {{3, 2, 2, 0, 0, 4, 4}, {0, 2, 4}, 0, 7}, 176, "a record has weight"},
      {LABEL, {{3, 2, 0, 0, 0, 4, 4}, {0, 2, 4}, 0, 7}, 224, "a record has value"},
      {VALUE, {{3, 2, 0, 0, 0, 4, 4}, {0, 2, 4}, 0, 7}, 160, "a record has label"},
      {LABEL | VALUE, {{3, 0, 0, 0, 0, 4, 4}, {0, 2, 4}, 0, 7}, 160, "a record has no label"},
      {LABEL | VALUE, {{3, 2, 0, 0, 0, 4, 4}, {1, 2, 4}, 0, 7}, 136, "the first offset of a record is not 0"},
      {LABEL | VALUE, {{3, 2, 0, 0, 0, 4, 4}, {0, 5, 4}, 0, 7}, 152, "the offsets of a record descend"},
      {LABEL | VALUE, {{3, 2, 0, 0, 0, 4, 4}, {0, 2, 3}, 0, 7}, 152, "the last offset is 3 for 4 indices"},
      {LABEL | VALUE, {{3, 2, 0, 0, 0, 4, 4}, {0, 2, 4}, 1, 7}, 248, "max_field 1 is not the largest field"},
      {LABEL | VALUE, {{3, 2, 0, 0, 0, 4, 4}, {0, 2, 4}, 0, 8}, 252, "max_index 8 is not the largest index"},
  };
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    cache_file f;
    put_header(&f, lies[i].columns, 1);
    put_record(&f, &lies[i].record);
    seal_payload(&f);
    seal_header(&f);
    check(&f, lies[i].offset, lies[i].message);
  }
}

/* Counts that the bytes behind them hold just so, and one more. */
static void counts_and_bytes(void **state) {
  (void)state;
  for (uint64_t more = 0; more < 2; more++) {
    cache_file f;
    make_good(&f);
    fw_put_le64(f.bytes + AT_PAYLOAD, 15 + more);
    seal_payload(&f);
    seal_header(&f);
    check(&f, more ? 128 : 256,
          more ? "16 elements of offset are more than the 120 bytes left" : "ends inside a record");
  }
}

/* A record without rows has no labels, though others have. */
static void a_record_without_rows(void **state) {
  (void)state;
  static const record empty = {{1, 0, 0, 0, 0, 0, 0}, {0}, 0, 0};
  cache_file f;
  put_header(&f, LABEL | VALUE, 2);
  put_record(&f, &empty);
  put_record(&f, &two_rows);
  seal_payload(&f);
  seal_header(&f);
  check(&f, NOWHERE, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_of_the_header),  cmocka_unit_test(files_that_end_early_or_late),
      cmocka_unit_test(vectors_of_a_record),   cmocka_unit_test(counts_and_bytes),
      cmocka_unit_test(a_record_without_rows),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
