/* learn/parameters/fold.c: a scaling folded into the parameters of a net.
 *
 * With v' = v * factor a feature's vector is z * v = x * v' - c, c = mean * v'. C is the sum of the c of all features;
 * those with a mean are in every row, each in a slot of its own, so C is the same for all rows. What takes the vectors:
 *
 *   FCLayer          W·(a - c)            b -= W·c
 *   BiInnerCross     <a - c, b - d>       = <a, b> - <a, d> - <b, c> + <c, d>: the fc layer after it has weights of a
 *                                         and b, too, which take what is linear in them
 *   BiInnerSumCross  over all pairs       w of feature i -= <v', C - c>, b += (|C|² - sum of |c|²) / 2, where w and b
 *                                         belong to the input layer that is summed with it
 *   BiInteractionCross  the same for each factor, times the weights of the linear fc layer that takes it; w and b
 *                                         belong to the input layer that is summed with this fc layer */
#include "learn/parameters/parameters.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- The graph ---- */

enum { NO_LAYER = -1 };

typedef ptrdiff_t layer_index;

static const fw_layer *layer_at(const fw_graph *graph, layer_index i) {
  return &graph->layers[i];
}

/* Counts how often layers take the output of `layer`, and finds the last layer that does. */
static size_t count_consumers(const fw_graph *graph, layer_index layer, layer_index *consumer) {
  size_t count = 0;
  for (size_t i = 0; i < graph->count; i++)
    for (size_t k = 0; k < graph->layers[i].input_count; k++)
      if (graph->layers[i].inputs[k] == (size_t)layer) {
        *consumer = (layer_index)i;
        count++;
      }
  return count;
}

/* The last layer that a layer's output reaches through sums alone. Layers with the same result are summed. */
static layer_index sum_of(const fw_graph *graph, layer_index layer) {
  layer_index consumer = NO_LAYER;
  while (count_consumers(graph, layer, &consumer) == 1 && layer_at(graph, consumer)->type == FW_LAYER_SUM_POOLING)
    layer = consumer;
  return layer;
}

/* The linear input layer that is summed with a layer, and has as many outputs. */
static layer_index input_beside(const fw_graph *graph, layer_index layer) {
  const layer_index sum = sum_of(graph, layer);
  for (layer_index i = 0; i < (layer_index)graph->count; i++) {
    const fw_layer *l = layer_at(graph, i);
    if (l->type == FW_LAYER_INPUT && l->activation == FW_ACTIVATION_IDENTITY && i != sum &&
        l->width == layer_at(graph, layer)->width && sum_of(graph, i) == sum)
      return i;
  }
  return NO_LAYER;
}

/* Whether `of` is the layer, or a concatenation that contains it. */
static bool is_part(const fw_graph *graph, layer_index of, layer_index layer) {
  if (of == layer) return true;
  if (layer_at(graph, of)->type != FW_LAYER_CONCAT) return false;
  for (size_t k = 0; k < layer_at(graph, of)->input_count; k++)
    if (is_part(graph, (layer_index)layer_at(graph, of)->inputs[k], layer)) return true;
  return false;
}

/* Whether only fc layers take the layer's output, directly or concatenated. Unless `beside` is NO_LAYER, they must take
 * the output of `beside`, too. */
static bool only_fc_takes(const fw_graph *graph, layer_index layer, layer_index beside) {
  for (layer_index i = 0; i < (layer_index)graph->count; i++) {
    const fw_layer *l = layer_at(graph, i);
    for (size_t k = 0; k < l->input_count; k++) {
      if (l->inputs[k] != (size_t)layer) continue;
      if (l->type == FW_LAYER_CONCAT ? !only_fc_takes(graph, i, beside) : l->type != FW_LAYER_FC) return false;
      if (l->type == FW_LAYER_FC && beside != NO_LAYER && !is_part(graph, (layer_index)l->inputs[0], beside))
        return false;
    }
  }
  return true;
}

