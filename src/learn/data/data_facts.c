/* learn/data/data_facts.c: one pass over the data: its labels, the lengths of its rows, the values of its features. */
#include "learn/data/data_facts.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "io/digest.h"

/* The values of one feature, in the rows that list it. */
typedef struct feature_facts {
  uint64_t uses, nonzero;
  uint64_t last_row;      /* number of the last row with the feature, from 1 */
  double mean, squares;   /* squares: sum of squared deviations from the mean */
  double nonzero_squares; /* sum of squares */
  float first, second;    /* the first two different values; `different` says how many are known */
  uint32_t different;     /* up to 3 */
  uint32_t slots;         /* 0: none yet, 1: always in `slot`, 2: not */
  uint64_t slot;
  bool repeated; /* some row lists it more than once */
} feature_facts;

static void clear_record(const void *context, uint64_t key, void *record) {
  (void)context, (void)key;
  memset(record, 0, sizeof(feature_facts));
}

static furrow_status create_records(fw_features **features, furrow_error *err) {
  return fw_features_create(features, &(fw_features_params){.bytes = sizeof(feature_facts), .first = clear_record},
                            err);
}

furrow_status fw_data_facts_init(fw_data_facts *facts, bool values, furrow_error *err) {
  *facts = (fw_data_facts){.whole_labels = true, .shortest = SIZE_MAX};
  return values ? create_records(&facts->features, err) : FURROW_OK;
}

void fw_data_facts_clear(fw_data_facts *facts) {
  fw_features_free(facts->features);
  *facts = (fw_data_facts){0};
}

/* ---- Labels ---- */

static void add_label(fw_data_facts *facts, double label) {
  if (isnan(label)) {
    facts->unlabelled++;
    return;
  }
  const uint64_t before = facts->rows - facts->unlabelled;
  const double deviation = label - facts->label_mean;
  facts->label_mean += deviation / (double)(before + 1);
  facts->label_squares += deviation * (label - facts->label_mean);
  facts->whole_labels &= label == trunc(label);
  if (facts->label_count > FW_CLASSES_MAX) return;
  const size_t at = fw_lower_bound_f64(facts->labels, facts->label_count, sizeof *facts->labels, label);
  if (at == facts->label_count || facts->labels[at] != label) {
    if (facts->label_count++ == FW_CLASSES_MAX) return;
    const size_t behind = facts->label_count - 1 - at;
    memmove(facts->labels + at + 1, facts->labels + at, behind * sizeof *facts->labels);
    memmove(facts->of_label + at + 1, facts->of_label + at, behind * sizeof *facts->of_label);
    facts->labels[at] = label;
    facts->of_label[at] = 0;
  }
  facts->of_label[at]++;
}

/* ---- Features ---- */

static void note_value(feature_facts *f, float value) {
  if (f->different == 0) f->first = value, f->different = 1;
  if (f->different == 1 && value != f->first) f->second = value, f->different = 2;
  if (f->different == 2 && value != f->first && value != f->second) f->different = 3;
}

static void note_slot(feature_facts *f, uint64_t slot) {
  if (f->slots == 0) f->slot = slot, f->slots = 1;
  if (f->slot != slot) f->slots = 2;
}

/* The slot of feature i: its field, or without fields its position in the row; UINT64_MAX if slots do not ascend. */
static uint64_t slot_of(const furrow_row *row, size_t i) {
  if (row->field.any) return furrow_row_get_field(row, i);
  const bool follows = i == 0 || furrow_row_get_index(row, i - 1) < furrow_row_get_index(row, i);
  return follows ? i : UINT64_MAX;
}

/* Adds use i of a row; `number` is the row's number, from 1. */
static void add_use(feature_facts *f, const furrow_row *row, size_t i, uint64_t number) {
  const double value = furrow_row_get_value(row, i), deviation = value - f->mean;
  f->mean += deviation / (double)++f->uses;
  f->squares += deviation * (value - f->mean);
  f->nonzero += value != 0;
  f->nonzero_squares += value * value;
  f->repeated |= f->last_row == number;
  f->last_row = number;
  note_value(f, (float)value);
  note_slot(f, slot_of(row, i));
}

/* One pass over the values of some features: those of class `class` of `classes`; mostly there is one class. */
typedef struct value_pass {
  fw_features *features;
  uint64_t row; /* number of the next, from 0 */
  uint32_t part, parts;
} value_pass;

