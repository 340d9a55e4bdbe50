/* cli/learn/class_label.c: how the labels of classes are printed. */
#include "learn/class_label.h"

#include <math.h>
#include <stdio.h>

/* Labels that are not whole are floats. */
const char *class_label(char text[CLASS_LABEL_SIZE], double label) {
  snprintf(text, CLASS_LABEL_SIZE, "%.*g", label == trunc(label) ? 15 : 7, label);
  return text;
}
