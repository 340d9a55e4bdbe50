/* learn/train/prepare.c: before the first epoch: what the data tells, settled in the configuration. */
#include "learn/train/prepare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/uri.h"
#include "learn/conf/class_weights.h"
#include "learn/conf/conf_data.h"
#include "learn/data/label_map.h"
#include "learn/data/minibatch.h"
#include "learn/data/samples.h"
#include "learn/parameters/fold.h"
#include "learn/ranking/ranking_data.h"
#include "learn/train/fit_factors.h"
#include "learn/train/linear_start.h"
#include "rows/schema/column_names.h"

/* ---- Keys ---- */

static furrow_status set_number(fw_fit *f, const char *key, uint64_t number, furrow_error *err) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, number);
  return furrow_learn_conf_set(f->trainer->conf, key, text, err);
}

/* The format that was found; rows in memory are what a file of theirs would be. */
static furrow_status settle_format(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const char *found = fw_samples_format(f->samples);
  const furrow_rows_format *known;
  if (strcmp(f->trainer->plan->data.format, "auto") != 0) return FURROW_OK;
  if (furrow_rows_format_find(found, &known, NULL) != FURROW_OK) found = facts->fields > 0 ? "libffm" : "libsvm";
  return furrow_learn_conf_set(f->trainer->conf, "format", found, err);
}

/* Says what is not plain: labels that are neither 0 and 1 nor -1 and 1, and how many classes there are. */
static furrow_status note_labels(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const double first = facts->labels[0], second = facts->labels[1];
  char low[FW_LABEL_TEXT], high[FW_LABEL_TEXT];
  fw_label_text(low, first);
  fw_label_text(high, facts->labels[facts->label_count - 1]);
  if (f->trainer->plan->graph.loss == FW_LOSS_SOFTMAX)
    return fw_notes_add(&f->trainer->notes, false, err, "the labels have %zu values, from %s to %s: a class each",
                        facts->label_count, low, high);
  if ((first == 0 || first == -1) && second == 1) return FURROW_OK;
  return fw_notes_add(&f->trainer->notes, false, err,
                      "the labels are %s and %s: two classes, of which %s is the positive one", low, high, high);
}

/* Labels that cannot be classes are numbers to predict, for models whose loss can be chosen. */
static furrow_status settle_loss(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  furrow_trainer *t = f->trainer;
  if (!f->anew || !fw_conf_recommends(t->conf) || fw_conf_is_set(t->conf, FW_KEY_LOSS)) return FURROW_OK;
  if (!fw_labels_are_numbers(t->plan, facts, f->ratings)) return FURROW_OK;
  FW_TRY(furrow_learn_conf_set(t->conf, "loss", fw_loss_name(FW_LOSS_L2), err));
  FW_TRY(fw_notes_add(&t->notes, false, err, "the labels are %s, not two classes: they are predicted as %s, with %s",
                      f->ratings ? "ratings" : "numbers", f->ratings ? "numbers" : "such", fw_loss_name(FW_LOSS_L2)));
  return fw_trainer_replan(t, err);
}

/* Labels become those of classes. */
static furrow_status settle_labels(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  FW_TRY(settle_loss(f, facts, err));
  const fw_plan *plan = f->trainer->plan;
  char *text = NULL;
  FW_TRY(fw_labels_find(plan, facts, &text, err));
  if (!text) return FURROW_OK;
  furrow_status status = furrow_learn_conf_set(f->trainer->conf, "labels", text, err);
  if (status == FURROW_OK && plan->open_classes) status = set_number(f, "classes", facts->label_count, err);
  if (status == FURROW_OK) status = note_labels(f, facts, err);
  fw_free(text);
  return status;
}

furrow_status fw_fit_settle_labels(fw_fit *f, furrow_error *err) {
  fw_data_facts facts = {0};
  if (!f->trainer->plan->data.finds_labels) return FURROW_OK;
  furrow_status status = fw_data_facts_read(&facts, f->samples, false, err);
  if (status == FURROW_OK) status = settle_labels(f, &facts, err);
  if (status == FURROW_OK) status = fw_trainer_replan(f->trainer, err);
  fw_data_facts_clear(&facts);
  return status;
}

