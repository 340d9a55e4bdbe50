/* learn/data/minibatch.c: rows into mini-batches.
 *
 * Features are numbered while rows are added (local_ids.c). Uses by feature are made at the end by a counting sort. */
#include "learn/data/minibatch.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf.h"
#include "learn/data/data_facts.h"
#include "learn/metrics/metrics.h"

struct fw_batcher {
  fw_batcher_params rules;
  fw_minibatch batch; /* the result of fw_batcher_finish; points into the arrays below */
  size_t rows, row_capacity;
  float *label, *weight, *x;
  uint64_t *qid; /* NULL: rows need not have one */
  uint32_t *offset;
  bool has_weight, has_position;
  size_t uses, use_capacity;
  uint32_t *feature, *place, *use, *use_row, *use_place;
  float *value;
  bool has_value, has_place; /* some value is not 1; some row does not have its features in the order of the slots */
  fw_local_ids local_ids;    /* numbers of features */
  size_t offset_capacity;
  uint32_t *use_offset;
  uint32_t *position; /* NULL: rows have none */
  size_t position_capacity;
  uint32_t *joined; /* scratch of fw_batcher_join: numbers for its parts, and the part of each row */
  size_t joined_capacity;
};

/* ---- Memory --------------------------------------------------------------------------------------------- */

static bool takes_groups(const fw_batcher *b) {
  return b->rules.graph && b->rules.graph->loss == FW_LOSS_LAMBDA;
}

/* Grows by half, to `count` at least. */
static size_t grown_capacity(size_t capacity, size_t count) {
  const size_t larger = capacity + capacity / 2;
  return larger < count ? count : larger;
}

static furrow_status grow_rows(fw_batcher *b, size_t rows, furrow_error *err) {
  if (rows < b->row_capacity) return FURROW_OK; /* <, not <=: there is one more offset than rows */
  size_t capacity = grown_capacity(b->row_capacity, rows + 64), dense = 0;
  if (b->rules.dense && !fw_size_mul(capacity, b->rules.range, &dense)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_REALLOC(&b->label, capacity, err));
  FW_TRY(FW_REALLOC(&b->weight, capacity, err));
  FW_TRY(FW_REALLOC(&b->offset, capacity, err));
  if (takes_groups(b)) FW_TRY(FW_REALLOC(&b->qid, capacity, err));
  if (dense) FW_TRY(FW_REALLOC(&b->x, dense, err));
  b->row_capacity = capacity;
  return FURROW_OK;
}

static furrow_status grow_uses(fw_batcher *b, size_t uses, furrow_error *err) {
  if (uses <= b->use_capacity) return FURROW_OK;
  if (uses >= UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "a batch has more than %u features", UINT32_MAX - 1);
  const size_t capacity = grown_capacity(b->use_capacity, uses);
  uint32_t **const numbers[] = {&b->feature, &b->place, &b->use_row, &b->use_place, &b->use};
  FW_TRY(FW_REALLOC(&b->value, capacity, err));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) FW_TRY(FW_REALLOC(numbers[i], capacity, err));
  b->use_capacity = capacity;
  return FURROW_OK;
}

/* Reserves memory for n more features. */
static furrow_status reserve_uses(fw_batcher *b, size_t n, furrow_error *err) {
  FW_TRY(grow_uses(b, b->uses + n, err));
  return fw_local_ids_reserve(&b->local_ids, n, err);
}

/* ---- Sparse rows ---------------------------------------------------------------------------------------- */

/* For scoring: every use counts as a separate feature. */
static void list_features(fw_batcher *b, const furrow_row *row) {
  for (size_t i = 0; i < row->length; i++) {
    b->local_ids.key[b->uses + i] = furrow_row_get_index(row, i);
    b->feature[b->uses + i] = (uint32_t)(b->uses + i);
  }
  b->local_ids.count += row->length;
}

static bool is_all_ones(const furrow_row *row) {
  const bool floats = row->value_type == FURROW_VALUE_F32;
  bool ones = true;
  if (!row->value.any) return true;
  for (size_t i = 0; floats && i < row->length; i++) ones &= row->value.f32[i] == 1;
  for (size_t i = 0; !floats && i < row->length; i++) ones &= (float)furrow_row_get_value(row, i) == 1;
  return ones;
}

