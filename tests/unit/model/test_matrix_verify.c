/* tests/unit/model/test_matrix_verify.c: what verify finds in folders that are right, odd or broken. */
#include "support/cmocka_all.h"
#include "support/model_params.h"

#include <dirent.h>

#include "furrow/model.h"
#include "support/golden_set.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

/* ---- What was found ---- */

typedef struct noted {
  bool fatal;
  int32_t part_id;
  uint64_t offset;
  furrow_status status;
  char file[64], message[256]; /* file: its name */
} noted;

typedef struct notes {
  noted items[256];
  size_t count;
} notes;

static void note(void *user, const furrow_matrix_finding *finding) {
  notes *n = user;
  if (n->count == 256) return;
  noted *item = &n->items[n->count++];
  memset(item, 0, sizeof *item);
  const char *slash = strrchr(finding->file, '/');
  item->fatal = finding->fatal;
  item->part_id = finding->part_id;
  item->offset = finding->offset;
  item->status = finding->status;
  snprintf(item->file, sizeof item->file, "%s", slash ? slash + 1 : finding->file);
  snprintf(item->message, sizeof item->message, "%s", finding->message);
}

static furrow_status verify(const char *folder, unsigned threads, notes *found, furrow_error *err) {
  memset(found, 0, sizeof *found);
  return furrow_matrix_verify(folder, VERIFY(NULL, threads, note, found), err);
}

/* The findings are the same for any number of threads. */
static furrow_status verify_all(const char *folder, notes *found) {
  static notes other;
  furrow_error err = {.status = FURROW_OK};
  const furrow_status status = verify(folder, 1, found, &err);
  for (unsigned threads = 0; threads < 6; threads += 2) {
    assert_int_equal(verify(folder, threads, &other, NULL), status);
    assert_int_equal(other.count, found->count);
    assert_memory_equal(other.items, found->items, sizeof other.items);
  }
  if (status != FURROW_OK) assert_int_equal(err.status, status);
  return status;
}

static void print_all(const notes *found) {
  for (size_t i = 0; i < found->count; i++) {
    const noted *n = &found->items[i];
    print_message("%s, partition %d, %s byte %lld: %s\n", n->fatal ? "fatal" : "remark", (int)n->part_id, n->file,
                  (long long)n->offset, n->message);
  }
}

static void expect_clean(const char *folder) {
  static notes found;
  const furrow_status status = verify_all(folder, &found);
  print_all(&found);
  assert_int_equal(status, FURROW_OK);
  assert_int_equal(found.count, 0);
}

/* One of the findings is this one. */
static void expect_finding(const char *folder, bool fatal, int32_t part_id, const char *file, uint64_t offset,
                           const char *words) {
  static notes found;
  const furrow_status status = verify_all(folder, &found);
  assert_true(!fatal || status != FURROW_OK);
  for (size_t i = 0; i < found.count; i++) {
    const noted *n = &found.items[i];
    if (n->fatal == fatal && n->part_id == part_id && strcmp(n->file, file) == 0 && n->offset == offset &&
        strstr(n->message, words))
      return;
  }
  print_all(&found);
  fail_msg("not found: %s, partition %d, %s byte %lld: %s", fatal ? "fatal" : "remark", (int)part_id, file,
           (long long)offset, words);
}

#define NONE FURROW_NO_OFFSET

/* ---- Folders that are right ---- */

static bool some(int32_t row, int64_t col) {
  return (row * 3 + col) % 4 != 1;
}

static void what_is_right(void **state) {
  (void)state;
  static const char *const formats[] = {"ValueBinary", "ColIdValueBinary", "RowIdColIdValueBinary", "BinaryColumn",
                                        "ValueText",   "ColIdValueText",   "RowIdColIdValueText",   "TextColumn"};
  char folder[64];
  for (size_t f = 0; f < 8; f++) {
    made m = {.format = formats[f], .row_type = 7, .rows = 5, .cols = 83, .block_rows = 2, .block_cols = 20};
    snprintf(folder, sizeof folder, "dense%zu", f);
    made_save(folder, &m);
    expect_clean(folder);
    const bool values = strncmp(formats[f], "Value", 5) == 0;
    m.row_type = 10;
    if (!values) m.present = some;
    snprintf(folder, sizeof folder, "sparse%zu", f);
    made_save(folder, &m);
    expect_clean(folder);
    if (values) continue;
    m.hash_parts = 3;
    m.block_rows = 0;
    m.block_cols = 0;
    snprintf(folder, sizeof folder, "hash%zu", f);
    made_save(folder, &m);
    expect_clean(folder);
  }
}

