/* learn/describe/describe_json.c: a configuration for programs. */
#include <string.h>

#include "learn/describe/describe.h"

static void put_count(fw_json_out *json, const char *key, uint64_t count) {
  fw_json_out_key(json, key);
  if (count == FW_COUNT_UNKNOWN)
    fw_json_out_null(json);
  else
    fw_json_out_unsigned(json, count);
}

/* By their short names. */
static void put_settings(fw_json_out *json, const fw_plan *plan) {
  fw_json_out_key(json, "settings");
  fw_json_out_open(json);
  for (unsigned key = 0; key < FW_KEYS; key++) {
    const furrow_learn_key *facts = fw_key_facts((fw_key)key);
    if (!facts->json_path || !strchr(facts->json_path, '/')) continue;
    if (strncmp(facts->json_path, "gbdt/", 5) == 0 && !plan->forest.used) continue;
    const fw_value value = fw_plan_value(plan, (fw_key)key);
    fw_json_out_key(json, facts->name);
    if (fw_key_kind((fw_key)key) == FW_VALUE_TEXT && !value.text)
      fw_json_out_null(json);
    else
      fw_json_out_value(json, (fw_key)key, value);
  }
  fw_json_out_close(json);
}

static void put_matrix(fw_json_out *json, const char *layer, const char *ending, uint64_t rows, uint64_t cols) {
  fw_buffer name = {0};
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_buffer_format(&name, "%s_%s", layer, ending);
  fw_json_out_member(json, "name", name.missing ? "" : name.bytes);
  if (name.missing) json->out->missing = name.missing;
  fw_buffer_clear(&name);
  put_count(json, "rows", rows);
  put_count(json, "cols", cols);
  fw_json_out_close(json);
}

/* As Angel stores them: an fc layer's weights are one row. */
static void put_matrices(fw_json_out *json, const fw_description *about, const fw_layer *layer,
                         const fw_layer_size *size) {
  fw_json_out_key(json, "matrices");
  fw_json_out_open_array(json);
  if (layer->type == FW_LAYER_EMBEDDING) put_matrix(json, layer->name, "embedding", size->rows, about->features);
  if (layer->type == FW_LAYER_INPUT) put_matrix(json, layer->name, "weight", size->rows, about->features);
  if (layer->type == FW_LAYER_FC) put_matrix(json, layer->name, "weight", 1, size->weights);
  if (size->biases) put_matrix(json, layer->name, "bias", 1, size->biases);
  fw_json_out_close_array(json);
}

static void put_layer(fw_json_out *json, const fw_description *about, size_t i) {
  const fw_layer *layer = &about->plan->graph.layers[i];
  const fw_layer_size *size = &about->sizes[i];
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_json_out_member(json, "name", layer->name);
  fw_json_out_member(json, "type", fw_layer_type_name(layer->type));
  fw_json_out_inputs(json, "inputs", &about->plan->graph, layer);
  put_count(json, "width", layer->width ? layer->width : FW_COUNT_UNKNOWN);
  if (layer->factors) put_count(json, "factors", layer->factors);
  if (layer->type == FW_LAYER_EMBEDDING) put_count(json, "slots", layer->slots ? layer->slots : FW_COUNT_UNKNOWN);
  if (layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_FC)
    fw_json_out_member(json, "activation", fw_activation_name(layer->activation));
  if (fw_activation_drops(layer->activation)) {
    fw_json_out_key(json, "dropout");
    fw_json_out_real(json, layer->dropout);
  }
  if (layer->type == FW_LAYER_LOSS) fw_json_out_member(json, "loss", fw_loss_name(layer->loss));
  if (size->weights) {
    fw_json_out_key(json, "optimizer");
    fw_json_out_optimizer(json, &layer->optimizer);
    put_count(json, "weights", size->weights);
    put_count(json, "biases", size->biases);
    put_count(json, "bytes", size->bytes);
    put_matrices(json, about, layer, size);
  }
  fw_json_out_close(json);
}

void fw_describe_json(fw_buffer *out, const fw_description *about) {
  const fw_plan *plan = about->plan;
  fw_json_out json = {.out = out};
  fw_json_out_open(&json);
  fw_json_out_member(&json, "algorithm", plan->model.algorithm);
  fw_json_out_member(&json, "loss", fw_loss_name(plan->graph.loss));
  put_count(&json, "outputs", plan->graph.outputs);
  put_count(&json, "features", about->features);
  put_count(&json, "parameters", about->parameters);
  put_count(&json, "bytes", about->bytes);
  put_settings(&json, plan);
  fw_json_out_key(&json, "layers");
  fw_json_out_open_array(&json);
  for (size_t i = 0; i < plan->graph.count; i++) put_layer(&json, about, i);
  fw_json_out_close_array(&json);
  fw_json_out_close(&json);
  fw_buffer_byte(out, '\n');
}
