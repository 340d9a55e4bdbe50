/* learn/nodes/xgboost_import.c: models of xgboost 1.0 to 3.x as JSON (docs/formats/forest_nodes.md says what becomes of
 * each member).
 *
 * Members come in any order, so all of them are gathered before the forest is made. Parameters are texts; base_score is
 * one number, or a list of numbers in a text, as the objective predicts, not as the score. Leaves have their value in
 * split_conditions. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "learn/nodes/forest_import.h"

enum { CATEGORY_MOST = 1 << 24 }; /* xgboost's: larger numbers are not categories */

typedef enum base_rule { BASE_AS_IS, BASE_LOGIT, BASE_LOG } base_rule;

/* X(theirs, ours, link, how base_score becomes a score) */
#define OBJECTIVES(X)                                        \
  X("reg:squarederror", "reg:squarederror", NONE, AS_IS)     \
  X("reg:linear", "reg:squarederror", NONE, AS_IS)           \
  X("reg:squaredlogerror", "reg:squarederror", NONE, AS_IS)  \
  X("reg:pseudohubererror", "reg:squarederror", NONE, AS_IS) \
  X("reg:expectileerror", "reg:squarederror", NONE, AS_IS)   \
  X("reg:absoluteerror", "reg:absoluteerror", NONE, AS_IS)   \
  X("reg:quantileerror", "reg:quantileerror", NONE, AS_IS)   \
  X("reg:logistic", "reg:squarederror", LOGISTIC, LOGIT)     \
  X("binary:logistic", "binary:logistic", NONE, LOGIT)       \
  X("binary:logitraw", "binary:logistic", NONE, AS_IS)       \
  X("binary:hinge", "binary:logistic", HINGE, AS_IS)         \
  X("count:poisson", "count:poisson", NONE, LOG)             \
  X("reg:gamma", "reg:squarederror", EXP, LOG)               \
  X("reg:tweedie", "reg:squarederror", EXP, LOG)             \
  X("survival:cox", "reg:squarederror", EXP, LOG)            \
  X("survival:aft", "reg:squarederror", EXP, LOG)            \
  X("multi:softmax", "multi:softmax", NONE, AS_IS)           \
  X("multi:softprob", "multi:softmax", NONE, AS_IS)          \
  X("rank:pairwise", "rank:ndcg", NONE, AS_IS)               \
  X("rank:ndcg", "rank:ndcg", NONE, AS_IS)                   \
  X("rank:map", "rank:ndcg", NONE, AS_IS)

typedef struct objective_rule {
  const char *theirs, *ours;
  fw_link link;
  base_rule base;
} objective_rule;

static const objective_rule objectives[] = {
#define FURROW_X(theirs, ours, link, base) {theirs, ours, FW_LINK_##link, BASE_##base},
    OBJECTIVES(FURROW_X)
#undef FURROW_X
};

/* A list of whole numbers, or of floats. */
typedef struct whole_list {
  int64_t *at;
  size_t count, capacity;
} whole_list;
typedef struct float_list {
  float *at;
  size_t count, capacity;
} float_list;

/* The arrays of a tree; reused for the next one. */
typedef struct tree_arrays {
  whole_list left, right, feature, default_left, split_type;
  whole_list categories, category_nodes, segments, sizes;
  float_list value, gain, cover;
  fw_split_node *nodes;
  size_t node_capacity;
  uint32_t *words;
  size_t word_capacity;
} tree_arrays;

typedef struct learner {
  furrow_json json;
  furrow_error *err;
  fw_imported *out;
  tree_arrays tree;
  float_list base, weight_drop, quantile;
  whole_list tree_info, rounds_begin;
  double classes, targets, features, parallel_trees, leaf_vector, best; /* NaN: not named */
  char booster[32];
  char **names;
  size_t name_count, name_capacity;
  bool named_categories;
  whole_list version;
} learner;

/* ---- Values ---- */

