/* learn/conf/conf_plan.c: a configuration resolved: a plan; and a plan by its keys. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "learn/conf/conf_data.h"

/* A plan and what it holds: one allocation to free. */
typedef struct plan_memory {
  fw_plan plan;
  fw_arena arena;
} plan_memory;

void fw_plan_free(fw_plan *plan) {
  if (!plan) return;
  plan_memory *memory = plan->memory;
  fw_arena_clear(&memory->arena);
  fw_free(memory);
}

/* ---- Values of keys ---- */

typedef enum field_type { TEXT, REAL, BOOL, I32, U32, I64 } field_type;

/* Offsets of keys' values in a plan. Some values are changed later, depending on other keys. */
#define AT(member) offsetof(fw_plan, member)
static const struct plan_field {
  fw_key key;
  field_type type;
  size_t offset;
} plan_fields[] = {
    {FW_KEY_DATA, TEXT, AT(data.path)},
    {FW_KEY_FORMAT, TEXT, AT(data.format)},
    {FW_KEY_RANGE, I64, AT(data.range)},
    {FW_KEY_FIELDS, I64, AT(data.fields)},
    {FW_KEY_SHORT_ROWS, BOOL, AT(data.short_rows)},
    {FW_KEY_VALID_RATIO, REAL, AT(data.valid_ratio)},
    {FW_KEY_SAMPLE_RATIO, REAL, AT(data.sample_ratio)},
    {FW_KEY_SHUFFLE, BOOL, AT(data.shuffle)},
    {FW_KEY_POSNEG_RATIO, REAL, AT(data.posneg_ratio)},
    {FW_KEY_LABEL, I32, AT(data.label)},
    {FW_KEY_THRESHOLD, REAL, AT(data.threshold)},
    {FW_KEY_HAS_LABEL, BOOL, AT(data.has_label)},
    {FW_KEY_INDEX_BASE, I32, AT(data.index_base)},
    {FW_KEY_COLUMNS, TEXT, AT(data.columns)},
    {FW_KEY_LABEL_COLUMN, TEXT, AT(data.label_column)},
    {FW_KEY_WEIGHT_COLUMN, TEXT, AT(data.weight_column)},
    {FW_KEY_DELIMITER, TEXT, AT(data.delimiter)},
    {FW_KEY_ENCODER, TEXT, AT(data.encoder)},
    {FW_KEY_SCALE, BOOL, AT(data.scale)},
    {FW_KEY_CLASS_WEIGHTS, TEXT, AT(data.class_weights)},
    {FW_KEY_NEGATIVES, U32, AT(ranking.negatives)},
    {FW_KEY_HOUR_FIELD, I64, AT(ranking.hour_field)},
    {FW_KEY_POSITIVE_FROM, REAL, AT(ranking.positive_from)},
    {FW_KEY_MODEL_TYPE, I32, AT(model.row_type)},
    {FW_KEY_MODEL_SIZE, I64, AT(model.size)},
    {FW_KEY_BLOCK_SIZE, I64, AT(model.block_size)},
    {FW_KEY_LOAD, TEXT, AT(model.load_path)},
    {FW_KEY_SAVE, TEXT, AT(model.save_path)},
    {FW_KEY_EPOCHS, U32, AT(train.epochs)},
    {FW_KEY_BATCH, U32, AT(train.batch)},
    {FW_KEY_UPDATES, U32, AT(train.updates)},
    {FW_KEY_LR, REAL, AT(train.lr)},
    {FW_KEY_DECAY, I32, AT(train.decay)},
    {FW_KEY_DECAY_ALPHA, REAL, AT(train.decay_alpha)},
    {FW_KEY_DECAY_BETA, REAL, AT(train.decay_beta)},
    {FW_KEY_DECAY_INTERVALS, U32, AT(train.decay_intervals)},
    {FW_KEY_DECAY_ON_BATCH, BOOL, AT(train.decay_on_batch)},
    {FW_KEY_SEED, I64, AT(train.seed)},
    {FW_KEY_INIT_INPUT, REAL, AT(train.init_input)},
    {FW_KEY_INIT_EMBEDDING, REAL, AT(train.init_embedding)},
    {FW_KEY_INIT_FC, REAL, AT(train.init_fc)},
    {FW_KEY_START, BOOL, AT(train.start_linear)},
    {FW_KEY_KEEP, BOOL, AT(train.keep_best)},
    {FW_KEY_PATIENCE, U32, AT(train.patience)},
    {FW_KEY_TREES, U32, AT(forest.rounds)},
    {FW_KEY_LEVELS, U32, AT(forest.levels)},
    {FW_KEY_SPLITS, U32, AT(forest.splits)},
    {FW_KEY_FEATURE_RATIO, REAL, AT(forest.feature_ratio)},
    {FW_KEY_ROW_RATIO, REAL, AT(forest.row_ratio)},
    {FW_KEY_MIN_CHILD_WEIGHT, REAL, AT(forest.min_child_weight)},
    {FW_KEY_MIN_GAIN, REAL, AT(forest.min_gain)},
    {FW_KEY_REG_ALPHA, REAL, AT(forest.alpha)},
    {FW_KEY_REG_LAMBDA, REAL, AT(forest.lambda)},
    {FW_KEY_CATEGORIES, TEXT, AT(forest.category_text)},
    {FW_KEY_NODE_STATS, BOOL, AT(forest.node_stats)},
    {FW_KEY_LEAVES, U32, AT(forest.leaves)},
    {FW_KEY_MIN_ROWS, U32, AT(forest.min_rows)},
    {FW_KEY_FROM_AVERAGE, BOOL, AT(forest.from_average)},
    {FW_KEY_TRUNCATION, U32, AT(forest.truncation)},
    {FW_KEY_QUANTILE, REAL, AT(graph.quantile)},
    {FW_KEY_MONOTONE, TEXT, AT(forest.monotone)},
};
#undef AT
enum { PLAN_FIELDS = sizeof plan_fields / sizeof *plan_fields };

