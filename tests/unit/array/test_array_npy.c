/* tests/unit/array/test_array_npy.c: npy files: headers of all versions, types and orders; what is refused; writing. */
#include <math.h>

#include "array/array.h"
#include "array/npy.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* A file with this text as its dictionary, and some bytes behind it. */
static void make_npy(const char *path, int version, const char *dictionary, const void *data, size_t size) {
  unsigned char file[4096] = "\x93NUMPY";
  const size_t length = strlen(dictionary), prefix = version == 1 ? 10 : 12;
  file[6] = (unsigned char)version;
  if (version == 1)
    fw_put_le16(file + 8, (uint16_t)length);
  else
    fw_put_le32(file + 8, (uint32_t)length);
  memcpy(file + prefix, dictionary, length);
  memcpy(file + prefix + length, data, size);
  assert_true(test_write_file(path, file, prefix + length + size));
}

static fw_array_reader *open_good(const char *path) {
  fw_array_reader *reader = NULL;
  furrow_error err;
  if (fw_array_open(&reader, path, FW_ARRAY_AUTO, &err) != FURROW_OK) fail_msg("%s: %s", path, err.message);
  return reader;
}

static const float six[] = {1, -2, 3.5f, 0, INFINITY, 1e-40f};

/* A file with them, as "<f4". */
static void make_six(const char *path, int version, const char *dictionary) {
  float little[6];
  memcpy(little, six, sizeof six);
  fw_swap_le(little, sizeof *little, 6);
  make_npy(path, version, dictionary, little, sizeof little);
}

static void versions_and_spellings(void **state) {
  (void)state;
  static const char *const texts[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n",
      "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
      "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3,)}\n",
      "{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2L , 3L ) }\n",
      "{\t'descr':\r\n'<f4',\t'fortran_order':False, 'shape':(2,3)}\r\n",
  };
  for (int version = 1; version <= 3; version++) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
      float rows[2][3];
      size_t got;
      make_six("a.npy", version, texts[i]);
      fw_array_reader *r = open_good("a.npy");
      const fw_array_info *info = fw_array_get_info(r);
      assert_int_equal(info->rows, 2);
      assert_int_equal(info->dim, 3);
      assert_int_equal(info->type, FW_ARRAY_F32);
      assert_true(info->can_seek && !info->flat);
      assert_int_equal(fw_array_read(r, rows, 1, &got, NULL), FURROW_OK);
      assert_int_equal(got, 1);
      assert_memory_equal(rows, six, 12);
      assert_int_equal(fw_array_read(r, rows, 5, &got, NULL), FURROW_OK);
      assert_int_equal(got, 1);
      assert_memory_equal(rows, six + 3, 12);
      assert_int_equal(fw_array_read(r, rows, 5, &got, NULL), FURROW_OK);
      assert_int_equal(got, 0);
      assert_int_equal(fw_array_seek(r, 0, NULL), FURROW_OK);
      assert_int_equal(fw_array_read(r, rows, 2, &got, NULL), FURROW_OK);
      assert_memory_equal(rows, six, sizeof six);
      fw_array_close(r);
    }
  }
}