/* Values are stored from the first value on that is not 1. */
static void copy_values(fw_batcher *b, const furrow_row *row) {
  if (!b->has_value && is_all_ones(row)) return;
  for (size_t i = 0; !b->has_value && i < b->uses; i++) b->value[i] = 1;
  float *value = b->value + b->uses;
  if (row->value.any && row->value_type == FURROW_VALUE_F32)
    memcpy(value, row->value.f32, row->length * sizeof *value);
  else
    for (size_t i = 0; i < row->length; i++) value[i] = (float)furrow_row_get_value(row, i);
  b->has_value = true;
}

/* From now on positions are stored; so far, use i was at position i. */
static void keep_positions(fw_batcher *b) {
  if (b->has_place) return;
  for (size_t i = 0; i < b->uses; i++) b->place[i] = (uint32_t)i;
  b->has_place = true;
}

static furrow_status place_by_field(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  const uint64_t slots = b->rules.slots;
  if (row->length && !row->field.any)
    return fw_fail(err, FURROW_E_RANGE, "the row has no fields, but the embedding has a slot for each field");
  keep_positions(b);
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t field = furrow_row_get_field(row, i);
    if (field >= slots) {
      return fw_fail(err, FURROW_E_RANGE, "field %" PRIu64 " is beyond the model's %" PRIu64 " fields", field, slots);
    }
    b->place[b->uses + i] = (uint32_t)(b->rows * slots + field);
  }
  return FURROW_OK;
}

static bool is_ascending(const furrow_row *row) {
  bool ascending = true;
  for (size_t i = 1; i < row->length; i++)
    ascending &= furrow_row_get_index(row, i - 1) <= furrow_row_get_index(row, i);
  return ascending;
}

static furrow_status check_length(const fw_batcher *b, size_t length, furrow_error *err) {
  const size_t slots = b->rules.slots;
  if (length == slots || b->rules.data->short_rows) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE, "the row has %zu features where the model takes %zu", length, slots);
  fw_error_set_hint(err, "the key `short-rows` allows rows of any length");
  return FURROW_E_RANGE;
}

/* Slots are filled by ascending id, equal ids in their order. Slots after the last feature stay empty, and features
 * that have no slot of their own share the last one. Insertion sort: rows are short where every feature has a slot. */
static furrow_status place_by_order(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  FW_TRY(check_length(b, row->length, err));
  if (!b->has_place && row->length == b->rules.slots && is_ascending(row)) return FURROW_OK;
  keep_positions(b);
  uint32_t *order = b->use + b->uses; /* scratch until fw_batcher_finish: the features in the order of their slots */
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t key = furrow_row_get_index(row, i);
    size_t at = i;
    for (; at > 0 && furrow_row_get_index(row, order[at - 1]) > key; at--) order[at] = order[at - 1];
    order[at] = (uint32_t)i;
  }
  const size_t last = b->rules.slots - 1, first = b->rows * b->rules.slots;
  for (size_t i = 0; i < row->length; i++) b->place[b->uses + order[i]] = (uint32_t)(first + (i < last ? i : last));
  return FURROW_OK;
}

static furrow_status place_features(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  if (b->rules.slots == 0) return FURROW_OK;
  if ((b->rows + 1) > UINT32_MAX / b->rules.slots) {
    return fw_fail(err, FURROW_E_RANGE, "a batch has more than %u slots", UINT32_MAX);
  }
  return b->rules.by_field ? place_by_field(b, row, err) : place_by_order(b, row, err);
}

static furrow_status add_sparse(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  FW_TRY(reserve_uses(b, row->length, err));
  FW_TRY(place_features(b, row, err));
  if (b->rules.plain)
    list_features(b, row); /* features beyond the range count as 0 */
  else
    FW_TRY(fw_local_ids_add(&b->local_ids, row, b->feature + b->uses, err));
  copy_values(b, row);
  b->uses += row->length;
  b->offset[b->rows + 1] = (uint32_t)b->uses;
  return FURROW_OK;
}

/* ---- Dense rows, labels --------------------------------------------------------------------------------- */

