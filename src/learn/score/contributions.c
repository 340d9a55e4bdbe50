/* learn/score/contributions.c: what features add to a score: their weights, and what each feature of a row contributes.
 *
 * Of nets, the graph's output must be a sum of input layers and of products of pairs; of a product each of the two
 * features gets half. A linear fc layer may weigh the products for each class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "learn/score/scorer.h"

/* ---- Layers that are added up ---- */

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

/* Whether features act on a layer by themselves: an input layer without activation. */
static bool is_linear(const fw_layer *layer) {
  return layer->type == FW_LAYER_INPUT && layer->activation == FW_ACTIVATION_IDENTITY;
}

/* Whether a layer takes an embedding with free slots. */
static bool takes_free_vectors(const fw_graph *graph, const fw_layer *layer) {
  const fw_layer *input = &graph->layers[layer->inputs[0]];
  return input->type == FW_LAYER_EMBEDDING && input->slots == 0;
}

/* Whether features act on a layer in pairs: BiInnerSumCross. */
static bool is_pairs(const fw_graph *graph, const fw_layer *layer) {
  return layer->type == FW_LAYER_BI_INNER_SUM && takes_free_vectors(graph, layer);
}

/* Whether they do so with weights for each output: a linear fc layer of BiInteractionCross. */
static bool is_weighed_pairs(const fw_graph *graph, const fw_layer *layer) {
  if (layer->type != FW_LAYER_FC || layer->activation != FW_ACTIVATION_IDENTITY) return false;
  const fw_layer *cross = &graph->layers[layer->inputs[0]];
  return cross->type == FW_LAYER_BI_INTERACTION && takes_free_vectors(graph, cross);
}

/* ---- Weights ---- */

static bool is_wide(const furrow_scorer *scorer, size_t layer) {
  return scorer->additive[layer] > 0 && is_linear(&scorer->plan->graph.layers[layer]);
}

