/* tests/fuzz/harness/served_model_harness.h: a model that is trained in memory and served, and requests to a handler of
 * it: an answer that is JSON, with a result for each row, or a problem. */
#ifndef FUZZ_SERVED_MODEL_HARNESS_H
#define FUZZ_SERVED_MODEL_HARNESS_H

#include <string.h>

#include "api/service.h"
#include "fuzz/harness/trained_model.h"

static inline served_model *open_served(const model_source *source) {
  served_model *model = NULL;
  reload_result result;
  check(served_model_create(&model, source, 1, NULL) == FURROW_OK);
  check(served_model_reload(model, true, &result, NULL) == FURROW_OK);
  return model;
}

/* Trains, saves and serves a model of `text`; nothing of it stays on the disk. schema NULL: a model of rows. has_seen:
 * the items of the text are what users have seen. */
static inline served_model *serve_trained(const char *algorithm, const char *text, const char *name, const char *schema,
                                          bool has_seen) {
  char data[64], path[TEST_PATH];
  train_model(algorithm, text, name, schema, fuzz_folder(path, name));
  snprintf(data, sizeof data, "memory://%s", name);
  const model_source source = {.name = name, .path = path, .seen = has_seen ? data : NULL};
  served_model *model = open_served(&source);
  check(test_remove_dir(path));
  return model;
}

/* How requests are asked, and what an answer may be. */
typedef struct request_rules {
  service_limits limits;
  size_t (*count_results)(const fw_buffer *body); /* of an answer; checks that it is one */
  int statuses[4];                                /* of problems; 0 ends them */
} request_rules;

/* A problem is a JSON object, whatever bytes its pointer and its token are made of. */
static inline void check_problem(const http_answer *answer, const int *statuses) {
  furrow_json *json = NULL;
  while (*statuses && *statuses != answer->status) statuses++;
  check(*statuses != 0);
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, answer->body.bytes, answer->body.size, NULL);
  check(furrow_json_skip(json, NULL, NULL) == FURROW_OK && furrow_json_end(json, NULL) == FURROW_OK);
  furrow_json_free(json);
}

static inline void ask_once(served_model *model, handler handle, const request_rules *rules, const uint8_t *data,
                            size_t size, http_answer *answer) {
  static thread_memory memory;
  service s = {.limits = rules->limits};
  http_request request = {.body = (const char *)data, .body_size = size};
  call c = {.service = &s, .memory = &memory, .request = &request, .answer = &request.answer, .model = model};
  handle(&c);
  check(!c.move && !request.answer.body.missing);
  if (request.answer.status == 0)
    check(rules->count_results(&request.answer.body) == c.rows);
  else
    check_problem(&request.answer, rules->statuses);
  *answer = request.answer;
}

/* The same answer again, from memory that was used. */
static inline void ask_twice(served_model *model, handler handle, const request_rules *rules, const uint8_t *data,
                             size_t size) {
  http_answer first, second;
  ask_once(model, handle, rules, data, size, &first);
  ask_once(model, handle, rules, data, size, &second);
  check(first.status == second.status && first.body.size == second.body.size);
  check(memcmp(first.body.bytes, second.body.bytes, first.body.size) == 0);
  fw_buffer_clear(&first.body);
  fw_buffer_clear(&second.body);
}

#endif