/* ---- Files ---- */

/* Text of two rows, five partitions of four columns, two in a file: 0: 0 1, 2: 2, 3: 3 4. */
static const made text = {
    .format = "ColIdValueText", .row_type = 7, .rows = 2, .cols = 20, .block_cols = 4, .parts_per_file = 2};
static const made binary = {
    .format = "RowIdColIdValueBinary", .row_type = 7, .rows = 2, .cols = 20, .block_cols = 4, .parts_per_file = 2};

/* Where partition i of a folder lies. */
static furrow_partition_meta place_of(const char *folder, size_t i, char file[16]) {
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  made_check(furrow_matrix_meta_load(&meta, folder, NULL, &err), &err);
  assert_true(i < meta->part_count);
  furrow_partition_meta part = meta->parts[i];
  snprintf(file, 16, "%s", part.file_name);
  furrow_matrix_meta_free(meta);
  return part;
}

static void resize(const char *folder, const char *file, long change) {
  char path[TEST_PATH];
  size_t size;
  free(made_read(folder, file, &size));
  assert_int_equal(truncate(test_path(path, folder, file), (long)size + change), 0);
}

static void missing_file(void **state) {
  (void)state;
  made_save("m", &text);
  char file[16], path[TEST_PATH];
  place_of("m", 1, file);
  assert_int_equal(unlink(test_path(path, "m", file)), 0);
  expect_finding("m", true, 0, file, NONE, "no such file");
}

/* Something else is where the file should be. */
static void no_regular_file(void **state) {
  (void)state;
  made_save("m", &text);
  char file[16], path[TEST_PATH];
  place_of("m", 1, file);
  assert_int_equal(unlink(test_path(path, "m", file)), 0);
  assert_int_equal(mkdir(path, 0777), 0);
  expect_finding("m", true, 0, file, NONE, "the file is not a regular file; 2 partitions are in it");
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(mkfifo(path, 0666), 0);
  expect_finding("m", true, 0, file, NONE, "the file is not a regular file; 2 partitions are in it");
}

static void cut_and_extended(void **state) {
  (void)state;
  char file[16];
  made_save("cut", &text);
  furrow_partition_meta last = place_of("cut", 4, file);
  resize("cut", file, -1);
  expect_finding("cut", true, 4, file, (uint64_t)(last.offset + last.length - 1), "the file ends here");
  made_save("more", &text);
  last = place_of("more", 4, file);
  resize("more", file, 3);
  expect_finding("more", true, 4, file, (uint64_t)(last.offset + last.length), "3 bytes after");
  expect_finding("more", true, 4, file, (uint64_t)(last.offset + last.length), "belong to no partition");
}

static void overlap_and_gap(void **state) {
  (void)state;
  char file[16], from[64], to[64];
  made_save("m", &binary);
  const furrow_partition_meta second = place_of("m", 1, file);
  assert_true(second.offset > 0);
  snprintf(from, sizeof from, "\"fileName\":\"%s\",\"offset\":%lld", file, (long long)second.offset);
  snprintf(to, sizeof to, "\"fileName\":\"%s\",\"offset\":%lld", file, (long long)second.offset - 12);
  made_edit_meta("m", from, to, 0);
  expect_finding("m", true, 1, file, (uint64_t)second.offset - 12, "overlaps partition 0");
  expect_finding("m", true, 1, file, (uint64_t)(second.offset + second.length) - 12, "12 bytes after");
  made_edit_meta("m", to, from, 0);
  expect_clean("m");
  snprintf(to, sizeof to, "\"fileName\":\"%s\",\"offset\":%lld", file, (long long)second.offset + 12);
  made_edit_meta("m", from, to, 0);
  expect_finding("m", true, 1, file, (uint64_t)second.offset, "12 bytes before");
}

