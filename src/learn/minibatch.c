/* learn/minibatch.c: rows into mini-batches.
 *
 * Features are numbered while rows are added, by a table that holds the features of this batch alone and so stays in
 * the processor's second cache. Uses by feature are made at the end by a counting sort. */
#include "learn/minibatch.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf.h"
#include "learn/net.h"

/* A place of the table; it is free unless its stamp is that of the batch, so starting a batch clears nothing. */
typedef struct entry {
  uint64_t key;
  uint32_t number, stamp;
} entry;

struct fw_batcher {
  fw_batch_rules rules;
  fw_batch batch; /* what finish hands out: of the arrays below */
  size_t rows, row_room;
  float *label, *weight, *x;
  uint32_t *offset;
  bool has_weight;
  size_t uses, use_room;
  uint32_t *feature, *place, *row, *use;
  float *value;
  bool has_value, has_place; /* some value is not 1; some row does not have its features in the order of the slots */
  size_t features, feature_room;
  uint64_t *key;
  uint32_t *use_offset;
  entry *table;
  unsigned table_shift; /* 64 - log2(size of the table) */
  uint32_t stamp;
};

enum { FIRST_TABLE_BITS = 12 };

/* ---- Memory --------------------------------------------------------------------------------------------- */

static furrow_status resize_u32(uint32_t **array, size_t count, furrow_error *err) {
  void *memory = *array;
  furrow_status status = fw_realloc(&memory, count, sizeof **array, err);
  *array = memory;
  return status;
}

static furrow_status resize_f32(float **array, size_t count, furrow_error *err) {
  void *memory = *array;
  furrow_status status = fw_realloc(&memory, count, sizeof **array, err);
  *array = memory;
  return status;
}

/* Half as much room again, at least `count`. */
static size_t more_room(size_t room, size_t count) {
  const size_t larger = room + room / 2;
  return larger < count ? count : larger;
}

static furrow_status grow_rows(fw_batcher *b, size_t rows, furrow_error *err) {
  if (rows < b->row_room) return FURROW_OK; /* <: there is an offset more than there are rows */
  size_t room = more_room(b->row_room, rows + 64), dense = 0;
  if (b->rules.dense && !fw_size_mul(room, b->rules.range, &dense)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = resize_f32(&b->label, room, err);
  if (status == FURROW_OK) status = resize_f32(&b->weight, room, err);
  if (status == FURROW_OK) status = resize_u32(&b->offset, room, err);
  if (status == FURROW_OK && dense) status = resize_f32(&b->x, dense, err);
  if (status == FURROW_OK) b->row_room = room;
  return status;
}

static furrow_status grow_uses(fw_batcher *b, size_t uses, furrow_error *err) {
  if (uses <= b->use_room) return FURROW_OK;
  if (uses >= UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "a batch has more than %u features", UINT32_MAX - 1);
  size_t room = more_room(b->use_room, uses);
  furrow_status status = resize_f32(&b->value, room, err);
  if (status == FURROW_OK) status = resize_u32(&b->feature, room, err);
  if (status == FURROW_OK) status = resize_u32(&b->place, room, err);
  if (status == FURROW_OK) status = resize_u32(&b->row, room, err);
  if (status == FURROW_OK) status = resize_u32(&b->use, room, err);
  if (status == FURROW_OK) b->use_room = room;
  return status;
}

/* use_offset has two places more than there are features: number_uses_by_feature counts in them. */
static furrow_status grow_features(fw_batcher *b, size_t features, furrow_error *err) {
  if (features + 2 <= b->feature_room) return FURROW_OK;
  size_t room = more_room(b->feature_room, features + 2);
  furrow_status status = resize_u32(&b->use_offset, room, err);
  void *memory = b->key;
  if (status == FURROW_OK) status = fw_realloc(&memory, room, sizeof *b->key, err);
  b->key = memory;
  if (status == FURROW_OK) b->feature_room = room;
  return status;
}

/* ---- The table ------------------------------------------------------------------------------------------ */

static size_t table_size(const fw_batcher *b) {
  return (size_t)1 << (64 - b->table_shift);
}

/* Multiplication spreads the low bits of the key over the high bits of the product (Knuth, TAOCP 3, 6.4). */
static inline size_t first_place(uint64_t key, unsigned shift) {
  return key * UINT64_C(0x9e3779b97f4a7c15) >> shift;
}

/* The place of a key: where it is, or the free one where it belongs. */
static inline entry *find_place(entry *table, unsigned shift, uint32_t stamp, uint64_t key) {
  const size_t mask = ((size_t)1 << (64 - shift)) - 1;
  size_t at = first_place(key, shift);
  while (table[at].stamp == stamp && table[at].key != key) at = (at + 1) & mask;
  return &table[at];
}

/* A larger table with the same numbers. */
static furrow_status make_table(fw_batcher *b, unsigned shift, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, (size_t)1 << (64 - shift), sizeof(entry), err);
  if (status != FURROW_OK) return status;
  fw_free(b->table);
  b->table = memory;
  b->table_shift = shift;
  b->stamp = 1;
  for (size_t i = 0; i < b->features; i++)
    *find_place(b->table, shift, 1, b->key[i]) = (entry){b->key[i], (uint32_t)i, 1};
  return FURROW_OK;
}

