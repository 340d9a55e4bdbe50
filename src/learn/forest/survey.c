/* learn/forest/survey.c: counts of features, and a sample of their values.
 *
 * The sample is every k-th row; k doubles, and every other row of the sample is dropped, whenever there are too many
 * values. So it depends on the rows alone. Of features that are categories all values are kept in place of that. */
#include "learn/forest/survey.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/features.h"

#define SAMPLE_VALUES ((size_t)1 << 23) /* most values of the sample */
#define ARRAY_RANGE (UINT64_C(1) << 22) /* features of a range up to that are found by an array */
#define DENSE_SHARE 8                   /* a feature that every 8th row has is dense */
enum { NOT_MET = 0 };

/* What is known of a feature. */
typedef struct seen {
  uint32_t number; /* + 1: in order of appearance, after the cut that of fw_cuts; 0: none */
  uint32_t last;   /* stamp of the row that had it last */
  uint32_t count;
  float least, most;
} seen;

/* The different values of a category, ascending. */
typedef struct value_set {
  size_t count;
  float value[FW_BINS];
} value_set;

typedef struct sampled {
  uint32_t number;
  float value;
} sampled;

struct fw_survey {
  const fw_plan *plan;
  bool dense;    /* rows are columns */
  seen *columns; /* of dense data */
  size_t column_count;
  fw_features *features; /* of sparse data: records are `seen` */
  void **records;        /* of the uses of a batch */
  uint32_t *numbers;
  size_t record_room, number_room;
  uint32_t count, stamp;
  uint64_t rows;
  uint64_t *ids; /* of features in order of appearance */
  size_t id_room;
  value_set **sets; /* of features that are categories and have more than a value */
  size_t set_room;
  sampled *sample;
  size_t sample_count, sample_room;
  size_t *row_end; /* of each row of the sample */
  size_t sample_rows, sample_row_room;
  uint64_t step; /* every so many rows are in the sample */
};

/* ---- Create, free --------------------------------------------------------------------------------------- */

static void first_seen(const void *context, uint64_t key, void *record) {
  (void)context;
  (void)key;
  memset(record, 0, sizeof(seen));
}

static furrow_status make_features(fw_survey *s, furrow_error *err) {
  fw_features_params params = {.bytes = sizeof(seen), .first = first_seen};
  const int64_t range = s->plan->data.range;
  if (range > 0 && (uint64_t)range <= ARRAY_RANGE) params.range = (uint64_t)range;
  return fw_features_create(&s->features, &params, err);
}

furrow_status fw_survey_create(fw_survey **survey, const fw_plan *plan, furrow_error *err) {
  fw_survey *made = NULL;
  furrow_status status = fw_alloc_zero((void **)&made, 1, sizeof *made, err);
  if (status != FURROW_OK) return status;
  made->plan = plan;
  made->step = 1;
  *survey = made;
  return FURROW_OK;
}

static void drop_sample(fw_survey *s) {
  for (size_t i = 0; i < s->set_room; i++) fw_free(s->sets[i]);
  void **const arrays[] = {(void **)&s->sets, (void **)&s->sample, (void **)&s->row_end, (void **)&s->ids};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    fw_free(*arrays[i]);
    *arrays[i] = NULL;
  }
  s->set_room = s->sample_room = s->sample_row_room = s->id_room = 0;
}

void fw_survey_free(fw_survey *s) {
  if (!s) return;
  drop_sample(s);
  fw_features_free(s->features);
  fw_free(s->columns);
  fw_free(s->records);
  fw_free(s->numbers);
  fw_free(s);
}

size_t fw_survey_memory(const fw_survey *s) {
  return s->column_count * sizeof(seen) + (s->features ? fw_features_memory(s->features) : 0) +
         s->record_room * sizeof(void *) + s->number_room * sizeof(uint32_t) + s->id_room * sizeof(uint64_t) +
         s->set_room * sizeof(value_set *) + s->sample_room * sizeof(sampled) + s->sample_row_room * sizeof(size_t);
}

