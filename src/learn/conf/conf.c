/* learn/conf/conf.c: a configuration: the values of the JSON file, the values of keys, and which of them apply. */
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/input.h"
#include "learn/conf/conf_data.h"

/* ---- Life ---- */

furrow_status furrow_learn_conf_create(furrow_learn_conf **conf, furrow_error *err) {
  return FW_ALLOC_ZERO(conf, 1, err);
}

static void free_values(fw_value values[FW_KEYS]) {
  for (size_t i = 0; i < FW_KEYS; i++) fw_free((void *)(uintptr_t)values[i].text);
}

void fw_conf_json_clear(fw_conf_json *spec) {
  free_values(spec->values);
  free_values(spec->keys);
  fw_graph_spec_release(spec->graph);
  memset(spec, 0, sizeof *spec);
}

void furrow_learn_conf_free(furrow_learn_conf *conf) {
  if (!conf) return;
  free_values(conf->keys);
  fw_conf_json_clear(&conf->json);
  fw_free(conf->ignored);
  fw_free(conf);
}

static furrow_status copy_values(fw_value to[FW_KEYS], const fw_value from[FW_KEYS], furrow_error *err) {
  for (size_t i = 0; i < FW_KEYS; i++)
    if (from[i].text) FW_TRY(fw_value_keep(&to[i], from[i], NULL, 0, err));
  return FURROW_OK;
}

furrow_status fw_learn_conf_copy(furrow_learn_conf **copy, const furrow_learn_conf *conf, furrow_error *err) {
  furrow_learn_conf *made = NULL;
  furrow_status status = furrow_learn_conf_create(&made, err);
  if (status == FURROW_OK) status = copy_values(made->keys, conf->keys, err);
  if (status == FURROW_OK) status = copy_values(made->json.values, conf->json.values, err);
  for (size_t i = 0; status == FURROW_OK && i < conf->ignored_count; i++)
    status = fw_conf_ignore(made, conf->ignored[i].key, conf->ignored[i].changes_model, err);
  if (status != FURROW_OK) {
    furrow_learn_conf_free(made);
    return status;
  }
  made->json.defaults = conf->json.defaults;
  made->json.trees = conf->json.trees;
  made->json.graph = conf->json.graph;
  if (made->json.graph) made->json.graph->users++;
  made->has_json = conf->has_json;
  made->features = conf->features;
  made->algorithm = conf->algorithm;
  *copy = made;
  return FURROW_OK;
}

/* ---- Saying ---- */

furrow_status furrow_learn_conf_set_algorithm(furrow_learn_conf *conf, const char *name, furrow_error *err) {
  const char *found = fw_builtin_find(name);
  if (!found) {
    fw_fail(err, FURROW_E_ARGUMENT, "no such algorithm; there are %s", fw_builtin_names);
    fw_error_set_token(err, name, strlen(name));
    return FURROW_E_ARGUMENT;
  }
  conf->algorithm = found;
  return FURROW_OK;
}

furrow_status fw_value_keep(fw_value *value, fw_value parsed, const char *text, size_t size, furrow_error *err) {
  char *copy = NULL;
  FW_TRY(fw_strndup(&copy, parsed.text ? parsed.text : text, parsed.text ? strlen(parsed.text) : size, err));
  fw_free((void *)(uintptr_t)value->text);
  *value = parsed;
  value->text = copy;
  return FURROW_OK;
}

furrow_status furrow_learn_conf_set(furrow_learn_conf *conf, const char *key, const char *value, furrow_error *err) {
  const fw_key found = fw_key_find(key);
  furrow_error spec = {0};
  fw_value parsed;
  if (found == FW_KEYS) return fw_conf_set_angel(conf, key, value, err);
  if (fw_key_parse(found, value, strlen(value), &parsed, &spec) == FURROW_OK) {
    parsed.name = fw_key_static_name(key);
    return fw_value_keep(&conf->keys[found], parsed, value, strlen(value), err);
  }
  fw_fail(err, FURROW_E_ARGUMENT, "%s %s", key, spec.message);
  fw_error_set_token(err, value, strlen(value));
  if (spec.hint[0]) fw_error_set_hint(err, "%s", spec.hint);
  return FURROW_E_ARGUMENT;
}

const char *fw_conf_key_name(const furrow_learn_conf *conf, fw_key key) {
  const char *name = conf->keys[key].name;
  return name ? name : fw_key_facts(key)->name;
}

static void take_value(fw_value *to, fw_value *from) {
  if (!from->text) return;
  fw_free((void *)(uintptr_t)to->text);
  *to = *from;
  from->text = NULL;
}

/* Takes over a JSON file. Keys that were set before stay, as do values that the new file does not have; its layers
 * replace the graph, or the trees. */