static bool is_embedding(const fw_graph *graph, layer_index i) {
  return layer_at(graph, i)->type == FW_LAYER_EMBEDDING;
}

static bool is_cross_of(const fw_graph *graph, layer_index i, layer_index embedding) {
  const fw_layer_type type = layer_at(graph, i)->type;
  return (type == FW_LAYER_BI_INNER_SUM || type == FW_LAYER_BI_INNER || type == FW_LAYER_BI_INTERACTION) &&
         layer_at(graph, i)->inputs[0] == (size_t)embedding;
}

/* The linear fc layer that alone takes the products of a BiInteractionCross, and is summed with an input layer. */
static layer_index fc_of_products(const fw_graph *graph, layer_index cross) {
  layer_index fc = NO_LAYER;
  if (count_consumers(graph, cross, &fc) != 1 || layer_at(graph, fc)->type != FW_LAYER_FC) return NO_LAYER;
  const bool linear = layer_at(graph, fc)->activation == FW_ACTIVATION_IDENTITY;
  return linear && input_beside(graph, fc) != NO_LAYER ? fc : NO_LAYER;
}

static bool consumer_takes_means(const fw_graph *graph, layer_index consumer, layer_index embedding) {
  switch (layer_at(graph, consumer)->type) {
  case FW_LAYER_FC: return true;
  case FW_LAYER_CONCAT: return only_fc_takes(graph, consumer, NO_LAYER);
  case FW_LAYER_BI_INNER: return only_fc_takes(graph, consumer, embedding);
  case FW_LAYER_BI_INNER_SUM: return input_beside(graph, consumer) != NO_LAYER;
  case FW_LAYER_BI_INTERACTION: return fc_of_products(graph, consumer) != NO_LAYER;
  default: return false;
  }
}

bool fw_fold_can_centre(const fw_plan *plan) {
  const fw_graph *graph = &plan->graph;
  for (layer_index i = 0; i < (layer_index)graph->count; i++)
    for (size_t k = 0; k < layer_at(graph, i)->input_count; k++) {
      const layer_index input = (layer_index)layer_at(graph, i)->inputs[k];
      if (is_embedding(graph, input) && !consumer_takes_means(graph, i, input)) return false;
    }
  return !plan->forest.used;
}

/* ---- The graph, for labels ---- */

/* The layer whose output is the input of the loss. */
static layer_index output_of(const fw_graph *graph) {
  return (layer_index)graph->layers[graph->count - 1].inputs[0];
}

/* Whether a layer is a BiInnerSumCross that is summed into the output. */
static bool sums_to_output(const fw_graph *graph, layer_index i) {
  return layer_at(graph, i)->type == FW_LAYER_BI_INNER_SUM && sum_of(graph, i) == output_of(graph);
}

/* Whether the vectors of an embedding may be scaled: every layer that takes them is summed into the output, or is the
 * input of an fc layer, which can be scaled back. */
static bool vectors_can_be_scaled(const fw_graph *graph, layer_index embedding) {
  for (layer_index i = 0; i < (layer_index)graph->count; i++) {
    const fw_layer *l = layer_at(graph, i);
    for (size_t k = 0; k < l->input_count; k++) {
      if (l->inputs[k] != (size_t)embedding || l->type == FW_LAYER_FC || sums_to_output(graph, i)) continue;
      if (l->type != FW_LAYER_CONCAT && !is_cross_of(graph, i, embedding)) return false;
      if (!only_fc_takes(graph, i, NO_LAYER)) return false;
    }
  }
  return true;
}