/* Two partitions in one place, one within another, one without bytes, and one that begins behind the file. */
static void odd_offsets(void **state) {
  (void)state;
  char file[16];
  made_save("m", &binary);
  const furrow_partition_meta first = place_of("m", 0, file), second = place_of("m", 1, file);
  char from[128], to[128];
  snprintf(from, sizeof from, "\"offset\":%lld,\"length\":%lld", (long long)second.offset, (long long)second.length);
  snprintf(to, sizeof to, "\"offset\":0,\"length\":%lld", (long long)first.length);
  made_edit_meta("m", from, to, 0);
  expect_finding("m", true, 1, file, 0, "the partition overlaps partition 0, which ends at byte 96");
  made_edit_meta("m", to, "\"offset\":24,\"length\":12", 1);
  expect_finding("m", true, 1, file, 24, "the partition overlaps partition 0, which ends at byte 96");
  made_edit_meta("m", "\"offset\":24,\"length\":12", "\"offset\":24,\"length\":0", 0);
  static notes found;
  assert_int_not_equal(verify_all("m", &found), FURROW_OK);
  for (size_t i = 0; i < found.count; i++) assert_null(strstr(found.items[i].message, "overlaps"));
  made_edit_meta("m", "\"offset\":24,\"length\":0", "\"offset\":500,\"length\":0", 0);
  expect_finding("m", true, 1, file, 192, "the file ends here, but the partition has bytes 500 to 500");
  assert_int_equal(symlink("nowhere", "m/link"), 0); /* is not looked at */
  expect_finding("m", true, 1, file, 192, "the file ends here");
}

static void names_of_files(void **state) {
  (void)state;
  made_save("m", &text);
  char file[16], from[32];
  const furrow_partition_meta last = place_of("m", 4, file);
  assert_int_equal(chdir("m"), 0);
  assert_int_equal(rename(file, "77"), 0);
  assert_true(test_write_text("5", "?"));
  assert_int_equal(chdir(".."), 0);
  snprintf(from, sizeof from, "\"fileName\":\"%s\"", file);
  made_edit_meta("m", from, "\"fileName\":\"77\"", 0);
  made_edit_meta("m", from, "\"fileName\":\"77\"", 0);
  expect_finding("m", false, (int32_t)atoi(file), "77", NONE, "lowest partition");
  expect_finding("m", false, -1, "5", NONE, "has no partition");
  (void)last;
}

/* ---- The layout ---- */

static void holes_and_overlaps_of_the_grid(void **state) {
  (void)state;
  made_save("m", &binary);
  made_edit_meta("m", "\"startCol\":8,\"endCol\":12", "\"startCol\":8,\"endCol\":13", 0);
  expect_finding("m", true, 3, "_meta", NONE, "overlap partition 2");
  expect_finding("m", false, 2, "_meta", NONE, "not a block of 2 by 4");
  made_edit_meta("m", "\"endCol\":13", "\"endCol\":12", 0);
  expect_clean("m");
  made_edit_meta("m", "\"startCol\":16,\"endCol\":20", "\"startCol\":16,\"endCol\":21", 0);
  expect_finding("m", true, 4, "_meta", NONE, "not within the columns of the matrix");
  made_edit_meta("m", "\"endCol\":21", "\"endCol\":20", 0);
  made_edit_meta("m", "\"blockCol\":4", "\"blockCol\":5", 0);
  expect_finding("m", false, 0, "_meta", NONE, "not a block of 2 by 5");
}

static void lost_partition(void **state) {
  (void)state;
  made_save("m", &binary);
  size_t size;
  char *bytes = made_read("m", "_meta", &size), json[8192] = "";
  char *begin = strstr(bytes + 4, "\"2\":{\"partId\":2"), *end = strstr(bytes + 4, "\"3\":{\"partId\":3");
  assert_non_null(begin);
  assert_non_null(end);
  strncat(json, bytes + 4, (size_t)(begin - bytes - 4));
  strcat(json, end);
  made_write_meta("m", json);
  free(bytes);
  expect_finding("m", true, 3, "_meta", NONE, "no partition has columns 8 to 12");
}

static void lists_of_rows(void **state) {
  (void)state;
  made_save("m", &binary);
  /* row 1 of the first partition becomes row 2 of a matrix of three */
  made_edit_meta("m", "\"row\":2", "\"row\":3", 0);
  for (int i = 0; i < 5; i++) made_edit_meta("m", "\"endRow\":2", "\"endRow\":3", 0);
  made_edit_meta("m", "\"blockRow\":2", "\"blockRow\":3", 0);
  expect_clean("m");
  made_edit_meta("m", "\"1\":{\"rowId\":1", "\"2\":{\"rowId\":2", 2);
  expect_finding("m", true, 2, "_meta", NONE, "row 1 is not in it, but in partition 1");
}

