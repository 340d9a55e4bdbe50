/* furrow/learn.h: trains and applies models.
 *
 * A model is a graph of layers, as Angel describes it: one JSON file, or the name of a built-in algorithm (lr, svm,
 * linear, robust, softmax, mlr, fm, dnn, wide_and_deep, deepfm, pnn, nfm). docs/models.md has the formula, the graph
 * and the matrices of each.
 *
 * The shortest uses: a model from a file of samples, and the score of a row.
 *
 *   furrow_learn_conf *conf = NULL;
 *   furrow_trainer *trainer = NULL;
 *   furrow_status status = furrow_learn_conf_create(&conf, &err);
 *   if (status == FURROW_OK) status = furrow_learn_conf_set_algorithm(conf, "fm", &err);
 *   if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "rank", "8", &err);
 *   if (status == FURROW_OK) status = furrow_trainer_create(&trainer, conf, NULL, &err);
 *   if (status == FURROW_OK) status = furrow_trainer_fit(trainer, "clicks.libsvm", NULL, NULL, &err);
 *   if (status == FURROW_OK) status = furrow_trainer_save(trainer, "clicks.model", NULL, &err);
 *   furrow_trainer_free(trainer);
 *   furrow_learn_conf_free(conf);
 *
 *   furrow_scorer *scorer = NULL;
 *   furrow_scorer_scratch *space = NULL;
 *   furrow_score score;
 *   status = furrow_scorer_load(&scorer, "clicks.model", NULL, &err);
 *   if (status == FURROW_OK) status = furrow_scorer_scratch_create(&space, scorer, &err);
 *   if (status == FURROW_OK) status = furrow_scorer_score_row(scorer, space, &row, &score, &err);
 *
 * Threads: functions that take a const handle may run at once on one handle (a scorer, with one space for each thread);
 * anything else needs exclusive use of it.
 */
#ifndef FURROW_LEARN_H
#define FURROW_LEARN_H

#include <stdbool.h>

#include "furrow/model.h"
#include "furrow/rows.h"
#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Configuration -------------------------------------------------------------------------------------- */

/* What is trained and how: the graph of layers, the data, the training. Starts with Angel's defaults. */
typedef struct furrow_learn_conf furrow_learn_conf;

