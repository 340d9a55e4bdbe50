/* tests/unit/serve/test_state_calls.c: when the service is ready, and what its calls of state answer. */
#include <string.h>

#include "api/service.h"
#include "support/cmocka_all.h"

static void ask(service *s, handler handle, http_answer *answer) {
  thread_memory memory = {0};
  http_request request = {0};
  call c = {.service = s, .memory = &memory, .request = &request, .answer = answer};
  fw_buffer_clear(&answer->body);
  *answer = (http_answer){0};
  handle(&c);
}

static void expect_text(const http_answer *answer, const char *text) {
  assert_int_equal(answer->status, 0); /* counts as 200 */
  assert_int_equal(answer->fixed_size, strlen(text));
  assert_memory_equal(answer->fixed, text, strlen(text));
}

static void expect_problem(const http_answer *answer, const char *detail) {
  char text[512] = "";
  assert_int_equal(answer->status, 503);
  assert_true(answer->body.size < sizeof text && !answer->fixed);
  memcpy(text, answer->body.bytes, answer->body.size);
  assert_non_null(strstr(text, detail));
}

static void ready_until_it_stops(void **state) {
  (void)state;
  service s = {0};
  http_answer answer = {0};
  ask(&s, ready_handler, &answer);
  expect_text(&answer, "ready\n");
  atomic_store(&s.draining, true);
  ask(&s, ready_handler, &answer);
  expect_problem(&answer, "the server is stopping");
  ask(&s, health_handler, &answer);
  expect_text(&answer, "ok\n");
  fw_buffer_clear(&answer.body);
}

static void not_ready_without_versions(void **state) {
  (void)state;
  served_model *model = NULL;
  served_index *index = NULL;
  const model_source of_model = {.name = "ctr", .path = "absent"};
  const index_source of_index = {.name = "items", .path = "absent"};
  http_answer answer = {0};
  assert_int_equal(served_model_create(&model, &of_model, 1, NULL), FURROW_OK);
  assert_int_equal(served_index_create(&index, &of_index, NULL), FURROW_OK);
  service s = {.models = &model, .model_count = 1};
  ask(&s, ready_handler, &answer);
  expect_problem(&answer, "ctr has no version");
  s = (service){.indexes = &index, .index_count = 1};
  ask(&s, ready_handler, &answer);
  expect_problem(&answer, "items has no version");
  fw_buffer_clear(&answer.body);
  served_model_free(model);
  served_index_free(index);
}

static void document_has_the_version(void **state) {
  (void)state;
  service s = {0};
  http_answer answer = {0};
  ask(&s, openapi_handler, &answer);
  fw_buffer_append(&answer.body, "", 1);
  assert_non_null(strstr(answer.body.bytes, furrow_version()));
  assert_null(strstr(answer.body.bytes, "FURROW_VERSION"));
  assert_memory_equal(answer.body.bytes + answer.body.size - 3, "}\n", 3);
  fw_buffer_clear(&answer.body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ready_until_it_stops),
      cmocka_unit_test(not_ready_without_versions),
      cmocka_unit_test(document_has_the_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