/* A feature that occurs twice counts twice, as it does in sparse rows. */
static furrow_status add_dense(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  float *x = b->x + b->rows * b->rules.range;
  uint64_t largest = 0;
  memset(x, 0, b->rules.range * sizeof *x);
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t index = furrow_row_get_index(row, i);
    largest = index > largest ? index : largest;
    if (index < b->rules.range) x[index] += (float)furrow_row_get_value(row, i);
  }
  return b->rules.plain ? FURROW_OK : fw_local_ids_check(b->rules.range, largest, err);
}

double fw_transform_label(const fw_data_conf *data, double label) {
  if (data->label_count > 0) return fw_label_class(data, label);
  switch (data->label) {
  case FW_LABEL_POS_NEG: return label > data->threshold ? 1 : -1;
  case FW_LABEL_ZERO_ONE: return label > data->threshold ? 1 : 0;
  case FW_LABEL_ADD_ONE: return label + 1;
  case FW_LABEL_SUB_ONE: return label - 1;
  case FW_LABEL_NONE: break;
  }
  return label;
}

double fw_label_of(const fw_data_conf *data, const furrow_row *row) {
  if (!data->has_label || !row->label.any) return NAN;
  const double label = furrow_row_get_label(row);
  return isnan(label) ? label : fw_transform_label(data, label);
}

/* Labels of data that was not examined are accepted only if their meaning is clear. */
static bool is_doubtful(const fw_data_conf *data, double label) {
  return data->finds_labels && data->signed_classes && label != 0 && fabs(label) != 1;
}

static furrow_status check_label(const fw_data_conf *data, const fw_graph *graph, const furrow_row *row, double label,
                                 furrow_error *err) {
  const double given = row->label.any ? furrow_row_get_label(row) : 0;
  if (isinf(label) && data->label_count > 0) return fw_label_refuse(data, given, err);
  if (!fw_loss_takes(graph, label)) return fw_loss_refuse(graph, label, err);
  if (data->label_count > 0 || !is_doubtful(data, given)) return FURROW_OK;
  fw_fail(err, FURROW_E_RANGE, "the label %.9g is not 0, 1 or -1, and is not the label of a class", given);
  fw_error_set_hint(err, "name the labels of both classes with the key `labels`");
  return FURROW_E_RANGE;
}

furrow_status fw_row_label(const fw_data_conf *data, const fw_graph *graph, const furrow_row *row, double *label,
                           double *weight, furrow_error *err) {
  *label = fw_label_of(data, row);
  if (graph) FW_TRY(check_label(data, graph, row, *label, err));
  *weight = (double)furrow_row_get_weight(row);
  if (!(*weight >= 0) || isinf(*weight)) return fw_fail(err, FURROW_E_RANGE, "the row's weight is %g", *weight);
  if (graph && data->class_factors)
    *weight *= data->class_factors[graph->loss == FW_LOSS_SOFTMAX ? (size_t)*label : *label > 0];
  return FURROW_OK;
}

void fw_error_prefix_row(furrow_error *err, uint64_t number) {
  if (!err) return;
  char message[sizeof err->message];
  snprintf(message, sizeof message, "%s", err->message);
  snprintf(err->message, sizeof err->message, "row %" PRIu64 ": %.200s", number, message);
}

static furrow_status add_group(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  if (!row->qid) return fw_fail_group(err);
  b->qid[b->rows] = *row->qid;
  return FURROW_OK;
}

