/* learn/layers/elementwise.h: products of the inputs of a layer, element by element. */
#ifndef FW_LEARN_LAYERS_ELEMENTWISE_H
#define FW_LEARN_LAYERS_ELEMENTWISE_H

#include "learn/layers/layer.h"

/* The product of element i of all inputs but one; `without` = their number: of all. */
static inline real product_without(const node *self, const real_pass *pass, size_t i, size_t without) {
  real product = 1;
  for (size_t k = 0; k < self->layer->input_count; k++)
    if (k != without) product *= pass->tensors[self->layer->inputs[k]].out[i];
  return product;
}

#endif
