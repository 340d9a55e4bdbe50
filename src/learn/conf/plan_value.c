/* learn/conf/plan_value.c: a plan by its keys: for graph.json and descriptions. */
#include <string.h>

#include "learn/conf/conf_data.h"

static fw_value integer(int64_t value) {
  return (fw_value){.integer = value};
}

static fw_value real(double value) {
  return (fw_value){.real = value};
}

static fw_value text(const char *value) {
  return (fw_value){.text = value};
}

static fw_value of_data(const fw_data_conf *data, fw_key key) {
  switch (key) {
  case FW_KEY_DATA: return text(data->path);
  case FW_KEY_FORMAT: return text(data->format);
  case FW_KEY_RANGE: return integer(data->range);
  case FW_KEY_FIELDS: return integer(data->fields);
  case FW_KEY_VALID_RATIO: return real(data->valid_ratio);
  case FW_KEY_SAMPLE_RATIO: return real(data->sample_ratio);
  case FW_KEY_SHUFFLE: return integer(data->shuffle);
  case FW_KEY_POSNEG_RATIO: return real(data->posneg_ratio);
  case FW_KEY_LABEL: return text(fw_label_transform_name(data->label));
  case FW_KEY_THRESHOLD: return real(data->threshold);
  case FW_KEY_HAS_LABEL: return integer(data->has_label);
  default: return integer(data->index_base);
  }
}

static fw_value of_model(const fw_model_conf *model, fw_key key) {
  switch (key) {
  case FW_KEY_MODEL_TYPE: return text(furrow_matrix_row_type_get(model->row_type)->name);
  case FW_KEY_MODEL_SIZE: return integer(model->size);
  case FW_KEY_BLOCK_SIZE: return integer(model->block_size);
  case FW_KEY_LOAD: return text(model->load_path);
  default: return text(model->save_path);
  }
}

static fw_value of_train(const fw_train_conf *train, fw_key key) {
  switch (key) {
  case FW_KEY_EPOCHS: return integer(train->epochs);
  case FW_KEY_BATCH: return integer(train->batch);
  case FW_KEY_UPDATES: return integer(train->updates);
  case FW_KEY_LR: return real(train->lr);
  case FW_KEY_DECAY: return text(fw_decay_name(train->decay));
  case FW_KEY_DECAY_ALPHA: return real(train->decay_alpha);
  case FW_KEY_DECAY_BETA: return real(train->decay_beta);
  case FW_KEY_DECAY_INTERVALS: return integer(train->decay_intervals);
  case FW_KEY_DECAY_ON_BATCH: return integer(train->decay_on_batch);
  case FW_KEY_SEED: return integer((int64_t)train->seed);
  case FW_KEY_INIT_INPUT: return real(train->init_input);
  case FW_KEY_INIT_EMBEDDING: return real(train->init_embedding);
  default: return real(train->init_fc);
  }
}

static fw_value of_forest(const fw_plan *plan, fw_key key) {
  const fw_forest_conf *forest = &plan->forest;
  switch (key) {
  case FW_KEY_TREES: return integer(forest->rounds);
  case FW_KEY_LEVELS: return integer(forest->levels);
  case FW_KEY_SPLITS: return integer(forest->splits);
  case FW_KEY_FEATURE_RATIO: return real(forest->feature_ratio);
  case FW_KEY_ROW_RATIO: return real(forest->row_ratio);
  case FW_KEY_MIN_CHILD_WEIGHT: return real(forest->min_child_weight);
  case FW_KEY_MIN_GAIN: return real(forest->min_gain);
  case FW_KEY_REG_ALPHA: return real(forest->alpha);
  case FW_KEY_REG_LAMBDA: return real(forest->lambda);
  case FW_KEY_OBJECTIVE: return text(fw_objective_name(plan->graph.loss));
  case FW_KEY_CLASSES: return integer((int64_t)(plan->graph.outputs > 1 ? plan->graph.outputs : 2));
  case FW_KEY_CATEGORIES: return text(forest->category_text);
  default: return integer(forest->node_stats);
  }
}

fw_value fw_plan_value(const fw_plan *plan, fw_key key) {
  const char *path = fw_key_facts(key)->json_path;
  if (strncmp(path, "data/", 5) == 0) return of_data(&plan->data, key);
  if (strncmp(path, "model/", 6) == 0) return of_model(&plan->model, key);
  if (strncmp(path, "gbdt/", 5) == 0) return of_forest(plan, key);
  return of_train(&plan->train, key);
}

bool fw_plan_differs(const fw_plan *plan, fw_key key) {
  const char *fallback = fw_key_facts(key)->fallback;
  const fw_value now = fw_plan_value(plan, key);
  fw_value usual = {0};
  if (fallback[0] && fw_key_parse(key, fallback, strlen(fallback), &usual, NULL) != FURROW_OK) return true;
  if (now.text) return strcmp(now.text, usual.text ? usual.text : fallback) != 0;
  return now.integer != usual.integer || now.real != usual.real;
}
