/* learn/train/model_json_out.h: furrow.json, which a model has beside Angel's files: docs/formats/furrow-json.md. */
#ifndef FW_LEARN_TRAIN_MODEL_JSON_OUT_H
#define FW_LEARN_TRAIN_MODEL_JSON_OUT_H

#include "learn/train/trainer.h"

/* Its text, appended to `text`, with the figures of folds where there are some. Nothing in it depends on time, place or
 * threads. */
furrow_status fw_model_json_write(const furrow_trainer *trainer, const furrow_learn_metrics *folds, size_t fold_count,
                                  fw_buffer *text, furrow_error *err) FURROW_MUST_USE;

#endif
