/* tests/unit/model/test_format_registry.c: formats of matrices by name: built in, registered, loaded. */
#include "furrow/io.h"
#include "furrow/model.h"
#include "support/cmocka_all.h"
#include "support/matrix_records.h"
#include "support/test_env.h"

static const furrow_matrix_format *find(const char *name) {
  const furrow_matrix_format *format = NULL;
  furrow_error err;
  const furrow_status status = furrow_matrix_format_find(name, &format, &err);
  if (status == FURROW_OK) return format;
  assert_int_equal(status, FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.hint, "TextColumn"));
  assert_null(format);
  return NULL;
}

/* ---- Built in ------------------------------------------------------------------------------------------- */

static void test_built_in(void **state) {
  (void)state;
  static const char *const classes[] = {
      "ValueBinaryRowFormat",         "ColIdValueBinaryRowFormat", "RowIdColIdValueBinaryRowFormat",
      "BinaryColumnFormat",           "ValueTextRowFormat",        "ColIdValueTextRowFormat",
      "RowIdColIdValueTextRowFormat", "TextColumnFormat",          "SnapshotFormat"};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    char class_name[128], plain[64];
    snprintf(class_name, sizeof class_name, "com.tencent.angel.model.output.format.%s", classes[i]);
    const furrow_matrix_format *format = find(class_name);
    assert_non_null(format);
    assert_string_equal(format->name, classes[i]);
    assert_ptr_equal(find(classes[i]), format);
    assert_ptr_equal(furrow_matrix_format_at(i), format);
    snprintf(plain, sizeof plain, "%s", classes[i]);
    *strstr(plain, "Format") = 0;
    assert_ptr_equal(find(plain), format);
    if (strstr(plain, "Row") && strcmp(strstr(plain, "Row"), "Row") == 0) *strstr(plain, "Row") = 0;
    assert_ptr_equal(find(plain), format);
    for (char *c = plain; *c; c++) *c |= 0x20;
    assert_ptr_equal(find(plain), format);
    assert_true((format->encode == NULL) == (strcmp(classes[i], "SnapshotFormat") == 0));
    assert_true((format->flags & FURROW_MATRIX_FORMAT_TEXT) == 0 || strstr(classes[i], "Text"));
  }
  assert_ptr_equal(find("furrow.Angel1Format"), find("Angel1"));
  assert_null(find("Angel1")->encode);
  assert_null(find("com.example.TextColumnFormat"));
  assert_null(find(""));
  assert_null(find("Format"));
  assert_null(find("Text"));
}

