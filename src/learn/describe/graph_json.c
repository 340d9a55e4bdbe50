/* learn/describe/graph_json.c: graph.json, as Angel writes it: sections data, model, train with all their values; layers in
 * order of construction, a stack of fc layers as one, each with its own optimizer.
 *
 * Angel leaves out an optimizer's rate and regularisation, and knows no base of indices, no seed …: these stand there
 * only where they are not the default, so that a file read again means the same. Angel skips what it does not know. */
#include <math.h>
#include <string.h>

#include "learn/describe/describe.h"

/* ---- Sections ---- */

/* What Angel's file always has. */
static bool is_angels(fw_key key) {
  switch (key) {
  case FW_KEY_SHORT_ROWS:
  case FW_KEY_THRESHOLD:
  case FW_KEY_HAS_LABEL:
  case FW_KEY_INDEX_BASE:
  case FW_KEY_DECAY_INTERVALS:
  case FW_KEY_DECAY_ON_BATCH:
  case FW_KEY_SEED:
  case FW_KEY_INIT_INPUT:
  case FW_KEY_INIT_EMBEDDING:
  case FW_KEY_INIT_FC: return false;
  default: return true;
  }
}

/* What the data decides and nobody has found: a net that was trained step by step has seen no file. */
static bool is_open(const fw_plan *plan, fw_key key) {
  return (key == FW_KEY_EPOCHS && plan->train.epochs == 0) ||
         (key == FW_KEY_FORMAT && strcmp(plan->data.format, "auto") == 0) ||
         (key == FW_KEY_INDEX_BASE && plan->data.index_base < 0 && plan->train.recommended);
}

/* Paths of files do not belong to a model. A batch of 0 is not a size: the number of updates counts. */
static bool is_left_out(const fw_plan *plan, fw_key key) {
  if (is_open(plan, key)) return true;
  if (key == FW_KEY_DATA || key == FW_KEY_LOAD || key == FW_KEY_SAVE) return true;
  if (key == FW_KEY_BATCH && plan->train.batch == 0) return true;
  return !is_angels(key) && !fw_plan_differs(plan, key);
}

void fw_json_out_value(fw_json_out *json, fw_key key, fw_value value) {
  switch (fw_key_kind(key)) {
  case FW_VALUE_REAL: fw_json_out_real(json, value.real); break;
  case FW_VALUE_YES_NO: fw_json_out_bool(json, value.integer != 0); break;
  case FW_VALUE_INDEX_BASE:
    if (value.integer < 0) {
      fw_json_out_text(json, "auto");
      break;
    }
    fw_json_out_integer(json, value.integer);
    break;
  case FW_VALUE_INT: fw_json_out_integer(json, value.integer); break;
  default: fw_json_out_text(json, value.text); break;
  }
}

static void put_section(fw_json_out *json, const fw_plan *plan, const char *section) {
  const size_t n = strlen(section);
  fw_json_out_key(json, section);
  fw_json_out_open(json);
  for (unsigned key = 0; key < FW_KEYS; key++) {
    const char *path = fw_key_facts((fw_key)key)->json_path;
    if (!path || strncmp(path, section, n) != 0 || path[n] != '/' || is_left_out(plan, (fw_key)key)) continue;
    fw_json_out_key(json, path + n + 1);
    fw_json_out_value(json, (fw_key)key, fw_plan_value(plan, (fw_key)key));
  }
  fw_json_out_close(json);
}

/* ---- Parts of layers ---- */

static void put_integer(fw_json_out *json, const char *key, int64_t value) {
  fw_json_out_key(json, key);
  fw_json_out_integer(json, value);
}

static void put_real(fw_json_out *json, const char *key, double value) {
  fw_json_out_key(json, key);
  fw_json_out_real(json, value);
}

static void put_activation(fw_json_out *json, const fw_layer *layer) {
  fw_json_out_open(json);
  fw_json_out_member(json, "type", fw_activation_name(layer->activation));
  if (fw_activation_drops(layer->activation)) {
    put_real(json, "proba", layer->dropout);
    fw_json_out_member(json, "actiontype", "train");
  }
  fw_json_out_close(json);
}

void fw_json_out_optimizer(fw_json_out *json, const fw_optimizer *optimizer) {
  const fw_optimizer_param *params = fw_optimizer_params(optimizer->type);
  const bool published = optimizer->type == FW_OPTIMIZER_PUBLISHED_ADAGRAD;
  fw_json_out_open(json);
  fw_json_out_member(json, "type", fw_optimizer_name(published ? FW_OPTIMIZER_ADAGRAD : optimizer->type));
  if (published) fw_json_out_member(json, "variant", FW_ADAGRAD_VARIANT);
  if (params[0].member) put_real(json, params[0].member, optimizer->a);
  if (params[1].member) put_real(json, params[1].member, optimizer->b);
  if (!isnan(optimizer->lr)) put_real(json, "lr", optimizer->lr);
  if (optimizer->l1 != 0) put_real(json, "reg1", optimizer->l1);
  if (optimizer->l2 != 0) put_real(json, "reg2", optimizer->l2);
  fw_json_out_close(json);
}

