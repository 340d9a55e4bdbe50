/* learn/conf/conf.h: a configuration as plain data, made from the JSON file, Angel's keys and the short names.
 *
 * conf.c owns it; conf_keys.c has the table of keys; conf_json.c reads JSON; graphs.c builds the graphs of the
 * algorithms; graph.c resolves a graph; conf_plan.c resolves the rest. */
#ifndef FW_LEARN_CONF_CONF_H
#define FW_LEARN_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/number_out.h"
#include "furrow/learn.h"

/* X(name, Angel's class name, family): types of layers; in JSON in any case */
#define FW_LAYER_TYPES(X)                        \
  X(INPUT, "SimpleInputLayer", INPUT)            \
  X(EMBEDDING, "Embedding", EMBEDDING)           \
  X(FC, "FCLayer", FC)                           \
  X(BI_INNER_SUM, "BiInnerSumCross", CROSS)      \
  X(BI_INNER, "BiInnerCross", CROSS)             \
  X(BI_INTERACTION, "BiInteractionCross", CROSS) \
  X(CONCAT, "ConcatLayer", JOIN)                 \
  X(SUM_POOLING, "SumPooling", JOIN)             \
  X(MUL_POOLING, "MulPooling", JOIN)             \
  X(DOT_POOLING, "DotPooling", JOIN)             \
  X(LOSS, "SimpleLossLayer", LOSS)               \
  X(FIELD_AWARE, "FieldAwareCross", CROSS) /* unknown to Angel; last, since fingerprints have these numbers */
typedef enum fw_layer_type {
#define FURROW_X(name, text, family) FW_LAYER_##name,
  FW_LAYER_TYPES(FURROW_X)
#undef FURROW_X
} fw_layer_type;

/* Types with the same members in JSON: crosses take one embedding, joins any number of layers. */
typedef enum fw_layer_family {
  FW_FAMILY_INPUT,
  FW_FAMILY_EMBEDDING,
  FW_FAMILY_FC,
  FW_FAMILY_CROSS,
  FW_FAMILY_JOIN,
  FW_FAMILY_LOSS
} fw_layer_family;

/* X(name, Angel's class name) */
#define FW_ACTIVATIONS(X)                  \
  X(IDENTITY, "Identity")                  \
  X(RELU, "Relu")                          \
  X(SIGMOID, "Sigmoid")                    \
  X(TANH, "Tanh")                          \
  X(SOFTMAX, "Softmax")                    \
  X(DROPOUT, "Dropout")                    \
  X(SIGMOID_DROPOUT, "SigmoidWithDropout") \
  X(TANH_DROPOUT, "TanhWithDropout")
typedef enum fw_activation {
#define FURROW_X(name, text) FW_ACTIVATION_##name,
  FW_ACTIVATIONS(FURROW_X)
#undef FURROW_X
} fw_activation;

#define FW_LOSSES(X)                                                                                               \
  X(LOG, "LogLoss")                                                                                                \
  X(HINGE, "HingeLoss")                                                                                            \
  X(L2, "L2Loss")                                                                                                  \
  X(HUBER, "HuberLoss")                                                                                            \
  X(CROSS_ENTROPY, "CrossEntropyLoss")                                                                             \
  X(SOFTMAX, "SoftmaxLoss")                                                                                        \
  X(POISSON, "PoissonLoss") /* of counts; from here on not Angel's */                                              \
  X(BPR, "BPRLoss")         /* losses for ranking items */                                                         \
  X(WARP, "WARPLoss")                                                                                              \
  X(SAMPLED_SOFTMAX, "SampledSoftmaxLoss")                                                                         \
  X(LAMBDA, "LambdaRankLoss") /* ranks the rows within groups; from here on only for gbdt, set by the objective */ \
  X(ABSOLUTE, "AbsoluteLoss")                                                                                      \
  X(QUANTILE, "QuantileLoss")
typedef enum fw_loss_type {
#define FURROW_X(name, text) FW_LOSS_##name,
  FW_LOSSES(FURROW_X)
#undef FURROW_X
} fw_loss_type;