/* Room in table and arrays for n features more; at most a quarter of the table is used. */
static furrow_status make_room(fw_batcher *b, size_t n, furrow_error *err) {
  furrow_status status = grow_uses(b, b->uses + n, err);
  if (status == FURROW_OK) status = grow_features(b, b->features + n, err);
  unsigned shift = b->table_shift;
  while (b->table && ((size_t)1 << (64 - shift)) < 4 * (b->features + n)) shift--;
  if (status == FURROW_OK && shift != b->table_shift) status = make_table(b, shift, err);
  return status;
}

/* ---- Sparse rows ---------------------------------------------------------------------------------------- */

static inline uint64_t key_at(const furrow_row *row, bool wide, size_t i) {
  return wide ? row->index.u64[i] : row->index.u32[i];
}

/* Whether a feature is new is hard to foretell; so that a wrong guess does not hold up the next ones, all places of the
 * row are asked for beforehand. Returns the largest key that is new. */
static inline uint64_t number_features(fw_batcher *b, const furrow_row *row, bool wide) {
  entry *const table = b->table;
  const unsigned shift = b->table_shift;
  const uint32_t stamp = b->stamp;
  uint32_t *const feature = b->feature + b->uses;
  uint64_t *const keys = b->key, largest = 0;
  size_t features = b->features;
  for (size_t i = 0; i < row->length; i++) __builtin_prefetch(&table[first_place(key_at(row, wide, i), shift)], 1);
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t key = key_at(row, wide, i);
    entry *place = find_place(table, shift, stamp, key);
    if (place->stamp != stamp) {
      largest = key > largest ? key : largest;
      keys[features] = key;
      *place = (entry){key, (uint32_t)features++, stamp};
    }
    feature[i] = place->number;
  }
  b->features = features;
  return largest;
}

/* For scoring: every use is a feature of its own. */
static void list_features(fw_batcher *b, const furrow_row *row) {
  for (size_t i = 0; i < row->length; i++) {
    b->key[b->uses + i] = furrow_row_get_index(row, i);
    b->feature[b->uses + i] = (uint32_t)(b->uses + i);
  }
  b->features += row->length;
}

static void copy_values(fw_batcher *b, const furrow_row *row) {
  float *value = b->value + b->uses;
  bool ones = true;
  if (!row->value.any) {
    for (size_t i = 0; i < row->length; i++) value[i] = 1;
  } else if (row->value_type == FURROW_VALUE_F32) {
    for (size_t i = 0; i < row->length; i++) {
      value[i] = row->value.f32[i];
      ones &= value[i] == 1;
    }
  } else {
    for (size_t i = 0; i < row->length; i++) {
      value[i] = (float)furrow_row_get_value(row, i);
      ones &= value[i] == 1;
    }
  }
  b->has_value |= !ones;
}

static furrow_status check_range(const fw_batcher *b, uint64_t largest, furrow_error *err) {
  if (largest < b->rules.range || b->rules.range == 0) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond the model's range of %" PRIu64 " features",
                 largest, b->rules.range);
}

/* From now on places are kept: so far use i was at i. */
static void keep_places(fw_batcher *b) {
  if (b->has_place) return;
  for (size_t i = 0; i < b->uses; i++) b->place[i] = (uint32_t)i;
  b->has_place = true;
}

