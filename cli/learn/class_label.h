/* cli/learn/class_label.h: how the labels of classes are printed. */
#ifndef CLI_LEARN_CLASS_LABEL_H
#define CLI_LEARN_CLASS_LABEL_H

enum { CLASS_LABEL_SIZE = 64 };

/* Writes a label of furrow_scorer_class_label or furrow_class_figures and returns `text`. */
const char *class_label(char text[CLASS_LABEL_SIZE], double label);

#endif
