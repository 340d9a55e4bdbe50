/* learn/conf/graphs.c: the graphs of the built-in algorithms, as Angel's classes build them: names of layers are
 * theirs.
 *
 * Shapes come from keys, else from the layers of the same type in the JSON file (Angel's classes take theirs from
 * there), else from defaults. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"
#include "model/jobs/algorithm.h"

typedef struct builder builder;

typedef struct algorithm {
  const char *name;
  void (*build)(builder *b);
  fw_loss_type loss; /* the loss of a linear model */
} algorithm;

struct builder {
  const algorithm *algorithm;
  fw_graph_spec *graph;
  size_t capacity;
  const furrow_learn_conf *conf;
  bool wide_hidden;     /* hidden layers must hold a linear model: there is no other way through the graph */
  uint64_t used;        /* keys of shapes that were used: bits from FW_KEY_LOSS on */
  furrow_status status; /* the first failure; no layer is added after it */
  furrow_error *err;
};

/* ---- Parts ---- */

static void *take_memory(builder *b, size_t count, size_t size) {
  void *memory = NULL;
  if (b->status == FURROW_OK) b->status = fw_arena_take(&b->graph->arena, &memory, count, size, b->err);
  return b->status == FURROW_OK ? memory : NULL;
}

/* The layer of a type in the JSON file; NULL: there is none. */
static const fw_layer_spec *from_json(const builder *b, fw_layer_type type) {
  const fw_graph_spec *json = b->conf->json.graph;
  for (size_t i = 0; json && i < json->count; i++)
    if (json->layers[i].type == type) return &json->layers[i];
  return NULL;
}

/* Inputs are names of layers, NULL after the last. The optimizer is the one that the JSON file names for the type. */
static fw_layer_spec *add_layer(builder *b, fw_layer_type type, const char *name, const char *first, const char *second,
                                const char *third) {
  const char *const inputs[] = {first, second, third};
  if (b->status == FURROW_OK) b->status = FW_GROW(&b->graph->layers, &b->capacity, b->graph->count + 1, b->err);
  if (b->status != FURROW_OK) return NULL;
  const char **kept = take_memory(b, 3, sizeof *kept);
  if (!kept) return NULL;
  memcpy(kept, inputs, sizeof inputs);
  fw_layer_spec *layer = &b->graph->layers[b->graph->count++];
  const fw_layer_spec *json = from_json(b, type);
  *layer = (fw_layer_spec){.name = name, .path = name, .type = type, .inputs = kept};
  if (json) layer->optimizer = json->optimizer;
  while (layer->input_count < 3 && inputs[layer->input_count]) layer->input_count++;
  return layer;
}

static uint64_t bit_of(fw_key key) {
  return (uint64_t)1 << (key - FW_KEY_LOSS);
}

static fw_value value_of(builder *b, fw_key key) {
  if (key >= FW_KEY_LOSS) b->used |= bit_of(key);
  return fw_conf_value(b->conf, key);
}

static int64_t integer(builder *b, fw_key key) {
  return value_of(b, key).integer;
}

/* The source of a shape: NULL if the key is set, else the JSON file's layer. */
static const fw_layer_spec *from_json_without(builder *b, fw_layer_type type, fw_key key) {
  return fw_conf_has_key(b->conf, key) ? NULL : from_json(b, type);
}

furrow_status fw_graph_keys_unused(const furrow_learn_conf *conf, uint64_t used, const char *graph, furrow_error *err) {
  for (unsigned key = FW_KEY_LOSS; key < FW_KEYS; key++)
    if (fw_conf_has_key(conf, (fw_key)key) && key != FW_KEY_HUBER_DELTA && !(used & bit_of(key))) {
      fw_fail(err, FURROW_E_ARGUMENT, "%s is not for %s", fw_conf_key_name(conf, (fw_key)key), graph);
      if (key == FW_KEY_OBJECTIVE || key == FW_KEY_LOSS)
        fw_error_set_hint(err, "trees have the key `objective`; linear, fm and nets have the key `loss`");
      return FURROW_E_ARGUMENT;
    }
  return FURROW_OK;
}

static void add_input(builder *b, const char *name, int64_t width, fw_activation activation) {
  fw_layer_spec *layer = add_layer(b, FW_LAYER_INPUT, name, NULL, NULL, NULL);
  if (!layer) return;
  layer->has_width = true;
  layer->width = width;
  layer->activation = (fw_activation_spec){true, activation, 0};
}

