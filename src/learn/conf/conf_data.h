/* learn/conf/conf_data.h: a configuration before it is resolved: values of keys, layers as the JSON file has them.
 *
 * Shared by conf*.c, graph*.c and describe*.c; the rest of the module includes conf.h alone. */
#ifndef FW_LEARN_CONF_CONF_DATA_H
#define FW_LEARN_CONF_CONF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json_in.h"
#include "furrow/status.h"
#include "learn/conf/conf.h"

#define FW_WIDTH_MAX (1 << 24)  /* most outputs of a layer per row */
#define FW_LAYERS_MAX 512       /* most layers of a graph; a stack counts as its layers */
#define FW_INPUTS_MAX 256       /* most inputs of a layer, and most layers of a stack */
#define FW_NAME_MAX 200         /* bytes of a layer's name */
#define FW_DENSE_MAX 2147483647 /* weights of an fc layer: Angel numbers them with ints */
#define FW_LEVELS_MAX 16        /* most levels of nodes in a tree that is trained */

/* ---- Names ---------------------------------------------------------------------------------------------- */

/* Angel's names of one axis (types of layers, losses …). Found in any case, and without the ending that all of them
 * have: log is LogLoss. */
typedef struct fw_names {
  const char *const *names;
  size_t count;
  const char *ending; /* "" where there is none */
} fw_names;

extern const fw_names fw_layer_type_names, fw_activation_names, fw_loss_names, fw_optimizer_names, fw_decay_names,
    fw_label_names, fw_objective_names;

/* E_ARGUMENT: "must be one of …". */
furrow_status fw_name_find(const fw_names *names, const char *text, size_t size, int64_t *which,
                           furrow_error *err) FURROW_MUST_USE;

/* ---- Keys ----------------------------------------------------------------------------------------------- */

typedef enum fw_value_kind {
  FW_VALUE_TEXT,
  FW_VALUE_INT,
  FW_VALUE_REAL,
  FW_VALUE_YES_NO,
  FW_VALUE_WIDTHS,    /* 100,100: text; each is checked */
  FW_VALUE_ALGORITHM, /* text: the short name */
  FW_VALUE_FORMAT,    /* text: a format of rows */
  FW_VALUE_ROW_TYPE,
  FW_VALUE_INDEX_BASE,
  FW_VALUE_CATEGORIES, /* 0:2,7:5: text; each is checked */
  FW_VALUE_WORD,       /* one of the words that `value` of furrow_learn_key lists; its number */
  FW_VALUE_NUMBERS,    /* 1,2: text; each is checked */
  FW_VALUE_FIELDS,     /* 1,4: text; each is checked, none may occur twice */
  FW_VALUE_MONOTONE,   /* 3=+,price=-: text; each is checked */
  FW_VALUE_ACTION,
  FW_VALUE_SEPARATOR, /* a regular expression of Angel's */
  FW_VALUE_OBJECTIVE, /* names from here on */
  FW_VALUE_LABEL,
  FW_VALUE_DECAY,
  FW_VALUE_OPTIMIZER,
  FW_VALUE_ACTIVATION,
  FW_VALUE_LOSS
} fw_value_kind;

#define FW_COUNT_MAX 4294967295.0
#define FW_BELOW_1 0x1.fffffffffffffp-1
#define FW_RANGE_MAX 9223372036854774784.0 /* the largest double that is an int64 */

