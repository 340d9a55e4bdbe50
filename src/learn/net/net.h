/* learn/net/net.h: a graph of layers at work on its parameters, in float or double.
 *
 * An update has two phases. First rows: forward and backward pass over ranges of rows, each task its own. Then
 * parameters: each task owns some parameters, sums their gradient over the rows in order, and applies the optimizer.
 * No sum depends on which thread did what, so the result is the same for any number of threads. Tasks of one phase may
 * run at once; between the phases all threads wait.
 *
 * The files of learn/layers are compiled twice (learn/layers/layer.h), for float and for double.
 * The rest of the module includes this header alone. */
#ifndef FW_LEARN_NET_NET_H
#define FW_LEARN_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "learn/data/minibatch.h"
#include "learn/parameters/parameters.h"

typedef struct fw_net_ops fw_net_ops;

/* A net begins with these members; the layers know the rest (real_net of learn/layers/layer.h). */
typedef struct fw_net {
  const fw_net_ops *ops;
  fw_parameters *parameters;
} fw_net;

/* What one batch needs: outputs and gradients of every layer, records of features. It begins with this member, too. */
typedef struct fw_pass {
  const fw_net_ops *ops;
} fw_pass;

typedef struct fw_step {
  uint64_t number;   /* number of the update, from 1: Adam's t, dropout's key */
  double rate;       /* learning rate now */
  double scale;      /* factor for the rate of an optimizer with its own lr: rate / train.lr */
  uint32_t halvings; /* halvings of all rates: rate and scale have them already, alpha of FTRL does not */
} fw_step;

enum { FW_SUM_ROWS = 512 }; /* rows of a task of `sum`, which uses only these rows */

/* Bytes that a batch needs where the features of a net are divided among ranks. */
typedef struct fw_net_sizes {
  size_t weights; /* length of the part of a feature's record that holds weights */
  size_t row;     /* the gradients of a row that updates of features take */
  size_t use;     /* the gradients of a use: embeddings with slots */
  size_t dense;   /* gradients of dense arrays: numbers, not bytes */
} fw_net_sizes;

/* What ranks do with a batch. There are two passes: of the rank's own rows, and of its own features over the rows of
 * all ranks (layers/layer.h). */
typedef struct fw_net_rank_ops {
  fw_net_sizes (*sizes)(const fw_net *net);
  furrow_status (*begin_rows)(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, furrow_error *err);
  /* dense: sizes.dense numbers for the sums over all ranks */
  furrow_status (*begin_features)(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow, void *dense,
                                  furrow_error *err);
  /* Copies weights of features out of the pass of features, and into the pass of rows, which uses `bytes` from then
   * on. The rank's own features: both passes then have the same records. */
  void (*put_weights)(const fw_net *net, const fw_pass *pass, const uint32_t *features, size_t count, void *bytes);
  void (*take_weights)(const fw_net *net, fw_pass *pass, const uint32_t *features, size_t count, void *bytes);
  void (*share_records)(const fw_pass *from, const uint32_t *theirs, size_t count, fw_pass *pass,
                        const uint32_t *features);
  /* Copies the gradients of all rows, or of some uses, out of the pass of rows, and into the pass of features. */
  void (*put_rows)(const fw_net *net, const fw_pass *pass, void *bytes);
  void (*take_rows)(const fw_net *net, fw_pass *pass, const uint32_t *rows, size_t count, const void *bytes);
  void (*put_uses)(const fw_net *net, const fw_pass *pass, const uint32_t *uses, size_t count, void *bytes);
  void (*take_uses)(const fw_net *net, fw_pass *pass, const uint32_t *uses, size_t count, const void *bytes);
  /* Gradients of dense arrays over the rank's own rows: the number of tasks, and one of them. */
  size_t (*dense_tasks)(const fw_net *net);
  void (*sum_dense)(const fw_net *net, const fw_pass *pass, void *dense, size_t task);
} fw_net_rank_ops;

struct fw_net_ops {
  void (*free)(fw_net *net);
  furrow_status (*create_pass)(fw_pass **pass, const fw_net *net, furrow_error *err);
  void (*free_pass)(fw_pass *pass);
  /* Allocates for the batch and finds the record of each of its features; with `grow` new features get one (needs
   * exclusive use of the net's table, but not of its weights), else they count as 0. `batch` must stay while the pass
   * is used. */
  furrow_status (*begin)(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow, furrow_error *err);
  /* Phase of rows, without and with the backward pass; rows begin … end-1. *loss: sum of weighted losses; NULL: it is
   * not wanted. Dropout only in training. */
  void (*forward)(const fw_net *net, fw_pass *pass, size_t begin, size_t end);
  void (*train)(const fw_net *net, fw_pass *pass, const fw_step *step, size_t begin, size_t end, double *loss);
  /* Outputs of the graph (graph.outputs numbers a row, as doubles) after forward or train. */
  void (*outputs)(const fw_net *net, const fw_pass *pass, size_t row, double *out);
  /* Whether a net's gradients by feature may be summed row by row: batches then need no list of uses by feature
   * (fw_batcher_params.unlisted). Batches without that list have a phase between rows and parameters: the number of
   * its tasks (else 0), and one of them. */
  bool (*sums_by_row)(const fw_net *net);
  size_t (*sum_tasks)(const fw_pass *pass);
  void (*sum)(const fw_net *net, fw_pass *pass, size_t task);
  /* Phase of parameters: the number of tasks for this batch (fixed by shapes, not by threads), and one of them. */
  size_t (*update_tasks)(const fw_net *net, const fw_pass *pass);
  void (*update)(fw_net *net, fw_pass *pass, const fw_step *step, size_t task);
  const fw_net_rank_ops *ranks;
};

furrow_status fw_net_create_f32(fw_net **net, fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_net_create_f64(fw_net **net, fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;

/* A net that computes with these parameters, in their type; they must outlive it. */
static inline FURROW_MUST_USE furrow_status fw_net_create(fw_net **net, fw_parameters *parameters, furrow_error *err) {
  return (parameters->element == sizeof(double) ? fw_net_create_f64 : fw_net_create_f32)(net, parameters, err);
}

/* Both take NULL. */
static inline void fw_net_free(fw_net *net) {
  if (net) net->ops->free(net);
}
static inline void fw_pass_free(fw_pass *pass) {
  if (pass) pass->ops->free_pass(pass);
}

#endif
