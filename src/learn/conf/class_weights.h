/* learn/conf/class_weights.h: a factor for the weight of each row by its class: the key `class-weights`. */
#ifndef FW_LEARN_CONF_CLASS_WEIGHTS_H
#define FW_LEARN_CONF_CLASS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

/* All zeros: none. To be cleared. */
typedef struct fw_class_weights {
  bool balanced;
  double *factors; /* NULL: none were listed */
  size_t count;
} fw_class_weights;

/* Reads "none", "balanced", or one number for each class: W0,W1,…; of two classes the first is the negative one.
 * E_ARGUMENT: another text, fewer than two numbers, one that is negative or not finite, or all are 0. */
furrow_status fw_class_weights_parse(fw_class_weights *weights, const char *text, furrow_error *err) FURROW_MUST_USE;
void fw_class_weights_clear(fw_class_weights *weights);
/* Whether rows get factors at all. */
bool fw_class_weights_are_used(const fw_class_weights *weights);
/* E_ARGUMENT: the weights do not fit a model of `classes` classes (0: regression). */
furrow_status fw_class_weights_check(const fw_class_weights *weights, size_t classes,
                                     furrow_error *err) FURROW_MUST_USE;
/* The factor of each class, from the number of rows of each. Balanced, as scikit-learn: rows / (K * rows of the class),
 * K being the classes that have rows; then all classes weigh the same, and all rows together what they did. A class
 * without rows gets 1. The weights must fit (fw_class_weights_check). */
void fw_class_weights_factors(const fw_class_weights *weights, const uint64_t *rows, size_t classes, double *factors);

#endif
