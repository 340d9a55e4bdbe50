/* tests/fuzz/fuzz_serve_predict.c: any bytes as the body of :predict and :explain: an answer that is JSON, with a score
 * for each row, or a problem; and the same answer again, from memory that was used. The first byte chooses the model.
 */
#include <string.h>

#include "api/instances.h"
#include "api/problem.h"
#include "fuzz/fuzz_check.h"

enum { MODELS = 4 };

static served_model *models[MODELS]; /* of a log, a log with a history, libsvm rows, a csv */

static const char log_text[] =
    "y,u,i,p,s,t\n1,a,x,1,k|l,1\n0,b,y,2,k,2\n1,a,y,3,,3\n0,c,x,4,l,4\n1,c,y,,k,5\n0,b,x,6,l,6\n1,10,x,2,k,7\n";
static const char row_text[] = "1 1:1 3:0.5\n0 2:1 3:2\n1 1:2 4:1\n0 2:0.5 4:3\n1 1:1\n0 2:3\n";
static const char csv_text[] = "y,a,b c\n1,1,2\n0,2,1\n1,1,3\n0,3,\n1,0,2\n0,2,0\n";
static const char plain_schema[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"p\":{\"as\":\"number\"},\"s\":{\"as\":\"set\",\"separator\":\"|\"}"
    ","
    "\"t\":{\"as\":\"ignore\"}}}";
static const char history_schema[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"p\":{\"as\":\"ignore\"},\"s\":{\"as\":\"text\"},"
    "\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\"}},\"history\":2}";

static void set(furrow_learn_conf *conf, const char *key, const char *value) {
  check(furrow_learn_conf_set(conf, key, value, NULL) == FURROW_OK);
}

static void save_encoder(const char *data, const char *schema_text, const char *place) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  check(furrow_schema_parse(&schema, schema_text, strlen(schema_text), NULL) == FURROW_OK);
  check(furrow_encoder_build(&encoder, data, schema, NULL, NULL) == FURROW_OK);
  check(furrow_encoder_save(encoder, place, true, NULL) == FURROW_OK);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

/* Trains, saves and serves a model; nothing of it stays on the disk. */
static served_model *serve(const char *algorithm, const char *text, const char *name, const char *schema) {
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  served_model *model = NULL;
  reload_result result;
  char data[64], folder[] = "/tmp/furrow-fuzz-XXXXXX", path[64], place[64], clean[96];
  snprintf(data, sizeof data, "memory://%s", name);
  snprintf(place, sizeof place, "memory://encoder-%s", name);
  check(furrow_memory_file_add(data, text, strlen(text), NULL, NULL, NULL) == FURROW_OK);
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  check(furrow_learn_conf_set_algorithm(conf, algorithm, NULL) == FURROW_OK);
  if (schema) save_encoder(data, schema, place);
  if (schema) set(conf, "encoder", place);
  set(conf, "epochs", "2");
  set(conf, "valid-ratio", "0");
  check(furrow_trainer_create(&trainer, conf, NULL, NULL) == FURROW_OK);
  check(furrow_trainer_fit(trainer, data, NULL, NULL, NULL) == FURROW_OK);
  check(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/model", folder);
  check(furrow_trainer_save(trainer, path, NULL, NULL) == FURROW_OK);
  const model_source source = {.name = name, .path = path};
  check(served_model_create(&model, &source, 1, NULL) == FURROW_OK);
  check(served_model_reload(model, true, &result, NULL) == FURROW_OK);
  snprintf(clean, sizeof clean, "rm -rf %s", folder);
  check(system(clean) == 0);
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  return model;
}

static void make_models(void) {
  models[0] = serve("fm", log_text, "log.csv", plain_schema);
  models[1] = serve("fm", log_text, "history.csv", history_schema);
  models[2] = serve("lr", row_text, "rows.libsvm", NULL);
  models[3] = serve("lr", csv_text, "rows.csv", NULL);
}

/* Counts the elements of the first list in the answer; each is a number, or an object with a score. */
static size_t count_results(const bytes *body) {
  furrow_json *json = NULL;
  furrow_json_text key;
  size_t count = 0;
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, body->data, body->size, NULL);
  check(furrow_json_object(json, NULL) == FURROW_OK && furrow_json_member(json, &key, NULL) == FURROW_OK);
  check(furrow_json_array(json, NULL) == FURROW_OK);
  while (furrow_json_element(json, NULL) == FURROW_OK) {
    const furrow_json_kind kind = furrow_json_peek(json);
    check(kind == FURROW_JSON_NUMBER || kind == FURROW_JSON_OBJECT);
    check(furrow_json_skip(json, NULL, NULL) == FURROW_OK);
    count++;
  }
  while (furrow_json_member(json, &key, NULL) == FURROW_OK) check(furrow_json_skip(json, NULL, NULL) == FURROW_OK);
  check(furrow_json_end(json, NULL) == FURROW_OK);
  furrow_json_free(json);
  return count;
}

/* A problem is a JSON object. */
static void check_problem(const http_answer *answer) {
  furrow_json *json = NULL;
  check(answer->status == 400 || answer->status == 413 || answer->status == 422);
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, answer->body.data, answer->body.size, NULL);
  check(furrow_json_skip(json, NULL, NULL) == FURROW_OK && furrow_json_end(json, NULL) == FURROW_OK);
  furrow_json_free(json);
}

static void ask(served_model *model, handler handle, const uint8_t *data, size_t size, http_answer *answer) {
  static thread_memory memory;
  service s = {.limits = {.max_rows = 700}};
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
  http_answer first, second;
  if (!models[0]) make_models();
  if (size == 0) return 0;
  served_model *model = models[data[0] % MODELS];
  const handler handle = data[0] & 64 ? explain_handler : predict_handler;
  ask(model, handle, data + 1, size - 1, &first);
  ask(model, handle, data + 1, size - 1, &second);
  check(first.status == second.status && first.body.size == second.body.size);
  check(memcmp(first.body.data, second.body.data, first.body.size) == 0);
  bytes_clear(&first.body);
  bytes_clear(&second.body);
  return 0;
}
