/* learn/score/metrics.c: figures of scored rows. */
#include "learn/score/metrics.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "learn/net/net.h"

enum { SUM_ROWS, SUM_WEIGHT, SUM_LOSS, SUM_LOGLOSS, SUM_RIGHT, SUM_SQUARE, SUM_ABSOLUTE, SUM_LABEL, SUM_SCORE, SUMS };

/* The sums and counts are of numbers alone, so that ranks can add them up. */
struct fw_tally {
  const fw_graph *graph;
  fw_loss_type loss;
  double sums[SUMS];
  double *count;     /* two classes: for each bin the weight of negative rows, then of positive ones; else NULL */
  size_t begin, end; /* bins that may have rows: the others are not looked at */
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

/* What bins are of: a number that rises with the probability and has the same accuracy near 0 and near 1. */
static double rank_score(fw_loss_type loss, double out) {
  return loss == FW_LOSS_CROSS_ENTROPY ? log(out) - log1p(-out) : out;
}

static double probability(fw_loss_type loss, double score) {
  return 1 / (1 + exp(loss == FW_LOSS_HINGE ? -2 * score : -score));
}

/* ---- Gathering ------------------------------------------------------------------------------------------ */

static bool has_two_classes(fw_loss_type loss) {
  return loss == FW_LOSS_LOG || loss == FW_LOSS_HINGE || loss == FW_LOSS_CROSS_ENTROPY;
}

static bool is_regression(fw_loss_type loss) {
  return loss == FW_LOSS_L2 || loss == FW_LOSS_HUBER;
}

bool fw_loss_has_metric(fw_loss_type loss, size_t offset) {
  switch (offset) {
  case offsetof(furrow_learn_metrics, auc): return has_two_classes(loss);
  case offsetof(furrow_learn_metrics, accuracy):
  case offsetof(furrow_learn_metrics, logloss): return !is_regression(loss);
  case offsetof(furrow_learn_metrics, rmse):
  case offsetof(furrow_learn_metrics, mae): return is_regression(loss);
  default: return true;
  }
}

furrow_status fw_tally_create(fw_tally **tally, const fw_graph *graph, furrow_error *err) {
  void *memory, *count = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **tally, err);
  if (status != FURROW_OK) return status;
  if (has_two_classes(graph->loss)) status = fw_alloc_zero(&count, 2 * BINS, sizeof(double), err);
  if (status != FURROW_OK) {
    fw_free(memory);
    return status;
  }
  *tally = memory;
  **tally = (fw_tally){.graph = graph, .loss = graph->loss, .count = count, .begin = BINS};
  return FURROW_OK;
}

void fw_tally_free(fw_tally *tally) {
  if (!tally) return;
  fw_free(tally->count);
  fw_free(tally);
}

void fw_tally_clear(fw_tally *tally) {
  memset(tally->sums, 0, sizeof tally->sums);
  if (tally->end > 0)
    memset(tally->count + 2 * tally->begin, 0, 2 * (tally->end - tally->begin) * sizeof *tally->count);
  tally->begin = BINS;
  tally->end = 0;
}

/* The bins from begin to before end have rows too. */
static void widen(fw_tally *t, size_t begin, size_t end) {
  if (begin < t->begin) t->begin = begin;
  if (end > t->end) t->end = end;
}

/* The least probability that a logarithm is taken of. */
static const double least = 1e-15;

static void add_two_classes(fw_tally *t, double out, double label, double weight, double loss) {
  furrow_score score;
  fw_loss_score(t->graph, &out, &score);
  const bool positive = label > 0;
  const double right = positive ? score.proba : 1 - score.proba;
  t->sums[SUM_LOGLOSS] += weight * (t->loss == FW_LOSS_LOG ? loss : -log(right < least ? least : right));
  t->sums[SUM_RIGHT] += (score.label > 0) == positive ? weight : 0;
  t->sums[SUM_LABEL] += positive ? weight : 0;
  t->sums[SUM_SCORE] += weight * score.proba;
  const size_t bin = bin_of(rank_score(t->loss, out));
  t->count[2 * bin + positive] += weight;
  widen(t, bin, bin + 1);
}

static void add_regression(fw_tally *t, double out, double label, double weight) {
  t->sums[SUM_SQUARE] += weight * (out - label) * (out - label);
  t->sums[SUM_ABSOLUTE] += weight * fabs(out - label);
  t->sums[SUM_LABEL] += weight * label;
  t->sums[SUM_SCORE] += weight * out;
}

static void add_classes(fw_tally *t, const double *out, double label, double weight, double loss) {
  furrow_score score;
  fw_loss_score(t->graph, out, &score);
  t->sums[SUM_LOGLOSS] += weight * loss;
  t->sums[SUM_RIGHT] += score.label == label ? weight : 0;
}

void fw_tally_add(fw_tally *t, const double *out, double label, double weight) {
  const double loss = fw_loss_value(t->graph, out, label);
  t->sums[SUM_ROWS] += 1;
  t->sums[SUM_WEIGHT] += weight;
  t->sums[SUM_LOSS] += weight * loss;
  if (has_two_classes(t->loss)) {
    add_two_classes(t, *out, label, weight, loss);
  } else if (is_regression(t->loss)) {
    add_regression(t, *out, label, weight);
  } else {
    add_classes(t, out, label, weight, loss);
  }
}

void fw_tally_expect(const fw_tally *t, const double *out) {
  if (t->count) __builtin_prefetch(&t->count[2 * bin_of(rank_score(t->loss, *out))], 1);
}