static furrow_status place_by_field(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  const uint64_t slots = b->rules.slots;
  if (row->length && !row->field.any)
    return fw_fail(err, FURROW_E_RANGE, "the row has no fields, which the embedding's slots are");
  keep_places(b);
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

/* Slots by ascending id, of equal ones by their order. By insertion: rows are short where every feature has a slot. */
static furrow_status place_by_order(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  const size_t slots = b->rules.slots;
  if (row->length != slots) {
    return fw_fail(err, FURROW_E_RANGE, "the row has %zu features where the model takes %zu", row->length, slots);
  }
  if (!b->has_place && is_ascending(row)) return FURROW_OK;
  keep_places(b);
  uint32_t *order = b->use + b->uses; /* free until finish: the features in the order of their slots */
  for (size_t i = 0; i < slots; i++) {
    const uint64_t key = furrow_row_get_index(row, i);
    size_t at = i;
    for (; at > 0 && furrow_row_get_index(row, order[at - 1]) > key; at--) order[at] = order[at - 1];
    order[at] = (uint32_t)i;
  }
  for (size_t i = 0; i < slots; i++) b->place[b->uses + order[i]] = (uint32_t)(b->rows * slots + i);
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
  furrow_status status = make_room(b, row->length, err);
  if (status == FURROW_OK) status = place_features(b, row, err);
  if (status != FURROW_OK) return status;
  if (b->rules.plain) {
    list_features(b, row); /* what is beyond the range counts as 0 */
  } else if (row->index_type == FURROW_INDEX_U64) {
    status = check_range(b, number_features(b, row, true), err);
  } else {
    status = check_range(b, number_features(b, row, false), err);
  }
  copy_values(b, row);
  for (size_t i = 0; i < row->length; i++) b->row[b->uses + i] = (uint32_t)b->rows;
  b->uses += row->length;
  b->offset[b->rows + 1] = (uint32_t)b->uses;
  return status;
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
  return b->rules.plain ? FURROW_OK : check_range(b, largest, err);
}

static double transform_label(const fw_data_conf *data, double label) {
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
  return isnan(label) ? label : transform_label(data, label);
}

static furrow_status add_label(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  const double label = fw_label_of(b->rules.data, row);
  const fw_graph *graph = b->rules.graph;
  if (graph && isnan(label))
    return fw_fail(err, FURROW_E_RANGE, "the row has no label; of csv data ?label_column=N names it");
  if (graph && !fw_loss_takes(graph, label)) {
    return fw_fail(err, FURROW_E_RANGE, "%s cannot take the label %g (see the key `label`)", fw_loss_name(graph->loss),
                   label);
  }
  const float weight = furrow_row_get_weight(row);
  if (!(weight >= 0) || isinf(weight)) return fw_fail(err, FURROW_E_RANGE, "the row's weight is %g", (double)weight);
  b->label[b->rows] = (float)label;
  b->weight[b->rows] = weight;
  b->has_weight |= row->weight != NULL;
  return FURROW_OK;
}

/* ---- Batches -------------------------------------------------------------------------------------------- */

furrow_status fw_batcher_create(fw_batcher **batcher, const fw_batch_rules *rules, furrow_error *err) {
  if (rules->dense && rules->range == 0) {
    return fw_fail(err, FURROW_E_ARGUMENT, "dense data needs the number of features (`range`)");
  }
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **batcher, err);
  if (status != FURROW_OK) return status;
  fw_batcher *b = memory;
  b->rules = *rules;
  if (!rules->dense && !rules->plain) status = make_table(b, 64 - FIRST_TABLE_BITS, err);
  if (status == FURROW_OK) {
    *batcher = b;
  } else {
    fw_batcher_free(b);
  }
  return status;
}

void fw_batcher_free(fw_batcher *b) {
  if (!b) return;
  void *const arrays[] = {b->label, b->weight, b->x,     b->offset, b->feature,    b->place,
                          b->row,   b->use,    b->value, b->key,    b->use_offset, b->table};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  fw_free(b);
}

void fw_batcher_start(fw_batcher *b) {
  b->rows = b->uses = b->features = 0;
  b->has_weight = b->has_value = b->has_place = false;
  if (b->table && ++b->stamp == 0) { /* stamps begin again: forget those of 2^32 batches ago */
    memset(b->table, 0, table_size(b) * sizeof *b->table);
    b->stamp = 1;
  }
}

furrow_status fw_batcher_add(fw_batcher *b, const furrow_row *row, furrow_error *err) {
  furrow_status status = grow_rows(b, b->rows + 1, err);
  if (status == FURROW_OK) status = add_label(b, row, err);
  if (status == FURROW_OK) status = b->rules.dense ? add_dense(b, row, err) : add_sparse(b, row, err);
  if (status == FURROW_OK) b->rows++;
  return status;
}

/* Counting sort: use_offset[f + 2] counts the uses of feature f; summed up, use_offset[f + 1] is where they begin; when
 * all are placed it is where they end. */
static void number_uses_by_feature(fw_batcher *b) {
  uint32_t *const at = b->use_offset;
  memset(at, 0, (b->features + 2) * sizeof *at);
  for (size_t i = 0; i < b->uses; i++) at[b->feature[i] + 2]++;
  for (size_t f = 2; f < b->features + 2; f++) at[f] += at[f - 1];
  for (size_t i = 0; i < b->uses; i++) b->use[at[b->feature[i] + 1]++] = (uint32_t)i;
}

furrow_status fw_batcher_finish(fw_batcher *b, fw_batch **batch, furrow_error *err) {
  furrow_status status = grow_rows(b, 0, err);
  if (status == FURROW_OK && !b->rules.dense) status = make_room(b, 0, err);
  if (status != FURROW_OK) return status;
  b->batch = (fw_batch){.rows = b->rows, .label = b->label, .weight = b->has_weight ? b->weight : NULL};
  if (b->rules.dense) {
    b->batch.x = b->x;
    b->batch.columns = b->rules.range;
  } else {
    b->offset[0] = 0;
    b->batch.offset = b->offset;
    b->batch.uses = b->uses;
    b->batch.feature = b->feature;
    b->batch.value = b->has_value ? b->value : NULL;
    b->batch.place = b->has_place ? b->place : NULL;
    b->batch.row = b->row;
    b->batch.features = b->features;
    b->batch.key = b->key;
  }
  if (!b->rules.dense && !b->rules.plain) {
    number_uses_by_feature(b);
    b->batch.use_offset = b->use_offset;
    b->batch.use = b->use;
  }
  *batch = &b->batch;
  return FURROW_OK;
}