static furrow_status add_label(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  double label, weight;
  if (takes_groups(b)) FW_TRY(add_group(b, row, err));
  FW_TRY(fw_row_label(b->rules.data, b->rules.graph, row, &label, &weight, err));
  b->label[b->rows] = (float)label;
  b->weight[b->rows] = (float)weight;
  b->has_weight |= row->weight != NULL || weight != 1;
  return FURROW_OK;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

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

furrow_status fw_batcher_create(fw_batcher **batcher, const fw_batcher_params *rules, furrow_error *err) {
  if (rules->dense && rules->range == 0) {
    return fw_fail(err, FURROW_E_ARGUMENT, "dense data needs the number of features: the key `range`");
  }
  fw_batcher *b = NULL;
  furrow_status status = FURROW_OK;
  FW_TRY(FW_ALLOC_ZERO(&b, 1, err));
  b->rules = *rules;
  if (!rules->dense && !rules->plain)
    status = fw_local_ids_init(&b->local_ids, rules->range, rules->beside ? &rules->beside->local_ids : NULL, err);
  return FW_HAND_OVER(status, batcher, b, fw_batcher_free);
}

void fw_batcher_free(fw_batcher *b) {
  if (!b) return;
  void *const arrays[] = {b->qid, b->label,   b->weight, b->x,          b->offset,   b->feature, b->place,
                          b->use, b->use_row, b->value,  b->use_offset, b->position, b->joined,  b->use_place};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_local_ids_clear(&b->local_ids);
  fw_free(b);
}

void fw_batcher_start(fw_batcher *b) {
  b->rows = b->uses = 0;
  b->has_weight = b->has_position = b->has_value = b->has_place = false;
  fw_local_ids_start(&b->local_ids);
}

furrow_status fw_batcher_add_at(fw_batcher *b, const furrow_row *row, uint32_t position, furrow_error *err) {
  FW_TRY(FW_GROW(&b->position, &b->position_capacity, b->rows + 1, err));
  b->position[b->rows] = position;
  b->has_position = true;
  return fw_batcher_add(b, row, err);
}

furrow_status fw_batcher_add(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  FW_TRY(grow_rows(b, b->rows + 1, err));
  FW_TRY(add_label(b, row, err));
  FW_TRY(b->rules.dense ? add_dense(b, row, err) : add_sparse(b, row, err));
  b->rows++;
  return FURROW_OK;
}

/* Without values and slots only the row of a use is needed. */
static bool needs_uses(const fw_batcher *b) {
  return b->has_value || b->rules.slots > 0;
}

/* Sorts uses by feature: at[f] is where the next use of feature f goes. */
static inline void sort_uses(const fw_batcher *b, uint32_t *at, uint32_t *use) {
  for (uint32_t row = 0; row < b->rows; row++)
    for (uint32_t i = b->offset[row]; i < b->offset[row + 1]; i++) {
      const uint32_t to = at[b->feature[i]]++;
      b->use_row[to] = row;
      if (use) use[to] = i;
    }
}

/* Counting sort: use_offset[f + 2] first counts the uses of feature f. After the prefix sum, use_offset[f + 1] is their
 * begin, and after all uses were placed their end. */
static furrow_status list_uses_by_feature(fw_batcher *b, furrow_error *err) {
  const size_t features = b->local_ids.count;
  FW_TRY(FW_GROW(&b->use_offset, &b->offset_capacity, features + 2, err));
  uint32_t *const at = b->use_offset;
  memset(at, 0, (features + 2) * sizeof *at);
  for (size_t i = 0; i < b->uses; i++) at[b->feature[i] + 2]++;
  for (size_t f = 2; f < features + 2; f++) at[f] += at[f - 1];
  if (needs_uses(b))
    sort_uses(b, at + 1, b->use);
  else
    sort_uses(b, at + 1, NULL);
  for (size_t i = 0; b->has_place && i < b->uses; i++) b->use_place[i] = b->place[b->use[i]];
  return FURROW_OK;
}

/* Fills in the batch from the arrays, once features are numbered. */
static furrow_status hand_out(fw_batcher *b, fw_minibatch **batch, furrow_error *err) {
  fw_minibatch *out = &b->batch;
  *out = (fw_minibatch){.rows = b->rows,
                        .label = b->label,
                        .weight = b->has_weight ? b->weight : NULL,
                        .qid = b->qid,
                        .position = b->has_position ? b->position : NULL};
  if (b->rules.dense) {
    out->x = b->x;
    out->columns = b->rules.range;
  } else {
    b->offset[0] = 0;
    out->offset = b->offset;
    out->uses = b->uses;
    out->feature = b->feature;
    out->value = b->has_value ? b->value : NULL;
    out->place = b->has_place ? b->place : NULL;
    out->features = b->local_ids.count;
    out->key = b->local_ids.key;
  }
  if (!b->rules.dense && !b->rules.plain && !b->rules.unlisted) {
    FW_TRY(list_uses_by_feature(b, err));
    out->use_offset = b->use_offset;
    out->use = needs_uses(b) ? b->use : NULL;
    out->use_row = b->use_row;
    out->use_place = b->has_place ? b->use_place : out->use;
  }
  *batch = out;
  return FURROW_OK;
}

furrow_status fw_batcher_finish(fw_batcher *b, fw_minibatch **batch, furrow_error *err) {
  FW_TRY(grow_rows(b, 0, err));
  if (!b->rules.dense) FW_TRY(reserve_uses(b, 0, err));
  if (!b->rules.dense) FW_TRY(fw_local_ids_finish(&b->local_ids, b->feature, b->uses, err));
  return hand_out(b, batch, err);
}

/* ---- A batch of several ranks --------------------------------------------------------------------------- */

/* Reserves memory for all parts together, and gives each part its arrays. Returns the part of each row. */
static furrow_status start_join(fw_batcher *b, fw_batch_part *parts, size_t count, uint32_t **part_of,
                                furrow_error *err) {
  size_t rows = 0, uses = 0, keys = 0;
  for (size_t p = 0; p < count; p++) {
    rows += parts[p].rows;
    uses += parts[p].uses;
    keys += parts[p].keys;
  }
  fw_batcher_start(b);
  FW_TRY(FW_GROW(&b->joined, &b->joined_capacity, 2 * rows + uses + keys, err));
  FW_TRY(grow_rows(b, rows, err));
  if (!b->rules.dense) FW_TRY(reserve_uses(b, uses, err));
  uint32_t *at = b->joined;
  for (size_t p = 0; p < count; at += parts[p++].keys) parts[p].feature = at; /* one after the other: see number_keys */
  for (size_t p = 0; p < count; at += parts[p++].rows) parts[p].row = at;
  for (size_t p = 0; p < count; at += parts[p++].uses) parts[p].use = at;
  *part_of = at;
  b->rows = rows;
  return FURROW_OK;
}

static furrow_status number_keys(fw_batcher *b, const fw_batch_part *parts, size_t count, furrow_error *err) {
  size_t keys = 0;
  if (b->rules.dense) return FURROW_OK;
  for (size_t p = 0; p < count; p++) {
    furrow_row row = {.length = parts[p].keys, .key_type = parts[p].key_type};
    if (row.key_type == FURROW_KEY_U64)
      row.index.u64 = parts[p].key;
    else
      row.index.u32 = parts[p].key;
    keys += parts[p].keys;
    FW_TRY(fw_local_ids_reserve(&b->local_ids, row.length, err));
    FW_TRY(fw_local_ids_add(&b->local_ids, &row, parts[p].feature, err));
  }
  return fw_local_ids_finish(&b->local_ids, parts[0].feature, keys, err);
}

static void place_rows(fw_batch_part *parts, size_t count, uint32_t *part_of) {
  uint32_t next = 0;
  for (size_t p = 0; p < count; p++) {
    parts[p].next_row = parts[p].next_use = 0;
    for (size_t i = 0; i < parts[p].rows; i++) {
      const uint32_t row = parts[p].position ? parts[p].position[i] : next++;
      parts[p].row[i] = row;
      part_of[row] = (uint32_t)p;
    }
  }
}

static void join_row(fw_batcher *b, size_t row, fw_batch_part *part) {
  const size_t i = part->next_row++, count = part->row_uses ? part->row_uses[i] : 0;
  const size_t first = part->next_use, uses = b->uses;
  b->label[row] = part->label[i];
  b->weight[row] = part->weight ? part->weight[i] : 1;
  for (size_t k = 0; k < count; k++) {
    part->use[first + k] = (uint32_t)(uses + k);
    b->feature[uses + k] = part->feature[part->use_key[first + k]];
  }
  for (size_t k = 0; b->has_value && k < count; k++) b->value[uses + k] = part->value ? part->value[first + k] : 1;
  part->next_use += count;
  b->uses += count;
  b->offset[row + 1] = (uint32_t)b->uses;
}

furrow_status fw_batcher_join(fw_batcher *b, fw_batch_part *parts, size_t count, fw_minibatch **batch,
                              furrow_error *err) {
  uint32_t *part_of = NULL;
  FW_TRY(start_join(b, parts, count, &part_of, err));
  FW_TRY(number_keys(b, parts, count, err));
  for (size_t p = 0; p < count; p++) {
    b->has_weight |= parts[p].weight != NULL;
    b->has_value |= parts[p].value != NULL;
  }
  place_rows(parts, count, part_of);
  for (size_t row = 0; row < b->rows; row++) join_row(b, row, &parts[part_of[row]]);
  return hand_out(b, batch, err);
}
