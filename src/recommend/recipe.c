/* recommend/recipe.c: computes popularity and item-item weights from events. */
#include "recommend/recipe.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

enum {
  ROW_MOST = 1000,       /* the last items of a user that the weights are solved from */
  NEIGHBOURS_MOST = 200, /* more did not improve the NDCG: docs/design/recommending.md */
  FACTOR_ROUNDS = 10
};

void fw_made_taste_clear(fw_made_taste *made) {
  fw_sparse_rows_clear(&made->weights);
  fw_factors_clear(&made->factors);
  fw_sparse_rows_clear(&made->groups);
  fw_free(made->popularity);
  fw_free(made->by_popularity);
  *made = (fw_made_taste){0};
}

fw_taste fw_made_taste_view(const fw_made_taste *made) {
  return (fw_taste){.rule = made->rule,
                    .items = made->items,
                    .weights = made->has_weights ? &made->weights : NULL,
                    .factors = made->has_factors ? &made->factors : NULL,
                    .groups = made->has_groups ? &made->groups : NULL,
                    .popularity = made->popularity,
                    .by_popularity = made->by_popularity};
}

size_t fw_recipe_neighbours(const fw_interactions *all, double work) {
  const double most = cbrt(6 * work / (double)(all->items > 0 ? all->items : 1));
  return most < NEIGHBOURS_MOST ? (size_t)most : NEIGHBOURS_MOST;
}

size_t fw_recipe_factor_size(const fw_interactions *all, double work) {
  const double events = (double)all->offset[all->users], vectors = (double)(all->users + all->items);
  double size = FW_FACTORS_MOST;
  while (size > 8 && events * size * size + vectors * size * size * size / 6 > work) size /= 2;
  return (size_t)size;
}

/* ---- Popularity ----------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static size_t later_than(const double *sorted, size_t count, double time) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (sorted[middle] <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return count - low;
}

static furrow_status count_events(const fw_interactions *all, double trend, double *counts, furrow_error *err) {
  const size_t count = all->offset[all->users];
  double *sorted = NULL;
  if (trend <= 0) {
    for (size_t i = 0; i < count; i++) counts[all->item[i]]++;
    return FURROW_OK;
  }
  FW_TRY(FW_ALLOC(&sorted, count, err));
  for (size_t i = 0; i < count; i++) sorted[i] = all->time[i];
  if (count > 1) qsort(sorted, count, sizeof *sorted, compare_doubles);
  for (size_t i = 0; i < count; i++) {
    const double later = (double)later_than(sorted, count, all->time[i]) / (double)count;
    counts[all->item[i]] += exp(-later / trend);
  }
  fw_free(sorted);
  return FURROW_OK;
}

static furrow_status make_popularity(const fw_interactions *all, double trend, fw_made_taste *made, furrow_error *err) {
  double *counts = NULL, most = 0;
  furrow_status status = FW_ALLOC_ZERO(&counts, all->items, err);
  if (status == FURROW_OK) status = FW_ALLOC(&made->popularity, all->items, err);
  if (status == FURROW_OK) status = count_events(all, trend, counts, err);
  for (size_t i = 0; status == FURROW_OK && i < all->items; i++) most = counts[i] > most ? counts[i] : most;
  for (size_t i = 0; status == FURROW_OK && i < all->items; i++)
    made->popularity[i] = most > 0 ? (float)(counts[i] / most) : 0;
  if (status == FURROW_OK) status = fw_taste_order(made->popularity, all->items, &made->by_popularity, err);
  fw_free(counts);
  return status;
}

/* ---- Rows for the weights ------------------------------------------------------------------------------- */

/* Appends the last items of a user, each once and in the order of their last events. `mark` has a number for each item
 * that no earlier user has left there. */
static void append_user(const fw_interactions *all, size_t user, uint32_t *mark, fw_sparse_rows *rows) {
  const fw_user_events events = fw_interactions_of(all, user);
  size_t begin = rows->offset[rows->rows], end = begin;
  for (size_t i = events.count; i-- > 0 && end - begin < ROW_MOST;) {
    if (mark[events.item[i]] == user + 1) continue;
    mark[events.item[i]] = (uint32_t)(user + 1);
    rows->column[end] = events.item[i];
    rows->value[end++] = 1;
  }
  for (size_t a = begin, b = end; b > a + 1; a++) {
    const uint32_t swapped = rows->column[a];
    rows->column[a] = rows->column[--b];
    rows->column[b] = swapped;
  }
  rows->offset[++rows->rows] = end;
}

