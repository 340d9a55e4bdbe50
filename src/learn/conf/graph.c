/* learn/conf/graph.c: resolves a graph: order of layers, widths, stacks, optimizers.
 *
 * Layers are built depth first from the loss layer, inputs left to right, as Angel does: matrices get their numbers in
 * this order. A stack of n fc layers is n layers: NAME_0 … NAME_{n-2}, NAME. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "learn/conf/conf_data.h"

enum { NOT_YET = FW_LAYERS_MAX + 1, IN_PROGRESS };

typedef struct resolver {
  fw_graph *graph;
  fw_arena *arena;
  const furrow_learn_conf *conf;
  fw_plan *plan;
  const fw_graph_spec *spec;
  size_t *built; /* for each layer of the spec: its (last) layer of the graph, NOT_YET or IN_PROGRESS */
  furrow_error *err;
} resolver;

#define FAIL(r, ...) fw_fail((r)->err, FURROW_E_ARGUMENT, __VA_ARGS__)

/* ---- Names ---- */

/* The number of the layer, or the count. */
static size_t find_layer(const fw_graph_spec *spec, const char *name) {
  size_t i = 0;
  while (i < spec->count && strcmp(spec->layers[i].name, name) != 0) i++;
  return i;
}

/* Where an input stands: inputlayer, or inputlayers/1. */
static const char *input_path(char buffer[64], const fw_layer_spec *layer, size_t k) {
  if (fw_layer_type_family(layer->type) != FW_FAMILY_JOIN) return "inputlayer";
  snprintf(buffer, 64, "inputlayers/%zu", k);
  return buffer;
}

static furrow_status check_names(const resolver *r) {
  for (size_t i = 0; i < r->spec->count; i++) {
    const fw_layer_spec *layer = &r->spec->layers[i];
    const size_t first = find_layer(r->spec, layer->name);
    if (first < i)
      return FAIL(r, "%s/name is that of %s too: %s", layer->path, r->spec->layers[first].path, layer->name);
  }
  return FURROW_OK;
}

/* ---- Layers of the graph ---- */

static furrow_status add_layer(resolver *r, const fw_layer_spec *spec, const fw_layer *layer) {
  fw_graph *graph = r->graph;
  if (graph->count == FW_LAYERS_MAX) return FAIL(r, "%s: at most %d layers are possible", spec->path, FW_LAYERS_MAX);
  for (size_t i = 0; i < graph->count; i++)
    if (strcmp(graph->layers[i].name, layer->name) == 0)
      return FAIL(r, "%s would be called %s, like another layer", spec->path, layer->name);
  graph->layers[graph->count++] = *layer;
  return FURROW_OK;
}

/* Adds a layer of this width; if the file also has a width, it must be the same. */
static furrow_status add_of_width(resolver *r, const fw_layer_spec *spec, fw_layer *layer, uint64_t width) {
  if (width > FW_WIDTH_MAX)
    return FAIL(r, "%s has %llu outputs; the limit is %d", spec->path, (unsigned long long)width, FW_WIDTH_MAX);
  if (spec->has_width && spec->width > 0 && (uint64_t)spec->width != width)
    return FAIL(r, "%s/outputdim is %lld, but its inputs make %llu", spec->path, (long long)spec->width,
                (unsigned long long)width);
  layer->width = (size_t)width;
  return add_layer(r, spec, layer);
}

/* ---- Optimizers, activations, losses ---- */

/* A number: from the key if it is set, else from the file, else the default. */
static double choose_number(const resolver *r, fw_key key, double spec) {
  return fw_conf_has_key(r->conf, key) || isnan(spec) ? fw_conf_value(r->conf, key).real : spec;
}

/* The optimizer that a key names. */
static fw_optimizer_type optimizer_of_key(const resolver *r, fw_key key) {
  const fw_value value = fw_conf_value(r->conf, key);
  const char *angels = fw_optimizer_name(FW_OPTIMIZER_ADAGRAD);
  return r->plan->train.published_adagrad && strcmp(value.text, angels) == 0 ? FW_OPTIMIZER_PUBLISHED_ADAGRAD
                                                                             : (fw_optimizer_type)value.integer;
}