/* X(id, name, Angel's key, path in the JSON, kind, least, most, default, what it takes, help) */
#define FW_LEARN_KEYS(X)                                                                                               \
  X(ALGORITHM, "algorithm", "ml.model.class.name", NULL, ALGORITHM, 0, 0, "", "NAME",                                  \
    "what is trained: lr, svm, linear, robust, softmax, mlr, fm, ffm, dnn, wide_and_deep, deepfm, pnn, nfm, gbdt")     \
  X(DATA, "data", "angel.train.data.path", "data/path", TEXT, 0, 0, "", "URI", "the training data")                    \
  X(VALID, "valid", "angel.validate.data.path", NULL, TEXT, 0, 0, "", "URI", "the validation data")                    \
  X(ACTION, "action", "action.type", NULL, ACTION, 0, 0, "train", "train|inctrain|predict",                            \
    "the job of Angel's configuration; inctrain continues from the model in load")                                     \
  X(SEPARATOR, "separator", "ml.data.splitor", NULL, SEPARATOR, 0, 0, "\\s+", "\\s+",                                  \
    "separator of the fields of libsvm, dummy and dense data: blanks")                                                 \
  X(FORMAT, "format", "ml.data.type", "data/format", FORMAT, 0, 0, "libsvm", "libsvm|dummy|dense|libffm|…",            \
    "format of the data: one of Angel's three, or any other format of rows")                                           \
  X(RANGE, "range", "ml.feature.index.range", "data/indexrange", INT, -1, FW_RANGE_MAX, "-1", "N",                     \
    "features are 0 … N-1; -1: no limit")                                                                              \
  X(FIELDS, "fields", "ml.fm.field.num", "data/numfield", INT, -1, FW_COUNT_MAX, "-1", "N",                            \
    "fields of a row: features, or fields of libffm; -1: not set")                                                     \
  X(SHORT_ROWS, "short-rows", NULL, "data/shortrows", YES_NO, 0, 0, "no", "yes|no",                                    \
    "rows may have fewer features than fields, whose slots stay empty, or more, which share the last slot")            \
  X(VALID_RATIO, "valid-ratio", "ml.data.validate.ratio", "data/validateratio", REAL, 0, FW_BELOW_1, "0.05", "X",      \
    "share of the data that is kept for validation")                                                                   \
  X(SAMPLE_RATIO, "sample-ratio", "ml.batch.sample.ratio", "data/sampleratio", REAL, 1e-9, 1, "1", "X",                \
    "share of the rows that is used")                                                                                  \
  X(SHUFFLE, "shuffle", "ml.data.use.shuffle", "data/useshuffle", YES_NO, 0, 0, "no", "yes|no",                        \
    "use the rows in another order in each epoch")                                                                     \
  X(POSNEG_RATIO, "posneg-ratio", "ml.data.posneg.ratio", "data/posnegratio", REAL, -1, 1e9, "-1", "X",                \
    "positive rows for each negative row, by leaving out rows of one class; 0 or less: all rows")                      \
  X(LABEL, "label", "ml.data.label.trans.class", "data/translabel", LABEL, 0, 0, "NoTrans",                            \
    "NoTrans|PosNegTrans|ZeroOneTrans|AddOneTrans|SubOneTrans",                                                        \
    "how labels are transformed; losses of two classes have PosNegTrans by default")                                   \
  X(THRESHOLD, "label-threshold", "ml.data.label.trans.threshold", "data/translabelthreshold", REAL, -1e300, 1e300,    \
    "0", "X", "labels above it are positive (PosNegTrans, ZeroOneTrans)")                                              \
  X(HAS_LABEL, "has-label", "ml.data.has.label", "data/haslabel", YES_NO, 0, 0, "yes", "yes|no",                       \
    "rows begin with a label")                                                                                         \
  X(INDEX_BASE, "index-base", NULL, "data/indexbase", INDEX_BASE, 0, 0, "1", "0|1|auto",                               \
    "smallest feature index in libsvm and libffm data")                                                                \
  X(LABELS, "labels", NULL, NULL, NUMBERS, 0, 0, "", "X,X,…",                                                          \
    "labels of the classes in ascending order; found in the data unless `label` is set")                               \
  X(CLASS_NAMES, "class-names", NULL, NULL, TEXT, 0, 0, "", "JSON",                                                    \
    "names of the classes for users, in the order of their labels: a list in JSON, for programs that show models")     \
  X(COLUMNS, "columns", NULL, NULL, TEXT, 0, 0, "", "NAME,NAME,…",                                                     \
    "names of the features of tables, in their order; found in the header of csv data")                                \
  X(LABEL_COLUMN, "label-column", NULL, NULL, TEXT, 0, 0, "", "NAME", "the column of csv data that has the label")     \
  X(WEIGHT_COLUMN, "weight-column", NULL, NULL, TEXT, 0, 0, "", "NAME",                                                \
    "the column of csv data that has the weight of a row")                                                             \
  X(ENCODER, "encoder", NULL, NULL, TEXT, 0, 0, "", "DIR",                                                             \
    "directory of schema.json and dictionary.furrow, through which a raw log is read")                                 \
  X(DELIMITER, "delimiter", NULL, NULL, TEXT, 0, 0, "", "C", "separator of the columns of csv data")                   \
  X(SCALE, "scale", NULL, NULL, WORD, 0, 0, "none", "none|auto",                                                       \
    "auto: centre and scale features of uneven ranges in training; the saved weights are for the unscaled data")       \
  X(CLASS_WEIGHTS, "class-weights", NULL, NULL, TEXT, 0, 0, "none", "none|balanced|X,X,…",                             \
    "factor for the weights of each class's rows; balanced: all classes have the same total weight")                   \
  X(USER_FIELDS, "user-fields", NULL, NULL, FIELDS, 0, 0, "", "N,N,…",                                                 \
    "fields of the user, the field with the id first; if not set, every field that is not in item-fields")             \
  X(ITEM_FIELDS, "item-fields", NULL, NULL, FIELDS, 0, 0, "", "N,N,…",                                                 \
    "fields of the item, the one with its id first: for ranking losses and negatives")                                 \
  X(NEGATIVES, "negatives", NULL, NULL, INT, 0, 1048576, "0", "N",                                                     \
    "items to draw for each positive row, among those that the user does not have; 0 with a ranking loss: set by the " \
    "loss")                                                                                                            \
  X(NEGATIVE_SAMPLING, "negative-sampling", NULL, NULL, WORD, 0, 0, "uniform", "uniform|popularity|hour",              \
    "how negatives are drawn: with equal chances, in proportion to the rows of an item, or from rows of the same "     \
    "hour")                                                                                                            \
  X(HOUR_FIELD, "hour-field", NULL, NULL, INT, -1, FW_COUNT_MAX, "-1", "N",                                            \
    "field whose features are hours, for negatives from the same hour; found by itself in raw logs; -1: not set")      \
  X(POSITIVE_FROM, "positive-from", NULL, NULL, REAL, -1e300, 1e300, "", "X",                                          \
    "rows with a label of at least X are positives; if not set, rows with a label above 0")                            \
  X(DEFAULTS, "defaults", NULL, NULL, WORD, 0, 0, "furrow", "furrow|angel",                                            \
    "defaults of settings that are not given: Furrow's for the algorithm, or Angel's (with a JSON file: Angel's)")     \
  X(PATIENCE, "patience", NULL, NULL, INT, 0, FW_COUNT_MAX, "0", "N",                                                  \
    "stop after N epochs without improvement; 0: never")                                                               \
  X(KEEP, "keep", NULL, NULL, WORD, 0, 0, "last", "last|best", "the epoch whose parameters are saved")                 \
  X(MODEL_TYPE, "model-type", "ml.model.type", "model/modeltype", ROW_TYPE, 0, 0, "T_FLOAT_DENSE", "T_FLOAT_DENSE|…",  \
    "row type of the matrices: float or double, dense, sparse or sparse_longkey")                                      \
  X(MODEL_SIZE, "model-size", "ml.model.size", "model/modelsize", INT, -1, FW_RANGE_MAX, "-1", "N",                    \
    "expected number of features; stored for Angel")                                                                   \
  X(BLOCK_SIZE, "block-size", "ml.block.size", "model/blockSize", INT, 1, 2147483647, "1000000", "N",                  \
    "columns of a partition; stored for Angel")                                                                        \
  X(LOAD, "load", "angel.load.model.path", "model/loadpath", TEXT, 0, 0, "", "DIR", "the model to continue training")  \
  X(SAVE, "save", "angel.save.model.path", "model/savepath", TEXT, 0, 0, "", "DIR",                                    \
    "the directory to save the model to")                                                                              \
  X(EPOCHS, "epochs", "ml.epoch.num", "train/epoch", INT, 1, FW_COUNT_MAX, "30", "N", "passes over the data")          \
  X(SOLVER, "solver", NULL, NULL, WORD, 0, 0, "steps", "steps|lbfgs",                                                  \
    "steps: the optimizers, batch by batch; lbfgs: the exact minimum, for lr, linear, robust, softmax and fm")         \
  X(START, "start", NULL, NULL, WORD, 0, 0, "random", "random|linear",                                                 \
    "linear: a net starts as the linear model of the data, and is replaced by that model if it is not better")         \
  X(UPDATES, "updates", "ml.num.update.per.epoch", "train/numupdateperepoch", INT, 1, FW_COUNT_MAX, "10", "N",         \
    "updates per epoch, if batch is not set")                                                                          \
  X(BATCH, "batch", "ml.minibatch.size", "train/batchsize", INT, 1, 16777216, "128", "N",                              \
    "rows per update; overrides updates")                                                                              \
  X(STALENESS, "staleness", "angel.staleness", NULL, INT, 0, 64, "0", "K",                                             \
    "accepted for older configurations; has no effect")                                                                \
  X(LR, "lr", "ml.learn.rate", "train/lr", REAL, 0, 1e300, "0.5", "X",                                                 \
    "learning rate; replaces the rates of optimizers in the JSON")                                                     \
  X(DECAY, "decay", "ml.opt.decay.class.name", "train/decayclass", DECAY, 0, 0, "StandardDecay",                       \
    "StandardDecay|WarmRestarts|CorrectionDecay|ConstantLearningRate", "schedule of the learning rate")                \
  X(DECAY_ALPHA, "decay-alpha", "ml.opt.decay.alpha", "train/decayalpha", REAL, 0, 1e300, "0.001", "X",                \
    "speed of the decay; StandardDecay uses learn-decay if this is not set")                                           \
  X(DECAY_BETA, "decay-beta", "ml.opt.decay.beta", "train/decaybeta", REAL, 0, FW_BELOW_1, "0.001", "X",               \
    "beta of CorrectionDecay")                                                                                         \
  X(LEARN_DECAY, "learn-decay", "ml.learn.decay", NULL, REAL, 0, 1e300, "0.5", "X",                                    \
    "older name of decay-alpha for StandardDecay; used if decay-alpha is not set")                                     \
  X(DECAY_INTERVALS, "decay-intervals", "ml.opt.decay.intervals", "train/decayintervals", INT, 1, FW_COUNT_MAX, "100", \
    "N", "steps up to the first restart (WarmRestarts)")                                                               \
  X(DECAY_ON_BATCH, "decay-on-batch", "ml.opt.decay.on.batch", "train/decayonbatch", YES_NO, 0, 0, "no", "yes|no",     \
    "apply the decay after each update, not after each epoch")                                                         \
  X(SEED, "seed", NULL, "train/seed", INT, 0, FW_RANGE_MAX, "1", "N", "seed of all random numbers")                    \
  X(INIT_INPUT, "init-input", NULL, "train/initinput", REAL, 0, 1e6, "0", "X",                                         \
    "standard deviation of the initial weights of input layers")                                                       \
  X(INIT_EMBEDDING, "init-embedding", NULL, "train/initembedding", REAL, 0, 1e6, "0.01", "X",                          \
    "standard deviation of the initial embeddings")                                                                    \
  X(INIT_FC, "init-fc", NULL, "train/initfc", REAL, 0, 1e6, "0", "X",                                                  \
    "standard deviation of the initial weights of fc layers; 0: from the layer's shape")                               \
  X(OPTIMIZER, "optimizer", NULL, "default_optimizer", OPTIMIZER, 0, 0, "Momentum",                                    \
    "SGD|Momentum|AdaGrad|AdaDelta|Adam|FTRL|published-adagrad|angel-adagrad",                                         \
    "optimizer of all layers (in the JSON: of layers that do not name one)")                                           \
  X(INPUT_OPTIMIZER, "input-optimizer", "ml.inputlayer.optimizer", NULL, OPTIMIZER, 0, 0, "Momentum",                  \
    "SGD|Momentum|AdaGrad|AdaDelta|Adam|FTRL", "optimizer of input layers (linear, robust: SGD)")                      \
  X(EMBEDDING_OPTIMIZER, "embedding-optimizer", "ml.embedding.optimizer", NULL, OPTIMIZER, 0, 0, "Momentum",           \
    "SGD|Momentum|AdaGrad|AdaDelta|Adam|FTRL", "optimizer of embeddings")                                              \
  X(FC_OPTIMIZER, "fc-optimizer", "ml.fclayer.optimizer", NULL, OPTIMIZER, 0, 0, "Momentum",                           \
    "SGD|Momentum|AdaGrad|AdaDelta|Adam|FTRL", "optimizer of fc layers")                                               \
  X(L1, "l1", "ml.reg.l1", NULL, REAL, 0, 1e300, "0", "X", "L1 regularisation; overrides reg1 of the JSON")            \
  X(L2, "l2", "ml.reg.l2", NULL, REAL, 0, 1e300, "0", "X", "L2 regularisation; overrides reg2 of the JSON")            \
  X(FC_L2, "fc-l2", NULL, NULL, REAL, 0, 1e300, "0", "X", "L2 regularisation of fc layers; not set: that of l2")       \
  X(MOMENTUM, "momentum", "ml.opt.momentum.momentum", NULL, REAL, 0, 1, "0.9", "X",                                    \
    "share of the last step in the next (Momentum)")                                                                   \
  X(ADAM_BETA, "adam-beta", "ml.opt.adam.beta", NULL, REAL, 0, FW_BELOW_1, "0.9", "X",                                 \
    "Adam: decay of the mean gradient")                                                                                \
  X(ADAM_GAMMA, "adam-gamma", "ml.opt.adam.gamma", NULL, REAL, 0, FW_BELOW_1, "0.99", "X",                             \
    "Adam: decay of the mean square")                                                                                  \
  X(ADAGRAD_BETA, "adagrad-beta", "ml.opt.adagrad.beta", NULL, REAL, 0, FW_BELOW_1, "0.9", "X",                        \
    "AdaGrad: decay of the mean square")                                                                               \
  X(ADADELTA_ALPHA, "adadelta-alpha", "ml.opt.adadelta.alpha", NULL, REAL, 0, FW_BELOW_1, "0.9", "X",                  \
    "AdaDelta: decay of squares of gradients")                                                                         \
  X(ADADELTA_BETA, "adadelta-beta", "ml.opt.adadelta.beta", NULL, REAL, 0, FW_BELOW_1, "0.9", "X",                     \
    "AdaDelta: decay of squares of updates")                                                                           \
  X(FTRL_ALPHA, "ftrl-alpha", "ml.opt.ftrl.alpha", NULL, REAL, 1e-12, 1e300, "0.1", "X", "FTRL: learning rate")        \
  X(FTRL_BETA, "ftrl-beta", "ml.opt.ftrl.beta", NULL, REAL, 0, 1e300, "1", "X", "FTRL: added to the root")             \
  X(LOSS, "loss", NULL, "default_lossfunc", LOSS, 0, 0, "LogLoss",                                                     \
    "LogLoss|HingeLoss|L2Loss|HuberLoss|CrossEntropyLoss|SoftmaxLoss|PoissonLoss|BPRLoss|WARPLoss|SampledSoftmaxLoss", \
    "loss of fm and deep models: L2Loss and HuberLoss for regression, PoissonLoss for counts, the last three to rank " \
    "items with fm (in the JSON: of dnn); linear has L2Loss and PoissonLoss")                                          \
  X(HUBER_DELTA, "huber-delta", "ml.lossfunction.huber.delta", NULL, REAL, 0, 1e300, "1", "X",                         \
    "error from which on the Huber loss is linear")                                                                    \
  X(ROBUST_DELTA, "robust-delta", "ml.robustregression.loss.delta", NULL, REAL, 0, 1e300, "1", "X",                    \
    "huber-delta for the algorithm robust, where it overrides huber-delta")                                            \
  X(CLASSES, "classes", "ml.num.class", "gbdt/classnum", INT, 2, 1048576, "2", "N",                                    \
    "classes of softmax, of nets with SoftmaxLoss and of gbdt with multi:softmax")                                     \
  X(RANK, "rank", "ml.fm.rank", NULL, INT, 1, 65536, "8", "N", "factors of a feature: fm and deep models")             \
  X(MLR_RANK, "mlr-rank", "ml.mlr.rank", NULL, INT, 1, 65536, "5", "N", "regions of mlr")                              \
  X(INPUT_WIDTH, "input-width", NULL, NULL, INT, 1, 1048576, "500", "N", "outputs of the input layer of dnn")          \
  X(FC, "fc", NULL, NULL, WIDTHS, 0, 0, "100,100", "N,N,…",                                                            \
    "outputs of the hidden layers of deep models; a last layer of 1 output follows")                                   \
  X(ACTIVATION, "activation", NULL, "default_transfunc", ACTIVATION, 0, 0, "relu", "relu|sigmoid|tanh|identity|…",     \
    "activation of the hidden layers of deep models")                                                                  \
  X(DROPOUT, "dropout", NULL, NULL, REAL, 0, FW_BELOW_1, "0", "X",                                                     \
    "share of hidden units that is dropped in training; for sigmoid, tanh and identity")                               \
  X(TREES, "trees", "ml.gbdt.tree.num", "gbdt/treenum", INT, 1, 1048576, "10", "N",                                    \
    "rounds of gbdt: one tree per round (multi:softmax: one per class)")                                               \
  X(LEVELS, "levels", "ml.gbdt.tree.depth", "gbdt/treedepth", INT, 1, FW_LEVELS_MAX, "5", "N",                         \
    "levels of nodes in a tree, including the root and the leaves")                                                    \
  X(DEPTH, "depth", NULL, NULL, INT, 0, FW_LEVELS_MAX - 1, "0", "N",                                                   \
    "splits between the root and a leaf (levels - 1); overrides levels; 0: set by levels")                             \
  X(SPLITS, "splits", "ml.gbdt.split.num", "gbdt/splitnum", INT, 1, 254, "10", "N",                                    \
    "candidates for a split of a feature, at most")                                                                    \
  X(FEATURE_RATIO, "feature-ratio", "ml.gbdt.sample.ratio", "gbdt/featureratio", REAL, 1e-9, 1, "1", "X",              \
    "share of the features that a tree may split by")                                                                  \
  X(ROW_RATIO, "row-ratio", "ml.gbdt.row.sample.ratio", "gbdt/rowratio", REAL, 1e-9, 1, "1", "X",                      \
    "share of the rows that a tree is grown from")                                                                     \
  X(MIN_CHILD_WEIGHT, "min-child-weight", "ml.gbdt.min.child.weight", "gbdt/minchildweight", REAL, 0, 1e300, "0.01",   \
    "X", "least sum of hessians of a node")                                                                            \
  X(MIN_GAIN, "min-gain", "ml.gbdt.min.split.gain", "gbdt/minsplitgain", REAL, 0, 1e300, "0", "X",                     \
    "a split must have a gain larger than X")                                                                          \
  X(REG_ALPHA, "reg-alpha", "ml.gbdt.reg.alpha", "gbdt/regalpha", REAL, 0, 1e300, "0", "X", "L1 of leaves")            \
  X(REG_LAMBDA, "reg-lambda", "ml.gbdt.reg.lambda", "gbdt/reglambda", REAL, 0, 1e300, "1", "X", "L2 of leaves")        \
  X(OBJECTIVE, "objective", "ml.gbdt.loss.func", "gbdt/lossfunc", OBJECTIVE, 0, 0, "binary:logistic",                  \
    "binary:logistic|reg:squarederror|multi:softmax|rank:ndcg|reg:absoluteerror|reg:quantileerror|count:poisson",      \
    "loss of gbdt; rank:ndcg orders the rows of each qid, reg:quantileerror takes the level from quantile")            \
  X(CATEGORIES, "categories", "ml.gbdt.cate.feat", "gbdt/catefeat", CATEGORIES, 0, 0, "none", "none|all|ID:N,ID:N,…",  \
    "features of gbdt that are categories, each with its number of values")                                            \
  X(NODE_STATS, "node-stats", NULL, "gbdt/nodestats", YES_NO, 0, 0, "yes", "yes|no",                                   \
    "write gain and sums of each node next to Angel's three matrices: for importance and drawings")                    \
  X(LEAVES, "leaves", NULL, "gbdt/leaves", INT, 0, 65536, "0", "N",                                                    \
    "most leaves of a tree, which is then grown best split first; 0: no limit, grown level by level")                  \
  X(MIN_ROWS, "min-rows", NULL, "gbdt/minrows", INT, 0, 1073741824, "1", "N",                                          \
    "least number of rows of a leaf; 0: 20, or a tenth of the rows if that is less")                                   \
  X(FROM_AVERAGE, "from-average", NULL, "gbdt/fromaverage", YES_NO, 0, 0, "no", "yes|no",                              \
    "start scores at the log odds of the labels or the log shares of the classes, not at 0")                           \
  X(TRUNCATION, "truncation", NULL, "gbdt/truncation", INT, 1, 1000, "100", "N",                                       \
    "rank:ndcg: use only pairs of rows with one among the N best-scored rows of their group")                          \
  X(QUANTILE, "quantile", NULL, "gbdt/quantile", REAL, 1e-6, 0.999999, "0.5", "X",                                     \
    "reg:quantileerror: predict the number that a share X of the labels is below")                                     \
  X(MONOTONE, "monotone", NULL, "gbdt/monotone", MONOTONE, 0, 0, "", "COL=+,COL=-,…",                                  \
    "columns along which predictions of gbdt may only rise (+) or fall (-): names, or numbers of features from 0 on")

