/* learn/conf/conf_forest.c: what a configuration says of boosted trees. */
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "learn/conf/conf_data.h"

/* Keys of graphs that trees have, too. */
static uint64_t used_keys(void) {
  uint64_t used = (uint64_t)1 << (FW_KEY_CLASSES - FW_KEY_LOSS);
  for (unsigned key = FW_KEY_TREES; key <= FW_KEY_TRUNCATION; key++) used |= (uint64_t)1 << (key - FW_KEY_LOSS);
  return used;
}

static furrow_status take_categories(fw_forest_conf *forest, fw_arena *arena, const char *text, furrow_error *err) {
  furrow_status status = fw_arena_text(arena, &forest->category_text, text, strlen(text), err);
  if (status != FURROW_OK || strcmp(text, "none") == 0) return status;
  forest->all_categories = strcmp(text, "all") == 0;
  if (forest->all_categories) return FURROW_OK;
  size_t count = 1;
  for (const char *at = text; (at = strchr(at, ',')); at++) count++;
  void *taken = NULL;
  status = fw_arena_take(arena, &taken, count, sizeof(uint64_t), err);
  if (status != FURROW_OK) return status;
  uint64_t *features = taken;
  for (size_t i = 0; text; i++) text = fw_next_category(text, &features[i]);
  fw_sort_u64(features, count);
  forest->categories = features;
  forest->category_count = count;
  return FURROW_OK;
}

static double real_of(const furrow_learn_conf *conf, fw_key key) {
  return fw_conf_value(conf, key).real;
}

static fw_forest_conf numbers_of(const furrow_learn_conf *conf) {
  const bool by_levels = fw_conf_is_set(conf, FW_KEY_LEVELS) && !fw_conf_is_set(conf, FW_KEY_DEPTH);
  const int64_t depth = by_levels ? 0 : fw_conf_value(conf, FW_KEY_DEPTH).integer;
  const int64_t levels = fw_conf_value(conf, FW_KEY_LEVELS).integer;
  return (fw_forest_conf){.used = true,
                          .rounds = (uint32_t)fw_conf_value(conf, FW_KEY_TREES).integer,
                          .levels = (unsigned)(depth > 0 ? depth + 1 : levels),
                          .splits = (uint32_t)fw_conf_value(conf, FW_KEY_SPLITS).integer,
                          .row_ratio = real_of(conf, FW_KEY_ROW_RATIO),
                          .feature_ratio = real_of(conf, FW_KEY_FEATURE_RATIO),
                          .min_child_weight = real_of(conf, FW_KEY_MIN_CHILD_WEIGHT),
                          .min_gain = real_of(conf, FW_KEY_MIN_GAIN),
                          .alpha = real_of(conf, FW_KEY_REG_ALPHA),
                          .lambda = real_of(conf, FW_KEY_REG_LAMBDA),
                          .node_stats = fw_conf_value(conf, FW_KEY_NODE_STATS).integer != 0,
                          .leaves = (uint32_t)fw_conf_value(conf, FW_KEY_LEAVES).integer,
                          .min_rows = (uint32_t)fw_conf_value(conf, FW_KEY_MIN_ROWS).integer,
                          .from_average = fw_conf_value(conf, FW_KEY_FROM_AVERAGE).integer != 0,
                          .truncation = (uint32_t)fw_conf_value(conf, FW_KEY_TRUNCATION).integer};
}

/* Keys of epochs and optimizers say nothing of trees: who sets one expects something else. */
static furrow_status check_keys(const furrow_learn_conf *conf, furrow_error *err) {
  for (unsigned key = FW_KEY_EPOCHS; key < FW_KEY_LOSS; key++)
    if (key != FW_KEY_LR && key != FW_KEY_SEED && fw_conf_has_key(conf, (fw_key)key))
      return fw_fail(err, FURROW_E_ARGUMENT, "%s is not for gbdt%s", fw_key_facts((fw_key)key)->name,
                     key == FW_KEY_EPOCHS ? ": its rounds are trees" : "");
  return fw_graph_keys_unused(conf, used_keys(), "gbdt", err);
}

static furrow_status check_classes(const fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  if (plan->graph.loss == FW_LOSS_SOFTMAX || !fw_conf_is_set(conf, FW_KEY_CLASSES) ||
      fw_conf_value(conf, FW_KEY_CLASSES).integer == 2)
    return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "classes is for the objective multi:softmax, not for %s",
                 fw_objective_name(plan->graph.loss));
}

static furrow_status check_truncation(const fw_plan *plan, const furrow_learn_conf *conf, furrow_error *err) {
  if (plan->graph.loss == FW_LOSS_LAMBDA || !fw_conf_has_key(conf, FW_KEY_TRUNCATION)) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "truncation is for the objective rank:ndcg, not for %s",
                 fw_objective_name(plan->graph.loss));
}

static furrow_status check_rate(const fw_plan *plan, furrow_error *err) {
  return plan->train.lr > 0 ? FURROW_OK
                            : fw_fail(err, FURROW_E_ARGUMENT, "the learning rate of gbdt must be more than 0");
}

static furrow_status check_leaves(const fw_plan *plan, furrow_error *err) {
  return plan->forest.leaves != 1 ? FURROW_OK
                                  : fw_fail(err, FURROW_E_ARGUMENT, "leaves must be 2 at least, or 0 for no limit");
}

furrow_status fw_forest_resolve(fw_plan *plan, fw_arena *arena, const furrow_learn_conf *conf, furrow_error *err) {
#define FURROW_X(name, text, loss) FW_LOSS_##loss,
  static const fw_loss_type losses[] = {FW_OBJECTIVES(FURROW_X)};
#undef FURROW_X
  plan->forest = numbers_of(conf);
  plan->data.trees = true;
  plan->graph.loss = losses[fw_conf_value(conf, FW_KEY_OBJECTIVE).integer];
  const bool many = plan->graph.loss == FW_LOSS_SOFTMAX;
  const int64_t classes = fw_conf_value(conf, FW_KEY_CLASSES).integer;
  plan->graph.outputs = !many ? 1 : classes > 0 ? (size_t)classes : 2; /* as long as the data has not been seen */
  plan->train.epochs = plan->forest.rounds;
  plan->train.decay = FW_DECAY_CONSTANT;
  furrow_status status = check_rate(plan, err);
  if (status == FURROW_OK) status = check_keys(conf, err);
  if (status == FURROW_OK) status = check_classes(plan, conf, err);
  if (status == FURROW_OK) status = check_truncation(plan, conf, err);
  if (status == FURROW_OK) status = check_leaves(plan, err);
  if (status == FURROW_OK)
    status = take_categories(&plan->forest, arena, fw_conf_value(conf, FW_KEY_CATEGORIES).text, err);
  return status;
}
