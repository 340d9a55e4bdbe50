/* tests/unit/model/test_meta.c: metadata read, written, copied, found in a folder. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "furrow/model.h"
#include "model/meta/meta.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/golden_set.h"
#include "support/meta_bytes.h"
#include "support/own_dir.h"

static furrow_error err;
static meta_bytes made;

static furrow_matrix_meta *read_made(const char *name) {
  furrow_matrix_meta *meta = NULL;
  if (furrow_matrix_meta_read(&meta, made.bytes, made.size, name, &err) != FURROW_OK)
    fail_msg("%s at %llu", err.message, (unsigned long long)err.offset);
  return meta;
}

static furrow_matrix_meta *read_json(const char *json) {
  made.size = 0;
  meta_put_json(&made, json);
  return read_made("_meta");
}

/* The metadata is written so. */
static void expect_written(const furrow_matrix_meta *meta, const void *bytes, size_t size) {
  char *written = NULL;
  size_t written_size = 0;
  if (furrow_matrix_meta_write(meta, &written, &written_size, &err) != FURROW_OK) fail_msg("%s", err.message);
  if (written_size != size || memcmp(written, bytes, size) != 0)
    fail_msg("%.*s\nnot %.*s", (int)written_size - 4, written + 4, (int)size - 4, (const char *)bytes + 4);
  furrow_free(written);
}

static void expect_json(const furrow_matrix_meta *meta, const char *json) {
  static meta_bytes wanted;
  wanted.size = 0;
  meta_put_json(&wanted, json);
  expect_written(meta, wanted.bytes, wanted.size);
}

/* ---- What Angel wrote ---- */

static size_t read_whole(const char *path, void *bytes, size_t capacity) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  const size_t size = fread(bytes, 1, capacity, file);
  fclose(file);
  return size;
}

static int check_golden(const char *folder, const char *name) {
  char path[3 * TEST_PATH];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  made.size = read_whole(path, made.bytes, sizeof made.bytes);
  if (made.size == 0) return 0;
  assert_true(made.size < sizeof made.bytes);
  furrow_matrix_meta *meta = read_made(path), *copy = NULL;
  assert_int_equal(meta->origin, FURROW_META_JSON);
  expect_written(meta, made.bytes, made.size);
  assert_int_equal(furrow_matrix_meta_copy(&copy, meta, &err), FURROW_OK);
  furrow_matrix_meta_free(meta);
  expect_written(copy, made.bytes, made.size);
  furrow_matrix_meta_free(copy);
  return 1;
}

static int check_golden_folders(const char *root) {
  int checked = 0;
  DIR *handle = opendir(root);
  assert_non_null(handle);
  for (struct dirent *entry; (entry = readdir(handle)) != NULL;) {
    char folder[2 * TEST_PATH];
    if (entry->d_name[0] == '.') continue;
    snprintf(folder, sizeof folder, "%s/%s", root, entry->d_name);
    checked += check_golden(folder, "_meta") + check_golden(folder, "meta");
  }
  closedir(handle);
  return checked;
}

static void golden(void **state) {
  (void)state;
  char root[TEST_PATH], models[TEST_PATH];
  assert_true(check_golden_folders(golden_path(root, "angel")) > 50);
  if (golden_is_full) assert_true(check_golden_folders(golden_path(models, "angel/real_models/lr")) > 0);
}

/* What the servers wrote is what the master made of it. */
static void golden_servers(void **state) {
  (void)state;
  char folder[TEST_PATH], path[2 * TEST_PATH];
  golden_path(folder, "angel/psmeta_and_options");
  furrow_matrix_meta *all = NULL, *servers = NULL;
  assert_int_equal(furrow_matrix_meta_load(&all, folder, NULL, &err), FURROW_OK);
  for (int i = 0; i < 2; i++) {
    char name[40];
    snprintf(name, sizeof name, "psmeta.ParameterServer_%d", i);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    made.size = read_whole(path, made.bytes, sizeof made.bytes);
    assert_true(test_write_file(name, made.bytes, made.size));
  }
  assert_int_equal(furrow_matrix_meta_load(&servers, ".", NULL, &err), FURROW_OK);
  assert_int_equal(servers->origin, FURROW_META_PSMETA);
  assert_int_equal(servers->row, 3);
  /* the servers do not know these */
  servers->matrix_name = all->matrix_name;
  servers->format_class_name = all->format_class_name;
  servers->row_type = all->row_type;
  servers->col = all->col;
  servers->block_row = all->block_row;
  servers->block_col = all->block_col;
  servers->options = all->options;
  servers->option_count = all->option_count;
  char *bytes = NULL;
  size_t size = 0;
  assert_int_equal(furrow_matrix_meta_write(all, &bytes, &size, &err), FURROW_OK);
  expect_written(servers, bytes, size);
  furrow_free(bytes);
  furrow_matrix_meta_free(all);
  furrow_matrix_meta_free(servers);
}

