/* learn/data/label_map.c: from labels of the data to classes, and back. */
#include "learn/data/data_facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/sort.h"

enum { SHOWN = 5 }; /* labels in a message */

double fw_label_class(const fw_data_conf *data, double label) {
  label = fw_label_number(label);
  const size_t at = fw_lower_bound_f64(data->labels, data->label_count, sizeof *data->labels, label);
  if (at == data->label_count || data->labels[at] != label) return HUGE_VAL;
  return data->signed_classes ? 2 * (double)at - 1 : (double)at;
}

double fw_class_label(const fw_data_conf *data, double of) {
  if (data->label_count == 2) return data->labels[of > 0];
  return of >= 0 && of < (double)data->label_count ? data->labels[(size_t)of] : of;
}

/* "1, 2, 3 …" */
static const char *list_labels(char *text, size_t size, const double *labels, size_t count) {
  size_t used = 0;
  char label[FW_LABEL_TEXT];
  text[0] = 0;
  for (size_t i = 0; i < count && i < SHOWN && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", fw_label_text(label, labels[i]));
  if (count > SHOWN && used < size) snprintf(text + used, size - used, " …");
  return text;
}

furrow_status fw_label_refuse(const fw_data_conf *data, double label, furrow_error *err) {
  char text[192], own[FW_LABEL_TEXT];
  return fw_fail(err, FURROW_E_RANGE, "the label %s is not one of the model's: %s", fw_label_text(own, label),
                 list_labels(text, sizeof text, data->labels, data->label_count));
}

/* ---- The labels of the data ---- */

enum {
  FEW_CLASSES = 20
}; /* whole numbers with more values are quantities, unless the configuration says that they are
      classes */

/* Whole numbers that repeat can be classes; other labels are quantities. */
static bool can_be_classes(const fw_data_facts *facts) {
  return facts->whole_labels && facts->label_count <= FW_CLASSES_MAX && facts->label_count * 2 <= facts->rows;
}

bool fw_labels_are_numbers(const fw_data_facts *facts) {
  return facts->label_count > FEW_CLASSES || !can_be_classes(facts);
}

static furrow_status refuse_one(const fw_data_facts *facts, furrow_error *err) {
  char label[FW_LABEL_TEXT];
  fw_fail(err, FURROW_E_ARGUMENT, "all labels are %s: there is nothing to learn",
          fw_label_text(label, facts->labels[0]));
  fw_error_set_hint(err, "is the label in another column, or has the file rows of one class only?");
  return FURROW_E_ARGUMENT;
}

/* From this number on, a label may differ from the number in the data: labels of rows are floats. */
#define INEXACT_LABEL 16777216.0 /* 2^24 */

furrow_status fw_labels_check_exact(const double *labels, size_t count, furrow_error *err) {
  char text[FW_LABEL_TEXT];
  const double least = labels[0], most = labels[count - 1];
  if (least > -INEXACT_LABEL && most < INEXACT_LABEL) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE,
          "the label %s is too large for a class: labels are read as floats, so it may be another number",
          fw_label_text(text, most >= INEXACT_LABEL ? most : least));
  fw_error_set_hint(err, "number the classes from 0, or train from a raw log, whose classes may be texts (--schema)");
  return FURROW_E_RANGE;
}

/* Whether the key `loss` applies: to fm and deep models, which have layers between the input and the loss. */
static bool is_net(const fw_plan *plan) {
  return plan->model.algorithm && plan->graph.loss == FW_LOSS_LOG && plan->graph.count > 2;
}

bool fw_labels_decide(const fw_plan *plan, const fw_data_facts *facts) {
  const bool trees = plan->forest.used && plan->graph.loss == FW_LOSS_LOG;
  return plan->data.finds_labels && (trees || is_net(plan)) && facts->rows > 0 && facts->unlabelled == 0 &&
         facts->label_count > 2;
}

