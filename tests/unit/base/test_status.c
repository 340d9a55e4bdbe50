/* tests/unit/base/test_status.c: the status list and error texts. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/suggestion.h"
#include "furrow/version.h"
#include "support/cmocka_all.h"

static void names_texts_and_codes_follow_the_list(void **state) {
  (void)state;
#define FURROW_X(name, number, code, text)                       \
  assert_string_equal(furrow_status_name(FURROW_##name), #name); \
  assert_string_equal(furrow_status_text(FURROW_##name), text);  \
  assert_int_equal(furrow_status_exit_code(FURROW_##name), code);
  FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
}

static void failures_have_exit_codes_of_their_own(void **state) {
  (void)state;
  int codes[] = {
#define FURROW_X(name, number, code, text) code,
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

/* Programs that were compiled with an older header, and bindings, know these by number. */
static void numbers_stay(void **state) {
  (void)state;
  assert_int_equal(FURROW_OK, 0);
  assert_int_equal(FURROW_END, 1);
  assert_int_equal(FURROW_E_ARGUMENT, 2);
  assert_int_equal(FURROW_E_NOT_FOUND, 3);
  assert_int_equal(FURROW_E_IO, 4);
  assert_int_equal(FURROW_E_PARSE, 5);
  assert_int_equal(FURROW_E_RANGE, 6);
  assert_int_equal(FURROW_E_FORMAT, 7);
  assert_int_equal(FURROW_E_STALE, 8);
  assert_int_equal(FURROW_E_MEMORY, 9);
  assert_int_equal(FURROW_E_UNSUPPORTED, 10);
  assert_int_equal(FURROW_E_EXISTS, 11);
  assert_int_equal(FURROW_E_STATE, 12);
  assert_int_equal(FURROW_E_CANCELLED, 13);
}

typedef struct example_params {
  size_t size;
  int old;   /* 1 */
  int added; /* 2 */
} example_params;

static const example_params example_defaults = {sizeof(example_params), 1, 2};

static void shorter_structs_get_defaults(void **state) {
  (void)state;
  example_params p = example_defaults, given = {offsetof(example_params, added), 7, 99};
  assert_int_equal(FW_PARAMS_READ(&p, &given, example_params, NULL), FURROW_OK);
  assert_int_equal(p.size, sizeof p);
  assert_int_equal(p.old, 7);
  assert_int_equal(p.added, 2);
  given.size = sizeof given;
  assert_int_equal(FW_PARAMS_READ(&p, &given, example_params, NULL), FURROW_OK);
  assert_int_equal(p.added, 99);
  p = example_defaults;
  assert_int_equal(FW_PARAMS_READ(&p, NULL, example_params, NULL), FURROW_OK);
  assert_int_equal(p.old, 1);
}

static void structs_without_a_known_size_are_refused(void **state) {
  (void)state;
  furrow_error err;
  example_params p = example_defaults, given = {0};
  assert_int_equal(FW_PARAMS_READ(&p, &given, example_params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "example_params was not initialised: its _init sets its size");
  given.size = sizeof given + 8;
  assert_int_equal(FW_PARAMS_READ(&p, &given, example_params, &err), FURROW_E_UNSUPPORTED);
  assert_memory_equal(&p, &example_defaults, sizeof p);
}

static void infos_are_written_as_far_as_they_reach(void **state) {
  (void)state;
  struct {
    example_params known;
    int newer;
  } longer = {{sizeof longer, 0, 0}, 5};
  example_params shorter = {offsetof(example_params, added), 0, 99};
  fw_info_write(&shorter, &example_defaults, sizeof example_defaults);
  assert_int_equal(shorter.old, 1);
  assert_int_equal(shorter.added, 99);
  assert_int_equal(shorter.size, offsetof(example_params, added));
  fw_info_write(&longer, &example_defaults, sizeof example_defaults);
  assert_int_equal(longer.known.added, 2);
  assert_int_equal(longer.known.size, sizeof longer);
  assert_int_equal(longer.newer, 0);
  example_params unset = {0, 7, 7};
  fw_info_write(&unset, &example_defaults, sizeof example_defaults);
  assert_int_equal(unset.old, 7);
}

static bool stop_at_two(void *user, const char *phase, uint64_t done, uint64_t total) {
  assert_string_equal(phase, "reading");
  assert_int_equal(total, 3);
  ++*(int *)user;
  return done < 2;
}

static void progress_stops_a_job(void **state) {
  (void)state;
  furrow_error err;
  int calls = 0;
  assert_int_equal(fw_report_progress(stop_at_two, &calls, "reading", 1, 3, &err), FURROW_OK);
  assert_int_equal(fw_report_progress(stop_at_two, &calls, "reading", 2, 3, &err), FURROW_E_CANCELLED);
  assert_string_equal(err.message, "stopped in the phase reading");
  assert_int_equal(calls, 2);
  assert_int_equal(fw_report_progress(NULL, NULL, "reading", 2, 3, &err), FURROW_OK);
}

static void hints_are_apart_from_the_text(void **state) {
  (void)state;
  furrow_error err;
  char text[256];
  fw_fail(&err, FURROW_E_PARSE, "not a number");
  assert_string_equal(err.hint, "");
  fw_error_set_hint(&err, "write %d", 1);
  fw_error_set_hint(NULL, "nothing");
  assert_string_equal(err.hint, "write 1");
  furrow_error_to_text(&err, text, sizeof text);
  assert_string_equal(text, "not a number");
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

static void the_version_is_that_of_the_headers(void **state) {
  (void)state;
  assert_string_equal(furrow_version(), FURROW_VERSION);
  assert_int_equal(furrow_version_number(), FURROW_VERSION_NUMBER);
}

/* Long words and candidates are left out; nothing is near to nothing. */
static void suggestions(void **state) {
  (void)state;
  char longer[200];
  fw_suggestion s = {NULL, SIZE_MAX};
  assert_false(fw_suggestion_is_near(&s, "x"));
  memset(longer, 'a', sizeof longer);
  longer[sizeof longer - 1] = 0;
  fw_suggestion_offer(&s, "aaaa", longer);
  fw_suggestion_offer(&s, longer, "aaaa");
  assert_null(s.word);
  fw_suggestion_offer(&s, "epocs", "rows");
  fw_suggestion_offer(&s, "epocs", "Epochs");
  fw_suggestion_offer(&s, "epocs", "batch");
  assert_string_equal(s.word, "Epochs");
  assert_true(fw_suggestion_is_near(&s, "epocs"));
  assert_false(fw_suggestion_is_near(&(fw_suggestion){"batch", 9}, "epocs"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_texts_and_codes_follow_the_list),
      cmocka_unit_test(the_version_is_that_of_the_headers),
      cmocka_unit_test(suggestions),
      cmocka_unit_test(failures_have_exit_codes_of_their_own),
      cmocka_unit_test(numbers_stay),
      cmocka_unit_test(shorter_structs_get_defaults),
      cmocka_unit_test(structs_without_a_known_size_are_refused),
      cmocka_unit_test(infos_are_written_as_far_as_they_reach),
      cmocka_unit_test(progress_stops_a_job),
      cmocka_unit_test(hints_are_apart_from_the_text),
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
