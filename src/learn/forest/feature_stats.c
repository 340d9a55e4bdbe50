/* learn/forest/feature_stats.c: counts of features, and a sample of their values.
 *
 * The sample is every k-th row; k doubles, and every other row of the sample is dropped, whenever there are too many
 * values. So it depends on the rows alone. Of features that are categories all values are kept in place of that.
 *
 * Dense rows are added one after the other. Of sparse batches that come together each thread takes one, and looks up
 * the numbers of its features. Features that nobody has met get their numbers one by one, in the order of rows. Then
 * every thread counts in facts of its own, and takes its rows of the sample; facts are joined after the last batch.
 * Counts, the least and the most do not depend on the order. */
#include "learn/forest/feature_stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

#define ARRAY_RANGE (UINT64_C(1) << 22) /* features of a range up to that are found by an array */
#define UNKNOWN (FW_NO_FEATURE - 1)     /* the number of a feature that has none yet */
#define FACT_BYTES ((size_t)64 << 20)   /* of all threads, about */

/* A key of the row with this stamp. */
typedef struct key_stamp {
  uint64_t key;
  uint32_t stamp;
} key_stamp;

/* What a thread has found of a feature, independent of other threads. */
typedef struct feature_facts {
  uint32_t count;
  float least, most;
} feature_facts;

/* What is known of one of the batches that come together. */
typedef struct batch_scan {
  void **records; /* records of uses; NULL: there is none */
  uint32_t *numbers;
  size_t record_capacity, number_capacity;
  key_stamp *keys; /* hash table of the keys of a row whose keys do not ascend */
  size_t key_capacity;
  uint32_t stamp;
  bool has_unknown;     /* some feature has no number yet */
  feature_facts *facts; /* facts by feature number, of this batch and earlier ones */
  size_t fact_capacity;
  row_sample sample; /* sample of this batch */
  furrow_status status;
  furrow_error error;
} batch_scan;

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

furrow_status fw_feature_stats_make_columns(fw_feature_stats *s, size_t columns, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&s->columns, columns, err));
  s->dense = true;
  s->column_count = columns;
  return FURROW_OK;
}

furrow_status fw_feature_stats_create(fw_feature_stats **stats, const fw_plan *plan, furrow_error *err) {
  fw_feature_stats *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->plan = plan;
  made->step = 1;
  *stats = made;
  return FURROW_OK;
}

void fw_feature_stats_set_first_row(fw_feature_stats *s, uint64_t first_row) {
  s->first_row = first_row;
}

static void clear_sample(row_sample *sample) {
  fw_free(sample->value);
  fw_free(sample->row_end);
  *sample = (row_sample){0};
}

static void drop_scans(fw_feature_stats *s) {
  for (size_t i = 0; i < s->scan_capacity; i++) {
    batch_scan *scan = &s->scans[i];
    clear_sample(&scan->sample);
    void *const arrays[] = {scan->records, scan->numbers, scan->keys, scan->facts};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) fw_free(arrays[k]);
  }
  fw_free(s->scans);
  fw_free(s->scan_numbers);
  s->scans = NULL;
  s->scan_numbers = NULL;
  s->scan_capacity = s->scan_numbers_capacity = 0;
}

void fw_feature_stats_drop_sets(fw_feature_stats *s) {
  for (size_t i = 0; i < s->set_capacity; i++) fw_free(s->sets[i]);
  fw_free(s->sets);
  s->sets = NULL;
  s->set_capacity = 0;
}

uint64_t fw_feature_stats_end(const fw_feature_stats *s) {
  uint64_t end = s->column_count;
  for (uint32_t i = 0; i < s->count; i++)
    if (s->ids[i] >= end) end = s->ids[i] + 1;
  return end;
}

void fw_feature_stats_drop_sample(fw_feature_stats *s) {
  fw_feature_stats_drop_sets(s);
  clear_sample(&s->sample);
  fw_free(s->ids);
  s->ids = NULL;
  s->id_capacity = 0;
}

void fw_feature_stats_free(fw_feature_stats *s) {
  if (!s) return;
  fw_feature_stats_drop_sample(s);
  drop_scans(s);
  fw_features_free(s->features);
  fw_free(s->columns);
  fw_free(s->numbers);
  fw_free(s);
}

