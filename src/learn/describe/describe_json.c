/* learn/describe/describe_json.c: a configuration as JSON: for programs; as graph.json, which Angel reads; and as a
 * file of keys. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/describe/describe.h"

/* ---- Values ---- */

void fw_json_put_real(fw_json_out *json, const char *key, double value) {
  fw_json_out_key(json, key);
  fw_json_out_real(json, value);
}

void fw_json_put_count(fw_json_out *json, const char *key, uint64_t count) {
  fw_json_out_key(json, key);
  if (count == FW_COUNT_UNKNOWN)
    fw_json_out_null(json);
  else
    fw_json_out_unsigned(json, count);
}

static void put_value(fw_json_out *json, fw_key key, fw_value value) {
  const fw_value_kind kind = fw_key_kind(key);
  if (kind == FW_VALUE_REAL)
    fw_json_out_real(json, value.real);
  else if (kind == FW_VALUE_YES_NO)
    fw_json_out_bool(json, value.integer != 0);
  else if (kind == FW_VALUE_INT || (kind == FW_VALUE_INDEX_BASE && value.integer >= 0))
    fw_json_out_integer(json, value.integer);
  else
    fw_json_out_text(json, kind == FW_VALUE_INDEX_BASE ? "auto" : value.text);
}

/* Begins an object or an array as a member. */
static void open_object(fw_json_out *json, const char *key) {
  fw_json_out_key(json, key);
  fw_json_out_open(json);
}

static void open_array(fw_json_out *json, const char *key) {
  fw_json_out_key(json, key);
  fw_json_out_open_array(json);
}

/* ---- Parts of layers ---- */

static void open_layer(fw_json_out *json, const fw_layer *layer, const char *name) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_json_out_member(json, "name", name);
  fw_json_out_member(json, "type", fw_layer_type_name(layer->type));
}

static void put_inputs(fw_json_out *json, const char *key, const fw_graph *graph, const fw_layer *layer) {
  open_array(json, key);
  for (size_t k = 0; k < layer->input_count; k++) {
    fw_json_out_element(json);
    fw_json_out_text(json, graph->layers[layer->inputs[k]].name);
  }
  fw_json_out_close_array(json);
}

static void put_optimizer(fw_json_out *json, const fw_optimizer *optimizer) {
  const fw_optimizer_param *params = fw_optimizer_params(optimizer->type);
  const bool published = optimizer->type == FW_OPTIMIZER_PUBLISHED_ADAGRAD;
  open_object(json, "optimizer");
  fw_json_out_member(json, "type", fw_optimizer_name(published ? FW_OPTIMIZER_ADAGRAD : optimizer->type));
  if (published) fw_json_out_member(json, "variant", FW_ADAGRAD_VARIANT);
  if (params[0].member) fw_json_put_real(json, params[0].member, optimizer->a);
  if (params[1].member) fw_json_put_real(json, params[1].member, optimizer->b);
  if (!isnan(optimizer->lr)) fw_json_put_real(json, "lr", optimizer->lr);
  if (optimizer->l1 != 0) fw_json_put_real(json, "reg1", optimizer->l1);
  if (optimizer->l2 != 0) fw_json_put_real(json, "reg2", optimizer->l2);
  fw_json_out_close(json);
}

/* ---- For programs ---------------------------------------------------------------------------------------------- */

