/* tests/unit/io/test_uri.c: paths, arguments and cache file of a URI. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/uri.h"
#include "support/cmocka_all.h"
#include "support/golden_set.h"

/* "path|path ? key=value|key=value # cachefile": what was parsed, as one text to compare. */
static void describe(const fw_uri *uri, char *text, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < uri->npaths; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%s", i ? "|" : "", uri->paths[i]);
  for (size_t i = 0; i < uri->nargs; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%s=%s", i ? "|" : " ? ", uri->args[i].key, uri->args[i].value);
  if (uri->cachefile) snprintf(text + n, size - n, " # %s", uri->cachefile);
}

static void good_uris_are_taken_apart(void **state) {
  (void)state;
  static const struct {
    const char *text, *parts;
  } cases[] = {
      {"a", "a"},
      {"-", "-"},
      {"stdin", "stdin"},
      {"a;b;c", "a|b|c"},
      {"a b", "a b"},
      {" ", " "},
      {"dir/part-*;dir/[ab]", "dir/part-*|dir/[ab]"},
      {"file:///x/y", "file:///x/y"},
      {"s3://bucket/key;hdfs://host:9000/p", "s3://bucket/key|hdfs://host:9000/p"},
      {"a?k=v", "a ? k=v"},
      {"a?k=v&l=w", "a ? k=v|l=w"},
      {"a;b?k=v#c", "a|b ? k=v # c"},
      {"a#c", "a # c"},
      {"a#dir/c;d", "a # dir/c;d"},
      {"a=b&c", "a=b&c"},
      {"a?k=v=w==", "a ? k=v=w=="},
      {"a?k==", "a ? k=="},
      {"f.csv?delimiter=;", "f.csv ? delimiter=;"},
      {"f.csv;g.csv?delimiter=;&label_column=0", "f.csv|g.csv ? delimiter=;|label_column=0"},
      {"f.csv?delimiter=\t", "f.csv ? delimiter=\t"},
      {"f.csv?delimiter= ", "f.csv ? delimiter= "},
      {"f.csv?delimiter=,#c", "f.csv ? delimiter=, # c"},
      {"a?k=1&k=2", "a ? k=1|k=2"},
      {"a#c?k=v", "a # c?k=v"},
      {"\xc3\xa4/\xe2\x82\xac?k=\xff", "\xc3\xa4/\xe2\x82\xac ? k=\xff"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fw_uri uri;
    char parts[256] = "";
    assert_int_equal(fw_uri_parse(&uri, cases[i].text, NULL), FURROW_OK);
    describe(&uri, parts, sizeof parts);
    assert_string_equal(parts, cases[i].parts);
    fw_uri_clear(&uri);
  }
}

static void bad_uris_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message, *token;
  } cases[] = {
      {"", "no path", ""},
      {"?k=v", "no path", ""},
      {"#c", "no path", ""},
      {"?", "no path", ""},
      {";", "empty path", ";"},
      {";a", "empty path", ";a"},
      {"a;", "empty path", "a;"},
      {"a;;b", "empty path", "a;;b"},
      {"a;?k=v", "empty path", "a;"},
      {"a?b=1?c=2", "more than one ?", "a?b=1?c=2"},
      {"a??b=1", "more than one ?", "a??b=1"},
      {"a?b=??", "more than one ?", "a?b=??"},
      {"a#b#c", "more than one #", "a#b#c"},
      {"a##", "more than one #", "a##"},
      {"a#b?c#d", "more than one #", "a#b?c#d"},
      {"a?", "empty argument", ""},
      {"a?#c", "empty argument", ""},
      {"a?&k=v", "empty argument", ""},
      {"a?k=v&", "empty argument", ""},
      {"a?k=v&&l=w", "empty argument", ""},
      {"a?k", "without =", "k"},
      {"a?k=v&l", "without =", "l"},
      {"a?k=", "without a value", "k="},
      {"a?k=&l=w", "without a value", "k="},
      {"a?=v", "without a key", "=v"},
      {"a?=", "without a key", "="},
      {"a#", "cache file", "a#"},
      {"a?k=v#", "cache file", "a?k=v#"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fw_uri uri, before;
    furrow_error err;
    memset(&uri, 0x5a, sizeof uri);
    before = uri;
    assert_int_equal(fw_uri_parse(&uri, cases[i].text, &err), FURROW_E_ARGUMENT);
    assert_memory_equal(&uri, &before, sizeof uri);
    assert_int_equal(err.status, FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, cases[i].message));
    assert_string_equal(err.token, cases[i].token);
    assert_int_equal(fw_uri_parse(&uri, cases[i].text, NULL), FURROW_E_ARGUMENT);
  }
  fw_uri uri;
  assert_int_equal(fw_uri_parse(&uri, NULL, NULL), FURROW_E_ARGUMENT);
}

static void the_first_of_two_equal_keys_counts(void **state) {
  (void)state;
  fw_uri uri;
  assert_int_equal(fw_uri_parse(&uri, "a?format=csv&x=1&format=libsvm", NULL), FURROW_OK);
  assert_string_equal(fw_uri_arg_value(&uri, "format"), "csv");
  assert_string_equal(fw_uri_arg_value(&uri, "x"), "1");
  assert_null(fw_uri_arg_value(&uri, "form"));
  assert_null(fw_uri_arg_value(&uri, "formats"));
  assert_null(fw_uri_arg_value(&uri, ""));
  fw_uri_clear(&uri);
  assert_null(fw_uri_arg_value(&uri, "format"));
}

