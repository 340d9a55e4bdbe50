/* cli/learn/class_label.h: how the labels of classes are printed. */
#ifndef CLI_LEARN_CLASS_LABEL_H
#define CLI_LEARN_CLASS_LABEL_H

#include "core/output.h"
#include "furrow/learn.h"

enum { CLASS_LABEL_SIZE = 64 };

/* The name that the schema of a raw log gives a label; NULL: it has none. */
const char *class_name(const furrow_scorer *scorer, double label);
/* Returns the name of a label of furrow_scorer_class_label or furrow_class_figures, or writes its number to `text`. */
const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label);
/* Prints a label, and what follows it, as one cell of a line with commas: in quotes if it needs them. */
void output_class_begin(output *out, const char *label);
void output_class_end(output *out, const char *label);

#endif
