/* learn/net/param_mixing.c: the mean of all ranks' parameters. */
#include "learn/net/param_mixing.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/net/snapshot.h"

enum { AT_ONCE = 1024 }; /* features */

static furrow_status mix_numbers(const furrow_comm *comm, void *numbers, size_t count, size_t size, furrow_error *err) {
  furrow_status status;
  if (size == sizeof(float)) {
    float *x = numbers;
    status = fw_comm_sum_f32(comm, x, count, err);
    for (size_t i = 0; i < count; i++) x[i] /= (float)comm->ranks;
  } else {
    double *x = numbers;
    status = fw_comm_sum_f64(comm, x, count, err);
    for (size_t i = 0; i < count; i++) x[i] /= (double)comm->ranks;
  }
  return status;
}

/* Numbers of features first … one after the other, in one array of a parameter: taken out, or put back. */
static void move_features(const fw_net *net, size_t parameter, size_t array, uint64_t first, size_t count,
                          char *numbers, bool back) {
  const size_t bytes = fw_net_parameter(net, parameter)->rows * fw_net_element_size(net);
  for (size_t i = 0; i < count; i++) {
    void *at = fw_net_feature(net, parameter, first + i, array);
    memcpy(back ? at : numbers + i * bytes, back ? numbers + i * bytes : at, bytes);
  }
}

static furrow_status mix_features(const furrow_comm *comm, const fw_net *net, size_t parameter, size_t array,
                                  furrow_error *err) {
  const fw_parameter *about = fw_net_parameter(net, parameter);
  const size_t size = fw_net_element_size(net);
  void *numbers = NULL;
  furrow_status status = fw_alloc(&numbers, AT_ONCE * about->rows, size, err);
  for (uint64_t first = 0; status == FURROW_OK && first < about->cols; first += AT_ONCE) {
    const size_t count = about->cols - first < AT_ONCE ? (size_t)(about->cols - first) : AT_ONCE;
    move_features(net, parameter, array, first, count, numbers, false);
    status = mix_numbers(comm, numbers, count * about->rows, size, err);
    move_features(net, parameter, array, first, count, numbers, true);
  }
  fw_free(numbers);
  return status;
}

/* ---- FTRL's state of weights that have made no step ---- */

static double get(const void *numbers, size_t i, size_t size) {
  return size == sizeof(float) ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

/* What the first step of a weight would set z to (fw_step_rule.keeps_first). */
static void set_first_z(const fw_optimizer *o, const void *w, void *z, const void *q, size_t count, size_t size) {
  for (size_t i = 0; i < count; i++) {
    const double weight = get(w, i, size);
    if (weight == 0 || get(z, i, size) != 0 || get(q, i, size) != 0) continue;
    const double first = -weight * (o->b / o->a + o->l2) - copysign(o->l1, weight);
    if (size == sizeof(float))
      ((float *)z)[i] = (float)first;
    else
      ((double *)z)[i] = first;
  }
}

/* Ranks that have seen a feature have its z, others not yet: before a mean is taken, all must have it. */
static void settle_first_weights(const fw_net *net, size_t parameter) {
  const fw_parameter *about = fw_net_parameter(net, parameter);
  const fw_plan *plan = fw_net_plan(net);
  const size_t size = fw_net_element_size(net);
  fw_optimizer o = plan->graph.layers[about->layer].optimizer;
  if (!plan->train.ftrl_keeps_first_weights || o.type != FW_OPTIMIZER_FTRL || about->state < 2) return;
  if (about->bias) o.l1 = o.l2 = 0;
  if (!about->by_feature)
    set_first_z(&o, fw_net_dense(net, parameter, 0), fw_net_dense(net, parameter, 1), fw_net_dense(net, parameter, 2),
                about->cols, size);
  for (uint64_t key = 0; about->by_feature && key < about->cols; key++)
    set_first_z(&o, fw_net_feature(net, parameter, key, 0), fw_net_feature(net, parameter, key, 1),
                fw_net_feature(net, parameter, key, 2), about->rows, size);
}

furrow_status fw_mix_parameters(const furrow_comm *comm, fw_net *net, furrow_error *err) {
  if (comm->ranks == 1) return FURROW_OK;
  if (fw_net_is_open(net)) {
    return fw_fail(err, FURROW_E_UNSUPPORTED, "several processes need a dense model type and a range of features");
  }
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < fw_net_parameters(net); i++) {
    const fw_parameter *about = fw_net_parameter(net, i);
    settle_first_weights(net, i);
    for (size_t array = 0; status == FURROW_OK && array <= about->state; array++) {
      status = about->by_feature
                   ? mix_features(comm, net, i, array, err)
                   : mix_numbers(comm, fw_net_dense(net, i, array), about->cols, fw_net_element_size(net), err);
    }
  }
  return status;
}
