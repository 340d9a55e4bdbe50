/* learn/layers/layer.h: what a net is made of, for the layers (layer_<family>.c).
 *
 * Every source of this folder is compiled twice, with FW_REAL_BITS 32 and 64. A name that crosses files is written
 * REAL_NAME(fw_thing) and becomes fw_thing_f32 or fw_thing_f64. Each layer defines its layer_ops; net_real.c calls
 * them.
 */
#ifndef FW_LEARN_LAYERS_LAYER_H
#define FW_LEARN_LAYERS_LAYER_H

#include "base/arena.h"
#include "kern/math/gather.h"
#include "kern/math/steps.h"
#include "learn/net/net.h"

#ifndef FW_REAL_BITS
#define FW_REAL_BITS 32 /* for tools that look at one file */
#endif

#if FW_REAL_BITS == 64
typedef double real;
#define REAL_NAME(name) name##_f64
#else
typedef float real;
#define REAL_NAME(name) name##_f32
#endif

typedef struct layer_ops layer_ops;
typedef struct packed_weights packed_weights; /* fc_packed.c */

#define NO_LAYER SIZE_MAX
/* Inputs that an fc layer can read side by side. */
#define MOST_PARTS 4

/* A layer with its parameters, which it borrows. */
typedef struct node {
  const fw_layer *layer;
  size_t index; /* its index in the graph, and the index of its tensors in a pass */
  const layer_ops *ops;
  size_t width;    /* numbers of a row in its tensors */
  size_t in_width; /* fc and dense input layer: numbers of a row of its input */
  /* dense arrays: fc, input layer of dense data (in x out, row-major), biases; aligned to 64 bytes */
  size_t weights; /* number of them */
  real *weight;
  size_t states;  /* arrays of optimizer state for each weight; 0 if the net does not train */
  real *state[2]; /* state of dense arrays; NULL where there is none */
  size_t biases;
  real *bias;
  real *bias_state[2]; /* as state, where the optimizer steps biases, too */
  bool bias_optimizer; /* the plan's train.bias_optimizer */
  bool keeps_first;    /* the plan's train.ftrl_keeps_first_weights */
  /* layers with weights by feature: offset of this layer's numbers in a feature's record: weights, then each array of
   * state */
  size_t record_at, record_width; /* width: outputs or factors; 0: none */
  /* The layer whose backward pass sets this layer's gradient; layers that come later add to it. NO_LAYER: the gradient
   * starts from 0 */
  size_t set_by;
  size_t field_cross; /* embedding: the FieldAwareCross that takes it; NO_LAYER: none does */
  /* fc: the layers that it reads, one after the other: its input, or the inputs of a concatenation that it alone reads,
   * whose own tensors are then filled only where they must be; reads_through: that concatenation; NO_LAYER: none */
  const size_t *parts;
  size_t part_count;
  size_t reads_through;
  bool is_read_through;   /* that concatenation */
  packed_weights *packed; /* fc; NULL: not packed */
  size_t dense_at; /* fc and dense input layer: offset of its gradients in real_pass.dense: weights, then biases */
} node;

/* Output and gradient of a layer for the rows of a batch: rows * width, row-major, aligned to 64 bytes. The row of an
 * embedding has one vector of `factors` for each slot; where the slots are free it has two: the sum of the row's
 * vectors, and the sum of their squares, which is all that its consumers need. */
typedef struct tensor {
  real *out, *grad;
  real *packed; /* the gradient, packed for computing the gradient of weights; NULL: not packed */
} tensor;

typedef struct real_net {
  fw_net base;
  const fw_plan *plan;
  node *nodes;
  size_t count; /* without the loss layer: the loss takes the output of its input */
  size_t last;  /* that input */
  bool training;
  uint64_t seed;
  fw_features *features; /* records of features; NULL: dense data */
  real *nothing;         /* a record of zeros, for features that the model does not have */
  fw_arena arena;        /* memory of nodes and packed weights */
  size_t dense_sums;     /* numbers of real_pass.dense */
} real_net;

/* The purpose of a pass. If features are divided among ranks, each rank has two passes for a batch: one for the rank's
 * own rows, whose records are only read and may be copies without all of the state; and one for the rank's own features
 * over the rows of all ranks, which has only the gradients for the update. */
typedef enum pass_kind { PASS_ALONE, PASS_OWN_ROWS, PASS_OWN_FEATURES } pass_kind;