/* By their short names. */
static void put_settings(fw_json_out *json, const fw_plan *plan) {
  open_object(json, "settings");
  for (unsigned key = 0; key < FW_KEYS; key++) {
    const furrow_learn_key *facts = fw_key_facts((fw_key)key);
    if (!facts->json_path || !strchr(facts->json_path, '/')) continue;
    if (strncmp(facts->json_path, "gbdt/", 5) == 0 && !plan->forest.used) continue;
    const fw_value value = fw_plan_value(plan, (fw_key)key);
    fw_json_out_key(json, facts->name);
    const fw_value_kind kind = fw_key_kind((fw_key)key);
    if ((kind == FW_VALUE_TEXT || kind == FW_VALUE_MONOTONE) && !value.text)
      fw_json_out_null(json);
    else
      put_value(json, (fw_key)key, value);
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
  fw_json_put_count(json, "rows", rows);
  fw_json_put_count(json, "cols", cols);
  fw_json_out_close(json);
}

/* Lists matrices as Angel stores them: the weights of an fc layer are one row. */
static void put_matrices(fw_json_out *json, const fw_description *about, const fw_layer *layer,
                         const fw_layer_size *size) {
  open_array(json, "matrices");
  if (layer->type == FW_LAYER_EMBEDDING) put_matrix(json, layer->name, "embedding", size->rows, about->features);
  if (layer->type == FW_LAYER_INPUT) put_matrix(json, layer->name, "weight", size->rows, about->features);
  if (layer->type == FW_LAYER_FC) put_matrix(json, layer->name, "weight", 1, size->weights);
  if (size->biases) put_matrix(json, layer->name, "bias", 1, size->biases);
  fw_json_out_close_array(json);
}

static void put_layer(fw_json_out *json, const fw_description *about, size_t i) {
  const fw_layer *layer = &about->plan->graph.layers[i];
  const fw_layer_size *size = &about->sizes[i];
  open_layer(json, layer, layer->name);
  put_inputs(json, "inputs", &about->plan->graph, layer);
  fw_json_put_count(json, "width", layer->width ? layer->width : FW_COUNT_UNKNOWN);
  if (layer->factors) fw_json_put_count(json, "factors", layer->factors);
  if (layer->type == FW_LAYER_EMBEDDING)
    fw_json_put_count(json, "slots", layer->slots ? layer->slots : FW_COUNT_UNKNOWN);
  if (layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_FC)
    fw_json_out_member(json, "activation", fw_activation_name(layer->activation));
  if (fw_activation_drops(layer->activation)) fw_json_put_real(json, "dropout", layer->dropout);
  if (layer->type == FW_LAYER_LOSS) fw_json_out_member(json, "loss", fw_loss_name(layer->loss));
  if (size->weights) {
    put_optimizer(json, &layer->optimizer);
    fw_json_put_count(json, "weights", size->weights);
    fw_json_put_count(json, "biases", size->biases);
    fw_json_put_count(json, "bytes", size->bytes);
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
  fw_json_put_count(&json, "outputs", plan->graph.outputs);
  fw_json_put_count(&json, "features", about->features);
  fw_json_put_count(&json, "parameters", about->parameters);
  fw_json_put_count(&json, "bytes", about->bytes);
  put_settings(&json, plan);
  open_array(&json, "layers");
  for (size_t i = 0; i < plan->graph.count; i++) put_layer(&json, about, i);
  fw_json_out_close_array(&json);
  fw_json_out_close(&json);
  fw_buffer_byte(out, '\n');
}

/* ---- graph.json ------------------------------------------------------------------------------------------------ */

/* As Angel writes it: sections data, model, train with all their values; layers in order of construction, a stack of fc
 * layers as one, each with its own optimizer. Angel leaves out an optimizer's rate and regularisation, and knows no
 * base of indices, no seed …: these stand there only where they are not the default, so that a file read again means
 * the same. Angel skips what it does not know. */

/* Whether Angel's file always has the key. */
static bool is_angels(fw_key key) {
  static const fw_key own[] = {FW_KEY_SHORT_ROWS,      FW_KEY_THRESHOLD,      FW_KEY_HAS_LABEL, FW_KEY_INDEX_BASE,
                               FW_KEY_DECAY_INTERVALS, FW_KEY_DECAY_ON_BATCH, FW_KEY_SEED,      FW_KEY_INIT_INPUT,
                               FW_KEY_INIT_EMBEDDING,  FW_KEY_INIT_FC,        FW_KEY_QUANTILE,  FW_KEY_MONOTONE};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (own[i] == key) return false;
  return true;
}

/* Whether the data decides the value and it is still unknown: a net that was trained step by step has seen no file. */
static bool is_open(const fw_plan *plan, fw_key key) {
  return (key == FW_KEY_EPOCHS && plan->train.epochs == 0) ||
         (key == FW_KEY_FORMAT && strcmp(plan->data.format, "auto") == 0) ||
         (key == FW_KEY_INDEX_BASE && plan->data.index_base < 0 && plan->train.recommended);
}

/* Paths of files do not belong to a model. A batch of 0 is not a size: the number of updates counts. */
static bool is_left_out_of_graph(const fw_plan *plan, fw_key key) {
  if (is_open(plan, key)) return true;
  if (key == FW_KEY_DATA || key == FW_KEY_LOAD || key == FW_KEY_SAVE) return true;
  if (key == FW_KEY_BATCH && plan->train.batch == 0) return true;
  return !is_angels(key) && !fw_plan_differs(plan, key);
}

static void put_section(fw_json_out *json, const fw_plan *plan, const char *section) {
  const size_t n = strlen(section);
  open_object(json, section);
  for (unsigned key = 0; key < FW_KEYS; key++) {
    const char *path = fw_key_facts((fw_key)key)->json_path;
    if (!path || strncmp(path, section, n) != 0 || path[n] != '/' || is_left_out_of_graph(plan, (fw_key)key)) continue;
    fw_json_out_key(json, path + n + 1);
    put_value(json, (fw_key)key, fw_plan_value(plan, (fw_key)key));
  }
  fw_json_out_close(json);
}

static void put_activation(fw_json_out *json, const fw_layer *layer) {
  fw_json_out_open(json);
  fw_json_out_member(json, "type", fw_activation_name(layer->activation));
  if (fw_activation_drops(layer->activation)) {
    fw_json_put_real(json, "proba", layer->dropout);
    fw_json_out_member(json, "actiontype", "train");
  }
  fw_json_out_close(json);
}

static void put_loss(fw_json_out *json, const fw_layer *layer) {
  open_object(json, "lossfunc");
  fw_json_out_member(json, "type", fw_loss_name(layer->loss));
  if (layer->loss == FW_LOSS_HUBER) fw_json_put_real(json, "delta", layer->delta);
  fw_json_out_close(json);
}

/* `first` is the first layer of the stack. */
static void put_stack(fw_json_out *json, const fw_graph *graph, const fw_layer *first) {
  open_layer(json, first, first->stack_name);
  open_array(json, "outputdims");
  for (size_t k = 0; k < first->stack_size; k++) {
    fw_json_out_element(json);
    fw_json_out_integer(json, (int64_t)first[k].width);
  }
  fw_json_out_close_array(json);
  fw_json_out_member(json, "inputlayer", graph->layers[first->inputs[0]].name);
  open_array(json, "transfuncs");
  for (size_t k = 0; k < first->stack_size; k++) {
    fw_json_out_element(json);
    put_activation(json, &first[k]);
  }
  fw_json_out_close_array(json);
  put_optimizer(json, &first->optimizer);
  fw_json_out_close(json);
}

static void put_graph_layer(fw_json_out *json, const fw_graph *graph, const fw_layer *layer) {
  open_layer(json, layer, layer->name);
  const int64_t width = layer->type == FW_LAYER_EMBEDDING ? layer->outputdim : (int64_t)layer->width;
  fw_json_out_member_integer(json, "outputdim", layer->type == FW_LAYER_LOSS ? -1 : width);
  switch (fw_layer_type_family(layer->type)) {
  case FW_FAMILY_INPUT:
    fw_json_out_key(json, "transfunc");
    put_activation(json, layer);
    put_optimizer(json, &layer->optimizer);
    break;
  case FW_FAMILY_EMBEDDING:
    fw_json_out_member_integer(json, "numfactors", (int64_t)layer->factors);
    put_optimizer(json, &layer->optimizer);
    break;
  case FW_FAMILY_JOIN: put_inputs(json, "inputlayers", graph, layer); break;
  default: fw_json_out_member(json, "inputlayer", graph->layers[layer->inputs[0]].name); break;
  }
  if (layer->type == FW_LAYER_LOSS) put_loss(json, layer);
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
  open_array(&json, "layers");
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    if (layer->type != FW_LAYER_FC)
      put_graph_layer(&json, graph, layer);
    else if (layer->stack == 0)
      put_stack(&json, graph, layer);
  }
  fw_json_out_close_array(&json);
  fw_json_out_close(&json);
}

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

/* Writes all keys that are needed to restore the configuration. */

/* Leaves out keys of what is trained and of input and output: they do not say how to train. */
static bool is_left_out(fw_key key) {
  return key == FW_KEY_ALGORITHM || key == FW_KEY_DEFAULTS || key == FW_KEY_DATA || key == FW_KEY_VALID ||
         key == FW_KEY_LOAD || key == FW_KEY_SAVE || key == FW_KEY_ACTION;
}

/* Whether a configuration has the same plan. */
static bool has_plan(const furrow_learn_conf *conf, const fw_plan *plan) {
  fw_plan *its = NULL;
  uint64_t a = 0, b = 1;
  const bool same = fw_plan_of_conf(&its, conf, NULL) == FURROW_OK && its->train.lbfgs == plan->train.lbfgs &&
                    (its->train.own_l2 == plan->train.own_l2 || !plan->train.lbfgs) &&
                    fw_plan_fingerprint(its, &a, NULL) == FURROW_OK &&
                    fw_plan_fingerprint(plan, &b, NULL) == FURROW_OK && a == b;
  fw_plan_free(its);
  return same;
}

/* Sets a key whose default counts, unless it would be refused, or change the plan, once it is set: the rate of steps
 * where the exact minimum is sought, a parameter of an optimizer that no layer has. The default of lr is left out if no
 * optimizer has a rate. */
static furrow_status settle(furrow_learn_conf *conf, fw_key key, const fw_plan *plan, furrow_error *err) {
  const char *name = fw_key_facts(key)->name;
  const int64_t objective = fw_conf_value(conf, FW_KEY_OBJECTIVE).integer;
  const char *own = plan->train.recommended ? fw_recommended(plan->model.algorithm, objective, key) : NULL;
  if (key == FW_KEY_SEED) own = fw_conf_value(conf, key).text;
  if (key == FW_KEY_LR && !plan->forest.used && !fw_graph_has_rate(&plan->graph)) return FURROW_OK;
  if (fw_conf_is_set(conf, key) || is_left_out(key) || !own || strcmp(own, "auto") == 0) return FURROW_OK;
  FW_TRY(furrow_learn_conf_set(conf, name, own, err));
  if (has_plan(conf, plan)) return FURROW_OK;
  fw_free((void *)(uintptr_t)conf->keys[key].text);
  conf->keys[key] = (fw_value){0};
  return FURROW_OK;
}

static void put_keys(fw_buffer *out, const furrow_learn_conf *conf, const fw_plan *plan) {
  fw_json_out json = {.out = out};
  fw_json_out_open(&json);
  open_object(&json, "furrow");
  fw_json_out_member(&json, "algorithm", plan->model.algorithm);
  fw_json_out_member(&json, "defaults", plan->train.recommended ? "furrow" : "angel");
  for (unsigned key = 0; key < FW_KEYS; key++)
    if (!is_left_out((fw_key)key) && fw_conf_is_set(conf, (fw_key)key))
      fw_json_out_member(&json, fw_key_facts((fw_key)key)->name, fw_conf_value(conf, (fw_key)key).text);
  fw_json_out_close(&json);
  fw_json_out_close(&json);
  fw_buffer_text(out, "\n");
}

furrow_status fw_describe_keys(fw_buffer *out, const furrow_learn_conf *conf, const fw_plan *plan, furrow_error *err) {
  const fw_defaults_spec *spec = &conf->json.defaults;
  furrow_learn_conf *full = NULL;
  if (!plan->model.algorithm || conf->json.graph || spec->optimizer.spec || spec->activation.spec || spec->loss.spec)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "layers of a JSON file are more than keys can say");
  furrow_status status = fw_learn_conf_copy(&full, conf, err);
  for (unsigned key = 0; status == FURROW_OK && key < FW_KEYS; key++) status = settle(full, (fw_key)key, plan, err);
  if (status == FURROW_OK) put_keys(out, full, plan);
  furrow_learn_conf_free(full);
  return status;
}
