/* recommend/recipe.h: how a recommender is computed from events: popularity, in groups of users, too, item-item
 * weights, factors, and the rule that joins them. */
#ifndef FW_RECOMMEND_RECIPE_H
#define FW_RECOMMEND_RECIPE_H

#include "recommend/taste.h"
#include "recommend/user_groups.h"

/* How a recommender is computed from all events. */
typedef struct fw_recipe {
  fw_taste_rule rule;
  bool weights;   /* item-item weights are used */
  double l2;      /* their regularisation */
  double order;   /* as in fw_item_item_params */
  double content; /* weight of features that items share; 0: not used */
  double trend;   /* popularity: an event has the weight exp(-(share of the log after it) / trend); 0: equal weights */
  size_t neighbours;
  bool factors; /* factors are used */
  size_t factor_size;
  double factor_others, factor_l2; /* as in fw_factors_params */
  double group_prior, group_power; /* as in fw_group_params; prior 0: groups of users do not count */
} fw_recipe;

/* What recipes may use. */
typedef struct fw_recipe_means {
  const fw_sparse_rows *features; /* a row for each feature that a few items share; NULL: none */
  fw_pool *pool;                  /* NULL: this thread */
  const uint8_t *held;            /* users who say nothing of their groups, a byte for each; NULL: none */
} fw_recipe_means;

/* What a recipe computes from events. */
typedef struct fw_made_taste {
  fw_taste_rule rule;
  size_t items;
  bool has_weights;
  fw_sparse_rows weights;
  bool has_factors;
  fw_factors factors;
  bool has_groups;
  fw_sparse_rows groups; /* factors of the popularity */
  float *popularity;
  uint32_t *by_popularity;
} fw_made_taste;

void fw_made_taste_clear(fw_made_taste *made);
/* The taste, which views *made. */
fw_taste fw_made_taste_view(const fw_made_taste *made);
/* To be cleared after a failure, too. */
furrow_status fw_recipe_make(const fw_recipe *recipe, const fw_interactions *all, const fw_recipe_means *means,
                             fw_made_taste *made, furrow_error *err) FURROW_MUST_USE;

/* Solves the item-item weights for several strengths of regularisation; weights are to be cleared after a failure,
 * too. */
furrow_status fw_recipe_solve(const fw_recipe *recipe, const fw_interactions *all, const fw_recipe_means *means,
                              const double *l2, size_t l2_count, fw_sparse_rows *weights,
                              furrow_error *err) FURROW_MUST_USE;
/* The number of neighbours and the size of factors for these events: as many as an amount of work allows, counted in
 * multiplications for the weights of all items, or for one round of learning. */
size_t fw_recipe_neighbours(const fw_interactions *all, double work);
size_t fw_recipe_factor_size(const fw_interactions *all, double work);
#define FW_RECIPE_WEIGHTS_WORK 3e10 /* of the recommender that is saved */
#define FW_RECIPE_FACTORS_WORK 2e9

#endif
