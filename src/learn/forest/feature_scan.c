/* learn/forest/feature_scan.c: features of sparse batches that come together, a batch for each thread.
 *
 * A batch looks up the numbers of its features beside the others. Features that nobody has met get their numbers one by
 * one, in the order of rows. Then every thread counts in facts of its own, and takes its rows of the sample; facts are
 * joined after the last batch. Counts, the least and the most do not depend on the order. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/forest/feature_stats.h"

#define UNKNOWN (FW_NO_FEATURE - 1)   /* the number of a feature that has none yet */
#define FACT_BYTES ((size_t)64 << 20) /* of all threads, about */

/* A key of the row with this stamp. */
typedef struct key_stamp {
  uint64_t key;
  uint32_t stamp;
} key_stamp;

typedef struct scanning {
  fw_feature_stats *stats;
  const fw_minibatch *batch;
  size_t count;
  uint32_t missing; /* the number of a feature that is not known */
  size_t counters;  /* threads that have facts */
} scanning;

/* ---- Numbers of features ---- */

static bool is_ascending(const uint64_t *key, size_t n) {
  bool ascending = true;
  for (size_t i = 1; i < n; i++) ascending &= key[i - 1] < key[i];
  return ascending;
}

/* Uses of features that the row had before do not count. */
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

/* Where rows have the same keys, as those of a table do, features are looked up for the first of them; else for all at
 * once, with memory prefetched. */
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

static void number_batch(void *context, size_t i) {
  const scanning *s = context;
  const fw_minibatch *batch = &s->batch[i];
  batch_scan *scan = &s->stats->scans[i];
  uint32_t most = 0;
  if (s->missing == UNKNOWN) scan->status = fw_feature_stats_check_keys(s->stats, batch, &scan->error);
  number_rows(s, scan, batch);
  for (size_t k = 0; batch->value && k < batch->uses; k++)
    if (isnan(batch->value[k])) scan->numbers[k] = FW_NO_FEATURE;
  for (size_t k = 0; k < batch->uses; k++) {
    const uint32_t next = scan->numbers[k] + 1; /* FW_NO_FEATURE becomes 0 */
    most = next > most ? next : most;
  }
  scan->has_unknown = most == UNKNOWN + 1;
}

/* ---- Memory ---- */

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
  FW_TRY(fw_alloc_zero((void **)&scan->keys, capacity, sizeof *scan->keys, err));
  scan->key_capacity = capacity;
  return FURROW_OK;
}

static furrow_status reserve_scans(fw_feature_stats *s, const fw_minibatch *batch, size_t count, furrow_error *err) {
  const size_t before = s->scan_capacity;
  FW_TRY(fw_grow((void **)&s->scans, &s->scan_capacity, count, sizeof *s->scans, err));
  if (s->scan_capacity > before) memset(s->scans + before, 0, (s->scan_capacity - before) * sizeof *s->scans);
  FW_TRY(fw_grow((void **)&s->scan_numbers, &s->scan_numbers_capacity, count, sizeof *s->scan_numbers, err));
  for (size_t i = 0; i < count; i++) {
    batch_scan *scan = &s->scans[i];
    const size_t uses = batch[i].uses;
    FW_TRY(fw_grow((void **)&scan->records, &scan->record_capacity, uses, sizeof *scan->records, err));
    FW_TRY(fw_grow((void **)&scan->numbers, &scan->number_capacity, uses, sizeof *scan->numbers, err));
    FW_TRY(reserve_keys(scan, &batch[i], err));
    s->scan_numbers[i] = scan->numbers;
    scan->status = FURROW_OK;
  }
  return FURROW_OK;
}

/* Facts of all features that are known, for so many threads as there may be memory for. */
static furrow_status reserve_facts(scanning *s, furrow_error *err) {
  fw_feature_stats *stats = s->stats;
  const size_t most = FACT_BYTES / (((size_t)stats->count + 1) * sizeof(feature_facts)) + 1;
  s->counters = most < s->count ? most : s->count;
  for (size_t i = 0; i < s->counters; i++) {
    batch_scan *scan = &stats->scans[i];
    const size_t before = scan->fact_capacity;
    FW_TRY(fw_grow((void **)&scan->facts, &scan->fact_capacity, stats->count, sizeof *scan->facts, err));
    for (size_t k = before; k < scan->fact_capacity; k++) scan->facts[k] = (feature_facts){0, INFINITY, -INFINITY};
  }
  return FURROW_OK;
}

