/* recommend/log_model.h: a recommender of a log as a model directory.
 *
 *   furrow.json        "algorithm": "recommender", its settings and figures (docs/formats/recommender.md)
 *   schema.json, dictionary.furrow
 *   item_item/         items x items, sparse floats: row s has the weights from item s
 *   popularity/        1 x items, floats
 *   events/            4 x events, doubles: user, item, time, strength; by user and time */
#ifndef FW_RECOMMEND_LOG_MODEL_H
#define FW_RECOMMEND_LOG_MODEL_H

#include "recommend/selection.h"

/* What a recommender of a log has learned. */
typedef struct fw_log_model {
  fw_rule_selection selection;
  fw_made_taste made;
  fw_interactions events; /* of the training log */
  size_t k;               /* of the figures */
  double positive;        /* the label of events that count; NaN: all do */
} fw_log_model;

void fw_log_model_free(fw_log_model *log_model);

/* Whether a model directory has a recommender of a log. */
furrow_status fw_log_model_is_in(const char *folder, bool *is, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_log_model_load(fw_log_model **log_model, const char *folder, size_t users, size_t items,
                                unsigned threads, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_log_model_save(const fw_log_model *log_model, const furrow_encoder *encoder, const char *folder,
                                const furrow_matrix_write_params *params, furrow_error *err) FURROW_MUST_USE;

#endif
