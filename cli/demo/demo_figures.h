/* cli/demo/demo_figures.h: the figures of the demo's report, one function for each. */
#ifndef CLI_DEMO_DEMO_FIGURES_H
#define CLI_DEMO_DEMO_FIGURES_H

#include <stdio.h>

#include "demo/demo_results.h"

/* Loss and AUC over the epochs, of both models, on the rows that were trained on and on those that were not. */
void figure_training(FILE *out, const demo_results *all);
/* Logloss and AUC of the test rows, between knowing nothing and knowing the truth. */
void figure_quality(FILE *out, const demo_results *all);
/* Share of clicks over predicted chance. */
void figure_calibration(FILE *out, const demo_results *all);
/* The items' embeddings on a plane, by topic. */
void figure_plane(FILE *out, const demo_results *all);
/* How many lists have how many items. */
void figure_lists(FILE *out, const demo_results *all);
/* What is found, and how fast. */
void figure_recall(FILE *out, const demo_results *all);
/* The bytes of the index file. */
void figure_bytes(FILE *out, const demo_results *all);
/* The matrices of a model. */
void figure_tree(FILE *out, const demo_model *model);

#endif
