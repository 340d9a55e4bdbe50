/* learn/conf/fingerprint.c: one number for all settings of a plan that the result of a training depends on. */
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/endian.h"
#include "learn/conf/conf.h"

static void add_whole(fw_buffer *text, uint64_t number) {
  unsigned char bytes[8];
  fw_put_le64(bytes, number);
  fw_buffer_append(text, bytes, sizeof bytes);
}

static void add_real(fw_buffer *text, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  add_whole(text, bits);
}

/* Length first, so that "ab", "c" and "a", "bc" differ. */
static void add_text(fw_buffer *text, const char *more) {
  add_whole(text, strlen(more));
  fw_buffer_text(text, more);
}

static void add_data(fw_buffer *text, const fw_data_conf *data) {
  add_text(text, data->format);
  add_whole(text, (uint64_t)data->index_base);
  add_whole(text, (uint64_t)data->range);
  add_whole(text, (uint64_t)data->fields);
  add_real(text, data->valid_ratio);
  add_real(text, data->sample_ratio);
  add_whole(text, data->shuffle);
  add_real(text, data->posneg_ratio);
  add_whole(text, data->label);
  add_real(text, data->threshold);
  if (data->short_rows) add_text(text, "short_rows");
  if (data->class_weights && strcmp(data->class_weights, "none") != 0) add_text(text, data->class_weights);
}

static void add_train(fw_buffer *text, const fw_train_conf *train) {
  const double reals[] = {train->lr,         train->decay_alpha,    train->decay_beta,
                          train->init_input, train->init_embedding, train->init_fc};
  const uint64_t wholes[] = {train->batch, train->updates,         train->seed,
                             train->decay, train->decay_intervals, train->decay_on_batch};
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) add_real(text, reals[i]);
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) add_whole(text, wholes[i]);
  /* only if they are set, so that checkpoints of earlier releases stay valid */
  if (train->bias_optimizer) add_text(text, "bias_optimizer");
  if (train->ftrl_keeps_first_weights) add_text(text, "ftrl_keeps_first_weights");
}

static void add_layer(fw_buffer *text, const fw_layer *layer) {
  const fw_optimizer *optimizer = &layer->optimizer;
  const uint64_t wholes[] = {layer->type, layer->width,      layer->in_width, layer->factors,    layer->slots,
                             layer->loss, layer->activation, optimizer->type, layer->input_count};
  const double reals[] = {layer->dropout, layer->delta, optimizer->lr, optimizer->l1,
                          optimizer->l2,  optimizer->a, optimizer->b};
  add_text(text, layer->name);
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) add_whole(text, wholes[i]);
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) add_real(text, reals[i]);
  for (size_t i = 0; i < layer->input_count; i++) add_whole(text, layer->inputs[i]);
}

static void add_forest(fw_buffer *text, const fw_plan *plan) {
  const fw_forest_conf *forest = &plan->forest;
  const double reals[] = {forest->row_ratio, forest->feature_ratio, forest->min_child_weight,
                          forest->min_gain,  forest->alpha,         forest->lambda};
  const uint64_t wholes[] = {plan->graph.loss, plan->graph.outputs, forest->levels, forest->splits};
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) add_real(text, reals[i]);
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) add_whole(text, wholes[i]);
  add_text(text, forest->category_text);
  if (plan->graph.loss == FW_LOSS_LAMBDA) add_whole(text, forest->truncation);
  if (forest->monotone) add_text(text, forest->monotone);
  if (plan->graph.loss == FW_LOSS_QUANTILE) add_real(text, plan->graph.quantile);
  if (forest->leaves == 0 && forest->min_rows == 1 && !forest->from_average)
    return; /* the fingerprint of releases without these settings */
  const uint64_t added[] = {forest->leaves, forest->min_rows, forest->from_average};
  for (size_t i = 0; i < sizeof added / sizeof *added; i++) add_whole(text, added[i]);
}

furrow_status fw_plan_fingerprint(const fw_plan *plan, uint64_t *fingerprint, furrow_error *err) {
  fw_buffer text = {0};
  add_data(&text, &plan->data);
  add_whole(&text, (uint64_t)plan->model.row_type);
  add_train(&text, &plan->train);
  if (plan->forest.used) add_forest(&text, plan);
  for (size_t i = 0; i < plan->graph.count; i++) add_layer(&text, &plan->graph.layers[i]);
  furrow_status status = fw_buffer_status(&text, err);
  if (status == FURROW_OK) *fingerprint = XXH3_64bits(text.bytes, text.size);
  fw_buffer_clear(&text);
  return status;
}
