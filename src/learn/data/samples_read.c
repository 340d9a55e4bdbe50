/* learn/data/samples_read.c: rows for whoever scores them, read as training reads them. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/plan_rules.h"
#include "learn/data/samples.h"
#include "rows/block_reader.h"

struct furrow_sample_reader {
  fw_plan *plan;
  fw_samples *data;
  fw_sample_pass *pass;
};

/* Only csv has rows without a label; the lines of the others begin with one, which is taken for the row's id. */
static furrow_status check_label(const furrow_sample_reader *samples, furrow_error *err) {
  const char *format = fw_samples_format(samples->data);
  if (samples->plan->data.has_label || strcmp(format, "csv") == 0 || strcmp(format, fw_format_memory.name) == 0)
    return FURROW_OK;
  return fw_fail(err, FURROW_E_UNSUPPORTED, "has-label=no: lines of %s data always begin with a label or an id",
                 format);
}

furrow_status furrow_sample_reader_open(furrow_sample_reader **samples, const furrow_learn_conf *conf, const char *uri,
                                        const furrow_parser_params *params, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **samples, err);
  if (status != FURROW_OK) return status;
  furrow_sample_reader *made = memory;
  status = fw_plan_of_conf(&made->plan, conf, err);
  if (status == FURROW_OK)
    status = fw_samples_open(&made->data, uri, &made->plan->data, params, true, fw_comm_self(), err);
  if (status == FURROW_OK) status = check_label(made, err);
  if (status == FURROW_OK) status = fw_sample_pass_open(&made->pass, made->data, err);
  if (status == FURROW_OK)
    *samples = made;
  else
    furrow_sample_reader_close(made);
  return status;
}

furrow_status furrow_sample_reader_next(furrow_sample_reader *samples, const furrow_rowblock **block,
                                        furrow_error *err) {
  return fw_sample_pass_next(samples->pass, block, err);
}

void furrow_sample_reader_get_stats(const furrow_sample_reader *samples, furrow_parser_stats *stats) {
  fw_sample_pass_get_stats(samples->pass, stats);
}

void furrow_sample_reader_close(furrow_sample_reader *samples) {
  if (!samples) return;
  fw_sample_pass_close(samples->pass);
  fw_samples_close(samples->data);
  fw_plan_free(samples->plan);
  fw_free(samples);
}
