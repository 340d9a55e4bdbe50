/* cli/demo/demo_quality.h: baselines that the demo compares models with: the true probabilities, the most popular
 * items. Examples of recommendations. */
#ifndef CLI_DEMO_DEMO_QUALITY_H
#define CLI_DEMO_DEMO_QUALITY_H

#include "demo/demo_data.h"

enum {
  DEMO_NEAR = 10,      /* items that a user gets */
  DEMO_EXAMPLES = 6,   /* users in the report */
  DEMO_REASONS = 2,    /* items of the user that speak for an item */
  DEMO_PAST = 6,       /* last clicks of each that the report shows */
  DEMO_LIKE = 6,       /* items whose similar ones the report shows */
  DEMO_SHOWN = 5,      /* items in the report for each of both */
  DEMO_PLOTTED = 2000, /* items in the projection of vectors */
  DEMO_AXES = 4
};

/* Quality of the true probabilities on the same rows: only by chance does a model do better. */
typedef struct demo_truth {
  uint64_t rows;
  double logloss, auc;
  double click_rate, rate_logloss; /* rate_logloss: logloss of predicting the click rate for every row */
} demo_truth;

furrow_status demo_score_truth(const demo_world *world, const demo_log *log, demo_truth *truth, furrow_error *err);

/* Mean NDCG@10 over users who click on something new in `test`, if everyone gets the items with the most clicks in
 * `train` that they were not shown there: what `furrow eval --rank --relevant-from 1 --exclude train.csv` measures. */
furrow_status demo_score_popular(const demo_world *world, const demo_log *train, const demo_log *test, double *ndcg,
                                 furrow_error *err);

/* Quality of a model's recommendations, as `furrow eval --rank` prints it. */
typedef struct demo_ranking {
  uint64_t users;
  double ndcg, interval, recall, hit, coverage;
} demo_ranking;

furrow_status demo_score_ranking(demo_ranking *ranking, const char *model, uint32_t threads, furrow_error *err);

/* A recommended item. */
typedef struct demo_hit {
  uint32_t item;
  double score, chance;           /* the model's score (or similarity), and the true probability of a click */
  bool shown, clicked;            /* whether the user saw it, and clicked it, in the test rows */
  uint32_t reasons[DEMO_REASONS]; /* items of the user that speak most for it */
  size_t reason_count;
} demo_hit;

/* A user at an hour on a device: what they clicked on, what a recommender of a log gives them. */
typedef struct demo_example {
  demo_event query;
  uint32_t shown, clicked;              /* events of the user in the training rows, and clicks among them */
  uint32_t clicks[DEMO_CATEGORIES];     /* by category */
  uint32_t past[DEMO_PAST], past_count; /* the items of the last clicks, the last first */
  demo_hit hits[DEMO_SHOWN];
} demo_example;

/* An item and the items that are most similar to it. */
typedef struct demo_like {
  uint32_t item;
  demo_hit hits[DEMO_SHOWN];
} demo_like;

furrow_status demo_examples_make(demo_example examples[DEMO_EXAMPLES], const demo_world *world, const char *model,
                                 const demo_log *train, const demo_log *test, furrow_error *err);
furrow_status demo_likes_make(demo_like likes[DEMO_LIKE], const demo_world *world, const char *model,
                              furrow_error *err);

/* Projection of the items' vectors on their principal axes; the items come from the file of names. */
typedef struct demo_plane {
  size_t count;
  uint32_t *items;
  double *axes[DEMO_AXES]; /* coordinate of each item */
  double share[DEMO_AXES]; /* share of the variance along each axis */
} demo_plane;

furrow_status demo_plane_make(demo_plane *plane, const demo_world *world, const char *vectors, const char *names,
                              furrow_error *err);
void demo_plane_clear(demo_plane *plane);

#endif
