/* tests/unit/rows/test_encoder_grow.c: encoders that learn the names of another log: old features stay. */
#include <stdlib.h>
#include <xxhash.h>

#include "base/endian.h"
#include "base/mem.h"
#include "rows/encode/encoder.h"
#include "support/encoded_rows.h"

#define LOG "memory://log.csv"
#define MORE "memory://more.csv"
#define TABLE "memory://table.csv"

static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\","
    "\"parts\":[\"hour\",\"age\"]},\"n\":{\"as\":\"number\",\"scale\":\"standard\"},"
    "\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"genre\":{\"as\":\"category\"}},"
    "\"tables\":{\"" TABLE "\":\"i\"},\"cross\":[{\"of\":[\"u\",\"t.hour\"],\"bits\":4}],\"history\":2}";
static const char first_log[] = "y,u,i,t,n,s\n1,a,m1,0,1,p|q\n0,b,m2,5000,2,p\n1,a,m2,6000,3,\n";
static const char first_table[] = "i,genre\nm1,drama\nm2,crime\n";

static furrow_encoder *grow(const furrow_encoder *encoder, const char *log, const furrow_encoder_params *params,
                            furrow_encoder_growth *growth) {
  furrow_encoder *grown = NULL;
  furrow_error err = {0};
  put_text(MORE, log);
  if (furrow_encoder_grow(&grown, encoder, MORE, params, growth, &err) != FURROW_OK)
    fail_msg("%s %s", err.message, err.token);
  return grown;
}

static furrow_encoder *first_encoder(void) {
  put_text(LOG, first_log);
  put_text(TABLE, first_table);
  return build_encoder(LOG, schema_text);
}

/* The features of an encoder are features of the grown one, under the same indices. */
static void expect_same_features(const furrow_encoder *encoder, const furrow_encoder *grown) {
  assert_true(furrow_encoder_feature_count(grown) >= furrow_encoder_feature_count(encoder));
  for (uint64_t i = 0; i < furrow_encoder_feature_count(encoder); i++) {
    furrow_encoder_feature a, b;
    assert_int_equal(furrow_encoder_get_feature(encoder, i, &a, NULL), FURROW_OK);
    assert_int_equal(furrow_encoder_get_feature(grown, i, &b, NULL), FURROW_OK);
    assert_int_equal(a.field, b.field);
    assert_int_equal(furrow_encoder_field_of(grown, i), a.field);
    assert_int_equal(a.length, b.length);
    assert_true(a.length == 0 || memcmp(a.name, b.name, a.length) == 0);
  }
}

static void expect_entries(const furrow_encoder *encoder) {
  for (size_t f = 0; f < furrow_encoder_field_count(encoder); f++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, f, &field);
    for (uint64_t i = 0; i < field.entries; i++) {
      const uint64_t feature = furrow_encoder_entry(encoder, f, i);
      furrow_encoder_feature found;
      uint64_t index = 0;
      assert_int_equal(furrow_encoder_get_feature(encoder, feature, &found, NULL), FURROW_OK);
      assert_int_equal(found.field, f);
      assert_int_equal(furrow_encoder_entry_of(encoder, f, feature), i);
      assert_int_equal(furrow_encoder_find(encoder, f, found.name, found.length, &index, NULL), FURROW_OK);
      assert_int_equal(index, feature);
    }
    assert_true(furrow_encoder_entry(encoder, f, field.entries) == UINT64_MAX);
  }
  assert_true(furrow_encoder_entry_of(encoder, 0, furrow_encoder_feature_count(encoder)) == UINT64_MAX);
  assert_int_equal(furrow_encoder_field_of(encoder, furrow_encoder_feature_count(encoder)), SIZE_MAX);
}

