/* furrow/learn.h: trains and applies models.
 *
 * A model is a graph of layers, as Angel describes it: one JSON file, or the name of a built-in algorithm (lr, svm,
 * linear, robust, softmax, mlr, fm, ffm, dnn, wide_and_deep, deepfm, pnn, nfm), or a forest of boosted trees (gbdt).
 * docs/nets.md and docs/trees.md have the formula, the graph and the matrices of each.
 *
 * The shortest uses: a model from a file of samples, and the score of a row.
 *
 *   furrow_status status = furrow_train(NULL, "fm", "clicks.libsvm", "clicks.model", NULL, &err);
 *
 *   furrow_scorer *scorer = NULL;
 *   furrow_scorer_scratch *scratch = NULL;
 *   furrow_score score;
 *   status = furrow_scorer_load(&scorer, "clicks.model", NULL, &err);
 *   if (status == FURROW_OK) status = furrow_scorer_scratch_create(&scratch, scorer, &err);
 *   if (status == FURROW_OK) status = furrow_scorer_score_row(scorer, scratch, &row, &score, &err);
 *
 * Errors: any call may also fail with E_MEMORY. A params struct that its _init did not set up is E_ARGUMENT, one of a
 * newer header E_UNSUPPORTED.
 * Threads: functions that take a const handle may run at once on one handle (a scorer: with one scratch for each
 * thread); anything else needs exclusive use of it.
 */
#ifndef FURROW_LEARN_H
#define FURROW_LEARN_H

#include <stdbool.h>
#include <string.h>

#include "furrow/comm.h"
#include "furrow/model.h"
#include "furrow/rows.h"
#include "furrow/status.h"
#include "furrow/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Configuration -------------------------------------------------------------------------------------- */

/* What is trained and how: the graph of layers, the data, the training. Keys that are not set have Furrow's own default
 * for the algorithm (furrow_learn_recommended), or Angel's default once a JSON file was read. */
typedef struct furrow_learn_conf furrow_learn_conf;

/* Makes a configuration with the defaults and without a graph.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_learn_conf_free. */
FURROW_API furrow_status furrow_learn_conf_create(furrow_learn_conf **conf, furrow_error *err) FURROW_MUST_USE;
/* Frees a configuration. Takes NULL. */
FURROW_API void furrow_learn_conf_free(furrow_learn_conf *conf);

/* Sets the graph of a built-in algorithm: a short name (lr, deepfm …) or the name of Angel's class, with or without its
 * package.
 * Errors:  E_ARGUMENT, an unknown name; the message lists the short names. */
FURROW_API furrow_status furrow_learn_conf_set_algorithm(furrow_learn_conf *conf, const char *name,
                                                         furrow_error *err) FURROW_MUST_USE;
/* Reads Angel's JSON algorithm file, or the graph.json of a model: `size` bytes of text, called `file` in messages.
 * Sections that are missing in the text stay unchanged; its `layers` replace the graph. A section `furrow`, which Angel
 * ignores, has keys by their short names: {"furrow": {"algorithm": "fm", "defaults": "furrow", "rank": "4"}}; they
 * count as set, unless they were set before.
 * Errors:  E_FORMAT, a key, type or value that is wrong: err has its byte, the message its path (layers/2/outputdim).
 */
FURROW_API furrow_status furrow_learn_conf_read(furrow_learn_conf *conf, const void *text, size_t size,
                                                const char *file, furrow_error *err) FURROW_MUST_USE;
/* Reads such a file by its path.
 * Errors:  E_NOT_FOUND; E_IO; E_FORMAT as furrow_learn_conf_read. */
FURROW_API furrow_status furrow_learn_conf_load(furrow_learn_conf *conf, const char *path,
                                                furrow_error *err) FURROW_MUST_USE;
/* Reads the configuration of a model directory: its graph.json and, if there is one, its furrow.json, which has the
 * columns and labels of the training data.
 * Errors:  E_NOT_FOUND, no graph.json; E_IO; E_FORMAT; E_UNSUPPORTED, a furrow.json of a later version, or a
 *          recommender of a log (furrow/recommend.h), which does not score rows; E_STATE, another program replaced the
 *          model meanwhile. */
