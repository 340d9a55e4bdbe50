/* recommend/recommender.h: a model, the names, rows and vectors of its items. */
#ifndef FW_RECOMMEND_RECOMMENDER_H
#define FW_RECOMMEND_RECOMMENDER_H

#include "furrow/recommend.h"
#include "recommend/item_index.h"
#include "recommend/item_search.h"

/* Users or items: the entries of the dictionary of a field. */
typedef struct fw_entries {
  char *column;      /* the field's name */
  size_t field;      /* its number */
  uint64_t first;    /* the feature of the first entry */
  uint64_t count;    /* entries */
  char *text;        /* the names, each with a 0 behind it */
  uint64_t *offsets; /* where they begin */
} fw_entries;

/* What the vectors of a model are worth. */
typedef enum fw_vector_kind {
  FW_VECTORS_NONE,
  FW_VECTORS_PART, /* they rank as a part of the model does */
  FW_VECTORS_ALL   /* they rank as the model does */
} fw_vector_kind;

struct furrow_recommender {
  char *folder;
  furrow_scorer *scorer;
  furrow_encoder *encoder;
  fw_entries users, items;
  furrow_container *rows; /* of the items */
  furrow_rowblock block;  /* these rows */
  size_t context_fields;
  fw_vector_kind kind;
  bool linear; /* vectors are one number: the item's weights */
  size_t d;
  float *vectors;
  fw_item_search *search; /* NULL: there are no vectors */
  furrow_recommend_method method;
  fw_item_index index; /* of METHOD_INDEX */
  size_t sample;       /* users that it was measured with */
};

/* Makes the vector of a user's row. */
furrow_status fw_recommender_query(const furrow_recommender *r, const furrow_row *row, float *vector,
                                   furrow_error *err) FURROW_MUST_USE;

/* Appends the row of a user. `user` must be below the count. */
furrow_status fw_recommender_push_user(const furrow_recommender *r, uint64_t user, furrow_container *rows,
                                       furrow_error *err) FURROW_MUST_USE;
/* Makes an empty container for rows of the encoder. */
furrow_status fw_recommender_make_rows(const furrow_recommender *r, furrow_container **rows,
                                       furrow_error *err) FURROW_MUST_USE;

/* recommend.c: how many items are found for each user before the model scores them. */
size_t fw_recommender_wanted(const furrow_recommender *r, size_t k, size_t candidates);

/* ---- Figures of rankings, user after user (evaluate.c) -------------------------------------------------- */

/* Of one user. */
typedef struct fw_user_figures {
  double ndcg, recall, map, mrr, hit;
} fw_user_figures;

/* hits[i]: whether the result of rank i + 1 is relevant; `relevant` items are, at least 1, found or not. */
fw_user_figures fw_rank_user(const bool *hits, size_t k, size_t relevant);

/* Sums over users; all zeros is none. */
typedef struct fw_rank_sum {
  size_t users;
  fw_user_figures sum, squares;
} fw_rank_sum;

void fw_rank_add(fw_rank_sum *sum, const fw_user_figures *user);
/* Writes the means and intervals. */
void fw_rank_means(const fw_rank_sum *sum, furrow_rank_figures *figures);

#endif
