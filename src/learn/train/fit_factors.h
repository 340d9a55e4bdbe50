/* learn/train/fit_factors.h: a factorization machine of the rows of a fit, by L-BFGS: an epoch is one strength of the
 * regularisation of its vectors, each weaker than the one before. */
#ifndef FW_LEARN_TRAIN_FIT_FACTORS_H
#define FW_LEARN_TRAIN_FIT_FACTORS_H

#include "learn/train/fit_convex.h"

typedef struct fw_factor_fit fw_factor_fit;

/* Takes NULL. */
void fw_factor_fit_free(fw_factor_fit *factors);

/* Parameters that are too many: the solver keeps about twenty numbers for each. */
#define FW_FACTOR_PARAMETERS_MAX ((uint64_t)1 << 23)

#endif