static furrow_status put_field(plan_memory *memory, const struct plan_field *field, fw_value value, furrow_error *err) {
  void *at = (char *)&memory->plan + field->offset;
  switch (field->type) {
  case TEXT: return value.text[0] ? fw_arena_text(&memory->arena, at, value.text, strlen(value.text), err) : FURROW_OK;
  case REAL: *(double *)at = value.real; break;
  case BOOL: *(bool *)at = value.integer != 0; break;
  case I32: *(int32_t *)at = (int32_t)value.integer; break;
  case U32: *(uint32_t *)at = (uint32_t)value.integer; break;
  case I64: *(int64_t *)at = value.integer; break;
  }
  return FURROW_OK;
}

static fw_value get_field(const fw_plan *plan, fw_key key) {
  const struct plan_field *field = plan_fields;
  while (field->key != key) field++;
  const void *at = (const char *)plan + field->offset;
  switch (field->type) {
  case TEXT: return (fw_value){.text = *(const char *const *)at};
  case REAL: return (fw_value){.real = *(const double *)at};
  case BOOL: return (fw_value){.integer = *(const bool *)at};
  case I32: return (fw_value){.integer = *(const int32_t *)at};
  case U32: return (fw_value){.integer = *(const uint32_t *)at};
  case I64: break;
  }
  return (fw_value){.integer = *(const int64_t *)at};
}

/* Keys of trees, or all others. */
static furrow_status take_fields(plan_memory *memory, const furrow_learn_conf *conf, bool trees, furrow_error *err) {
  for (size_t i = 0; i < PLAN_FIELDS; i++)
    if ((plan_fields[i].key >= FW_KEY_TREES) == trees)
      FW_TRY(put_field(memory, &plan_fields[i], fw_conf_value(conf, plan_fields[i].key), err));
  return FURROW_OK;
}

fw_value fw_plan_value(const fw_plan *plan, fw_key key) {
  switch (key) {
  case FW_KEY_LABEL: return (fw_value){.text = fw_label_transform_name(plan->data.label)};
  case FW_KEY_DECAY: return (fw_value){.text = fw_decay_name(plan->train.decay)};
  case FW_KEY_MODEL_TYPE: return (fw_value){.text = furrow_matrix_row_type_get(plan->model.row_type)->name};
  case FW_KEY_OBJECTIVE: return (fw_value){.text = fw_objective_name(plan->graph.loss)};
  case FW_KEY_CLASSES: return (fw_value){.integer = plan->graph.outputs > 1 ? (int64_t)plan->graph.outputs : 2};
  default: return get_field(plan, key);
  }
}