/* ---- Features ------------------------------------------------------------------------------------------- */

seen *fw_feature_stats_find(const fw_feature_stats *s, uint64_t id) {
  return s->dense ? &s->columns[id] : fw_features_find(s->features, id);
}

bool fw_feature_stats_is_category(const fw_feature_stats *s, uint64_t id) {
  const fw_forest_conf *conf = &s->plan->forest;
  return conf->all_categories || (conf->category_count > 0 && bsearch(&id, conf->categories, conf->category_count,
                                                                      sizeof id, fw_compare_u64) != NULL);
}

value_set *fw_feature_stats_set(const fw_feature_stats *s, size_t number) {
  return number < s->set_capacity ? s->sets[number] : NULL;
}

/* A set begins with the second value; until then the least is the only one. */
static furrow_status make_set(fw_feature_stats *s, const seen *feature, furrow_error *err) {
  const size_t number = feature->number - 1, before = s->set_capacity;
  FW_TRY(FW_GROW(&s->sets, &s->set_capacity, number + 1, err));
  for (size_t i = before; i < s->set_capacity; i++) s->sets[i] = NULL;
  FW_TRY(FW_ALLOC_ZERO(&s->sets[number], 1, err));
  s->sets[number]->value[s->sets[number]->count++] = feature->least;
  return FURROW_OK;
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

static furrow_status add_value(fw_feature_stats *s, const seen *feature, uint64_t id, float value, furrow_error *err) {
  if (!fw_feature_stats_set(s, feature->number - 1)) {
    if (value == feature->least) return FURROW_OK;
    FW_TRY(make_set(s, feature, err));
  }
  value_set *set = s->sets[feature->number - 1];
  const size_t at = place_in(set, value);
  if (at < set->count && set->value[at] == value) return FURROW_OK;
  if (set->count == FW_BINS)
    return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is a category, and has more than %d different values", id,
                   FW_BINS);
  memmove(set->value + at + 1, set->value + at, (set->count - at) * sizeof *set->value);
  set->value[at] = value;
  set->count++;
  return FURROW_OK;
}

