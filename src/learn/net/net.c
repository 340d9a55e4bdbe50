/* learn/net/net.c: a net of either type: the calls go to the functions of its type. */
#include "learn/net/net.h"

#include "base/error.h"
#include "base/mem.h"
#include "learn/net/net_ops.h"

struct fw_net {
  const fw_net_ops *ops;
  void *real;
  fw_parameters *parameters;
};

struct fw_pass {
  const fw_net_ops *ops;
  void *real;
};

furrow_status fw_net_create(fw_net **net, fw_parameters *parameters, furrow_error *err) {
  fw_net *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->ops = parameters->element == sizeof(double) ? &fw_net_ops_f64 : &fw_net_ops_f32;
  made->parameters = parameters;
  const furrow_status status = made->ops->create(&made->real, parameters, err);
  if (status == FURROW_OK)
    *net = made;
  else
    fw_net_free(made);
  return status;
}

void fw_net_free(fw_net *net) {
  if (!net) return;
  net->ops->free(net->real);
  fw_free(net);
}

fw_parameters *fw_net_parameters(const fw_net *net) {
  return net->parameters;
}

furrow_status fw_pass_create(fw_pass **pass, const fw_net *net, furrow_error *err) {
  fw_pass *made = NULL;
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status != FURROW_OK) return status;
  made->ops = net->ops;
  status = net->ops->pass_create(&made->real, net->real, err);
  if (status == FURROW_OK)
    *pass = made;
  else
    fw_pass_free(made);
  return status;
}

void fw_pass_free(fw_pass *pass) {
  if (!pass) return;
  pass->ops->pass_free(pass->real);
  fw_free(pass);
}

const fw_net_rank_ops *fw_net_ranks(const fw_net *net) {
  return net->ops->ranks;
}

void *fw_net_real(const fw_net *net) {
  return net->real;
}

void *fw_pass_real(const fw_pass *pass) {
  return pass->real;
}

/* ---- A batch ---- */

furrow_status fw_net_begin(fw_net *net, fw_pass *pass, const fw_minibatch *batch, bool grow, furrow_error *err) {
  return net->ops->begin(net->real, pass->real, batch, grow, err);
}

furrow_status fw_net_begin_scoring(const fw_net *net, fw_pass *pass, const fw_minibatch *batch, furrow_error *err) {
  return net->ops->begin(net->real, pass->real, batch, false, err);
}

void fw_net_forward(const fw_net *net, fw_pass *pass, size_t begin, size_t end) {
  net->ops->forward(net->real, pass->real, begin, end);
}

void fw_net_train(const fw_net *net, fw_pass *pass, const fw_step *step, size_t begin, size_t end, double *loss) {
  net->ops->train(net->real, pass->real, step, begin, end, loss);
}

void fw_net_outputs(const fw_net *net, const fw_pass *pass, size_t row, double *out) {
  net->ops->outputs(net->real, pass->real, row, out);
}

bool fw_net_sums_by_row(const fw_net *net) {
  return net->ops->sums_by_row(net->real);
}

size_t fw_net_sum_tasks(const fw_net *net, const fw_pass *pass) {
  return net->ops->sum_tasks(net->real, pass->real);
}

void fw_net_sum(const fw_net *net, fw_pass *pass, size_t task) {
  net->ops->sum(net->real, pass->real, task);
}

size_t fw_net_update_tasks(const fw_net *net, const fw_pass *pass) {
  return net->ops->update_tasks(net->real, pass->real);
}

void fw_net_update(fw_net *net, fw_pass *pass, const fw_step *step, size_t task) {
  net->ops->update(net->real, pass->real, step, task);
}
