/* learn/net/net.h: a graph with its parameters, for float or double (the element type of the model).
 *
 * An update has two phases. First rows: forward and backward pass over ranges of rows, each task its own. Then
 * parameters: each task owns some parameters, sums their gradient over the rows in order, and applies the optimizer.
 * No sum depends on which thread did what, so the result is the same for any number of threads. Tasks of one phase may
 * run at once; between the phases all threads wait.
 *
 * The files of learn/layers are compiled twice (learn/layers/real.h), for float and for double.
 * The rest of the module includes this header alone. */
#ifndef FW_LEARN_NET_NET_H
#define FW_LEARN_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"
#include "learn/conf/conf.h"
#include "learn/data/minibatch.h"

typedef struct fw_net fw_net;
typedef struct fw_pass fw_pass; /* what one batch needs: outputs and gradients of every layer, records of features */

typedef struct fw_net_params {
  bool training; /* with optimizer state; else weights alone */
  uint64_t seed;
  uint64_t max_features;   /* 0: no limit */
  const furrow_comm *comm; /* NULL: all features are the net's own; else those of the communicator's rank */
} fw_net_params;

/* Whether rows of the data have every column (fw_minibatch.x): then an input layer's weights are one dense array. */
bool fw_plan_dense(const fw_plan *plan);

/* Parameters of the graph. First weights depend on seed, layer and feature alone; a net that does not train starts with
 * zeros. Features of a dense row type have their records at once, those of a sparse one, or without a range, get them
 * as they appear.
 *
 * With a communicator of several ranks, feature `key` belongs to rank key % ranks, and its record exists there alone;
 * dense arrays are the same on all ranks. The plan and the communicator must stay while the net is used. */
furrow_status fw_net_create(fw_net **net, const fw_plan *plan, const fw_net_params *params,
                            furrow_error *err) FURROW_MUST_USE;
void fw_net_free(fw_net *net);
/* The plan that it was made from, which must outlive it. */
const fw_plan *fw_net_plan(const fw_net *net);
/* The ranks that its features are divided among: never NULL. */
const furrow_comm *fw_net_comm(const fw_net *net);
/* Whether a feature is the net's own. */
bool fw_net_owns(const fw_net *net, uint64_t key);
/* Bytes of a number of the net: 4 or 8. */
size_t fw_net_element_size(const fw_net *net);
/* Bytes of parameters and optimizer state now. */
size_t fw_net_memory(const fw_net *net);

furrow_status fw_pass_create(fw_pass **pass, const fw_net *net, furrow_error *err) FURROW_MUST_USE;
void fw_pass_free(fw_pass *pass);

/* Allocates for the batch and finds the record of each of its features; with `grow` those that are new get one (needs
 * exclusive use of the net's table, but not of its weights), else they count as 0. `batch` must stay while the pass is
 * used. */
furrow_status fw_net_begin(fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow,
                           furrow_error *err) FURROW_MUST_USE;
/* The same for a net that does not change: scoring. */
furrow_status fw_net_begin_scoring(const fw_net *net, fw_pass *pass, const fw_minibatch *batch,
                                   furrow_error *err) FURROW_MUST_USE;

typedef struct fw_step {
  uint64_t number;   /* of the update, from 1: Adam's t, dropout's key */
  double rate;       /* learning rate now */
  double scale;      /* what the rate of an optimizer with an lr of its own is multiplied with: rate / train.lr */
  uint32_t halvings; /* of all rates: rate and scale have them already, alpha of FTRL does not */
} fw_step;

/* Phase of rows, without and with the backward pass; rows begin … end-1. *loss: sum of weighted losses; NULL: it is not
 * wanted. Dropout only in training. */
void fw_net_forward(const fw_net *net, fw_pass *pass, size_t begin, size_t end);
void fw_net_train(const fw_net *net, fw_pass *pass, const fw_step *step, size_t begin, size_t end, double *loss);
/* Outputs of the graph (graph.outputs numbers a row, as doubles) after forward or train. */
void fw_net_outputs(const fw_net *net, const fw_pass *pass, size_t row, double *out);

/* Whether a net's gradients by feature may be summed row by row: batches then need no list of uses by feature
 * (fw_batcher_params.unlisted). Where they have none there is a phase between rows and parameters: so many tasks (else
 * 0), and one of them. */
bool fw_net_sums_by_row(const fw_net *net);
enum { FW_SUM_ROWS = 512 }; /* of a task, whose sums need nothing but these rows */
size_t fw_net_sum_tasks(const fw_net *net, const fw_pass *pass);
void fw_net_sum(const fw_net *net, fw_pass *pass, size_t task);

/* Phase of parameters: so many tasks for this batch (fixed by shapes, not by threads), and one of them. */
size_t fw_net_update_tasks(const fw_net *net, const fw_pass *pass);
void fw_net_update(fw_net *net, fw_pass *pass, const fw_step *step, size_t task);

/* ---- Parameters, for saving and loading ----------------------------------------------------------------- */

/* What a layer keeps. A weight of an input layer or embedding has a column for each feature; the rest are one row. */
typedef struct fw_parameter {
  const char *name; /* of the matrix: input_weight */
  size_t layer;
  bool by_feature; /* weights of features, else a dense array */
  bool bias;
  size_t rows;   /* by feature: outputs or factors; else 1 */
  uint64_t cols; /* dense array: its length; by feature: the range, 0: open */
  size_t state;  /* arrays of optimizer state of the same shape */
} fw_parameter;

/* In the order of Angel's matrix ids. */
size_t fw_net_parameters(const fw_net *net);
const fw_parameter *fw_net_parameter(const fw_net *net, size_t i);
/* A dense array: array 0 is the weights, 1 … state the optimizer's. Of the element type of the model. Layers
 * keep copies of weights: a caller that writes them asks for them again after a batch has begun. */
void *fw_net_dense(const fw_net *net, size_t parameter, size_t array);
/* Whether features get their records as they appear. */
bool fw_net_is_open(const fw_net *net);
/* Features that have a record here, by ascending key, to be freed with fw_free; NULL: all of 0 … *count - 1 have one
 * (never where there are several ranks). */
furrow_status fw_net_features(const fw_net *net, uint64_t **keys, size_t *count, furrow_error *err) FURROW_MUST_USE;
/* Where the `rows` numbers of a feature are, in array `array`; NULL: it has no record here. `make` gives it one; it
 * must be the net's own. */
void *fw_net_feature(const fw_net *net, size_t parameter, uint64_t key, size_t array);
furrow_status fw_net_make_feature(fw_net *net, uint64_t key, furrow_error *err) FURROW_MUST_USE;

/* The weights of `from`, not its optimizer state, for a net of the same plan, or of one whose numbers are doubles. */
furrow_status fw_net_copy_weights(fw_net *to, const fw_net *from, furrow_error *err) FURROW_MUST_USE;

#endif
