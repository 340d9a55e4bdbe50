/* tests/support/learn_conf.h: configurations of training for tests. */
#ifndef LEARN_CONF_H
#define LEARN_CONF_H

#include <stdio.h>
#include <string.h>

#include "learn/conf/conf.h"
#include "support/cmocka_all.h"
#include "support/test_env.h"

static _Thread_local furrow_error err;

/* With Angel's defaults: most tests are of single steps, whose settings must not change. */
static inline furrow_learn_conf *conf_new(void) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set(conf, "defaults", "angel", &err), FURROW_OK);
  return conf;
}

static inline void conf_set(furrow_learn_conf *conf, const char *key, const char *value) {
  if (furrow_learn_conf_set(conf, key, value, &err) != FURROW_OK) fail_msg("%s: %s", key, err.message);
}

/* "key=value key=value …" */
static inline void conf_set_all(furrow_learn_conf *conf, const char *settings) {
  char text[512];
  snprintf(text, sizeof text, "%s", settings);
  for (char *rest = text, *pair; (pair = strtok_r(rest, " ", &rest));) {
    char *value = strchr(pair, '=');
    assert_non_null(value);
    *value = 0;
    conf_set(conf, pair, value + 1);
  }
}

static inline void conf_read(furrow_learn_conf *conf, const char *json) {
  if (furrow_learn_conf_read(conf, json, strlen(json), "made.json", &err) != FURROW_OK)
    fail_msg("%s at byte %llu", err.message, (unsigned long long)err.offset);
}

static inline furrow_learn_conf *conf_builtin(const char *algorithm, const char *settings) {
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, algorithm, &err), FURROW_OK);
  conf_set_all(conf, settings);
  return conf;
}

static inline void conf_load(furrow_learn_conf *conf, const char *path) {
  if (furrow_learn_conf_load(conf, path, &err) != FURROW_OK)
    fail_msg("%s: %s at byte %llu", path, err.message, (unsigned long long)err.offset);
}

/* examples/conf/NAME.json */
static inline const char *conf_sample(char path[TEST_PATH], const char *name) {
  char inside[256];
  snprintf(inside, sizeof inside, "examples/conf/%s.json", name);
  return test_source_path(path, inside);
}

/* To be freed. */
static inline char *conf_describe(const furrow_learn_conf *conf, furrow_describe_format kind) {
  char *text = NULL;
  size_t size = 0;
  if (furrow_learn_conf_describe(conf, kind, 0, &text, &size, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(strlen(text), size);
  return text;
}

static inline void conf_expect_misfit(const char *algorithm, const char *settings, const char *message) {
  furrow_learn_conf *conf = conf_builtin(algorithm, settings);
  assert_int_equal(furrow_learn_conf_check(conf, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, message);
  furrow_learn_conf_free(conf);
}

static inline fw_plan *conf_plan(const furrow_learn_conf *conf) {
  fw_plan *plan = NULL;
  if (fw_plan_of_conf(&plan, conf, &err) != FURROW_OK) fail_msg("%s", err.message);
  return plan;
}

#endif