static void copies_have_all_parts(void **state) {
  (void)state;
  fw_uri uri, copy;
  char text[256], again[256];
  assert_int_equal(fw_uri_parse(&uri, "a;b?k=v&l=w#c", NULL), FURROW_OK);
  assert_int_equal(fw_uri_copy(&copy, &uri, NULL), FURROW_OK);
  describe(&uri, text, sizeof text);
  fw_uri_clear(&uri);
  describe(&copy, again, sizeof again);
  assert_string_equal(text, again);
  fw_uri_clear(&copy);
}

static void clear_leaves_zeros_and_may_be_repeated(void **state) {
  (void)state;
  fw_uri uri, zeros;
  memset(&zeros, 0, sizeof zeros);
  assert_int_equal(fw_uri_parse(&uri, "a;b?k=v#c", NULL), FURROW_OK);
  fw_uri_clear(&uri);
  assert_memory_equal(&uri, &zeros, sizeof uri);
  fw_uri_clear(&uri);
}

static void long_uris_do_not_matter(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  char *text = malloc(COUNT * 16);
  assert_non_null(text);
  size_t n = 0;
  for (int i = 0; i < COUNT; i++) n += (size_t)sprintf(text + n, "%sp%d", i ? ";" : "", i);
  for (int i = 0; i < 1000; i++) n += (size_t)sprintf(text + n, "%ck%d=%d", i ? '&' : '?', i, i);
  fw_uri uri;
  assert_int_equal(fw_uri_parse(&uri, text, NULL), FURROW_OK);
  assert_int_equal(uri.npaths, COUNT);
  assert_int_equal(uri.nargs, 1000);
  assert_string_equal(uri.paths[COUNT - 1], "p19999");
  assert_string_equal(fw_uri_arg_value(&uri, "k999"), "999");
  fw_uri_clear(&uri);
  free(text);
}

/* The uri of a dmlc-core case, {IN} and {TMP} left as they are: braces are nothing special. */
static bool read_golden_uri(const char *name, char *uri, size_t size) {
  char file[128], path[TEST_PATH], line[512];
  snprintf(file, sizeof file, "dmlc/%s.args", name);
  FILE *args = fopen(golden_path(path, file), "r");
  if (!args) return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, args))
    if ((found = strncmp(line, "uri=", 4) == 0)) snprintf(uri, size, "%.*s", (int)strcspn(line + 4, "\n"), line + 4);
  fclose(args);
  return found;
}

static void dmlc_core_refuses_the_same(void **state) {
  (void)state;
  static const struct {
    const char *name;
    furrow_status status;
    const char *parts;
  } cases[] = {
      {"svm_uri_two_hash", FURROW_E_ARGUMENT, ""},
      {"svm_uri_two_q", FURROW_E_ARGUMENT, ""},
      {"csv_delim_empty", FURROW_E_ARGUMENT, ""},
      {"svm_arg_nokey", FURROW_E_ARGUMENT, ""},
      {"svm_uri_cache_ignored_by_parser", FURROW_OK, "{IN} # {TMP}/cache"},
      {"uri_same_twice", FURROW_OK, "{IN}/part-00|{IN}/part-00"},
      {"svm_hdfs_nobuild", FURROW_OK, "hdfs://{IN}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[512], parts[512] = "";
    fw_uri uri;
    assert_true(read_golden_uri(cases[i].name, text, sizeof text));
    assert_int_equal(fw_uri_parse(&uri, text, NULL), cases[i].status);
    if (cases[i].status != FURROW_OK) continue;
    describe(&uri, parts, sizeof parts);
    assert_string_equal(parts, cases[i].parts);
    fw_uri_clear(&uri);
  }
}

/* Names with any bytes come back; a % before anything but two digits stands for itself. */
static void names(void **state) {
  (void)state;
  static const char *const texts[] = {"", "age", "p,q", "100%", "%41", "a&b=c#d?e;f g+", "\x7f\t\xc3\xa9"};
  static const char *const odd[][2] = {{"%", "%"}, {"%4", "%4"}, {"%zz", "%zz"}, {"%00", "%00"}, {"%4a%4A", "JJ"}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    fw_buffer buffer = {0};
    char *encoded = NULL, *decoded = NULL;
    fw_uri_encode(&buffer, texts[i]);
    assert_int_equal(fw_buffer_take(&buffer, &encoded, NULL, NULL), FURROW_OK);
    assert_null(strpbrk(encoded, ",&#?; "));
    assert_int_equal(fw_uri_decode(&decoded, encoded, strlen(encoded), NULL), FURROW_OK);
    assert_string_equal(decoded, texts[i]);
    fw_free(encoded);
    fw_free(decoded);
    fw_buffer_clear(&buffer);
  }
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    char *decoded = NULL;
    assert_int_equal(fw_uri_decode(&decoded, odd[i][0], strlen(odd[i][0]), NULL), FURROW_OK);
    assert_string_equal(decoded, odd[i][1]);
    fw_free(decoded);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),
      cmocka_unit_test(good_uris_are_taken_apart),
      cmocka_unit_test(bad_uris_are_refused),
      cmocka_unit_test(the_first_of_two_equal_keys_counts),
      cmocka_unit_test(copies_have_all_parts),
      cmocka_unit_test(clear_leaves_zeros_and_may_be_repeated),
      cmocka_unit_test(long_uris_do_not_matter),
      cmocka_unit_test(dmlc_core_refuses_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