/* ---- Categories ----------------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static inline bool is_category(const fw_survey *s, uint64_t id) {
  const fw_forest_conf *conf = &s->plan->forest;
  return conf->all_categories || (conf->category_count > 0 &&
                                  bsearch(&id, conf->categories, conf->category_count, sizeof id, compare_ids) != NULL);
}

static furrow_status grow_sets(fw_survey *s, uint32_t number, furrow_error *err) {
  const size_t before = s->set_room;
  furrow_status status = fw_grow((void **)&s->sets, &s->set_room, (size_t)number + 1, sizeof *s->sets, err);
  for (size_t i = before; i < s->set_room; i++) s->sets[i] = NULL;
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
static furrow_status add_value(fw_survey *s, const seen *feature, uint64_t id, float value, furrow_error *err) {
  const uint32_t number = feature->number - 1;
  if (number >= s->set_room || !s->sets[number]) {
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

/* Keeps every other row: 0, 2, 4 … */
static void thin_sample(fw_survey *s) {
  size_t kept = 0, rows = 0;
  for (size_t row = 0; row < s->sample_rows; row += 2) {
    const size_t begin = row ? s->row_end[row - 1] : 0, n = s->row_end[row] - begin;
    memmove(s->sample + kept, s->sample + begin, n * sizeof *s->sample);
    kept += n;
    s->row_end[rows++] = kept;
  }
  s->sample_count = kept;
  s->sample_rows = rows;
  s->step *= 2;
}

static furrow_status sample_begin(fw_survey *s, size_t values, furrow_error *err) {
  furrow_status status =
      fw_grow((void **)&s->sample, &s->sample_room, s->sample_count + values, sizeof *s->sample, err);
  if (status == FURROW_OK)
    status = fw_grow((void **)&s->row_end, &s->sample_row_room, s->sample_rows + 1, sizeof *s->row_end, err);
  return status;
}

static void sample_end(fw_survey *s) {
  s->row_end[s->sample_rows++] = s->sample_count;
  while (s->sample_count > SAMPLE_VALUES && s->sample_rows > 1) thin_sample(s);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static furrow_status meet(fw_survey *s, seen *feature, uint64_t id, float value, furrow_error *err) {
  if (id > INT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond %d, the last that a tree can ask for", id,
                   INT32_MAX);
  furrow_status status = fw_grow((void **)&s->ids, &s->id_room, (size_t)s->count + 1, sizeof *s->ids, err);
  if (status != FURROW_OK) return status;
  s->ids[s->count++] = id;
  feature->number = s->count;
  feature->least = feature->most = value;
  return FURROW_OK;
}

/* -0 becomes 0, so that values that are equal have the same bits. */
static furrow_status see(fw_survey *s, seen *feature, uint64_t id, float value, bool in_sample, furrow_error *err) {
  value += 0.0F;
  if (feature->number == NOT_MET) {
    furrow_status status = meet(s, feature, id, value, err);
    if (status != FURROW_OK) return status;
  }
  if (is_category(s, id)) {
    furrow_status status = add_value(s, feature, id, value, err);
    if (status != FURROW_OK) return status;
  } else if (in_sample) {
    s->sample[s->sample_count++] = (sampled){feature->number - 1, value};
  }
  feature->count++;
  feature->least = value < feature->least ? value : feature->least;
  feature->most = value > feature->most ? value : feature->most;
  return FURROW_OK;
}

static furrow_status add_dense_row(fw_survey *s, const float *x, furrow_error *err) {
  const bool in_sample = s->rows % s->step == 0;
  furrow_status status = in_sample ? sample_begin(s, s->column_count, err) : FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < s->column_count; i++)
    if (!isnan(x[i])) status = see(s, &s->columns[i], i, x[i], in_sample, err);
  if (status == FURROW_OK && in_sample) sample_end(s);
  return status;
}

static furrow_status add_sparse_row(fw_survey *s, const fw_batch *batch, size_t row, furrow_error *err) {
  const bool in_sample = s->rows % s->step == 0;
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

static furrow_status make_columns(fw_survey *s, size_t columns, furrow_error *err) {
  furrow_status status = fw_alloc_zero((void **)&s->columns, columns, sizeof *s->columns, err);
  if (status != FURROW_OK) return status;
  s->dense = true;
  s->column_count = columns;
  return FURROW_OK;
}

static furrow_status check_kind(fw_survey *s, const fw_batch *batch, furrow_error *err) {
  const bool dense = batch->offset == NULL;
  if (!s->columns && !s->features) return dense ? make_columns(s, batch->columns, err) : make_features(s, err);
  if (s->dense != dense || (dense && batch->columns != s->column_count))
    return fw_fail(err, FURROW_E_STATE, "rows do not have the columns of those before them");
  return FURROW_OK;
}

static furrow_status check_keys(const fw_survey *s, const fw_batch *batch, furrow_error *err) {
  const int64_t range = s->plan->data.range;
  uint64_t largest = 0;
  for (size_t i = 0; i < batch->uses; i++) largest = batch->key[i] > largest ? batch->key[i] : largest;
  if (range <= 0 || batch->uses == 0 || largest < (uint64_t)range) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "feature %" PRIu64 " is beyond the model's range of %" PRIi64 " features",
                 largest, range);
}

