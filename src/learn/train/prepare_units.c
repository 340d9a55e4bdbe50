/* learn/train/prepare_units.c: the units of a fit: features and labels scaled, weights that are precise enough, the
 * first bias, weights of classes; and notes about columns that are not what they seem. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/uri.h"
#include "learn/conf/conf_data.h"
#include "learn/data/data_facts.h"
#include "learn/data/minibatch.h"
#include "learn/data/samples.h"
#include "learn/parameters/parameters.h"
#include "learn/train/fit.h"
#include "rows/schema/column_names.h"

/* ---- Columns ---- */

static const char *next_name(const char *list) {
  list += strcspn(list, ",");
  return list + (list[0] == ',');
}

/* The first name of a list, or the column's number. */
static furrow_status read_name(const char *list, uint64_t column, char name[64], furrow_error *err) {
  char *decoded = NULL;
  FW_TRY(fw_uri_decode(&decoded, list, strcspn(list, ","), err));
  if (decoded[0])
    snprintf(name, 64, "%.63s", decoded);
  else
    snprintf(name, 64, "column %" PRIu64, column);
  fw_free(decoded);
  return FURROW_OK;
}

furrow_status fw_name_csv_column(const furrow_learn_conf *conf, uint64_t column, char name[64], furrow_error *err) {
  const char *list = furrow_learn_conf_get(conf, "columns");
  for (uint64_t i = 0; i < column && list[0]; i++) list = next_name(list);
  return read_name(list, column, name, err);
}

/* ---- Units ---- */

static void scale_labels(fw_prepared *d, const fw_data_facts *facts) {
  const fw_plan *plan = d->trainer->plan;
  const double deviation = facts->rows > 0 ? sqrt(facts->label_squares / (double)facts->rows) : 0;
  if (!fw_loss_is_regression(plan->graph.loss) || !fw_fold_can_scale_labels(plan) || !(deviation > 0)) return;
  d->scaling.label_mean = facts->label_mean;
  d->scaling.label_factor = 1 / deviation;
}

/* Whether each centred feature always has the same slot, and has it alone. Otherwise its mean would be a different
 * constant in each row. */
static bool keeps_slots(const fw_plan *plan, const fw_data_facts *facts, const fw_scaling *scaling) {
  bool slots = false;
  for (size_t i = 0; i < plan->graph.count; i++)
    slots |= plan->graph.layers[i].type == FW_LAYER_EMBEDDING && plan->graph.layers[i].slots > 0;
  for (size_t i = 0; slots && i < scaling->count; i++)
    if (scaling->mean[i] != 0 && (scaling->slot[i] < 0 || facts->fields > 0)) return false;
  return true;
}

static bool has_means(const fw_scaling *scaling) {
  for (size_t i = 0; i < scaling->count; i++)
    if (scaling->mean[i] != 0) return true;
  return false;
}

/* The linear model that a net begins with can always be centred. */
static furrow_status scale_linear(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  fw_scaling *linear = &d->linear_scaling;
  if (!d->trainer->plan->train.start_linear || d->trainer->loaded || has_means(&d->scaling)) return FURROW_OK;
  FW_TRY(fw_data_facts_scaling(facts, true, linear, err));
  if (!has_means(linear)) fw_scaling_clear(linear);
  linear->label_mean = d->scaling.label_mean;
  linear->label_factor = d->scaling.label_factor;
  return FURROW_OK;
}

/* ---- Precision ---- */

/* How many deviations the mean of a feature is away from 0. */
static double mean_distance(const fw_scaling *scaling, size_t i) {
  return fabs(scaling->mean[i]) * scaling->factor[i];
}

static double sum_of_squares(const fw_scaling *scaling, size_t *worst) {
  double sum = 0;
  *worst = 0;
  for (size_t i = 0; i < scaling->count; i++) {
    sum += mean_distance(scaling, i) * mean_distance(scaling, i);
    if (mean_distance(scaling, i) > mean_distance(scaling, *worst)) *worst = i;
  }
  return sum;
}

static bool has_pairs(const fw_graph *graph) {
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_BI_INNER_SUM || graph->layers[i].type == FW_LAYER_BI_INNER ||
        graph->layers[i].type == FW_LAYER_BI_INTERACTION)
      return true;
  return false;
}

static furrow_status note_column(fw_prepared *d, bool warning, const fw_scaling *scaling, size_t i, const char *what,
                                 furrow_error *err) {
  char name[64];
  FW_TRY(fw_name_csv_column(d->trainer->conf, scaling->key[i], name, err));
  return fw_trainer_note(d->trainer, warning, err, "%s has the mean %.6g and the deviation %.3g: %s", name,
                         scaling->mean[i], 1 / scaling->factor[i], what);
}

/* Makes the saved weights doubles, unless their type is configured. Training itself does not need doubles, as its
 * features are centred; a net that cannot take means would need them from the start. */