static void test_error_has_the_name(void **state) {
  (void)state;
  const furrow_matrix_format *format;
  furrow_error err;
  assert_int_equal(furrow_matrix_format_find("NoSuchFormat", &format, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(err.token, "NoSuchFormat");
  assert_int_equal(furrow_matrix_format_find("NoSuchFormat", &format, NULL), FURROW_E_NOT_FOUND);
}

/* ---- Registered ----------------------------------------------------------------------------------------- */

static void size_of_one(const furrow_matrix_format_context *context, size_t *least, size_t *most) {
  (void)context;
  *least = *most = 1;
}

static furrow_status decode_nothing(const furrow_matrix_format_context *context, const char *bytes, size_t size,
                                    bool last, size_t *used, furrow_matrix_records *records, furrow_error *err) {
  (void)context, (void)bytes, (void)last, (void)err;
  *used = size;
  records->count = 0;
  return FURROW_OK;
}

static furrow_matrix_format own_format(const char *name, const char *class_name) {
  return (furrow_matrix_format){.size = sizeof(furrow_matrix_format),
                                .name = name,
                                .class_name = class_name,
                                .about = "nothing",
                                .record_size = size_of_one,
                                .decode = decode_nothing};
}

static void test_register(void **state) {
  (void)state;
  const furrow_matrix_format mine = own_format("MineFormat", "org.example.MineFormat");
  size_t count = 0;
  while (furrow_matrix_format_at(count)) count++;
  assert_int_equal(furrow_matrix_format_register(&mine, NULL), FURROW_OK);
  const furrow_matrix_format *copy = find("MineFormat");
  assert_non_null(copy);
  assert_memory_equal(copy, &mine, sizeof mine);
  assert_ptr_equal(find("mine"), copy);
  assert_ptr_equal(find("org.example.MineFormat"), copy);
  assert_ptr_equal(furrow_matrix_format_at(count), copy);
  assert_null(furrow_matrix_format_at(count + 1));
  assert_int_equal(furrow_matrix_format_register(&mine, NULL), FURROW_E_EXISTS);
  assert_null(furrow_matrix_format_at(count + 1));
}

static void test_names_that_are_taken(void **state) {
  (void)state;
  static const char *const names[][2] = {{"TextColumnFormat", "org.example.TextColumnFormat"},
                                         {"TextColumn", "org.example.TextColumn"},
                                         {"textcolumnROWformat", "textcolumnROWformat"},
                                         {"ValueText", "ValueText"}};
  for (size_t i = 0; i < 4; i++) {
    const furrow_matrix_format format = own_format(names[i][0], names[i][1]);
    furrow_error err;
    assert_int_equal(furrow_matrix_format_register(&format, &err), FURROW_E_EXISTS);
    assert_non_null(strstr(err.message, names[i][0]));
  }
}

static void test_incomplete(void **state) {
  (void)state;
  const furrow_matrix_format whole = own_format("WholeFormat", "org.example.WholeFormat");
  furrow_matrix_format bad[12];
  for (size_t i = 0; i < 12; i++) bad[i] = whole;
  bad[0].size = 0;
  bad[1].name = NULL;
  bad[2].name = "";
  bad[3].name = bad[3].class_name = "2Format";
  bad[4].name = bad[4].class_name = "My-Format";
  bad[5].class_name = NULL;
  bad[6].class_name = "org.example.OtherFormat";
  bad[7].about = NULL;
  bad[8].record_size = NULL;
  bad[9].decode = NULL;
  bad[10].flags = 1 << 10;
  bad[11].flags = FURROW_MATRIX_FORMAT_BY_COLUMN;
  for (size_t i = 0; i < 12; i++) {
    furrow_error err = {0};
    assert_int_equal(furrow_matrix_format_register(&bad[i], &err), FURROW_E_ARGUMENT);
    assert_true(err.message[0]);
  }
  assert_null(find("WholeFormat"));
}

/* A table that was compiled with an older header ends before the last function; one of a newer header is refused. */
static void test_other_versions(void **state) {
  (void)state;
  furrow_error err;
  furrow_matrix_format older = own_format("OlderFormat", "org.example.OlderFormat");
  older.size = offsetof(furrow_matrix_format, encode);
  memset((char *)&older + older.size, 0xff, sizeof older - older.size); /* not a part of it */
  assert_int_equal(furrow_matrix_format_register(&older, &err), FURROW_OK);
  assert_non_null(find("OlderFormat"));
  assert_true(find("OlderFormat")->encode == NULL);
  assert_int_equal(find("OlderFormat")->size, sizeof(furrow_matrix_format));
  furrow_matrix_format newer = own_format("NewerFormat", "org.example.NewerFormat");
  newer.size = sizeof newer + 8;
  assert_int_equal(furrow_matrix_format_register(&newer, &err), FURROW_E_UNSUPPORTED);
  assert_null(find("NewerFormat"));
}

/* ---- Loaded --------------------------------------------------------------------------------------------- */

static furrow_status load(const char *name, furrow_error *err) {
  char path[TEST_PATH];
  const char *build = getenv("FURROW_BUILD");
  if (!build) skip();
  snprintf(path, sizeof path, "%s/tests/plugin/%s", build, name);
  return furrow_plugin_load(path, err);
}

static void test_plugin(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(load("plugin_good.so", &err), FURROW_OK);
  const furrow_matrix_format *format = find("BytePairs");
  assert_non_null(format);
  assert_ptr_equal(find("org.example.BytePairsFormat"), format);
  const furrow_matrix_format_context context = {.type = FURROW_ELEMENT_I32, .key_bits = 32, .record_values = 1};
  record_list list = decode_windows(format, &context, "\1\2\3\4", 4, 1, 9, decode_by_format);
  assert_int_equal(list.count, 2);
  assert_int_equal(list.col_ids[1], 3);
  assert_int_equal(((const int32_t *)list.elements)[1], 4);
  record_list_clear(&list);
  assert_int_equal(load("plugin_good.so", &err), FURROW_E_EXISTS);
  assert_non_null(strstr(err.file, "plugin_good.so"));
}

static void test_plugins_refused(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(load("plugin_newer.so", &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "furrow_matrix_format was not initialised, or is of a newer version"));
  assert_int_equal(load("plugin_nothing.so", &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "furrow_plugin_matrix_formats"));
  assert_int_equal(load("plugin_taken.so", &err), FURROW_E_EXISTS);
  assert_non_null(strstr(err.message, "TextColumn"));
  assert_null(find("UntakenFormat")); /* all or none */
  assert_int_equal(load("no_such_plugin.so", &err), FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.file, "no_such_plugin.so"));
  assert_int_equal(furrow_plugin_load("no_such_plugin.so", &err), FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.message, "./no_such_plugin.so"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_built_in),   cmocka_unit_test(test_error_has_the_name),
      cmocka_unit_test(test_register),   cmocka_unit_test(test_names_that_are_taken),
      cmocka_unit_test(test_incomplete), cmocka_unit_test(test_other_versions),
      cmocka_unit_test(test_plugin),     cmocka_unit_test(test_plugins_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
