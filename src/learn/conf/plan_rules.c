/* learn/conf/plan_rules.c: what follows from a plan for the rows that its net takes. */
#include "learn/conf/plan_rules.h"

#include <string.h>

bool fw_format_has_fields(const char *format) {
  return strcmp(format, "libffm") == 0 || strcmp(format, "libfm") == 0;
}

furrow_status fw_plan_of_conf(fw_plan **plan, const furrow_learn_conf *conf, furrow_error *err) {
  fw_plan *made = NULL;
  furrow_status status = fw_plan_create(&made, conf, false, err);
  if (status != FURROW_OK || !fw_format_has_fields(made->data.format)) {
    if (status == FURROW_OK) *plan = made;
    return status;
  }
  fw_plan_free(made);
  return fw_plan_create(plan, conf, true, err);
}

fw_batcher_params fw_plan_rules(const fw_plan *plan) {
  fw_batcher_params rules = {.dense = strcmp(plan->data.format, "dense") == 0 && !plan->forest.used,
                             .range = plan->data.range > 0 ? (uint64_t)plan->data.range : 0,
                             .by_field = fw_format_has_fields(plan->data.format),
                             .data = &plan->data};
  for (size_t i = 0; i < plan->graph.count; i++)
    if (plan->graph.layers[i].type == FW_LAYER_EMBEDDING && plan->graph.layers[i].slots > rules.slots)
      rules.slots = plan->graph.layers[i].slots;
  return rules;
}
