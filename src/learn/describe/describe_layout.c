/* learn/describe/describe_layout.c: where layers stand in a drawing of a graph.
 *
 * The row of a layer is one below its lowest input. It stands below an input if it can: a place is free if no layer is
 * there and no connection goes straight down through it, from a layer above in this column to a row below. */
#include <math.h>

#include "learn/describe/describe.h"

static void set_levels(fw_layer_place *places, const fw_graph *graph) {
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    places[i].level = 1;
    for (size_t k = 0; k < layer->input_count; k++) {
      const size_t level = places[layer->inputs[k]].level;
      if (level >= places[i].level) places[i].level = level + 1;
    }
    places[i].last = places[i].level;
    for (size_t k = 0; k < layer->input_count; k++) {
      fw_layer_place *input = &places[layer->inputs[k]];
      if (places[i].level > input->last) input->last = places[i].level;
    }
  }
}

/* Neither a layer there, nor a connection through it; and its own connections go through no layer. */
static bool is_free(const fw_layer_place *places, size_t i, size_t column) {
  for (size_t j = 0; j < i; j++) {
    if (places[j].column != column) continue;
    if (places[j].level == places[i].level) return false;
    if (places[j].level < places[i].level && places[i].level < places[j].last) return false;
    if (places[j].level > places[i].level && places[j].level < places[i].last) return false;
  }
  return true;
}

/* The middle of its inputs. */
static size_t wanted_column(const fw_layer_place *places, const fw_layer *layer) {
  size_t sum = 0;
  if (layer->input_count == 0) return 0;
  for (size_t k = 0; k < layer->input_count; k++) sum += places[layer->inputs[k]].column;
  return sum / layer->input_count;
}

void fw_describe_layout(fw_layer_place *places, const fw_graph *graph) {
  set_levels(places, graph);
  for (size_t i = 0; i < graph->count; i++) {
    const size_t wanted = wanted_column(places, &graph->layers[i]);
    for (size_t away = 0;; away++) {
      places[i].column = wanted + away;
      if (is_free(places, i, wanted + away)) break;
      places[i].column = wanted - away;
      if (away <= wanted && is_free(places, i, wanted - away)) break;
    }
  }
}
