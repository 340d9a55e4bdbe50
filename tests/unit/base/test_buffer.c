/* tests/unit/base/test_buffer.c: bytes that grow, strings of JSON, characters of UTF-8. */
#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"

static void expect(fw_buffer *buffer, const char *text, size_t size) {
  char *bytes = NULL;
  size_t got = 99;
  assert_int_equal(fw_buffer_take(buffer, &bytes, &got, NULL), FURROW_OK);
  assert_int_equal(got, size);
  assert_memory_equal(bytes, text, size);
  assert_int_equal(bytes[size], 0);
  assert_null(buffer->bytes);
  fw_free(bytes);
}

static void pieces(void **state) {
  (void)state;
  fw_buffer buffer = {0};
  expect(&buffer, "", 0);
  fw_buffer_text(&buffer, "one");
  fw_buffer_byte(&buffer, ' ');
  fw_buffer_append(&buffer, "t\0wo", 4);
  fw_buffer_append(&buffer, NULL, 0);
  fw_buffer_i64(&buffer, INT64_MIN);
  expect(&buffer, "one t\0wo-9223372036854775808", 28);
  fw_buffer_format(&buffer, "%s", "");
  for (int i = 0; i < 3; i++) fw_buffer_format(&buffer, "%d:%*s,", i, 50 * i, "x");
  assert_int_equal(buffer.size, 4 + 53 + 103);
  assert_memory_equal(buffer.bytes, "0:x,1:   ", 9);
  fw_buffer_reset(&buffer);
  for (int i = 0; i < 5000; i++) fw_buffer_i64(&buffer, i);
  assert_int_equal(buffer.size, 10 + 180 + 2700 + 16000);
  fw_buffer_reset(&buffer);
  fw_buffer_text(&buffer, "again");
  expect(&buffer, "again", 5);
  fw_buffer_clear(&buffer);
}

static void json_strings(void **state) {
  (void)state;
  static const char text[] = "a\"b\\c/d\b\t\n\f\r\x01\x1f\x7f\xe6\xa8\xa1\0";
  fw_buffer buffer = {0};
  fw_buffer_json_string(&buffer, text, sizeof text - 1, true);
  static const char java[] = "\"a\\\"b\\\\c\\/d\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\xe6\xa8\xa1\\u0000\"";
  expect(&buffer, java, sizeof java - 1);
  fw_buffer_json_string(&buffer, "/", 1, false);
  fw_buffer_json_string(&buffer, "", 0, true);
  expect(&buffer, "\"/\"\"\"", 5);
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_error err;
  char *bytes = NULL;
  for (long n = 1;; n++) {
    fw_buffer buffer = {0};
    alloc_fail_at(n);
    for (int i = 0; i < 1000; i++) fw_buffer_text(&buffer, "0123456789");
    alloc_fail_at(0);
    const size_t size = buffer.size;
    if (size == 10000) {
      assert_int_equal(fw_buffer_status(&buffer, &err), FURROW_OK);
      fw_buffer_clear(&buffer);
      assert_true(n > 3);
      break;
    }
    /* memory is there again, but a piece is lost */
    fw_buffer_byte(&buffer, 'x');
    assert_int_equal(buffer.size, size);
    assert_int_equal(fw_buffer_take(&buffer, &bytes, NULL, &err), FURROW_E_MEMORY);
    assert_null(bytes);
    fw_buffer_clear(&buffer);
  }
  fw_buffer empty = {0};
  alloc_fail_at(1);
  assert_int_equal(fw_buffer_take(&empty, &bytes, NULL, &err), FURROW_E_MEMORY);
  alloc_fail_at(0);
  fw_buffer_clear(&empty);
}

/* Every character, written and read. */
static void all_characters(void **state) {
  (void)state;
  for (uint32_t code = 0; code <= 0x10ffff; code++) {
    if (code == 0xd800) code = 0xe000;
    char bytes[4];
    uint32_t again = 0;
    const size_t length = fw_utf8_write(bytes, code);
    assert_int_equal(length, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
    assert_ptr_equal(fw_utf8_read(bytes, bytes + length, &again), bytes + length);
    assert_int_equal(again, code);
    if (length > 1) assert_null(fw_utf8_read(bytes, bytes + length - 1, &again));
  }
}

static void not_characters(void **state) {
  (void)state;
  static const char *const bad[] = {"\x80",
                                    "\xbf",
                                    "\xc0\x80",
                                    "\xc1\xbf",
                                    "\xc3(",
                                    "\xe0\x80\x80",
                                    "\xe0\x9f\xbf",
                                    "\xed\xa0\x80",
                                    "\xed\xbf\xbf",
                                    "\xe6\xa8(",
                                    "\xf0\x80\x80\x80",
                                    "\xf0\x8f\xbf\xbf",
                                    "\xf4\x90\x80\x80",
                                    "\xf5\x80\x80\x80",
                                    "\xff",
                                    "\xfe"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[16];
    uint32_t code = 77;
    const int n = snprintf(text, sizeof text, "ok\xc3\xa4%s.", bad[i]);
    assert_ptr_equal(fw_utf8_check(text, text + n), text + 4);
    assert_null(fw_utf8_read(text + 4, text + n, &code));
    assert_int_equal(code, 77);
    assert_null(fw_utf8_check(text, text + 4));
  }
}

/* More bytes than a size can count, behind none and behind some: nothing is read of them. */
static void sizes_overflow(void **state) {
  (void)state;
  const volatile size_t most = SIZE_MAX;
  for (int some = 0; some < 2; some++) {
    fw_buffer buffer = {0};
    furrow_error err;
    if (some) fw_buffer_append(&buffer, "ab", 2);
    fw_buffer_append(&buffer, "", most);
    fw_buffer_append(&buffer, "c", 1); /* what is missing stays so */
    assert_int_equal(buffer.size, some ? 2 : 0);
    assert_int_equal(fw_buffer_status(&buffer, &err), FURROW_E_MEMORY);
    fw_buffer_clear(&buffer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces),         cmocka_unit_test(json_strings),   cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(all_characters), cmocka_unit_test(not_characters), cmocka_unit_test(sizes_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
