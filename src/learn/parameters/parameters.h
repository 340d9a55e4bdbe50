/* learn/parameters/parameters.h: the numbers that a graph of layers learns, as one value.
 *
 * A layer has dense arrays (weights of an fc layer, biases), or a column for each feature: weights of an input layer,
 * vectors of an embedding. The columns of a feature, with the optimizer's state of each, lie together in its record
 * (features.h). All numbers are floats, or all are doubles, by the row type of the plan's model.
 *
 * Solvers read and write parameters; the files of this folder copy, fold, snapshot, load and save them. */
#ifndef FW_LEARN_PARAMETERS_PARAMETERS_H
#define FW_LEARN_PARAMETERS_PARAMETERS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/data/features.h"
#include "learn/data/samples.h"

enum { FW_ARRAYS_MAX = 3 }; /* weights, and at most two arrays of optimizer state */

/* What a layer keeps. */
typedef struct fw_parameter {
  const char *name; /* name of the matrix: input_weight */
  size_t layer;
  bool by_feature; /* columns of features, else a dense array */
  bool bias;
  size_t rows;                /* by feature: outputs or factors; else 1 */
  uint64_t cols;              /* dense array: its length; by feature: the range, 0: open */
  size_t state;               /* arrays of optimizer state of the same shape */
  void *array[FW_ARRAYS_MAX]; /* dense: weights, then state */
  size_t record_at;           /* by feature: where its numbers begin in a record: weights, then each array of state */
} fw_parameter;

/* Whether the copies of dense weights that a net keeps are up to date. */
enum { FW_COPIES_FRESH, FW_COPIES_STALE, FW_COPIES_BEING_MADE };

typedef struct fw_parameters {
  const fw_plan *plan;
  const furrow_comm *comm; /* the ranks that features are divided among: never NULL */
  bool training;           /* with optimizer state */
  uint64_t seed;
  size_t element;     /* bytes of a number: 4 or 8 */
  fw_parameter *list; /* in the order of Angel's matrix ids */
  size_t count;
  fw_features *features; /* NULL: all arrays are dense */
  size_t record_numbers; /* length of a record */
  size_t dense_numbers;  /* length of all dense arrays */
  atomic_int *copies;    /* FW_COPIES_… */
  fw_arena arena;
} fw_parameters;

typedef struct fw_parameters_params {
  bool training; /* with optimizer state and first weights; else zeros alone */
  uint64_t seed;
  uint64_t max_features;   /* 0: no limit */
  const furrow_comm *comm; /* NULL: it has all features; else the features of the communicator's rank */
} fw_parameters_params;

/* Whether rows of the data have every column (fw_minibatch.x): then an input layer's weights are one dense array. */
bool fw_plan_dense(const fw_plan *plan);

/* First weights depend on seed, layer and feature alone. Features of a dense row type have records from the start.
 * Features of a sparse row type, or of an open range, get their records as they appear.
 *
 * With a communicator of several ranks, feature `key` belongs to rank key % ranks, and its record exists there alone;
 * dense arrays are the same on all ranks. The plan and the communicator must outlive the parameters. */
