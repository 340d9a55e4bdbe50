/* learn/train/furrow_json.c: furrow.json: the data that a model is for, how it was trained, how good it is. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "furrow/version.h"
#include "io/uri.h"
#include "learn/conf/conf_data.h"
#include "learn/train/trainer.h"
#include "rows/encode/encoder.h"

enum { VERSION = 1 };

/* A key's text; nothing where it has none. */
static void put_text(fw_json_out *json, const furrow_trainer *t, const char *member, const char *key) {
  const char *text = furrow_learn_conf_get(t->conf, key);
  if (text[0]) fw_json_out_member(json, member, text);
}

/* ---- The data ---- */

static furrow_status put_columns(fw_json_out *json, const furrow_trainer *t, furrow_error *err) {
  const char *list = furrow_learn_conf_get(t->conf, "columns");
  if (!list[0]) return FURROW_OK;
  fw_json_out_key(json, "columns");
  fw_json_out_open_array(json);
  for (size_t length; list; list = list[length] ? list + length + 1 : NULL) {
    char *name = NULL;
    length = strcspn(list, ",");
    FW_TRY(fw_uri_decode(&name, list, length, err));
    fw_json_out_element(json);
    fw_json_out_text(json, name);
    fw_free(name);
  }
  fw_json_out_close_array(json);
  return FURROW_OK;
}

static furrow_status put_data(fw_json_out *json, const furrow_trainer *t, furrow_error *err) {
  const fw_data_conf *data = &t->plan->data;
  char digest[24];
  fw_json_out_key(json, "data");
  fw_json_out_open(json);
  if (strcmp(data->format, "auto") != 0) fw_json_out_member(json, "format", data->format);
  if (data->index_base >= 0) fw_json_out_member_unsigned(json, "index_base", (uint64_t)data->index_base);
  FW_TRY(put_columns(json, t, err));
  put_text(json, t, "class_names", "class-names");
  put_text(json, t, "label_column", "label-column");
  put_text(json, t, "weight_column", "weight-column");
  put_text(json, t, "delimiter", "delimiter");
  if (data->encoder) {
    char dictionary[17];
    FW_TRY(fw_encoder_digest(data->encoder, dictionary, err));
    fw_json_out_member(json, "dictionary", dictionary);
  }
  put_text(json, t, "user_fields", "user-fields");
  put_text(json, t, "item_fields", "item-fields");
  const uint64_t features = t->loaded_features > t->seen.features ? t->loaded_features : t->seen.features;
  if (features > 0 && !data->encoder) fw_json_out_member_unsigned(json, "features", features);
  if (t->seen.rows > 0) {
    fw_json_out_member_unsigned(json, "rows", t->seen.rows);
    snprintf(digest, sizeof digest, "%016" PRIx64, t->seen.digest);
    fw_json_out_member(json, "digest", digest);
  }
  fw_json_out_close(json);
  return FURROW_OK;
}

static void put_labels(fw_json_out *json, const fw_data_conf *data) {
  if (data->label_count == 0) return;
  fw_json_out_key(json, "labels");
  fw_json_out_open_array(json);
  for (size_t i = 0; i < data->label_count; i++) {
    const double label = data->labels[i];
    fw_json_out_element(json);
    if (label == trunc(label) && fabs(label) < 1e15)
      fw_json_out_integer(json, (int64_t)label);
    else
      fw_json_out_float(json, (float)label);
  }
  fw_json_out_close_array(json);
}

/* ---- The training ---- */

static void put_scaling(fw_json_out *json, const fw_seen_data *seen) {
  if (seen->scaled == 0 && seen->label_factor == 0) return;
  fw_json_out_key(json, "scaling");
  fw_json_out_open(json);
  fw_json_out_member_unsigned(json, "features", seen->scaled);
  fw_json_out_member_unsigned(json, "centred", seen->centred);
  if (seen->label_factor != 0) {
    fw_json_out_member_real(json, "label_mean", seen->label_mean);
    fw_json_out_member_real(json, "label_factor", seen->label_factor);
  }
  fw_json_out_member_bool(json, "folded", true);
  fw_json_out_close(json);
}

static void put_settings(fw_json_out *json, const furrow_trainer *t) {
  fw_json_out_key(json, "settings");
  fw_json_out_open(json);
  for (unsigned key = 0; key < FW_KEYS; key++) {
    const bool path = key == FW_KEY_DATA || key == FW_KEY_LOAD || key == FW_KEY_SAVE || key == FW_KEY_ENCODER;
    const char *text = t->conf->keys[key].text;
    const bool above = key == FW_KEY_COLUMNS || key == FW_KEY_LABELS || key == FW_KEY_CLASS_NAMES;
    if (!path && !above && text) fw_json_out_member(json, fw_key_facts((fw_key)key)->name, text);
  }
  fw_json_out_close(json);
}