static fw_optimizer_spec optimizer_spec(const resolver *r, const fw_layer_spec *layer) {
  fw_optimizer_spec spec = layer->optimizer.spec ? layer->optimizer : r->conf->json.defaults.optimizer;
  const fw_key own = layer->type == FW_LAYER_INPUT       ? FW_KEY_INPUT_OPTIMIZER
                     : layer->type == FW_LAYER_EMBEDDING ? FW_KEY_EMBEDDING_OPTIMIZER
                                                         : FW_KEY_FC_OPTIMIZER;
  const fw_key key =
      fw_conf_has_key(r->conf, own) || !fw_conf_has_key(r->conf, FW_KEY_OPTIMIZER) ? own : FW_KEY_OPTIMIZER;
  if (spec.spec && !fw_conf_has_key(r->conf, key)) return spec;
  fw_optimizer_type type = optimizer_of_key(r, key);
  /* Angel's regressions look up the optimizer by a wrong name, and so use SGD */
  const char *algorithm = r->plan->model.algorithm;
  if (!fw_conf_has_key(r->conf, key) && algorithm && !fw_conf_recommends(r->conf) &&
      (strcmp(algorithm, "linear") == 0 || strcmp(algorithm, "robust") == 0))
    type = FW_OPTIMIZER_SGD;
  if (!spec.spec) spec.lr = spec.l1 = spec.l2 = NAN;
  if (!spec.spec || spec.type != type) spec.a = spec.b = NAN;
  spec.type = type;
  return spec;
}

static fw_optimizer resolve_optimizer(const resolver *r, const fw_layer_spec *layer) {
  fw_optimizer_spec spec = optimizer_spec(r, layer);
  if (fw_conf_recommends(r->conf) && isnan(spec.lr) && spec.type != FW_OPTIMIZER_FTRL)
    spec.lr = fw_recommended_rate(spec.type);
  const bool own_l2 = layer->type == FW_LAYER_FC && fw_conf_has_key(r->conf, FW_KEY_FC_L2);
  const fw_optimizer_param *params = fw_optimizer_params(spec.type);
  return (fw_optimizer){
      .type = spec.type,
      .lr = fw_conf_has_key(r->conf, FW_KEY_LR) ? (double)NAN : spec.lr,
      .l1 = choose_number(r, FW_KEY_L1, spec.l1),
      .l2 = choose_number(r, own_l2 ? FW_KEY_FC_L2 : FW_KEY_L2, spec.l2),
      .a = params[0].member ? choose_number(r, params[0].key, spec.a) : 0,
      .b = params[1].member ? choose_number(r, params[1].key, spec.b) : 0,
  };
}

static furrow_status set_activation(const resolver *r, const fw_layer_spec *spec, const fw_activation_spec *own,
                                    fw_layer *layer) {
  const fw_activation_spec *activation = own && own->spec ? own : &r->conf->json.defaults.activation;
  if (!activation->spec)
    return FAIL(r, "%s/transfunc%s is missing, and there is no default_transfunc", spec->path,
                spec->type == FW_LAYER_FC ? "s" : "");
  layer->activation = activation->type;
  layer->dropout = activation->dropout;
  return FURROW_OK;
}

/* ---- Embeddings ---- */

static bool needs_slots(fw_layer_type consumer) {
  return consumer != FW_LAYER_BI_INNER_SUM && consumer != FW_LAYER_BI_INTERACTION;
}

/* Whether a layer takes its vectors by position. */
static bool has_slots(const fw_graph_spec *spec, const fw_layer_spec *embedding) {
  for (size_t i = 0; i < spec->count; i++)
    for (size_t k = 0; k < spec->layers[i].input_count; k++)
      if (strcmp(spec->layers[i].inputs[k], embedding->name) == 0 && needs_slots(spec->layers[i].type)) return true;
  return false;
}

