/* learn/metrics/ranking.c: rows of two classes in the order of their scores. */
#include "learn/metrics/metrics.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* The sums over all ties so far that the figures are computed from. */
typedef struct sums_of_ties {
  double negatives, positives, pairs, precisions;
} sums_of_ties;

struct fw_ranking {
  fw_loss_type loss;
  size_t exact_rows;
  fw_score_list list; /* while not binned */
  bool sorted, binned;
  bool summed; /* sums covers all rows: after the list was sorted, or after a sum over ranks, whose lists have only some
                  of the rows */
  sums_of_ties sums;
  double *count;            /* for each bin the weight of negative rows, then of positive ones */
  size_t begin, end;        /* range of bins that may have rows */
  pthread_mutex_t settling; /* lets one of several callers sort, while the others wait */
};

/* ---- Bins ----------------------------------------------------------------------------------------------- */

/* A float's bits, without the sign, ascend with its magnitude: the exponent and some bits of the mantissa number the
 * bins, 12 bits where scores mostly are, from 2^-16 to 2^7, and 10 bits from 2^-64 and up to 2^64; what is smaller or
 * larger has a bin of its own. Negative scores mirror that. */
enum {
  FINE = 23 - 12, /* bits that are dropped */
  COARSE = 23 - 10,
  ALL = 31,
  LOW = (127 - 64) << 23,
  NEAR = (127 - 16) << 23,
  FAR = (127 + 7) << 23,
  TOP = (127 + 64) << 23,
  NEAR_BIN = 1 + ((NEAR - LOW) >> COARSE),
  FAR_BIN = NEAR_BIN + ((FAR - NEAR) >> FINE),
  TOP_BIN = FAR_BIN + ((TOP - FAR) >> COARSE),
  SIDE = TOP_BIN + 1, /* bins of one sign */
  BINS = 2 * SIDE
};

static const struct stretch {
  uint32_t begin, end; /* bits of floats */
  unsigned dropped;
  size_t bin; /* its first */
} stretches[] = {{0, LOW, ALL, 0},
                 {LOW, NEAR, COARSE, 1},
                 {NEAR, FAR, FINE, NEAR_BIN},
                 {FAR, TOP, COARSE, FAR_BIN},
                 {TOP, UINT32_MAX, ALL, TOP_BIN}};

static size_t bin_of(double score) {
  const float f = (float)score + 0.0F; /* -0 becomes 0 */
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  const uint32_t magnitude = bits & 0x7fffffff;
  const struct stretch *s = stretches;
  while (magnitude >= s->end) s++;
  const size_t at = s->bin + ((magnitude - s->begin) >> s->dropped);
  return bits >> 31 ? SIDE - 1 - at : SIDE + at;
}

/* The score in the middle of a bin; 0 and 2^64 for the outermost. */
static double bin_score(size_t bin) {
  const size_t at = bin < SIDE ? SIDE - 1 - bin : bin - SIDE;
  const struct stretch *s = &stretches[sizeof stretches / sizeof *stretches - 1];
  while (at < s->bin) s--;
  const uint32_t half = s->dropped == ALL ? 0 : 1U << (s->dropped - 1);
  const uint32_t bits = s->begin + ((uint32_t)(at - s->bin) << s->dropped) + half;
  float f;
  memcpy(&f, &bits, sizeof f);
  return bin < SIDE ? -(double)f : (double)f;
}

/* The number that is binned: it rises with the probability, and is equally precise near 0 and near 1. */
static double bin_input(fw_loss_type loss, double out) {
  return loss == FW_LOSS_CROSS_ENTROPY ? log(out) - log1p(-out) : out;
}

/* ---- Gathering ------------------------------------------------------------------------------------------ */

furrow_status fw_ranking_create(fw_ranking **ranking, fw_loss_type loss, furrow_error *err) {
  fw_ranking *made = NULL;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  *made = (fw_ranking){.loss = loss, .exact_rows = FW_EXACT_ROWS, .begin = BINS};
  pthread_mutex_init(&made->settling, NULL);
  const furrow_status status = FW_ALLOC_ZERO(&made->count, 2 * BINS, err);
  return FW_HAND_OVER(status, ranking, made, fw_ranking_free);
}

void fw_ranking_free(fw_ranking *r) {
  if (!r) return;
  pthread_mutex_destroy(&r->settling);
  fw_score_list_clear(&r->list);
  fw_free(r->count);
  fw_free(r);
}