static furrow_status read_wholes(learner *l, whole_list *list, furrow_error *err) {
  list->count = 0;
  furrow_status status = furrow_json_array(&l->json, err);
  while (status == FURROW_OK && (status = furrow_json_element(&l->json, err)) == FURROW_OK) {
    bool yes = false;
    status = FW_GROW(&list->at, &list->capacity, list->count + 1, err);
    if (status != FURROW_OK) break;
    if (furrow_json_peek(&l->json) == FURROW_JSON_BOOL) {
      status = furrow_json_bool(&l->json, &yes, err);
      list->at[list->count++] = yes;
    } else {
      status = furrow_json_i64(&l->json, &list->at[list->count++], err);
    }
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* A number that is not a float: null stands for NaN, and large numbers are infinite. */
static furrow_status read_odd_float(learner *l, float *number, furrow_error *err) {
  double wide = NAN;
  if (furrow_json_peek(&l->json) == FURROW_JSON_NULL) {
    *number = NAN;
    return furrow_json_null(&l->json, err);
  }
  FW_TRY(furrow_json_f64(&l->json, &wide, err));
  *number = (float)wide;
  return FURROW_OK;
}

static furrow_status read_floats(learner *l, float_list *list, furrow_error *err) {
  list->count = 0;
  furrow_status status = furrow_json_array(&l->json, err);
  while (status == FURROW_OK) {
    status = FW_GROW(&list->at, &list->capacity, list->count + 64, err);
    if (status != FURROW_OK) break;
    const size_t left = list->capacity - list->count;
    const size_t got = furrow_json_f32_elements(&l->json, list->at + list->count, left);
    list->count += got;
    if (got == left) continue;
    status = furrow_json_element(&l->json, err);
    if (status == FURROW_OK) status = read_odd_float(l, &list->at[list->count++], err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* A number, or a text that is one. */
static furrow_status read_parameter(learner *l, double *number, furrow_error *err) {
  furrow_json_text text;
  double value = 0;
  if (furrow_json_peek(&l->json) == FURROW_JSON_NUMBER) return furrow_json_f64(&l->json, number, err);
  FW_TRY(furrow_json_string(&l->json, &text, err));
  const char *const end = text.bytes + text.size;
  if (fw_read_f64(text.bytes, end, &value) != end || !isfinite(value))
    return furrow_json_fail(&l->json, furrow_json_offset(&l->json), NULL, err, "is not a number");
  *number = value;
  return FURROW_OK;
}

/* Of classes, targets and the like, where 0 stands for one. */
static furrow_status read_count(learner *l, double *number, furrow_error *err) {
  double count = 0;
  FW_TRY(read_parameter(l, &count, err));
  if (count < 0 || count != floor(count))
    return furrow_json_fail(&l->json, furrow_json_offset(&l->json), NULL, err, "is %g, which is not a count", count);
  *number = count;
  return FURROW_OK;
}

/* Numbers in a text, with or without brackets: "5E-1", "[1E0,2E0]"; or a list or a number. */
static furrow_status read_numbers_text(learner *l, float_list *list, furrow_error *err) {
  furrow_json_text text;
  if (furrow_json_peek(&l->json) == FURROW_JSON_ARRAY) return read_floats(l, list, err);
  list->count = 0;
  if (furrow_json_peek(&l->json) == FURROW_JSON_NUMBER) {
    FW_TRY(FW_GROW(&list->at, &list->capacity, 1, err));
    return read_odd_float(l, &list->at[list->count++], err);
  }
  FW_TRY(furrow_json_string(&l->json, &text, err));
  for (const char *at = text.bytes, *end = at + text.size; at < end;) {
    if (*at == '[' || *at == ']' || *at == '(' || *at == ')' || *at == ',' || *at == ' ') {
      at++;
      continue;
    }
    FW_TRY(FW_GROW(&list->at, &list->capacity, list->count + 1, err));
    const char *next = fw_read_f32(at, end, &list->at[list->count++]);
    if (!next) return furrow_json_fail(&l->json, furrow_json_offset(&l->json), NULL, err, "is not a list of numbers");
    at = next;
  }
  return FURROW_OK;
}

static furrow_status copy_text(learner *l, char *to, size_t size, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(furrow_json_string(&l->json, &text, err));
  snprintf(to, size, "%.*s", (int)(text.size < size ? text.size : size - 1), text.bytes);
  return FURROW_OK;
}

/* Reads the members of an object: `take` reads the value of those that it knows and skips others. */
typedef furrow_status (*take_member)(learner *l, furrow_json_text key, furrow_error *err);

static furrow_status read_object(learner *l, take_member take, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(&l->json, err);
  while (status == FURROW_OK && (status = furrow_json_member(&l->json, &key, err)) == FURROW_OK)
    status = take(l, key, err);
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Trees ---- */

static furrow_status take_tree_param(learner *l, furrow_json_text key, furrow_error *err) {
  if (!furrow_json_is(key, "size_leaf_vector")) return furrow_json_skip(&l->json, NULL, err);
  return read_count(l, &l->leaf_vector, err);
}

static furrow_status take_tree_member(learner *l, furrow_json_text key, furrow_error *err) {
  tree_arrays *t = &l->tree;
  const struct {
    const char *name;
    whole_list *wholes;
    float_list *floats;
  } members[] = {{"left_children", &t->left, NULL},
                 {"right_children", &t->right, NULL},
                 {"split_indices", &t->feature, NULL},
                 {"default_left", &t->default_left, NULL},
                 {"split_type", &t->split_type, NULL},
                 {"categories", &t->categories, NULL},
                 {"categories_nodes", &t->category_nodes, NULL},
                 {"categories_segments", &t->segments, NULL},
                 {"categories_sizes", &t->sizes, NULL},
                 {"split_conditions", NULL, &t->value},
                 {"loss_changes", NULL, &t->gain},
                 {"sum_hessian", NULL, &t->cover}};
  if (furrow_json_is(key, "tree_param")) return read_object(l, take_tree_param, err);
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (furrow_json_is(key, members[i].name))
      return members[i].wholes ? read_wholes(l, members[i].wholes, err) : read_floats(l, members[i].floats, err);
  return furrow_json_skip(&l->json, NULL, err);
}

static void clear_tree(tree_arrays *t) {
  whole_list *const wholes[] = {&t->left,       &t->right,          &t->feature,  &t->default_left, &t->split_type,
                                &t->categories, &t->category_nodes, &t->segments, &t->sizes};
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) wholes[i]->count = 0;
  t->value.count = t->gain.count = t->cover.count = 0;
}

static furrow_status fail_tree(const learner *l, const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_FORMAT, "tree %zu: %s", l->out->forest->trees, what);
}

/* Appends the set of the i-th node with categories. */
static furrow_status add_set(learner *l, size_t i, furrow_error *err) {
  tree_arrays *t = &l->tree;
  int64_t most = 0;
  if (t->segments.at[i] < 0 || t->sizes.at[i] < 0 || (uint64_t)t->segments.at[i] > t->categories.count ||
      (uint64_t)t->sizes.at[i] > t->categories.count - (uint64_t)t->segments.at[i])
    return fail_tree(l, "categories_segments and categories_sizes do not fit categories", err);
  const int64_t *members = t->categories.at + t->segments.at[i];
  for (int64_t k = 0; k < t->sizes.at[i]; k++) {
    if (members[k] < 0 || members[k] >= CATEGORY_MOST) return fail_tree(l, "a category is out of range", err);
    if (members[k] > most) most = members[k];
  }
  const size_t words = (size_t)most / 32 + 1;
  FW_TRY(FW_GROW(&t->words, &t->word_capacity, words, err));
  memset(t->words, 0, words * sizeof *t->words);
  for (int64_t k = 0; k < t->sizes.at[i]; k++) t->words[members[k] / 32] |= UINT32_C(1) << members[k] % 32;
  return fw_node_forest_add_set(l->out->forest, t->words, words, err);
}

/* Members of a set go to the right. */
static furrow_status take_sets(learner *l, furrow_error *err) {
  const tree_arrays *t = &l->tree;
  const size_t count = t->category_nodes.count;
  if (t->segments.count != count || t->sizes.count != count)
    return fail_tree(l, "the lists of categories do not have one length", err);
  for (size_t i = 0; i < count; i++) {
    const int64_t at = t->category_nodes.at[i];
    if (at < 0 || (uint64_t)at >= t->left.count) return fail_tree(l, "categories_nodes names no node", err);
    if (t->left.at[at] < 0) continue;
    FW_TRY(add_set(l, i, err));
    fw_split_node *node = &t->nodes[at];
    node->flags |= FW_NODE_SET;
    node->value = (double)(l->out->forest->sets - 1);
  }
  for (size_t i = 0; i < t->split_type.count && i < t->left.count; i++)
    if (t->split_type.at[i] == 1 && t->left.at[i] >= 0 && !(t->nodes[i].flags & FW_NODE_SET))
      return fail_tree(l, "a split by categories has none", err);
  return FURROW_OK;
}

static furrow_status check_lengths(const learner *l, furrow_error *err) {
  const tree_arrays *t = &l->tree;
  const size_t count = t->left.count;
  if (count == 0) return fail_tree(l, "left_children is empty or missing", err);
  if (t->right.count != count || t->feature.count != count || t->default_left.count != count || t->value.count != count)
    return fail_tree(l,
                     "right_children, split_indices, default_left and split_conditions do not have the length of "
                     "left_children",
                     err);
  if ((t->split_type.count > 0 && t->split_type.count != count) || (t->gain.count > 0 && t->gain.count != count) ||
      (t->cover.count > 0 && t->cover.count != count))
    return fail_tree(l, "split_type, loss_changes or sum_hessian does not have the length of left_children", err);
  return FURROW_OK;
}

/* Adds the tree whose arrays have been read. Its class and weight are known only later. */
static furrow_status add_tree(learner *l, furrow_error *err) {
  tree_arrays *t = &l->tree;
  const size_t count = t->left.count;
  if (l->leaf_vector > 1)
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "leaves that are vectors (multi_strategy multi_output_tree) are not read");
  FW_TRY(check_lengths(l, err));
  FW_TRY(FW_GROW(&t->nodes, &t->node_capacity, count, err));
  const bool stats = t->gain.count > 0 && t->cover.count > 0;
  l->out->forest->stats &= stats;
  for (size_t i = 0; i < count; i++) {
    const bool leaf = t->left.at[i] < 0;
    const int64_t feature = t->feature.at[i];
    if (!leaf && (feature < 0 || feature > INT32_MAX)) return fail_tree(l, "a feature is out of range", err);
    t->nodes[i] = (fw_split_node){.value = (double)t->value.at[i],
                                  .cover = stats ? (double)t->cover.at[i] : 0,
                                  .gain = stats && !leaf ? t->gain.at[i] : 0,
                                  .feature = leaf ? -1 : (int32_t)feature,
                                  .flags = t->default_left.at[i] ? FW_NODE_DEFAULT_LEFT : 0};
  }
  FW_TRY(take_sets(l, err));
  const fw_loose_tree tree = {count, t->left.at, t->right.at, t->nodes};
  return fw_node_forest_add(l->out->forest, &tree, 0, err);
}

static furrow_status read_trees(learner *l, furrow_error *err) {
  furrow_status status = furrow_json_array(&l->json, err);
  while (status == FURROW_OK && (status = furrow_json_element(&l->json, err)) == FURROW_OK) {
    clear_tree(&l->tree);
    status = read_object(l, take_tree_member, err);
    if (status == FURROW_OK) status = add_tree(l, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- The booster ---- */

static furrow_status take_booster_param(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "num_parallel_tree")) return read_count(l, &l->parallel_trees, err);
  if (furrow_json_is(key, "size_leaf_vector")) return read_count(l, &l->leaf_vector, err);
  return furrow_json_skip(&l->json, NULL, err);
}

/* Since 3.1: the names that categories had in a data frame. A code without them means something else. */
static furrow_status take_category_member(learner *l, furrow_json_text key, furrow_error *err) {
  if (!furrow_json_is(key, "values")) return furrow_json_skip(&l->json, NULL, err);
  furrow_json_text raw;
  FW_TRY(furrow_json_skip(&l->json, &raw, err));
  for (size_t i = 1; i + 1 < raw.size; i++) l->named_categories |= raw.bytes[i] != ' ' && raw.bytes[i] != '\n';
  return FURROW_OK;
}

static furrow_status take_categories(learner *l, furrow_json_text key, furrow_error *err) {
  if (!furrow_json_is(key, "enc")) return furrow_json_skip(&l->json, NULL, err);
  furrow_status status = furrow_json_array(&l->json, err);
  while (status == FURROW_OK && (status = furrow_json_element(&l->json, err)) == FURROW_OK)
    status = read_object(l, take_category_member, err);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status take_model_member(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "gbtree_model_param")) return read_object(l, take_booster_param, err);
  if (furrow_json_is(key, "tree_info")) return read_wholes(l, &l->tree_info, err);
  if (furrow_json_is(key, "iteration_indptr")) return read_wholes(l, &l->rounds_begin, err);
  if (furrow_json_is(key, "weight_drop")) return read_floats(l, &l->weight_drop, err);
  if (furrow_json_is(key, "cats")) return read_object(l, take_categories, err);
  if (!furrow_json_is(key, "trees")) return furrow_json_skip(&l->json, NULL, err);
  if (l->out->forest->trees > 0) return fw_fail(err, FURROW_E_FORMAT, "the model has two lists of trees");
  return read_trees(l, err);
}

/* dart has a booster of trees in itself; newer versions keep its weights with the trees. gblinear has no trees. */
static furrow_status take_booster_member(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "gbtree")) return read_object(l, take_booster_member, err);
  if (furrow_json_is(key, "weight_drop")) return read_floats(l, &l->weight_drop, err);
  if (furrow_json_is(key, "name")) {
    char name[sizeof l->booster];
    FW_TRY(copy_text(l, name, sizeof name, err));
    if (strcmp(name, "gbtree") == 0 || strcmp(name, "dart") == 0) return FURROW_OK;
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the booster %s does not have trees", name);
  }
  if (!furrow_json_is(key, "model")) return furrow_json_skip(&l->json, NULL, err);
  if (furrow_json_peek(&l->json) != FURROW_JSON_OBJECT) return furrow_json_skip(&l->json, NULL, err);
  return read_object(l, take_model_member, err);
}

/* ---- The learner ---- */

static furrow_status take_param(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "base_score")) return read_numbers_text(l, &l->base, err);
  if (furrow_json_is(key, "num_class")) return read_count(l, &l->classes, err);
  if (furrow_json_is(key, "num_target")) return read_count(l, &l->targets, err);
  if (furrow_json_is(key, "num_feature")) return read_parameter(l, &l->features, err);
  return furrow_json_skip(&l->json, NULL, err);
}

