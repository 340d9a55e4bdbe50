/* learn/train/divergence.h: a training whose loss runs away, and a model that is worse than none. */
#ifndef FW_LEARN_TRAIN_DIVERGENCE_H
#define FW_LEARN_TRAIN_DIVERGENCE_H

#include "learn/train/fit.h"

/* Whether the epoch diverged: a loss that is not a number, or one far above that of a constant, of the start, and the
 * best so far. `status` is that of training it. */
bool fw_fit_diverged(const fw_fit *fit, furrow_status status, const fw_epoch *epoch);
/* Goes back to the best epoch that is kept, or to the first weights, and halves the learning rate. After three times,
 * or where there is no way back, an error: `status`, or E_RANGE. */
furrow_status fw_fit_go_back(fw_fit *fit, furrow_status status, const fw_epoch *epoch,
                             furrow_error *err) FURROW_MUST_USE;

/* Behind the last epoch: a note if the rate was halved. */
furrow_status fw_fit_note_halvings(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* The loss of the best constant for the rows that have these figures; NaN: not known. */
double fw_fit_constant_loss(const fw_fit *fit, const furrow_learn_metrics *rows);
/* Behind the last epoch: a warning if the model is worse than a constant, on the validation rows if there are any. */
furrow_status fw_fit_compare_constant(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;

#endif