/* The lists of rows of neighbours: the same in another order is right; one more row is not. */
static void rows_of_neighbours(void **state) {
  (void)state;
  static const char row0[] = "\"0\":{\"rowId\":0,\"offset\":0,\"elementNum\":4,\"saveType\":0}",
                    row1[] = "\"1\":{\"rowId\":1,\"offset\":0,\"elementNum\":4,\"saveType\":0}";
  char both[256], swapped[256];
  made_save("m", &binary);
  snprintf(both, sizeof both, "%s,%s", row0, row1);
  snprintf(swapped, sizeof swapped, "%s,%s", row1, row0);
  made_edit_meta("m", both, swapped, 0);
  static notes found;
  assert_int_equal(verify_all("m", &found), FURROW_OK);
  assert_int_equal(found.count, 1);
  assert_non_null(strstr(found.items[0].message, "row 1 is listed before row 0"));
  made_edit_meta("m", swapped, row0, 0);
  expect_finding("m", true, 1, "_meta", NONE, "row 1 is in it, but not in partition 0 of the same rows");
}

static void counts(void **state) {
  (void)state;
  made_save("m", &text);
  made_edit_meta("m", "\"nnz\":8", "\"nnz\":7", 1);
  expect_finding("m", false, 1, "_meta", NONE, "nnz is 7, less than the 8 elements");
  made_edit_meta("m", "\"saveRowNum\":2", "\"saveRowNum\":1", 3);
  expect_finding("m", false, 3, "_meta", NONE, "saveRowNum is 1");
  made_edit_meta("m", "\"feature.index.range.end\":\"20\"", "\"feature.index.range.end\":\"21\"", 0);
  expect_finding("m", false, -1, "_meta", NONE, "but col is 20");
  made_edit_meta("m", "\"feature.index.range.end\":\"21\"", "\"feature.index.range.end\":\"many\"", 0);
  expect_finding("m", false, -1, "_meta", NONE, "not a whole number");
}

/* Options of the range of columns: numbers that do not fit, none at all, a range that ends before it begins. */
static void odd_options(void **state) {
  (void)state;
  static const char right[] = "\"feature.index.range.end\":\"20\"";
  static const struct {
    const char *option, *words;
  } odd[] = {{"\"feature.index.range.end\":\"\"", "range.end is \"\", which is not a whole number"},
             {"\"feature.index.range.end\":\"99999999999999999999\"", "99\", which is not a whole number"},
             {"\"feature.index.range.end\":\"20 \"", "20 \", which is not a whole number"},
             {"\"feature.index.range.end\":\"-5\"", "the options give columns 0 to -5 (end), but col is 20"}};
  made_save("m", &text);
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    made_edit_meta("m", right, odd[i].option, 0);
    static notes found;
    assert_int_equal(verify_all("m", &found), FURROW_OK); /* then col counts */
    assert_int_equal(found.count, 1);
    assert_non_null(strstr(found.items[0].message, odd[i].words));
    made_edit_meta("m", odd[i].option, right, 0);
  }
  made_edit_meta("m", "\"feature.index.range.start\":\"0\"", "\"feature.index.range.begin\":\"0\"", 0);
  expect_clean("m");
  made_edit_meta("m", "\"col\":20", "\"col\":-1", 0);
  expect_clean("m"); /* the count of columns is not known */
}

/* Hash partitions are marked twice, by their columns and by the blocks of the matrix. */
static void ranges_and_hashes(void **state) {
  (void)state;
  made_save("m", &text);
  made_edit_meta("m", "\"startCol\":8,\"endCol\":12", "\"startCol\":0,\"endCol\":0", 0);
  expect_finding("m", true, -1, "_meta", NONE, "4 partitions have a range of columns and 1 has none");
  made_edit_meta("m", "\"startCol\":0,\"endCol\":0", "\"startCol\":8,\"endCol\":12", 0);
  made_edit_meta("m", "\"blockRow\":2,\"blockCol\":4", "\"blockRow\":-1,\"blockCol\":-1", 0);
  expect_finding("m", false, -1, "_meta", NONE, "the partitions are ranges, but blockRow is -1 and blockCol -1");
  expect_finding("m", false, 0, "_meta", NONE, "are not a block of -1 by -1");
  const made m = {.format = "RowIdColIdValueText", .row_type = 10, .rows = 1, .cols = 9, .hash_parts = 3};
  made_save("h", &m);
  made_edit_meta("h", "\"blockRow\":-1", "\"blockRow\":1", 0);
  expect_finding("h", false, -1, "_meta", NONE, "the partitions are hash partitions, but blockRow is 1");
}

