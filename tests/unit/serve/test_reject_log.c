/* tests/unit/serve/test_reject_log.c: every check of a log of changes refuses its own mistake: the place and the
 * message, in a log whose checksums are right otherwise. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka_all.h"
#include "support/own_dir.h"

#include "indexes/change_log.h"

enum { D = 2, FIRST = LOG_HEADER, SECOND = 128, END = 176, SEQUENCE = 5, IDS = FIRST + 32, VECTORS = IDS + 16 };
enum { NAMES = VECTORS + 16 };

static void put(unsigned char *to, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; i++) to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; i++) value |= (uint64_t)from[i] << 8 * i;
  return value;
}

/* Two vectors with the names a and b, then an id that is removed. */
static void make_log(unsigned char log[END]) {
  static const int64_t ids[] = {0, 7};
  static const float vectors[] = {1, 2, 3, 4};
  static const char *const names[] = {"a", "b"};
  const index_change set = {CHANGE_SET, 2, ids, vectors, (const char **)names, NULL};
  const index_change removed = {CHANGE_REMOVE, 1, ids, NULL, NULL, NULL};
  furrow_error err;
  fw_buffer records = {0};
  log_write_header(log, D, SEQUENCE, 0, 9);
  assert_int_equal(log_append_record(&records, &set, D, SEQUENCE, FIRST, &err), FURROW_OK);
  assert_int_equal(log_append_record(&records, &removed, D, SEQUENCE, SECOND, &err), FURROW_OK);
  log_seal(&records, SEQUENCE, FIRST);
  assert_int_equal(records.size, END - FIRST);
  memcpy(log + FIRST, records.bytes, records.size);
  fw_buffer_clear(&records);
}

static void seal_header(unsigned char *log) {
  put(log + 40, log_checksum(log, 40, 0, 0), 8);
}

static void seal_record_header(unsigned char *log, size_t at) {
  put(log + at + 24, log_checksum(log + at, 24, SEQUENCE, at), 8);
}

/* Of the record as long as it says, where that is within the log. */
static void seal_record(unsigned char *log, size_t at) {
  const uint64_t length = get(log + at);
  seal_record_header(log, at);
  if (length >= 40 && length <= END - at)
    put(log + at + length - 8, log_checksum(log + at + 32, (size_t)length - 40, SEQUENCE, at), 8);
}

static furrow_status count_record(void *user, const index_change *change, furrow_error *err) {
  (void)err;
  *(size_t *)user += change->n;
  return FURROW_OK;
}

typedef enum sealed { NOTHING, HEADER, RECORDS, RECORD_HEADERS } sealed;

typedef struct lie {
  size_t at, width;
  uint64_t value;
  sealed sealed;
  uint64_t offset; /* of the mistake, or behind the last record that is taken */
  const char *message;
} lie;

static void read_log(const unsigned char *log, size_t size, const lie *l) {
  log_extent extent = {0};
  furrow_error err = {0};
  size_t ids = 0;
  const furrow_status status = change_log_read(log, size, D, "log", count_record, &ids, &extent, &err);
  const bool good = l->message ? status == FURROW_E_FORMAT && err.offset == l->offset && strstr(err.message, l->message)
                               : status == FURROW_OK && extent.used == l->offset;
  if (!good)
    fail_msg("byte %zu = %" PRIx64 ": %s, byte %" PRIu64 " (used %" PRIu64 "): %s", l->at, l->value,
             furrow_status_name(status), err.offset, extent.used, err.message);
}

static const char bad_name[] = "a name is empty, not UTF-8 or has a control character";
static const char bad_count[] = "a record whose count does not fit its length";
static const char impossible[] = "a record of an impossible length";
static const char damaged[] = "a record is damaged, and whole ones follow it";

