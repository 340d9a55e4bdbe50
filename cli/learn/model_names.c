/* cli/learn/model_names.c: the kind of a model; features and classes as people read and write them: names of columns,
 * numbers, labels */
#include "learn/model_names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/options.h"

/* ---- Kinds ---- */

/* Whether the loss of a net, or the objective of trees, makes scores that only order items. */
static bool is_ranking_loss(const char *name) {
  static const char *const names[] = {"SampledSoftmaxLoss", "BPRLoss", "WARPLoss", "rank:ndcg"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static furrow_status take_fact(void *user, const char *member, const char *text) {
  model_facts *facts = user;
  if (!text) return FURROW_OK;
  if (strcmp(member, "algorithm") == 0) snprintf(facts->algorithm, sizeof facts->algorithm, "%.31s", text);
  if (strcmp(member, "data/features") == 0) facts->features = strtoull(text, NULL, 10);
  if (strcmp(member, "training/settings/loss") == 0 || strcmp(member, "training/settings/objective") == 0)
    facts->ranks = is_ranking_loss(text);
  return FURROW_OK;
}

furrow_status model_facts_read(model_facts *facts, const char *folder, furrow_error *err) {
  char *path = NULL;
  furrow_error unused;
  if (!err) err = &unused;
  *facts = (model_facts){0};
  if (asprintf(&path, "%s/furrow.json", folder) < 0) return fail_memory(err);
  const furrow_status status = furrow_model_json_for_each(path, take_fact, facts, err);
  free(path);
  facts->recommends = strcmp(facts->algorithm, "recommender") == 0;
  facts->ranks = facts->ranks || facts->recommends;
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* ---- Features ---- */

static bool name_encoded(const furrow_encoder *encoder, uint64_t index, char space[FEATURE_NAME]) {
  furrow_encoder_feature feature;
  furrow_encoder_field field;
  if (!encoder || furrow_encoder_get_feature(encoder, index, &feature, NULL) != FURROW_OK) return false;
  furrow_encoder_get_field(encoder, feature.field, &field);
  if (feature.length > 0)
    snprintf(space, FEATURE_NAME, "%.100s=%.*s", field.name, (int)(feature.length < 150 ? feature.length : 150),
             feature.name);
  else if (index == field.first && field.count <= 2)
    snprintf(space, FEATURE_NAME, "%.100s", field.name);
  else
    snprintf(space, FEATURE_NAME, "%.100s[%" PRIu64 "]", field.name, index - field.first);
  return true;
}

const char *feature_name(const furrow_scorer *scorer, uint64_t feature, char space[FEATURE_NAME]) {
  const char *name = furrow_scorer_feature_name(scorer, feature);
  if (name && *name) return name;
  if (name_encoded(furrow_scorer_encoder(scorer), feature, space)) return space;
  snprintf(space, FEATURE_NAME, "%" PRIu64, feature);
  return space;
}

furrow_status feature_parse(const furrow_scorer *scorer, const char *name, size_t size, uint64_t *feature,
                            furrow_error *err) {
  char text[FEATURE_NAME] = "";
  const char *known;
  for (uint64_t i = 0; (known = furrow_scorer_feature_name(scorer, i)); i++)
    if (strlen(known) == size && memcmp(known, name, size) == 0) {
      *feature = i;
      return FURROW_OK;
    }
  if (size < sizeof text) memcpy(text, name, size);
  return read_u64(text, feature) ? FURROW_OK
                                 : fail_token(err, *text ? text : name, "neither the name nor the number of a feature");
}

/* ---- Objectives ---- */

void report_objective(report *r, const furrow_learn_conf *conf) {
  const char *objective = furrow_learn_conf_get(conf, "objective"), *monotone = furrow_learn_conf_get(conf, "monotone");
  report_text(r, "objective", objective);
  if (strcmp(objective, "reg:quantileerror") == 0)
    report_f64(r, "quantile", strtod(furrow_learn_conf_get(conf, "quantile"), NULL));
  if (monotone[0]) report_text(r, "monotone", monotone);
}

/* ---- Classes ---- */

/* Labels of a model that does not know them are -1 and 1: they are not the numbers of names. */
const char *class_name(const furrow_scorer *scorer, double label) {
  const furrow_encoder *encoder = furrow_scorer_encoder(scorer);
  if (!encoder || !(furrow_scorer_class_label(scorer, 0) >= 0) || !(label >= 0 && label < 1e9) || label != trunc(label))
    return NULL;
  return furrow_schema_class_name(furrow_encoder_schema(encoder), (size_t)label);
}

/* Labels that are not whole are floats. */
const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label) {
  const char *name = class_name(scorer, label);
  if (name) return name;
  snprintf(text, CLASS_LABEL_SIZE, "%.*g", label == trunc(label) ? 15 : 7, label);
  return text;
}

static bool needs_quotes(const char *label) {
  return strpbrk(label, ",\"\r\n") != NULL;
}

void output_class_begin(output *out, const char *label) {
  if (!needs_quotes(label)) {
    output_data(out, label);
    return;
  }
  output_text(out, "\"");
  for (; *label; label++) output_bytes(out, *label == '"' ? "\"\"" : label, *label == '"' ? 2 : 1);
}

void output_class_end(output *out, const char *label) {
  if (needs_quotes(label)) output_text(out, "\"");
}
