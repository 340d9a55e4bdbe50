/* learn/conf/recommended.c: Furrow's own defaults, by algorithm. docs/design/defaults.md has what was measured. */
#include <string.h>

#include "learn/conf/conf_data.h"

typedef struct recommendation {
  fw_key key;
  const char *text; /* "auto": by the data, when training begins */
} recommendation;

/* Whatever is trained. */
static const recommendation of_all[] = {
    {FW_KEY_FORMAT, "auto"}, {FW_KEY_INDEX_BASE, "auto"}, {FW_KEY_VALID_RATIO, "0"}, {FW_KEY_CLASSES, "auto"}};

/* All graphs of layers: rate and strength are those of optimizers, batch by batch. */
static const recommendation of_graphs[] = {
    {FW_KEY_SHUFFLE, "yes"}, {FW_KEY_SCALE, "auto"},     {FW_KEY_EPOCHS, "auto"},    {FW_KEY_BATCH, "32"},
    {FW_KEY_LR, "0.05"},     {FW_KEY_FTRL_ALPHA, "0.3"}, {FW_KEY_FTRL_BETA, "0.001"}};

/* One layer of weights and a convex loss: no rows are held out, as there is little to overfit. */
static const recommendation of_linear[] = {
    {FW_KEY_SOLVER, "lbfgs"}, {FW_KEY_OPTIMIZER, "FTRL"}, {FW_KEY_INPUT_OPTIMIZER, "FTRL"}, {FW_KEY_L2, "auto"}};

static const recommendation of_svm[] = {
    {FW_KEY_OPTIMIZER, "FTRL"}, {FW_KEY_INPUT_OPTIMIZER, "FTRL"}, {FW_KEY_L2, "auto"}};

static const recommendation of_nets[] = {{FW_KEY_VALID_RATIO, "0.15"},
                                         {FW_KEY_PATIENCE, "4"},
                                         {FW_KEY_KEEP, "best"},
                                         {FW_KEY_BATCH, "128"},
                                         {FW_KEY_LR, "0.01"},
                                         {FW_KEY_START, "linear"},
                                         {FW_KEY_OPTIMIZER, "Adam"},
                                         {FW_KEY_INPUT_OPTIMIZER, "Adam"},
                                         {FW_KEY_EMBEDDING_OPTIMIZER, "Adam"},
                                         {FW_KEY_FC_OPTIMIZER, "Adam"},
                                         {FW_KEY_L2, "0.0001"},
                                         {FW_KEY_INIT_EMBEDDING, "0.1"}};

/* Products of small vectors are too small for its fc layers to learn from. */
static const recommendation of_nfm[] = {{FW_KEY_INIT_EMBEDDING, "0.2"}};

/* Where numbers are predicted; two classes are learned by steps unless it is set. */
static const recommendation of_fm[] = {{FW_KEY_SOLVER, "lbfgs"}};

/* Regions that begin alike would stay so. */
static const recommendation of_mlr[] = {{FW_KEY_INIT_INPUT, "0.1"}};

/* fm that ranks items: L2 counts for each use of a feature. */
static const recommendation of_ranking[] = {{FW_KEY_SCALE, "none"},         {FW_KEY_START, "random"},
                                            {FW_KEY_EPOCHS, "200"},         {FW_KEY_PATIENCE, "8"},
                                            {FW_KEY_KEEP, "best"},          {FW_KEY_VALID_RATIO, "0.1"},
                                            {FW_KEY_BATCH, "256"},          {FW_KEY_DECAY, "ConstantLearningRate"},
                                            {FW_KEY_INIT_EMBEDDING, "0.03"}};

static const recommendation of_softmax[] = {{FW_KEY_L2, "0.17"}, {FW_KEY_RANK, "128"}};

/* Losses of pairs. */
static const recommendation of_pairs[] = {{FW_KEY_L2, "0.01"}, {FW_KEY_RANK, "64"}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *find(const recommendation *list, size_t count, fw_key key) {
  for (size_t i = 0; i < count; i++)
    if (list[i].key == key) return list[i].text;
  return NULL;
}

static bool is_linear(const char *algorithm) {
  static const char *const linear[] = {"lr", "linear", "robust", "softmax"};
  for (size_t i = 0; i < COUNT(linear); i++)
    if (strcmp(linear[i], algorithm) == 0) return true;
  return false;
}

static const char *of_graph(const char *algorithm, fw_key key) {
  if (is_linear(algorithm)) return find(of_linear, COUNT(of_linear), key);
  if (strcmp(algorithm, "svm") == 0) return find(of_svm, COUNT(of_svm), key);
  const char *text = NULL;
  if (strcmp(algorithm, "nfm") == 0) text = find(of_nfm, COUNT(of_nfm), key);
  if (strcmp(algorithm, "fm") == 0) text = find(of_fm, COUNT(of_fm), key);
  if (strcmp(algorithm, "mlr") == 0) text = find(of_mlr, COUNT(of_mlr), key);
  return text ? text : find(of_nets, COUNT(of_nets), key);
}

const char *fw_recommended_ranking(fw_loss_type loss, fw_key key) {
  const char *text =
      loss == FW_LOSS_SAMPLED_SOFTMAX ? find(of_softmax, COUNT(of_softmax), key) : find(of_pairs, COUNT(of_pairs), key);
  return text ? text : find(of_ranking, COUNT(of_ranking), key);
}

const char *fw_recommended(const char *algorithm, int64_t objective, fw_key key) {
  if (!algorithm) return NULL;
  const bool trees = strcmp(algorithm, "gbdt") == 0;
  const char *text = trees ? fw_recommended_forest(key, objective) : of_graph(algorithm, key);
  if (!text && !trees) text = find(of_graphs, COUNT(of_graphs), key);
  return text ? text : find(of_all, COUNT(of_all), key);
}

const char *furrow_learn_recommended(const char *algorithm, const char *key) {
  const fw_key found = fw_key_find(key);
  const char *known = fw_builtin_find(algorithm);
  return found == FW_KEYS || !known ? NULL : fw_recommended(known, 0, found);
}
