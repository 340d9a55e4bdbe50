/* tests/fuzz/serve/fuzz_serve_recommend.c: any bytes as the body of :recommend and :similar: an answer that is JSON,
 * with a result for each user or item, or a problem; and the same answer again, from memory that was used. The first
 * byte chooses the call. */
#include "fuzz/harness/served_model_harness.h"

static const char log_text[] =
    "y,u,i,p,s/t\n1,a,x,1,k\n0,b,y,2,k\n1,a,y,3,\n0,c,x,4,l\n1,c,z,,k\n0,b,x,6,l\n1,10,x,2,k\n0,10,12,1,l\n";
static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"p\":{\"as\":\"number\"},\"s/t\":{\"as\":\"category\"}}}";

/* Counts the elements of the first list in the answer; warnings may follow. */
static size_t count_results(const fw_buffer *body) {
  furrow_json *json = NULL;
  furrow_json_text key;
  size_t count = 0;
  check(furrow_json_create(&json, NULL) == FURROW_OK);
  furrow_json_start(json, body->bytes, body->size, NULL);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const request_rules rules = {
      .limits = {.max_rows = 50, .max_results = 100}, .count_results = count_results, .statuses = {400, 404, 413}};
  static served_model *model;
  if (!model) model = serve_trained("fm", log_text, "log.csv", schema_text, true);
  if (size == 0) return 0;
  ask_twice(model, data[0] & 1 ? similar_handler : recommend_handler, &rules, data + 1, size - 1);
  return 0;
}