/* The number of slots: the key `fields`, else outputdim, else numfield of the file. */
static furrow_status count_slots(const resolver *r, const fw_layer_spec *spec, uint64_t *slots) {
  const int64_t fields = r->plan->data.fields;
  const bool by_key = fw_conf_has_key(r->conf, FW_KEY_FIELDS) && fields > 0;
  r->plan->open_fields = fields < 1 && fw_conf_recommends(r->conf);
  if (r->plan->open_fields) {
    *slots = 2; /* until the data has been seen */
    return FURROW_OK;
  }
  if (!by_key && spec->has_width && spec->width > 0) {
    if (spec->width % spec->factors != 0)
      return FAIL(r, "%s/outputdim is %lld, no multiple of numfactors, %lld", spec->path, (long long)spec->width,
                  (long long)spec->factors);
    *slots = (uint64_t)(spec->width / spec->factors);
    if (fields > 0 && (uint64_t)fields != *slots)
      return FAIL(r, "%s/outputdim is %lld, but %lld fields (data/numfield) of %lld factors make %lld", spec->path,
                  (long long)spec->width, (long long)fields, (long long)spec->factors,
                  (long long)(fields * spec->factors));
    return FURROW_OK;
  }
  if (fields < 1)
    return FAIL(r, "%s needs the number of fields: set fields (data/numfield), which every row must have", spec->path);
  *slots = (uint64_t)fields;
  return FURROW_OK;
}

/* A batch has one number of slots. */
static furrow_status check_same_slots(const resolver *r, const fw_layer_spec *spec, uint64_t slots) {
  for (size_t i = 0; i < r->graph->count; i++) {
    const fw_layer *other = &r->graph->layers[i];
    if (other->slots && other->slots != slots)
      return FAIL(r, "%s has %llu fields, but %s has %zu", spec->path, (unsigned long long)slots, other->name,
                  other->slots);
  }
  return FURROW_OK;
}

static furrow_status build_embedding(resolver *r, const fw_layer_spec *spec, fw_layer *layer) {
  const int64_t fields = r->plan->data.fields;
  const bool by_key = fw_conf_has_key(r->conf, FW_KEY_FIELDS) && fields > 0;
  uint64_t slots = 0;
  if (strcmp(r->plan->data.format, "dense") == 0)
    return FAIL(r, "%s: an embedding takes sparse data, not the format dense", spec->path);
  layer->factors = (size_t)spec->factors;
  layer->optimizer = resolve_optimizer(r, spec);
  layer->outputdim = spec->has_width && !by_key ? spec->width : fields * spec->factors;
  if (has_slots(r->spec, spec)) {
    FW_TRY(count_slots(r, spec, &slots));
    FW_TRY(check_same_slots(r, spec, slots));
    if (slots * layer->factors > FW_WIDTH_MAX)
      return FAIL(r, "%s has %llu outputs; the limit is %d", spec->path, (unsigned long long)(slots * layer->factors),
                  FW_WIDTH_MAX);
    layer->outputdim = (int64_t)(slots * layer->factors);
  }
  layer->slots = (size_t)slots;
  layer->width = (size_t)slots * layer->factors;
  return add_layer(r, spec, layer);
}

/* ---- Other layers ---- */

static furrow_status build_input(resolver *r, const fw_layer_spec *spec, fw_layer *layer) {
  layer->optimizer = resolve_optimizer(r, spec);
  FW_TRY(set_activation(r, spec, &spec->activation, layer));
  return add_of_width(r, spec, layer, (uint64_t)spec->width);
}

static furrow_status name_of_stack(const resolver *r, const fw_layer_spec *spec, size_t k, const char **name) {
  char text[FW_NAME_MAX + 32];
  *name = spec->name;
  if (k + 1 == spec->fc_count) return FURROW_OK;
  const int n = snprintf(text, sizeof text, "%s_%zu", spec->name, k);
  return fw_arena_text(r->arena, name, text, (size_t)n, r->err);
}

/* Whether a layer has the products of all pairs of fields. */
static bool has_pairs(const fw_graph *graph, size_t i) {
  const fw_layer *layer = &graph->layers[i];
  bool found = layer->type == FW_LAYER_BI_INNER;
  for (size_t k = 0; layer->type == FW_LAYER_CONCAT && k < layer->input_count; k++)
    found |= has_pairs(graph, layer->inputs[k]);
  return found;
}