static void names_are_added(void **state) {
  (void)state;
  furrow_encoder_growth growth;
  furrow_encoder *encoder = first_encoder();
  const uint64_t before = furrow_encoder_feature_count(encoder);
  furrow_encoder_growth_init(&growth);
  put_text(TABLE, "i,genre\nm3,opera\nm2,crime\n");
  furrow_encoder *grown =
      grow(encoder, "y,u,i,t,n,s\n1,c,m3,7000,1,r|p\n0,b,m1,8000,2,q\n1,c,m2,9000,3,\n", NULL, &growth);
  assert_int_equal(growth.names, 4);    /* c, m3, r, opera */
  assert_int_equal(growth.features, 5); /* m3 is in histories, too */
  assert_int_equal(furrow_encoder_feature_count(grown), before + 5);
  assert_string_equal(growth.columns, "");
  assert_int_equal(growth.tables_kept, 0);
  expect_same_features(encoder, grown);
  expect_entries(grown);
  assert_true(fw_dictionary_extends(&grown->dictionary, &encoder->dictionary));
  assert_false(fw_dictionary_extends(&encoder->dictionary, &grown->dictionary));
  furrow_encoder_feature feature;
  uint64_t index = 0;
  assert_int_equal(furrow_encoder_find(grown, 0, "b", 1, &index, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_get_feature(grown, index, &feature, NULL), FURROW_OK);
  assert_int_equal(feature.count, 2);
  furrow_encoder_free(grown);
  furrow_encoder_free(encoder);
}

static char *rows_of(const furrow_encoder *encoder, const char *log) {
  fw_buffer text = {0};
  furrow_error err = {0};
  char *bytes = NULL;
  put_text(MORE, log);
  save_encoder(encoder);
  if (read_encoded(encoder, MORE, "", 1, 0, &text, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(fw_buffer_take(&text, &bytes, NULL, NULL), FURROW_OK);
  fw_buffer_clear(&text);
  return bytes;
}

/* Rows of old names are the same, crosses and tables included; the history goes on. */
static void old_rows_stay(void **state) {
  (void)state;
  static const char old_names[] = "y,u,i,t,n,s\n1,a,m2,9500,7,q|p\n0,b,m1,9600,-1,\n1,zz,m1,9700,2,zz\n";
  furrow_encoder *encoder = first_encoder();
  char *wanted = rows_of(encoder, old_names);
  furrow_encoder *grown = grow(encoder, "y,u,i,t,n,s\n1,c,m3,7000,1,r|p\n0,c,m1,8000,90,q\n", NULL, NULL);
  char *found = rows_of(grown, old_names);
  assert_string_equal(found, wanted);
  fw_free(found);
  fw_free(wanted);
  /* c had m3, then m1 */
  found = rows_of(grown, "y,u,i,t,n,s\n1,c,m2,9000,1,\n");
  assert_non_null(strstr(found, "history=m3:0.7071 history=m1:0.7071"));
  fw_free(found);
  furrow_encoder_free(grown);
  furrow_encoder_free(encoder);
}

/* A log in two parts and then a third: as many names as the whole log has, found under their own features. */
static void grows_again(void **state) {
  (void)state;
  furrow_encoder *encoder = first_encoder();
  furrow_encoder *second = grow(encoder, "y,u,i,t,n,s\n1,c,m3,7000,1,r\n", NULL, NULL);
  furrow_encoder *third = grow(second, "y,u,i,t,n,s\n1,d,m4,9000,1,v|w\n0,c,m3,9001,1,r\n", NULL, NULL);
  expect_same_features(second, third);
  expect_same_features(encoder, third);
  expect_entries(third);
  assert_true(fw_dictionary_extends(&third->dictionary, &encoder->dictionary));
  furrow_encoder *other = grow(encoder, "y,u,i,t,n,s\n1,x,m9,7000,1,r\n", NULL, NULL);
  assert_false(fw_dictionary_extends(&third->dictionary, &other->dictionary));
  save_encoder(third);
  furrow_encoder *loaded = NULL;
  assert_int_equal(furrow_encoder_load(&loaded, ENCODER_PLACE, NULL), FURROW_OK);
  expect_same_features(third, loaded);
  furrow_encoder_free(loaded);
  furrow_encoder_free(other);
  furrow_encoder_free(third);
  furrow_encoder_free(second);
  furrow_encoder_free(encoder);
}

static void tables_that_are_gone(void **state) {
  (void)state;
  furrow_encoder_growth growth;
  furrow_encoder_growth_init(&growth);
  furrow_encoder *encoder = first_encoder();
  assert_int_equal(furrow_memory_file_remove(TABLE, NULL), FURROW_OK);
  furrow_encoder *grown = grow(encoder, "y,u,i,t,n,s\n1,a,m3,7000,1,p\n", NULL, &growth);
  assert_int_equal(growth.tables_kept, 1);
  char *rows = rows_of(grown, "y,u,i,t,n,s\n1,a,m1,7500,1,p\n1,a,m3,7600,1,p\n");
  char *end = strchr(rows, '\n');
  assert_non_null(strstr(rows, "genre=drama"));
  assert_true(strstr(rows, "genre=drama") < end);
  assert_null(strstr(end, "genre="));
  fw_free(rows);
  furrow_encoder_free(grown);
  furrow_encoder_free(encoder);
}

static void the_limit(void **state) {
  (void)state;
  static const char schema[] = "{\"columns\":{\"y\":{\"as\":\"label\"},\"a\":{\"as\":\"category\"}}}";
  furrow_encoder_params params;
  uint64_t left_out = 0;
  furrow_encoder *encoder = NULL;
  furrow_encoder_params_init(&params);
  params.names_left_out = &left_out;
  params.max_features = 5;
  put_text(LOG, "y,a\n1,k\n1,k\n0,l\n0,m\n1,n\n0,n\n1,n\n");
  assert_int_equal(try_build(&encoder, LOG, schema, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_feature_count(encoder), 5);
  assert_int_equal(left_out, 1);
  expect_rows(encoder, LOG, "", "1 a=k\n1 a=k\n0 a=l\n0 a=(unknown)\n1 a=n\n0 a=n\n1 a=n\n");
  params.max_features = 6;
  furrow_encoder *grown = grow(encoder, "y,a\n1,p\n1,q\n1,q\n0,k\n", &params, NULL);
  assert_int_equal(furrow_encoder_feature_count(grown), 6);
  assert_int_equal(left_out, 1);
  expect_rows(grown, MORE, "", "1 a=(unknown)\n1 a=q\n1 a=q\n0 a=k\n");
  furrow_encoder_free(grown);
  params.max_features = 3; /* fewer than there are: nothing is added */
  grown = grow(encoder, "y,a\n1,p\n1,q\n1,q\n0,k\n", &params, NULL);
  assert_int_equal(furrow_encoder_feature_count(grown), 5);
  assert_int_equal(left_out, 2);
  furrow_encoder_free(grown);
  furrow_encoder_free(encoder);
}

static void other_columns(void **state) {
  (void)state;
  furrow_encoder_growth growth;
  furrow_encoder *grown = NULL;
  furrow_error err = {0};
  furrow_encoder_growth_init(&growth);
  furrow_encoder *encoder = first_encoder();
  put_text(MORE, "y,u,i,t,n\n1,c,m1,7000,1\n");
  assert_int_equal(furrow_encoder_grow(&grown, encoder, MORE, NULL, NULL, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "the schema has columns that the data does not have: s");
  put_text(MORE, "{\"y\":1,\"u\":\"c\",\"i\":\"m1\",\"t\":7000,\"s\":\"p\"}\n");
  assert_int_equal(furrow_encoder_grow(&grown, encoder, MORE, NULL, NULL, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "no record has the column n of the schema");
  assert_null(grown);
  grown = grow(encoder, "y,u,price,i,t,n,s,device\n1,c,9,m1,7000,1,p,phone\n", NULL, &growth);
  assert_string_equal(growth.columns, "price, device");
  furrow_encoder_free(grown);
  furrow_encoder_free(encoder);
}

/* ---- Damaged lists of added features -------------------------------------------------------------------- */

typedef struct damage {
  size_t at; /* in the field's record, or (list) in the list of added features */
  bool list;
  uint64_t number;
  const char *message;
} damage;

static furrow_status open_damaged(const furrow_encoder *grown, size_t field, const damage *wrong, furrow_error *err) {
  const fw_dictionary *d = &grown->dictionary;
  fw_dictionary opened;
  unsigned char *image = malloc(d->size);
  assert_non_null(image);
  memcpy(image, d->image, d->size);
  const size_t record = FW_DICT_HEADER + field * FW_DICT_FIELD_GROWN;
  const size_t list = (size_t)fw_get_le64(image + record + FW_DICT_FIELD_ADDED);
  fw_put_le64(image + (wrong->list ? list : record) + wrong->at, wrong->number);
  fw_put_le64(image + FW_DICT_AT_DIGEST, XXH3_64bits(image + FW_DICT_AT_SCHEMA, d->size - FW_DICT_AT_SCHEMA));
  const furrow_status status = fw_dictionary_open(&opened, grown->schema, image, d->size, err);
  if (status == FURROW_OK) fw_dictionary_clear(&opened);
  return status;
}

static void damaged(void **state) {
  (void)state;
  furrow_encoder *encoder = first_encoder();
  furrow_encoder *grown = grow(encoder, "y,u,i,t,n,s\n1,c,m3,7000,1,r\n0,d,m4,8000,2,q\n", NULL, NULL);
  const uint64_t own = grown->dictionary.own_features, all = grown->dictionary.features;
  const damage list[] = {
      {FW_DICT_FIELD_ADDED_COUNT, false, 99, "a field has more added features than features"},
      {FW_DICT_FIELD_ADDED_COUNT, false, 1, "the features of a field do not follow the previous field's"},
      {FW_DICT_FIELD_ADDED, false, 1, "a section lies outside of the file"},
      {FW_DICT_FIELD_ADDED, false, UINT64_MAX - 7, "a section lies outside of the file"},
      {0, true, own - 1, "an added feature has the index of another one"},
      {0, true, all, "an added feature has the index of another one"},
      {8, true, own, "an added feature has the index of another one"},
      {8, true, own + 2, "an added feature has the index of another one"}, /* it is an item's */
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    furrow_error err = {0};
    assert_int_equal(open_damaged(grown, 0, &list[i], &err), FURROW_E_FORMAT);
    if (!strstr(err.message, list[i].message)) fail_msg("%zu: %s", i, err.message);
  }
  furrow_encoder_free(grown);
  furrow_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_added), cmocka_unit_test(old_rows_stay),
      cmocka_unit_test(grows_again),     cmocka_unit_test(tables_that_are_gone),
      cmocka_unit_test(the_limit),       cmocka_unit_test(other_columns),
      cmocka_unit_test(damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
