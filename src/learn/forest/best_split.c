/* learn/forest/best_split.c: the split with the largest gain.
 *
 * For a leaf of value v, rows with gradients g and hessians h add G v + (H + lambda) v^2 / 2 + alpha |v| to the
 * objective; the best v lowers it by T(G)^2 / (H + lambda) / 2, where T takes alpha off |G| (Chen, Guestrin, "XGBoost:
 * a scalable tree boosting system", 2016). */
#include "learn/forest/tree_grow.h"

#include <math.h>

#include "kern/math/trees.h"

/* Gains below this share of the node's own score are rounding errors. */
#define NOISE 1e-10

static inline double threshold(double g, double alpha) {
  const double rest = fabs(g) - alpha;
  return rest > 0 ? copysign(rest, g) : 0;
}

static inline double worth_of(const fw_split_rules *rules, double gradient, double hessian) {
  const double t = threshold(gradient, rules->conf->alpha), h = hessian + rules->conf->lambda;
  return h > 0 ? t * t / h : 0;
}

double fw_leaf_step(const fw_split_rules *rules, fw_leaf_bounds bounds, double gradient, double hessian) {
  const double h = hessian + rules->conf->lambda;
  const double step = h > 0 ? 0 - threshold(gradient, rules->conf->alpha) / h : 0;
  return step < bounds.low ? bounds.low : step > bounds.high ? bounds.high : step;
}

/* Up a log link, Newton's step would go too far: to e^v times the mean, where 1 + v times is wanted. */
double fw_leaf_value(const fw_split_rules *rules, fw_leaf_bounds bounds, double gradient, double hessian) {
  const double step = fw_leaf_step(rules, bounds, gradient, hessian);
  return rules->log_link && step > 0 ? log1p(step) : step;
}

void fw_best_split_keep(const fw_cuts *cuts, fw_best_split *best, const fw_best_split *other) {
  if (!(other->gain > 0)) return;
  const bool first = best->gain == other->gain && cuts->feature[other->feature].id < cuts->feature[best->feature].id;
  if (other->gain > best->gain || first) *best = *other;
}

/* ---- One node ------------------------------------------------------------------------------------------- */

typedef struct search {
  const fw_split_rules *rules;
  fw_sum node;
  fw_gain_rule rule; /* for the cuts of a feature */
  double limit;      /* a split must gain more */
  fw_leaf_bounds bounds;
  fw_best_split best;
} search;

/* Whether values of leaves count: the feature has a direction, or the node has bounds. */
static inline bool is_constrained(const search *s, size_t feature) {
  return s->rules->direction &&
         (s->rules->direction[feature] != 0 || s->bounds.low > -INFINITY || s->bounds.high < INFINITY);
}

/* As worth_of, of a leaf with this value. */
static double worth_of_value(const fw_split_rules *rules, double gradient, double hessian, double value) {
  return -(2 * (gradient * value + rules->conf->alpha * fabs(value)) + (hessian + rules->conf->lambda) * value * value);
}

/* The score of both children within the bounds; -infinity if one is too small, or the left and the right one are in
 * the wrong order. */
static double worth_in_bounds(const search *s, size_t feature, double gradient, double hessian) {
  const double hl = hessian * s->rules->hessian_unit, hr = (s->rule.h - hessian) * s->rules->hessian_unit;
  const double gl = gradient * s->rules->gradient_unit, gr = (s->rule.g - gradient) * s->rules->gradient_unit;
  if (hl < s->rule.least || hr < s->rule.least || !(hl > 0) || !(hr > 0)) return -INFINITY;
  const double left = fw_leaf_step(s->rules, s->bounds, gl, hl), right = fw_leaf_step(s->rules, s->bounds, gr, hr);
  if (s->rules->direction[feature] * (right - left) < 0) return -INFINITY;
  return worth_of_value(s->rules, gl, hl, left) + worth_of_value(s->rules, gr, hr, right);
}

/* Returns the score of both children; negative if a child is too small. */
static inline double worth_of_split(const search *s, int64_t gradient, int64_t hessian) {
  const int64_t right = s->node.hessian - hessian;
  const double hl = (double)hessian * s->rules->hessian_unit, hr = (double)right * s->rules->hessian_unit;
  if (hl < s->rule.least || hr < s->rule.least || hessian <= 0 || right <= 0) return -1;
  const double gl = (double)gradient * s->rules->gradient_unit;
  const double gr = (double)(s->node.gradient - gradient) * s->rules->gradient_unit;
  return worth_of(s->rules, gl, hl) + worth_of(s->rules, gr, hr);
}

