/* learn/score/fm_vectors.c: rows of a factorization machine as vectors whose inner product ranks. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/score/scorer.h"

#define MOST_FACTORS 4096

/* Where a graph has what a factorization machine needs: indices of parameters, SIZE_MAX: nowhere. */
typedef struct machine {
  const fw_parameters *p;
  size_t weight, bias, embedding, factors;
} machine;

static void look_at_layer(machine *m, const fw_graph *graph, size_t i, size_t *crosses, size_t *inputs) {
  const fw_layer *layer = &graph->layers[i];
  if (layer->type == FW_LAYER_BI_INNER_SUM) {
    m->embedding = fw_parameters_find(m->p, layer->inputs[0], false);
    m->factors = layer->factors;
    ++*crosses;
  }
  if (layer->type == FW_LAYER_INPUT && layer->width == 1 && layer->activation == FW_ACTIVATION_IDENTITY) {
    m->weight = fw_parameters_find(m->p, i, false);
    m->bias = fw_parameters_find(m->p, i, true);
    ++*inputs;
  }
}

static furrow_status find_machine(machine *m, const furrow_scorer *scorer, furrow_error *err) {
  const fw_plan *plan = scorer->plan;
  *m = (machine){.p = scorer->parameters};
  size_t crosses = 0, inputs = 0;
  for (size_t i = 0; i < plan->graph.count; i++) look_at_layer(m, &plan->graph, i, &crosses, &inputs);
  if (crosses != 1)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors need one BiInnerSumCross layer, the graph has %zu", crosses);
  if (inputs != 1)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors need one input layer of one output, the graph has %zu", inputs);
  if (m->factors > MOST_FACTORS)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "vectors of %zu factors are not made, %d at most", m->factors,
                   MOST_FACTORS);
  return FURROW_OK;
}

/* sum[f] of u_f over the row's features; returns w.x + half of (sum^2 - sum of squares). A feature that the model does
 * not have counts as 0. */
static double sums_of(const machine *m, const furrow_row *row, double *sum) {
  memset(sum, 0, m->factors * sizeof *sum);
  double linear = 0, squares = 0, cross = 0;
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t key = furrow_row_get_index(row, i);
    const double x = furrow_row_get_value(row, i);
    linear += x * fw_parameters_get(m->p, fw_parameters_feature(m->p, m->weight, key, 0), 0);
    const void *v = fw_parameters_feature(m->p, m->embedding, key, 0);
    for (size_t f = 0; f < m->factors; f++) {
      const double u = x * fw_parameters_get(m->p, v, f);
      sum[f] += u;
      squares += u * u;
    }
  }
  for (size_t f = 0; f < m->factors; f++) cross += sum[f] * sum[f];
  return linear + 0.5 * (cross - squares);
}

furrow_status furrow_scorer_vector_size(const furrow_scorer *scorer, size_t *size, furrow_error *err) {
  machine m;
  FW_TRY(find_machine(&m, scorer, err));
  *size = m.factors + 1;
  return FURROW_OK;
}

/* The sums of a row's u to `vector`; *own: what the row gives alone. */
static furrow_status vector_of(machine *m, const furrow_scorer *scorer, const furrow_row *row, float *vector,
                               double *own, furrow_error *err) {
  double sum[MOST_FACTORS];
  FW_TRY(find_machine(m, scorer, err));
  *own = sums_of(m, row, sum);
  for (size_t f = 0; f < m->factors; f++) vector[f] = (float)sum[f];
  return FURROW_OK;
}

furrow_status furrow_scorer_item_vector(const furrow_scorer *scorer, const furrow_row *row, float *vector,
                                        furrow_error *err) {
  machine m;
  double own = 0;
  FW_TRY(vector_of(&m, scorer, row, vector, &own, err));
  vector[m.factors] = (float)own;
  return FURROW_OK;
}

furrow_status furrow_scorer_query_vector(const furrow_scorer *scorer, const furrow_row *row, float *vector,
                                         double *rest, furrow_error *err) {
  machine m;
  double own = 0;
  FW_TRY(vector_of(&m, scorer, row, vector, &own, err));
  vector[m.factors] = 1;
  if (rest) *rest = own + fw_parameters_get(m.p, fw_parameters_dense(m.p, m.bias, 0), 0);
  return FURROW_OK;
}

furrow_status furrow_scorer_features(const furrow_scorer *scorer, uint64_t first, uint64_t end, uint64_t **ids,
                                     size_t *count, furrow_error *err) {
  uint64_t *keys = NULL, *found = NULL;
  size_t have = 0, taken = 0;
  const fw_forest *forest = scorer->forest;
  const fw_plan *plan = scorer->plan;
  furrow_status status = scorer->nodes ? fw_node_forest_features(scorer->nodes, &keys, &have, err)
                         : forest      ? fw_forest_features(forest, &keys, &have, err)
                                       : fw_parameters_keys(scorer->parameters, &keys, &have, err);
  if (scorer->parameters && fw_plan_dense(plan)) have = (size_t)plan->data.range;
  if (status == FURROW_OK) status = FW_ALLOC(&found, have, err);
  for (size_t i = 0; status == FURROW_OK && i < have; i++) {
    const uint64_t key = keys ? keys[i] : i;
    if (key >= first && key < end) found[taken++] = key;
  }
  fw_free(keys);
  if (status != FURROW_OK) return status;
  *ids = found;
  *count = taken;
  return FURROW_OK;
}
