/* tests/unit/base/test_status.c: the status list and error texts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "support/cmocka_all.h"

static void names_texts_and_codes_follow_the_list(void **state) {
  (void)state;
#define FURROW_X(name, code, text)                               \
  assert_string_equal(furrow_status_name(FURROW_##name), #name); \
  assert_string_equal(furrow_status_text(FURROW_##name), text);  \
  assert_int_equal(furrow_status_exit_code(FURROW_##name), code);
  FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
}

static void failures_have_exit_codes_of_their_own(void **state) {
  (void)state;
  int codes[] = {
#define FURROW_X(name, code, text) code,
      FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    if (i == FURROW_OK || i == FURROW_END) {
      assert_int_equal(codes[i], 0);
      continue;
    }
    assert_in_range(codes[i], 2, 63);
    for (size_t k = 0; k < i; k++) assert_int_not_equal(codes[i], codes[k]);
  }
}

static void any_value_has_a_name(void **state) {
  (void)state;
  furrow_status stray = (furrow_status)9999;
  assert_string_equal(furrow_status_name(stray), "E_UNKNOWN");
  assert_string_equal(furrow_status_text(stray), "unknown status");
  assert_int_equal(furrow_status_exit_code(stray), 1);
}

static void fail_sets_status_and_message_and_forgets_the_place(void **state) {
  (void)state;
  furrow_error err;
  memset(&err, 0x55, sizeof err);
  assert_int_equal(fw_fail(&err, FURROW_E_RANGE, "%d is more than %s", 300, "255"), FURROW_E_RANGE);
  assert_int_equal(err.status, FURROW_E_RANGE);
  assert_string_equal(err.message, "300 is more than 255");
  assert_int_equal(err.line, 0);
  assert_int_equal(err.column, 0);
  assert_true(err.offset == FURROW_NO_OFFSET);
  assert_string_equal(err.file, "");
  assert_string_equal(err.token, "");
}

static void failing_takes_no_error(void **state) {
  (void)state;
  assert_int_equal(fw_fail(NULL, FURROW_E_PARSE, "x"), FURROW_E_PARSE);
  assert_int_equal(fw_fail_errno(NULL, FURROW_E_IO, EIO, "x"), FURROW_E_IO);
  assert_int_equal(fw_fail_memory(NULL, 1), FURROW_E_MEMORY);
  fw_error_set_file(NULL, "x");
  fw_error_set_token(NULL, "x", 1);
}

static void fail_errno_adds_the_reason(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(fw_fail_errno(&err, FURROW_E_NOT_FOUND, ENOENT, "cannot open %s", "a.txt"), FURROW_E_NOT_FOUND);
  assert_int_equal(err.status, FURROW_E_NOT_FOUND);
  assert_string_equal(err.message, "cannot open a.txt: No such file or directory");
}

static void fail_memory_names_the_size(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(fw_fail_memory(&err, 123456), FURROW_E_MEMORY);
  assert_non_null(strstr(err.message, "123456"));
}

static void a_long_message_is_cut_and_terminated(void **state) {
  (void)state;
  furrow_error err;
  char text[1000];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = 0;
  assert_int_equal(fw_fail(&err, FURROW_E_PARSE, "%s", text), FURROW_E_PARSE);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
  assert_int_equal(fw_fail_errno(&err, FURROW_E_IO, EIO, "%s", text), FURROW_E_IO);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void a_long_path_keeps_its_end(void **state) {
  (void)state;
  furrow_error err;
  char path[1000];
  memset(path, 'd', sizeof path);
  memcpy(path + sizeof path - 6, "/last", 6);
  assert_int_equal(fw_fail(&err, FURROW_E_PARSE, "x"), FURROW_E_PARSE);
  fw_error_set_file(&err, path);
  assert_int_equal(strlen(err.file), sizeof err.file - 1);
  assert_string_equal(err.file + strlen(err.file) - 5, "/last");
  fw_error_set_file(&err, "short");
  assert_string_equal(err.file, "short");
}

static void a_token_is_escaped_and_cut(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(fw_fail(&err, FURROW_E_PARSE, "x"), FURROW_E_PARSE);
  fw_error_set_token(&err, "1:a\t\0\x7f\xff!", 8);
  assert_string_equal(err.token, "1:a\\x09\\x00\\x7f\\xff!");
  fw_error_set_token(&err, "", 0);
  assert_string_equal(err.token, "");

  char text[200];
  memset(text, 'a', sizeof text);
  fw_error_set_token(&err, text, sizeof text);
  assert_true(strlen(err.token) < sizeof err.token);
  assert_string_equal(err.token + strlen(err.token) - 4, "a...");
  memset(text, '\n', sizeof text); /* an escape is never cut in the middle */
  fw_error_set_token(&err, text, sizeof text);
  assert_int_equal((strlen(err.token) - 3) % 4, 0);
  assert_string_equal(err.token + strlen(err.token) - 7, "\\x0a...");
}

static void check_format(const furrow_error *err, const char *expected) {
  char text[1024];
  assert_int_equal(furrow_error_to_text(err, text, sizeof text), strlen(expected));
  assert_string_equal(text, expected);
}

static void format_prints_what_is_known(void **state) {
  (void)state;
  furrow_error err;
  assert_int_equal(fw_fail(&err, FURROW_E_PARSE, "no number"), FURROW_E_PARSE);
  check_format(&err, "no number");
  fw_error_set_token(&err, "1:x", 3);
  check_format(&err, "no number (1:x)");
  fw_error_set_file(&err, "a.txt");
  check_format(&err, "a.txt: no number (1:x)");
  err.offset = 77;
  check_format(&err, "a.txt: byte 77: no number (1:x)");
  err.line = 12;
  check_format(&err, "a.txt:12: no number (1:x)");
  err.column = 3;
  check_format(&err, "a.txt:12:3: no number (1:x)");
  err.message[0] = 0;
  check_format(&err, "a.txt:12:3: malformed text (1:x)");
}

static void format_cuts_as_snprintf_does(void **state) {
  (void)state;
  furrow_error err;
  char text[8] = "zzzzzzz";
  assert_int_equal(fw_fail(&err, FURROW_E_PARSE, "no number"), FURROW_E_PARSE);
  assert_int_equal(furrow_error_to_text(&err, text, 0), 9);
  assert_string_equal(text, "zzzzzzz");
  assert_int_equal(furrow_error_to_text(&err, NULL, 0), 9);
  assert_int_equal(furrow_error_to_text(&err, text, 5), 9);
  assert_string_equal(text, "no n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_texts_and_codes_follow_the_list),
      cmocka_unit_test(failures_have_exit_codes_of_their_own),
      cmocka_unit_test(any_value_has_a_name),
      cmocka_unit_test(fail_sets_status_and_message_and_forgets_the_place),
      cmocka_unit_test(failing_takes_no_error),
      cmocka_unit_test(fail_errno_adds_the_reason),
      cmocka_unit_test(fail_memory_names_the_size),
      cmocka_unit_test(a_long_message_is_cut_and_terminated),
      cmocka_unit_test(a_long_path_keeps_its_end),
      cmocka_unit_test(a_token_is_escaped_and_cut),
      cmocka_unit_test(format_prints_what_is_known),
      cmocka_unit_test(format_cuts_as_snprintf_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