typedef struct real_pass {
  const fw_minibatch *batch;
  tensor *tensors;     /* one for each node */
  real **record;       /* record of each feature of the batch */
  const real *x;       /* dense data: batch->x in the net's type */
  const fw_step *step; /* NULL: scoring: no dropout, no gradients */
  /* if the batch has no list of uses by feature: the sums of each part of the rows, one number for each feature */
  real *sums;
  size_t sum_parts;
  pass_kind kind;
  /* several ranks: gradients of dense arrays, summed over the rows; NULL: none are kept. Without a step these sums are
   * the result of the update, else its input. */
  real *dense;
} real_pass;

/* A pass with its memory. */
typedef struct pass_memory {
  fw_pass base;
  real_pass pass;
  void *numbers; /* memory of all tensors, and of x where it is copied */
  size_t number_capacity;
  size_t record_capacity;
} pass_memory;

static inline const real_net *real_net_of(const fw_net *net) {
  return (const real_net *)net;
}

static inline real_pass *real_pass_of(const fw_pass *pass) {
  return &((pass_memory *)pass)->pass;
}

/* Whether an embedding has gradients for each use, not for each row. */
static inline bool has_slots(const node *self) {
  return self->layer->type == FW_LAYER_EMBEDDING && self->layer->slots > 0;
}

/* Lays out the tensors of a pass for a batch. */
furrow_status REAL_NAME(fw_pass_lay_out)(const fw_net *net, fw_pass *pass, const fw_minibatch *batch,
                                         furrow_error *err) FURROW_MUST_USE;

struct layer_ops {
  /* The output of rows begin … end-1 from its inputs' outputs. */
  void (*forward)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end);
  /* From the gradient of its output, which it may overwrite (with the gradient before the activation), adds to the
   * gradients of its inputs. NULL: there is nothing to do. */
  void (*backward)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end);
  /* Whether `backward` calls sets_gradient, and sets instead of adding where that is true. */
  bool sets_gradients;
  /* Tasks of the update of its dense arrays; NULL: it has none. Gradients are means over the rows of the batch. */
  size_t (*tasks)(const node *self);
  void (*update)(const real_net *net, const node *self, real_pass *pass, size_t task);
  /* The update of its numbers of features begin … end-1 of the batch: gradients are summed over a feature's uses in
   * order. NULL: no weights by feature. */
  void (*update_features)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end);
  /* Whether it can update features from pass->sums, with one weight for each; and their sums over rows begin … end-1,
   * in the order of rows. NULL: it cannot. */
  void (*sum_rows)(const node *self, const real_pass *pass, size_t begin, size_t end, real *sum);
};

/* Whether the backward pass of a layer sets the gradient of its k-th input, because it comes first. */
static inline bool sets_gradient(const real_net *net, const node *self, size_t k) {
  const size_t *inputs = self->layer->inputs;
  for (size_t i = 0; i < k; i++)
    if (inputs[i] == inputs[k]) return false;
  return net->nodes[inputs[k]].set_by == self->index;
}

/* Applies the layer's activation to rows begin … end-1 of its output, in place (activation.c). The backward pass: its
 * gradient becomes the one before the activation, from the outputs. Dropout draws by (seed, layer, step, row, unit). */
void REAL_NAME(fw_activate)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end);
void REAL_NAME(fw_activate_back)(const real_net *net, const node *self, real_pass *pass, size_t begin, size_t end);

/* Some columns of a dense layer's input; x points at row 0. */
typedef struct dense_part {
  const real *x;
  size_t width;
} dense_part;

/* What fc layers and input layers of dense data share (layer_fc.c): rows of out = x * weight + bias, without the
 * activation; x and out point at row 0. Tasks of the update, and one of them: the gradient before the activation is in
 * the layer's tensor, and the parts together are the layer's input. */
void REAL_NAME(fw_dense_forward)(const node *self, const real *x, size_t begin, size_t end, real *out);
size_t REAL_NAME(fw_dense_tasks)(const node *self);
void REAL_NAME(fw_dense_update)(const real_net *net, const node *self, const real_pass *pass, const dense_part *parts,
                                size_t task);

/* Packed weights (fc_packed.c). Functions that return false have done nothing: the caller uses plain products. A
 * function that writes weights packs them, or marks the packed copy as stale. fw_pack_stale packs all stale weights; it
 * may run at the same time as rows, but not as updates. */