/* `biases`: whether there is one that can take a constant. */
static bool can_scale(const fw_graph *graph, layer_index i, bool *biases) {
  const fw_layer *l = layer_at(graph, i);
  layer_index consumer;
  if (count_consumers(graph, i, &consumer) != 1) return false;
  switch (l->type) {
  case FW_LAYER_INPUT:
  case FW_LAYER_FC: *biases = true; return l->activation == FW_ACTIVATION_IDENTITY;
  case FW_LAYER_BI_INNER_SUM: return vectors_can_be_scaled(graph, (layer_index)l->inputs[0]);
  case FW_LAYER_SUM_POOLING: break;
  default: return false;
  }
  for (size_t k = 0; k < l->input_count; k++)
    if (!can_scale(graph, (layer_index)l->inputs[k], biases)) return false;
  return true;
}

bool fw_fold_can_scale_labels(const fw_plan *plan) {
  const fw_graph *graph = &plan->graph;
  bool biases = false;
  if (plan->forest.used || graph->count < 2 || graph->outputs != 1) return false;
  if (graph->loss != FW_LOSS_L2 && graph->loss != FW_LOSS_HUBER) return false;
  return can_scale(graph, output_of(graph), &biases) && biases;
}

/* ---- Parameters ---- */

typedef struct folding {
  fw_parameters *p;
  const fw_plan *plan;
  const fw_graph *graph;
  const fw_scaling *scaling;
  uint64_t *keys; /* keys of records; NULL: 0 … records - 1 */
  size_t records;
  size_t centred;  /* features with a mean */
  double *terms;   /* numbers of them, by ascending key: for each output, or factor */
  double *sum;     /* C: a number for each factor of the embedding that is folded */
  double *by_slot; /* its c, by slot; NULL: it has none */
  double squares;  /* sum of |c|² */
} folding;

static double get(const folding *f, const void *numbers, size_t i) {
  return fw_parameters_get(f->p, numbers, i);
}

static void set(const folding *f, void *numbers, size_t i, double number) {
  fw_parameters_put(f->p, numbers, i, number);
}

static void multiply_numbers(const folding *f, void *numbers, size_t count, double by) {
  for (size_t i = 0; i < count; i++) set(f, numbers, i, get(f, numbers, i) * by);
}

static double dot(const folding *f, const void *numbers, const double *with, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += get(f, numbers, i) * with[i];
  return sum;
}

static size_t parameter_of(const folding *f, layer_index layer, bool bias) {
  return fw_parameters_find(f->p, (size_t)layer, bias);
}

static void *bias_of(const folding *f, layer_index layer) {
  return fw_parameters_dense(f->p, parameter_of(f, layer, true), 0);
}

/* Weights of an fc layer for input `at`. */
static void *fc_row(const folding *f, layer_index fc, size_t at) {
  char *weights = fw_parameters_dense(f->p, parameter_of(f, fc, false), 0);
  return weights + at * layer_at(f->graph, fc)->width * f->p->element;
}

/* Weights of a feature; NULL: it has no record. */
static void *feature_row(const folding *f, layer_index layer, uint64_t key) {
  return fw_parameters_weights(f->p, parameter_of(f, layer, false), key);
}

static uint64_t key_of_record(const folding *f, size_t i) {
  return f->keys ? f->keys[i] : i;
}

/* ---- Ranks ---- */

/* Sums numbers over all ranks that only the owner of a feature has, and that are 0 elsewhere. Such a sum is exact, so
 * that all that is computed from it has the bits of one process. */
static furrow_status share(const folding *f, layer_index layer, double *numbers, size_t count, furrow_error *err) {
  const bool everywhere = !f->p->list[parameter_of(f, layer, false)].by_feature;
  return everywhere ? FURROW_OK : fw_comm_sum_f64(f->p->comm, numbers, count, err);
}

/* ---- Input layers ---- */

