/* learn/net/batch_slot.c: a batch on its way through the net. */
#include "learn/net/net_solver.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/metrics/metrics.h"

furrow_status fw_batch_slot_init(fw_batch_slot *slot, fw_net *net, const fw_batch_slot *beside, furrow_error *err) {
  const fw_plan *plan = net->parameters->plan;
  fw_batcher_params rules = fw_plan_rules(plan);
  rules.graph = &plan->graph;
  rules.beside = beside ? beside->batcher : NULL;
  rules.unlisted =
      net->ops->sums_by_row(net) || net->parameters->comm->ranks > 1; /* several ranks: the rank batch lists the uses */
  *slot = (fw_batch_slot){.net = net, .graph = &plan->graph, .task_rows = FW_TASK_ROWS};
  return fw_batcher_create(&slot->batcher, &rules, err);
}

furrow_status fw_batch_slot_init_pass(fw_batch_slot *slot, furrow_error *err) {
  FW_TRY(slot->net->ops->create_pass(&slot->own_pass, slot->net, err));
  slot->pass = slot->own_pass;
  return FURROW_OK;
}

void fw_batch_slot_clear(fw_batch_slot *slot) {
  fw_pass_free(slot->own_pass);
  fw_free(slot->unsummed);
  fw_batcher_free(slot->batcher);
  fw_free(slot->number);
  fw_free(slot->out);
  fw_free(slot->terms);
  fw_free(slot->loss);
  *slot = (fw_batch_slot){0};
}

/* ---- Preparation ---------------------------------------------------------------------------------------- */

furrow_status fw_batch_slot_reserve(fw_batch_slot *slot, size_t rows, furrow_error *err) {
  if (rows <= slot->row_capacity) return FURROW_OK;
  size_t outputs;
  if (!fw_size_mul(rows, slot->graph->outputs, &outputs)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_REALLOC(&slot->number, rows, err));
  FW_TRY(FW_REALLOC(&slot->out, outputs, err));
  FW_TRY(FW_REALLOC(&slot->terms, rows, err));
  FW_TRY(FW_REALLOC(&slot->loss, 2 * (rows / FW_TASK_ROWS_LEAST + 1), err));
  FW_TRY(FW_REALLOC(&slot->unsummed, rows / FW_SUM_ROWS + 1, err));
  slot->row_capacity = rows;
  return FURROW_OK;
}

furrow_status fw_batch_slot_read(fw_batch_slot *slot, const fw_row_source *from, size_t *count, furrow_error *err) {
  slot->batch = NULL;
  *count = 0;
  fw_batcher_start(slot->batcher);
  FW_TRY(fw_batch_slot_reserve(slot, from->rows, err));
  return from->fill(from->source, slot->batcher, from->rows, slot->number, count, err);
}

furrow_status fw_batch_slot_number(fw_batch_slot *slot, size_t count, furrow_error *err) {
  if (count == 0) return FURROW_OK;
  FW_TRY(fw_batcher_finish(slot->batcher, &slot->batch, err));
  slot->batch->first_row = slot->number[0] - 1;
  return FURROW_OK;
}

furrow_status fw_batch_slot_fill(fw_batch_slot *slot, const fw_row_source *from, furrow_error *err) {
  size_t count;
  FW_TRY(fw_batch_slot_read(slot, from, &count, err));
  return fw_batch_slot_number(slot, count, err);
}

furrow_status fw_batch_slot_fill_claimed(fw_batch_slot *slot, const fw_row_source *from, size_t first, size_t count,
                                         furrow_error *err) {
  slot->batch = NULL;
  fw_batcher_start(slot->batcher);
  FW_TRY(fw_batch_slot_reserve(slot, from->rows, err));
  FW_TRY(from->add(from->source, first, count, slot->batcher, slot->number, err));
  return fw_batch_slot_number(slot, count, err);
}