furrow_status fw_survey_add(fw_survey *s, const fw_batch *batch, furrow_error *err) {
  furrow_status status = check_kind(s, batch, err);
  if (status != FURROW_OK) return status;
  if (s->rows + batch->rows > FW_MOST_ROWS)
    return fw_fail(err, FURROW_E_RANGE, "there are more than %" PRIu64 " rows", FW_MOST_ROWS);
  if (!s->dense) {
    status = check_keys(s, batch, err);
    if (status == FURROW_OK)
      status = fw_grow((void **)&s->records, &s->record_room, batch->uses, sizeof *s->records, err);
    if (status == FURROW_OK) status = fw_features_make_all(s->features, batch->key, batch->uses, s->records, err);
  }
  for (size_t row = 0; status == FURROW_OK && row < batch->rows; row++, s->rows++) {
    status = s->dense ? add_dense_row(s, batch->x + row * batch->columns, err) : add_sparse_row(s, batch, row, err);
  }
  return status;
}

/* ---- Cuts ----------------------------------------------------------------------------------------------- */

/* While cuts are chosen: the values of each feature one after the other, and room for its cuts. */
typedef struct chooser {
  fw_survey *survey;
  fw_cuts *cuts;
  seen **feature; /* in order of appearance */
  size_t *first;  /* of a feature's values; two more for its least and most */
  float *value, *spare;
  double *cut; /* FW_BINS - 1 at most of each, at `first_cut` */
  size_t *first_cut;
  uint32_t *cut_count;
} chooser;

static void clear_chooser(chooser *c) {
  void *const arrays[] = {c->feature, c->first, c->value, c->spare, c->cut, c->first_cut, c->cut_count};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
}

static value_set *set_of(const fw_survey *s, size_t number) {
  return number < s->set_room ? s->sets[number] : NULL;
}

static size_t most_cuts(const chooser *c, size_t number) {
  const value_set *set = set_of(c->survey, number);
  const size_t splits = c->survey->plan->forest.splits, values = c->first[number + 1] - c->first[number];
  if (set) return set->count - 1;
  if (c->feature[number]->least == c->feature[number]->most) return 0;
  const size_t most = splits < FW_BINS ? splits : FW_BINS - 1;
  return most < values ? most : values;
}

static furrow_status make_chooser(chooser *c, furrow_error *err) {
  const size_t n = c->survey->count;
  furrow_status status = fw_alloc((void **)&c->feature, n, sizeof *c->feature, err);
  if (status == FURROW_OK) status = fw_alloc_zero((void **)&c->first, n + 2, sizeof *c->first, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&c->first_cut, n + 1, sizeof *c->first_cut, err);
  if (status == FURROW_OK) status = fw_alloc_zero((void **)&c->cut_count, n, sizeof *c->cut_count, err);
  return status;
}

static void list_features(chooser *c) {
  fw_survey *s = c->survey;
  for (uint32_t i = 0; i < s->count; i++)
    c->feature[i] = s->dense ? &s->columns[s->ids[i]] : fw_features_find(s->features, s->ids[i]);
}

/* A counting sort by feature. */
static furrow_status sort_sample(chooser *c, furrow_error *err) {
  const fw_survey *s = c->survey;
  for (size_t i = 0; i < s->sample_count; i++) c->first[s->sample[i].number + 2]++;
  for (size_t i = 0; i < s->count; i++) c->first[i + 2] += c->first[i + 1] + 2;
  const size_t values = s->count ? c->first[s->count + 1] : 0;
  furrow_status status = fw_alloc((void **)&c->value, values, sizeof *c->value, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&c->spare, values, sizeof *c->spare, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < s->count; i++) {
    c->value[c->first[i + 1]++] = c->feature[i]->least;
    c->value[c->first[i + 1]++] = c->feature[i]->most;
  }
  for (size_t i = 0; i < s->sample_count; i++) c->value[c->first[s->sample[i].number + 1]++] = s->sample[i].value;
  return FURROW_OK;
}