static furrow_status fold_input(const folding *f, layer_index layer, furrow_error *err) {
  const size_t width = layer_at(f->graph, layer)->width;
  double *term = f->terms;
  memset(f->terms, 0, f->centred * width * sizeof *f->terms);
  for (size_t i = 0; i < f->scaling->count; i++) {
    const double mean = f->scaling->mean[i];
    void *w = feature_row(f, layer, f->scaling->key[i]);
    for (size_t k = 0; w && k < width; k++) {
      const double folded = get(f, w, k) * f->scaling->factor[i];
      set(f, w, k, folded);
      if (mean != 0) term[k] = folded * mean;
    }
    if (mean != 0) term += width;
  }
  FW_TRY(share(f, layer, f->terms, f->centred * width, err));
  void *bias = bias_of(f, layer);
  for (size_t k = 0; k < width; k++) {
    double sum = 0;
    for (size_t i = 0; i < f->centred; i++) sum += f->terms[i * width + k];
    set(f, bias, k, get(f, bias, k) - sum);
  }
  return FURROW_OK;
}

/* ---- Embeddings ---- */

/* Replaces the vectors by v', and fills terms with the c of the features with a mean. */
static furrow_status scale_vectors(const folding *f, layer_index layer, furrow_error *err) {
  const size_t factors = layer_at(f->graph, layer)->factors;
  double *term = f->terms;
  memset(f->terms, 0, f->centred * factors * sizeof *f->terms);
  for (size_t i = 0; i < f->scaling->count; i++) {
    const double mean = f->scaling->mean[i];
    void *v = feature_row(f, layer, f->scaling->key[i]);
    if (v) multiply_numbers(f, v, factors, f->scaling->factor[i]);
    for (size_t k = 0; v && mean != 0 && k < factors; k++) term[k] = mean * get(f, v, k);
    if (mean != 0) term += factors;
  }
  return share(f, layer, f->terms, f->centred * factors, err);
}

/* Scales the vectors, and sums their constants. */
static furrow_status fold_vectors(folding *f, layer_index layer, furrow_error *err) {
  const fw_layer *embedding = layer_at(f->graph, layer);
  const size_t factors = embedding->factors;
  FW_TRY(scale_vectors(f, layer, err));
  for (size_t k = 0; k < factors; k++) f->sum[k] = 0;
  for (size_t k = 0; k < embedding->width; k++) f->by_slot[k] = 0;
  f->squares = 0;
  const double *term = f->terms;
  for (size_t i = 0; i < f->scaling->count; i++) {
    if (f->scaling->mean[i] == 0) continue;
    for (size_t k = 0; k < factors; k++) {
      f->sum[k] += term[k];
      f->squares += term[k] * term[k];
      if (embedding->slots > 0) f->by_slot[(size_t)f->scaling->slot[i] * factors + k] = term[k];
    }
    term += factors;
  }
  return FURROW_OK;
}

/* The mean of a feature. `next`: of the scaling, where to go on; keys must come in ascending order. */
static double mean_of(const folding *f, uint64_t key, size_t *next) {
  while (*next < f->scaling->count && f->scaling->key[*next] < key) ++*next;
  return *next < f->scaling->count && f->scaling->key[*next] == key ? f->scaling->mean[*next] : 0;
}

/* All ranks have the weights of a dense input layer, and each rank has changed the weights of its own features:
 * exchanges the changed weights. */
static furrow_status share_changed(const folding *f, layer_index input, furrow_error *err) {
  const size_t parameter = parameter_of(f, input, false), count = (size_t)f->p->list[parameter].cols;
  const size_t width = layer_at(f->graph, input)->width;
  const furrow_comm *comm = f->p->comm;
  void *weights = fw_parameters_dense(f->p, parameter, 0);
  double *own = NULL;
  furrow_status status = fw_comm_all_ok(comm, FW_ALLOC(&own, count, err), err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++)
    own[i] = fw_parameters_own(f->p, i / width) ? get(f, weights, i) : 0;
  if (status == FURROW_OK) status = fw_comm_sum_f64(comm, own, count, err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) set(f, weights, i, own[i]);
  fw_free(own);
  return status;
}