static inline void offer(search *s, double gain, uint32_t feature, int32_t last_left, bool absent_left, double value,
                         fw_sum left) {
  if (!(gain > s->limit)) return;
  const fw_best_split found = {gain, feature, last_left, absent_left, value, left};
  fw_best_split_keep(s->rules->all->binned->cuts, &s->best, &found);
}

static inline bool is_allowed(const search *s, size_t feature) {
  return !s->rules->allowed || s->rules->allowed[feature];
}

/* ---- One feature ---------------------------------------------------------------------------------------- */

/* The score of both children of a split between rows with a feature and rows without it, as offer_presence puts them on
 * the left and on the right. */
static double worth_of_presence(const search *s, uint32_t f, fw_sum absent) {
  const fw_cut_feature *feature = &s->rules->all->binned->cuts->feature[f];
  if (!is_constrained(s, f)) return worth_of_split(s, absent.gradient, absent.hessian);
  const bool absent_left = feature->least > 0 || (!(feature->most < 0) && feature->least > -INFINITY);
  const double g = (double)absent.gradient, h = (double)absent.hessian;
  return worth_in_bounds(s, f, absent_left ? g : s->rule.g - g, absent_left ? h : s->rule.h - h);
}

/* Offers a split that sends rows with the feature to one side, and rows without it to the other. If all values are
 * above 0, the split value is half the least value; if all are below 0, half the largest: then rows go the right way
 * where an absent feature counts as 0. Otherwise the node has to store where rows without the feature go. */
static void offer_presence(search *s, uint32_t f, fw_sum absent) {
  const fw_cut_feature *feature = &s->rules->all->binned->cuts->feature[f];
  const double gain = 0.5 * (worth_of_presence(s, f, absent) - s->rule.worth);
  const fw_sum present = {s->node.gradient - absent.gradient, s->node.hessian - absent.hessian};
  const int32_t last = (int32_t)feature->bins - 1;
  if (!(gain > s->limit)) return;
  if (feature->least > 0)
    offer(s, gain, f, -1, true, fw_cut_between(0, feature->least), absent);
  else if (feature->most < 0)
    offer(s, gain, f, last, false, fw_cut_between(feature->most, 0), present);
  else if (feature->least > -INFINITY)
    offer(s, gain, f, -1, true, 2.0 * (double)feature->least - 1.0, absent);
  else if (feature->most < INFINITY)
    offer(s, gain, f, last, false, (double)feature->most, present);
}

/* Prefix sums of a feature's bins, as doubles: sums are below 2^53, so doubles are exact. */
typedef struct running {
  double g[FW_BINS], h[FW_BINS];
  fw_sum all;
} running;

static inline void add_bin(running *r, uint32_t i, int64_t gradient, int64_t hessian) {
  r->all.gradient += gradient;
  r->all.hessian += hessian;
  r->g[i] = (double)r->all.gradient;
  r->h[i] = (double)r->all.hessian;
}

static void load_bins(const fw_histograms *all, const fw_histogram *histogram, size_t f, running *r) {
  const fw_cut_feature *feature = &all->binned->cuts->feature[f];
  const uint64_t *packed = histogram->packed + feature->first_bin;
  const fw_sum *wide = histogram->wide + all->wide_begin[f];
  r->all = (fw_sum){0, 0};
  if (all->wide_begin[f + 1] > all->wide_begin[f])
    for (uint32_t i = 0; i < feature->bins; i++) add_bin(r, i, wide[i].gradient, wide[i].hessian);
  else
    for (uint32_t i = 0; i < feature->bins; i++) add_bin(r, i, fw_pair_gradient(packed[i]), fw_pair_hessian(packed[i]));
}

/* The cut with the largest gain; if several are equal, the first. */
typedef struct best_cut {
  double gain;
  uint32_t at;
  fw_sum left;
} best_cut;

static double find_gains(const search *s, uint32_t f, const running *r, uint32_t cuts, double *gain) {
  double most = -INFINITY;
  if (!is_constrained(s, f)) return fw_trees_table()->gains(&s->rule, r->g, r->h, cuts, gain);
  for (uint32_t i = 0; i < cuts; i++) {
    gain[i] = 0.5 * (worth_in_bounds(s, f, r->g[i], r->h[i]) - s->rule.worth);
    most = gain[i] > most ? gain[i] : most;
  }
  return most;
}

static best_cut find_cut(const search *s, uint32_t f, const running *r, uint32_t cuts) {
  double gain[FW_BINS];
  best_cut best = {.gain = find_gains(s, f, r, cuts, gain)};
  while (best.at + 1 < cuts && gain[best.at] != best.gain) best.at++;
  best.left = (fw_sum){(int64_t)r->g[best.at], (int64_t)r->h[best.at]};
  return best;
}

/* Offers the best cut. Rows without the feature go to the better side; if both are equal, or there are no such rows, to
 * the side of 0. If several cuts have the same gain, the first one counts. */