static furrow_status make_cut_room(chooser *c, furrow_error *err) {
  const size_t n = c->survey->count;
  c->first_cut[0] = 0;
  for (size_t i = 0; i < n; i++) c->first_cut[i + 1] = c->first_cut[i] + most_cuts(c, i);
  return fw_alloc((void **)&c->cut, c->first_cut[n], sizeof *c->cut, err);
}

static void choose_cuts(void *context, size_t i) {
  chooser *c = context;
  value_set *set = set_of(c->survey, i);
  const size_t room = c->first_cut[i + 1] - c->first_cut[i];
  double *cut = c->cut + c->first_cut[i];
  if (room == 0) return;
  if (set) {
    c->cut_count[i] = (uint32_t)fw_cuts_choose(set->value, set->count, NULL, FW_BINS, cut);
    return;
  }
  const size_t first = c->first[i], n = c->first[i + 1] - first;
  c->cut_count[i] = (uint32_t)fw_cuts_choose(c->value + first, n, c->spare + first, room, cut);
}

/* A feature that has one bin and all rows have can split nothing. */
static bool is_useful(const chooser *c, size_t i) {
  return c->cut_count[i] > 0 || c->feature[i]->count < c->survey->rows;
}

static bool is_dense(const fw_survey *s, uint64_t count) {
  return s->dense || count > s->rows / DENSE_SHARE;
}

typedef enum rank_kind { DENSE, MANY_BINS, ONE_BIN } rank_kind;

typedef struct ranked {
  rank_kind kind;
  uint32_t number; /* in order of appearance */
  uint64_t id, count;
} ranked;

/* Dense ones by id, then the others by their frequency, those of one bin last. */
static int compare_ranks(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->kind != DENSE && x->count != y->count) return x->count > y->count ? -1 : 1;
  return (x->id > y->id) - (x->id < y->id);
}