/* X(name, Angel's class name, arrays of state in addition to the weights): Angel's slot number is state + 1 */
#define FW_OPTIMIZERS(X)     \
  X(SGD, "SGD", 0)           \
  X(MOMENTUM, "Momentum", 1) \
  X(ADAGRAD, "AdaGrad", 1)   \
  X(ADADELTA, "AdaDelta", 2) \
  X(ADAM, "Adam", 2)         \
  X(FTRL, "FTRL", 2)         \
  X(PUBLISHED_ADAGRAD, "published-adagrad", 1) /* not Angel's: graph.json has AdaGrad and a variant */
typedef enum fw_optimizer_type {
#define FURROW_X(name, text, state) FW_OPTIMIZER_##name,
  FW_OPTIMIZERS(FURROW_X)
#undef FURROW_X
} fw_optimizer_type;

#define FW_DECAYS(X)               \
  X(STANDARD, "StandardDecay")     \
  X(WARM_RESTARTS, "WarmRestarts") \
  X(CORRECTION, "CorrectionDecay") \
  X(CONSTANT, "ConstantLearningRate")
typedef enum fw_decay_type {
#define FURROW_X(name, text) FW_DECAY_##name,
  FW_DECAYS(FURROW_X)
#undef FURROW_X
} fw_decay_type;

#define FW_LABEL_TRANSFORMS(X) \
  X(NONE, "NoTrans")           \
  X(POS_NEG, "PosNegTrans")    \
  X(ZERO_ONE, "ZeroOneTrans")  \
  X(ADD_ONE, "AddOneTrans")    \
  X(SUB_ONE, "SubOneTrans")
typedef enum fw_label_transform {
#define FURROW_X(name, text) FW_LABEL_##name,
  FW_LABEL_TRANSFORMS(FURROW_X)
#undef FURROW_X
} fw_label_transform;

/* X(name, Angel's text, loss): objectives of gbdt */
#define FW_OBJECTIVES(X)                                      \
  X(LOGISTIC, "binary:logistic", LOG)                         \
  X(SQUARED, "reg:squarederror", L2)                          \
  X(SOFTMAX, "multi:softmax", SOFTMAX)                        \
  X(RANK, "rank:ndcg", LAMBDA) /* from here on not Angel's */ \
  X(ABSOLUTE, "reg:absoluteerror", ABSOLUTE)                  \
  X(QUANTILE, "reg:quantileerror", QUANTILE)                  \
  X(POISSON, "count:poisson", POISSON)

typedef struct fw_optimizer {
  fw_optimizer_type type;
  double lr; /* learning rate of this optimizer, scaled by the decay; NaN: the training's rate */
  double l1, l2;
  double a, b; /* momentum: a = momentum; adam: beta, gamma; adagrad: a = beta; ftrl, adadelta: alpha, beta */
} fw_optimizer;

/* One layer of a resolved graph. An fc stack of n dims becomes n layers. */
typedef struct fw_layer {
  const char *name; /* the name of its matrices, too */
  fw_layer_type type;
  size_t input_count;
  const size_t *inputs; /* indices of layers before this one */
  size_t width;         /* outputs per row; embedding: slots * factors, 0 if the slots are free */
  size_t in_width;      /* fc: width of its input */
  size_t
      factors; /* embedding, and crosses of one; FieldAwareCross: factors of one vector, embedding: fields times that */
  int64_t outputdim; /* embedding: outputdim in graph.json, even if the slots are free */
  size_t slots;      /* embedding: vectors of a row; 0: as many as the row has features (free) */
  fw_activation activation;
  double dropout; /* probability that a unit is dropped */
  fw_optimizer optimizer;
  fw_loss_type loss;
  double delta; /* delta of the Huber loss */
  /* for graph.json, which merges the layers of a stack again */
  size_t stack, stack_size; /* position in its fc stack, and its size (1: no stack) */
  const char *stack_name;
} fw_layer;

/* In order of construction: depth first from the loss layer, inputs left to right; inputs come before consumers, the
 * loss layer is the last. */
