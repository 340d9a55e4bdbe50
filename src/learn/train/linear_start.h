/* learn/train/linear_start.h: a net that begins as the linear model of the data, and falls back to it. */
#ifndef FW_LEARN_TRAIN_LINEAR_START_H
#define FW_LEARN_TRAIN_LINEAR_START_H

#include "learn/train/fit_convex.h"

/* Writes the linear model into the layer of the parameters that is one, if there is such a layer. */
furrow_status fw_convex_put(const fw_convex_fit *convex, fw_parameters *parameters, furrow_error *err) FURROW_MUST_USE;

/* Before the first epoch of a net: solves fit->convex, and puts it into the net unless a checkpoint was loaded. Does
 * nothing where the plan, or the data, does not allow for it. Where numbers are predicted, fit->linear_l2 is the
 * strength that is best for the validation rows. */
furrow_status fw_linear_start(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;
/* Behind the last one: where the net is not better than the linear model on the validation rows, by a few standard
 * errors of the mean difference of their losses, the net becomes that model, solved anew with all rows; a note says so.
 */
furrow_status fw_linear_fall_back(fw_fit *fit, furrow_error *err) FURROW_MUST_USE;

#endif
