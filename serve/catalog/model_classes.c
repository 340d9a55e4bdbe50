/* serve/catalog/model_classes.c: what people call the classes of a model. */
#include "catalog/model_classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/serve_settings.h"
#include "core/fail.h"
#include "http/bytes.h"
#include "learn/class_label.h"

/* The list of class-names, each as it stands in the JSON. */
typedef struct own_names {
  furrow_json_text *texts; /* of each class; NULL: the model has none */
  size_t count;
} own_names;

static furrow_status fail_names(const model_version *v, size_t count, furrow_error *err) {
  return fail_in(err, FURROW_E_FORMAT, v->folder,
                 "class-names is not a list with a string, a number or a boolean for each of the %zu classes", count);
}

static furrow_status read_names(furrow_json *json, own_names *names, furrow_error *err) {
  size_t count = 0;
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    const furrow_json_kind kind = furrow_json_peek(json);
    const bool is_name = kind == FURROW_JSON_STRING || kind == FURROW_JSON_NUMBER || kind == FURROW_JSON_BOOL;
    if (count == names->count || !is_name) return FURROW_E_FORMAT;
    status = furrow_json_skip(json, &names->texts[count++], err);
  }
  if (status != FURROW_END) return status;
  return count == names->count ? furrow_json_end(json, err) : FURROW_E_FORMAT;
}

static furrow_status get_names(const model_version *v, own_names *names, furrow_error *err) {
  const char *text = furrow_learn_conf_get(furrow_scorer_conf(v->scorer), "class-names");
  furrow_json *json = NULL;
  if (!text || !*text || names->count == 0) return FURROW_OK;
  FAIL_TRY(furrow_json_create(&json, err));
  names->texts = calloc(names->count, sizeof *names->texts);
  furrow_status status = names->texts ? FURROW_OK : fail_memory(err);
  furrow_json_start(json, text, strlen(text), NULL);
  if (status == FURROW_OK) status = read_names(json, names, err);
  if (status == FURROW_E_FORMAT) status = fail_names(v, names->count, err);
  furrow_json_free(json);
  return status;
}

/* Class i of rows has name i. The labels of a log are texts, numbered in the order of the schema: there the text of a
 * label is the number of the name. */
static size_t place_of(const model_version *v, size_t i) {
  const char *text = class_name(v->scorer, furrow_scorer_class_label(v->scorer, i));
  char *end = NULL;
  if (!text) return i;
  const double place = strtod(text, &end);
  return end != text && !*end && place >= 0 && place < 1e9 && place == trunc(place) ? (size_t)place : SIZE_MAX;
}

static furrow_status write_class(const model_version *v, const own_names *names, size_t i, bytes *text,
                                 furrow_error *err) {
  const double label = furrow_scorer_class_label(v->scorer, i);
  const char *name = class_name(v->scorer, label);
  const size_t place = place_of(v, i);
  if (names->texts && place >= names->count) return fail_names(v, names->count, err);
  if (names->texts)
    bytes_add(text, names->texts[place].bytes, names->texts[place].size);
  else if (name)
    bytes_json(text, name, strlen(name));
  else
    bytes_f64(text, label);
  bytes_add(text, "", 1);
  return text->failed ? fail_memory(err) : FURROW_OK;
}

static furrow_status make_classes(model_version *v, const own_names *names, furrow_error *err) {
  bytes text = {0};
  furrow_status status = FURROW_OK;
  v->classes = (char **)calloc(v->class_count + 1, sizeof *v->classes);
  if (!v->classes) return fail_memory(err);
  for (size_t i = 0; i < v->class_count && status == FURROW_OK; i++) {
    bytes_reset(&text, SIZE_MAX);
    status = write_class(v, names, i, &text, err);
    if (status == FURROW_OK && !(v->classes[i] = strdup(text.data))) status = fail_memory(err);
  }
  bytes_clear(&text);
  return status;
}

furrow_status model_classes_make(model_version *version, furrow_error *err) {
  while (!isnan(furrow_scorer_class_label(version->scorer, version->class_count))) version->class_count++;
  own_names names = {.count = version->class_count};
  furrow_status status = get_names(version, &names, err);
  if (status == FURROW_OK) status = make_classes(version, &names, err);
  free(names.texts);
  return status;
}

void model_classes_free(model_version *version) {
  for (size_t i = 0; version->classes && i < version->class_count; i++) free(version->classes[i]);
  free((void *)version->classes);
}

/* Labels ascend. */
const char *model_class_of(const model_version *version, double label) {
  size_t first = 0, end = version->class_count;
  while (first < end) {
    const size_t middle = first + (end - first) / 2;
    const double found = furrow_scorer_class_label(version->scorer, middle);
    if (found == label) return version->classes[middle];
    if (found < label)
      first = middle + 1;
    else
      end = middle;
  }
  return NULL;
}