/* A slot for each field, or for each feature of the longest row. */
static furrow_status settle_fields(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  if (!f->trainer->plan->open_fields) return FURROW_OK;
  const uint64_t found = facts->fields > 0 ? facts->fields : facts->longest;
  if (facts->fields == 0 && facts->shortest < facts->longest)
    FW_TRY(furrow_learn_conf_set(f->trainer->conf, "short-rows", "yes", err));
  return set_number(f, "fields", found > 2 ? found : 2, err);
}

/* Where the Huber loss turns linear: 1.35 deviations of the labels, as is usual, not a distance of 1 in any unit. */
static furrow_status settle_delta(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const furrow_learn_conf *conf = f->trainer->conf;
  const double deviation = facts->rows > 0 ? sqrt(facts->label_squares / (double)facts->rows) : 0;
  char text[40];
  if (f->trainer->plan->graph.loss != FW_LOSS_HUBER || !(deviation > 0) || !fw_conf_recommends(conf)) return FURROW_OK;
  if (fw_conf_is_set(conf, FW_KEY_HUBER_DELTA) || fw_conf_is_set(conf, FW_KEY_ROBUST_DELTA)) return FURROW_OK;
  snprintf(text, sizeof text, "%.9g", 1.35 * deviation);
  return furrow_learn_conf_set(f->trainer->conf, "huber-delta", text, err);
}

/* Tables have a number of columns, which rows to be scored must have, too. */
static furrow_status settle_range(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const char *format = fw_samples_format(f->samples);
  const bool table = strcmp(format, "csv") == 0 || strcmp(format, "dense") == 0;
  if (!table || fw_conf_is_set(f->trainer->conf, FW_KEY_RANGE) || facts->end == 0 || facts->end > INT32_MAX)
    return FURROW_OK;
  return set_number(f, "range", facts->end, err);
}

/* Few rows are gone through more often; docs/design/defaults.md. */
static furrow_status settle_epochs(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  enum { MANY_ROWS = 100000, PASSED = 20000000 };
  const fw_train_conf *train = &f->trainer->plan->train;
  const uint64_t rows = facts->rows ? facts->rows : 1;
  uint64_t epochs = 20; /* of ten iterations each */
  if (train->epochs > 0) return FURROW_OK;
  if (!f->exact && train->patience > 0) epochs = PASSED / rows > 200 ? 200 : PASSED / rows < 40 ? 40 : PASSED / rows;
  if (!f->exact && train->patience == 0) epochs = rows > MANY_ROWS ? 10 : 64000 / rows > 30 ? 64000 / rows : 30;
  if (fw_samples_pass_once(f->samples)) epochs = 1;
  return set_number(f, "epochs", epochs, err);
}

/* The vectors of a factorization machine by L-BFGS take memory for each feature, of which there are `end` at most. */
static furrow_status settle_solver(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const fw_graph *graph = &f->trainer->plan->graph;
  uint64_t factors = 0;
  fw_fit_choose_ops(f);
  if (!f->exact || !f->trainer->plan->train.lbfgs_pairs) return FURROW_OK;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_EMBEDDING) factors = graph->layers[i].factors;
  if (facts->end < FW_FACTOR_PARAMETERS_MAX / (1 + factors)) return FURROW_OK;
  f->large = true;
  fw_fit_choose_ops(f);
  return fw_notes_add(&f->trainer->notes, false, err,
                      "features up to %" PRIu64 " are too many for the solver lbfgs: the optimizers train the vectors",
                      facts->end - 1);
}

/* About the strength of the exact minimum. Updates of FTRL see it once over all of them, others add it to the mean
 * gradient of each batch. */
static furrow_status settle_strength(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const double batch = plan->train.batch ? plan->train.batch : 1, rows = facts->rows ? (double)facts->rows : 1e6;
  char text[40];
  if (f->exact || strcmp(furrow_learn_conf_get(f->trainer->conf, "l2"), "auto") != 0) return FURROW_OK;
  const bool ftrl = plan->graph.layers[0].optimizer.type == FW_OPTIMIZER_FTRL;
  snprintf(text, sizeof text, "%.9g", ftrl ? plan->train.epochs / batch : 1 / rows);
  FW_TRY(furrow_learn_conf_set(f->trainer->conf, "l2", text, err));
  return fw_trainer_replan(f->trainer, err);
}