/* Refuses products of so many fields that the weights of default widths would take gigabytes. */
static furrow_status check_pairs(const resolver *r, const fw_layer_spec *spec, const fw_layer *layer) {
  enum { MOST_WEIGHTS = 1 << 25 };
  size_t slots = 0;
  if (!fw_conf_recommends(r->conf) || fw_conf_is_set(r->conf, FW_KEY_FC) || !has_pairs(r->graph, layer->inputs[0]) ||
      (uint64_t)layer->in_width * layer->width <= MOST_WEIGHTS)
    return FURROW_OK;
  for (size_t i = 0; i < r->graph->count; i++)
    if (r->graph->layers[i].slots) slots = r->graph->layers[i].slots;
  FAIL(r,
       "%s takes the products of %zu fields in pairs: %zu inputs and %zu outputs make %zu weights, but %d are the most",
       spec->name, slots, layer->in_width, layer->width, layer->in_width * layer->width, MOST_WEIGHTS);
  fw_error_set_hint(r->err, "deepfm, nfm and fm take rows of so many features; or set the key `fc` to fewer outputs");
  return FURROW_E_ARGUMENT;
}

static furrow_status build_fc(resolver *r, const fw_layer_spec *spec, fw_layer *layer) {
  size_t *previous = NULL;
  layer->optimizer = resolve_optimizer(r, spec);
  layer->stack_name = spec->name;
  layer->stack_size = spec->fc_count;
  layer->width = r->graph->layers[layer->inputs[0]].width;
  for (size_t k = 0; k < spec->fc_count; k++) {
    layer->stack = k;
    layer->in_width = layer->width;
    layer->width = (size_t)spec->fc_widths[k];
    if ((uint64_t)layer->in_width * layer->width > FW_DENSE_MAX)
      return FAIL(r, "%s/outputdims/%zu makes %zu x %zu weights; the limit is %d", spec->path, k, layer->in_width,
                  layer->width, FW_DENSE_MAX);
    if (k == 0) FW_TRY(check_pairs(r, spec, layer));
    if (k > 0) {
      FW_TRY(FW_ARENA_TAKE(r->arena, &previous, 1, r->err));
      *previous = r->graph->count - 1;
      layer->inputs = previous;
    }
    FW_TRY(name_of_stack(r, spec, k, &layer->name));
    FW_TRY(set_activation(r, spec, spec->fc_activations ? &spec->fc_activations[k] : NULL, layer));
    FW_TRY(add_layer(r, spec, layer));
  }
  return FURROW_OK;
}

/* A feature's numbers are a vector for each field that it may meet. */
static furrow_status build_field_aware(resolver *r, const fw_layer_spec *spec, const fw_layer *embedding,
                                       fw_layer *layer) {
  const char *format = r->plan->data.format;
  if (!fw_format_has_fields(format) && strcmp(format, "auto") != 0) {
    FAIL(r, "%s crosses fields, which data in the format %s does not have", spec->path, format);
    fw_error_set_hint(r->err, "it takes libffm data: LABEL FIELD:INDEX:VALUE …");
    return FURROW_E_ARGUMENT;
  }
  if (embedding->factors % embedding->slots != 0)
    return FAIL(r, "%s/inputlayer is %s, whose numfactors, %zu, is not a multiple of its %zu fields", spec->path,
                embedding->name, embedding->factors, embedding->slots);
  for (size_t i = 0; i < r->graph->count; i++) {
    const fw_layer *other = &r->graph->layers[i];
    if (other->type == FW_LAYER_FIELD_AWARE && other->inputs[0] == layer->inputs[0])
      return FAIL(r, "%s/inputlayer is %s, which %s crosses by field already", spec->path, embedding->name,
                  other->name);
  }
  layer->factors = embedding->factors / embedding->slots;
  return add_of_width(r, spec, layer, 1);
}