typedef struct fw_graph {
  fw_layer *layers;
  size_t count;
  fw_loss_type loss;
  size_t outputs; /* width of what the loss gets */
  void *memory;
  double quantile; /* level of QuantileLoss */
} fw_graph;

typedef struct fw_data_conf {
  const char *path;    /* path of the JSON file; may be NULL */
  const char *format;  /* "libsvm", "dummy", "dense", or a format of rows (libffm, csv …) */
  int index_base;      /* subtracted from every index of libsvm and libffm: 1, as Angel does; -1: find out */
  int64_t range;       /* features are 0 … range - 1; -1: open */
  int64_t fields;      /* -1: not set */
  double valid_ratio;  /* 0.05 */
  double sample_ratio; /* share of the rows that is used */
  bool shuffle;
  double posneg_ratio; /* positive rows for each negative row; <= 0: all rows are used */
  fw_label_transform label;
  double threshold;
  bool has_label;
  bool finds_labels;    /* the classes are found in the data */
  size_t label_count;   /* labels of the classes, ascending; 0: labels are transformed as `label` says */
  const double *labels; /* two classes: the first is negative; more: class 0, 1 … */
  bool signed_classes;  /* classes are -1 and 1, else 0, 1 … */
  /* csv; NULL: not set */
  const char *columns;                      /* names of the features, as the argument of a URI */
  const char *label_column, *weight_column; /* a name or number */
  const char *delimiter;
  const char *encoder;         /* raw logs are read through the encoder of this directory; NULL: rows are read */
  bool label_optional;         /* tables without the label column are fine */
  bool scale;                  /* features are scaled for training */
  const char *class_weights;   /* "none", "balanced", or a factor for each class */
  const double *class_factors; /* those factors, once the data is known; NULL: all 1 */
  bool trees;                  /* the rows are for trees, whose features have 31 bits */
  bool long_keys;              /* the model's columns have 64 bits, and so have indices that are read */
  bool
      short_rows; /* rows may have fewer features than slots; else they must have as many. Not where slots are fields */
} fw_data_conf;

/* A label as it is compared: labels of rows are floats, so 0.1 and 1e20 become the nearest floats. */
double fw_label_number(double label);
/* A label as people write it: 3, 0.1; returns `text`. */
enum { FW_LABEL_TEXT = FW_NUMBER_TEXT + 1 };
const char *fw_label_text(char text[FW_LABEL_TEXT], double label);

typedef struct fw_model_conf {
  const char *algorithm;             /* short name; NULL: the graph is from JSON */
  int32_t row_type;                  /* T_FLOAT_DENSE … */
  int64_t size;                      /* -1 */
  int64_t block_size;                /* 1000000 */
  const char *load_path, *save_path; /* paths of the JSON file; may be NULL */
} fw_model_conf;

typedef struct fw_train_conf {
  uint32_t epochs;  /* 0: by the number of rows */
  uint32_t batch;   /* rows of an update; 0: rows / updates, rounded up */
  uint32_t updates; /* number of updates of an epoch, where batch is 0 */
  double lr;
  fw_decay_type decay;
  double decay_alpha, decay_beta;
  uint32_t decay_intervals;
  bool decay_on_batch;
  uint64_t seed;
  double init_input, init_embedding, init_fc; /* standard deviation of the initial weights; init_fc 0: from the layer's
                                                 shape */
  bool recommended;                           /* Furrow's own defaults apply */
  bool lbfgs;                                 /* the exact minimum is sought; else steps of the optimizers */
  bool lbfgs_pairs;                           /* then: of a factorization machine */
  bool own_l2;                                /* l2 is set; otherwise lbfgs chooses a strength */
  bool start_linear;                          /* a net begins as the linear model, and falls back to it */
  bool keep_best;                             /* the best epoch is saved, else the last */
  uint32_t patience;                          /* stop after this number of epochs without improvement; 0: never */
  /* Options that Angel does not have: false for its configurations. */
  bool bias_optimizer; /* biases are stepped by their layer's optimizer, without L1 and L2; else plain descent */
  bool ftrl_keeps_first_weights; /* FTRL keeps weights that were drawn, loaded or set before its first step */
  bool published_adagrad;        /* the name adagrad of a key means published-adagrad; angel-adagrad is Angel's */
} fw_train_conf;

