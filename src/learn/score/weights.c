/* learn/score/weights.c: the weights of features that are added to the output of a graph. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/score/additive.h"
#include "learn/score/scorer.h"

static bool is_wide(const furrow_scorer *scorer, size_t layer) {
  return fw_scorer_additive(scorer)[layer] > 0 && fw_layer_is_linear(&fw_scorer_plan(scorer)->graph.layers[layer]);
}

static furrow_status check_wide(const furrow_scorer *scorer, furrow_error *err) {
  const fw_plan *plan = fw_scorer_plan(scorer);
  if (fw_scorer_forest(scorer)) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "a gbdt model has trees, not weights");
    fw_error_set_hint(err, "the importance of a feature says what its splits gain");
    return FURROW_E_UNSUPPORTED;
  }
  for (size_t i = 0; i < plan->graph.count; i++)
    if (is_wide(scorer, i)) return FURROW_OK;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "%s has no weights that are added to the score",
                 plan->model.algorithm ? plan->model.algorithm : "this graph");
}

/* The length of a feature's vector; NaN: there is not one embedding. */
static double vector_length(const furrow_scorer *scorer, uint64_t feature) {
  const fw_graph *graph = &fw_scorer_plan(scorer)->graph;
  const fw_parameters *p = fw_scorer_parameters(scorer);
  size_t embeddings = 0;
  double squares = 0;
  for (size_t i = 0; i < graph->count; i++) {
    if (graph->layers[i].type != FW_LAYER_EMBEDDING) continue;
    const void *v = fw_parameters_feature(p, fw_parameters_find(p, i, false), feature, 0);
    for (size_t f = 0; v && f < graph->layers[i].factors; f++)
      squares += fw_parameters_get(p, v, f) * fw_parameters_get(p, v, f);
    embeddings++;
  }
  return embeddings == 1 ? sqrt(squares) : NAN;
}

furrow_status furrow_scorer_feature_weights(const furrow_scorer *scorer, uint64_t feature, double *weights,
                                            double *norm, furrow_error *err) {
  FW_TRY(check_wide(scorer, err));
  const fw_graph *graph = &fw_scorer_plan(scorer)->graph;
  const fw_parameters *p = fw_scorer_parameters(scorer);
  memset(weights, 0, graph->outputs * sizeof *weights);
  for (size_t i = 0; i < graph->count; i++) {
    if (!is_wide(scorer, i)) continue;
    const size_t parameter = fw_parameters_find(p, i, false);
    for (size_t c = 0; c < graph->outputs; c++)
      weights[c] +=
          fw_scorer_additive(scorer)[i] * fw_parameters_get(p, fw_parameters_weights(p, parameter, feature), c);
  }
  if (norm) *norm = vector_length(scorer, feature);
  return FURROW_OK;
}

furrow_status furrow_scorer_bias(const furrow_scorer *scorer, double *bias, furrow_error *err) {
  FW_TRY(check_wide(scorer, err));
  const fw_graph *graph = &fw_scorer_plan(scorer)->graph;
  const fw_parameters *p = fw_scorer_parameters(scorer);
  memset(bias, 0, graph->outputs * sizeof *bias);
  for (size_t i = 0; i < graph->count; i++) {
    if (!is_wide(scorer, i)) continue;
    const void *numbers = fw_parameters_dense(p, fw_parameters_find(p, i, true), 0);
    for (size_t c = 0; c < graph->outputs; c++)
      bias[c] += fw_scorer_additive(scorer)[i] * fw_parameters_get(p, numbers, c);
  }
  return FURROW_OK;
}
