/* tests/unit/rows/test_event_reader.c: events as lines of JSON that are in memory. */
#include "support/encoded_rows.h"

#define LOG "memory://log.csv"

static const char plain_schema[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"p\":{\"as\":\"number\",\"scale\":\"none\"},"
    "\"o\":{\"as\":\"ignore\"},\"in.x\":{\"as\":\"category\"}}}";

static furrow_encoder *plain_encoder(void) {
  put_text(LOG, "y,u,s,p,o,in.x\n1,10,a|b,2,x,k\n0,10.0,b,3,x,l\n0,true,b,3,x,l\n");
  return build_encoder(LOG, plain_schema);
}

static void expect_lines(furrow_event_reader *reader, const furrow_encoder *encoder, const char *lines,
                         const char *wanted) {
  const furrow_rowblock *block = NULL;
  furrow_error err = {0};
  fw_buffer text = {0};
  if (furrow_event_reader_read(reader, lines, strlen(lines), &block, &err) != FURROW_OK) fail_msg("%s", err.message);
  for (size_t i = 0; i < block->size; i++) put_row_text(&text, encoder, block, i);
  fw_buffer_byte(&text, 0);
  assert_string_equal(text.bytes, wanted);
  fw_buffer_clear(&text);
}

/* Numbers are their text, lists are sets, members of objects columns; labels and ignored columns are not looked at. */
static void values_are_cells_of_a_log(void **state) {
  (void)state;
  furrow_encoder *encoder = plain_encoder();
  furrow_event_reader *reader = NULL;
  assert_int_equal(furrow_event_reader_create(&reader, encoder, NULL), FURROW_OK);
  expect_lines(reader, encoder, "{\"u\":10,\"p\":5}", "- u=10 p:5\n");
  expect_lines(reader, encoder, "{\"u\":10.0,\"p\":\"5\"}\n", "- u=10.0 p:5\n");
  expect_lines(reader, encoder, "{\"u\":true,\"p\":true}", "- u=true p:1\n");
  expect_lines(reader, encoder, "{\"u\":\"1\\u0030\",\"s\":[\"a\",\"b\"],\"p\":5}",
               "- u=10 s=a:0.7071 s=b:0.7071 p:5\n");
  expect_lines(reader, encoder, "{\"u\":null,\"in\":{\"x\":\"k\"},\"p\":0}", "- p:0 in.x=k\n");
  expect_lines(reader, encoder, "{\"u\":10,\"y\":\"anything\",\"o\":[{}],\"p\":1}", "- u=10 p:1\n");
  expect_lines(reader, encoder, "{\"o\":{\"any\":[{}]},\"p\":1}", "- p:1\n");
  expect_lines(reader, encoder, "{\"p\":1}\n\n  \n{\"p\":2}\r\n{\"p\":3}", "- p:1\n- p:2\n- p:3\n");
  expect_lines(reader, encoder, "", "");
  furrow_event_reader_free(reader);
  furrow_encoder_free(encoder);
}

static void expect_refused(furrow_event_reader *reader, const char *lines, furrow_status status, uint64_t line,
                           const char *message, const char *hint) {
  const furrow_rowblock *block = NULL;
  furrow_error err = {0};
  assert_int_equal(furrow_event_reader_read(reader, lines, strlen(lines), &block, &err), status);
  assert_string_equal(err.message, message);
  assert_string_equal(err.hint, hint);
  assert_int_equal(err.line, line);
  assert_int_equal(furrow_event_reader_read(reader, lines, strlen(lines), &block, NULL), status);
  assert_null(block);
}

static void errors_have_their_line(void **state) {
  (void)state;
  furrow_encoder *encoder = plain_encoder();
  furrow_event_reader *reader = NULL;
  assert_int_equal(furrow_event_reader_create(&reader, encoder, NULL), FURROW_OK);
  expect_refused(reader, "{\"p\":1}\n{\"p\":1,\"price\":2}\n", FURROW_E_ARGUMENT, 2,
                 "the model's log has no column of that name", "");
  expect_refused(reader, "{\"p\\u0000\":1}", FURROW_E_ARGUMENT, 1, "the model's log has no column of that name",
                 "did you mean p?");
  expect_refused(reader, "{\"in\":{\"y\":2}}", FURROW_E_ARGUMENT, 1, "the model's log has no column of that name",
                 "did you mean in.x?");
  expect_refused(reader, "{\"p\":1}\n{\"p\":1}\n{\"p\":\"many\"}\n", FURROW_E_PARSE, 3, "column p: not a number", "");
  expect_refused(reader, "{\"u\":[1,2]}", FURROW_E_PARSE, 1, "column u: a list, but one value is expected", "");
  expect_refused(reader, "{\"p\":1,\"p\":2}", FURROW_E_PARSE, 1, "a key occurs twice", "");
  expect_refused(reader, "{\"p\":1}\n{\"p\":", FURROW_E_PARSE, 2, "a value is missing", "");
  expect_lines(reader, encoder, "{\"p\":1}", "- p:1\n"); /* it goes on */
  furrow_event_reader_free(reader);
  furrow_encoder_free(encoder);
}

/* More events than a batch holds; and the row is that of furrow_encoder_push_event. */
static void many_events(void **state) {
  (void)state;
  enum { EVENTS = 1500 };
  furrow_encoder *encoder = plain_encoder();
  furrow_event_reader *reader = NULL;
  furrow_container *rows = NULL;
  const furrow_rowblock *block = NULL;
  furrow_rowblock pushed;
  fw_buffer text = {0};
  assert_int_equal(furrow_event_reader_create(&reader, encoder, NULL), FURROW_OK);
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, NULL), FURROW_OK);
  for (int i = 0; i < EVENTS; i++) {
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    const furrow_pair pairs[] = {{"u", i % 2 ? "10" : "true"}, {"p", number}};
    fw_buffer_format(&text, "{\"u\":\"%s\",\"p\":%s}\n", pairs[0].value, number);
    assert_int_equal(furrow_encoder_push_event(encoder, pairs, 2, rows, NULL), FURROW_OK);
  }
  assert_int_equal(furrow_event_reader_read(reader, text.bytes, text.size, &block, NULL), FURROW_OK);
  assert_int_equal(furrow_container_get_block(rows, &pushed, NULL), FURROW_OK);
  assert_int_equal(block->size, EVENTS);
  assert_int_equal(pushed.size, EVENTS);
  assert_memory_equal(block->offset, pushed.offset, (EVENTS + 1) * sizeof(uint64_t));
  assert_memory_equal(block->index.u64, pushed.index.u64, block->offset[EVENTS] * sizeof(uint64_t));
  assert_memory_equal(block->value.f32, pushed.value.f32, block->offset[EVENTS] * sizeof(float));
  assert_null(block->label.any);
  fw_buffer_clear(&text);
  furrow_container_free(rows);
  furrow_event_reader_free(reader);
  furrow_encoder_free(encoder);
}

static void histories_are_those_of_now(void **state) {
  (void)state;
  furrow_event_reader *reader = NULL;
  put_text(LOG, "u,i,t\np,m1,1\np,m2,2\nq,m9,3\n");
  furrow_encoder *encoder =
      build_encoder(LOG, "{\"columns\":{\"u\":{\"as\":\"category\",\"role\":\"user\"},\"i\":{\"as\":\"category\","
                         "\"role\":\"item\"},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\",\"parts\":[]}},"
                         "\"history\":2}");
  assert_int_equal(furrow_event_reader_create(&reader, encoder, NULL), FURROW_OK);
  expect_lines(reader, encoder, "{\"u\":\"p\",\"i\":\"m9\"}\n{\"u\":\"q\",\"i\":\"m1\"}\n\n{\"i\":\"m1\",\"t\":7}\n",
               "- u=p i=m9 history=m1:0.7071 history=m2:0.7071\n- u=q i=m1 history=m9\n- i=m1\n");
  furrow_event_reader_free(reader);
  furrow_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_cells_of_a_log),
      cmocka_unit_test(errors_have_their_line),
      cmocka_unit_test(many_events),
      cmocka_unit_test(histories_are_those_of_now),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
