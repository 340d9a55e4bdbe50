/* tests/fuzz/served_model_harness.h: a model that is trained in memory and served, and requests to a handler of it: an
 * answer that is JSON, with a result for each row, or a problem. */
#ifndef FUZZ_SERVED_MODEL_HARNESS_H
#define FUZZ_SERVED_MODEL_HARNESS_H

#include <string.h>

#include "api/service.h"
#include "fuzz/fuzz_check.h"

static inline void set_key(furrow_learn_conf *conf, const char *key, const char *value) {
  check(furrow_learn_conf_set(conf, key, value, NULL) == FURROW_OK);
}

static inline void save_encoder(const char *data, const char *schema_text, const char *place) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  check(furrow_schema_parse(&schema, schema_text, strlen(schema_text), NULL) == FURROW_OK);
  check(furrow_encoder_build(&encoder, data, schema, NULL, NULL) == FURROW_OK);
  check(furrow_encoder_save(encoder, place, true, NULL) == FURROW_OK);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

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
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  char data[64], folder[] = "/tmp/furrow-fuzz-XXXXXX", path[64], place[64], clean[96];
  snprintf(data, sizeof data, "memory://%s", name);
  snprintf(place, sizeof place, "memory://encoder-%s", name);
  check(furrow_memory_file_add(data, text, strlen(text), NULL, NULL, NULL) == FURROW_OK);
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  check(furrow_learn_conf_set_algorithm(conf, algorithm, NULL) == FURROW_OK);
  if (schema) save_encoder(data, schema, place);
  if (schema) set_key(conf, "encoder", place);
  set_key(conf, "epochs", "2");
  set_key(conf, "valid-ratio", "0");
  check(furrow_trainer_create(&trainer, conf, NULL, NULL) == FURROW_OK);
  check(furrow_trainer_fit(trainer, data, NULL, NULL, NULL) == FURROW_OK);
  check(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model", folder);
  check(furrow_trainer_save(trainer, path, NULL, NULL) == FURROW_OK);
  const model_source source = {.name = name, .path = path, .seen = has_seen ? data : NULL};
  served_model *model = open_served(&source);
  snprintf(clean, sizeof clean, "rm -rf %s", folder);
  check(system(clean) == 0);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return model;
}

/* How requests are asked, and what an answer may be. */
typedef struct request_rules {
  service_limits limits;
  size_t (*count_results)(const bytes *body); /* of an answer; checks that it is one */
  int statuses[4];                            /* of problems; 0 ends them */
} request_rules;

/* A problem is a JSON object, whatever bytes its pointer and its token are made of. */
static inline void check_problem(const http_answer *answer, const int *statuses) {
  furrow_json *json = NULL;
  while (*statuses && *statuses != answer->status) statuses++;
  check(*statuses != 0);
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, answer->body.data, answer->body.size, NULL);
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
  check(!c.move && !request.answer.body.failed);
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
  check(memcmp(first.body.data, second.body.data, first.body.size) == 0);
  bytes_clear(&first.body);
  bytes_clear(&second.body);
}

#endif
