/* learn/conf/recommended.c: Furrow's own defaults, by algorithm. docs/design/defaults.md has what was measured. */
#include <string.h>

#include "learn/conf/conf_data.h"

typedef struct recommendation {
  fw_key key;       /* FW_KEYS after the last */
  const char *text; /* "auto": by the data, when training begins */
} recommendation;

/* For all models. */
static const recommendation of_all[] = {{FW_KEY_FORMAT, "auto"},
                                        {FW_KEY_INDEX_BASE, "auto"},
                                        {FW_KEY_VALID_RATIO, "0"},
                                        {FW_KEY_CLASSES, "auto"},
                                        {FW_KEYS, NULL}};

/* For all graphs of layers. The rate and the strength are for optimizers that take a step for each batch. */
static const recommendation of_graphs[] = {
    {FW_KEY_SHUFFLE, "yes"}, {FW_KEY_SCALE, "auto"},     {FW_KEY_EPOCHS, "auto"},     {FW_KEY_BATCH, "32"},
    {FW_KEY_LR, "0.05"},     {FW_KEY_FTRL_ALPHA, "0.3"}, {FW_KEY_FTRL_BETA, "0.001"}, {FW_KEYS, NULL}};

/* One layer of weights and a convex loss: no rows are held out, as there is little to overfit. */
static const recommendation of_linear[] = {
    {FW_KEY_OPTIMIZER, "FTRL"}, {FW_KEY_INPUT_OPTIMIZER, "FTRL"}, {FW_KEY_L2, "auto"}, {FW_KEYS, NULL}};

/* For convex losses that are smooth. fm also uses lbfgs to predict numbers; for two classes it uses steps, unless the
 * key is set, and for more always. */
static const recommendation of_smooth[] = {{FW_KEY_SOLVER, "lbfgs"}, {FW_KEYS, NULL}};

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
                                         {FW_KEY_INIT_EMBEDDING, "0.1"},
                                         {FW_KEYS, NULL}};

/* With smaller vectors, their products would be too small for the fc layers of nfm to learn from. */
static const recommendation of_nfm[] = {{FW_KEY_INIT_EMBEDDING, "0.2"}, {FW_KEYS, NULL}};

/* Regions that start with equal weights would stay equal. */
static const recommendation of_mlr[] = {{FW_KEY_INIT_INPUT, "0.1"}, {FW_KEYS, NULL}};

/* fm that ranks items: L2 counts for each use of a feature. */
static const recommendation of_ranking[] = {{FW_KEY_SCALE, "none"},          {FW_KEY_START, "random"},
                                            {FW_KEY_EPOCHS, "200"},          {FW_KEY_PATIENCE, "8"},
                                            {FW_KEY_KEEP, "best"},           {FW_KEY_VALID_RATIO, "0.1"},
                                            {FW_KEY_BATCH, "256"},           {FW_KEY_DECAY, "ConstantLearningRate"},
                                            {FW_KEY_INIT_EMBEDDING, "0.03"}, {FW_KEYS, NULL}};

static const recommendation of_softmax[] = {{FW_KEY_L2, "0.17"}, {FW_KEY_RANK, "128"}, {FW_KEYS, NULL}};

/* Losses of pairs. */
static const recommendation of_pairs[] = {{FW_KEY_L2, "0.01"}, {FW_KEY_RANK, "64"}, {FW_KEYS, NULL}};

enum { OBJECTIVES = 7 };

/* Boosted trees: one value for all objectives, or one for each in the order of FW_OBJECTIVES. */
typedef struct forest_recommendation {
  fw_key key;
  const char *text[OBJECTIVES];
} forest_recommendation;

#define SAME(text) \
  { text, text, text, text, text, text, text }

/* Medians and quantiles of few held-out rows vary more than means do, so more rows choose the number of trees: with 300
 * rows, .33 in place of .15 took the mean absolute error down by 2 % (docs/design/trees.md).
 *
 * The number of trees is the most that there can be: held-out rows choose it, unless it is set. multi:softmax halves
 * its steps (its hessians are twice p (1 - p)), so that its rate is twice as large. With reg:squarederror, sums of
 * hessians are numbers of rows; with the other losses they are at most a quarter of that. So lambda and the least leaf
 * are larger for reg:squarederror. */
