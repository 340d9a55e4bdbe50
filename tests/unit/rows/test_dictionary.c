/* tests/unit/rows/test_dictionary.c: the dictionary file: what it says, and damage of every byte of it. */
#include "support/encoded_rows.h"
#include <stdlib.h>

#include "support/own_dir.h"

#define check(condition) assert_true(condition)
#include "support/hostile_dictionary.h"

#define LOG "memory://log.csv"
#define TABLE "memory://table.csv"

static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\",\"min_count\":2},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\","
    "\"parts\":[\"hour\",\"age\"]},\"n\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":3},"
    "\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"h\":{\"as\":\"category\",\"hash\":4},"
    "\"genre\":{\"as\":\"category\"},\"price\":{\"as\":\"number\",\"scale\":\"standard\"}},"
    "\"tables\":{\"" TABLE "\":\"i\"},\"cross\":[{\"of\":[\"u\",\"t.hour\"],\"bits\":4}],\"history\":2}";

static furrow_encoder *encoder;
static const unsigned char *image;
static size_t image_size;

static int build(void **state) {
  fw_buffer schema = {0};
  const void *bytes = NULL;
  put_text(LOG, "y,u,i,t,n,s,h\n1,a,m1,0,1,p|q,x\n2,a,m2,5000,2,p,y\n3,b,m1,5000,3,,\n4,a,m3,90000,4,q|r,z\n");
  put_text(TABLE, "i,genre,price\nm1,drama,1\nm2,crime,2\n");
  encoder = build_encoder(LOG, schema_text);
  assert_int_equal(fw_encoder_files(encoder, &schema, &bytes, &image_size, NULL), FURROW_OK);
  image = bytes;
  fw_buffer_clear(&schema);
  return enter_dir(state);
}

static int clear(void **state) {
  furrow_encoder_free(encoder);
  return leave_dir(state);
}

static furrow_status try_bytes(const unsigned char *bytes, size_t size, bool make_right, furrow_error *err) {
  return try_image(schema_text, sizeof schema_text - 1, bytes, size, make_right, err);
}

static void whole(void **state) {
  (void)state;
  furrow_error err = {0};
  assert_int_equal(image_size % 8, 0);
  assert_memory_equal(image, "FURROWDC\1\0\0\0", 12);
  assert_int_equal(fw_get_le64(image + FW_DICT_AT_SIZE), image_size);
  assert_int_equal(fw_get_le64(image + FW_DICT_AT_RECORDS), 4);
  assert_int_equal(try_bytes(image, image_size, false, &err), FURROW_OK);
  assert_int_equal(try_bytes(image, image_size, true, &err), FURROW_OK);
}

/* Any single byte that is not as it was, and any end that is cut off, is seen. */
static void damaged(void **state) {
  (void)state;
  unsigned char *copy = malloc(image_size + 8);
  memcpy(copy, image, image_size);
  for (size_t i = 0; i < image_size; i++) {
    furrow_error err = {0};
    copy[i] ^= (unsigned char)(1U << i % 8);
    if (try_bytes(copy, image_size, false, &err) != FURROW_E_FORMAT) fail_msg("byte %zu: %s", i, err.message);
    assert_memory_equal(err.message, "dictionary: ", 12);
    copy[i] = image[i];
  }
  for (size_t size = 0; size < image_size; size++) {
    furrow_error err = {0};
    assert_int_equal(try_bytes(copy, size, false, &err), FURROW_E_FORMAT);
    assert_true(err.offset <= size);
  }
  memset(copy + image_size, 0, 8);
  assert_int_equal(try_bytes(copy, image_size + 8, false, NULL), FURROW_E_FORMAT);
  free(copy);
}

/* With digests that are right: refused, or of use. Most of the bytes of the records are refused. */
static void lying(void **state) {
  (void)state;
  static const unsigned char others[] = {0, 1, 8, 0x7f, 0x80, 0xff};
  unsigned char *copy = malloc(image_size);
  size_t refused = 0, tried = 0;
  memcpy(copy, image, image_size);
  for (size_t i = FW_DICT_AT_FIELDS; i < image_size; i++)
    for (size_t k = 0; k < sizeof others; k++) {
      furrow_error err = {0};
      memcpy(copy, image, image_size);
      if (copy[i] == others[k]) continue;
      copy[i] = others[k];
      const furrow_status status = try_bytes(copy, image_size, true, &err);
      if (status != FURROW_OK && status != FURROW_E_FORMAT && status != FURROW_E_ARGUMENT)
        fail_msg("byte %zu is %u: %s", i, others[k], err.message);
      tried++;
      refused += status != FURROW_OK;
    }
  assert_true(refused > tried / 4);
  for (size_t size = FW_DICT_HEADER; size < image_size; size++) {
    memcpy(copy, image, image_size);
    const furrow_status status = try_bytes(copy, size, true, NULL);
    assert_true(status == FURROW_E_FORMAT || (status == FURROW_OK && size + 8 > image_size));
  }
  free(copy);
}