static void put_optimizer(fw_json_out *json, const fw_layer *layer) {
  fw_json_out_key(json, "optimizer");
  fw_json_out_optimizer(json, &layer->optimizer);
}

static void put_loss(fw_json_out *json, const fw_layer *layer) {
  fw_json_out_key(json, "lossfunc");
  fw_json_out_open(json);
  fw_json_out_member(json, "type", fw_loss_name(layer->loss));
  if (layer->loss == FW_LOSS_HUBER) put_real(json, "delta", layer->delta);
  fw_json_out_close(json);
}

void fw_json_out_inputs(fw_json_out *json, const char *key, const fw_graph *graph, const fw_layer *layer) {
  fw_json_out_key(json, key);
  fw_json_out_open_array(json);
  for (size_t k = 0; k < layer->input_count; k++) {
    fw_json_out_element(json);
    fw_json_out_text(json, graph->layers[layer->inputs[k]].name);
  }
  fw_json_out_close_array(json);
}

/* ---- Layers ---- */

static void put_head(fw_json_out *json, const fw_layer *layer, const char *name) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_json_out_member(json, "name", name);
  fw_json_out_member(json, "type", fw_layer_type_name(layer->type));
}

/* `first` is the first layer of the stack. */
static void put_stack(fw_json_out *json, const fw_graph *graph, const fw_layer *first) {
  put_head(json, first, first->stack_name);
  fw_json_out_key(json, "outputdims");
  fw_json_out_open_array(json);
  for (size_t k = 0; k < first->stack_size; k++) {
    fw_json_out_element(json);
    fw_json_out_integer(json, (int64_t)first[k].width);
  }
  fw_json_out_close_array(json);
  fw_json_out_member(json, "inputlayer", graph->layers[first->inputs[0]].name);
  fw_json_out_key(json, "transfuncs");
  fw_json_out_open_array(json);
  for (size_t k = 0; k < first->stack_size; k++) {
    fw_json_out_element(json);
    put_activation(json, &first[k]);
  }
  fw_json_out_close_array(json);
  put_optimizer(json, first);
  fw_json_out_close(json);
}

static void put_layer(fw_json_out *json, const fw_graph *graph, const fw_layer *layer) {
  put_head(json, layer, layer->name);
  switch (layer->type) {
  case FW_LAYER_INPUT:
    put_integer(json, "outputdim", (int64_t)layer->width);
    fw_json_out_key(json, "transfunc");
    put_activation(json, layer);
    put_optimizer(json, layer);
    break;
  case FW_LAYER_EMBEDDING:
    put_integer(json, "outputdim", layer->outputdim);
    put_integer(json, "numfactors", (int64_t)layer->factors);
    put_optimizer(json, layer);
    break;
  case FW_LAYER_LOSS:
    put_integer(json, "outputdim", -1);
    fw_json_out_member(json, "inputlayer", graph->layers[layer->inputs[0]].name);
    put_loss(json, layer);
    break;
  case FW_LAYER_BI_INNER_SUM:
  case FW_LAYER_BI_INNER:
  case FW_LAYER_BI_INTERACTION:
  case FW_LAYER_FIELD_AWARE:
    put_integer(json, "outputdim", (int64_t)layer->width);
    fw_json_out_member(json, "inputlayer", graph->layers[layer->inputs[0]].name);
    break;
  default:
    put_integer(json, "outputdim", (int64_t)layer->width);
    fw_json_out_inputs(json, "inputlayers", graph, layer);
    break;
  }
  fw_json_out_close(json);
}

void fw_describe_angel(fw_buffer *out, const fw_description *about) {
  const fw_graph *graph = &about->plan->graph;
  fw_json_out json = {.out = out};
  fw_json_out_open(&json);
  put_section(&json, about->plan, "data");
  put_section(&json, about->plan, "model");
  put_section(&json, about->plan, "train");
  if (about->plan->forest.used) {
    put_section(&json, about->plan, "gbdt");
    fw_json_out_close(&json);
    return;
  }
  fw_json_out_key(&json, "layers");
  fw_json_out_open_array(&json);
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    if (layer->type != FW_LAYER_FC)
      put_layer(&json, graph, layer);
    else if (layer->stack == 0)
      put_stack(&json, graph, layer);
  }
  fw_json_out_close_array(&json);
  fw_json_out_close(&json);
}