static void offer_cuts(search *s, uint32_t f, running *r, fw_sum absent) {
  const fw_cuts *cuts = s->rules->all->binned->cuts;
  const fw_cut_feature *feature = &cuts->feature[f];
  const double *value = cuts->cut + feature->first_cut;
  const bool some = absent.gradient != 0 || absent.hessian != 0;
  best_cut best = find_cut(s, f, r, feature->bins - 1);
  bool absent_left = !some && value[best.at] >= 0;
  if (some) {
    for (uint32_t i = 0; i + 1 < feature->bins; i++) {
      r->g[i] += (double)absent.gradient;
      r->h[i] += (double)absent.hessian;
    }
    const best_cut with = find_cut(s, f, r, feature->bins - 1);
    const bool first = with.at < best.at || (with.at == best.at && value[with.at] >= 0);
    absent_left = with.gain > best.gain || (with.gain == best.gain && first);
    if (absent_left) best = with;
  }
  offer(s, best.gain, f, (int32_t)best.at, absent_left, value[best.at], best.left);
}

static void try_feature(search *s, const fw_histogram *histogram, uint32_t f) {
  const fw_histograms *all = s->rules->all;
  running r;
  load_bins(all, histogram, f, &r);
  const fw_sum absent = {s->node.gradient - r.all.gradient, s->node.hessian - r.all.hessian};
  if (absent.hessian > 0) offer_presence(s, f, absent);
  if (all->binned->cuts->feature[f].bins > 1) offer_cuts(s, f, &r, absent);
}

/* Tries features with one bin and packed sums: most features of sparse data. Few of them have enough rows in a node. */
static void try_singles(search *s, const fw_histogram *histogram, size_t begin, size_t end) {
  const fw_cuts *cuts = s->rules->all->binned->cuts;
  if (begin >= end) return;
  const uint64_t *packed = histogram->packed + cuts->feature[begin].first_bin;
  const double least = ceil(s->rule.least / s->rules->hessian_unit); /* exact: the unit is a power of two */
  const int64_t least_hessian = least < 1 ? 1 : least < 0x1p40 ? (int64_t)least : INT64_C(1) << 40;
  const int64_t most_hessian = s->node.hessian - least_hessian;
  for (size_t f = begin; f < end; f++) {
    const int64_t hessian = fw_pair_hessian(packed[f - begin]);
    if (hessian < least_hessian || hessian > most_hessian || !is_allowed(s, f)) continue;
    const fw_sum absent = {s->node.gradient - fw_pair_gradient(packed[f - begin]), s->node.hessian - hessian};
    const double gain = 0.5 * (worth_of_presence(s, (uint32_t)f, absent) - s->rule.worth);
    if (gain > s->limit && gain >= s->best.gain) offer_presence(s, (uint32_t)f, absent);
  }
}

/* The first feature of begin … end-1 from which on all have one bin and packed sums. */
static size_t first_single(const fw_histograms *all, size_t begin, size_t end) {
  size_t first = all->binned->cuts->single > begin ? all->binned->cuts->single : begin;
  while (first < end && all->wide_begin[first + 1] > all->wide_begin[first]) first++;
  return first < end ? first : end;
}

/* The score of the node itself. */
static double worth_of_node(const search *s) {
  const double g = s->rule.g * s->rules->gradient_unit, h = s->rule.h * s->rules->hessian_unit;
  if (!(s->bounds.low > -INFINITY || s->bounds.high < INFINITY)) return worth_of(s->rules, g, h);
  return worth_of_value(s->rules, g, h, fw_leaf_step(s->rules, s->bounds, g, h));
}

fw_best_split fw_best_split_find(const fw_split_rules *rules, const fw_histogram *histogram, fw_sum node,
                                 fw_leaf_bounds bounds, double least_hessian, size_t begin, size_t end) {
  const double g = (double)node.gradient, h = (double)node.hessian;
  search s = {.rules = rules, .node = node, .bounds = bounds};
  s.rule = (fw_gain_rule){.g_unit = rules->gradient_unit,
                          .h_unit = rules->hessian_unit,
                          .alpha = rules->conf->alpha,
                          .lambda = rules->conf->lambda,
                          .least = least_hessian,
                          .g = g,
                          .h = h};
  s.rule.worth = worth_of_node(&s);
  s.limit = fmax(rules->conf->min_gain, NOISE * fabs(s.rule.worth));
  const size_t single = first_single(rules->all, begin, end);
  for (size_t f = begin; f < single; f++)
    if (is_allowed(&s, f)) try_feature(&s, histogram, (uint32_t)f);
  try_singles(&s, histogram, single, end);
  return s.best;
}
