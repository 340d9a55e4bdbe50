/* learn/describe/describe.c: descriptions of a configuration: what its layers keep, in numbers and in memory. */
#include "learn/describe/describe.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"

/* ---- Counts, which stop at FW_COUNT_UNKNOWN ---- */

static uint64_t product(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_mul_overflow(a, b, &r) ? FW_COUNT_UNKNOWN : r;
}

static uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_add_overflow(a, b, &r) ? FW_COUNT_UNKNOWN : r;
}

/* Bytes of weights with what the optimizer keeps for them. */
static uint64_t bytes_of(const fw_layer *layer, uint64_t weights, uint64_t element) {
  return product(product(weights, 1 + fw_optimizer_state(layer->optimizer.type)), element);
}

static uint64_t bias_bytes(const fw_description *about, const fw_layer *layer, uint64_t biases, uint64_t element) {
  return about->plan->train.bias_optimizer ? bytes_of(layer, biases, element) : product(biases, element);
}

static fw_layer_size size_of(const fw_description *about, const fw_layer *layer, uint64_t element) {
  fw_layer_size size = {0};
  if (fw_layer_takes_data(layer)) {
    const bool input = layer->type == FW_LAYER_INPUT;
    size.by_feature = true;
    size.rows = input ? layer->width : layer->factors;
    size.biases = input ? layer->width : 0;
    size.weights = about->features == FW_COUNT_UNKNOWN ? FW_COUNT_UNKNOWN : product(about->features, size.rows);
  } else if (layer->type == FW_LAYER_FC) {
    size.rows = layer->in_width;
    size.weights = product(layer->in_width, layer->width);
    size.biases = layer->width;
  }
  size.bytes = sum(bytes_of(layer, size.weights, element), bias_bytes(about, layer, size.biases, element));
  return size;
}

static void count(fw_description *about) {
  const fw_plan *plan = about->plan;
  const uint64_t element = furrow_matrix_row_type_get(plan->model.row_type)->element == FURROW_ELEMENT_F64 ? 8 : 4;
  for (size_t i = 0; i < plan->graph.count; i++) {
    about->sizes[i] = size_of(about, &plan->graph.layers[i], element);
    const fw_layer *layer = &plan->graph.layers[i];
    const fw_layer_size *size = &about->sizes[i];
    const uint64_t dense = size->by_feature ? 0 : size->weights;
    about->fixed = sum(about->fixed, dense + size->biases);
    about->fixed_bytes += bytes_of(layer, dense, element) + bias_bytes(about, layer, size->biases, element);
    about->each += size->by_feature ? size->rows : 0;
    about->each_bytes += bytes_of(layer, size->by_feature ? size->rows : 0, element);
    about->parameters = sum(about->parameters, sum(size->weights, size->biases));
    about->bytes = sum(about->bytes, size->bytes);
  }
}

/* ---- Words ---- */

bool fw_layer_takes_data(const fw_layer *layer) {
  return layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_EMBEDDING;
}

void fw_buffer_count(fw_buffer *out, uint64_t value) {
  char digits[FW_NUMBER_TEXT];
  if (value == FW_COUNT_UNKNOWN) {
    fw_buffer_byte(out, '?');
    return;
  }
  const size_t n = fw_write_u64(digits, value);
  for (size_t i = 0; i < n; i++) {
    if (i && (n - i) % 3 == 0) fw_buffer_byte(out, ',');
    fw_buffer_byte(out, digits[i]);
  }
}