static bool is_of_class(const value_pass *v, uint64_t key) {
  return v->parts == 1 || (uint32_t)((key * 0x9e3779b97f4a7c15) >> 32) % v->parts == v->part;
}

static furrow_status add_features(value_pass *v, const furrow_row *row, furrow_error *err) {
  v->row++;
  for (size_t i = 0; i < row->length; i++) {
    void *record = NULL;
    const uint64_t key = furrow_row_get_index(row, i);
    if (!is_of_class(v, key)) continue;
    FW_TRY(fw_features_make(v->features, key, &record, err));
    add_use(record, row, i, v->row);
  }
  return FURROW_OK;
}

bool fw_block_has_values(const furrow_rowblock *block) {
  if (!block->value.any || block->size == 0) return false;
  for (uint64_t i = block->offset[0]; i < block->offset[block->size]; i++)
    if (furrow_values_get(block->value, block->value_type, i) != 1) return true;
  return false;
}

static void add_shape(fw_data_facts *facts, const furrow_row *row) {
  if (row->length > facts->longest) facts->longest = row->length;
  if (row->length < facts->shortest) facts->shortest = row->length;
  for (size_t i = 0; i < row->length; i++) {
    const uint64_t feature = furrow_row_get_index(row, i);
    if (feature >= facts->end) facts->end = feature + 1;
  }
  for (size_t i = 0; row->field.any && i < row->length; i++) {
    const uint64_t field = furrow_row_get_field(row, i);
    if (field >= facts->fields) facts->fields = field + 1;
  }
}

/* Adds row by row, so that the digest does not depend on how rows are divided into blocks. */
static void add_digest(fw_data_facts *facts, const furrow_row *row) {
  const size_t key = row->key_type == FURROW_KEY_U64 ? 8 : 4;
  const size_t value = row->value_type == FURROW_VALUE_I64 ? 8 : 4;
  const double label = row->label.any ? furrow_row_get_label(row) : 0;
  facts->digest = fw_digest_elements(&label, sizeof label, 1, facts->digest);
  if (row->length == 0) return;
  facts->digest = fw_digest_elements(row->index.any, key, row->length, facts->digest);
  if (row->value.any) facts->digest = fw_digest_elements(row->value.any, value, row->length, facts->digest);
}

/* Adds facts that depend on the rows before. */
static void add_in_order(fw_data_facts *facts, const furrow_row *row) {
  add_label(facts, row->label.any ? furrow_row_get_label(row) : (double)NAN);
  facts->rows++;
  add_digest(facts, row);
}

/* Adds all facts except the values of features. in_order: whether to add facts that depend on earlier rows; shape:
 * whether to add the others. */
static void add_rows(fw_data_facts *facts, const furrow_rowblock *block, bool in_order, bool shape) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    if (in_order) add_in_order(facts, &row);
    if (shape) add_shape(facts, &row);
  }
}

furrow_status fw_data_facts_add(void *data_facts, const furrow_rowblock *block, furrow_error *err) {
  fw_data_facts *facts = data_facts;
  value_pass values = {.features = facts->features, .row = facts->rows, .parts = 1};
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    add_in_order(facts, &row);
    add_shape(facts, &row);
    if (facts->features) FW_TRY(add_features(&values, &row, err));
  }
  return FURROW_OK;
}

/* ---- Samples of several ranks ----
 *
 * Running means and the digest depend on the order of rows: one rank after the other adds its rows, and sends the facts
 * to the next. Facts that do not depend on the order are found by all ranks at the same time, if rows are in memory.
 * There are many facts of features; they are divided into as many classes as there are ranks: while one rank adds its
 * rows to the facts of one class, the rank before it does so with the next class. */

static furrow_status take_rows(void *user, const furrow_rowblock *block, furrow_error *err) {
  (void)err;
  add_rows(user, block, true, true);
  return FURROW_OK;
}

static furrow_status take_values(void *user, const furrow_rowblock *block, furrow_error *err) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    FW_TRY(add_features(user, &row, err));
  }
  return FURROW_OK;
}

/* Combines the lengths, features and fields of the rows of all ranks. */
static furrow_status share_shape(fw_data_facts *facts, const furrow_comm *comm, const furrow_rowblock *block,
                                 furrow_error *err) {
  add_rows(facts, block, false, true);
  uint64_t most[] = {facts->longest, ~(uint64_t)facts->shortest, facts->fields, facts->end};
  FW_TRY(fw_comm_max_u64(comm, most, sizeof most / sizeof *most, err));
  facts->longest = (size_t)most[0];
  facts->shortest = (size_t)~most[1];
  facts->fields = most[2];
  facts->end = most[3];
  return FURROW_OK;
}

