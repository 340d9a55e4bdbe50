/* tests/unit/serve/test_change_log.c: the log of changes: what was acknowledged is read back, whatever is cut off, and
 * damage is never a change. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka_all.h"
#include "support/failing_calls.h"
#include "support/own_dir.h"

#include "indexes/change_log.h"

enum { D = 3, IDS = 64, HEADER = LOG_HEADER, FILE_MAX = 1 << 16 };
#define INDEX "items.index"
#define LOG INDEX ".log"
#define NEXT INDEX ".log.next"

/* ---- What a log says -------------------------------------------------------------------------------------- */

typedef struct state {
  float vectors[IDS][D]; /* [0] is 0 where the id is not there */
  char names[IDS][16];
  char attributes[IDS][32];
  size_t records;
} state;

static furrow_status apply(void *user, const index_change *change, furrow_error *err) {
  (void)err;
  state *s = user;
  for (size_t i = 0; i < change->n; i++) {
    const size_t id = (size_t)change->ids[i];
    assert_true(id < IDS);
    memset(s->vectors[id], 0, sizeof s->vectors[id]);
    memset(s->names[id], 0, sizeof s->names[id]);
    memset(s->attributes[id], 0, sizeof s->attributes[id]);
    if (change->kind == CHANGE_REMOVE) continue;
    memcpy(s->vectors[id], change->vectors + i * D, sizeof s->vectors[id]);
    if (change->names) snprintf(s->names[id], sizeof s->names[id], "%s", change->names[i]);
    if (change->attributes) snprintf(s->attributes[id], sizeof s->attributes[id], "%s", change->attributes[i]);
  }
  s->records++;
  return FURROW_OK;
}

static void assert_same(const state *a, const state *b) {
  assert_memory_equal(a->vectors, b->vectors, sizeof a->vectors);
  assert_memory_equal(a->names, b->names, sizeof a->names);
  assert_memory_equal(a->attributes, b->attributes, sizeof a->attributes);
}

/* Change `number` of a fixed series: one to three ids, of which every fourth goes. */
static void make_change(unsigned number, index_change *change) {
  static int64_t ids[3];
  static float vectors[3 * D];
  static char texts[3][16];
  static char rows[3][32];
  static const char *names[3], *attributes[3];
  const size_t n = 1 + number % 3;
  for (size_t i = 0; i < n; i++) {
    ids[i] = (int64_t)((number * 7 + i * 5) % 16);
    for (size_t j = 0; j < D; j++) vectors[i * D + j] = (float)(number + 1) + (float)i / 4 + (float)j / 16;
    snprintf(texts[i], sizeof texts[i], "n\xc3\xa4me %u", number * 3 + (unsigned)i);
    names[i] = texts[i];
    snprintf(rows[i], sizeof rows[i], "{\"lang\":\"\x7f%u\"}", number * (unsigned)i);
    attributes[i] = i == 1 ? "" : rows[i]; /* no values */
  }
  *change = (index_change){.kind = number % 4 == 3 ? CHANGE_REMOVE : CHANGE_SET,
                           .n = n,
                           .ids = ids,
                           .vectors = vectors,
                           .names = number % 2 ? NULL : names,
                           .attributes = number % 5 < 2 ? NULL : attributes};
  if (change->kind == CHANGE_REMOVE) change->vectors = NULL;
}

static void expect_changes(state *s, unsigned first, unsigned end) {
  for (unsigned i = first; i < end; i++) {
    index_change change;
    make_change(i, &change);
    assert_int_equal(apply(s, &change, NULL), FURROW_OK);
  }
}

/* ---- Logs ------------------------------------------------------------------------------------------------- */

static furrow_error err;

static change_log *open_log(state *s, uint64_t *cut) {
  change_log *log = NULL;
  uint64_t none;
  memset(s, 0, sizeof *s);
  const furrow_status status = change_log_open(&log, INDEX, D, apply, s, cut ? cut : &none, &err);
  if (status != FURROW_OK) print_message("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  return log;
}

static void append(change_log *log, unsigned number) {
  index_change change;
  make_change(number, &change);
  assert_int_equal(change_log_append(log, &change, &err), FURROW_OK);
}

static void append_synced(change_log *log, unsigned first, unsigned end) {
  for (unsigned i = first; i < end; i++) {
    append(log, i);
    assert_int_equal(change_log_sync(log, &err), FURROW_OK);
  }
}

static size_t read_bytes(const char *path, unsigned char data[FILE_MAX]) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  const size_t size = fread(data, 1, FILE_MAX, file);
  fclose(file);
  return size;
}

