/* learn/net/lane.c: a batch on its way through the net. */
#include "learn/net/lane.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/plan_rules.h"

/* Rows of a task: enough for matrix products, few enough for all threads to get some of a batch. */
enum { TASK_ROWS = 32 };

furrow_status fw_lane_init(fw_lane *lane, fw_net *net, bool training, const fw_lane *beside, furrow_error *err) {
  const fw_plan *plan = fw_net_plan(net);
  fw_batch_rules rules = fw_plan_rules(plan);
  rules.graph = training ? &plan->graph : NULL;
  rules.beside = beside ? beside->batcher : NULL;
  rules.unlisted = fw_net_sums_by_row(net);
  *lane = (fw_lane){.net = net, .graph = &plan->graph};
  furrow_status status = fw_batcher_create(&lane->batcher, &rules, err);
  if (status == FURROW_OK) status = fw_pass_create(&lane->pass, net, err);
  return status;
}

void fw_lane_clear(fw_lane *lane) {
  fw_pass_free(lane->pass);
  fw_batcher_free(lane->batcher);
  fw_free(lane->number);
  fw_free(lane->out);
  fw_free(lane->loss);
  *lane = (fw_lane){0};
}

/* ---- Preparation ---------------------------------------------------------------------------------------- */

static furrow_status make_room(fw_lane *lane, size_t rows, furrow_error *err) {
  if (rows <= lane->row_room) return FURROW_OK;
  size_t outputs;
  if (!fw_size_mul(rows, lane->graph->outputs, &outputs)) return fw_fail_memory(err, SIZE_MAX);
  void *number = lane->number, *out = lane->out, *loss = lane->loss;
  furrow_status status = fw_realloc(&number, rows, sizeof *lane->number, err);
  lane->number = number;
  if (status == FURROW_OK) status = fw_realloc(&out, outputs, sizeof *lane->out, err);
  lane->out = out;
  if (status == FURROW_OK) status = fw_realloc(&loss, rows / TASK_ROWS + 1, sizeof *lane->loss, err);
  lane->loss = loss;
  if (status == FURROW_OK) lane->row_room = rows;
  return status;
}

furrow_status fw_lane_fill(fw_lane *lane, const fw_rows_from *from, furrow_error *err) {
  size_t count = 0;
  lane->batch = NULL;
  fw_batcher_start(lane->batcher);
  furrow_status status = make_room(lane, from->rows, err);
  if (status == FURROW_OK) status = from->fill(from->source, lane->batcher, from->rows, lane->number, &count, err);
  if (status == FURROW_OK && count > 0) status = fw_batcher_finish(lane->batcher, &lane->batch, err);
  if (status == FURROW_OK && count > 0) lane->batch->first_row = lane->number[0] - 1;
  return status;
}

furrow_status fw_lane_begin(fw_lane *lane, bool grow, furrow_error *err) {
  return lane->batch ? fw_net_begin(lane->net, lane->pass, lane->batch, grow, err) : FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

size_t fw_lane_tasks(const fw_lane *lane) {
  return (lane->batch->rows + TASK_ROWS - 1) / TASK_ROWS;
}

void fw_lane_rows(fw_lane *lane, const fw_step *step, size_t task) {
  const size_t begin = task * TASK_ROWS, left = lane->batch->rows - begin;
  const size_t end = left < TASK_ROWS ? begin + left : begin + TASK_ROWS;
  lane->loss[task] = 0;
  if (step) {
    fw_net_train(lane->net, lane->pass, step, begin, end, &lane->loss[task]);
  } else {
    fw_net_forward(lane->net, lane->pass, begin, end);
  }
  for (size_t i = begin; i < end; i++) fw_net_outputs(lane->net, lane->pass, i, lane->out + i * lane->graph->outputs);
}

static double weight_of(const fw_batch *batch, size_t row) {
  return batch->weight ? (double)batch->weight[row] : 1;
}

static bool is_sound(const fw_lane *lane, size_t row) {
  const size_t n = lane->graph->outputs;
  bool sound = isfinite(weight_of(lane->batch, row));
  for (size_t k = 0; k < n; k++) sound &= isfinite(lane->out[row * n + k]) != 0;
  return sound && isfinite(fw_loss_value(lane->graph, lane->out + row * n, lane->batch->label[row]));
}

/* Finds a row to blame; where there is none the sum itself is too large. */
static furrow_status fail_loss(const fw_lane *lane, furrow_error *err) {
  const size_t rows = lane->batch->rows;
  size_t bad = 0;
  while (bad < rows && is_sound(lane, bad)) bad++;
  if (bad < rows) {
    return fw_fail(err, FURROW_E_RANGE,
                   "the loss or score of row %" PRIu64 " is not a number, in the batch of rows %" PRIu64 " to %" PRIu64
                   "; nothing was updated: is the learning rate too high?",
                   lane->number[bad], lane->number[0], lane->number[rows - 1]);
  }
  return fw_fail(err, FURROW_E_RANGE, "the loss of the batch of rows %" PRIu64 " to %" PRIu64 " is not a number",
                 lane->number[0], lane->number[rows - 1]);
}

furrow_status fw_lane_loss(const fw_lane *lane, double *loss, furrow_error *err) {
  const fw_batch *batch = lane->batch;
  double sum = 0, weights = 0;
  bool sound = true;
  for (size_t i = 0; i < fw_lane_tasks(lane); i++) sum += lane->loss[i];
  for (size_t i = 0; i < batch->rows; i++) weights += weight_of(batch, i);
  for (size_t i = 0; i < batch->rows * lane->graph->outputs; i++) sound &= isfinite(lane->out[i]) != 0;
  if (!sound || !isfinite(sum)) return fail_loss(lane, err);
  *loss = weights > 0 ? sum / weights : 0;
  return FURROW_OK;
}

furrow_status fw_lane_check(const fw_lane *lane, furrow_error *err) {
  const size_t n = lane->graph->outputs;
  for (size_t i = 0; i < lane->batch->rows * n; i++)
    if (!isfinite(lane->out[i]))
      return fw_fail(err, FURROW_E_RANGE,
                     "the score of row %" PRIu64 " is not a number, of rows %" PRIu64 " to %" PRIu64,
                     lane->number[i / n], lane->number[0], lane->number[lane->batch->rows - 1]);
  return FURROW_OK;
}

void fw_lane_tally(const fw_lane *lane, fw_tally *tally) {
  enum { AHEAD = 8 };
  const fw_batch *batch = lane->batch;
  const size_t n = lane->graph->outputs;
  for (size_t i = 0; i < batch->rows; i++) {
    if (i + AHEAD < batch->rows) fw_tally_expect(tally, lane->out + (i + AHEAD) * n);
    fw_tally_add(tally, lane->out + i * n, batch->label[i], weight_of(batch, i));
  }
}

void fw_blame_row(furrow_error *err, uint64_t number) {
  if (!err) return;
  char message[sizeof err->message];
  snprintf(message, sizeof message, "%s", err->message);
  snprintf(err->message, sizeof err->message, "row %" PRIu64 ": %.200s", number, message);
}
