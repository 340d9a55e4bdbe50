/* learn/train/leave_out.h: rows that a fit leaves out: a fold, which is scored at the end, or all but a share. */
#ifndef FW_LEARN_TRAIN_LEAVE_OUT_H
#define FW_LEARN_TRAIN_LEAVE_OUT_H

#include "learn/train/fit.h"

/* Takes the rows that the parameters leave out from the samples, before anything is learned of them but the labels
 * that there are. E_ARGUMENT: folds or a share that make no sense, or rows that are not in memory. */
furrow_status fw_fit_leave_out(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* The figures of the fold, by the model as it is now: trainer->fold. */
furrow_status fw_fit_score_fold(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;

#endif