static furrow_status share_input(const folding *f, layer_index input, furrow_error *err) {
  const bool divided = f->p->list[parameter_of(f, input, false)].by_feature;
  return divided || f->p->comm->ranks == 1 ? FURROW_OK : share_changed(f, input, err);
}

/* Moves the means' share of BiInnerSumCross into the input layer that is summed with it. */
static furrow_status fold_inner_sum(const folding *f, layer_index cross, layer_index embedding, furrow_error *err) {
  const layer_index input = input_beside(f->graph, cross);
  const size_t factors = layer_at(f->graph, embedding)->factors;
  double square = 0;
  size_t next = 0;
  for (size_t i = 0; i < f->records; i++) {
    const uint64_t key = key_of_record(f, i);
    const void *v = feature_row(f, embedding, key);
    void *w = feature_row(f, input, key);
    double own = 0; /* <v', c> */
    const double mean = mean_of(f, key, &next);
    for (size_t k = 0; mean != 0 && k < factors; k++) own += mean * get(f, v, k) * get(f, v, k);
    set(f, w, 0, get(f, w, 0) - dot(f, v, f->sum, factors) + own);
  }
  for (size_t k = 0; k < factors; k++) square += f->sum[k] * f->sum[k];
  void *bias = bias_of(f, input);
  set(f, bias, 0, get(f, bias, 0) + (square - f->squares) / 2);
  return share_input(f, input, err);
}

/* numbers += by * the weights of an fc layer for input `at`. */
static void add_fc_weights(const folding *f, void *numbers, layer_index fc, size_t at, double by) {
  const void *row = fc_row(f, fc, at);
  for (size_t k = 0; k < layer_at(f->graph, fc)->width; k++)
    set(f, numbers, k, get(f, numbers, k) + by * get(f, row, k));
}

/* Moves the means' share of BiInteractionCross into the input layer that is summed with the fc layer after it. */
static furrow_status fold_interaction(const folding *f, layer_index cross, layer_index embedding, furrow_error *err) {
  const layer_index fc = fc_of_products(f->graph, cross), input = input_beside(f->graph, fc);
  const size_t factors = layer_at(f->graph, embedding)->factors;
  size_t next = 0;
  for (size_t i = 0; i < f->records; i++) {
    const uint64_t key = key_of_record(f, i);
    const void *v = feature_row(f, embedding, key);
    void *w = feature_row(f, input, key);
    const double mean = mean_of(f, key, &next);
    for (size_t k = 0; k < factors; k++) add_fc_weights(f, w, fc, k, -get(f, v, k) * (f->sum[k] - mean * get(f, v, k)));
  }
  for (size_t k = 0; k < factors; k++) {
    double squares = 0; /* of this factor of the c */
    for (size_t i = 0; i < f->centred; i++) squares += f->terms[i * factors + k] * f->terms[i * factors + k];
    add_fc_weights(f, bias_of(f, input), fc, k, (f->sum[k] * f->sum[k] - squares) / 2);
  }
  return share_input(f, input, err);
}

/* ---- Fc layers after an embedding ---- */

/* Where `layer` begins among the inputs of an fc layer whose input is `of`; SIZE_MAX: it is not there. */
static size_t find_part(const fw_graph *graph, layer_index of, layer_index layer, size_t at) {
  if (of == layer) return at;
  if (layer_at(graph, of)->type != FW_LAYER_CONCAT) return SIZE_MAX;
  for (size_t k = 0; k < layer_at(graph, of)->input_count; k++) {
    const layer_index input = (layer_index)layer_at(graph, of)->inputs[k];
    const size_t found = find_part(graph, input, layer, at);
    if (found != SIZE_MAX) return found;
    at += layer_at(graph, input)->width;
  }
  return SIZE_MAX;
}

typedef struct fc_part {
  layer_index fc, embedding, part;
  size_t at;
} fc_part;

typedef void (*part_visitor)(const folding *f, const fc_part *part);