static void take_json(furrow_learn_conf *conf, fw_conf_json *spec) {
  fw_conf_json *kept = &conf->json;
  for (size_t i = 0; i < FW_KEYS; i++) {
    if (!conf->keys[i].text) take_value(&conf->keys[i], &spec->keys[i]);
    take_value(&kept->values[i], &spec->values[i]);
  }
  if (spec->defaults.optimizer.spec) kept->defaults.optimizer = spec->defaults.optimizer;
  if (spec->defaults.activation.spec) kept->defaults.activation = spec->defaults.activation;
  if (spec->defaults.loss.spec) kept->defaults.loss = spec->defaults.loss;
  if (spec->graph || spec->trees) kept->trees = spec->trees;
  if (spec->graph) {
    fw_graph_spec_release(kept->graph);
    kept->graph = spec->graph;
    spec->graph = NULL;
    conf->algorithm = NULL;
  }
}

furrow_status furrow_learn_conf_read(furrow_learn_conf *conf, const void *text, size_t size, const char *file,
                                     furrow_error *err) {
  fw_conf_json spec = {0};
  furrow_status status = fw_conf_json_read(&spec, text, size, file, err);
  if (status == FURROW_OK) take_json(conf, &spec);
  conf->has_json |= status == FURROW_OK;
  fw_conf_json_clear(&spec);
  return status;
}

/* ---- What counts ---- */

bool fw_conf_has_key(const furrow_learn_conf *conf, fw_key key) {
  return conf->keys[key].text != NULL;
}

bool fw_conf_is_set(const furrow_learn_conf *conf, fw_key key) {
  return conf->keys[key].text || conf->json.values[key].text;
}

bool fw_conf_recommends(const furrow_learn_conf *conf) {
  if (conf->keys[FW_KEY_DEFAULTS].text) return conf->keys[FW_KEY_DEFAULTS].integer == 0;
  return !conf->has_json && !conf->keys[FW_KEY_ALGORITHM].text;
}

/* Held-out rows choose the number of trees, unless it is set. */
static bool has_own_trees(const furrow_learn_conf *conf) {
  const char *algorithm = fw_conf_algorithm(conf);
  return algorithm && strcmp(algorithm, "gbdt") == 0 && fw_conf_is_set(conf, FW_KEY_TREES);
}

static const char *own_default(const furrow_learn_conf *conf, fw_key key) {
  if ((key == FW_KEY_VALID_RATIO || key == FW_KEY_PATIENCE) && has_own_trees(conf)) return "0";
  const int64_t objective = key == FW_KEY_OBJECTIVE ? 0 : fw_conf_value(conf, FW_KEY_OBJECTIVE).integer;
  const fw_value loss = conf->keys[FW_KEY_LOSS];
  const bool ranks = loss.text && fw_loss_ranks((fw_loss_type)loss.integer);
  const char *ranking = ranks ? fw_recommended_ranking((fw_loss_type)loss.integer, key) : NULL;
  return ranking ? ranking : fw_recommended(fw_conf_algorithm(conf), objective, key);
}

/* A default of "auto", which depends on the data, has the number 0. */
fw_value fw_conf_value(const furrow_learn_conf *conf, fw_key key) {
  if (conf->keys[key].text) return conf->keys[key];
  if (conf->json.values[key].text) return conf->json.values[key];
  const char *own = fw_conf_recommends(conf) ? own_default(conf, key) : NULL;
  const char *fallback = own ? own : fw_key_facts(key)->fallback;
  fw_value value = {0};
  if (fallback[0] && fw_key_parse(key, fallback, strlen(fallback), &value, NULL) != FURROW_OK) value = (fw_value){0};
  if (!value.text) value.text = fallback;
  return value;
}

const char *fw_conf_algorithm(const furrow_learn_conf *conf) {
  const char *spec = conf->keys[FW_KEY_ALGORITHM].text;
  if (spec) return spec[0] ? spec : NULL;
  return conf->algorithm ? conf->algorithm : conf->json.trees ? "gbdt" : NULL;
}

const char *furrow_learn_conf_get(const furrow_learn_conf *conf, const char *key) {
  const fw_key found = fw_key_find(key);
  if (found == FW_KEYS) return NULL;
  if (found != FW_KEY_ALGORITHM) return fw_conf_value(conf, found).text;
  const char *algorithm = fw_conf_algorithm(conf);
  return algorithm ? algorithm : "";
}

/* ---- Graphs before they are resolved ---- */

furrow_status fw_graph_spec_create(fw_graph_spec **graph, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(graph, 1, err));
  (*graph)->users = 1;
  return FURROW_OK;
}

void fw_graph_spec_release(fw_graph_spec *graph) {
  if (!graph || --graph->users > 0) return;
  fw_arena_clear(&graph->arena);
  fw_free(graph->layers);
  fw_free(graph);
}

furrow_status fw_arena_text(fw_arena *arena, const char **copy, const char *text, size_t n, furrow_error *err) {
  char *made = NULL;
  FW_TRY(FW_ARENA_TAKE(arena, &made, n + 1, err));
  memcpy(made, text, n);
  made[n] = 0;
  *copy = made;
  return FURROW_OK;
}

/* ---- Files ---- */

furrow_status furrow_learn_conf_load(furrow_learn_conf *conf, const char *path, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = fw_path_read_json(&text, &size, path, err);
  if (status == FURROW_OK) status = furrow_learn_conf_read(conf, text, size, path, err);
  fw_free(text);
  return status;
}