/* ---- JSON ---- */

static void the_bias(void **state) {
  (void)state;
  assert_int_equal(strlen(meta_of_bias), 494);
  furrow_matrix_meta *meta = read_json(meta_of_bias);
  assert_int_equal(meta->matrix_id, 1);
  assert_string_equal(meta->matrix_name, "input_bias");
  assert_string_equal(meta->format_class_name, "com.tencent.angel.model.output.format.ColIdValueTextRowFormat");
  assert_int_equal(meta->row_type, 7);
  assert_true(meta->row == 1 && meta->col == 1 && meta->block_row == 1 && meta->block_col == 100);
  assert_int_equal(meta->option_count, 2);
  assert_string_equal(furrow_matrix_meta_option(meta, "feature.index.range.end"), "1");
  assert_null(furrow_matrix_meta_option(meta, "feature"));
  assert_int_equal(meta->part_count, 1);
  const furrow_partition_meta *part = furrow_matrix_meta_partition(meta, 0);
  assert_ptr_equal(part, meta->parts);
  assert_null(furrow_matrix_meta_partition(meta, 1));
  assert_null(furrow_matrix_meta_partition(meta, -1));
  assert_true(part->start_row == 0 && part->end_row == 1 && part->start_col == 0 && part->end_col == 1);
  assert_true(part->nnz == 1 && part->save_row_num == 1 && part->save_col_num == 0 && part->save_col_elem_num == 0);
  assert_string_equal(part->file_name, "0");
  assert_true(part->offset == 0 && part->length == 15);
  assert_int_equal(part->row_count, 1);
  assert_true(part->rows->row_id == 0 && part->rows->offset == 0 && part->rows->element_num == 1);
  assert_int_equal(part->rows->save_type, 0);
  assert_null(meta->extra);
  assert_null(part->extra);
  expect_json(meta, meta_of_bias);
  furrow_matrix_meta_free(meta);
}

/* The same metadata as Angel would read, too: other order, blanks, numbers as texts, keys that are not the ids. */
static void other_ways_to_write_it(void **state) {
  (void)state;
  made.size = 0;
  meta_put_json(
      &made,
      " {\"partMetas\" : {\"first\":{\"rowMetas\":{\"x\":{\"saveType\":\"0\",\"elementNum\":\"+1\",\"offset\":0,\n"
      "\"rowId\":\"00\"}},\"length\":\"15\",\"offset\":0,\"fileName\":\"\\u0030\",\"saveColElemNum\":0,"
      "\"saveColNum\":-0,\"saveRowNum\":1,\"nnz\":1,\"endCol\":1,\"startCol\":0,\"endRow\":1,\"startRow\":0,"
      "\"partId\":0}},\r\n\t\"options\":{\"feature.index.range.start\":0,\"feature.index.range.end\":1},"
      "\"blockCol\":100,\"blockRow\":1,\"col\":1,\"row\":\"1\",\"rowType\":\"7\",\"formatClassName\":"
      "\"com.tencent.angel.model.output.format.ColIdValueTextRowFormat\",\"matrix\\u004eame\":"
      "\"input_bias\",\"matrixId\":\"1\"} ");
  meta_put_bytes(&made, "whatever", 8); /* Angel does not look behind the JSON */
  furrow_matrix_meta *meta = read_made("meta");
  expect_json(meta, meta_of_bias);
  furrow_matrix_meta_free(meta);
}

#define HEAD                                                                                                          \
  "{\"matrixId\":0,\"matrixName\":\"m\",\"formatClassName\":\"F\",\"rowType\":0,\"row\":40,\"col\":-1,\"blockRow\":-" \
  "1,"                                                                                                                \
  "\"blockCol\":-1,\"options\":"
#define PART(id, start, end)                                                                             \
  "{\"partId\":" id ",\"startRow\":" start ",\"endRow\":" end ",\"startCol\":0,\"endCol\":0,\"nnz\":-1," \
  "\"saveRowNum\":0,\"saveColNum\":0,\"saveColElemNum\":0,\"fileName\":\"f\",\"offset\":0,\"length\":0,\"rowMetas\":"
#define ROW(id) "\"" id "\":{\"rowId\":" id ",\"offset\":-1,\"elementNum\":0,\"saveType\":0}"