static void put_u64(unsigned char *bytes, size_t at, uint64_t number) {
  fw_put_le64(bytes + at, number);
}

/* Numbers of eight bytes at every place: none, one more, all bits, far away. */
static void lying_numbers(void **state) {
  (void)state;
  unsigned char *copy = malloc(image_size);
  for (size_t at = FW_DICT_AT_SCHEMA + 8; at + 8 <= image_size; at += 8) {
    const uint64_t was = fw_get_le64(image + at);
    const uint64_t others[] = {0,          was + 1,        was - 1,           was + 8, UINT64_MAX, (uint64_t)1 << 63,
                               image_size, image_size - 8, 0x7ff0000000000000};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
      memcpy(copy, image, image_size);
      put_u64(copy, at, others[k]);
      const furrow_status status = try_bytes(copy, image_size, true, NULL);
      assert_true(status == FURROW_OK || status == FURROW_E_FORMAT || status == FURROW_E_ARGUMENT);
    }
  }
  free(copy);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static void write_other_schema(const char *path) {
  static const char other[] = "{\"columns\":{\"u\":{\"as\":\"category\"}}}";
  assert_true(test_write_text(path, other));
}

/* A kill between the two files leaves a pair that does not belong together: loading refuses it. */
static void other_schema(void **state) {
  (void)state;
  furrow_encoder *loaded = NULL;
  furrow_error err = {0};
  assert_int_equal(furrow_encoder_save(encoder, "d", false, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_load(&loaded, "d", NULL), FURROW_OK);
  furrow_encoder_free(loaded);
  loaded = NULL;
  write_other_schema("d/schema.json");
  assert_int_equal(furrow_encoder_load(&loaded, "d", &err), FURROW_E_FORMAT);
  assert_null(loaded);
  assert_string_equal(err.message, "dictionary: made with another schema than the one stored next to it");
  assert_string_equal(err.file, "d/dictionary.furrow");
}

/* Spaces, comments and the order of members are not what a schema says. */
static void same_schema(void **state) {
  (void)state;
  furrow_encoder *loaded = NULL;
  assert_int_equal(furrow_encoder_save(encoder, "w", false, NULL), FURROW_OK);
  assert_true(test_write_text("w/schema.json", schema_text));
  assert_int_equal(furrow_encoder_load(&loaded, "w", NULL), FURROW_OK);
  furrow_encoder_free(loaded);
}

/* Neither file is replaced if one of them is there. */
static void existing(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_encoder *loaded = NULL;
  assert_int_equal(mkdir("e", 0777), 0);
  write_other_schema("e/schema.json");
  assert_int_equal(furrow_encoder_save(encoder, "e", false, &err), FURROW_E_EXISTS);
  assert_string_equal(err.file, "e/schema.json");
  assert_int_equal(test_entries("e"), 1);
  assert_int_equal(furrow_encoder_load(&loaded, "e", &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_encoder_save(encoder, "e", true, NULL), FURROW_OK);
  assert_int_equal(test_entries("e"), 2);
  assert_int_equal(furrow_encoder_save(encoder, "e", false, &err), FURROW_E_EXISTS);
  assert_string_equal(err.file, "e/dictionary.furrow");
  assert_int_equal(furrow_encoder_load(&loaded, "nowhere", &err), FURROW_E_NOT_FOUND);
  assert_true(test_write_text("file", "x"));
  assert_int_equal(furrow_encoder_save(encoder, "file", true, &err), FURROW_E_IO);
  assert_int_equal(furrow_encoder_save(encoder, "no/such/folder", true, &err), FURROW_E_NOT_FOUND);
}

static void files_refused(void **state) {
  (void)state;
  furrow_error err = {0};
  furrow_encoder *loaded = NULL;
  assert_int_equal(furrow_encoder_save(encoder, "f", false, NULL), FURROW_OK);
  assert_true(test_write_text("f/dictionary.furrow", ""));
  assert_int_equal(furrow_encoder_load(&loaded, "f", &err), FURROW_E_FORMAT);
  assert_string_equal(err.file, "f/dictionary.furrow");
  assert_string_equal(err.message, "dictionary: not a dictionary of Furrow's");
  assert_true(test_write_file("f/dictionary.furrow", image, image_size - 1));
  assert_int_equal(furrow_encoder_load(&loaded, "f", &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "dictionary: cut short, or longer than it says");
  assert_null(loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole),         cmocka_unit_test(damaged),       cmocka_unit_test(lying),
      cmocka_unit_test(lying_numbers), cmocka_unit_test(other_schema),  cmocka_unit_test(same_schema),
      cmocka_unit_test(existing),      cmocka_unit_test(files_refused),
  };
  return cmocka_run_group_tests(tests, build, clear);
}