static furrow_status build_cross(resolver *r, const fw_layer_spec *spec, fw_layer *layer) {
  const fw_layer *embedding = &r->graph->layers[layer->inputs[0]];
  const uint64_t n = embedding->slots;
  if (embedding->type != FW_LAYER_EMBEDDING)
    return FAIL(r, "%s/inputlayer is %s, which is not an embedding", spec->path, embedding->name);
  if (spec->type == FW_LAYER_FIELD_AWARE) return build_field_aware(r, spec, embedding, layer);
  layer->factors = embedding->factors;
  uint64_t width = 1;
  if (spec->type == FW_LAYER_BI_INTERACTION) width = embedding->factors;
  if (spec->type == FW_LAYER_BI_INNER) width = n * (n - 1) / 2;
  if (width == 0) return FAIL(r, "%s multiplies fields in pairs, but there is one field", spec->path);
  return add_of_width(r, spec, layer, width);
}

/* Builds a concatenation, or a pooling, whose inputs must have the same width. */
static furrow_status build_join(resolver *r, const fw_layer_spec *spec, fw_layer *layer) {
  const fw_layer *first = &r->graph->layers[layer->inputs[0]];
  const bool concat = spec->type == FW_LAYER_CONCAT;
  uint64_t width = 0;
  for (size_t k = 0; k < layer->input_count; k++) {
    const fw_layer *other = &r->graph->layers[layer->inputs[k]];
    if (!concat && other->width != first->width)
      return FAIL(r, "%s/inputlayers/%zu has %zu outputs (%s), but %s has %zu", spec->path, k, other->width,
                  other->name, first->name, first->width);
    width += other->width;
  }
  return add_of_width(r, spec, layer, concat ? width : spec->type == FW_LAYER_DOT_POOLING ? 1 : first->width);
}

/* Whether a layer's outputs are probabilities: of sigmoid or softmax, or a pooling of such, as in mlr. */
static bool is_probability(const fw_graph *graph, size_t i) {
  const fw_layer *layer = &graph->layers[i];
  if (layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_FC)
    return layer->activation == FW_ACTIVATION_SIGMOID || layer->activation == FW_ACTIVATION_SOFTMAX;
  if (fw_layer_type_family(layer->type) != FW_FAMILY_JOIN || layer->type == FW_LAYER_CONCAT) return false;
  for (size_t k = 0; k < layer->input_count; k++)
    if (!is_probability(graph, layer->inputs[k])) return false;
  return true;
}

static furrow_status build_loss(resolver *r, const fw_layer_spec *spec, fw_layer *layer) {
  const fw_layer *input = &r->graph->layers[layer->inputs[0]];
  const fw_loss_spec *loss = spec->loss.spec ? &spec->loss : &r->conf->json.defaults.loss;
  layer->loss = loss->spec ? loss->type : FW_LOSS_LOG;
  if (layer->loss == FW_LOSS_HUBER) layer->delta = choose_number(r, FW_KEY_HUBER_DELTA, loss->delta);
  const bool many = layer->loss == FW_LOSS_SOFTMAX;
  if (many ? input->width < 2 : input->width != 1)
    return FAIL(r, "%s/inputlayer has %zu outputs (%s), but %s takes %s", spec->path, input->width, input->name,
                fw_loss_name(layer->loss), many ? "one for each class, 2 at least" : "1");
  if (layer->loss == FW_LOSS_CROSS_ENTROPY && !is_probability(r->graph, layer->inputs[0]))
    return FAIL(r,
                "%s/inputlayer is %s, whose output is not a probability, which CrossEntropyLoss takes: sigmoid or "
                "softmax makes one; LogLoss takes any number",
                spec->path, input->name);
  layer->width = input->width;
  r->graph->loss = layer->loss;
  r->graph->outputs = layer->width;
  return add_layer(r, spec, layer);
}

static furrow_status build(resolver *r, const fw_layer_spec *spec) {
  size_t *inputs = NULL;
  FW_TRY(FW_ARENA_TAKE(r->arena, &inputs, spec->input_count, r->err));
  for (size_t k = 0; k < spec->input_count; k++) inputs[k] = r->built[find_layer(r->spec, spec->inputs[k])];
  fw_layer layer = {
      .name = spec->name, .type = spec->type, .input_count = spec->input_count, .inputs = inputs, .stack_size = 1};
  switch (fw_layer_type_family(spec->type)) {
  case FW_FAMILY_INPUT: return build_input(r, spec, &layer);
  case FW_FAMILY_EMBEDDING: return build_embedding(r, spec, &layer);
  case FW_FAMILY_FC: return build_fc(r, spec, &layer);
  case FW_FAMILY_CROSS: return build_cross(r, spec, &layer);
  case FW_FAMILY_JOIN: return build_join(r, spec, &layer);
  case FW_FAMILY_LOSS: break;
  }
  return build_loss(r, spec, &layer);
}

