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

enum { FW_ARRAYS_MAX = 3 }; /* weights, and at most two arrays of optimizer state */

/* What a layer keeps. */
typedef struct fw_parameter {
  const char *name; /* of the matrix: input_weight */
  size_t layer;
  bool by_feature; /* columns of features, else a dense array */
  bool bias;
  size_t rows;                 /* by feature: outputs or factors; else 1 */
  uint64_t cols;               /* dense array: its length; by feature: the range, 0: open */
  size_t state;                /* arrays of optimizer state of the same shape */
  void *array[FW_ARRAYS_MAX];  /* dense: weights, then state */
  size_t record_at;            /* by feature: where its numbers begin in a record: weights, then each array of state */
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
  size_t record_numbers; /* of a record */
  size_t dense_numbers;  /* of all dense arrays */
  atomic_int *copies;    /* FW_COPIES_… */
  fw_arena arena;
} fw_parameters;

typedef struct fw_parameters_params {
  bool training; /* with optimizer state and first weights; else zeros alone */
  uint64_t seed;
  uint64_t max_features;   /* 0: no limit */
  const furrow_comm *comm; /* NULL: all features are its own; else those of the communicator's rank */
} fw_parameters_params;

/* Whether rows of the data have every column (fw_minibatch.x): then an input layer's weights are one dense array. */
bool fw_plan_dense(const fw_plan *plan);

/* First weights depend on seed, layer and feature alone. Features of a dense row type have their records at once, those
 * of a sparse one, or without a range, get them as they appear.
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
/* A dense array, for writing: array 0 is the weights, 1 … state the optimizer's. A net keeps copies of weights: a caller
 * that writes them asks for them again after a batch has begun. */
void *fw_parameters_dense(const fw_parameters *p, size_t parameter, size_t array);
/* The `rows` numbers of a feature in array `array`; NULL: it has no record here. */
void *fw_parameters_feature(const fw_parameters *p, size_t parameter, uint64_t key, size_t array);
/* Where the weights of a feature for a layer are, in its record or in the dense array of an input layer; NULL: the model
 * does not have it, or another rank has. */
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

/* The weights of `from`, without optimizer state, for parameters of the same plan, or of one whose numbers are doubles. */
furrow_status fw_parameters_copy(fw_parameters *to, const fw_parameters *from, furrow_error *err) FURROW_MUST_USE;

#endif