/* The base that was found holds for validation data, too, and is saved with the model. */
static furrow_status settle_index_base(const fw_fit *f, furrow_error *err) {
  fw_data_conf *data = &f->trainer->plan->data;
  const int found = fw_samples_index_base(f->samples);
  if (data->index_base >= 0 || found < 0) return FURROW_OK;
  data->index_base = found;
  return furrow_learn_conf_set(f->trainer->conf, "index-base", found ? "1" : "0", err);
}

/* What must be known, and cannot be found before the only pass. */
static furrow_status check_known(const fw_fit *f, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  if (!fw_samples_pass_once(f->samples) || !(plan->open_fields || plan->open_classes)) return FURROW_OK;
  const char *key = plan->open_fields ? "fields" : "classes";
  fw_fail(err, FURROW_E_ARGUMENT, "the number of %s is not known, and the data can be read only once", key);
  fw_error_set_hint(err, "set the key `%s`, or keep the rows in memory", key);
  return FURROW_E_ARGUMENT;
}

static furrow_status settle(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  FW_TRY(check_known(f, err));
  FW_TRY(settle_format(f, facts, err));
  FW_TRY(fw_samples_keep_columns(f->samples, f->trainer->conf, err));
  const char *label = fw_samples_found_label(f->samples);
  if (label)
    FW_TRY(
        fw_notes_add(&f->trainer->notes, false, err, "the labels are those of the column %.200s, by its name", label));
  FW_TRY(settle_labels(f, facts, err));
  FW_TRY(settle_fields(f, facts, err));
  FW_TRY(settle_solver(f, facts, err));
  FW_TRY(settle_epochs(f, facts, err));
  FW_TRY(settle_delta(f, facts, err));
  FW_TRY(settle_range(f, facts, err));
  FW_TRY(fw_trainer_replan(f->trainer, err));
  return settle_strength(f, facts, err);
}

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

/* The name of a column of csv data, or its number. */
static furrow_status name_column(const furrow_learn_conf *conf, uint64_t column, char name[64], furrow_error *err) {
  const char *list = furrow_learn_conf_get(conf, "columns");
  for (uint64_t i = 0; i < column && list[0]; i++) list = next_name(list);
  return read_name(list, column, name, err);
}

/* ---- Units ---- */

static void scale_labels(fw_fit *f, const fw_data_facts *facts) {
  const fw_plan *plan = f->trainer->plan;
  const double deviation = facts->rows > 0 ? sqrt(facts->label_squares / (double)facts->rows) : 0;
  if (!fw_loss_is_regression(plan->graph.loss) || !fw_fold_can_scale_labels(plan) || !(deviation > 0)) return;
  f->scaling.label_mean = facts->label_mean;
  f->scaling.label_factor = 1 / deviation;
}

/* Slots that a centred feature does not keep, or not for itself, make its mean a different number in each row. */
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
static furrow_status scale_linear(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  fw_scaling *linear = &f->linear_scaling;
  if (!f->trainer->plan->train.start_linear || has_means(&f->scaling)) return FURROW_OK;
  FW_TRY(fw_data_facts_scaling(facts, true, linear, err));
  if (!has_means(linear)) fw_scaling_clear(linear);
  linear->label_mean = f->scaling.label_mean;
  linear->label_factor = f->scaling.label_factor;
  return FURROW_OK;
}

/* ---- Precision ---- */

/* How many deviations the mean of a feature is away from 0. */
static double distance(const fw_scaling *scaling, size_t i) {
  return fabs(scaling->mean[i]) * scaling->factor[i];
}

static double sum_of_squares(const fw_scaling *scaling, size_t *worst) {
  double sum = 0;
  *worst = 0;
  for (size_t i = 0; i < scaling->count; i++) {
    sum += distance(scaling, i) * distance(scaling, i);
    if (distance(scaling, i) > distance(scaling, *worst)) *worst = i;
  }
  return sum;
}

static bool has_pairs(const fw_graph *graph) {
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_BI_INNER_SUM || graph->layers[i].type == FW_LAYER_BI_INNER) return true;
  return false;
}

static furrow_status note_column(fw_fit *f, bool warning, const fw_scaling *scaling, size_t i, const char *what,
                                 furrow_error *err) {
  char name[64];
  FW_TRY(name_column(f->trainer->conf, scaling->key[i], name, err));
  return fw_notes_add(&f->trainer->notes, warning, err, "%s has the mean %.6g and the deviation %.3g: %s", name,
                      scaling->mean[i], 1 / scaling->factor[i], what);
}