furrow_status fw_parameters_create(fw_parameters **parameters, const fw_plan *plan, const fw_parameters_params *params,
                                   furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_parameters_free(fw_parameters *parameters);
/* Bytes of parameters and optimizer state now. */
size_t fw_parameters_memory(const fw_parameters *p);

/* Number i of some numbers of the parameters' type; 0 where numbers is NULL. */
static inline double fw_parameters_get(const fw_parameters *p, const void *numbers, size_t i) {
  if (!numbers) return 0;
  return p->element == sizeof(double) ? ((const double *)numbers)[i] : (double)((const float *)numbers)[i];
}

static inline void fw_parameters_put(const fw_parameters *p, void *numbers, size_t i, double value) {
  if (p->element == sizeof(double))
    ((double *)numbers)[i] = value;
  else
    ((float *)numbers)[i] = (float)value;
}

/* The index of a layer's weights, or of its bias; SIZE_MAX: it has none. */
size_t fw_parameters_find(const fw_parameters *p, size_t layer, bool bias);
/* A dense array, for writing: array 0 is the weights, 1 … state the optimizer's. A net keeps copies of weights: a
 * caller that writes them asks for them again after a batch has begun. */
void *fw_parameters_dense(const fw_parameters *p, size_t parameter, size_t array);
/* The `rows` numbers of a feature in array `array`; NULL: it has no record here. */
void *fw_parameters_feature(const fw_parameters *p, size_t parameter, uint64_t key, size_t array);
/* Where the weights of a feature for a layer are, in its record or in the dense array of an input layer; NULL: the
 * model does not have it, or another rank has. */
void *fw_parameters_weights(const fw_parameters *p, size_t parameter, uint64_t key);
/* Features that have a record here. */
static inline uint64_t fw_parameters_feature_count(const fw_parameters *p) {
  return p->features ? fw_features_count(p->features) : 0;
}
/* Whether features get their records as they appear. */
static inline bool fw_parameters_are_open(const fw_parameters *p) {
  return p->features && fw_features_is_open(p->features);
}
/* Whether a feature is this rank's own. */
static inline bool fw_parameters_own(const fw_parameters *p, uint64_t key) {
  return fw_feature_owner(key, p->comm->ranks) == p->comm->rank;
}
/* Gives a feature, which must be this rank's own, a record if there is none. E_RANGE: it is beyond the range. */
furrow_status fw_parameters_make(fw_parameters *p, uint64_t key, furrow_error *err) FURROW_MUST_USE;
/* Features that have a record here, by ascending key, to be freed with fw_free; NULL: all of 0 … *count - 1 have one
 * (never where there are several ranks). */
furrow_status fw_parameters_keys(const fw_parameters *p, uint64_t **keys, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;

/* The weights of `from`, without optimizer state, for parameters of the same plan, or of one whose numbers are doubles.
 */
furrow_status fw_parameters_copy(fw_parameters *to, const fw_parameters *from, furrow_error *err) FURROW_MUST_USE;

/* ---- A linear model, or a factorization machine, in a graph that contains it (linear_parameters.c) ---- */

typedef struct fw_linear_model {
  const uint64_t *keys; /* ascending */
  size_t features, outputs;
  const double *weights; /* W[feature][output], then b[output] */
} fw_linear_model;

/* Whether a graph can compute a linear model alone. */
bool fw_graph_can_be_linear(const fw_graph *graph);

/* Writes the model into the input layer that is added to the output; other layers stay as they are, and a graph without
 * such a layer does, too. */
furrow_status fw_parameters_put_linear(fw_parameters *p, const fw_linear_model *model,
                                       furrow_error *err) FURROW_MUST_USE;
/* The weights of a feature in that layer, one for each output; false: the feature has none. */
bool fw_parameters_get_linear(const fw_parameters *p, uint64_t key, double *weights);
/* The biases of that layer, which must be there. */
void fw_parameters_get_bias(const fw_parameters *p, double *outputs);
/* Gives vectors that fw_parameters_become_linear made faint, and that would hardly learn, the size of vectors that are
 * drawn. *was_linear: there were some. */
furrow_status fw_parameters_wake(fw_parameters *p, bool *was_linear, furrow_error *err) FURROW_MUST_USE;
/* The graph computes the model alone: other layers give (almost) 0. For graphs that can be linear. */
furrow_status fw_parameters_become_linear(fw_parameters *p, const fw_linear_model *model,
                                          furrow_error *err) FURROW_MUST_USE;
/* Writes a factorization machine: for each feature a weight and its vector, then the bias. Features that it does not
 * have do not keep the vectors that were drawn for them. */
furrow_status fw_parameters_put_factors(fw_parameters *p, const uint64_t *keys, size_t features, const double *x,
                                        furrow_error *err) FURROW_MUST_USE;
/* Sets the bias that is added to the outputs as they are: of the linear layer, or of the last fc layer; parameters that
 * have neither stay as they are. */
void fw_parameters_put_bias(fw_parameters *p, const double *outputs);

/* ---- A scaling of features and labels, folded into parameters (fold.c) ----
 *
 * Parameters that were trained on z and t (learn/data/scaling.h) are changed so that the graph gives the same outputs,
 * in the units of y, on x. The inverse scaling, folded afterwards, gives the first parameters back. */

/* Whether the graph can take means; false for gbdt. Any graph can take factors. A mean adds a constant to the vectors
 * of an embedding. An fc layer takes this constant into its bias; with BiInnerCross, the fc layer also needs the
 * embedding as an input, whose weights take the part that is linear in it. With BiInnerSumCross, the input layer that
 * is summed with it takes the constant into its weights. With BiInteractionCross there is no layer that could. */
bool fw_fold_can_centre(const fw_plan *plan);
/* Whether the graph can take a scaling of labels: a loss of regression, and before it a sum of what can be scaled. */
bool fw_fold_can_scale_labels(const fw_plan *plan);

/* Folds. The optimizer's state stays as it is: for parameters whose training has ended, or copies. Sums are made in
 * double. A feature without a record counts as 0 and stays so.
 *
 * Errors:  E_ARGUMENT, keys that do not ascend, a factor that is not above 0 and finite, or a mean that is not finite;
 *          E_RANGE, a key beyond the range of the model; E_UNSUPPORTED, a mean or labels that the graph cannot take, or
 *          an embedding with slots and a feature with a mean whose slot is unknown, beyond the slots or not its own;
 *          E_MEMORY. The parameters are as before then. */
furrow_status fw_parameters_fold(fw_parameters *p, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;

/* ---- Model directories, Furrow's or Angel's (parameters_load.c, parameters_save.c) ---- */

/* Reads the matrix of every parameter, partition by partition: weights of this rank's own features alone. What a matrix
 * does not have stays as it is (parameters for scoring start with 0). E_NOT_FOUND names a matrix that is missing,
 * E_FORMAT one that does not fit its layer and what is wrong with it. */
furrow_status fw_parameters_load(fw_parameters *p, const char *folder, furrow_fc_order fc_order, unsigned threads,
                                 furrow_error *err) FURROW_MUST_USE;

/* `conf` gives graph.json, `about` (may be NULL) is the text of furrow.json. params NULL: the defaults. All ranks
 * call it: partition i is written by the rank of server i % servers, which gets the weights of the features in
 * it from their ranks; the first rank writes the metadata and all else, and gives the directory its name. */
furrow_status fw_parameters_save(const fw_parameters *p, const furrow_learn_conf *conf, const fw_buffer *about,
                                 const char *folder, const furrow_trainer_save_params *params,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