static furrow_status take_quantile(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "quantile_alpha")) return read_numbers_text(l, &l->quantile, err);
  return furrow_json_skip(&l->json, NULL, err);
}

static furrow_status take_objective(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "name")) return copy_text(l, l->out->their_objective, sizeof l->out->their_objective, err);
  if (furrow_json_is(key, "quantile_loss_param")) return read_object(l, take_quantile, err);
  return furrow_json_skip(&l->json, NULL, err);
}

static furrow_status take_attribute(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "best_iteration")) return read_parameter(l, &l->best, err);
  return furrow_json_skip(&l->json, NULL, err);
}

static furrow_status read_names(learner *l, furrow_error *err) {
  furrow_json_text name;
  furrow_status status = furrow_json_array(&l->json, err);
  while (status == FURROW_OK && (status = furrow_json_element(&l->json, err)) == FURROW_OK) {
    status = furrow_json_string(&l->json, &name, err);
    if (status == FURROW_OK && memchr(name.bytes, 0, name.size))
      status = furrow_json_fail(&l->json, furrow_json_offset(&l->json), NULL, err, "has a byte 0 in it");
    if (status == FURROW_OK) status = FW_GROW(&l->names, &l->name_capacity, l->name_count + 1, err);
    if (status == FURROW_OK) status = fw_strndup(&l->names[l->name_count], name.bytes, name.size, err);
    if (status == FURROW_OK) l->name_count++;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status take_learner_member(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "attributes")) return read_object(l, take_attribute, err);
  if (furrow_json_is(key, "gradient_booster")) return read_object(l, take_booster_member, err);
  if (furrow_json_is(key, "learner_model_param")) return read_object(l, take_param, err);
  if (furrow_json_is(key, "objective")) return read_object(l, take_objective, err);
  if (!furrow_json_is(key, "feature_names") || l->name_count > 0) return furrow_json_skip(&l->json, NULL, err);
  return read_names(l, err);
}

