/* learn/conf/settle.c: writes values that were found in the data into configurations: as the texts that their keys
 * take. */
#include "learn/conf/conf_data.h"

#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"

typedef enum field_kind { TEXT, ROW_TYPE, LOSS, LABELS, FIELDS, COUNT, REAL, YES } field_kind;

static const struct settled_field {
  fw_key key;
  field_kind kind;
  size_t offset; /* in fw_settled */
} settled_fields[] = {
    {FW_KEY_FORMAT, TEXT, offsetof(fw_settled, format)},
    {FW_KEY_COLUMNS, TEXT, offsetof(fw_settled, columns)},
    {FW_KEY_LABEL_COLUMN, TEXT, offsetof(fw_settled, label_column)},
    {FW_KEY_WEIGHT_COLUMN, TEXT, offsetof(fw_settled, weight_column)},
    {FW_KEY_DELIMITER, TEXT, offsetof(fw_settled, delimiter)},
    {FW_KEY_OBJECTIVE, TEXT, offsetof(fw_settled, objective)},
    {FW_KEY_MODEL_TYPE, ROW_TYPE, offsetof(fw_settled, model_type)},
    {FW_KEY_LOSS, LOSS, offsetof(fw_settled, loss)},
    {FW_KEY_LABELS, LABELS, offsetof(fw_settled, labels)},
    {FW_KEY_USER_FIELDS, FIELDS, offsetof(fw_settled, user_fields)},
    {FW_KEY_ITEM_FIELDS, FIELDS, offsetof(fw_settled, item_fields)},
    {FW_KEY_INDEX_BASE, COUNT, offsetof(fw_settled, index_base)},
    {FW_KEY_RANGE, COUNT, offsetof(fw_settled, range)},
    {FW_KEY_FIELDS, COUNT, offsetof(fw_settled, fields)},
    {FW_KEY_HOUR_FIELD, COUNT, offsetof(fw_settled, hour_field)},
    {FW_KEY_CLASSES, COUNT, offsetof(fw_settled, classes)},
    {FW_KEY_EPOCHS, COUNT, offsetof(fw_settled, epochs)},
    {FW_KEY_BATCH, COUNT, offsetof(fw_settled, batch)},
    {FW_KEY_PATIENCE, COUNT, offsetof(fw_settled, patience)},
    {FW_KEY_TREES, COUNT, offsetof(fw_settled, trees)},
    {FW_KEY_HUBER_DELTA, REAL, offsetof(fw_settled, huber_delta)},
    {FW_KEY_LR, REAL, offsetof(fw_settled, lr)},
    {FW_KEY_L2, REAL, offsetof(fw_settled, l2)},
    {FW_KEY_FC_L2, REAL, offsetof(fw_settled, fc_l2)},
    {FW_KEY_SHORT_ROWS, YES, offsetof(fw_settled, short_rows)},
};

static bool put_text(fw_buffer *out, const char *text) {
  if (text) fw_buffer_text(out, text);
  return text != NULL;
}

static bool put_labels(fw_buffer *out, const fw_settled_labels *labels) {
  char text[FW_LABEL_TEXT];
  for (size_t i = 0; i < labels->count; i++)
    fw_buffer_format(out, "%s%s", i ? "," : "", fw_label_text(text, labels->values[i]));
  return labels->count > 0;
}

static bool put_fields(fw_buffer *out, const fw_settled_fields *fields) {
  for (size_t i = 0; i < fields->count; i++) fw_buffer_format(out, "%s%" PRIu64, i ? "," : "", fields->values[i]);
  return fields->count > 0;
}

/* Writes the text of a field; false: the field is not set. */
static bool put_field(fw_buffer *out, const struct settled_field *field, const fw_settled *settled) {
  const void *at = (const char *)settled + field->offset;
  const furrow_matrix_row_type *type;
  switch (field->kind) {
  case TEXT: return put_text(out, *(const char *const *)at);
  case ROW_TYPE: type = *(const furrow_matrix_row_type *const *)at; return put_text(out, type ? type->name : NULL);
  case LOSS:
    fw_buffer_text(out, fw_loss_name(((const fw_settled_loss *)at)->value));
    return ((const fw_settled_loss *)at)->set;
  case LABELS: return put_labels(out, at);
  case FIELDS: return put_fields(out, at);
  case COUNT:
    fw_buffer_format(out, "%" PRIu64, ((const fw_settled_count *)at)->value);
    return ((const fw_settled_count *)at)->set;
  case REAL:
    fw_buffer_format(out, "%.9g", ((const fw_settled_real *)at)->value);
    return ((const fw_settled_real *)at)->set;
  case YES: break;
  }
  fw_buffer_text(out, "yes");
  return *(const bool *)at;
}

static furrow_status set_key(furrow_learn_conf *conf, fw_key key, const char *text, furrow_error *err) {
  return furrow_learn_conf_set(conf, fw_key_facts(key)->name, text, err);
}

furrow_status fw_conf_settle(furrow_learn_conf **settled_conf, const furrow_learn_conf *conf, const fw_settled *settled,
                             furrow_error *err) {
  furrow_learn_conf *made = NULL;
  fw_buffer text = {0};
  furrow_status status = fw_learn_conf_copy(&made, conf, err);
  for (size_t i = 0; status == FURROW_OK && i < sizeof settled_fields / sizeof *settled_fields; i++) {
    fw_buffer_reset(&text);
    if (!put_field(&text, &settled_fields[i], settled)) continue;
    fw_buffer_byte(&text, 0);
    status = fw_buffer_status(&text, err);
    if (status == FURROW_OK) status = set_key(made, settled_fields[i].key, text.bytes, err);
  }
  if (status == FURROW_OK)
    *settled_conf = made;
  else
    furrow_learn_conf_free(made);
  fw_buffer_clear(&text);
  return status;
}