/* The saved weights become doubles where nobody chose their type. Training, whose features are centred, needs none; a
 * net that cannot take means would need them from its start on. */
static furrow_status widen(fw_fit *f, const fw_scaling *scaling, size_t worst, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  if (furrow_matrix_row_type_get(t->plan->model.row_type)->element == FURROW_ELEMENT_F64) return FURROW_OK;
  f->widen = scaling == &f->scaling && f->anew && !fw_conf_is_set(t->conf, FW_KEY_MODEL_TYPE);
  if (f->widen)
    return note_column(f, false, scaling, worst, "the weights are doubles, as floats would lose what it says", err);
  return note_column(f, true, scaling, worst,
                     "weights that are floats lose what it says; subtract its mean from the data, or train a new model "
                     "with model-type T_DOUBLE_DENSE",
                     err);
}

/* Values that the rows keep as floats. */
static bool has_floats(const fw_fit *f) {
  const furrow_rowblock *all = fw_samples_block(f->samples);
  return !all || all->value_type == FURROW_VALUE_F32;
}

/* The weights for the data as it is give scores that are small differences of large numbers: those of a linear part
 * grow with the distance, those of pairs with its square. A float is exact to 2^-24 of it, and 2^-8 of a score is
 * little; docs/design/defaults.md. */
static furrow_status keep_precision(fw_fit *f, furrow_error *err) {
  const double most = 65536, most_of_values = 131072; /* of floats there are 64 within a deviation then */
  const bool means = has_means(&f->scaling), pairs = means && has_pairs(&f->trainer->plan->graph);
  const fw_scaling *scaling = means ? &f->scaling : &f->linear_scaling;
  size_t worst;
  const double squares = sum_of_squares(scaling, &worst);
  if (!(squares > (pairs ? most : most * most))) return FURROW_OK;
  FW_TRY(widen(f, scaling, worst, err));
  if (!(distance(scaling, worst) > most_of_values) || !has_floats(f)) return FURROW_OK;
  return note_column(f, true, scaling, worst,
                     "its values are floats, too coarse for so small differences; subtract its mean from the data",
                     err);
}

static furrow_status scale(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  if (!plan->data.scale || plan->forest.used) return FURROW_OK;
  const bool centre = fw_fold_can_centre(plan);
  FW_TRY(fw_data_facts_scaling(facts, centre, &f->scaling, err));
  if (centre && !keeps_slots(plan, facts, &f->scaling)) {
    fw_scaling_clear(&f->scaling);
    FW_TRY(fw_data_facts_scaling(facts, false, &f->scaling, err));
  }
  scale_labels(f, facts);
  FW_TRY(scale_linear(f, facts, err));
  FW_TRY(keep_precision(f, err));
  if (f->scaling.count == 0 && f->scaling.label_factor == 0) return FURROW_OK;
  f->scaled = true;
  return fw_samples_scale(f->samples, &f->scaling, err);
}

/* ---- Gaps ---- */

/* Empty cells of a table are features that a row does not have: they count as 0, which few columns mean by them. */
static furrow_status note_gaps(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  fw_gaps gaps;
  char name[64];
  if (strcmp(fw_samples_format(f->samples), "csv") != 0 || f->trainer->forest) return FURROW_OK;
  FW_TRY(fw_data_facts_gaps(facts, &gaps, err));
  if (gaps.features == 0) return FURROW_OK;
  FW_TRY(name_column(f->trainer->conf, gaps.worst, name, err));
  return fw_notes_add(&f->trainer->notes, true, err,
                      "%zu column%s empty cells, which count as 0 (%s: %.0f %% of the rows); gbdt takes them for what "
                      "they are, or fill them first",
                      gaps.features, gaps.features == 1 ? " has" : "s have", name, 100 * gaps.share);
}

/* ---- Ids ---- */

/* The first column whose name is that of users, or of items; "": none is. */
static furrow_status find_role(const furrow_learn_conf *conf, fw_role role, char name[64], furrow_error *err) {
  const char *list = furrow_learn_conf_get(conf, "columns");
  for (uint64_t i = 0; list[0]; i++, list = next_name(list)) {
    FW_TRY(read_name(list, i, name, err));
    if (fw_role_name_priority(role, name) != SIZE_MAX) return FURROW_OK;
  }
  name[0] = 0;
  return FURROW_OK;
}