void fw_ranking_clear(fw_ranking *r, size_t exact_rows) {
  if (r->end > 0) memset(r->count + 2 * r->begin, 0, 2 * (r->end - r->begin) * sizeof *r->count);
  r->begin = BINS;
  r->end = 0;
  r->exact_rows = exact_rows;
  r->list.count = 0;
  r->sorted = r->binned = r->summed = false;
  r->sums = (sums_of_ties){0};
}

/* Extends the range of bins that have rows to begin … end-1. */
static void widen(fw_ranking *r, size_t begin, size_t end) {
  if (begin < r->begin) r->begin = begin;
  if (end > r->end) r->end = end;
}

static void add_to_bin(fw_ranking *r, double out, bool positive, double weight) {
  const size_t bin = bin_of(bin_input(r->loss, out));
  r->count[2 * bin + positive] += weight;
  widen(r, bin, bin + 1);
}

static void add_list_to_bins(fw_ranking *r, const fw_score_list *list) {
  for (size_t i = 0; i < list->count; i++)
    add_to_bin(r, fw_key_score(list->key[i]), !signbit(list->weight[i]), fabs((double)list->weight[i]));
}

/* From here on rows are counted in bins, also the rows of the list. */
static void switch_to_bins(fw_ranking *r) {
  add_list_to_bins(r, &r->list);
  fw_score_list_clear(&r->list);
  r->binned = true;
  r->summed = false;
}

/* Makes space for more rows in the list; where there is none, bins take them. */
static bool has_space(fw_ranking *r, size_t rows) {
  if (r->binned) return false;
  const size_t count = r->list.count + rows;
  if (count <= r->exact_rows && count <= r->list.weight_capacity) return true;
  if (count <= r->exact_rows && fw_score_list_reserve(&r->list, count, NULL) == FURROW_OK) return true;
  switch_to_bins(r);
  return false;
}

void fw_ranking_add(fw_ranking *r, double out, bool positive, double weight) {
  if (!has_space(r, 1)) {
    add_to_bin(r, out, positive, weight);
    return;
  }
  const size_t at = r->list.count++;
  r->list.key[at] = fw_score_key(out);
  r->list.weight[at] = copysignf((float)weight, positive ? 1.0F : -1.0F); /* a branch could not be foreseen */
  r->sorted = r->summed = false;
}

void fw_ranking_expect(const fw_ranking *r, double out) {
  if (r->binned) __builtin_prefetch(&r->count[2 * bin_of(bin_input(r->loss, out))], 1);
}

static void merge_lists(fw_ranking *into, const fw_score_list *from) {
  fw_score_list *to = &into->list;
  if (from->count == 0) return;
  memcpy(to->key + to->count, from->key, from->count * sizeof *to->key);
  memcpy(to->weight + to->count, from->weight, from->count * sizeof *to->weight);
  to->count += from->count;
  into->sorted = into->summed = false;
}

static void merge_bins(fw_ranking *into, const fw_ranking *from) {
  add_list_to_bins(into, &from->list);
  for (size_t i = 2 * from->begin; i < 2 * from->end; i++) into->count[i] += from->count[i];
  widen(into, from->begin, from->end);
}

void fw_ranking_merge(fw_ranking *into, const fw_ranking *from) {
  pthread_mutex_t *settling = (pthread_mutex_t *)&from->settling;
  pthread_mutex_lock(settling); /* nobody sorts it meanwhile */
  if (from->binned && !into->binned) switch_to_bins(into);
  if (has_space(into, from->list.count))
    merge_lists(into, &from->list);
  else
    merge_bins(into, from);
  pthread_mutex_unlock(settling);
}

/* Replaces each rank's list by the lists of all ranks, one after the other. `all` has space for all rows. */
static furrow_status gather_lists(fw_ranking *r, fw_score_list *all, const furrow_comm *comm, furrow_error *err) {
  const fw_score_list *own = &r->list;
  void *keys = NULL, *weights = NULL;
  size_t size = 0;
  furrow_status status = fw_comm_gather_all(comm, own->key, own->count * sizeof *own->key, &keys, &size, NULL, err);
  if (status == FURROW_OK)
    status = fw_comm_gather_all(comm, own->weight, own->count * sizeof *own->weight, &weights, &size, NULL, err);
  if (status == FURROW_OK) {
    all->count = size / sizeof *own->weight;
    if (size > 0) memcpy(all->key, keys, all->count * sizeof *own->key);
    if (size > 0) memcpy(all->weight, weights, size);
    fw_score_list_clear(&r->list);
    r->list = *all;
    *all = (fw_score_list){0};
    r->sorted = false;
  }
  fw_free(keys);
  fw_free(weights);
  return status;
}