/* Partitions in the same place, and outside of the matrix. */
static void corners(void **state) {
  (void)state;
  made_save("m", &binary);
  made_edit_meta("m", "\"startCol\":4,\"endCol\":8", "\"startCol\":0,\"endCol\":8", 0);
  expect_finding("m", true, 1, "_meta", NONE, "columns 0 to 8 (ends) overlap partition 0");
  made_edit_meta("m", "\"startCol\":0,\"endCol\":8", "\"startCol\":4,\"endCol\":8", 0);
  made_edit_meta("m", "\"startCol\":0,\"endCol\":4", "\"startCol\":-3,\"endCol\":4", 0);
  expect_finding("m", true, 0, "_meta", NONE,
                 "columns -3 to 4 (end) are not within the columns of the matrix, 0 to 20");
}

static void kinds(void **state) {
  (void)state;
  made_save("m", &text);
  made_edit_meta("m", "ColIdValueTextRowFormat", "NoSuchFormat", 0);
  expect_finding("m", true, -1, "_meta", NONE, "no such format");
  made_edit_meta("m", "NoSuchFormat", "ColIdValueTextRowFormat", 0);
  made_edit_meta("m", "\"rowType\":7", "\"rowType\":29", 0);
  expect_finding("m", true, -1, "_meta", NONE, "objects");
}

/* What the caller says instead of the metadata. */
static void told_by_the_caller(void **state) {
  (void)state;
  furrow_matrix_source_params params;
  static notes found;
  furrow_error err = {.status = FURROW_OK};
  made_save("m", &text);
  assert_int_equal(rename("m/_meta", "m/meta"), 0);
  furrow_matrix_source_params_init(&params);
  params.meta_name = "meta";
  params.separator = ",";
  memset(&found, 0, sizeof found);
  assert_int_equal(furrow_matrix_verify("m", VERIFY(&params, 1, note, &found), &err), FURROW_OK);
  assert_int_equal(found.count, 0);
  params.separator = ";";
  assert_int_equal(furrow_matrix_verify("m", VERIFY(&params, 1, note, &found), &err), FURROW_E_PARSE);
  assert_int_equal(found.count, 5); /* each partition has one that is fatal */
  assert_string_equal(err.file, "m/0");
  params.row_type = 77;
  memset(&found, 0, sizeof found);
  assert_int_equal(furrow_matrix_verify("m", VERIFY(&params, 1, note, &found), &err), FURROW_E_FORMAT);
  assert_string_equal(found.items[0].message, "rowType 77 is not a row type");
  assert_string_equal(found.items[0].file, "meta");
  assert_string_equal(err.file, "m/meta");
}

/* ---- Progress ---- */

typedef struct told {
  uint64_t done, total, calls, stop_at;
} told;

static bool tell(void *user, const char *step, uint64_t done, uint64_t total) {
  told *t = user;
  assert_string_equal(step, "reading");
  assert_true(done >= t->done && done <= total);
  t->done = done;
  t->total = total;
  return ++t->calls != t->stop_at;
}

static void progress(void **state) {
  (void)state;
  furrow_matrix_verify_params params = *VERIFY(NULL, 1, NULL, NULL);
  told t = {0};
  furrow_error err = {.status = FURROW_OK};
  size_t sizes[3];
  made_save("m", &text);
  free(made_read("m", "0", &sizes[0]));
  free(made_read("m", "2", &sizes[1]));
  free(made_read("m", "3", &sizes[2]));
  params.progress = tell;
  params.progress_user = &t;
  made_check(furrow_matrix_verify("m", &params, &err), &err);
  assert_int_equal(t.calls, 10); /* before and behind each partition */
  assert_int_equal(t.total, sizes[0] + sizes[1] + sizes[2]);
  assert_int_equal(t.done, t.total);
  for (uint64_t stop = 1; stop <= 10; stop++)
    for (unsigned threads = 1; threads < 3; threads++) {
      t = (told){.stop_at = stop};
      params.threads = threads;
      assert_int_equal(furrow_matrix_verify("m", &params, &err), FURROW_E_CANCELLED);
      assert_int_equal(err.status, FURROW_E_CANCELLED);
      assert_int_equal(t.calls, stop); /* and it is not asked again */
    }
}