static furrow_status meet(fw_feature_stats *s, seen *feature, uint64_t id, float value, furrow_error *err) {
  if (id > INT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond %d, the last that a tree can split by", id,
                   INT32_MAX);
  FW_TRY(FW_GROW(&s->ids, &s->id_capacity, (size_t)s->count + 1, err));
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

/* ---- The sample ----------------------------------------------------------------------------------------- */

static furrow_status reserve_sample(row_sample *sample, size_t values, size_t rows, furrow_error *err) {
  FW_TRY(FW_GROW(&sample->value, &sample->capacity, values, err));
  return FW_GROW(&sample->row_end, &sample->row_capacity, rows, err);
}

/* Keeps rows whose numbers are multiples of the doubled step: rows 0, 2, 4 … of the sample of one process. */
void fw_feature_stats_thin(fw_feature_stats *s) {
  row_sample *sample = &s->sample;
  const uint64_t first = (s->first_row + s->step - 1) / s->step; /* of the first row of the sample, in steps */
  size_t kept = 0, rows = 0;
  for (size_t row = first % 2; row < sample->rows; row += 2) {
    const size_t begin = row ? sample->row_end[row - 1] : 0, n = sample->row_end[row] - begin;
    memmove(sample->value + kept, sample->value + begin, n * sizeof *sample->value);
    kept += n;
    sample->row_end[rows++] = kept;
  }
  sample->count = kept;
  sample->rows = rows;
  s->step *= 2;
}

static void limit_sample(fw_feature_stats *s) {
  while (s->sample.count > FW_SAMPLE_VALUES && s->sample.rows > 1) fw_feature_stats_thin(s);
}

/* ---- Dense rows ----------------------------------------------------------------------------------------- */

/* -0 becomes 0, so that values that are equal have the same bits. */
static furrow_status add_dense_row(fw_feature_stats *s, const float *x, furrow_error *err) {
  row_sample *sample = &s->sample;
  const bool in_sample = (s->first_row + s->rows) % s->step == 0;
  if (in_sample) FW_TRY(reserve_sample(sample, sample->count + s->column_count, sample->rows + 1, err));
  for (size_t i = 0; i < s->column_count; i++) {
    if (isnan(x[i])) continue;
    const bool category = fw_feature_stats_is_category(s, i);
    const float value = x[i] + 0.0F;
    FW_TRY(fw_feature_stats_note(s, &s->columns[i], i, value, category, err));
    if (in_sample && !category) sample->value[sample->count++] = (sampled){s->columns[i].number - 1, value};
    s->columns[i].count++;
  }
  if (in_sample) {
    sample->row_end[sample->rows++] = sample->count;
    limit_sample(s);
  }
  s->rows++;
  return FURROW_OK;
}

/* ---- Numbers of the features of sparse batches ---------------------------------------------------------- */

typedef struct scanning {
  fw_feature_stats *stats;
  const fw_minibatch *batch;
  size_t count;
  uint32_t missing; /* the number of a feature that is not known */
  size_t counters;  /* threads that have facts */
  bool categories;  /* there are some */
} scanning;

static bool is_ascending(const uint64_t *key, size_t n) {
  bool ascending = true;
  for (size_t i = 1; i < n; i++) ascending &= key[i - 1] < key[i];
  return ascending;
}

/* Ignores repeated uses of a feature in a row. */
static void drop_repeats(batch_scan *scan, const uint64_t *key, size_t n, uint32_t *number) {
  const size_t mask = scan->key_capacity - 1;
  scan->stamp++;
  for (size_t i = 0; i < n; i++) {
    size_t at = (size_t)(key[i] * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (scan->keys[at].stamp == scan->stamp && scan->keys[at].key != key[i]) at = (at + 1) & mask;
    if (scan->keys[at].stamp == scan->stamp) number[i] = FW_NO_FEATURE;
    scan->keys[at] = (key_stamp){key[i], scan->stamp};
  }
}

static void number_row(const scanning *s, batch_scan *scan, const uint64_t *key, size_t n, void *const *record,
                       uint32_t *number) {
  for (size_t i = 0; i < n; i++) {
    const seen *feature = record[i];
    number[i] = feature && feature->number != FW_NOT_MET ? feature->number - 1 : s->missing;
  }
  if (!is_ascending(key, n)) drop_repeats(scan, key, n, number);
}

/* Whether a row has the keys of the row before it. */
static bool is_same(const fw_minibatch *batch, size_t row) {
  const uint32_t *end = batch->offset + row;
  const size_t n = end[1] - end[0];
  return row > 0 && n > 0 && n == end[0] - end[-1] &&
         memcmp(batch->key + end[0], batch->key + end[-1], n * sizeof *batch->key) == 0;
}

/* Where rows have the same keys, as in a table, features are looked up for the first row only; else for all rows at
 * once, with prefetched memory. */
static void number_rows(const scanning *s, batch_scan *scan, const fw_minibatch *batch) {
  const fw_features *features = s->stats->features;
  const bool same = batch->rows > 1 && is_same(batch, 1);
  if (!same) fw_features_find_all(features, batch->key, batch->uses, NULL, scan->records);
  for (size_t row = 0; row < batch->rows; row++) {
    const size_t begin = batch->offset[row], n = batch->offset[row + 1] - begin;
    uint32_t *number = scan->numbers + begin;
    if (is_same(batch, row)) {
      memcpy(number, number - n, n * sizeof *number);
      continue;
    }
    if (same) fw_features_find_all(features, batch->key + begin, n, NULL, scan->records + begin);
    number_row(s, scan, batch->key + begin, n, scan->records + begin, number);
  }
}

/* E_RANGE: a feature is beyond the model's range. */
static furrow_status check_keys(const fw_feature_stats *s, const fw_minibatch *batch, furrow_error *err) {
  const int64_t range = s->plan->data.range;
  uint64_t largest = 0;
  for (size_t i = 0; i < batch->uses; i++) largest = batch->key[i] > largest ? batch->key[i] : largest;
  if (range <= 0 || batch->uses == 0 || largest < (uint64_t)range) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond the model's range of %" PRIi64 " features",
                 largest, range);
}

static void number_batch(void *context, size_t i) {
  const scanning *s = context;
  const fw_minibatch *batch = &s->batch[i];
  batch_scan *scan = &s->stats->scans[i];
  uint32_t most = 0;
  scan->status = s->missing == UNKNOWN ? check_keys(s->stats, batch, &scan->error) : FURROW_OK;
  number_rows(s, scan, batch);
  for (size_t k = 0; batch->value && k < batch->uses; k++)
    if (isnan(batch->value[k])) scan->numbers[k] = FW_NO_FEATURE;
  for (size_t k = 0; k < batch->uses; k++) {
    const uint32_t next = scan->numbers[k] + 1; /* FW_NO_FEATURE becomes 0 */
    most = next > most ? next : most;
  }
  scan->has_unknown = most == UNKNOWN + 1;
}

static furrow_status reserve_keys(batch_scan *scan, const fw_minibatch *batch, furrow_error *err) {
  size_t longest = 1, capacity = 64;
  for (size_t row = 0; row < batch->rows; row++) {
    const size_t n = batch->offset[row + 1] - batch->offset[row];
    longest = n > longest ? n : longest;
  }
  while (capacity < 2 * longest) capacity *= 2;
  if (capacity <= scan->key_capacity) return FURROW_OK;
  fw_free(scan->keys);
  scan->keys = NULL;
  scan->key_capacity = 0;
  FW_TRY(FW_ALLOC_ZERO(&scan->keys, capacity, err));
  scan->key_capacity = capacity;
  return FURROW_OK;
}

static furrow_status number_batches(const scanning *s, fw_spin_pool *pool, furrow_error *err) {
  fw_feature_stats *stats = s->stats;
  const size_t before = stats->scan_capacity, count = s->count;
  FW_TRY(FW_GROW(&stats->scans, &stats->scan_capacity, count, err));
  for (size_t i = before; i < stats->scan_capacity; i++) stats->scans[i] = (batch_scan){0};
  FW_TRY(FW_GROW(&stats->scan_numbers, &stats->scan_numbers_capacity, count, err));
  for (size_t i = 0; i < count; i++) {
    batch_scan *scan = &stats->scans[i];
    const size_t uses = s->batch[i].uses;
    FW_TRY(FW_GROW(&scan->records, &scan->record_capacity, uses, err));
    FW_TRY(FW_GROW(&scan->numbers, &scan->number_capacity, uses, err));
    FW_TRY(reserve_keys(scan, &s->batch[i], err));
    stats->scan_numbers[i] = scan->numbers;
  }
  fw_spin_pool_run(pool, count, number_batch, (void *)(uintptr_t)s);
  return FURROW_OK;
}

/* ---- The first pass over sparse batches ----------------------------------------------------------------- */

static float value_of(const fw_minibatch *batch, size_t use) {
  return (batch->value ? batch->value[use] : 1) + 0.0F; /* as of dense rows: -0 becomes 0 */
}

static bool is_category(const scanning *s, const fw_minibatch *batch, size_t use) {
  return s->categories && fw_feature_stats_is_category(s->stats, batch->key[use]);
}

/* In the order of rows: gives new features their numbers, and notes all values of categories. */
static furrow_status meet_features(const scanning *s, size_t i, furrow_error *err) {
  const fw_minibatch *batch = &s->batch[i];
  const batch_scan *scan = &s->stats->scans[i];
  if (scan->status != FURROW_OK && err) *err = scan->error;
  if (scan->status != FURROW_OK) return scan->status;
  for (size_t k = 0; (scan->has_unknown || s->categories) && k < batch->uses; k++) {
    void *record = NULL;
    if (scan->numbers[k] == FW_NO_FEATURE) continue;
    const bool category = is_category(s, batch, k);
    if (scan->numbers[k] != UNKNOWN && !category) continue;
    FW_TRY(fw_features_make(s->stats->features, batch->key[k], &record, err));
    seen *feature = record;
    FW_TRY(fw_feature_stats_note(s->stats, feature, batch->key[k], value_of(batch, k), category, err));
    scan->numbers[k] = feature->number - 1;
  }
  return FURROW_OK;
}

/* Reserves facts of all known features, for as many threads as the memory limit allows, and samples of all batches. */
static furrow_status reserve_facts(scanning *s, furrow_error *err) {
  fw_feature_stats *stats = s->stats;
  const size_t most = FACT_BYTES / (((size_t)stats->count + 1) * sizeof(feature_facts)) + 1;
  s->counters = most < s->count ? most : s->count;
  for (size_t i = 0; i < s->count; i++) {
    batch_scan *scan = &stats->scans[i];
    const size_t before = scan->fact_capacity;
    FW_TRY(reserve_sample(&scan->sample, s->batch[i].uses, s->batch[i].rows, err));
    if (i >= s->counters) continue;
    FW_TRY(FW_GROW(&scan->facts, &scan->fact_capacity, stats->count, err));
    for (size_t k = before; k < scan->fact_capacity; k++) scan->facts[k] = (feature_facts){0, INFINITY, -INFINITY};
  }
  return FURROW_OK;
}

static void count_row(const fw_minibatch *batch, const uint32_t *number, size_t row, feature_facts *facts) {
  for (size_t i = batch->offset[row]; i < batch->offset[row + 1]; i++) {
    const float value = value_of(batch, i);
    if (number[i] == FW_NO_FEATURE) continue;
    feature_facts *of = &facts[number[i]];
    of->count++;
    of->least = value < of->least ? value : of->least;
    of->most = value > of->most ? value : of->most;
  }
}

static void sample_row(const scanning *s, const fw_minibatch *batch, batch_scan *scan, size_t row) {
  row_sample *sample = &scan->sample;
  for (size_t i = batch->offset[row]; i < batch->offset[row + 1]; i++)
    if (scan->numbers[i] != FW_NO_FEATURE && !is_category(s, batch, i))
      sample->value[sample->count++] = (sampled){scan->numbers[i], value_of(batch, i)};
  sample->row_end[sample->rows++] = sample->count;
}

static void count_batch(const scanning *s, size_t i, feature_facts *facts) {
  const fw_minibatch *batch = &s->batch[i];
  batch_scan *scan = &s->stats->scans[i];
  uint64_t number = s->stats->first_row + s->stats->rows; /* of the batch's first row */
  for (size_t k = 0; k < i; k++) number += s->batch[k].rows;
  scan->sample.count = scan->sample.rows = 0;
  for (size_t row = 0; row < batch->rows; row++) {
    count_row(batch, scan->numbers, row, facts);
    if ((number + row) % s->stats->step == 0) sample_row(s, batch, scan, row);
  }
}

static void count_batches(void *context, size_t counter) {
  const scanning *s = context;
  for (size_t i = counter; i < s->count; i += s->counters) count_batch(s, i, s->stats->scans[counter].facts);
}

static void copy_sample(void *context, size_t i) {
  const scanning *s = context;
  const row_sample *from = &s->stats->scans[i].sample, *to = &s->stats->sample;
  size_t at = to->count, row = to->rows;
  for (size_t k = 0; k < i; k++) {
    at += s->stats->scans[k].sample.count;
    row += s->stats->scans[k].sample.rows;
  }
  if (from->count > 0) memcpy(to->value + at, from->value, from->count * sizeof *from->value);
  for (size_t k = 0; k < from->rows; k++) to->row_end[row + k] = at + from->row_end[k];
}

/* Thins out the sample once after the rows of all batches; the result is the same as thinning after each batch. */
static furrow_status join_samples(scanning *s, fw_spin_pool *pool, furrow_error *err) {
  row_sample *sample = &s->stats->sample;
  size_t values = sample->count, rows = sample->rows;
  const size_t before = sample->capacity;
  for (size_t i = 0; i < s->count; i++) {
    values += s->stats->scans[i].sample.count;
    rows += s->stats->scans[i].sample.rows;
  }
  FW_TRY(reserve_sample(sample, values, rows, err));
  if (sample->capacity > before) fw_prefer_large_pages(sample->value, sample->capacity * sizeof *sample->value);
  fw_spin_pool_run(pool, s->count, copy_sample, s);
  sample->count = values;
  sample->rows = rows;
  limit_sample(s->stats);
  return FURROW_OK;
}

static furrow_status add_sparse(fw_feature_stats *stats, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                furrow_error *err) {
  scanning s = {.stats = stats, .batch = batch, .count = count, .missing = UNKNOWN};
  s.categories = stats->plan->forest.all_categories || stats->plan->forest.category_count > 0;
  FW_TRY(number_batches(&s, pool, err));
  for (size_t i = 0; i < count; i++) FW_TRY(meet_features(&s, i, err));
  FW_TRY(reserve_facts(&s, err));
  fw_spin_pool_run(pool, s.counters, count_batches, &s);
  FW_TRY(join_samples(&s, pool, err));
  for (size_t i = 0; i < count; i++) stats->rows += batch[i].rows;
  return FURROW_OK;
}

/* To be called before features get other numbers. */
void fw_feature_stats_finish(fw_feature_stats *s) {
  for (uint32_t number = 0; s->scans && number < s->count; number++) {
    seen *feature = fw_features_find(s->features, s->ids[number]);
    for (size_t i = 0; i < s->scan_capacity; i++) {
      if (number >= s->scans[i].fact_capacity) continue;
      const feature_facts *facts = &s->scans[i].facts[number];
      feature->count += facts->count;
      feature->least = facts->least < feature->least ? facts->least : feature->least;
      feature->most = facts->most > feature->most ? facts->most : feature->most;
    }
  }
  drop_scans(s);
}

/* ---- Both kinds of rows --------------------------------------------------------------------------------- */

static furrow_status check_kind(fw_feature_stats *s, const fw_minibatch *batch, furrow_error *err) {
  const bool dense = batch->offset == NULL;
  if (!s->columns && !s->features)
    return dense ? fw_feature_stats_make_columns(s, batch->columns, err) : fw_feature_stats_make_features(s, err);
  if (s->dense != dense || (dense && batch->columns != s->column_count))
    return fw_fail(err, FURROW_E_STATE, "rows do not have the same columns as earlier rows");
  return FURROW_OK;
}

furrow_status fw_feature_stats_add(fw_feature_stats *s, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                   furrow_error *err) {
  uint64_t rows = s->first_row + s->rows;
  for (size_t i = 0; i < count; i++) {
    FW_TRY(check_kind(s, &batch[i], err));
    rows += batch[i].rows;
  }
  if (rows > FW_MAX_ROWS) return fw_fail(err, FURROW_E_RANGE, "there are more than %" PRIu64 " rows", FW_MAX_ROWS);
  if (!s->dense) return add_sparse(s, batch, count, pool, err);
  for (size_t i = 0; i < count; i++)
    for (size_t row = 0; row < batch[i].rows; row++) FW_TRY(add_dense_row(s, batch[i].x + row * batch[i].columns, err));
  return FURROW_OK;
}

static furrow_status number_columns(fw_feature_stats *s, size_t count, furrow_error *err) {
  FW_TRY(FW_GROW(&s->numbers, &s->number_capacity, s->column_count, err));
  FW_TRY(FW_GROW(&s->scan_numbers, &s->scan_numbers_capacity, count, err));
  for (size_t i = 0; i < s->column_count; i++)
    s->numbers[i] = s->columns[i].number ? s->columns[i].number - 1 : FW_NO_FEATURE;
  for (size_t i = 0; i < count; i++) s->scan_numbers[i] = s->numbers;
  return FURROW_OK;
}

furrow_status fw_feature_stats_numbers(fw_feature_stats *s, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                       const uint32_t *const **numbers, furrow_error *err) {
  const scanning scan = {.stats = s, .batch = batch, .count = count, .missing = FW_NO_FEATURE};
  for (size_t i = 0; i < count; i++) FW_TRY(check_kind(s, &batch[i], err));
  FW_TRY(s->dense ? number_columns(s, count, err) : number_batches(&scan, pool, err));
  *numbers = s->scan_numbers;
  return FURROW_OK;
}