static furrow_status check_wide(const furrow_scorer *scorer, furrow_error *err) {
  const fw_plan *plan = scorer->plan;
  if (scorer->forest || scorer->nodes) {
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
  const fw_graph *graph = &scorer->plan->graph;
  const fw_parameters *p = scorer->parameters;
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
  const fw_graph *graph = &scorer->plan->graph;
  const fw_parameters *p = scorer->parameters;
  memset(weights, 0, graph->outputs * sizeof *weights);
  for (size_t i = 0; i < graph->count; i++) {
    if (!is_wide(scorer, i)) continue;
    const size_t parameter = fw_parameters_find(p, i, false);
    for (size_t c = 0; c < graph->outputs; c++)
      weights[c] += scorer->additive[i] * fw_parameters_get(p, fw_parameters_weights(p, parameter, feature), c);
  }
  if (norm) *norm = vector_length(scorer, feature);
  return FURROW_OK;
}

furrow_status furrow_scorer_bias(const furrow_scorer *scorer, double *bias, furrow_error *err) {
  FW_TRY(check_wide(scorer, err));
  const fw_graph *graph = &scorer->plan->graph;
  const fw_parameters *p = scorer->parameters;
  memset(bias, 0, graph->outputs * sizeof *bias);
  for (size_t i = 0; i < graph->count; i++) {
    const bool pairs = scorer->additive[i] > 0 && is_weighed_pairs(graph, &graph->layers[i]);
    if (!is_wide(scorer, i) && !pairs) continue;
    const void *numbers = fw_parameters_dense(p, fw_parameters_find(p, i, true), 0);
    for (size_t c = 0; c < graph->outputs; c++) bias[c] += scorer->additive[i] * fw_parameters_get(p, numbers, c);
  }
  return FURROW_OK;
}

/* ---- Explainers ---- */

/* A feature of a row. */
typedef struct entry {
  uint64_t feature;
  size_t at; /* its place in the row */
  double x;
} entry;

struct fw_explainer {
  size_t classes;
  fw_tree_explainer *trees; /* NULL: a net */
  double *bias;             /* bias of each class; trees: their own */
  double *sum;              /* factors: sum of a row's vectors */
  size_t sum_capacity;
  entry *entries; /* entries of a row, by ascending feature */
  size_t entry_capacity;
  uint64_t *features; /* the result, which may be longer while it is made */
  size_t feature_capacity;
  double *values; /* classes of each feature */
  size_t value_capacity;
};

static furrow_status refuse_layer(const fw_plan *plan, size_t layer, furrow_error *err) {
  const fw_graph *graph = &plan->graph;
  const char *name = plan->model.algorithm ? plan->model.algorithm : "this graph";
  if (layer == SIZE_MAX)
    fw_fail(err, FURROW_E_UNSUPPORTED, "%s has no contributions of features: its loss is %s", name,
            fw_loss_name(graph->loss));
  else
    fw_fail(err, FURROW_E_UNSUPPORTED, "%s has no contributions of features: its score depends on the layer %s (%s)",
            name, graph->layers[layer].name, fw_layer_type_name(graph->layers[layer].type));
  fw_error_set_hint(err, "lr, svm, linear, robust, softmax, fm and gbdt have them");
  return FURROW_E_UNSUPPORTED;
}

/* Every summand of the score must belong to features, and the score must be their sum (with cross-entropy it is
 * not). */
static furrow_status check_graph(const furrow_scorer *scorer, furrow_error *err) {
  const fw_plan *plan = scorer->plan;
  const double *times = scorer->additive;
  for (size_t i = plan->graph.count; i-- > 0;) {
    const fw_layer *layer = &plan->graph.layers[i];
    const bool known = is_linear(layer) || is_pairs(&plan->graph, layer) || is_weighed_pairs(&plan->graph, layer);
    if (times[i] > 0 && !known) return refuse_layer(plan, i, err);
  }
  return plan->graph.loss == FW_LOSS_CROSS_ENTROPY ? refuse_layer(plan, SIZE_MAX, err) : FURROW_OK;
}

static furrow_status fill_explainer(fw_explainer *e, const furrow_scorer *scorer, furrow_error *err) {
  const fw_plan *plan = scorer->plan;
  const fw_forest *forest = scorer->forest;
  e->classes = plan->graph.outputs;
  if (scorer->nodes) return fw_node_explainer_create(&e->trees, scorer->nodes, err);
  if (forest) return fw_tree_explainer_create(&e->trees, forest, plan->train.lr, err);
  FW_TRY(check_graph(scorer, err));
  return FW_ALLOC(&e->bias, e->classes, err);
}

static furrow_status make_explainer(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, furrow_error *err) {
  fw_explainer *made = NULL;
  if (scratch->explainer) return FURROW_OK;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  const furrow_status status = fill_explainer(made, scorer, err);
  if (status == FURROW_OK)
    scratch->explainer = made;
  else
    fw_explainer_free(made);
  return status;
}

void fw_explainer_free(fw_explainer *explainer) {
  if (!explainer) return;
  fw_tree_explainer_free(explainer->trees);
  fw_free(explainer->bias);
  fw_free(explainer->sum);
  fw_free(explainer->entries);
  fw_free(explainer->features);
  fw_free(explainer->values);
  fw_free(explainer);
}

/* Memory for `count` features of a result. */
static furrow_status reserve_entries(fw_explainer *e, size_t count, furrow_error *err) {
  size_t numbers = 0;
  if (!fw_size_mul(count, e->classes, &numbers)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_GROW(&e->features, &e->feature_capacity, count, err));
  return FW_GROW(&e->values, &e->value_capacity, numbers, err);
}

/* ---- Nets ---- */

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* Values are floats, as a net takes them. */
static furrow_status list_entries(fw_explainer *e, const furrow_row *row, furrow_error *err) {
  FW_TRY(FW_GROW(&e->entries, &e->entry_capacity, row->length, err));
  bool ascending = true;
  for (size_t i = 0; i < row->length; i++) {
    e->entries[i] = (entry){furrow_row_get_index(row, i), i, (double)(float)furrow_row_get_value(row, i)};
    ascending &= i == 0 || e->entries[i - 1].feature <= e->entries[i].feature;
  }
  if (!ascending) qsort(e->entries, row->length, sizeof *e->entries, compare_entries);
  return FURROW_OK;
}

static void add_bias(fw_explainer *e, const fw_parameters *p, size_t layer, double times) {
  const size_t bias = fw_parameters_find(p, layer, true);
  for (size_t c = 0; c < e->classes; c++)
    e->bias[c] += times * fw_parameters_get(p, fw_parameters_dense(p, bias, 0), c);
}

static void add_linear(fw_explainer *e, const fw_parameters *p, size_t layer, double times, size_t count) {
  const size_t weight = fw_parameters_find(p, layer, false);
  add_bias(e, p, layer, times);
  for (size_t i = 0; i < count; i++)
    for (size_t c = 0; c < e->classes; c++)
      e->values[i * e->classes + c] +=
          times * e->entries[i].x * fw_parameters_get(p, fw_parameters_weights(p, weight, e->entries[i].feature), c);
}

static void sum_vectors(fw_explainer *e, const fw_parameters *p, size_t parameter, size_t factors, size_t count) {
  memset(e->sum, 0, factors * sizeof *e->sum);
  for (size_t i = 0; i < count; i++) {
    const void *v = fw_parameters_feature(p, parameter, e->entries[i].feature, 0);
    for (size_t f = 0; v && f < factors; f++) e->sum[f] += e->entries[i].x * fw_parameters_get(p, v, f);
  }
}

/* Adds half of <u_i, sum of the others' u> for each feature. */
static void add_pairs(fw_explainer *e, const fw_parameters *p, size_t embedding, size_t factors, double times,
                      size_t count) {
  const size_t parameter = fw_parameters_find(p, embedding, false);
  sum_vectors(e, p, parameter, factors, count);
  for (size_t i = 0; i < count; i++) {
    const void *v = fw_parameters_feature(p, parameter, e->entries[i].feature, 0);
    double products = 0;
    for (size_t f = 0; v && f < factors; f++) {
      const double u = e->entries[i].x * fw_parameters_get(p, v, f);
      products += u * (e->sum[f] - u);
    }
    e->values[i] += times * products / 2; /* such a layer has one output */
  }
}

/* The same with a weight of each factor for each class; fc is the layer that has them. */
static void add_weighed_pairs(fw_explainer *e, const fw_parameters *p, size_t fc, size_t embedding, size_t factors,
                              double times, size_t count) {
  const size_t parameter = fw_parameters_find(p, embedding, false);
  const void *weights = fw_parameters_dense(p, fw_parameters_find(p, fc, false), 0);
  add_bias(e, p, fc, times);
  sum_vectors(e, p, parameter, factors, count);
  for (size_t i = 0; i < count; i++) {
    const void *v = fw_parameters_feature(p, parameter, e->entries[i].feature, 0);
    for (size_t f = 0; v && f < factors; f++) {
      const double u = e->entries[i].x * fw_parameters_get(p, v, f), product = u * (e->sum[f] - u);
      for (size_t c = 0; c < e->classes; c++)
        e->values[i * e->classes + c] += times * product / 2 * fw_parameters_get(p, weights, f * e->classes + c);
    }
  }
}

/* Adds what features contribute to layer i, which is added to the score. */
static furrow_status add_layer(fw_explainer *e, const furrow_scorer *scorer, size_t i, size_t count,
                               furrow_error *err) {
  const fw_graph *graph = &scorer->plan->graph;
  const fw_parameters *p = scorer->parameters;
  const double times = scorer->additive[i];
  const fw_layer *layer = &graph->layers[i], *input = layer->input_count ? &graph->layers[layer->inputs[0]] : NULL;
  if (is_linear(layer)) {
    add_linear(e, p, i, times, count);
    return FURROW_OK;
  }
  const fw_layer *cross = is_pairs(graph, layer) ? layer : input;
  FW_TRY(FW_GROW(&e->sum, &e->sum_capacity, cross->factors, err));
  if (cross == layer)
    add_pairs(e, p, layer->inputs[0], cross->factors, times, count);
  else
    add_weighed_pairs(e, p, i, cross->inputs[0], cross->factors, times, count);
  return FURROW_OK;
}

/* The values of every entry; features that occur twice still stand twice. */
static furrow_status explain_net(fw_explainer *e, const furrow_scorer *scorer, const furrow_row *row,
                                 furrow_error *err) {
  FW_TRY(list_entries(e, row, err));
  FW_TRY(reserve_entries(e, row->length, err));
  memset(e->bias, 0, e->classes * sizeof *e->bias);
  if (row->length > 0) memset(e->values, 0, row->length * e->classes * sizeof *e->values);
  for (size_t i = 0; i < row->length; i++) e->features[i] = e->entries[i].feature;
  for (size_t i = 0; i < scorer->plan->graph.count; i++)
    if (scorer->additive[i] > 0) FW_TRY(add_layer(e, scorer, i, row->length, err));
  return FURROW_OK;
}

/* ---- All models ---- */

static furrow_status explain_trees(fw_explainer *e, const furrow_row *row, size_t *count, furrow_error *err) {
  const uint64_t *features = fw_tree_explainer_features(e->trees, count);
  FW_TRY(reserve_entries(e, *count, err));
  if (*count > 0) memcpy(e->features, features, *count * sizeof *features);
  fw_tree_explainer_run(e->trees, row, e->values);
  return FURROW_OK;
}

static bool all_zero(const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (values[i] != 0) return false;
  return true;
}

/* Adds up the values of a feature that stands twice, drops features whose values are all 0; returns how many are left.
 */
static size_t merge_features(fw_explainer *e, size_t count) {
  const size_t classes = e->classes;
  size_t kept = 0;
  for (size_t i = 0; i < count;) {
    const uint64_t feature = e->features[i];
    double *to = e->values + kept * classes;
    memmove(to, e->values + i * classes, classes * sizeof *to);
    for (i++; i < count && e->features[i] == feature; i++)
      for (size_t c = 0; c < classes; c++) to[c] += e->values[i * classes + c];
    if (!all_zero(to, classes)) e->features[kept++] = feature;
  }
  return kept;
}

furrow_status furrow_scorer_contributions(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                          const furrow_row *row, furrow_contributions *contributions,
                                          furrow_error *err) {
  size_t count = row->length;
  FW_TRY(make_explainer(scorer, scratch, err));
  FW_TRY(fw_scorer_run_row(scorer, scratch, row, err));
  fw_explainer *e = scratch->explainer;
  FW_TRY(e->trees ? explain_trees(e, row, &count, err) : explain_net(e, scorer, row, err));
  const furrow_contributions full = {.size = sizeof full,
                                     .classes = e->classes,
                                     .count = merge_features(e, count),
                                     .features = e->features,
                                     .values = e->values,
                                     .bias = e->trees ? fw_tree_explainer_bias(e->trees) : e->bias,
                                     .outputs = scratch->outputs};
  fw_info_write(contributions, &full, sizeof full);
  return FURROW_OK;
}