static int compare_ranks_by_id(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

static size_t rank_features(const chooser *c, ranked *rank) {
  size_t n = 0;
  for (uint32_t i = 0; i < c->survey->count; i++) {
    if (!is_useful(c, i)) continue;
    const uint64_t count = c->feature[i]->count;
    const rank_kind kind = is_dense(c->survey, count) ? DENSE : c->cut_count[i] ? MANY_BINS : ONE_BIN;
    rank[n++] = (ranked){kind, i, c->survey->ids[i], count};
  }
  qsort(rank, n, sizeof *rank, compare_ranks);
  return n;
}

static furrow_status make_cuts(fw_cuts *cuts, size_t features, size_t cut_count, furrow_error *err) {
  furrow_status status = fw_alloc((void **)&cuts->feature, features, sizeof *cuts->feature, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&cuts->by_id, features, sizeof *cuts->by_id, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&cuts->cut, cut_count, sizeof *cuts->cut, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&cuts->edge, cut_count, sizeof *cuts->edge, err);
  return status;
}

/* The nearest float may be above the cut. */
static float edge_below(double cut) {
  float edge = (float)cut;
  if ((double)edge > cut) edge = nextafterf(edge, -INFINITY);
  return edge;
}

/* Dense features end with a whole group. */
static void start_sparse(fw_cuts *cuts) {
  const size_t groups = (cuts->dense + FW_DENSE_GROUP - 1) / FW_DENSE_GROUP;
  cuts->bins = cuts->first_sparse_bin = groups * FW_DENSE_GROUP * FW_BINS_APART;
}

static void place_feature(const chooser *c, const ranked *rank) {
  fw_cuts *cuts = c->cuts;
  const seen *of = c->feature[rank->number];
  const uint32_t n = c->cut_count[rank->number];
  const double *cut = c->cut + c->first_cut[rank->number];
  if (rank->kind != DENSE && cuts->count == cuts->dense) start_sparse(cuts);
  cuts->feature[cuts->count++] = (fw_cut_feature){.id = rank->id,
                                                  .count = rank->count,
                                                  .least = of->least,
                                                  .most = of->most,
                                                  .bins = n + 1,
                                                  .first_bin = (uint32_t)cuts->bins,
                                                  .first_cut = cuts->cut_count};
  cuts->bins += rank->kind == DENSE ? FW_BINS_APART : n + 1;
  cuts->dense += rank->kind == DENSE;
  cuts->single += rank->kind != ONE_BIN;
  for (uint32_t i = 0; i < n; i++) {
    cuts->cut[cuts->cut_count] = cut[i];
    cuts->edge[cuts->cut_count++] = edge_below(cut[i]);
  }
}

static furrow_status place_features(const chooser *c, ranked *rank, furrow_error *err) {
  const size_t n = rank_features(c, rank);
  size_t cut_count = 0;
  for (size_t i = 0; i < c->survey->count; i++) cut_count += c->cut_count[i];
  if (n + FW_DENSE_GROUP > (UINT32_MAX - cut_count) / FW_BINS_APART)
    return fw_fail(err, FURROW_E_RANGE, "there are too many features");
  furrow_status status = make_cuts(c->cuts, n, cut_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < c->survey->count; i++) c->feature[i]->number = 0;
  for (size_t i = 0; i < n; i++) {
    place_feature(c, &rank[i]);
    c->feature[rank[i].number]->number = (uint32_t)i + 1;
    rank[i].number = (uint32_t)i;
  }
  if (c->cuts->count == c->cuts->dense) start_sparse(c->cuts);
  c->cuts->single_offset = c->cuts->bins - c->cuts->count;
  qsort(rank, n, sizeof *rank, compare_ranks_by_id);
  for (size_t i = 0; i < n; i++) c->cuts->by_id[i] = rank[i].number;
  c->cuts->rows = c->survey->rows;
  return FURROW_OK;
}

static furrow_status fill_edges(fw_cuts *cuts, furrow_error *err) {
  const size_t n = cuts->dense * FW_BINS_APART;
  furrow_status status = fw_alloc((void **)&cuts->full_edge, n, sizeof *cuts->full_edge, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    const fw_cut_feature *feature = &cuts->feature[i / FW_BINS_APART];
    const size_t edge = i % FW_BINS_APART;
    cuts->full_edge[i] = edge + 1 < feature->bins ? cuts->edge[feature->first_cut + edge] : INFINITY;
  }
  return status;
}

furrow_status fw_survey_cut(fw_survey *s, fw_crew *crew, fw_cuts **cuts, furrow_error *err) {
  chooser c = {.survey = s};
  ranked *rank = NULL;
  furrow_status status = fw_alloc_zero((void **)&c.cuts, 1, sizeof *c.cuts, err);
  if (status == FURROW_OK) status = make_chooser(&c, err);
  if (status != FURROW_OK) goto done;
  list_features(&c);
  status = sort_sample(&c, err);
  if (status == FURROW_OK) status = make_cut_room(&c, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&rank, s->count, sizeof *rank, err);
  if (status != FURROW_OK) goto done;
  fw_crew_run(crew, s->count, choose_cuts, &c);
  status = place_features(&c, rank, err);
  if (status == FURROW_OK) status = fill_edges(c.cuts, err);
done:
  if (status == FURROW_OK) {
    *cuts = c.cuts;
    drop_sample(s);
  } else {
    fw_cuts_free(c.cuts);
  }
  clear_chooser(&c);
  fw_free(rank);
  return status;
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static void number_uses(fw_survey *s, const fw_batch *batch) {
  for (size_t row = 0; row < batch->rows; row++) {
    s->stamp++;
    for (size_t i = batch->offset[row]; i < batch->offset[row + 1]; i++) {
      seen *feature = s->records[i];
      const bool again = !feature || feature->last == s->stamp;
      s->numbers[i] = again || feature->number == 0 ? FW_NO_FEATURE : feature->number - 1;
      if (!again) feature->last = s->stamp;
    }
  }
}

furrow_status fw_survey_numbers(fw_survey *s, const fw_batch *batch, const uint32_t **numbers, furrow_error *err) {
  furrow_status status = check_kind(s, batch, err);
  const size_t n = s->dense ? s->column_count : batch->uses;
  if (status == FURROW_OK) status = fw_grow((void **)&s->numbers, &s->number_room, n, sizeof *s->numbers, err);
  if (status == FURROW_OK && !s->dense)
    status = fw_grow((void **)&s->records, &s->record_room, n, sizeof *s->records, err);
  if (status != FURROW_OK) return status;
  if (s->dense) {
    for (size_t i = 0; i < n; i++) s->numbers[i] = s->columns[i].number ? s->columns[i].number - 1 : FW_NO_FEATURE;
  } else {
    fw_features_find_all(s->features, batch->key, n, NULL, s->records);
    number_uses(s, batch);
  }
  *numbers = s->numbers;
  return FURROW_OK;
}