static furrow_status reserve_samples(const scanning *s, furrow_error *err) {
  for (size_t i = 0; i < s->count; i++) {
    batch_scan *scan = &s->stats->scans[i];
    FW_TRY(fw_grow((void **)&scan->sample, &scan->sample_capacity, s->batch[i].uses, sizeof *scan->sample, err));
    FW_TRY(fw_grow((void **)&scan->row_end, &scan->row_capacity, s->batch[i].rows, sizeof *scan->row_end, err));
  }
  return FURROW_OK;
}

/* ---- The first pass ---- */

/* Features that nobody has met get their numbers, in the order of rows. */
static furrow_status meet_unknown(const scanning *s, size_t i, furrow_error *err) {
  const fw_minibatch *batch = &s->batch[i];
  const batch_scan *scan = &s->stats->scans[i];
  for (size_t k = 0; scan->has_unknown && k < batch->uses; k++) {
    void *record = NULL;
    if (scan->numbers[k] != UNKNOWN) continue;
    FW_TRY(fw_features_make(s->stats->features, batch->key[k], &record, err));
    seen *feature = record;
    const float value = (batch->value ? batch->value[k] : 1) + 0.0F;
    FW_TRY(fw_feature_stats_note(s->stats, feature, batch->key[k], value, false, err));
    scan->numbers[k] = feature->number - 1;
  }
  return FURROW_OK;
}

/* -0 becomes 0, so that values that are equal have the same bits. */
static void count_row(const fw_minibatch *batch, const uint32_t *number, size_t row, feature_facts *facts) {
  for (size_t i = batch->offset[row]; i < batch->offset[row + 1]; i++) {
    const float value = (batch->value ? batch->value[i] : 1) + 0.0F;
    if (number[i] == FW_NO_FEATURE) continue;
    feature_facts *of = &facts[number[i]];
    of->count++;
    of->least = value < of->least ? value : of->least;
    of->most = value > of->most ? value : of->most;
  }
}

static void sample_row(const fw_minibatch *batch, batch_scan *scan, size_t row) {
  for (size_t i = batch->offset[row]; i < batch->offset[row + 1]; i++)
    if (scan->numbers[i] != FW_NO_FEATURE)
      scan->sample[scan->sample_count++] = (sampled){scan->numbers[i], (batch->value ? batch->value[i] : 1) + 0.0F};
  scan->row_end[scan->sample_rows++] = scan->sample_count;
}

static void count_batch(const scanning *s, size_t i, feature_facts *facts) {
  const fw_minibatch *batch = &s->batch[i];
  batch_scan *scan = &s->stats->scans[i];
  uint64_t number = s->stats->first_row + s->stats->rows; /* of the batch's first row */
  for (size_t k = 0; k < i; k++) number += s->batch[k].rows;
  scan->sample_count = scan->sample_rows = 0;
  for (size_t row = 0; row < batch->rows; row++) {
    count_row(batch, scan->numbers, row, facts);
    if ((number + row) % s->stats->step == 0) sample_row(batch, scan, row);
  }
}

static void count_batches(void *context, size_t counter) {
  const scanning *s = context;
  for (size_t i = counter; i < s->count; i += s->counters) count_batch(s, i, s->stats->scans[counter].facts);
}

static void copy_sample(void *context, size_t i) {
  const scanning *s = context;
  const batch_scan *scan = &s->stats->scans[i];
  size_t at = s->stats->sample_count, row = s->stats->sample_rows;
  for (size_t k = 0; k < i; k++) {
    at += s->stats->scans[k].sample_count;
    row += s->stats->scans[k].sample_rows;
  }
  if (scan->sample_count > 0) memcpy(s->stats->sample + at, scan->sample, scan->sample_count * sizeof *scan->sample);
  for (size_t k = 0; k < scan->sample_rows; k++) s->stats->row_end[row + k] = at + scan->row_end[k];
}

