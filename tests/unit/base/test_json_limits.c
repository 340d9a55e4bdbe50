/* tests/unit/base/test_json_limits.c: numbers and texts of JSON at the edge of what is taken. Each text is in memory of
 * its own size, so that a read behind its end is seen by the sanitizers. */
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "support/cmocka_all.h"

typedef struct sample {
  const char *text;
  const char *means; /* NULL: refused */
} sample;

static char *copy_of(const char *text, size_t size) {
  char *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  return memcpy(copy, text, size);
}

static void check_string(const sample *s) {
  furrow_json json;
  furrow_json_text text = {0};
  const size_t size = strlen(s->text);
  char *copy = copy_of(s->text, size);
  fw_json_open(&json, copy, size, NULL);
  furrow_status status = furrow_json_string(&json, &text, NULL);
  if ((status == FURROW_OK) != (s->means != NULL)) fail_msg("%s: %s", s->text, furrow_status_name(status));
  if (s->means) {
    assert_int_equal(text.size, strlen(s->means));
    assert_memory_equal(text.bytes, s->means, text.size);
    assert_int_equal(furrow_json_end(&json, NULL), FURROW_OK);
  }
  fw_json_close(&json);
  free(copy);
}

static void strings(void **state) {
  (void)state;
  static const sample samples[] = {
      {"\"\"", ""},
      {"\" \"", " "},
      {"\"\x1f\"", NULL},
      {"\"\x7f\"", "\x7f"},
      {"\"", NULL},
      {"\"\\", NULL},
      {"\"\\\"", NULL},
      {"\"\\u", NULL},
      {"\"\\u004", NULL},
      {"\"\\u0041", NULL},
      {"\"\\u0041\"", "A"},
      {"\"\\u004g\"", NULL},
      {"\"\\x0041\"", NULL},
      /* halves of pairs, and the codes beside them */
      {"\"\\ud7ff\"", "\xed\x9f\xbf"},
      {"\"\\ud800\"", NULL},
      {"\"\\ud800\\udbff\"", NULL},
      {"\"\\ud800\\udc00\"", "\xf0\x90\x80\x80"},
      {"\"\\ud800\\udfff\"", "\xf0\x90\x8f\xbf"},
      {"\"\\ud800\\ue000\"", NULL},
      {"\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf"},
      {"\"\\udc00\"", NULL},
      {"\"\\udfff\"", NULL},
      {"\"\\udc00\\udc00\"", NULL},
      {"\"\\udfff\\udc00\"", NULL},
      {"\"\\ue000\"", "\xee\x80\x80"},
      {"\"\\uffff\"", "\xef\xbf\xbf"},
      {"\"\\ud800\\udc0\"", NULL},
      {"\"\\ud800\\udc0", NULL},
      /* bytes that are not ASCII */
      {"\"\x80\"", NULL},
      {"\"\xc1\xbf\"", NULL},
      {"\"\xc2\x80\"", "\xc2\x80"},
      {"\"\xc2", NULL},
      {"\"\xc2\"", NULL},
      {"\"\xe0\x9f\xbf\"", NULL},
      {"\"\xe0\xa0\x80\"", "\xe0\xa0\x80"},
      {"\"\xed\x9f\xbf\"", "\xed\x9f\xbf"},
      {"\"\xed\xa0\x80\"", NULL},
      {"\"\xed\xbf\xbf\"", NULL},
      {"\"\xee\x80\x80\"", "\xee\x80\x80"},
      {"\"\xe1\x80", NULL},
      {"\"\xf0\x8f\xbf\xbf\"", NULL},
      {"\"\xf0\x90\x80\x80\"", "\xf0\x90\x80\x80"},
      {"\"\xf0\x90\x80", NULL},
      {"\"\xf4\x8f\xbf\xbf\"", "\xf4\x8f\xbf\xbf"},
      {"\"\xf4\x90\x80\x80\"", NULL},
      {"\"\xf5\x80\x80\x80\"", NULL},
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) check_string(&samples[i]);
}

/* An escape at the very end of the bytes: a 0 byte is not one. */
static void escapes_of_nothing(void **state) {
  (void)state;
  static const char zero[] = "\"\\\0\"";
  furrow_json json;
  furrow_json_text text;
  fw_json_open(&json, zero, sizeof zero - 1, NULL);
  assert_int_equal(furrow_json_string(&json, &text, NULL), FURROW_E_FORMAT);
  fw_json_close(&json);
}

static void values(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool taken;
  } samples[] = {{"0", true},     {"-", false},   {"-0", true},    {"10", true},      {"01", false},  {"1.", false},
                 {"1.5", true},   {"1e", false},  {"1e+", false},  {"1e+9", true},    {"1E-0", true}, {"1x", false},
                 {"true", true},  {"tru", false}, {"false", true}, {"fals", false},   {"null", true}, {"nul", false},
                 {"nulL", false}, {"[]", true},   {"[", false},    {"[1", false},     {"[1,", false}, {"{", false},
                 {"{\"", false},  {"{}", true},   {"", false},     {"{\"a\"", false}, {"/", false},   {":", false}};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    furrow_json json;
    const size_t size = strlen(samples[i].text);
    char *copy = copy_of(samples[i].text, size);
    fw_json_open(&json, copy, size, NULL);
    furrow_status status = furrow_json_skip(&json, NULL, NULL);
    if (status == FURROW_OK) status = furrow_json_end(&json, NULL);
    if ((status == FURROW_OK) != samples[i].taken) fail_msg("%s: %s", samples[i].text, furrow_status_name(status));
    fw_json_close(&json);
    free(copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings),
      cmocka_unit_test(escapes_of_nothing),
      cmocka_unit_test(values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
