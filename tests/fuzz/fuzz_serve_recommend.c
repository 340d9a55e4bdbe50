/* tests/fuzz/fuzz_serve_recommend.c: any bytes as the body of :recommend and :similar: an answer that is JSON, with a
 * result for each user or item, or a problem; and the same answer again, from memory that was used. The first byte
 * chooses the call. */
#include <string.h>

#include "api/service.h"
#include "fuzz/fuzz_check.h"

static const char log_text[] =
    "y,u,i,p,s/t\n1,a,x,1,k\n0,b,y,2,k\n1,a,y,3,\n0,c,x,4,l\n1,c,z,,k\n0,b,x,6,l\n1,10,x,2,k\n0,10,12,1,l\n";
static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"p\":{\"as\":\"number\"},\"s/t\":{\"as\":\"category\"}}}";

static void set(furrow_learn_conf *conf, const char *key, const char *value) {
  check(furrow_learn_conf_set(conf, key, value, NULL) == FURROW_OK);
}

static void save_encoder(const char *data, const char *place) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  check(furrow_schema_parse(&schema, schema_text, strlen(schema_text), NULL) == FURROW_OK);
  check(furrow_encoder_build(&encoder, data, schema, NULL, NULL) == FURROW_OK);
  check(furrow_encoder_save(encoder, place, true, NULL) == FURROW_OK);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

/* Serves a model in a folder, with the log as what users have seen. */
static served_model *open_model(const char *folder, const char *seen) {
  served_model *model = NULL;
  reload_result result;
  const model_source source = {.name = "m", .path = folder, .seen = seen};
  check(served_model_create(&model, &source, 1, NULL) == FURROW_OK);
  check(served_model_reload(model, true, &result, NULL) == FURROW_OK);
  return model;
}

/* Trains, saves and serves a model; nothing of it stays on the disk. */
static served_model *serve(void) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  const char *data = "memory://log.csv", *place = "memory://encoder";
  char folder[] = "/tmp/furrow-fuzz-XXXXXX", path[64], clean[96];
  check(furrow_memory_file_add(data, log_text, strlen(log_text), NULL, NULL, NULL) == FURROW_OK);
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  check(furrow_learn_conf_set_algorithm(conf, "fm", NULL) == FURROW_OK);
  save_encoder(data, place);
  set(conf, "encoder", place);
  set(conf, "epochs", "2");
  set(conf, "valid-ratio", "0");
  check(furrow_trainer_create(&trainer, conf, NULL, NULL) == FURROW_OK);
  check(furrow_trainer_fit(trainer, data, NULL, NULL, NULL) == FURROW_OK);
  check(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model", folder);
  check(furrow_trainer_save(trainer, path, NULL, NULL) == FURROW_OK);
  served_model *model = open_model(path, data);
  snprintf(clean, sizeof clean, "rm -rf %s", folder);
  check(system(clean) == 0);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return model;
}

/* Counts the elements of the first list in the answer; warnings may follow. */
static size_t count_results(const bytes *body) {
  furrow_json *json = NULL;
  furrow_json_text key;
  size_t count = 0;
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, body->data, body->size, NULL);
  check(furrow_json_object(json, NULL) == FURROW_OK && furrow_json_member(json, &key, NULL) == FURROW_OK);
  check(furrow_json_array(json, NULL) == FURROW_OK);
  for (; furrow_json_element(json, NULL) == FURROW_OK; count++) {
    check(furrow_json_peek(json) == FURROW_JSON_OBJECT);
    check(furrow_json_skip(json, NULL, NULL) == FURROW_OK);
  }
  furrow_status status = furrow_json_member(json, &key, NULL);
  if (status == FURROW_OK) {
    check(furrow_json_is(key, "warnings") && furrow_json_skip(json, NULL, NULL) == FURROW_OK);
    status = furrow_json_member(json, &key, NULL);
  }
  check(status == FURROW_END && furrow_json_end(json, NULL) == FURROW_OK);
  furrow_json_free(json);
  return count;
}

/* A problem is a JSON object, whatever bytes its pointer and its token are made of. */
static void check_problem(const http_answer *answer) {
  furrow_json *json = NULL;
  check(answer->status == 400 || answer->status == 404 || answer->status == 413);
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, answer->body.data, answer->body.size, NULL);
  check(furrow_json_skip(json, NULL, NULL) == FURROW_OK && furrow_json_end(json, NULL) == FURROW_OK);
  furrow_json_free(json);
}

static void ask(served_model *model, handler handle, const uint8_t *data, size_t size, http_answer *answer) {
  static thread_memory memory;
  service s = {.limits = {.max_rows = 50, .max_results = 100}};
  http_request request = {.body = (const char *)data, .body_size = size};
  call c = {.service = &s, .memory = &memory, .request = &request, .answer = &request.answer, .model = model};
  handle(&c);
  check(!c.move && !request.answer.body.failed);
  if (request.answer.status == 0)
    check(count_results(&request.answer.body) == c.rows);
  else
    check_problem(&request.answer);
  *answer = request.answer;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static served_model *model;
  http_answer first, second;
  if (!model) model = serve();
  if (size == 0) return 0;
  const handler handle = data[0] & 1 ? similar_handler : recommend_handler;
  ask(model, handle, data + 1, size - 1, &first);
  ask(model, handle, data + 1, size - 1, &second);
  check(first.status == second.status && first.body.size == second.body.size);
  check(memcmp(first.body.data, second.body.data, first.body.size) == 0);
  bytes_clear(&first.body);
  bytes_clear(&second.body);
  return 0;
}
