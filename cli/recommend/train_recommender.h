/* cli/recommend/train_recommender.h: furrow train --model recommender */
#ifndef CLI_RECOMMEND_TRAIN_RECOMMENDER_H
#define CLI_RECOMMEND_TRAIN_RECOMMENDER_H

#include "core/output.h"
#include "rows/table_encoder.h"

typedef struct recommender_training {
  const char *log, *out;
  const char *schema; /* NULL: auto */
  const schema_values *columns;
  uint32_t threads;
  furrow_on_bad on_bad;
  bool force, json, quiet;
} recommender_training;

/* Fits a recommender to a log, saves it, and reports the candidates that were compared. */
furrow_status train_recommender(const recommender_training *training, output *out, furrow_error *err);

#endif
