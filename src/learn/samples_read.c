/* learn/samples_read.c: rows for whoever scores them, read as training reads them. */
#include "base/mem.h"
#include "learn/plan_rules.h"
#include "learn/samples.h"

struct furrow_samples {
  fw_plan *plan;
  fw_samples *data;
  fw_pass_over *pass;
};

furrow_status furrow_samples_open(furrow_samples **samples, const furrow_learn_conf *conf, const char *uri,
                                  const furrow_parser_params *params, furrow_error *err) {
  furrow_parser_params defaults;
  furrow_parser_params_init(&defaults);
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **samples, err);
  if (status != FURROW_OK) return status;
  furrow_samples *made = memory;
  status = fw_plan_of_conf(&made->plan, conf, err);
  if (status == FURROW_OK)
    status =
        fw_samples_open(&made->data, uri, &made->plan->data, params ? params : &defaults, true, fw_comm_self(), err);
  if (status == FURROW_OK) status = fw_pass_over_open(&made->pass, made->data, err);
  if (status == FURROW_OK)
    *samples = made;
  else
    furrow_samples_close(made);
  return status;
}

furrow_status furrow_samples_next(furrow_samples *samples, const furrow_rowblock **block, furrow_error *err) {
  return fw_pass_over_next(samples->pass, block, err);
}

void furrow_samples_close(furrow_samples *samples) {
  if (!samples) return;
  fw_pass_over_close(samples->pass);
  fw_samples_close(samples->data);
  fw_plan_free(samples->plan);
  fw_free(samples);
}