/* All but the facts of features. */
static furrow_status add_by_rank(fw_data_facts *facts, fw_samples *samples, furrow_error *err) {
  const furrow_comm *comm = samples->comm;
  const furrow_rowblock *block = fw_samples_block(samples); /* NULL: rows are streamed, once */
  if (block) FW_TRY(share_shape(facts, comm, block, err));
  for (unsigned r = 0; r < comm->ranks; r++) {
    furrow_status status = FURROW_OK;
    if (r == comm->rank && block) add_rows(facts, block, true, false);
    if (r == comm->rank && !block) status = fw_samples_visit(samples, take_rows, facts, err);
    FW_TRY(fw_comm_share_status(comm, status, err));
    FW_TRY(comm->broadcast(comm, facts, offsetof(fw_data_facts, features), r, err));
  }
  return FURROW_OK;
}

/* The facts of a feature on their way to another rank. */
typedef struct sent_feature {
  uint64_t key;
  feature_facts facts;
} sent_feature;

static furrow_status put_features(fw_features *features, const sent_feature *from, size_t bytes, furrow_error *err) {
  for (size_t i = 0; i < bytes / sizeof *from; i++) {
    void *record = NULL;
    FW_TRY(fw_features_make(features, from[i].key, &record, err));
    memcpy(record, &from[i].facts, sizeof from[i].facts);
  }
  return FURROW_OK;
}

static furrow_status get_features(const fw_features *features, fw_buffer *to, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t count = 0;
  FW_TRY(fw_features_keys(features, &keys, &count, err));
  for (size_t i = 0; i < count; i++) {
    sent_feature sent = {.key = keys[i]};
    memcpy(&sent.facts, fw_features_find(features, keys[i]), sizeof sent.facts);
    fw_buffer_append(to, &sent, sizeof sent);
  }
  fw_free(keys);
  return fw_buffer_status(to, err);
}

/* Adds this rank's rows to the facts of a class that came from the rank before. */
static furrow_status add_class(fw_samples *samples, value_pass pass, const void *came, size_t bytes, fw_buffer *to,
                               furrow_error *err) {
  furrow_status status = create_records(&pass.features, err);
  if (status == FURROW_OK) status = put_features(pass.features, came, bytes, err);
  if (status == FURROW_OK) status = fw_samples_visit(samples, take_values, &pass, err);
  if (status == FURROW_OK) status = get_features(pass.features, to, err);
  fw_features_free(pass.features);
  return status;
}

/* Sends the facts in `ready` to the next rank; *came gets what the previous rank sent, to be freed. */
static furrow_status pass_on(const furrow_comm *comm, const fw_buffer *ready, void **came, size_t *bytes,
                             furrow_error *err) {
  size_t *sizes = NULL;
  furrow_status status = FW_ALLOC_ZERO_ROWS(&sizes, comm->ranks, 2, err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) {
    size_t *received = sizes + comm->ranks;
    if (comm->rank + 1 < comm->ranks) sizes[comm->rank + 1] = ready->size;
    status = fw_comm_exchange_all(comm, ready->bytes, sizes, came, received, err);
    if (status == FURROW_OK) *bytes = comm->rank > 0 ? received[comm->rank - 1] : 0;
  }
  fw_free(sizes);
  return status;
}

/* Broadcasts the facts of features from the last rank, which has all of them. */
static furrow_status give_to_all(fw_data_facts *facts, const furrow_comm *comm, const fw_buffer *complete,
                                 furrow_error *err) {
  void *all = NULL;
  size_t bytes = 0;
  FW_TRY(fw_comm_gather_all(comm, complete->bytes, complete->size, &all, &bytes, NULL, err));
  const furrow_status status = put_features(facts->features, all, bytes, err);
  fw_free(all);
  return fw_comm_all_ok(comm, status, err);
}

