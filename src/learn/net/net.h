/* learn/net/net.h: a graph of layers at work on its parameters, in float or double.
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

#include "learn/data/minibatch.h"
#include "learn/parameters/parameters.h"

typedef struct fw_net fw_net;
typedef struct fw_pass fw_pass; /* what one batch needs: outputs and gradients of every layer, records of features */

/* A net that computes with these parameters, which must outlive it. */
furrow_status fw_net_create(fw_net **net, fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_net_free(fw_net *net);
fw_parameters *fw_net_parameters(const fw_net *net);

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

#endif