static void add_loss(builder *b, const char *name, const char *input, fw_loss_type loss, double delta) {
  fw_layer_spec *layer = add_layer(b, FW_LAYER_LOSS, name, input, NULL, NULL);
  if (layer) layer->loss = (fw_loss_spec){true, loss, delta};
}

static void add_embedding(builder *b) {
  const fw_layer_spec *json = from_json(b, FW_LAYER_EMBEDDING);
  fw_layer_spec *layer = add_layer(b, FW_LAYER_EMBEDDING, "embedding", NULL, NULL, NULL);
  if (!layer) return;
  const bool by_key = fw_conf_has_key(b->conf, FW_KEY_RANK);
  const int64_t fields = integer(b, FW_KEY_FIELDS);
  layer->factors = json && !by_key ? json->factors : integer(b, FW_KEY_RANK);
  layer->has_width = true;
  layer->width = fields < 1 && json && !by_key ? json->width : fields * layer->factors;
}

/* ---- Stacks of fc layers ---- */

/* Default widths of dnn become wide enough to hold a linear model of all classes, which the net is compared with:
 * linear_parameters.c. */
static int64_t wide_enough(const builder *b, int64_t width, fw_key key, int64_t outputs) {
  const bool grows = b->wide_hidden && fw_conf_recommends(b->conf) && !fw_conf_is_set(b->conf, key);
  return grows && outputs > 1 && width < 2 * outputs ? 2 * outputs : width;
}

/* The activation of hidden layers. In Angel's stacks, dropout is part of the layer before it. */
static fw_activation_spec hidden_activation(builder *b) {
  const fw_activation type = (fw_activation)integer(b, FW_KEY_ACTIVATION);
  const bool spec = fw_conf_has_key(b->conf, FW_KEY_DROPOUT);
  const double dropout = value_of(b, FW_KEY_DROPOUT).real;
  if (!fw_conf_has_key(b->conf, FW_KEY_ACTIVATION) && b->conf->json.defaults.activation.spec && !spec)
    return b->conf->json.defaults.activation;
  if (fw_activation_drops(type)) return (fw_activation_spec){true, type, spec ? dropout : 0.5};
  if (dropout == 0) return (fw_activation_spec){true, type, 0};
  switch (type) {
  case FW_ACTIVATION_IDENTITY: return (fw_activation_spec){true, FW_ACTIVATION_DROPOUT, dropout};
  case FW_ACTIVATION_SIGMOID: return (fw_activation_spec){true, FW_ACTIVATION_SIGMOID_DROPOUT, dropout};
  case FW_ACTIVATION_TANH: return (fw_activation_spec){true, FW_ACTIVATION_TANH_DROPOUT, dropout};
  default:
    if (b->status == FURROW_OK)
      b->status = fw_fail(b->err, FURROW_E_ARGUMENT,
                          "dropout needs the activation sigmoid, tanh or identity, not %s: Angel's graphs "
                          "have no such layer",
                          fw_activation_name(type));
    return (fw_activation_spec){true, type, 0};
  }
}

/* An fc layer without hidden ones. */
static void set_one_layer(builder *b, fw_layer_spec *layer, int64_t outputs) {
  int64_t *width = take_memory(b, 1, sizeof *width);
  fw_activation_spec *activation = take_memory(b, 1, sizeof *activation);
  if (!width || !activation) return;
  *width = outputs;
  *activation = (fw_activation_spec){true, FW_ACTIVATION_IDENTITY, 0};
  layer->fc_count = 1;
  layer->fc_widths = width;
  layer->fc_activations = activation;
}

/* Adds hidden layers with the widths of the key, and a last layer with `outputs` outputs. */
static void stack_by_key(builder *b, fw_layer_spec *layer, int64_t outputs) {
  fw_element *hidden = NULL;
  size_t count = 0;
  b->used |= bit_of(FW_KEY_FC);
  if (b->status == FURROW_OK)
    b->status = fw_conf_take_list(b->conf, FW_KEY_FC, &b->graph->arena, &hidden, &count, b->err);
  int64_t *widths = take_memory(b, count + 1, sizeof *widths);
  fw_activation_spec *activations = take_memory(b, count + 1, sizeof *activations);
  if (!widths || !activations) return;
  const fw_activation_spec activation = hidden_activation(b);
  for (size_t i = 0; i < count; i++) {
    widths[i] = wide_enough(b, (int64_t)hidden[i].whole, FW_KEY_FC, outputs);
    activations[i] = activation;
  }
  widths[count] = outputs;
  activations[count] = (fw_activation_spec){true, FW_ACTIVATION_IDENTITY, 0};
  layer->fc_count = count + 1;
  layer->fc_widths = widths;
  layer->fc_activations = activations;
}