/* Ids are names: that one is larger than another means nothing. A single word, such as `account`, may be a number. */
static furrow_status note_ids(fw_fit *f, furrow_error *err) {
  const furrow_learn_conf *conf = f->trainer->conf;
  char user[64], item[64];
  if (strcmp(fw_samples_format(f->samples), "csv") != 0) return FURROW_OK;
  FW_TRY(find_role(conf, FW_ROLE_USER, user, err));
  FW_TRY(find_role(conf, FW_ROLE_ITEM, item, err));
  if (user[0] && item[0])
    return fw_notes_add(&f->trainer->notes, true, err,
                        "%s and %s look like ids, but count as numbers: --schema auto takes them for categories", user,
                        item);
  const char *one = user[0] ? user : item;
  if (!fw_is_id_name(one)) return FURROW_OK;
  return fw_notes_add(&f->trainer->notes, true, err,
                      "%s looks like an id, but counts as a number: --schema auto takes it for a category", one);
}

/* ---- Rates ---- */

/* The value of FTRL's alpha is its rate, which does not fall; AdaDelta has none. */
static furrow_status note_rates(fw_fit *f, furrow_error *err) {
  const furrow_trainer *t = f->trainer;
  const fw_optimizer_type first = t->forest ? FW_OPTIMIZER_SGD : t->plan->graph.layers[0].optimizer.type;
  if (t->forest || f->exact || !fw_conf_recommends(t->conf) || fw_graph_has_rate(&t->plan->graph)) return FURROW_OK;
  for (unsigned key = FW_KEY_LR; key <= FW_KEY_DECAY_ON_BATCH; key++) {
    const bool counts = key == FW_KEY_LR && first == FW_OPTIMIZER_FTRL && !fw_conf_is_set(t->conf, FW_KEY_FTRL_ALPHA);
    if (counts || !fw_conf_is_set(t->conf, (fw_key)key)) continue;
    FW_TRY(fw_notes_add(&f->trainer->notes, true, err, "the key `%s` has no effect: %s",
                        fw_key_facts((fw_key)key)->name,
                        first == FW_OPTIMIZER_FTRL ? "the rate of FTRL is ftrl-alpha, which does not fall"
                                                   : "AdaDelta has no learning rate"));
  }
  return FURROW_OK;
}

/* ---- The first bias ---- */

/* What is predicted without any feature: the log odds, the shares of classes, the mean. */
static void start_bias(fw_fit *f, const fw_data_facts *facts) {
  const furrow_trainer *t = f->trainer;
  const fw_graph *graph = &t->plan->graph;
  double outputs[FW_CLASSES_MAX] = {0};
  const bool many = graph->loss == FW_LOSS_SOFTMAX, two = graph->loss == FW_LOSS_LOG;
  if (t->forest || !f->anew || facts->rows == 0 || graph->outputs > FW_CLASSES_MAX) return;
  if ((two || many) && t->plan->data.label_count != facts->label_count) return;
  if (two) outputs[0] = log((double)facts->of_label[1] / (double)facts->of_label[0]);
  for (size_t k = 0; many && k < graph->outputs; k++)
    outputs[k] = log((double)facts->of_label[k] / (double)facts->rows);
  if (fw_loss_is_regression(graph->loss) && f->scaling.label_factor == 0) outputs[0] = facts->label_mean;
  fw_parameters_put_bias(t->parameters, outputs);
}

/* ---- Weights of classes ---- */

static bool weighs_classes(const fw_plan *plan) {
  return plan->data.class_weights && strcmp(plan->data.class_weights, "none") != 0;
}

/* The class of a label, from 0; `classes` or more: none of them. */
static size_t class_of(const fw_plan *plan, double label, size_t classes) {
  const double class = fw_transform_label(&plan->data, label);
  if (classes == 2 && plan->graph.loss != FW_LOSS_SOFTMAX) return isfinite(class) ? class > 0 : classes;
  return class >= 0 && class < (double)classes ? (size_t) class : classes;
}

/* Rows of each class, of all processes. */
static void count_classes(const fw_fit *f, const fw_data_facts *facts, uint64_t *rows, size_t classes) {
  memset(rows, 0, classes * sizeof *rows);
  for (size_t i = 0; i < facts->label_count; i++) {
    const size_t class = class_of(f->trainer->plan, facts->labels[i], classes);
    if (class < classes) rows[class] += facts->of_label[i];
  }
}

