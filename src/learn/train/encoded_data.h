/* learn/train/encoded_data.h: what the encoder of a raw log tells of the training. */
#ifndef FW_LEARN_TRAIN_ENCODED_DATA_H
#define FW_LEARN_TRAIN_ENCODED_DATA_H

#include "learn/train/fit.h"

/* Before anything is read: the fields of users and items, the loss of a log that has no labels, whether
 * labels are ratings. Nothing, where the
 * data are rows. */
furrow_status fw_fit_settle_encoder(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;

#endif