static void put_training(fw_json_out *json, const furrow_trainer *t) {
  fw_json_out_key(json, "training");
  fw_json_out_open(json);
  fw_json_out_member(json, "defaults", t->plan->train.recommended ? "furrow" : "angel");
  put_settings(json, t);
  fw_json_out_member_unsigned(json, "seed", t->plan->train.seed);
  fw_json_out_member_unsigned(json, "epochs", t->epochs);
  fw_json_out_member_unsigned(json, "best_epoch", t->best);
  fw_json_out_member_bool(json, "exact_minimum", t->seen.exact);
  fw_json_out_member_bool(json, "linear_model_kept", t->fell_back);
  fw_json_out_member_unsigned(json, "rate_halved", t->steps.halvings);
  fw_json_out_close(json);
}

/* ---- Figures, notes ---- */

static void put_metrics(fw_json_out *json, const char *name, const furrow_learn_metrics *m) {
  const struct {
    const char *name;
    double value;
  } figures[] = {{"loss", m->loss},       {"auc", m->auc},         {"accuracy", m->accuracy},
                 {"logloss", m->logloss}, {"rmse", m->rmse},       {"mae", m->mae},
                 {"ndcg", m->ndcg},       {"pinball", m->pinball}, {"deviance", m->deviance}};
  if (m->rows == 0) return;
  fw_json_out_key(json, name);
  fw_json_out_open(json);
  fw_json_out_member_unsigned(json, "rows", m->rows);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    if (!isnan(figures[i].value)) fw_json_out_member_real(json, figures[i].name, figures[i].value);
  fw_json_out_close(json);
}

static void put_folds(fw_json_out *json, const furrow_learn_metrics *folds, size_t count) {
  furrow_learn_metrics mean, deviation;
  if (count == 0) return;
  furrow_learn_metrics_init(&mean);
  furrow_learn_metrics_init(&deviation);
  furrow_learn_metrics_summarize(folds, count, &mean, &deviation);
  fw_json_out_key(json, "folds");
  fw_json_out_open(json);
  fw_json_out_member_unsigned(json, "count", count);
  put_metrics(json, "mean", &mean);
  put_metrics(json, "deviation", &deviation);
  fw_json_out_close(json);
}

static void put_figures(fw_json_out *json, const furrow_trainer *t) {
  if (t->epochs == 0) return;
  const fw_epoch *epoch = &t->history[t->seen.saved_epoch ? t->seen.saved_epoch - 1 : t->epochs - 1];
  furrow_learn_metrics linear = {.rows = epoch->valid.rows, .loss = t->seen.linear_loss};
  linear.auc = linear.accuracy = linear.logloss = linear.rmse = linear.mae = linear.ndcg = NAN;
  linear.pinball = linear.deviance = NAN;
  fw_json_out_key(json, "figures");
  fw_json_out_open(json);
  if (!t->fell_back) put_metrics(json, "train", &epoch->train);
  put_metrics(json, "valid",
              t->fell_back ? &linear : &epoch->valid); /* the linear model's figures if it replaced the net */
  fw_json_out_close(json);
}

static void put_notes(fw_json_out *json, const furrow_trainer *t, const char *name, bool warnings) {
  fw_json_out_key(json, name);
  fw_json_out_open_array(json);
  for (size_t i = 0; i < t->note_count; i++) {
    if (t->notes[i].warning != warnings) continue;
    fw_json_out_element(json);
    fw_json_out_text(json, t->notes[i].text);
  }
  fw_json_out_close_array(json);
}

furrow_status fw_model_json_write(const furrow_trainer *t, const furrow_learn_metrics *folds, size_t fold_count,
                                  fw_buffer *text, furrow_error *err) {
  fw_json_out json = {.out = text};
  fw_json_out_open(&json);
  fw_json_out_member_unsigned(&json, "version", VERSION);
  fw_json_out_member(&json, "furrow", FURROW_VERSION);
  fw_json_out_member(&json, "algorithm", t->plan->model.algorithm);
  FW_TRY(put_data(&json, t, err));
  put_labels(&json, &t->plan->data);
  put_scaling(&json, &t->seen);
  put_training(&json, t);
  put_figures(&json, t);
  put_folds(&json, folds, fold_count);
  put_notes(&json, t, "notes", false);
  put_notes(&json, t, "warnings", true);
  fw_json_out_close(&json);
  fw_buffer_text(text, "\n");
  return fw_buffer_status(text, err);
}