static void write_bytes(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The log with changes 0 … count-1, each synced; returns its size. */
static size_t made_log(unsigned count, unsigned char data[FILE_MAX]) {
  state s;
  unlink(LOG);
  change_log *log = open_log(&s, NULL);
  append_synced(log, 0, count);
  change_log_close(log);
  return read_bytes(LOG, data);
}

static furrow_status read_log(const void *data, size_t size, state *s, uint64_t *used) {
  log_extent extent;
  memset(s, 0, sizeof *s);
  const furrow_status status = change_log_read(data, size, D, "x", apply, s, &extent, &err);
  if (status == FURROW_OK) *used = extent.used;
  return status;
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static void test_round_trip(void **unused) {
  (void)unused;
  state wanted = {0}, s;
  uint64_t cut = 1;
  for (unsigned round = 0; round < 5; round++) { /* reopened between */
    change_log *log = open_log(&s, &cut);
    assert_int_equal(cut, 0);
    assert_int_equal(s.records, round * 4);
    assert_same(&s, &wanted);
    append(log, round * 4); /* two in one sync */
    append(log, round * 4 + 1);
    assert_int_equal(change_log_sync(log, &err), FURROW_OK);
    append_synced(log, round * 4 + 2, round * 4 + 4);
    assert_int_equal(change_log_sync(log, &err), FURROW_OK);
    expect_changes(&wanted, round * 4, round * 4 + 4);
    struct stat found;
    assert_int_equal(stat(LOG, &found), 0);
    assert_int_equal(change_log_size(log), found.st_size);
    change_log_close(log);
  }
}

static void test_every_truncation(void **unused) {
  (void)unused;
  enum { COUNT = 6 };
  static unsigned char data[FILE_MAX];
  const size_t size = made_log(COUNT, data);
  size_t ends[COUNT + 1] = {HEADER};
  for (unsigned i = 0; i < COUNT; i++) ends[i + 1] = ends[i] + data[ends[i]] + 256U * data[ends[i] + 1];
  assert_int_equal(ends[COUNT], size);
  for (size_t length = 0; length <= size; length++) {
    unsigned whole = 0;
    while (whole < COUNT && ends[whole + 1] <= length) whole++;
    state wanted = {0}, s;
    expect_changes(&wanted, 0, whole);
    for (size_t zeros = 0; zeros <= 4096; zeros += zeros < 16 ? 1 : 1360) { /* as file systems leave them */
      static unsigned char tail[FILE_MAX];
      memcpy(tail, data, length);
      memset(tail + length, 0, zeros);
      uint64_t used = 1;
      if (length > 0 && length < HEADER && zeros > 0) continue; /* no crash leaves half a header */
      assert_int_equal(read_log(tail, length + zeros, &s, &used), FURROW_OK);
      assert_int_equal(used, length < HEADER ? 0 : ends[whole]);
      assert_same(&s, &wanted);
    }
    if (length % 37 != 0 && length != ends[whole] && length + 1 != ends[whole]) continue; /* syncs take time */
    write_bytes(LOG, data, length);
    uint64_t cut = 0;
    change_log *log = open_log(&s, &cut);
    assert_same(&s, &wanted);
    assert_int_equal(cut, length - (length < HEADER ? 0 : ends[whole]));
    append_synced(log, whole, COUNT); /* and goes on */
    change_log_close(log);
    expect_changes(&wanted, whole, COUNT);
    change_log_close(open_log(&s, &cut));
    assert_int_equal(cut, 0);
    assert_same(&s, &wanted);
  }
}

static void test_every_bit(void **unused) {
  (void)unused;
  enum { COUNT = 5 };
  static unsigned char data[FILE_MAX];
  const size_t size = made_log(COUNT, data);
  size_t last = HEADER;
  for (unsigned i = 0; i + 1 < COUNT; i++) last += data[last];
  state before = {0}, s;
  expect_changes(&before, 0, COUNT - 1);
  for (size_t bit = 0; bit < 8 * size; bit++) {
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    uint64_t used = 0;
    const furrow_status status = read_log(data, size, &s, &used);
    if (bit / 8 < last) {
      assert_int_equal(status, FURROW_E_FORMAT);
      assert_true(err.offset <= bit / 8);
    } else {
      assert_int_equal(status, FURROW_OK);
      assert_int_equal(used, last);
      assert_same(&s, &before);
    }
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
}

/* The pages of one write may reach the disk in any order; nobody was told that they did. */
static void test_batch_out_of_order(void **unused) {
  (void)unused;
  static unsigned char data[FILE_MAX];
  state s, wanted = {0};
  uint64_t used = 0;
  change_log *log = open_log(&s, NULL);
  append_synced(log, 0, 1);
  const size_t begin = (size_t)change_log_size(log);
  append(log, 1);
  append(log, 2);
  assert_int_equal(change_log_sync(log, &err), FURROW_OK);
  const size_t end = (size_t)change_log_size(log);
  append_synced(log, 3, 4);
  change_log_close(log);
  const size_t size = read_bytes(LOG, data);
  memset(data + begin, 0, 16);
  expect_changes(&wanted, 0, 1);
  assert_int_equal(read_log(data, end, &s, &used), FURROW_OK);
  assert_int_equal(used, begin);
  assert_same(&s, &wanted);
  assert_int_equal(read_log(data, size, &s, &used), FURROW_E_FORMAT); /* it was on the disk before the next */
  assert_int_equal(err.offset, begin);
}

/* A record elsewhere, twice, or in another log is not one. */
static void test_moved_records(void **unused) {
  (void)unused;
  static unsigned char data[FILE_MAX], other[FILE_MAX];
  state s, wanted = {0};
  uint64_t used = 0;
  const size_t size = made_log(3, data);
  const size_t first = data[HEADER], second = data[HEADER + first];
  memcpy(other, data, size);
  memcpy(other + size, data + HEADER, first); /* the first again, at the end */
  assert_int_equal(read_log(other, size + first, &s, &used), FURROW_OK);
  assert_int_equal(used, size);
  memcpy(other, data, HEADER + first); /* without the second */
  memcpy(other + HEADER + first, data + HEADER + first + second, size - HEADER - first - second);
  assert_int_equal(read_log(other, size - second, &s, &used), FURROW_OK);
  assert_int_equal(used, HEADER + first);
  expect_changes(&wanted, 0, 1);
  assert_same(&s, &wanted);
  memcpy(other, data, size); /* of another sequence number */
  log_write_header(other, D, 2, 0, 0);
  assert_int_equal(read_log(other, size, &s, &used), FURROW_OK);
  assert_int_equal(used, HEADER);
}

/* Records whose checksums are right and whose numbers are not. */
static void test_impossible_records(void **unused) {
  (void)unused;
  static const struct {
    size_t at;
    unsigned char value;
  } cases[] = {{16, 0},   {16, 4},    {16, 255}, {19, 1},    {20, 0}, {20, 3},   {20, 2},
               {22, 4},   {22, 0},    {23, 1},   {0, 8},     {0, 1},  {15, 1},   {39, 128},
               {47, 255}, {43, 0xff}, {52, 0},   {52, 0xff}, {52, 7}, {52, 127}, {61, 1}};
  static unsigned char data[FILE_MAX];
  state s;
  uint64_t used;
  const size_t size = made_log(1, data), record = size - HEADER;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static unsigned char copy[FILE_MAX];
    memcpy(copy, data, size);
    unsigned char *at = copy + HEADER;
    at[cases[i].at] = cases[i].value;
    if (cases[i].at == 43) at[42] = 0x80; /* an infinity */
    const uint64_t payload = log_checksum(at + 32, record - 40, 1, HEADER), header = log_checksum(at, 24, 1, HEADER);
    memcpy(at + record - 8, &payload, 8);
    memcpy(at + 24, &header, 8);
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) skip();
    if (read_log(copy, size, &s, &used) != FURROW_E_FORMAT || s.records > 0) fail_msg("case %zu was taken", i);
  }
}

static void test_other_files(void **unused) {
  (void)unused;
  state s;
  uint64_t cut;
  change_log *log = NULL;
  static unsigned char data[FILE_MAX];
  static const char text[] = "a text that was put here, which is not a log of changes";
  write_bytes(LOG, text, sizeof text);
  assert_int_equal(change_log_open(&log, INDEX, D, apply, &s, &cut, &err), FURROW_E_FORMAT);
  write_bytes(LOG, text, 5);
  assert_int_equal(change_log_open(&log, INDEX, D, apply, &s, &cut, &err), FURROW_E_FORMAT);
  assert_int_equal(read_bytes(LOG, data), 5);
  made_log(1, data);
  assert_int_equal(change_log_open(&log, INDEX, D + 1, apply, &s, &cut, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, 12);
  assert_int_equal(rename(LOG, "elsewhere"), 0);
  assert_int_equal(symlink("elsewhere", LOG), 0);
  assert_int_equal(change_log_open(&log, INDEX, D, apply, &s, &cut, &err), FURROW_E_FORMAT);
  assert_int_equal(unlink(LOG), 0);
  assert_int_equal(mkfifo(LOG, 0600), 0);
  assert_int_equal(change_log_open(&log, INDEX, D, apply, &s, &cut, &err), FURROW_E_FORMAT);
  assert_int_equal(change_log_open(&log, "no/such/folder", D, apply, &s, &cut, &err), FURROW_E_IO);
}

static furrow_status refuse_third(void *user, const index_change *change, furrow_error *error) {
  (void)change;
  if (++*(unsigned *)user < 3) return FURROW_OK;
  error->status = FURROW_E_EXISTS;
  return FURROW_E_EXISTS;
}

static void test_replay_fails(void **unused) {
  (void)unused;
  static unsigned char data[FILE_MAX], after[FILE_MAX];
  change_log *log = NULL;
  unsigned calls = 0;
  uint64_t cut;
  const size_t size = made_log(5, data);
  assert_int_equal(change_log_open(&log, INDEX, D, refuse_third, &calls, &cut, &err), FURROW_E_EXISTS);
  assert_int_equal(calls, 3);
  assert_null(log);
  assert_int_equal(read_bytes(LOG, after), size);
  assert_memory_equal(data, after, size);
}

/* ---- Appending -------------------------------------------------------------------------------------------- */

static void test_what_is_refused(void **unused) {
  (void)unused;
  state s;
  const int64_t ids[] = {1, -1};
  float vectors[2 * D] = {1, 2, 3, 4, 5, NAN};
  const char *names[2] = {"a", ""};
  const char *const bad[] = {"", "tab\t", "\x7f", "\xff", "\xc3", "\xed\xa0\x80"};
  change_log *log = open_log(&s, NULL);
  index_change change = {CHANGE_SET, 2, ids, vectors, NULL, NULL};
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  change.ids = (const int64_t[]){1, 2};
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  vectors[5] = 1e30F;
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  vectors[5] = 6;
  change.names = names;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    names[1] = bad[i];
    assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  }
  change.names = NULL;
  change.attributes = names;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    names[1] = bad[i];
    if (bad[i][0] && bad[i][0] != 0x7f) assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  }
  change.n = 0;
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  change.n = SIZE_MAX / 2;
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  change = (index_change){(change_kind)3, 1, (const int64_t[]){1}, vectors, NULL, NULL};
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_ARGUMENT);
  assert_int_equal(change_log_sync(log, &err), FURROW_OK);
  assert_int_equal(change_log_size(log), HEADER);
  change_log_close(log);
}

