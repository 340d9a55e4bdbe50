/* tests/unit/serve/test_predict_time.c: rows are scored on the loop as long as that takes little time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/service.h"
#include "support/cmocka_all.h"

static const char row_text[] = "1 1:1 3:0.5\n0 2:1 3:2\n1 1:2 4:1\n0 2:0.5 4:3\n1 1:1\n0 2:3\n";

/* A model of four features that is not on the disk any more. */
static served_model *serve(void) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  served_model *model = NULL;
  reload_result result;
  char folder[] = "/tmp/furrow-test-XXXXXX", path[64], clean[96];
  assert_int_equal(furrow_memory_file_add("memory://rows", row_text, strlen(row_text), NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_create(&conf, NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "lr", NULL), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "valid-ratio", "0", NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_create(&trainer, conf, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_trainer_fit(trainer, "memory://rows", NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_remove("memory://rows", NULL), FURROW_OK);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model", folder);
  assert_int_equal(furrow_trainer_save(trainer, path, NULL, NULL), FURROW_OK);
  const model_source source = {.name = "m", .path = path};
  assert_int_equal(served_model_create(&model, &source, 1, NULL), FURROW_OK);
  assert_int_equal(served_model_reload(model, true, &result, NULL), FURROW_OK);
  snprintf(clean, sizeof clean, "rm -rf %s", folder);
  assert_int_equal(system(clean), 0);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return model;
}

/* Whether a request with so many rows is moved to a worker. */
static bool moves(served_model *model, size_t rows, bool on_loop) {
  static thread_memory memory;
  service s = {.limits = {.max_rows = 1000}};
  fw_buffer body = {0};
  fw_buffer_text(&body, "{\"rows\":[");
  for (size_t i = 0; i < rows; i++) fw_buffer_text(&body, i > 0 ? ",\"0 1:1\"" : "\"0 1:1\"");
  fw_buffer_text(&body, "]}");
  http_request request = {.body = body.bytes, .body_size = body.size};
  call c = {.service = &s, .memory = &memory, .request = &request, .answer = &request.answer, .model = model};
  c.on_loop = on_loop;
  predict_handler(&c);
  assert_int_equal(request.answer.status, 0);
  assert_true(c.move || c.rows == rows);
  fw_buffer_clear(&request.answer.body);
  fw_buffer_clear(&body);
  return c.move;
}

static void by_the_time_of_a_row(void **state) {
  (void)state;
  served_model *model = serve();
  model_version *version = served_model_get(model);
  assert_in_range(version->row_ns, 1, 100000);
  version->row_ns = 1000; /* with what reading takes, 2 us */
  assert_false(moves(model, 250, true));
  assert_true(moves(model, 251, true));
  assert_false(moves(model, 251, false));
  version->row_ns = 49000;
  assert_false(moves(model, 10, true));
  assert_true(moves(model, 11, true));
  version->row_ns = 700000; /* of a large net: even one row */
  assert_true(moves(model, 1, true));
  assert_false(moves(model, 0, true));
  assert_false(moves(model, 1, false));
  version->row_ns = 0; /* not known: few rows stay, and their time is measured */
  assert_true(moves(model, 24, true));
  assert_int_equal(version->row_ns, 0);
  assert_false(moves(model, 20, true));
  assert_in_range(version->row_ns, 1, 1000000);
  shared_release(&version->shared);
  served_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(by_the_time_of_a_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