static furrow_status add_values(fw_data_facts *facts, fw_samples *samples, furrow_error *err) {
  const furrow_comm *comm = samples->comm;
  const unsigned classes = fw_samples_block(samples) ? comm->ranks : 1; /* streamed rows are read once */
  const bool last = comm->rank + 1 == comm->ranks;
  fw_buffer ready = {0}, complete = {0};
  void *came = NULL;
  size_t bytes = 0;
  furrow_status status = FURROW_OK;
  for (unsigned step = 0; status == FURROW_OK && step < classes + comm->ranks - 1; step++) {
    const unsigned class = step - comm->rank; /* beyond the last class before this rank begins */
    const value_pass pass = {.row = samples->first_row, .part = class, .parts = classes};
    fw_buffer_reset(&ready);
    if (class < classes) status = add_class(samples, pass, came, bytes, last ? &complete : &ready, err);
    fw_free(came);
    came = NULL;
    status = fw_comm_share_status(comm, status, err);
    if (status == FURROW_OK) status = pass_on(comm, &ready, &came, &bytes, err);
  }
  fw_free(came);
  if (status == FURROW_OK) status = give_to_all(facts, comm, &complete, err);
  fw_buffer_clear(&ready);
  fw_buffer_clear(&complete);
  return status;
}

furrow_status fw_data_facts_read(fw_data_facts *facts, fw_samples *samples, bool values, furrow_error *err) {
  const furrow_comm *comm = samples->comm;
  const furrow_rowblock *all = fw_samples_block(samples);
  uint64_t some = values && (!all || fw_block_has_values(all));
  FW_TRY(fw_comm_max_u64(comm, &some, 1, err));
  FW_TRY(fw_comm_all_ok(comm, fw_data_facts_init(facts, some, err), err));
  if (comm->ranks == 1) return fw_samples_visit(samples, fw_data_facts_add, facts, err);
  FW_TRY(add_by_rank(facts, samples, err));
  return facts->features ? add_values(facts, samples, err) : FURROW_OK;
}

/* ---- Gaps ---- */

furrow_status fw_data_facts_gaps(const fw_data_facts *facts, fw_gaps *gaps, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t count = 0;
  *gaps = (fw_gaps){0};
  if (!facts->features) return FURROW_OK;
  FW_TRY(fw_features_keys(facts->features, &keys, &count, err));
  for (size_t i = 0; i < count; i++) {
    const feature_facts *f = fw_features_find(facts->features, keys[i]);
    const double share = 1 - (double)f->uses / (double)facts->rows;
    if (!(share > 0 && share <= 0.5)) continue;
    gaps->features++;
    if (share > gaps->share) gaps->share = share, gaps->worst = keys[i];
  }
  fw_free(keys);
  return FURROW_OK;
}

/* ---- Scaling ---- */

/* Whether every row lists the feature once, at least half of its values are not 0, and it has more than two values. */
static bool is_dense(const fw_data_facts *facts, const feature_facts *f) {
  return f->uses == facts->rows && !f->repeated && 2 * f->nonzero >= f->uses && f->different > 2;
}

static bool choose_scale(const fw_data_facts *facts, const feature_facts *f, bool centre, double *mean,
                         double *factor) {
  const double deviation = sqrt(f->squares / (double)f->uses);
  *mean = 0;
  *factor = 1;
  if (centre && is_dense(facts, f) && deviation > 1e-9 * fabs(f->mean)) {
    *mean = f->mean;
    *factor = 1 / deviation;
  } else if (f->nonzero > 0) {
    const double size = sqrt(f->nonzero_squares / (double)f->nonzero);
    *factor = size > 1 ? 1 / size : 1;
  }
  const bool sound = isfinite(*mean) && *factor > 0 && *factor < 1e30; /* weights, times this, are floats */
  return sound && (*mean != 0 || *factor != 1);
}

furrow_status fw_data_facts_scaling(const fw_data_facts *facts, bool centre, fw_scaling *scaling, furrow_error *err) {
  uint64_t *keys = NULL;
  size_t count = 0;
  *scaling = (fw_scaling){0};
  if (!facts->features) return FURROW_OK;
  furrow_status status = fw_features_keys(facts->features, &keys, &count, err);
  if (status == FURROW_OK) status = fw_scaling_init(scaling, count, err);
  scaling->count = 0;
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    const feature_facts *f = fw_features_find(facts->features, keys[i]);
    const size_t at = scaling->count;
    if (!choose_scale(facts, f, centre, &scaling->mean[at], &scaling->factor[at])) continue;
    scaling->key[at] = keys[i];
    scaling->slot[at] = f->slots == 1 && f->slot != UINT64_MAX ? (int64_t)f->slot : -1;
    scaling->count++;
  }
  fw_free(keys);
  return status;
}