bool fw_plan_differs(const fw_plan *plan, fw_key key) {
  const char *fallback = fw_key_facts(key)->fallback;
  const fw_value now = fw_plan_value(plan, key);
  fw_value usual = {0};
  if (fallback[0] && fw_key_parse(key, fallback, strlen(fallback), &usual, NULL) != FURROW_OK) return true;
  if (now.text) return strcmp(now.text, usual.text ? usual.text : fallback) != 0;
  return now.integer != usual.integer || now.real != usual.real;
}

/* ---- Training ---- */

static void plan_train(fw_train_conf *train, const furrow_learn_conf *conf) {
  /* batch if it is set, else the number of updates if that is set, else 128; keys take precedence over the file */
  const bool by_key = fw_conf_has_key(conf, FW_KEY_UPDATES) && !fw_conf_has_key(conf, FW_KEY_BATCH);
  const bool by_updates = by_key || (fw_conf_is_set(conf, FW_KEY_UPDATES) && !fw_conf_is_set(conf, FW_KEY_BATCH));
  if (by_updates) train->batch = 0;
  /* Angel's StandardDecay reads ml.learn.decay, which has a default, so Angel never uses decay-alpha; Furrow does. */
  if (train->decay == FW_DECAY_STANDARD && !fw_conf_is_set(conf, FW_KEY_DECAY_ALPHA))
    train->decay_alpha = fw_conf_value(conf, FW_KEY_LEARN_DECAY).real;
  train->recommended = fw_conf_recommends(conf);
  train->bias_optimizer = train->ftrl_keeps_first_weights = train->published_adagrad = train->recommended;
}

/* Returns a key that is set although only the solver `steps` uses it; FW_KEYS: there is none. */
static fw_key step_key(const furrow_learn_conf *conf) {
  for (unsigned key = FW_KEY_UPDATES; key < FW_KEY_LOSS; key++)
    if (key != FW_KEY_SEED && key != FW_KEY_L2 && key != FW_KEY_STALENESS && fw_conf_is_set(conf, (fw_key)key))
      return (fw_key)key;
  return FW_KEYS;
}

static bool is_linear(const fw_graph *graph) {
  return graph->count == 2 && graph->layers[0].type == FW_LAYER_INPUT &&
         graph->layers[0].activation == FW_ACTIVATION_IDENTITY && graph->loss != FW_LOSS_HINGE &&
         graph->loss != FW_LOSS_CROSS_ENTROPY;
}

/* Whether the graph consists of an input layer, an embedding and a BiInnerSumCross: its score is an inner product of a
 * vector of the user and a vector of the item. */
static bool is_machine(const fw_graph *graph) {
  size_t inputs = 0, embeddings = 0, crosses = 0;
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    inputs += layer->type == FW_LAYER_INPUT && layer->width == 1 && layer->activation == FW_ACTIVATION_IDENTITY;
    embeddings += layer->type == FW_LAYER_EMBEDDING && layer->slots == 0;
    crosses += layer->type == FW_LAYER_BI_INNER_SUM;
  }
  return graph->count == 5 && inputs == 1 && embeddings == 1 && crosses == 1 &&
         graph->layers[3].type == FW_LAYER_SUM_POOLING;
}

/* Chooses the exact minimum unless a key is set that it does not support. fm with two classes, or with an l2 (which is
 * an l2 for steps), gets it only on request (docs/design/defaults.md). */
