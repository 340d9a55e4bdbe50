/* learn/net/net_ops.h: what a net of either type offers to net.c, which does not know the type. */
#ifndef FW_LEARN_NET_NET_OPS_H
#define FW_LEARN_NET_NET_OPS_H

#include "learn/data/features.h"
#include "learn/net/net.h"

/* `net` and `pass` are those of the type: real_net and real_pass of net/layer.h. */
typedef struct fw_net_ops {
  furrow_status (*create)(void **net, const fw_plan *plan, const fw_net_params *params, furrow_error *err);
  void (*free)(void *net);
  size_t (*memory)(const void *net);
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
  fw_features *(*features)(const void *net); /* NULL: dense data */
  /* Of a layer: its biases or an array of its dense weights; where in a record an array of its numbers is, in bytes */
  void *(*dense)(const void *net, size_t layer, bool bias, size_t array);
  size_t (*record_offset)(const void *net, size_t layer, size_t array);
} fw_net_ops;

extern const fw_net_ops fw_net_ops_f32, fw_net_ops_f64;

#endif