static void unreadable_metadata(void **state) {
  (void)state;
  made_save("m", &text);
  made_edit_meta("m", "\"partId\":3", "\"partId\":x", 0);
  static notes found;
  furrow_error err = {.status = FURROW_OK};
  const furrow_status status = verify("m", 2, &found, &err);
  assert_true(status != FURROW_OK);
  assert_int_equal(found.count, 1);
  assert_true(found.items[0].fatal);
  assert_int_equal(found.items[0].part_id, -1);
  assert_true(found.items[0].offset != NONE);
  assert_string_equal(found.items[0].file, "_meta");
  assert_int_equal(verify("nowhere", 2, &found, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(found.count, 1);
}

static void metadata_with_a_rest(void **state) {
  (void)state;
  made_save("m", &text);
  size_t size;
  free(made_read("m", "_meta", &size));
  resize("m", "_meta", 5);
  expect_finding("m", false, -1, "_meta", size, "5 bytes after the JSON");
}

/* A folder as a server leaves it: format and row type are not in it. */
static void server_metadata(void **state) {
  (void)state;
  char root[TEST_PATH], command[TEST_PATH * 3];
  golden_path(root, "angel/psmeta_and_options");
  snprintf(command, sizeof command, "mkdir m && cp '%s'/[0-9]* '%s'/psmeta.* m", root, root);
  assert_int_equal(system(command), 0);
  static notes found;
  memset(&found, 0, sizeof found);
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  assert_int_equal(furrow_matrix_verify("m", VERIFY(&params, 1, note, &found), NULL), FURROW_E_ARGUMENT);
  assert_int_equal(found.items[0].part_id, -1);
  params.format = "ColIdValueText";
  params.row_type = 3;
  memset(&found, 0, sizeof found);
  assert_int_equal(furrow_matrix_verify("m", VERIFY(&params, 1, note, &found), NULL), FURROW_OK);
  print_all(&found);
  assert_int_equal(found.count, 0);
}

/* ---- Records ---- */

/* Changes byte `at` of partition i. */
static uint64_t poke(const char *folder, size_t i, size_t at, char byte, char file[16]) {
  const furrow_partition_meta part = place_of(folder, i, file);
  size_t size;
  char *bytes = made_read(folder, file, &size);
  bytes[(size_t)part.offset + at] = byte;
  made_write(folder, file, bytes, size);
  free(bytes);
  return (uint64_t)part.offset;
}

static void broken_records(void **state) {
  (void)state;
  char file[16], other[16];
  made_save("m", &text);
  const uint64_t a = poke("m", 1, 0, 'x', file), b = poke("m", 3, 0, '%', other);
  /* the others are read all the same, and both are told */
  static notes found;
  furrow_error err = {.status = FURROW_OK};
  assert_int_equal(verify("m", 2, &found, &err), FURROW_E_PARSE);
  assert_int_equal(found.count, 2);
  assert_int_equal(found.items[0].part_id, 1);
  assert_int_equal(found.items[1].part_id, 3);
  assert_int_equal(found.items[0].offset, a);
  assert_int_equal(found.items[1].offset, b);
  assert_string_equal(found.items[0].file, file);
  assert_string_equal(found.items[1].file, other);
  assert_int_equal(err.offset, a);
}

static void record_of_another_partition(void **state) {
  (void)state;
  char file[16];
  made_save("m", &binary);
  const uint64_t start = poke("m", 2, 12 + 7, 3, file); /* column of the second record: 3, of partition 0 */
  static notes found;
  assert_int_not_equal(verify_all("m", &found), FURROW_OK);
  assert_int_equal(found.count, 1);
  assert_int_equal(found.items[0].part_id, 2);
  assert_string_equal(found.items[0].file, file);
  assert_true(found.items[0].offset >= start && found.items[0].offset < start + 24);
}

static void wrong_counts(void **state) {
  (void)state;
  made_save("m", &text);
  made_edit_meta("m", "\"elementNum\":4", "\"elementNum\":3", 5);
  static notes found;
  assert_int_not_equal(verify_all("m", &found), FURROW_OK);
  bool named = false;
  for (size_t i = 0; i < found.count; i++) named = named || (found.items[i].fatal && found.items[i].part_id == 2);
  assert_true(named);
}

/* Exchanges the first two lines of partition i. */
static void swap_lines(const char *folder, size_t i, bool repeat) {
  char file[16], lines[64];
  const furrow_partition_meta part = place_of(folder, i, file);
  size_t size;
  char *bytes = made_read(folder, file, &size), *begin = bytes + part.offset;
  char *second = strchr(begin, '\n') + 1, *end = strchr(second, '\n') + 1;
  snprintf(lines, sizeof lines, "%.*s%.*s", (int)(end - second), second, (int)(second - begin), begin);
  memcpy(begin, lines, strlen(lines));
  if (repeat) begin[0] = end[0]; /* the column of the third line; all have one digit */
  made_write(folder, file, bytes, size);
  free(bytes);
}

static void disorder(void **state) {
  (void)state;
  made_save("m", &text);
  swap_lines("m", 0, false);
  char file[16];
  place_of("m", 0, file);
  expect_finding("m", false, 0, file, NONE, "not in order: column 0 of row 0");
  made_save("n", &text);
  swap_lines("n", 1, true);
  expect_finding("n", false, 1, file, NONE, "stored twice, the first in row 0, column 6");
}

/* Lines of a file in another order: order[i] is the line that comes i-th. All lines are as long. */
static void reorder(const char *folder, const char *file, const char *order) {
  size_t size;
  char *bytes = made_read(folder, file, &size), *copy = malloc(size);
  assert_non_null(copy);
  const size_t lines = strlen(order), line = size / lines;
  assert_int_equal(line * lines, size);
  for (size_t i = 0; i < lines; i++) memcpy(copy + i * line, bytes + (size_t)(order[i] - '0') * line, line);
  made_write(folder, file, copy, size);
  free(copy);
  free(bytes);
}

static double one(int32_t row, int64_t col) {
  (void)row;
  (void)col;
  return 1;
}

/* More than one of a kind is told once. Rows that come back are read again, to find what occurs twice. */
static void disorder_of_many(void **state) {
  (void)state;
  made m = {.format = "RowIdColIdValueText", .row_type = 7, .rows = 2, .cols = 4, .value = one};
  made_save("m", &m);
  reorder("m", "0", "32104567");
  expect_finding("m", false, 0, "0", NONE, "column 2 of row 0 follows a higher one, and others do, too");
  made_save("n", &m);
  reorder("n", "0", "04152637"); /* rows in turn: columns ascend within each */
  expect_clean("n");
  made_save("o", &m);
  reorder("o", "0", "04151537");
  expect_finding("o", false, 0, "0", NONE, "2 elements are stored twice, the first in row 0, column 1");
  m.format = "ColIdValueText";
  m.rows = 1;
  made_save("p", &m);
  reorder("p", "0", "1111");
  expect_finding("p", false, 0, "0", NONE, "3 elements are stored twice, the first in row 0, column 1");
  made_save("q", &m);
  reorder("q", "0", "3131");
  expect_finding("q", false, 0, "0", NONE, "2 elements are stored twice, the first in row 0, column 1");
  m.format = "TextColumn";
  m.rows = 2;
  made_save("r", &m);
  reorder("r", "0", "3121");
  expect_finding("r", false, 0, "0", NONE, "1 element is stored twice, the first in row 0, column 1");
}

/* Hash partitions may have any column, but the matrix has a range of them. */
static void columns_outside(void **state) {
  (void)state;
  const made m = {.format = "ColIdValueText", .row_type = 10, .rows = 1, .cols = 9, .hash_parts = 1, .value = one};
  made_save("m", &m);
  made_edit_meta("m", "\"col\":9", "\"col\":5", 0);
  made_edit_meta("m", "range.end\":\"9\"", "range.end\":\"7\"", 0);
  made_edit_meta("m", "range.start\":\"0\"", "range.start\":\"2\"", 0);
  expect_finding("m", false, 0, "0", NONE, "4 columns are not one of the matrix (2 to 6), the first is 0");
}

static void hash_partitions(void **state) {
  (void)state;
  const made m = {
      .format = "RowIdColIdValueText", .row_type = 10, .rows = 1, .cols = 9, .hash_parts = 3, .parts_per_file = 1};
  made_save("m", &m);
  expect_clean("m");
  char file[16];
  poke("m", 1, 2, '0', file); /* "0,1,…" becomes column 0 */
  expect_finding("m", false, 1, file, NONE,
                 "1 column belongs to another hash partition, the first is 0 of partition 0");
}

static double with_decimals(int32_t row, int64_t col) {
  return (double)(row * 1000003 + (int32_t)col * 999983) / 1e6;
}

static void six_decimals(void **state) {
  (void)state;
  made m = {.format = "RowIdColIdValueText", .row_type = 0, .rows = 2, .cols = 20, .value = with_decimals};
  made_save("m", &m);
  expect_finding("m", false, -1, "m", NONE, "six decimals");
}

/* Every byte of small folders, changed in turn: never a crash, never a fatal finding without partition or file. */
static void every_byte(void **state) {
  (void)state;
  static const made *const kinds_of[] = {&text, &binary};
  static const char *const files[] = {"0", "_meta"};
  static notes found;
  for (size_t k = 0; k < 2; k++) {
    char folder[16];
    snprintf(folder, sizeof folder, "m%zu", k);
    made_save(folder, kinds_of[k]);
    for (size_t f = 0; f < 2; f++) {
      size_t size;
      char *bytes = made_read(folder, files[f], &size);
      for (size_t i = 0; i < size; i++) {
        const char old = bytes[i];
        bytes[i] = (char)(old ^ (1 << (i % 8)));
        made_write(folder, files[f], bytes, size);
        const furrow_status status = verify(folder, 1, &found, NULL);
        size_t fatal = 0;
        for (size_t n = 0; n < found.count; n++) fatal += found.items[n].fatal;
        assert_int_equal(status != FURROW_OK, fatal > 0);
        bytes[i] = old;
      }
      made_write(folder, files[f], bytes, size);
      free(bytes);
    }
    expect_clean(folder);
  }
}

/* ---- Folders that Angel wrote ---- */

static void golden_folders(void **state) {
  (void)state;
  char root[TEST_PATH], path[TEST_PATH * 2];
  static notes found;
  size_t folders = 0, wrong = 0;
  DIR *handle = opendir(golden_path(root, "angel"));
  assert_non_null(handle);
  const struct dirent *entry;
  while ((entry = readdir(handle)) != NULL) {
    snprintf(path, sizeof path, "%s/%s/_meta", root, entry->d_name);
    if (access(path, R_OK) != 0) continue;
    *strrchr(path, '/') = 0;
    folders++;
    const furrow_status status = verify_all(path, &found);
    if (status == FURROW_OK) continue;
    wrong++;
    print_message("%s\n", entry->d_name);
    print_all(&found);
  }
  closedir(handle);
  assert_true(folders > 100);
  assert_int_equal(wrong, 0);
  snprintf(path, sizeof path, "%s/hash-TextColumnFormat-T_FLOAT_SPARSE", root);
  expect_finding(path, false, 2, "0", NONE, "Angel writes wrong columns");
  if (!golden_is_full) return;
  static const char *const real[] = {"real_models/lr/input_weight", "real_models/lr/input_bias"};
  for (size_t i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", root, real[i]);
    assert_int_equal(verify_all(path, &found), FURROW_OK);
  }
  snprintf(path, sizeof path, "%s/real_models/lr/input_weight", root);
  expect_finding(path, false, 0, "meta", NONE, "nnz is 123, less than the 369 elements");
}

int main(void) {
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {IN_DIR(what_is_right),
                                     IN_DIR(missing_file),
                                     IN_DIR(no_regular_file),
                                     IN_DIR(cut_and_extended),
                                     IN_DIR(overlap_and_gap),
                                     IN_DIR(odd_offsets),
                                     IN_DIR(names_of_files),
                                     IN_DIR(holes_and_overlaps_of_the_grid),
                                     IN_DIR(lost_partition),
                                     IN_DIR(lists_of_rows),
                                     IN_DIR(rows_of_neighbours),
                                     IN_DIR(counts),
                                     IN_DIR(odd_options),
                                     IN_DIR(ranges_and_hashes),
                                     IN_DIR(corners),
                                     IN_DIR(kinds),
                                     IN_DIR(told_by_the_caller),
                                     IN_DIR(progress),
                                     IN_DIR(unreadable_metadata),
                                     IN_DIR(metadata_with_a_rest),
                                     IN_DIR(server_metadata),
                                     IN_DIR(broken_records),
                                     IN_DIR(record_of_another_partition),
                                     IN_DIR(wrong_counts),
                                     IN_DIR(disorder),
                                     IN_DIR(disorder_of_many),
                                     IN_DIR(columns_outside),
                                     IN_DIR(hash_partitions),
                                     IN_DIR(six_decimals),
                                     IN_DIR(every_byte),
                                     GOLDEN_TEST(golden_folders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
