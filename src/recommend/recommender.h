/* recommend/recommender.h: an open model with the names, rows and vectors of its items. */
#ifndef FW_RECOMMEND_RECOMMENDER_H
#define FW_RECOMMEND_RECOMMENDER_H

#include "furrow/recommend.h"
#include "recommend/item_index.h"
#include "recommend/item_search.h"

/* All users or all items: the dictionary entries of one field. */
typedef struct fw_entries {
  char *column; /* the field's name */
  size_t field; /* number of the field */
  uint64_t count;
  char *text;        /* the names, each ends with a 0 */
  uint64_t *offsets; /* offset of each name in text */
} fw_entries;

/* How well inner products of the vectors reproduce the model's order of items. */
typedef enum fw_vector_kind {
  FW_VECTORS_NONE,
  FW_VECTORS_PART, /* they order items like a part of the model */
  FW_VECTORS_ALL   /* they order items like the whole model */
} fw_vector_kind;

/* How a model that scores rows ranks events that were held out (judge.c). */
typedef struct fw_stored_ranking {
  bool there;
  double ndcg, popular, gain, gain_error;
} fw_stored_ranking;

furrow_status fw_stored_ranking_load(fw_stored_ranking *ranking, const char *folder, furrow_error *err) FURROW_MUST_USE;

struct furrow_recommender {
  char *folder;                   /* NULL: it was fitted and not loaded */
  struct fw_log_model *log_model; /* a recommender of a log (log_model.h); NULL: a model that scores rows */
  furrow_scorer *scorer;          /* NULL: a recommender of a log */
  fw_stored_ranking ranking;      /* ranking of a model that scores rows */
  furrow_encoder *encoder;
  fw_entries users, items;
  furrow_container *rows; /* rows of the items */
  furrow_rowblock block;  /* view of `rows` */
  size_t context_fields;
  fw_vector_kind kind;
  bool linear; /* a vector is one number, the sum of the item's weights */
  size_t d;
  float *vectors;
  fw_item_search *search; /* NULL: the model has no vectors */
  furrow_recommend_method method;
  fw_item_index index;     /* used by METHOD_INDEX */
  size_t sample;           /* users in the sample that chose the method */
  uint32_t *by_popularity; /* items, the most popular first; NULL: as they are numbered */
};

/* The feature of a user or an item. */
static inline uint64_t fw_entry_feature(const furrow_recommender *r, const fw_entries *entries, uint64_t i) {
  return furrow_encoder_entry(r->encoder, entries->field, i);
}

/* Takes the names of users and items from r->encoder. */
furrow_status fw_recommender_open_names(furrow_recommender *r, furrow_error *err) FURROW_MUST_USE;

/* Writes the query vector of a user's row. */
furrow_status fw_recommender_query(const furrow_recommender *r, const furrow_row *row, float *vector,
                                   furrow_error *err) FURROW_MUST_USE;

/* Appends the row of a user. `user` must be less than users.count. */
furrow_status fw_recommender_push_user(const furrow_recommender *r, uint64_t user, furrow_container *rows,
                                       furrow_error *err) FURROW_MUST_USE;
/* Creates an empty container for rows of the encoder. */
furrow_status fw_recommender_make_rows(const furrow_recommender *r, furrow_container **rows,
                                       furrow_error *err) FURROW_MUST_USE;

/* Returns how many candidates per user the model scores (recommend.c). */
size_t fw_recommender_wanted(const furrow_recommender *r, size_t k, size_t candidates);

/* Writes the best items, best first, and fills up with FURROW_NO_ITEM. */
void fw_best_write(fw_best *best, furrow_recommendation *results);

/* ---- Ranking metrics over users (evaluate.c) ------------------------------------------------------------ */

/* Metrics of one user. */
typedef struct fw_user_figures {
  double ndcg, recall, map, mrr, hit;
} fw_user_figures;

/* hits[i] tells whether result i (from 0) is relevant. `relevant` is the number of relevant items, found or not, at
 * least 1. */
fw_user_figures fw_user_ranking(const bool *hits, size_t k, size_t relevant);

/* Sums over users; may be zero-initialized. */
typedef struct fw_user_ranking_sum {
  size_t users;
  fw_user_figures sum, squares;
} fw_user_ranking_sum;

void fw_user_ranking_add(fw_user_ranking_sum *sum, const fw_user_figures *user);
/* Writes the means and their confidence intervals. */
void fw_user_ranking_means(const fw_user_ranking_sum *sum, furrow_rank_figures *figures);

#endif