static const lie lies[] = {
    {0, 1, 'X', HEADER, 0, "not a log of changes"},
    {16, 8, 9, NOTHING, 0, "the header of the log is damaged"},
    {8, 4, 2, HEADER, 8, "a version that this program does not read"},
    {12, 4, 3, HEADER, 12, "the log has vectors of 3 numbers, the index of 2"},
    {32, 8, (uint64_t)1 << 63, HEADER, END, NULL},
    {32, 8, ((uint64_t)1 << 63) + 1, HEADER, 32, "is beyond the last possible id"},
    /* headers of records */
    {SECOND + 20, 2, 7, RECORDS, SECOND + 20, "a record of an unknown kind"},
    {SECOND + 22, 2, 1, RECORDS, SECOND + 22, "a record with unknown flags"},
    {SECOND + 22, 2, 2, RECORDS, SECOND + 22, "a record with unknown flags"},
    {FIRST + 22, 2, 4, RECORDS, FIRST + 22, "a record with unknown flags"},
    {FIRST + 22, 2, 2, RECORDS, END, NULL}, /* the same texts as attributes */
    {FIRST + 22, 2, 3, RECORDS, END, NULL}, /* the zeros are rows without values */
    {FIRST + 22, 2, 0, RECORDS, FIRST + 16, bad_count},
    {SECOND + 16, 4, 0, RECORDS, SECOND + 16, bad_count},
    {SECOND + 16, 4, 2, RECORDS, SECOND + 16, bad_count},
    {FIRST + 16, 4, 3, RECORDS, FIRST + 16, bad_count},
    {FIRST, 8, 84, RECORD_HEADERS, FIRST, impossible},
    {FIRST, 8, 32, RECORD_HEADERS, FIRST, impossible},
    {FIRST, 8, 40, RECORDS, FIRST + 16, bad_count},
    {FIRST + 8, 8, FIRST - 1, RECORDS, FIRST, impossible},
    {SECOND + 8, 8, SECOND + 1, RECORDS, SECOND, impossible},
    {SECOND + 8, 8, SECOND, RECORDS, END, NULL},
    /* what was being written when the machine stopped, and what was on the disk before */
    {FIRST, 8, 1000, RECORD_HEADERS, FIRST, NULL},
    {SECOND, 8, 56, RECORD_HEADERS, SECOND, NULL},
    {VECTORS, 4, 1, NOTHING, FIRST, NULL},
    {FIRST + 16, 4, 1, NOTHING, FIRST, NULL},
    /* ids, vectors, names */
    {IDS, 8, UINT64_MAX, RECORDS, IDS, "an id is negative"},
    {VECTORS + 8, 4, 0x7f800000, RECORDS, VECTORS + 8, "a vector is not finite or too large"},
    {NAMES, 1, 0, RECORDS, NAMES, bad_name},
    {NAMES, 1, 0xff, RECORDS, NAMES, bad_name},
    {NAMES, 1, 0x1f, RECORDS, NAMES, bad_name},
    {NAMES, 1, 0x7f, RECORDS, NAMES, bad_name},
    {NAMES, 1, ' ', RECORDS, END, NULL},
    {NAMES + 3, 5, 0x7878787878, RECORDS, NAMES + 2, "a text is not terminated"},
    {NAMES + 4, 1, 'x', RECORDS, NAMES + 4, "unexpected bytes after the texts"},
};

static void fields(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
    unsigned char log[END];
    make_log(log);
    put(log + lies[i].at, lies[i].value, lies[i].width);
    if (lies[i].sealed == HEADER) seal_header(log);
    const size_t at = lies[i].at < SECOND ? FIRST : SECOND;
    if (lies[i].sealed == RECORDS) seal_record(log, at);
    if (lies[i].sealed == RECORD_HEADERS) seal_record_header(log, at);
    read_log(log, END, &lies[i]);
  }
}

/* The second record says that the first was on the disk. */
static void damage_before_a_whole_record(void **state) {
  (void)state;
  static const size_t offsets[] = {FIRST, FIRST + 16, VECTORS};
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
    const lie found = {offsets[i], 1, 0, NOTHING, FIRST, damaged};
    unsigned char log[END];
    make_log(log);
    put(log + SECOND + 8, SECOND, 8);
    seal_record(log, SECOND);
    log[offsets[i]] ^= 1;
    read_log(log, END, &found);
  }
}

/* A record that was not written to its end has bytes inside that look like one behind it. */
static void record_inside_a_record(void **state) {
  (void)state;
  static const lie unfinished = {0, 0, 0, NOTHING, FIRST, NULL};
  unsigned char log[END];
  make_log(log);
  put(log + IDS, 40, 8);
  put(log + IDS + 8, IDS, 8); /* all before it was on the disk, it says */
  seal_record_header(log, IDS);
  read_log(log, END, &unfinished);
}

