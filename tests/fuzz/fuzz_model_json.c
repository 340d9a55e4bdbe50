/* tests/fuzz/fuzz_model_json.c: any bytes as the furrow.json of a model: refused with an error that says where, or
 * read; what was read is a configuration that can be resolved or is refused, and copied. */
#include <string.h>

#include "fuzz/harness/fuzz_check.h"
#include "learn/conf/conf.h"

static void check_conf(furrow_learn_conf *conf, const char *algorithm) {
  fw_plan *plan = NULL;
  furrow_error err = {0};
  check(furrow_learn_conf_set_algorithm(conf, algorithm, NULL) == FURROW_OK);
  const furrow_status status = fw_plan_of_conf(&plan, conf, &err);
  check(status == FURROW_OK || (status == FURROW_E_ARGUMENT && err.message[0]));
  if (status != FURROW_OK) return;
  const fw_data_conf *data = &plan->data;
  check(data->index_base >= -1 && data->index_base <= 1 && data->format);
  for (size_t i = 1; i < data->label_count; i++) check(data->labels[i - 1] <= data->labels[i]);
  fw_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const keys[] = {"format",       "index-base",    "class-names", "columns",
                                     "label-column", "weight-column", "delimiter",   "labels"};
  furrow_learn_conf *conf = NULL, *copy = NULL;
  furrow_error err = {0};
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  const furrow_status status = fw_model_json_read(conf, (const char *)data, size, "furrow.json", &err);
  if (status == FURROW_OK) {
    check(fw_learn_conf_copy(&copy, conf, NULL) == FURROW_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      check(strcmp(furrow_learn_conf_get(conf, keys[i]), furrow_learn_conf_get(copy, keys[i])) == 0);
    check_conf(conf, "lr");
    check_conf(copy, "softmax");
  } else {
    check(status == FURROW_E_FORMAT || status == FURROW_E_UNSUPPORTED);
    check(err.message[0] && strcmp(err.file, "furrow.json") == 0);
    check(status == FURROW_E_UNSUPPORTED || err.offset <= size);
  }
  furrow_learn_conf_free(copy);
  furrow_learn_conf_free(conf);
  return 0;
}
