/* learn/parameters/fold.h: a scaling of features and labels, folded into parameters.
 *
 * A net that was trained on z and t (learn/data/scaling.h) is changed so that it gives the same outputs, in the units
 * of y, on x. The inverse scaling, folded afterwards, gives the first parameters back. */
#ifndef FW_LEARN_PARAMETERS_FOLD_H
#define FW_LEARN_PARAMETERS_FOLD_H

#include <stdbool.h>

#include "learn/data/scaling.h"
#include "learn/parameters/parameters.h"

/* Whether the graph can take means. Factors fit any graph. A mean is a constant that is added to vectors of an
 * embedding: an fc layer takes it into its bias (and that of BiInnerCross into the weights of the embedding beside it),
 * the input layer that is summed with BiInnerSumCross into its weights. BiInteractionCross has nothing beside it that
 * could. false for gbdt, too. */
bool fw_fold_can_centre(const fw_plan *plan);
/* Whether the graph can take a scaling of labels: a loss of regression, and before it a sum of what can be scaled. */
bool fw_fold_can_scale_labels(const fw_plan *plan);

/* Folds. The optimizer's state stays as it is: for parameters whose training has ended, or copies. Sums are made in
 * double. A feature without a record counts as 0 and stays so.
 *
 * Errors:  E_ARGUMENT, keys that do not ascend, a factor that is not above 0 and finite, or a mean that is not finite;
 *          E_RANGE, a key beyond the range of the model; E_UNSUPPORTED, a mean or labels that the graph cannot take, or
 *          an embedding with slots and a feature with a mean whose slot is unknown, beyond the slots or not its own;
 *          E_MEMORY. The parameters are as before then. */
furrow_status fw_parameters_fold(fw_parameters *p, const fw_scaling *scaling, furrow_error *err) FURROW_MUST_USE;

#endif