static void hint_algorithms(const fw_plan *plan, bool classes, furrow_error *err) {
  const char *fits = !classes ? "linear" : is_net(plan) ? "fm, dnn or softmax" : "softmax";
  fw_error_set_hint(err, "%strain %s, or gbdt with the objective %s",
                    is_net(plan) ? "set the key `loss` to l2 to predict numbers, such as ratings; or " : "", fits,
                    classes ? "multi:softmax" : "reg:squarederror");
}

static furrow_status refuse_many(const fw_plan *plan, const fw_data_facts *facts, furrow_error *err) {
  char text[192];
  const bool classes = !fw_labels_are_numbers(facts), trees = plan->forest.used;
  const char *name = plan->model.algorithm ? plan->model.algorithm : "the loss";
  if (facts->label_count > FW_CLASSES_MAX)
    fw_fail(err, FURROW_E_ARGUMENT, "the labels have more than %d values, but %s separates two classes", FW_CLASSES_MAX,
            name);
  else
    fw_fail(err, FURROW_E_ARGUMENT, "the labels have %zu values (%s), but %s separates two classes", facts->label_count,
            list_labels(text, sizeof text, facts->labels, facts->label_count), name);
  if (trees)
    fw_error_set_hint(err, "set the key `objective` to %s", classes ? "multi:softmax" : "reg:squarederror");
  else if (classes && fw_builtin_takes_classes(plan->model.algorithm))
    fw_error_set_hint(err, "set the key `loss` to SoftmaxLoss, or to l2 to predict numbers, such as ratings");
  else
    hint_algorithms(plan, classes, err);
  return FURROW_E_ARGUMENT;
}

static furrow_status refuse_numbers(const fw_plan *plan, const fw_data_facts *facts, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "the labels are quantities, not classes: %s%d different ones in %" PRIu64 " rows",
          facts->label_count > FW_CLASSES_MAX ? "more than " : "",
          facts->label_count > FW_CLASSES_MAX ? FW_CLASSES_MAX : (int)facts->label_count, facts->rows);
  fw_error_set_hint(err, plan->forest.used ? "set the key `objective` to reg:squarederror"
                                           : "train linear, or gbdt with the objective reg:squarederror");
  return FURROW_E_ARGUMENT;
}

/* Labels that are classes 0 … K-1 need no list, even if some classes do not occur. */
static bool are_small_numbers(const fw_plan *plan, const fw_data_facts *facts) {
  return !plan->open_classes && facts->whole_labels && facts->labels[0] >= 0 &&
         facts->labels[facts->label_count - 1] < (double)plan->graph.outputs;
}

furrow_status fw_labels_find(const fw_plan *plan, const fw_data_facts *facts, bool *listed, furrow_error *err) {
  const fw_loss_type loss = plan->graph.loss;
  *listed = false;
  if (facts->rows == 0 || facts->unlabelled > 0) return FURROW_OK; /* reported with the row when it is trained */
  if (fw_loss_ranks(loss)) return FURROW_OK;
  const size_t known = facts->label_count < FW_CLASSES_MAX ? facts->label_count : FW_CLASSES_MAX;
  if (fw_loss_has_two_classes(loss) || loss == FW_LOSS_SOFTMAX)
    FW_TRY(fw_labels_check_exact(facts->labels, known, err));
  if (facts->label_count == 1) return refuse_one(facts, err);
  if (!plan->data.finds_labels) return FURROW_OK;
  if (fw_loss_has_two_classes(loss) && facts->label_count > 2) return refuse_many(plan, facts, err);
  if (loss == FW_LOSS_SOFTMAX && facts->label_count > 2 && !can_be_classes(facts))
    return refuse_numbers(plan, facts, err);
  if (loss == FW_LOSS_SOFTMAX && are_small_numbers(plan, facts)) return FURROW_OK;
  if (loss == FW_LOSS_SOFTMAX && !plan->open_classes && facts->label_count != plan->graph.outputs)
    return fw_fail(err, FURROW_E_ARGUMENT, "the labels have %zu values, but the key `classes` is %zu",
                   facts->label_count, plan->graph.outputs);
  *listed = true;
  return FURROW_OK;
}
