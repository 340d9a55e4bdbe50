/* cli/learn/class_label.c: how the classes of a model are called in output. */
#include "learn/class_label.h"

#include <stdio.h>

const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label) {
  (void)scorer;
  snprintf(text, CLASS_LABEL_SIZE, "%.15g", label);
  return text;
}
