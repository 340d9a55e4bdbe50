/* cli/demo/demo_quality.h: comparisons of the demo: models with the true probabilities, the index with the model. */
#ifndef CLI_DEMO_DEMO_QUALITY_H
#define CLI_DEMO_DEMO_QUALITY_H

#include "demo/demo_data.h"

enum {
  DEMO_NEAR = 10,     /* items that a search returns */
  DEMO_EXAMPLES = 6,  /* users in the report */
  DEMO_SHOWN = 5,     /* items in the report for each user */
  DEMO_PLOTTED = 2000 /* items in the projection of embeddings */
};

/* Quality of the true probabilities on the same rows: only by chance does a model do better. */
typedef struct demo_truth {
  uint64_t rows;
  double logloss, auc;
  double click_rate, rate_logloss; /* rate_logloss: logloss of predicting the click rate for every row */
} demo_truth;

furrow_status demo_score_truth(const demo_world *world, const char *rows, demo_truth *truth, furrow_error *err);

/* Scores of the first n queries with every item, as `furrow predict --scores` wrote them: three floats per row. */
typedef struct demo_scores {
  uint32_t queries, items;
  float *pred;    /* `items` values for each query */
  uint32_t *best; /* the DEMO_NEAR best items of each query, the best first */
} demo_scores;

furrow_status demo_scores_load(demo_scores *scores, const demo_world *world, uint32_t queries, const char *path,
                               furrow_error *err);
void demo_scores_clear(demo_scores *scores);
/* Returns the rank of an item among all by its score, from 1. */
uint32_t demo_scores_rank(const demo_scores *scores, uint32_t query, uint32_t item);

/* Results of an index. */
typedef struct demo_found {
  int64_t *ids;    /* DEMO_NEAR for each query */
  float *nearness; /* the inner products */
} demo_found;

furrow_status demo_found_load(demo_found *found, uint32_t queries, const char *ids, const char *nearness,
                              furrow_error *err);
void demo_found_clear(demo_found *found);
/* Mean share of the exact best items among the found ones. */
double demo_overlap(const demo_scores *scores, const demo_found *found);
/* Mean share of one model's best items among those of another. */
double demo_agreement(const demo_scores *a, const demo_scores *b);

/* An item that was found, and the parts of its score. */
typedef struct demo_hit {
  uint32_t item, exact_rank;
  double exact, by_index;                   /* scores, by the model and by the index */
  double user_item, context_item, item_own; /* parts of the score; together with z(query) they give `exact` */
  double chance;                            /* true probability */
} demo_hit;

typedef struct demo_example {
  demo_event query;
  double query_part;          /* z(query) */
  uint32_t shown, clicked;    /* in the training rows */
  uint32_t seen[DEMO_TOPICS]; /* clicks by topic of the item */
  demo_hit hits[DEMO_SHOWN];
} demo_example;

furrow_status demo_examples_make(demo_example examples[DEMO_EXAMPLES], const demo_world *world, const char *model,
                                 const char *rows, const demo_scores *scores, const demo_found *found,
                                 furrow_error *err);

/* Projection of the first items' embeddings on their principal axes. */
enum { DEMO_AXES = 4 };
typedef struct demo_plane {
  size_t count;
  double *axes[DEMO_AXES]; /* coordinate of each item */
  double share[DEMO_AXES]; /* share of the variance along each axis */
} demo_plane;

furrow_status demo_plane_make(demo_plane *plane, const char *vectors, furrow_error *err);
void demo_plane_clear(demo_plane *plane);

#endif
