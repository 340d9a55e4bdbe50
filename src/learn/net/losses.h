/* learn/net/losses.h: losses of one output; net.h has what holds for all of them. */
#ifndef FW_LEARN_NET_LOSSES_H
#define FW_LEARN_NET_LOSSES_H

#include "learn/conf/conf.h"

/* The loss of output z for label y, and its derivative by z. Not for softmax, whose output is a row of numbers. */
double fw_loss_of(const fw_graph *graph, double z, double y);
double fw_loss_slope(const fw_graph *graph, double z, double y);

#endif
