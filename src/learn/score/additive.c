/* learn/score/additive.c: which layers of a graph are added up to its output, and their numbers. */
#include "learn/score/additive.h"

#include "base/error.h"
#include "base/mem.h"

furrow_status fw_additive_create(double **times, const fw_graph *graph, furrow_error *err) {
  double *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, graph->count, err));
  made[graph->layers[graph->count - 1].inputs[0]] = 1;
  for (size_t i = graph->count - 1; i-- > 0;) { /* inputs come before consumers */
    const fw_layer *layer = &graph->layers[i];
    if (layer->type != FW_LAYER_SUM_POOLING) continue;
    for (size_t j = 0; j < layer->input_count; j++) made[layer->inputs[j]] += made[i];
    made[i] = 0;
  }
  *times = made;
  return FURROW_OK;
}

bool fw_layer_is_linear(const fw_layer *layer) {
  return layer->type == FW_LAYER_INPUT && layer->activation == FW_ACTIVATION_IDENTITY;
}

bool fw_layer_is_pairs(const fw_graph *graph, const fw_layer *layer) {
  return layer->type == FW_LAYER_BI_INNER_SUM && graph->layers[layer->inputs[0]].type == FW_LAYER_EMBEDDING &&
         graph->layers[layer->inputs[0]].slots == 0;
}