/* Returns the name that its consumer takes. outputs: of the last layer, unless the JSON file has the layers. */
static const char *add_fc(builder *b, const char *input, int64_t outputs) {
  const fw_layer_spec *json = from_json(b, FW_LAYER_FC);
  const bool by_key = fw_conf_has_key(b->conf, FW_KEY_FC) || fw_conf_has_key(b->conf, FW_KEY_ACTIVATION) ||
                      fw_conf_has_key(b->conf, FW_KEY_DROPOUT);
  const char *name = json ? json->name : "fclayer";
  fw_layer_spec *layer = add_layer(b, FW_LAYER_FC, name, input, NULL, NULL);
  if (!layer) return name;
  if (!json || by_key) {
    stack_by_key(b, layer, outputs);
  } else {
    layer->fc_count = json->fc_count;
    layer->fc_widths = json->fc_widths;
    layer->fc_activations = json->fc_activations;
  }
  return name;
}

/* ---- Algorithms ---- */

static void build_linear(builder *b) {
  add_input(b, "input", 1, FW_ACTIVATION_IDENTITY);
  add_loss(b, "simpleLossLayer", "input", b->algorithm->loss, NAN);
}

/* linear predicts numbers, or counts. */
static void build_regression(builder *b) {
  const bool chosen = fw_conf_has_key(b->conf, FW_KEY_LOSS);
  const fw_loss_type loss = chosen ? (fw_loss_type)integer(b, FW_KEY_LOSS) : FW_LOSS_L2;
  if (loss != FW_LOSS_L2 && loss != FW_LOSS_POISSON) {
    b->status = fw_fail(b->err, FURROW_E_ARGUMENT, "linear has %s or %s, not %s", fw_loss_name(FW_LOSS_L2),
                        fw_loss_name(FW_LOSS_POISSON), fw_loss_name(loss));
    if (loss == FW_LOSS_HUBER) fw_error_set_hint(b->err, "robust has %s", fw_loss_name(loss));
    return;
  }
  add_input(b, "input", 1, FW_ACTIVATION_IDENTITY);
  add_loss(b, "simpleLossLayer", "input", loss, NAN);
}

static void build_robust(builder *b) {
  const fw_key key = fw_conf_has_key(b->conf, FW_KEY_ROBUST_DELTA) ? FW_KEY_ROBUST_DELTA : FW_KEY_HUBER_DELTA;
  add_input(b, "input", 1, FW_ACTIVATION_IDENTITY);
  add_loss(b, "simpleLossLayer", "input", FW_LOSS_HUBER, value_of(b, key).real);
}

/* The number of classes; 2 until the data has been seen. */
static int64_t class_count(builder *b) {
  const int64_t classes = integer(b, FW_KEY_CLASSES);
  return classes > 0 ? classes : 2;
}

static void build_softmax(builder *b) {
  const fw_layer_spec *json = from_json_without(b, FW_LAYER_INPUT, FW_KEY_CLASSES);
  add_input(b, "input", json ? json->width : class_count(b), FW_ACTIVATION_IDENTITY);
  add_loss(b, "softmaxLossLayer", "input", FW_LOSS_SOFTMAX, NAN);
}

static void build_mlr(builder *b) {
  const fw_layer_spec *json = from_json_without(b, FW_LAYER_INPUT, FW_KEY_MLR_RANK);
  const int64_t regions = json ? json->width : integer(b, FW_KEY_MLR_RANK);
  add_input(b, "sigmoid_layer", regions, FW_ACTIVATION_SIGMOID);
  add_input(b, "softmax_layer", regions, FW_ACTIVATION_SOFTMAX);
  add_layer(b, FW_LAYER_DOT_POOLING, "dotpooling_layer", "sigmoid_layer", "softmax_layer", NULL);
  add_loss(b, "simpleLossLayer", "dotpooling_layer", FW_LOSS_CROSS_ENTROPY, NAN);
}

/* Angel's classes have LogLoss, whatever the JSON file says; the key may set another. */
static fw_loss_type loss_of_sum(builder *b) {
  const fw_loss_type loss = (fw_loss_type)integer(b, FW_KEY_LOSS);
  return fw_conf_has_key(b->conf, FW_KEY_LOSS) ? loss : FW_LOSS_LOG;
}