typedef enum fw_key {
#define FURROW_X(id, name, angel, json, kind, least, most, fallback, value, help) FW_KEY_##id,
  FW_LEARN_KEYS(FURROW_X)
#undef FURROW_X
      FW_KEYS,
} fw_key;

/* A value that was set, or a default: its text (canonical for names) and the number. */
typedef struct fw_value {
  const char *text; /* NULL: not set */
  const char *name; /* the name of the key by which it was set; NULL: its own name */
  int64_t integer;  /* whole numbers, yes and no, numbers of names and row types */
  double real;
} fw_value;

/* An element of a list: real of FW_VALUE_NUMBERS, whole of widths, fields and (the feature) categories. */
typedef union fw_element {
  uint64_t whole;
  double real;
} fw_element;

/* The key of a name, Angel's or short; FW_KEYS: none. */
fw_key fw_key_find(const char *name);
/* Returns the same name in static memory; NULL if no key has it. */
const char *fw_key_static_name(const char *name);
/* Returns the name by which a key was set, for messages; the key's own name if a file set it, or nothing. */
const char *fw_conf_key_name(const furrow_learn_conf *conf, fw_key key);
/* The key at a path of the JSON that is a plain value ("train/epoch"); FW_KEYS: none. */
fw_key fw_key_at_path(const char *section, furrow_json_text member);
fw_value_kind fw_key_kind(fw_key key);
const furrow_learn_key *fw_key_facts(fw_key key);
/* Reads a value; its text becomes a canonical name, or NULL if the text is used as it is. E_ARGUMENT; the message
 * continues the key's name: "must be …". */
