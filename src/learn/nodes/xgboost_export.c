/* learn/nodes/xgboost_export.c: a forest of nodes as a model of xgboost, in JSON.
 *
 * xgboost sends numbers below a threshold to the left and members of a set to the right, and computes in floats. A
 * threshold of numbers up to it becomes the next float; sets whose members go to the left change sides. */
#include "learn/nodes/forest_export.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "furrow/json.h"

/* The objective as xgboost knows it, and the parameter without which version 1 does not read it. */
typedef struct objective_form {
  const char *ours;
  fw_link link;
  const char *theirs, *parameter, *key, *value;
} objective_form;

static const objective_form forms[] = {
    {"binary:logistic", FW_LINK_NONE, "binary:logistic", "reg_loss_param", "scale_pos_weight", "1"},
    {"binary:logistic", FW_LINK_HINGE, "binary:hinge", NULL, NULL, NULL},
    {"reg:squarederror", FW_LINK_NONE, "reg:squarederror", "reg_loss_param", "scale_pos_weight", "1"},
    {"reg:squarederror", FW_LINK_EXP, "reg:gamma", NULL, NULL, NULL},
    {"reg:squarederror", FW_LINK_LOGISTIC, "reg:logistic", "reg_loss_param", "scale_pos_weight", "1"},
    {"reg:absoluteerror", FW_LINK_NONE, "reg:absoluteerror", NULL, NULL, NULL},
    {"reg:quantileerror", FW_LINK_NONE, "reg:quantileerror", "quantile_loss_param", "quantile_alpha", NULL},
    {"count:poisson", FW_LINK_NONE, "count:poisson", "poisson_regression_param", "max_delta_step", "0.7"},
    {"multi:softmax", FW_LINK_NONE, "multi:softprob", "softmax_multiclass_param", "num_class", NULL},
    {"rank:ndcg", FW_LINK_NONE, "rank:ndcg", "lambda_rank_param", "fix_list_weight", "0"},
};

static const objective_form *find_form(const char *objective, fw_link link) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (strcmp(forms[i].ours, objective) == 0 && forms[i].link == link) return &forms[i];
  return NULL;
}

/* ---- Numbers ---- */

/* With a point or an exponent: xgboost takes other numbers for whole ones. */
static void put_f32(fw_json_out *json, float number) {
  char text[FURROW_JSON_NUMBER_TEXT];
  const size_t length = furrow_json_write_f32(text, number);
  fw_buffer_append(json->out, text, length);
  if (!memchr(text, '.', length) && !memchr(text, 'e', length)) fw_buffer_text(json->out, ".0");
  json->more = true;
}

/* base_score is what the objective predicts for the score `base`; the float that comes nearest to it. */
static float base_score_of(const objective_form *form, float base) {
  const bool logit = strcmp(form->theirs, "binary:logistic") == 0 || form->link == FW_LINK_LOGISTIC;
  const bool log = strcmp(form->theirs, "count:poisson") == 0 || form->link == FW_LINK_EXP;
  if (!logit && !log) return base;
  float best = logit ? (float)(1 / (1 + exp(-(double)base))) : expf(base);
  float least = INFINITY, at = best;
  for (int i = 0; i < 16; i++) at = nextafterf(at, 0);
  for (int i = 0; i < 32; i++, at = nextafterf(at, INFINITY)) {
    const float off = fabsf((logit ? -logf(1.0F / at - 1.0F) : logf(at)) - base);
    if (off < least) least = off, best = at;
  }
  return best;
}

/* ---- Trees ---- */

/* xgboost finds a right child right after its left sibling, so that nodes get other numbers. */
typedef struct exporting {
  const fw_node_forest *forest;
  fw_json_out *json;
  size_t tree;
  const fw_split_node *nodes;
  size_t count;
  uint32_t *order, *child; /* the node that gets a number, and the number of its left child */
  uint32_t *parent;
} exporting;

