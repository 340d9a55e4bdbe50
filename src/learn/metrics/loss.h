/* learn/metrics/loss.h: losses, their derivatives, and what an output says about a row. */
#ifndef FW_LEARN_METRICS_LOSS_H
#define FW_LEARN_METRICS_LOSS_H

#include "learn/conf/conf.h"

/* The loss of output z for label y, and its derivative by z. Not for softmax, whose output is a row of numbers. */
double fw_loss_of(const fw_graph *graph, double z, double y);
double fw_loss_slope(const fw_graph *graph, double z, double y);
/* Loss and score of one row's outputs for a label. */
double fw_loss_value(const fw_graph *graph, const double *out, double label);
void fw_loss_score(const fw_graph *graph, const double *out, furrow_score *score);
/* false: the loss cannot take the label (softmax: not a class). */
bool fw_loss_takes(const fw_graph *graph, double label);
/* E_RANGE for a label that the loss does not take; NaN: the row has none. */
furrow_status fw_loss_refuse(const fw_graph *graph, double label, furrow_error *err);

#endif