/* Eight zeros more than names may have behind them. */
static void long_padding(void **state) {
  (void)state;
  static const lie padded = {0, 0, 0, NOTHING, NAMES + 4, "unexpected bytes after the texts"};
  unsigned char log[END] = {0};
  make_log(log);
  memset(log + SECOND - 8, 0, END - (SECOND - 8));
  put(log + FIRST, 88, 8);
  seal_record(log, FIRST);
  read_log(log, SECOND + 8, &padded);
}

/* Names that fill their bytes, and eight zeros behind them. */
static void short_padding(void **state) {
  (void)state;
  static const lie padded = {0, 0, 0, NOTHING, NAMES + 8, "unexpected bytes after the texts"};
  unsigned char log[END] = {0};
  make_log(log);
  memset(log + SECOND - 8, 0, END - (SECOND - 8));
  memcpy(log + NAMES, "abc\0def", 8);
  put(log + FIRST, 88, 8);
  seal_record(log, FIRST);
  read_log(log, SECOND + 8, &padded);
}

/* A record of no names at all. */
static void empty_record(void **state) {
  (void)state;
  static const lie empty = {0, 0, 0, NOTHING, FIRST + 16, bad_count};
  unsigned char log[END];
  make_log(log);
  put(log + FIRST, 40, 8);
  put(log + FIRST + 16, 0, 4);
  seal_record(log, FIRST);
  read_log(log, FIRST + 40, &empty);
}

/* The second of two logs follows the first: its number is one more, and the first is as long as the second knows it. */
static void order_of_logs(void **state) {
  (void)state;
  static const struct {
    uint64_t sequence, previous;
    furrow_status status;
  } seconds[] = {{SEQUENCE + 1, END, FURROW_OK},
                 {SEQUENCE + 1, END + 1, FURROW_E_FORMAT},
                 {SEQUENCE, END, FURROW_E_FORMAT},
                 {SEQUENCE + 2, END, FURROW_E_FORMAT}};
  for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
    unsigned char log[END], header[LOG_HEADER];
    change_log *opened = NULL;
    furrow_error err = {0};
    uint64_t cut = 0;
    size_t ids = 0;
    make_log(log);
    log_write_header(header, D, seconds[i].sequence, seconds[i].previous, 9);
    assert_true(test_write_file("items.index.log", log, sizeof log));
    assert_true(test_write_file("items.index.log.next", header, sizeof header));
    const furrow_status status = change_log_open(&opened, "items.index", D, count_record, &ids, &cut, &err);
    assert_int_equal(status, seconds[i].status);
    if (status != FURROW_OK) assert_non_null(strstr(err.message, "it follows log"));
    if (status == FURROW_OK) change_log_close(opened);
  }
}

/* A header that was not written to its end, and what only looks like one. */
static void short_files(void **state) {
  (void)state;
  static const lie unfinished = {0, 0, 0, NOTHING, 0, NULL}, other = {0, 0, 0, NOTHING, 0, "not a log of changes"};
  static const lie header = {0, 0, 0, NOTHING, LOG_HEADER, NULL};
  static const unsigned char zeros[LOG_HEADER + 8];
  unsigned char log[END];
  make_log(log);
  for (size_t size = 0; size < LOG_HEADER; size++) read_log(log, size, &unfinished);
  read_log(log, LOG_HEADER, &header);
  for (size_t size = 0; size <= sizeof zeros; size++) read_log(zeros, size, &unfinished);
  read_log((const unsigned char *)"FURROWXX", 8, &other);
  read_log((const unsigned char *)"FURROWXX and more", 17, &other);
  unsigned char *three = malloc(3); /* of its own, so that a read behind the end is seen */
  assert_non_null(three);
  read_log(memcpy(three, "FUX", 3), 3, &other);
  free(three);
  memcpy(log, zeros, LOG_HEADER);
  read_log(log, END, &other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields),
      cmocka_unit_test(damage_before_a_whole_record),
      cmocka_unit_test(record_inside_a_record),
      cmocka_unit_test(long_padding),
      cmocka_unit_test(short_padding),
      cmocka_unit_test(empty_record),
      cmocka_unit_test(order_of_logs),
      cmocka_unit_test(short_files),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