static furrow_status widen_weights(fw_prepared *d, const fw_scaling *scaling, size_t worst, furrow_error *err) {
  const furrow_trainer *t = d->trainer;
  if (furrow_matrix_row_type_get(t->plan->model.row_type)->element == FURROW_ELEMENT_F64) return FURROW_OK;
  d->widens = scaling == &d->scaling && d->from_scratch && !fw_conf_is_set(t->conf, FW_KEY_MODEL_TYPE);
  if (d->widens)
    return note_column(d, false, scaling, worst, "the weights are doubles, as floats would lose what it says", err);
  return note_column(d, true, scaling, worst,
                     "weights that are floats lose what it says; subtract its mean from the data, or train a new model "
                     "with model-type T_DOUBLE_DENSE",
                     err);
}

/* Values that the rows keep as floats. */
static bool has_floats(const fw_prepared *d) {
  const furrow_rowblock *all = fw_samples_block(d->samples);
  return !all || all->value_type == FURROW_VALUE_F32;
}

/* Weights for unscaled data give scores that are small differences of large numbers. In a linear part these numbers
 * grow with the distance of the mean, in pairs with its square. A float is exact to 2^-24 of such a number; an error of
 * 2^-8 of a score is small (docs/design/defaults.md). */
static furrow_status keep_precision(fw_prepared *d, furrow_error *err) {
  const double most = 65536, most_of_values = 131072; /* of floats there are 64 within a deviation then */
  const bool means = has_means(&d->scaling), pairs = means && has_pairs(&d->trainer->plan->graph);
  const fw_scaling *scaling = means ? &d->scaling : &d->linear_scaling;
  size_t worst;
  const double squares = sum_of_squares(scaling, &worst);
  if (!(squares > (pairs ? most : most * most))) return FURROW_OK;
  FW_TRY(widen_weights(d, scaling, worst, err));
  if (!(mean_distance(scaling, worst) > most_of_values) || !has_floats(d)) return FURROW_OK;
  return note_column(d, true, scaling, worst,
                     "its values are floats, too coarse for so small differences; subtract its mean from the data",
                     err);
}

static furrow_status scale_rows(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const fw_plan *plan = d->trainer->plan;
  if (!plan->data.scale || plan->forest.used) return FURROW_OK;
  const bool centre = fw_fold_can_centre(plan);
  FW_TRY(fw_data_facts_scaling(facts, centre, &d->scaling, err));
  if (centre && !keeps_slots(plan, facts, &d->scaling)) {
    fw_scaling_clear(&d->scaling);
    FW_TRY(fw_data_facts_scaling(facts, false, &d->scaling, err));
  }
  scale_labels(d, facts);
  FW_TRY(scale_linear(d, facts, err));
  FW_TRY(keep_precision(d, err));
  if (d->scaling.count == 0 && d->scaling.label_factor == 0) return FURROW_OK;
  d->scaled = true;
  return fw_samples_scale(d->samples, &d->scaling, err);
}

/* ---- Gaps ---- */

/* Notes columns with empty cells: a row does not have these features, so they count as 0, which is rarely what an empty
 * cell means. */
static furrow_status note_gaps(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  fw_gaps gaps;
  char name[64];
  if (strcmp(d->samples->format, "csv") != 0 || d->trainer->forest) return FURROW_OK;
  FW_TRY(fw_data_facts_gaps(facts, &gaps, err));
  if (gaps.features == 0) return FURROW_OK;
  FW_TRY(fw_name_csv_column(d->trainer->conf, gaps.worst, name, err));
  return fw_trainer_note(d->trainer, true, err,
                         "%zu column%s empty cells, which count as 0 (%s: %.0f %% of the rows); gbdt and --schema auto "
                         "take them for what they are, or fill them first",
                         gaps.features, gaps.features == 1 ? " has" : "s have", name, 100 * gaps.share);
}

/* ---- Ids ---- */

/* Finds the first column whose name stands for users, or for items; name is "" if there is none. */
static furrow_status find_role(const furrow_learn_conf *conf, fw_role role, char name[64], furrow_error *err) {
  const char *list = furrow_learn_conf_get(conf, "columns");
  for (uint64_t i = 0; list[0]; i++, list = next_name(list)) {
    FW_TRY(read_name(list, i, name, err));
    if (fw_role_name_priority(role, name) != SIZE_MAX) return FURROW_OK;
  }
  name[0] = 0;
  return FURROW_OK;
}

/* Notes columns of ids: ids are names, and their order has no meaning. A single word, such as `account`, may be a
 * number. */
static furrow_status note_ids(fw_prepared *d, furrow_error *err) {
  const furrow_learn_conf *conf = d->trainer->conf;
  char user[64], item[64];
  if (strcmp(d->samples->format, "csv") != 0) return FURROW_OK;
  FW_TRY(find_role(conf, FW_ROLE_USER, user, err));
  FW_TRY(find_role(conf, FW_ROLE_ITEM, item, err));
  if (user[0] && item[0])
    return fw_trainer_note(d->trainer, true, err,
                           "%s and %s look like ids, but count as numbers: --schema auto takes them for categories",
                           user, item);
  const char *one = user[0] ? user : item;
  if (!fw_is_id_name(one)) return FURROW_OK;
  return fw_trainer_note(d->trainer, true, err,
                         "%s looks like an id, but counts as a number: --schema auto takes it for a category", one);
}