static furrow_status plan_solver(fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  const fw_key other = step_key(conf);
  const fw_graph *graph = &plan->graph;
  const bool set = fw_conf_is_set(conf, FW_KEY_SOLVER), regression = fw_loss_is_regression(graph->loss);
  const bool fm = is_machine(graph) && (regression || graph->loss == FW_LOSS_LOG);
  const bool own_l2 = plan->train.own_l2 = fw_conf_is_set(conf, FW_KEY_L2);
  if (fw_conf_value(conf, FW_KEY_SOLVER).integer == 0) return FURROW_OK;
  plan->train.lbfgs = (is_linear(graph) || (fm && (set || (regression && !own_l2)))) && other == FW_KEYS;
  plan->train.lbfgs_pairs = plan->train.lbfgs && fm;
  if (plan->train.lbfgs || !set) return FURROW_OK;
  if (!is_linear(graph) && !fm)
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "the solver lbfgs is for lr, linear, robust, softmax, and fm of two classes or numbers");
  return fw_fail(err, FURROW_E_ARGUMENT, "%s is for the solver steps, not for lbfgs", fw_key_facts(other)->name);
}

/* ---- What does not go together ---- */

static furrow_status check_data(fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  const furrow_matrix_row_type *type = furrow_matrix_row_type_get(plan->model.row_type);
  plan->data.long_keys = type->key_bits == 64;
  const bool dense = strcmp(plan->data.format, "dense") == 0;
  if (plan->data.range == 0) return fw_fail(err, FURROW_E_ARGUMENT, "range (data/indexrange) is 0: no features");
  if (type->key_bits == 32 && plan->data.range > INT32_MAX) {
    fw_fail(err, FURROW_E_ARGUMENT, "range (data/indexrange) is %lld, but indices of %s end at %d",
            (long long)plan->data.range, type->name, INT32_MAX);
    fw_error_set_hint(err, "set the key `model-type` to a LONGKEY type");
    return FURROW_E_ARGUMENT;
  }
  if (dense && !type->dense)
    return fw_fail(err, FURROW_E_ARGUMENT, "dense data needs a dense model-type (model/modeltype), not %s", type->name);
  if (!dense || plan->data.range > 0) return FURROW_OK;
  if (fw_conf_recommends(conf)) {
    plan->data.range = 1; /* until the data has been seen */
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "dense data needs the number of columns");
  fw_error_set_hint(err, "set the key `range` (data/indexrange)");
  return FURROW_E_ARGUMENT;
}

static bool has_layer(const fw_graph *graph, fw_layer_type type) {
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == type) return true;
  return false;
}

static bool has_optimizer(const fw_graph *graph, fw_optimizer_type type) {
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    const bool trained =
        layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_EMBEDDING || layer->type == FW_LAYER_FC;
    if (trained && layer->optimizer.type == type) return true;
  }
  return false;
}

bool fw_graph_has_rate(const fw_graph *graph) {
  for (int type = FW_OPTIMIZER_SGD; type <= FW_OPTIMIZER_PUBLISHED_ADAGRAD; type++)
    if (type != FW_OPTIMIZER_FTRL && type != FW_OPTIMIZER_ADADELTA && has_optimizer(graph, (fw_optimizer_type)type))
      return true;
  return false;
}

/* If FTRL is the only optimizer, lr sets its alpha, unless alpha is set: it has no other rate. Angel's FTRL ignores
 * lr. */
static void take_rate(const fw_graph *graph, const furrow_learn_conf *conf) {
  if (!fw_conf_recommends(conf) || !fw_conf_is_set(conf, FW_KEY_LR) || fw_conf_is_set(conf, FW_KEY_FTRL_ALPHA)) return;
  if (fw_graph_has_rate(graph)) return;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].optimizer.type == FW_OPTIMIZER_FTRL)
      graph->layers[i].optimizer.a = fmax(fw_conf_value(conf, FW_KEY_LR).real, 1e-12);
}

