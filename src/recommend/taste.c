/* recommend/taste.c: scores of items from the events of a user. */
#include "recommend/taste.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "kern/math/solve.h"

furrow_status fw_taste_scratch_init(fw_taste_scratch *scratch, size_t items, furrow_error *err) {
  *scratch = (fw_taste_scratch){0};
  FW_TRY(FW_ALLOC_ZERO(&scratch->score, items, err));
  FW_TRY(FW_ALLOC_ZERO(&scratch->is_found, items, err));
  FW_TRY(FW_ALLOC_ZERO(&scratch->in_groups, items, err));
  FW_TRY(FW_ALLOC(&scratch->product, items + FW_BLOCK_VECTORS, err));
  return FW_ALLOC(&scratch->found, items, err);
}

void fw_taste_scratch_clear(fw_taste_scratch *scratch) {
  fw_free(scratch->score);
  fw_free(scratch->is_found);
  fw_free(scratch->in_groups);
  fw_free(scratch->found);
  fw_free(scratch->weight);
  fw_free(scratch->product);
  *scratch = (fw_taste_scratch){0};
}

/* ---- Weights of events ---------------------------------------------------------------------------------- */

static double decay(double age, double recency) {
  return recency > 0 ? exp(-age / recency) : 0;
}

static double event_weight(const fw_taste_rule *rule, double age, double strength) {
  const double weight = rule->recency > 0 ? decay(age, rule->recency) + rule->always : 1;
  return weight * (1 + rule->rating * strength);
}

static double own_weight(const fw_taste_rule *rule, double age) {
  return rule->own * (rule->own_recency > 0 ? decay(age, rule->own_recency) + rule->own_always : 1);
}

/* The age of event i, given the age of the event after it; events of the same time have the same age if they are not in
 * order. */