FURROW_API furrow_status furrow_learn_conf_create(furrow_learn_conf **conf, furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_learn_conf_free(furrow_learn_conf *conf);

/* The graph of a built-in algorithm: a short name (lr, deepfm …) or the name of Angel's class, with or without its
 * package. E_ARGUMENT lists the short names. */
FURROW_API furrow_status furrow_learn_conf_set_algorithm(furrow_learn_conf *conf, const char *name,
                                                         furrow_error *err) FURROW_MUST_USE;
/* Angel's JSON algorithm file, or the graph.json of a model. Sections that it does not have stay as they are; `layers`
 * replaces the graph. E_FORMAT: a key, type or value that is wrong, with its byte and its path (layers/2/outputdim). */
FURROW_API furrow_status furrow_learn_conf_read(furrow_learn_conf *conf, const void *text, size_t size,
                                                const char *file, furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_learn_conf_load(furrow_learn_conf *conf, const char *path,
                                                furrow_error *err) FURROW_MUST_USE;
/* Sets one thing: a key of Angel's (ml.epoch.num) or its short name (epochs). What is set here wins over the JSON,
 * whichever came first. E_ARGUMENT names the nearest key, or says what the value must be. */
FURROW_API furrow_status furrow_learn_conf_set(furrow_learn_conf *conf, const char *key, const char *value,
                                               furrow_error *err) FURROW_MUST_USE;
/* What counts for a key: the text that was set, else that of the JSON's data, model and train, else the default; NULL:
 * no such key. Valid until the conf is changed. */
FURROW_API const char *furrow_learn_conf_get(const furrow_learn_conf *conf, const char *key);
/* Resolves the graph: every layer's inputs and shape. E_ARGUMENT has the path of what does not fit. Called by whoever
 * uses a conf. */
FURROW_API furrow_status furrow_learn_conf_check(const furrow_learn_conf *conf, furrow_error *err) FURROW_MUST_USE;

/* The keys there are: for help texts and documents. */
typedef struct furrow_learn_key {
  const char *name;      /* "epochs": what people write, also --epochs */
  const char *angel_key; /* "ml.epoch.num"; NULL: Angel has none */
  const char *json_path; /* "train/epoch"; NULL: not in the JSON file */
  const char *value;     /* what it takes: "N", "X", "yes|no", "sgd|momentum|…" */
  const char *fallback;  /* the default, as text */
  const char *help;      /* one line */
} furrow_learn_key;

/* The i-th key, NULL past the end. */
FURROW_API const furrow_learn_key *furrow_learn_key_at(size_t i);

typedef enum furrow_describe_format {
  FURROW_DESCRIBE_TEXT, /* layers, shapes, optimizers, matrices, parameters, memory: for people */
  FURROW_DESCRIBE_JSON, /* the same for programs */
  FURROW_DESCRIBE_DOT,  /* the graph for graphviz */
  FURROW_DESCRIBE_SVG,  /* the graph as a picture */
  FURROW_DESCRIBE_ANGEL /* graph.json, as Angel writes it */
} furrow_describe_format;

/* The resolved configuration as text. `features` is the number of features if the conf gives no range (0: not known).
 * Free with furrow_free. */
FURROW_API furrow_status furrow_learn_conf_describe(const furrow_learn_conf *conf, furrow_describe_format kind,
                                                    uint64_t features, char **text, size_t *size,
                                                    furrow_error *err) FURROW_MUST_USE;

/* ---- Scores and metrics --------------------------------------------------------------------------------- */

/* What a model says about a row: Angel's columns of a prediction. */
typedef struct furrow_score {
  double pred;  /* the graph's output; softmax: that of the likeliest class */
  double proba; /* of the positive, or likeliest, class; 0 for regression */
  double label; /* what it is taken for: 1 or -1; softmax: the class; 0 for regression */
} furrow_score;

/* Figures of a set of scored rows; NaN: not defined for the loss or the labels. */
typedef struct furrow_learn_metrics {
  uint64_t rows;
  double weight;                      /* sum of the rows' weights */
  double loss;                        /* mean of the model's loss */
  double auc, accuracy;               /* two classes (accuracy also for more) */
  double logloss;                     /* of the probability */
  double rmse, mae;                   /* regression */
  double mean_label, mean_prediction; /* share of positives and mean probability; regression: mean values */
} furrow_learn_metrics;

/* ---- Training ------------------------------------------------------------------------------------------- */

typedef struct furrow_trainer furrow_trainer;

typedef struct furrow_trainer_params {
  unsigned threads;      /* 0: one for each processor. The model does not depend on it, unless hogwild */
  bool hogwild;          /* threads update without waiting for each other: faster, not repeatable */
  const char *load;      /* an existing model to go on from (incremental training); NULL: from the start */
  uint64_t max_features; /* refuse more features than that where the range is open; 0: no limit */
} furrow_trainer_params;

FURROW_API void furrow_trainer_params_init(furrow_trainer_params *params);
/* Allocates the parameters. The conf is copied. A model to load must fit the graph: E_FORMAT names the matrix. */
FURROW_API furrow_status furrow_trainer_create(furrow_trainer **trainer, const furrow_learn_conf *conf,
                                               const furrow_trainer_params *params, furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_trainer_free(furrow_trainer *trainer);

/* One update from the rows of `batch`, step by step: for programs that have their own loop. *loss (may be NULL) is the
 * mean loss before the update. A loss or score that is not a number is E_RANGE with the rows to blame; nothing has been
 * updated then. */
FURROW_API furrow_status furrow_trainer_step(furrow_trainer *trainer, const furrow_rowblock *batch, double *loss,
                                             furrow_error *err) FURROW_MUST_USE;
/* Loss and metrics of rows, nothing is updated. */
FURROW_API furrow_status furrow_trainer_evaluate(furrow_trainer *trainer, const furrow_rowblock *rows,
                                                 furrow_learn_metrics *metrics, furrow_error *err) FURROW_MUST_USE;

typedef struct furrow_epoch {
  uint32_t epoch; /* 1, 2 … */
  double learning_rate;
  /* Of the scores that the updates were made from; of gbdt after the round: figures of 65,536 rows at most, evenly
   * spread, though `rows` counts all. */
  furrow_learn_metrics train;
  furrow_learn_metrics valid; /* rows is 0 without validation data */
  double seconds;             /* of training; validation apart */
  bool best;                  /* the best so far by the chosen metric */
} furrow_epoch;

typedef struct furrow_trainer_fit_params {
  furrow_parser_params parser; /* format "auto": the conf's */
  bool stream;                 /* read the data anew in each epoch; false: keep it in memory */
  const char *metric;        /* that decides which epoch is best: "loss", "auc", "accuracy", "logloss", "rmse", "mae" */
  uint32_t patience;         /* stop after so many epochs that were not better; 0: never */
  bool keep_best;            /* end with the parameters of the best epoch */
  const char *checkpoint;    /* folder that gets a checkpoint; NULL: none. One that is there is replaced */
  uint32_t checkpoint_every; /* epochs; 1 */
  bool resume; /* go on from the checkpoint if there is one: the result is that of a run without a break */
  /* After each epoch; a status that is not OK ends the training with it (FURROW_END: ends it well). NULL: none */
  furrow_status (*epoch)(void *user, const furrow_epoch *epoch, furrow_error *err);
  /* Now and then within an epoch. NULL: none */
  furrow_status (*progress)(void *user, uint32_t epoch, uint64_t rows, uint64_t rows_total, furrow_error *err);
  void *user;
} furrow_trainer_fit_params;

FURROW_API void furrow_trainer_fit_params_init(furrow_trainer_fit_params *params);
/* All epochs over the data of a URI. `valid` is validation data; NULL: the share of the training data that the conf
 * names. params NULL: the defaults. */
FURROW_API furrow_status furrow_trainer_fit(furrow_trainer *trainer, const char *train, const char *valid,
                                            const furrow_trainer_fit_params *params, furrow_error *err) FURROW_MUST_USE;
/* The epochs so far, 0 … *count - 1, and which was best (1-based; 0: none). Valid until the next call of fit. */
FURROW_API const furrow_epoch *furrow_trainer_history(const furrow_trainer *trainer, size_t *count, uint32_t *best);
/* What the last fit left out and passed over in its files; of `valid` nothing where there was no such file. Either may
 * be NULL. */
FURROW_API void furrow_trainer_get_stats(const furrow_trainer *trainer, furrow_parser_stats *train,
                                         furrow_parser_stats *valid);

/* A training between two epochs, as fit_params.checkpoint keeps it. */
typedef struct furrow_checkpoint_info {
  uint64_t bytes;        /* of the file */
  uint32_t number_size;  /* bytes of a parameter */
  uint64_t steps;        /* updates so far */
  uint32_t epochs, best; /* done; the best one, 0: none */
  furrow_epoch last;     /* the last epoch; all zeros if there is none */
} furrow_checkpoint_info;

/* Reads and checks a checkpoint file, or that of a folder. E_NOT_FOUND: there is none; E_FORMAT: this is none (at byte
 * 0), or it is damaged. Whether it fits a configuration is seen when a training goes on from it. */
FURROW_API furrow_status furrow_checkpoint_load_info(const char *path, furrow_checkpoint_info *info,
                                                     furrow_error *err) FURROW_MUST_USE;

typedef struct furrow_trainer_save_params {
  furrow_matrix_write_params write;    /* separator NULL, as it is at first: that of `formats` */
  const furrow_layer_formats *formats; /* format of each layer's matrices, separator of text; NULL: the defaults */
  int32_t servers;                     /* 1 */
  int64_t part_size;                   /* elements of a partition; 0: Angel's rule */
} furrow_trainer_save_params;

FURROW_API void furrow_trainer_save_params_init(furrow_trainer_save_params *params);
/* The model directory that Angel would write: the matrices of each layer, graph.json. It appears in one step. */
FURROW_API furrow_status furrow_trainer_save(const furrow_trainer *trainer, const char *folder,
                                             const furrow_trainer_save_params *params,
                                             furrow_error *err) FURROW_MUST_USE;

/* ---- Rows to score -------------------------------------------------------------------------------------- */

/* Reads rows as training does: in the format of the conf, features counted from where it says. */
typedef struct furrow_sample_reader furrow_sample_reader;

/* params NULL: the defaults; a format that is not "auto" wins over the conf's. */
FURROW_API furrow_status furrow_sample_reader_open(furrow_sample_reader **samples, const furrow_learn_conf *conf,
                                                   const char *uri, const furrow_parser_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* The next rows, valid until the next call; FURROW_END when there are no more. */
FURROW_API furrow_status furrow_sample_reader_next(furrow_sample_reader *samples, const furrow_rowblock **block,
                                                   furrow_error *err) FURROW_MUST_USE;
/* What has been left out and passed over so far. */
FURROW_API void furrow_sample_reader_get_stats(const furrow_sample_reader *samples, furrow_parser_stats *stats);
FURROW_API void furrow_sample_reader_close(furrow_sample_reader *samples);

/* ---- Scoring -------------------------------------------------------------------------------------------- */

/* A loaded model. Immutable: any number of threads may use it, each with a space of its own. */
typedef struct furrow_scorer furrow_scorer;
typedef struct furrow_scorer_scratch furrow_scorer_scratch;

typedef enum furrow_fc_order {
  FURROW_FC_IN_OUT, /* fc weights are in x out, as Angel's trainer writes them */
  FURROW_FC_OUT_IN  /* out x in, as models of its serving (mlcore) are */
} furrow_fc_order;

typedef struct furrow_scorer_params {
  const furrow_learn_conf *conf; /* NULL: the model's graph.json */
  furrow_fc_order fc_order;
  bool absent_is_zero; /* of trees: as Angel walks them, whatever gbdt.split.missing says */
  unsigned threads;    /* that load; 0: one for each processor */
} furrow_scorer_params;

FURROW_API void furrow_scorer_params_init(furrow_scorer_params *params);
/* Loads a model directory, ours or Angel's. E_FORMAT names the matrix that does not fit the graph; E_NOT_FOUND the one
 * that is missing. */
FURROW_API furrow_status furrow_scorer_load(furrow_scorer **scorer, const char *folder,
                                            const furrow_scorer_params *params, furrow_error *err) FURROW_MUST_USE;
/* From a trainer as it is now: the parameters are copied. */
FURROW_API furrow_status furrow_scorer_create(furrow_scorer **scorer, const furrow_trainer *trainer,
                                              furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_scorer_free(furrow_scorer *scorer);
/* The configuration of the model; belongs to the scorer. */
FURROW_API const furrow_learn_conf *furrow_scorer_conf(const furrow_scorer *scorer);

FURROW_API furrow_status furrow_scorer_scratch_create(furrow_scorer_scratch **space, const furrow_scorer *scorer,
                                                      furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_scorer_scratch_free(furrow_scorer_scratch *space);

/* The score of one row; allocates nothing unless the row is longer than any before in this space. A feature that the
 * model does not have counts as 0. E_RANGE: a row that does not fit the model (a field too many, …). */
FURROW_API furrow_status furrow_scorer_score_row(const furrow_scorer *scorer, furrow_scorer_scratch *space,
                                                 const furrow_row *row, furrow_score *score,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Scores of all rows of a block; scores has room for block->size. */
FURROW_API furrow_status furrow_scorer_score_block(const furrow_scorer *scorer, furrow_scorer_scratch *space,
                                                   const furrow_rowblock *block, furrow_score *scores,
                                                   furrow_error *err) FURROW_MUST_USE;
/* All classes of a softmax model (other models: one number, the probability): *count of them to `proba`. */
FURROW_API size_t furrow_scorer_class_count(const furrow_scorer *scorer);
FURROW_API furrow_status furrow_scorer_class_probabilities(const furrow_scorer *scorer, furrow_scorer_scratch *space,
                                                           const furrow_row *row, double *proba,
                                                           furrow_error *err) FURROW_MUST_USE;

/* ---- Trees ---------------------------------------------------------------------------------------------- */

/* What a forest (gbdt) is like. */
typedef struct furrow_forest_info {
  size_t trees;    /* 0: the model is no forest */
  size_t classes;  /* trees of a round: 1, or the classes of softmax; tree t is of class t % classes */
  unsigned levels; /* of nodes, as the matrices have room for: 2^levels - 1 nodes in a tree */
  unsigned depth;  /* questions on the longest way to a leaf */
  uint64_t leaves; /* of all trees */
  bool sums;       /* gain and cover of nodes are known */
} furrow_forest_info;

FURROW_API void furrow_scorer_get_forest_info(const furrow_scorer *scorer, furrow_forest_info *info);

/* Node 0 is the root; rows go from node n to 2n+1 or 2n+2. Nodes that no row can come to do not exist. */
typedef struct furrow_tree_node {
  bool exists, is_leaf;
  int32_t feature;  /* that is asked for, a column of the model; -1: a leaf's */
  double value;     /* rows with feature <= value go to 2n+1 */
  bool absent_left; /* rows without the feature do, too */
  double predict;   /* what a leaf adds to the score, times the learning rate */
  double gain;      /* of the split; NaN: not known */
  double cover;     /* sum of the hessians of the rows that came here in training; NaN: not known */
} furrow_tree_node;

/* E_RANGE: there is no such tree, or trees have fewer nodes. */
FURROW_API furrow_status furrow_scorer_get_tree_node(const furrow_scorer *scorer, size_t tree, size_t node,
                                                     furrow_tree_node *about, furrow_error *err) FURROW_MUST_USE;

/* What a feature does in all trees: sums over the splits that ask for it. */
typedef struct furrow_feature_importance {
  int32_t feature;
  uint64_t count; /* splits */
  double gain;    /* NaN: not known */
  double cover;   /* of the split nodes; NaN: not known */
} furrow_feature_importance;

/* Features that some node asks for, by falling gain (where it is not known, by count), then ascending. Free *list with
 * furrow_free(list). E_STATE: the model is no forest. */
FURROW_API furrow_status furrow_scorer_feature_importance(const furrow_scorer *scorer, furrow_feature_importance **list,
                                                          size_t *count, furrow_error *err) FURROW_MUST_USE;

/* Trees first … end-1 as text for people, as JSON, for graphviz, or (one tree) as a picture; there is none as Angel
 * writes it. Free with furrow_free. E_RANGE: there are no such trees, or too many leaves for a picture. */
FURROW_API furrow_status furrow_scorer_describe_trees(const furrow_scorer *scorer, furrow_describe_format kind,
                                                      size_t first, size_t end, char **text, size_t *size,
                                                      furrow_error *err) FURROW_MUST_USE;

/* ---- Vectors for search --------------------------------------------------------------------------------- */

/* Rows of a factorization machine split into what is asked for (a user, a context) and what is found (an item):
 *   z(query and item) = z(query) + <q, t>, q = [sum of the query's u, 1], t = [sum of the item's u, item's own part]
 * with u = value * v of a feature; the item's own part is w.x plus what its features give among themselves. So an index
 * of the vectors t for inner products, asked with q, ranks items as the model does. It holds for graphs with one
 * BiInnerSumCross and an input layer under a SumPooling: fm; of deepfm it gives the part without its fc layers. */

/* Numbers of such a vector: factors + 1. E_UNSUPPORTED says what the graph lacks. */
FURROW_API furrow_status furrow_scorer_vector_size(const furrow_scorer *scorer, size_t *size,
                                                   furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_scorer_item_vector(const furrow_scorer *scorer, const furrow_row *row, float *vector,
                                                   furrow_error *err) FURROW_MUST_USE;
/* *rest (may be NULL): z(query), which <q, t> is added to. */
FURROW_API furrow_status furrow_scorer_query_vector(const furrow_scorer *scorer, const furrow_row *row, float *vector,
                                                    double *rest, furrow_error *err) FURROW_MUST_USE;

/* The features first … end-1 that the model has weights for, or asks for in its trees, ascending. Free *ids with
 * furrow_free(ids).
 */
FURROW_API furrow_status furrow_scorer_features(const furrow_scorer *scorer, uint64_t first, uint64_t end,
                                                uint64_t **ids, size_t *count, furrow_error *err) FURROW_MUST_USE;

/* Gathers scores into metrics, a calibration table and ROC and PR curves. Takes label (as the data has it, after the
 * conf's transform) and weight of each row; memory does not grow with the rows: for AUC, curves and calibration, scores
 * that differ by less than 1/1024 of themselves may count as ties, as do those below 2^-64 or from 2^64 on, of either
 * sign. */
typedef struct furrow_evaluation furrow_evaluation;

FURROW_API furrow_status furrow_evaluation_create(furrow_evaluation **evaluation, const furrow_scorer *scorer,
                                                  furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_evaluation_free(furrow_evaluation *evaluation);
/* Scores and counts a block; for several threads use an evaluation for each and merge them. */
FURROW_API furrow_status furrow_evaluation_add_block(furrow_evaluation *evaluation, furrow_scorer_scratch *space,
                                                     const furrow_rowblock *block, furrow_error *err) FURROW_MUST_USE;
FURROW_API void furrow_evaluation_merge(furrow_evaluation *into, const furrow_evaluation *from);
FURROW_API void furrow_evaluation_get_metrics(const furrow_evaluation *evaluation, furrow_learn_metrics *metrics);

/* Row i of a calibration table of `bins` bins of equal width (i < bins): rows with a probability in [low, high). */
typedef struct furrow_calibration_bin {
  double low, high, rows, mean_prediction, mean_label;
} furrow_calibration_bin;
FURROW_API void furrow_evaluation_get_calibration_bin(const furrow_evaluation *evaluation, size_t bins, size_t i,
                                                      furrow_calibration_bin *row);

/* Points of the ROC curve (x false positive rate, y true positive rate) or PR curve (x recall, y precision), at most
 * `room` of them in the order of falling thresholds; returns how many. */
typedef struct furrow_curve_point {
  double x, y, threshold;
} furrow_curve_point;
FURROW_API size_t furrow_evaluation_roc_curve(const furrow_evaluation *evaluation, furrow_curve_point *points,
                                              size_t room);
FURROW_API size_t furrow_evaluation_pr_curve(const furrow_evaluation *evaluation, furrow_curve_point *points,
                                             size_t room);

#ifdef __cplusplus
}
#endif

#endif