/* gbdt: trees in place of a graph of layers. Their learning rate is train.lr, their loss graph.loss. */
typedef struct fw_forest_conf {
  bool used;                  /* the algorithm is gbdt: graph has a loss and outputs, but no layers */
  uint32_t rounds;            /* trees, of each class */
  unsigned levels;            /* levels of nodes in a tree, including the root and the leaves: depth + 1 */
  uint32_t splits;            /* candidates of a feature at most */
  double row_ratio;           /* share of the rows that a tree is grown from */
  double feature_ratio;       /* share of the features that a tree may split by */
  double min_child_weight;    /* least sum of hessians of a node */
  double min_gain;            /* a split must gain more */
  double alpha, lambda;       /* L1 and L2 of the leaves */
  bool all_categories;        /* every value of every feature is a candidate */
  const char *category_text;  /* as it was written */
  size_t category_count;      /* features whose values are all candidates, however many */
  const uint64_t *categories; /* ascending, 0-based */
  bool node_stats;            /* gain and sums of each node are saved, too */
  uint32_t leaves;            /* leaves of a tree, at most: the best leaf is split first; 0: level by level */
  uint32_t min_rows;          /* rows of a leaf, at least; 0: by the number of rows */
  bool from_average;          /* scores start at the log odds or log shares of the labels */
  const char *monotone;       /* features along which scores may only rise, or fall: "3=+,price=-"; NULL: none */
  uint32_t truncation;        /* rank:ndcg: one row of a pair is among the first `truncation` rows of its group */
} fw_forest_conf;

/* A feature along which scores may only rise, or fall. */
typedef struct fw_monotone {
  uint64_t feature;
  int direction; /* 1: rise, -1: fall */
} fw_monotone;

/* Reads the element of a list like "3=+,price=-" at *at, and moves *at to the next one, or to the end. false: it is
 * malformed. The name is a part of the text, escaped as in a URI. */
bool fw_monotone_next(const char **at, const char *end, const char **name, size_t *size, int *direction);

/* How rows are divided into users and items, for ranking losses and drawn negatives. */
typedef struct fw_ranking_conf {
  const uint64_t *user_fields, *item_fields; /* the id's field first */
  size_t user_field_count, item_field_count; /* 0: not set */
  uint32_t negatives;                        /* 0: the loss decides; without a ranking loss none */
  bool popular;                              /* negatives are drawn in proportion to the number of their rows, else with
                                                equal chances */
  bool same_hour;                            /* negatives are items of rows with the same feature of hour_field */
  int64_t hour_field;                        /* -1: not set */
  bool has_positive_from;
  double positive_from; /* labels from here on are positives; not set: those above 0 */
} fw_ranking_conf;

/* A conf, resolved: everything that training needs. */
typedef struct fw_plan {
  fw_data_conf data;
  fw_model_conf model;
  fw_train_conf train;
  fw_graph graph;
  fw_forest_conf forest;
  fw_ranking_conf ranking;
  bool open_fields, open_classes; /* not known before the data was read: until then the graph has the least possible
                                     number */
  void *memory;
} fw_plan;

/* Resolves a configuration, with the checks of furrow_learn_conf_check. Where no consumer of an embedding needs fixed
 * slots (all are BiInnerSumCross or BiInteractionCross) its slots are free. The plan is independent of the conf. */
furrow_status fw_plan_of_conf(fw_plan **plan, const furrow_learn_conf *conf, furrow_error *err) FURROW_MUST_USE;
/* Whether the rows of a data format have fields: then a slot of an embedding is a field. */
bool fw_format_has_fields(const char *format);
void fw_plan_free(fw_plan *plan);
/* A fingerprint of all settings that the result of a training depends on, except for the number of epochs. */
furrow_status fw_plan_fingerprint(const fw_plan *plan, uint64_t *fingerprint, furrow_error *err) FURROW_MUST_USE;
/* Sets the keys that a model's furrow.json has about the data. E_FORMAT: not such a file; E_UNSUPPORTED: of a later
 * version. */
