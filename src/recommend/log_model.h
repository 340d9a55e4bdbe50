/* recommend/log_model.h: a recommender of a log as a model directory.
 *
 *   furrow.json        "algorithm": "recommender", its settings and figures (docs/formats/recommender.md)
 *   schema.json, dictionary.furrow
 *   item_item/         items x items, sparse floats: row s has the weights from item s
 *   factors/           items x numbers of a vector, floats
 *   user_groups/       groups of users x items, sparse floats: factors of the popularity
 *   popularity/        1 x items, floats
 *   events/            4 x events, doubles: user, item, time, strength; by user and time */
#ifndef FW_RECOMMEND_LOG_MODEL_H
#define FW_RECOMMEND_LOG_MODEL_H

#include "recommend/selection.h"

/* What a recommender of a log has learned. */
typedef struct fw_log_model {
  fw_rule_selection selection;
  fw_made_taste made;
  fw_interactions events; /* events of the training log */
  fw_sparse_rows groups;  /* groups of the users, if they count; events.groups views them */
  size_t k;               /* k of the figures */
  bool one_label;         /* while it is fitted: all events have the same label */
  uint64_t copies;        /* while it is fitted: events whose user, item and time an earlier one has */
  uint64_t nameless;      /* while it is fitted: rows without a user or an item of the dictionary */
  double positive;        /* the label of events that count; NaN: all do */
} fw_log_model;

void fw_log_model_free(fw_log_model *log_model);

/* Loads what a recommender has learned whose names are those of r. */
furrow_status fw_log_model_load(fw_log_model **log_model, const char *folder, const furrow_recommender *r,
                                unsigned threads, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_log_model_save(const fw_log_model *log_model, const furrow_encoder *encoder, const char *folder,
                                const furrow_matrix_write_params *params, furrow_error *err) FURROW_MUST_USE;

/* ---- Recommenders of a log (recommend_events.c) ---------------------------------------------------------- */

/* Recommends to `count` users by their events: to users[i], or to i (users NULL), of `events`. The parameters are
 * checked; params->seen is for users of r. As furrow_recommender_recommend. */
furrow_status fw_events_recommend(const furrow_recommender *r, const fw_interactions *events, const uint64_t *users,
                                  size_t count, const furrow_recommend_params *params, furrow_recommendation *results,
                                  furrow_error *err) FURROW_MUST_USE;
/* As furrow_recommender_similar. */
furrow_status fw_events_similar(const furrow_recommender *r, uint64_t item, const furrow_recommend_params *params,
                                furrow_recommendation *results, furrow_error *err) FURROW_MUST_USE;
/* As furrow_recommender_explain, for user `user` of `events`. */
furrow_status fw_events_explain(const furrow_recommender *r, const fw_interactions *events, uint64_t user,
                                uint64_t item, furrow_recommend_reason *reasons, size_t count, size_t *found,
                                furrow_error *err) FURROW_MUST_USE;
/* Writes the user's own items, ascending and each once, to *items, which grows and is freed by the caller, unless a
 * recommender of a log recommends them again: then, and for other models, there are none. */
furrow_status fw_own_items(const furrow_recommender *r, uint64_t user, const furrow_recommend_params *params,
                           uint32_t **items, size_t *capacity, fw_item_set *own, furrow_error *err) FURROW_MUST_USE;

#endif
