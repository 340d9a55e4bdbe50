/* cli/learn/model_names.h: the kind of a model; features and classes as people read and write them: names of columns,
 * numbers, labels */
#ifndef CLI_LEARN_MODEL_NAMES_H
#define CLI_LEARN_MODEL_NAMES_H

#include "core/report.h"
#include "furrow/learn.h"

/* Facts about a model from the furrow.json of its directory. */
typedef struct model_facts {
  char algorithm[32]; /* "fm", "recommender" …; "": there is no furrow.json, as in Angel's models */
  uint64_t features;  /* features of the training data; 0: not known */
  bool recommends;    /* a recommender of a log, which ranks items and scores no rows */
  bool ranks;         /* its scores only order items */
} model_facts;

/* err may be NULL. */
furrow_status model_facts_read(model_facts *facts, const char *folder, furrow_error *err);

/* Reports what trees were trained for: objective, level of a quantile, columns with a direction. */
void report_objective(report *r, const furrow_learn_conf *conf);

enum { FEATURE_NAME = 256 };

/* Returns the name of a feature: its column's name, "column=value" of a raw log, or its number, written to `space`. */
const char *feature_name(const furrow_scorer *scorer, uint64_t feature, char space[FEATURE_NAME]);
/* Finds a feature by its name, or number, of `size` bytes. */
furrow_status feature_parse(const furrow_scorer *scorer, const char *name, size_t size, uint64_t *feature,
                            furrow_error *err);

enum { CLASS_LABEL_SIZE = 64 };

/* The name that the schema of a raw log gives a label; NULL: it has none. */
const char *class_name(const furrow_scorer *scorer, double label);
/* Returns the name of a label of furrow_scorer_class_label or furrow_class_figures, or writes its number to `text`. */
const char *class_label(char text[CLASS_LABEL_SIZE], const furrow_scorer *scorer, double label);
/* Prints a label, and what follows it, as one cell of a line with commas: in quotes if it needs them. */
void output_class_begin(output *out, const char *label);
void output_class_end(output *out, const char *label);

#endif