/* Outputs of the layers of a sum: one for each class with SoftmaxLoss. */
static int64_t outputs_of_sum(builder *b) {
  return loss_of_sum(b) == FW_LOSS_SOFTMAX ? class_count(b) : 1;
}

/* Adds the sum of the input layer and the other layers, and the loss. */
static void finish_sum(builder *b, const char *second, const char *third) {
  add_layer(b, FW_LAYER_SUM_POOLING, "sumPooling", "input", second, third);
  add_loss(b, "simpleLossLayer", "sumPooling", loss_of_sum(b), NAN);
}

/* Adds the input layer, the embedding and the products of pairs; returns the name of the products. The sum of the
 * products is one number, which would be the same for all classes, and softmax would not notice it. With several
 * classes each has weights for the products of each factor. */
static const char *add_pairs(builder *b, int64_t outputs) {
  add_input(b, "input", outputs, FW_ACTIVATION_IDENTITY);
  add_embedding(b);
  if (outputs == 1) {
    add_layer(b, FW_LAYER_BI_INNER_SUM, "innerSumPooling", "embedding", NULL, NULL);
    return "innerSumPooling";
  }
  add_layer(b, FW_LAYER_BI_INTERACTION, "BiInteractionCross", "embedding", NULL, NULL);
  fw_layer_spec *products = add_layer(b, FW_LAYER_FC, "fmlayer", "BiInteractionCross", NULL, NULL);
  if (products) set_one_layer(b, products, outputs);
  return "fmlayer";
}

static void build_fm(builder *b) {
  finish_sum(b, add_pairs(b, outputs_of_sum(b)), NULL);
}

/* Each feature has a vector of `factors` numbers for each field. Angel has no such class, but its formats hold the
 * matrices. */
static void build_ffm(builder *b) {
  const int64_t given = integer(b, FW_KEY_FIELDS), factors = integer(b, FW_KEY_RANK);
  const int64_t fields = given < 1 && fw_conf_recommends(b->conf) ? 2 : given; /* until the data has been seen */
  add_input(b, "input", 1, FW_ACTIVATION_IDENTITY);
  fw_layer_spec *embedding = add_layer(b, FW_LAYER_EMBEDDING, "embedding", NULL, NULL, NULL);
  if (!embedding) return;
  if (loss_of_sum(b) == FW_LOSS_SOFTMAX) {
    b->status = fw_fail(b->err, FURROW_E_ARGUMENT, "ffm separates two classes or predicts numbers: it has no %s",
                        fw_loss_name(FW_LOSS_SOFTMAX));
    fw_error_set_hint(b->err, "train fm, dnn or softmax, or gbdt with the objective multi:softmax");
    return;
  }
  if (fields < 1) {
    b->status = fw_fail(b->err, FURROW_E_ARGUMENT, "ffm needs the number of fields: set fields (data/numfield)");
    return;
  }
  if (factors > FW_WIDTH_MAX / fields / fields) {
    b->status =
        fw_fail(b->err, FURROW_E_ARGUMENT, "%lld fields with %lld vectors of %lld numbers each are more than %d",
                (long long)fields, (long long)fields, (long long)factors, FW_WIDTH_MAX);
    return;
  }
  embedding->factors = fields * factors;
  embedding->has_width = true;
  embedding->width = fields * embedding->factors;
  add_layer(b, FW_LAYER_FIELD_AWARE, "fieldAwareCross", "embedding", NULL, NULL);
  finish_sum(b, "fieldAwareCross", NULL);
}

static void build_deepfm(builder *b) {
  const int64_t outputs = outputs_of_sum(b);
  const char *pairs = add_pairs(b, outputs);
  finish_sum(b, pairs, add_fc(b, "embedding", outputs));
}

static void build_wide_and_deep(builder *b) {
  const int64_t outputs = outputs_of_sum(b);
  add_input(b, "input", outputs, FW_ACTIVATION_IDENTITY);
  add_embedding(b);
  finish_sum(b, add_fc(b, "embedding", outputs), NULL);
}

static void build_pnn(builder *b) {
  const int64_t outputs = outputs_of_sum(b);
  add_input(b, "input", outputs, FW_ACTIVATION_IDENTITY);
  add_embedding(b);
  add_layer(b, FW_LAYER_BI_INNER, "innerPooling", "embedding", NULL, NULL);
  add_layer(b, FW_LAYER_CONCAT, "concatMatrix", "embedding", "innerPooling", NULL);
  finish_sum(b, add_fc(b, "concatMatrix", outputs), NULL);
}

