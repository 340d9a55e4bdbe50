/* learn/data/data_facts.c: one pass over the data: its labels, the lengths of its rows, the values of its features. */
#include "learn/data/data_facts.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* The values of one feature, in the rows that list it. */
typedef struct feature_facts {
  uint64_t uses, nonzero;
  uint64_t last_row;      /* that listed it, from 1 */
  double mean, squares;   /* squares: sum of squared deviations from the mean */
  double nonzero_squares; /* sum of squares */
  float first, second;    /* different values, of which `different` are known */
  uint32_t different;     /* up to 3 */
  uint32_t slots;         /* 0: none yet, 1: always in `slot`, 2: not */
  uint64_t slot;
  bool repeated; /* some row lists it more than once */
} feature_facts;

static void clear_record(const void *context, uint64_t key, void *record) {
  (void)context, (void)key;
  memset(record, 0, sizeof(feature_facts));
}

furrow_status fw_data_facts_init(fw_data_facts *facts, bool values, furrow_error *err) {
  *facts = (fw_data_facts){.whole_labels = true, .shortest = SIZE_MAX};
  const fw_features_params params = {.bytes = sizeof(feature_facts), .first = clear_record};
  return values ? fw_features_create(&facts->features, &params, err) : FURROW_OK;
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

/* The place of feature i among those of the row, or its field. */
static uint64_t slot_of(const furrow_row *row, size_t i) {
  if (row->field.any) return furrow_row_get_field(row, i);
  const bool follows = i == 0 || furrow_row_get_index(row, i - 1) < furrow_row_get_index(row, i);
  return follows ? i : UINT64_MAX;
}

static furrow_status add_features(fw_data_facts *facts, const furrow_row *row, furrow_error *err) {
  for (size_t i = 0; i < row->length; i++) {
    void *record = NULL;
    FW_TRY(fw_features_make(facts->features, furrow_row_get_index(row, i), &record, err));
    feature_facts *f = record;
    const double value = furrow_row_get_value(row, i), deviation = value - f->mean;
    f->mean += deviation / (double)++f->uses;
    f->squares += deviation * (value - f->mean);
    f->nonzero += value != 0;
    f->nonzero_squares += value * value;
    f->repeated |= f->last_row == facts->rows;
    f->last_row = facts->rows;
    note_value(f, (float)value);
    note_slot(f, slot_of(row, i));
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

/* Row by row, so that it does not matter in which blocks they come. */
static void add_digest(fw_data_facts *facts, const furrow_row *row) {
  const size_t key = row->key_type == FURROW_KEY_U64 ? 8 : 4;
  const size_t value = row->value_type == FURROW_VALUE_I64 ? 8 : 4;
  const double label = row->label.any ? furrow_row_get_label(row) : 0;
  facts->digest = XXH3_64bits_withSeed(&label, sizeof label, facts->digest);
  if (row->length == 0) return;
  facts->digest = XXH3_64bits_withSeed(row->index.any, row->length * key, facts->digest);
  if (row->value.any) facts->digest = XXH3_64bits_withSeed(row->value.any, row->length * value, facts->digest);
}

furrow_status fw_data_facts_add(fw_data_facts *facts, const furrow_rowblock *block, furrow_error *err) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    add_label(facts, row.label.any ? furrow_row_get_label(&row) : (double)NAN);
    facts->rows++;
    add_shape(facts, &row);
    add_digest(facts, &row);
    if (facts->features) FW_TRY(add_features(facts, &row, err));
  }
  return FURROW_OK;
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

/* Every row lists it, once, mostly with a value, and it has more than two of them. */
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
