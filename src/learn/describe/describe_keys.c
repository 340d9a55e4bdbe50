/* learn/describe/describe_keys.c: a configuration as a JSON file with keys: all that are needed to get it again. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/describe/describe.h"

/* What is trained, and where from and where to, is not how. */
static bool is_left_out(fw_key key) {
  return key == FW_KEY_ALGORITHM || key == FW_KEY_DEFAULTS || key == FW_KEY_DATA || key == FW_KEY_VALID ||
         key == FW_KEY_LOAD || key == FW_KEY_SAVE || key == FW_KEY_ACTION;
}

/* Whether a configuration has the same plan. */
static bool has_plan(const furrow_learn_conf *conf, const fw_plan *plan) {
  fw_plan *its = NULL;
  uint64_t a = 0, b = 1;
  const bool same = fw_plan_of_conf(&its, conf, NULL) == FURROW_OK && its->train.lbfgs == plan->train.lbfgs &&
                    (its->train.own_l2 == plan->train.own_l2 || !plan->train.lbfgs) &&
                    fw_plan_fingerprint(its, &a, NULL) == FURROW_OK &&
                    fw_plan_fingerprint(plan, &b, NULL) == FURROW_OK && a == b;
  fw_plan_free(its);
  return same;
}

/* Sets a key whose default counts, unless it would be refused, or change the plan, once it is set: the rate of steps
 * where the exact minimum is sought, a parameter of an optimizer that no layer has. The default of lr says nothing
 * where no optimizer has a rate. */
static furrow_status settle(furrow_learn_conf *conf, fw_key key, const fw_plan *plan, furrow_error *err) {
  const char *name = fw_key_facts(key)->name;
  const int64_t objective = fw_conf_value(conf, FW_KEY_OBJECTIVE).integer;
  const char *own = plan->train.recommended ? fw_recommended(plan->model.algorithm, objective, key) : NULL;
  if (key == FW_KEY_SEED) own = fw_conf_value(conf, key).text;
  if (key == FW_KEY_LR && !plan->forest.used && !fw_graph_has_rate(&plan->graph)) return FURROW_OK;
  if (fw_conf_is_set(conf, key) || is_left_out(key) || !own || strcmp(own, "auto") == 0) return FURROW_OK;
  FW_TRY(furrow_learn_conf_set(conf, name, own, err));
  if (has_plan(conf, plan)) return FURROW_OK;
  fw_free((void *)(uintptr_t)conf->keys[key].text);
  conf->keys[key] = (fw_value){0};
  return FURROW_OK;
}

static void put(fw_buffer *out, const furrow_learn_conf *conf, const fw_plan *plan) {
  fw_json_out json = {.out = out};
  fw_json_out_open(&json);
  fw_json_out_key(&json, "furrow");
  fw_json_out_open(&json);
  fw_json_out_member(&json, "algorithm", plan->model.algorithm);
  fw_json_out_member(&json, "defaults", plan->train.recommended ? "furrow" : "angel");
  for (unsigned key = 0; key < FW_KEYS; key++)
    if (!is_left_out((fw_key)key) && fw_conf_is_set(conf, (fw_key)key))
      fw_json_out_member(&json, fw_key_facts((fw_key)key)->name, fw_conf_value(conf, (fw_key)key).text);
  fw_json_out_close(&json);
  fw_json_out_close(&json);
  fw_buffer_text(out, "\n");
}

furrow_status fw_describe_keys(fw_buffer *out, const furrow_learn_conf *conf, const fw_plan *plan, furrow_error *err) {
  const fw_defaults_spec *spec = &conf->json.defaults;
  furrow_learn_conf *full = NULL;
  if (!plan->model.algorithm || conf->json.graph || spec->optimizer.spec || spec->activation.spec || spec->loss.spec)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "layers of a JSON file are more than keys can say");
  furrow_status status = fw_learn_conf_copy(&full, conf, err);
  for (unsigned key = 0; status == FURROW_OK && key < FW_KEYS; key++) status = settle(full, (fw_key)key, plan, err);
  if (status == FURROW_OK) put(out, full, plan);
  furrow_learn_conf_free(full);
  return status;
}