static void unknown_members_are_kept(void **state) {
  (void)state;
  static const char before[] =
      "{ \"later\" : [1, {\"a\":\"b\\u0041\"}] , \"matrixId\":0,\"matrixName\":\"m\",\"formatClassName\":\"F\","
      "\"rowType\":0,\"row\":40,\"col\":-1,\"blockRow\":-1,\"blockCol\":-1,\"options\":{\"a/b\":true,\"c\":1.50},"
      "\"partMetas\":{\"3\":{\"codec\":null,\"partId\":3,\"startRow\":0,\"endRow\":1,\"startCol\":0,\"endCol\":0,"
      "\"nnz\":-1,\"saveRowNum\":0,\"saveColNum\":0,\"saveColElemNum\":0,\"fileName\":\"f\",\"offset\":0,\"length\":0,"
      "\"rowMetas\":{\"0\":{\"x\":1e400,\"rowId\":0,\"y\":{},\"offset\":-1,\"elementNum\":0,\"saveType\":0}}}},"
      "\"last\":false}";
  static const char after[] = HEAD "{\"c\":\"1.50\",\"a\\/b\":\"true\"},\"partMetas\":{\"3\":" PART(
      "3", "0",
      "1") "{\"0\":{\"rowId\":0,\"offset\":-1,\"elementNum\":0,\"saveType\":0,\"x\":1e400,\"y\":{}}},\"codec\":null}},"
           "\"later\":[1, {\"a\":\"b\\u0041\"}],\"last\":false}";
  furrow_matrix_meta *meta = read_json(before), *copy = NULL;
  assert_string_equal(meta->parts[0].extra, "\"codec\":null");
  assert_string_equal(meta->parts[0].rows[0].extra, "\"x\":1e400,\"y\":{}");
  expect_json(meta, after);
  assert_int_equal(furrow_matrix_meta_copy(&copy, meta, &err), FURROW_OK);
  furrow_matrix_meta_free(meta);
  expect_json(copy, after);
  furrow_matrix_meta_free(copy);
  meta = read_json(after);
  expect_json(meta, after);
  furrow_matrix_meta_free(meta);
}

static void partitions_are_sorted(void **state) {
  (void)state;
  static const char sorted[] = HEAD "{},\"partMetas\":{\"0\":" PART("0", "0", "1") "{" ROW("0") "}},\"2\":" PART(
      "2", "1", "3") "{" ROW("1") "," ROW("2") "}},\"10\":" PART("10", "0", "9") "{}}}}";
  furrow_matrix_meta *meta = read_json(HEAD "{},\"partMetas\":{\"10\":" PART("10", "0", "9") "{}},\"0\":" PART(
      "0", "0", "1") "{" ROW("0") "}},\"2\":" PART("2", "1", "3") "{" ROW("1") "," ROW("2") "}}}}");
  assert_int_equal(meta->parts[1].rows[1].row_id, 2);
  assert_int_equal(furrow_matrix_meta_partition(meta, 10)->part_id, 10);
  assert_null(furrow_matrix_meta_partition(meta, 3));
  expect_json(meta, sorted);
  furrow_matrix_meta_free(meta);
}

/* ---- The order of a HashMap ---- */

static void expect_order(const uint32_t *hashes, const size_t *wanted, size_t count) {
  size_t order[40];
  assert_int_equal(fw_java_map_order(hashes, count, order, &err), FURROW_OK);
  for (size_t i = 0; i < count; i++) assert_int_equal(order[i], wanted[i]);
}