static furrow_status weigh_classes(fw_fit *f, const fw_data_facts *facts, furrow_error *err) {
  const size_t classes = fw_plan_classes(f->trainer->plan);
  void *rows = NULL;
  if (!weighs_classes(f->trainer->plan)) return FURROW_OK;
  if (facts->rows == 0 || facts->label_count > FW_CLASSES_MAX) return fw_trainer_weigh_classes(f->trainer, NULL, err);
  FW_TRY(fw_alloc(&rows, classes, sizeof(uint64_t), err));
  count_classes(f, facts, rows, classes);
  furrow_status status = fw_trainer_weigh_classes(f->trainer, rows, err);
  fw_free(rows);
  return status;
}

/* ---- All of it ---- */

static void remember(fw_fit *f, const fw_data_facts *facts) {
  const fw_scaling *scaling = &f->scaling;
  fw_seen_data *seen = &f->trainer->seen;
  *seen = (fw_seen_data){.rows = facts->rows,
                         .digest = facts->digest,
                         .scaled = scaling->count,
                         .label_mean = scaling->label_mean,
                         .label_factor = scaling->label_factor,
                         .exact = f->exact && !f->trainer->plan->train.lbfgs_pairs};
  for (size_t i = 0; i < scaling->count; i++) seen->centred += scaling->mean[i] != 0;
}

furrow_status fw_fit_prepare(fw_fit *f, furrow_error *err) {
  fw_data_facts facts = {0};
  FW_TRY(fw_fit_share_failure(f, settle_index_base(f, err), err));
  if (!f->trainer->plan->train.recommended && !f->trainer->plan->data.scale && !weighs_classes(f->trainer->plan))
    return FURROW_OK;
  furrow_status status = FURROW_OK;
  if (!fw_samples_pass_once(f->samples))
    status = fw_data_facts_read(&facts, f->samples, f->trainer->plan->data.scale, err);
  if (status == FURROW_OK) status = fw_fit_pause(f, err);
  if (status == FURROW_OK) status = settle(f, &facts, err);
  if (status == FURROW_OK) status = scale(f, &facts, err);
  if (status == FURROW_OK) status = note_gaps(f, &facts, err);
  if (status == FURROW_OK) status = note_ids(f, err);
  if (status == FURROW_OK) status = note_rates(f, err);
  if (status == FURROW_OK) start_bias(f, &facts);
  if (status == FURROW_OK) status = weigh_classes(f, &facts, err);
  if (status == FURROW_OK) remember(f, &facts);
  fw_data_facts_clear(&facts);
  return status;
}

furrow_status fw_fit_draw(const fw_fit *f, fw_holdout *holdout, unsigned folds, double ratio, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const fw_holdout_params params = {.unit = fw_holdout_unit_of(plan->graph.loss),
                                    .folds = folds,
                                    .ratio = ratio,
                                    .seed = plan->train.seed,
                                    .comm = f->trainer->comm,
                                    .first_row = fw_samples_first_row(f->samples)};
  return fw_holdout_init(holdout, fw_samples_block(f->samples), &params, err);
}

furrow_status fw_fit_hold_out(fw_fit *f, furrow_error *err) {
  const fw_plan *plan = f->trainer->plan;
  const furrow_rowblock *all = fw_samples_block(f->samples);
  const bool groups = plan->graph.loss == FW_LOSS_LAMBDA;
  if (groups && !all && plan->data.valid_ratio > 0) {
    fw_fail(err, FURROW_E_ARGUMENT, "streamed rows cannot be held out by groups");
    fw_error_set_hint(err, "give validation data of its own, or keep the rows in memory");
    return FURROW_E_ARGUMENT;
  }
  if (!all || plan->data.valid_ratio <= 0) return FURROW_OK;
  if (fw_loss_ranks(plan->graph.loss) && !groups)
    return fw_rank_hold_out(
        &f->holdout, all, &plan->rank,
        &(fw_rank_share){.ratio = plan->data.valid_ratio, .last = f->in_order, .seed = plan->train.seed}, err);
  if (!plan->train.recommended && !groups) return FURROW_OK;
  return fw_fit_draw(f, &f->holdout, 1, plan->data.valid_ratio, err);
}