/* Calls visit for the parts of what an fc layer takes. */
static void visit_parts(const folding *f, fc_part part, part_visitor visit) {
  const fw_layer *l = layer_at(f->graph, part.part);
  if (l->type != FW_LAYER_CONCAT) {
    visit(f, &part);
    return;
  }
  for (size_t k = 0; k < l->input_count; k++) {
    part.part = (layer_index)l->inputs[k];
    visit_parts(f, part, visit);
    part.at += layer_at(f->graph, part.part)->width;
  }
}

static void visit_fc_layers(const folding *f, layer_index embedding, part_visitor visit) {
  for (layer_index i = 0; i < (layer_index)f->graph->count; i++) {
    const fw_layer *l = layer_at(f->graph, i);
    if (l->type != FW_LAYER_FC) continue;
    visit_parts(f, (fc_part){.fc = i, .embedding = embedding, .part = (layer_index)l->inputs[0]}, visit);
  }
}

/* row `to` of an fc layer's weights += by * row `from`; the bias, if `to` is SIZE_MAX. */
static void add_fc_row(const folding *f, layer_index fc, size_t to, double by, size_t from) {
  add_fc_weights(f, to == SIZE_MAX ? bias_of(f, fc) : fc_row(f, fc, to), fc, from, by);
}

static void fold_fc_vectors(const folding *f, const fc_part *p) {
  if (p->part != p->embedding) return;
  for (size_t j = 0; j < layer_at(f->graph, p->embedding)->width; j++)
    if (f->by_slot[j] != 0) add_fc_row(f, p->fc, SIZE_MAX, -f->by_slot[j], p->at + j);
}

/* One pair of slots, whose product is input `at`; the vectors of the embedding begin at input `vectors`. */
static void fold_fc_pair(const folding *f, layer_index fc, size_t vectors, size_t s, size_t t, size_t factors,
                         size_t at) {
  const double *c = f->by_slot + s * factors, *d = f->by_slot + t * factors;
  double product = 0;
  for (size_t k = 0; k < factors; k++) {
    product += c[k] * d[k];
    if (d[k] != 0) add_fc_row(f, fc, vectors + s * factors + k, -d[k], at);
    if (c[k] != 0) add_fc_row(f, fc, vectors + t * factors + k, -c[k], at);
  }
  if (product != 0) add_fc_row(f, fc, SIZE_MAX, product, at);
}

static void fold_fc_products(const folding *f, const fc_part *p) {
  const fw_layer *embedding = layer_at(f->graph, p->embedding);
  if (!is_cross_of(f->graph, p->part, p->embedding) || layer_at(f->graph, p->part)->type != FW_LAYER_BI_INNER) return;
  const layer_index input = (layer_index)layer_at(f->graph, p->fc)->inputs[0];
  const size_t vectors = find_part(f->graph, input, p->embedding, 0);
  size_t at = p->at;
  for (size_t s = 0; s < embedding->slots; s++)
    for (size_t t = s + 1; t < embedding->slots; t++, at++)
      fold_fc_pair(f, p->fc, vectors, s, t, embedding->factors, at);
}

static furrow_status fold_embedding(folding *f, layer_index embedding, bool means, furrow_error *err) {
  FW_TRY(fold_vectors(f, embedding, err));
  if (!means) return FURROW_OK;
  for (layer_index i = 0; i < (layer_index)f->graph->count; i++) {
    if (!is_cross_of(f->graph, i, embedding)) continue;
    if (layer_at(f->graph, i)->type == FW_LAYER_BI_INNER_SUM) FW_TRY(fold_inner_sum(f, i, embedding, err));
    if (layer_at(f->graph, i)->type == FW_LAYER_BI_INTERACTION) FW_TRY(fold_interaction(f, i, embedding, err));
  }
  visit_fc_layers(f, embedding, fold_fc_vectors); /* first: it takes the weights as they were */
  visit_fc_layers(f, embedding, fold_fc_products);
  return FURROW_OK;
}