static void types_and_byte_orders(void **state) {
  (void)state;
  static const struct {
    const char *descr;
    unsigned char bytes[8];
    double value;
  } cases[] = {
      {"<f2", {0x00, 0xc2}, -3},
      {">f2", {0x35, 0x55}, 0.333251953125},
      {"<f2", {0x01, 0x00}, 0x1p-24}, /* the smallest */
      {"<f2", {0xff, 0x83}, -1023 * 0x1p-24},
      {"<f2", {0x00, 0x04}, 0x1p-14}, /* the smallest that is normal */
      {"<f2", {0xff, 0x7b}, 65504},
      {"<f2", {0x00, 0xfc}, -INFINITY},
      {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, -1.5},
      {">f8", {0xbf, 0xf8, 0, 0, 0, 0, 0, 0}, -1.5},
      {">f4", {0x40, 0x20, 0, 0}, 2.5},
      {"<i8", {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -2},
      {">i4", {0, 0, 1, 2}, 258},
      {"<i2", {0xff, 0xff}, -1},
      {"|i1", {0x80}, -128},
      {"<u8", {7}, 7},
      {"<u4", {0xff, 0xff, 0xff, 0xff}, 4294967295.0},
      {">u2", {1, 0}, 256},
      {"|u1", {0xff}, 255},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[100];
    size_t got;
    double value;
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': True, 'shape': (1,)}", cases[i].descr);
    make_npy("t.npy", 1, text, cases[i].bytes, (size_t)(cases[i].descr[2] - '0'));
    fw_array_reader *r = open_good("t.npy");
    assert_true(fw_array_get_info(r)->flat);
    assert_int_equal(fw_array_read_as(r, FW_ARRAY_F64, &value, 1, &got, NULL), FURROW_OK);
    assert_true(value == cases[i].value);
    fw_array_close(r);
  }
}

static void refuse(const char *path, furrow_status wanted, const char *message) {
  fw_array_reader *reader = NULL;
  furrow_error err;
  const furrow_status status = fw_array_open(&reader, path, FW_ARRAY_AUTO, &err);
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s, %s; not %s, %s", furrow_status_name(status), err.message, furrow_status_name(wanted), message);
  assert_int_equal(fw_array_open(&reader, path, FW_ARRAY_AUTO, NULL), wanted);
  assert_null(reader);
  assert_non_null(strstr(err.file, path));
}

static void refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    furrow_status status;
    const char *message;
  } cases[] = {
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", FURROW_E_UNSUPPORTED, "in Fortran order"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", FURROW_E_UNSUPPORTED, "type 'O'"},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3)}", FURROW_E_UNSUPPORTED, "type 'b1'"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", FURROW_E_UNSUPPORTED, "type 'c8'"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", FURROW_E_UNSUPPORTED, "structured"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3)}", FURROW_E_UNSUPPORTED, "3 dimensions"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", FURROW_E_FORMAT,
       "2 rows of 16 bytes are announced"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", FURROW_E_FORMAT, "24 bytes are there"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", FURROW_E_FORMAT, "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", FURROW_E_FORMAT, "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999999,)}", FURROW_E_RANGE, "64 bits"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 0)}", FURROW_E_FORMAT, "no elements"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", FURROW_E_FORMAT, "not a tuple of numbers"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", FURROW_E_FORMAT, "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [6]}", FURROW_E_FORMAT, "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", FURROW_E_FORMAT, "not a tuple of numbers"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", FURROW_E_FORMAT, "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False}", FURROW_E_FORMAT, "lacks"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", FURROW_E_FORMAT, "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}", FURROW_E_FORMAT, "a key that is none"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", FURROW_E_FORMAT, "not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x", FURROW_E_FORMAT, "after its dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", FURROW_E_FORMAT, "not a dictionary"},
      {"{'descr': '<f4", FURROW_E_FORMAT, "not a string"},
      {"{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (6,)}", FURROW_E_FORMAT, "not a string"},
      {"", FURROW_E_FORMAT, "not a dictionary"},
      {"{'descr': {'names': ['a']}, 'fortran_order': False, 'shape': (6,)}", FURROW_E_UNSUPPORTED, "structured"},
      {"{'descr': 'f', 'fortran_order': False, 'shape': (6,)}", FURROW_E_UNSUPPORTED, "type of elements"},
      {"{'descr': 'xf4', 'fortran_order': False, 'shape': (6,)}", FURROW_E_UNSUPPORTED, "type of elements"},
      {"{'descr': '<U123456789012345678901234567890123456789', 'shape': (6,)}", FURROW_E_UNSUPPORTED,
       "type of elements"},
      {"{'descr': 5, 'fortran_order': False, 'shape': (6,)}", FURROW_E_FORMAT, "not a string"},
      {"{'descr': ", FURROW_E_FORMAT, "not a string"},
      {"{descr: '<f4', 'fortran_order': False, 'shape': (6,)}", FURROW_E_FORMAT, "not a dictionary"},
      {"{'descr' '<f4', 'fortran_order': False, 'shape': (6,)}", FURROW_E_FORMAT, "not a dictionary"},
      {"{'descr': '<f4', 'fortran_order': Fals", FURROW_E_FORMAT, "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (:6,)}", FURROW_E_FORMAT, "not a tuple of numbers"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,", FURROW_E_FORMAT, "not a tuple of numbers"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (6", FURROW_E_FORMAT, "not a tuple of numbers"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4611686018427387904)}", FURROW_E_FORMAT, "too large"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 9223372036854775808)}", FURROW_E_FORMAT, "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
       "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
       FURROW_E_FORMAT, "too many dimensions"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    make_npy("bad.npy", 1 + (int)(i % 3), cases[i].text, six, sizeof six);
    refuse("bad.npy", cases[i].status, cases[i].message);
  }
  assert_true(test_write_text("bad.npy", "\x93NUMPY\1"));
  refuse("bad.npy", FURROW_E_FORMAT, "ends within the header");
  assert_true(test_write_file("bad.npy", "\x93NUMPY\1\0\xff\xff{", 11));
  refuse("bad.npy", FURROW_E_FORMAT, "ends within its header of 65535 bytes");
  assert_true(test_write_file("bad.npy", "\x93NUMPY\2\0\xff\xff\xff\xff{", 13));
  refuse("bad.npy", FURROW_E_FORMAT, "too long");
  assert_true(test_write_file("bad.npy", "\x93NUMPY\4\0\1\0{", 11));
  refuse("bad.npy", FURROW_E_UNSUPPORTED, "version 4.0");
  assert_true(test_write_file("bad.npy", "\x93NUMPY\0\0\1\0{", 11));
  refuse("bad.npy", FURROW_E_UNSUPPORTED, "version 0.0");
  assert_true(test_write_file("bad.npy", "\x93NUMPY\1\1\1\0{", 11));
  refuse("bad.npy", FURROW_E_UNSUPPORTED, "version 1.1");
  assert_true(test_write_file("bad.npy", "\x93NUMPY\2\0\1\0", 10));
  refuse("bad.npy", FURROW_E_FORMAT, "ends within the header");
  assert_int_equal(mkdir("bad.d.npy", 0755), 0);
  refuse("bad.d.npy", FURROW_E_NOT_FOUND, "the directory has no files");
  assert_true(test_write_text("bad.npy", "hello, I am a text\n"));
  refuse("bad.npy", FURROW_E_FORMAT, "no npy file");
  assert_true(test_write_text("bad.txt", "x"));
  refuse("bad.txt", FURROW_E_ARGUMENT, ".fbin");
  refuse("none.npy", FURROW_E_NOT_FOUND, "");
}