furrow_status REAL_NAME(fw_packed_build)(real_net *net, node *self, furrow_error *err) FURROW_MUST_USE;
void REAL_NAME(fw_pack_stale)(const real_net *net);
void REAL_NAME(fw_pack_weights)(const real_net *net, const node *self, size_t begin, size_t end, size_t begin_col,
                                size_t end_col);
/* The output of an fc layer, with the bias, and the activation if that is relu. */
bool REAL_NAME(fw_packed_forward)(const real_net *net, const node *self, const real_pass *pass, size_t begin,
                                  size_t end);
/* The gradient of one of its parts. */
bool REAL_NAME(fw_packed_backward)(const real_net *net, const node *self, const real_pass *pass, size_t part,
                                   size_t begin, size_t end, bool add);
/* The size of a packed gradient of `rows` rows, in numbers; packs its rows begin … end-1; and multiplies with it: sums
 * over the batch of the products of the first `rows` columns of x with columns begin_col … end_col-1 of the
 * gradient. */
size_t REAL_NAME(fw_packed_gradient_size)(const node *self, size_t rows);
void REAL_NAME(fw_pack_gradient)(const node *self, const real_pass *pass, size_t begin, size_t end);
bool REAL_NAME(fw_packed_gradient)(const node *self, const real_pass *pass, const real *x, size_t ld, size_t rows,
                                   size_t begin_col, size_t end_col, real *sum, size_t sum_ld);

/* Rows of a concatenation, for a layer that reads through it, and does without them where it can (layer_pooling.c). */
void REAL_NAME(fw_concat_rows)(const real_net *net, const node *self, const real_pass *pass, size_t begin, size_t end);

/* An optimizer at a step: what is the same for all weights (optimizer.c). kernel->array makes a step on n weights from
 * the sum of their gradients over the batch, state as in node. */
typedef struct optimizer_step {
  fw_step_rule rule;
  const fw_step_kernel *kernel;
} optimizer_step;

void REAL_NAME(fw_optimizer_step)(optimizer_step *made, const node *self, const real_pass *pass);
/* The step of biases from the gradients of the layer's output: by the layer's optimizer without regularisation where
 * the node says so, else plain descent with the training's rate. */
void REAL_NAME(fw_update_bias)(const node *self, const real_pass *pass);

/* The output of rows begin … end-1 as sums over the numbers of their features; of `gather` only start and squares are
 * the caller's (layer_input.c). */
void REAL_NAME(fw_sum_features)(const node *self, const real_pass *pass, size_t begin, size_t end,
                                fw_gather_rows gather);
/* The update of a layer's numbers of features begin … end-1 from gradients that `gather` describes: all but n, offset,
 * use, value, record and at, which are the pass's and the layer's (layer_input.c). */
void REAL_NAME(fw_update_features)(const node *self, const real_pass *pass, size_t begin, size_t end,
                                   fw_gather_uses gather);

/* The same for an embedding that a FieldAwareCross takes (layer_field_aware.c). */
void REAL_NAME(fw_update_field_aware)(const real_net *net, const node *self, const real_pass *pass, size_t begin,
                                      size_t end);

/* What a use of a feature adds to the gradient of its vectors: record_width numbers (layer_field_aware.c). */
void REAL_NAME(fw_field_aware_use)(const real_net *net, const node *self, const real_pass *pass, size_t use, real *sum);

/* Operations of a net (net_real.c), and of ranks (net_ranks.c). */
extern const fw_net_ops REAL_NAME(fw_net_ops);
extern const fw_net_rank_ops REAL_NAME(fw_net_rank_ops);

extern const layer_ops REAL_NAME(fw_input_sparse_ops), REAL_NAME(fw_input_dense_ops), REAL_NAME(fw_embedding_ops),
    REAL_NAME(fw_fc_ops), REAL_NAME(fw_bi_inner_sum_ops), REAL_NAME(fw_bi_inner_ops), REAL_NAME(fw_bi_interaction_ops),
    REAL_NAME(fw_concat_ops), REAL_NAME(fw_sum_pooling_ops), REAL_NAME(fw_mul_pooling_ops),
    REAL_NAME(fw_dot_pooling_ops), REAL_NAME(fw_field_aware_ops);

#endif
