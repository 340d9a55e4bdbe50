/* learn/data/label_map.h: what classes the labels of the data are, and labels back from classes. */
#ifndef FW_LEARN_DATA_LABEL_MAP_H
#define FW_LEARN_DATA_LABEL_MAP_H

#include "learn/conf/conf.h"
#include "learn/data/data_facts.h"

/* The class of a label, as the loss takes it (-1 and 1, or 0, 1 …); infinite: it is not one of data->labels. */
double fw_label_class(const fw_data_conf *data, double label);
/* The label of such a class; the class itself where data has no labels. */
double fw_class_label(const fw_data_conf *data, double of);
/* E_RANGE: a label that is not one of data->labels, which the message lists. */
furrow_status fw_label_refuse(const fw_data_conf *data, double label, furrow_error *err);

/* Whether the plan's loss can be trained with the labels of the data: E_ARGUMENT says why not and what would fit.
 * *listed: the plan leaves it to the data what the classes are, and they are facts->labels. */
furrow_status fw_labels_find(const fw_plan *plan, const fw_data_facts *facts, bool *listed,
                             furrow_error *err) FURROW_MUST_USE;

/* Whether the labels are numbers to predict where the plan would separate two classes: more than two, and not whole
 * numbers that repeat often, unless these are ratings. Only for models whose loss is a key. */
bool fw_labels_are_numbers(const fw_plan *plan, const fw_data_facts *facts, bool ratings);

#endif
