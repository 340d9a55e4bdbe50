/* tests/support/learn_conf.h: configurations of training for tests. */
#ifndef LEARN_CONF_H
#define LEARN_CONF_H

#include <stdio.h>
#include <string.h>

#include "learn/conf.h"
#include "support/cmocka_all.h"

static furrow_error err;

static inline furrow_learn_conf *conf_new(void) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  return conf;
}

static inline void conf_set(furrow_learn_conf *conf, const char *key, const char *value) {
  if (furrow_learn_conf_set(conf, key, value, &err) != FURROW_OK) fail_msg("%s: %s", key, err.message);
}

/* "key=value key=value …" */
static inline void conf_set_all(furrow_learn_conf *conf, const char *settings) {
  char room[512];
  snprintf(room, sizeof room, "%s", settings);
  for (char *rest = room, *pair; (pair = strtok_r(rest, " ", &rest));) {
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

static inline fw_plan *conf_plan(const furrow_learn_conf *conf) {
  fw_plan *plan = NULL;
  if (fw_plan_create(&plan, conf, false, &err) != FURROW_OK) fail_msg("%s", err.message);
  return plan;
}

#endif
