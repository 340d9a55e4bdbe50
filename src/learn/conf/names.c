/* learn/conf/names.c: Angel's names of types of layers, activations, losses, optimizers, decays, label transforms. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "learn/conf/conf_data.h"

#define FIRST(text, ...) text
#define FURROW_X(name, ...) FIRST(__VA_ARGS__, ),
static const char *const layer_types[] = {FW_LAYER_TYPES(FURROW_X)};
static const char *const activations[] = {FW_ACTIVATIONS(FURROW_X)};
static const char *const losses[] = {FW_LOSSES(FURROW_X)};
static const char *const decays[] = {FW_DECAYS(FURROW_X)};
static const char *const labels[] = {FW_LABEL_TRANSFORMS(FURROW_X)};
static const char *const objectives[] = {FW_OBJECTIVES(FURROW_X)};
static const char *const optimizers[] = {FW_OPTIMIZERS(FURROW_X)};
#undef FURROW_X

#define COUNT(array) (sizeof(array) / sizeof *(array))
const fw_names fw_layer_type_names = {layer_types, COUNT(layer_types), ""};
const fw_names fw_activation_names = {activations, COUNT(activations), ""};
const fw_names fw_loss_names = {losses, FW_LOSS_LAMBDA, "Loss"}; /* those before it */
const fw_names fw_optimizer_names = {optimizers, COUNT(optimizers), ""};
const fw_names fw_decay_names = {decays, COUNT(decays), "Decay"};
const fw_names fw_label_names = {labels, COUNT(labels), "Trans"};
const fw_names fw_objective_names = {objectives, COUNT(objectives), ""};

const char *fw_layer_type_name(fw_layer_type type) {
  return layer_types[type];
}

fw_layer_family fw_layer_type_family(fw_layer_type type) {
#define FURROW_X(name, text, family) FW_FAMILY_##family,
  static const fw_layer_family families[] = {FW_LAYER_TYPES(FURROW_X)};
#undef FURROW_X
  return families[type];
}

const char *fw_activation_name(fw_activation activation) {
  return activations[activation];
}

bool fw_activation_drops(fw_activation activation) {
  return activation == FW_ACTIVATION_DROPOUT || activation == FW_ACTIVATION_SIGMOID_DROPOUT ||
         activation == FW_ACTIVATION_TANH_DROPOUT;
}

const char *fw_loss_name(fw_loss_type loss) {
  return losses[loss];
}

bool fw_loss_has_two_classes(fw_loss_type loss) {
  return loss == FW_LOSS_LOG || loss == FW_LOSS_HINGE || loss == FW_LOSS_CROSS_ENTROPY;
}

bool fw_loss_is_regression(fw_loss_type loss) {
  return loss == FW_LOSS_L2 || loss == FW_LOSS_HUBER || loss == FW_LOSS_ABSOLUTE || loss == FW_LOSS_QUANTILE ||
         loss == FW_LOSS_POISSON;
}

bool fw_loss_is_of_quantile(const fw_graph *graph, double *level) {
  if (level) *level = graph->loss == FW_LOSS_QUANTILE ? graph->quantile : 0.5;
  return graph->loss == FW_LOSS_ABSOLUTE || graph->loss == FW_LOSS_QUANTILE;
}

bool fw_loss_ranks(fw_loss_type loss) {
  return loss == FW_LOSS_BPR || loss == FW_LOSS_WARP || loss == FW_LOSS_SAMPLED_SOFTMAX || loss == FW_LOSS_LAMBDA;
}

const char *fw_optimizer_name(fw_optimizer_type type) {
  return optimizers[type];
}

const char *fw_decay_name(fw_decay_type decay) {
  return decays[decay];
}

const char *fw_label_transform_name(fw_label_transform transform) {
  return labels[transform];
}

const char *fw_objective_name(fw_loss_type loss) {
#define FURROW_X(name, text, its_loss) \
  if (loss == FW_LOSS_##its_loss) return text;
  FW_OBJECTIVES(FURROW_X)
#undef FURROW_X
  return "";
}

size_t fw_optimizer_state(fw_optimizer_type type) {
#define FURROW_X(name, text, state) state,
  static const unsigned char states[] = {FW_OPTIMIZERS(FURROW_X)};
#undef FURROW_X
  return states[type];
}

static bool is_name(const char *name, const char *ending, const char *text, size_t size) {
  if (size == 0 || strlen(name) < size || strncasecmp(name, text, size) != 0) return false;
  return !name[size] || strcmp(name + size, ending) == 0;
}

furrow_status fw_name_find(const fw_names *names, const char *text, size_t size, int64_t *which, furrow_error *err) {
  char list[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < names->count; i++) {
    if (is_name(names->names[i], names->ending, text, size)) {
      *which = (int64_t)i;
      return FURROW_OK;
    }
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names->names[i]);
    assert(used < sizeof list);
  }
  return fw_fail(err, FURROW_E_ARGUMENT, "must be one of %s", list);
}

const fw_optimizer_param *fw_optimizer_params(fw_optimizer_type type) {
  static const fw_optimizer_param params[][2] = {
      [FW_OPTIMIZER_SGD] = {{NULL, 0}},
      [FW_OPTIMIZER_MOMENTUM] = {{"momentum", FW_KEY_MOMENTUM}},
      [FW_OPTIMIZER_ADAGRAD] = {{"beta", FW_KEY_ADAGRAD_BETA}},
      [FW_OPTIMIZER_ADADELTA] = {{"alpha", FW_KEY_ADADELTA_ALPHA}, {"beta", FW_KEY_ADADELTA_BETA}},
      [FW_OPTIMIZER_ADAM] = {{"beta", FW_KEY_ADAM_BETA}, {"gamma", FW_KEY_ADAM_GAMMA}},
      [FW_OPTIMIZER_FTRL] = {{"alpha", FW_KEY_FTRL_ALPHA}, {"beta", FW_KEY_FTRL_BETA}},
      [FW_OPTIMIZER_PUBLISHED_ADAGRAD] = {{NULL, 0}},
  };
  return params[type];
}
