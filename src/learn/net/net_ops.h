/* learn/net/net_ops.h: what a net of either type offers to net.c, which does not know the type. */
#ifndef FW_LEARN_NET_NET_OPS_H
#define FW_LEARN_NET_NET_OPS_H

#include "learn/data/features.h"
#include "learn/net/net.h"

/* What one number, row or use of a net takes where its features are divided among ranks: bytes. */
typedef struct fw_net_sizes {
  size_t weights; /* of a feature: its record up to the last weights */
  size_t row;     /* the gradients of a row that updates of features take */
  size_t use;     /* those of a use: embeddings with slots */
  size_t dense;   /* gradients of dense arrays: numbers, not bytes */
} fw_net_sizes;

/* What ranks do with a batch; `net` and `pass` as below. There are two passes: of the rank's own rows, and of its own
 * features over the rows of all ranks (layers/layer.h). */
typedef struct fw_net_rank_ops {
  fw_net_sizes (*sizes)(const void *net);
  furrow_status (*begin_rows)(const void *net, void *pass, const fw_minibatch *batch, furrow_error *err);
  /* dense: sizes.dense numbers for the sums over all ranks */
  furrow_status (*begin_features)(const void *net, void *pass, const fw_minibatch *batch, bool grow, void *dense,
                                  furrow_error *err);
  /* Weights of features: out of the pass of features, and into that of rows, which uses `bytes` from then on. Those of
   * the rank's own features: the records that both passes have then. */
  void (*put_weights)(const void *net, const void *pass, const uint32_t *features, size_t count, void *bytes);
  void (*take_weights)(const void *net, void *pass, const uint32_t *features, size_t count, void *bytes);
  void (*share_records)(const void *from, const uint32_t *theirs, size_t count, void *pass, const uint32_t *features);
  /* Gradients of all rows, or of some uses: out of the pass of rows, and into that of features. */
  void (*put_rows)(const void *net, const void *pass, void *bytes);
  void (*take_rows)(const void *net, void *pass, const uint32_t *rows, size_t count, const void *bytes);
  void (*put_uses)(const void *net, const void *pass, const uint32_t *uses, size_t count, void *bytes);
  void (*take_uses)(const void *net, void *pass, const uint32_t *uses, size_t count, const void *bytes);
  /* Gradients of dense arrays over the rank's own rows: tasks, and one of them. */
  size_t (*dense_tasks)(const void *net);
  void (*sum_dense)(const void *net, const void *pass, void *dense, size_t task);
} fw_net_rank_ops;

/* `net` and `pass` are those of the type: real_net and real_pass of net/layer.h. */
typedef struct fw_net_ops {
  furrow_status (*create)(void **net, const fw_parameters *parameters, furrow_error *err);
  void (*free)(void *net);
  furrow_status (*pass_create)(void **pass, const void *net, furrow_error *err);
  void (*pass_free)(void *pass);
  furrow_status (*begin)(const void *net, void *pass, const fw_minibatch *batch, bool grow, furrow_error *err);
  void (*forward)(const void *net, void *pass, size_t begin, size_t end);
  void (*train)(const void *net, void *pass, const fw_step *step, size_t begin, size_t end, double *loss);
  void (*outputs)(const void *net, const void *pass, size_t row, double *out);
  bool (*sums_by_row)(const void *net);
  size_t (*sum_tasks)(const void *net, const void *pass);
  void (*sum)(const void *net, void *pass, size_t task);
  size_t (*update_tasks)(const void *net, const void *pass);
  void (*update)(const void *net, void *pass, const fw_step *step, size_t task);
  const fw_net_rank_ops *ranks;
} fw_net_ops;

extern const fw_net_ops fw_net_ops_f32, fw_net_ops_f64;
extern const fw_net_rank_ops fw_net_rank_ops_f32, fw_net_rank_ops_f64;

/* The operations of ranks, and what their `net` and `pass` are. */
const fw_net_rank_ops *fw_net_ranks(const fw_net *net);
void *fw_net_real(const fw_net *net);
void *fw_pass_real(const fw_pass *pass);

#endif