static void build_nfm(builder *b) {
  const int64_t outputs = outputs_of_sum(b);
  add_input(b, "input", outputs, FW_ACTIVATION_IDENTITY);
  add_embedding(b);
  add_layer(b, FW_LAYER_BI_INTERACTION, "BiInteractionCross", "embedding", NULL, NULL);
  finish_sum(b, add_fc(b, "BiInteractionCross", outputs), NULL);
}

/* Angel has no class for this graph, but has a JSON example of it. */
static void build_dnn(builder *b) {
  const fw_loss_spec spec = b->conf->json.defaults.loss;
  const bool json = spec.spec && !fw_conf_has_key(b->conf, FW_KEY_LOSS);
  const fw_loss_type loss = json ? spec.type : (fw_loss_type)integer(b, FW_KEY_LOSS);
  const fw_layer_spec *input = from_json_without(b, FW_LAYER_INPUT, FW_KEY_INPUT_WIDTH);
  const fw_activation_spec activation = hidden_activation(b);
  const int64_t outputs = loss == FW_LOSS_SOFTMAX ? class_count(b) : 1;
  b->wide_hidden = true;
  const int64_t width = wide_enough(b, integer(b, FW_KEY_INPUT_WIDTH), FW_KEY_INPUT_WIDTH, outputs);
  add_input(b, "input", input ? input->width : width, activation.type);
  if (b->status == FURROW_OK) b->graph->layers[b->graph->count - 1].activation = activation;
  const char *fc = add_fc(b, "input", outputs);
  add_loss(b, "simpleLossLayer", fc, loss, json ? spec.delta : NAN);
}

static const algorithm algorithms[] = {
    {"lr", build_linear, FW_LOSS_LOG},
    {"svm", build_linear, FW_LOSS_HINGE},
    {"linear", build_regression, 0},
    {"robust", build_robust, 0},
    {"softmax", build_softmax, 0},
    {"mlr", build_mlr, 0},
    {"fm", build_fm, 0},
    {"dnn", build_dnn, 0},
    {"wide_and_deep", build_wide_and_deep, 0},
    {"deepfm", build_deepfm, 0},
    {"pnn", build_pnn, 0},
    {"nfm", build_nfm, 0},
    {"ffm", build_ffm, 0},
    {"gbdt", NULL, 0}, /* trees: conf_plan.c */
};

const char fw_builtin_names[] =
    "lr, svm, linear, robust, softmax, mlr, fm, ffm, dnn, wide_and_deep, deepfm, pnn, nfm, gbdt";

static const algorithm *find_algorithm(const char *name) {
  const char *known = fw_algorithm_name(name);
  for (size_t i = 0; known && i < sizeof algorithms / sizeof *algorithms; i++)
    if (strcmp(algorithms[i].name, known) == 0) return &algorithms[i];
  return NULL;
}

const char *fw_builtin_find(const char *name) {
  const algorithm *found = find_algorithm(name);
  return found ? found->name : NULL;
}

bool fw_builtin_takes_classes(const char *name) {
  const algorithm *found = name ? find_algorithm(name) : NULL;
  return found && (found->build == build_dnn || found->build == build_wide_and_deep || found->build == build_deepfm ||
                   found->build == build_pnn || found->build == build_nfm || found->build == build_fm);
}

bool fw_builtin_takes_loss(const char *name) {
  const algorithm *found = name ? find_algorithm(name) : NULL;
  return found && (found->build == build_regression || found->build == build_ffm || fw_builtin_takes_classes(name));
}

furrow_status fw_builtin_graph(fw_graph_spec **graph, const furrow_learn_conf *conf, const char *name,
                               furrow_error *err) {
  builder b = {.algorithm = find_algorithm(name), .conf = conf, .err = err};
  if (!b.algorithm) return fw_fail(err, FURROW_E_ARGUMENT, "no such algorithm; there are %s", fw_builtin_names);
  FW_TRY(fw_graph_spec_create(&b.graph, err));
  b.algorithm->build(&b);
  if (b.status == FURROW_OK) b.status = fw_graph_keys_unused(conf, b.used, b.algorithm->name, err);
  if (b.status == FURROW_OK)
    *graph = b.graph;
  else
    fw_graph_spec_release(b.graph);
  return b.status;
}