/* ---- Models to go on from ---- */

bool fw_conf_is_open(const furrow_learn_conf *conf, fw_key key) {
  const char *text = fw_conf_value(conf, key).text;
  return !text[0] || strcmp(text, "auto") == 0 || strcmp(text, "-1") == 0;
}

static size_t slots_of(const fw_graph *graph) {
  size_t slots = 0;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_EMBEDDING) slots = graph->layers[i].slots;
  return slots;
}

/* The loss of a net or of linear that the labels decided about when the model was trained; and the loss of counts,
 * whose scores are logarithms. */
static bool inherits_loss(const furrow_learn_conf *conf, const fw_plan *model) {
  const fw_loss_type loss = model->graph.loss;
  const bool decided = loss == FW_LOSS_L2 || loss == FW_LOSS_SOFTMAX || loss == FW_LOSS_POISSON;
  return decided && !model->forest.used && fw_conf_recommends(conf) && !fw_conf_is_set(conf, FW_KEY_LOSS) &&
         fw_builtin_takes_loss(fw_conf_algorithm(conf));
}

/* Scores of counts are logarithms: another loss cannot start from them, nor they from its scores. */
static furrow_status compare_losses(const furrow_learn_conf *conf, const fw_plan *model, furrow_error *err) {
  const fw_loss_type its = model->graph.loss, loss = (fw_loss_type)fw_conf_value(conf, FW_KEY_LOSS).integer;
  if (model->forest.used || !fw_conf_is_set(conf, FW_KEY_LOSS) || (its == FW_LOSS_POISSON) == (loss == FW_LOSS_POISSON))
    return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "the loss of the model is %s, not %s", fw_loss_name(its), fw_loss_name(loss));
}

/* Numbers that are in a model's plan. */
static fw_settled known_numbers(const furrow_learn_conf *conf, const fw_plan *model) {
  const size_t slots = slots_of(&model->graph);
  return (fw_settled){
      .loss = {inherits_loss(conf, model), model->graph.loss},
      .fields = {slots > 0 && fw_conf_is_open(conf, FW_KEY_FIELDS), slots},
      .classes = {model->graph.loss == FW_LOSS_SOFTMAX && fw_conf_is_open(conf, FW_KEY_CLASSES), model->graph.outputs},
      .short_rows = model->data.short_rows && !fw_conf_is_set(conf, FW_KEY_SHORT_ROWS),
      .index_base = {model->data.index_base >= 0 && fw_conf_is_open(conf, FW_KEY_INDEX_BASE),
                     (uint64_t)model->data.index_base},
  };
}

/* Inherits how rows are read: columns in another order would be other features. */
static furrow_status inherit_reading(furrow_learn_conf *conf, const furrow_learn_conf *model, furrow_error *err) {
  static const fw_key keys[] = {FW_KEY_LABELS,        FW_KEY_CLASS_NAMES, FW_KEY_COLUMNS,    FW_KEY_LABEL_COLUMN,
                                FW_KEY_WEIGHT_COLUMN, FW_KEY_USER_FIELDS, FW_KEY_ITEM_FIELDS};
  if (!fw_conf_is_open(model, FW_KEY_FIELDS) && fw_conf_is_open(conf, FW_KEY_FIELDS))
    FW_TRY(set_key(conf, FW_KEY_FIELDS, fw_conf_value(model, FW_KEY_FIELDS).text, err));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *text = fw_conf_value(model, keys[i]).text;
    if (text[0] && fw_conf_is_open(conf, keys[i])) FW_TRY(set_key(conf, keys[i], text, err));
  }
  return FURROW_OK;
}

/* Inherits the row type (a model of doubles would change if its weights became floats), and for trees objective, rate
 * and size, which all trees of a model share. */
static furrow_status inherit_shape(furrow_learn_conf *conf, const furrow_learn_conf *model, bool trees,
                                   furrow_error *err) {
  static const fw_key keys[] = {FW_KEY_MODEL_TYPE, FW_KEY_OBJECTIVE, FW_KEY_LR,
                                FW_KEY_LEVELS,     FW_KEY_QUANTILE,  FW_KEY_MONOTONE};
  for (size_t i = 0; i < (trees ? sizeof keys / sizeof *keys : 1); i++) {
    const bool by_depth = keys[i] == FW_KEY_LEVELS && fw_conf_is_set(conf, FW_KEY_DEPTH);
    if (by_depth || fw_conf_is_set(conf, keys[i]) || !fw_conf_is_set(model, keys[i])) continue;
    FW_TRY(set_key(conf, keys[i], fw_conf_value(model, keys[i]).text, err));
  }
  return FURROW_OK;
}

furrow_status fw_conf_inherit(furrow_learn_conf **inherited, const furrow_learn_conf *conf,
                              const furrow_learn_conf *model, furrow_error *err) {
  furrow_learn_conf *made = NULL;
  fw_plan *plan = NULL;
  FW_TRY(fw_plan_of_conf(&plan, model, err));
  const fw_settled numbers = known_numbers(conf, plan);
  furrow_status status = compare_losses(conf, plan, err);
  if (status == FURROW_OK) status = fw_conf_settle(&made, conf, &numbers, err);
  if (status == FURROW_OK) status = inherit_reading(made, model, err);
  if (status == FURROW_OK) status = inherit_shape(made, model, plan->forest.used, err);
  if (status == FURROW_OK)
    *inherited = made;
  else
    furrow_learn_conf_free(made);
  fw_plan_free(plan);
  return status;
}