/* Whether the children change sides. */
static bool is_turned(const fw_split_node *node) {
  return (node->flags & FW_NODE_SET) && (node->flags & FW_NODE_SET_LEFT);
}

/* Numbers nodes level by level. */
static void order_nodes(exporting *e) {
  uint32_t next = 1;
  e->order[0] = 0;
  e->parent[0] = INT32_MAX;
  for (uint32_t i = 0; i < e->count; i++) {
    const uint32_t at = e->order[i];
    const fw_split_node *node = &e->nodes[at];
    if (node->feature < 0) continue;
    e->order[next] = is_turned(node) ? node->right : at + 1;
    e->order[next + 1] = is_turned(node) ? at + 1 : node->right;
    e->parent[next] = e->parent[next + 1] = i;
    e->child[i] = next;
    next += 2;
  }
}

/* The least float that is not below, or above, a threshold: what xgboost compares with. */
static float threshold_of(const fw_node_forest *forest, const fw_split_node *node) {
  const float nearest = (float)node->value;
  if (forest->less) return nearest;
  return (double)nearest > node->value ? nearest : nextafterf(nearest, INFINITY);
}

/* Writes number i of an array; `node` has that number. */
typedef void (*put_number)(const exporting *e, size_t i, const fw_split_node *node);

static void put_left(const exporting *e, size_t i, const fw_split_node *node) {
  fw_json_out_integer(e->json, node->feature < 0 ? -1 : (int64_t)e->child[i]);
}
static void put_right(const exporting *e, size_t i, const fw_split_node *node) {
  fw_json_out_integer(e->json, node->feature < 0 ? -1 : (int64_t)e->child[i] + 1);
}
static void put_parent(const exporting *e, size_t i, const fw_split_node *node) {
  (void)node;
  fw_json_out_integer(e->json, e->parent[i]);
}
static void put_feature(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  fw_json_out_integer(e->json, node->feature < 0 ? 0 : node->feature);
}
static void put_default(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  fw_json_out_integer(e->json, node->feature >= 0 && fw_node_goes_left(e->forest, node, NAN) != is_turned(node));
}
static void put_type(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  fw_json_out_integer(e->json, (node->flags & FW_NODE_SET) != 0);
}
static float leaf_of(const exporting *e, const fw_split_node *node) {
  return (float)(node->value * (e->forest->scale / e->forest->divisor));
}
static void put_value(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  put_f32(e->json, node->feature < 0           ? leaf_of(e, node)
                   : node->flags & FW_NODE_SET ? 0
                                               : threshold_of(e->forest, node));
}
static void put_weight(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  put_f32(e->json, node->feature < 0 ? leaf_of(e, node) : 0);
}
static void put_gain(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  put_f32(e->json, node->gain);
}
static void put_cover(const exporting *e, size_t i, const fw_split_node *node) {
  (void)i;
  put_f32(e->json, (float)node->cover);
}

static void put_array(const exporting *e, const char *key, put_number put) {
  fw_json_out_key(e->json, key);
  fw_json_out_open_array(e->json);
  for (size_t i = 0; i < e->count; i++) {
    fw_json_out_element(e->json);
    put(e, i, &e->nodes[e->order[i]]);
  }
  fw_json_out_close_array(e->json);
}

/* What is written of each node with a set: its number, where its categories begin, how many there are; the last pass
 * writes these. */
typedef enum set_list { SET_NODES, SET_BEGINS, SET_SIZES, SET_MEMBERS } set_list;

static size_t put_members(const exporting *e, size_t set, bool write) {
  const fw_node_forest *forest = e->forest;
  size_t count = 0;
  for (uint64_t c = 0; c < 32 * (forest->set_begin[set + 1] - forest->set_begin[set]); c++) {
    if (!(forest->words[forest->set_begin[set] + c / 32] >> c % 32 & 1)) continue;
    count++;
    if (!write) continue;
    fw_json_out_element(e->json);
    fw_json_out_integer(e->json, (int64_t)c);
  }
  return count;
}

