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

/* model_parts.c: finds what vectors the model has; makes those of the items, and of a user's row. */
furrow_status fw_recommender_make_vectors(furrow_recommender *r, furrow_error *err) FURROW_MUST_USE;
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

/* events.c. The items of a user; unknown: how many events had items that the model does not know. */
fw_item_set fw_events_of(const furrow_events *events, uint64_t user);
uint64_t fw_events_unknown(const furrow_events *events, uint64_t user);
/* Users that have events, known items or not, ascending. To be freed with fw_free. */
furrow_status fw_events_users(const furrow_events *events, uint64_t **users, size_t *count,
                              furrow_error *err) FURROW_MUST_USE;

#endif