void fw_buffer_bytes(fw_buffer *out, uint64_t bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = (double)bytes;
  size_t unit = 0;
  if (bytes == FW_COUNT_UNKNOWN) {
    fw_buffer_byte(out, '?');
    return;
  }
  for (; value >= 999.5; value /= 1000) unit++;
  fw_buffer_format(out, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void fw_buffer_parameters(fw_buffer *out, const fw_description *about) {
  fw_buffer_count(out, about->features == FW_COUNT_UNKNOWN ? about->fixed : about->parameters);
  if (about->features != FW_COUNT_UNKNOWN) return;
  fw_buffer_text(out, " + ");
  fw_buffer_count(out, about->each);
  fw_buffer_text(out, " for each feature");
}

void fw_buffer_memory(fw_buffer *out, const fw_description *about) {
  fw_buffer_bytes(out, about->features == FW_COUNT_UNKNOWN ? about->fixed_bytes : about->bytes);
  if (about->features != FW_COUNT_UNKNOWN) return;
  fw_buffer_text(out, " + ");
  fw_buffer_bytes(out, about->each_bytes);
  fw_buffer_text(out, " for each feature");
}

void fw_buffer_activation(fw_buffer *out, const fw_layer *layer) {
  if (layer->type != FW_LAYER_INPUT && layer->type != FW_LAYER_FC) return;
  fw_buffer_text(out, fw_activation_name(layer->activation));
  if (fw_activation_drops(layer->activation)) fw_buffer_format(out, " %g", layer->dropout);
}

void fw_buffer_optimizer(fw_buffer *out, const fw_optimizer *optimizer) {
  const fw_optimizer_param *params = fw_optimizer_params(optimizer->type);
  fw_buffer_text(out, fw_optimizer_name(optimizer->type));
  if (params[0].member) fw_buffer_format(out, " %g", optimizer->a);
  if (params[1].member) fw_buffer_format(out, " %g", optimizer->b);
  if (!isnan(optimizer->lr)) fw_buffer_format(out, " lr %g", optimizer->lr);
  if (optimizer->l1 != 0) fw_buffer_format(out, " l1 %g", optimizer->l1);
  if (optimizer->l2 != 0) fw_buffer_format(out, " l2 %g", optimizer->l2);
}

/* ---- The whole ---- */

static furrow_status describe(const fw_plan *plan, furrow_describe_format kind, uint64_t features, fw_buffer *out,
                              furrow_error *err) {
  static void (*const writers[])(fw_buffer *, const fw_description *) = {
      [FURROW_DESCRIBE_TEXT] = fw_describe_text,   [FURROW_DESCRIBE_JSON] = fw_describe_json,
      [FURROW_DESCRIBE_DOT] = fw_describe_dot,     [FURROW_DESCRIBE_SVG] = fw_describe_svg,
      [FURROW_DESCRIBE_ANGEL] = fw_describe_angel,
  };
  void *sizes = NULL, *positions = NULL;
  furrow_status status = fw_alloc_zero(&sizes, plan->graph.count, sizeof(fw_layer_size), err);
  if (status == FURROW_OK) status = fw_alloc_zero(&positions, plan->graph.count, sizeof(fw_layer_place), err);
  if (status == FURROW_OK) {
    fw_description about = {.plan = plan, .sizes = sizes, .positions = positions};
    about.features = plan->data.range > 0 ? (uint64_t)plan->data.range : features > 0 ? features : FW_COUNT_UNKNOWN;
    count(&about);
    writers[kind](out, &about);
  }
  fw_free(positions);
  fw_free(sizes);
  return status;
}

furrow_status furrow_learn_conf_describe(const furrow_learn_conf *conf, furrow_describe_format kind, uint64_t features,
                                         char **text, size_t *size, furrow_error *err) {
  fw_plan *plan = NULL;
  fw_buffer out = {0};
  if ((unsigned)kind > FURROW_DESCRIBE_KEYS) return fw_fail(err, FURROW_E_ARGUMENT, "no such kind of description");
  furrow_status status = fw_plan_of_conf(&plan, conf, err);
  if (status == FURROW_OK && plan->forest.used && (kind == FURROW_DESCRIBE_DOT || kind == FURROW_DESCRIBE_SVG))
    status =
        fw_fail(err, FURROW_E_UNSUPPORTED, "gbdt has no graph to draw; its trees can be drawn when they are grown");
  if (status == FURROW_OK)
    status = kind == FURROW_DESCRIBE_KEYS ? fw_describe_keys(&out, conf, plan, err)
                                          : describe(plan, kind, features, &out, err);
  if (status == FURROW_OK) status = fw_buffer_take(&out, text, size, err);
  fw_buffer_clear(&out);
  fw_plan_free(plan);
  return status;
}
