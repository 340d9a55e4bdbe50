/* learn/forest/feature_stats.c: counts of features, and a sample of their values.
 *
 * The sample is every k-th row; k doubles, and every other row of the sample is dropped, whenever there are too many
 * values. So it depends on the rows alone. Of features that are categories all values are kept in place of that. */
#include "learn/forest/feature_stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

#define ARRAY_RANGE (UINT64_C(1) << 22) /* features of a range up to that are found by an array */

/* ---- Create, free --------------------------------------------------------------------------------------- */

static void first_seen(const void *context, uint64_t key, void *record) {
  (void)context;
  (void)key;
  memset(record, 0, sizeof(seen));
}

furrow_status fw_feature_stats_make_features(fw_feature_stats *s, furrow_error *err) {
  fw_features_params params = {.bytes = sizeof(seen), .first = first_seen};
  const int64_t range = s->plan->data.range;
  if (range > 0 && (uint64_t)range <= ARRAY_RANGE) params.range = (uint64_t)range;
  return fw_features_create(&s->features, &params, err);
}

furrow_status fw_feature_stats_create(fw_feature_stats **stats, const fw_plan *plan, furrow_error *err) {
  fw_feature_stats *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->plan = plan;
  made->step = 1;
  *stats = made;
  return FURROW_OK;
}

void fw_feature_stats_set_first_row(fw_feature_stats *s, uint64_t first_row) {
  s->first_row = first_row;
}

void fw_feature_stats_drop_sets(fw_feature_stats *s) {
  for (size_t i = 0; i < s->set_capacity; i++) fw_free(s->sets[i]);
  fw_free(s->sets);
  s->sets = NULL;
  s->set_capacity = 0;
}

void fw_feature_stats_drop_sample(fw_feature_stats *s) {
  fw_feature_stats_drop_sets(s);
  void **const arrays[] = {(void **)&s->sample, (void **)&s->row_end, (void **)&s->ids};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    fw_free(*arrays[i]);
    *arrays[i] = NULL;
  }
  s->sample_capacity = s->sample_row_capacity = s->id_capacity = 0;
}

void fw_feature_stats_free(fw_feature_stats *s) {
  if (!s) return;
  fw_feature_stats_drop_sample(s);
  fw_feature_scan_clear(s);
  fw_features_free(s->features);
  fw_free(s->columns);
  fw_free(s->records);
  fw_free(s->numbers);
  fw_free(s);
}

size_t fw_feature_stats_memory(const fw_feature_stats *s) {
  return s->column_count * sizeof(seen) + (s->features ? fw_features_memory(s->features) : 0) +
         s->record_capacity * sizeof(void *) + s->number_capacity * sizeof(uint32_t) +
         s->id_capacity * sizeof(uint64_t) + s->set_capacity * sizeof(value_set *) +
         s->sample_capacity * sizeof(sampled) + s->sample_row_capacity * sizeof(size_t) + fw_feature_scan_memory(s);
}

/* ---- Categories ----------------------------------------------------------------------------------------- */

bool fw_feature_stats_is_category(const fw_feature_stats *s, uint64_t id) {
  const fw_forest_conf *conf = &s->plan->forest;
  return conf->all_categories || (conf->category_count > 0 && bsearch(&id, conf->categories, conf->category_count,
                                                                      sizeof id, fw_compare_u64) != NULL);
}

static furrow_status grow_sets(fw_feature_stats *s, uint32_t number, furrow_error *err) {
  const size_t before = s->set_capacity;
  furrow_status status = fw_grow((void **)&s->sets, &s->set_capacity, (size_t)number + 1, sizeof *s->sets, err);
  for (size_t i = before; i < s->set_capacity; i++) s->sets[i] = NULL;
  return status;
}