/* Refuses keys of layers that the graph does not have, and of optimizers that no layer has. */
static furrow_status check_optimizers(const fw_graph *graph, const furrow_learn_conf *conf, furrow_error *err) {
  static const struct {
    fw_key key;
    fw_layer_type type;
    const char *layers;
  } own[] = {{FW_KEY_INPUT_OPTIMIZER, FW_LAYER_INPUT, "input layers"},
             {FW_KEY_EMBEDDING_OPTIMIZER, FW_LAYER_EMBEDDING, "embeddings"},
             {FW_KEY_FC_OPTIMIZER, FW_LAYER_FC, "fc layers"},
             {FW_KEY_FC_L2, FW_LAYER_FC, "fc layers"}};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (fw_conf_has_key(conf, own[i].key) && !has_layer(graph, own[i].type))
      return fw_fail(err, FURROW_E_ARGUMENT, "%s is for %s, but the graph has none", fw_key_facts(own[i].key)->name,
                     own[i].layers);
  for (int type = FW_OPTIMIZER_SGD; type <= FW_OPTIMIZER_PUBLISHED_ADAGRAD; type++) {
    const fw_optimizer_param *params = fw_optimizer_params((fw_optimizer_type)type);
    for (size_t k = 0; k < 2 && params[k].member && !has_optimizer(graph, (fw_optimizer_type)type); k++)
      if (fw_conf_has_key(conf, params[k].key))
        return fw_fail(err, FURROW_E_ARGUMENT, "%s is for %s, which no layer has", fw_key_facts(params[k].key)->name,
                       fw_optimizer_name((fw_optimizer_type)type));
  }
  return FURROW_OK;
}

double fw_label_number(double label) {
  return (double)(float)label;
}

const char *fw_label_text(char text[FW_LABEL_TEXT], double label) {
  const bool whole = label == trunc(label) && fabs(label) < 1e15;
  text[whole ? fw_write_f64(text, label) : fw_write_f32(text, (float)label)] = 0;
  return text;
}

static furrow_status take_labels(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_data_conf *data = &memory->plan.data;
  fw_element *labels = NULL;
  FW_TRY(fw_conf_take_list(conf, FW_KEY_LABELS, &memory->arena, &labels, &data->label_count, err));
  for (size_t i = 0; i < data->label_count; i++) labels[i].real = fw_label_number(labels[i].real);
  data->labels = (const double *)labels;
  return FURROW_OK;
}

/* Finds Angel's transform with the same effect, if there is one, for graph.json. */
static void name_transform(fw_data_conf *data, fw_loss_type loss) {
  const double first = data->labels[0];
  if (loss == FW_LOSS_SOFTMAX) {
    const bool follow = data->labels[data->label_count - 1] - first == (double)data->label_count - 1;
    data->label = follow && first == 1 ? FW_LABEL_SUB_ONE : follow && first == -1 ? FW_LABEL_ADD_ONE : FW_LABEL_NONE;
    return;
  }
  data->label = data->signed_classes ? FW_LABEL_POS_NEG : FW_LABEL_ZERO_ONE;
  data->threshold = first < 0 && data->labels[1] > 0 ? 0 : first;
}

/* Losses of two classes take labels 1 and -1, so labels are transformed to these by default. With Furrow's own defaults
 * the labels are found in the data. */
static furrow_status plan_labels(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = &memory->plan;
  fw_data_conf *data = &plan->data;
  const fw_loss_type loss = plan->graph.loss;
  const bool two = fw_loss_has_two_classes(loss), set = fw_conf_is_set(conf, FW_KEY_LABEL);
  const char *labels = fw_conf_value(conf, FW_KEY_LABELS).text;
  data->signed_classes = loss == FW_LOSS_LOG || loss == FW_LOSS_HINGE;
  plan->open_classes = loss == FW_LOSS_SOFTMAX && fw_conf_value(conf, FW_KEY_CLASSES).integer == 0;
  data->finds_labels = fw_conf_recommends(conf) && !set && !labels[0] && (two || loss == FW_LOSS_SOFTMAX);
  if (data->signed_classes && !set) data->label = FW_LABEL_POS_NEG;
  if (!labels[0]) return FURROW_OK;
  if (!two && loss != FW_LOSS_SOFTMAX)
    return fw_fail(err, FURROW_E_ARGUMENT, "labels names the classes, but %s has no classes", fw_loss_name(loss));
  FW_TRY(take_labels(memory, conf, err));
  const size_t classes = two ? 2 : plan->graph.outputs;
  if (data->label_count != classes)
    return fw_fail(err, FURROW_E_ARGUMENT, "there are %zu labels, but %zu classes", data->label_count, classes);
  name_transform(data, loss);
  return FURROW_OK;
}