furrow_status fw_batch_slot_begin(fw_batch_slot *slot, bool grow, furrow_error *err) {
  return slot->batch ? slot->net->ops->begin(slot->net, slot->pass, slot->batch, grow, err) : FURROW_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

/* The number of tasks before the last ones are cut in two. */
static size_t whole_tasks(const fw_batch_slot *slot) {
  return (slot->batch->rows + slot->task_rows - 1) / slot->task_rows;
}

static size_t halved_tasks(const fw_batch_slot *slot) {
  const size_t tasks = whole_tasks(slot);
  return slot->halved < tasks ? slot->halved : tasks;
}

size_t fw_batch_slot_tasks(const fw_batch_slot *slot) {
  return whole_tasks(slot) + halved_tasks(slot);
}

/* The first row of a task; a task ends where the next one begins. */
static size_t begin_of(const fw_batch_slot *slot, size_t task) {
  const size_t whole = whole_tasks(slot) - halved_tasks(slot);
  const size_t cut = task > whole ? task - whole : 0, row = (task - cut) * slot->task_rows + cut * slot->task_rows / 2;
  return row < slot->batch->rows ? row : slot->batch->rows;
}

static size_t end_of(const fw_batch_slot *slot, size_t task) {
  return begin_of(slot, task + 1);
}

/* Tasks whose rows are summed together. */
static size_t tasks_of_part(const fw_batch_slot *slot) {
  return FW_SUM_ROWS / slot->task_rows;
}

/* loss: NULL, or for the sum of the rows' losses. */
static void pass_rows(fw_batch_slot *slot, const fw_step *step, size_t begin, size_t end, double *loss) {
  if (step)
    slot->net->ops->train(slot->net, slot->pass, step, begin, end, loss);
  else
    slot->net->ops->forward(slot->net, slot->pass, begin, end);
  for (size_t i = begin; i < end; i++)
    slot->net->ops->outputs(slot->net, slot->pass, i, slot->out + i * slot->graph->outputs);
}

void fw_batch_slot_rows(fw_batch_slot *slot, const fw_step *step, size_t task) {
  double loss = 0;
  pass_rows(slot, step, begin_of(slot, task), end_of(slot, task), &loss);
  slot->loss[task] = loss;
}

static double weight_of(const fw_minibatch *batch, size_t row) {
  return batch->weight ? (double)batch->weight[row] : 1;
}

void fw_batch_slot_start(fw_batch_slot *slot, bool terms) {
  const size_t tasks = fw_batch_slot_tasks(slot), parts = slot->net->ops->sum_tasks(slot->pass);
  atomic_store(&slot->unsound, false);
  slot->has_terms = terms;
  for (size_t i = 0; i < parts; i++) {
    const size_t left = tasks - i * tasks_of_part(slot);
    atomic_init(&slot->unsummed[i], (unsigned)(left < tasks_of_part(slot) ? left : tasks_of_part(slot)));
  }
}

static bool is_finite(const double *numbers, size_t count) {
  bool finite = true;
  for (size_t i = 0; i < count; i++) finite &= isfinite(numbers[i]) != 0;
  return finite;
}

/* Terms include the loss of a row, so it is not computed twice. */
void fw_batch_slot_run(fw_batch_slot *slot, const fw_step *step, size_t task) {
  const size_t begin = begin_of(slot, task), end = end_of(slot, task), part = task / tasks_of_part(slot);
  const size_t n = slot->graph->outputs;
  double loss = 0;
  pass_rows(slot, step, begin, end, slot->has_terms ? NULL : &loss);
  if (slot->has_terms) fw_batch_slot_find_terms(slot, task);
  for (size_t i = begin; slot->has_terms && i < end; i++) loss += weight_of(slot->batch, i) * slot->terms[i].loss;
  slot->loss[task] = loss;
  const bool sound = (isfinite(loss) || !step) && is_finite(slot->out + begin * n, (end - begin) * n);
  if (!sound) atomic_store(&slot->unsound, true);
  const bool summed = step && slot->net->ops->sum_tasks(slot->pass) > 0;
  if (summed && atomic_fetch_sub(&slot->unsummed[part], 1) == 1) slot->net->ops->sum(slot->net, slot->pass, part);
}

static bool is_sound(const fw_batch_slot *slot, size_t row) {
  const size_t n = slot->graph->outputs;
  bool sound = isfinite(weight_of(slot->batch, row));
  for (size_t k = 0; k < n; k++) sound &= isfinite(slot->out[row * n + k]) != 0;
  return sound && isfinite(fw_loss_value(slot->graph, slot->out + row * n, slot->batch->label[row]));
}

/* Finds a row whose loss or score is wrong; if there is none, the sum itself is too large. */
static furrow_status fail_loss(const fw_batch_slot *slot, furrow_error *err) {
  const size_t rows = slot->batch->rows;
  size_t bad = 0;
  while (bad < rows && is_sound(slot, bad)) bad++;
  if (bad < rows) {
    fw_fail(err, FURROW_E_RANGE,
            "the loss or score of row %" PRIu64 " is not a number, in the batch of rows %" PRIu64 " to %" PRIu64
            "; nothing was updated",
            slot->number[bad], slot->number[0], slot->number[rows - 1]);
  } else {
    fw_fail(err, FURROW_E_RANGE, "the loss of the batch of rows %" PRIu64 " to %" PRIu64 " is not a number",
            slot->number[0], slot->number[rows - 1]);
  }
  fw_error_set_hint(err, "the learning rate (key `lr`) may be too high");
  return FURROW_E_RANGE;
}

furrow_status fw_batch_slot_loss(const fw_batch_slot *slot, double *loss, furrow_error *err) {
  const fw_minibatch *batch = slot->batch;
  double sum = 0, weights = 0;
  bool sound = true;
  for (size_t i = 0; i < fw_batch_slot_tasks(slot); i++) sum += slot->loss[i];
  for (size_t i = 0; i < batch->rows; i++) weights += weight_of(batch, i);
  for (size_t i = 0; i < batch->rows * slot->graph->outputs; i++) sound &= isfinite(slot->out[i]) != 0;
  if (!sound || !isfinite(sum)) return fail_loss(slot, err);
  *loss = weights > 0 ? sum / weights : 0;
  return FURROW_OK;
}

furrow_status fw_batch_slot_check(const fw_batch_slot *slot, furrow_error *err) {
  const size_t n = slot->graph->outputs;
  for (size_t i = 0; i < slot->batch->rows * n; i++)
    if (!isfinite(slot->out[i]))
      return fw_fail(err, FURROW_E_RANGE,
                     "the score of row %" PRIu64 " is not a number, of rows %" PRIu64 " to %" PRIu64,
                     slot->number[i / n], slot->number[0], slot->number[slot->batch->rows - 1]);
  return FURROW_OK;
}

void fw_batch_slot_find_terms(fw_batch_slot *slot, size_t task) {
  for (size_t i = begin_of(slot, task); i < end_of(slot, task); i++)
    slot->terms[i] = fw_row_terms_of(slot->graph, slot->out + i * slot->graph->outputs, slot->batch->label[i]);
}

void fw_tally_batch(void *tally, const fw_batch_slot *slot) {
  enum { AHEAD = 8 };
  const fw_minibatch *batch = slot->batch;
  const size_t n = slot->graph->outputs;
  for (size_t i = 0; i < batch->rows; i++) {
    if (i + AHEAD < batch->rows) fw_tally_expect(tally, slot->out + (i + AHEAD) * n);
    if (slot->has_terms)
      fw_tally_add_terms(tally, slot->out + i * n, batch->label[i], weight_of(batch, i), slot->terms[i]);
    else
      fw_tally_add(tally, slot->out + i * n, batch->label[i], weight_of(batch, i));
  }
}