static size_t place_in(const value_set *set, float value) {
  size_t low = 0, high = set->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (set->value[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* A set begins with the second value; until then the least is the only one. */
static furrow_status add_value(fw_feature_stats *s, const seen *feature, uint64_t id, float value, furrow_error *err) {
  const uint32_t number = feature->number - 1;
  if (number >= s->set_capacity || !s->sets[number]) {
    if (value == feature->least) return FURROW_OK;
    furrow_status status = grow_sets(s, number, err);
    if (status == FURROW_OK) status = fw_alloc_zero((void **)&s->sets[number], 1, sizeof(value_set), err);
    if (status != FURROW_OK) return status;
    s->sets[number]->value[s->sets[number]->count++] = feature->least;
  }
  value_set *set = s->sets[number];
  const size_t at = place_in(set, value);
  if (at < set->count && set->value[at] == value) return FURROW_OK;
  if (set->count == FW_BINS) {
    return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is a category, and has more than %d different values", id,
                   FW_BINS);
  }
  memmove(set->value + at + 1, set->value + at, (set->count - at) * sizeof *set->value);
  set->value[at] = value;
  set->count++;
  return FURROW_OK;
}

/* ---- The sample ----------------------------------------------------------------------------------------- */

/* Keeps rows whose numbers are multiples of the doubled step: of one process 0, 2, 4 … */
void fw_feature_stats_thin(fw_feature_stats *s) {
  const uint64_t first = (s->first_row + s->step - 1) / s->step; /* of the first row of the sample, in steps */
  size_t kept = 0, rows = 0;
  for (size_t row = first % 2; row < s->sample_rows; row += 2) {
    const size_t begin = row ? s->row_end[row - 1] : 0, n = s->row_end[row] - begin;
    memmove(s->sample + kept, s->sample + begin, n * sizeof *s->sample);
    kept += n;
    s->row_end[rows++] = kept;
  }
  s->sample_count = kept;
  s->sample_rows = rows;
  s->step *= 2;
}

static furrow_status sample_begin(fw_feature_stats *s, size_t values, furrow_error *err) {
  furrow_status status =
      fw_grow((void **)&s->sample, &s->sample_capacity, s->sample_count + values, sizeof *s->sample, err);
  if (status == FURROW_OK)
    status = fw_grow((void **)&s->row_end, &s->sample_row_capacity, s->sample_rows + 1, sizeof *s->row_end, err);
  return status;
}

static void sample_end(fw_feature_stats *s) {
  s->row_end[s->sample_rows++] = s->sample_count;
  while (s->sample_count > FW_SAMPLE_VALUES && s->sample_rows > 1) fw_feature_stats_thin(s);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static furrow_status meet(fw_feature_stats *s, seen *feature, uint64_t id, float value, furrow_error *err) {
  if (id > INT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond %d, the last that a tree can split by", id,
                   INT32_MAX);
  furrow_status status = fw_grow((void **)&s->ids, &s->id_capacity, (size_t)s->count + 1, sizeof *s->ids, err);
  if (status != FURROW_OK) return status;
  s->ids[s->count++] = id;
  feature->number = s->count;
  feature->least = feature->most = value;
  return FURROW_OK;
}

furrow_status fw_feature_stats_note(fw_feature_stats *s, seen *feature, uint64_t id, float value, bool category,
                                    furrow_error *err) {
  if (feature->number == FW_NOT_MET) FW_TRY(meet(s, feature, id, value, err));
  if (category) FW_TRY(add_value(s, feature, id, value, err));
  feature->least = value < feature->least ? value : feature->least;
  feature->most = value > feature->most ? value : feature->most;
  return FURROW_OK;
}

/* -0 becomes 0, so that values that are equal have the same bits. */
static furrow_status see(fw_feature_stats *s, seen *feature, uint64_t id, float value, bool in_sample,
                         furrow_error *err) {
  const bool category = fw_feature_stats_is_category(s, id);
  value += 0.0F;
  FW_TRY(fw_feature_stats_note(s, feature, id, value, category, err));
  if (in_sample && !category) s->sample[s->sample_count++] = (sampled){feature->number - 1, value};
  feature->count++;
  return FURROW_OK;
}

static furrow_status add_dense_row(fw_feature_stats *s, const float *x, furrow_error *err) {
  const bool in_sample = (s->first_row + s->rows) % s->step == 0;
  furrow_status status = in_sample ? sample_begin(s, s->column_count, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < s->column_count; i++)
    if (!isnan(x[i])) status = see(s, &s->columns[i], i, x[i], in_sample, err);
  if (status == FURROW_OK && in_sample) sample_end(s);
  return status;
}

static furrow_status add_sparse_row(fw_feature_stats *s, const fw_minibatch *batch, size_t row, furrow_error *err) {
  const bool in_sample = (s->first_row + s->rows) % s->step == 0;
  const size_t begin = batch->offset[row], end = batch->offset[row + 1];
  furrow_status status = in_sample ? sample_begin(s, end - begin, err) : FURROW_OK;
  s->stamp++;
  for (size_t i = begin; status == FURROW_OK && i < end; i++) {
    seen *feature = s->records[i];
    const float value = batch->value ? batch->value[i] : 1;
    if (feature->last == s->stamp) continue;
    feature->last = s->stamp;
    if (!isnan(value)) status = see(s, feature, batch->key[i], value, in_sample, err);
  }
  if (status == FURROW_OK && in_sample) sample_end(s);
  return status;
}

furrow_status fw_feature_stats_make_columns(fw_feature_stats *s, size_t columns, furrow_error *err) {
  furrow_status status = fw_alloc_zero((void **)&s->columns, columns, sizeof *s->columns, err);
  if (status != FURROW_OK) return status;
  s->dense = true;
  s->column_count = columns;
  return FURROW_OK;
}

static furrow_status check_kind(fw_feature_stats *s, const fw_minibatch *batch, furrow_error *err) {
  const bool dense = batch->offset == NULL;
  if (!s->columns && !s->features)
    return dense ? fw_feature_stats_make_columns(s, batch->columns, err) : fw_feature_stats_make_features(s, err);
  if (s->dense != dense || (dense && batch->columns != s->column_count))
    return fw_fail(err, FURROW_E_STATE, "rows do not have the columns of those before them");
  return FURROW_OK;
}

furrow_status fw_feature_stats_check_keys(const fw_feature_stats *s, const fw_minibatch *batch, furrow_error *err) {
  const int64_t range = s->plan->data.range;
  uint64_t largest = 0;
  for (size_t i = 0; i < batch->uses; i++) largest = batch->key[i] > largest ? batch->key[i] : largest;
  if (range <= 0 || batch->uses == 0 || largest < (uint64_t)range) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond the model's range of %" PRIi64 " features",
                 largest, range);
}

/* One row after the other: dense rows, and those with categories. */
static furrow_status add_batch(fw_feature_stats *s, const fw_minibatch *batch, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!s->dense) {
    FW_TRY(fw_feature_stats_check_keys(s, batch, err));
    FW_TRY(fw_grow((void **)&s->records, &s->record_capacity, batch->uses, sizeof *s->records, err));
    FW_TRY(fw_features_make_all(s->features, batch->key, batch->uses, s->records, err));
  }
  for (size_t row = 0; status == FURROW_OK && row < batch->rows; row++, s->rows++) {
    status = s->dense ? add_dense_row(s, batch->x + row * batch->columns, err) : add_sparse_row(s, batch, row, err);
  }
  return status;
}

static bool has_categories(const fw_feature_stats *s) {
  return s->plan->forest.all_categories || s->plan->forest.category_count > 0;
}

furrow_status fw_feature_stats_add(fw_feature_stats *s, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                   furrow_error *err) {
  uint64_t rows = s->first_row + s->rows;
  for (size_t i = 0; i < count; i++) {
    FW_TRY(check_kind(s, &batch[i], err));
    rows += batch[i].rows;
  }
  if (rows > FW_MAX_ROWS) return fw_fail(err, FURROW_E_RANGE, "there are more than %" PRIu64 " rows", FW_MAX_ROWS);
  if (!s->dense && !has_categories(s)) return fw_feature_scan_add(s, batch, count, pool, err);
  for (size_t i = 0; i < count; i++) FW_TRY(add_batch(s, &batch[i], err));
  return FURROW_OK;
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static furrow_status number_columns(fw_feature_stats *s, size_t count, furrow_error *err) {
  FW_TRY(fw_grow((void **)&s->numbers, &s->number_capacity, s->column_count, sizeof *s->numbers, err));
  FW_TRY(fw_grow((void **)&s->scan_numbers, &s->scan_numbers_capacity, count, sizeof *s->scan_numbers, err));
  for (size_t i = 0; i < s->column_count; i++)
    s->numbers[i] = s->columns[i].number ? s->columns[i].number - 1 : FW_NO_FEATURE;
  for (size_t i = 0; i < count; i++) s->scan_numbers[i] = s->numbers;
  return FURROW_OK;
}

furrow_status fw_feature_stats_numbers(fw_feature_stats *s, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                       const uint32_t *const **numbers, furrow_error *err) {
  for (size_t i = 0; i < count; i++) FW_TRY(check_kind(s, &batch[i], err));
  FW_TRY(s->dense ? number_columns(s, count, err) : fw_feature_scan_numbers(s, batch, count, pool, err));
  *numbers = s->scan_numbers;
  return FURROW_OK;
}