static furrow_status take_top_member(learner *l, furrow_json_text key, furrow_error *err) {
  if (furrow_json_is(key, "learner")) return read_object(l, take_learner_member, err);
  if (furrow_json_is(key, "version")) return read_wholes(l, &l->version, err);
  return furrow_json_skip(&l->json, NULL, err);
}

/* ---- The forest from what was gathered ---- */

static const objective_rule *find_objective(const char *name) {
  for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++)
    if (strcmp(objectives[i].theirs, name) == 0) return &objectives[i];
  return NULL;
}

static furrow_status settle_objective(learner *l, const objective_rule **found, furrow_error *err) {
  fw_imported *out = l->out;
  const objective_rule *rule = find_objective(out->their_objective);
  if (!out->their_objective[0]) return fw_fail(err, FURROW_E_FORMAT, "the model names no objective");
  if (!rule) return fw_fail(err, FURROW_E_UNSUPPORTED, "the objective %s is not read", out->their_objective);
  if (l->targets > 1)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the model predicts %g numbers for a row; one is read", l->targets);
  out->objective = rule->ours;
  out->forest->link = rule->link;
  if (strcmp(rule->ours, "reg:quantileerror") == 0) {
    if (l->quantile.count != 1)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "the model has %zu quantiles; one is read", l->quantile.count);
    out->quantile = (double)l->quantile.at[0];
  }
  *found = rule;
  return FURROW_OK;
}