size_t fw_plan_classes(const fw_plan *plan) {
  const fw_loss_type loss = plan->graph.loss;
  return fw_loss_has_two_classes(loss) ? 2 : loss == FW_LOSS_SOFTMAX ? plan->graph.outputs : 0;
}

/* The number of weights can be checked only when the classes are known. */
static furrow_status check_class_weights(const fw_plan *plan, furrow_error *err) {
  const char *text = plan->data.class_weights;
  fw_class_weights weights = {0};
  FW_TRY(fw_class_weights_parse(&weights, text ? text : "", err));
  furrow_status status = plan->open_classes ? FURROW_OK : fw_class_weights_check(&weights, fw_plan_classes(plan), err);
  fw_class_weights_clear(&weights);
  return status;
}

/* ---- Trees ---- */

static furrow_status take_categories(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_forest_conf *forest = &memory->plan.forest;
  fw_element *features = NULL;
  forest->all_categories = strcmp(forest->category_text, "all") == 0;
  if (forest->all_categories || strcmp(forest->category_text, "none") == 0) return FURROW_OK;
  FW_TRY(fw_conf_take_list(conf, FW_KEY_CATEGORIES, &memory->arena, &features, &forest->category_count, err));
  fw_sort_u64((uint64_t *)features, forest->category_count);
  forest->categories = (const uint64_t *)features;
  return FURROW_OK;
}

/* Levels of nodes: set by depth, unless only `levels` is set. */
static unsigned plan_levels(const furrow_learn_conf *conf) {
  const bool by_levels = fw_conf_is_set(conf, FW_KEY_LEVELS) && !fw_conf_is_set(conf, FW_KEY_DEPTH);
  const int64_t depth = by_levels ? 0 : fw_conf_value(conf, FW_KEY_DEPTH).integer;
  return (unsigned)(depth > 0 ? depth + 1 : fw_conf_value(conf, FW_KEY_LEVELS).integer);
}

/* Refuses keys of epochs and optimizers, which have no effect on trees: a user who sets one expects something else. */
static furrow_status check_tree_keys(const furrow_learn_conf *conf, furrow_error *err) {
  for (unsigned key = FW_KEY_EPOCHS; key < FW_KEY_LOSS; key++)
    if (key != FW_KEY_LR && key != FW_KEY_SEED && key != FW_KEY_STALENESS && fw_conf_has_key(conf, (fw_key)key))
      return fw_fail(err, FURROW_E_ARGUMENT, "%s is not for gbdt%s", fw_conf_key_name(conf, (fw_key)key),
                     key == FW_KEY_EPOCHS ? ": its rounds are trees" : "");
  const uint64_t classes = (uint64_t)1 << (FW_KEY_CLASSES - FW_KEY_LOSS);
  const uint64_t of_trees = UINT64_MAX << (FW_KEY_TREES - FW_KEY_LOSS); /* to the last key */
  return fw_graph_keys_unused(conf, classes | of_trees, "gbdt", err);
}

/* Checks settings that only trees have, or that they do not support. */
static furrow_status check_trees(const fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  const fw_loss_type loss = plan->graph.loss;
  if (!(plan->train.lr > 0)) return fw_fail(err, FURROW_E_ARGUMENT, "the learning rate of gbdt must be more than 0");
  FW_TRY(check_tree_keys(conf, err));
  if (loss != FW_LOSS_SOFTMAX && fw_conf_is_set(conf, FW_KEY_CLASSES) &&
      fw_conf_value(conf, FW_KEY_CLASSES).integer != 2)
    return fw_fail(err, FURROW_E_ARGUMENT, "classes is for the objective multi:softmax, not for %s",
                   fw_objective_name(loss));
  if (loss != FW_LOSS_LAMBDA && fw_conf_has_key(conf, FW_KEY_TRUNCATION))
    return fw_fail(err, FURROW_E_ARGUMENT, "truncation is for the objective rank:ndcg, not for %s",
                   fw_objective_name(loss));
  if (loss == FW_LOSS_SOFTMAX && plan->forest.monotone)
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "monotone is not for the objective multi:softmax: the probability of a class depends on all scores");
  if (loss != FW_LOSS_QUANTILE && fw_conf_has_key(conf, FW_KEY_QUANTILE))
    return fw_fail(err, FURROW_E_ARGUMENT, "quantile is for the objective reg:quantileerror, not for %s",
                   fw_objective_name(loss));
  return plan->forest.leaves != 1 ? FURROW_OK
                                  : fw_fail(err, FURROW_E_ARGUMENT, "leaves must be 2 at least, or 0 for no limit");
}

