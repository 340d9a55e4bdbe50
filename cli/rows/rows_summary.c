/* cli/rows/rows_summary.c: statistics from one pass over rows. */
#include "rows/rows_summary.h"

#include <math.h>
#include <stdlib.h>

#include "core/ranks.h"

static void range_init(range_summary *range) {
  *range = (range_summary){UINT64_MAX, 0};
}

static void numbers_init(number_summary *numbers) {
  *numbers = (number_summary){.min = INFINITY, .max = -INFINITY, .least = INT64_MAX, .most = INT64_MIN};
}

void summary_init(rows_summary *summary, furrow_value_type value_type) {
  *summary = (rows_summary){.value_type = value_type, .fewest_rows = UINT64_MAX, .fewest_features = UINT64_MAX};
  range_init(&summary->index);
  range_init(&summary->field);
  numbers_init(&summary->label);
  numbers_init(&summary->value);
  numbers_init(&summary->weight);
}

/* ---- Ranges of integers --------------------------------------------------------------------------------- */

static void range_widen(range_summary *range, uint64_t min, uint64_t max) {
  if (min < range->min) range->min = min;
  if (max > range->max) range->max = max;
}

static void range_add(range_summary *range, furrow_keys indices, furrow_key_type type, size_t begin, size_t end) {
  if (!indices.any || begin == end) return;
  if (type == FURROW_KEY_U32) {
    uint32_t min = UINT32_MAX, max = 0;
    for (size_t i = begin; i < end; i++) {
      min = indices.u32[i] < min ? indices.u32[i] : min;
      max = indices.u32[i] > max ? indices.u32[i] : max;
    }
    range_widen(range, min, max);
  } else {
    for (size_t i = begin; i < end; i++) range_widen(range, indices.u64[i], indices.u64[i]);
  }
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

/* Adds a number to a sum, and what the sum lost by rounding to `rest` (Knuth's TwoSum). */
static inline void add_exactly(double *sum, double *rest, double number) {
  const double total = *sum + number, added = total - *sum;
  *rest += (*sum - (total - added)) + (number - added);
  *sum = total;
}

static void add_floats(number_summary *numbers, const float *values, size_t count) {
  float min = INFINITY, max = -INFINITY;
  double sum = 0, rest = 0;
  uint64_t nans = 0, infinities = 0, zeros = 0;
  for (size_t i = 0; i < count; i++) {
    float value = values[i];
    bool finite = fabsf(value) <= 3.402823466e38F; /* false for a NaN */
    add_exactly(&sum, &rest, finite ? value : 0);
    min = finite && value < min ? value : min;
    max = finite && value > max ? value : max;
    zeros += value == 0;
    nans += value != value;
    infinities += !finite;
  }
  numbers->count += count;
  numbers->zeros += zeros;
  numbers->nans += nans;
  numbers->infinities += infinities - nans;
  add_exactly(&numbers->sum, &numbers->rest, sum);
  numbers->rest += rest;
  if (min < numbers->min) numbers->min = min;
  if (max > numbers->max) numbers->max = max;
}

static void add_integer(number_summary *numbers, int64_t value) {
  numbers->count++;
  numbers->zeros += value == 0;
  add_exactly(&numbers->sum, &numbers->rest, (double)value);
  if (value < numbers->least) numbers->least = value;
  if (value > numbers->most) numbers->most = value;
}

static void add_values(number_summary *numbers, furrow_values values, furrow_value_type type, size_t begin,
                       size_t end) {
  if (!values.any) return;
  if (type == FURROW_VALUE_F32) add_floats(numbers, values.f32 + begin, end - begin);
  if (type == FURROW_VALUE_I32)
    for (size_t i = begin; i < end; i++) add_integer(numbers, values.i32[i]);
  if (type == FURROW_VALUE_I64)
    for (size_t i = begin; i < end; i++) add_integer(numbers, values.i64[i]);
}

double number_mean(const number_summary *numbers) {
  uint64_t finite = numbers->count - numbers->nans - numbers->infinities;
  return finite ? (numbers->sum + numbers->rest) / (double)finite : NAN;
}

/* ---- Labels and queries --------------------------------------------------------------------------------- */

static label_count label_at(furrow_values labels, furrow_value_type type, size_t i) {
  label_count label = {.type = type, .rows = 1};
  if (type == FURROW_VALUE_F32)
    label.real = labels.f32[i];
  else
    label.integer = type == FURROW_VALUE_I32 ? labels.i32[i] : labels.i64[i];
  return label;
}

static bool same_label(const label_count *a, const label_count *b) {
  if (a->type != FURROW_VALUE_F32) return a->integer == b->integer;
  return a->real == b->real || (isnan(a->real) && isnan(b->real));
}

static void count_label(rows_summary *summary, label_count label) {
  size_t i = 0;
  while (i < summary->distinct_labels && !same_label(&summary->labels[i], &label)) i++;
  if (i < summary->distinct_labels)
    summary->labels[i].rows += label.rows;
  else if (i < SUMMARY_DISTINCT)
    summary->labels[summary->distinct_labels++] = label;
  else
    summary->distinct_labels = SUMMARY_DISTINCT + 1;
}

static void add_labels(rows_summary *summary, const furrow_rowblock *block) {
  if (!block->label.any) return;
  add_values(&summary->label, block->label, block->value_type, 0, block->size);
  for (size_t i = 0; i < block->size && summary->distinct_labels <= SUMMARY_DISTINCT; i++)
    count_label(summary, label_at(block->label, block->value_type, i));
}

static void add_queries(rows_summary *summary, const furrow_rowblock *block) {
  if (!block->qid) return;
  for (size_t i = 0; i < block->size; i++) {
    uint64_t qid = block->qid[i];
    if (summary->qid_rows == 0) summary->first_qid = qid;
    if (summary->qid_rows++ > 0 && qid == summary->last_qid) continue;
    if (summary->qid_runs++ > 0 && qid < summary->last_qid) summary->qid_unsorted = true;
    summary->last_qid = qid;
  }
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

static void add_shape(rows_summary *summary, const furrow_rowblock *block) {
  summary->blocks++;
  summary->block_bytes += furrow_rowblock_memory_cost(block);
  summary->rows += block->size;
  summary->features += block->offset[block->size] - block->offset[0];
  if (block->size < summary->fewest_rows) summary->fewest_rows = block->size;
  if (block->size > summary->most_rows) summary->most_rows = block->size;
  for (size_t i = 0; i < block->size; i++) {
    uint64_t length = block->offset[i + 1] - block->offset[i];
    if (length < summary->fewest_features) summary->fewest_features = length;
    if (length > summary->most_features) summary->most_features = length;
    summary->empty_rows += length == 0;
  }
}

void summary_add(rows_summary *summary, const furrow_rowblock *block) {
  size_t begin = (size_t)block->offset[0], end = (size_t)block->offset[block->size];
  add_shape(summary, block);
  range_add(&summary->index, block->index, block->key_type, begin, end);
  range_add(&summary->field, block->field, block->key_type, begin, end);
  add_values(&summary->value, block->value, block->value_type, begin, end);
  if (block->weight) add_floats(&summary->weight, block->weight, block->size);
  add_labels(summary, block);
  add_queries(summary, block);
}

/* ---- Summaries of parts --------------------------------------------------------------------------------- */

static void merge_numbers(number_summary *into, const number_summary *next) {
  into->count += next->count;
  into->nans += next->nans;
  into->infinities += next->infinities;
  into->zeros += next->zeros;
  add_exactly(&into->sum, &into->rest, next->sum);
  into->rest += next->rest;
  if (next->min < into->min) into->min = next->min;
  if (next->max > into->max) into->max = next->max;
  if (next->least < into->least) into->least = next->least;
  if (next->most > into->most) into->most = next->most;
}

static void merge_labels(rows_summary *into, const rows_summary *next) {
  merge_numbers(&into->label, &next->label);
  if (next->distinct_labels > SUMMARY_DISTINCT) into->distinct_labels = SUMMARY_DISTINCT + 1;
  for (size_t i = 0; i < next->distinct_labels && into->distinct_labels <= SUMMARY_DISTINCT; i++)
    count_label(into, next->labels[i]);
}

/* A query that continues in the next part counts once. */
static void merge_queries(rows_summary *into, const rows_summary *next) {
  if (next->qid_rows == 0) return;
  const bool goes_on = into->qid_rows > 0 && next->first_qid == into->last_qid;
  into->qid_unsorted |= next->qid_unsorted || (into->qid_rows > 0 && next->first_qid < into->last_qid);
  if (into->qid_rows == 0) into->first_qid = next->first_qid;
  into->qid_rows += next->qid_rows;
  into->qid_runs += next->qid_runs - goes_on;
  into->last_qid = next->last_qid;
}

void summary_merge(rows_summary *into, const rows_summary *next) {
  into->rows += next->rows;
  into->features += next->features;
  into->blocks += next->blocks;
  into->block_bytes += next->block_bytes;
  into->empty_rows += next->empty_rows;
  if (next->fewest_rows < into->fewest_rows) into->fewest_rows = next->fewest_rows;
  if (next->most_rows > into->most_rows) into->most_rows = next->most_rows;
  if (next->fewest_features < into->fewest_features) into->fewest_features = next->fewest_features;
  if (next->most_features > into->most_features) into->most_features = next->most_features;
  range_widen(&into->index, next->index.min, next->index.max);
  range_widen(&into->field, next->field.min, next->field.max);
  merge_numbers(&into->value, &next->value);
  merge_numbers(&into->weight, &next->weight);
  merge_labels(into, next);
  merge_queries(into, next);
}

furrow_status summary_join(rows_summary *summary, furrow_error *err) {
  void *memory = NULL;
  const furrow_status status = ranks_gather(summary, sizeof *summary, &memory, err);
  if (status != FURROW_OK) return status;
  const rows_summary *all = memory;
  *summary = all[0];
  for (unsigned r = 1; r < ranks_count(); r++) summary_merge(summary, &all[r]);
  free(memory);
  return FURROW_OK;
}

uint64_t summary_columns(const rows_summary *summary) {
  return summary->index.min > summary->index.max ? 0 : summary->index.max + 1;
}