/* base_score is what the objective predicts without trees; computed in floats, as in xgboost. Before 1.4 it was a
 * probability for binary:logitraw, too; since 3.2 probabilities are kept 1e-6 away from 0 and 1. */
static float score_of_base(base_rule rule, float base) {
  switch (rule) {
  case BASE_LOGIT: return -logf(1.0F / base - 1.0F);
  case BASE_LOG: return logf(base);
  default: return base;
  }
}

/* 107 for 1.7; also if the file does not say it. */
static int64_t version_of(const learner *l) {
  const int64_t *at = l->version.at;
  const bool known = l->version.count == 3 && at[0] >= 0 && at[0] < 100 && at[1] >= 0 && at[1] < 100;
  return known ? at[0] * 100 + at[1] : 107;
}

static furrow_status settle_base(learner *l, const objective_rule *rule, furrow_error *err) {
  fw_node_forest *forest = l->out->forest;
  if (l->base.count == 0) return fw_fail(err, FURROW_E_FORMAT, "the model names no base_score");
  if (l->base.count != 1 && l->base.count != forest->classes)
    return fw_fail(err, FURROW_E_FORMAT, "base_score has %zu numbers, but there are %zu classes", l->base.count,
                   forest->classes);
  const bool early = version_of(l) < 104, late = version_of(l) >= 302;
  const base_rule used = early && strcmp(rule->theirs, "binary:logitraw") == 0 ? BASE_LOGIT : rule->base;
  for (size_t c = 0; c < forest->classes; c++) {
    const float base = l->base.at[l->base.count > 1 ? c : 0];
    const bool limited = late && used == BASE_LOGIT && base >= 0 && base <= 1;
    forest->base[c] = (double)score_of_base(used, limited ? fminf(fmaxf(base, 1e-6F), 1.0F - 1e-6F) : base);
  }
  return FURROW_OK;
}