/* ---- Order ---- */

static furrow_status visit(resolver *r, size_t i);

static furrow_status visit_input(resolver *r, const fw_layer_spec *layer, size_t k) {
  char buffer[64];
  const char *where = input_path(buffer, layer, k);
  const size_t input = find_layer(r->spec, layer->inputs[k]);
  if (input == r->spec->count)
    return FAIL(r, "%s/%s is %.64s, but there is no such layer", layer->path, where, layer->inputs[k]);
  if (r->spec->layers[input].type == FW_LAYER_LOSS)
    return FAIL(r, "%s/%s is %s, the loss layer, which has no output", layer->path, where, layer->inputs[k]);
  if (r->built[input] == IN_PROGRESS)
    return FAIL(r, "%s/%s is %s, which needs this layer itself: a circle", layer->path, where, layer->inputs[k]);
  return visit(r, input);
}

/* Recursion is as deep as the longest path through the graph: at most FW_LAYERS_MAX. */
static furrow_status visit(resolver *r, size_t i) {
  const fw_layer_spec *layer = &r->spec->layers[i];
  if (r->built[i] < NOT_YET) return FURROW_OK;
  if (layer->input_count == 0 && layer->type != FW_LAYER_INPUT && layer->type != FW_LAYER_EMBEDDING)
    return FAIL(r, "%s/inputlayers is empty", layer->path);
  r->built[i] = IN_PROGRESS;
  for (size_t k = 0; k < layer->input_count; k++) FW_TRY(visit_input(r, layer, k));
  FW_TRY(build(r, layer));
  r->built[i] = r->graph->count - 1;
  return FURROW_OK;
}

static furrow_status find_loss(const resolver *r, size_t *loss) {
  size_t found = r->spec->count;
  for (size_t i = 0; i < r->spec->count; i++) {
    if (r->spec->layers[i].type != FW_LAYER_LOSS) continue;
    if (found < r->spec->count)
      return FAIL(r, "%s is a second loss layer; %s is the first", r->spec->layers[i].path,
                  r->spec->layers[found].path);
    found = i;
  }
  if (found == r->spec->count) return FAIL(r, "layers: there is no loss layer (SimpleLossLayer)");
  *loss = found;
  return FURROW_OK;
}

static furrow_status check_all_used(const resolver *r) {
  for (size_t i = 0; i < r->spec->count; i++)
    if (r->built[i] >= NOT_YET)
      return FAIL(r, "%s (%s) does not lead to the loss layer", r->spec->layers[i].path, r->spec->layers[i].name);
  return FURROW_OK;
}

static furrow_status start(resolver *r) {
  size_t most = 0;
  for (size_t i = 0; i < r->spec->count; i++) most += r->spec->layers[i].fc_count ? r->spec->layers[i].fc_count : 1;
  if (most > FW_LAYERS_MAX) most = FW_LAYERS_MAX;
  FW_TRY(FW_ARENA_TAKE(r->arena, &r->graph->layers, most, r->err));
  FW_TRY(FW_ARENA_TAKE(r->arena, &r->built, r->spec->count, r->err));
  r->graph->count = 0;
  for (size_t i = 0; i < r->spec->count; i++) r->built[i] = NOT_YET;
  return FURROW_OK;
}

furrow_status fw_graph_resolve(fw_graph *graph, fw_arena *arena, const furrow_learn_conf *conf, fw_plan *plan,
                               const fw_graph_spec *spec, furrow_error *err) {
  resolver r = {.graph = graph, .arena = arena, .conf = conf, .plan = plan, .spec = spec, .err = err};
  size_t loss = 0;
  FW_TRY(check_names(&r));
  FW_TRY(find_loss(&r, &loss));
  FW_TRY(start(&r));
  FW_TRY(visit(&r, loss));
  return check_all_used(&r);
}
