/* tests/fuzz/serve/fuzz_serve_predict.c: any bytes as the body of :predict and :explain: an answer that is JSON, with a
 * score for each row, or a problem; and the same answer again, from memory that was used. The first byte chooses the
 * model.
 */
#include "fuzz/harness/served_model_harness.h"

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

static void make_models(void) {
  models[0] = serve_trained("fm", log_text, "log.csv", plain_schema, false);
  models[1] = serve_trained("fm", log_text, "history.csv", history_schema, false);
  models[2] = serve_trained("lr", row_text, "rows.libsvm", NULL, false);
  models[3] = serve_trained("lr", csv_text, "rows.csv", NULL, false);
}

/* Counts the elements of the first list in the answer; each is a number, or an object with a score. */
static size_t count_results(const fw_buffer *body) {
  furrow_json *json = NULL;
  furrow_json_text key;
  size_t count = 0;
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, body->bytes, body->size, NULL);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const request_rules rules = {
      .limits = {.max_rows = 700}, .count_results = count_results, .statuses = {400, 413, 422}};
  if (!models[0]) make_models();
  if (size == 0) return 0;
  ask_twice(models[data[0] % MODELS], data[0] & 64 ? explain_handler : predict_handler, &rules, data + 1, size - 1);
  return 0;
}
