/* cli/learn/class_label.h: how the classes of a model are called in output. */
#ifndef CLI_LEARN_CLASS_LABEL_H
#define CLI_LEARN_CLASS_LABEL_H

#include "furrow/learn.h"

enum { CLASS_LABEL_SIZE = 64 };

/* Writes the name of a class by its label in furrow_class_figures and returns `text`: the label that the data has, or 1
 * or -1, or the number of the class, where the model does not know it. */
const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label);

#endif