static void put_sets(const exporting *e, const char *key, set_list what) {
  size_t begin = 0;
  fw_json_out_key(e->json, key);
  fw_json_out_open_array(e->json);
  for (size_t i = 0; i < e->count; i++) {
    const fw_split_node *node = &e->nodes[e->order[i]];
    if (!(node->flags & FW_NODE_SET)) continue;
    const size_t size = put_members(e, (size_t)node->value, what == SET_MEMBERS);
    if (what != SET_MEMBERS) fw_json_out_element(e->json);
    if (what == SET_NODES) fw_json_out_integer(e->json, (int64_t)i);
    if (what == SET_BEGINS) fw_json_out_integer(e->json, (int64_t)begin);
    if (what == SET_SIZES) fw_json_out_integer(e->json, (int64_t)size);
    begin += size;
  }
  fw_json_out_close_array(e->json);
}

/* A member whose value is a text, as xgboost writes numbers of parameters. */
static void put_count_text(fw_json_out *json, const char *key, size_t count) {
  char text[24];
  snprintf(text, sizeof text, "%zu", count);
  fw_json_out_member(json, key, text);
}

static void put_tree(const exporting *e, size_t features) {
  fw_json_out_element(e->json);
  fw_json_out_open(e->json);
  put_array(e, "base_weights", put_weight);
  put_sets(e, "categories", SET_MEMBERS);
  put_sets(e, "categories_nodes", SET_NODES);
  put_sets(e, "categories_segments", SET_BEGINS);
  put_sets(e, "categories_sizes", SET_SIZES);
  put_array(e, "default_left", put_default);
  fw_json_out_member_unsigned(e->json, "id", e->tree);
  put_array(e, "left_children", put_left);
  put_array(e, "loss_changes", put_gain);
  put_array(e, "parents", put_parent);
  put_array(e, "right_children", put_right);
  put_array(e, "split_conditions", put_value);
  put_array(e, "split_indices", put_feature);
  put_array(e, "split_type", put_type);
  put_array(e, "sum_hessian", put_cover);
  fw_json_out_key(e->json, "tree_param");
  fw_json_out_open(e->json);
  fw_json_out_member(e->json, "num_deleted", "0");
  put_count_text(e->json, "num_feature", features);
  put_count_text(e->json, "num_nodes", e->count);
  fw_json_out_member(e->json, "size_leaf_vector", "0");
  fw_json_out_close(e->json);
  fw_json_out_close(e->json);
}

/* ---- The model ---- */

/* Splits and sets that xgboost does not have. */
static furrow_status check_nodes(const fw_node_forest *forest, furrow_error *err) {
  for (size_t i = 0; i < forest->nodes; i++) {
    const fw_split_node *node = &forest->node[i];
    if (node->flags & FW_NODE_ZERO_MISSING)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "xgboost has no splits that take 0 for missing (zero_as_missing)");
    if (!(node->flags & FW_NODE_SET)) continue;
    const size_t set = (size_t)node->value;
    uint32_t any = 0;
    for (uint64_t w = forest->set_begin[set]; w < forest->set_begin[set + 1]; w++) any |= forest->words[w];
    if (!any) return fw_fail(err, FURROW_E_UNSUPPORTED, "xgboost has no splits by sets without categories");
    if (forest->set_begin[set + 1] - forest->set_begin[set] > (1 << 24) / 32)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "xgboost has no categories from 2^24 on");
  }
  return FURROW_OK;
}

/* Features of splits by sets are categories to xgboost, which refuses thresholds of the same feature. */
static furrow_status list_kinds(const fw_node_forest *forest, size_t features, uint8_t **kinds, furrow_error *err) {
  uint8_t *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, features, err));
  for (size_t i = 0; i < forest->nodes; i++)
    if (forest->node[i].feature >= 0) made[forest->node[i].feature] |= forest->node[i].flags & FW_NODE_SET ? 2 : 1;
  *kinds = made;
  return FURROW_OK;
}