furrow_status fw_key_parse(fw_key key, const char *text, size_t size, fw_value *value,
                           furrow_error *err) FURROW_MUST_USE;
/* Replaces a value by one that was read from a text, which is copied. */
furrow_status fw_value_keep(fw_value *value, fw_value parsed, const char *text, size_t size,
                            furrow_error *err) FURROW_MUST_USE;
/* Checks a number that was read elsewhere, as fw_key_parse does. */
furrow_status fw_key_check(fw_key key, double number, furrow_error *err) FURROW_MUST_USE;

/* ---- Furrow's own defaults (recommended.c) ---- */

/* The default of a key for an algorithm (for gbdt: and the number of an objective) as text; "auto": depends on the
 * data. NULL: only Angel's default. */
const char *fw_recommended(const char *algorithm, int64_t objective, fw_key key);

/* Settings of an optimizer in addition to its rate and regularisation: a and b of fw_optimizer. */
typedef struct fw_optimizer_param {
  const char *member; /* name in the JSON; NULL: not in the JSON */
  fw_key key;
} fw_optimizer_param;
/* Two of them. */
const fw_optimizer_param *fw_optimizer_params(fw_optimizer_type type);
/* Value of the member `variant` in the JSON of a published AdaGrad. Angel ignores the member, so it can load the
 * model. */
