/* learn/data/data_facts.h: facts that one pass over the data finds before training begins: about labels, lengths of
 * rows and values of features. */
#ifndef FW_LEARN_DATA_DATA_FACTS_H
#define FW_LEARN_DATA_DATA_FACTS_H

#include "furrow/rows.h"
#include "learn/conf/conf.h"
#include "learn/data/features.h"
#include "learn/data/samples.h"

#define FW_CLASSES_MAX 1000 /* different labels that are counted */

typedef struct fw_data_facts {
  uint64_t rows;
  uint64_t digest;          /* digest of their labels, features and values */
  size_t longest, shortest; /* features of a row at most, and at least */
  uint64_t fields;          /* the largest field, + 1; 0: rows have none */
  uint64_t end;             /* the largest feature, + 1; 0: rows have none */
  /* labels; NaN counts as none */
  uint64_t unlabelled;
  size_t label_count;                /* number of different labels; FW_CLASSES_MAX + 1: more */
  double labels[FW_CLASSES_MAX];     /* ascending */
  uint64_t of_label[FW_CLASSES_MAX]; /* rows that have it */
  double label_mean, label_squares;  /* label_squares: sum of the squared deviations from the mean */
  bool whole_labels;                 /* all are whole numbers */
  fw_features *features;             /* records of data_facts.c; NULL: values are not examined. Must be the last
                                        member */
} fw_data_facts;

/* Whether some value is not 1. */
bool fw_block_has_values(const furrow_rowblock *block);

/* `values`: whether to examine the values of features. To be cleared after a failure, too. */
furrow_status fw_data_facts_init(fw_data_facts *facts, bool values, furrow_error *err) FURROW_MUST_USE;
void fw_data_facts_clear(fw_data_facts *facts);
/* Counts the rows of a block; fits fw_samples_visit, whose `user` is the fw_data_facts. */
furrow_status fw_data_facts_add(void *facts, const furrow_rowblock *block, furrow_error *err) FURROW_MUST_USE;

/* Finds the facts of the rows of all ranks, equal to the last bit to the facts that one process finds. `values`: as
 * above, but only if some value is not 1. To be cleared after a failure, too. */
furrow_status fw_data_facts_read(fw_data_facts *facts, fw_samples *samples, bool values,
                                 furrow_error *err) FURROW_MUST_USE;

/* Features that most rows list, but not all, as columns of csv data with empty cells: how many there are, the one that
 * most rows lack, and the share of these. */
typedef struct fw_gaps {
  size_t features;
  uint64_t worst;
  double share;
} fw_gaps;
furrow_status fw_data_facts_gaps(const fw_data_facts *facts, fw_gaps *gaps, furrow_error *err) FURROW_MUST_USE;

/* The scaling that the features need, by the rule of docs/design/defaults.md: a feature that every row lists, that is
 * not mostly 0 and has more than two values is centred (`centre`) and divided by its deviation; any other feature is
 * divided by the root of its mean square if that is above 1. Features that stay unchanged have no entry. */
furrow_status fw_data_facts_scaling(const fw_data_facts *facts, bool centre, fw_scaling *scaling,
                                    furrow_error *err) FURROW_MUST_USE;

/* ---- Labels and classes (label_map.c) ---- */

/* The class of a label, in the form that the loss takes (-1 and 1, or 0, 1 …); infinite: the label is not in
 * data->labels. */
double fw_label_class(const fw_data_conf *data, double label);
/* The label of such a class; the class itself where data has no labels. */
double fw_class_label(const fw_data_conf *data, double of);
/* E_RANGE: a label that is not one of data->labels, which the message lists. */
furrow_status fw_label_refuse(const fw_data_conf *data, double label, furrow_error *err);

/* Checks that the plan's loss can be trained with the labels of the data: otherwise E_ARGUMENT, with the reason and a
 * loss that fits. *listed: the plan takes its classes from the data: facts->labels. */
furrow_status fw_labels_find(const fw_plan *plan, const fw_data_facts *facts, bool *listed,
                             furrow_error *err) FURROW_MUST_USE;

/* E_RANGE: the least or the largest of ascending labels is so large that the data may have had another number: two of
 * its classes would become one. */
furrow_status fw_labels_check_exact(const double *labels, size_t count, furrow_error *err) FURROW_MUST_USE;

/* Whether labels of more than two values are numbers to predict rather than classes: they are not whole numbers, or
 * have more values than hand-numbered classes would, or hardly repeat. */
bool fw_labels_are_numbers(const fw_data_facts *facts);
/* Whether the labels decide about the loss: the plan separates two classes, but the data has more than two labels, and
 * the loss (nets) or the objective (trees) is not set. */
bool fw_labels_decide(const fw_plan *plan, const fw_data_facts *facts);

#endif
