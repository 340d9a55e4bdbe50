/* cli/learn/tune_search.c: the search of furrow tune: which settings are tried, on how many rows, and which wins. */
#include "learn/tune_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/splitmix.h"
#include "learn/train_report.h"

/* ---- Spaces ---- */

#define VALUES(...) (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static const search_key tree_keys[] = {
    {"trees", NULL, VALUES("50", "100", "200", "400", "800")},
    {"lr", NULL, VALUES("0.02", "0.05", "0.1", "0.2", "0.3")},
    {"depth", "levels", VALUES("3", "4", "5", "6", "8")},
    {"leaves", NULL, VALUES("4", "8", "12", "16", "24", "31")},
    {"min-rows", NULL, VALUES("1", "2", "5", "10", "20", "50")},
    {"reg-lambda", NULL, VALUES("0", "1", "2", "10", "20", "100")},
    {"row-ratio", NULL, VALUES("0.5", "0.7", "1")},
    {"feature-ratio", NULL, VALUES("0.3", "0.6", "1")},
};
static const search_key linear_keys[] = {
    {"l2", NULL, VALUES("0.001", "0.01", "0.03", "0.1", "0.3", "3", "10", "30", "100", "300", "1000")}};
static const search_key svm_keys[] = {{"l2", NULL, VALUES("0.0001", "0.001", "0.01", "0.1", "0.3", "3", "10")},
                                      {"ftrl-alpha", NULL, VALUES("0.03", "0.1", "0.3", "1")}};
#define NET_RATE \
  { "lr", NULL, VALUES("0.0003", "0.001", "0.003", "0.01", "0.03") }
#define NET_BATCH \
  { "batch", NULL, VALUES("32", "64", "128", "256") }
#define NET_L2 \
  { "l2", NULL, VALUES("0", "0.00001", "0.0001", "0.001", "0.01") }
#define NET_RANK \
  { "rank", NULL, VALUES("2", "4", "8", "16", "32") }
#define NET_INIT \
  { "init-embedding", NULL, VALUES("0.01", "0.03", "0.1", "0.3") }
#define NET_FC \
  { "fc", NULL, VALUES("16", "32,16", "64,32", "100,100", "200,100,50") }
static const search_key fm_keys[] = {NET_RANK, NET_RATE, NET_BATCH, NET_L2, NET_INIT};
static const search_key mlr_keys[] = {
    {"mlr-rank", NULL, VALUES("2", "3", "5", "8", "12")}, NET_RATE, NET_BATCH, NET_L2};
static const search_key dnn_keys[] = {
    {"input-width", NULL, VALUES("50", "100", "200", "500")}, NET_RATE, NET_BATCH, NET_L2, NET_FC};
static const search_key deep_keys[] = {NET_RANK, NET_RATE, NET_BATCH, NET_L2, NET_INIT, NET_FC};

#define SPACE(name, keys) \
  { name, keys, sizeof keys / sizeof *keys }
static const struct {
  const char *algorithm;
  const search_key *keys;
  size_t count;
} spaces[] = {SPACE("gbdt", tree_keys),
              SPACE("lr", linear_keys),
              SPACE("linear", linear_keys),
              SPACE("robust", linear_keys),
              SPACE("softmax", linear_keys),
              SPACE("svm", svm_keys),
              SPACE("mlr", mlr_keys),
              SPACE("fm", fm_keys),
              SPACE("ffm", fm_keys),
              SPACE("dnn", dnn_keys),
              SPACE("wide_and_deep", deep_keys),
              SPACE("deepfm", deep_keys),
              SPACE("pnn", deep_keys),
              SPACE("nfm", deep_keys)};

search_space search_space_of(const furrow_learn_conf *conf, bool (*is_given)(const void *user, const char *key),
                             const void *user) {
  const char *algorithm = furrow_learn_conf_get(conf, "algorithm");
  search_space space = {.count = 0};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    if (strcmp(spaces[i].algorithm, algorithm) != 0) continue;
    for (size_t k = 0; k < spaces[i].count; k++) {
      const search_key *key = &spaces[i].keys[k];
      if (is_given(user, key->key) || (key->also && is_given(user, key->also))) continue;
      space.standard[space.count] = furrow_learn_conf_get(conf, key->key);
      space.keys[space.count++] = *key;
    }
  }
  return space;
}

/* ---- Settings ---- */

static bool is_new(const search *s, const search_setting *setting) {
  for (size_t i = 0; i < s->setting_count; i++)
    if (memcmp(&s->settings[i], setting, sizeof *setting) == 0) return false;
  return true;
}

/* Returns the number of settings in the space, at most MOST_RUNS. */
static size_t space_size(const search_space *space) {
  size_t size = space->count > 0;
  for (size_t k = 0; k < space->count && size < MOST_RUNS; k++) size *= space->keys[k].count;
  return size < MOST_RUNS ? size : MOST_RUNS;
}

/* Value n of key k; NULL: it is the default. */
static const char *value_at(const search_space *space, size_t k, size_t n) {
  const char *value = space->keys[k].values[n];
  return strcmp(value, space->standard[k]) == 0 ? NULL : value;
}

/* Returns setting n of a space that is small enough to try all. */
static search_setting setting_at(const search_space *space, size_t n) {
  search_setting setting = {{NULL}};
  for (size_t k = 0; k < space->count; k++) {
    setting.values[k] = value_at(space, k, n % space->keys[k].count);
    n /= space->keys[k].count;
  }
  return setting;
}

/* Of several keys, each keeps its default in half of the settings: the defaults are not far off. */
static search_setting draw_setting(const search_space *space, uint64_t *rng) {
  search_setting setting = {{NULL}};
  for (size_t k = 0; k < space->count; k++) {
    const bool keeps = space->count > 1 && below(rng, 2) == 0;
    const uint32_t drawn = below(rng, (uint32_t)space->keys[k].count);
    if (!keeps) setting.values[k] = value_at(space, k, drawn);
  }
  return setting;
}