/* Rows are kept as one process would keep them, if all ranks have the memory; *kept says whether they have. */
static furrow_status keep_lists(fw_ranking *r, size_t rows, const furrow_comm *comm, bool *kept, furrow_error *err) {
  fw_score_list all = {0};
  double lacking = fw_score_list_reserve(&all, rows + 1, NULL) != FURROW_OK;
  furrow_status status = fw_comm_max_f64(comm, &lacking, 1, err);
  *kept = lacking == 0;
  if (status == FURROW_OK && *kept) status = gather_lists(r, &all, comm, err);
  fw_score_list_clear(&all);
  return status;
}

furrow_status fw_ranking_reduce(fw_ranking *r, const furrow_comm *comm, furrow_error *err) {
  if (comm->ranks == 1) return FURROW_OK;
  double rows = r->binned ? (double)r->exact_rows + 1 : (double)r->list.count;
  bool kept = false;
  FW_TRY(fw_comm_sum_f64(comm, &rows, 1, err));
  if (rows <= (double)r->exact_rows) FW_TRY(keep_lists(r, (size_t)rows, comm, &kept, err));
  if (kept) return FURROW_OK;
  if (!r->binned) switch_to_bins(r);
  widen(r, 0, BINS); /* other ranks may have rows anywhere */
  return fw_comm_sum_f64(comm, r->count, 2 * BINS, err);
}

/* ---- Order ---------------------------------------------------------------------------------------------- */

/* Sorts the list before it is read. This is the only change that a const function makes, and it happens once. */
static void settle(const fw_ranking *ranking) {
  fw_ranking *r = (fw_ranking *)ranking;
  pthread_mutex_lock(&r->settling);
  if (!r->binned && !r->sorted) {
    if (fw_score_list_sort(&r->list, NULL) != FURROW_OK) switch_to_bins(r);
    r->sorted = true;
  }
  pthread_mutex_unlock(&r->settling);
}

void fw_ranking_sort(fw_ranking *r, fw_spin_pool *pool) {
  if (r->binned || r->sorted) return;
  r->sorted = fw_score_list_sort_in(&r->list, pool, NULL) == FURROW_OK;
}

/* Rows of one score, or of one bin. */
typedef struct tie {
  double negative, positive; /* weights */
  double score;
} tie;

/* Walks through all ties, from the highest score on. */
typedef struct descent {
  const fw_ranking *ranking;
  size_t at; /* one past the next row or bin */
} descent;

static descent start_descent(const fw_ranking *r) {
  settle(r);
  return (descent){r, r->binned ? r->end : r->list.count};
}

static inline void take_rows(descent *d, tie *t) {
  const fw_score_list *list = &d->ranking->list;
  const uint64_t key = list->key[d->at - 1];
  *t = (tie){.score = fw_key_score(key)};
  for (; d->at > 0 && list->key[d->at - 1] == key; d->at--) {
    const double signed_weight = (double)list->weight[d->at - 1], weight = fabs(signed_weight);
    t->positive += 0.5 * (weight + signed_weight); /* a branch could not be foreseen */
    t->negative += 0.5 * (weight - signed_weight);
  }
}

