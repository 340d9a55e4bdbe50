/* learn/parameters/linear_parameters.h: a linear model, or a factorization machine, written into the parameters of a
 * graph that contains it. */
#ifndef FW_LEARN_PARAMETERS_LINEAR_PARAMETERS_H
#define FW_LEARN_PARAMETERS_LINEAR_PARAMETERS_H

#include "learn/parameters/parameters.h"

typedef struct fw_linear_model {
  const uint64_t *keys; /* ascending */
  size_t features, outputs;
  const double *weights; /* W[feature][output], then b[output] */
} fw_linear_model;

/* Whether a graph can compute a linear model alone. */
bool fw_graph_can_be_linear(const fw_graph *graph);

/* Writes the model into the input layer that is added to the output; other layers stay as they are, and a graph without
 * such a layer does, too. */
furrow_status fw_parameters_put_linear(fw_parameters *p, const fw_linear_model *model,
                                       furrow_error *err) FURROW_MUST_USE;
/* The graph computes the model alone: other layers give (almost) 0. For graphs that can be linear. */
furrow_status fw_parameters_become_linear(fw_parameters *p, const fw_linear_model *model,
                                          furrow_error *err) FURROW_MUST_USE;
/* Writes a factorization machine: for each feature a weight and its vector, then the bias. Features that it does not have
 * do not keep the vectors that were drawn for them. */
furrow_status fw_parameters_put_factors(fw_parameters *p, const uint64_t *keys, size_t features, const double *x,
                                        furrow_error *err) FURROW_MUST_USE;
/* Sets the bias that is added to the outputs as they are: of the linear layer, or of the last fc layer; parameters that
 * have neither stay as they are. */
void fw_parameters_put_bias(fw_parameters *p, const double *outputs);

#endif