furrow_status fw_model_json_read(furrow_learn_conf *conf, const char *text, size_t size, const char *file,
                                 furrow_error *err) FURROW_MUST_USE;
/* Whether a model directory is a recommender of a log (recommend/log_model.h), which has no graph and scores no rows.
 */
furrow_status fw_model_is_recommender(const char *folder, bool *is, furrow_error *err) FURROW_MUST_USE;
/* E_UNSUPPORTED: the model directory is one. */
furrow_status fw_model_check_scores(const char *folder, furrow_error *err) FURROW_MUST_USE;
/* The configuration that a model's graph.json gives. */
furrow_status fw_model_read_conf(furrow_learn_conf **conf, const char *folder, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_learn_conf_copy(furrow_learn_conf **copy, const furrow_learn_conf *conf,
                                 furrow_error *err) FURROW_MUST_USE;

/* Classes of the plan's loss: two, or the outputs of softmax; 0 for regression. */
size_t fw_plan_classes(const fw_plan *plan);

/* Angel's name of each; and the reverse, in any case, for `size` bytes. */
const char *fw_layer_type_name(fw_layer_type type);
fw_layer_family fw_layer_type_family(fw_layer_type type);
const char *fw_activation_name(fw_activation activation);
const char *fw_loss_name(fw_loss_type loss);
const char *fw_optimizer_name(fw_optimizer_type type);
const char *fw_decay_name(fw_decay_type decay);
const char *fw_label_transform_name(fw_label_transform transform);
/* The objective of gbdt that has the loss, as Angel writes it. */
const char *fw_objective_name(fw_loss_type loss);
/* Whether the labels are two classes; whether they are quantities. SoftmaxLoss: neither. */
bool fw_loss_has_two_classes(fw_loss_type loss);
bool fw_loss_is_regression(fw_loss_type loss);
/* Whether the best constant for some rows is a quantile of their labels; *level (may be NULL) is its level. */
bool fw_loss_is_of_quantile(const fw_graph *graph, double *level);
/* Whether the loss depends only on an order, of items or of the rows of a group: its scores cannot be compared with
 * labels. */
bool fw_loss_ranks(fw_loss_type loss);
/* Whether it drops units in training. */
bool fw_activation_drops(fw_activation activation);
/* Arrays of state that an optimizer keeps for a weight. */
size_t fw_optimizer_state(fw_optimizer_type type);

/* A learning rate for features of about unit scale and batches of 32; of FTRL its alpha. */
double fw_recommended_rate(fw_optimizer_type type);
/* Whether a layer is trained by an optimizer with a learning rate: any except FTRL and AdaDelta. */
bool fw_graph_has_rate(const fw_graph *graph);

/* The learning rate of step n = 1, 2 … (epochs, or batches with decay_on_batch): n alone decides. */
double fw_decay_rate(const fw_train_conf *train, uint64_t n);

/* ---- Model directories (model_dir.c) ----
 *
 * the files next to the matrices. */

/* The parameters of saving, complete. */
typedef struct fw_save_params {
  furrow_matrix_write_params write;
  const furrow_layer_formats *formats; /* NULL: the defaults */
  int32_t servers;
  int64_t part_size; /* 0: Angel's rule */
} fw_save_params;

/* If the caller does not set the number of servers, it is the number of ranks. */
furrow_status fw_save_params_read(fw_save_params *params, const furrow_trainer_save_params *given, unsigned ranks,
                                  furrow_error *err) FURROW_MUST_USE;
/* Writes graph.json, the files of the encoder, and `about` (may be NULL), the text of furrow.json. */
furrow_status fw_model_put_graph(furrow_model_writer *model, const furrow_learn_conf *conf, const fw_buffer *about,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