/* Finds the next tie whose weight is not 0. */
static inline bool next_tie(descent *d, tie *t) {
  const fw_ranking *r = d->ranking;
  const size_t least = r->binned ? r->begin : 0;
  while (d->at > least) {
    if (!r->binned) {
      take_rows(d, t);
    } else {
      d->at--;
      *t = (tie){r->count[2 * d->at], r->count[2 * d->at + 1], bin_score(d->at)};
    }
    if (t->negative + t->positive > 0) return true;
  }
  return false;
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

static void add_ties(const fw_ranking *r, sums_of_ties *s) {
  tie t;
  for (descent d = start_descent(r); next_tie(&d, &t);) {
    s->pairs += t.negative * (s->positives + 0.5 * t.positive);
    s->negatives += t.negative;
    s->positives += t.positive;
    s->precisions += t.positive * (s->positives / (s->positives + s->negatives));
  }
}

fw_ranking_figures fw_ranking_get_figures(const fw_ranking *r) {
  sums_of_ties s = {0};
  if (r->summed)
    s = r->sums;
  else
    add_ties(r, &s);
  return (fw_ranking_figures){.auc = s.pairs / (s.negatives * s.positives), /* 0 / 0: NaN */
                              .pr_auc = s.precisions / s.positives,
                              .binned = r->binned};
}

void fw_ranking_sum(fw_ranking *r) {
  sums_of_ties sums = {0};
  if (r->binned || r->summed) return;
  add_ties(r, &sums);
  r->sums = sums;
  r->summed = !r->binned;
}

/* ---- Figures of all ranks -------------------------------------------------------------------------------
 *
 * Every rank gets the rows of a range of scores. From the highest range on, each adds its ties to the sums of the ranks
 * before it: they have the bits of one process that has all rows. */

enum { PROBES = 32 }; /* scores of each rank from which the ranges are chosen */

typedef struct sent_row {
  uint64_t key;
  float weight;
} sent_row;

/* limits[r] is the least score of the range of rank r; limits[0] is not used. The list is sorted. */
static furrow_status choose_ranges(const fw_ranking *r, const furrow_comm *comm, uint64_t *limits, furrow_error *err) {
  const fw_score_list *list = &r->list;
  const size_t own = list->count < PROBES ? list->count : PROBES;
  uint64_t probe[PROBES];
  void *memory = NULL;
  size_t bytes = 0;
  for (size_t i = 0; i < own; i++) probe[i] = list->key[list->count * i / own];
  FW_TRY(fw_comm_gather_all(comm, probe, own * sizeof *probe, &memory, &bytes, NULL, err));
  uint64_t *all = memory;
  const size_t n = bytes / sizeof *all;
  fw_sort_u64(all, n);
  for (unsigned rank = 0; rank < comm->ranks; rank++) limits[rank] = n > 0 ? all[n * rank / comm->ranks] : 0;
  fw_free(memory);
  return FURROW_OK;
}

/* Bytes of this rank's rows for each rank. */
static void size_ranges(const fw_score_list *list, const uint64_t *limits, unsigned ranks, size_t *sizes) {
  size_t begin = 0;
  for (unsigned rank = 0; rank < ranks; rank++) {
    const size_t end = rank + 1 < ranks
                           ? fw_lower_bound_u64(list->key, list->count, sizeof *list->key, limits[rank + 1])
                           : list->count;
    sizes[rank] = (end - begin) * sizeof(sent_row);
    begin = end;
  }
}

static furrow_status take_range(fw_ranking *r, const sent_row *rows, size_t count, furrow_error *err) {
  FW_TRY(fw_score_list_reserve(&r->list, count, err));
  for (size_t i = 0; i < count; i++) {
    r->list.key[i] = rows[i].key;
    r->list.weight[i] = rows[i].weight;
  }
  r->list.count = count;
  r->sorted = false;
  return FURROW_OK;
}

/* The rows of this rank's range, from all ranks. numbers: three for each rank. */
static furrow_status exchange_ranges(fw_ranking *r, const furrow_comm *comm, uint64_t *numbers, sent_row *rows,
                                     furrow_error *err) {
  uint64_t *limits = numbers;
  size_t *sizes = (size_t *)(numbers + comm->ranks), *received = sizes + comm->ranks, count = 0;
  void *came = NULL;
  _Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are numbers of 64 bits");
  FW_TRY(choose_ranges(r, comm, limits, err));
  size_ranges(&r->list, limits, comm->ranks, sizes);
  for (size_t i = 0; i < r->list.count; i++) rows[i] = (sent_row){r->list.key[i], r->list.weight[i]};
  FW_TRY(fw_comm_exchange_all(comm, rows, sizes, &came, received, err));
  for (unsigned rank = 0; rank < comm->ranks; rank++) count += received[rank] / sizeof *rows;
  furrow_status status = take_range(r, came, count, err);
  if (status == FURROW_OK) status = fw_score_list_sort(&r->list, err);
  r->sorted = true;
  fw_free(came);
  return fw_comm_all_ok(comm, status, err);
}

static furrow_status sum_ranges(fw_ranking *r, const furrow_comm *comm, furrow_error *err) {
  r->sums = (sums_of_ties){0};
  for (unsigned rank = comm->ranks; rank-- > 0;) {
    if (rank == comm->rank) add_ties(r, &r->sums);
    FW_TRY(comm->broadcast(comm, &r->sums, sizeof r->sums, rank, err));
  }
  r->summed = true;
  return FURROW_OK;
}

/* Sorts the own rows, and makes the memory to send them. */
static furrow_status prepare_ranges(fw_ranking *r, unsigned ranks, uint64_t **numbers, sent_row **rows,
                                    furrow_error *err) {
  FW_TRY(FW_ALLOC_ROWS(numbers, ranks, 3, err));
  FW_TRY(FW_ALLOC(rows, r->list.count, err));
  return fw_score_list_sort(&r->list, err);
}

furrow_status fw_ranking_sum_ranks(fw_ranking *r, const furrow_comm *comm, furrow_error *err) {
  double rows = r->binned ? (double)r->exact_rows + 1 : (double)r->list.count;
  uint64_t *numbers = NULL;
  sent_row *sent = NULL;
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_sum_f64(comm, &rows, 1, err));
  if (rows > (double)r->exact_rows) return fw_ranking_reduce(r, comm, err);
  furrow_status status = fw_comm_all_ok(comm, prepare_ranges(r, comm->ranks, &numbers, &sent, err), err);
  if (status == FURROW_OK) status = exchange_ranges(r, comm, numbers, sent, err);
  if (status == FURROW_OK) status = sum_ranges(r, comm, err);
  fw_free(numbers);
  fw_free(sent);
  return status;
}