/* ---- Rates ---- */

/* The value of FTRL's alpha is its rate, which does not fall; AdaDelta has none. */
static furrow_status note_rates(fw_prepared *d, furrow_error *err) {
  const furrow_trainer *t = d->trainer;
  const fw_optimizer_type first = t->forest ? FW_OPTIMIZER_SGD : t->plan->graph.layers[0].optimizer.type;
  if (t->forest || d->exact || !fw_conf_recommends(t->conf) || fw_graph_has_rate(&t->plan->graph)) return FURROW_OK;
  for (unsigned key = FW_KEY_LR; key <= FW_KEY_DECAY_ON_BATCH; key++) {
    const bool counts = key == FW_KEY_LR && first == FW_OPTIMIZER_FTRL && !fw_conf_is_set(t->conf, FW_KEY_FTRL_ALPHA);
    if (counts || !fw_conf_is_set(t->conf, (fw_key)key)) continue;
    FW_TRY(fw_trainer_note(d->trainer, true, err, "the key `%s` has no effect: %s", fw_key_facts((fw_key)key)->name,
                           first == FW_OPTIMIZER_FTRL ? "the rate of FTRL is ftrl-alpha, which does not fall"
                                                      : "AdaDelta has no learning rate"));
  }
  return FURROW_OK;
}

/* ---- The first bias ---- */

/* Sets the bias to the best prediction without any feature: the log odds, the shares of classes, or the mean (of
 * counts: its logarithm). */
static void start_bias(fw_prepared *d, const fw_data_facts *facts) {
  const furrow_trainer *t = d->trainer;
  const fw_graph *graph = &t->plan->graph;
  double outputs[FW_CLASSES_MAX] = {0};
  const bool many = graph->loss == FW_LOSS_SOFTMAX, two = graph->loss == FW_LOSS_LOG;
  if (t->forest || !d->from_scratch || facts->rows == 0 || graph->outputs > FW_CLASSES_MAX) return;
  if ((two || many) && t->plan->data.label_count != facts->label_count) return;
  if (two) outputs[0] = log((double)facts->of_label[1] / (double)facts->of_label[0]);
  for (size_t k = 0; many && k < graph->outputs; k++)
    outputs[k] = log((double)facts->of_label[k] / (double)facts->rows);
  if (fw_loss_is_regression(graph->loss) && d->scaling.label_factor == 0) outputs[0] = facts->label_mean;
  if (graph->loss == FW_LOSS_POISSON) outputs[0] = log(fmax(facts->label_mean, 0.5 / (double)facts->rows));
  fw_parameters_put_bias(t->parameters, outputs);
}

/* ---- Weights of classes ---- */

/* The class of a label, from 0; `classes` or more: none of them. */
static size_t class_of(const fw_plan *plan, double label, size_t classes) {
  const double class = fw_transform_label(&plan->data, label);
  if (classes == 2 && plan->graph.loss != FW_LOSS_SOFTMAX) return isfinite(class) ? class > 0 : classes;
  return class >= 0 && class < (double)classes ? (size_t) class : classes;
}

/* Rows of each class, of all processes. */
static void count_classes(const fw_prepared *d, const fw_data_facts *facts, uint64_t *rows, size_t classes) {
  memset(rows, 0, classes * sizeof *rows);
  for (size_t i = 0; i < facts->label_count; i++) {
    const size_t class = class_of(d->trainer->plan, facts->labels[i], classes);
    if (class < classes) rows[class] += facts->of_label[i];
  }
}

static furrow_status weigh_classes(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const size_t classes = fw_plan_classes(d->trainer->plan);
  const char *weights = d->trainer->plan->data.class_weights;
  uint64_t *rows = NULL;
  if (!weights || strcmp(weights, "none") == 0) return FURROW_OK;
  if (facts->rows == 0 || facts->label_count > FW_CLASSES_MAX) return fw_trainer_weigh_classes(d->trainer, NULL, err);
  FW_TRY(FW_ALLOC(&rows, classes, err));
  count_classes(d, facts, rows, classes);
  furrow_status status = fw_trainer_weigh_classes(d->trainer, rows, err);
  fw_free(rows);
  return status;
}

/* ---- All of it ---- */

furrow_status fw_prepare_units(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  FW_TRY(scale_rows(d, facts, err));
  FW_TRY(note_gaps(d, facts, err));
  FW_TRY(note_ids(d, err));
  FW_TRY(note_rates(d, err));
  start_bias(d, facts);
  return weigh_classes(d, facts, err);
}
