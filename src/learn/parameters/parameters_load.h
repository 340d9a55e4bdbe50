/* learn/parameters/parameters_load.h: fills parameters from a model directory, ours or Angel's. */
#ifndef FW_LEARN_PARAMETERS_LOAD_H
#define FW_LEARN_PARAMETERS_LOAD_H

#include "learn/parameters/parameters.h"

/* Reads the matrix of every parameter, partition by partition: weights of this rank's own features alone. What a matrix
 * does not have stays as it is (parameters for scoring start with 0). E_NOT_FOUND names a matrix that is missing,
 * E_FORMAT one that does not fit its layer and what is wrong with it. */
furrow_status fw_parameters_load(fw_parameters *p, const char *folder, furrow_fc_order fc_order, unsigned threads,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