/* Plans trees: the plan's graph then has a loss and outputs, but no layers. */
static furrow_status plan_trees(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
#define FURROW_X(name, text, loss) FW_LOSS_##loss,
  static const fw_loss_type losses[] = {FW_OBJECTIVES(FURROW_X)};
#undef FURROW_X
  fw_plan *plan = &memory->plan;
  FW_TRY(take_fields(memory, conf, true, err));
  plan->forest.used = plan->data.trees = true;
  plan->forest.levels = plan_levels(conf);
  plan->graph.loss = losses[fw_conf_value(conf, FW_KEY_OBJECTIVE).integer];
  const int64_t classes = fw_conf_value(conf, FW_KEY_CLASSES).integer;
  plan->graph.outputs = plan->graph.loss != FW_LOSS_SOFTMAX ? 1
                        : classes > 0                       ? (size_t)classes
                                                            : 2; /* until the data has been seen */
  plan->train.epochs = plan->forest.rounds;
  plan->train.decay = FW_DECAY_CONSTANT;
  FW_TRY(check_trees(plan, conf, err));
  return take_categories(memory, conf, err);
}

/* ---- Users and items ---- */

static furrow_status check_apart(const fw_ranking_conf *ranking, furrow_error *err) {
  for (size_t i = 0; i < ranking->user_field_count; i++)
    for (size_t k = 0; k < ranking->item_field_count; k++)
      if (ranking->user_fields[i] == ranking->item_fields[k])
        return fw_fail(err, FURROW_E_ARGUMENT, "the field %llu is in user-fields and in item-fields",
                       (unsigned long long)ranking->user_fields[i]);
  return FURROW_OK;
}

static furrow_status check_ranking(const fw_plan *plan, furrow_error *err) {
  const fw_graph *graph = &plan->graph;
  if (plan->ranking.same_hour)
    return fw_fail(err, FURROW_E_ARGUMENT, "negative-sampling=hour is for rows that `negatives` draws, not for %s",
                   fw_loss_name(graph->loss));
  if (!is_machine(graph)) {
    fw_fail(err, FURROW_E_ARGUMENT, "%s is for fm alone", fw_loss_name(graph->loss));
    fw_error_set_hint(err, "the key `negatives` draws negative rows for any model with LogLoss");
    return FURROW_E_ARGUMENT;
  }
  for (size_t i = 0; i < graph->count; i++) {
    const fw_optimizer_type type = graph->layers[i].optimizer.type;
    if (graph->layers[i].type == FW_LAYER_EMBEDDING && type != FW_OPTIMIZER_ADAM &&
        type != FW_OPTIMIZER_PUBLISHED_ADAGRAD)
      return fw_fail(err, FURROW_E_ARGUMENT, "%s is trained with Adam or published-adagrad, not with %s",
                     fw_loss_name(graph->loss), fw_optimizer_name(type));
  }
  return FURROW_OK;
}

/* Drawn rows are negatives, so the loss must have two classes. */
static furrow_status check_negatives(const fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  static const fw_key keys[] = {FW_KEY_NEGATIVE_SAMPLING, FW_KEY_POSITIVE_FROM};
  const fw_ranking_conf *ranking = &plan->ranking;
  for (size_t i = 0; ranking->negatives == 0 && i < sizeof keys / sizeof *keys; i++)
    if (fw_conf_is_set(conf, keys[i]))
      return fw_fail(err, FURROW_E_ARGUMENT, "%s needs negatives, or a loss that ranks", fw_key_facts(keys[i])->name);
  if (ranking->negatives > 0 && !fw_loss_has_two_classes(plan->graph.loss))
    return fw_fail(err, FURROW_E_ARGUMENT, "negatives are rows of the negative class, and %s has none",
                   fw_loss_name(plan->graph.loss));
  return FURROW_OK;
}