static void write_and_read(const char *path, fw_array_type type, bool known, bool flat) {
  const fw_array_write_params params = {
      FW_ARRAY_NPY, type, flat ? 1 : 3, flat, known ? (flat ? 6 : 2) : FW_ARRAY_UNKNOWN, true};
  fw_array_writer *w = NULL;
  char out[48], in[48];
  size_t got;
  assert_int_equal(fw_array_convert(FW_ARRAY_I64, out, FW_ARRAY_F32, six, 2), 2);
  memset(out, 0x11, sizeof out);
  assert_int_equal(fw_array_writer_open(&w, path, &params, NULL), FURROW_OK);
  const size_t size = fw_array_type_size(type);
  assert_int_equal(fw_array_writer_put(w, out, 2, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_put(w, out + 2 * size, 4, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_rows(w), flat ? 6 : 2);
  assert_int_equal(fw_array_writer_bytes(w), FW_NPY_HEADER + 6 * size);
  assert_int_equal(fw_array_writer_commit(w, NULL), FURROW_OK);
  fw_array_writer_close(w);
  fw_array_reader *r = open_good(path);
  assert_int_equal(fw_array_get_info(r)->type, type);
  assert_int_equal(fw_array_get_info(r)->flat, flat);
  assert_int_equal(fw_array_read(r, in, 6, &got, NULL), FURROW_OK);
  assert_int_equal(got, flat ? 6 : 2);
  assert_memory_equal(in, out, 6 * size);
  fw_array_close(r);
}

static void written(void **state) {
  (void)state;
  for (fw_array_type t = 0; t < FW_ARRAY_TYPE_COUNT; t++) {
    for (int i = 0; i < 4; i++) write_and_read("w.npy", t, i & 1, i & 2);
  }
  /* the bytes, once */
  char head[FW_NPY_HEADER + 1] = {0};
  fw_npy_write_header(head, "<f4", 2, 10, 20);
  assert_memory_equal(head, "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (10, 20), }   ", 70);
  assert_int_equal(head[127], '\n');
  fw_npy_write_header(head, "|S3", 0, 0, 0);
  assert_non_null(strstr(head + 10, "'shape': (), }"));
  fw_npy_write_header(head, "<f4", 2, UINT64_MAX, UINT64_MAX);
  assert_int_equal(head[127], '\n');
}

static void not_written(void **state) {
  (void)state;
  fw_array_write_params params = {FW_ARRAY_NPY, FW_ARRAY_F32, 3, false, 2, false};
  fw_array_writer *w = NULL;
  assert_int_equal(fw_array_writer_open(&w, "n.npy", &params, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_put(w, six, 3, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_commit(w, NULL), FURROW_E_STATE);
  assert_int_equal(fw_array_writer_put(w, six, 1, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_commit(w, NULL), FURROW_E_STATE);
  fw_array_writer_close(w);
  assert_int_equal(access("n.npy", F_OK), -1);
  params.rows = FW_ARRAY_UNKNOWN;
  assert_int_equal(fw_array_writer_open(&w, "-", &params, NULL), FURROW_E_STATE);
  assert_true(test_write_text("n.npy", "kept"));
  assert_int_equal(fw_array_writer_open(&w, "n.npy", &params, NULL), FURROW_OK);
  assert_int_equal(fw_array_writer_commit(w, NULL), FURROW_E_EXISTS);
  fw_array_writer_close(w);
}

/* One number: no dimension at all. A type of this machine's own byte order. */
static void scalar(void **state) {
  (void)state;
  const float number = 2.5f;
  void *all = NULL;
  size_t count = 0;
  make_npy("s.npy", 1, "{'descr': '=f4', 'fortran_order': False, 'shape': ()}", &number, sizeof number);
  fw_array_reader *r = open_good("s.npy");
  assert_int_equal(fw_array_read_flat(r, FW_ARRAY_F64, &all, &count, NULL), FURROW_OK);
  assert_int_equal(count, 1);
  assert_true(*(double *)all == 2.5);
  free(all);
  fw_array_close(r);
}

/* Elements that do not fit are named: by rows, in a part of a row, all at once. */
static void elements_that_do_not_fit(void **state) {
  (void)state;
  static const struct {
    const char *descr;
    unsigned char bytes[8];
    fw_array_type as;
    const char *token, *kind;
  } cases[] = {
      {"<f8", {0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, FW_ARRAY_I32, "inf", "a 32-bit integer"},
      {"<f8", {0, 0, 0, 0, 0, 0, 0xe0, 0x7f}, FW_ARRAY_F32, "8.98846567431158e+307", "a 32-bit float"},
      {"<f4", {0, 0, 0x80, 0x7f}, FW_ARRAY_I64, "inf", "a 64-bit integer"},
      {"<f4", {0, 0, 0, 0x50}, FW_ARRAY_I32, "8589934592", "a 32-bit integer"},
      {"<f4", {0, 0, 0, 0x7f}, FW_ARRAY_I64, "1.7014118e+38", "a 64-bit integer"},
      {"<f2", {0x00, 0x7e}, FW_ARRAY_I32, "nan", "a 32-bit integer"},
      {">i8", {0, 0, 0, 1, 0, 0, 0, 0}, FW_ARRAY_I32, "4294967296", "a 32-bit integer"},
      {"<u4", {0, 0, 0, 0x80}, FW_ARRAY_I32, "2147483648", "a 32-bit integer"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[128];
    unsigned char data[24] = {0};
    int64_t out[3];
    size_t got = 77;
    furrow_error err;
    const size_t element = (size_t)(cases[i].descr[2] - '0');
    memcpy(data + 2 * element, cases[i].bytes, element);
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 3)}", cases[i].descr);
    make_npy("f.npy", 1, text, data, 3 * element);
    fw_array_reader *r = open_good("f.npy");
    for (int way = 0; way < 2; way++) {
      const furrow_status status = way ? fw_array_read_part(r, 0, 1, 2, cases[i].as, out, &err)
                                       : fw_array_read_as(r, cases[i].as, out, 1, &got, &err);
      assert_int_equal(status, FURROW_E_RANGE);
      assert_int_equal(got, 77);
      if (strcmp(err.token, cases[i].token) != 0 || !strstr(err.message, cases[i].kind))
        fail_msg("%zu, %d: %s: %s", i, way, err.message, err.token);
      assert_non_null(strstr(err.message, "element 2 of vector 0"));
    }
    fw_array_close(r);
  }
}

/* All at once are only elements of one column. */
static void not_flat(void **state) {
  (void)state;
  furrow_error err;
  void *all = NULL;
  size_t count = 0;
  make_six("n.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}");
  fw_array_reader *r = open_good("n.npy");
  assert_int_equal(fw_array_read_flat(r, FW_ARRAY_F64, &all, &count, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "rows of 3 elements, but one is expected"));
  fw_array_close(r);
  make_npy("n.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", "", 0);
  r = open_good("n.npy");
  assert_int_equal(fw_array_read_flat(r, FW_ARRAY_F64, &all, &count, NULL), FURROW_OK);
  assert_int_equal(count, 0);
  free(all);
  fw_array_close(r);
}

static void parts_of_rows(void **state) {
  (void)state;
  make_six("p.npy", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}");
  fw_array_reader *r = open_good("p.npy");
  double part[2];
  size_t got;
  float row[3];
  assert_int_equal(fw_array_read_part(r, 1, 1, 2, FW_ARRAY_F64, part, NULL), FURROW_OK);
  assert_true(isinf(part[0]) && part[1] == (double)1e-40f);
  assert_int_equal(fw_array_read_part(r, 0, 1, 2, FW_ARRAY_F64, part, NULL), FURROW_OK);
  assert_true(part[0] == -2 && part[1] == 3.5);
  assert_int_equal(fw_array_seek(r, 1, NULL), FURROW_OK);
  assert_int_equal(fw_array_read(r, row, 1, &got, NULL), FURROW_OK);
  assert_memory_equal(row, six + 3, 12);
  assert_int_equal(fw_array_seek(r, 3, NULL), FURROW_E_ARGUMENT);
  fw_array_close(r);
}

static void conversion(void **state) {
  (void)state;
  const double reals[] = {0.5, 1.5, -2.5, 2147483647.4, 2147483647.5, 9.3e18, NAN, 1e300};
  int32_t i32[4];
  int64_t i64[8];
  float f32[8];
  assert_int_equal(fw_array_convert(FW_ARRAY_I32, i32, FW_ARRAY_F64, reals, 4), 4);
  assert_int_equal(i32[0], 0);
  assert_int_equal(i32[1], 2);
  assert_int_equal(i32[2], -2);
  assert_int_equal(i32[3], INT32_MAX);
  assert_int_equal(fw_array_convert(FW_ARRAY_I32, i32, FW_ARRAY_F64, reals + 4, 1), 0);
  assert_int_equal(fw_array_convert(FW_ARRAY_I64, i64, FW_ARRAY_F64, reals, 8), 5);
  assert_int_equal(fw_array_convert(FW_ARRAY_I64, i64, FW_ARRAY_F64, reals + 6, 1), 0);
  assert_int_equal(fw_array_convert(FW_ARRAY_F32, f32, FW_ARRAY_F64, reals, 8), 7);
  assert_true(isnan(f32[6]));
  const uint64_t large[] = {1, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1};
  assert_int_equal(fw_array_convert(FW_ARRAY_I64, i64, FW_ARRAY_U64, large, 3), 2);
  assert_int_equal(fw_array_convert(FW_ARRAY_I32, i32, FW_ARRAY_U64, large, 3), 1);
  const int64_t wide[] = {INT32_MIN, INT32_MAX, (int64_t)INT32_MAX + 1};
  assert_int_equal(fw_array_convert(FW_ARRAY_I32, i32, FW_ARRAY_I64, wide, 3), 2);
  char text[32];
  fw_array_element_text(text, FW_ARRAY_U64, large, 2);
  assert_string_equal(text, "9223372036854775808");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_and_spellings),
      cmocka_unit_test(types_and_byte_orders),
      cmocka_unit_test(refused),
      cmocka_unit_test(written),
      cmocka_unit_test(not_written),
      cmocka_unit_test(scalar),
      cmocka_unit_test(elements_that_do_not_fit),
      cmocka_unit_test(not_flat),
      cmocka_unit_test(parts_of_rows),
      cmocka_unit_test(conversion),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