/* The probability of the positive class for a score of a tie. */
static double probability(const fw_ranking *r, double score) {
  if (r->loss == FW_LOSS_CROSS_ENTROPY && !r->binned) return score;
  return 1 / (1 + exp(r->loss == FW_LOSS_HINGE ? -2 * score : -score));
}

/* ---- Calibration ---------------------------------------------------------------------------------------- */

typedef struct calibration_sums {
  double weight, label, prediction;
} calibration_sums;

static void add_calibration(calibration_sums *sums, tie t, double p) {
  sums->weight += t.negative + t.positive;
  sums->label += t.positive;
  sums->prediction += (t.negative + t.positive) * p;
}

/* The first row of the sorted list that has at least this probability. */
static size_t first_row(const fw_ranking *r, double least) {
  size_t low = 0, high = r->list.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (probability(r, fw_key_score(r->list.key[middle])) < least)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static calibration_sums sum_rows(const fw_ranking *r, double low, double high, bool last) {
  calibration_sums sums = {0};
  const size_t begin = first_row(r, low);
  descent d = {r, last ? r->list.count : first_row(r, high)};
  while (d.at > begin) {
    tie t;
    take_rows(&d, &t);
    add_calibration(&sums, t, probability(r, t.score));
  }
  return sums;
}

static calibration_sums sum_bins(const fw_ranking *r, double low, double high, bool last) {
  calibration_sums sums = {0};
  tie t;
  for (descent d = {r, r->end}; next_tie(&d, &t);) {
    const double p = probability(r, t.score);
    if (p >= low && (p < high || last)) add_calibration(&sums, t, p);
  }
  return sums;
}

void fw_ranking_calibration(const fw_ranking *r, size_t bins, size_t i, furrow_calibration_bin *row) {
  const double low = (double)i / (double)bins, high = (double)(i + 1) / (double)bins;
  settle(r);
  const calibration_sums sums = (r->binned ? sum_bins : sum_rows)(r, low, high, i + 1 == bins);
  *row = (furrow_calibration_bin){.size = sizeof *row, .low = low, .high = high, .rows = sums.weight};
  if (sums.weight > 0) {
    row->mean_label = sums.label / sums.weight;
    row->mean_prediction = sums.prediction / sums.weight;
  }
}

/* ---- Curves --------------------------------------------------------------------------------------------- */

typedef struct totals {
  double negatives, positives;
  size_t ties;
} totals;

static void add_tie(totals *sums, tie t) {
  sums->negatives += t.negative;
  sums->positives += t.positive;
  sums->ties++;
}

static totals count_all(const fw_ranking *r) {
  totals all = {0};
  tie t;
  for (descent d = start_descent(r); next_tie(&d, &t);) add_tie(&all, t);
  return all;
}

/* Point `n` of `all`, from 1: is it one of the at most `capacity` that are shown? The last one always is. */
static bool is_shown(size_t n, size_t all, size_t capacity) {
  return all <= capacity || n * capacity / all != (n - 1) * capacity / all;
}

static furrow_curve_point curve_point(bool precision, totals above, totals all) {
  const double recall = above.positives / all.positives;
  if (precision) return (furrow_curve_point){.x = recall, .y = above.positives / (above.positives + above.negatives)};
  return (furrow_curve_point){.x = above.negatives / all.negatives, .y = recall};
}

/* One point for each threshold at which rows become positive, from the highest on. */
size_t fw_ranking_curve(const fw_ranking *r, bool precision, furrow_curve_point *points, size_t capacity) {
  const totals all = count_all(r);
  if (capacity == 0 || !(all.negatives > 0) || !(all.positives > 0)) return 0;
  totals above = {0};
  size_t n = 0;
  tie t;
  for (descent d = start_descent(r); next_tie(&d, &t);) {
    add_tie(&above, t);
    if (!is_shown(above.ties, all.ties, capacity)) continue;
    points[n] = curve_point(precision, above, all);
    points[n++].threshold = probability(r, t.score);
  }
  return n;
}