/* ---- Labels ---- */

/* Layers that are summed into the output: weights and bias times `by`. */
static void scale_layer(const folding *f, layer_index layer, double by) {
  const size_t parameter = parameter_of(f, layer, false);
  const fw_parameter *about = &f->p->list[parameter];
  if (about->by_feature)
    for (size_t i = 0; i < f->records; i++)
      multiply_numbers(f, feature_row(f, layer, key_of_record(f, i)), about->rows, by);
  else
    multiply_numbers(f, fw_parameters_dense(f->p, parameter, 0), (size_t)about->cols, by);
}

static void scale_outputs(const folding *f, layer_index i, double by, double *constant) {
  const fw_layer *l = layer_at(f->graph, i);
  if (l->type == FW_LAYER_INPUT || l->type == FW_LAYER_FC) {
    void *bias = bias_of(f, i);
    scale_layer(f, i, by);
    set(f, bias, 0, get(f, bias, 0) * by + *constant);
    *constant = 0; /* the first one gets it */
  }
  if (l->type != FW_LAYER_SUM_POOLING) return;
  for (size_t k = 0; k < l->input_count; k++) scale_outputs(f, (layer_index)l->inputs[k], by, constant);
}

/* Scales back the weights of an fc layer that takes vectors which were multiplied with the root of 1 / label_factor, or
 * products of two of them. */
static void scale_back(const folding *f, const fc_part *p) {
  const double factor = f->scaling->label_factor;
  const bool vectors = p->part == p->embedding;
  if (!vectors && !is_cross_of(f->graph, p->part, p->embedding)) return;
  for (size_t j = 0; j < layer_at(f->graph, p->part)->width; j++)
    multiply_numbers(f, fc_row(f, p->fc, p->at + j), layer_at(f->graph, p->fc)->width, vectors ? sqrt(factor) : factor);
}

static void scale_embedding(const folding *f, layer_index embedding) {
  bool summed = false;
  for (layer_index i = 0; i < (layer_index)f->graph->count; i++)
    summed = summed || (is_cross_of(f->graph, i, embedding) && sums_to_output(f->graph, i));
  if (!summed) return;
  scale_layer(f, embedding, sqrt(1 / f->scaling->label_factor));
  visit_fc_layers(f, embedding, scale_back);
}

static void fold_labels(const folding *f) {
  double constant = f->scaling->label_mean;
  scale_outputs(f, output_of(f->graph), 1 / f->scaling->label_factor, &constant);
  for (layer_index i = 0; i < (layer_index)f->graph->count; i++)
    if (is_embedding(f->graph, i)) scale_embedding(f, i);
}

/* ---- Checks ---- */

static furrow_status check_features(const fw_plan *plan, const fw_scaling *s, bool *means, furrow_error *err) {
  *means = false;
  for (size_t i = 0; i < s->count; i++) {
    if (i > 0 && s->key[i - 1] >= s->key[i])
      return fw_fail(err, FURROW_E_ARGUMENT, "scaling: feature %" PRIu64 " does not ascend", s->key[i]);
    if (!(s->factor[i] > 0) || !isfinite(s->factor[i]) || !isfinite(s->mean[i]))
      return fw_fail(err, FURROW_E_ARGUMENT, "scaling: feature %" PRIu64 " has mean %g and factor %g", s->key[i],
                     s->mean[i], s->factor[i]);
    if (plan->data.range > 0 && s->key[i] >= (uint64_t)plan->data.range)
      return fw_fail(err, FURROW_E_RANGE, "scaling: feature %" PRIu64 " is beyond the range of %" PRId64, s->key[i],
                     plan->data.range);
    *means = *means || s->mean[i] != 0;
  }
  return FURROW_OK;
}