/* Takes the fields of users or items. */
static furrow_status take_side(plan_memory *memory, const furrow_learn_conf *conf, fw_key key, const uint64_t **fields,
                               size_t *count, furrow_error *err) {
  fw_element *elements = NULL;
  FW_TRY(fw_conf_take_list(conf, key, &memory->arena, &elements, count, err));
  if (elements) *fields = (const uint64_t *)elements;
  return FURROW_OK;
}

static furrow_status plan_ranking(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = &memory->plan;
  fw_ranking_conf *ranking = &plan->ranking;
  FW_TRY(take_side(memory, conf, FW_KEY_USER_FIELDS, &ranking->user_fields, &ranking->user_field_count, err));
  FW_TRY(take_side(memory, conf, FW_KEY_ITEM_FIELDS, &ranking->item_fields, &ranking->item_field_count, err));
  ranking->popular = fw_conf_value(conf, FW_KEY_NEGATIVE_SAMPLING).integer == 1;
  ranking->same_hour = fw_conf_value(conf, FW_KEY_NEGATIVE_SAMPLING).integer == 2;
  ranking->has_positive_from = fw_conf_is_set(conf, FW_KEY_POSITIVE_FROM);
  FW_TRY(check_apart(ranking, err));
  const bool items = fw_loss_ranks(plan->graph.loss) && !plan->forest.used;
  return items ? check_ranking(plan, err) : check_negatives(plan, conf, err);
}

/* ---- The whole ---- */

static furrow_status resolve_graph(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = &memory->plan;
  fw_graph_spec *built = NULL;
  const fw_graph_spec *spec = conf->json.graph;
  furrow_status status = FURROW_OK;
  if (plan->model.algorithm && strcmp(plan->model.algorithm, "gbdt") == 0) return plan_trees(memory, conf, err);
  if (plan->model.algorithm) {
    status = fw_builtin_graph(&built, conf, plan->model.algorithm, err);
    spec = built;
  } else if (!spec) {
    fw_fail(err, FURROW_E_ARGUMENT, "the configuration names neither an algorithm nor layers");
    fw_error_set_hint(err, "name an algorithm (%s) or give layers in a JSON file", fw_builtin_names);
    return FURROW_E_ARGUMENT;
  } else {
    status = fw_graph_keys_unused(conf, 0, "a graph from the JSON file", err);
  }
  if (status == FURROW_OK) status = fw_graph_resolve(&plan->graph, &memory->arena, conf, plan, spec, err);
  if (status == FURROW_OK) status = check_optimizers(&plan->graph, conf, err);
  if (status == FURROW_OK) take_rate(&plan->graph, conf);
  fw_graph_spec_release(built);
  return status;
}

static furrow_status resolve(plan_memory *memory, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = &memory->plan;
  const char *algorithm = fw_conf_algorithm(conf);
  FW_TRY(take_fields(memory, conf, false, err));
  plan->model.algorithm = algorithm ? fw_builtin_find(algorithm) : NULL;
  plan_train(&plan->train, conf);
  FW_TRY(check_data(plan, conf, err));
  FW_TRY(resolve_graph(memory, conf, err));
  FW_TRY(plan_solver(plan, conf, err));
  FW_TRY(plan_labels(memory, conf, err));
  FW_TRY(check_class_weights(plan, err));
  return plan_ranking(memory, conf, err);
}

furrow_status fw_plan_of_conf(fw_plan **plan, const furrow_learn_conf *conf, furrow_error *err) {
  plan_memory *memory = NULL;
  FW_TRY(FW_ALLOC_ZERO(&memory, 1, err));
  memory->plan.memory = memory;
  furrow_status status = resolve(memory, conf, err);
  if (status == FURROW_OK)
    *plan = &memory->plan;
  else
    fw_plan_free(&memory->plan);
  return status;
}

furrow_status furrow_learn_conf_check(const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *plan = NULL;
  furrow_status status = fw_plan_of_conf(&plan, conf, err);
  fw_plan_free(plan);
  return status;
}

bool fw_format_has_fields(const char *format) {
  return strcmp(format, "libffm") == 0 || strcmp(format, "libfm") == 0 || strcmp(format, "table") == 0;
}