void fw_tally_merge(fw_tally *into, const fw_tally *from) {
  for (size_t i = 0; i < SUMS; i++) into->sums[i] += from->sums[i];
  for (size_t i = 2 * from->begin; i < 2 * from->end; i++) into->count[i] += from->count[i];
  widen(into, from->begin, from->end);
}

furrow_status fw_tally_reduce(fw_tally *tally, const fw_comm *comm, furrow_error *err) {
  furrow_status status = comm->allreduce_f64(comm, tally->sums, SUMS, err);
  if (status != FURROW_OK || !tally->count || comm->size == 1) return status;
  widen(tally, 0, BINS); /* other ranks may have rows anywhere */
  return comm->allreduce_f64(comm, tally->count, 2 * BINS, err);
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

/* The chance that a positive row has a higher score than a negative one; a tie is half a chance. */
static double area(const fw_tally *t) {
  double negatives = 0, positives = 0, pairs = 0;
  for (size_t bin = t->begin; bin < t->end; bin++) {
    const double negative = t->count[2 * bin], positive = t->count[2 * bin + 1];
    pairs += positive * (negatives + 0.5 * negative);
    negatives += negative;
    positives += positive;
  }
  return pairs / (negatives * positives); /* 0 / 0 where one of the classes has no rows: not defined */
}

void fw_tally_metrics(const fw_tally *t, furrow_learn_metrics *metrics) {
  const bool two = has_two_classes(t->loss), regression = is_regression(t->loss);
  const double *sums = t->sums, weight = sums[SUM_WEIGHT];
  *metrics = (furrow_learn_metrics){.size = sizeof *metrics,
                                    .rows = (uint64_t)sums[SUM_ROWS],
                                    .weight = weight,
                                    .loss = sums[SUM_LOSS] / weight,
                                    .auc = two ? area(t) : NAN,
                                    .accuracy = regression ? NAN : sums[SUM_RIGHT] / weight,
                                    .logloss = regression ? NAN : sums[SUM_LOGLOSS] / weight,
                                    .rmse = regression ? sqrt(sums[SUM_SQUARE] / weight) : NAN,
                                    .mae = regression ? sums[SUM_ABSOLUTE] / weight : NAN,
                                    .mean_label = two || regression ? sums[SUM_LABEL] / weight : NAN,
                                    .mean_prediction = two || regression ? sums[SUM_SCORE] / weight : NAN};
}

void fw_tally_calibration(const fw_tally *t, size_t bins, size_t i, furrow_calibration_bin *row) {
  *row = (furrow_calibration_bin){
      .size = sizeof *row, .low = (double)i / (double)bins, .high = (double)(i + 1) / (double)bins};
  if (!t->count) return;
  double label = 0, prediction = 0;
  for (size_t bin = t->begin; bin < t->end; bin++) {
    const double weight = t->count[2 * bin] + t->count[2 * bin + 1];
    if (weight == 0) continue;
    const double p = probability(t->loss, bin_score(bin));
    if (p < row->low || (p >= row->high && i + 1 < bins)) continue;
    row->rows += weight;
    label += t->count[2 * bin + 1];
    prediction += weight * p;
  }
  if (row->rows > 0) {
    row->mean_label = label / row->rows;
    row->mean_prediction = prediction / row->rows;
  }
}

/* ---- Curves --------------------------------------------------------------------------------------------- */

typedef struct totals {
  double negatives, positives;
  size_t used; /* bins that have rows */
} totals;

static totals count_all(const fw_tally *t) {
  totals all = {0};
  for (size_t bin = t->begin; bin < t->end; bin++) {
    all.negatives += t->count[2 * bin];
    all.positives += t->count[2 * bin + 1];
    all.used += t->count[2 * bin] + t->count[2 * bin + 1] > 0;
  }
  return all;
}

/* Point `n` of `used`, from 1: is it one of the at most `capacity` that are shown? The last one always is. */
static bool is_shown(size_t n, size_t used, size_t capacity) {
  return used <= capacity || n * capacity / used != (n - 1) * capacity / used;
}

static furrow_curve_point roc_point(totals below, totals all) {
  return (furrow_curve_point){.x = below.negatives / all.negatives, .y = below.positives / all.positives};
}

static furrow_curve_point pr_point(totals below, totals all) {
  return (furrow_curve_point){.x = below.positives / all.positives,
                              .y = below.positives / (below.positives + below.negatives)};
}

/* One point for each threshold at which rows become positive, from the highest on. */
static size_t draw_curve(const fw_tally *t, furrow_curve_point (*point)(totals so_far, totals all),
                         furrow_curve_point *points, size_t capacity) {
  const totals all = count_all(t);
  if (capacity == 0 || !(all.negatives > 0) || !(all.positives > 0)) return 0;
  totals so_far = {0};
  size_t n = 0;
  for (size_t bin = t->end; bin-- > t->begin;) {
    const double negative = t->count[2 * bin], positive = t->count[2 * bin + 1];
    if (!(negative + positive > 0)) continue;
    so_far.negatives += negative;
    so_far.positives += positive;
    if (!is_shown(++so_far.used, all.used, capacity)) continue;
    points[n] = point(so_far, all);
    points[n++].threshold = probability(t->loss, bin_score(bin));
  }
  return n;
}

size_t fw_tally_roc(const fw_tally *tally, furrow_curve_point *points, size_t capacity) {
  return draw_curve(tally, roc_point, points, capacity);
}

size_t fw_tally_pr(const fw_tally *tally, furrow_curve_point *points, size_t capacity) {
  return draw_curve(tally, pr_point, points, capacity);
}
