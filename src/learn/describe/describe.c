/* learn/describe/describe.c: descriptions of a configuration: numbers of parameters, and memory, of its layers. */
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
    const fw_layer *layer = &plan->graph.layers[i];
    const fw_layer_size size = about->sizes[i] = size_of(about, layer, element);
    const uint64_t dense = size.by_feature ? 0 : size.weights, each = size.by_feature ? size.rows : 0;
    about->fixed = sum(about->fixed, dense + size.biases);
    about->fixed_bytes += bytes_of(layer, dense, element) + bias_bytes(about, layer, size.biases, element);
    about->each += each;
    about->each_bytes += bytes_of(layer, each, element);
    about->parameters = sum(about->parameters, sum(size.weights, size.biases));
    about->bytes = sum(about->bytes, size.bytes);
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

static void put_bytes(fw_buffer *out, uint64_t bytes) {
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

/* Writes a number for the whole model; if the number of features is unknown, the fixed part and the part that each
 * feature adds. */
static void put_sum(fw_buffer *out, void (*put)(fw_buffer *out, uint64_t number), const fw_description *about,
                    uint64_t all, uint64_t fixed, uint64_t each) {
  put(out, about->features == FW_COUNT_UNKNOWN ? fixed : all);
  if (about->features != FW_COUNT_UNKNOWN) return;
  fw_buffer_text(out, " + ");
  put(out, each);
  fw_buffer_text(out, " for each feature");
}

void fw_buffer_parameters(fw_buffer *out, const fw_description *about) {
  put_sum(out, fw_buffer_count, about, about->parameters, about->fixed, about->each);
}

void fw_buffer_memory(fw_buffer *out, const fw_description *about) {
  put_sum(out, put_bytes, about, about->bytes, about->fixed_bytes, about->each_bytes);
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

/* ---- For people: a few lines, and a table of layers ---- */

static void put_data(fw_buffer *out, const fw_plan *plan) {
  const fw_data_conf *data = &plan->data;
  fw_buffer_format(out, "data        %s",
                   strcmp(data->format, "auto") == 0 ? "of a format that is found" : data->format);
  if (data->range > 0) {
    fw_buffer_text(out, ", features 0 … ");
    fw_buffer_count(out, (uint64_t)data->range - 1);
  }
  if (data->fields > 0) fw_buffer_format(out, ", %lld fields", (long long)data->fields);
  if (plan->open_fields) fw_buffer_text(out, ", as many fields as its longest row has features (shown: 2)");
  if (plan->open_classes) fw_buffer_text(out, ", as many classes as it has labels (shown: 2)");
  if (data->finds_labels)
    fw_buffer_text(out, ", labels as they are found");
  else if (data->label != FW_LABEL_NONE)
    fw_buffer_format(out, ", labels by %s", fw_label_transform_name(data->label));
  fw_buffer_byte(out, '\n');
}

/* Prints the learning rate of the first layer. FTRL's is its alpha, which does not decay. */
static void put_rate(fw_buffer *out, const fw_plan *plan) {
  const fw_optimizer *first = &plan->graph.layers[0].optimizer;
  if (first->type == FW_OPTIMIZER_FTRL && plan->train.recommended)
    fw_buffer_format(out, ", learning rate %g (alpha of FTRL)\n", first->a);
  else
    fw_buffer_format(out, ", learning rate %g, %s\n", isnan(first->lr) ? plan->train.lr : first->lr,
                     fw_decay_name(plan->train.decay));
}

static void put_training(fw_buffer *out, const fw_plan *plan) {
  const fw_train_conf *train = &plan->train;
  fw_buffer_text(out, "training    ");
  if (train->lbfgs) {
    fw_buffer_text(out, train->lbfgs_pairs ? "from the linear model on, by L-BFGS, for several strengths of L2\n"
                                           : "the exact minimum, by L-BFGS\n");
    return;
  }
  if (train->start_linear) fw_buffer_text(out, "from the linear model on, ");
  if (train->epochs > 0)
    fw_buffer_format(out, "%u epoch%s", train->epochs, train->epochs == 1 ? "" : "s");
  else
    fw_buffer_text(out, "epochs by the number of rows");
  if (train->patience > 0) fw_buffer_format(out, " until %u are not better", train->patience);
  if (train->batch)
    fw_buffer_format(out, ", %u rows an update", train->batch);
  else
    fw_buffer_format(out, ", %u updates an epoch", train->updates);
  put_rate(out, plan);
}

static void put_head(fw_buffer *out, const fw_description *about) {
  const fw_plan *plan = about->plan;
  fw_buffer_format(out, "graph       %s, %s\n", plan->model.algorithm ? plan->model.algorithm : "from JSON",
                   fw_loss_name(plan->graph.loss));
  put_data(out, plan);
  put_training(out, plan);
  fw_buffer_format(out, "model       %s\n", furrow_matrix_row_type_get(plan->model.row_type)->name);
  fw_buffer_text(out, "parameters  ");
  fw_buffer_parameters(out, about);
  fw_buffer_text(out, "\nmemory      ");
  fw_buffer_memory(out, about);
  fw_buffer_text(out, " with what the optimizers keep\n\n");
}

/* ---- The table ---- */

enum { LAYER, TYPE, INPUTS, OUTPUT, ACTIVATION, OPTIMIZER, MATRICES, PARAMETERS, MEMORY, COLUMNS };
static const char *const titles[COLUMNS] = {"layer",     "type",     "inputs",     "output", "activation",
                                            "optimizer", "matrices", "parameters", "memory"};

static void put_inputs(fw_buffer *out, const fw_graph *graph, const fw_layer *layer) {
  if (fw_layer_takes_data(layer)) fw_buffer_text(out, "data");
  for (size_t k = 0; k < layer->input_count; k++)
    fw_buffer_format(out, "%s%s", k ? " + " : "", graph->layers[layer->inputs[k]].name);
}

static void put_output(fw_buffer *out, const fw_layer *layer) {
  if (layer->type == FW_LAYER_LOSS) return;
  if (layer->type == FW_LAYER_EMBEDDING && layer->slots == 0)
    fw_buffer_format(out, "n x %zu", layer->factors);
  else if (layer->type == FW_LAYER_EMBEDDING)
    fw_buffer_format(out, "%zu x %zu", layer->slots, layer->factors);
  else
    fw_buffer_format(out, "%zu", layer->width);
}

static void put_matrices(fw_buffer *out, const fw_description *about, const fw_layer *layer,
                         const fw_layer_size *size) {
  fw_buffer_format(out, "%s_%s ", layer->name, layer->type == FW_LAYER_EMBEDDING ? "embedding" : "weight");
  fw_buffer_count(out, size->rows);
  fw_buffer_text(out, " x ");
  fw_buffer_count(out, size->by_feature ? about->features : layer->width);
  if (size->biases) fw_buffer_format(out, ", %s_bias", layer->name);
}

static void put_cell(fw_buffer *out, const fw_description *about, size_t i, int column) {
  const fw_layer *layer = &about->plan->graph.layers[i];
  const fw_layer_size *size = &about->sizes[i];
  const bool known = size->weights != FW_COUNT_UNKNOWN;
  if (column >= OPTIMIZER && size->weights == 0) return; /* it keeps nothing */
  switch (column) {
  case LAYER: fw_buffer_text(out, layer->name); break;
  case TYPE: fw_buffer_text(out, fw_layer_type_name(layer->type)); break;
  case INPUTS: put_inputs(out, &about->plan->graph, layer); break;
  case OUTPUT: put_output(out, layer); break;
  case ACTIVATION:
    fw_buffer_activation(out, layer);
    if (layer->type == FW_LAYER_LOSS) fw_buffer_text(out, fw_loss_name(layer->loss));
    if (layer->type == FW_LAYER_LOSS && layer->loss == FW_LOSS_HUBER) fw_buffer_format(out, " %g", layer->delta);
    break;
  case OPTIMIZER: fw_buffer_optimizer(out, &layer->optimizer); break;
  case MATRICES: put_matrices(out, about, layer, size); break;
  case PARAMETERS: fw_buffer_count(out, known ? size->weights + size->biases : FW_COUNT_UNKNOWN); break;
  default: put_bytes(out, size->bytes); break;
  }
}

/* Writes one cell, to find its width; the other buffer reports if memory runs out. */
static void fill_cell(fw_buffer *out, fw_buffer *cell, const fw_description *about, size_t i, int column) {
  fw_buffer_reset(cell);
  put_cell(cell, about, i, column);
  if (cell->missing) out->missing = cell->missing;
}

/* Characters of UTF-8. */
static size_t width_of(const char *text, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < size; i++) n += (text[i] & 0xc0) != 0x80;
  return n;
}

/* Numbers are aligned to the right; the last cell is not padded. */
static void put_padded(fw_buffer *out, const char *text, size_t size, int column, size_t width) {
  const bool right = column == OUTPUT || column == PARAMETERS || column == MEMORY;
  const size_t own = width_of(text, size), blanks = own < width ? width - own : 0;
  if (column) fw_buffer_text(out, "  ");
  for (size_t i = 0; right && i < blanks; i++) fw_buffer_byte(out, ' ');
  fw_buffer_append(out, text, size);
  for (size_t i = 0; !right && column + 1 < COLUMNS && i < blanks; i++) fw_buffer_byte(out, ' ');
}

static void cut_blanks(fw_buffer *out) {
  while (out->size > 0 && out->bytes[out->size - 1] == ' ') out->size--;
  fw_buffer_byte(out, '\n');
}

/* Describes trees instead of layers. */
static void put_forest(fw_buffer *out, const fw_plan *plan) {
  const fw_forest_conf *forest = &plan->forest;
  const uint64_t trees = (uint64_t)forest->rounds * plan->graph.outputs;
  const uint64_t nodes = ((uint64_t)1 << forest->levels) - 1;
  fw_buffer_format(out, "trees       gbdt, %s\n", fw_objective_name(plan->graph.loss));
  put_data(out, plan);
  fw_buffer_format(out, "training    %u round%s", forest->rounds, forest->rounds == 1 ? "" : "s");
  if (plan->graph.outputs > 1) fw_buffer_format(out, " of %zu trees", plan->graph.outputs);
  fw_buffer_format(out, ", learning rate %g, lambda %g, alpha %g\n", plan->train.lr, forest->lambda, forest->alpha);
  fw_buffer_format(out, "a tree      %u splits deep, %llu nodes at most, %u candidates a feature", forest->levels - 1,
                   (unsigned long long)nodes, forest->splits);
  if (forest->leaves > 0) fw_buffer_format(out, ", best first to %u leaves", forest->leaves);
  fw_buffer_text(out, "\n");
  fw_buffer_format(out, "matrices    gbdt.split.feature, gbdt.split.value, gbdt.node.predict: %llu x %llu each\n",
                   (unsigned long long)trees, (unsigned long long)nodes);
}

static void describe_text(fw_buffer *out, const fw_description *about) {
  if (about->plan->forest.used) {
    put_forest(out, about->plan);
    return;
  }
  const size_t count = about->plan->graph.count;
  size_t widths[COLUMNS];
  fw_buffer cell = {0};
  put_head(out, about);
  for (int c = 0; c < COLUMNS; c++) {
    widths[c] = strlen(titles[c]);
    for (size_t i = 0; i < count; i++) {
      fill_cell(out, &cell, about, i, c);
      const size_t width = width_of(cell.bytes, cell.size);
      if (width > widths[c]) widths[c] = width;
    }
  }
  for (int c = 0; c < COLUMNS; c++) put_padded(out, titles[c], strlen(titles[c]), c, widths[c]);
  cut_blanks(out);
  for (size_t i = 0; i < count; i++) {
    for (int c = 0; c < COLUMNS; c++) {
      fill_cell(out, &cell, about, i, c);
      put_padded(out, cell.bytes, cell.size, c, widths[c]);
    }
    cut_blanks(out);
  }
  fw_buffer_clear(&cell);
}

/* ---- The whole ---- */

static furrow_status describe(const fw_plan *plan, furrow_describe_format kind, uint64_t features, fw_buffer *out,
                              furrow_error *err) {
  static void (*const writers[])(fw_buffer *, const fw_description *) = {
      [FURROW_DESCRIBE_TEXT] = describe_text,      [FURROW_DESCRIBE_JSON] = fw_describe_json,
      [FURROW_DESCRIBE_DOT] = fw_describe_dot,     [FURROW_DESCRIBE_SVG] = fw_describe_svg,
      [FURROW_DESCRIBE_ANGEL] = fw_describe_angel,
  };
  fw_description about = {.plan = plan, .features = features > 0 ? features : FW_COUNT_UNKNOWN};
  if (plan->data.range > 0) about.features = (uint64_t)plan->data.range;
  furrow_status status = FW_ALLOC_ZERO(&about.sizes, plan->graph.count, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&about.positions, plan->graph.count, err);
  if (status == FURROW_OK) {
    count(&about);
    writers[kind](out, &about);
  }
  fw_free(about.positions);
  fw_free(about.sizes);
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