static size_t age_of(const fw_user_events *events, size_t i, size_t after) {
  const bool tied = !events->in_order && i + 1 < events->count && events->time[i] == events->time[i + 1];
  return tied ? after : events->count - 1 - i;
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void add_score(fw_taste_scratch *scratch, uint32_t item, double score) {
  if (!scratch->is_found[item]) {
    scratch->is_found[item] = 1;
    scratch->found[scratch->found_count++] = item;
  }
  scratch->score[item] += score;
}

/* Writes the weight of each event to the scratch. */
static furrow_status weigh_events(const fw_taste_rule *rule, const fw_user_events *events, fw_taste_scratch *scratch,
                                  double *sum, furrow_error *err) {
  size_t age = 0;
  *sum = 0;
  FW_TRY(FW_GROW(&scratch->weight, &scratch->weight_capacity, events->count, err));
  for (size_t i = events->count; i-- > 0;) {
    age = age_of(events, i, age);
    scratch->weight[i] = (float)event_weight(rule, (double)age, events->strength[i]);
    *sum += scratch->weight[i];
  }
  return FURROW_OK;
}

static void add_own(const fw_taste_rule *rule, const fw_user_events *events, fw_taste_scratch *scratch) {
  size_t age = 0;
  for (size_t i = events->count; i-- > 0;) {
    age = age_of(events, i, age);
    add_score(scratch, events->item[i], own_weight(rule, (double)age));
  }
}

static void add_weights(const fw_sparse_rows *weights, const fw_user_events *events, fw_taste_scratch *scratch) {
  for (size_t i = events->count; i-- > 0;) {
    const uint32_t item = events->item[i];
    for (size_t w = weights->offset[item]; w < weights->offset[item + 1]; w++)
      add_score(scratch, weights->column[w], (double)scratch->weight[i] * weights->value[w]);
  }
}

static bool uses_factors(const fw_taste *taste, const fw_user_events *events, double sum) {
  return taste->factors && taste->rule.factors > 0 && events->count > 0 && sum > 0;
}

/* Writes the user's equations to the scratch. Afterwards the mean of the events' weights is 1. */
static void write_equations(const fw_taste *taste, const fw_user_events *events, double sum,
                            fw_taste_scratch *scratch) {
  const float mean = (float)(sum / (double)events->count);
  for (size_t i = 0; i < events->count; i++) scratch->weight[i] /= mean;
  fw_factors_equations(taste->factors, events->item, scratch->weight, events->count, scratch->equations,
                       scratch->vector);
}

static void add_factors(const fw_taste *taste, const fw_user_events *events, double sum, fw_taste_scratch *scratch) {
  const double factor = taste->rule.factors * sum / (double)events->count;
  write_equations(taste, events, sum, scratch);
  fw_solve_table()->positive(taste->factors->size, scratch->equations, scratch->vector);
  fw_factors_scores(taste->factors, scratch->vector, scratch->product);
  for (size_t i = 0; i < taste->items; i++) scratch->score[i] += factor * scratch->product[i];
  for (size_t i = 0; i < taste->items; i++) scratch->found[i] = (uint32_t)i;
  memset(scratch->is_found, 1, taste->items);
  scratch->found_count = taste->items;
}

/* Multiplies the popularity of items by what the user's groups say of them; returns the largest product, which is at
 * least 1 as no factor is below 1. */
static double add_groups(const fw_taste *taste, const fw_user_events *events, fw_taste_scratch *scratch) {
  double most = 1;
  for (size_t g = 0; g < events->group_count; g++)
    for (size_t i = taste->groups->offset[events->group[g]]; i < taste->groups->offset[events->group[g] + 1]; i++) {
      const uint32_t item = taste->groups->column[i];
      double *factor = &scratch->in_groups[item];
      *factor = (*factor > 0 ? *factor : 1) * (double)taste->groups->value[i];
      most = fmax(most, *factor * (double)taste->popularity[item]);
      add_score(scratch, item, 0);
    }
  return most;
}

static double popularity_of(const fw_taste *taste, const fw_taste_scratch *scratch, uint32_t item) {
  const double factor = scratch->in_groups[item];
  return (factor > 0 ? factor : 1) * (double)taste->popularity[item];
}

static bool is_left_out(const fw_taste_filter *filter, uint32_t item) {
  return (filter->allowed && !filter->allowed[item]) || fw_item_set_has(&filter->seen, item);
}

/* Marks the user's own items, so that they are not offered as popular ones, and removes their scores. */
static void drop_own(const fw_user_events *events, fw_taste_scratch *scratch) {
  for (size_t i = 0; i < events->count; i++) {
    add_score(scratch, events->item[i], 0);
    scratch->score[events->item[i]] = -INFINITY;
  }
}

/* The weight of popularity, relative to the user's events: larger if there are few; without events it is the whole
 * score. It is always positive, because it decides between items without any other score. */
static double popular_weight(const fw_taste_rule *rule, double sum, size_t count) {
  if (count == 0) return 1;
  const double n = (double)count, weight = rule->popular * sum + rule->few * sum / (n * n);
  return weight > 1e-9 ? weight : 1e-9;
}

furrow_status fw_taste_find(const fw_taste *taste, const fw_user_events *events, const fw_taste_filter *filter,
                            fw_taste_scratch *scratch, fw_best *best, furrow_error *err) {
  double sum = 0;
  FW_TRY(weigh_events(&taste->rule, events, scratch, &sum, err));
  double popular = popular_weight(&taste->rule, sum, events->count);
  scratch->found_count = 0;
  if (taste->rule.own > 0) add_own(&taste->rule, events, scratch);
  if (taste->weights) add_weights(taste->weights, events, scratch);
  if (uses_factors(taste, events, sum)) add_factors(taste, events, sum, scratch);
  if (taste->groups) popular /= add_groups(taste, events, scratch);
  if (filter->own) drop_own(events, scratch);
  for (size_t i = 0; i < scratch->found_count; i++) {
    const uint32_t item = scratch->found[i];
    const double score = scratch->score[item] + popular * popularity_of(taste, scratch, item);
    if (best->count == best->k && score < best->heap[0].score) continue;
    if (isfinite(score) && !is_left_out(filter, item)) fw_best_offer(best, score, item);
  }
  for (size_t i = 0; i < taste->items; i++) {
    const uint32_t item = taste->by_popularity[i];
    const double score = popular * (double)taste->popularity[item];
    if (best->count == best->k && score < best->heap[0].score) break;
    if (!scratch->is_found[item] && !is_left_out(filter, item)) fw_best_offer(best, score, item);
  }
  for (size_t i = 0; i < scratch->found_count; i++) {
    scratch->score[scratch->found[i]] = 0;
    scratch->is_found[scratch->found[i]] = 0;
    scratch->in_groups[scratch->found[i]] = 0;
  }
  return FURROW_OK;
}

/* Computes the contribution of each event: by its own item and by item-item weights. */
static void explain_weights(const fw_taste *taste, const fw_user_events *events, uint32_t item,
                            const fw_taste_scratch *scratch, double *parts) {
  const fw_sparse_rows *weights = taste->weights;
  size_t age = 0;
  for (size_t i = events->count; i-- > 0;) {
    const uint32_t source = events->item[i];
    age = age_of(events, i, age);
    parts[i] = taste->rule.own > 0 && source == item ? own_weight(&taste->rule, (double)age) : 0;
    if (!weights) continue;
    size_t at = weights->offset[source];
    while (at < weights->offset[source + 1] && weights->column[at] < item) at++;
    if (at < weights->offset[source + 1] && weights->column[at] == item)
      parts[i] += (double)scratch->weight[i] * weights->value[at];
  }
}

/* The product with the user's vector is a sum over events: x solves A x = vector of the item, and event e has the part
 * weight(e) * <x, vector of its item>. */
static void explain_factors(const fw_taste *taste, const fw_user_events *events, uint32_t item, double sum,
                            fw_taste_scratch *scratch, double *parts) {
  const fw_factors *f = taste->factors;
  const double factor = taste->rule.factors * sum / (double)events->count;
  write_equations(taste, events, sum, scratch);
  for (size_t k = 0; k < f->size; k++) scratch->vector[k] = f->vectors[item * f->size + k];
  fw_solve_table()->positive(f->size, scratch->equations, scratch->vector);
  for (size_t i = 0; i < events->count; i++) {
    const double product = fw_factors_product(f, scratch->vector, f->vectors + events->item[i] * f->size);
    parts[i] += factor * (double)scratch->weight[i] * product;
  }
}

furrow_status fw_taste_explain(const fw_taste *taste, const fw_user_events *events, uint32_t item,
                               fw_taste_scratch *scratch, double *parts, furrow_error *err) {
  double sum = 0;
  FW_TRY(weigh_events(&taste->rule, events, scratch, &sum, err));
  explain_weights(taste, events, item, scratch, parts);
  if (uses_factors(taste, events, sum)) explain_factors(taste, events, item, sum, scratch, parts);
  return FURROW_OK;
}

fw_item_set fw_taste_own_items(const fw_user_events *events, uint32_t *sorted) {
  for (size_t i = 0; i < events->count; i++) sorted[i] = events->item[i];
  fw_sort_u32(sorted, events->count);
  return (fw_item_set){.items = sorted, .count = events->count};
}

/* ---- Popularity ----------------------------------------------------------------------------------------- */

bool fw_taste_is_more_popular(const float *popularity, uint32_t x, uint32_t y) {
  return popularity[x] > popularity[y] || (popularity[x] == popularity[y] && x < y);
}

static int compare_popularity(const void *a, const void *b, void *popularity) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return fw_taste_is_more_popular(popularity, y, x) - fw_taste_is_more_popular(popularity, x, y);
}

furrow_status fw_taste_order(const float *popularity, size_t items, uint32_t **order, furrow_error *err) {
  FW_TRY(FW_ALLOC(order, items, err));
  for (size_t i = 0; i < items; i++) (*order)[i] = (uint32_t)i;
  if (items > 1) qsort_r(*order, items, sizeof **order, compare_popularity, (void *)popularity);
  return FURROW_OK;
}