static furrow_status put_booster(fw_json_out *json, const fw_node_forest *forest, size_t features, furrow_error *err) {
  fw_json_out_key(json, "gradient_booster");
  fw_json_out_open(json);
  fw_json_out_key(json, "model");
  fw_json_out_open(json);
  fw_json_out_key(json, "gbtree_model_param");
  fw_json_out_open(json);
  fw_json_out_member(json, "num_parallel_tree", "1");
  put_count_text(json, "num_trees", forest->trees);
  fw_json_out_member(json, "size_leaf_vector", "0");
  fw_json_out_close(json);
  fw_json_out_key(json, "tree_info");
  fw_json_out_open_array(json);
  for (size_t t = 0; t < forest->trees; t++) {
    fw_json_out_element(json);
    fw_json_out_integer(json, forest->class_of[t]);
  }
  fw_json_out_close_array(json);
  fw_json_out_key(json, "trees");
  fw_json_out_open_array(json);
  furrow_status status = FURROW_OK;
  for (size_t t = 0; status == FURROW_OK && t < forest->trees; t++) {
    exporting e = {.forest = forest, .json = json, .tree = t, .nodes = forest->node + forest->begin[t]};
    e.count = (size_t)(forest->begin[t + 1] - forest->begin[t]);
    status = FW_ALLOC(&e.order, 3 * e.count, err);
    if (status != FURROW_OK) break;
    e.child = e.order + e.count, e.parent = e.child + e.count;
    order_nodes(&e);
    put_tree(&e, features);
    fw_free(e.order);
  }
  fw_json_out_close_array(json);
  fw_json_out_close(json);
  fw_json_out_member(json, "name", "gbtree");
  fw_json_out_close(json);
  return status;
}

/* One base for all classes is a number, as all versions read it; several are a list, for 3.1 and later. */
static void put_base(fw_json_out *json, const fw_node_forest *forest, const objective_form *form) {
  fw_buffer text = {0};
  char number[FURROW_JSON_NUMBER_TEXT];
  const double factor = forest->scale / forest->divisor;
  bool same = true;
  for (size_t c = 1; c < forest->classes; c++) same &= forest->base[c] == forest->base[0];
  if (!same) fw_buffer_byte(&text, '[');
  for (size_t c = 0; c < (same ? 1 : forest->classes); c++) {
    if (c > 0) fw_buffer_byte(&text, ',');
    fw_buffer_append(&text, number,
                     furrow_json_write_f32(number, base_score_of(form, (float)(forest->base[c] * factor))));
  }
  if (!same) fw_buffer_byte(&text, ']');
  fw_buffer_byte(&text, 0);
  if (text.bytes) fw_json_out_member(json, "base_score", text.bytes);
  json->out->missing |= text.missing;
  fw_buffer_clear(&text);
}

static void put_params(fw_json_out *json, const fw_export_model *model, const objective_form *form, size_t features) {
  const fw_node_forest *forest = model->forest;
  char quantile[FURROW_JSON_NUMBER_TEXT + 1];
  const char *value = form->value;
  fw_json_out_key(json, "learner_model_param");
  fw_json_out_open(json);
  put_base(json, forest, form);
  fw_json_out_member(json, "boost_from_average", "0");
  put_count_text(json, "num_class", forest->classes > 1 ? forest->classes : 0);
  put_count_text(json, "num_feature", features);
  fw_json_out_member(json, "num_target", "1");
  fw_json_out_close(json);
  fw_json_out_key(json, "objective");
  fw_json_out_open(json);
  fw_json_out_member(json, "name", form->theirs);
  if (form->parameter) {
    if (strcmp(form->key, "quantile_alpha") == 0) {
      quantile[furrow_json_write_f64(quantile, model->quantile)] = 0;
      value = quantile;
    }
    fw_json_out_key(json, form->parameter);
    fw_json_out_open(json);
    if (value)
      fw_json_out_member(json, form->key, value);
    else
      put_count_text(json, form->key, forest->classes);
    fw_json_out_close(json);
  }
  fw_json_out_close(json);
}