/* A row for each feature; features that many items share say less of each. */
static void append_features(const fw_sparse_rows *features, double content, fw_sparse_rows *rows) {
  for (size_t f = 0; f < features->rows; f++) {
    const size_t count = features->offset[f + 1] - features->offset[f];
    size_t end = rows->offset[rows->rows];
    for (size_t i = features->offset[f]; i < features->offset[f + 1]; i++, end++) {
      rows->column[end] = features->column[i];
      rows->value[end] = (float)sqrt(content / sqrt((double)count));
    }
    rows->offset[++rows->rows] = end;
  }
}

static furrow_status make_rows(const fw_recipe *recipe, const fw_interactions *all, const fw_sparse_rows *features,
                               fw_sparse_rows *rows, furrow_error *err) {
  const bool with = features && recipe->content > 0;
  const size_t events = all->offset[all->users], shared = with ? features->offset[features->rows] : 0;
  uint32_t *mark = NULL;
  *rows = (fw_sparse_rows){.columns = all->items};
  FW_TRY(FW_ALLOC(&rows->offset, all->users + (with ? features->rows : 0) + 1, err));
  FW_TRY(FW_ALLOC(&rows->column, events + shared, err));
  FW_TRY(FW_ALLOC(&rows->value, events + shared, err));
  FW_TRY(FW_ALLOC_ZERO(&mark, all->items, err));
  rows->offset[0] = 0;
  for (size_t u = 0; u < all->users; u++) append_user(all, u, mark, rows);
  if (with) append_features(features, recipe->content, rows);
  fw_free(mark);
  return FURROW_OK;
}

furrow_status fw_recipe_solve(const fw_recipe *recipe, const fw_interactions *all, const fw_recipe_means *means,
                              const double *l2, size_t l2_count, fw_sparse_rows *weights, furrow_error *err) {
  fw_sparse_rows rows = {0};
  furrow_status status = make_rows(recipe, all, means->features, &rows, err);
  const fw_item_item_params params = {.items = all->items,
                                      .neighbours = recipe->neighbours,
                                      .l2 = l2,
                                      .l2_count = l2_count,
                                      .order = recipe->order,
                                      .pool = means->pool};
  if (status == FURROW_OK) status = fw_item_item_solve(&rows, &params, weights, err);
  fw_sparse_rows_clear(&rows);
  return status;
}

/* The weight of an event is 1; values of features are meant for products of two of them. */
static void square_values(fw_sparse_rows *rows) {
  for (size_t i = 0; i < rows->offset[rows->rows]; i++) rows->value[i] *= rows->value[i];
}

static furrow_status make_factors(const fw_recipe *recipe, const fw_interactions *all, const fw_recipe_means *means,
                                  fw_factors *factors, furrow_error *err) {
  const fw_factors_params params = {
      .size = recipe->factor_size, .others = recipe->factor_others, .l2 = recipe->factor_l2, .rounds = FACTOR_ROUNDS};
  fw_sparse_rows rows = {0};
  furrow_status status = make_rows(recipe, all, means->features, &rows, err);
  if (status == FURROW_OK) square_values(&rows);
  if (status == FURROW_OK) status = fw_factors_fit(factors, &rows, &params, means->pool, err);
  fw_sparse_rows_clear(&rows);
  return status;
}

static furrow_status make_groups(const fw_recipe *recipe, const fw_interactions *all, const fw_recipe_means *means,
                                 fw_sparse_rows *factors, furrow_error *err) {
  fw_sparse_rows rows = {0};
  furrow_status status = make_rows(recipe, all, NULL, &rows, err);
  const fw_group_params params = {
      .taken = &rows, .held = means->held, .prior = recipe->group_prior, .power = recipe->group_power};
  if (status == FURROW_OK) status = fw_user_groups_solve(all->groups, &params, factors, err);
  fw_sparse_rows_clear(&rows);
  return status;
}

furrow_status fw_recipe_make(const fw_recipe *recipe, const fw_interactions *all, const fw_recipe_means *means,
                             fw_made_taste *made, furrow_error *err) {
  *made = (fw_made_taste){.rule = recipe->rule,
                          .items = all->items,
                          .has_weights = recipe->weights,
                          .has_factors = recipe->factors,
                          .has_groups = recipe->group_prior > 0 && all->groups};
  FW_TRY(make_popularity(all, recipe->trend, made, err));
  if (recipe->weights) FW_TRY(fw_recipe_solve(recipe, all, means, &recipe->l2, 1, &made->weights, err));
  if (recipe->factors) FW_TRY(make_factors(recipe, all, means, &made->factors, err));
  if (made->has_groups) FW_TRY(make_groups(recipe, all, means, &made->groups, err));
  return FURROW_OK;
}