#define FW_ADAGRAD_VARIANT "published"

/* The value in a plan of a key of the sections data, model and train. */
fw_value fw_plan_value(const fw_plan *plan, fw_key key);
/* Whether the plan has something else than the default. */
bool fw_plan_differs(const fw_plan *plan, fw_key key);

/* ---- Layers before they are resolved --------------------------------------------------------------------------- */

/* NaN: not set. */
typedef struct fw_optimizer_spec {
  bool spec;
  fw_optimizer_type type;
  double lr, l1, l2, a, b;
} fw_optimizer_spec;

typedef struct fw_activation_spec {
  bool spec;
  fw_activation type;
  double dropout;
} fw_activation_spec;

typedef struct fw_loss_spec {
  bool spec;
  fw_loss_type type;
  double delta; /* NaN: not set */
} fw_loss_spec;

typedef struct fw_layer_spec {
  const char *name;
  const char *path; /* for errors: layers/2 */
  fw_layer_type type;
  bool has_width;
  int64_t width, factors; /* outputdim; numfactors, 0: not set */
  size_t fc_count;        /* fc: outputdims, each with its activation */
  const int64_t *fc_widths;
  const fw_activation_spec *fc_activations; /* NULL: not set */
  fw_activation_spec activation;            /* input layer */
  size_t input_count;
  const char *const *inputs; /* names */
  fw_optimizer_spec optimizer;
  fw_loss_spec loss;
} fw_layer_spec;

