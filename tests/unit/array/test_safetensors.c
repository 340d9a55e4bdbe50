/* tests/unit/array/test_safetensors.c: safetensors files: written and read back, made by hand, refused. */
#include "array/safetensors.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* A file with this header and so many bytes of data: 0, 1, 2 … */
static void make_file(const char *path, const char *header, size_t data) {
  unsigned char file[8192];
  const size_t length = strlen(header);
  fw_put_le64(file, length);
  memcpy(file + 8, header, length);
  for (size_t i = 0; i < data; i++) file[8 + length + i] = (unsigned char)i;
  assert_true(test_write_file(path, file, 8 + length + data));
}

static void by_hand(void **state) {
  (void)state;
  fw_safetensors *file = NULL;
  fw_array_reader *r = NULL;
  furrow_error err;
  make_file("h.safetensors",
            "{\"b\":{\"data_offsets\":[8,12],\"shape\":[2,2],\"dtype\":\"U8\"},"
            "\"__metadata__\":{\"format\":\"pt\",\"\\u00e4/\":\"1\"},"
            "\"a\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]},"
            "\"half\":{\"dtype\":\"BF16\",\"shape\":[1,1,1],\"data_offsets\":[12,14]},"
            "\"none\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[14,14]}}   ",
            14);
  if (fw_safetensors_open(&file, "h.safetensors", &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(fw_safetensors_count(file), 4);
  assert_string_equal(fw_safetensors_tensor(file, 0)->name, "a");
  assert_string_equal(fw_safetensors_tensor(file, 3)->name, "none");
  assert_string_equal(fw_safetensors_note(file, "format"), "pt");
  assert_string_equal(fw_safetensors_note(file, "\xc3\xa4/"), "1");
  assert_null(fw_safetensors_note(file, "x"));
  assert_null(fw_safetensors_find(file, "x"));
  const fw_tensor *a = fw_safetensors_find(file, "a"), *b = fw_safetensors_find(file, "b");
  int32_t values[4];
  size_t got;
  assert_int_equal(fw_safetensors_read(file, a, &r, NULL), FURROW_OK);
  assert_true(fw_array_get_info(r)->flat);
  assert_int_equal(fw_array_read(r, values, 9, &got, NULL), FURROW_OK);
  assert_int_equal(got, 2);
  assert_int_equal(values[1], 0x07060504);
  fw_array_close(r);
  assert_int_equal(fw_safetensors_read(file, b, &r, NULL), FURROW_OK);
  assert_int_equal(fw_array_get_info(r)->dim, 2);
  assert_int_equal(fw_array_read_as(r, FW_ARRAY_I32, values, 9, &got, NULL), FURROW_OK);
  assert_int_equal(got, 2);
  assert_int_equal(values[3], 11);
  fw_array_close(r);
  assert_int_equal(fw_safetensors_read(file, fw_safetensors_find(file, "half"), &r, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "half has elements of type BF16");
  fw_safetensors_close(file);
  make_file("c.safetensors",
            "{\"cube\":{\"dtype\":\"U8\",\"shape\":[1,2,2],\"data_offsets\":[0,4]},"
            "\"one\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[4,5]}}",
            5);
  assert_int_equal(fw_safetensors_open(&file, "c.safetensors", NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_read(file, fw_safetensors_find(file, "cube"), &r, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "cube has 3 dimensions, not 1 or 2");
  assert_int_equal(fw_safetensors_read(file, fw_safetensors_find(file, "one"), &r, NULL), FURROW_OK);
  assert_int_equal(fw_array_get_info(r)->rows, 1);
  fw_array_close(r);
  fw_safetensors_close(file);
  make_file("c.safetensors", "{}", 0);
  assert_int_equal(fw_safetensors_open(&file, "c.safetensors", NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_count(file), 0);
  fw_safetensors_close(file);
}

static void refused(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t data;
    const char *message;
  } cases[] = {
      {"[]", 0, "not a JSON object"},
      {"{", 0, ""},
      {"{} x", 0, ""},
      {"", 0, "not a JSON object"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 7, "the file has 7"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 9, "the file has 9"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, "does not have as many bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, "does not have as many bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, "is negative"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", 8, "one number too many"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8]}}", 8, "has 1 number, not 2"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "lacks"},
      {"{\"a\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "F99, which is not known"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "twice"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, "not a known key"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
       "\"data_offsets\":[2,6]}}",
       6, "b overlaps"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],"
       "\"data_offsets\":[6,10]}}",
       10, "b leaves a hole"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
       "\"data_offsets\":[4,8]}}",
       8, "two tensors are called a"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
       "does not have as many bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, ""},
      {"{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, "does not have as many bytes"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, ""},
      {"{\"a\":{\"dtype\":32,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, ""},
      {"{\"a\":{\"dtype\":\"F\\u0000\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "character 0"},
      {"{\"__metadata__\":{\"a\\u0000\":\"1\"}}", 0, "character 0"},
      {"{\"__metadata__\":1}", 0, ""},
      {"{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"F32\",\"shape\":[2],"
       "\"data_offsets\":[0,8]}}",
       8, "overlaps"},
      {"{\"a\":1}", 0, ""},
      {"{\"__metadata__\":{\"a\":1}}", 0, ""},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice"},
      {"{\"a\\u0000\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "character 0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fw_safetensors *file = NULL;
    furrow_error err;
    make_file("r.safetensors", cases[i].header, cases[i].data);
    const furrow_status status = fw_safetensors_open(&file, "r.safetensors", &err);
    if (status != FURROW_E_FORMAT || !strstr(err.message, cases[i].message))
      fail_msg("%s: %s, %s", cases[i].header, furrow_status_name(status), err.message);
    assert_string_equal(err.file, "r.safetensors");
    assert_true(err.offset != FURROW_NO_OFFSET);
  }
  fw_safetensors *file = NULL;
  assert_true(test_write_file("r.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
  assert_int_equal(fw_safetensors_open(&file, "r.safetensors", NULL), FURROW_E_FORMAT);
  assert_true(test_write_file("r.safetensors", "\1\0\0", 3));
  assert_int_equal(fw_safetensors_open(&file, "r.safetensors", NULL), FURROW_E_FORMAT);
}

static void written(void **state) {
  (void)state;
  fw_safetensors_writer *w = NULL;
  fw_safetensors *file = NULL;
  const char *name = "a \"name\"\n/\xc3\xa4";
  const size_t capacity = fw_safetensors_text(name) + 1 + 2 * FW_SAFETENSORS_TENSOR + FW_SAFETENSORS_NOTE +
                          fw_safetensors_text("key") + fw_safetensors_text("\"v\"\\");
  assert_int_equal(fw_safetensors_writer_open(&w, "w.safetensors", capacity, false, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_begin(w, name, FW_ARRAY_U16, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_write(w, "abcdef", 6, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_end(w, 1, 3, 0, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_note(w, "key", "\"v\"\\", NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_begin(w, "b", FW_ARRAY_F32, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_write(w, "0123456789abcdef01234567", 24, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_end(w, 2, 3, 2, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_commit(w, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_bytes(w) % 8, 6);
  fw_safetensors_writer_close(w);
  assert_int_equal(fw_safetensors_open(&file, "w.safetensors", NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_count(file), 2);
  const fw_tensor *a = fw_safetensors_find(file, name), *b = fw_safetensors_find(file, "b");
  assert_true(a && a->type == FW_ARRAY_U16 && a->dimensions == 1 && a->shape[0] == 3);
  assert_true(b && b->type == FW_ARRAY_F32 && b->dimensions == 2 && b->shape[1] == 2 && b->begin == 6);
  assert_string_equal(fw_safetensors_note(file, "key"), "\"v\"\\");
  fw_safetensors_close(file);
}

/* Tensors without elements may share a place; the longest header; what is not a file. */
static void at_the_edges(void **state) {
  (void)state;
  fw_safetensors *file = NULL;
  unsigned char head[16] = {0};
  furrow_error err;
  make_file("e.safetensors",
            "{\"c\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
            "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
            "\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
            4);
  assert_int_equal(fw_safetensors_open(&file, "e.safetensors", NULL), FURROW_OK);
  assert_string_equal(fw_safetensors_tensor(file, 0)->name, "a");
  assert_string_equal(fw_safetensors_tensor(file, 1)->name, "c");
  assert_string_equal(fw_safetensors_tensor(file, 2)->name, "b");
  fw_safetensors_close(file);
  fw_put_le64(head, 9);
  assert_true(test_write_file("e.safetensors", head, sizeof head));
  assert_int_equal(fw_safetensors_open(&file, "e.safetensors", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "a header of 9 bytes: not a safetensors file");
  assert_int_equal(fw_safetensors_open(&file, ".", &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "a directory, not a file"));
}

/* A file of nothing, one of notes only, and one whose place for the header is too small. */
static void written_edges(void **state) {
  (void)state;
  static const char *const notes[] = {NULL, "a note", "\x01\"\\\x7f"};
  for (size_t i = 0; i < 3; i++) {
    fw_safetensors_writer *w = NULL;
    fw_safetensors *file = NULL;
    const size_t capacity = notes[i] ? fw_safetensors_text("key") + fw_safetensors_text(notes[i]) : 0;
    assert_int_equal(fw_safetensors_writer_open(&w, "w.safetensors", capacity, true, NULL), FURROW_OK);
    if (notes[i]) assert_int_equal(fw_safetensors_writer_note(w, "key", notes[i], NULL), FURROW_OK);
    assert_int_equal(fw_safetensors_writer_commit(w, NULL), FURROW_OK);
    fw_safetensors_writer_close(w);
    assert_int_equal(fw_safetensors_open(&file, "w.safetensors", NULL), FURROW_OK);
    assert_int_equal(fw_safetensors_count(file), 0);
    if (notes[i]) assert_string_equal(fw_safetensors_note(file, "key"), notes[i]);
    fw_safetensors_close(file);
  }
  fw_safetensors_writer *w = NULL;
  furrow_error err;
  char longer[200];
  memset(longer, 'n', sizeof longer);
  longer[sizeof longer - 1] = 0;
  assert_int_equal(fw_safetensors_writer_open(&w, "x.safetensors", 10, false, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_note(w, longer, longer, NULL), FURROW_OK);
  assert_int_equal(fw_safetensors_writer_commit(w, &err), FURROW_E_STATE);
  assert_non_null(strstr(err.message, "the header is longer than the space reserved for it"));
  fw_safetensors_writer_close(w);
  assert_int_equal(access("x.safetensors", F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_hand),      cmocka_unit_test(refused),       cmocka_unit_test(written),
      cmocka_unit_test(at_the_edges), cmocka_unit_test(written_edges),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
