/* learn/train/prepare.h: before the first epoch: what the data tells, settled in the configuration. */
#ifndef FW_LEARN_TRAIN_PREPARE_H
#define FW_LEARN_TRAIN_PREPARE_H

#include "learn/train/fit.h"

/* Reads the facts of the training data where Furrow's own defaults count: format, index base, labels, classes, fields,
 * number of epochs become keys of the trainer's configuration, its plan and net are made anew if they change, and
 * samples are scaled. Otherwise only the index base is settled. E_ARGUMENT: labels that do not fit. */
furrow_status fw_fit_prepare(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Settles the labels alone, by all rows, which are in memory. */
furrow_status fw_fit_settle_labels(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* The rows that are held out for validation, of rows in memory: fit->holdout. */
furrow_status fw_fit_hold_out(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Draws rows of all ranks as the loss asks for: folds, or (folds 1) a share. */
furrow_status fw_fit_draw(const fw_fit *fit, fw_holdout *holdout, unsigned folds, double ratio,
                          furrow_error *err) FURROW_MUST_USE;

#endif