static void add_setting(search *s, const search_setting *setting) {
  if (is_new(s, setting)) s->settings[s->setting_count++] = *setting;
}

/* Tries all settings if there are few; if there are many, a draw rarely repeats an earlier one. */
static void fill_settings(search *s, size_t runs, uint64_t seed) {
  const size_t all = space_size(&s->space);
  uint64_t rng = seed;
  for (size_t i = 0; all < runs && i < all; i++) {
    const search_setting setting = setting_at(&s->space, i);
    add_setting(s, &setting);
  }
  for (size_t tries = 0; all >= runs && s->setting_count < runs && tries < 100 * runs; tries++) {
    const search_setting setting = draw_setting(&s->space, &rng);
    add_setting(s, &setting);
  }
}

furrow_status search_init(search *s, const search_space *space, const char *metric, size_t runs, uint64_t seed,
                          furrow_error *err) {
  *s = (search){.space = *space, .metric = metric};
  s->settings = calloc(runs, sizeof *s->settings);
  s->trials = calloc(3 * (runs + 1), sizeof *s->trials); /* for each of the shares */
  if (!s->settings || !s->trials) return fail_memory(err);
  s->setting_count = 1;
  fill_settings(s, runs, seed);
  return FURROW_OK;
}

void search_clear(search *s) {
  free(s->settings);
  free(s->trials);
  *s = (search){.metric = NULL};
}

void search_describe(const search *s, const search_setting *setting, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "defaults");
  for (size_t k = 0; k < s->space.count && used < size; k++)
    if (setting->values[k])
      used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", s->space.keys[k].key,
                               setting->values[k]);
}

/* ---- Which is better ---- */

/* Returns the figure, negated if less is better, so that more is better; a failure is the worst. */
static double trial_worth(const search *s, const search_trial *trial) {
  const double figure = trial->figures.rows ? figure_named(&trial->figures, s->metric) : NAN;
  const bool rises = strcmp(s->metric, "auc") == 0 || strcmp(s->metric, "accuracy") == 0;
  return isnan(figure) ? -INFINITY : rises ? figure : -figure;
}

static const search_trial *trial_of(const search *s, size_t setting, double share) {
  for (size_t i = 0; i < s->trial_count; i++)
    if (s->trials[i].setting == setting && s->trials[i].share == share) return &s->trials[i];
  return NULL;
}

const search_trial *search_best(const search *s) {
  const search_trial *best = s->trial_count > 0 ? &s->trials[0] : NULL;
  double share = 0;
  for (size_t i = 0; i < s->trial_count; i++)
    if (s->trials[i].setting > 0 && s->trials[i].share > share) share = s->trials[i].share;
  const search_trial *defaults = share > 0 ? trial_of(s, 0, share) : NULL;
  if (defaults) best = defaults;
  for (size_t i = 0; defaults && i < s->trial_count; i++)
    if (s->trials[i].share == share && trial_worth(s, &s->trials[i]) > trial_worth(s, best)) best = &s->trials[i];
  return best;
}

const search_trial *search_defaults_beside(const search *s, const search_trial *trial) {
  return trial_of(s, 0, trial->share);
}

/* ---- Trials ---- */

static furrow_status try_once(search *s, size_t setting, double share, furrow_error *err) {
  search_trial *trial = &s->trials[s->trial_count];
  if (trial_of(s, setting, share)) return FURROW_OK;
  *trial = (search_trial){.setting = setting, .share = share};
  furrow_status status = s->try_setting(s->user, &s->settings[setting], trial, err);
  if (status == FURROW_E_RANGE && setting > 0) {
    trial->figures.rows = 0;
    status = FURROW_OK;
  }
  if (status == FURROW_OK) s->trial_count++;
  return status;
}

/* Sorts the settings by their trials with that share, the best first; ties in the order of drawing. */
static void sort_settings(const search *s, size_t *list, size_t count, double share) {
  for (size_t i = 1; i < count; i++) {
    const size_t moved = list[i];
    const double of_moved = trial_worth(s, trial_of(s, moved, share));
    size_t at = i;
    for (; at > 0 && trial_worth(s, trial_of(s, list[at - 1], share)) < of_moved; at--) list[at] = list[at - 1];
    list[at] = moved;
  }
}

/* Tries the listed settings and the defaults with a share of the rows; leaves the better third in the list. */
static furrow_status try_round(search *s, size_t *list, size_t *count, double share, furrow_error *err) {
  furrow_status status = try_once(s, 0, share, err);
  for (size_t i = 0; status == FURROW_OK && i < *count; i++) status = try_once(s, list[i], share, err);
  if (status != FURROW_OK) return status;
  sort_settings(s, list, *count, share);
  *count = (*count + 2) / 3;
  return FURROW_OK;
}

furrow_status search_run(search *s, furrow_error *err) {
  static const double shares[] = {1.0 / 9, 1.0 / 3, 1};
  size_t count = s->setting_count - 1;
  size_t *list = calloc(s->setting_count, sizeof *list);
  if (!list) return fail_memory(err);
  for (size_t i = 0; i < count; i++) list[i] = i + 1;
  furrow_status status = try_once(s, 0, 1, err);
  for (size_t i = 0; status == FURROW_OK && i < sizeof shares / sizeof *shares; i++)
    if (shares[i] == 1 || shares[i] * (double)s->trials[0].rows >= SEARCH_ROWS)
      status = try_round(s, list, &count, shares[i], err);
  free(list);
  return status == FURROW_END ? FURROW_OK : status;
}