/* A disk that is full: what was acknowledged stays, nothing more is taken, and a new start goes on. */
static void test_new_start_after_full_disk(void **unused) {
  (void)unused;
  state s, wanted = {0};
  struct rlimit limit, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = limit;
  signal(SIGXFSZ, SIG_IGN);
  change_log *log = open_log(&s, NULL);
  append_synced(log, 0, 3);
  small.rlim_cur = change_log_size(log) + 20;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  append(log, 3);
  const furrow_status status = change_log_sync(log, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  assert_int_equal(status, FURROW_E_IO);
  index_change change;
  make_change(4, &change);
  assert_int_equal(change_log_append(log, &change, &err), FURROW_E_IO);
  assert_int_equal(change_log_sync(log, &err), FURROW_E_IO);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_E_IO);
  struct stat found;
  assert_int_equal(stat(LOG, &found), 0);
  assert_int_equal(found.st_size, change_log_size(log));
  change_log_close(log);
  log = open_log(&s, NULL);
  expect_changes(&wanted, 0, 3);
  assert_same(&s, &wanted);
  append_synced(log, 4, 5);
  change_log_close(log);
  expect_changes(&wanted, 4, 5);
  change_log_close(open_log(&s, NULL));
  assert_same(&s, &wanted);
}

/* Once the disk has space, the log goes on without a new start; and not before, also where a short record would fit. */
static void test_full_disk_is_over(void **unused) {
  (void)unused;
  enum { MANY = 40000 };
  static int64_t ids[MANY];
  static float vectors[MANY * D];
  state s, wanted = {0};
  struct rlimit limit, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = limit;
  signal(SIGXFSZ, SIG_IGN);
  for (int has_second = 0; has_second < 2; has_second++) {
    unlink(LOG);
    change_log *log = open_log(&s, NULL);
    append_synced(log, 0, 3);
    if (has_second) assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
    append_synced(log, 3, 4);
    const uint64_t size = change_log_size(log), next_id = change_log_next_id(log);
    assert_int_equal(change_log_repair(log, &err), FURROW_OK); /* of a log that has not failed */
    assert_false(change_log_has_failed(log));
    for (int64_t i = 0; i < MANY; i++) ids[i] = 1 + i;
    const index_change many = {CHANGE_SET, MANY, ids, vectors, NULL, NULL};
    assert_int_equal(change_log_append(log, &many, &err), FURROW_OK);
    small.rlim_cur = size + 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(change_log_sync(log, &err), FURROW_E_IO);
    assert_true(change_log_has_failed(log));
    for (int i = 0; i < 3; i++) {
      assert_int_equal(change_log_repair(log, &err), FURROW_E_IO);
      assert_non_null(strstr(err.message, "large")); /* EFBIG: what is wrong with the disk */
      assert_true(change_log_has_failed(log));
      index_change change;
      make_change(4, &change);
      assert_int_equal(change_log_append(log, &change, &err), FURROW_E_IO);
      small.rlim_cur += 100000; /* not enough for what could not be written */
      assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(change_log_repair(log, &err), FURROW_OK);
    assert_false(change_log_has_failed(log));
    assert_int_equal(change_log_has_begun(log), has_second);
    assert_int_equal(change_log_size(log), size);
    assert_int_equal(change_log_next_id(log), next_id); /* ids that were not acknowledged are free */
    append_synced(log, 5, 8);
    if (has_second) assert_int_equal(change_log_cancel_checkpoint(log, &err), FURROW_OK);
    append_synced(log, 8, 9);
    change_log_close(log);
    memset(&wanted, 0, sizeof wanted);
    expect_changes(&wanted, 0, 4);
    expect_changes(&wanted, 5, 9);
    change_log_close(open_log(&s, NULL));
    assert_same(&s, &wanted);
  }
}

/* Records in a file that a later start does not find are not acknowledged. */
static void test_removed_file(void **unused) {
  (void)unused;
  state s;
  for (int replaced = 0; replaced < 2; replaced++) {
    unlink(LOG);
    change_log *log = open_log(&s, NULL);
    append_synced(log, 0, 2);
    assert_int_equal(unlink(LOG), 0);
    if (replaced) write_bytes(LOG, "", 0);
    index_change change = {CHANGE_REMOVE, 1, (const int64_t[]){1}, NULL, NULL, NULL};
    assert_int_equal(change_log_append(log, &change, &err), FURROW_OK);
    assert_int_equal(change_log_sync(log, &err), FURROW_E_IO);
    assert_non_null(strstr(err.message, "removed or replaced"));
    assert_int_equal(change_log_append(log, &change, &err), FURROW_E_IO);
    assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_E_IO);
    change_log_close(log);
  }
  unlink(LOG);
}