/* Trees of a round: round i ends before tree rounds_begin[i + 1], or all rounds have as many. */
static furrow_status settle_rounds(learner *l, bool all, furrow_error *err) {
  fw_imported *out = l->out;
  fw_node_forest *forest = out->forest;
  const double parallel = isnan(l->parallel_trees) || l->parallel_trees < 1 ? 1 : l->parallel_trees;
  const double each = parallel * (double)forest->classes;
  const bool listed = l->rounds_begin.count > 1;
  out->rounds_there = listed ? l->rounds_begin.count - 1 : (size_t)ceil((double)forest->trees / each);
  out->rounds = out->rounds_there;
  if (isnan(l->best) || all) return FURROW_OK;
  if (l->best < 0 || l->best >= (double)out->rounds_there)
    return fw_fail(err, FURROW_E_FORMAT, "best_iteration is %g, but there are %zu rounds", l->best, out->rounds_there);
  out->rounds = (size_t)l->best + 1;
  const double end = listed ? (double)l->rounds_begin.at[out->rounds] : (double)out->rounds * each;
  if (!(end >= 0 && end <= (double)forest->trees))
    return fw_fail(err, FURROW_E_FORMAT, "the rounds end at tree %g of %zu", end, forest->trees);
  forest->trees = (size_t)end;
  forest->nodes = (size_t)forest->begin[forest->trees];
  return FURROW_OK;
}