static furrow_status check_labels(const fw_plan *plan, const fw_scaling *s, furrow_error *err) {
  if (s->label_factor == 0) return FURROW_OK;
  if (!(s->label_factor > 0) || !isfinite(s->label_factor) || !isfinite(s->label_mean))
    return fw_fail(err, FURROW_E_ARGUMENT, "scaling: labels have mean %g and factor %g", s->label_mean,
                   s->label_factor);
  if (fw_fold_can_scale_labels(plan)) return FURROW_OK;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "the graph cannot take a scaling of labels into its weights");
}

/* Every feature with a mean has one of the slots to itself. by_slot: as many numbers as there are slots. */
static furrow_status check_slots(const fw_scaling *s, const fw_layer *embedding, double *by_slot, furrow_error *err) {
  for (size_t k = 0; k < embedding->slots; k++) by_slot[k] = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->mean[i] == 0) continue;
    if (s->slot[i] < 0 || (uint64_t)s->slot[i] >= embedding->slots || by_slot[s->slot[i]]++ > 0)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "scaling: feature %" PRIu64 " has a mean, but no slot of its own",
                     s->key[i]);
  }
  return FURROW_OK;
}

static furrow_status check(const folding *f, bool *means, furrow_error *err) {
  FW_TRY(check_features(f->plan, f->scaling, means, err));
  FW_TRY(check_labels(f->plan, f->scaling, err));
  if (!*means) return FURROW_OK;
  if (!fw_fold_can_centre(f->plan))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the graph cannot take means of features into its weights");
  for (size_t i = 0; i < f->graph->count; i++)
    if (f->graph->layers[i].type == FW_LAYER_EMBEDDING && f->graph->layers[i].slots > 0)
      FW_TRY(check_slots(f->scaling, &f->graph->layers[i], f->by_slot, err));
  return FURROW_OK;
}

/* ---- All ---- */

static furrow_status take_memory(folding *f, furrow_error *err) {
  size_t factors = 0, width = 0, most = 0;
  for (size_t i = 0; i < f->graph->count; i++) {
    const fw_layer *l = &f->graph->layers[i];
    if (l->type == FW_LAYER_INPUT && l->width > most) most = l->width;
    if (l->type != FW_LAYER_EMBEDDING) continue;
    factors = l->factors > factors ? l->factors : factors;
    width = l->width > width ? l->width : width;
  }
  for (size_t i = 0; i < f->scaling->count; i++) f->centred += f->scaling->mean[i] != 0;
  most = factors > most ? factors : most;
  FW_TRY(FW_ALLOC_ROWS(&f->terms, f->centred, most, err));
  FW_TRY(FW_ALLOC(&f->sum, factors, err));
  FW_TRY(FW_ALLOC(&f->by_slot, width, err));
  return fw_parameters_keys(f->p, &f->keys, &f->records, err);
}

static furrow_status fold_all(folding *f, bool means, furrow_error *err) {
  for (layer_index i = 0; i < (layer_index)f->graph->count; i++)
    if (layer_at(f->graph, i)->type == FW_LAYER_INPUT) FW_TRY(fold_input(f, i, err));
  for (layer_index i = 0; i < (layer_index)f->graph->count; i++)
    if (is_embedding(f->graph, i)) FW_TRY(fold_embedding(f, i, means, err));
  if (f->scaling->label_factor != 0) fold_labels(f);
  return FURROW_OK;
}

furrow_status fw_parameters_fold(fw_parameters *p, const fw_scaling *scaling, furrow_error *err) {
  folding f = {.p = p, .plan = p->plan, .graph = &p->plan->graph, .scaling = scaling};
  bool means = false;
  furrow_status status = fw_comm_all_ok(p->comm, take_memory(&f, err), err);
  if (status == FURROW_OK) status = check(&f, &means, err);
  if (status == FURROW_OK) status = fold_all(&f, means, err);
  fw_free(f.terms);
  fw_free(f.sum);
  fw_free(f.by_slot);
  fw_free(f.keys);
  return status;
}