/* Immutable once it is made; shared by copies of a conf. */
typedef struct fw_graph_spec {
  _Atomic unsigned users;
  fw_arena arena;
  fw_layer_spec *layers;
  size_t count;
} fw_graph_spec;

furrow_status fw_graph_spec_create(fw_graph_spec **graph, furrow_error *err) FURROW_MUST_USE;
void fw_graph_spec_release(fw_graph_spec *graph);
/* Copies n bytes into an arena and appends a 0. */
furrow_status fw_arena_text(fw_arena *arena, const char **copy, const char *text, size_t n,
                            furrow_error *err) FURROW_MUST_USE;

/* ---- The conf ------------------------------------------------------------------------------------------- */

typedef struct fw_defaults_spec {
  fw_optimizer_spec optimizer;
  fw_activation_spec activation;
  fw_loss_spec loss;
} fw_defaults_spec;

/* What one JSON file says. */
typedef struct fw_conf_json {
  fw_value values[FW_KEYS]; /* texts are owned */
  fw_value keys[FW_KEYS];   /* keys of the section furrow, which are treated as keys that were set; texts are owned */
  fw_defaults_spec defaults;
  fw_graph_spec *graph; /* NULL: it has no layers */
  bool trees;           /* it has a section gbdt, and no layers */
} fw_conf_json;