static furrow_status settle_trees(learner *l, furrow_error *err) {
  fw_node_forest *forest = l->out->forest;
  const bool weighted = l->weight_drop.count > 0;
  if (l->tree_info.count != forest->trees)
    return fw_fail(err, FURROW_E_FORMAT, "tree_info has %zu numbers for %zu trees", l->tree_info.count, forest->trees);
  if (weighted && l->weight_drop.count != forest->trees)
    return fw_fail(err, FURROW_E_FORMAT, "weight_drop has %zu numbers for %zu trees", l->weight_drop.count,
                   forest->trees);
  for (size_t t = 0; t < forest->trees; t++) {
    const int64_t of = l->tree_info.at[t];
    if (of < 0 || (uint64_t)of >= forest->classes)
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu is of class %" PRId64 " of %zu", t, of, forest->classes);
    forest->class_of[t] = (uint32_t)of;
    for (uint64_t i = forest->begin[t]; weighted && i < forest->begin[t + 1]; i++)
      if (forest->node[i].feature < 0) {
        const float leaf = (float)forest->node[i].value * l->weight_drop.at[t];
        forest->node[i].value = (double)leaf;
      }
  }
  return FURROW_OK;
}

/* The number of classes is not known while trees are read, so that the forest began with one. */
static furrow_status settle_classes(learner *l, furrow_error *err) {
  fw_node_forest *forest = l->out->forest;
  const double classes = isnan(l->classes) || l->classes < 1 ? 1 : l->classes;
  const bool many = l->out->objective && strcmp(l->out->objective, "multi:softmax") == 0;
  if (classes > FW_NODE_CLASSES_MOST || classes != floor(classes) || (many ? classes < 2 : classes > 1))
    return fw_fail(err, FURROW_E_FORMAT, "num_class is %g with the objective %s", classes, l->out->their_objective);
  if ((double)forest->trees < classes && many)
    return fw_fail(err, FURROW_E_FORMAT, "there are %zu trees for %g classes", forest->trees, classes);
  fw_free(forest->base);
  forest->base = NULL;
  forest->classes = (size_t)classes;
  return FW_ALLOC_ZERO(&forest->base, forest->classes, err);
}