static void map_order(void **state) {
  (void)state;
  static const uint32_t tens[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  static const size_t tens_order[] = {6, 7, 8, 9, 0, 1, 2, 3, 4, 5};
  expect_order(tens, tens_order, 10);
  /* 13 entries make it 32, where they ascend */
  static const uint32_t more[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};
  static const size_t same[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  expect_order(more, same, 13);
  expect_order(more + 1, (const size_t[]){5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4}, 12);
  /* in one bucket as they came; the upper half counts */
  expect_order((const uint32_t[]){33, 1, 17, 0x10000}, (const size_t[]){0, 1, 2, 3}, 4);
  expect_order((const uint32_t[]){0x10001, 1, 2, 0}, (const size_t[]){0, 3, 1, 2}, 4);
  /* the ninth in a bucket doubles it early, and an eleventh would have made it 64 */
  static const uint32_t crowd[] = {0, 16, 32, 48, 64, 80, 96, 112, 128};
  expect_order(crowd, (const size_t[]){0, 2, 4, 6, 8, 1, 3, 5, 7}, 9);
  expect_order(crowd, (const size_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
  expect_order(NULL, NULL, 0);
}

static void text_hashes(void **state) {
  (void)state;
  assert_int_equal(fw_java_text_hash("", 0), 0);
  assert_int_equal(fw_java_text_hash("hello", 5), 99162322);
  assert_int_equal(fw_java_text_hash("polygenelubricants", 18), 0x80000000u);
  assert_int_equal(fw_java_text_hash("\xe6\xa8\xa1\xe5\x9e\x8b", 6), 27169u * 31 + 22411);
  assert_int_equal(fw_java_text_hash("\xf0\x9f\x98\x80", 4), 0xd83du * 31 + 0xde00);
}

/* Options and rows come out in that order, whatever order they are in. */
static void maps_are_written_in_order(void **state) {
  (void)state;
  furrow_matrix_meta *meta =
      read_json(HEAD "{\"feature.index.range.start\":\"0\",\"matrix.oplog.type\":\"T_DOUBLE_DENSE\","
                     "\"feature.index.range.end\":\"7\"},\"partMetas\":{\"0\":" PART("0", "14", "18") "{" ROW(
                         "14") "," ROW("15") "," ROW("16") "," ROW("17") "}}}}");
  expect_json(meta, HEAD "{\"feature.index.range.end\":\"7\",\"matrix.oplog.type\":\"T_DOUBLE_DENSE\","
                         "\"feature.index.range.start\":\"0\"},\"partMetas\":{\"0\":" PART("0", "14", "18") "{" ROW(
                             "16") "," ROW("17") "," ROW("14") "," ROW("15") "}}}}");
  furrow_matrix_meta_free(meta);
}

/* ---- Binary forms ---- */

static void put_part(meta_bytes *m, int32_t id, bool angel1, const char *file, const int32_t *rows, size_t count) {
  meta_put(m, (uint64_t)id, 4);
  meta_put(m, 0, 4);
  meta_put(m, 20, 4);
  meta_put(m, (uint64_t)(10 * id), 8);
  meta_put(m, (uint64_t)(10 * id + 10), 8);
  meta_put(m, 55, 8);
  if (!angel1) meta_put(m, count, 4);
  if (!angel1) meta_put(m, 0, 8);
  meta_put_text(m, file);
  meta_put(m, 7, 8);
  meta_put(m, INT64_C(1) << 40, 8);
  meta_put(m, count, 4);
  for (size_t i = 0; i < count; i++) {
    meta_put(m, (uint64_t)rows[i], 4);
    meta_put(m, 7, 8);
    if (!angel1) meta_put(m, (uint64_t)rows[i] + 100, 4);
    if (!angel1) meta_put(m, 1, 4);
  }
}

static const int32_t five_rows[] = {17, 16, 3, 0, 19};

static void put_psmeta(meta_bytes *m, int32_t matrix, int32_t first) {
  m->size = 0;
  meta_put(m, (uint64_t)matrix, 4);
  meta_put(m, 2, 4);
  put_part(m, first + 2, false, "1", five_rows, 5);
  put_part(m, first, false, "\xe6\xa8\xa1\xed\xa0\xbd\xed\xb8\x80", five_rows, 0); /* surrogates, as Java has them */
}

static void psmeta(void **state) {
  (void)state;
  put_psmeta(&made, 9, 1);
  furrow_matrix_meta *meta = read_made("some/folder/psmeta.ParameterServer_1");
  assert_int_equal(meta->origin, FURROW_META_PSMETA);
  assert_true(meta->matrix_id == 9 && meta->row_type == -1 && meta->row == 20 && meta->col == -1);
  assert_null(meta->matrix_name);
  assert_null(meta->format_class_name);
  assert_int_equal(meta->part_count, 2);
  assert_string_equal(meta->parts[0].file_name, "\xe6\xa8\xa1\xf0\x9f\x98\x80");
  const furrow_partition_meta *part = &meta->parts[1];
  assert_true(part->part_id == 3 && part->start_col == 30 && part->end_col == 40 && part->nnz == 55);
  assert_true(part->save_row_num == 5 && part->offset == 7 && part->length == INT64_C(1) << 40);
  assert_int_equal(part->row_count, 5);
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(part->rows[i].row_id, five_rows[i]); /* in the order of saving */
    assert_int_equal(part->rows[i].element_num, five_rows[i] + 100);
    assert_true(part->rows[i].offset == 7 && part->rows[i].save_type == 1);
  }
  char *bytes = NULL;
  size_t size;
  assert_int_equal(furrow_matrix_meta_write(meta, &bytes, &size, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "matrixName is not known");
  furrow_matrix_meta_free(meta);
}

static void put_angel1(meta_bytes *m, int32_t row_type) {
  m->size = 0;
  meta_put(m, 4, 4);
  meta_put_text(m, "lr_weight");
  meta_put(m, (uint64_t)row_type, 4);
  meta_put(m, 20, 4);
  meta_put(m, 1000, 8);
  meta_put(m, 20, 4);
  meta_put(m, 10, 8);
  meta_put(m, 1, 4);
  meta_put_text(m, "matrix.hogwild");
  meta_put_text(m, "true");
  meta_put(m, 1, 4);
  put_part(m, 0, true, "0", five_rows, 5);
}

static void angel1(void **state) {
  (void)state;
  static const char *const types[] = {NULL,
                                      "T_DOUBLE_SPARSE",
                                      "T_DOUBLE_DENSE",
                                      "T_INT_SPARSE",
                                      "T_INT_DENSE",
                                      NULL,
                                      "T_FLOAT_DENSE",
                                      "T_FLOAT_SPARSE",
                                      "T_DOUBLE_SPARSE_LONGKEY",
                                      "T_DOUBLE_SPARSE_COMPONENT",
                                      "T_FLOAT_SPARSE_COMPONENT",
                                      "T_INT_SPARSE_COMPONENT",
                                      "T_DOUBLE_SPARSE_LONGKEY_COMPONENT",
                                      "T_FLOAT_SPARSE_LONGKEY",
                                      NULL};
  for (int32_t i = 0; i < 15; i++) {
    put_angel1(&made, i);
    furrow_matrix_meta *meta = NULL;
    const furrow_status status = furrow_matrix_meta_read(&meta, made.bytes, made.size, "meta", &err);
    if (!types[i]) {
      assert_int_equal(status, FURROW_E_FORMAT);
      assert_int_equal(err.offset, 15);
      assert_non_null(strstr(err.message, "rowType is"));
      continue;
    }
    assert_int_equal(status, FURROW_OK);
    assert_string_equal(furrow_matrix_row_type_get(meta->row_type)->name, types[i]);
    assert_int_equal(meta->origin, FURROW_META_ANGEL1);
    assert_string_equal(meta->matrix_name, "lr_weight");
    assert_string_equal(meta->format_class_name, "furrow.Angel1Format");
    assert_true(meta->row == 20 && meta->col == 1000 && meta->block_row == 20 && meta->block_col == 10);
    assert_string_equal(furrow_matrix_meta_option(meta, "matrix.hogwild"), "true");
    assert_int_equal(meta->parts[0].row_count, 5);
    assert_true(meta->parts[0].rows[0].row_id == 17 && meta->parts[0].rows[0].element_num == -1);
    assert_string_equal(meta->parts[0].file_name, "0");
    furrow_matrix_meta_free(meta);
  }
}

/* Cut anywhere, a file is refused; with any byte changed, it is refused or makes metadata that can be used. */
static void damaged(void **state) {
  (void)state;
  static meta_bytes whole;
  for (int form = 0; form < 3; form++) {
    const char *name = form == 1 ? "psmeta" : "_meta";
    whole.size = 0;
    if (form == 0) meta_put_json(&whole, meta_of_bias);
    if (form == 1) put_psmeta(&whole, 9, 1);
    if (form == 2) put_angel1(&whole, 7);
    for (size_t size = 0; size < whole.size; size++) {
      furrow_matrix_meta *meta = NULL;
      assert_int_equal(furrow_matrix_meta_read(&meta, whole.bytes, size, name, &err), FURROW_E_FORMAT);
      assert_string_equal(err.file, name);
      assert_true(err.message[0] != 0);
    }
    for (size_t i = 0; i < whole.size; i++)
      for (int bit = 0; bit < 8; bit++) {
        furrow_matrix_meta *meta = NULL;
        made = whole;
        made.bytes[i] ^= (unsigned char)(1 << bit);
        const furrow_status status = furrow_matrix_meta_read(&meta, made.bytes, made.size, name, &err);
        if (status == FURROW_OK) furrow_matrix_meta_free(meta);
        assert_true(status == FURROW_OK || status == FURROW_E_FORMAT);
      }
  }
}

/* ---- Folders ---- */

static void write_made(const char *path) {
  assert_true(test_write_file(path, made.bytes, made.size));
}

static void expect_load(const char *folder, const char *name, furrow_status wanted, int32_t matrix_id) {
  furrow_matrix_meta *meta = NULL;
  const furrow_status status = furrow_matrix_meta_load(&meta, folder, name, &err);
  if (status != wanted) fail_msg("%s: %s", furrow_status_name(status), err.message);
  if (status == FURROW_OK) assert_int_equal(meta->matrix_id, matrix_id);
  furrow_matrix_meta_free(meta);
}

static void folders(void **state) {
  (void)state;
  char address[TEST_PATH + 16];
  expect_load("nowhere", NULL, FURROW_E_NOT_FOUND, 0);
  assert_string_equal(err.message, "no such directory");
  expect_load("", NULL, FURROW_E_ARGUMENT, 0);
  expect_load(".", NULL, FURROW_E_NOT_FOUND, 0);
  assert_non_null(strstr(err.message, "has no metadata"));
  expect_load(".", "_meta", FURROW_E_NOT_FOUND, 0);
  assert_int_equal(mkdir("_meta", 0777), 0); /* not what is meant */
  expect_load(".", NULL, FURROW_E_NOT_FOUND, 0);
  assert_int_equal(rmdir("_meta"), 0);
  /* servers, then one alone, then meta, then _meta */
  put_psmeta(&made, 9, 1);
  write_made("psmeta.a");
  expect_load(".", NULL, FURROW_OK, 9);
  put_psmeta(&made, 9, 2);
  write_made("psmeta.b");
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_load(&meta, ".", NULL, &err), FURROW_OK);
  assert_int_equal(meta->part_count, 4);
  for (int32_t i = 0; i < 4; i++) {
    assert_int_equal(meta->parts[i].part_id, i + 1);
    assert_int_equal(meta->parts[i].row_count, i < 2 ? 0 : 5);
  }
  assert_int_equal(meta->parts[3].rows[4].row_id, 19);
  furrow_matrix_meta_free(meta);
  expect_load(".", "psmeta.b", FURROW_OK, 9);
  put_psmeta(&made, 8, 1);
  write_made("psmeta");
  expect_load(".", NULL, FURROW_OK, 8);
  put_angel1(&made, 6);
  write_made("meta");
  expect_load(".", NULL, FURROW_OK, 4);
  made.size = 0;
  meta_put_json(&made, meta_of_bias);
  write_made("_meta");
  expect_load(".", NULL, FURROW_E_FORMAT, 0);
  assert_non_null(strstr(err.message, "ambiguous"));
  expect_load(".", "_meta", FURROW_OK, 1);
  expect_load(".", "meta", FURROW_OK, 4);
  write_made("meta");
  expect_load(".", NULL, FURROW_OK, 1);
  snprintf(address, sizeof address, "file://%s/", dir);
  expect_load(address, NULL, FURROW_OK, 1);
  expect_load("hdfs://there/x", NULL, FURROW_E_UNSUPPORTED, 0);
  made.bytes[strlen("....{\"matrixId\":")] = '2'; /* as long as the other one */
  write_made("meta");
  expect_load(".", NULL, FURROW_E_FORMAT, 0);
  assert_non_null(strstr(err.message, "ambiguous"));
  assert_int_equal(mkdir("unnamed", 0777), 0);
  put_psmeta(&made, 9, 1);
  write_made("unnamed/psmeta."); /* of no server */
  expect_load("unnamed", NULL, FURROW_E_NOT_FOUND, 0);
}

/* Texts of Java: units of UTF-16 in one to three bytes each; a pair of them beyond 16 bits. The name stands before the
 * row type, which begins with this byte. */
static furrow_status read_name(const char *name, unsigned char behind, furrow_matrix_meta **meta) {
  static meta_bytes m;
  put_angel1(&made, 6);
  m.size = 0;
  meta_put_bytes(&m, made.bytes, 4);
  meta_put_text(&m, name);
  meta_put_bytes(&m, made.bytes + 4 + 2 + strlen("lr_weight"), made.size - 4 - 2 - strlen("lr_weight"));
  m.bytes[4 + 2 + strlen(name)] = behind;
  return furrow_matrix_meta_read(meta, m.bytes, m.size, "meta", &err);
}

static void texts_of_java(void **state) {
  (void)state;
  static const char *const good[][2] = {{"\xed\xa0\xbd\xed\xb0\x80", "\xf0\x9f\x90\x80"}, /* the first low one */
                                        {"\xed\xa0\xbd\xed\xbf\xbf", "\xf0\x9f\x9f\xbf"}, /* the last */
                                        {"\xed\x9f\xbf", "\xed\x9f\xbf"},
                                        {"\xee\x80\x80", "\xee\x80\x80"}};
  static const char *const bad[] = {"\xe6\x41\x41",             /* no continuation */
                                    "\xe6\xa8",                 /* its third byte would be the next field's */
                                    "\xc3",                     /* its second one */
                                    "\xed\xa0\xbd",             /* half a pair */
                                    "\xed\xa0\xbd\x41",         /* followed by something else */
                                    "\xed\xa0\xbd\xed\xaf\xbf", /* followed by another first half */
                                    "\xed\xa0\xbd\xee\x80\x80", /* followed by what comes behind the second halves */
                                    "\xed\xa0\xbd\xe6\x41\x41", /* followed by nothing that can be read */
                                    "\xed\xb0\x80",             /* the second half alone */
                                    "\x80"};
  furrow_matrix_meta *meta = NULL;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    assert_int_equal(read_name(good[i][0], 0, &meta), FURROW_OK);
    assert_string_equal(meta->matrix_name, good[i][1]);
    furrow_matrix_meta_free(meta);
  }
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(read_name(bad[i], 0x80, &meta), FURROW_E_FORMAT);
    assert_string_equal(err.message, "neither JSON with its length in front nor the binary form of Angel 1.x, in which "
                                     "matrixName is not UTF-8 as Java writes it");
    assert_int_equal(err.offset, 4);
  }
  /* a name that says nothing does not tell the form either */
  assert_int_equal(read_name("", 0x80, &meta), FURROW_E_FORMAT);
  assert_string_equal(err.message, "neither JSON with its length in front nor the binary form of Angel 1.x, in which "
                                   "rowType is negative");
  assert_int_equal(read_name("m", 0x80, &meta), FURROW_E_FORMAT);
  assert_string_equal(err.message, "as metadata of Angel 1.x: rowType is negative");
}

/* The first five bytes tell what it is. */
static void few_bytes(void **state) {
  (void)state;
  furrow_matrix_meta *meta = NULL;
  assert_int_equal(furrow_matrix_meta_read(&meta, "{", 0, "meta", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the file is too short for metadata");
  assert_int_equal(furrow_matrix_meta_read(&meta, "{", 1, "meta", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the JSON has no length (4 bytes) in front of it");
  assert_int_equal(furrow_matrix_meta_read(&meta, "\0\0\0\1", 4, "meta", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the file is too short for metadata");
  assert_int_equal(furrow_matrix_meta_read(&meta, "\0\0\0\1{", 5, NULL, &err), FURROW_E_FORMAT);
  assert_null(strstr(err.message, "too short"));
}

/* Numbers as text, which Angel's JSON may have. */
static void numbers_as_text(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } bad[] = {{"\"\"", "is not an integer"},
             {"\"7x\"", "is not an integer"},
             {"\"99999999999999999999\"", "does not fit 64 bits"},
             {"\"-99999999999999999999\"", "does not fit 64 bits"}};
  static char json[4096];
  const char *const place = strstr(meta_of_bias, "\"matrixId\":1,");
  assert_non_null(place);
  const size_t before = (size_t)(place - meta_of_bias) + strlen("\"matrixId\":");
  snprintf(json, sizeof json, "%.*s\"77\"%s", (int)before, meta_of_bias, meta_of_bias + before + 1);
  furrow_matrix_meta *meta = read_json(json);
  assert_int_equal(meta->matrix_id, 77);
  assert_null(furrow_matrix_meta_partition(meta, 5));
  meta->part_count = 0;
  assert_null(furrow_matrix_meta_partition(meta, 0));
  furrow_matrix_meta_free(meta);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    snprintf(json, sizeof json, "%.*s%s%s", (int)before, meta_of_bias, bad[i].text, meta_of_bias + before + 1);
    made.size = 0;
    meta_put_json(&made, json);
    assert_int_equal(furrow_matrix_meta_read(&meta, made.bytes, made.size, "_meta", &err), FURROW_E_FORMAT);
    if (!strstr(err.message, bad[i].message)) fail_msg("%s, not %s", err.message, bad[i].message);
  }
}

static void servers_that_disagree(void **state) {
  (void)state;
  put_psmeta(&made, 9, 1);
  write_made("psmeta.0");
  write_made("psmeta.1");
  expect_load(".", NULL, FURROW_E_FORMAT, 0);
  assert_non_null(strstr(err.message, "partition 1"));
  assert_non_null(strstr(err.file, "psmeta.1"));
  put_psmeta(&made, 8, 20);
  write_made("psmeta.1");
  expect_load(".", NULL, FURROW_E_FORMAT, 0);
  assert_non_null(strstr(err.message, "matrixId"));
  assert_true(test_write_text("psmeta.1", "x"));
  expect_load(".", NULL, FURROW_E_FORMAT, 0);
  assert_non_null(strstr(err.file, "psmeta.1"));
}

/* ---- Writing what is not fit ---- */

static void not_written(const furrow_matrix_meta *meta, const char *message) {
  char *bytes = NULL;
  size_t size = 0;
  assert_int_equal(furrow_matrix_meta_write(meta, &bytes, &size, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, message);
  assert_null(bytes);
}

static void unfit_metadata(void **state) {
  (void)state;
  furrow_matrix_meta *meta = read_json(meta_of_bias);
  furrow_matrix_meta whole = *meta;
  furrow_partition_meta part = meta->parts[0];
  furrow_matrix_row_meta row = part.rows[0];
#define UNFIT(change, message) \
  change;                      \
  not_written(meta, message);  \
  *meta = whole;               \
  meta->parts[0] = part;       \
  meta->parts[0].rows[0] = row
  UNFIT(meta->matrix_name = "\xff", "matrixName is not UTF-8");
  UNFIT(meta->format_class_name = NULL, "formatClassName is not known");
  UNFIT(meta->row_type = -1, "rowType is negative");
  UNFIT(meta->row_type = 33, "rowType is outside of 0 … 32");
  UNFIT(meta->col = -2, "col is outside of -1 … 9223372036854775807");
  UNFIT(meta->options[0].value = "\xc0\x80", "options is not UTF-8");
  meta->options[0].value = "1";
  UNFIT(meta->parts[0].file_name = NULL, "partMetas/0/fileName is not known");
  UNFIT(meta->parts[0].file_name = "a/b", "partMetas/0/fileName leads out of the folder");
  UNFIT(meta->parts[0].length = -1, "partMetas/0/length is negative");
  UNFIT(meta->parts[0].end_col = -1, "partMetas/0/endCol is less than startCol");
  UNFIT(meta->parts[0].rows[0].row_id = 1, "partMetas/0/rowMetas has row 1, but the partition begins with row 0 and "
                                           "ends before row 1");
  UNFIT(meta->parts[0].rows[0].element_num = -1, "partMetas/0/rowMetas/0/elementNum is negative");
#undef UNFIT
  furrow_matrix_row_meta rows_twice[2] = {row, row};
  meta->parts[0].rows = rows_twice;
  meta->parts[0].row_count = 2;
  not_written(meta, "partMetas/0/rowMetas has row 0 twice");
  meta->parts[0] = part;
  furrow_matrix_option options_twice[2] = {meta->options[0], meta->options[0]};
  meta->options = options_twice;
  not_written(meta, "options has a key twice");
  *meta = whole;
  furrow_partition_meta twice[2] = {part, part};
  meta->parts = twice;
  meta->part_count = 2;
  not_written(meta, "partMetas is not in the order of partition ids");
  *meta = whole;
  expect_json(meta, meta_of_bias);
  furrow_matrix_meta_free(meta);
  furrow_matrix_meta_free(NULL);
}

/* ---- Memory ---- */

/* Everything that takes memory, on a folder of two servers and a file of JSON. */
static furrow_status use_all(void) {
  furrow_matrix_meta *meta = NULL, *copy = NULL;
  char *bytes = NULL;
  size_t size = 0;
  furrow_status status = furrow_matrix_meta_load(&meta, "servers", NULL, &err);
  furrow_matrix_meta_free(meta);
  meta = NULL;
  if (status == FURROW_OK) status = furrow_matrix_meta_load(&meta, "json", NULL, &err);
  if (status == FURROW_OK) status = furrow_matrix_meta_copy(&copy, meta, &err);
  if (status == FURROW_OK) status = furrow_matrix_meta_write(copy, &bytes, &size, &err);
  furrow_free(bytes);
  furrow_matrix_meta_free(copy);
  furrow_matrix_meta_free(meta);
  return status;
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  assert_true(mkdir("servers", 0777) == 0 && mkdir("json", 0777) == 0);
  put_psmeta(&made, 9, 1);
  write_made("servers/psmeta.0");
  put_psmeta(&made, 9, 2);
  write_made("servers/psmeta.1");
  made.size = 0;
  meta_put_json(&made, HEAD "{\"a\\n\":\"b\"},\"more\":{\"x\\n\":1},\"partMetas\":{\"1\":" PART("1", "0", "4") "{" ROW(
                           "3") "," ROW("0") "}},\"k\\u0041\":" PART("0", "0", "4") "{}}}}");
  write_made("json/_meta");
  assert_int_equal(use_all(), FURROW_OK);
  long n = 1;
  for (bool failed = true; failed; n++) {
    const long before = atomic_load(&alloc_live);
    alloc_fail_at(n);
    const furrow_status status = use_all();
    failed = atomic_load(&alloc_failed);
    alloc_fail_at(0);
    assert_int_equal(atomic_load(&alloc_live), before);
    if (status == FURROW_OK) continue; /* the C library can do without */
    assert_true(failed && (status == FURROW_E_MEMORY || status == FURROW_E_IO));
  }
  assert_true(n > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GOLDEN_TEST(golden),
      cmocka_unit_test_setup_teardown(golden_servers, enter_dir, leave_dir),
      cmocka_unit_test(the_bias),
      cmocka_unit_test(other_ways_to_write_it),
      cmocka_unit_test(unknown_members_are_kept),
      cmocka_unit_test(partitions_are_sorted),
      cmocka_unit_test(map_order),
      cmocka_unit_test(text_hashes),
      cmocka_unit_test(maps_are_written_in_order),
      cmocka_unit_test(psmeta),
      cmocka_unit_test(angel1),
      cmocka_unit_test(damaged),
      cmocka_unit_test(texts_of_java),
      cmocka_unit_test(few_bytes),
      cmocka_unit_test(numbers_as_text),
      cmocka_unit_test_setup_teardown(folders, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(servers_that_disagree, enter_dir, leave_dir),
      cmocka_unit_test(unfit_metadata),
      cmocka_unit_test_setup_teardown(memory_runs_out, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