static void put_features(fw_json_out *json, const fw_export_model *model, const uint8_t *kinds, size_t features) {
  const bool named = model->name_count == features;
  bool sets = false;
  for (size_t i = 0; i < features; i++) sets |= kinds[i] == 2;
  fw_json_out_key(json, "feature_names");
  fw_json_out_open_array(json);
  for (size_t i = 0; named && i < features; i++) {
    fw_json_out_element(json);
    fw_json_out_text(json, model->names[i]);
  }
  fw_json_out_close_array(json);
  fw_json_out_key(json, "feature_types");
  fw_json_out_open_array(json);
  for (size_t i = 0; sets && i < features; i++) {
    fw_json_out_element(json);
    fw_json_out_text(json, kinds[i] == 2 ? "c" : "q");
  }
  fw_json_out_close_array(json);
}

static furrow_status put_learner(fw_json_out *json, const fw_export_model *model, const objective_form *form,
                                 const uint8_t *kinds, size_t features, furrow_error *err) {
  fw_json_out_open(json);
  fw_json_out_key(json, "learner");
  fw_json_out_open(json);
  fw_json_out_key(json, "attributes");
  fw_json_out_open(json);
  fw_json_out_close(json);
  put_features(json, model, kinds, features);
  FW_TRY(put_booster(json, model->forest, features, err));
  put_params(json, model, form, features);
  fw_json_out_close(json);
  fw_json_out_key(json, "version");
  fw_json_out_open_array(json);
  for (int64_t part = 0; part < 3; part++) {
    fw_json_out_element(json);
    fw_json_out_integer(json, part == 0 ? 1 : part == 1 ? 7 : 0);
  }
  fw_json_out_close_array(json);
  fw_json_out_close(json);
  return fw_buffer_status(json->out, err);
}

/* Takes blanks out: xgboost does not read an empty list with a blank in it. */
static void pack(fw_buffer *out, const fw_buffer *json) {
  bool quoted = false;
  for (size_t i = 0; i < json->size; i++) {
    const char byte = json->bytes[i];
    if (byte == '"') quoted = !quoted;
    if (!quoted && (byte == ' ' || byte == '\n')) continue;
    fw_buffer_byte(out, byte);
    if (byte == '\\' && i + 1 < json->size) fw_buffer_byte(out, json->bytes[++i]);
  }
  fw_buffer_byte(out, '\n');
}

furrow_status fw_xgboost_write(const fw_export_model *model, fw_buffer *out, furrow_error *err) {
  const fw_node_forest *forest = model->forest;
  const objective_form *form = find_form(model->objective, forest->link);
  const size_t features = forest->features > model->name_count ? forest->features : model->name_count;
  uint8_t *kinds = NULL;
  if (!form)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "xgboost has no objective that predicts what this model does (%s)",
                   model->objective);
  FW_TRY(check_nodes(forest, err));
  FW_TRY(list_kinds(forest, features, &kinds, err));
  fw_buffer text = {0};
  fw_json_out json = {.out = &text};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < features; i++)
    if (kinds[i] == 3)
      status = fw_fail(err, FURROW_E_UNSUPPORTED,
                       "feature %zu has splits by sets and by thresholds, which xgboost does "
                       "not mix",
                       i);
  if (status == FURROW_OK) status = put_learner(&json, model, form, kinds, features, err);
  if (status == FURROW_OK) pack(out, &text);
  fw_buffer_clear(&text);
  fw_free(kinds);
  return status == FURROW_OK ? fw_buffer_status(out, err) : status;
}