/* The sample is thinned out after the rows of all batches: what is left is the same as after each. */
static furrow_status join_samples(scanning *s, fw_spin_pool *pool, furrow_error *err) {
  fw_feature_stats *stats = s->stats;
  size_t values = stats->sample_count, rows = stats->sample_rows;
  for (size_t i = 0; i < s->count; i++) {
    values += stats->scans[i].sample_count;
    rows += stats->scans[i].sample_rows;
  }
  const size_t before = stats->sample_capacity;
  FW_TRY(fw_grow((void **)&stats->sample, &stats->sample_capacity, values, sizeof *stats->sample, err));
  if (stats->sample_capacity > before)
    fw_prefer_large_pages(stats->sample, stats->sample_capacity * sizeof *stats->sample);
  FW_TRY(fw_grow((void **)&stats->row_end, &stats->sample_row_capacity, rows, sizeof *stats->row_end, err));
  fw_spin_pool_run(pool, s->count, copy_sample, s);
  stats->sample_count = values;
  stats->sample_rows = rows;
  while (stats->sample_count > FW_SAMPLE_VALUES && stats->sample_rows > 1) fw_feature_stats_thin(stats);
  return FURROW_OK;
}

static furrow_status check_scans(const fw_feature_stats *s, size_t count, furrow_error *err) {
  for (size_t i = 0; i < count; i++)
    if (s->scans[i].status != FURROW_OK) {
      if (err) *err = s->scans[i].error;
      return s->scans[i].status;
    }
  return FURROW_OK;
}

furrow_status fw_feature_scan_add(fw_feature_stats *stats, const fw_minibatch *batch, size_t count, fw_spin_pool *pool,
                                  furrow_error *err) {
  scanning s = {.stats = stats, .batch = batch, .count = count, .missing = UNKNOWN};
  FW_TRY(reserve_scans(stats, batch, count, err));
  fw_spin_pool_run(pool, count, number_batch, &s);
  FW_TRY(check_scans(stats, count, err));
  for (size_t i = 0; i < count; i++) FW_TRY(meet_unknown(&s, i, err));
  FW_TRY(reserve_facts(&s, err));
  FW_TRY(reserve_samples(&s, err));
  fw_spin_pool_run(pool, s.counters, count_batches, &s);
  FW_TRY(join_samples(&s, pool, err));
  for (size_t i = 0; i < count; i++) stats->rows += batch[i].rows;
  return FURROW_OK;
}

/* Before features get other numbers. */
void fw_feature_scan_finish(fw_feature_stats *s) {
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
  fw_feature_scan_clear(s);
}

/* ---- The second pass ---- */

furrow_status fw_feature_scan_numbers(fw_feature_stats *stats, const fw_minibatch *batch, size_t count,
                                      fw_spin_pool *pool, furrow_error *err) {
  scanning s = {.stats = stats, .batch = batch, .count = count, .missing = FW_NO_FEATURE};
  FW_TRY(reserve_scans(stats, batch, count, err));
  fw_spin_pool_run(pool, count, number_batch, &s);
  return FURROW_OK;
}

/* ---- Free ---- */

void fw_feature_scan_clear(fw_feature_stats *s) {
  for (size_t i = 0; i < s->scan_capacity; i++) {
    batch_scan *scan = &s->scans[i];
    void *const arrays[] = {scan->records, scan->numbers, scan->keys, scan->facts, scan->sample, scan->row_end};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) fw_free(arrays[k]);
  }
  fw_free(s->scans);
  fw_free(s->scan_numbers);
  s->scans = NULL;
  s->scan_numbers = NULL;
  s->scan_capacity = s->scan_numbers_capacity = 0;
}

size_t fw_feature_scan_memory(const fw_feature_stats *s) {
  size_t bytes = s->scan_capacity * sizeof *s->scans;
  for (size_t i = 0; i < s->scan_capacity; i++) {
    const batch_scan *scan = &s->scans[i];
    bytes += scan->record_capacity * sizeof *scan->records + scan->number_capacity * sizeof *scan->numbers +
             scan->fact_capacity * sizeof *scan->facts + scan->sample_capacity * sizeof *scan->sample;
  }
  return bytes;
}