static const forest_recommendation of_forests[] = {
    {FW_KEY_LR, {"0.1", "0.1", "0.2", "0.1", "0.1", "0.1", "0.1"}},
    {FW_KEY_TREES, {"500", "500", "200", "200", "500", "500", "500"}},
    {FW_KEY_VALID_RATIO, {"0.15", "0.15", "0.15", "0", "0.25", "0.25", "0.25"}},
    {FW_KEY_PATIENCE, {"20", "20", "20", "0", "20", "20", "20"}},
    {FW_KEY_KEEP, SAME("best")},
    {FW_KEY_DEPTH, {"6", "8", "6", "6", "8", "8", "8"}},
    {FW_KEY_LEAVES, {"16", "31", "12", "12", "31", "31", "31"}},
    {FW_KEY_SPLITS, SAME("254")},
    {FW_KEY_FEATURE_RATIO, {"0.8", "0.8", "0.5", "0.8", "0.8", "0.8", "0.8"}},
    {FW_KEY_ROW_RATIO, {"0.6", "0.8", "0.8", "0.6", "0.8", "0.8", "0.8"}},
    {FW_KEY_MIN_CHILD_WEIGHT, SAME("0")},
    {FW_KEY_MIN_ROWS, {"2", "5", "2", "2", "20", "20", "20"}},
    {FW_KEY_REG_LAMBDA, {"2", "2", "1", "2", "2", "2", "1"}},
    {FW_KEY_FROM_AVERAGE, SAME("yes")},
};

static const char *find_default(const recommendation *list, fw_key key) {
  while (list->key != key && list->key != FW_KEYS) list++;
  return list->text;
}

static const char *of_forest(int64_t objective, fw_key key) {
  for (size_t i = 0; i < sizeof of_forests / sizeof *of_forests; i++)
    if (of_forests[i].key == key) return of_forests[i].text[objective];
  return NULL;
}

static const char *of_graph(const char *algorithm, fw_key key) {
  static const struct {
    const char *algorithm;              /* NULL: all others */
    const recommendation *own, *others; /* the second where the first has none */
  } algorithms[] = {
      {"lr", of_smooth, of_linear},      {"linear", of_smooth, of_linear}, {"robust", of_smooth, of_linear},
      {"softmax", of_smooth, of_linear}, {"svm", of_linear, of_graphs},    {"nfm", of_nfm, of_nets},
      {"fm", of_smooth, of_nets},        {"mlr", of_mlr, of_nets},         {NULL, of_nets, of_graphs}};
  size_t i = 0;
  while (algorithms[i].algorithm && strcmp(algorithms[i].algorithm, algorithm) != 0) i++;
  const char *text = find_default(algorithms[i].own, key);
  if (!text) text = find_default(algorithms[i].others, key);
  return text ? text : find_default(of_graphs, key);
}

const char *fw_recommended_ranking(fw_loss_type loss, fw_key key) {
  const char *text = find_default(loss == FW_LOSS_SAMPLED_SOFTMAX ? of_softmax : of_pairs, key);
  return text ? text : find_default(of_ranking, key);
}

const char *fw_recommended(const char *algorithm, int64_t objective, fw_key key) {
  if (!algorithm) return NULL;
  const char *text = strcmp(algorithm, "gbdt") == 0 ? of_forest(objective, key) : of_graph(algorithm, key);
  return text ? text : find_default(of_all, key);
}

const char *furrow_learn_recommended(const char *algorithm, const char *key) {
  const fw_key found = fw_key_find(key);
  const char *known = fw_builtin_find(algorithm);
  return found == FW_KEYS || !known ? NULL : fw_recommended(known, 0, found);
}

/* A gradient is the mean over the rows of a batch in every optimizer, so a rate means the same with any size of batch.
 */
double fw_recommended_rate(fw_optimizer_type type) {
  static const double rates[] = {[FW_OPTIMIZER_SGD] = 0.05,
                                 [FW_OPTIMIZER_MOMENTUM] = 0.01,
                                 [FW_OPTIMIZER_ADAGRAD] = 0.01,
                                 [FW_OPTIMIZER_ADADELTA] = 1,
                                 [FW_OPTIMIZER_ADAM] = 0.01,
                                 [FW_OPTIMIZER_FTRL] = 0.3,
                                 [FW_OPTIMIZER_PUBLISHED_ADAGRAD] = 0.1};
  return rates[type];
}