furrow_status fw_conf_json_read(fw_conf_json *spec, const char *text, size_t size, const char *file,
                                furrow_error *err) FURROW_MUST_USE;
void fw_conf_json_clear(fw_conf_json *spec);

/* One of Angel's keys that was set and means nothing here. */
typedef struct fw_ignored_key {
  const char *key;    /* static */
  bool changes_model; /* Angel's training depends on it */
} fw_ignored_key;

struct furrow_learn_conf {
  fw_value keys[FW_KEYS]; /* texts are owned */
  fw_conf_json json;
  bool has_json;         /* a JSON file was read */
  uint64_t features;     /* features of the data, from the furrow.json of a model; 0: unknown */
  const char *algorithm; /* set by furrow_learn_conf_set_algorithm; NULL: not set, or replaced by layers */
  fw_ignored_key *ignored;
  size_t ignored_count, ignored_capacity;
};

/* Sets a key that fw_key_find does not find: another name of a setting, or one of Angel's keys without a meaning here,
 * which is recorded as ignored. E_ARGUMENT: Angel does not have such a key. */
furrow_status fw_conf_set_angel(furrow_learn_conf *conf, const char *key, const char *value,
                                furrow_error *err) FURROW_MUST_USE;
/* Notes a key once; the text is kept as it is. */
furrow_status fw_conf_ignore(furrow_learn_conf *conf, const char *key, bool changes_model,
                             furrow_error *err) FURROW_MUST_USE;

/* The effective value: the key's, else the JSON's, else the default. */
fw_value fw_conf_value(const furrow_learn_conf *conf, fw_key key);
/* Takes the elements of a list from `arena`; an empty list leaves both results as they are. */
furrow_status fw_conf_take_list(const furrow_learn_conf *conf, fw_key key, fw_arena *arena, fw_element **elements,
                                size_t *count, furrow_error *err) FURROW_MUST_USE;
bool fw_conf_has_key(const furrow_learn_conf *conf, fw_key key);
/* Whether the key or the JSON sets the value. */
bool fw_conf_is_set(const furrow_learn_conf *conf, fw_key key);
/* Whether Furrow's own defaults count: unless a JSON file was read, Angel's class named (ml.model.class.name), or the
 * key `defaults` says otherwise. */
bool fw_conf_recommends(const furrow_learn_conf *conf);
/* The short name of the built-in algorithm; NULL: the layers of the JSON. */
const char *fw_conf_algorithm(const furrow_learn_conf *conf);