static void test_modes(void **unused) {
  (void)unused;
  state s;
  struct stat found;
  const mode_t before = umask(022);
  static const mode_t wanted[][2] = {{0600, 0600}, {0640, 0640}, {0666, 0644}, {0444, 0644}, {0400, 0600}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    unlink(INDEX);
    unlink(LOG);
    write_bytes(INDEX, "", 0);
    assert_int_equal(chmod(INDEX, wanted[i][0]), 0);
    change_log *log = open_log(&s, NULL);
    assert_int_equal(stat(LOG, &found), 0);
    assert_int_equal(found.st_mode & 0777, wanted[i][1]);
    assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
    assert_int_equal(stat(NEXT, &found), 0);
    assert_int_equal(found.st_mode & 0777, wanted[i][1]);
    change_log_close(log);
    unlink(NEXT);
  }
  umask(before);
}

/* ---- The lock --------------------------------------------------------------------------------------------- */

static void test_lock(void **unused) {
  (void)unused;
  state s;
  uint64_t cut;
  change_log *log = open_log(&s, NULL), *second = NULL;
  assert_int_equal(change_log_open(&second, INDEX, D, apply, &s, &cut, &err), FURROW_E_STATE);
  change_log_close(log);
  int told[2];
  assert_int_equal(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (change_log_open(&log, INDEX, D, apply, &s, &cut, &err) != FURROW_OK ||
        change_log_begin_checkpoint(log, &err) != FURROW_OK || change_log_end_checkpoint(log, &err) != FURROW_OK)
      _exit(1);
    if (write(told[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(1);
  }
  char byte, number[32];
  close(told[1]);
  assert_int_equal(read(told[0], &byte, 1), 1);
  close(told[0]);
  snprintf(number, sizeof number, "process %ld ", (long)child);
  assert_int_equal(change_log_open(&second, INDEX, D, apply, &s, &cut, &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, number));
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  change_log_close(open_log(&s, NULL));
}

/* ---- Checkpoints ------------------------------------------------------------------------------------------ */

/* The files as a crash would leave them now. */
typedef struct files {
  unsigned char first[FILE_MAX], second[FILE_MAX];
  size_t first_size, second_size;
  bool has_second;
} files;

static void copy_files(files *f) {
  f->first_size = read_bytes(LOG, f->first);
  f->has_second = access(NEXT, F_OK) == 0;
  f->second_size = read_bytes(NEXT, f->second);
}

static void put_files(const files *f) {
  unlink(LOG);
  unlink(NEXT);
  write_bytes(LOG, f->first, f->first_size);
  if (f->has_second) write_bytes(NEXT, f->second, f->second_size);
}

/* Opens such files; the changes up to `end` must be there, over a base that has those up to `base`. */
static void assert_replays(const files *f, unsigned base, unsigned end) {
  state s, wanted = {0};
  put_files(f);
  expect_changes(&wanted, 0, end);
  for (unsigned opened = 0; opened < 2; opened++) { /* the second time everything is in the first log */
    change_log *log = NULL;
    uint64_t cut = 0;
    memset(&s, 0, sizeof s);
    expect_changes(&s, 0, base);
    assert_int_equal(change_log_open(&log, INDEX, D, apply, &s, &cut, &err), FURROW_OK);
    assert_int_equal(cut, 0);
    assert_same(&s, &wanted);
    assert_int_not_equal(access(NEXT, F_OK), 0);
    change_log_close(log);
  }
}

static void test_checkpoint_states(void **unused) {
  (void)unused;
  static files begun, changed, ended, more;
  state s, wanted = {0};
  change_log *log = open_log(&s, NULL);
  append_synced(log, 0, 5);
  append(log, 5); /* not synced yet */
  assert_int_equal(change_log_end_checkpoint(log, &err), FURROW_E_STATE);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  copy_files(&begun);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_E_STATE);
  append_synced(log, 6, 9);
  copy_files(&changed);
  assert_int_equal(change_log_size(log), changed.first_size + changed.second_size);
  append(log, 9); /* pending while the logs are exchanged */
  assert_int_equal(change_log_end_checkpoint(log, &err), FURROW_OK);
  copy_files(&ended);
  assert_false(ended.has_second);
  append_synced(log, 10, 12);
  copy_files(&more);
  change_log_close(log);
  for (unsigned base = 0; base <= 6; base += 6) { /* the old index file, and the new one */
    assert_replays(&begun, base, 6);
    assert_replays(&changed, base, 9);
  }
  assert_replays(&ended, 6, 9);
  assert_replays(&more, 6, 12);
  /* A second log whose header was never whole. */
  files half = begun;
  for (half.second_size = 0; half.second_size < HEADER; half.second_size++) {
    put_files(&half);
    change_log_close(open_log(&s, NULL));
    memset(&wanted, 0, sizeof wanted);
    expect_changes(&wanted, 0, 6);
    assert_same(&s, &wanted);
    assert_int_not_equal(access(NEXT, F_OK), 0);
  }
}

static uint64_t next_id_of(const files *f) {
  state s;
  put_files(f);
  change_log *log = open_log(&s, NULL);
  const uint64_t next_id = change_log_next_id(log);
  change_log_close(log);
  return next_id;
}

static void change_id(change_log *log, change_kind kind, int64_t id) {
  const float vector[D] = {1};
  const index_change change = {kind, 1, &id, kind == CHANGE_SET ? vector : NULL, NULL, NULL};
  assert_int_equal(change_log_append(log, &change, &err), FURROW_OK);
  assert_int_equal(change_log_sync(log, &err), FURROW_OK);
}

/* The largest id is known in all states of a checkpoint, though its vector is gone. */
static void test_next_id(void **unused) {
  (void)unused;
  static files at[6];
  state s;
  change_log *log = open_log(&s, NULL);
  assert_int_equal(change_log_next_id(log), 0);
  change_id(log, CHANGE_SET, 7);
  change_id(log, CHANGE_REMOVE, 41);
  copy_files(&at[0]);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  copy_files(&at[1]);
  change_id(log, CHANGE_SET, 3);
  assert_int_equal(change_log_cancel_checkpoint(log, &err), FURROW_OK);
  copy_files(&at[2]);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  change_id(log, CHANGE_SET, 5);
  copy_files(&at[3]);
  assert_int_equal(change_log_end_checkpoint(log, &err), FURROW_OK);
  copy_files(&at[4]);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  assert_int_equal(change_log_end_checkpoint(log, &err), FURROW_OK);
  copy_files(&at[5]);
  assert_int_equal(at[5].first_size, HEADER);
  change_log_close(log);
  for (size_t i = 0; i < 6; i++) assert_int_equal(next_id_of(&at[i]), 42);
}

static furrow_status ignore_change(void *user, const index_change *change, furrow_error *error) {
  (void)user, (void)change, (void)error;
  return FURROW_OK;
}

static void test_last_id(void **unused) {
  (void)unused;
  const int64_t last = INT64_MAX;
  const index_change change = {CHANGE_REMOVE, 1, &last, NULL, NULL, NULL};
  unsigned char header[HEADER];
  change_log *log = NULL;
  uint64_t cut;
  log_extent extent;
  assert_int_equal(change_log_open(&log, INDEX, D, ignore_change, NULL, &cut, &err), FURROW_OK);
  assert_int_equal(change_log_append(log, &change, &err), FURROW_OK);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  assert_int_equal(change_log_end_checkpoint(log, &err), FURROW_OK);
  change_log_close(log);
  assert_int_equal(change_log_open(&log, INDEX, D, ignore_change, NULL, &cut, &err), FURROW_OK);
  assert_int_equal(change_log_next_id(log), 0); /* it does not count */
  const int64_t largest = (int64_t)LOG_IDS_END - 1;
  const index_change second = {CHANGE_REMOVE, 1, &largest, NULL, NULL, NULL};
  assert_int_equal(change_log_append(log, &second, &err), FURROW_OK);
  assert_true(change_log_next_id(log) == LOG_IDS_END);
  change_log_close(log);
  log_write_header(header, D, 1, 0, ((uint64_t)1 << 63) + 1);
  assert_int_equal(change_log_read(header, HEADER, D, "x", ignore_change, NULL, &extent, &err), FURROW_E_FORMAT);
  assert_int_equal(err.offset, 32);
}

/* A start that is cut off while it appends the second log to the first. */
static void test_fold_is_cut_off(void **unused) {
  (void)unused;
  static files changed, folded, cut_off;
  state s;
  change_log *log = open_log(&s, NULL);
  append_synced(log, 0, 4);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  append_synced(log, 4, 8);
  copy_files(&changed);
  change_log_close(log);
  change_log_close(open_log(&s, NULL));
  copy_files(&folded);
  assert_false(folded.has_second);
  cut_off = changed;
  memcpy(cut_off.first, folded.first, folded.first_size);
  for (size_t size = changed.first_size; size <= folded.first_size; size += 5) {
    state wanted = {0};
    cut_off.first_size = size;
    put_files(&cut_off);
    expect_changes(&wanted, 0, 8);
    change_log_close(open_log(&s, NULL));
    assert_same(&s, &wanted);
  }
  /* But what the first log had before the checkpoint began was on the disk. */
  uint64_t cut;
  for (size_t size = 0; size < changed.first_size; size += 3) {
    cut_off.first_size = size;
    put_files(&cut_off);
    assert_int_equal(change_log_open(&log, INDEX, D, apply, &s, &cut, &err), FURROW_E_FORMAT);
  }
}

static void test_cancelled_checkpoint(void **unused) {
  (void)unused;
  static files cancelled;
  state s;
  change_log *log = open_log(&s, NULL);
  assert_int_equal(change_log_cancel_checkpoint(log, &err), FURROW_E_STATE);
  append_synced(log, 0, 3);
  for (unsigned i = 3; i < 12; i += 3) {
    assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
    append_synced(log, i, i + 1);
    append(log, i + 1);
    assert_int_equal(change_log_cancel_checkpoint(log, &err), FURROW_OK);
    copy_files(&cancelled);
    assert_false(cancelled.has_second);
    append_synced(log, i + 2, i + 3);
  }
  copy_files(&cancelled);
  change_log_close(log);
  assert_replays(&cancelled, 0, 12);
}

/* Without space for a second log the first goes on. */
static void test_checkpoint_without_second(void **unused) {
  (void)unused;
  static files now;
  state s;
  change_log *log = open_log(&s, NULL);
  append_synced(log, 0, 2);
  append(log, 2);
  assert_int_equal(mkdir(NEXT, 0700), 0);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_E_IO);
  assert_int_equal(rmdir(NEXT), 0);
  append_synced(log, 3, 5);
  copy_files(&now);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  change_log_close(log);
  assert_replays(&now, 0, 5);
}

/* ---- Calls that fail --------------------------------------------------------------------------------------- */

/* Half of it is written before the disk is full. */
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  static ssize_t (*next)(int, const void *, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  if (!call_fails_now(ENOSPC)) return next(fd, data, size, offset);
  (void)!next(fd, data, size / 2, offset);
  errno = ENOSPC;
  return -1;
}

#define FAILING(name, parameters, arguments, types)          \
  int name parameters {                                      \
    static int(*next) types;                                 \
    if (!next) next = (int(*) types)dlsym(RTLD_NEXT, #name); \
    return call_fails_now(EIO) ? -1 : next arguments;        \
  }
FAILING(fdatasync, (int fd), (fd), (int))
FAILING(fsync, (int fd), (fd), (int))
FAILING(ftruncate, (int fd, off_t size), (fd, size), (int, off_t))
FAILING(rename, (const char *from, const char *to), (from, to), (const char *, const char *))
FAILING(unlink, (const char *path), (path), (const char *))

/* A server with its index file: what it has acknowledged, what the file has. */
typedef struct service {
  change_log *log;
  state acknowledged, begun, file;
  int uncertain; /* the change whose sync failed; -1: none */
  bool repairs;  /* it goes on after a failure */
  bool is_opened;
} service;

static bool is_taken(service *s, unsigned number) {
  index_change change;
  make_change(number, &change);
  if (change_log_append(s->log, &change, &err) != FURROW_OK) return false;
  if (change_log_sync(s->log, &err) == FURROW_OK)
    expect_changes(&s->acknowledged, number, number + 1);
  else if (s->uncertain < 0)
    s->uncertain = (int)number;
  return !change_log_has_failed(s->log);
}

static void serve_change(service *s, unsigned number) {
  if (is_taken(s, number) || !s->repairs) return;
  s->uncertain = -1;
  assert_int_equal(change_log_repair(s->log, &err), FURROW_OK);
  assert_true(is_taken(s, number));
}

static void serve_checkpoint(service *s, unsigned number, bool is_cancelled) {
  furrow_status (*const finish)(change_log *, furrow_error *) =
      is_cancelled ? change_log_cancel_checkpoint : change_log_end_checkpoint;
  if (change_log_begin_checkpoint(s->log, &err) != FURROW_OK) {
    serve_change(s, number);
    return;
  }
  s->begun = s->acknowledged;
  serve_change(s, number);
  if (!is_cancelled) s->file = s->begun;
  if (finish(s->log, &err) == FURROW_OK) return;
  if (s->repairs) assert_int_equal(change_log_repair(s->log, &err), FURROW_OK);
  if (change_log_has_begun(s->log)) (void)!finish(s->log, &err);
}

static void serve(service *s) {
  static state replayed;
  uint64_t cut;
  replayed = s->file;
  if (change_log_open(&s->log, INDEX, D, apply, &replayed, &cut, &err) != FURROW_OK) return;
  s->is_opened = true;
  assert_same(&replayed, &s->acknowledged);
  for (unsigned i = 10; i < 13; i++) serve_change(s, i);
  serve_checkpoint(s, 13, false);
  serve_change(s, 14);
  serve_checkpoint(s, 15, true);
  serve_change(s, 16);
  change_log_close(s->log);
}

/* Whichever call fails, whatever was acknowledged is there after the next start, and nothing else but the change whose
 * sync failed; where the log is repaired, all is there. The files begin as a checkpoint that was cut off left them. */
static void fail_every_call(bool repairs) {
  static files begin;
  static service s;
  state with, replayed;
  uint64_t cut;
  change_log *log = open_log(&replayed, NULL);
  append_synced(log, 0, 4);
  assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
  append_synced(log, 4, 6);
  copy_files(&begin);
  change_log_close(log);
  const size_t descriptors = open_descriptors();
  bool is_over = false;
  for (long n = 1; !is_over; n++) {
    memset(&s, 0, sizeof s);
    s.uncertain = -1;
    s.repairs = repairs;
    expect_changes(&s.acknowledged, 0, 6);
    put_files(&begin);
    call_fail_at(n);
    serve(&s);
    is_over = !atomic_load(&call_failed);
    call_fail_at(0);
    assert_int_equal(open_descriptors(), descriptors);
    with = s.acknowledged;
    if (s.uncertain >= 0) expect_changes(&with, (unsigned)s.uncertain, (unsigned)s.uncertain + 1);
    replayed = s.file;
    assert_int_equal(change_log_open(&log, INDEX, D, apply, &replayed, &cut, &err), FURROW_OK);
    change_log_close(log);
    const bool has_it = memcmp(replayed.vectors, with.vectors, sizeof with.vectors) == 0;
    assert_same(&replayed, has_it ? &with : &s.acknowledged);
    if (repairs && s.is_opened) {
      assert_int_equal(s.uncertain, -1);
      expect_changes(&with, 10, 17); /* once more, which changes nothing */
      assert_same(&replayed, &with);
    }
    assert_true(n < 1000);
  }
  expect_changes(&replayed, 10, 17); /* and in the end none failed */
  assert_same(&replayed, &s.acknowledged);
}

static void test_every_call_fails(void **unused) {
  (void)unused;
  fail_every_call(false);
}

static void test_every_call_is_repaired(void **unused) {
  (void)unused;
  fail_every_call(true);
}

/* ---- Threads ---------------------------------------------------------------------------------------------- */

typedef struct appender {
  change_log *log;
  int64_t id;
  unsigned count;
} appender;

static void *append_many(void *user) {
  const appender *a = user;
  furrow_error error;
  for (unsigned i = 1; i <= a->count; i++) {
    const float vector[D] = {(float)i, (float)a->id, 1};
    const index_change change = {CHANGE_SET, 1, &a->id, vector, NULL, NULL};
    if (change_log_append(a->log, &change, &error) != FURROW_OK) return NULL;
    if (change_log_sync(a->log, &error) != FURROW_OK) return NULL;
  }
  return user;
}

static void test_threads(void **unused) {
  (void)unused;
  enum { THREADS = 4, COUNT = 25 };
  state s;
  pthread_t threads[THREADS];
  appender appenders[THREADS];
  change_log *log = open_log(&s, NULL);
  for (int i = 0; i < THREADS; i++) {
    appenders[i] = (appender){log, i, COUNT};
    assert_int_equal(pthread_create(&threads[i], NULL, append_many, &appenders[i]), 0);
  }
  for (int i = 0; i < 10; i++) {
    assert_int_equal(change_log_begin_checkpoint(log, &err), FURROW_OK);
    assert_true(change_log_size(log) > 0);
    assert_int_equal(change_log_cancel_checkpoint(log, &err), FURROW_OK);
  }
  for (int i = 0; i < THREADS; i++) {
    void *done = NULL;
    assert_int_equal(pthread_join(threads[i], &done), 0);
    assert_non_null(done);
  }
  change_log_close(log);
  change_log_close(open_log(&s, NULL));
  assert_int_equal(s.records, THREADS * COUNT);
  for (int i = 0; i < THREADS; i++) assert_true(s.vectors[i][0] == COUNT);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(test_round_trip),
      IN_DIR(test_every_truncation),
      IN_DIR(test_every_bit),
      IN_DIR(test_batch_out_of_order),
      IN_DIR(test_moved_records),
      IN_DIR(test_impossible_records),
      IN_DIR(test_other_files),
      IN_DIR(test_replay_fails),
      IN_DIR(test_what_is_refused),
      IN_DIR(test_new_start_after_full_disk),
      IN_DIR(test_full_disk_is_over),
      IN_DIR(test_removed_file),
      IN_DIR(test_modes),
      IN_DIR(test_lock),
      IN_DIR(test_checkpoint_states),
      IN_DIR(test_next_id),
      IN_DIR(test_last_id),
      IN_DIR(test_fold_is_cut_off),
      IN_DIR(test_cancelled_checkpoint),
      IN_DIR(test_checkpoint_without_second),
      IN_DIR(test_every_call_fails),
      IN_DIR(test_every_call_is_repaired),
      IN_DIR(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
