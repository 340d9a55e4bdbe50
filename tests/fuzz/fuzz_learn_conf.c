/* tests/fuzz/fuzz_learn_conf.c: any bytes as the JSON of a model: refused with an error that says where, or read; what
 * was read can be resolved or is refused, drawn in every way, and its graph.json means the same again. */
#include <string.h>

#include "fuzz/harness/fuzz_check.h"
#include "learn/conf/conf.h"

static char *describe(const furrow_learn_conf *conf, furrow_describe_format kind, size_t *size) {
  char *text = NULL;
  check(furrow_learn_conf_describe(conf, kind, 1000, &text, size, NULL) == FURROW_OK);
  check(text && strlen(text) <= *size);
  return text;
}

static void check_plan(const fw_plan *plan) {
  const fw_graph *graph = &plan->graph;
  check(graph->count >= 2 && graph->layers[graph->count - 1].type == FW_LAYER_LOSS);
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    check(layer->name[0] && !strchr(layer->name, '/'));
    check(layer->width > 0 || (layer->type == FW_LAYER_EMBEDDING && layer->slots == 0));
    check(layer->type != FW_LAYER_FC || layer->in_width == graph->layers[layer->inputs[0]].width);
    for (size_t k = 0; k < layer->input_count; k++) check(layer->inputs[k] < i);
  }
  for (uint64_t n = 1; n < 1000; n += 333) check(fw_decay_rate(&plan->train, n) >= 0);
}

static void check_again(const furrow_learn_conf *conf) {
  size_t size, size_again;
  furrow_learn_conf *again = NULL;
  char *text = describe(conf, FURROW_DESCRIBE_ANGEL, &size);
  check(furrow_learn_conf_create(&again, NULL) == FURROW_OK);
  check(furrow_learn_conf_read(again, text, size, "graph.json", NULL) == FURROW_OK);
  char *text_again = describe(again, FURROW_DESCRIBE_ANGEL, &size_again);
  check(size == size_again && memcmp(text, text_again, size) == 0);
  furrow_free(text);
  furrow_free(text_again);
  furrow_learn_conf_free(again);
}

static void check_conf(furrow_learn_conf *conf) {
  fw_plan *plan = NULL;
  furrow_error err = {0};
  size_t size;
  const furrow_status status = fw_plan_of_conf(&plan, conf, &err);
  if (status != FURROW_OK) {
    check(status == FURROW_E_ARGUMENT && err.message[0]);
    return;
  }
  check_plan(plan);
  if (strcmp(plan->data.format, "auto") == 0) /* training finds it in the data before graph.json is written */
    check(furrow_learn_conf_set(conf, "format", "libsvm", NULL) == FURROW_OK);
  fw_plan_free(plan);
  for (furrow_describe_format kind = FURROW_DESCRIBE_TEXT; kind < FURROW_DESCRIBE_ANGEL; kind++)
    furrow_free(describe(conf, kind, &size));
  check_again(conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  furrow_learn_conf *conf = NULL, *copy = NULL;
  furrow_error err = {0};
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  const furrow_status status = furrow_learn_conf_read(conf, data, size, "x.json", &err);
  if (status == FURROW_OK) {
    check(fw_learn_conf_copy(&copy, conf, NULL) == FURROW_OK);
    check_conf(copy);
    check(furrow_learn_conf_set_algorithm(conf, "deepfm", NULL) == FURROW_OK); /* with shapes of the file */
    check_conf(conf);
  } else {
    check(status == FURROW_E_FORMAT && err.message[0] && strcmp(err.file, "x.json") == 0 && err.offset <= size);
  }
  furrow_learn_conf_free(copy);
  furrow_learn_conf_free(conf);
  return 0;
}