static furrow_status settle_features(learner *l, furrow_error *err) {
  fw_imported *out = l->out;
  if (isnan(l->features) || l->features < 0 || l->features > INT32_MAX || l->features != floor(l->features))
    return fw_fail(err, FURROW_E_FORMAT, "num_feature is missing or out of range");
  out->forest->features = (size_t)l->features;
  if (l->name_count > 0 && l->name_count != out->forest->features)
    return fw_fail(err, FURROW_E_FORMAT, "there are %zu feature_names for %zu features", l->name_count,
                   out->forest->features);
  if (l->named_categories) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "the categories of the model have names, which a table has in place of codes");
    fw_error_set_hint(err, "train on a frame whose categories are the codes themselves");
    return FURROW_E_UNSUPPORTED;
  }
  out->names = l->names;
  const bool named = l->name_count > 0;
  l->names = NULL;
  return named ? FURROW_OK : fw_import_name_features(out, err);
}

static furrow_status settle(learner *l, const fw_import_rules *rules, furrow_error *err) {
  fw_imported *out = l->out;
  const objective_rule *objective = NULL;
  if (out->forest->trees == 0) return fw_fail(err, FURROW_E_FORMAT, "the model has no trees");
  FW_TRY(settle_objective(l, &objective, err));
  FW_TRY(settle_classes(l, err));
  FW_TRY(settle_base(l, objective, err));
  FW_TRY(settle_trees(l, err));
  FW_TRY(settle_rounds(l, rules->all_rounds, err));
  FW_TRY(settle_features(l, err));
  snprintf(out->from, sizeof out->from, "xgboost");
  if (l->version.count == 3)
    snprintf(out->from, sizeof out->from, "xgboost %" PRId64 ".%" PRId64 ".%" PRId64, l->version.at[0],
             l->version.at[1], l->version.at[2]);
  return fw_node_forest_check(out->forest, err);
}

static void clear_learner(learner *l) {
  tree_arrays *t = &l->tree;
  void *const memory[] = {t->left.at,       t->right.at,      t->feature.at,        t->default_left.at,
                          t->split_type.at, t->categories.at, t->category_nodes.at, t->segments.at,
                          t->sizes.at,      t->value.at,      t->gain.at,           t->cover.at,
                          t->nodes,         t->words,         l->base.at,           l->weight_drop.at,
                          l->quantile.at,   l->tree_info.at,  l->rounds_begin.at,   l->version.at};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) fw_free(memory[i]);
  for (size_t i = 0; l->names && i < l->name_count; i++) fw_free(l->names[i]);
  fw_free((void *)l->names);
  fw_json_close(&l->json);
  fw_free(l);
}

furrow_status fw_xgboost_read(fw_imported *imported, const char *text, size_t size, const fw_import_rules *rules,
                              furrow_error *err) {
  learner *l = NULL;
  FW_TRY(FW_ALLOC_ZERO(&l, 1, err));
  l->out = imported;
  l->classes = l->targets = l->features = l->parallel_trees = l->leaf_vector = l->best = NAN;
  fw_json_open(&l->json, text, size, rules->file);
  furrow_status status = fw_node_forest_create(&imported->forest, 1, err);
  if (status == FURROW_OK) {
    imported->forest->less = imported->forest->single = imported->forest->stats = true;
    status = read_object(l, take_top_member, err);
  }
  if (status == FURROW_OK) status = furrow_json_end(&l->json, err);
  if (status == FURROW_OK) status = settle(l, rules, err);
  clear_learner(l);
  return status;
}
