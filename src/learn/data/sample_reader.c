/* learn/data/sample_reader.c: rows for scoring, read as training reads them. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/data/samples.h"

struct furrow_sample_reader {
  fw_plan *plan;
  fw_samples *data;
  fw_sample_pass *pass;
  bool compared; /* the columns of the first rows */
};

/* Rows to be scored do not tell which index is the first: where none of them has feature 0, they look like data that
 * counts from 1. The model knows, or the URI. */
static furrow_status check_base(const furrow_sample_reader *samples, furrow_error *err) {
  if (fw_samples_index_base(samples->data) < 0 || fw_samples_uri_says_base(samples->data)) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "index-base=auto: rows that are scored do not tell which index is the first");
  fw_error_set_hint(err, "set the key `index-base` to that of the training data: 0 or 1");
  return FURROW_E_ARGUMENT;
}

furrow_status furrow_sample_reader_open(furrow_sample_reader **samples, const furrow_learn_conf *conf, const char *uri,
                                        const furrow_parser_params *params, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **samples, err);
  if (status != FURROW_OK) return status;
  furrow_sample_reader *made = memory;
  status = fw_plan_of_conf(&made->plan, conf, err);
  if (status == FURROW_OK) made->plan->data.label_optional = true;
  if (status == FURROW_OK)
    status = fw_samples_open(&made->data, uri, &made->plan->data, params, true, fw_comm_self(), err);
  if (status == FURROW_OK) status = check_base(made, err);
  if (status == FURROW_OK) status = fw_sample_pass_open(&made->pass, made->data, err);
  if (status == FURROW_OK)
    *samples = made;
  else
    furrow_sample_reader_close(made);
  return status;
}

static uint64_t end_of_features(const furrow_rowblock *block) {
  uint64_t end = 0;
  if (block->size == 0) return 0;
  for (uint64_t i = block->offset[0]; i < block->offset[block->size]; i++) {
    const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
    if (feature >= end) end = feature + 1;
  }
  return end;
}

furrow_status fw_sample_columns_check(const fw_data_conf *data, const char *format, const furrow_rowblock *block,
                                      bool first, furrow_error *err) {
  const bool table = strcmp(format, "csv") == 0 || strcmp(format, "dense") == 0;
  if (!table || data->columns || data->range <= 0) return FURROW_OK;
  const uint64_t end = end_of_features(block), wanted = (uint64_t)data->range;
  if (end <= wanted && (end == wanted || !first || block->size == 0)) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE, "the rows have %" PRIu64 " columns of features, but the model was trained on %" PRIu64,
          end, wanted);
  if (end + 1 == wanted && data->has_label)
    fw_error_set_hint(err, "set the key `has-label` to no if the rows have no label");
  return FURROW_E_RANGE;
}

furrow_status furrow_sample_reader_next(furrow_sample_reader *samples, const furrow_rowblock **block,
                                        furrow_error *err) {
  FW_TRY(fw_sample_pass_next(samples->pass, block, err));
  const furrow_status status =
      fw_sample_columns_check(&samples->plan->data, fw_samples_format(samples->data), *block, !samples->compared, err);
  samples->compared = true;
  if (status != FURROW_OK) fw_error_set_file(err, fw_samples_name(samples->data));
  return status;
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