/* The graph of the conf's algorithm; layers of the JSON set the shapes of layers of the same type. */
furrow_status fw_builtin_graph(fw_graph_spec **graph, const furrow_learn_conf *conf, const char *algorithm,
                               furrow_error *err) FURROW_MUST_USE;
/* Keys of shapes (rank, fc …) that are set must be among `used` (bits from FW_KEY_LOSS on): E_ARGUMENT for the others.
 */
furrow_status fw_graph_keys_unused(const furrow_learn_conf *conf, uint64_t used, const char *graph,
                                   furrow_error *err) FURROW_MUST_USE;
/* The short name of an algorithm: lr for LogisticRegression; NULL: it cannot be trained here. */
const char *fw_builtin_find(const char *name);
/* Whether a net has an output for each of several classes with SoftmaxLoss. */
bool fw_builtin_takes_classes(const char *name);
/* Whether the key `loss` is for an algorithm. */
bool fw_builtin_takes_loss(const char *name);
/* The short names, for messages: "lr, svm, …". */
extern const char fw_builtin_names[];

/* Furrow's own default of a key for fm with a ranking loss; NULL: the same as for fm. */
const char *fw_recommended_ranking(fw_loss_type loss, fw_key key);

/* Resolves a graph; all it holds is taken from `arena`. plan->data, model and train are set. */
furrow_status fw_graph_resolve(fw_graph *graph, fw_arena *arena, const furrow_learn_conf *conf, fw_plan *plan,
                               const fw_graph_spec *spec, furrow_error *err) FURROW_MUST_USE;

/* ---- Values that the data settles (settle.c) ---- */

typedef struct fw_settled_count {
  bool set;
  uint64_t value;
} fw_settled_count;

typedef struct fw_settled_real {
  bool set;
  double value; /* nine digits of it are kept */
} fw_settled_real;

typedef struct fw_settled_loss {
  bool set;
  fw_loss_type value;
} fw_settled_loss;

typedef struct fw_settled_labels {
  const double *values; /* ascending */
  size_t count;         /* 0: not set */
} fw_settled_labels;

typedef struct fw_settled_fields {
  const uint64_t *values; /* the field of the id first */
  size_t count;           /* 0: not set */
} fw_settled_fields;

/* Each field is a key of the same name. All zeros: nothing is set. */
typedef struct fw_settled {
  const char *format, *columns, *label_column, *weight_column, *delimiter, *objective; /* NULL: not set */
  const furrow_matrix_row_type *model_type;                                            /* NULL: not set */
  fw_settled_loss loss;
  fw_settled_labels labels;
  fw_settled_fields user_fields, item_fields;
  fw_settled_count index_base, range, fields, hour_field, classes, epochs, batch, patience, trees;
  fw_settled_real huber_delta, lr, l2, fc_l2;
  bool short_rows; /* false: not set */
} fw_settled;

/* Makes a copy of a configuration with these values as its keys. E_ARGUMENT: a key does not take its value. */
furrow_status fw_conf_settle(furrow_learn_conf **settled_conf, const furrow_learn_conf *conf, const fw_settled *settled,
                             furrow_error *err) FURROW_MUST_USE;
/* Whether the data still decides the value of a key: it is empty, -1 or auto. */
bool fw_conf_is_open(const furrow_learn_conf *conf, fw_key key);
/* Makes a copy of a configuration, and sets its open keys from the configuration of a model: how rows are read, the
 * classes, the slots, and the settings that all trees of a model share. */
furrow_status fw_conf_inherit(furrow_learn_conf **inherited, const furrow_learn_conf *conf,
                              const furrow_learn_conf *model, furrow_error *err) FURROW_MUST_USE;

/* ---- Weights of classes (class_weights.c) ---- */

/* All zeros: none. To be cleared. */
typedef struct fw_class_weights {
  bool balanced;
  double *factors; /* NULL: none were listed */
  size_t count;
} fw_class_weights;

/* Reads "none", "balanced", or one number for each class: W0,W1,…; of two classes the first is the negative one.
 * E_ARGUMENT: another text, fewer than two numbers, one that is negative or not finite, or all are 0. */
furrow_status fw_class_weights_parse(fw_class_weights *weights, const char *text, furrow_error *err) FURROW_MUST_USE;
void fw_class_weights_clear(fw_class_weights *weights);
/* Whether rows get factors at all. */
bool fw_class_weights_are_used(const fw_class_weights *weights);
/* E_ARGUMENT: the weights do not fit a model of `classes` classes (0: regression). */
furrow_status fw_class_weights_check(const fw_class_weights *weights, size_t classes,
                                     furrow_error *err) FURROW_MUST_USE;
/* The factor of each class, from the number of rows of each. Balanced, as scikit-learn: rows / (K * rows of the class),
 * K being the classes that have rows; then all classes have the same total weight, and the weight of all rows together
 * is unchanged. A class without rows gets 1. The weights must fit (fw_class_weights_check). */
void fw_class_weights_factors(const fw_class_weights *weights, const uint64_t *rows, size_t classes, double *factors);

#endif
