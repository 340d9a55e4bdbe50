/* cli/learn/class_label.c: how the classes of a model are called in output. */
#include "learn/class_label.h"

#include <math.h>
#include <stdio.h>

/* Labels that are not whole are floats. */
const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label) {
  const bool many = furrow_scorer_class_count(scorer) > 1;
  const double known = furrow_scorer_class_label(scorer, many ? (size_t)label : label > 0);
  if (!isnan(known)) label = known;
  snprintf(text, CLASS_LABEL_SIZE, "%.*g", label == trunc(label) ? 15 : 7, label);
  return text;
}