FURROW_API furrow_status furrow_learn_conf_load_model(furrow_learn_conf *conf, const char *folder,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Calls visit for each value of a furrow.json, in the order of the file. member: the path of the value, as
 * "training/epochs", at most 255 bytes; elements of a list have the path of the list. text: a string, a number as the
 * file has it, "true" or "false"; NULL: null.
 * Errors:  E_NOT_FOUND; E_IO; E_MEMORY; E_FORMAT, before the first visit; E_UNSUPPORTED, a later version; what visit
 *          returned other than OK, which ends the call. */
FURROW_API furrow_status furrow_model_json_for_each(const char *path,
                                                    furrow_status (*visit)(void *user, const char *member,
                                                                           const char *text),
                                                    void *user, furrow_error *err) FURROW_MUST_USE;
/* Returns: whether a column of this name (in upper or lower case) is taken for the label column of a table if none is
 * named: label, target, y, class, click, clicked, rating, outcome, response, survived, converted. */
FURROW_API bool furrow_learn_is_label_name(const char *name);
/* Sets a key, by Angel's name (ml.epoch.num) or by its short name (epochs). A value set here overrides the JSON, in
 * whichever order they come. angel.ml.conf reads the JSON file that it names. Angel's keys without a meaning here, such
 * as angel.ps.number, are accepted and ignored: furrow_learn_conf_ignored lists them.
 * Errors:  E_ARGUMENT, an unknown key (the message names the nearest one) or a value that it does not take; of
 *          angel.ml.conf as furrow_learn_conf_load. */
FURROW_API furrow_status furrow_learn_conf_set(furrow_learn_conf *conf, const char *key, const char *value,
                                               furrow_error *err) FURROW_MUST_USE;
/* Returns: the value of a key: the text that was set, else the value in the JSON's data, model and train, else the
 *          default; NULL for an unknown key.
 * Owner:   the configuration; valid until it is changed. */
FURROW_API const char *furrow_learn_conf_get(const furrow_learn_conf *conf, const char *key);
/* Returns: the i-th key that was set and has no meaning here, each once, in the order of setting; NULL past the end.
 *          *changes_model (may be NULL): whether Angel's training depends on it, as on ml.gbdt.max.leaf.weight; the
 *          keys of its cluster have no influence.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_learn_conf_ignored(const furrow_learn_conf *conf, size_t i, bool *changes_model);
/* Resolves the graph: the inputs and the shape of every layer. All functions that take a configuration do so.
 * Errors:  E_ARGUMENT, a layer or a value that does not fit; the message has its path. */
FURROW_API furrow_status furrow_learn_conf_check(const furrow_learn_conf *conf, furrow_error *err) FURROW_MUST_USE;

/* A key of configurations, for help texts and documents. The library allocates it; it may grow at its end. */
typedef struct furrow_learn_key {
  const char *name;      /* short name: "epochs" */
  const char *angel_key; /* "ml.epoch.num"; NULL: Angel has none */
  const char *json_path; /* "train/epoch"; NULL: not in the JSON file */
  const char *value;     /* values that it accepts: "N", "X", "yes|no", "sgd|momentum|…" */
  const char *fallback;  /* Angel's default, as text */
  const char *help;      /* one line */
} furrow_learn_key;

/* Returns: the i-th key; NULL past the end.
 * Owner:   the library; valid for ever. */
FURROW_API const furrow_learn_key *furrow_learn_key_at(size_t i);

/* Returns: Furrow's own default of a key for an algorithm, as text ("auto": the data decides); NULL: it has none, and
 *          `fallback` counts. Furrow's own defaults count unless a JSON file was read, the key `algorithm`
 *          (ml.model.class.name) is set, or the key `defaults` is "angel". They may get better in later versions.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_learn_recommended(const char *algorithm, const char *key);

/* How a description is written. */
typedef enum furrow_describe_format {
  FURROW_DESCRIBE_TEXT,  /* layers, shapes, optimizers, matrices, parameters, memory: for people */
  FURROW_DESCRIBE_JSON,  /* the same for programs */
  FURROW_DESCRIBE_DOT,   /* the graph for graphviz */
  FURROW_DESCRIBE_SVG,   /* the graph as a picture */
  FURROW_DESCRIBE_ANGEL, /* graph.json, as Angel writes it */
  FURROW_DESCRIBE_KEYS /* a JSON file with one section, furrow: the algorithm and the settings that count, Furrow's own
                          defaults among them, but not what the data decides; for furrow_learn_conf_read */
} furrow_describe_format;

/* Describes the resolved configuration: *size bytes of text, terminated. `features` is the number of features if the
 * configuration gives no range (0: unknown).
 * Errors:  E_ARGUMENT as furrow_learn_conf_check, or an unknown format; E_UNSUPPORTED, a picture of gbdt, or keys of a
 *          graph from a JSON file.
 * Owner:   the caller, who frees *text with furrow_free. */
FURROW_API furrow_status furrow_learn_conf_describe(const furrow_learn_conf *conf, furrow_describe_format format,
                                                    uint64_t features, char **text, size_t *size,
                                                    furrow_error *err) FURROW_MUST_USE;

/* ---- Scores and metrics --------------------------------------------------------------------------------- */

/* The score of a row: Angel's columns of a prediction. Layout fixed. */
typedef struct furrow_score {
  double pred;  /* the graph's output; softmax: the output for the likeliest class; losses of counts: exp of it */
  double proba; /* probability of the positive, or likeliest, class; 0 for regression */
  double label; /* the label of the predicted class, as in the data; for a model that does not know its labels
                   (furrow_scorer_class_label): 1 or -1, softmax: the number of the class. 0 for regression */
} furrow_score;

/* Figures of a set of scored rows; NaN: not defined for the loss or the labels. */
typedef struct furrow_learn_metrics {
  size_t size;            /* set by furrow_learn_metrics_init */
  uint64_t rows;          /* rows that were scored */
  double weight;          /* sum of the rows' weights */
  double loss;            /* mean of the model's loss */
  double auc;             /* area under the ROC curve, a tie being half right; two classes */
  double accuracy;        /* share of rows whose class is predicted; two or more classes */
  double logloss;         /* mean logarithmic loss of the probability; two or more classes */
  double rmse, mae;       /* root of the mean squared error, mean absolute error; regression */
  double mean_label;      /* share of positive rows; regression: mean label */
  double mean_prediction; /* mean probability; regression: mean prediction */
  double pr_auc;          /* average precision: the area under the precision-recall curve, in steps; two classes */
  double precision; /* precision of the positive class, where the prediction is the likelier class; of several classes
                       the plain mean over the classes that are a label or a prediction. As in scikit-learn, a share of
                       nothing is
                       0 */
  double recall;    /* likewise */
  double f1;        /* likewise */
  double r2;        /* 1 - squared error / squared error of the mean label; regression, labels that differ */
  double constant_logloss;  /* logloss of a constant prediction: the shares of the classes. A model with a logloss that
                               is not better has learned nothing that helps on these rows */
  double constant_accuracy; /* accuracy if the largest class is always predicted */
  double constant_rmse;     /* rmse if the mean label is always predicted */
  uint64_t binned; /* 0: auc and pr_auc are exact; else the number of rows that were counted in bins, where scores that
                      differ by less than a factor of 1/1024 may count as ties: see furrow_evaluation and
                      furrow_epoch */
  double ndcg;     /* NDCG of the first 10 results. With losses that rank items, for validation rows during training:
                      the mean over users, ranking all items that the user does not have in training rows. With gbdt and
                      rank:ndcg: the mean over groups (qid) that have a label above 0; the loss is then 1 - ndcg */
  double pinball;  /* mean pinball loss of the level `quantile`, which is the loss; gbdt with reg:quantileerror */
  double deviance; /* mean Poisson deviance, which is the loss; PoissonLoss, gbdt with count:poisson */
  double constant_loss; /* loss of the best constant: the median, the quantile or the mean of the labels. PoissonLoss;
                           gbdt with reg:absoluteerror, reg:quantileerror or count:poisson */
} furrow_learn_metrics;

/* Prepares metrics for the calls that fill them. */
static inline void furrow_learn_metrics_init(furrow_learn_metrics *metrics) {
  memset(metrics, 0, sizeof *metrics);
  metrics->size = sizeof *metrics;
}

/* Fills in mean and standard deviation (n - 1) of each figure over several sets of rows, such as folds. Rows, weight
 * and binned are sums. A figure is NaN if one of the sets lacks it, and so is the deviation of a single set. */
FURROW_API void furrow_learn_metrics_summarize(const furrow_learn_metrics *sets, size_t count,
                                               furrow_learn_metrics *mean, furrow_learn_metrics *deviation);

/* ---- Training ------------------------------------------------------------------------------------------- */

/* A model in training: its parameters, the state of the optimizers, the epochs so far. */
typedef struct furrow_trainer furrow_trainer;

/* How a trainer is made. */
typedef struct furrow_trainer_params {
  size_t size;             /* set by furrow_trainer_params_init */
  unsigned threads;        /* 0: one for each processor. The model does not depend on it */
  bool hogwild;            /* has no effect; a fit adds a note about that */
  const char *load;        /* an existing model to train further (incremental training); NULL: a new one */
  uint64_t max_features;   /* fail if the data has more features and no range is set; 0: no limit */
  const furrow_comm *comm; /* processes that train one model together, each with its part of the data; it must outlive
                              the trainer, whose functions are then collective. NULL: this process alone */
} furrow_trainer_params;

/* Sets the defaults. */
static inline void furrow_trainer_params_init(furrow_trainer_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Makes a trainer: resolves the configuration, which is copied, and allocates the parameters. params NULL: the
 * defaults.
 * Errors:  E_ARGUMENT, a configuration that does not fit (furrow_learn_conf_check) or has no labels; of params->load:
 *          E_NOT_FOUND, no such model; E_FORMAT, a matrix that does not fit the graph (the message names it);
 *          E_ARGUMENT, trees of another kind.
 * Owner:   the caller, who frees it with furrow_trainer_free. */
FURROW_API furrow_status furrow_trainer_create(furrow_trainer **trainer, const furrow_learn_conf *conf,
                                               const furrow_trainer_params *params, furrow_error *err) FURROW_MUST_USE;
/* Frees a trainer. Takes NULL. */
FURROW_API void furrow_trainer_free(furrow_trainer *trainer);

/* Updates the parameters once, from the rows of `batch`: for programs with their own loop. *loss (may be NULL) is the
 * mean loss before the update. After a failure nothing has been updated.
 * Errors:  E_RANGE, a loss or score that is not a number, or a row that does not fit the model: the message has the
 * row; E_ARGUMENT, no rows, or class-weights that are balanced before furrow_trainer_fit counted the rows;
 * E_UNSUPPORTED, a forest, or a loss that ranks: furrow_trainer_fit alone can train them. */
FURROW_API furrow_status furrow_trainer_step(furrow_trainer *trainer, const furrow_rowblock *batch, double *loss,
                                             furrow_error *err) FURROW_MUST_USE;
/* Scores rows and fills in their metrics; updates nothing.
 * Errors:  E_RANGE, a loss or score that is not a number, or a row that does not fit the model. */
FURROW_API furrow_status furrow_trainer_evaluate(furrow_trainer *trainer, const furrow_rowblock *rows,
                                                 furrow_learn_metrics *metrics, furrow_error *err) FURROW_MUST_USE;

/* An epoch of a net, or a round of a forest. The library allocates it; it may grow at its end. */
typedef struct furrow_epoch {
  uint32_t epoch;       /* 1, 2 … */
  bool best;            /* the best so far by the chosen metric */
  double learning_rate; /* the rate at the start of the epoch */
  double seconds;       /* seconds of training, without validation */
  /* Metrics of the scores that the updates were made from. gbdt: metrics after the round, of at most 65,536 rows,
   * evenly spread; `rows` still counts all rows. AUC is exact for up to 262,144 rows; beyond that and in several
   * processes it comes from bins. Lives as long as the epoch. */
  const furrow_learn_metrics *train;
  /* Metrics of the validation rows, exact for up to 33,554,432 rows in one process; rows is 0 without validation data.
   * Never NULL. */
  const furrow_learn_metrics *valid;
} furrow_epoch;

/* How a training runs. */
typedef struct furrow_trainer_fit_params {
  size_t size;                        /* set by furrow_trainer_fit_params_init */
  const furrow_parser_params *parser; /* how rows are read; NULL: the defaults. Format "auto": the configuration's */
  bool stream;                        /* read the data again in each epoch; false: keep it in memory */
  const char *metric;                 /* decides which epoch is best: "loss", "auc", "accuracy", "logloss", "rmse",
                                         "mae", "ndcg"; NULL: "loss", of losses that rank "ndcg" */
  uint32_t patience;                  /* stop after this many epochs without improvement; 0: never */
  bool keep_best;                     /* end with the parameters of the best epoch */
  const char *checkpoint;             /* folder for a checkpoint, which replaces an earlier one; NULL: none */
  uint32_t checkpoint_every;          /* epochs; 0: each */
  bool resume; /* continue from the checkpoint if there is one: the result is the same as without the interruption */
  /* Called after each epoch; the epoch is valid until the training ends. A status other than OK ends the training, and
   * becomes its result (FURROW_END: the training ends with success). NULL: none. */
  furrow_status (*epoch)(void *user, const furrow_epoch *epoch, furrow_error *err);
  void *epoch_user; /* passed to `epoch` */
  /* Called from time to time within an epoch and at its end, with its rows: the phase is "training"; gbdt, which reads
   * its rows before the first round: "reading". Between passes over the rows before that: "preparing", with 0 of 0.
   * A net that is compared with its linear model on other folds: "comparing with a linear model", with folds. If
   * held-out rows chose the number of trees or epochs: "training with all rows", with trees or epochs.
   * NULL: none. Both callbacks may call furrow_trainer_epoch_count and furrow_trainer_get_epoch. */
  furrow_progress progress;
  void *progress_user; /* passed to `progress` */
  /* Cross-validation, for rows in memory: the number of folds (2 … 255; 0: none), of which one is left out. Its rows
   * are not used in training, not even to choose the best epoch; they are scored at the end:
   * furrow_trainer_get_fold_metrics. The seed decides which rows are in which fold; each fold has the same share of
   * each class. */
  uint32_t folds;
  uint32_t fold; /* the fold that is left out: 0 … folds-1 */
  /* Share of the rows that are not left out to train on, for quick trials with rows in memory; 0 and 1: all. The seed
   * decides which rows; the share is the same for each class. The rows of a smaller share are part of every larger
   * one. */
  double share;
} furrow_trainer_fit_params;

/* Sets the defaults: rows in memory, the best epoch by loss, no checkpoint. */
static inline void furrow_trainer_fit_params_init(furrow_trainer_fit_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->metric = "loss";
  params->checkpoint_every = 1;
}

/* Trains all epochs over the data of a URI. `valid` is validation data; NULL: the share of the training data that the
 * configuration names. params NULL: the defaults.
 * Errors:  E_NOT_FOUND, E_IO, E_PARSE, of the data; E_RANGE, a row that does not fit the model, or a loss that is not a
 *          number; E_ARGUMENT, no rows, a metric that the model does not have, fewer rows than folds, folds or a share
 *          of rows that are streamed, or with a checkpoint; of a checkpoint: E_FORMAT, damaged, E_STALE, of another
 *          configuration or other data, E_STATE, made without keep_best; E_CANCELLED by the progress callback; the
 *          status of the epoch callback. */
FURROW_API furrow_status furrow_trainer_fit(furrow_trainer *trainer, const char *train, const char *valid,
                                            const furrow_trainer_fit_params *params, furrow_error *err) FURROW_MUST_USE;
/* Returns: the number of epochs so far, including the epochs of a checkpoint from which the training continued. */
FURROW_API size_t furrow_trainer_epoch_count(const furrow_trainer *trainer);
/* Returns: the i-th epoch, counted from 0; NULL past the end.
 * Owner:   the trainer; valid until the next call of furrow_trainer_fit; inside a callback, until it returns. */
FURROW_API const furrow_epoch *furrow_trainer_get_epoch(const furrow_trainer *trainer, size_t i);
/* Returns: the best epoch by the metric of the last fit, counted from 1; 0: none. */
FURROW_API uint32_t furrow_trainer_best_epoch(const furrow_trainer *trainer);
/* Fills in the figures of the rows that the last fit left out as a fold; rows is 0 where there were none. */
FURROW_API void furrow_trainer_get_fold_metrics(const furrow_trainer *trainer, furrow_learn_metrics *metrics);
/* Fills in what the last fit left out and skipped in its files; `valid` gets zeros if there was no separate validation
 * file. Either may be NULL. */
FURROW_API void furrow_trainer_get_stats(const furrow_trainer *trainer, furrow_parser_stats *train,
                                         furrow_parser_stats *valid);

/* Returns: whether the last fit sought the exact minimum: its epochs are ten iterations each, and the last is the
 * model.
 */
FURROW_API bool furrow_trainer_is_exact(const furrow_trainer *trainer);
/* Returns: the number of notes of the last fit: what it found and changed (labels, a learning rate that was halved, a
 *          net that fell back to a linear model), and what is wrong with the model. */
FURROW_API size_t furrow_trainer_note_count(const furrow_trainer *trainer);
/* Returns: the i-th note, a sentence; NULL past the end. *warning (may be NULL): the model may be useless.
 * Owner:   the trainer; valid until the next call of furrow_trainer_fit. */
FURROW_API const char *furrow_trainer_get_note(const furrow_trainer *trainer, size_t i, bool *warning);

/* A training between two epochs, as the checkpoint of furrow_trainer_fit_params keeps it. The library allocates it; it
 * may grow at its end. */
typedef struct furrow_checkpoint_info {
  uint64_t bytes;           /* bytes of the file */
  uint32_t number_size;     /* bytes of a parameter: 4 or 8 */
  uint32_t epochs;          /* done so far */
  uint32_t best;            /* the best one, counted from 1; 0: none */
  uint64_t steps;           /* updates so far */
  const furrow_epoch *last; /* the last epoch; NULL: none is done. Lives as long as the info */
} furrow_checkpoint_info;

/* Reads and checks a checkpoint: a file, or the checkpoint in a folder. Whether it fits a configuration is checked when
 * a training continues from it.
 * Errors:  E_NOT_FOUND, no such file; E_IO; E_FORMAT, not a checkpoint (err->offset is 0) or a damaged one.
 * Owner:   the caller, who frees it with furrow_checkpoint_info_free. */
FURROW_API furrow_status furrow_checkpoint_info_load(furrow_checkpoint_info **info, const char *path,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Frees an info. Takes NULL. */
FURROW_API void furrow_checkpoint_info_free(furrow_checkpoint_info *info);

/* How a model is saved. */
typedef struct furrow_trainer_save_params {
  size_t size;                         /* set by furrow_trainer_save_params_init */
  bool overwrite;                      /* replace an existing model; false: E_EXISTS */
  const furrow_layer_formats *formats; /* format of each layer's matrices, separator of text; NULL: the defaults */
  int32_t servers;                     /* number of Angel's servers whose files are written; 0: one for each rank */
  int64_t part_size;                   /* elements of a partition; 0: Angel's rule */
  /* How matrices are written; NULL: the defaults. Its separator counts if formats is NULL; its overwrite has no
   * effect. */
  const furrow_matrix_write_params *write;
  /* Figures of a cross-validation, which furrow.json keeps with their mean and deviation; NULL: none. */
  const furrow_learn_metrics *folds;
  size_t fold_count; /* number of folds */
} furrow_trainer_save_params;

/* Sets the defaults. */
static inline void furrow_trainer_save_params_init(furrow_trainer_save_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Writes the model directory that Angel would write: the matrices of each layer, graph.json. It appears in one step.
 * params NULL: the defaults. Where the trainer has a communicator all ranks call it, with a folder that all of them
 * see; each writes its own partitions. A dense row type without a range becomes sparse if there are more than 1,000,000
 * columns and fewer than half of them have a feature.
 * Errors:  E_EXISTS, the folder exists; E_IO; E_ARGUMENT, params that a format does not take, or a format without
 *          columns (ValueText, ValueBinary) for sparse rows; E_STATE, a forest without trees. */
FURROW_API furrow_status furrow_trainer_save(const furrow_trainer *trainer, const char *folder,
                                             const furrow_trainer_save_params *params,
                                             furrow_error *err) FURROW_MUST_USE;

/* How a model is trained in one call. */
typedef struct furrow_train_params {
  size_t size;                   /* set by furrow_train_params_init */
  const char *const *settings;   /* NULL. Texts "key=value" (furrow_learn_conf_set), and a NULL after the last */
  const furrow_learn_conf *conf; /* NULL. A configuration, which replaces algorithm and settings */
  const char *valid;             /* NULL: the share of the rows that the configuration names; else validation data */
  const furrow_trainer_params *trainer;   /* NULL: the defaults */
  const furrow_trainer_fit_params *fit;   /* NULL: the defaults */
  const furrow_trainer_save_params *save; /* NULL: the defaults */
} furrow_train_params;

/* Sets the defaults. */
static inline void furrow_train_params_init(furrow_train_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Trains a model on the rows of a URI and saves it as a model directory; folder NULL: it is not saved.
 *
 *   static const char *const settings[] = {"rank=8", "epochs=5", NULL};
 *   status = furrow_train(&trainer, "fm", "clicks.libsvm", "clicks.model",
 *                         &FURROW_INIT(furrow_train_params, .settings = settings), &err);
 *
 * algorithm is a name as for furrow_learn_conf_set_algorithm; NULL: the setting angel.ml.conf or params->conf says what
 * is trained. *trainer (trainer may be NULL) describes the training: furrow_trainer_get_epoch returns its figures,
 * furrow_trainer_get_note its notes. params NULL: the defaults. Collective with params->trainer->comm.
 * Errors:  E_EXISTS, the folder is there, before anything is trained; E_ARGUMENT, a setting that is not key=value, or
 *          params->conf together with an algorithm or settings; otherwise as furrow_learn_conf_set_algorithm,
 *          furrow_learn_conf_set, furrow_trainer_create, furrow_trainer_fit and furrow_trainer_save. A model that
 *          cannot be saved is lost, unless params->fit names a checkpoint.
 * Owner:   the caller, who frees *trainer with furrow_trainer_free. */
FURROW_API furrow_status furrow_train(furrow_trainer **trainer, const char *algorithm, const char *data,
                                      const char *folder, const furrow_train_params *params,
                                      furrow_error *err) FURROW_MUST_USE;

/* ---- Rows to score -------------------------------------------------------------------------------------- */

/* Reads rows as training does: in the format of the configuration, with the first feature index that it names. */
typedef struct furrow_sample_reader furrow_sample_reader;

/* Opens the rows of a URI. params NULL: the defaults; a format that is not "auto" overrides the configuration's.
 * Errors:  E_NOT_FOUND; E_IO; E_PARSE; E_ARGUMENT, a configuration that does not fit; E_UNSUPPORTED, rows without
 *          labels in a format that always has them.
 * Owner:   the caller, who frees it with furrow_sample_reader_close. */
FURROW_API furrow_status furrow_sample_reader_open(furrow_sample_reader **reader, const furrow_learn_conf *conf,
                                                   const char *uri, const furrow_parser_params *params,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Reads the next rows.
 * Errors:  END after the last row; E_PARSE, a malformed line; E_RANGE, an index or number that does not fit; E_IO.
 * Owner:   the reader; *block is valid until the next call. */
FURROW_API furrow_status furrow_sample_reader_next(furrow_sample_reader *reader, const furrow_rowblock **block,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Fills in what has been left out and skipped so far. */
FURROW_API void furrow_sample_reader_get_stats(const furrow_sample_reader *reader, furrow_parser_stats *stats);
/* Frees a reader. Takes NULL. */
FURROW_API void furrow_sample_reader_close(furrow_sample_reader *reader);

/* Reads rows of text that are in memory, any number of times, and owns the rows that it makes. */
typedef struct furrow_line_reader furrow_line_reader;

/* Makes a reader for one thread, of lines in the format of the configuration's files.
 * Errors:  E_UNSUPPORTED, a format whose lines mean nothing by themselves (csv, raw logs); E_ARGUMENT, a configuration
 *          that does not fit, or that does not know which index is the first.
 * Owner:   the caller, who frees it with furrow_line_reader_free. */
FURROW_API furrow_status furrow_line_reader_create(furrow_line_reader **reader, const furrow_learn_conf *conf,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Frees a reader. Takes NULL. */
FURROW_API void furrow_line_reader_free(furrow_line_reader *reader);
/* Reads lines as if they were a whole file. Unlike in files, text without a meaning is an error; blank lines and
 * comments give no row.
 * Errors:  E_PARSE, a malformed line; E_RANGE, an index or number that does not fit; E_FORMAT, text that would be
 *          misread. err->line counts the lines from 1.
 * Owner:   the reader; *block is valid until its next use. */
FURROW_API furrow_status furrow_line_reader_read(furrow_line_reader *reader, const char *lines, size_t size,
                                                 const furrow_rowblock **block, furrow_error *err) FURROW_MUST_USE;

/* ---- Scoring -------------------------------------------------------------------------------------------- */

/* A loaded model. It never changes: any number of threads may use it, each with its own scratch. */
typedef struct furrow_scorer furrow_scorer;
/* Scratch memory for one scoring thread. */
typedef struct furrow_scorer_scratch furrow_scorer_scratch;

/* The layout of the weights of fc layers. */
typedef enum furrow_fc_order {
  FURROW_FC_IN_OUT, /* in x out, as Angel's trainer writes them */
  FURROW_FC_OUT_IN  /* out x in, as models of Angel's serving (mlcore) have them */
} furrow_fc_order;

/* How a model is loaded. */
typedef struct furrow_scorer_params {
  size_t size;                   /* set by furrow_scorer_params_init */
  const furrow_learn_conf *conf; /* NULL: the model's graph.json. A configuration is meant for models of Angel that lack
                                    that file, so Furrow's own defaults do not apply to it unless its key `defaults` is
                                    set */
  furrow_fc_order fc_order;      /* order of the weights of a layer; by default in x out */
  bool absent_is_zero;           /* trees: absent features count as 0, as in Angel, whatever gbdt.split.missing says */
  unsigned threads;              /* threads that load; 0: one for each processor */
} furrow_scorer_params;

/* Sets the defaults. */
static inline void furrow_scorer_params_init(furrow_scorer_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Loads a model directory, Furrow's or Angel's. params NULL: the defaults.
 * Errors:  E_NOT_FOUND, no such model, or a matrix that is missing; E_STATE, another program replaced the model
 *          meanwhile; E_FORMAT, a matrix that does not fit the graph; the
 *          message names the matrix; E_ARGUMENT, a configuration that does not fit; E_IO.
 * Owner:   the caller, who frees it with furrow_scorer_free. */
FURROW_API furrow_status furrow_scorer_load(furrow_scorer **scorer, const char *folder,
                                            const furrow_scorer_params *params, furrow_error *err) FURROW_MUST_USE;
/* Makes a scorer from a trainer as it is now: the parameters are copied.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_scorer_free. */
FURROW_API furrow_status furrow_scorer_create(furrow_scorer **scorer, const furrow_trainer *trainer,
                                              furrow_error *err) FURROW_MUST_USE;
/* Frees a scorer. Takes NULL. */
FURROW_API void furrow_scorer_free(furrow_scorer *scorer);
/* Returns: the configuration of the model.
 * Owner:   the scorer; valid until it is freed. */
FURROW_API const furrow_learn_conf *furrow_scorer_conf(const furrow_scorer *scorer);

/* Makes the scratch of a thread.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_scorer_scratch_free. */
FURROW_API furrow_status furrow_scorer_scratch_create(furrow_scorer_scratch **scratch, const furrow_scorer *scorer,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Frees a scratch. Takes NULL. */
FURROW_API void furrow_scorer_scratch_free(furrow_scorer_scratch *scratch);

/* Scores one row; allocates nothing unless the row is longer than any before with this scratch. A feature that the
 * model does not have counts as 0.
 * Errors:  E_RANGE, a row that does not fit the model (a field too many …).
 * Threads: one call at a time with a scratch; any number of them on a scorer. */
FURROW_API furrow_status furrow_scorer_score_row(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                 const furrow_row *row, furrow_score *score,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Scores all rows of a block: block->size scores.
 * Errors:  E_RANGE, a row that does not fit the model.
 * Threads: as furrow_scorer_score_row. */
FURROW_API furrow_status furrow_scorer_score_block(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                   const furrow_rowblock *block, furrow_score *scores,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Returns: the number of classes of a softmax model; 1 for other models. */
FURROW_API size_t furrow_scorer_class_count(const furrow_scorer *scorer);
/* Returns: the label of class i as the data had it: of softmax models 0 … class_count-1, of two classes 0, the negative
 *          one, and 1. A model that does not know its labels: -1 and 1, or i itself. NaN for regression, for models
 *          that rank, and past the last class. */
FURROW_API double furrow_scorer_class_label(const furrow_scorer *scorer, size_t i);
/* Returns: the name of a feature; NULL: the feature has no name.
 * Owner:   the scorer; valid until it is freed. */
FURROW_API const char *furrow_scorer_feature_name(const furrow_scorer *scorer, uint64_t feature);
/* Returns: the encoder of a model that was trained on a raw log: it maps features to columns and values, and makes rows
 *          of events; NULL: the model was trained on rows.
 * Owner:   the scorer; valid until it is freed. */
FURROW_API const furrow_encoder *furrow_scorer_encoder(const furrow_scorer *scorer);
/* Scores one row and writes the probability of each class, furrow_scorer_class_count numbers; for other models the
 * probability of the positive class.
 * Errors:  E_RANGE, a row that does not fit the model.
 * Threads: as furrow_scorer_score_row. */
FURROW_API furrow_status furrow_scorer_class_probabilities(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                           const furrow_row *row, double *proba,
                                                           furrow_error *err) FURROW_MUST_USE;

/* ---- Contributions and weights -------------------------------------------------------------------------- */

/* What the features of a row contribute to its score: bias + the sum of all values of a class is the graph's output,
 * to rounding. The library fills in what fits into `size` bytes. */
typedef struct furrow_contributions {
  size_t size;              /* set by furrow_contributions_init */
  size_t classes;           /* furrow_scorer_class_count */
  size_t count;             /* number of features */
  const uint64_t *features; /* columns of the model, ascending */
  const double *values;     /* contribution of feature i to class c: values[i * classes + c] */
  const double *bias;       /* bias of each class: the output without contributions */
  const double *outputs;    /* the graph's output for each class; furrow_score.pred is the likeliest class's */
} furrow_contributions;

/* Prepares contributions for furrow_scorer_contributions. */
static inline void furrow_contributions_init(furrow_contributions *contributions) {
  memset(contributions, 0, sizeof *contributions);
  contributions->size = sizeof *contributions;
}

/* Scores a row and computes the contribution of each feature.
 *   lr, svm, linear, robust, softmax: w x of each feature; the bias is the model's.
 *   fm: w_i x_i and half of the products of feature i's vector with the vectors of the row's other features; of
 *   several classes, the product of each factor times its weight for the class.
 *   gbdt: Shapley values of the trees, where an unknown feature follows both branches of a split, weighted by the
 *   covers of its children (path-dependent TreeSHAP, as xgboost's pred_contribs). An absent feature may contribute,
 *   too. The bias is the expected score.
 * Features that contribute 0 to every class are not listed. The first call with a scratch prepares it.
 * Errors:  E_UNSUPPORTED, another graph, or trees without covers (node-stats no); E_FORMAT, a cover below 0; E_RANGE, a
 *          row that does not fit the model.
 * Owner:   the scratch; valid until its next use.
 * Threads: as furrow_scorer_score_row. */
FURROW_API furrow_status furrow_scorer_contributions(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                     const furrow_row *row, furrow_contributions *contributions,
                                                     furrow_error *err) FURROW_MUST_USE;

/* Returns: the number of columns of the data that the features come from, in the order of their features. Of a raw log:
 * its columns, those of joined tables, and crosses and the history of users, which count as columns of their own; parts
 * of a time belong to the column of the time. Of csv with a header: each feature is a column. 0: features do not come
 * from named columns. */
FURROW_API size_t furrow_scorer_column_count(const furrow_scorer *scorer);
/* Returns: the name of column i; NULL past the last one.
 * Owner:   the scorer; valid until it is freed. */
FURROW_API const char *furrow_scorer_column_name(const furrow_scorer *scorer, size_t i);
/* Returns: the column that a feature comes from; SIZE_MAX: none. */
FURROW_API size_t furrow_scorer_feature_column(const furrow_scorer *scorer, uint64_t feature);
/* Computes what furrow_scorer_contributions does, summed by column: `features` are the columns, all of them, and value
 * i is the sum of the values of the features of column i, added to 0 by ascending feature.
 * Errors:  E_UNSUPPORTED, features that do not come from named columns; otherwise as furrow_scorer_contributions.
 * Owner:   the scratch; valid until its next use.
 * Threads: as furrow_scorer_score_row. */
FURROW_API furrow_status furrow_scorer_column_contributions(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                                            const furrow_row *row, furrow_contributions *contributions,
                                                            furrow_error *err) FURROW_MUST_USE;

/* Writes the weights of a feature in the input layers that are added to the graph's output (all of lr, svm, linear,
 * robust and softmax; the wide part of fm, wide_and_deep, deepfm, pnn and nfm): furrow_scorer_class_count numbers;
 * zeros for a feature that the model does not have. *norm (may be NULL) is the length of its vector in the embedding;
 * NaN for a graph that does not have one embedding.
 * Errors:  E_UNSUPPORTED, a forest, or a graph without such a layer (mlr, dnn). */
FURROW_API furrow_status furrow_scorer_feature_weights(const furrow_scorer *scorer, uint64_t feature, double *weights,
                                                       double *norm, furrow_error *err) FURROW_MUST_USE;
/* Writes the biases of these layers, and of the layer that weighs the products of fm of several classes:
 * furrow_scorer_class_count numbers.
 * Errors:  E_UNSUPPORTED, as furrow_scorer_feature_weights. */
FURROW_API furrow_status furrow_scorer_bias(const furrow_scorer *scorer, double *bias,
                                            furrow_error *err) FURROW_MUST_USE;

/* ---- Trees ---------------------------------------------------------------------------------------------- */

/* The shape of a forest (gbdt). */
typedef struct furrow_forest_info {
  size_t size;     /* set by furrow_forest_info_init */
  size_t trees;    /* 0: the model is not a forest */
  size_t classes;  /* trees of a round: 1, or the classes of softmax; tree t is of class t % classes */
  unsigned levels; /* levels of nodes that the matrices can hold: 2^levels - 1 nodes in a tree */
  unsigned depth;  /* splits on the longest path to a leaf */
  uint64_t leaves; /* leaves of all trees */
  bool sums;       /* gain and cover of nodes are known */
} furrow_forest_info;

/* Prepares an info for furrow_scorer_get_forest_info. */
static inline void furrow_forest_info_init(furrow_forest_info *info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/* Fills in the shape of the model's forest; zeros if it has none. */
FURROW_API void furrow_scorer_get_forest_info(const furrow_scorer *scorer, furrow_forest_info *info);

/* A node of a tree. Node 0 is the root; rows go from node n to 2n+1 or 2n+2. */
typedef struct furrow_tree_node {
  size_t size;      /* set by furrow_tree_node_init */
  bool exists;      /* false: no path leads here */
  bool is_leaf;     /* rows end here */
  bool absent_left; /* rows without the feature go to 2n+1 */
  int32_t feature;  /* feature of the split: a column of the model; -1: a leaf */
  double value;     /* rows with feature <= value go to 2n+1 */
  double predict;   /* a leaf adds this value times the learning rate to the score */
  double gain;      /* gain of the split; NaN: unknown */
  double cover;     /* sum of the hessians of the rows that reached the node in training; NaN: unknown */
} furrow_tree_node;

/* Prepares a node for furrow_scorer_get_tree_node. */
static inline void furrow_tree_node_init(furrow_tree_node *node) {
  memset(node, 0, sizeof *node);
  node->size = sizeof *node;
}

/* Fills in a node of a tree, both counted from 0.
 * Errors:  E_RANGE, the forest has fewer trees, or trees fewer nodes; E_STATE, the model is not a forest. */
FURROW_API furrow_status furrow_scorer_get_tree_node(const furrow_scorer *scorer, size_t tree, size_t node,
                                                     furrow_tree_node *about, furrow_error *err) FURROW_MUST_USE;

/* The importance of a feature in all trees: sums over its splits. Layout fixed. */
typedef struct furrow_feature_importance {
  int32_t feature; /* column of the model */
  uint64_t count;  /* splits */
  double gain;     /* NaN: unknown */
  double cover;    /* cover of the split nodes; NaN: unknown */
} furrow_feature_importance;

/* Lists the features that have a split, by descending gain (by descending count if gains are unknown), then by
 * ascending feature.
 * Errors:  E_STATE, the model is not a forest.
 * Owner:   the caller, who frees *list with furrow_free. */
FURROW_API furrow_status furrow_scorer_feature_importance(const furrow_scorer *scorer, furrow_feature_importance **list,
                                                          size_t *count, furrow_error *err) FURROW_MUST_USE;

/* Describes trees first … end-1 as text for people, as JSON, for graphviz, or (one tree) as a picture: *size bytes,
 * terminated.
 * Errors:  E_RANGE, the forest has fewer trees, or the tree too many leaves for a picture; E_ARGUMENT, a picture of
 *          several trees, or another format; E_STATE, the model is not a forest.
 * Owner:   the caller, who frees *text with furrow_free. */
FURROW_API furrow_status furrow_scorer_describe_trees(const furrow_scorer *scorer, furrow_describe_format format,
                                                      size_t first, size_t end, char **text, size_t *size,
                                                      furrow_error *err) FURROW_MUST_USE;

/* ---- Forests of other programs -------------------------------------------------------------------------- */

/* How a forest of another program becomes a model. */
typedef struct furrow_forest_import_params {
  size_t size;     /* set by furrow_forest_import_params_init */
  bool overwrite;  /* replace an existing model; false: E_EXISTS */
  bool all_rounds; /* take the rounds after the best iteration, too, if early stopping named one */
} furrow_forest_import_params;

/* Sets the defaults. */
static inline void furrow_forest_import_params_init(furrow_forest_import_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* What was imported. */
typedef struct furrow_forest_import_result {
  size_t size;                   /* set by furrow_forest_import_result_init */
  size_t trees;                  /* trees of all classes */
  size_t classes;                /* 1, or the classes of softmax */
  size_t features;               /* features that the model knows */
  size_t rounds, rounds_of_file; /* rounds that were taken, and rounds of the file */
  char from[64];                 /* the program and its version: "xgboost 1.7.4" */
  char objective[64];            /* the objective as that program calls it */
} furrow_forest_import_result;

/* Prepares a result for furrow_forest_import. */
static inline void furrow_forest_import_result_init(furrow_forest_import_result *result) {
  memset(result, 0, sizeof *result);
  result->size = sizeof *result;
}

/* Makes a model directory from a model file of xgboost (JSON or UBJSON) or LightGBM (text): its forest as forest.nodes
 * (docs/formats/forest_nodes.md), graph.json and furrow.json. It appears in one step. Scores are those of the other
 * program, to the bit. Such a file can also be loaded as it is: furrow_scorer_load and furrow_learn_conf_load_model
 * take it in place of a model directory. params NULL: the defaults; result may be NULL.
 * Errors:  E_NOT_FOUND; E_IO; E_ARGUMENT, the file is none of these; E_FORMAT, a damaged one; E_UNSUPPORTED, a model
 *          that is not such a forest (linear leaves, leaves that are vectors, an unknown objective), or categories with
 *          names; E_EXISTS, the folder exists. */
FURROW_API furrow_status furrow_forest_import(const char *path, const char *folder,
                                              const furrow_forest_import_params *params,
                                              furrow_forest_import_result *result, furrow_error *err) FURROW_MUST_USE;
/* Writes the forest of a model, trained here or imported, as xgboost's JSON: a model of xgboost 1.7 and later with the
 * same predictions. Scores have the same bits if the model came from xgboost; others are doubles, which xgboost rounds
 * to floats. overwrite: replace an existing file.
 * Errors:  E_STATE, the model is not a forest; E_UNSUPPORTED, a split or an objective that xgboost does not have;
 *          E_EXISTS; E_IO. */
FURROW_API furrow_status furrow_forest_export(const furrow_scorer *scorer, const char *path, bool overwrite,
                                              furrow_error *err) FURROW_MUST_USE;
/* Finds out from the first bytes of a file whether furrow_forest_import may read it; false for other paths.
 * Errors:  E_IO. */
FURROW_API furrow_status furrow_forest_probe(const char *path, bool *is_forest, furrow_error *err) FURROW_MUST_USE;

/* ---- Vectors for search --------------------------------------------------------------------------------- */

/* Rows of a factorization machine split into a query (a user, a context) and an item:
 *   z(query and item) = z(query) + <q, t>, q = [sum of the query's u, 1], t = [sum of the item's u, item's own part]
 * with u = value * v of a feature; the item's own part is w.x plus the products of its features among themselves. So an
 * index of the vectors t for inner products, searched with q, ranks items as the model does. It holds for graphs with
 * one BiInnerSumCross and an input layer under a SumPooling: fm; of deepfm it gives the part without its fc layers. */

/* Gets the dimension of such a vector: factors + 1.
 * Errors: E_UNSUPPORTED, another graph; the message says which part is missing. */
FURROW_API furrow_status furrow_scorer_vector_size(const furrow_scorer *scorer, size_t *size,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Writes the vector t of an item.
 * Errors:  E_UNSUPPORTED, another graph; E_RANGE, a row that does not fit the model. */
FURROW_API furrow_status furrow_scorer_item_vector(const furrow_scorer *scorer, const furrow_row *row, float *vector,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Writes the vector q of a query. *rest (may be NULL) is z(query), to which <q, t> is added.
 * Errors:  E_UNSUPPORTED, another graph; E_RANGE, a row that does not fit the model. */
FURROW_API furrow_status furrow_scorer_query_vector(const furrow_scorer *scorer, const furrow_row *row, float *vector,
                                                    double *rest, furrow_error *err) FURROW_MUST_USE;

/* Lists the features of first … end-1 that have weights in the model or splits in its trees, ascending.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees *ids with furrow_free. */
FURROW_API furrow_status furrow_scorer_features(const furrow_scorer *scorer, uint64_t first, uint64_t end,
                                                uint64_t **ids, size_t *count, furrow_error *err) FURROW_MUST_USE;

/* ---- Evaluation ----------------------------------------------------------------------------------------- */

/* Gathers scores into metrics, figures of each class, a calibration table and ROC and PR curves, by label (as the data
 * has it, after the configuration's transform) and weight of each row. For models of two classes it keeps 12 bytes of
 * each row, which it sorts in as much memory again: AUC, curves and calibration are exact, whatever the order of rows
 * and merges. Beyond 33,554,432 rows (384 MiB), or where memory is short, it counts rows in bins instead and says so in
 * `binned` of the metrics: then scores that differ by less than 1/1024 of themselves may count as ties, as do scores
 * whose absolute value is below 2^-64, or 2^64 and above. */
typedef struct furrow_evaluation furrow_evaluation;

/* Makes an evaluation without rows. The scorer must outlive it.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_evaluation_free. */
FURROW_API furrow_status furrow_evaluation_create(furrow_evaluation **evaluation, const furrow_scorer *scorer,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Frees an evaluation. Takes NULL. */
FURROW_API void furrow_evaluation_free(furrow_evaluation *evaluation);
/* Scores and counts a block. Several threads use one evaluation each and merge them.
 * Errors:  E_RANGE, a row that does not fit the model, a score that is not a number, a weight that is negative or not a
 *          number, a label that the loss does not take, or rows without a qid for a model that ranks the rows of a
 *          group: the message has the row; E_ARGUMENT, rows without labels. */
FURROW_API furrow_status furrow_evaluation_add_block(furrow_evaluation *evaluation, furrow_scorer_scratch *scratch,
                                                     const furrow_rowblock *block, furrow_error *err) FURROW_MUST_USE;
/* Adds the rows that another evaluation of the same scorer has counted. Sums of losses and weights may differ in their
 * last digits from the sums of a single evaluation of all rows. Models that rank the rows of groups keep qid, label and
 * score of each row: if this runs out of memory, ndcg is NaN. */
FURROW_API void furrow_evaluation_merge(furrow_evaluation *into, const furrow_evaluation *from);
/* Fills in the metrics of the rows so far. */
FURROW_API void furrow_evaluation_get_metrics(const furrow_evaluation *evaluation, furrow_learn_metrics *metrics);

/* Figures of a class. */
typedef struct furrow_class_figures {
  size_t size;                  /* set by furrow_class_figures_init */
  double label;                 /* as furrow_scorer_class_label */
  double rows;                  /* sum of the weights of rows with this label */
  double predicted;             /* sum of the weights of rows for which the class is predicted */
  double right;                 /* sum of the weights of rows for which both hold */
  double precision, recall, f1; /* right / predicted, right / rows, their harmonic mean; a share of nothing is 0 */
} furrow_class_figures;

/* Prepares figures for furrow_evaluation_get_class. */
static inline void furrow_class_figures_init(furrow_class_figures *figures) {
  memset(figures, 0, sizeof *figures);
  figures->size = sizeof *figures;
}

/* Returns: the number of classes: 2, first the negative one; softmax: its classes; 0 for regression. */
FURROW_API size_t furrow_evaluation_class_count(const furrow_evaluation *evaluation);
/* Fills in the figures of class i (i < furrow_evaluation_class_count; zeros past the end). */
FURROW_API void furrow_evaluation_get_class(const furrow_evaluation *evaluation, size_t i,
                                            furrow_class_figures *figures);
/* Returns: the sum of the weights of rows of class `actual` for which class `predicted` is predicted; NaN past the last
 *          class, and for models of more than 1024 classes. */
FURROW_API double furrow_evaluation_confusion(const furrow_evaluation *evaluation, size_t actual, size_t predicted);

/* A row of a calibration table: rows with a probability in [low, high). */
typedef struct furrow_calibration_bin {
  size_t size;                        /* set by furrow_calibration_bin_init */
  double low, high;                   /* its probabilities */
  double rows;                        /* sum of the rows' weights */
  double mean_prediction, mean_label; /* mean probability, share of positive rows; 0 without rows */
} furrow_calibration_bin;

/* Prepares a bin for furrow_evaluation_get_calibration_bin. */
static inline void furrow_calibration_bin_init(furrow_calibration_bin *bin) {
  memset(bin, 0, sizeof *bin);
  bin->size = sizeof *bin;
}

/* Fills in bin i of a calibration table of `bins` bins of equal width (i < bins). */
FURROW_API void furrow_evaluation_get_calibration_bin(const furrow_evaluation *evaluation, size_t bins, size_t i,
                                                      furrow_calibration_bin *bin);

/* A point of a curve. Layout fixed. */
typedef struct furrow_curve_point {
  double x, y;      /* ROC: false positive rate, true positive rate; PR: recall, precision */
  double threshold; /* rows from this probability on count as positive */
} furrow_curve_point;

/* Writes points of the ROC or PR curve by descending threshold: one for each score that occurs, or `capacity` of them
 * that are evenly spread, the last one always.
 * Returns: how many were written; 0 for a model that does not have two classes, or without rows of both. */
FURROW_API size_t furrow_evaluation_roc_curve(const furrow_evaluation *evaluation, furrow_curve_point *points,
                                              size_t capacity);
FURROW_API size_t furrow_evaluation_pr_curve(const furrow_evaluation *evaluation, furrow_curve_point *points,
                                             size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
